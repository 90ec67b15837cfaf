//! The state of a running router, for people: links, sessions, tables and queues. It holds no keys.

use hopwright_dataplane::ControlError;
use hopwright_ir::TableId;
use serde_json::{Map, Value, json};

use crate::config::links::INTERNAL_INDEX;
use crate::status::{Session, Snapshot, Status};

/// Returns the state as JSON.
pub fn page(status: &Status) -> Result<Value, ControlError> {
    let (active, snapshot, stats) = (status.active(), status.snapshot(), status.stats());
    let links = &active.links;
    let mut all =
        vec![link("internal".into(), INTERNAL_INDEX, json!({"address": links.internal.to_string()}), &snapshot)];
    for external in &links.external {
        let own = json!({
            "neighbour": external.neighbour.to_string(), "relation": external.relation.to_string(), "mtu": external.mtu,
            "local": external.underlay.local.to_string(), "remote": external.underlay.remote.to_string(),
        });
        all.push(link(format!("interface {}", external.id), external.index, own, &snapshot));
    }
    for sibling in &links.siblings {
        let interfaces: Vec<u16> = sibling.interfaces.iter().map(|(id, _)| *id).collect();
        let own = json!({"address": sibling.address.to_string(), "interfaces": interfaces});
        all.push(link(format!("sibling {}", sibling.name), sibling.index, own, &snapshot));
    }
    let services: Map<String, Value> = links
        .services
        .iter()
        .map(|(service, instances)| {
            (service.to_string(), instances.iter().map(ToString::to_string).collect::<Vec<_>>().into())
        })
        .collect();
    let vdp = status.tenant().vdp();
    let tables: Map<String, Value> = (0..)
        .map(TableId)
        .zip(&vdp.pipeline().tables)
        .map(|(id, table)| (table.name.clone(), json!({"entries": vdp.control()[id].len(), "size": table.size})))
        .collect();
    let queue = |queue: hopwright_dataplane::CpuQueue| json!({"packets": queue.len(), "capacity": queue.capacity()});
    let ports: Map<String, Value> = stats
        .ports
        .iter()
        .map(|port| {
            (port.name.clone(), json!({"received": port.rx_packets, "sent": port.tx_packets, "lost": port.lost()}))
        })
        .collect();
    let workers: Vec<Value> = stats
        .total
        .workers
        .iter()
        .map(|worker| json!({"packets": worker.packets, "batches": worker.batches, "busy_ns": worker.busy_ns}))
        .collect();
    let hosts = &snapshot.hosts;
    Ok(json!({
        "id": active.config.general.id,
        "isd_as": links.ia.to_string(),
        "links": all,
        "services": services,
        "hosts": {"entries": hosts.entries, "promotions": hosts.promotions, "evictions": hosts.evictions},
        "tables": tables,
        "queues": {"cpu": queue(status.tenant().cpu()), "urgent": queue(status.tenant().urgent_cpu())},
        "ports": ports,
        "workers": workers,
        "reloads": snapshot.reloads,
    }))
}

/// What is known of a link: `own`, and what all have.
fn link(name: String, index: u16, own: Value, snapshot: &Snapshot) -> Value {
    let session = snapshot.sessions.get(&index);
    let broken = snapshot.broken.get(&index);
    let ports = snapshot.link_ports.iter().find(|ports| ports.index == index);
    let up = broken.is_none() && session.is_none_or(|session| session.up);
    let mut link = json!({
        "name": name,
        "state": if up { "up" } else { "down" },
        "receives": ports.map(|ports| ports.receive.to_string()),
        "sends": ports.and_then(|ports| ports.send.as_ref()).map(ToString::to_string),
    });
    if let (Some(link), Value::Object(own)) = (link.as_object_mut(), own) {
        link.extend(own);
        if let Some(session) = session {
            let page = json!({"up": session.up, "state_changes": session.state_changes, "sent": session.sent,
                "received": session.received});
            link.insert("bfd".into(), page);
        }
        let why = broken.cloned().or_else(|| session.filter(|session| !session.up).map(why_down));
        if let Some(why) = why {
            link.insert("why".into(), why.into());
        }
    }
    link
}

/// Why a session is not up.
fn why_down(session: &Session) -> String {
    match session.down {
        Some((cause, since)) => format!("BFD: {cause}; {} s ago", since.elapsed().as_secs()),
        None if session.received == 0 => "BFD: nothing received yet".into(),
        None => "BFD: the other end has not heard this one yet".into(),
    }
}
