//! Numbers: P4-16 8.7 to 8.12, operations on `bit<W>`, `int<W>` and `int`, concatenation, shifts, casts.
//!
//! A number is the mathematical integer that a value means, whatever its type; [`fit`] brings a result into its type.

use hopwright_sema::hir::{BinaryOp, Type};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

/// 2 to the power of `width`.
fn power(width: u32) -> BigInt {
    BigInt::from(1) << width
}

/// The value of a type that is congruent to a number modulo 2 to the power of the type's width (8.7, 8.8: results wrap).
pub(crate) fn fit(number: BigInt, ty: &Type) -> BigInt {
    match ty {
        Type::Bits(width) => BigInt::from(unsigned(&number, *width)),
        Type::Int(width) => signed(unsigned(&number, *width), *width),
        _ => number,
    }
}

/// The lowest `width` bits of a number in two's complement.
pub(crate) fn unsigned(number: &BigInt, width: u32) -> BigUint {
    let modulus = power(width);
    let rest = ((number % &modulus) + &modulus) % &modulus;
    rest.to_biguint().unwrap_or_default()
}

/// What `width` bits mean in two's complement.
pub(crate) fn signed(bits: BigUint, width: u32) -> BigInt {
    let negative = width > 0 && bits.bit(u64::from(width) - 1);
    let number = BigInt::from_biguint(Sign::Plus, bits);
    if negative { number - power(width) } else { number }
}

/// Bits `high` down to `low` of a number in two's complement (8.7, 8.8: `e[m:l]`).
pub(crate) fn slice(number: &BigInt, high: u32, low: u32) -> BigInt {
    BigInt::from(unsigned(&(number >> low), high - low + 1))
}

/// The number with other bits `high` down to `low`, not brought into its type yet.
pub(crate) fn with_slice(number: &BigInt, high: u32, low: u32, bits: &BigInt) -> BigInt {
    number - (slice(number, high, low) << low) + (bits << low)
}

/// A binary operator whose operands have the types `left` and `right`, and whose result has type `ty`. `&&`, `||` and
/// comparisons are not here.
pub(crate) fn binary(op: BinaryOp, a: &BigInt, b: &BigInt, left: &Type, right: &Type, ty: &Type) -> BigInt {
    let exact = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        // A choice of ours: a division by zero is zero.
        BinaryOp::Div | BinaryOp::Mod if b.is_zero() => BigInt::ZERO,
        BinaryOp::Div => a / b,
        BinaryOp::Mod => a % b,
        BinaryOp::SatAdd => return saturated(a + b, ty),
        BinaryOp::SatSub => return saturated(a - b, ty),
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => match (b.to_u64(), left) {
            (Some(by), Type::Bits(width) | Type::Int(width)) if by < u64::from(*width) => a << by,
            (Some(by), Type::InfInt) => a << by,
            _ => BigInt::ZERO,
        },
        // 8.10: arithmetic for `int<W>`, logical for `bit<W>`, whose numbers are not negative.
        BinaryOp::Shr => match b.to_u64() {
            Some(by) => a >> by.min(1 << 20),
            None if a.is_negative() => BigInt::from(-1),
            None => BigInt::ZERO,
        },
        BinaryOp::Concat => {
            let width = |ty: &Type| if let Type::Bits(width) | Type::Int(width) = ty { *width } else { 0 };
            let low = BigInt::from(unsigned(b, width(right)));
            (BigInt::from(unsigned(a, width(left))) << width(right)) + low
        }
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => unreachable!("evaluated where the operands are"),
    };
    fit(exact, ty)
}

/// The nearest value of a type (8.7, 8.8: `|+|` and `|-|`).
fn saturated(exact: BigInt, ty: &Type) -> BigInt {
    match ty {
        Type::Bits(width) => exact.clamp(BigInt::ZERO, power(*width) - 1),
        Type::Int(0) => BigInt::ZERO,
        Type::Int(width) => exact.clamp(-power(width - 1), power(width - 1) - 1),
        _ => exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(n: i64) -> BigInt {
        BigInt::from(n)
    }

    #[test]
    fn results_wrap_and_saturate_by_their_type() {
        let (byte, signed_byte) = (Type::Bits(8), Type::Int(8));
        let at = |op, a: i64, b: i64, ty: &Type| binary(op, &int(a), &int(b), ty, ty, ty);
        assert_eq!(at(BinaryOp::Add, 250, 10, &byte), int(4));
        assert_eq!(at(BinaryOp::Sub, 1, 2, &byte), int(255));
        assert_eq!(at(BinaryOp::SatSub, 1, 2, &byte), int(0));
        assert_eq!(at(BinaryOp::SatAdd, 100, 100, &signed_byte), int(127));
        assert_eq!(at(BinaryOp::Add, 100, 100, &signed_byte), int(-56));
        assert_eq!(at(BinaryOp::Shr, -128, 3, &signed_byte), int(-16));
        assert_eq!(at(BinaryOp::Shr, -1, 200, &signed_byte), int(-1));
        assert_eq!(at(BinaryOp::Shl, 1, 8, &byte), int(0));
        assert_eq!(at(BinaryOp::BitXor, -1, 1, &signed_byte), int(-2));
    }

    #[test]
    fn a_concatenation_has_the_sign_of_its_left_operand() {
        let of = |left: Type, ty: Type| binary(BinaryOp::Concat, &int(-1), &int(5), &left, &Type::Bits(4), &ty);
        assert_eq!(of(Type::Int(4), Type::Int(8)), int(-11));
    }

    #[test]
    fn slices_are_bits_of_the_two_s_complement() {
        assert_eq!(slice(&int(-2), 3, 0), int(14));
        assert_eq!(fit(with_slice(&int(-2), 0, 0, &int(1)), &Type::Int(8)), int(-1));
        assert_eq!(with_slice(&int(0xff), 7, 4, &int(2)), int(0x2f));
    }
}
