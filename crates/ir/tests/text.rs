//! The text form is stable.

mod builder;

use builder::*;
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
local tmp#5: bit<8>
local tmp#6: bit<8>

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
        tmp#6 = (tmp#5 |+| 8w0x3)
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
