//! Types during analysis: with type variables, new types and the types of literals. Lowering sees [`crate::hir::Type`].

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A type. Numbers index the lists of [`Defs`](crate::defs::Defs).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    /// The type after a reported error; compatible with every type.
    Err,
    Bool,
    Bits(u32),
    Int(u32),
    InfInt,
    Varbit(u32),
    String,
    Error,
    MatchKind,
    Void,
    Enum(usize),
    /// Struct, header or header union, with type arguments.
    Struct(usize, Rc<[Ty]>),
    Stack(Rc<Ty>, u32),
    Tuple(Rc<[Ty]>),
    List(Rc<Ty>),
    /// `type T N`.
    Newtype(usize),
    Extern(usize, Rc<[Ty]>),
    /// Parser or control: a type declaration or a declaration with body.
    Block(usize, Rc<[Ty]>),
    Package(usize, Rc<[Ty]>),
    /// A type parameter seen from inside its declaration.
    Param(u32),
    /// A type to be inferred.
    Var(u32),
    /// `{ a, b }` of a type not yet known.
    ListLit(Rc<[Ty]>),
    /// `{ x = a }` of a type not yet known.
    StructLit(Rc<[(Arc<str>, Ty)]>),
    /// `{#}` of a type not yet known.
    InvalidLit,
    /// `...` of a type not yet known.
    DotsLit,
    /// What `table.apply()` returns: index of the table in the HIR.
    ApplyResult(u32),
}

/// Maximum width of `bit<W>` and `int<W>`.
pub(crate) const MAX_WIDTH: u32 = 2048;
/// Maximum width of `varbit<W>`.
pub(crate) const MAX_VARBIT: u32 = 65536;
/// Maximum size of a header stack.
pub(crate) const MAX_STACK: u32 = 1024;
/// Maximum number of scalar fields of a type, those of nested types included.
pub(crate) const MAX_LEAVES: u64 = 65536;

/// Type arguments by parameter.
pub(crate) type Subst = HashMap<u32, Ty>;

impl Ty {
    pub(crate) fn tuple(items: Vec<Ty>) -> Ty {
        Ty::Tuple(items.into())
    }

    pub(crate) fn is_err(&self) -> bool {
        matches!(self, Ty::Err)
    }

    /// `bit<W>` or `int<W>`: the width.
    pub(crate) fn width(&self) -> Option<u32> {
        match self {
            Ty::Bits(w) | Ty::Int(w) => Some(*w),
            _ => None,
        }
    }

    /// Whether values of the type exist only at compile time.
    pub(crate) fn is_immaterial(&self) -> bool {
        matches!(self, Ty::InfInt | Ty::String | Ty::List(_) | Ty::MatchKind)
    }

    /// Whether it is the type of a literal, whose final type its context determines.
    pub(crate) fn is_literal(&self) -> bool {
        match self {
            Ty::InfInt | Ty::ListLit(_) | Ty::StructLit(_) | Ty::InvalidLit | Ty::DotsLit => true,
            Ty::Tuple(items) => items.iter().any(Ty::is_literal),
            _ => false,
        }
    }

    /// Whether `found` holds for it or for anything in it.
    pub(crate) fn any(&self, found: &mut dyn FnMut(&Ty) -> bool) -> bool {
        if found(self) {
            return true;
        }
        match self {
            Ty::Struct(_, items)
            | Ty::Tuple(items)
            | Ty::Extern(_, items)
            | Ty::Block(_, items)
            | Ty::Package(_, items)
            | Ty::ListLit(items) => items.iter().any(|t| t.any(found)),
            Ty::StructLit(items) => items.iter().any(|(_, t)| t.any(found)),
            Ty::Stack(t, _) | Ty::List(t) => t.any(found),
            _ => false,
        }
    }

    /// Whether it contains type variables.
    pub(crate) fn has_vars(&self) -> bool {
        self.any(&mut |t| matches!(t, Ty::Var(_)))
    }

    /// Whether a type parameter occurs in it.
    pub(crate) fn uses(&self, param: u32) -> bool {
        self.any(&mut |t| *t == Ty::Param(param))
    }

    /// Replaces leaves for which `f` has something.
    pub(crate) fn map(&self, f: &dyn Fn(&Ty) -> Option<Ty>) -> Ty {
        if let Some(t) = f(self) {
            return t;
        }
        let all = |items: &Rc<[Ty]>| -> Rc<[Ty]> { items.iter().map(|t| t.map(f)).collect() };
        match self {
            Ty::Struct(d, items) => Ty::Struct(*d, all(items)),
            Ty::Tuple(items) => Ty::Tuple(all(items)),
            Ty::Extern(d, items) => Ty::Extern(*d, all(items)),
            Ty::Block(d, items) => Ty::Block(*d, all(items)),
            Ty::Package(d, items) => Ty::Package(*d, all(items)),
            Ty::ListLit(items) => Ty::ListLit(all(items)),
            Ty::StructLit(items) => Ty::StructLit(items.iter().map(|(n, t)| (n.clone(), t.map(f))).collect()),
            Ty::Stack(t, n) => Ty::Stack(Rc::new(t.map(f)), *n),
            Ty::List(t) => Ty::List(Rc::new(t.map(f))),
            other => other.clone(),
        }
    }

    /// Replaces type parameters.
    pub(crate) fn subst(&self, subst: &Subst) -> Ty {
        if subst.is_empty() {
            return self.clone();
        }
        self.map(&|t| match t {
            Ty::Param(p) => subst.get(p).cloned(),
            _ => None,
        })
    }
}

/// Pairs type parameters with arguments.
pub(crate) fn bind(params: &[u32], args: &[Ty]) -> Subst {
    params.iter().copied().zip(args.iter().cloned()).collect()
}
