//! The handles by which BMv2's clients know the entries of a table.
//!
//! A handle is an index, and in its highest byte how often the index was used before. A new entry has the lowest free index. Other
//! control planes change the same tables: an entry of theirs has a handle as soon as a client sees it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hopwright_ir::{MatchValue, TableEntry};

use crate::failure::{Failure, TableCode};

/// The bits of a handle that are the index.
const INDEX_BITS: u32 = 24;

/// What identifies an entry: its matches and its priority.
pub(crate) type Key = (Vec<MatchValue>, i32);

#[derive(Debug, Default)]
struct Slot {
    version: u8,
    key: Option<Arc<Key>>,
}

/// The handles of one table.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    slots: Vec<Slot>,
    free: BTreeSet<u32>,
    by_key: HashMap<Arc<Key>, u32>,
}

impl Handles {
    /// Gives an entry a handle, which has none.
    pub(crate) fn add(&mut self, key: Arc<Key>) -> i32 {
        let index = self.free.pop_first().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.slots[index as usize].key = Some(key.clone());
        self.by_key.insert(key, index);
        self.handle(index)
    }

    /// Whether another entry can have a handle.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < 1 << INDEX_BITS
    }

    /// The entry with a handle.
    pub(crate) fn key(&self, handle: i32) -> Result<Arc<Key>, Failure> {
        let (index, version) = split(handle);
        let slot = self.slots.get(index as usize).filter(|slot| slot.key.is_some());
        match slot {
            Some(Slot { key: Some(key), version: current }) if *current == version => Ok(key.clone()),
            Some(_) => Err(TableCode::ExpiredHandle.because(format!("handle {handle} was of an entry that is gone"))),
            None => Err(TableCode::InvalidHandle.because(format!("no entry has the handle {handle}"))),
        }
    }

    /// The handle of an entry.
    pub(crate) fn handle_of(&self, key: &Key) -> Option<i32> {
        self.by_key.get(key).map(|index| self.handle(*index))
    }

    /// Frees the handle of an entry that is gone.
    pub(crate) fn remove(&mut self, key: &Key) {
        let Some(index) = self.by_key.remove(key) else { return };
        let slot = &mut self.slots[index as usize];
        *slot = Slot { version: slot.version.wrapping_add(1), key: None };
        self.free.insert(index);
    }

    /// Frees the handles of entries that are gone, gives new ones to entries without, and returns the entries with their handles, by
    /// index.
    pub(crate) fn sync(&mut self, entries: Vec<TableEntry>) -> Vec<(i32, TableEntry)> {
        let mut found: HashMap<Key, TableEntry> = HashMap::with_capacity(entries.len());
        let mut new = Vec::new();
        for entry in entries {
            let key = (entry.matches.clone(), entry.priority);
            if !self.by_key.contains_key(&key) {
                new.push(Arc::new(key.clone()));
            }
            found.insert(key, entry);
        }
        let gone: Vec<Arc<Key>> = self.by_key.keys().filter(|key| !found.contains_key(key.as_ref())).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
        for key in new {
            if self.has_room() {
                self.add(key);
            }
        }
        let entry = |(index, slot): (usize, &Slot)| {
            let entry = found.remove(slot.key.as_ref()?.as_ref())?;
            Some((handle(index as u32, slot.version), entry))
        };
        self.slots.iter().enumerate().filter_map(entry).collect()
    }

    fn handle(&self, index: u32) -> i32 {
        handle(index, self.slots[index as usize].version)
    }
}

fn handle(index: u32, version: u8) -> i32 {
    (u32::from(version) << INDEX_BITS | index) as i32
}

fn split(handle: i32) -> (u32, u8) {
    let handle = handle as u32;
    (handle & ((1 << INDEX_BITS) - 1), (handle >> INDEX_BITS) as u8)
}

#[cfg(test)]
mod tests {
    use hopwright_ir::{ActionCall, ActionId};

    use super::*;

    fn key(value: u32) -> Arc<Key> {
        Arc::new((vec![MatchValue::Exact(value.into())], 0))
    }

    fn entry(value: u32) -> TableEntry {
        let (matches, priority) = key(value).as_ref().clone();
        TableEntry { matches, priority, action: ActionCall { action: ActionId(0), args: Vec::new() } }
    }

    #[test]
    fn a_freed_index_is_used_again_with_another_version() {
        let mut handles = Handles::default();
        assert_eq!((0..3).map(|n| handles.add(key(n))).collect::<Vec<_>>(), [0, 1, 2]);
        handles.remove(&key(1));
        assert_eq!(handles.key(1), Err(TableCode::InvalidHandle.because("no entry has the handle 1")));
        assert_eq!(handles.add(key(7)), 1 << 24 | 1);
        assert_eq!(handles.key(1), Err(TableCode::ExpiredHandle.because("handle 1 was of an entry that is gone")));
        assert_eq!(handles.key(1 << 24 | 1), Ok(key(7)));
        assert_eq!(handles.handle_of(&key(7)), Some(1 << 24 | 1));
        assert!(handles.key(-1).is_err() && handles.key(3).is_err());
    }

    #[test]
    fn handles_follow_entries_of_others() {
        let mut handles = Handles::default();
        let shown = |handles: &mut Handles, values: &[u32]| {
            let found = handles.sync(values.iter().map(|value| entry(*value)).collect());
            found.into_iter().map(|(handle, entry)| (handle, entry.matches[0].clone())).collect::<Vec<_>>()
        };
        let exact = |value: u32| MatchValue::Exact(value.into());
        assert_eq!(shown(&mut handles, &[5, 6]), [(0, exact(5)), (1, exact(6))]);
        assert_eq!(shown(&mut handles, &[6, 8]), [(1 << 24, exact(8)), (1, exact(6))]);
        assert_eq!(shown(&mut handles, &[]), []);
    }
}
