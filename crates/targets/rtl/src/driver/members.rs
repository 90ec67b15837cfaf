//! The members of a table's action profile in the memory of its engine.
//!
//! An entry leads to a list: its members behind each other, each as often as its share says. Entries with equal lists share one.

use std::collections::HashMap;

use hopwright_ir::MatchValue;
use num_bigint::BigUint;

use super::{Full, Write};

/// The words of a list.
type Words = Vec<BigUint>;

/// An entry.
type Key = (Vec<MatchValue>, i32);

/// What the memory of members holds.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// Bits of places, and of the number of members.
    bits: u32,
    /// Where each list is, and how many entries lead to it.
    places: HashMap<Words, (u32, usize)>,
    /// The list of each entry.
    of: HashMap<Key, Words>,
    /// Behind the last list that was written. Places that have been free for longest are used first.
    next: u32,
}

impl Lists {
    pub(super) fn new(bits: u32) -> Lists {
        Lists { bits, places: HashMap::new(), of: HashMap::new(), next: 0 }
    }

    /// Finds a place for an entry's list. Returns the word that leads to it, and what is to be written before. The entry has its former list
    /// until [`Lists::set`].
    ///
    /// # Errors
    /// There is no room. Nothing is changed then.
    pub(super) fn find(&self, members: &[(BigUint, u32)]) -> Result<List, Full> {
        let words = 1u64 << self.bits;
        let count: u64 = members.iter().map(|(_, share)| u64::from(*share)).sum();
        // A number of members has as many bits as a place.
        if count >= words {
            return Err(Full(format!("the shares of a group are {count} together, of at most {}", words - 1)));
        }
        let list: Words = members.iter().flat_map(|(word, share)| vec![word.clone(); *share as usize]).collect();
        let count = count as u32;
        let known = self.places.get(&list).map(|(first, _)| *first);
        let first = match known {
            Some(first) => first,
            None if count == 0 => 0,
            None => self.room(count).ok_or_else(|| Full(format!("its groups have room for {words} members")))?,
        };
        let new = if known.is_some() { Vec::new() } else { list.clone() };
        let writes = new.into_iter().zip(first..).map(|(data, addr)| Write { addr, data }).collect();
        let head = (BigUint::from(first) << self.bits) + count;
        Ok(List { words: list, first, head, writes })
    }

    /// A place for a list of this many members.
    fn room(&self, count: u32) -> Option<u32> {
        let mut taken: Vec<(u32, u32)> =
            self.places.iter().map(|(list, (first, _))| (*first, first + list.len() as u32)).collect();
        taken.sort_unstable();
        let end = 1u32 << self.bits;
        let free_from = |from: u32| {
            let mut at = from;
            for (first, behind) in &taken {
                if at + count <= *first {
                    break;
                }
                at = at.max(*behind);
            }
            (at + count <= end).then_some(at)
        };
        free_from(self.next).or_else(|| free_from(0))
    }

    /// The entry has this list now.
    pub(super) fn set(&mut self, key: Key, list: List) {
        if !list.writes.is_empty() {
            self.next = list.first + list.writes.len() as u32;
        }
        if !list.words.is_empty() {
            self.places.entry(list.words.clone()).or_insert((list.first, 0)).1 += 1;
        }
        let before = self.of.insert(key, list.words);
        self.release(before);
    }

    /// The entry is gone.
    pub(super) fn remove(&mut self, key: &Key) {
        let before = self.of.remove(key);
        self.release(before);
    }

    /// All entries are gone.
    pub(super) fn clear(&mut self) {
        self.of.clear();
        self.places.clear();
    }

    fn release(&mut self, list: Option<Words>) {
        let Some(list) = list else { return };
        if let Some((_, entries)) = self.places.get_mut(&list) {
            *entries -= 1;
            if *entries == 0 {
                self.places.remove(&list);
            }
        }
    }
}

/// A list for an entry.
#[derive(Clone, Debug)]
pub(super) struct List {
    words: Words,
    first: u32,
    /// Its place and its number of members, as entries have them.
    pub(super) head: BigUint,
    /// Its members, if they are to be written.
    pub(super) writes: Vec<Write>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        (vec![MatchValue::Exact(n.into())], 0)
    }

    /// Members of these numbers with a share of one.
    fn members(numbers: &[u32]) -> Vec<(BigUint, u32)> {
        numbers.iter().map(|n| (BigUint::from(*n), 1)).collect()
    }

    /// What a memory has at the place that an entry leads to.
    fn read(memory: &HashMap<u32, BigUint>, head: &BigUint, bits: u32) -> Vec<BigUint> {
        let count = head & ((BigUint::from(1u32) << bits) - 1u32);
        let (first, count) = (u32::try_from(head >> bits).unwrap(), u32::try_from(count).unwrap());
        (first..first + count).map(|at| memory[&at].clone()).collect()
    }

    #[test]
    fn entries_lead_to_their_members_whatever_changes_before_and_behind_them() {
        const BITS: u32 = 5;
        let (mut lists, mut memory) = (Lists::new(BITS), HashMap::new());
        let mut heads: HashMap<u32, (BigUint, Vec<u32>)> = HashMap::new();
        let (mut random, mut full) = (7u32, 0);
        let mut below = |n: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % n
        };
        for _ in 0..3000 {
            let entry = below(8);
            if below(4) == 0 {
                lists.remove(&key(entry));
                heads.remove(&entry);
                continue;
            }
            let numbers: Vec<u32> = (0..below(9)).map(|_| below(3)).collect();
            let Ok(list) = lists.find(&members(&numbers)) else {
                full += 1;
                continue;
            };
            // What is written is not what other entries use, nor this one until it leads elsewhere.
            memory.extend(list.writes.iter().map(|write| (write.addr, write.data.clone())));
            for (head, numbers) in heads.values() {
                let wanted: Vec<BigUint> = numbers.iter().map(|n| BigUint::from(*n)).collect();
                assert_eq!(read(&memory, head, BITS), wanted);
            }
            heads.insert(entry, (list.head.clone(), numbers));
            lists.set(key(entry), list);
        }
        assert!(full > 10, "{full}");
    }

    #[test]
    fn shares_repeat_members_and_have_a_limit() {
        let lists = Lists::new(3);
        let list = lists.find(&[(5u32.into(), 2), (6u32.into(), 1)]).unwrap();
        let words: Vec<BigUint> = list.writes.iter().map(|write| write.data.clone()).collect();
        assert_eq!(words, [5u32, 5, 6].map(BigUint::from));
        assert!(lists.find(&[(5u32.into(), 8)]).is_err());
        assert!(lists.find(&[(5u32.into(), u32::MAX), (6u32.into(), u32::MAX)]).is_err());
    }
}
