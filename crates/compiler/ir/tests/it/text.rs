//! The text form is stable.

use std::path::Path;

use crate::builder::*;
use hopwright_ir::*;

#[test]
fn a_pipeline_reads_like_a_program() {
    let mut p = pipeline();
    p.slots.retain(|s| s.name.ends_with("egress_spec") || s.name.ends_with("ingress_port"));
    let s = p.standard;
    let last = SlotId(1);
    p.standard = StandardMetadata { ingress_port: SlotId(0), egress_spec: last, ..s };
    p.errors.truncate(2);
    let h = header(&mut p, "hdr.h", &[("a", Type::Bits(8)), ("b", Type::Int(8))]);
    let (a, b) = (field(&p, h, 0), field(&p, h, 1));
    let tmp = slot(&mut p, "tmp", Type::Bits(8), SlotKind::Local);
    let again = slot(&mut p, "tmp", Type::Bits(8), SlotKind::Local);
    let c = object(&mut p, "c", ExternKind::Counter { size: 4, unit: Unit::Both });
    p.parser.states[0].body = vec![extract(h)];
    p.parser.states[0].transition = Transition::Select {
        keys: vec![read(&p, a)],
        cases: vec![SelectCase {
            sets: vec![KeySet::Mask(0x10u32.into(), 0xf0u32.into())],
            target: Target::Reject,
            span: span(),
        }],
    };
    let param = Expr { kind: ExprKind::Param(0), ty: Type::Bits(9), span: span() };
    let fwd = action(&mut p, "fwd", &[("port", 9)], vec![assign(last, param)]);
    let none = action(&mut p, "NoAction", &[], vec![]);
    let t = table(&mut p, "MyIngress.t", vec![(a, MatchKind::Lpm)], &[fwd, none], none);
    p.tables[0].entries = vec![entry(vec![lpm(0x40, 4)], 0, fwd, &[17])];
    let sum = binary(BinaryOp::SatAdd, read(&p, tmp), konst(3, 8), Type::Bits(8));
    let negative = binary(BinaryOp::Lt, read(&p, b), Expr::constant(0xffu32, Type::Int(8), span()), Type::Bool);
    p.ingress.body = vec![
        apply(t),
        stmt(StmtKind::If {
            cond: negative,
            then: vec![assign(again, sum)],
            otherwise: vec![stmt(StmtKind::If {
                cond: Expr::boolean(true, span()),
                then: vec![stmt(StmtKind::Exit)],
                otherwise: vec![call(ExternFn::CounterCount(c), vec![ExternArg::In(konst(1, 32))])],
            })],
        }),
    ];
    p.deparser.body = vec![emit(h)];
    let expected = "\
pipeline test

errors NoError, PacketTooShort

header hdr.h: hdr.h_t {
    a: bit<8> @0
    b: int<8> @8
}

standard standard_metadata.ingress_port: bit<9>
standard standard_metadata.egress_spec: bit<9>
local tmp#0: bit<8>
local tmp#1: bit<8>

extern c: counter of Both size 4

action fwd(port: bit<9>) {
    standard_metadata.egress_spec = port
}

action NoAction() {
}

table MyIngress.t {
    key hdr.h.a: lpm = hdr.h.a
    action fwd
    action NoAction
    default NoAction()
    entry 0x40/4 => fwd(0x11)
    size 1024
}

parser MyParser from start {
    state start {
        extract hdr.h
        select (hdr.h.a) {
            0x10 &&& 0xf0: reject
        }
    }
}

verify_checksum MyVerifyChecksum {
}

ingress MyIngress {
    apply MyIngress.t
    if (hdr.h.b < 8s0xff) {
        tmp#1 = (tmp#0 |+| 8w0x3)
    } else if true {
        exit
    } else {
        c.count(32w0x1)
    }
}

egress MyEgress {
}

compute_checksum MyComputeChecksum {
}

deparser MyDeparser {
    emit hdr.h
}
";
    assert_eq!(p.to_string(), expected);
}

/// What a pipeline prints is read back as that pipeline: it prints the same and means the same to the verifier.
fn reads_back(pipeline: &Pipeline, what: &str) {
    let text = pipeline.to_string();
    let parsed = hopwright_ir::text::parse(&text).unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Err(errors) = hopwright_ir::verify::verify(&parsed) {
        panic!("{what}: {}", errors[0]);
    }
    let again = parsed.to_string();
    let difference = text.lines().zip(again.lines()).find(|(a, b)| a != b);
    assert!(text == again, "{what}: {difference:?}");
}

#[test]
fn what_is_printed_is_read_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut count = 0;
    for folder in ["tests/stf", "examples", "p4/bench", "p4/epic", "p4/router", "p4/scion", "p4/switchblade"] {
        for file in std::fs::read_dir(root.join(folder)).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|e| e != "p4") {
                continue;
            }
            for optimise in [false, true] {
                let options = hopwright_syntax::Options::default();
                // A part of a program, or one that is to be refused.
                let Some(pipeline) = hopwright_driver::compile_file(&file, &options, optimise).pipeline else {
                    continue;
                };
                reads_back(&pipeline, &file.display().to_string());
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count} pipelines");
}

#[test]
fn bounds_and_effects_are_written() {
    let mut p = pipeline();
    let x = slot(&mut p, "x", Type::Bits(32), SlotKind::Metadata);
    let bits = Expr::slot(x, Type::Bits(32), span());
    p.parser.states[0].body = vec![stmt(StmtKind::Advance { bits, bound: Some(480) })];
    let function = |no_side_effects| ExternFn::Named { instance: None, name: "f".into(), no_side_effects };
    let args = || vec![ExternArg::Out(x)];
    p.ingress.body = vec![
        stmt(StmtKind::Loop { body: vec![call(function(true), args())], bound: Some(7) }),
        stmt(StmtKind::Loop { body: vec![call(function(false), args())], bound: None }),
    ];
    let text = p.to_string();
    for line in ["advance x max 480", "loop max 7 {", "f(out x) @noSideEffects", "loop {", "f(out x)"] {
        assert!(text.lines().any(|l| l.trim() == line), "{line} in {text}");
    }
    reads_back(&p, "bounds");
}

#[test]
fn p4runtime_ids_are_written() {
    let mut p = pipeline();
    let none = action(&mut p, "NoAction", &[], vec![]);
    p.actions[0].id = Some(P4Id(0x0100_0001));
    let t = table(&mut p, "t", vec![], &[none], none);
    p.tables[0].id = Some(P4Id(0x0200_0002));
    object(&mut p, "c", ExternKind::Counter { size: 4, unit: Unit::Both });
    p.externs[0] = ExternInstance { id: Some(P4Id(0x1200_0003)), concurrent: true, ..p.externs[0].clone() };
    p.value_sets.push(ValueSet {
        name: "v".into(),
        id: Some(P4Id(0x0300_0004)),
        types: vec![Type::Bool],
        size: 4,
        span: span(),
    });
    let id = P4Id(0x0400_0005);
    p.control_plane_objects.push(ControlPlaneObject { kind: P4Kind::ControllerHeader, name: "in_t".into(), id });
    p.ingress.body = vec![apply(t)];
    let text = p.to_string();
    for line in [
        "action NoAction() @id(0x01000001) {",
        "table t @id(0x02000002) {",
        "extern c: counter of Both size 4 @concurrent @id(0x12000003)",
        "value_set v: (bool) size 4 @id(0x03000004)",
        "control_plane controller_header in_t @id(0x04000005)",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in {text}");
    }
    reads_back(&p, "ids");
}

#[test]
fn names_that_need_quotes() {
    let mut p = pipeline();
    let odd = ["key", "a b", "x[7:0]", "exit", "\"\\", "packet_length", "true", "3"];
    for name in odd.into_iter().chain(odd) {
        let slot = slot(&mut p, name, Type::Bits(8), SlotKind::Metadata);
        let h = header(&mut p, name, &[(name, Type::Bits(8))]);
        p.ingress.body.push(assign(slot, read(&p, slot)));
        p.deparser.body.push(emit(h));
    }
    let param = Expr { kind: ExprKind::Param(0), ty: Type::Bits(8), span: span() };
    let tmp = slot(&mut p, "tmp", Type::Bits(8), SlotKind::Metadata);
    let sum = binary(BinaryOp::Add, param, read(&p, tmp), Type::Bits(8));
    action(&mut p, "a parameter called as a slot", &[("tmp", 8)], vec![assign(tmp, sum)]);
    reads_back(&p, "odd names");
}

#[test]
fn a_text_that_is_no_pipeline_is_an_error_with_its_place() {
    let text = hopwright_driver::compile_text(
        "l2.p4",
        include_str!("../../../../../examples/l2.p4"),
        &hopwright_syntax::Options::default(),
        true,
    )
    .pipeline
    .unwrap()
    .to_string();
    let error = hopwright_ir::text::parse(&text.replace("emit hdr.ethernet", "emit hdr.ether")).unwrap_err();
    assert_eq!(error.to_string().lines().nth(1).unwrap().trim(), "emit hdr.ether");
    assert_eq!((error.column, error.message.as_str()), (10, "there is no header `hdr.ether`"));
    // Words lost, doubled and exchanged: never more than an error.
    let words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
    let mut refused = 0;
    for at in 0..words.len() {
        let mut lost = words.clone();
        lost.remove(at);
        let mut doubled = words.clone();
        doubled.insert(at, words[at]);
        let mut exchanged = words.clone();
        exchanged.swap(at, (at + 1) % words.len());
        for words in [lost, doubled, exchanged] {
            match hopwright_ir::text::parse(&words.concat()) {
                Ok(pipeline) => drop(hopwright_ir::verify::verify(&pipeline)),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > words.len(), "{refused} of {}", 3 * words.len());
    let deep = text.replace("emit hdr.ethernet", &"loop {".repeat(100_000));
    assert!(hopwright_ir::text::parse(&deep).unwrap_err().message.contains("nested"));
}

#[test]
fn programs_for_hardware_have_no_loops_and_no_varbits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4");
    for program in ["switchblade/platform.p4", "router/path_splicing.p4"] {
        let options = hopwright_syntax::Options::default();
        let pipeline = hopwright_driver::compile_file(&root.join(program), &options, true).pipeline.unwrap();
        assert!(!hopwright_ir::analysis::parser_graph::has_cycles(&pipeline), "{program}");
        assert!(pipeline.slots.iter().all(|slot| !matches!(slot.ty, Type::Varbit(_))), "{program}");
        assert!(!pipeline.to_string().lines().any(|line| line.trim_start().starts_with("loop")), "{program}");
    }
}
