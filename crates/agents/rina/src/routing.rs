//! Shortest paths over the lower flows of a DIF (Dijkstra), with all next hops of equal cost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::name::Name;
use crate::rib::{Key, Rib};

/// Where a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub cost: u32,
    /// The neighbours that shortest paths begin with.
    pub next: BTreeSet<Name>,
}

/// Paths to all members that can be reached. A lower flow counts if both ends say that it is there; the cost in a direction is
/// that of the end it leaves.
pub(crate) fn paths(rib: &Rib, own: &Name) -> BTreeMap<Name, Path> {
    let flows: BTreeMap<(&Name, &Name), u32> = rib
        .iter()
        .filter_map(|(key, object)| match key {
            Key::LowerFlow(local, remote) => Some(((local, remote), object.value)),
            _ => None,
        })
        .collect();
    let mut graph: BTreeMap<&Name, Vec<(&Name, u32)>> = BTreeMap::new();
    for (&(local, remote), cost) in &flows {
        if flows.contains_key(&(remote, local)) {
            graph.entry(local).or_default().push((remote, *cost));
        }
    }
    let mut paths: BTreeMap<Name, Path> = BTreeMap::new();
    let mut done = BTreeSet::new();
    let mut heap = BinaryHeap::from([Reverse((0u32, own))]);
    while let Some(Reverse((cost, node))) = heap.pop() {
        if !done.insert(node) {
            continue;
        }
        let next = paths.get(node).map(|path| path.next.clone()).unwrap_or_default();
        for &(neighbour, more) in graph.get(node).into_iter().flatten() {
            if neighbour == own {
                continue;
            }
            let cost = cost.saturating_add(more);
            let first = if node == own { BTreeSet::from([neighbour.clone()]) } else { next.clone() };
            match paths.get_mut(neighbour) {
                Some(path) if path.cost < cost => continue,
                Some(path) if path.cost == cost => path.next.extend(first),
                _ => drop(paths.insert(neighbour.clone(), Path { cost, next: first })),
            }
            heap.push(Reverse((cost, neighbour)));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn network(flows: &[(&str, &str, u32)]) -> Rib {
        let mut rib = Rib::new(name("a"), 0);
        for (local, remote, cost) in flows {
            rib.set(Key::LowerFlow(name(local), name(remote)), true, *cost, Duration::ZERO);
        }
        rib
    }

    fn next(rib: &Rib, to: &str) -> Option<(u32, Vec<String>)> {
        let path = paths(rib, &name("a")).remove(&name(to))?;
        Some((path.cost, path.next.iter().map(Name::to_string).collect()))
    }

    #[test]
    fn equal_paths_are_all_taken() {
        let both = |a, b, cost| [(a, b, cost), (b, a, cost)];
        let flows =
            [both("a", "b", 1), both("a", "c", 1), both("b", "d", 1), both("c", "d", 1), both("d", "e", 1)].concat();
        let mut rib = network(&flows);
        assert_eq!(next(&rib, "e"), Some((3, vec!["b".into(), "c".into()])));
        assert_eq!(next(&rib, "b"), Some((1, vec!["b".into()])));
        rib.set(Key::LowerFlow(name("c"), name("d")), false, 1, Duration::ZERO);
        assert_eq!(next(&rib, "e"), Some((3, vec!["b".into()])));
        rib.set(Key::LowerFlow(name("a"), name("b")), true, 9, Duration::ZERO);
        assert_eq!(next(&rib, "e"), Some((11, vec!["b".into()])));
        rib.set(Key::LowerFlow(name("b"), name("a")), false, 9, Duration::ZERO);
        assert_eq!(next(&rib, "e"), None, "both ends must say so");
    }

    #[test]
    fn one_end_is_not_enough() {
        assert_eq!(next(&network(&[("a", "b", 1)]), "b"), None);
        assert_eq!(next(&network(&[]), "b"), None);
    }
}
