//! Integration tests of `hopwright-epic`, in one program.

mod attacks;
mod drkey;
mod mutations;
mod network;
mod network_file;
mod receiver;
mod sem;
mod vectors;
