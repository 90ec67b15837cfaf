//! Coverage of a program whose points are counted by hand.

use std::sync::Arc;

use hopwright_coverage::{Coverage, Report};
use hopwright_driver::compile_text;
use hopwright_interp::Interp;
use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry, TableId};
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

/// The table `t`, and an entry for `v` that forwards to port 3.
fn entry(pipeline: &Pipeline, value: u32) -> (TableId, TableEntry) {
    let action = ActionCall { action: pipeline.action_by_name("forward").unwrap(), args: vec![3u32.into()] };
    let entry = TableEntry { matches: vec![MatchValue::Exact(value.into())], priority: 0, action };
    (pipeline.table_by_name("t").unwrap(), entry)
}

/// What these packets reach, with an entry of `t` for `v` = 7.
fn coverage(packets: &[[u8; 2]]) -> Coverage {
    let pipeline = pipeline();
    let mut interp = Interp::new(pipeline.clone()).unwrap();
    let mut coverage = Coverage::new(&pipeline);
    let (table, entry) = entry(&pipeline, 7);
    coverage.know(table, &entry);
    interp.store.insert(table, entry).unwrap();
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
/// the select has two cases, and no case may match; `t` may hit `forward` or `drop`, or miss; `fixed` may hit `drop`, or miss. Each has an
/// entry.
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
            ("table outcomes", 0, 5),
            ("entries", 0, 2),
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
            ("table outcomes", 1, 5),
            ("entries", 1, 2),
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

/// A table without keys runs whichever of its actions the control plane makes its default.
#[test]
fn actions_that_may_become_the_default_are_points() {
    let (before, control) = PROGRAM.split_once("control I(").unwrap();
    let control = control.replacen(
        "    apply {\n",
        "    action off() { sm.egress_spec = 5; }\n    action on() { sm.egress_spec = 6; }\n    table mode { actions = { off; on; } \
         default_action = off(); }\n    table still { actions = { off; on; } const default_action = off(); }\n    apply {\n        mode.apply();\n        still.apply();\n",
        1,
    );
    let program = format!("{before}control I({control}");
    let compiled = compile_text("small.p4", &program, &Options::default(), false);
    let report = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")));
    let text = Coverage::new(&pipeline).report().to_text();
    assert!(text.contains("I.on"), "{text}");
}

/// An entry that no packet hits is in the report; entries of several runs add up.
#[test]
fn packets_are_counted_by_entry() {
    let mut sum = coverage(&[packet(1, 7), packet(1, 7), packet(1, 8)]);
    let (table, never) = entry(sum.points().pipeline(), 9);
    sum.know(table, &never);
    sum.add(&coverage(&[packet(1, 7), packet(3, 0)]));
    let report = sum.report();
    let entries: Vec<(&str, &str, u64)> =
        report.entries.iter().map(|e| (e.table.as_str(), e.label.as_str(), e.count)).collect();
    assert_eq!(
        entries,
        [
            ("I.t", "h.v.value 0x7 -> I.forward(port: 0x3)", 3),
            ("I.t", "h.v.value 0x9 -> I.forward(port: 0x3)", 0),
            ("I.fixed", "h.k.kind 0x3 -> I.drop()", 1),
        ]
    );
    let text = report.to_text();
    assert!(text.contains("entries              2 of     3"), "{text}");
    assert!(text.contains("         3  I.t: h.v.value 0x7 -> I.forward(port: 0x3)\n"), "{text}");
    let page = report.to_html();
    assert!(page.contains("<summary>1 of 2 entries are hit</summary>"), "{page}");
    assert!(page.contains("<li class=\"no\">0 &times; I.t: h.v.value 0x9 -&gt; I.forward(port: 0x3)</li>"), "{page}");
}
