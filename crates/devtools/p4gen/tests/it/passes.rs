//! Every generated program compiles, and neither the optimising passes nor printing the pipeline and reading it back change
//! what it does.

use std::sync::Arc;

use hopwright_driver::compile_text;
use hopwright_interp::Interp;
use hopwright_ir::{ExternId, ExternKind, TableId};
use hopwright_p4gen::{Architecture, Case, Config, generate};

fn interp(seed: u64, case: &Case, optimise: bool) -> Interp {
    let compiled = compile_text("generated.p4", &case.program, &Default::default(), optimise);
    let Some(pipeline) = compiled.pipeline else {
        let text = compiled.report(false);
        panic!("seed {seed} does not compile:\n{text}");
    };
    let pipeline = if optimise {
        let text = pipeline.to_string();
        let read = hopwright_ir::text::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(read.to_string(), text, "seed {seed}");
        read
    } else {
        pipeline
    };
    let mut interp = Interp::new(Arc::new(pipeline)).unwrap();
    let script = hopwright_stf::parse("entries", &case.entries).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
    hopwright_stf::configure(&script, &mut interp).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    interp
}

/// Counters, registers and direct counters by name.
fn state(interp: &mut Interp) -> Vec<String> {
    let pipeline = interp.pipeline().clone();
    let mut all = Vec::new();
    for (i, object) in pipeline.externs.iter().enumerate() {
        let id = ExternId(i as u32);
        match object.kind {
            ExternKind::Counter { size, .. } => {
                all.extend((0..size).map(|at| format!("{}[{at}] {:?}", object.name, interp.store.counter(id, at))));
            }
            ExternKind::Register { size, .. } => {
                all.extend((0..size).map(|at| format!("{}[{at}] {:?}", object.name, interp.store.register(id, at))));
            }
            _ => {}
        }
    }
    for (i, table) in pipeline.tables.iter().enumerate() {
        for (entry, count) in interp.store.entries(TableId(i as u32)) {
            all.push(format!("{} {:?} {count:?}", table.name, entry.matches));
        }
    }
    all.sort();
    all
}

fn check(seeds: std::ops::Range<u64>, config: &Config) {
    let (mut sent, mut dropped, mut hits) = (0, 0, 0);
    for seed in hopwright_p4gen::seeds(seeds) {
        let case = generate(seed, config);
        let (mut plain, mut optimised) = (interp(seed, &case, false), interp(seed, &case, true));
        for (number, (port, packet)) in case.packets.iter().enumerate() {
            let a = plain.process(packet, *port, 1000);
            let b = optimised.process(packet, *port, 1000);
            assert_eq!(
                (&a.sent, &a.digests, a.verdict, a.parser_error),
                (&b.sent, &b.digests, b.verdict, b.parser_error),
                "seed {seed}, packet {number}: optimised (right) and plain (left) differ\n{}",
                case.program
            );
            sent += a.sent.len();
            dropped += usize::from(a.sent.is_empty());
        }
        let found = state(&mut plain);
        assert_eq!(found, state(&mut optimised), "seed {seed}: state differs\n{}", case.program);
        hits += found.iter().filter(|s| s.contains("Count") && !s.contains("packets: 0")).count();
    }
    assert!(sent > dropped && dropped > 0 && hits > 0, "sent {sent}, dropped {dropped}, hits {hits}: tells nothing");
}

#[test]
fn passes_keep_the_meaning() {
    check(0..40, &Config::default());
}

#[test]
fn passes_keep_the_meaning_of_narrow_programs() {
    let config = Config { max_width: 32, statements: 25, ..Config::default() };
    check(1000..1020, &config);
}

#[test]
fn passes_keep_the_meaning_of_programs_with_copies_and_repetitions() {
    let config = Config { max_width: 64, traffic: true, ..Config::default() };
    check(2000..2020, &config);
}

#[test]
fn passes_keep_the_meaning_of_programs_that_try_the_order_of_effects() {
    check(3000..3030, &Config::thorough(Architecture::V1model));
}

#[test]
fn thorough_programs_use_every_construct() {
    let programs: Vec<String> =
        (0..200).map(|seed| generate(seed, &Config::thorough(Architecture::V1model)).program).collect();
    // What is on one line.
    let constructs: [(&[&str], usize); 13] = [
        (&["over", "= over"], 60),
        (&["over", "(bump"], 20),
        (&["swap<rec_t>("], 3),
        (&[" = choose"], 60),
        (&["swap", "hdr.us"], 10),
        (&["hdr.us.next"], 50),
        (&["hdr.us[(", "] = "], 5),
        (&["hdr.s[(", "] = "], 20),
        (&["leave", "action"], 50),
        (&["switch (", "bump"], 10),
        (&["priority = "], 60),
        (&["transition parse_l;"], 50),
        (&["meta.passes = meta.passes + 1;"], 40),
    ];
    for (used, least) in constructs {
        let line = |line: &str| used.iter().all(|part| line.contains(part));
        let count = programs.iter().filter(|program| program.lines().any(line)).count();
        assert!(count >= least, "{count} of 200 use {used:?}");
    }
}

#[test]
fn programs_use_what_is_beyond_v1model() {
    let config = Config::default();
    let programs: Vec<String> = (0..200).map(|seed| generate(seed, &config).program).collect();
    for used in [": masked ", ": suffix ", "parity(", "reverse_bits(", "adjust_checksum("] {
        let count = programs.iter().filter(|program| program.contains(used)).count();
        assert!(count > 20, "{count} of 200 use {used}");
    }
    let without = Config { extensions: false, ..config };
    assert!((0..50).all(|seed| !generate(seed, &without).program.contains("masked")));
}
