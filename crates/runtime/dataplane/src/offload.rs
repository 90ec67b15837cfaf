//! Programs that run outside of this process, such as in an FPGA.
//!
//! The control interface of such a data plane is the ordinary one. Tables keep their entries here, too, and change them in the
//! [`Offload`] at the same time. Counters and registers are those of the [`Offload`].

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopwright_interp::{CloneSession, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, ExternId, MatchValue, TableEntry, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::state::cell::Count;

/// A copy of a packet that was processed: where it goes, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// The egress port.
    pub port: u32,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// What runs a program elsewhere, and the changes of its state. A program starts with empty tables, its default actions, zero in
/// counters and registers, and keys that nobody knows. The caller has checked arguments against the program.
pub trait Offload: Send {
    /// Adds an entry to a table, or changes the action of the one with the same match and priority. Packets meet the table as it was
    /// or as it is.
    ///
    /// # Errors
    /// There is no room, or the device does not answer. Nothing has changed then.
    fn put(&mut self, table: TableId, entry: &TableEntry) -> Result<(), String>;

    /// Removes an entry.
    ///
    /// # Errors
    /// The device does not answer.
    fn delete(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), String>;

    /// Removes all entries.
    ///
    /// # Errors
    /// The device does not answer.
    fn clear(&mut self, table: TableId) -> Result<(), String>;

    /// Sets the default action.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_default(&mut self, table: TableId, action: &ActionCall) -> Result<(), String>;

    /// Sets a key of an object that holds keys. `None`: one that nobody knows.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_key(&mut self, object: ExternId, index: u64, key: Option<&[u8; 16]>) -> Result<(), String>;

    /// Reads cells of a counter.
    ///
    /// # Errors
    /// The device does not answer.
    fn counts(&mut self, counter: ExternId, cells: Range<u64>) -> Result<Vec<Count>, String>;

    /// Sets a cell of a counter.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_count(&mut self, counter: ExternId, index: u64, count: Count) -> Result<(), String>;

    /// Reads a register.
    ///
    /// # Errors
    /// The device does not answer.
    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String>;

    /// Sets a register.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_register(&mut self, register: ExternId, index: u64, value: &BigUint) -> Result<(), String>;

    /// Sets the rates of a meter and fills its buckets. `None`: every packet is green.
    ///
    /// # Errors
    /// The device cannot have these rates, or does not answer.
    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), String>;

    /// Reads the direct counter of an entry that is there.
    ///
    /// # Errors
    /// The device does not answer.
    fn direct_count(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<Count, String>;

    /// Sets the direct counter of an entry that is there. That of a new entry is zero.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_direct_count(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        count: Count,
    ) -> Result<(), String>;

    /// Sets the rates of the direct meter of an entry that is there, and fills its buckets. `None`: every packet is green, as for a new
    /// entry.
    ///
    /// # Errors
    /// The device cannot have these rates, or does not answer.
    fn set_direct_meter(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), String>;

    /// Replaces the members of a value set. What is a member before and after is one all the time.
    ///
    /// # Errors
    /// There is no room, or the device does not answer.
    fn set_members(&mut self, set: ValueSetId, members: &[Vec<MatchValue>]) -> Result<(), String>;

    /// Waits until the device has made all changes: those that do not wait for it may still be on their way.
    ///
    /// # Errors
    /// The device does not answer.
    fn settle(&mut self) -> Result<(), String>;

    /// Sets the members of a multicast group; there are none at first. Packets meet the group as it was or as it is.
    ///
    /// # Errors
    /// There is no room, or the device does not answer.
    fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), String>;

    /// Sets a clone session. `None` removes it.
    ///
    /// # Errors
    /// There is no room, or the device does not answer.
    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String>;

    /// Processes packets with their ingress ports, in order, at a time in microseconds. Returns what is to be sent of each: nothing if it
    /// was dropped, several copies if the program makes them.
    ///
    /// # Errors
    /// The device does not answer.
    fn process(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> Result<Vec<Vec<Forwarded>>, String>;
}

/// An [`Offload`] that several threads use.
pub(crate) struct Device(Mutex<Box<dyn Offload>>);

impl Device {
    pub(crate) fn new(offload: Box<dyn Offload>) -> Arc<Device> {
        Arc::new(Device(Mutex::new(offload)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Offload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The device that has the state of an object or a value set, if there is one.
pub(crate) struct OnDevice<Id = ExternId>(OnceLock<(Arc<Device>, Id)>);

impl<Id> Default for OnDevice<Id> {
    fn default() -> OnDevice<Id> {
        OnDevice(OnceLock::new())
    }
}

impl<Id: Copy> OnDevice<Id> {
    /// From now on the object's state is there.
    pub(crate) fn attach(&self, device: &Arc<Device>, object: Id) {
        // An object is attached when its data plane is built.
        let _ = self.0.set((device.clone(), object));
    }

    pub(crate) fn get(&self) -> Option<(MutexGuard<'_, Box<dyn Offload>>, Id)> {
        self.0.get().map(|(device, object)| (device.lock(), *object))
    }
}

impl<Id: std::fmt::Debug> std::fmt::Debug for OnDevice<Id> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnDevice").field(&self.0.get().map(|(_, object)| object)).finish()
    }
}
