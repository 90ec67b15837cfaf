//! Integration tests of `hopwright-fuzz-targets`, in one program.

mod corpus;
mod reload;
