//! A virtual data plane with machine code as something that takes one packet at a time and all control operations. Every
//! packet must give back its frames and lose no copy.

use std::sync::Arc;

use hopwright_dataplane::{Count, EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_ir::interp::{CloneSession, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId};
use hopwright_stf::script::Change;
use hopwright_stf::{Engine, Processed};
use num_bigint::BigUint;

pub struct Machine {
    pub vdp: Arc<VirtualDataPlane>,
    pub executor: Executor,
    pub pool: Pool,
}

pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Machine {
    pub fn new(pipeline: Arc<Pipeline>) -> Result<Machine, String> {
        let vdp = VirtualDataPlane::new(pipeline, EngineKind::Jit).map_err(text)?;
        // Generated programs emit much that was not received.
        let size = FrameSize { headroom: 1024, ..FrameSize::JUMBO };
        let pool = Pool::new(512, size).map_err(text)?;
        Ok(Machine { executor: Executor::new(vdp.clone()), vdp, pool })
    }

    fn extern_name(&self, id: ExternId) -> &str {
        &self.vdp.pipeline()[id].name
    }
}

impl Engine for Machine {
    fn pipeline(&self) -> &Pipeline {
        self.vdp.pipeline()
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, String> {
        let mut frame = self.pool.take_filled(packet).ok_or("no frame")?;
        frame.set_ingress_port(u32::from(port));
        self.executor.run(std::slice::from_mut(&mut frame), now_us, &mut self.pool);
        let mut processed = Processed::default();
        if frame.verdict() == Verdict::Forward {
            processed.sent.push((frame.egress_port() as u16, frame.bytes().to_vec()));
        }
        self.pool.give(frame);
        for copy in self.executor.copies() {
            processed.sent.push((copy.egress_port() as u16, copy.bytes().to_vec()));
            self.pool.give(copy);
        }
        processed.digests.extend(std::iter::from_fn(|| self.vdp.next_digest()));
        assert_eq!(self.executor.take_lost_copies(), 0);
        assert_eq!(self.pool.available(), self.pool.frames() as usize, "frames are lost");
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
