//! Integration tests of `hopwright-offload`, in one program.

mod simulation;
