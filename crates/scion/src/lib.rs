//! The agent of the SCION border router: reads the reference router's configuration, programs the tables of
//! `p4/scion/border_router.p4`, keeps next hops and clock up to date, and answers the packets that the program punts.
//!
//! Does not live here: forwarding (the program), tables and packet I/O (`dataplane`, `ports`).

pub mod agent;
pub mod bfd;
pub mod board;
pub mod check;
pub mod config;
pub mod http;
pub mod ia;
pub mod keys;
pub mod links;
pub mod metrics;
pub mod next_hop;
pub mod packet;
pub mod privileges;
pub mod program;
pub mod reload;
pub mod rollover;
pub mod scmp;
mod sources;
pub mod stats;
pub mod synthetic;
pub mod tables;
pub mod tap;
pub mod topology;
pub mod underlay;

pub use agent::{AgentError, Options, Setup, run};
