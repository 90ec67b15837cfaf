//! Integer expressions of `#if` and `#elif`, as in C, on 64-bit signed integers.

use crate::diagnostic::Diagnostic;
use crate::token::{P, Tok, Token};
use hopwright_source::Span;

/// Maximum nesting of parentheses and operators.
const MAX_DEPTH: u32 = 100;

/// Evaluates a condition after macro expansion; remaining names count as 0.
pub(super) fn evaluate(tokens: &[Token], directive: Span) -> Result<i64, Diagnostic> {
    let mut reader = Reader { tokens, at: 0, directive, depth: 0 };
    let value = reader.ternary()?;
    match reader.tokens.get(reader.at) {
        None => Ok(value),
        Some(token) => Err(Diagnostic::error("E0007", format!("{} is not expected in a condition", token.describe()))
            .at(token.span, "")),
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    directive: Span,
    depth: u32,
}

/// Binary operators with their precedence, loosest first.
fn operator(p: P) -> Option<u8> {
    Some(match p {
        P::OrOr => 1,
        P::AndAnd => 2,
        P::Or => 3,
        P::Caret => 4,
        P::And => 5,
        P::EqEq | P::NotEq => 6,
        P::Lt | P::Gt | P::LtEq | P::GtEq => 7,
        P::Shl => 8,
        P::Plus | P::Minus => 9,
        P::Star | P::Slash | P::Percent => 10,
        _ => return None,
    })
}

impl Reader<'_> {
    fn peek(&self) -> Option<P> {
        match self.tokens.get(self.at)?.kind {
            Tok::P(p) => Some(p),
            _ => None,
        }
    }

    fn eat(&mut self, p: P) -> bool {
        let found = self.peek() == Some(p);
        self.at += usize::from(found);
        found
    }

    fn error(&self, message: impl Into<String>) -> Diagnostic {
        let at = match self.tokens.get(self.at).or(self.tokens.last()) {
            Some(token) => token.span,
            None => self.directive,
        };
        Diagnostic::error("E0007", message).at(at, "")
    }

    fn enter(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("the condition is nested too deeply"));
        }
        Ok(())
    }

    fn ternary(&mut self) -> Result<i64, Diagnostic> {
        self.enter()?;
        let condition = self.binary(1)?;
        let value = if self.eat(P::Question) {
            let then = self.ternary()?;
            if !self.eat(P::Colon) {
                return Err(self.error("expected `:` of a conditional expression"));
            }
            let otherwise = self.ternary()?;
            if condition != 0 { then } else { otherwise }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, min: u8) -> Result<i64, Diagnostic> {
        let mut left = self.unary()?;
        while let Some(p) = self.peek() {
            let shift_right =
                p == P::Gt && self.tokens.get(self.at + 1).is_some_and(|t| t.kind == Tok::P(P::Gt) && !t.space);
            let precedence = if shift_right { Some(8) } else { operator(p) };
            let Some(precedence) = precedence.filter(|&n| n >= min) else {
                break;
            };
            let operator_at = self.at;
            self.at += if shift_right { 2 } else { 1 };
            self.enter()?;
            let right = self.binary(precedence + 1)?;
            self.depth -= 1;
            left = if shift_right {
                left.wrapping_shr(right as u32)
            } else {
                match apply(p, left, right) {
                    Some(value) => value,
                    None => {
                        self.at = operator_at;
                        return Err(self.error("division by zero"));
                    }
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, Diagnostic> {
        self.enter()?;
        let value = match self.peek() {
            Some(P::Bang) => {
                self.at += 1;
                i64::from(self.unary()? == 0)
            }
            Some(P::Tilde) => {
                self.at += 1;
                !self.unary()?
            }
            Some(P::Minus) => {
                self.at += 1;
                self.unary()?.wrapping_neg()
            }
            Some(P::Plus) => {
                self.at += 1;
                self.unary()?
            }
            Some(P::LParen) => {
                self.at += 1;
                let value = self.ternary()?;
                if !self.eat(P::RParen) {
                    return Err(self.error("expected `)`"));
                }
                value
            }
            _ => self.primary()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<i64, Diagnostic> {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(self.error("the condition ends where a value is expected"));
        };
        let value = match token.kind {
            Tok::Ident if &*token.text == "true" => 1,
            Tok::Ident => 0,
            Tok::Int => match integer(&token.text) {
                Some(value) => value,
                None => return Err(self.error(format!("`{}` is not an integer", token.text))),
            },
            _ => {
                return Err(self.error(format!("expected a value, found {}", token.describe())));
            }
        };
        self.at += 1;
        Ok(value)
    }
}

fn apply(op: P, l: i64, r: i64) -> Option<i64> {
    Some(match op {
        P::OrOr => i64::from(l != 0 || r != 0),
        P::AndAnd => i64::from(l != 0 && r != 0),
        P::Or => l | r,
        P::Caret => l ^ r,
        P::And => l & r,
        P::EqEq => i64::from(l == r),
        P::NotEq => i64::from(l != r),
        P::Lt => i64::from(l < r),
        P::Gt => i64::from(l > r),
        P::LtEq => i64::from(l <= r),
        P::GtEq => i64::from(l >= r),
        P::Shl => l.wrapping_shl(r as u32),
        P::Plus => l.wrapping_add(r),
        P::Minus => l.wrapping_sub(r),
        P::Star => l.wrapping_mul(r),
        P::Slash if r != 0 => l.wrapping_div(r),
        P::Percent if r != 0 => l.wrapping_rem(r),
        _ => return None,
    })
}

/// A C or P4 integer: `10`, `0x1f`, `0b11`, `017`, with C's suffixes.
fn integer(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    let digits = digits.to_ascii_lowercase();
    let parse =
        |digits: &str, radix| u64::from_str_radix(digits.trim_end_matches(['u', 'l']), radix).ok().map(|v| v as i64);
    match digits.get(..2) {
        Some("0x") => parse(&digits[2..], 16),
        Some("0b") => parse(&digits[2..], 2),
        Some("0o") => parse(&digits[2..], 8),
        Some("0d") => parse(&digits[2..], 10),
        _ if digits.len() > 1 && digits.starts_with('0') => parse(&digits, 8),
        _ => parse(&digits, 10),
    }
}
