//! Reads constraints, and checks the types of what they compare.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopwright_ir::MatchForm;
use num_bigint::BigInt;

use super::lexer::{Lexer, Token};
use super::{Expr, Fault, Kind, Misread, Op, Part, Subjects, Ty};

/// The deepest nesting of parentheses and signs.
const MAX_DEPTH: u32 = 64;

type Result<T> = std::result::Result<T, Misread>;

/// Reads a whole text.
pub(super) fn parse(text: &str, subjects: Subjects<'_>) -> Result<Expr> {
    let mut lexer = Lexer::new(text);
    let (token, start, end) = lexer.next()?;
    let mut parser = Parser { lexer, token, start, end, last: 0, subjects, depth: 0 };
    let whole = parser.sequence()?;
    match parser.token {
        Token::End => condition(&whole).map(|()| whole),
        _ => Err(parser.unexpected()),
    }
}

struct Parser<'p> {
    lexer: Lexer<'p>,
    /// The next word and where it is.
    token: Token<'p>,
    start: usize,
    end: usize,
    /// Where the word before it ends.
    last: usize,
    subjects: Subjects<'p>,
    depth: u32,
}

impl<'p> Parser<'p> {
    fn advance(&mut self) -> Result<Token<'p>> {
        let (token, start, end) = self.lexer.next()?;
        (self.last, self.start, self.end) = (self.end, start, end);
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(s) if s == symbol)
    }

    fn take(&mut self, symbol: &str) -> Result<bool> {
        let is = self.is(symbol);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn expect(&mut self, symbol: &str, expected: &'static str) -> Result<()> {
        if self.take(symbol)? { Ok(()) } else { Err(self.fault(Fault::Missing { expected })) }
    }

    fn fault(&self, fault: Fault) -> Misread {
        Misread { at: self.start, fault }
    }

    fn unexpected(&self) -> Misread {
        self.fault(match &self.token {
            Token::End => Fault::Missing { expected: "a condition" },
            Token::Name(found) => Fault::Unexpected { found: found.chars().take(40).collect() },
            Token::Text(found) => {
                Fault::Unexpected { found: format!("'{}'", found.chars().take(40).collect::<String>()) }
            }
            Token::Number(found) => Fault::Unexpected { found: found.to_string().chars().take(40).collect() },
            Token::Symbol(found) => Fault::Unexpected { found: found.to_string() },
        })
    }

    /// Conditions that are all true, or a single value. The last `;` of the text may have nothing behind it.
    fn sequence(&mut self) -> Result<Expr> {
        let mut parts = vec![self.implication()?];
        while self.take(";")? && self.token != Token::End {
            parts.push(self.implication()?);
        }
        one_or(parts, Kind::All)
    }

    fn implication(&mut self) -> Result<Expr> {
        let left = self.disjunction()?;
        if !self.take("->")? {
            return Ok(left);
        }
        let right = self.disjunction()?;
        if self.is("->") {
            return Err(self.fault(Fault::Chain));
        }
        condition(&left)?;
        condition(&right)?;
        let span = left.span.start..right.span.end;
        Ok(Expr { span, ty: Ty::Bool, kind: Kind::Implies(Box::new(left), Box::new(right)) })
    }

    fn disjunction(&mut self) -> Result<Expr> {
        let mut parts = vec![self.conjunction()?];
        while self.take("||")? {
            parts.push(self.conjunction()?);
        }
        one_or(parts, Kind::Any)
    }

    fn conjunction(&mut self) -> Result<Expr> {
        let mut parts = vec![self.comparison()?];
        while self.take("&&")? {
            parts.push(self.comparison()?);
        }
        one_or(parts, Kind::All)
    }

    fn comparison(&mut self) -> Result<Expr> {
        let left = self.unary()?;
        let Some(op) = self.operator() else { return Ok(left) };
        self.advance()?;
        let right = self.unary()?;
        if self.operator().is_some() {
            return Err(self.fault(Fault::Chain));
        }
        let at = left.span.start;
        let ty = unify(left.ty, right.ty).map_err(|fault| Misread { at, fault })?;
        let ordered = matches!(ty, Ty::Int | Ty::Bits { .. } | Ty::Key { form: MatchForm::Value, .. });
        let text = [&left, &right].into_iter().any(|side| side.ty == Ty::Text);
        if !matches!(op, Op::Equal | Op::NotEqual) && (!ordered || text) {
            let found = if text { Ty::Text.words() } else { ty.words() };
            return Err(Misread { at, fault: Fault::Order { found } });
        }
        let span = at..right.span.end;
        Ok(Expr { span, ty: Ty::Bool, kind: Kind::Compare(op, ty, Box::new(left), Box::new(right)) })
    }

    fn operator(&self) -> Option<Op> {
        let Token::Symbol(symbol) = self.token else { return None };
        Some(match symbol {
            "==" => Op::Equal,
            "!=" => Op::NotEqual,
            "<" => Op::Less,
            "<=" => Op::LessEqual,
            ">" => Op::Greater,
            ">=" => Op::GreaterEqual,
            _ => return None,
        })
    }

    fn unary(&mut self) -> Result<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(Fault::Deep));
        }
        let start = self.start;
        let expr = if self.take("!")? {
            let inner = self.unary()?;
            condition(&inner)?;
            Expr { span: start..inner.span.end, ty: Ty::Bool, kind: Kind::Not(Box::new(inner)) }
        } else if self.take("-")? {
            let inner = self.unary()?;
            if inner.ty != Ty::Int {
                let fault = Fault::Type { wanted: Ty::Int.words(), found: inner.ty.words() };
                return Err(Misread { at: inner.span.start, fault });
            }
            Expr { span: start..inner.span.end, ty: Ty::Int, kind: Kind::Negate(Box::new(inner)) }
        } else {
            self.projection()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    /// A value, and a part of it.
    fn projection(&mut self) -> Result<Expr> {
        let whole = self.primary()?;
        if !self.take("::")? {
            return Ok(whole);
        }
        let at = self.start;
        let Token::Name(name) = self.token else {
            return Err(self.fault(Fault::Missing { expected: "a part's name" }));
        };
        let (form, width, text) = match whole.ty {
            Ty::Key { form, width, text } => (Some(form), width, text),
            _ => (None, 0, None),
        };
        let mut parts = Part::ALL.iter().filter(|(_, part)| form.is_some_and(|form| part.is_of(form)));
        match (parts.clone().find(|(known, _)| *known == name), &whole.kind) {
            (Some((_, part)), Kind::Subject(at)) => {
                self.advance()?;
                let ty = match part {
                    Part::PrefixLength => Ty::Int,
                    Part::Mask => Ty::Bits { width, text: None },
                    _ => Ty::Bits { width, text },
                };
                Ok(Expr { span: whole.span.start..self.last, ty, kind: Kind::Part(*at, *part) })
            }
            _ => {
                let all = parts.by_ref().map(|(name, _)| format!("::{name}")).collect();
                let part = name.chars().take(40).collect();
                Err(Misread { at, fault: Fault::Part { of: whole.ty.words(), part, all } })
            }
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let start = self.start;
        if self.take("(")? {
            let inner = self.sequence()?;
            self.expect(")", "`)`")?;
            return Ok(Expr { span: start..self.last, ..inner });
        }
        if self.take("::")? {
            let Token::Name(name) = self.token else {
                return Err(self.fault(Fault::Missing { expected: "an attribute's name" }));
            };
            if name != "priority" || !self.subjects.priority {
                let all = if self.subjects.priority { vec!["priority".into()] } else { Vec::new() };
                return Err(self.fault(Fault::Name { what: "attribute", name: name.chars().take(40).collect(), all }));
            }
            self.advance()?;
            return Ok(Expr { span: start..self.last, ty: Ty::Int, kind: Kind::Priority });
        }
        if !matches!(self.token, Token::Name(_) | Token::Number(_) | Token::Text(_)) {
            return Err(self.unexpected());
        }
        let (ty, kind) = match self.advance()? {
            Token::Number(number) => (Ty::Int, Kind::Int(number)),
            Token::Text(text) => (Ty::Text, Kind::Text(text.to_string())),
            Token::Name("true") => (Ty::Bool, Kind::Bool(true)),
            Token::Name("false") => (Ty::Bool, Kind::Bool(false)),
            Token::Name("ipv4") if self.is("(") => (Ty::Int, Kind::Int(self.address("ipv4")?)),
            Token::Name("ipv6") if self.is("(") => (Ty::Int, Kind::Int(self.address("ipv6")?)),
            Token::Name("mac") if self.is("(") => (Ty::Int, Kind::Int(self.address("mac")?)),
            Token::Name(first) => self.subject(first, start)?,
            Token::Symbol(_) | Token::End => return Err(self.unexpected()),
        };
        Ok(Expr { span: start..self.last, ty, kind })
    }

    fn address(&mut self, kind: &'static str) -> Result<BigInt> {
        self.advance()?;
        let Token::Text(text) = self.token else {
            return Err(self.fault(Fault::Missing { expected: "an address in single quotes" }));
        };
        let value = match kind {
            "ipv4" => text.parse::<Ipv4Addr>().ok().map(|a| BigInt::from(u32::from(a))),
            "ipv6" => text.parse::<Ipv6Addr>().ok().map(|a| BigInt::from(u128::from(a))),
            _ => mac(text).map(BigInt::from),
        };
        let wrong = || Fault::Address { kind, text: text.chars().take(60).collect() };
        let value = value.ok_or_else(|| self.fault(wrong()))?;
        self.advance()?;
        self.expect(")", "`)`")?;
        Ok(value)
    }

    /// A match field or parameter, whose name may have dots.
    fn subject(&mut self, first: &str, at: usize) -> Result<(Ty, Kind)> {
        let mut name = first.to_string();
        while self.take(".")? {
            let Token::Name(next) = self.token else { return Err(self.fault(Fault::Missing { expected: "a name" })) };
            self.advance()?;
            name.push('.');
            name.push_str(next);
        }
        let Subjects { what, all, .. } = self.subjects;
        let Some(found) = all.iter().position(|s| s.name == name) else {
            let all = all.iter().map(|s| s.name.clone()).collect();
            return Err(Misread { at, fault: Fault::Name { what, name: name.chars().take(80).collect(), all } });
        };
        let subject = &all[found];
        let (width, text) = (subject.width, subject.text);
        let ty = match subject.form {
            Some(form) => Ty::Key { form, width, text },
            None => Ty::Bits { width, text },
        };
        Ok((ty, Kind::Subject(found)))
    }
}

fn mac(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let pairs = parts.len() == 6 && parts.iter().all(|p| p.len() == 2 && p.chars().all(|c| c.is_ascii_hexdigit()));
    parts.iter().filter(|_| pairs).try_fold(0, |n, p| Some(n << 8 | u64::from_str_radix(p, 16).ok()?)).filter(|_| pairs)
}

fn condition(expr: &Expr) -> Result<()> {
    match expr.ty {
        Ty::Bool => Ok(()),
        other => {
            let fault = Fault::Type { wanted: Ty::Bool.words(), found: other.words() };
            Err(Misread { at: expr.span.start, fault })
        }
    }
}

/// The only part, of any type, or several conditions.
fn one_or(parts: Vec<Expr>, of: fn(Vec<Expr>) -> Kind) -> Result<Expr> {
    match <[Expr; 1]>::try_from(parts) {
        Ok([only]) => Ok(only),
        Err(parts) => joined(parts, of),
    }
}

/// Conditions.
fn joined(parts: Vec<Expr>, of: fn(Vec<Expr>) -> Kind) -> Result<Expr> {
    parts.iter().try_for_each(condition)?;
    let span = parts.first().map_or(0, |p| p.span.start)..parts.last().map_or(0, |p| p.span.end);
    Ok(Expr { span, ty: Ty::Bool, kind: of(parts) })
}

/// The type in which two values are compared: numbers become numbers of fixed width, and those become matches of one value.
fn unify(left: Ty, right: Ty) -> std::result::Result<Ty, Fault> {
    let fail = |why| Err(Fault::Compare { left: left.words(), right: right.words(), why });
    match (left, right) {
        _ if left == right && left != Ty::Text => Ok(left),
        (Ty::Int, numeric @ (Ty::Bits { .. } | Ty::Key { .. }))
        | (numeric @ (Ty::Bits { .. } | Ty::Key { .. }), Ty::Int) => Ok(numeric),
        (Ty::Bits { width, text }, key @ Ty::Key { width: of_key, text: of, .. })
        | (key @ Ty::Key { width: of_key, text: of, .. }, Ty::Bits { width, text })
            if width == of_key && text == of =>
        {
            Ok(key)
        }
        (Ty::Text, other) | (other, Ty::Text) => match other {
            Ty::Bits { .. } | Ty::Key { form: MatchForm::Value | MatchForm::ValueOrAny, .. }
                if other.text().is_some() =>
            {
                Ok(other)
            }
            _ => fail(": its values are no strings"),
        },
        (Ty::Bits { .. } | Ty::Key { .. }, Ty::Bits { .. } | Ty::Key { .. }) => fail(" of another width, kind or type"),
        _ => fail(""),
    }
}
