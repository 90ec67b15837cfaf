//! The reference interpreter. It is written for clarity and defines what a pipeline means. Every other executor must
//! agree with it on output bytes, verdicts, table hits, counters and registers.
//!
//! [`Interp`] is a v1model switch with one program. It has no threads, ports or clocks: it takes a packet and returns
//! packets. State that outlives a packet, such as tables, registers and counters, is in a [`Store`]: a [`LinearStore`]
//! of its own, or the store of a running data plane.
//!
//! It makes these choices where the specifications leave them open, and other executors follow:
//! - a packet may take [`MAX_STEPS`] parser states and loop iterations per pass, and [`MAX_PASSES`] passes; beyond that
//!   it is dropped with a fault;
//! - a direct counter counts every hit of its table, whether or not the action calls `count` (as in BMv2);
//! - at the start of egress, `egress_spec` is 0, `enq_timestamp` and `egress_global_timestamp` are the packet's
//!   timestamp, and `deq_timedelta` and both queue depths are those of the port and `priority` in [`Interp::depths`];
//! - counters count the bytes of the packet as received;
//! - a meter uses its packet's timestamp; a direct meter runs at each hit of its entry, whether or not it is read;
//! - an entry whose group has no members is a miss;
//! - a packet that grows beyond its [`Room`] in a pass, or is recirculated when it is longer than that allows, is dropped.

mod address;
mod exec;
mod externs;
mod linear;
mod lookup;
mod observe;
mod packet;
mod parse;
mod registry;
mod store;
mod trace;
mod v1model;
mod value;

use std::sync::Arc;

use hopwright_ir::hash::Random;
use hopwright_ir::{ExternId, Pipeline};

pub use address::{AddressForm, match_text, value_text};
pub use linear::{ControlError, Count, LinearStore};
pub use observe::{Decision, Event, Observer, Stage};
pub use packet::{Fault, PacketState};
pub use registry::{Constructor, ExternError, ExternModel, ExternRegistry, Externs, Function};
pub use store::{Entry, Store};
pub use trace::{Trace, changed_ranges};
pub use v1model::{CloneSession, Replica, TrafficManager};
pub use value::Value;

/// The maximum number of parser states and loop iterations in one pass of a packet.
pub const MAX_STEPS: u32 = 65_536;

/// The default of [`Interp::max_passes`].
pub const MAX_PASSES: u32 = 4_096;

/// The result for a packet as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// At least one packet was sent, and there was no fault.
    Forward,
    /// Nothing was sent.
    #[default]
    Drop,
    /// Nothing was sent, because the packet or its copies grew beyond their [`Room`].
    NoHeadroom,
    /// The packet or one of its copies was dropped with a [`Fault`].
    Fault,
}

/// How far packets may grow. A packet that grows further is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The number of bytes by which a received packet may become longer in its first pass.
    pub first_pass: usize,
    /// The same for each later pass.
    pub later_pass: usize,
    /// The length of the longest packet that may be recirculated or resubmitted, in bytes.
    pub longest: usize,
}

impl Room {
    /// Packets may grow without a limit.
    pub const UNLIMITED: Room = Room { first_pass: usize::MAX, later_pass: usize::MAX, longest: usize::MAX };
}

/// A packet that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// v1model `egress_port`.
    pub port: u16,
    /// The whole packet.
    pub bytes: Vec<u8>,
    /// The v1model `instance_type` of the packet.
    pub instance_type: u32,
}

/// A digest for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The name of the struct type.
    pub name: String,
    /// The receiver number that the program passed.
    pub receiver: u32,
    /// The fields.
    pub data: Vec<Value>,
}

/// Everything that resulted from a received packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Summary.
    pub verdict: Verdict,
    /// Packets sent, in order.
    pub sent: Vec<Sent>,
    /// The error that the first parsing of the packet ended with, as an index into the pipeline's errors.
    pub parser_error: u32,
    /// Digests, in order.
    pub digests: Vec<Digest>,
    /// The first fault.
    pub fault: Option<Fault>,
    /// The number of packets that were dropped with a fault.
    pub faults: u32,
    /// The number of packets that were dropped because they grew beyond their [`Room`].
    pub no_headroom: u32,
}

impl Output {
    /// Why the packet or one of its copies was lost, if that was not the program's decision.
    pub fn why_lost(&self) -> Option<&str> {
        let fault = self.fault.as_ref().map(|fault| fault.message.as_str());
        fault.or((self.no_headroom > 0).then_some("the packet grew beyond the room in its buffer"))
    }
}

/// The depth of each port's queues in packets: packets that were accepted and not sent yet; and how long packets wait there, in
/// microseconds. A port has a queue for each v1model `priority`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDepths(Box<[[u32; QueueDepths::QUEUES]; 2]>);

impl QueueDepths {
    /// The number of ports; port numbers have nine bits.
    pub const PORTS: usize = 512;
    /// The maximum depth, which has 19 bits. Longer queues are reported with this depth.
    pub const MOST: u32 = (1 << 19) - 1;

    /// The number of queues of a port; priorities have three bits.
    pub const PRIORITIES: usize = 8;
    /// The number of queues.
    const QUEUES: usize = QueueDepths::PORTS * QueueDepths::PRIORITIES;
    /// Where generated code finds the waiting times, in bytes behind the depths.
    pub const WAITS: usize = 4 * QueueDepths::QUEUES;

    /// Sets the depths of a port's queues in packets, by priority. Ignored if there is no such port.
    pub fn set(&mut self, port: u32, packets: [u32; QueueDepths::PRIORITIES]) {
        let at = port as usize * QueueDepths::PRIORITIES;
        if let Some(depths) = self.0[0].get_mut(at..at + QueueDepths::PRIORITIES) {
            for (depth, packets) in depths.iter_mut().zip(packets) {
                *depth = packets.min(QueueDepths::MOST);
            }
        }
    }

    /// Sets how long packets wait in a port's queues, in microseconds, by priority. Ignored if there is no such port.
    pub fn set_waits(&mut self, port: u32, microseconds: [u32; QueueDepths::PRIORITIES]) {
        let at = port as usize * QueueDepths::PRIORITIES;
        if let Some(waits) = self.0[1].get_mut(at..at + QueueDepths::PRIORITIES) {
            waits.copy_from_slice(&microseconds);
        }
    }

    /// Counts a packet more in a port's queue.
    pub fn add(&mut self, port: u32, priority: u8) {
        let at = port as usize * QueueDepths::PRIORITIES + usize::from(priority) % QueueDepths::PRIORITIES;
        if let Some(depth) = self.0[0].get_mut(at) {
            *depth = (*depth + 1).min(QueueDepths::MOST);
        }
    }

    /// Returns the depth of a port's queue. Only the lowest nine bits of the port and three of the priority count.
    pub fn get(&self, port: u16, priority: u8) -> u32 {
        self.0[0][QueueDepths::at(port, priority)]
    }

    /// Returns how long packets wait in a port's queue, in microseconds. Only the lowest nine bits of the port and three of the priority
    /// count.
    pub fn wait(&self, port: u16, priority: u8) -> u32 {
        self.0[1][QueueDepths::at(port, priority)]
    }

    fn at(port: u16, priority: u8) -> usize {
        let (port, priority) = (usize::from(port), usize::from(priority));
        port % QueueDepths::PORTS * QueueDepths::PRIORITIES + priority % QueueDepths::PRIORITIES
    }

    /// Sets all depths and waiting times to zero.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|numbers| numbers.fill(0));
    }

    /// The address of the depths, for generated code: eight of each port. The waiting times are [`QueueDepths::WAITS`] bytes behind.
    pub fn as_ptr(&self) -> *const u32 {
        self.0.as_ptr().cast()
    }
}

impl Default for QueueDepths {
    fn default() -> QueueDepths {
        QueueDepths(Box::new([[0; QueueDepths::QUEUES]; 2]))
    }
}

/// A v1model switch that runs one program, with its state in a store.
pub struct Interp<S = LinearStore> {
    pipeline: Arc<Pipeline>,
    /// The state that outlives a packet.
    pub store: S,
    externs: Externs,
    /// The values of `enq_qdepth`, `deq_qdepth` and `deq_timedelta`.
    pub depths: QueueDepths,
    /// The `priority` of each packet that the last one sent, as it was when that entered egress.
    pub priorities: Vec<u8>,
    /// The maximum number of ingress and egress passes that one received packet may cause.
    pub max_passes: u32,
    /// How far packets may grow.
    pub room: Room,
}

impl Interp {
    /// Creates a switch in the program's initial state, without named externs.
    ///
    /// # Errors
    /// The program uses a named extern.
    pub fn new(pipeline: Arc<Pipeline>) -> Result<Interp, ControlError> {
        Interp::with_externs(pipeline, &ExternRegistry::new())
    }

    /// Creates a switch with models of named externs.
    ///
    /// # Errors
    /// The program uses an extern that is not in the registry, or an object cannot be created.
    pub fn with_externs(pipeline: Arc<Pipeline>, registry: &ExternRegistry) -> Result<Interp, ControlError> {
        let store = LinearStore::new(&pipeline)?;
        Interp::with_store(pipeline, registry, store)
    }
}

impl<S: Store> Interp<S> {
    /// Creates a switch whose state is in this store.
    ///
    /// # Errors
    /// The program uses an extern that is not in the registry, or an object cannot be created.
    pub fn with_store(pipeline: Arc<Pipeline>, registry: &ExternRegistry, store: S) -> Result<Interp<S>, ControlError> {
        let externs = Externs::new(&pipeline, registry)?;
        Ok(Interp {
            pipeline,
            store,
            externs,
            depths: QueueDepths::default(),
            priorities: Vec::new(),
            max_passes: MAX_PASSES,
            room: Room::UNLIMITED,
        })
    }

    /// The program's pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Processes a packet received on a port (only the lowest nine bits count) at a time in microseconds.
    pub fn process(&mut self, packet: &[u8], ingress_port: u16, now_us: u64) -> Output {
        v1model::Run::new(self, None, now_us).process(packet, ingress_port)
    }

    /// Like [`Interp::process`], reporting every step to an observer.
    pub fn process_observed(
        &mut self,
        packet: &[u8],
        ingress_port: u16,
        now_us: u64,
        observer: &mut dyn Observer,
    ) -> Output {
        v1model::Run::new(self, Some(observer), now_us).process(packet, ingress_port)
    }

    /// Replaces the store, and keeps the settings of named externs.
    pub fn map_store<T: Store>(self, map: impl FnOnce(S) -> T) -> Interp<T> {
        let Interp { pipeline, store, externs, depths, priorities, max_passes, room } = self;
        Interp { pipeline, store: map(store), externs, depths, priorities, max_passes, room }
    }

    /// Returns the model of a named extern object, for settings by the control plane.
    ///
    /// # Errors
    /// Not a named extern.
    pub fn named_extern(&mut self, object: ExternId) -> Result<&mut dyn ExternModel, ControlError> {
        self.externs.object(object).ok_or_else(|| ControlError::Unknown("not a named extern".into()))
    }

    /// Seeds the `random` extern.
    pub fn seed(&mut self, seed: u64) {
        self.externs.random = Random::new(seed);
    }
}
