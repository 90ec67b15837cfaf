//! The `/topology` page: the AS as the reference shows it (`private/topology`, `RWTopology`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::config::topology::{Ends, Interface, Topology};

/// The dispatcher's port, through which services are reached in the underlay.
const DISPATCHER_PORT: u16 = 30041;

/// Returns the page's content.
pub(super) fn page(topology: &Topology) -> Value {
    let mut routers = Map::new();
    let mut interfaces: BTreeMap<u16, Value> = BTreeMap::new();
    for (name, router) in &topology.border_routers {
        let own: BTreeMap<u16, Value> = router
            .interfaces
            .iter()
            .map(|(id, interface)| (*id, interface_page(*id, name, &router.internal.to_string(), interface)))
            .collect();
        let page = json!({
            "Name": name,
            "InternalAddr": router.internal.to_string(),
            "IfIDs": own.keys().collect::<Vec<_>>(),
            "IFs": by_number(&own),
        });
        routers.insert(name.clone(), page);
        interfaces.extend(own);
    }
    let (first_port, last_port) = topology.dispatched_ports.unwrap_or((0, 0));
    json!({"Topology": {
        "Timestamp": "1970-01-01T00:00:00Z",
        "IA": topology.ia.to_string(),
        "IsCore": topology.core,
        "MTU": topology.mtu,
        "DispatchedPortStart": first_port,
        "DispatchedPortEnd": last_port,
        "BR": routers,
        "IFInfoMap": by_number(&interfaces),
        "CS": services(topology, "control_service"),
        "DS": services(topology, "discovery_service"),
        "HiddenSegmentLookup": services(topology, "hidden_segment_lookup_service"),
        "HiddenSegmentRegistration": services(topology, "hidden_segment_registration_service"),
        "SIG": gateways(topology),
    }})
}

fn by_number(values: &BTreeMap<u16, Value>) -> Map<String, Value> {
    values.iter().map(|(id, value)| (id.to_string(), value.clone())).collect()
}

fn interface_page(id: u16, router: &str, internal: &str, interface: &Interface) -> Value {
    let end = |end: fn(&Ends) -> String| interface.underlay.as_ref().map(end).unwrap_or_default();
    json!({
        "ID": id,
        "BRName": router,
        "InternalAddr": internal,
        "Provider": if interface.underlay.is_some() { "udpip" } else { "" },
        "Local": end(|u| u.local.to_string()),
        "Remote": end(|u| u.remote.to_string()),
        "RemoteIfID": interface.remote_id.filter(|_| interface.relation == crate::config::topology::Relation::Peer).unwrap_or(0),
        "IA": interface.neighbour.to_string(),
        "LinkType": interface.relation.to_string(),
        "MTU": interface.mtu,
        "BFD": {
            "Disable": interface.bfd.disable,
            "DetectMult": interface.bfd.detect_mult,
            "DesiredMinTxInterval": interface.bfd.desired_min_tx_interval.as_nanos() as u64,
            "RequiredMinRxInterval": interface.bfd.required_min_rx_interval.as_nanos() as u64,
        },
    })
}

/// Returns a service's instances from the file as it was read, because the router itself only keeps their addresses.
fn services(topology: &Topology, field: &str) -> Map<String, Value> {
    let instances = topology.file.get(field).and_then(Value::as_object).into_iter().flatten();
    instances.filter_map(|(name, instance)| Some((name.clone(), service(instance.get("addr")?)?))).collect()
}

fn gateways(topology: &Topology) -> Map<String, Value> {
    let gateways = topology.file.get("sigs").and_then(Value::as_object).into_iter().flatten();
    gateways
        .map(|(name, gateway)| {
            let address =
                |field: &str, port: Option<u16>| gateway.get(field).and_then(|a| udp(a, port)).unwrap_or(Value::Null);
            let probe = match gateway.get("probe_addr") {
                Some(_) => address("probe_addr", None),
                None => address("data_addr", Some(30856)),
            };
            let page = json!({
                "CtrlAddr": gateway.get("ctrl_addr").and_then(service),
                "DataAddr": address("data_addr", None),
                "ProbeAddr": probe,
                "AllowInterfaces": gateway.get("allow_interfaces"),
            });
            (name.clone(), page)
        })
        .collect()
}

fn service(address: &Value) -> Option<Value> {
    Some(json!({"SCIONAddress": udp(address, None)?, "UnderlayAddress": udp(address, Some(DISPATCHER_PORT))?}))
}

/// Formats an address and port as Go's `net.UDPAddr`, with `port` instead of its own if given.
fn udp(address: &Value, port: Option<u16>) -> Option<Value> {
    let (host, own_port) = address.as_str()?.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(json!({"IP": host, "Port": port.or_else(|| own_port.parse().ok())?, "Zone": ""}))
}
