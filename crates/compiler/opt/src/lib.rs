//! Passes over the pipeline.
//!
//! A pass replaces a pipeline by an equivalent one. Each has a file of its own: `fold` (constants), `propagate` (constants and
//! copies), `substitute` (single-use locals), `dead` (dead code), `simplify` (structure), `states` (the parser graph), `slots`
//! (numbering), `bounds` (of loops and advances), `initial` (values of parser locals). [`length`] completes what a front end has made of
//! a program for BMv2.

pub mod bounds;
mod dead;
pub mod fold;
mod initial;
pub mod length;
mod propagate;
pub mod simplify;
mod slots;
mod states;
mod substitute;

use hopwright_ir::{Pipeline, verify};

/// Rounds of passes: each pass creates opportunities for the others, and few are left after this many.
const ROUNDS: usize = 3;

/// Runs all passes. In debug builds the pipeline is verified after each.
pub fn optimise(pipeline: &mut Pipeline) {
    run(pipeline, "fold", fold::fold);
    run(pipeline, "states", states::clean);
    run(pipeline, "zeros", initial::zeros);
    for _ in 0..ROUNDS {
        run(pipeline, "propagate", propagate::propagate);
        run(pipeline, "simplify", simplify::simplify);
        run(pipeline, "dead", dead::eliminate);
        run(pipeline, "substitute", substitute::substitute);
        run(pipeline, "fold", fold::fold);
        run(pipeline, "checksums", initial::checksums);
    }
    run(pipeline, "simplify", simplify::simplify);
    run(pipeline, "states", states::clean);
    run(pipeline, "slots", slots::compact);
    run(pipeline, "bounds", bounds::bound);
}

fn run(pipeline: &mut Pipeline, name: &str, pass: fn(&mut Pipeline)) {
    pass(pipeline);
    if cfg!(debug_assertions)
        && let Err(errors) = verify::verify(pipeline)
    {
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        debug_assert!(false, "after {name}: {}", shown.join("; "));
    }
}
