//! Finds what a body reads and writes outside itself, and how often instances are applied. This decides whether a
//! parameter can be an alias of its argument instead of a copy.

use std::collections::{HashMap, HashSet};

use hopwright_sema::hir;

use crate::storage::{Loc, Place};
use crate::{Binding, Lowering};
use hopwright_ir::SlotId;

/// Lvalues and values of the enclosing control that an action reads or writes.
#[derive(Default)]
pub(crate) struct Outside<'p> {
    pub reads: Vec<&'p hir::Expr>,
    pub writes: Vec<&'p hir::Expr>,
}

/// Collects the longest paths that an expression reads, and the calls it makes.
fn scan<'p>(e: &'p hir::Expr, paths: &mut Vec<&'p hir::Expr>, calls: &mut Vec<&'p hir::Call>) {
    if is_path(e) {
        paths.push(e);
        return scan_indices(e, paths, calls);
    }
    if let hir::ExprKind::Call(call) = &e.kind {
        calls.push(call);
    }
    e.parts().into_iter().for_each(|part| scan(part, paths, calls));
}

/// Collects what the indices inside a path read.
fn scan_indices<'p>(e: &'p hir::Expr, paths: &mut Vec<&'p hir::Expr>, calls: &mut Vec<&'p hir::Call>) {
    if let hir::ExprKind::Index(_, index) = &e.kind {
        scan(index, paths, calls);
    }
    match e.base() {
        Some(inner) => scan_indices(inner, paths, calls),
        None if matches!(e.kind, hir::ExprKind::Var(_)) => {}
        None => scan(e, paths, calls),
    }
}

/// Calls `f` for an expression and all expressions in it.
fn exprs<'p>(e: &'p hir::Expr, f: &mut impl FnMut(&'p hir::Expr)) {
    f(e);
    e.parts().into_iter().for_each(|part| exprs(part, f));
}

/// Calls `f` for all statements, outer ones before inner ones.
fn stmts<'p>(list: &'p [hir::Stmt], f: &mut impl FnMut(&'p hir::Stmt)) {
    for stmt in list {
        f(stmt);
        stmt.bodies().into_iter().for_each(|body| stmts(body, f));
    }
}

/// Returns the expressions that a statement itself evaluates, and the lvalue it writes.
fn stmt_exprs(stmt: &hir::Stmt) -> (Vec<&hir::Expr>, Option<&hir::Expr>) {
    match &stmt.kind {
        hir::StmtKind::Declare(_, value) => (value.iter().collect(), None),
        hir::StmtKind::Assign(left, right) => (vec![right], Some(left)),
        hir::StmtKind::If(e, ..) | hir::StmtKind::SwitchValue(e, _) | hir::StmtKind::For { cond: e, .. } => {
            (vec![e], None)
        }
        hir::StmtKind::ForIn { over: hir::ForRange::Range(a, b), .. } => (vec![a, b], None),
        hir::StmtKind::ForIn { over: hir::ForRange::Elements(e), .. } => (vec![e], None),
        hir::StmtKind::Return(value) => (value.iter().collect(), None),
        _ => (Vec::new(), None),
    }
}

impl<'p> Lowering<'p> {
    /// Finds all applications of instances in the program.
    pub(crate) fn count_applications(&mut self) {
        let program = self.program;
        let mut found: HashMap<hir::InstanceId, Vec<&'p hir::Call>> = HashMap::new();
        let mut see = |stmt: &'p hir::Stmt| {
            if let hir::StmtKind::Call(call) = &stmt.kind
                && let hir::Callee::Instance(id) = call.callee
            {
                found.entry(id).or_default().push(call);
            }
        };
        for instance in &program.instances {
            stmts(&instance.locals, &mut see);
            match &instance.body {
                hir::InstanceBody::Control(body) => stmts(body, &mut see),
                hir::InstanceBody::Parser(states) => states.iter().for_each(|s| stmts(&s.body, &mut see)),
            }
        }
        self.applications = found;
    }

    /// Returns whether calls of the function may execute `exit`.
    pub(crate) fn may_exit(&self, function: hir::FunctionId) -> bool {
        self.find_exit(function, &mut HashSet::new())
    }

    /// `seen` are the functions visited so far. Without it, the work would double with every level of calls.
    fn find_exit(&self, function: hir::FunctionId, seen: &mut HashSet<hir::FunctionId>) -> bool {
        if !seen.insert(function) {
            return false;
        }
        let mut found = false;
        let mut calls = Vec::new();
        stmts(&self.program[function].body, &mut |stmt| match &stmt.kind {
            hir::StmtKind::Exit => found = true,
            hir::StmtKind::Call(call) => {
                if let hir::Callee::Function(f) = call.callee {
                    calls.push(f);
                }
            }
            _ => {}
        });
        found || calls.into_iter().any(|f| self.find_exit(f, seen))
    }

    /// Returns what an action reads and writes of the enclosing control. Functions have no enclosing control.
    pub(crate) fn outside(&self, function: hir::FunctionId) -> Outside<'p> {
        let mut outside = Outside::default();
        let mut own = HashSet::new();
        self.collect_outside(function, &mut HashSet::new(), &mut own, &mut outside);
        let is_own = |e: &hir::Expr| root(e).is_some_and(|v| own.contains(&v));
        outside.reads.retain(|e| !is_own(e));
        outside.writes.retain(|e| !is_own(e));
        outside
    }

    fn collect_outside(
        &self,
        id: hir::FunctionId,
        seen: &mut HashSet<hir::FunctionId>,
        own: &mut HashSet<hir::VarId>,
        outside: &mut Outside<'p>,
    ) {
        let function = &self.program[id];
        if !function.is_action || !seen.insert(id) {
            return;
        }
        own.extend(function.params.iter().map(|p| p.var));
        let mut callees = Vec::new();
        stmts(&function.body, &mut |stmt| {
            match &stmt.kind {
                hir::StmtKind::Declare(var, _) | hir::StmtKind::ForIn { var, .. } => {
                    own.insert(*var);
                }
                _ => {}
            }
            let (values, written) = stmt_exprs(stmt);
            let mut calls = Vec::new();
            if let Some(left) = written {
                outside.writes.push(left);
                scan_indices(left, &mut outside.reads, &mut calls);
            }
            for value in values {
                scan(value, &mut outside.reads, &mut calls);
            }
            if let hir::StmtKind::Call(call) = &stmt.kind {
                calls.push(call);
                call.parts().for_each(|part| scan(part, &mut outside.reads, &mut calls));
            }
            for call in calls {
                if let hir::Callee::Builtin(receiver, method) = &call.callee
                    && method != "isValid"
                {
                    outside.writes.push(receiver);
                }
                if let hir::Callee::Function(f) = call.callee {
                    callees.push(f);
                }
                for arg in &call.args {
                    if matches!(arg.direction, hir::Direction::Out | hir::Direction::InOut) {
                        outside.writes.extend(&arg.value);
                    }
                }
            }
        });
        for callee in callees {
            self.collect_outside(callee, seen, own, outside);
        }
    }

    /// Collects every slot that an lvalue may denote; none if it has no storage.
    pub(crate) fn path_slots(&self, e: &hir::Expr, out: &mut Vec<SlotId>) {
        let mut locs = Vec::new();
        self.path_locs(e, &mut locs);
        for loc in locs {
            self.assigned_slots(&loc, out);
        }
    }

    /// Collects every slot that an assignment to a location may change: for a member of a header union, those of the whole
    /// union.
    pub(crate) fn assigned_slots(&self, loc: &Loc, out: &mut Vec<SlotId>) {
        match loc {
            Loc::Place(Place::Header(h)) if self.headers[h.index()].union.is_some() => {
                self.headers[h.index()].union.iter().for_each(|u| self.slots_in(&Place::Union(*u), out));
            }
            Loc::Place(place) => self.slots_in(place, out),
            Loc::Select { options, .. } => {
                self.loc_slots(loc, out);
                options.iter().for_each(|o| self.assigned_slots(o, out));
            }
        }
    }

    /// Whether evaluating an expression may change one of the slots.
    pub(crate) fn may_change(&self, e: &hir::Expr, slots: &HashSet<SlotId>) -> bool {
        let mut changed = Vec::new();
        let mut anything = false;
        exprs(e, &mut |inner| match &inner.kind {
            hir::ExprKind::TableHit(..) => anything = true,
            hir::ExprKind::Call(call) => {
                match &call.callee {
                    hir::Callee::Builtin(receiver, method) if method != "isValid" => {
                        self.path_slots(receiver, &mut changed)
                    }
                    // A method that the program implements sees what is declared around the object.
                    hir::Callee::Method(object, _) => anything |= !self.program[*object].methods.is_empty(),
                    hir::Callee::ParameterMethod(..) => anything = true,
                    _ => {}
                }
                for arg in &call.args {
                    if matches!(arg.direction, hir::Direction::Out | hir::Direction::InOut) {
                        arg.value.iter().for_each(|target| self.path_slots(target, &mut changed));
                    }
                }
            }
            _ => {}
        });
        anything || changed.iter().any(|slot| slots.contains(slot))
    }

    fn path_locs(&self, e: &hir::Expr, out: &mut Vec<Loc>) {
        match &e.kind {
            hir::ExprKind::Var(var) => match self.env.get(var) {
                Some(Binding::Loc(loc)) => out.push(loc.clone()),
                Some(Binding::Value(value)) => {
                    let mut slots = Vec::new();
                    self.value_slots(value, &mut slots);
                    out.extend(slots.into_iter().map(|s| Loc::Place(Place::Scalar(s))));
                }
                Some(Binding::Object(_)) | None => {}
            },
            hir::ExprKind::Field(inner, index) => {
                let mut locs = Vec::new();
                self.path_locs(inner, &mut locs);
                for loc in locs {
                    out.push(self.loc_field(&loc, *index).unwrap_or(loc));
                }
            }
            _ => e.base().into_iter().for_each(|inner| self.path_locs(inner, out)),
        }
    }
}

fn is_path(e: &hir::Expr) -> bool {
    matches!(
        e.kind,
        hir::ExprKind::Var(_)
            | hir::ExprKind::Field(..)
            | hir::ExprKind::Index(..)
            | hir::ExprKind::StackNext(_)
            | hir::ExprKind::StackLast(_)
            | hir::ExprKind::StackLastIndex(_)
    )
}

/// Returns the variable that contains an lvalue.
fn root(e: &hir::Expr) -> Option<hir::VarId> {
    match &e.kind {
        hir::ExprKind::Var(var) => Some(*var),
        _ => root(e.base()?),
    }
}

/// Returns whether two lvalues have the same syntax and only constant indices.
pub(crate) fn same_path(a: &hir::Expr, b: &hir::Expr) -> bool {
    match (&a.kind, &b.kind) {
        (hir::ExprKind::Var(a), hir::ExprKind::Var(b)) => a == b,
        (hir::ExprKind::Field(a, i), hir::ExprKind::Field(b, j)) => i == j && same_path(a, b),
        (hir::ExprKind::Index(a, i), hir::ExprKind::Index(b, j)) => match (&i.kind, &j.kind) {
            (hir::ExprKind::Int(i), hir::ExprKind::Int(j)) => i == j && same_path(a, b),
            _ => false,
        },
        _ => false,
    }
}
