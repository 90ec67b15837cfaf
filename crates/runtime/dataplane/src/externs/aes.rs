//! AES-128 with a precomputed key schedule: by the AES instructions of x86-64 and of ARMv8 if the processor has them, by the portable
//! RustCrypto code otherwise.
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

use crate::sync::quiescence::Inside;

mod expansion;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64 as hardware;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
use x86 as hardware;

/// An expanded AES-128 key. It cannot be read back, and is wiped when dropped.
pub struct Aes128Key(Schedule);

enum Schedule {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Hardware(Box<RoundKeys>),
    Portable(Box<Portable>),
}

/// What AES instructions need: eleven round keys, and the first one XOR the CMAC subkey K1.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[repr(C, align(64))]
struct RoundKeys {
    rounds: [[u8; 16]; 11],
    cmac_first: [u8; 16],
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl RoundKeys {
    /// Panics unless the processor has AES instructions.
    fn new(key: &[u8; 16]) -> Box<RoundKeys> {
        assert!(hardware::available());
        let mut keys = Box::new(RoundKeys { rounds: [[0; 16]; 11], cmac_first: [0; 16] });
        // SAFETY: the processor has the instructions.
        unsafe { hardware::expand(key, &mut keys.rounds) };
        // SAFETY: as above; the round keys are complete.
        let subkey = double(unsafe { keys.encrypt(0) }.to_be_bytes());
        for (i, byte) in keys.cmac_first.iter_mut().enumerate() {
            *byte = subkey[i] ^ keys.rounds[0][i];
        }
        keys
    }

    /// The round key, the first one XOR K1.
    fn cmac_round(&self, round: usize) -> Option<&[u8; 16]> {
        if round == 0 { Some(&self.cmac_first) } else { self.rounds.get(round) }
    }

    fn first<const CMAC: bool>(&self) -> &[u8; 16] {
        if CMAC { &self.cmac_first } else { &self.rounds[0] }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.rounds.zeroize();
        self.cmac_first.zeroize();
    }
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
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if hardware::available() {
            return Aes128Key(Schedule::Hardware(RoundKeys::new(key)));
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
        Aes128Key(Schedule::Portable(Box::new(Portable { cipher, subkey, rounds: expansion::expand(key) })))
    }

    /// Encrypts one block, given as a big-endian number.
    #[inline]
    pub fn encrypt(&self, block: u128) -> u128 {
        match &self.0 {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            // SAFETY: hardware schedules are only created if the processor has AES instructions.
            Schedule::Hardware(keys) => unsafe { keys.encrypt(block) },
            Schedule::Portable(keys) => keys.encrypt(block),
        }
    }

    /// The key of a round of AES-CMAC of a message of exactly one block: that of round 0 includes the subkey. 0 beyond round 10.
    pub(super) fn cmac_round_key(&self, round: usize) -> u128 {
        let key = match &self.0 {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
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
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            // SAFETY: as in `encrypt`.
            Schedule::Hardware(keys) => unsafe { keys.cmac_block(block) },
            Schedule::Portable(keys) => keys.encrypt(block ^ u128::from_be_bytes(keys.subkey)),
        }
    }
}

/// Encrypts one block, given as a big-endian number, under a key that is used only once.
#[inline]
pub(super) fn encrypt_once(key: u128, block: u128) -> u128 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if hardware::available() {
        // SAFETY: the processor has the features.
        return unsafe { hardware::encrypt_once(key, block) };
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
pub(super) type CallInMemory = unsafe extern "C" fn(state: *mut c_void, method: u32, args: *mut u64);

/// See [`BlockMethod::run_all`].
type RunAll = unsafe extern "C" fn(key: *const c_void, blocks: *mut Block, count: usize);

/// Finds a caller's key.
pub(super) trait KeyOf {
    fn key_of<'a>(&'a self, index: u64, inside: Inside<'a>) -> &'a Aes128Key;
}

/// Returns the fastest code for single-block CMAC or encryption on this machine, with arguments in memory and in
/// registers. All keys must be created by [`Aes128Key::new`].
pub(super) fn block_calls<K: KeyOf, const CMAC: bool>() -> (CallInMemory, BlockMethod) {
    let prepare = prepare::<K>;
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if hardware::available() {
        let (run, run_all) = (hardware::run_prepared::<CMAC>, hardware::fastest_run_all::<CMAC>());
        return (hardware::call::<K, CMAC>, BlockMethod { prepare, run, run_all });
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
                let check = |run: RunAll, one: &dyn Fn(u128) -> u128| {
                    let mut blocks: Vec<Block> = given.iter().map(|n| words(*n)).collect();
                    // SAFETY: the key lives, and there are as many blocks as passed; the code was chosen for this
                    // processor.
                    unsafe { run(address, blocks.as_mut_ptr(), blocks.len()) };
                    let found: Vec<u128> = blocks.iter().map(|b| number(*b)).collect();
                    assert_eq!(found, given.iter().map(|n| one(*n)).collect::<Vec<_>>());
                };
                check(run_all::<true>, &|n| key.cmac_block(n));
                check(run_all::<false>, &|n| key.encrypt(n));
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                if hardware::available() {
                    check(hardware::run_all::<true>, &|n| key.cmac_block(n));
                    check(hardware::run_all::<false>, &|n| key.encrypt(n));
                }
                #[cfg(target_arch = "x86_64")]
                if hardware::has_vaes() {
                    check(hardware::run_all_wide::<true>, &|n| key.cmac_block(n));
                    check(hardware::run_all_wide::<false>, &|n| key.encrypt(n));
                }
            }
        }
    }

    #[test]
    fn keys_do_not_show() {
        assert_eq!(format!("{:?}", Aes128Key::new(&[7; 16])), "Aes128Key(..)");
    }
}
