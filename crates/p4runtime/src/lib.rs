//! P4Runtime: what a program offers to a controller ([`p4info`]), the service that controllers speak to ([`Server`]), and a client
//! for people ([`client`]).
//!
//! A [`Server`] serves several [`Device`]s; each is a switch with a [`Program`], which controllers may replace. `service` is the
//! gRPC service, `arbitration` decides who may write and `role` what, `state` applies updates, `read` evaluates reads, `schema` and
//! `table` convert ids and messages.

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
