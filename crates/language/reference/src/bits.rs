//! Strings of bits: packets being built, and data of hashes and checksums.

use num_bigint::BigUint;

/// A string of bits, the first one the most significant of the first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    /// Appends the lowest `width` bits of a number, the highest of them first.
    pub(crate) fn push(&mut self, number: &BigUint, width: usize) {
        for place in (0..width as u64).rev() {
            if self.length.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if number.bit(place)
                && let Some(last) = self.bytes.last_mut()
            {
                *last |= 0x80 >> (self.length % 8);
            }
            self.length += 1;
        }
    }

    /// Appends whole bytes behind zeros that fill up the last one, as BMv2 does with the payload behind the data of a checksum.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.length = 8 * self.bytes.len();
    }

    /// The number of bits.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The bits, filled up with zeros to a whole byte.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bits as one number, the first the most significant.
    pub(crate) fn number(&self) -> BigUint {
        BigUint::from_bytes_be(&self.bytes) >> (8 * self.bytes.len() - self.length)
    }
}

/// Reads values from a string of bits, one behind the other.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    /// The bit that is read next.
    pub(crate) at: usize,
}

impl Reader<'_> {
    /// Takes the next `width` bits. Bits beyond the end are zero.
    pub(crate) fn take(&mut self, width: usize) -> BigUint {
        let end = self.at + width;
        let last = end.div_ceil(8);
        let mut bytes = self.bytes.get(self.at / 8..last.min(self.bytes.len())).unwrap_or_default().to_vec();
        bytes.resize(last - self.at / 8, 0);
        self.at = end;
        let all = BigUint::from_bytes_be(&bytes) >> (8 * last - end);
        let mask = (BigUint::from(1u32) << width) - 1u32;
        all & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let parts: [(u32, usize); 6] = [(1, 1), (0x55, 7), (0, 0), (0x1234, 13), (7, 3), (0xabcd, 16)];
        let mut bits = Bits::default();
        parts.iter().for_each(|(number, width)| bits.push(&(*number).into(), *width));
        assert_eq!(bits.length, 40);
        let mut reader = Reader { bytes: bits.bytes(), at: 0 };
        for (number, width) in parts {
            assert_eq!(reader.take(width), BigUint::from(number) % (BigUint::from(1u32) << width));
        }
        assert_eq!(reader.take(9), BigUint::ZERO);
    }

    #[test]
    fn the_number_is_that_of_all_bits() {
        let mut bits = Bits::default();
        bits.push(&3u32.into(), 3);
        assert_eq!(bits.number(), BigUint::from(3u32));
        bits.push_bytes(&[0xff, 0x01]);
        assert_eq!(bits.number(), BigUint::from(0x60_ff01u32));
    }
}
