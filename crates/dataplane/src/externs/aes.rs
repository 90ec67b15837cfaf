//! AES-128 with a precomputed key schedule: AES-NI if the processor has it, the portable RustCrypto code otherwise.
//!
//! AES-CMAC (RFC 4493) of a message of exactly one block is the encryption of the block XOR the subkey K1. The schedule
//! therefore includes K1, already combined with the first round key.
//!
//! The `aes` crate does not do: it encrypts several blocks at once only under a single key, and with VAES only 30 or 64
//! at a time; it encrypts the blocks of smaller batches one by one. `benches/aes.rs` compares the two.

use std::ffi::c_void;
use std::fmt;

use hopwright_abi::{Block, BlockMethod};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::round_keys;
use crate::sync::quiescence::Inside;

/// An expanded AES-128 key. It cannot be read back, and is wiped when dropped.
pub struct Aes128Key(Schedule);

enum Schedule {
    #[cfg(target_arch = "x86_64")]
    Hardware(Box<x86::RoundKeys>),
    Portable(Box<Portable>),
}

struct Portable {
    cipher: aes::Aes128,
    subkey: [u8; 16],
    rounds: [[u8; 16]; 11],
}

impl Drop for Portable {
    fn drop(&mut self) {
        // The cipher wipes its own memory.
        self.subkey.zeroize();
        self.rounds.zeroize();
    }
}

fn assert_wipes<T: ZeroizeOnDrop>() {}

/// Doubles in GF(2^128), RFC 4493 section 2.3.
fn double(block: [u8; 16]) -> [u8; 16] {
    let value = u128::from_be_bytes(block);
    let carry = if value >> 127 == 1 { 0x87 } else { 0 };
    ((value << 1) ^ carry).to_be_bytes()
}

impl Aes128Key {
    /// Expands a key.
    pub fn new(key: &[u8; 16]) -> Aes128Key {
        #[cfg(target_arch = "x86_64")]
        if x86::available() {
            return Aes128Key(Schedule::Hardware(x86::RoundKeys::new(key)));
        }
        Aes128Key::portable(key)
    }

    /// Expands a key for the portable code, regardless of the processor.
    pub fn portable(key: &[u8; 16]) -> Aes128Key {
        use aes::cipher::{BlockEncrypt, KeyInit};
        assert_wipes::<aes::Aes128>();
        let cipher = aes::Aes128::new(key.into());
        let mut zero = aes::Block::default();
        cipher.encrypt_block(&mut zero);
        let subkey = double(zero.into());
        zero.as_mut_slice().zeroize();
        Aes128Key(Schedule::Portable(Box::new(Portable { cipher, subkey, rounds: round_keys::expand(key) })))
    }

    /// Encrypts one block, given as a big-endian number.
    #[inline]
    pub fn encrypt(&self, block: u128) -> u128 {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: hardware schedules are only created if the processor has AES-NI.
            Schedule::Hardware(keys) => unsafe { keys.encrypt(block) },
            Schedule::Portable(keys) => keys.encrypt(block),
        }
    }

    /// The key of a round of AES-CMAC of a message of exactly one block: that of round 0 includes the subkey. 0 beyond round 10.
    pub(super) fn cmac_round_key(&self, round: usize) -> u128 {
        let key = match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Schedule::Hardware(keys) => keys.cmac_round(round),
            Schedule::Portable(keys) => keys.rounds.get(round),
        };
        let subkey = match &self.0 {
            Schedule::Portable(keys) if round == 0 => u128::from_be_bytes(keys.subkey),
            _ => 0,
        };
        key.map_or(0, |key| u128::from_be_bytes(*key)) ^ subkey
    }

    /// Computes the AES-CMAC of a message of exactly one block, given as a big-endian number.
    #[inline]
    pub fn cmac_block(&self, block: u128) -> u128 {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `encrypt`.
            Schedule::Hardware(keys) => unsafe { keys.cmac_block(block) },
            Schedule::Portable(keys) => keys.encrypt(block ^ u128::from_be_bytes(keys.subkey)),
        }
    }
}

/// Encrypts one block, given as a big-endian number, under a key that is used only once.
#[inline]
pub(super) fn encrypt_once(key: u128, block: u128) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: the processor has the features.
        return unsafe { x86::encrypt_once(key, block) };
    }
    portable_encrypt_once(key, block)
}

fn portable_encrypt_once(key: u128, block: u128) -> u128 {
    use aes::cipher::{BlockEncrypt, KeyInit};
    let mut bytes = aes::Block::from(block.to_be_bytes());
    aes::Aes128::new(&key.to_be_bytes().into()).encrypt_block(&mut bytes);
    u128::from_be_bytes(bytes.into())
}

/// Called by generated code for one block. [`KeyOf::key_of`] finds the key in `state`. `args` are the key's index, the
/// block in two limbs, and two limbs for the result.
type CallInMemory = unsafe extern "C" fn(state: *mut c_void, method: u32, args: *mut u64);

/// Finds a caller's key.
pub(super) trait KeyOf {
    fn key_of<'a>(&'a self, index: u64, inside: Inside<'a>) -> &'a Aes128Key;
}

/// Returns the fastest code for single-block CMAC or encryption on this machine, with arguments in memory and in
/// registers. All keys must be created by [`Aes128Key::new`].
pub(super) fn block_calls<K: KeyOf, const CMAC: bool>() -> (CallInMemory, BlockMethod) {
    let prepare = prepare::<K>;
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        let run_all = if x86::has_vaes() { x86::run_all_wide::<CMAC> } else { x86::run_all::<CMAC> };
        return (x86::call::<K, CMAC>, BlockMethod { prepare, run: x86::run_prepared::<CMAC>, run_all });
    }
    (portable_call::<K, CMAC>, BlockMethod { prepare, run: run_prepared::<CMAC>, run_all: run_all::<CMAC> })
}

/// Returns the key.
///
/// # Safety
/// `state` is a live `K`, and the caller is inside its domain for as long as it uses the key.
unsafe extern "C" fn prepare<K: KeyOf>(state: *mut c_void, number: u64) -> *const c_void {
    // SAFETY: guaranteed by the caller.
    let (keys, inside) = unsafe { (&*state.cast_const().cast::<K>(), Inside::assume()) };
    std::ptr::from_ref(keys.key_of(number, inside)).cast()
}

/// See [`CallInMemory`].
///
/// # Safety
/// As for [`prepare`]; `args` points to five limbs.
unsafe extern "C" fn portable_call<K: KeyOf, const CMAC: bool>(state: *mut c_void, _: u32, args: *mut u64) {
    // SAFETY: the caller passes five limbs, and a state that suits `prepare`.
    unsafe {
        let key = prepare::<K>(state, args.read());
        let block = words(u128::from(args.add(2).read()) << 64 | u128::from(args.add(1).read()));
        let result = number(run_prepared::<CMAC>(key, block.first, block.second));
        args.add(3).write(result as u64);
        args.add(4).write((result >> 64) as u64);
    }
}

/// See [`BlockMethod::run`].
///
/// # Safety
/// `key` is from [`prepare`], and the caller has not left the domain since.
unsafe extern "C" fn run_prepared<const CMAC: bool>(key: *const c_void, first: u64, second: u64) -> Block {
    // SAFETY: guaranteed by the caller.
    let key = unsafe { &*key.cast::<Aes128Key>() };
    let block = number(Block { first, second });
    words(if CMAC { key.cmac_block(block) } else { key.encrypt(block) })
}

/// See [`BlockMethod::run_all`].
///
/// # Safety
/// `key` is from [`prepare`], and the caller has not left the domain since; `blocks` points to `count` blocks.
unsafe extern "C" fn run_all<const CMAC: bool>(key: *const c_void, blocks: *mut Block, count: usize) {
    // SAFETY: guaranteed by the caller.
    for block in unsafe { std::slice::from_raw_parts_mut(blocks, count) } {
        // SAFETY: guaranteed by the caller.
        *block = unsafe { run_prepared::<CMAC>(key, block.first, block.second) };
    }
}

fn number(block: Block) -> u128 {
    u128::from(u64::from_be(block.first)) << 64 | u128::from(u64::from_be(block.second))
}

fn words(number: u128) -> Block {
    Block { first: ((number >> 64) as u64).to_be(), second: (number as u64).to_be() }
}

impl Portable {
    fn encrypt(&self, block: u128) -> u128 {
        use aes::cipher::BlockEncrypt;
        let mut bytes = aes::Block::from(block.to_be_bytes());
        self.cipher.encrypt_block(&mut bytes);
        u128::from_be_bytes(bytes.into())
    }
}

impl fmt::Debug for Aes128Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes128Key(..)")
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The code that uses AES instructions.

    use core::arch::x86_64::*;
    use std::ffi::c_void;

    use zeroize::Zeroize;

    use super::{Aes128Key, Block, KeyOf, Schedule};

    /// Eleven round keys, and the first one XOR the CMAC subkey K1.
    #[repr(C, align(64))]
    pub(super) struct RoundKeys {
        rounds: [[u8; 16]; 11],
        cmac_first: [u8; 16],
    }

    pub(super) fn available() -> bool {
        is_x86_feature_detected!("aes") && is_x86_feature_detected!("ssse3")
    }

    impl Drop for RoundKeys {
        fn drop(&mut self) {
            self.rounds.zeroize();
            self.cmac_first.zeroize();
        }
    }

    impl RoundKeys {
        /// Panics unless [`available`].
        pub(super) fn new(key: &[u8; 16]) -> Box<RoundKeys> {
            assert!(available());
            let mut keys = Box::new(RoundKeys { rounds: [[0; 16]; 11], cmac_first: [0; 16] });
            // SAFETY: the processor has the features.
            unsafe { expand(key, &mut keys.rounds) };
            // SAFETY: as above; the round keys are complete.
            let subkey = super::double(unsafe { keys.encrypt(0) }.to_be_bytes());
            for (i, byte) in keys.cmac_first.iter_mut().enumerate() {
                *byte = subkey[i] ^ keys.rounds[0][i];
            }
            keys
        }

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
        /// The round key, the first one XOR K1.
        pub(super) fn cmac_round(&self, round: usize) -> Option<&[u8; 16]> {
            if round == 0 { Some(&self.cmac_first) } else { self.rounds.get(round) }
        }

        fn first<const CMAC: bool>(&self) -> &[u8; 16] {
            if CMAC { &self.cmac_first } else { &self.rounds[0] }
        }

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
    pub(super) unsafe extern "C" fn run_prepared<const CMAC: bool>(
        key: *const c_void,
        first: u64,
        second: u64,
    ) -> Block {
        // SAFETY: guaranteed by the caller.
        let Schedule::Hardware(keys) = &unsafe { &*key.cast::<Aes128Key>() }.0 else {
            // SAFETY: guaranteed by the caller.
            return unsafe { super::run_prepared::<CMAC>(key, first, second) };
        };
        let state = keys.rounds(_mm_set_epi64x(second as i64, first as i64), keys.first::<CMAC>());
        let second = _mm_cvtsi128_si64(_mm_unpackhi_epi64(state, state)) as u64;
        Block { first: _mm_cvtsi128_si64(state) as u64, second }
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
    pub(super) unsafe extern "C" fn run_all_wide<const CMAC: bool>(
        key: *const c_void,
        blocks: *mut Block,
        count: usize,
    ) {
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

    /// # Safety
    /// The processor has AES-NI and SSSE3.
    #[target_feature(enable = "aes,ssse3")]
    unsafe fn expand(key: &[u8; 16], rounds: &mut [[u8; 16]; 11]) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(key: u128) -> [Aes128Key; 2] {
        let key = key.to_be_bytes();
        [Aes128Key::new(&key), Aes128Key::portable(&key)]
    }

    #[test]
    fn fips_197_appendix_b_and_c() {
        for key in both(0x2b7e1516_28aed2a6_abf71588_09cf4f3c) {
            assert_eq!(key.encrypt(0x3243f6a8_885a308d_313198a2_e0370734), 0x3925841d_02dc09fb_dc118597_196a0b32);
        }
        for key in both(0x00010203_04050607_08090a0b_0c0d0e0f) {
            assert_eq!(key.encrypt(0x00112233_44556677_8899aabb_ccddeeff), 0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a);
        }
    }

    #[test]
    fn rfc_4493_section_4_one_block() {
        for key in both(0x2b7e1516_28aed2a6_abf71588_09cf4f3c) {
            assert_eq!(key.cmac_block(0x6bc1bee2_2e409f96_e93d7e11_7393172a), 0x070a16b4_6b4d4144_f79bdd9d_d04a287c);
        }
    }

    #[test]
    fn hardware_and_portable_agree() {
        let mut seed = 0x0123_4567_89ab_cdef_u128;
        for _ in 0..1000 {
            seed = seed.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            let [a, b] = both(seed);
            assert_eq!(a.encrypt(!seed), b.encrypt(!seed));
            assert_eq!(a.cmac_block(!seed), b.cmac_block(!seed));
            assert_eq!(encrypt_once(seed, !seed), a.encrypt(!seed));
            assert_eq!(portable_encrypt_once(seed, !seed), a.encrypt(!seed));
        }
    }

    #[test]
    fn many_blocks_are_as_one_and_one() {
        for key in both(0x2b7e1516_28aed2a6_abf71588_09cf4f3c) {
            let address = std::ptr::from_ref(&key).cast();
            for count in 0..40 {
                let given: Vec<u128> = (0..count).map(|i| 0x0123_4567_89ab_cdef_u128.wrapping_pow(i + 3)).collect();
                let check = |run: unsafe extern "C" fn(*const c_void, *mut Block, usize),
                             one: &dyn Fn(u128) -> u128| {
                    let mut blocks: Vec<Block> = given.iter().map(|n| words(*n)).collect();
                    // SAFETY: the key lives, and there are as many blocks as passed; the code was chosen for this
                    // processor.
                    unsafe { run(address, blocks.as_mut_ptr(), blocks.len()) };
                    let found: Vec<u128> = blocks.iter().map(|b| number(*b)).collect();
                    assert_eq!(found, given.iter().map(|n| one(*n)).collect::<Vec<_>>());
                };
                check(run_all::<true>, &|n| key.cmac_block(n));
                check(run_all::<false>, &|n| key.encrypt(n));
                #[cfg(target_arch = "x86_64")]
                if x86::available() {
                    check(x86::run_all::<true>, &|n| key.cmac_block(n));
                    check(x86::run_all::<false>, &|n| key.encrypt(n));
                }
                #[cfg(target_arch = "x86_64")]
                if x86::has_vaes() {
                    check(x86::run_all_wide::<true>, &|n| key.cmac_block(n));
                    check(x86::run_all_wide::<false>, &|n| key.encrypt(n));
                }
            }
        }
    }

    #[test]
    fn keys_do_not_show() {
        assert_eq!(format!("{:?}", Aes128Key::new(&[7; 16])), "Aes128Key(..)");
    }
}
