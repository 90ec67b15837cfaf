//! The lookup structures that generated code searches directly: arrays, hash tables and prefix trees.

use hopwright_ir::{MatchForm, Table};

use crate::KeyLayout;

/// The size of the array of a table's entries that generated code indexes by the key, if there is one: for tables whose
/// keys are all exact and have at most 16 bits together.
pub fn direct_entries(table: &Table) -> Option<usize> {
    let bits: u32 = table.keys.iter().map(|k| k.expr.ty.width()).sum();
    let exact = table.keys.iter().all(|k| k.kind.form() == MatchForm::Value);
    (exact && (1..=16).contains(&bits)).then(|| 1 << bits)
}

/// The maximum number of words of a key for which generated code searches a hash table directly.
const MAX_WORDS: usize = 4;

/// Whether generated code searches the table's [`HashTable`] directly.
pub fn is_hashed(table: &Table) -> bool {
    let exact = table.match_keys().all(|k| k.kind.form() == MatchForm::Value);
    exact && direct_entries(table).is_none() && (1..=MAX_WORDS).contains(&KeyLayout::of(table).words)
}

/// The layout of a hash table: an array of words, which starts with a header, followed by slots. The number of slots is
/// a power of two of at least two.
///
/// A key's hash is the sum of its words, each multiplied by its multiplier. The hash shifted right by the header word
/// [`HashTable::SHIFT`] is the index of the first slot to probe. Probing is linear, wraps around, and ends at an empty
/// slot, of which there is at least one.
///
/// A slot contains an address, shifted left by [`HashTable::TAG_BITS`], and in its low bits the [`HashTable::tag`] of
/// the key's hash. The address is that of the entry's key, behind which the entry's [`crate::ActionEntry`] lies. An
/// empty slot is zero. A slot whose entry was removed has the address [`HashTable::TOMBSTONE`].
#[derive(Clone, Copy, Debug)]
pub struct HashTable;

impl HashTable {
    /// Index of the header word with the number of bits to shift hashes right by.
    pub const SHIFT: usize = 0;
    /// Index of the header word with the index of the last slot.
    pub const LAST: usize = 1;
    /// Index of the first multiplier. There is one per word of a key.
    pub const MULTIPLIERS: usize = 2;
    /// The address in a slot whose entry was removed.
    pub const TOMBSTONE: usize = 1;
    /// Width of a tag in bits.
    pub const TAG_BITS: u32 = 16;
    /// The lowest bit of a hash that is part of its tag.
    pub const TAG_SHIFT: u32 = 16;

    /// Index of the first slot in a table for keys of `key_words` words. Slots start on a cache line.
    pub const fn slots(key_words: usize) -> usize {
        (Self::MULTIPLIERS + key_words).next_multiple_of(8)
    }

    /// The tag of a hash, which consists of other bits than those that select the slot.
    #[inline(always)]
    pub const fn tag(hash: u64) -> u16 {
        (hash >> Self::TAG_SHIFT) as u16
    }
}

/// Returns how many bits of the key are matched exactly and how many by prefix if the table is a [`PrefixTree`]. Such
/// tables have one prefix, at most 16 bits matched exactly, and a key of one word.
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
/// A node has two to the power of [`PrefixTree::stride`] slots, indexed by the next bits of the key, from the most
/// significant on, padded with zeros. The root consists of slots only; in other nodes, the slots are at offset
/// [`PrefixTree::SLOTS`] bytes.
///
/// An empty slot is zero; the search then continues in the table's `lookup`. Other slots contain an address shifted
/// left by [`PrefixTree::SHIFT`]. The low bits are [`PrefixTree::NODE`] if it is the address of a node. If it is that
/// of an entry, they are the length of the prefix shifted left by one.
#[derive(Clone, Copy, Debug)]
pub struct PrefixTree;

impl PrefixTree {
    /// The maximum number of bits of a key.
    pub const MAX_BITS: u32 = 48;
    /// The low bits of a slot that points to a node.
    pub const NODE: usize = 1;
    /// The position of the address in a slot.
    pub const SHIFT: u32 = 16;
    /// Offset of the slots in a node other than the root, in bytes.
    pub const SLOTS: usize = 64;

    /// The number of bits that index the root, for keys of `bits` bits.
    pub fn root_bits(bits: u32) -> u32 {
        bits.min(Self::stride(0))
    }

    /// The number of bits that index a node at this depth in bits. For the root of short keys, see
    /// [`PrefixTree::root_bits`].
    pub const fn stride(depth: u32) -> u32 {
        match depth {
            0 => 16,
            16 => 8,
            _ => 4,
        }
    }
}
