//! Where the bytes of a packet come from that the pipeline reads.
//!
//! Bits at few different places of the window that enters the pipeline are selected from it. All others are fetched from the
//! stored packet. One fetch gives all bits at few different distances from its offset.

use std::collections::{BTreeSet, HashMap};

use crate::hir::{Binary, Builder, Design, Node, Op, Value, rewrite};
use crate::offsets::possible_values;
use crate::target::Target;

/// The most places in the window from which bits are selected.
const MAX_OFFSETS: usize = 4;

/// The most distances from a fetch's offset at which bits are selected.
const MAX_DISTANCES: usize = 8;

/// The most bytes of a fetch.
const MAX_FETCH: u64 = 64;

/// Where bits of the packet come from.
enum Place {
    /// From these offsets.
    Window(Vec<u64>),
    /// From a fetch, at these distances.
    Fetch(usize, Vec<u64>),
}

struct Fetch {
    offset: Value,
    bytes: u64,
    distances: HashMap<Value, Option<BTreeSet<u64>>>,
}

/// Replaces bits at variable places by selections and fetches. Returns the new value of each old one.
pub(crate) fn lower(design: &mut Design, target: &Target) -> Vec<Value> {
    let offsets = possible_values(design);
    let mut fetches: Vec<Fetch> = Vec::new();
    let mut places: HashMap<usize, Place> = HashMap::new();
    for (i, node) in design.nodes.iter().enumerate() {
        let Op::Window { offset, bit } = node.op else { continue };
        let bytes = u64::from(bit + node.width).div_ceil(8);
        let within = |at: &u64| at + bytes <= u64::from(target.window_bytes);
        let place = match &offsets[offset.index()] {
            Some(set) if set.len() <= MAX_OFFSETS && set.iter().all(within) => {
                Place::Window(set.iter().copied().collect())
            }
            _ => fetch(design, &offsets, &mut fetches, offset, bytes),
        };
        places.insert(i, place);
    }
    let (lowered, new) = rewrite(design, |b, value, new| {
        let Node { op: Op::Window { offset, bit }, width, .. } = design[value] else { return None };
        let offset = new[offset.index()];
        Some(match &places[&value.index()] {
            Place::Window(offsets) => {
                let at = |b: &mut Builder, place: u64| {
                    let place = b.constant(place, 16);
                    b.window(place, bit, width)
                };
                select(b, offset, offsets, width, at)
            }
            Place::Fetch(from, distances) => {
                let Fetch { offset: base, bytes, .. } = fetches[*from];
                let base = new[base.index()];
                let fetched = b.fetch(base, 8 * bytes as u32);
                // The distance is below 64.
                let (low, low_base) = (b.resize(offset, 7), b.resize(base, 7));
                let distance = b.binary(Binary::Sub, low, low_base);
                let at = |b: &mut Builder, distance: u64| {
                    let first = 8 * distance as u32 + bit;
                    let top = 8 * bytes as u32 - 1 - first;
                    b.slice(fetched, top, top + 1 - width)
                };
                select(b, distance, distances, width, at)
            }
        })
    });
    *design = lowered;
    new
}

/// The value at the place that the selector says, of those it can say.
fn select(
    b: &mut Builder,
    selector: Value,
    places: &[u64],
    width: u32,
    mut at: impl FnMut(&mut Builder, u64) -> Value,
) -> Value {
    if let [only] = places {
        return at(b, *only);
    }
    let mut cases = Vec::new();
    for place in places {
        cases.push((b.eq_const(selector, *place), at(b, *place)));
    }
    b.one_hot(cases, width)
}

/// The fetch that gives some bytes at an offset: one that is there, or a new one.
fn fetch(
    design: &Design,
    offsets: &[Option<BTreeSet<u64>>],
    fetches: &mut Vec<Fetch>,
    offset: Value,
    bytes: u64,
) -> Place {
    for (i, fetch) in fetches.iter_mut().enumerate() {
        let Some(set) = distances(design, offsets, fetch.offset, offset, &mut fetch.distances) else { continue };
        let most = set.last().copied().unwrap_or(0);
        if set.len() <= MAX_DISTANCES && most + bytes <= MAX_FETCH {
            fetch.bytes = fetch.bytes.max(most + bytes);
            return Place::Fetch(i, set.into_iter().collect());
        }
    }
    fetches.push(Fetch { offset, bytes, distances: HashMap::new() });
    Place::Fetch(fetches.len() - 1, vec![0])
}

/// The distances that a value can have from another one; `None` if that is not known.
fn distances(
    design: &Design,
    offsets: &[Option<BTreeSet<u64>>],
    base: Value,
    value: Value,
    known: &mut HashMap<Value, Option<BTreeSet<u64>>>,
) -> Option<BTreeSet<u64>> {
    let (parts, base_parts) = (design.significant_parts(&value), design.significant_parts(&base));
    if parts == base_parts {
        return Some(BTreeSet::from([0]));
    }
    let [number] = parts else { return None };
    if Some(number) < base_parts.iter().min() {
        return None;
    }
    if let Some(set) = known.get(&value) {
        return set.clone();
    }
    let mut of = |v: Value| distances(design, offsets, base, v, known);
    let union = |sets: Vec<Option<BTreeSet<u64>>>| {
        sets.into_iter().try_fold(BTreeSet::new(), |mut all, set| {
            all.extend(set?);
            Some(all)
        })
    };
    let Node { op, width, .. } = &design[*number];
    let set = match op {
        // Offsets are no longer than a packet; other sums may lose a carry.
        Op::Binary(Binary::Add, a, b)
            if *width >= 16 || design.significant(*a).max(design.significant(*b)) < *width =>
        {
            let sum = |set: Option<BTreeSet<u64>>, other: Value| {
                let (set, other) = (set?, offsets[other.index()].as_ref()?);
                let few = set.len() * other.len() <= 64 && other.last().is_none_or(|most| *most < MAX_FETCH);
                few.then(|| set.iter().flat_map(|x| other.iter().map(move |y| x + y)).collect())
            };
            let (from_a, from_b) = (of(*a), of(*b));
            sum(from_a, *b).or_else(|| sum(from_b, *a))
        }
        Op::Mux { then, otherwise, .. } => union(vec![of(*then), of(*otherwise)]),
        Op::OneHot(cases) => union(cases.iter().map(|(_, v)| of(*v)).collect()),
        _ => None,
    };
    let set = set.filter(|set| set.len() <= 64);
    known.insert(value, set.clone());
    set
}
