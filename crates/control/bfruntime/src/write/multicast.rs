//! Writes what multicast groups consist of. The control model's groups consist of copies; here a group consists of nodes, each with a
//! replication id and ports, which belong to several groups.
//!
//! A device sends a copy to one port of a link aggregation group, and to one node of a set of nodes, by hashes of the packet. Here it
//! is the first one.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_control::entity::{Cells, MulticastGroup, Replica};
use hopwright_control::{Entity, Operation, Update};

use super::ports::truth;
use super::{Effects, Request, objects};
use crate::failure::{Result, exhausted, exists, invalid, not_found, unimplemented};
use crate::proto::update::Type as Kind;
use crate::schema::fixed::{FORWARDS, LIST, REMOTE, group, node};
use crate::state::{Change, Group, MAX_MEMBERS, MAX_NODES, Node, State};

/// The register that says by replication id to which level-1 exclusion id a node belongs, if this bit is set.
const EXCLUDED: u32 = 1 << 16;
/// Level-2 exclusion ids, and ports that a register has for each.
const PRUNING_IDS: u32 = 512;
const PRUNED_PORTS: u32 = 512;
/// The number of group 0 in the control model, where groups are numbered from 1: that of a clone session that no program has.
const GROUP_ZERO: u16 = 0x8000 + 1025;
/// Ports have smaller numbers.
const PORTS: u32 = 512;

/// What multicast groups consist of, of which one part may be about to change.
#[derive(Clone, Copy)]
pub(super) struct Plan<'s> {
    state: &'s State,
    node: Option<(u32, &'s Node)>,
    lag: Option<(u32, &'s BTreeSet<u32>)>,
    ecmp: Option<(u32, &'s BTreeSet<u32>)>,
    port: Option<(u32, bool)>,
}

impl<'s> Plan<'s> {
    pub(super) fn of(state: &'s State) -> Plan<'s> {
        Plan { state, node: None, lag: None, ecmp: None, port: None }
    }

    fn node(&self, id: u32) -> Option<&'s Node> {
        self.node.filter(|n| n.0 == id).map(|n| n.1).or_else(|| self.state.nodes.get(&id))
    }

    fn lag(&self, id: u32) -> Option<&'s BTreeSet<u32>> {
        self.lag.filter(|l| l.0 == id).map(|l| l.1).or_else(|| self.state.lags.get(&id))
    }

    fn ecmp(&self, id: u32) -> Option<&'s BTreeSet<u32>> {
        self.ecmp.filter(|e| e.0 == id).map(|e| e.1).or_else(|| self.state.ecmps.get(&id))
    }

    /// Whether copies are sent to a port.
    fn forwards(&self, port: u32) -> bool {
        let set = || truth(self.state.multicast_ports.get(&port)?, FORWARDS);
        self.port.filter(|p| p.0 == port).map(|p| p.1).or_else(set).unwrap_or(true)
    }

    /// The same with a port to which copies are sent, or not.
    pub(super) fn with_port(self, port: u32, forwards: bool) -> Plan<'s> {
        Plan { port: Some((port, forwards)), ..self }
    }

    /// The copies of a group: replication ids and ports.
    pub(super) fn copies(&self, group: &Group) -> BTreeSet<(u16, u32)> {
        let mut copies = BTreeSet::new();
        let chosen = group.ecmps.keys().filter_map(|id| self.ecmp(*id)?.first());
        for node in group.nodes.keys().chain(chosen).filter_map(|id| self.node(*id)) {
            let chosen = node.lags.iter().filter_map(|id| self.lag(*id)?.first());
            let ports = node.ports.iter().chain(chosen).filter(|port| self.forwards(**port));
            copies.extend(ports.map(|port| (node.rid, *port)));
        }
        copies
    }

    /// The updates of groups that the change concerns.
    pub(super) fn updates(&self) -> Vec<Update> {
        let before = Plan::of(self.state);
        let changed = |group: &&Group| before.copies(group) != self.copies(group);
        let groups = self.state.groups.iter().filter(|(_, group)| changed(group));
        groups.map(|(number, group)| written(Operation::Modify, *number, &self.copies(group))).collect()
    }
}

impl Request<'_> {
    pub(super) fn node(&self) -> Result<Effects> {
        let Some(id) = self.optional_number()? else {
            if self.kind != Kind::Delete {
                return Err(invalid("$MULTICAST_NODE_ID is missing"));
            }
            if self.state.nodes.keys().any(|id| self.is_used(*id)) {
                return Err(invalid("multicast groups have nodes still"));
            }
            let changes = self.state.nodes.keys().map(|id| Change::Node(*id, None)).collect();
            return Ok(Effects::new(Vec::new(), changes));
        };
        let id = id as u32;
        let before = self.state.nodes.get(&id);
        let there = || not_found(format!("there is no multicast node {id}"));
        let mut node = match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a multicast node {id} already"))),
            (Kind::Insert | Kind::InsertOrModify, None) => Node::default(),
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, _) => before.ok_or_else(there)?.clone(),
            (Kind::Delete, Some(_)) if self.state.ecmps.values().any(|nodes| nodes.contains(&id)) => {
                return Err(invalid(format!("a set of nodes has node {id} still")));
            }
            (Kind::Delete, before) => {
                before.ok_or_else(there)?;
                return Ok(self.without_node(id));
            }
            _ => return Err(self.unsupported()),
        };
        if before.is_none() && self.state.nodes.len() >= MAX_NODES {
            return Err(exhausted(format!("there are {MAX_NODES} multicast nodes already")));
        }
        let data = self.data()?;
        if let Some(rid) = data.small(node::RID, "$MULTICAST_RID", 16)? {
            node.rid = rid as u16;
        }
        for (list, field, name) in
            [(&mut node.ports, node::PORTS, "$DEV_PORT"), (&mut node.lags, node::LAGS, "$MULTICAST_LAG_ID")]
        {
            let given = data.numbers(field, name)?;
            if data.has(field) || before.is_none() {
                self.change_list(list, given);
            }
        }
        if node.lags.iter().any(|id| *id > 255) {
            return Err(invalid("link aggregation groups have numbers up to 255"));
        }
        check_ports(&node.ports)?;
        // A new node is in no group yet.
        let updates = match before {
            Some(_) => Plan { node: Some((id, &node)), ..Plan::of(self.state) }.updates(),
            None => Vec::new(),
        };
        Ok(Effects::new(updates, vec![Change::Node(id, Some(node))]))
    }

    /// Deletes a node. Groups lose it, as on the device.
    fn without_node(&self, id: u32) -> Effects {
        let gone = Node::default();
        let updates = Plan { node: Some((id, &gone)), ..Plan::of(self.state) }.updates();
        let mut changes = vec![Change::Node(id, None)];
        for (number, group) in self.state.groups.iter().filter(|(_, group)| group.nodes.contains_key(&id)) {
            let mut group = group.clone();
            group.nodes.remove(&id);
            changes.push(Change::Group(*number, Some(group)));
        }
        Effects::new(updates, changes)
    }

    /// Whether a group, or a set of nodes, has a node.
    fn is_used(&self, node: u32) -> bool {
        self.state.groups.values().any(|group| group.nodes.contains_key(&node))
            || self.state.ecmps.values().any(|nodes| nodes.contains(&node))
    }

    /// Replaces what a list has, or with `MODIFY_INC` adds to it or removes from it.
    fn change_list(&self, list: &mut BTreeSet<u32>, given: &[u32]) {
        match (self.kind, self.removes()) {
            (Kind::ModifyInc, true) => {
                let given: BTreeSet<u32> = given.iter().copied().collect();
                list.retain(|member| !given.contains(member));
            }
            (Kind::ModifyInc, false) => list.extend(given),
            _ => *list = given.iter().copied().collect(),
        }
    }

    fn removes(&self) -> bool {
        self.kind == Kind::ModifyInc && self.entry.table_flags.is_some_and(|flags| flags.mod_del)
    }

    /// The number of an entry that is a list, and the list that it becomes: `None` if the entry goes.
    fn list(&self, before: &BTreeMap<u32, BTreeSet<u32>>) -> Result<(u32, Option<BTreeSet<u32>>)> {
        let id = self.number()? as u32;
        let (name, before) = (&self.table.name, before.get(&id));
        let there = || not_found(format!("`{name}` has no entry {id}"));
        let mut list = match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("`{name}` has an entry {id} already"))),
            (Kind::Insert | Kind::InsertOrModify, None) => BTreeSet::new(),
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, _) => before.ok_or_else(there)?.clone(),
            (Kind::Delete, _) => return before.ok_or_else(there).map(|_| (id, None)),
            _ => return Err(self.unsupported()),
        };
        let field = self.table.data.first().map_or("", |field| field.name.as_str());
        self.change_list(&mut list, self.data()?.numbers(LIST, field)?);
        Ok((id, Some(list)))
    }

    pub(super) fn lag(&self) -> Result<Effects> {
        // The device sets the ports of a group, whether it has some or not.
        let (id, ports) = match self.kind {
            Kind::Insert => Request { kind: Kind::InsertOrModify, ..*self }.list(&self.state.lags)?,
            _ => self.list(&self.state.lags)?,
        };
        ports.as_ref().map_or(Ok(()), check_ports)?;
        let data = self.data()?;
        for field in REMOTE {
            if data.small(field, "the number of members at other devices", 32)?.is_some_and(|count| count > 0) {
                return Err(unimplemented("members of a link aggregation group are ports of this device"));
            }
        }
        let none = BTreeSet::new();
        let plan = Plan { lag: Some((id, ports.as_ref().unwrap_or(&none))), ..Plan::of(self.state) };
        Ok(Effects::new(plan.updates(), vec![Change::Lag(id, ports)]))
    }

    pub(super) fn ecmp(&self) -> Result<Effects> {
        let (id, nodes) = self.list(&self.state.ecmps)?;
        if nodes.is_none() && self.state.groups.values().any(|group| group.ecmps.contains_key(&id)) {
            return Err(invalid(format!("a multicast group has the set of nodes {id} still")));
        }
        if nodes.is_some() && !self.state.ecmps.contains_key(&id) && self.state.ecmps.len() >= MAX_NODES {
            return Err(exhausted(format!("there are {MAX_NODES} sets of nodes already")));
        }
        check_members(nodes.iter().flatten().count())?;
        if let Some(missing) = nodes.iter().flatten().find(|node| !self.state.nodes.contains_key(node)) {
            return Err(not_found(format!("there is no multicast node {missing}")));
        }
        let none = BTreeSet::new();
        let plan = Plan { ecmp: Some((id, nodes.as_ref().unwrap_or(&none))), ..Plan::of(self.state) };
        Ok(Effects::new(plan.updates(), vec![Change::Ecmp(id, nodes)]))
    }

    pub(super) fn pruning(&self) -> Result<Effects> {
        // On the device its entries are always there.
        let (id, ports) = match self.kind {
            Kind::Insert | Kind::Modify => Request { kind: Kind::InsertOrModify, ..*self }.list(&self.state.pruned)?,
            Kind::Delete => (self.number()? as u32, None),
            _ => self.list(&self.state.pruned)?,
        };
        if id >= PRUNING_IDS || ports.iter().flatten().any(|port| *port >= PRUNED_PORTS) {
            return Err(invalid(format!("level-2 exclusion ids and ports are less than {PRUNING_IDS}")));
        }
        let mut effects = Effects::default();
        // Programs that exclude ports have the register.
        if let Some(register) = self.state.schema.pruning_register {
            let none = BTreeSet::new();
            let (before, after) = (self.state.pruned.get(&id).unwrap_or(&none), ports.as_ref().unwrap_or(&none));
            for port in before.symmetric_difference(after) {
                let cell = Cells { object: register, index: Some((id * PRUNED_PORTS + port).into()) };
                let excluded = u8::from(after.contains(port));
                effects.updates.extend(objects::register(cell, excluded.into()).updates);
            }
        }
        // An entry without ports is as if nothing had been written.
        effects.changes.push(Change::Pruned(id, ports.filter(|ports| !ports.is_empty())));
        Ok(effects)
    }

    pub(super) fn multicast_group(&self) -> Result<Effects> {
        let Some(id) = self.optional_number()? else {
            if self.kind != Kind::Delete {
                return Err(invalid("$MGID is missing"));
            }
            let delete = |number: &u16| written(Operation::Delete, *number, &BTreeSet::new());
            let updates = self.state.groups.keys().map(delete).collect();
            return Ok(Effects::new(updates, vec![Change::NoGroups]));
        };
        let id = id as u16;
        let before = self.state.groups.get(&id);
        let missing = || not_found(format!("there is no multicast group {id}"));
        let same = if id == 0 { GROUP_ZERO } else { 0 };
        if self.kind != Kind::Delete && matches!(id, 0 | GROUP_ZERO) && self.state.groups.contains_key(&same) {
            return Err(exhausted(format!("multicast group {id} is not there together with group {same}")));
        }
        let kind = match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a multicast group {id} already"))),
            (Kind::Insert | Kind::InsertOrModify, None) => Operation::Insert,
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, _) => {
                before.ok_or_else(missing)?;
                Operation::Modify
            }
            (Kind::Delete, _) => {
                before.ok_or_else(missing)?;
                let updates = vec![written(Operation::Delete, id, &BTreeSet::new())];
                return Ok(Effects::new(updates, vec![Change::Group(id, None)]));
            }
            _ => return Err(self.unsupported()),
        };
        let mut effects = Effects::default();
        let mut changed = match self.kind {
            Kind::ModifyInc => before.cloned().unwrap_or_default(),
            _ => Group::default(),
        };
        for (id, exclusion) in self.associations([group::NODES, group::EXCLUSION_VALID, group::EXCLUSION])? {
            let node = self.state.nodes.get(&id);
            let node = node.ok_or_else(|| not_found(format!("there is no multicast node {id}")))?;
            self.associate(&mut changed.nodes, id, exclusion);
            self.exclude(&mut effects, exclusion, node);
        }
        let fields = [group::ECMPS, group::ECMP_EXCLUSION_VALID, group::ECMP_EXCLUSION];
        for (id, exclusion) in self.associations(fields)? {
            let nodes = self.state.ecmps.get(&id);
            let nodes = nodes.ok_or_else(|| not_found(format!("there is no set of nodes {id}")))?;
            self.associate(&mut changed.ecmps, id, exclusion);
            let nodes = nodes.iter().filter_map(|node| self.state.nodes.get(node));
            nodes.for_each(|node| self.exclude(&mut effects, exclusion, node));
        }
        check_members(changed.nodes.len().max(changed.ecmps.len()))?;
        effects.updates.push(written(kind, id, &Plan::of(self.state).copies(&changed)));
        effects.changes.push(Change::Group(id, Some(changed)));
        Ok(effects)
    }

    /// What a request gives a group: ids, with the exclusion ids that are valid.
    fn associations(&self, [ids, valid, exclusion]: [u32; 3]) -> Result<BTreeMap<u32, Option<u16>>> {
        let data = self.data()?;
        let name = |id| self.table.data.iter().find(|field| field.id == id).map_or("", |field| field.name.as_str());
        let given = data.numbers(ids, name(ids))?;
        let truths = data.truths(valid, name(valid))?;
        let exclusions = data.numbers(exclusion, name(exclusion))?;
        if [truths.len(), exclusions.len()].iter().any(|n| *n != 0 && *n != given.len()) {
            return Err(invalid(format!("a group has as many `{}` as `{}`", name(exclusion), name(ids))));
        }
        let association = |(at, id): (usize, &u32)| {
            let exclusion = exclusions.get(at).map(|xid| u16::try_from(*xid)).transpose();
            let exclusion = exclusion.map_err(|_| invalid("an exclusion id of more than 16 bits"))?;
            Ok((*id, exclusion.filter(|_| truths.get(at).copied().unwrap_or(false))))
        };
        given.iter().enumerate().map(association).collect()
    }

    fn associate(&self, all: &mut BTreeMap<u32, Option<u16>>, id: u32, exclusion: Option<u16>) {
        match self.removes() {
            true => drop(all.remove(&id)),
            false => drop(all.insert(id, exclusion)),
        }
    }

    /// Tells programs that exclude nodes which packets a node does not get. They have a register for that.
    fn exclude(&self, effects: &mut Effects, exclusion: Option<u16>, node: &Node) {
        let Some(register) = self.state.schema.exclusion_register.filter(|_| !self.removes()) else { return };
        let cell = Cells { object: register, index: Some(node.rid.into()) };
        let value = exclusion.map_or(0, |xid| EXCLUDED | u32::from(xid));
        effects.updates.extend(objects::register(cell, value.into()).updates);
    }
}

fn check_ports(ports: &BTreeSet<u32>) -> Result<()> {
    match ports.last() {
        Some(last) if *last >= PORTS => Err(invalid(format!("port {last}: ports have numbers up to {}", PORTS - 1))),
        _ => Ok(()),
    }
}

fn check_members(count: usize) -> Result<()> {
    match count > MAX_MEMBERS {
        true => Err(exhausted(format!("a group or set has no more than {MAX_MEMBERS} nodes"))),
        false => Ok(()),
    }
}

/// The update that writes a group.
fn written(operation: Operation, number: u16, copies: &BTreeSet<(u16, u32)>) -> Update {
    let copies = copies.iter().map(|(rid, port)| copy(*port, u32::from(*rid))).collect();
    let group = MulticastGroup { copies, ..MulticastGroup::default() };
    let number = if number == 0 { GROUP_ZERO } else { number };
    Update { operation, entity: Entity::Multicast(number.into(), group) }
}

/// A copy to a port.
pub(super) fn copy(port: u32, instance: u32) -> Replica {
    Replica { port, instance, port_is_typed: false }
}
