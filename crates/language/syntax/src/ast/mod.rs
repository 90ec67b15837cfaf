//! The abstract syntax tree of P4-16, language version 1.2.5.
//!
//! The tree represents the text: names are not resolved, types not checked, constants not folded. Parentheses appear only in
//! spans. Productions are those of the grammar in appendix H of the P4-16 specification.
//!
//! This module has names, programs and annotations; `decl` has declarations and tables, `stmt` statements, `expr` types and
//! expressions. All are re-exported here.

mod decl;
mod expr;
mod stmt;

use std::sync::Arc;

use num_bigint::BigInt;

pub use decl::*;
pub use expr::*;
pub use stmt::*;

use hopwright_source::Span;

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

/// The form of an annotation's body.
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
