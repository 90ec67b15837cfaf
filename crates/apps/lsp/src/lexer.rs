//! Words, punctuation and comments of a text as it stands, without the preprocessor: for what editors ask of text that may be
//! incomplete.

use std::ops::Range;

/// Kind of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    String,
    Comment,
    /// A directive from its `#` to the end of its line, comments included.
    Directive,
    Punctuation,
}

/// A piece of text; white space lies between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub kind: Kind,
    pub range: Range<usize>,
}

impl Piece {
    /// Its text.
    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.range.clone()]
    }
}

/// The pieces of a text.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut at, mut line_start) = (0, true);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\n' => {
                line_start = true;
                at += 1;
                continue;
            }
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'#' if line_start => {
                at = directive_end(bytes, at);
                Kind::Directive
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = line_end(bytes, at);
                Kind::Comment
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at + 2..].find("*/").map_or(bytes.len(), |n| at + n + 4);
                Kind::Comment
            }
            b'"' => {
                at = string_end(bytes, at);
                Kind::String
            }
            b if is_word(b) => {
                while bytes.get(at).is_some_and(|b| is_word(*b)) {
                    at += 1;
                }
                if b.is_ascii_digit() { Kind::Number } else { Kind::Word }
            }
            _ => {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                Kind::Punctuation
            }
        };
        line_start = false;
        pieces.push(Piece { kind, range: start..at });
    }
    pieces
}

/// Whether a byte can be part of a name.
pub(crate) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Whether a text is a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(is_word) && text.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

/// The name that an offset is in or at the end of.
pub(crate) fn word_at(text: &str, offset: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = bytes[..offset].iter().rposition(|b| !is_word(*b)).map_or(0, |i| i + 1);
    let end = offset + bytes[offset..].iter().position(|b| !is_word(*b)).unwrap_or(bytes.len() - offset);
    Some(start..end).filter(|r| is_name(&text[r.clone()]))
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n)
}

fn directive_end(bytes: &[u8], at: usize) -> usize {
    let mut end = line_end(bytes, at);
    while end < bytes.len() && bytes[..end].trim_ascii_end().last() == Some(&b'\\') {
        end = line_end(bytes, end + 1);
    }
    end
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(b) = bytes.get(end) {
        match b {
            b'"' => return end + 1,
            b'\n' => return end,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_into_pieces() {
        let text = "#define A \\\n 1 // x\n/* a\n*/ h.ä \"s\\\"t\" 8w5; // end";
        let pieces = pieces(text);
        let found: Vec<_> = pieces.iter().map(|p| (p.kind, p.text(text))).collect();
        let expected = [
            (Kind::Directive, "#define A \\\n 1 // x"),
            (Kind::Comment, "/* a\n*/"),
            (Kind::Word, "h"),
            (Kind::Punctuation, "."),
            (Kind::Punctuation, "ä"),
            (Kind::String, "\"s\\\"t\""),
            (Kind::Number, "8w5"),
            (Kind::Punctuation, ";"),
            (Kind::Comment, "// end"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_found_at_their_ends() {
        assert_eq!(word_at("ab.cd", 2), Some(0..2));
        assert_eq!(word_at("ab.cd", 3), Some(3..5));
        assert_eq!(word_at("a  b", 2), None);
        assert_eq!(word_at("12", 1), None);
    }
}
