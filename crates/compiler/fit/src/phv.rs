//! Liveness of fields: the bits of the packet header vector at each stage.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_ir::analysis::parser_graph::{order, successors};
use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::{ExternArg, HeaderId, Pipeline, SlotId, SlotKind, StmtKind, Type, walk};

use crate::nodes::{Nodes, Thread};
use crate::place::Schedule;

/// Bits of the packet header vector.
pub(crate) struct Bits {
    /// At each stage, of fields and variables that stages read or write.
    pub(crate) stages: Vec<u32>,
    /// Of fields that are parsed and emitted only.
    pub(crate) carried: u32,
}

/// The stages of variables that are in one place, as those of one of them: the one that is no local variable, if there is one.
fn in_one_place(
    pipeline: &Pipeline,
    renamed: &[(SlotId, SlotId)],
    ranges: BTreeMap<SlotId, (usize, usize)>,
) -> BTreeMap<SlotId, (usize, usize)> {
    let mut parents: BTreeMap<SlotId, SlotId> = BTreeMap::new();
    let find = |parents: &BTreeMap<SlotId, SlotId>, mut slot: SlotId| {
        while let Some(parent) = parents.get(&slot) {
            slot = *parent;
        }
        slot
    };
    let local = |slot: SlotId| matches!(pipeline[slot].kind, SlotKind::Local);
    for (a, b) in renamed {
        let (a, b) = (find(&parents, *a), find(&parents, *b));
        // Two fields are two places, although a value goes from one to the other.
        if a != b && local(a) {
            parents.insert(a, b);
        } else if a != b && local(b) {
            parents.insert(b, a);
        }
    }
    let mut joined: BTreeMap<SlotId, (usize, usize)> = BTreeMap::new();
    for (slot, (first, last)) in ranges {
        let range = joined.entry(find(&parents, slot)).or_insert((first, last));
        *range = (range.0.min(first), range.1.max(last));
    }
    joined
}

/// Paths through the parser. Headers that no path has together share bits.
struct Paths {
    /// States, each before those that it leads to, but for loops.
    order: Vec<usize>,
    successors: Vec<Vec<usize>>,
    /// The headers that each state extracts.
    extracted: Vec<Vec<HeaderId>>,
    /// By header: whether any state extracts it.
    parsed: Vec<bool>,
}

impl Paths {
    fn of(pipeline: &Pipeline) -> Paths {
        let states = &pipeline.parser.states;
        let mut parsed = vec![false; pipeline.headers.len()];
        let mut extracted = Vec::new();
        for state in states {
            let mut here = Vec::new();
            for stmt in &state.body {
                match &stmt.kind {
                    StmtKind::Extract { header, .. } => here.push(*header),
                    StmtKind::ExtractNext { stack, .. } => here.extend(&pipeline[*stack].elements),
                    // What is in front of the packet is assigned.
                    StmtKind::SetValid(header) => here.push(*header),
                    _ => {}
                }
            }
            here.iter().for_each(|header| parsed[header.index()] = true);
            extracted.push(here);
        }
        let successors = states.iter().map(|state| successors(&state.transition)).collect();
        Paths { order: order(pipeline), successors, extracted, parsed }
    }

    /// The bits of the headers of the path that has most, and of headers that are not parsed.
    fn most(&self, bits: &BTreeMap<HeaderId, u32>) -> u32 {
        let mut below = vec![0; self.extracted.len()];
        for &state in self.order.iter().rev() {
            let own: u32 = self.extracted[state].iter().filter_map(|header| bits.get(header)).sum();
            let next = self.successors[state].iter().map(|next| below[*next]).max().unwrap_or(0);
            below[state] = own + next;
        }
        let others: u32 = bits.iter().filter(|(header, _)| !self.parsed[header.index()]).map(|(_, bits)| bits).sum();
        below.into_iter().max().unwrap_or(0) + others
    }
}

/// The variables that states of the parser assign.
fn written_by_the_parser(pipeline: &Pipeline) -> BTreeSet<SlotId> {
    let mut found = BTreeSet::new();
    for state in &pipeline.parser.states {
        walk::stmts(&state.body, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => found.extend([*slot]),
            StmtKind::Lookahead { parts, .. } => found.extend(parts.iter().map(|(slot, _)| *slot)),
            StmtKind::Extern(call) => found.extend(call.args.iter().filter_map(|arg| match arg {
                ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(*slot),
                _ => None,
            })),
            _ => {}
        });
    }
    found
}

/// Local variables that one operation writes and no other one reads or writes: they are within its unit, such as a stateful ALU.
fn inside_one_operation(pipeline: &Pipeline, thread: &Thread) -> BTreeSet<SlotId> {
    let mut users: BTreeMap<SlotId, BTreeSet<usize>> = BTreeMap::new();
    for (at, operation) in thread.graph.operations.iter().enumerate() {
        let read = operation.reads.iter().filter_map(|read| read.slot);
        for slot in read.chain(operation.writes.iter().copied()) {
            users.entry(slot).or_default().insert(at);
        }
    }
    let renamed: BTreeSet<SlotId> = thread.graph.renamed.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let alone = |slot: &SlotId| {
        matches!(pipeline[*slot].kind, SlotKind::Local) && !thread.live.contains(*slot) && !renamed.contains(slot)
    };
    users.into_iter().filter(|(slot, of)| of.len() == 1 && alone(slot)).map(|(slot, _)| slot).collect()
}

/// Counts fields from the parser or the first stage that writes them to the last stage that reads them or the deparser.
pub(crate) fn bits(pipeline: &Pipeline, nodes: &Nodes, schedule: &Schedule) -> Bits {
    let count = schedule.stages.len();
    let mut stages = vec![0; count];
    let usage = Usage::of(pipeline);
    let mut touched = vec![false; pipeline.slots.len()];
    let paths = Paths::of(pipeline);
    let parsed = written_by_the_parser(pipeline);
    for (index, thread) in nodes.threads.iter().enumerate() {
        let inside = inside_one_operation(pipeline, thread);
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
                for slot in operation.writes.iter().filter(|slot| !inside.contains(slot)) {
                    let range = ranges.entry(*slot).or_insert((first, last));
                    *range = (range.0.min(first), range.1.max(last));
                }
                if operation.writes.is_empty() {
                    inner.insert(*op, first);
                }
            }
        }
        // Bits of fields, by stage and header.
        let mut fields: Vec<BTreeMap<HeaderId, u32>> = vec![BTreeMap::new(); count];
        for (slot, (mut first, mut last)) in in_one_place(pipeline, &thread.graph.renamed, ranges) {
            touched[slot.index()] = true;
            let kind = pipeline[slot].kind;
            let from_parser = match kind {
                SlotKind::Local => false,
                SlotKind::Metadata => parsed.contains(&slot),
                _ => true,
            };
            if from_parser {
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
            match kind {
                SlotKind::Field(header, _) => {
                    fields[first..=last].iter_mut().for_each(|of| *of.entry(header).or_default() += width);
                }
                _ => stages[first..=last].iter_mut().for_each(|bits| *bits += width),
            }
        }
        stages.iter_mut().zip(&fields).for_each(|(bits, of)| *bits += paths.most(of));
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
