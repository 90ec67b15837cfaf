//! The code that uses AES-NI, and VAES where the processor has it.

use core::arch::x86_64::*;
use std::ffi::c_void;

use super::{Aes128Key, Block, KeyOf, RoundKeys, RunAll, Schedule};

pub(super) fn available() -> bool {
    is_x86_feature_detected!("aes") && is_x86_feature_detected!("ssse3")
}

impl RoundKeys {
    /// # Safety
    /// The processor has AES-NI and SSSE3.
    #[inline]
    #[target_feature(enable = "aes,ssse3")]
    pub(super) unsafe fn encrypt(&self, block: u128) -> u128 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.run(block, &self.rounds[0]) }
    }

    /// # Safety
    /// The processor has AES-NI and SSSE3.
    #[inline]
    #[target_feature(enable = "aes,ssse3")]
    pub(super) unsafe fn cmac_block(&self, block: u128) -> u128 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.run(block, &self.cmac_first) }
    }

    /// # Safety
    /// The processor has AES-NI and SSSE3.
    #[inline]
    #[target_feature(enable = "aes,ssse3")]
    unsafe fn run(&self, block: u128, first: &[u8; 16]) -> u128 {
        let value = _mm_set_epi64x((block >> 64) as i64, block as i64);
        let state = reversed(self.rounds(reversed(value), first));
        let low = _mm_cvtsi128_si64(state) as u64;
        let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(state, state)) as u64;
        u128::from(high) << 64 | u128::from(low)
    }

    #[inline]
    #[target_feature(enable = "aes,ssse3")]
    fn rounds(&self, value: __m128i, first: &[u8; 16]) -> __m128i {
        let load = |bytes: &[u8; 16]| {
            // SAFETY: 16 readable bytes, which are part of `self` and 16-byte aligned like all its parts.
            unsafe { _mm_load_si128(bytes.as_ptr().cast()) }
        };
        let mut state = _mm_xor_si128(value, load(first));
        for round in &self.rounds[1..10] {
            state = _mm_aesenc_si128(state, load(round));
        }
        _mm_aesenclast_si128(state, load(&self.rounds[10]))
    }
}

/// Reverses the bytes of a block, which converts it from or to a number.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn reversed(value: __m128i) -> __m128i {
    _mm_shuffle_epi8(value, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
}

impl RoundKeys {
    /// Encrypts the N blocks of the group in parallel.
    #[inline]
    #[target_feature(enable = "aes,ssse3")]
    fn run_group<const CMAC: bool, const N: usize>(&self, group: &mut [Block]) {
        assert_eq!(group.len(), N);
        let load = |bytes: &[u8; 16]| {
            // SAFETY: 16 readable bytes.
            unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
        };
        let blocks = group.as_mut_ptr().cast::<__m128i>();
        let first = load(self.first::<CMAC>());
        let mut state: [__m128i; N] = std::array::from_fn(|i| {
            // SAFETY: the group has N blocks of 16 bytes.
            let block = unsafe { _mm_loadu_si128(blocks.add(i)) };
            _mm_xor_si128(block, first)
        });
        for round in &self.rounds[1..10] {
            let round = load(round);
            state = state.map(|s| _mm_aesenc_si128(s, round));
        }
        let last = load(&self.rounds[10]);
        for (i, state) in state.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(blocks.add(i), _mm_aesenclast_si128(state, last)) };
        }
    }

    /// Encrypts the 2 * N blocks of the group in parallel.
    #[inline]
    #[target_feature(enable = "aes,ssse3,vaes,avx2")]
    fn run_pairs<const CMAC: bool, const N: usize>(&self, group: &mut [Block]) {
        assert_eq!(group.len(), 2 * N);
        let load = |bytes: &[u8; 16]| {
            // SAFETY: 16 readable bytes.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        };
        let pairs = group.as_mut_ptr().cast::<__m256i>();
        let first = load(self.first::<CMAC>());
        let mut state: [__m256i; N] = std::array::from_fn(|i| {
            // SAFETY: the group has N pairs of blocks of 16 bytes.
            let pair = unsafe { _mm256_loadu_si256(pairs.add(i)) };
            _mm256_xor_si256(pair, first)
        });
        for round in &self.rounds[1..10] {
            let round = load(round);
            state = state.map(|s| _mm256_aesenc_epi128(s, round));
        }
        let last = load(&self.rounds[10]);
        for (i, state) in state.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(pairs.add(i), _mm256_aesenclast_epi128(state, last)) };
        }
    }
}

/// See [`super::CallInMemory`].
///
/// # Safety
/// The processor has AES-NI and SSSE3; the caller passes five limbs, and a state that suits `prepare`.
#[target_feature(enable = "aes,ssse3")]
pub(super) unsafe extern "C" fn call<K: KeyOf, const CMAC: bool>(state: *mut c_void, _: u32, args: *mut u64) {
    // SAFETY: guaranteed by the caller.
    let key = unsafe { &*super::prepare::<K>(state, args.read()).cast::<Aes128Key>() };
    let Schedule::Hardware(keys) = &key.0 else {
        // SAFETY: guaranteed by the caller.
        return unsafe { super::portable_call::<K, CMAC>(state, 0, args) };
    };
    // SAFETY: limbs 1 and 2 are the block, least significant first; the load may be unaligned.
    let value = unsafe { _mm_loadu_si128(args.add(1).cast()) };
    let result = reversed(keys.rounds(reversed(value), keys.first::<CMAC>()));
    // SAFETY: limbs 3 and 4 are for the result.
    unsafe { _mm_storeu_si128(args.add(3).cast(), result) };
}

/// See [`hopwright_abi::BlockMethod::run`].
///
/// # Safety
/// The processor has AES-NI and SSSE3; `key` is from `prepare`, and the caller has not left the domain since.
#[target_feature(enable = "aes,ssse3")]
pub(super) unsafe extern "C" fn run_prepared<const CMAC: bool>(key: *const c_void, first: u64, second: u64) -> Block {
    // SAFETY: guaranteed by the caller.
    let Schedule::Hardware(keys) = &unsafe { &*key.cast::<Aes128Key>() }.0 else {
        // SAFETY: guaranteed by the caller.
        return unsafe { super::run_prepared::<CMAC>(key, first, second) };
    };
    let state = keys.rounds(_mm_set_epi64x(second as i64, first as i64), keys.first::<CMAC>());
    let second = _mm_cvtsi128_si64(_mm_unpackhi_epi64(state, state)) as u64;
    Block { first: _mm_cvtsi128_si64(state) as u64, second }
}

/// The fastest `run_all` of this processor.
pub(super) fn fastest_run_all<const CMAC: bool>() -> RunAll {
    if has_vaes() { run_all_wide::<CMAC> } else { run_all::<CMAC> }
}

pub(super) fn has_vaes() -> bool {
    available() && is_x86_feature_detected!("vaes") && is_x86_feature_detected!("avx2")
}

/// See [`hopwright_abi::BlockMethod::run_all`].
///
/// # Safety
/// The processor has AES-NI and SSSE3; `key` is from `prepare`, and the caller has not left the domain since;
/// `blocks` points to `count` blocks.
#[target_feature(enable = "aes,ssse3")]
pub(super) unsafe extern "C" fn run_all<const CMAC: bool>(key: *const c_void, blocks: *mut Block, count: usize) {
    // SAFETY: guaranteed by the caller.
    let Schedule::Hardware(keys) = &unsafe { &*key.cast::<Aes128Key>() }.0 else {
        // SAFETY: guaranteed by the caller.
        return unsafe { super::run_all::<CMAC>(key, blocks, count) };
    };
    // SAFETY: guaranteed by the caller.
    let mut groups = unsafe { std::slice::from_raw_parts_mut(blocks, count) }.chunks_exact_mut(8);
    for group in &mut groups {
        keys.run_group::<CMAC, 8>(group);
    }
    for block in groups.into_remainder() {
        keys.run_group::<CMAC, 1>(std::slice::from_mut(block));
    }
}

/// [`run_all`] with two blocks per instruction.
///
/// # Safety
/// As for [`run_all`]; the processor has VAES and AVX2.
#[target_feature(enable = "aes,ssse3,vaes,avx2")]
pub(super) unsafe extern "C" fn run_all_wide<const CMAC: bool>(key: *const c_void, blocks: *mut Block, count: usize) {
    // SAFETY: guaranteed by the caller.
    let Schedule::Hardware(keys) = &unsafe { &*key.cast::<Aes128Key>() }.0 else {
        // SAFETY: guaranteed by the caller.
        return unsafe { super::run_all::<CMAC>(key, blocks, count) };
    };
    // SAFETY: guaranteed by the caller.
    let mut groups = unsafe { std::slice::from_raw_parts_mut(blocks, count) }.chunks_exact_mut(16);
    for group in &mut groups {
        keys.run_pairs::<CMAC, 8>(group);
    }
    let mut groups = groups.into_remainder().chunks_exact_mut(8);
    for group in &mut groups {
        keys.run_pairs::<CMAC, 4>(group);
    }
    let mut pairs = groups.into_remainder().chunks_exact_mut(2);
    for pair in &mut pairs {
        keys.run_pairs::<CMAC, 1>(pair);
    }
    for block in pairs.into_remainder() {
        keys.run_group::<CMAC, 1>(std::slice::from_mut(block));
    }
}

/// Computes the next round key; `CONSTANT` is that round's constant.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn next_round<const CONSTANT: i32>(key: __m128i) -> __m128i {
    let assist = _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, CONSTANT), 0xff);
    let key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    let key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    _mm_xor_si128(key, assist)
}

#[inline]
#[target_feature(enable = "aes,ssse3")]
fn round_keys(first: __m128i) -> [__m128i; 11] {
    let mut keys = [first; 11];
    keys[1] = next_round::<0x01>(keys[0]);
    keys[2] = next_round::<0x02>(keys[1]);
    keys[3] = next_round::<0x04>(keys[2]);
    keys[4] = next_round::<0x08>(keys[3]);
    keys[5] = next_round::<0x10>(keys[4]);
    keys[6] = next_round::<0x20>(keys[5]);
    keys[7] = next_round::<0x40>(keys[6]);
    keys[8] = next_round::<0x80>(keys[7]);
    keys[9] = next_round::<0x1b>(keys[8]);
    keys[10] = next_round::<0x36>(keys[9]);
    keys
}

/// Computes the round keys of a key.
///
/// # Safety
/// The processor has AES-NI and SSSE3.
#[target_feature(enable = "aes,ssse3")]
pub(super) unsafe fn expand(key: &[u8; 16], rounds: &mut [[u8; 16]; 11]) {
    // SAFETY: 16 readable bytes.
    let first = unsafe { _mm_loadu_si128(key.as_ptr().cast()) };
    for (to, key) in rounds.iter_mut().zip(round_keys(first)) {
        // SAFETY: 16 writable bytes.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), key) }
    }
}

/// See [`super::encrypt_once`]. The round keys stay in registers.
///
/// # Safety
/// The processor has AES-NI and SSSE3.
#[target_feature(enable = "aes,ssse3")]
pub(super) unsafe fn encrypt_once(key: u128, block: u128) -> u128 {
    let bytes = |n: u128| reversed(_mm_set_epi64x((n >> 64) as i64, n as i64));
    let keys = round_keys(bytes(key));
    let mut state = _mm_xor_si128(bytes(block), keys[0]);
    for key in &keys[1..10] {
        state = _mm_aesenc_si128(state, *key);
    }
    let state = reversed(_mm_aesenclast_si128(state, keys[10]));
    let low = _mm_cvtsi128_si64(state) as u64;
    let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(state, state)) as u64;
    u128::from(high) << 64 | u128::from(low)
}
