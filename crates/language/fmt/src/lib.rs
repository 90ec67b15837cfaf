//! Formats P4-16 programs, in one style: lines of 100 columns, four spaces for each level, braces at the ends of lines.
//!
//! It works on the text as it is written, with macros and directives, and never changes a token, a comment or their order. Where the
//! author broke a line at a comma or an operator, it stays broken, and at most one empty line stays between lines.
//!
//! ```
//! let text = "header h_t{bit<8> a;\n   macAddr_t  b;}";
//! assert_eq!(hopwright_fmt::format(text).unwrap(), "header h_t {\n    bit<8>    a;\n    macAddr_t b;\n}\n");
//! ```
//!
//! A text goes through these modules: `token` (tokens with the line ends before them), `lines` (logical lines and their levels),
//! `roles` (what operators and brackets stand for), `measure` (widths, and the breaks that stay), `merge` (short blocks in one line),
//! `layout` (lines of text), `align` (columns). In the end `check` compares the tokens of both texts.

mod align;
mod check;
mod layout;
mod lines;
mod measure;
mod merge;
mod roles;
mod token;

use std::fmt;
use std::ops::Range;

use hopwright_source::stack;
use hopwright_syntax::Diagnostic;

pub use check::Edit;
use measure::Measure;
use token::Role;

/// Columns of a line, at most, where it can be broken.
pub const WIDTH: usize = 100;
/// Columns that a block is indented.
pub const INDENT: usize = 4;

/// Why a text cannot be formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It does not consist of tokens. Places are in file 0.
    Lex(Box<Diagnostic>),
    /// The formatter is wrong: its text would have other tokens or comments, from this byte of the text on.
    Changed(usize),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Lex(diagnostic) => write!(f, "{}", diagnostic.message),
            Error::Changed(at) => {
                write!(f, "formatting would change tokens or comments from byte {at} on, which is a bug")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Formats a text. A formatted text stays as it is.
///
/// # Errors
/// The text does not consist of tokens.
pub fn format(text: &str) -> Result<String, Error> {
    // A text of another system keeps its line ends.
    if text.contains("\r\n") {
        let formatted = format_lines(&text.replace("\r\n", "\n")).map_err(|error| match token::tokens(text) {
            Err(diagnostic) => Error::Lex(Box::new(diagnostic)),
            Ok(_) => error,
        })?;
        return Ok(formatted.replace('\n', "\r\n"));
    }
    format_lines(text)
}

fn format_lines(text: &str) -> Result<String, Error> {
    let tokens = token::tokens(text).map_err(|diagnostic| Error::Lex(Box::new(diagnostic)))?;
    let closing = roles::closing(&tokens);
    let mut roles = vec![Role::Other; tokens.len()];
    let lines = lines::lines(&tokens, &closing, &mut roles);
    roles::assign(&tokens, &closing, &mut roles);
    let measure = Measure::new(&tokens, &roles, &closing);
    let lines = merge::merge(lines, &roles, &measure);
    let lines = stack::with_room(|| layout::layout(&lines, &measure));
    let mut formatted = align::render(lines);
    if text.starts_with('\u{feff}') {
        formatted.insert(0, '\u{feff}');
    }
    check::same_tokens(text, &formatted).map_err(Error::Changed)?;
    Ok(formatted)
}

/// The smallest edits that format a text: white space between two tokens, or a comment whose lines move. They are in order and do not
/// overlap.
///
/// # Errors
/// As [`format`].
pub fn edits(text: &str) -> Result<Vec<Edit>, Error> {
    Ok(check::edits(text, &format(text)?))
}

/// The edits of [`edits`] that format some lines, counted from 0: those that change one of them, the line end before them included.
///
/// # Errors
/// As [`format`].
pub fn range_edits(text: &str, lines: Range<usize>) -> Result<Vec<Edit>, Error> {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1));
    let start = starts.clone().nth(lines.start).unwrap_or(text.len());
    let end = if lines.is_empty() { start } else { starts.nth(lines.end).map_or(text.len(), |start| start - 1) };
    let touches = |edit: &Edit| edit.range.start < end.max(start + 1) && edit.range.end >= start && !lines.is_empty();
    Ok(edits(text)?.into_iter().filter(touches).collect())
}
