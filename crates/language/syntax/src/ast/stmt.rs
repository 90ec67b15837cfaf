//! Blocks and statements.

use super::{Annotation, Arg, BinaryOp, Decl, Expr, TypeExpr};
use hopwright_source::Span;

/// `{ ... }` with annotations before it.
#[derive(Clone, Debug)]
pub struct Block {
    /// Annotations before the brace.
    pub annotations: Vec<Annotation>,
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// From brace to brace.
    pub span: Span,
}

/// A statement or local declaration.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// The place, without annotations.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// A local [`DeclKind::Var`](super::DeclKind::Var) or [`DeclKind::Const`](super::DeclKind::Const).
    Decl(Box<Decl>),
    /// `lhs = rhs;`, or `lhs op= rhs;`
    Assign {
        /// Where to.
        target: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// What.
        value: Expr,
    },
    /// A function, method, action or table call: [`ExprKind::Call`](super::ExprKind::Call).
    Call(Expr),
    /// `Type.apply(args);` of a parser or control without an instance.
    DirectApply {
        /// The parser or control, possibly specialised.
        ty: TypeExpr,
        /// Apply arguments.
        args: Vec<Arg>,
    },
    /// `if (c) s else s`
    If {
        /// Condition.
        condition: Expr,
        /// Taken when true.
        then: Box<Stmt>,
        /// Taken when false.
        otherwise: Option<Box<Stmt>>,
    },
    /// `{ ... }`
    Block(Block),
    /// `;`
    Empty,
    /// `return e;`
    Return(Option<Expr>),
    /// `exit;`
    Exit,
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `switch (e) { ... }`
    Switch {
        /// What is looked at; `t.apply().action_run` or any value.
        subject: Expr,
        /// Cases in order.
        cases: Vec<SwitchCase>,
    },
    /// `for (init; condition; update) body`
    For {
        /// Annotations before `for`.
        annotations: Vec<Annotation>,
        /// Declarations, assignments and calls.
        init: Vec<Stmt>,
        /// Checked before each iteration.
        condition: Expr,
        /// Assignments and calls after each iteration.
        update: Vec<Stmt>,
        /// Body.
        body: Box<Stmt>,
    },
    /// `for (T name in collection) body`
    ForIn {
        /// Annotations before `for`.
        annotations: Vec<Annotation>,
        /// The loop variable; it has no initialiser.
        var: Box<Decl>,
        /// List, stack, or [`ExprKind::Range`](super::ExprKind::Range).
        collection: Expr,
        /// Body.
        body: Box<Stmt>,
    },
}

/// `label: { ... }`, or `label:` which falls through to the next block.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// [`ExprKind::Default`](super::ExprKind::Default) or an expression; for `action_run` the action's name.
    pub label: Expr,
    /// The block; `None` falls through.
    pub body: Option<Block>,
    /// The whole.
    pub span: Span,
}
