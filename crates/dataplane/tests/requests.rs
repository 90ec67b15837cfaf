//! Programs that copy, repeat and cut packets pass their packet tests with machine code, as they do with the
//! interpreter.

use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_ir::compile::compile_text;
use hopwright_ir::interp::{CloneSession, Interp, Replica};
use hopwright_ir::{ActionCall, ExternId, Pipeline, TableEntry, TableId};
use hopwright_stf::{Engine, Processed};
use num_bigint::BigUint;

const PROGRAMS: [&str; 16] = [
    "again",
    "clone",
    "clone_and_multicast",
    "clone_both_ways",
    "clone_egress_chain",
    "clone_field_lists",
    "clone_of_dropped",
    "clone_sessions",
    "multicast",
    "multicast_copies",
    "multicast_nodes",
    "recirculate_drop",
    "recirculate_grows",
    "resubmit_and_clone",
    "resubmit_rounds",
    "truncate_sizes",
];

struct Compiled {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Engine for Compiled {
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

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String> {
        self.vdp.register(&self.vdp.pipeline()[register].name, index).map_err(text)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String> {
        self.vdp.set_clone_session(session, to).map_err(text)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), String> {
        self.vdp.set_multicast_group(group, Some(replicas)).map_err(text)
    }
}

fn passes(name: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stf");
    let read = |ending: &str| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).map_err(text);
    let compiled = compile_text(&format!("{name}.p4"), &read("p4")?, &Default::default(), true);
    let pipeline = Arc::new(compiled.pipeline.ok_or("does not compile")?);
    let script = hopwright_stf::parse("script", &read("stf")?).map_err(|e| format!("{e:?}"))?;
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit).map_err(text)?;
    let pool = Pool::new(512, FrameSize::JUMBO).map_err(text)?;
    let mut machine = Compiled { executor: Executor::new(vdp.clone()), vdp, pool };
    let report = hopwright_stf::run(&script, &mut machine).map_err(|e| format!("{e:?}"))?;
    if !report.passed() {
        return Err(format!("machine code: {report:?}"));
    }
    let mut interp = Interp::new(pipeline).map_err(text)?;
    let report = hopwright_stf::run(&script, &mut interp).map_err(|e| format!("{e:?}"))?;
    if report.passed() { Ok(()) } else { Err(format!("interpreter: {report:?}")) }
}

#[test]
fn programs_that_copy_packets_mean_the_same_to_machine_code() {
    let failed: Vec<String> =
        PROGRAMS.iter().filter_map(|name| passes(name).err().map(|e| format!("{name}: {e}"))).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
