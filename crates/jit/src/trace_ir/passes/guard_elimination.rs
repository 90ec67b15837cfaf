//! Guard elimination: removes guards that a later guard of the same block implies. The side exit is then taken later. A guard stays if
//! something in between is only safe behind it, such as a read of the bytes that it tests for.

use hopwright_ir::{BinaryOp, Type, bits};

use crate::trace_ir::values::{Op, Values};
use crate::trace_ir::verify::{Established, contained};
use crate::trace_ir::{Guard, NodeId, TraceIr};

/// Runs the pass.
pub(super) fn run(ir: &mut TraceIr) {
    let mut work = vec![(NodeId(0), Established::default())];
    while let Some((id, established)) = work.pop() {
        let guards = std::mem::take(&mut ir[id].guards);
        let guards = remaining(&ir.values, &established, guards);
        let mut behind = established;
        for guard in &guards {
            behind.add(&ir.values, guard.condition, guard.holds);
        }
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
            if are_safe(values, before.clone(), without()) {
                guards.remove(i);
            }
        }
    }
    guards
}

/// Whether guards can be computed in this order.
fn are_safe<'a>(values: &Values, mut before: Established, guards: impl Iterator<Item = &'a Guard>) -> bool {
    for guard in guards {
        if before.check(values, guard.condition).is_err() {
            return false;
        }
        before.add(values, guard.condition, guard.holds);
    }
    true
}

/// Whether a packet that satisfies one guard satisfies another one.
fn implies(values: &Values, strong: &Guard, weak: &Guard) -> bool {
    if strong.condition == weak.condition {
        return strong.holds == weak.holds;
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
    // What equals a constant has the outcome of that constant in other comparisons with constants.
    if *strong_op == if strong.holds { BinaryOp::Eq } else { BinaryOp::Ne }
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
    let not_zero = *weak_op == if weak.holds { BinaryOp::Ne } else { BinaryOp::Eq };
    let unsigned = matches!(values.data_type(*x), Some(Type::Bits(_)));
    unsigned && not_zero && less == Some(a) && values.as_constant(*b).is_some_and(|b| b.bits() == 0)
}
