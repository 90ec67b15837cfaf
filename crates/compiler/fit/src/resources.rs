//! What a stage has, and what is used of it.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

macro_rules! resources {
    ($($(#[$doc:meta])* $field:ident: $name:literal,)*) => {
        /// Resources of a stage.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Resources {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Resources {
            /// Names and amounts.
            pub fn fields(&self) -> [(&'static str, u32); [$($name),*].len()] {
                [$(($name, self.$field)),*]
            }

            fn zip(self, other: Resources, f: impl Fn(u32, u32) -> u32) -> Resources {
                Resources { $($field: f(self.$field, other.$field),)* }
            }
        }
    };
}

resources! {
    /// Tables, and groups of operations with the same guards.
    logical_tables: "logical tables",
    /// Blocks of static memory.
    sram_blocks: "SRAM blocks",
    /// Memories beside the SRAM blocks of counters, meters and registers.
    map_rams: "map RAMs",
    /// Blocks of ternary memory.
    tcam_blocks: "TCAM blocks",
    /// Bytes of keys of exact matches, conditions and hashes.
    exact_crossbar_bytes: "exact crossbar bytes",
    /// Bytes of keys of ternary matches.
    ternary_crossbar_bytes: "ternary crossbar bytes",
    /// Bits of hash functions.
    hash_bits: "hash bits",
    /// Bits of hashes that actions, indices and selectors use.
    hash_distribution_bits: "hash distribution bits",
    /// Units for registers, meters and selectors.
    stateful_alus: "stateful ALUs",
    /// Units for counters.
    statistics_alus: "statistics ALUs",
}

impl Resources {
    /// The first resource of which this is more than `limit`.
    pub fn exceeds(&self, limit: &Resources) -> Option<&'static str> {
        self.fields().into_iter().zip(limit.fields()).find(|(used, limit)| used.1 > limit.1).map(|(used, _)| used.0)
    }

    /// No more than `limit` of each.
    pub(crate) fn at_most(self, limit: Resources) -> Resources {
        self.zip(limit, u32::min)
    }
}

impl Add for Resources {
    type Output = Resources;

    fn add(self, other: Resources) -> Resources {
        self.zip(other, u32::saturating_add)
    }
}

impl AddAssign for Resources {
    fn add_assign(&mut self, other: Resources) {
        *self = *self + other;
    }
}
