//! The packet replication engine: nodes of multicast groups, and link aggregation groups (LAG).
//!
//! BMv2 builds groups of nodes, which have a replication id, ports and LAGs. The control model has lists of copies; these are made again
//! whenever one of their nodes changes. Groups that another control plane has written become nodes when a client looks.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_control::entity::{MulticastGroup, Replica};
use hopwright_control::{Entity, Operation, Update};
use serde_json::json;

use super::Runtime;
use crate::failure::{MulticastCode, Result};

/// Ports and LAGs have smaller numbers.
const MAX_PORTS: usize = 512;
/// The highest number of a multicast group.
const MAX_GROUP: u16 = 0x7fff;
/// BMv2 chooses a LAG's port by this number.
const LAG_HASH: usize = 0xff;

/// A node of a multicast group.
#[derive(Clone, Debug, Default)]
struct Node {
    rid: u16,
    ports: BTreeSet<u16>,
    lags: BTreeSet<u16>,
    group: Option<u16>,
}

/// Groups and their nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Replication {
    /// Groups with their nodes, in the order in which these were associated.
    groups: BTreeMap<u16, Vec<i32>>,
    nodes: BTreeMap<i32, Node>,
    lags: BTreeMap<u16, BTreeSet<u16>>,
}

impl Replication {
    fn add(&mut self, node: Node) -> i32 {
        let handle = (0..).find(|handle| !self.nodes.contains_key(handle)).unwrap_or(i32::MAX);
        self.nodes.insert(handle, node);
        handle
    }

    fn node(&mut self, handle: i32) -> Result<&mut Node> {
        self.nodes
            .get_mut(&handle)
            .ok_or_else(|| MulticastCode::InvalidNode.because(format!("there is no node {handle}")))
    }

    fn copies(&self, group: u16) -> Option<Vec<Replica>> {
        let nodes = self.groups.get(&group)?.iter().filter_map(|handle| self.nodes.get(handle));
        let copies = nodes.flat_map(|node| {
            let of_lags = node.lags.iter().filter_map(|lag| self.lags.get(lag)).filter(|ports| !ports.is_empty());
            let of_lags = of_lags.filter_map(|ports| ports.iter().nth(LAG_HASH % ports.len()));
            node.ports.iter().chain(of_lags).map(|port| copy(*port, node.rid))
        });
        Some(copies.collect())
    }

    /// Makes the groups what others have made of them. `there`: all groups of the model.
    fn import(&mut self, there: &BTreeMap<u16, Vec<Replica>>) {
        let ours: Vec<u16> = self.groups.keys().copied().collect();
        for group in ours.into_iter().chain(there.keys().copied()).collect::<BTreeSet<u16>>() {
            let copies = there.get(&group);
            if self.copies(group).as_ref() == copies {
                continue;
            }
            for handle in self.groups.remove(&group).unwrap_or_default() {
                self.nodes.remove(&handle);
            }
            let Some(copies) = copies else { continue };
            let mut nodes: Vec<Node> = Vec::new();
            for Replica { instance, port, .. } in copies {
                // The model has bounded both.
                let (rid, port) = (*instance as u16, *port as u16);
                // A node has copies of one id, by rising port.
                match nodes
                    .last_mut()
                    .filter(|node| node.rid == rid && node.ports.last().is_some_and(|last| *last < port))
                {
                    Some(node) => {
                        node.ports.insert(port);
                    }
                    None => nodes.push(Node { rid, ports: [port].into(), lags: BTreeSet::new(), group: Some(group) }),
                }
            }
            let handles = nodes.into_iter().map(|node| self.add(node)).collect();
            self.groups.insert(group, handles);
        }
    }
}

impl Runtime {
    /// Makes a change, of which the model takes all or nothing.
    fn change_groups<T>(&mut self, change: impl FnOnce(&mut Replication) -> Result<T>) -> Result<T> {
        let before = self.groups_there();
        self.replication.import(&before);
        let mut next = self.replication.clone();
        let result = change(&mut next)?;
        let groups: BTreeSet<u16> = before.keys().chain(next.groups.keys()).copied().collect();
        let update = |group: u16| {
            let (old, new) = (before.get(&group), next.copies(group));
            let operation = match (old, &new) {
                (None, _) => Operation::Insert,
                (Some(_), None) => Operation::Delete,
                (Some(old), Some(new)) if old != new => Operation::Modify,
                _ => return None,
            };
            let copies = new.unwrap_or_default();
            let entity = Entity::Multicast(group.into(), MulticastGroup { copies, ..MulticastGroup::default() });
            Some(Update { operation, entity })
        };
        let updates: Vec<Update> = groups.into_iter().filter_map(update).collect();
        self.model.lock().make_updates(&updates).map_err(|error| MulticastCode::Error.because(error))?;
        self.replication = next;
        Ok(result)
    }

    /// All groups of the model, with ports as numbers.
    fn groups_there(&self) -> BTreeMap<u16, Vec<Replica>> {
        let plain = |group: &MulticastGroup| {
            group.copies.iter().map(|copy| Replica { port_is_typed: false, ..*copy }).collect()
        };
        self.model.lock().multicast_groups().iter().map(|(id, group)| (*id as u16, plain(group))).collect()
    }

    pub(crate) fn create_multicast_group(&mut self, group: i32) -> Result<i32> {
        let number = u16::try_from(group).ok().filter(|group| (1..=MAX_GROUP).contains(group));
        let wrong = || MulticastCode::InvalidGroup.because(format!("groups have numbers from 1 to {MAX_GROUP}"));
        let number = number.ok_or_else(wrong)?;
        self.change_groups(|groups| {
            groups.groups.entry(number).or_default();
            Ok(group)
        })
    }

    pub(crate) fn destroy_multicast_group(&mut self, group: i32) -> Result<()> {
        let number = existing_group(group)?;
        self.change_groups(|groups| {
            for handle in groups.groups.remove(&number).unwrap_or_default() {
                groups.node(handle)?.group = None;
            }
            Ok(())
        })
    }

    pub(crate) fn create_node(&mut self, rid: i32, ports: &str, lags: &str) -> Result<i32> {
        let rid = u16::try_from(rid).map_err(|_| MulticastCode::Error.because("a replication id has 16 bits"))?;
        let (ports, lags) = (numbers(ports)?, numbers(lags)?);
        self.change_groups(|groups| Ok(groups.add(Node { rid, ports, lags, group: None })))
    }

    pub(crate) fn update_node(&mut self, node: i32, ports: &str, lags: &str) -> Result<()> {
        let (ports, lags) = (numbers(ports)?, numbers(lags)?);
        self.change_groups(|groups| {
            let node = groups.node(node)?;
            (node.ports, node.lags) = (ports, lags);
            Ok(())
        })
    }

    pub(crate) fn associate_node(&mut self, group: i32, node: i32) -> Result<()> {
        self.change_groups(|groups| {
            if groups.node(node)?.group.is_some() {
                return Err(MulticastCode::Error.because(format!("node {node} is in a group")));
            }
            let number = existing_group(group)?;
            let nodes = groups.groups.get_mut(&number);
            let nodes = nodes.ok_or_else(|| MulticastCode::InvalidGroupHandle.because("there is no such group"))?;
            nodes.push(node);
            groups.node(node)?.group = Some(number);
            Ok(())
        })
    }

    pub(crate) fn dissociate_node(&mut self, group: i32, node: i32) -> Result<()> {
        self.change_groups(|groups| {
            groups.node(node)?;
            let number = existing_group(group)?;
            let nodes = groups.groups.get_mut(&number);
            let nodes = nodes.ok_or_else(|| MulticastCode::InvalidGroupHandle.because("there is no such group"))?;
            let at = nodes.iter().position(|other| *other == node);
            nodes.remove(at.ok_or_else(|| MulticastCode::Error.because(format!("node {node} is not in the group")))?);
            groups.node(node)?.group = None;
            Ok(())
        })
    }

    pub(crate) fn destroy_node(&mut self, node: i32) -> Result<()> {
        self.change_groups(|groups| {
            groups.node(node)?;
            groups.nodes.remove(&node);
            groups.groups.values_mut().for_each(|nodes| nodes.retain(|other| *other != node));
            Ok(())
        })
    }

    pub(crate) fn set_lag(&mut self, lag: i32, ports: &str) -> Result<()> {
        let lag = u16::try_from(lag).ok().filter(|lag| usize::from(*lag) < MAX_PORTS);
        let lag = lag.ok_or_else(|| MulticastCode::Error.because("no such LAG"))?;
        let ports = numbers(ports)?;
        self.change_groups(|groups| {
            groups.lags.insert(lag, ports);
            Ok(())
        })
    }

    /// Removes groups, nodes and LAGs.
    pub(super) fn replication_reset(&mut self) -> Result<()> {
        self.change_groups(|groups| {
            *groups = Replication::default();
            Ok(())
        })
    }

    /// Groups, nodes and LAGs as JSON.
    pub(crate) fn multicast_entries(&mut self) -> String {
        let there = self.groups_there();
        self.replication.import(&there);
        let Replication { groups, nodes, lags } = &self.replication;
        let groups: Vec<_> = groups.iter().map(|(id, nodes)| json!({ "id": id, "l1_handles": nodes })).collect();
        // BMv2 has two objects for a node, one of which has the ports.
        let l1: Vec<_> =
            nodes.iter().map(|(at, node)| json!({ "handle": at, "rid": node.rid, "l2_handle": at })).collect();
        let l2 = nodes.iter().map(|(at, node)| json!({ "handle": at, "ports": node.ports, "lags": node.lags }));
        let l2: Vec<_> = l2.collect();
        let lags: Vec<_> = lags.iter().map(|(id, ports)| json!({ "id": id, "ports": ports })).collect();
        json!({ "mgrps": groups, "l1_handles": l1, "l2_handles": l2, "lags": lags }).to_string()
    }
}

fn copy(port: u16, rid: u16) -> Replica {
    Replica { port: port.into(), instance: rid.into(), port_is_typed: false }
}

fn existing_group(group: i32) -> Result<u16> {
    u16::try_from(group).map_err(|_| MulticastCode::InvalidGroupHandle.because(format!("there is no group {group}")))
}

/// The numbers of the ones in a text of zeros and ones. The last character is number 0.
fn numbers(map: &str) -> Result<BTreeSet<u16>> {
    let wrong = |reason: &str| Err(MulticastCode::Error.because(reason));
    if map.len() > MAX_PORTS {
        return wrong("a port or LAG has a number from 0 to 511");
    }
    if map.bytes().any(|digit| digit != b'0' && digit != b'1') {
        return wrong("a map of ports consists of zeros and ones");
    }
    Ok(map.bytes().rev().enumerate().filter(|(_, digit)| *digit == b'1').map(|(number, _)| number as u16).collect())
}
