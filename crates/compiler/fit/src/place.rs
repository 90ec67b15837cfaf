//! Places nodes in stages: a list schedule, nodes on long chains first.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_ir::analysis::dependencies::OperationKind;
use hopwright_ir::{ExternArg, ExternFn, ExternId, Pipeline, TableId};

use crate::memory::{self, TableShape};
use crate::nodes::{Node, Nodes};
use crate::pragmas::Pragmas;
use crate::resources::Resources;
use crate::target::Target;

/// A schedule ends after this many times the stages of the target; what is left then is not placed.
const PATIENCE: u32 = 64;

/// How often a schedule that is too long is tried to be made shorter.
const REPAIRS: usize = 48;

/// Where everything lies.
pub(crate) struct Schedule {
    pub(crate) stages: Vec<Occupied>,
    /// First and last stage of each node; the last is `u32::MAX` if a part of it is not placed.
    pub(crate) nodes: Vec<(u32, u32)>,
    /// Nodes that no stage has room for, and what there is too little of.
    pub(crate) too_large: Vec<(usize, &'static str)>,
}

/// A stage and what lies in it.
#[derive(Default)]
pub(crate) struct Occupied {
    pub(crate) used: Resources,
    /// Nodes, and for tables how many entries of them are here.
    pub(crate) nodes: Vec<(usize, Option<u64>)>,
    /// Threads and guards of groups of operations that share a logical table.
    groups: BTreeSet<(usize, Vec<(usize, u64)>)>,
    /// What selects cells of objects here.
    indices: BTreeSet<String>,
}

/// The stage of each node without regard to resources, and the node and dependency that it waits for.
pub(crate) fn earliest(nodes: &Nodes) -> Vec<(u32, Option<usize>)> {
    let mut at: Vec<(u32, Option<usize>)> = vec![(0, None); nodes.nodes.len()];
    let mut edges: Vec<usize> = (0..nodes.edges.len()).collect();
    edges.sort_by_key(|e| (nodes.edges[*e].to, nodes.edges[*e].from));
    for index in edges {
        let edge = &nodes.edges[index];
        let after = at[edge.from].0 + edge.distance;
        // Of equals, the one that explains most.
        if after > at[edge.to].0 || at[edge.to].1.is_none() && edge.distance > 0 {
            at[edge.to] = (after, Some(index));
        }
    }
    at
}

/// The stages that a node and what follows it need, if each takes this many besides its depth.
fn heights(nodes: &Nodes, more: &[u32]) -> Vec<u32> {
    let mut heights: Vec<u32> = nodes.nodes.iter().zip(more).map(|(n, more)| n.depth + more).collect();
    let mut edges: Vec<_> = nodes.edges.iter().collect();
    edges.sort_by_key(|e| std::cmp::Reverse((e.from, e.to)));
    for edge in edges {
        heights[edge.from] = heights[edge.from].max(edge.distance + more[edge.from] + heights[edge.to]);
    }
    heights
}

/// Places all nodes: in several orders, of which that with the fewest stages counts. If that is longer than the target, what came too late
/// is placed earlier, again and again.
pub(crate) fn place(pipeline: &Pipeline, nodes: &Nodes, target: &Target, pragmas: &Pragmas) -> Schedule {
    let none = vec![0; nodes.nodes.len()];
    let spans = Placing::new(pipeline, nodes, target, pragmas).spans();
    let (plain, spread) = (heights(nodes, &none), heights(nodes, &spans));
    let size = |node: usize| spans[node];
    let ingress = |node: usize| u32::from(nodes.nodes[node].thread == 0);
    let orders: [Box<dyn Fn(usize) -> [u32; 3] + '_>; 4] = [
        Box::new(|node| [plain[node], 0, 0]),
        Box::new(|node| [spread[node], 0, 0]),
        Box::new(|node| [spread[node], ingress(node), size(node)]),
        Box::new(|node| [spread[node] + ingress(node), size(node), 0]),
    ];
    let all = orders.iter().map(|order| (place_by(pipeline, nodes, target, pragmas, order), order));
    let length = |schedule: &Schedule| (schedule.too_large.len(), schedule.stages.len());
    let best = all.min_by_key(|(schedule, _)| length(schedule));
    let Some((mut best, order)) = best else {
        return place_by(pipeline, nodes, target, pragmas, &|node| [plain[node], 0, 0]);
    };
    let fits = |schedule: &Schedule| schedule.stages.len() <= target.stages as usize;
    // The shortest that was found is longer by dependencies.
    let hopeless = plain.iter().any(|height| *height > target.stages);
    let (mut urgent, mut rounds) = (vec![0u32; nodes.nodes.len()], 0);
    let mut last = late(nodes, &best, target);
    while !fits(&best) && !hopeless && rounds < REPAIRS {
        rounds += 1;
        last.iter().for_each(|node| urgent[*node] += 1);
        let again = |node: usize| {
            let [first, second, third] = order(node);
            [first + urgent[node], second, third]
        };
        let next = place_by(pipeline, nodes, target, pragmas, &again);
        last = late(nodes, &next, target);
        if length(&next) < length(&best) {
            best = next;
        }
    }
    best
}

/// Nodes that end beyond the target's stages, and all that they wait for.
fn late(nodes: &Nodes, schedule: &Schedule, target: &Target) -> BTreeSet<usize> {
    let ends = |node: usize| schedule.nodes[node].1.saturating_add(nodes.nodes[node].depth);
    let mut late: BTreeSet<usize> = (0..nodes.nodes.len()).filter(|node| ends(*node) > target.stages).collect();
    let mut edges: Vec<_> = nodes.edges.iter().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.from, edge.to)));
    for edge in edges {
        if late.contains(&edge.to) {
            late.insert(edge.from);
        }
    }
    late
}

/// Places all nodes, those for which `order` is greater first.
fn place_by(
    pipeline: &Pipeline,
    nodes: &Nodes,
    target: &Target,
    pragmas: &Pragmas,
    order: &dyn Fn(usize) -> [u32; 3],
) -> Schedule {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes.nodes.len()];
    nodes.edges.iter().enumerate().for_each(|(i, e)| before[e.to].push(i));
    let mut todo: Vec<usize> = (0..nodes.nodes.len()).collect();
    let of_tables = |n: &usize| {
        let node = &nodes.nodes[*n];
        let graph = &nodes.threads[node.thread].graph;
        let tables = node.operations.iter().filter_map(|op| match graph.operations[*op].kind {
            OperationKind::Apply(table) => pragmas.table(&pipeline[table].name),
            _ => None,
        });
        tables.collect::<Vec<_>>()
    };
    let priorities: Vec<i64> =
        todo.iter().map(|n| of_tables(n).iter().map(|p| p.priority).max().unwrap_or_default()).collect();
    let pinned: Vec<u32> =
        todo.iter().map(|n| of_tables(n).iter().filter_map(|p| p.stage).max().unwrap_or_default()).collect();
    todo.sort_by_key(|n| (std::cmp::Reverse((priorities[*n], order(*n))), *n));
    let mut placing = Placing::new(pipeline, nodes, target, pragmas);
    let mut schedule =
        Schedule { stages: Vec::new(), nodes: vec![(u32::MAX, u32::MAX); nodes.nodes.len()], too_large: Vec::new() };
    let ready = |schedule: &Schedule, node: usize, number: u32| {
        before[node].iter().all(|e| {
            let (edge, end) = (&nodes.edges[*e], schedule.nodes[nodes.edges[*e].from].1);
            end != u32::MAX && end.saturating_add(edge.distance) <= number
        })
    };
    let last = target.stages * PATIENCE;
    for number in 0..last {
        if todo.is_empty() {
            break;
        }
        let mut stage = Occupied::default();
        let mut progress = true;
        while std::mem::take(&mut progress) {
            todo.retain(|&node| {
                if number < pinned[node]
                    || !ready(&schedule, node, number)
                    || stage.nodes.iter().any(|(n, _)| *n == node)
                {
                    return true;
                }
                let Some(done) = placing.put(node, &mut stage, false) else { return true };
                progress = true;
                let at = &mut schedule.nodes[node];
                at.0 = at.0.min(number);
                if done {
                    at.1 = number;
                }
                !done
            });
        }
        // A node that is ready and has no room in an empty stage has none anywhere.
        let first = todo.iter().position(|node| number >= pinned[*node] && ready(&schedule, *node, number));
        if let (true, Some(first)) = (stage.nodes.is_empty(), first) {
            let node = todo.remove(first);
            let needs = placing.needs(node, &Occupied::default());
            schedule.too_large.push((node, needs.exceeds(&target.stage).unwrap_or("room")));
            placing.put(node, &mut stage, true);
            schedule.nodes[node] = (number, number);
        }
        schedule.stages.push(stage);
    }
    // Actions of several steps reach into later stages.
    for (at, node) in schedule.nodes.iter().zip(&nodes.nodes) {
        let end = at.1.saturating_add(node.depth);
        while at.1 != u32::MAX && (schedule.stages.len() as u32) < end {
            schedule.stages.push(Occupied::default());
        }
    }
    schedule
}

struct Placing<'n, 'p> {
    pipeline: &'p Pipeline,
    nodes: &'n Nodes<'p>,
    target: &'n Target,
    pragmas: &'n Pragmas,
    /// Entries of tables that are not in a stage yet.
    rest: BTreeMap<usize, u64>,
    /// Conditions that are evaluated in some stage. Later stages know their results.
    evaluated: BTreeSet<(usize, usize)>,
    /// What selects the cell of each object, where that is the same everywhere.
    indices: BTreeMap<ExternId, String>,
}

impl<'n, 'p> Placing<'n, 'p> {
    fn new(pipeline: &'p Pipeline, nodes: &'n Nodes<'p>, target: &'n Target, pragmas: &'n Pragmas) -> Placing<'n, 'p> {
        let indices = memory::indices(pipeline);
        Placing { pipeline, nodes, target, pragmas, rest: BTreeMap::new(), evaluated: BTreeSet::new(), indices }
    }

    /// The stages beyond the first that the table of each node fills.
    fn spans(&self) -> Vec<u32> {
        let span = |node: usize| {
            self.only_table(&self.nodes.nodes[node])?;
            let needs = self.needs(node, &Occupied::default());
            let memory = [
                (needs.sram_blocks, self.target.stage.sram_blocks),
                (needs.tcam_blocks, self.target.stage.tcam_blocks),
                (needs.map_rams, self.target.stage.map_rams),
            ];
            memory.iter().map(|(need, limit)| need.div_ceil(*limit)).max()
        };
        (0..self.nodes.nodes.len()).map(|node| span(node).unwrap_or(1).clamp(1, self.target.stages) - 1).collect()
    }

    /// Puts a node or a part of its table into a stage. Returns whether that was all of it, or `None` if there is no room.
    fn put(&mut self, node: usize, stage: &mut Occupied, force: bool) -> Option<bool> {
        let operations = &self.nodes.nodes[node];
        let table = self.only_table(operations);
        let mut needs = self.needs(node, stage);
        let fits = |needs: &Resources| (stage.used + *needs).exceeds(&self.target.stage).is_none();
        let mut entries = None;
        let mut done = true;
        if let Some(table) = table {
            let shape = TableShape::of(self.pipeline, table, self.target, self.pragmas);
            let rest = self.rest.get(&node).copied().unwrap_or(shape.entries);
            let others = self.needs_without_table(operations, stage);
            needs = others + shape.resources(rest);
            let mut here = rest;
            if !fits(&needs) && !force {
                // As many entries as there is room for.
                let (mut low, mut high) = (0, rest);
                while low < high {
                    let middle = low + (high - low).div_ceil(2);
                    if fits(&(others + shape.resources(middle))) { low = middle } else { high = middle - 1 }
                }
                here = low;
                needs = others + shape.resources(here);
                // A sliver is not worth a logical table.
                if here == 0 || here < rest.min(1024) {
                    return None;
                }
            }
            done = here == rest;
            if !done || rest != shape.entries {
                entries = Some(here);
            }
            self.rest.insert(node, rest - here);
        } else if !force && !fits(&needs) {
            return None;
        }
        if force {
            needs = needs.at_most(self.target.stage);
        }
        stage.used += needs;
        stage.nodes.push((node, entries));
        for op in &operations.operations {
            let graph = &self.nodes.threads[operations.thread].graph;
            let operation = &graph.operations[*op];
            for (branch, _) in &operation.guards {
                if self.evaluated.insert((operations.thread, *branch)) {
                    // Conditions that have no room beside each other are evaluated in earlier stages.
                    let condition = self.condition(graph.branches[*branch].bits);
                    stage.used = (stage.used + condition).at_most(self.target.stage);
                }
            }
            stage.indices.extend(operation.objects.iter().filter_map(|object| self.indices.get(object)).cloned());
            if !matches!(operation.kind, OperationKind::Apply(_)) {
                stage.groups.insert((operations.thread, operation.guards.clone()));
            }
        }
        Some(done)
    }

    /// The table of a node that can be divided between stages.
    fn only_table(&self, node: &Node) -> Option<TableId> {
        let graph = &self.nodes.threads[node.thread].graph;
        let tables: BTreeSet<TableId> = (node.operations.iter())
            .filter_map(|op| match graph.operations[*op].kind {
                OperationKind::Apply(table) => Some(table),
                _ => None,
            })
            .collect();
        let own = tables.iter().flat_map(|table| &self.pipeline[*table].entry_cells).collect::<BTreeSet<_>>();
        let others = |op: &usize| graph.operations[*op].objects.iter().any(|object| !own.contains(object));
        (tables.len() == 1 && !node.operations.iter().any(others)).then(|| tables.into_iter().next()).flatten()
    }

    /// What a node takes of a stage in addition to what is there.
    fn needs(&self, node: usize, stage: &Occupied) -> Resources {
        let node = &self.nodes.nodes[node];
        let graph = &self.nodes.threads[node.thread].graph;
        let mut tables = BTreeSet::new();
        let mut needs = self.needs_without_table(node, stage);
        for op in &node.operations {
            if let OperationKind::Apply(table) = graph.operations[*op].kind
                && tables.insert(table)
            {
                let shape = TableShape::of(self.pipeline, table, self.target, self.pragmas);
                needs += shape.resources(shape.entries);
            }
        }
        needs
    }

    fn needs_without_table(&self, node: &Node, stage: &Occupied) -> Resources {
        let graph = &self.nodes.threads[node.thread].graph;
        let mut needs = Resources::default();
        let mut objects: BTreeSet<ExternId> = BTreeSet::new();
        let mut groups = BTreeSet::new();
        let mut indices = BTreeSet::new();
        for op in &node.operations {
            let operation = &graph.operations[*op];
            objects.extend(&operation.objects);
            match operation.kind {
                OperationKind::Apply(_) => continue,
                OperationKind::Extern(call) => {
                    if let ExternFn::Hash(_) = call.function {
                        needs += self.hash(call);
                    }
                }
                OperationKind::Compute | OperationKind::Move if operation.hashed => {
                    let width: u32 =
                        operation.writes.iter().map(|slot| self.pipeline[*slot].ty.width()).max().unwrap_or(0);
                    let bits = operation.bits.max(width);
                    needs.hash_bits += bits;
                    needs.hash_distribution_bits += bits.next_multiple_of(16);
                    needs.exact_crossbar_bytes +=
                        operation.reads.iter().map(|read| read.width.div_ceil(8)).sum::<u32>();
                }
                OperationKind::Compute | OperationKind::Move => {}
            }
            let group = (node.thread, operation.guards.clone());
            if !stage.groups.contains(&group) && groups.insert(group) {
                needs.logical_tables += 1;
            }
        }
        for table in node.operations.iter().filter_map(|op| match graph.operations[*op].kind {
            OperationKind::Apply(table) => Some(table),
            _ => None,
        }) {
            // They are part of the table.
            self.pipeline[table].entry_cells.iter().for_each(|own| {
                objects.remove(own);
            });
        }
        for object in objects {
            let mut all = memory::object(self.pipeline, object, self.target);
            let index = self.indices.get(&object);
            // Objects with one index share the unit that distributes it.
            if index.is_some_and(|index| stage.indices.contains(index) || !indices.insert(index)) {
                (all.hash_bits, all.hash_distribution_bits) = (0, 0);
            }
            needs += all;
        }
        needs
    }

    /// A condition is looked at by a gateway, or, if it is too wide, matched by a ternary table.
    fn condition(&self, bits: u32) -> Resources {
        let bytes = bits.div_ceil(8);
        if bits <= self.target.logic.gateway_bits {
            return Resources { exact_crossbar_bytes: bytes, ..Resources::default() };
        }
        let tcam_blocks = bits.div_ceil(self.target.memory.tcam_bits);
        Resources { ternary_crossbar_bytes: bytes, tcam_blocks, logical_tables: 1, ..Resources::default() }
    }

    fn hash(&self, call: &hopwright_ir::ExternCall) -> Resources {
        let mut needs = Resources::default();
        for arg in &call.args {
            match arg {
                ExternArg::List(values) => {
                    needs.exact_crossbar_bytes += values.iter().map(|v| v.ty.width().div_ceil(8)).sum::<u32>();
                }
                ExternArg::Out(slot) => {
                    let bits = self.pipeline[*slot].ty.width();
                    needs.hash_bits += bits;
                    needs.hash_distribution_bits += bits.next_multiple_of(16);
                }
                _ => {}
            }
        }
        needs
    }
}
