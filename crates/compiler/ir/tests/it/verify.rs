//! The verifier accepts what is right and finds what is broken.

use crate::builder::*;
use hopwright_ir::verify::verify;
use hopwright_ir::*;

/// A pipeline with a bit of everything.
fn rich() -> Pipeline {
    let mut p = pipeline();
    let h = header(&mut p, "hdr.h", &[("a", Type::Bits(12)), ("b", Type::Int(4))]);
    let v = header(&mut p, "hdr.v", &[("n", Type::Bits(8)), ("opts", Type::Varbit(64))]);
    let s = stack(&mut p, "hdr.s", 2, &[("x", Type::Bits(8))]);
    let flag = slot(&mut p, "flag", Type::Bool, SlotKind::Local);
    let run = slot(&mut p, "run", Type::Bits(32), SlotKind::Local);
    let r = object(&mut p, "r", ExternKind::Register { size: 2, ty: Type::Bits(12) });
    let a = field(&p, h, 0);
    p.parser.states[0].body = vec![
        extract(h),
        stmt(StmtKind::ExtractNext { stack: s, varbit_bits: None }),
        stmt(StmtKind::Extract { header: v, varbit_bits: Some(konst(16, 32)) }),
    ];
    p.parser.states[0].transition = Transition::Select {
        keys: vec![read(&p, a)],
        cases: vec![SelectCase { sets: vec![KeySet::Value(5u32.into())], target: Target::Accept, span: span() }],
    };
    let fwd = action(&mut p, "fwd", &[("port", 9)], vec![]);
    let param = Expr { kind: ExprKind::Param(0), ty: Type::Bits(9), span: span() };
    p.actions[0].body = vec![assign(p.standard.egress_spec, param)];
    let none = action(&mut p, "NoAction", &[], vec![]);
    let t = table(&mut p, "t", vec![(a, MatchKind::Ternary)], &[fwd, none], none);
    p.tables[0].entries = vec![entry(vec![ternary(1, 1)], 1, fwd, &[3])];
    p.ingress.body = vec![
        stmt(StmtKind::Apply { table: t, hit: Some(flag), action_run: Some(run) }),
        stmt(StmtKind::Scope {
            label: 1,
            body: vec![stmt(StmtKind::If {
                cond: read(&p, flag),
                then: vec![stmt(StmtKind::Leave(1))],
                otherwise: vec![],
            })],
        }),
        call(ExternFn::RegisterWrite(r), vec![ExternArg::In(konst(0, 32)), ExternArg::In(read(&p, a))]),
    ];
    p.deparser.body = vec![emit(h), emit(v)];
    p
}

#[test]
fn a_right_pipeline_passes() {
    assert_eq!(verify(&rich()), Ok(()));
    assert_eq!(verify(&pipeline()), Ok(()));
}

type Break = fn(&mut Pipeline);

/// Each breaks one thing; the message must say which.
const BROKEN: &[(&str, Break)] = &[
    ("slot 999 does not exist", |p| p.ingress.body.push(assign(SlotId(999), konst(0, 1)))),
    ("header 99 does not exist", |p| p.deparser.body.push(emit(HeaderId(99)))),
    ("table 9 does not exist", |p| p.ingress.body.push(apply(TableId(9)))),
    ("state 7 does not exist", |p| {
        p.parser.states[0].transition = Transition::Goto(Target::State(StateId(7)));
    }),
    ("action 9 does not exist", |p| p.tables[0].default_action.action = ActionId(9)),
    ("extern 9 does not exist", |p| {
        p.ingress.body.push(call(ExternFn::DirectCounterCount(ExternId(9)), vec![]));
    }),
    ("value assigned of type bit<8> must be bit<9>", |p| {
        p.ingress.body.push(assign(p.standard.egress_spec, konst(0, 8)));
    }),
    ("operands of type bit<8> must be bit<9>", |p| {
        let sum = binary(BinaryOp::Add, konst(0, 8), konst(0, 9), Type::Bits(8));
        p.ingress.body.push(assign(p.standard.egress_spec, sum));
    }),
    ("256 does not fit bit<8>", |p| {
        let wide = binary(BinaryOp::Eq, konst(256, 8), konst(0, 8), Type::Bool);
        p.ingress.body.push(stmt(StmtKind::If { cond: wide, then: vec![], otherwise: vec![] }));
    }),
    ("no cast from bool to bit<2>", |p| {
        let cast = ExprKind::Cast(Box::new(Expr::boolean(true, span())));
        let e = Expr { kind: cast, ty: Type::Bits(2), span: span() };
        p.ingress.body.push(call(ExternFn::Truncate, vec![ExternArg::In(e)]));
    }),
    ("no bits 12..0 in bit<12>", |p| {
        let slot = p.headers[0].fields[0].slot;
        p.ingress.body.push(stmt(StmtKind::AssignSlice { slot, hi: 12, lo: 0, value: konst(0, 13) }));
    }),
    ("no parameter 0 here", |p| {
        let param = Expr { kind: ExprKind::Param(0), ty: Type::Bits(9), span: span() };
        p.ingress.body.push(assign(p.standard.egress_spec, param));
    }),
    ("must not stand here", |p| p.ingress.body.push(extract(HeaderId(0)))),
    ("must not stand here", |p| p.ingress.body.push(emit(HeaderId(0)))),
    ("must not stand here", |p| p.parser.states[0].body.push(apply(TableId(0)))),
    ("must not stand here", |p| p.actions[0].body.push(apply(TableId(0)))),
    ("no scope 1 around this", |p| p.ingress.body.push(stmt(StmtKind::Leave(1)))),
    ("label 1 is there twice", |p| {
        p.egress.body.push(stmt(StmtKind::Scope { label: 1, body: vec![] }));
    }),
    ("a size exactly for headers with a varbit", |p| p.parser.states[0].body.push(extract(HeaderId(1)))),
    ("an advance beyond its bound", |p| {
        p.parser.states[0].body.push(stmt(StmtKind::Advance { bits: konst(64, 32), bound: Some(63) }));
    }),
    ("field b is not at bit 12", |p| p.headers[0].fields[1].offset_bits = 11),
    ("its fixed size is 16 bits", |p| p.headers[0].fixed_bits = 8),
    ("is not what its kind", |p| p.headers[0].fields.swap(0, 1)),
    ("element 1 does not know it", |p| p.stacks[0].elements.swap(0, 1)),
    ("egress_spec must be a standard slot", |p| p.slots[p.standard.egress_spec.index()].ty = Type::Bits(16)),
    ("the first is not NoError", |p| p.errors.swap(0, 1)),
    ("the error PacketTooShort is not declared", |p| p.errors[1] = "Other".into()),
    ("entry 0: value does not fit", |p| {
        p.tables[0].entries[0].matches = vec![ternary(0x1000, 0x1000)];
    }),
    ("entry 1 is there twice", |p| {
        let again = p.tables[0].entries[0].clone();
        p.tables[0].entries.push(again);
    }),
    ("default action: the action has 1 parameters", |p| {
        p.tables[0].default_action.action = ActionId(0);
    }),
    ("another has this name", |p| p.actions[1].name = "fwd".into()),
    ("0x1000001 of t is no id of a table", |p| p.tables[0].id = Some(P4Id(0x0100_0001))),
    ("0x1000001 of NoAction is there twice", |p| {
        p.actions.iter_mut().for_each(|a| a.id = Some(P4Id(0x0100_0001)));
    }),
    ("not one set for each key", |p| {
        if let Transition::Select { cases, .. } = &mut p.parser.states[0].transition {
            cases[0].sets.push(KeySet::Any);
        }
    }),
    ("is no set of bit<12>", |p| {
        if let Transition::Select { cases, .. } = &mut p.parser.states[0].transition {
            cases[0].sets = vec![KeySet::Value(0x1000u32.into())];
        }
    }),
    ("malformed call of RegisterWrite", |p| {
        let index = || ExternArg::In(konst(0, 32));
        p.ingress.body.push(call(ExternFn::RegisterWrite(ExternId(0)), vec![index(), index()]));
    }),
    ("malformed call of Random", |p| {
        let (result, bound) = (ExternArg::Out(p.standard.egress_spec), |width| ExternArg::In(konst(0, width)));
        p.ingress.body.push(call(ExternFn::Random, vec![result, bound(9), bound(8)]));
    }),
    ("malformed call of CounterCount", |p| {
        p.ingress.body.push(call(ExternFn::CounterCount(ExternId(0)), vec![ExternArg::In(konst(0, 32))]));
    }),
    ("different fields", |p| {
        p.ingress.body.push(stmt(StmtKind::CopyHeader { dst: HeaderId(0), src: HeaderId(1) }));
    }),
];

#[test]
fn every_broken_invariant_is_found() {
    for (message, change) in BROKEN {
        let mut p = rich();
        change(&mut p);
        let errors = verify(&p).expect_err(message);
        assert!(
            errors.iter().any(|e| e.to_string().contains(message)),
            "expected `{message}`, found {:#?}",
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
    }
}
