//! Routing: paths from a member to all others, over the lower flows of the DIF.
//!
//! A [`RoutingPolicy`] computes them from a [`Graph`], which is made of the RIB here. All members of a DIF have the same policy:
//! members that disagree send PDUs in circles. To add one, write its module beside [`shortest`] and put it into [`POLICIES`].

mod fewest_hops;
mod shortest;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

pub use fewest_hops::FewestHops;
pub use shortest::Shortest;

use crate::name::Name;
use crate::rib::Rib;

/// The policies. The first one is used if a configuration names none.
pub const POLICIES: [&dyn RoutingPolicy; 2] = [&Shortest, &FewestHops];

/// A way to compute paths.
pub trait RoutingPolicy: fmt::Debug + Sync {
    /// Its name in configurations.
    fn name(&self) -> &'static str;

    /// Paths from [`Graph::own`] to each member, by the member's number; `None` for those that cannot be reached, and for itself.
    /// Called after each change, so that its time limits how large a DIF can be.
    fn paths(&self, graph: &Graph<'_>) -> Vec<Option<Path>>;
}

/// The policy of this name.
pub fn policy(name: &str) -> Option<&'static dyn RoutingPolicy> {
    POLICIES.into_iter().find(|policy| policy.name() == name)
}

/// Where a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// What the policy counts.
    pub cost: u32,
    /// The neighbours that paths begin with; PDUs are spread over all of them. Most members have those of the member before them.
    pub next: Arc<BTreeSet<Name>>,
}

impl Path {
    /// Another path of the same cost begins with these neighbours.
    fn or_by(&mut self, first: &Arc<BTreeSet<Name>>) {
        if !first.is_subset(&self.next) {
            Arc::make_mut(&mut self.next).extend(first.iter().cloned());
        }
    }
}

/// The members of a DIF, by number, and the lower flows between them. Both ends of a lower flow say that it is there.
#[derive(Debug)]
pub struct Graph<'a> {
    /// In order.
    pub members: Vec<&'a Name>,
    /// By member: the members at the other ends of its lower flows, with the cost of the way there.
    pub neighbours: Vec<Vec<(usize, u32)>>,
    /// The member that asks; it is none if it has no neighbours.
    pub own: Option<usize>,
}

impl<'a> Graph<'a> {
    /// The cost in a direction is that of the end it leaves.
    fn new(rib: &'a Rib, own: &Name) -> Graph<'a> {
        // The RIB has them in this order.
        let (mut members, mut flows): (Vec<&Name>, Vec<(usize, &Name, u32)>) = Default::default();
        for (local, remote, cost) in rib.lower_flows() {
            if members.last() != Some(&local) {
                members.push(local);
            }
            flows.push((members.len() - 1, remote, cost));
        }
        let places: HashMap<&Name, usize> = members.iter().enumerate().map(|(place, name)| (*name, place)).collect();
        let mut announced: Vec<Vec<(usize, u32)>> = vec![Vec::new(); members.len()];
        for (local, remote, cost) in flows {
            announced[local].extend(places.get(remote).map(|remote| (*remote, cost)));
        }
        // Names and places have the same order.
        let is_announced =
            |local: usize, remote: usize| announced[local].binary_search_by_key(&remote, |(to, _)| *to).is_ok();
        let both = |(local, flows): (usize, &Vec<(usize, u32)>)| {
            flows.iter().copied().filter(|(remote, _)| is_announced(*remote, local)).collect()
        };
        let neighbours = announced.iter().enumerate().map(both).collect();
        let own = places.get(own).copied();
        Graph { members, neighbours, own }
    }

    /// The neighbours of this member in a tree over all members that can be reached, the same at all of these: that of the fewest lower
    /// flows from the first member, where of several ways to a member the one by the first one is taken.
    fn flooding_tree(&self) -> Vec<usize> {
        let Some(own) = self.own else { return Vec::new() };
        let (component, _) = self.breadth_first(own);
        let root = component.into_iter().min().unwrap_or(own);
        let (_, parents) = self.breadth_first(root);
        let is_of_tree = |neighbour: &usize| parents[*neighbour] == Some(own) || parents[own] == Some(*neighbour);
        self.neighbours[own].iter().map(|(neighbour, _)| *neighbour).filter(is_of_tree).collect()
    }

    /// The members that can be reached from one, in the order of a search, and by which one each was found; `root` by itself.
    fn breadth_first(&self, root: usize) -> (Vec<usize>, Vec<Option<usize>>) {
        let (mut found, mut parents) = (vec![root], vec![None; self.members.len()]);
        parents[root] = Some(root);
        let mut next = 0;
        while let Some(member) = found.get(next).copied() {
            next += 1;
            for (neighbour, _) in &self.neighbours[member] {
                if parents[*neighbour].is_none() {
                    parents[*neighbour] = Some(member);
                    found.push(*neighbour);
                }
            }
        }
        (found, parents)
    }

    /// The set of one neighbour, with which a path begins.
    pub fn first(&self, neighbour: usize) -> Arc<BTreeSet<Name>> {
        Arc::new(BTreeSet::from([self.members[neighbour].clone()]))
    }
}

/// What follows from the lower flows of a DIF.
pub(crate) struct Routes {
    /// Paths to all members that can be reached.
    pub paths: BTreeMap<Name, Path>,
    /// The neighbours that objects are flooded to, and all that the graph has.
    pub tree: BTreeSet<Name>,
    pub neighbours: BTreeSet<Name>,
}

/// Paths by a policy, and the flooding tree.
pub(crate) fn routes(policy: &dyn RoutingPolicy, rib: &Rib, own: &Name) -> Routes {
    let graph = Graph::new(rib, own);
    let paths = policy.paths(&graph);
    let names = |places: Vec<usize>| places.into_iter().map(|place| graph.members[place].clone()).collect();
    let neighbours = graph.own.map(|own| graph.neighbours[own].iter().map(|(neighbour, _)| *neighbour).collect());
    let (tree, neighbours) = (names(graph.flooding_tree()), names(neighbours.unwrap_or_default()));
    let all = graph.members.into_iter().zip(paths);
    let paths = all.filter_map(|(name, path)| Some((name.clone(), path?))).collect();
    Routes { paths, tree, neighbours }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rib::Key;

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
        next_by(&Shortest, rib, to)
    }

    fn next_by(policy: &dyn RoutingPolicy, rib: &Rib, to: &str) -> Option<(u32, Vec<String>)> {
        let path = routes(policy, rib, &name("a")).paths.remove(&name(to))?;
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

    #[test]
    fn hops_count_whatever_they_cost() {
        let both = |a, b, cost| [(a, b, cost), (b, a, cost)];
        let flows =
            [both("a", "d", 100), both("a", "b", 1), both("b", "c", 1), both("c", "d", 1), both("d", "e", 1)].concat();
        let rib = network(&flows);
        assert_eq!(next(&rib, "e"), Some((4, vec!["b".into()])));
        assert_eq!(next_by(&FewestHops, &rib, "e"), Some((2, vec!["d".into()])));
        assert_eq!(next_by(&FewestHops, &rib, "c"), Some((2, vec!["b".into(), "d".into()])), "both ways");
        assert_eq!(next_by(&FewestHops, &rib, "a"), None);
    }

    /// Every member sees the same tree, which reaches all: a lower flow belongs to it at both ends or at none.
    #[test]
    fn all_members_flood_by_one_tree() {
        let all: Vec<String> = (0..30).map(|number| format!("m{number}")).collect();
        let mut rib = Rib::new(name("m0"), 0);
        let mut join = |one: usize, other: usize| {
            for (local, remote) in [(one, other), (other, one)] {
                let key = Key::LowerFlow(name(&all[local]), name(&all[remote]));
                rib.set(key, true, 1 + local as u32 % 3, Duration::ZERO);
            }
        };
        (0..30).for_each(|member| join(member, (member + 1) % 30));
        (0..15).for_each(|member| join(member, 15 + member * 7 % 15));
        let tree = |own: &String| routes(&Shortest, &rib, &name(own)).tree;
        let edges: BTreeSet<(Name, Name)> =
            all.iter().flat_map(|own| tree(own).into_iter().map(|other| (name(own), other))).collect();
        assert!(edges.iter().all(|(one, other)| edges.contains(&(other.clone(), one.clone()))));
        assert_eq!(edges.len(), 2 * 29, "no lower flow too many");
        let mut reached = BTreeSet::from([name("m0")]);
        for _ in 0..30 {
            reached.extend(
                edges
                    .iter()
                    .filter(|(one, _)| reached.contains(one))
                    .map(|(_, other)| other.clone())
                    .collect::<Vec<_>>(),
            );
        }
        assert_eq!(reached.len(), 30);
    }

    #[test]
    fn policies_have_names_of_their_own() {
        for one in POLICIES {
            assert_eq!(policy(one.name()).map(RoutingPolicy::name), Some(one.name()));
        }
        assert!(policy("none").is_none());
    }
}
