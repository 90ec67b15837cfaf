//! Machine code agrees with the reference interpreter on generated programs: bytes, copies, verdicts, parser errors, counters,
//! registers, hits of table entries. Packets run in batches, so that nothing may leak from one to the next.
//!
//! `generated/` keeps programs that once showed a fault, and some that use many features: other versions of the generator
//! make other programs of the same seeds.
//!
//! `HOPWRIGHT_TIMES=N` runs N times as many programs, `HOPWRIGHT_SEEDS=FIRST..END` others, `HOPWRIGHT_PACKETS=N` with this many
//! packets. A failure names its seed, and `cargo run -p hopwright-p4gen --example p4gen SEED DIRECTORY` writes that program and
//! its packets.

use std::ops::Range;
use std::sync::Arc;

use crate::machine::machine;
use hopwright_abi::Verdict;
use hopwright_dataplane::trace_ir::eval::{self, Input};
use hopwright_dataplane::trace_ir::recording::Recording;
use hopwright_dataplane::trace_ir::text::{parse, print};
use hopwright_dataplane::trace_ir::verify::verify;
use hopwright_dataplane::{Digest, LostCopies, Packet, TracePass};
use hopwright_driver::compile_text;
use hopwright_interp::{self as interp, Interp};
use hopwright_ir::{ExternId, ExternKind, Pipeline, TableId};
use hopwright_p4gen::{Architecture, Case, Config, generate, seeds};
use hopwright_stf::script::Command;
use hopwright_stf::{DataPlaneEngine, Engine};

const NOW_US: u64 = 1_234_567;
/// Batch sizes, by turns.
const BATCHES: [usize; 8] = [8, 1, 16, 3, 17, 2, 256, 5];

fn compile(text: &str) -> Result<Arc<Pipeline>, String> {
    let compiled = compile_text("generated.p4", text, &Default::default(), true);
    let errors = compiled.report(false);
    compiled.pipeline.map(Arc::new).ok_or(errors)
}

/// What an executor made of a packet, in the same words for both: what was sent in order, if nothing was whether for a
/// fault, and the parser's error.
#[derive(Debug, PartialEq)]
struct Outcome {
    sent: Vec<(u16, Vec<u8>)>,
    fault: bool,
    parser_error: u32,
}

fn interpreted(interp: &mut Interp, port: u16, bytes: &[u8]) -> (Outcome, Vec<Digest>) {
    let output = interp.process(bytes, port, NOW_US);
    let fault = output.sent.is_empty() && output.verdict == interp::Verdict::Fault;
    let outcome = Outcome {
        sent: output.sent.into_iter().map(|s| (s.port, s.bytes)).collect(),
        fault,
        parser_error: output.parser_error,
    };
    (outcome, output.digests)
}

fn executed(packet: &Packet) -> Outcome {
    let sent = |p: &Packet| (p.egress_port() as u16, p.bytes().to_vec());
    Outcome {
        sent: Vec::from_iter((packet.verdict() == Verdict::Forward).then(|| sent(packet))),
        fault: matches!(packet.verdict(), Verdict::NoHeadroom | Verdict::Fault),
        parser_error: packet.parser_error(),
    }
}

/// What the programs of a test did as a whole.
#[derive(Debug, Default)]
struct Seen {
    forwarded: usize,
    copies: usize,
    digests: usize,
    dropped: usize,
    parser_errors: usize,
    hits: u64,
    counted: u64,
    /// Packets on hot paths.
    hot: u64,
}

fn differ(case: &Case, batch: usize, seen: &mut Seen) -> Result<(), String> {
    // Tables of which many entries are expected are looked ahead for; nothing else depends on that.
    let mut pipeline = (*compile(&case.program)?).clone();
    pipeline.tables.iter_mut().for_each(|t| t.size = t.size.max(1 << 20));
    let pipeline = Arc::new(pipeline);
    let mut interp = Interp::new(pipeline.clone()).map_err(|e| e.to_string())?;
    let script = hopwright_stf::parse("entries", &case.entries).map_err(|e| format!("{e:?}"))?;
    hopwright_stf::configure(&script, &mut interp).map_err(|e| e.to_string())?;
    let mut machine = machine(pipeline.clone())?;
    machine.executor.prefetch_keys(Some(true));
    hopwright_stf::configure(&script, &mut machine).map_err(|e| e.to_string())?;
    let tables: Vec<TableId> = (0..pipeline.tables.len()).map(|t| TableId(t as u32)).collect();

    // The same packets once more, on the paths that the first half took.
    let mut numbers = 0..;
    let mut before = (0, 0);
    for again in [false, true] {
        if again {
            // Code without a pass computes the same.
            let left_out = TracePass::all().nth(case.program.len() % (2 * TracePass::all().count()));
            machine.vdp.respecialise_without(left_out.as_slice()).map_err(|e| e.to_string())?;
            before = machine.vdp.traces().counts();
        } else {
            machine.vdp.start_profiling(case.packets.len().div_ceil(2)).map_err(|e| e.to_string())?;
        }
        packets_differ(case, &mut machine, &mut interp, batch, &mut numbers, seen)?;
    }
    let after = machine.vdp.traces().counts();
    seen.hot += (after.0 - before.0) - (after.1 - before.1);
    let vdp = &machine.vdp;

    for (i, object) in pipeline.externs.iter().enumerate() {
        let (id, name) = (ExternId(i as u32), object.name.as_str());
        let same = |what: &str, a: String, b: String| {
            if a == b { Ok(()) } else { Err(format!("{what} of {name}\ninterpreter: {a}\nmachine code: {b}")) }
        };
        match object.kind {
            ExternKind::Counter { size, .. } => {
                for at in 0..size {
                    let (a, b) = (interp.store.counter(id, at), vdp.control().counter(name).and_then(|c| c.read(at)));
                    seen.counted += a.as_ref().map_or(0, |c| c.packets);
                    same(&format!("count {at}"), format!("{a:?}"), format!("{b:?}"))?;
                }
            }
            ExternKind::Register { size, .. } => {
                for at in 0..size {
                    let (a, b) = (interp.store.register(id, at), vdp.control().register(name).and_then(|r| r.read(at)));
                    same(&format!("register {at}"), format!("{a:?}"), format!("{b:?}"))?;
                }
            }
            _ => {}
        }
    }
    for table in tables {
        for (entry, count) in interp.store.entries(table) {
            seen.hits += count.packets;
            if pipeline[table].direct_counter.is_some() {
                let found =
                    vdp.control()[table].direct_count(&entry.matches, entry.priority).map_err(|e| e.to_string())?;
                if count != found {
                    let name = &pipeline[table].name;
                    return Err(format!("{name}: {entry:?}\ninterpreter: {count:?}\nmachine code: {found:?}"));
                }
            }
        }
    }
    Ok(())
}

/// Compares what becomes of the packets.
fn packets_differ(
    case: &Case,
    machine: &mut DataPlaneEngine,
    interp: &mut Interp,
    batch: usize,
    numbers: &mut std::ops::RangeFrom<usize>,
    seen: &mut Seen,
) -> Result<(), String> {
    for batch in case.packets.chunks(batch) {
        let mut frames: Vec<Packet> = Vec::new();
        for (port, bytes) in batch {
            let mut frame = machine.pool.take_filled(bytes).ok_or("no frame for a packet")?;
            frame.set_ingress_port(u32::from(*port));
            frames.push(frame);
        }
        let mut rest = (frames.as_mut_slice(), batch);
        while !rest.0.is_empty() {
            let done = machine.executor.run(rest.0, NOW_US, &mut machine.pool);
            let (frames, packets);
            (frames, rest.0) = rest.0.split_at_mut(done);
            (packets, rest.1) = rest.1.split_at(done);
            let mut found: Vec<Outcome> = frames.iter().map(executed).collect();
            for copy in machine.executor.copies() {
                // Only the last of a run has copies.
                let last = found.last_mut().ok_or("copies of nothing")?;
                last.sent.push((copy.egress_port() as u16, copy.bytes().to_vec()));
                machine.pool.give(copy);
            }
            let mut sent = std::iter::from_fn(|| machine.vdp.control().next_digest());
            for ((port, bytes), found) in packets.iter().zip(found) {
                let (number, (wanted, digests)) = (numbers.next(), interpreted(interp, *port, bytes));
                let found_digests: Vec<Digest> = sent.by_ref().take(digests.len()).collect();
                if digests != found_digests {
                    return Err(format!(
                        "digests of packet {number:?}\ninterpreter: {digests:x?}\nmachine code: {found_digests:x?}"
                    ));
                }
                seen.digests += digests.len();
                if wanted != found {
                    return Err(format!(
                        "packet {number:?} at port {port}: {bytes:02x?}\ninterpreter: {wanted:02x?}\nmachine code: {found:02x?}"
                    ));
                }
                seen.forwarded += usize::from(!wanted.sent.is_empty());
                seen.copies += wanted.sent.len().saturating_sub(1);
                seen.dropped += usize::from(wanted.sent.is_empty() && !wanted.fault);
                seen.parser_errors += usize::from(wanted.parser_error != 0);
            }
        }
        if let Some(digest) = machine.vdp.control().next_digest() {
            return Err(format!("a digest too many: {digest:x?}"));
        }
        for frame in frames {
            machine.pool.give(frame);
        }
        let LostCopies { no_frame, no_headroom, faults: _ } = machine.executor.take_lost_copies();
        if no_frame + no_headroom != 0 || machine.pool.available() != machine.pool.frames() as usize {
            return Err("copies or frames are lost".into());
        }
    }
    Ok(())
}

fn check(seeds: Range<u64>, config: &Config) {
    let (mut seen, config) = (Seen::default(), &config.from_environment());
    for seed in seeds {
        let case = generate(seed, config);
        let batch = BATCHES[seed as usize % BATCHES.len()];
        if let Err(message) = differ(&case, batch, &mut seen) {
            panic!("seed {seed}, batches of {batch}: {message}\n{}", case.program);
        }
    }
    // If programs did nothing of interest the comparison would tell nothing.
    let Seen { forwarded, copies, digests, dropped, parser_errors, hits, counted, hot } = seen;
    assert!(hot * 10 > (forwarded + dropped) as u64 / 2, "few packets on hot paths: {seen:?}");
    // Those for PSA send no digests.
    let digests = digests > 0 || config.architecture == Architecture::Psa;
    assert!((copies > 0 && digests) || !config.traffic, "{seen:?}");
    assert!(forwarded > dropped && dropped > 0 && parser_errors > 0 && hits > 0 && counted > 0, "{seen:?}");
}

#[test]
fn generated_programs_of_all_kinds() {
    check(seeds(0..40), &Config::default());
}

#[test]
fn generated_programs_of_machine_words() {
    let config = Config { max_width: 64, statements: 30, packets: 32, ..Config::default() };
    check(seeds(5000..5016), &config);
}

#[test]
fn generated_programs_that_copy_and_repeat_packets() {
    let config = Config { traffic: true, ..Config::default() };
    check(seeds(9000..9024), &config);
}

#[test]
fn generated_programs_that_try_the_order_of_effects() {
    check(seeds(20_000..20_016), &Config::thorough(Architecture::V1model));
}

#[test]
fn generated_programs_that_try_the_order_of_effects_and_copy_packets() {
    let config = Config { traffic: true, ..Config::thorough(Architecture::V1model) };
    check(seeds(21_000..21_012), &config);
}

#[test]
fn generated_programs_for_other_architectures() {
    for (architecture, first) in [(Architecture::Psa, 12_000), (Architecture::Tna, 14_000)] {
        for traffic in [false, true] {
            let config = Config { traffic, ..Config::of(architecture) };
            let first = first + if traffic { 1000 } else { 0 };
            check(seeds(first..first + 12), &config);
        }
        check(seeds(first + 600..first + 618), &Config::thorough(architecture));
    }
}

/// The trace IR of a generated program says of its packets what the interpreter does. Returns the number of packets that completed a
/// trace.
fn trace_ir_differs(case: &Case) -> Result<usize, String> {
    let pipeline = compile(&case.program)?;
    let script = hopwright_stf::parse("entries", &case.entries).map_err(|e| format!("{e:?}"))?;
    let mut interp = Interp::new(pipeline.clone()).map_err(|e| e.to_string())?;
    hopwright_stf::configure(&script, &mut interp).map_err(|e| e.to_string())?;
    let mut machine = machine(pipeline.clone())?;
    hopwright_stf::configure(&script, &mut machine).map_err(|e| e.to_string())?;
    machine.vdp.start_profiling(case.packets.len()).map_err(|e| e.to_string())?;
    for (port, bytes) in &case.packets {
        machine.process(*port, bytes, NOW_US)?;
    }
    let profile = machine.vdp.take_profile().ok_or("no packets")?;
    let Some(code) = machine.vdp.compile_traces(&profile, &[]).map_err(|e| e.to_string())? else { return Ok(0) };
    let ir = machine.vdp.trace_ir(&code).ok_or("no trace IR")?;
    let text = print(&ir, None);
    verify(&ir).map_err(|e| format!("{e:?}\n{text}"))?;
    let again = parse(&text).map_err(|e| format!("{e}\n{text}"))?;
    if print(&again, None) != text {
        return Err(format!("read differently: {text}"));
    }
    let mut completed = 0;
    for (port, packet) in &case.packets {
        let mut recording = Recording::new(&pipeline);
        let output = interp.process_observed(packet, *port, NOW_US, &mut recording);
        let input = Input { packet, port: *port, now_us: NOW_US };
        let outcome = recording.compare(&again, input, &output).map_err(|e| format!("{packet:x?}: {e}\n{text}"))?;
        completed += usize::from(matches!(outcome, eval::Outcome::Completed { .. }));
    }
    Ok(completed)
}

#[test]
fn trace_ir_of_generated_programs() {
    let mut completed = 0;
    for seed in seeds(0..24) {
        let case = generate(seed, &Config::default());
        completed += trace_ir_differs(&case).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.program));
    }
    // Some packets leave at guards that their paths do not show, such as those for cells that do not exist.
    assert!(completed > 80, "{completed}");
}

/// The tree of a profile has a line for each place and a branch for each decision, and says where packets leave.
#[test]
fn a_profile_shows_where_packets_leave_the_traces() {
    let text = r#"#include <v1model.p4>
header h_t { bit<8> a; }
struct headers { h_t h; }
struct meta { }
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout meta m) { apply { } }
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
    apply {
        if (hdr.h.a == 1) {
            sm.egress_spec = 1;
        } else if (hdr.h.a == 2) {
            sm.egress_spec = 2;
        } else {
            mark_to_drop(sm);
        }
    }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout meta m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;
    let pipeline = compile(text).unwrap();
    let mut machine = machine(pipeline.clone()).unwrap();
    let mut profile = |values: &[u8]| {
        machine.vdp.start_profiling(values.len()).unwrap();
        values.iter().for_each(|value| drop(machine.process(0, &[*value], NOW_US).unwrap()));
        (machine.vdp.take_profile().unwrap(), machine.vdp.clone())
    };
    let (learned, vdp) = profile(&[1, 1, 1, 2]);
    assert_eq!((learned.packets(), learned.paths()), (4, 2));
    let code = vdp.compile_traces(&learned, &[]).unwrap().unwrap();
    assert_eq!(learned.covered(&code), 4);
    let (others, _) = profile(&[1, 2, 2, 3, 7]);
    assert_eq!(others.covered(&code), 3);
    let tree = others.tree(&pipeline, Some(&code));
    let lines: Vec<&str> = tree.lines().map(str::trim).collect();
    assert!(lines.iter().any(|l| l.starts_with("5  generated.p4:6  state")), "{tree}");
    assert!(
        lines.iter().any(|l| l.starts_with("1  ") && l.ends_with("generated.p4:12  sm.egress_spec = 1;")),
        "{tree}"
    );
    let leaves: Vec<&&str> = lines.iter().filter(|l| l.contains("side exit")).collect();
    assert!(matches!(leaves[..], [line] if line.starts_with("2  ") && line.contains("generated.p4:16")), "{tree}");

    // A running data plane counts where packets leave, also when it learns again.
    for _ in 0..2 {
        vdp.start_profiling(4).unwrap();
        [1, 1, 1, 2].iter().for_each(|value| drop(machine.process(0, &[*value], NOW_US).unwrap()));
        vdp.respecialise().unwrap();
        [1, 7, 2, 3].iter().for_each(|value| drop(machine.process(0, &[*value], NOW_US).unwrap()));
    }
    let sites = vdp.traces().exits_by_site();
    let at =
        |line: &str| sites.iter().filter(|(site, _)| site.starts_with(line)).map(|(_, packets)| packets).sum::<u64>();
    assert_eq!((at("generated.p4:"), vdp.traces().counts().1), (4, 4), "{sites:?}");
    assert_eq!(at("generated.p4:13"), 4, "{sites:?}");
}

#[test]
fn programs_that_were_kept() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated");
    let mut seen = Seen::default();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "p4") {
            continue;
        }
        let program = std::fs::read_to_string(&path).unwrap();
        let entries = std::fs::read_to_string(path.with_extension("stf")).unwrap();
        let script = hopwright_stf::parse("entries", &entries).unwrap();
        let packets = script.commands.into_iter().filter_map(|(_, command)| match command {
            Command::Packet { port, bytes } => Some((port, bytes)),
            _ => None,
        });
        let case = Case { program, entries, packets: packets.collect() };
        for batch in [1, 8, 256] {
            if let Err(message) = differ(&case, batch, &mut seen) {
                panic!("{}, batches of {batch}: {message}", path.display());
            }
        }
    }
    assert!(seen.forwarded > 100, "{seen:?}");
}
