//! Joins logical lines that stand in one line: short blocks that the author wrote so, and a short statement behind its `if`.

use crate::lines::{BlockKind, Line, LineKind};
use crate::measure::Measure;
use crate::token::Role;
use crate::{INDENT, WIDTH};

/// Joins lines. The tokens of a joined line follow each other, as lines do.
pub(crate) fn merge(lines: Vec<Line>, roles: &[Role], measure: &Measure<'_, '_>) -> Vec<Line> {
    let mut merger = Merger { lines: Vec::with_capacity(lines.len()), roles, measure, places: Vec::new() };
    for line in lines {
        let place = merger.lines.len();
        merger.places.push(place);
        merger.push(line);
    }
    merger.lines
}

struct Merger<'a, 't> {
    lines: Vec<Line>,
    roles: &'a [Role],
    measure: &'a Measure<'a, 't>,
    /// Where each line went.
    places: Vec<usize>,
}

impl Merger<'_, '_> {
    fn push(&mut self, mut line: Line) {
        if let Some(opener) = line.opener {
            line.opener = Some(self.places[opener]);
        }
        if let Some(first) = self.first_of_block(&line) {
            let end = line.tokens.end;
            let level = self.lines[first].level;
            // A brace that goes on with `else` decides together with the rest.
            let open_end = self.opens(&line);
            let empty = first + 1 == self.lines.len() && line.opener == Some(first);
            if !open_end && (empty || self.fits(self.lines[first].tokens.start, end, level)) {
                self.lines.truncate(first + 1);
                self.lines[first].tokens.end = end;
                return self.settle(first);
            }
        } else if line.behind_head
            && let Some(head) = self.lines.last()
            && head.kind == LineKind::Code
            && head.level + 1 == line.level
            && !self.opens(&line)
            && self.fits(head.tokens.start, line.tokens.end, head.level)
        {
            let last = self.lines.len() - 1;
            self.lines[last].tokens.end = line.tokens.end;
            return self.settle(last);
        }
        self.lines.push(line);
    }

    /// The place of lines to come is that of a joined line.
    fn settle(&mut self, at: usize) {
        let last = self.places.len() - 1;
        self.places[last] = at;
    }

    /// Whether a line goes on in the next one: with a block, or with the statement of an `else`.
    fn opens(&self, line: &Line) -> bool {
        let code = line.tokens.clone().rev().find(|&i| !self.measure.tokens[i].is_comment());
        code.is_some_and(|i| self.roles[i] == Role::BlockOpen || self.measure.tokens[i].is("else"))
    }

    fn fits(&self, start: usize, end: usize, level: usize) -> bool {
        let code_end = self.measure.without_comment(start, end);
        !self.measure.has_break(start, code_end) && level * INDENT + self.measure.width(start, code_end) <= WIDTH
    }

    /// The first of the lines that a closing line may be joined with: all blocks from there on may stand in one line.
    fn first_of_block(&self, closing: &Line) -> Option<usize> {
        let mut opener = closing.opener?;
        let mut end = self.lines.len();
        let mut close = closing.tokens.start;
        loop {
            let head = self.lines.get(opener)?;
            let open = self.measure.without_comment(head.tokens.start, head.tokens.end) - 1;
            if self.roles[open] != Role::BlockOpen || head.tokens.end != open + 1 {
                return None;
            }
            let inside = &self.lines[opener + 1..end];
            let empty = inside.is_empty();
            let kind = inside.first().map(|line| line.block);
            let list = matches!(kind, Some(BlockKind::Keys | BlockKind::Actions | BlockKind::Enum));
            let short = inside.len() <= 1 || list;
            let plain = inside.iter().all(|line| line.kind == LineKind::Code && line.opener.is_none());
            let one_line = self.measure.newlines(open, close + 1) == 0;
            if !(empty || (short && plain && one_line)) {
                return None;
            }
            match head.opener {
                Some(before) => {
                    end = opener;
                    close = head.tokens.start;
                    opener = before;
                }
                None => return Some(opener),
            }
        }
    }
}
