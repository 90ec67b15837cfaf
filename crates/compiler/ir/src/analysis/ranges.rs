//! Value ranges: unsigned bounds of expressions and, in the parser, of slots.
//!
//! Ranges are conservative: they contain every value that occurs. The range of a signed value is that of its bit pattern.
//! Values of more than 64 bits have no range.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;

use crate::analysis::effects::{Effects, SlotSet};
use crate::walk;
use crate::{
    BinaryOp, Block, Expr, ExprKind, KeySet, Parser, Pipeline, SlotId, StateId, Stmt, StmtKind, Target, Transition,
    Type, UnaryOp,
};

/// Values from `lo` to `hi`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest value.
    pub lo: u64,
    /// The highest value.
    pub hi: u64,
}

impl Range {
    /// One value.
    pub fn one(value: u64) -> Range {
        Range { lo: value, hi: value }
    }

    /// All values of a type; `None` if it is wider than 64 bits.
    pub fn all(ty: Type) -> Option<Range> {
        match ty {
            Type::Varbit(_) => None,
            ty => max_of(ty.width()).map(|hi| Range { lo: 0, hi }),
        }
    }

    /// The values of an operation on operands with these ranges and types. `None` if nothing is known of them, as when the result may
    /// wrap around below zero or beyond 64 bits. The result's type may be narrower than the range.
    pub fn of_binary(op: BinaryOp, (a, left): (Range, Type), (b, right): (Range, Type)) -> Option<Range> {
        let signed = matches!(left, Type::Int(_));
        Some(match op {
            BinaryOp::Add => Range { lo: a.lo.checked_add(b.lo)?, hi: a.hi.checked_add(b.hi)? },
            BinaryOp::Sub => Range { lo: a.lo.checked_sub(b.hi)?, hi: a.hi - b.lo },
            BinaryOp::Mul => Range { lo: a.lo.checked_mul(b.lo)?, hi: a.hi.checked_mul(b.hi)? },
            BinaryOp::SatSub if !signed => Range { lo: a.lo.saturating_sub(b.hi), hi: a.hi.saturating_sub(b.lo) },
            BinaryOp::SatAdd if !signed => {
                let max = Range::all(left)?.hi;
                let sum = |x: u64, y: u64| x.saturating_add(y).min(max);
                Range { lo: sum(a.lo, b.lo), hi: sum(a.hi, b.hi) }
            }
            // Division by zero gives zero.
            BinaryOp::Div => Range { lo: 0, hi: a.hi },
            BinaryOp::Mod => Range { lo: 0, hi: a.hi.min(b.hi.saturating_sub(1)) },
            BinaryOp::And => Range { lo: 0, hi: a.hi.min(b.hi) },
            BinaryOp::Or => Range { lo: a.lo.max(b.lo), hi: ones(a.hi | b.hi) },
            BinaryOp::Xor => Range { lo: 0, hi: ones(a.hi | b.hi) },
            BinaryOp::Shl if b.lo == b.hi => {
                let shift = u32::try_from(b.lo).ok().filter(|s| *s < 64)?;
                Range { lo: a.lo.checked_mul(1 << shift)?, hi: a.hi.checked_mul(1 << shift)? }
            }
            BinaryOp::Shr if !signed => {
                let shifted = |value: u64, by: u64| if by < 64 { value >> by } else { 0 };
                Range { lo: shifted(a.lo, b.hi), hi: shifted(a.hi, b.lo) }
            }
            BinaryOp::Concat => {
                let width = right.width();
                Range { lo: a.lo.checked_shl(width)? | b.lo, hi: a.hi.checked_shl(width)? | b.hi }
            }
            _ => return None,
        })
    }

    /// The values of either.
    pub fn union(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The values in both; `self` if there are none, as on an unreachable path.
    fn within(self, other: Range) -> Range {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi { Range { lo, hi } } else { self }
    }
}

/// The highest value of a number of bits.
fn max_of(width: u32) -> Option<u64> {
    match width {
        0 => Some(0),
        1..=64 => Some(u64::MAX >> (64 - width)),
        _ => None,
    }
}

/// The ranges of slots at a point of the program. A slot without an entry has any value of its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    slots: BTreeMap<SlotId, Range>,
}

impl Ranges {
    /// The range of an expression's value.
    pub fn of(&self, expr: &Expr) -> Option<Range> {
        let all = Range::all(expr.ty)?;
        let exact = |range: Option<Range>| range.filter(|r| r.hi <= all.hi);
        let found = match &expr.kind {
            ExprKind::Const(value) => value.to_u64().map(Range::one),
            ExprKind::Slot(slot) => self.slots.get(slot).copied(),
            ExprKind::Slice { arg, hi, lo } => {
                let arg = self.of(arg);
                arg.filter(|a| max_of(hi + 1).is_some_and(|max| a.hi <= max))
                    .map(|a| Range { lo: a.lo.checked_shr(*lo).unwrap_or(0), hi: a.hi.checked_shr(*lo).unwrap_or(0) })
            }
            ExprKind::Cast(arg) => match arg.ty {
                // Sign extension sets high bits.
                Type::Int(from) if from < expr.ty.width() => {
                    exact(self.of(arg)).filter(|a| from > 0 && a.hi >> (from - 1) == 0)
                }
                _ => exact(self.of(arg)),
            },
            ExprKind::Mux(_, then, otherwise) => match (self.of(then), self.of(otherwise)) {
                (Some(a), Some(b)) => Some(a.union(b)),
                _ => None,
            },
            ExprKind::Binary(op, a, b) => match (self.of(a), self.of(b)) {
                (Some(x), Some(y)) => exact(Range::of_binary(*op, (x, a.ty), (y, b.ty))),
                _ => None,
            },
            ExprKind::Param(_) | ExprKind::Unary(..) | ExprKind::PacketLength => None,
        };
        Some(found.unwrap_or(all))
    }

    /// Narrows ranges of slots to those with which a condition has the given outcome.
    pub fn assume(&mut self, cond: &Expr, outcome: bool) {
        match (&cond.kind, outcome) {
            (ExprKind::Unary(UnaryOp::Not, inner), _) => self.assume(inner, !outcome),
            (ExprKind::Binary(BinaryOp::LogicalAnd, a, b), true)
            | (ExprKind::Binary(BinaryOp::LogicalOr, a, b), false) => {
                self.assume(a, outcome);
                self.assume(b, outcome);
            }
            (ExprKind::Binary(op, a, b), _) if matches!(a.ty, Type::Bits(_)) => {
                let (Some(left), Some(right)) = (self.of(a), self.of(b)) else { return };
                let op = if outcome { Some(*op) } else { op.negated() };
                let below = |r: Range| r.hi.checked_sub(1).map(|hi| Range { lo: 0, hi });
                let above = |r: Range| r.lo.checked_add(1).map(|lo| Range { lo, hi: u64::MAX });
                let (of_left, of_right) = match op {
                    Some(BinaryOp::Eq) => (Some(right), Some(left)),
                    Some(BinaryOp::Lt) => (below(right), above(left)),
                    Some(BinaryOp::Le) => {
                        (Some(Range { lo: 0, hi: right.hi }), Some(Range { lo: left.lo, hi: u64::MAX }))
                    }
                    Some(BinaryOp::Gt) => (above(right), below(left)),
                    Some(BinaryOp::Ge) => {
                        (Some(Range { lo: right.lo, hi: u64::MAX }), Some(Range { lo: 0, hi: left.hi }))
                    }
                    _ => return,
                };
                for (expr, range) in [(a, of_left), (b, of_right)] {
                    if let Some(range) = range {
                        self.narrow(expr, range);
                    }
                }
            }
            _ => {}
        }
    }

    /// Narrows the slot that an expression is, or extends with zeros.
    fn narrow(&mut self, expr: &Expr, to: Range) {
        match &expr.kind {
            ExprKind::Slot(slot) => {
                if let Some(now) = self.of(expr) {
                    self.slots.insert(*slot, now.within(to));
                }
            }
            ExprKind::Cast(inner) if matches!(inner.ty, Type::Bits(w) if w <= expr.ty.width()) => {
                self.narrow(inner, to);
            }
            _ => {}
        }
    }

    /// Updates the ranges for a statement: assigned slots have the range of the value, other written slots none.
    pub fn step(&mut self, pipeline: &Pipeline, effects: &Effects, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => {
                match self.of(value) {
                    Some(range) => self.slots.insert(*slot, range),
                    None => self.slots.remove(slot),
                };
            }
            StmtKind::Verify(cond, _) => self.assume(cond, true),
            _ => {
                effects.writes(pipeline, stmt, &mut |slot| {
                    self.slots.remove(&slot);
                });
                walk::blocks(stmt).into_iter().for_each(|inner| self.forget(pipeline, effects, inner));
            }
        }
    }

    /// Drops the ranges of all slots that a block may write.
    pub fn forget(&mut self, pipeline: &Pipeline, effects: &Effects, block: &Block) {
        let (mut reads, mut writes) = (SlotSet::empty(pipeline), SlotSet::empty(pipeline));
        effects.block(pipeline, block, &mut reads, &mut writes);
        self.slots.retain(|slot, _| !writes.contains(*slot));
    }

    /// Joins with the ranges of another path; returns whether this lost information.
    fn join(&mut self, other: &Ranges) -> bool {
        let before = self.clone();
        self.slots.retain(|slot, range| match other.slots.get(slot) {
            Some(o) => {
                *range = range.union(*o);
                true
            }
            None => false,
        });
        *self != before
    }
}

/// The highest number with as many bits.
fn ones(value: u64) -> u64 {
    max_of(64 - value.leading_zeros()).unwrap_or(u64::MAX)
}

/// Visits of a state after which all its ranges are widened to none, so that the analysis of cycles terminates.
const MAX_VISITS: u32 = 8;

/// The ranges at the beginning of each parser state; `None` for unreachable states.
pub fn parser(pipeline: &Pipeline) -> Vec<Option<Ranges>> {
    let effects = Effects::of(pipeline);
    let parser: &Parser = &pipeline.parser;
    let mut states: Vec<Option<Ranges>> = vec![None; parser.states.len()];
    let mut visits = vec![0u32; parser.states.len()];
    let mut work = vec![(parser.start, Ranges::default())];
    while let Some((StateId(id), incoming)) = work.pop() {
        let id = id as usize;
        let changed = match &mut states[id] {
            Some(known) => known.join(&incoming),
            none => {
                *none = Some(incoming);
                true
            }
        };
        if !changed {
            continue;
        }
        visits[id] += 1;
        let Some(known) = &mut states[id] else { continue };
        if visits[id] > MAX_VISITS {
            *known = Ranges::default();
        }
        let mut now = known.clone();
        let state = &parser.states[id];
        for stmt in &state.body {
            now.step(pipeline, &effects, stmt);
        }
        match &state.transition {
            Transition::Goto(Target::State(next)) => work.push((*next, now)),
            Transition::Goto(_) => {}
            Transition::Select { keys, cases } => {
                for case in cases {
                    let Target::State(next) = case.target else { continue };
                    let mut taken = now.clone();
                    for (key, set) in keys.iter().zip(&case.sets) {
                        if let Some(range) = set_range(key, set) {
                            taken.narrow(key, range);
                        }
                    }
                    work.push((next, taken));
                }
            }
        }
    }
    states
}

/// The range of the values in a set of a key.
fn set_range(key: &Expr, set: &KeySet) -> Option<Range> {
    match set {
        KeySet::Value(value) => value.to_u64().map(Range::one),
        KeySet::Range(lo, hi) if matches!(key.ty, Type::Bits(_)) => Some(Range { lo: lo.to_u64()?, hi: hi.to_u64()? }),
        // Bits outside the mask are free.
        KeySet::Mask(value, mask) => {
            let (all, mask) = (Range::all(key.ty)?.hi, mask.to_u64()?);
            let value = value.to_u64()? & mask;
            Some(Range { lo: value, hi: value | (all & !mask) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    fn number(value: u64, width: u32) -> Expr {
        Expr::constant(value, Type::Bits(width), Span::none())
    }

    fn slot(width: u32) -> Expr {
        Expr::slot(SlotId(0), Type::Bits(width), Span::none())
    }

    fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        let ty = match op {
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => Type::Bool,
            _ => a.ty,
        };
        Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span: Span::none() }
    }

    fn cast(a: Expr, width: u32) -> Expr {
        Expr { kind: ExprKind::Cast(Box::new(a)), ty: Type::Bits(width), span: Span::none() }
    }

    fn range(lo: u64, hi: u64) -> Option<Range> {
        Some(Range { lo, hi })
    }

    #[test]
    fn operators_that_cannot_wrap_keep_their_range() {
        let none = Ranges::default();
        let length = binary(BinaryOp::Mul, cast(slot(4), 32), number(32, 32));
        assert_eq!(none.of(&length), range(0, 480));
        // May wrap below zero.
        assert_eq!(none.of(&binary(BinaryOp::Sub, length, number(160, 32))), range(0, u64::from(u32::MAX)));
        assert_eq!(none.of(&binary(BinaryOp::And, slot(8), number(0x3f, 8))), range(0, 0x3f));
        assert_eq!(none.of(&binary(BinaryOp::Shl, cast(slot(4), 8), number(2, 8))), range(0, 60));
        assert_eq!(none.of(&binary(BinaryOp::Shl, slot(4), number(2, 4))), range(0, 15));
    }

    #[test]
    fn conditions_narrow_slots() {
        let mut ranges = Ranges::default();
        ranges.assume(&binary(BinaryOp::Ge, cast(slot(4), 8), number(5, 8)), true);
        assert_eq!(ranges.of(&slot(4)), range(5, 15));
        ranges.assume(&binary(BinaryOp::Gt, slot(4), number(9, 4)), false);
        assert_eq!(ranges.of(&slot(4)), range(5, 9));
        let length = binary(BinaryOp::Mul, cast(slot(4), 32), number(32, 32));
        assert_eq!(ranges.of(&binary(BinaryOp::Sub, length, number(160, 32))), range(0, 128));
    }
}
