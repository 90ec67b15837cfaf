//! Integration tests of `hopwright-rtl`, in one program.

mod generated;
mod harness;
mod packet_tests;
mod report;
mod simulation;
mod verilog;
