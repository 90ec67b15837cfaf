//! The control plane: tables and objects by names.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{FrameSize, ShadowExecution, VirtualDataPlane};
use hopwright_interp::{Trace, changed_ranges};
use hopwright_ir::{DROP_PORT, ExternId, ExternKind};
use hopwright_stf::resolve;
use hopwright_stf::{DataPlaneEngine, StfError};

use crate::{
    CloneSession, Count, Digest, Entry, Number, Rates, RefusedError, Replica, ResolveError, Value, dataplane, entry,
};

/// The greatest number of a port.
const LAST_PORT: u16 = DROP_PORT as u16 - 1;
/// The time between two looks for a digest.
const LOOK: Duration = Duration::from_millis(1);

/// The state of a running program: its tables, counters, meters, registers, multicast groups and clone sessions, by names.
///
/// All methods may be called from any thread while packets flow; none makes a packet wait. A change is in force for every packet that
/// arrives after the call returned. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    vdp: Arc<VirtualDataPlane>,
}

/// Why a request of the control plane was refused. It changed nothing then.
///
/// [`ControlError::Resolve`] has what is wrong with names and values, [`ControlError::Refused`] what the tables cannot take:
///
/// ```
/// use hopwright::{Control, ControlError, Entry, RefusedError, ResolveError};
///
/// /// Adds an entry, or changes the one that is there.
/// fn put(control: &Control, entry: &Entry) -> Result<(), ControlError> {
///     match control.insert(entry) {
///         Err(ControlError::Refused(RefusedError::Duplicate(_))) => control.modify(entry),
///         Err(ControlError::Refused(RefusedError::Full { table, size })) => {
///             eprintln!("`{table}` has room for {size} entries");
///             Ok(())
///         }
///         Err(ControlError::Resolve(error @ ResolveError::UnknownTable { .. })) => panic!("another program: {error}"),
///         other => other,
///     }
/// }
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A name or value does not fit the program.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A text is no value.
    #[error("`{text}`: {reason}")]
    Value {
        /// The text.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// An entry has no value for keys that need one.
    #[error("an entry of `{table}` needs a value for {}", .keys.join(", "))]
    MissingKeys {
        /// The table, as the entry names it.
        table: String,
        /// The keys' names.
        keys: Vec<String>,
    },
    /// The default action of a table has neither keys nor a priority: `modify` changes an entry that has.
    #[error("the default action of `{table}` has neither keys nor a priority: `modify` changes an entry")]
    DefaultEntry {
        /// The table, as the entry names it.
        table: String,
    },
    /// Entries of the table have no priority: none of its keys is `ternary`, `range` or `optional`.
    #[error("entries of `{table}` have no priority: it has no `ternary`, `range` or `optional` key")]
    Priority {
        /// The table, as the entry names it.
        table: String,
    },
    /// The counter is one of a table's entries, which have no index.
    #[error("`{0}` counts the entries of a table: `entry_count` reads the count of one")]
    DirectCounter(String),
    /// The meter is one of a table's entries, which have no index.
    #[error("`{0}` meters the entries of a table: `entry_meter` reads the rates of one, `set_entry_meter` sets them")]
    DirectMeter(String),
    /// The data plane refused the request: there is such an entry already, or none; the table is full; an index is too great.
    #[error(transparent)]
    Refused(#[from] RefusedError),
    /// A line of a script is wrong, or was refused. The lines before it are in force.
    #[error(transparent)]
    Script(#[from] StfError),
    /// There is no memory for packets.
    #[error(transparent)]
    Memory(#[from] PoolError),
    /// A packet cannot arrive at a port of this number.
    #[error("there is no port {0}: ports are 0 to {LAST_PORT}")]
    Port(u16),
}

debug_is_display!(ControlError);

impl Control {
    pub(crate) fn new(vdp: Arc<VirtualDataPlane>) -> Control {
        Control { vdp }
    }

    /// The data plane itself, for what names do not reach.
    pub fn data_plane(&self) -> &Arc<dataplane::VirtualDataPlane> {
        &self.vdp
    }

    fn inner(&self) -> &dataplane::Control {
        self.vdp.control()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// A name or value is wrong, there is such an entry already ([`RefusedError::Duplicate`]), or the table is full or constant.
    pub fn insert(&self, entry: &Entry) -> Result<(), ControlError> {
        let (table, entry) = entry.resolve(self.vdp.pipeline())?;
        Ok(self.inner()[table].insert(entry)?)
    }

    /// Changes the action and parameters of the entry with these keys and this priority. Its direct counter goes on.
    ///
    /// # Errors
    /// A name or value is wrong, there is no such entry ([`RefusedError::NotFound`]), or the table is constant.
    pub fn modify(&self, entry: &Entry) -> Result<(), ControlError> {
        let (table, entry) = entry.resolve(self.vdp.pipeline())?;
        Ok(self.inner()[table].modify(entry)?)
    }

    /// Removes the entry with these keys and this priority. Its action does not matter.
    ///
    /// # Errors
    /// A name or value is wrong, there is no such entry, or the table is constant.
    pub fn delete(&self, entry: &Entry) -> Result<(), ControlError> {
        let (table, matches, priority) = entry.place(self.vdp.pipeline())?;
        Ok(self.inner()[table].delete(&matches, priority)?)
    }

    /// Sets the default action of a table, to that of an entry without keys.
    ///
    /// # Errors
    /// A name or value is wrong, the entry has keys or a priority, or the default action is constant.
    pub fn set_default(&self, entry: &Entry) -> Result<(), ControlError> {
        let (table, call) = entry.call(self.vdp.pipeline())?;
        Ok(self.inner()[table].set_default(Some(call))?)
    }

    /// Removes all entries of a table.
    ///
    /// # Errors
    /// There is no such table, or it is constant.
    pub fn clear(&self, table: &str) -> Result<(), ControlError> {
        Ok(self.table(table)?.clear()?)
    }

    /// The entries of a table, in the order they were added. In a table with an action profile, an entry's action is the first that its
    /// member or group had when the entry was written.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries(&self, table: &str) -> Result<Vec<Entry>, ControlError> {
        let table = self.table(table)?;
        let entries = table.entries();
        Ok(entries.iter().map(|entry| Entry::read(self.vdp.pipeline(), table.id(), entry)).collect())
    }

    /// Reads the direct counter of an entry. Its action does not matter.
    ///
    /// # Errors
    /// There is no such entry, or the table has no direct counter.
    pub fn entry_count(&self, entry: &Entry) -> Result<Count, ControlError> {
        let (table, matches, priority) = entry.place(self.vdp.pipeline())?;
        Ok(self.inner()[table].direct_count(&matches, priority)?)
    }

    /// Reads a cell of a counter.
    ///
    /// # Errors
    /// There is no such counter or cell.
    pub fn counter(&self, counter: &str, index: u64) -> Result<Count, ControlError> {
        Ok(self.inner().counter(self.counter_id(counter)?)?.read(index)?)
    }

    /// Writes a cell of a counter. Packets that are counted at the same time may be lost in it.
    ///
    /// # Errors
    /// There is no such counter or cell.
    pub fn set_counter(&self, counter: &str, index: u64, count: Count) -> Result<(), ControlError> {
        Ok(self.inner().counter(self.counter_id(counter)?)?.write(index, count)?)
    }

    /// Reads a cell of a register.
    ///
    /// # Errors
    /// There is no such register or cell.
    pub fn register(&self, register: &str, index: u64) -> Result<Number, ControlError> {
        Ok(self.inner().register(self.register_id(register)?)?.read(index)?)
    }

    /// Writes a cell of a register.
    ///
    /// # Errors
    /// There is no such register or cell, or the value has more bits.
    pub fn set_register(&self, register: &str, index: u64, value: impl Into<Value>) -> Result<(), ControlError> {
        let value = entry::number(&value.into())?;
        Ok(self.inner().register(self.register_id(register)?)?.write(index, value)?)
    }

    /// Reads the rates of a meter; `None` if it has none, and every packet is green.
    ///
    /// # Errors
    /// There is no such meter or cell.
    pub fn meter(&self, meter: &str, index: u64) -> Result<Option<Rates>, ControlError> {
        Ok(self.inner().meter(self.meter_id(meter)?)?.rates(index)?)
    }

    /// Sets the rates of a meter and fills its buckets. With `None` every packet is green.
    ///
    /// # Errors
    /// There is no such meter or cell.
    pub fn set_meter(&self, meter: &str, index: u64, rates: Option<Rates>) -> Result<(), ControlError> {
        Ok(self.inner().meter(self.meter_id(meter)?)?.set_rates(index, rates)?)
    }

    /// Reads the rates of an entry's direct meter; `None` if it has none, and every packet is green. The entry's action does not matter.
    ///
    /// # Errors
    /// There is no such entry, or the table has no direct meter.
    pub fn entry_meter(&self, entry: &Entry) -> Result<Option<Rates>, ControlError> {
        let (table, matches, priority) = entry.place(self.vdp.pipeline())?;
        Ok(self.inner()[table].direct_meter(&matches, priority)?)
    }

    /// Sets the rates of an entry's direct meter and fills its buckets. With `None` every packet is green. The entry's action does not
    /// matter.
    ///
    /// # Errors
    /// As [`Control::entry_meter`], or a device that runs the program refuses it.
    pub fn set_entry_meter(&self, entry: &Entry, rates: Option<Rates>) -> Result<(), ControlError> {
        let (table, matches, priority) = entry.place(self.vdp.pipeline())?;
        Ok(self.inner()[table].set_direct_meter(&matches, priority, rates)?)
    }

    /// Sets the ports of a multicast group (from 1), each once and with the replication id 0; without ports there is no such group.
    ///
    /// # Errors
    /// A device that runs the program has no room for it.
    pub fn set_multicast_group(&self, group: u16, ports: &[u16]) -> Result<(), ControlError> {
        let replicas: Vec<Replica> = ports.iter().map(|&port| Replica { rid: 0, port }).collect();
        self.set_replicas(group, &replicas)
    }

    /// The same, with a replication id for each copy.
    ///
    /// # Errors
    /// As [`Control::set_multicast_group`].
    pub fn set_replicas(&self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        let replicas = (!replicas.is_empty()).then(|| replicas.to_vec());
        Ok(self.inner().set_multicast_group(group, replicas)?)
    }

    /// Sets where a clone session's copies go, from 0 to 32,767; `None` removes it.
    ///
    /// # Errors
    /// A device that runs the program has no room for it.
    pub fn set_clone_session(&self, session: u32, to: Option<CloneSession>) -> Result<(), ControlError> {
        Ok(self.inner().set_clone_session(session, to)?)
    }

    /// The oldest digest that the program sent and nobody has taken. Digests that find their queue full are lost, and counted
    /// ([`SwitchStats`](crate::SwitchStats)). [`Runner::send`](crate::Runner::send) takes those of its packet itself.
    ///
    /// The fields are in the order of the program's struct, and are values of keys and parameters:
    /// `Entry::new("smac", "NoAction").key("src", &digest.data[0])`.
    pub fn next_digest(&self) -> Option<Digest> {
        self.inner().next_digest()
    }

    /// As [`Control::next_digest`]; waits for a digest if there is none. It looks each millisecond.
    pub fn digest_within(&self, time: Duration) -> Option<Digest> {
        let end = Instant::now() + time;
        loop {
            match self.next_digest() {
                None if Instant::now() < end => std::thread::sleep(LOOK),
                found => return found,
            }
        }
    }

    /// Carries out the lines of a script that set things up, in the language of packet tests (`docs/stf.md`):
    /// `add ipv4_lpm dst:10.0.0.0/8 forward(port:3)`.
    ///
    /// # Errors
    /// The first line that is wrong or refused. The lines before it are in force.
    pub fn configure(&self, script: &str) -> Result<(), ControlError> {
        let script = parse("script", script)?;
        let mut engine = DataPlaneEngine::new(self.vdp.clone(), FrameSize::JUMBO)?;
        Ok(hopwright_stf::configure(&script, &mut engine)?)
    }

    /// What the program does with a packet, for people: parser states, keys, entries, and the fields that change, each with its line of
    /// the program; then what is sent. The packet is not sent, and no counter or register changes. Externs of your own are called, on this
    /// thread: their state changes.
    ///
    /// # Errors
    /// There is no such port, or the interpreter, which does this with any engine, does not run the program.
    pub fn trace(&self, port: u16, packet: &[u8]) -> Result<String, ControlError> {
        check_port(port)?;
        let pipeline = self.vdp.pipeline().clone();
        let mut trace = Trace::new(&pipeline);
        let output =
            ShadowExecution::new(self.vdp.clone())?.process(packet, port, dataplane::wall_clock_us(), &mut trace);
        let mut text = format!("{} bytes at port {port}\n{}", packet.len(), trace.take());
        for sent in &output.sent {
            text += &format!("  out of port {}: {}\n", sent.port, changed_ranges(packet, &sent.bytes));
        }
        match output.why_lost() {
            Some(why) => text += &format!("  lost: {why}\n"),
            None if output.sent.is_empty() => text += "  dropped\n",
            None => {}
        }
        Ok(text)
    }

    fn counter_id(&self, name: &str) -> Result<ExternId, ControlError> {
        let right = |kind: &ExternKind| matches!(kind, ExternKind::Counter { .. });
        let of_entries = |kind: &ExternKind| matches!(kind, ExternKind::DirectCounter { .. });
        self.object(name, "counter", right, of_entries, ControlError::DirectCounter)
    }

    fn register_id(&self, name: &str) -> Result<ExternId, ControlError> {
        let right = |kind: &ExternKind| matches!(kind, ExternKind::Register { .. });
        Ok(resolve::object(self.vdp.pipeline(), name, "register", right)?)
    }

    fn meter_id(&self, name: &str) -> Result<ExternId, ControlError> {
        let right = |kind: &ExternKind| matches!(kind, ExternKind::Meter { .. });
        let of_entries = |kind: &ExternKind| matches!(kind, ExternKind::DirectMeter { .. });
        self.object(name, "meter", right, of_entries, ControlError::DirectMeter)
    }

    /// The object of a name and kind. One whose cells are those of a table's entries has an error of its own.
    fn object(
        &self,
        name: &str,
        wanted: &str,
        right: impl Fn(&ExternKind) -> bool,
        of_entries: impl Fn(&ExternKind) -> bool,
        direct: impl Fn(String) -> ControlError,
    ) -> Result<ExternId, ControlError> {
        let pipeline = self.vdp.pipeline();
        resolve::object(pipeline, name, wanted, right).map_err(|error| {
            match pipeline.extern_by_name(name).map(|id| &pipeline[id]) {
                Some(object) if of_entries(&object.kind) => direct(object.name.clone()),
                _ => error.into(),
            }
        })
    }

    fn table(&self, name: &str) -> Result<&dataplane::Table, ControlError> {
        Ok(&self.inner()[resolve::table(self.vdp.pipeline(), name)?])
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("program", &self.vdp.pipeline().name).finish_non_exhaustive()
    }
}

/// Checks the number of a port that a packet arrives at.
pub(crate) fn check_port(port: u16) -> Result<(), ControlError> {
    if port > LAST_PORT { Err(ControlError::Port(port)) } else { Ok(()) }
}

/// Parses a script; of several errors the first counts.
pub(crate) fn parse(name: &str, text: &str) -> Result<hopwright_stf::Script, StfError> {
    hopwright_stf::parse(name, text).map_err(|errors| {
        let no_reason = || StfError { file: name.into(), line: 0, message: "the script cannot be read".into() };
        errors.into_iter().next().unwrap_or_else(no_reason)
    })
}
