//! What an agent needs from a Linux host.
//!
//! - [`netlink`]: devices, addresses, routes and neighbours, with change notifications.
//! - [`namespace`]: network namespaces.
//! - [`next_hop`]: next-hop resolution for an agent's links and hosts.
//! - [`capabilities`]: giving up privileges. [`service_manager`]: `sd_notify`. [`signals`]: what a process does on them.
//! - [`hand_over`]: messages with descriptors, from a process to its successor.
//! - [`files`]: bounded reading of regular files. [`watch`]: noticing that files change.
//! - [`http`]: HTTP servers with bounded resources, and the log level over HTTP.
//! - [`metrics`]: the Prometheus text format and the metrics of this process.
//!
//! This crate knows no protocol above IP.

pub mod capabilities;
pub mod files;
pub mod hand_over;
pub mod http;
pub mod metrics;
pub mod namespace;
pub mod netfilter;
pub mod netlink;
pub mod next_hop;
pub mod service_manager;
pub mod signals;
pub mod watch;
