//! A program may bring the architecture's declarations along. What the data plane cannot honour of them is refused at its line.

use std::path::{Path, PathBuf};

use hopwright_driver::{Options, compile_text};
use hopwright_syntax::Span;

const V1MODEL: &str = include_str!("../../../../../p4/include/v1model.p4");
const PSA: &str = include_str!("../../../../../p4/include/psa.p4");
const TOFINO: &str = include_str!("../../../../../p4/include/tofino.p4");

/// A program that uses none of v1model's metadata.
const PLAIN: &str = "#include <v1model.p4>
struct H {}
parser P(packet_in b, out H h, inout H m, inout standard_metadata_t s) { state start { transition accept; } }
control C(inout H h, inout H m) { apply {} }
control I(inout H h, inout H m, inout standard_metadata_t s) { apply {} }
control D(packet_out b, in H h) { apply {} }
V1Switch(P(), C(), I(), I(), C(), D()) main;
";

/// The text of a packet test's program.
fn program(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf")
}

/// The errors of a program with another text of an include file: code, message, marked text.
fn errors(program: &str, include: &str, text: String) -> Vec<String> {
    let options = Options {
        include_paths: vec![folder()],
        embedded: vec![(include.to_string(), text.into())],
        ..Options::default()
    };
    let compiled = compile_text("test.p4", program, &options, true);
    assert_eq!(compiled.pipeline.is_some(), !compiled.diagnostics.has_errors());
    let errors = compiled.diagnostics.iter().filter(|d| d.code.starts_with('E'));
    let place = |span: Span| (compiled.sources.get(span.file).unwrap().name().clone(), compiled.sources.snippet(span));
    errors.map(|d| format!("{} {} {:?}", d.code, d.message, d.span().map(place))).collect()
}

#[test]
fn widths_of_ports_and_other_metadata_of_v1model() {
    let given = |from: &str, to: &str| {
        assert!(V1MODEL.contains(from));
        errors(PLAIN, "v1model.p4", V1MODEL.replace(from, to))
    };
    assert_eq!(given("bit<9> egress_spec", "bit<9> egress_spec"), [""; 0]);
    for (from, to) in [
        ("bit<9> ingress_port", "bit<16> ingress_port"),
        ("bit<9> egress_spec", "bit<8> egress_spec"),
        ("bit<32> packet_length", "bit<16> packet_length"),
        ("error parser_error", "bit<16> parser_error"),
        ("bit<3> priority", "bool priority"),
    ] {
        let (ty, member) = to.split_once(' ').unwrap();
        let found = given(from, to);
        assert_eq!(found.len(), 1, "{found:?}");
        let message = format!("E0461 `{member}` has the type `{ty}` in this `standard_metadata_t`, not `");
        assert!(found[0].starts_with(&message), "{found:?}");
        assert!(found[0].contains("v1model.p4"), "{found:?}");
    }
    let ports = V1MODEL.replace("bit<9>", "bit<16>");
    assert_eq!(errors(PLAIN, "v1model.p4", ports).len(), 3);
    // Members may be added and left out.
    assert_eq!(given("    bit<3> priority;", "    bit<5> mine;"), [""; 0]);
}

#[test]
fn widths_and_enums_of_psa() {
    let given = |from: &str, to: &str| {
        assert!(PSA.contains(from));
        errors(&program("psa_paths.p4"), "psa.p4", PSA.replace(from, to))
    };
    assert_eq!(given("typedef bit<16> EgressInstanceUint_t", "typedef bit<32> EgressInstanceUint_t").len(), 1);
    assert_eq!(given("typedef bit<16> EgressInstanceUint_t", "typedef bit<16> EgressInstanceUint_t"), [""; 0]);
    let found = given("    NORMAL,  ", "    OTHER,   ");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("E0461 this `PSA_PacketPath_t` has other members"), "{found:?}");
}

#[test]
fn widths_of_tna() {
    let from = "bit<3>         drop_ctl";
    assert!(TOFINO.contains(from));
    assert_eq!(errors(&program("tna_paths.p4"), "tofino.p4", TOFINO.into()), [""; 0]);
    let found = errors(&program("tna_paths.p4"), "tofino.p4", TOFINO.replace(from, "bit<4> drop_ctl"));
    assert!(found[0].starts_with("E0461 `drop_ctl` has the type `bit<4>`"), "{found:?}");
}

#[test]
fn an_unknown_package_is_told_of_those_that_are_known() {
    let text = "control proto(); package top(proto p); control c() { apply {} } top(c()) main;";
    let shown = compile_text("test.p4", text, &Options::default(), true).report(false);
    for part in
        ["error[E0501]: the package `top` is not supported yet", "`V1Switch` (v1model.p4)", "`Switch` (t2na.p4)"]
    {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
}
