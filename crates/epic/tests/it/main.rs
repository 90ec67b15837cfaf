//! Integration tests of `hopwright-epic`, in one program.

mod attacks;
mod drkey;
mod network;
mod network_file;
mod sem;
mod vectors;
