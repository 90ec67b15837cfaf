//! Traces: machine code specialised to the paths that packets take most.

pub(crate) mod respecialise;
