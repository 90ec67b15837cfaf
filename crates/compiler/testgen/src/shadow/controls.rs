//! Statements of controls, their branches, and tables.

use hopwright_coverage::Kind;
use hopwright_interp::{Store, Value};
use hopwright_ir::{
    ActionCall, BinaryOp, Expr, ExprKind, HeaderId, MatchValue, SlotId, SlotKind, Stmt, StmtKind, TableEntry, TableId,
    Type, UnaryOp,
};

use super::{Shadow, key_of, place_key};
use num_bigint::BigUint;

use crate::inputs::Choice;
use crate::path::{Alternative, Change, Finds, Step};
use crate::term::{self, Term, Variable, constant};

/// Tables with more entries than this are not solved for.
const MOST_ENTRIES: usize = 256;

impl Shadow<'_> {
    /// Statements that only compute.
    pub(super) fn simple(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => {
                let value = self.eval(value);
                self.set(*slot, value);
            }
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                let (old, new) = (self.slot(*slot).clone(), self.eval(value));
                let mut whole = new;
                if hi + 1 < old.width {
                    whole = term::concat(&term::slice(&old, old.width - 1, hi + 1), &whole);
                }
                if *lo > 0 {
                    whole = term::concat(&whole, &term::slice(&old, lo - 1, 0));
                }
                self.set(*slot, whole);
            }
            StmtKind::SetValid(header) => {
                if !self.valid(*header) {
                    for field in &self.pipeline[*header].fields {
                        let zero = Value::zero(self.pipeline[field.slot].ty);
                        self.set(field.slot, constant(zero.bits, zero.width));
                    }
                }
                self.set_number(self.pipeline[*header].valid, 1);
            }
            StmtKind::CopyHeader { dst, src } => self.copy(*dst, *src),
            StmtKind::PushFront(stack, count) => {
                let stack = &self.pipeline[*stack];
                let (size, count) = (stack.elements.len(), *count as usize);
                for at in (count..size).rev() {
                    self.copy(stack.elements[at], stack.elements[at - count]);
                }
                for element in stack.elements.iter().take(count) {
                    self.set_number(self.pipeline[*element].valid, 0);
                }
                let next = u64::try_from(&self.slot(stack.next_index).value).unwrap_or(0) + count as u64;
                self.set_number(stack.next_index, next.min(size as u64));
            }
            StmtKind::PopFront(stack, count) => {
                let stack = &self.pipeline[*stack];
                let count = *count as usize;
                for at in 0..stack.elements.len() {
                    match stack.elements.get(at + count) {
                        Some(source) => self.copy(stack.elements[at], *source),
                        None => self.set_number(self.pipeline[stack.elements[at]].valid, 0),
                    }
                }
                let next = u64::try_from(&self.slot(stack.next_index).value).unwrap_or(0);
                self.set_number(stack.next_index, next.saturating_sub(count as u64));
            }
            _ => {}
        }
    }

    fn copy(&mut self, dst: HeaderId, src: HeaderId) {
        let pipeline = self.pipeline;
        for (to, from) in pipeline[dst].fields.iter().zip(&pipeline[src].fields) {
            let value = self.slot(from.slot).clone();
            self.set(to.slot, value);
        }
        let valid = self.slot(pipeline[src].valid).clone();
        self.set(pipeline[dst].valid, valid);
    }

    /// The interpreter has set a slot.
    pub(super) fn assigned(&mut self, slot: SlotId, new: &Value) {
        if let Some(at) = self.current.results.iter().position(|(result, _)| *result == slot) {
            let (_, term) = self.current.results.swap_remove(at);
            let term = term.unwrap_or_else(|| self.computed(new));
            self.set(slot, term);
        }
        let term = self.slot(slot);
        if (term.value != new.bits || term.width != new.width)
            && !matches!(self.pipeline[slot].kind, SlotKind::Valid(_))
        {
            self.set(slot, constant(new.bits.clone(), new.width));
        }
    }

    /// A branch was decided.
    pub(super) fn decided(&mut self, stmt: &Stmt, outcome: usize) {
        let place = place_key(stmt.span);
        match &stmt.kind {
            StmtKind::If { cond, .. } | StmtKind::Verify(cond, _) => {
                let holds = self.eval(cond);
                let (is, would_be) =
                    if outcome == 0 { (holds.clone(), term::not(&holds)) } else { (term::not(&holds), holds) };
                if !term::is_true(&is) {
                    return;
                }
                let other = Alternative {
                    goal: self.points.outcome(stmt, 1 - outcome),
                    conditions: vec![would_be],
                    key: key_of((place, 1 - outcome)),
                    ..Alternative::default()
                };
                let mut alternatives = vec![other];
                self.bounds(cond, place, &mut alternatives);
                let (key, blamed) = (key_of((place, outcome)), self.blamed(cond));
                self.step(Step { conditions: vec![is], alternatives, key, blamed, ..Step::default() });
            }
            StmtKind::Switch { value, cases, .. } => {
                let value = self.eval(value);
                let is_in = |number: usize| {
                    let none = constant(0u32, 1);
                    let values = cases.get(number).map_or(&[][..], |(values, _)| values.as_slice());
                    values
                        .iter()
                        .fold(none, |any, v| term::or(&any, &term::equal(&value, &constant(v.clone(), value.width))))
                };
                let condition = |number: usize| match cases.get(number) {
                    Some(_) => is_in(number),
                    None => (0..cases.len()).fold(constant(1u32, 1), |all, n| term::and(&all, &term::not(&is_in(n)))),
                };
                let alternatives = (0..=cases.len()).filter(|number| *number != outcome).map(|number| Alternative {
                    goal: self.points.outcome(stmt, number),
                    conditions: vec![condition(number)],
                    key: key_of((place, number)),
                    ..Alternative::default()
                });
                let alternatives = alternatives.collect();
                let conditions = vec![condition(outcome)];
                self.step(Step { conditions, alternatives, key: key_of((place, outcome)), ..Step::default() });
            }
            _ => {}
        }
    }

    /// Each part of a condition is a case of its own, true and false, while the other parts let it decide; so are the bounds of
    /// comparisons.
    fn bounds(&mut self, cond: &Expr, place: u64, alternatives: &mut Vec<Alternative>) {
        let mut wanted: Vec<Term> = Vec::new();
        self.parts(cond, &constant(1u32, 1), &mut wanted);
        for (number, condition) in wanted.into_iter().enumerate() {
            self.case(condition, key_of((place, number)), alternatives);
        }
    }

    /// A case that is no point: the run has it, or it is an alternative.
    pub(super) fn case(&mut self, condition: Term, case: u64, alternatives: &mut Vec<Alternative>) {
        if term::is_true(&condition) {
            self.cases().insert(case);
        } else if !term::is_constant(&condition) {
            let conditions = vec![condition];
            alternatives.push(Alternative { case: Some(case), conditions, key: case, ..Alternative::default() });
        }
    }

    /// The cases of a condition that decides where `context` is true.
    fn parts(&self, cond: &Expr, context: &Term, wanted: &mut Vec<Term>) {
        match &cond.kind {
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) => {
                for (part, other) in [(a, b), (b, a)] {
                    let other = self.eval(other);
                    let lets = if *op == BinaryOp::LogicalAnd { other } else { term::not(&other) };
                    self.parts(part, &term::and(context, &lets), wanted);
                }
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.parts(a, context, wanted),
            _ => {
                let holds = self.eval(cond);
                wanted.push(term::and(context, &holds));
                wanted.push(term::and(context, &term::not(&holds)));
                let ExprKind::Binary(op, a, b) = &cond.kind else { return };
                if self.eval(a).width != self.eval(b).width || !matches!(a.ty, Type::Bits(_) | Type::Int(_)) {
                    return;
                }
                let (x, y) = (self.eval(a), self.eval(b));
                let one = constant(1u32, x.width);
                let below = term::equal(&term::add(&x, &one), &y);
                let above = term::equal(&x, &term::add(&y, &one));
                let at_bounds = match op {
                    BinaryOp::Lt | BinaryOp::Ge => vec![term::equal(&x, &y), below],
                    BinaryOp::Gt | BinaryOp::Le => vec![term::equal(&x, &y), above],
                    BinaryOp::Eq | BinaryOp::Ne => vec![below, above],
                    _ => Vec::new(),
                };
                wanted.extend(at_bounds.iter().map(|bound| term::and(context, bound)));
            }
        }
    }

    /// A table is about to be looked up: prepares what it finds.
    pub(super) fn apply(&mut self, id: TableId, hit: Option<SlotId>, action_run: Option<SlotId>) {
        let pipeline = self.pipeline;
        let table = &pipeline[id];
        let terms: Vec<Term> = table.keys.iter().map(|key| self.eval(&key.expr)).collect();
        let keys: Vec<Value> = terms.iter().map(|t| Value { bits: t.value.clone(), width: t.width }).collect();
        let nth = self.application(id, &keys, &terms);
        let choice = self.run.inputs.choices.get(&(id.0, nth)).cloned();
        let mut answers = self.answers.get();
        answers.entry = None;
        answers.default = None;
        match &choice {
            Some(Choice::Hit(action)) => {
                let matches = table.keys.iter().map(|_| MatchValue::Optional(None)).collect();
                answers.entry = Some((id, TableEntry { matches, priority: 0, action: action.clone() }));
            }
            Some(Choice::Default(action)) => answers.default = Some((id, action.clone())),
            None => {}
        }
        drop(answers);
        let data = choice.as_ref().map(|choice| self.data(id, nth, choice.action())).unwrap_or_default();
        self.current.apply = Some((hit, action_run, data));
        let mut step = Step {
            key: key_of((id.0, nth, format!("{:?}", choice.as_ref().map(|c| c.action().action)))),
            ..Step::default()
        };
        self.other_choices(id, nth, choice.as_ref(), &mut step);
        if !matches!(choice, Some(Choice::Hit(_))) {
            self.entries_of_program(id, &terms, &mut step);
            for (number, entry) in table.entries.iter().enumerate() {
                for (key, (value, term)) in entry.matches.iter().zip(&terms).enumerate() {
                    for (at, bound) in bounds_of(value, term).into_iter().enumerate() {
                        self.case(bound, key_of((id.0, number, key, at)), &mut step.alternatives);
                    }
                }
            }
        }
        self.step(step);
    }

    /// The terms of an action's data.
    fn data(&self, table: TableId, nth: u32, action: &ActionCall) -> Vec<Term> {
        let params = &self.pipeline[action.action].params;
        let term = |(at, (param, value)): (usize, (&hopwright_ir::Param, &num_bigint::BigUint))| {
            term::input(Variable::Argument(table.0, nth, at as u32), value.clone(), param.ty.width())
        };
        params.iter().zip(&action.args).enumerate().map(term).collect()
    }

    /// What else the application of a table may find.
    fn other_choices(&self, id: TableId, nth: u32, choice: Option<&Choice>, step: &mut Step) {
        let table = &self.pipeline[id];
        let keyed = table.match_keys().next().is_some();
        let current = choice.map(Choice::action).map(|call| call.action);
        let hits = matches!(choice, Some(Choice::Hit(_)));
        let mut add = |goal, finds: Finds| {
            step.alternatives.push(Alternative {
                goal,
                change: Some(Change::Table(id, nth, finds)),
                key: key_of((id.0, nth, format!("{finds:?}"))),
                ..Alternative::default()
            });
        };
        if keyed && !table.const_entries {
            for action in table.actions.iter().filter(|a| !(a.default_only || hits && current == Some(a.action))) {
                add(self.points.find(Kind::Hit(id, action.action)), Finds::Entry(action.action));
            }
        }
        if hits {
            add(self.points.find(Kind::Miss(id)), Finds::Nothing);
        }
        if !table.const_default_action {
            // Defaults matter where entries cannot have the action.
            for action in table.actions.iter().filter(|a| !a.table_only && (a.default_only || !keyed)) {
                if current != Some(action.action) {
                    add(self.points.find(Kind::Action(action.action)), Finds::Default(action.action));
                }
            }
        }
    }

    /// The entries that the program or the set-up gives a table: which of them matches is a matter of the keys.
    fn entries_of_program(&self, id: TableId, keys: &[Term], step: &mut Step) {
        let table = &self.pipeline[id];
        let mut entries: Vec<(i64, u64, TableEntry)> = Vec::new();
        let has_priority = table.has_priority();
        self.answers.base.visit_entries(id, &mut |entry| {
            let rank = MatchValue::rank(entry.matches, entry.priority, has_priority);
            let (matches, priority, action) = (entry.matches.to_vec(), entry.priority, entry.action.clone());
            entries.push((rank, entry.sequence, TableEntry { matches, priority, action }));
        });
        if entries.is_empty() || entries.len() > MOST_ENTRIES {
            return;
        }
        entries.sort_by_key(|(rank, sequence, _)| (-rank, *sequence));
        let mut none: Vec<Term> = Vec::new();
        let mut decided = false;
        for (_, _, entry) in entries {
            let matches = matches_entry(&entry.matches, keys);
            let of_program = table.entries.iter().position(|e| *e == entry);
            let goal = of_program.and_then(|at| self.points.find(Kind::Entry(id, at)));
            let mut conditions = none.clone();
            conditions.push(matches.clone());
            if !decided && term::is_true(&matches) {
                step.conditions.extend(conditions);
                step.key = key_of((step.key, &format!("{:?}", entry.matches)));
                decided = true;
            } else {
                let key = key_of((id.0, format!("{:?} {}", entry.matches, entry.priority)));
                step.alternatives.push(Alternative { goal, conditions, key, ..Alternative::default() });
            }
            none.push(term::not(&matches));
        }
        if decided {
            let goal = self.points.find(Kind::Miss(id));
            step.alternatives.push(Alternative {
                goal,
                conditions: none,
                key: key_of((id.0, "miss")),
                ..Alternative::default()
            });
        } else {
            step.conditions.extend(none);
        }
    }

    /// The table has found something; its action runs next.
    pub(super) fn table_found(&mut self, hit: bool, action: &ActionCall) {
        let Some((hit_slot, run_slot, data)) = self.current.apply.take() else { return };
        if let Some(slot) = hit_slot {
            self.set_number(slot, u64::from(hit));
        }
        if let Some(slot) = run_slot {
            self.set_number(slot, u64::from(action.action.0));
        }
        let params = &self.pipeline[action.action].params;
        let agree =
            data.len() == action.args.len() && data.iter().zip(&action.args).all(|(t, value)| t.value == *value);
        self.params = if agree {
            data
        } else {
            params.iter().zip(&action.args).map(|(p, value)| constant(value.clone(), p.ty.width())).collect()
        };
    }
}

/// Whether an entry matches these keys.
fn matches_entry(matches: &[MatchValue], keys: &[Term]) -> Term {
    let mut all = constant(1u32, 1);
    for (value, key) in matches.iter().zip(keys) {
        let one = match value {
            MatchValue::Range { lo, hi } => {
                let (lo, hi) = (constant(lo.clone(), key.width), constant(hi.clone(), key.width));
                term::and(&term::not(&term::less(key, &lo, false)), &term::not(&term::less(&hi, key, false)))
            }
            other => {
                let Some((value, mask)) = other.value_and_mask(key.width) else { continue };
                let (value, mask) = (constant(value, key.width), constant(mask, key.width));
                let masked =
                    if mask.value == hopwright_ir::bits::mask(key.width) { key.clone() } else { term::and(key, &mask) };
                term::equal(&masked, &value)
            }
        };
        all = term::and(&all, &one);
    }
    all
}

/// The bounds of what an entry matches: the first and last value of a range and those beside it, and values that differ in the last bit
/// that is compared.
fn bounds_of(value: &MatchValue, key: &Term) -> Vec<Term> {
    match value {
        MatchValue::Range { lo, hi } => range_bounds(lo, hi, key),
        other => match other.value_and_mask(key.width) {
            Some((value, mask)) => beside_mask(&value, &mask, key),
            None => Vec::new(),
        },
    }
}

/// The first and last value of a range, and those beside it.
pub(super) fn range_bounds(lo: &BigUint, hi: &BigUint, key: &Term) -> Vec<Term> {
    let below = (*lo > BigUint::ZERO).then(|| lo - 1u32);
    let above = (*hi < hopwright_ir::bits::mask(key.width)).then(|| hi + 1u32);
    let values = [Some(lo.clone()), Some(hi.clone()), below, above].into_iter().flatten();
    values.map(|value| term::equal(key, &constant(value, key.width))).collect()
}

/// Values that differ from those that a mask accepts in the last bit that is compared, and one that differs in bits that are not.
pub(super) fn beside_mask(value: &BigUint, mask: &BigUint, key: &Term) -> Vec<Term> {
    let Some(last) = mask.trailing_zeros() else { return Vec::new() };
    let all = hopwright_ir::bits::mask(key.width);
    let masked = term::and(key, &constant(mask.clone(), key.width));
    let beside = value ^ (BigUint::from(1u32) << last);
    let mut bounds = vec![term::equal(&masked, &constant(beside, key.width))];
    if *mask != all {
        bounds.push(term::equal(key, &constant((value & mask) | (&all ^ mask), key.width)));
    }
    bounds
}
