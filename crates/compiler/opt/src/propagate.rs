//! Constant and copy propagation.
//!
//! Covers controls and actions as a whole, and each parser state by itself. If the known values decide the next branch, and
//! that branch only leaves a scope, the scope is left at once (jump threading).

use std::collections::HashMap;

use num_bigint::BigUint;
use num_traits::Zero;

use hopwright_ir::{Block, Expr, ExprKind, Pipeline, SlotId, SlotKind, Stmt, StmtKind, Transition, Type};

use super::fold;
use hopwright_ir::analysis::effects::{Effects, SlotSet};
use hopwright_ir::walk;

/// What a slot is known to hold.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    Const(BigUint),
    Slot(SlotId),
}

/// What is known at a program point; `None` if it is unreachable.
type Facts = Option<HashMap<SlotId, Known>>;

/// The branch that follows, and the scopes it leaves if that is all it does.
#[derive(Clone)]
struct Branch {
    cond: Expr,
    then: Option<u32>,
    otherwise: Option<u32>,
}

struct Propagation<'p> {
    pipeline: &'p Pipeline,
    effects: &'p Effects,
    /// By label: the branch after the scope.
    behind: HashMap<u32, Branch>,
    /// By label: what is known where the scope is left.
    leaves: HashMap<u32, Vec<Facts>>,
}

/// Propagates constants and copies through the pipeline.
pub(super) fn propagate(pipeline: &mut Pipeline) {
    let effects = Effects::of(pipeline);
    for i in 0..pipeline.parser.states.len() {
        let mut block = std::mem::take(&mut pipeline.parser.states[i].body);
        let mut transition = std::mem::replace(
            &mut pipeline.parser.states[i].transition,
            Transition::Goto(hopwright_ir::Target::Reject),
        );
        let mut p = Propagation { pipeline, effects: &effects, behind: HashMap::new(), leaves: HashMap::new() };
        let facts = p.block(&mut block, Some(HashMap::new()), None);
        if let (Transition::Select { keys, .. }, Some(facts)) = (&mut transition, &facts) {
            keys.iter_mut().for_each(|k| p.rewrite(k, facts));
        }
        pipeline.parser.states[i].body = block;
        pipeline.parser.states[i].transition = transition;
    }
    // Locals that nothing has written are zero at the start of ingress.
    let mut written = SlotSet::empty(pipeline);
    let mut read = SlotSet::empty(pipeline);
    for block in pipeline.parser.states.iter().map(|s| &s.body).chain([&pipeline.verify_checksum.body]) {
        effects.block(pipeline, block, &mut read, &mut written);
    }
    let mut fresh = HashMap::new();
    for (i, slot) in pipeline.slots.iter().enumerate() {
        let id = SlotId(i as u32);
        if slot.kind == SlotKind::Local && !written.contains(id) && !matches!(slot.ty, Type::Varbit(_)) {
            fresh.insert(id, Known::Const(BigUint::ZERO));
        }
    }
    let mut block = std::mem::take(&mut pipeline.ingress.body);
    Propagation { pipeline, effects: &effects, behind: HashMap::new(), leaves: HashMap::new() }.block(
        &mut block,
        Some(fresh),
        None,
    );
    pipeline.ingress.body = block;
    macro_rules! body {
        ($body:expr) => {
            let mut block = std::mem::take(&mut $body);
            Propagation { pipeline, effects: &effects, behind: HashMap::new(), leaves: HashMap::new() }.block(
                &mut block,
                Some(HashMap::new()),
                None,
            );
            $body = block;
        };
    }
    body!(pipeline.verify_checksum.body);
    body!(pipeline.egress.body);
    body!(pipeline.compute_checksum.body);
    body!(pipeline.deparser.body);
    for i in 0..pipeline.actions.len() {
        body!(pipeline.actions[i].body);
    }
}

impl Propagation<'_> {
    /// `next` is the branch that directly follows the block, if any.
    fn block(&mut self, block: &mut Block, mut facts: Facts, next: Option<&Branch>) -> Facts {
        for i in 0..block.len() {
            let following = match block.get(i + 1) {
                Some(stmt) => branch(stmt),
                None => next.cloned(),
            };
            facts = self.stmt(&mut block[i], facts, following.as_ref());
        }
        if let (Some(known), Some(last)) = (&facts, block.last())
            && let Some(label) = self.decided(next, known)
        {
            let span = last.span;
            block.push(Stmt { kind: StmtKind::Leave(label), span });
            self.leaves.entry(label).or_default().push(facts);
            return None;
        }
        facts
    }

    /// The scope that the branch leaves, if the known values decide it.
    fn decided(&self, branch: Option<&Branch>, known: &HashMap<SlotId, Known>) -> Option<u32> {
        let branch = branch?;
        let mut cond = branch.cond.clone();
        self.rewrite(&mut cond, known);
        let taken = !cond.as_const()?.is_zero();
        if taken { branch.then } else { branch.otherwise }
    }

    fn stmt(&mut self, stmt: &mut Stmt, facts: Facts, next: Option<&Branch>) -> Facts {
        // Unreachable code is left alone.
        let mut known = facts?;
        if !matches!(stmt.kind, StmtKind::Loop { .. }) {
            for expr in walk::stmt_exprs_mut(stmt) {
                self.rewrite(expr, &known);
            }
        }
        match &mut stmt.kind {
            StmtKind::Assign(slot, value) => {
                let slot = *slot;
                kill(&mut known, slot);
                match &value.kind {
                    ExprKind::Const(v) => {
                        known.insert(slot, Known::Const(v.clone()));
                    }
                    ExprKind::Slot(s) if *s != slot => {
                        known.insert(slot, Known::Slot(*s));
                    }
                    _ => {}
                }
                Some(known)
            }
            StmtKind::If { cond, then, otherwise } => {
                let (mut yes, mut no) = (known.clone(), known);
                assume(cond, true, &mut yes);
                assume(cond, false, &mut no);
                let yes = self.block(then, Some(yes), next);
                let no = self.block(otherwise, Some(no), next);
                meet(yes, no)
            }
            StmtKind::Switch { cases, default, .. } => {
                let mut after = self.block(default, Some(known.clone()), next);
                for (_, body) in cases {
                    let end = self.block(body, Some(known.clone()), next);
                    after = meet(after, end);
                }
                after
            }
            StmtKind::Scope { label, body } => {
                let label = *label;
                match next {
                    Some(branch) => self.behind.insert(label, branch.clone()),
                    None => self.behind.remove(&label),
                };
                let mut after = self.block(body, Some(known), next);
                for left in self.leaves.remove(&label).unwrap_or_default() {
                    after = meet(after, left);
                }
                after
            }
            StmtKind::Leave(label) => {
                while let Some(further) = self.decided(self.behind.get(label), &known) {
                    *label = further;
                }
                self.leaves.entry(*label).or_default().push(Some(known));
                None
            }
            StmtKind::Exit => None,
            StmtKind::Verify(cond, _) => {
                assume(cond, true, &mut known);
                Some(known)
            }
            StmtKind::Loop { body, .. } => {
                self.keep_in_loop(body, &mut known);
                self.block(body, Some(known), None);
                // A loop ends only by leaving a scope.
                None
            }
            StmtKind::SetValid(h) | StmtKind::Extract { header: h, .. } => {
                let h = *h;
                walk::header_slots(self.pipeline, h).for_each(|s| kill(&mut known, s));
                known.insert(self.pipeline[h].valid, Known::Const(1u32.into()));
                Some(known)
            }
            StmtKind::SetInvalid(h) => {
                let valid = self.pipeline[*h].valid;
                kill(&mut known, valid);
                known.insert(valid, Known::Const(BigUint::ZERO));
                Some(known)
            }
            _ => {
                self.effects.writes(self.pipeline, stmt, &mut |s| kill(&mut known, s));
                Some(known)
            }
        }
    }

    /// Forgets what the body of a loop changes, because every iteration but the first starts after the body.
    fn keep_in_loop(&self, body: &Block, known: &mut HashMap<SlotId, Known>) {
        let mut reads = SlotSet::empty(self.pipeline);
        let mut writes = SlotSet::empty(self.pipeline);
        self.effects.block(self.pipeline, body, &mut reads, &mut writes);
        known.retain(|slot, value| !writes.contains(*slot) && !matches!(value, Known::Slot(s) if writes.contains(*s)));
    }

    fn rewrite(&self, expr: &mut Expr, known: &HashMap<SlotId, Known>) {
        if let ExprKind::Slot(slot) = expr.kind {
            match known.get(&slot) {
                Some(Known::Const(v)) => expr.kind = ExprKind::Const(v.clone()),
                Some(Known::Slot(s)) => expr.kind = ExprKind::Slot(*s),
                None => {}
            }
            return;
        }
        for operand in walk::operands_mut(expr) {
            self.rewrite(operand, known);
        }
        fold::fold_shallow(expr);
    }
}

/// The statement as a branch.
fn branch(stmt: &Stmt) -> Option<Branch> {
    let leave = |block: &Block| match block.as_slice() {
        [Stmt { kind: StmtKind::Leave(label), .. }] => Some(*label),
        _ => None,
    };
    match &stmt.kind {
        StmtKind::If { cond, then, otherwise } => {
            Some(Branch { cond: cond.clone(), then: leave(then), otherwise: leave(otherwise) })
        }
        _ => None,
    }
}

/// What a condition implies about slots if it is true, or false.
fn assume(cond: &Expr, holds: bool, known: &mut HashMap<SlotId, Known>) {
    match &cond.kind {
        ExprKind::Slot(slot) => {
            known.insert(*slot, Known::Const(u32::from(holds).into()));
        }
        ExprKind::Unary(hopwright_ir::UnaryOp::Not, inner) => assume(inner, !holds, known),
        ExprKind::Binary(hopwright_ir::BinaryOp::LogicalAnd, a, b) if holds => {
            assume(a, true, known);
            assume(b, true, known);
        }
        ExprKind::Binary(hopwright_ir::BinaryOp::LogicalOr, a, b) if !holds => {
            assume(a, false, known);
            assume(b, false, known);
        }
        ExprKind::Binary(op, a, b) => {
            let equal = match op {
                hopwright_ir::BinaryOp::Eq => holds,
                hopwright_ir::BinaryOp::Ne => !holds,
                _ => false,
            };
            if let (true, ExprKind::Slot(slot), ExprKind::Const(v)) = (equal, &a.kind, &b.kind) {
                known.insert(*slot, Known::Const(v.clone()));
            }
        }
        _ => {}
    }
}

/// Forgets the values of a slot and of its copies.
fn kill(known: &mut HashMap<SlotId, Known>, slot: SlotId) {
    known.remove(&slot);
    known.retain(|_, value| !matches!(value, Known::Slot(s) if *s == slot));
}

/// The meet of two data-flow states: what is known on both paths.
fn meet(a: Facts, b: Facts) -> Facts {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.retain(|slot, value| b.get(slot) == Some(value));
            Some(a)
        }
        (a, None) => a,
        (None, b) => b,
    }
}
