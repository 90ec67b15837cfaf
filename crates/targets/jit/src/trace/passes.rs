//! The passes that traces have and the generic function does not, by name, so that a measurement can leave one out.

use crate::trace_ir::passes::Pass;

/// A pass over traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePass {
    /// A pass over the trace IR. Guards that [`Pass::GuardHoisting`] has moved to the beginning are tested once for a batch.
    Tree(Pass),
    /// Guards on bytes of an entry are tested together.
    EntryGuardCoalescing,
    /// A batch is split at ciphers, so that blocks of several packets are encrypted together.
    BatchSplitting,
    /// Bytes that have been loaded are not loaded again.
    RedundantLoads,
    /// Loads are repeated rather than values kept for long.
    Reloading,
    /// Loads extend what they load.
    ExtendingLoads,
}

impl TracePass {
    /// All passes, in the order in which they run.
    pub fn all() -> impl Iterator<Item = TracePass> {
        use TracePass::{BatchSplitting, EntryGuardCoalescing, ExtendingLoads, RedundantLoads, Reloading};
        let over_code = [EntryGuardCoalescing, BatchSplitting, RedundantLoads, Reloading, ExtendingLoads];
        Pass::ALL.into_iter().map(TracePass::Tree).chain(over_code)
    }

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            TracePass::Tree(pass) => pass.name(),
            TracePass::EntryGuardCoalescing => "entry-guard-coalescing",
            TracePass::BatchSplitting => "batch-splitting",
            TracePass::RedundantLoads => "redundant-loads",
            TracePass::Reloading => "reloading",
            TracePass::ExtendingLoads => "extending-loads",
        }
    }

    /// The pass with this name.
    pub fn by_name(name: &str) -> Option<TracePass> {
        TracePass::all().find(|pass| pass.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::TracePass;

    #[test]
    fn names_tell_passes_apart() {
        for pass in TracePass::all() {
            assert_eq!(TracePass::by_name(pass.name()), Some(pass));
        }
    }
}
