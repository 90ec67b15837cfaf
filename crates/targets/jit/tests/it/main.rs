//! Integration tests of `hopwright-jit`, in one program.

#[path = "../../../../compiler/ir/tests/it/builder/mod.rs"]
mod builder;
mod differential;
mod expressions;
mod externs;
mod harness;
mod headers;
mod kept_fields;
mod trace_passes;
