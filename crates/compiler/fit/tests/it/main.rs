//! Integration tests of `hopwright-fit`, in one program.

mod programs;
mod small;
