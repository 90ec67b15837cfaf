//! Prints preprocessed tokens as C preprocessors do: each on its line, with markers (`# LINE "FILE" FLAG`) where file or line change.

use std::sync::Arc;

use hopwright_source::{FileId, SourceMap, Span};

use crate::token::{P, Tok, Token};

/// Empty lines that are written rather than a marker.
const MAX_EMPTY_LINES: u32 = 8;

/// The text of tokens, of which the last is [`Tok::Eof`]. A marker's flag is 1 at the beginning of an include file, and 2 behind it.
pub(crate) fn print(tokens: &[Token], sources: &SourceMap, root: FileId, markers: bool) -> String {
    let next_file = FileId(root.0 + 1);
    let mut printer = Printer {
        sources,
        markers,
        out: String::new(),
        open: vec![root],
        next_file,
        file: "".into(),
        line: 1,
        last: None,
    };
    printer.marker(Span::new(root, 0, 0), "");
    for token in tokens {
        printer.token(token);
    }
    printer.end_line();
    printer.out
}

struct Printer<'a> {
    sources: &'a SourceMap,
    markers: bool,
    out: String,
    /// The files that are being read, the innermost last.
    open: Vec<FileId>,
    /// The next file that has not been entered. Files are numbered in the order in which they are.
    next_file: FileId,
    /// File and line, after `#line`, of the line that is being written.
    file: Arc<str>,
    line: u32,
    /// The last token on the line.
    last: Option<(Tok, String)>,
}

impl Printer<'_> {
    fn token(&mut self, token: &Token) {
        self.enter_files(token.span);
        self.leave_files(token.span);
        if token.kind == Tok::Eof {
            return;
        }
        if token.line_start || self.last.is_none() {
            self.go_to(token.span);
            let column = self.sources.location(token.span).column as usize;
            self.out.extend(std::iter::repeat_n(' ', column - 1));
        } else if token.space || self.joins(token) {
            self.out.push(' ');
        }
        self.out.push_str(&token.text);
        self.line += token.text.matches('\n').count() as u32;
        self.last = Some((token.kind, token.text.to_string()));
    }

    /// Whether a token would become one with the last if no space stood between them.
    fn joins(&self, token: &Token) -> bool {
        let Some((kind, text)) = &self.last else { return false };
        let word = |kind: Tok| matches!(kind, Tok::Ident | Tok::Kw(_) | Tok::Int);
        match (*kind, token.kind) {
            (a, b) if word(a) && word(b) => true,
            (Tok::P(p), Tok::P(_)) => P::longest_prefix(&format!("{text}{}", token.text)) != Some(p),
            _ => false,
        }
    }

    /// Writes markers for the files that were included before a place.
    fn enter_files(&mut self, at: Span) {
        while let Some(from) = self.sources.get(self.next_file).map(|file| file.included_from()) {
            match from {
                Some(from) if self.is_before(from, at) || self.is_within(at, self.next_file) => {
                    self.leave_files(from);
                    self.open.push(self.next_file);
                    self.marker(Span::new(self.next_file, 0, 0), " 1");
                }
                Some(_) => return,
                // Definitions of the command line.
                None => {}
            }
            self.next_file = FileId(self.next_file.0 + 1);
        }
    }

    /// Writes markers for the end of files that a place is behind.
    fn leave_files(&mut self, at: Span) {
        let mut left = None;
        while self.open.len() > 1 && self.open.last() != Some(&at.file) {
            left = self.open.pop();
        }
        if let Some(from) = left.and_then(|file| self.sources.get(file)).and_then(|file| file.included_from()) {
            self.marker_at(from, 1, " 2");
        }
    }

    fn is_within(&self, at: Span, file: FileId) -> bool {
        at.file == file || self.sources.include_stack(at).iter().any(|from| from.file == file)
    }

    /// Whether an `#include` directive was executed before what stands at a place.
    fn is_before(&self, directive: Span, at: Span) -> bool {
        let chain = |place: Span| std::iter::once(place).chain(self.sources.include_stack(place)).collect::<Vec<_>>();
        let places = chain(at);
        chain(directive)
            .iter()
            .find_map(|a| places.iter().find(|b| b.file == a.file).map(|b| a.start < b.start))
            .unwrap_or(false)
    }

    /// Begins the line that a place is in.
    fn go_to(&mut self, at: Span) {
        let location = self.sources.location(at);
        let behind = location.line.checked_sub(self.line).filter(|_| location.file == self.file);
        // Behind a token a new line begins in any case.
        let least = u32::from(self.last.is_some());
        match behind {
            Some(lines) if (least..=MAX_EMPTY_LINES).contains(&lines) => {
                self.out.extend(std::iter::repeat_n('\n', lines as usize));
                self.line = location.line;
            }
            _ => self.marker(at, ""),
        }
        self.last = None;
    }

    fn marker(&mut self, at: Span, flag: &str) {
        self.marker_at(at, 0, flag);
    }

    /// Says that the next line is this many lines behind the one of a place.
    fn marker_at(&mut self, at: Span, lines: u32, flag: &str) {
        self.end_line();
        let location = self.sources.location(at);
        self.file = location.file;
        self.line = location.line + lines;
        if self.markers {
            let name = self.file.replace('\\', "\\\\").replace('"', "\\\"");
            self.out.push_str(&format!("# {} \"{name}\"{flag}\n", self.line));
        }
    }

    fn end_line(&mut self) {
        if self.last.take().is_some() {
            self.out.push('\n');
        }
    }
}
