//! Integration tests of `hopwright-stf`, in one program.

mod counterexample;
mod coverage;
mod generated;
mod reference;
mod robust;
mod runner;
mod specification;
mod thorough;
