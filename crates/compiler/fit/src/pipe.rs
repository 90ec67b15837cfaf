//! One pipe of a program for several.

use hopwright_ir::{Block, ExprKind, Pipeline, SlotId, Stmt, StmtKind, walk};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// The slot in which Tofino's lowering keeps the number of a packet's pipe.
const PIPE: &str = "tofino.pipe";

/// The pipes of a Tofino program with several pipelines, by pipeline: those that run the same one are together. Empty for a
/// program that is the same in all pipes.
pub fn pipes(pipeline: &Pipeline) -> Vec<Vec<u32>> {
    let Some(slot) = pipe_slot(pipeline) else { return Vec::new() };
    let mut found: Vec<Vec<u32>> = Vec::new();
    walk::stmts(&pipeline.ingress.body, &mut |stmt| {
        if let Some((cases, _)) = switch_by(stmt, slot).filter(|_| found.is_empty()) {
            let numbers = |values: &[BigUint]| values.iter().filter_map(ToPrimitive::to_u32).collect();
            found = cases.iter().map(|(values, _)| numbers(values)).collect();
        }
    });
    found
}

/// The program of one pipe: what other pipes do is left out. `None` if the program has no [`pipes`], or not this one.
pub fn of_pipe(pipeline: &Pipeline, pipe: u32) -> Option<Pipeline> {
    let slot = pipe_slot(pipeline)?;
    pipes(pipeline).iter().flatten().find(|number| **number == pipe)?;
    let mut one = pipeline.clone();
    for control in [&mut one.ingress, &mut one.egress, &mut one.deparser] {
        choose(&mut control.body, slot, pipe);
    }
    Some(one)
}

fn pipe_slot(pipeline: &Pipeline) -> Option<SlotId> {
    Some(SlotId(pipeline.slots.iter().position(|slot| slot.name == PIPE)? as u32))
}

/// Cases by their values, and the default.
type Cases<'s> = (&'s [(Vec<BigUint>, Block)], &'s Block);

/// The cases of a switch by pipe.
fn switch_by(stmt: &Stmt, slot: SlotId) -> Option<Cases<'_>> {
    match &stmt.kind {
        StmtKind::Switch { value, cases, default } if matches!(value.kind, ExprKind::Slot(read) if read == slot) => {
            Some((cases, default))
        }
        _ => None,
    }
}

/// Puts the pipe's case in the place of each switch by pipe.
fn choose(block: &mut Block, slot: SlotId, pipe: u32) {
    for mut stmt in std::mem::take(block) {
        match switch_by(&stmt, slot) {
            Some((cases, default)) => {
                let case = cases.iter().find(|(values, _)| values.contains(&pipe.into()));
                block.extend(case.map_or(default, |(_, body)| body).clone());
            }
            None => {
                walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| choose(inner, slot, pipe));
                block.push(stmt);
            }
        }
    }
}
