//! Expressions: pure, typed trees. Nothing is implicitly extended; both operands of a binary operation have the same
//! type unless its documentation says otherwise. Anything with an effect is a statement.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::{SlotId, Span, Type};

/// A typed expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expr {
    /// What is computed.
    pub kind: ExprKind,
    /// The result's type.
    pub ty: Type,
    /// The P4 text it came from.
    pub span: Span,
}

/// What an expression computes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A constant's bits: two's complement for `int<W>`, 0 or 1 for `bool`; always less than 2^W.
    Const(BigUint),
    /// The value of a slot. Fields of an invalid header read as whatever the slot holds.
    Slot(SlotId),
    /// Data parameter of the enclosing action.
    Param(u32),
    /// Operand has the result's type.
    Unary(UnaryOp, Box<Expr>),
    /// See [`BinaryOp`].
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Conversion to `ty`: `bit` to `bit` zero-extends or truncates, `int` to `int` sign-extends or truncates,
    /// `bit<W>` and `int<W>` of the same width reinterpret, `bool` and `bit<1>` convert.
    Cast(Box<Expr>),
    /// Bits `hi` down to `lo` of a `bit` or `int`; result `bit<hi-lo+1>`.
    Slice {
        /// Sliced value.
        arg: Box<Expr>,
        /// Highest bit.
        hi: u32,
        /// Lowest bit.
        lo: u32,
    },
    /// `cond ? then : otherwise`.
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Length of the whole packet in bytes as it was received, `bit<32>` (`packet_in.length()`).
    PacketLength,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    /// Two's-complement negation.
    Neg,
    /// Bitwise complement.
    BitNot,
    /// Logical not; `bool`.
    Not,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    /// Wrapping.
    Add,
    /// Wrapping.
    Sub,
    /// Wrapping.
    Mul,
    /// Unsigned; by zero gives zero (the specification leaves it undefined; constants are refused earlier).
    Div,
    /// Unsigned; by zero gives zero.
    Mod,
    /// Saturating, signed for `int`.
    SatAdd,
    /// Saturating, signed for `int`.
    SatSub,
    /// Bitwise (also on `bool`).
    And,
    /// Bitwise.
    Or,
    /// Bitwise.
    Xor,
    /// Right operand: any `bit<S>`; at or beyond the width gives 0. Result has the left type.
    Shl,
    /// Right operand: any `bit<S>`; logical for `bit`, arithmetic for `int`; at or beyond the width gives 0 or all
    /// sign bits.
    Shr,
    /// Result `bool`. Also on `varbit` slots.
    Eq,
    /// Result `bool`. Also on `varbit` slots.
    Ne,
    /// Result `bool`; signed for `int`.
    Lt,
    /// Result `bool`; signed for `int`.
    Le,
    /// Result `bool`; signed for `int`.
    Gt,
    /// Result `bool`; signed for `int`.
    Ge,
    /// `bool`s. Expressions are pure, so short-circuit is not visible.
    LogicalAnd,
    /// `bool`s.
    LogicalOr,
    /// Left is the high part; widths add up; operands `bit` or `int`, result has the left's signedness.
    Concat,
}

impl BinaryOp {
    /// The comparison that holds exactly if this one does not; `None` if this is no comparison.
    pub fn negated(self) -> Option<BinaryOp> {
        Some(match self {
            BinaryOp::Eq => BinaryOp::Ne,
            BinaryOp::Ne => BinaryOp::Eq,
            BinaryOp::Lt => BinaryOp::Ge,
            BinaryOp::Le => BinaryOp::Gt,
            BinaryOp::Gt => BinaryOp::Le,
            BinaryOp::Ge => BinaryOp::Lt,
            _ => return None,
        })
    }
}

impl Expr {
    /// A constant; bits beyond the width must be zero.
    pub fn constant(value: impl Into<BigUint>, ty: Type, span: Span) -> Expr {
        Expr { kind: ExprKind::Const(value.into()), ty, span }
    }

    /// A `bool` constant.
    pub fn boolean(value: bool, span: Span) -> Expr {
        Expr::constant(u32::from(value), Type::Bool, span)
    }

    /// A slot's value.
    pub fn slot(slot: SlotId, ty: Type, span: Span) -> Expr {
        Expr { kind: ExprKind::Slot(slot), ty, span }
    }

    /// The constant's bits, if this is one.
    pub fn as_const(&self) -> Option<&BigUint> {
        match &self.kind {
            ExprKind::Const(v) => Some(v),
            _ => None,
        }
    }
}
