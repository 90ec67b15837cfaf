//! The structures that generated code searches without a call: arrays, hash tables and prefix trees.

use hopwright_ir::{MatchForm, Table};

use crate::KeyLayout;

/// The size of a table's array of entries, if generated code indexes entries by the key: a table whose keys are all exact
/// and have at most 16 bits together.
pub fn direct_entries(table: &Table) -> Option<usize> {
    let bits: u32 = table.keys.iter().map(|k| k.expr.ty.width()).sum();
    let exact = table.keys.iter().all(|k| k.kind.form() == MatchForm::Value);
    (exact && (1..=16).contains(&bits)).then(|| 1 << bits)
}

/// Most words of a key by which generated code searches a hash table.
const MAX_WORDS: usize = 4;

/// Whether generated code finds the table's entries in a [`HashTable`].
pub fn is_hashed(table: &Table) -> bool {
    let exact = table.match_keys().all(|k| k.kind.form() == MatchForm::Value);
    exact && direct_entries(table).is_none() && (1..=MAX_WORDS).contains(&KeyLayout::of(table).words)
}

/// The layout of a hash table: an array of words, of which the first are a header and the others slots. The number of slots
/// is a power of two, at least two.
///
/// A key's hash is the sum of its words, each multiplied by its multiplier. The hash shifted right by the word
/// [`HashTable::SHIFT`] is the index of the first slot to probe; probing is linear, wraps around, and ends at an empty slot,
/// of which there is at least one.
///
/// A slot holds an address shifted left by [`HashTable::TAG_BITS`], and [`HashTable::tag`] of the key's hash below. The
/// address is that of the entry's key, which the entry's [`crate::ActionEntry`] follows. An empty slot is zero; a slot whose
/// entry was removed has [`HashTable::TOMBSTONE`] as its address.
#[derive(Clone, Copy, Debug)]
pub struct HashTable;

impl HashTable {
    /// Index of the header word by which hashes are shifted right.
    pub const SHIFT: usize = 0;
    /// Index of the header word that holds the index of the last slot.
    pub const LAST: usize = 1;
    /// Index of the first multiplier; there is one for each word of a key.
    pub const MULTIPLIERS: usize = 2;
    /// The address in a slot whose entry was removed.
    pub const TOMBSTONE: usize = 1;
    /// Width of a tag in bits.
    pub const TAG_BITS: u32 = 16;
    /// Lowest bit of a hash that is part of its tag.
    pub const TAG_SHIFT: u32 = 16;

    /// Index of the first slot in a table for keys of `key_words` words. Slots begin on a cache line.
    pub const fn slots(key_words: usize) -> usize {
        (Self::MULTIPLIERS + key_words).next_multiple_of(8)
    }

    /// The tag of a hash: bits other than those that choose the slot.
    #[inline(always)]
    pub const fn tag(hash: u64) -> u16 {
        (hash >> Self::TAG_SHIFT) as u16
    }
}

/// The numbers of bits matched exactly and by prefix, if the table is a [`PrefixTree`]: it has one prefix, at most 16 bits
/// matched exactly, and its key is one word.
pub fn prefix_bits(table: &Table) -> Option<(u32, u32)> {
    let (mut exact, mut prefix) = (0, None);
    for key in &table.keys {
        let width = key.expr.ty.width();
        match key.kind.form() {
            MatchForm::Value => exact += width,
            MatchForm::Prefix if prefix.is_none() => prefix = Some(width),
            MatchForm::Nothing => {}
            _ => return None,
        }
    }
    let prefix = prefix.filter(|p| *p > 0)?;
    (exact <= 16 && exact + prefix <= PrefixTree::MAX_BITS).then_some((exact, prefix))
}

/// The layout of a multi-bit trie.
///
/// A node has 2 to the power of [`PrefixTree::stride`] slots, indexed by the next bits of the key, highest first, padded with
/// zeros. The root consists of slots only; in other nodes [`PrefixTree::SLOTS`] bytes precede them.
///
/// A slot is zero if it is empty: the search then falls back to the table's `lookup`. Otherwise it is an address shifted left
/// by [`PrefixTree::SHIFT`]. The lower bits are [`PrefixTree::NODE`] if the address is a node's, and the length of the prefix
/// shifted left by one if it is an entry's.
#[derive(Clone, Copy, Debug)]
pub struct PrefixTree;

impl PrefixTree {
    /// Most bits of a key.
    pub const MAX_BITS: u32 = 48;
    /// The lower bits of a slot that points to a node.
    pub const NODE: usize = 1;
    /// Position of the address in a slot.
    pub const SHIFT: u32 = 16;
    /// Bytes that precede the slots of a node other than the root.
    pub const SLOTS: usize = 64;

    /// Bits that index the root, for keys of `bits` bits.
    pub fn root_bits(bits: u32) -> u32 {
        bits.min(Self::stride(0))
    }

    /// Bits that index a node at this depth in bits. See [`PrefixTree::root_bits`] for short keys.
    pub const fn stride(depth: u32) -> u32 {
        match depth {
            0 => 16,
            16 => 8,
            _ => 4,
        }
    }
}
