//! Liveness of fields: the bits of the packet header vector at each stage.

use std::collections::BTreeMap;

use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::{Pipeline, SlotId, SlotKind, Type};

use crate::nodes::Nodes;
use crate::place::Schedule;

/// Bits of the packet header vector.
pub(crate) struct Bits {
    /// At each stage, of fields and variables that stages read or write.
    pub(crate) stages: Vec<u32>,
    /// Of fields that are parsed and emitted only.
    pub(crate) carried: u32,
}

/// Counts fields from the parser or the first stage that writes them to the last stage that reads them or the deparser.
pub(crate) fn bits(pipeline: &Pipeline, nodes: &Nodes, schedule: &Schedule) -> Bits {
    let count = schedule.stages.len();
    let mut stages = vec![0; count];
    let usage = Usage::of(pipeline);
    let mut touched = vec![false; pipeline.slots.len()];
    for (index, thread) in nodes.threads.iter().enumerate() {
        let mut ranges: BTreeMap<SlotId, (usize, usize)> = BTreeMap::new();
        let mut inner: BTreeMap<usize, usize> = BTreeMap::new();
        for (node, at) in
            nodes.nodes.iter().zip(&schedule.nodes).filter(|(n, at)| n.thread == index && at.1 != u32::MAX)
        {
            let (first, last) = (at.0 as usize, (at.1.saturating_add(node.depth - 1) as usize).min(count.max(1) - 1));
            for op in &node.operations {
                let operation = &thread.graph.operations[*op];
                for slot in operation.reads.iter().filter_map(|r| r.slot) {
                    let range = ranges.entry(slot).or_insert((first, last));
                    range.1 = range.1.max(last);
                    range.0 = range.0.min(first);
                }
                for slot in &operation.writes {
                    let range = ranges.entry(*slot).or_insert((first, last));
                    *range = (range.0.min(first), range.1.max(last));
                }
                if operation.writes.is_empty() {
                    inner.insert(*op, first);
                }
            }
        }
        for (slot, (mut first, mut last)) in ranges {
            touched[slot.index()] = true;
            let kind = pipeline[slot].kind;
            if !matches!(kind, SlotKind::Local) {
                // The parser, or what the target knows of the packet.
                first = 0;
            }
            if thread.live.contains(slot) && !matches!(kind, SlotKind::Standard) {
                last = count.saturating_sub(1);
            }
            let width = match pipeline[slot].ty {
                Type::Varbit(_) => 0,
                ty if ty.width() < 8 => ty.width(),
                ty if matches!(kind, SlotKind::Field(..)) => ty.width(),
                ty => ty.width().next_multiple_of(8),
            };
            stages[first..=last].iter_mut().for_each(|bits| *bits += width);
        }
        // Inner results of expressions live until the operation that reads them.
        let end_of = |op: usize| {
            nodes.nodes.iter().zip(&schedule.nodes).find(|(n, _)| n.thread == index && n.operations.contains(&op))
        };
        for (op, first) in inner {
            let readers = thread.graph.dependencies.iter().filter(|d| d.from == op).map(|d| d.to);
            let last = readers
                .filter_map(|to| end_of(to).map(|(_, at)| at.0 as usize).filter(|at| *at < count))
                .max()
                .unwrap_or(first);
            let width = thread.graph.operations[op].bits;
            stages[first..=last.min(count - 1)].iter_mut().for_each(|bits| *bits += width);
        }
    }
    let carried = (pipeline.headers.iter().enumerate())
        .filter(|(i, _)| usage.headers[*i].extracted && usage.headers[*i].emitted)
        .flat_map(|(_, h)| h.fields.iter())
        .filter(|f| !touched[f.slot.index()] && !matches!(pipeline[f.slot].ty, Type::Varbit(_)))
        .map(|f| f.width)
        .sum();
    Bits { stages, carried }
}
