//! Text to trees.

use std::collections::HashMap;
use std::iter::Peekable;

use hopwright_ir::{HashAlgorithm, Type, UnaryOp};
use num_bigint::BigUint;

use super::BINARY;
use crate::trace_ir::values::{Op, ValueId, ValueType};
use crate::trace_ir::{Effect, End, Guard, Leaf, Name, Node, NodeId, Place, Site, TraceIr, Verdict};

/// The widest type that the text may have.
const MAX_WIDTH: u32 = 1 << 20;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What was expected.
    pub message: String,
}

type Result<T> = std::result::Result<T, String>;

/// Parses a tree. The result is well-formed, but only [`crate::trace_ir::verify`] says whether it is valid.
///
/// # Errors
/// The first line that is not understood, and what was expected there.
pub fn parse(text: &str) -> std::result::Result<TraceIr, ParseError> {
    let mut parser =
        Parser { ir: TraceIr::new(""), labels: HashMap::new(), nodes: Vec::new(), open: None, effects: Vec::new() };
    let mut named = false;
    let mut last = 0;
    for (i, line) in text.lines().enumerate() {
        last = i + 1;
        let failed = |message| ParseError { line: i + 1, message };
        let mut tokens = Tokens::of(line).map_err(failed)?;
        if tokens.is_empty() {
            continue;
        }
        if !named {
            tokens.word("trace").map_err(failed)?;
            parser.ir.name = tokens.text().map_err(failed)?;
            named = true;
        } else {
            parser.line(&mut tokens).map_err(failed)?;
        }
        tokens.end().map_err(failed)?;
    }
    parser.finish().map_err(|message| ParseError { line: last, message })
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

struct Tokens(Peekable<std::vec::IntoIter<Token>>);

impl Tokens {
    fn of(line: &str) -> Result<Tokens> {
        let mut tokens = Vec::new();
        let mut chars = line.chars().peekable();
        while let Some(&c) = chars.peek() {
            match c {
                ';' => break,
                c if c.is_whitespace() => {
                    chars.next();
                }
                '"' => {
                    chars.next();
                    let mut text = String::new();
                    loop {
                        match chars.next() {
                            Some('"') => break,
                            Some('\\') => text.extend(chars.next()),
                            Some(c) => text.push(c),
                            None => return Err("a quote that ends the text is missing".into()),
                        }
                    }
                    tokens.push(Token::Text(text));
                }
                c if c.is_alphanumeric() || c == '_' => {
                    let mut word = String::new();
                    while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                        word.push(c);
                    }
                    tokens.push(Token::Word(word));
                }
                c => {
                    chars.next();
                    tokens.push(Token::Sign(c));
                }
            }
        }
        Ok(Tokens(tokens.into_iter().peekable()))
    }

    fn is_empty(&mut self) -> bool {
        self.0.peek().is_none()
    }

    fn has(&mut self, sign: char) -> bool {
        self.0.next_if_eq(&Token::Sign(sign)).is_some()
    }

    fn sign(&mut self, sign: char) -> Result<()> {
        if self.has(sign) { Ok(()) } else { Err(format!("`{sign}` is expected")) }
    }

    fn end(&mut self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err("the end of the line is expected".into()) }
    }

    fn any_word(&mut self) -> Result<String> {
        match self.0.next() {
            Some(Token::Word(word)) => Ok(word),
            _ => Err("a word or number is expected".into()),
        }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.any_word()? == word { Ok(()) } else { Err(format!("`{word}` is expected")) }
    }

    fn text(&mut self) -> Result<Name> {
        match self.0.next() {
            Some(Token::Text(text)) => Ok(text.into()),
            _ => Err("a name in quotes is expected".into()),
        }
    }

    fn site(&mut self) -> Result<Site> {
        Ok(Site::from(&*self.text()?))
    }

    fn small(&mut self) -> Result<u32> {
        let word = self.any_word()?;
        word.parse().map_err(|_| format!("a number is expected, not `{word}`"))
    }

    /// `, ` and a number.
    fn next_small(&mut self) -> Result<u32> {
        self.sign(',')?;
        self.small()
    }

    fn ty(&mut self) -> Result<ValueType> {
        let word = self.any_word()?;
        let width = |prefix: &str| word.strip_prefix(prefix)?.parse::<u32>().ok().filter(|width| *width <= MAX_WIDTH);
        match word.as_str() {
            "bool" => return Ok(ValueType::Data(Type::Bool)),
            "entry" => return Ok(ValueType::Entry),
            _ => {}
        }
        let ty = (width("bit").map(Type::Bits))
            .or_else(|| width("int").map(Type::Int))
            .or_else(|| width("varbit").map(Type::Varbit));
        ty.map(ValueType::Data).ok_or_else(|| format!("a type is expected, not `{word}`"))
    }
}

struct Parser {
    ir: TraceIr,
    labels: HashMap<String, ValueId>,
    /// Nodes by number.
    nodes: Vec<Option<Node>>,
    /// The node being read.
    open: Option<(usize, Vec<Guard>)>,
    /// The effects of its leaf so far.
    effects: Vec<Effect>,
}

impl Parser {
    fn finish(self) -> Result<TraceIr> {
        if self.open.is_some() {
            return Err("the last block has no end".into());
        }
        let mut ir = self.ir;
        for (i, node) in self.nodes.into_iter().enumerate() {
            ir.nodes.push(node.ok_or_else(|| format!("block{i} is missing"))?);
        }
        Ok(ir)
    }

    fn line(&mut self, tokens: &mut Tokens) -> Result<()> {
        let first = tokens.any_word()?;
        if let Some(number) = block_number(&first) {
            tokens.sign(':')?;
            if self.open.is_some() {
                return Err("the block in front of this one has no end".into());
            }
            if self.nodes.get(number).is_some_and(Option::is_some) {
                return Err(format!("there are two of block{number}"));
            }
            self.open = Some((number, Vec::new()));
            return Ok(());
        }
        if self.open.is_none() {
            return Err(format!("a block is expected, not `{first}`"));
        }
        match first.as_str() {
            "guard" => {
                let holds = !tokens.has('!');
                let condition = self.operand(tokens)?;
                tokens.sign(',')?;
                let guard = Guard { condition, holds, site: tokens.site()? };
                if let Some((_, guards)) = &mut self.open {
                    guards.push(guard);
                }
                Ok(())
            }
            "count" => {
                let counter = tokens.text()?;
                let index = self.next(tokens)?;
                self.effects.push(Effect::Count { counter, index });
                Ok(())
            }
            "count_hit" => {
                let entry = self.operand(tokens)?;
                self.effects.push(Effect::CountHit(entry));
                Ok(())
            }
            "measure" => {
                let meter = tokens.text()?;
                let of = self.next(tokens)?;
                self.effects.push(Effect::Measure { meter, of });
                Ok(())
            }
            "priority" => {
                let priority = self.operand(tokens)?;
                self.effects.push(Effect::Priority(priority));
                Ok(())
            }
            "write" => {
                let register = tokens.text()?;
                let (index, value) = (self.next(tokens)?, self.next(tokens)?);
                self.effects.push(Effect::Write { register, index, value });
                Ok(())
            }
            "exit" => {
                let site = tokens.site()?;
                self.close(End::Exit { site })
            }
            "branch" => {
                let condition = self.operand(tokens)?;
                let [yes, no] = [self.next_block(tokens)?, self.next_block(tokens)?];
                tokens.sign(',')?;
                let site = tokens.site()?;
                self.close(End::Branch { condition, yes, no, site })
            }
            "drop" => self.close_leaf(Verdict::Drop),
            "forward" => {
                let port = self.operand(tokens)?;
                tokens.sign(',')?;
                tokens.sign('[')?;
                let mut headers = Vec::new();
                while !tokens.has(']') {
                    if !headers.is_empty() {
                        tokens.sign(',')?;
                    }
                    headers.push(self.operand(tokens)?);
                }
                tokens.sign(',')?;
                tokens.word("payload")?;
                let payload = self.place(tokens)?;
                self.close_leaf(Verdict::Forward { port, headers, payload })
            }
            _ => self.definition(first, tokens),
        }
    }

    fn close_leaf(&mut self, verdict: Verdict) -> Result<()> {
        let effects = std::mem::take(&mut self.effects);
        self.close(End::Leaf(Leaf { effects, verdict }))
    }

    fn close(&mut self, end: End) -> Result<()> {
        if !self.effects.is_empty() {
            return Err("only leaves have effects".into());
        }
        let Some((number, guards)) = self.open.take() else { return Err("a block is expected".into()) };
        // Blocks may come in any order, but the numbers must not have gaps.
        if number > self.nodes.len() + 4_000 {
            return Err(format!("block{number} has too large a number"));
        }
        self.nodes.resize(self.nodes.len().max(number + 1), None);
        self.nodes[number] = Some(Node { guards, end });
        Ok(())
    }

    fn next_block(&mut self, tokens: &mut Tokens) -> Result<NodeId> {
        tokens.sign(',')?;
        let word = tokens.any_word()?;
        let number = block_number(&word).and_then(|number| u32::try_from(number).ok());
        number.map(NodeId).ok_or_else(|| format!("a block is expected, not `{word}`"))
    }

    /// `, ` and an operand.
    fn next(&mut self, tokens: &mut Tokens) -> Result<ValueId> {
        tokens.sign(',')?;
        self.operand(tokens)
    }

    /// The operands up to the end of the line.
    fn rest(&mut self, tokens: &mut Tokens) -> Result<Vec<ValueId>> {
        let mut operands = Vec::new();
        while !tokens.is_empty() {
            operands.push(self.next(tokens)?);
        }
        Ok(operands)
    }

    fn operand(&mut self, tokens: &mut Tokens) -> Result<ValueId> {
        let word = tokens.any_word()?;
        self.operand_from(&word, tokens)
    }

    fn operand_from(&mut self, word: &str, tokens: &mut Tokens) -> Result<ValueId> {
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.labels.get(word).copied().ok_or_else(|| format!("`{word}` is not defined"));
        }
        let digits = word.strip_prefix("0x").map_or((word, 10), |digits| (digits, 16));
        let value = BigUint::parse_bytes(digits.0.as_bytes(), digits.1);
        let value = value.ok_or_else(|| format!("a number is expected, not `{word}`"))?;
        tokens.sign(':')?;
        match tokens.ty()? {
            ValueType::Data(ty) if hopwright_ir::bits::fits(&value, ty.width()) => {
                Ok(self.ir.values.constant(value, ty))
            }
            ValueType::Data(_) => Err(format!("`{word}` does not fit its type")),
            ValueType::Entry => Err("an entry is no constant".into()),
        }
    }

    fn place(&mut self, tokens: &mut Tokens) -> Result<Place> {
        let word = tokens.any_word()?;
        if let Ok(offset) = word.parse() {
            return Ok(Place { base: None, offset });
        }
        let base = Some(self.operand_from(&word, tokens)?);
        tokens.sign('+')?;
        Ok(Place { base, offset: tokens.small()? })
    }

    fn definition(&mut self, label: String, tokens: &mut Tokens) -> Result<()> {
        tokens.sign(':').map_err(|_| format!("an instruction is expected, not `{label}`"))?;
        let ty = tokens.ty()?;
        tokens.sign('=')?;
        let op = self.operation(tokens)?;
        if !self.ir.values.is_well_typed(&op, ty) {
            return Err("operands or result have types that do not fit the operation".into());
        }
        let value = self.ir.values.make(op, ty);
        self.labels.insert(label, value);
        Ok(())
    }

    fn operation(&mut self, tokens: &mut Tokens) -> Result<Op> {
        let name = tokens.any_word()?;
        if let Some((_, op)) = BINARY.iter().find(|(binary, _)| *binary == name) {
            return Ok(Op::Binary(*op, self.operand(tokens)?, self.next(tokens)?));
        }
        Ok(match name.as_str() {
            "packet" => {
                let Place { base, offset } = self.place(tokens)?;
                Op::Packet { base, bit: offset }
            }
            "bytes" => {
                let at = self.place(tokens)?;
                let length = if tokens.is_empty() { None } else { Some(self.next(tokens)?) };
                Op::Bytes { at, length }
            }
            "length" => Op::Length,
            "ingress_port" => Op::IngressPort,
            "now" => Op::Now,
            "queue_wait" => Op::QueueWait(self.operand(tokens)?, self.next(tokens)?),
            "queue_depth" => Op::QueueDepth(self.operand(tokens)?, self.next(tokens)?),
            "lookup" => Op::Lookup { table: tokens.text()?, keys: self.rest(tokens)? },
            "hit" => Op::Hit(self.operand(tokens)?),
            "is" => {
                let entry = self.operand(tokens)?;
                tokens.sign(',')?;
                Op::Is(entry, tokens.text()?)
            }
            "argument" => {
                let entry = self.operand(tokens)?;
                tokens.sign(',')?;
                Op::Argument { entry, action: tokens.text()?, index: tokens.next_small()? }
            }
            "member" => Op::Member { set: tokens.text()?, keys: self.rest(tokens)? },
            "register" => Op::Register { register: tokens.text()?, index: self.next(tokens)? },
            "color" => Op::Color { meter: tokens.text()?, of: self.next(tokens)? },
            "call" | "cipher" => {
                let (function, result) = (tokens.text()?, tokens.next_small()?);
                Op::Call { function, result, args: self.rest(tokens)?, cipher: name == "cipher" }
            }
            "checksum" => {
                let name = tokens.any_word()?;
                let algorithm = HashAlgorithm::by_name(&name).ok_or_else(|| format!("`{name}` is no algorithm"))?;
                Op::Checksum { algorithm, parts: self.rest(tokens)? }
            }
            "neg" => Op::Unary(UnaryOp::Neg, self.operand(tokens)?),
            "bit_not" => Op::Unary(UnaryOp::BitNot, self.operand(tokens)?),
            "not" => Op::Unary(UnaryOp::Not, self.operand(tokens)?),
            "cast" => Op::Cast(self.operand(tokens)?),
            "slice" => Op::Slice { arg: self.operand(tokens)?, hi: tokens.next_small()?, lo: tokens.next_small()? },
            "mux" => Op::Mux(self.operand(tokens)?, self.next(tokens)?, self.next(tokens)?),
            _ => return Err(format!("`{name}` is no operation")),
        })
    }
}

fn block_number(word: &str) -> Option<usize> {
    word.strip_prefix("block")?.parse().ok()
}
