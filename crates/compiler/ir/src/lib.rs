//! The pipeline IR: what every executor runs, and all that a target needs to know of a program.
//!
//! The crate contains the data model ([`Pipeline`]), its text form ([`text`]), the verifier ([`verify`]) and target-neutral
//! analyses ([`analysis`]). `hopwright-opt` has passes over it, and `hopwright-interp` the interpreter, which defines the meaning
//! of a pipeline.

pub mod analysis;
pub mod bits;
pub mod custom_crc;
pub mod entry;
pub mod hash;
pub mod hash_object;
pub mod meter;
mod model;
pub mod profile;
pub mod text;
pub mod verify;
pub mod walk;

pub use model::*;
