//! Walks over statements and expressions of the typed program.

use hopwright_sema::hir::*;

/// A visited node.
pub(crate) enum Seen<'p> {
    Stmt(&'p Stmt),
    Expr(&'p Expr),
    Call(&'p Call),
    Set(&'p Set),
}

/// Every statement, expression and call of a program, in the bodies of all instances, functions and tables.
pub(crate) fn program<'p>(program: &'p TypedProgram, f: &mut dyn FnMut(Seen<'p>)) {
    for function in &program.functions {
        stmts(&function.body, f);
    }
    for instance in &program.instances {
        stmts(&instance.locals, f);
        match &instance.body {
            InstanceBody::Control(body) => stmts(body, f),
            InstanceBody::Parser(states) => {
                for state in states {
                    stmts(&state.body, f);
                    if let Transition::Select { keys, cases, .. } = &state.transition {
                        keys.iter().for_each(|k| expr(k, f));
                        cases.iter().flat_map(|c| &c.sets).for_each(|s| set(s, f));
                    }
                }
            }
        }
    }
    for table in &program.tables {
        table.keys.iter().for_each(|k| expr(&k.expr, f));
        let actions = table.actions.iter().map(|a| &a.action).chain([&table.default_action]);
        for action in actions.chain(table.entries.iter().map(|e| &e.action)) {
            action.args.iter().flatten().for_each(|e| expr(e, f));
        }
        table.entries.iter().flat_map(|e| &e.sets).for_each(|s| set(s, f));
    }
}

fn set<'p>(s: &'p Set, f: &mut dyn FnMut(Seen<'p>)) {
    f(Seen::Set(s));
    match s {
        Set::Value(e) => expr(e, f),
        Set::Mask(a, b) | Set::Range(a, b) => {
            expr(a, f);
            expr(b, f);
        }
        Set::Any | Set::ValueSet(_) => {}
    }
}

pub(crate) fn stmts<'p>(list: &'p [Stmt], f: &mut dyn FnMut(Seen<'p>)) {
    for s in list {
        stmt(s, f);
    }
}

fn stmt<'p>(s: &'p Stmt, f: &mut dyn FnMut(Seen<'p>)) {
    f(Seen::Stmt(s));
    match &s.kind {
        StmtKind::Declare(_, init) => init.iter().for_each(|e| expr(e, f)),
        StmtKind::Assign(a, b) => {
            expr(a, f);
            expr(b, f);
        }
        StmtKind::Call(c) => call(c, f),
        StmtKind::If(c, a, b) => {
            expr(c, f);
            stmts(a, f);
            stmts(b, f);
        }
        StmtKind::SwitchTable(_, cases) => cases.iter().for_each(|(_, body)| stmts(body, f)),
        StmtKind::SwitchValue(e, cases) => {
            expr(e, f);
            for (labels, body) in cases {
                labels.iter().for_each(|e| expr(e, f));
                stmts(body, f);
            }
        }
        StmtKind::Block(body) => stmts(body, f),
        StmtKind::For { init, cond, update, body } => {
            stmts(init, f);
            expr(cond, f);
            stmts(update, f);
            stmts(body, f);
        }
        StmtKind::ForIn { over, body, .. } => {
            match over {
                ForRange::Range(a, b) => {
                    expr(a, f);
                    expr(b, f);
                }
                ForRange::Elements(e) => expr(e, f),
            }
            stmts(body, f);
        }
        StmtKind::Return(e) => e.iter().for_each(|e| expr(e, f)),
        StmtKind::Break | StmtKind::Continue | StmtKind::Exit => {}
    }
}

fn call<'p>(c: &'p Call, f: &mut dyn FnMut(Seen<'p>)) {
    f(Seen::Call(c));
    c.parts().for_each(|e| expr(e, f));
}

pub(crate) fn expr<'p>(e: &'p Expr, f: &mut dyn FnMut(Seen<'p>)) {
    f(Seen::Expr(e));
    match &e.kind {
        ExprKind::Call(c) => call(c, f),
        _ => e.parts().into_iter().for_each(|part| expr(part, f)),
    }
}
