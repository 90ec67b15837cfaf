//! The keyed externs of `crypto.p4`: objects that hold keys, which programs refer to by index only.
//!
//! The methods are `AesCmac.mac(key, block, tag)` and `Aes128.encrypt(key, block, result)`. For an index without a key,
//! and for an index out of range, they use a random key that is drawn when the object is created and known to nobody. A
//! MAC computed with it verifies only by chance, so programs need not check whether a key is set.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopwright_ir::ExternId;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use zeroize::Zeroize;

use super::aes::{Aes128Key, KeyOf, block_calls};
use super::{NativeCall, NativeExtern};
use crate::offload::{Device, DeviceFault, OnDevice};
use crate::sync::published::Slot;
use crate::sync::quiescence::{Domain, Inside};

/// The maximum number of keys of one object.
const MAX_KEYS: u64 = 1 << 20;

/// How long a key change waits for packets that use the old key. If the wait ends early, a later change wipes the old
/// key.
const SETTLE: Duration = Duration::from_millis(10);

/// AES-128 keys by index. Packets use them without waiting while the control plane changes them.
pub struct KeyTable {
    keys: Box<[Slot<Aes128Key>]>,
    /// The random key.
    unset: Box<Aes128Key>,
    writer: Mutex<()>,
    domain: Arc<Domain>,
    /// What uses the keys instead, if the program does not run here.
    device: OnDevice,
}

/// The error that a key's index is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table has {size} keys; there is no index {index}")]
pub struct NoSuchKey {
    /// The index.
    pub index: u64,
    /// The number of keys.
    pub size: u64,
}

impl KeyTable {
    /// Creates a table of `size` keys, none of them set. Fails if the system has no random numbers.
    pub(crate) fn new(size: u64, domain: &Arc<Domain>) -> Result<KeyTable, String> {
        if size > MAX_KEYS {
            return Err(format!("{size} keys are not supported yet (at most {MAX_KEYS})"));
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|e| format!("no random numbers: {e}"))?;
        let unset = Box::new(Aes128Key::new(&random));
        random.zeroize();
        Ok(KeyTable {
            keys: (0..size).map(|_| Slot::new()).collect(),
            unset,
            writer: Mutex::new(()),
            domain: domain.clone(),
            device: OnDevice::default(),
        })
    }

    /// From now on packets use keys on a device, where none is set yet.
    pub(crate) fn attach(&self, device: &Arc<Device>, object: ExternId) -> Result<(), DeviceFault> {
        let mut offload = device.lock();
        (0..self.size()).try_for_each(|index| offload.set_key(object, index, None))?;
        self.device.attach(device, object);
        Ok(())
    }

    /// The number of keys, set or not.
    pub fn size(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Sets a key. Packets use it from the next batch at the latest. The old key is wiped once no packet can be using
    /// it.
    pub fn set_key(&self, index: u64, key: &[u8; 16]) -> Result<(), NoSuchKey> {
        self.set_on_device(index, Some(key));
        self.swap(index, Some(Box::new(Aes128Key::new(key))))
    }

    /// Removes a key: nothing verifies with it afterwards.
    pub fn clear_key(&self, index: u64) -> Result<(), NoSuchKey> {
        self.set_on_device(index, None);
        self.swap(index, None)
    }

    /// Applies the setting `key/<index>` of an object that has this table.
    pub(super) fn control(&self, setting: &str, data: &[u8]) -> Result<(), String> {
        let index = setting.strip_prefix("key/").and_then(|i| i.parse().ok());
        let index = index.ok_or_else(|| format!("no setting `{setting}`; there is `key/<index>`"))?;
        let key = data.try_into().map_err(|_| format!("a key has 16 bytes, not {}", data.len()))?;
        self.set_key(index, key).map_err(|e| e.to_string())
    }

    /// A device that does not answer processes no packets either.
    fn set_on_device(&self, index: u64, key: Option<&[u8; 16]>) {
        if let Some((mut device, object)) = self.device.get().filter(|_| index < self.size()) {
            let _ = device.set_key(object, index, key);
        }
    }

    fn swap(&self, index: u64, key: Option<Box<Aes128Key>>) -> Result<(), NoSuchKey> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = usize::try_from(index).ok().and_then(|i| self.keys.get(i));
        let Some(slot) = slot else { return Err(NoSuchKey { index, size: self.size() }) };
        if slot.set(key, &self.domain) {
            self.domain.settle(SETTLE);
        }
        Ok(())
    }

    /// The key of an index, or the random one. The thread must be inside the table's domain.
    #[inline(always)]
    pub(super) fn key<'a>(&'a self, index: u64, inside: Inside<'a>) -> &'a Aes128Key {
        self.keys.get(index as usize).and_then(|slot| slot.get(inside)).unwrap_or(&self.unset)
    }
}

impl fmt::Debug for KeyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTable").field("size", &self.size()).finish_non_exhaustive()
    }
}

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
    pub(super) fn new(function: Function, args: &[BigUint], domain: &Arc<Domain>) -> Result<KeyedAes, String> {
        let [size] = args else { return Err(format!("one constructor argument is expected, not {}", args.len())) };
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

    fn control(&self, setting: &str, data: &[u8]) -> Result<(), String> {
        self.table.control(setting, data)
    }
}

impl KeyOf for KeyTable {
    #[inline(always)]
    fn key_of<'a>(&'a self, index: u64, inside: Inside<'a>) -> &'a Aes128Key {
        self.key(index, inside)
    }
}
