//! An index of a program by place, for editors: what each name refers to, and the types of expressions and declarations.
//!
//! [`analyse_indexed`](crate::analyse_indexed) fills it; [`analyse`](crate::analyse) does not, and takes no time for it. A place that is
//! analysed several times, as in the body of a control with several instances, has what the last analysis found.

mod fill;

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_source::Span;

use crate::types::Ty;

/// What is known of a program by place.
#[derive(Debug, Default)]
pub struct Index {
    /// What names refer to, by the place of the name.
    pub uses: HashMap<Span, Target>,
    /// Types of expressions, by the whole expression; of variables, constants, parameters, instances, fields and types, by the
    /// name in the declaration.
    pub types: HashMap<Span, Typed>,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The one whose name is at this place.
    Declaration(Span),
    /// The field or member of a type.
    Member {
        /// The name in the type's declaration.
        of: Span,
        /// The member.
        name: Arc<str>,
    },
}

/// The type of an expression or declaration.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The type.
    pub ty: Arc<Type>,
    /// The value as text, if it is known at compile time and short.
    pub value: Option<String>,
}

/// A type.
#[derive(Debug)]
pub struct Type {
    /// As in source text.
    pub text: String,
    /// Its form.
    pub form: Form,
    /// Size in bits, if values have a fixed size in packets; of types with `varbit` fields the smallest.
    pub bits: Option<u64>,
    /// Size in bits of the largest value.
    pub max_bits: Option<u64>,
    /// The name in its declaration, if it has one.
    pub declaration: Option<Span>,
    /// Fields of structs, headers and unions.
    pub fields: Vec<(Arc<str>, Arc<Type>)>,
}

/// Forms of types.
#[derive(Clone, Debug)]
pub enum Form {
    /// Anything without members.
    Scalar,
    /// A struct.
    Struct,
    /// A header.
    Header,
    /// A header union.
    Union,
    /// A stack or array of these elements.
    Stack(Arc<Type>),
    /// An enum.
    Enum,
    /// `error`.
    Error,
    /// An extern type.
    Extern,
    /// A parser or control.
    Block,
    /// A package.
    Package,
    /// What applying a table returns.
    ApplyResult,
}

/// The index while it is filled.
#[derive(Default)]
pub(crate) struct Builder {
    index: Index,
    types: HashMap<Ty, Arc<Type>>,
}

impl Builder {
    pub(crate) fn finish(self) -> Index {
        self.index
    }
}
