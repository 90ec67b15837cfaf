//! One pipe of a program for several.

use hopwright_ir::{Block, ExprKind, Pipeline, SlotId, StmtKind, walk};

/// The slot in which Tofino's lowering keeps the number of a packet's pipe.
const PIPE: &str = "tofino.pipe";

/// The program of one pipe, of a Tofino program with several pipelines: what other pipes do is left out. `None` if the program has
/// no pipes, or not this one.
pub fn of_pipe(pipeline: &Pipeline, pipe: u32) -> Option<Pipeline> {
    let slot = SlotId(pipeline.slots.iter().position(|slot| slot.name == PIPE)? as u32);
    let mut one = pipeline.clone();
    let mut found = false;
    for control in [&mut one.ingress, &mut one.egress, &mut one.deparser] {
        choose(&mut control.body, slot, pipe, &mut found);
    }
    found.then_some(one)
}

/// Puts the pipe's case in the place of each switch by pipe.
fn choose(block: &mut Block, slot: SlotId, pipe: u32, found: &mut bool) {
    for mut stmt in std::mem::take(block) {
        match &mut stmt.kind {
            StmtKind::Switch { value, cases, default } if matches!(value.kind, ExprKind::Slot(read) if read == slot) => {
                let at = cases.iter().position(|(values, _)| values.iter().any(|v| *v == pipe.into()));
                *found |= at.is_some();
                block.extend(at.map_or(std::mem::take(default), |at| cases.swap_remove(at).1));
            }
            _ => {
                walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| choose(inner, slot, pipe, found));
                block.push(stmt);
            }
        }
    }
}
