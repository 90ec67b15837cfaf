//! Analyses of small pipelines: the parser's graph, the in-place suffix, suspension points, effects.

use crate::builder::*;
use hopwright_ir::analysis::effects::{Effects, SlotSet};
use hopwright_ir::analysis::in_place_suffix::{InPlaceSuffix, reshaped};
use hopwright_ir::analysis::parser_graph::{FixedPrefix, fixed_prefix, has_cycles, longest, order, reach};
use hopwright_ir::analysis::suspension_points::{self, decode_list, encode_list, parser_writes, saved_slots};
use hopwright_ir::analysis::unrolled_parser::{Node, UnrollError, UnrolledParser, UnrolledTarget};
use hopwright_ir::*;

fn goto(state: u32) -> Transition {
    Transition::Goto(Target::State(StateId(state)))
}

fn state(name: &str, body: Block, transition: Transition) -> State {
    State { name: name.into(), body, transition, span: span() }
}

fn select(p: &Pipeline, on: SlotId, states: &[u32]) -> Transition {
    let case = |(value, state): (usize, &u32)| SelectCase {
        sets: vec![KeySet::Value(value.into())],
        target: Target::State(StateId(*state)),
        span: span(),
    };
    Transition::Select { keys: vec![read(p, on)], cases: states.iter().enumerate().map(case).collect() }
}

/// Headers of 2, 4 and 1 bytes; the parser extracts the first, then the second or nothing, then the third.
fn three() -> (Pipeline, [HeaderId; 3]) {
    let mut p = pipeline();
    let a = header(&mut p, "a", &[("f", Type::Bits(16))]);
    let b = header(&mut p, "b", &[("f", Type::Bits(32))]);
    let c = header(&mut p, "c", &[("f", Type::Bits(8))]);
    let choice = field(&p, a, 0);
    p.parser.states = vec![
        state("start", vec![extract(a)], select(&p, choice, &[1, 2])),
        state("second", vec![extract(b)], goto(2)),
        state("third", vec![extract(c)], Transition::Goto(Target::Accept)),
    ];
    p.deparser.body = vec![emit(a), emit(b), emit(c)];
    (p, [a, b, c])
}

#[test]
fn states_come_after_those_that_lead_to_them() {
    let (mut p, _) = three();
    p.parser.states.push(state("unreachable", Vec::new(), goto(0)));
    assert_eq!(order(&p), [0, 1, 2]);
    assert_eq!(reach(&p, &order(&p))[..3], [7, 5, 1]);
    assert_eq!(longest(&p), 7);
    assert!(!has_cycles(&p));
    p.parser.states[2].transition = goto(1);
    assert!(has_cycles(&p));
    assert_eq!(longest(&p), 2);
}

#[test]
fn a_prefix_ends_where_a_size_is_not_known() {
    let (mut p, [a, b, _]) = three();
    let advance = |bits: Expr| stmt(StmtKind::Advance { bits, bound: None });
    let known = vec![extract(a), advance(konst(24, 32)), stmt(StmtKind::Lookahead { total_bits: 12, parts: vec![] })];
    p.parser.states[0].body = known;
    let prefix = |p: &Pipeline| fixed_prefix(p, &p.parser.states[0]);
    assert_eq!(prefix(&p), FixedPrefix { need: 7, taken: 5, whole: true });
    let by = meta(&mut p, "by", Type::Bits(32));
    p.parser.states[0].body = vec![extract(a), advance(read(&p, by)), extract(b)];
    assert_eq!(prefix(&p), FixedPrefix { need: 2, taken: 2, whole: false });
}

#[test]
fn headers_that_stay_where_they_are() {
    let (mut p, [a, b, c]) = three();
    assert_eq!(InPlaceSuffix::of(&p).headers, [a, b, c]);
    // Without a change of its shape a header may be written.
    let f = field(&p, b, 0);
    p.ingress.body = vec![assign(f, konst(1, 32))];
    assert_eq!(InPlaceSuffix::of(&p).headers, [a, b, c]);
    p.ingress.body.push(stmt(StmtKind::SetInvalid(a)));
    assert_eq!(reshaped(&p), [true, false, false]);
    assert_eq!(InPlaceSuffix::of(&p).headers, [b, c]);
    // What is not extracted lies between.
    p.parser.states[1].body.push(stmt(StmtKind::Advance { bits: konst(8, 32), bound: Some(8) }));
    assert_eq!(InPlaceSuffix::of(&p).headers, [c]);
    // The last one emitted is not the last one extracted.
    p.deparser.body.swap(1, 2);
    assert_eq!(InPlaceSuffix::of(&p).headers, []);
}

#[test]
fn elements_of_a_stack_stay_where_they_are_if_nothing_moves_them() {
    let mut p = pipeline();
    let front = header(&mut p, "front", &[("f", Type::Bits(8))]);
    let labels = stack(&mut p, "labels", 2, &[("bottom", Type::Bits(8))]);
    let payload = header(&mut p, "payload", &[("f", Type::Bits(8))]);
    let bottom = meta(&mut p, "bottom", Type::Bits(8));
    let label = stmt(StmtKind::ExtractNext { stack: labels, varbit_bits: None });
    p.parser.states = vec![
        state("front", vec![extract(front)], goto(1)),
        state("label", vec![label], select(&p, bottom, &[1, 2])),
        state("payload", vec![extract(payload)], Transition::Goto(Target::Accept)),
    ];
    let elements = p[labels].elements.clone();
    let emit = |h: HeaderId| stmt(StmtKind::Emit(h));
    let order = [vec![front], elements.clone(), vec![payload]].concat();
    p.deparser.body = order.iter().map(|h| emit(*h)).collect();
    assert_eq!(InPlaceSuffix::of(&p).headers, [payload]);
    assert_eq!(InPlaceSuffix::with_stacks(&p).headers, order);
    // The elements are emitted in another order.
    p.deparser.body.swap(1, 2);
    assert_eq!(InPlaceSuffix::with_stacks(&p).headers, [payload]);
    p.deparser.body.swap(1, 2);
    // A stack behind the payload is not in order.
    p.deparser.body.swap(2, 3);
    assert_eq!(InPlaceSuffix::with_stacks(&p).headers, []);
    p.deparser.body.swap(2, 3);
    p.ingress.body = vec![stmt(StmtKind::PopFront(labels, 1))];
    assert_eq!(InPlaceSuffix::with_stacks(&p).headers, [payload]);
    p.ingress.body = vec![stmt(StmtKind::SetInvalid(elements[1]))];
    assert_eq!(InPlaceSuffix::with_stacks(&p).headers, [payload]);
}

#[test]
fn a_program_without_requests_has_no_suspension_points() {
    let (mut p, _) = three();
    assert!(suspension_points::lower(&p).is_none());
    p.ingress.body = vec![assign(p.standard.mcast_grp, konst(0, 16))];
    assert!(suspension_points::lower(&p).is_none());
    p.ingress.body = vec![assign(p.standard.mcast_grp, konst(1, 16))];
    let (_, slots) = suspension_points::lower(&p).unwrap();
    assert_eq!(slots.of_ingress().collect::<Vec<_>>(), [p.standard.mcast_grp]);
    assert!(!slots.save_original());
}

#[test]
fn requests_become_assignments_and_their_field_lists_metadata() {
    let (mut p, [a, ..]) = three();
    let kept = meta(&mut p, "kept", Type::Bits(8));
    let unread = meta(&mut p, "unread", Type::Bits(8));
    p.field_lists = vec![FieldList { index: 3, slots: vec![kept, field(&p, a, 0)] }];
    p.ingress.body = vec![
        call(ExternFn::Clone { egress: false, field_list: Some(3) }, vec![ExternArg::In(konst(7, 32))]),
        assign(unread, konst(1, 8)),
    ];
    let (lowered, slots) = suspension_points::lower(&p).unwrap();
    verify::verify(&lowered).unwrap();
    let request = slots.clone_ingress.unwrap();
    assert!(slots.save_original() && slots.clone_egress.is_none() && slots.resubmit.is_none());
    assert!(matches!(lowered.ingress.body[0].kind, StmtKind::Assign(slot, _) if slot == request));
    let listed = &lowered.field_lists[0].slots;
    assert_eq!(listed[0], kept);
    assert!(listed[1..].iter().all(|&s| lowered[s].kind == SlotKind::Metadata));
    assert_eq!(listed.len(), 3);
    // The parser starts by restoring what was kept, and that changes a header.
    assert!(!parser_writes(&p) && parser_writes(&lowered));
    let saved = saved_slots(&lowered, &slots);
    assert!(listed.iter().chain([&request]).all(|s| saved.contains(s)));
    assert!(!saved.contains(&unread));
}

#[test]
fn request_values_are_never_zero_and_read_back() {
    for list in [None, Some(0), Some(255)] {
        assert_ne!(encode_list(list), 0);
        assert_eq!(decode_list(encode_list(list)), list);
    }
}

#[test]
fn a_call_reads_results_that_it_may_leave() {
    let (mut p, _) = three();
    let [x, y] = ["x", "y"].map(|name| meta(&mut p, name, Type::Bits(16)));
    let register = object(&mut p, "r", ExternKind::Register { size: 4, ty: Type::Bits(16) });
    let effects_of = |p: &Pipeline, stmt: Stmt| {
        let (mut reads, mut writes) = (SlotSet::empty(p), SlotSet::empty(p));
        Effects::of(p).block(p, &vec![stmt], &mut reads, &mut writes);
        (reads, writes)
    };
    let read_register = vec![ExternArg::Out(x), ExternArg::In(konst(1, 32))];
    let (reads, writes) = effects_of(&p, call(ExternFn::RegisterRead(register), read_register));
    assert!(reads.contains(x) && writes.contains(x));
    let hash = vec![
        ExternArg::Out(x),
        ExternArg::In(konst(0, 16)),
        ExternArg::List(vec![read(&p, y)]),
        ExternArg::In(konst(9, 16)),
    ];
    let (reads, writes) = effects_of(&p, call(ExternFn::Hash(HashAlgorithm::Crc16), hash));
    assert!(!reads.contains(x) && reads.contains(y) && writes.contains(x));
    let algorithm = HashAlgorithm::Csum16;
    let verify = vec![
        ExternArg::In(Expr::boolean(true, span())),
        ExternArg::List(vec![read(&p, y)]),
        ExternArg::In(read(&p, x)),
    ];
    let (_, writes) = effects_of(&p, call(ExternFn::VerifyChecksum { algorithm, payload: false }, verify));
    assert!(writes.contains(p.standard.checksum_error) && !writes.contains(x));
}

#[test]
fn a_cycle_through_a_stack_is_unrolled_to_its_size() {
    let mut p = pipeline();
    let labels = stack(&mut p, "labels", 2, &[("bottom", Type::Bits(8))]);
    let payload = header(&mut p, "payload", &[("f", Type::Bits(8))]);
    let bottom = meta(&mut p, "bottom", Type::Bits(8));
    let label = stmt(StmtKind::ExtractNext { stack: labels, varbit_bits: None });
    p.parser.states = vec![
        state("label", vec![label], select(&p, bottom, &[0, 1])),
        state("payload", vec![extract(payload)], Transition::Goto(Target::Accept)),
    ];
    let unrolled = UnrolledParser::of(&p).unwrap();
    let node = |state: u32, next: u32, targets: Vec<UnrolledTarget>| Node {
        state: StateId(state),
        next: vec![Some(next)],
        targets,
    };
    let to = UnrolledTarget::Node;
    // The third label has no room: the body fails, and nothing follows.
    let (first, second) = (&unrolled.nodes[0], &unrolled.nodes[1..]);
    let place = |state, next| unrolled.nodes.iter().position(|n| *n == node(state, next, n.targets.clone())).unwrap();
    assert_eq!(*first, node(0, 0, vec![to(place(0, 1)), to(place(1, 1))]));
    assert!(second.contains(&node(0, 1, vec![to(place(0, 2)), to(place(1, 2))])));
    assert!(second.contains(&node(0, 2, Vec::new())));
    assert_eq!(unrolled.nodes.len(), 5);
    for (i, node) in unrolled.nodes.iter().enumerate() {
        assert!(node.targets.iter().all(|t| !matches!(t, UnrolledTarget::Node(n) if *n <= i)));
    }
}

#[test]
fn a_cycle_without_a_stack_has_no_bound() {
    let (mut p, _) = three();
    p.parser.states[2].transition = goto(1);
    let StateId(found) = match UnrolledParser::of(&p) {
        Err(UnrollError::Unbounded(state, _)) => state,
        other => panic!("{other:?}"),
    };
    assert!([1, 2].contains(&found));
    // With a bound, the states are repeated, and what comes back more often has no state.
    for rounds in [0, 3] {
        let unrolled = UnrolledParser::bounded(&p, rounds).unwrap();
        let often = |state: u32| unrolled.nodes.iter().filter(|n| n.state == StateId(state)).count();
        assert_eq!([often(0), often(1), often(2)], [1, rounds as usize + 1, rounds as usize + 1]);
        let beyond = unrolled.nodes.iter().flat_map(|n| &n.targets).filter(|t| **t == UnrolledTarget::Beyond);
        assert_eq!(beyond.count(), 1);
        for (i, node) in unrolled.nodes.iter().enumerate() {
            assert!(node.targets.iter().all(|t| !matches!(t, UnrolledTarget::Node(n) if *n <= i)));
        }
    }
}
