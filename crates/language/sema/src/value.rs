//! Compile-time values, and checked expressions before they enter the typed program.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use num_bigint::BigInt;

use crate::hir;
use crate::types::Ty;

/// A value known at compile time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// Of `bit`, `int`, `int<W>` or serialisable enum type.
    Int(BigInt),
    Bool(bool),
    Str(Arc<str>),
    /// Index into the program's errors.
    Error(usize),
    /// Member of an enum without underlying type.
    Member(usize),
    /// Struct, header, tuple, list, stack.
    Aggregate(Rc<[Value]>),
    /// An invalid header.
    Invalid,
    /// A parser or control instance.
    Instance(hir::InstanceId),
    /// An extern object.
    Object(hir::ObjectId),
    /// A package that is an argument of another one.
    Package(Rc<PackageArgs>),
    /// Known only when the enclosing parser or control is instantiated.
    Opaque,
}

/// The arguments of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PackageArgs {
    /// The name of the package that has them; empty if it has none.
    pub name: String,
    pub blocks: Vec<(String, hir::InstanceId)>,
    pub objects: Vec<(String, hir::ObjectId)>,
    pub values: Vec<(String, Value, Ty)>,
    /// What was made of each kind for its blocks.
    pub made: Made,
}

/// Positions in the lists of a typed program, by kind: what was made while something was instantiated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    pub instances: Range<usize>,
    pub tables: Range<usize>,
    pub objects: Range<usize>,
    pub value_sets: Range<usize>,
    pub functions: Range<usize>,
}

/// Whether an expression is a left-value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not a left-value at all.
    None,
    Writable,
    /// Bits of a left-value from a position that is known only at run time: they can be assigned to.
    RunTimeBits,
    /// A left-value that must not change, and why.
    ReadOnly(&'static str, Option<Span>),
}

/// Members of a literal, kept until its type is known.
#[derive(Clone, Debug)]
pub(crate) enum Items {
    List(Vec<Typed>, bool),
    Struct(Vec<(Arc<str>, Span, Typed)>, bool),
}

/// A checked expression.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub hir: hir::Expr,
    pub ty: Ty,
    pub value: Option<Value>,
    pub place: Place,
    /// Whether evaluating it may have an effect or is a call.
    pub effects: bool,
    pub items: Option<Rc<Items>>,
}

impl Typed {
    /// The placeholder for an expression that has been reported.
    pub(crate) fn error(span: Span) -> Typed {
        Typed {
            hir: hir::Expr { kind: hir::ExprKind::Bool(false), ty: hir::Type::Void, span },
            ty: Ty::Err,
            value: None,
            place: Place::None,
            effects: false,
            items: None,
        }
    }

    pub(crate) fn is_err(&self) -> bool {
        self.ty.is_err()
    }

    pub(crate) fn span(&self) -> Span {
        self.hir.span
    }
}
