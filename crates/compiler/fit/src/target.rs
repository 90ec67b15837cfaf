//! Descriptions of targets: files of `targets/`, in which every figure has its source.

use serde::Deserialize;

use crate::resources::Resources;

/// A pipeline of match-action stages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its name, as `--target` has it.
    pub name: String,
    /// The number of stages, which ingress and egress share.
    pub stages: u32,
    /// What a stage has.
    pub stage: Resources,
    /// Blocks of memory.
    pub memory: Memory,
    /// Limits of conditions and actions.
    pub logic: Logic,
    /// The packet header vector.
    pub phv: Phv,
}

/// Blocks of memory, and how tables lie in them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Words of an SRAM block.
    pub sram_words: u32,
    /// Bits of a word of an SRAM block.
    pub sram_bits: u32,
    /// Words of a TCAM block.
    pub tcam_words: u32,
    /// Bits of a word of a TCAM block.
    pub tcam_bits: u32,
    /// Blocks that a hash table is spread over at least.
    pub exact_ways: u32,
    /// Bits of a hash that select a word.
    pub word_index_bits: u32,
    /// Bits of action data that lie beside the key. More are in memory of their own.
    pub immediate_bits: u32,
}

/// Limits of conditions and actions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logic {
    /// Bits that a condition in front of a table can look at.
    pub gateway_bits: u32,
    /// The widest addition or subtraction, in bits.
    pub arithmetic_bits: u32,
    /// The widest value of a register, in bits.
    pub register_bits: u32,
}

/// The packet header vector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phv {
    /// Bits that stages can read and write.
    pub bits: u32,
    /// Bits that go from the parser to the deparser only; `None` if there is no limit.
    pub carried_bits: Option<u32>,
}

/// The descriptions that come with the command.
const BUILT_IN: [&str; 2] = [include_str!("../targets/tofino.toml"), include_str!("../targets/tofino2.toml")];

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
    fn built_in_targets_have_their_names() {
        for target in Target::all() {
            assert_eq!(Target::by_name(&target.name), Some(target));
        }
    }
}
