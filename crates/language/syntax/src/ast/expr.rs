//! Types and expressions as written.

use std::sync::Arc;

use num_bigint::BigInt;

use super::{Ident, NodeId, Path};
use hopwright_source::Span;

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// The place.
    pub span: Span,
    /// Its number.
    pub id: NodeId,
}

/// Kinds of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`
    String,
    /// `void`
    Void,
    /// `_` as a type argument
    DontCare,
    /// `int`: arbitrary precision
    Int,
    /// `bit<W>`; `bit` alone is `bit<1>` and has `None`
    Bit(Option<Box<Expr>>),
    /// `int<W>`
    SignedInt(Box<Expr>),
    /// `varbit<W>`
    Varbit(Box<Expr>),
    /// A name: declared type or type parameter
    Named(Path),
    /// `Name<T, ...>`
    Specialized {
        /// The generic type.
        path: Path,
        /// Type arguments.
        args: Vec<TypeExpr>,
    },
    /// `T[n]`: header stack or array
    Array {
        /// Element type.
        element: Box<TypeExpr>,
        /// Number of elements.
        size: Box<Expr>,
    },
    /// `tuple<T, ...>`
    Tuple(Vec<TypeExpr>),
    /// `list<T>`
    List(Box<TypeExpr>),
}

// --- expressions -----------------------------------------------------------------------------

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The place, with the parentheses around it.
    pub span: Span,
    /// Its number.
    pub id: NodeId,
}

/// An integer literal: its value, and the width and sign if it has them (`8w255`, `4s7`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntLit {
    /// The digits' value; never negative, not yet reduced to the width.
    pub value: BigInt,
    /// Width and sign.
    pub width: Option<IntWidth>,
    /// Base it was written in: 2, 8, 10 or 16.
    pub base: u32,
}

/// Width and sign of an integer literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntWidth {
    /// Bits.
    pub bits: u32,
    /// `s` instead of `w`.
    pub signed: bool,
}

/// `name = value`
#[derive(Clone, Debug)]
pub struct NamedExpr {
    /// Name.
    pub name: Ident,
    /// Value.
    pub value: Expr,
    /// The whole.
    pub span: Span,
}

/// An argument: `e`, `_`, `name = e` or `name = _`.
#[derive(Clone, Debug)]
pub struct Arg {
    /// The parameter it is for.
    pub name: Option<Ident>,
    /// The value; [`ExprKind::DontCare`] for `_`.
    pub value: Expr,
    /// The whole.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `5`, `8w0xff`
    Int(IntLit),
    /// `true`, `false`
    Bool(bool),
    /// `"text"`: the text between the quotes, with escapes as written
    String(Arc<str>),
    /// `name`, `.name`
    Path(Path),
    /// `this`
    This,
    /// `...`: all defaults
    Dots,
    /// `{#}`: an invalid header
    Invalid,
    /// `_` in keysets and arguments
    DontCare,
    /// `default` in keysets and switch labels
    Default,
    /// `{ a, b }`; the last element may be [`ExprKind::Dots`]
    List(Vec<Expr>),
    /// `{ a = 1, b = 2, ... }`
    Struct {
        /// Named values in source order.
        fields: Vec<NamedExpr>,
        /// The trailing `...`: all other fields get default values.
        dots: Option<Span>,
    },
    /// `a[i]`
    Index {
        /// Stack, tuple or array.
        base: Box<Expr>,
        /// Which.
        index: Box<Expr>,
    },
    /// `a[hi:lo]`
    Slice {
        /// Value.
        base: Box<Expr>,
        /// Highest bit.
        hi: Box<Expr>,
        /// Lowest bit.
        lo: Box<Expr>,
    },
    /// `a[lo+:width]`
    PlusSlice {
        /// Value.
        base: Box<Expr>,
        /// Lowest bit; need not be constant.
        lo: Box<Expr>,
        /// Number of bits.
        width: Box<Expr>,
    },
    /// `e.name`
    Member {
        /// Value.
        base: Box<Expr>,
        /// Field or method.
        name: Ident,
    },
    /// `T.name`: enum member, `error.Name`, or a method of a type
    TypeMember {
        /// The type.
        ty: TypeExpr,
        /// The member.
        name: Ident,
    },
    /// `op e`
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `l op r`
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `c ? a : b`
    Ternary {
        /// Condition.
        condition: Box<Expr>,
        /// Value when true.
        then: Box<Expr>,
        /// Value when false.
        otherwise: Box<Expr>,
    },
    /// `(T) e`; of a list or struct this is a typed initialiser
    Cast {
        /// The type.
        ty: TypeExpr,
        /// What is cast.
        operand: Box<Expr>,
    },
    /// `f(args)`, `f<T>(args)`
    Call {
        /// Function, method, action or table method.
        callee: Box<Expr>,
        /// Type arguments.
        type_args: Vec<TypeExpr>,
        /// Arguments.
        args: Vec<Arg>,
    },
    /// `T(args)`: construction of a nameless instance
    Construct {
        /// Type, possibly specialised.
        ty: TypeExpr,
        /// Constructor arguments.
        args: Vec<Arg>,
    },
    /// `value &&& mask` (keysets)
    Mask {
        /// Value.
        value: Box<Expr>,
        /// Mask.
        mask: Box<Expr>,
    },
    /// `lo .. hi`, both included (keysets, `for` loops)
    Range {
        /// Lowest.
        lo: Box<Expr>,
        /// Highest.
        hi: Box<Expr>,
    },
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Negate,
    /// `+`
    Plus,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|+|`
    AddSat,
    /// `|-|`
    SubSat,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `!=`
    Ne,
    /// `==`
    Eq,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `++`
    Concat,
    /// `&&`
    And,
    /// `||`
    Or,
}

impl UnaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
            UnaryOp::Negate => "-",
            UnaryOp::Plus => "+",
        }
    }
}

impl BinaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::AddSat => "|+|",
            BinaryOp::SubSat => "|-|",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::Ne => "!=",
            BinaryOp::Eq => "==",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::Concat => "++",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}
