//! The writer's copy of a table's entries, by key.
//!
//! Entries lie one behind the other, and an index of hashes and positions finds them. Growing the index therefore reads no
//! keys: those of a million entries are in no cache.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use hopwright_ir::MatchValue;

use super::pages::Zeroed;
use super::prefetch::prefetch;
use super::{MatchKey, StoredEntry};

/// Entries by what they match.
pub(super) struct StoredEntries {
    places: Vec<Place>,
    /// The place that was freed last.
    free: Option<u32>,
    len: usize,
    /// Upper half: a key's hash; lower half: its record's number plus one. Zero where there is none. A word stands where
    /// its hash says, or behind that with none that is free between.
    index: Zeroed<u64>,
    state: RandomState,
}

enum Place {
    Used(MatchKey, StoredEntry),
    /// The one that was freed before.
    Free(Option<u32>),
}

impl Default for StoredEntries {
    fn default() -> StoredEntries {
        StoredEntries { places: Vec::new(), free: None, len: 0, index: Zeroed::new(16), state: RandomState::default() }
    }
}

fn word(hash: u32, number: u32) -> u64 {
    u64::from(hash) << 32 | (u64::from(number) + 1)
}

fn number(word: u64) -> usize {
    (word as u32 - 1) as usize
}

impl StoredEntries {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What the other methods want to know of a key.
    pub(super) fn hash(&self, matches: &[MatchValue], priority: i32) -> u32 {
        let mut hasher = self.state.build_hasher();
        for value in matches {
            value.hash(&mut hasher);
        }
        priority.hash(&mut hasher);
        (hasher.finish() >> 32) as u32
    }

    /// Begins to fetch what will be looked at.
    pub(super) fn prefetch(&self, hash: u32) {
        prefetch(&raw const self.index[self.home(hash)]);
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    /// Where in the index a key is.
    fn find(&self, hash: u32, matches: &[MatchValue], priority: i32) -> Option<usize> {
        let mut at = self.home(hash);
        while self.index[at] != 0 {
            if (self.index[at] >> 32) as u32 == hash
                && let Place::Used(key, _) = &self.places[number(self.index[at])]
                && key.priority == priority
                && *key.matches == *matches
            {
                return Some(at);
            }
            at = (at + 1) & (self.index.len() - 1);
        }
        None
    }

    pub(super) fn get(&self, matches: &[MatchValue], priority: i32) -> Option<&StoredEntry> {
        let at = self.find(self.hash(matches, priority), matches, priority)?;
        match &self.places[number(self.index[at])] {
            Place::Used(_, record) => Some(record),
            Place::Free(_) => None,
        }
    }

    pub(super) fn get_mut(&mut self, key: &MatchKey) -> Option<&mut StoredEntry> {
        let at = self.find(self.hash(&key.matches, key.priority), &key.matches, key.priority)?;
        match &mut self.places[number(self.index[at])] {
            Place::Used(_, record) => Some(record),
            Place::Free(_) => None,
        }
    }

    /// `hash`: the key's.
    pub(super) fn contains(&self, hash: u32, key: &MatchKey) -> bool {
        self.find(hash, &key.matches, key.priority).is_some()
    }

    /// Adds a record whose key, with this hash, is not there yet. Tables hold less than 2^32.
    pub(super) fn insert(&mut self, hash: u32, key: MatchKey, record: StoredEntry) {
        debug_assert!(!self.contains(hash, &key));
        if (self.len + 1) * 4 > self.index.len() * 3 {
            self.grow();
        }
        let place = Place::Used(key, record);
        let number = match self.free {
            Some(number) => {
                if let Place::Free(next) = std::mem::replace(&mut self.places[number as usize], place) {
                    self.free = next;
                }
                number
            }
            None => {
                self.places.push(place);
                self.places.len() as u32 - 1
            }
        };
        self.link(word(hash, number));
        self.len += 1;
    }

    fn link(&mut self, word: u64) {
        let mut at = self.home((word >> 32) as u32);
        while self.index[at] != 0 {
            at = (at + 1) & (self.index.len() - 1);
        }
        self.index[at] = word;
    }

    fn grow(&mut self) {
        let twice = Zeroed::new(self.index.len() * 2);
        let old = std::mem::replace(&mut self.index, twice);
        old.iter().filter(|w| **w != 0).for_each(|w| self.link(*w));
    }

    pub(super) fn remove(
        &mut self,
        hash: u32,
        matches: &[MatchValue],
        priority: i32,
    ) -> Option<(MatchKey, StoredEntry)> {
        let mut hole = self.find(hash, matches, priority)?;
        let number = number(self.index[hole]);
        // Words behind the hole move into it, unless it is before where they may stand.
        let mask = self.index.len() - 1;
        let mut at = (hole + 1) & mask;
        while self.index[at] != 0 {
            let from_home = at.wrapping_sub(self.home((self.index[at] >> 32) as u32)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.index[hole] = self.index[at];
                hole = at;
            }
            at = (at + 1) & mask;
        }
        self.index[hole] = 0;
        self.len -= 1;
        let free = Place::Free(self.free.replace(number as u32));
        match std::mem::replace(&mut self.places[number], free) {
            Place::Used(key, record) => Some((key, record)),
            Place::Free(_) => None,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&MatchKey, &StoredEntry)> {
        self.places.iter().filter_map(|place| match place {
            Place::Used(key, record) => Some((key, record)),
            Place::Free(_) => None,
        })
    }

    /// Takes all.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (MatchKey, StoredEntry)> + use<> {
        std::mem::take(self).places.into_iter().filter_map(|place| match place {
            Place::Used(key, record) => Some((key, record)),
            Place::Free(_) => None,
        })
    }
}
