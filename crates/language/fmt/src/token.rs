//! Tokens of a text with the line ends before them, and what each token stands for.

use hopwright_source::{FileId, Span};
use hopwright_syntax::Diagnostic;
use hopwright_syntax::raw::{RawKind, RawToken, is_if_zero, raw_tokens};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Int,
    Str,
    Punct,
    /// A character that begins no token, in an annotation.
    Unknown,
    LineComment,
    BlockComment,
    Directive(Directive),
    /// Lines below `#if 0`.
    Skipped,
    /// `@pragma name …`, which ends with its line.
    Pragma,
}

/// Kind of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    If,
    /// `#if 0`
    IfZero,
    Else,
    Endif,
    Other,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
    /// Line ends between it and the token before it.
    pub newlines: u32,
    /// Whether anything stands between it and the token before it.
    pub space: bool,
    /// Its first column, from 0; tabs count up to the next multiple of [`TAB`].
    pub column: usize,
}

/// Distance of tab stops.
pub(crate) const TAB: usize = 8;

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Punct) && self.text == text
    }

    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    /// Whether it has lines of its own.
    pub(crate) fn is_line(&self) -> bool {
        matches!(self.kind, Kind::Directive(_) | Kind::Skipped | Kind::Pragma)
    }
}

/// What a token stands for, as far as that decides about the space around it or the lines it may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Other,
    /// `<` and `>` around type arguments.
    AngleOpen,
    AngleClose,
    /// An operator before its operand.
    Unary,
    /// An operator between operands, with its precedence; a higher one binds more strongly.
    Binary(u8),
    /// `=` and the like.
    Assign,
    /// The parenthesis that ends the type of a cast.
    CastClose,
    /// Braces around declarations, statements and the like.
    BlockOpen,
    BlockClose,
    /// Braces around expressions.
    ListOpen,
    ListClose,
    /// `:` between a label and what follows.
    LabelColon,
    /// `:` between a key and its match kind, or an entry and its action.
    KeyColon,
    /// `:` between the bits of a slice; wide if one of them is not a single token.
    SliceColon(bool),
    /// A token in the parentheses of an annotation, whose spacing is kept.
    Verbatim,
}

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Diagnostic> {
    let raw = raw_tokens(text)?;
    let mut tokens = Vec::with_capacity(raw.len());
    let (mut at, mut annotation) = (0, Annotation { depth: 0 });
    let mut columns = Columns { text, line_start: 0, from: 0, column: 0 };
    while at < raw.len() {
        annotation.read(text, &raw, at)?;
        let (kind, last) = match pragma(text, &raw[at..]) {
            Some(len) => (Kind::Pragma, at + len - 1),
            None => (kind(text, &raw[at]), at),
        };
        let RawToken { start, newlines, space, .. } = raw[at];
        let text = &text[start as usize..raw[last].end as usize];
        tokens.push(Token { kind, text, newlines, space, column: columns.of(start as usize) });
        at = last + 1;
    }
    Ok(tokens)
}

/// The parentheses of an annotation, between which any character may stand.
struct Annotation {
    depth: usize,
}

impl Annotation {
    /// Follows a token. Refuses a character that begins no token elsewhere.
    fn read(&mut self, text: &str, raw: &[RawToken], at: usize) -> Result<(), Diagnostic> {
        let token = raw[at];
        let shown = token.text(text);
        match (token.kind, shown) {
            (RawKind::Punct, "(")
                if self.depth > 0
                    || (at >= 2 && raw[at - 1].kind == RawKind::Word && raw[at - 2].text(text) == "@") =>
            {
                self.depth += 1;
            }
            (RawKind::Punct, ")") => self.depth = self.depth.saturating_sub(1),
            // A `#` could become the beginning of a directive.
            (RawKind::Unknown, _) | (RawKind::Punct, "#" | "##") if self.depth == 0 => {
                let place = Span::new(FileId(0), token.start, token.end);
                let message = format!("unexpected character `{}`", shown.escape_debug());
                return Err(Diagnostic::error("E0110", message).at(place, "this character has no meaning in P4"));
            }
            _ => {}
        }
        Ok(())
    }
}

fn kind(text: &str, token: &RawToken) -> Kind {
    match token.kind {
        RawKind::Word => Kind::Word,
        RawKind::Int => Kind::Int,
        RawKind::Str => Kind::Str,
        RawKind::Punct => Kind::Punct,
        RawKind::Unknown => Kind::Unknown,
        RawKind::LineComment => Kind::LineComment,
        RawKind::BlockComment => Kind::BlockComment,
        RawKind::Directive => Kind::Directive(directive(token.text(text))),
        RawKind::Skipped => Kind::Skipped,
    }
}

fn directive(text: &str) -> Directive {
    let rest = text.trim_start_matches('#').trim_start();
    let len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    match &rest[..len] {
        "if" if is_if_zero(text) => Directive::IfZero,
        "if" | "ifdef" | "ifndef" => Directive::If,
        "else" | "elif" => Directive::Else,
        "endif" => Directive::Endif,
        _ => Directive::Other,
    }
}

/// The number of tokens of the `@pragma` line that begins here.
pub(crate) fn pragma(text: &str, raw: &[RawToken]) -> Option<usize> {
    let [at, name, rest @ ..] = raw else { return None };
    let is = |token: &RawToken, what: &str| token.text(text) == what;
    if !is(at, "@") || !is(name, "pragma") || rest.first().is_some_and(|t| is(t, "(") || is(t, "[")) {
        return None;
    }
    let ends = |t: &RawToken| t.newlines > 0 || matches!(t.kind, RawKind::LineComment | RawKind::BlockComment);
    Some(2 + rest.iter().position(ends).unwrap_or(rest.len()))
}

/// Computes columns of places in rising order.
struct Columns<'t> {
    text: &'t str,
    line_start: usize,
    from: usize,
    column: usize,
}

impl Columns<'_> {
    fn of(&mut self, at: usize) -> usize {
        if let Some(end) = self.text[self.from..at].rfind('\n') {
            self.line_start = self.from + end + 1;
            self.from = self.line_start;
            self.column = 0;
        }
        self.column = advance(self.column, &self.text[self.from..at]);
        self.from = at;
        self.column
    }
}

/// The column behind a text that begins at a column.
pub(crate) fn advance(column: usize, text: &str) -> usize {
    text.chars().fold(column, |column, c| if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 })
}
