//! Entries of tables and which of them wins (P4-16 14.2), and members of value sets.

use std::collections::BTreeMap;

use hopwright_sema::hir::{ActionRef, Direction, FunctionId, ObjectId, Set, Table, Type, TypedProgram};
use num_bigint::{BigInt, BigUint};

use crate::meter::Meter;
use crate::number;
use crate::objects::Count;
use crate::value::{self, Value};

/// What an entry, or a member of a value set, says about one key: for `exact` a value, for `lpm` a prefix, for `ternary`,
/// `masked` and `suffix` a mask, for `range` a range, for `optional` and `selector` a value or anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Anything.
    Any,
    /// One value.
    Exact(BigUint),
    /// The leading bits of a value, and how many.
    Prefix(BigUint, u32),
    /// A value where a mask has ones.
    Mask(BigUint, BigUint),
    /// From one value to another, both included.
    Range(BigUint, BigUint),
}

impl Match {
    /// Whether a key of `width` bits matches.
    pub(crate) fn has(&self, key: &BigUint, width: u32) -> bool {
        match self {
            Match::Any => true,
            Match::Exact(value) => key == value,
            Match::Prefix(value, length) => {
                let rest = width - length.min(&width);
                key >> rest == value >> rest
            }
            Match::Mask(value, mask) => key & mask == value & mask,
            Match::Range(low, high) => (low..=high).contains(&key),
        }
    }

    /// How many bits of the key are compared.
    fn compared(&self, width: u32) -> i64 {
        match self {
            Match::Any | Match::Range(..) => 0,
            Match::Exact(_) => width.into(),
            Match::Prefix(_, length) => (*length).into(),
            Match::Mask(_, mask) => i64::try_from(mask.count_ones()).unwrap_or(i64::MAX),
        }
    }
}

/// An action of a table with its action data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// The position of the action in the table's list. The position behind the last is that of a default action which
    /// the list does not have.
    pub action: usize,
    /// Action data in order, as bits.
    pub data: Vec<BigUint>,
}

/// Where an entry leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To an action.
    Action(ActionCall),
    /// To a member of the table's action profile.
    Member(u32),
    /// To a group of members, of which a hash picks one.
    Group(u32),
    /// To actions, each with its weight, of which a hash picks one.
    Set(Vec<(ActionCall, u32)>),
}

/// An entry of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// One for each key.
    pub(crate) matches: Vec<Match>,
    /// The highest wins.
    pub(crate) priority: i64,
    pub(crate) target: Target,
    pub(crate) count: Count,
    pub(crate) meter: Option<Meter>,
    /// Its cells of direct registers.
    pub(crate) cells: BTreeMap<ObjectId, Value>,
}

impl Entry {
    pub(crate) fn new(matches: Vec<Match>, priority: i64, target: Target) -> Entry {
        Entry { matches, priority, target, count: Count::default(), meter: None, cells: BTreeMap::new() }
    }
}

/// A table's entries in the order in which they were added, and its default action.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<Entry>,
    pub(crate) default: ActionCall,
}

impl Entries {
    /// Those of the program (14.2.1.3, 14.2.1.4).
    pub(crate) fn new(program: &TypedProgram, table: &Table) -> Entries {
        let call = |action: &ActionRef| ActionCall {
            action: position(table, action.function),
            data: (program[action.function].params.iter().zip(&action.args))
                .filter(|(param, _)| param.direction == Direction::None)
                .filter_map(|(param, arg)| arg.as_ref().map(|e| constant_bits(program, e, &program[param.var].ty)))
                .collect(),
        };
        let entries = table.entries.iter().zip(priorities(table)).map(|(entry, priority)| {
            let keys = entry.sets.iter().zip(&table.keys);
            let matches = keys.map(|(set, key)| of_set(program, set, &key.expr.ty, &key.match_kind)).collect();
            Entry::new(matches, priority, Target::Action(call(&entry.action)))
        });
        Entries { entries: entries.collect(), default: call(&table.default_action) }
    }

    /// The position of the entry that wins among those that match: by priority if a key has a match kind with priorities;
    /// otherwise the one that compares most bits of `lpm` (and `masked` and `suffix`) keys. Of equals the one added first.
    pub(crate) fn lookup(&self, table: &Table, keys: &[(BigUint, u32)]) -> Option<usize> {
        let kind = |at: usize| table.keys[at].match_kind.as_str();
        let with_priority = has_priorities(table);
        if !(0..keys.len()).any(|at| kind(at) != "selector") {
            return None;
        }
        let rank = |entry: &Entry| {
            if with_priority {
                return entry.priority;
            }
            let compared = entry.matches.iter().zip(keys).enumerate();
            compared
                .filter(|(at, _)| matches!(kind(*at), "lpm" | "masked" | "suffix"))
                .map(|(_, (m, (_, width)))| m.compared(*width))
                .sum()
        };
        let fits = |entry: &Entry| entry.matches.iter().zip(keys).all(|(m, (key, width))| m.has(key, *width));
        let mut best: Option<(i64, usize)> = None;
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| fits(entry)) {
            if best.is_none_or(|(before, _)| rank(entry) > before) {
                best = Some((rank(entry), at));
            }
        }
        best.map(|(_, at)| at)
    }
}

/// The position of an action in a table's list.
pub(crate) fn position(table: &Table, function: FunctionId) -> usize {
    table.actions.iter().position(|a| a.action.function == function).unwrap_or(table.actions.len())
}

/// The action at a position, with the arguments that the table binds.
pub(crate) fn action_at(table: &Table, position: usize) -> &ActionRef {
    table.actions.get(position).map_or(&table.default_action, |a| &a.action)
}

/// The bits of a constant of a type.
fn constant_bits(program: &TypedProgram, e: &hopwright_sema::hir::Expr, ty: &Type) -> BigUint {
    use hopwright_sema::hir::ExprKind;
    let value = match &e.kind {
        ExprKind::Int(number) => Value::Number(number.clone()),
        ExprKind::Bool(truth) => Value::Bool(*truth),
        ExprKind::Error(at) | ExprKind::EnumMember(_, at) => Value::Member(*at),
        ExprKind::Cast(of) => return constant_bits(program, of, ty),
        _ => Value::Nothing,
    };
    value::scalar_bits(program, ty, &value)
}

/// A set as a key of this type and match kind is compared with it (14.2.1.4), in the form that the control plane uses for
/// this match kind.
fn of_set(program: &TypedProgram, set: &Set, ty: &Type, kind: &str) -> Match {
    let bits = |e| constant_bits(program, e, ty);
    let width = value::width(program, ty);
    let all = (BigUint::from(1u32) << width) - 1u32;
    match (kind, set) {
        ("lpm", Set::Value(value)) => Match::Prefix(bits(value), width),
        ("lpm", Set::Mask(value, mask)) => {
            let mask = bits(mask);
            Match::Prefix(bits(value) & &mask, u32::try_from(mask.count_ones()).unwrap_or(width))
        }
        ("lpm", _) => Match::Prefix(BigUint::ZERO, 0),
        ("ternary" | "masked" | "suffix", Set::Value(value)) => Match::Mask(bits(value), all),
        ("ternary" | "masked" | "suffix", Set::Mask(value, mask)) => Match::Mask(bits(value) & bits(mask), bits(mask)),
        ("ternary" | "masked" | "suffix", _) => Match::Mask(BigUint::ZERO, BigUint::ZERO),
        ("range", Set::Value(value)) => Match::Range(bits(value), bits(value)),
        ("range", Set::Range(low, high)) => Match::Range(bits(low), bits(high)),
        ("range", _) => Match::Range(BigUint::ZERO, all),
        (_, Set::Value(value)) => Match::Exact(bits(value)),
        _ => Match::Any,
    }
}

/// Whether priorities decide between entries that match.
fn has_priorities(table: &Table) -> bool {
    table.keys.iter().any(|key| matches!(key.match_kind.as_str(), "ternary" | "range" | "optional"))
}

/// The priorities of a table's entries as the pseudocode of 14.2.1.4 says. Those of which the smallest wins are counted from
/// the largest, so that the highest wins.
fn priorities(table: &Table) -> Vec<i64> {
    if !has_priorities(table) {
        return vec![0; table.entries.len()];
    }
    let delta = i64::try_from(table.priority_delta).unwrap_or(i64::MAX);
    let written: Vec<Option<i64>> =
        table.entries.iter().map(|e| e.priority.as_ref().and_then(|p| i64::try_from(p).ok())).collect();
    let count = written.len() as i64;
    let largest_wins = table.largest_priority_wins;
    let step = if largest_wins { -delta } else { delta };
    let first = if largest_wins { 1 + delta * (count - 1) } else { 1 };
    let mut priority = first - step;
    let mut all = Vec::new();
    for written in written {
        priority = written.unwrap_or(priority + step);
        all.push(priority);
    }
    let largest = all.iter().max().copied().unwrap_or_default();
    if largest_wins { all } else { all.into_iter().map(|priority| largest - priority + 1).collect() }
}

/// The members of a value set (13.11).
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) members: Vec<Vec<Match>>,
}

impl Members {
    /// Whether some member has these scalars.
    pub(crate) fn contains(&self, program: &TypedProgram, scalars: &[(Type, Value)]) -> bool {
        self.members.iter().any(|member| {
            member
                .iter()
                .zip(scalars)
                .all(|(part, (ty, value))| part.has(&value::scalar_bits(program, ty, value), value::width(program, ty)))
        })
    }
}

/// Whether a number of bits holds a value, for what the control plane writes.
pub(crate) fn fits(bits: &BigUint, width: u32) -> bool {
    BigInt::from(number::unsigned(&BigInt::from(bits.clone()), width)) == BigInt::from(bits.clone())
}
