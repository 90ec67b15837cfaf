//! Pseudo-random numbers for `random`: the same in each run, so that engines can be compared.

use num_bigint::BigUint;

/// SplitMix64.
#[derive(Clone, Debug, Default)]
pub(crate) struct Random(u64);

/// A hash of data: eight bytes at a time change the state.
pub(crate) fn hash(data: &[u8]) -> u64 {
    let mut random = Random(data.len() as u64);
    for bytes in data.chunks(8) {
        random.0 = random.next() ^ bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    }
    random.next()
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number from `low` to `high`, both included; `None` if there is none. A range of more than 2^64 numbers takes two
    /// draws, the higher half first.
    pub(crate) fn between(&mut self, low: &BigUint, high: &BigUint) -> Option<BigUint> {
        if low > high {
            return None;
        }
        let count = high - low + 1u32;
        let mut drawn = BigUint::from(self.next());
        if count.bits() > 65 || count > BigUint::from(1u128 << 64) {
            drawn = (drawn << 64) + self.next();
        }
        Some(low + drawn % count)
    }
}
