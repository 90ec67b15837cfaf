//! Machine code agrees with the reference interpreter on generated programs: bytes, verdicts, parser errors, counters,
//! registers, hits of table entries. Packets go through in batches, so that nothing may leak from one to the next.
//!
//! `generated/` keeps programs as they were made once: those that showed a fault, and some that have much of everything,
//! since other versions of the generator make other programs of the same seeds.
//!
//! `HOPWRIGHT_SEEDS=FIRST..END` runs other programs than usual; a failure names its seed, and
//! `cargo run -p hopwright-p4gen --example p4gen SEED DIRECTORY` writes that program and its packets.

use std::ops::Range;
use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, VirtualDataPlane};
use hopwright_ir::compile::compile_text;
use hopwright_ir::interp::{self, Interp};
use hopwright_ir::{ExternId, ExternKind, Pipeline, TableId};
use hopwright_jit::abi::Verdict;
use hopwright_p4gen::{Case, Config, generate};
use hopwright_stf::script::Command;

const NOW_US: u64 = 1_234_567;
const BATCH: usize = 8;

fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("HOPWRIGHT_SEEDS") else { return usual };
    let (first, end) = text.split_once("..").expect("HOPWRIGHT_SEEDS is FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

fn compile(text: &str) -> Result<Arc<Pipeline>, String> {
    let compiled = compile_text("generated.p4", text, &Default::default(), true);
    let errors = || hopwright_syntax::render::render(&compiled.diagnostics, &compiled.sources, false);
    compiled.pipeline.map(Arc::new).ok_or_else(errors)
}

/// What an executor made of a packet, in the same words for both.
type Outcome = (interp::Verdict, u32, Option<(u16, Vec<u8>)>);

fn interpreted(interp: &mut Interp, port: u16, bytes: &[u8]) -> Outcome {
    let output = interp.process(bytes, port, NOW_US);
    (output.verdict, output.parser_error, output.sent.into_iter().next().map(|s| (s.port, s.bytes)))
}

fn executed(packet: &Packet) -> Outcome {
    let verdict = match packet.verdict() {
        Verdict::Forward => interp::Verdict::Forward,
        Verdict::Drop => interp::Verdict::Drop,
        Verdict::NoHeadroom | Verdict::Fault => interp::Verdict::Fault,
    };
    let sent = (verdict == interp::Verdict::Forward).then(|| (packet.egress_port() as u16, packet.bytes().to_vec()));
    (verdict, packet.parser_error(), sent)
}

/// What the programs of a test did as a whole.
#[derive(Debug, Default)]
struct Seen {
    forwarded: usize,
    dropped: usize,
    parser_errors: usize,
    hits: u64,
    counted: u64,
}

fn differ(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let pipeline = compile(&case.program)?;
    let mut interp = Interp::new(pipeline.clone()).map_err(|e| e.to_string())?;
    let script = hopwright_stf::parse("entries", &case.entries).map_err(|e| format!("{e:?}"))?;
    hopwright_stf::configure(&script, &mut interp).map_err(|e| e.to_string())?;
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit).map_err(|e| e.to_string())?;
    let tables: Vec<TableId> = (0..pipeline.tables.len()).map(|t| TableId(t as u32)).collect();
    for &table in tables.iter().filter(|&&t| !pipeline[t].const_entries) {
        for (entry, _) in interp.entries(table) {
            vdp.insert_entry(table, entry.clone()).map_err(|e| e.to_string())?;
        }
    }

    let mut executor = Executor::new(vdp.clone());
    let mut pool = Pool::new(BATCH as u32, FrameSize::JUMBO).map_err(|e| e.to_string())?;
    for (batch_number, batch) in case.packets.chunks(BATCH).enumerate() {
        let mut frames: Vec<Packet> = Vec::new();
        for (port, bytes) in batch {
            let mut frame = pool.take_filled(bytes).ok_or("no frame for a packet")?;
            frame.set_ingress_port(u32::from(*port));
            frames.push(frame);
        }
        executor.process_batch(&mut frames, NOW_US);
        for (number, (frame, (port, bytes))) in frames.into_iter().zip(batch).enumerate() {
            let (wanted, found) = (interpreted(&mut interp, *port, bytes), executed(&frame));
            if wanted != found {
                let number = batch_number * BATCH + number;
                return Err(format!(
                    "packet {number} at port {port}: {bytes:02x?}\ninterpreter: {wanted:02x?}\nmachine code: {found:02x?}"
                ));
            }
            seen.forwarded += usize::from(wanted.0 == interp::Verdict::Forward);
            seen.dropped += usize::from(wanted.0 == interp::Verdict::Drop);
            seen.parser_errors += usize::from(wanted.1 != 0);
            pool.give(frame);
        }
    }

    for (i, object) in pipeline.externs.iter().enumerate() {
        let (id, name) = (ExternId(i as u32), object.name.as_str());
        let same = |what: &str, a: String, b: String| {
            if a == b { Ok(()) } else { Err(format!("{what} of {name}\ninterpreter: {a}\nmachine code: {b}")) }
        };
        match object.kind {
            ExternKind::Counter { size, .. } => {
                for at in 0..size {
                    let (a, b) = (interp.counter(id, at), vdp.counter(name, at));
                    seen.counted += a.as_ref().map_or(0, |c| c.packets);
                    same(&format!("count {at}"), format!("{a:?}"), format!("{b:?}"))?;
                }
            }
            ExternKind::Register { size, .. } => {
                for at in 0..size {
                    let (a, b) = (interp.register(id, at), vdp.register(name, at));
                    same(&format!("register {at}"), format!("{a:?}"), format!("{b:?}"))?;
                }
            }
            _ => {}
        }
    }
    for table in tables {
        for (entry, count) in interp.entries(table) {
            seen.hits += count.packets;
            if pipeline[table].direct_counter.is_some() {
                let found = vdp.direct_count(table, &entry.matches, entry.priority).map_err(|e| e.to_string())?;
                if *count != found {
                    let name = &pipeline[table].name;
                    return Err(format!("{name}: {entry:?}\ninterpreter: {count:?}\nmachine code: {found:?}"));
                }
            }
        }
    }
    Ok(())
}

fn check(seeds: Range<u64>, config: &Config) {
    let mut seen = Seen::default();
    for seed in seeds {
        let case = generate(seed, config);
        if let Err(message) = differ(&case, &mut seen) {
            panic!("seed {seed}: {message}\n{}", case.program);
        }
    }
    // If programs did nothing of interest the comparison would tell nothing.
    let Seen { forwarded, dropped, parser_errors, hits, counted } = seen;
    assert!(forwarded > dropped && dropped > 0 && parser_errors > 0 && hits > 0 && counted > 0, "{seen:?}");
}

#[test]
fn generated_programs_of_all_kinds() {
    check(seeds(0..120), &Config::default());
}

#[test]
fn generated_programs_of_machine_words() {
    let config = Config { max_width: 64, statements: 30, packets: 32, ..Config::default() };
    check(seeds(5000..5040), &config);
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
        if let Err(message) = differ(&case, &mut seen) {
            panic!("{}: {message}", path.display());
        }
    }
    assert!(seen.forwarded > 100, "{seen:?}");
}
