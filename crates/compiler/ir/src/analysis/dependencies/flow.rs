//! What is known at a point of a control: the value of each variable, and the branches that lead there.

use std::rc::Rc;
use std::sync::Arc;

use num_bigint::BigUint;
use num_traits::One;

use crate::SlotId;

/// Bit of a mask: the branch has not been met.
const NOT_MET: u64 = 1;
/// Arms beyond this share a bit.
const MAX_ARMS: usize = 62;

/// For each branch the arms by which paths lead to a point. Bit 0: there is a path without the branch, or the branch comes
/// later. A branch that is missing is not met.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks(Arc<Vec<u64>>);

impl Masks {
    fn get(&self, branch: usize) -> u64 {
        self.0.get(branch).copied().unwrap_or(NOT_MET)
    }

    /// The arm of a branch as a bit of a mask.
    pub(super) fn arm(arm: usize) -> u64 {
        2 << arm.min(MAX_ARMS)
    }

    /// All arms of a branch.
    pub(super) fn all(arms: usize) -> u64 {
        (0..arms).fold(0, |mask, arm| mask | Masks::arm(arm))
    }

    /// The masks in an arm of a branch.
    pub(super) fn taking(&self, branch: usize, arm: usize) -> Masks {
        let mut masks = self.clone();
        let vector = Arc::make_mut(&mut masks.0);
        if vector.len() <= branch {
            vector.resize(branch + 1, NOT_MET);
        }
        vector[branch] = Masks::arm(arm);
        masks
    }

    /// Where paths meet.
    pub(super) fn join(&self, other: &Masks) -> Masks {
        if Arc::ptr_eq(&self.0, &other.0) {
            return self.clone();
        }
        let branches = self.0.len().max(other.0.len());
        Masks(Arc::new((0..branches).map(|b| self.get(b) | other.get(b)).collect()))
    }

    /// Whether the same paths lead to both points.
    pub(super) fn same(&self, other: &Masks) -> bool {
        let branches = self.0.len().max(other.0.len());
        (0..branches).all(|b| self.get(b) == other.get(b))
    }

    /// Whether all paths that lead here may lead to the other point. `all` are the arms of each branch.
    pub(super) fn within(&self, other: &Masks, all: impl Fn(usize) -> u64) -> bool {
        let free =
            |(b, mask): (usize, &u64)| mask & NOT_MET != 0 || mask & all(b) == all(b) || self.get(b) & !mask == 0;
        other.0.iter().enumerate().all(free)
    }

    /// Whether no path that leads here takes one of these arms of a branch.
    pub(super) fn avoids(&self, branch: usize, arms: u64) -> bool {
        self.get(branch) & (arms | NOT_MET) == 0
    }

    /// Whether no path leads through both points.
    pub(super) fn exclusive(&self, other: &Masks) -> bool {
        self.0.iter().zip(other.0.iter()).any(|(a, b)| (a | b) & NOT_MET == 0 && a & b == 0)
    }

    /// The branches that decide whether a point is reached, with the arms that lead there. `all` are the arms of each branch.
    pub(super) fn deciding<'a>(&'a self, all: impl Fn(usize) -> u64 + 'a) -> impl Iterator<Item = (usize, u64)> + 'a {
        self.0.iter().enumerate().filter_map(move |(branch, mask)| {
            let arms = mask & !NOT_MET;
            (arms != 0 && arms != all(branch)).then_some((branch, arms >> 1))
        })
    }
}

/// Index into the builder's definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct DefId(pub(super) usize);

/// Where bits come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Constant(BigUint),
    /// From this bit of a definition on.
    Def(DefId, u32),
}

/// Some bits of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) source: Source,
    pub(super) width: u32,
}

/// The bits of a value, lowest first.
pub(super) type Value = Vec<Segment>;

pub(super) fn constant(value: BigUint, width: u32) -> Value {
    if width == 0 { Vec::new() } else { vec![Segment { source: Source::Constant(value), width }] }
}

pub(super) fn width(value: &Value) -> u32 {
    value.iter().map(|s| s.width).sum()
}

/// Bits of a value, from `low` on; beyond its end, zeros.
pub(super) fn slice(value: &Value, low: u32, width: u32) -> Value {
    let mut out = Value::new();
    let (mut at, end) = (0, low + width);
    for segment in value {
        let (from, to) = (at.max(low), (at + segment.width).min(end));
        if from < to {
            let skip = from - at;
            let source = match &segment.source {
                Source::Constant(bits) => {
                    Source::Constant((bits >> skip) & ((BigUint::one() << (to - from)) - BigUint::one()))
                }
                Source::Def(def, low) => Source::Def(*def, low + skip),
            };
            append(&mut out, Segment { source, width: to - from });
        }
        at += segment.width;
    }
    if at < end {
        let zeros = end - at.max(low);
        append(&mut out, Segment { source: Source::Constant(BigUint::ZERO), width: zeros });
    }
    out
}

/// The bits of a value that a mask has, with zeros in the place of others; and how many runs of ones the mask has.
pub(super) fn masked(value: &Value, mask: &BigUint, bits: u32) -> (Value, u32) {
    let (mut out, mut runs, mut at) = (Value::new(), 0, 0);
    while at < bits {
        let one = mask.bit(at.into());
        let end = (at..bits).find(|bit| mask.bit((*bit).into()) != one).unwrap_or(bits);
        runs += u32::from(one);
        let part = if one { slice(value, at, end - at) } else { constant(BigUint::ZERO, end - at) };
        out = concat(out, part);
        at = end;
    }
    (out, runs)
}

/// Appends bits above a value, joined to the last ones if they follow them.
fn append(value: &mut Value, segment: Segment) {
    if let Some(last) = value.last_mut() {
        match (&mut last.source, &segment.source) {
            (Source::Def(a, low), Source::Def(b, next)) if a == b && *low + last.width == *next => {
                last.width += segment.width;
                return;
            }
            (Source::Constant(a), Source::Constant(b)) => {
                *a |= b << last.width;
                last.width += segment.width;
                return;
            }
            _ => {}
        }
    }
    value.push(segment);
}

/// `high ++ low`.
pub(super) fn concat(mut low: Value, high: Value) -> Value {
    high.into_iter().for_each(|segment| append(&mut low, segment));
    low
}

/// A variable at a point.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its bits.
    pub(super) value: Rc<Value>,
    /// The operations that have put them into the variable's place, if they are live.
    pub(super) stored: Rc<Vec<usize>>,
}

/// A variable, the bits that were compared, and the number that they are.
pub(super) type Fact = (SlotId, Rc<Value>, BigUint);

/// What is known at a point.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) variables: Vec<Entry>,
    pub(super) masks: Masks,
    /// Values that variables have because branches compare them: as long as a variable has the bits that were compared.
    pub(super) facts: Rc<Vec<Fact>>,
}

impl Flow {
    /// A variable has this value from here on, as long as it is not written.
    pub(super) fn learn(&mut self, slot: SlotId, number: BigUint) {
        let value = self.variables[slot.index()].value.clone();
        Rc::make_mut(&mut self.facts).push((slot, value, number));
    }

    /// Whether a variable has a value already.
    pub(super) fn is_known(&self, slot: SlotId, number: &BigUint) -> bool {
        let value = &self.variables[slot.index()].value;
        self.facts.iter().any(|(of, bits, known)| *of == slot && known == number && Rc::ptr_eq(bits, value))
    }

    /// Forgets what is not known on another path, too, which parts from this one at some branch.
    pub(super) fn keep_common_facts(&mut self, other: &Flow) {
        if Rc::ptr_eq(&self.facts, &other.facts) {
            return;
        }
        let same = |a: &Fact, b: &Fact| a.0 == b.0 && a.2 == b.2 && Rc::ptr_eq(&a.1, &b.1);
        let common = self.facts.iter().zip(other.facts.iter()).take_while(|(a, b)| same(a, b)).count();
        Rc::make_mut(&mut self.facts).truncate(common);
    }
}
