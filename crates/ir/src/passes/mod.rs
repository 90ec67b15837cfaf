//! Passes over the pipeline, and analyses that executors build on.
//!
//! A pass changes a pipeline into one with the same meaning. Each is small and lives in its own file.

pub mod effects;
pub mod fold;
pub mod propagate;
pub mod simplify;
pub mod usage;
pub mod walk;

use crate::Pipeline;

/// Runs all passes.
pub fn optimise(pipeline: &mut Pipeline) {
    fold::fold(pipeline);
    propagate::propagate(pipeline);
    simplify::simplify(pipeline);
}
