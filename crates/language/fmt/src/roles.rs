//! Finds out what operators, angle brackets and parentheses stand for.

use crate::token::{Kind, Role, Token};

/// The most tokens between angle brackets.
const MOST_IN_ANGLES: usize = 400;

/// For each opening bracket the one that closes it, or the last token; for other tokens themselves. In an annotation only parentheses
/// count, and those within are tokens like others.
pub(crate) fn closing(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut closing: Vec<usize> = (0..tokens.len()).collect();
    let mut open: Vec<usize> = Vec::new();
    let mut annotation_end = 0;
    for (i, token) in tokens.iter().enumerate().filter(|(_, t)| t.kind == Kind::Punct) {
        if i < annotation_end {
            continue;
        }
        if opens_annotation(tokens, i) {
            closing[i] = annotation_close(tokens, i);
            annotation_end = closing[i] + 1;
            continue;
        }
        match token.text {
            "(" | "[" | "{" => open.push(i),
            ")" | "]" | "}" => {
                let pair = |o: &usize| matches!((tokens[*o].text, token.text), ("(", ")") | ("[", "]") | ("{", "}"));
                // A brace closes what was left open within it; another bracket that does not fit is a token like others.
                let at = if token.text == "}" {
                    open.iter().rposition(pair)
                } else {
                    open.iter().rposition(|o| pair(o) || tokens[*o].text == "{")
                };
                if let Some(at) = at.filter(|&at| pair(&open[at])) {
                    open.drain(at..).for_each(|o| closing[o] = i);
                }
            }
            _ => {}
        }
    }
    let last = tokens.len().saturating_sub(1);
    open.into_iter().for_each(|o| closing[o] = last);
    closing
}

/// Whether the text of a free-form annotation begins here.
pub(crate) fn opens_annotation(tokens: &[Token<'_>], i: usize) -> bool {
    i >= 2 && tokens[i].is("(") && tokens[i - 1].kind == Kind::Word && tokens[i - 2].is("@")
}

fn annotation_close(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        depth += usize::from(token.is("("));
        depth -= usize::from(token.is(")"));
        if depth == 0 {
            return i;
        }
    }
    tokens.len() - 1
}

/// Sets the roles that are not set yet.
pub(crate) fn assign(tokens: &[Token<'_>], closing: &[usize], roles: &mut [Role]) {
    let mut finder = Finder { tokens, closing, roles, before: None };
    let mut i = 0;
    while i < tokens.len() {
        let token = tokens[i];
        if token.is("@") {
            finder.annotation(i);
        }
        if token.kind == Kind::Punct && finder.roles[i] == Role::Other {
            finder.punctuation(i);
        }
        if !token.is_comment() && !token.is_line() {
            finder.before = Some(i);
        }
        i += 1;
    }
}

struct Finder<'a, 't> {
    tokens: &'a [Token<'t>],
    closing: &'a [usize],
    roles: &'a mut [Role],
    /// The last token that is no comment or directive.
    before: Option<usize>,
}

impl Finder<'_, '_> {
    fn annotation(&mut self, at: usize) {
        let open = at + 2;
        if self.roles[at] == Role::Other && self.tokens.get(open).is_some_and(|t| t.is("(")) {
            let close = self.closing[open];
            self.roles[open + 1..=close].fill(Role::Verbatim);
        }
    }

    fn punctuation(&mut self, i: usize) {
        let text = self.tokens[i].text;
        self.roles[i] = match text {
            "<" if self.angles(i) => return,
            ">" if self.tokens.get(i + 1).is_some_and(|next| next.is(">") && !next.space) => {
                self.roles[i + 1] = Role::Binary(9);
                Role::Other
            }
            "(" => return self.cast(i),
            "!" | "~" => Role::Unary,
            "-" | "+" if !self.behind_operand() => Role::Unary,
            _ => match precedence(text) {
                Some(precedence) => Role::Binary(precedence),
                None if text.ends_with('=') => Role::Assign,
                None => return,
            },
        };
    }

    /// Whether an operand has just ended.
    fn behind_operand(&self) -> bool {
        self.before.is_some_and(|b| match self.tokens[b].kind {
            Kind::Word => !matches!(self.tokens[b].text, "return" | "transition" | "in" | "else"),
            Kind::Int | Kind::Str => true,
            _ => match self.roles[b] {
                Role::CastClose => false,
                Role::AngleClose | Role::ListClose => true,
                _ => matches!(self.tokens[b].text, ")" | "]" | "}"),
            },
        })
    }

    /// Marks type arguments, if this `<` begins some.
    fn angles(&mut self, open: usize) -> bool {
        let Some(name) = self.before.filter(|&b| self.tokens[b].kind == Kind::Word) else { return false };
        let built_in = matches!(self.tokens[name].text, "bit" | "int" | "varbit" | "tuple" | "list" | "value_set");
        let compared = self.tokens[open].space && self.tokens.get(open + 1).is_some_and(|next| next.space);
        if compared && !built_in {
            return false;
        }
        let Some(marks) = self.type_arguments(open) else { return false };
        for i in marks {
            self.roles[i] = if self.tokens[i].text == "<" { Role::AngleOpen } else { Role::AngleClose };
        }
        true
    }

    /// The angle brackets of the type arguments that begin here.
    fn type_arguments(&self, open: usize) -> Option<Vec<usize>> {
        let mut marks = Vec::new();
        let mut depth = 0usize;
        let mut i = open;
        while i < self.tokens.len().min(open + MOST_IN_ANGLES) {
            let token = self.tokens[i];
            match (token.kind, token.text) {
                (Kind::Punct, "<") => {
                    depth += 1;
                    marks.push(i);
                }
                (Kind::Punct, ">") => {
                    depth -= 1;
                    marks.push(i);
                    if depth == 0 {
                        return Some(marks);
                    }
                }
                (Kind::Punct, "(" | "[") => i = self.closing[i],
                (Kind::Punct, "," | "." | "+" | "-" | "*" | "/" | "<<") => {}
                (Kind::Word | Kind::Int | Kind::BlockComment | Kind::LineComment, _) => {}
                _ => return None,
            }
            i += 1;
        }
        None
    }

    fn cast(&mut self, open: usize) {
        let close = self.closing[open];
        if self.behind_operand() || !self.is_type(open + 1, close) {
            return;
        }
        let plain = self.tokens[open + 1];
        let named = !is_type_word(plain.text);
        let casts = self.tokens.get(close + 1).is_some_and(|next| match next.kind {
            Kind::Word => next.text != "in",
            Kind::Int | Kind::Str => true,
            Kind::Punct => match next.text {
                "(" | "{" | "!" | "~" => true,
                "-" | "+" => !named || (plain.text.ends_with("_t") && close == open + 2),
                _ => false,
            },
            _ => false,
        });
        if casts {
            self.roles[close] = Role::CastClose;
        }
    }

    /// Whether tokens can be a type.
    fn is_type(&self, start: usize, end: usize) -> bool {
        let Some(first) = self.tokens.get(start).filter(|t| t.kind == Kind::Word && start < end) else { return false };
        if is_type_word(first.text) {
            return true;
        }
        let mut at = start + 1;
        while at + 1 < end && self.tokens[at].is(".") && self.tokens[at + 1].kind == Kind::Word {
            at += 2;
        }
        at == end || self.tokens[at].is("[") && self.closing[at] + 1 == end || {
            let arguments = self.tokens[at].is("<").then(|| self.type_arguments(at)).flatten();
            arguments.is_some_and(|marks| marks.last().is_some_and(|last| last + 1 == end))
        }
    }
}

fn is_type_word(word: &str) -> bool {
    matches!(word, "bit" | "int" | "bool" | "varbit" | "error" | "string" | "tuple" | "list" | "void")
}

/// The precedence of an operator between operands; `None` if it is none.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "?" => 1,
        "||" => 2,
        "&&" => 3,
        "==" | "!=" | "&&&" | ".." => 4,
        "<" | ">" | "<=" | ">=" => 5,
        "|" => 6,
        "^" => 7,
        "&" => 8,
        "<<" => 9,
        "+" | "-" | "++" | "|+|" | "|-|" => 10,
        "*" | "/" | "%" => 11,
        _ => return None,
    })
}

/// Whether a space stands between two tokens that follow each other in a line.
pub(crate) fn space_between(tokens: &[Token<'_>], roles: &[Role], left: usize, right: usize) -> bool {
    let (a, b) = (tokens[left], tokens[right]);
    let (ra, rb) = (roles[left], roles[right]);
    if joins(&a, &b) {
        return true;
    }
    // Two of them are a shift exactly if nothing stands between them.
    if a.is(">") && b.is(">") && !b.space {
        return false;
    }
    if rb == Role::Verbatim {
        return b.space && ra == Role::Verbatim && !(b.is(")") && roles.get(right + 1) != Some(&Role::Verbatim));
    }
    match (ra, rb) {
        (Role::ListOpen, Role::ListClose) | (Role::BlockOpen, Role::BlockClose) => return false,
        (Role::AngleOpen, _) | (_, Role::AngleOpen | Role::AngleClose) => return false,
        (Role::SliceColon(wide), _) | (_, Role::SliceColon(wide)) => return wide,
        (_, Role::LabelColon) | (Role::Unary, _) => return false,
        (Role::CastClose, _) => return b.is("{"),
        _ => {}
    }
    if a.is("(") || a.is("[") {
        return false;
    }
    if b.kind == Kind::Punct {
        match b.text {
            ";" | "," | ")" | "]" => return false,
            "(" | "[" => return opening_space(&a, ra, b.text == "("),
            "." => {
                let operand = a.kind == Kind::Word || a.is(")") || a.is("]") || ra == Role::AngleClose;
                return !operand || matches!(a.text, "return" | "transition" | "in");
            }
            _ => {}
        }
    }
    match (a.kind, a.text) {
        (Kind::Punct, "." | "@") => false,
        (Kind::Punct, ">") if ra == Role::AngleClose => !b.is("."),
        _ => true,
    }
}

/// Whether two tokens without a space between them would be others.
fn joins(a: &Token<'_>, b: &Token<'_>) -> bool {
    matches!(
        (a.text, b.text.as_bytes().first()),
        ("!" | "-", Some(b'=')) | ("+", Some(b'=' | b'+' | b':')) | (".", Some(b'.')) | ("-", Some(b'-'))
    )
}

/// Whether a space stands before an opening bracket.
fn opening_space(before: &Token<'_>, role: Role, parenthesis: bool) -> bool {
    match before.kind {
        Kind::Word if parenthesis => {
            matches!(before.text, "if" | "for" | "switch" | "return" | "in" | "else" | "transition")
        }
        Kind::Word => matches!(before.text, "return" | "in"),
        Kind::Int | Kind::Str => parenthesis,
        Kind::Punct if role == Role::AngleClose => false,
        Kind::Punct => !matches!(before.text, ")" | "]" | "." | "@"),
        _ => true,
    }
}
