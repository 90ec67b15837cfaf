//! What the interpreter does with packets: parser errors, headers, tables, externs, the v1model switch.

use std::sync::Arc;

use crate::builder::*;
use hopwright_interp::*;
use hopwright_ir::*;
use num_bigint::BigUint;

const B8: Type = Type::Bits(8);

fn interp(p: Pipeline) -> Interp {
    Interp::new(Arc::new(p)).unwrap()
}

fn ports(output: &Output) -> Vec<u16> {
    output.sent.iter().map(|s| s.port).collect()
}

/// Parses `h` of two bytes and emits it.
fn with_header(p: &mut Pipeline) -> HeaderId {
    let h = header(p, "h", &[("a", B8), ("b", B8)]);
    p.parser.states[0].body.push(extract(h));
    p.deparser.body.push(emit(h));
    h
}

#[test]
fn an_unchanged_packet_goes_to_the_preset_port_0() {
    let mut p = pipeline();
    with_header(&mut p);
    let out = interp(p).process(&[1, 2, 3], 5, 0);
    assert_eq!(out.verdict, Verdict::Forward);
    assert_eq!((out.sent[0].port, &out.sent[0].bytes[..]), (0, &[1, 2, 3][..]));
}

#[test]
fn a_failed_extract_consumes_nothing_and_the_packet_goes_on() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let seen = meta(&mut p, "seen", Type::Bits(16));
    let error = read(&p, p.standard.parser_error);
    p.ingress.body = vec![assign(seen, error), send_to(&p, 3)];
    let valid = read(&p, p[h].valid);
    let drop = send_to(&p, 511);
    p.ingress.body.push(stmt(StmtKind::If { cond: valid, then: vec![drop], otherwise: vec![] }));
    let out = interp(p).process(&[9], 0, 0);
    assert_eq!(out.parser_error, PACKET_TOO_SHORT);
    assert_eq!(ports(&out), [3]);
    assert_eq!(out.sent[0].bytes, [9]);
}

#[test]
fn varbit_errors_come_in_bmv2_order_and_lengths_survive_copies() {
    let mut p = pipeline();
    let h = header(&mut p, "h", &[("n", B8), ("opts", Type::Varbit(32)), ("z", B8)]);
    let copy = header(&mut p, "copy", &[("n", B8), ("opts", Type::Varbit(32)), ("z", B8)]);
    let look = meta(&mut p, "n", B8);
    p.parser.states[0].body = vec![stmt(StmtKind::Lookahead { total_bits: 8, parts: vec![(look, 0)] })];
    let bits = Expr { kind: ExprKind::Cast(Box::new(read(&p, look))), ty: Type::Bits(32), span: span() };
    p.parser.states[0].body.push(stmt(StmtKind::Extract { header: h, varbit_bits: Some(bits) }));
    p.ingress.body = vec![stmt(StmtKind::CopyHeader { dst: copy, src: h })];
    p.deparser.body = vec![emit(h), emit(copy)];
    let mut i = interp(p);
    // 16 bits of options, then z, then one byte of payload.
    let out = i.process(&[16, 0xaa, 0xbb, 0x7e, 0x99], 0, 0);
    let h = [16, 0xaa, 0xbb, 0x7e];
    assert_eq!(out.sent[0].bytes, [&h[..], &h[..], &[0x99]].concat());
    let error = |packet: &[u8], i: &mut Interp| i.process(packet, 0, 0).parser_error;
    assert_eq!(error(&[12], &mut i), INVALID_ARGUMENT);
    assert_eq!(error(&[40, 0, 0], &mut i), PACKET_TOO_SHORT);
    assert_eq!(error(&[40, 0, 0, 0, 0, 0, 0], &mut i), HEADER_TOO_SHORT);
    assert_eq!(error(&[], &mut i), PACKET_TOO_SHORT);
}

#[test]
fn select_takes_the_first_case_and_accepts_without_one() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let second = header(&mut p, "s", &[("x", B8)]);
    p.deparser.body.push(emit(second));
    let a = read(&p, field(&p, h, 0));
    let b = read(&p, field(&p, h, 1));
    let signed = Expr { kind: ExprKind::Cast(Box::new(b)), ty: Type::Int(8), span: span() };
    let case = |sets, target| SelectCase { sets, target, span: span() };
    let set = |v: u32| BigUint::from(v);
    p.value_sets.push(ValueSet { name: "vs".into(), id: None, types: vec![B8, B8], size: 4, span: span() });
    p.parser.states[0].transition = Transition::Select {
        keys: vec![a, signed],
        cases: vec![
            case(vec![KeySet::ValueSet(ValueSetId(0))], Target::Reject),
            case(vec![KeySet::Mask(set(0x10), set(0xf0)), KeySet::Range(set(0xfe), set(1))], Target::State(StateId(1))),
        ],
    };
    p.parser.states.push(State {
        name: "second".into(),
        body: vec![
            extract(second),
            stmt(StmtKind::Verify(Expr::boolean(false, span()), konst(5, 16))),
            extract(second),
        ],
        transition: Transition::Goto(Target::Accept),
        span: span(),
    });
    let mut i = interp(p);
    // -2 .. 1 holds -1.
    assert_eq!(i.process(&[0x1f, 0xff, 7, 8], 0, 0).parser_error, 5);
    assert_eq!(i.process(&[0x1f, 0x02, 7], 0, 0).parser_error, 0);
    assert_eq!(i.process(&[0x2f, 0x00, 7], 0, 0).parser_error, 0);
    let any = ternary(0, 0);
    i.store.set_value_set(ValueSetId(0), vec![vec![MatchValue::Exact(set(0x1f)), any]]).unwrap();
    assert_eq!(i.process(&[0x1f, 0xff, 7], 0, 0).parser_error, 0);
    let wrong = vec![vec![MatchValue::Exact(set(0x100)), ternary(0, 0)]];
    assert!(i.store.set_value_set(ValueSetId(0), wrong).is_err());
}

#[test]
fn stacks_fill_overflow_push_and_pop() {
    let mut p = pipeline();
    let s = stack(&mut p, "s", 2, &[("v", B8)]);
    let n = meta(&mut p, "n", B8);
    let next = || stmt(StmtKind::ExtractNext { stack: s, varbit_bits: None });
    p.parser.states[0].body = vec![next(), next()];
    let look = stmt(StmtKind::Lookahead { total_bits: 8, parts: vec![(n, 0)] });
    p.parser.states[0].body.insert(2, look);
    let zero = konst(0, 8);
    let third = stmt(StmtKind::If {
        cond: binary(BinaryOp::Eq, read(&p, n), zero, Type::Bool),
        then: vec![next()],
        otherwise: vec![],
    });
    p.parser.states[0].body.push(third);
    let elements = p[s].elements.clone();
    for &e in &elements {
        p.deparser.body.push(emit(e));
    }
    let choose = |p: &Pipeline, value: u64, then: StmtKind| {
        stmt(StmtKind::If {
            cond: binary(BinaryOp::Eq, read(p, n), konst(value, 8), Type::Bool),
            then: vec![stmt(then)],
            otherwise: vec![],
        })
    };
    p.ingress.body = vec![
        choose(&p, 1, StmtKind::PushFront(s, 1)),
        choose(&p, 2, StmtKind::PopFront(s, 1)),
        choose(&p, 3, StmtKind::PushFront(s, 5)),
    ];
    let mut i = interp(p);
    let mut sent = |packet: &[u8]| i.process(packet, 0, 0).sent[0].bytes.clone();
    // The pushed element is invalid, the last one fell out.
    assert_eq!(sent(&[7, 8, 1]), [7, 1]);
    assert_eq!(sent(&[7, 8, 2]), [8, 2]);
    assert_eq!(sent(&[7, 8, 3]), [3]);
    assert_eq!(sent(&[7, 8, 9]), [7, 8, 9]);
    let out = i.process(&[7, 8, 0], 0, 0);
    assert_eq!(out.parser_error, STACK_OUT_OF_BOUNDS);
    assert_eq!(out.sent[0].bytes, [7, 8, 0]);
}

#[test]
fn set_valid_zeroes_only_an_invalid_header() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    p.ingress.body = vec![stmt(StmtKind::SetValid(h))];
    assert_eq!(interp(p.clone()).process(&[1, 2], 0, 0).sent[0].bytes, [1, 2]);
    p.ingress.body.insert(0, stmt(StmtKind::SetInvalid(h)));
    assert_eq!(interp(p).process(&[1, 2], 0, 0).sent[0].bytes, [0, 0]);
}

/// Ingress applies `t` on field `a` of `h`, actions `fwd(port)` and `drop()`.
fn forwarding(kinds: &[MatchKind]) -> (Pipeline, TableId, ActionId) {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let spec = p.standard.egress_spec;
    let port = Expr { kind: ExprKind::Param(0), ty: Type::Bits(9), span: span() };
    let fwd = action(&mut p, "fwd", &[("port", 9)], vec![assign(spec, port)]);
    let body = vec![send_to(&p, 511)];
    let drop = action(&mut p, "drop", &[], body);
    let keys = kinds.iter().enumerate().map(|(i, &k)| (field(&p, h, i), k)).collect();
    let t = table(&mut p, "MyIngress.t", keys, &[fwd, drop], drop);
    p.ingress.body.push(apply(t));
    (p, t, fwd)
}

#[test]
fn the_longest_prefix_wins_whatever_the_order() {
    let (p, t, fwd) = forwarding(&[MatchKind::Lpm, MatchKind::Exact]);
    let mut i = interp(p);
    let exact = |v: u32| MatchValue::Exact(v.into());
    i.store.insert(t, entry(vec![lpm(0, 0), exact(1)], 0, fwd, &[1])).unwrap();
    i.store.insert(t, entry(vec![lpm(0xf0, 4), exact(1)], 0, fwd, &[2])).unwrap();
    i.store.insert(t, entry(vec![lpm(0xc0, 2), exact(1)], 0, fwd, &[3])).unwrap();
    assert_eq!(ports(&i.process(&[0xff, 1], 0, 0)), [2]);
    assert_eq!(ports(&i.process(&[0xcf, 1], 0, 0)), [3]);
    assert_eq!(ports(&i.process(&[0x00, 1], 0, 0)), [1]);
    let miss = i.process(&[0xff, 2], 0, 0);
    assert_eq!((miss.verdict, miss.sent.len()), (Verdict::Drop, 0));
}

#[test]
fn priority_decides_among_ternary_entries_then_age() {
    let (p, t, fwd) = forwarding(&[MatchKind::Ternary]);
    let mut i = interp(p);
    i.store.insert(t, entry(vec![ternary(0x01, 0x01)], 5, fwd, &[1])).unwrap();
    i.store.insert(t, entry(vec![ternary(0x02, 0x02)], 5, fwd, &[2])).unwrap();
    i.store.insert(t, entry(vec![ternary(0x04, 0x04)], 9, fwd, &[3])).unwrap();
    assert_eq!(ports(&i.process(&[3, 0], 0, 0)), [1]);
    assert_eq!(ports(&i.process(&[7, 0], 0, 0)), [3]);
    i.store.modify(t, entry(vec![ternary(0x04, 0x04)], 9, fwd, &[4])).unwrap();
    assert_eq!(ports(&i.process(&[7, 0], 0, 0)), [4]);
    i.store.delete(t, &[ternary(0x04, 0x04)], 9).unwrap();
    assert_eq!(ports(&i.process(&[7, 0], 0, 0)), [1]);
    i.store.clear(t).unwrap();
    assert_eq!(i.process(&[7, 0], 0, 0).verdict, Verdict::Drop);
}

#[test]
fn range_and_optional_keys() {
    let (p, t, fwd) = forwarding(&[MatchKind::Range, MatchKind::Optional]);
    let mut i = interp(p);
    let range = |lo: u32, hi: u32| MatchValue::Range { lo: lo.into(), hi: hi.into() };
    let seven = MatchValue::Optional(Some(7u32.into()));
    i.store.insert(t, entry(vec![range(10, 20), seven], 2, fwd, &[1])).unwrap();
    i.store.insert(t, entry(vec![range(0, 15), MatchValue::Optional(None)], 1, fwd, &[2])).unwrap();
    assert_eq!(ports(&i.process(&[10, 7], 0, 0)), [1]);
    assert_eq!(ports(&i.process(&[20, 7], 0, 0)), [1]);
    assert_eq!(ports(&i.process(&[10, 8], 0, 0)), [2]);
    assert_eq!(i.process(&[21, 7], 0, 0).verdict, Verdict::Drop);
    assert_eq!(
        i.store.insert(t, entry(vec![range(9, 8), MatchValue::Optional(None)], 1, fwd, &[2])),
        Err(ControlError::Entry(entry::EntryError::BadRange { key: "h.a".into() }))
    );
}

#[test]
fn the_control_plane_is_told_what_is_wrong() {
    let (mut p, t, fwd) = forwarding(&[MatchKind::Lpm]);
    p.tables[t.index()].size = 2;
    let drop = ActionId(1);
    p.tables[t.index()].actions[1].default_only = true;
    let mut i = interp(p.clone());
    let mut insert = |e| i.store.insert(t, e);
    assert_eq!(insert(entry(vec![lpm(0x80, 1)], 0, fwd, &[1])), Ok(()));
    assert_eq!(insert(entry(vec![lpm(0x80, 1)], 0, fwd, &[2])), Err(ControlError::Duplicate));
    let illegal = [
        entry(vec![lpm(0x180, 1)], 0, fwd, &[1]),
        entry(vec![lpm(0xc0, 1)], 0, fwd, &[1]),
        entry(vec![lpm(0, 9)], 0, fwd, &[1]),
        entry(vec![ternary(0, 0)], 0, fwd, &[1]),
        entry(vec![], 0, fwd, &[1]),
        entry(vec![lpm(0, 0)], 1, fwd, &[1]),
        entry(vec![lpm(0, 0)], 0, fwd, &[]),
        entry(vec![lpm(0, 0)], 0, fwd, &[512]),
        entry(vec![lpm(0, 0)], 0, drop, &[]),
        entry(vec![lpm(0, 0)], 0, ActionId(7), &[]),
    ];
    for e in illegal {
        let result = insert(e.clone());
        assert!(matches!(result, Err(ControlError::Entry(_))), "{e:?}: {result:?}");
    }
    assert_eq!(insert(entry(vec![lpm(0, 0)], 0, fwd, &[1])), Ok(()));
    assert_eq!(insert(entry(vec![lpm(0, 1)], 0, fwd, &[1])), Err(ControlError::Full));
    assert_eq!(i.store.delete(t, &[lpm(0, 8)], 0), Err(ControlError::NotFound));
    let default = ActionCall { action: fwd, args: vec![6u32.into()] };
    i.store.clear(t).unwrap();
    i.store.set_default(t, Some(default.clone())).unwrap();
    assert_eq!(ports(&i.process(&[1, 1], 0, 0)), [6]);
    i.store.set_default(t, None).unwrap();
    assert_eq!(i.process(&[1, 1], 0, 0).verdict, Verdict::Drop);

    p.tables[t.index()].const_entries = true;
    p.tables[t.index()].const_default_action = true;
    let mut i = interp(p);
    assert_eq!(i.store.clear(t), Err(ControlError::Constant));
    assert_eq!(i.store.set_default(t, Some(default)), Err(ControlError::Constant));
    assert!(i.store.insert(TableId(9), entry(vec![], 0, fwd, &[])).is_err());
}

#[test]
fn counters_and_registers_ignore_indices_beyond_their_size() {
    let (mut p, t, fwd) = forwarding(&[MatchKind::Exact]);
    let counter = object(&mut p, "c", ExternKind::Counter { size: 4, unit: Unit::Both });
    let register = object(&mut p, "r", ExternKind::Register { size: 4, ty: B8 });
    let index = |p: &Pipeline| ExternArg::In(read(p, SlotId(p.headers[0].fields[1].slot.0)));
    let value = ExternArg::In(read(&p, p.headers[0].fields[0].slot));
    let out = p.headers[0].fields[0].slot;
    p.ingress.body.extend([
        call(ExternFn::CounterCount(counter), vec![index(&p)]),
        call(ExternFn::RegisterWrite(register), vec![index(&p), value]),
        assign(out, konst(0xee, 8)),
        call(ExternFn::RegisterRead(register), vec![ExternArg::Out(out), index(&p)]),
    ]);
    let mut i = interp(p);
    i.store.insert(t, entry(vec![MatchValue::Exact(9u32.into())], 0, fwd, &[1])).unwrap();
    assert_eq!(i.process(&[9, 3, 0], 0, 0).sent[0].bytes, [9, 3, 0]);
    assert_eq!(i.process(&[9, 4], 0, 0).sent[0].bytes, [0xee, 4]);
    assert_eq!(i.store.counter(counter, 3), Ok(Count { packets: 1, bytes: 3 }));
    assert_eq!(i.store.counter(counter, 0), Ok(Count::default()));
    assert_eq!(i.store.counter(counter, 4), Err(ControlError::Index { size: 4 }));
    assert_eq!(i.store.register(register, 3), Ok(9u32.into()));
    i.store.set_register(register, 3, 0x42u32.into()).unwrap();
    assert_eq!(i.store.register(register, 3), Ok(0x42u32.into()));
    assert_eq!(i.store.set_register(register, 3, 0x100u32.into()), Err(ControlError::TooWide { width: 8 }));
    assert!(i.store.register(counter, 0).is_err());
    assert_eq!(i.store.entries(t).next().unwrap().1, Count { packets: 2, bytes: 5 });
}

#[test]
fn objects_that_no_memory_holds_are_refused() {
    let mut p = pipeline();
    object(&mut p, "r", ExternKind::Register { size: 1 << 32, ty: B8 });
    let error = Interp::new(Arc::new(p)).err().unwrap();
    assert_eq!(error.to_string(), "r: more than 16777216 cells are not supported yet");
}

#[test]
fn checksums_verify_and_update() {
    let mut p = pipeline();
    let h = header(&mut p, "h", &[("a", Type::Bits(16)), ("sum", Type::Bits(16))]);
    p.parser.states[0].body.push(extract(h));
    p.deparser.body.push(emit(h));
    let (a, sum) = (field(&p, h, 0), field(&p, h, 1));
    let valid = || ExternArg::In(Expr::boolean(true, span()));
    let data = ExternArg::List(vec![read(&p, a)]);
    p.verify_checksum.body = vec![call(
        ExternFn::VerifyChecksum { algorithm: HashAlgorithm::Csum16, payload: true },
        vec![valid(), data.clone(), ExternArg::In(read(&p, sum))],
    )];
    let bad = read(&p, p.standard.checksum_error);
    let spec = p.standard.egress_spec;
    p.ingress.body = vec![assign(spec, Expr { kind: ExprKind::Cast(Box::new(bad)), ty: Type::Bits(9), span: span() })];
    p.compute_checksum.body = vec![call(
        ExternFn::UpdateChecksum { algorithm: HashAlgorithm::Csum16, payload: true },
        vec![valid(), data, ExternArg::InOut(sum)],
    )];
    let mut i = interp(p);
    let out = i.process(&[0x12, 0x34, 0, 0, 0x01], 0, 0);
    assert_eq!(ports(&out), [1]);
    let sum = !(0x1234u16 + 0x0100);
    assert_eq!(out.sent[0].bytes[2..4], sum.to_be_bytes());
    let again = i.process(&out.sent[0].bytes, 0, 0);
    assert_eq!(ports(&again), [0]);
    assert_eq!(again.sent[0].bytes, out.sent[0].bytes);
}

#[test]
fn endless_loops_and_failed_assertions_are_faults() {
    let mut p = pipeline();
    p.parser.states[0].transition = Transition::Goto(Target::State(StateId(0)));
    let out = interp(p).process(&[], 0, 0);
    assert_eq!(out.verdict, Verdict::Fault);
    assert!(out.fault.unwrap().message.contains("65536"));

    let mut p = pipeline();
    p.ingress.body = vec![stmt(StmtKind::Loop { body: vec![], bound: None })];
    assert_eq!(interp(p).process(&[], 0, 0).verdict, Verdict::Fault);

    let mut p = pipeline();
    let no = ExternArg::In(Expr::boolean(false, span()));
    p.egress.body = vec![call(ExternFn::Assert, vec![no])];
    let out = interp(p).process(&[1], 0, 0);
    assert_eq!((out.verdict, out.sent.len()), (Verdict::Fault, 0));
    assert_eq!(out.fault.unwrap().message, "assertion failed");
}

#[test]
fn loops_scopes_switches_and_exit() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let (a, b) = (field(&p, h, 0), field(&p, h, 1));
    // b = 0; while (a != 0) { if (a == 3) exit; a--; b += 2 }
    let is = |p: &Pipeline, v| binary(BinaryOp::Eq, read(p, a), konst(v, 8), Type::Bool);
    let body = vec![
        stmt(StmtKind::Switch {
            value: read(&p, a),
            cases: vec![
                (vec![0u32.into(), 200u32.into()], vec![stmt(StmtKind::Leave(1))]),
                (vec![3u32.into()], vec![stmt(StmtKind::Exit)]),
            ],
            default: vec![],
        }),
        stmt(StmtKind::If { cond: is(&p, 0), then: vec![assign(b, konst(0xff, 8))], otherwise: vec![] }),
        assign(a, binary(BinaryOp::Sub, read(&p, a), konst(1, 8), B8)),
        assign(b, binary(BinaryOp::Add, read(&p, b), konst(2, 8), B8)),
    ];
    p.ingress.body = vec![
        stmt(StmtKind::Scope { label: 1, body: vec![stmt(StmtKind::Loop { body, bound: None })] }),
        send_to(&p, 4),
    ];
    let mut i = interp(p);
    let out = i.process(&[2, 0], 0, 0);
    assert_eq!((out.sent[0].port, &out.sent[0].bytes[..]), (4, &[0, 4][..]));
    let out = i.process(&[200, 0], 0, 0);
    assert_eq!((out.sent[0].port, &out.sent[0].bytes[..]), (4, &[200, 0][..]));
    // Exit ends ingress only; the packet goes on.
    let out = i.process(&[5, 0], 0, 0);
    assert_eq!((out.sent[0].port, &out.sent[0].bytes[..]), (0, &[3, 4][..]));
}

#[test]
fn multicast_clone_resubmit_and_recirculate() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let (a, b) = (field(&p, h, 0), field(&p, h, 1));
    let kept = meta(&mut p, "kept", B8);
    let lost = meta(&mut p, "lost", B8);
    p.field_lists.push(FieldList { index: 3, slots: vec![kept] });
    let standard = p.standard;
    let when = |p: &Pipeline, v: u64, instance: u64, then: Block| {
        let first = binary(BinaryOp::Eq, read(p, a), konst(v, 8), Type::Bool);
        let normal = binary(BinaryOp::Eq, read(p, standard.instance_type), konst(instance, 32), Type::Bool);
        stmt(StmtKind::If { cond: binary(BinaryOp::LogicalAnd, first, normal, Type::Bool), then, otherwise: vec![] })
    };
    let session = || vec![ExternArg::In(konst(7, 32))];
    let copied = |egress| call(ExternFn::Clone { egress, field_list: Some(3) }, session());
    p.ingress.body = vec![
        when(&p, 1, 0, vec![assign(p.standard.mcast_grp, konst(2, 16))]),
        when(
            &p,
            2,
            0,
            vec![
                assign(kept, konst(0x11, 8)),
                assign(lost, konst(0x22, 8)),
                copied(false),
                assign(b, konst(0x33, 8)),
                send_to(&p, 1),
            ],
        ),
        when(&p, 3, 0, vec![assign(kept, konst(0x44, 8)), call(ExternFn::Resubmit(3), vec![])]),
        when(&p, 3, 6, vec![assign(b, read(&p, kept)), send_to(&p, 6)]),
        when(&p, 4, 0, vec![assign(b, konst(0x55, 8)), send_to(&p, 2)]),
        when(&p, 4, 4, vec![send_to(&p, 9)]),
    ];
    p.egress.body = vec![
        when(
            &p,
            1,
            5,
            vec![assign(b, {
                Expr { kind: ExprKind::Cast(Box::new(read(&p, p.standard.egress_rid))), ty: B8, span: span() }
            })],
        ),
        when(&p, 2, 1, vec![assign(b, binary(BinaryOp::Add, read(&p, kept), read(&p, lost), B8))]),
        when(&p, 4, 0, vec![call(ExternFn::Recirculate(3), vec![])]),
        when(&p, 5, 0, vec![assign(b, konst(0x66, 8)), copied(true)]),
    ];
    let mut i = interp(p);
    i.store.traffic.groups.insert(2, vec![Replica { rid: 8, port: 3 }, Replica { rid: 9, port: 4 }]);
    let sent = |i: &mut Interp, packet: &[u8]| -> Vec<(u16, Vec<u8>)> {
        let out = i.process(packet, 0, 0);
        out.sent.into_iter().map(|s| (s.port, s.bytes)).collect()
    };
    assert_eq!(sent(&mut i, &[1, 0, 9]), [(3, vec![1, 8, 9]), (4, vec![1, 9, 9])]);
    // Without the session there is no copy.
    assert_eq!(sent(&mut i, &[2, 0]), [(1, vec![2, 0x33])]);
    let session = CloneSession { port: Some(20), group: None, truncate: None };
    i.store.traffic.sessions.insert(7, session);
    // The clone is the packet as received; it keeps only the listed field.
    assert_eq!(sent(&mut i, &[2, 0]), [(20, vec![2, 0x11]), (1, vec![2, 0x33])]);
    assert_eq!(sent(&mut i, &[3, 0]), [(6, vec![3, 0x44])]);
    assert_eq!(sent(&mut i, &[4, 0]), [(9, vec![4, 0x55])]);
    assert_eq!(sent(&mut i, &[5, 0]), [(0, vec![5, 0x66]), (20, vec![5, 0x66])]);
}

#[test]
fn truncate_random_digest_and_hash() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let (a, b) = (field(&p, h, 0), field(&p, h, 1));
    let r = meta(&mut p, "r", B8);
    p.ingress.body = vec![
        call(ExternFn::Random, vec![ExternArg::Out(r), ExternArg::In(konst(5, 8)), ExternArg::In(konst(5, 8))]),
        call(ExternFn::Random, vec![ExternArg::Out(r), ExternArg::In(konst(7, 8)), ExternArg::In(konst(6, 8))]),
        call(
            ExternFn::Digest("d_t".into()),
            vec![ExternArg::In(konst(1, 32)), ExternArg::List(vec![read(&p, a), read(&p, r)])],
        ),
        call(
            ExternFn::Hash(HashAlgorithm::Identity),
            vec![
                ExternArg::Out(b),
                ExternArg::In(konst(0x10, 8)),
                ExternArg::List(vec![read(&p, a)]),
                ExternArg::In(konst(16, 8)),
            ],
        ),
        call(ExternFn::Truncate, vec![ExternArg::In(konst(3, 32))]),
    ];
    let out = interp(p).process(&[0x2a, 0, 1, 2, 3], 0, 0);
    assert_eq!(out.sent[0].bytes, [0x2a, 0x1a, 1]);
    let digest = Digest { name: "d_t".into(), receiver: 1, data: vec![Value::new(0x2au32, 8), Value::new(5u32, 8)] };
    assert_eq!(out.digests, [digest]);
}

struct Adder(BigUint);

impl ExternModel for Adder {
    fn call(&mut self, method: &str, args: &mut [Value]) -> Result<(), ExternError> {
        match (method, args) {
            ("add", [x, sum]) => {
                *sum = Value::new(&x.bits + &self.0, sum.width);
                Ok(())
            }
            _ => Err("no such method".into()),
        }
    }

    fn control(&mut self, _: &str, data: &[u8]) -> Result<(), ExternError> {
        self.0 = BigUint::from_bytes_be(data);
        Ok(())
    }
}

#[test]
fn named_externs_come_from_the_registry() {
    let mut p = pipeline();
    let h = with_header(&mut p);
    let (a, b) = (field(&p, h, 0), field(&p, h, 1));
    let adder = object(&mut p, "adder", ExternKind::Named { type_name: "Adder".into(), args: vec![3u32.into()] });
    let method = |name: &str| ExternFn::Named { instance: Some(adder), name: name.into(), no_side_effects: false };
    let args = vec![ExternArg::In(read(&p, a)), ExternArg::Out(b)];
    p.ingress.body = vec![call(method("add"), args.clone())];
    assert!(Interp::new(Arc::new(p.clone())).is_err());
    let mut registry = ExternRegistry::new();
    registry.add_type("Adder", |args| Ok(Box::new(Adder(args[0].clone()))));
    let mut i = Interp::with_externs(Arc::new(p.clone()), &registry).unwrap();
    assert_eq!(i.process(&[250, 0], 0, 0).sent[0].bytes, [250, 253]);
    i.named_extern(adder).unwrap().control("addend", &[7]).unwrap();
    assert_eq!(i.process(&[250, 0], 0, 0).sent[0].bytes, [250, 1]);

    p.ingress.body = vec![call(method("subtract"), args)];
    let mut i = Interp::with_externs(Arc::new(p), &registry).unwrap();
    assert_eq!(i.process(&[0, 0], 0, 0).fault.unwrap().message, "subtract: no such method");
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Observer for Lines {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::Table { keys, entry, .. } => format!("table {} {}", keys[0], entry.is_some()),
            Event::Assign { slot, old, new, .. } => format!("{} {old} -> {new}", slot.0),
            Event::Extract { offset, length, .. } => format!("extract {offset}+{length}"),
            Event::Log { message, .. } => message.to_string(),
            Event::Decision(d) => format!("{d:?}"),
            _ => return,
        });
    }
}

#[test]
fn an_observer_sees_what_happens() {
    let (mut p, t, fwd) = forwarding(&[MatchKind::Exact]);
    let a = read(&p, p.headers[0].fields[0].slot);
    p.ingress.body.push(call(ExternFn::LogMsg("a = {}, {}".into()), vec![ExternArg::List(vec![a])]));
    let spec = p.standard.egress_spec.0;
    let mut i = interp(p);
    i.store.insert(t, entry(vec![MatchValue::Exact(9u32.into())], 0, fwd, &[3])).unwrap();
    let mut lines = Lines::default();
    i.process_observed(&[9, 0], 0, 0, &mut lines);
    assert_eq!(
        lines.0,
        [
            "extract 0+2",
            "table 0x9 true",
            &format!("{spec} 0x0 -> 0x3"),
            "a = 9, {}",
            "Unicast { port: 3 }",
            "Sent { port: 3, length: 2 }",
        ]
    );
}
