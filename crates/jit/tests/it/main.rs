//! Integration tests of `hopwright-jit`, in one program.

mod differential;
mod expressions;
mod externs;
mod harness;
mod headers;
mod trace_passes;
