//! Removes unused locals and renumbers the slots.

use hopwright_ir::{Expr, ExprKind, ExternArg, Pipeline, SlotId, SlotKind, Stmt, StmtKind};

use hopwright_ir::walk;

/// Removes unused locals.
pub(super) fn compact(pipeline: &mut Pipeline) {
    let mut used: Vec<bool> = pipeline.slots.iter().map(|s| s.kind != SlotKind::Local).collect();
    for block in walk::all_blocks(pipeline) {
        walk::stmts(block, &mut |stmt| {
            for e in walk::stmt_exprs(stmt) {
                walk::expr_slots(e, &mut |s| used[s.index()] = true);
            }
            own_slots(stmt, &mut |s| used[s.index()] = true);
        });
    }
    for e in walk::outer_exprs(pipeline) {
        walk::expr_slots(e, &mut |s| used[s.index()] = true);
    }
    for list in &pipeline.field_lists {
        list.slots.iter().for_each(|s| used[s.index()] = true);
    }
    let mut ids = Vec::with_capacity(used.len());
    let mut next = 0;
    for &u in &used {
        ids.push(SlotId(next));
        next += u32::from(u);
    }
    if next as usize == used.len() {
        return;
    }
    let mut at = 0;
    pipeline.slots.retain(|_| {
        at += 1;
        used[at - 1]
    });
    renumber(pipeline, &ids);
}

/// Slots a statement names outside of expressions.
fn own_slots(stmt: &Stmt, f: &mut impl FnMut(SlotId)) {
    match &stmt.kind {
        StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => f(*slot),
        StmtKind::Apply { hit, action_run, .. } => hit.iter().chain(action_run).for_each(|&s| f(s)),
        StmtKind::Lookahead { parts, .. } => parts.iter().for_each(|p| f(p.0)),
        StmtKind::Extern(call) => {
            for arg in &call.args {
                if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                    f(*slot);
                }
            }
        }
        _ => {}
    }
}

fn renumber(pipeline: &mut Pipeline, ids: &[SlotId]) {
    let new = |slot: &mut SlotId| *slot = ids[slot.index()];
    for block in walk::all_blocks_mut(pipeline) {
        walk::stmts_mut(block, &mut |stmt| {
            walk::stmt_exprs_mut(stmt).into_iter().for_each(|e| renumber_expr(e, ids));
            match &mut stmt.kind {
                StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => new(slot),
                StmtKind::Apply { hit, action_run, .. } => hit.iter_mut().chain(action_run).for_each(new),
                StmtKind::Lookahead { parts, .. } => parts.iter_mut().for_each(|p| new(&mut p.0)),
                StmtKind::Extern(call) => {
                    for arg in &mut call.args {
                        if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                            new(slot);
                        }
                    }
                }
                _ => {}
            }
        });
    }
    walk::outer_exprs_mut(pipeline).for_each(|e| renumber_expr(e, ids));
    for header in &mut pipeline.headers {
        new(&mut header.valid);
        header.fields.iter_mut().for_each(|f| new(&mut f.slot));
    }
    pipeline.stacks.iter_mut().for_each(|s| new(&mut s.next_index));
    pipeline.field_lists.iter_mut().flat_map(|l| &mut l.slots).for_each(new);
    let s = &mut pipeline.standard;
    for slot in [
        &mut s.ingress_port,
        &mut s.egress_spec,
        &mut s.egress_port,
        &mut s.instance_type,
        &mut s.packet_length,
        &mut s.enq_timestamp,
        &mut s.enq_qdepth,
        &mut s.deq_timedelta,
        &mut s.deq_qdepth,
        &mut s.ingress_global_timestamp,
        &mut s.egress_global_timestamp,
        &mut s.mcast_grp,
        &mut s.egress_rid,
        &mut s.checksum_error,
        &mut s.parser_error,
        &mut s.priority,
    ] {
        new(slot);
    }
}

fn renumber_expr(expr: &mut Expr, ids: &[SlotId]) {
    if let ExprKind::Slot(slot) = &mut expr.kind {
        *slot = ids[slot.index()];
    }
    walk::operands_mut(expr).into_iter().for_each(|o| renumber_expr(o, ids));
}
