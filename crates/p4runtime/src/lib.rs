//! P4Runtime: what a program offers to a controller ([`p4info`]) and the service controllers speak to ([`Server`]).
//!
//! A [`Server`] serves several [`Device`]s; each is a switch with a [`Program`], which controllers may replace. Rooms:
//! `service` (gRPC), `device`, `arbitration` (who may write), `role` (what), `state` and its rooms (what updates do), `read`, `schema`
//! and `table` (ids and forms on the wire). [`client`] is the other side, for people. Does not live here: tables, externs and packets (the `dataplane` crate), the
//! command line.

mod arbitration;
pub mod bytes;
pub mod client;
mod device;
mod digests;
mod entries;
mod failure;
mod indirect;
mod memory;
pub mod p4info;
mod packet;
mod program;
pub mod proto;
mod read;
mod replication;
mod resources;
mod role;
mod schema;
mod server;
mod service;
mod state;
mod table;
mod trace;

pub use device::{Counts, Device};
pub use failure::Failure;
pub use program::{Bundle, EnginePolicy, Program};
pub use server::{DEFAULT_ADDRESS, Options, ServeError, Server, Tls};
