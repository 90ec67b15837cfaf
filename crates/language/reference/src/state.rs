//! What outlives a packet.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_sema::hir::{ObjectId, TableId, TypedProgram};
use hopwright_source::Span;
use num_bigint::BigUint;

use crate::entries::{Entries, Members};
use crate::objects::{Cells, is_tofino, property};
use crate::random::Random;

/// Where copies of a clone session go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// A port.
    pub port: Option<u16>,
    /// A multicast group.
    pub group: Option<u16>,
    /// The most bytes of a copy.
    pub truncate: Option<u32>,
}

/// One copy of a multicast group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Replication id.
    pub rid: u16,
    /// Port.
    pub port: u16,
}

/// The counters of a register that is a log, a stack or a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    /// The first cell in use.
    pub(crate) first: u64,
    /// The number of cells in use.
    pub(crate) used: u64,
}

/// Tables, objects, value sets, and the traffic manager's groups and sessions.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) tables: Vec<Entries>,
    pub(crate) objects: Vec<Cells>,
    pub(crate) value_sets: Vec<Members>,
    pub(crate) sessions: BTreeMap<u32, Session>,
    pub(crate) groups: BTreeMap<u16, Vec<Replica>>,
    pub(crate) random: Random,
    /// Calls that send digests whose type has no name, in order.
    pub(crate) nameless_digests: Vec<Span>,
    /// Whether a `select` without a matching case accepts.
    pub(crate) unmatched_accepts: bool,
    /// Tofino: whether the program reads the error of the ingress parser.
    pub(crate) reads_parser_error: bool,
    /// Tofino: the pipes whose egress parsers begin behind the intrinsic metadata.
    pub(crate) egress_begins_behind: BTreeSet<usize>,
    /// Tofino: the counters of registers that are logs.
    pub(crate) logs: BTreeMap<ObjectId, Log>,
    /// Cells of the device's registers by name and index.
    pub(crate) device: BTreeMap<(&'static str, u64), BigUint>,
}

impl State {
    /// The number of a digest without a name.
    pub(crate) fn nameless_digest(&mut self, at: Span) -> usize {
        let known = self.nameless_digests.iter().position(|span| *span == at);
        known.unwrap_or_else(|| {
            self.nameless_digests.push(at);
            self.nameless_digests.len() - 1
        })
    }

    /// The program's initial state. Objects of unknown types are refused elsewhere.
    pub(crate) fn new(program: &TypedProgram) -> State {
        State {
            tables: program.tables.iter().map(|table| Entries::new(program, table)).collect(),
            objects: program.objects.iter().map(|o| Cells::new(program, o).unwrap_or(Cells::Stateless)).collect(),
            value_sets: vec![Members::default(); program.value_sets.len()],
            sessions: BTreeMap::new(),
            groups: BTreeMap::new(),
            random: Random::default(),
            nameless_digests: Vec::new(),
            unmatched_accepts: program.architecture().is_some_and(|a| a.name == "v1model"),
            reads_parser_error: false,
            egress_begins_behind: BTreeSet::new(),
            logs: BTreeMap::new(),
            device: BTreeMap::new(),
        }
    }

    /// The action profile or selector of a table.
    pub(crate) fn profile_of(&self, program: &TypedProgram, table: TableId) -> Option<&Cells> {
        let id = property(program, table, &["implementation", "psa_implementation", "pna_implementation"])?;
        Some(&self.objects[id.0 as usize]).filter(|cells| matches!(cells, Cells::Profile { .. }))
    }

    /// Whether the direct meter of a table measures bytes; `None` if it has none.
    pub(crate) fn direct_meter_counts_bytes(&self, program: &TypedProgram, table: TableId) -> Option<bool> {
        // There actions run it.
        if is_tofino(program) {
            return None;
        }
        let id = property(program, table, &["meters", "psa_direct_meter", "pna_direct_meter"])?;
        match self.objects[id.0 as usize] {
            Cells::DirectMeter { bytes } => Some(bytes),
            _ => None,
        }
    }
}
