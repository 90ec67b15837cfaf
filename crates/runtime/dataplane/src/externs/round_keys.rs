//! `AesCmacRoundKeys` of `crypto.p4`: round keys for programs that compute AES in tables.

use std::sync::Arc;

use hopwright_interp::ExternError;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::key_table::KeyTable;
use super::native_extern::{NativeCall, NativeExtern};
use super::one_argument;
use crate::native::{self, Callee};
use crate::sync::quiescence::{Domain, Inside};

/// An `AesCmacRoundKeys` object.
#[derive(Debug)]
pub(super) struct RoundKeys {
    table: Arc<KeyTable>,
}

impl RoundKeys {
    /// Creates an object from its constructor's argument: the number of keys.
    pub(super) fn new(args: &[BigUint], domain: &Arc<Domain>) -> Result<RoundKeys, ExternError> {
        let [size] = args else { return Err(one_argument(args)) };
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

    fn control(&self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
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
