//! What tests of programs reach.

use std::path::Path;

use hopwright_coverage::Kind;
use hopwright_dataplane::EngineKind;
use hopwright_testgen::{Generated, Options};

use super::{compiled, executable, failure, options, root, tests_of};

/// What is not reached, for people.
fn unreached(generated: &Generated) -> Vec<String> {
    let points = generated.coverage.points();
    let text = |u: &hopwright_testgen::Unreached| {
        let point = &points.all()[u.point];
        format!("{} {}: {}", points.location(u.point), point.label, u.why)
    };
    generated.unreached.iter().map(text).collect()
}

/// Makes tests; each must pass with both engines. Returns what they do not reach.
fn missed(file: &Path, options: &Options) -> Vec<String> {
    missed_with(file, "", options)
}

/// The same, with tests that begin with a set-up.
fn missed_with(file: &Path, set_up: &str, options: &Options) -> Vec<String> {
    let pipeline = compiled(file, false);
    let (generated, texts) = tests_of(&pipeline, set_up, options);
    let optimised = compiled(file, true);
    for kind in [EngineKind::Interp, EngineKind::Jit] {
        let program = executable(&optimised, kind);
        for text in &texts {
            assert_eq!(failure(&program, text), None, "{kind:?}\n{text}");
        }
    }
    eprintln!("{}: {} tests of {} runs; {}", file.display(), texts.len(), generated.runs, generated.ended);
    unreached(&generated)
}

/// That nothing else is missed, and that no packet reaches it.
fn proved(missed: &[String], expected: &[&str]) {
    assert_eq!(missed.len(), expected.len(), "{missed:#?}");
    for (missed, expected) in missed.iter().zip(expected) {
        assert!(missed.contains(expected) && missed.ends_with("proved: no packet reaches it"), "{missed}");
    }
}

#[test]
fn everything_of_the_examples_is_reached() {
    for name in ["examples/l2.p4", "examples/l3.p4"] {
        assert_eq!(missed(&root().join(name), &options()), [""; 0], "{name}");
    }
}

/// Masks of suffix keys have no gaps. One of the tables has an entry that matches anything.
#[test]
fn entries_have_masks_that_their_match_kinds_allow() {
    let missed = missed(&root().join("tests/stf/suffix_keys.p4"), &options());
    assert!(missed.len() == 1 && missed[0].contains("work.fixed: miss"), "{missed:#?}");
}

/// The IP router decides late about what is decided early: whether a packet is forwarded.
#[test]
fn a_router_forwards_in_its_tests() {
    let options = Options { cases: false, patience: 1500, ..options() };
    let missed = missed(&root().join("p4/router/ip.p4"), &options);
    let forwards = |missed: &String| missed.contains("std.egress_spec = meta.egress_port");
    assert!(!missed.iter().any(forwards), "{missed:#?}");
}

/// A path that needs two packets' worth of luck: a value that an action sets, compared with a field behind a checksum.
#[test]
fn conditions_over_several_tables_and_a_checksum_are_met() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/deep.p4");
    let missed = missed(&file, &options());
    // `x < 4 && x > 8` is never true.
    proved(&missed, &["true", "meta.never = 1"]);
}

/// Two right MACs in one packet, conditions over what they are computed from, and a header whose length moves them.
#[test]
fn what_is_behind_right_macs_is_reached() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sealed.p4");
    let key = "key_set hop_key 0 0x000102030405060708090a0b0c0d0e0f\n";
    // Each select has a case for both values of its bit.
    let expected = ["start: no case matches", "first: no case matches", "true", "h.first.flags[5:5] = 1;"];
    proved(&missed_with(&file, key, &options()), &expected);
}

/// What depends on the time is a test for packets that arrive at time zero, as in the runner.
#[test]
fn a_limit_of_packets_in_time_is_reached() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clock.p4");
    assert_eq!(missed(&file, &options()), [""; 0]);
    let (generated, _) = tests_of(&compiled(&file, false), "", &options());
    assert!(generated.tests.iter().any(|test| test.at_zero) && generated.tests.iter().any(|test| !test.at_zero));
}

#[test]
fn the_same_seed_makes_the_same_tests() {
    let pipeline = compiled(&root().join("examples/l3.p4"), false);
    let few = |seed| tests_of(&pipeline, "", &Options { seed, max_tests: 12, ..options() }).1;
    assert_eq!(few(7), few(7));
    assert_ne!(few(7), few(8));
}

/// Without cases, tests reach the same points, and there are fewer.
#[test]
fn points_alone_need_fewer_tests() {
    let pipeline = compiled(&root().join("examples/l3.p4"), false);
    let (all, _) = tests_of(&pipeline, "", &options());
    let (few, _) = tests_of(&pipeline, "", &Options { cases: false, ..options() });
    assert!(few.tests.len() < all.tests.len());
    let reached = |generated: &Generated| generated.coverage.counts().iter().filter(|count| **count > 0).count();
    assert_eq!(reached(&few), reached(&all));
    assert!(all.coverage.points().all().iter().any(|point| matches!(point.kind, Kind::Branch(..))));
}
