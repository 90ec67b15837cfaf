//! `Aes128WithKey` of `crypto.p4`: the block cipher under a key that the program computes.

use hopwright_interp::ExternError;
use num_bigint::BigUint;

use super::aes::encrypt_once;
use super::native_extern::{NativeCall, NativeExtern};
use crate::native::{self, Callee};
use crate::sync::quiescence::Inside;

/// An `Aes128WithKey` object. It has no state.
#[derive(Debug)]
pub(super) struct WithKey;

impl WithKey {
    /// Creates an object; its constructor has no arguments.
    pub(super) fn new(args: &[BigUint]) -> Result<WithKey, ExternError> {
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
        native::call_of(self)
    }

    fn arguments(&self, _: u32) -> &'static [u32] {
        &[128, 128, 128]
    }
}

impl Callee for WithKey {
    /// Key, block and room for the result, each least significant first.
    fn words(&self, _: u32) -> usize {
        6
    }

    fn call(&self, _: u32, args: &mut [u64], _: Inside<'_>) {
        let number = |low: usize| u128::from(args[low + 1]) << 64 | u128::from(args[low]);
        let result = encrypt_once(number(0), number(2));
        args[4] = result as u64;
        args[5] = (result >> 64) as u64;
    }
}
