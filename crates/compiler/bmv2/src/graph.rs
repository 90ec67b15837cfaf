//! Structures a graph of nodes with jumps: scopes, loops and leaves instead.
//!
//! This is the translation by dominators of N. Ramsey, "Beyond Relooper" (ICFP 2022): a node that several edges lead to comes behind a
//! scope around the node that dominates it, and edges to it leave that scope. A node that edges lead back to begins a loop.

use std::collections::{BTreeMap, HashSet};

/// A graph: the successors of each node. Node number `successors.len()` is the end.
pub(crate) struct Graph {
    pub(crate) successors: Vec<Vec<usize>>,
}

/// A part of the structured program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A node. If it has several successors, what follows on each edge, in their order, and then what follows all of them.
    Node(usize, Vec<Vec<Part>>),
    /// A scope with a label.
    Scope(u32, Vec<Part>),
    /// Repeats until it is left.
    Loop(Vec<Part>),
    Leave(u32),
}

/// Structures a graph from a node on. `label` gives new labels. Returns `None` if a loop has several entries.
pub(crate) fn structure(graph: &Graph, entry: usize, label: &mut dyn FnMut() -> u32) -> Option<Vec<Part>> {
    let end = graph.successors.len();
    if entry == end {
        return Some(Vec::new());
    }
    let order = reverse_postorder(graph, entry);
    let mut number = vec![usize::MAX; end + 1];
    for (at, node) in order.iter().enumerate() {
        number[*node] = at;
    }
    let dominators = dominators(graph, &order, &number);
    let dominates = |a: usize, mut b: usize| loop {
        if a == b {
            return true;
        }
        if number[b] == 0 || dominators[b] == usize::MAX {
            return false;
        }
        b = dominators[b];
    };
    let mut forward = vec![0; end + 1];
    let mut headers = HashSet::new();
    for &node in &order {
        for &next in graph.successors.get(node).into_iter().flatten() {
            if number[next] <= number[node] {
                if !dominates(next, node) {
                    return None;
                }
                headers.insert(next);
            } else {
                forward[next] += 1;
            }
        }
    }
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &node in &order {
        if node != end && node != entry && forward[node] > 1 {
            children.entry(dominators[node]).or_default().push(node);
        }
    }
    let mut builder =
        Builder { graph, end, number, forward, headers, children, labels: BTreeMap::new(), used: HashSet::new() };
    for node in order.into_iter().chain([end]) {
        builder.labels.insert(node, label());
    }
    let body = builder.follow(entry, end);
    let label = builder.labels[&end];
    Some(if builder.used.contains(&label) { vec![Part::Scope(label, body)] } else { body })
}

struct Builder<'g> {
    graph: &'g Graph,
    end: usize,
    number: Vec<usize>,
    /// How many forward edges lead to a node.
    forward: Vec<usize>,
    /// Nodes that edges lead back to.
    headers: HashSet<usize>,
    /// The nodes with several forward edges, by their immediate dominator, in reverse postorder.
    children: BTreeMap<usize, Vec<usize>>,
    /// By node: what an edge to it leaves.
    labels: BTreeMap<usize, u32>,
    used: HashSet<u32>,
}

impl Builder<'_> {
    /// The parts for a node and what it dominates. `next` is the node to which control goes by itself behind them.
    fn follow(&mut self, mut node: usize, next: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        loop {
            if self.headers.contains(&node) {
                let body = self.body(node, node, &mut None);
                let label = self.labels[&node];
                let body = if self.used.contains(&label) { vec![Part::Scope(label, body)] } else { body };
                parts.push(Part::Loop(body));
                return parts;
            }
            let mut tail = None;
            parts.extend(self.body(node, next, &mut tail));
            match tail {
                Some(tail) => node = tail,
                None => return parts,
            }
        }
    }

    /// The parts for a node and what it dominates, except for the last node that follows these parts and `tail` then is.
    fn body(&mut self, node: usize, next: usize, tail: &mut Option<usize>) -> Vec<Part> {
        let looping = next == node;
        let merges = self.children.get(&node).cloned().unwrap_or_default();
        let behind = merges.first().copied().unwrap_or(next);
        let successors = self.graph.successors[node].clone();
        let mut parts = Vec::new();
        match successors.as_slice() {
            [one] => {
                parts.push(Part::Node(node, Vec::new()));
                match self.is_inline(node, *one) && merges.is_empty() && !looping {
                    true => *tail = Some(*one),
                    false => parts.extend(self.edge(node, *one, behind)),
                }
            }
            _ => {
                let branches = successors.iter().map(|to| self.edge(node, *to, behind)).collect();
                parts.push(Part::Node(node, branches));
            }
        }
        for (at, merge) in merges.iter().enumerate() {
            let label = self.labels[merge];
            if self.used.contains(&label) {
                parts = vec![Part::Scope(label, parts)];
            }
            match merges.get(at + 1) {
                None if !looping => *tail = Some(*merge),
                behind => {
                    let inner = self.follow(*merge, behind.copied().unwrap_or(next));
                    parts.extend(inner);
                }
            }
        }
        parts
    }

    /// Whether an edge is the only one to its target, so that the target's parts stand there.
    fn is_inline(&self, from: usize, to: usize) -> bool {
        to != self.end && self.number[to] > self.number[from] && self.forward[to] == 1
    }

    /// The parts for an edge, behind which control goes to `next` by itself.
    fn edge(&mut self, from: usize, to: usize, next: usize) -> Vec<Part> {
        if self.is_inline(from, to) {
            return self.follow(to, next);
        }
        if to == next {
            return Vec::new();
        }
        let label = self.labels[&to];
        self.used.insert(label);
        vec![Part::Leave(label)]
    }
}

/// The nodes that can be reached, without the end, in reverse postorder.
fn reverse_postorder(graph: &Graph, entry: usize) -> Vec<usize> {
    let end = graph.successors.len();
    let mut seen = vec![false; end + 1];
    seen[end] = true;
    seen[entry] = true;
    let mut path = vec![(entry, 0)];
    let mut order = Vec::new();
    while let Some((node, at)) = path.last_mut() {
        match graph.successors[*node].get(*at) {
            Some(&next) => {
                *at += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, 0));
                }
            }
            None => {
                order.push(*node);
                path.pop();
            }
        }
    }
    order.reverse();
    order.push(end);
    order
}

/// The immediate dominators (K. D. Cooper, T. J. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm").
fn dominators(graph: &Graph, order: &[usize], number: &[usize]) -> Vec<usize> {
    let mut predecessors = vec![Vec::new(); graph.successors.len() + 1];
    for &node in order {
        for &next in graph.successors.get(node).into_iter().flatten() {
            predecessors[next].push(node);
        }
    }
    let mut found = vec![usize::MAX; graph.successors.len() + 1];
    found[order[0]] = order[0];
    let common = |found: &[usize], mut a: usize, mut b: usize| {
        while a != b {
            while number[a] > number[b] {
                a = found[a];
            }
            while number[b] > number[a] {
                b = found[b];
            }
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &node in &order[1..] {
            let known = predecessors[node].iter().copied().filter(|p| found[*p] != usize::MAX);
            let Some(new) = known.reduce(|a, b| common(&found, a, b)) else { continue };
            if found[node] != new {
                found[node] = new;
                changed = true;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwright_ir::hash::Random;

    /// The longest walk.
    const STEPS: usize = 50;

    /// The nodes that a walk passes, which takes the edges that `pick` says from the number of nodes passed and the last one.
    fn walk(parts: &[Part], pick: &dyn Fn(usize, usize) -> usize, passed: &mut Vec<usize>) -> Result<(), u32> {
        for part in parts {
            match part {
                Part::Node(node, branches) => {
                    passed.push(*node);
                    if passed.len() > STEPS {
                        return Err(u32::MAX);
                    }
                    if !branches.is_empty() {
                        walk(&branches[pick(passed.len(), *node) % branches.len()], pick, passed)?;
                    }
                }
                Part::Scope(label, inner) => match walk(inner, pick, passed) {
                    Err(left) if left == *label => {}
                    done => done?,
                },
                Part::Loop(inner) => loop {
                    walk(inner, pick, passed)?;
                },
                Part::Leave(label) => return Err(*label),
            }
        }
        Ok(())
    }

    #[test]
    fn structured_graphs_pass_the_same_nodes() {
        let mut random = Random::new(5);
        let mut structured = 0;
        for round in 0..3000 {
            let nodes = 1 + (random.next_u64() % 9) as usize;
            let mut successors = Vec::new();
            for node in 0..nodes {
                let count = 1 + random.next_u64() % 3;
                let least = if round % 3 == 0 && random.next_u64().is_multiple_of(4) { 0 } else { node + 1 };
                let mut to = || least + (random.next_u64() as usize) % (nodes + 1 - least);
                successors.push((0..count).map(|_| to()).collect::<Vec<_>>());
            }
            let graph = Graph { successors };
            let mut labels = 0;
            let Some(parts) = structure(&graph, 0, &mut || {
                labels += 1;
                labels
            }) else {
                assert_eq!(round % 3, 0, "graphs without loops have a structure");
                continue;
            };
            structured += 1;
            for seed in 0..10u64 {
                let pick = |passed: usize, node: usize| {
                    Random::new(seed * 1000 + passed as u64 * 31 + node as u64).next_u64() as usize
                };
                let (mut node, mut expected) = (0, Vec::new());
                while node != nodes && expected.len() <= STEPS {
                    expected.push(node);
                    let next = &graph.successors[node];
                    node = if next.len() == 1 { next[0] } else { next[pick(expected.len(), node) % next.len()] };
                }
                let mut passed = Vec::new();
                let _ = walk(&parts, &pick, &mut passed);
                assert_eq!(passed, expected, "{:?}\n{parts:#?}", graph.successors);
            }
        }
        assert!(structured > 2000, "{structured}");
    }
}
