//! Integration tests of `hopwright-opt`, in one program.

mod passes;
#[path = "../../../lower/tests/it/programs/mod.rs"]
mod programs;
