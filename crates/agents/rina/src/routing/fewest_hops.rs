//! Paths over the fewest lower flows, whatever these cost (breadth first), with all next hops of equally many.

use super::{Graph, Path, RoutingPolicy};

/// The policy `fewest-hops`.
#[derive(Clone, Copy, Debug)]
pub struct FewestHops;

impl RoutingPolicy for FewestHops {
    fn name(&self) -> &'static str {
        "fewest-hops"
    }

    fn paths(&self, graph: &Graph<'_>) -> Vec<Option<Path>> {
        let mut paths: Vec<Option<Path>> = vec![None; graph.members.len()];
        let mut reached: Vec<usize> = graph.own.into_iter().collect();
        let mut hops = 0;
        while !reached.is_empty() {
            hops += 1;
            let mut farther = Vec::new();
            for node in reached {
                let next = paths[node].as_ref().map(|path| path.next.clone());
                for &(neighbour, _) in graph.neighbours[node].iter().filter(|(to, _)| Some(*to) != graph.own) {
                    let first = next.clone().unwrap_or_else(|| graph.first(neighbour));
                    match &mut paths[neighbour] {
                        Some(path) if path.cost < hops => {}
                        Some(path) => path.or_by(&first),
                        path => {
                            *path = Some(Path { cost: hops, next: first });
                            farther.push(neighbour);
                        }
                    }
                }
            }
            reached = farther;
        }
        paths
    }
}
