//! Warnings about what other targets do not have, each beside a program that has nothing to say.

use hopwright_driver::check_text;
use hopwright_lint::Target::{self, Bmv2, Psa, Tofino};
use hopwright_syntax::{Options, render};

/// A program for v1model with states of its parser, and members and statements of its ingress and of its checksum update.
fn v1model(types: &str, states: &str, locals: &str, body: &str, update: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header data_t {{ bit<8> a; bit<8> b; bit<16> c; bit<128> wide; }}
{types}
struct headers_t {{ data_t data; data_t[2] stack; }}
struct metadata_t {{ bit<8> x; }}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
    state start {{ packet.extract(hdr.data); {states} transition accept; }}
}}
control V(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
    {locals}
    apply {{ {body} }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{ {update} }} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// Codes of the warnings for a target and the text that they mark, without those that say that the program is for v1model.
fn found(target: Target, text: &str) -> Vec<String> {
    let checked = check_text("test.p4", text, &Options::default());
    let shown = render::render(&checked.diagnostics, &checked.sources, false);
    let typed = checked.typed.as_ref().unwrap_or_else(|| panic!("{shown}"));
    let warnings = hopwright_lint::portable(&checked.program, typed, &checked.sources, &[target]);
    let shown = |d: &hopwright_syntax::Diagnostic| format!("{} {}", d.code, checked.sources.snippet(d.span().unwrap()));
    warnings.iter().filter(|d| d.code != "W0039").map(shown).collect()
}

fn apply(target: Target, body: &str) -> Vec<String> {
    found(target, &v1model("", "", "", body, ""))
}

fn ingress(target: Target, locals: &str, body: &str) -> Vec<String> {
    found(target, &v1model("", "", locals, body, ""))
}

const NONE: [&str; 0] = [];

#[test]
fn the_architecture() {
    let text = v1model("", "", "", "", "");
    let checked = check_text("test.p4", &text, &Options::default());
    let codes = |targets: &[Target]| {
        let found =
            hopwright_lint::portable(&checked.program, checked.typed.as_ref().unwrap(), &checked.sources, targets);
        found.iter().map(|d| format!("{} {}", d.code, d.message)).collect::<Vec<_>>()
    };
    assert_eq!(codes(&[Bmv2]), NONE);
    assert_eq!(
        codes(&[Bmv2, Psa, Tofino]),
        ["W0039 Tofino: the program is for v1model", "W0039 PSA: the program is for v1model"]
    );
    assert_eq!(codes(&[]), NONE);
}

#[test]
fn metadata_and_functions_of_v1model() {
    let body = "std.egress_spec = 1; if (std.ingress_port == 2) { mark_to_drop(std); std.egress_spec = 3; }";
    for target in [Psa, Tofino] {
        let warnings = apply(target, body);
        assert_eq!(warnings, ["W0040 std.egress_spec", "W0040 std.ingress_port", "W0041 mark_to_drop(std)"]);
    }
    assert_eq!(apply(Bmv2, body), NONE);
    assert_eq!(apply(Tofino, "@noWarn(\"portable\") { std.egress_spec = 1; }"), NONE);
    let counters = "counter(4, CounterType.packets) seen;";
    assert_eq!(ingress(Psa, counters, "seen.count(1);"), [format!("W0041 {counters}")]);
    assert_eq!(ingress(Bmv2, counters, "seen.count(1);"), NONE);
}

#[test]
fn what_only_this_compiler_has() {
    let declarations = include_str!("../../../../../p4/include/bits.p4");
    let functions: Vec<&str> =
        declarations.lines().filter_map(|l| l.strip_prefix("extern T ")?.split('<').next()).collect();
    assert!(functions.contains(&"population_count"));
    for function in functions {
        let call = format!("{function}(hdr.data.b)");
        let text = v1model("#include <bits.p4>", "", "", &format!("hdr.data.a = {call};"), "");
        for target in Target::ALL {
            assert_eq!(found(target, &text), [format!("W0041 {call}")]);
        }
    }
}

#[test]
fn arithmetic() {
    let tofino = |body| apply(Tofino, body);
    assert_eq!(tofino("hdr.data.a = hdr.data.a / hdr.data.b;"), ["W0042 hdr.data.a / hdr.data.b"]);
    assert_eq!(tofino("hdr.data.a = hdr.data.a % 3;"), ["W0042 hdr.data.a % 3"]);
    assert_eq!(tofino("hdr.data.a = hdr.data.a * hdr.data.b;"), ["W0042 hdr.data.a * hdr.data.b"]);
    assert_eq!(tofino("hdr.data.c = hdr.data.c << hdr.data.b;"), ["W0042 hdr.data.c << hdr.data.b"]);
    assert_eq!(tofino("hdr.data.wide = hdr.data.wide + 1;"), ["W0042 hdr.data.wide + 1"]);
    assert_eq!(tofino("hdr.data.a = 2 * hdr.data.a + (hdr.data.b >> 3); hdr.data.wide = hdr.data.wide & 255;"), NONE);
    assert_eq!(apply(Bmv2, "hdr.data.a = hdr.data.a / hdr.data.b * hdr.data.a;"), NONE);
}

#[test]
fn types() {
    let varbit = v1model("header options_t { varbit<32> bits; }", "", "options_t unused;", "", "");
    assert_eq!(found(Tofino, &varbit), ["W0043 varbit<32> bits;"]);
    assert_eq!(found(Bmv2, &varbit), NONE);
    let union = v1model(
        "header_union either_t { data_t one; } struct both_t { either_t either; }",
        "",
        "both_t unused;",
        "",
        "",
    );
    assert_eq!(found(Tofino, &union), ["W0043 either_t either;"]);
    assert_eq!(found(Psa, &union), NONE);
    let odd = v1model("header odd_t { bit<7> a; } struct odds_t { odd_t odd; }", "", "odds_t unused;", "", "");
    let [bmv2, tofino] = [Bmv2, Tofino].map(|target| found(target, &odd));
    assert_eq!(bmv2, tofino);
    assert!(matches!(&bmv2[..], [one] if one.starts_with("W0043 odd_t")), "{bmv2:?}");
}

#[test]
fn parsers() {
    let states = |states: &str| v1model("", states, "", "", "");
    let moves = states("packet.advance((bit<32>) hdr.data.a << 3);");
    assert_eq!(found(Tofino, &moves), ["W0044 packet.advance((bit<32>) hdr.data.a << 3)"]);
    assert_eq!(found(Bmv2, &moves), NONE);
    assert_eq!(found(Tofino, &states("packet.advance(32);")), NONE);
    let length = states("verify(packet.length() > 64, error.PacketTooShort);");
    assert_eq!(found(Bmv2, &length), ["W0044 packet.length()"]);
    let wide = states("transition select(hdr.data.wide) { 1: accept; default: next; } } state next {");
    assert_eq!(found(Tofino, &wide).len(), 1, "{:?}", found(Tofino, &wide));
    assert_eq!(found(Bmv2, &wide), NONE);
    let narrow = states("transition select(hdr.data.c, hdr.data.a) { (1, 2): accept; default: next; } } state next {");
    assert_eq!(found(Tofino, &narrow), NONE);
}

const TABLE: &str = "table t { key = { hdr.data.a: exact; } actions = { NoAction; } }";

#[test]
fn tables_in_several_places() {
    let twice = "if (hdr.data.a == 1) { t.apply(); } else { if (t.apply().hit) { hdr.data.b = 1; } }";
    for target in [Bmv2, Tofino] {
        assert_eq!(ingress(target, TABLE, twice), ["W0045 t.apply().hit"]);
        assert_eq!(ingress(target, TABLE, "t.apply(); hdr.data.b = 1;"), NONE);
        assert_eq!(ingress(target, TABLE, "switch (t.apply().action_run) { NoAction: { hdr.data.b = 1; } }"), NONE);
    }
    assert_eq!(ingress(Psa, TABLE, twice), NONE);
}

#[test]
fn registers_that_a_packet_reaches_several_times() {
    let count = |locals: &str, body: &str| {
        let locals = format!("register<bit<16>>(4) r; bit<16> n; {locals}");
        let warnings = ingress(Tofino, &locals, body);
        warnings.iter().filter(|w| w.starts_with("W0046")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(count("", "r.read(n, 0); r.write(0, n + 1);"), ["W0046 r.write(0, n + 1)"]);
    assert_eq!(count("", "if (hdr.data.a == 1) { r.read(n, 0); } else { r.write(0, 1); }"), NONE);
    assert_eq!(count("", "if (hdr.data.a == 1) { r.read(n, 0); } r.write(0, 1);"), ["W0046 r.write(0, 1)"]);
    assert_eq!(count("", "if (hdr.data.a == 1) { r.read(n, 0); return; } r.write(0, 1);"), NONE);
    // By way of actions of a table.
    let table = "action read() { r.read(n, 0); } action write() { r.write(0, 2); }
        table t { key = { hdr.data.a: exact; } actions = { read; write; } default_action = read(); }";
    assert_eq!(count(table, "t.apply();"), NONE);
    assert_eq!(count(table, "t.apply(); r.write(0, 1);"), ["W0046 r.write(0, 1)"]);
}

#[test]
fn conditions_in_actions() {
    let action = |body: &str| format!("action set(bit<8> by) {{ {body} }}");
    let assigns = action("if (hdr.data.a == 1) { hdr.data.b = by; }");
    let calls = action("if (hdr.data.a == 1) { hdr.data.setInvalid(); }");
    let data = action("if (by == 1) { hdr.data.b = 2; }");
    assert_eq!(ingress(Bmv2, &assigns, "set(1);"), NONE);
    assert_eq!(ingress(Bmv2, &calls, "set(1);").len(), 1);
    for (action, warnings) in [(&assigns, 1), (&calls, 1), (&data, 0)] {
        assert_eq!(ingress(Tofino, action, "set(1);").len(), warnings, "{action}");
    }
}

#[test]
fn match_kinds() {
    let keys = |target, keys: &str| {
        let table = format!("table t {{ key = {{ {keys} }} actions = {{ NoAction; }} }}");
        ingress(target, &table, "t.apply();").iter().map(|w| w[..5].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(keys(Tofino, "hdr.data.a: optional;"), ["W0048"]);
    assert_eq!(keys(Bmv2, "hdr.data.a: optional;"), NONE);
    assert_eq!(keys(Tofino, "hdr.data.wide: range;"), ["W0048"]);
    assert_eq!(keys(Tofino, "hdr.data.c: range;"), NONE);
    assert_eq!(keys(Tofino, "hdr.data.c: lpm; hdr.data.a: ternary;"), ["W0048"]);
    assert_eq!(keys(Tofino, "hdr.data.c: lpm; hdr.data.a: exact;"), NONE);
    for kind in ["masked", "suffix"] {
        let declared = format!("match_kind {{ {kind} }}");
        let table = format!("table t {{ key = {{ hdr.data.a: {kind}; }} actions = {{ NoAction; }} }}");
        for target in Target::ALL {
            assert_eq!(found(target, &v1model(&declared, "", &table, "t.apply();", "")), ["W0048 hdr.data.a"]);
        }
    }
}

#[test]
fn checksums() {
    let update = |call: &str| v1model("", "", "", "", call);
    let payload = "update_checksum_with_payload(true, { hdr.data.a, hdr.data.b }, hdr.data.c, HashAlgorithm.csum16);";
    for target in [Psa, Tofino] {
        assert_eq!(found(target, &update(payload)).len(), 1);
        let crc = payload.replace("_with_payload", "").replace("csum16", "crc16");
        assert_eq!(found(target, &update(&crc)).len(), 2, "the function, and the algorithm");
    }
    assert_eq!(found(Bmv2, &update(payload)), NONE);
}

#[test]
fn loops_and_elements_that_are_chosen_at_run_time() {
    for target in Target::ALL {
        let warnings = apply(target, "for (bit<8> i in 1 .. 3) { hdr.data.a = hdr.data.a + i; }");
        assert!(matches!(&warnings[..], [one] if one.starts_with("W0050 for")), "{warnings:?}");
    }
    let index = "hdr.stack[(bit<32>) hdr.data.a].a = 1;";
    assert_eq!(apply(Tofino, index), ["W0050 hdr.stack[(bit<32>) hdr.data.a].a".trim_end_matches(".a")]);
    assert_eq!(apply(Bmv2, index), NONE);
}

/// Applies the only edit that is suggested for a target, and returns the text that it replaces and the new one. The program still has no
/// errors, and the warning is gone.
fn fixed(target: Target, text: &str) -> Option<(String, String)> {
    let check = |text: &str| {
        let checked = check_text("test.p4", text, &Options::default());
        let shown = render::render(&checked.diagnostics, &checked.sources, false);
        let typed = checked.typed.as_ref().unwrap_or_else(|| panic!("{text}\n{shown}"));
        let warnings = hopwright_lint::portable(&checked.program, typed, &checked.sources, &[target]);
        warnings.iter().filter(|d| d.code != "W0039").cloned().collect::<Vec<_>>()
    };
    let warnings = check(text);
    let mut edits = warnings.iter().filter_map(|d| d.suggestion());
    let edit = edits.next()?;
    assert_eq!(edits.next(), None, "{text}");
    let (start, end) = (edit.span.start as usize, edit.span.end as usize);
    assert_eq!(text[start..end], edit.old);
    let new = format!("{}{}{}", &text[..start], edit.new, &text[end..]);
    assert_eq!(check(&new).len(), warnings.len() - 1, "{new}");
    Some((edit.old.clone(), edit.new.clone()))
}

fn edit(old: &str, new: &str) -> Option<(String, String)> {
    Some((old.to_string(), new.to_string()))
}

#[test]
fn divisions_by_powers_of_two_have_a_fix() {
    let tofino =
        |body: &str| fixed(Tofino, &v1model("const bit<8> SIXTEEN = 16;\n#define HALF(x) x / 2", "", "", body, ""));
    assert_eq!(tofino("hdr.data.a = hdr.data.a / 8;"), edit("hdr.data.a / 8", "(hdr.data.a >> 3)"));
    assert_eq!(tofino("hdr.data.a = 1 + hdr.data.a % 8 * 2;"), edit("hdr.data.a % 8", "(hdr.data.a & 7)"));
    assert_eq!(
        tofino("hdr.data.a = ((hdr.data.a + 1) / SIXTEEN) + 2;"),
        edit("((hdr.data.a + 1) / SIXTEEN)", "((hdr.data.a + 1) >> 4)")
    );
    for none in ["hdr.data.a / 3", "hdr.data.a / hdr.data.b", "HALF(hdr.data.a)", "hdr.data.a * hdr.data.b"] {
        assert_eq!(tofino(&format!("hdr.data.a = {none};")), None, "{none}");
    }
}

#[test]
fn match_kinds_have_a_fix_that_leaves_no_choice() {
    let keys = |target, kinds: &str, keys: &str| {
        let table = format!("table t {{ key = {{ {keys} }} actions = {{ NoAction; }} }}");
        fixed(target, &v1model(kinds, "", &table, "t.apply();", ""))
    };
    assert_eq!(keys(Tofino, "", "hdr.data.a: optional;"), edit("optional", "ternary"));
    assert_eq!(keys(Tofino, "", "hdr.data.c: lpm; hdr.data.a: ternary;"), edit("lpm", "ternary"));
    assert_eq!(keys(Tofino, "", "hdr.data.c: lpm; hdr.data.a: lpm;"), None);
    assert_eq!(keys(Tofino, "", "hdr.data.wide: range;"), None);
    for target in Target::ALL {
        assert_eq!(keys(target, "match_kind { masked }", "hdr.data.a: masked;"), edit("masked", "ternary"));
    }
    // The order of entries says which wins, once there are no prefixes.
    let entries = "table t { key = { hdr.data.c: lpm; hdr.data.a: ternary; } actions = { NoAction; }
        const entries = { (0x8000 &&& 0x8000, _): NoAction(); } }";
    assert_eq!(fixed(Tofino, &v1model("", "", entries, "t.apply();", "")), None);
}

#[test]
fn lengths_and_loops_have_a_fix() {
    let length = v1model("", "verify(packet.length() > 64, error.PacketTooShort);", "", "", "");
    assert_eq!(fixed(Bmv2, &length), edit("packet.length()", "std.packet_length"));
    assert_eq!(fixed(Tofino, &length), None);
    let turns = |head: &str, body: &str| fixed(Psa, &v1model("", "", "", &format!("for ({head}) {body}"), ""));
    assert_eq!(
        turns("bit<8> i in 1 .. 2", "{ hdr.data.a = hdr.data.a + i; }").map(|(_, new)| new).as_deref(),
        Some(
            "{ const bit<8> i = 1; { hdr.data.a = hdr.data.a + i; } }\n\
             { const bit<8> i = 2; { hdr.data.a = hdr.data.a + i; } }"
        )
    );
    assert_eq!(turns("bit<8> i in 1 .. 200", "{ hdr.data.a = hdr.data.a + i; }"), None);
    assert_eq!(turns("bit<8> i in 1 .. hdr.data.b", "{ hdr.data.a = hdr.data.a + i; }"), None);
    assert_eq!(turns("bit<8> i in 1 .. 2", "{ if (hdr.data.a == i) { break; } }"), None);
    assert_eq!(turns("bit<8> i in 1 .. 2", "{ i = i + 1; hdr.data.a = i; }"), None);
}
