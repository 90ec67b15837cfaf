//! Formatting, as `hopwright fmt` does it. There is one style: what a client says about tabs and spaces is not looked at.

use std::ops::Range;

use lsp_types::TextEdit;

use crate::position::{Encoding, Text};
use crate::world::Refused;

/// The edits that format a text, or some of its lines.
///
/// # Errors
/// The text does not consist of tokens.
pub(crate) fn edits(text: &Text, encoding: Encoding, lines: Option<Range<usize>>) -> Result<Vec<TextEdit>, Refused> {
    let found = match lines {
        None => hopwright_fmt::edits(text.text()),
        Some(lines) => hopwright_fmt::range_edits(text.text(), lines),
    };
    let found = found.map_err(|why| Refused::Failed(format!("cannot format: {why}")))?;
    let edit = |it: hopwright_fmt::Edit| TextEdit { range: text.range(it.range, encoding), new_text: it.text };
    Ok(found.into_iter().map(edit).collect())
}

/// The lines that a range touches. One that ends where a line begins does not touch that line.
pub(crate) fn lines(range: lsp_types::Range) -> Range<usize> {
    let (first, last) = (range.start.line as usize, range.end.line as usize);
    let behind = if range.end.character == 0 && last > first { last } else { last.saturating_add(1) };
    first..behind
}
