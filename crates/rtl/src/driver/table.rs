//! A table's entries in the memories of its engine.

use std::cmp::Reverse;
use std::collections::HashMap;

use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry, TableId};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::cuckoo::Cuckoo;
use super::lpm::Intervals;
use super::ternary::{Rows, values_and_masks};
use super::{Access, Write, accesses};
use crate::hir::LookupLayout;
use crate::map::{Map, MemoryKind};

/// A change of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Adds an entry, or changes the action of the one with the same match and priority.
    Put(&'a TableEntry),
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

/// The table's memories have no room for an entry; why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full(pub String);

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a table's memories hold. A lookup finds a table as it was or as it is while a change is written.
#[derive(Clone, Debug)]
pub struct TableDriver {
    id: TableId,
    layout: LookupLayout,
    /// The number of the memory with the default action, if it has data.
    default: Option<usize>,
    engine: Option<(usize, Engine)>,
}

#[derive(Clone, Debug)]
enum Engine {
    Index,
    Exact { table: Cuckoo, data: HashMap<BigUint, BigUint> },
    Lpm(Intervals),
    Ternary { rows: Rows, sequences: HashMap<(Vec<MatchValue>, i32), u64>, next: u64 },
}

impl TableDriver {
    /// The driver of a table whose memories are as a design starts: empty, with the program's default action.
    pub fn new(pipeline: &Pipeline, map: &Map, id: TableId) -> TableDriver {
        let name = &pipeline[id].name;
        let layout = LookupLayout::of(pipeline, id);
        let (mut default, mut engine) = (None, None);
        for (number, memory) in map.memories.iter().enumerate().filter(|(_, m)| m.name == *name) {
            engine = Some((
                number,
                match memory.kind {
                    MemoryKind::Default => {
                        default = Some(number);
                        continue;
                    }
                    // An object's, which no table is.
                    MemoryKind::Keys { .. } => continue,
                    MemoryKind::Index => Engine::Index,
                    MemoryKind::Exact { buckets, slots } => {
                        Engine::Exact { table: Cuckoo::new(memory.key_bits, buckets, slots), data: HashMap::new() }
                    }
                    MemoryKind::Lpm { levels } => {
                        Engine::Lpm(Intervals::new(memory.key_bits, layout.action_bits + layout.data_bits, levels))
                    }
                    MemoryKind::Ternary { entries, chunks } => {
                        Engine::Ternary { rows: Rows::new(entries, chunks), sequences: HashMap::new(), next: 0 }
                    }
                },
            ));
        }
        TableDriver { id, layout, default, engine }
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
        let Some((number, engine)) = &mut self.engine else { return Ok(Vec::new()) };
        let writes = engine.change(pipeline, self.id, &self.layout, map.memories[*number].key_bits, change)?;
        Ok(accesses(map, *number, &writes))
    }
}

impl Engine {
    fn change(
        &mut self,
        pipeline: &Pipeline,
        id: TableId,
        layout: &LookupLayout,
        key_bits: u32,
        change: &Change<'_>,
    ) -> Result<Vec<Write>, Full> {
        let table = &pipeline[id];
        let width = |i: usize| table.keys[i].expr.ty.width();
        let (matches, priority, action) = match change {
            Change::Put(entry) => (&entry.matches[..], entry.priority, Some(word(pipeline, layout, &entry.action))),
            Change::Delete { matches, priority } => (*matches, *priority, None),
            Change::Clear => return self.clear(key_bits),
            Change::Default(_) => return Ok(Vec::new()),
        };
        let key = || {
            matches.iter().enumerate().fold(BigUint::zero(), |key, (i, m)| {
                let (value, _) = m.value_and_mask(width(i)).unwrap_or_default();
                (key << width(i)) + value
            })
        };
        let data_bits = (layout.action_bits + layout.data_bits).max(1);
        match self {
            Engine::Index => {
                let addr = key().to_u32().unwrap_or(0);
                let data = action.map_or(BigUint::zero(), |data| data + (BigUint::one() << data_bits));
                Ok(vec![Write { addr, data }])
            }
            Engine::Exact { table, data } => {
                let key = key();
                let entry = |key: &BigUint, data: &BigUint| (((BigUint::one() << key_bits) + key) << data_bits) + data;
                let Some(action) = action else {
                    data.remove(&key);
                    let place = table.remove(&key);
                    return Ok(place.map(|addr| Write { addr, data: BigUint::zero() }).into_iter().collect());
                };
                let moves = match table.place(&key) {
                    Some(place) => vec![(key.clone(), place)],
                    None => table.insert(&key).ok_or_else(|| Full("no place is free for the key's hashes".into()))?,
                };
                data.insert(key, action);
                let write = |(key, addr): (BigUint, u32)| Write { addr, data: entry(&key, &data[&key]) };
                Ok(moves.into_iter().map(write).collect())
            }
            Engine::Lpm(intervals) => match matches.last() {
                Some(MatchValue::Lpm { prefix_len, .. }) => {
                    let before = key_bits - width(matches.len() - 1);
                    intervals.set(&key(), before + prefix_len, action)
                }
                _ => Ok(Vec::new()),
            },
            Engine::Ternary { rows, sequences, next } => {
                let key = (matches.to_vec(), priority);
                let sequence = *sequences.get(&key).unwrap_or(next);
                let order = (Reverse(MatchValue::rank(matches, priority, table.has_priority())), sequence);
                let Some(action) = action else {
                    sequences.remove(&key);
                    return rows.set(order, &[], &BigUint::zero());
                };
                let writes = rows.set(order, &values_and_masks(matches, &width), &action)?;
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
            Engine::Exact { table, data } => {
                let places: Vec<u32> = data.drain().filter_map(|(key, _)| table.remove(&key)).collect();
                places.into_iter().map(cleared).collect()
            }
            Engine::Lpm(intervals) => return intervals.clear(),
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
