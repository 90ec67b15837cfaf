//! What IPC processes know, as entries of the border router's tables.
//!
//! DIFs, links and next hops have the numbers that they have at the interior router ([`crate::tables`]). A link that is an (N-1) flow
//! has its number as flow, as the flow's end, and as next hop, if the program carries it ([`crate::lower_flows`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_dataplane::{Control, ControlError, Difference, EntrySpec};
use hopwright_ir::MatchValue;

use crate::ipcp::{Connection, Ipcp};
use crate::lower_flows::LowerFlows;
use crate::neighbour::Mac;
use crate::program::border::entry::{
    destinations, ends, flows, lower_destinations, lower_next_hops, next_hops, udp_links,
};
use crate::program::border::{entry, table, value_set};
use crate::tables::{LinkKind, RouterLink, mac, queues};

/// Tables, in the order in which entries are added: what an entry leads to comes before it.
const TABLES: [&str; 10] = [
    table::LINKS,
    table::UDP_LINKS,
    table::LOWER_NEXT_HOPS,
    table::NEXT_HOPS,
    table::LOWER_DESTINATIONS,
    table::FLOWS,
    table::ENDS,
    table::DESTINATIONS,
    table::QOS_QUEUES,
    table::THRESHOLDS,
];

/// What is written here, in the order in which entries are added.
pub(crate) fn objects() -> Vec<&'static str> {
    [value_set::SHIMS, value_set::FLOW_ENDS].into_iter().chain(TABLES).collect()
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
            let (number, ipcp) = (at as u16 + 1, &ipcps[link.ipcp]);
            let neighbour = ipcp.forwarding().neighbours.get(&link.link).copied();
            let dif = if neighbour.is_some() { link.ipcp as u16 + 1 } else { 0 };
            let (port, vlan, own, mtu) = (link.port as u16, link.vlan, mac(link.mac), link.mtu);
            match &link.kind {
                LinkKind::Ethernet => {
                    wanted.push(receive(link, dif));
                    if let Some(neighbour) = neighbour.map(mac) {
                        for forward in [next_hops::forward, lower_next_hops::forward] {
                            wanted.push(forward(number, port, vlan, own, neighbour, mtu));
                        }
                    }
                }
                LinkKind::Udp(shim) => {
                    let (src, dst) = (u32::from(*shim.local.ip()), u32::from(*shim.remote.ip()));
                    let (src_port, dst_port) = (shim.local.port(), shim.remote.port());
                    wanted.push(udp_links::carry(dst, src, dst_port, src_port, dif));
                    shims.push(vec![exact(src), exact(src_port.into())]);
                    if let Some(station) = neighbour.and(stations.get(&at)).copied().map(mac) {
                        for forward in [next_hops::forward_udp, lower_next_hops::forward_udp] {
                            wanted.push(forward(number, port, vlan, own, station, mtu, src, dst, src_port, dst_port));
                        }
                    }
                }
                LinkKind::Flow { lower, .. } => {
                    let Some(flow) = lower_flows.of_program(at) else { continue };
                    let Some(connection) = ipcps[*lower].connection(flow) else { continue };
                    let Connection { address, qos_id, local_cep, remote_cep } = connection;
                    let (lower_dif, own) = (*lower as u16 + 1, ipcps[*lower].address());
                    // In the syntax that the program carries a cube's number has 8 bits.
                    wanted.push(flows::lower(number, lower_dif, address, own, qos_id as u8, remote_cep, local_cep));
                    wanted.push(ends::carried(lower_dif, own, local_cep, address, remote_cep, dif, number));
                    for below in links.iter().filter(|below| below.ipcp == *lower) {
                        flow_ends.push(vec![
                            exact(below.port),
                            exact(below.vlan.into()),
                            exact(own.into()),
                            exact(local_cep.into()),
                        ]);
                    }
                    if neighbour.is_some() {
                        wanted.push(next_hops::encapsulate(number, number));
                    }
                }
            }
        }
        for (at, ipcp) in ipcps.iter().enumerate() {
            let (dif, forwarding) = (at as u16 + 1, ipcp.forwarding());
            if forwarding.address != 0 {
                wanted.push(destinations::local(dif, forwarding.address));
            }
            for (address, by) in &forwarding.destinations {
                let number = |link: usize| links.iter().position(|l| (l.ipcp, l.link) == (at, link));
                let carried = |n: &usize| !links[*n].is_flow() || lower_flows.of_program(*n).is_some();
                let Some(next_hop) = by.iter().filter_map(|link| number(*link)).find(carried).map(|n| n as u16 + 1)
                else {
                    // The agent sends it on.
                    wanted.push(destinations::local(dif, *address));
                    continue;
                };
                wanted.push(destinations::via(dif, *address, next_hop));
                wanted.push(lower_destinations::lower_via(dif, *address, next_hop));
            }
        }
        wanted.extend(queues(ipcps, thresholds, entry::qos_queues::queue, entry::thresholds::mark_from));
        flow_ends.dedup();
        shims.sort_by_key(|shim| format!("{shim:?}"));
        shims.dedup();
        Difference::between(&self.control, &TABLES, &wanted)?.apply(&self.control)?;
        self.set(value_set::SHIMS, shims)?;
        self.set(value_set::FLOW_ENDS, flow_ends)
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

fn receive(link: &RouterLink, dif: u16) -> EntrySpec {
    entry::links::receive(link.port as u16, link.vlan, mac(link.mac), dif)
}
