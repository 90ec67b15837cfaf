//! What IPC processes know, as entries of the program's tables.
//!
//! The DIF's number in the tables is that of the IPC process, from 1. Links whose neighbour is not up belong to number 0,
//! which has no destinations: the program punts management PDUs to address 0 and drops everything else that comes by them.
//! A link has one neighbour, whose next hop has the link's number, from 1.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopwright_dataplane::{Control, ControlError, Difference, EntrySpec, EntryTarget, Group};
use hopwright_ir::{ActionCall, MatchValue, TableId};
use num_bigint::BigUint;

use crate::frames::{Protection, Shim};
use crate::ipcp::{Ipcp, MANAGEMENT_PRIORITY};
use crate::name::Name;
use crate::neighbour::Mac;
use crate::pdu::Syntax;

const TABLES: [&str; 5] = ["links", "next_hops", "destinations", "qos_queues", "thresholds"];
/// Numbers of groups.
const GROUPS: u16 = 4095;

/// What carries the PDUs of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// Ethernet, or a VLAN.
    Ethernet,
    /// Datagrams.
    Udp(Shim),
    /// A flow of the DIF that another IPC process of this system is in, to a neighbour.
    Flow { lower: usize, to: Name, qos: String },
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

/// The tables, and what has been written to them.
pub(crate) struct Tables {
    control: Arc<Control>,
    groups_table: TableId,
    groups: BTreeMap<BTreeSet<u16>, u16>,
    members: BTreeSet<u16>,
    /// Different in each router, so that routers in a row spread flows differently.
    hash_seed: u32,
}

impl Tables {
    pub(crate) fn new(control: Arc<Control>, hash_seed: u32) -> Result<Tables, ControlError> {
        let groups_table = control.table("groups")?.id();
        Ok(Tables { control, groups_table, groups: BTreeMap::new(), members: BTreeSet::new(), hash_seed })
    }

    /// The links that carry PDUs in IRATI's or rlite's syntax, and those with a TTL or a CRC.
    pub(crate) fn set_syntaxes(&self, links: &[RouterLink], ipcps: &[Ipcp]) -> Result<(), ControlError> {
        let pipeline = self.control.pipeline().clone();
        let little_endian = |link: &&RouterLink| ipcps[link.ipcp].settings().syntax != Syntax::Checksum;
        let place = |link: &RouterLink| vec![MatchValue::Exact(link.port.into()), MatchValue::Exact(link.vlan.into())];
        let all = || links.iter().filter(little_endian);
        let rlite = links.iter().filter(|link| ipcps[link.ipcp].settings().syntax == Syntax::Rlite);
        let sets: [(&str, Vec<Vec<MatchValue>>); 4] = [
            ("rlite_links", rlite.map(place).collect()),
            ("irati_links", all().map(place).collect()),
            ("ttl_links", all().filter(|link| link.protection.ttl).map(place).collect()),
            ("crc_links", all().filter(|link| link.protection.crc).map(place).collect()),
        ];
        for (name, members) in sets {
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
        let number = |ipcp: usize, link: usize| links.iter().position(|l| (l.ipcp, l.link) == (ipcp, link));
        let mut wanted = Vec::new();
        let mut sets = BTreeSet::new();
        for (at, ipcp) in ipcps.iter().enumerate() {
            for hops in ipcp.forwarding().destinations.values().filter(|links| links.len() > 1) {
                let hops = hops.iter().filter_map(|link| number(at, *link));
                sets.insert(hops.map(|n| n as u16 + 1).collect::<BTreeSet<u16>>());
            }
        }
        let before = self.groups.clone();
        self.add_groups(&sets, links.len() as u16)?;
        for (at, link) in links.iter().enumerate() {
            let ipcp = &ipcps[link.ipcp];
            let neighbour = ipcp.forwarding().neighbours.get(&link.link);
            let dif = if neighbour.is_some() { link.ipcp as u32 + 1 } else { 0 };
            let entry = EntrySpec::new("links", "receive").exact(link.port).exact(link.vlan);
            wanted.push(entry.arg(mac(link.mac)).arg(dif).arg(self.hash_seed));
            if let Some(neighbour) = neighbour {
                let entry = EntrySpec::new("next_hops", "forward").exact(at as u32 + 1).arg(link.port).arg(link.vlan);
                let entry = entry.arg(mac(link.mac)).arg(mac(*neighbour)).arg(link.mtu);
                wanted.push(entry.arg(u32::from(link.protection.ttl)).arg(u32::from(link.protection.crc)));
            }
        }
        for (at, ipcp) in ipcps.iter().enumerate() {
            let dif = at as u32 + 1;
            let forwarding = ipcp.forwarding();
            if forwarding.address != 0 {
                wanted.push(EntrySpec::new("destinations", "local").exact(dif).exact(forwarding.address));
            }
            for (address, by) in &forwarding.destinations {
                let hops: BTreeSet<u16> =
                    by.iter().filter_map(|link| number(at, *link)).map(|n| n as u16 + 1).collect();
                let entry = match (self.groups.get(&hops), hops.first()) {
                    (Some(group), _) if hops.len() > 1 => EntrySpec::new("destinations", "multipath").arg(*group),
                    (_, Some(hop)) => EntrySpec::new("destinations", "via").arg(*hop),
                    _ => continue,
                };
                wanted.push(entry.exact(dif).exact(*address));
            }
        }
        wanted.extend(queues(ipcps, thresholds));
        Difference::between(&self.control, &TABLES, &wanted)?.apply(&self.control)?;
        self.remove_groups(before.keys().filter(|set| !sets.contains(*set)))
    }

    /// Adds members and groups that are missing. If there are too many groups, the rest have one path.
    fn add_groups(&mut self, sets: &BTreeSet<BTreeSet<u16>>, links: u16) -> Result<(), ControlError> {
        let selector = self.control.profile("members")?;
        for member in 1..=links {
            if self.members.insert(member) {
                let table = self.groups_table;
                let action: ActionCall = self.control.resolve_action(table, "use", &[BigUint::from(member)])?;
                selector.insert_member(member.into(), action)?;
            }
        }
        for set in sets {
            if self.groups.contains_key(set) {
                continue;
            }
            let taken: BTreeSet<u16> = self.groups.values().copied().collect();
            let Some(number) = (1..=GROUPS).find(|number| !taken.contains(number)) else { return Ok(()) };
            let members = set.iter().map(|hop| (u32::from(*hop), 1)).collect();
            selector.insert_group(number.into(), Group { members, max_size: 0, counts_members: false })?;
            self.control[self.groups_table].insert_target(key(number), 0, EntryTarget::Group(number.into()))?;
            self.groups.insert(set.clone(), number);
        }
        Ok(())
    }

    fn remove_groups<'a>(&mut self, sets: impl Iterator<Item = &'a BTreeSet<u16>>) -> Result<(), ControlError> {
        for set in sets {
            if let Some(number) = self.groups.remove(set) {
                self.control[self.groups_table].delete(&key(number), 0)?;
                self.control.profile("members")?.delete_group(number.into())?;
            }
        }
        Ok(())
    }
}

/// The egress queues of QoS cubes, and from how many packets on PDUs are marked, by port. Layer management is not: nobody would see
/// it.
pub(crate) fn queues(ipcps: &[Ipcp], thresholds: &BTreeMap<u32, u32>) -> Vec<EntrySpec> {
    let mut wanted = Vec::new();
    for (at, ipcp) in ipcps.iter().enumerate() {
        for cube in ipcp.settings().qos.iter().filter(|cube| cube.priority > 0) {
            let entry = EntrySpec::new("qos_queues", "queue").exact(at as u32 + 1).exact(cube.id);
            wanted.push(entry.arg(u32::from(cube.priority)));
        }
    }
    for (port, packets) in thresholds {
        for priority in 0..u32::from(MANAGEMENT_PRIORITY) {
            let entry = EntrySpec::new("thresholds", "mark_from").exact(*port).exact(priority);
            wanted.push(entry.arg(*packets));
        }
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
