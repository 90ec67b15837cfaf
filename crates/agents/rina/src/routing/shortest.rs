//! Paths of the least sum of costs (Dijkstra), with all next hops of equal cost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Graph, Path, RoutingPolicy};

/// The policy `shortest`.
#[derive(Clone, Copy, Debug)]
pub struct Shortest;

impl RoutingPolicy for Shortest {
    fn name(&self) -> &'static str {
        "shortest"
    }

    fn paths(&self, graph: &Graph<'_>) -> Vec<Option<Path>> {
        let mut paths: Vec<Option<Path>> = vec![None; graph.members.len()];
        let mut done = vec![false; graph.members.len()];
        let mut heap: BinaryHeap<_> = graph.own.map(|own| Reverse((0u32, own))).into_iter().collect();
        while let Some(Reverse((cost, node))) = heap.pop() {
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            let next = paths[node].as_ref().map(|path| path.next.clone());
            let neighbours = graph.neighbours[node].iter();
            for &(neighbour, more) in neighbours.filter(|(neighbour, _)| Some(*neighbour) != graph.own) {
                let cost = cost.saturating_add(more);
                let first = next.clone().unwrap_or_else(|| graph.first(neighbour));
                match &mut paths[neighbour] {
                    Some(path) if path.cost < cost => continue,
                    Some(path) if path.cost == cost => path.or_by(&first),
                    path => *path = Some(Path { cost, next: first }),
                }
                heap.push(Reverse((cost, neighbour)));
            }
        }
        paths
    }
}
