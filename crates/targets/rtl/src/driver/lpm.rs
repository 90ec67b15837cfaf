//! The intervals of `hw_lpm`. A change fills the bank that is not in use, and then switches.
//!
//! Intervals have gaps between them, so that a new one moves few others: where there is none, those of the smallest part of the table with room are
//! spread evenly (a packed-memory array; Bender, Demaine and Farach-Colton, FOCS 2000). A gap has the first key of the interval behind it, and no
//! lookup ends there.

use std::collections::BTreeMap;
use std::ops::Bound;

use hopwright_ir::bits;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::{Full, Write};

/// Prefixes, and what the banks hold.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    key_bits: u32,
    data_bits: u32,
    levels: u32,
    /// Data by value and length.
    prefixes: BTreeMap<(BigUint, u32), BigUint>,
    /// The places of intervals by first key, in the same order.
    places: BTreeMap<BigUint, u32>,
    /// Words by address.
    written: BTreeMap<u32, BigUint>,
    bank: bool,
}

impl Intervals {
    pub(super) fn new(key_bits: u32, data_bits: u32, levels: u32) -> Intervals {
        let (prefixes, places, written) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Intervals { key_bits, data_bits: data_bits.max(1), levels, prefixes, places, written, bank: false }
    }

    /// Sets or removes the data of a prefix. Returns what is to be written.
    pub(super) fn set(&mut self, value: &BigUint, len: u32, data: Option<BigUint>) -> Result<Vec<Write>, Full> {
        let key = (value.clone(), len);
        let before = match data {
            Some(data) => self.prefixes.insert(key.clone(), data),
            None => self.prefixes.remove(&key),
        };
        self.fill().inspect_err(|_| match before {
            Some(data) => drop(self.prefixes.insert(key.clone(), data)),
            None => drop(self.prefixes.remove(&key)),
        })
    }

    /// Removes all prefixes. Returns what is to be written.
    pub(super) fn clear(&mut self) -> Result<Vec<Write>, Full> {
        self.prefixes.clear();
        self.fill()
    }

    fn fill(&mut self) -> Result<Vec<Write>, Full> {
        let intervals = self.intervals();
        let count = 1u32 << self.levels;
        if intervals.len() > count as usize {
            return Err(Full(format!("its prefixes make {} intervals, of at most {count}", intervals.len())));
        }
        self.places.retain(|start, _| intervals.binary_search_by(|(other, _)| other.cmp(start)).is_ok());
        for (start, _) in &intervals {
            if !self.places.contains_key(start) {
                self.insert(start);
            }
        }
        let bank = u32::from(!self.bank) << self.levels;
        let mut words = Vec::new();
        // From the last place to the first: a gap's key is that of the place behind it. Memories start with zeros.
        let mut next = bits::mask(self.key_bits);
        let mut real = intervals.iter().rev().peekable();
        let mut behind_last = true;
        for place in (0..count).rev() {
            let here = real.next_if(|(start, _)| self.places.get(start) == Some(&place));
            let data = match here {
                Some((start, data)) => {
                    next.clone_from(start);
                    behind_last = false;
                    Some(data)
                }
                // Keys of all ones end here.
                None if behind_last && place == count - 1 => intervals.last().map(|(_, data)| data),
                None => None,
            };
            if place > 0 {
                // Node n of level l is the first key of interval (2 (n - 2^l) + 1) * 2^(levels - 1 - l).
                let (zeros, odd) = (place.trailing_zeros(), place >> (place.trailing_zeros() + 1));
                words.push((bank | 1 << (self.levels - 1 - zeros) | odd, next.clone()));
            }
            words.extend(data.map(|data| (1 << (self.levels + 1) | bank | place, data.clone())));
        }
        let mut writes = Vec::new();
        for (addr, data) in words {
            if *self.written.get(&addr).unwrap_or(&BigUint::ZERO) != data {
                self.written.insert(addr, data.clone());
                writes.push(Write { addr, data });
            }
        }
        self.bank = !self.bank;
        writes.push(Write { addr: 2 << (self.levels + 1), data: u32::from(self.bank).into() });
        Ok(writes)
    }

    /// Gives a new interval a place. There are fewer than places.
    fn insert(&mut self, start: &BigUint) {
        let count = 1u32 << self.levels;
        let before = self.places.range((Bound::Unbounded, Bound::Excluded(start))).next_back().map(|(_, place)| *place);
        let behind = self.places.range((Bound::Excluded(start), Bound::Unbounded)).next().map(|(_, place)| *place);
        let (low, high) = (before.map_or(0, |place| place + 1), behind.unwrap_or(count));
        if low < high {
            // The first one of all is the last place: what is in front of it stays zero.
            let middle = if before.is_none() { high - 1 } else { low + (high - low - 1) / 2 };
            self.places.insert(start.clone(), middle);
            return;
        }
        let near = before.or(behind).unwrap_or(0);
        for level in 1..=self.levels {
            let (first, size) = (near >> level << level, 1u32 << level);
            let end = first + size;
            let from = self.places.range((Bound::Unbounded, Bound::Excluded(start))).rev();
            let mut moving: Vec<BigUint> =
                from.take_while(|(_, place)| **place >= first).map(|(start, _)| start.clone()).collect();
            moving.reverse();
            moving.push(start.clone());
            let to = self.places.range((Bound::Excluded(start), Bound::Unbounded));
            moving.extend(to.take_while(|(_, place)| **place < end).map(|(start, _)| start.clone()));
            let used = moving.len() as u32;
            // The larger a part, the more of it stays free, up to half of what the table has free.
            let spare = u64::from(count - self.places.len() as u32) / 2 * u64::from(level);
            let most = size - (u64::from(size) * spare / u64::from(count * self.levels)) as u32;
            if used <= most || level == self.levels {
                for (i, moved) in moving.into_iter().enumerate() {
                    let place = first + ((i as u32 + 1) * size / used) - 1;
                    self.places.insert(moved, place);
                }
                return;
            }
        }
    }

    /// The first key of each interval and what it gives: hit and data.
    fn intervals(&self) -> Vec<(BigUint, BigUint)> {
        let mut ends: Vec<BigUint> = vec![BigUint::zero()];
        for (value, len) in self.prefixes.keys() {
            ends.push(value.clone());
            ends.push(value + (BigUint::one() << (self.key_bits - len)));
        }
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|end| bits::fits(end, self.key_bits));
        // Prefixes that hold the key, the longest last; sorted by value, a shorter one comes before those inside of it.
        let mut open: Vec<(BigUint, &BigUint)> = Vec::new();
        let mut prefixes = self.prefixes.iter().peekable();
        let interval = |start: BigUint| {
            while open.last().is_some_and(|(end, _)| *end <= start) {
                open.pop();
            }
            while let Some(((value, len), data)) = prefixes.next_if(|((value, _), _)| *value <= start) {
                open.push((value + (BigUint::one() << (self.key_bits - len)), data));
            }
            let found = open.last().map_or(BigUint::zero(), |(_, data)| (BigUint::one() << self.data_bits) + *data);
            (start, found)
        };
        ends.into_iter().map(interval).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_give_the_longest_prefix() {
        let mut intervals = Intervals::new(8, 8, 5);
        let prefixes: [(u32, u32); 7] = [(0, 0), (0x80, 1), (0x80, 3), (0x84, 6), (0x84, 8), (0xf0, 4), (0xff, 8)];
        for (number, (value, len)) in prefixes.iter().enumerate() {
            intervals.set(&(*value).into(), *len, Some((number as u32).into())).unwrap();
        }
        let found = intervals.intervals();
        for key in 0u32..256 {
            let longest = prefixes.iter().rposition(|(value, len)| key >> (8 - len) == value >> (8 - len)).unwrap();
            let (_, data) = found.iter().rfind(|(start, _)| *start <= key.into()).unwrap();
            assert_eq!(*data, (256 + longest as u32).into(), "{key}");
        }
    }

    /// Memory as the hardware has it.
    #[derive(Default)]
    struct Memory {
        words: BTreeMap<u32, BigUint>,
        bank: u32,
    }

    impl Memory {
        /// Makes writes; those to the bank in use would be seen too early.
        fn write(&mut self, writes: &[Write], levels: u32) {
            for Write { addr, data } in writes {
                if addr >> (levels + 1) == 2 {
                    self.bank = u32::from(!data.is_zero()) << levels;
                } else {
                    assert_ne!(addr & 1 << levels, self.bank, "a word in use changes");
                    self.words.insert(*addr, data.clone());
                }
            }
        }

        /// What a lookup gives: the way through the tree, then the interval.
        fn find(&self, key: u32, levels: u32) -> BigUint {
            let word = |addr: u32| self.words.get(&addr).cloned().unwrap_or_default();
            let node = (0..levels).fold(1, |node, _| 2 * node + u32::from(word(self.bank | node) <= key.into()));
            word(1 << (levels + 1) | self.bank | (node - (1 << levels)))
        }
    }

    /// Adds and removes prefixes of 16 bits in an order; compares lookups with the longest prefix. Returns the writes of each change.
    fn run(levels: u32, changes: &[(u32, u32, Option<u32>)]) -> Vec<usize> {
        let mut intervals = Intervals::new(16, 16, levels);
        let (mut memory, mut model) = (Memory::default(), BTreeMap::new());
        let mut counts = Vec::new();
        for (number, (value, len, data)) in changes.iter().enumerate() {
            let writes = intervals.set(&(*value).into(), *len, data.map(BigUint::from)).unwrap();
            counts.push(writes.len());
            memory.write(&writes, levels);
            match data {
                Some(data) => drop(model.insert((*len, *value), *data)),
                None => drop(model.remove(&(*len, *value))),
            }
            // All keys at the end, some in between, and those at the ends of the prefix.
            let step = if number + 1 == changes.len() { 1 } else { 997 };
            let near = [*value, value.wrapping_sub(1) & 0xffff, (value | 0xffff >> len), 0, 0xffff];
            for key in (0..0x10000).step_by(step).chain(near) {
                let longest = model.iter().rev().find(|((len, value), _)| (key ^ value) >> (16 - len) == 0);
                let expected = longest.map_or(0, |(_, data)| 0x10000 + data);
                assert_eq!(memory.find(key, levels), expected.into(), "key {key:#x} after change {number}");
            }
        }
        counts
    }

    #[test]
    fn updates_write_tens_of_words() {
        // Half of the intervals of the table, in ascending order, which is the worst, and in another one.
        let ascending: Vec<_> = (0..256).map(|i| (i << 8, 8, Some(i))).collect();
        let scattered: Vec<_> = (0..250).map(|i| ((i * 151 % 251) << 8 | 0x10, 12, Some(i))).collect();
        for changes in [ascending, scattered] {
            let mut counts = run(9, &changes);
            counts.sort_unstable();
            let (mean, median) = (counts.iter().sum::<usize>() / counts.len(), counts[counts.len() / 2]);
            assert!(mean <= 80 && median <= 40, "{mean} writes a change, half of them {median} or less");
        }
    }

    #[test]
    fn lookups_agree_after_each_change() {
        let mut state = 1u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32 % below
        };
        let mut there: Vec<(u32, u32)> = Vec::new();
        let mut changes = Vec::new();
        for i in 0..400 {
            if there.len() > 30 || (!there.is_empty() && random(3) == 0) {
                let (value, len) = there.swap_remove(random(there.len() as u32) as usize);
                changes.push((value, len, None));
            } else {
                let len = random(17);
                let value = random(0x10000) & !(0xffff >> len) & 0xffff;
                if !there.contains(&(value, len)) {
                    there.push((value, len));
                }
                changes.push((value, len, Some(i)));
            }
        }
        run(6, &changes);
    }

    #[test]
    fn a_full_table_holds_what_it_has_room_for() {
        // 31 prefixes that touch each other, behind none: 33 intervals do not fit, 32 do.
        let full: Vec<_> = (1..31).map(|i| (i << 11, 5, Some(i))).collect();
        run(5, &full);
        let mut intervals = Intervals::new(8, 8, 2);
        for i in 0..4u32 {
            intervals.set(&(i << 6).into(), 2, Some(i.into())).unwrap();
        }
        assert!(intervals.set(&0x10u32.into(), 4, Some(9u32.into())).is_err());
    }

    #[test]
    fn a_prefix_without_room_changes_nothing() {
        let mut intervals = Intervals::new(8, 8, 2);
        intervals.set(&0x10u32.into(), 8, Some(1u32.into())).unwrap();
        let before = (intervals.prefixes.clone(), intervals.bank);
        assert!(intervals.set(&0x20u32.into(), 8, Some(2u32.into())).is_err());
        assert_eq!((intervals.prefixes.clone(), intervals.bank), before);
        // The bank that is in use does not change.
        let writes = intervals.set(&0x10u32.into(), 8, Some(3u32.into())).unwrap();
        let (switch, words) = writes.split_last().unwrap();
        assert_eq!((switch.addr, switch.data.clone()), (2 << 3, BigUint::zero()));
        assert!(words.iter().all(|write| write.addr & 4 == 0));
    }
}
