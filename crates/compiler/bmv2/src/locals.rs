//! Metadata that only one block uses are local variables of the block: executors need not keep them for others.
//!
//! p4c has one header, `scalars`, for the program's metadata and for all local variables.

use hopwright_ir::{Block, ExternArg, Pipeline, SlotKind, StmtKind, Transition, walk};

/// Makes local variables of metadata that only one block uses and no field list has.
pub(crate) fn localise(p: &mut Pipeline) {
    let mut users = vec![0u8; p.slots.len()];
    for state in &p.parser.states {
        mark(&state.body, 1, &mut users);
        if let Transition::Select { keys, .. } = &state.transition {
            keys.iter().for_each(|key| walk::expr_slots(key, &mut |slot| users[slot.index()] |= 1));
        }
    }
    for (number, control) in (1..).zip(walk::controls(p)) {
        let bit = 1 << number;
        mark(&control.body, bit, &mut users);
        walk::stmts(&control.body, &mut |stmt| {
            let StmtKind::Apply { table, .. } = &stmt.kind else { return };
            let table = &p[*table];
            let keys = table.keys.iter();
            keys.for_each(|key| walk::expr_slots(&key.expr, &mut |slot| users[slot.index()] |= bit));
            for action in table.actions.iter().map(|a| a.action).chain([table.default_action.action]) {
                mark(&p[action].body, bit, &mut users);
            }
        });
    }
    for slot in p.field_lists.iter().flat_map(|list| &list.slots) {
        users[slot.index()] = u8::MAX;
    }
    for (slot, users) in p.slots.iter_mut().zip(users) {
        if slot.kind == SlotKind::Metadata && users.count_ones() == 1 {
            slot.kind = SlotKind::Local;
        }
    }
}

/// Marks the slots that a block reads or writes.
fn mark(block: &Block, bit: u8, users: &mut [u8]) {
    walk::stmts(block, &mut |stmt| {
        for expr in walk::stmt_exprs(stmt) {
            walk::expr_slots(expr, &mut |slot| users[slot.index()] |= bit);
        }
        let written = match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => vec![*slot],
            StmtKind::Apply { hit, action_run, .. } => hit.iter().chain(action_run).copied().collect(),
            StmtKind::Lookahead { parts, .. } => parts.iter().map(|(slot, _)| *slot).collect(),
            StmtKind::Extern(call) => {
                let out = |arg: &ExternArg| match arg {
                    ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(*slot),
                    ExternArg::In(_) | ExternArg::List(_) => None,
                };
                call.args.iter().filter_map(out).collect()
            }
            _ => Vec::new(),
        };
        written.into_iter().for_each(|slot| users[slot.index()] |= bit);
    });
}
