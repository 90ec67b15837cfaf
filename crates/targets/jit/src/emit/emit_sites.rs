//! The emit statements of a deparser.

use cranelift_frontend::Variable;
use hopwright_ir::{HeaderId, Stmt};

/// An emit statement of the deparser.
#[derive(Clone, Copy)]
pub(crate) struct EmitSite {
    pub header: HeaderId,
    /// The statement.
    pub statement: *const Stmt,
    /// I8: whether it is emitted.
    pub present: Variable,
}

/// The emit statements of a deparser, and the variables of deparsing.
#[derive(Default)]
pub(crate) struct Deparse {
    pub emits: Vec<EmitSite>,
    /// Start of the headers that are already in place.
    pub front: Option<Variable>,
    /// The last emit whose header is not in place.
    pub which: Option<Variable>,
    /// Number of bytes collected, in deparsers that collect headers.
    pub aside: Option<Variable>,
}
