//! The pipeline IR: what every executor runs and the only thing a target needs to know of a program.
//!
//! Lives here: the IR's data model ([`model`]), lowering from the typed program, the text form, the verifier,
//! passes, and the reference interpreter that defines the meaning. Does not live here: P4 syntax and types
//! (`hopwright-syntax`, `hopwright-sema`), code generation, fast tables, packet buffers.

pub mod bits;
pub mod compile;
pub mod entry;
pub mod graph;
pub mod hash;
pub mod interp;
pub mod lower;
pub mod meter;
pub mod model;
pub mod passes;
pub mod profile;
pub mod text;
pub mod verify;
pub mod walk;

pub use hopwright_syntax::stack;
pub use model::*;
