//! P4Runtime: what a program offers to a controller ([`p4info`]) and the service controllers speak to ([`Server`]).
//!
//! A [`Server`] serves several [`Device`]s; each is a switch with a [`Program`], which controllers may replace. Rooms:
//! `service` (gRPC), `device`, `arbitration` (who may write), `state` and its rooms (what updates do), `read`, `schema`
//! and `table` (ids and forms on the wire). Does not live here: tables, externs and packets (the `dataplane` crate), the
//! command line.

mod arbitration;
mod bytes;
mod device;
mod digests;
mod entries;
mod failure;
pub mod p4info;
mod packet;
mod program;
pub mod proto;
mod read;
mod replication;
mod resources;
mod schema;
mod server;
mod service;
mod state;
mod table;

pub use device::{Counts, Device};
pub use failure::Failure;
pub use program::{Bundle, EnginePolicy, Program};
pub use server::{DEFAULT_ADDRESS, Options, ServeError, Server, Tls};
