//! Guard coalescing: guards that compare bits of the packet with constants become one comparison of up to eight bytes, at the last of
//! them. Conjunctions are split into their parts first. Guards are not delayed beyond the next one that needs a table, extern or
//! register, so that packets do not ask these in vain.

use std::collections::BTreeSet;

use hopwright_ir::{BinaryOp, Type, bits};
use num_bigint::BigUint;

use crate::trace_ir::values::{Op, ValueId, Values};
use crate::trace_ir::{Guard, Site, TraceIr};

/// The maximum number of bits that one comparison tests.
const MAX_BITS: u64 = 64;

/// Tested bits of the packet: of those from `begin` to `end`, counted behind a base, those in the mask have the values in `value`.
struct Tested {
    base: Option<ValueId>,
    begin: u64,
    end: u64,
    mask: BigUint,
    value: BigUint,
    site: Site,
}

/// Runs the pass.
pub(super) fn run(ir: &mut TraceIr) {
    for i in 0..ir.nodes.len() {
        let mut pending: Vec<Tested> = Vec::new();
        let mut done = Vec::new();
        let guards = std::mem::take(&mut ir.nodes[i].guards);
        let parts = guards.iter().flat_map(|guard| {
            let parts = ir.values.conjunction(guard.condition, guard.holds).into_iter();
            parts.map(|(condition, holds)| Guard { condition, holds, site: guard.site.clone() })
        });
        for guard in parts.collect::<Vec<_>>() {
            match tested(&ir.values, &guard) {
                Some(new) => add(&mut pending, new),
                None => {
                    if asks(&ir.values, guard.condition) {
                        flush(&mut ir.values, &mut pending, &mut done);
                    }
                    done.push(guard);
                }
            }
        }
        flush(&mut ir.values, &mut pending, &mut done);
        ir.nodes[i].guards = done;
    }
}

/// Adds tested bits to others that are near enough.
fn add(pending: &mut Vec<Tested>, new: Tested) {
    for old in pending.iter_mut().filter(|old| old.base == new.base) {
        let (begin, end) = (old.begin.min(new.begin), old.end.max(new.end));
        if end - begin > MAX_BITS {
            continue;
        }
        let placed = |bits: &BigUint, its_end: u64| bits << (end - its_end);
        let (mask, value) = (placed(&old.mask, old.end), placed(&old.value, old.end));
        let (new_mask, new_value) = (placed(&new.mask, new.end), placed(&new.value, new.end));
        // Guards that contradict each other stay apart.
        if (&value ^ &new_value) & &mask & &new_mask == BigUint::ZERO {
            (old.begin, old.end, old.mask, old.value) = (begin, end, mask | new_mask, value | new_value);
            return;
        }
    }
    pending.push(new);
}

/// Makes guards of tested bits.
fn flush(values: &mut Values, pending: &mut Vec<Tested>, done: &mut Vec<Guard>) {
    for Tested { base, begin, end, mask, value, site } in pending.drain(..) {
        let width = (end - begin) as u32;
        let ty = Type::Bits(width);
        let mut found = values.data(Op::Packet { base, bit: begin as u32 }, ty);
        if mask != bits::mask(width) {
            let mask = values.constant(mask, ty);
            found = values.data(Op::Binary(BinaryOp::And, found, mask), ty);
        }
        let value = values.constant(value, ty);
        let condition = values.equal(found, value);
        done.push(Guard { condition, holds: true, site });
    }
}

/// The bits that a guard tests, if it compares bits of the packet with a constant.
fn tested(values: &Values, guard: &Guard) -> Option<Tested> {
    let Op::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), compared, constant) = values[guard.condition].op else {
        return None;
    };
    let value = values.as_constant(constant)?.clone();
    let (packet, mask) = match values[compared].op {
        Op::Binary(BinaryOp::And, packet, mask) => (packet, values.as_constant(mask)?.clone()),
        _ => (compared, bits::mask(values.width(compared))),
    };
    let Op::Packet { base, bit } = values[packet].op else { return None };
    let width = u64::from(values.width(packet));
    let equal = (op == BinaryOp::Eq) == guard.holds;
    // A single bit that must differ must equal its complement. No bits with `value` outside of the mask are equal to it.
    let single = mask.count_ones() == 1;
    if width > MAX_BITS || &value & &mask != value || !(equal || single) || mask == BigUint::ZERO {
        return None;
    }
    let value = if equal { value } else { value ^ &mask };
    let begin = u64::from(bit);
    Some(Tested { base, begin, end: begin + width, mask, value, site: guard.site.clone() })
}

/// Whether a value depends on a table, extern or register.
fn asks(values: &Values, value: ValueId) -> bool {
    let mut work = vec![value];
    let mut seen = BTreeSet::new();
    while let Some(value) = work.pop() {
        let op = &values[value].op;
        if matches!(op, Op::Lookup { .. } | Op::Member { .. } | Op::Register { .. } | Op::Call { .. }) {
            return true;
        }
        work.extend(op.operands().into_iter().filter(|operand| seen.insert(*operand)));
    }
    false
}
