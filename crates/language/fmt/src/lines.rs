//! Splits tokens into logical lines: a declaration's head up to its brace, a statement, a brace that closes a block, a comment or a
//! directive. Finds by keywords and brackets what the text consists of; macros and unfinished code are lines, too.
//!
//! A branch of a conditional begins with the blocks that were open at its `#if`, so that branches may open and close blocks
//! independently of each other. Behind `#endif` goes on what the first branch left open.

mod blocks;

use std::ops::Range;

use crate::roles::opens_annotation;
use crate::token::{Directive, Kind, Role, Token};
pub(crate) use blocks::BlockKind;
use blocks::{Block, is_keyword};

/// A logical line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its tokens, with a comment behind it.
    pub tokens: Range<usize>,
    /// The number of blocks around it.
    pub level: usize,
    pub kind: LineKind,
    /// The block around it.
    pub block: BlockKind,
    /// Of a line that begins with a closing brace: the line that opened the block.
    pub opener: Option<usize>,
    /// Of a statement without braces: it stands behind the head of its `if` in the text.
    pub behind_head: bool,
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Code,
    Comment,
    /// A directive, or lines that are not formatted.
    Directive,
}

/// Splits tokens into lines. `closing` has for each opening bracket the one that closes it. Sets the roles of braces and colons.
pub(crate) fn lines(tokens: &[Token<'_>], closing: &[usize], roles: &mut [Role]) -> Vec<Line> {
    let stack = vec![Block { kind: BlockKind::File, level: 0, opener: 0 }];
    let (lines, conditionals) = (Vec::new(), Vec::new());
    let mut splitter =
        Splitter { tokens, closing, roles, lines, stack, current: None, conditionals, annotation_end: 0 };
    for i in 0..tokens.len() {
        splitter.token(i);
    }
    splitter.end_line(tokens.len());
    splitter.lines
}

/// The line that is being read.
#[derive(Clone)]
struct Current {
    start: usize,
    level: usize,
    opener: Option<usize>,
    behind_head: bool,
    /// Open brackets, and how many `?` in each wait for their `:`. The first is the line itself.
    brackets: Vec<Bracket>,
    head: Head,
    /// There was an assignment outside of brackets.
    assigned: bool,
}

#[derive(Clone, Copy)]
struct Bracket {
    open: &'static str,
    questions: u32,
}

/// How far the head of an `if` or a loop has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    None,
    If,
    Loop,
}

/// An open conditional.
struct Conditional {
    stack: Vec<Block>,
    /// The line that its `#if` stands in.
    current: Option<Current>,
    /// The blocks that the first branch left open.
    first_end: Option<Vec<Block>>,
    /// The branch at hand is not formatted.
    skipped: bool,
}

struct Splitter<'a, 't> {
    tokens: &'a [Token<'t>],
    /// For each opening bracket, the one that closes it.
    closing: &'a [usize],
    roles: &'a mut [Role],
    lines: Vec<Line>,
    stack: Vec<Block>,
    current: Option<Current>,
    conditionals: Vec<Conditional>,
    /// The end of the annotation that is being read.
    annotation_end: usize,
}

impl Splitter<'_, '_> {
    fn block(&self) -> Block {
        self.stack[self.stack.len() - 1]
    }

    fn token(&mut self, i: usize) {
        let token = self.tokens[i];
        match token.kind {
            Kind::Directive(kind) => self.directive(i, kind),
            Kind::Skipped => self.whole_line(i),
            Kind::Pragma => {
                if i >= self.annotation_end && self.current.as_ref().is_some_and(|c| c.brackets.len() == 1) {
                    self.end_line(i);
                }
                self.whole_line(i);
            }
            Kind::LineComment | Kind::BlockComment => self.comment(i),
            _ => self.code(i),
        }
    }

    /// A token that has a line of its own unless it stands within another.
    fn whole_line(&mut self, i: usize) {
        if self.current.is_none() {
            let level = if self.tokens[i].kind == Kind::Pragma { self.block().level } else { 0 };
            self.push_line(i..i + 1, level, LineKind::Directive, None, false);
        }
    }

    fn push_line(
        &mut self,
        tokens: Range<usize>,
        level: usize,
        kind: LineKind,
        opener: Option<usize>,
        behind_head: bool,
    ) {
        let block = self.block().kind;
        self.lines.push(Line { tokens, level, kind, block, opener, behind_head });
    }

    fn directive(&mut self, i: usize, kind: Directive) {
        // `} else` with its statement in branches.
        if self.current.is_some() && self.previous(i).is_some_and(|p| self.tokens[p].is("else")) {
            self.end_line(i);
        }
        match kind {
            Directive::If | Directive::IfZero => self.conditionals.push(Conditional {
                stack: self.stack.clone(),
                current: self.current.clone(),
                first_end: None,
                skipped: kind == Directive::IfZero,
            }),
            Directive::Else => self.next_branch(i),
            Directive::Endif => {
                if let Some(Conditional { first_end: Some(first), current: None, .. }) = self.conditionals.pop()
                    && self.current.is_none()
                {
                    self.stack = first;
                }
            }
            Directive::Other => {}
        }
        self.whole_line(i);
    }

    /// Returns to the state at the conditional's `#if`.
    fn next_branch(&mut self, i: usize) {
        let Some(mut conditional) = self.conditionals.pop() else { return };
        let start = |current: &Option<Current>| current.as_ref().map(|c| c.start);
        let same_line = start(&self.current) == start(&conditional.current);
        if !same_line {
            self.end_line(i);
        }
        if conditional.current.is_none() {
            if conditional.first_end.is_none() && !conditional.skipped {
                conditional.first_end = Some(self.stack.clone());
            }
            conditional.skipped = false;
        }
        self.stack.clone_from(&conditional.stack);
        match (&conditional.current, same_line) {
            (Some(at_if), true) => self.current = Some(at_if.clone()),
            (Some(at_if), false) => {
                // The first branch ended the line: a further line ends it again.
                self.current = Some(Current {
                    start: i,
                    level: at_if.level + 1,
                    opener: None,
                    behind_head: false,
                    ..at_if.clone()
                });
                conditional.current.clone_from(&self.current);
            }
            (None, _) => {}
        }
        self.conditionals.push(conditional);
    }

    fn comment(&mut self, i: usize) {
        if self.current.is_some() {
            return;
        }
        let token = self.tokens[i];
        let ends = token.kind == Kind::LineComment || self.tokens.get(i + 1).is_none_or(|next| next.newlines > 0);
        let behind = token.newlines == 0
            && self
                .lines
                .last()
                .is_some_and(|line| line.kind == LineKind::Code || self.tokens[line.tokens.start].kind == Kind::Pragma);
        if behind && ends {
            if let Some(line) = self.lines.last_mut() {
                line.tokens.end = i + 1;
            }
        } else if ends {
            let level = self.block().level;
            self.push_line(i..i + 1, level, LineKind::Comment, None, false);
        } else {
            self.start_line(i, None);
        }
    }

    fn start_line(&mut self, i: usize, opener: Option<usize>) {
        let block = self.block();
        let brackets = vec![Bracket { open: "", questions: 0 }];
        let behind_head = matches!(block.kind, BlockKind::Body { .. }) && self.tokens[i].newlines == 0;
        let (head, assigned) = (Head::None, false);
        self.current = Some(Current { start: i, level: block.level, opener, behind_head, brackets, head, assigned });
    }

    /// Ends the line before token `end`.
    fn end_line(&mut self, end: usize) {
        if let Some(current) = self.current.take()
            && current.start < end
        {
            let Current { start, level, opener, behind_head, .. } = current;
            self.push_line(start..end, level, LineKind::Code, opener, behind_head);
        }
    }

    fn code(&mut self, i: usize) {
        if i < self.annotation_end && self.current.is_some() {
            return;
        }
        if opens_annotation(self.tokens, i) && self.current.is_some() {
            self.annotation_end = self.closing[i] + 1;
            return;
        }
        if self.current.is_some() && self.ends_before(i) {
            self.end_line(i);
            self.complete_statement(i);
        }
        if self.tokens[i].is("}") && !self.in_list() {
            self.close_block(i);
            return;
        }
        if self.current.is_none() {
            self.start_line(i, None);
        }
        let Some(mut current) = self.current.take() else { return };
        let ended = self.code_in_line(i, &mut current);
        self.current = Some(current);
        match ended {
            Ended::No => {}
            Ended::Line => self.end_line(i + 1),
            Ended::Statement => {
                self.end_line(i + 1);
                self.complete_statement(i + 1);
            }
            Ended::Head { is_if } => {
                let level = self.current.as_ref().map_or(0, |c| c.level) + 1;
                self.end_line(i + 1);
                self.stack.push(Block { kind: BlockKind::Body { is_if }, level, opener: 0 });
            }
            Ended::BlockHead(kind) => {
                let level = self.current.as_ref().map_or(0, |c| c.level) + 1;
                self.roles[i] = Role::BlockOpen;
                self.end_line(i + 1);
                self.stack.push(Block { kind, level, opener: self.lines.len() - 1 });
            }
        }
    }

    /// Whether the line has an open brace.
    fn in_list(&self) -> bool {
        self.current.as_ref().is_some_and(|c| c.brackets.iter().any(|b| b.open == "{"))
    }

    /// Reads a token of a line, other than a brace that closes a block.
    fn code_in_line(&mut self, i: usize, current: &mut Current) -> Ended {
        let token = self.tokens[i];
        let outside = current.brackets.len() == 1;
        match (token.kind, token.text) {
            (Kind::Word, "if") if outside => current.head = Head::If,
            (Kind::Word, "for") if outside && current.start == i => current.head = Head::Loop,
            (Kind::Word, "else")
                if outside && !self.next_code(i + 1).is_some_and(|next| next.is("{") || next.is("if")) =>
            {
                return Ended::Head { is_if: false };
            }
            (Kind::Punct, "=") if outside => current.assigned = true,
            (Kind::Punct, "(") => current.open("("),
            (Kind::Punct, "[") => current.open("["),
            (Kind::Punct, ")") => {
                current.close("(");
                if current.brackets.len() == 1 && current.head != Head::None {
                    let is_if = current.head == Head::If;
                    current.head = Head::None;
                    if !self.next_code(i + 1).is_some_and(|next| next.is("{")) {
                        return Ended::Head { is_if };
                    }
                }
            }
            (Kind::Punct, "]") => current.close("["),
            (Kind::Punct, "{") if outside => match self.block_kind(i, current) {
                Some(kind) => return Ended::BlockHead(kind),
                None => {
                    self.roles[i] = Role::ListOpen;
                    current.open("{");
                }
            },
            (Kind::Punct, "{") => {
                self.roles[i] = Role::ListOpen;
                current.open("{");
            }
            (Kind::Punct, "}") => {
                self.roles[i] = Role::ListClose;
                current.close("{");
            }
            (Kind::Punct, ";") if outside => return Ended::Statement,
            (Kind::Punct, ",") if outside && self.block().kind == BlockKind::Enum => return Ended::Line,
            (Kind::Punct, "?") => current.bracket().questions += 1,
            (Kind::Punct, ":") => return self.colon(i, current),
            _ => {}
        }
        Ended::No
    }

    fn colon(&mut self, i: usize, current: &mut Current) -> Ended {
        let bracket = current.bracket();
        let kind = self.block().kind;
        if bracket.questions > 0 {
            bracket.questions -= 1;
            self.roles[i] = Role::Binary(1);
        } else if bracket.open == "[" {
            let single = self.tokens.get(i + 2).is_some_and(|t| t.is("]")) && i >= 2 && self.tokens[i - 2].is("[");
            self.roles[i] = Role::SliceColon(!single);
        } else if bracket.open.is_empty() && matches!(kind, BlockKind::Switch | BlockKind::Select) {
            self.roles[i] = Role::LabelColon;
            if kind == BlockKind::Switch && !self.next_code(i + 1).is_some_and(|next| next.is("{")) {
                return Ended::Line;
            }
        } else if current.assigned && self.tokens[current.start..i].iter().take(4).any(|t| t.is("priority")) {
            current.assigned = false;
            self.roles[i] = Role::LabelColon;
        } else {
            self.roles[i] = Role::KeyColon;
        }
        Ended::No
    }

    /// A brace that closes a block.
    fn close_block(&mut self, i: usize) {
        self.end_line(i);
        while let BlockKind::Body { .. } = self.block().kind {
            self.stack.pop();
        }
        self.roles[i] = Role::BlockClose;
        if self.stack.len() == 1 {
            self.start_line(i, None);
            self.end_line(i + 1);
            return;
        }
        let closed = self.block();
        self.stack.pop();
        self.start_line(i, Some(closed.opener));
        if let Some(current) = &mut self.current {
            current.behind_head = false;
        }
        let follows = self.tokens.get(i + 1).is_some_and(|next| {
            let closes = [";", ",", ")", "]"].iter().any(|text| next.is(text));
            closes || (next.is("else") && matches!(closed.kind, BlockKind::Branch))
        });
        if follows || closed.kind == BlockKind::Initialiser {
            return;
        }
        self.end_line(i + 1);
        let more =
            matches!(closed.kind, BlockKind::Branch) && self.next_code(i + 1).is_some_and(|next| next.is("else"));
        if !more {
            self.complete_statement(i + 1);
        }
    }

    /// Ends the statements that the one before token `next` completes: those of which it is the body.
    fn complete_statement(&mut self, next: usize) {
        let more = self.next_code(next).is_some_and(|token| token.is("else"));
        while let BlockKind::Body { is_if } = self.block().kind {
            self.stack.pop();
            if is_if && more {
                return;
            }
        }
    }

    /// The last token before `i` that is no comment or directive.
    fn previous(&self, i: usize) -> Option<usize> {
        (0..i).rev().find(|&p| !self.tokens[p].is_comment() && !self.tokens[p].is_line())
    }

    /// The first token from `i` on that is no comment or directive.
    fn next_code(&self, i: usize) -> Option<Token<'_>> {
        self.tokens[i..].iter().find(|t| !t.is_comment() && !t.is_line()).copied()
    }

    /// Whether the line ends before a token that begins a line of the text, although nothing says so.
    fn ends_before(&self, i: usize) -> bool {
        let Some(current) = &self.current else { return false };
        let next = self.tokens[i];
        let line = current.start..i;
        if next.newlines == 0 || current.brackets.len() > 1 {
            return false;
        }
        if next.is("(") || next.is("[") {
            return false;
        }
        if self.is_annotation(line.clone()) {
            return true;
        }
        if next.kind != Kind::Word && !next.is("@") {
            return false;
        }
        let last = self.previous(i).map(|p| self.tokens[p]);
        let operand = last.is_some_and(|t| match t.kind {
            Kind::Word | Kind::Int | Kind::Str => true,
            _ => t.is(")") || t.is("]") || t.is("}"),
        });
        if !operand || next.is("in") {
            return false;
        }
        let after_block = self.roles[current.start] == Role::BlockClose && line.len() == 1;
        (current.assigned && !next.is("@")) || (after_block && !next.is("else")) || self.is_macro(line, i)
    }

    /// Whether tokens are annotations only.
    fn is_annotation(&self, tokens: Range<usize>) -> bool {
        let mut at = tokens.start;
        while at < tokens.end {
            if !self.tokens[at].is("@") {
                return false;
            }
            at += 2;
            if at < tokens.end && (self.tokens[at].is("(") || self.tokens[at].is("[")) {
                at = self.behind_brackets(at).min(tokens.end);
            }
        }
        at == tokens.end
    }

    /// The token behind the bracket that closes the one at `open`.
    fn behind_brackets(&self, open: usize) -> usize {
        (self.closing[open] + 1).min(self.tokens.len())
    }

    /// Whether tokens before `next` are calls of macros that stand for whole declarations or statements.
    fn is_macro(&self, tokens: Range<usize>, next: usize) -> bool {
        let name = self.tokens[tokens.start];
        if name.kind != Kind::Word || is_keyword(name.text) {
            return false;
        }
        let mut at = tokens.start;
        let mut calls = false;
        while at < tokens.end {
            if self.tokens[at].kind != Kind::Word {
                return false;
            }
            at += 1;
            calls = at < tokens.end && self.tokens[at].is("(");
            if calls {
                at = self.behind_brackets(at);
            }
        }
        if at != tokens.end || (tokens.len() > 1 && !calls) {
            return false;
        }
        if !name.text.contains(|c: char| c.is_ascii_lowercase()) {
            return true;
        }
        // `Type(arguments) name;` or `type name = …;` in two lines.
        let behind = |n: usize, text: &str| self.tokens.get(next + n).is_some_and(|t| t.is(text));
        let declares = behind(1, ";") || (behind(1, "=") && (behind(2, "{") || !calls));
        !declares
    }
}

/// What a token ends.
enum Ended {
    No,
    /// The line, but no statement.
    Line,
    Statement,
    /// The head of a statement whose body has no braces.
    Head {
        is_if: bool,
    },
    /// The head of a block.
    BlockHead(BlockKind),
}

impl Current {
    fn open(&mut self, open: &'static str) {
        self.brackets.push(Bracket { open, questions: 0 });
    }

    /// Closes the innermost bracket of this kind, and those within it; nothing if there is none.
    fn close(&mut self, open: &str) {
        if let Some(at) = self.brackets.iter().rposition(|b| b.open == open) {
            self.brackets.truncate(at);
        }
    }

    fn bracket(&mut self) -> &mut Bracket {
        let last = self.brackets.len() - 1;
        &mut self.brackets[last]
    }
}
