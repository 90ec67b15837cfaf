//! P4Runtime: what a program offers to a controller ([`p4info`]), the service that controllers speak to ([`Server`]), and a client
//! for people ([`client`]).
//!
//! A [`Server`] serves several [`Device`]s, which come and go while it runs; each is a switch with a [`Program`], which controllers may
//! replace. [`Access`] says which clients may reach which devices. `service` is the gRPC service, `registry` has the devices, `turns` and
//! `uploads`
//! bounds what a device's clients cost the others, `arbitration` decides who may write and `role` what, `state` has what updates change, `change` makes changes and undoes them, `translation` and `translated` convert values of
//! translated types, `rules`, `constraint` and `references` check what annotations demand, `read` evaluates reads, `schema` and
//! `table` convert ids and messages.

mod access;
mod arbitration;
pub mod bytes;
mod change;
pub mod client;
mod constraint;
mod device;
mod device_config;
mod devices;
mod digests;
mod entries;
mod failure;
mod indirect;
mod listing;
mod memory;
pub mod p4info;
mod packet;
mod program;
pub use hopwright_protobuf as proto;
mod read;
mod references;
mod registry;
mod replication;
mod resources;
mod role;
mod rules;
mod schema;
mod schema_types;
mod server;
mod service;
mod state;
mod table;
mod trace;
mod translated;
mod translation;
mod turns;
mod uploads;

pub use access::{Access, Client};
pub use device::{Counts, Device};
pub use device_config::{BUNDLE_FIELD, compile_device_config};
pub use devices::{Devices, Packets, Running};
pub use failure::{Failure, batch};
pub use program::{Bundle, EnginePolicy, Maker, Program};
pub use server::{DEFAULT_ADDRESS, Options, ServeError, Server, Tls};
pub use state::{Cell, Write};
