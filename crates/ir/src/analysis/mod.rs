//! Target-neutral analyses of a pipeline, for passes and executors.

pub mod effects;
pub mod ranges;
pub mod usage;
