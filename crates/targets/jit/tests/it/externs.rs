//! Counters, registers, hashes, checksums and named externs mean the same to generated code and to the interpreter.

use std::ffi::c_void;
use std::sync::Arc;

use crate::harness::build::*;
use crate::harness::{self, HEADROOM, Machine, hex, number, same};
use hopwright_abi::Direction;
use hopwright_interp::{ExternError, ExternRegistry, Interp, Value};
use hopwright_ir::*;
use num_bigint::BigUint;

fn call(function: ExternFn, args: Vec<ExternArg>) -> Stmt {
    stmt(StmtKind::Extern(ExternCall { function, args, span: span() }))
}

fn object(p: &mut Pipeline, kind: ExternKind) -> ExternId {
    let name = format!("e{}", p.externs.len());
    p.externs.push(ExternInstance {
        name,
        id: None,
        kind,
        concurrent: false,
        initial: Default::default(),
        span: span(),
    });
    ExternId(p.externs.len() as u32 - 1)
}

/// A program that parses one header with these fields and sends it on.
fn with_header(types: &[Type]) -> (Pipeline, HeaderId) {
    let mut p = pipeline();
    let h = header(&mut p, "h", types);
    p.parser.states[0].body.push(extract(h));
    p.deparser.body.push(emit(h));
    (p, h)
}

fn in_field(p: &Pipeline, h: HeaderId, f: usize) -> ExternArg {
    ExternArg::In(slot(p, field(p, h, f)))
}

#[test]
fn counters_and_registers_keep_within_their_size() {
    let (mut p, h) = with_header(&[Type::Bits(32), Type::Bits(72), Type::Bits(72)]);
    let counter = object(&mut p, ExternKind::Counter { size: 3, unit: Unit::Both });
    let register = object(&mut p, ExternKind::Register { size: 4, ty: Type::Bits(72) });
    let index = in_field(&p, h, 0);
    let (old, new) = (field(&p, h, 2), in_field(&p, h, 1));
    p.ingress.body = vec![
        call(ExternFn::CounterCount(counter), vec![index.clone()]),
        call(ExternFn::RegisterRead(register), vec![ExternArg::Out(old), index.clone()]),
        call(ExternFn::RegisterWrite(register), vec![index, new]),
    ];
    let mut machine = Machine::new(&p).unwrap();
    let mut interp = Interp::new(Arc::new(p.clone())).unwrap();
    let packet = |index: u32, value: u8| {
        let mut b = index.to_be_bytes().to_vec();
        b.extend([value; 9]);
        b.extend([0x77; 9 + 5]);
        b
    };
    let packets: Vec<Vec<u8>> =
        [(0, 1), (2, 2), (2, 3), (3, 4), (3, 5), (4, 6), (u32::MAX, 7), (0, 8)].map(|(i, v)| packet(i, v)).to_vec();
    let views: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    for (packet, outcome) in packets.iter().zip(machine.run(&views, 0, 0, HEADROOM)) {
        same(&outcome, &interp.process(packet, 0, 0), packet).unwrap();
    }
    for i in 0..3 {
        let expected = interp.store.counter(counter, i as u64).unwrap();
        assert_eq!(machine.cells(0)[2 * i..][..2], [expected.packets, expected.bytes], "cell {i}");
    }
    assert_eq!(interp.store.counter(counter, 2).unwrap().packets, 2);
    for i in 0..4 {
        let expected = interp.store.register(register, i as u64).unwrap();
        assert_eq!(number(&machine.cells(1)[2 * i..][..2]), expected, "register {i}");
    }
}

#[test]
fn direct_counters_count_hits() {
    let (mut p, h) = with_header(&[Type::Bits(8)]);
    let counter = object(&mut p, ExternKind::DirectCounter { table: Some(TableId(0)), unit: Unit::Both });
    p.actions.push(Action { name: "a".into(), id: None, params: Vec::new(), body: Vec::new(), span: span() });
    let action = ActionCall { action: ActionId(0), args: Vec::new() };
    let entry = |v: u32| TableEntry {
        matches: vec![MatchValue::Exact(v.into())],
        priority: 0,
        action: ActionCall { action: ActionId(0), args: Vec::new() },
    };
    p.tables.push(Table {
        name: "t".into(),
        id: None,
        keys: vec![Key { name: "k".into(), expr: slot(&p, field(&p, h, 0)), kind: MatchKind::Exact }],
        actions: vec![TableAction { action: ActionId(0), table_only: false, default_only: false }],
        default_action: action,
        const_default_action: true,
        entries: vec![entry(1), entry(2)],
        const_entries: true,
        size: 2,
        implementation: None,
        direct_counter: Some(counter),
        direct_meter: None,
        entry_cells: Vec::new(),
        idle_timeout: false,
        span: span(),
    });
    p.ingress.body = vec![stmt(StmtKind::Apply { table: TableId(0), hit: None, action_run: None })];
    let mut machine = Machine::new(&p).unwrap();
    machine.run(&[&[1, 0], &[2], &[3], &[1]], 0, 0, HEADROOM);
    let cell = |i| {
        let c = machine.direct_counter(TableId(0), i);
        (c.packets, c.bytes)
    };
    assert_eq!([cell(0), cell(1)], [(2, 3), (1, 1)]);
}

/// Lists of all alignments, so that the words of checksums fall everywhere.
const LISTS: &[&[u32]] = &[
    &[16],
    &[8],
    &[8, 16, 8],
    &[4, 4, 8, 16, 16, 3, 13, 8, 8, 16, 32, 32],
    &[128, 64, 48, 16],
    &[67, 5, 24],
    &[1, 6, 33, 128, 8, 48],
];

fn packets(length: usize) -> Vec<Vec<u8>> {
    let mut random = hash::Random::new(7);
    let mut out = vec![vec![0; length], vec![0xff; length], vec![0xff; length + 1]];
    for extra in 0..4 {
        out.push((0..length + extra).map(|_| random.next_u64() as u8).collect());
    }
    out
}

#[test]
fn hashes_and_checksums() {
    for list in LISTS {
        for algorithm in HashAlgorithm::ALL {
            for payload in [false, true] {
                let total: u32 = list.iter().sum();
                let mut types: Vec<Type> = list.iter().map(|&w| Type::Bits(w)).collect();
                types.push(Type::Bits((8 - total % 8) % 8 + 8));
                // Results: hash, updated checksum, the checksum to verify, condition.
                types.extend([Type::Bits(32), Type::Bits(16), Type::Bits(16), Type::Bits(8)]);
                let (mut p, h) = with_header(&types);
                let n = list.len();
                let data = ExternArg::List((0..n).map(|f| slot(&p, field(&p, h, f))).collect());
                let w = p[field(&p, h, n)].ty;
                let (base, max) = (
                    constant(3u32, Type::Bits(32)),
                    expr(ExprKind::Cast(Box::new(slot(&p, field(&p, h, n)))), Type::Bits(64)),
                );
                let _ = w;
                p.ingress.body = vec![call(
                    ExternFn::Hash(algorithm),
                    vec![ExternArg::Out(field(&p, h, n + 1)), ExternArg::In(base), data.clone(), ExternArg::In(max)],
                )];
                let condition = |p: &Pipeline| {
                    let bit = expr(
                        ExprKind::Slice { arg: Box::new(slot(p, field(p, h, n + 4))), hi: 0, lo: 0 },
                        Type::Bits(1),
                    );
                    expr(ExprKind::Cast(Box::new(bit)), Type::Bool)
                };
                p.verify_checksum.body = vec![call(
                    ExternFn::VerifyChecksum { algorithm, payload },
                    vec![ExternArg::In(condition(&p)), data.clone(), in_field(&p, h, n + 3)],
                )];
                p.compute_checksum.body = vec![call(
                    ExternFn::UpdateChecksum { algorithm, payload },
                    vec![ExternArg::In(condition(&p)), data, ExternArg::InOut(field(&p, h, n + 2))],
                )];
                // Whether it verified is seen in the port.
                let error = slot(&p, p.standard.checksum_error);
                let port = expr(ExprKind::Cast(Box::new(error)), Type::Bits(9));
                let spec = p.standard.egress_spec;
                p.ingress.body.push(assign(spec, port));
                let length = types.iter().map(|t| t.width()).sum::<u32>() as usize / 8;
                let mut all = packets(length);
                // Some that verify: the checksum is what the interpreter would write.
                let mut update = p.clone();
                update.verify_checksum.body.clear();
                let mut interp = Interp::new(Arc::new(update)).unwrap();
                for packet in packets(length) {
                    let sent = interp.process(&packet, 0, 0).sent.remove(0).bytes;
                    let at = length - 5;
                    let mut right = packet.clone();
                    right[at..at + 2].copy_from_slice(&sent[at - 2..at]);
                    all.push(right);
                }
                if let Err(e) = harness::compare(&p, &all) {
                    panic!("{algorithm:?} over {list:?}, payload {payload}: {e}");
                }
            }
        }
    }
}

#[test]
fn the_checksum_of_an_ipv4_header() {
    let mut types = [8, 8, 16, 16, 3, 13, 8, 8].map(Type::Bits).to_vec();
    types.extend([16, 32, 32].map(Type::Bits));
    let (mut p, h) = with_header(&types);
    let list = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10].map(|f| slot(&p, field(&p, h, f))).to_vec();
    p.compute_checksum.body = vec![call(
        ExternFn::UpdateChecksum { algorithm: HashAlgorithm::Csum16, payload: false },
        vec![ExternArg::In(Expr::boolean(true, span())), ExternArg::List(list), ExternArg::InOut(field(&p, h, 8))],
    )];
    let mut machine = Machine::new(&p).unwrap();
    // The example of https://en.wikipedia.org/wiki/Internet_checksum: the checksum is b861.
    let packet = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
    let sent = machine.run(&[&packet], 0, 0, HEADROOM).remove(0).bytes;
    assert_eq!(hex(&sent[10..12]), "b861");
}

/// `twist(in bit<72> a, inout bit<8> b, out bit<16> c)`: method 1 adds one more to `c`.
unsafe extern "C" fn twist(_: *mut c_void, method: u32, args: *mut u64) {
    // SAFETY: two limbs for `a`, one each for `b` and `c`.
    let args = unsafe { std::slice::from_raw_parts_mut(args, 4) };
    let a = args[0] ^ args[1];
    args[2] = (args[2] + 1) & 0xff;
    args[3] = (a + u64::from(method)) & 0xffff;
}

#[test]
fn named_externs_get_and_give_limbs() {
    let (mut p, h) = with_header(&[72, 8, 16, 8, 16].map(Type::Bits));
    let o = object(&mut p, ExternKind::Named { type_name: "T".into(), args: Vec::new() });
    let args =
        |p: &Pipeline, b, c| vec![in_field(p, h, 0), ExternArg::InOut(field(p, h, b)), ExternArg::Out(field(p, h, c))];
    let method = |name: &str| ExternFn::Named { instance: Some(o), name: name.into(), no_side_effects: true };
    p.ingress.body = vec![
        call(method("first"), args(&p, 1, 2)),
        call(method("second"), args(&p, 3, 4)),
        call(method("first"), args(&p, 1, 2)),
        call(ExternFn::Named { instance: None, name: "free".into(), no_side_effects: true }, args(&p, 1, 4)),
    ];
    let mut registry = ExternRegistry::new();
    fn model(number: u64, args: &mut [Value]) {
        let limbs = harness::limbs(&args[0].bits, 72);
        args[1] = Value::new(args[1].to_u64() + 1, 8);
        args[2] = Value::new(BigUint::from(limbs[0] ^ limbs[1]) + number, 16);
    }
    struct Model;
    impl hopwright_interp::ExternModel for Model {
        fn call(&mut self, method: &str, args: &mut [Value]) -> Result<(), ExternError> {
            model(if method == "second" { 1 } else { 0 }, args);
            Ok(())
        }
    }
    registry.add_type("T", |_| Ok(Box::new(Model)));
    registry.add_function("free", |args| {
        model(0, args);
        Ok(())
    });
    let mut interp = Interp::with_externs(Arc::new(p.clone()), &registry).unwrap();
    let mut machine = Machine::with_natives(&p, &[twist], &[twist]).unwrap();
    let interface = machine.compiled.interface();
    let names: Vec<&str> = interface.methods[0].iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(interface.functions[0].name, "free");
    assert_eq!(interface.functions[0].args, [(Direction::In, 72), (Direction::InOut, 8), (Direction::Out, 16)]);
    for packet in packets(15) {
        let outcome = machine.run(&[&packet], 0, 0, HEADROOM).remove(0);
        same(&outcome, &interp.process(&packet, 0, 0), &packet).unwrap();
    }
}

#[test]
fn random_keeps_its_bounds() {
    let (mut p, h) = with_header(&[16, 16, 16].map(Type::Bits));
    p.ingress.body =
        vec![call(ExternFn::Random, vec![ExternArg::Out(field(&p, h, 2)), in_field(&p, h, 0), in_field(&p, h, 1)])];
    let mut machine = Machine::new(&p).unwrap();
    let mut seen = [false; 3];
    for _ in 0..60 {
        let sent = machine.run(&[&[0, 5, 0, 7, 9, 9]], 0, 0, HEADROOM).remove(0).bytes;
        let drawn = usize::from(u16::from_be_bytes([sent[4], sent[5]]));
        seen[drawn - 5] = true;
    }
    assert_eq!(seen, [true; 3]);
    // An empty range writes nothing.
    let sent = machine.run(&[&[0, 7, 0, 5, 9, 9]], 0, 0, HEADROOM).remove(0).bytes;
    assert_eq!(sent, [0, 7, 0, 5, 9, 9]);
}

#[test]
fn failed_assertions_and_endless_loops_are_faults() {
    let (mut p, h) = with_header(&[Type::Bits(8)]);
    let zero = binary(BinaryOp::Eq, slot(&p, field(&p, h, 0)), constant(0u32, Type::Bits(8)), Type::Bool);
    let one = binary(BinaryOp::Ne, slot(&p, field(&p, h, 0)), constant(1u32, Type::Bits(8)), Type::Bool);
    p.ingress.body = vec![
        call(ExternFn::Assert, vec![ExternArg::In(one)]),
        stmt(StmtKind::Scope {
            label: 1,
            body: vec![forever(vec![stmt(StmtKind::If {
                cond: zero,
                then: vec![stmt(StmtKind::Leave(1))],
                otherwise: Vec::new(),
            })])],
        }),
    ];
    harness::compare(&p, &[vec![0], vec![1], vec![2], vec![0, 0]]).unwrap();
    let mut machine = Machine::new(&p).unwrap();
    let verdicts: Vec<u32> = machine.run(&[&[0], &[1], &[2]], 0, 0, HEADROOM).iter().map(|o| o.verdict).collect();
    assert_eq!(verdicts, [0, 3, 3]);
}

fn forever(body: Block) -> Stmt {
    stmt(StmtKind::Loop { body, bound: None })
}

#[test]
fn the_step_bound_is_the_interpreters() {
    // Loops as often as the packet says; the parser takes one step.
    let (mut p, h) = with_header(&[Type::Bits(32)]);
    let n = field(&p, h, 0);
    let done = binary(BinaryOp::Eq, slot(&p, n), constant(0u32, Type::Bits(32)), Type::Bool);
    let less = binary(BinaryOp::Sub, slot(&p, n), constant(1u32, Type::Bits(32)), Type::Bits(32));
    p.ingress.body = vec![stmt(StmtKind::Scope {
        label: 1,
        body: vec![forever(vec![
            stmt(StmtKind::If { cond: done, then: vec![stmt(StmtKind::Leave(1))], otherwise: Vec::new() }),
            assign(n, less),
        ])],
    })];
    let around = [65_533u32, 65_534, 65_535, 65_536];
    harness::compare(&p, &around.map(|v| v.to_be_bytes().to_vec())).unwrap();
    let mut machine = Machine::new(&p).unwrap();
    let verdicts = around.map(|v| machine.run(&[&v.to_be_bytes()], 0, 0, HEADROOM)[0].verdict);
    assert_eq!(verdicts, [0, 0, 3, 3]);
}

#[test]
fn headroom_that_is_too_small() {
    let (mut p, h) = with_header(&[Type::Bits(8)]);
    let more = header(&mut p, "more", &[Type::Bits(64)]);
    p.ingress.body = vec![stmt(StmtKind::SetValid(more))];
    p.deparser.body = vec![emit(more), emit(h)];
    let mut machine = Machine::new(&p).unwrap();
    let fits = machine.run(&[&[1, 2]], 0, 0, 8).remove(0);
    assert_eq!((fits.verdict, fits.bytes), (0, vec![0, 0, 0, 0, 0, 0, 0, 0, 1, 2]));
    assert_eq!(machine.run(&[&[1, 2]], 0, 0, 7)[0].verdict, 2);
}

#[test]
fn what_is_not_supported_is_refused_where_it_is() {
    let refused = |build: &dyn Fn(&mut Pipeline)| {
        let mut p = pipeline();
        build(&mut p);
        Machine::new(&p).err().map(|e| e.message).unwrap_or_default()
    };
    let message = refused(&|p| p.parser.states[0].body.push(stmt(StmtKind::Exit)));
    assert_eq!(message, "`exit` in a parser is not supported yet by the machine-code engine");
}
