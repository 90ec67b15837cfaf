//! What passes and analyses make of pipelines. That they keep the meaning is tested with lowering: every program there
//! runs before and after all passes.

#[path = "../../lower/tests/programs/mod.rs"]
mod programs;

use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::walk;
use hopwright_ir::{ExprKind, HeaderId, Pipeline, SlotId, SlotKind, StmtKind};
use programs::{ingress, parser, pipeline};

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
    // Nobody looks at the reason again: it is known on both ways.
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
