//! Arithmetic on bit vectors of any width, and bits in byte strings: the exact meaning of the IR's operators.
//!
//! Values are [`BigUint`]s below 2^W; signed values are two's complement in W bits. All functions are pure.

use num_bigint::{BigInt, BigUint};
use num_traits::{One, ToPrimitive, Zero};

use crate::model::{BinaryOp, Type, UnaryOp};

/// 2^width - 1.
pub fn mask(width: u32) -> BigUint {
    (BigUint::one() << width) - 1u32
}

/// The lowest `width` bits.
pub fn truncate(value: BigUint, width: u32) -> BigUint {
    if value.bits() <= u64::from(width) { value } else { value & mask(width) }
}

/// True if the value is below 2^width.
pub fn fits(value: &BigUint, width: u32) -> bool {
    value.bits() <= u64::from(width)
}

/// The two's-complement meaning of `width` bits. The only value of width 0 is 0.
pub fn to_signed(value: &BigUint, width: u32) -> BigInt {
    if width > 0 && value.bit(u64::from(width) - 1) {
        BigInt::from(value.clone()) - (BigInt::one() << width)
    } else {
        BigInt::from(value.clone())
    }
}

/// The lowest `width` bits of a number's two's complement.
pub fn from_signed(value: &BigInt, width: u32) -> BigUint {
    let modulus = BigInt::one() << width;
    let rest = value % &modulus;
    let rest = if rest < BigInt::zero() { rest + modulus } else { rest };
    rest.to_biguint().unwrap_or_default()
}

/// Conversion between types, as [`crate::model::ExprKind::Cast`] means it: an `int` is sign-extended, anything else
/// zero-extended; too wide a value is truncated.
pub fn cast(value: &BigUint, from: Type, to: Type) -> BigUint {
    match from {
        Type::Int(width) => from_signed(&to_signed(value, width), to.width()),
        _ => truncate(value.clone(), to.width()),
    }
}

/// Bits `hi` down to `lo`.
pub fn slice(value: &BigUint, hi: u32, lo: u32) -> BigUint {
    truncate(value >> lo, hi - lo + 1)
}

/// `value` with its bits `hi` down to `lo` replaced.
pub fn replace_slice(value: &BigUint, hi: u32, lo: u32, new: &BigUint) -> BigUint {
    let hole = mask(hi - lo + 1) << lo;
    let kept = value - (value & hole);
    kept + (new << lo)
}

/// A unary operator on an operand of type `ty`.
pub fn unary(op: UnaryOp, value: &BigUint, ty: Type) -> BigUint {
    let width = ty.width();
    match op {
        UnaryOp::Neg => from_signed(&-BigInt::from(value.clone()), width),
        UnaryOp::BitNot | UnaryOp::Not => mask(width) - value,
    }
}

/// A binary operator. `left` and `right` are the operands' types; comparisons give 0 or 1.
pub fn binary(op: BinaryOp, a: &BigUint, b: &BigUint, left: Type, right: Type) -> BigUint {
    let width = left.width();
    let signed = matches!(left, Type::Int(_));
    let compare = || {
        if signed { to_signed(a, width).cmp(&to_signed(b, width)) } else { a.cmp(b) }
    };
    let truth = |t: bool| BigUint::from(u32::from(t));
    match op {
        BinaryOp::Add => truncate(a + b, width),
        BinaryOp::Sub => truncate(a + (BigUint::one() << width) - b, width),
        BinaryOp::Mul => truncate(a * b, width),
        BinaryOp::Div if b.is_zero() => BigUint::zero(),
        BinaryOp::Div => a / b,
        BinaryOp::Mod if b.is_zero() => BigUint::zero(),
        BinaryOp::Mod => a % b,
        BinaryOp::SatAdd | BinaryOp::SatSub => {
            let (x, y, lowest, highest) = if signed {
                let half = BigInt::one() << (width - 1);
                (to_signed(a, width), to_signed(b, width), -half.clone(), half - 1)
            } else {
                (BigInt::from(a.clone()), BigInt::from(b.clone()), BigInt::zero(), BigInt::from(mask(width)))
            };
            let exact = if op == BinaryOp::SatAdd { x + y } else { x - y };
            from_signed(&exact.clamp(lowest, highest), width)
        }
        BinaryOp::And | BinaryOp::LogicalAnd => a & b,
        BinaryOp::Or | BinaryOp::LogicalOr => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => match b.to_u32() {
            Some(by) if by < width => truncate(a << by, width),
            _ => BigUint::zero(),
        },
        BinaryOp::Shr => {
            // Beyond the width only sign bits are left, which a shift by the width gives as well.
            let by = b.to_u32().map_or(width, |by| by.min(width));
            if signed { from_signed(&(to_signed(a, width) >> by), width) } else { a >> by }
        }
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::Lt => truth(compare().is_lt()),
        BinaryOp::Le => truth(compare().is_le()),
        BinaryOp::Gt => truth(compare().is_gt()),
        BinaryOp::Ge => truth(compare().is_ge()),
        BinaryOp::Concat => (a << right.width()) + b,
    }
}

/// `width` bits of a byte string from bit `offset` on, most significant first. Bits beyond the end read as zero.
pub fn read(bytes: &[u8], offset: usize, width: u32) -> BigUint {
    if width == 0 {
        return BigUint::zero();
    }
    let end = offset + width as usize;
    let first = (offset / 8).min(bytes.len());
    let last = end.div_ceil(8).min(bytes.len());
    let value = BigUint::from_bytes_be(&bytes[first..last]);
    // `value` ends at bit `last * 8`; align it so that it ends at bit `end`.
    let have_end = last * 8;
    let aligned = if have_end >= end { value >> (have_end - end) } else { value << (end - have_end) };
    truncate(aligned, width)
}

/// Appends values bit by bit, most significant first.
#[derive(Clone, Debug, Default)]
pub struct BitString {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitString {
    /// An empty string.
    pub fn new() -> BitString {
        BitString::default()
    }

    /// Appends the lowest `width` bits of a value.
    pub fn push(&mut self, value: &BigUint, width: u32) {
        if width == 0 {
            return;
        }
        let value = truncate(value.clone(), width);
        let end = self.bits + width as usize;
        self.bytes.resize(end.div_ceil(8), 0);
        let padded = value << (self.bytes.len() * 8 - end);
        let low_first = padded.to_bytes_le();
        for (target, source) in self.bytes.iter_mut().rev().zip(low_first) {
            *target |= source;
        }
        self.bits = end;
    }

    /// Fills up to a whole byte with zero bits and appends bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bits = self.bytes.len() * 8;
    }

    /// Length in bits.
    pub fn len(&self) -> usize {
        self.bits
    }

    /// True if nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// The bytes, the last one filled up with zero bits at its low end.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// As [`BitString::into_bytes`].
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(v: u64) -> BigUint {
        BigUint::from(v)
    }

    fn bin(op: BinaryOp, a: u64, b: u64, ty: Type) -> u64 {
        binary(op, &big(a), &big(b), ty, ty).to_u64().unwrap()
    }

    #[test]
    fn arithmetic_wraps_in_its_width() {
        let b4 = Type::Bits(4);
        assert_eq!(bin(BinaryOp::Add, 15, 2, b4), 1);
        assert_eq!(bin(BinaryOp::Sub, 1, 2, b4), 15);
        assert_eq!(bin(BinaryOp::Mul, 7, 7, b4), 1);
        assert_eq!(bin(BinaryOp::Div, 7, 0, b4), 0);
        assert_eq!(bin(BinaryOp::Mod, 7, 0, b4), 0);
        assert_eq!(unary(UnaryOp::Neg, &big(1), b4), big(15));
        assert_eq!(unary(UnaryOp::Neg, &big(0), b4), big(0));
        assert_eq!(unary(UnaryOp::BitNot, &big(0b0101), b4), big(0b1010));
        assert_eq!(unary(UnaryOp::Not, &big(1), Type::Bool), big(0));
    }

    #[test]
    fn saturation_stops_at_the_ends_of_the_type() {
        assert_eq!(bin(BinaryOp::SatAdd, 250, 10, Type::Bits(8)), 255);
        assert_eq!(bin(BinaryOp::SatSub, 5, 10, Type::Bits(8)), 0);
        assert_eq!(bin(BinaryOp::SatAdd, 0x7f, 1, Type::Int(8)), 0x7f);
        assert_eq!(bin(BinaryOp::SatSub, 0x80, 1, Type::Int(8)), 0x80);
        assert_eq!(bin(BinaryOp::SatAdd, 0xff, 1, Type::Int(8)), 0);
    }

    #[test]
    fn shifts_beyond_the_width() {
        let wide = BigUint::one() << 70u32;
        let shr = |a: u64, ty| binary(BinaryOp::Shr, &big(a), &wide, ty, Type::Bits(80));
        assert_eq!(shr(0x80, Type::Bits(8)), big(0));
        assert_eq!(shr(0x80, Type::Int(8)), big(0xff));
        assert_eq!(shr(0x7f, Type::Int(8)), big(0));
        assert_eq!(bin(BinaryOp::Shr, 0x80, 7, Type::Int(8)), 0xff);
        assert_eq!(bin(BinaryOp::Shl, 1, 8, Type::Bits(8)), 0);
        assert_eq!(bin(BinaryOp::Shl, 3, 7, Type::Bits(8)), 0x80);
    }

    #[test]
    fn comparisons_follow_the_sign() {
        assert_eq!(bin(BinaryOp::Lt, 0xff, 1, Type::Int(8)), 1);
        assert_eq!(bin(BinaryOp::Lt, 0xff, 1, Type::Bits(8)), 0);
        assert_eq!(bin(BinaryOp::Ge, 0x80, 0x80, Type::Int(8)), 1);
    }

    #[test]
    fn casts_extend_by_the_source_type() {
        assert_eq!(cast(&big(0x8), Type::Int(4), Type::Int(8)).to_u32(), Some(0xf8));
        assert_eq!(cast(&big(0x8), Type::Bits(4), Type::Bits(8)).to_u32(), Some(0x08));
        assert_eq!(cast(&big(0x1f8), Type::Int(9), Type::Int(4)).to_u32(), Some(8));
    }

    #[test]
    fn slices_and_their_replacement() {
        assert_eq!(slice(&big(0xabcd), 11, 4), big(0xbc));
        assert_eq!(replace_slice(&big(0xabcd), 11, 4, &big(0x12)), big(0xa12d));
        assert_eq!(replace_slice(&big(0), 0, 0, &big(1)), big(1));
    }

    #[test]
    fn bits_of_bytes_there_and_back() {
        let bytes = [0x12, 0x34, 0x56, 0x78];
        assert_eq!(read(&bytes, 4, 12), big(0x234));
        assert_eq!(read(&bytes, 7, 3), big(0b000));
        assert_eq!(read(&bytes, 3, 4), big(0b1001));
        assert_eq!(read(&bytes, 24, 16), big(0x7800));
        let mut s = BitString::new();
        s.push(&big(0b101), 3);
        s.push(&big(0x1ff), 9);
        s.push(&big(0), 4);
        s.push(&big(0xfffff), 12);
        assert_eq!(s.len(), 28);
        assert_eq!(s.into_bytes(), [0b1011_1111, 0b1111_0000, 0xff, 0xf0]);
    }
}
