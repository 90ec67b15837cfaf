//! The passes that traces have and the generic function does not, by name, so that a measurement can leave one out.

/// A pass over traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TracePass {
    /// Code is generated from the trace IR, if it has all operations of the traces.
    TraceIr,
    /// No condition is tested twice.
    ConditionNumbering,
    /// Selects on several keys become trees that test no key twice.
    GuardTree,
    /// Guards on bytes of the packet are tested together.
    PacketGuardCoalescing,
    /// Bytes are reordered as late as possible.
    ByteOrder,
    /// Masks and truncations of bits that nobody reads are removed.
    DemandedBits,
    /// Guards that earlier guards imply are removed.
    GuardElimination,
    /// Guards that are the same for a batch are tested once.
    GuardHoisting,
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
    pub const ALL: [TracePass; 13] = {
        use TracePass::*;
        [
            TraceIr,
            ConditionNumbering,
            GuardTree,
            PacketGuardCoalescing,
            ByteOrder,
            DemandedBits,
            GuardElimination,
            GuardHoisting,
            EntryGuardCoalescing,
            BatchSplitting,
            RedundantLoads,
            Reloading,
            ExtendingLoads,
        ]
    };

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            TracePass::TraceIr => "trace-ir",
            TracePass::ConditionNumbering => "condition-numbering",
            TracePass::GuardTree => "guard-tree",
            TracePass::PacketGuardCoalescing => "packet-guard-coalescing",
            TracePass::ByteOrder => "byte-order",
            TracePass::DemandedBits => "demanded-bits",
            TracePass::GuardElimination => "guard-elimination",
            TracePass::GuardHoisting => "guard-hoisting",
            TracePass::EntryGuardCoalescing => "entry-guard-coalescing",
            TracePass::BatchSplitting => "batch-splitting",
            TracePass::RedundantLoads => "redundant-loads",
            TracePass::Reloading => "reloading",
            TracePass::ExtendingLoads => "extending-loads",
        }
    }

    /// The pass with this name.
    pub fn by_name(name: &str) -> Option<TracePass> {
        TracePass::ALL.into_iter().find(|pass| pass.name() == name)
    }
}

/// A set of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracePasses(u16);

impl TracePasses {
    /// All passes but these.
    pub(crate) fn without(left_out: &[TracePass]) -> TracePasses {
        TracePasses(left_out.iter().fold(u16::MAX, |set, pass| set & !(1 << *pass as u16)))
    }

    pub(crate) fn has(self, pass: TracePass) -> bool {
        self.0 >> pass as u16 & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::{TracePass, TracePasses};

    #[test]
    fn names_and_sets_tell_passes_apart() {
        for pass in TracePass::ALL {
            assert_eq!(TracePass::by_name(pass.name()), Some(pass));
            let set = TracePasses::without(&[pass]);
            assert!(TracePass::ALL.into_iter().all(|other| set.has(other) == (other != pass)));
        }
    }
}
