//! Hash and checksum algorithms from their definitions, bit by bit.

use num_bigint::BigUint;

use crate::random;

/// An algorithm that v1model or PSA names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// CRC-32/ISO-HDLC.
    Crc32,
    /// CRC-16/ARC.
    Crc16,
    /// The Internet checksum (RFC 1071).
    Csum16,
    /// Exclusive or of 16-bit words.
    Xor16,
    /// The first eight bytes, as in BMv2.
    Identity,
    /// A function of ours that stands for one that is nowhere defined.
    Random,
}

impl Algorithm {
    /// By the name of an enum's member. The custom ones have the polynomials of the standard ones until they are set.
    pub(crate) fn by_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "crc32" | "crc32_custom" | "CRC32" | "CRC32_CUSTOM" | "TARGET_DEFAULT" => Algorithm::Crc32,
            "crc16" | "crc16_custom" | "CRC16" | "CRC16_CUSTOM" => Algorithm::Crc16,
            "csum16" | "ONES_COMPLEMENT16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "identity" | "IDENTITY" => Algorithm::Identity,
            _ => return None,
        })
    }

    /// The whole result.
    pub(crate) fn of(self, data: &[u8]) -> BigUint {
        match self {
            Algorithm::Crc32 => (!reflected(0xedb8_8320, !0, data)).into(),
            Algorithm::Crc16 => reflected(0xa001, 0, data).into(),
            Algorithm::Csum16 => (!sum(data)).into(),
            Algorithm::Xor16 => words(data).fold(0, |x, word| x ^ word).into(),
            Algorithm::Random => random::hash(data).into(),
            Algorithm::Identity => BigUint::from_bytes_be(&data[..data.len().min(8)]),
        }
    }
}

/// A CRC by its parameters (the Rocksoft model).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crc {
    /// From 1 to 64.
    pub(crate) width: u32,
    pub(crate) polynomial: u64,
    pub(crate) initial: u64,
    pub(crate) xor: u64,
    /// Bytes are taken from their last bit on, and the result is reversed.
    pub(crate) reflected: bool,
}

impl Crc {
    pub(crate) fn of(&self, data: &[u8]) -> BigUint {
        let mask = u64::MAX >> (64 - self.width);
        let mut crc = self.initial & mask;
        for byte in data {
            let byte = if self.reflected { byte.reverse_bits() } else { *byte };
            for bit in (0..8).rev() {
                let out = (crc >> (self.width - 1) ^ u64::from(byte >> bit)) & 1;
                crc = (crc << 1 ^ if out == 1 { self.polynomial } else { 0 }) & mask;
            }
        }
        let crc = if self.reflected { crc.reverse_bits() >> (64 - self.width) } else { crc };
        (crc ^ self.xor & mask).into()
    }
}

/// A CRC whose bits are reflected: polynomial and start as well.
fn reflected(polynomial: u32, start: u32, data: &[u8]) -> u32 {
    data.iter().fold(start, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { polynomial } else { 0 })
    })
}

/// 16-bit words; a last byte alone is the high half of one.
fn words(data: &[u8]) -> impl Iterator<Item = u16> + '_ {
    data.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

/// One's complement addition.
pub(crate) fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// The one's complement sum of all words.
pub(crate) fn sum(data: &[u8]) -> u16 {
    words(data).fold(0, add)
}

/// The one's complement sum of the complements of all words, which subtracts them (RFC 1624).
pub(crate) fn sum_of_complements(data: &[u8]) -> u16 {
    words(data).map(|word| !word).fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_check_values() {
        let check = |algorithm: Algorithm| algorithm.of(b"123456789");
        assert_eq!(check(Algorithm::Crc32), 0xcbf4_3926u32.into());
        assert_eq!(check(Algorithm::Crc16), 0xbb3du32.into());
        assert_eq!(check(Algorithm::Identity), 0x3132_3334_3536_3738u64.into());
        let ccitt = Crc { width: 16, polynomial: 0x1021, initial: 0xffff, xor: 0, reflected: false };
        assert_eq!(ccitt.of(b"123456789"), 0x29b1u32.into());
        let ieee = Crc { width: 32, polynomial: 0x04c1_1db7, initial: !0, xor: !0, reflected: true };
        assert_eq!(ieee.of(b"123456789"), 0xcbf4_3926u32.into());
        // RFC 1071, section 3.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Algorithm::Csum16.of(&example), (!0xddf2u16).into());
        // RFC 1624, section 4: a field of 0x5555 becomes 0x3285.
        let sum = add(add(!0xdd2f, sum_of_complements(&[0x55, 0x55])), sum(&[0x32, 0x85]));
        assert_eq!(!sum, 0x0000);
    }
}
