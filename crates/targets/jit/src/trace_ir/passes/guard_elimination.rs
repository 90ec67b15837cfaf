//! Guard elimination: removes guards that a later guard of the same block implies. The side exit is then taken later. A guard stays if
//! something in between is only safe behind it, such as a read of the bytes that it tests for.

use hopwright_ir::{BinaryOp, Type, bits};

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
        let outcome = |i: usize| (guards[i].condition, guards[i].holds);
        let implying = (i + 1..guards.len()).find(|j| implies(values, outcome(*j), outcome(i)));
        if let Some(last) = implying {
            let without = || guards[..i].iter().chain(&guards[i + 1..=last]);
            if before.clone().are_safe(values, without()) {
                guards.remove(i);
            }
        }
    }
    guards
}

/// Whether a packet for which one condition has an outcome has that of another one, too.
fn implies(values: &Values, strong: (ValueId, bool), weak: (ValueId, bool)) -> bool {
    if strong.0 == weak.0 {
        return strong.1 == weak.1;
    }
    // One part of a disjunction is enough: it fails only if all of them do.
    let parts = values.conjunction(weak.0, !weak.1);
    if parts != [(weak.0, !weak.1)] {
        return parts.into_iter().any(|(part, fails)| implies(values, strong, (part, !fails)));
    }
    let places = [strong, weak].map(|(condition, holds)| contained(values, condition, holds));
    if let [Some(strong), Some(weak)] = places {
        return strong.base == weak.base && strong.offset >= weak.offset;
    }
    let ((strong, strong_holds), (weak, weak_holds)) = (strong, weak);
    let (Op::Binary(strong_op, x, y), Op::Binary(weak_op, a, b)) = (&values[strong].op, &values[weak].op) else {
        return false;
    };
    let equal = [equality(*strong_op, strong_holds), equality(*weak_op, weak_holds)];
    if let [Some(strong), Some(weak)] = equal
        && ((x, y) == (a, b) || (x, y) == (b, a))
    {
        return strong == weak;
    }
    // What equals a constant has the outcome of that constant in other comparisons with constants.
    if equal[0] == Some(true)
        && x == a
        && let (Some(is), Some(compared)) = (values.as_constant(*y), values.as_constant(*b))
        && let (Some(left), Some(right)) = (values.data_type(*a), values.data_type(*b))
    {
        return bits::binary(*weak_op, is, compared, left, right).bit(0) == weak_holds;
    }
    // `x != 0` follows from `y < x`.
    let less = match (strong_op, strong_holds) {
        (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => Some(y),
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => Some(x),
        _ => None,
    };
    let not_zero = equal[1] == Some(false);
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
