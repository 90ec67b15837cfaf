//! P4Runtime: what a program offers to a controller ([`p4info`]), the service that controllers speak to ([`Server`]), and its
//! [clients](client).
//!
//! A [`Server`] serves several [`Device`]s, which come and go while it runs; each is a switch with a [`Program`], which controllers may
//! replace. [`Access`] says which clients may reach which devices. `service` is the gRPC service, `registry` has the devices, `turns`
//! and `uploads` bound what a device's clients cost the others, `arbitration` decides who may write and `role` what. What controllers
//! write is in the control model (`hopwright_control`): `state` holds a device's, `codec` converts between messages and the model, `schema`
//! makes the model's schema from P4Info, and `read` evaluates reads. `saved` is what controllers have written, for another process. A [`Replica`] is
//! what a controller of ours makes a switch elsewhere equal to.

mod access;
mod arbitration;
mod bundle;
pub mod client;
mod codec;
mod device;
mod device_config;
mod devices;
mod difference;
mod failure;
pub mod p4info;
mod program;
pub use hopwright_control::bytes;
use hopwright_control::listing;
pub use hopwright_driver::Hashes;
pub use hopwright_protobuf as proto;
mod read;
mod registry;
mod replica;
mod role;
mod saved;
mod schema;
mod schema_types;
mod server;
mod service;
mod state;
mod trace;
mod turns;
mod uploads;

pub use access::{Access, Client};
pub use bundle::{Bundle, OneProgram, Programs};
pub use device::{Counts, Device};
pub use device_config::{BUNDLE_FIELD, bundle_of, compile_device_config};
pub use devices::{Devices, Packets, Running};
pub use failure::{Failure, batch};
pub use program::{EnginePolicy, Maker, Program};
pub use read::TablePage;
pub use replica::Replica;
pub use saved::Held;
pub use server::{DEFAULT_ADDRESS, Options, ServeError, Server, Tls};
pub use trace::{Conditions, Watcher, otherwise, ports_of};
