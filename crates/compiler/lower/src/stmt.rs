//! Statements of controls, actions, functions and parser states.

use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;

use crate::parser::applies_parser;
use crate::storage::{Loc, Place, Purpose};
use crate::value::{Value, binary, not};
use crate::{Binding, Exit, LoopLabels, Lowering, Result};
use hopwright_ir::analysis::ranges::Ranges;
use hopwright_ir::{BinaryOp, Block, Expr, StmtKind, Type};

/// Returns the maximum number of values from `lo` to `hi`.
fn iterations(lo: &Expr, hi: &Expr) -> Option<u32> {
    let any = Ranges::default();
    let all = 1u32.checked_shl(lo.ty.width())?;
    match (lo.ty, any.of(lo), any.of(hi)) {
        (Type::Bits(_), Some(lo), Some(hi)) => {
            let between = hi.hi.saturating_sub(lo.lo).saturating_add(1);
            Some(u32::try_from(between).map_or(all, |n| n.min(all)))
        }
        _ => Some(all),
    }
}

impl Lowering<'_> {
    /// Lowers statements one by one; lowering continues after one that fails.
    pub(crate) fn stmts(&mut self, stmts: &[hir::Stmt]) {
        for stmt in stmts {
            if self.too_large {
                return;
            }
            if self.stmt(stmt).is_err() && !self.diagnostics.has_errors() {
                self.unsupported(stmt.span, "this statement");
            }
        }
    }

    fn nested_stmts(&mut self, stmts: &[hir::Stmt]) -> Result<Block> {
        self.nested(|this| {
            this.stmts(stmts);
            Ok(())
        })
    }

    fn stmt(&mut self, stmt: &hir::Stmt) -> Result<()> {
        let span = stmt.span;
        match &stmt.kind {
            hir::StmtKind::Declare(var, value) => self.declare(*var, value.as_ref(), span),
            hir::StmtKind::Assign(left, right) => self.assign(left, right, span),
            hir::StmtKind::Call(call) => {
                // An unused result is dropped.
                self.call(call, None).map(|_| ())
            }
            hir::StmtKind::If(cond, then, otherwise) => {
                let cond = self.scalar(cond)?;
                if self.in_parser && (applies_parser(then) || applies_parser(otherwise)) {
                    self.branch_of_states(cond, then, otherwise, span);
                    return Ok(());
                }
                let then = self.nested_stmts(then)?;
                let otherwise = self.nested_stmts(otherwise)?;
                self.emit(StmtKind::If { cond, then, otherwise }, span);
                Ok(())
            }
            hir::StmtKind::SwitchTable(table, cases) => self.switch_table(*table, cases, span),
            hir::StmtKind::SwitchValue(value, cases) => {
                let value = self.scalar(value)?;
                let mut lowered = Vec::new();
                let mut default = Vec::new();
                for (labels, body) in cases {
                    let values: Result<Vec<BigUint>> = labels.iter().map(|l| self.constant(l)).collect();
                    let body = self.nested_stmts(body)?;
                    if labels.is_empty() {
                        default = body;
                    } else {
                        lowered.push((values?, body));
                    }
                }
                self.emit(StmtKind::Switch { value, cases: lowered, default }, span);
                Ok(())
            }
            hir::StmtKind::Block(body) => {
                // Blocks have no counterpart in the IR: their variables have unique storage already.
                self.stmts(body);
                Ok(())
            }
            hir::StmtKind::For { init, cond, update, body } => self.for_loop(init, cond, update, body, span),
            hir::StmtKind::ForIn { var, over, body } => self.for_in(*var, over, body, span),
            hir::StmtKind::Break => match self.loops.last() {
                Some(labels) => {
                    let label = labels.leave;
                    self.emit(StmtKind::Leave(label), span);
                    Ok(())
                }
                None => Err(self.refuse(span, "E0451", "`break` outside of a loop".into())),
            },
            hir::StmtKind::Continue => match self.loops.last() {
                Some(labels) => {
                    let label = labels.next;
                    self.emit(StmtKind::Leave(label), span);
                    Ok(())
                }
                None => Err(self.refuse(span, "E0451", "`continue` outside of a loop".into())),
            },
            hir::StmtKind::Return(value) => self.return_stmt(value.as_ref(), span),
            hir::StmtKind::Exit => {
                self.exit_stmt(span)?;
                Ok(())
            }
        }
    }

    fn declare(&mut self, var: hir::VarId, value: Option<&hir::Expr>, span: Span) -> Result<()> {
        // The initialiser cannot refer to the variable, so its storage may be allocated before.
        let place = self.variable(var)?;
        match value {
            Some(value) => {
                if self.direct_lookahead(&Loc::Place(place.clone()), value, span)? {
                    return Ok(());
                }
                let value = self.value(value)?;
                self.store_loc(&Loc::Place(place), value, span)
            }
            None if self.repeats => self.blank(&place, span),
            None => Ok(()),
        }
    }

    /// Returns the storage of a declared variable. It is the same for all applications of an instance.
    pub(crate) fn variable(&mut self, var: hir::VarId) -> Result<Place> {
        let place = match self.shared.get(&var) {
            Some(place) => place.clone(),
            None => {
                let declared = &self.program[var];
                let name = format!("{}.{}", self.scope, declared.name);
                let place = self.alloc(&declared.ty, &name, Purpose::Local, declared.span)?;
                if self.cached {
                    self.shared.insert(var, place.clone());
                }
                place
            }
        };
        self.env.insert(var, Binding::Loc(Loc::Place(place.clone())));
        Ok(place)
    }

    fn assign(&mut self, left: &hir::Expr, right: &hir::Expr, span: Span) -> Result<()> {
        let mut target = self.target(left)?;
        if self.has_effects(right) {
            target.loc = self.freeze_loc(target.loc);
        }
        if target.slice.is_none() && self.direct_lookahead(&target.loc, right, span)? {
            return Ok(());
        }
        let value = self.value(right)?;
        self.note_lists(&target.loc, right, span)?;
        self.store(&target, value, span)
    }

    fn switch_table(
        &mut self,
        table: hir::TableId,
        cases: &[(Vec<hir::FunctionId>, Vec<hir::Stmt>)],
        span: Span,
    ) -> Result<()> {
        let ran = self.temp(Type::Bits(32), span);
        let lowered = self.apply(table, None, Some(ran), span)?;
        let mut arms = Vec::new();
        let mut default = Vec::new();
        for (labels, body) in cases {
            let body = self.nested_stmts(body)?;
            if labels.is_empty() {
                default = body;
                continue;
            }
            let mut values = Vec::new();
            for label in labels {
                match lowered.actions.get(label) {
                    Some(action) => values.push(BigUint::from(action.0)),
                    None => {
                        let name = self.program[*label].name.clone();
                        return Err(self.refuse(span, "E0452", format!("`{name}` is no action of this table")));
                    }
                }
            }
            arms.push((values, body));
        }
        let value = self.slot_expr(ran, span);
        self.emit(StmtKind::Switch { value, cases: arms, default }, span);
        Ok(())
    }

    fn for_loop(
        &mut self,
        init: &[hir::Stmt],
        cond: &hir::Expr,
        update: &[hir::Stmt],
        body: &[hir::Stmt],
        span: Span,
    ) -> Result<()> {
        self.stmts(init);
        self.loop_of(span, None, |this, labels| {
            let cond = this.scalar(cond)?;
            this.leave_if(not(cond, span), labels.leave, span);
            this.loop_body(labels, body, span)?;
            this.stmts(update);
            Ok(())
        })
    }

    /// Lowers a loop; `f` emits the body.
    fn loop_of(
        &mut self,
        span: Span,
        bound: Option<u32>,
        f: impl FnOnce(&mut Self, LoopLabels) -> Result<()>,
    ) -> Result<()> {
        let labels = LoopLabels { leave: self.label(), next: self.label() };
        let repeats = std::mem::replace(&mut self.repeats, true);
        let body = self.nested(|this| f(this, labels));
        self.repeats = repeats;
        let body = vec![hopwright_ir::Stmt { kind: StmtKind::Loop { body: body?, bound }, span }];
        self.emit(StmtKind::Scope { label: labels.leave, body }, span);
        Ok(())
    }

    fn loop_body(&mut self, labels: LoopLabels, body: &[hir::Stmt], span: Span) -> Result<()> {
        self.check_size(span)?;
        self.loops.push(labels);
        let body = self.nested_stmts(body);
        self.loops.pop();
        self.emit(StmtKind::Scope { label: labels.next, body: body? }, span);
        Ok(())
    }

    fn leave_if(&mut self, cond: Expr, label: u32, span: Span) {
        let then = vec![hopwright_ir::Stmt { kind: StmtKind::Leave(label), span }];
        self.emit(StmtKind::If { cond, then, otherwise: Vec::new() }, span);
    }

    fn for_in(&mut self, var: hir::VarId, over: &hir::ForRange, body: &[hir::Stmt], span: Span) -> Result<()> {
        match over {
            hir::ForRange::Range(lo, hi) => {
                let lo = self.scalar(lo)?;
                let lo = self.freeze(lo);
                let hi = self.scalar(hi)?;
                let hi = self.freeze(hi);
                let Place::Scalar(slot) = self.variable(var)? else {
                    return Err(self.unsupported(span, "a loop variable that is no scalar"));
                };
                let ty = self.slots[slot.index()].ty;
                let (lo, hi) = (self.cast(lo, ty, span)?, self.cast(hi, ty, span)?);
                let bound = iterations(&lo, &hi);
                self.emit(StmtKind::Assign(slot, lo), span);
                let current = self.slot_expr(slot, span);
                // The body may change the variable, so a separate counter counts the iterations.
                let counter = self.temp(ty, span);
                self.emit(StmtKind::Assign(counter, current), span);
                let count = self.slot_expr(counter, span);
                let nonempty = binary(BinaryOp::Le, count.clone(), hi.clone(), Type::Bool, span);
                let turns = self.nested(|this| {
                    this.loop_of(span, bound, |this, labels| {
                        this.emit(StmtKind::Assign(slot, count.clone()), span);
                        this.loop_body(labels, body, span)?;
                        let last = binary(BinaryOp::Eq, count.clone(), hi, Type::Bool, span);
                        this.leave_if(last, labels.leave, span);
                        let one = Expr::constant(1u32, ty, span);
                        let next = binary(BinaryOp::Add, count, one, ty, span);
                        this.emit(StmtKind::Assign(counter, next), span);
                        Ok(())
                    })
                })?;
                self.emit(StmtKind::If { cond: nonempty, then: turns, otherwise: Vec::new() }, span);
                Ok(())
            }
            hir::ForRange::Elements(list) => {
                let value = self.value(list)?;
                let count = match &value {
                    Value::Tree(members) => members.len(),
                    Value::Loc(Loc::Place(Place::Struct(places))) => places.len(),
                    Value::Loc(Loc::Place(place)) if !self.elements(place).is_empty() => self.elements(place).len(),
                    _ => return Err(self.unsupported(span, "iterating over this value")),
                };
                let value = self.freeze_list(value, span)?;
                let place = self.variable(var)?;
                let leave = self.label();
                let repeats = std::mem::replace(&mut self.repeats, true);
                let turns = self.nested(|this| {
                    for i in 0..count {
                        let element = match &value {
                            Value::Loc(Loc::Place(Place::Struct(_))) => this.value_field(&value, i, span)?,
                            value => this.element(value, i, span)?,
                        };
                        this.store_loc(&Loc::Place(place.clone()), element, span)?;
                        let labels = LoopLabels { leave, next: this.label() };
                        this.loop_body(labels, body, span)?;
                    }
                    Ok(())
                });
                self.repeats = repeats;
                self.emit(StmtKind::Scope { label: leave, body: turns? }, span);
                Ok(())
            }
        }
    }

    /// Returns the current members of a list; a stack is iterated in place.
    fn freeze_list(&mut self, value: Value, span: Span) -> Result<Value> {
        match value {
            Value::Tree(_) => self.freeze_value(value, span),
            value => Ok(value),
        }
    }

    fn return_stmt(&mut self, value: Option<&hir::Expr>, span: Span) -> Result<()> {
        let Some(frame) = self.frames.last() else {
            return Err(self.refuse(span, "E0451", "`return` outside of a body".into()));
        };
        let (label, result) = (frame.label, frame.result.clone());
        if let Some(value) = value {
            let value = self.value(value)?;
            if let Some(result) = result {
                self.store_loc(&Loc::Place(result), value, span)?;
            }
        }
        self.emit(StmtKind::Leave(label), span);
        Ok(())
    }

    /// Lowers `exit`: execution ends, but out parameters are copied out first.
    pub(crate) fn exit_stmt(&mut self, span: Span) -> Result<()> {
        let copies: Vec<_> = self.frames.iter().rev().flat_map(|f| f.copy_outs.iter().cloned()).collect();
        for (target, place) in copies {
            self.store(&target, Value::Loc(Loc::Place(place)), span)?;
        }
        match self.exit {
            Exit::Direct => self.emit(StmtKind::Exit, span),
            Exit::Leave(label) => self.emit(StmtKind::Leave(label), span),
            Exit::Flag { flag, label } => {
                self.emit(StmtKind::Assign(flag, Expr::boolean(true, span)), span);
                self.emit(StmtKind::Leave(label), span);
            }
        }
        Ok(())
    }
}
