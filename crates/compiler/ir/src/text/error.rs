//! Errors in the text form.

use std::fmt;

/// A syntax error or an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The line's text.
    pub text: String,
}

impl ParseError {
    pub(super) fn new(text: &str, at: usize, message: impl Into<String>) -> ParseError {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        ParseError {
            line: text[..at].matches('\n').count() + 1,
            column: text[start..at].chars().count() + 1,
            message: message.into(),
            text: text[start..].lines().next().unwrap_or_default().into(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError { line, column, message, text } = self;
        write!(f, "{line}:{column}: {message}\n    {text}\n    {:>column$}", "^")
    }
}
