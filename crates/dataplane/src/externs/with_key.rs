//! `Aes128WithKey` of `crypto.p4`: the block cipher under a key that the program computes.

use std::ffi::c_void;

use num_bigint::BigUint;

use super::aes::encrypt_once;
use super::{NativeCall, NativeExtern};

/// An `Aes128WithKey` object. It has no state.
#[derive(Debug)]
pub(super) struct WithKey;

impl WithKey {
    /// Creates an object; its constructor has no arguments.
    pub(super) fn new(args: &[BigUint]) -> Result<WithKey, String> {
        if args.is_empty() { Ok(WithKey) } else { Err("no constructor argument is expected".into()) }
    }
}

impl NativeExtern for WithKey {
    fn methods(&self) -> &'static [&'static str] {
        &["encrypt"]
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn native(&self) -> NativeCall {
        NativeCall { state: std::ptr::null_mut(), call: encrypt, block: None }
    }

    fn arguments(&self, _: u32) -> &'static [u32] {
        &[128, 128, 128]
    }
}

/// # Safety
/// `args` are six limbs: key, block and room for the result, each least significant first.
unsafe extern "C" fn encrypt(_: *mut c_void, _: u32, args: *mut u64) {
    // SAFETY: guaranteed by the caller.
    let args = unsafe { &mut *args.cast::<[u64; 6]>() };
    let number = |low: usize| u128::from(args[low + 1]) << 64 | u128::from(args[low]);
    let result = encrypt_once(number(0), number(2));
    args[4] = result as u64;
    args[5] = (result >> 64) as u64;
}
