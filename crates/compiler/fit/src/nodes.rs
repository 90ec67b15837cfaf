//! What is placed: operations, and groups of operations that must share a stage because they access one object.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_ir::analysis::dependencies::{
    DependencyGraph, DependencyKind, OperationKind, live_after_ingress_and_egress,
};
use hopwright_ir::analysis::effects::SlotSet;
use hopwright_ir::{ExternFn, ExternId, ExternKind, Pipeline, SlotId, Span};

use crate::pragmas::Pragmas;

/// Ingress or egress.
pub(crate) struct Thread<'p> {
    pub(crate) name: &'static str,
    pub(crate) graph: DependencyGraph<'p>,
    /// The variables that matter at its end.
    pub(crate) live: SlotSet,
}

/// Operations of one thread that share a stage.
pub(crate) struct Node {
    pub(crate) thread: usize,
    pub(crate) operations: Vec<usize>,
    /// Stages that it takes, one after the other.
    pub(crate) depth: u32,
}

/// That a node comes after another.
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The number of stages between them.
    pub(crate) distance: u32,
    pub(crate) kind: DependencyKind,
    pub(crate) slot: Option<SlotId>,
}

pub(crate) struct Nodes<'p> {
    pub(crate) threads: Vec<Thread<'p>>,
    /// Every node comes after its predecessors.
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// Objects whose accesses cannot share a stage.
    pub(crate) scattered: Vec<(ExternId, Span)>,
}

/// The variables that say in which pass a packet is, in a program whose packets pass the pipeline for ingress and for egress.
fn given(pipeline: &Pipeline) -> SlotSet {
    let mut given = SlotSet::empty(pipeline);
    let of_passes = |name: &str| ["psa.", "tofino."].iter().any(|prefix| name.starts_with(prefix));
    let mut any = false;
    for (i, slot) in pipeline.slots.iter().enumerate().filter(|(_, s)| of_passes(&s.name)) {
        any |= slot.name.ends_with(".pass");
        given.insert(SlotId(i as u32));
    }
    if !any {
        return SlotSet::empty(pipeline);
    }
    given.insert(pipeline.standard.instance_type);
    given
}

impl<'p> Nodes<'p> {
    /// `also`: variables that matter after ingress and after egress besides those of the pipeline.
    pub(crate) fn of(pipeline: &'p Pipeline, also: Option<&[SlotSet; 2]>, pragmas: &Pragmas) -> Nodes<'p> {
        let given = given(pipeline);
        let (mut after_ingress, mut after_egress) = live_after_ingress_and_egress(pipeline);
        if let Some([ingress, egress]) = also {
            after_ingress.extend(ingress);
            after_egress.extend(egress);
        }
        let threads: Vec<Thread> =
            [("ingress", &pipeline.ingress, after_ingress), ("egress", &pipeline.egress, after_egress)]
                .map(|(name, control, live)| {
                    let graph = DependencyGraph::of(pipeline, control, &live, &given, &pragmas.hash_blocks);
                    Thread { name, graph, live }
                })
                .into();
        let mut all = Nodes { threads: Vec::new(), nodes: Vec::new(), edges: Vec::new(), scattered: Vec::new() };
        for (index, thread) in threads.iter().enumerate() {
            all.add(pipeline, index, &thread.graph, pragmas);
        }
        all.threads = threads;
        all
    }

    fn add(&mut self, pipeline: &Pipeline, thread: usize, graph: &DependencyGraph, pragmas: &Pragmas) {
        let count = graph.operations.len();
        let mut group: Vec<usize> = (0..count).collect();
        let reach = Reach::of(graph);
        let mut reasons: BTreeMap<usize, Vec<ExternId>> = BTreeMap::new();
        for (object, mut members) in together(pipeline, graph) {
            let between: Vec<usize> = (0..count)
                .filter(|op| members.iter().any(|m| reach.has(*m, *op)) && members.iter().any(|m| reach.has(*op, *m)))
                .collect();
            members.extend(between);
            // The stateful ALU computes; it applies no other tables and accesses no other objects.
            let foreign = |op: &usize| {
                let operation = &graph.operations[*op];
                match object {
                    Shared::Object(id) => !operation.objects.contains(&id) && !computes(&operation.kind),
                    Shared::Table => false,
                }
            };
            if members.iter().any(foreign) {
                if let Shared::Object(id) = object {
                    self.scattered.push((id, graph.operations[members[0]].span));
                }
                continue;
            }
            let first = members.iter().map(|m| group[*m]).min().unwrap_or(0);
            let joined: BTreeSet<usize> = members.iter().map(|m| group[*m]).collect();
            group.iter_mut().filter(|g| joined.contains(g)).for_each(|g| *g = first);
            if let Shared::Object(id) = object {
                reasons.entry(first).or_default().push(id);
            }
        }
        // Groups that wait for each other are taken apart.
        while let Err(stuck) = order(graph, &group) {
            for (op, g) in group.iter_mut().enumerate() {
                if stuck.contains(g) {
                    for id in reasons.remove(g).into_iter().flatten() {
                        self.scattered.push((id, graph.operations[op].span));
                    }
                    *g = op;
                }
            }
        }
        let order = order(graph, &group).unwrap_or_default();
        let base = self.nodes.len();
        let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(i, g)| (*g, base + i)).collect();
        for g in &order {
            let operations: Vec<usize> = (0..count).filter(|op| group[*op] == *g).collect();
            let depth = operations.iter().map(|op| graph.operations[*op].depth).max().unwrap_or(1);
            self.nodes.push(Node { thread, operations, depth });
        }
        for d in &graph.dependencies {
            let (from, to) = (place[&group[d.from]], place[&group[d.to]]);
            if from != to {
                let indexes = hashes(&graph.operations[d.from].kind) && !graph.operations[d.to].objects.is_empty();
                let table = |op: usize| match graph.operations[op].kind {
                    OperationKind::Apply(table) => Some(pipeline[table].name.as_str()),
                    _ => None,
                };
                let ignored = matches!((table(d.from), table(d.to)), (Some(a), Some(b)) if pragmas.ignores(a, b));
                let operand = is_random(&graph.operations[d.from].kind)
                    && matches!(graph.operations[d.to].kind, OperationKind::Compute | OperationKind::Move);
                let later = d.kind.needs_a_later_stage() && !indexes && !ignored && !operand;
                let distance = if later { self.nodes[from].depth } else { 0 };
                self.edges.push(Edge { from, to, distance, kind: d.kind, slot: d.slot });
            }
        }
    }
}

/// Why operations share a stage.
#[derive(Clone, Copy)]
enum Shared {
    Object(ExternId),
    /// They apply one table, on paths that exclude each other.
    Table,
}

fn computes(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Compute | OperationKind::Move => true,
        OperationKind::Extern(call) => matches!(call.function, ExternFn::Hash(_)),
        OperationKind::Apply(_) => false,
    }
}

/// Whether an operation makes a random number, which is an operand in the stage that makes it.
fn is_random(kind: &OperationKind) -> bool {
    matches!(kind, OperationKind::Extern(call) if call.function == ExternFn::Random)
}

fn hashes(kind: &OperationKind) -> bool {
    matches!(kind, OperationKind::Extern(call) if matches!(call.function, ExternFn::Hash(_)))
}

/// Operations that must share a stage.
fn together(pipeline: &Pipeline, graph: &DependencyGraph) -> Vec<(Shared, Vec<usize>)> {
    let in_memory = |object: &&ExternId| {
        let kind = &pipeline[**object].kind;
        matches!(kind, ExternKind::Counter { .. } | ExternKind::Meter { .. } | ExternKind::Register { .. })
    };
    let mut objects: BTreeMap<ExternId, Vec<usize>> = BTreeMap::new();
    let mut tables: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, operation) in graph.operations.iter().enumerate() {
        operation.objects.iter().filter(in_memory).for_each(|o| objects.entry(*o).or_default().push(i));
        if let OperationKind::Apply(table) = operation.kind {
            tables.entry(table).or_default().push(i);
        }
    }
    let all_exclusive =
        |ops: &[usize]| ops.iter().enumerate().all(|(i, a)| ops[i + 1..].iter().all(|b| graph.exclusive(*a, *b)));
    let shared_tables = tables.into_values().filter(|ops| all_exclusive(ops)).map(|ops| (Shared::Table, ops));
    let shared = objects.into_iter().map(|(id, ops)| (Shared::Object(id), ops)).chain(shared_tables);
    shared.filter(|(_, ops)| ops.len() > 1).collect()
}

/// The groups, every one after its predecessors; or those that wait for each other.
fn order(graph: &DependencyGraph, group: &[usize]) -> Result<Vec<usize>, BTreeSet<usize>> {
    let groups: BTreeSet<usize> = group.iter().copied().collect();
    let edges: BTreeSet<(usize, usize)> =
        graph.dependencies.iter().map(|d| (group[d.from], group[d.to])).filter(|(a, b)| a != b).collect();
    let mut waiting: BTreeMap<usize, usize> = groups.iter().map(|g| (*g, 0)).collect();
    edges.iter().for_each(|(_, to)| *waiting.entry(*to).or_default() += 1);
    let mut ready: BTreeSet<usize> = waiting.iter().filter(|(_, n)| **n == 0).map(|(g, _)| *g).collect();
    let mut done = Vec::new();
    while let Some(next) = ready.pop_first() {
        waiting.remove(&next);
        done.push(next);
        for (_, to) in edges.range((next, 0)..=(next, usize::MAX)) {
            if let Some(n) = waiting.get_mut(to) {
                *n -= 1;
                if *n == 0 {
                    ready.insert(*to);
                }
            }
        }
    }
    if waiting.is_empty() { Ok(done) } else { Err(waiting.into_keys().collect()) }
}

/// Which operations depend on which, directly or not.
struct Reach(Vec<Vec<u64>>);

impl Reach {
    fn of(graph: &DependencyGraph) -> Reach {
        let count = graph.operations.len();
        let mut reach = vec![vec![0u64; count.div_ceil(64)]; count];
        // Dependencies go forwards and are sorted by where they begin.
        for d in graph.dependencies.iter().rev() {
            let (before, after) = reach.split_at_mut(d.to);
            let from = &mut before[d.from];
            from.iter_mut().zip(&after[0]).for_each(|(a, b)| *a |= b);
            from[d.to / 64] |= 1 << (d.to % 64);
        }
        Reach(reach)
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.0[from][to / 64] >> (to % 64) & 1 == 1
    }
}
