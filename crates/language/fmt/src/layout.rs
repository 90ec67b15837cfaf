//! Lays out logical lines: writes each in one line of text if it fits, and breaks it at commas and operators if not.
//!
//! Where the author broke a line at a comma or an operator it stays broken. Of several layouts the one is taken whose lines are least
//! too long, and of those the first one.

mod tree;
mod writer;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::lines::{BlockKind, Line, LineKind};
use crate::measure::{Measure, ends_operand};
use crate::token::{Kind, Role};
use crate::{INDENT, WIDTH};
use tree::{Group, Item, Node};
use writer::Writer;
pub(crate) use writer::{TextKind, TextLine};

/// Lays out all lines.
pub(crate) fn layout(lines: &[Line], measure: &Measure<'_, '_>) -> Vec<TextLine> {
    let mut layout = Layout { w: Writer::new(measure) };
    let mut opened = true;
    for line in lines {
        let first = layout.w.lines.len();
        layout.line(line);
        let tokens = &measure.tokens[line.tokens.clone()];
        let closes = measure.roles[line.tokens.start] == Role::BlockClose;
        let body = matches!(line.block, BlockKind::Body { .. });
        layout.w.lines[first].blank = tokens[0].newlines > 1 && !opened && !closes && !body;
        let code = measure.without_comment(line.tokens.start, line.tokens.end);
        opened = measure.roles[code - 1] == Role::BlockOpen;
    }
    without_blanks_before_closing(&mut layout.w.lines);
    layout.w.lines
}

/// Removes the empty lines between directives and the brace that closes the block around them.
fn without_blanks_before_closing(lines: &mut [TextLine]) {
    for line in lines {
        if line.text.starts_with('}') {
            line.blank = false;
        }
    }
}

/// Where breaks are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    /// Where the author made them.
    Author,
    /// There, and at all operators of this precedence and of lower ones.
    Operators(u8),
    /// There, and between annotations and what they belong to.
    Annotations,
    /// There, and before the name that a type declares.
    Name,
}

/// Where the items of brackets begin.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Style {
    /// The first item in a line of its own, indented; else below each other behind the bracket.
    hanging: bool,
    /// Each item in a line of its own; else as the author has them.
    all: bool,
}

struct Layout<'a, 't> {
    w: Writer<'a, 't>,
}

impl Layout<'_, '_> {
    fn line(&mut self, line: &Line) {
        let measure = self.w.measure;
        let indent = if line.kind == LineKind::Directive && measure.tokens[line.tokens.start].kind != Kind::Pragma {
            0
        } else {
            line.level * INDENT
        };
        self.w.current = TextLine { indent, ..TextLine::default() };
        self.w.column = indent;
        self.w.budget = 20_000 + 20 * line.tokens.len();
        let end = measure.without_comment(line.tokens.start, line.tokens.end);
        let code = line.tokens.start..end;
        self.w.cell_at = cell(line, end, measure);
        self.w.line_end = line.tokens.end;
        if !measure.has_break(code.start, end) && indent + measure.width(code.start, end) <= WIDTH {
            code.for_each(|i| self.w.token(i));
        } else {
            let nodes = tree::tree(measure, code, 0);
            self.statement(&nodes, indent);
        }
        self.comments(end..line.tokens.end, indent);
        self.w.newline(0);
    }

    /// Comments behind code; further ones begin lines at a column.
    fn comments(&mut self, tokens: Range<usize>, column: usize) {
        for i in tokens {
            if self.w.measure.must_break(i) {
                self.w.newline(column);
            }
            self.w.token(i);
        }
    }

    /// A whole line: what stands before `=` or a keyword, and behind it.
    fn statement(&mut self, nodes: &[Node], base: usize) {
        let measure = self.w.measure;
        let split = nodes.iter().position(|node| match node {
            Node::Token(i) => {
                measure.roles[*i] == Role::Assign || matches!(measure.tokens[*i].text, "return" | "transition")
            }
            Node::Group(_) => false,
        });
        let continuation = base + INDENT;
        let Some(split) = split.filter(|at| at + 1 < nodes.len()) else {
            let mut variants = vec![Breaks::Author];
            variants.extend(self.precedences(nodes).into_iter().map(Breaks::Operators));
            variants.extend([Breaks::Annotations, Breaks::Name]);
            let annotated = measure.tokens[nodes[0].first()].is("@");
            if annotated && !measure.has_break(nodes[0].first(), nodes[nodes.len() - 1].end()) {
                variants.insert(0, Breaks::Annotations);
            }
            self.try_variants(&variants, 0, |layout, breaks| layout.nodes(nodes, base, continuation, 0, breaks));
            return;
        };
        let (head, value) = nodes.split_at(split + 1);
        let after_assign = matches!(head[split], Node::Token(i) if measure.roles[i] == Role::Assign);
        let ways: &[Option<Breaks>] = if after_assign {
            &[None, Some(Breaks::Author), Some(Breaks::Annotations), Some(Breaks::Name)]
        } else {
            &[None]
        };
        self.try_variants_by_lines(ways, 0, |layout, way| {
            layout.nodes(head, base, continuation, 0, way.unwrap_or(Breaks::Author));
            if way == Some(Breaks::Author) {
                layout.w.newline(continuation);
            }
            layout.expression(value, 0);
        });
    }

    /// An expression, whose further lines begin below it.
    fn expression(&mut self, nodes: &[Node], trail: usize) {
        let measure = self.w.measure;
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return };
        let (start, end) = (first.first(), last.end());
        let code_end = measure.without_comment(start, end);
        let broken = measure.has_break(start, code_end);
        let space = usize::from(measure.space_before(start) && !self.w.current.text.is_empty());
        let column = self.w.column + space;
        if !broken && column + measure.width(start, code_end) + trail <= WIDTH {
            (start..code_end).for_each(|i| self.w.token(i));
            self.comments(code_end..end, column);
            return;
        }
        let precedences = self.precedences(nodes);
        if precedences.is_empty() {
            let variants = [Breaks::Author, Breaks::Annotations];
            let variants = if measure.tokens[start].is("@") { &variants[..] } else { &variants[..1] };
            self.try_variants(variants, trail, |layout, breaks| layout.nodes(nodes, column, column, trail, breaks));
            return;
        }
        let mut variants: Vec<Breaks> = precedences.into_iter().map(Breaks::Operators).collect();
        variants.insert(if broken { 0 } else { variants.len() }, Breaks::Author);
        // Conditions are broken at their operators, however short another layout would be.
        let condition = self.precedences(nodes).first().is_some_and(|lowest| *lowest <= 3);
        if broken || condition {
            self.try_variants(&variants, trail, |layout, breaks| layout.nodes(nodes, column, column, trail, breaks));
        } else {
            self.try_variants_by_lines(&variants, trail, |layout, breaks| {
                layout.nodes(nodes, column, column, trail, breaks)
            });
        }
    }

    /// The precedences of the operators of a sequence, the lowest first.
    fn precedences(&self, nodes: &[Node]) -> BTreeSet<u8> {
        let precedence = |node: &Node| match node {
            Node::Token(i) => match self.w.measure.roles[*i] {
                Role::Binary(precedence) => Some(precedence),
                _ => None,
            },
            Node::Group(_) => None,
        };
        nodes.iter().filter_map(precedence).collect()
    }

    /// Writes nodes; where lines break, at column `base` or `continuation`.
    fn nodes(&mut self, nodes: &[Node], base: usize, continuation: usize, trail: usize, breaks: Breaks) {
        let measure = self.w.measure;
        let mut annotations = true;
        for (n, node) in nodes.iter().enumerate() {
            let i = node.first();
            let token = measure.tokens[i];
            annotations &= self.in_annotation(nodes, n);
            if n > 0 && (measure.must_break(i) || self.breaks_before(nodes, n, breaks)) {
                // What is annotated begins below its annotations, and a block's brace below its head.
                let block = measure.roles[i] == Role::BlockOpen || token.kind == Kind::Pragma;
                let column =
                    if block || token.is_line() || self.annotated(nodes, n, annotations) { base } else { continuation };
                self.w.newline(column);
            }
            match node {
                Node::Token(i) => self.w.token(*i),
                Node::Group(group) => {
                    let rest = self.attached(&nodes[n + 1..], trail, breaks);
                    self.group(group, rest);
                }
            }
        }
    }

    /// Whether a node is part of an annotation.
    fn in_annotation(&self, nodes: &[Node], n: usize) -> bool {
        let is_at = |n: usize| matches!(&nodes[n], Node::Token(i) if self.w.measure.tokens[*i].is("@"));
        is_at(n) || (n > 0 && is_at(n - 1)) || (n > 1 && is_at(n - 2) && matches!(nodes[n], Node::Group(_)))
    }

    /// Whether a node follows nothing but annotations.
    fn annotated(&self, nodes: &[Node], n: usize, annotations: bool) -> bool {
        annotations || (n > 0 && (0..n).all(|m| self.in_annotation(nodes, m)))
    }

    fn breaks_before(&self, nodes: &[Node], n: usize, breaks: Breaks) -> bool {
        let measure = self.w.measure;
        let role = |n: usize| match &nodes[n] {
            Node::Token(i) => measure.roles[*i],
            Node::Group(_) => Role::Other,
        };
        match breaks {
            Breaks::Author => false,
            // `?` and `:` begin lines, other operators end them.
            Breaks::Operators(most) => {
                role(n) == Role::Binary(1)
                    || matches!(role(n - 1), Role::Binary(precedence) if (2..=most).contains(&precedence))
            }
            Breaks::Annotations => {
                let starts = matches!(&nodes[n], Node::Token(i) if measure.tokens[*i].is("@"));
                let ends = self.in_annotation(nodes, n - 1) && !self.in_annotation(nodes, n);
                starts || (ends && !ends_operand(&measure.tokens[nodes[n].first()]))
            }
            Breaks::Name => {
                let word = matches!(&nodes[n], Node::Token(i) if measure.tokens[*i].kind == Kind::Word);
                let typed = match &nodes[n - 1] {
                    Node::Token(i) => measure.roles[*i] == Role::AngleClose,
                    Node::Group(group) => measure.tokens[group.open].is("("),
                };
                word && typed && !self.in_annotation(nodes, n - 1)
            }
        }
    }

    /// The width of what follows a group before the next place where the line may break.
    fn attached(&self, nodes: &[Node], trail: usize, breaks: Breaks) -> usize {
        let measure = self.w.measure;
        let mut width = 0;
        for node in nodes {
            let i = node.first();
            if measure.must_break(i) || measure.tokens[i].is_comment() {
                return width;
            }
            width += usize::from(measure.space_before(i));
            match node {
                Node::Group(_) => return width + 1,
                Node::Token(_) => width += measure.tokens[i].text.chars().count(),
            }
            if let (Role::Binary(precedence), Breaks::Operators(most)) = (measure.roles[i], breaks)
                && precedence <= most
            {
                return width;
            }
        }
        width + trail
    }

    fn group(&mut self, group: &Group, trail: usize) {
        let measure = self.w.measure;
        let fits = |column: usize| column + measure.width(group.open, group.close + 1) + trail <= WIDTH;
        let space = usize::from(measure.space_before(group.open) && !self.w.current.text.is_empty());
        let broken = measure.has_break(group.open, group.close + 1);
        let [first, ..] = group.items.as_slice() else {
            (group.open..=group.close).for_each(|i| self.w.token(i));
            return;
        };
        if !broken && fits(self.w.column + space) {
            (group.open..=group.close).for_each(|i| self.w.token(i));
            return;
        }
        let style = |hanging, all| Style { hanging, all };
        let authors = group.items[1..].iter().any(|item| measure.must_break(item.tokens.start));
        let several = group.items.len() > 1;
        let variants: &[Style] = if measure.must_break(first.tokens.start)
            && !measure.tokens[first.tokens.start].is_comment()
        {
            &[style(true, false), style(true, true)]
        } else if measure.tokens[group.open].is("[") || measure.roles[group.close] == Role::Verbatim {
            &[style(false, false)]
        } else if !several {
            if self.is_call(group.open) { &[style(false, false), style(true, true)] } else { &[style(false, false)] }
        } else if authors || broken {
            &[style(false, false), style(false, true), style(true, true)]
        } else {
            &[style(false, true), style(false, false), style(true, true)]
        };
        self.try_variants(variants, trail, |layout, style| layout.items(group, trail, style));
    }

    /// Whether a bracket begins the arguments or parameters of something.
    fn is_call(&self, open: usize) -> bool {
        let measure = self.w.measure;
        open > 0 && !measure.space_before(open) && {
            measure.tokens[open - 1].kind == Kind::Word || measure.roles[open - 1] == Role::AngleClose
        }
    }

    /// Writes brackets with the items between them.
    fn items(&mut self, group: &Group, trail: usize, style: Style) {
        let measure = self.w.measure;
        let outer = self.w.current.indent;
        self.w.token(group.open);
        let own_line = style.hanging && measure.must_break(group.close) && measure.tokens[group.close].newlines > 0;
        let head =
            measure.tokens.get(group.close + 1).is_some_and(|_| measure.roles[group.close + 1] == Role::BlockOpen);
        let deeper = if head && !own_line { 2 * INDENT } else { INDENT };
        let inner = usize::from(measure.tokens[group.open].is("{"));
        let column = if style.hanging { outer + deeper } else { self.w.column + inner };
        for (n, item) in group.items.iter().enumerate() {
            let breaks = if n == 0 {
                style.hanging || measure.must_break(item.tokens.start)
            } else {
                style.all || measure.must_break(item.tokens.start)
            };
            if breaks {
                self.w.newline(column);
            }
            let last = n + 1 == group.items.len();
            let rest = if last && !own_line { trail + 1 + inner } else { 0 };
            self.item(item, column, rest);
        }
        let after_comment =
            measure.tokens[group.close - 1].kind == Kind::LineComment || measure.tokens[group.close - 1].is_line();
        if own_line || after_comment {
            self.w.newline(if own_line { outer } else { column });
        } else if measure.must_break(group.close) && !style.hanging && measure.tokens[group.close - 1].is_comment() {
            self.w.newline(column);
        }
        self.w.token(group.close);
    }

    /// Writes an item: comments in lines of their own, then an expression.
    fn item(&mut self, item: &Item, column: usize, trail: usize) {
        let measure = self.w.measure;
        let mut nodes = item.nodes.as_slice();
        while let [Node::Token(i), rest @ ..] = nodes {
            let token = measure.tokens[*i];
            if !(token.is_comment() || token.is_line())
                || rest.first().is_none_or(|next| !measure.must_break(next.first()))
            {
                break;
            }
            self.w.token(*i);
            self.w.newline(column);
            nodes = rest;
        }
        self.expression(nodes, trail);
    }

    /// Takes the variant whose lines are least too long, and of those the first.
    fn try_variants<V: Copy>(&mut self, variants: &[V], trail: usize, write: impl FnMut(&mut Self, V)) {
        self.choose(variants, trail, |(overflow, _)| (overflow, 0), write);
    }

    /// As [`Self::try_variants`], but of equally good ones the shortest.
    fn try_variants_by_lines<V: Copy>(&mut self, variants: &[V], trail: usize, write: impl FnMut(&mut Self, V)) {
        self.choose(variants, trail, |cost| cost, write);
    }

    fn choose<V: Copy>(
        &mut self,
        variants: &[V],
        trail: usize,
        rank: impl Fn((usize, usize)) -> (usize, usize),
        mut write: impl FnMut(&mut Self, V),
    ) {
        let start = self.w.mark();
        let mut best: Option<((usize, usize), V)> = None;
        let mut written = None;
        for (n, &variant) in variants.iter().enumerate() {
            if n > 0 {
                self.w.rewind(&start);
            }
            write(self, variant);
            written = Some(n);
            let cost = rank(self.w.cost(&start, trail));
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, variant));
                if cost.0 == 0 && rank((0, 1)) == (0, 0) {
                    return;
                }
            } else {
                written = None;
            }
            if self.w.budget == 0 {
                break;
            }
        }
        if let (Some((_, variant)), None) = (best, written) {
            self.w.rewind(&start);
            write(self, variant);
        }
    }
}

/// The token at which the second column of a declaration begins: a field's name, or the colon of a key or entry.
fn cell(line: &Line, end: usize, measure: &Measure<'_, '_>) -> Option<usize> {
    let tokens = line.tokens.start..end;
    match line.block {
        BlockKind::Keys | BlockKind::Entries => {
            tokens.clone().find(|&i| measure.roles[i] == Role::KeyColon).filter(|_| line.kind == LineKind::Code)
        }
        BlockKind::Fields => {
            let name = end.checked_sub(2)?;
            let declares =
                measure.tokens[end - 1].is(";") && measure.tokens[name].kind == Kind::Word && name > tokens.start;
            (declares && !measure.tokens[name - 1].is("@")).then_some(name)
        }
        BlockKind::File if tokens.clone().any(|i| measure.tokens[i].is("typedef")) => {
            let name = end.checked_sub(2)?;
            (measure.tokens[end - 1].is(";") && name > tokens.start + 1).then_some(name)
        }
        _ => None,
    }
}
