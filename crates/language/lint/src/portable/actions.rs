//! Conditions in actions, and registers that a packet reaches several times.

use std::collections::BTreeMap;

use hopwright_sema::hir::{
    Call, Callee, Expr, ExprKind, Function, FunctionId, InstanceBody, ObjectId, Stmt, StmtKind, TableId, VarId,
};
use hopwright_source::Span;

use super::{Lint, Target};
use crate::visit::{self, Seen};

impl Lint<'_, '_> {
    pub(super) fn actions(&mut self) {
        let program = self.program;
        for function in program.functions.iter().filter(|f| f.is_action) {
            self.conditions(function);
        }
        if self.target == Target::Tofino {
            for instance in &program.instances {
                if let InstanceBody::Control(body) = &instance.body {
                    self.registers(body);
                }
            }
        }
    }

    fn conditions(&mut self, action: &Function) {
        let mut found: Vec<(&Expr, Span, bool)> = Vec::new();
        visit::stmts(&action.body, &mut |seen| match seen {
            Seen::Stmt(Stmt { kind: StmtKind::If(condition, then, otherwise), span }) => {
                let calls = [then, otherwise].into_iter().flatten().any(|s| !matches!(s.kind, StmtKind::Assign(..)));
                found.push((condition, *span, calls));
            }
            Seen::Expr(Expr { kind: ExprKind::Mux(condition, ..), span, .. }) => found.push((condition, *span, false)),
            _ => {}
        });
        let data: Vec<VarId> = action.params.iter().map(|p| p.var).collect();
        for (condition, span, calls) in found {
            let instead = "test before the table is applied, or make the condition a key of the table";
            match self.target {
                Target::Tofino if !compares_data(condition, &data) => {
                    let why = "an action may compare its data with a value, and nothing else";
                    self.say("W0047", span, "a condition in an action", why, instead);
                }
                Target::Bmv2 if calls => {
                    let why = "p4c makes conditional assignments of conditions in actions, and of nothing else in them";
                    self.say(
                        "W0047",
                        span,
                        "a condition in an action that decides about more than assignments",
                        why,
                        instead,
                    );
                }
                _ => {}
            }
        }
    }

    /// Registers that are reached twice on one path through a control.
    fn registers(&mut self, body: &[Stmt]) {
        let mut paths = Paths { lint: self, depth: 0 };
        let flow = paths.block(body);
        let mut longest = flow.ended;
        flow.goes_on.iter().for_each(|counts| raise(&mut longest, counts));
        for (register, spans) in longest {
            let Some(second) = spans.get(1) else { continue };
            let name = &self.program[register].name;
            let why = "a packet passes the stage of a register once";
            let instead = "one `RegisterAction` that reads, computes and writes";
            self.say(
                "W0046",
                *second,
                &format!("a packet reaches the register `{name}` {} times", spans.len()),
                why,
                instead,
            );
        }
    }
}

/// Whether a condition compares action data with a value.
fn compares_data(condition: &Expr, data: &[VarId]) -> bool {
    let is_data = |e: &Expr| matches!(e.kind, ExprKind::Var(var) if data.contains(&var));
    match &condition.kind {
        ExprKind::Binary(_, a, b) => is_data(a) || is_data(b),
        _ => is_data(condition),
    }
}

/// By register, the places where a path reaches it.
type Counts = BTreeMap<ObjectId, Vec<Span>>;

/// Takes the longer list for each register.
fn raise(longest: &mut Counts, other: &Counts) {
    for (register, spans) in other {
        let known = longest.entry(*register).or_default();
        if known.len() < spans.len() {
            known.clone_from(spans);
        }
    }
}

/// What paths through statements reach: those that go on behind them, and those that end the control.
struct Flow {
    goes_on: Option<Counts>,
    ended: Counts,
}

struct Paths<'a, 'p, 'o> {
    lint: &'a Lint<'p, 'o>,
    depth: usize,
}

/// Calls in calls that are followed.
const DEPTH: usize = 16;

impl<'p> Paths<'_, 'p, '_> {
    fn block(&mut self, body: &'p [Stmt]) -> Flow {
        let (mut here, mut ended) = (Counts::default(), Counts::default());
        for stmt in body {
            let flow = self.statement(stmt);
            let mut stopped = here.clone();
            append(&mut stopped, &flow.ended);
            if !flow.ended.is_empty() || flow.goes_on.is_none() {
                raise(&mut ended, &stopped);
            }
            match flow.goes_on {
                Some(more) => append(&mut here, &more),
                None => return Flow { goes_on: None, ended },
            }
        }
        Flow { goes_on: Some(here), ended }
    }

    fn statement(&mut self, stmt: &'p Stmt) -> Flow {
        match &stmt.kind {
            StmtKind::If(condition, then, otherwise) => {
                let tested = self.expressions(condition);
                self.either(tested, [then.as_slice(), otherwise.as_slice()])
            }
            StmtKind::SwitchTable(table, cases) => {
                let applied = self.table(*table);
                self.either(applied, cases.iter().map(|(_, body)| body.as_slice()).chain([&[][..]]))
            }
            StmtKind::SwitchValue(value, cases) => {
                let tested = self.expressions(value);
                self.either(tested, cases.iter().map(|(_, body)| body.as_slice()).chain([&[][..]]))
            }
            StmtKind::Block(body) => self.block(body),
            StmtKind::Return(_) | StmtKind::Exit => Flow { goes_on: None, ended: Counts::default() },
            _ => {
                let mut counts = Counts::default();
                let mut calls: Vec<&Call> = Vec::new();
                let mut hits: Vec<TableId> = Vec::new();
                visit::stmts(std::slice::from_ref(stmt), &mut |seen| match seen {
                    Seen::Call(call) => calls.push(call),
                    Seen::Expr(Expr { kind: ExprKind::TableHit(table, _), .. }) => hits.push(*table),
                    _ => {}
                });
                calls.into_iter().for_each(|call| append(&mut counts, &self.call(call)));
                hits.into_iter().for_each(|table| append(&mut counts, &self.table(table)));
                Flow { goes_on: Some(counts), ended: Counts::default() }
            }
        }
    }

    /// One of several blocks, behind what all of them have in front.
    fn either(&mut self, before: Counts, blocks: impl IntoIterator<Item = &'p [Stmt]>) -> Flow {
        let (mut goes_on, mut ended) = (None, Counts::default());
        for block in blocks {
            let flow = self.block(block);
            raise(&mut ended, &flow.ended);
            if let Some(counts) = flow.goes_on {
                raise(goes_on.get_or_insert_with(Counts::default), &counts);
            }
        }
        let behind = |counts: Counts| {
            let mut all = before.clone();
            append(&mut all, &counts);
            all
        };
        Flow { goes_on: goes_on.map(behind), ended: behind(ended) }
    }

    fn expressions(&mut self, e: &'p Expr) -> Counts {
        let mut counts = Counts::default();
        let (mut calls, mut hits) = (Vec::new(), Vec::new());
        visit::expr(e, &mut |seen| match seen {
            Seen::Call(call) => calls.push(call),
            Seen::Expr(Expr { kind: ExprKind::TableHit(table, _), .. }) => hits.push(*table),
            _ => {}
        });
        calls.into_iter().for_each(|call| append(&mut counts, &self.call(call)));
        hits.into_iter().for_each(|table| append(&mut counts, &self.table(table)));
        counts
    }

    fn call(&mut self, call: &'p Call) -> Counts {
        let program = self.lint.program;
        match &call.callee {
            Callee::Table(table) => self.table(*table),
            Callee::Function(function) => self.function(*function),
            Callee::Instance(instance) => match &program[*instance].body {
                InstanceBody::Control(body) => self.nested(body),
                InstanceBody::Parser(_) => Counts::default(),
            },
            Callee::Method(object, method) => {
                let register = match (program[*object].type_name.as_str(), method.as_str()) {
                    ("register" | "Register", "read" | "write") => Some(*object),
                    (name, method) if name.starts_with("RegisterAction") && method.starts_with("execute") => {
                        program[*object].args.first().and_then(|register| match register.kind {
                            ExprKind::Object(register) => Some(register),
                            _ => None,
                        })
                    }
                    _ => None,
                };
                register.map(|register| Counts::from([(register, vec![call.span])])).unwrap_or_default()
            }
            _ => Counts::default(),
        }
    }

    fn function(&mut self, function: FunctionId) -> Counts {
        self.nested(&self.lint.program[function].body)
    }

    /// What one of a table's actions reaches.
    fn table(&mut self, table: TableId) -> Counts {
        let program = self.lint.program;
        let table = &program[table];
        let mut longest = Counts::default();
        for action in table.actions.iter().map(|a| &a.action).chain([&table.default_action]) {
            let counts = self.function(action.function);
            raise(&mut longest, &counts);
        }
        longest
    }

    fn nested(&mut self, body: &'p [Stmt]) -> Counts {
        if self.depth == DEPTH {
            return Counts::default();
        }
        self.depth += 1;
        let Flow { goes_on, mut ended } = self.block(body);
        self.depth -= 1;
        goes_on.iter().for_each(|counts| raise(&mut ended, counts));
        ended
    }
}

fn append(counts: &mut Counts, more: &Counts) {
    for (register, spans) in more {
        counts.entry(*register).or_default().extend(spans);
    }
}
