//! `AesCmacRoundKeys` of `crypto.p4`: round keys for programs that compute AES in tables; and the key expansion in portable code.

use std::sync::Arc;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::key_table::KeyTable;
use super::native_extern::{NativeCall, NativeExtern};
use crate::native::{self, Callee};
use crate::sync::quiescence::{Domain, Inside};

/// An `AesCmacRoundKeys` object.
#[derive(Debug)]
pub(super) struct RoundKeys {
    table: Arc<KeyTable>,
}

impl RoundKeys {
    /// Creates an object from its constructor's argument: the number of keys.
    pub(super) fn new(args: &[BigUint], domain: &Arc<Domain>) -> Result<RoundKeys, String> {
        let [size] = args else { return Err(format!("one constructor argument is expected, not {}", args.len())) };
        let table = KeyTable::new(size.to_u64().unwrap_or(u64::MAX), domain)?;
        Ok(RoundKeys { table: Arc::new(table) })
    }
}

impl NativeExtern for RoundKeys {
    fn methods(&self) -> &'static [&'static str] {
        &["round_key"]
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn native(&self) -> NativeCall {
        native::call_of(self)
    }

    fn arguments(&self, _: u32) -> &'static [u32] {
        &[32, 4, 128]
    }

    fn key_table(&self) -> Option<&Arc<KeyTable>> {
        Some(&self.table)
    }

    fn control(&self, setting: &str, data: &[u8]) -> Result<(), String> {
        self.table.control(setting, data)
    }
}

impl Callee for RoundKeys {
    /// Slot, round and room for the key, least significant first.
    fn words(&self, _: u32) -> usize {
        4
    }

    fn call(&self, _: u32, args: &mut [u64], inside: Inside<'_>) {
        let key = self.table.key(args[0], inside).cmac_round_key(args[1] as usize);
        args[2] = key as u64;
        args[3] = (key >> 64) as u64;
    }
}

/// The eleven round keys of a key (FIPS 197, section 5.2).
pub(super) fn expand(key: &[u8; 16]) -> [[u8; 16]; 11] {
    let mut rounds = [*key; 11];
    let mut constant = 1;
    for round in 1..rounds.len() {
        let before = rounds[round - 1];
        let mut column: [u8; 4] = std::array::from_fn(|i| substitute(before[12 + (i + 1) % 4]));
        column[0] ^= constant;
        constant = times(constant, 2);
        for (i, byte) in rounds[round].iter_mut().enumerate() {
            column[i % 4] ^= before[i];
            *byte = column[i % 4];
        }
    }
    rounds
}

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1, in constant time.
fn times(a: u8, b: u8) -> u8 {
    let (mut a, mut product) = (a, 0);
    for bit in 0..8 {
        product ^= a & 0u8.wrapping_sub(b >> bit & 1);
        a = a << 1 ^ 0x1b & 0u8.wrapping_sub(a >> 7);
    }
    product
}

/// The S-box, in constant time: the inverse, which is the 254th power, and an affine function of it.
fn substitute(x: u8) -> u8 {
    let mut inverse = 1;
    for bit in (0..8).rev() {
        inverse = times(inverse, inverse);
        inverse = times(inverse, if 254 >> bit & 1 == 1 { x } else { 1 });
    }
    inverse ^ inverse.rotate_left(1) ^ inverse.rotate_left(2) ^ inverse.rotate_left(3) ^ inverse.rotate_left(4) ^ 0x63
}

#[cfg(test)]
mod tests {
    use super::super::Aes128Key;
    use super::*;

    /// FIPS 197, appendix A.1.
    #[test]
    fn expansion() {
        let key = 0x2b7e151628aed2a6abf7158809cf4f3cu128.to_be_bytes();
        let rounds = expand(&key).map(u128::from_be_bytes);
        assert_eq!(rounds[0], u128::from_be_bytes(key));
        assert_eq!(rounds[1], 0xa0fafe1788542cb123a339392a6c7605);
        assert_eq!(rounds[10], 0xd014f9a8c9ee2589e13f0cc8b6630ca6);
    }

    #[test]
    fn hardware_and_portable_agree() {
        let key = [7; 16];
        let (fast, portable) = (Aes128Key::new(&key), Aes128Key::portable(&key));
        for round in 0..12 {
            assert_eq!(fast.cmac_round_key(round), portable.cmac_round_key(round), "{round}");
        }
    }
}
