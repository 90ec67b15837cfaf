//! A virtual data plane that takes one packet at a time.

use std::sync::Arc;

use hopwright_coverage::Coverage;
use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{Control, Count, Executor, FrameSize, Pool, Table, Verdict, VirtualDataPlane};
use hopwright_interp::{CloneSession, Observer, Output, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::engine::{Engine, Processed};
use crate::script::Change;

/// Why a packet was dropped that grew too far.
const NO_HEADROOM: &str = "the packet grew beyond the room in its buffer";

/// Frames for a packet and its copies.
const FRAMES: u32 = 1024;

/// A data plane, an executor and frames.
#[derive(Debug)]
pub struct DataPlaneEngine {
    /// The program and its state.
    pub vdp: Arc<VirtualDataPlane>,
    /// Runs the packets.
    pub executor: Executor,
    /// Where they are. All frames are here between two packets.
    pub pool: Pool,
    /// Counts what packets reach, if it is there; then only the interpreter runs packets.
    pub coverage: Option<Coverage>,
}

impl DataPlaneEngine {
    /// A data plane with the state it has. Frames of this size have the headroom that the program needs.
    ///
    /// # Errors
    /// If there is no memory for frames.
    pub fn new(vdp: Arc<VirtualDataPlane>, size: FrameSize) -> Result<DataPlaneEngine, PoolError> {
        let pool = Pool::new(FRAMES, size.with_headroom(vdp.headroom()))?;
        Ok(DataPlaneEngine { executor: Executor::new(vdp.clone()), vdp, pool, coverage: None })
    }

    /// Processes a packet, and reports every step to an observer.
    ///
    /// # Errors
    /// A message if the engine is not the interpreter.
    pub fn process_observed(
        &mut self,
        port: u16,
        packet: &[u8],
        now_us: u64,
        observer: &mut dyn Observer,
    ) -> Result<Processed, String> {
        let output = self.executor.process_observed(packet, port, now_us, observer);
        output.map(processed).ok_or_else(|| "only the interpreter can be observed".into())
    }

    fn control(&self) -> &Control {
        self.vdp.control()
    }

    fn table(&self, id: TableId) -> &Table {
        &self.control()[id]
    }
}

/// What the interpreter made of a packet, as the runner takes it.
fn processed(output: Output) -> Processed {
    Processed {
        fault: output.why_lost().map(Into::into),
        sent: output.sent.into_iter().map(|sent| (sent.port, sent.bytes)).collect(),
        digests: output.digests,
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Engine for DataPlaneEngine {
    fn pipeline(&self) -> &Pipeline {
        self.vdp.pipeline()
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, String> {
        if let Some(mut coverage) = self.coverage.take() {
            let processed = self.process_observed(port, packet, now_us, &mut coverage);
            self.coverage = Some(coverage);
            return processed;
        }
        let Some(mut frame) = self.pool.take_filled(packet) else {
            return Err(format!("a packet of {} bytes does not fit a frame", packet.len()));
        };
        frame.set_ingress_port(u32::from(port));
        self.executor.run(std::slice::from_mut(&mut frame), now_us, &mut self.pool);
        let mut processed = Processed::default();
        match frame.verdict() {
            Verdict::Forward => processed.sent.push((frame.egress_port() as u16, frame.bytes().to_vec())),
            Verdict::Drop => {}
            Verdict::NoHeadroom => processed.fault = Some(NO_HEADROOM.into()),
            Verdict::Fault => processed.fault = Some("the program ran into a fault".into()),
        }
        self.pool.give(frame);
        for copy in self.executor.copies() {
            processed.sent.push((copy.egress_port() as u16, copy.bytes().to_vec()));
            self.pool.give(copy);
        }
        processed.digests.extend(std::iter::from_fn(|| self.vdp.control().next_digest()));
        let lost = self.executor.take_lost_copies();
        for (lost, why) in [
            (lost.faults, "ran into a fault"),
            (lost.no_headroom, "grew beyond the room in their buffers"),
            (lost.no_frame, "found no buffer"),
        ] {
            if lost > 0 {
                processed.fault.get_or_insert_with(|| format!("{lost} copies {why}"));
            }
        }
        Ok(processed)
    }

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), String> {
        self.table(table).insert(entry).map_err(text)
    }

    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), String> {
        self.table(table).modify(entry).map_err(text)
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), String> {
        self.table(table).set_default(Some(action)).map_err(text)
    }

    fn clear(&mut self, table: TableId) -> Result<(), String> {
        self.table(table).clear().map_err(text)
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, String> {
        self.control().counter(counter).and_then(|c| c.read(index)).map_err(text)
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), String> {
        self.control().counter(counter).and_then(|c| c.write(index, value)).map_err(text)
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, String> {
        self.table(table).direct_count(&entry.matches, entry.priority).map_err(text)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String> {
        self.control().register(register).and_then(|r| r.read(index)).map_err(text)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), String> {
        self.control().register(register).and_then(|r| r.write(index, value)).map_err(text)
    }

    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), String> {
        self.control().key_table(object).map_err(text)?.set_key(slot, key).map_err(text)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), String> {
        self.table(table).insert_target(matches, priority, to).map_err(text)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), String> {
        let profile = self.control().profile(profile).map_err(text)?;
        let done = match (change, action) {
            (Change::Add, Some(action)) => profile.insert_member(member, action),
            (Change::Modify, Some(action)) => profile.modify_member(member, action),
            _ => profile.delete_member(member),
        };
        done.map_err(text)
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), String> {
        let selector = self.control().profile(selector).map_err(text)?;
        let done = match change {
            Change::Add => selector.insert_group(group, to),
            Change::Modify => selector.modify_group(group, to),
            Change::Delete => selector.delete_group(group),
        };
        done.map_err(text)
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, String> {
        self.control().meter(meter).and_then(|m| m.rates(index)).map_err(text)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), String> {
        self.control().meter(meter).and_then(|m| m.set_rates(index, rates)).map_err(text)
    }

    fn set_direct_meter(&mut self, table: TableId, entry: &TableEntry, rates: Option<Rates>) -> Result<(), String> {
        self.table(table).set_direct_meter(&entry.matches, entry.priority, rates).map_err(text)
    }

    fn entry_index(&mut self, table: TableId, entry: &TableEntry) -> Result<u32, String> {
        self.table(table).entry_index(&entry.matches, entry.priority).ok_or_else(|| "the entry is gone".into())
    }

    fn set_filter(&mut self, filter: ExternId, index: u64, settings: &str) -> Result<(), String> {
        let object = self.control().named_extern(filter).map_err(text)?;
        object.control(&format!("cell/{index}"), settings.as_bytes())
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String> {
        self.control().set_clone_session(session, to).map_err(text)
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), String> {
        self.control().value_set(set).and_then(|s| s.replace(members)).map_err(text)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), String> {
        self.control().set_multicast_group(group, Some(replicas)).map_err(text)
    }
}
