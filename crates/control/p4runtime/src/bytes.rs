//! Numbers as P4Runtime's byte strings (section 8.4): big-endian, emitted as short as they can be, accepted at any
//! length as long as the value fits.

use bytes::Bytes;
use num_bigint::BigUint;

/// Why a byte string is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotANumber {
    /// It has no bytes.
    Empty,
    /// The value has more bits than it may.
    TooWide,
    /// A string with other characters than decimal digits.
    NotDecimal,
}

/// The shortest byte string of a number: zero is one byte.
pub fn of(value: &BigUint) -> Bytes {
    Bytes::from(value.to_bytes_be())
}

/// The number in a byte string.
///
/// # Errors
/// If it is empty or does not fit `width` bits.
pub fn number(bytes: &[u8], width: u32) -> Result<BigUint, NotANumber> {
    if bytes.is_empty() {
        return Err(NotANumber::Empty);
    }
    let value = match bytes.len() {
        0..=8 => BigUint::from(bytes.iter().fold(0u64, |n, b| n << 8 | u64::from(*b))),
        _ => BigUint::from_bytes_be(bytes),
    };
    if value.bits() > u64::from(width) { Err(NotANumber::TooWide) } else { Ok(value) }
}

/// The representation of a type's values for controllers (P4Runtime section 18: translation of user-defined types).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Coding {
    /// As a number.
    #[default]
    Number,
    /// As a string: the number in decimal digits.
    Text,
}

impl Coding {
    /// A value in the controllers' representation.
    pub fn write(self, value: &BigUint) -> Bytes {
        match self {
            Coding::Number => of(value),
            Coding::Text => value.to_string().into_bytes().into(),
        }
    }

    /// The value that a controller's representation stands for.
    ///
    /// # Errors
    /// If it is not a number of this width.
    pub fn read(self, bytes: &[u8], width: u32) -> Result<BigUint, NotANumber> {
        if self == Coding::Number || bytes.is_empty() {
            return number(bytes, width);
        }
        if !bytes.iter().all(u8::is_ascii_digit) || bytes.len() > MAX_DIGITS {
            return Err(NotANumber::NotDecimal);
        }
        let value = BigUint::parse_bytes(bytes, 10).ok_or(NotANumber::NotDecimal)?;
        if value.bits() > u64::from(width) { Err(NotANumber::TooWide) } else { Ok(value) }
    }
}

/// The most digits of a number in decimal: those of the widest types.
const MAX_DIGITS: usize = 700;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        assert_eq!(Coding::Text.write(&BigUint::from(510u32)), Bytes::from_static(b"510"));
        assert_eq!(Coding::Text.read(b"510", 9), Ok(510u32.into()));
        assert_eq!(Coding::Text.read(b"512", 9), Err(NotANumber::TooWide));
        assert_eq!(Coding::Text.read(b"Ethernet0", 9), Err(NotANumber::NotDecimal));
        assert_eq!(Coding::Text.read(b"", 9), Err(NotANumber::Empty));
    }

    #[test]
    fn forms() {
        assert_eq!(of(&BigUint::ZERO), Bytes::from_static(&[0]));
        assert_eq!(of(&BigUint::from(0x0102u32)), Bytes::from_static(&[1, 2]));
        assert_eq!(number(&[], 8), Err(NotANumber::Empty));
        assert_eq!(number(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 5], 3), Ok(5u32.into()));
        assert_eq!(number(&[8], 3), Err(NotANumber::TooWide));
        assert_eq!(number(&[1, 0, 0, 0, 0, 0, 0, 0, 0], 64), Err(NotANumber::TooWide));
    }
}
