//! Descriptions of chips: bus width, clock, and the delay model of the schedule.

use serde::Deserialize;

use crate::cost::Cost;
use crate::shell::Shell;

/// A chip and its configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its name, as `--target` has it.
    pub name: String,
    /// Bytes of the bus that move in a cycle.
    pub bus_bytes: u32,
    /// The clock that designs should reach.
    pub clock_mhz: u32,
    /// Bytes at the beginning of a packet that the pipeline sees; whole words of the bus.
    pub window_bytes: u32,
    /// The longest packet in bytes.
    pub max_packet_bytes: u32,
    /// Cycles at least between two packets in the pipeline, whatever the program. Engines can be shared in more of them.
    #[serde(default = "one")]
    pub gap: u32,
    /// Members of all lists of ports to which packets are copied; a power of two.
    pub copy_lists: u32,
    /// The longest delay between registers, in hundredths of a LUT level.
    pub stage_delay: u32,
    /// Inputs of a LUT.
    pub lut_inputs: u32,
    /// The delay of a bit of a carry chain, in hundredths of a LUT level.
    pub carry_per_bit: u32,
    /// The delay of a multiplication, in hundredths of a LUT level.
    pub multiply: u32,
    /// The chip.
    pub chip: String,
    /// Its LUTs.
    pub luts: u32,
    /// Its flip-flops.
    pub registers: u32,
    /// Its block RAMs.
    pub block_rams: u32,
    /// The bits of a block RAM.
    pub block_bits: u32,
    /// The bits of the widest words that a block RAM can have; the others have a half, a quarter and so on of them.
    pub block_width: u32,
    /// What surrounds a design on the chip.
    pub shell: Shell,
}

fn one() -> u32 {
    1
}

/// How `hw_fetch` reads a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The bytes that it reads in a cycle.
    pub part: u32,
    /// The cycles in which it reads.
    pub reads: u32,
}

impl Target {
    /// Words of the packet store for a pipeline of some stages: one packet comes and one leaves, each of the longest, while the pipeline
    /// is full of others.
    pub fn store_words(&self, stages: u32) -> u32 {
        (2 * self.max_packet_bytes.div_ceil(self.bus_bytes) + stages + 32).next_power_of_two()
    }

    /// Words of a copy of the packet store from which fetches that begin in some stage read for this many cycles. What comes between
    /// a packet and its fetch is what the bus brings in the meantime.
    pub fn copy_words(&self, stage: u32, reads: u32, gap: u32) -> u32 {
        (self.max_packet_bytes.div_ceil(self.bus_bytes) + stage + reads + 2 * gap + 10).next_power_of_two()
    }

    /// What the chip has. LUTs are counted as ones with four inputs.
    pub(crate) fn capacity(&self) -> Cost {
        let luts = u64::from(self.luts) * if self.lut_inputs > 4 { 2 } else { 1 };
        let blocks = u64::from(self.block_rams);
        Cost { luts, registers: self.registers.into(), blocks, memory_bits: blocks * u64::from(self.block_bits) }
    }

    /// What a memory with one read and one write a cycle takes. The engines have those of up to 32 words in distributed RAM.
    pub(crate) fn memory(&self, bits: u64, words: u64) -> Cost {
        let memory_bits = bits * words;
        if words <= 32 {
            return self.distributed(bits, words);
        }
        let shapes = (0..6).map(|halves| {
            let width = (self.block_width >> halves).max(1);
            // Words of less than a byte do not use the ninth bits.
            let rows = if width < 9 { self.block_bits / 9 * 8 } else { self.block_bits } / width;
            bits.div_ceil(width.into()) * words.div_ceil(rows.into())
        });
        Cost { blocks: shapes.min().unwrap_or(0), memory_bits, ..Cost::default() }
    }

    /// What a memory of LUTs takes.
    pub(crate) fn distributed(&self, bits: u64, words: u64) -> Cost {
        // Three LUTs for two bits; of several memories behind each other another one chooses.
        let memories = words.div_ceil(1 << self.lut_inputs.min(5));
        Cost { luts: bits * (5 * memories - 2) / 2, memory_bits: bits * words, ..Cost::default() }
    }

    /// The fewest cycles in which a fetch of this many bytes reads them from the packet store, a word each.
    pub fn fetch_words(&self, bytes: u32) -> u32 {
        (self.bus_bytes - 1 + bytes).div_ceil(self.bus_bytes)
    }

    /// How this many bytes are fetched with this many cycles between packets. What is longer than a word is read in the smallest parts for which
    /// there is time.
    pub(crate) fn fetch(&self, bytes: u32, gap: u32) -> Fetch {
        let parts = [8, 16].map(|part| Fetch { part, reads: bytes.div_ceil(part) + 1 });
        let fits = |fetch: &Fetch| bytes > self.bus_bytes && self.bus_bytes > fetch.part && fetch.reads <= gap;
        let whole = Fetch { part: self.bus_bytes, reads: self.fetch_words(bytes) };
        parts.into_iter().find(fits).unwrap_or(whole)
    }
}

/// The descriptions that come with the compiler.
const BUILT_IN: [&str; 3] = [
    include_str!("../targets/ecp5-85-256.toml"),
    include_str!("../targets/ecp5-85-512.toml"),
    include_str!("../targets/xcup-512.toml"),
];

impl Target {
    /// All targets.
    pub fn all() -> Vec<Target> {
        BUILT_IN.iter().map(|text| toml::from_str(text).expect("built-in targets are well formed")).collect()
    }

    /// The target with this name.
    pub fn by_name(name: &str) -> Option<Target> {
        Target::all().into_iter().find(|target| target.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn memories_take_blocks_of_the_shape_that_needs_fewest() {
        let target = Target::by_name("ecp5-85-512").unwrap();
        let blocks = |bits, words| target.memory(bits, words).blocks;
        assert_eq!(blocks(36, 512), 1);
        assert_eq!(blocks(37, 512), 2);
        assert_eq!(blocks(18, 1024), 1);
        assert_eq!(blocks(256, 1024), 15);
        assert_eq!(blocks(1, 16384), 1);
        assert_eq!(blocks(4, 4096), 1);
        assert_eq!(blocks(200, 32), 0);
    }

    #[test]
    fn windows_are_whole_words_of_the_bus() {
        for target in Target::all() {
            assert!(target.window_bytes.is_multiple_of(target.bus_bytes), "{}", target.name);
            assert!(target.copy_lists.is_power_of_two(), "{}", target.name);
            assert_eq!(Target::by_name(&target.name), Some(target));
        }
    }
}
