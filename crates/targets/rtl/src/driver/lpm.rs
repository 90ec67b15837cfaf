//! The intervals of `hw_lpm`. A change fills the bank that is not in use, and then switches.

use std::collections::BTreeMap;

use hopwright_ir::bits;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::Write;
use super::table::Full;

/// Prefixes, and what the banks hold.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    key_bits: u32,
    data_bits: u32,
    levels: u32,
    /// Data by value and length.
    prefixes: BTreeMap<(BigUint, u32), BigUint>,
    /// Words by address.
    written: BTreeMap<u32, BigUint>,
    bank: bool,
}

impl Intervals {
    pub(super) fn new(key_bits: u32, data_bits: u32, levels: u32) -> Intervals {
        let data_bits = data_bits.max(1);
        let (prefixes, written) = (BTreeMap::new(), BTreeMap::new());
        Intervals { key_bits, data_bits, levels, prefixes, written, bank: false }
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
        let count = 1usize << self.levels;
        if intervals.len() > count {
            return Err(Full(format!("its prefixes make {} intervals, of at most {count}", intervals.len())));
        }
        let bank = u32::from(!self.bank) << self.levels;
        let all_ones = bits::mask(self.key_bits);
        let mut words = Vec::new();
        for node in 1..count as u32 {
            // In order, node n of level l is interval (2 (n - 2^l) + 1) * 2^(levels - 1 - l).
            let level = node.ilog2();
            let interval = (2 * (node - (1 << level)) + 1) << (self.levels - 1 - level);
            let key = intervals.get(interval as usize).map_or(&all_ones, |(start, _)| start);
            words.push((bank | node, key.clone()));
        }
        let last = intervals.last().map(|(_, data)| data.clone()).unwrap_or_default();
        for interval in 0..count {
            let data = intervals.get(interval).map_or(&last, |(_, data)| data);
            words.push((1 << (self.levels + 1) | bank | interval as u32, data.clone()));
        }
        let mut writes = Vec::new();
        for (addr, data) in words {
            // Memories start with zeros.
            if *self.written.get(&addr).unwrap_or(&BigUint::ZERO) != data {
                self.written.insert(addr, data.clone());
                writes.push(Write { addr, data });
            }
        }
        self.bank = !self.bank;
        writes.push(Write { addr: 2 << (self.levels + 1), data: u32::from(self.bank).into() });
        Ok(writes)
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
