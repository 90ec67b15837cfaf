//! Constraints on table entries and actions: the language of p4-constraints (<https://github.com/p4lang/p4-constraints>, its
//! `docs/language-specification.md`), in which `@entry_restriction` and `@action_restriction` are written.
//!
//! Numbers are the controller's. Beyond that language, a value of a type that is translated to strings compares with a string in
//! single quotes (`vrf_id != 'default'`); numbers compare with the data plane's value of such a type.

mod eval;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::ops::Range;

use hopwright_ir::MatchForm;
use num_bigint::BigInt;

pub(crate) use eval::Entry;

/// Why a text is no constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{expected} is missing here")]
    Missing { expected: &'static str },
    #[error("`{found}` has no meaning here")]
    Unexpected { found: String },
    #[error("`{0}` is no number")]
    Number(String),
    #[error("`{text}` is no {kind} address")]
    Address { kind: &'static str, text: String },
    #[error("{what} is not closed")]
    Open { what: &'static str },
    #[error("there is no {what} `{name}`{}", known(.all))]
    Name { what: &'static str, name: String, all: Vec<String> },
    #[error("{of} has no `::{part}`{}", known(.all))]
    Part { of: &'static str, part: String, all: Vec<String> },
    #[error("{wanted} is expected, not {found}")]
    Type { wanted: &'static str, found: &'static str },
    #[error("{left} does not compare with {right}{}", .why)]
    Compare { left: &'static str, right: &'static str, why: &'static str },
    #[error("{found} has no order: it compares with `==` and `!=` only")]
    Order { found: &'static str },
    #[error("two of these in a row need parentheses")]
    Chain,
    #[error("too many parentheses and signs are inside each other")]
    Deep,
}

fn known(all: &[String]) -> String {
    crate::listing::those(all.iter().map(String::as_str))
}

/// A fault and where it is, in bytes from the text's beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misread {
    pub at: usize,
    pub fault: Fault,
}

/// What a constraint can name: a match field, or an action's parameter.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub name: String,
    /// The form of its matches; `None` for parameters, which are plain numbers.
    pub form: Option<MatchForm>,
    /// Bits of its numbers.
    pub width: u32,
    /// The translation of its values to strings.
    pub text: Option<usize>,
}

/// What a constraint speaks of, for messages: "match field" or "parameter".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subjects<'s> {
    pub what: &'static str,
    pub all: &'s [Subject],
    /// Whether there is `::priority`.
    pub priority: bool,
}

/// A constraint that was read.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    text: String,
    root: Expr,
}

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Bool,
    Int,
    Text,
    Bits { width: u32, text: Option<usize> },
    Key { form: MatchForm, width: u32, text: Option<usize> },
}

impl Ty {
    /// For messages.
    fn words(self) -> &'static str {
        match self {
            Ty::Bool => "a condition",
            Ty::Int => "a number",
            Ty::Text => "a string",
            Ty::Bits { .. } => "a number of fixed width",
            Ty::Key { form, .. } => match form {
                MatchForm::Value => "an exact match",
                MatchForm::Prefix => "a match of a prefix",
                MatchForm::Mask => "a match with a mask",
                MatchForm::Range => "a match of a range",
                MatchForm::ValueOrAny => "an optional match",
                MatchForm::Nothing => "a key that is not matched",
            },
        }
    }

    fn text(self) -> Option<usize> {
        match self {
            Ty::Bits { text, .. } | Ty::Key { text, .. } => text,
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Expr {
    /// In the text.
    span: Range<usize>,
    ty: Ty,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Bool(bool),
    Int(BigInt),
    Text(String),
    Subject(usize),
    Part(usize, Part),
    Priority,
    Not(Box<Expr>),
    Negate(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Implies(Box<Expr>, Box<Expr>),
    /// Both sides as values of this type.
    Compare(Op, Ty, Box<Expr>, Box<Expr>),
}

/// A part of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Value,
    Mask,
    PrefixLength,
    Low,
    High,
}

impl Part {
    const ALL: [(&'static str, Part); 5] = [
        ("value", Part::Value),
        ("mask", Part::Mask),
        ("prefix_length", Part::PrefixLength),
        ("low", Part::Low),
        ("high", Part::High),
    ];

    fn is_of(self, form: MatchForm) -> bool {
        match form {
            MatchForm::Value => self == Part::Value,
            MatchForm::Prefix => matches!(self, Part::Value | Part::PrefixLength),
            MatchForm::Mask | MatchForm::ValueOrAny => matches!(self, Part::Value | Part::Mask),
            MatchForm::Range => matches!(self, Part::Low | Part::High),
            MatchForm::Nothing => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Constraint {
    /// Reads a constraint.
    ///
    /// # Errors
    /// The first fault of the text.
    pub(crate) fn parse(text: &str, subjects: Subjects<'_>) -> Result<Constraint, Misread> {
        Ok(Constraint { text: text.to_string(), root: parser::parse(text, subjects)? })
    }

    /// The text on one line, without comments.
    pub(crate) fn text(&self) -> String {
        lexer::plain(&self.text)
    }
}

/// Line and column of a place, from 1.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
}
