//! The agent of the SCION border router: reads the reference router's configuration, programs the tables of
//! `p4/scion/border_router.p4`, keeps next hops and clock up to date, and answers the packets that the program punts.
//!
//! Does not live here: forwarding (the program), tables and packet I/O (`dataplane`, `ports`).

pub mod agent;
pub mod bfd;
pub mod board;
pub mod check;
pub mod config;
pub mod files;
pub mod hosts;
pub mod http;
pub mod ia;
pub mod kernel;
pub mod keys;
pub mod links;
pub mod metrics;
pub mod packet;
pub mod program;
pub mod reload;
pub mod rollover;
pub mod scmp;
pub mod service;
mod sources;
pub mod stats;
pub mod synthetic;
pub mod tables;
pub mod tap;
pub mod topology;
pub mod underlay;
pub mod ways;

pub use agent::{AgentError, Options, Setup, run};
