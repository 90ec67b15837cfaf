//! Unused declarations: tables never applied, actions of no table, unreachable states.

use std::collections::{HashMap, HashSet};

use hopwright_sema::hir::*;
use hopwright_source::Span;
use hopwright_syntax::ast::{self, Decl, DeclKind, Ident};
use hopwright_syntax::diagnostic::Diagnostic;

use crate::visit::{self, Seen};

/// By the span of a declaration: whether any instance of it is used.
type Made = HashMap<Span, bool>;

/// Used declarations, by their span in the typed program.
struct Used<'p> {
    program: &'p TypedProgram,
    tables: HashSet<TableId>,
    functions: HashSet<FunctionId>,
    objects: HashSet<ObjectId>,
    value_sets: HashSet<ValueSetId>,
    made_tables: Made,
    made_functions: Made,
    made_objects: Made,
    made_value_sets: Made,
    instances: HashMap<Span, Vec<&'p Instance>>,
    out: &'p mut Vec<Diagnostic>,
}

pub(crate) fn lint(syntax: &ast::Program, program: &TypedProgram, out: &mut Vec<Diagnostic>) {
    let mut used = Used {
        program,
        tables: HashSet::new(),
        functions: HashSet::new(),
        objects: HashSet::new(),
        value_sets: HashSet::new(),
        made_tables: Made::new(),
        made_functions: Made::new(),
        made_objects: Made::new(),
        made_value_sets: Made::new(),
        instances: HashMap::new(),
        out,
    };
    used.collect();
    // Include files may declare more than the program needs.
    let file = program.main.span.file;
    for d in &syntax.decls {
        used.decl(d, d.span.file == file);
    }
}

impl<'p> Used<'p> {
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
        let mut measuring: HashSet<ObjectId> = HashSet::new();
        for table in &program.tables {
            self.functions.extend(table.actions.iter().map(|a| a.action.function));
            self.functions.insert(table.default_action.function);
            for (_, property) in &table.properties {
                if let Property::Object(id) = property {
                    measuring.insert(*id);
                }
            }
        }
        for (i, o) in program.objects.iter().enumerate() {
            let id = ObjectId(i as u32);
            // A register action's register, for example.
            self.objects.extend(o.args.iter().filter_map(|arg| match arg.kind {
                ExprKind::Object(part) => Some(part),
                _ => None,
            }));
            let direct = matches!(o.type_name.as_str(), "direct_counter" | "direct_meter");
            if direct && self.objects.contains(&id) && !measuring.contains(&id) {
                let property = if o.type_name == "direct_counter" { "counters" } else { "meters" };
                self.out.push(
                    Diagnostic::warning("W0031", format!("`{}` belongs to no table", o.name))
                        .at(o.span, "calls of its methods have no effect")
                        .help(format!("name it in a table: `{property} = ...;`")),
                );
            }
        }
        self.objects.extend(measuring);
        // Such as the register of a register action.
        let parts = program.objects.iter().flat_map(|o| &o.args).filter_map(|arg| match arg.kind {
            ExprKind::Object(id) => Some(id),
            _ => None,
        });
        self.objects.extend(parts);
        self.objects.extend(program.main.objects.iter().map(|(_, id)| *id));
        self.made_tables = made(&program.tables, |t| t.span, |i| self.tables.contains(&TableId(i)));
        self.made_functions = made(&program.functions, |f| f.span, |i| self.functions.contains(&FunctionId(i)));
        self.made_objects = made(&program.objects, |o| o.span, |i| self.objects.contains(&ObjectId(i)));
        self.made_value_sets = made(&program.value_sets, |v| v.span, |i| self.value_sets.contains(&ValueSetId(i)));
        for instance in &program.instances {
            self.instances.entry(instance.span).or_default().push(instance);
        }
    }

    fn unused(&mut self, what: &str, name: &Ident, label: &str) {
        let d = Diagnostic::warning("W0025", format!("{what} `{name}` is never used")).at(name.span, label);
        self.out.push(d.help(format!("remove it, or write `@noWarn(\"unused\")` before {what} `{name}`")));
    }

    /// `complain`: whether to warn if this declaration itself is unused.
    fn decl(&mut self, d: &Decl, complain: bool) {
        let instances = |name: &Ident| self.instances.get(&name.span).cloned().unwrap_or_default();
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
                            .at(s.name.span, "no path from `start` leads here"),
                    );
                }
                p.locals.iter().for_each(|d| self.decl(d, true));
            }
            DeclKind::Action(a) if complain && Self::lonely(&self.made_functions, d.span) => {
                self.unused("action", &a.name, "neither called nor in a table's list");
            }
            DeclKind::Function(f)
                if complain && f.sig.type_params.is_empty() && Self::lonely(&self.made_functions, d.span) =>
            {
                self.unused("function", &f.sig.name, "never called");
            }
            DeclKind::Instance(o) if complain && Self::lonely(&self.made_objects, d.span) => {
                let ty = match &o.ty.kind {
                    ast::TypeKind::Named(path) => path.name.to_string(),
                    ast::TypeKind::Specialized { path, .. } => path.name.to_string(),
                    _ => "object".to_string(),
                };
                self.unused(&ty, &o.name, "declared here");
            }
            DeclKind::ValueSet(v) if Self::lonely(&self.made_value_sets, d.span) => {
                self.unused("value set", &v.name, "no `select` looks at it");
            }
            DeclKind::Table(t) if Self::lonely(&self.made_tables, t.name.span) => {
                self.out.push(
                    Diagnostic::warning("W0024", format!("table `{}` is never applied", t.name))
                        .at(t.name.span, "no packet looks into it")
                        .help(format!("call `{}.apply()`, or remove it", t.name)),
                );
            }
            _ => {}
        }
    }

    /// Whether the declaration at `span` has instances, none of which is used.
    fn lonely(made: &Made, span: Span) -> bool {
        made.get(&span) == Some(&false)
    }
}

/// Instances of declarations, by span: whether they are used.
fn made<T>(list: &[T], place: impl Fn(&T) -> Span, used: impl Fn(u32) -> bool) -> Made {
    let mut made = Made::new();
    for (i, t) in list.iter().enumerate() {
        *made.entry(place(t)).or_default() |= used(i as u32);
    }
    made
}

/// The reachable states of a parser.
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
