//! Effects: which slots a statement reads and writes, including the actions of tables it applies.
//!
//! The answers are conservative: a write may not happen. Emitting a header reads all of it.

use crate::{Block, Effect, ExternArg, Pipeline, SlotId, Stmt, StmtKind};

use crate::walk;

/// A set of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotSet(Vec<u64>);

impl SlotSet {
    /// The empty set for a pipeline's slots.
    pub fn empty(pipeline: &Pipeline) -> SlotSet {
        SlotSet(vec![0; pipeline.slots.len().div_ceil(64)])
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: SlotId) {
        self.0[slot.index() / 64] |= 1 << (slot.index() % 64);
    }

    /// Removes a slot.
    pub fn remove(&mut self, slot: SlotId) {
        self.0[slot.index() / 64] &= !(1 << (slot.index() % 64));
    }

    /// Whether the slot is in the set.
    pub fn contains(&self, slot: SlotId) -> bool {
        self.0[slot.index() / 64] >> (slot.index() % 64) & 1 == 1
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &SlotSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Removes what is not in `other`.
    pub fn retain(&mut self, other: &SlotSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }
}

/// Effects of statements on slots, with those of tables computed once.
#[derive(Clone, Debug)]
pub struct Effects {
    table_reads: Vec<SlotSet>,
    table_writes: Vec<SlotSet>,
}

impl Effects {
    /// Scans tables and actions.
    pub fn of(pipeline: &Pipeline) -> Effects {
        let none = Effects { table_reads: Vec::new(), table_writes: Vec::new() };
        let mut effects = none.clone();
        for table in &pipeline.tables {
            let mut reads = SlotSet::empty(pipeline);
            let mut writes = SlotSet::empty(pipeline);
            for key in &table.keys {
                walk::expr_slots(&key.expr, &mut |s| reads.insert(s));
            }
            let default = std::iter::once(table.default_action.action);
            for action in table.actions.iter().map(|a| a.action).chain(default) {
                // Actions do not apply tables.
                none.block(pipeline, &pipeline[action].body, &mut reads, &mut writes);
            }
            effects.table_reads.push(reads);
            effects.table_writes.push(writes);
        }
        effects
    }

    /// Adds what a block reads and writes.
    pub fn block(&self, pipeline: &Pipeline, block: &Block, reads: &mut SlotSet, writes: &mut SlotSet) {
        walk::stmts(block, &mut |stmt| {
            self.reads(pipeline, stmt, &mut |s| reads.insert(s));
            self.writes(pipeline, stmt, &mut |s| writes.insert(s));
        });
    }

    /// Calls `f` for the slots a statement may read itself, without the statements in it.
    pub fn reads(&self, pipeline: &Pipeline, stmt: &Stmt, f: &mut impl FnMut(SlotId)) {
        for expr in walk::stmt_exprs(stmt) {
            walk::expr_slots(expr, f);
        }
        match &stmt.kind {
            StmtKind::AssignSlice { slot, .. } => f(*slot),
            // A header that is valid already keeps its fields.
            StmtKind::SetValid(h) => walk::header_slots(pipeline, *h).for_each(f),
            StmtKind::CopyHeader { src, .. } => walk::header_slots(pipeline, *src).for_each(f),
            StmtKind::Emit(h) => walk::header_slots(pipeline, *h).for_each(f),
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                let stack = &pipeline[*stack];
                f(stack.next_index);
                stack.elements.iter().for_each(|&h| walk::header_slots(pipeline, h).for_each(&mut *f));
            }
            // Elements that are not extracted keep their values.
            StmtKind::ExtractNext { stack, .. } => {
                let stack = &pipeline[*stack];
                f(stack.next_index);
                stack.elements.iter().for_each(|&h| walk::header_slots(pipeline, h).for_each(&mut *f));
            }
            StmtKind::Apply { table, .. } => {
                if let Some(reads) = self.table_reads.get(table.index()) {
                    for i in 0..pipeline.slots.len() as u32 {
                        if reads.contains(SlotId(i)) {
                            f(SlotId(i));
                        }
                    }
                }
            }
            StmtKind::Extern(call) => {
                let always = call.function.info().writes_results;
                for arg in &call.args {
                    match arg {
                        ExternArg::InOut(slot) => f(*slot),
                        // Otherwise the slot may keep what it has.
                        ExternArg::Out(slot) if !always => f(*slot),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Calls `f` for the slots a statement may write itself, without the statements in it.
    pub fn writes(&self, pipeline: &Pipeline, stmt: &Stmt, f: &mut impl FnMut(SlotId)) {
        match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => f(*slot),
            StmtKind::SetValid(h) | StmtKind::CopyHeader { dst: h, .. } | StmtKind::Extract { header: h, .. } => {
                walk::header_slots(pipeline, *h).for_each(f);
            }
            StmtKind::SetInvalid(h) => f(pipeline[*h].valid),
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) | StmtKind::ExtractNext { stack, .. } => {
                let stack = &pipeline[*stack];
                f(stack.next_index);
                stack.elements.iter().for_each(|&h| walk::header_slots(pipeline, h).for_each(&mut *f));
            }
            StmtKind::Apply { table, hit, action_run } => {
                hit.iter().chain(action_run).for_each(|&s| f(s));
                if let Some(writes) = self.table_writes.get(table.index()) {
                    for i in 0..pipeline.slots.len() as u32 {
                        if writes.contains(SlotId(i)) {
                            f(SlotId(i));
                        }
                    }
                }
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    if let ExternArg::InOut(slot) | ExternArg::Out(slot) = arg {
                        f(*slot);
                    }
                }
                if call.function.info().effect == Effect::ChecksumError {
                    f(pipeline.standard.checksum_error);
                }
            }
            StmtKind::Lookahead { parts, .. } => parts.iter().for_each(|p| f(p.0)),
            StmtKind::Verify(..) | StmtKind::Advance { .. } => {}
            _ => {}
        }
    }
}
