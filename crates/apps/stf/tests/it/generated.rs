//! The reference agrees with the interpreter on generated programs: packets, faults, parser errors, digests, counters,
//! registers, hits of entries. Machine code is compared with the interpreter on the same programs (`crates/runtime/dataplane`).
//!
//! `HOPWRIGHT_TIMES=N` runs N times as many programs, `HOPWRIGHT_SEEDS=FIRST..END` others, `HOPWRIGHT_PACKETS=N` with this many
//! packets. A failure names its seed, and `cargo run -p hopwright-p4gen --example p4gen SEED DIRECTORY` writes that program and
//! its packets.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_driver::compile_text;
use hopwright_interp::{Interp, Verdict};
use hopwright_ir::{ExternId, ExternKind, TableId};
use hopwright_p4gen::{Architecture, Case, Config, generate, seeds};
use hopwright_reference::Reference;
use hopwright_stf::script::Command;
use hopwright_stf::{Engine, ReferenceEngine};

const NOW_US: u64 = 1_234_567;

/// What the packets of a test did as a whole, so that a comparison of nothing is seen.
#[derive(Debug, Default)]
struct Seen {
    forwarded: usize,
    copies: usize,
    parser_errors: usize,
    hits: u64,
    counted: u64,
}

fn same(what: &str, interp: impl std::fmt::Debug, reference: impl std::fmt::Debug) -> Result<(), String> {
    let (interp, reference) = (format!("{interp:x?}"), format!("{reference:x?}"));
    if interp == reference { Ok(()) } else { Err(format!("{what}\ninterpreter: {interp}\nreference:   {reference}")) }
}

fn differ(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let compiled = compile_text("generated.p4", &case.program, &Default::default(), true);
    let errors = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.ok_or(errors)?);
    let typed = Rc::new(compiled.typed.ok_or("no typed program")?);
    let reference = Reference::new(typed, compiled.sources).map_err(|found| format!("{found:#?}"))?;
    let mut reference = ReferenceEngine::new(pipeline.clone(), reference);
    let mut interp = Interp::new(pipeline.clone()).map_err(|e| e.to_string())?;
    let script = hopwright_stf::parse("entries", &case.entries).map_err(|e| format!("{e:?}"))?;
    hopwright_stf::configure(&script, &mut interp).map_err(|e| e.to_string())?;
    hopwright_stf::configure(&script, &mut reference).map_err(|e| e.to_string())?;
    for (number, (port, bytes)) in case.packets.iter().enumerate() {
        let (a, b) = (interp.process(bytes, *port, NOW_US), reference.reference.process(*port, bytes, NOW_US));
        let sent: Vec<(u16, Vec<u8>)> = a.sent.into_iter().map(|s| (s.port, s.bytes)).collect();
        let packet = format!("packet {number} at port {port}: {bytes:02x?}");
        same(&packet, &sent, &b.sent)?;
        same(&format!("{packet}: parser error"), a.parser_error as usize, b.parser_error)?;
        same(&format!("{packet}: fault"), a.verdict == Verdict::Fault, b.fault.is_some())?;
        let digests = a.digests.into_iter().map(|d| (d.name, d.data.into_iter().map(|v| v.bits).collect::<Vec<_>>()));
        let found = b.digests.into_iter().map(|d| (d.name, d.data));
        same(&format!("{packet}: digests"), digests.collect::<Vec<_>>(), found.collect::<Vec<_>>())?;
        seen.forwarded += usize::from(!sent.is_empty());
        seen.copies += sent.len().saturating_sub(1);
        seen.parser_errors += usize::from(b.parser_error != 0);
    }
    for (id, object) in (0..).map(ExternId).zip(&pipeline.externs) {
        match object.kind {
            ExternKind::Counter { size, .. } => {
                for at in 0..size {
                    let (a, b) = (interp.counter(id, at)?, reference.counter(id, at)?);
                    same(&format!("{}[{at}]", object.name), a, b)?;
                    seen.counted += b.packets;
                }
            }
            ExternKind::Register { size, .. } => {
                for at in 0..size {
                    let (a, b) = (interp.register(id, at)?, reference.register(id, at)?);
                    same(&format!("{}[{at}]", object.name), a, b)?;
                }
            }
            _ => {}
        }
    }
    for (id, table) in (0..).map(TableId).zip(&pipeline.tables) {
        if table.direct_counter.is_none() {
            continue;
        }
        for (entry, count) in interp.store.entries(id) {
            same(&format!("{}: {entry:?}", table.name), count, reference.direct_counter(id, entry)?)?;
            seen.hits += count.packets;
        }
    }
    Ok(())
}

/// Compares on all programs.
fn compare(cases: impl Iterator<Item = (String, Case)>, seen: &mut Seen) {
    let (mut failed, mut number) = (Vec::new(), 0);
    for (name, case) in cases {
        number += 1;
        if let Err(message) = differ(&case, seen) {
            failed.push(format!("{name}: {message}"));
        }
    }
    assert!(failed.is_empty(), "{} of {number} programs\n{}", failed.len(), failed.join("\n\n"));
}

pub(crate) fn check(usual: Range<u64>, config: &Config) {
    let (mut seen, config) = (Seen::default(), &config.from_environment());
    let cases = seeds(usual).map(|seed| (seed.to_string(), generate(seed, config)));
    compare(cases, &mut seen);
    let Seen { forwarded, copies, parser_errors, hits, counted } = seen;
    assert!(forwarded > 0 && parser_errors > 0 && counted > 0, "{seen:?}");
    // Few programs for PSA and Tofino have direct counters.
    assert!(hits > 0 || config.architecture != Architecture::V1model, "{seen:?}");
    assert!(copies > 0 || !config.traffic, "{seen:?}");
}

#[test]
fn generated_programs_of_all_kinds() {
    check(0..60, &Config::default());
}

#[test]
fn generated_programs_that_copy_and_repeat_packets() {
    check(9030..9060, &Config { traffic: true, ..Config::default() });
}

#[test]
fn generated_programs_for_psa() {
    check(12_000..12_012, &Config::of(Architecture::Psa));
    check(13_000..13_012, &Config { traffic: true, ..Config::of(Architecture::Psa) });
}

#[test]
fn generated_programs_for_tofino() {
    check(14_000..14_012, &Config::of(Architecture::Tna));
    check(15_024..15_048, &Config { traffic: true, ..Config::of(Architecture::Tna) });
}

#[test]
fn programs_that_were_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/dataplane/tests/generated");
    let mut seen = Seen::default();
    let paths = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let cases = paths.filter(|path| path.extension().is_some_and(|e| e == "p4")).map(|path| {
        let program = std::fs::read_to_string(&path).unwrap();
        let entries = std::fs::read_to_string(path.with_extension("stf")).unwrap();
        let script = hopwright_stf::parse("entries", &entries).unwrap();
        let packets = script.commands.into_iter().filter_map(|(_, command)| match command {
            Command::Packet { port, bytes } => Some((port, bytes)),
            _ => None,
        });
        let packets = packets.collect();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), Case { program, entries, packets })
    });
    compare(cases, &mut seen);
    assert!(seen.forwarded > 100, "{seen:?}");
}
