//! Removes nodes whose results nobody uses and that have no effect.

use super::{Design, Op, Value};
use hopwright_ir::Pipeline;

/// Removes dead nodes.
pub fn eliminate(pipeline: &Pipeline, design: &mut Design) {
    let mut live = vec![false; design.nodes.len()];
    for output in design.outputs() {
        live[output.index()] = true;
    }
    let places = design.remove_dead(pipeline, live);
    design.map_outputs(|v| places[v.index()]);
}

impl Design {
    /// Removes nodes that neither have an effect nor contribute to a live one. Returns the new number of each node that is
    /// left; the caller renumbers results.
    pub(crate) fn remove_dead(&mut self, pipeline: &Pipeline, mut live: Vec<bool>) -> Vec<Value> {
        for i in (0..self.nodes.len()).rev() {
            let op = &self.nodes[i].op;
            if live[i] || has_effect(pipeline, op) {
                live[i] = true;
                op.operands().into_iter().for_each(|v| live[v.index()] = true);
            }
        }
        let mut places = Vec::with_capacity(live.len());
        let mut next = 0;
        for alive in &live {
            places.push(Value(next));
            next += u32::from(*alive);
        }
        self.split = live[..self.split].iter().filter(|l| **l).count();
        let mut at = 0;
        self.nodes.retain(|_| {
            at += 1;
            live[at - 1]
        });
        for node in &mut self.nodes {
            node.op.map_operands(|v| places[v.index()]);
        }
        places
    }
}

/// Whether the operation changes state that outlives the packet.
fn has_effect(pipeline: &Pipeline, op: &Op) -> bool {
    match op {
        Op::Lookup { table, .. } => pipeline[*table].direct_counter.is_some(),
        // Draws are in the order of the program.
        Op::Random { .. } | Op::Digest { .. } => true,
        Op::Color { .. } | Op::Count { .. } | Op::Measure { .. } | Op::RegisterWrite { .. } | Op::Extern { .. } => true,
        _ => false,
    }
}
