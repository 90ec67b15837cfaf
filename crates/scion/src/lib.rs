//! The agent of the SCION border router: reads the reference router's configuration, programs the tables of
//! `p4/scion/border_router.p4`, and keeps next hops and clock up to date.
//!
//! Does not live here: forwarding (the program), tables and packet I/O (`dataplane`, `ports`).

pub mod config;
pub mod ia;
pub mod keys;
pub mod links;
pub mod packet;
pub mod program;
pub mod tables;
pub mod topology;
