//! Random P4 programs as text, with table entries and packets to run them on, for differential tests.
//!
//! The same seed and configuration always yield the same case. Programs are well typed and compile; what they compute has no
//! purpose. Entries are written as an STF file, so that a case can be kept as two files and run by hand.

mod architecture;
mod control;
mod effects;
mod expr;
mod generic;
mod growth;
mod headers;
mod indexed;
mod nested;
mod objects;
mod overlap;
mod packets;
mod parser;
mod random;
mod stmt;
mod table;
mod traffic;
mod union_stack;
mod value_sets;

use std::ops::Range;

pub use architecture::Architecture;
use headers::{Header, Headers};
use random::Random;

/// What programs may contain.
#[derive(Clone, Debug)]
pub struct Config {
    /// The architecture. [`Config::of`] leaves out what only v1model has.
    pub architecture: Architecture,
    /// The widest value in bits; at least 32.
    pub max_width: u32,
    /// The approximate number of statements of a control.
    pub statements: usize,
    /// The number of packets.
    pub packets: usize,
    /// `int<W>`.
    pub signed: bool,
    /// `/` and `%`.
    pub division: bool,
    /// Header stacks.
    pub stacks: bool,
    /// Stack elements chosen at run time.
    pub runtime_index: bool,
    /// A header with a varbit field.
    pub varbit: bool,
    /// Tables.
    pub tables: bool,
    /// Range and optional keys.
    pub range_and_optional: bool,
    /// Counters and registers.
    pub state: bool,
    /// `hash`.
    pub hash: bool,
    /// Checksums verified and updated.
    pub checksums: bool,
    /// `for` loops.
    pub loops: bool,
    /// Functions and direct calls of actions.
    pub calls: bool,
    /// `exit` and `return`.
    pub exits: bool,
    /// Header unions.
    pub unions: bool,
    /// Local headers, structs and copies of them.
    pub aggregates: bool,
    /// Controls within controls and parsers within parsers.
    pub nested: bool,
    /// Calls with effects within expressions.
    pub effects: bool,
    /// Meters, direct and by index.
    pub meters: bool,
    /// Action profiles and selectors.
    pub profiles: bool,
    /// Parser value sets.
    pub value_sets: bool,
    /// Extern objects and packets as parameters.
    pub objects: bool,
    /// Deparsers with loops and headers of their own.
    pub deparser_code: bool,
    /// What `bits.p4` and `internet_checksum.p4` declare, and keys of kinds `masked` and `suffix`.
    pub extensions: bool,
    /// Clones, multicast, resubmit, recirculate, truncate and digests.
    pub traffic: bool,
    /// Calls with arguments that overlap: a variable and parts of it, elements of stacks, members of unions.
    pub aliasing: bool,
    /// Functions with effects as arguments of such calls.
    pub effect_arguments: bool,
    /// Generic functions.
    pub generics: bool,
    /// Stacks of header unions.
    pub union_stacks: bool,
    /// Elements by run-time indices as targets, also by indices with effects.
    pub indexed_targets: bool,
    /// Controls in controls in controls, of which each may exit, also from its actions.
    pub nested_exits: bool,
    /// `switch` over a value whose computation has an effect.
    pub switch_effects: bool,
    /// Entries of the program with priorities.
    pub entry_priorities: bool,
    /// Parser value sets of structs, with a match kind for each field.
    pub struct_value_sets: bool,
    /// Loops of parser states around `lookahead`.
    pub lookahead_loops: bool,
    /// Packets that are recirculated some times and get headers each time.
    pub growth: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            architecture: Architecture::V1model,
            max_width: 128,
            statements: 14,
            packets: 24,
            signed: true,
            division: true,
            stacks: true,
            runtime_index: true,
            varbit: true,
            tables: true,
            range_and_optional: true,
            state: true,
            hash: true,
            checksums: true,
            loops: true,
            calls: true,
            exits: true,
            unions: true,
            aggregates: true,
            nested: true,
            effects: true,
            meters: true,
            profiles: true,
            value_sets: true,
            objects: true,
            deparser_code: true,
            extensions: true,
            traffic: false,
            aliasing: false,
            effect_arguments: false,
            generics: false,
            union_stacks: false,
            indexed_targets: false,
            nested_exits: false,
            switch_effects: false,
            entry_priorities: false,
            struct_value_sets: false,
            lookahead_loops: false,
            growth: false,
        }
    }
}

/// The seeds that a test runs: `usual` ones, `HOPWRIGHT_TIMES=N` times as many from the same one on, or those of `HOPWRIGHT_SEEDS=FIRST..END`.
///
/// # Panics
/// If a variable has another form.
pub fn seeds(usual: Range<u64>) -> Range<u64> {
    if let Ok(text) = std::env::var("HOPWRIGHT_SEEDS") {
        let (first, end) = text.split_once("..").expect("HOPWRIGHT_SEEDS is FIRST..END");
        return first.parse().expect("a number")..end.parse().expect("a number");
    }
    let times: u64 = std::env::var("HOPWRIGHT_TIMES").map_or(1, |n| n.parse().expect("HOPWRIGHT_TIMES is a number"));
    usual.start..usual.start + times * (usual.end - usual.start)
}

impl Config {
    /// As many packets as `HOPWRIGHT_PACKETS=N` says, if it does.
    ///
    /// # Panics
    /// If that is no number.
    pub fn from_environment(&self) -> Config {
        let packets =
            std::env::var("HOPWRIGHT_PACKETS").map_or(self.packets, |n| n.parse().expect("a number of packets"));
        Config { packets, ..self.clone() }
    }

    /// Programs that try the order of effects and copies: with everything of the language, and of the architecture what
    /// [`Config::of`] has.
    pub fn thorough(architecture: Architecture) -> Config {
        let own = architecture == Architecture::V1model;
        Config {
            aliasing: true,
            effect_arguments: true,
            generics: true,
            union_stacks: true,
            indexed_targets: true,
            nested_exits: true,
            switch_effects: true,
            entry_priorities: true,
            struct_value_sets: own,
            lookahead_loops: true,
            growth: own,
            statements: 22,
            ..Config::of(architecture)
        }
    }
}

/// A program with entries and packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// P4-16.
    pub program: String,
    /// STF lines that fill the tables.
    pub entries: String,
    /// Port and bytes of the packets, in order.
    pub packets: Vec<(u16, Vec<u8>)>,
}

impl Case {
    /// The entries and packets as one STF file.
    pub fn stf(&self) -> String {
        let mut out = self.entries.clone();
        for (port, bytes) in &self.packets {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            out.push_str(&format!("packet {port} {hex}\n"));
        }
        out
    }
}

/// Makes a case.
pub fn generate(seed: u64, config: &Config) -> Case {
    let mut generator = Generator::new(seed, config.clone());
    let program = generator.program();
    let packets = generator.packets();
    Case { program, entries: generator.entries, packets }
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Bool,
    Bits(u32),
    Int(u32),
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ty::Bool => f.write_str("bool"),
            Ty::Bits(w) => write!(f, "bit<{w}>"),
            Ty::Int(w) => write!(f, "int<{w}>"),
        }
    }
}

impl Ty {
    fn width(self) -> u32 {
        match self {
            Ty::Bool => 1,
            Ty::Bits(w) | Ty::Int(w) => w,
        }
    }
}

/// A named variable that expressions read and statements write.
#[derive(Clone, Debug)]
struct Variable {
    text: String,
    ty: Ty,
    writable: bool,
}

/// The context of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Parser,
    Function,
    Action,
    Control,
}

/// How a parameter passes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    In,
    InOut,
    Out,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Direction::In => "in",
            Direction::InOut => "inout",
            Direction::Out => "out",
        })
    }
}

/// A function: its name, result and parameters.
#[derive(Clone, Debug)]
struct Callable {
    name: String,
    result: Option<Ty>,
    params: Vec<(Direction, Ty)>,
}

struct Generator {
    random: Random,
    config: Config,
    /// Types that this program prefers, so that variables fit each other.
    types: Vec<Ty>,
    headers: Headers,
    /// Variables in scope.
    scope: Vec<Variable>,
    functions: Vec<Callable>,
    /// Actions that can be called directly here.
    actions: Vec<Callable>,
    /// Tables not yet applied.
    tables: Vec<table::Applicable>,
    counters: Vec<(String, u32)>,
    registers: Vec<(String, u32, Ty)>,
    /// Registers that are parameters here.
    given_registers: Vec<(String, u32, Ty)>,
    /// What the function `exchange` exchanges, if there is one.
    exchanged: Option<Ty>,
    /// Width of the function `plus`, which has a parameter that exists only at compile time.
    plus: Option<u32>,
    /// Header types for which there is a function that extracts them.
    takers: Vec<String>,
    meters: Vec<String>,
    /// Value sets of the parser and their widths.
    value_sets: Vec<(String, u32)>,
    /// Headers that can be named here.
    visible: Vec<Header>,
    /// Whether `hdr` as a whole can be named here.
    sees_all: bool,
    /// Names of variables of the program's struct here.
    records: Vec<String>,
    nested: Vec<nested::Nested>,
    sub_parsers: Vec<nested::SubParser>,
    /// Functions that change what they are given, and the types that they take and return.
    effects: Vec<(String, Ty)>,
    /// Functions whose arguments may overlap.
    overlapping: Vec<overlap::Overlapping>,
    /// Actions of that kind that can be called directly here.
    overlapping_actions: Vec<overlap::Overlapping>,
    /// Value sets of structs.
    struct_sets: Vec<value_sets::StructSet>,
    /// The control whose instances of nested controls can be applied here.
    outer: String,
    place: Place,
    loops: usize,
    fresh: usize,
    indent: usize,
    out: String,
    entries: String,
}

impl Generator {
    fn new(seed: u64, config: Config) -> Generator {
        Generator {
            random: Random::new(seed),
            config,
            types: Vec::new(),
            headers: Headers::default(),
            scope: Vec::new(),
            functions: Vec::new(),
            actions: Vec::new(),
            tables: Vec::new(),
            counters: Vec::new(),
            registers: Vec::new(),
            given_registers: Vec::new(),
            exchanged: None,
            plus: None,
            takers: Vec::new(),
            meters: Vec::new(),
            value_sets: Vec::new(),
            visible: Vec::new(),
            sees_all: false,
            records: Vec::new(),
            nested: Vec::new(),
            sub_parsers: Vec::new(),
            effects: Vec::new(),
            overlapping: Vec::new(),
            overlapping_actions: Vec::new(),
            struct_sets: Vec::new(),
            outer: String::new(),
            place: Place::Control,
            loops: 0,
            fresh: 0,
            indent: 0,
            out: String::new(),
            entries: String::new(),
        }
    }

    fn program(&mut self) -> String {
        self.types = (0..6).map(|_| self.any_type()).collect();
        self.line("#include <core.p4>");
        self.line(format!("#include <{}>", self.config.architecture.include()));
        if self.config.extensions {
            self.line("#include <bits.p4>");
            self.line("#include <internet_checksum.p4>");
            self.line("match_kind { masked, suffix }");
        }
        self.standard_metadata();
        self.declare_headers();
        if self.config.calls {
            for _ in 0..self.random.below(3) {
                self.function();
            }
        }
        self.taking_functions();
        self.effect_functions();
        self.generic_functions();
        self.overlapping_functions();
        self.sub_parsers();
        self.struct_sets();
        self.parser();
        let v1model = self.config.architecture == Architecture::V1model;
        if v1model {
            self.verify_control();
        }
        self.nested_controls();
        self.exit_chain();
        self.match_control("I");
        self.match_control("E");
        if v1model {
            self.compute_control();
        }
        self.deparser();
        self.package();
        if self.config.traffic {
            self.traffic_entries();
        }
        std::mem::take(&mut self.out)
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(&"    ".repeat(self.indent));
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    fn open(&mut self, text: impl AsRef<str>) {
        self.line(format!("{} {{", text.as_ref()));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// A fresh name.
    fn name(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    fn declare(&mut self, text: impl Into<String>, ty: Ty, writable: bool) {
        self.scope.push(Variable { text: text.into(), ty, writable });
    }

    fn any_type(&mut self) -> Ty {
        match self.random.below(10) {
            0 => Ty::Bool,
            1 | 2 if self.config.signed => Ty::Int(self.width().max(2)),
            _ => Ty::Bits(self.width()),
        }
    }

    /// A favoured type, mostly.
    fn some_type(&mut self) -> Ty {
        if self.types.is_empty() || self.random.one_in(6) { self.any_type() } else { *self.random.pick(&self.types) }
    }

    /// Widths around machine words are likelier than others.
    fn width(&mut self) -> u32 {
        const EDGES: [u32; 16] = [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 128];
        let width = match self.random.below(3) {
            0 => 1 + self.random.below(16) as u32,
            1 => *self.random.pick(&EDGES),
            _ => 1 + self.random.below(self.config.max_width as usize) as u32,
        };
        width.min(self.config.max_width)
    }
}
