//! The semantics of P4: copies, order of evaluation, headers, control flow. Every program runs as lowered and after all
//! passes.

use crate::programs::{PACKET, ab, bytes, compile, ingress, pipeline, run};
use hopwright_ir::{ExprKind, ExternFn, StmtKind, walk};
use hopwright_syntax::Severity;

#[test]
fn an_in_argument_keeps_its_value_while_an_out_argument_changes() {
    let action = "action f(out bit<8> x, in bit<8> y) { x = 9; hdr.h.b = y; }";
    assert_eq!(ab("", action, "f(hdr.h.a, hdr.h.a);"), (9, 1));
}

#[test]
fn an_inout_parameter_is_a_copy_where_the_action_touches_its_argument() {
    // Inside, hdr.h.a is still 1; at the end the copy wins.
    let action = "action f(inout bit<8> x) { x = x + 4; hdr.h.b = hdr.h.a; hdr.h.a = 77; }";
    assert_eq!(ab("", action, "f(hdr.h.a);"), (5, 1));
}

#[test]
fn out_arguments_are_copied_out_from_left_to_right() {
    let function = "void f(out bit<8> x, out bit<8> y) { x = 1; y = 2; }";
    assert_eq!(ab(function, "", "f(hdr.h.a, hdr.h.a);"), (2, 2));
}

#[test]
fn arguments_are_evaluated_from_left_to_right() {
    let function = "bit<8> next(inout bit<8> x) { x = x + 1; return x; }
                    bit<8> pair(in bit<8> x, in bit<8> y) { return x * 16 + y; }";
    // a = 1: next gives 2, then a itself is 2, then next gives 3.
    assert_eq!(ab(function, "", "hdr.h.b = pair(next(hdr.h.a), hdr.h.a);"), (2, 0x22));
    assert_eq!(ab(function, "", "hdr.h.b = hdr.h.a * 16 + next(hdr.h.a);"), (2, 0x12));
}

#[test]
fn an_inout_argument_is_saved_only_if_a_later_argument_may_change_it() {
    let functions = "bit<8> f(inout bit<8> x, in bit<8> y) { x = x + y; return x; }
                     bit<8> g(inout bit<8> z) { z = z + 16; return 1; }";
    // a = 1, b = 2.
    assert_eq!(ab(functions, "", "f(hdr.h.a, g(hdr.h.a));"), (2, 2));
    assert_eq!(ab(functions, "", "f(hdr.h.a, g(hdr.h.b));"), (2, 18));
    assert_eq!(ab(functions, "", "f(y = g(hdr.h.a), x = hdr.h.a);"), (18, 2));
    let copied =
        |body: &str| pipeline(&ingress(functions, "", body), false).slots.iter().any(|slot| slot.name.ends_with("f.x"));
    assert!(copied("f(hdr.h.a, g(hdr.h.a));"));
    for body in ["f(hdr.h.a, g(hdr.h.b));", "f(hdr.h.a, hdr.h.a + 1);", "f(y = g(hdr.h.a), x = hdr.h.a);"] {
        assert!(!copied(body), "{body}");
    }
}

#[test]
fn short_circuits_skip_effects() {
    let function = "bool set(inout bit<8> x) { x = 9; return true; }";
    assert_eq!(ab(function, "", "if (hdr.h.b == 0 && set(hdr.h.a)) { hdr.h.b = 7; }"), (1, 2));
    assert_eq!(ab(function, "", "if (hdr.h.b == 2 || set(hdr.h.a)) { hdr.h.b = 7; }"), (1, 7));
    assert_eq!(ab(function, "", "bool x = hdr.h.b == 2 ? false : set(hdr.h.a); if (!x) { hdr.h.b = 7; }"), (1, 7));
}

#[test]
fn return_leaves_the_function_only() {
    let function = "bit<8> f(in bit<8> x) { if (x == 1) { return 5; } return 6; }";
    assert_eq!(ab(function, "", "hdr.h.a = f(hdr.h.a); hdr.h.b = f(hdr.h.b);"), (5, 6));
}

#[test]
fn exit_copies_out_and_ends_the_control() {
    let top = "control Sub(inout bit<8> x) { apply { x = 9; exit; } }";
    assert_eq!(ab(top, "Sub() sub;", "sub.apply(hdr.h.a); hdr.h.b = 0;"), (9, 2));
    // Through a copy: the argument is a slice.
    assert_eq!(ab(top, "Sub() sub;", "sub.apply(hdr.h.d[7:0]); hdr.h.b = 0;"), (1, 2));
    let out = bytes(&ingress(top, "Sub() sub;", "sub.apply(hdr.h.d[7:0]); hdr.h.b = 0;"), &PACKET);
    assert_eq!(out[7], 9);
}

#[test]
fn exit_in_an_action_of_a_table_copies_out_for_the_controls_around() {
    let top = "control Sub(inout bit<8> x) {
                   action leave() { x = 9; exit; }
                   table t { actions = { leave; } const default_action = leave(); }
                   apply { x = 8; t.apply(); x = 7; }
               }";
    let out = bytes(&ingress(top, "Sub() sub;", "sub.apply(hdr.h.d[7:0]); hdr.h.b = 0;"), &PACKET);
    assert_eq!((out[1], out[7]), (2, 9));
    // Metadata written before is not lost, because egress is another control.
    let meta = "action leave() { exit; }
                table t { actions = { leave; } const default_action = leave(); }";
    let text = ingress("", meta, "meta.m = 5; t.apply(); meta.m = 6;").replace(
        "control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }",
        "control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { \
         apply { hdr.h.a = meta.m; } }",
    );
    assert_eq!(bytes(&text, &PACKET)[0], 5);
}

#[test]
fn a_control_applied_twice_shares_its_table() {
    let top = "control Sub(inout bit<8> x, in bit<8> k) {
                   action add(bit<8> n) { x = x + n; }
                   table t { key = { k: exact; } actions = { add; }
                             const entries = { 1: add(10); 2: add(20); } default_action = add(1); }
                   apply { t.apply(); }
               }";
    let program = ingress(top, "Sub() sub;", "sub.apply(hdr.h.c[7:0], hdr.h.a); sub.apply(hdr.h.b, hdr.h.b);");
    let out = bytes(&program, &PACKET);
    assert_eq!((out[1], out[3]), (22, 14));
    assert_eq!(pipeline(&program, true).tables.len(), 1);
}

#[test]
fn swapping_by_a_list_reads_before_it_writes() {
    assert_eq!(ab("", "", "{ pair_t p = { hdr.h.b, hdr.h.a }; hdr.h.a = p.l; hdr.h.b = p.r; }"), (2, 1));
    assert_eq!(
        ab("", "", "meta.p = { 3, 4 }; meta.p = { meta.p.r, meta.p.l }; hdr.h.a = meta.p.l; hdr.h.b = meta.p.r;"),
        (4, 3)
    );
    assert_eq!(ab("", "", "hdr.h = { hdr.h.b, hdr.h.a, hdr.h.c, hdr.h.d };"), (2, 1));
}

#[test]
fn headers_are_copied_and_compared_whole() {
    let out = bytes(&ingress("", "", "h_t x = hdr.h; hdr.h = hdr.g; hdr.g = x;"), &PACKET);
    assert_eq!(out, [&PACKET[8..], &PACKET[..8]].concat());
    assert_eq!(ab("", "", "hdr.g = hdr.h; if (hdr.g == hdr.h) { hdr.h.a = 9; }"), (9, 2));
    assert_eq!(ab("", "", "hdr.g = hdr.h; hdr.g.setInvalid(); if (hdr.g == hdr.h) { hdr.h.a = 9; }"), (1, 2));
    assert_eq!(ab("", "", "hdr.h.setInvalid(); hdr.g.setInvalid(); if (hdr.g == hdr.h) { hdr.h.setValid(); }"), (0, 0));
    // A header assigned from an invalid one is invalid.
    let out = bytes(&ingress("", "", "hdr.h = meta.hidden;"), &PACKET);
    assert_eq!(out, &PACKET[8..]);
}

#[test]
fn a_stack_is_indexed_at_run_time() {
    let set = "hdr.s[0] = { 1, 10 }; hdr.s[1] = { 1, 11 }; hdr.s[2] = { 0, 12 };";
    let at = |index: &str| ab("", "", &format!("{set} meta.m = {index}; hdr.h.a = hdr.s[meta.m].v;")).0;
    assert_eq!([at("0"), at("1"), at("2")], [10, 11, 12]);
    assert_eq!(at("3"), 0, "beyond the stack a read gives zero");
    let write = |index: &str| {
        let text = ingress("", "", &format!("{set} meta.m = {index}; hdr.s[meta.m].v = 99;"));
        bytes(&text, &PACKET)[16..22].to_vec()
    };
    assert_eq!(write("1"), [1, 10, 1, 99, 0, 12]);
    assert_eq!(write("3"), [1, 10, 1, 11, 0, 12], "beyond the stack a write does nothing");
}

#[test]
fn the_index_of_the_left_side_is_evaluated_first() {
    let top = "bit<8> bump(inout bit<8> x) { x = x + 1; return x; }";
    let text =
        ingress(top, "", "hdr.s[0] = { 1, 10 }; hdr.s[1] = { 1, 11 }; meta.m = 0; hdr.s[meta.m].v = bump(meta.m);");
    assert_eq!(&bytes(&text, &PACKET)[16..20], [1, 1, 1, 11]);
}

#[test]
fn at_most_one_member_of_a_union_is_valid() {
    let out = bytes(&ingress("", "", "hdr.u.one.setValid(); hdr.u.two.setValid(); hdr.u.two.y = 0x3344;"), &PACKET);
    assert_eq!(&out[16..], [0x33, 0x44]);
    let out = bytes(&ingress("", "", "hdr.u.two = { 7 }; hdr.u.one = { 5 };"), &PACKET);
    assert_eq!(&out[16..], [5]);
}

#[test]
fn loops_run_break_and_continue() {
    assert_eq!(ab("", "", "hdr.h.a = 0; for (bit<8> i in 1 .. 4) { hdr.h.a = hdr.h.a + i; }"), (10, 2));
    assert_eq!(
        ab(
            "",
            "",
            "hdr.h.a = 0; for (bit<8> i = 0; i < 10; i = i + 1) { if (i == 2) { continue; } \
             if (i == 5) { break; } hdr.h.a = hdr.h.a + i; }"
        ),
        (8, 2)
    );
    assert_eq!(ab("", "", "hdr.h.a = 0; for (bit<8> x in { 3, 4 }) { hdr.h.a = hdr.h.a * 16 + x; }"), (0x34, 2));
}

#[test]
fn a_variable_of_a_loop_body_is_new_in_every_turn() {
    let apply = "hdr.h.a = 0; for (bit<8> i in 1 .. 3) { bit<8> x; x = x + i; hdr.h.a = hdr.h.a + x; }";
    // `x` is not initialised: it is zero each time.
    assert_eq!(ab("", "", apply), (6, 2));
}

#[test]
fn switches_choose_by_value_and_by_action() {
    let apply = "switch (hdr.h.a) { 0: { hdr.h.b = 10; } 1: 3: { hdr.h.b = 11; } default: { hdr.h.b = 12; } }";
    assert_eq!(ab("", "", apply), (1, 11));
    let locals = "action x() { } action y() { }
                  table t { key = { hdr.h.a: exact; } actions = { x; y; } const entries = { 1: y(); }
                            default_action = x(); }";
    assert_eq!(ab("", locals, "switch (t.apply().action_run) { x: { hdr.h.b = 5; } y: { hdr.h.b = 6; } }"), (1, 6));
    assert_eq!(ab("", locals, "if (t.apply().hit) { hdr.h.b = 5; }"), (1, 5));
    assert_eq!(ab("", locals, "hdr.h.a = 4; if (t.apply().miss) { hdr.h.b = 5; }"), (4, 5));
}

#[test]
fn the_first_constant_entry_wins_and_written_priorities_count() {
    let table = |entries: &str| {
        format!(
            "action set(bit<8> v) {{ hdr.h.b = v; }}
             table t {{ key = {{ hdr.h.a: ternary; }} actions = {{ set; }} {entries} default_action = set(0); }}"
        )
    };
    let run = |entries: &str| ab("", &table(entries), "t.apply();").1;
    assert_eq!(run("const entries = { 1 &&& 1: set(5); _: set(6); }"), 5);
    assert_eq!(run("const entries = { _: set(6); 1 &&& 1: set(5); }"), 6);
    assert_eq!(run("entries = { priority=1: _: set(6); priority=2: 1 &&& 1: set(5); }"), 5);
    let smallest = "largest_priority_wins = false;
                    entries = { priority=1: _: set(6); priority=2: 1 &&& 1: set(5); }";
    assert_eq!(run(smallest), 6);
}

#[test]
fn a_key_with_effects_is_computed_before_the_table() {
    let top = "bit<8> bump(inout bit<8> x) { x = x + 1; return x; }";
    let locals = "action hit() { hdr.h.b = hdr.h.a; } action no() { }
                  table t { key = { bump(hdr.h.a): exact @name(\"k\"); } actions = { hit; no; }
                            const entries = { 2: hit(); } default_action = no(); }";
    assert_eq!(ab(top, locals, "t.apply();"), (2, 2));
}

#[test]
fn arguments_bound_in_the_action_list_are_per_table() {
    let locals = "action add(in bit<8> x, bit<8> n) { hdr.h.b = x + n; }
                  table t { actions = { add(hdr.h.a); } default_action = add(hdr.h.a, 10); }
                  table u { actions = { add(hdr.h.b); } default_action = add(hdr.h.b, 20); }";
    assert_eq!(ab("", locals, "t.apply();"), (1, 11));
    assert_eq!(ab("", locals, "t.apply(); u.apply();"), (1, 31));
}

#[test]
fn drop_can_be_taken_back() {
    assert!(run(&ingress("", "", "mark_to_drop(std);"), &PACKET).sent.is_empty());
    let output = run(&ingress("", "", "mark_to_drop(std); std.egress_spec = 7;"), &PACKET);
    assert_eq!(output.sent[0].port, 7);
}

#[test]
fn registers_keep_values_and_results_go_into_slices() {
    let locals = "register<bit<8>>(4) r;";
    let text = ingress("", locals, "r.write(1, 0xab); r.read(hdr.h.c[15:8], 1);");
    assert_eq!(&bytes(&text, &PACKET)[2..4], [0xab, 4]);
    // An index out of range reads nothing.
    let text = ingress("", locals, "r.read(hdr.h.c[15:8], 9);");
    assert_eq!(&bytes(&text, &PACKET)[2..4], [3, 4]);
}

#[test]
fn a_name_where_it_can_be_a_name_is_not_copied() {
    let top = "control Sub(inout headers_t hdr, inout meta_t meta) { apply { hdr.h.a = hdr.h.b; } }";
    let pipeline = pipeline(&ingress(top, "Sub() sub;", "sub.apply(hdr, meta);"), false);
    let [stmt] = pipeline.ingress.body.as_slice() else { panic!("{:?}", pipeline.ingress.body) };
    let StmtKind::Assign(_, value) = &stmt.kind else { panic!("{stmt:?}") };
    assert!(matches!(value.kind, ExprKind::Slot(_)));
}

#[test]
fn field_lists_and_controller_headers_are_found() {
    let text = ingress("", "", "")
        .replace("bit<8> m;", "@field_list(3) bit<8> m;")
        .replace("header one_t", "@controller_header(\"packet_in\") header one_t");
    let text = text.replace("h_t g;", "h_t g; one_t cpu;");
    let pipeline = pipeline(&text, false);
    assert_eq!(pipeline.field_lists.len(), 1);
    assert_eq!(pipeline.field_lists[0].index, 3);
    let header = pipeline.packet_in.expect("the type has an instance");
    assert_eq!(pipeline[header].name, "hdr.cpu");
    assert!(pipeline.packet_out.is_none());
}

#[test]
fn what_is_not_lowered_is_refused_at_its_place() {
    let text = ingress("", "register<h_t>(4) r;", "");
    let compiled = compile(&text, false);
    assert!(compiled.pipeline.is_none());
    let error = compiled.diagnostics.iter().find(|d| d.severity == Severity::Error);
    let diagnostic = error.expect("an error");
    assert!(diagnostic.message.starts_with("a register holds"), "{}", diagnostic.message);
    let span = diagnostic.span().expect("a place");
    assert!(compiled.sources.snippet(span).contains("register"), "{:?}", compiled.sources.snippet(span));
}

#[test]
fn externs_whose_declaration_takes_anything_take_numbers() {
    let refused = |call: &str| {
        let compiled = compile(
            &ingress(
                "#include <bits.p4>",
                "register<bit<8>>(4) r;",
                &format!("bool flag = true; bit<8> n = 0; {call}"),
            ),
            true,
        );
        let errors = compiled.diagnostics.iter().filter(|d| d.code.starts_with('E'));
        errors.map(|d| format!("{} {}", d.code, compiled.sources.snippet(d.span().unwrap()))).collect::<Vec<_>>()
    };
    assert_eq!(refused("r.read(n, 0); hash(n, HashAlgorithm.crc16, 8w0, { n }, 8w9);"), [""; 0]);
    assert_eq!(refused("r.read(n, 0); hash(n, HashAlgorithm.crc16, 8w0, { n }, n < 9);"), ["E0300 n < 9"]);
    assert_eq!(refused("r.read(n, 0); hash(flag, HashAlgorithm.crc16, 8w0, { n }, n);"), ["E0300 flag"]);
    assert_eq!(refused("r.read(n, 0); random(flag, false, true);"), ["E0300 flag"]);
    assert_eq!(refused("r.read(n, 0); n = parity(n);"), [""; 0]);
    for other in ["flag", "(int<8>) n", "error.NoMatch"] {
        assert_eq!(refused(&format!("r.read(n, 0); reverse_bits({other});")), [format!("E0300 {other}")]);
    }
}

/// What a program declares under the name of a function of `bits.p4` is not that function.
#[test]
fn functions_of_other_declarations_are_not_defined() {
    let named = |top: &str, call: &str| {
        let pipeline = pipeline(&ingress(top, "", &format!("meta.m = (bit<8>) {call};")), false);
        let mut names = Vec::new();
        walk::all_stmts(&pipeline, &mut |stmt| {
            if let StmtKind::Extern(call) = &stmt.kind
                && let ExternFn::Named { name, .. } = &call.function
            {
                names.push(name.clone());
            }
        });
        names
    };
    assert_eq!(named("#include <bits.p4>", "parity(hdr.h.a)"), [""; 0]);
    assert_eq!(named("extern bit<1> parity(in bit<8> x);", "parity(hdr.h.a)"), ["parity"]);
    assert_eq!(named("extern bit<1> parity<T>(in T x);", "parity(hdr.h.a)"), ["parity"]);
    let two = "extern T reverse_bits<T>(in T x, in T y);";
    assert_eq!(named(two, "reverse_bits(hdr.h.a, hdr.h.b)"), ["reverse_bits"]);
}

/// Action data and constants are no slots, and are not copied for each step of a definition.
#[test]
fn defined_functions_compute_each_step_once() {
    for function in ["count_leading_zeros", "parity", "reverse_bits"] {
        let locals = format!(
            "action f(bit<32> x) {{ hdr.h.d = {function}(x); }}
             table t {{ key = {{ hdr.h.a : exact; }} actions = {{ f; NoAction; }} }}"
        );
        let of_data = pipeline(&ingress("#include <bits.p4>", &locals, "t.apply();"), false);
        let uses = format!("{:?}", of_data.actions).matches("Param(0)").count();
        assert!((1..=2).contains(&uses), "{function}: {uses} uses");
        let of_constant = ingress("#include <bits.p4>", "", &format!("hdr.h.d = {function}(32w6);"));
        let length = format!("{:?}", pipeline(&of_constant, false).ingress).len();
        assert!(length < 20_000, "{function}: {length} bytes");
    }
}

#[test]
fn tables_that_make_no_sense_are_refused_at_their_place() {
    let table = |keys: &str, entries: &str| {
        let locals = format!("table t {{ key = {{ {keys} }} actions = {{ NoAction; }} {entries} }}");
        let compiled = compile(&ingress("", &locals, "t.apply();"), true);
        compiled.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>()
    };
    assert_eq!(table("hdr.h.a : lpm; hdr.h.b : lpm;", ""), ["E0455"]);
    assert_eq!(table("hdr.h.a : lpm; hdr.h.b : exact;", ""), [""; 0]);
    assert_eq!(table("hdr.h.a : exact;", "const entries = { 1 : NoAction(); 1 : NoAction(); }"), ["E0456"]);
    // With priorities, the same keys may occur again: the earlier entry wins.
    assert_eq!(table("hdr.h.a : ternary;", "const entries = { 1 : NoAction(); 1 : NoAction(); }"), [""; 0]);
}

#[test]
fn objects_have_the_ids_that_the_source_or_their_names_give() {
    let locals = "@id(0x12000005) counter(4, CounterType.packets) c;
                  action set(bit<8> x) { c.count(0); digest<pair_t>(1, meta.p); }
                  @id(7) table t { key = { hdr.h.a : exact; } actions = { @tableonly set; NoAction; } }
                  action inlined() { meta.m = 1; }
                  table unused { actions = { NoAction; } }";
    for optimise in [false, true] {
        let pipeline = pipeline(&ingress("", locals, "t.apply(); inlined();"), optimise);
        let ids: Vec<(&str, u32)> = pipeline.p4_ids().map(|(_, name, id)| (name, id.0)).collect();
        let id = |name: &str| ids.iter().find(|o| o.0 == name).map(|o| o.1);
        assert_eq!((id("I.t"), id("I.c")), (Some(0x0200_0007), Some(0x1200_0005)));
        // p4c's ids, from a hash of the name.
        assert_eq!(id("NoAction"), Some(21257015));
        let kind = |name: &str| id(name).map(|id| id >> 24);
        assert_eq!((kind("I.set"), kind("I.inlined"), kind("pair_t")), (Some(1), Some(1), Some(0x17)));
        assert_eq!(id("I.unused"), None);
    }
}

#[test]
fn ids_that_cannot_be_are_refused_at_their_place() {
    let refused = |locals: &str| {
        let compiled = compile(&ingress("", locals, "a.apply(); b.apply();"), true);
        let of = |d: &hopwright_syntax::Diagnostic| {
            let place = d.span().map(|span| compiled.sources.snippet(span).to_string());
            (d.code, place.unwrap_or_default(), d.message.clone())
        };
        compiled.diagnostics.iter().map(of).collect::<Vec<_>>()
    };
    let tables = |a: &str, b: &str| {
        format!("{a} table a {{ actions = {{ NoAction; }} }} {b} table b {{ actions = {{ NoAction; }} }}")
    };
    assert_eq!(refused(&tables("@id(1)", "@id(2)")), []);
    for (b, message) in [
        ("@id(1)", "`I.b`: @id(0x1) is used twice, or zero"),
        ("@id(0)", "`I.b`: @id(0x0) is used twice, or zero"),
        ("@id(0x01000002)", "`I.b`: @id(0x1000002) is of another kind: ids of tables begin with 0x02"),
        ("@id(0x100000000)", "`I.b`: @id takes a number of 32 bits"),
    ] {
        assert_eq!(refused(&tables("@id(1)", b)), [("E0460", b.to_string(), message.to_string())]);
    }
}

/// Functions that call another one twice, level by level: the inlined code doubles with every level.
#[test]
fn what_inlines_to_too_much_is_refused_at_once() {
    let chain = |levels: u32, one: &str, more: &str| -> String {
        (1..levels).fold(one.replace('N', "0"), |text, i| {
            text + &more.replace('N', &i.to_string()).replace('M', &(i - 1).to_string())
        })
    };
    let actions = |levels| chain(levels, "action aN() { }", "action aN() { aM(); aM(); }");
    let functions = |levels| {
        let one = "bit<8> fN(bit<8> x) { return x; }";
        chain(levels, one, "bit<8> fN(bit<8> x) { return fM(x) + fM(x); }")
    };
    let controls = |levels| {
        let one = "control CN(inout bit<8> x) { apply { x = x + 1; } }";
        chain(levels, one, "control CN(inout bit<8> x) { CM() c; apply { c.apply(x); c.apply(x); } }")
    };
    for (text, wanted) in [
        (ingress("", &actions(140), "a139();"), "calls within each other"),
        (ingress(&functions(140), "", "hdr.h.a = f139(1);"), "calls within each other"),
        (ingress(&controls(36), "C35() c;", "c.apply(hdr.h.a);"), "calls within each other"),
        (ingress(&controls(140), "C139() c;", "c.apply(hdr.h.a);"), "nested too deeply"),
        (ingress("", &actions(30), "a29();"), "statements"),
    ] {
        let compiled = compile(&text, true);
        let messages: Vec<_> = compiled.diagnostics.iter().map(|d| d.message.clone()).collect();
        assert!(matches!(&messages[..], [one] if one.contains(wanted)), "{messages:?}");
    }
    assert_eq!(ab("", &actions(8), "a7(); hdr.h.a = 3;"), (3, 2));
    assert_eq!(ab(&functions(8), "", "hdr.h.a = f7(1);"), (128, 2));
}
