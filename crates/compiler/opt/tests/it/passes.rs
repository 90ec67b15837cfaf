//! What passes and analyses make of pipelines. That they keep the meaning is tested with lowering: every program there
//! runs before and after all passes.

use crate::programs::{ingress, parser, pipeline};
use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::walk;
use hopwright_ir::{ExprKind, HeaderId, Pipeline, SlotId, SlotKind, StmtKind};

fn locals(pipeline: &Pipeline) -> usize {
    pipeline.slots.iter().filter(|s| s.kind == SlotKind::Local).count()
}

fn statements(pipeline: &Pipeline) -> usize {
    let mut count = 0;
    walk::stmts(&pipeline.ingress.body, &mut |_| count += 1);
    count
}

fn optimised(top: &str, locals: &str, apply: &str) -> Pipeline {
    pipeline(&ingress(top, locals, apply), true)
}

fn slot(pipeline: &Pipeline, name: &str) -> SlotId {
    let index = pipeline.slots.iter().position(|s| s.name == name);
    SlotId(index.unwrap_or_else(|| panic!("no slot {name}")) as u32)
}

fn header(pipeline: &Pipeline, name: &str) -> HeaderId {
    HeaderId(pipeline.headers.iter().position(|h| h.name == name).expect("a header") as u32)
}

#[test]
fn a_function_of_one_expression_costs_nothing() {
    let function = "bit<8> twice(in bit<8> x) { return x + x; }";
    let pipeline = optimised(function, "", "bit<8> y = twice(hdr.h.a); hdr.h.b = y;");
    assert_eq!((statements(&pipeline), locals(&pipeline)), (1, 0));
}

#[test]
fn constants_decide_branches() {
    let pipeline = optimised("", "", "bit<8> x = 3; if (x + 1 == 4) { hdr.h.a = x; } else { hdr.h.b = 1; }");
    let [stmt] = pipeline.ingress.body.as_slice() else { panic!("{:?}", pipeline.ingress.body) };
    let StmtKind::Assign(target, value) = &stmt.kind else { panic!("{stmt:?}") };
    assert_eq!(*target, slot(&pipeline, "hdr.h.a"));
    assert!(matches!(&value.kind, ExprKind::Const(v) if *v == 3u32.into()));
}

#[test]
fn what_is_overwritten_or_never_read_is_not_computed() {
    let pipeline = optimised("", "", "bit<8> x = hdr.h.b; x = hdr.h.a + 1; meta.m = 5; meta.w = 6; hdr.h.a = x;");
    assert_eq!(statements(&pipeline), 1, "{:?}", pipeline.ingress.body);
}

#[test]
fn a_way_out_that_is_certain_is_taken_at_once() {
    let top = "control Check(inout headers_t hdr, inout meta_t meta) {
                   apply { if (hdr.h.a == 0) { meta.m = 1; return; } if (hdr.h.b == 0) { meta.m = 2; return; } }
               }";
    let apply = "if (meta.m == 0) { check.apply(hdr, meta); if (meta.m != 0) { return; } hdr.h.a = 7; }";
    let pipeline = optimised(top, "Check() check;", apply);
    // Nothing reads the reason again: both paths know it.
    let mut branches = 0;
    walk::stmts(&pipeline.ingress.body, &mut |s| branches += u32::from(matches!(s.kind, StmtKind::If { .. })));
    assert_eq!(branches, 3, "{:?}", pipeline.ingress.body);
}

#[test]
fn an_inlined_sub_parser_leaves_no_empty_states() {
    let text = parser(
        "parser Sub(packet_in q, out h_t x) { state start { q.extract(x); transition accept; } }
         parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
             Sub() sub;
             state start { sub.apply(p, hdr.h); p.extract(hdr.g); transition accept; }
         }",
        "",
    );
    let plain = pipeline(&text, false).parser.states.len();
    let clean = pipeline(&text, true).parser.states.len();
    assert!(clean < plain, "{clean} of {plain}");
}

#[test]
fn usage_tells_what_is_read_and_what_changes_after_extraction() {
    let pipeline = optimised("", "", "hdr.h.a = hdr.g.b;");
    let usage = Usage::of(&pipeline);
    let field = |name: &str| usage.slot(slot(&pipeline, name));
    assert!(field("hdr.h.a").written && !field("hdr.h.a").read);
    assert!(field("hdr.g.b").read && !field("hdr.g.b").written);
    assert!(!field("hdr.g.c").read && !field("hdr.g.c").written);
    let (h, g) = (usage.header(header(&pipeline, "hdr.h")), usage.header(header(&pipeline, "hdr.g")));
    assert!(h.extracted && h.emitted && h.field_written && !h.valid_written && !h.unchanged());
    assert!(g.extracted && g.emitted && g.field_read && g.unchanged());
    let one = usage.header(header(&pipeline, "hdr.u.one"));
    assert!(!one.extracted && one.emitted);
}

#[test]
fn usage_counts_whole_header_operations() {
    let pipeline = optimised("", "", "if (hdr.h.isValid()) { hdr.g = hdr.h; } hdr.s.push_front(1);");
    let usage = Usage::of(&pipeline);
    let (h, g) = (usage.header(header(&pipeline, "hdr.h")), usage.header(header(&pipeline, "hdr.g")));
    assert!(h.valid_read && h.field_read && h.unchanged());
    assert!(g.valid_written && g.field_written);
    assert!(!usage.header(header(&pipeline, "hdr.s[2]")).unchanged());
}

/// Bounds of the loops of ingress, outer before inner.
fn loop_bounds(pipeline: &Pipeline) -> Vec<Option<u32>> {
    let mut bounds = Vec::new();
    walk::stmts(&pipeline.ingress.body, &mut |s| {
        if let StmtKind::Loop { bound, .. } = &s.kind {
            bounds.push(*bound);
        }
    });
    bounds
}

#[test]
fn loops_that_count_have_a_bound() {
    let body = "hdr.h.b = hdr.h.b + 1;";
    let cases = [
        // The last iteration that is begun only finds that the loop is over.
        ("bit<8> i = 0; i < 10; i = i + 1", Some(11)),
        ("bit<8> i = 1; i <= 10; i = i + 4", Some(4)),
        ("bit<8> i = 9; i > 3; i = i - 2", Some(4)),
        ("bit<8> i = 0; 3 != i; i = i + 1", Some(4)),
        ("bit<8> i = 0; i < 10 && hdr.h.b != 7; i = i + 1", Some(11)),
        ("bit<16> i = 0; i < (bit<16>) hdr.h.a; i = i + 1", Some(256)),
        // A byte never exceeds 255.
        ("bit<8> i = 0; i <= 255; i = i + 1", None),
        ("bit<8> i = 0; i < 255; i = i + 2", None),
        ("bit<8> i = 9; i >= 0; i = i - 1", None),
        ("bit<8> i = 0; i != 5; i = i + 2", None),
        ("bit<8> i = 0; i < 10; i = i + hdr.h.a", None),
        ("bit<8> i in 1 .. 4", Some(4)),
        ("bit<8> i in hdr.h.a .. 4", Some(5)),
        ("bit<8> i in hdr.h.a .. hdr.g.a", Some(256)),
    ];
    for (head, bound) in cases {
        for optimise in [false, true] {
            let text = ingress("", "", &format!("for ({head}) {{ {body} }}"));
            assert_eq!(loop_bounds(&pipeline(&text, optimise)), [bound], "{head}, optimised: {optimise}");
        }
    }
    // What else may write the counter takes the bound away.
    let changed = "for (bit<8> i = 0; i < 10; i = i + 1) { if (hdr.h.a == 1) { i = 0; } }";
    assert_eq!(loop_bounds(&optimised("", "", changed)), [None]);
    let nested = "for (bit<8> i = 0; i < 3; i = i + 1) { for (bit<8> k = i; k < 5; k = k + 1) { hdr.h.b = k; } }";
    assert_eq!(loop_bounds(&optimised("", "", nested)), [Some(4), Some(6)]);
}

#[test]
fn advances_are_bounded_by_what_the_parser_knows() {
    let bound = |between: &str, distance: &str| {
        let parser = parser(
            &format!(
                "parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
                     state start {{ p.extract(hdr.h); {between} }}
                     state more {{ p.advance({distance}); transition accept; }}
                 }}"
            ),
            "",
        );
        let mut found = None;
        for state in &pipeline(&parser, true).parser.states {
            walk::stmts(&state.body, &mut |s| {
                if let StmtKind::Advance { bound, .. } = &s.kind {
                    found = Some(*bound);
                }
            });
        }
        found.expect("an advance")
    };
    let less = "(bit<32>) hdr.h.a * 32 - 160";
    assert_eq!(bound("transition more;", "(bit<32>) hdr.h.a * 8"), Some(255 * 8));
    assert_eq!(bound("transition more;", less), None);
    assert_eq!(bound("verify(hdr.h.a >= 5, error.NoMatch); transition more;", less), Some(255 * 32 - 160));
    assert_eq!(bound("transition select(hdr.h.a) { 5 .. 15: more; default: accept; }", less), Some(320));
    // Two paths lead to the state.
    let two = "transition select(hdr.h.a) { 5 .. 15: more; 0x40 &&& 0xf0: more; default: accept; }";
    assert_eq!(bound(two, less), Some(0x4f * 32 - 160));
    assert_eq!(bound("transition more;", "64"), Some(64));
}

#[test]
fn a_call_without_side_effects_is_dropped_if_nobody_reads_its_result() {
    let calls = |annotation: &str, apply: &str| {
        let top = format!("extern Box {{ Box(); {annotation} void get(in bit<8> x, out bit<8> y); }}");
        let pipeline = optimised(&top, "Box() box;", apply);
        let mut calls = 0;
        walk::stmts(&pipeline.ingress.body, &mut |s| calls += u32::from(matches!(s.kind, StmtKind::Extern(_))));
        calls
    };
    let unread = "bit<8> y; box.get(hdr.h.a, y);";
    let overwritten = "bit<8> y; box.get(hdr.h.a, y); y = hdr.h.b; hdr.h.a = y + hdr.h.a;";
    for apply in [unread, overwritten] {
        assert_eq!(calls("@noSideEffects", apply), 0);
        assert_eq!(calls("@pure", apply), 0);
        assert_eq!(calls("", apply), 1);
    }
    assert_eq!(calls("@noSideEffects", "box.get(hdr.h.a, hdr.h.b);"), 1);
}

#[test]
fn headers_that_are_neither_read_nor_emitted_are_not_filled() {
    let locals = "h_t seen; h_t kept;";
    let apply = "seen.setValid(); seen.a = hdr.h.a; seen.b = 7; kept.setValid(); kept.a = hdr.h.a; hdr.h.b = kept.b;";
    let pipeline = optimised("", locals, apply);
    let mut written = Vec::new();
    walk::stmts(&pipeline.ingress.body, &mut |s| match &s.kind {
        StmtKind::SetValid(h) => written.push(pipeline[*h].name.clone()),
        StmtKind::Assign(slot, _) => written.push(pipeline.slots[slot.index()].name.clone()),
        _ => {}
    });
    // A header that becomes valid has zeros, so that one of which a field is read must become valid.
    assert_eq!(written.iter().filter(|name| name.contains("seen")).count(), 0, "{written:?}");
    assert!(
        written.iter().any(|name| name.contains("kept")) && written.iter().any(|name| name == "hdr.h.b"),
        "{written:?}"
    );
}
