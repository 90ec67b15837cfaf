//! A switch with tenants: each a P4 program with ports, limits and a control plane of its own.
//!
//! - [`config`] is `switch.toml`.
//! - [`run()`] builds the switch and keeps it as the file says. `running` is the switch and how it changes, `program` compiles, `agent`
//!   has the control planes in this process.
//! - [`admin`] is the administration socket, and its client. `metrics` is what Prometheus reads.

pub mod admin;
mod agent;
pub mod config;
#[doc(hidden)]
pub mod fuzz;
mod metrics;
mod program;
mod run;
mod running;

pub use run::{Command, Starting, SwitchError, check, run};
pub use running::Tenants;
