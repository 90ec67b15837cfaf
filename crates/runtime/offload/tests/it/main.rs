//! Integration tests of `hopwright-offload`, in one program.

mod board;
mod simulation;
