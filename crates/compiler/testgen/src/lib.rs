//! Packet tests made from programs.
//!
//! The interpreter runs packets, and a shadow of it keeps for each value the term by which it was computed from the packet, the data of
//! actions, and the state of registers and meters: concolic execution. At each decision the terms give the condition for another outcome; a
//! SAT solver finds inputs with which the next run takes it. What tables find is not solved for but chosen, and a test has entries with the
//! keys that the run looked up. What a test expects is what the interpreter does with these entries, without the shadow.
//!
//! Everything depends on the seed only, as long as no limit of time ends the search.

mod finish;
mod inputs;
mod path;
mod prove;
mod relevance;
mod search;
mod shadow;
mod solver;
mod term;
mod test;

use std::sync::Arc;
use std::time::Duration;

use hopwright_coverage::{Coverage, Points};
use hopwright_interp::Interp;
use hopwright_ir::Pipeline;

pub use test::{Expected, Test};

/// How long to search, and for what.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where random numbers begin.
    pub seed: u64,
    /// The most tests.
    pub max_tests: usize,
    /// The most time.
    pub time: Duration,
    /// The most runs in a row that find nothing new.
    pub patience: usize,
    /// Also test the parts of conditions, the bounds of comparisons, and packets that end too early.
    pub cases: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 1, max_tests: usize::MAX, time: Duration::from_secs(60), patience: 2000, cases: true }
    }
}

/// The tests of a program.
#[derive(Debug)]
pub struct Generated {
    /// The tests. Each reaches a point or a case that none before it does.
    pub tests: Vec<Test>,
    /// What they reach together.
    pub coverage: Coverage,
    /// The points that no test reaches.
    pub unreached: Vec<Unreached>,
    /// How many runs it took.
    pub runs: usize,
    /// Runs that ended in a fault of the program, of which no tests are made.
    pub faults: usize,
    /// Runs whose outcome depends on time or chance.
    pub by_chance: usize,
    /// Why the search ended.
    pub ended: &'static str,
}

/// A point that no test reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// The point, by its number.
    pub point: usize,
    /// Why, as far as the search can tell.
    pub why: String,
    /// No packet reaches it, whatever the control plane sets.
    pub proved: bool,
}

/// The points that a test reaches and none before it did, for people: place and label.
pub fn points_of(pipeline: &Arc<Pipeline>, test: &Test) -> Vec<String> {
    let points = Points::new(pipeline);
    test.reaches.iter().map(|at| format!("{}: {}", points.location(*at), points.all()[*at].label)).collect()
}

/// Makes tests of a program. `prepare` gives a switch with the state that all tests begin with; all switches must run the same pipeline.
/// `found` is called with each test.
///
/// # Errors
/// That of `prepare`.
pub fn generate<E>(
    prepare: &dyn Fn() -> Result<Interp, E>,
    options: &Options,
    found: &mut dyn FnMut(&Test),
) -> Result<Generated, E> {
    search::Search::new(prepare, options)?.run(found)
}
