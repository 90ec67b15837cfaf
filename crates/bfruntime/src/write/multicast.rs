//! Writes multicast nodes and groups. P4Runtime's groups consist of copies; here a group consists of nodes, each with a replication
//! id and ports, which belong to several groups.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_p4runtime::proto::v1;
use v1::entity::Entity;
use v1::packet_replication_engine_entry::Type as Replicates;
use v1::update::Type;

use super::{Meaning, Request, objects, v1_update};
use crate::failure::{Result, exists, invalid, not_found, unimplemented};
use crate::proto::update::Type as Kind;
use crate::schema::fixed::{group, node};
use crate::state::{Association, Change, MAX_NODES, Node};

/// The register that says by replication id to which level-1 exclusion id a node belongs, if this bit is set.
const EXCLUDED: u32 = 1 << 16;

impl Request<'_> {
    pub(super) fn node(&self) -> Result<Meaning> {
        let Some(id) = self.optional_number()? else {
            if self.kind != Kind::Delete {
                return Err(invalid("$MULTICAST_NODE_ID is missing"));
            }
            let used = |id: &&u32| self.state.groups.values().flatten().any(|a| a.node == **id);
            if self.state.nodes.keys().any(|id| used(&id)) {
                return Err(invalid("multicast groups have nodes still"));
            }
            let changes = self.state.nodes.keys().map(|id| Change::Node(*id, None)).collect();
            return Ok(Meaning { updates: Vec::new(), changes });
        };
        let id = id as u32;
        let before = self.state.nodes.get(&id);
        let there = || not_found(format!("there is no multicast node {id}"));
        let node = match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a multicast node {id} already"))),
            (Kind::Insert | Kind::InsertOrModify, None) => Node::default(),
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, _) => before.ok_or_else(there)?.clone(),
            (Kind::Delete, Some(_)) if self.state.groups.values().flatten().any(|a| a.node == id) => {
                return Err(invalid(format!("a multicast group has node {id} still")));
            }
            (Kind::Delete, before) => {
                before.ok_or_else(there)?;
                return Ok(Meaning { updates: Vec::new(), changes: vec![Change::Node(id, None)] });
            }
            _ => return Err(self.unsupported()),
        };
        if before.is_none() && self.state.nodes.len() >= MAX_NODES {
            return Err(invalid(format!("there are {MAX_NODES} multicast nodes already")));
        }
        let mut node = node;
        let data = self.data()?;
        if let Some(rid) = data.small(node::RID, "$MULTICAST_RID", 16)? {
            node.rid = rid as u16;
        }
        if !data.numbers(node::LAGS, "$MULTICAST_LAG_ID")?.is_empty() {
            return Err(unimplemented("link aggregation groups of multicast nodes are not supported"));
        }
        let ports = data.numbers(node::PORTS, "$DEV_PORT")?;
        match (self.kind, self.said.table_flags.is_some_and(|f| f.mod_del)) {
            (Kind::ModifyInc, true) => node.ports.retain(|p| !ports.contains(p)),
            (Kind::ModifyInc, false) => node.ports.extend(ports),
            _ if data.has(node::PORTS) || before.is_none() => node.ports = ports.iter().copied().collect(),
            _ => {}
        }
        let mut meaning = Meaning::default();
        for (number, nodes) in self.state.groups.iter().filter(|(_, nodes)| nodes.iter().any(|a| a.node == id)) {
            let changed = |at: u32| if at == id { Some(&node) } else { self.state.nodes.get(&at) };
            meaning.updates.push(written(Type::Modify, *number, nodes, &changed));
        }
        meaning.changes.push(Change::Node(id, Some(node)));
        Ok(meaning)
    }

    pub(super) fn multicast_group(&self) -> Result<Meaning> {
        let Some(id) = self.optional_number()? else {
            if self.kind != Kind::Delete {
                return Err(invalid("$MGID is missing"));
            }
            let delete = |number: &u16| written(Type::Delete, *number, &[], &|_| None);
            let updates = self.state.groups.keys().map(delete).collect();
            return Ok(Meaning { updates, changes: vec![Change::NoGroups] });
        };
        let id = id as u16;
        let before = self.state.groups.get(&id);
        let missing = || not_found(format!("there is no multicast group {id}"));
        let kind = match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a multicast group {id} already"))),
            (Kind::Insert | Kind::InsertOrModify, None) => Type::Insert,
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, _) => {
                before.ok_or_else(missing)?;
                Type::Modify
            }
            (Kind::Delete, _) => {
                before.ok_or_else(missing)?;
                let updates = vec![written(Type::Delete, id, &[], &|_| None)];
                return Ok(Meaning { updates, changes: vec![Change::Group(id, None)] });
            }
            _ => return Err(self.unsupported()),
        };
        let data = self.data()?;
        let given = data.numbers(group::NODES, "$MULTICAST_NODE_ID")?;
        let valid = data.truths(group::EXCLUSION_VALID, "$MULTICAST_NODE_L1_XID_VALID")?;
        let exclusions = data.numbers(group::EXCLUSION, "$MULTICAST_NODE_L1_XID")?;
        let count = |n: usize| n == 0 || n == given.len();
        if !count(valid.len()) || !count(exclusions.len()) {
            return Err(invalid("a group has as many exclusion ids as nodes"));
        }
        let mut nodes: BTreeMap<u32, Option<u16>> = match self.kind {
            Kind::ModifyInc => before.into_iter().flatten().map(|a| (a.node, a.exclusion)).collect(),
            _ => BTreeMap::new(),
        };
        let removes = self.kind == Kind::ModifyInc && self.said.table_flags.is_some_and(|f| f.mod_del);
        let mut meaning = Meaning::default();
        for (at, id) in given.iter().enumerate() {
            let node = self.state.nodes.get(id).ok_or_else(|| not_found(format!("there is no multicast node {id}")))?;
            if removes {
                nodes.remove(id);
                continue;
            }
            let exclusion = exclusions.get(at).map(|xid| u16::try_from(*xid));
            let exclusion = exclusion.transpose().map_err(|_| invalid("an exclusion id of more than 16 bits"))?;
            let exclusion = exclusion.filter(|_| valid.get(at).copied().unwrap_or(false));
            nodes.insert(*id, exclusion);
            // Programs that exclude nodes have the register.
            if let Some(register) = self.state.schema.exclusion_register {
                let index = Some(v1::Index { index: i64::from(node.rid) });
                let value = exclusion.map_or(0, |xid| EXCLUDED | u32::from(xid));
                let data = v1::p4_data::Data::Bitstring(value.to_be_bytes().to_vec().into());
                meaning.updates.extend(objects::register(register, index, data).updates);
            }
        }
        let nodes: Vec<Association> =
            nodes.into_iter().map(|(node, exclusion)| Association { node, exclusion }).collect();
        meaning.updates.push(written(kind, id, &nodes, &|at| self.state.nodes.get(&at)));
        meaning.changes.push(Change::Group(id, Some(nodes)));
        Ok(meaning)
    }
}

/// The update that writes a group.
fn written<'n>(kind: Type, number: u16, nodes: &[Association], node: &dyn Fn(u32) -> Option<&'n Node>) -> v1::Update {
    use v1::replica::PortKind;
    let copies: BTreeSet<(u16, u32)> = nodes
        .iter()
        .filter_map(|a| node(a.node))
        .flat_map(|node| node.ports.iter().map(|port| (node.rid, *port)))
        .collect();
    let replica = |(rid, port)| v1::Replica {
        instance: u32::from(rid),
        port_kind: Some(PortKind::EgressPort(port)),
        ..Default::default()
    };
    let group = v1::MulticastGroupEntry {
        multicast_group_id: u32::from(number),
        replicas: copies.into_iter().map(replica).collect(),
        ..Default::default()
    };
    let entry = v1::PacketReplicationEngineEntry { r#type: Some(Replicates::MulticastGroupEntry(group)) };
    v1_update(kind, Entity::PacketReplicationEngineEntry(entry))
}
