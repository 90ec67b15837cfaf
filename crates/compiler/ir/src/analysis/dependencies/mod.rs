//! Dependencies between the operations of a control: what must come before what in a pipeline of match-action stages.
//!
//! An operation is a table's application, an extern call, or an assignment that computes or moves something. The kinds of
//! dependency are those of Jose et al., "Compiling Packet Programs to Reconfigurable Switches" (NSDI 2015, section 3).
//!
//! A copy, slice, concatenation or shift by a constant is wiring: an operation that reads its result depends on the sources. It
//! becomes a move only where paths with different values meet, or where the value is the control's result. Operations whose
//! results nobody reads are left out. Each value of a variable is a thing of its own; values of a variable that meet share a
//! place, and only these have dependencies because of overwriting.

mod access;
mod build;
mod draft;
mod edges;
mod eval;
mod flow;
mod outcome;

use crate::analysis::effects::{Effects, SlotSet};
use crate::{Control, ExternCall, ExternId, Pipeline, SlotId, SlotKind, Span, Stmt, TableId, walk};

/// The operations of a control and their dependencies.
#[derive(Clone, Debug)]
pub struct DependencyGraph<'p> {
    /// In the order of the program.
    pub operations: Vec<Operation<'p>>,
    /// At most one of each kind between two operations, always from the earlier to the later.
    pub dependencies: Vec<Dependency>,
    /// Branches that operations are guarded by.
    pub branches: Vec<Branch>,
    /// Variables that are in one place: copies to and from parameters.
    pub renamed: Vec<(SlotId, SlotId)>,
}

/// A table's application, an extern call, or an assignment.
#[derive(Clone, Debug)]
pub struct Operation<'p> {
    /// What it does.
    pub kind: OperationKind<'p>,
    /// What it reads, guards included.
    pub reads: Vec<Read>,
    /// The variables it writes. Empty for the inner operations of an expression.
    pub writes: Vec<SlotId>,
    /// Width of the result of a [`OperationKind::Compute`].
    pub bits: u32,
    /// Operations of its actions that follow each other, at least 1.
    pub depth: u32,
    /// The decisions under which it is executed: index of the branch, and the arms (bit 0 is the first).
    pub guards: Vec<(usize, u64)>,
    /// Counters, meters, registers and other objects that it accesses, without those of a table's entries.
    pub objects: Vec<ExternId>,
    /// Whether it is computed by a hash function, because its statement is in a block that says so.
    pub hashed: bool,
    /// The P4 text.
    pub span: Span,
    /// Arms of all branches on the paths that lead here.
    masks: flow::Masks,
}

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub enum OperationKind<'p> {
    /// Applies a table.
    Apply(TableId),
    /// Calls an extern function.
    Extern(&'p ExternCall),
    /// Computes one operator of an expression, a comparison, or a choice between values.
    Compute,
    /// Moves wires to variables.
    Move,
}

/// Bits that an operation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// The variable; `None` for an inner result of an expression.
    pub slot: Option<SlotId>,
    /// The lowest bit.
    pub low: u32,
    /// The number of bits.
    pub width: u32,
    /// Whether it decides what is done (a key, a guard), and is not an operand.
    pub matched: bool,
}

/// A branch of the control.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Bits that its condition reads.
    pub bits: u32,
    /// The P4 text of the condition.
    pub span: Span,
}

/// That an operation comes after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The earlier operation.
    pub from: usize,
    /// The later operation.
    pub to: usize,
    /// Why.
    pub kind: DependencyKind,
    /// The variable, if it is one.
    pub slot: Option<SlotId>,
}

/// Why an operation comes after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependencyKind {
    /// The later one matches on what the earlier one writes.
    Match,
    /// The later one computes with what the earlier one writes, or writes the same.
    Action,
    /// The earlier one decides by its hit or its action whether the later one is executed.
    Successor,
    /// The later one overwrites what the earlier one reads.
    Reverse,
}

impl DependencyKind {
    /// The name in the literature.
    pub fn name(self) -> &'static str {
        match self {
            DependencyKind::Match => "match",
            DependencyKind::Action => "action",
            DependencyKind::Successor => "successor",
            DependencyKind::Reverse => "reverse match",
        }
    }

    /// Whether the operations are in different stages. The others may share one.
    pub fn needs_a_later_stage(self) -> bool {
        matches!(self, DependencyKind::Match | DependencyKind::Action)
    }
}

impl<'p> DependencyGraph<'p> {
    /// Analyses a control. `live` are the variables that matter after it, `given` those that do not change while a packet is
    /// in it: branches on these alone guard nothing, and nothing that only writes these is an operation. An expression in one
    /// of the blocks `hashed` is one operation, whatever its number of operands.
    pub fn of(
        pipeline: &'p Pipeline,
        control: &'p Control,
        live: &SlotSet,
        given: &SlotSet,
        hashed: &[Span],
    ) -> DependencyGraph<'p> {
        draft::Builder::new(pipeline, given, hashed).build(control, live)
    }

    /// Whether no packet meets both operations.
    pub fn exclusive(&self, a: usize, b: usize) -> bool {
        self.operations[a].masks.exclusive(&self.operations[b].masks)
    }
}

/// The number of statements that these begin with and that are one access of a register, from the call that reads its cell to the one
/// that writes it; `None` if they begin with something else.
pub fn register_access(stmts: &[Stmt]) -> Option<usize> {
    access::access(stmts).map(|(_, whole)| whole.len())
}

/// The variables that matter after ingress, and after egress: those that later blocks read, that are kept for copies of the
/// packet, and the intrinsic metadata.
pub fn live_after_ingress_and_egress(pipeline: &Pipeline) -> (SlotSet, SlotSet) {
    let effects = Effects::of(pipeline);
    let mut kept = SlotSet::empty(pipeline);
    for (i, slot) in pipeline.slots.iter().enumerate() {
        if slot.kind == SlotKind::Standard {
            kept.insert(SlotId(i as u32));
        }
    }
    pipeline.field_lists.iter().flat_map(|l| &l.slots).for_each(|s| kept.insert(*s));
    let read_by = |controls: &[&Control], live: &mut SlotSet| {
        for control in controls {
            walk::stmts(&control.body, &mut |stmt| effects.reads(pipeline, stmt, &mut |s| live.insert(s)));
        }
    };
    let mut after_egress = kept;
    read_by(&[&pipeline.compute_checksum, &pipeline.deparser], &mut after_egress);
    let mut after_ingress = after_egress.clone();
    read_by(&[&pipeline.egress], &mut after_ingress);
    (after_ingress, after_egress)
}
