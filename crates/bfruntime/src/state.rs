//! What a controller has written and P4Runtime does not know: multicast nodes, members of groups that take no part, settings of
//! mirror sessions and ports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::proto::DataField;
use crate::schema::Schema;

/// The most multicast nodes of a device.
pub(crate) const MAX_NODES: usize = 1 << 16;

/// A device's program and tables, and what was written to them here.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The number of the running program ([`hopwright_p4runtime::Device::running`]).
    pub generation: u64,
    pub schema: Arc<Schema>,
    pub nodes: BTreeMap<u32, Node>,
    pub groups: BTreeMap<u16, Vec<Association>>,
    /// Members that take no part in a group, by profile and group.
    pub inactive: BTreeMap<(u32, u32), BTreeSet<u32>>,
    /// Data as they were written, by session.
    pub sessions: BTreeMap<u16, Vec<DataField>>,
    /// Data as they were written, by port.
    pub ports: BTreeMap<u32, Vec<DataField>>,
}

/// A node of multicast groups: copies to these ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub rid: u16,
    pub ports: BTreeSet<u32>,
}

/// A node of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Association {
    pub node: u32,
    /// Packets with this level-1 exclusion id are not copied to the node.
    pub exclusion: Option<u16>,
}

/// A change of the state, which happens once the device has taken what goes with it.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Node(u32, Option<Node>),
    Group(u16, Option<Vec<Association>>),
    Inactive((u32, u32), BTreeSet<u32>),
    Session(u16, Option<Vec<DataField>>),
    Port(u32, Option<Vec<DataField>>),
    /// All groups, or all nodes of none.
    NoGroups,
}

impl State {
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Node(id, node) => set(&mut self.nodes, id, node),
            Change::Group(id, nodes) => set(&mut self.groups, id, nodes),
            Change::Inactive(group, members) if members.is_empty() => drop(self.inactive.remove(&group)),
            Change::Inactive(group, members) => drop(self.inactive.insert(group, members)),
            Change::Session(id, data) => set(&mut self.sessions, id, data),
            Change::Port(id, data) => set(&mut self.ports, id, data),
            Change::NoGroups => self.groups.clear(),
        }
    }
}

fn set<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}
