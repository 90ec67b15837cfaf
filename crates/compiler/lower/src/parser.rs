//! Lowers the parser graph: states map one to one, and sub-parsers are cloned to where they are applied.

use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;

use crate::storage::{Loc, Place};
use crate::value::{Target, Value, binary};
use crate::{Lowering, Result};
use hopwright_ir::{
    BinaryOp, Expr, KeySet, Parser, SelectCase, State, StateId, Stmt, StmtKind, Target as Next, Transition, Type,
    ValueSet, ValueSetId,
};
use hopwright_opt::fold;

impl Lowering<'_> {
    /// Lowers all value sets. Their ids are their positions.
    pub(crate) fn value_sets(&mut self) {
        for set in &self.program.value_sets {
            let mut types = Vec::new();
            self.leaf_types(&set.ty, &mut types);
            if types.is_empty() {
                self.unsupported(set.span, "a value set of this type");
            }
            let name = set.name.clone();
            self.value_sets.push(ValueSet { name, id: None, types, size: set.size, span: set.span });
        }
    }

    fn leaf_types(&self, ty: &hir::Type, out: &mut Vec<Type>) {
        match (self.scalar_type(ty), ty) {
            (Some(ty), _) => out.push(ty),
            (None, hir::Type::Struct(id)) => {
                self.program[*id].fields.iter().for_each(|f| self.leaf_types(&f.ty, out));
            }
            (None, hir::Type::Tuple(types)) => types.iter().for_each(|t| self.leaf_types(t, out)),
            _ => {}
        }
    }

    /// Lowers the top-level parser, whose parameters are bound.
    pub(crate) fn parser(&mut self, id: hir::InstanceId) -> Result<Parser> {
        let instance = &self.program[id];
        self.in_parser = true;
        self.scope = instance.name.clone();
        // A state for the statements before the start state.
        self.states.clear();
        self.new_state("$entry".into(), instance.span);
        self.state = 0;
        self.block = Vec::new();
        let start = self.states_of(id, "", Next::Accept);
        self.in_parser = false;
        let start = start?;
        let entry = std::mem::take(&mut self.block);
        let start = self.join_entry(entry, start);
        Ok(Parser { name: instance.name.clone(), states: std::mem::take(&mut self.states), start, span: instance.span })
    }

    /// Removes the entry state if it is empty or the start state can take its statements.
    fn join_entry(&mut self, mut entry: Vec<Stmt>, start: StateId) -> StateId {
        let targeted = self.states.iter().any(|s| targets(&s.transition).contains(&Next::State(start)));
        if !entry.is_empty() && targeted {
            self.states[0].body = entry;
            self.states[0].transition = Transition::Goto(Next::State(start));
            return StateId(0);
        }
        let body = &mut self.states[start.0 as usize].body;
        entry.append(body);
        *body = entry;
        self.states.remove(0);
        for state in &mut self.states {
            for target in targets_mut(&mut state.transition) {
                if let Next::State(id) = target {
                    id.0 -= 1;
                }
            }
        }
        StateId(start.0 - 1)
    }

    fn new_state(&mut self, name: String, span: Span) -> usize {
        let name = self.unique(&name);
        self.states.push(State { name, body: Vec::new(), transition: Transition::Goto(Next::Reject), span });
        self.states.len() - 1
    }

    /// Ends the state being built and continues in `next`.
    fn switch_state(&mut self, transition: Transition, next: usize) {
        let state = &mut self.states[self.state];
        state.body = std::mem::take(&mut self.block);
        state.transition = transition;
        self.state = next;
    }

    /// Lowers a parser instance's states; the initialisers of its variables go into the state being built. Returns its
    /// start state.
    fn states_of(&mut self, id: hir::InstanceId, prefix: &str, accept: Next) -> Result<StateId> {
        let instance = &self.program[id];
        let hir::InstanceBody::Parser(states) = &instance.body else {
            return Err(self.unsupported(instance.span, "a control in the place of a parser"));
        };
        let Some(start) = states.iter().position(|s| s.name == "start") else {
            return Err(self.refuse(instance.span, "E0454", "the parser has no state `start`".into()));
        };
        self.stmts(&instance.locals);
        let first = self.states.len();
        for state in states {
            self.new_state(format!("{prefix}{}", state.name), state.span);
        }
        let resume = (self.state, std::mem::take(&mut self.block));
        let repeats = self.repeats;
        let on_cycles = on_cycles(states);
        for (i, state) in states.iter().enumerate() {
            self.state = first + i;
            self.repeats = repeats || on_cycles[i];
            self.stmts(&state.body);
            let next = |target: hir::StateRef| match target {
                hir::StateRef::State(i) => Next::State(StateId((first + i) as u32)),
                hir::StateRef::Accept => accept,
                hir::StateRef::Reject => Next::Reject,
            };
            let transition = match &state.transition {
                hir::Transition::Goto(target) => Transition::Goto(next(*target)),
                hir::Transition::Select { keys, cases, span } => {
                    // A failure has been reported already.
                    self.select(keys, cases, *span, next).unwrap_or(Transition::Goto(Next::Reject))
                }
            };
            self.switch_state(transition, 0);
        }
        self.repeats = repeats;
        (self.state, self.block) = resume;
        Ok(StateId((first + start) as u32))
    }

    /// Applies a sub-parser whose parameters are bound.
    pub(crate) fn inline_parser(
        &mut self,
        id: hir::InstanceId,
        copy_outs: Vec<(Target, Place)>,
        span: Span,
    ) -> Result<()> {
        let (name, state_span) = (self.states[self.state].name.clone(), self.states[self.state].span);
        let instance = &self.program[id];
        let after = self.new_state(format!("{name}$after"), state_span);
        let short = instance.name.rsplit('.').next().unwrap_or(&instance.name).to_string();
        let running = (!copy_outs.is_empty()).then(|| self.temp(Type::Bool, span));
        if let Some(running) = running {
            self.emit(StmtKind::Assign(running, Expr::boolean(true, span)), span);
            self.unfinished.push((running, copy_outs.clone()));
        }
        let start = self.states_of(id, &format!("{short}."), Next::State(StateId(after as u32)))?;
        self.switch_state(Transition::Goto(Next::State(start)), after);
        for (target, place) in copy_outs {
            self.store(&target, Value::Loc(Loc::Place(place)), span)?;
        }
        if let Some(running) = running {
            self.emit(StmtKind::Assign(running, Expr::boolean(false, span)), span);
        }
        Ok(())
    }

    /// Lowers a conditional statement whose branches apply parsers: each branch becomes states.
    pub(crate) fn branch_of_states(&mut self, cond: Expr, then: &[hir::Stmt], otherwise: &[hir::Stmt], span: Span) {
        let name = self.states[self.state].name.clone();
        let [yes, no, after] = ["then", "else", "after"].map(|what| self.new_state(format!("{name}${what}"), span));
        let case = |set, state| SelectCase { sets: vec![set], target: Next::State(StateId(state as u32)), span };
        let cases = vec![case(KeySet::Value(BigUint::from(1u32)), yes), case(KeySet::Any, no)];
        self.switch_state(Transition::Select { keys: vec![cond], cases }, yes);
        let join = || Transition::Goto(Next::State(StateId(after as u32)));
        self.stmts(then);
        self.switch_state(join(), no);
        self.stmts(otherwise);
        self.switch_state(join(), after);
    }

    fn select(
        &mut self,
        keys: &[hir::Expr],
        cases: &[hir::SelectCase],
        span: Span,
        next: impl Fn(hir::StateRef) -> Next,
    ) -> Result<Transition> {
        let mut lowered: Vec<Expr> = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            let value = self.value(key)?;
            let later = keys[i + 1..].iter().any(|k| self.has_effects(k));
            let value = if later { self.freeze_value(value, key.span)? } else { value };
            self.flatten(&value, key.span, &mut lowered)?;
        }
        let plain = lowered.len();
        // A set that is not constant, and a value set beside other sets, become a boolean key: whether the set contains
        // the value.
        let computed = cases.iter().any(|c| c.sets.iter().any(|s| is_computed(s, c.sets.len() > 1)));
        let mut rows = Vec::new();
        for case in cases {
            let mut sets = Vec::with_capacity(plain);
            let mut condition: Option<Expr> = None;
            match case.sets.as_slice() {
                [hir::Set::ValueSet(id)] if computed => {
                    sets.resize(plain, KeySet::Any);
                    condition = Some(self.in_value_set(*id, &lowered, case.span));
                }
                [hir::Set::ValueSet(id)] => sets.push(KeySet::ValueSet(ValueSetId(id.0))),
                [hir::Set::Any] => sets.resize(plain, KeySet::Any),
                all if all.len() != plain => {
                    return Err(self.unsupported(case.span, "a select over values that are no scalars"));
                }
                all => {
                    for (set, key) in all.iter().zip(&lowered) {
                        let (set, cond) = self.key_set(set, key, case.span)?;
                        sets.push(set);
                        condition = match (condition, cond) {
                            (Some(a), Some(b)) => Some(binary(BinaryOp::LogicalAnd, a, b, Type::Bool, case.span)),
                            (a, b) => a.or(b),
                        };
                    }
                }
            }
            rows.push((sets, condition, case));
        }
        let mut keys = lowered;
        let mut lowered_cases = Vec::new();
        let computed: Vec<Expr> = rows.iter().filter_map(|r| r.1.clone()).collect();
        let total = plain + computed.len();
        keys.extend(computed);
        let mut at = plain;
        for (mut sets, condition, case) in rows {
            if !matches!(sets.as_slice(), [KeySet::ValueSet(_)]) {
                sets.resize(total, KeySet::Any);
                if condition.is_some() {
                    sets[at] = KeySet::Value(BigUint::from(1u32));
                    at += 1;
                }
            }
            lowered_cases.push(SelectCase { sets, target: next(case.target), span: case.span });
        }
        let complete = lowered_cases.iter().any(|c| c.sets.iter().all(|set| matches!(set, KeySet::Any)));
        if !complete && let Some(target) = self.no_match(span) {
            lowered_cases.push(SelectCase { sets: vec![KeySet::Any; total], target, span });
        }
        Ok(Transition::Select { keys, cases: lowered_cases })
    }

    /// The state in which a `select` without a matching case ends (P4-16 13.6). BMv2's `simple_switch` ignores such packets'
    /// error, and so does v1model here.
    fn no_match(&mut self, span: Span) -> Option<Next> {
        if !self.is_portable() {
            return None;
        }
        let error = self.program.errors.iter().position(|e| e == "NoMatch")?;
        let name = format!("{}$no_match", self.states[self.state].name);
        let state = self.new_state(name, span);
        let error = Expr::constant(error, Type::Bits(16), span);
        let kind = StmtKind::Verify(Expr::boolean(false, span), error);
        self.states[state].body = vec![Stmt { kind, span }];
        Some(Next::State(StateId(state as u32)))
    }

    /// Tests in separate states whether the keys are a member of a value set.
    fn in_value_set(&mut self, id: hir::ValueSetId, keys: &[Expr], span: Span) -> Expr {
        let found = self.temp(Type::Bool, span);
        let name = self.states[self.state].name.clone();
        let [yes, no, after] = ["member", "other", "after"].map(|what| self.new_state(format!("{name}${what}"), span));
        let case = |sets, state| SelectCase { sets, target: Next::State(StateId(state as u32)), span };
        let cases = vec![case(vec![KeySet::ValueSet(ValueSetId(id.0))], yes), case(vec![KeySet::Any; keys.len()], no)];
        self.switch_state(Transition::Select { keys: keys.to_vec(), cases }, yes);
        for (value, next) in [(true, no), (false, after)] {
            self.emit(StmtKind::Assign(found, Expr::boolean(value, span)), span);
            self.switch_state(Transition::Goto(Next::State(StateId(after as u32))), next);
        }
        self.slot_expr(found, span)
    }

    /// Returns a set of constants; or [`KeySet::Any`] and the condition that the key is in the set.
    fn key_set(&mut self, set: &hir::Set, key: &Expr, span: Span) -> Result<(KeySet, Option<Expr>)> {
        let compare = |op, a: Expr, b: Expr| binary(op, a, b, Type::Bool, span);
        Ok(match set {
            hir::Set::Any => (KeySet::Any, None),
            hir::Set::Value(v) => {
                let v = fold::folded(self.scalar(v)?);
                match v.as_const() {
                    Some(v) => (KeySet::Value(v.clone()), None),
                    None => (KeySet::Any, Some(compare(BinaryOp::Eq, key.clone(), v))),
                }
            }
            hir::Set::Mask(v, m) => {
                let v = fold::folded(self.scalar(v)?);
                let m = fold::folded(self.scalar(m)?);
                match (v.as_const(), m.as_const()) {
                    (Some(v), Some(m)) => (KeySet::Mask(v & m, m.clone()), None),
                    _ => {
                        let a = binary(BinaryOp::And, key.clone(), m.clone(), key.ty, span);
                        let b = binary(BinaryOp::And, v, m, key.ty, span);
                        (KeySet::Any, Some(compare(BinaryOp::Eq, a, b)))
                    }
                }
            }
            hir::Set::Range(lo, hi) => {
                let lo = fold::folded(self.scalar(lo)?);
                let hi = fold::folded(self.scalar(hi)?);
                match (lo.as_const(), hi.as_const()) {
                    (Some(lo), Some(hi)) => (KeySet::Range(lo.clone(), hi.clone()), None),
                    _ => {
                        let above = compare(BinaryOp::Ge, key.clone(), lo);
                        let below = compare(BinaryOp::Le, key.clone(), hi);
                        (KeySet::Any, Some(compare(BinaryOp::LogicalAnd, above, below)))
                    }
                }
            }
            hir::Set::ValueSet(id) => (KeySet::Any, Some(self.in_value_set(*id, std::slice::from_ref(key), span))),
        })
    }
}

/// Returns whether a set needs a boolean key. `several` says that it is one of several in a row.
fn is_computed(set: &hir::Set, several: bool) -> bool {
    use hir::ExprKind::{Bool, EnumMember, Error, Int};
    let constant = |e: &hir::Expr| matches!(e.kind, Int(_) | Bool(_) | Error(_) | EnumMember(..));
    match set {
        hir::Set::Any => false,
        hir::Set::ValueSet(_) => several,
        hir::Set::Value(v) => !constant(v),
        hir::Set::Mask(a, b) | hir::Set::Range(a, b) => !constant(a) || !constant(b),
    }
}

/// Returns whether statements of a state apply a parser.
pub(crate) fn applies_parser(stmts: &[hir::Stmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        hir::StmtKind::Call(call) => matches!(call.callee, hir::Callee::Instance(_)),
        hir::StmtKind::If(_, a, b) => applies_parser(a) || applies_parser(b),
        hir::StmtKind::Block(body) => applies_parser(body),
        _ => false,
    })
}

/// Returns for each state whether it can be entered again after it was left: whether it is on a cycle. Tarjan's
/// algorithm for strongly connected components, without recursion, because parsers may have very many states.
fn on_cycles(states: &[hir::State]) -> Vec<bool> {
    const UNSEEN: usize = usize::MAX;
    let follow = |state: usize| -> Vec<usize> {
        let target = |target: &hir::StateRef| if let hir::StateRef::State(i) = target { Some(*i) } else { None };
        match &states[state].transition {
            hir::Transition::Goto(next) => target(next).into_iter().collect(),
            hir::Transition::Select { cases, .. } => cases.iter().filter_map(|c| target(&c.target)).collect(),
        }
    };
    let mut on_cycle = vec![false; states.len()];
    // The order in which states are seen, and the earliest state on the stack that each reaches.
    let (mut seen, mut lowest) = (vec![UNSEEN; states.len()], vec![UNSEEN; states.len()]);
    let (mut count, mut stack, mut stacked) = (0, Vec::new(), vec![false; states.len()]);
    for root in 0..states.len() {
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = (seen[root] == UNSEEN).then_some(root);
        loop {
            if let Some(state) = enter.take() {
                (seen[state], lowest[state]) = (count, count);
                count += 1;
                stack.push(state);
                stacked[state] = true;
                path.push((state, follow(state)));
            }
            let Some((state, todo)) = path.last_mut() else { break };
            let state = *state;
            match todo.pop() {
                Some(next) if seen[next] == UNSEEN => enter = Some(next),
                Some(next) => {
                    on_cycle[state] |= next == state;
                    if stacked[next] {
                        lowest[state] = lowest[state].min(seen[next]);
                    }
                }
                None => {
                    path.pop();
                    if let Some((before, _)) = path.last() {
                        lowest[*before] = lowest[*before].min(lowest[state]);
                    }
                    if lowest[state] == seen[state] {
                        let at = stack.iter().rposition(|s| *s == state).unwrap_or(0);
                        let component = stack.split_off(at);
                        for member in &component {
                            stacked[*member] = false;
                            on_cycle[*member] |= component.len() > 1;
                        }
                    }
                }
            }
        }
    }
    on_cycle
}

fn targets(transition: &Transition) -> Vec<Next> {
    match transition {
        Transition::Goto(target) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
    }
}

pub(crate) fn targets_mut(transition: &mut Transition) -> Vec<&mut Next> {
    match transition {
        Transition::Goto(target) => vec![target],
        Transition::Select { cases, .. } => cases.iter_mut().map(|c| &mut c.target).collect(),
    }
}
