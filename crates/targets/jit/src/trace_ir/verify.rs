//! The verifier: what every pass may rely on and must keep.
//!
//! - The nodes form a tree: the first is the root, each other node is the target of one branch.
//! - Operands have the types that their operations expect.
//! - Bytes of the packet are read only behind guards that the packet contains them, also by operands of operands.
//! - Arguments of an action are read only where guards or branches have established that the entry has the action.
//! - Headers that a leaf sends are whole bytes.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_ir::{BinaryOp, Type, UnaryOp};
use num_traits::ToPrimitive;

use super::values::{Op, ValueId, ValueType, Values};
use super::{Effect, End, Guard, Leaf, Name, NodeId, Place, TraceIr, Verdict};

/// What guards have established on the way to a point.
#[derive(Clone, Debug, Default)]
pub struct Established {
    /// By base, the number of bytes behind it that the packet contains.
    bytes: BTreeMap<Option<ValueId>, u32>,
    /// The actions of entries.
    actions: BTreeSet<(ValueId, Name)>,
    /// Values that may be computed, with all operands.
    computable: BTreeSet<ValueId>,
}

impl Established {
    /// Adds what the outcome of a condition establishes.
    pub fn add(&mut self, values: &Values, condition: ValueId, holds: bool) {
        if let Some(place) = contained(values, condition, holds) {
            self.add_place(values, place);
        }
        match &values[condition].op {
            Op::Is(entry, action) if holds => {
                self.actions.insert((*entry, action.clone()));
            }
            Op::Unary(UnaryOp::Not, inner) => self.add(values, *inner, !holds),
            Op::Binary(BinaryOp::And | BinaryOp::LogicalAnd, a, b) if holds => {
                self.add(values, *a, true);
                self.add(values, *b, true);
            }
            Op::Binary(BinaryOp::Or | BinaryOp::LogicalOr, a, b) if !holds => {
                self.add(values, *a, false);
                self.add(values, *b, false);
            }
            _ => {}
        }
    }

    /// What is established behind guards.
    pub fn behind<'a>(mut self, values: &Values, guards: impl IntoIterator<Item = &'a Guard>) -> Established {
        for guard in guards {
            self.add(values, guard.condition, guard.holds);
        }
        self
    }

    /// Adds that the packet contains the bytes in front of a place, and thus those in front of places with less of its base.
    fn add_place(&mut self, values: &Values, place: Place) {
        let bytes = self.bytes.entry(place.base).or_default();
        *bytes = place.offset.max(*bytes);
        let Some(base) = place.base else { return };
        self.add_place(values, Place { base: None, ..place });
        if let Op::Binary(BinaryOp::Add, a, b) = values[base].op
            && let (Some(a_range), Some(b_range)) = (values[a].range, values[b].range)
            && a_range.hi.checked_add(b_range.hi).is_some_and(|sum| sum <= u64::from(u32::MAX))
        {
            for part in [a, b] {
                self.add_place(values, Place { base: Some(part), ..place });
            }
        }
    }

    /// The targets of an end, with what is established there.
    pub fn at_targets(&self, values: &Values, end: &End) -> Vec<(NodeId, Established)> {
        let End::Branch { condition, yes, no, .. } = end else { return Vec::new() };
        let outcome = |holds| {
            let mut established = self.clone();
            established.add(values, *condition, holds);
            established
        };
        vec![(*yes, outcome(true)), (*no, outcome(false))]
    }

    /// The number of bytes behind a base that the packet is known to contain.
    pub fn bytes_behind(&self, base: Option<ValueId>) -> u32 {
        self.bytes.get(&base).copied().unwrap_or(0)
    }

    /// Whether the packet is known to contain the bytes in front of a place.
    pub fn contains(&self, place: Place) -> bool {
        place == Place::default() || self.bytes.get(&place.base).is_some_and(|bytes| *bytes >= place.offset)
    }

    /// Whether a value can be computed here. Otherwise, the operation that cannot.
    pub fn check(&mut self, values: &Values, value: ValueId) -> Result<(), ValueId> {
        let (mut work, mut added) = (vec![value], Vec::new());
        while let Some(value) = work.pop() {
            if !self.computable.insert(value) {
                continue;
            }
            added.push(value);
            if !self.is_safe(values, value) {
                // What has this operand cannot be computed either.
                added.iter().for_each(|added| _ = self.computable.remove(added));
                return Err(value);
            }
            work.extend(values[value].op.operands());
        }
        Ok(())
    }

    /// Whether guards can be computed in this order.
    pub fn are_safe<'a>(mut self, values: &Values, guards: impl Iterator<Item = &'a Guard>) -> bool {
        for guard in guards {
            if self.check(values, guard.condition).is_err() {
                return false;
            }
            self.add(values, guard.condition, guard.holds);
        }
        true
    }

    fn is_safe(&self, values: &Values, value: ValueId) -> bool {
        match &values[value].op {
            Op::Packet { base, bit } => {
                let end = u64::from(*bit) + u64::from(values.width(value));
                let offset = u32::try_from(end.div_ceil(8)).unwrap_or(u32::MAX);
                self.contains(Place { base: *base, offset })
            }
            Op::Bytes { at, length: None } => self.contains(*at),
            Op::Bytes { at, length: Some(length) } if let Some(length) = values.as_constant(*length) => {
                let end = length.to_u32().and_then(|length| at.offset.checked_add(length));
                end.is_some_and(|offset| self.contains(Place { offset, ..*at }))
            }
            Op::Bytes { at, length: Some(length) } => self.bytes.iter().any(|(base, bytes)| {
                let behind = base.is_some_and(|base| match (at.base, &values[base].op) {
                    (None, _) => base == *length,
                    (Some(start), &Op::Binary(BinaryOp::Add, a, b)) => {
                        (a, b) == (start, *length) || (b, a) == (start, *length)
                    }
                    _ => false,
                });
                behind && *bytes >= at.offset
            }),
            Op::Argument { entry, action, .. } => self.actions.contains(&(*entry, action.clone())),
            _ => true,
        }
    }
}

/// The place that a condition guarantees is not behind the packet's end, if it says so: `place <= length`. The sum of base and
/// offset must not wrap around.
pub fn contained(values: &Values, condition: ValueId, holds: bool) -> Option<Place> {
    let Op::Binary(op, a, b) = values[condition].op else { return None };
    let is_length = |v: ValueId| values[v].op == Op::Length;
    let (small, large) = match (op, holds) {
        (BinaryOp::Le, true) | (BinaryOp::Gt, false) => (a, b),
        (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => (b, a),
        _ => return None,
    };
    if !is_length(large) {
        return None;
    }
    if let Some(offset) = values.as_constant(small) {
        return Some(Place { base: None, offset: offset.to_u32()? });
    }
    if let Op::Binary(BinaryOp::Add, base, offset) = values[small].op
        && let Some(offset) = values.as_constant(offset)
    {
        let offset = offset.to_u32()?;
        let most = values[base].range?.hi;
        return most
            .checked_add(offset.into())
            .filter(|sum| *sum <= u64::from(u32::MAX))
            .map(|_| Place { base: Some(base), offset });
    }
    Some(Place { base: Some(small), offset: 0 })
}

/// Checks a tree.
///
/// # Errors
/// The first violation, with the node and what was expected.
pub fn verify(ir: &TraceIr) -> Result<(), String> {
    if ir.nodes.is_empty() {
        return Err("a tree has at least one node".into());
    }
    let mut seen = vec![false; ir.nodes.len()];
    let mut work = vec![(NodeId(0), Established::default())];
    while let Some((id, mut established)) = work.pop() {
        let node = ir.nodes.get(id.index()).ok_or_else(|| format!("block{} does not exist", id.0))?;
        if std::mem::replace(&mut seen[id.index()], true) {
            return Err(format!("block{} is the target of several branches", id.0));
        }
        let at = |what: String| format!("block{}: {what}", id.0);
        for guard in &node.guards {
            condition(ir, &mut established, guard.condition).map_err(at)?;
            established.add(&ir.values, guard.condition, guard.holds);
        }
        match &node.end {
            End::Exit { .. } => {}
            End::Leaf(leaf) => verify_leaf(ir, &mut established, leaf).map_err(at)?,
            End::Branch { condition: c, .. } => {
                condition(ir, &mut established, *c).map_err(at)?;
                work.extend(established.at_targets(&ir.values, &node.end));
            }
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(unseen) => Err(format!("block{unseen} is the target of no branch")),
        None => Ok(()),
    }
}

fn condition(ir: &TraceIr, established: &mut Established, value: ValueId) -> Result<(), String> {
    if ir.values.data_type(value) != Some(Type::Bool) {
        return Err("a condition is a bool".into());
    }
    used(ir, established, value)
}

fn used(ir: &TraceIr, established: &mut Established, value: ValueId) -> Result<(), String> {
    let mut work = vec![value];
    let mut checked = BTreeSet::new();
    while let Some(value) = work.pop() {
        if checked.insert(value) && !established.computable.contains(&value) {
            let data = &ir.values[value];
            if !ir.values.is_well_typed(&data.op, data.ty) {
                return Err(format!("an operand or the result has a wrong type: {:?}", data.op));
            }
            work.extend(ir.values[value].op.operands());
        }
    }
    established.check(&ir.values, value).map_err(|unsafe_value| match &ir.values[unsafe_value].op {
        Op::Argument { action, .. } => {
            format!("an argument of `{action}` is read where the entry may have another action")
        }
        _ => "bytes are read that the packet may not contain".into(),
    })
}

fn verify_leaf(ir: &TraceIr, established: &mut Established, leaf: &Leaf) -> Result<(), String> {
    for effect in &leaf.effects {
        match effect {
            Effect::Count { index, .. } => number(&ir.values, *index)?,
            Effect::CountHit(entry) if ir.values[*entry].ty != ValueType::Entry => {
                return Err("only hits are counted".into());
            }
            Effect::Measure { of, .. } if ir.values[*of].ty != ValueType::Entry => number(&ir.values, *of)?,
            Effect::CountHit(_) | Effect::Measure { .. } => {}
            Effect::Priority(value) => number(&ir.values, *value)?,
            Effect::Write { index, value, .. } => {
                number(&ir.values, *index)?;
                number(&ir.values, *value)?;
            }
        }
    }
    for value in leaf.values() {
        used(ir, established, value)?;
    }
    let Verdict::Forward { port, headers, payload } = &leaf.verdict else { return Ok(()) };
    if ir.values.data_type(*port) != Some(Type::Bits(9)) {
        return Err("a port is a bit9".into());
    }
    let fixed = headers.iter().filter(|value| !is_varbit(&ir.values, **value));
    if !fixed.map(|value| u64::from(ir.values.width(*value))).sum::<u64>().is_multiple_of(8) {
        return Err("headers are whole bytes".into());
    }
    if !established.contains(*payload) {
        return Err("the payload starts within the packet".into());
    }
    Ok(())
}

fn is_varbit(values: &Values, value: ValueId) -> bool {
    matches!(values.data_type(value), Some(Type::Varbit(_)))
}

fn number(values: &Values, value: ValueId) -> Result<(), String> {
    match values.data_type(value) {
        Some(Type::Bits(_) | Type::Int(_) | Type::Bool) => Ok(()),
        _ => Err("a number is expected".into()),
    }
}
