//! The agent of the IP router: a Linux kernel is the control plane of `p4/router/ip.p4`.
//!
//! Each router port has a TAP device in a network namespace. What the program punts enters the namespace by the TAP device of
//! its ingress port, unmodified; what the kernel sends out of a TAP device leaves by that port. So the kernel resolves
//! neighbours, answers by ICMP and carries the packets of routing daemons. The namespace's routes and neighbours are
//! followed by netlink and written to the program's tables: whatever sets the kernel's routes, `ip route`, FRR or BIRD,
//! drives the fast path.
//!
//! - [`Agent`] runs it, on threads: one moves punted packets, one writes the tables, one watches carriers, one answers questions.
//! - [`Config`] is what an administrator chooses. [`program`] is the P4 program that is built in.

mod agent;
mod carrier;
mod config;
mod fib;
mod kind;
mod mirror;
mod policy;
mod ports;
pub mod program;
mod punt;
pub mod show;
mod threads;

pub use agent::{Agent, Counts};
pub use config::Config;
pub use kind::KIND;
pub use policy::{Packets, Punted};
pub use threads::Error;
