//! `hopwright bench`: measurements in memory, one module per benchmark. [`measure`] times, [`floor`] is the lower bound that
//! results are compared with.
//!
//! A row is printed as soon as it is measured, with columns of fixed width; a library that draws tables would need all rows first.

pub(crate) mod epic;
mod floor;
pub(crate) mod forwarder;
mod hardware;
mod measure;
pub(crate) mod programs;
pub(crate) mod scion;
mod single_step;
pub(crate) mod tenants;
pub(crate) mod updates;
mod workload;
