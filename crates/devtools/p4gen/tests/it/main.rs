//! Integration tests of `hopwright-p4gen`, in one program.

mod passes;
