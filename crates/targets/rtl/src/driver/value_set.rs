//! The members of a value set in the memories of `hw_ternary`.

use std::cmp::Reverse;
use std::collections::HashMap;

use hopwright_ir::{MatchValue, ValueSet};
use num_bigint::BigUint;

use super::ternary::Rows;
use super::{Access, Full, accesses};
use crate::map::{Map, MemoryKind};

/// What a value set's memories hold.
#[derive(Clone, Debug)]
pub struct ValueSetDriver {
    /// The number of the memory and its rows; none if the design does not use the set.
    engine: Option<(usize, Rows)>,
    /// Members, with numbers in the order in which they came.
    members: HashMap<Vec<MatchValue>, u64>,
    next: u64,
}

impl ValueSetDriver {
    /// The driver of a set without members, as a design starts.
    pub fn new(map: &Map, set: &ValueSet) -> ValueSetDriver {
        let memory = map.memories.iter().enumerate().find_map(|(number, memory)| match memory.kind {
            MemoryKind::Ternary { entries, chunks } if memory.name == set.name => {
                Some((number, Rows::new(entries, chunks)))
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
        let Some((memory, rows)) = &self.engine else { return Ok(Vec::new()) };
        let width = |part: usize| set.types[part].width();
        let order = |number: u64| (Reverse(0), number);
        let (mut rows, mut writes, mut next) = (rows.clone(), Vec::new(), self.next);
        let mut kept = HashMap::new();
        for member in members {
            let number = self.members.get(member).or_else(|| kept.get(member)).copied().unwrap_or(next);
            if number == next {
                writes.extend(rows.set(order(number), &rows.values_and_masks(member, width)?, &BigUint::ZERO)?);
                next += 1;
            }
            kept.insert(member.clone(), number);
        }
        for (_, number) in self.members.iter().filter(|(member, _)| !kept.contains_key(*member)) {
            writes.extend(rows.set(order(*number), &[], &BigUint::ZERO)?);
        }
        let accesses = accesses(map, *memory, &writes);
        (self.engine, self.members, self.next) = (Some((*memory, rows)), kept, next);
        Ok(accesses)
    }
}
