//! Cuckoo hashing as `hw_exact` has it: where each key is, and how keys move to make room.

use std::collections::{HashMap, VecDeque};

use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::{Full, Write};

/// The polynomials of the two hash functions.
const POLYNOMIALS: [u32; 2] = [0xedb8_8320, 0x82f6_3b78];

/// Places that a search for a free one looks at before it gives up.
const MOST_SEARCHED: usize = 4096;

/// The number of a place: hash function, slot, bucket, from the highest bit.
type Place = u32;

/// Keys that get other places, in order; the last is the one that was added or changed.
pub(super) type Moves = Vec<(BigUint, Place)>;

/// The entries of an exact-match memory.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    key_bits: u32,
    data_bits: u32,
    table: Cuckoo,
    data: HashMap<BigUint, BigUint>,
}

impl Entries {
    pub(super) fn new(key_bits: u32, data_bits: u32, buckets: u64, slots: u32) -> Entries {
        Entries { key_bits, data_bits, table: Cuckoo::new(key_bits, buckets, slots), data: HashMap::new() }
    }

    /// Adds an entry or changes its data. Returns what is to be written.
    pub(super) fn put(&mut self, key: BigUint, data: BigUint) -> Result<Vec<Write>, Full> {
        let moves = self.insert(key, data)?;
        Ok(self.writes(&moves))
    }

    /// Adds an entry or changes its data.
    pub(super) fn insert(&mut self, key: BigUint, data: BigUint) -> Result<Moves, Full> {
        let moves = match self.table.place(&key) {
            Some(place) => vec![(key.clone(), place)],
            None => self.table.insert(&key).ok_or_else(|| Full("no place is free for the key's hashes".into()))?,
        };
        self.data.insert(key, data);
        Ok(moves)
    }

    /// What is to be written for an entry that was added or changed.
    pub(super) fn writes(&self, moves: &Moves) -> Vec<Write> {
        let write = |(key, addr): &(BigUint, Place)| {
            let entry = (BigUint::one() << self.key_bits) + key;
            Write { addr: *addr, data: (entry << self.data_bits) + &self.data[key] }
        };
        moves.iter().map(write).collect()
    }

    /// Takes back the last entry that was added.
    pub(super) fn undo(&mut self, moves: &Moves) {
        self.table.undo(moves);
        if let Some((added, _)) = moves.last() {
            self.data.remove(added);
        }
    }

    /// Removes an entry, if there is one. Returns what is to be written.
    pub(super) fn remove(&mut self, key: &BigUint) -> Vec<Write> {
        self.data.remove(key);
        self.table.remove(key).map(cleared).into_iter().collect()
    }

    /// Removes all entries. Returns what is to be written.
    pub(super) fn clear(&mut self) -> Vec<Write> {
        let places: Vec<Place> = self.data.drain().filter_map(|(key, _)| self.table.remove(&key)).collect();
        places.into_iter().map(cleared).collect()
    }
}

fn cleared(addr: Place) -> Write {
    Write { addr, data: BigUint::zero() }
}

/// A hash table's keys by place.
#[derive(Clone, Debug)]
struct Cuckoo {
    key_bits: u32,
    buckets: u32,
    slots: u32,
    keys: Vec<Option<BigUint>>,
    places: HashMap<BigUint, Place>,
}

impl Cuckoo {
    fn new(key_bits: u32, buckets: u64, slots: u32) -> Cuckoo {
        let buckets = buckets as u32;
        Cuckoo { key_bits, buckets, slots, keys: vec![None; (2 * slots * buckets) as usize], places: HashMap::new() }
    }

    /// Where a key is.
    fn place(&self, key: &BigUint) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// Takes a key out; returns where it was.
    fn remove(&mut self, key: &BigUint) -> Option<Place> {
        let place = self.places.remove(key)?;
        self.keys[place as usize] = None;
        Some(place)
    }

    /// The places that a key may have.
    fn candidates(&self, key: &BigUint) -> Vec<Place> {
        let bucket = |function: u32| crc(key, self.key_bits, POLYNOMIALS[function as usize]) & (self.buckets - 1);
        let places = |function: u32| {
            let bucket = bucket(function);
            (0..self.slots).map(move |slot| (function * self.slots + slot) * self.buckets + bucket)
        };
        places(0).chain(places(1)).collect()
    }

    /// Gives a new key a place. Returns the keys that move, and where to, in the order in which they are to be written: each place
    /// is free, or its key has been written elsewhere. The last is the new key. `None` if no place can be made free.
    fn insert(&mut self, key: &BigUint) -> Option<Moves> {
        // A search, breadth first: places, and the one whose key would move there.
        let mut from: HashMap<Place, Option<Place>> = HashMap::new();
        let mut next: VecDeque<Place> = VecDeque::new();
        for place in self.candidates(key) {
            from.entry(place).or_insert(None);
            next.push_back(place);
        }
        let mut free = None;
        while let Some(place) = next.pop_front() {
            let Some(occupant) = &self.keys[place as usize] else {
                free = Some(place);
                break;
            };
            if from.len() > MOST_SEARCHED {
                continue;
            }
            for further in self.candidates(occupant) {
                if let std::collections::hash_map::Entry::Vacant(vacant) = from.entry(further) {
                    vacant.insert(Some(place));
                    next.push_back(further);
                }
            }
        }
        let mut at = free?;
        let mut moves = Vec::new();
        while let Some(Some(origin)) = from.get(&at).copied() {
            let moving = self.keys[origin as usize].take().expect("only occupied places lead on");
            moves.push((moving, at));
            at = origin;
        }
        moves.push((key.clone(), at));
        for (key, place) in &moves {
            self.keys[*place as usize] = Some(key.clone());
            self.places.insert(key.clone(), *place);
        }
        Some(moves)
    }

    /// Takes back the insertion that made these moves, if there was none after it.
    fn undo(&mut self, moves: &Moves) {
        let (Some((_, free)), Some((added, _))) = (moves.first(), moves.last()) else { return };
        self.keys[*free as usize] = None;
        self.places.remove(added);
        // Each key came from the place to which the next one moved.
        for ((key, _), (_, from)) in moves.iter().zip(&moves[1..]) {
            self.keys[*from as usize] = Some(key.clone());
            self.places.insert(key.clone(), *from);
        }
    }
}

/// The CRC of a key with a reflected polynomial, without initial value and final complement.
fn crc(key: &BigUint, key_bits: u32, polynomial: u32) -> u32 {
    let length = key_bits.div_ceil(8) as usize;
    let digits = if key.is_zero() { Vec::new() } else { key.to_bytes_be() };
    let padding = std::iter::repeat_n(0, length - digits.len());
    padding.chain(digits).fold(0, |mut crc, byte: u8| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (polynomial & (crc & 1).wrapping_neg());
        }
        crc
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_tenths_are_filled_and_keys_are_always_found() {
        let keys: Vec<BigUint> = (0u32..115).map(|i| (i * 7919).into()).collect();
        let mut table = Cuckoo::new(48, 16, 4);
        // What the memory holds.
        let mut memory: HashMap<Place, BigUint> = HashMap::new();
        for (number, key) in keys.iter().enumerate() {
            for (moved, place) in table.insert(key).unwrap() {
                assert!(table.candidates(&moved).contains(&place));
                memory.insert(place, moved);
                for key in &keys[..number] {
                    assert!(table.candidates(key).iter().any(|place| memory.get(place) == Some(key)), "{key} is lost");
                }
            }
        }
        for key in &keys {
            let place = table.remove(key).unwrap();
            assert_eq!(memory.remove(&place).as_ref(), Some(key));
        }
        assert_eq!(table.place(&keys[0]), None);
    }

    #[test]
    fn what_an_insertion_moves_comes_back() {
        let mut table = Cuckoo::new(48, 8, 2);
        let mut most = 0;
        for key in (0u32..).map(|i| BigUint::from(i * 7919)) {
            let (keys, places) = (table.keys.clone(), table.places.clone());
            let Some(moves) = table.insert(&key) else { break };
            most = most.max(moves.len());
            table.undo(&moves);
            assert_eq!((&table.keys, &table.places), (&keys, &places));
            table.insert(&key);
        }
        assert!(most > 2, "{most} keys moved");
    }

    #[test]
    fn a_full_table_stays_as_it_is() {
        let mut table = Cuckoo::new(8, 1, 1);
        assert!(table.insert(&1u32.into()).is_some() && table.insert(&2u32.into()).is_some());
        assert_eq!(table.insert(&3u32.into()), None);
        assert!(table.place(&1u32.into()).is_some() && table.place(&2u32.into()).is_some());
    }

    #[test]
    fn the_crc_of_a_key_is_that_of_its_bytes() {
        // CRC-32 of "123456789" is 0xcbf43926; without initial value and complement its check value is 0x2dfd2d88.
        let key = BigUint::from_bytes_be(b"123456789");
        assert_eq!(crc(&key, 72, POLYNOMIALS[0]), 0x2dfd_2d88);
    }
}
