//! Selects the operations that are live and relates them to each other.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Builder, Def, Draft};
use super::eval::bits_of;
use super::flow::{Source, Value};
use super::{Branch, Dependency, DependencyGraph, DependencyKind, Operation, OperationKind, Read};
use crate::SlotId;

/// Builds the graph of the operations that the roots need.
pub(super) fn finish(mut builder: Builder<'_>, roots: Vec<usize>) -> DependencyGraph<'_> {
    let live = live(&builder, roots);
    let index: BTreeMap<usize, usize> = live.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    let mut edges = Edges::default();
    for (&old, &to) in &index {
        let draft = &builder.operations[old];
        let mut producers = |value: &Value, kind: fn(&Def) -> DependencyKind| {
            for def in defs(&builder, value) {
                for producer in &def.producers {
                    let other = &builder.operations[*producer];
                    if *producer != old && !other.masks.exclusive(&draft.masks) {
                        edges.add(index[producer], to, kind(def), def.slot);
                    }
                }
            }
        };
        let matching = |def: &Def| if def.outcome { DependencyKind::Successor } else { DependencyKind::Match };
        producers(&draft.matched, |_| DependencyKind::Match);
        producers(&draft.operands, |_| DependencyKind::Action);
        guards(draft).iter().for_each(|(branch, _)| producers(&builder.branches[*branch].condition, matching));
    }
    overwriting(&mut builder, &index, &mut edges);

    let operations = live.iter().map(|&old| operation(&builder, &builder.operations[old])).collect();
    let branches = builder.branches.iter().map(|b| Branch { bits: bits_of(&b.condition), span: b.span }).collect();
    let renamed = builder.renamed.into_iter().collect();
    DependencyGraph { operations, dependencies: edges.in_order(), branches, renamed }
}

/// The definitions that a value consists of.
fn defs<'b>(builder: &'b Builder, value: &'b Value) -> impl Iterator<Item = &'b Def> {
    value.iter().filter_map(|segment| match &segment.source {
        Source::Def(def, _) => Some(&builder.defs[def.0]),
        Source::Constant(_) => None,
    })
}

/// The guards of an operation. Inner results of expressions may be computed for nothing.
fn guards<'d>(draft: &'d Draft) -> &'d [(usize, u64)] {
    let inner = matches!(draft.kind, OperationKind::Compute) && draft.writes.is_empty();
    if inner { &[] } else { &draft.guards }
}

/// What an operation reads: keys, operands and the conditions of its guards.
fn inputs<'b>(builder: &'b Builder, draft: &'b Draft) -> impl Iterator<Item = &'b Value> {
    let conditions = guards(draft).iter().map(|(branch, _)| &builder.branches[*branch].condition);
    [&draft.matched, &draft.operands].into_iter().chain(conditions)
}

fn live(builder: &Builder, mut todo: Vec<usize>) -> Vec<usize> {
    let mut live = BTreeSet::new();
    while let Some(op) = todo.pop() {
        if live.insert(op) {
            for value in inputs(builder, &builder.operations[op]) {
                defs(builder, value).for_each(|def| todo.extend(&def.producers));
            }
        }
    }
    live.into_iter().collect()
}

/// Dependencies between operations that write one place, and between readers and later writers of it.
fn overwriting(builder: &mut Builder, index: &BTreeMap<usize, usize>, edges: &mut Edges) {
    let mut writers: BTreeMap<(usize, SlotId), Vec<usize>> = BTreeMap::new();
    for &old in index.keys() {
        for slot in builder.operations[old].writes.clone() {
            let place = builder.places.find((old, slot));
            writers.entry(place).or_default().push(old);
        }
    }
    let mut readers: BTreeMap<(usize, SlotId), BTreeSet<usize>> = BTreeMap::new();
    for &old in index.keys() {
        let read: Vec<(usize, SlotId)> = inputs(builder, &builder.operations[old])
            .flat_map(|value| defs(builder, value))
            .filter_map(|def| Some((*def.producers.first()?, def.slot?)))
            .collect();
        for at in read {
            readers.entry(builder.places.find(at)).or_default().insert(old);
        }
    }
    let apart = |a: usize, b: usize| builder.operations[a].masks.exclusive(&builder.operations[b].masks);
    for (place, writers) in &writers {
        for (i, &later) in writers.iter().enumerate() {
            for &earlier in &writers[..i] {
                let same = builder.operations[earlier].statement == builder.operations[later].statement;
                let (first, second) = (&builder.operations[earlier], &builder.operations[later]);
                let avoids = first.only_in(place.1).is_some_and(|(b, arms)| second.masks.avoids(b, arms));
                let beside = first.writes_beside(second, place.1);
                if !same && !avoids && !beside && !apart(earlier, later) {
                    edges.add(index[&earlier], index[&later], DependencyKind::Action, Some(place.1));
                }
            }
            for &reader in readers.get(place).into_iter().flatten() {
                if reader < later && !apart(reader, later) {
                    edges.add(index[&reader], index[&later], DependencyKind::Reverse, Some(place.1));
                }
            }
        }
    }
}

fn operation<'p>(builder: &Builder<'p>, draft: &Draft<'p>) -> Operation<'p> {
    let mut reads = BTreeSet::new();
    for value in inputs(builder, draft) {
        let matched = !std::ptr::eq(value, &draft.operands);
        for segment in value {
            if let Source::Def(def, low) = segment.source {
                let slot = builder.defs[def.0].slot;
                reads.insert(Read { slot, low, width: segment.width, matched });
            }
        }
    }
    Operation {
        kind: draft.kind,
        reads: reads.into_iter().collect(),
        writes: draft.writes.clone(),
        bits: draft.bits,
        depth: draft.depth,
        guards: guards(draft).to_vec(),
        objects: draft.objects.clone(),
        hashed: matches!(draft.kind, OperationKind::Compute | OperationKind::Move) && builder.is_hashed(draft.span),
        span: draft.span,
        masks: draft.masks.clone(),
    }
}

/// Dependencies, the first of each kind between two operations.
#[derive(Default)]
struct Edges(BTreeMap<(usize, usize, DependencyKind), Option<SlotId>>);

impl Edges {
    fn add(&mut self, from: usize, to: usize, kind: DependencyKind, slot: Option<SlotId>) {
        self.0.entry((from, to, kind)).or_insert(slot);
    }

    fn in_order(self) -> Vec<Dependency> {
        self.0.into_iter().map(|((from, to, kind), slot)| Dependency { from, to, kind, slot }).collect()
    }
}
