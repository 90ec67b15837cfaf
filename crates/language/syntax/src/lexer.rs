//! Lexer: characters to tokens, for one file. Directives and macros are handled by the preprocessor.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::token::{Interner, P, Tok, Token};
use hopwright_source::{FileId, Span};

/// A position in one file's text.
pub(crate) struct Lexer {
    file: FileId,
    /// The text without backslashes that continue lines (P4-16 6.2).
    text: Arc<str>,
    /// Where such a backslash was in the text, and how many bytes of the file were left out up to there.
    splices: Vec<(usize, usize)>,
    pos: usize,
    at_line_start: bool,
    /// The string that was read last goes on in the next line, which may be a directive.
    open_string: bool,
}

/// A further line of a string.
pub(crate) enum StringLine {
    /// Its text, with the end of the line before it, and whether the string ends here.
    Text(String, bool),
    /// A directive, of which the `#` has been read.
    Directive(Span),
    /// There is none.
    End,
}

/// Directives that are executed within strings, as C preprocessors do, for which strings end with the line.
const IN_STRINGS: [&str; 8] = ["if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef"];

impl Lexer {
    pub(crate) fn new(file: FileId, text: Arc<str>) -> Lexer {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let (text, splices) = without_splices(text);
        Lexer { file, text, splices, pos, at_line_start: true, open_string: false }
    }

    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    /// The place in the file of a position in the text: behind what is left out there, or before it.
    fn in_file(&self, pos: usize, behind: bool) -> u32 {
        let before = self.splices.partition_point(|(at, _)| *at < pos || behind && *at == pos);
        let left_out = before.checked_sub(1).map_or(0, |last| self.splices[last].1);
        (pos + left_out) as u32
    }

    fn span(&self, start: usize) -> Span {
        let from = self.in_file(start, true);
        Span::new(self.file, from, self.in_file(self.pos, false).max(from))
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
                [b'/', b'/', ..] => {
                    self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => {
                    let comment = self.pos;
                    match self.text[self.pos + 2..].find("*/") {
                        Some(len) => self.pos += len + 4,
                        None => {
                            self.pos = self.text.len();
                            let at = self.in_file(comment, true);
                            let opening = Span::new(self.file, at, at + 2);
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
        let kind = self.scan(in_line, diags);
        if kind == Tok::Eof {
            self.at_line_start = line_start;
        }
        let span = self.span(start);
        let text = interner.intern(&self.text[start..self.pos]);
        Token { line_start, space, ..Token::new(kind, text, span) }
    }

    fn scan(&mut self, in_line: bool, diags: &mut Diagnostics) -> Tok {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Tok::Eof;
        };
        match first {
            '\n' => Tok::Eof,
            'a'..='z' | 'A'..='Z' | '_' => {
                self.pos += word_len(rest);
                Tok::Ident
            }
            '0'..='9' => {
                self.pos += word_len(rest);
                Tok::Int
            }
            '"' => {
                match string_len(rest) {
                    Some(len) if !in_line && has_directives(&rest[..len]) => {
                        self.pos += rest.find('\n').unwrap_or(len);
                        self.open_string = true;
                    }
                    Some(len) => self.pos += len,
                    None => {
                        let start = self.in_file(self.pos, true);
                        self.pos = self.text.len();
                        diags.push(unterminated_string(Span::new(self.file, start, start + 1)));
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
        let rest = self.rest();
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let (text, len) = (line.trim().to_string(), line.len());
        self.pos = start + text.len();
        let span = self.span(start);
        self.pos = start + len;
        (text, span)
    }

    /// Whether the string that was read last goes on in the next line.
    pub(crate) fn take_open_string(&mut self) -> bool {
        std::mem::take(&mut self.open_string)
    }

    /// The next line of a string.
    pub(crate) fn string_line(&mut self) -> StringLine {
        let rest = self.rest();
        if !rest.starts_with('\n') {
            return StringLine::End;
        }
        if let Some(hash) = directive_in_string(&rest[1..]) {
            let start = self.pos + 1 + hash;
            self.pos = start + 1;
            return StringLine::Directive(self.span(start));
        }
        let line = 1 + rest[1..].find('\n').unwrap_or(rest.len() - 1);
        let closing = string_len(&format!("\"{}", &rest[1..line]));
        let len = closing.unwrap_or(line);
        let text = rest[..len].to_string();
        self.pos += len;
        StringLine::Text(text, closing.is_some())
    }

    /// A token from a place to the current position.
    pub(crate) fn span_from(&self, start: Span) -> Span {
        start.to(self.here())
    }

    /// The number of lines that end between two positions, of which the second is the current one.
    pub(crate) fn lines_since(&self, start: usize) -> usize {
        self.text[start..self.pos].matches('\n').count()
    }

    /// The current position in the text.
    pub(crate) fn position(&self) -> usize {
        self.pos
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

/// Removes backslashes that continue lines, with the blanks behind them, as GCC does. Returns where they were in the text that is left,
/// and how many bytes were removed up to there.
fn without_splices(text: Arc<str>) -> (Arc<str>, Vec<(usize, usize)>) {
    let mut kept = String::new();
    let mut splices = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices('\\') {
        if let Some(len) = continuation(&text.as_bytes()[at + 1..]) {
            kept.push_str(&text[from..at]);
            from = at + 1 + len;
            splices.push((kept.len(), from - kept.len()));
        }
    }
    if splices.is_empty() {
        return (text, splices);
    }
    kept.push_str(&text[from..]);
    (kept.into(), splices)
}

/// Length of the blanks and the end of line behind a backslash that continues a line; `None` if more follows.
pub(crate) fn continuation(text: &[u8]) -> Option<usize> {
    let blanks = text.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
    (text.get(blanks) == Some(&b'\n')).then_some(blanks + 1)
}

pub(crate) fn word_len(text: &str) -> usize {
    text.bytes().position(|b| !(b.is_ascii_alphanumeric() || b == b'_')).unwrap_or(text.len())
}

/// Length of the string literal at the beginning of `text`, quotes included.
pub(crate) fn string_len(text: &str) -> Option<usize> {
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

/// The error of a string that begins here.
pub(crate) fn unterminated_string(at: Span) -> Diagnostic {
    Diagnostic::error("E0101", "unterminated string").at(at, "this string is never closed").help("close it with `\"`")
}

/// The place of the `#` in a line that is a directive also within a string.
pub(crate) fn directive_in_string(line: &str) -> Option<usize> {
    let text = line.trim_start_matches([' ', '\t']);
    let name = text.strip_prefix('#')?.trim_start_matches([' ', '\t']);
    IN_STRINGS.contains(&&name[..word_len(name)]).then_some(line.len() - text.len())
}

fn has_directives(string: &str) -> bool {
    string.split('\n').skip(1).any(|line| directive_in_string(line).is_some())
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
