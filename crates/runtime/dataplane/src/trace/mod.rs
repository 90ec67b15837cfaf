//! Traces: machine code specialised to the most frequent paths of packets.

pub(crate) mod respecialise;
pub(crate) mod shared;
pub(crate) mod traces;
