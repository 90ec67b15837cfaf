//! The `/api/v1/interfaces` page: the links of this router and of its siblings.

use serde_json::{Value, json};

use crate::config;
use crate::config::topology::LinkBfd;
use crate::status::{ActiveConfig, Snapshot};

/// Returns the page's content.
pub(super) fn page(active: &ActiveConfig, snapshot: &Snapshot) -> Value {
    let (links, topology) = (&active.links, &active.topology);
    let state = |index: u16| {
        let up = snapshot.sessions.get(&index).is_none_or(|s| s.up) && !snapshot.broken.contains_key(&index);
        if up { "up" } else { "down" }
    };
    let own = topology.border_routers.get(&active.config.general.id);
    let external: Vec<_> = links
        .external
        .iter()
        .map(|link| {
            let no_bfd = LinkBfd::default();
            let bfd = own.and_then(|r| r.interfaces.get(&link.id)).map_or(&no_bfd, |i| &i.bfd);
            json!({
                "bfd": bfd_page(bfd, &active.config.router.bfd),
                "interface_id": link.id,
                "internal_interface": links.internal.to_string(),
                "neighbor": {"address": link.underlay.remote.to_string(), "isd_as": link.neighbour.to_string()},
                "relationship": link.relation.to_string(),
                "scion_mtu": link.mtu,
                "state": state(link.index),
            })
        })
        .collect();
    let mut siblings = Vec::new();
    for sibling in &links.siblings {
        let there = topology
            .border_routers
            .iter()
            .filter(|(name, router)| router.internal.socket == sibling.address && **name != active.config.general.id);
        for (id, interface) in there.flat_map(|(_, router)| &router.interfaces) {
            siblings.push(json!({
                "interface_id": id,
                "internal_interface": sibling.address.to_string(),
                "neighbor": {"isd_as": interface.neighbour.to_string()},
                "relationship": interface.relation.to_string(),
                "scion_mtu": interface.mtu,
                "state": state(sibling.index),
            }));
        }
    }
    json!({"interfaces": external, "sibling_interfaces": siblings})
}

/// Returns a link's BFD settings, completed by those of the configuration.
fn bfd_page(own: &LinkBfd, common: &config::Bfd) -> Value {
    let or = |own: std::time::Duration, common| if own.is_zero() { common } else { own };
    json!({
        "desired_minimum_tx_interval": go_duration(or(own.desired_min_tx_interval, common.desired_min_tx_interval)),
        "detection_multiplier": if own.detect_mult == 0 { common.detect_mult } else { own.detect_mult },
        "enabled": !own.disable.unwrap_or(common.disable),
        "required_minimum_receive": go_duration(or(own.required_min_rx_interval, common.required_min_rx_interval)),
    })
}

/// Formats a duration as Go does: `200ms`, `1.5s`, `1m0s`.
fn go_duration(duration: std::time::Duration) -> String {
    let ns = duration.as_nanos();
    let fraction = |unit: u128, name: &str| {
        let (whole, rest) = (ns / unit, ns % unit);
        let digits = unit.ilog10() as usize;
        let rest = format!("{rest:0digits$}");
        let rest = rest.trim_end_matches('0');
        if rest.is_empty() { format!("{whole}{name}") } else { format!("{whole}.{rest}{name}") }
    };
    match ns {
        0 => "0s".into(),
        1..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => fraction(1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(1_000_000, "ms"),
        _ => {
            let minutes = ns / 60_000_000_000;
            let seconds = go_seconds(ns % 60_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

fn go_seconds(ns: u128) -> String {
    let rest = format!("{:09}", ns % 1_000_000_000);
    match rest.trim_end_matches('0') {
        "" => format!("{}s", ns / 1_000_000_000),
        rest => format!("{}.{rest}s", ns / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_as_go_writes_them() {
        for (ns, text) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5µs"),
            (200_000_000, "200ms"),
            (200_500_000, "200.5ms"),
            (1_000_000_000, "1s"),
            (1_050_000_000, "1.05s"),
            (60_000_000_000, "1m0s"),
            (3_723_000_000_000, "1h2m3s"),
        ] {
            assert_eq!(go_duration(Duration::from_nanos(ns)), text);
        }
    }
}
