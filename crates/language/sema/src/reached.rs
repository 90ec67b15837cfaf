//! Reachability: the tables that the package's blocks apply, the actions they call, the digests they send.
//!
//! Branches with a constant condition that excludes them are not reached, as in p4c; statements after `exit` and `return` are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hopwright_source::Span;

use crate::hir::*;

/// The objects that the blocks of a program reach.
#[derive(Default)]
pub struct Reached<'p> {
    /// Tables that are applied.
    pub tables: BTreeSet<TableId>,
    /// Actions that controls call directly; not those that only actions call.
    pub called: BTreeSet<FunctionId>,
    /// The types of digests, by the place of the call.
    pub digests: HashMap<Span, &'p Type>,
    /// The types of port metadata that ingress parsers unpack, by the position of the block.
    pub port_metadata: BTreeMap<usize, &'p Type>,
    /// The position of the block that is being followed.
    block: usize,
    instances: BTreeSet<InstanceId>,
    functions: BTreeSet<FunctionId>,
    /// Within a function or action.
    inside: bool,
}

impl<'p> Reached<'p> {
    /// Follows the blocks of the package.
    pub fn new(program: &'p TypedProgram) -> Reached<'p> {
        let mut reached = Reached::default();
        let blocks = program.main.blocks.iter().map(|(_, id)| id).chain(program.main.ghosts.iter().map(|(_, id)| id));
        for (at, block) in blocks.enumerate() {
            reached.block = at;
            reached.instance(program, *block);
        }
        reached
    }

    /// Actions of the tables (true), and others that a control calls (false), in order of declaration, one for each
    /// control-plane name.
    pub fn actions(&self, program: &'p TypedProgram) -> Vec<(&'p Function, bool)> {
        let mut used: BTreeMap<FunctionId, bool> = self.called.iter().map(|f| (*f, false)).collect();
        for table in self.tables.iter().map(|t| &program[*t]) {
            used.extend(table.actions.iter().map(|a| (a.action.function, true)));
            used.insert(table.default_action.function, true);
        }
        let mut found: Vec<(&Function, bool)> = Vec::new();
        let mut names: HashMap<&str, usize> = HashMap::new();
        for (function, in_table) in used.into_iter().map(|(f, in_table)| (&program[f], in_table)) {
            match names.get(function.control_plane_name.as_str()) {
                Some(at) if in_table && !found[*at].1 => found[*at] = (function, true),
                Some(_) => {}
                None => {
                    names.insert(&function.control_plane_name, found.len());
                    found.push((function, in_table));
                }
            }
        }
        found
    }

    fn instance(&mut self, program: &'p TypedProgram, id: InstanceId) {
        if !self.instances.insert(id) {
            return;
        }
        self.stmts(program, &program[id].locals);
        match &program[id].body {
            InstanceBody::Control(body) => self.stmts(program, body),
            InstanceBody::Parser(states) => states.iter().for_each(|s| self.stmts(program, &s.body)),
        }
    }

    fn table(&mut self, program: &'p TypedProgram, id: TableId) {
        if !self.tables.insert(id) {
            return;
        }
        let table = &program[id];
        table.keys.iter().for_each(|k| self.expr(program, &k.expr));
        for action in table.actions.iter().map(|a| &a.action).chain([&table.default_action]) {
            action.args.iter().flatten().for_each(|e| self.expr(program, e));
            self.function(program, action.function);
        }
    }

    fn function(&mut self, program: &'p TypedProgram, id: FunctionId) {
        if self.functions.insert(id) {
            let inside = std::mem::replace(&mut self.inside, true);
            self.stmts(program, &program[id].body);
            self.inside = inside;
        }
    }

    fn stmts(&mut self, program: &'p TypedProgram, stmts: &'p [Stmt]) {
        stmts.iter().for_each(|s| self.stmt(program, s));
    }

    fn stmt(&mut self, program: &'p TypedProgram, stmt: &'p Stmt) {
        match &stmt.kind {
            StmtKind::Declare(_, value) => value.iter().for_each(|e| self.expr(program, e)),
            StmtKind::Assign(to, value) => {
                self.expr(program, to);
                self.expr(program, value);
            }
            StmtKind::Call(call) => self.call(program, call),
            StmtKind::If(condition, then, otherwise) => {
                self.expr(program, condition);
                if !matches!(condition.kind, ExprKind::Bool(false)) {
                    self.stmts(program, then);
                }
                if !matches!(condition.kind, ExprKind::Bool(true)) {
                    self.stmts(program, otherwise);
                }
            }
            StmtKind::SwitchTable(table, cases) => {
                self.table(program, *table);
                cases.iter().for_each(|(_, body)| self.stmts(program, body));
            }
            StmtKind::SwitchValue(value, cases) => {
                self.expr(program, value);
                cases.iter().for_each(|(_, body)| self.stmts(program, body));
            }
            StmtKind::Block(body) => self.stmts(program, body),
            StmtKind::For { init, cond, update, body } => {
                self.stmts(program, init);
                self.expr(program, cond);
                self.stmts(program, body);
                self.stmts(program, update);
            }
            StmtKind::ForIn { over, body, .. } => {
                match over {
                    ForRange::Range(from, to) => {
                        self.expr(program, from);
                        self.expr(program, to);
                    }
                    ForRange::Elements(of) => self.expr(program, of),
                }
                self.stmts(program, body);
            }
            StmtKind::Return(value) => value.iter().for_each(|e| self.expr(program, e)),
            StmtKind::Exit | StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn call(&mut self, program: &'p TypedProgram, call: &'p Call) {
        call.args.iter().filter_map(|a| a.value.as_ref()).for_each(|e| self.expr(program, e));
        match &call.callee {
            Callee::Function(id) => {
                if program[*id].is_action && !self.inside {
                    self.called.insert(*id);
                }
                self.function(program, *id);
            }
            Callee::Instance(id) => self.instance(program, *id),
            Callee::Table(id) => self.table(program, *id),
            Callee::ExternFunction(name) if name == "digest" => {
                let data = call.args.get(1).and_then(|a| a.value.as_ref());
                self.digests.extend(call.type_args.first().or(data.map(|d| &d.ty)).map(|ty| (call.span, ty)));
            }
            Callee::ExternFunction(name) if name == "port_metadata_unpack" => {
                self.port_metadata.extend(call.type_args.first().map(|ty| (self.block, ty)));
            }
            Callee::Method(object, name) if name == "pack" && program[*object].type_name == "Digest" => {
                let data = call.args.first().and_then(|a| a.value.as_ref());
                let declared = program[*object].type_args.first();
                self.digests.extend(declared.or(data.map(|d| &d.ty)).map(|ty| (call.span, ty)));
            }
            _ => {}
        }
    }

    fn expr(&mut self, program: &'p TypedProgram, e: &'p Expr) {
        match &e.kind {
            ExprKind::TableHit(table, _) => self.table(program, *table),
            ExprKind::Call(call) => self.call(program, call),
            ExprKind::Binary(op, a, b) => {
                self.expr(program, a);
                let decided = matches!(
                    (op, &a.kind),
                    (BinaryOp::And, ExprKind::Bool(false)) | (BinaryOp::Or, ExprKind::Bool(true))
                );
                if !decided {
                    self.expr(program, b);
                }
            }
            ExprKind::Mux(condition, then, otherwise) => {
                self.expr(program, condition);
                if !matches!(condition.kind, ExprKind::Bool(false)) {
                    self.expr(program, then);
                }
                if !matches!(condition.kind, ExprKind::Bool(true)) {
                    self.expr(program, otherwise);
                }
            }
            _ => e.parts().into_iter().for_each(|part| self.expr(program, part)),
        }
    }
}
