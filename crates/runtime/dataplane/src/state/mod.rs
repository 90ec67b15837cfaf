//! State of extern objects that generated code reads and writes: counters, registers, meters, value sets, digests.

pub(crate) mod cell;
pub(crate) mod digest;
mod extern_object;
pub(crate) mod meter;
pub(crate) mod value_set;

pub(crate) use extern_object::{ExternObject, models_of};
