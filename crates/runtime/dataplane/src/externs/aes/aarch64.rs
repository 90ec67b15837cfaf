//! The code that uses the AES instructions of ARMv8 (Arm ARM, C7.2: AESE, AESMC).
//!
//! AESE adds the round key first, then substitutes and shifts rows; AESMC mixes columns. The last round key is thus added apart.

use core::arch::aarch64::*;
use std::ffi::c_void;

use super::{Aes128Key, Block, KeyOf, RoundKeys, RunAll, Schedule};

pub(super) fn available() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
}

impl RoundKeys {
    /// # Safety
    /// The processor has AES instructions.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    pub(super) unsafe fn encrypt(&self, block: u128) -> u128 {
        number(self.run(load(&block.to_be_bytes()), &self.rounds[0]))
    }

    /// # Safety
    /// The processor has AES instructions.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    pub(super) unsafe fn cmac_block(&self, block: u128) -> u128 {
        number(self.run(load(&block.to_be_bytes()), &self.cmac_first))
    }

    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn run(&self, block: uint8x16_t, first: &[u8; 16]) -> uint8x16_t {
        let [block] = self.run_each([block], first);
        block
    }

    /// Encrypts the blocks in parallel.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn run_each<const N: usize>(&self, blocks: [uint8x16_t; N], first: &[u8; 16]) -> [uint8x16_t; N] {
        let mut key = load(first);
        let mut state = blocks;
        for next in &self.rounds[1..10] {
            state = state.map(|s| vaesmcq_u8(vaeseq_u8(s, key)));
            key = load(next);
        }
        let last = load(&self.rounds[10]);
        state.map(|s| veorq_u8(vaeseq_u8(s, key), last))
    }

    /// Encrypts the N blocks of the group in parallel.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn run_group<const CMAC: bool, const N: usize>(&self, group: &mut [Block]) {
        assert_eq!(group.len(), N);
        let blocks = group.as_mut_ptr().cast::<u8>();
        // SAFETY: the group has N blocks of 16 bytes.
        let state = std::array::from_fn(|i| unsafe { vld1q_u8(blocks.add(16 * i)) });
        for (i, state) in self.run_each::<N>(state, self.first::<CMAC>()).into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { vst1q_u8(blocks.add(16 * i), state) };
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: 16 readable bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// A block as a big-endian number.
#[inline]
#[target_feature(enable = "neon")]
fn number(block: uint8x16_t) -> u128 {
    let mut bytes = [0; 16];
    // SAFETY: 16 writable bytes.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), block) };
    u128::from_be_bytes(bytes)
}

/// Reverses the bytes of a block, which converts it from or to a number.
#[inline]
#[target_feature(enable = "neon")]
fn reversed(block: uint8x16_t) -> uint8x16_t {
    let halves = vrev64q_u8(block);
    vextq_u8::<8>(halves, halves)
}

/// See [`super::CallInMemory`].
///
/// # Safety
/// The processor has AES instructions; the caller passes five limbs, and a state that suits `prepare`.
#[target_feature(enable = "neon,aes")]
pub(super) unsafe extern "C" fn call<K: KeyOf, const CMAC: bool>(state: *mut c_void, _: u32, args: *mut u64) {
    // SAFETY: guaranteed by the caller.
    let key = unsafe { &*super::prepare::<K>(state, args.read()).cast::<Aes128Key>() };
    let Schedule::Hardware(keys) = &key.0 else {
        // SAFETY: guaranteed by the caller.
        return unsafe { super::portable_call::<K, CMAC>(state, 0, args) };
    };
    // SAFETY: limbs 1 and 2 are the block, least significant first.
    let value = unsafe { vld1q_u8(args.add(1).cast()) };
    let result = reversed(keys.run(reversed(value), keys.first::<CMAC>()));
    // SAFETY: limbs 3 and 4 are for the result.
    unsafe { vst1q_u8(args.add(3).cast(), result) };
}

/// See [`hopwright_abi::BlockMethod::run`].
///
/// # Safety
/// The processor has AES instructions; `key` is from `prepare`, and the caller has not left the domain since.
#[target_feature(enable = "neon,aes")]
pub(super) unsafe extern "C" fn run_prepared<const CMAC: bool>(key: *const c_void, first: u64, second: u64) -> Block {
    // SAFETY: guaranteed by the caller.
    let Schedule::Hardware(keys) = &unsafe { &*key.cast::<Aes128Key>() }.0 else {
        // SAFETY: guaranteed by the caller.
        return unsafe { super::run_prepared::<CMAC>(key, first, second) };
    };
    let block = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)));
    let state = vreinterpretq_u64_u8(keys.run(block, keys.first::<CMAC>()));
    Block { first: vgetq_lane_u64::<0>(state), second: vgetq_lane_u64::<1>(state) }
}

/// The fastest `run_all` of this processor.
pub(super) fn fastest_run_all<const CMAC: bool>() -> RunAll {
    run_all::<CMAC>
}

/// See [`hopwright_abi::BlockMethod::run_all`].
///
/// # Safety
/// The processor has AES instructions; `key` is from `prepare`, and the caller has not left the domain since; `blocks` points to
/// `count` blocks.
#[target_feature(enable = "neon,aes")]
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

/// The round constants (FIPS 197, section 5.2).
const CONSTANTS: [u32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Computes the round keys of a key.
///
/// # Safety
/// The processor has AES instructions.
#[inline]
#[target_feature(enable = "neon,aes")]
pub(super) unsafe fn expand(key: &[u8; 16], rounds: &mut [[u8; 16]; 11]) {
    rounds[0] = *key;
    let mut columns: [u32; 4] =
        std::array::from_fn(|i| u32::from_le_bytes([key[4 * i], key[4 * i + 1], key[4 * i + 2], key[4 * i + 3]]));
    for (to, constant) in rounds[1..].iter_mut().zip(CONSTANTS) {
        // In a state of four equal columns AESE shifts nothing, so that it only substitutes.
        let state = vaeseq_u8(vreinterpretq_u8_u32(vdupq_n_u32(columns[3])), vdupq_n_u8(0));
        let mut before = vgetq_lane_u32::<0>(vreinterpretq_u32_u8(state)).rotate_right(8) ^ constant;
        for (column, bytes) in columns.iter_mut().zip(to.chunks_exact_mut(4)) {
            *column ^= before;
            before = *column;
            bytes.copy_from_slice(&column.to_le_bytes());
        }
    }
}

/// See [`super::encrypt_once`].
///
/// # Safety
/// The processor has AES instructions.
#[target_feature(enable = "neon,aes")]
pub(super) unsafe fn encrypt_once(key: u128, block: u128) -> u128 {
    let mut keys = [[0; 16]; 11];
    // SAFETY: guaranteed by the caller.
    unsafe { expand(&key.to_be_bytes(), &mut keys) };
    let mut state = load(&block.to_be_bytes());
    for key in &keys[..9] {
        state = vaesmcq_u8(vaeseq_u8(state, load(key)));
    }
    number(veorq_u8(vaeseq_u8(state, load(&keys[9])), load(&keys[10])))
}
