//! What is known after a table: which of its actions have run, where a branch is on its outcome.

use std::collections::BTreeSet;
use std::rc::Rc;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::draft::Builder;
use super::flow::{Flow, Masks, Segment, Source, Value};
use crate::{ActionId, Block, Expr, ExprKind, MatchKind, Table, UnaryOp};

/// The operation that applies a table, and the actions that may have run in each arm of a branch.
pub(super) type Outcome = (usize, Vec<BTreeSet<ActionId>>);

/// The actions that a table can run. Entries that nobody can change say so, and leave nothing to the default action if there is
/// one for each value of the key.
pub(super) fn possible_actions(table: &Table) -> BTreeSet<ActionId> {
    let default = table.default_action.action;
    if !table.const_entries || table.implementation.is_some() {
        return table.actions.iter().map(|a| a.action).chain([default]).collect();
    }
    let mut actions: BTreeSet<ActionId> = table.entries.iter().map(|e| e.action.action).collect();
    let values = match table.keys.as_slice() {
        [key] if key.kind == MatchKind::Exact && key.expr.ty.width() < 32 => Some(1 << key.expr.ty.width()),
        _ => None,
    };
    if values != Some(table.entries.len()) {
        actions.insert(default);
    }
    actions
}

/// The actions that entries can have.
pub(super) fn on_hit(table: &Table) -> BTreeSet<ActionId> {
    let all = table.actions.iter().filter(|a| !a.default_only).map(|a| a.action);
    match table.const_entries {
        true => table.entries.iter().map(|e| e.action.action).collect(),
        false => all.chain(table.entries.iter().map(|e| e.action.action)).collect(),
    }
}

/// The actions that can run without an entry.
pub(super) fn on_miss(table: &Table) -> BTreeSet<ActionId> {
    let own = [table.default_action.action];
    match table.const_default_action {
        true => own.into(),
        false => table.actions.iter().filter(|a| !a.table_only).map(|a| a.action).chain(own).collect(),
    }
}

impl Builder<'_> {
    /// The table whose outcome a condition is.
    fn outcome_of(&self, condition: &Value) -> Option<usize> {
        let [Segment { source: Source::Def(def, 0), .. }] = condition.as_slice() else { return None };
        let def = &self.defs[def.0];
        let [op] = def.producers.as_slice() else { return None };
        (def.outcome && self.applied.contains_key(op)).then_some(*op)
    }

    /// If a condition says whether a table has found an entry: the table, and the actions that may have run in both arms.
    pub(super) fn hit_or_miss(&self, condition: &Value, expr: &Expr) -> Option<Outcome> {
        let op = self.outcome_of(condition)?;
        let (mut inner, mut positive) = (expr, true);
        while let ExprKind::Unary(UnaryOp::Not, arg) = &inner.kind {
            (inner, positive) = (arg, !positive);
        }
        if !matches!(inner.kind, ExprKind::Slot(_)) {
            return None;
        }
        let applied = &self.applied[&op];
        let arms = [applied.hit.clone(), applied.miss.clone()];
        Some((op, if positive { arms.into() } else { arms.into_iter().rev().collect() }))
    }

    /// If a switch is on the action that a table has run: the table, and the actions of each arm.
    pub(super) fn action_run(&self, condition: &Value, cases: &[(Vec<BigUint>, Block)]) -> Option<Outcome> {
        let op = self.outcome_of(condition)?;
        let id = |value: &BigUint| value.to_u32().map(ActionId);
        let mut arms: Vec<BTreeSet<ActionId>> = cases.iter().map(|c| c.0.iter().filter_map(id).collect()).collect();
        let named: BTreeSet<ActionId> = arms.iter().flatten().copied().collect();
        arms.push(self.applied[&op].actions.iter().map(|a| a.0).filter(|a| !named.contains(a)).collect());
        Some((op, arms))
    }

    /// What is known in an arm of a branch on a table's outcome: what the actions do not write that may have run is as before.
    pub(super) fn after_actions(
        &mut self,
        op: usize,
        actions: &BTreeSet<ActionId>,
        arm: (usize, usize),
        flow: &mut Flow,
    ) {
        let Some(applied) = self.applied.get(&op) else { return };
        for (slot, before, since) in &applied.variables {
            let writes = applied.actions.iter().any(|(id, written)| actions.contains(id) && written.contains(slot));
            if writes {
                let (_, arms) = self.operations[op].written_in.entry(*slot).or_insert((arm.0, 0));
                *arms |= Masks::arm(arm.1);
            } else if Rc::ptr_eq(&flow.variables[slot.index()].value, since) {
                flow.variables[slot.index()] = before.clone();
            }
        }
    }
}
