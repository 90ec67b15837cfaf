//! What parts of a chip something takes.

use serde::Serialize;

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// LUTs with four inputs.
    pub luts: u64,
    /// Flip-flops.
    pub registers: u64,
    /// Block RAMs.
    pub blocks: u64,
    /// Bits of memory: tables, counters, S-boxes, delay lines. Small memories are made of LUTs and take no block RAM.
    pub memory_bits: u64,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.luts += other.luts;
        self.registers += other.registers;
        self.blocks += other.blocks;
        self.memory_bits += other.memory_bits;
    }
}

impl Cost {
    /// The largest of its shares of what there is.
    pub(crate) fn share_of(&self, capacity: &Cost) -> f64 {
        let share = |own: u64, all: u64| own as f64 / all.max(1) as f64;
        share(self.luts, capacity.luts)
            .max(share(self.registers, capacity.registers))
            .max(share(self.blocks, capacity.blocks))
    }

    /// The cost of several.
    pub(crate) fn times(mut self, count: u64) -> Cost {
        [&mut self.luts, &mut self.registers, &mut self.blocks, &mut self.memory_bits]
            .into_iter()
            .for_each(|n| *n *= count);
        self
    }

    /// With what gates and registers take.
    pub(crate) fn with(mut self, luts: u64, registers: u64) -> Cost {
        self.luts += luts;
        self.registers += registers;
        self
    }
}
