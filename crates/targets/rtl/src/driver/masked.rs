//! The entries of `hw_masked`: each value under a mask is a key of an exact-match engine, together with the number of the mask. A value that
//! several entries have stands for the one of them that wins. Masks are given to lanes when an entry needs them, and are free again with
//! the last value that has them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use hopwright_ir::MatchValue;
use num_bigint::BigUint;

use super::cuckoo::{Entries, Moves};
use super::ternary::{Order, values_and_masks};
use super::{Full, Write};
use crate::map::{Memory, MemoryKind};
use crate::masked::RANK_BITS;

/// What identifies an entry.
type EntryKey = (Vec<MatchValue>, i32);

/// A value, and the mask that has all of its bits.
type Row = (BigUint, BigUint);

/// The most values of an entry.
const MOST_ROWS: usize = 1024;

/// The entries of a table.
#[derive(Clone, Debug)]
pub(super) struct Tuples {
    key_bits: u32,
    data_bits: u32,
    sequence_bits: u32,
    /// The width of the part of addresses that is within a lane.
    low_bits: u32,
    lanes: Vec<Lane>,
    values: HashMap<Row, Candidates>,
    entries: HashMap<EntryKey, Entry>,
    /// The number of the next entry.
    next: u64,
}

#[derive(Clone, Debug)]
struct Lane {
    masks: Vec<MaskInUse>,
    entries: Entries,
    /// How many values it has.
    count: usize,
}

/// A mask that a lane looks up, and how many values have it; without any it is free.
#[derive(Clone, Debug, Default)]
struct MaskInUse {
    mask: BigUint,
    values: usize,
}

/// Where a value is.
#[derive(Clone, Copy, Debug)]
struct Location {
    lane: usize,
    number: usize,
}

/// The entries with the same value under the same mask, the one that wins first.
#[derive(Clone, Debug)]
struct Candidates {
    at: Location,
    data: BTreeMap<Order, BigUint>,
}

#[derive(Clone, Debug)]
struct Entry {
    rank: i64,
    sequence: u64,
    rows: Vec<Row>,
}

impl Entry {
    fn order(&self) -> Order {
        (Reverse(self.rank), self.sequence)
    }
}

impl Tuples {
    /// Those of a table whose memory is as a design starts; none if it is the memory of another engine.
    pub(super) fn new(memory: &Memory, data_bits: u32) -> Option<Tuples> {
        let MemoryKind::Masked { lanes, passes, buckets, slots, sequence_bits, .. } = memory.kind else { return None };
        let key_bits = memory.key_bits;
        let entries = Entries::new(passes.ilog2() + key_bits, RANK_BITS + sequence_bits + data_bits, buckets, slots);
        let lane = Lane { masks: vec![MaskInUse::default(); passes as usize], entries, count: 0 };
        Some(Tuples {
            key_bits,
            data_bits,
            sequence_bits,
            low_bits: memory.addr_bits - 1 - lanes.ilog2(),
            lanes: vec![lane; lanes as usize],
            values: HashMap::new(),
            entries: HashMap::new(),
            next: 0,
        })
    }

    /// Adds an entry or changes its data. Returns what is to be written.
    ///
    /// # Errors
    /// There is no place for it. Nothing is changed then.
    pub(super) fn put(
        &mut self,
        key: EntryKey,
        rank: i64,
        width: impl Fn(usize) -> u32,
        data: &BigUint,
    ) -> Result<Vec<Write>, Full> {
        let mut writes = Vec::new();
        if let Some(entry) = self.entries.get(&key).cloned() {
            for row in &entry.rows {
                self.set_data(row, entry.order(), data, &mut writes);
            }
            return Ok(writes);
        }
        if self.next >> self.sequence_bits != 0 {
            return Err(Full(format!("it has room for {} entries", self.entries.len())));
        }
        let rows = values_and_masks(&key.0, width, MOST_ROWS)?;
        let rows: Vec<Row> = rows.into_iter().map(|(value, mask)| (value & &mask, mask)).collect();
        let entry = Entry { rank, sequence: self.next, rows };
        let (known, new): (Vec<&Row>, Vec<&Row>) = entry.rows.iter().partition(|row| self.values.contains_key(*row));
        let mut added: Vec<(&Row, Moves)> = Vec::new();
        for row in new {
            match self.add_value(row, entry.order(), data, &mut writes) {
                Ok(moves) => added.push((row, moves)),
                Err(full) => {
                    added.iter().rev().for_each(|(row, moves)| self.take_back(row, moves));
                    return Err(full);
                }
            }
        }
        for row in known {
            self.set_data(row, entry.order(), data, &mut writes);
        }
        self.entries.insert(key, entry);
        self.next += 1;
        if self.next >> self.sequence_bits != 0 {
            self.number_anew(&mut writes);
        }
        Ok(writes)
    }

    /// Removes an entry, if there is one. Returns what is to be written.
    pub(super) fn remove(&mut self, key: &EntryKey) -> Vec<Write> {
        let mut writes = Vec::new();
        let Some(entry) = self.entries.remove(key) else { return writes };
        for row in &entry.rows {
            let candidates = self.candidates(row);
            let wins = candidates.wins(&entry.order());
            candidates.data.remove(&entry.order());
            if candidates.data.is_empty() {
                self.remove_value(row, &mut writes);
            } else if wins {
                self.rewrite(row, &mut writes);
            }
        }
        writes
    }

    /// Removes all entries. Returns what is to be written: a packet that matches several finds the one that wins until it finds none.
    pub(super) fn clear(&mut self) -> Vec<Write> {
        let best = |candidates: &Candidates| candidates.data.first_key_value().map(|(order, _)| *order);
        let mut rows: Vec<_> = self.values.iter().map(|(row, c)| (Reverse(best(c)), row.clone())).collect();
        rows.sort();
        let mut writes = Vec::new();
        rows.iter().for_each(|(_, row)| self.remove_value(row, &mut writes));
        self.entries.clear();
        self.next = 0;
        writes
    }

    fn candidates(&mut self, row: &Row) -> &mut Candidates {
        self.values.get_mut(row).expect("values of entries are known")
    }

    /// Gives a new value a place: in a lane that has its mask, otherwise in one with room for its mask.
    fn add_value(&mut self, row: &Row, order: Order, data: &BigUint, writes: &mut Vec<Write>) -> Result<Moves, Full> {
        let (value, mask) = row;
        let mut lanes: Vec<usize> = (0..self.lanes.len()).collect();
        lanes.sort_by_key(|lane| self.lanes[*lane].count);
        let has = |lane: usize| self.lanes[lane].masks.iter().position(|m| m.values > 0 && m.mask == *mask);
        let free = |lane: usize| self.lanes[lane].masks.iter().position(|m| m.values == 0);
        let with = lanes.iter().filter_map(|lane| Some((*lane, has(*lane)?)));
        let without = lanes.iter().filter(|lane| has(**lane).is_none());
        let places: Vec<_> = with.chain(without.filter_map(|lane| Some((*lane, free(*lane)?)))).collect();
        let word = self.word(order, data);
        for (lane, number) in &places {
            let key = self.key(*number, value);
            let Ok(moves) = self.lanes[*lane].entries.insert(key, word.clone()) else { continue };
            let in_use = &mut self.lanes[*lane].masks[*number];
            if in_use.values == 0 {
                in_use.mask.clone_from(mask);
                writes.push(Write { addr: ((lane << self.low_bits) | number) as u32, data: mask.clone() });
            }
            in_use.values += 1;
            self.lanes[*lane].count += 1;
            self.write(*lane, self.lanes[*lane].entries.writes(&moves), writes);
            let at = Location { lane: *lane, number: *number };
            self.values.insert(row.clone(), Candidates { at, data: BTreeMap::from([(order, data.clone())]) });
            return Ok(moves);
        }
        let masks = self.lanes.iter().map(|lane| lane.masks.len()).sum::<usize>();
        Err(Full(match places.len() {
            0 => format!("it has room for entries of {masks} masks"),
            _ => "no place is free for the value under its mask".into(),
        }))
    }

    /// Takes back the last value that was added.
    fn take_back(&mut self, row: &Row, moves: &Moves) {
        let Some(Candidates { at, .. }) = self.values.remove(row) else { return };
        let lane = &mut self.lanes[at.lane];
        lane.entries.undo(moves);
        lane.masks[at.number].values -= 1;
        lane.count -= 1;
    }

    /// Removes a value that no entry has any more.
    fn remove_value(&mut self, row: &Row, writes: &mut Vec<Write>) {
        let Some(Candidates { at, .. }) = self.values.remove(row) else { return };
        let key = self.key(at.number, &row.0);
        let lane = &mut self.lanes[at.lane];
        let removed = lane.entries.remove(&key);
        lane.masks[at.number].values -= 1;
        lane.count -= 1;
        self.write(at.lane, removed, writes);
    }

    /// Sets the data that an entry gives to a value that is known.
    fn set_data(&mut self, row: &Row, order: Order, data: &BigUint, writes: &mut Vec<Write>) {
        let candidates = self.candidates(row);
        candidates.data.insert(order, data.clone());
        if candidates.wins(&order) {
            self.rewrite(row, writes);
        }
    }

    /// Writes the entry that wins among those with a value.
    fn rewrite(&mut self, row: &Row, writes: &mut Vec<Write>) {
        let Candidates { at, data } = &self.values[row];
        let Some((order, data)) = data.first_key_value() else { return };
        let (at, word) = (*at, self.word(*order, data));
        let key = self.key(at.number, &row.0);
        let entries = &mut self.lanes[at.lane].entries;
        if let Ok(moves) = entries.insert(key, word) {
            let written = entries.writes(&moves);
            self.write(at.lane, written, writes);
        }
    }

    /// Gives entries the least numbers that have their order. None passes another one meanwhile.
    fn number_anew(&mut self, writes: &mut Vec<Write>) {
        let mut keys: Vec<(u64, EntryKey)> = self.entries.iter().map(|(key, e)| (e.sequence, key.clone())).collect();
        keys.sort_by_key(|(sequence, _)| *sequence);
        self.next = keys.len() as u64;
        for (sequence, (_, key)) in (0..).zip(keys) {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let old = entry.order();
            entry.sequence = sequence;
            let (new, rows) = (entry.order(), entry.rows.clone());
            for row in rows.iter().filter(|_| new != old) {
                let data = self.candidates(row).data.remove(&old).unwrap_or_default();
                self.set_data(row, new, &data, writes);
            }
        }
    }

    /// The key of a value under a mask of this number.
    fn key(&self, number: usize, value: &BigUint) -> BigUint {
        (BigUint::from(number) << self.key_bits) + value
    }

    /// What is stored of an entry: the greatest order wins.
    fn word(&self, (Reverse(rank), sequence): Order, data: &BigUint) -> BigUint {
        let rank = (rank - i64::from(i32::MIN)) as u64;
        let first = (1 << self.sequence_bits) - 1 - sequence;
        (((BigUint::from(rank) << self.sequence_bits) + first) << self.data_bits) + data
    }

    /// Adds what is to be written to the entries of a lane.
    fn write(&self, lane: usize, entries: Vec<Write>, writes: &mut Vec<Write>) {
        let addr = ((self.lanes.len() | lane) << self.low_bits) as u32;
        writes.extend(entries.into_iter().map(|write| Write { addr: addr | write.addr, data: write.data }));
    }
}

impl Candidates {
    fn wins(&self, order: &Order) -> bool {
        self.data.first_key_value().is_some_and(|(first, _)| first == order)
    }
}

#[cfg(test)]
mod tests {
    use hopwright_ir::bits;

    use super::*;

    const KEY_BITS: u32 = 8;
    const DATA_BITS: u32 = 12;
    const SEQUENCE_BITS: u32 = 5;
    const LANES: u32 = 2;
    const PASSES: u32 = 4;

    fn tuples() -> Tuples {
        let kind = MemoryKind::Masked {
            lanes: LANES,
            passes: PASSES,
            buckets: 2,
            slots: 2,
            sequence_bits: SEQUENCE_BITS,
            hold: 0,
        };
        // Entries of a lane have addresses of three bits.
        let memory = Memory { name: String::new(), kind, addr_bits: 5, data_bits: 0, key_bits: KEY_BITS };
        Tuples::new(&memory, DATA_BITS).unwrap()
    }

    /// The memories, as lookups see them.
    #[derive(Default)]
    struct Words(HashMap<u32, BigUint>);

    impl Words {
        /// The data that a key finds. Words are {valid, mask's number, value, order, data}.
        fn lookup(&self, key: u32) -> Option<u32> {
            let stored = RANK_BITS + SEQUENCE_BITS + DATA_BITS;
            let mut best: Option<BigUint> = None;
            for (lane, number) in (0..LANES).flat_map(|lane| (0..PASSES).map(move |number| (lane, number))) {
                let mask = self.0.get(&(lane << 3 | number)).cloned().unwrap_or_default();
                let wanted = (BigUint::from(PASSES | number) << KEY_BITS) + (mask & BigUint::from(key));
                let words = (0..8).filter_map(|at| self.0.get(&(LANES << 3 | lane << 3 | at)));
                let found = words.filter(|word| *word >> stored == wanted).map(|word| word & bits::mask(stored));
                best = found.chain(best).max();
            }
            best.map(|word| u32::try_from(word & bits::mask(DATA_BITS)).unwrap())
        }
    }

    #[derive(Clone, Debug, PartialEq)]
    struct Model {
        matches: Vec<MatchValue>,
        priority: i32,
        data: u32,
    }

    fn find(entries: &[Model], key: u32) -> Option<u32> {
        let mut best: Option<&Model> = None;
        for entry in entries {
            let hit = match &entry.matches[0] {
                MatchValue::Ternary { value, mask } => (BigUint::from(key) & mask) == *value,
                MatchValue::Range { lo, hi } => (lo..=hi).contains(&&BigUint::from(key)),
                _ => unreachable!("entries have masks or ranges"),
            };
            if hit && best.is_none_or(|best| entry.priority > best.priority) {
                best = Some(entry);
            }
        }
        best.map(|entry| entry.data)
    }

    /// After each write a key finds what it found before the change or what it finds after it; what has no room changes nothing.
    #[test]
    fn lookups_find_what_was_or_what_is() {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut below = |n: u32| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 33) as u32 % n
        };
        let (mut tuples, mut memory, mut entries) = (tuples(), Words::default(), Vec::<Model>::new());
        let (mut most, mut no_masks, mut no_places, mut shared, mut renumbered) = (0, 0, 0, 0, 0);
        for step in 1..2000 {
            let before = entries.clone();
            let masks: [u32; 10] = [0xff, 0xf0, 0x0f, 0x3c, 0, 0xfe, 0x81, 0x7f, 0xc0, 0x55];
            let one = |mask: u32, value: u32| MatchValue::Ternary { value: (value & mask).into(), mask: mask.into() };
            let (priority, what) = (below(5) as i32 - 2, below(40));
            let mut matches = vec![one(masks[(below(4) * below(4)) as usize], below(256))];
            if what > 34 {
                let lo = below(200);
                matches = vec![MatchValue::Range { lo: lo.into(), hi: (lo + below(50)).into() }];
            }
            let known = entries.iter().position(|e| e.matches == matches && e.priority == priority);
            let next = tuples.next;
            let result = if what == 0 {
                entries.clear();
                Ok(tuples.clear())
            } else if what < 16 && !entries.is_empty() {
                let gone = entries.remove(below(entries.len() as u32) as usize);
                Ok(tuples.remove(&(gone.matches, gone.priority)))
            } else {
                let entry = Model { matches: matches.clone(), priority, data: step };
                match known {
                    Some(at) => entries[at] = entry,
                    None => entries.push(entry),
                }
                tuples.put((matches, priority), priority.into(), |_| KEY_BITS, &step.into())
            };
            renumbered += u32::from(what != 0 && tuples.next < next);
            let writes = result.unwrap_or_else(|Full(why)| {
                let of_masks = why.contains("masks");
                (no_masks, no_places) = (no_masks + u32::from(of_masks), no_places + u32::from(!of_masks));
                entries.clone_from(&before);
                Vec::new()
            });
            for write in writes {
                memory.0.insert(write.addr, write.data);
                for key in (step % 7..256).step_by(7) {
                    let found = memory.lookup(key);
                    let either = found == find(&before, key) || found == find(&entries, key);
                    assert!(either, "step {step}: {key} finds {found:?}");
                }
            }
            for key in 0..256 {
                assert_eq!(memory.lookup(key), find(&entries, key), "step {step}, key {key}");
            }
            most = most.max(tuples.values.len());
            shared += usize::from(tuples.values.values().any(|candidates| candidates.data.len() > 1));
        }
        assert!(most >= 12 && no_masks > 5 && no_places > 5, "{most} values, {no_masks} and {no_places} without room");
        assert!(
            shared > 100 && renumbered > 3,
            "{shared} times values were shared, {renumbered} times numbers ran out"
        );
    }

    #[test]
    fn a_mask_with_more_values_than_a_lane_has_room_for_is_in_several() {
        let (mut tuples, mut memory) = (tuples(), Words::default());
        let put = |tuples: &mut Tuples, key: u32| {
            let all = MatchValue::Ternary { value: key.into(), mask: 0xffu32.into() };
            tuples.put((vec![all], 0), 0, |_| KEY_BITS, &key.into())
        };
        let keys: Vec<u32> = (0..40)
            .filter(|key| {
                let Ok(writes) = put(&mut tuples, *key) else { return false };
                writes.into_iter().for_each(|write| drop(memory.0.insert(write.addr, write.data)));
                true
            })
            .collect();
        // A lane has eight places.
        assert!(keys.len() > 12, "{keys:?}");
        assert!(keys.iter().all(|key| memory.lookup(*key) == Some(*key)));
    }
}
