//! What people write wrong in their first hour with P4: one mistake leads to one error, which says what to write.

use hopwright_driver::{Compiled, compile_text};
use hopwright_syntax::{Options, render};

fn compile(text: &str) -> Compiled {
    compile_text("test.p4", text, &Options::default(), true)
}

const INCLUDES: &str = "#include <core.p4>\n#include <v1model.p4>\n";

const TYPES: &str = "
header ipv4_t { bit<8> ttl; bit<8> proto; bit<32> dst; int<8> signed; }
struct headers_t { ipv4_t ipv4; }
struct meta_t { bit<8> x; }
";

const PARSER: &str = "
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ipv4); transition accept; }
}
control MyChecksum(inout headers_t hdr, inout meta_t meta) { apply { } }
";

const REST: &str = "
control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
";

const MAIN: &str = "V1Switch(MyParser(), MyChecksum(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;\n";

fn ingress(body: &str) -> String {
    format!("control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{\n{body}\n}}\n")
}

/// A program whose ingress has this body.
fn program(body: &str) -> String {
    [INCLUDES, TYPES, PARSER, &ingress(body), REST, MAIN].concat()
}

/// That the program has one error and no other; what it says must contain all of `wanted`.
#[track_caller]
fn one_error(text: &str, wanted: &[&str]) {
    let compiled = compile(text);
    let shown = render::render(&compiled.diagnostics, &compiled.sources, false);
    assert_eq!(compiled.diagnostics.error_count(), 1, "{shown}");
    for part in wanted {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
}

#[track_caller]
fn one_error_in_apply(statements: &str, wanted: &[&str]) {
    one_error(&program(&format!("apply {{\n{statements}\n}}")), wanted);
}

#[track_caller]
fn fine(text: &str) -> Compiled {
    let compiled = compile(text);
    let shown = render::render(&compiled.diagnostics, &compiled.sources, false);
    assert!(compiled.pipeline.is_some(), "{shown}");
    compiled
}

const TABLE: &str = "
action drop() { mark_to_drop(std); }
table t {
    key = { hdr.ipv4.dst: lpm; }
    actions = { drop; NoAction; }
    size = 16;
}
";

#[test]
fn the_program_without_mistakes_is_accepted() {
    fine(&program(&format!("{TABLE} apply {{ if (t.apply().hit) {{ hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }} }}")));
}

#[test]
fn a_missing_brace_is_one_error_where_it_is_missing() {
    let missing = |body: &str| {
        one_error(&program(body), &["error[E0113]: missing `}`", "this is not closed before it"]);
    };
    missing("action a(bit<9> p) {\n std.egress_spec = p;\n action drop() { mark_to_drop(std); }\n apply { a(1); }");
    missing(&format!("action a(bit<9> p) {{\n std.egress_spec = p;\n {TABLE} apply {{ t.apply(); }}"));
    missing("action a(bit<9> p) {\n if (p == 1) {\n std.egress_spec = p;\n }\n apply { a(1); }");
    missing("action a(bit<9> p) {\n if (p == 1) {\n std.egress_spec = p;\n apply { a(1); }");
    let table = |part: &str, changed: &str| {
        assert!(TABLE.contains(part));
        missing(&format!("{} apply {{ t.apply(); }}", TABLE.replace(part, changed)));
    };
    table("lpm; }", "lpm;");
    table("NoAction; }", "NoAction;");
    table("size = 16;\n}", "size = 16;");
    // At the end of a control, of a parser's state, of a struct.
    missing("apply {\n hdr.ipv4.ttl = 1;\n");
    let without = |place: &str, changed: &str| {
        let text = program("apply { }");
        assert!(text.contains(place));
        one_error(&text.replacen(place, changed, 1), &["error[E0113]: missing `}`"]);
    };
    without("transition accept; }\n}", "transition accept; }\n");
    without("transition accept; }\n}", "transition accept;\n}");
    without("signed; }", "signed;");
    without("in headers_t hdr) { apply { packet.emit(hdr); } }", "in headers_t hdr) { apply { packet.emit(hdr); }");
    without("in headers_t hdr) { apply { packet.emit(hdr); } }", "in headers_t hdr) { apply { packet.emit(hdr);");
}

#[test]
fn a_missing_include_is_named_once() {
    let text = program(&format!("{TABLE} apply {{ t.apply(); }}"));
    one_error(&text.replace("#include <v1model.p4>\n", ""), &["write `#include <v1model.p4>` at the beginning"]);
    let both = text.replace("#include <v1model.p4>\n", "").replace("#include <core.p4>\n", "");
    one_error(&both, &["write `#include <core.p4>` and `#include <v1model.p4>` at the beginning"]);
}

#[test]
fn tables_in_actions_and_recursion_are_called_so() {
    let in_action = format!("action a() {{ t.apply(); }} {TABLE} apply {{ a(); t.apply(); }}");
    one_error(&program(&in_action), &["E0310", "the table `t` cannot be applied here", "in the `apply` block"]);
    one_error(&program("action a() { a(); } apply { a(); }"), &["E0310", "`a` cannot use itself", "no recursion"]);
    let function = program("apply { meta.x = f(1); }")
        .replace("control MyChecksum", "bit<8> f(in bit<8> x) { return f(x); }\ncontrol MyChecksum");
    one_error(&function, &["E0310", "`f` cannot use itself"]);
    one_error(&program("MyIngress() again; apply { }"), &["`MyIngress` cannot use itself"]);
}

#[test]
fn a_state_without_transition_is_warned_about() {
    let compiled = fine(&program("apply { }").replace("transition accept; ", ""));
    let warnings: Vec<_> = compiled.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(warnings, ["W0029"]);
}

#[test]
fn an_unknown_match_kind_lists_those_there_are() {
    let text = program(&format!("{} apply {{ t.apply(); }}", TABLE.replace("lpm", "prefix")));
    one_error(
        &text,
        &["`prefix` is not a match kind", "the match kinds are `exact`, `ternary`, `lpm`, `range`, `optional`"],
    );
}

#[test]
fn blocks_of_the_package_in_the_wrong_order_are_told_by_number() {
    let text = program("apply { }")
        .replace(MAIN, "V1Switch(MyParser(), MyIngress(), MyChecksum(), MyEgress(), MyChecksum(), MyDeparser()) main;");
    one_error(
        &text,
        &[
            "argument 2 of `V1Switch` must be a `VerifyChecksum`, which `MyIngress` is not",
            "in this order: p, vr, ig, eg, ck, dep",
        ],
    );
    let text = program("apply { }").replace("V1Switch(MyParser()", "V1Switch(MyParser");
    one_error(&text, &["`MyParser` is not a value", "write `MyParser()`"]);
}

#[test]
fn other_languages_words_are_translated() {
    for (statement, wanted) in [
        ("hdr.ipv4.ttl--;", ["no `--` that decrements", "`x -= 1`"]),
        ("--hdr.ipv4.ttl;", ["no `--` that decrements", "`x -= 1`"]),
        ("hdr.ipv4.ttl++;", ["no `++` that increments", "`x += 1`"]),
        ("++hdr.ipv4.ttl;", ["no `++` that increments", "`x += 1`"]),
        ("meta.x = hdr.ipv4.ttl--;", ["no `--` that decrements", "`x -= 1`"]),
        (
            "if (meta.x == 0) { meta.x = 1; } elif (meta.x == 1) { meta.x = 2; } else { meta.x = 3; }",
            ["no `elif`", "`else if (...) { ... }`"],
        ),
        (
            "if (meta.x == 0) { meta.x = 1; } elseif (meta.x == 1) { meta.x = 2; }",
            ["no `elseif`", "`else if (...) { ... }`"],
        ),
        ("if (hdr.ipv4.ttl) { meta.x = 1; }", ["expected `bool`, found `bit<8>`", "compare, for instance `... != 0`"]),
        ("if (!hdr.ipv4.ttl) { meta.x = 1; }", ["`!` cannot be applied to `bit<8>`", "`x == 0`"]),
        ("if (hdr.ipv4.ttl && true) { meta.x = 1; }", ["`&&` cannot be applied", "`x != 0`"]),
        ("hdr.ipv4.dst = 10.0.0.1;", ["P4 has no dotted addresses", "write `0x0a000001`"]),
        ("hdr.ipv4.dst = 1.5;", ["`1.5` is not a number of P4", "only integers"]),
        (
            "meta.x = hdr.ipv4.ttl - hdr.ipv4.signed;",
            ["`-` cannot be applied to `bit<8>` and `int<8>`", "`(bit<8>) ...` or `(int<8>) ...`"],
        ),
        (
            "meta.x = (bit<8>) (hdr.ipv4.dst + hdr.ipv4.ttl);",
            ["`+` cannot be applied to `bit<32>` and `bit<8>`", "`(bit<32>) ...` around the narrower"],
        ),
    ] {
        one_error_in_apply(statement, &wanted);
    }
}

#[test]
fn what_a_table_found_is_asked_with_hit() {
    for (condition, wanted) in [
        ("t.apply() == hit", "write `table.apply().hit`"),
        ("t.apply() != miss", "write `table.apply().miss`"),
        ("t.apply()", "`.apply().hit`"),
        ("!t.apply()", "`!table.apply().hit`"),
        ("t.apply() && true", "`.hit` or `.miss`"),
    ] {
        one_error(&program(&format!("{TABLE} apply {{ if ({condition}) {{ meta.x = 1; }} }}")), &[wanted]);
    }
}

#[test]
fn addresses_in_entries_are_numbers() {
    let entries = |entries: &str| {
        let table = TABLE.replace("size = 16;", &format!("const entries = {{ {entries} }}"));
        program(&format!("{table} apply {{ t.apply(); }}"))
    };
    one_error(&entries("10.0.0.0/8: drop();"), &["write the prefix as `0x0a000000 &&& 0xff000000`"]);
    one_error(&entries("00:11:22:33:44:55: drop();"), &["written as one number"]);
    fine(&entries("0x0a000000 &&& 0xff000000: drop();"));
}

#[test]
fn one_wrong_action_is_one_error() {
    let table = "
        action set(bit<8> v) { meta.x = v; }
        table t { key = { hdr.ipv4.ttl: exact; } actions = { set(w); } default_action = set(1); }";
    one_error(
        &program(&format!("{table} apply {{ t.apply(); }}")),
        &["the action data of `set` are not given here", "write `set;`"],
    );
}

#[test]
fn a_misspelled_include_leads_to_what_is_meant() {
    let text = program("apply { }").replace("<v1model.p4>", "<v1modle.p4>");
    one_error(&text, &["include file `v1modle.p4` not found", "did you mean `v1model.p4`?"]);
}

#[test]
fn unknown_names_lead_to_what_is_meant() {
    for (statement, wanted) in [
        ("ipv4.ttl = 1;", "did you mean `hdr.ipv4`?"),
        ("egress_spec = 1;", "did you mean `std.egress_spec`?"),
        ("standard_metadata.egress_spec = 1;", "the parameter of type `standard_metadata_t` is called `std` here"),
        ("drop();", "`mark_to_drop(standard_metadata)`"),
        ("uint8_t y = 1;", "write `bit<8>`"),
        ("bool y = True;", "write `true`"),
        ("if (meta.x == 1 and hdr.ipv4.ttl == 2) { meta.x = 1; }", "write `&&`"),
        ("hdr.ipv4.tll = 1;", "did you mean `ttl`?"),
        ("if (hdr.ipv4.valid) { meta.x = 1; }", "did you mean `isValid()`?"),
    ] {
        one_error_in_apply(statement, &[wanted]);
    }
}
