//! A switch with tenants: each a P4 program with ports, limits and a control plane of its own.
//!
//! - [`config`] is `switch.toml`.
//! - [`run()`] builds the switch and keeps it as the file says. `running` is the switch and how it changes, `program` compiles, `agent`
//!   has the control planes in this process.
//! - `succession` is what a switch hands over to another process, with the `cells` of programs.
//! - [`admin`] is the administration socket, and its client. `metrics` is what Prometheus reads.

pub mod admin;
mod agent;
mod cells;
pub mod config;
#[doc(hidden)]
pub mod fuzz;
mod memory;
mod metrics;
mod program;
mod run;
mod running;
mod succession;

pub use run::{Command, Starting, SwitchError, check, run};
pub use running::Tenants;
