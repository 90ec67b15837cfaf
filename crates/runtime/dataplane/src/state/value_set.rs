//! Parser value sets: the members, which the control plane replaces as a whole, and the lookup.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashSet;
use hopwright_ir::{MatchValue, ValueSet as Model, ValueSetId, bits, entry};
use num_bigint::BigUint;

use crate::control::error::ControlError;
use crate::offload::OnDevice;
use crate::sync::published::Published;
use crate::sync::quiescence::{Domain, Inside};
use hopwright_abi::{limbs_of, push_limbs};

/// A parser value set.
pub(crate) struct ValueSet {
    search: Published<Search>,
    /// The number of limbs of the keys.
    words: usize,
    /// The members that `search` was built from.
    members: Mutex<Vec<Vec<MatchValue>>>,
    /// What has them, too, if a device runs the program.
    pub(crate) device: OnDevice<ValueSetId>,
}

/// The members in the form that lookups use.
#[derive(Default)]
struct Search {
    words: usize,
    /// Members that match a single value, as the limbs of all keys.
    values: HashSet<Box<[u64]>, foldhash::fast::RandomState>,
    /// All other members.
    patterns: Box<[Pattern]>,
}

/// A member that matches more than one value.
#[derive(Default)]
struct Pattern {
    values: Vec<u64>,
    masks: Vec<u64>,
    ranges: Vec<Range>,
}

/// Bounds of one key, whose limbs start at index `at`.
struct Range {
    at: usize,
    lo: Vec<u64>,
    hi: Vec<u64>,
}

impl Search {
    fn new(model: &Model, members: &[Vec<MatchValue>]) -> Search {
        let widths: Vec<u32> = model.types.iter().map(|t| t.width()).collect();
        let mut search = Search { words: widths.iter().map(|w| limbs_of(*w)).sum(), ..Search::default() };
        let mut patterns = Vec::new();
        for member in members {
            let pattern = Pattern::new(member, &widths);
            let full = widths.iter().fold(Vec::new(), |mut limbs, w| {
                push_limbs(&mut limbs, &bits::mask(*w), limbs_of(*w));
                limbs
            });
            if pattern.ranges.is_empty() && pattern.masks == full {
                search.values.insert(pattern.values.into());
            } else {
                patterns.push(pattern);
            }
        }
        search.patterns = patterns.into();
        search
    }

    fn contains(&self, keys: &[u64]) -> bool {
        (!self.values.is_empty() && self.values.contains(keys)) || self.patterns.iter().any(|p| p.contains(keys))
    }
}

impl Pattern {
    fn new(member: &[MatchValue], widths: &[u32]) -> Pattern {
        let mut pattern = Pattern::default();
        for (part, &width) in member.iter().zip(widths) {
            let count = limbs_of(width);
            let limbs = |v: &BigUint| {
                let mut limbs = Vec::new();
                push_limbs(&mut limbs, v, count);
                limbs
            };
            if let MatchValue::Range { lo, hi } = part {
                pattern.ranges.push(Range { at: pattern.values.len(), lo: limbs(lo), hi: limbs(hi) });
            }
            let (value, mask) = part.value_and_mask(width).unwrap_or_default();
            pattern.values.extend(limbs(&value));
            pattern.masks.extend(limbs(&mask));
        }
        pattern
    }

    fn contains(&self, keys: &[u64]) -> bool {
        let masked = keys.iter().zip(&self.masks).zip(&self.values).all(|((k, m), v)| k & m == *v);
        // Limbs are little-endian: compare from the highest.
        let above = |a: &[u64], b: &[u64]| a.iter().rev().gt(b.iter().rev());
        masked
            && self.ranges.iter().all(|r| {
                let key = &keys[r.at..r.at + r.lo.len()];
                !above(&r.lo, key) && !above(key, &r.hi)
            })
    }
}

impl ValueSet {
    /// Creates an empty set.
    pub(crate) fn new(model: &Model, domain: &Arc<Domain>) -> ValueSet {
        let search = Search::new(model, &[]);
        ValueSet {
            words: search.words,
            search: Published::new(search, domain),
            members: Mutex::default(),
            device: OnDevice::default(),
        }
    }

    /// The members.
    pub(crate) fn members(&self) -> MutexGuard<'_, Vec<Vec<MatchValue>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces all members. `model` must be the one the set was created with.
    pub(crate) fn replace(&self, model: &Model, members: Vec<Vec<MatchValue>>) -> Result<(), ControlError> {
        let name = || model.name.clone();
        if members.len() as u64 > model.size {
            return Err(ControlError::FullValueSet { name: name(), size: model.size });
        }
        entry::check_members(model, &members).map_err(|reason| ControlError::Member { name: name(), reason })?;
        let mut kept = self.members();
        if let Some((mut device, set)) = self.device.get() {
            device.set_members(set, &members).map_err(|reason| ControlError::Device { name: name(), reason })?;
        }
        self.search.set(Search::new(model, &members));
        *kept = members;
        Ok(())
    }

    /// The number of limbs of the keys.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Whether keys are in the set, given as limbs.
    pub(crate) fn contains(&self, keys: &[u64], inside: Inside<'_>) -> bool {
        self.search.get(inside).contains(keys)
    }
}

impl fmt::Debug for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueSet").field("members", &self.members).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hopwright_ir::{Span, Type};
    use proptest::prelude::*;

    use super::*;

    fn part(width: u32) -> impl Strategy<Value = MatchValue> {
        let most = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        (0..6u8, 0..=most, 0..=most, 0..=width).prop_map(move |(kind, a, b, len)| {
            let full = bits::mask(width);
            let wide = |v: u64| (BigUint::from(v) << (width / 2)) & &full;
            match kind {
                0 => MatchValue::Exact(wide(a)),
                1 => MatchValue::Optional(Some(wide(a))),
                2 => MatchValue::Optional(None),
                3 => MatchValue::Ternary { value: wide(a) & wide(b), mask: wide(b) },
                4 => MatchValue::Lpm { value: (wide(a) >> (width - len)) << (width - len), prefix_len: len },
                _ => {
                    MatchValue::Range { lo: wide(a.min(b)).min(wide(a.max(b))), hi: wide(a.min(b)).max(wide(a.max(b))) }
                }
            }
        })
    }

    proptest! {
        #[test]
        fn the_search_finds_what_matches(
            members in proptest::collection::vec((part(4), part(70)), 0..5),
            keys in proptest::collection::vec((0..16u64, 0..=u64::MAX, any::<bool>()), 1..20),
        ) {
            let types = vec![Type::Bits(4), Type::Bits(70)];
            let model = Model { name: "set".into(), id: None, types, size: 8, span: Span::none() };
            let members: Vec<Vec<MatchValue>> = members.into_iter().map(|(a, b)| vec![a, b]).collect();
            let search = Search::new(&model, &members);
            for (a, b, bound) in keys {
                let mut key = [BigUint::from(a), (BigUint::from(b) << 35) & bits::mask(70)];
                // Test the bounds of ranges often: mistakes are likeliest there.
                if let (true, Some([_, MatchValue::Range { lo, hi }])) = (bound, members.first().map(Vec::as_slice)) {
                    key[1] = if b % 2 == 0 { lo.clone() } else { hi.clone() };
                }
                let mut limbs = Vec::new();
                push_limbs(&mut limbs, &key[0], 1);
                push_limbs(&mut limbs, &key[1], 2);
                let wanted = members.iter().any(|m| m[0].matches(&key[0], 4) && m[1].matches(&key[1], 70));
                prop_assert_eq!(search.contains(&limbs), wanted);
            }
        }
    }
}
