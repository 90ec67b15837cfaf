//! Arithmetic on values of several 64-bit limbs, least significant first. Functions take and return as many limbs as
//! the width needs. Unless stated otherwise, results may have bits beyond the width in the top limb, which
//! [`Emitter::trim`] clears.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Opcode, Value, ValueDef, types};

use crate::code::libcalls::Libcall;
use crate::emit::Emitter;
use crate::emit::layout::limbs;

/// The maximum depth of sums that are examined.
const MASKS: u32 = 4;

impl Emitter<'_> {
    pub(crate) fn c64(&mut self, value: u64) -> Value {
        self.b.ins().iconst(types::I64, value as i64)
    }

    /// The lowest `bits` of a limb (1 to 64).
    pub(crate) fn mask(&mut self, v: Value, bits: u32) -> Value {
        match bits {
            64.. => v,
            1.. if self.bound(v) >> bits == 0 => v,
            1.. if let Some(v) = self.without_masks(v, bits, MASKS) => self.mask(v, bits),
            8 | 16 | 32 => {
                let narrow = match bits {
                    8 => types::I8,
                    16 => types::I16,
                    _ => types::I32,
                };
                let low = self.b.ins().ireduce(narrow, v);
                self.b.ins().uextend(types::I64, low)
            }
            0 => self.c64(0),
            _ => self.b.ins().band_imm_u(v, ((1u64 << bits) - 1) as i64),
        }
    }

    /// Returns a sum with the same lowest bits, but without intermediate masks.
    fn without_masks(&mut self, v: Value, bits: u32, depth: u32) -> Option<Value> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(v)) else { return None };
        let op = dfg.insts[inst].opcode();
        let all = u64::MAX >> (64 - bits);
        match (op, dfg.inst_args(inst)) {
            (Opcode::Band, &[a, b]) => (self.unsigned_constant(b)? & all == all).then_some(a),
            (Opcode::Uextend, &[narrow]) if dfg.value_type(narrow).bits() >= bits => {
                let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(narrow)) else { return None };
                let cut = dfg.insts[inst].opcode() == Opcode::Ireduce;
                Some(dfg.inst_args(inst)[0]).filter(|v| cut && dfg.value_type(*v) == types::I64)
            }
            (Opcode::Iadd | Opcode::Isub, &[a, b]) if depth > 0 => {
                let without = [a, b].map(|v| self.without_masks(v, bits, depth - 1));
                if without == [None; 2] {
                    return None;
                }
                let (a, b) = (without[0].unwrap_or(a), without[1].unwrap_or(b));
                Some(if op == Opcode::Iadd { self.b.ins().iadd(a, b) } else { self.b.ins().isub(a, b) })
            }
            _ => None,
        }
    }

    /// Sign-extends the lowest `bits` of a limb to all of it.
    pub(crate) fn sign_extend(&mut self, v: Value, bits: u32) -> Value {
        match bits {
            64.. => v,
            0 => self.c64(0),
            8 | 16 | 32 => {
                let narrow = match bits {
                    8 => types::I8,
                    16 => types::I16,
                    _ => types::I32,
                };
                let low = self.b.ins().ireduce(narrow, v);
                self.b.ins().sextend(types::I64, low)
            }
            _ => {
                let by = i64::from(64 - bits);
                let up = self.b.ins().ishl_imm_u(v, by);
                self.b.ins().sshr_imm_u(up, by)
            }
        }
    }

    /// Clears the bits beyond the width.
    pub(crate) fn trim(&mut self, mut v: Vec<Value>, width: u32) -> Vec<Value> {
        v.truncate(limbs(width));
        let top = v.len() - 1;
        let bits = width - 64 * top as u32;
        v[top] = self.mask(v[top], bits);
        v
    }

    /// Converts to another width: sign- or zero-extends, or truncates.
    pub(crate) fn resize(&mut self, mut v: Vec<Value>, from: u32, to: u32, signed: bool) -> Vec<Value> {
        if to <= from {
            return self.trim(v, to);
        }
        if !signed {
            let zero = self.c64(0);
            v.resize(limbs(to), zero);
            return v;
        }
        let top = v.len() - 1;
        v[top] = self.sign_extend(v[top], from - 64 * top as u32);
        if limbs(to) > v.len() {
            let fill = self.b.ins().sshr_imm_u(v[top], 63);
            v.resize(limbs(to), fill);
        }
        self.trim(v, to)
    }

    fn flag(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        let bit = self.b.ins().icmp(cc, a, b);
        self.b.ins().uextend(types::I64, bit)
    }

    pub(crate) fn wide_add(&mut self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let mut out = Vec::with_capacity(a.len());
        let mut carry: Option<Value> = None;
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            let last = i + 1 == a.len();
            let mut sum = self.b.ins().iadd(x, y);
            let mut next = (!last).then(|| self.flag(IntCC::UnsignedLessThan, sum, x));
            if let Some(c) = carry {
                let with = self.b.ins().iadd(sum, c);
                if let Some(n) = next {
                    let over = self.flag(IntCC::UnsignedLessThan, with, c);
                    next = Some(self.b.ins().bor(n, over));
                }
                sum = with;
            }
            carry = next;
            out.push(sum);
        }
        out
    }

    pub(crate) fn wide_sub(&mut self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let mut out = Vec::with_capacity(a.len());
        let mut borrow: Option<Value> = None;
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            let last = i + 1 == a.len();
            let mut difference = self.b.ins().isub(x, y);
            let mut next = (!last).then(|| self.flag(IntCC::UnsignedLessThan, x, y));
            if let Some(c) = borrow {
                if let Some(n) = next {
                    let under = self.flag(IntCC::UnsignedLessThan, difference, c);
                    next = Some(self.b.ins().bor(n, under));
                }
                difference = self.b.ins().isub(difference, c);
            }
            borrow = next;
            out.push(difference);
        }
        out
    }

    pub(crate) fn wide_mul(&mut self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let n = a.len();
        let zero = self.c64(0);
        let mut out = vec![zero; n];
        for i in 0..n {
            let mut carry = zero;
            for j in 0..n - i {
                let low = self.b.ins().imul(a[i], b[j]);
                let sum = self.b.ins().iadd(out[i + j], low);
                let with = self.b.ins().iadd(sum, carry);
                if i + j + 1 < n {
                    let high = self.b.ins().umulhi(a[i], b[j]);
                    let c1 = self.flag(IntCC::UnsignedLessThan, sum, low);
                    let c2 = self.flag(IntCC::UnsignedLessThan, with, carry);
                    let c = self.b.ins().iadd(c1, c2);
                    carry = self.b.ins().iadd(high, c);
                }
                out[i + j] = with;
            }
        }
        out
    }

    /// Shifts left by a constant; returns `count` limbs.
    pub(crate) fn wide_shl(&mut self, a: &[Value], by: u32, count: usize) -> Vec<Value> {
        let (words, bits) = ((by / 64) as usize, i64::from(by % 64));
        let mut out = Vec::with_capacity(count);
        for i in 0..count {
            let at = |k: usize| i.checked_sub(words + k).and_then(|i| a.get(i)).copied();
            let high = at(0).map(|v| if bits == 0 { v } else { self.b.ins().ishl_imm_u(v, bits) });
            let low = if bits == 0 { None } else { at(1) };
            let low = low.map(|v| self.b.ins().ushr_imm_u(v, 64 - bits));
            out.push(match (high, low) {
                (Some(h), Some(l)) => self.b.ins().bor(h, l),
                (Some(v), None) | (None, Some(v)) => v,
                (None, None) => self.c64(0),
            });
        }
        out
    }

    /// Shifts right by a constant, with `fill` from above; returns `count` limbs.
    pub(crate) fn wide_shr(&mut self, a: &[Value], by: u32, count: usize, fill: Option<Value>) -> Vec<Value> {
        let (words, bits) = ((by / 64) as usize, i64::from(by % 64));
        let mut out = Vec::with_capacity(count);
        for i in 0..count {
            let at = |k: usize| a.get(i + words + k).copied().or(fill);
            let low = at(0).map(|v| if bits == 0 { v } else { self.b.ins().ushr_imm_u(v, bits) });
            let high = if bits == 0 { None } else { at(1) };
            let high = high.map(|v| self.b.ins().ishl_imm_u(v, 64 - bits));
            out.push(match (high, low) {
                (Some(h), Some(l)) => self.b.ins().bor(h, l),
                (Some(v), None) | (None, Some(v)) => v,
                (None, None) => self.c64(0),
            });
        }
        out
    }

    /// Shifts right or left by a run-time amount that is at most 64 times the limbs.
    pub(crate) fn wide_shift_by(&mut self, a: &[Value], by: Value, left: bool, fill: Value) -> Vec<Value> {
        let n = a.len();
        let zero = self.c64(0);
        // Right: `a`, then n + 1 limbs of `fill`. Left: n + 1 limbs of zeros, then `a`.
        let mut words = Vec::with_capacity(2 * n + 1);
        if left {
            words.resize(n + 1, zero);
            words.extend_from_slice(a);
        } else {
            words.extend_from_slice(a);
            words.resize(2 * n + 1, fill);
        }
        let buffer = self.stack_buffer(words.len());
        for (i, &w) in words.iter().enumerate() {
            self.b.ins().store(self.flags.stack, w, buffer, 8 * i as i32);
        }
        let whole = self.b.ins().ushr_imm_u(by, 6);
        let bytes = self.b.ins().ishl_imm_u(whole, 3);
        let bits = self.b.ins().band_imm_u(by, 63);
        let rest = self.b.ins().bxor_imm_u(bits, 63);
        let base = if left { self.b.ins().isub(buffer, bytes) } else { self.b.ins().iadd(buffer, bytes) };
        let mut out = Vec::with_capacity(n);
        for i in 0..n {
            let at = 8 * if left { n + 1 + i } else { i } as i32;
            let here = self.b.ins().load(types::I64, self.flags.stack, base, at);
            let next = self.b.ins().load(types::I64, self.flags.stack, base, if left { at - 8 } else { at + 8 });
            let (here, next) = if left {
                let next = self.b.ins().ushr_imm_u(next, 1);
                (self.b.ins().ishl(here, bits), self.b.ins().ushr(next, rest))
            } else {
                let next = self.b.ins().ishl_imm_u(next, 1);
                (self.b.ins().ushr(here, bits), self.b.ins().ishl(next, rest))
            };
            out.push(self.b.ins().bor(here, next));
        }
        out
    }

    /// Whether two values are equal.
    pub(crate) fn wide_eq(&mut self, a: &[Value], b: &[Value]) -> Value {
        if let ([x], [y]) = (a, b) {
            return self.b.ins().icmp(IntCC::Equal, *x, *y);
        }
        let mut all = None;
        for (&x, &y) in a.iter().zip(b) {
            let different = self.b.ins().bxor(x, y);
            all = Some(match all {
                Some(v) => self.b.ins().bor(v, different),
                None => different,
            });
        }
        let all = all.unwrap_or_else(|| self.c64(0));
        self.b.ins().icmp_imm_u(IntCC::Equal, all, 0)
    }

    /// `a < b`; signed values must have their top limb sign-extended.
    pub(crate) fn wide_less(&mut self, a: &[Value], b: &[Value], signed: bool) -> Value {
        let mut less = None;
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            let cc = if signed && i + 1 == a.len() { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
            let here = self.b.ins().icmp(cc, x, y);
            less = Some(match less {
                None => here,
                Some(below) => {
                    let same = self.b.ins().icmp(IntCC::Equal, x, y);
                    let through = self.b.ins().band(same, below);
                    self.b.ins().bor(here, through)
                }
            });
        }
        less.unwrap_or_else(|| self.b.ins().iconst(types::I8, 0))
    }

    /// Quotient or remainder; a division by zero gives zero.
    pub(crate) fn wide_div(&mut self, a: &[Value], b: &[Value], remainder: bool) -> Vec<Value> {
        let n = a.len();
        let buffer = self.stack_buffer(3 * n);
        for (i, &v) in a.iter().chain(b).enumerate() {
            self.b.ins().store(self.flags.stack, v, buffer, 8 * i as i32);
        }
        let count = self.c64(n as u64);
        let which = self.c64(u64::from(remainder));
        self.libcall(Libcall::Divide, &[count, which, buffer], false);
        (0..n).map(|i| self.b.ins().load(types::I64, self.flags.stack, buffer, 8 * (2 * n + i) as i32)).collect()
    }
}
