//! The reference interpreter: written for clarity, it defines what a pipeline means. Every other executor must agree
//! with it on bytes, verdicts, table hits, counters and registers.
//!
//! [`Interp`] is a v1model switch with one program: tables, externs, traffic manager. It holds no threads, ports or
//! clocks: a packet goes in, packets come out.
//!
//! Choices it makes where nothing else does, and that other executors follow:
//! - a packet may take [`MAX_STEPS`] parser states and loop turns per pass, and [`MAX_PASSES`] passes; beyond that it
//!   is dropped as a fault;
//! - a direct counter counts every hit of its table, whether or not the action calls `count` (as BMv2);
//! - at egress start `egress_spec` is 0, `enq_timestamp` and `egress_global_timestamp` are the packet's time,
//!   `deq_timedelta` is zero, and both depths are what [`Interp::depths`] says of the port;
//! - counters count bytes of the packet as it was received;
//! - a meter measures with the time of its packet, a direct one at each hit of its entry, whether or not it is read;
//! - an entry that leads to a group without members is a miss.

mod exec;
mod externs;
mod live;
mod observe;
mod packet;
mod parse;
mod profiles;
mod registry;
mod store;
mod trace;
mod v1model;
mod value;

use std::sync::Arc;

use num_bigint::BigUint;

use crate::model::{ActionCall, ExternId, MatchValue, Pipeline, TableEntry, TableId, ValueSetId};

pub use live::LiveState;
pub use observe::{Decision, Event, Observer, Stage};
pub use packet::{Fault, PacketState};
pub use registry::{Constructor, ExternModel, ExternRegistry, Function};
pub use store::{ControlError, Count};
pub use trace::{Trace, changed_ranges};
pub use v1model::{CloneSession, InstanceType, Replica, TrafficManager};
pub use value::Value;

/// Parser states entered plus loop turns begun that one pass of a packet may take.
pub const MAX_STEPS: u32 = 65_536;

/// Ingress and egress passes that one received packet may cause.
pub const MAX_PASSES: u32 = 4_096;

/// What became of a packet as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Something was sent and nothing went wrong.
    Forward,
    /// Nothing was sent.
    #[default]
    Drop,
    /// The packet or one of its copies was dropped for a [`Fault`].
    Fault,
}

/// A packet that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// v1model `egress_port`.
    pub port: u16,
    /// The whole packet.
    pub bytes: Vec<u8>,
    /// v1model `instance_type` it left with.
    pub instance_type: u32,
}

/// A digest for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Name of the struct type.
    pub name: String,
    /// The program's receiver number.
    pub receiver: u32,
    /// The fields.
    pub data: Vec<Value>,
}

/// All that came of a received packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Summary.
    pub verdict: Verdict,
    /// What left, in order.
    pub sent: Vec<Sent>,
    /// The error that the first parsing ended with, an index into the pipeline's errors.
    pub parser_error: u32,
    /// Digests, in order.
    pub digests: Vec<Digest>,
    /// The first fault.
    pub fault: Option<Fault>,
}

/// Packets that wait to be sent, by port: those that a device was given and has not sent yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDepths(Box<[u32; QueueDepths::PORTS]>);

impl QueueDepths {
    /// Port numbers have nine bits.
    pub const PORTS: usize = 512;
    /// What 19 bits can say; longer queues are said to be of this depth.
    pub const MOST: u32 = (1 << 19) - 1;

    /// Sets the depth of a port's queue, in packets. A number that is no port's does nothing.
    pub fn set(&mut self, port: u32, packets: u32) {
        if let Some(depth) = self.0.get_mut(port as usize) {
            *depth = packets.min(QueueDepths::MOST);
        }
    }

    /// The depth of the queue of a port, whose bits beyond nine are cut off.
    pub fn get(&self, port: u16) -> u32 {
        self.0[usize::from(port) % QueueDepths::PORTS]
    }

    /// No queue has any packets.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// All of them, for generated code.
    pub fn as_ptr(&self) -> *const u32 {
        self.0.as_ptr()
    }
}

impl Default for QueueDepths {
    fn default() -> QueueDepths {
        QueueDepths(Box::new([0; QueueDepths::PORTS]))
    }
}

/// A v1model switch that runs one program.
pub struct Interp {
    pipeline: Arc<Pipeline>,
    store: store::Store,
    /// Clone sessions and multicast groups.
    pub traffic: TrafficManager,
    /// What `enq_qdepth` and `deq_qdepth` say.
    pub depths: QueueDepths,
}

impl Interp {
    /// A switch as the program says it starts; it may use no named externs.
    ///
    /// # Errors
    /// If the program uses an extern that is only known by name.
    pub fn new(pipeline: Arc<Pipeline>) -> Result<Interp, ControlError> {
        Interp::with_externs(pipeline, &ExternRegistry::new())
    }

    /// The same with models of named externs.
    ///
    /// # Errors
    /// If the program uses an extern that is not in the registry, or an object cannot be built.
    pub fn with_externs(pipeline: Arc<Pipeline>, registry: &ExternRegistry) -> Result<Interp, ControlError> {
        let store = store::Store::new(&pipeline, registry, None)?;
        Ok(Interp { pipeline, store, traffic: TrafficManager::default(), depths: QueueDepths::default() })
    }

    /// One that follows a switch which runs elsewhere: it finds entries and registers there and changes none.
    ///
    /// # Errors
    /// As [`Interp::with_externs`].
    pub fn following(
        pipeline: Arc<Pipeline>,
        registry: &ExternRegistry,
        live: Box<dyn LiveState>,
    ) -> Result<Interp, ControlError> {
        let store = store::Store::new(&pipeline, registry, Some(live))?;
        Ok(Interp { pipeline, store, traffic: TrafficManager::default(), depths: QueueDepths::default() })
    }

    /// The program.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Runs a packet received on a port (bits beyond nine are cut off) at a time in microseconds.
    pub fn process(&mut self, packet: &[u8], ingress_port: u16, now_us: u64) -> Output {
        v1model::Run::new(self, None, now_us).process(packet, ingress_port)
    }

    /// The same, telling an observer of every step.
    pub fn process_observed(
        &mut self,
        packet: &[u8],
        ingress_port: u16,
        now_us: u64,
        observer: &mut dyn Observer,
    ) -> Output {
        if let Some(live) = &mut self.store.live {
            live.begin();
        }
        v1model::Run::new(self, Some(observer), now_us).process(packet, ingress_port)
    }

    /// Adds an entry behind those that are there.
    ///
    /// # Errors
    /// Constant table, illegal entry, duplicate, full.
    pub fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), ControlError> {
        self.store.insert(&self.pipeline, table, entry)
    }

    /// Gives the entry with the same matches and priority another action.
    ///
    /// # Errors
    /// Constant table, illegal entry, no such entry.
    pub fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), ControlError> {
        self.store.modify(&self.pipeline, table, entry)
    }

    /// Removes the entry with the same matches and priority.
    ///
    /// # Errors
    /// Constant table, no such entry.
    pub fn delete(&mut self, table: TableId, entry: &TableEntry) -> Result<(), ControlError> {
        self.store.delete(&self.pipeline, table, entry)
    }

    /// Removes all entries.
    ///
    /// # Errors
    /// Constant table.
    pub fn clear(&mut self, table: TableId) -> Result<(), ControlError> {
        self.store.clear(&self.pipeline, table)
    }

    /// Changes the default action; `None` is the program's own.
    ///
    /// # Errors
    /// Constant default action, illegal action.
    pub fn set_default(&mut self, table: TableId, action: Option<ActionCall>) -> Result<(), ControlError> {
        self.store.set_default(&self.pipeline, table, action)
    }

    /// A table's entries in order of insertion, with their direct counters. In a table with an action profile an entry's
    /// action is the first that it led to when it was written. Panics if there is no such table.
    pub fn entries(&self, table: TableId) -> &[(TableEntry, Count)] {
        &self.store.tables[table.index()].entries
    }

    /// Sets the direct counter of the entry with these matches and priority, if there is one.
    ///
    /// # Errors
    /// No such table.
    pub fn set_direct_count(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        count: Count,
    ) -> Result<(), ControlError> {
        self.store.set_direct_count(table, matches, priority, count)
    }

    /// A table's present default action. Panics if there is no such table.
    pub fn default_action(&self, table: TableId) -> &ActionCall {
        &self.store.tables[table.index()].default_action
    }

    /// Replaces a value set's members.
    ///
    /// # Errors
    /// No such set, too many members, illegal member.
    pub fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), ControlError> {
        self.store.set_value_set(&self.pipeline, set, members)
    }

    /// A value set's members.
    pub fn value_set(&self, set: ValueSetId) -> &[Vec<MatchValue>] {
        self.store.value_sets.get(set.index()).map_or(&[], Vec::as_slice)
    }

    /// Reads one cell of a counter.
    ///
    /// # Errors
    /// Not a counter, index out of range.
    pub fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, ControlError> {
        self.store.counter(counter, index).copied()
    }

    /// Writes one cell of a counter.
    ///
    /// # Errors
    /// Not a counter, index out of range.
    pub fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), ControlError> {
        *self.store.counter(counter, index)? = value;
        Ok(())
    }

    /// Reads one register.
    ///
    /// # Errors
    /// Not a register, index out of range.
    pub fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, ControlError> {
        self.store.register(register, index).cloned()
    }

    /// Writes one register.
    ///
    /// # Errors
    /// Not a register, index out of range, value too wide.
    pub fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), ControlError> {
        self.store.write_register(&self.pipeline, register, index, value)
    }

    /// The model of a named extern object, for settings by the control plane.
    ///
    /// # Errors
    /// Not a named extern.
    pub fn named_extern(&mut self, object: ExternId) -> Result<&mut dyn ExternModel, ControlError> {
        self.store.named(object)
    }

    /// Seeds the `random` extern.
    pub fn seed(&mut self, seed: u64) {
        self.store.random = crate::hash::Random::new(seed);
    }
}
