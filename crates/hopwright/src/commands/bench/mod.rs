//! `hopwright bench`: measurements in memory, one module per benchmark. [`measure`] times, [`floor`] is the lower bound that
//! results are compared with.

mod floor;
pub mod forwarder;
mod measure;
pub mod programs;
pub mod scion;
pub mod updates;
mod workload;
