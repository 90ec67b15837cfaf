//! Entries as the control plane keeps them.

use std::sync::Arc;

use hopwright_abi::NO_ENTRY_INDEX;
use hopwright_ir::{ActionCall, EntryTarget, MatchValue, TableEntry};

use super::profile::Choice;
use super::shared::EntryMemory;
use crate::externs::native_extern::Restore;
use crate::state::cell::Cells;
use crate::state::meter::MeterCell;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MatchKey {
    pub matches: Vec<MatchValue>,
    pub priority: i32,
}

pub(super) struct StoredEntry {
    /// The insertion sequence number; breaks ties between equal priorities.
    pub sequence: u64,
    pub action: ActionCall,
    pub block: EntryMemory,
    /// The direct counter, kept when the entry's action is modified.
    pub counter: Option<Arc<Cells>>,
    /// The profile target and direct meter; `None` in tables with neither.
    pub extras: Option<Box<EntryExtras>>,
}

/// An object with a cell for each entry of a table, at the entry's index.
pub(crate) trait EntryCells: Send + Sync {
    /// Sets a cell to what it holds at first.
    fn clear(&self, index: u32);

    /// Remembers what a cell holds.
    fn save(&self, index: u32) -> Restore;
}

/// The parts of an entry that only tables with an action profile, a direct meter or cells for entries have.
#[derive(Default)]
pub(super) struct EntryExtras {
    /// What the entry refers to in the table's action profile.
    pub target: Option<(EntryTarget, Arc<Choice>)>,
    /// The direct meter.
    pub meter: Option<Arc<MeterCell>>,
    /// The entry's index, if the table has cells for entries.
    pub index: Option<u32>,
}

impl EntryExtras {
    /// Returns the lead words, which precede the action data in the entry block; see [`lead_words`].
    pub(super) fn words(&self) -> [u64; 3] {
        let meter = self.meter.as_ref().map_or(0, |m| m.address());
        let index = self.index.map_or(NO_ENTRY_INDEX, u64::from);
        match &self.target {
            Some((_, choice)) => [choice.address(), meter, index],
            None if self.meter.is_none() => [index, 0, 0],
            None => [meter, index, 0],
        }
    }
}

impl StoredEntry {
    /// The entry's target in the table's action profile.
    pub(super) fn target(&self) -> Option<&EntryTarget> {
        self.extras.as_ref()?.target.as_ref().map(|(target, _)| target)
    }

    /// The entry's index, if the table has cells for entries.
    pub(super) fn index(&self) -> Option<u32> {
        self.extras.as_ref()?.index
    }
}

pub(super) fn split(entry: TableEntry) -> (MatchKey, ActionCall) {
    (MatchKey { matches: entry.matches, priority: entry.priority }, entry.action)
}
