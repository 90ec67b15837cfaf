//! Forward substitution: a local that is written once and read once, later in the same block, is replaced by the
//! expression assigned to it.

use hopwright_ir::{Block, Expr, ExprKind, Pipeline, SlotId, SlotKind, StmtKind, Transition};

use hopwright_ir::analysis::effects::{Effects, SlotSet};
use hopwright_ir::walk;

/// Largest expression that is substituted, in operations. It keeps chains of locals from becoming one expression that is too
/// deep to traverse.
const MAX_SIZE: usize = 64;

/// Substitutes single-use locals everywhere.
pub(super) fn substitute(pipeline: &mut Pipeline) {
    let effects = Effects::of(pipeline);
    let single = single_use(pipeline);
    for i in 0..pipeline.parser.states.len() {
        let mut block = std::mem::take(&mut pipeline.parser.states[i].body);
        let old = Transition::Goto(hopwright_ir::Target::Reject);
        let mut transition = std::mem::replace(&mut pipeline.parser.states[i].transition, old);
        let keys = match &mut transition {
            Transition::Select { keys, .. } => keys.as_mut_slice(),
            Transition::Goto(_) => &mut [],
        };
        in_block(pipeline, &effects, &single, &mut block, keys);
        pipeline.parser.states[i].body = block;
        pipeline.parser.states[i].transition = transition;
    }
    macro_rules! body {
        ($body:expr) => {
            let mut block = std::mem::take(&mut $body);
            in_block(pipeline, &effects, &single, &mut block, &mut []);
            $body = block;
        };
    }
    body!(pipeline.verify_checksum.body);
    body!(pipeline.ingress.body);
    body!(pipeline.egress.body);
    body!(pipeline.compute_checksum.body);
    body!(pipeline.deparser.body);
    for i in 0..pipeline.actions.len() {
        body!(pipeline.actions[i].body);
    }
}

/// Locals with one assignment, no other write, and one read.
fn single_use(pipeline: &Pipeline) -> SlotSet {
    let none = Effects::of(pipeline);
    let mut reads = vec![0u32; pipeline.slots.len()];
    let mut writes = vec![0u32; pipeline.slots.len()];
    for block in walk::all_blocks(pipeline) {
        walk::stmts(block, &mut |stmt| {
            if let StmtKind::Apply { hit, action_run, .. } = &stmt.kind {
                // Effects of actions are counted with the actions.
                hit.iter().chain(action_run).for_each(|s| writes[s.index()] += 2);
                return;
            }
            none.reads(pipeline, stmt, &mut |s| reads[s.index()] += 1);
            none.writes(pipeline, stmt, &mut |s| writes[s.index()] += 1);
            // Only plain assignments can be substituted.
            if !matches!(stmt.kind, StmtKind::Assign(..)) {
                none.writes(pipeline, stmt, &mut |s| writes[s.index()] += 1);
            }
        });
    }
    for expr in walk::outer_exprs(pipeline) {
        walk::expr_slots(expr, &mut |s| reads[s.index()] += 1);
    }
    // A table's keys are read wherever it is applied.
    for table in &pipeline.tables {
        for key in &table.keys {
            walk::expr_slots(&key.expr, &mut |s| reads[s.index()] += 1);
        }
    }
    for list in &pipeline.field_lists {
        list.slots.iter().for_each(|s| reads[s.index()] += 2);
    }
    let mut single = SlotSet::empty(pipeline);
    for (i, slot) in pipeline.slots.iter().enumerate() {
        if slot.kind == SlotKind::Local && reads[i] == 1 && writes[i] == 1 {
            single.insert(SlotId(i as u32));
        }
    }
    single
}

/// `keys` are evaluated at the end of the block.
fn in_block(pipeline: &Pipeline, effects: &Effects, single: &SlotSet, block: &mut Block, keys: &mut [Expr]) {
    for stmt in block.iter_mut() {
        for inner in walk::blocks_mut(stmt) {
            in_block(pipeline, effects, single, inner, &mut []);
        }
    }
    let mut i = 0;
    while i < block.len() {
        let (slot, value) = match &block[i].kind {
            StmtKind::Assign(slot, value) if single.contains(*slot) && size(value) <= MAX_SIZE => {
                (*slot, value.clone())
            }
            _ => {
                i += 1;
                continue;
            }
        };
        if reaches_use(pipeline, effects, block, i, slot, &value, keys) {
            block.remove(i);
        } else {
            i += 1;
        }
    }
}

/// Substitutes the value at the only use of the slot after statement `at`, unless something in between changes it.
fn reaches_use(
    pipeline: &Pipeline,
    effects: &Effects,
    block: &mut Block,
    at: usize,
    slot: SlotId,
    value: &Expr,
    keys: &mut [Expr],
) -> bool {
    let mut inputs = SlotSet::empty(pipeline);
    walk::expr_slots(value, &mut |s| inputs.insert(s));
    for stmt in &mut block[at + 1..] {
        if matches!(stmt.kind, StmtKind::Loop { .. }) {
            return false;
        }
        for expr in walk::stmt_exprs_mut(stmt) {
            if replace(expr, slot, value) {
                return true;
            }
        }
        let mut reads = SlotSet::empty(pipeline);
        let mut writes = SlotSet::empty(pipeline);
        effects.block(pipeline, &vec![stmt.clone()], &mut reads, &mut writes);
        let mut changed = false;
        walk::expr_slots(value, &mut |s| changed |= writes.contains(s));
        if changed || reads.contains(slot) {
            return false;
        }
    }
    keys.iter_mut().any(|k| replace(k, slot, value))
}

fn size(expr: &Expr) -> usize {
    let mut size = 0;
    walk::exprs(expr, &mut |_| size += 1);
    size
}

/// Replaces the first reading of the slot.
fn replace(expr: &mut Expr, slot: SlotId, value: &Expr) -> bool {
    if matches!(expr.kind, ExprKind::Slot(s) if s == slot) {
        *expr = value.clone();
        return true;
    }
    walk::operands_mut(expr).into_iter().any(|o| replace(o, slot, value))
}
