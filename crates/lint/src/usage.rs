//! What nothing uses: tables never applied, actions of no table, states that no transition leads to.

use std::collections::HashSet;

use hopwright_sema::hir::*;
use hopwright_syntax::ast::{self, Decl, DeclKind, Ident};
use hopwright_syntax::diagnostic::Diagnostic;
use hopwright_syntax::span::Span;

use crate::visit::{self, Seen};

/// What is used, by the place of its declaration as the typed program keeps it.
struct Used<'p> {
    program: &'p TypedProgram,
    tables: HashSet<TableId>,
    functions: HashSet<FunctionId>,
    objects: HashSet<ObjectId>,
    value_sets: HashSet<ValueSetId>,
    out: &'p mut Vec<Diagnostic>,
}

pub fn lint(syntax: &ast::Program, program: &TypedProgram, out: &mut Vec<Diagnostic>) {
    let mut used = Used {
        program,
        tables: HashSet::new(),
        functions: HashSet::new(),
        objects: HashSet::new(),
        value_sets: HashSet::new(),
        out,
    };
    used.collect();
    // What a program includes may well hold more than it needs.
    let file = program.main.span.file;
    for d in &syntax.decls {
        used.decl(d, d.span.file == file);
    }
}

impl Used<'_> {
    fn collect(&mut self) {
        let program = self.program;
        visit::program(program, &mut |seen| match seen {
            Seen::Call(call) => match &call.callee {
                Callee::Function(id) => drop(self.functions.insert(*id)),
                Callee::Table(id) => drop(self.tables.insert(*id)),
                Callee::Method(id, _) => drop(self.objects.insert(*id)),
                _ => {}
            },
            Seen::Expr(Expr { kind: ExprKind::Object(id), .. }) => drop(self.objects.insert(*id)),
            Seen::Expr(Expr { kind: ExprKind::TableHit(id, _), .. }) => drop(self.tables.insert(*id)),
            Seen::Stmt(Stmt { kind: StmtKind::SwitchTable(id, _), .. }) => drop(self.tables.insert(*id)),
            Seen::Set(Set::ValueSet(id)) => drop(self.value_sets.insert(*id)),
            _ => {}
        });
        for table in &program.tables {
            self.functions.extend(table.actions.iter().map(|a| a.action.function));
            self.functions.insert(table.default_action.function);
            for (_, property) in &table.properties {
                if let Property::Object(id) = property {
                    self.objects.insert(*id);
                }
            }
        }
        self.objects.extend(program.main.objects.iter().map(|(_, id)| *id));
    }

    fn unused(&mut self, what: &str, name: &Ident, label: &str) {
        let d = Diagnostic::warning("W0025", format!("{what} `{name}` is never used")).at(name.span, label);
        self.out.push(d.help(format!("remove it, or write `@noWarn(\"unused\")` before {what} `{name}`")));
    }

    /// `complain`: whether it matters that this declaration itself is not used.
    fn decl(&mut self, d: &Decl, complain: bool) {
        let program = self.program;
        let instances =
            |name: &Ident| -> Vec<&Instance> { program.instances.iter().filter(|i| i.span == name.span).collect() };
        match &d.kind {
            DeclKind::Control(c) => {
                if instances(&c.sig.name).is_empty() {
                    if complain {
                        self.unused("control", &c.sig.name, "never instantiated");
                    }
                    return;
                }
                c.locals.iter().for_each(|d| self.decl(d, true));
            }
            DeclKind::Parser(p) => {
                let made = instances(&p.sig.name);
                if made.is_empty() {
                    if complain {
                        self.unused("parser", &p.sig.name, "never instantiated");
                    }
                    return;
                }
                let reached: HashSet<usize> = made.iter().flat_map(|i| reachable(i)).collect();
                for (_, s) in p.states.iter().enumerate().filter(|(i, _)| !reached.contains(i)) {
                    self.out.push(
                        Diagnostic::warning("W0023", format!("state `{}` is never reached", s.name))
                            .at(s.name.span, "no way from `start` leads here"),
                    );
                }
                p.locals.iter().for_each(|d| self.decl(d, true));
            }
            DeclKind::Action(a) if complain && self.lonely_function(d) => {
                self.unused("action", &a.name, "neither called nor in a table's list");
            }
            DeclKind::Function(f) if complain && f.sig.type_params.is_empty() && self.lonely_function(d) => {
                self.unused("function", &f.sig.name, "never called");
            }
            DeclKind::Instance(o)
                if complain
                    && self.lonely(d.span, &program.objects, |o| o.span, |i| self.objects.contains(&ObjectId(i))) =>
            {
                let ty = match &o.ty.kind {
                    ast::TypeKind::Named(path) => path.name.to_string(),
                    ast::TypeKind::Specialized { path, .. } => path.name.to_string(),
                    _ => "object".to_string(),
                };
                self.unused(&ty, &o.name, "declared here");
            }
            DeclKind::ValueSet(v) => {
                let used = |i| self.value_sets.contains(&ValueSetId(i));
                if self.lonely(d.span, &program.value_sets, |v| v.span, used) {
                    self.unused("value set", &v.name, "no `select` looks at it");
                }
            }
            DeclKind::Table(t) => {
                let used = |i| self.tables.contains(&TableId(i));
                if self.lonely(t.name.span, &self.program.tables, |t| t.span, used) {
                    self.out.push(
                        Diagnostic::warning("W0024", format!("table `{}` is never applied", t.name))
                            .at(t.name.span, "no packet looks into it")
                            .help(format!("call `{}.apply()`, or remove it", t.name)),
                    );
                }
            }
            _ => {}
        }
    }

    fn lonely_function(&self, d: &Decl) -> bool {
        let used = |i| self.functions.contains(&FunctionId(i));
        self.lonely(d.span, &self.program.functions, |f| f.span, used)
    }

    /// Whether things were made from the declaration at `span`, and none of them is used.
    fn lonely<T>(&self, span: Span, made: &[T], place: impl Fn(&T) -> Span, used: impl Fn(u32) -> bool) -> bool {
        let mut here = made.iter().enumerate().filter(|(_, t)| place(t) == span).peekable();
        here.peek().is_some() && here.all(|(i, _)| !used(i as u32))
    }
}

/// The states of a parser that its transitions lead to.
fn reachable(instance: &Instance) -> HashSet<usize> {
    let mut reached = HashSet::new();
    let InstanceBody::Parser(states) = &instance.body else { return reached };
    let mut next: Vec<usize> = states.iter().position(|s| s.name == "start").into_iter().collect();
    while let Some(i) = next.pop() {
        if !reached.insert(i) {
            continue;
        }
        let mut follow = |target: &StateRef| {
            if let StateRef::State(i) = target {
                next.push(*i);
            }
        };
        match &states[i].transition {
            Transition::Goto(target) => follow(target),
            Transition::Select { cases, .. } => cases.iter().for_each(|c| follow(&c.target)),
        }
    }
    reached
}
