//! What a table takes, empty and with each entry.
//!
//! The structures grow with the entries. An entry is charged what it adds to them at most, over all entries. They do
//! not become smaller, so this stays charged for further entries of the table. What is the entry's own is given back with it.

use std::mem::size_of;

use hopwright_abi::{PrefixTree, direct_entries, limbs_of, prefix_bits};
use hopwright_ir::{ActionCall, MatchForm, MatchValue, Pipeline, TableId};
use num_bigint::BigUint;

use super::{KeyLayout, data_words_of, pages, shape_of, stored, trie};
use crate::account::allocated;
use crate::state::meter;

/// Bytes of hash slots for an entry: an array is at least an eighth full, after it has grown.
const SLOTS: u64 = 8 * 8;
/// Slots of an array that is kept sparse.
const SMALL_ARRAY: u64 = 8 * 4096;
/// A group of entries with one mask, with a slot array of its own.
const MASK: u64 = 512;
/// Bytes that a bit vector takes of each value of each piece of four bits of the key, for an entry.
const BITS: u64 = 16 / 8;
/// A direct counter.
const COUNTER: u64 = 112;

/// What a table's entries are charged.
#[derive(Clone, Debug)]
pub(super) struct EntryPrice {
    /// Each of them, for what is its own.
    each: u64,
    /// Each of them, for its part of the structures.
    part: u64,
    /// Those that are not more than this number, besides: the nodes of a trie at a depth, where there are no more than this number.
    first: Vec<(u64, u64)>,
}

impl EntryPrice {
    pub(super) fn of(pipeline: &Pipeline, id: TableId) -> EntryPrice {
        let model = &pipeline[id];
        let block = (shape_of(model).bytes(data_words_of(pipeline, id)) as u64).next_multiple_of(pages::ALIGN as u64);
        let exact = model.match_keys().all(|key| key.kind.form() == MatchForm::Value);
        let (search, first) = match prefix_bits(model) {
            _ if exact => (SLOTS, Vec::new()),
            Some((exact, prefix)) => (0, nodes(exact + prefix)),
            None => (SLOTS + MASK + 16 + KeyLayout::of(model).words as u64 * 16 * BITS, Vec::new()),
        };
        EntryPrice { each: of_record(pipeline, id), part: block + stored::FOOTPRINT + search, first }
    }

    /// What is an entry's own.
    pub(super) fn own(&self) -> u64 {
        self.each
    }

    /// The part of the structures that one more entry than this many has.
    pub(super) fn part(&self, entries: usize) -> u64 {
        let first = self.first.iter().filter(|(most, _)| (entries as u64) < *most).map(|(_, bytes)| bytes);
        self.part + first.sum::<u64>()
    }
}

/// What a table takes without entries.
pub(crate) fn of(pipeline: &Pipeline, id: TableId) -> u64 {
    let model = &pipeline[id];
    let exact = model.match_keys().all(|key| key.kind.form() == MatchForm::Value);
    match prefix_bits(model) {
        _ if exact => SMALL_ARRAY + direct_entries(model).unwrap_or(0) as u64 * 8,
        Some((exact, prefix)) => 8 << PrefixTree::root_bits(exact + prefix),
        None => SMALL_ARRAY,
    }
}

/// What an entry takes on the control plane's side, beside its place in the index of all entries.
fn of_record(pipeline: &Pipeline, id: TableId) -> u64 {
    let model = &pipeline[id];
    let keys: u64 = model.keys.iter().map(|key| of_match(key.expr.ty.width())).sum();
    let actions = model.actions.iter().map(|action| of_call(pipeline, action.action));
    let counter = if model.direct_counter.is_some() || model.idle_timeout { COUNTER } else { 0 };
    // The meter, its state, and what an entry has beside others.
    let meter = if model.direct_meter.is_some() { meter::FOOTPRINT + 64 } else { 0 };
    let extras = if hopwright_abi::lead_words(model) > 0 { allocated(96) } else { 0 };
    allocated(0) + keys + actions.max().unwrap_or(0) + counter + meter + extras
}

/// What a key's value and mask take.
pub(crate) fn of_match(width: u32) -> u64 {
    size_of::<MatchValue>() as u64 + 2 * allocated(limbs_of(width) * 8)
}

/// What the arguments of an action take.
pub(crate) fn of_call(pipeline: &Pipeline, action: hopwright_ir::ActionId) -> u64 {
    let parameter = |width: u32| size_of::<BigUint>() as u64 + allocated(limbs_of(width) * 8);
    let parameters = pipeline[action].params.iter().map(|parameter_of| parameter(parameter_of.ty.width()));
    parameters.fold(allocated(0), u64::saturating_add)
}

/// What an action takes that is a member of an action profile, or stands in an entry of a table with one.
pub(crate) fn of_member(pipeline: &Pipeline, call: &ActionCall) -> u64 {
    /// A block of memory of its own, the cells that lead to it, and places in maps.
    const MEMBER: u64 = 768;
    MEMBER + 2 * of_call(pipeline, call.action)
}

/// What a group with this many members takes.
pub(crate) fn of_group(members: usize) -> u64 {
    512 + 96 * members as u64
}

/// The nodes of a trie by depth: how many there are at most, and what one takes. Prefixes share nodes only where
/// there are no more.
fn nodes(bits: u32) -> Vec<(u64, u64)> {
    let mut depth = PrefixTree::stride(0);
    let mut nodes = Vec::new();
    while depth < bits {
        nodes.push((1 << depth, trie::node_bytes(depth)));
        depth += PrefixTree::stride(depth);
    }
    nodes
}
