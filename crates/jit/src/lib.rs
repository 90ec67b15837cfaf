//! Pipeline IR to machine code with Cranelift.
//!
//! Lives here: the code generator and the binary interface of what it emits ([`abi`]). Does not live here: tables,
//! externs and packet buffers themselves (the data plane implements the interface).

pub mod abi;
