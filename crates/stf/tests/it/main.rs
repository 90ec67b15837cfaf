//! Integration tests of `hopwright-stf`, in one program.

mod robust;
mod runner;
