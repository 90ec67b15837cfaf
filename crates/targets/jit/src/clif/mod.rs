//! Analyses and passes over functions in Cranelift's IR, independent of the program that they come from.

pub(crate) mod cfg;
pub(crate) mod dead_code;
pub(crate) mod extending_loads;
pub(crate) mod known_bits;
pub(crate) mod redundant_loads;
pub(crate) mod reloading;
