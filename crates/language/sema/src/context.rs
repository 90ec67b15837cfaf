//! The code being checked.

use std::rc::Rc;

use crate::hir;
use crate::types::Ty;

/// The kind of code being checked, which decides what it may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// No code: declarations.
    None,
    Function,
    Action,
    Parser,
    Control,
}

/// The code being checked.
pub(crate) struct Context {
    pub body: Body,
    /// Return type of a function.
    pub ret: Ty,
    /// How many loops surround the statement.
    pub loops: u32,
    /// Prefix of control-plane names.
    pub path: String,
    /// Whether nameless instances are allowed: in constructor arguments and table properties.
    pub constructing: bool,
    /// Name of the next nameless instance, if not that of its type.
    pub nameless: Option<String>,
    /// Whether nameless instances are called as the parameters that they are arguments of.
    pub named_by_parameters: bool,
    /// In a method that an object's initialiser implements: the object.
    pub this: Option<This>,
}

impl Context {
    pub(crate) fn new(body: Body, ret: Ty, path: String) -> Context {
        Context {
            body,
            ret,
            loops: 0,
            path,
            constructing: false,
            nameless: None,
            named_by_parameters: false,
            this: None,
        }
    }
}

/// The object whose methods an initialiser implements.
#[derive(Clone)]
pub(crate) struct This {
    /// Its extern type, with type arguments.
    pub def: usize,
    pub args: Rc<[Ty]>,
    /// `None` while it is only checked.
    pub id: Option<hir::ObjectId>,
}
