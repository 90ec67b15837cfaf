//! Statements that are one operation: accesses of objects.

use std::collections::HashSet;

use num_bigint::BigUint;

use crate::{
    BinaryOp, DROP_PORT, Expr, ExprKind, ExternCall, ExternFn, ExternId, Pipeline, SlotId, Span, Stmt, StmtKind, walk,
};

/// The places of calls of methods of objects.
pub(super) fn accesses(pipeline: &Pipeline) -> HashSet<Span> {
    let mut found = HashSet::new();
    walk::all_stmts(pipeline, &mut |stmt| {
        if let StmtKind::Extern(call) = &stmt.kind
            && call.function.object().is_some()
        {
            found.insert(call.span);
        }
    });
    found
}

/// The call that reads a cell of a register, if statements begin with one, and all of them up to the call that writes it: the
/// stateful ALU does it in one go.
pub(super) fn access(stmts: &[Stmt]) -> Option<(&ExternCall, &[Stmt])> {
    let read = match &stmts.first()?.kind {
        StmtKind::Extern(call) if matches!(call.function, ExternFn::RegisterRead(_)) => call,
        _ => return None,
    };
    let writes = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Extern(call) => {
            matches!(call.function, ExternFn::RegisterWrite(_)) && call.function.object() == read.function.object()
        }
        _ => false,
    };
    let whole = &stmts[..=stmts.iter().position(writes)?];
    whole.iter().all(|stmt| only_computes(stmt, read.function.object())).then_some((read, whole))
}

/// Whether a statement applies no table and accesses no object but this one.
fn only_computes(stmt: &Stmt, object: Option<ExternId>) -> bool {
    let alone = match &stmt.kind {
        StmtKind::Apply { .. } => false,
        StmtKind::Extern(call) => call.function.object().is_none_or(|other| Some(other) == object),
        _ => true,
    };
    alone && walk::blocks(stmt).into_iter().flatten().all(|inner| only_computes(inner, object))
}

/// Whether an assignment only makes an unset port zero, of which a program then writes some bits.
pub(super) fn sets_out(slot: SlotId, value: &Expr) -> bool {
    let own = |e: &Expr| matches!(e.kind, ExprKind::Slot(read) if read == slot);
    let unset = |e: &Expr| e.as_const().is_some_and(|value| *value == BigUint::from(DROP_PORT));
    match &value.kind {
        ExprKind::Mux(cond, zero, otherwise) => {
            let compares = matches!(&cond.kind, ExprKind::Binary(BinaryOp::Eq, a, b) if own(a) && unset(b));
            compares && own(otherwise) && zero.as_const().is_some_and(|value| value.bits() == 0)
        }
        _ => false,
    }
}
