//! Guard sinking: guards that depend on an encrypted block move to the nodes where traces end, so that all blocks of a packet are
//! encrypted at once. Of the other guards there, only those stay in front that encryption needs, and those that look something up:
//! what others test is not kept while blocks are encrypted. A lookup by what another one has found goes behind encryption, so that
//! packets wait for one lookup in front of it and for one behind it.

use std::collections::HashMap;

use super::guard_coalescing::asks;
use crate::trace_ir::values::{Invariance, Op, ValueId, Values};
use crate::trace_ir::verify::Established;
use crate::trace_ir::{End, Guard, NodeId, TraceIr};

/// Runs the pass.
pub(super) fn run(ir: &mut TraceIr) {
    let is_after_cipher = |values: &Values, v: ValueId| values[v].invariance == Invariance::AfterCipher;
    let mut work: Vec<(NodeId, Vec<Guard>, Established)> = vec![(NodeId(0), Vec::new(), Established::default())];
    while let Some((id, mut sinking, mut established)) = work.pop() {
        let values = &ir.values;
        let node = &mut ir.nodes[id.index()];
        let own = node.guards.iter().position(|guard| is_after_cipher(values, guard.condition));
        let behind = if sinking.is_empty() { own.unwrap_or(0) } else { 0 };
        sinking.extend(node.guards.extract_if(.., |guard| is_after_cipher(values, guard.condition)));
        let sinks = match &node.end {
            // Packets leave anyway.
            End::Exit { .. } => continue,
            End::Branch { condition, .. } => !is_after_cipher(values, *condition),
            End::Leaf(_) => false,
        };
        if !sinks && !sinking.is_empty() {
            let rest = take_others(values, &established, &mut node.guards, behind, &sinking);
            node.guards.extend(sinking.drain(..).chain(rest));
        }
        established = established.behind(values, &node.guards);
        let targets = established.at_targets(values, &node.end).into_iter();
        work.extend(targets.map(|(target, established)| (target, sinking.clone(), established)));
    }
}

/// Removes guards that are not needed by the guards that stay and those behind them. Of the first `lookups`, those stay, too, that
/// look up something for each packet by what no other lookup has found. Returns the removed guards.
fn take_others(
    values: &Values,
    before: &Established,
    guards: &mut Vec<Guard>,
    lookups: usize,
    behind: &[Guard],
) -> Vec<Guard> {
    let mut taken = Vec::new();
    for i in (0..guards.len()).rev() {
        let condition = guards[i].condition;
        let looks_up = values[condition].invariance > Invariance::Batch && asks(values, condition);
        let stays = i < lookups && looks_up && lookups_in_a_row(values, condition) < 2;
        let others = guards[..i].iter().chain(&guards[i + 1..]).chain(behind);
        if !stays && before.clone().are_safe(values, others) {
            taken.push(guards.remove(i));
        }
    }
    taken.reverse();
    taken
}

/// The number of lookups of which each needs what the one before it has found.
fn lookups_in_a_row(values: &Values, v: ValueId) -> u32 {
    let mut known: HashMap<ValueId, u32> = HashMap::new();
    let mut work = vec![v];
    while let Some(&v) = work.last() {
        let op = &values[v].op;
        let operands = op.operands();
        let missing = operands.iter().copied().filter(|operand| !known.contains_key(operand)).collect::<Vec<_>>();
        if missing.is_empty() {
            let before = operands.iter().map(|operand| known[operand]).max().unwrap_or(0);
            known.insert(v, before + u32::from(matches!(op, Op::Lookup { .. })));
            work.pop();
        }
        work.extend(missing);
    }
    known[&v]
}
