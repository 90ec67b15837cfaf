//! What a packet in a pass is: received, a copy, or repeated.

/// Values of `instance_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum InstanceType {
    /// As it was received.
    Normal = 0,
    /// Cloned at the end of ingress.
    IngressClone = 1,
    /// Cloned at the end of egress.
    EgressClone = 2,
    /// Recirculated.
    Recirculated = 4,
    /// One of a multicast group's copies.
    Replication = 5,
    /// Resubmitted.
    Resubmitted = 6,
}
