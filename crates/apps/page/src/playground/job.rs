//! Compiles a program and runs packets through it, with each engine.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::{Compiled, Options, compile_text};
use hopwright_graphs::graphs;
use hopwright_interp::{Event, Observer};
use hopwright_ir::Pipeline;
use hopwright_packet_trace::Events;
use hopwright_reference::Reference;
use hopwright_stf::script::{Command, Script};
use hopwright_stf::{DataPlaneEngine, Engine, Processed, ReferenceEngine, StfError};
use hopwright_syntax::{Diagnostic, Severity, SourceMap, render};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::program::{files, graphs_json};
use crate::trace::{hex, sent};

/// What diagnostics call the program.
const PROGRAM: &str = "program.p4";
/// What errors call the entries and the packets.
const ENTRIES: &str = "entries";
const PACKETS: &str = "packets";
/// The most diagnostics that are returned.
const MAX_DIAGNOSTICS: usize = 50;
/// The most packets that are run.
const MAX_PACKETS: usize = 64;
/// The most events of a packet's trace.
const MAX_EVENTS: u32 = 2_000;
/// Microseconds between packets.
const INTERVAL_US: u64 = 1_000;

/// What somebody typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The program.
    pub program: String,
    /// Lines of a packet test (STF) that set up tables.
    #[serde(default)]
    pub entries: String,
    /// Lines `PORT HEX…`, and lines of a packet test such as `expect`.
    #[serde(default)]
    pub packets: String,
    /// The listing that is wanted, if any.
    #[serde(default)]
    pub listing: String,
}

/// Code that is generated from a program.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// Its name.
    pub name: &'static str,
    /// Makes it, or says why there is none.
    pub make: fn(&Pipeline) -> Result<Vec<Block>, String>,
}

/// Lines of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The line of the program that they were generated for, if it is known.
    pub line: Option<u32>,
    /// The code.
    pub text: String,
}

impl Block {
    /// A block for the text at a place of a program. Places in include files are none.
    pub fn at(sources: &SourceMap, span: Option<hopwright_ir::Span>, text: String) -> Block {
        let location = span.filter(|s| *s != hopwright_ir::Span::none()).map(|span| sources.location(span));
        Block { line: location.filter(|l| &*l.file == PROGRAM).map(|l| l.line), text }
    }
}

/// Does a job.
pub fn run(request: &Request, listings: &[Listing]) -> Value {
    let compiled = compile(request, true);
    let mut result = json!({ "diagnostics": diagnostics(&compiled) });
    let Some(pipeline) = compiled.pipeline else { return result };
    let pipeline = Arc::new(pipeline);
    result["graphs"] = graphs_json(&pipeline, &graphs(&pipeline));
    result["files"] = files(&pipeline);
    if let Some(listing) = listings.iter().find(|listing| listing.name == request.listing) {
        result["listing"] = match (listing.make)(&pipeline) {
            Ok(blocks) => json!({ "name": listing.name, "blocks": blocks }),
            Err(why) => json!({ "name": listing.name, "error": why }),
        };
    }
    let script = match script(request) {
        Ok(script) => script,
        Err(errors) => {
            result["problems"] = errors.iter().map(problem).collect();
            return result;
        }
    };
    match traces(&pipeline, &script) {
        Ok(packets) => result["packets"] = packets,
        Err(Stopped::At(error)) => {
            result["problems"] = json!([problem(&error)]);
            return result;
        }
        Err(Stopped::Because(why)) => result["problems"] = json!([{ "message": why }]),
    }
    result["engines"] = engines(request, &pipeline, &script);
    result
}

/// Reads no file: includes find what is built in.
fn compile(request: &Request, optimise: bool) -> Compiled {
    compile_text(PROGRAM, &request.program, &Options { no_disk: true, ..Options::default() }, optimise)
}

fn diagnostics(compiled: &Compiled) -> Value {
    compiled.diagnostics.iter().take(MAX_DIAGNOSTICS).map(|d| diagnostic(d, &compiled.sources)).collect()
}

fn diagnostic(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = diagnostic.span().map(|span| {
        let (from, to) = (sources.location(span), sources.location(span.after()));
        json!({ "file": &*from.file, "line": from.line, "column": from.column, "end_line": to.line, "end_column": to.column })
    });
    json!({ "severity": severity, "code": diagnostic.code, "message": diagnostic.message, "place": place,
            "text": render::render_one(diagnostic, sources, false) })
}

/// An error of a line; lines of entries and of packets are counted apart.
fn problem(error: &StfError) -> Value {
    json!({ "where": error.file, "line": error.line, "message": error.message })
}

/// The lines of entries and packets as one test.
fn script(request: &Request) -> Result<Script, Vec<StfError>> {
    let packets: String = request
        .packets
        .lines()
        .map(|line| match line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("packet {}\n", line.trim_start()),
            false => format!("{line}\n"),
        })
        .collect();
    let mut script = hopwright_stf::parse(ENTRIES, &request.entries)?;
    let of_packets = hopwright_stf::parse(PACKETS, &packets)?;
    let count = of_packets.commands.iter().filter(|(_, command)| matches!(command, Command::Packet { .. })).count();
    if count > MAX_PACKETS {
        let message = format!("{count} packets: at most {MAX_PACKETS} are run");
        return Err(vec![StfError { file: PACKETS.into(), line: 1, message }]);
    }
    // Lines of both are told apart by their numbers.
    let offset = OFFSET;
    script.commands.extend(of_packets.commands.into_iter().map(|(line, command)| (line + offset, command)));
    Ok(script)
}

/// Added to numbers of lines of packets.
const OFFSET: u32 = 1 << 24;

/// An error with the number of its line among the entries or among the packets.
fn located(error: StfError) -> StfError {
    match error.line.checked_sub(OFFSET) {
        Some(line) => StfError { file: PACKETS.into(), line, ..error },
        None => error,
    }
}

/// Why a run ended early.
enum Stopped {
    At(StfError),
    Because(String),
}

/// Sets up an engine and runs the packets; `process` gets each with its time.
fn each_packet<E: Engine>(
    engine: &mut E,
    script: &Script,
    mut process: impl FnMut(&mut E, u16, &[u8], u64) -> Result<Value, String>,
) -> Result<Vec<Value>, Stopped> {
    hopwright_stf::configure(script, engine).map_err(|e| Stopped::At(located(e)))?;
    let packets = script.commands.iter().filter_map(|(_, command)| match command {
        Command::Packet { port, bytes } => Some((*port, bytes)),
        _ => None,
    });
    let timed = packets.zip(1..).map(|((port, bytes), number)| process(engine, port, bytes, number * INTERVAL_US));
    timed.collect::<Result<_, String>>().map_err(Stopped::Because)
}

fn data_plane(pipeline: &Arc<Pipeline>, kind: EngineKind) -> Result<DataPlaneEngine, String> {
    let vdp = VirtualDataPlane::new(pipeline.clone(), kind).map_err(|e| e.text(pipeline))?;
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(|e| e.to_string())
}

/// The packets with their traces.
fn traces(pipeline: &Arc<Pipeline>, script: &Script) -> Result<Value, Stopped> {
    let mut engine = data_plane(pipeline, EngineKind::Interp).map_err(Stopped::Because)?;
    let packets = each_packet(&mut engine, script, |engine, port, bytes, time| {
        let mut bounded = Bounded { events: Events::new(pipeline), left: MAX_EVENTS };
        let output = engine.executor.process_observed(bytes, port, time, &mut bounded);
        let output = output.ok_or("only the interpreter can trace")?;
        let (text, passes) = bounded.events.take();
        let out: Vec<Value> = output.sent.iter().map(|s| sent(bytes, s.port, &s.bytes)).collect();
        Ok(
            json!({ "port": port, "bytes": hex(bytes), "sent": out, "passes": passes, "text": text, "fault": output.why_lost(),
                   "truncated": bounded.left == 0 }),
        )
    });
    packets.map(Value::from)
}

/// A bounded number of events.
struct Bounded<'a> {
    events: Events<'a>,
    left: u32,
}

impl Observer for Bounded<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.left > 0 {
            self.left -= 1;
            self.events.event(event);
        }
    }
}

/// What each engine makes of the packets.
fn engines(request: &Request, pipeline: &Arc<Pipeline>, script: &Script) -> Value {
    let in_order = [
        ("reference", reference(request).map(|mut make| of_engine(script, &mut make))),
        ("interpreter", Ok(of_engine(script, &mut || data_plane(pipeline, EngineKind::Interp)))),
        ("machine code", Ok(of_engine(script, &mut || data_plane(pipeline, EngineKind::Jit)))),
    ];
    let one = |(name, result): (&str, Result<Value, String>)| {
        let mut result = result.unwrap_or_else(|why| json!({ "error": why }));
        result["name"] = name.into();
        result
    };
    in_order.into_iter().map(one).collect()
}

/// Runs the packets, and then the whole test with another engine of the same kind.
fn of_engine<E: Engine>(script: &Script, make: &mut dyn FnMut() -> Result<E, String>) -> Value {
    let run = |make: &mut dyn FnMut() -> Result<E, String>| -> Result<Value, Stopped> {
        let mut engine = make().map_err(Stopped::Because)?;
        let packets = each_packet(&mut engine, script, |engine, port, bytes, time| {
            Ok(processed(&engine.process(port, bytes, time)?))
        })?;
        let mut engine = make().map_err(Stopped::Because)?;
        let report = hopwright_stf::run(script, &mut engine).map_err(|e| Stopped::At(located(e)))?;
        let failures: Vec<Value> = report.failures.into_iter().map(|f| problem(&located(f))).collect();
        Ok(json!({ "packets": packets, "failures": failures, "expected": report.matched }))
    };
    run(make).unwrap_or_else(|stopped| match stopped {
        Stopped::At(error) => json!({ "error": error.message }),
        Stopped::Because(why) => json!({ "error": why }),
    })
}

fn processed(processed: &Processed) -> Value {
    let sent: Vec<Value> =
        processed.sent.iter().map(|(port, bytes)| json!({ "port": port, "bytes": hex(bytes) })).collect();
    json!({ "sent": sent, "fault": processed.fault, "digests": processed.digests.len() })
}

/// Makes engines that evaluate the typed program as the specification says.
fn reference(request: &Request) -> Result<impl FnMut() -> Result<ReferenceEngine, String> + use<>, String> {
    let compiled = compile(request, false);
    let (Some(typed), Some(pipeline)) = (compiled.typed, compiled.pipeline) else {
        return Err("it does not compile".into());
    };
    let (typed, pipeline, sources) = (Rc::new(typed), Arc::new(pipeline), compiled.sources);
    Ok(move || {
        let reference = Reference::new(typed.clone(), sources.clone()).map_err(|found| {
            let first = found.first().map(|f| format!(": {} at {}", f.what, f.location)).unwrap_or_default();
            format!("the reference does not have everything that the program needs{first}")
        })?;
        Ok(ReferenceEngine::new(pipeline.clone(), reference))
    })
}
