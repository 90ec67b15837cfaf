//! Annotations with rules, and what is wrong with one.

use crate::constraint::Fault;

/// An annotation that a program must not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct AnnotationError(#[from] RuleError);

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("{owner}: @{annotation}, line {line}, column {column}: {fault}\n    {quote}")]
    Constraint { owner: String, annotation: &'static str, line: usize, column: usize, fault: Box<Fault>, quote: String },
    #[error("{owner}: @{annotation} takes strings in double quotes, and no others in them")]
    Form { owner: String, annotation: &'static str },
    #[error("{owner}: @refers_to({request}) does not name a table and its match field")]
    NoPair { owner: String, request: String },
    #[error("{owner}: @refers_to({table}, {field}): there is no table `{table}`{those}")]
    NoTable { owner: String, table: String, field: String, those: String },
    #[error("{owner}: @refers_to({table}, {field}): `{table}` has no match field `{field}`{those}")]
    NoField { owner: String, table: String, field: String, those: String },
    #[error(
        "{owner}: @referenced_by({request}): only builtin::multicast_group_table with replica.port or replica.instance \
         refers to match fields so; others have @refers_to"
    )]
    ReferencedBy { owner: String, request: String },
    #[error("{owner}: @referenced_by({request}): the field is matched as {kind}, not exactly")]
    ReferencedInexactly { owner: String, request: String, kind: String },
    #[error("{owner}: @refers_to({table}, {field}): `{field}` is matched as {kind}, not exactly")]
    Inexact { owner: String, table: String, field: String, kind: String },
}

/// What annotations of this name have in parentheses.
pub(crate) fn arguments<'a>(annotations: &'a [String], name: &'a str) -> impl Iterator<Item = &'a str> {
    annotations.iter().filter_map(move |request| {
        let rest = request.strip_prefix('@')?.strip_prefix(name)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('(')?.strip_suffix(')') }
    })
}
