//! What parts of a chip something takes.

use serde::Serialize;

use crate::schedule::Exact;
use crate::target::Target;

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

/// What a memory of cuckoo hashing takes, as `hw_exact` has it.
fn exact_memory(target: &Target, bits: u64, words: u64) -> Cost {
    if words * bits <= 2048 { target.distributed(bits, words) } else { target.memory(bits, words) }
}

/// What the data of cuckoo hashing take.
pub(crate) fn exact_data(target: &Target, data: u64, shape: &Exact) -> Cost {
    let Exact { buckets, slots, parts, .. } = *shape;
    exact_memory(target, data.div_ceil(parts.into()), 2 * u64::from(slots) * buckets * u64::from(parts))
}

/// What cuckoo hashing takes.
pub(crate) fn exact(target: &Target, key: u64, data: u64, shape: &Exact) -> Cost {
    let Exact { buckets, slots, passes, parts, .. } = *shape;
    let (ways, passes) = (2 * u64::from(slots), u64::from(passes));
    let lanes = ways / passes;
    let (keys, datas) = (exact_memory(target, 1 + key, passes * buckets), exact_data(target, data, shape));
    // What is read waits for what is being written; entries of small memories do not.
    let written = |memory: &Cost, bits: u64| if memory.blocks > 0 { bits } else { 0 };
    let part = data.div_ceil(parts.into());
    let (key_written, data_written) = (written(&keys, 1 + key), written(&datas, part));
    // Both hashes, the comparisons, and the choice of a way. The key waits for the entries, those for the comparisons, the buckets for both.
    let bucket_bits = u64::from(buckets.ilog2());
    let hashes = bucket_bits * key / 3;
    let hashed = 2 * bucket_bits * (5 + key.div_ceil(32));
    let parted = if parts == 1 { 0 } else { data }; // Which part is written.
    let luts = hashes + lanes * (key * 3 / 4 + key_written) + data_written + parted / 2;
    let waiting = if passes == 1 { 4 } else { 3 };
    // A bit for each cycle of a lookup and of a write.
    let cycles = 2 * u64::from(shape.latency());
    let registers = key_written + lanes * (1 + key + key / 8) + waiting * key + hashed + data + data_written + cycles;
    let mut cost = keys.times(lanes).with(luts, registers);
    cost += datas;
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_take_the_flip_flops_that_synthesis_makes() {
        let target = Target::by_name("ecp5-85-256").unwrap();
        // Bits of the key and of data, buckets, entries of one, cycles between lookups; flip-flops that synthesis makes of the engine.
        for (key, data, buckets, slots, gap, made) in [
            (16, 430, 8, 4, 1, 1143),
            (128, 118, 16, 4, 1, 2011),
            (22, 146, 512, 2, 1, 642),
            (32, 118, 128, 2, 1, 656),
            (16, 430, 8, 4, 12, 679),
            (128, 118, 16, 4, 12, 936),
            (288, 49, 8, 4, 12, 1688),
        ] {
            let shape = Exact::new(buckets, slots, gap).in_parts(&target, gap, data);
            let estimated = exact(&target, key, data, &shape).registers;
            assert!(estimated.abs_diff(made) < made / 10, "{key} bits: {estimated}, not {made}");
        }
    }
}
