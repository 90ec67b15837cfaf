//! Passes over the pipeline, and analyses that executors build on.
//!
//! A pass changes a pipeline into one with the same meaning. Each is small and lives in its own file: `fold`
//! (constants), `propagate` (constants and copies), `substitute` (single-use locals), `dead` (assignments nobody reads),
//! `simplify` (structure), `states` (the parser graph), `slots` (numbering). Analyses: [`usage`] and [`effects`].

pub mod dead;
pub mod effects;
pub mod fold;
pub mod propagate;
pub mod simplify;
pub mod slots;
pub mod states;
pub mod substitute;
pub mod usage;
pub mod walk;

use crate::Pipeline;

/// One pass's effects make work for the others; beyond this many rounds little is left.
const ROUNDS: usize = 3;

/// Runs all passes.
pub fn optimise(pipeline: &mut Pipeline) {
    fold::fold(pipeline);
    states::clean(pipeline);
    for _ in 0..ROUNDS {
        propagate::propagate(pipeline);
        simplify::simplify(pipeline);
        dead::eliminate(pipeline);
        substitute::substitute(pipeline);
        fold::fold(pipeline);
    }
    simplify::simplify(pipeline);
    states::clean(pipeline);
    slots::compact(pipeline);
}
