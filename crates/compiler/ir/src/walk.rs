//! Traversal of the IR: every statement, every expression, every slot that is read or written.

use crate::{Block, Control, Expr, ExprKind, ExternArg, HeaderId, Pipeline, SlotId, Stmt, StmtKind, Transition};

/// Calls `f` for every statement of the block, outer before inner, in order.
pub fn stmts<'a>(block: &'a Block, f: &mut impl FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        for inner in blocks(stmt) {
            stmts(inner, f);
        }
    }
}

/// Calls `f` for every statement of the block, outer before inner, in order.
pub fn stmts_mut(block: &mut Block, f: &mut impl FnMut(&mut Stmt)) {
    for stmt in block {
        f(stmt);
        for inner in blocks_mut(stmt) {
            stmts_mut(inner, f);
        }
    }
}

/// The blocks directly inside a statement.
pub fn blocks(stmt: &Stmt) -> Vec<&Block> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Switch { cases, default, .. } => cases.iter().map(|c| &c.1).chain([default]).collect(),
        StmtKind::Scope { body, .. } | StmtKind::Loop { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

/// Mutable variant of [`blocks`].
pub fn blocks_mut(stmt: &mut Stmt) -> Vec<&mut Block> {
    match &mut stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Switch { cases, default, .. } => cases.iter_mut().map(|c| &mut c.1).chain([default]).collect(),
        StmtKind::Scope { body, .. } | StmtKind::Loop { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

/// The expressions a statement evaluates itself (not those of statements inside it), in order.
pub fn stmt_exprs(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Assign(_, e) | StmtKind::Advance { bits: e, .. } => vec![e],
        StmtKind::AssignSlice { value, .. } | StmtKind::Switch { value, .. } => vec![value],
        StmtKind::If { cond, .. } => vec![cond],
        StmtKind::Verify(a, b) => vec![a, b],
        StmtKind::Extract { varbit_bits, .. } | StmtKind::ExtractNext { varbit_bits, .. } => {
            varbit_bits.iter().collect()
        }
        StmtKind::Extern(call) => call
            .args
            .iter()
            .flat_map(|a| match a {
                ExternArg::In(e) => std::slice::from_ref(e),
                ExternArg::List(es) => es.as_slice(),
                ExternArg::Out(_) | ExternArg::InOut(_) => &[],
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Mutable variant of [`stmt_exprs`].
pub fn stmt_exprs_mut(stmt: &mut Stmt) -> Vec<&mut Expr> {
    match &mut stmt.kind {
        StmtKind::Assign(_, e) | StmtKind::Advance { bits: e, .. } => vec![e],
        StmtKind::AssignSlice { value, .. } | StmtKind::Switch { value, .. } => vec![value],
        StmtKind::If { cond, .. } => vec![cond],
        StmtKind::Verify(a, b) => vec![a, b],
        StmtKind::Extract { varbit_bits, .. } | StmtKind::ExtractNext { varbit_bits, .. } => {
            varbit_bits.iter_mut().collect()
        }
        StmtKind::Extern(call) => call
            .args
            .iter_mut()
            .flat_map(|a| match a {
                ExternArg::In(e) => std::slice::from_mut(e),
                ExternArg::List(es) => es.as_mut_slice(),
                ExternArg::Out(_) | ExternArg::InOut(_) => &mut [],
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The operands of an expression.
pub fn operands(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Param(_) | ExprKind::PacketLength => Vec::new(),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Slice { arg: a, .. } => vec![a],
        ExprKind::Binary(_, a, b) => vec![a, b],
        ExprKind::Mux(a, b, c) => vec![a, b, c],
    }
}

/// Mutable variant of [`operands`].
pub fn operands_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut expr.kind {
        ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Param(_) | ExprKind::PacketLength => Vec::new(),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Slice { arg: a, .. } => vec![a],
        ExprKind::Binary(_, a, b) => vec![a, b],
        ExprKind::Mux(a, b, c) => vec![a, b, c],
    }
}

/// Calls `f` for the expression and everything inside it, outer before inner.
pub fn exprs<'a>(expr: &'a Expr, f: &mut impl FnMut(&'a Expr)) {
    f(expr);
    for operand in operands(expr) {
        exprs(operand, f);
    }
}

/// Calls `f` for every slot the expression reads.
pub fn expr_slots(expr: &Expr, f: &mut impl FnMut(SlotId)) {
    exprs(expr, &mut |e| {
        if let ExprKind::Slot(slot) = e.kind {
            f(slot);
        }
    });
}

/// The pipeline's controls in the order in which a packet passes them, without the parser.
pub fn controls(pipeline: &Pipeline) -> [&Control; 5] {
    [&pipeline.verify_checksum, &pipeline.ingress, &pipeline.egress, &pipeline.compute_checksum, &pipeline.deparser]
}

/// Every block of the pipeline: parser states, controls, actions.
pub fn all_blocks(pipeline: &Pipeline) -> impl Iterator<Item = &Block> {
    (pipeline.parser.states.iter().map(|s| &s.body))
        .chain(controls(pipeline).into_iter().map(|c| &c.body))
        .chain(pipeline.actions.iter().map(|a| &a.body))
}

/// Calls `f` for every statement of the pipeline, block by block.
pub fn all_stmts<'a>(pipeline: &'a Pipeline, f: &mut impl FnMut(&'a Stmt)) {
    for block in all_blocks(pipeline) {
        stmts(block, f);
    }
}

/// Mutable variant of [`all_blocks`].
pub fn all_blocks_mut(pipeline: &mut Pipeline) -> impl Iterator<Item = &mut Block> {
    let controls = [
        &mut pipeline.verify_checksum,
        &mut pipeline.ingress,
        &mut pipeline.egress,
        &mut pipeline.compute_checksum,
        &mut pipeline.deparser,
    ];
    (pipeline.parser.states.iter_mut().map(|s| &mut s.body))
        .chain(controls.into_iter().map(|c| &mut c.body))
        .chain(pipeline.actions.iter_mut().map(|a| &mut a.body))
}

/// Expressions outside of blocks: select keys and table keys.
pub fn outer_exprs(pipeline: &Pipeline) -> impl Iterator<Item = &Expr> {
    let selects = pipeline.parser.states.iter().flat_map(|s| match &s.transition {
        Transition::Goto(_) => &[],
        Transition::Select { keys, .. } => keys.as_slice(),
    });
    selects.chain(pipeline.tables.iter().flat_map(|t| t.keys.iter().map(|k| &k.expr)))
}

/// Mutable variant of [`outer_exprs`].
pub fn outer_exprs_mut(pipeline: &mut Pipeline) -> impl Iterator<Item = &mut Expr> {
    let selects = pipeline.parser.states.iter_mut().flat_map(|s| match &mut s.transition {
        Transition::Goto(_) => &mut [],
        Transition::Select { keys, .. } => keys.as_mut_slice(),
    });
    selects.chain(pipeline.tables.iter_mut().flat_map(|t| t.keys.iter_mut().map(|k| &mut k.expr)))
}

/// The validity slot and all field slots of a header.
pub fn header_slots(pipeline: &Pipeline, header: HeaderId) -> impl Iterator<Item = SlotId> {
    let h = &pipeline[header];
    std::iter::once(h.valid).chain(h.fields.iter().map(|f| f.slot))
}
