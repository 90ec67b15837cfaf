//! Coverage of a program whose points are counted by hand.

use std::sync::Arc;

use hopwright_coverage::{Coverage, Report};
use hopwright_driver::compile_text;
use hopwright_interp::Interp;
use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry};
use hopwright_syntax::Options;

const PROGRAM: &str = include_str!("small.p4");

fn pipeline() -> Arc<Pipeline> {
    let compiled = compile_text("small <&>.p4", PROGRAM, &Options::default(), false);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

fn packet(kind: u8, value: u8) -> [u8; 2] {
    [kind, value]
}

/// What these packets reach, with an entry of `t` for `v` = 7.
fn coverage(packets: &[[u8; 2]]) -> Coverage {
    let pipeline = pipeline();
    let mut interp = Interp::new(pipeline.clone()).unwrap();
    let table = pipeline.table_by_name("t").unwrap();
    let action = ActionCall { action: pipeline.action_by_name("forward").unwrap(), args: vec![3u32.into()] };
    let entry = TableEntry { matches: vec![MatchValue::Exact(7u32.into())], priority: 0, action };
    interp.store.insert(table, entry).unwrap();
    let mut coverage = Coverage::new(&pipeline);
    for bytes in packets {
        interp.process_observed(bytes, 1, 0, &mut coverage);
    }
    coverage
}

fn totals(report: &Report) -> Vec<(&'static str, usize, usize)> {
    report.totals.iter().map(|t| (t.kind, t.reached, t.all)).collect()
}

/// By hand, in `small.p4`: 3 statements in the parser, 2 in actions, 7 in the control, 2 in the deparser. Each begins a line, as do two
/// states, two select cases and the action `forward`; `drop` shares its line. Two `if`, a `verify` and a `switch` have two outcomes each;
/// the select has two cases, and no case may match; `t` may hit `forward` or `drop`, or miss; `fixed` may hit `drop`, its one entry, or
/// miss.
#[test]
fn each_point_of_a_small_program_is_counted() {
    let none = totals(&coverage(&[]).report());
    assert_eq!(
        none,
        [
            ("lines", 0, 19),
            ("statements", 0, 14),
            ("branches", 0, 8),
            ("parser states", 0, 2),
            ("select cases", 0, 3),
            ("actions", 0, 2),
            ("table outcomes", 0, 6),
        ]
    );
}

/// A packet of kind 1 with a value of 7: the state `value` is reached by the first case; `verify` holds; `t` hits `forward`; the
/// `switch` takes the case of `forward`; `fixed` is not applied.
#[test]
fn one_packet_reaches_what_it_should() {
    let coverage = coverage(&[packet(1, 7)]);
    let report = coverage.report();
    assert_eq!(
        totals(&report),
        [
            ("lines", 15, 19),
            ("statements", 11, 14),
            ("branches", 4, 8),
            ("parser states", 2, 2),
            ("select cases", 1, 3),
            ("actions", 1, 2),
            ("table outcomes", 1, 6),
        ],
        "{}",
        report.to_text()
    );
    let lcov = report.to_lcov();
    let line = |text: &str| 1 + PROGRAM.lines().position(|line| line.contains(text)).unwrap();
    for expected in [
        format!("DA:{},1", line("verify(")),
        format!("DA:{},0", line("fixed.apply()")),
        format!("DA:{},1", line("sm.egress_spec = port")),
        format!("FN:{},value", line("state value")),
        "FNDA:1,I.forward".into(),
        "FNDA:0,I.drop".into(),
        "BRF:17".into(),
        "BRH:6".into(),
    ] {
        assert!(lcov.lines().any(|line| line == expected), "{expected}\n{lcov}");
    }
}

#[test]
fn counts_of_several_runs_add_up() {
    let mut sum = coverage(&[packet(1, 7)]);
    sum.add(&coverage(&[packet(1, 0), packet(2, 0), packet(3, 0)]));
    sum.add(&coverage(&[packet(1, 250)]));
    let report = sum.report();
    // Nothing hits `drop` in `t`.
    let missed: Vec<&str> = report.missed.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(missed, ["table I.t: hit I.drop"], "{}", report.to_text());
}

#[test]
fn names_in_pages_are_escaped() {
    let page = coverage(&[packet(1, 7)]).report().to_html();
    assert!(page.contains("small &lt;&amp;&gt;.p4") && !page.contains("small <"), "{page}");
    assert!(page.contains("if (h.v.value &lt; 200 &amp;&amp; sm.ingress_port != 0)"), "{page}");
    assert!(!page.contains("<script"));
}
