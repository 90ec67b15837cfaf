//! The OpenFlow agent: the control plane of a tenant whose program is `p4/router/openflow.p4`.
//!
//! - [`Agent`] talks OpenFlow 1.0 and 1.3 to controllers and keeps the program's tables; [`Config`] says with whom.
//! - [`compile`] compiles the program.
//!
//! # How it works
//!
//! One thread owns the flows and all connections. A message is carried out before the next one of its connection is read, so
//! that a barrier needs nothing but its answer. What a flow does becomes outputs and rewrites, which flows share; the numbers
//! of what is gone rest for a second, because packets may still carry them. The data plane counts by flow; the agent looks at
//! the counters of flows with a timeout four times a second.
//!
//! A controller that does not read its answers is not read from. Packets and other messages that it did not ask for wait in a
//! queue of their own; beyond it they are lost and counted.

mod agent;
mod codec;
mod config;
mod connection;
mod counters;
mod datapath;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod journal;
mod kind;
mod phase;
mod program;
mod saved;
mod succession;
mod switch;
mod tls;
mod wakeup;

pub use agent::Agent;
pub use codec::Version;
pub use config::{Config, FailMode, Listen, Target, Tls};
pub use counters::Counters;
pub use datapath::WrongProgram;
pub use error::Error;
pub use kind::KIND;
pub use program::compile;
