//! v1model's hash and checksum algorithms over byte strings, and the pseudo-random numbers behind `random`. Shared by every
//! executor, so that all agree.
//!
//! The bytes of a list are its values concatenated, the first highest, padded with zero bits to a whole byte.

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use crate::model::HashAlgorithm;

/// Computes a hash. The result has the width of the algorithm: 16 or 32 bits, 64 for `identity` and `random`.
pub fn hash(algorithm: HashAlgorithm, data: &[u8]) -> u64 {
    hash_of_both(algorithm, data, &[])
}

/// As [`hash`], over the concatenation of two byte strings.
pub fn hash_of_both(algorithm: HashAlgorithm, data: &[u8], rest: &[u8]) -> u64 {
    match algorithm {
        HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => u64::from(!crc(&CRC32, crc(&CRC32, !0, data), rest)),
        HashAlgorithm::Crc16 | HashAlgorithm::Crc16Custom => u64::from(crc(&CRC16, crc(&CRC16, 0, data), rest)),
        HashAlgorithm::Random => mixed(data, rest),
        HashAlgorithm::Identity => first_eight(data.iter().chain(rest)),
        HashAlgorithm::Csum16 => u64::from(csum16_of(words(data, rest))),
        HashAlgorithm::Xor16 => u64::from(words(data, rest).fold(0, |x, word| x ^ word)),
    }
}

/// `hash` extern: base + H mod max, H itself being the algorithm's whole result; `max` = 0 gives `base`.
pub fn hash_in_range(algorithm: HashAlgorithm, data: &[u8], base: &BigUint, max: &BigUint) -> BigUint {
    if max.is_zero() { base.clone() } else { base + BigUint::from(hash(algorithm, data)) % max }
}

/// CRC-32 as in IEEE 802.3 (CRC-32/ISO-HDLC).
pub fn crc32(data: &[u8]) -> u32 {
    !crc(&CRC32, !0, data)
}

/// CRC-16/ARC.
pub fn crc16(data: &[u8]) -> u16 {
    crc(&CRC16, 0, data) as u16
}

/// The contribution of each byte value to a reflected CRC, by the number of the four bytes that follow it.
type CrcTables = [[u32; 256]; 4];

static CRC32: CrcTables = crc_tables(0xedb8_8320);
static CRC16: CrcTables = crc_tables(0xa001);

const fn crc_tables(polynomial: u32) -> CrcTables {
    let mut tables = [[0; 256]; 4];
    let mut value = 0;
    while value < 256 {
        let mut crc = value as u32;
        let mut step = 0;
        while step < 32 {
            crc = (crc >> 1) ^ (polynomial & (crc & 1).wrapping_neg());
            step += 1;
            if step % 8 == 0 {
                tables[step / 8 - 1][value] = crc;
            }
        }
        value += 1;
    }
    tables
}

/// Processes four bytes per step. Generated code calls this for each packet, mostly for keys of under 16 bytes, for which
/// the `crc` crate processes one byte per step.
fn crc(tables: &CrcTables, mut crc: u32, data: &[u8]) -> u32 {
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let [a, b, c, d] = (crc ^ u32::from_le_bytes(*word)).to_le_bytes().map(usize::from);
        crc = tables[3][a] ^ tables[2][b] ^ tables[1][c] ^ tables[0][d];
    }
    rest.iter().fold(crc, |crc, byte| crc >> 8 ^ tables[0][usize::from(crc as u8 ^ byte)])
}

/// The Internet checksum (RFC 1071): complement of the ones'-complement sum of 16-bit words; an odd last byte is the
/// high half of a word.
pub fn csum16(data: &[u8]) -> u16 {
    csum16_of(words(data, &[]))
}

fn csum16_of(words: impl Iterator<Item = u16>) -> u16 {
    let mut sum: u64 = words.map(u64::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Exclusive or of 16-bit words; an odd last byte is the high half of a word.
pub fn xor16(data: &[u8]) -> u16 {
    words(data, &[]).fold(0, |x, word| x ^ word)
}

/// The first eight bytes as a number, as BMv2 does it.
pub fn identity(data: &[u8]) -> u64 {
    first_eight(data.iter())
}

fn first_eight<'a>(data: impl Iterator<Item = &'a u8>) -> u64 {
    data.take(8).fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// `HashAlgorithm.random`, which no specification defines: a well-distributed function of the data, the same in every run.
fn mixed(data: &[u8], rest: &[u8]) -> u64 {
    let length = data.len() + rest.len();
    let mut random = Random::new(length as u64);
    let mut bytes = data.iter().chain(rest);
    for _ in 0..length.div_ceil(8) {
        random.state = random.next_u64() ^ first_eight(bytes.by_ref());
    }
    random.next_u64()
}

/// 16-bit words of the concatenation of two byte strings.
fn words<'a>(data: &'a [u8], rest: &'a [u8]) -> impl Iterator<Item = u16> + 'a {
    let word = |pair: &[u8]| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
    // A trailing byte starts a word that ends in the other string.
    let (data, odd) = data.split_at(data.len() & !1);
    let between = odd.first().map(|&high| u16::from_be_bytes([high, rest.first().copied().unwrap_or(0)]));
    let rest = if odd.is_empty() { rest } else { rest.get(1..).unwrap_or_default() };
    data.chunks(2).map(word).chain(between).chain(rest.chunks(2).map(word))
}

/// A small deterministic generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator; equal seeds give equal sequences.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The `random` extern: a number from `lo` to `hi`, both included; `None` if `lo` > `hi`, and then nothing is
    /// drawn. Ranges of more than 2^64 numbers take two draws (high half first), others one.
    pub fn between(&mut self, lo: &BigUint, hi: &BigUint) -> Option<BigUint> {
        if lo > hi {
            return None;
        }
        let span = hi - lo;
        match span.to_u64() {
            Some(u64::MAX) => Some(lo + self.next_u64()),
            Some(span) => Some(lo + self.next_u64() % (span + 1)),
            None => {
                let high = u128::from(self.next_u64()) << 64;
                let drawn = high | u128::from(self.next_u64());
                Some(lo + BigUint::from(drawn) % (span + 1u32))
            }
        }
    }

    /// As [`Random::between`] for equally long limb arrays, lowest limb first; false if nothing is drawn.
    pub fn between_limbs(&mut self, lo: &[u64], hi: &[u64], out: &mut [u64]) -> bool {
        let mut borrow = false;
        for ((o, &h), &l) in out.iter_mut().zip(hi).zip(lo) {
            let (difference, below) = h.overflowing_sub(l);
            let (difference, still) = difference.overflowing_sub(u64::from(borrow));
            (*o, borrow) = (difference, below || still);
        }
        if borrow {
            return false;
        }
        let limb = |i: usize| u128::from(out.get(i).copied().unwrap_or(0));
        let beyond = out.iter().skip(2).any(|&limb| limb != 0);
        let span = limb(1) << 64 | limb(0);
        let drawn = if beyond || span > u128::from(u64::MAX) {
            u128::from(self.next_u64()) << 64 | u128::from(self.next_u64())
        } else {
            u128::from(self.next_u64())
        };
        let offset = if beyond { drawn } else { span.checked_add(1).map_or(drawn, |count| drawn % count) };
        let mut carry = false;
        for (i, (o, &l)) in out.iter_mut().zip(lo).enumerate() {
            let part = if i < 2 { (offset >> (64 * i)) as u64 } else { 0 };
            let (sum, over) = l.overflowing_add(part);
            let (sum, more) = sum.overflowing_add(u64::from(carry));
            (*o, carry) = (sum, over || more);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_give_their_published_check_values() {
        let check = b"123456789";
        assert_eq!(crc32(check), 0xcbf4_3926);
        assert_eq!(crc16(check), 0xbb3d);
        assert_eq!(identity(check), 0x3132_3334_3536_3738);
        // RFC 1071, section 3.
        assert_eq!(csum16(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(csum16(&[0x01]), !0x0100);
        assert_eq!(xor16(&[0x12, 0x34, 0xff]), 0xed34);
    }

    #[test]
    fn table_driven_crcs_are_those_computed_bit_by_bit() {
        let step = |polynomial: u32| move |crc: u32, _| (crc >> 1) ^ (polynomial & (crc & 1).wrapping_neg());
        let slow = |polynomial: u32, start: u32, data: &[u8]| {
            data.iter().fold(start, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step(polynomial)))
        };
        let data: Vec<u8> = (0..40u32).map(|n| (n * n * 37 + 11) as u8).collect();
        for length in 0..data.len() {
            let data = &data[..length];
            assert_eq!(crc32(data), !slow(0xedb8_8320, !0, data), "{length} bytes");
            assert_eq!(u32::from(crc16(data)), slow(0xa001, 0, data), "{length} bytes");
        }
    }

    #[test]
    fn two_strings_hash_as_one() {
        let all: Vec<u8> = (0..37u32).map(|n| (n * 71 + 3) as u8).collect();
        let algorithms = [
            HashAlgorithm::Crc32,
            HashAlgorithm::Crc16,
            HashAlgorithm::Random,
            HashAlgorithm::Identity,
            HashAlgorithm::Csum16,
            HashAlgorithm::Xor16,
        ];
        for algorithm in algorithms {
            for length in [0, 1, 2, 9, 36, 37] {
                for at in 0..=length {
                    let (a, b) = all[..length].split_at(at);
                    assert_eq!(
                        hash_of_both(algorithm, a, b),
                        hash(algorithm, &all[..length]),
                        "{algorithm:?} {at}/{length}"
                    );
                }
            }
        }
    }

    #[test]
    fn limbs_are_drawn_from_as_numbers_are() {
        let mut bounds = Random::new(7);
        let (mut a, mut b) = (Random::new(3), Random::new(3));
        for round in 0..3000u32 {
            let mut number = |kind: u32| -> [u64; 3] {
                let x = [bounds.next_u64(), bounds.next_u64(), bounds.next_u64()];
                match kind % 4 {
                    0 => [x[0] % 4, 0, 0],
                    1 => [x[0], x[1] % 2, 0],
                    2 => [u64::MAX, u64::MAX, x[2] % 2],
                    _ => x,
                }
            };
            let (lo, hi) = (number(round), number(round / 4));
            let big = |limbs: &[u64]| BigUint::new(limbs.iter().flat_map(|&l| [l as u32, (l >> 32) as u32]).collect());
            let mut out = [0; 3];
            let drawn = a.between_limbs(&lo, &hi, &mut out).then(|| big(&out));
            assert_eq!(drawn, b.between(&big(&lo), &big(&hi)), "{lo:x?} {hi:x?}");
        }
    }

    #[test]
    fn hash_in_range_adds_the_base() {
        let crc = u64::from(crc32(b"abc"));
        let at = |base: u32, max: u32| hash_in_range(HashAlgorithm::Crc32, b"abc", &base.into(), &max.into());
        assert_eq!(at(10, 7), BigUint::from(10 + crc % 7));
        assert_eq!(at(10, 0), BigUint::from(10u32));
    }

    #[test]
    fn random_stays_within_its_bounds_and_repeats() {
        let mut a = Random::new(1);
        let mut b = Random::new(1);
        let (lo, hi) = (BigUint::from(3u32), BigUint::from(5u32));
        let mut seen = [false; 3];
        for _ in 0..100 {
            let x = a.between(&lo, &hi).unwrap();
            assert_eq!(Some(&x), b.between(&lo, &hi).as_ref());
            seen[(x - 3u32).to_usize().unwrap()] = true;
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!(a.between(&hi, &lo), None);
        let wide = BigUint::from(u128::MAX);
        assert!(a.between(&BigUint::zero(), &wide).unwrap() <= wide);
    }
}
