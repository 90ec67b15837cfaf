//! What a device with a program holds: the control model. One lock guards it, so that the writes of all controllers are serialised.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_control::{Model, SharedModel};
use hopwright_dataplane::VirtualDataPlane;

use crate::program::Program;

/// A device's program with everything that controllers have written.
pub(crate) struct State {
    /// The number of the program's run ([`crate::Running`]).
    pub generation: u64,
    pub program: Program,
    /// A controller has set it.
    pub pushed: bool,
    /// Names of hashes that are not computed as the program declares them.
    pub hashes: Vec<String>,
    /// What another protocol's service knows alone ([`crate::Device::note_beside`]).
    pub beside: Vec<&'static str>,
    pub model: SharedModel,
}

/// The number of the next program that a device runs.
static GENERATION: AtomicU64 = AtomicU64::new(1);

impl State {
    /// The initial state of a program.
    pub(crate) fn new(program: Program, vdp: Arc<VirtualDataPlane>) -> State {
        let model = SharedModel::new(Model::new(program.schema.model.clone(), vdp));
        State {
            generation: GENERATION.fetch_add(1, Ordering::Relaxed),
            program,
            pushed: false,
            hashes: Vec::new(),
            beside: Vec::new(),
            model,
        }
    }
}

#[cfg(test)]
mod tests;
