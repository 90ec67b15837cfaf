//! What a controller has written and the control model does not have: multicast nodes, members of groups that take no part, settings of
//! mirror sessions and ports.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hopwright_control::entity::Key;
use hopwright_dataplane::{PortSet, StreamCounts};
use hopwright_ir::MatchValue;
use num_bigint::BigUint;

use crate::hashes::Changed;
use crate::idle::{Given, IdleTables};
use crate::proto::{DataField, EntryScope, IdleTable, PreDeviceConfig};
use crate::schema::Schema;

/// Pipes of a device.
pub(crate) const PIPES: usize = 4;
/// The most multicast nodes of a device, and the most sets of nodes.
pub(crate) const MAX_NODES: usize = 1 << 16;
/// The most nodes of a group or of a set of nodes.
pub(crate) const MAX_MEMBERS: usize = 1024;

/// The handle of the default entry of each table.
pub(crate) const DEFAULT_ENTRY: u32 = 1;

/// A device's program and tables, and what was written to them here.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The number of the running program ([`hopwright_p4runtime::Device::running`]).
    pub generation: u64,
    pub schema: Arc<Schema>,
    pub nodes: BTreeMap<u32, Node>,
    pub groups: BTreeMap<u16, Group>,
    /// Ports of link aggregation groups.
    pub lags: BTreeMap<u32, BTreeSet<u32>>,
    /// Nodes of which one gets a copy.
    pub ecmps: BTreeMap<u32, BTreeSet<u32>>,
    /// Ports by level-2 exclusion id.
    pub pruned: BTreeMap<u32, BTreeSet<u32>>,
    /// Members that take no part in a group, and how often they are in it, by profile and group.
    pub inactive: BTreeMap<(u32, u32), BTreeMap<u32, u32>>,
    /// The members of groups in the order that they were written in, by profile and group.
    pub member_order: BTreeMap<(u32, u32), Vec<u32>>,
    /// Settings of filters as they were written, by filter and cell.
    pub filters: HashMap<FilterCell, Vec<DataField>>,
    /// Data as they were written, by session.
    pub sessions: BTreeMap<u16, Vec<DataField>>,
    /// Data as they were written, by port.
    pub ports: BTreeMap<u32, Vec<DataField>>,
    /// What is subtracted of a port's counts, by port and field.
    pub port_counts: BTreeMap<u32, BTreeMap<u32, u64>>,
    /// Members of the value sets that a request in progress has changed.
    pub value_sets: BTreeMap<u32, Vec<Vec<(u32, MatchValue)>>>,
    /// Where copies to the CPU go.
    pub cpu_port: Option<u32>,
    pub generators: Generators,
    /// Data of port metadata as they were written, by table and port.
    pub port_metadata: BTreeMap<(u32, u32), Vec<DataField>>,
    /// Settings of the device.
    pub device: Vec<DataField>,
    /// Members that default entries run, by table.
    pub default_members: BTreeMap<u32, u32>,
    /// Hashes that a controller has changed, by their ids.
    pub hashes: BTreeMap<u32, Changed>,
    /// Which pipes share the entries of a table, where a controller has said so.
    pub scopes: BTreeMap<u32, EntryScope>,
    /// Masks of exact keys by table and key, where a controller has set them.
    pub key_masks: BTreeMap<u32, BTreeMap<u32, BigUint>>,
    /// Of multicast.
    pub replication: PreDeviceConfig,
    /// Settings of ports for multicast, other than where copies to the CPU go.
    pub multicast_ports: BTreeMap<u32, Vec<DataField>>,
    pub idle: IdleTables,
    /// Whether ports had a link when they were looked at last.
    pub links: BTreeMap<u32, bool>,
    pub handles: Handles,
}

/// Numbers of entries, by which controllers may ask for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handles {
    last: u32,
    keys: BTreeMap<(u32, u32), Key>,
    numbers: HashMap<Key, u32>,
}

impl Handles {
    /// That of an entry, which has it until it is deleted.
    pub(crate) fn of(&mut self, key: &Key) -> u32 {
        if let Some(known) = self.numbers.get(key) {
            return *known;
        }
        self.last = self.last.max(DEFAULT_ENTRY) + 1;
        self.keys.insert((key.table, self.last), key.clone());
        self.numbers.insert(key.clone(), self.last);
        self.last
    }

    pub(crate) fn key(&self, table: u32, handle: u32) -> Option<&Key> {
        self.keys.get(&(table, handle))
    }

    fn forget(&mut self, key: &Key) {
        if let Some(handle) = self.numbers.remove(key) {
            self.keys.remove(&(key.table, handle));
        }
    }
}

/// Packet generators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generators {
    /// By application and pipe.
    pub applications: BTreeMap<(u8, u8), Application>,
    /// Data of ports as they were written.
    pub ports: BTreeMap<u32, Vec<DataField>>,
    /// By pipe. Zeros if it is empty.
    pub buffers: [Arc<[u8]>; PIPES],
    /// Ports that have lost their link, and trigger nothing until they are taken out.
    pub down: Arc<PortSet>,
}

/// An application of the packet generators of a pipe: data as they were written, and what it has made.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    /// How it is triggered.
    pub action_id: u32,
    pub fields: Vec<DataField>,
    pub counts: Arc<StreamCounts>,
}

/// A cell of the filter with this id: its index, or the key of its entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FilterCell {
    Index(u32, u64),
    Entry(u32, Key),
}

/// A node of multicast groups: copies to these ports, and to one port of each of these link aggregation groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub rid: u16,
    pub ports: BTreeSet<u32>,
    pub lags: BTreeSet<u32>,
}

/// A multicast group: nodes, and sets of nodes of which one gets a copy. To some of them packets with a level-1 exclusion id are not
/// copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub nodes: BTreeMap<u32, Option<u16>>,
    pub ecmps: BTreeMap<u32, Option<u16>>,
}

/// A change of the state, which happens once the device has taken what goes with it.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Node(u32, Option<Node>),
    Group(u16, Option<Group>),
    Lag(u32, Option<BTreeSet<u32>>),
    Ecmp(u32, Option<BTreeSet<u32>>),
    Pruned(u32, Option<BTreeSet<u32>>),
    Inactive((u32, u32), BTreeMap<u32, u32>),
    MemberOrder((u32, u32), Vec<u32>),
    Filter(FilterCell, Option<Vec<DataField>>),
    Session(u16, Option<Vec<DataField>>),
    Port(u32, Option<Vec<DataField>>),
    /// What is subtracted of some counts of a port.
    PortCounts(u32, Vec<(u32, u64)>),
    CpuPort(Option<u32>),
    ValueSet(u32, Vec<Vec<(u32, MatchValue)>>),
    /// Of an application in a pipe.
    Application((u8, u8), Option<Application>),
    GeneratorPort(u32, Option<Vec<DataField>>),
    /// Of a pipe.
    PacketBuffer(u8, Arc<[u8]>),
    /// All groups, or all nodes of none.
    NoGroups,
    /// Of a table and a port.
    PortMetadata((u32, u32), Option<Vec<DataField>>),
    Device(Vec<DataField>),
    DefaultMember(u32, Option<u32>),
    Hash(u32, Changed),
    Scope(u32, EntryScope),
    KeyMasks(u32, BTreeMap<u32, BigUint>),
    Replication(PreDeviceConfig),
    MulticastPort(u32, Option<Vec<DataField>>),
    IdleTable(u32, IdleTable),
    /// What an entry was given, and how often it had been hit.
    IdleEntry(Key, Given, u64),
    /// Which entries of the table were hit, by their keys.
    Hits(u32, Vec<(Key, u64)>),
    /// An entry that is deleted.
    Deleted(Key),
}

impl Change {
    /// The bytes of memory that what is written takes: of what a controller may write more of than the program declares.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_of(match self {
            Change::Node(_, node) => node.as_ref().map(Node::places),
            Change::Group(_, group) => group.as_ref().map(Group::places),
            Change::Lag(_, members) | Change::Ecmp(_, members) | Change::Pruned(_, members) => {
                members.as_ref().map(BTreeSet::len)
            }
            Change::Inactive(_, members) => Some(members.len()).filter(|members| *members > 0),
            Change::MemberOrder(_, members) => Some(members.len()).filter(|members| *members > 0),
            _ => None,
        })
    }
}

/// Bytes of a value with this many numbers.
fn bytes_of(numbers: Option<usize>) -> u64 {
    const VALUE: usize = 256;
    const NUMBER: usize = 24;
    numbers.map_or(0, |numbers| (VALUE + NUMBER * numbers) as u64)
}

impl Node {
    fn places(&self) -> usize {
        self.ports.len() + self.lags.len()
    }
}

impl Group {
    fn places(&self) -> usize {
        self.nodes.len() + self.ecmps.len()
    }
}

impl State {
    /// An entry's key under the masks of its table.
    pub(crate) fn masked(&self, mut key: Key) -> Key {
        let Some(masks) = self.key_masks.get(&key.table) else { return key };
        for (id, value) in &mut key.fields {
            if let (MatchValue::Exact(value), Some(mask)) = (value, masks.get(id)) {
                *value &= mask;
            }
        }
        key
    }

    /// The bytes of memory that a change gives back: those of what it replaces.
    pub(crate) fn replaced_bytes(&self, change: &Change) -> u64 {
        let bytes = match change {
            Change::Node(id, _) => self.nodes.get(id).map(Node::places),
            Change::Group(id, _) => self.groups.get(id).map(Group::places),
            Change::Lag(id, _) => self.lags.get(id).map(BTreeSet::len),
            Change::Ecmp(id, _) => self.ecmps.get(id).map(BTreeSet::len),
            Change::Pruned(id, _) => self.pruned.get(id).map(BTreeSet::len),
            Change::Inactive(group, _) => self.inactive.get(group).map(BTreeMap::len),
            Change::MemberOrder(group, _) => self.member_order.get(group).map(Vec::len),
            Change::NoGroups => return self.groups.values().map(|group| bytes_of(Some(group.places()))).sum(),
            _ => None,
        };
        bytes_of(bytes)
    }

    /// What there is that the control model does not have, as controllers call it.
    pub(crate) fn beside(&self) -> Vec<&'static str> {
        let generators = &self.generators;
        let generates = !generators.applications.is_empty() || !generators.ports.is_empty();
        let all = [
            ("$pre.node", !self.nodes.is_empty()),
            ("$pre.mgid", !self.groups.is_empty()),
            ("$pre.lag", !self.lags.is_empty()),
            ("$pre.ecmp", !self.ecmps.is_empty()),
            ("$pre.prune", !self.pruned.is_empty()),
            ("$pre.port", self.cpu_port.is_some() || !self.multicast_ports.is_empty()),
            ("$mirror.cfg", !self.sessions.is_empty()),
            ("$PORT", !self.ports.is_empty()),
            ("$PORT_METADATA", !self.port_metadata.is_empty()),
            ("pktgen", generates || generators.buffers.iter().any(|buffer| !buffer.is_empty())),
            ("dev.device_configuration", !self.device.is_empty()),
            ("Lpf and Wred", !self.filters.is_empty()),
            ("EntryScope", !self.scopes.is_empty()),
            ("DynamicKeyMask", !self.key_masks.is_empty()),
            ("IdleTimeout", !self.idle.is_empty()),
            ("pre_device_config", self.replication != PreDeviceConfig::default()),
        ];
        all.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
    }

    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Node(id, node) => set(&mut self.nodes, id, node),
            Change::Group(id, group) => set(&mut self.groups, id, group),
            Change::Lag(id, ports) => set(&mut self.lags, id, ports),
            Change::Ecmp(id, nodes) => set(&mut self.ecmps, id, nodes),
            Change::Pruned(id, ports) => set(&mut self.pruned, id, ports),
            Change::Inactive(group, members) if members.is_empty() => drop(self.inactive.remove(&group)),
            Change::Inactive(group, members) => drop(self.inactive.insert(group, members)),
            Change::MemberOrder(group, members) if members.is_empty() => drop(self.member_order.remove(&group)),
            Change::MemberOrder(group, members) => drop(self.member_order.insert(group, members)),
            Change::Filter(cell, Some(data)) => drop(self.filters.insert(cell, data)),
            Change::Filter(cell, None) => drop(self.filters.remove(&cell)),
            Change::Session(id, data) => set(&mut self.sessions, id, data),
            Change::Port(id, data) => set(&mut self.ports, id, data),
            Change::PortCounts(id, counts) => self.port_counts.entry(id).or_default().extend(counts),
            Change::CpuPort(port) => self.cpu_port = port,
            Change::ValueSet(id, members) => drop(self.value_sets.insert(id, members)),
            change @ (Change::Application(..) | Change::GeneratorPort(..) | Change::PacketBuffer(..)) => {
                self.generators.apply(&change);
            }
            Change::NoGroups => self.groups.clear(),
            Change::PortMetadata(port, data) => set(&mut self.port_metadata, port, data),
            Change::Device(settings) => self.device = settings,
            Change::DefaultMember(table, member) => set(&mut self.default_members, table, member),
            Change::Hash(id, changed) => drop(self.hashes.insert(id, changed)),
            Change::Scope(table, scope) => drop(self.scopes.insert(table, scope)),
            Change::KeyMasks(table, masks) => drop(self.key_masks.insert(table, masks)),
            Change::Replication(config) => self.replication = config,
            Change::MulticastPort(port, data) => set(&mut self.multicast_ports, port, data),
            Change::IdleTable(table, settings) => self.idle.set(table, settings),
            Change::IdleEntry(key, given, hits) => self.idle.give(key.table, &key, given, hits),
            Change::Hits(table, hits) => self.idle.update_hits(table, &hits),
            Change::Deleted(key) => {
                self.idle.forget(key.table, &key);
                self.handles.forget(&key);
            }
        }
    }
}

impl Generators {
    /// A change of generators; others change nothing here.
    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Application(id, application) => set(&mut self.applications, *id, application.clone()),
            Change::GeneratorPort(port, data) => set(&mut self.ports, *port, data.clone()),
            Change::PacketBuffer(pipe, bytes) => self.buffers[usize::from(*pipe)] = bytes.clone(),
            _ => {}
        }
    }
}

fn set<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_control_model_does_not_have_is_named() {
        let mut state = State::default();
        assert!(state.beside().is_empty());
        state.apply(Change::Session(7, Some(Vec::new())));
        state.apply(Change::Port(2, Some(Vec::new())));
        state.apply(Change::PacketBuffer(0, [1, 2].into()));
        state.apply(Change::IdleTable(1, IdleTable { enable: true, ..IdleTable::default() }));
        assert_eq!(state.beside(), ["$mirror.cfg", "$PORT", "pktgen", "IdleTimeout"]);
        state.apply(Change::Session(7, None));
        assert_eq!(state.beside(), ["$PORT", "pktgen", "IdleTimeout"]);
    }
}
