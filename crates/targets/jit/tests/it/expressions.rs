//! Random expressions mean the same to generated code and to the interpreter, for every operator and width.

use crate::harness;
use crate::harness::build::*;
use hopwright_ir::*;
use num_bigint::BigUint;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Widths around the limbs' borders come up often.
fn width() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 1u32..=64,
        2 => prop::sample::select(vec![1u32, 7, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 127, 128]),
        2 => 65u32..=128,
        1 => 129u32..=300,
    ]
}

fn bits(width: u32) -> impl Strategy<Value = BigUint> {
    let any = prop::collection::vec(any::<u32>(), width.div_ceil(32) as usize)
        .prop_map(move |d| BigUint::new(d) & mask(width));
    let edge = prop::sample::select(vec![0u32, 1, 2, 3]).prop_map(move |k| match k {
        0 => BigUint::ZERO,
        1 => BigUint::from(1u32),
        2 => mask(width),
        _ => ((mask(width) >> 1) + 1u32) & mask(width),
    });
    prop_oneof![2 => any, 1 => edge]
}

fn mask(width: u32) -> BigUint {
    (BigUint::from(1u32) << width) - 1u32
}

fn number_type(width: u32) -> impl Strategy<Value = Type> {
    prop_oneof![2 => Just(Type::Bits(width)), 1 => Just(Type::Int(width))]
}

fn with(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    binary(op, a, b, ty)
}

/// Fields of the header that expressions read: every second one is also written, so that both homes are seen.
const FIELDS: [u32; 12] = [3, 5, 16, 9, 7, 32, 64, 65, 63, 128, 24, 96];

fn leaf(ty: Type) -> BoxedStrategy<Expr> {
    let w = ty.width();
    let literal = bits(w).prop_map(move |v| constant(v, ty));
    if ty == Type::Bool {
        return literal.boxed();
    }
    // A field, cast to what is wanted.
    let field = (0..FIELDS.len()).prop_map(move |i| {
        let from = Type::Bits(FIELDS[i]);
        let e = expr(ExprKind::Slot(SlotId(FIRST_FIELD + i as u32)), from);
        let sized = expr(ExprKind::Cast(Box::new(e)), Type::Bits(ty.width()));
        expr(ExprKind::Cast(Box::new(sized)), ty)
    });
    prop_oneof![1 => literal, 3 => field].boxed()
}

/// The slot of field 0 of the only header: those of standard metadata come first.
const FIRST_FIELD: u32 = 16;

fn boolean(depth: u32) -> BoxedStrategy<Expr> {
    if depth == 0 {
        return leaf(Type::Bool);
    }
    let compare = (
        width(),
        prop::sample::select(vec![BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge]),
    )
        .prop_flat_map(|(w, op)| (number_type(w), Just(op)))
        .prop_flat_map(move |(ty, op)| (number(ty, depth - 1), number(ty, depth - 1), Just(op)))
        .prop_map(|(a, b, op)| with(op, a, b, Type::Bool));
    let logic = (
        boolean(depth - 1),
        boolean(depth - 1),
        prop::sample::select(vec![
            BinaryOp::LogicalAnd,
            BinaryOp::LogicalOr,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Eq,
            BinaryOp::Ne,
        ]),
    )
        .prop_map(|(a, b, op)| with(op, a, b, Type::Bool));
    let not = boolean(depth - 1).prop_map(|a| expr(ExprKind::Unary(UnaryOp::Not, Box::new(a)), Type::Bool));
    let cast = number(Type::Bits(1), depth - 1).prop_map(|a| expr(ExprKind::Cast(Box::new(a)), Type::Bool));
    prop_oneof![3 => compare, 2 => logic, 1 => not, 1 => cast].boxed()
}

fn number(ty: Type, depth: u32) -> BoxedStrategy<Expr> {
    if depth == 0 {
        return leaf(ty);
    }
    let w = ty.width();
    let d = depth - 1;
    let same = (
        number(ty, d),
        number(ty, d),
        prop::sample::select(vec![
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::SatAdd,
            BinaryOp::SatSub,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Div,
            BinaryOp::Mod,
        ]),
    )
        .prop_map(move |(a, b, op)| {
            // Division is unsigned.
            let unsigned = Type::Bits(w);
            if matches!(op, BinaryOp::Div | BinaryOp::Mod) && ty != unsigned {
                let cast = |e: Expr| expr(ExprKind::Cast(Box::new(e)), unsigned);
                return expr(ExprKind::Cast(Box::new(with(op, cast(a), cast(b), unsigned))), ty);
            }
            with(op, a, b, ty)
        });
    let amount = prop_oneof![
        (0u32..400).prop_map(|v| constant(v, Type::Bits(16))),
        (1u32..10).prop_flat_map(move |s| number(Type::Bits(s), d)),
        width().prop_flat_map(move |s| number(Type::Bits(s), d)),
    ];
    let shift = (number(ty, d), amount, any::<bool>())
        .prop_map(move |(a, b, left)| with(if left { BinaryOp::Shl } else { BinaryOp::Shr }, a, b, ty));
    let unary = (number(ty, d), any::<bool>()).prop_map(move |(a, neg)| {
        expr(ExprKind::Unary(if neg { UnaryOp::Neg } else { UnaryOp::BitNot }, Box::new(a)), ty)
    });
    let mux = (boolean(d), number(ty, d), number(ty, d))
        .prop_map(move |(c, a, b)| expr(ExprKind::Mux(Box::new(c), Box::new(a), Box::new(b)), ty));
    let cast = width().prop_flat_map(move |from| {
        let from = if matches!(ty, Type::Int(_)) { Type::Int(from) } else { Type::Bits(from) };
        number(from, d).prop_map(move |a| expr(ExprKind::Cast(Box::new(a)), ty))
    });
    let flip = if matches!(ty, Type::Int(_)) { Type::Bits(w) } else { Type::Int(w) };
    let reinterpret = number(flip, d).prop_map(move |a| expr(ExprKind::Cast(Box::new(a)), ty));
    let mut all: Vec<BoxedStrategy<Expr>> = vec![
        same.clone().boxed(),
        same.boxed(),
        shift.boxed(),
        unary.boxed(),
        mux.boxed(),
        cast.boxed(),
        reinterpret.boxed(),
    ];
    if let Type::Bits(_) = ty {
        let slice = (0u32..40, 0u32..40)
            .prop_flat_map(move |(below, above)| (number_type(below + w + above), Just(below)))
            .prop_flat_map(move |(from, lo)| {
                number(from, d).prop_map(move |a| expr(ExprKind::Slice { arg: Box::new(a), hi: lo + w - 1, lo }, ty))
            });
        all.push(slice.boxed());
        if w == 1 {
            all.push(boolean(d).prop_map(move |a| expr(ExprKind::Cast(Box::new(a)), ty)).boxed());
        }
    }
    if w > 1 {
        let concat = (1..w)
            .prop_flat_map(move |high| {
                let left = if matches!(ty, Type::Int(_)) { Type::Int(high) } else { Type::Bits(high) };
                (number(left, d), number_type(w - high).prop_flat_map(move |t| number(t, d)))
            })
            .prop_map(move |(a, b)| with(BinaryOp::Concat, a, b, ty));
        all.push(concat.boxed());
    }
    prop::strategy::Union::new(all).boxed()
}

/// A program that parses one header, computes expressions into fresh slots and puts them into a header in front.
fn program(expressions: &[Expr]) -> Pipeline {
    let mut p = pipeline();
    let types: Vec<Type> = FIELDS.iter().map(|&w| Type::Bits(w)).collect();
    let h = header(&mut p, "in", &types);
    assert_eq!(field(&p, h, 0), SlotId(FIRST_FIELD));
    p.parser.states[0].body.push(extract(h));
    let mut results = Vec::new();
    for e in expressions {
        let width = e.ty.width();
        results.push(Type::Bits(width));
    }
    let total: u32 = results.iter().map(|t| t.width()).sum();
    results.push(Type::Bits(8 - total % 8));
    let out = header(&mut p, "out", &results);
    p.ingress.body.push(stmt(StmtKind::SetValid(out)));
    for (i, e) in expressions.iter().enumerate() {
        let (slot, width) = (field(&p, out, i), e.ty.width());
        let e = match e.ty {
            Type::Int(w) => expr(ExprKind::Cast(Box::new(e.clone())), Type::Bits(w)),
            Type::Bool => expr(ExprKind::Cast(Box::new(e.clone())), Type::Bits(1)),
            _ => e.clone(),
        };
        assert_eq!(e.ty, Type::Bits(width));
        p.ingress.body.push(assign(slot, e));
    }
    // Every second field of the input lives in a variable.
    for f in (0..FIELDS.len()).step_by(2) {
        let slot = field(&p, h, f);
        let e = self::slot(&p, slot);
        let ones = constant(mask(FIELDS[f]), e.ty);
        let ty = e.ty;
        p.ingress.body.push(assign(slot, with(BinaryOp::Xor, e, ones, ty)));
    }
    p.deparser.body = vec![emit(out), emit(h)];
    p
}

#[test]
fn random_expressions() {
    let cases = std::env::var("CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(150);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() });
    let any_expression = prop_oneof![
        4 => (width(), 1u32..5).prop_flat_map(|(w, d)| number_type(w).prop_flat_map(move |t| number(t, d))),
        1 => (1u32..5).prop_flat_map(boolean),
    ];
    let length = FIELDS.iter().sum::<u32>() as usize / 8;
    let strategy = (
        prop::collection::vec(any_expression, 1..8),
        prop::collection::vec(prop::collection::vec(any::<u8>(), length..length + 3), 3),
    );
    let result = runner.run(&strategy, |(expressions, mut packets)| {
        packets.push(vec![0; length]);
        packets.push(vec![0xff; length]);
        let p = program(&expressions);
        harness::compare(&p, &packets).map_err(TestCaseError::fail)
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}
