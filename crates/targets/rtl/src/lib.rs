//! From the pipeline IR to hardware.
//!
//! [`convert`] turns a pipeline into the [hardware IR](hir): one straight line of operations that a packet passes, with
//! predicates instead of control flow. [`Evaluator`] runs it on packets; it agrees with [`hopwright_interp`] bit for
//! bit. What hardware cannot do is refused at its place in the P4 program, as a [`Refusal`].

pub mod board;
mod convert;
pub mod core;
mod cost;
mod design;
pub mod digest;
mod dont_care;
pub mod driver;
pub mod engines;
pub mod etherbone;
mod eval;
mod exclusive;
pub mod hir;
mod keys;
pub mod map;
mod masked;
pub mod offsets;
mod refusal;
mod registers;
pub mod report;
pub mod schedule;
pub mod sharing;
pub mod shell;
pub mod simulation;
pub mod sv;
mod target;
mod windows;

pub use board::Board;
pub use convert::convert;
pub use design::{Hardware, compile};
pub use etherbone::Etherbone;
pub use eval::Evaluator;
pub use refusal::{Capability, Refusal};
pub use target::Target;
