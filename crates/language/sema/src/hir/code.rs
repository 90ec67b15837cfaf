//! Expressions and statements of the typed program.

use hopwright_source::Span;
use num_bigint::BigInt;

use super::{Direction, EnumId, FunctionId, InstanceId, ObjectId, TableId, Type, VarId};

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Its text.
    pub span: Span,
}

impl Expr {
    /// The expressions that this one consists of, in order: operands, members, what a call has.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Unary(_, a) => vec![a],
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Mux(a, b, c) => vec![a, b, c],
            ExprKind::Aggregate { members, .. } => members.iter().collect(),
            ExprKind::Call(call) => call.parts().collect(),
            _ => self.base().into_iter().collect(),
        }
    }

    /// What this is a part or another form of: of a left-value, the one around it.
    pub fn base(&self) -> Option<&Expr> {
        match &self.kind {
            ExprKind::Field(of, _)
            | ExprKind::Index(of, _)
            | ExprKind::StackNext(of)
            | ExprKind::StackLast(of)
            | ExprKind::StackLastIndex(of)
            | ExprKind::Slice(of, ..)
            | ExprKind::Cast(of) => Some(of),
            _ => None,
        }
    }
}

/// The kind of an expression. Left-values are `Var`, `Field`, `Index`, `StackNext`, `StackLast`, `Slice` of one.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant of type `bit`, `int<W>`, `int` or a serialisable enum.
    Int(BigInt),
    /// A constant.
    Bool(bool),
    /// A constant.
    String(String),
    /// An extern object: only as an argument.
    Object(ObjectId),
    /// `error.X`: index into [`TypedProgram::errors`].
    Error(usize),
    /// Member of an enum without underlying type: its position.
    EnumMember(EnumId, usize),
    /// A variable or parameter.
    Var(VarId),
    /// Member `1` of a struct, header, union or tuple.
    Field(Box<Expr>, usize),
    /// Stack element; the index is `bit<32>` or a constant.
    Index(Box<Expr>, Box<Expr>),
    /// `stack.next`: only as an argument of `extract`, or an lvalue in parsers.
    StackNext(Box<Expr>),
    /// `stack.last`.
    StackLast(Box<Expr>),
    /// `stack.lastIndex`, `bit<32>`.
    StackLastIndex(Box<Expr>),
    /// Struct, header (valid), tuple or stack.
    Aggregate {
        /// Values of the members in order of their declaration.
        members: Vec<Expr>,
        /// Indices of the members in order of evaluation, which is that of the text.
        order: Vec<usize>,
    },
    /// `{#}` of a header, union or stack type; the empty one of a `varbit`.
    Invalid,
    /// Unary.
    Unary(UnaryOp, Box<Expr>),
    /// Binary; operands of `&&` and `||` short-circuit if they have effects.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `e[hi:lo]`, constant bounds.
    Slice(Box<Expr>, u32, u32),
    /// Explicit or implicit conversion to `ty`.
    Cast(Box<Expr>),
    /// A call with a result.
    Call(Box<Call>),
    /// `t.apply().hit` (true) or `.miss` (false).
    TableHit(TableId, bool),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Neg,
    BitNot,
    Not,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    SatAdd,
    SatSub,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Concat,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Callee.
    pub callee: Callee,
    /// Type arguments after inference (of generic extern functions and methods).
    pub type_args: Vec<Type>,
    /// Arguments in order of the parameters; `None` for an omitted `@optional` one or `_` for an out parameter.
    pub args: Vec<Arg>,
    /// Of extern functions and methods: declared `@noSideEffects` or `@pure`, so that a call changes nothing but its out
    /// arguments and result.
    pub no_side_effects: bool,
    /// Text.
    pub span: Span,
}

impl Call {
    /// The receiver of a built-in method, and the arguments that are given.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let receiver = if let Callee::Builtin(receiver, _) = &self.callee { Some(&**receiver) } else { None };
        receiver.into_iter().chain(self.args.iter().filter_map(|a| a.value.as_ref()))
    }
}

/// An argument with its parameter's direction.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Direction of the parameter.
    pub direction: Direction,
    /// Value or left-value.
    pub value: Option<Expr>,
    /// Arguments are evaluated by rising number: in order of the text, which may name them in any order.
    pub turn: usize,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function, or an action called directly.
    Function(FunctionId),
    /// `instance.apply(..)` of a sub-parser or sub-control.
    Instance(InstanceId),
    /// `table.apply()` as a statement.
    Table(TableId),
    /// An extern function: `mark_to_drop`, `hash`, `verify`, ...
    ExternFunction(String),
    /// A method of an extern object.
    Method(ObjectId, String),
    /// The same of the object that a parameter stands for.
    ParameterMethod(VarId, String),
    /// `packet.extract/advance/lookahead/length/emit` on the enclosing parser's or deparser's packet.
    Packet(String),
    /// `h.isValid/setValid/setInvalid()`, `union.isValid()`, `stack.push_front/pop_front(n)`: receiver, method.
    Builtin(Box<Expr>, String),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Its text.
    pub span: Span,
}

impl Stmt {
    /// The statements in this one, as lists.
    pub fn bodies(&self) -> Vec<&[Stmt]> {
        match &self.kind {
            StmtKind::If(_, then, otherwise) => vec![then, otherwise],
            StmtKind::SwitchTable(_, cases) => cases.iter().map(|(_, body)| body.as_slice()).collect(),
            StmtKind::SwitchValue(_, cases) => cases.iter().map(|(_, body)| body.as_slice()).collect(),
            StmtKind::Block(body) | StmtKind::ForIn { body, .. } => vec![body],
            StmtKind::For { init, update, body, .. } => vec![init, update, body],
            _ => Vec::new(),
        }
    }
}

/// What a statement does. Compound assignments are expanded.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Declares a variable; without initialiser it is zero (headers invalid).
    Declare(VarId, Option<Expr>),
    /// `lvalue = value`.
    Assign(Expr, Expr),
    /// A call for its effects.
    Call(Call),
    /// Two-way branch.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `switch (t.apply().action_run)`; no functions means `default`. Fall-through is resolved.
    SwitchTable(TableId, Vec<(Vec<FunctionId>, Vec<Stmt>)>),
    /// `switch (expr)`; no values means `default`. Fall-through is resolved.
    SwitchValue(Expr, Vec<(Vec<Expr>, Vec<Stmt>)>),
    /// A block with its own scope.
    Block(Vec<Stmt>),
    /// `for (init; cond; update) body`.
    For {
        /// Initialisers.
        init: Vec<Stmt>,
        /// Condition.
        cond: Expr,
        /// Updates.
        update: Vec<Stmt>,
        /// Body.
        body: Vec<Stmt>,
    },
    /// `for (v in lo .. hi) body` and `for (v in stack_or_list) body`.
    ForIn {
        /// Loop variable.
        var: VarId,
        /// What is iterated.
        over: ForRange,
        /// Body.
        body: Vec<Stmt>,
    },
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `return`.
    Return(Option<Expr>),
    /// `exit`.
    Exit,
}

/// What a `for .. in` iterates.
#[derive(Clone, Debug)]
pub enum ForRange {
    /// Inclusive.
    Range(Expr, Expr),
    /// Elements of a list or stack.
    Elements(Expr),
}
