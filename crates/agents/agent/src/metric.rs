//! Metrics of agents, as Prometheus reads them.

use hopwright_dataplane::{PortStats, SwitchStats};
use hopwright_host::metrics::Text;

/// One value of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name: `hopwright_KIND_…`.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// How it changes.
    pub kind: MetricKind,
    /// The value.
    pub value: u64,
}

/// How a metric changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It grows.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl Metric {
    /// A count since the agent's start.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Metric {
        Metric { name, help, kind: MetricKind::Counter, value }
    }

    /// A value that goes up and down.
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Metric {
        Metric { name, help, kind: MetricKind::Gauge, value }
    }
}

/// Writes metrics of agents, each with its tenant's name: all samples of a name are one family.
pub fn write_metrics(text: &mut Text, agents: &[(&str, Vec<Metric>)]) {
    let mut families: Vec<Metric> = Vec::new();
    for metric in agents.iter().flat_map(|(_, metrics)| metrics) {
        if !families.iter().any(|family| family.name == metric.name) {
            families.push(*metric);
        }
    }
    for family in families {
        match family.kind {
            MetricKind::Counter => text.counter(family.name, family.help),
            MetricKind::Gauge => text.gauge(family.name, family.help),
        }
        for (tenant, metrics) in agents {
            let samples = metrics.iter().filter(|metric| metric.name == family.name);
            samples.for_each(|metric| text.sample(&[("tenant", tenant)], metric.value));
        }
    }
}

/// Counters of devices: name, help, value.
type Family = (&'static str, &'static str, fn(&PortStats) -> u64);

/// Writes what devices receive and send.
pub fn write_traffic(text: &mut Text, ports: &[PortStats]) {
    let families: [Family; 4] = [
        ("hopwright_port_received_packets_total", "Packets received by a device.", |p| p.rx_packets),
        ("hopwright_port_received_bytes_total", "Bytes of frames received by a device.", |p| p.rx_bytes),
        ("hopwright_port_sent_packets_total", "Packets sent by a device.", |p| p.tx_packets),
        ("hopwright_port_sent_bytes_total", "Bytes of frames sent by a device.", |p| p.tx_bytes),
    ];
    for (name, help, of) in families {
        text.counter(name, help);
        ports.iter().for_each(|p| text.sample(&[("device", &p.name)], of(p)));
    }
}

/// The packets that a device lost, by reason: the samples of `hopwright_port_lost_packets_total`.
pub fn losses(port: &PortStats) -> [(&'static str, u64); 4] {
    let full = port.device.queue_full;
    [
        ("rx_overrun", port.device.rx_overrun),
        ("rx_too_long", port.device.rx_too_long),
        ("tx_queue_full", full),
        ("tx_refused", port.tx_lost.saturating_sub(full)),
    ]
}

/// Writes what devices receive, send and lose, and what belongs to no tenant.
pub fn write_devices(text: &mut Text, stats: &SwitchStats) {
    write_traffic(text, &stats.ports);
    text.counter("hopwright_port_lost_packets_total", "Packets lost at a device, by reason.");
    for p in &stats.ports {
        losses(p).iter().for_each(|(reason, count)| text.sample(&[("device", &p.name), ("reason", reason)], count));
    }
    text.gauge("hopwright_port_queue_packets", "Packets that wait in the egress queues of a device with a rate.");
    stats.ports.iter().for_each(|p| text.sample(&[("device", &p.name)], p.device.queue_waiting));
    text.gauge("hopwright_port_queue_longest_packets", "Most packets that an egress queue of a device has had.");
    stats.ports.iter().for_each(|p| text.sample(&[("device", &p.name)], p.device.queue_longest));
    text.counter("hopwright_no_tenant_packets_total", "Packets received that are no tenant's, and dropped.");
    text.sample(&[], stats.no_tenant);
    text.counter("hopwright_group_copies_total", "Copies of broadcast and multicast frames made for further tenants.");
    text.sample(&[], stats.group_copies);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_share_families() {
        let of = |up| vec![Metric::gauge("up", "Sessions.", up), Metric::counter("sent", "Packets.", 7)];
        let mut text = Text::default();
        write_metrics(&mut text, &[("a", of(1)), ("b", of(2)), ("c", Vec::new())]);
        let lines = [
            "# HELP up Sessions.\n# TYPE up gauge\nup{tenant=\"a\"} 1\nup{tenant=\"b\"} 2\n",
            "# HELP sent Packets.\n# TYPE sent counter\nsent{tenant=\"a\"} 7\nsent{tenant=\"b\"} 7\n",
        ];
        assert_eq!(text.finish(), lines.concat());
    }
}
