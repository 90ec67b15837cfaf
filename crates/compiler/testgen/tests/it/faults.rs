//! Faults in programs that the tests of the right programs find.

use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::EngineKind;
use hopwright_driver::compile_text;
use hopwright_ir::Pipeline;
use hopwright_syntax::Options as Preprocess;

use super::{compiled, executable, failure, options, root, tests_of};

/// The text of a program with a part of it replaced.
fn with_fault(text: &str, right: &str, wrong: &str) -> Arc<Pipeline> {
    assert_eq!(text.matches(right).count(), 1, "`{right}` is there once");
    let compiled = compile_text("faulty.p4", &text.replace(right, wrong), &Preprocess::default(), true);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

/// Whether a test fails with each of these faults. What is not found is named.
fn all_are_found(file: &Path, faults: &[(&str, &str)]) {
    let (_, tests) = tests_of(&compiled(file, false), "", &options());
    let text = std::fs::read_to_string(file).unwrap();
    let found = |(right, wrong): &&(&str, &str)| {
        let faulty = executable(&with_fault(&text, right, wrong), EngineKind::Interp);
        tests.iter().any(|test| failure(&faulty, test).is_some())
    };
    let missed: Vec<_> = faults.iter().filter(|fault| !found(fault)).collect();
    assert!(missed.is_empty(), "{} tests do not find {missed:#?}\n{}", tests.len(), tests.join("\n"));
}

#[test]
fn faults_of_a_router_are_found() {
    all_are_found(
        &root().join("examples/l3.p4"),
        &[
            // Wrong constants.
            ("ETHERTYPE_IPV4 = 0x0800", "ETHERTYPE_IPV4 = 0x0801"),
            ("hdr.ipv4.ttl - 1", "hdr.ipv4.ttl - 2"),
            ("hdr.ipv4.ttl > 1", "hdr.ipv4.ttl > 2"),
            ("hdr.ipv4.ttl > 1", "hdr.ipv4.ttl > 0"),
            ("hdr.ipv4.ihl == 5", "hdr.ipv4.ihl >= 5"),
            // A condition less, and one the wrong way round.
            (" && standard_metadata.checksum_error == 0", ""),
            ("standard_metadata.checksum_error == 0", "standard_metadata.checksum_error == 1"),
            ("hdr.ipv4.version == 4 &&", "hdr.ipv4.version != 4 &&"),
            // Statements that are missing.
            ("hdr.ethernet.src = src;", ""),
            ("packet.emit(hdr.ipv4);", ""),
            ("            routes.apply();", "            drop();"),
            // Fields that were taken for each other.
            ("hdr.ethernet.dst = dst;", "hdr.ethernet.dst = src;"),
            ("key = { hdr.ipv4.dst : lpm; }", "key = { hdr.ipv4.src : lpm; }"),
            // Another kind of match.
            ("key = { hdr.ipv4.dst : lpm; }", "key = { hdr.ipv4.dst : exact; }"),
        ],
    );
}

#[test]
fn faults_behind_registers_meters_and_stacks_are_found() {
    all_are_found(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/deep.p4"),
        &[
            ("(0x1234, 5 .. 9): inner;", "(0x1234, 5 .. 9): options;"),
            ("update_checksum(h.inner.isValid()", "update_checksum(!h.inner.isValid()"),
            ("2: inner;", "2: accept;"),
            ("meta.class = 3;", "drop();"),
            ("            send: { h.outer.length = 1; }", "            again: { h.outer.length = 1; }"),
            ("0x84 &&& 0xfc: classify(2);", "0x84 &&& 0xfe: classify(2);"),
            ("if (sm.egress_rid == 2)", "if (sm.egress_rid == 3)"),
            ("sm.mcast_grp = group;", ""),
        ],
    );
}
