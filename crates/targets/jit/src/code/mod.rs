//! Machine code: relocation, loading, executable memory, and the functions it calls.

pub(crate) mod ahead;
pub(crate) mod libcalls;
pub(crate) mod memory;
pub(crate) mod relocatable;
pub(crate) mod target;
