//! A virtual data plane that takes one packet at a time, for packet tests and replay.

use std::sync::Arc;

use hopwright_abi::Verdict;
use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{Count, EngineKind, Executor, FrameSize, Pool, VirtualDataPlane};
use hopwright_ir::interp::{CloneSession, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId};
use hopwright_stf::script::Change;
use hopwright_stf::{Engine, Processed};
use num_bigint::BigUint;

use crate::cli::EngineChoice;
use crate::compile;
use crate::failure::Failure;

/// Frames of the pool, which serves one packet at a time.
const FRAMES: u32 = 1024;

/// A program that processes packets one by one.
pub(crate) struct OneByOne {
    pipeline: Arc<Pipeline>,
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
}

/// Builds a data plane for this program. What the engine does not support is reported at its place in the source.
pub(crate) fn data_plane(pipeline: &Arc<Pipeline>, engine: EngineChoice) -> Result<Arc<VirtualDataPlane>, Failure> {
    let kind = match engine {
        EngineChoice::Interp => EngineKind::Interp,
        EngineChoice::Jit => EngineKind::Jit,
    };
    VirtualDataPlane::new(pipeline.clone(), kind).map_err(|error| compile::refused(pipeline, &error))
}

impl OneByOne {
    /// The program with empty tables.
    pub(crate) fn new(pipeline: &Arc<Pipeline>, engine: EngineChoice) -> Result<OneByOne, Failure> {
        OneByOne::over(data_plane(pipeline, engine)?)
    }

    /// Wraps a data plane with its tables.
    pub(crate) fn over(vdp: Arc<VirtualDataPlane>) -> Result<OneByOne, Failure> {
        let pool = Pool::new(FRAMES, FrameSize::JUMBO).map_err(|e: PoolError| Failure::message(e))?;
        Ok(OneByOne { pipeline: vdp.pipeline().clone(), executor: Executor::new(vdp.clone()), vdp, pool })
    }

    /// The data plane.
    pub(crate) fn vdp(&self) -> &Arc<VirtualDataPlane> {
        &self.vdp
    }

    fn extern_name(&self, id: ExternId) -> &str {
        &self.pipeline[id].name
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Engine for OneByOne {
    fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, String> {
        let Some(mut frame) = self.pool.take_filled(packet) else {
            return Err(format!("a packet of {} bytes does not fit a frame", packet.len()));
        };
        frame.set_ingress_port(u32::from(port));
        self.executor.run(std::slice::from_mut(&mut frame), now_us, &mut self.pool);
        let mut processed = Processed::default();
        match frame.verdict() {
            Verdict::Forward => processed.sent.push((frame.egress_port() as u16, frame.bytes().to_vec())),
            Verdict::Drop => {}
            Verdict::NoHeadroom => processed.fault = Some("the grown headers do not fit the headroom".into()),
            Verdict::Fault => processed.fault = Some("the program ran into a fault".into()),
        }
        self.pool.give(frame);
        for copy in self.executor.copies() {
            processed.sent.push((copy.egress_port() as u16, copy.bytes().to_vec()));
            self.pool.give(copy);
        }
        processed.digests.extend(std::iter::from_fn(|| self.vdp.next_digest()));
        Ok(processed)
    }

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), String> {
        self.vdp.insert_entry(table, entry).map_err(text)
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), String> {
        self.vdp.set_default_action(table, Some(action)).map_err(text)
    }

    fn clear(&mut self, table: TableId) -> Result<(), String> {
        self.vdp.clear_entries(table).map_err(text)
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, String> {
        self.vdp.counter(self.extern_name(counter), index).map_err(text)
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), String> {
        self.vdp.set_counter(self.extern_name(counter), index, value).map_err(text)
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, String> {
        self.vdp.direct_count(table, &entry.matches, entry.priority).map_err(text)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String> {
        self.vdp.register(self.extern_name(register), index).map_err(text)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), String> {
        self.vdp.set_register(self.extern_name(register), index, value).map_err(text)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), String> {
        self.vdp.insert_target(table, matches, priority, to).map_err(text)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), String> {
        let done = match (change, action) {
            (Change::Add, Some(action)) => self.vdp.insert_member(profile, member, action),
            (Change::Modify, Some(action)) => self.vdp.modify_member(profile, member, action),
            _ => self.vdp.delete_member(profile, member),
        };
        done.map_err(text)
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), String> {
        let done = match change {
            Change::Add => self.vdp.insert_group(selector, group, to),
            Change::Modify => self.vdp.modify_group(selector, group, to),
            Change::Delete => self.vdp.delete_group(selector, group),
        };
        done.map_err(text)
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, String> {
        self.vdp.meter(meter, index).map_err(text)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), String> {
        self.vdp.set_meter(meter, index, rates).map_err(text)
    }

    fn set_direct_meter(&mut self, table: TableId, entry: &TableEntry, rates: Option<Rates>) -> Result<(), String> {
        self.vdp.set_direct_meter(table, &entry.matches, entry.priority, rates).map_err(text)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String> {
        self.vdp.set_clone_session(session, to).map_err(text)
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), String> {
        self.vdp.set_value_set(set, members).map_err(text)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), String> {
        self.vdp.set_multicast_group(group, Some(replicas)).map_err(text)
    }
}
