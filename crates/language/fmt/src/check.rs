//! Compares the tokens of two texts, and finds where only the white space between them differs.

use std::ops::Range;

use hopwright_syntax::raw::{RawKind, RawToken, raw_tokens};

use crate::token::pragma;

/// A replacement of bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub range: Range<usize>,
    /// What to put there.
    pub text: String,
}

/// Whether two texts have the same tokens, comments and directives in the same order. Comments may differ in the white space at the
/// beginnings and ends of their lines.
pub(crate) fn same_tokens(old: &str, new: &str) -> Result<(), usize> {
    let (Ok(a), Ok(b)) = (raw_tokens(old), raw_tokens(new)) else { return Err(0) };
    let mut pragma_left = 0usize;
    for (i, token) in a.iter().enumerate() {
        let place = token.start as usize;
        let other = b.get(i).ok_or(place)?;
        let glued = token.text(old) == ">" && i > 0 && a[i - 1].text(old) == ">" && !token.space;
        // A pragma ends with its line.
        let same_line = pragma_left == 0 || (token.newlines == 0) == (other.newlines == 0);
        if !same_token(old, token, new, other) || (glued && other.space) || !same_line {
            return Err(place);
        }
        pragma_left = pragma_left.saturating_sub(1);
        if let Some(len) = pragma(old, &a[i..]) {
            pragma_left = len;
        }
    }
    if a.len() == b.len() { Ok(()) } else { Err(old.len()) }
}

fn same_token(old: &str, a: &RawToken, new: &str, b: &RawToken) -> bool {
    a.kind == b.kind
        && match a.kind {
            RawKind::BlockComment | RawKind::LineComment => {
                a.text(old).lines().map(str::trim).eq(b.text(new).lines().map(str::trim))
            }
            _ => a.text(old) == b.text(new),
        }
}

/// The edits that make `old`, which has the same tokens, to `new`: one for each stretch of white space, and for each comment, that
/// differs. They are in order and do not overlap.
pub(crate) fn edits(old: &str, new: &str) -> Vec<Edit> {
    let (Ok(a), Ok(b)) = (raw_tokens(old), raw_tokens(new)) else { return Vec::new() };
    let mut edits: Vec<Edit> = Vec::new();
    let (mut from_old, mut from_new) = (0, 0);
    let mut add = |range: Range<usize>, text: &str| {
        if &old[range.clone()] != text {
            edits.push(Edit { range, text: text.to_string() });
        }
    };
    for (x, y) in a.iter().zip(&b) {
        let (start_old, start_new) = (x.start as usize, y.start as usize);
        add(from_old..start_old, &new[from_new..start_new]);
        (from_old, from_new) = (x.end as usize, y.end as usize);
        add(start_old..from_old, &new[start_new..from_new]);
    }
    add(from_old..old.len(), &new[from_new..]);
    edits
}
