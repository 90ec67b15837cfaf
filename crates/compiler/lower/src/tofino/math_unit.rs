//! `MathUnit`: a function of a number by a table, with the precision of the device.
//!
//! The number is written as *m* / 8 * 2^*e* with *m* from 8 to 15; bits behind these four are cut off. The result is the table's value for *m*, times
//! 2^(*e* * 2^`shift` + `scale`), or with the exponent of *e* negated. For a `shift` of -1, *e* is made even: *m* is from 4 to 15. What does not fit
//! the result is cut off. A number of zero has the table's first value.
//!
//! A unit for an operation of `MathOp_t` has the table and scale that p4c's Tofino backend computes: the largest scale for which the table's
//! values are below 256.

use hopwright_ir::{BinaryOp, Expr, ExprKind, Type};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::{BigInt, BigUint};
use num_traits::{One, ToPrimitive};

use crate::externs::Arguments;
use crate::value::{Value, binary, compare, mux};
use crate::{Lowering, Reported, Result};

/// The widest operand.
const MAX_WIDTH: u32 = 32;

/// What a unit computes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unit {
    invert: bool,
    shift: i32,
    scale: i32,
    table: [u8; 16],
}

impl Unit {
    /// `factor` times an operation.
    fn of(operation: &str, factor: f64) -> Option<Unit> {
        let (invert, shift) = match operation {
            "MUL" => (false, 0),
            "SQR" => (false, 1),
            "SQRT" => (false, -1),
            "DIV" => (true, 0),
            "RSQR" => (true, 1),
            "RSQRT" => (true, -1),
            _ => return None,
        };
        let value = |m: u32| {
            let x = f64::from(m) / 8.0;
            let power = match shift {
                0 => x,
                1 => x * x,
                _ => x.sqrt(),
            };
            factor * if invert { 1.0 / power } else { power }
        };
        let first = if shift < 0 { 4 } else { 8 };
        let most = (first..16).map(value).fold(0.0, f64::max);
        if most <= 0.0 {
            return Some(Unit { invert, shift, scale: 0, table: [0; 16] });
        }
        let scale = (most.log2().floor() as i32 - 7).clamp(-32, 31);
        let mut table = [0; 16];
        for m in first..16 {
            table[m as usize] = (value(m) * 2f64.powi(-scale)).round_ties_even().clamp(0.0, 255.0) as u8;
        }
        Some(Unit { invert, shift, scale, table })
    }

    /// The power of two for numbers whose highest one is at this bit.
    fn exponent(&self, bit: u32) -> i32 {
        let bit = bit as i32;
        let by = match self.shift {
            0 => bit,
            1 => 2 * bit,
            _ => (bit + 1) / 2,
        };
        self.scale + if self.invert { -by } else { by }
    }
}

impl Lowering<'_> {
    pub(super) fn math_unit(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let unit = self.unit_of(object)?;
        let args = Arguments::new(self, call)?;
        let x = self.scalar(args.at(0)?)?;
        let ty = x.ty;
        let width = ty.width();
        if !matches!(ty, Type::Bits(1..=MAX_WIDTH)) {
            let what = format!("a math unit for numbers that are not `bit<1>` to `bit<{MAX_WIDTH}>`");
            return Err(self.unsupported(span, what));
        }
        let x = self.freeze(x);
        // By the place of the highest one.
        let from = |bit: u32| {
            let least = Expr::constant(BigUint::one() << bit, ty, span);
            binary(BinaryOp::Ge, x.clone(), least, Type::Bool, span)
        };
        let nibble = Type::Bits(4);
        let mut mantissa = Expr::constant(0u32, nibble, span);
        for bit in 0..width {
            mantissa = mux(from(bit), leading(&x, bit, unit.shift < 0, span), mantissa, span);
        }
        let mantissa = self.freeze(mantissa);
        let mut value = Expr::constant(unit.table[0], Type::Bits(8), span);
        for (m, entry) in (0u32..).zip(unit.table).skip(1) {
            let is = compare(mantissa.clone(), Expr::constant(m, nibble, span), span);
            value = mux(is, Expr::constant(entry, Type::Bits(8), span), value, span);
        }
        // Wide enough for every bit that is kept.
        let wide = Type::Bits(width + 8);
        let value = self.cast(value, wide, span)?;
        let value = self.freeze(value);
        let mut result = scaled(&value, unit.scale, span);
        for bit in 0..width {
            result = mux(from(bit), scaled(&value, unit.exponent(bit), span), result, span);
        }
        let result = self.cast(result, ty, span)?;
        Ok(Some(Value::Scalar(self.freeze(result))))
    }

    fn unit_of(&mut self, object: hir::ObjectId) -> Result<Unit> {
        let unit = &self.program[object];
        let number = |e: &hir::Expr| match &e.kind {
            hir::ExprKind::Int(n) => Some(n.clone()),
            _ => None,
        };
        let small = |e: &hir::Expr| number(e).and_then(|n| n.to_i32());
        let known = match unit.args.as_slice() {
            [invert, shift, scale, data] => {
                let hir::ExprKind::Aggregate { members, .. } = &data.kind else { return Err(Reported) };
                let mut table = [0; 16];
                for (to, member) in table.iter_mut().rev().zip(members) {
                    *to = number(member).and_then(|n: BigInt| n.to_u8()).unwrap_or_default();
                }
                let invert = matches!(invert.kind, hir::ExprKind::Bool(true));
                small(shift).zip(small(scale)).map(|(shift, scale)| Unit { invert, shift, scale, table })
            }
            [operation, factors @ ..] => {
                let mut factors = factors.iter().map(|e| number(e).and_then(|n| n.to_f64()));
                let factor = factors.next().flatten();
                let divisor = factors.next().unwrap_or(Some(1.0)).filter(|d| *d > 0.0);
                let factor = factor.zip(divisor).map(|(a, b)| a / b).filter(|factor| *factor >= 0.0);
                self.member_name(operation).zip(factor).and_then(|(name, factor)| Unit::of(name, factor))
            }
            [] => None,
        };
        match known.filter(|unit| (-1..=1).contains(&unit.shift)) {
            Some(unit) => Ok(unit),
            None => Err(self.unsupported(unit.span, "this math unit")),
        }
    }
}

/// Four bits of a number from its highest one on; of those with an even exponent, if that is wanted.
fn leading(x: &Expr, bit: u32, even: bool, span: Span) -> Expr {
    let half = u32::from(even && bit % 2 == 1);
    let bits = (bit + 1).min(4 - half);
    let kind = ExprKind::Slice { arg: Box::new(x.clone()), hi: bit, lo: bit + 1 - bits };
    let mut whole = Expr { kind, ty: Type::Bits(bits), span };
    let below = 4 - half - bits;
    if below > 0 {
        let zeros = Expr::constant(0u32, Type::Bits(below), span);
        whole = binary(BinaryOp::Concat, whole, zeros, Type::Bits(bits + below), span);
    }
    if half > 0 {
        whole = binary(BinaryOp::Concat, Expr::constant(0u32, Type::Bits(1), span), whole, Type::Bits(4), span);
    }
    whole
}

/// A number times a power of two.
fn scaled(value: &Expr, exponent: i32, span: Span) -> Expr {
    let (op, by) = if exponent < 0 { (BinaryOp::Shr, -exponent) } else { (BinaryOp::Shl, exponent) };
    let by = by.unsigned_abs();
    match by {
        0 => value.clone(),
        by if by >= value.ty.width() => Expr::constant(0u32, value.ty, span),
        by => binary(op, value.clone(), Expr::constant(by, value.ty, span), value.ty, span),
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    /// The tables that p4c's tests `math_unit1` and `math_unit2` have for the same function.
    #[test]
    fn a_square_has_the_table_that_is_written_out_elsewhere() {
        let table = [0, 0, 0, 0, 0, 0, 0, 0, 64, 81, 100, 121, 144, 169, 196, 225];
        assert_eq!(Unit::of("SQR", 1.0), Some(Unit { invert: false, shift: 1, scale: -6, table }));
        assert_eq!(Unit::of("CUBE", 1.0), None);
    }
}
