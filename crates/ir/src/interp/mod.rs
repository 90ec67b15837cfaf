//! The reference interpreter: written for clarity, it defines what a pipeline means. Every other executor must agree
//! with it on bytes, verdicts, table hits, counters and registers.
//!
//! [`Interp`] is a v1model switch with one program. It holds no threads, ports or clocks: a packet goes in, packets come
//! out. Tables, registers, counters and whatever else outlives a packet are in a [`Store`]: a [`LinearStore`] of its own,
//! or the one of a data plane that runs.
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

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hash::Random;
use crate::model::{ExternFn, ExternId, ExternKind, Pipeline, StmtKind};
use crate::walk;

pub use linear::{ControlError, Count, LinearStore};
pub use observe::{Decision, Event, Observer, Stage};
pub use packet::{Fault, PacketState};
pub use registry::{Constructor, ExternModel, ExternRegistry, Function};
pub use store::{Entry, Store};
pub use trace::{Trace, changed_ranges};
pub use v1model::{CloneSession, InstanceType, Replica, TrafficManager};
pub use value::Value;

/// Parser states entered plus loop turns begun that one pass of a packet may take.
pub const MAX_STEPS: u32 = 65_536;

/// Ingress and egress passes that one received packet may cause, unless [`Interp::max_passes`] says otherwise.
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

/// A v1model switch that runs one program with the state in a store.
pub struct Interp<S = LinearStore> {
    pipeline: Arc<Pipeline>,
    /// What outlives a packet.
    pub store: S,
    externs: Externs,
    /// What `enq_qdepth` and `deq_qdepth` say.
    pub depths: QueueDepths,
    /// Ingress and egress passes that one received packet may cause.
    pub max_passes: u32,
}

/// Extern objects and functions known by name, and the source of `random`.
struct Externs {
    /// By extern instance.
    objects: Vec<Option<Box<dyn ExternModel>>>,
    functions: BTreeMap<String, Function>,
    random: Random,
}

impl Externs {
    /// Fails if an extern is not registered or cannot be built.
    fn new(pipeline: &Pipeline, registry: &ExternRegistry) -> Result<Externs, ControlError> {
        let objects = pipeline.externs.iter().map(|e| match &e.kind {
            ExternKind::Named { type_name, args } => {
                let model = registry.construct(type_name, args);
                model.map(Some).map_err(|m| ControlError::Extern(format!("{}: {m}", e.name)))
            }
            _ => Ok(None),
        });
        let objects = objects.collect::<Result<_, _>>()?;
        let mut functions = BTreeMap::new();
        let mut missing = None;
        walk::all_stmts(pipeline, &mut |stmt| {
            let StmtKind::Extern(call) = &stmt.kind else { return };
            let ExternFn::Named { instance: None, name, .. } = &call.function else { return };
            match registry.function(name) {
                Some(f) => {
                    functions.insert(name.clone(), f);
                }
                None => missing = Some(name.clone()),
            }
        });
        match missing {
            Some(name) => Err(ControlError::Unknown(format!("extern function `{name}`"))),
            None => Ok(Externs { objects, functions, random: Random::new(0) }),
        }
    }
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
        let store = LinearStore::new(&pipeline)?;
        Interp::with_store(pipeline, registry, store)
    }
}

impl<S: Store> Interp<S> {
    /// A switch whose state is in this store.
    ///
    /// # Errors
    /// If the program uses an extern that is not in the registry, or an object cannot be built.
    pub fn with_store(pipeline: Arc<Pipeline>, registry: &ExternRegistry, store: S) -> Result<Interp<S>, ControlError> {
        let externs = Externs::new(&pipeline, registry)?;
        Ok(Interp { pipeline, store, externs, depths: QueueDepths::default(), max_passes: MAX_PASSES })
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
        v1model::Run::new(self, Some(observer), now_us).process(packet, ingress_port)
    }

    /// The model of a named extern object, for settings by the control plane.
    ///
    /// # Errors
    /// Not a named extern.
    pub fn named_extern(&mut self, object: ExternId) -> Result<&mut dyn ExternModel, ControlError> {
        match self.externs.objects.get_mut(object.index()) {
            Some(Some(model)) => Ok(model.as_mut()),
            _ => Err(ControlError::Unknown("not a named extern".into())),
        }
    }

    /// Seeds the `random` extern.
    pub fn seed(&mut self, seed: u64) {
        self.externs.random = Random::new(seed);
    }
}
