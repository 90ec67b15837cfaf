//! Lexer: characters to tokens, for one file. Directives and macros are handled by the preprocessor.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::token::{Interner, P, Tok, Token};
use hopwright_source::{FileId, Span};

/// A position in one file's text.
pub(crate) struct Lexer {
    file: FileId,
    text: Arc<str>,
    pos: usize,
    at_line_start: bool,
}

impl Lexer {
    pub(crate) fn new(file: FileId, text: Arc<str>) -> Lexer {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Lexer { file, text, pos, at_line_start: true }
    }

    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.file, start as u32, self.pos as u32)
    }

    /// The empty span at the current position.
    pub(crate) fn here(&self) -> Span {
        self.span(self.pos)
    }

    /// Skips white space and comments; in a directive (`in_line`) not beyond the line's end.
    /// Returns whether there was any.
    fn skip_space(&mut self, in_line: bool, diags: &mut Diagnostics) -> bool {
        let start = self.pos;
        loop {
            let bytes = self.text.as_bytes();
            let rest = &bytes[self.pos..];
            match rest {
                [b'\n', ..] if in_line => break,
                [b'\n', ..] => {
                    self.pos += 1;
                    self.at_line_start = true;
                }
                [b' ' | b'\t' | b'\r' | 0x0b | 0x0c, ..] => self.pos += 1,
                [b'\\', after @ ..] => match continuation(after) {
                    Some(len) => self.pos += 1 + len,
                    None => break,
                },
                [b'/', b'/', ..] => {
                    self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => {
                    let comment = self.pos;
                    match self.text[self.pos + 2..].find("*/") {
                        Some(len) => self.pos += len + 4,
                        None => {
                            self.pos = self.text.len();
                            let opening = Span::new(self.file, comment as u32, comment as u32 + 2);
                            diags.push(
                                Diagnostic::error("E0101", "unterminated comment")
                                    .at(opening, "this comment is never closed")
                                    .help("close it with `*/`"),
                            );
                        }
                    }
                }
                _ => break,
            }
        }
        self.pos > start
    }

    /// The next token. With `in_line`, [`Tok::Eof`] stands at the end of the line.
    pub(crate) fn next(&mut self, in_line: bool, interner: &mut Interner, diags: &mut Diagnostics) -> Token {
        let space = self.skip_space(in_line, diags);
        let line_start = std::mem::replace(&mut self.at_line_start, false);
        let start = self.pos;
        let kind = self.scan(diags);
        if kind == Tok::Eof {
            self.at_line_start = line_start;
        }
        let span = self.span(start);
        let text = &self.text[start..self.pos];
        let text = match kind {
            Tok::Ident | Tok::Int if text.contains('\\') => {
                let word: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                interner.intern(&word)
            }
            _ => interner.intern(text),
        };
        Token { line_start, space, ..Token::new(kind, text, span) }
    }

    fn scan(&mut self, diags: &mut Diagnostics) -> Tok {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Tok::Eof;
        };
        match first {
            '\n' => Tok::Eof,
            'a'..='z' | 'A'..='Z' | '_' => {
                self.pos += spliced_word_len(rest);
                Tok::Ident
            }
            '0'..='9' => {
                self.pos += spliced_word_len(rest);
                Tok::Int
            }
            '"' => {
                match string_len(rest) {
                    Some(len) => self.pos += len,
                    None => {
                        let start = self.pos as u32;
                        self.pos = self.text.len();
                        diags.push(
                            Diagnostic::error("E0101", "unterminated string")
                                .at(Span::new(self.file, start, start + 1), "this string is never closed")
                                .help("close it with `\"`"),
                        );
                    }
                }
                Tok::Str
            }
            _ => match P::longest_prefix(rest) {
                Some(p) => {
                    self.pos += p.text().len();
                    Tok::P(p)
                }
                None => {
                    self.pos += first.len_utf8();
                    Tok::Unknown
                }
            },
        }
    }

    /// Whether the next character is this one.
    pub(crate) fn follows(&self, c: char) -> bool {
        self.rest().starts_with(c)
    }

    /// The file name of an include directive, with its delimiters, if one comes next on this line.
    pub(crate) fn header_name(&mut self, diags: &mut Diagnostics) -> Option<(String, bool, Span)> {
        self.skip_space(true, diags);
        let line = self.rest().lines().next().unwrap_or("");
        let close = match line.chars().next()? {
            '<' => '>',
            '"' => '"',
            _ => return None,
        };
        let len = line[1..].find(close)?;
        let name = line[1..1 + len].to_string();
        let start = self.pos;
        self.pos += len + 2;
        Some((name, close == '>', self.span(start)))
    }

    /// The rest of the line as it is, without surrounding space; continued lines count as one.
    pub(crate) fn rest_of_line(&mut self) -> (String, Span) {
        while matches!(self.text.as_bytes().get(self.pos), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
        let start = self.pos;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let len = rest.find('\n').unwrap_or(rest.len());
            let last = len == rest.len();
            let line = rest[..len].trim_end_matches([' ', '\t', '\r']);
            let continued = line.strip_suffix('\\').filter(|_| !last);
            text.push_str(continued.unwrap_or(line));
            let more = continued.is_some();
            self.pos += len + usize::from(more);
            if !more {
                break;
            }
        }
        let text = text.trim().to_string();
        let end = (start + text.len()).min(self.pos);
        (text, Span::new(self.file, start as u32, end as u32))
    }

    /// Skips to after the next `#` that begins a line, recognising only comments and strings. False at the end of the file.
    pub(crate) fn skip_to_directive(&mut self, diags: &mut Diagnostics) -> bool {
        loop {
            self.skip_space(false, diags);
            let line_start = std::mem::replace(&mut self.at_line_start, false);
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return false;
            };
            if first == '#' && line_start {
                self.pos += 1;
                return true;
            }
            // Skipped text need not consist of tokens: an unmatched quote is a character.
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            self.pos += match first {
                '"' => string_len(line).unwrap_or(1),
                _ => first.len_utf8(),
            };
        }
    }
}

/// Length of the blanks and the end of line behind a backslash that continues a line, as in GCC; `None` if more follows.
fn continuation(text: &[u8]) -> Option<usize> {
    let blanks = text.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
    (text.get(blanks) == Some(&b'\n')).then_some(blanks + 1)
}

/// Length of a word that backslashes at ends of lines may divide.
fn spliced_word_len(text: &str) -> usize {
    let mut len = word_len(text);
    loop {
        let rest = &text[len..];
        let Some(splice) = rest.strip_prefix('\\').and_then(|rest| continuation(rest.as_bytes())) else { return len };
        match word_len(&rest[1 + splice..]) {
            0 => return len,
            more => len += 1 + splice + more,
        }
    }
}

fn word_len(text: &str) -> usize {
    text.bytes().position(|b| !(b.is_ascii_alphanumeric() || b == b'_')).unwrap_or(text.len())
}

/// Length of the string literal at the beginning of `text`, quotes included.
fn string_len(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (i, b) in text.bytes().enumerate().skip(1) {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(i + 1),
            _ => {}
        }
    }
    None
}

/// Splits text that is in no file, such as the result of `##`, into tokens.
pub(crate) fn lex_fragment(text: &str, at: Span, interner: &mut Interner, diags: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer::new(at.file, Arc::from(text));
    let mut tokens = Vec::new();
    loop {
        let mut token = lexer.next(false, interner, diags);
        if token.kind == Tok::Eof {
            return tokens;
        }
        token.span = at;
        token.line_start = false;
        tokens.push(token);
    }
}
