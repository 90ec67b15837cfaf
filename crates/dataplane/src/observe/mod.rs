//! What the control plane sees of a running switch: counts, copies of packets, shadow execution.

pub mod sample;
pub mod shadow;
pub mod stats;
