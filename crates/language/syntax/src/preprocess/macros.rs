//! `#define` and the expansion of macros, by the algorithm of the C standard: every token carries the
//! names of the macros it must not be expanded by again.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{MAX_MACRO_TOKENS, Preprocessor};
use crate::diagnostic::Diagnostic;
use crate::lexer::lex_fragment;
use crate::token::{HideSet, P, Tok, Token};
use hopwright_source::Span;

/// Maximum nesting of macro calls in arguments of macro calls.
const MAX_MACRO_DEPTH: u32 = 60;

/// A defined macro.
pub(super) struct Macro {
    name_span: Span,
    params: Option<Params>,
    body: Vec<Token>,
}

/// Parameters of a function-like macro.
#[derive(PartialEq)]
struct Params {
    names: Vec<Arc<str>>,
    /// The last one takes all further arguments.
    variadic: bool,
}

/// One argument of a macro call, as written and expanded.
struct Argument {
    raw: Vec<Token>,
    expanded: Vec<Token>,
}

/// Whether the macro's value depends on where it is used.
pub(super) fn is_dynamic(name: &str) -> bool {
    matches!(name, "__LINE__" | "__FILE__")
}

impl Preprocessor<'_> {
    /// Executes `#define`, after the word itself.
    pub(super) fn define(&mut self) {
        let name = self.next_in_line();
        if name.kind != Tok::Ident {
            self.bad_directive(&name, "expected a name after `#define`");
            return;
        }
        if &*name.text == "defined" || is_dynamic(&name.text) {
            let message = format!("`{}` cannot be defined", name.text);
            self.bad_directive(&name, &message);
            return;
        }
        let has_params = self.frames.last().is_some_and(|f| f.lexer.follows('('));
        let params = if has_params {
            match self.macro_params() {
                Some(params) => Some(params),
                None => return,
            }
        } else {
            None
        };
        let body = self.tokens_in_line();
        if let Some(token) = [body.first(), body.last()].into_iter().flatten().find(|t| t.kind == Tok::P(P::HashHash)) {
            self.diags.push(Diagnostic::error("E0006", "`##` needs something on both sides").at(token.span, ""));
            return;
        }
        let new = Macro { name_span: name.span, params, body };
        if let Some(old) = self.macros.get(&name.text)
            && !same_definition(old, &new)
        {
            self.diags.push(
                Diagnostic::warning("W0011", format!("macro `{}` is redefined", name.text))
                    .at(name.span, "redefined here")
                    .related(old.name_span, "first defined here")
                    .help(format!("write `#undef {}` before it", name.text)),
            );
        }
        self.macros.insert(name.text, Rc::new(new));
    }

    fn macro_params(&mut self) -> Option<Params> {
        self.next_in_line(); // the parenthesis
        let mut params = Params { names: Vec::new(), variadic: false };
        let mut token = self.next_in_line();
        if token.kind == Tok::P(P::RParen) {
            return Some(params);
        }
        loop {
            match token.kind {
                Tok::Ident if params.names.contains(&token.text) => {
                    let message = format!("parameter `{}` is there twice", token.text);
                    self.bad_directive(&token, &message);
                    return None;
                }
                Tok::Ident => params.names.push(token.text),
                Tok::P(P::Dots) => {
                    params.names.push(self.interner.intern("__VA_ARGS__"));
                    params.variadic = true;
                }
                _ => {
                    self.bad_directive(&token, "expected a macro parameter");
                    return None;
                }
            }
            token = self.next_in_line();
            match token.kind {
                Tok::P(P::RParen) => return Some(params),
                Tok::P(P::Comma) if !params.variadic => token = self.next_in_line(),
                _ => {
                    self.bad_directive(&token, "expected `,` or `)` after a macro parameter");
                    return None;
                }
            }
        }
    }

    /// The next token after macro expansion.
    pub(super) fn next_expanded(&mut self) -> Token {
        loop {
            let token = self.next_raw(true);
            if token.kind != Tok::Ident {
                return token;
            }
            if is_dynamic(&token.text) {
                return self.dynamic(token);
            }
            if hides(&token.hide, &token.text) {
                return token;
            }
            let Some(found) = self.macros.get(&token.text).cloned() else {
                return token;
            };
            if !self.expand(&token, &found) {
                return token;
            }
        }
    }

    /// Expands a separate token list, such as an argument or a condition.
    pub(super) fn expand_list(&mut self, mut tokens: Vec<Token>) -> Vec<Token> {
        if tokens.iter().all(|t| t.kind != Tok::Ident) {
            return tokens;
        }
        if self.macro_depth >= MAX_MACRO_DEPTH {
            self.stop("E0009", "macro calls are nested too deeply", tokens[0].span);
            return Vec::new();
        }
        self.macro_depth += 1;
        tokens.reverse();
        let outer = std::mem::replace(&mut self.pending, tokens);
        let outer_isolated = std::mem::replace(&mut self.isolated, true);
        let mut expanded = Vec::new();
        loop {
            let token = self.next_expanded();
            if token.kind == Tok::Eof {
                break;
            }
            expanded.push(token);
        }
        self.pending = outer;
        self.isolated = outer_isolated;
        self.macro_depth -= 1;
        expanded
    }

    fn dynamic(&mut self, token: Token) -> Token {
        let location = self.map.location(token.span);
        let (kind, text) = if &*token.text == "__LINE__" {
            (Tok::Int, location.line.to_string())
        } else {
            (Tok::Str, format!("{:?}", &*location.file))
        };
        Token { kind, text: self.interner.intern(&text), ..token }
    }

    /// Puts a macro's expansion before the next token. False if this is no call.
    fn expand(&mut self, name: &Token, found: &Macro) -> bool {
        let (arguments, hide) = match &found.params {
            None => (Vec::new(), name.hide.clone()),
            Some(params) => {
                let open = self.next_raw(false);
                if open.kind != Tok::P(P::LParen) {
                    if open.kind != Tok::Eof {
                        self.pending.push(open);
                    }
                    return false;
                }
                match self.arguments(name, params) {
                    Some((arguments, close)) => (arguments, intersect(&name.hide, &close.hide)),
                    // The error is reported already; the call is dropped.
                    None => return true,
                }
            }
        };
        let hide = with_name(&hide, &name.text);
        let expansion = self.substitute(name, found, &arguments, &hide);
        self.macro_tokens += expansion.len();
        if self.macro_tokens > MAX_MACRO_TOKENS {
            self.stop("E0009", format!("macros expand to more than {MAX_MACRO_TOKENS} tokens"), name.span);
            return true;
        }
        self.pending.extend(expansion.into_iter().rev());
        true
    }

    /// Reads a call's arguments up to the closing parenthesis.
    fn arguments(&mut self, name: &Token, params: &Params) -> Option<(Vec<Argument>, Token)> {
        let mut lists: Vec<Vec<Token>> = vec![Vec::new()];
        let mut depth = 0u32;
        let mut count = 0usize;
        let close = loop {
            let mut token = self.next_raw(false);
            let rest = params.variadic && lists.len() >= params.names.len();
            match token.kind {
                Tok::Eof => {
                    self.diags.push(
                        Diagnostic::error("E0006", format!("unterminated call of macro `{}`", name.text))
                            .at(name.span, "its `)` is missing"),
                    );
                    return None;
                }
                Tok::P(P::RParen) if depth == 0 => break token,
                Tok::P(P::Comma) if depth == 0 && !rest => {
                    lists.push(Vec::new());
                    continue;
                }
                Tok::P(P::LParen) => depth += 1,
                Tok::P(P::RParen) => depth -= 1,
                _ => {}
            }
            count += 1;
            if count > MAX_MACRO_TOKENS {
                self.stop("E0009", "too many tokens in a macro call", name.span);
                return None;
            }
            token.space |= token.line_start;
            token.line_start = false;
            if let Some(last) = lists.last_mut() {
                last.push(token);
            }
        };
        if params.names.is_empty() && lists.len() == 1 && lists[0].is_empty() {
            lists.clear();
        }
        if params.variadic && lists.len() + 1 == params.names.len() {
            lists.push(Vec::new());
        }
        if lists.len() != params.names.len() {
            let plural = |n: usize| if n == 1 { "" } else { "s" };
            let mut diagnostic = Diagnostic::error(
                "E0006",
                format!(
                    "macro `{}` takes {} argument{}, but this call has {}",
                    name.text,
                    params.names.len(),
                    plural(params.names.len()),
                    lists.len(),
                ),
            )
            .at(name.span.to(close.span), "");
            if let Some(definition) = self.macros.get(&name.text) {
                diagnostic = diagnostic.related(definition.name_span, "defined here");
            }
            self.diags.push(diagnostic);
            return None;
        }
        let arguments =
            lists.into_iter().map(|raw| Argument { expanded: self.expand_list(raw.clone()), raw }).collect();
        Some((arguments, close))
    }

    /// A macro's body with parameters replaced, `#` and `##` applied.
    fn substitute(&mut self, name: &Token, found: &Macro, arguments: &[Argument], hide: &HideSet) -> Vec<Token> {
        let argument = |token: &Token| -> Option<&Argument> {
            let params = found.params.as_ref()?;
            if token.kind != Tok::Ident {
                return None;
            }
            let index = params.names.iter().position(|n| *n == token.text)?;
            arguments.get(index)
        };
        let from_macro = name.from_macro.clone().or(Some(name.text.clone()));
        let place = |token: &Token| Token {
            span: name.span,
            line_start: false,
            from_macro: from_macro.clone(),
            ..token.clone()
        };
        let body = &found.body;
        let mut out: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < body.len() {
            let token = &body[at];
            let is = |i: usize, p: P| body.get(i).is_some_and(|t: &Token| t.kind == Tok::P(p));
            if found.params.is_some()
                && is(at, P::Hash)
                && let Some(arg) = body.get(at + 1).and_then(argument)
            {
                let text = self.interner.intern(&stringize(&arg.raw));
                out.push(place(&Token { kind: Tok::Str, text, ..token.clone() }));
                at += 2;
            } else if is(at, P::HashHash) && at + 1 < body.len() {
                let right = match argument(&body[at + 1]) {
                    Some(arg) => arg.raw.clone(),
                    None => vec![place(&body[at + 1])],
                };
                self.paste(&mut out, right, name);
                at += 2;
            } else if let Some(arg) = argument(token) {
                // Beside `##` an argument is used as it was written.
                let tokens = if is(at + 1, P::HashHash) { &arg.raw } else { &arg.expanded };
                let first = out.len();
                out.extend(tokens.iter().cloned());
                if let Some(first) = out.get_mut(first) {
                    first.space = token.space;
                } else if is(at + 1, P::HashHash) {
                    // With an empty left side the right side is taken as it is.
                    at += 2;
                    if let Some(right) = body.get(at) {
                        match argument(right) {
                            Some(arg) => out.extend(arg.raw.iter().cloned()),
                            None => out.push(place(right)),
                        }
                    }
                }
                at += 1;
            } else {
                out.push(place(token));
                at += 1;
            }
            if out.len() > MAX_MACRO_TOKENS {
                break;
            }
        }
        for token in &mut out {
            token.hide = union(&token.hide, hide);
        }
        if let Some(first) = out.first_mut() {
            first.space = name.space;
            first.line_start = name.line_start;
        }
        out
    }

    /// Joins the last token of `out` and the first of `right` into one.
    fn paste(&mut self, out: &mut Vec<Token>, right: Vec<Token>, name: &Token) {
        let mut right = right.into_iter();
        let Some(first) = right.next() else {
            return;
        };
        match out.pop() {
            None => out.push(first),
            Some(left) => {
                let text = format!("{}{}", left.text, first.text);
                let mut joined = lex_fragment(&text, name.span, &mut self.interner, &mut Default::default());
                if joined.len() == 1 {
                    let mut token = joined.remove(0);
                    token.space = left.space;
                    token.from_macro = name.from_macro.clone().or(Some(name.text.clone()));
                    out.push(token);
                } else {
                    // If the result is no token, the two stay separate, as with `cpp -x assembler-with-cpp`.
                    out.push(left);
                    out.push(Token { space: false, ..first });
                }
            }
        }
        out.extend(right);
    }
}

fn same_definition(old: &Macro, new: &Macro) -> bool {
    old.params == new.params
        && old.body.len() == new.body.len()
        && old.body.iter().zip(&new.body).all(|(a, b)| a.kind == b.kind && a.text == b.text)
}

/// The `#` operator: tokens as a string literal.
fn stringize(tokens: &[Token]) -> String {
    let mut text = String::from("\"");
    for (i, token) in tokens.iter().enumerate() {
        if i > 0 && token.space {
            text.push(' ');
        }
        for c in token.text.chars() {
            if token.kind == Tok::Str && matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    // A trailing backslash would escape the closing quote.
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    if backslashes % 2 == 1 {
        text.push('\\');
    }
    text.push('"');
    text
}

fn hides(set: &HideSet, name: &str) -> bool {
    set.as_ref().is_some_and(|names| names.iter().any(|n| &**n == name))
}

fn with_name(set: &HideSet, name: &Arc<str>) -> HideSet {
    let mut names = set.as_ref().map_or_else(Vec::new, |s| (**s).clone());
    if !names.contains(name) {
        names.push(name.clone());
    }
    Some(Arc::new(names))
}

fn union(a: &HideSet, b: &HideSet) -> HideSet {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(x), Some(y)) => {
            let mut names = (**x).clone();
            names.extend(y.iter().filter(|n| !x.contains(n)).cloned());
            Some(Arc::new(names))
        }
    }
}

fn intersect(a: &HideSet, b: &HideSet) -> HideSet {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    let names: Vec<Arc<str>> = a.iter().filter(|n| b.contains(n)).cloned().collect();
    (!names.is_empty()).then(|| Arc::new(names))
}

/// The values of `__DATE__` and `__TIME__`, in UTC: `Jan  2 2026` and `13:05:59`.
pub(super) fn date_and_time() -> (String, String) {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    (date(seconds / 86_400), {
        let s = seconds % 86_400;
        format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    })
}

/// The Gregorian date this many days after 1970-01-01.
fn date(mut days: u64) -> String {
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let leap = |y: u64| (y.is_multiple_of(4) && !y.is_multiple_of(100)) || y.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    for (name, length) in MONTHS {
        let length = length + u64::from(name == "Feb" && leap(year));
        if days < length {
            return format!("{name} {:2} {year}", days + 1);
        }
        days -= length;
    }
    format!("Dec 31 {year}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "Jan  1 1970");
        assert_eq!(date(11_016), "Feb 29 2000");
        assert_eq!(date(20_778), "Nov 21 2026");
    }
}
