//! Names and tokens of the text form.
//!
//! A name is written as it is if it looks like one (`hdr.mpls[2].label`, `ingress.$tmp`) and is no keyword, else in quotes.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use super::error::ParseError;

/// Keywords that could be mistaken for names.
const KEYWORDS: [&str; 65] = [
    "accept",
    "action",
    "action_profile",
    "action_run",
    "action_selector",
    "advance",
    "apply",
    "bit",
    "bool",
    "case",
    "compute_checksum",
    "const",
    "copy",
    "counter",
    "default",
    "deparser",
    "direct_counter",
    "direct_meter",
    "egress",
    "else",
    "emit",
    "entry",
    "entry_cells",
    "errors",
    "exit",
    "extern",
    "extract",
    "extract_next",
    "false",
    "field_list",
    "goto",
    "header",
    "hit",
    "idle_timeout",
    "if",
    "implementation",
    "ingress",
    "inout",
    "int",
    "key",
    "leave",
    "local",
    "lookahead",
    "loop",
    "meter",
    "out",
    "packet_length",
    "parser",
    "pop_front",
    "priority",
    "push_front",
    "register",
    "reject",
    "scope",
    "select",
    "set_invalid",
    "set_valid",
    "size",
    "state",
    "switch",
    "table",
    "true",
    "varbit",
    "verify",
    "verify_checksum",
];

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

/// Bytes of the name at the start of the text; 0 if there is none. `a.b[2].c` is a name, the slice in `a[7:0]` is not part
/// of one.
fn name_length(text: &str) -> usize {
    if !text.starts_with(starts_name) {
        return 0;
    }
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let word = rest.find(|c: char| !(starts_name(c) || c.is_ascii_digit() || c == '#')).unwrap_or(rest.len());
        end += word;
        let rest = &text[end..];
        if let Some(index) = rest.strip_prefix('[') {
            let digits = index.find(|c: char| !c.is_ascii_digit()).unwrap_or(index.len());
            if digits == 0 || !index[digits..].starts_with(']') {
                return end;
            }
            end += digits + 2;
        } else if rest.strip_prefix('.').is_some_and(|r| r.starts_with(starts_name)) {
            end += 1;
        } else {
            return end;
        }
    }
}

/// Whether a name needs no quotes.
pub(super) fn is_bare(name: &str) -> bool {
    !name.is_empty() && name_length(name) == name.len() && name != "_" && KEYWORDS.binary_search(&name).is_err()
}

/// The name as it is written.
pub(super) fn written(name: &str) -> Cow<'_, str> {
    if is_bare(name) { Cow::Borrowed(name) } else { Cow::Owned(quoted(name)) }
}

/// Any text in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword, or a name without quotes.
    Word(String),
    /// A quoted name or string, without quotes.
    Quoted(String),
    /// A number: `12`, `0x1f`, `8w0xff`, `8s0x1`.
    Number(String),
    /// Punctuation.
    Sign(&'static str),
    /// End of the text.
    End,
}

/// Longer ones first.
const SIGNS: [&str; 43] = [
    "|+|", "|-|", "&&&", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "++", "=>", "..", "{", "}", "(", ")", "[",
    "]", "<", ">", "=", ":", ",", "@", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "?", ".", ";", "#", "\\", "'",
    "`",
];

/// The tokens and their byte ranges. `//` begins a comment that ends with its line.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, ParseError> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let skipped = rest.len() - rest.trim_start().len();
        at += skipped;
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let Some(first) = rest.chars().next() else {
            found.push((Token::End, at..at));
            return Ok(found);
        };
        let (token, length) = if starts_name(first) {
            let length = name_length(rest);
            (Token::Word(rest[..length].into()), length)
        } else if first.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            (Token::Number(rest[..length].into()), length)
        } else if first == '"' {
            let (text, length) =
                unquoted(rest).ok_or_else(|| ParseError::new(text, at, "a quote that does not end"))?;
            (Token::Quoted(text), length)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(ParseError::new(text, at, format!("unexpected character `{}`", first.escape_default())));
        };
        found.push((token, at..at + length));
        at += length;
    }
}

/// The content of the quoted string that the text begins with, and its length with quotes.
fn unquoted(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, at + 1)),
            '\n' => return None,
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                'u' => {
                    chars.next().filter(|(_, c)| *c == '{')?;
                    let digits: String = chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn names_with_and_without_quotes() {
        for name in ["a", "$tmp", "hdr.mpls[2].label", "m[1][2]", "tmp#3", "_x", "hdr.ipv4.$valid$"] {
            assert_eq!(written(name), name);
            assert_eq!(tokens(name).unwrap()[0].0, Token::Word(name.into()));
        }
        for name in ["", "_", "exit", "a b", "a[7:0]", "a.", ".a", "1a", "a\"b\\\n\u{1}", "ä"] {
            let written = written(name);
            assert!(written.starts_with('"'), "{written}");
            assert_eq!(tokens(&written).unwrap()[0].0, Token::Quoted(name.into()));
        }
    }

    #[test]
    fn what_is_no_token_is_an_error() {
        for (text, message) in [
            ("a\n  \"b", "2:3: a quote that does not end"),
            ("\"\\u{110000}\"", "1:1: a quote that does not end"),
            ("a €", "1:3: unexpected character `\\u{20ac}`"),
        ] {
            assert_eq!(tokens(text).unwrap_err().to_string().lines().next(), Some(message));
        }
    }
}
