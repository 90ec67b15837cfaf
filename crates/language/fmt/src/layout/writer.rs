//! Writes tokens into lines of text, and can take back what it wrote.

use crate::WIDTH;
use crate::measure::Measure;
use crate::token::{Kind, advance};

/// A line of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextLine {
    /// Columns before the text.
    pub indent: usize,
    /// Text, without white space at its ends. The text of a token of several lines has line ends.
    pub text: String,
    /// Where the comment behind the code begins, in bytes of `text`.
    pub comment: Option<usize>,
    /// Where the second column of a declaration begins, in bytes of `text`.
    pub cell: Option<usize>,
    /// An empty line stands before it.
    pub blank: bool,
    /// The column of its comment in the source text.
    pub comment_column: Option<usize>,
    /// What kind of line it is, for alignment.
    pub kind: TextKind,
}

/// Kind of a line of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextKind {
    #[default]
    Code,
    Comment,
    Directive,
}

/// A state to return to.
pub(super) struct Mark {
    lines: usize,
    current: TextLine,
    column: usize,
    overflow: usize,
}

pub(super) struct Writer<'a, 't> {
    pub measure: &'a Measure<'a, 't>,
    pub lines: Vec<TextLine>,
    pub current: TextLine,
    /// The column behind what is written.
    pub column: usize,
    /// By how much lines are too long, comments aside.
    overflow: usize,
    /// How many tokens may still be written to try how they fit.
    pub budget: usize,
    /// Where the second column of this line begins.
    pub cell_at: Option<usize>,
    /// The end of the logical line.
    pub line_end: usize,
}

impl<'a, 't> Writer<'a, 't> {
    pub(super) fn new(measure: &'a Measure<'a, 't>) -> Writer<'a, 't> {
        Writer {
            measure,
            lines: Vec::new(),
            current: TextLine::default(),
            column: 0,
            overflow: 0,
            budget: 0,
            cell_at: None,
            line_end: 0,
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { lines: self.lines.len(), current: self.current.clone(), column: self.column, overflow: self.overflow }
    }

    pub(super) fn rewind(&mut self, mark: &Mark) {
        self.lines.truncate(mark.lines);
        self.current = mark.current.clone();
        self.column = mark.column;
        self.overflow = mark.overflow;
    }

    /// By how much the lines since a mark are too long, and how many there are.
    pub(super) fn cost(&self, since: &Mark, trail: usize) -> (usize, usize) {
        let last = (self.column + trail).saturating_sub(WIDTH);
        (self.overflow + last - since.overflow, self.lines.len() - since.lines)
    }

    /// Ends the line, and begins one at a column.
    pub(super) fn newline(&mut self, indent: usize) {
        let line = std::mem::replace(&mut self.current, TextLine { indent, ..TextLine::default() });
        if line.comment.is_none() {
            self.overflow += self.column.saturating_sub(WIDTH);
        }
        self.column = indent;
        self.lines.push(line);
    }

    /// Begins a line of its own at column 0 for a directive.
    fn directive_line(&mut self, kind: TextKind) {
        if self.current.text.is_empty() {
            self.current.indent = 0;
        } else {
            self.newline(0);
        }
        self.current.kind = kind;
    }

    /// Writes a token behind what is there.
    pub(super) fn token(&mut self, i: usize) {
        self.budget = self.budget.saturating_sub(1);
        let token = self.measure.tokens[i];
        let begins = self.current.text.is_empty();
        if token.is_line() && token.kind != Kind::Pragma {
            self.directive_line(TextKind::Directive);
        } else if begins {
            let opened = i > 0 && matches!(self.measure.tokens[i - 1].text, "(" | "[" | "{");
            let closes = matches!(token.text, ")" | "]" | "}");
            self.current.blank |= token.newlines > 1 && !self.lines.is_empty() && !opened && !closes;
        } else if self.measure.space_before(i) {
            self.current.text.push(' ');
            self.column += 1;
        }
        if self.cell_at == Some(i) {
            self.current.cell = Some(self.current.text.len());
        }
        if token.is_comment() {
            self.comment(i, begins);
        } else {
            self.current.text.push_str(token.text);
        }
        self.column = match token.text.rfind('\n') {
            Some(end) => advance(0, &token.text[end + 1..]),
            None => self.column + token.text.chars().count(),
        };
    }

    fn comment(&mut self, i: usize, begins: bool) {
        let token = self.measure.tokens[i];
        let next = self.measure.tokens.get(i + 1);
        let ends =
            token.kind == Kind::LineComment || i + 1 == self.line_end || next.is_none_or(|next| next.newlines > 0);
        if begins {
            if ends {
                self.current.kind = TextKind::Comment;
                self.current.comment_column = Some(token.column);
            }
        } else if ends && !token.text.contains('\n') && self.current.comment.is_none() {
            self.overflow += self.column.saturating_sub(WIDTH + 1);
            self.current.comment = Some(self.current.text.trim_end().len());
            self.current.comment_column = Some(token.column);
        }
        comment_lines(&mut self.current.text, token.text, token.column, self.column);
    }
}

/// Appends a comment that moves from a column to another: its further lines move with it.
fn comment_lines(out: &mut String, text: &str, from: usize, to: usize) {
    for (n, line) in text.split('\n').enumerate() {
        if n == 0 {
            out.push_str(line.trim_end());
            continue;
        }
        out.push('\n');
        let body = line.trim_start_matches([' ', '\t']);
        if body.trim_end().is_empty() {
            continue;
        }
        if from == to {
            out.push_str(line.trim_end());
            continue;
        }
        let indent = advance(0, &line[..line.len() - body.len()]);
        let moved = (indent + to).saturating_sub(from);
        out.extend(std::iter::repeat_n(' ', moved));
        out.push_str(body.trim_end());
    }
}
