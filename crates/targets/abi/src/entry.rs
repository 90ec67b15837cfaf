//! Table entries: a header, lead words that depend on the table, then the action's data ([`crate::DataLayout`]).

use hopwright_ir::{Pipeline, Table, TableId};

use crate::{data_words, direct_entries};

/// The header of an entry. The words of [`lead_words`] follow, then the data. `hit` and `action`, which generated code
/// often tests together with data, are last, next to the data.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct ActionEntry {
    /// The address of the entry's direct counter cell, or null.
    pub counter: *mut CounterCell,
    /// 1 for an entry, 0 for the default action.
    pub hit: u32,
    /// The [`hopwright_ir::ActionId`] to run.
    pub action: u32,
}

/// A counter cell, written by one worker. Readers sum the cells of all workers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterCell {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes of the packets as received.
    pub bytes: u64,
}

/// Number of words between the header and the data in the entries of an action profile's members.
pub const MEMBER_LEAD_WORDS: usize = 3;

/// Number of words between the header and the data in every entry of a table, including its default entry.
///
/// - Three with an action profile: the address of a choice (a profile member, group or set), that of the direct meter and the
///   entry's index. In the default entry, the choice is zero.
/// - Without one, the address of the direct meter if there is one, zero in the default entry; then the entry's index if the table has
///   cells for entries.
///
/// The index is [`NO_ENTRY_INDEX`] in the default entry and in tables without cells for entries.
pub fn lead_words(table: &Table) -> usize {
    match table.implementation {
        Some(_) => MEMBER_LEAD_WORDS,
        None => usize::from(table.direct_meter.is_some()) + usize::from(!table.entry_cells.is_empty()),
    }
}

/// The index of the default entry.
pub const NO_ENTRY_INDEX: u64 = u32::MAX as u64;

/// The place of the entry's index among the words of [`lead_words`].
pub fn index_word(table: &Table) -> Option<usize> {
    (!table.entry_cells.is_empty()).then(|| lead_words(table) - 1)
}

/// The place of the address of the direct meter among the words of [`lead_words`], in a table that has one.
pub fn meter_word(table: &Table) -> usize {
    usize::from(table.implementation.is_some())
}

/// The minimum number of words after the header of a table's entries. Generated code may read these before it knows the
/// action.
///
/// In a table without keys, or with [`direct_entries`], it is the size of its largest action's data; in other tables at
/// most one word.
pub fn least_data_words(pipeline: &Pipeline, table: TableId) -> usize {
    let table = &pipeline[table];
    let actions = table.actions.iter().map(|a| a.action).chain([table.default_action.action]);
    let most = lead_words(table) + actions.map(|a| data_words(&pipeline[a])).max().unwrap_or(0);
    if table.keys.is_empty() || direct_entries(table).is_some() { most } else { most.min(1) }
}
