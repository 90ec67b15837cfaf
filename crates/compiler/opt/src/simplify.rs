//! Removes structure without effect: branches that are never taken, scopes that are never left, unreachable statements.

use num_traits::Zero;

use hopwright_ir::{Block, ExprKind, Pipeline, Stmt, StmtKind};

use hopwright_ir::walk;

/// Simplifies every block.
pub fn simplify(pipeline: &mut Pipeline) {
    for block in walk::all_blocks_mut(pipeline) {
        let old = std::mem::take(block);
        *block = simplified(old);
        // An exit at the end of a body is redundant.
        while matches!(block.last().map(|s| &s.kind), Some(StmtKind::If { then, otherwise, .. })
            if then.is_empty() && otherwise.is_empty())
        {
            block.pop();
        }
    }
}

fn simplified(block: Block) -> Block {
    let mut out = Vec::with_capacity(block.len());
    for mut stmt in block {
        for inner in walk::blocks_mut(&mut stmt) {
            let old = std::mem::take(inner);
            *inner = simplified(old);
        }
        stmt_into(stmt, &mut out);
        if out.last().is_some_and(ends) {
            break;
        }
    }
    out
}

/// Whether control never continues after the statement.
pub fn ends(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Leave(_) | StmtKind::Exit => true,
        StmtKind::If { then, otherwise, .. } => block_ends(then) && block_ends(otherwise),
        StmtKind::Switch { cases, default, .. } => cases.iter().all(|c| block_ends(&c.1)) && block_ends(default),
        _ => false,
    }
}

/// Whether the end of the block is unreachable.
pub fn block_ends(block: &Block) -> bool {
    block.last().is_some_and(ends)
}

fn stmt_into(stmt: Stmt, out: &mut Block) {
    let span = stmt.span;
    match stmt.kind {
        StmtKind::Assign(slot, ref value) if matches!(value.kind, ExprKind::Slot(s) if s == slot) => {}
        StmtKind::If { cond, then, otherwise } => match cond.as_const() {
            Some(c) if c.is_zero() => out.extend(otherwise),
            Some(_) => out.extend(then),
            None if then.is_empty() && otherwise.is_empty() => {}
            None => out.push(Stmt { kind: StmtKind::If { cond, then, otherwise }, span }),
        },
        StmtKind::Switch { value, cases, default } => match value.as_const() {
            Some(v) => {
                let case = cases.into_iter().find(|(values, _)| values.contains(v));
                out.extend(case.map_or(default, |c| c.1));
            }
            None if default.is_empty() && cases.iter().all(|c| c.1.is_empty()) => {}
            None => out.push(Stmt { kind: StmtKind::Switch { value, cases, default }, span }),
        },
        StmtKind::Scope { label, mut body } => {
            strip_tail(&mut body, label);
            let mut left = false;
            walk::stmts(&body, &mut |s| left |= matches!(s.kind, StmtKind::Leave(l) if l == label));
            if left {
                out.push(Stmt { kind: StmtKind::Scope { label, body }, span });
            } else {
                out.extend(body);
            }
        }
        kind => out.push(Stmt { kind, span }),
    }
}

/// Removes leaves at the very end of the scope they leave, and unreachable code after a leave.
pub fn strip_tail(block: &mut Block, label: u32) {
    if let Some(end) = block.iter().position(ends) {
        block.truncate(end + 1);
    }
    let Some(last) = block.last_mut() else {
        return;
    };
    match &mut last.kind {
        StmtKind::Leave(l) if *l == label => {
            block.pop();
        }
        StmtKind::If { then, otherwise, .. } => {
            strip_tail(then, label);
            strip_tail(otherwise, label);
        }
        StmtKind::Switch { cases, default, .. } => {
            cases.iter_mut().for_each(|c| strip_tail(&mut c.1, label));
            strip_tail(default, label);
        }
        StmtKind::Scope { body, .. } => strip_tail(body, label),
        _ => {}
    }
}
