//! Hash functions that the IR lacks, as expressions of the data's bits: CRCs of any polynomial, and XOR of words.
//!
//! A CRC of data of a fixed width is linear: each bit of the result is the parity of some bits of the data, and a constant.

use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternArg, ExternFn, SlotId, Type};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use crate::value::binary;
use crate::{Lowering, Reported, Result};

/// A CRC algorithm (the Rocksoft model). Bits of the data are taken from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crc {
    width: u32,
    polynomial: u64,
    initial: u64,
    xor: u64,
    /// Bytes are taken from their last bit on, and the result is reversed.
    reflected: bool,
}

/// CRC-8/SMBUS.
pub(super) const CRC8: Crc = Crc { width: 8, polynomial: 0x07, initial: 0, xor: 0, reflected: false };
/// CRC-64/ECMA-182.
pub(super) const CRC64: Crc =
    Crc { width: 64, polynomial: 0x42f0_e1eb_a9ea_3693, initial: 0, xor: 0, reflected: false };

impl Crc {
    /// The CRC of bytes.
    fn of(&self, data: &[u8]) -> u64 {
        let mask = u64::MAX >> (64 - self.width);
        let mut crc = self.initial & mask;
        for byte in data {
            let byte = if self.reflected { byte.reverse_bits() } else { *byte };
            for bit in (0..8).rev() {
                let out = (crc >> (self.width - 1) & 1) ^ u64::from(byte >> bit & 1);
                crc = (crc << 1 & mask) ^ if out == 1 { self.polynomial & mask } else { 0 };
            }
        }
        let crc = if self.reflected { crc.reverse_bits() >> (64 - self.width) } else { crc };
        crc ^ (self.xor & mask)
    }
}

impl Lowering<'_> {
    /// The CRC of a `CRCPolynomial` object: coefficients, whether it is reflected, initial value and final exclusive or.
    pub(super) fn crc_of(&mut self, polynomial: &hir::Object) -> Result<Crc> {
        let width = polynomial.type_args.first().and_then(|ty| self.scalar_type(ty)).map_or(0, |ty| ty.width());
        if !(1..=64).contains(&width) {
            return Err(self.unsupported(polynomial.span, "a CRC of this width"));
        }
        let [coefficients, reflected, _, _, initial, xor] = polynomial.args.as_slice() else { return Err(Reported) };
        let mut number = |e| Ok(self.constant(e)?.to_u64().unwrap_or(0));
        let (coefficients, initial, xor) = (number(coefficients)?, number(initial)?, number(xor)?);
        let reflected = !self.constant(reflected)?.is_zero();
        Ok(Crc { width, polynomial: coefficients, initial, xor, reflected })
    }

    /// The CRC of data, as a number of the CRC's width.
    pub(super) fn crc(&mut self, crc: Crc, data: Expr, span: Span) -> Expr {
        let bits = data.ty.width();
        // Data are filled up to whole bytes with zeros at the end.
        let (bytes, fill) = (bits.div_ceil(8), bits.next_multiple_of(8) - bits);
        let nothing = vec![0u8; bytes as usize];
        let constant = crc.of(&nothing);
        let mut masks = vec![BigUint::zero(); crc.width as usize];
        for bit in 0..bits {
            let at = bit + fill;
            let mut one = nothing.clone();
            one[(bytes - 1 - at / 8) as usize] |= 1 << (at % 8);
            let effect = crc.of(&one) ^ constant;
            for (to, mask) in masks.iter_mut().enumerate() {
                if effect >> to & 1 == 1 {
                    *mask |= BigUint::one() << bit;
                }
            }
        }
        let data = self.freeze(data);
        let mut whole: Option<Expr> = None;
        for (to, mask) in masks.into_iter().enumerate().rev() {
            let bit = Expr::constant((constant >> to & 1) as u32, Type::Bits(1), span);
            let bit = match mask.is_zero() {
                true => bit,
                false => {
                    let parity = self.parity(&data, mask, span);
                    binary(BinaryOp::Xor, parity, bit, Type::Bits(1), span)
                }
            };
            whole = Some(match whole {
                Some(high) => {
                    let ty = Type::Bits(high.ty.width() + 1);
                    binary(BinaryOp::Concat, high, bit, ty, span)
                }
                None => bit,
            });
        }
        let whole = whole.unwrap_or_else(|| Expr::constant(0u32, Type::Bits(1), span));
        self.freeze(whole)
    }

    /// Whether an odd number of the masked bits are set.
    fn parity(&mut self, data: &Expr, mask: BigUint, span: Span) -> Expr {
        let ones: SlotId = self.temp(Type::Bits(16), span);
        let masked = binary(BinaryOp::And, data.clone(), Expr::constant(mask, data.ty, span), data.ty, span);
        self.extern_call(ExternFn::PopulationCount, vec![ExternArg::In(masked), ExternArg::Out(ones)], span);
        let ones = Box::new(self.slot_expr(ones, span));
        Expr { kind: ExprKind::Slice { arg: ones, hi: 0, lo: 0 }, ty: Type::Bits(1), span }
    }

    /// The exclusive or of words of so many bits; the last one is filled up with zeros at its end.
    pub(super) fn xor_of_words(&mut self, word: u32, data: Expr, span: Span) -> Expr {
        let data = self.freeze(data);
        let bits = data.ty.width();
        let ty = Type::Bits(word);
        let mut sum = Expr::constant(0u32, ty, span);
        let mut above = bits;
        while above > 0 {
            let below = above.saturating_sub(word);
            let kind = ExprKind::Slice { arg: Box::new(data.clone()), hi: above - 1, lo: below };
            let mut part = Expr { kind, ty: Type::Bits(above - below), span };
            let missing = word - (above - below);
            if missing > 0 {
                let zeros = Expr::constant(0u32, Type::Bits(missing), span);
                part = binary(BinaryOp::Concat, part, zeros, ty, span);
            }
            sum = binary(BinaryOp::Xor, sum, part, ty, span);
            above = below;
        }
        self.freeze(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue of parametrised CRC algorithms.
    #[test]
    fn crcs_of_the_usual_nine_digits() {
        let of = |width, polynomial, initial, xor, reflected| {
            Crc { width, polynomial, initial, xor, reflected }.of(b"123456789")
        };
        assert_eq!(CRC8.of(b"123456789"), 0xf4);
        assert_eq!(CRC64.of(b"123456789"), 0x6c40_df5f_0b49_7347);
        assert_eq!(of(16, 0x1021, 0xffff, 0, false), 0x29b1);
        assert_eq!(of(16, 0x8005, 0, 0, true), 0xbb3d);
        assert_eq!(of(32, 0x04c1_1db7, 0xffff_ffff, 0xffff_ffff, true), 0xcbf4_3926);
    }
}
