//! Integration tests of `hopwright-lower`, in one program.

mod lower;
mod lower_parser;
mod match_kinds;
mod programs;
mod tofino;
