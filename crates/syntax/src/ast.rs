//! The abstract syntax tree of P4-16, language version 1.2.5.
//!
//! The tree says what was written: names are not resolved, types not checked, constants not folded.
//! Parentheses leave no trace but in spans. Productions are those of the grammar in appendix H of the
//! P4-16 specification.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::span::Span;

/// A number that no other expression or type of the same [`Program`] has.
///
/// Ids are dense from 0 to [`Program::node_count`], so that side tables can be vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A name where it was written.
#[derive(Clone, Debug)]
pub struct Ident {
    /// The text.
    pub name: Arc<str>,
    /// The place.
    pub span: Span,
}

impl Ident {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Display for Ident {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// A reference to a declaration: `name`, or `.name` for the top-level one.
#[derive(Clone, Debug)]
pub struct Path {
    /// Whether a dot stands before the name (lookup starts at the top level).
    pub leading_dot: bool,
    /// The name.
    pub name: Ident,
    /// Dot and name.
    pub span: Span,
}

/// A whole program after preprocessing.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Top-level declarations in source order, those of included files among them.
    pub decls: Vec<Decl>,
    /// One more than the largest [`NodeId`] in the program.
    pub node_count: u32,
}

// ---------------------------------------------------------------------------------------------
// Annotations
// ---------------------------------------------------------------------------------------------

/// `@name`, `@name(...)` or `@name[...]`.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// The name after the `@`; keywords are allowed.
    pub name: Ident,
    /// What stands in parentheses or brackets.
    pub body: AnnotationBody,
    /// From `@` to the closing parenthesis or bracket.
    pub span: Span,
}

/// What stands behind an annotation's name.
#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// Nothing.
    None,
    /// `(...)`: free tokens with balanced parentheses.
    Unstructured {
        /// The tokens between the outer parentheses.
        tokens: Vec<AnnotationToken>,
        /// The same as a list of expressions, if it can be read as one (`@field_list(A, 2)`).
        exprs: Option<Vec<Expr>>,
    },
    /// `[e, ...]`; also `[]`.
    Exprs(Vec<Expr>),
    /// `[k = e, ...]`.
    KeyValues(Vec<NamedExpr>),
}

/// One token of an unstructured annotation.
#[derive(Clone, Debug)]
pub struct AnnotationToken {
    /// What it is.
    pub kind: AnnotationTokenKind,
    /// As it was written (a string without its quotes).
    pub text: Arc<str>,
    /// The place.
    pub span: Span,
}

/// Kind of an [`AnnotationToken`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationTokenKind {
    /// An identifier or keyword.
    Word,
    /// A string literal.
    String,
    /// An integer literal.
    Int(IntLit),
    /// Anything else.
    Punctuation,
}

impl Annotation {
    /// The text of `@name("text")`.
    pub fn single_string(&self) -> Option<&Arc<str>> {
        match &self.body {
            AnnotationBody::Unstructured { tokens, .. } => match tokens.as_slice() {
                [token] if token.kind == AnnotationTokenKind::String => Some(&token.text),
                _ => None,
            },
            AnnotationBody::Exprs(exprs) => match exprs.as_slice() {
                [Expr { kind: ExprKind::String(text), .. }] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of `@name(5)`.
    pub fn single_int(&self) -> Option<&BigInt> {
        match &self.body {
            AnnotationBody::Unstructured { tokens, .. } => match tokens.as_slice() {
                [AnnotationToken { kind: AnnotationTokenKind::Int(lit), .. }] => Some(&lit.value),
                _ => None,
            },
            AnnotationBody::Exprs(exprs) => match exprs.as_slice() {
                [Expr { kind: ExprKind::Int(lit), .. }] => Some(&lit.value),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The first annotation with this name.
pub fn find_annotation<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|a| a.name.as_str() == name)
}

// ---------------------------------------------------------------------------------------------
// Declarations
// ---------------------------------------------------------------------------------------------

/// A declaration at any level. Which kinds may stand where is checked by the parser.
#[derive(Clone, Debug)]
pub struct Decl {
    /// What is declared.
    pub kind: DeclKind,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// From the first token after the annotations to the last.
    pub span: Span,
}

/// Kinds of declarations.
#[derive(Clone, Debug)]
pub enum DeclKind {
    /// `const T name = e;`
    Const(ConstDecl),
    /// `T name = e;` (not at top level)
    Var(VarDecl),
    /// `T(args) name = { ... };`
    Instance(InstanceDecl),
    /// `error { A, B }`
    Error(Vec<Ident>),
    /// `match_kind { a, b }`
    MatchKind(Vec<Ident>),
    /// `T name<P>(params) { ... }`
    Function(FunctionDecl),
    /// `extern T name<P>(params);`
    ExternFunction(FunctionSig),
    /// `extern Name<P> { ... }`
    ExternObject(ExternObjectDecl),
    /// `action name(params) { ... }`
    Action(ActionDecl),
    /// `header`, `struct` or `header_union`
    Struct(StructDecl),
    /// `enum Name { ... }` with or without underlying type
    Enum(EnumDecl),
    /// `typedef T Name;` and `type T Name;`
    Typedef(TypedefDecl),
    /// `parser Name<P>(params);`
    ParserType(PipelineSig),
    /// `parser Name(params)(constructor params) { ... }`
    Parser(ParserDecl),
    /// `control Name<P>(params);`
    ControlType(PipelineSig),
    /// `control Name(params)(constructor params) { ... }`
    Control(ControlDecl),
    /// `package Name<P>(params);`
    Package(PipelineSig),
    /// `value_set<T>(size) name;` (in parsers)
    ValueSet(ValueSetDecl),
    /// `table name { ... }` (in controls)
    Table(TableDecl),
}

impl DeclKind {
    /// The declared name; `None` for `error` and `match_kind`.
    pub fn name(&self) -> Option<&Ident> {
        Some(match self {
            DeclKind::Error(_) | DeclKind::MatchKind(_) => return None,
            DeclKind::Const(d) => &d.name,
            DeclKind::Var(d) => &d.name,
            DeclKind::Instance(d) => &d.name,
            DeclKind::Function(d) => &d.sig.name,
            DeclKind::ExternFunction(d) => &d.name,
            DeclKind::ExternObject(d) => &d.name,
            DeclKind::Action(d) => &d.name,
            DeclKind::Struct(d) => &d.name,
            DeclKind::Enum(d) => &d.name,
            DeclKind::Typedef(d) => &d.name,
            DeclKind::ParserType(d) | DeclKind::ControlType(d) | DeclKind::Package(d) => &d.name,
            DeclKind::Parser(d) => &d.sig.name,
            DeclKind::Control(d) => &d.sig.name,
            DeclKind::ValueSet(d) => &d.name,
            DeclKind::Table(d) => &d.name,
        })
    }
}

/// `const T name = value;`
#[derive(Clone, Debug)]
pub struct ConstDecl {
    /// Declared type.
    pub ty: TypeExpr,
    /// Name.
    pub name: Ident,
    /// Initialiser.
    pub value: Expr,
}

/// `T name;` or `T name = init;`
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// Declared type.
    pub ty: TypeExpr,
    /// Name.
    pub name: Ident,
    /// Initialiser.
    pub init: Option<Expr>,
}

/// `T(args) name;`, with an optional object initialiser for abstract methods.
#[derive(Clone, Debug)]
pub struct InstanceDecl {
    /// Type of the object, possibly specialised.
    pub ty: TypeExpr,
    /// Constructor arguments.
    pub args: Vec<Arg>,
    /// Name.
    pub name: Ident,
    /// `= { functions and instances }`; only [`DeclKind::Function`] and [`DeclKind::Instance`] inside.
    pub init: Option<Vec<Decl>>,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Directionless: compile-time known or, in actions, from the control plane.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// A parameter of anything that has parameters. `@optional` is among the annotations.
#[derive(Clone, Debug)]
pub struct Param {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Direction.
    pub direction: Direction,
    /// Type.
    pub ty: TypeExpr,
    /// Name.
    pub name: Ident,
    /// Value when no argument is given.
    pub default: Option<Expr>,
    /// Without annotations.
    pub span: Span,
}

/// Return type, name, type parameters and parameters of a function or method.
#[derive(Clone, Debug)]
pub struct FunctionSig {
    /// Return type; [`TypeKind::Void`] for none.
    pub ret: TypeExpr,
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Parameters.
    pub params: Vec<Param>,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct FunctionDecl {
    /// Signature.
    pub sig: FunctionSig,
    /// Body.
    pub body: Block,
}

/// `extern Name<P> { constructors and methods }`
#[derive(Clone, Debug)]
pub struct ExternObjectDecl {
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Constructors and methods in source order.
    pub methods: Vec<MethodDecl>,
}

/// A constructor or method prototype.
#[derive(Clone, Debug)]
pub struct MethodDecl {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Whether it is a constructor; `sig.ret` is then [`TypeKind::Void`].
    pub is_constructor: bool,
    /// Whether it is marked `abstract`.
    pub is_abstract: bool,
    /// Signature.
    pub sig: FunctionSig,
    /// Without annotations.
    pub span: Span,
}

/// `action name(params) { ... }`
#[derive(Clone, Debug)]
pub struct ActionDecl {
    /// Name.
    pub name: Ident,
    /// Parameters.
    pub params: Vec<Param>,
    /// Body.
    pub body: Block,
}

/// Which of the three record-like types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StructKind {
    /// `struct`
    Struct,
    /// `header`
    Header,
    /// `header_union`
    HeaderUnion,
}

/// `struct`, `header` or `header_union`.
#[derive(Clone, Debug)]
pub struct StructDecl {
    /// Which.
    pub kind: StructKind,
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Fields in order.
    pub fields: Vec<Field>,
}

/// A field of a record-like type.
#[derive(Clone, Debug)]
pub struct Field {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Type.
    pub ty: TypeExpr,
    /// Name.
    pub name: Ident,
    /// Without annotations.
    pub span: Span,
}

/// `enum Name { A, B }` or `enum T Name { A = 1, B = 2 }`.
#[derive(Clone, Debug)]
pub struct EnumDecl {
    /// Name.
    pub name: Ident,
    /// Underlying type of a serialisable enum.
    pub underlying: Option<TypeExpr>,
    /// Members in order; each has a value exactly when there is an underlying type.
    pub members: Vec<EnumMember>,
}

/// A member of an enum.
#[derive(Clone, Debug)]
pub struct EnumMember {
    /// Name.
    pub name: Ident,
    /// Value, for serialisable enums.
    pub value: Option<Expr>,
}

/// `typedef T Name;` or `type T Name;`
#[derive(Clone, Debug)]
pub struct TypedefDecl {
    /// Name.
    pub name: Ident,
    /// Whether it is `type` (a new type) and not `typedef` (a synonym).
    pub is_new_type: bool,
    /// What it stands for.
    pub target: TypedefTarget,
}

/// What a `typedef` stands for.
#[derive(Clone, Debug)]
pub enum TypedefTarget {
    /// A type expression.
    Type(TypeExpr),
    /// A type declared in place (`typedef struct S { ... } T;`): [`DeclKind::Struct`] or [`DeclKind::Enum`].
    Decl(Box<Decl>),
}

/// Name, type parameters and parameters of a parser, control or package.
#[derive(Clone, Debug)]
pub struct PipelineSig {
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Apply parameters; for a package its constructor parameters.
    pub params: Vec<Param>,
}

/// A parser with a body.
#[derive(Clone, Debug)]
pub struct ParserDecl {
    /// Name and apply parameters.
    pub sig: PipelineSig,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// Constants, variables, instances and value sets.
    pub locals: Vec<Decl>,
    /// States in source order.
    pub states: Vec<StateDecl>,
}

/// A parser state.
#[derive(Clone, Debug)]
pub struct StateDecl {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Name.
    pub name: Ident,
    /// Statements before the transition.
    pub stmts: Vec<Stmt>,
    /// Where it goes; `None` means `reject`.
    pub transition: Option<Transition>,
    /// Without annotations.
    pub span: Span,
}

/// What follows `transition`.
#[derive(Clone, Debug)]
pub enum Transition {
    /// `transition name;`
    Direct(Ident),
    /// `transition select(...) { ... }`
    Select(SelectExpr),
}

/// `select (e, ...) { case ... }`
#[derive(Clone, Debug)]
pub struct SelectExpr {
    /// What is looked at.
    pub exprs: Vec<Expr>,
    /// Cases in order.
    pub cases: Vec<SelectCase>,
    /// The whole.
    pub span: Span,
}

/// `keyset: state;`
#[derive(Clone, Debug)]
pub struct SelectCase {
    /// What must match.
    pub keyset: Keyset,
    /// Next state.
    pub state: Ident,
    /// The whole.
    pub span: Span,
}

/// Left side of a select case or table entry.
///
/// Items may be [`ExprKind::Mask`], [`ExprKind::Range`], [`ExprKind::Default`] and [`ExprKind::DontCare`]
/// besides ordinary expressions.
#[derive(Clone, Debug)]
pub struct Keyset {
    /// One per select expression or key.
    pub items: Vec<Expr>,
    /// Whether it is written in parentheses as a tuple. A single item without means the item itself, or,
    /// for `_` and `default`, everything.
    pub is_tuple: bool,
    /// The whole.
    pub span: Span,
}

/// `value_set<T>(size) name;`
#[derive(Clone, Debug)]
pub struct ValueSetDecl {
    /// Element type.
    pub ty: TypeExpr,
    /// Number of entries.
    pub size: Expr,
    /// Name.
    pub name: Ident,
}

/// A control with a body.
#[derive(Clone, Debug)]
pub struct ControlDecl {
    /// Name and apply parameters.
    pub sig: PipelineSig,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// Constants, variables, instances, actions and tables.
    pub locals: Vec<Decl>,
    /// The `apply` block.
    pub apply: Block,
}

// ---------------------------------------------------------------------------------------------
// Tables
// ---------------------------------------------------------------------------------------------

/// `table name { properties }`
#[derive(Clone, Debug)]
pub struct TableDecl {
    /// Name.
    pub name: Ident,
    /// Properties in source order; duplicates are not refused here.
    pub properties: Vec<TableProperty>,
}

/// One property of a table.
#[derive(Clone, Debug)]
pub struct TableProperty {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Whether it is marked `const`.
    pub is_const: bool,
    /// Its name: `key`, `actions`, `entries`, `default_action`, `size`, or an architecture's.
    pub name: Ident,
    /// Its value.
    pub value: TablePropertyValue,
    /// Without annotations.
    pub span: Span,
}

/// Value of a table property.
#[derive(Clone, Debug)]
pub enum TablePropertyValue {
    /// `key = { e : match_kind; ... }`
    Key(Vec<KeyElement>),
    /// `actions = { a; b(x); ... }`
    Actions(Vec<TableAction>),
    /// `entries = { keyset : action; ... }`
    Entries(Vec<Entry>),
    /// Any other property; `default_action = a(1)` is a [`ExprKind::Call`] or [`ExprKind::Path`].
    Expr(Expr),
}

/// `expression : match_kind @annotations;`
#[derive(Clone, Debug)]
pub struct KeyElement {
    /// What is matched.
    pub expr: Expr,
    /// How.
    pub match_kind: Ident,
    /// Annotations after the match kind.
    pub annotations: Vec<Annotation>,
    /// The whole.
    pub span: Span,
}

/// An action in a table's list.
#[derive(Clone, Debug)]
pub struct TableAction {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Name and arguments.
    pub action: ActionRef,
}

/// A reference to an action, with arguments for its directed or, in entries, all parameters.
#[derive(Clone, Debug)]
pub struct ActionRef {
    /// The action.
    pub path: Path,
    /// Arguments; `None` without parentheses.
    pub args: Option<Vec<Arg>>,
    /// The whole.
    pub span: Span,
}

/// An entry in a table's `entries`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Whether it is marked `const`.
    pub is_const: bool,
    /// `priority = e :`
    pub priority: Option<Expr>,
    /// What must match.
    pub keyset: Keyset,
    /// What happens.
    pub action: ActionRef,
    /// Annotations after the action.
    pub annotations: Vec<Annotation>,
    /// The whole.
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------
// Types
// ---------------------------------------------------------------------------------------------

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

// ---------------------------------------------------------------------------------------------
// Statements
// ---------------------------------------------------------------------------------------------

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
    /// A local [`DeclKind::Var`] or [`DeclKind::Const`].
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
    /// A function, method, action or table call: [`ExprKind::Call`].
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
        /// Checked before each turn.
        condition: Expr,
        /// Assignments and calls after each turn.
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
        /// List, stack, or [`ExprKind::Range`].
        collection: Expr,
        /// Body.
        body: Box<Stmt>,
    },
}

/// `label: { ... }`, or `label:` which falls through to the next block.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// [`ExprKind::Default`] or an expression; for `action_run` the action's name.
    pub label: Expr,
    /// The block; `None` falls through.
    pub body: Option<Block>,
    /// The whole.
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------
// Expressions
// ---------------------------------------------------------------------------------------------

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
    /// `"text"`: what stands between the quotes, escapes as they were written
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
