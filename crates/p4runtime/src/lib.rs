//! P4Runtime: what a program offers to a controller ([`p4info`]) and the service controllers speak to.
//!
//! Does not live here: tables, externs and packets (the `dataplane` crate), the command line.

mod bytes;
pub mod p4info;
pub mod proto;
