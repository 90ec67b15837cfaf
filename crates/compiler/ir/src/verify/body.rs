//! Checks statements: placement, scopes, operand types, shapes of extern calls.

use std::collections::BTreeSet;

use super::Checker;
use crate::bits;
use crate::model::*;
use crate::walk;

/// What kind of body statements stand in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Parser,
    Control,
    Deparser,
    Action,
}

impl Checker<'_> {
    /// Checks that ids in statements, expressions and transitions are in range.
    pub(super) fn body_ids(&mut self) {
        let p = self.pipeline;
        self.at("statements", Span::none());
        walk::all_stmts(p, &mut |stmt| {
            self.span = stmt.span;
            self.statement_ids(stmt);
        });
        self.at("expressions", Span::none());
        let mut ids = |e: &Expr| {
            self.span = e.span;
            if let ExprKind::Slot(slot) = e.kind {
                self.slot(slot);
            }
        };
        walk::all_stmts(p, &mut |stmt| walk::stmt_exprs(stmt).into_iter().for_each(|e| walk::exprs(e, &mut ids)));
        walk::outer_exprs(p).for_each(|e| walk::exprs(e, &mut ids));
        let states = p.parser.states.len();
        self.at("parser", p.parser.span);
        self.require((p.parser.start.0 as usize) < states, || "its start state does not exist".into());
        for state in &p.parser.states {
            self.at(format!("state {}", state.name), state.span);
            let targets: Vec<Target> = match &state.transition {
                Transition::Goto(target) => vec![*target],
                Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
            };
            for target in targets {
                if let Target::State(id) = target {
                    self.require((id.0 as usize) < states, || format!("state {} does not exist", id.0));
                }
            }
            if let Transition::Select { cases, .. } = &state.transition {
                for set in cases.iter().flat_map(|c| &c.sets) {
                    if let KeySet::ValueSet(id) = set {
                        let exists = id.index() < p.value_sets.len();
                        self.require(exists, || format!("value set {} does not exist", id.0));
                    }
                }
            }
        }
    }

    fn statement_ids(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => self.slot(*slot),
            StmtKind::SetValid(h) | StmtKind::SetInvalid(h) | StmtKind::Emit(h) => self.header(*h),
            StmtKind::Extract { header, .. } => self.header(*header),
            StmtKind::CopyHeader { dst, src } => {
                self.header(*dst);
                self.header(*src);
            }
            StmtKind::PushFront(s, _) | StmtKind::PopFront(s, _) => self.stack(*s),
            StmtKind::ExtractNext { stack, .. } => self.stack(*stack),
            StmtKind::Apply { table, hit, action_run } => {
                self.table(*table);
                hit.iter().chain(action_run).for_each(|&s| self.slot(s));
            }
            StmtKind::Lookahead { parts, .. } => parts.iter().for_each(|&(s, _)| self.slot(s)),
            StmtKind::Extern(call) => {
                if let Some(id) = call.function.object() {
                    self.object(id);
                }
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        self.slot(*slot);
                    }
                }
            }
            StmtKind::If { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Scope { .. }
            | StmtKind::Leave(_)
            | StmtKind::Loop { .. }
            | StmtKind::Exit
            | StmtKind::Advance { .. }
            | StmtKind::Verify(..) => {}
        }
    }

    /// Checks a whole body. `labels` are those of all bodies seen so far.
    pub(super) fn body(&mut self, block: &Block, place: Place, params: &[Param], labels: &mut BTreeSet<u32>) {
        let mut open = Vec::new();
        self.statements(block, place, params, labels, &mut open);
    }

    fn statements(
        &mut self,
        block: &Block,
        place: Place,
        params: &[Param],
        labels: &mut BTreeSet<u32>,
        open: &mut Vec<u32>,
    ) {
        for stmt in block {
            for e in walk::stmt_exprs(stmt) {
                self.expr(e, params);
            }
            self.span = stmt.span;
            self.placement(stmt, place);
            self.statement(stmt, open);
            if let StmtKind::Scope { label, .. } = stmt.kind {
                self.require(labels.insert(label), || format!("label {label} is there twice"));
                open.push(label);
            }
            for inner in walk::blocks(stmt) {
                self.statements(inner, place, params, labels, open);
            }
            if matches!(stmt.kind, StmtKind::Scope { .. }) {
                open.pop();
            }
        }
    }

    fn placement(&mut self, stmt: &Stmt, place: Place) {
        let legal = match stmt.kind {
            StmtKind::Extract { .. }
            | StmtKind::ExtractNext { .. }
            | StmtKind::Advance { .. }
            | StmtKind::Lookahead { .. }
            | StmtKind::Verify(..) => place == Place::Parser,
            StmtKind::Emit(_) => place == Place::Deparser,
            StmtKind::Apply { .. } => matches!(place, Place::Control | Place::Deparser),
            StmtKind::Exit => place != Place::Parser,
            _ => true,
        };
        self.require(legal, || "a statement that must not stand here".into());
    }

    fn statement(&mut self, stmt: &Stmt, open: &[u32]) {
        let p = self.pipeline;
        match &stmt.kind {
            StmtKind::Assign(slot, value) => self.same(value.ty, p[*slot].ty, "a value assigned"),
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                let ty = p[*slot].ty;
                if lo > hi || *hi >= ty.width() || matches!(ty, Type::Varbit(_) | Type::Bool) {
                    self.error(format!("no bits {hi}..{lo} in {ty}"));
                } else {
                    self.same(value.ty, Type::Bits(hi - lo + 1), "a slice assigned");
                }
            }
            StmtKind::CopyHeader { dst, src } => self.same_shape(*dst, *src),
            StmtKind::If { cond, .. } => self.same(cond.ty, Type::Bool, "a condition"),
            StmtKind::Switch { value, cases, .. } => {
                let width = value.ty.width();
                self.require(!matches!(value.ty, Type::Varbit(_)), || "a switch on a varbit".into());
                for case in cases.iter().flat_map(|(values, _)| values) {
                    self.require(bits::fits(case, width), || format!("case {case} does not fit {}", value.ty));
                }
            }
            StmtKind::Leave(label) => {
                self.require(open.contains(label), || format!("no scope {label} around this"));
            }
            StmtKind::Apply { hit, action_run, .. } => {
                if let Some(slot) = hit {
                    self.same(p[*slot].ty, Type::Bool, "a hit slot");
                }
                if let Some(slot) = action_run {
                    self.same(p[*slot].ty, Type::Bits(32), "an action-run slot");
                }
            }
            StmtKind::Extract { header, varbit_bits } => {
                self.core_error("PacketTooShort");
                self.varbit_size(*header, varbit_bits.as_ref());
            }
            StmtKind::ExtractNext { stack, varbit_bits } => {
                self.core_error("StackOutOfBounds");
                self.core_error("PacketTooShort");
                if let Some(&header) = p[*stack].elements.first() {
                    self.varbit_size(header, varbit_bits.as_ref());
                }
            }
            StmtKind::Advance { bits: by, bound } => {
                self.core_error("PacketTooShort");
                self.core_error("ParserInvalidArgument");
                self.same(by.ty, Type::Bits(32), "a distance");
                let wrong = matches!((by.as_const(), bound), (Some(by), Some(bound)) if *by > (*bound).into());
                self.require(!wrong, || "an advance beyond its bound".into());
            }
            StmtKind::Lookahead { total_bits, parts } => {
                self.core_error("PacketTooShort");
                for &(slot, offset) in parts {
                    let ty = p[slot].ty;
                    let end = u64::from(offset) + u64::from(ty.width());
                    let fits = end <= u64::from(*total_bits) && !matches!(ty, Type::Varbit(_));
                    self.require(fits, || format!("{} does not fit the lookahead", p[slot].name));
                }
            }
            StmtKind::Verify(cond, error) => {
                self.same(cond.ty, Type::Bool, "a condition");
                self.same(error.ty, Type::Bits(16), "an error");
            }
            StmtKind::Extern(call) => self.call(call),
            StmtKind::SetValid(_)
            | StmtKind::SetInvalid(_)
            | StmtKind::PushFront(..)
            | StmtKind::PopFront(..)
            | StmtKind::Scope { .. }
            | StmtKind::Loop { .. }
            | StmtKind::Exit
            | StmtKind::Emit(_) => {}
        }
    }

    fn core_error(&mut self, name: &str) {
        let there = self.pipeline.errors.iter().any(|e| e == name);
        self.require(there, || format!("the error {name} is not declared"));
    }

    fn varbit_size(&mut self, header: HeaderId, size: Option<&Expr>) {
        let has = self.pipeline[header].varbit.is_some();
        self.require(has == size.is_some(), || "a size exactly for headers with a varbit".into());
        if let Some(size) = size {
            self.core_error("ParserInvalidArgument");
            self.core_error("HeaderTooShort");
            self.same(size.ty, Type::Bits(32), "a varbit size");
        }
    }

    pub(super) fn transition(&mut self, transition: &Transition) {
        let Transition::Select { keys, cases } = transition else { return };
        for key in keys {
            self.expr(key, &[]);
            self.require(!matches!(key.ty, Type::Varbit(_)), || "a select on a varbit".into());
        }
        for case in cases {
            self.span = case.span;
            if let [KeySet::ValueSet(id)] = case.sets.as_slice() {
                let types = &self.pipeline[*id].types;
                let same = keys.iter().map(|k| k.ty).eq(types.iter().copied());
                self.require(same, || "a value set of other types than the keys".into());
                continue;
            }
            self.require(case.sets.len() == keys.len(), || "not one set for each key".into());
            for (set, key) in case.sets.iter().zip(keys) {
                let width = key.ty.width();
                let legal = match set {
                    KeySet::Any => true,
                    KeySet::Value(v) => bits::fits(v, width),
                    KeySet::Mask(v, m) | KeySet::Range(v, m) => bits::fits(v, width) && bits::fits(m, width),
                    KeySet::ValueSet(_) => false,
                };
                self.require(legal, || format!("{set:?} is no set of {}", key.ty));
            }
        }
    }

    fn call(&mut self, call: &ExternCall) {
        let p = self.pipeline;
        for arg in &call.args {
            if let ExternArg::In(e) = arg {
                self.require(!matches!(e.ty, Type::Varbit(_)), || "a varbit outside a list".into());
            }
            if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                self.require(!matches!(p[*slot].ty, Type::Varbit(_)), || "a varbit as a result".into());
            }
        }
        let info = call.function.info();
        let kind = call.function.object().map(|id| &p[id].kind);
        let object = match (kind, info.method_of) {
            (Some(kind), Some(is)) => is(kind),
            (Some(kind), None) => matches!(kind, ExternKind::Named { .. }),
            (None, method_of) => method_of.is_none(),
        };
        let type_of = |arg: &ExternArg| match arg {
            ExternArg::In(e) => Some(e.ty),
            ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(p[*slot].ty),
            ExternArg::List(_) => None,
        };
        let allows = |rule: &TypeRule, arg: &ExternArg| {
            type_of(arg).is_some_and(|ty| match *rule {
                TypeRule::Bool => ty == Type::Bool,
                TypeRule::Bits => matches!(ty, Type::Bits(_)),
                TypeRule::Width(width) => ty == Type::Bits(width),
                TypeRule::Cell => matches!(kind, Some(ExternKind::Register { ty: cell, .. }) if *cell == ty),
                TypeRule::SameAs(at) => matches!(ty, Type::Bits(_)) && call.args.get(at).and_then(type_of) == Some(ty),
            })
        };
        let fits = |(arg, shape): (&ExternArg, &ParamShape)| match (arg, shape) {
            (ExternArg::In(_), ParamShape::In(rule))
            | (ExternArg::Out(_), ParamShape::Out(rule))
            | (ExternArg::InOut(_), ParamShape::InOut(rule)) => allows(rule, arg),
            (ExternArg::Out(_), ParamShape::InOut(rule)) => !info.writes_results && allows(rule, arg),
            (ExternArg::List(_), ParamShape::List) => true,
            _ => false,
        };
        let args = match info.params {
            Some(shapes) => call.args.len() == shapes.len() && call.args.iter().zip(shapes).all(fits),
            None => !call.args.iter().any(|a| matches!(a, ExternArg::List(_))),
        };
        self.require(object && args, || format!("malformed call of {:?}", call.function));
    }
}
