//! `Hash` objects. CRCs of any polynomial and the exclusive or of words, which the IR lacks, are expressions of the data's bits.
//!
//! A CRC of data of a fixed width is linear: each bit of the result is the parity of some bits of the data, and a constant.
//!
//! Data of a CRC that are not whole bytes are filled up with zeros at their beginning. A result that is wider than the CRC repeats it: bit
//! *i* is bit *i* modulo the CRC's width, unless a `CRCPolynomial` is not `extended`. That is what `dynamic_hash` of p4c's Tofino backend does.

use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternArg, ExternFn, HashAlgorithm, SlotId, Type};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::externs::object_of;
use crate::externs::Arguments;
use crate::value::{Value, binary};
use crate::{Lowering, Reported, Result};

/// What a `Hash` object computes.
enum Function {
    /// The data's last bits.
    Identity,
    /// A function of the IR with a result of this width.
    Ir(HashAlgorithm, u32),
    /// Another CRC.
    Crc(Crc),
    /// The exclusive or of words of this width.
    Xor(u32),
}

impl Function {
    fn is_crc(&self) -> bool {
        matches!(self, Function::Crc(_) | Function::Ir(HashAlgorithm::Crc16 | HashAlgorithm::Crc32, _))
    }
}

/// A CRC algorithm (the Rocksoft model). Bits of the data are taken from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crc {
    width: u32,
    polynomial: u64,
    initial: u64,
    xor: u64,
    /// Bytes are taken from their last bit on, and the result is reversed.
    reflected: bool,
    /// Wider results repeat it.
    extended: bool,
}

/// CRC-8/SMBUS.
const CRC8: Crc = Crc { width: 8, polynomial: 0x07, initial: 0, xor: 0, reflected: false, extended: true };
/// CRC-64/ECMA-182.
const CRC64: Crc =
    Crc { width: 64, polynomial: 0x42f0_e1eb_a9ea_3693, initial: 0, xor: 0, reflected: false, extended: true };

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
    /// `get` of a `Hash` object.
    pub(super) fn tofino_hash(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let hash = &self.program[object];
        let result = ty.or(hash.type_args.first()).ok_or(Reported)?;
        let Some(Type::Bits(width)) = self.scalar_type(result) else {
            return Err(self.unsupported(span, "a hash that is no number"));
        };
        let function = self.hash_function(hash)?;
        let data = Arguments::new(self, call)?.at(0)?;
        let value = self.value(data)?;
        let mut fields = Vec::new();
        self.flatten(&value, data.span, &mut fields)?;
        self.symmetric_data(hash, data, &mut fields)?;
        if fields.iter().all(|field| field.ty.width() == 0) {
            return Err(self.unsupported(span, "a hash of nothing"));
        }
        let (hashed, repeats) = match function {
            Function::Identity => (self.joined_fields(fields, span)?, false),
            Function::Ir(algorithm, own) => {
                let crc = function.is_crc();
                if crc {
                    fill_up(&mut fields, span);
                }
                (self.ir_hash(algorithm, own.min(width), fields, span), crc)
            }
            Function::Crc(crc) => {
                let data = self.joined_fields(fields, span)?;
                (self.crc(crc, data, span), crc.extended)
            }
            Function::Xor(word) => {
                let data = self.joined_fields(fields, span)?;
                (self.xor_of_words(word, data, span), false)
            }
        };
        let whole = if repeats { self.repeated(hashed, width, span) } else { hashed };
        Ok(Some(Value::Scalar(self.cast(whole, Type::Bits(width), span)?)))
    }

    fn hash_function(&mut self, hash: &hir::Object) -> Result<Function> {
        let name = hash.args.first().and_then(|e| self.member_name(e)).unwrap_or_default();
        let polynomial = hash.args.get(1).and_then(object_of).map(|id| &self.program[id]);
        Ok(match (name, polynomial) {
            ("IDENTITY", _) => Function::Identity,
            ("CRC16", _) => Function::Ir(HashAlgorithm::Crc16, 16),
            ("CRC32", _) => Function::Ir(HashAlgorithm::Crc32, 32),
            ("XOR16", _) => Function::Ir(HashAlgorithm::Xor16, 16),
            ("RANDOM", _) => Function::Ir(HashAlgorithm::Random, 64),
            ("CRC8", _) => Function::Crc(CRC8),
            ("CRC64", _) => Function::Crc(CRC64),
            ("XOR8", _) => Function::Xor(8),
            ("XOR32", _) => Function::Xor(32),
            ("CUSTOM", Some(polynomial)) => Function::Crc(self.crc_of(polynomial)?),
            _ => {
                let name = name.to_string();
                return Err(self.unsupported(hash.span, format!("the hash algorithm {name}")));
            }
        })
    }

    /// The IR's algorithm of an action selector's hash, if it has it.
    pub(super) fn algorithm_of(&self, hash: &hir::Object) -> Option<HashAlgorithm> {
        Some(match self.member_name(hash.args.first()?)? {
            "CRC32" => HashAlgorithm::Crc32,
            "CRC16" => HashAlgorithm::Crc16,
            "XOR16" => HashAlgorithm::Xor16,
            "RANDOM" => HashAlgorithm::Random,
            "IDENTITY" => HashAlgorithm::Identity,
            _ => return None,
        })
    }

    fn ir_hash(&mut self, algorithm: HashAlgorithm, width: u32, fields: Vec<Expr>, span: Span) -> Expr {
        let slot = self.temp(Type::Bits(width), span);
        let all = BigUint::one() << width;
        let args = vec![
            ExternArg::Out(slot),
            ExternArg::In(Expr::constant(0u32, Type::Bits(width), span)),
            ExternArg::List(fields),
            ExternArg::In(Expr::constant(all, Type::Bits(width + 1), span)),
        ];
        self.extern_call(ExternFn::Hash(algorithm), args, span);
        self.slot_expr(slot, span)
    }

    fn joined_fields(&mut self, fields: Vec<Expr>, span: Span) -> Result<Expr> {
        self.joined(&Value::Tree(fields.into_iter().map(Value::Scalar).collect()), span)
    }

    /// A number whose bits are repeated up to a width.
    fn repeated(&mut self, number: Expr, width: u32, span: Span) -> Expr {
        let own = number.ty.width();
        if width <= own {
            return number;
        }
        let number = self.freeze(number);
        let mut whole = number.clone();
        while whole.ty.width() < width {
            let missing = (width - whole.ty.width()).min(own);
            let kind = ExprKind::Slice { arg: Box::new(number.clone()), hi: missing - 1, lo: 0 };
            let part = match missing == own {
                true => number.clone(),
                false => Expr { kind, ty: Type::Bits(missing), span },
            };
            let ty = Type::Bits(whole.ty.width() + missing);
            whole = binary(BinaryOp::Concat, part, whole, ty, span);
        }
        whole
    }

    /// The CRC of a `CRCPolynomial` object: coefficients, whether it is reflected, initial value and final exclusive or.
    fn crc_of(&mut self, polynomial: &hir::Object) -> Result<Crc> {
        let width = polynomial.type_args.first().and_then(|ty| self.scalar_type(ty)).map_or(0, |ty| ty.width());
        if !(1..=64).contains(&width) {
            return Err(self.unsupported(polynomial.span, "a CRC of this width"));
        }
        // `msb` changes nothing on the device either.
        let [coefficients, reflected, _msb, extended, initial, xor] = polynomial.args.as_slice() else {
            return Err(Reported);
        };
        let mut number = |e| Ok(self.constant(e)?.to_u64().unwrap_or(0));
        let (coefficients, initial, xor) = (number(coefficients)?, number(initial)?, number(xor)?);
        let mut flag = |e| Ok(!self.constant(e)?.is_zero());
        let (reflected, extended) = (flag(reflected)?, flag(extended)?);
        Ok(Crc { width, polynomial: coefficients, initial, xor, reflected, extended })
    }

    /// The CRC of data, as a number of the CRC's width.
    fn crc(&mut self, crc: Crc, data: Expr, span: Span) -> Expr {
        let bits = data.ty.width();
        let bytes = bits.div_ceil(8);
        let nothing = vec![0u8; bytes as usize];
        let constant = crc.of(&nothing);
        let mut masks = vec![BigUint::zero(); crc.width as usize];
        for bit in 0..bits {
            let mut one = nothing.clone();
            one[(bytes - 1 - bit / 8) as usize] |= 1 << (bit % 8);
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

    /// The exclusive or of words of this many bits; the last one is filled up with zeros at its end.
    fn xor_of_words(&mut self, word: u32, data: Expr, span: Span) -> Expr {
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

/// Fills data up to whole bytes with zeros at their beginning.
fn fill_up(fields: &mut Vec<Expr>, span: Span) {
    let bits: u32 = fields.iter().map(|field| field.ty.width()).sum();
    let missing = bits.next_multiple_of(8) - bits;
    if missing > 0 {
        fields.insert(0, Expr::constant(0u32, Type::Bits(missing), span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue of parametrised CRC algorithms.
    #[test]
    fn crcs_of_the_usual_nine_digits() {
        let of = |width, polynomial, initial, xor, reflected| {
            Crc { width, polynomial, initial, xor, reflected, extended: true }.of(b"123456789")
        };
        assert_eq!(CRC8.of(b"123456789"), 0xf4);
        assert_eq!(CRC64.of(b"123456789"), 0x6c40_df5f_0b49_7347);
        assert_eq!(of(16, 0x1021, 0xffff, 0, false), 0x29b1);
        assert_eq!(of(16, 0x8005, 0, 0, true), 0xbb3d);
        assert_eq!(of(32, 0x04c1_1db7, 0xffff_ffff, 0xffff_ffff, true), 0xcbf4_3926);
    }
}
