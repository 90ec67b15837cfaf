//! Library functions that generated code calls. They take and return 64-bit words.

use std::cell::RefCell;

use hopwright_ir::{HashAlgorithm, hash as algorithms};
#[cfg(test)]
use num_bigint::BigUint;

/// The number of an algorithm in calls.
pub(crate) fn algorithm_code(algorithm: HashAlgorithm) -> u64 {
    HashAlgorithm::ALL.iter().position(|&a| a == algorithm).unwrap_or(0) as u64
}

/// The functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Libcall {
    Copy,
    SameBytes,
    Divide,
    Hash,
    CustomCrc,
    Checksum,
    Random,
    AppendBits,
    ReplaceVarbit,
}

impl Libcall {
    /// All functions. The index plus one is the function's symbol number.
    pub(crate) const ALL: [Libcall; 9] = [
        Libcall::Copy,
        Libcall::SameBytes,
        Libcall::Divide,
        Libcall::Hash,
        Libcall::CustomCrc,
        Libcall::Checksum,
        Libcall::Random,
        Libcall::AppendBits,
        Libcall::ReplaceVarbit,
    ];

    /// The function's address in this process.
    pub(crate) fn address(self) -> u64 {
        let function = match self {
            Libcall::Copy => copy as *const (),
            Libcall::SameBytes => same_bytes as *const (),
            Libcall::Divide => divide as *const (),
            Libcall::Hash => hash as *const (),
            Libcall::CustomCrc => custom_crc as *const (),
            Libcall::Checksum => checksum as *const (),
            Libcall::Random => random as *const (),
            Libcall::AppendBits => append_bits as *const (),
            Libcall::ReplaceVarbit => replace_varbit as *const (),
        };
        function as u64
    }
}

/// A byte string given by address and length.
///
/// # Safety
/// `address` must be valid for reads of `length` bytes for as long as the result is used.
unsafe fn bytes<'a>(address: *const u8, length: u64) -> &'a [u8] {
    // SAFETY: guaranteed by the caller; a zero length never dereferences.
    unsafe { std::slice::from_raw_parts(address, length as usize) }
}

/// Copies bytes between regions that may overlap.
///
/// # Safety
/// Both must be valid for `length` bytes.
pub(crate) unsafe extern "C" fn copy(to: *mut u8, from: *const u8, length: u64) {
    // SAFETY: guaranteed by the caller.
    unsafe { std::ptr::copy(from, to, length as usize) }
}

/// Returns 1 if two byte strings are equal.
///
/// # Safety
/// Both must be valid for reads.
pub(crate) unsafe extern "C" fn same_bytes(a: *const u8, a_length: u64, b: *const u8, b_length: u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    u64::from(unsafe { bytes(a, a_length) == bytes(b, b_length) })
}

/// Divides `words[..n]` by `words[n..2 * n]` and writes the quotient or the remainder to `words[2 * n..]`. It is zero
/// for a zero divisor. The other words are overwritten.
///
/// # Safety
/// `words` must be valid for `3 * n` words.
pub(crate) unsafe extern "C" fn divide(n: u64, remainder: u64, words: *mut u64) {
    let n = n as usize;
    // SAFETY: guaranteed by the caller.
    let words = unsafe { std::slice::from_raw_parts_mut(words, 3 * n) };
    let (a, rest) = words.split_at_mut(n);
    let (b, r) = rest.split_at_mut(n);
    r.fill(0);
    if b.iter().all(|&limb| limb == 0) {
        return;
    }
    // Bit by bit: the quotient replaces the dividend.
    for at in (0..64 * n).rev() {
        let (limb, bit) = (at / 64, at % 64);
        let mut carry = a[limb] >> bit & 1;
        for x in r.iter_mut() {
            (*x, carry) = (*x << 1 | carry, *x >> 63);
        }
        let fits = carry == 1 || r.iter().rev().ge(b.iter().rev());
        if fits {
            let mut borrow = false;
            for (x, &y) in r.iter_mut().zip(b.iter()) {
                let (difference, below) = x.overflowing_sub(y);
                let (difference, still) = difference.overflowing_sub(u64::from(borrow));
                (*x, borrow) = (difference, below || still);
            }
        }
        a[limb] = a[limb] & !(1 << bit) | u64::from(fits) << bit;
    }
    if remainder == 0 {
        r.copy_from_slice(a);
    }
}

/// The hash of bytes.
///
/// # Safety
/// `data` must be valid for reads of `length` bytes.
pub(crate) unsafe extern "C" fn hash(algorithm: u64, data: *const u8, length: u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    algorithms::hash(HashAlgorithm::ALL[algorithm as usize % 8], unsafe { bytes(data, length) })
}

/// The CRC of bytes with the parameters in two words.
///
/// # Safety
/// `data` must be valid for reads of `length` bytes.
pub(crate) unsafe extern "C" fn custom_crc(
    algorithm: u64,
    first: u64,
    second: u64,
    data: *const u8,
    length: u64,
) -> u64 {
    let algorithm = HashAlgorithm::ALL[algorithm as usize % 8];
    // SAFETY: guaranteed by the caller.
    u64::from(hopwright_ir::custom_crc::crc(algorithm, [first, second], unsafe { bytes(data, length) }))
}

/// The checksum of bytes followed by the payload.
///
/// # Safety
/// Both must be valid for reads.
pub(crate) unsafe extern "C" fn checksum(
    algorithm: u64,
    data: *const u8,
    length: u64,
    payload: *const u8,
    payload_length: u64,
) -> u64 {
    // SAFETY: guaranteed by the caller.
    let (data, payload) = unsafe { (bytes(data, length), bytes(payload, payload_length)) };
    algorithms::hash_of_both(HashAlgorithm::ALL[algorithm as usize % 8], data, payload)
}

thread_local! {
    static RANDOM: RefCell<algorithms::Random> = RefCell::new(algorithms::Random::new(0));
}

/// Writes a random number from `words[..n]` to `words[n..2 * n]` (inclusive) to `words[2 * n..]`. Returns 0 if the
/// range is empty.
///
/// # Safety
/// `words` must be valid for `3 * n` words.
pub(crate) unsafe extern "C" fn random(n: u64, words: *mut u64) -> u64 {
    let n = n as usize;
    // SAFETY: guaranteed by the caller.
    let words = unsafe { std::slice::from_raw_parts_mut(words, 3 * n) };
    let (bounds, out) = words.split_at_mut(2 * n);
    let (lo, hi) = bounds.split_at(n);
    RANDOM.with(|r| u64::from(r.borrow_mut().between_limbs(lo, hi, out)))
}

/// Appends bits, most significant first, to the first `at` bits of `to`, and pads with zeros to a whole byte. Returns
/// the new number of bits.
///
/// # Safety
/// `from` must be valid for `count` bits, `to` for `at + count`.
pub(crate) unsafe extern "C" fn append_bits(to: *mut u8, at: u64, from: *const u8, count: u64) -> u64 {
    let end = at + count;
    // SAFETY: guaranteed by the caller.
    let (to, from) = unsafe {
        let to = std::slice::from_raw_parts_mut(to.add((at / 8) as usize), (end.div_ceil(8) - at / 8) as usize);
        (to, bytes(from, count.div_ceil(8)))
    };
    let shift = at % 8;
    if shift == 0 {
        to.copy_from_slice(from);
    } else {
        let mut carry = to[0] & !(0xff >> shift);
        for (i, place) in to.iter_mut().enumerate() {
            let byte = from.get(i).copied().unwrap_or(0);
            *place = carry | byte >> shift;
            carry = byte << (8 - shift);
        }
    }
    if let (Some(last), 1..) = (to.last_mut(), end % 8) {
        *last &= !(0xff >> (end % 8));
    }
    end
}

/// Replaces a header's varbit field: writes to `to` the first `head` bytes of `from`, `length` bytes of `new`, and the
/// `tail` bytes that follow `head + old` bytes of `from`. `from` equals `to` or does not overlap what is written; `new`
/// may be the current varbit field.
///
/// # Safety
/// All must be valid for these bytes.
pub(crate) unsafe extern "C" fn replace_varbit(
    to: *mut u8,
    from: *const u8,
    head: u64,
    old: u64,
    tail: u64,
    new: *const u8,
    length: u64,
) {
    let (head, old, tail, length) = (head as usize, old as usize, tail as usize, length as usize);
    // SAFETY: guaranteed by the caller. If `new` lies in `to` it is the varbit field itself, and nothing moves.
    unsafe {
        std::ptr::copy(from.add(head + old), to.add(head + length), tail);
        std::ptr::copy(new, to.add(head), length);
        std::ptr::copy(from, to, head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_appended_one_behind_the_other() {
        let source: Vec<u8> = (0..9u32).map(|n| (n * 91 + 0x53) as u8).collect();
        let bit = |of: &[u8], at: u64| of[(at / 8) as usize] >> (7 - at % 8) & 1;
        for first in 0..20 {
            for second in 0..30 {
                let mut out = [0xffu8; 8];
                // SAFETY: both are long enough.
                let end = unsafe {
                    let at = append_bits(out.as_mut_ptr(), 0, source.as_ptr(), first);
                    append_bits(out.as_mut_ptr(), at, source[3..].as_ptr(), second)
                };
                assert_eq!(end, first + second);
                for at in 0..end.next_multiple_of(8) {
                    let wanted = match at {
                        _ if at < first => bit(&source, at),
                        _ if at < end => bit(&source[3..], at - first),
                        _ => 0,
                    };
                    assert_eq!(bit(&out, at), wanted, "{first} and {second} bits: bit {at}");
                }
            }
        }
    }

    #[test]
    fn division_is_that_of_numbers() {
        let mut random = algorithms::Random::new(5);
        for round in 0..500u32 {
            let mut words = [0u64; 9];
            for (i, word) in words[..6].iter_mut().enumerate() {
                // Short divisors and long ones.
                let keep = i < 3 || i < 4 + (round % 3) as usize;
                *word = if keep { random.next_u64() >> (round % 64) } else { 0 };
            }
            let number =
                |limbs: &[u64]| BigUint::new(limbs.iter().flat_map(|&l| [l as u32, (l >> 32) as u32]).collect());
            let (a, b) = (number(&words[..3]), number(&words[3..6]));
            let wanted = if b == BigUint::ZERO { [b.clone(), b] } else { [&a / &b, &a % &b] };
            for (which, wanted) in wanted.iter().enumerate() {
                let mut words = words;
                // SAFETY: nine words.
                unsafe { divide(3, which as u64, words.as_mut_ptr()) };
                assert_eq!(number(&words[6..]), *wanted, "{a} and {}", number(&words[3..6]));
            }
        }
    }
}
