//! Programs that run outside of this process, such as in an FPGA.
//!
//! The control interface of such a data plane is the ordinary one. Tables keep their entries here, too, and change them in the
//! [`Offload`] at the same time. Counters and registers are those of the [`Offload`].

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopwright_interp::{CloneSession, Count, Digest, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, ExternId, MatchValue, TableEntry, TableId, ValueSetId, WeightedAction};
use num_bigint::BigUint;

/// A copy of a packet that was processed: where it goes, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// The egress port.
    pub port: u32,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// Why a device does not do what it is asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceFault {
    /// It has no room for something, or cannot have it.
    #[error("{0}")]
    Refused(String),
    /// It does not answer, or not as it should.
    #[error("{0}")]
    Silent(String),
}

impl DeviceFault {
    /// It cannot have something, for this reason.
    pub fn refused(reason: impl ToString) -> DeviceFault {
        DeviceFault::Refused(reason.to_string())
    }
}

impl From<io::Error> for DeviceFault {
    fn from(error: io::Error) -> DeviceFault {
        DeviceFault::Silent(error.to_string())
    }
}

/// What runs a program elsewhere, and the changes of its state. A program starts with empty tables, its default actions, zero in
/// counters and registers, and keys that nobody knows. The caller has checked arguments against the program.
pub trait Offload: Send {
    /// Adds an entry to a table, or changes the action of the one with the same match and priority. Packets meet the table as it was
    /// or as it is.
    ///
    /// # Errors
    /// There is no room, or the device does not answer. Nothing has changed then.
    fn put(&mut self, table: TableId, entry: &TableEntry) -> Result<(), DeviceFault>;

    /// Adds an entry to a table with an action profile, or changes the actions of the one with the same match and priority. A hash
    /// chooses one of them by their weights; without actions, packets miss the entry.
    ///
    /// # Errors
    /// There is no room, or the device does not answer. Nothing has changed then.
    fn choose(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        actions: &[WeightedAction],
    ) -> Result<(), DeviceFault>;

    /// Removes an entry.
    ///
    /// # Errors
    /// The device does not answer.
    fn delete(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), DeviceFault>;

    /// Removes all entries.
    ///
    /// # Errors
    /// The device does not answer.
    fn clear(&mut self, table: TableId) -> Result<(), DeviceFault>;

    /// Sets the default action.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_default(&mut self, table: TableId, action: &ActionCall) -> Result<(), DeviceFault>;

    /// Sets a key of an object that holds keys. `None`: one that nobody knows.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_key(&mut self, object: ExternId, index: u64, key: Option<&[u8; 16]>) -> Result<(), DeviceFault>;

    /// Reads cells of a counter.
    ///
    /// # Errors
    /// The device does not answer.
    fn counts(&mut self, counter: ExternId, cells: Range<u64>) -> Result<Vec<Count>, DeviceFault>;

    /// Sets a cell of a counter.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_count(&mut self, counter: ExternId, index: u64, count: Count) -> Result<(), DeviceFault>;

    /// Reads a register.
    ///
    /// # Errors
    /// The device does not answer.
    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, DeviceFault>;

    /// Sets a register.
    ///
    /// # Errors
    /// The device does not answer.
    fn set_register(&mut self, register: ExternId, index: u64, value: &BigUint) -> Result<(), DeviceFault>;

    /// Sets the rates of a meter and fills its buckets. `None`: every packet is green.
    ///
    /// # Errors
    /// The device cannot have these rates, or does not answer.
    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), DeviceFault>;

    /// Reads the direct counter of an entry that is there.
    ///
    /// # Errors
    /// The device does not answer.
    fn direct_count(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<Count, DeviceFault>;

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
    ) -> Result<(), DeviceFault>;

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
    ) -> Result<(), DeviceFault>;

    /// Replaces the members of a value set. What is a member before and after is one all the time.
    ///
    /// # Errors
    /// There is no room, or the device does not answer.
    fn set_members(&mut self, set: ValueSetId, members: &[Vec<MatchValue>]) -> Result<(), DeviceFault>;

    /// Waits until the device has made all changes: those that do not wait for it may still be on their way.
    ///
    /// # Errors
    /// The device does not answer.
    fn settle(&mut self) -> Result<(), DeviceFault>;

    /// Sets the members of a multicast group; there are none at first. Packets meet the group as it was or as it is.
    ///
    /// # Errors
    /// There is no room, or the device does not answer.
    fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), DeviceFault>;

    /// Sets a clone session. `None` removes it.
    ///
    /// # Errors
    /// There is no room, or the device does not answer.
    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), DeviceFault>;

    /// Takes the digests of the packets that have been processed.
    ///
    /// # Errors
    /// The device does not answer.
    fn digests(&mut self) -> Result<Vec<Digest>, DeviceFault> {
        Ok(Vec::new())
    }

    /// Processes packets with their ingress ports, in order, at a time in microseconds. Returns what is to be sent of each: nothing if it
    /// was dropped, several copies if the program makes them.
    ///
    /// # Errors
    /// The device does not answer.
    fn process(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> Result<Vec<Vec<Forwarded>>, DeviceFault>;
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
