//! What lowering can rely on in the typed program.

use hopwright_sema::analyse;
use hopwright_sema::hir::{
    BinaryOp, Callee, ExprKind, Instance, InstanceBody, Property, Set, StateRef, Stmt, StmtKind, Transition, Type,
    TypedProgram,
};
use hopwright_syntax::{Options, SourceMap, parse_text};
use num_bigint::BigInt;

fn typed(text: &str) -> TypedProgram {
    let mut sources = SourceMap::new();
    let (program, syntax) = parse_text(&mut sources, "test.p4", text, &Options::default());
    let syntax: Vec<_> = syntax.iter().map(|d| &d.message).collect();
    assert!(syntax.is_empty(), "{syntax:?}");
    let analysis = analyse(&program, "test");
    let messages: Vec<_> = analysis.diagnostics.iter().map(|d| &d.message).collect();
    analysis.program.unwrap_or_else(|| panic!("{messages:?}"))
}

/// A program whose only control has these declarations and statements; `h.a` is `bit<8>`, `h.w` `bit<16>`.
fn control(top: &str, locals: &str, body: &str) -> TypedProgram {
    typed(&format!(
        "#include <core.p4>\nheader H {{ bit<8> a; bit<16> w; }}\ncontrol C(inout H h, inout bit<8> b);\n\
         package Top(C c);\n{top}\ncontrol main_c(inout H h, inout bit<8> b) {{ {locals} apply {{ {body} }} }}\n\
         Top(main_c()) main;"
    ))
}

fn block<'p>(p: &'p TypedProgram, name: &str) -> &'p Instance {
    let id = p.main.blocks.iter().find(|(n, _)| n == name).unwrap().1;
    &p[id]
}

fn body<'p>(p: &'p TypedProgram, name: &str) -> &'p [Stmt] {
    match &block(p, name).body {
        InstanceBody::Control(stmts) => stmts,
        InstanceBody::Parser(_) => panic!("a parser"),
    }
}

/// The value assigned by statement `i` of the control.
fn assigned(p: &TypedProgram, i: usize) -> &hopwright_sema::hir::Expr {
    match &body(p, "c")[i].kind {
        StmtKind::Assign(_, value) => value,
        other => panic!("{other:?}"),
    }
}

fn int(i: i64) -> BigInt {
    BigInt::from(i)
}

#[test]
fn the_whole_language_program_has_its_parts() {
    let p = typed(include_str!("../programs/language.p4"));
    assert_eq!(p.main.type_name, "V1Switch");
    let blocks: Vec<&str> = p.main.blocks.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(blocks, ["p", "vr", "ig", "eg", "ck", "dep"]);
    assert_eq!(block(&p, "ig").name, "MyIngress");
    assert_eq!(&p.errors[..2], ["NoError", "PacketTooShort"]);
    assert_eq!(p.errors.last().unwrap(), "TooMany");

    let tables: Vec<&str> = p.tables.iter().map(|t| t.control_plane_name.as_str()).collect();
    assert_eq!(tables, ["MyIngress.routes", "MyIngress.flags"]);
    let routes = &p.tables[0];
    let keys: Vec<(&str, &str)> = routes.keys.iter().map(|k| (k.name.as_str(), k.match_kind.as_str())).collect();
    assert_eq!(
        keys,
        [
            ("dst", "lpm"),
            ("hdr.ipv4.ttl[3:0]", "ternary"),
            ("hdr.labels[0].$valid$", "exact"),
            ("meta.inner.port", "optional")
        ]
    );
    assert_eq!(routes.size, Some(1024));
    assert_eq!(routes.entries[0].priority, Some(int(10)));
    assert!(matches!(routes.entries[0].sets[..], [Set::Mask(..), Set::Value(_), Set::Value(_), Set::Any]));
    let Property::Object(hits) = &routes.properties[0].1 else { panic!() };
    assert_eq!(p[*hits].name, "MyIngress.hits");
    assert!(p.tables[1].const_default_action && p.tables[1].const_entries);

    let names: Vec<&str> = p.functions.iter().map(|f| f.control_plane_name.as_str()).collect();
    for name in ["NoAction", "shared", "MyIngress.forward", "MyIngress.renamed", "clamp"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn instances_are_separate_and_know_their_arguments() {
    let p = typed(include_str!("../programs/language.p4"));
    let counting: Vec<&Instance> = p.instances.iter().filter(|i| i.type_name == "Counting").collect();
    let names: Vec<&str> = counting.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["MyIngress.one", "MyIngress.two"]);
    let sizes: Vec<(&str, String)> = p
        .objects
        .iter()
        .filter(|o| o.type_name == "counter")
        .map(|o| (o.name.as_str(), format!("{:?}", o.args[0].kind)))
        .collect();
    assert_eq!(sizes[0].0, "MyIngress.one.seen");
    assert_eq!(sizes[1].0, "MyIngress.two.seen");
    assert_ne!(sizes[0].1, sizes[1].1);
    // The second one's step is the constant 16 converted to bit<8>.
    let InstanceBody::Control(stmts) = &counting[1].body else { panic!() };
    let StmtKind::Assign(_, value) = &stmts[1].kind else { panic!() };
    let ExprKind::Binary(BinaryOp::Add, _, step) = &value.kind else { panic!("{value:?}") };
    assert!(matches!(&step.kind, ExprKind::Int(i) if *i == int(16)));
    assert_eq!(step.ty, Type::Bits(8));
    // Every one has its own variables.
    assert_ne!(counting[0].params[0].var, counting[1].params[0].var);
}

#[test]
fn conversions_are_explicit_and_constants_folded() {
    let p = control(
        "enum bit<8> K { A = 3 } const int N = 2;",
        "",
        "b = N + 5; b = K.A; h.w = (bit<16>) b; b = 8w255 + 1; b = h.a + 1; b = (bit<8>) K.A << 1; b = 16w0xabcd[15:8];
         b = N == 2 ? h.a : 9;",
    );
    assert!(matches!(&assigned(&p, 0).kind, ExprKind::Int(i) if *i == int(7)));
    assert_eq!(assigned(&p, 0).ty, Type::Bits(8));
    assert!(matches!(&assigned(&p, 1).kind, ExprKind::Int(i) if *i == int(3)));
    assert_eq!(assigned(&p, 1).ty, Type::Bits(8));
    assert!(matches!(&assigned(&p, 2).kind, ExprKind::Cast(_)));
    assert_eq!(assigned(&p, 2).ty, Type::Bits(16));
    assert!(matches!(&assigned(&p, 3).kind, ExprKind::Int(i) if *i == int(0)));
    let ExprKind::Binary(BinaryOp::Add, _, one) = &assigned(&p, 4).kind else { panic!() };
    assert_eq!(one.ty, Type::Bits(8));
    assert!(matches!(&assigned(&p, 5).kind, ExprKind::Int(i) if *i == int(6)));
    assert!(matches!(&assigned(&p, 6).kind, ExprKind::Int(i) if *i == int(0xab)));
    assert!(matches!(&assigned(&p, 7).kind, ExprKind::Field(..)));
}

#[test]
fn lists_become_what_is_expected_with_defaults_in_place() {
    let p = control(
        "struct S { bit<8> x; bool y; bit<16> z; }",
        "",
        "S s = { z = 1, x = 2, y = true }; s = { 3, ... }; h = { 1, 2 }; h = {#}; bool e = h == { 1, 2 };",
    );
    let stmts = body(&p, "c");
    let StmtKind::Declare(_, Some(s)) = &stmts[0].kind else { panic!() };
    let ExprKind::Aggregate { members: parts, .. } = &s.kind else { panic!() };
    let kinds: Vec<String> = parts.iter().map(|p| format!("{:?} {:?}", p.kind, p.ty)).collect();
    assert_eq!(kinds, ["Int(2) Bits(8)", "Bool(true) Bool", "Int(1) Bits(16)"]);
    let ExprKind::Aggregate { members: parts, .. } = &assigned(&p, 1).kind else { panic!() };
    let kinds: Vec<String> = parts.iter().map(|p| format!("{:?}", p.kind)).collect();
    assert_eq!(kinds, ["Int(3)", "Bool(false)", "Int(0)"]);
    assert!(matches!(assigned(&p, 2).ty, Type::Header(_)));
    assert!(matches!(assigned(&p, 3).kind, ExprKind::Invalid));
    let StmtKind::Declare(_, Some(e)) = &stmts[4].kind else { panic!() };
    let ExprKind::Binary(BinaryOp::Eq, _, r) = &e.kind else { panic!() };
    assert!(matches!(r.ty, Type::Header(_)));
}

#[test]
fn type_arguments_are_inferred_and_functions_specialised() {
    let p = control(
        "T id<T>(in T x) { return x; } extern T twice<T>(in T x); extern void out_of<T>(out T x);
         extern Box<T> { Box(bit<32> n); T get<U>(in U i); }",
        "Box<bit<16>>(4) box;",
        "b = id(b); b = id(h.a); h.w = id(h.w); b = twice(3); out_of(h.w); h.w = box.get(b);",
    );
    let ids: Vec<_> = p.functions.iter().filter(|f| f.name == "id").map(|f| f.result.clone()).collect();
    assert_eq!(ids, [Type::Bits(8), Type::Bits(16)]);
    let ExprKind::Call(twice) = &assigned(&p, 3).kind else { panic!() };
    assert_eq!(twice.type_args, [Type::Bits(8)]);
    let value = twice.args[0].value.as_ref().unwrap();
    assert_eq!(value.ty, Type::Bits(8));
    let StmtKind::Call(out_of) = &body(&p, "c")[4].kind else { panic!() };
    assert_eq!(out_of.type_args, [Type::Bits(16)]);
    let ExprKind::Call(get) = &assigned(&p, 5).kind else { panic!() };
    assert_eq!(get.type_args, [Type::Bits(8)]);
    let Callee::Method(box_id, name) = &get.callee else { panic!() };
    assert_eq!((p[*box_id].type_args.as_slice(), name.as_str()), ([Type::Bits(16)].as_slice(), "get"));
}

#[test]
fn arguments_stand_in_the_order_of_parameters() {
    let p = control(
        "extern void f(in bit<8> x, in bit<16> y = 7, @optional in bool z);",
        "",
        "f(y = 1, x = 2); f(3); f(4, 5, true);",
    );
    let args = |i: usize| -> Vec<String> {
        let StmtKind::Call(call) = &body(&p, "c")[i].kind else { panic!() };
        call.args.iter().map(|a| a.value.as_ref().map_or("-".into(), |v| format!("{:?}", v.kind))).collect()
    };
    assert_eq!(args(0), ["Int(2)", "Int(1)", "-"]);
    assert_eq!(args(1), ["Int(3)", "Int(7)", "-"]);
    assert_eq!(args(2), ["Int(4)", "Int(5)", "Bool(true)"]);
}

#[test]
fn switches_have_no_fall_through_and_the_default_last() {
    let p = control(
        "",
        "action x() {} action y() {} action z() {}
         table t { key = { b : exact; } actions = { x; y; z; } default_action = x(); }",
        "switch (t.apply().action_run) { x: y: { b = 1; } z: default: { b = 2; } }
         switch (b) { 1: 2: { b = 3; } 5: default: { } }",
    );
    let stmts = body(&p, "c");
    let StmtKind::SwitchTable(_, cases) = &stmts[0].kind else { panic!() };
    let shape: Vec<(usize, usize)> = cases.iter().map(|(l, b)| (l.len(), b.len())).collect();
    assert_eq!(shape, [(2, 1), (0, 1)]);
    let StmtKind::SwitchValue(_, cases) = &stmts[1].kind else { panic!() };
    let shape: Vec<(usize, usize)> = cases.iter().map(|(l, b)| (l.len(), b.len())).collect();
    assert_eq!(shape, [(2, 1), (0, 0)]);
}

#[test]
fn actions_of_a_table_carry_their_bound_arguments() {
    let p = control(
        "",
        "action a(inout bit<8> x, bit<8> data) { x = data; }
         table t { key = { h.a : exact; } actions = { a(b); } default_action = a(b, 3);
                   const entries = { 1 : a(b, 9); } }",
        "t.apply();",
    );
    let t = &p.tables[0];
    assert!(matches!(&t.actions[0].action.args[..], [Some(_), None]));
    assert!(matches!(&t.default_action.args[1].as_ref().unwrap().kind, ExprKind::Int(i) if *i == int(3)));
    assert!(matches!(&t.entries[0].action.args[0].as_ref().unwrap().kind, ExprKind::Var(_)));
    assert!(matches!(&t.entries[0].action.args[1].as_ref().unwrap().kind, ExprKind::Int(i) if *i == int(9)));
    assert_eq!(t.keys[0].name, "h.a");
}

#[test]
fn annotated_priorities_count_from_the_most_important() {
    let p = control(
        "",
        "table t { key = { b : ternary; } actions = { NoAction; }
                   const entries = { 1 : NoAction() @priority(3); 2 : NoAction(); } }",
        "t.apply();",
    );
    let t = &p.tables[0];
    assert!(!t.largest_priority_wins);
    let priorities: Vec<_> = t.entries.iter().map(|e| e.priority.clone()).collect();
    assert_eq!(priorities, [Some(int(3)), Some(int(2))]);
}

#[test]
fn parser_states_refer_to_each_other_by_position() {
    let p = typed(
        "#include <core.p4>\nheader H { bit<8> a; }\nparser P(packet_in p, out H h); package Top(P p);
         parser R(packet_in pk, out H h) {
             state more { transition reject; }
             state start {
                 pk.extract(h);
                 transition select(h.a) { 1: more; 2 .. 3: accept; _: start; }
             }
             state stop { }
         }
         Top(R()) main;",
    );
    let InstanceBody::Parser(states) = &block(&p, "p").body else { panic!() };
    assert!(matches!(states[0].transition, Transition::Goto(StateRef::Reject)));
    let Transition::Select { cases, .. } = &states[1].transition else { panic!() };
    let targets: Vec<StateRef> = cases.iter().map(|c| c.target).collect();
    assert_eq!(targets, [StateRef::State(0), StateRef::Accept, StateRef::State(1)]);
    assert!(matches!(states[2].transition, Transition::Goto(StateRef::Reject)));
    let StmtKind::Call(extract) = &states[1].body[0].kind else { panic!() };
    assert!(matches!(&extract.callee, Callee::Packet(m) if m == "extract"));
    assert!(matches!(extract.type_args[..], [Type::Header(_)]));
}

#[test]
fn packages_in_packages_are_flattened() {
    let p = typed(
        "#include <core.p4>\ncontrol C(inout bit<8> b); package Half(C c, bit<8> n); package Top(Half a, Half b);
         control one(inout bit<8> b) { apply { } } control two(inout bit<8> b) { apply { } }
         Half(one(), 7) first; Top(first, Half(two(), 8)) main;",
    );
    let blocks: Vec<(&str, &str)> = p.main.blocks.iter().map(|(n, i)| (n.as_str(), p[*i].type_name.as_str())).collect();
    assert_eq!(blocks, [("a.c", "one"), ("b.c", "two")]);
    let values: Vec<&str> = p.main.values.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(values, ["a.n", "b.n"]);
}

#[test]
fn annotations_are_evaluated() {
    let p = control(
        "const bit<8> LIST = 4;\nstruct M { @field_list(LIST, 2) bit<8> x; @kept[a = 1, b = \"s\"] bit<8> y; }",
        "M m;",
        "b = m.x;",
    );
    let m = p.structs.iter().find(|s| s.name == "M").unwrap();
    assert_eq!(format!("{:?}", m.fields[0].annotations[0].args), "[Int(4), Int(2)]");
    assert_eq!(
        format!("{:?}", m.fields[1].annotations[0].args),
        "[KeyValue(\"a\", Int(1)), KeyValue(\"b\", String(\"s\"))]"
    );
}

#[test]
fn what_determines_a_place_happens_once() {
    let p = control(
        "extern bit<8> next(); header E { bit<8> x; } struct S { E[4] es; }",
        "S s;",
        "s.es[next()].x += b; s.es[h.w ++ h.w ++ h.w].x = 1;",
    );
    let StmtKind::Block(stmts) = &body(&p, "c")[0].kind else { panic!() };
    let [declare, assign] = &stmts[..] else { panic!("{stmts:?}") };
    let StmtKind::Declare(var, Some(_)) = declare.kind else { panic!() };
    assert_eq!(p[var].ty, Type::Bits(32));
    let text = format!("{assign:?}");
    assert_eq!(text.matches("ExternFunction").count(), 0);
    // An index of 48 bits is cut to 32 without wrapping around.
    let StmtKind::Assign(target, _) = &body(&p, "c")[1].kind else { panic!() };
    let ExprKind::Field(element, _) = &target.kind else { panic!() };
    let ExprKind::Index(_, index) = &element.kind else { panic!() };
    assert!(matches!(index.kind, ExprKind::Mux(..)));
    assert_eq!(index.ty, Type::Bits(32));
}
