//! Integration tests of `hopwright-jit`, in one program.

mod differential;
mod expressions;
mod externs;
mod harness;
mod headers;
mod kept_fields;
mod trace_passes;
