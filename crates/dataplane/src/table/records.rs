//! The writer's memory of a table's entries, by what they match.
//!
//! A key's hash is kept beside its record, so that a table that grows does not look at all keys again: they lie all over
//! the memory, and a million of them are in no cache.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{MatchKey, Record};

/// Entries by what they match.
#[derive(Default)]
pub(super) struct Records {
    table: HashTable<(u64, Box<(MatchKey, Record)>)>,
    state: RandomState,
}

impl Records {
    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn get(&self, key: &MatchKey) -> Option<&Record> {
        let hash = self.state.hash_one(key);
        self.table.find(hash, |(h, kept)| *h == hash && kept.0 == *key).map(|(_, kept)| &kept.1)
    }

    pub fn get_mut(&mut self, key: &MatchKey) -> Option<&mut Record> {
        let hash = self.state.hash_one(key);
        self.table.find_mut(hash, |(h, kept)| *h == hash && kept.0 == *key).map(|(_, kept)| &mut kept.1)
    }

    pub fn contains_key(&self, key: &MatchKey) -> bool {
        self.get(key).is_some()
    }

    /// Adds a record whose key is not there yet.
    pub fn insert(&mut self, key: MatchKey, record: Record) {
        let hash = self.state.hash_one(&key);
        debug_assert!(!self.contains_key(&key));
        self.table.insert_unique(hash, (hash, Box::new((key, record))), |(h, _)| *h);
    }

    pub fn remove(&mut self, key: &MatchKey) -> Option<Record> {
        let hash = self.state.hash_one(key);
        let found = self.table.find_entry(hash, |(h, kept)| *h == hash && kept.0 == *key).ok()?;
        let ((_, kept), _) = found.remove();
        Some(kept.1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&MatchKey, &Record)> {
        self.table.iter().map(|(_, kept)| (&kept.0, &kept.1))
    }

    /// Takes all.
    pub fn drain(&mut self) -> impl Iterator<Item = (MatchKey, Record)> {
        self.table.drain().map(|(_, kept)| *kept)
    }
}
