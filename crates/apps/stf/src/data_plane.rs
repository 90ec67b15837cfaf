//! A virtual data plane that takes one packet at a time.

use std::sync::Arc;

use hopwright_coverage::Coverage;
use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{Control, Count, Executor, FrameSize, Pool, Table, Verdict, VirtualDataPlane};
use hopwright_interp::{CloneSession, Observer, Output, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::EngineError;
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
    /// Counts what packets reach, if it is there; then only the interpreter runs packets. [`DataPlaneEngine::reached`] adds the entries
    /// that no packet hit.
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
    /// The engine is not the interpreter.
    pub fn process_observed(
        &mut self,
        port: u16,
        packet: &[u8],
        now_us: u64,
        observer: &mut dyn Observer,
    ) -> Result<Processed, EngineError> {
        let output = self.executor.process_observed(packet, port, now_us, observer);
        output.map(processed).ok_or(EngineError::Unobservable)
    }

    /// What packets reached, with the entries that tables have now; `None` if nothing counts.
    pub fn reached(&self) -> Option<Coverage> {
        let mut reached = self.coverage.clone()?;
        know_entries(&mut reached, &self.vdp);
        Some(reached)
    }

    fn control(&self) -> &Control {
        self.vdp.control()
    }

    fn table(&self, id: TableId) -> &Table {
        &self.control()[id]
    }
}

/// Makes the entries that tables have now known to what packets reached, with those that no packet hit.
pub fn know_entries(reached: &mut Coverage, vdp: &VirtualDataPlane) {
    for id in (0..).map(TableId).take(vdp.pipeline().tables.len()) {
        vdp.control()[id].entries().iter().for_each(|entry| reached.know(id, entry));
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

impl Engine for DataPlaneEngine {
    fn pipeline(&self) -> &Pipeline {
        self.vdp.pipeline()
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, EngineError> {
        if let Some(mut coverage) = self.coverage.take() {
            let processed = self.process_observed(port, packet, now_us, &mut coverage);
            self.coverage = Some(coverage);
            return processed;
        }
        let Some(mut frame) = self.pool.take_filled(packet) else {
            return Err(EngineError::TooLong(packet.len()));
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

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        Ok(self.table(table).insert(entry)?)
    }

    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        Ok(self.table(table).modify(entry)?)
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), EngineError> {
        Ok(self.table(table).set_default(Some(action))?)
    }

    fn clear(&mut self, table: TableId) -> Result<(), EngineError> {
        // The report has entries that are gone.
        self.coverage = self.reached();
        Ok(self.table(table).clear()?)
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, EngineError> {
        Ok(self.control().counter(counter).and_then(|c| c.read(index))?)
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), EngineError> {
        Ok(self.control().counter(counter).and_then(|c| c.write(index, value))?)
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, EngineError> {
        Ok(self.table(table).direct_count(&entry.matches, entry.priority)?)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, EngineError> {
        Ok(self.control().register(register).and_then(|r| r.read(index))?)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), EngineError> {
        Ok(self.control().register(register).and_then(|r| r.write(index, value))?)
    }

    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), EngineError> {
        Ok(self.control().key_table(object)?.set_key(slot, key)?)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), EngineError> {
        Ok(self.table(table).insert_target(matches, priority, to)?)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), EngineError> {
        let profile = self.control().profile(profile)?;
        let done = match (change, action) {
            (Change::Add, Some(action)) => profile.insert_member(member, action),
            (Change::Modify, Some(action)) => profile.modify_member(member, action),
            _ => profile.delete_member(member),
        };
        Ok(done?)
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), EngineError> {
        let selector = self.control().profile(selector)?;
        let done = match change {
            Change::Add => selector.insert_group(group, to),
            Change::Modify => selector.modify_group(group, to),
            Change::Delete => selector.delete_group(group),
        };
        Ok(done?)
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, EngineError> {
        Ok(self.control().meter(meter).and_then(|m| m.rates(index))?)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), EngineError> {
        Ok(self.control().meter(meter).and_then(|m| m.set_rates(index, rates))?)
    }

    fn set_direct_meter(
        &mut self,
        table: TableId,
        entry: &TableEntry,
        rates: Option<Rates>,
    ) -> Result<(), EngineError> {
        Ok(self.table(table).set_direct_meter(&entry.matches, entry.priority, rates)?)
    }

    fn entry_index(&mut self, table: TableId, entry: &TableEntry) -> Result<u32, EngineError> {
        self.table(table).entry_index(&entry.matches, entry.priority).ok_or(EngineError::NoEntry)
    }

    fn set_filter(&mut self, filter: ExternId, index: u64, settings: &str) -> Result<(), EngineError> {
        let object = self.control().named_extern(filter)?;
        Ok(object.control(&format!("cell/{index}"), settings.as_bytes())?)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), EngineError> {
        Ok(self.control().set_clone_session(session, to)?)
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), EngineError> {
        Ok(self.control().value_set(set).and_then(|s| s.replace(members))?)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), EngineError> {
        Ok(self.control().set_multicast_group(group, Some(replicas))?)
    }
}
