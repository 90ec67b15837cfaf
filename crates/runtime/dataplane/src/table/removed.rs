//! Removing entries so that they can be put back as they were.

use std::fmt;
use std::sync::Arc;

use hopwright_ir::{ActionCall, EntryTarget, MatchValue};

use super::Table;
use super::entry::{EntryExtras, MatchKey};
use crate::control::error::ControlError;
use crate::externs::Restore;
use crate::state::cell::{Cells, Count};
use crate::state::meter::MeterCell;

/// An entry that was removed from a table: [`Table::restore`] puts it back, with its counter, its meter, its index and cells, and
/// its place among entries of equal priority.
pub struct RemovedEntry {
    key: MatchKey,
    sequence: u64,
    action: ActionCall,
    target: Option<EntryTarget>,
    counter: Option<Arc<Cells>>,
    meter: Option<Arc<MeterCell>>,
    index: Option<u32>,
    cells: Vec<Restore>,
    /// What a device had counted.
    pub(super) counted: Option<Count>,
}

impl RemovedEntry {
    /// The entry's match and priority.
    pub fn key(&self) -> (&[MatchValue], i32) {
        (&self.key.matches, self.key.priority)
    }

    pub(super) fn action(&self) -> &ActionCall {
        &self.action
    }

    pub(super) fn target(&self) -> Option<&EntryTarget> {
        self.target.as_ref()
    }

    pub(super) fn rates(&self) -> Option<hopwright_ir::meter::Rates> {
        self.meter.as_ref().and_then(|meter| meter.rates())
    }
}

impl fmt::Debug for RemovedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemovedEntry").field("key", &self.key).field("action", &self.action).finish_non_exhaustive()
    }
}

impl Table {
    /// Removes an entry on this side, and keeps what is needed to put it back.
    pub(super) fn remove_here(&self, matches: &[MatchValue], priority: i32) -> Result<RemovedEntry, ControlError> {
        self.check_entries_changeable()?;
        let mut writer = self.lock();
        let hash = writer.records.hash(matches, priority);
        let removed = writer.records.remove(hash, matches, priority);
        let (key, record) = removed.ok_or_else(|| ControlError::NotFound(self.name()))?;
        let index = record.index();
        let cells = index.iter().flat_map(|index| self.cells.iter().map(|cells| cells.save(*index))).collect();
        let kept = RemovedEntry {
            key: MatchKey { matches: key.matches.clone(), priority },
            sequence: record.sequence,
            action: record.action.clone(),
            target: record.target().cloned(),
            counter: record.counter.clone(),
            meter: record.extras.as_ref().and_then(|extras| extras.meter.clone()),
            index,
            cells,
            counted: None,
        };
        self.unlink(&mut writer, &key, record);
        Ok(kept)
    }

    /// Puts an entry back on this side.
    pub(super) fn restore_here(&self, removed: RemovedEntry) -> Result<(), ControlError> {
        let RemovedEntry { key, sequence, action, target, counter, meter, index, cells, .. } = removed;
        let mut writer = self.lock();
        let hash = writer.records.hash(&key.matches, key.priority);
        self.check_room(&writer, hash, &key)?;
        let charged = self.charge_entry(&writer)?;
        let mut extras = (self.lead_words() > 0).then(Box::<EntryExtras>::default);
        if let Some(extras) = &mut extras {
            let acquired = target.map(|target| self.acquire_target(target)).transpose();
            extras.target = acquired.inspect_err(|_| self.account.release(charged))?.map(|(target, _)| target);
            extras.meter = meter;
            // The index is free unless an entry was added since, and stays.
            extras.index = index.map(|index| match writer.indices.take_back(index) {
                true => index,
                false => writer.indices.take(),
            });
            if extras.index == index {
                cells.into_iter().for_each(|restore| restore());
            }
        }
        self.encode_into(&mut writer.encoded, &key.matches, key.priority);
        let entry = self.unlinked(&mut writer, sequence, &action, counter, extras);
        self.link(&mut writer, hash, key, action, entry);
        Ok(())
    }

    /// Whether there is an entry that may be removed.
    pub(super) fn check_removable(&self, matches: &[MatchValue], priority: i32) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        match self.lock().records.get(matches, priority) {
            Some(_) => Ok(()),
            None => Err(ControlError::NotFound(self.name())),
        }
    }
}
