//! The keyed externs of `crypto.p4`: objects that hold keys in a [`KeyTable`].
//!
//! The methods are `AesCmac.mac(key, block, tag)` and `Aes128.encrypt(key, block, result)`.

use std::sync::Arc;

use hopwright_interp::ExternError;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::aes::block_calls;
use super::key_table::KeyTable;
use super::native_extern::{NativeCall, NativeExtern};
use super::one_argument;
use crate::sync::quiescence::Domain;

/// The function that a key object computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Cmac,
    Encrypt,
}

/// An `AesCmac` or `Aes128` object.
#[derive(Debug)]
pub(super) struct KeyedAes {
    function: Function,
    table: Arc<KeyTable>,
}

impl KeyedAes {
    /// Creates an object from its constructor's argument: the number of keys.
    pub(super) fn new(function: Function, args: &[BigUint], domain: &Arc<Domain>) -> Result<KeyedAes, ExternError> {
        let [size] = args else { return Err(one_argument(args)) };
        let size = size.to_u64().unwrap_or(u64::MAX);
        Ok(KeyedAes { function, table: Arc::new(KeyTable::new(size, domain)?) })
    }
}

impl NativeExtern for KeyedAes {
    fn methods(&self) -> &'static [&'static str] {
        match self.function {
            Function::Cmac => &["mac"],
            Function::Encrypt => &["encrypt"],
        }
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn native(&self) -> NativeCall {
        let (call, block) = match self.function {
            Function::Cmac => block_calls::<KeyTable, true>(),
            Function::Encrypt => block_calls::<KeyTable, false>(),
        };
        NativeCall { state: Arc::as_ptr(&self.table).cast_mut().cast(), call, block: Some(block) }
    }

    fn arguments(&self, _: u32) -> &'static [u32] {
        &[32, 128, 128]
    }

    fn key_table(&self) -> Option<&Arc<KeyTable>> {
        Some(&self.table)
    }

    fn control(&self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
        self.table.control(setting, data)
    }
}
