//! Guard coalescing: guards that compare bits of the packet with constants become one comparison of up to eight bytes, at the last of
//! them. Conjunctions are split into their parts first. Guards are not delayed beyond the next one that needs a table, extern or
//! register, so that packets do not ask these in vain; bits that are tested behind it join those in front of it.

use std::collections::BTreeSet;

use hopwright_ir::{BinaryOp, Type, bits};
use num_bigint::BigUint;

use crate::trace_ir::values::{Op, ValueId, Values};
use crate::trace_ir::verify::Established;
use crate::trace_ir::{Guard, NodeId, Place, Site, TraceIr};

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
    let mut work = vec![(NodeId(0), Established::default())];
    while let Some((id, established)) = work.pop() {
        let guards = std::mem::take(&mut ir[id].guards);
        let parts = guards.iter().flat_map(|guard| {
            let parts = ir.values.conjunction(guard.condition, guard.holds).into_iter();
            parts.map(|(condition, holds)| Guard { condition, holds, site: guard.site.clone() })
        });
        let mut coalescing = Coalescing { established, pending: Vec::new(), placed: Vec::new(), done: Vec::new() };
        for guard in parts.collect::<Vec<_>>() {
            match tested(&ir.values, &guard) {
                Some(new) => coalescing.test(new),
                None => {
                    if asks(&ir.values, guard.condition) {
                        coalescing.flush(&mut ir.values);
                    }
                    coalescing.keep(&ir.values, guard);
                }
            }
        }
        coalescing.flush(&mut ir.values);
        let Coalescing { established, placed, mut done, .. } = coalescing;
        for (at, tested, _) in placed {
            done[at] = tested.guard(&mut ir.values);
        }
        ir[id].guards = done;
        work.extend(established.at_targets(&ir.values, &ir[id].end));
    }
}

/// The guards of a block, being coalesced.
struct Coalescing {
    /// What is established behind the guards in `done`.
    established: Established,
    /// Tested bits without a guard.
    pending: Vec<Tested>,
    /// Tested bits with a guard: its index in `done`, and what is established in front of it.
    placed: Vec<(usize, Tested, Established)>,
    done: Vec<Guard>,
}

impl Coalescing {
    /// Adds tested bits to others that are near enough: to those that are tested first, if the packet is known to contain them there.
    fn test(&mut self, new: Tested) {
        let contains = |established: &Established, tested: &Tested| {
            let offset = u32::try_from(tested.end.div_ceil(8)).unwrap_or(u32::MAX);
            established.contains(Place { base: tested.base, offset })
        };
        let placed = self.placed.iter_mut().filter(|(_, _, established)| contains(established, &new));
        let mut others = placed.map(|(_, tested, _)| tested).chain(&mut self.pending);
        if !others.any(|old| old.merge(&new)) {
            self.pending.push(new);
        }
    }

    /// Makes guards of pending bits.
    fn flush(&mut self, values: &mut Values) {
        for tested in std::mem::take(&mut self.pending) {
            let guard = tested.guard(values);
            self.placed.push((self.done.len(), tested, self.established.clone()));
            self.done.push(guard);
        }
    }

    /// Adds a guard as it is.
    fn keep(&mut self, values: &Values, guard: Guard) {
        self.established.add(values, guard.condition, guard.holds);
        self.done.push(guard);
    }
}

impl Tested {
    /// Adds tested bits, if they are near enough.
    fn merge(&mut self, new: &Tested) -> bool {
        let (begin, end) = (self.begin.min(new.begin), self.end.max(new.end));
        if self.base != new.base || end - begin > MAX_BITS {
            return false;
        }
        let placed = |bits: &BigUint, its_end: u64| bits << (end - its_end);
        let (mask, value) = (placed(&self.mask, self.end), placed(&self.value, self.end));
        let (new_mask, new_value) = (placed(&new.mask, new.end), placed(&new.value, new.end));
        // Guards that contradict each other stay apart.
        if (&value ^ &new_value) & &mask & &new_mask != BigUint::ZERO {
            return false;
        }
        (self.begin, self.end, self.mask, self.value) = (begin, end, mask | new_mask, value | new_value);
        true
    }

    /// The guard that tests the bits.
    fn guard(&self, values: &mut Values) -> Guard {
        let Tested { base, begin, end, .. } = *self;
        let width = (end - begin) as u32;
        let ty = Type::Bits(width);
        let mut found = values.data(Op::Packet { base, bit: begin as u32 }, ty);
        if self.mask != bits::mask(width) {
            let mask = values.constant(self.mask.clone(), ty);
            found = values.data(Op::Binary(BinaryOp::And, found, mask), ty);
        }
        let value = values.constant(self.value.clone(), ty);
        Guard { condition: values.equal(found, value), holds: true, site: self.site.clone() }
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

/// Whether a value depends on a table, extern, register or meter.
pub(super) fn asks(values: &Values, value: ValueId) -> bool {
    let mut work = vec![value];
    let mut seen = BTreeSet::new();
    while let Some(value) = work.pop() {
        let op = &values[value].op;
        if matches!(
            op,
            Op::Lookup { .. } | Op::Member { .. } | Op::Register { .. } | Op::Color { .. } | Op::Call { .. }
        ) {
            return true;
        }
        work.extend(op.operands().into_iter().filter(|operand| seen.insert(*operand)));
    }
    false
}
