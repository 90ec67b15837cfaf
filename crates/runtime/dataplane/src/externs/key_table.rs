//! The keys of an object, by index. Programs refer to a key by its index only.
//!
//! For an index without a key, and for an index out of range, there is a random key that is drawn when the table is created and known to
//! nobody. A MAC computed with it verifies only by chance, so programs need not check whether a key is set.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopwright_interp::ExternError;
use hopwright_ir::ExternId;
use zeroize::Zeroize;

use super::aes::{Aes128Key, KeyOf};
use crate::control::error::ControlError;
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

/// Why a key is not set or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key's index is out of range.
    #[error("the table has {size} keys; there is no index {index}")]
    Index {
        /// The index.
        index: u64,
        /// The number of keys.
        size: u64,
    },
    /// The program runs on a device, which does not change the key.
    #[error("the hardware refuses: {0}")]
    Device(#[from] DeviceFault),
}

impl KeyError {
    /// The same error of an object with this name.
    pub fn of(self, name: &str) -> ControlError {
        let name = name.into();
        match self {
            KeyError::Index { index, size } => ControlError::Index { name, index, size },
            KeyError::Device(reason) => ControlError::Device { name, reason },
        }
    }
}

impl KeyTable {
    /// Creates a table of `size` keys, none of them set. Fails if the system has no random numbers.
    pub(crate) fn new(size: u64, domain: &Arc<Domain>) -> Result<KeyTable, ExternError> {
        if size > MAX_KEYS {
            return Err(format!("{size} keys are not supported yet (at most {MAX_KEYS})").into());
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
    /// it. A refused request changes nothing.
    pub fn set_key(&self, index: u64, key: &[u8; 16]) -> Result<(), KeyError> {
        self.change(index, Some(key))
    }

    /// Removes a key: nothing verifies with it afterwards. A refused request changes nothing.
    pub fn clear_key(&self, index: u64) -> Result<(), KeyError> {
        self.change(index, None)
    }

    /// Applies the setting `key/<index>` of an object that has this table.
    pub(super) fn control(&self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
        let index = setting.strip_prefix("key/").and_then(|i| i.parse().ok());
        let index = index.ok_or_else(|| format!("no setting `{setting}`; there is `key/<index>`"))?;
        let key = data.try_into().map_err(|_| format!("a key has 16 bytes, not {}", data.len()))?;
        Ok(self.set_key(index, key).map_err(|e| e.to_string())?)
    }

    fn change(&self, index: u64, key: Option<&[u8; 16]>) -> Result<(), KeyError> {
        let slot = usize::try_from(index).ok().and_then(|i| self.keys.get(i));
        let slot = slot.ok_or_else(|| KeyError::Index { index, size: self.size() })?;
        if let Some((mut device, object)) = self.device.get() {
            device.set_key(object, index, key)?;
        }
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.set(key.map(|key| Box::new(Aes128Key::new(key))), &self.domain) {
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

impl KeyOf for KeyTable {
    #[inline(always)]
    fn key_of<'a>(&'a self, index: u64, inside: Inside<'a>) -> &'a Aes128Key {
        self.key(index, inside)
    }
}
