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
use super::{Effect, End, Guard, Leaf, Name, Node, NodeId, Place, TraceIr, Verdict};

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

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block{}: {violation}", node.0)]
pub struct VerifyError {
    /// Where in the tree.
    pub node: NodeId,
    /// What is wrong there.
    pub violation: Violation,
}

/// What is wrong at a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// It is the root or the target of a branch, and does not exist.
    #[error("there is no such block")]
    NoNode,
    /// Several branches lead to it.
    #[error("it is the target of several branches")]
    Shared,
    /// No branch leads to it.
    #[error("it is the target of no branch")]
    Unreachable,
    /// A condition is no bool.
    #[error("a condition is a bool")]
    Condition(ValueId),
    /// An operand or the result of an operation has a wrong type.
    #[error("an operand or the result has a wrong type: {0:?}")]
    Type(Op),
    /// An argument of the action is read where no guard has established that the entry has it.
    #[error("an argument of `{0}` is read where the entry may have another action")]
    Argument(Name),
    /// Bytes are read where no guard has established that the packet contains them.
    #[error("bytes are read that the packet may not contain")]
    Bytes(ValueId),
    /// A hit of something else than an entry is counted.
    #[error("only hits are counted")]
    Hit(ValueId),
    /// A value is no number.
    #[error("a number is expected")]
    Number(ValueId),
    /// The port of a packet has another type than ports.
    #[error("a port is a bit9")]
    Port(ValueId),
    /// The headers that a leaf sends have together this many bits.
    #[error("headers are whole bytes, not {0} bits")]
    Headers(u64),
    /// The payload may begin behind the end of the packet.
    #[error("the payload starts within the packet")]
    Payload(Place),
}

/// Checks a tree.
///
/// # Errors
/// All violations.
pub fn verify(ir: &TraceIr) -> Result<(), Vec<VerifyError>> {
    let mut seen = vec![false; ir.nodes.len()];
    let mut work = vec![(NodeId(0), Established::default())];
    let mut errors = Vec::new();
    while let Some((id, established)) = work.pop() {
        let mut checker = Checker { ir, node: id, established, errors: &mut errors };
        match ir.nodes.get(id.index()) {
            None => checker.error(Violation::NoNode),
            Some(_) if std::mem::replace(&mut seen[id.index()], true) => checker.error(Violation::Shared),
            Some(node) => work.extend(checker.check(node)),
        }
    }
    let unseen = (0..).zip(seen).filter(|(_, seen)| !seen);
    errors.extend(unseen.map(|(id, _)| VerifyError { node: NodeId(id), violation: Violation::Unreachable }));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks one node.
struct Checker<'a> {
    ir: &'a TraceIr,
    node: NodeId,
    established: Established,
    errors: &'a mut Vec<VerifyError>,
}

impl Checker<'_> {
    fn error(&mut self, violation: Violation) {
        let error = VerifyError { node: self.node, violation };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn require(&mut self, condition: bool, violation: Violation) {
        if !condition {
            self.error(violation);
        }
    }

    /// Returns the nodes that follow, with what is established there.
    fn check(&mut self, node: &Node) -> Vec<(NodeId, Established)> {
        for guard in &node.guards {
            self.condition(guard.condition);
            self.established.add(&self.ir.values, guard.condition, guard.holds);
        }
        match &node.end {
            End::Exit { .. } => {}
            End::Leaf(leaf) => self.leaf(leaf),
            End::Branch { condition, .. } => self.condition(*condition),
        }
        self.established.at_targets(&self.ir.values, &node.end)
    }

    fn condition(&mut self, value: ValueId) {
        self.require(self.ir.values.data_type(value) == Some(Type::Bool), Violation::Condition(value));
        self.used(value);
    }

    fn used(&mut self, value: ValueId) {
        let values = &self.ir.values;
        let mut work = vec![value];
        let (mut checked, mut typed) = (BTreeSet::new(), true);
        while let Some(value) = work.pop() {
            if checked.insert(value) && !self.established.computable.contains(&value) {
                let data = &values[value];
                if !values.is_well_typed(&data.op, data.ty) {
                    self.error(Violation::Type(data.op.clone()));
                    typed = false;
                }
                work.extend(data.op.operands());
            }
        }
        if typed && let Err(unsafe_value) = self.established.check(values, value) {
            self.error(match &values[unsafe_value].op {
                Op::Argument { action, .. } => Violation::Argument(action.clone()),
                _ => Violation::Bytes(unsafe_value),
            });
        }
    }

    fn leaf(&mut self, leaf: &Leaf) {
        let values = &self.ir.values;
        let is_entry = |value: ValueId| values[value].ty == ValueType::Entry;
        for effect in &leaf.effects {
            match effect {
                Effect::Count { index, .. } => self.number(*index),
                Effect::CountHit(entry) => self.require(is_entry(*entry), Violation::Hit(*entry)),
                Effect::Measure { of, .. } if !is_entry(*of) => self.number(*of),
                Effect::Measure { .. } => {}
                Effect::Priority(value) => self.number(*value),
                Effect::Write { index, value, .. } => {
                    self.number(*index);
                    self.number(*value);
                }
            }
        }
        leaf.values().into_iter().for_each(|value| self.used(value));
        let Verdict::Forward { port, headers, payload } = &leaf.verdict else { return };
        self.require(values.data_type(*port) == Some(Type::Bits(9)), Violation::Port(*port));
        let fixed = headers.iter().filter(|value| !matches!(values.data_type(**value), Some(Type::Varbit(_))));
        let bits = fixed.map(|value| u64::from(values.width(*value))).sum::<u64>();
        self.require(bits.is_multiple_of(8), Violation::Headers(bits));
        self.require(self.established.contains(*payload), Violation::Payload(*payload));
    }

    fn number(&mut self, value: ValueId) {
        let is_number = matches!(self.ir.values.data_type(value), Some(Type::Bits(_) | Type::Int(_) | Type::Bool));
        self.require(is_number, Violation::Number(value));
    }
}
