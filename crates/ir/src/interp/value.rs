//! A value at run time: bits and how many of them.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::bits;
use crate::model::Type;

/// Bits, and their width: that of the type, but for a `varbit` the current length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// Below 2^width; two's complement for `int`.
    pub bits: BigUint,
    /// In bits.
    pub width: u32,
}

impl Value {
    /// The lowest `width` bits of a number.
    pub fn new(bits: impl Into<BigUint>, width: u32) -> Value {
        Value { bits: bits::truncate(bits.into(), width), width }
    }

    /// The value slots of this type start with: zero; for a `varbit` empty.
    pub fn zero(ty: Type) -> Value {
        let width = match ty {
            Type::Varbit(_) => 0,
            _ => ty.width(),
        };
        Value { bits: BigUint::ZERO, width }
    }

    /// A `bool`.
    pub fn boolean(value: bool) -> Value {
        Value::new(u32::from(value), 1)
    }

    /// True if any bit is set.
    pub fn is_true(&self) -> bool {
        self.bits != BigUint::ZERO
    }

    /// The number, or the highest `u64` if it is greater.
    pub fn to_u64(&self) -> u64 {
        self.bits.to_u64().unwrap_or(u64::MAX)
    }

    /// The bytes, most significant first, filled up with zero bits at the high end to a whole byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = (self.width as usize).div_ceil(8);
        let digits = self.bits.to_bytes_be();
        let digits = if self.is_true() { &digits[..] } else { &[] };
        let mut bytes = vec![0; length - digits.len()];
        bytes.extend_from_slice(digits);
        bytes
    }

    /// A value of `width` bits from the bytes, most significant first; what does not fit is cut off at the high end.
    pub fn from_bytes(bytes: &[u8], width: u32) -> Value {
        Value::new(BigUint::from_bytes_be(bytes), width)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:x}", self.bits)
    }
}
