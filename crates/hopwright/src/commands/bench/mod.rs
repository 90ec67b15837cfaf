//! `hopwright bench`: measurements in memory.
//!
//! One module per benchmark; what they measure with is in [`measure`], what they compare with in [`floor`].

mod floor;
pub mod forwarder;
mod measure;
pub mod programs;
pub mod scion;
pub mod updates;
mod workload;
