//! Statements, and local variables and constants.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::context::Body;
use crate::entity::Entity;
use crate::hir::{self, StmtKind};
use crate::types::Ty;
use crate::value::{Place, Typed, Value};

impl<'a> Analyser<'a> {
    /// Statements in a scope of their own.
    pub(crate) fn block(&mut self, block: &'a ast::Block) -> Vec<hir::Stmt> {
        let hashed = ast::find_annotation(&block.annotations, "in_hash").is_some();
        if hashed && !self.out.hash_blocks.contains(&block.span) {
            self.out.hash_blocks.push(block.span);
        }
        self.scoped(|s| s.stmts(&block.stmts))
    }

    pub(crate) fn stmts(&mut self, stmts: &'a [ast::Stmt]) -> Vec<hir::Stmt> {
        let mut out = Vec::new();
        for s in stmts {
            self.stmt(s, &mut out);
        }
        out
    }

    /// One statement as a branch: in a scope of its own.
    fn branch(&mut self, s: &'a ast::Stmt) -> Vec<hir::Stmt> {
        match &s.kind {
            ast::StmtKind::Block(b) => self.block(b),
            _ => self.scoped(|a| {
                let mut out = Vec::new();
                a.stmt(s, &mut out);
                out
            }),
        }
    }

    fn stmt(&mut self, s: &'a ast::Stmt, out: &mut Vec<hir::Stmt>) {
        self.deeper(s.span, |a| a.stmt_inner(s, out));
    }

    fn stmt_inner(&mut self, s: &'a ast::Stmt, out: &mut Vec<hir::Stmt>) {
        let span = s.span;
        let mut push = |kind| out.push(hir::Stmt { kind, span });
        match &s.kind {
            ast::StmtKind::Decl(d) => {
                if let Some(stmt) = self.local(d) {
                    out.push(stmt);
                }
            }
            ast::StmtKind::Assign { target, op, value } => {
                if let Some(kind) = self.assign(target, *op, value, span) {
                    push(kind);
                }
            }
            ast::StmtKind::Call(e) => {
                let t = self.expr(e, None);
                self.call_stmt(t, span, out);
            }
            ast::StmtKind::DirectApply { ty, args } => {
                let t = self.direct_apply(ty, args, span);
                self.call_stmt(t, span, out);
            }
            ast::StmtKind::If { condition, then, otherwise } => {
                let c = self.expr_to(condition, &Ty::Bool);
                let then = self.branch(then);
                let otherwise = otherwise.as_ref().map_or(Vec::new(), |o| self.branch(o));
                push(StmtKind::If(c.hir, then, otherwise));
            }
            ast::StmtKind::Block(b) => {
                let stmts = self.block(b);
                push(StmtKind::Block(stmts));
            }
            ast::StmtKind::Empty => {}
            ast::StmtKind::Return(value) => {
                if let Some(kind) = self.return_stmt(value.as_ref(), span) {
                    push(kind);
                }
            }
            ast::StmtKind::Exit => {
                if matches!(self.context.body, Body::Action | Body::Control) {
                    push(StmtKind::Exit);
                } else {
                    self.not_here(span, "`exit`", "only controls and actions can exit");
                }
            }
            ast::StmtKind::Break | ast::StmtKind::Continue => {
                if self.context.loops == 0 {
                    self.not_here(span, "this", "not in a loop");
                } else if matches!(s.kind, ast::StmtKind::Break) {
                    push(StmtKind::Break);
                } else {
                    push(StmtKind::Continue);
                }
            }
            ast::StmtKind::Switch { subject, cases } => {
                if let Some(kind) = self.switch(subject, cases, span) {
                    push(kind);
                }
            }
            ast::StmtKind::For { init, condition, update, body, .. } => {
                let kind = self.scoped(|a| {
                    let init = a.stmts(init);
                    let cond = a.expr_to(condition, &Ty::Bool).hir;
                    let update = a.stmts(update);
                    a.context.loops += 1;
                    let body = a.branch(body);
                    a.context.loops -= 1;
                    StmtKind::For { init, cond, update, body }
                });
                push(kind);
            }
            ast::StmtKind::ForIn { var, collection, body, .. } => {
                let kind = self.scoped(|a| a.for_in(var, collection, body));
                if let Some(kind) = kind {
                    push(kind);
                }
            }
        }
    }

    fn not_here(&mut self, span: Span, what: &str, label: &str) {
        self.error("E0310", span, format!("{what} is not possible here"), label);
    }

    fn call_stmt(&mut self, t: Typed, span: Span, out: &mut Vec<hir::Stmt>) {
        if t.is_err() {
            return;
        }
        match t.hir.kind {
            hir::ExprKind::Call(call) => out.push(hir::Stmt { kind: StmtKind::Call(*call), span }),
            hir::ExprKind::TableHit(table, _) => out.push(hir::Stmt {
                kind: StmtKind::Call(hir::Call {
                    callee: hir::Callee::Table(table),
                    type_args: Vec::new(),
                    args: Vec::new(),
                    no_side_effects: false,
                    span,
                }),
                span,
            }),
            _ => {
                if matches!(t.ty, Ty::Extern(..) | Ty::Block(..) | Ty::Package(..)) {
                    self.not_here(span, "an instance", "it would have no name");
                }
            }
        }
    }

    fn assign(
        &mut self,
        target: &'a ast::Expr,
        op: Option<ast::BinaryOp>,
        value: &'a ast::Expr,
        span: Span,
    ) -> Option<StmtKind> {
        let t = self.expr(target, None);
        let hint = Some(&t.ty).filter(|ty| !ty.is_err()).cloned();
        let shift = matches!(op, Some(ast::BinaryOp::Shl | ast::BinaryOp::Shr));
        let v = self.expr(value, hint.as_ref().filter(|_| !shift));
        if t.is_err() || v.is_err() {
            return None;
        }
        if t.place == Place::RunTimeBits {
            return self.assign_bits(t, op, v, span);
        }
        if !self.check_writable(&t) {
            return None;
        }
        let ty = t.ty.clone();
        let mut t = t;
        let mut first = Vec::new();
        let v = match op {
            None => v,
            Some(op) => {
                if t.effects {
                    // The place is read and written, but its indices are evaluated once.
                    self.hoist_indexes(&mut t.hir, &mut first);
                    t.effects = false;
                }
                let mut current = t.clone();
                current.place = Place::None;
                self.binary_typed(op, current, v, span)
            }
        };
        let v = self.coerce(v, &ty);
        if v.is_err() {
            return None;
        }
        let assign = StmtKind::Assign(t.hir, v.hir);
        if first.is_empty() {
            return Some(assign);
        }
        first.push(hir::Stmt { kind: assign, span });
        Some(StmtKind::Block(first))
    }

    /// Replaces the indexes in a left-value by variables; `out` gets the declarations in order of evaluation.
    pub(crate) fn hoist_indexes(&mut self, place: &mut hir::Expr, out: &mut Vec<hir::Stmt>) {
        match &mut place.kind {
            hir::ExprKind::Field(base, _)
            | hir::ExprKind::Slice(base, ..)
            | hir::ExprKind::StackNext(base)
            | hir::ExprKind::StackLast(base) => self.hoist_indexes(base, out),
            hir::ExprKind::Index(base, index) => {
                self.hoist_indexes(base, out);
                if matches!(index.kind, hir::ExprKind::Int(_)) {
                    return;
                }
                let span = index.span;
                let var = self.new_var("index", &Ty::Bits(32), span);
                let read = hir::Expr { kind: hir::ExprKind::Var(var), ty: hir::Type::Bits(32), span };
                let value = std::mem::replace(&mut **index, read);
                out.push(hir::Stmt { kind: StmtKind::Declare(var, Some(value)), span });
            }
            _ => {}
        }
    }

    fn return_stmt(&mut self, value: Option<&'a ast::Expr>, span: Span) -> Option<StmtKind> {
        match self.context.body {
            Body::Parser | Body::None => {
                self.not_here(span, "`return`", "parser states do not return");
                None
            }
            Body::Function => {
                let ret = self.context.ret.clone();
                match (value, &ret) {
                    (None, Ty::Void | Ty::Err) => Some(StmtKind::Return(None)),
                    (None, ty) => {
                        let shown = self.show(ty);
                        self.error(
                            "E0309",
                            span,
                            format!("a value of type `{shown}` must be returned"),
                            "no value here",
                        );
                        None
                    }
                    (Some(e), Ty::Void) => {
                        self.expr(e, None);
                        self.error("E0309", e.span, "a `void` function returns no value", "remove it");
                        None
                    }
                    (Some(e), ty) => {
                        let v = self.expr_to(e, ty);
                        (!v.is_err()).then_some(StmtKind::Return(Some(v.hir)))
                    }
                }
            }
            Body::Action | Body::Control => match value {
                None => Some(StmtKind::Return(None)),
                Some(e) => {
                    self.error("E0309", e.span, "actions and controls return no value", "remove it");
                    None
                }
            },
        }
    }

    /// A local variable or constant.
    pub(crate) fn local(&mut self, d: &'a ast::Decl) -> Option<hir::Stmt> {
        match &d.kind {
            ast::DeclKind::Const(c) => {
                self.const_decl(c);
                None
            }
            ast::DeclKind::Var(v) => {
                let ty = self.ty(&v.ty);
                let ok = self.storable(&ty, v.ty.span);
                let init = match &v.init {
                    Some(e) if ok => Some(self.expr_to(e, &ty)),
                    Some(e) => Some(self.expr(e, None)),
                    None => None,
                };
                if !ok {
                    self.declare(&v.name, Entity::Broken);
                    return None;
                }
                let id = self.new_var(v.name.as_str(), &ty, v.name.span);
                self.declare(&v.name, Entity::Var(id, ty, Place::Writable));
                Some(hir::Stmt { kind: StmtKind::Declare(id, init.map(|i| i.hir)), span: d.span })
            }
            _ => {
                self.unsupported(d.span, "this kind of local declaration is");
                None
            }
        }
    }

    /// Declares a constant.
    pub(crate) fn const_decl(&mut self, c: &'a ast::ConstDecl) {
        let ty = self.ty(&c.ty);
        if ty.is_err() {
            self.expr(&c.value, None);
            self.declare(&c.name, Entity::Broken);
            return;
        }
        let known = self.constant_to(&c.value, &ty);
        let entity = match known {
            Some(v) => Entity::Const(v, ty),
            None => Entity::Broken,
        };
        self.declare(&c.name, entity);
    }

    /// Whether a variable can have this type; reports an error if not.
    pub(crate) fn storable(&mut self, ty: &Ty, span: Span) -> bool {
        let why = match ty {
            Ty::Err => return false,
            Ty::InfInt => "an `int` has no width: only constants can have it",
            Ty::String => "strings exist only at compile time",
            Ty::Void => "there is nothing in `void`",
            Ty::MatchKind => "match kinds exist only at compile time",
            Ty::List(_) => "lists exist only at compile time",
            Ty::Extern(..) => "extern objects are instantiated with constructor arguments",
            Ty::Block(..) | Ty::Package(..) => "parsers and controls are instantiated with `()`",
            _ => "",
        };
        if !why.is_empty() {
            let shown = self.show(ty);
            self.error("E0308", span, format!("a variable cannot have type `{shown}`"), why);
            return false;
        }
        self.check_size(ty, span)
    }

    fn switch(&mut self, subject: &'a ast::Expr, cases: &'a [ast::SwitchCase], span: Span) -> Option<StmtKind> {
        if self.context.body == Body::Parser {
            self.not_here(span, "`switch`", "parser states use `select`");
            return None;
        }
        if let ast::ExprKind::Member { base, name } = &subject.kind
            && name.as_str() == "action_run"
            && matches!(base.kind, ast::ExprKind::Call { .. })
        {
            let t = self.expr(base, None);
            if t.is_err() {
                self.switch_bodies(cases);
                return None;
            }
            if let Ty::ApplyResult(table) = t.ty {
                return self.switch_table(hir::TableId(table), cases);
            }
        }
        let s = self.expr(subject, None);
        if s.is_err() {
            self.switch_bodies(cases);
            return None;
        }
        let ty = s.ty.clone();
        let inner = self.defs.strip_newtype(&ty);
        if !matches!(inner, Ty::Bits(_) | Ty::Int(_) | Ty::Enum(_) | Ty::Error | Ty::Bool | Ty::Param(_)) {
            let shown = self.show(&ty);
            self.error(
                "E0314",
                subject.span,
                format!("`switch` cannot look at a `{shown}`"),
                "only numbers, enums, errors, and what a table did",
            );
            self.switch_bodies(cases);
            return None;
        }
        let mut seen: HashMap<Value, Span> = HashMap::new();
        let mut groups = Vec::new();
        let mut labels: Vec<hir::Expr> = Vec::new();
        let mut default: Option<(Span, bool)> = None;
        let mut default_body = None;
        for case in cases {
            if matches!(case.label.kind, ast::ExprKind::Default) {
                self.one_default(&mut default, case.label.span);
            } else {
                self.after_default(&default, case.label.span);
                let label = self.expr_to(&case.label, &ty);
                if !label.is_err() {
                    match &label.value {
                        None => self.not_constant(case.label.span),
                        Some(Value::Opaque) => {}
                        Some(v) => match seen.entry(v.clone()) {
                            Entry::Occupied(first) => {
                                let first = *first.get();
                                self.same_label(case.label.span, first);
                            }
                            Entry::Vacant(place) => {
                                place.insert(case.label.span);
                            }
                        },
                    }
                    labels.push(label.hir);
                }
            }
            if let Some(body) = &case.body {
                let body = self.block(body);
                self.group(&mut groups, &mut labels, &mut default, &mut default_body, body);
            }
        }
        self.last_group(cases);
        if let Some(body) = default_body {
            groups.push((Vec::new(), body));
        }
        Some(StmtKind::SwitchValue(s.hir, groups))
    }

    /// Ends a group of labels that share a body. The default's group is moved to the end.
    fn group<L>(
        &mut self,
        groups: &mut Vec<(Vec<L>, Vec<hir::Stmt>)>,
        labels: &mut Vec<L>,
        default: &mut Option<(Span, bool)>,
        default_body: &mut Option<Vec<hir::Stmt>>,
        body: Vec<hir::Stmt>,
    ) {
        let labels = std::mem::take(labels);
        match default {
            Some((_, open)) if *open => {
                *open = false;
                *default_body = Some(body);
            }
            _ if labels.is_empty() => {}
            _ => groups.push((labels, body)),
        }
    }

    fn one_default(&mut self, default: &mut Option<(Span, bool)>, span: Span) {
        match default {
            Some((first, _)) => {
                let first = *first;
                self.same_label(span, first);
            }
            None => *default = Some((span, true)),
        }
    }

    /// `default` is the last label.
    fn after_default(&mut self, default: &Option<(Span, bool)>, span: Span) {
        if let Some((first, _)) = default {
            let first = *first;
            self.report(
                Diagnostic::error("E0314", "no label follows `default`")
                    .at(span, "never taken")
                    .related(first, "everything is taken here"),
            );
        }
    }

    fn same_label(&mut self, span: Span, first: Span) {
        self.report(
            Diagnostic::error("E0314", "this label is there already")
                .at(span, "second time")
                .related(first, "first here"),
        );
    }

    fn last_group(&mut self, cases: &[ast::SwitchCase]) {
        if let Some(last) = cases.last()
            && last.body.is_none()
        {
            self.report(
                Diagnostic::warning("W0005", "the last label of this `switch` has no block")
                    .at(last.span, "falls through to nothing"),
            );
        }
    }

    fn switch_bodies(&mut self, cases: &'a [ast::SwitchCase]) {
        for c in cases {
            if let Some(b) = &c.body {
                self.block(b);
            }
        }
    }

    fn switch_table(&mut self, table: hir::TableId, cases: &'a [ast::SwitchCase]) -> Option<StmtKind> {
        let actions: HashSet<hir::FunctionId> =
            self.table_actions.get(&table.0).into_iter().flatten().copied().collect();
        let mut seen: HashMap<hir::FunctionId, Span> = HashMap::new();
        let mut groups = Vec::new();
        let mut labels = Vec::new();
        let mut default: Option<(Span, bool)> = None;
        let mut default_body = None;
        for case in cases {
            let at = case.label.span;
            if !matches!(case.label.kind, ast::ExprKind::Default) {
                self.after_default(&default, at);
            }
            match &case.label.kind {
                ast::ExprKind::Default => self.one_default(&mut default, at),
                ast::ExprKind::Path(path) => match self.resolve(path) {
                    Some(Entity::Action(a)) => {
                        if !actions.contains(&a.id) {
                            let name = self.out[table].name.clone();
                            let declared = self.out[table].span;
                            self.report(
                                Diagnostic::error(
                                    "E0312",
                                    format!("`{}` is not among the actions of `{name}`", path.name),
                                )
                                .at(at, "the table never runs it")
                                .related(declared, "the table"),
                            );
                        } else if let Some(first) = seen.get(&a.id) {
                            let first = *first;
                            self.same_label(at, first);
                        } else {
                            seen.insert(a.id, at);
                            labels.push(a.id);
                        }
                    }
                    Some(other) => {
                        let what = other.what();
                        self.error("E0314", at, format!("`{}` is not an action", path.name), format!("this is {what}"));
                    }
                    None => {}
                },
                _ => self.error("E0314", at, "labels of this `switch` are names of actions", "not a name"),
            }
            if let Some(body) = &case.body {
                let body = self.block(body);
                self.group(&mut groups, &mut labels, &mut default, &mut default_body, body);
            }
        }
        self.last_group(cases);
        if let Some(body) = default_body {
            groups.push((Vec::new(), body));
        }
        Some(StmtKind::SwitchTable(table, groups))
    }

    fn for_in(&mut self, var: &'a ast::Decl, collection: &'a ast::Expr, body: &'a ast::Stmt) -> Option<StmtKind> {
        let ast::DeclKind::Var(v) = &var.kind else {
            self.unsupported(var.span, "this loop variable is");
            return None;
        };
        let ty = self.ty(&v.ty);
        let ok = self.storable(&ty, v.ty.span);
        let over = match &collection.kind {
            ast::ExprKind::Range { lo, hi } => {
                let lo = self.expr_to(lo, &ty);
                let hi = self.expr_to(hi, &ty);
                let inner = self.defs.strip_newtype(&ty);
                if ok && inner.width().is_none() && !matches!(inner, Ty::Param(_)) {
                    let shown = self.show(&ty);
                    self.error(
                        "E0300",
                        v.ty.span,
                        format!("a range has numbers, not `{shown}`"),
                        "the loop variable must be a number",
                    );
                }
                hir::ForRange::Range(lo.hir, hi.hir)
            }
            _ => {
                let c = self.expr(collection, None);
                let c = match &c.ty {
                    Ty::Err => c,
                    Ty::ListLit(items) if ok => {
                        let target = Ty::tuple(vec![ty.clone(); items.len()]);
                        self.coerce(c, &target)
                    }
                    Ty::Stack(t, _) | Ty::List(t) if **t == ty => c,
                    other => {
                        let other = other.clone();
                        if ok {
                            let (o, t) = (self.show(&other), self.show(&ty));
                            self.error(
                                "E0300",
                                collection.span,
                                format!("`{o}` is not a collection of `{t}`"),
                                "cannot be iterated",
                            );
                        }
                        Typed::error(collection.span)
                    }
                };
                hir::ForRange::Elements(c.hir)
            }
        };
        let id = self.new_var(v.name.as_str(), &ty, v.name.span);
        let entity = if ok { Entity::Var(id, ty, Place::Writable) } else { Entity::Broken };
        self.declare(&v.name, entity);
        self.context.loops += 1;
        let body = self.branch(body);
        self.context.loops -= 1;
        Some(StmtKind::ForIn { var: id, over, body })
    }
}

/// Whether control never reaches the end of the statements.
pub(crate) fn always_leaves(stmts: &[hir::Stmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        StmtKind::Return(_) | StmtKind::Exit => true,
        StmtKind::Block(b) => always_leaves(b),
        StmtKind::If(_, a, b) => always_leaves(a) && always_leaves(b),
        StmtKind::SwitchValue(_, cases) => {
            cases.iter().any(|(labels, _)| labels.is_empty()) && cases.iter().all(|(_, body)| always_leaves(body))
        }
        _ => false,
    })
}
