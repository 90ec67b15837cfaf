//! Passes over trees. A pass takes a valid tree and leaves a valid one. The same packets complete traces, with the same effects: only
//! guard hoisting may let more of them leave. Side exits may move, because a trace has no effects before its leaf.
//!
//! `docs/trace-ir.md` says how to add one.

mod guard_coalescing;
mod guard_elimination;
mod guard_hoisting;
mod guard_sinking;

use super::TraceIr;
use super::verify::verify;

/// A pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Removes guards that a later guard of the block implies.
    GuardElimination,
    /// Moves guards that are the same for all packets of a batch to the beginning.
    GuardHoisting,
    /// Moves guards that depend on an encrypted block to the nodes where traces end, in front of those that it does not need.
    GuardSinking,
    /// Tests adjacent bytes of the packet together.
    GuardCoalescing,
}

impl Pass {
    /// All passes, in the order in which traces that are compiled get them.
    pub const ALL: [Pass; 4] = [Pass::GuardElimination, Pass::GuardHoisting, Pass::GuardSinking, Pass::GuardCoalescing];

    /// The name and the function.
    fn entry(self) -> (&'static str, fn(&mut TraceIr)) {
        match self {
            Pass::GuardElimination => ("guard-elimination", guard_elimination::run),
            Pass::GuardHoisting => ("guard-hoisting", guard_hoisting::run),
            Pass::GuardSinking => ("guard-sinking", guard_sinking::run),
            Pass::GuardCoalescing => ("guard-coalescing", guard_coalescing::run),
        }
    }

    /// The name on command lines and in tests.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// The pass with this name.
    pub fn by_name(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|pass| pass.name() == name)
    }

    /// Runs the pass over a valid tree.
    pub fn run(self, ir: &mut TraceIr) {
        self.entry().1(ir);
        debug_assert_eq!(verify(ir), Ok(()), "after {}", self.name());
    }
}
