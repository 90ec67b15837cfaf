//! State of extern objects that generated code reads and writes: counters, registers, meters, value sets, digests.

pub(crate) mod cell;
pub(crate) mod digest;
pub(crate) mod meter;
pub(crate) mod value_set;
