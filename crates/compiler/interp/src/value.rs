//! Run-time values.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use hopwright_ir::Type;
use hopwright_ir::bits;

/// A bit string with a width, which is the type's or, for a `varbit`, the current length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// Less than 2^width; two's complement for `int`.
    pub bits: BigUint,
    /// Width in bits.
    pub width: u32,
}

impl Value {
    /// Creates a value from the lowest `width` bits of a number.
    pub fn new(bits: impl Into<BigUint>, width: u32) -> Value {
        Value { bits: bits::truncate(bits.into(), width), width }
    }

    /// Returns the initial value of slots of this type: zero, or empty for a `varbit`.
    pub fn zero(ty: Type) -> Value {
        let width = match ty {
            Type::Varbit(_) => 0,
            _ => ty.width(),
        };
        Value { bits: BigUint::ZERO, width }
    }

    /// Creates a `bool`.
    pub fn boolean(value: bool) -> Value {
        Value::new(u32::from(value), 1)
    }

    /// True if any bit is set.
    pub fn is_true(&self) -> bool {
        self.bits != BigUint::ZERO
    }

    /// Returns the number, saturated to 64 bits.
    pub fn to_u64(&self) -> u64 {
        self.bits.to_u64().unwrap_or(u64::MAX)
    }

    /// Returns the bytes, most significant first, with leading zero bits up to a whole byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = (self.width as usize).div_ceil(8);
        let digits = self.bits.to_bytes_be();
        let digits = if self.is_true() { &digits[..] } else { &[] };
        let mut bytes = vec![0; length - digits.len()];
        bytes.extend_from_slice(digits);
        bytes
    }

    /// Creates a value of `width` bits from bytes, most significant first. Excess high bits are dropped.
    pub fn from_bytes(bytes: &[u8], width: u32) -> Value {
        Value::new(BigUint::from_bytes_be(bytes), width)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:x}", self.bits)
    }
}
