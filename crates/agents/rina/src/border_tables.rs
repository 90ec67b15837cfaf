//! What IPC processes know, as entries of the border router's tables.
//!
//! DIFs, links and next hops have the numbers that they have at the interior router ([`crate::tables`]). A link that is an (N-1) flow
//! has its number as flow, as the flow's end, and as next hop, if the program carries it ([`crate::lower_flows`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_dataplane::{Control, ControlError, Difference, EntrySpec};
use hopwright_ir::MatchValue;

use crate::ipcp::Ipcp;
use crate::lower_flows::LowerFlows;
use crate::neighbour::Mac;
use crate::tables::{LinkKind, RouterLink, mac, queues};

/// Tables, in the order in which entries are added: what an entry leads to comes before it.
const TABLES: [&str; 10] = [
    "links",
    "udp_links",
    "lower_next_hops",
    "next_hops",
    "lower_destinations",
    "flows",
    "ends",
    "destinations",
    "qos_queues",
    "thresholds",
];

/// What is written here, in the order in which entries are added.
pub(crate) fn objects() -> Vec<&'static str> {
    ["shims", "flow_ends"].into_iter().chain(TABLES).collect()
}

pub(crate) struct BorderTables {
    control: Arc<Control>,
    value_sets: BTreeMap<&'static str, Vec<Vec<MatchValue>>>,
}

impl BorderTables {
    pub(crate) fn new(control: Arc<Control>) -> BorderTables {
        BorderTables { control, value_sets: BTreeMap::new() }
    }

    /// Makes the tables say what the IPC processes know. `stations`: where the neighbours of links over UDP are, by link.
    /// `thresholds`: packets in the queue of a port from which PDUs are marked.
    pub(crate) fn write(
        &mut self,
        links: &[RouterLink],
        ipcps: &[Ipcp],
        lower_flows: &LowerFlows,
        stations: &BTreeMap<usize, Mac>,
        thresholds: &BTreeMap<u32, u32>,
    ) -> Result<(), ControlError> {
        let mut wanted = Vec::new();
        let (mut shims, mut flow_ends) = (Vec::new(), Vec::new());
        // Links first, so that one that carries PDUs itself, too, has the last word.
        let order = links.iter().filter(|link| matches!(link.kind, LinkKind::Udp(_)));
        wanted.extend(order.map(|link| receive(link, 0)));
        for (at, link) in links.iter().enumerate() {
            let (number, ipcp) = (at as u32 + 1, &ipcps[link.ipcp]);
            let neighbour = ipcp.forwarding().neighbours.get(&link.link).copied();
            let dif = if neighbour.is_some() { link.ipcp as u32 + 1 } else { 0 };
            match &link.kind {
                LinkKind::Ethernet => {
                    wanted.push(receive(link, dif));
                    if let Some(neighbour) = neighbour {
                        for table in ["next_hops", "lower_next_hops"] {
                            wanted.push(forward(EntrySpec::new(table, "forward").exact(number), link, neighbour));
                        }
                    }
                }
                LinkKind::Udp(shim) => {
                    let entry = EntrySpec::new("udp_links", "carry");
                    let entry = entry.exact(u32::from(*shim.remote.ip())).exact(u32::from(*shim.local.ip()));
                    wanted.push(entry.exact(shim.remote.port()).exact(shim.local.port()).arg(dif));
                    shims.push(vec![exact(u32::from(*shim.local.ip())), exact(shim.local.port().into())]);
                    if let Some(station) = neighbour.and(stations.get(&at)) {
                        for table in ["next_hops", "lower_next_hops"] {
                            let entry = EntrySpec::new(table, "forward_udp").exact(number);
                            let entry = forward(entry, link, *station).arg(u32::from(*shim.local.ip()));
                            let entry = entry.arg(u32::from(*shim.remote.ip()));
                            wanted.push(entry.arg(shim.local.port()).arg(shim.remote.port()));
                        }
                    }
                }
                LinkKind::Flow { lower, .. } => {
                    let Some(flow) = lower_flows.of_program(at) else { continue };
                    let Some(connection) = ipcps[*lower].connection(flow) else { continue };
                    let (lower_dif, own) = (*lower as u32 + 1, ipcps[*lower].address());
                    let entry = EntrySpec::new("flows", "lower").exact(number).arg(lower_dif).arg(connection.address);
                    let entry = entry.arg(own).arg(connection.qos_id);
                    wanted.push(entry.arg(connection.remote_cep).arg(connection.local_cep));
                    let entry = EntrySpec::new("ends", "carried").exact(lower_dif).exact(own);
                    let entry = entry.exact(connection.local_cep).exact(connection.address);
                    wanted.push(entry.exact(connection.remote_cep).arg(dif).arg(number));
                    for below in links.iter().filter(|below| below.ipcp == *lower) {
                        flow_ends.push(vec![
                            exact(below.port),
                            exact(below.vlan.into()),
                            exact(own.into()),
                            exact(connection.local_cep.into()),
                        ]);
                    }
                    if neighbour.is_some() {
                        wanted.push(EntrySpec::new("next_hops", "encapsulate").exact(number).arg(number));
                    }
                }
            }
        }
        for (at, ipcp) in ipcps.iter().enumerate() {
            let (dif, forwarding) = (at as u32 + 1, ipcp.forwarding());
            if forwarding.address != 0 {
                wanted.push(EntrySpec::new("destinations", "local").exact(dif).exact(forwarding.address));
            }
            for (address, by) in &forwarding.destinations {
                let number = |link: usize| links.iter().position(|l| (l.ipcp, l.link) == (at, link));
                let carried = |n: &usize| !links[*n].is_flow() || lower_flows.of_program(*n).is_some();
                let Some(next_hop) = by.iter().filter_map(|link| number(*link)).find(carried).map(|n| n as u32 + 1)
                else {
                    // The agent sends it on.
                    wanted.push(EntrySpec::new("destinations", "local").exact(dif).exact(*address));
                    continue;
                };
                for (table, action) in [("destinations", "via"), ("lower_destinations", "lower_via")] {
                    wanted.push(EntrySpec::new(table, action).exact(dif).exact(*address).arg(next_hop));
                }
            }
        }
        wanted.extend(queues(ipcps, thresholds));
        flow_ends.dedup();
        shims.sort_by_key(|shim| format!("{shim:?}"));
        shims.dedup();
        Difference::between(&self.control, &TABLES, &wanted)?.apply(&self.control)?;
        self.set("shims", shims)?;
        self.set("flow_ends", flow_ends)
    }

    fn set(&mut self, name: &'static str, members: Vec<Vec<MatchValue>>) -> Result<(), ControlError> {
        if self.value_sets.get(name) == Some(&members) {
            return Ok(());
        }
        let pipeline = self.control.pipeline().clone();
        if let Some(set) = pipeline.value_set_by_name(name) {
            self.control.value_set(set)?.replace(members.clone())?;
        }
        self.value_sets.insert(name, members);
        Ok(())
    }
}

fn exact(value: u32) -> MatchValue {
    MatchValue::Exact(value.into())
}

fn receive(link: &RouterLink, dif: u32) -> EntrySpec {
    EntrySpec::new("links", "receive").exact(link.port).exact(link.vlan).arg(mac(link.mac)).arg(dif)
}

fn forward(entry: EntrySpec, link: &RouterLink, to: Mac) -> EntrySpec {
    entry.arg(link.port).arg(link.vlan).arg(mac(link.mac)).arg(mac(to)).arg(link.mtu)
}
