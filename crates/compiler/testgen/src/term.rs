//! Symbolic values: bit vectors over the inputs of a run, each with the value that it has in that run.

use std::rc::Rc;

use hopwright_ir::bits;
use hopwright_ir::{BinaryOp, Expr, ExprKind, KeySet, SelectCase, Type, UnaryOp};
use num_bigint::BigUint;

/// A part of a run's input that the solver may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Variable {
    /// A byte of the packet: 8 bits.
    Byte(u32),
    /// The port at which it arrives: 9 bits.
    Port,
    /// Data of the action that a table runs: table, which of its applications, and parameter.
    Argument(u32, u32, u32),
    /// The first value of a register's cell.
    Register(u32, u64),
    /// What a meter's cell says: 2 bits. Direct meters have the number of their table, and a cell beyond all others.
    Color(u32, u64),
    /// Anything: what is known of a slot before there is a run.
    Unknown(u32),
    /// A result of an extern that has no terms: the number of the call in the run, and of the result. The solver may assume it, but it is no
    /// input.
    Result(u32, u32),
}

/// What a term computes.
#[derive(Debug)]
pub(crate) enum Op {
    Const,
    Input(Variable),
    Not(Term),
    And(Term, Term),
    Or(Term, Term),
    Xor(Term, Term),
    Add(Term, Term),
    Mul(Term, Term),
    /// The first is the high part.
    Concat(Term, Term),
    /// From this bit on.
    Slice(Term, u32),
    /// Zeroes, or copies of the sign, in front.
    Extend(Term, bool),
    /// By the second operand; to the left, to the right, to the right with the sign.
    Shift(Term, Term, Direction),
    Equal(Term, Term),
    /// Less than, of numbers with a sign or without.
    Less(Term, Term, bool),
    /// The second if the first is true, else the third.
    Choose(Term, Term, Term),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Left,
    Right,
    SignedRight,
}

/// A node of the graph of terms.
#[derive(Debug)]
pub(crate) struct Node {
    pub op: Op,
    pub width: u32,
    /// What it is in the run.
    pub value: BigUint,
}

/// A symbolic value.
pub(crate) type Term = Rc<Node>;

/// A constant.
pub(crate) fn constant(value: impl Into<BigUint>, width: u32) -> Term {
    Rc::new(Node { op: Op::Const, width, value: bits::truncate(value.into(), width) })
}

/// An input, with its value in the run.
pub(crate) fn input(variable: Variable, value: BigUint, width: u32) -> Term {
    Rc::new(Node { op: Op::Input(variable), width, value: bits::truncate(value, width) })
}

pub(crate) fn is_constant(term: &Term) -> bool {
    matches!(term.op, Op::Const)
}

pub(crate) fn is_true(term: &Term) -> bool {
    term.value != BigUint::ZERO
}

fn node(op: Op, width: u32, value: BigUint, operands: &[&Term]) -> Term {
    if operands.iter().all(|operand| is_constant(operand)) {
        return constant(value, width);
    }
    Rc::new(Node { op, width, value: bits::truncate(value, width) })
}

pub(crate) fn not(a: &Term) -> Term {
    if let Op::Not(inner) = &a.op {
        return inner.clone();
    }
    node(Op::Not(a.clone()), a.width, &a.value ^ bits::mask(a.width), &[a])
}

pub(crate) fn and(a: &Term, b: &Term) -> Term {
    node(Op::And(a.clone(), b.clone()), a.width, &a.value & &b.value, &[a, b])
}

pub(crate) fn or(a: &Term, b: &Term) -> Term {
    node(Op::Or(a.clone(), b.clone()), a.width, &a.value | &b.value, &[a, b])
}

pub(crate) fn equal(a: &Term, b: &Term) -> Term {
    node(Op::Equal(a.clone(), b.clone()), 1, u32::from(a.value == b.value).into(), &[a, b])
}

/// Whether a term has the value that it has in the run.
pub(crate) fn stays(a: &Term) -> Term {
    equal(a, &constant(a.value.clone(), a.width))
}

pub(crate) fn less(a: &Term, b: &Term, signed: bool) -> Term {
    let ty = if signed { Type::Int(a.width) } else { Type::Bits(a.width) };
    let value = bits::binary(BinaryOp::Lt, &a.value, &b.value, ty, ty);
    node(Op::Less(a.clone(), b.clone(), signed), 1, value, &[a, b])
}

pub(crate) fn choose(cond: &Term, then: &Term, otherwise: &Term) -> Term {
    if is_constant(cond) {
        return if is_true(cond) { then.clone() } else { otherwise.clone() };
    }
    let value = if is_true(cond) { &then.value } else { &otherwise.value };
    node(Op::Choose(cond.clone(), then.clone(), otherwise.clone()), then.width, value.clone(), &[cond, then, otherwise])
}

pub(crate) fn add(a: &Term, b: &Term) -> Term {
    node(Op::Add(a.clone(), b.clone()), a.width, &a.value + &b.value, &[a, b])
}

pub(crate) fn concat(a: &Term, b: &Term) -> Term {
    if a.width == 0 {
        return b.clone();
    }
    if b.width == 0 {
        return a.clone();
    }
    let value = (&a.value << b.width) | &b.value;
    node(Op::Concat(a.clone(), b.clone()), a.width + b.width, value, &[a, b])
}

pub(crate) fn slice(a: &Term, hi: u32, lo: u32) -> Term {
    if lo == 0 && hi + 1 == a.width {
        return a.clone();
    }
    node(Op::Slice(a.clone(), lo), hi + 1 - lo, bits::slice(&a.value, hi, lo), &[a])
}

pub(crate) fn extend(a: &Term, width: u32, signed: bool) -> Term {
    if width == a.width {
        return a.clone();
    }
    if width < a.width {
        return slice(a, width - 1, 0);
    }
    let (from, to) =
        if signed { (Type::Int(a.width), Type::Int(width)) } else { (Type::Bits(a.width), Type::Bits(width)) };
    node(Op::Extend(a.clone(), signed), width, bits::cast(&a.value, from, to), &[a])
}

/// A unary operation of the pipeline IR.
pub(crate) fn unary(op: UnaryOp, a: &Term) -> Term {
    match op {
        UnaryOp::BitNot | UnaryOp::Not => not(a),
        UnaryOp::Neg => add(&not(a), &constant(1u32, a.width)),
    }
}

/// A binary operation of the pipeline IR. `None` if the solver does not have it.
pub(crate) fn binary(op: BinaryOp, a: &Term, b: &Term, left: Type, right: Type) -> Option<Term> {
    let signed = matches!(left, Type::Int(_));
    Some(match op {
        BinaryOp::Add => add(a, b),
        BinaryOp::Sub => add(a, &unary(UnaryOp::Neg, b)),
        BinaryOp::Mul => node(Op::Mul(a.clone(), b.clone()), a.width, &a.value * &b.value, &[a, b]),
        BinaryOp::And | BinaryOp::LogicalAnd => and(a, b),
        BinaryOp::Or | BinaryOp::LogicalOr => or(a, b),
        BinaryOp::Xor => node(Op::Xor(a.clone(), b.clone()), a.width, &a.value ^ &b.value, &[a, b]),
        BinaryOp::Eq => equal(a, b),
        BinaryOp::Ne => not(&equal(a, b)),
        BinaryOp::Lt => less(a, b, signed),
        BinaryOp::Gt => less(b, a, signed),
        BinaryOp::Le => not(&less(b, a, signed)),
        BinaryOp::Ge => not(&less(a, b, signed)),
        BinaryOp::Concat => concat(a, b),
        BinaryOp::Shl | BinaryOp::Shr => {
            let direction = match (op, signed) {
                (BinaryOp::Shl, _) => Direction::Left,
                (_, false) => Direction::Right,
                (_, true) => Direction::SignedRight,
            };
            let value = bits::binary(op, &a.value, &b.value, left, right);
            node(Op::Shift(a.clone(), b.clone(), direction), a.width, value, &[a, b])
        }
        BinaryOp::SatAdd | BinaryOp::SatSub if !signed => {
            // A bit more says whether the result left the range.
            let wide = a.width + 1;
            let (x, y) = (extend(a, wide, false), extend(b, wide, false));
            let (sum, limit) = match op {
                BinaryOp::SatAdd => (add(&x, &y), constant(bits::mask(a.width), a.width)),
                _ => (add(&x, &unary(UnaryOp::Neg, &y)), constant(0u32, a.width)),
            };
            choose(&slice(&sum, a.width, a.width), &limit, &slice(&sum, a.width - 1, 0))
        }
        BinaryOp::SatAdd | BinaryOp::SatSub | BinaryOp::Div | BinaryOp::Mod => return None,
    })
}

/// The term of an expression. `leaf` has those of slots, parameters and the packet's length, and of operations that the solver does not
/// have.
pub(crate) fn of(e: &Expr, leaf: &mut dyn FnMut(&Expr) -> Term) -> Term {
    match &e.kind {
        ExprKind::Const(value) => constant(value.clone(), e.ty.width()),
        ExprKind::Slot(_) | ExprKind::Param(_) | ExprKind::PacketLength => leaf(e),
        ExprKind::Unary(op, a) => unary(*op, &of(a, leaf)),
        ExprKind::Binary(op, a, b) => {
            let (x, y) = (of(a, leaf), of(b, leaf));
            if matches!(a.ty, Type::Varbit(_)) && x.width != y.width {
                return leaf(e);
            }
            binary(*op, &x, &y, a.ty, b.ty).unwrap_or_else(|| leaf(e))
        }
        ExprKind::Cast(a) => extend(&of(a, leaf), e.ty.width(), matches!(a.ty, Type::Int(_))),
        ExprKind::Slice { arg, hi, lo } => slice(&of(arg, leaf), *hi, *lo),
        ExprKind::Mux(cond, a, b) => choose(&of(cond, leaf), &of(a, leaf), &of(b, leaf)),
    }
}

/// Whether the keys of a select match a case in all of them but one. No value set matches.
pub(crate) fn matches(case: &SelectCase, keys: &[Term], types: &[Type], but: usize) -> Term {
    let mut all = constant(1u32, 1);
    for (number, ((set, key), ty)) in case.sets.iter().zip(keys).zip(types).enumerate() {
        if number == but {
            continue;
        }
        let number = |value: &BigUint| constant(value.clone(), key.width);
        let one = match set {
            KeySet::Any => continue,
            KeySet::Value(value) => equal(key, &number(value)),
            KeySet::Mask(value, mask) => equal(&and(key, &number(mask)), &number(&(value & mask))),
            KeySet::Range(lo, hi) => {
                let signed = matches!(ty, Type::Int(_));
                let below = less(key, &number(lo), signed);
                let above = less(&number(hi), key, signed);
                and(&not(&below), &not(&above))
            }
            KeySet::ValueSet(_) => constant(0u32, 1),
        };
        all = and(&all, &one);
    }
    all
}

/// The internet checksum of a bit string, which is filled up with zeroes to whole words.
pub(crate) fn checksum(data: &Term) -> Term {
    let padding = (16 - data.width % 16) % 16;
    let data = if padding == 0 { data.clone() } else { concat(data, &constant(0u32, padding)) };
    let mut sum = constant(0u32, 32);
    for word in 0..data.width / 16 {
        sum = add(&sum, &extend(&slice(&data, word * 16 + 15, word * 16), 32, false));
    }
    for _ in 0..2 {
        sum = add(&extend(&slice(&sum, 15, 0), 32, false), &extend(&slice(&sum, 31, 16), 32, false));
    }
    not(&slice(&sum, 15, 0))
}
