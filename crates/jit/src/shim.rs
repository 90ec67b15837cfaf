//! Functions that generated code calls for what is not worth generating. They take and give 64-bit words.

use std::cell::RefCell;

use hopwright_ir::{HashAlgorithm, hash as algorithms};
use num_bigint::BigUint;
use num_traits::Zero;

const ALGORITHMS: [HashAlgorithm; 8] = [
    HashAlgorithm::Crc32,
    HashAlgorithm::Crc32Custom,
    HashAlgorithm::Crc16,
    HashAlgorithm::Crc16Custom,
    HashAlgorithm::Random,
    HashAlgorithm::Identity,
    HashAlgorithm::Csum16,
    HashAlgorithm::Xor16,
];

/// How generated code names an algorithm.
pub(crate) fn algorithm_code(algorithm: HashAlgorithm) -> u64 {
    ALGORITHMS.iter().position(|&a| a == algorithm).unwrap_or(0) as u64
}

/// A byte string that generated code points to.
///
/// # Safety
/// `address` must be valid for reads of `length` bytes for as long as the result is used.
unsafe fn bytes<'a>(address: *const u8, length: u64) -> &'a [u8] {
    // SAFETY: the caller's promise; a zero length never dereferences.
    unsafe { std::slice::from_raw_parts(address, length as usize) }
}

/// Copies bytes between places that may overlap.
///
/// # Safety
/// Both must be valid for `length` bytes.
pub(crate) unsafe extern "C" fn copy(to: *mut u8, from: *const u8, length: u64) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(from, to, length as usize) }
}

/// 1 if two byte strings are the same.
///
/// # Safety
/// Both must be valid for reads.
pub(crate) unsafe extern "C" fn same_bytes(a: *const u8, a_length: u64, b: *const u8, b_length: u64) -> u64 {
    // SAFETY: the caller's promise.
    u64::from(unsafe { bytes(a, a_length) == bytes(b, b_length) })
}

/// Divides `words[..n]` by `words[n..2 * n]` into `words[2 * n..]`: the quotient or the remainder, zero for a zero
/// divisor.
///
/// # Safety
/// `words` must be valid for `3 * n` words.
pub(crate) unsafe extern "C" fn divide(n: u64, remainder: u64, words: *mut u64) {
    let n = n as usize;
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts_mut(words, 3 * n) };
    let number = |limbs: &[u64]| BigUint::new(limbs.iter().flat_map(|&l| [l as u32, (l >> 32) as u32]).collect());
    let (a, b) = (number(&words[..n]), number(&words[n..2 * n]));
    let result = match (b.is_zero(), remainder != 0) {
        (true, _) => BigUint::ZERO,
        (false, true) => a % b,
        (false, false) => a / b,
    };
    let digits = result.to_u64_digits();
    for (i, word) in words[2 * n..].iter_mut().enumerate() {
        *word = digits.get(i).copied().unwrap_or(0);
    }
}

/// A hash over bytes.
///
/// # Safety
/// `data` must be valid for reads of `length` bytes.
pub(crate) unsafe extern "C" fn hash(algorithm: u64, data: *const u8, length: u64) -> u64 {
    // SAFETY: the caller's promise.
    algorithms::hash(ALGORITHMS[algorithm as usize % 8], unsafe { bytes(data, length) })
}

/// A checksum over bytes and then the payload.
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
    // SAFETY: the caller's promise.
    let whole = unsafe { [bytes(data, length), bytes(payload, payload_length)] }.concat();
    algorithms::hash(ALGORITHMS[algorithm as usize % 8], &whole)
}

thread_local! {
    static RANDOM: RefCell<algorithms::Random> = RefCell::new(algorithms::Random::new(0));
}

/// A number from `lo` to `hi`; `lo` if there is none.
pub(crate) extern "C" fn random(lo: u64, hi: u64) -> u64 {
    let drawn = RANDOM.with(|r| r.borrow_mut().between(&lo.into(), &hi.into()));
    drawn.and_then(|v| u64::try_from(v).ok()).unwrap_or(lo)
}
