//! What names mean.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;

use crate::defs::Sig;
use crate::hir;
use crate::types::Ty;
use crate::value::{Place, Typed, Value};

/// A function with or without body.
#[derive(Clone)]
pub(crate) struct FunctionEntity<'a> {
    pub sig: Rc<Sig>,
    /// The body; `None` for an extern function.
    pub decl: Option<&'a ast::Decl>,
    /// Set when there is a body and nothing generic about it.
    pub id: Option<hir::FunctionId>,
    /// Position among top-level declarations.
    pub order: usize,
}

/// An action.
#[derive(Clone)]
pub(crate) struct ActionEntity {
    pub sig: Rc<Sig>,
    pub id: hir::FunctionId,
}

/// An instance of a parser or control.
#[derive(Clone)]
pub(crate) struct InstanceEntity {
    pub block: usize,
    pub args: Rc<[Ty]>,
    /// `None` while the surrounding declaration is checked without being instantiated.
    pub id: Option<hir::InstanceId>,
    /// Its body depends on what its first `apply` says.
    pub open: Option<Rc<OpenInstance>>,
}

/// An instance with parameters that exist only at compile time, created when it is applied.
pub(crate) struct OpenInstance {
    pub path: String,
    /// Constructor arguments.
    pub args: Vec<Option<Typed>>,
    pub span: Span,
    /// The values it was created with.
    pub made: OnceCell<(Vec<Value>, hir::InstanceId)>,
}

/// The meaning of a name.
#[derive(Clone)]
pub(crate) enum Entity<'a> {
    /// A complete type.
    Type(Ty),
    /// Struct-like declaration, possibly generic.
    Struct(usize),
    /// Extern object type, possibly generic.
    Extern(usize),
    /// Parser or control.
    Block(usize),
    Package(usize),
    Const(Value, Ty),
    Var(hir::VarId, Ty, Place),
    Functions(Rc<Vec<FunctionEntity<'a>>>),
    Action(Rc<ActionEntity>),
    Table(hir::TableId),
    Instance(InstanceEntity),
    /// Extern object; without id while it is only a constructor parameter.
    Object(usize, Rc<[Ty]>, Option<hir::ObjectId>),
    ValueSet(hir::ValueSetId, Ty),
    /// Declared with an error that has been reported.
    Broken,
}

impl Entity<'_> {
    /// Its kind with an article, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Entity::Type(_) | Entity::Struct(_) => "a type",
            Entity::Extern(_) => "an extern type",
            Entity::Block(_) => "a parser or control",
            Entity::Package(_) => "a package",
            Entity::Const(..) => "a constant",
            Entity::Var(..) => "a variable",
            Entity::Functions(_) => "a function",
            Entity::Action(_) => "an action",
            Entity::Table(_) => "a table",
            Entity::Instance(_) => "an instance",
            Entity::Object(..) => "an extern object",
            Entity::ValueSet(..) => "a value set",
            Entity::Broken => "erroneous",
        }
    }
}

pub(crate) struct Symbol<'a> {
    pub entity: Entity<'a>,
    pub span: Span,
    /// Position among top-level declarations; 0 in inner scopes.
    pub order: usize,
}

/// One scope.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub symbols: HashMap<Arc<str>, Symbol<'a>>,
}
