//! The members of a value set in the memories of `hw_ternary`.

use std::cmp::Reverse;
use std::collections::HashMap;

use hopwright_ir::{MatchValue, ValueSet, bits};
use num_bigint::BigUint;

use super::cuckoo::Entries;
use super::ternary::Rows;
use super::{Access, Full, Write, accesses};
use crate::map::{Map, MemoryKind};

/// The engine that has the members.
#[derive(Clone, Debug)]
enum Engine {
    Ternary(Rows),
    Exact(Entries),
}

/// What a value set's memories hold.
#[derive(Clone, Debug)]
pub struct ValueSetDriver {
    /// The number of the memory and its engine; none if the design does not use the set.
    engine: Option<(usize, Engine)>,
    /// Members, with numbers in the order in which they came.
    members: HashMap<Vec<MatchValue>, u64>,
    next: u64,
}

impl ValueSetDriver {
    /// The driver of a set without members, as a design starts.
    pub fn new(map: &Map, set: &ValueSet) -> ValueSetDriver {
        let memory = map.memories.iter().enumerate().find_map(|(number, memory)| match memory.kind {
            MemoryKind::Ternary { entries, chunks } if memory.name == set.name => {
                Some((number, Engine::Ternary(Rows::new(entries, chunks))))
            }
            MemoryKind::Exact { buckets, slots, .. } if memory.name == set.name => {
                Some((number, Engine::Exact(Entries::new(memory.key_bits, 1, buckets, slots))))
            }
            _ => None,
        });
        ValueSetDriver { engine: memory, members: HashMap::new(), next: 0 }
    }

    /// The accesses that replace the members. New ones come before old ones go, so that what stays is a member all the time.
    ///
    /// # Errors
    /// There is no room for both. Nothing is changed then.
    pub fn replace(&mut self, set: &ValueSet, map: &Map, members: &[Vec<MatchValue>]) -> Result<Vec<Access>, Full> {
        let Some((memory, engine)) = &self.engine else { return Ok(Vec::new()) };
        let width = |part: usize| set.types[part].width();
        let (mut engine, mut writes, mut next) = (engine.clone(), Vec::new(), self.next);
        let mut kept = HashMap::new();
        for member in members {
            let number = self.members.get(member).or_else(|| kept.get(member)).copied().unwrap_or(next);
            if number == next {
                writes.extend(engine.put(number, member, width)?);
                next += 1;
            }
            kept.insert(member.clone(), number);
        }
        for (member, number) in self.members.iter().filter(|(member, _)| !kept.contains_key(*member)) {
            writes.extend(engine.remove(*number, member, width)?);
        }
        let accesses = accesses(map, *memory, &writes);
        (self.engine, self.members, self.next) = (Some((*memory, engine)), kept, next);
        Ok(accesses)
    }
}

impl Engine {
    fn put(&mut self, number: u64, member: &[MatchValue], width: impl Fn(usize) -> u32) -> Result<Vec<Write>, Full> {
        match self {
            Engine::Ternary(rows) => {
                rows.set((Reverse(0), number), &rows.values_and_masks(member, width)?, &BigUint::ZERO)
            }
            Engine::Exact(entries) => entries.put(key(member, width)?, BigUint::ZERO),
        }
    }

    fn remove(&mut self, number: u64, member: &[MatchValue], width: impl Fn(usize) -> u32) -> Result<Vec<Write>, Full> {
        match self {
            Engine::Ternary(rows) => rows.set((Reverse(0), number), &[], &BigUint::ZERO),
            Engine::Exact(entries) => Ok(entries.remove(&key(member, width)?)),
        }
    }
}

/// The one key that a member matches.
fn key(member: &[MatchValue], width: impl Fn(usize) -> u32) -> Result<BigUint, Full> {
    member.iter().enumerate().try_fold(BigUint::ZERO, |key, (i, part)| {
        let (value, mask) = part.value_and_mask(width(i)).unwrap_or_default();
        if mask != bits::mask(width(i)) {
            return Err(Full("a value set of this size has members without ranges and masks only".into()));
        }
        Ok((key << width(i)) + value)
    })
}
