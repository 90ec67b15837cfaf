//! Integration tests of `hopwright-driver`, in one program.

mod accepted;
mod first_hour;
mod warnings;
