//! Parser of the text form. Parsing what a pipeline prints yields that pipeline, with slots in the text's order and spans
//! that point into the text.
//!
//! It checks syntax and names only; [`crate::verify`] checks that the pipeline is valid.

mod declarations;
mod statements;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use num_bigint::BigUint;
use num_traits::Num;

use super::error::ParseError;
use super::token::{Token, tokens};
use crate::model::*;

/// Maximum nesting of blocks and expressions.
const MAX_DEPTH: usize = 1024;
/// Stack that the maximum nesting needs, in bytes.
const STACK: usize = 64 << 20;
/// Maximum width of a type.
const MAX_WIDTH: u32 = 1 << 20;

/// Reads a pipeline's text form.
///
/// # Errors
/// The first error.
pub fn parse(text: &str) -> Result<Pipeline, ParseError> {
    let thread = std::thread::Builder::new().stack_size(STACK);
    std::thread::scope(|scope| match thread.spawn_scoped(scope, || read(text)) {
        Ok(reading) => reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(error) => Err(ParseError::new(text, 0, format!("cannot start a thread to read it: {error}"))),
    })
}

fn read(text: &str) -> Result<Pipeline, ParseError> {
    let tokens = tokens(text)?;
    let mut sources = SourceMap::new();
    let file = sources.add("pipeline", text, None);
    let mut parser = Reader {
        text,
        tokens: &tokens,
        at: 0,
        depth: 0,
        file,
        pipeline: Pipeline {
            sources: Arc::new(sources),
            ..Pipeline::empty(StandardMetadata::of(|_, _| SlotId(u32::MAX)))
        },
        slots: Names::default(),
        headers: Names::default(),
        stacks: HashMap::new(),
        actions: HashMap::new(),
        tables: HashMap::new(),
        externs: HashMap::new(),
        value_sets: HashMap::new(),
        states: HashMap::new(),
        params: Vec::new(),
        tables_of_objects: Vec::new(),
    };
    parser.pipeline()?;
    Ok(parser.pipeline)
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [(Token, Range<usize>)],
    at: usize,
    depth: usize,
    file: hopwright_source::FileId,
    pipeline: Pipeline,
    slots: Names,
    headers: Names,
    stacks: HashMap<String, StackId>,
    actions: HashMap<String, ActionId>,
    tables: HashMap<String, TableId>,
    externs: HashMap<String, ExternId>,
    value_sets: HashMap<String, ValueSetId>,
    states: HashMap<String, StateId>,
    /// Parameters of the action that is being parsed.
    params: Vec<Param>,
    /// Tables of direct counters and meters, declared later: the object, the table's name, and its token.
    tables_of_objects: Vec<(ExternId, String, usize)>,
}

/// Indices by names in the text; `name#1` is the second one called `name`.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, Vec<u32>>,
}

impl Names {
    fn add(&mut self, name: &str, number: u32) {
        self.numbers.entry(name.into()).or_default().push(number);
    }

    fn get(&self, written: &str) -> Option<u32> {
        if let Some([only]) = self.numbers.get(written).map(Vec::as_slice) {
            return Some(*only);
        }
        let (name, which) = written.rsplit_once('#')?;
        self.numbers.get(name)?.get(which.parse::<usize>().ok()?).copied()
    }
}

/// The name without a suffix such as `#1`.
fn base_name(written: &str) -> &str {
    match written.rsplit_once('#') {
        Some((name, which)) if !which.is_empty() && which.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => written,
    }
}

fn binary_operator(sign: &str) -> Option<BinaryOp> {
    use BinaryOp::*;
    [
        Add, Sub, Mul, Div, Mod, SatAdd, SatSub, And, Or, Xor, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr,
        Concat,
    ]
    .into_iter()
    .find(|op| super::operator(*op) == sign)
}

/// The bits of a number without a type: `12`, `0x1f`.
fn bits(text: &str) -> Option<BigUint> {
    match text.strip_prefix("0x") {
        Some(digits) => BigUint::from_str_radix(digits, 16).ok(),
        None => BigUint::from_str_radix(text, 10).ok(),
    }
}

/// A constant with its type: `8w0xff`, `8s0x1`.
fn typed(text: &str) -> Option<(BigUint, Type)> {
    let at = text.find(['w', 's'])?;
    let width = text[..at].parse().ok().filter(|width| *width <= MAX_WIDTH)?;
    let ty = if text[at..].starts_with('w') { Type::Bits(width) } else { Type::Int(width) };
    Some((bits(&text[at + 1..])?, ty))
}

impl Reader<'_> {
    fn token(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn next(&mut self) -> Token {
        let token = self.token().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn error_at<T>(&self, token: usize, message: impl Into<String>) -> Result<T> {
        Err(ParseError::new(self.text, self.tokens[token].1.start, message))
    }

    /// The error for an unexpected token.
    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.token() {
            Token::Word(text) | Token::Number(text) => format!("`{text}`"),
            Token::Quoted(text) => super::token::quoted(text),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the text".into(),
        };
        self.error_at(self.at, format!("expected {what}, found {found}"))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Word(text) if text == word)
    }

    /// Consumes a keyword if it is next.
    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(found) if *found == sign)
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.sign(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn name(&mut self) -> Result<String> {
        match self.token() {
            Token::Word(name) | Token::Quoted(name) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.expected("a name"),
        }
    }

    fn string(&mut self) -> Result<String> {
        let Token::Quoted(text) = self.token().clone() else { return self.expected("a text in quotes") };
        self.at += 1;
        Ok(text)
    }

    fn number(&mut self) -> Result<BigUint> {
        if let Token::Number(text) = self.token()
            && let Some(value) = bits(text)
        {
            self.at += 1;
            return Ok(value);
        }
        self.expected("a number")
    }

    fn small<T: TryFrom<BigUint>>(&mut self) -> Result<T> {
        let at = self.at;
        let value = self.number()?;
        match value.try_into() {
            Ok(value) => Ok(value),
            Err(_) => self.error_at(at, "the number is too large"),
        }
    }

    /// A comma-separated list up to a closing sign, which is consumed.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.sign(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.sign(close) {
                return Ok(items);
            }
            if !self.sign(",") {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// Looks up an object by the next name.
    fn found<T>(&mut self, what: &str, get: impl FnOnce(&Self, &str) -> Option<T>) -> Result<T> {
        let at = self.at;
        let name = self.name()?;
        match get(self, &name) {
            Some(found) => Ok(found),
            None => self.error_at(at, format!("there is no {what} `{name}`")),
        }
    }

    fn slot(&mut self) -> Result<SlotId> {
        self.found("slot", |s, name| s.slots.get(name).map(SlotId))
    }

    fn header(&mut self) -> Result<HeaderId> {
        self.found("header", |s, name| s.headers.get(name).map(HeaderId))
    }

    fn stack(&mut self) -> Result<StackId> {
        self.found("stack", |s, name| s.stacks.get(name).copied())
    }

    fn action(&mut self) -> Result<ActionId> {
        self.found("action", |s, name| s.actions.get(name).copied())
    }

    fn object(&mut self) -> Result<ExternId> {
        self.found("extern", |s, name| s.externs.get(name).copied())
    }

    fn algorithm(&mut self) -> Result<HashAlgorithm> {
        self.found("hash algorithm", |_, name| HashAlgorithm::by_name(name))
    }

    fn span_from(&self, token: usize) -> Span {
        let end = self.tokens[self.at.max(token + 1) - 1].1.end;
        Span::new(self.file, self.tokens[token].1.start as u32, end as u32)
    }

    fn ty(&mut self) -> Result<Type> {
        if self.word("bool") {
            return Ok(Type::Bool);
        }
        let make: fn(u32) -> Type = match self.token() {
            Token::Word(word) if word == "bit" => Type::Bits,
            Token::Word(word) if word == "int" => Type::Int,
            Token::Word(word) if word == "varbit" => Type::Varbit,
            _ => return self.expected("a type"),
        };
        self.at += 1;
        self.expect_sign("<")?;
        let at = self.at;
        let width = self.small()?;
        if width > MAX_WIDTH {
            return self.error_at(at, format!("types have at most {MAX_WIDTH} bits"));
        }
        self.expect_sign(">")?;
        Ok(make(width))
    }

    /// Runs `f` one nesting level deeper.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return self.error_at(self.at, format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }
}
