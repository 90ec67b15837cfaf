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

#[cfg(test)]
mod tests {
    use super::*;

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
