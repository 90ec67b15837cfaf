//! Integration tests of `hopwright-interp`, in one program.

#[path = "../../../ir/tests/it/builder/mod.rs"]
mod builder;
mod interp;
