//! Widths of tokens in one line, and the line breaks that tokens need.

use crate::roles::space_between;
use crate::token::{Kind, Role, Token};

/// What is known of all tokens.
pub(crate) struct Measure<'a, 't> {
    pub tokens: &'a [Token<'t>],
    pub roles: &'a [Role],
    /// For each opening bracket, the one that closes it.
    pub closing: &'a [usize],
    /// For each token, where it ends if all tokens stand in one line.
    ends: Vec<usize>,
    /// For each token, the number of breaks before it and those before it in the text.
    breaks: Vec<usize>,
    newlines: Vec<usize>,
    must_break: Vec<bool>,
}

impl<'a, 't> Measure<'a, 't> {
    pub(crate) fn new(tokens: &'a [Token<'t>], roles: &'a [Role], closing: &'a [usize]) -> Measure<'a, 't> {
        let must_break = author_breaks(tokens, roles, closing);
        let (mut ends, mut breaks, mut newlines) = (Vec::new(), Vec::new(), Vec::new());
        let (mut end, mut count, mut lines) = (0, 0, 0);
        for (i, token) in tokens.iter().enumerate() {
            end += usize::from(i > 0 && space_between(tokens, roles, i - 1, i)) + token.text.chars().count();
            // A token of several lines breaks the line within.
            count += 2 * usize::from(must_break[i]);
            breaks.push(count);
            count += usize::from(token.text.contains('\n'));
            lines += token.newlines as usize;
            ends.push(end);
            newlines.push(lines);
        }
        breaks.push(count);
        Measure { tokens, roles, closing, ends, breaks, newlines, must_break }
    }

    /// Whether a token begins a line wherever it stands, because the author or a comment wants it.
    pub(crate) fn must_break(&self, i: usize) -> bool {
        self.must_break[i]
    }

    pub(crate) fn space_before(&self, i: usize) -> bool {
        i > 0 && space_between(self.tokens, self.roles, i - 1, i)
    }

    /// The width of tokens in one line.
    pub(crate) fn width(&self, start: usize, end: usize) -> usize {
        if start >= end {
            return 0;
        }
        let first = self.tokens[start].text.chars().count();
        self.ends[end - 1] - (self.ends[start] - first)
    }

    /// Whether tokens have a line break between or within them.
    pub(crate) fn has_break(&self, start: usize, end: usize) -> bool {
        start < end
            && self.breaks[end] - usize::from(end < self.tokens.len() && self.must_break[end]) * 2 > self.breaks[start]
    }

    /// The number of line ends between tokens, in the text.
    pub(crate) fn newlines(&self, start: usize, end: usize) -> usize {
        self.newlines[end - 1] - self.newlines[start]
    }

    /// The end of tokens without the comment behind them.
    pub(crate) fn without_comment(&self, start: usize, mut end: usize) -> usize {
        while end > start + 1 && self.tokens[end - 1].is_comment() {
            end -= 1;
        }
        end
    }
}

/// For each token, whether it begins a line of its own: behind comments and directives, and where the author broke the line in a list
/// or at an operator.
fn author_breaks(tokens: &[Token<'_>], roles: &[Role], closing: &[usize]) -> Vec<bool> {
    let mut breaks = vec![false; tokens.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for i in 0..tokens.len() {
        let token = tokens[i];
        let group = open.last().copied();
        if i > 0 {
            breaks[i] = is_author_break(tokens, roles, i, group);
        }
        if token.kind != Kind::Punct || matches!(roles[i], Role::BlockOpen | Role::BlockClose) {
            continue;
        }
        match token.text {
            "(" | "{" if closing[i] > i => {
                let broken = tokens.get(i + 1).is_some_and(|next| next.newlines > 0);
                open.push((i, broken && has_commas(tokens, closing, i)));
            }
            "[" if closing[i] > i => open.push((i, false)),
            ")" | "}" | "]" if group.is_some_and(|(o, _)| closing[o] == i) => drop(open.pop()),
            _ => {}
        }
    }
    breaks
}

/// Whether the author's line break before a token stays. `group` is the innermost open bracket, and whether the author broke the line
/// behind it.
fn is_author_break(tokens: &[Token<'_>], roles: &[Role], i: usize, group: Option<(usize, bool)>) -> bool {
    let (left, right) = (tokens[i - 1], tokens[i]);
    if left.kind == Kind::Pragma && right.is_comment() && right.newlines == 0 {
        return false;
    }
    if left.kind == Kind::LineComment || left.is_line() || right.is_line() {
        return true;
    }
    if right.newlines == 0 {
        return false;
    }
    if left.is_comment() || right.is_comment() {
        return true;
    }
    if let Some((open, broken)) = group
        && roles[i] != Role::AngleClose
    {
        if open == i - 1 {
            return broken;
        }
        if left.is(",") && roles[i - 1] != Role::Verbatim {
            return true;
        }
        if matches!(right.text, ")" | "}") && right.kind == Kind::Punct {
            return broken;
        }
    }
    let operator = |role| matches!(role, Role::Binary(_));
    let verbatim = roles[i] == Role::Verbatim && roles[i - 1] == Role::Verbatim;
    let behind_annotation = ends_annotation(tokens, roles, i - 1) && !ends_operand(&right);
    verbatim || operator(roles[i]) || operator(roles[i - 1]) || right.is("@") || behind_annotation
}

/// Whether a token stands directly behind an operand.
pub(crate) fn ends_operand(token: &Token<'_>) -> bool {
    [";", ",", ")", "]", "("].iter().any(|text| token.is(text))
}

/// Whether an annotation ends here.
fn ends_annotation(tokens: &[Token<'_>], roles: &[Role], i: usize) -> bool {
    (roles[i] == Role::Verbatim && tokens[i].is(")"))
        || (i > 0 && tokens[i].kind == Kind::Word && tokens[i - 1].is("@"))
}

/// Whether brackets have a comma of their own.
fn has_commas(tokens: &[Token<'_>], closing: &[usize], open: usize) -> bool {
    let mut i = open + 1;
    while i < closing[open] {
        if tokens[i].is(",") {
            return true;
        }
        i = closing[i].max(i) + 1;
    }
    false
}
