//! Statements: how they change the data-flow state, and where control goes.

use std::collections::HashMap;

use hopwright_sema::hir::*;

use super::place::{PlaceId, Root, Step};
use super::state::{State, tidy};
use super::{Flow, Start};
use crate::visit::{self, Seen};

/// The paths that leave a statement, by where they continue.
#[derive(Default)]
pub(super) struct Successors {
    /// To the next statement.
    pub next: Vec<State>,
    /// Out of the body, by `return`.
    pub left: Vec<State>,
    /// Out of the loop.
    pub broken: Vec<State>,
    /// To the loop's next turn.
    pub continued: Vec<State>,
}

impl Successors {
    fn add(&mut self, other: Successors) {
        self.next.extend(other.next);
        self.jumps(other.left, other.broken, other.continued);
    }

    fn jumps(&mut self, left: Vec<State>, broken: Vec<State>, continued: Vec<State>) {
        self.left.extend(left);
        self.broken.extend(broken);
        self.continued.extend(continued);
    }

    fn each(&mut self, mut f: impl FnMut(&mut State)) {
        for list in [&mut self.next, &mut self.left, &mut self.broken, &mut self.continued] {
            list.iter_mut().for_each(&mut f);
        }
    }
}

impl<'p> Flow<'p> {
    /// Visits statements with a scope of their own.
    pub(super) fn block(&mut self, states: Vec<State>, body: &'p [Stmt]) -> Successors {
        let mut paths = self.stmts(states, body);
        for stmt in body {
            if let StmtKind::Declare(var, _) = &stmt.kind {
                paths.each(|s| self.gone(s, *var));
            }
        }
        paths
    }

    pub(super) fn stmts(&mut self, states: Vec<State>, body: &'p [Stmt]) -> Successors {
        let mut paths = Successors { next: states, ..Successors::default() };
        for stmt in body {
            let states = tidy(self.paths, std::mem::take(&mut paths.next));
            if states.is_empty() || self.gave_up {
                break;
            }
            for s in states {
                let after = self.stmt(s, stmt);
                paths.add(after);
            }
        }
        paths.next = tidy(self.paths, paths.next);
        paths
    }

    fn stmt(&mut self, s: State, stmt: &'p Stmt) -> Successors {
        if !self.down() {
            self.up();
            return Successors { next: vec![s], ..Successors::default() };
        }
        let here = std::mem::replace(&mut self.here, stmt.span);
        let paths = self.stmt_inner(s, stmt);
        self.here = here;
        self.up();
        paths
    }

    fn stmt_inner(&mut self, s: State, stmt: &'p Stmt) -> Successors {
        let next = |next: Vec<State>| Successors { next, ..Successors::default() };
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                let place = self.places.var(*var);
                match init {
                    Some(e) => next(self.assign(s, Some(place), e)),
                    None => {
                        let mut s = s;
                        self.start(&mut s, place, Start::Unset);
                        next(vec![s])
                    }
                }
            }
            StmtKind::Assign(target, value) => next(self.assign_to(s, target, value)),
            StmtKind::Call(call) => next(self.call(s, call).into_iter().map(|(s, _)| s).collect()),
            StmtKind::If(c, a, b) => {
                let (yes, no) = self.cond(s, c);
                let mut paths = self.block(yes, a);
                let other = self.block(no, b);
                paths.add(other);
                paths
            }
            StmtKind::SwitchTable(table, cases) => self.switch_table(s, *table, cases),
            StmtKind::SwitchValue(e, cases) => self.switch_value(s, e, cases),
            StmtKind::Block(body) => self.block(vec![s], body),
            StmtKind::For { init, cond, update, body } => self.for_loop(s, (init, cond, update), body),
            StmtKind::ForIn { var, over, body } => {
                let states = match over {
                    ForRange::Range(a, b) => {
                        let states = self.each(vec![s], a);
                        self.each(states, b)
                    }
                    ForRange::Elements(e) => self.each(vec![s], e),
                };
                let mut paths = Successors::default();
                for mut s in states {
                    self.forget_loop(&mut s, body.iter());
                    let place = self.places.var(*var);
                    self.forget(&mut s, place);
                    paths.next.push(s.clone());
                    let turn = self.block(vec![s], body);
                    paths.left.extend(turn.left);
                    paths.next.extend(turn.broken);
                }
                paths.each(|s| self.gone(s, *var));
                paths
            }
            StmtKind::Break => Successors { broken: vec![s], ..Successors::default() },
            StmtKind::Continue => Successors { continued: vec![s], ..Successors::default() },
            StmtKind::Return(None) => Successors { left: vec![s], ..Successors::default() },
            StmtKind::Return(Some(e)) => {
                // The enclosing function's call pushed the place of its result.
                let left = match self.results.last().copied() {
                    Some(place) => self.assign(s, Some(place), e),
                    None => self.each(vec![s], e),
                };
                Successors { left, ..Successors::default() }
            }
            StmtKind::Exit => {
                self.exited.push(s);
                Successors::default()
            }
        }
    }

    fn switch_table(&mut self, s: State, table: TableId, cases: &'p [(Vec<FunctionId>, Vec<Stmt>)]) -> Successors {
        let mut by_case: Vec<Vec<State>> = vec![Vec::new(); cases.len()];
        let mut paths = Successors::default();
        let default = cases.iter().position(|(labels, _)| labels.is_empty());
        let case_of: HashMap<FunctionId, usize> =
            cases.iter().enumerate().flat_map(|(i, (labels, _))| labels.iter().map(move |f| (*f, i))).collect();
        for ran in self.apply(s, table) {
            match case_of.get(&ran.action).copied().or(default) {
                Some(i) => by_case[i].push(ran.state),
                None => paths.next.push(ran.state),
            }
        }
        for (states, (_, body)) in by_case.into_iter().zip(cases) {
            let after = self.block(states, body);
            paths.add(after);
        }
        paths
    }

    fn for_loop(
        &mut self,
        s: State,
        (init, cond, update): (&'p [Stmt], &'p Expr, &'p [Stmt]),
        body: &'p [Stmt],
    ) -> Successors {
        let mut paths = self.stmts(vec![s], init);
        let states = std::mem::take(&mut paths.next);
        for mut s in states {
            self.forget_loop(&mut s, body.iter().chain(update));
            let (yes, no) = self.cond(s, cond);
            let turn = self.block(yes, body);
            let again = tidy(self.paths, [turn.next, turn.continued].concat());
            let update = self.stmts(again, update);
            paths.left.extend(turn.left.into_iter().chain(update.left));
            paths.next.extend(no.into_iter().chain(turn.broken));
        }
        for stmt in init {
            if let StmtKind::Declare(var, _) = &stmt.kind {
                paths.each(|s| self.gone(s, *var));
            }
        }
        paths
    }

    fn switch_value(&mut self, s: State, e: &'p Expr, cases: &'p [(Vec<Expr>, Vec<Stmt>)]) -> Successors {
        let mut by_case: Vec<Vec<State>> = vec![Vec::new(); cases.len()];
        let default = cases.iter().position(|(labels, _)| labels.is_empty());
        let mut paths = Successors::default();
        for (s, value) in self.eval(s, e) {
            let mut rest = vec![s];
            for (i, (labels, _)) in cases.iter().enumerate() {
                for label in labels {
                    let mut others = Vec::new();
                    for s in rest {
                        for (s, known) in self.eval(s, label) {
                            let (same, other) = self.equal(s, (e, value), (label, known));
                            by_case[i].extend(same);
                            others.extend(other);
                        }
                    }
                    rest = others;
                }
            }
            match default {
                Some(i) => by_case[i].extend(rest),
                None => paths.next.extend(rest),
            }
        }
        for (states, (_, body)) in by_case.into_iter().zip(cases) {
            let after = self.block(states, body);
            paths.add(after);
        }
        paths
    }

    /// Drops the facts about what a loop may change.
    fn forget_loop(&mut self, s: &mut State, body: impl Iterator<Item = &'p Stmt>) {
        let mut changed: Vec<&Expr> = Vec::new();
        let mut anything = false;
        for stmt in body {
            visit::stmts(std::slice::from_ref(stmt), &mut |seen| match seen {
                Seen::Stmt(Stmt { kind: StmtKind::Assign(target, _), .. }) => changed.push(target),
                Seen::Stmt(Stmt { kind: StmtKind::SwitchTable(..), .. })
                | Seen::Expr(Expr { kind: ExprKind::TableHit(..), .. }) => anything = true,
                Seen::Call(call) => match &call.callee {
                    Callee::Builtin(receiver, name) if name != "isValid" => changed.push(receiver),
                    Callee::Builtin(..) => {}
                    Callee::Function(f) if self.program[*f].is_action => anything = true,
                    Callee::Instance(_) | Callee::Table(_) => anything = true,
                    _ => {
                        let out = call.args.iter().filter(|a| matches!(a.direction, Direction::Out | Direction::InOut));
                        changed.extend(out.filter_map(|a| a.value.as_ref()));
                    }
                },
                _ => {}
            });
        }
        if anything {
            s.forget_all();
            return;
        }
        for target in changed {
            if let Some(place) = self.root_of(target) {
                self.forget(s, place);
            }
        }
    }

    /// The smallest place that contains an l-value for all values of its indexes.
    fn root_of(&mut self, e: &Expr) -> Option<PlaceId> {
        match &e.kind {
            ExprKind::Var(v) => Some(self.places.var(*v)),
            ExprKind::Field(base, i) => {
                let whole = !has_index(base);
                let base = self.root_of(base)?;
                if whole { self.places.step(base, Step::Field(*i)) } else { Some(base) }
            }
            _ => self.root_of(e.base()?),
        }
    }

    /// `target = value`.
    fn assign_to(&mut self, s: State, target: &'p Expr, value: &'p Expr) -> Vec<State> {
        let mut out = Vec::new();
        for s in self.indexes(s, target) {
            if let ExprKind::Slice(..) = target.kind {
                // A slice of it: the value becomes unknown.
                for s in self.each(vec![s], value) {
                    let mut s = s;
                    self.written(&mut s, target);
                    out.push(s);
                }
                continue;
            }
            let place = self.place(&s, target);
            if let Some(p) = place
                && let Some(header) = self.places.header_of(p)
            {
                for mut s in self.assign(s, place, value) {
                    self.field_written(&mut s, header, p, target.span);
                    out.push(s);
                }
                continue;
            }
            if place.is_some() {
                out.extend(self.assign(s, place, value));
            } else {
                for mut s in self.assign(s, None, value) {
                    self.written(&mut s, target);
                    out.push(s);
                }
            }
        }
        out
    }

    /// Assigns an unknown value to an l-value.
    pub(super) fn written(&mut self, s: &mut State, target: &Expr) {
        let place = match &target.kind {
            ExprKind::Slice(base, ..) => return self.written(s, base),
            _ => self.place(s, target),
        };
        match place {
            Some(p) => {
                self.forget(s, p);
                if let Some(header) = self.places.header_of(p) {
                    self.field_written(s, header, p, target.span);
                }
            }
            None => {
                if let Some(p) = self.root_of(target) {
                    self.forget(s, p);
                }
            }
        }
    }

    /// Assigns a value of any type to a place.
    pub(super) fn assign(&mut self, s: State, place: Option<PlaceId>, value: &'p Expr) -> Vec<State> {
        let scalar =
            !matches!(value.ty, Type::Struct(_) | Type::Header(_) | Type::Union(_) | Type::Stack(..) | Type::Tuple(_));
        let Some(place) = place else { return self.each(vec![s], value) };
        if scalar {
            let values = self.eval(s, value);
            return values
                .into_iter()
                .map(|(mut s, v)| {
                    self.set_value(&mut s, place, v);
                    s
                })
                .collect();
        }
        match &value.kind {
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) | ExprKind::StackLast(_) => {
                let mut out = Vec::new();
                for mut s in self.indexes(s, value) {
                    match self.place(&s, value) {
                        Some(from) => self.copy(&mut s, from, place),
                        None => self.forget(&mut s, place),
                    }
                    out.push(s);
                }
                out
            }
            ExprKind::Aggregate { members, order } => self.assign_members(s, place, value, members, order),
            ExprKind::Invalid => {
                let mut s = s;
                self.start(&mut s, place, Start::Zero);
                self.invalidate_siblings(&mut s, place);
                vec![s]
            }
            ExprKind::Cast(inner) => self.assign(s, Some(place), inner),
            ExprKind::Mux(c, a, b) => {
                let (yes, no) = self.cond(s, c);
                let mut out = Vec::new();
                for s in yes {
                    out.extend(self.assign(s, Some(place), a));
                }
                for s in no {
                    out.extend(self.assign(s, Some(place), b));
                }
                out
            }
            ExprKind::Call(call) => {
                let mut out = Vec::new();
                for (mut s, result) in self.call(s, call) {
                    match result {
                        Some(from) => {
                            self.copy(&mut s, from, place);
                            self.forget(&mut s, from);
                        }
                        None if matches!(value.ty, Type::Header(_)) => self.set_validity(&mut s, place, true),
                        None => self.forget(&mut s, place),
                    }
                    out.push(s);
                }
                out
            }
            _ => {
                let mut states = self.each(vec![s], value);
                states.iter_mut().for_each(|s| self.forget(s, place));
                states
            }
        }
    }

    fn assign_members(
        &mut self,
        s: State,
        place: PlaceId,
        value: &'p Expr,
        members: &'p [Expr],
        order: &[usize],
    ) -> Vec<State> {
        let root = self.places.root_of(place);
        let mut mixed = matches!(value.ty, Type::Union(_));
        visit::expr(value, &mut |seen| {
            if let Seen::Expr(Expr { kind: ExprKind::Var(v), .. }) = seen {
                mixed |= root == Root::Var(*v);
            }
        });
        if mixed || matches!(value.ty, Type::Header(_)) {
            let mut states = vec![s];
            for i in order {
                states = self.each(states, &members[*i]);
            }
            for s in &mut states {
                if matches!(value.ty, Type::Header(_)) {
                    self.set_validity(s, place, true);
                } else {
                    self.forget(s, place);
                }
            }
            return states;
        }
        let mut s = s;
        self.forget(&mut s, place);
        let mut states = vec![s];
        for i in order {
            let step = match value.ty {
                Type::Stack(..) => Step::Element(*i as u32),
                _ => Step::Field(*i),
            };
            let inner = self.places.step(place, step);
            states = states.into_iter().flat_map(|s| self.assign(s, inner, &members[*i])).collect();
        }
        states
    }
}

fn has_index(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Index(..) | ExprKind::StackNext(_) | ExprKind::StackLast(_) => true,
        ExprKind::Field(base, _) | ExprKind::Slice(base, ..) => has_index(base),
        _ => false,
    }
}
