//! The control plane's copy of a table's entries, indexed by their match.
//!
//! Entries are stored in a vector, and a hash index maps their matches to positions. Index words include the hash, so
//! growing the index does not read the keys, which would miss the cache in large tables.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use hopwright_ir::MatchValue;

use super::entry::{MatchKey, StoredEntry};
use super::pages::Zeroed;
use super::prefetch::prefetch;

/// A table's entries by match and priority.
pub(super) struct StoredEntries {
    places: Vec<Place>,
    /// Head of the list of free places.
    free: Option<u32>,
    len: usize,
    /// Open addressing with linear probing. The upper half of a word is the hash, the lower half the position in
    /// `places` plus one. Empty words are zero. No word between a key's home position and its actual one is empty.
    index: Zeroed<u64>,
    state: RandomState,
}

/// What an entry takes here beside its keys and its action's arguments: its place in a vector that grows by doubling, and its
/// index word, where at least three eighths of the words are used.
pub(super) const FOOTPRINT: u64 = (2 * size_of::<Place>() + 8 * 8 / 3) as u64;

enum Place {
    Used(MatchKey, StoredEntry),
    /// The next free place.
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

    /// Returns the hash that the other methods take.
    pub(super) fn hash(&self, matches: &[MatchValue], priority: i32) -> u32 {
        let mut hasher = self.state.build_hasher();
        for value in matches {
            value.hash(&mut hasher);
        }
        priority.hash(&mut hasher);
        (hasher.finish() >> 32) as u32
    }

    /// Prefetches the index word that a search starts with.
    pub(super) fn prefetch(&self, hash: u32) {
        prefetch(&raw const self.index[self.home(hash)]);
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    /// Returns the index position of a key.
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

    /// `hash` is the key's hash.
    pub(super) fn contains(&self, hash: u32, key: &MatchKey) -> bool {
        self.find(hash, &key.matches, key.priority).is_some()
    }

    /// Adds a record. Its key, whose hash is `hash`, must not be present. There can be less than 2^32 records.
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
        // Backward-shift deletion: words behind the hole move into it unless that would put them before their home
        // position.
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

    /// Removes and returns all entries.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (MatchKey, StoredEntry)> + use<> {
        std::mem::take(self).places.into_iter().filter_map(|place| match place {
            Place::Used(key, record) => Some((key, record)),
            Place::Free(_) => None,
        })
    }
}
