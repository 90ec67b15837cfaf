//! Warnings about programs for Tofino: where other targets, or the device, do something else.

use hopwright_driver::compile_text;
use hopwright_syntax::{Options, Severity, render};

/// A program with members of its ingress control, states of its parser and statements of its egress.
fn program(states: &str, locals: &str, body: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#include <tna.p4>
header data_t {{ bit<8> a; bit<8> b; bit<16> c; }}
struct headers_t {{ data_t data; data_t more; data_t[2] stack; }}
struct flags_t {{ bit<1> first; bit<7> rest; }}
struct metadata_t {{ bit<8> x; bit<8> y; bit<16> length; flags_t flags; }}
struct none_t {{ }}
parser P(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t intrinsic) {{
    state start {{
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.data);
        {states}
        transition accept;
    }}
}}
control I(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
          in ingress_intrinsic_metadata_from_parser_t from_parser,
          inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
          inout ingress_intrinsic_metadata_for_tm_t for_tm) {{
    {locals}
    apply {{ for_tm.ucast_egress_port = 2; {body} }}
}}
control ID(packet_out packet, inout headers_t hdr, in metadata_t meta,
           in ingress_intrinsic_metadata_for_deparser_t for_deparser) {{
    apply {{ packet.emit(hdr); }}
}}
parser EP(packet_in packet, out none_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t intrinsic) {{
    state start {{
        packet.extract(intrinsic);
        transition accept;
    }}
}}
control E(inout none_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
          in egress_intrinsic_metadata_from_parser_t from_parser,
          inout egress_intrinsic_metadata_for_deparser_t for_deparser,
          inout egress_intrinsic_metadata_for_output_port_t for_port) {{
    apply {{ {egress} }}
}}
control ED(packet_out packet, inout none_t hdr, in metadata_t meta,
           in egress_intrinsic_metadata_for_deparser_t for_deparser) {{ apply {{ }} }}
Pipeline(P(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"
    )
}

/// Codes of the warnings about targets and about what has no value, and the text that they mark.
fn warnings(text: &str) -> Vec<String> {
    let compiled = compile_text("test.p4", text, &Options::default(), true);
    let shown = render::render(&compiled.diagnostics, &compiled.sources, false);
    assert!(compiled.pipeline.is_some(), "{shown}");
    let wanted = ["W0020", "W0021", "W0022", "W0032", "W0033", "W0034", "W0035"];
    (compiled.diagnostics.iter())
        .filter(|d| d.severity == Severity::Warning && wanted.contains(&d.code))
        .map(|d| format!("{} {}", d.code, compiled.sources.snippet(d.span().unwrap())))
        .collect()
}

fn apply(body: &str) -> Vec<String> {
    warnings(&program("", "", body, ""))
}

const NONE: [&str; 0] = [];

#[test]
fn fields_that_are_written_before_their_header_is_valid() {
    assert_eq!(apply("hdr.more.a = 1; hdr.more.setValid();"), ["W0032 hdr.more.a"]);
    assert_eq!(apply("hdr.more.c[7:0] = 1; hdr.data.a = 2; hdr.more.setValid();"), ["W0032 hdr.more.c[7:0]"]);
    assert_eq!(apply("hdr.stack[1].a = 1; hdr.stack[1].setValid();"), ["W0032 hdr.stack[1].a"]);
    assert_eq!(apply("if (hdr.data.a == 1) { hdr.more.a = 1; hdr.more.setValid(); }"), ["W0032 hdr.more.a"]);
    assert_eq!(
        warnings(&program("hdr.more.a = 1; hdr.more.setValid();", "", "", "")),
        ["W0032 hdr.more.a"],
        "in a parser"
    );
    // Of another header, of one that is valid, and of one that becomes valid as a whole.
    assert_eq!(apply("hdr.stack[0].a = 1; hdr.stack[1].setValid();"), NONE);
    assert_eq!(apply("hdr.more.setValid(); hdr.more.a = 1; hdr.more.setValid();"), NONE);
    assert_eq!(apply("if (hdr.more.isValid()) { hdr.more.a = 1; hdr.more.setValid(); }"), NONE);
    assert_eq!(apply("hdr.more.a = 1; hdr.more = { 1, 2, 3 }; hdr.more.setValid();"), NONE);
    assert_eq!(apply("@noWarn(\"target\") { hdr.more.a = 1; hdr.more.setValid(); }"), NONE);
}

/// Ingress and egress are followed path by path, each with its own parser.
#[test]
fn headers_that_are_not_valid_and_variables_without_a_value() {
    assert_eq!(apply("meta.x = hdr.more.a;"), ["W0020 hdr.more.a"]);
    assert_eq!(apply("meta.x = hdr.data.a; if (hdr.more.isValid()) { meta.y = hdr.more.a; }"), NONE);
    assert_eq!(apply("hdr.more = hdr.data; meta.x = hdr.more.a; bit<8> y; meta.y = y;"), ["W0021 y"]);
    let sometimes = "transition select(hdr.data.a) { 1: more; default: accept; } }
        state more { packet.extract(hdr.more);";
    let may = |body: &str| warnings(&program(sometimes, "", body, ""));
    assert_eq!(may("meta.x = hdr.more.a;"), ["W0020 hdr.more.a"]);
    assert_eq!(may("if (hdr.data.a == 1) { meta.x = hdr.more.a; }"), NONE);
    let again = "transition select(intrinsic.resubmit_flag) { 1: more; default: accept; } }
        state more { packet.extract(hdr.more);";
    let again =
        |condition: &str| warnings(&program(again, "", &format!("if ({condition}) {{ meta.x = hdr.more.a; }}"), ""));
    assert_eq!(again("intrinsic.resubmit_flag == 1"), NONE);
    assert_eq!(again("intrinsic.resubmit_flag == 0"), ["W0020 hdr.more.a"]);
    // A field that is written while its header is invalid is kept.
    assert_eq!(apply("hdr.more.a = 1;"), NONE);
    let egress = "data_t local; local.setInvalid(); meta.x = local.a;";
    assert_eq!(warnings(&program("", "", "", egress)), ["W0020 local.a"]);
}

#[test]
fn metadata_that_nothing_writes() {
    assert_eq!(apply("hdr.data.a = meta.x;"), ["W0033 meta.x"]);
    assert_eq!(apply("if (meta.x == meta.y) { meta.y = 1; }"), ["W0033 meta.x"]);
    let table = "table t { key = { meta.x: exact; } actions = { NoAction; } }";
    assert_eq!(warnings(&program("", table, "t.apply();", "")), ["W0033 meta.x"]);
    assert_eq!(warnings(&program("meta.x = hdr.data.a;", table, "t.apply();", "")), NONE);
    assert_eq!(apply("meta.x[3:0] = 1; hdr.data.a = meta.x;"), NONE);
    assert_eq!(apply("meta = { 1, 2, 3, { 1, 2 } }; hdr.data.a = meta.x;"), NONE);
    assert_eq!(
        warnings(&program("", "action a(out bit<8> x) { x = 1; }", "a(meta.x); hdr.data.a = meta.x;", "")),
        NONE
    );
}

#[test]
fn lengths_with_the_frame_check_sequence() {
    let length = ["W0034 intrinsic.pkt_length"];
    assert_eq!(warnings(&program("", "", "", "meta.length = intrinsic.pkt_length;")), length);
    let counter = "Counter<bit<32>, bit<8>>(256, CounterType_t.BYTES) c;";
    let count = |args: &str| warnings(&program("", counter, &format!("c.count({args});"), ""));
    assert_eq!(count("hdr.data.a, 4"), ["W0034 4"]);
    assert_eq!(count("hdr.data.a, sizeInBytes(hdr.data)"), ["W0034 sizeInBytes(hdr.data)"]);
    assert_eq!(count("hdr.data.a, 0"), NONE);
    assert_eq!(count("hdr.data.a"), NONE);
}

#[test]
fn crcs_of_which_targets_have_different_results() {
    let hash = |object: &str, data: &str| {
        warnings(&program("", object, &format!("meta.x = (bit<8>) h.get({{ {data} }})[7:0];"), ""))
    };
    let wide = "Hash<bit<32>>(HashAlgorithm_t.CRC16) h;";
    assert_eq!(hash(wide, "hdr.data.a"), [format!("W0035 {wide}")]);
    assert_eq!(hash("Hash<bit<16>>(HashAlgorithm_t.CRC16) h;", "hdr.data.a"), NONE);
    assert_eq!(hash("Hash<bit<16>>(HashAlgorithm_t.CRC32) h;", "hdr.data.a"), NONE);
    assert_eq!(hash("Hash<bit<32>>(HashAlgorithm_t.XOR16) h;", "hdr.data.a[2:0]"), NONE);
    let odd = hash("Hash<bit<16>>(HashAlgorithm_t.CRC16) h;", "hdr.data.a, hdr.data.b[2:0]");
    assert_eq!(odd, ["W0035 h.get({ hdr.data.a, hdr.data.b[2:0] })"]);
    let polynomial = "CRCPolynomial<bit<8>>(8w7, false, false, false, 8w0, 8w0) p;";
    let custom = "Hash<bit<16>>(HashAlgorithm_t.CUSTOM, p) h;";
    assert_eq!(hash(&format!("{polynomial} {custom}"), "hdr.data.a"), [format!("W0035 {custom}")]);
}

/// Elsewhere what is written is lost, which is another warning.
#[test]
fn other_architectures_have_other_warnings() {
    let text = "#include <core.p4>
#include <v1model.p4>
header data_t { bit<8> a; }
struct headers_t { data_t data; }
struct metadata_t { bit<8> x; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { hdr.data.a = meta.x; hdr.data.setValid(); }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";
    assert_eq!(warnings(text), ["W0020 hdr.data.a"]);
}
