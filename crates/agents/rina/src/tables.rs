//! What IPC processes know, as entries of the program's tables.
//!
//! The DIF's number in the tables is that of the IPC process, from 1. Links whose neighbour is not up belong to number 0,
//! which has no destinations: the program punts management PDUs to address 0 and drops everything else that comes by them.
//! A link has one neighbour, whose next hop has the link's number, from 1.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopwright_dataplane::{Control, ControlError, Difference, EntrySpec, EntryTarget, Group};
use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableId};
use num_bigint::BigUint;

use crate::frames::{Protection, Shim};
use crate::ipcp::{Ipcp, MANAGEMENT_PRIORITY};
use crate::name::Name;
use crate::neighbour::Mac;
use crate::pdu::Syntax;
use crate::program::hardware;
use crate::program::interior::{action, entry, object, table, value_set};

/// Tables, in the order in which entries are added: what an entry leads to comes before it.
const TABLES: [&str; 5] = [table::LINKS, table::NEXT_HOPS, table::DESTINATIONS, table::QOS_QUEUES, table::THRESHOLDS];
/// The same with groups, where these are entries by hash value.
const SLOT_TABLES: [&str; 6] =
    [table::LINKS, table::NEXT_HOPS, table::GROUPS, table::DESTINATIONS, table::QOS_QUEUES, table::THRESHOLDS];
const VALUE_SETS: [&str; 4] =
    [value_set::RLITE_LINKS, value_set::IRATI_LINKS, value_set::TTL_LINKS, value_set::CRC_LINKS];
/// Entries of a group where there is no action selector (`NO_SELECTOR`): one for each of these hash values.
const SLOTS: u8 = 64;
/// Numbers of groups.
const GROUPS: u16 = 4095;

/// What is written here, in the order in which entries are added.
pub(crate) fn objects(pipeline: &Pipeline) -> Vec<&'static str> {
    let sets = VALUE_SETS.into_iter().filter(|name| pipeline.value_set_by_name(name).is_some());
    sets.chain(SLOT_TABLES).collect()
}

/// What carries the PDUs of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// Ethernet, or a VLAN.
    Ethernet,
    /// Datagrams.
    Udp(Shim),
    /// A flow of the DIF that another IPC process of this system is in, to a neighbour. `by_program`: the program can carry it.
    Flow { lower: usize, to: Name, qos: String, by_program: bool },
}

/// A link of the router: an IPC process and its place at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouterLink {
    /// Which IPC process, and which of its links.
    pub ipcp: usize,
    pub link: usize,
    pub kind: LinkKind,
    /// Of a link that is a flow: none.
    pub port: u32,
    /// 0: untagged.
    pub vlan: u16,
    pub mac: Mac,
    pub protection: Protection,
    /// Bytes behind the Ethernet and VLAN headers.
    pub mtu: u16,
}

impl RouterLink {
    /// Whether it is a flow of another DIF of this system.
    pub(crate) fn is_flow(&self) -> bool {
        matches!(self.kind, LinkKind::Flow { .. })
    }
}

/// The tables, and what has been written to them.
pub(crate) struct Tables {
    control: Arc<Control>,
    /// The table of groups, if it has an action selector.
    selector: Option<TableId>,
    groups: BTreeMap<BTreeSet<u16>, u16>,
    members: BTreeSet<u16>,
    /// Different in each router, so that routers in a row spread flows differently.
    hash_seed: u32,
}

impl Tables {
    pub(crate) fn new(control: Arc<Control>, hash_seed: u32) -> Result<Tables, ControlError> {
        let table = control.table(table::GROUPS)?.id();
        let selector = control.profile(object::MEMBERS).is_ok().then_some(table);
        Ok(Tables { control, selector, groups: BTreeMap::new(), members: BTreeSet::new(), hash_seed })
    }

    /// The links that carry PDUs in IRATI's or rlite's syntax, and those with a TTL or a CRC.
    pub(crate) fn set_syntaxes(&self, links: &[RouterLink], ipcps: &[Ipcp]) -> Result<(), ControlError> {
        let pipeline = self.control.pipeline().clone();
        let little_endian =
            |link: &&RouterLink| !link.is_flow() && ipcps[link.ipcp].settings().syntax != Syntax::Checksum;
        let place = |link: &RouterLink| vec![MatchValue::Exact(link.port.into()), MatchValue::Exact(link.vlan.into())];
        let all = || links.iter().filter(little_endian);
        let rlite = all().filter(|link| ipcps[link.ipcp].settings().syntax == Syntax::Rlite);
        let sets: [Vec<Vec<MatchValue>>; 4] = [
            rlite.map(place).collect(),
            all().map(place).collect(),
            all().filter(|link| link.protection.ttl).map(place).collect(),
            all().filter(|link| link.protection.crc).map(place).collect(),
        ];
        for (name, members) in VALUE_SETS.into_iter().zip(sets) {
            if let Some(set) = pipeline.value_set_by_name(name) {
                self.control.value_set(set)?.replace(members)?;
            }
        }
        Ok(())
    }

    /// Makes the tables say what the IPC processes know. `thresholds`: packets in the queue of a port from which PDUs
    /// are marked.
    pub(crate) fn write(
        &mut self,
        links: &[RouterLink],
        ipcps: &[Ipcp],
        thresholds: &BTreeMap<u32, u32>,
    ) -> Result<(), ControlError> {
        // Links that are flows are the agent's.
        let number = |ipcp: usize, link: usize| {
            links.iter().position(|l| (l.ipcp, l.link) == (ipcp, link)).filter(|at| !links[*at].is_flow())
        };
        let mut wanted = Vec::new();
        let mut sets = BTreeSet::new();
        for (at, ipcp) in ipcps.iter().enumerate() {
            for hops in ipcp.forwarding().destinations.values().filter(|links| links.len() > 1) {
                let hops = hops.iter().filter_map(|link| number(at, *link)).map(|n| n as u16 + 1);
                let hops: BTreeSet<u16> = hops.collect();
                if hops.len() > 1 {
                    sets.insert(hops);
                }
            }
        }
        let before = self.groups.clone();
        self.add_groups(&sets, links.len() as u16)?;
        for (at, link) in links.iter().enumerate().filter(|(_, link)| !link.is_flow()) {
            let ipcp = &ipcps[link.ipcp];
            let neighbour = ipcp.forwarding().neighbours.get(&link.link);
            let dif = if neighbour.is_some() { link.ipcp as u16 + 1 } else { 0 };
            let (port, own) = (link.port as u16, mac(link.mac));
            wanted.push(entry::links::receive(port, link.vlan, own, dif, self.hash_seed));
            if let Some(neighbour) = neighbour {
                let Protection { ttl, crc } = link.protection;
                let (number, neighbour) = (at as u16 + 1, mac(*neighbour));
                wanted.push(entry::next_hops::forward(number, port, link.vlan, own, neighbour, link.mtu, ttl, crc));
            }
        }
        for (at, ipcp) in ipcps.iter().enumerate() {
            let dif = at as u16 + 1;
            let forwarding = ipcp.forwarding();
            if forwarding.address != 0 {
                wanted.push(entry::destinations::local(dif, forwarding.address));
            }
            for (address, by) in &forwarding.destinations {
                let hops: BTreeSet<u16> =
                    by.iter().filter_map(|link| number(at, *link)).map(|n| n as u16 + 1).collect();
                wanted.push(match (self.groups.get(&hops), hops.first()) {
                    (Some(group), _) if hops.len() > 1 => entry::destinations::multipath(dif, *address, *group),
                    (_, Some(hop)) => entry::destinations::via(dif, *address, *hop),
                    // The agent sends it on.
                    (_, None) => entry::destinations::local(dif, *address),
                });
            }
        }
        wanted.extend(queues(ipcps, thresholds, entry::qos_queues::queue, entry::thresholds::mark_from));
        let tables: &[&str] = if self.selector.is_some() { &TABLES } else { &SLOT_TABLES };
        if self.selector.is_none() {
            wanted.extend(slots(self.groups.iter().filter(|(hops, _)| sets.contains(*hops))));
        }
        Difference::between(&self.control, tables, &wanted)?.apply(&self.control)?;
        self.remove_groups(before.keys().filter(|set| !sets.contains(*set)))
    }

    /// Adds members and groups that are missing. If there are too many groups, the rest have one path.
    fn add_groups(&mut self, sets: &BTreeSet<BTreeSet<u16>>, links: u16) -> Result<(), ControlError> {
        for member in 1..=links {
            if let Some(table) = self.selector
                && self.members.insert(member)
            {
                let selector = self.control.profile(object::MEMBERS)?;
                let action: ActionCall = self.control.resolve_action(table, action::USE, &[BigUint::from(member)])?;
                selector.insert_member(member.into(), action)?;
            }
        }
        for set in sets {
            if self.groups.contains_key(set) {
                continue;
            }
            let taken: BTreeSet<u16> = self.groups.values().copied().collect();
            let Some(number) = (1..=GROUPS).find(|number| !taken.contains(number)) else { return Ok(()) };
            if let Some(table) = self.selector {
                let members = set.iter().map(|hop| (u32::from(*hop), 1)).collect();
                let group = Group { members, max_size: 0, counts_members: false };
                self.control.profile(object::MEMBERS)?.insert_group(number.into(), group)?;
                self.control[table].insert_target(key(number), 0, EntryTarget::Group(number.into()))?;
            }
            self.groups.insert(set.clone(), number);
        }
        Ok(())
    }

    fn remove_groups<'a>(&mut self, sets: impl Iterator<Item = &'a BTreeSet<u16>>) -> Result<(), ControlError> {
        for set in sets {
            if let Some(number) = self.groups.remove(set)
                && let Some(table) = self.selector
            {
                self.control[table].delete(&key(number), 0)?;
                self.control.profile(object::MEMBERS)?.delete_group(number.into())?;
            }
        }
        Ok(())
    }
}

/// Groups as entries by hash value.
fn slots<'a>(groups: impl Iterator<Item = (&'a BTreeSet<u16>, &'a u16)>) -> Vec<EntrySpec> {
    let group = |(hops, group): (&BTreeSet<u16>, &u16)| {
        let (hops, group) = (hops.iter().copied().collect::<Vec<u16>>(), *group);
        let entry = move |slot: u8| {
            let hop = hops[usize::from(slot) % hops.len()];
            hardware::entry::groups::r#use(group, slot, hop)
        };
        (0..SLOTS).map(entry)
    };
    groups.flat_map(group).collect()
}

/// The egress queues of QoS cubes, and from how many packets on PDUs are marked, by port, as entries of a program's tables. Layer management is
/// not marked: nobody would see it.
pub(crate) fn queues(
    ipcps: &[Ipcp],
    thresholds: &BTreeMap<u32, u32>,
    queue: fn(u16, u16, u8) -> EntrySpec,
    mark_from: fn(u16, u8, u32) -> EntrySpec,
) -> Vec<EntrySpec> {
    let mut wanted = Vec::new();
    for (at, ipcp) in ipcps.iter().enumerate() {
        for cube in ipcp.settings().qos.iter().filter(|cube| cube.priority > 0) {
            wanted.push(queue(at as u16 + 1, cube.id, cube.priority));
        }
    }
    for (port, packets) in thresholds {
        wanted.extend((0..MANAGEMENT_PRIORITY).map(|priority| mark_from(*port as u16, priority, *packets)));
    }
    wanted
}

/// The key of a group's entry; what the selector hashes is not compared.
fn key(group: u16) -> Vec<MatchValue> {
    vec![MatchValue::Exact(group.into()), MatchValue::Optional(None)]
}

pub(crate) fn mac(address: Mac) -> u64 {
    address.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_selector_uses_all_its_next_hops() {
        let hops = BTreeSet::from([3, 5, 9]);
        let entries = slots([(&hops, &7)].into_iter());
        assert_eq!(entries.len(), usize::from(SLOTS));
        let uses = |hop: u16| entries.iter().filter(|entry| entry.args == [BigUint::from(hop)]).count();
        assert_eq!(hops.iter().map(|hop| uses(*hop)).collect::<Vec<_>>(), [22, 21, 21]);
        let control = crate::plane::hardware_control();
        Difference::between(&control, &SLOT_TABLES, &entries).unwrap().apply(&control).unwrap();
        assert_eq!(control.table(table::GROUPS).unwrap().entries().len(), entries.len());
    }
}
