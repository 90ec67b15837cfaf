//! The P4 program of the border router and its table entries.

pub mod key_rollover;
pub mod layout;
pub mod program;
mod sources;
pub mod tables;
