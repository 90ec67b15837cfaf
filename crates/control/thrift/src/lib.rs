//! BMv2's control interface: the Thrift services `Standard`, `SimplePre`, `SimplePreLAG` and `SimpleSwitch`, which `simple_switch_CLI`,
//! `runtime_CLI`, p4-utils and scripts of their users speak to.
//!
//! - [`Server`] serves the program of a tenant.
//! - [`commands`] reads files of `simple_switch_CLI`'s commands.
//! - [`json`] writes the JSON description of a program, which clients ask for first.
//!
//! `notifications` publishes digests, idle entries and ports as BMv2 does by nanomsg. `wire` is Thrift's binary protocol, `service` the methods, `runtime` what these do: updates of the [control model](hopwright_control), which
//! other protocols may write, too. `failure` has the codes of BMv2's exceptions.
//!
//! The protocol is written here, because what Apache's compiler generates for these services is 27,000 lines, and its server bounds neither
//! what a message makes it allocate nor how long clients may keep its threads.

pub mod commands;
mod failure;
pub mod fuzz;
pub mod json;
mod notifications;
mod runtime;
mod server;
mod service;
mod wire;

pub use hopwright_control::SharedModel;
pub use notifications::NotificationAddress;
pub use server::{Options, ServeError, Server, Switch};
pub use service::PortManager;

/// BMv2's port.
pub const DEFAULT_PORT: u16 = 9090;
