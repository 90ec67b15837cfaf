//! `packet_length` in egress, as BMv2's simple_switch has it: the length that came in, with the headers that the program has made valid by
//! `setValid` or by assigning a list, without those that it has made invalid by `setInvalid`. Assignments of other headers and operations of
//! stacks do not count, and neither does a field of variable length. A clone of egress counts what egress has changed, too.
//!
//! Front ends write a statement in front of each change ([`note`]), because the pipeline does not tell what the program calls from what
//! follows from an assignment. [`account`] adds the changes to the length, or removes the statements if nobody reads it.

use std::collections::BTreeSet;

use hopwright_ir::{
    BinaryOp, Block, Expr, ExprKind, ExternArg, ExternFn, Header, Pipeline, Slot, SlotId, SlotKind, Span, Stmt,
    StmtKind, Type, UnaryOp, walk,
};

const TYPE: Type = Type::Bits(32);

/// The slot that holds the change of the length.
pub fn change_slot() -> Slot {
    Slot { name: "$length_change".into(), ty: TYPE, kind: SlotKind::Metadata, span: Span::none() }
}

/// Counts a header that is about to become valid or invalid, if it is not so already.
pub fn note(change: SlotId, header: &Header, becomes_valid: bool, span: Span) -> Stmt {
    let valid = slot(header.valid, Type::Bool);
    let (cond, op) = match becomes_valid {
        true => (Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(valid)), ty: Type::Bool, span }, BinaryOp::Add),
        false => (valid, BinaryOp::Sub),
    };
    let bytes = Expr::constant(header.fixed_bits / 8, TYPE, span);
    let then = vec![Stmt { kind: StmtKind::Assign(change, sum(op, change, bytes)), span }];
    Stmt { kind: StmtKind::If { cond, then, otherwise: Vec::new() }, span }
}

/// Keeps account of the length in a program whose egress reads it.
pub fn account(pipeline: &mut Pipeline, change: SlotId) {
    if !is_read_in_egress(pipeline) {
        walk::all_blocks_mut(pipeline).for_each(|block| remove_notes(block, change));
        // Unused locals are removed by a pass.
        pipeline.slots[change.index()].kind = SlotKind::Local;
        return;
    }
    let length = pipeline.standard.packet_length;
    let settle =
        [(length, sum(BinaryOp::Add, length, slot(change, TYPE))), (change, Expr::constant(0u32, TYPE, Span::none()))]
            .map(|(slot, value)| Stmt { kind: StmtKind::Assign(slot, value), span: Span::none() });
    if clones_in_egress(pipeline) {
        // The copy has the length as egress leaves it. What leaves ingress by an `exit` reads no length any more.
        let actions = pipeline.actions.iter_mut().map(|action| &mut action.body);
        actions.chain([&mut pipeline.egress.body]).for_each(|body| settle_before_exits(body, &settle));
        pipeline.egress.body.extend(settle.clone());
    }
    pipeline.egress.body.splice(0..0, settle);
}

fn slot(slot: SlotId, ty: Type) -> Expr {
    Expr::slot(slot, ty, Span::none())
}

fn sum(op: BinaryOp, to: SlotId, other: Expr) -> Expr {
    Expr { kind: ExprKind::Binary(op, Box::new(slot(to, TYPE)), Box::new(other)), ty: TYPE, span: Span::none() }
}

fn remove_notes(body: &mut Block, change: SlotId) {
    body.retain_mut(|stmt| {
        walk::blocks_mut(stmt).into_iter().for_each(|inner| remove_notes(inner, change));
        let StmtKind::If { then, .. } = &stmt.kind else { return true };
        !matches!(then.as_slice(), [Stmt { kind: StmtKind::Assign(slot, _), .. }] if *slot == change)
    });
}
fn settle_before_exits(body: &mut Block, settle: &[Stmt]) {
    for mut stmt in std::mem::take(body) {
        walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| settle_before_exits(inner, settle));
        if matches!(stmt.kind, StmtKind::Exit) {
            body.extend_from_slice(settle);
        }
        body.push(stmt);
    }
}

fn clones_in_egress(pipeline: &Pipeline) -> bool {
    let mut clones = false;
    walk::all_stmts(pipeline, &mut |stmt| {
        let StmtKind::Extern(call) = &stmt.kind else { return };
        clones |= matches!(call.function, ExternFn::Clone { egress: true, .. });
    });
    clones
}

/// Whether egress, or what follows it, reads the length.
fn is_read_in_egress(pipeline: &Pipeline) -> bool {
    let length = pipeline.standard.packet_length;
    let (mut read, mut tables) = (false, BTreeSet::new());
    let mut bodies = vec![&pipeline.egress.body, &pipeline.compute_checksum.body, &pipeline.deparser.body];
    while let Some(body) = bodies.pop() {
        let mut applied = Vec::new();
        walk::stmts(body, &mut |stmt| {
            walk::stmt_exprs(stmt).into_iter().for_each(|e| walk::expr_slots(e, &mut |slot| read |= slot == length));
            match &stmt.kind {
                StmtKind::Extern(call) => {
                    read |= call.args.iter().any(|arg| matches!(arg, ExternArg::InOut(slot) if *slot == length));
                }
                StmtKind::Apply { table, .. } => applied.push(*table),
                _ => {}
            }
        });
        for id in applied.into_iter().filter(|id| tables.insert(*id)) {
            let table = &pipeline[id];
            table.keys.iter().for_each(|key| walk::expr_slots(&key.expr, &mut |slot| read |= slot == length));
            let actions = table.actions.iter().map(|a| a.action).chain([table.default_action.action]);
            bodies.extend(actions.map(|action| &pipeline[action].body));
        }
    }
    read
}
