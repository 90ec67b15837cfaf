//! What network management reads of a switch, and the little that it changes.
//!
//! [`Interfaces`] has the interfaces of a switch, or of a router's control plane: their states from the kernel, and counters of fast path and
//! kernel together. [`gnmi`] serves them by gRPC in OpenConfig's models, [`agentx`] to an SNMP agent, and [`sflow`]
//! sends their counters and samples of packets to a collector.

pub mod agentx;
pub mod gnmi;
mod interfaces;
pub mod sflow;

pub use interfaces::{Counters, Interface, Interfaces, Numbers};
