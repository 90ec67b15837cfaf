//! Byte-order propagation. Numbers in packets are big-endian, so each load is followed by a byte swap and each store is
//! preceded by one. A number that is only sliced, concatenated, compared for equality or added to an Internet checksum
//! need not be swapped, because these operations can be done in packet order. The *reversal* of a number of `n` bytes
//! is the number with these bytes in the opposite order.

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types};

use crate::clif::known_bits::{bound_of, constant_in};

/// The maximum depth of operations that are examined.
const DEPTH: u32 = 10;

/// The upper bound of a sum's terms, such that sums of them stay far below 2^64.
const MOST_TERM: u64 = 1 << 48;

/// A multiple of 2^16 - 1, which keeps differences positive.
const POSITIVE: u64 = 0xffff << 40;

/// Runs the pass. `bounds` gives upper bounds of some values.
pub(crate) fn run(function: &mut Function, bounds: &HashMap<Value, u64>) {
    function.dfg.resolve_all_aliases();
    let Some(entry) = function.layout.entry_block() else { return };
    let mut insts: Vec<Inst> = Vec::new();
    for block in function.layout.blocks() {
        insts.extend(function.layout.block_insts(block));
    }
    let mut turning = Propagation { f: function, bounds, entry };
    for inst in insts {
        turning.look_at(inst);
    }
    function.dfg.resolve_all_aliases();
}

/// How a reversal is computed: 64 bits, with zeros beyond its bytes.
enum Reversed {
    /// An existing value.
    There(Value),
    /// An existing value of fewer bits.
    Wider(Value),
    Constant(u64),
    /// Shifted left by a positive amount, right by a negative one.
    Shifted(Box<Reversed>, i32),
    Masked(Box<Reversed>, u64),
    Both(Opcode, Box<Reversed>, Box<Reversed>),
    Choice(Value, Box<Reversed>, Box<Reversed>),
    /// By swapping this many bytes.
    Swapped(Value, u32),
    /// By swapping all bytes of a value of fewer than 64 bits.
    SwappedNarrow(Value),
}

impl Reversed {
    fn shifted(self, bytes: i32) -> Reversed {
        match self {
            all if bytes == 0 => all,
            Reversed::Constant(c) if bytes > 0 => Reversed::Constant(c << (8 * bytes)),
            Reversed::Constant(c) => Reversed::Constant(c >> (-8 * bytes)),
            other => Reversed::Shifted(Box::new(other), 8 * bytes),
        }
    }

    fn masked(self, mask: u64) -> Reversed {
        match self {
            Reversed::Constant(c) => Reversed::Constant(c & mask),
            other if mask == u64::MAX => other,
            Reversed::Both(Opcode::Bxor, of, by) if matches!(*by, Reversed::Constant(c) if c == mask) => {
                Reversed::Both(Opcode::Bxor, of, by)
            }
            other => Reversed::Masked(Box::new(other), mask),
        }
    }
}

/// Number of swaps saved.
type Gain = i32;

struct Propagation<'a> {
    f: &'a mut Function,
    bounds: &'a HashMap<Value, u64>,
    entry: Block,
}

/// Returns the maximum number of `bytes` bytes.
fn most(bytes: u32) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

fn turned(number: u64, bytes: u32) -> u64 {
    number.swap_bytes() >> (64 - 8 * bytes)
}

/// Whether a mask consists of whole bytes.
fn of_bytes(mask: u64) -> bool {
    mask.to_le_bytes().iter().all(|b| matches!(b, 0 | 0xff))
}

impl Propagation<'_> {
    fn look_at(&mut self, inst: Inst) {
        match self.f.dfg.insts[inst] {
            InstructionData::Unary { opcode: Opcode::Bswap, arg } => {
                let ty = self.f.dfg.value_type(arg);
                let bytes = ty.bytes();
                let Some((plan, gain)) = self.plan_of(arg, bytes, DEPTH) else { return };
                if gain >= 0 {
                    let v = self.make(plan, inst);
                    let v = if ty == types::I64 { v } else { self.at(inst).ins().ireduce(ty, v) };
                    self.instead(inst, v);
                }
            }
            InstructionData::IntCompare { cond: cond @ (IntCC::Equal | IntCC::NotEqual), args: [a, b], .. } => {
                let bits = self.bound(a).max(self.bound(b)).checked_ilog2().map_or(1, |high| high + 1);
                let bytes = bits.div_ceil(8);
                let (Some((a, gain)), Some((b, more))) = (self.plan_of(a, bytes, DEPTH), self.plan_of(b, bytes, DEPTH))
                else {
                    return;
                };
                if gain + more > 0 {
                    let (a, b) = (self.make(a, inst), self.make(b, inst));
                    let same = self.at(inst).ins().icmp(cond, a, b);
                    self.instead(inst, same);
                }
            }
            _ => {
                if let Some(sum) = self.folded(inst) {
                    self.fold_turned(inst, sum);
                }
            }
        }
    }

    fn at(&mut self, inst: Inst) -> FuncCursor<'_> {
        let mut at = FuncCursor::new(self.f).at_inst(inst);
        at.use_srcloc(inst);
        at
    }

    /// Replaces the result of an instruction by another value.
    fn instead(&mut self, inst: Inst, v: Value) {
        let old = self.f.dfg.first_result(inst);
        self.f.layout.remove_inst(inst);
        self.f.dfg.clear_results(inst);
        self.f.dfg.change_to_alias(old, v);
    }

    fn bound(&self, v: Value) -> u64 {
        bound_of(&self.f.dfg, &|v| self.bounds.get(&v).copied(), v, DEPTH)
    }

    fn fits(&self, v: Value, bytes: u32) -> bool {
        bytes >= 8 || self.bound(v) <= most(bytes)
    }

    /// Returns the operation that computes a value, and its operands.
    fn made(&self, v: Value) -> Option<(Opcode, &[Value])> {
        let dfg = &self.f.dfg;
        match dfg.value_def(dfg.resolve_aliases(v)) {
            ValueDef::Result(inst, 0) => Some((dfg.insts[inst].opcode(), dfg.inst_args(inst))),
            _ => None,
        }
    }

    /// The reversal of a value of at most 64 bits.
    fn plan_of(&self, v: Value, bytes: u32, depth: u32) -> Option<(Reversed, Gain)> {
        let ty = self.f.dfg.value_type(v);
        match ty {
            types::I64 => self.fits(v, bytes).then(|| self.plan(v, bytes, depth)),
            types::I16 | types::I32 if bytes <= ty.bytes() => {
                self.fits(v, bytes).then(|| self.plan_narrow(v, bytes, depth))
            }
            _ => None,
        }
    }

    /// The reversal of a value that is not examined further.
    fn leaf(&self, v: Value, bytes: u32) -> (Reversed, Gain) {
        if self.bound(v) <= 0xff {
            return (Reversed::There(v).shifted(bytes as i32 - 1), 0);
        }
        (Reversed::Swapped(v, bytes), if self.is_once(v, DEPTH) { 0 } else { -1 })
    }

    /// Whether a value is batch-invariant, in which case Cranelift hoists what is computed from it.
    fn is_once(&self, v: Value, depth: u32) -> bool {
        let dfg = &self.f.dfg;
        match dfg.value_def(dfg.resolve_aliases(v)) {
            ValueDef::Result(inst, _) if self.f.layout.inst_block(inst) == Some(self.entry) => true,
            ValueDef::Param(block, _) => block == self.entry,
            ValueDef::Result(inst, 0) if depth > 0 => match dfg.insts[inst] {
                InstructionData::Load { arg, flags, .. } => {
                    let flags = &dfg.mem_flags[flags];
                    flags.readonly() && flags.can_move() && self.is_once(arg, depth - 1)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// The reversal of a 64-bit value less than 256 to the power of `bytes`.
    fn plan(&self, v: Value, bytes: u32, depth: u32) -> (Reversed, Gain) {
        let v = self.f.dfg.resolve_aliases(v);
        let leaf = || self.leaf(v, bytes);
        let (Some((op, args)), true) = (self.made(v), depth > 0) else { return leaf() };
        let deeper = depth - 1;
        let constant = |i: usize| constant_in(&self.f.dfg, args[i]).map(|c| c as u64);
        let by = || constant(1).filter(|by| *by < 64 && by.is_multiple_of(8)).map(|by| by as u32 / 8);
        match op {
            Opcode::Iconst => match constant_in(&self.f.dfg, v) {
                Some(c) => (Reversed::Constant(turned(c as u64, bytes)), 0),
                None => leaf(),
            },
            Opcode::Bswap => (Reversed::There(args[0]).shifted(bytes as i32 - 8), 1),
            Opcode::Ushr if let Some(by) = by() => {
                let whole = (bytes + by).min(8);
                if !self.fits(args[0], whole) {
                    return leaf();
                }
                let (of, gain) = self.plan(args[0], whole, deeper);
                let rest = whole - by;
                let of = if self.most_of(&of) <= most(rest) { of } else { of.masked(most(rest)) };
                (of.shifted((bytes - rest) as i32), gain)
            }
            Opcode::Ishl if let Some(by) = by() => {
                if by < bytes && self.fits(args[0], bytes - by) {
                    self.plan(args[0], bytes - by, deeper)
                } else if bytes == 8 {
                    let (of, gain) = self.plan(args[0], 8, deeper);
                    (of.shifted(-(by as i32)), gain)
                } else {
                    leaf()
                }
            }
            Opcode::Band if let Some(mask) = constant(1).filter(|mask| of_bytes(*mask)) => {
                self.plan_masked(args[0], mask, bytes, deeper)
            }
            Opcode::Band | Opcode::Bor | Opcode::Bxor if self.fits(args[0], bytes) && self.fits(args[1], bytes) => {
                let ((a, gain), (b, more)) = (self.plan(args[0], bytes, deeper), self.plan(args[1], bytes, deeper));
                (Reversed::Both(op, Box::new(a), Box::new(b)), gain + more)
            }
            Opcode::Select if self.fits(args[1], bytes) && self.fits(args[2], bytes) => {
                let ((a, gain), (b, more)) = (self.plan(args[1], bytes, deeper), self.plan(args[2], bytes, deeper));
                (Reversed::Choice(args[0], Box::new(a), Box::new(b)), gain + more)
            }
            Opcode::Uextend if matches!(self.f.dfg.value_type(args[0]), types::I16 | types::I32) => {
                let of = self.f.dfg.value_type(args[0]).bytes();
                let own = of.min(bytes);
                if !self.fits(args[0], own) {
                    return leaf();
                }
                let (narrow, gain) = self.plan_narrow(args[0], own, deeper);
                (narrow.shifted((bytes - own) as i32), gain)
            }
            _ => leaf(),
        }
    }

    /// The reversal of a masked value.
    fn plan_masked(&self, v: Value, mask: u64, bytes: u32, depth: u32) -> (Reversed, Gain) {
        if self.fits(v, bytes) {
            let (of, gain) = self.plan(v, bytes, depth);
            return (of.masked(turned(mask & most(bytes), bytes)), gain);
        }
        if let Some((Opcode::Bnot, args)) = self.made(v)
            && self.fits(args[0], bytes)
        {
            let (of, gain) = self.plan(args[0], bytes, depth);
            let other = Reversed::Both(Opcode::Bxor, Box::new(of), Box::new(Reversed::Constant(most(bytes))));
            return (other.masked(turned(mask & most(bytes), bytes)), gain);
        }
        let (of, gain) = self.plan(v, 8, depth);
        let rest = bytes as i32 - 8;
        if mask & most(bytes) == most(bytes) {
            return (of.shifted(rest), gain);
        }
        (of.masked(turned(mask & most(bytes), 8)).shifted(rest), gain)
    }

    /// The reversal of a value of fewer than 64 bits that is less than 256 to the power of `bytes`.
    fn plan_narrow(&self, v: Value, bytes: u32, depth: u32) -> (Reversed, Gain) {
        let v = self.f.dfg.resolve_aliases(v);
        let ty = self.f.dfg.value_type(v);
        let mask = most(ty.bytes());
        if let (Some((op, args)), true) = (self.made(v), depth > 0) {
            match op {
                Opcode::Ireduce if self.f.dfg.value_type(args[0]) == types::I64 => {
                    return self.plan_masked(args[0], mask & most(bytes), bytes, depth - 1);
                }
                Opcode::Iconst => {
                    let c = constant_in(&self.f.dfg, v).map_or(0, |c| c as u64 & most(bytes));
                    return (Reversed::Constant(turned(c, bytes)), 0);
                }
                Opcode::Bswap => return (Reversed::Wider(args[0]).shifted(bytes as i32 - ty.bytes() as i32), 1),
                Opcode::Bnot if bytes == ty.bytes() => {
                    let (of, gain) = self.plan_narrow(args[0], bytes, depth - 1);
                    return (Reversed::Both(Opcode::Bxor, Box::new(of), Box::new(Reversed::Constant(mask))), gain);
                }
                _ => {}
            }
        }
        (Reversed::SwappedNarrow(v).shifted(bytes as i32 - ty.bytes() as i32), -1)
    }

    /// Returns the upper bound of a reversal.
    fn most_of(&self, of: &Reversed) -> u64 {
        match of {
            Reversed::There(v) | Reversed::Wider(v) => self.bound(*v),
            Reversed::Constant(c) => *c,
            Reversed::Shifted(of, by) if *by < 0 => self.most_of(of) >> -by,
            Reversed::Shifted(of, by) => self.most_of(of).saturating_mul(1 << by),
            Reversed::Masked(of, mask) => self.most_of(of).min(*mask),
            Reversed::Swapped(_, bytes) => most(*bytes),
            Reversed::SwappedNarrow(v) => most(self.f.dfg.value_type(*v).bytes()),
            Reversed::Both(..) | Reversed::Choice(..) => u64::MAX,
        }
    }

    /// Emits the computation before an instruction.
    fn make(&mut self, plan: Reversed, before: Inst) -> Value {
        match plan {
            Reversed::There(v) => v,
            Reversed::Wider(v) if self.f.dfg.value_type(v) == types::I64 => v,
            Reversed::Wider(v) => self.at(before).ins().uextend(types::I64, v),
            Reversed::Constant(c) => self.at(before).ins().iconst(types::I64, c as i64),
            Reversed::Shifted(of, by) => {
                let of = self.make(*of, before);
                let mut at = self.at(before);
                if by > 0 { at.ins().ishl_imm_u(of, i64::from(by)) } else { at.ins().ushr_imm_u(of, i64::from(-by)) }
            }
            Reversed::Masked(of, mask) => {
                let of = self.make(*of, before);
                let mask = self.at(before).ins().iconst(types::I64, mask as i64);
                self.at(before).ins().band(of, mask)
            }
            Reversed::Both(op, a, b) => {
                let (a, b) = (self.make(*a, before), self.make(*b, before));
                let mut at = self.at(before);
                match op {
                    Opcode::Band => at.ins().band(a, b),
                    Opcode::Bor => at.ins().bor(a, b),
                    _ => at.ins().bxor(a, b),
                }
            }
            Reversed::Choice(condition, a, b) => {
                let (a, b) = (self.make(*a, before), self.make(*b, before));
                self.at(before).ins().select(condition, a, b)
            }
            Reversed::SwappedNarrow(v) => {
                let mut at = self.at(before);
                let swapped = at.ins().bswap(v);
                at.ins().uextend(types::I64, swapped)
            }
            Reversed::Swapped(v, bytes) => {
                // Batch invariants are swapped in the prologue.
                let place = match self.f.dfg.value_def(v) {
                    ValueDef::Result(inst, _) if self.f.layout.inst_block(inst) == Some(self.entry) => {
                        self.f.layout.next_inst(inst).unwrap_or(before)
                    }
                    _ => before,
                };
                let mut at = self.at(place);
                let swapped = at.ins().bswap(v);
                at.ins().ushr_imm_u(swapped, 64 - 8 * i64::from(bytes))
            }
        }
    }
}

/// A sum of terms, some of which are subtracted.
#[derive(Default)]
struct Sum {
    constant: u64,
    terms: Vec<Term>,
}

struct Term {
    v: Value,
    subtracted: bool,
    /// The term is 256 times the value.
    shifted: bool,
}

/// Internet checksums (RFC 1071). Programs fold a sum by adding its halves, with carry, twice. The result is zero only
/// if the sum is zero. Reversing each term reverses the result, because both multiply by 256 modulo 2^16 - 1.
impl Propagation<'_> {
    /// The sum that an instruction folds, if it does.
    fn folded(&self, inst: Inst) -> Option<Value> {
        let dfg = &self.f.dfg;
        if dfg.insts[inst].opcode() != Opcode::Ushr {
            return None;
        }
        let args = dfg.inst_args(inst);
        if constant_in(dfg, args[1]) != Some(16) {
            return None;
        }
        let quarters = match dfg.value_type(args[0]) {
            types::I32 => args[0],
            // Bits beyond 32 are truncated.
            types::I64 => match self.made(args[0])? {
                (Opcode::Uextend, of) if dfg.value_type(of[0]) == types::I32 => of[0],
                _ => return None,
            },
            _ => return None,
        };
        let word = self.plus_rotated(quarters, 16)?;
        match self.made(word)? {
            (Opcode::Ushr, of) if constant_in(dfg, of[1]) == Some(32) => self.plus_rotated(of[0], 32),
            _ => None,
        }
    }

    /// Returns the value that is added to itself rotated by `by` bits, ignoring bits beyond twice as many.
    fn plus_rotated(&self, sum: Value, by: i64) -> Option<Value> {
        let plain = |mut v: Value| {
            while let Some((Opcode::Uextend | Opcode::Ireduce, of)) = self.made(v) {
                v = of[0];
            }
            self.f.dfg.resolve_aliases(v)
        };
        let (Opcode::Iadd, &[a, b]) = self.made(plain(sum))? else { return None };
        let rotated = |v: Value| match self.made(plain(v))? {
            (Opcode::Rotl, of) if constant_in(&self.f.dfg, of[1]) == Some(by) => {
                (i64::from(self.f.dfg.value_type(of[0]).bits()) == 2 * by).then(|| plain(of[0]))
            }
            _ => None,
        };
        let same = |v: Value, rotated: Option<Value>| rotated.filter(|of| *of == plain(v));
        same(a, rotated(b)).or(same(b, rotated(a))).filter(|v| by == 32 || self.bound(*v) <= most(4))
    }

    /// Collects the terms of a sum.
    fn terms(&self, v: Value, subtracted: bool, depth: u32, sum: &mut Sum) {
        let v = self.f.dfg.resolve_aliases(v);
        match self.made(v) {
            Some((op @ (Opcode::Iadd | Opcode::Isub), &[a, b])) if depth > 0 => {
                self.terms(a, subtracted, depth - 1, sum);
                self.terms(b, subtracted ^ (op == Opcode::Isub), depth - 1, sum);
            }
            Some((Opcode::Iconst, _)) => {
                let c = constant_in(&self.f.dfg, v).map_or(0, |c| c as u64);
                sum.constant = if subtracted { sum.constant.wrapping_sub(c) } else { sum.constant.wrapping_add(c) };
            }
            Some((Opcode::Ishl, of)) if constant_in(&self.f.dfg, of[1]) == Some(8) && self.fits(of[0], 5) => {
                sum.terms.push(Term { v: of[0], subtracted, shifted: true });
            }
            // Concatenation: the upper part is multiplied by a power of 2^16, which is 1 modulo 2^16 - 1.
            Some((Opcode::Bor, &[a, b])) if depth > 0 && self.plan(v, 8, DEPTH).1 <= 0 => {
                let parts = [(a, b), (b, a)].into_iter().find_map(|(high, low)| match self.made(high)? {
                    (Opcode::Ishl, of) => {
                        let by = constant_in(&self.f.dfg, of[1]).filter(|by| matches!(by, 16 | 32 | 48))?;
                        let apart = self.bound(low) >> by == 0 && self.bound(of[0]) <= u64::MAX >> by;
                        apart.then_some((of[0], low))
                    }
                    _ => None,
                });
                match parts {
                    Some((high, low)) => {
                        self.terms(high, subtracted, depth - 1, sum);
                        self.terms(low, subtracted, depth - 1, sum);
                    }
                    None => sum.terms.push(Term { v, subtracted, shifted: false }),
                }
            }
            _ => sum.terms.push(Term { v, subtracted, shifted: false }),
        }
    }

    /// Whether a sum with this constant and these bounds of its terms is positive and less than 2^64.
    fn is_positive(constant: u64, terms: impl Iterator<Item = (u64, bool)>) -> bool {
        let (mut least, mut most) = (i128::from(constant), i128::from(constant));
        for (bound, subtracted) in terms {
            if subtracted {
                least -= i128::from(bound);
            } else {
                most += i128::from(bound);
            }
        }
        least > 0 && most <= i128::from(u64::MAX)
    }

    /// Folds the sum of reversals instead, if that saves swaps.
    fn fold_turned(&mut self, inst: Inst, folded: Value) {
        let mut sum = Sum::default();
        self.terms(folded, false, 4 * DEPTH, &mut sum);
        let bounds: Vec<u64> = sum.terms.iter().map(|t| self.bound(t.v)).collect();
        let own = sum.terms.iter().zip(&bounds).map(|(t, b)| (if t.shifted { b << 8 } else { *b }, t.subtracted));
        if bounds.iter().any(|b| *b > MOST_TERM) || !Self::is_positive(sum.constant, own) {
            return;
        }
        // The reversals of even length that cost nothing, and all other terms, which are multiplied by 256 together.
        let (mut plans, mut others) = (Vec::new(), Vec::new());
        let mut gain = 0;
        for (term, bound) in sum.terms.into_iter().zip(bounds) {
            let bits = bound.checked_ilog2().map_or(1, |high| high + 1);
            let bytes = bits.div_ceil(16) * 2;
            let found = self.plan(term.v, bytes, DEPTH);
            if term.shifted {
                plans.push((Reversed::There(term.v), bound, term.subtracted));
            } else if found.1 > 0 {
                gain += found.1;
                plans.push((found.0, most(bytes), term.subtracted));
            } else {
                others.push((term.v, bound, term.subtracted));
            }
        }
        let constant = POSITIVE + ((sum.constant % 0xffff) << 8) % 0xffff;
        let all = plans.iter().map(|(_, b, s)| (*b, *s)).chain(others.iter().map(|(_, b, s)| (b << 8, *s)));
        if gain < 2 || !Self::is_positive(constant, all) {
            return;
        }
        let mut total = self.at(inst).ins().iconst(types::I64, constant as i64);
        let add = |g: &mut Self, total: Value, v: Value, subtracted: bool| {
            let mut at = g.at(inst);
            if subtracted { at.ins().isub(total, v) } else { at.ins().iadd(total, v) }
        };
        if !others.is_empty() {
            let none = self.at(inst).ins().iconst(types::I64, 0);
            let together = others.into_iter().fold(none, |sum, (v, _, subtracted)| add(self, sum, v, subtracted));
            let together = self.at(inst).ins().ishl_imm_u(together, 8);
            total = add(self, total, together, false);
        }
        for (plan, _, subtracted) in plans {
            let v = self.make(plan, inst);
            total = add(self, total, v, subtracted);
        }
        let ty = self.f.dfg.value_type(self.f.dfg.first_result(inst));
        let mut at = self.at(inst);
        let by = at.ins().iconst(types::I64, 32);
        let rotated = at.ins().rotl(total, by);
        let word = at.ins().iadd(total, rotated);
        let word = at.ins().ushr_imm_u(word, 32);
        let word = at.ins().ireduce(types::I32, word);
        let by = at.ins().iconst(types::I32, 16);
        let rotated = at.ins().rotl(word, by);
        let quarters = at.ins().iadd(word, rotated);
        let quarters = at.ins().ushr_imm_u(quarters, 16);
        let result = at.ins().ireduce(types::I16, quarters);
        let result = at.ins().bswap(result);
        let result = at.ins().uextend(ty, result);
        self.instead(inst, result);
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::{AbiParam, MemFlagsData, Signature, UserFuncName};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::code::memory::Code;

    /// The upper bound of the second argument, which is passed to the pass.
    const SMALL: u64 = 0xffff;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }

        fn word(&mut self) -> u64 {
            u64::from_le_bytes(std::array::from_fn(|_| {
                [0, 0xff, 1, 0x80, self.below(256) as u8][self.below(5) as usize]
            }))
        }
    }

    struct Maker<'a, 'b> {
        b: FunctionBuilder<'a>,
        random: &'b mut Random,
        args: Vec<Value>,
    }

    impl Maker<'_, '_> {
        /// Loads a field of a packet.
        fn field(&mut self) -> Value {
            let (flags, at) = (MemFlagsData::trusted(), self.random.below(16) as i32);
            let memory = self.args[0];
            let (raw, bits) = match self.random.below(4) {
                0 => return self.b.ins().uload8(types::I64, flags, memory, at),
                1 => (self.b.ins().uload16(types::I64, flags, memory, at), 16),
                2 => (self.b.ins().uload32(flags, memory, at), 32),
                _ => (self.b.ins().load(types::I64, flags, memory, at), 64),
            };
            let swapped = self.b.ins().bswap(raw);
            self.b.ins().ushr_imm_u(swapped, 64 - bits)
        }

        fn number(&mut self, depth: u32) -> Value {
            if depth == 0 || self.random.below(8) == 0 {
                return match self.random.below(8) {
                    0 => self.args[1],
                    1 => self.args[2],
                    2 => {
                        let word = self.random.word();
                        self.b.ins().iconst(types::I64, word as i64)
                    }
                    _ => self.field(),
                };
            }
            let v = self.number(depth - 1);
            let by = if self.random.below(4) == 0 { self.random.below(64) } else { 8 * self.random.below(8) } as i64;
            match self.random.below(9) {
                0 => self.b.ins().ishl_imm_u(v, by),
                1 => self.b.ins().ushr_imm_u(v, by),
                2 => {
                    let word = self.random.word();
                    let mask = self.b.ins().iconst(types::I64, word as i64);
                    self.b.ins().band(v, mask)
                }
                3 => {
                    let most = u64::MAX >> by;
                    let mask = self.b.ins().iconst(types::I64, most as i64);
                    self.b.ins().band(v, mask)
                }
                4 => {
                    let ty = [types::I16, types::I32][self.random.below(2) as usize];
                    let v = self.b.ins().ireduce(ty, v);
                    let v = match self.random.below(3) {
                        0 => self.b.ins().bnot(v),
                        1 => self.b.ins().bswap(v),
                        _ => v,
                    };
                    self.b.ins().uextend(types::I64, v)
                }
                5 => {
                    let v = self.b.ins().bnot(v);
                    let v = self.b.ins().ireduce(types::I16, v);
                    self.b.ins().uextend(types::I64, v)
                }
                6 => {
                    let (other, condition) = (self.number(depth - 1), self.condition(depth - 1));
                    self.b.ins().select(condition, v, other)
                }
                op => {
                    let other = self.number(depth - 1);
                    match op {
                        7 => self.b.ins().bor(v, other),
                        _ => self.b.ins().bxor(v, other),
                    }
                }
            }
        }

        fn condition(&mut self, depth: u32) -> Value {
            let (a, b) = (self.number(depth), self.number(depth));
            let cc = if self.random.below(2) == 0 { IntCC::Equal } else { IntCC::NotEqual };
            self.b.ins().icmp(cc, a, b)
        }

        /// Folds a sum of fields as programs do.
        fn folded(&mut self) -> Value {
            let most = [0xffff_u64 << 40, self.random.below(1 << 20)][self.random.below(2) as usize];
            let mut sum = self.b.ins().iconst(types::I64, most as i64);
            for _ in 0..1 + self.random.below(6) {
                let v = if self.random.below(4) == 0 { self.number(2) } else { self.field() };
                let v = if self.random.below(4) == 0 { self.b.ins().ishl_imm_u(v, 8) } else { v };
                let negative = most > 1 << 20 && self.random.below(2) == 0;
                sum = if negative { self.b.ins().isub(sum, v) } else { self.b.ins().iadd(sum, v) };
            }
            let by = self.b.ins().iconst(types::I64, 32);
            let rotated = self.b.ins().rotl(sum, by);
            let sum = self.b.ins().iadd(sum, rotated);
            let word = self.b.ins().ushr_imm_u(sum, 32);
            let narrow = self.b.ins().ireduce(types::I32, word);
            let by = self.b.ins().iconst(types::I32, 16);
            let rotated = self.b.ins().rotl(narrow, by);
            if self.random.below(2) == 0 {
                let sum = self.b.ins().iadd(narrow, rotated);
                let sum = self.b.ins().ushr_imm_u(sum, 16);
                return self.b.ins().uextend(types::I64, sum);
            }
            let rotated = self.b.ins().uextend(types::I64, rotated);
            let sum = self.b.ins().iadd(word, rotated);
            let sum = self.b.ins().ireduce(types::I32, sum);
            let sum = self.b.ins().uextend(types::I64, sum);
            self.b.ins().ushr_imm_u(sum, 16)
        }

        /// A result that depends on values of all kinds that may be reversed.
        fn result(&mut self) -> Value {
            let mut result = self.b.ins().iconst(types::I64, 0);
            for _ in 0..3 {
                let v = match self.random.below(4) {
                    0 => {
                        let v = self.number(4);
                        self.b.ins().bswap(v)
                    }
                    1 => {
                        let v = self.condition(3);
                        self.b.ins().uextend(types::I64, v)
                    }
                    2 => self.folded(),
                    _ => {
                        let ty = [types::I16, types::I32][self.random.below(2) as usize];
                        let v = if self.random.below(2) == 0 { self.folded() } else { self.number(4) };
                        let v = self.b.ins().ireduce(ty, v);
                        let v = self.b.ins().bswap(v);
                        self.b.ins().uextend(types::I64, v)
                    }
                };
                result = self.b.ins().imul_imm_s(result, 0x1000_0000_01b3);
                result = self.b.ins().bxor(result, v);
            }
            result
        }
    }

    fn swaps(function: &Function) -> usize {
        let insts = function.layout.blocks().flat_map(|b| function.layout.block_insts(b));
        insts.filter(|inst| function.dfg.insts[*inst].opcode() == Opcode::Bswap).count()
    }

    #[test]
    fn results_are_the_same_with_fewer_swaps() {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let (mut before, mut after) = (0, 0);
        for seed in 0..400 {
            let mut random = Random(seed);
            let mut plain = Function::with_name_signature(UserFuncName::user(0, 0), signature.clone());
            let mut frontend = FunctionBuilderContext::new();
            let mut b = FunctionBuilder::new(&mut plain, &mut frontend);
            let entry = b.create_block();
            b.append_block_params_for_function_params(entry);
            b.switch_to_block(entry);
            let args = b.block_params(entry).to_vec();
            // Values defined in the entry block are batch invariants.
            let once = b.ins().iadd(args[1], args[2]);
            let block = b.create_block();
            b.ins().jump(block, &[]);
            b.switch_to_block(block);
            b.seal_all_blocks();
            let small = args[2];
            let mut maker = Maker { b, random: &mut random, args: vec![args[0], once, args[2]] };
            let result = maker.result();
            let Maker { mut b, .. } = maker;
            b.ins().return_(&[result]);
            b.finalize(isa.frontend_config());
            let mut turned = plain.clone();
            run(&mut turned, &HashMap::from([(small, SMALL)]));
            crate::clif::dead_code::run(&mut plain);
            crate::clif::dead_code::run(&mut turned);
            before += swaps(&plain);
            after += swaps(&turned);
            let texts = [&plain, &turned].map(|f| f.display().to_string());
            let [plain, turned] = [plain, turned].map(|function| {
                let mut context = Context::for_function(function);
                let compiled = context.compile(&*isa, &mut ControlPlane::default()).expect("valid code");
                Code::new(compiled.code_buffer()).expect("memory")
            });
            for _ in 0..20 {
                let memory: [u64; 4] = std::array::from_fn(|_| random.word());
                let (first, second) = (random.word(), random.word() & SMALL);
                let [a, b] = [&plain, &turned].map(|code| {
                    // SAFETY: the code takes three words, of which the first is the address of 24 readable bytes, and
                    // returns one.
                    unsafe { code.entry()(memory.as_ptr().cast(), first as *mut _, second as usize) as u64 }
                });
                assert_eq!(a, b, "seed {seed}, {memory:x?}, {first:x}, {second:x}\n{}\n{}", texts[0], texts[1]);
            }
        }
        assert!(after * 3 < before * 2, "{before} swaps became {after}");
    }
}
