//! Integration tests of `hopwright-scion`, in one program.

mod batches;
mod counters;
mod damage;
mod differential;
mod forwarding;
mod hardware;
mod hummingbird;
mod simulation;
mod slow_path;
