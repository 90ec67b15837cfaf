//! Parser of the text form. Parsing what a pipeline prints yields that pipeline, with slots in the text's order and spans
//! that point into the text.
//!
//! It checks syntax and names only; [`crate::verify`] checks that the pipeline is valid.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use num_bigint::BigUint;
use num_traits::Num;

use super::token::{Token, tokens};
use crate::model::*;

/// Maximum nesting of blocks and expressions.
const MAX_DEPTH: usize = 1024;
/// Stack that the maximum nesting needs, in bytes.
const STACK: usize = 64 << 20;
/// Maximum width of a type.
const MAX_WIDTH: u32 = 1 << 20;

/// A syntax error or an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The line's text.
    pub text: String,
}

impl ParseError {
    pub(super) fn new(text: &str, at: usize, message: impl Into<String>) -> ParseError {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        ParseError {
            line: text[..at].matches('\n').count() + 1,
            column: text[start..at].chars().count() + 1,
            message: message.into(),
            text: text[start..].lines().next().unwrap_or_default().into(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError { line, column, message, text } = self;
        write!(f, "{line}:{column}: {message}\n    {text}\n    {:>column$}", "^")
    }
}

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
        pipeline: empty(Arc::new(sources)),
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

fn empty(sources: Arc<SourceMap>) -> Pipeline {
    let control = || Control { name: String::new(), body: Vec::new(), span: Span::none() };
    let none = SlotId(u32::MAX);
    Pipeline {
        name: String::new(),
        slots: Vec::new(),
        headers: Vec::new(),
        stacks: Vec::new(),
        unions: Vec::new(),
        errors: Vec::new(),
        standard: StandardMetadata::of(|_, _| none),
        parser: Parser { name: String::new(), states: Vec::new(), start: StateId(0), span: Span::none() },
        verify_checksum: control(),
        ingress: control(),
        egress: control(),
        compute_checksum: control(),
        deparser: control(),
        actions: Vec::new(),
        tables: Vec::new(),
        value_sets: Vec::new(),
        externs: Vec::new(),
        field_lists: Vec::new(),
        packet_in: None,
        packet_out: None,
        control_plane_objects: Vec::new(),
        sources,
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

// ---- Tokens --------------------------------------------------------------------------------------------------------

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

// ---- Declarations --------------------------------------------------------------------------------------------------

impl Reader<'_> {
    fn pipeline(&mut self) -> Result<()> {
        self.expect_word("pipeline")?;
        self.pipeline.name = self.name()?;
        self.expect_word("errors")?;
        loop {
            let name = self.name()?;
            self.pipeline.errors.push(name);
            if !self.sign(",") {
                break;
            }
        }
        while self.declaration()? {}
        if *self.token() != Token::End {
            return self.expected("a declaration");
        }
        for (object, name, at) in std::mem::take(&mut self.tables_of_objects) {
            let Some(found) = self.tables.get(&name) else {
                return self.error_at(at, format!("there is no table `{name}`"));
            };
            if let ExternKind::DirectCounter { table, .. } | ExternKind::DirectMeter { table, .. } =
                &mut self.pipeline.externs[object.index()].kind
            {
                *table = Some(*found);
            }
        }
        for (field, _) in StandardMetadata::FIELDS {
            let slot = self.pipeline.standard.field_mut(field).map(|slot| *slot);
            if slot == Some(SlotId(u32::MAX)) {
                return self.error_at(self.at, format!("there is no standard metadata `{field}`"));
            }
        }
        Ok(())
    }

    /// Parses one declaration; false if none is next.
    fn declaration(&mut self) -> Result<bool> {
        let Token::Word(word) = self.token().clone() else { return Ok(false) };
        let start = self.at;
        self.at += 1;
        match word.as_str() {
            "header" => self.header_declaration(start)?,
            "stack" => self.stack_declaration(start)?,
            "union" => {
                let name = self.name()?;
                self.expect_sign("=")?;
                self.expect_sign("{")?;
                let members = self.list("}", Self::header)?;
                let id = UnionId(self.pipeline.unions.len() as u32);
                for member in &members {
                    self.pipeline.headers[member.index()].union = Some(id);
                }
                let span = self.span_from(start);
                self.pipeline.unions.push(Union { name, members, span });
            }
            "metadata" => self.slot_declaration(SlotKind::Metadata, start)?,
            "standard" => self.slot_declaration(SlotKind::Standard, start)?,
            "local" => self.slot_declaration(SlotKind::Local, start)?,
            "field_list" => {
                let index = self.small()?;
                self.expect_sign("=")?;
                self.expect_sign("{")?;
                let slots = self.list("}", Self::slot)?;
                self.pipeline.field_lists.push(FieldList { index, slots });
            }
            "packet_in" => self.pipeline.packet_in = Some(self.header()?),
            "packet_out" => self.pipeline.packet_out = Some(self.header()?),
            "control_plane" => {
                let kind = self.found("kind of object", |_, name| {
                    P4Kind::ALL.into_iter().find(|kind| kind.words().replace(' ', "_") == name)
                })?;
                let name = self.name()?;
                let at = self.at;
                let Some(id) = self.id()? else { return self.error_at(at, "expected the object's `@id`") };
                self.pipeline.control_plane_objects.push(ControlPlaneObject { kind, name, id });
            }
            "value_set" => self.value_set(start)?,
            "extern" => self.extern_declaration(start)?,
            "action" => self.action_declaration(start)?,
            "table" => self.table_declaration(start)?,
            "parser" => self.parser(start)?,
            "verify_checksum" => self.pipeline.verify_checksum = self.control(start)?,
            "ingress" => self.pipeline.ingress = self.control(start)?,
            "egress" => self.pipeline.egress = self.control(start)?,
            "compute_checksum" => self.pipeline.compute_checksum = self.control(start)?,
            "deparser" => self.pipeline.deparser = self.control(start)?,
            _ => {
                self.at = start;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add_slot(&mut self, name: String, ty: Type, kind: SlotKind, span: Span) -> SlotId {
        let id = SlotId(self.pipeline.slots.len() as u32);
        self.slots.add(&name, id.0);
        self.pipeline.slots.push(Slot { name, ty, kind, span });
        id
    }

    fn header_declaration(&mut self, start: usize) -> Result<()> {
        let name = base_name(&self.name()?).to_string();
        self.expect_sign(":")?;
        let type_name = self.name()?;
        self.expect_sign("{")?;
        let id = HeaderId(self.pipeline.headers.len() as u32);
        let mut header = Header {
            valid: SlotId(0),
            fields: Vec::new(),
            fixed_bits: 0,
            varbit: None,
            stack: None,
            union: None,
            span: self.span_from(start),
            type_name,
            name: name.clone(),
        };
        while !self.sign("}") {
            let at = self.at;
            let field = self.name()?;
            self.expect_sign(":")?;
            let ty = self.ty()?;
            self.expect_sign("@")?;
            let offset_bits = self.small()?;
            let number = header.fields.len() as u32;
            let span = self.span_from(at);
            let slot = self.add_slot(format!("{name}.{field}"), ty, SlotKind::Field(id, number), span);
            header.fields.push(HeaderField { slot, name: field, offset_bits, width: ty.width() });
            match ty {
                Type::Varbit(_) => header.varbit = Some(number),
                _ => header.fixed_bits = header.fixed_bits.saturating_add(ty.width()),
            }
        }
        header.valid = self.add_slot(format!("{name}.$valid"), Type::Bool, SlotKind::Valid(id), header.span);
        self.headers.add(&name, id.0);
        self.pipeline.headers.push(header);
        Ok(())
    }

    fn stack_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign("=")?;
        self.expect_sign("[")?;
        let elements = self.list("]", Self::header)?;
        let id = StackId(self.pipeline.stacks.len() as u32);
        for (index, element) in (0..).zip(&elements) {
            self.pipeline.headers[element.index()].stack = Some((id, index));
        }
        let span = self.span_from(start);
        let next_index = self.add_slot(format!("{name}.$nextIndex"), Type::Bits(32), SlotKind::NextIndex(id), span);
        self.stacks.insert(name.clone(), id);
        self.pipeline.stacks.push(Stack { name, elements, next_index, span });
        Ok(())
    }

    fn slot_declaration(&mut self, kind: SlotKind, start: usize) -> Result<()> {
        let at = self.at;
        let name = base_name(&self.name()?).to_string();
        self.expect_sign(":")?;
        let ty = self.ty()?;
        let id = self.add_slot(name.clone(), ty, kind, self.span_from(start));
        if kind == SlotKind::Standard {
            let field = name.rsplit('.').next().unwrap_or_default();
            match self.pipeline.standard.field_mut(field) {
                Some(slot) => *slot = id,
                None => return self.error_at(at, format!("there is no standard metadata `{field}`")),
            }
        }
        Ok(())
    }

    fn value_set(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign(":")?;
        self.expect_sign("(")?;
        let types = self.list(")", Self::ty)?;
        self.expect_word("size")?;
        let size = self.small()?;
        let id = self.id()?;
        self.value_sets.insert(name.clone(), ValueSetId(self.pipeline.value_sets.len() as u32));
        let span = self.span_from(start);
        self.pipeline.value_sets.push(ValueSet { name, id, types, size, span });
        Ok(())
    }

    fn is_annotation(&self, name: &str) -> bool {
        self.is_sign("@") && matches!(self.tokens.get(self.at + 1), Some((Token::Word(word), _)) if word == name)
    }

    /// `@id(0x02000001)`, or nothing.
    fn id(&mut self) -> Result<Option<P4Id>> {
        if !self.is_annotation("id") {
            return Ok(None);
        }
        self.at += 2;
        self.expect_sign("(")?;
        let id = P4Id(self.small()?);
        self.expect_sign(")")?;
        Ok(Some(id))
    }

    fn size(&mut self) -> Result<u64> {
        self.expect_word("size")?;
        self.small()
    }

    fn unit(&mut self) -> Result<Unit> {
        self.expect_word("of")?;
        self.found("unit", |_, name| {
            [Unit::Packets, Unit::Bytes, Unit::Both].into_iter().find(|unit| format!("{unit:?}") == name)
        })
    }

    /// `size 12` of an indirect object, `in TABLE` or `in no table` of a direct one: the size if it is indirect.
    fn extent(&mut self, id: ExternId) -> Result<Option<u64>> {
        if !self.word("in") {
            return self.size().map(Some);
        }
        if self.word("no") {
            self.expect_word("table")?;
            return Ok(None);
        }
        let at = self.at;
        let table = self.name()?;
        self.tables_of_objects.push((id, table, at));
        Ok(None)
    }

    fn extern_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign(":")?;
        let id = ExternId(self.pipeline.externs.len() as u32);
        let kind = if self.word("counter") {
            let unit = self.unit()?;
            match self.extent(id)? {
                Some(size) => ExternKind::Counter { size, unit },
                None => ExternKind::DirectCounter { table: None, unit },
            }
        } else if self.word("meter") {
            let unit = self.unit()?;
            match self.extent(id)? {
                Some(size) => ExternKind::Meter { size, unit },
                None => ExternKind::DirectMeter { table: None, unit },
            }
        } else if self.word("register") {
            self.expect_word("of")?;
            let ty = self.ty()?;
            ExternKind::Register { size: self.size()?, ty }
        } else if self.word("action_profile") {
            ExternKind::ActionProfile { size: self.size()? }
        } else if self.word("action_selector") {
            self.expect_word("by")?;
            let algorithm = self.algorithm()?;
            self.expect_word("bits")?;
            let output_width = self.small()?;
            ExternKind::ActionSelector { algorithm, size: self.size()?, output_width }
        } else {
            let type_name = self.name()?;
            if self.sign("(") {
                ExternKind::Named { type_name, args: self.list(")", Self::number)? }
            } else if type_name == "Stateless" {
                ExternKind::Stateless
            } else {
                return self.expected("`(`");
            }
        };
        let concurrent = self.is_annotation("concurrent");
        if concurrent {
            self.at += 2;
        }
        let p4_id = self.id()?;
        self.externs.insert(name.clone(), id);
        let span = self.span_from(start);
        self.pipeline.externs.push(ExternInstance { name, id: p4_id, kind, concurrent, span });
        Ok(())
    }

    fn action_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign("(")?;
        self.params = self.list(")", |s| {
            let name = s.name()?;
            s.expect_sign(":")?;
            Ok(Param { name, ty: s.ty()? })
        })?;
        let id = self.id()?;
        let span = self.span_from(start);
        let body = self.braces()?;
        self.actions.insert(name.clone(), ActionId(self.pipeline.actions.len() as u32));
        let params = std::mem::take(&mut self.params);
        self.pipeline.actions.push(Action { name, id, params, body, span });
        Ok(())
    }

    fn control(&mut self, start: usize) -> Result<Control> {
        let name = self.name()?;
        let span = self.span_from(start);
        Ok(Control { name, body: self.braces()?, span })
    }

    fn table_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        let mut table = Table {
            name: name.clone(),
            id: self.id()?,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: ActionCall { action: ActionId(0), args: Vec::new() },
            const_default_action: false,
            entries: Vec::new(),
            const_entries: false,
            size: 0,
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            idle_timeout: false,
            span: self.span_from(start),
        };
        self.expect_sign("{")?;
        let mut has_default = false;
        while !self.sign("}") {
            let constant = self.word("const");
            if self.word("default") {
                table.default_action = self.action_call()?;
                table.const_default_action = constant;
                has_default = true;
            } else if self.word("entry") {
                let entry = self.entry(&table)?;
                table.entries.push(entry);
                table.const_entries = constant;
            } else if constant {
                return self.expected("`default` or `entry`");
            } else if self.word("key") {
                let name = self.name()?;
                self.expect_sign(":")?;
                let kind = self.found("match kind", |_, name| MatchKind::by_name(name))?;
                self.expect_sign("=")?;
                table.keys.push(Key { name, expr: self.expr()?, kind });
            } else if self.word("action") {
                let action = self.action()?;
                let mut action = TableAction { action, table_only: false, default_only: false };
                if self.sign("@") {
                    match self.name()?.as_str() {
                        "tableonly" => action.table_only = true,
                        "defaultonly" => action.default_only = true,
                        _ => return self.error_at(self.at - 1, "expected `tableonly` or `defaultonly`"),
                    }
                }
                table.actions.push(action);
            } else if self.is_word("size") {
                table.size = self.size()?;
            } else if self.word("implementation") {
                table.implementation = Some(self.object()?);
            } else if self.word("direct_counter") {
                table.direct_counter = Some(self.object()?);
            } else if self.word("direct_meter") {
                table.direct_meter = Some(self.object()?);
            } else if self.word("idle_timeout") {
                table.idle_timeout = true;
            } else {
                return self.expected("a property of the table or `}`");
            }
        }
        if !has_default {
            return self.error_at(start, "the table has no default action");
        }
        self.tables.insert(name, TableId(self.pipeline.tables.len() as u32));
        self.pipeline.tables.push(table);
        Ok(())
    }

    fn action_call(&mut self) -> Result<ActionCall> {
        let action = self.action()?;
        self.expect_sign("(")?;
        Ok(ActionCall { action, args: self.list(")", Self::number)? })
    }

    fn entry(&mut self, table: &Table) -> Result<TableEntry> {
        let mut kinds = table.keys.iter().map(|key| key.kind);
        let matches = self.list("=>", |s| s.match_value(kinds.next()))?;
        let action = self.action_call()?;
        let priority = if self.word("priority") {
            let negative = self.sign("-");
            let value: i32 = self.small()?;
            if negative { -value } else { value }
        } else {
            0
        };
        Ok(TableEntry { matches, priority, action })
    }

    fn match_value(&mut self, kind: Option<MatchKind>) -> Result<MatchValue> {
        if self.word("_") {
            return Ok(MatchValue::Optional(None));
        }
        let value = self.number()?;
        if self.sign("/") {
            return Ok(MatchValue::Lpm { value, prefix_len: self.small()? });
        }
        if self.sign("&&&") {
            return Ok(MatchValue::Ternary { value, mask: self.number()? });
        }
        if self.sign("..") {
            return Ok(MatchValue::Range { lo: value, hi: self.number()? });
        }
        Ok(if kind.is_some_and(|kind| kind.form() == MatchForm::ValueOrAny) {
            MatchValue::Optional(Some(value))
        } else {
            MatchValue::Exact(value)
        })
    }

    fn parser(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_word("from")?;
        let first = self.at;
        let first_name = self.name()?;
        // States may refer to later ones.
        let mut count = 0;
        for at in self.at..self.tokens.len().saturating_sub(2) {
            let [(Token::Word(word), _), (Token::Word(name) | Token::Quoted(name), _), (Token::Sign("{"), _)] =
                &self.tokens[at..at + 3]
            else {
                continue;
            };
            if word == "state" {
                self.states.insert(name.clone(), StateId(count));
                count += 1;
            }
        }
        let Some(&begin) = self.states.get(&first_name) else {
            return self.error_at(first, format!("there is no state `{first_name}`"));
        };
        self.pipeline.parser.name = name;
        self.pipeline.parser.start = begin;
        self.pipeline.parser.span = self.span_from(start);
        self.expect_sign("{")?;
        while !self.sign("}") {
            let start = self.at;
            self.expect_word("state")?;
            let name = base_name(&self.name()?).to_string();
            let span = self.span_from(start);
            self.expect_sign("{")?;
            let mut body = Vec::new();
            let transition = loop {
                if self.word("goto") {
                    break Transition::Goto(self.target()?);
                }
                if self.word("select") {
                    break self.select()?;
                }
                body.push(self.stmt()?);
            };
            self.expect_sign("}")?;
            self.pipeline.parser.states.push(State { name, body, transition, span });
        }
        Ok(())
    }

    fn target(&mut self) -> Result<Target> {
        if self.word("accept") {
            return Ok(Target::Accept);
        }
        if self.word("reject") {
            return Ok(Target::Reject);
        }
        self.found("state", |s, name| s.states.get(name).copied().map(Target::State))
    }

    fn select(&mut self) -> Result<Transition> {
        self.expect_sign("(")?;
        let keys = self.list(")", Self::expr)?;
        self.expect_sign("{")?;
        let mut cases = Vec::new();
        while !self.sign("}") {
            let start = self.at;
            let sets = self.list(":", Self::key_set)?;
            let target = self.target()?;
            cases.push(SelectCase { sets, target, span: self.span_from(start) });
        }
        Ok(Transition::Select { keys, cases })
    }

    fn key_set(&mut self) -> Result<KeySet> {
        if self.word("_") {
            return Ok(KeySet::Any);
        }
        if !matches!(self.token(), Token::Number(_)) {
            return self.found("value set", |s, name| s.value_sets.get(name).copied().map(KeySet::ValueSet));
        }
        let value = self.number()?;
        if self.sign("&&&") {
            return Ok(KeySet::Mask(value, self.number()?));
        }
        if self.sign("..") {
            return Ok(KeySet::Range(value, self.number()?));
        }
        Ok(KeySet::Value(value))
    }
}

// ---- Statements ----------------------------------------------------------------------------------------------------

impl Reader<'_> {
    /// Statements in braces.
    fn braces(&mut self) -> Result<Block> {
        self.expect_sign("{")?;
        self.nested(|s| {
            let mut body = Vec::new();
            while !s.sign("}") {
                body.push(s.stmt()?);
            }
            Ok(body)
        })
    }

    fn stmt(&mut self) -> Result<Stmt> {
        let start = self.at;
        let kind = match self.token().clone() {
            Token::Word(word) => {
                self.at += 1;
                match self.keyword(&word)? {
                    Some(kind) => kind,
                    None => {
                        self.at = start;
                        self.assignment_or_call()?
                    }
                }
            }
            Token::Quoted(_) => self.assignment_or_call()?,
            _ => return self.expected("a statement"),
        };
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    /// The statement that a keyword begins; `None` for other words.
    fn keyword(&mut self, word: &str) -> Result<Option<StmtKind>> {
        Ok(Some(match word {
            "set_valid" => StmtKind::SetValid(self.header()?),
            "set_invalid" => StmtKind::SetInvalid(self.header()?),
            "copy" => {
                let dst = self.header()?;
                self.expect_sign("=")?;
                StmtKind::CopyHeader { dst, src: self.header()? }
            }
            "push_front" => StmtKind::PushFront(self.stack()?, self.small()?),
            "pop_front" => StmtKind::PopFront(self.stack()?, self.small()?),
            "if" => self.conditional()?,
            "switch" => self.switch()?,
            "scope" => StmtKind::Scope { label: self.small()?, body: self.braces()? },
            "leave" => StmtKind::Leave(self.small()?),
            "loop" => StmtKind::Loop { bound: self.bound()?, body: self.braces()? },
            "apply" => {
                let table = self.found("table", |s, name| s.tables.get(name).copied())?;
                let hit = if self.word("hit") { Some(self.slot()?) } else { None };
                let action_run = if self.word("action_run") { Some(self.slot()?) } else { None };
                StmtKind::Apply { table, hit, action_run }
            }
            "exit" => StmtKind::Exit,
            "extract" => StmtKind::Extract { header: self.header()?, varbit_bits: self.varbit_bits()? },
            "extract_next" => StmtKind::ExtractNext { stack: self.stack()?, varbit_bits: self.varbit_bits()? },
            "advance" => StmtKind::Advance { bits: self.expr()?, bound: self.bound()? },
            "lookahead" => {
                let total_bits = self.small()?;
                self.expect_sign("{")?;
                let parts = self.list("}", |s| {
                    let slot = s.slot()?;
                    s.expect_sign("@")?;
                    Ok((slot, s.small()?))
                })?;
                StmtKind::Lookahead { total_bits, parts }
            }
            "verify" => {
                let cond = self.expr()?;
                self.expect_word("else")?;
                StmtKind::Verify(cond, self.expr()?)
            }
            "emit" => StmtKind::Emit(self.header()?),
            _ => return Ok(None),
        }))
    }

    /// `max 12`, or nothing.
    fn bound(&mut self) -> Result<Option<u32>> {
        if self.word("max") { self.small().map(Some) } else { Ok(None) }
    }

    fn varbit_bits(&mut self) -> Result<Option<Expr>> {
        if self.word("varbit") { self.expr().map(Some) } else { Ok(None) }
    }

    fn conditional(&mut self) -> Result<StmtKind> {
        let cond = self.expr()?;
        let then = self.braces()?;
        let otherwise = if !self.word("else") {
            Vec::new()
        } else if self.is_word("if") {
            let start = self.at;
            self.at += 1;
            let kind = self.nested(Self::conditional)?;
            vec![Stmt { kind, span: self.span_from(start) }]
        } else {
            self.braces()?
        };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    fn switch(&mut self) -> Result<StmtKind> {
        let value = self.expr()?;
        self.expect_sign("{")?;
        let mut cases = Vec::new();
        while self.word("case") {
            let mut values = Vec::new();
            loop {
                values.push(self.constant()?.0);
                if !self.sign(",") {
                    break;
                }
            }
            cases.push((values, self.braces()?));
        }
        self.expect_word("default")?;
        let default = self.braces()?;
        self.expect_sign("}")?;
        Ok(StmtKind::Switch { value, cases, default })
    }

    fn assignment_or_call(&mut self) -> Result<StmtKind> {
        let start = self.at;
        let name = self.name()?;
        if self.sign("=") {
            let end = self.at;
            self.at = start;
            let slot = self.slot()?;
            self.at = end;
            return Ok(StmtKind::Assign(slot, self.expr()?));
        }
        if self.is_sign("[") {
            self.at = start;
            let slot = self.slot()?;
            let (hi, lo) = self.slice()?;
            self.expect_sign("=")?;
            return Ok(StmtKind::AssignSlice { slot, hi, lo, value: self.expr()? });
        }
        let mut function = self.function(&name, start)?;
        self.expect_sign("(")?;
        let args = self.list(")", Self::argument)?;
        if let ExternFn::Named { no_side_effects, .. } = &mut function
            && self.sign("@")
        {
            self.expect_word("noSideEffects")?;
            *no_side_effects = true;
        }
        Ok(StmtKind::Extern(ExternCall { function, args, span: self.span_from(start) }))
    }

    /// The function with this name and the constants in angle brackets that follow.
    fn function(&mut self, name: &str, at: usize) -> Result<ExternFn> {
        // A method: of an object by its bare name (`counters.count`), or by its quoted name and a dot.
        let (object, method) = if self.sign(".") {
            (Some(name.to_string()), self.name()?)
        } else {
            match name.rsplit_once('.') {
                Some((object, method)) => (Some(object.to_string()), method.to_string()),
                None => (None, name.to_string()),
            }
        };
        if let Some(object) = object {
            let Some(&id) = self.externs.get(&object) else {
                return self.error_at(at, format!("there is no extern `{object}`"));
            };
            let found = ExternFn::find(&method, Some((id, &self.pipeline[id])), &[]);
            return Ok(found.unwrap_or(ExternFn::Named { instance: Some(id), name: method, no_side_effects: false }));
        }
        let in_brackets = self.sign("<");
        let constants = if in_brackets { self.list(">", Self::constant_of_call)? } else { Vec::new() };
        match ExternFn::find(&method, None, &constants) {
            Some(function) => Ok(function),
            None if in_brackets => self.error_at(at, format!("there is no `{method}` with these constants")),
            None => Ok(ExternFn::Named { instance: None, name: method, no_side_effects: false }),
        }
    }

    fn constant_of_call(&mut self) -> Result<ExternConstant> {
        match self.token() {
            Token::Number(_) => self.small().map(ExternConstant::Number),
            // A name that needs quotes looks like a text.
            Token::Quoted(_) => self.string().map(ExternConstant::Text),
            _ => self.name().map(ExternConstant::Word),
        }
    }

    fn argument(&mut self) -> Result<ExternArg> {
        if self.word("out") {
            return self.slot().map(ExternArg::Out);
        }
        if self.word("inout") {
            return self.slot().map(ExternArg::InOut);
        }
        if self.sign("{") {
            return self.list("}", Self::expr).map(ExternArg::List);
        }
        self.expr().map(ExternArg::In)
    }
}

// ---- Expressions ---------------------------------------------------------------------------------------------------

impl Reader<'_> {
    /// `[hi:lo]`
    fn slice(&mut self) -> Result<(u32, u32)> {
        self.expect_sign("[")?;
        let at = self.at;
        let hi: u32 = self.small()?;
        self.expect_sign(":")?;
        let lo: u32 = self.small()?;
        self.expect_sign("]")?;
        if lo > hi {
            return self.error_at(at, format!("the slice [{hi}:{lo}] is empty"));
        }
        Ok((hi, lo))
    }

    fn constant(&mut self) -> Result<(BigUint, Type)> {
        if self.word("true") {
            return Ok((1u32.into(), Type::Bool));
        }
        if self.word("false") {
            return Ok((0u32.into(), Type::Bool));
        }
        if let Token::Number(text) = self.token()
            && let Some(found) = typed(text)
        {
            self.at += 1;
            return Ok(found);
        }
        self.expected("a constant with its type, such as `8w0xff`")
    }

    fn expr(&mut self) -> Result<Expr> {
        self.nested(|s| {
            let start = s.at;
            let mut expr = s.operand()?;
            while s.is_sign("[") {
                let (hi, lo) = s.slice()?;
                let kind = ExprKind::Slice { arg: Box::new(expr), hi, lo };
                expr = Expr { kind, ty: Type::Bits((hi - lo).saturating_add(1)), span: s.span_from(start) };
            }
            Ok(expr)
        })
    }

    fn operand(&mut self) -> Result<Expr> {
        let start = self.at;
        let (kind, ty) = match self.next() {
            Token::Sign("(") => return self.parentheses(start),
            Token::Sign("-") => self.unary(UnaryOp::Neg)?,
            Token::Sign("~") => self.unary(UnaryOp::BitNot)?,
            Token::Sign("!") => self.unary(UnaryOp::Not)?,
            Token::Word(word) if word == "packet_length" => (ExprKind::PacketLength, Type::Bits(32)),
            Token::Word(name) if name != "true" && name != "false" => self.parameter_or_slot(&name, start)?,
            Token::Quoted(name) => self.parameter_or_slot(&name, start)?,
            _ => {
                self.at = start;
                let (value, ty) = self.constant()?;
                (ExprKind::Const(value), ty)
            }
        };
        Ok(Expr { kind, ty, span: self.span_from(start) })
    }

    fn parameter_or_slot(&mut self, name: &str, at: usize) -> Result<(ExprKind, Type)> {
        if let Some(index) = self.params.iter().position(|param| param.name == name) {
            return Ok((ExprKind::Param(index as u32), self.params[index].ty));
        }
        self.at = at;
        let slot = self.slot()?;
        Ok((ExprKind::Slot(slot), self.pipeline[slot].ty))
    }

    fn unary(&mut self, op: UnaryOp) -> Result<(ExprKind, Type)> {
        let operand = self.nested(Self::operand)?;
        let ty = operand.ty;
        Ok((ExprKind::Unary(op, Box::new(operand)), ty))
    }

    /// After an opening parenthesis: a cast, an operation, or an expression.
    fn parentheses(&mut self, start: usize) -> Result<Expr> {
        if ["bit", "int", "bool", "varbit"].iter().any(|word| self.is_word(word)) {
            let ty = self.ty()?;
            self.expect_sign(")")?;
            let operand = self.nested(Self::operand)?;
            return Ok(Expr { kind: ExprKind::Cast(Box::new(operand)), ty, span: self.span_from(start) });
        }
        let left = self.expr()?;
        if self.sign(")") {
            return Ok(left);
        }
        if self.sign("?") {
            let then = self.expr()?;
            self.expect_sign(":")?;
            let otherwise = self.expr()?;
            self.expect_sign(")")?;
            let ty = then.ty;
            let kind = ExprKind::Mux(Box::new(left), Box::new(then), Box::new(otherwise));
            return Ok(Expr { kind, ty, span: self.span_from(start) });
        }
        let Token::Sign(sign) = *self.token() else { return self.expected("an operator or `)`") };
        let Some(op) = binary_operator(sign) else { return self.expected("an operator or `)`") };
        self.at += 1;
        let right = self.expr()?;
        self.expect_sign(")")?;
        use BinaryOp::*;
        let ty = match op {
            Eq | Ne | Lt | Le | Gt | Ge | LogicalAnd | LogicalOr => Type::Bool,
            Concat => {
                let width = left.ty.width().saturating_add(right.ty.width());
                if matches!(left.ty, Type::Int(_)) { Type::Int(width) } else { Type::Bits(width) }
            }
            _ => left.ty,
        };
        let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
        Ok(Expr { kind, ty, span: self.span_from(start) })
    }
}
