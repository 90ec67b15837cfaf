//! The pipeline IR: what every executor runs and the only thing a target needs to know of a program.
//!
//! Holds the data model ([`model`]), its text form (printed and parsed, [`text`]), the verifier ([`verify`]), analyses
//! ([`analysis`]), passes ([`passes`]) and the reference interpreter ([`interp`]), which defines the meaning of a pipeline.

pub mod analysis;
pub mod bits;
pub mod entry;
pub mod hash;
pub mod interp;
pub mod meter;
pub mod model;
pub mod passes;
pub mod profile;
pub mod text;
pub mod verify;
pub mod walk;

pub use model::*;
