//! Walks a control and drafts its operations.

use std::collections::BTreeMap;
use std::rc::Rc;

use num_bigint::BigUint;

use super::access::{access, sets_out};
use super::draft::{Applied, BranchDraft, Builder};
use super::edges;
use super::flow::{DefId, Entry, Flow, Masks, Segment, Source, Value, concat, constant, slice};
use super::outcome::{Outcome, on_hit, on_miss, possible_actions};
use super::{DependencyGraph, OperationKind};
use crate::analysis::effects::SlotSet;
use crate::{
    BinaryOp, Block, Control, Effect, Expr, ExprKind, ExternArg, ExternCall, ExternFn, SlotId, SlotKind, Span, StackId,
    Stmt, StmtKind, TableId, Type, UnaryOp, walk,
};

impl<'p> Builder<'p> {
    pub(super) fn build(mut self, control: &'p Control, live: &SlotSet) -> DependencyGraph<'p> {
        let variables = (self.pipeline.slots.iter().enumerate())
            .map(|(i, slot)| Entry {
                value: Rc::new(self.whole(DefId(i), slot.ty.width())),
                stored: Rc::new(Vec::new()),
            })
            .collect();
        let end = self.block(&control.body, Some(Flow { variables, masks: Masks::default(), facts: Rc::default() }));
        let exits = self.exits.take();
        let mut roots: Vec<usize> =
            self.operations.iter().enumerate().filter(|(_, op)| op.effect).map(|(i, _)| i).collect();
        if let Some(end) = self.join(end, exits) {
            for (i, entry) in end.variables.iter().enumerate() {
                if live.contains(SlotId(i as u32)) {
                    roots.extend(entry.stored.iter());
                }
            }
        }
        edges::finish(self, roots)
    }

    fn block(&mut self, block: &'p Block, mut flow: Option<Flow>) -> Option<Flow> {
        let mut rest = block.as_slice();
        while let [first, after @ ..] = rest {
            flow = match access(rest) {
                Some((call, whole)) => {
                    rest = &rest[whole.len()..];
                    let mut flow = flow?;
                    self.cell(&mut flow, call, whole);
                    Some(flow)
                }
                None => {
                    rest = after;
                    self.stmt(first, flow?)
                }
            };
            self.statement += 1;
        }
        flow
    }

    /// Where paths meet. Variables that differ are read from their places.
    fn join(&mut self, a: Option<Flow>, b: Option<Flow>) -> Option<Flow> {
        let (Some(mut a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
        a.masks = a.masks.join(&b.masks);
        a.keep_common_facts(&b);
        for (i, (x, y)) in a.variables.iter_mut().zip(&b.variables).enumerate() {
            if Rc::ptr_eq(&x.value, &y.value) && Rc::ptr_eq(&x.stored, &y.stored) {
                continue;
            }
            let slot = SlotId(i as u32);
            if x.stored != y.stored {
                let mut stored = x.stored.to_vec();
                stored.extend(y.stored.iter());
                stored.sort_unstable();
                stored.dedup();
                x.stored = Rc::new(stored);
            }
            if x.value != y.value {
                self.places.join(slot, &x.stored);
                let def = self.def(Some(slot), x.stored.to_vec());
                x.value = Rc::new(self.whole(def, self.pipeline[slot].ty.width()));
            }
        }
        Some(a)
    }

    fn stmt(&mut self, stmt: &'p Stmt, mut flow: Flow) -> Option<Flow> {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => self.assign(&mut flow, *slot, None, value, stmt.span),
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                self.assign(&mut flow, *slot, Some((*hi, *lo)), value, stmt.span);
            }
            StmtKind::SetValid(h) => self.set(&mut flow, self.pipeline[*h].valid, constant(1u32.into(), 1), stmt.span),
            StmtKind::SetInvalid(h) => {
                self.set(&mut flow, self.pipeline[*h].valid, constant(BigUint::ZERO, 1), stmt.span);
            }
            StmtKind::CopyHeader { dst, src } => {
                let pipeline = self.pipeline;
                let values: Vec<Value> =
                    walk::header_slots(pipeline, *src).map(|s| flow.variables[s.index()].value.to_vec()).collect();
                for (slot, value) in walk::header_slots(pipeline, *dst).zip(values) {
                    self.set(&mut flow, slot, value, stmt.span);
                }
            }
            StmtKind::PushFront(stack, count) => self.shift(&mut flow, *stack, -i64::from(*count), stmt.span),
            StmtKind::PopFront(stack, count) => self.shift(&mut flow, *stack, i64::from(*count), stmt.span),
            StmtKind::If { cond, then, otherwise } => {
                let condition = self.condition(&mut flow, cond);
                let outcome = self.hit_or_miss(&condition, cond);
                return self.branch(condition, cond.span, Some(cond), &[then, otherwise], outcome, flow);
            }
            StmtKind::Switch { value, cases, default } => {
                let condition = self.condition(&mut flow, value);
                let arms: Vec<&Block> = cases.iter().map(|c| &c.1).chain([default]).collect();
                let outcome = self.action_run(&condition, cases);
                return self.branch(condition, value.span, None, &arms, outcome, flow);
            }
            StmtKind::Scope { label, body } => {
                self.scopes.push((*label, None));
                let end = self.block(body, Some(flow));
                let left = self.scopes.pop().and_then(|s| s.1);
                return self.join(end, left);
            }
            StmtKind::Leave(label) => {
                if let Some(at) = self.scopes.iter().rposition(|s| s.0 == *label) {
                    let left = self.scopes[at].1.take();
                    self.scopes[at].1 = self.join(left, Some(flow));
                }
                return None;
            }
            StmtKind::Exit => {
                let exits = self.exits.take();
                self.exits = self.join(exits, Some(flow));
                return None;
            }
            // A later round may find other values.
            StmtKind::Loop { body, .. } => return self.block(body, Some(Flow { facts: Rc::default(), ..flow })),
            StmtKind::Apply { table, hit, action_run } => {
                self.apply(&mut flow, *table, [*hit, *action_run], stmt.span);
            }
            StmtKind::Extern(call) => self.call(&mut flow, call),
            StmtKind::Extract { .. }
            | StmtKind::ExtractNext { .. }
            | StmtKind::Advance { .. }
            | StmtKind::Lookahead { .. }
            | StmtKind::Verify(..)
            | StmtKind::Emit(_) => {}
        }
        Some(flow)
    }

    fn branch(
        &mut self,
        condition: Value,
        span: Span,
        compared: Option<&Expr>,
        arms: &[&'p Block],
        outcome: Option<Outcome>,
        flow: Flow,
    ) -> Option<Flow> {
        let index = self.branches.len();
        let given = |segment: &Segment| match &segment.source {
            Source::Constant(_) => true,
            Source::Def(def, _) => self.defs[def.0].slot.is_some_and(|s| self.given.contains(s)),
        };
        let free = condition.iter().all(given);
        let guards = self.guards(&flow.masks);
        self.branches.push(BranchDraft { condition, arms: arms.len(), guards, free, span });
        // The first branch on an outcome counts.
        let outcome = outcome.filter(|(op, _)| self.operations[*op].written_in.is_empty());
        let mut end = None;
        for (arm, block) in arms.iter().enumerate() {
            let masks = flow.masks.taking(index, arm);
            let mut taken = Flow { masks, ..flow.clone() };
            match (compared, arm) {
                (Some(cond), 0) => self.facts(&mut taken, cond),
                (Some(cond), _) => self.facts_of_otherwise(&mut taken, cond),
                _ => {}
            }
            if let Some((op, actions)) = &outcome {
                self.after_actions(*op, &actions[arm], (index, arm), &mut taken);
            }
            let after = self.block(block, Some(taken));
            end = self.join(end, after);
        }
        end
    }

    /// Assigns an expression to a variable or to some bits of it.
    fn assign(&mut self, flow: &mut Flow, slot: SlotId, bits: Option<(u32, u32)>, value: &'p Expr, span: Span) {
        if self.given.contains(slot) || sets_out(slot, value) {
            return;
        }
        if let (None, Some(number)) = (bits, value.as_const()) {
            if flow.is_known(slot, number) {
                return;
            }
            if number.bits() == 0 && self.is_unset_parameter(span) {
                // An argument that stands for its parameter is left as it is.
                if !matches!(self.pipeline[slot].kind, SlotKind::Local) {
                    return;
                }
                let width = self.pipeline[slot].ty.width();
                self.store(flow, slot, None, constant(BigUint::ZERO, width), Vec::new());
                return;
            }
        }
        if let (None, ExprKind::Slot(source)) = (bits, &value.kind)
            && self.renames(flow, *source, slot)
        {
            let entry = flow.variables[source.index()].clone();
            for op in entry.stored.iter() {
                if !self.operations[*op].writes.contains(&slot) {
                    self.operations[*op].writes.push(slot);
                    self.operations[*op].aliases.insert(slot, *source);
                }
            }
            self.places.join(slot, &entry.stored);
            self.renamed.insert((*source, slot));
            flow.variables[slot.index()] = entry;
            return;
        }
        let first = self.operations.len();
        let value = self.eval(flow, value);
        let mut stored = Vec::new();
        let mut moved = Value::new();
        for segment in &value {
            // The last operators of the expression write the variable themselves, as does the call of an extern whose result it is.
            let last = self.operations.len().saturating_sub(1);
            let producer = match segment.source {
                Source::Def(DefId(def), 0)
                    if self.defs[def].producers.as_slice() == [last] && self.is_result(flow, def) =>
                {
                    self.operations[last].writes.push(slot);
                    self.places.join(slot, &[last]);
                    stored.push(last);
                    continue;
                }
                Source::Def(DefId(def), _) if self.defs[def].slot.is_none_or(|s| s == slot) => {
                    let producers = self.defs[def].producers.as_slice();
                    let only = (producers.len() == 1 && producers[0] >= first).then(|| producers[0]);
                    if only.is_some() {
                        self.defs[def].slot = Some(slot);
                    }
                    only
                }
                _ => None,
            };
            match producer {
                Some(op) if stored.contains(&op) => {}
                Some(op) => {
                    self.operations[op].writes = vec![slot];
                    stored.push(op);
                }
                None => moved.push(segment.clone()),
            }
        }
        if !moved.is_empty() {
            stored.push(self.mover(flow, slot, moved, span));
        }
        if let Some((hi, lo)) = bits {
            for op in stored.iter().filter(|op| **op >= first) {
                self.operations[*op].written_bits.insert(slot, (lo, hi + 1));
            }
        }
        self.store(flow, slot, bits, value, stored);
    }

    /// Whether an assignment of zero stands for the `out` parameter of a control that is applied: the target leaves it as it is.
    fn is_unset_parameter(&self, span: Span) -> bool {
        self.has_given && self.pipeline.sources.snippet(span).contains(".apply(")
    }

    /// What is known in the first arm of a branch: the values of variables that the condition compares with constants.
    fn facts(&self, flow: &mut Flow, condition: &Expr) {
        match &condition.kind {
            ExprKind::Binary(BinaryOp::LogicalAnd, a, b) => {
                self.facts(flow, a);
                self.facts(flow, b);
            }
            ExprKind::Binary(BinaryOp::Eq, a, b) => {
                let known = a.as_const().map(|number| (b, number)).or_else(|| b.as_const().map(|number| (a, number)));
                if let Some((other, number)) = known
                    && let ExprKind::Slot(slot) = other.kind
                {
                    flow.learn(slot, number.clone());
                }
            }
            ExprKind::Slot(slot) if condition.ty == Type::Bool => flow.learn(*slot, 1u32.into()),
            ExprKind::Unary(UnaryOp::Not, inner) => {
                if let ExprKind::Slot(slot) = inner.kind {
                    flow.learn(slot, BigUint::ZERO);
                }
            }
            _ => {}
        }
    }

    /// The same in the second arm.
    fn facts_of_otherwise(&self, flow: &mut Flow, condition: &Expr) {
        match &condition.kind {
            ExprKind::Slot(slot) if condition.ty == Type::Bool => flow.learn(*slot, BigUint::ZERO),
            ExprKind::Unary(UnaryOp::Not, inner) => self.facts(flow, inner),
            ExprKind::Binary(BinaryOp::LogicalOr, a, b) => {
                self.facts_of_otherwise(flow, a);
                self.facts_of_otherwise(flow, b);
            }
            ExprKind::Binary(BinaryOp::Ne, a, b) => {
                let known = a.as_const().map(|number| (b, number)).or_else(|| b.as_const().map(|number| (a, number)));
                if let Some((other, number)) = known
                    && let ExprKind::Slot(slot) = other.kind
                {
                    flow.learn(slot, number.clone());
                }
            }
            _ => {}
        }
    }

    /// Whether a copy is another name for a variable, as those to and from parameters of controls are.
    fn renames(&self, flow: &Flow, from: SlotId, to: SlotId) -> bool {
        let local = |slot: SlotId| matches!(self.pipeline[slot].kind, SlotKind::Local);
        let same = self.pipeline[from].ty.width() == self.pipeline[to].ty.width();
        let stored = &flow.variables[from.index()].stored;
        let all = |b: usize| Masks::all(self.branches[b].arms);
        let of = |op: &usize| &self.operations[*op];
        let here = || stored.iter().all(|op| of(op).writes.contains(&to) || of(op).masks.within(&flow.masks, all));
        same && (local(to) || local(from) && !stored.is_empty() && here())
    }

    /// Whether a value is what the call of an extern has just written to a local variable.
    fn is_result(&self, flow: &Flow, def: usize) -> bool {
        let local = |slot: SlotId| matches!(self.pipeline[slot].kind, SlotKind::Local);
        let is_last = |op: &usize| op + 1 == self.operations.len();
        let [op] = self.defs[def].producers.as_slice() else { return false };
        let draft = &self.operations[*op];
        let called = matches!(draft.kind, OperationKind::Extern(_)) && draft.masks.same(&flow.masks);
        is_last(op) && called && self.defs[def].slot.is_none_or(local)
    }

    /// Sets a variable to wires.
    fn set(&mut self, flow: &mut Flow, slot: SlotId, value: Value, span: Span) {
        if *flow.variables[slot.index()].value != value {
            let op = self.mover(flow, slot, value.clone(), span);
            self.store(flow, slot, None, value, vec![op]);
        }
    }

    fn mover(&mut self, flow: &Flow, slot: SlotId, operands: Value, span: Span) -> usize {
        let op = self.operation(flow, OperationKind::Move, span);
        self.operations[op].operands = operands;
        self.operations[op].writes = vec![slot];
        op
    }

    /// Notes what a variable is, and which operations have put it there.
    fn store(&mut self, flow: &mut Flow, slot: SlotId, bits: Option<(u32, u32)>, value: Value, mut stored: Vec<usize>) {
        let entry = &mut flow.variables[slot.index()];
        let value = match bits {
            None => value,
            Some((hi, lo)) => {
                let width = self.pipeline[slot].ty.width();
                stored.extend(entry.stored.iter());
                let below = slice(&entry.value, 0, lo);
                concat(concat(below, value), slice(&entry.value, hi + 1, width - hi - 1))
            }
        };
        stored.sort_unstable();
        stored.dedup();
        self.places.join(slot, &stored);
        *entry = Entry { value: Rc::new(value), stored: Rc::new(stored) };
    }

    /// Moves the elements of a stack towards its beginning.
    fn shift(&mut self, flow: &mut Flow, stack: StackId, by: i64, span: Span) {
        let pipeline = self.pipeline;
        let elements = &pipeline[stack].elements;
        let before = flow.variables.clone();
        for (i, &element) in elements.iter().enumerate() {
            let from = usize::try_from(i as i64 + by).ok().and_then(|from| elements.get(from));
            match from {
                Some(&from) => {
                    for (to, from) in walk::header_slots(pipeline, element).zip(walk::header_slots(pipeline, from)) {
                        self.set(flow, to, before[from.index()].value.to_vec(), span);
                    }
                }
                None => self.set(flow, pipeline[element].valid, constant(BigUint::ZERO, 1), span),
            }
        }
    }

    fn apply(&mut self, flow: &mut Flow, table: TableId, outcomes: [Option<SlotId>; 2], span: Span) {
        let pipeline = self.pipeline;
        let declaration = &pipeline[table];
        let mut matched = Value::new();
        for key in &declaration.keys {
            matched.extend(self.compared(flow, &key.expr));
        }
        let op = self.operation(flow, OperationKind::Apply(table), span);
        let actions = possible_actions(declaration);
        let mut always: BTreeMap<SlotId, usize> = BTreeMap::new();
        let mut written = Vec::new();
        let mut depth = 1;
        for &action in &actions {
            let body = self.action(flow, &pipeline[action].body);
            written.push((action, body.writes.keys().copied().collect()));
            depth = depth.max(body.depth);
            let draft = &mut self.operations[op];
            draft.operands.extend(body.reads);
            draft.objects.extend(body.objects);
            for (slot, whole) in body.writes {
                *always.entry(slot).or_default() += usize::from(whole);
            }
        }
        let draft = &mut self.operations[op];
        draft.objects.sort_unstable();
        draft.objects.dedup();
        draft.matched = matched;
        draft.depth = depth;
        draft.effect = true;
        let mut variables = Vec::new();
        for (slot, by) in always {
            if self.given.contains(slot) {
                continue;
            }
            let before = flow.variables[slot.index()].clone();
            self.operations[op].writes.push(slot);
            self.write(flow, slot, op, by < actions.len());
            variables.push((slot, before, flow.variables[slot.index()].value.clone()));
        }
        let (hit, miss) = (on_hit(declaration), on_miss(declaration));
        self.applied.insert(op, Applied { variables, actions: written, hit, miss });
        for slot in outcomes.into_iter().flatten() {
            let def = self.write(flow, slot, op, false);
            self.defs[def.0].outcome = true;
        }
    }

    /// An operation writes a variable; with `keep` it may leave it as it is.
    fn write(&mut self, flow: &mut Flow, slot: SlotId, op: usize, keep: bool) -> DefId {
        let entry = &mut flow.variables[slot.index()];
        let mut stored = if keep { entry.stored.to_vec() } else { Vec::new() };
        stored.push(op);
        stored.dedup();
        self.places.join(slot, &stored);
        let def = self.def(Some(slot), stored.clone());
        let value = self.whole(def, self.pipeline[slot].ty.width());
        flow.variables[slot.index()] = Entry { value: Rc::new(value), stored: Rc::new(stored) };
        def
    }

    /// What happens to a cell of a register between the call that reads it and the one that writes it.
    fn cell(&mut self, flow: &mut Flow, call: &'p ExternCall, whole: &'p [Stmt]) {
        let body = self.action(flow, whole);
        let op = self.operation(flow, OperationKind::Extern(call), call.span);
        let draft = &mut self.operations[op];
        draft.operands = body.reads;
        draft.objects = body.objects;
        draft.objects.dedup();
        draft.effect = true;
        for (slot, always) in body.writes {
            self.operations[op].writes.push(slot);
            self.write(flow, slot, op, !always);
        }
    }

    fn call(&mut self, flow: &mut Flow, call: &'p ExternCall) {
        let info = call.function.info();
        // Messages to people are not the target's, and in packages of several passes the last decision on a packet is not the
        // program's.
        match &call.function {
            ExternFn::LogMsg(_) | ExternFn::Assert | ExternFn::Assume => return,
            _ if info.effect == Effect::Packet && self.has_given => return,
            _ => {}
        }
        let mut operands = Value::new();
        for arg in &call.args {
            match arg {
                ExternArg::In(value) => operands.extend(self.eval(flow, value)),
                ExternArg::List(values) => {
                    for value in values {
                        operands.extend(self.eval(flow, value));
                    }
                }
                ExternArg::InOut(slot) => operands.extend(flow.variables[slot.index()].value.to_vec()),
                ExternArg::Out(_) => {}
            }
        }
        let op = self.operation(flow, OperationKind::Extern(call), call.span);
        self.operations[op].operands = operands;
        self.operations[op].objects.extend(call.function.object());
        self.operations[op].effect = info.effect != Effect::None;
        for arg in &call.args {
            if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                self.operations[op].writes.push(*slot);
                self.write(flow, *slot, op, !info.writes_results);
            }
        }
    }
}
