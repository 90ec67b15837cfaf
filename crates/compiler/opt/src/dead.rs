//! Dead-code elimination: assignments to locals, metadata and headers, and calls without side effects, whose results are
//! never read.
//!
//! Intrinsic metadata always count as read, because the switch sees them, and so do headers that are emitted. A header that is
//! neither emitted nor read, such as Tofino's intrinsic metadata, need not be filled. Field lists count as far as copies and
//! repetitions name them.

use std::collections::HashMap;

use hopwright_ir::{
    Block, Effect, ExternArg, ExternCall, ExternFn, HeaderId, Pipeline, SlotId, SlotKind, Stmt, StmtKind, Table,
    Transition,
};

use hopwright_ir::analysis::effects::{Effects, SlotSet};
use hopwright_ir::walk;

/// Removes assignments and calls whose results are never read.
pub(super) fn eliminate(pipeline: &mut Pipeline) {
    unused_lists(pipeline);
    never_read(pipeline);
    overwritten(pipeline);
}

/// Slots that only the program itself reads.
fn is_private(kind: SlotKind) -> bool {
    matches!(kind, SlotKind::Local | SlotKind::Metadata)
}

/// Slots whose values matter only where the program reads them, or emits their header.
fn is_seen_by_reads_only(kind: SlotKind) -> bool {
    is_private(kind) || matches!(kind, SlotKind::Field(..) | SlotKind::Valid(_))
}

/// Removes field lists that no call names.
fn unused_lists(pipeline: &mut Pipeline) {
    let mut named = Vec::new();
    walk::all_stmts(pipeline, &mut |stmt| {
        if let StmtKind::Extern(call) = &stmt.kind {
            match call.function {
                ExternFn::Clone { field_list, .. } => named.extend(field_list),
                ExternFn::Resubmit(list) | ExternFn::Recirculate(list) => named.push(list),
                _ => {}
            }
        }
    });
    pipeline.field_lists.retain(|list| named.contains(&list.index));
}

/// What is read nowhere in the program.
struct Unread {
    slots: Vec<bool>,
    /// Headers of which neither a field nor the validity bit is read.
    headers: Vec<bool>,
    /// Headers whose validity bit is not read.
    validity: Vec<bool>,
}

impl Unread {
    fn slot(&self, slot: SlotId) -> bool {
        self.slots[slot.index()]
    }

    fn header(&self, header: HeaderId) -> bool {
        self.headers[header.index()]
    }
}

/// Removes writes of slots that are read nowhere in the program.
fn never_read(pipeline: &mut Pipeline) {
    loop {
        let effects = Effects::of(pipeline);
        let mut reads = SlotSet::empty(pipeline);
        let mut made_valid = Vec::new();
        for block in walk::all_blocks(pipeline) {
            walk::stmts(block, &mut |stmt| {
                // A slot that is read only to be updated is not read.
                if let StmtKind::Assign(slot, value) = &stmt.kind {
                    let slot = *slot;
                    walk::expr_slots(value, &mut |s| {
                        if s != slot {
                            reads.insert(s);
                        }
                    });
                } else if let StmtKind::AssignSlice { value, .. } = &stmt.kind {
                    walk::expr_slots(value, &mut |s| reads.insert(s));
                } else if let StmtKind::SetValid(header) = &stmt.kind {
                    made_valid.push(*header);
                } else if !matches!(stmt.kind, StmtKind::Apply { .. }) {
                    effects.reads(pipeline, stmt, &mut |s| reads.insert(s));
                }
            });
        }
        for expr in walk::outer_exprs(pipeline) {
            walk::expr_slots(expr, &mut |s| reads.insert(s));
        }
        for list in &pipeline.field_lists {
            list.slots.iter().for_each(|&s| reads.insert(s));
        }
        // It zeroes fields, which somebody reads, unless the header is valid already.
        for header in made_valid {
            if pipeline[header].fields.iter().any(|field| reads.contains(field.slot)) {
                reads.insert(pipeline[header].valid);
            }
        }
        let slots: Vec<bool> = (pipeline.slots.iter().enumerate())
            .map(|(i, slot)| is_seen_by_reads_only(slot.kind) && !reads.contains(SlotId(i as u32)))
            .collect();
        let headers = (0..pipeline.headers.len() as u32)
            .map(|h| walk::header_slots(pipeline, HeaderId(h)).all(|slot| slots[slot.index()]))
            .collect();
        let validity = pipeline.headers.iter().map(|h| slots[h.valid.index()]).collect();
        let dead = Unread { slots, headers, validity };
        let mut changed = false;
        for block in walk::all_blocks_mut(pipeline) {
            changed |= remove_writes(block, &dead);
        }
        if !changed {
            return;
        }
    }
}

/// Whether a call has no effect, given the slots that are dead after it.
fn is_unused(call: &ExternCall, dead: &impl Fn(SlotId) -> bool) -> bool {
    call.function.info().effect == Effect::None
        && call.args.iter().all(|arg| match arg {
            ExternArg::Out(slot) | ExternArg::InOut(slot) => dead(*slot),
            ExternArg::In(_) | ExternArg::List(_) => true,
        })
}

fn remove_writes(block: &mut Block, dead: &Unread) -> bool {
    let before = block.len();
    let is_dead = |s: &SlotId| dead.slot(*s);
    block.retain(|stmt| match &stmt.kind {
        StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => !is_dead(slot),
        StmtKind::SetValid(header) | StmtKind::CopyHeader { dst: header, .. } => !dead.header(*header),
        StmtKind::SetInvalid(header) => !dead.validity[header.index()],
        StmtKind::Extern(call) => !is_unused(call, &|slot| is_dead(&slot)),
        _ => true,
    });
    let mut changed = block.len() != before;
    for stmt in block.iter_mut() {
        match &mut stmt.kind {
            StmtKind::Apply { hit, action_run, .. } => {
                for slot in [hit, action_run] {
                    if slot.as_ref().is_some_and(is_dead) {
                        *slot = None;
                        changed = true;
                    }
                }
            }
            StmtKind::Lookahead { parts, .. } => parts.retain(|p| !is_dead(&p.0)),
            _ => {}
        }
        for inner in walk::blocks_mut(stmt) {
            changed |= remove_writes(inner, dead);
        }
    }
    changed
}

/// Removes assignments that are overwritten before they are read.
fn overwritten(pipeline: &mut Pipeline) {
    let effects = Effects::of(pipeline);
    let exits = tables_that_exit(pipeline);
    let mut always = SlotSet::empty(pipeline);
    for (i, slot) in pipeline.slots.iter().enumerate() {
        if !is_private(slot.kind) {
            always.insert(SlotId(i as u32));
        }
    }
    for list in &pipeline.field_lists {
        list.slots.iter().for_each(|&s| always.insert(s));
    }
    for state in &pipeline.parser.states {
        if let Transition::Select { keys, .. } = &state.transition {
            keys.iter().for_each(|k| walk::expr_slots(k, &mut |s| always.insert(s)));
        }
    }
    // For each body, slots read outside of it are live at its end. Locals of a control are read only in it and in its
    // tables' actions, which are other bodies. Bodies are in the order of `all_blocks`: states, five controls, actions.
    let states = pipeline.parser.states.len();
    let is_control = |i: usize| (states..states + 5).contains(&i);
    let mut controls: Vec<SlotSet> = Vec::new();
    for (i, block) in walk::all_blocks(pipeline).enumerate() {
        let mut reads = SlotSet::empty(pipeline);
        let into = if is_control(i) { &mut reads } else { &mut always };
        walk::stmts(block, &mut |stmt| {
            if !matches!(stmt.kind, StmtKind::Apply { .. }) {
                effects.reads(pipeline, stmt, &mut |s| into.insert(s));
            }
        });
        if is_control(i) {
            controls.push(reads);
        }
    }
    // Table keys are read where tables are applied, which is in controls, and so are live at the end of actions and states.
    // A state or an action may run again.
    let mut behind = always.clone();
    controls.iter().for_each(|reads| behind.extend(reads));
    for key in pipeline.tables.iter().flat_map(|t| &t.keys) {
        walk::expr_slots(&key.expr, &mut |s| behind.insert(s));
    }
    let mut ends: Vec<SlotSet> = Vec::new();
    for i in 0..controls.len() {
        let mut end = always.clone();
        controls.iter().enumerate().filter(|(j, _)| *j != i).for_each(|(_, reads)| end.extend(reads));
        keys_of_others(pipeline, i, &mut end);
        ends.push(end);
    }
    let bodies: Vec<Block> = walk::all_blocks_mut(pipeline).map(std::mem::take).collect();
    let mut liveness = Liveness { pipeline, effects: &effects, exits, end: behind.clone(), leaves: HashMap::new() };
    let mut done = Vec::with_capacity(bodies.len());
    for (i, block) in bodies.into_iter().enumerate() {
        let end = if is_control(i) { &ends[i - states] } else { &behind };
        liveness.end.clone_from(end);
        liveness.leaves.clear();
        done.push(liveness.block(block, end.clone()).0);
    }
    walk::all_blocks_mut(pipeline).zip(done).for_each(|(place, block)| *place = block);
}

/// By table: whether one of its actions may exit.
fn tables_that_exit(pipeline: &Pipeline) -> Vec<bool> {
    let actions: Vec<bool> = (pipeline.actions.iter())
        .map(|action| {
            let mut exits = false;
            walk::stmts(&action.body, &mut |s| exits |= matches!(s.kind, StmtKind::Exit));
            exits
        })
        .collect();
    let exits = |t: &Table| {
        t.actions.iter().map(|a| a.action).chain([t.default_action.action]).any(|action| actions[action.index()])
    };
    pipeline.tables.iter().map(exits).collect()
}

/// Keys of tables that other controls apply.
fn keys_of_others(pipeline: &Pipeline, control: usize, out: &mut SlotSet) {
    let controls = [
        &pipeline.verify_checksum,
        &pipeline.ingress,
        &pipeline.egress,
        &pipeline.compute_checksum,
        &pipeline.deparser,
    ];
    for (_, other) in controls.iter().enumerate().filter(|(i, _)| *i != control) {
        walk::stmts(&other.body, &mut |stmt| {
            if let StmtKind::Apply { table, .. } = stmt.kind {
                for key in &pipeline[table].keys {
                    walk::expr_slots(&key.expr, &mut |s| out.insert(s));
                }
            }
        });
    }
}

struct Liveness<'p> {
    pipeline: &'p Pipeline,
    effects: &'p Effects,
    /// By table: whether one of its actions may exit.
    exits: Vec<bool>,
    /// Live at the end of the body.
    end: SlotSet,
    /// Live after each enclosing scope.
    leaves: HashMap<u32, SlotSet>,
}

impl Liveness<'_> {
    /// The block without dead code, and the slots live before it; `live` are those live after it.
    fn block(&mut self, block: Block, mut live: SlotSet) -> (Block, SlotSet) {
        let mut kept = Vec::with_capacity(block.len());
        for stmt in block.into_iter().rev() {
            if let Some(stmt) = self.stmt(stmt, &mut live) {
                kept.push(stmt);
            }
        }
        kept.reverse();
        (kept, live)
    }

    fn stmt(&mut self, mut stmt: Stmt, live: &mut SlotSet) -> Option<Stmt> {
        match &mut stmt.kind {
            StmtKind::Assign(slot, _) => {
                if !live.contains(*slot) {
                    return None;
                }
                live.remove(*slot);
            }
            StmtKind::AssignSlice { slot, .. } if !live.contains(*slot) => return None,
            StmtKind::If { then, otherwise, .. } => {
                let (block, mut before) = self.block(std::mem::take(then), live.clone());
                *then = block;
                let (block, other) = self.block(std::mem::take(otherwise), live.clone());
                *otherwise = block;
                before.extend(&other);
                *live = before;
            }
            StmtKind::Switch { cases, default, .. } => {
                let (block, mut before) = self.block(std::mem::take(default), live.clone());
                *default = block;
                for (_, body) in cases {
                    let (block, other) = self.block(std::mem::take(body), live.clone());
                    *body = block;
                    before.extend(&other);
                }
                *live = before;
            }
            StmtKind::Scope { label, body } => {
                self.leaves.insert(*label, live.clone());
                let (block, before) = self.block(std::mem::take(body), live.clone());
                *body = block;
                *live = before;
            }
            StmtKind::Leave(label) => {
                if let Some(behind) = self.leaves.get(label) {
                    *live = behind.clone();
                }
            }
            StmtKind::Exit => *live = self.end.clone(),
            StmtKind::Loop { body, .. } => {
                // The next iteration may read whatever the body reads.
                let mut writes = SlotSet::empty(self.pipeline);
                let mut around = live.clone();
                self.effects.block(self.pipeline, body, &mut around, &mut writes);
                for behind in self.leaves.values() {
                    around.extend(behind);
                }
                let (block, before) = self.block(std::mem::take(body), around.clone());
                *body = block;
                around.extend(&before);
                *live = around;
            }
            StmtKind::Apply { hit, action_run, .. } => {
                for slot in [hit, action_run] {
                    if slot.is_some_and(|s| !live.contains(s)) {
                        *slot = None;
                    }
                }
            }
            StmtKind::Extern(call) if is_unused(call, &|slot| !live.contains(slot)) => return None,
            StmtKind::Extern(call) if call.function.info().writes_results => {
                for arg in &call.args {
                    if let ExternArg::Out(slot) = arg {
                        live.remove(*slot);
                    }
                }
            }
            _ => {}
        }
        if self.may_end(&stmt) {
            live.extend(&self.end);
        }
        self.effects.reads(self.pipeline, &stmt, &mut |s| live.insert(s));
        Some(stmt)
    }

    /// Whether the statement itself can end the body: a parser error, an action that exits.
    fn may_end(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Extract { .. }
            | StmtKind::ExtractNext { .. }
            | StmtKind::Advance { .. }
            | StmtKind::Lookahead { .. }
            | StmtKind::Verify(..) => true,
            StmtKind::Apply { table, .. } => self.exits[table.index()],
            _ => false,
        }
    }
}
