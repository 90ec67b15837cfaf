//! P4-16 programs as a part of your program: compile a program, run it as a switch on network devices or on packets in memory, and be
//! its control plane.
//!
//! In forty lines, which are `examples/embed.rs`:
//!
#![doc = concat!("```\n", include_str!("../examples/embed.rs"), "```")]
//!
//! - [`compile`], [`compile_file`] and [`Compiler`] make a [`Program`] from text. Errors have file, line and a mark below the place.
//! - [`Program::switch`] collects [ports](SwitchBuilder::port) and runs a [`Switch`] on a thread of its own.
//! - [`Program::runner`] runs one packet after the other, in memory: for tests.
//! - [`Control`] writes and reads tables, counters, meters and registers by the names that they have in the program, from any thread.
//! - [`Port`](port::Port) is the trait of ports of your own, [`ExternObject`] that of externs.
//!
//! The examples beside `embed.rs` are `custom_port.rs`, `custom_extern.rs` and `unit_test_a_program.rs`.
//!
//! # Features
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `jit` (default) | programs run as machine code, made with Cranelift; without it in the interpreter, which is slow and compiles sooner |
//! | `ports` (default) | network devices, AF_XDP, TAP devices and capture files as ports |
//! | `p4runtime` | P4Runtime: `SwitchBuilder::p4runtime` serves controllers, `Program::p4info` describes the program to them |
//! | `rtl` | `Program::verilog` compiles the program to SystemVerilog for FPGAs |
//!
//! Agents of protocols, such as SCION's and RINA's, are crates of their own, over the same [`dataplane`].

#![cfg_attr(docsrs, feature(doc_cfg))]

/// Errors whose `Debug` is their text for people: `main` and `unwrap` print their errors in this way.
macro_rules! debug_is_display {
    ($($error:ty),*) => {
        $(
            impl std::fmt::Debug for $error {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    write!(f, "{self}")
                }
            }
        )*
    };
}

mod compile;
mod control;
#[doc(hidden)]
pub mod doc;
mod engine;
mod entry;
#[cfg(feature = "p4runtime")]
mod p4runtime_server;
pub mod port;
mod runner;
mod switch;
#[cfg(feature = "rtl")]
mod verilog;

pub use compile::{CompileError, Compiler, Diagnostic, Program, SourcePlace, compile, compile_file};
pub use control::{Control, ControlError};
pub use engine::{BuildError, Engine};
pub use entry::{Entry, Match, Value};
pub use port::{MemoryPort, Wire};
pub use runner::{Output, PacketError, Runner, Sent, bytes};
pub use switch::{PacketIn, PacketOutError, RunError, Switch, SwitchBuilder};
#[cfg(feature = "rtl")]
pub use verilog::{Refusal, VerilogError, VerilogFile};

pub use hopwright_dataplane as dataplane;
#[cfg(feature = "p4runtime")]
pub use hopwright_p4runtime as p4runtime;

pub use hopwright_coverage::Report as CoverageReport;
pub use hopwright_dataplane::externs::ExternObject;
pub use hopwright_dataplane::packet::PoolError;
pub use hopwright_dataplane::{CloneSession, ControlError as RefusedError, Count, Digest, Rates, Replica, SwitchStats};
/// The value of a field of a [`Digest`]: a number and its width in bits.
pub use hopwright_interp::Value as FieldValue;
pub use hopwright_stf::resolve::ResolveError;
pub use hopwright_stf::{Report, StfError};
pub use hopwright_syntax::Severity;
/// An unsigned number of any size, of `num-bigint`.
pub use num_bigint::BigUint as Number;
