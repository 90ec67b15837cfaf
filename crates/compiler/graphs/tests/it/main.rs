//! Integration tests of `hopwright-graphs`, in one program.

mod graph;
