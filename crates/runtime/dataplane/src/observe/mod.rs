//! What the control plane sees of a running switch: counts, copies of packets, shadow execution.

pub(crate) mod code_map;
pub(crate) mod sample;
pub(crate) mod shadow;
pub(crate) mod stats;
