//! Guard elimination: removes guards that a later guard of the same block implies. The side exit is then taken later. A guard stays if
//! something in between is only safe behind it, such as a read of the bytes that it tests for.

use hopwright_ir::{BinaryOp, Type, UnaryOp, bits};

use crate::trace_ir::values::{Op, ValueId, Values};
use crate::trace_ir::verify::{Established, contained};
use crate::trace_ir::{Guard, NodeId, TraceIr};

/// Runs the pass.
pub(super) fn run(ir: &mut TraceIr) {
    let mut work = vec![(NodeId(0), Established::default())];
    while let Some((id, established)) = work.pop() {
        let guards = std::mem::take(&mut ir[id].guards);
        let guards = remaining(&ir.values, &established, guards);
        let behind = established.behind(&ir.values, &guards);
        ir[id].guards = guards;
        work.extend(behind.at_targets(&ir.values, &ir[id].end));
    }
}

/// The guards of a block that are needed.
fn remaining(values: &Values, before: &Established, mut guards: Vec<Guard>) -> Vec<Guard> {
    // From the last on: what implies a guard is then known to stay.
    for i in (0..guards.len()).rev() {
        let implying = (i + 1..guards.len()).find(|j| implies(values, &guards[*j], &guards[i]));
        if let Some(last) = implying {
            let without = || guards[..i].iter().chain(&guards[i + 1..=last]);
            if before.clone().are_safe(values, without()) {
                guards.remove(i);
            }
        }
    }
    guards
}

/// Whether a packet that satisfies one guard satisfies another one.
fn implies(values: &Values, strong: &Guard, weak: &Guard) -> bool {
    if strong.condition == weak.condition {
        return strong.holds == weak.holds;
    }
    // One part of a disjunction is enough.
    match values[weak.condition].op {
        Op::Unary(UnaryOp::Not, inner) => {
            return implies(values, strong, &Guard { condition: inner, holds: !weak.holds, site: weak.site.clone() });
        }
        Op::Binary(BinaryOp::And | BinaryOp::LogicalAnd, a, b) if !weak.holds => {
            let is_implied = |condition| implies(values, strong, &Guard { condition, ..weak.clone() });
            return is_implied(a) || is_implied(b);
        }
        Op::Binary(BinaryOp::Or | BinaryOp::LogicalOr, a, b) if weak.holds => {
            let is_implied = |condition| implies(values, strong, &Guard { condition, ..weak.clone() });
            return is_implied(a) || is_implied(b);
        }
        _ => {}
    }
    let places = [strong, weak].map(|guard| contained(values, guard.condition, guard.holds));
    if let [Some(strong), Some(weak)] = places {
        return strong.base == weak.base && strong.offset >= weak.offset;
    }
    let (Op::Binary(strong_op, x, y), Op::Binary(weak_op, a, b)) =
        (&values[strong.condition].op, &values[weak.condition].op)
    else {
        return false;
    };
    if let (Some(strong_holds), Some(weak_holds)) = (equality(*strong_op, strong.holds), equality(*weak_op, weak.holds))
        && ((x, y) == (a, b) || (x, y) == (b, a))
    {
        return strong_holds == weak_holds;
    }
    // What equals a constant has the outcome of that constant in other comparisons with constants.
    if equality(*strong_op, strong.holds) == Some(true)
        && x == a
        && let (Some(is), Some(compared)) = (values.as_constant(*y), values.as_constant(*b))
        && let (Some(left), Some(right)) = (values.data_type(*a), values.data_type(*b))
    {
        return bits::binary(*weak_op, is, compared, left, right).bit(0) == weak.holds;
    }
    // `x != 0` follows from `y < x`.
    let less = match (strong_op, strong.holds) {
        (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => Some(y),
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => Some(x),
        _ => None,
    };
    let not_zero = equality(*weak_op, weak.holds) == Some(false);
    let unsigned = matches!(values.data_type(*x), Some(Type::Bits(_)));
    let is_less = less.is_some_and(|less| extended(values, *less) == extended(values, *a));
    unsigned && not_zero && is_less && values.as_constant(*b).is_some_and(|b| b.bits() == 0)
}

/// Whether the outcome of a comparison is that its operands are equal, or are not.
fn equality(op: BinaryOp, holds: bool) -> Option<bool> {
    match op {
        BinaryOp::Eq => Some(holds),
        BinaryOp::Ne => Some(!holds),
        _ => None,
    }
}

/// The number that a zero-extended one is made of.
fn extended(values: &Values, mut v: ValueId) -> ValueId {
    while let Op::Cast(inner) = values[v].op
        && let (Some(Type::Bits(from)), Some(Type::Bits(to))) = (values.data_type(inner), values.data_type(v))
        && from <= to
    {
        v = inner;
    }
    v
}
