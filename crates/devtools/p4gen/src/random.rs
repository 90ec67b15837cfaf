//! Deterministic random choices.

/// SplitMix64 with a few conveniences.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From `lo` to `hi`, both included.
    pub(crate) fn between(&mut self, lo: usize, hi: usize) -> usize {
        lo + self.below(hi - lo + 1)
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of a list that is not empty.
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A value of at most 128 bits; ends of the range, single bits and small numbers are likely.
    pub(crate) fn value(&mut self, width: u32) -> u128 {
        let width = width.min(128);
        let all = if width == 128 { u128::MAX } else { (1 << width) - 1 };
        let value = match self.below(8) {
            0 => 0,
            1 => all,
            2 => 1,
            3 => 1 << self.below(width.max(1) as usize),
            4 => all >> 1,
            5 => self.below(16) as u128,
            _ => u128::from(self.next()) << 64 | u128::from(self.next()),
        };
        value & all
    }
}
