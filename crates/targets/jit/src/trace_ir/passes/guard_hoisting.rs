//! Guard hoisting: guards on values that are the same for all packets of a batch move to the beginning of the tree, where code tests
//! them once for a batch. If one of them fails, packets leave that would have completed other traces.

use crate::trace_ir::values::{Invariance, Op, ValueId, Values};
use crate::trace_ir::verify::Established;
use crate::trace_ir::{End, Guard, NodeId, TraceIr};

/// Runs the pass.
pub(super) fn run(ir: &mut TraceIr) {
    let is_invariant = |values: &Values, condition: ValueId| values[condition].invariance <= Invariance::Batch;
    // Decisions about invariants, everywhere in the tree.
    let mut decisions: Vec<(ValueId, Option<bool>)> = Vec::new();
    for node in &ir.nodes {
        let guards = node.guards.iter().map(|guard| (guard.condition, Some(guard.holds)));
        let branch = match &node.end {
            End::Branch { condition, .. } => Some((*condition, None)),
            _ => None,
        };
        decisions.extend(guards.chain(branch).filter(|(condition, _)| is_invariant(&ir.values, *condition)));
    }
    // A guard stays where it is if other traces decide differently, or compare the same value with something else.
    let subject = |values: &Values, condition: ValueId| match values[condition].op {
        Op::Binary(_, compared, _) => Some(compared),
        Op::Is(entry, _) => Some(entry),
        _ => None,
    };
    let is_common = |values: &Values, guard: &Guard| {
        decisions.iter().all(|(condition, holds)| match *condition == guard.condition {
            true => *holds == Some(guard.holds),
            false => subject(values, *condition).is_none_or(|it| Some(it) != subject(values, guard.condition)),
        })
    };
    let mut hoisted: Vec<Guard> = Vec::new();
    let mut established = Established::default();
    let mut work = vec![NodeId(0)];
    while let Some(id) = work.pop() {
        let values = &ir.values;
        let movable = |guard: &Guard| is_invariant(values, guard.condition) && is_common(values, guard);
        let mut rest = Vec::new();
        for guard in std::mem::take(&mut ir.nodes[id.index()].guards) {
            if !movable(&guard) || established.check(values, guard.condition).is_err() {
                rest.push(guard);
            } else if hoisted.iter().all(|other| other.condition != guard.condition) {
                established.add(values, guard.condition, guard.holds);
                hoisted.push(guard);
            }
        }
        let node = &mut ir.nodes[id.index()];
        node.guards = rest;
        work.extend(node.end.targets());
    }
    ir[NodeId(0)].guards.splice(0..0, hoisted);
}
