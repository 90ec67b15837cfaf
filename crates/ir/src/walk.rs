//! Visits every statement or expression of a pipeline: for analyses, checks and statistics.

use crate::model::{Block, Control, Expr, ExprKind, ExternArg, Pipeline, Stmt, StmtKind, Transition};

/// The pipeline's controls in the order in which a packet meets them, the parser aside.
pub fn controls(pipeline: &Pipeline) -> [&Control; 5] {
    [&pipeline.verify_checksum, &pipeline.ingress, &pipeline.egress, &pipeline.compute_checksum, &pipeline.deparser]
}

/// Calls `f` for every statement of the parser, the controls and the actions, outer before inner.
pub fn statements<'a>(pipeline: &'a Pipeline, f: &mut impl FnMut(&'a Stmt)) {
    let states = pipeline.parser.states.iter().map(|s| &s.body);
    let controls = controls(pipeline).into_iter().map(|c| &c.body);
    let actions = pipeline.actions.iter().map(|a| &a.body);
    for body in states.chain(controls).chain(actions) {
        block(body, f);
    }
}

/// Calls `f` for every statement of a block, outer before inner.
pub fn block<'a>(body: &'a Block, f: &mut impl FnMut(&'a Stmt)) {
    for stmt in body {
        f(stmt);
        for inner in children(stmt) {
            block(inner, f);
        }
    }
}

/// The blocks directly inside a statement.
pub fn children(stmt: &Stmt) -> Vec<&Block> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Switch { cases, default, .. } => cases.iter().map(|(_, body)| body).chain([default]).collect(),
        StmtKind::Scope { body, .. } | StmtKind::Loop(body) => vec![body],
        _ => Vec::new(),
    }
}

/// The expressions a statement itself evaluates, not those of inner blocks nor of a table it applies.
pub fn operands(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Assign(_, e) | StmtKind::AssignSlice { value: e, .. } | StmtKind::Advance(e) => {
            vec![e]
        }
        StmtKind::If { cond, .. } => vec![cond],
        StmtKind::Switch { value, .. } => vec![value],
        StmtKind::Extract { varbit_bits, .. } | StmtKind::ExtractNext { varbit_bits, .. } => {
            varbit_bits.iter().collect()
        }
        StmtKind::Verify(cond, error) => vec![cond, error],
        StmtKind::Extern(call) => call
            .args
            .iter()
            .flat_map(|a| match a {
                ExternArg::In(e) => std::slice::from_ref(e),
                ExternArg::List(list) => list.as_slice(),
                ExternArg::Out(_) | ExternArg::InOut(_) => &[],
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Calls `f` for an expression and everything inside it, outer before inner.
pub fn expression<'a>(e: &'a Expr, f: &mut impl FnMut(&'a Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Param(_) | ExprKind::PacketLength => {}
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Slice { arg: a, .. } => {
            expression(a, f);
        }
        ExprKind::Binary(_, a, b) => {
            expression(a, f);
            expression(b, f);
        }
        ExprKind::Mux(a, b, c) => {
            expression(a, f);
            expression(b, f);
            expression(c, f);
        }
    }
}

/// Calls `f` for every expression of the pipeline: those of statements, select keys and table keys.
pub fn expressions<'a>(pipeline: &'a Pipeline, f: &mut impl FnMut(&'a Expr)) {
    statements(pipeline, &mut |stmt| {
        for e in operands(stmt) {
            expression(e, f);
        }
    });
    for state in &pipeline.parser.states {
        if let Transition::Select { keys, .. } = &state.transition {
            for key in keys {
                expression(key, f);
            }
        }
    }
    for table in &pipeline.tables {
        for key in &table.keys {
            expression(&key.expr, f);
        }
    }
}
