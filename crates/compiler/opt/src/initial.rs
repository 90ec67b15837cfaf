//! Locals of the parser begin with zero: those that no state before has written get the constant, which other passes propagate.

use crate::states::successors;
use hopwright_ir::analysis::effects::{Effects, SlotSet};
use hopwright_ir::{Expr, ExternArg, ExternFn, HashAlgorithm, Pipeline, SlotId, SlotKind, Stmt, StmtKind, Type};

/// Assigns zero to locals at the beginning of states that read them first.
pub(super) fn zeros(pipeline: &mut Pipeline) {
    let effects = Effects::of(pipeline);
    let states = &pipeline.parser.states;
    let mut reads = vec![SlotSet::empty(pipeline); states.len()];
    let mut writes = reads.clone();
    for (at, state) in states.iter().enumerate() {
        effects.block(pipeline, &state.body, &mut reads[at], &mut writes[at]);
    }
    // By state: what states before it may have written; `None` if it is not reached.
    let mut before: Vec<Option<SlotSet>> = vec![None; states.len()];
    let start = pipeline.parser.start.0 as usize;
    before[start] = Some(SlotSet::empty(pipeline));
    let mut todo = vec![start];
    while let Some(at) = todo.pop() {
        let Some(mut written) = before[at].clone() else { continue };
        written.extend(&writes[at]);
        for next in successors(&states[at].transition) {
            let next = next.0 as usize;
            let mut all = written.clone();
            if let Some(known) = &before[next] {
                all.extend(known);
                if all == *known {
                    continue;
                }
            }
            before[next] = Some(all);
            todo.push(next);
        }
    }
    for (at, written) in before.iter().enumerate() {
        let Some(written) = written else { continue };
        let span = pipeline.parser.states[at].span;
        let first = |(i, slot): (usize, &hopwright_ir::Slot)| {
            let id = SlotId(i as u32);
            let known = slot.kind == SlotKind::Local && matches!(slot.ty, Type::Bits(_));
            let zero = Stmt { kind: StmtKind::Assign(id, Expr::constant(0u32, slot.ty, span)), span };
            (known && reads[at].contains(id) && !written.contains(id)).then_some(zero)
        };
        let zeros: Vec<Stmt> = pipeline.slots.iter().enumerate().filter_map(first).collect();
        pipeline.parser.states[at].body.splice(0..0, zeros);
    }
}

/// A checksum that is adjusted by new data only, from that of no data, is computed from these data.
pub(super) fn checksums(pipeline: &mut Pipeline) {
    for state in &mut pipeline.parser.states {
        for at in 1..state.body.len() {
            let StmtKind::Assign(slot, value) = &state.body[at - 1].kind else { continue };
            let (slot, of_nothing) = (*slot, value.as_const().is_some_and(|sum| *sum == 0xffffu32.into()));
            let span = state.body[at].span;
            let StmtKind::Extern(call) = &mut state.body[at].kind else { continue };
            let [ExternArg::InOut(sum), ExternArg::List(removed), ExternArg::List(added)] = call.args.as_mut_slice()
            else {
                continue;
            };
            if call.function == ExternFn::AdjustChecksum && of_nothing && *sum == slot && removed.is_empty() {
                let added = std::mem::take(added);
                call.function = ExternFn::UpdateChecksum { algorithm: HashAlgorithm::Csum16, payload: false };
                call.args =
                    vec![ExternArg::In(Expr::boolean(true, span)), ExternArg::List(added), ExternArg::InOut(slot)];
            }
        }
    }
}
