//! Passes over trees. A pass takes a valid tree and leaves a valid one. What a packet does when it completes a trace stays the same;
//! side exits may move, because a trace has no effects before its leaf.
//!
//! To add a pass: write a function from tree to tree in a file of its own, add it to [`Pass`] and to `run`, and describe what it does
//! by examples in `crates/jit/tests/traces`. A test runs every pass on random trees and packets.

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
    /// All passes, in the order in which they help each other.
    pub const ALL: [Pass; 4] = [Pass::GuardElimination, Pass::GuardHoisting, Pass::GuardSinking, Pass::GuardCoalescing];

    /// The name on command lines and in tests.
    pub fn name(self) -> &'static str {
        match self {
            Pass::GuardElimination => "guard-elimination",
            Pass::GuardHoisting => "guard-hoisting",
            Pass::GuardSinking => "guard-sinking",
            Pass::GuardCoalescing => "guard-coalescing",
        }
    }

    /// The pass with this name.
    pub fn by_name(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|pass| pass.name() == name)
    }

    /// Runs the pass over a valid tree.
    pub fn run(self, ir: &mut TraceIr) {
        match self {
            Pass::GuardElimination => guard_elimination::run(ir),
            Pass::GuardHoisting => guard_hoisting::run(ir),
            Pass::GuardSinking => guard_sinking::run(ir),
            Pass::GuardCoalescing => guard_coalescing::run(ir),
        }
        debug_assert_eq!(verify(ir), Ok(()), "after {}", self.name());
    }
}
