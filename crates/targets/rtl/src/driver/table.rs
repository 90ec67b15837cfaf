//! A table's entries in the memories of its engine.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use hopwright_ir::{ActionCall, Key, MatchValue, Pipeline, TableEntry, TableId, WeightedAction};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::cuckoo::Entries;
use super::lpm::Intervals;
use super::masked::Tuples;
use super::members::{List, Lists};
use super::ternary::Rows;
use super::{Access, Full, Write, accesses, write_object};
use crate::hir::LookupLayout;
use crate::map::{Map, MemoryKind};

/// A change of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Adds an entry, or changes the action of the one with the same match and priority.
    Put(&'a TableEntry),
    /// Adds an entry of a table with an action profile, or changes the actions of the one with the same match and priority. A hash chooses
    /// one of them; without actions, packets miss the entry.
    Choose {
        /// Its match.
        matches: &'a [MatchValue],
        /// Its priority.
        priority: i32,
        /// Its actions.
        actions: &'a [WeightedAction],
    },
    /// Removes an entry.
    Delete {
        /// Its match.
        matches: &'a [MatchValue],
        /// Its priority.
        priority: i32,
    },
    /// Removes all entries.
    Clear,
    /// Sets the default action.
    Default(&'a ActionCall),
}

/// What a table's memories hold. A lookup finds a table as it was or as it is while a change is written.
#[derive(Clone, Debug)]
pub struct TableDriver {
    id: TableId,
    layout: LookupLayout,
    /// The number of the memory with the default action, if it has data.
    default: Option<usize>,
    engine: Option<(usize, Engine)>,
    /// The number of the memory with the members of the action profile, if their actions have data.
    members: Option<usize>,
    lists: Lists,
    numbers: Numbers,
}

/// The numbers that entries have for their direct counters and meters.
#[derive(Clone, Debug)]
struct Numbers {
    of: HashMap<(Vec<MatchValue>, i32), u32>,
    /// Those that no entry has, the one that has been free for longest first; and those that no entry has had.
    free: VecDeque<u32>,
    unused: std::ops::Range<u32>,
    /// The objects with a cell for each number.
    objects: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Engine {
    Index,
    Exact(Entries),
    Lpm(Intervals),
    Ternary { rows: Rows, sequences: HashMap<(Vec<MatchValue>, i32), u64>, next: u64 },
    Masked(Tuples),
}

impl TableDriver {
    /// The driver of a table whose memories are as a design starts: empty, with the program's default action.
    pub fn new(pipeline: &Pipeline, map: &Map, id: TableId) -> TableDriver {
        let name = &pipeline[id].name;
        let layout = LookupLayout::of(pipeline, id);
        let (mut default, mut engine, mut members) = (None, None, None);
        for (number, memory) in map.memories.iter().enumerate().filter(|(_, m)| m.name == *name) {
            engine = Some((
                number,
                match memory.kind {
                    MemoryKind::Default => {
                        default = Some(number);
                        continue;
                    }
                    // No table's.
                    MemoryKind::Keys { .. } | MemoryKind::Lists { .. } => continue,
                    MemoryKind::Members { .. } => {
                        members = Some(number);
                        continue;
                    }
                    MemoryKind::Index => Engine::Index,
                    MemoryKind::Exact { buckets, slots, .. } => {
                        Engine::Exact(Entries::new(memory.key_bits, layout.stored_bits(), buckets, slots))
                    }
                    MemoryKind::Lpm { levels } => {
                        Engine::Lpm(Intervals::new(memory.key_bits, layout.stored_bits(), levels))
                    }
                    MemoryKind::Ternary { entries, chunks } => {
                        Engine::Ternary { rows: Rows::new(entries, chunks), sequences: HashMap::new(), next: 0 }
                    }
                    MemoryKind::Masked { .. } => match Tuples::new(memory, layout.stored_bits()) {
                        Some(tuples) => Engine::Masked(tuples),
                        None => continue,
                    },
                },
            ));
        }
        let objects = [pipeline[id].direct_counter, pipeline[id].direct_meter].into_iter().flatten();
        let numbers = Numbers {
            of: HashMap::new(),
            free: VecDeque::new(),
            unused: 0..u32::try_from(pipeline[id].size).unwrap_or(u32::MAX),
            objects: objects
                .filter_map(|object| map.objects.iter().position(|o| o.name == pipeline[object].name))
                .collect(),
        };
        let lists = Lists::new(layout.list_bits);
        TableDriver { id, layout, default, engine, members, lists, numbers }
    }

    /// The number of an entry: its cell in the table's direct counter and meter.
    pub fn number(&self, matches: &[MatchValue], priority: i32) -> Option<u32> {
        self.numbers.of.get(&(matches.to_vec(), priority)).copied()
    }

    /// The accesses that make a change.
    ///
    /// # Errors
    /// There is no room for the entry. Nothing is changed then.
    pub fn change(&mut self, pipeline: &Pipeline, map: &Map, change: &Change<'_>) -> Result<Vec<Access>, Full> {
        if let Change::Default(action) = change {
            let word = |_| Write { addr: 0, data: word(pipeline, &self.layout, action) };
            let write = |number: usize| accesses(map, number, &[word(number)]);
            return Ok(self.default.map(write).unwrap_or_default());
        }
        let Some((memory, engine)) = &mut self.engine else { return Ok(Vec::new()) };
        let numbered = self.layout.entry_bits > 0;
        let (mut data, mut all, mut number, mut list) = (None, Vec::new(), Number::Kept(0), None);
        if let Some((matches, priority)) = change.entry() {
            let mut stored = match change {
                Change::Put(entry) if self.layout.list_bits == 0 => word(pipeline, &self.layout, &entry.action),
                _ => {
                    let found = self.lists.find(&change.members(pipeline, &self.layout))?;
                    all.extend(self.members.iter().flat_map(|memory| accesses(map, *memory, &found.writes)));
                    list.insert(found).head.clone()
                }
            };
            if numbered {
                number = self.numbers.find(matches, priority)?;
                stored = (stored << self.layout.entry_bits) + number.value();
                if let Number::Reused(cell) = number {
                    let reset = |object: &usize| write_object(map, *object, cell, &BigUint::ZERO);
                    all.extend(self.numbers.objects.iter().flat_map(reset));
                }
            }
            data = Some(stored);
        }
        let key_bits = map.memories[*memory].key_bits;
        let writes = engine.change(pipeline, self.id, self.layout.stored_bits(), key_bits, change, data)?;
        all.extend(accesses(map, *memory, &writes));
        self.changed(change, number, list);
        Ok(all)
    }

    /// Remembers a change that the engine has made.
    fn changed(&mut self, change: &Change<'_>, number: Number, list: Option<List>) {
        if let Some((matches, priority)) = change.entry() {
            if self.layout.entry_bits > 0 {
                self.numbers.take(number, matches, priority);
            }
            if let Some(list) = list {
                self.lists.set((matches.to_vec(), priority), list);
            }
            return;
        }
        match change {
            Change::Delete { matches, priority } => {
                self.numbers.release(matches, *priority);
                self.lists.remove(&(matches.to_vec(), *priority));
            }
            Change::Clear => {
                self.numbers.free.extend(self.numbers.of.drain().map(|(_, number)| number));
                self.lists.clear();
            }
            Change::Put(_) | Change::Choose { .. } | Change::Default(_) => {}
        }
    }
}

impl<'a> Change<'a> {
    /// The entry that is there afterwards.
    fn entry(&self) -> Option<(&'a [MatchValue], i32)> {
        match *self {
            Change::Put(entry) => Some((&entry.matches, entry.priority)),
            Change::Choose { matches, priority, .. } => Some((matches, priority)),
            Change::Delete { .. } | Change::Clear | Change::Default(_) => None,
        }
    }

    /// The words of the actions of an entry, with their shares.
    fn members(&self, pipeline: &Pipeline, layout: &LookupLayout) -> Vec<(BigUint, u32)> {
        match self {
            Change::Put(entry) => vec![(word(pipeline, layout, &entry.action), 1)],
            Change::Choose { actions, .. } => {
                actions.iter().map(|a| (word(pipeline, layout, &a.action), a.weight)).collect()
            }
            Change::Delete { .. } | Change::Clear | Change::Default(_) => Vec::new(),
        }
    }
}

/// The number of an entry.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// It has it already.
    Kept(u32),
    /// Another one had it.
    Reused(u32),
    /// None had it.
    New(u32),
}

impl Number {
    fn value(self) -> u32 {
        let (Number::Kept(number) | Number::Reused(number) | Number::New(number)) = self;
        number
    }
}

impl Numbers {
    /// The number that an entry has or is to get.
    fn find(&self, matches: &[MatchValue], priority: i32) -> Result<Number, Full> {
        let own = self.of.get(&(matches.to_vec(), priority)).copied().map(Number::Kept);
        let new = || (!self.unused.is_empty()).then_some(Number::New(self.unused.start));
        let free = || self.free.front().copied().map(Number::Reused);
        own.or_else(new).or_else(free).ok_or_else(|| Full(format!("it has room for {} entries", self.of.len())))
    }

    fn take(&mut self, number: Number, matches: &[MatchValue], priority: i32) {
        match number {
            Number::Kept(_) => return,
            Number::Reused(_) => drop(self.free.pop_front()),
            Number::New(_) => drop(self.unused.next()),
        }
        self.of.insert((matches.to_vec(), priority), number.value());
    }

    fn release(&mut self, matches: &[MatchValue], priority: i32) {
        self.free.extend(self.of.remove(&(matches.to_vec(), priority)));
    }
}

impl Engine {
    fn change(
        &mut self,
        pipeline: &Pipeline,
        id: TableId,
        data_bits: u32,
        key_bits: u32,
        change: &Change<'_>,
        data: Option<BigUint>,
    ) -> Result<Vec<Write>, Full> {
        let table = &pipeline[id];
        let keys: Vec<&Key> = table.match_keys().collect();
        let width = |i: usize| keys[i].expr.ty.width();
        let (matches, priority) = match change {
            Change::Put(entry) => (&entry.matches[..], entry.priority),
            Change::Choose { matches, priority, .. } => (*matches, *priority),
            Change::Delete { matches, priority } => (*matches, *priority),
            Change::Clear => return self.clear(key_bits),
            Change::Default(_) => return Ok(Vec::new()),
        };
        let matches: Vec<MatchValue> =
            matches.iter().zip(&table.keys).filter(|(_, key)| key.kind.is_matched()).map(|(m, _)| m.clone()).collect();
        let matches = &matches[..];
        let key = || {
            matches.iter().enumerate().fold(BigUint::zero(), |key, (i, m)| {
                let (value, _) = m.value_and_mask(width(i)).unwrap_or_default();
                (key << width(i)) + value
            })
        };
        match self {
            Engine::Index => {
                let addr = key().to_u32().unwrap_or(0);
                let data = data.map_or(BigUint::zero(), |data| data + (BigUint::one() << data_bits));
                Ok(vec![Write { addr, data }])
            }
            Engine::Exact(entries) => match data {
                Some(data) => entries.put(key(), data),
                None => Ok(entries.remove(&key())),
            },
            Engine::Lpm(intervals) => match matches.last() {
                Some(MatchValue::Lpm { prefix_len, .. }) => {
                    let before = key_bits - width(matches.len() - 1);
                    intervals.set(&key(), before + prefix_len, data)
                }
                _ => Ok(Vec::new()),
            },
            Engine::Masked(tuples) => {
                let key = (matches.to_vec(), priority);
                let rank = MatchValue::rank(matches, priority, table.has_priority());
                match data {
                    Some(data) => tuples.put(key, rank, width, &data),
                    None => Ok(tuples.remove(&key)),
                }
            }
            Engine::Ternary { rows, sequences, next } => {
                let key = (matches.to_vec(), priority);
                let sequence = *sequences.get(&key).unwrap_or(next);
                let order = (Reverse(MatchValue::rank(matches, priority, table.has_priority())), sequence);
                let Some(data) = data else {
                    sequences.remove(&key);
                    return rows.set(order, &[], &BigUint::zero());
                };
                let writes = rows.set(order, &rows.values_and_masks(matches, width)?, &data)?;
                if sequence == *next {
                    sequences.insert(key, sequence);
                    *next += 1;
                }
                Ok(writes)
            }
        }
    }

    fn clear(&mut self, key_bits: u32) -> Result<Vec<Write>, Full> {
        let cleared = |addr: u32| Write { addr, data: BigUint::zero() };
        Ok(match self {
            Engine::Index => (0..1u32 << key_bits).map(cleared).collect(),
            Engine::Exact(entries) => entries.clear(),
            Engine::Lpm(intervals) => return intervals.clear(),
            Engine::Masked(tuples) => tuples.clear(),
            Engine::Ternary { rows, sequences, .. } => {
                sequences.clear();
                rows.clear()
            }
        })
    }
}

/// Action number and data of an action.
fn word(pipeline: &Pipeline, layout: &LookupLayout, call: &ActionCall) -> BigUint {
    let number = layout.actions.iter().position(|a| *a == call.action).unwrap_or(0);
    let (mut data, mut used) = (BigUint::zero(), 0);
    for (param, arg) in pipeline[call.action].params.iter().zip(&call.args) {
        data = (data << param.ty.width()) + arg;
        used += param.ty.width();
    }
    (BigUint::from(number) << layout.data_bits) + (data << (layout.data_bits - used))
}
