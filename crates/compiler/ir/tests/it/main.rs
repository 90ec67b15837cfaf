//! Integration tests of `hopwright-ir`, in one program.

mod analysis;
mod builder;
#[path = "../../../lower/tests/it/programs/mod.rs"]
mod programs;
mod text;
mod verify;
