//! Lowering of the typed program to the pipeline IR: flattens storage, inlines everything that is not a table's action, and
//! makes copy-in/copy-out and the order of evaluation explicit.
//!
//! Modules: `storage` (types to slots), `value` (reading and writing places), `expr`, `stmt`, `call` (inlining), `access` (what
//! a body reads and writes outside itself), `externs`, `arguments` (of externs), `records`, `parser`, `table`, `program` (the
//! package), `v1model`, `psa`, `pna`, `two_passes` and `tofino` (what architectures add), `declarations` (of the architecture), `ids`
//! (P4Runtime ids).

mod access;
mod arguments;
mod call;
mod declarations;
mod defined;
mod expr;
mod externs;
mod ids;
mod length;
mod parser;
mod pna;
mod program;
mod psa;
mod records;
mod stmt;
mod storage;
mod table;
mod tofino;
mod two_passes;
mod v1model;
mod value;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use hopwright_sema::hir;
use hopwright_source::stack;
use hopwright_source::{SourceMap, Span};
use hopwright_syntax::diagnostic::{Diagnostic, Diagnostics};

use hopwright_ir::hash_object::{Configuration, HashObject};
use hopwright_ir::{
    Action, ActionId, Block, ExternInstance, FieldList, Header, Pipeline, Slot, SlotId, Stack, State, Stmt, StmtKind,
    Table, Union, ValueSet,
};
use storage::{Loc, Place};
use value::{Target, Value};

/// Lowers a typed program to the pipeline IR.
///
/// # Errors
/// Constructs that the IR or the architecture does not support, each with its source location.
pub fn lower(program: &hir::TypedProgram, sources: Arc<SourceMap>) -> std::result::Result<Pipeline, Diagnostics> {
    lower_with(program, sources, &Hashes::new()).map(|lowered| lowered.pipeline)
}

/// What control planes have changed of `Hash` objects, by their names.
pub type Hashes = BTreeMap<String, Configuration>;

/// A program that has been lowered.
pub struct Lowered {
    /// As pipeline IR.
    pub pipeline: Pipeline,
    /// The `Hash` objects that are used in one place, as they are declared.
    pub hashes: Vec<HashObject>,
}

/// Lowers a typed program, of which a control plane has changed these hashes.
///
/// # Errors
/// As [`lower`], and a configuration that does not fit its hash.
pub fn lower_with(
    program: &hir::TypedProgram,
    sources: Arc<SourceMap>,
    hashes: &Hashes,
) -> std::result::Result<Lowered, Diagnostics> {
    let mut lowering = Lowering::new(program);
    lowering.hashes.clone_from(hashes);
    let pipeline = stack::with_room(|| lowering.program(sources));
    match pipeline {
        Ok(mut pipeline) if !lowering.diagnostics.has_errors() => {
            hopwright_opt::bounds::bound(&mut pipeline);
            let hashes = lowering.described_hashes.into_values().filter_map(|(_, described)| described);
            Ok(Lowered { pipeline, hashes: hashes.collect() })
        }
        _ => Err(lowering.diagnostics),
    }
}

/// Maximum number of statements. Each level of inlined calls can double a program.
const MAX_STATEMENTS: usize = 1 << 18;

/// Maximum depth of inlined calls.
const MAX_CALLS: usize = 32;

/// Maximum nesting of blocks at a call, inlined blocks included.
const MAX_NESTING: u32 = 128;

/// An error that has been reported as a diagnostic.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Result<T> = std::result::Result<T, Reported>;

/// What a variable is bound to.
#[derive(Clone, Debug)]
enum Binding {
    /// Storage.
    Loc(Loc),
    /// A value that does not change while the variable lives.
    Value(Value),
    /// An extern object.
    Object(hir::ObjectId),
}

/// An inlined body being lowered.
struct Frame {
    /// Targets of the out and inout parameters' copies at the end of the body.
    copy_outs: Vec<(Target, Place)>,
    /// The scope that `return` leaves.
    label: u32,
    /// Storage of a function's result.
    result: Option<Place>,
}

/// Scopes of the innermost loop.
#[derive(Clone, Copy)]
struct LoopLabels {
    leave: u32,
    next: u32,
}

/// How to lower `exit`, after the copies of out parameters.
#[derive(Clone, Copy)]
enum Exit {
    /// Ends the control.
    Direct,
    /// Leaves a control that something follows, by its label. Actions of tables have the flag.
    Leave(u32),
    /// In an action of an inlined control: sets the flag and leaves the action. The control tests the flag.
    Flag { flag: SlotId, label: u32 },
}

/// A table that has been lowered.
#[derive(Clone)]
struct LoweredTable {
    id: hopwright_ir::TableId,
    /// Keys that are computed into a slot before each apply.
    computed_keys: Rc<[(usize, SlotId)]>,
    /// The register of the masks of its keys, if a control plane may change them.
    masks: Option<hopwright_ir::ExternId>,
    actions: Rc<HashMap<hir::FunctionId, ActionId>>,
    /// Set by an action that exits.
    exit_flag: Option<SlotId>,
}

struct Lowering<'p> {
    program: &'p hir::TypedProgram,
    diagnostics: Diagnostics,
    /// Errors that have been reported, so that each is reported once per location.
    refused: HashSet<(Span, &'static str, String)>,
    slots: Vec<Slot>,
    headers: Vec<Header>,
    /// By header: its type, and the places of its members (a struct member is one place).
    header_types: Vec<hir::StructId>,
    header_places: Vec<Rc<[Place]>>,
    /// By union: its type.
    union_types: Vec<hir::StructId>,
    stacks: Vec<Stack>,
    unions: Vec<Union>,
    actions: Vec<Action>,
    action_names: HashSet<String>,
    tables: Vec<Table>,
    value_sets: Vec<ValueSet>,
    externs: Vec<ExternInstance>,
    /// Calls of `digest` whose data have an unnamed type.
    nameless_digests: Vec<Span>,
    field_lists: Vec<FieldList>,
    /// Where changes of the packet's length are counted, in programs that read it as BMv2 has it.
    length_change: Option<SlotId>,
    /// What deparsers of Tofino programs request.
    requests: Option<tofino::Requests>,
    /// What the main control of a PNA program requests.
    nic_requests: Option<pna::Requests>,
    /// What control planes have changed of hashes.
    hashes: Hashes,
    /// Hashes by name, with the place that uses them; none of those with several.
    described_hashes: BTreeMap<String, (Span, Option<HashObject>)>,
    /// A call that is being lowered, and the bits that are taken of it.
    hash_slice: Option<(Span, (u32, u32))>,
    /// Sums of Internet checksum objects, and values of parser counters.
    object_states: HashMap<hir::ObjectId, SlotId>,
    /// Number of uses of each name, to keep names unique.
    names: HashMap<String, u32>,
    empty_varbits: HashMap<u32, SlotId>,
    /// Standard metadata by field name.
    standard: HashMap<String, SlotId>,
    env: HashMap<hir::VarId, Binding>,
    /// Storage of instances' parameters and variables, which is the same wherever an instance is applied.
    shared: HashMap<hir::VarId, Place>,
    /// Whether variables being declared belong to an instance rather than an inlined function.
    cached: bool,
    /// The applications of each instance in the program.
    applications: HashMap<hir::InstanceId, Vec<&'p hir::Call>>,
    lowered_tables: HashMap<hir::TableId, LoweredTable>,
    lowered_actions: HashMap<(hir::FunctionId, Option<SlotId>), ActionId>,
    /// Whether a table's action is being lowered.
    in_table: bool,
    /// Extern objects bound to parameters of table actions, which are lowered only once.
    table_objects: HashMap<hir::VarId, hir::ObjectId>,
    /// Statements of the block being built.
    block: Block,
    frames: Vec<Frame>,
    /// Sub-parsers whose parameters are copies: whether one is running, and the copies at its end. Outer ones come first.
    unfinished: Vec<(SlotId, Vec<(Target, Place)>)>,
    loops: Vec<LoopLabels>,
    exit: Exit,
    next_label: u32,
    /// Number of statements emitted so far.
    emitted: usize,
    /// Whether a limit was exceeded and reported. Nothing more is lowered then.
    too_large: bool,
    /// Prefix of variables' names.
    scope: String,
    /// Whether the code being lowered may run more than once per packet.
    repeats: bool,
    in_parser: bool,
    /// Depth of nested blocks; zero directly in a parser state.
    nesting: u32,
    /// The parser states, and the index of the one being built.
    states: Vec<State>,
    state: usize,
}

impl<'p> Lowering<'p> {
    fn new(program: &'p hir::TypedProgram) -> Self {
        Lowering {
            program,
            diagnostics: Diagnostics::new(),
            refused: HashSet::new(),
            slots: Vec::new(),
            headers: Vec::new(),
            header_types: Vec::new(),
            header_places: Vec::new(),
            union_types: Vec::new(),
            stacks: Vec::new(),
            unions: Vec::new(),
            actions: Vec::new(),
            action_names: HashSet::new(),
            tables: Vec::new(),
            value_sets: Vec::new(),
            externs: Vec::new(),
            nameless_digests: Vec::new(),
            field_lists: Vec::new(),
            length_change: None,
            requests: None,
            nic_requests: None,
            hashes: Hashes::new(),
            described_hashes: BTreeMap::new(),
            hash_slice: None,
            object_states: HashMap::new(),
            names: HashMap::new(),
            empty_varbits: HashMap::new(),
            standard: HashMap::new(),
            env: HashMap::new(),
            shared: HashMap::new(),
            cached: true,
            applications: HashMap::new(),
            lowered_tables: HashMap::new(),
            lowered_actions: HashMap::new(),
            in_table: false,
            table_objects: HashMap::new(),
            block: Vec::new(),
            frames: Vec::new(),
            unfinished: Vec::new(),
            loops: Vec::new(),
            exit: Exit::Direct,
            next_label: 0,
            emitted: 0,
            too_large: false,
            scope: String::new(),
            repeats: false,
            in_parser: false,
            nesting: 0,
            states: Vec::new(),
            state: 0,
        }
    }

    /// Adds a statement to the block being built.
    fn emit(&mut self, kind: StmtKind, span: Span) {
        self.emitted += 1;
        self.block.push(Stmt { kind, span });
    }

    /// Returns the statements that `f` emits.
    fn nested(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        let outer = std::mem::take(&mut self.block);
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        let inner = std::mem::replace(&mut self.block, outer);
        result.map(|()| inner)
    }

    fn label(&mut self) -> u32 {
        self.next_label += 1;
        self.next_label
    }

    /// Checks the limits before a body is inlined. Once a limit is exceeded, it always fails.
    fn check_size(&mut self, span: Span) -> Result<()> {
        if self.too_large {
            return Err(Reported);
        }
        self.emitted += 1;
        let what = if self.emitted > MAX_STATEMENTS {
            format!("a program of more than {MAX_STATEMENTS} statements")
        } else if self.frames.len() > MAX_CALLS {
            format!("more than {MAX_CALLS} calls within each other")
        } else if self.nesting > MAX_NESTING {
            format!("more than {MAX_NESTING} blocks within each other")
        } else {
            return Ok(());
        };
        self.too_large = true;
        Err(self.unsupported(span, what))
    }

    /// Reports an unsupported construct.
    fn unsupported(&mut self, span: Span, what: impl std::fmt::Display) -> Reported {
        self.refuse(span, "E0501", format!("{what} is not supported yet"))
    }

    /// Reports an error.
    fn refuse(&mut self, span: Span, code: &'static str, message: String) -> Reported {
        let diagnostic = Diagnostic::error(code, message).at(span, "");
        if self.refused.insert((span, code, diagnostic.message.clone())) {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }
}
