//! Values as 64-bit limbs, least significant first. Unused high bits are zero.

use num_bigint::BigUint;

/// The number of limbs of a value of `width` bits.
pub fn limbs_of(width: u32) -> usize {
    (width as usize).div_ceil(64)
}

/// Appends a value as `count` limbs. Excess high bits are dropped; callers check widths.
pub fn push_limbs(to: &mut Vec<u64>, value: &BigUint, count: usize) {
    let mut digits = value.iter_u64_digits();
    to.extend((0..count).map(|_| digits.next().unwrap_or(0)));
}

/// Returns the value of a sequence of limbs.
pub fn from_limbs(limbs: &[u64]) -> BigUint {
    BigUint::new(limbs.iter().flat_map(|l| [*l as u32, (*l >> 32) as u32]).collect())
}
