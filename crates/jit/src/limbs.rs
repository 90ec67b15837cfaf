//! Values as 64-bit limbs, the form generated code and tables use: least significant first, unused high bits zero.

use num_bigint::BigUint;

/// Limbs of a value of `width` bits.
pub fn limbs_of(width: u32) -> usize {
    (width as usize).div_ceil(64)
}

/// Appends a value in `count` limbs. What does not fit is cut off; callers check widths before.
pub fn push_limbs(to: &mut Vec<u64>, value: &BigUint, count: usize) {
    let mut digits = value.iter_u64_digits();
    to.extend((0..count).map(|_| digits.next().unwrap_or(0)));
}

/// A value from its limbs.
pub fn from_limbs(limbs: &[u64]) -> BigUint {
    BigUint::new(limbs.iter().flat_map(|l| [*l as u32, (*l >> 32) as u32]).collect())
}
