//! How lookups find entries, as generated code and the data plane both see it: the words of a key, and hash tables.
//!
//! Does not live here: code that searches ([`crate::search`]), what fills the tables (the data plane).

use hopwright_ir::{MatchKind, Table};

/// The words of a table's keys. Fields lie side by side, as far as whole ones fit a word, the first in the highest bits; a
/// range, and a field of more than 64 bits, has words of its own. A prefix comes last. Bits that are no field's are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    /// One for each of the table's keys.
    pub fields: Vec<KeyField>,
    /// What lies in the words, in order.
    pub runs: Vec<KeyRun>,
    /// Words of a key.
    pub words: usize,
}

/// Where a field of a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyField {
    /// First word.
    pub word: usize,
    /// Bits of that word below it.
    pub shift: u32,
    /// Bits; none of what is no part of the lookup.
    pub width: u32,
}

/// Fields side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRun {
    /// The table's keys by number, from the highest bits on.
    pub keys: Vec<usize>,
    /// Bits of all together: they begin with the lowest of a word.
    pub width: u32,
}

impl KeyField {
    /// Words that it has a part of.
    pub fn words(&self) -> usize {
        self.width.div_ceil(64) as usize
    }

    /// Its value's words in a key.
    pub fn read<'a>(&self, key: &'a [u64]) -> impl Iterator<Item = u64> + use<'a> {
        let KeyField { word, shift, width } = *self;
        let mask = if width < 64 { (1 << width) - 1 } else { u64::MAX };
        key[word..word + self.words()].iter().map(move |w| w >> shift & mask)
    }

    /// Puts its value's words, with no bits beyond its width, into a key where it is zero.
    pub fn write(&self, key: &mut [u64], value: impl IntoIterator<Item = u64>) {
        for (to, from) in key[self.word..].iter_mut().zip(value).take(self.words()) {
            *to |= from << self.shift;
        }
    }
}

impl KeyLayout {
    /// That of a table's keys.
    pub fn of(table: &Table) -> KeyLayout {
        let width = |key: usize| table.keys[key].expr.ty.width();
        let kind = |key: usize| table.keys[key].kind;
        let mut order: Vec<usize> = (0..table.keys.len()).collect();
        order.retain(|key| kind(*key) != MatchKind::Selector && width(*key) > 0);
        order.sort_by_key(|key| kind(*key) == MatchKind::Lpm);
        let alone = |key: usize| kind(key) == MatchKind::Range || width(key) > 64;
        let mut runs: Vec<KeyRun> = Vec::new();
        for key in order {
            match runs.last_mut() {
                Some(run) if !alone(key) && !alone(run.keys[0]) && run.width + width(key) <= 64 => {
                    run.keys.push(key);
                    run.width += width(key);
                }
                _ => runs.push(KeyRun { keys: vec![key], width: width(key) }),
            }
        }
        let mut fields = vec![KeyField::default(); table.keys.len()];
        let mut words = 0;
        for run in &runs {
            let mut shift = run.width;
            for &key in &run.keys {
                shift -= width(key);
                fields[key] = KeyField { word: words, shift, width: width(key) };
            }
            words += run.width.div_ceil(64) as usize;
        }
        KeyLayout { fields, runs, words }
    }
}

/// How many entries a table's key can tell apart, if generated code finds them by the key alone: exact keys of few bits
/// together.
pub fn direct_entries(table: &Table) -> Option<usize> {
    let bits: u32 = table.keys.iter().map(|k| k.expr.ty.width()).sum();
    let exact = table.keys.iter().all(|k| k.kind == MatchKind::Exact);
    (exact && (1..=16).contains(&bits)).then(|| 1 << bits)
}

/// Most words of a key by which generated code searches a hash table.
pub const MAX_WORDS: usize = 4;

/// Whether generated code searches the table's entries in a hash table ([`HashTable`]).
pub fn is_hashed(table: &Table) -> bool {
    let exact = table.keys.iter().all(|k| matches!(k.kind, MatchKind::Exact | MatchKind::Selector));
    exact && direct_entries(table).is_none() && (1..=MAX_WORDS).contains(&KeyLayout::of(table).words)
}

/// A hash table is an array of words: the header, then the slots, a power of two of them, at least two.
///
/// A key's hash is the sum of its words, each multiplied by its multiplier; the highest bits of that, shifted right by
/// [`HashTable::SHIFT`], are the number of the slot that is looked at first, then come those behind it, after the last the
/// first one, until one is empty. In a slot is, shifted left by [`HashTable::TAG_BITS`], the address of an entry's key, behind
/// which its [`super::abi::ActionEntry`] lies, and [`HashTable::tag`] of the key's hash below; if it is empty, zero; if its
/// entry is gone, [`HashTable::GONE`] instead of an address. One slot at least is empty.
#[derive(Clone, Copy, Debug)]
pub struct HashTable;

impl HashTable {
    /// Number of the word that says how far a hash is shifted.
    pub const SHIFT: usize = 0;
    /// Of the word that is the number of the last slot.
    pub const LAST: usize = 1;
    /// Of the first of the multipliers, of which there are as many as a key has words.
    pub const MULTIPLIERS: usize = 2;
    /// Stands for the address of an entry that is gone.
    pub const GONE: usize = 1;
    /// Bits of a tag.
    pub const TAG_BITS: u32 = 16;
    /// The lowest bit of a hash that is in its tag.
    pub const TAG_SHIFT: u32 = 16;

    /// Number of the word that is the first slot, in a table for keys of so many words: slots begin with a cache line.
    pub const fn slots(key_words: usize) -> usize {
        (Self::MULTIPLIERS + key_words).next_multiple_of(8)
    }

    /// What a slot holds of a hash: other bits than those that choose it.
    #[inline(always)]
    pub const fn tag(hash: u64) -> u16 {
        (hash >> Self::TAG_SHIFT) as u16
    }
}

/// How many bits of a table's key are matched exactly and by prefix, if it is a [`PrefixTree`]: one prefix, and few bits
/// besides. The key is one word then.
pub fn prefix_bits(table: &Table) -> Option<(u32, u32)> {
    let (mut exact, mut prefix) = (0, None);
    for key in &table.keys {
        let width = key.expr.ty.width();
        match key.kind {
            MatchKind::Exact => exact += width,
            MatchKind::Lpm if prefix.is_none() => prefix = Some(width),
            MatchKind::Selector => {}
            _ => return None,
        }
    }
    let prefix = prefix.filter(|p| *p > 0)?;
    (exact <= 16 && exact + prefix <= PrefixTree::MAX_BITS).then_some((exact, prefix))
}

/// A tree of slots: 2 to the power of [`PrefixTree::stride`] in each node, of which the next bits of a key choose one, from
/// the highest of its bits on; zeros stand for bits that it has not. A slot is zero if there is nothing in it: then the
/// table's `lookup` knows more. Else it is an address, shifted left by [`PrefixTree::SHIFT`], and below that the number of
/// bits of the prefix, shifted left by one, if the address is an entry's, or [`PrefixTree::NODE`] if it is a node's. The
/// root is nothing but slots; in other nodes they are preceded by [`PrefixTree::SLOTS`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct PrefixTree;

impl PrefixTree {
    /// Most bits of a key.
    pub const MAX_BITS: u32 = 48;
    /// Marks the address of a node.
    pub const NODE: usize = 1;
    /// Where an address begins in a slot.
    pub const SHIFT: u32 = 16;
    /// Bytes of a node before its slots.
    pub const SLOTS: usize = 64;

    /// Bits that the root decides.
    pub fn root_bits(bits: u32) -> u32 {
        bits.min(Self::stride(0))
    }

    /// Bits that a node at this depth decides; the root of a short key decides fewer.
    pub const fn stride(depth: u32) -> u32 {
        match depth {
            0 => 16,
            16 => 8,
            _ => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use hopwright_driver::compile_text;

    use super::*;

    fn layout(keys: &str) -> KeyLayout {
        let text = format!(
            "#include <core.p4>\n#include <v1model.p4>\n\
             header h_t {{ bit<9> a; bit<48> b; bit<7> c; bit<32> d; bit<128> e; }}\n\
             struct h {{ h_t h; }} struct m {{ bool f; }}\n\
             parser P(packet_in p, out h hdr, inout m meta, inout standard_metadata_t s) {{\n\
               state start {{ p.extract(hdr.h); transition accept; }} }}\n\
             control V(inout h hdr, inout m meta) {{ apply {{ }} }}\n\
             control I(inout h hdr, inout m meta, inout standard_metadata_t s) {{\n\
               table t {{ key = {{ {keys} }} actions = {{ NoAction; }} }} apply {{ t.apply(); }} }}\n\
             control E(inout h hdr, inout m meta, inout standard_metadata_t s) {{ apply {{ }} }}\n\
             control D(packet_out p, in h hdr) {{ apply {{ p.emit(hdr); }} }}\n\
             V1Switch(P(), V(), I(), E(), V(), D()) main;"
        );
        let compiled = compile_text("keys.p4", &text, &Default::default(), true);
        let p = compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        KeyLayout::of(&p.tables[0])
    }

    #[test]
    fn whole_fields_share_words() {
        let place = |word, shift, width| KeyField { word, shift, width };
        let l = layout("hdr.h.a: exact; hdr.h.b: exact; hdr.h.c: exact; meta.f: exact; hdr.h.d: exact;");
        assert_eq!(l.fields, [place(0, 55, 9), place(0, 7, 48), place(0, 0, 7), place(1, 32, 1), place(1, 0, 32)]);
        assert_eq!(l.words, 2);
        // A prefix comes last; what is wide is alone.
        let l = layout("hdr.h.d: lpm; hdr.h.e: exact; hdr.h.a: exact;");
        assert_eq!(l.fields, [place(2, 0, 32), place(0, 0, 128), place(2, 32, 9)]);
        assert_eq!(l.words, 3);
        // So is a range.
        let l = layout("hdr.h.a: ternary; hdr.h.c: range; hdr.h.d: ternary;");
        assert_eq!(l.fields, [place(0, 0, 9), place(1, 0, 7), place(2, 0, 32)]);
        let mut key = [0; 3];
        for (field, value) in l.fields.iter().zip([0x155, 0x7f, 0xffff_ffff]) {
            field.write(&mut key, [value]);
            assert_eq!(field.read(&key).collect::<Vec<_>>(), [value]);
        }
    }
}
