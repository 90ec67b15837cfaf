//! The brackets of a logical line as a tree.

use std::ops::Range;

use crate::measure::Measure;
use crate::token::Kind;

/// Brackets nested more deeply are tokens like others.
const MAX_DEPTH: usize = 60;

/// A part of a line.
#[derive(Debug)]
pub(super) enum Node {
    Token(usize),
    Group(Group),
}

/// Brackets with what is between them.
#[derive(Debug)]
pub(super) struct Group {
    pub open: usize,
    pub close: usize,
    /// What commas separate, each with its comma.
    pub items: Vec<Item>,
}

/// A sequence of nodes.
#[derive(Debug)]
pub(super) struct Item {
    pub nodes: Vec<Node>,
    pub tokens: Range<usize>,
}

impl Node {
    pub(super) fn first(&self) -> usize {
        match self {
            Node::Token(i) => *i,
            Node::Group(group) => group.open,
        }
    }

    pub(super) fn end(&self) -> usize {
        match self {
            Node::Token(i) => i + 1,
            Node::Group(group) => group.close + 1,
        }
    }
}

/// The tree of tokens.
pub(super) fn tree(measure: &Measure<'_, '_>, tokens: Range<usize>, depth: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut i = tokens.start;
    while i < tokens.end {
        let close = measure.closing[i];
        let token = measure.tokens[i];
        let opens =
            token.is("(") || token.is("[") || (token.is("{") && measure.roles[i] != crate::token::Role::BlockOpen);
        if opens && close > i && close < tokens.end && depth < MAX_DEPTH && is_closing(measure, close) {
            nodes.push(Node::Group(Group { open: i, close, items: items(measure, i + 1..close, depth + 1) }));
            i = close + 1;
        } else {
            nodes.push(Node::Token(i));
            i += 1;
        }
    }
    nodes
}

fn is_closing(measure: &Measure<'_, '_>, i: usize) -> bool {
    matches!(measure.tokens[i].text, ")" | "]" | "}")
}

/// What commas separate. A comment behind a comma belongs to the item before it.
fn items(measure: &Measure<'_, '_>, tokens: Range<usize>, depth: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut start = tokens.start;
    let mut i = start;
    let mut angles = 0usize;
    while i < tokens.end {
        let token = measure.tokens[i];
        match measure.roles[i] {
            crate::token::Role::AngleOpen => angles += 1,
            crate::token::Role::AngleClose => angles = angles.saturating_sub(1),
            _ => {}
        }
        i = measure.closing[i].clamp(i, tokens.end - 1) + 1;
        if token.kind == Kind::Punct && token.text == "," && angles == 0 {
            while i < tokens.end && is_behind(measure, i) {
                i += 1;
            }
            items.push(item(measure, start..i, depth));
            start = i;
        }
    }
    if start < tokens.end {
        items.push(item(measure, start..tokens.end, depth));
    }
    items
}

/// Whether a token is a comment that ends the line of what stands before it.
fn is_behind(measure: &Measure<'_, '_>, i: usize) -> bool {
    let token = measure.tokens[i];
    let ends = token.kind == Kind::LineComment || measure.tokens.get(i + 1).is_none_or(|next| next.newlines > 0);
    token.is_comment() && token.newlines == 0 && ends
}

fn item(measure: &Measure<'_, '_>, tokens: Range<usize>, depth: usize) -> Item {
    Item { nodes: tree(measure, tokens.clone(), depth), tokens }
}
