//! Declarations at every level, parser states, tables and their parts.

use super::{Annotation, Arg, Block, Expr, Ident, Path, Stmt, TypeExpr};
use hopwright_source::Span;

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
    /// Return type; [`TypeKind::Void`](super::TypeKind::Void) for none.
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
    /// Whether it is a constructor; `sig.ret` is then [`TypeKind::Void`](super::TypeKind::Void).
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
/// Items may be [`ExprKind::Mask`](super::ExprKind::Mask), [`ExprKind::Range`](super::ExprKind::Range), [`ExprKind::Default`](super::ExprKind::Default) and [`ExprKind::DontCare`](super::ExprKind::DontCare)
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

// --- tables ----------------------------------------------------------------------------------

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
    /// Any other property; `default_action = a(1)` is a [`ExprKind::Call`](super::ExprKind::Call) or [`ExprKind::Path`](super::ExprKind::Path).
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
