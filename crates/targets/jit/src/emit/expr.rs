//! Expressions to SSA values.
//!
//! A value of W bits is represented by ⌈W/64⌉ I64 limbs, least significant first, with the bits beyond W zero, also for
//! `int`. A `bool` in a variable or a condition is an I8 of 0 or 1. Operators whose low result bits depend only on low
//! operand bits are computed with unknown high bits, which are masked once at the end ([`Emitter::low`]).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::{BinaryOp, Expr, ExprKind, HeaderId, SlotId, Type, UnaryOp};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::layout::limbs;

type Result<T> = std::result::Result<T, Unsupported>;

fn signed(ty: Type) -> bool {
    matches!(ty, Type::Int(_))
}

/// The amount of a shift.
pub(crate) enum ShiftBy {
    Constant(u32),
    /// Its limbs.
    Value(Vec<Value>),
}

impl Emitter<'_> {
    pub(crate) fn constant(&mut self, value: &BigUint, width: u32) -> Vec<Value> {
        let digits = value.to_u64_digits();
        (0..limbs(width)).map(|i| self.c64(digits.get(i).copied().unwrap_or(0))).collect()
    }

    /// The value's limbs.
    pub(crate) fn value(&mut self, e: &Expr) -> Result<Vec<Value>> {
        let width = e.ty.width();
        match e.ty {
            Type::Bool => {
                let bit = self.cond(e)?;
                return Ok(vec![self.b.ins().uextend(types::I64, bit)]);
            }
            Type::Varbit(_) => return Err(Unsupported::new(e.span, "a varbit in an expression")),
            _ => {}
        }
        if let Some(known) = self.known(e) {
            return Ok(vec![self.c64(known)]);
        }
        Ok(match &e.kind {
            ExprKind::Const(v) => self.constant(v, width),
            ExprKind::Slot(slot) => self.read(*slot),
            ExprKind::Param(i) => self.param(*i, e.span)?,
            ExprKind::PacketLength => vec![self.packet_length()],
            ExprKind::Mux(cond, a, b) => {
                if let Some(known) = self.known(cond) {
                    return self.value(if known != 0 { a } else { b });
                }
                let c = self.cond(cond)?;
                let (a, b) = (self.value(a)?, self.value(b)?);
                a.iter().zip(&b).map(|(&x, &y)| self.b.ins().select(c, x, y)).collect()
            }
            ExprKind::Slice { arg, hi, lo } => {
                let v = self.value(arg)?;
                let v = self.wide_shr(&v, *lo, limbs(width), None);
                if *hi + 1 == arg.ty.width() { v } else { self.trim(v, width) }
            }
            ExprKind::Cast(a) => {
                let from = a.ty.width();
                if width < from && width <= 64 && from <= 64 {
                    let v = self.low(a)?;
                    vec![self.mask(v, width)]
                } else if width == from {
                    self.value(a)?
                } else {
                    let v = self.value(a)?;
                    self.resize(v, from, width, signed(a.ty))
                }
            }
            ExprKind::Unary(UnaryOp::Not, _) => unreachable_bool(e)?,
            ExprKind::Unary(..) if width <= 64 => {
                let v = self.low(e)?;
                vec![self.mask(v, width)]
            }
            ExprKind::Unary(op, a) => {
                let v = self.value(a)?;
                let v = if *op == UnaryOp::Neg {
                    let zero = vec![self.c64(0); v.len()];
                    self.wide_sub(&zero, &v)
                } else {
                    v.iter().map(|&x| self.b.ins().bnot(x)).collect()
                };
                self.trim(v, width)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e)?,
        })
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, e: &Expr) -> Result<Vec<Value>> {
        let width = e.ty.width();
        if op == BinaryOp::Or
            && let Some((slot, by)) = rotation(a, b, width)
        {
            let ty = if width == 64 { types::I64 } else { types::I32 };
            let v = self.read(slot)[0];
            let v = if width == 64 { v } else { self.b.ins().ireduce(ty, v) };
            let by = self.b.ins().iconst(ty, by as i64);
            let v = self.b.ins().rotl(v, by);
            return Ok(vec![if width == 64 { v } else { self.b.ins().uextend(types::I64, v) }]);
        }
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if width <= 64 => {
                let v = self.low(e)?;
                Ok(vec![self.mask(v, width)])
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                let v = match op {
                    BinaryOp::Add => self.wide_add(&x, &y),
                    BinaryOp::Sub => self.wide_sub(&x, &y),
                    _ => self.wide_mul(&x, &y),
                };
                Ok(self.trim(v, width))
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                let ins = |g: &mut Self, x, y| match op {
                    BinaryOp::And => g.b.ins().band(x, y),
                    BinaryOp::Or => g.b.ins().bor(x, y),
                    _ => g.b.ins().bxor(x, y),
                };
                Ok(x.into_iter().zip(y).map(|(x, y)| ins(self, x, y)).collect())
            }
            BinaryOp::Div | BinaryOp::Mod => self.divide(op, a, b, width),
            BinaryOp::SatAdd | BinaryOp::SatSub => self.saturate(op, a, b),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op == BinaryOp::Shl, a, b, e.ty),
            BinaryOp::Concat => {
                let mut parts = Vec::new();
                concatenated(a, &mut parts);
                concatenated(b, &mut parts);
                self.join(&parts)
            }
            _ => unreachable_bool(e),
        }
    }

    /// Concatenates values, the first highest.
    pub(crate) fn join<'e>(&mut self, parts: impl IntoIterator<Item = &'e &'e Expr>) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        let mut width = 0;
        let parts: Vec<&Expr> = parts.into_iter().copied().collect();
        let mut rest = parts.as_slice();
        while let Some((part, others)) = rest.split_first() {
            if let Some((header, offset, w, count)) = self.side_by_side(rest.iter().copied()) {
                width += w;
                values.push((width, w, self.bits_of_header(header, offset, w)));
                rest = &rest[count..];
                continue;
            }
            rest = others;
            let w = part.ty.width();
            width += w;
            // Zero bits need no operation.
            if w > 0 && !part.as_const().is_some_and(Zero::is_zero) {
                values.push((width, w, self.value(part)?));
            }
        }
        let mut out: Vec<Option<Value>> = vec![None; limbs(width)];
        for (end, w, v) in values {
            let at = width - end;
            let (first, shift) = ((at / 64) as usize, at % 64);
            let shifted = self.wide_shl(&v, shift, limbs(w + shift));
            for (o, v) in out[first..].iter_mut().zip(shifted) {
                *o = Some(match *o {
                    Some(old) => self.b.ins().bor(old, v),
                    None => v,
                });
            }
        }
        let zero = self.c64(0);
        Ok(out.into_iter().map(|v| v.unwrap_or(zero)).collect())
    }

    /// The leading values of a list, if they are adjacent fields of a header: the header, the first bit, the width, and
    /// the number of values.
    pub(crate) fn side_by_side<'e>(
        &self,
        mut list: impl Iterator<Item = &'e Expr>,
    ) -> Option<(HeaderId, u32, u32, usize)> {
        let in_bytes = |e: &Expr| match e.kind {
            ExprKind::Slot(slot) => self.field_of(slot),
            _ => None,
        };
        let (header, first) = in_bytes(list.next()?)?;
        let more = list.enumerate().take_while(|(i, e)| in_bytes(e) == Some((header, first + 1 + i))).count();
        if more == 0 || self.p[header].varbit.is_some() || !self.layout.header(header).has_base() {
            return None;
        }
        let fields = &self.p[header].fields[first..=first + more];
        Some((header, fields[0].offset_bits, fields.iter().map(|f| f.width).sum(), 1 + more))
    }

    fn divide(&mut self, op: BinaryOp, a: &Expr, b: &Expr, width: u32) -> Result<Vec<Value>> {
        let (x, y) = (self.value(a)?, self.value(b)?);
        Ok(self.divided(op == BinaryOp::Mod, &x, &y, b.as_const().map(|c| !c.is_zero()), width))
    }

    /// Quotient or remainder; a division by zero gives zero. `known`: whether the divisor is not zero.
    pub(crate) fn divided(
        &mut self,
        remainder: bool,
        x: &[Value],
        y: &[Value],
        known: Option<bool>,
        width: u32,
    ) -> Vec<Value> {
        if width > 64 {
            return self.wide_div(x, y, remainder);
        }
        if known == Some(false) {
            return vec![self.c64(0)];
        }
        let divisor = if known == Some(true) {
            y[0]
        } else {
            let one = self.c64(1);
            self.b.ins().umax(y[0], one)
        };
        // The remainder of the division by the stand-in 1 is zero.
        if remainder {
            return vec![self.b.ins().urem(x[0], divisor)];
        }
        let q = self.b.ins().udiv(x[0], divisor);
        if known == Some(true) {
            return vec![q];
        }
        let zero = self.c64(0);
        vec![self.b.ins().select(y[0], q, zero)]
    }

    fn saturate(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Result<Vec<Value>> {
        let (x, y) = (self.value(a)?, self.value(b)?);
        Ok(self.saturated(op == BinaryOp::SatAdd, x, y, a.ty))
    }

    /// A saturating sum or difference.
    pub(crate) fn saturated(&mut self, add: bool, x: Vec<Value>, y: Vec<Value>, ty: Type) -> Vec<Value> {
        let (width, is_signed) = (ty.width(), signed(ty));
        if width == 0 {
            return x;
        }
        // One more bit than the operands shows whether the result fits.
        let more = width + 1;
        let x = self.resize(x, width, more, is_signed);
        let y = self.resize(y, width, more, is_signed);
        let v = if add { self.wide_add(&x, &y) } else { self.wide_sub(&x, &y) };
        let v = self.trim(v, more);
        let bit = |g: &mut Self, at: u32| {
            let shifted = g.b.ins().ushr_imm_u(v[at as usize / 64], i64::from(at % 64));
            g.b.ins().band_imm_u(shifted, 1)
        };
        let beyond = bit(self, width);
        let ones = (BigUint::from(1u32) << width) - 1u32;
        let (over, limit) = if is_signed {
            let sign = bit(self, width - 1);
            let over = self.b.ins().bxor(beyond, sign);
            let lowest = self.constant(&(BigUint::from(1u32) << (width - 1)), width);
            let highest = self.constant(&(ones >> 1), width);
            let limit: Vec<Value> =
                lowest.iter().zip(&highest).map(|(&l, &h)| self.b.ins().select(beyond, l, h)).collect();
            (over, limit)
        } else if add {
            (beyond, self.constant(&ones, width))
        } else {
            (beyond, self.constant(&BigUint::ZERO, width))
        };
        let v = self.trim(v.clone(), width);
        v.iter().zip(&limit).map(|(&v, &l)| self.b.ins().select(over, l, v)).collect()
    }

    fn shift(&mut self, left: bool, a: &Expr, b: &Expr, ty: Type) -> Result<Vec<Value>> {
        let v = self.value(a)?;
        let by = match b.as_const() {
            Some(by) => ShiftBy::Constant(by.to_u32().unwrap_or(u32::MAX)),
            None => ShiftBy::Value(self.value(b)?),
        };
        Ok(self.shifted(left, v, by, ty))
    }

    /// A value of a type, shifted.
    pub(crate) fn shifted(&mut self, left: bool, mut v: Vec<Value>, by: ShiftBy, ty: Type) -> Vec<Value> {
        let width = ty.width();
        let n = limbs(width);
        let is_signed = signed(ty);
        if is_signed && !left {
            let top = n - 1;
            v[top] = self.sign_extend(v[top], width - 64 * top as u32);
        }
        let fill = if is_signed && !left { Some(self.b.ins().sshr_imm_u(v[n - 1], 63)) } else { None };
        let amounts = match by {
            ShiftBy::Constant(by) => {
                let by = by.min(width);
                let v = match (left, fill, n) {
                    (true, ..) => self.wide_shl(&v, by, n),
                    (false, Some(_), 1) => vec![self.b.ins().sshr_imm_u(v[0], i64::from(by.min(63)))],
                    (false, ..) => self.wide_shr(&v, by, n, fill),
                };
                return self.trim(v, width);
            }
            ShiftBy::Value(amounts) => amounts,
        };
        let mut by = amounts[0];
        let most = self.c64(64 * n as u64);
        by = self.b.ins().umin(by, most);
        for &high in &amounts[1..] {
            by = self.b.ins().select(high, most, by);
        }
        if n > 1 {
            let fill = match fill {
                Some(f) => f,
                None => self.c64(0),
            };
            let v = self.wide_shift_by(&v, by, left, fill);
            return self.trim(v, width);
        }
        if fill.is_some() {
            let last = self.c64(63);
            let by = self.b.ins().umin(by, last);
            let v = self.b.ins().sshr(v[0], by);
            return vec![self.mask(v, width)];
        }
        let shifted = if left { self.b.ins().ishl(v[0], by) } else { self.b.ins().ushr(v[0], by) };
        let zero = self.c64(0);
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, by, 64);
        let v = self.b.ins().select(fits, shifted, zero);
        vec![if left { self.mask(v, width) } else { v }]
    }

    /// A value of at most 64 bits, whose limb may have arbitrary bits beyond its width.
    pub(crate) fn low(&mut self, e: &Expr) -> Result<Value> {
        let width = e.ty.width();
        debug_assert!(width <= 64);
        match &e.kind {
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let v = self.low(a)?;
                Ok(self.b.ins().ineg(v))
            }
            ExprKind::Unary(UnaryOp::BitNot, a) => {
                let v = self.low(a)?;
                Ok(self.b.ins().bnot(v))
            }
            ExprKind::Binary(BinaryOp::Or, a, b) if rotation(a, b, width).is_some() => {
                Ok(self.binary(BinaryOp::Or, a, b, e)?[0])
            }
            ExprKind::Binary(
                op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor),
                a,
                b,
            ) if e.ty != Type::Bool => {
                let (x, y) = (self.low(a)?, self.low(b)?);
                Ok(match op {
                    BinaryOp::Add => self.b.ins().iadd(x, y),
                    BinaryOp::Sub => self.b.ins().isub(x, y),
                    BinaryOp::Mul => self.b.ins().imul(x, y),
                    BinaryOp::And => self.b.ins().band(x, y),
                    BinaryOp::Or => self.b.ins().bor(x, y),
                    _ => self.b.ins().bxor(x, y),
                })
            }
            ExprKind::Cast(a) if a.ty != Type::Bool && a.ty.width() >= width && a.ty.width() <= 64 => self.low(a),
            ExprKind::Slice { arg, lo: 0, .. } if arg.ty.width() <= 64 => self.low(arg),
            _ => Ok(self.value(e)?[0]),
        }
    }

    /// A `bool` as I8.
    pub(crate) fn cond(&mut self, e: &Expr) -> Result<Value> {
        if let Some(known) = self.known(e) {
            return Ok(self.b.ins().iconst(types::I8, known as i64));
        }
        match &e.kind {
            ExprKind::Const(v) => Ok(self.b.ins().iconst(types::I8, i64::from(!v.is_zero()))),
            ExprKind::Slot(slot) => Ok(self.read_bool(*slot)),
            ExprKind::Unary(_, a) => {
                let v = self.cond(a)?;
                Ok(self.b.ins().bxor_imm_u(v, 1))
            }
            ExprKind::Cast(a) if a.ty == Type::Bool => self.cond(a),
            ExprKind::Cast(a) => {
                let v = self.value(a)?;
                Ok(self.b.ins().ireduce(types::I8, v[0]))
            }
            ExprKind::Mux(c, a, b) => {
                let c = self.cond(c)?;
                let (a, b) = (self.cond(a)?, self.cond(b)?);
                Ok(self.b.ins().select(c, a, b))
            }
            ExprKind::Param(i) => {
                let v = self.param(*i, e.span)?;
                Ok(self.b.ins().ireduce(types::I8, v[0]))
            }
            ExprKind::Binary(op, a, b) => self.compare(*op, a, b, e),
            ExprKind::Slice { .. } | ExprKind::PacketLength => {
                Err(Unsupported::new(e.span, "a number where a truth value is expected"))
            }
        }
    }

    fn compare(&mut self, op: BinaryOp, a: &Expr, b: &Expr, e: &Expr) -> Result<Value> {
        match op {
            BinaryOp::And | BinaryOp::LogicalAnd => {
                let (x, y) = (self.cond(a)?, self.cond(b)?);
                return Ok(self.b.ins().band(x, y));
            }
            BinaryOp::Or | BinaryOp::LogicalOr => {
                let (x, y) = (self.cond(a)?, self.cond(b)?);
                return Ok(self.b.ins().bor(x, y));
            }
            BinaryOp::Xor => {
                let (x, y) = (self.cond(a)?, self.cond(b)?);
                return Ok(self.b.ins().bxor(x, y));
            }
            _ => {}
        }
        if a.ty == Type::Bool {
            let (x, y) = (self.cond(a)?, self.cond(b)?);
            let cc = match op {
                BinaryOp::Eq => IntCC::Equal,
                BinaryOp::Ne => IntCC::NotEqual,
                _ => return Err(Unsupported::new(e.span, "this operator on truth values")),
            };
            return Ok(self.b.ins().icmp(cc, x, y));
        }
        if let Type::Varbit(_) = a.ty {
            return self.compare_varbits(op, a, b);
        }
        if matches!(op, BinaryOp::Eq | BinaryOp::Ne)
            && let Some((x, y)) = self.as_in_memory(a, b)
        {
            let cc = if op == BinaryOp::Eq { IntCC::Equal } else { IntCC::NotEqual };
            return Ok(self.b.ins().icmp(cc, x, y));
        }
        let (x, y) = (self.value(a)?, self.value(b)?);
        self.compared(op, x, y, a.ty).ok_or_else(|| Unsupported::new(e.span, "this operator as a condition"))
    }

    /// The outcome of a comparison of numbers of a type.
    pub(crate) fn compared(&mut self, op: BinaryOp, mut x: Vec<Value>, mut y: Vec<Value>, ty: Type) -> Option<Value> {
        let (width, is_signed) = (ty.width(), signed(ty));
        if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            if x.len() == 1 {
                let cc = if op == BinaryOp::Eq { IntCC::Equal } else { IntCC::NotEqual };
                return Some(self.b.ins().icmp(cc, x[0], y[0]));
            }
            let same = self.wide_eq(&x, &y);
            return Some(if op == BinaryOp::Eq { same } else { self.b.ins().bxor_imm_u(same, 1) });
        }
        if is_signed {
            let top = x.len() - 1;
            let bits = width - 64 * top as u32;
            x[top] = self.sign_extend(x[top], bits);
            y[top] = self.sign_extend(y[top], bits);
        }
        if x.len() == 1 {
            let cc = match (op, is_signed) {
                (BinaryOp::Lt, false) => IntCC::UnsignedLessThan,
                (BinaryOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
                (BinaryOp::Gt, false) => IntCC::UnsignedGreaterThan,
                (BinaryOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
                (BinaryOp::Lt, true) => IntCC::SignedLessThan,
                (BinaryOp::Le, true) => IntCC::SignedLessThanOrEqual,
                (BinaryOp::Gt, true) => IntCC::SignedGreaterThan,
                (BinaryOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
                _ => return None,
            };
            return Some(self.b.ins().icmp(cc, x[0], y[0]));
        }
        match op {
            BinaryOp::Lt => Some(self.wide_less(&x, &y, is_signed)),
            BinaryOp::Gt => Some(self.wide_less(&y, &x, is_signed)),
            BinaryOp::Ge => {
                let less = self.wide_less(&x, &y, is_signed);
                Some(self.b.ins().bxor_imm_u(less, 1))
            }
            BinaryOp::Le => {
                let greater = self.wide_less(&y, &x, is_signed);
                Some(self.b.ins().bxor_imm_u(greater, 1))
            }
            _ => None,
        }
    }

    /// Two values to compare in packet byte order, if that is cheaper: a field and a constant, or two fields.
    pub(crate) fn as_in_memory(&mut self, a: &Expr, b: &Expr) -> Option<(Value, Value)> {
        let field = |g: &Self, e: &Expr| match e.kind {
            ExprKind::Slot(slot) => g.whole_bytes(slot),
            _ => None,
        };
        if let (Some(_), Some(_)) = (field(self, a), field(self, b)) {
            let (x, y) = (self.unswapped(a)?, self.unswapped(b)?);
            return Some((x, y));
        }
        let (e, c) = if field(self, a).is_some() { (a, b.as_const()?) } else { (b, a.as_const()?) };
        let c = c.to_u64()?;
        let x = self.unswapped(e)?;
        let ty = self.b.func.dfg.value_type(x);
        let swapped = c.swap_bytes() >> (64 - ty.bits());
        let y = self.b.ins().iconst(ty, swapped as i64);
        Some((x, y))
    }

    fn unswapped(&mut self, e: &Expr) -> Option<Value> {
        let ExprKind::Slot(slot) = e.kind else { return None };
        let (header, offset, bytes) = self.whole_bytes(slot)?;
        Some(self.raw_bytes(header, offset, bytes))
    }

    fn compare_varbits(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Result<Value> {
        let (pa, la) = self.varbit(a)?;
        let (pb, lb) = self.varbit(b)?;
        let same = self.libcall(crate::code::libcalls::Libcall::SameBytes, &[pa, la, pb, lb], true).unwrap_or(pa);
        let cc = if op == BinaryOp::Eq { IntCC::NotEqual } else { IntCC::Equal };
        Ok(self.b.ins().icmp_imm_u(cc, same, 0))
    }
}

/// The slot and amount of a left rotation, if the two expressions are its parts.
fn rotation(a: &Expr, b: &Expr, width: u32) -> Option<(SlotId, u64)> {
    let part = |e: &Expr| match &e.kind {
        ExprKind::Binary(op @ (BinaryOp::Shl | BinaryOp::Shr), a, by) => match a.kind {
            ExprKind::Slot(slot) => Some((*op, slot, by.as_const()?.to_u64()?)),
            _ => None,
        },
        _ => None,
    };
    let (up, slot, by) = part(a)?;
    let (down, other, rest) = part(b)?;
    let plain = matches!(a.ty, Type::Bits(32 | 64)) && up == BinaryOp::Shl && down == BinaryOp::Shr;
    (plain && slot == other && rest < 64 && by + rest == u64::from(width)).then_some((slot, by))
}

/// A boolean operator where a number is expected. Unreachable: the verifier rejects it.
fn unreachable_bool(e: &Expr) -> Result<Vec<Value>> {
    Err(Unsupported::new(e.span, "a truth value where a number is expected"))
}

/// The operands of nested concatenations, the highest first.
fn concatenated<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::Binary(BinaryOp::Concat, a, b) => {
            concatenated(a, out);
            concatenated(b, out);
        }
        _ => out.push(e),
    }
}
