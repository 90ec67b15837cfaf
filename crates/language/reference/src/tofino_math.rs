//! `MathUnit`: a function of a number by a table, with the precision of the device (`docs/tofino.md`).

use hopwright_sema::hir::{ExprKind, Object, TypedProgram};
use num_bigint::BigInt;

use crate::objects::{constant, member_name};
use crate::value::Value;

/// What a unit computes: the table's value for the first four bits of a number, times a power of two that depends on its
/// magnitude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The power of two is that of the reciprocal.
    invert: bool,
    /// The magnitude is halved (-1), taken as it is, or doubled (1).
    shift: i64,
    scale: i64,
    table: Vec<u8>,
}

impl Unit {
    /// What an object computes; `None` if it is not one of the device's functions.
    pub(crate) fn new(program: &TypedProgram, unit: &Object) -> Option<Unit> {
        let value = |at: usize| unit.args.get(at).map(|e| constant(program, e));
        let number = |at: usize| value(at).and_then(|value| i64::try_from(value.number()).ok());
        if unit.args.len() == 4 {
            let ExprKind::Aggregate { members, .. } = &unit.args[3].kind else { return None };
            // The first one is the value for 15.
            let table = members.iter().rev().map(|e| constant(program, e).small() as u8).collect();
            let invert = value(0)? == Value::Bool(true);
            return Some(Unit { invert, shift: number(1)?, scale: number(2)?, table });
        }
        let (invert, shift) = match member_name(program, unit.args.first()?)?.as_str() {
            "MUL" => (false, 0),
            "SQR" => (false, 1),
            "SQRT" => (false, -1),
            "DIV" => (true, 0),
            "RSQR" => (true, 1),
            "RSQRT" => (true, -1),
            _ => return None,
        };
        let divisor = if unit.args.len() > 2 { number(2)? } else { 1 };
        let factor = number(1)? as f64 / divisor as f64;
        let of = |m: u32| {
            let x = f64::from(m) / 8.0;
            let x = [x.sqrt(), x, x * x][(shift + 1) as usize];
            factor * if invert { x.recip() } else { x }
        };
        let first = if shift < 0 { 4 } else { 8 };
        let largest = (first..16).map(of).fold(0.0, f64::max);
        let scale = match largest > 0.0 {
            true => (-32..31).find(|scale: &i32| largest * 2f64.powi(-scale) < 256.0).unwrap_or(31),
            false => 0,
        };
        let entry = |m: u32| (of(m) * 2f64.powi(-scale)).round_ties_even().min(255.0) as u8;
        let table = (0..16).map(|m| if m < first { 0 } else { entry(m) }).collect();
        Some(Unit { invert, shift, scale: scale.into(), table })
    }

    /// The function of a number that is not negative, not brought into its type yet.
    pub(crate) fn of(&self, x: &BigInt) -> BigInt {
        if *x <= BigInt::ZERO {
            return times_power(&self.table[0].into(), self.scale);
        }
        // The place of the highest one; an even one above it if the magnitude is halved.
        let mut place = x.bits() as i64 - 1;
        if self.shift < 0 {
            place += place % 2;
        }
        let first_bits = usize::try_from(times_power(x, 3 - place)).unwrap_or(0);
        let magnitude = match self.shift {
            1 => place * 2,
            -1 => place / 2,
            _ => place,
        };
        let magnitude = if self.invert { -magnitude } else { magnitude };
        times_power(&self.table.get(first_bits).copied().unwrap_or(0).into(), magnitude + self.scale)
    }
}

fn times_power(x: &BigInt, exponent: i64) -> BigInt {
    if exponent < 0 { x >> exponent.unsigned_abs() } else { x << exponent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bits_of_precision_are_kept() {
        let mut table = vec![0; 8];
        table.extend((8..16u32).map(|m| (m * m) as u8));
        let square = Unit { invert: false, shift: 1, scale: -6, table };
        for (x, y) in [(0, 0), (1, 1), (3, 9), (15, 225), (16, 256), (17, 256), (18, 324)] {
            assert_eq!(square.of(&BigInt::from(x)), BigInt::from(y), "{x}");
        }
    }
}
