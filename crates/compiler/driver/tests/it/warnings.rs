//! Warnings about traps: each is given where it should be, and not where the program is sound.

use std::path::Path;

use hopwright_driver::{Compiled, compile_file, compile_text};
use hopwright_syntax::{Options, Severity, render};

/// A program around some states, an ingress control's locals and its `apply` block.
fn program(states: &str, locals: &str, body: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{ bit<8> ttl; bit<8> protocol; bit<32> dst; }}
header ipv6_t {{ bit<8> next; bit<128> dst; }}
header udp_t {{ bit<16> src; bit<16> dst; }}
header label_t {{ bit<20> label; bit<4> rest; }}
struct headers_t {{ ethernet_t ethernet; label_t[3] labels; ipv4_t ipv4; ipv6_t ipv6; udp_t udp; }}
struct metadata_t {{ bit<8> x; bit<8> y; bool flag; bit<2> kind; }}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
    {states}
}}
control TestVerify(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
    {locals}
    apply {{ {body} }}
}}
control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control TestCompute(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control TestDeparser(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), TestVerify(), TestIngress(), TestEgress(), TestCompute(), TestDeparser()) main;
"
    )
}

/// Ethernet with IPv4 or IPv6, and UDP behind either.
const USUAL: &str = "
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: parse_ipv4;
            0x86dd: parse_ipv6;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            17: parse_udp;
            default: accept;
        }
    }
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next) {
            17: parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract(hdr.udp);
        transition accept;
    }";

/// Codes and marked text of the warnings.
fn found(compiled: &Compiled) -> Vec<String> {
    let shown = render::render(&compiled.diagnostics, &compiled.sources, false);
    assert!(!compiled.diagnostics.has_errors(), "{shown}");
    compiled
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Warning)
        .map(|d| format!("{} {}", d.code, compiled.sources.snippet(d.span().unwrap())))
        .collect()
}

fn warnings(text: &str) -> Vec<String> {
    found(&compile_text("test.p4", text, &Options::default(), true))
}

/// Warnings of an `apply` block behind the usual parser.
fn apply(body: &str) -> Vec<String> {
    warnings(&program(USUAL, "", body))
}

/// The same with declarations.
fn with(locals: &str, body: &str) -> Vec<String> {
    warnings(&program(USUAL, locals, body))
}

const NONE: [&str; 0] = [];

#[test]
fn a_header_that_only_some_packets_have() {
    assert_eq!(apply("meta.x = hdr.ipv4.ttl;"), ["W0020 hdr.ipv4.ttl"]);
    assert_eq!(apply("if (hdr.ipv4.isValid()) { meta.x = hdr.ipv4.ttl; }"), NONE);
    assert_eq!(apply("if (!hdr.ipv4.isValid()) { meta.x = hdr.ipv4.ttl; }"), ["W0020 hdr.ipv4.ttl"]);
    assert_eq!(apply("if (!hdr.ipv4.isValid()) { return; } meta.x = hdr.ipv4.ttl;"), NONE);
    assert_eq!(apply("if (!hdr.ipv4.isValid()) { exit; } meta.x = hdr.ipv4.ttl;"), NONE);
    assert_eq!(apply("meta.x = hdr.ipv4.isValid() ? hdr.ipv4.ttl : 0;"), NONE);
    assert_eq!(apply("if (hdr.ipv4.isValid() && hdr.ipv4.ttl == 0) { mark_to_drop(std); }"), NONE);
    assert_eq!(apply("if (!hdr.ipv4.isValid() || hdr.ipv4.ttl == 0) { mark_to_drop(std); }"), NONE);
    assert_eq!(apply("if (hdr.ipv4.isValid() || hdr.ipv4.ttl == 0) { mark_to_drop(std); }"), ["W0020 hdr.ipv4.ttl"]);
    // Every packet has this one.
    assert_eq!(apply("meta.x = hdr.ethernet.dst[7:0];"), NONE);
    // Said once for a statement.
    assert_eq!(apply("meta.x = hdr.ipv4.ttl + hdr.ipv4.protocol;"), ["W0020 hdr.ipv4.ttl"]);
}

#[test]
fn what_the_parser_did_is_known_by_what_it_looked_at() {
    assert_eq!(apply("if (hdr.ethernet.type == 0x0800) { meta.x = hdr.ipv4.ttl; }"), NONE);
    assert_eq!(apply("if (hdr.ethernet.type == 0x0801) { meta.x = hdr.ipv4.ttl; }"), ["W0020 hdr.ipv4.ttl"]);
    assert_eq!(
        apply("if (hdr.udp.isValid()) { if (hdr.ipv4.isValid()) { meta.x = 1; } else { meta.x = hdr.ipv6.next; } }"),
        NONE
    );
    assert_eq!(apply("if (hdr.udp.isValid()) { meta.x = hdr.ipv4.ttl; }"), ["W0020 hdr.ipv4.ttl"]);
    assert_eq!(apply("switch (hdr.ethernet.type) { 0x800: { meta.x = hdr.ipv4.ttl; } default: { } }"), NONE);
}

#[test]
fn what_the_program_notes_is_remembered() {
    assert_eq!(apply("meta.flag = hdr.ipv4.isValid(); if (meta.flag) { meta.x = hdr.ipv4.ttl; }"), NONE);
    assert_eq!(apply("bool no = !hdr.ipv4.isValid(); if (!no) { meta.x = hdr.ipv4.ttl; }"), NONE);
    assert_eq!(apply("bool no = !hdr.ipv4.isValid(); if (no) { meta.x = hdr.ipv4.ttl; }"), ["W0020 hdr.ipv4.ttl"]);
    let kinds = "if (hdr.ipv4.isValid()) { meta.kind = 1; } else if (hdr.ipv6.isValid()) { meta.kind = 2; }";
    assert_eq!(apply(&format!("{kinds} if (meta.kind == 2) {{ meta.x = hdr.ipv6.next; }}")), NONE);
    assert_eq!(apply(&format!("{kinds} if (meta.kind == 1) {{ meta.x = hdr.ipv6.next; }}")), ["W0020 hdr.ipv6.next"]);
}

#[test]
fn headers_made_and_taken_away() {
    assert_eq!(apply("hdr.ethernet.setInvalid(); meta.x = hdr.ethernet.dst[7:0];"), ["W0020 hdr.ethernet.dst"]);
    assert_eq!(apply("hdr.udp.setValid(); hdr.udp.src = 1; hdr.udp.dst = hdr.udp.src;"), NONE);
    assert_eq!(apply("udp_t u; u.src = 7; u.setValid(); hdr.udp = u;"), ["W0020 u.src"]);
    assert_eq!(apply("udp_t u = { 1, 2 }; meta.x = u.src[7:0];"), NONE);
    assert_eq!(apply("udp_t u = hdr.udp; meta.x = u.src[7:0];"), ["W0020 u.src"]);
    assert_eq!(apply("if (hdr.udp.isValid()) { udp_t u = hdr.udp; meta.x = u.src[7:0]; }"), NONE);
    // Nothing is lost when a field of a header that may be there is assigned.
    assert_eq!(apply("hdr.ipv4.ttl = 3;"), NONE);
}

#[test]
fn fields_assigned_before_their_header_becomes_valid() {
    assert_eq!(apply("hdr.udp.src = 0x55; hdr.udp.setValid();"), ["W0020 hdr.udp.src"]);
    assert_eq!(apply("hdr.udp.src[7:0] = 0x55; meta.x = 1; hdr.udp.setValid();"), ["W0020 hdr.udp.src"]);
    assert_eq!(apply("hdr.udp.src = 1; if (std.ingress_port == 1) { hdr.udp.setValid(); }"), ["W0020 hdr.udp.src"]);
    let set = "action set(inout udp_t u) { u.dst = 7; }";
    assert_eq!(with(set, "set(hdr.udp); hdr.udp.setValid();"), ["W0020 u.dst"]);
    assert_eq!(
        apply("hdr.udp.src = 1; hdr.udp.dst = 2; hdr.udp.setValid();"),
        ["W0020 hdr.udp.src", "W0020 hdr.udp.dst"]
    );
    // Nothing is lost.
    assert_eq!(apply("hdr.udp.setValid(); hdr.udp.src = 0x55;"), NONE);
    assert_eq!(apply("hdr.ethernet.src = 0x55; hdr.ethernet.setValid();"), NONE);
    assert_eq!(apply("if (hdr.udp.isValid()) { hdr.udp.src = 1; } hdr.udp.setValid(); hdr.udp.src = 2;"), NONE);
    assert_eq!(apply("hdr.udp.src = 1; hdr.udp = { 1, 2 }; hdr.udp.setValid();"), NONE);
    // Said once where it is lost on all paths.
    assert_eq!(apply("udp_t u; u.src = 7; u.dst = 8; u.setValid(); hdr.udp = u;"), ["W0020 u.src", "W0020 u.dst"]);
}

#[test]
fn the_place_of_a_variable_is_told_as_it_is() {
    let text = program(USUAL, "action set(out bit<8> v) { }", "bit<8> v = 1; set(v); meta.x = v;");
    let shown = compile_text("test.p4", &text, &Options::default(), true).report(false);
    assert!(
        shown.contains("W0021") && shown.contains("declared here") && !shown.contains("without a value"),
        "{shown}"
    );
}

#[test]
fn stacks_know_how_far_they_are_filled() {
    let states = "
        state start { packet.extract(hdr.ethernet); transition select(hdr.ethernet.type) { 1: one; 2: label; default: accept; } }
        state one { packet.extract(hdr.labels.next); transition accept; }
        state label {
            packet.extract(hdr.labels.next);
            transition select(hdr.labels.last.rest) { 0: label; default: accept; }
        }";
    let body = "if (hdr.labels[0].isValid()) { meta.x = (bit<8>) hdr.labels[0].rest; }";
    assert_eq!(warnings(&program(states, "", body)), NONE);
    let body = "if (hdr.labels[0].isValid()) { meta.x = (bit<8>) hdr.labels[1].rest; }";
    assert_eq!(warnings(&program(states, "", body)), ["W0020 (bit<8>) hdr.labels[1].rest"]);
    let body = "if (hdr.labels[1].isValid()) { meta.x = (bit<8>) hdr.labels[0].rest; }";
    assert_eq!(warnings(&program(states, "", body)), NONE);
}

#[test]
fn tables_read_their_keys_and_their_entries_know_more() {
    let table = |keys: &str| {
        format!(
            "action hop() {{ hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }}
             table t {{ key = {{ {keys} }} actions = {{ hop; NoAction; }} default_action = NoAction(); }}"
        )
    };
    assert_eq!(with(&table("hdr.ipv4.dst: lpm;"), "t.apply();"), ["W0020 hdr.ipv4.dst"]);
    assert_eq!(with(&table("hdr.ipv4.dst: lpm;"), "if (hdr.ipv4.isValid()) { t.apply(); }"), NONE);
    assert_eq!(with(&table("hdr.ipv4.isValid(): exact; hdr.ipv4.dst: ternary;"), "t.apply();"), NONE);
    let text = program(USUAL, &table("hdr.ipv4.dst: lpm;"), "t.apply();");
    let shown = compile_text("test.p4", &text, &Options::default(), true).report(false);
    assert!(shown.contains("make `hdr.ipv4.isValid(): exact` a key, too"), "{shown}");
    assert_eq!(with(&table("std.ingress_port: exact;"), "t.apply();"), NONE);
    assert_eq!(with(&table("std.ingress_port: exact;"), "hdr.ipv4.setInvalid(); t.apply();"), ["W0020 hdr.ipv4.ttl"]);
    let direct = "action hop() { hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }";
    assert_eq!(with(direct, "hop();"), ["W0020 hdr.ipv4.ttl"]);
    let known = "action six() { meta.kind = 1; }
        table t { key = { std.ingress_port: exact; } actions = { six; NoAction; } }";
    let body = "hdr.udp.setInvalid(); switch (t.apply().action_run) { six: { hdr.udp.setValid(); } default: { } }";
    assert_eq!(with(known, &format!("{body} if (meta.kind == 1) {{ meta.x = hdr.udp.src[7:0]; }}")), NONE);
    assert_eq!(
        with(known, &format!("{body} if (meta.kind == 0) {{ meta.x = hdr.udp.src[7:0]; }}")),
        ["W0020 hdr.udp.src"]
    );
}

#[test]
fn dropped_packets_do_not_reach_egress() {
    let egress = |ingress: &str| {
        let text = program(USUAL, "", ingress);
        let empty = "inout standard_metadata_t std) { apply { } }";
        warnings(&text.replace(empty, "inout standard_metadata_t std) { apply { meta.x = hdr.ipv4.ttl; } }"))
    };
    assert_eq!(egress("if (!hdr.ipv4.isValid()) { mark_to_drop(std); }"), NONE);
    assert_eq!(egress("if (!hdr.ipv6.isValid()) { mark_to_drop(std); }"), ["W0020 hdr.ipv4.ttl"]);
}

#[test]
fn variables_without_a_value() {
    assert_eq!(apply("bit<8> v; meta.x = v;"), ["W0021 v"]);
    assert_eq!(apply("bit<8> v; if (meta.y == 1) { v = 1; } meta.x = v;"), ["W0021 v"]);
    assert_eq!(apply("bit<8> v; if (meta.y == 1) { v = 1; } else { v = 2; } meta.x = v;"), NONE);
    assert_eq!(apply("bit<8> v; if (meta.y == 1) { v = 1; } if (meta.y == 1) { meta.x = v; }"), NONE);
    assert_eq!(apply("metadata_t m; m.x = 1; meta.x = m.x; meta.y = m.y;"), ["W0021 m.y"]);
    assert_eq!(apply("bit<8> v; for (bit<8> i in 8w0 .. 3) { v = i; } meta.x = v;"), NONE);
    let set = "action set(out bit<8> v) { v = 3; }";
    assert_eq!(with(set, "bit<8> v; set(v); meta.x = v;"), NONE);
    let keep = "action keep(inout bit<8> v) { v = v + 1; }";
    assert_eq!(with(keep, "bit<8> v; keep(v); meta.x = v;"), ["W0021 v"]);
}

#[test]
fn out_parameters_without_a_value() {
    let set = |body: &str| with(&format!("action set(out bit<8> v) {{ {body} }}"), "set(meta.x);");
    assert_eq!(set(""), ["W0022 v"]);
    assert_eq!(set("if (meta.y == 1) { v = 1; }"), ["W0022 v"]);
    assert_eq!(set("if (meta.y == 1) { v = 1; return; } v = 2;"), NONE);
}

#[test]
fn what_nothing_uses() {
    assert_eq!(with("table t { actions = { NoAction; } }", ""), ["W0024 t"]);
    assert_eq!(with("table t { actions = { NoAction; } }", "t.apply();"), NONE);
    assert_eq!(with("action a() { }", ""), ["W0025 a"]);
    assert_eq!(with("action a() { }", "a();"), NONE);
    assert_eq!(with("action a() { } table t { actions = { a; } }", "t.apply();"), NONE);
    assert_eq!(with("register<bit<8>>(4) r;", ""), ["W0025 r"]);
    assert_eq!(with("register<bit<8>>(4) r;", "r.write(0, 1);"), NONE);
    let text = program(USUAL, "", "");
    assert_eq!(
        warnings(&text.replace("control TestVerify", "control Other() { apply { } }\ncontrol TestVerify")),
        ["W0025 Other"]
    );
    let lost = format!("{USUAL} state lost {{ transition accept; }}");
    assert_eq!(warnings(&program(&lost, "", "")), ["W0023 lost"]);
}

#[test]
fn comparisons_and_shifts() {
    assert_eq!(apply("if (meta.x < 0) { meta.y = 1; }"), ["W0026 meta.x < 0"]);
    assert_eq!(apply("if (255 >= meta.x) { meta.y = 1; }"), ["W0026 255 >= meta.x"]);
    assert_eq!(apply("if (meta.x > 0 && meta.x < 255) { meta.y = 1; }"), NONE);
    assert_eq!(apply("meta.y = meta.x << 8;"), ["W0027 meta.x << 8"]);
    assert_eq!(apply("meta.y = meta.x << 7;"), NONE);
    assert_eq!(apply("meta.y = (bit<8>) 300;"), ["W0002 (bit<8>) 300"]);
    assert_eq!(apply("meta.y = (bit<8>) hdr.ethernet.type;"), NONE);
}

#[test]
fn warnings_are_switched_off_where_the_program_says_so() {
    assert_eq!(with("@noWarn(\"unused\") action a() { }", ""), NONE);
    assert_eq!(with("@noWarn(\"W0025\") action a() { }", ""), NONE);
    assert_eq!(with("@noWarn action a() { }", ""), NONE);
    assert_eq!(with("@noWarn(\"invalid_header\") action a() { }", ""), ["W0025 a"]);
    assert_eq!(apply("@noWarn(\"invalid_header\") { meta.x = hdr.ipv4.ttl; }"), NONE);
}

#[test]
fn a_large_program_is_followed_to_its_end() {
    let border_router = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/scion/border_router.p4");
    let text = |file: &str| std::fs::read_to_string(border_router.with_file_name(file)).unwrap();
    let ingress = text("ingress.p4");
    let marked =
        ingress.replacen("ingress_port = (bit<16>) std.ingress_port;", "ingress_port = hdr.packet_in.egress;", 1);
    assert_ne!(ingress, marked);
    let marked = text("border_router.p4").replacen("#include \"ingress.p4\"", &marked, 1);
    let options = Options { include_paths: vec![border_router.parent().unwrap().into()], ..Options::default() };
    assert_eq!(found(&compile_text("border_router.p4", &marked, &options, false)), ["W0020 hdr.packet_in.egress"]);
    assert_eq!(found(&compile_file(&border_router, &Options::default(), false)), NONE);
}

#[test]
fn the_examples_and_the_routers_have_no_warnings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let routers = ["router/ip.p4", "router/path_splicing.p4", "scion/border_router.p4", "switchblade/platform.p4"];
    let mut programs: Vec<_> = routers.iter().map(|program| root.join("p4").join(program)).collect();
    for entry in std::fs::read_dir(root.join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "p4") {
            programs.push(path);
        }
    }
    for program in programs {
        assert_eq!(found(&compile_file(&program, &Options::default(), false)), NONE, "{}", program.display());
    }
}
