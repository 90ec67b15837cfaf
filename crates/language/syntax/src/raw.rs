//! Tokens, comments and directives of a text as it is written, before preprocessing: for tools that rewrite text.
//!
//! The tokens are those that the compiler's lexer would find in the text if no macro were expanded and every branch of a conditional
//! were taken. Text below `#if 0` need not consist of tokens: it is one [`RawKind::Skipped`].

use crate::diagnostic::Diagnostic;
use crate::lexer::{continuation, directive_in_string, string_len, unterminated_string, word_len};
use crate::token::P;
use hopwright_source::{FileId, Span};

/// Kind of a raw token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawKind {
    /// An identifier, a reserved word or `_`.
    Word,
    /// An integer, not checked.
    Int,
    /// A string with its quotes; it can have several lines, and directives between them.
    Str,
    /// Punctuation.
    Punct,
    /// A character that begins no token; annotations may have such.
    Unknown,
    /// `// …` without its line end; lines that end with a backslash go on.
    LineComment,
    /// `/* … */`
    BlockComment,
    /// A preprocessor directive or another line that begins with `#`, without its line end: from the `#` with continued lines, and
    /// with the comments in it.
    Directive,
    /// The lines between `#if 0` and the `#elif`, `#else` or `#endif` that ends it, without their last line end.
    Skipped,
}

/// A token, a comment or a directive: bytes `start..end` of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawToken {
    /// What it is.
    pub kind: RawKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line ends between it and the token before it. Those that a backslash hides do not count.
    pub newlines: u32,
    /// Whether anything stands between it and the token before it.
    pub space: bool,
}

impl RawToken {
    /// The token's text.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start as usize..self.end as usize]
    }
}

/// Splits a text into tokens. White space and a byte-order mark at the beginning are in none.
///
/// # Errors
/// A comment or string that does not end, or a token in two lines that a backslash joins.
/// Places are in file 0.
pub fn raw_tokens(text: &str) -> Result<Vec<RawToken>, Diagnostic> {
    let mut lexer = RawLexer { text, pos: 0, line_start: true, tokens: Vec::with_capacity(text.len() / 4) };
    if text.starts_with('\u{feff}') {
        lexer.pos = 3;
    }
    while lexer.step()? {}
    Ok(lexer.tokens)
}

struct RawLexer<'t> {
    text: &'t str,
    pos: usize,
    /// Only white space and comments stand before in the line.
    line_start: bool,
    tokens: Vec<RawToken>,
}

impl RawLexer<'_> {
    /// Reads one token; false at the end.
    fn step(&mut self) -> Result<bool, Diagnostic> {
        let from = self.pos;
        let newlines = self.blanks();
        let space = self.pos > from;
        let start = self.pos;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok(false) };
        let line_start = std::mem::replace(&mut self.line_start, false);
        let kind = match first {
            '/' if rest.starts_with("//") => {
                self.pos += line_len(rest);
                self.line_start = line_start;
                RawKind::LineComment
            }
            '/' if rest.starts_with("/*") => {
                self.pos += comment_len(rest).ok_or_else(|| self.unterminated_comment(start))?;
                self.line_start = line_start || rest[..self.pos - start].contains('\n');
                RawKind::BlockComment
            }
            '#' if line_start => {
                self.pos += self.directive_len(rest)?;
                RawKind::Directive
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                self.pos += word_len(rest);
                RawKind::Word
            }
            '0'..='9' => {
                self.pos += word_len(rest);
                RawKind::Int
            }
            '"' => {
                let len = raw_string_len(rest).ok_or_else(|| unterminated_string(self.span(start, start + 1)))?;
                self.pos += len;
                RawKind::Str
            }
            _ => match P::longest_prefix(rest) {
                Some(p) => {
                    self.pos += p.text().len();
                    RawKind::Punct
                }
                None => {
                    self.pos += first.len_utf8();
                    RawKind::Unknown
                }
            },
        };
        if !matches!(kind, RawKind::LineComment | RawKind::BlockComment | RawKind::Directive) {
            self.refuse_split_token()?;
        }
        self.push(kind, start, newlines, space);
        if kind == RawKind::Directive && is_if_zero(&self.text[start..self.pos]) {
            self.skip_inactive();
        }
        Ok(true)
    }

    fn push(&mut self, kind: RawKind, start: usize, newlines: u32, space: bool) {
        self.tokens.push(RawToken { kind, start: start as u32, end: self.pos as u32, newlines, space });
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(FileId(0), start as u32, end as u32)
    }

    fn unterminated_comment(&self, start: usize) -> Diagnostic {
        Diagnostic::error("E0101", "unterminated comment")
            .at(self.span(start, start + 2), "this comment is never closed")
            .help("close it with `*/`")
    }

    /// Skips white space and backslashes that continue lines. Returns the number of line ends.
    fn blanks(&mut self) -> u32 {
        let bytes = self.text.as_bytes();
        let mut newlines = 0;
        loop {
            match bytes.get(self.pos) {
                Some(b'\n') => {
                    newlines += 1;
                    self.pos += 1;
                    self.line_start = true;
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.pos += 1,
                Some(b'\\') => match continuation(&bytes[self.pos + 1..]) {
                    Some(len) => self.pos += 1 + len,
                    None => return newlines,
                },
                _ => return newlines,
            }
        }
    }

    /// Refuses a token that a backslash at the end of a line may join with the beginning of the next line.
    fn refuse_split_token(&self) -> Result<(), Diagnostic> {
        let bytes = self.text.as_bytes();
        let mut next = self.pos;
        while bytes.get(next) == Some(&b'\\')
            && let Some(len) = continuation(&bytes[next + 1..])
        {
            next += 1 + len;
        }
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let (last, first) = (bytes[self.pos - 1], bytes.get(next).copied().unwrap_or(b' '));
        let joins = (word(last) && word(first)) || (last.is_ascii_punctuation() && first.is_ascii_punctuation());
        if next > self.pos && joins {
            return Err(Diagnostic::error("E0121", "a backslash joins two lines within a token")
                .at(self.span(self.pos, self.pos + 1), "")
                .help("write the token in one line"));
        }
        Ok(())
    }

    /// Length of a directive, which comments can make longer than its line.
    fn directive_len(&self, text: &str) -> Result<usize, Diagnostic> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += match byte {
                b'\n' => break,
                b'\\' => 1 + continuation(&bytes[at + 1..]).unwrap_or(0),
                b'"' => string_len(&text[at..at + line_len(&text[at..])]).unwrap_or(1),
                b'/' if text[at..].starts_with("//") => line_len(&text[at..]),
                b'/' if text[at..].starts_with("/*") => {
                    let start = text.as_ptr().addr() - self.text.as_ptr().addr() + at;
                    comment_len(&text[at..]).ok_or_else(|| self.unterminated_comment(start))?
                }
                _ => 1,
            };
        }
        Ok(text[..at].trim_end_matches([' ', '\t', '\r', '\x0b', '\x0c']).len())
    }

    /// Reads the lines below `#if 0`, recognising only directives.
    fn skip_inactive(&mut self) {
        let line_end = self.text[self.pos..].find('\n').map_or(self.text.len(), |len| self.pos + len + 1);
        let start = line_end;
        let (mut at, mut nested) = (start, 0u32);
        while at < self.text.len() {
            let line = &self.text[at..];
            match directive_name(line) {
                Some("if" | "ifdef" | "ifndef") => nested += 1,
                Some("endif" | "else" | "elif") if nested == 0 => break,
                Some("endif") => nested -= 1,
                _ => {}
            }
            at += skipped_len(line);
        }
        if at > start {
            self.pos = at - usize::from(self.text[..at].ends_with('\n'));
            if self.pos > start {
                self.push(RawKind::Skipped, start, 1, true);
            }
        }
    }
}

/// Length of the line at the beginning of `text` with the lines that backslashes append, without its line end.
fn line_len(text: &str) -> usize {
    let mut at = 0;
    loop {
        let Some(len) = text[at..].find('\n') else { return text.len() };
        let line = text[at..at + len].trim_end_matches([' ', '\t', '\r']);
        if !line.ends_with('\\') {
            return at + text[at..at + len].trim_end_matches('\r').len();
        }
        at += len + 1;
    }
}

/// Length of the lines up to the next one that can be a directive below `#if 0`: one, or those of a comment.
fn skipped_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'\n' => return at + 1,
            b'\\' => 1 + continuation(&bytes[at + 1..]).unwrap_or(0),
            b'"' => string_len(&text[at..at + line_len(&text[at..])]).unwrap_or(1),
            b'/' if text[at..].starts_with("//") => line_len(&text[at..]).max(1),
            b'/' if text[at..].starts_with("/*") => comment_len(&text[at..]).unwrap_or(text.len() - at),
            _ => 1,
        };
    }
    at
}

/// Length of the comment at the beginning of `text`.
fn comment_len(text: &str) -> Option<usize> {
    text[2..].find("*/").map(|len| len + 4)
}

/// The name of the directive that a line is.
fn directive_name(line: &str) -> Option<&str> {
    let name = line.trim_start_matches([' ', '\t']).strip_prefix('#')?.trim_start_matches([' ', '\t']);
    Some(&name[..word_len(name)])
}

/// Whether a directive is `#if 0`.
pub fn is_if_zero(directive: &str) -> bool {
    let rest = directive.trim_start_matches('#').trim_start().strip_prefix("if");
    rest.is_some_and(|rest| {
        let condition = rest.split("//").next().unwrap_or(rest);
        condition.split("/*").next().unwrap_or(condition).trim() == "0"
    })
}

/// Length of the string at the beginning of `text`. Directives between its lines are part of it; quotes in them do not end it.
fn raw_string_len(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        let line_end = text[at..].find('\n').map_or(text.len(), |len| at + len + 1);
        let mut escaped = false;
        for (i, byte) in text.bytes().enumerate().take(line_end).skip(at) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => return Some(i + 1),
                _ => {}
            }
        }
        at = line_end;
        while directive_in_string(&text[at..]).is_some() {
            at = (at + line_len(&text[at..]) + 1).min(text.len());
        }
        if at >= text.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(RawKind, &str)> {
        raw_tokens(text).unwrap().iter().map(|t| (t.kind, t.text(text))).collect()
    }

    #[test]
    fn comments_and_directives_are_tokens() {
        use RawKind::*;
        let text = "/* a */ #define X 1 /* two\n lines */ + 2 // c\n#if X \\\n  > 1\nx = 0x1F; // d \\\n e\n";
        assert_eq!(
            texts(text),
            [
                (BlockComment, "/* a */"),
                (Directive, "#define X 1 /* two\n lines */ + 2 // c"),
                (Directive, "#if X \\\n  > 1"),
                (Word, "x"),
                (Punct, "="),
                (Int, "0x1F"),
                (Punct, ";"),
                (LineComment, "// d \\\n e"),
            ]
        );
    }

    #[test]
    fn line_ends_are_counted() {
        let text = "a b\n\n  c \\\n d";
        let found: Vec<(u32, bool)> = raw_tokens(text).unwrap().iter().map(|t| (t.newlines, t.space)).collect();
        assert_eq!(found, [(0, false), (0, true), (2, true), (0, true)]);
    }

    #[test]
    fn inactive_text_need_not_be_tokens() {
        use RawKind::*;
        let text = "#if 0 // no\n don't\n /*\n#endif */\n#ifdef A\n#else\n#endif\n#else\na\n#endif\n";
        let skipped = " don't\n /*\n#endif */\n#ifdef A\n#else\n#endif";
        let expected =
            [(Directive, "#if 0 // no"), (Skipped, skipped), (Directive, "#else"), (Word, "a"), (Directive, "#endif")];
        assert_eq!(texts(text), expected);
        assert_eq!(texts("#if 0\n#endif"), [(Directive, "#if 0"), (Directive, "#endif")]);
    }

    #[test]
    fn strings_may_have_directives_between_their_lines() {
        let text = "@a(\"x\n#if X == \"y\"\n z\n#endif\n\")";
        assert_eq!(texts(text)[3], (RawKind::Str, "\"x\n#if X == \"y\"\n z\n#endif\n\""));
    }

    #[test]
    fn what_does_not_end_is_refused_at_its_place() {
        for (text, code, start) in
            [("a /* b", "E0101", 2), ("a \"b", "E0101", 2), ("ab\\\ncd", "E0121", 2), ("#define X /* b", "E0101", 10)]
        {
            let error = raw_tokens(text).unwrap_err();
            assert_eq!((error.code, error.span().unwrap().start), (code, start), "{text}");
        }
    }
}
