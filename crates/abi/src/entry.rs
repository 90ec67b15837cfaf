//! Entries of tables: a header, lead words that depend on the table, then the action's data ([`crate::DataLayout`]).

use hopwright_ir::{Pipeline, Table, TableId};

use crate::{data_words, direct_entries};

/// The header of an entry. The words of [`lead_words`] follow, then the data. The fields that many packets test lie next
/// to the data.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct ActionEntry {
    /// This worker's direct counter for this entry, or null.
    pub counter: *mut CounterCell,
    /// 1 for an entry, 0 for the default action.
    pub hit: u32,
    /// The [`hopwright_ir::ActionId`] to run.
    pub action: u32,
}

/// A counter cell. One worker writes it; readers sum over workers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterCell {
    /// Packets.
    pub packets: u64,
    /// Bytes of the packets as received.
    pub bytes: u64,
}

/// Words between the header and the data in the entries of an action profile's members.
pub const MEMBER_LEAD_WORDS: usize = 2;

/// Words between the header and the data in every entry of a table, its default entry included.
///
/// - With an action profile two: the address of a choice and that of the direct meter. The choice is zero in the default
///   entry.
/// - With only a direct meter one: its address, zero in the default entry.
pub fn lead_words(table: &Table) -> usize {
    match (table.implementation, table.direct_meter) {
        (Some(_), _) => MEMBER_LEAD_WORDS,
        (None, Some(_)) => 1,
        (None, None) => 0,
    }
}

/// Words that every entry of a table has at least after its header, so that generated code may read them before it knows
/// the action.
///
/// In a table without keys or with [`direct_entries`] this is what the largest of its actions needs; in others at most
/// one.
pub fn least_data_words(pipeline: &Pipeline, table: TableId) -> usize {
    let table = &pipeline[table];
    let actions = table.actions.iter().map(|a| a.action).chain([table.default_action.action]);
    let most = lead_words(table) + actions.map(|a| data_words(&pipeline[a])).max().unwrap_or(0);
    if table.keys.is_empty() || direct_entries(table).is_some() { most } else { most.min(1) }
}
