//! Words of constraints.

use num_bigint::BigInt;
use num_traits::Num;

use super::{Fault, Misread};

/// The most digits of a number: those of the widest types, in binary.
const MAX_DIGITS: usize = 4096;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Number(BigInt),
    Text(&'t str),
    Symbol(&'static str),
    End,
}

/// Longest first.
const SYMBOLS: [&str; 18] =
    ["::", "&&", "||", "->", "==", "!=", "<=", ">=", "<", ">", "!", "-", "(", ")", ";", ".", "[", "]"];

#[derive(Clone, Debug)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    /// The next word, where it begins and where it ends.
    pub(super) fn next(&mut self) -> Result<(Token<'t>, usize, usize), Misread> {
        self.skip()?;
        let (start, rest) = (self.at, &self.text[self.at..]);
        let misread = |fault| Misread { at: start, fault };
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start, start)) };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (token, len) = if first.is_ascii_digit() {
            let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
            (Token::Number(number(&rest[..len]).map_err(misread)?), len)
        } else if word(first) {
            let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
            (Token::Name(&rest[..len]), len)
        } else if first == '\'' {
            let end = rest[1..].find('\'').ok_or_else(|| misread(Fault::Open { what: "a string" }))?;
            (Token::Text(&rest[1..=end]), end + 2)
        } else {
            let symbol = SYMBOLS.into_iter().find(|s| rest.starts_with(s));
            let symbol = symbol.ok_or_else(|| misread(Fault::Unexpected { found: first.to_string() }))?;
            (Token::Symbol(symbol), symbol.len())
        };
        self.at += len;
        Ok((token, start, self.at))
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), Misread> {
        loop {
            let rest = &self.text[self.at..];
            let blanks = rest.len() - rest.trim_start().len();
            self.at += blanks;
            let rest = &rest[blanks..];
            if rest.starts_with("//") {
                self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                let fault = Fault::Open { what: "a comment" };
                self.at += end.ok_or(Misread { at: self.at, fault })? + 4;
            } else {
                return Ok(());
            }
        }
    }
}

fn number(word: &str) -> Result<BigInt, Fault> {
    let wrong = || Fault::Number(word.chars().take(40).collect());
    let (radix, digits) = match word.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &word[2..]),
        Some("0o") => (8, &word[2..]),
        Some("0b") => (2, &word[2..]),
        Some("0d") => (10, &word[2..]),
        _ => (10, word),
    };
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(wrong());
    }
    BigInt::from_str_radix(digits, radix).map_err(|_| wrong())
}

/// A text on one line, with one blank instead of several and without comments.
pub(super) fn plain(text: &str) -> String {
    let mut lexer = Lexer::new(text);
    let (mut plain, mut end) = (String::new(), 0);
    while let Ok((token, start, next)) = lexer.next() {
        if token == Token::End {
            break;
        }
        if start > end && !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(&text[start..next]);
        end = next;
    }
    plain
}
