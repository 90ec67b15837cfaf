//! An STF engine that runs packets with the evaluator of the hardware IR, and comparison with the interpreter.
#![allow(dead_code)]

pub(crate) mod counterexample;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopwright_dataplane::ExternTypes;
use hopwright_driver::{compile_file, compile_text};
use hopwright_interp::{CloneSession, Count, ExternError, Fault, Interp, LinearStore, Output, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{
    ActionCall, EntryTarget, ExternId, ExternKind, Group, MatchValue, Pipeline, Span, TableEntry, TableId, ValueSetId,
};
use hopwright_rtl::{Evaluator, Refusal, convert};
use hopwright_stf::script::Change;
use hopwright_stf::{Engine, EngineError, Processed};
use num_bigint::BigUint;

/// Runs packets with the evaluator. The store is that of an interpreter, which carries out what the control plane asks.
pub(crate) struct Hardware {
    control: Interp,
    evaluator: Evaluator,
}

impl Hardware {
    pub(crate) fn new(pipeline: &Arc<Pipeline>) -> Result<Hardware, Vec<Refusal>> {
        let design = Arc::new(convert(pipeline)?);
        let store = LinearStore::new(pipeline).unwrap();
        let registry = ExternTypes::standard().for_interpreter();
        let evaluator = Evaluator::with_store(pipeline.clone(), design, &registry, store).unwrap();
        Ok(Hardware { control: interpreter(pipeline), evaluator })
    }

    pub(crate) fn run(&mut self, packet: &[u8], port: u16, now_us: u64) -> Output {
        std::mem::swap(&mut self.control.store, &mut self.evaluator.store);
        let output = self.evaluator.process(packet, port, now_us);
        std::mem::swap(&mut self.control.store, &mut self.evaluator.store);
        output
    }
}

pub(crate) fn interpreter(pipeline: &Arc<Pipeline>) -> Interp {
    Interp::with_externs(pipeline.clone(), &ExternTypes::standard().for_interpreter()).unwrap()
}

/// The folder of the whole project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

pub(crate) fn compile(file: &Path) -> Arc<Pipeline> {
    let compiled = compile_file(file, &Default::default(), true);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

pub(crate) fn compile_source(text: &str) -> Result<Arc<Pipeline>, String> {
    let compiled = compile_text("generated.p4", text, &Default::default(), true);
    let report = compiled.report(false);
    compiled.pipeline.map(Arc::new).ok_or(report)
}

/// The text of a program for Ethernet frames, with the body of its ingress control.
pub(crate) fn ethernet_program(ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
struct headers_t {{ ethernet_t ethernet; }}
struct meta_t {{ }}
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {{
    state start {{ p.extract(hdr.ethernet); transition accept; }}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {{{ingress}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {{ apply {{ }} }}
control C(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.ethernet); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// What an engine makes of a packet, as far as hardware knows: not where a fault was, nor how many copies had one.
pub(crate) fn comparable(output: Output) -> Output {
    let fault = output.fault.map(|_| Fault { message: String::new(), span: Span::none() });
    Output { fault, faults: output.faults.min(1), ..output }
}

/// Compares the state of both: counters, direct counters and registers.
pub(crate) fn same_state(
    pipeline: &Pipeline,
    a: &mut dyn Engine,
    b: &mut dyn Engine,
    entries: &Entries,
) -> Result<(), String> {
    for (i, object) in pipeline.externs.iter().enumerate() {
        let id = ExternId(i as u32);
        let size = match object.kind {
            ExternKind::Counter { size, .. } | ExternKind::Register { size, .. } => size.min(4096),
            _ => continue,
        };
        for index in 0..size {
            let (x, y) = match object.kind {
                ExternKind::Counter { .. } => {
                    (format!("{:?}", a.counter(id, index)), format!("{:?}", b.counter(id, index)))
                }
                _ => (format!("{:?}", a.register(id, index)), format!("{:?}", b.register(id, index))),
            };
            if x != y {
                return Err(format!("{}[{index}]: interpreter {x}, hardware {y}", object.name));
            }
        }
    }
    for (table, entry) in entries {
        let (x, y) = (a.direct_counter(*table, entry), b.direct_counter(*table, entry));
        if x != y {
            return Err(format!("an entry of {}: interpreter {x:?}, hardware {y:?}", pipeline[*table].name));
        }
    }
    Ok(())
}

/// Entries whose direct counters are compared.
pub(crate) type Entries = Vec<(TableId, TableEntry)>;

/// All entries of tables with direct counters.
pub(crate) fn entries(pipeline: &Pipeline, interp: &Interp) -> Entries {
    let counted = |t: &TableId| pipeline[*t].direct_counter.is_some();
    let tables = (0..pipeline.tables.len() as u32).map(TableId).filter(counted);
    tables.flat_map(|t| interp.store.entries(t).map(move |(entry, _)| (t, entry.clone()))).collect()
}

impl Engine for Hardware {
    fn pipeline(&self) -> &Pipeline {
        self.control.pipeline()
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, EngineError> {
        let output = self.run(packet, port, now_us);
        let sent = output.sent.into_iter().map(|s| (s.port, s.bytes)).collect();
        Ok(Processed { sent, fault: output.fault.map(|fault| fault.message), digests: output.digests })
    }

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        Engine::insert(&mut self.control, table, entry)
    }

    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        Engine::modify(&mut self.control, table, entry)
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), EngineError> {
        Engine::set_default(&mut self.control, table, action)
    }

    fn clear(&mut self, table: TableId) -> Result<(), EngineError> {
        Engine::clear(&mut self.control, table)
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, EngineError> {
        Engine::counter(&mut self.control, counter, index)
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), EngineError> {
        Engine::set_counter(&mut self.control, counter, index, value)
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, EngineError> {
        Engine::direct_counter(&mut self.control, table, entry)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, EngineError> {
        Engine::register(&mut self.control, register, index)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), EngineError> {
        Engine::set_register(&mut self.control, register, index, value)
    }

    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), EngineError> {
        let model = self.evaluator.named_extern(object).ok_or(ExternError::NoMethods)?;
        Ok(model.control(&format!("key/{slot}"), key)?)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), EngineError> {
        Engine::insert_target(&mut self.control, table, matches, priority, to)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), EngineError> {
        Engine::change_member(&mut self.control, change, profile, member, action)
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), EngineError> {
        Engine::change_group(&mut self.control, change, selector, group, to)
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, EngineError> {
        Engine::meter(&mut self.control, meter, index)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), EngineError> {
        Engine::set_meter(&mut self.control, meter, index, rates)
    }

    fn set_direct_meter(
        &mut self,
        table: TableId,
        entry: &TableEntry,
        rates: Option<Rates>,
    ) -> Result<(), EngineError> {
        Engine::set_direct_meter(&mut self.control, table, entry, rates)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), EngineError> {
        Engine::set_clone_session(&mut self.control, session, to)
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), EngineError> {
        Engine::set_value_set(&mut self.control, set, members)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), EngineError> {
        Engine::set_multicast_group(&mut self.control, group, replicas)
    }
}
