//! Reads the JSON that p4c (`p4c-bm2-ss`) and p4c-bm write for BMv2's `simple_switch` into the pipeline IR.
//!
//! The format is `docs/JSON_format.md` of p4lang/behavioral-model, version 2. [`read`] does what `simple_switch` does with a file:
//! expressions are exact until they are stored, actions run to their end, fields of invalid headers are left out of hashes and
//! checksums. What it does not know it refuses, with the place in the JSON.

mod actions;
mod calculations;
mod choice;
mod controls;
mod externs;
mod format;
mod graph;
mod ids;
mod locals;
mod lvalue;
mod number;
mod operand;
mod parser;
mod primitives;
mod state;
mod tables;
mod variants;

use std::collections::HashMap;

use hopwright_ir::verify::verify;
use hopwright_ir::{
    Block, Control, Expr, ExternId, Parser, Pipeline, Slot, SlotId, SlotKind, Span, StandardMetadata, StateId, Stmt,
    StmtKind, Type, UnionId,
};
use hopwright_opt::length;
use hopwright_source::stack;
use num_bigint::BigUint;

use state::Names;
use variants::Variants;

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Error {
    /// The place in the JSON, as `pipelines[0].tables[3].key[1].target`; `.` is the whole file.
    pub path: String,
    /// What is wrong there, and what was expected.
    pub message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error at a place.
pub(crate) fn error<T>(path: &str, message: impl Into<String>) -> Result<T> {
    Err(Error { path: path.into(), message: message.into() })
}

/// Whether a JSON text is a file of this format: an object with header types.
pub fn is_bmv2_json(value: &serde_json::Value) -> bool {
    value.get("header_types").is_some()
}

/// Reads a program. `name` is what the pipeline is called if the file does not say. With `optimise` false the pipeline is as the file
/// has it.
///
/// # Errors
/// If the text is no JSON of this format, or uses something that is not supported.
pub fn read(text: &str, name: &str, optimise: bool) -> Result<Pipeline> {
    stack::with_room(|| {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let program: format::Program = serde_path_to_error::deserialize(&mut deserializer)
            .map_err(|e| Error { path: e.path().to_string(), message: e.inner().to_string() })?;
        deserializer.end().map_err(|e| Error { path: ".".into(), message: e.to_string() })?;
        let mut pipeline = Reader::new(&program, name).read()?;
        check(&pipeline)?;
        if optimise {
            hopwright_opt::optimise(&mut pipeline);
            check(&pipeline)?;
        }
        Ok(pipeline)
    })
}

/// Verifies the pipeline: a violation is something that the reader should have refused.
fn check(pipeline: &Pipeline) -> Result<()> {
    match verify(pipeline) {
        Ok(()) => Ok(()),
        Err(errors) => {
            let first = errors.first().map_or_else(String::new, ToString::to_string);
            error(".", format!("the program makes no sound pipeline: {first}"))
        }
    }
}

/// Reads one file.
pub(crate) struct Reader<'j> {
    pub(crate) json: &'j format::Program,
    pub(crate) p: Pipeline,
    pub(crate) names: Names<'j>,
    /// Meters, counters and registers by what the format calls their kind, and name.
    pub(crate) objects: HashMap<(&'static str, &'j str), ExternId>,
    /// JSON actions by id.
    pub(crate) actions: HashMap<i64, usize>,
    pub(crate) variants: Variants<'j>,
    /// The statements of the block that is being written.
    pub(crate) block: Block,
    /// The data of the action that is being written.
    pub(crate) data: Vec<Expr>,
    /// The number that the file has for `NoError`, which is 0 in the pipeline; other errors follow.
    pub(crate) first_error: u32,
    /// Where changes of the packet's length are counted.
    length_change: SlotId,
    labels: u32,
    temporaries: u32,
}

/// A stack of header unions.
#[derive(Clone, Debug)]
pub(crate) struct UnionStack {
    pub(crate) unions: Vec<UnionId>,
    pub(crate) next: SlotId,
}

impl<'j> Reader<'j> {
    fn new(json: &'j format::Program, name: &str) -> Reader<'j> {
        let mut slots = Vec::new();
        let standard = StandardMetadata::of(|field, width| {
            slots.push(Slot {
                name: format!("standard_metadata.{field}"),
                ty: Type::Bits(width),
                kind: SlotKind::Standard,
                span: Span::none(),
            });
            SlotId(slots.len() as u32 - 1)
        });
        let length_change = SlotId(slots.len() as u32);
        slots.push(length::change_slot());
        let control = |name: &str| Control { name: name.into(), body: Vec::new(), span: Span::none() };
        let stem = json.program.as_deref().map(std::path::Path::new).and_then(|file| file.file_stem());
        let p = Pipeline {
            name: stem.map_or_else(|| name.to_string(), |stem| stem.to_string_lossy().into_owned()),
            slots,
            parser: Parser { name: "parser".into(), states: Vec::new(), start: StateId(0), span: Span::none() },
            verify_checksum: control("verify_checksum"),
            ingress: control("ingress"),
            egress: control("egress"),
            compute_checksum: control("compute_checksum"),
            deparser: control("deparser"),
            ..Pipeline::empty(standard)
        };
        Reader {
            json,
            p,
            names: Names::default(),
            objects: HashMap::new(),
            actions: HashMap::new(),
            variants: Variants::default(),
            block: Vec::new(),
            data: Vec::new(),
            first_error: 0,
            length_change,
            labels: 0,
            temporaries: 0,
        }
    }

    fn read(mut self) -> Result<Pipeline> {
        if let Some(meta) = &self.json.meta
            && meta.version.0 > 2
        {
            let (major, minor) = meta.version;
            return error("__meta__.version", format!("version {major}.{minor} of the format; version 2 is known"));
        }
        self.read_state()?;
        self.read_externs()?;
        self.read_field_lists()?;
        self.read_parser()?;
        self.read_tables()?;
        self.read_controls()?;
        self.read_checksums()?;
        self.read_deparser()?;
        length::account(&mut self.p, self.length_change);
        locals::localise(&mut self.p);
        ids::assign(&mut self.p);
        Ok(self.p)
    }

    /// Adds a statement to the block that is being written.
    pub(crate) fn emit(&mut self, kind: StmtKind) {
        self.block.push(Stmt { kind, span: Span::none() });
    }

    /// The statements that a function adds, as a block of their own.
    pub(crate) fn nested(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        let outer = std::mem::take(&mut self.block);
        let done = f(self);
        let inner = std::mem::replace(&mut self.block, outer);
        done.map(|()| inner)
    }

    /// A new label of a scope.
    pub(crate) fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    pub(crate) fn new_slot(&mut self, name: impl Into<String>, ty: Type, kind: SlotKind) -> SlotId {
        self.p.slots.push(Slot { name: name.into(), ty, kind, span: Span::none() });
        SlotId(self.p.slots.len() as u32 - 1)
    }

    /// A new local variable.
    pub(crate) fn temporary(&mut self, ty: Type) -> SlotId {
        self.temporaries += 1;
        self.new_slot(format!("$tmp{}", self.temporaries), ty, SlotKind::Local)
    }

    pub(crate) fn slot_expr(&self, slot: SlotId) -> Expr {
        Expr::slot(slot, self.p[slot].ty, Span::none())
    }
}

/// A constant of `bit<width>`.
pub(crate) fn constant(value: impl Into<BigUint>, width: u32) -> Expr {
    Expr::constant(value, Type::Bits(width), Span::none())
}
