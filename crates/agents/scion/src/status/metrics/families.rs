//! The families of metrics, with their labels and sources.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::SystemTime;

use hopwright_agent::{losses, write_traffic};
use hopwright_dataplane::{ControlError, Stage, SwitchStats};
use hopwright_host::metrics::{Text, write_log_events, write_process_metrics};
use hopwright_ir::TableId;

use super::traffic::{BySize, DropsBySize, KINDS, LinkTraffic, SIZE_CLASSES};
use crate::config::links::{INTERNAL_INDEX, SERVICE_CONTROL};
use crate::control::program::Reason;
use crate::control::tables::FLYOVER_OUTCOMES;
use crate::status::{ActiveConfig, Session, Snapshot, Status};

/// Returns the page of all metrics, in [`super::CONTENT_TYPE`].
pub fn page(status: &Status) -> Result<String, ControlError> {
    let (active, snapshot, stats) = (status.active(), status.snapshot(), status.stats());
    let vdp = status.tenant().vdp();
    let mut links = link_labels(&active);
    for link in &mut links {
        link.traffic = LinkTraffic::read(&vdp, link.index, link.ipv6, &snapshot.own_packets)?;
        link.slow_path = snapshot.slow_path_drops.of(link.index);
    }
    lost_before_and_behind(&mut links, &stats);
    let mut text = Text::default();
    traffic(&mut text, &links);
    sessions(&mut text, &active, &snapshot);
    services(&mut text, &active);
    identity(&mut text, &active);
    write_process_metrics(&mut text);
    write_log_events(&mut text);
    let reasons = vdp.control().counter("reasons").map(|c| c.read_all())?;
    refused(&mut text, &links, &reasons.iter().map(|c| c.packets).collect::<Vec<_>>());
    flyovers(&mut text, &links);
    switch(&mut text, status, &stats);
    stages(&mut text, &stats, &snapshot);
    agent(&mut text, &snapshot);
    link_ports(&mut text, &links, &snapshot);
    broken(&mut text, &links, &snapshot);
    Ok(text.finish())
}

/// A link with the labels that metrics use.
struct Link {
    index: u16,
    ipv6: bool,
    interface: String,
    isd_as: String,
    neighbour: String,
    traffic: LinkTraffic,
    slow_path: DropsBySize,
    /// Packets lost outside of the program.
    lost: Lost,
}

/// Packets lost outside of the program, by the reference's reasons.
#[derive(Default)]
struct Lost {
    /// Lost when received.
    processor: u64,
    /// Lost when sent.
    forwarder: u64,
    /// Lost before the slow path.
    slow_path: u64,
    /// The program failed on them.
    invalid: u64,
}

impl Link {
    fn with<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [("interface", &*self.interface), ("isd_as", &*self.isd_as), ("neighbor_isd_as", &*self.neighbour)];
        own.into_iter().chain(more.iter().copied()).collect()
    }
}

fn link_labels(active: &ActiveConfig) -> Vec<Link> {
    let isd_as = active.links.ia.to_string();
    let link = |index, local: IpAddr, interface: String, neighbour: String| Link {
        index,
        ipv6: local.is_ipv6(),
        interface,
        isd_as: isd_as.clone(),
        neighbour,
        traffic: LinkTraffic::default(),
        slow_path: DropsBySize::default(),
        lost: Lost::default(),
    };
    let internal = active.links.internal.ip();
    let mut links = vec![link(INTERNAL_INDEX, internal, "internal".into(), isd_as.clone())];
    for e in &active.links.external {
        links.push(link(e.index, e.underlay.local.ip(), e.id.to_string(), e.neighbour.to_string()));
    }
    for s in &active.links.siblings {
        links.push(link(s.index, internal, format!("sibling->{}", s.address), "unknown".into()));
    }
    links
}

/// Adds packets lost outside of the program to the internal link, in the smallest size class. They belong to a device
/// or a queue rather than a link, but must be somewhere, so that sums over links are right.
fn lost_before_and_behind(links: &mut [Link], stats: &SwitchStats) {
    let Some(internal) = links.first_mut() else { return };
    let ports = || stats.ports.iter().chain([&stats.removed_ports]);
    internal.lost = Lost {
        processor: ports().map(|p| p.device.rx_overrun + p.device.rx_too_long).sum::<u64>() + stats.total.no_frame,
        forwarder: ports().map(|p| p.tx_lost).sum::<u64>() + stats.total.no_such_port,
        slow_path: stats.total.punt_lost,
        invalid: stats.total.faults + stats.total.no_headroom,
    };
}

fn traffic(text: &mut Text, links: &[Link]) {
    text.counter("router_dropped_pkts_total", "Total number of packets dropped by the router.");
    for link in links {
        for (class, name) in SIZE_CLASSES.iter().enumerate() {
            let none = Lost::default();
            let lost = if class == 0 { &link.lost } else { &none };
            for (reason, count) in [
                ("busy_forwarder", lost.forwarder),
                ("busy_processor", lost.processor),
                ("busy_slow_path", lost.slow_path + link.slow_path.busy[class]),
                ("invalid", lost.invalid + link.traffic.dropped[class] + link.slow_path.invalid[class]),
            ] {
                text.sample(&link.with(&[("reason", reason), ("sizeclass", name)]), count);
            }
        }
    }
    let by_size = |text: &mut Text, count: fn(&BySize, usize) -> u64| {
        for link in links {
            for (class, name) in SIZE_CLASSES.iter().enumerate() {
                text.sample(&link.with(&[("sizeclass", name)]), count(&link.traffic.input, class));
            }
        }
    };
    text.counter("router_input_bytes_total", "Total number of bytes received");
    by_size(text, |input, class| input[class].bytes);
    text.counter("router_input_pkts_total", "Total number of packets received");
    by_size(text, |input, class| input[class].packets);
    text.counter("router_processed_pkts_total", "Total number of packets processed by the processor");
    by_size(text, |input, class| input[class].packets);
    let by_kind = |text: &mut Text, count: fn(&BySize, usize) -> u64| {
        for link in links {
            for (class, name) in SIZE_CLASSES.iter().enumerate() {
                for (kind, output) in KINDS.iter().zip(&link.traffic.output) {
                    text.sample(&link.with(&[("sizeclass", name), ("type", kind)]), count(output, class));
                }
            }
        }
    };
    text.counter("router_output_bytes_total", "Total number of bytes sent.");
    by_kind(text, |output, class| output[class].bytes);
    text.counter("router_output_pkts_total", "Total number of packets sent.");
    by_kind(text, |output, class| output[class].packets);
}

/// States of links, determined by BFD if there is a session.
fn sessions(text: &mut Text, active: &ActiveConfig, snapshot: &Snapshot) {
    let isd_as = active.links.ia.to_string();
    let links = &active.links;
    let up = |index: u16| {
        u8::from(snapshot.sessions.get(&index).is_none_or(|s| s.up) && !snapshot.broken.contains_key(&index))
    };
    type Figure = fn(&Session) -> u64;

    let interfaces: Vec<_> =
        links.external.iter().map(|e| (e.index, e.id.to_string(), e.neighbour.to_string())).collect();
    text.gauge("router_interface_up", "Either zero or one depending on whether the interface is up.");
    for (index, id, neighbour) in &interfaces {
        text.sample(&[("interface", id), ("isd_as", &isd_as), ("neighbor_isd_as", neighbour)], up(*index));
    }
    let of_interfaces: [(&str, &str, Figure); 3] = [
        ("router_bfd_state_changes_total", "Total number of BFD state changes.", |s| s.state_changes),
        ("router_bfd_sent_packets_total", "Number of BFD packets sent.", |s| s.sent),
        ("router_bfd_received_packets_total", "Number of BFD packets received.", |s| s.received),
    ];
    for (name, help, figure) in of_interfaces {
        text.counter(name, help);
        for (index, id, neighbour) in &interfaces {
            if let Some(session) = snapshot.sessions.get(index) {
                let labels = [("interface", &**id), ("isd_as", &isd_as), ("neighbor_isd_as", neighbour)];
                text.sample(&labels, figure(session));
            }
        }
    }

    text.gauge(
        "router_sibling_reachable",
        "Either zero or one depending on whether a sibling router instance is reachable.",
    );
    for sibling in &links.siblings {
        text.sample(&[("isd_as", &isd_as), ("sibling", &sibling.name)], up(sibling.index));
    }
    let of_siblings: [(&str, &str, Figure); 3] = [
        (
            "router_bfd_sibling_state_changes_total",
            "Total number of BFD state changes for sibling router instances",
            |s| s.state_changes,
        ),
        ("router_bfd_sent_sibling_packets_total", "Number of BFD packets sent to sibling router instance.", |s| s.sent),
        (
            "router_bfd_received_sibling_packets_total",
            "Number of BFD packets received from sibling router instance.",
            |s| s.received,
        ),
    ];
    for (name, help, figure) in of_siblings {
        text.counter(name, help);
        for sibling in &links.siblings {
            if let Some(session) = snapshot.sessions.get(&sibling.index) {
                text.sample(&[("isd_as", &isd_as), ("sibling", &sibling.name)], figure(session));
            }
        }
    }
}

fn services(text: &mut Text, active: &ActiveConfig) {
    let isd_as = active.links.ia.to_string();
    let all = || {
        let some = active.links.services.iter().filter(|(_, instances)| !instances.is_empty());
        some.map(|(service, instances)| (if *service == SERVICE_CONTROL { "CS" } else { "DS" }, instances.len()))
    };
    text.gauge("router_service_instance_count", "Number of service instances known by the data plane.");
    for (service, count) in all() {
        text.sample(&[("isd_as", &isd_as), ("service", service)], count);
    }
    text.counter(
        "router_service_instance_changes_total",
        "Number of total service instance changes. Both addition and removal of a service instance is accumulated.",
    );
    for (service, count) in all() {
        text.sample(&[("isd_as", &isd_as), ("service", service)], count);
    }
}

fn identity(text: &mut Text, active: &ActiveConfig) {
    let version = env!("CARGO_PKG_VERSION");
    text.gauge("scion_build_info", "SCION build information");
    text.sample(&[("version", &format!("hopwright-{version}"))], 1);
    text.gauge("scion_elem_id", "The element ID from the config file");
    text.sample(&[("cfg", &active.config.general.id)], 1);
}

/// Exact reasons for refused packets, which the reference does not have.
fn refused(text: &mut Text, links: &[Link], reasons: &[u64]) {
    // Refused packets that no link has counted have an unknown ingress.
    let mut unknown: BTreeMap<Reason, u64> = BTreeMap::new();
    for reason in Reason::ALL {
        let of_links = links.iter().flat_map(|l| &l.traffic.refused).filter(|(r, _)| r == reason);
        let counted = reasons.get(*reason as usize).copied().unwrap_or(0);
        unknown.insert(*reason, counted.saturating_sub(of_links.map(|(_, n)| n).sum()));
    }
    for (name, help, punt) in [
        ("hopwright_dropped_packets_total", "Packets the program dropped, by link and exact reason.", false),
        ("hopwright_punted_packets_total", "Packets handed to the slow path, by link and reason.", true),
    ] {
        text.counter(name, help);
        for reason in Reason::ALL.iter().filter(|r| **r != Reason::None && r.is_punt() == punt) {
            let label = reason.label();
            for link in links {
                let count = link.traffic.refused.iter().find(|(r, _)| r == reason);
                if let Some((_, count)) = count {
                    text.count(&link.with(&[("reason", &label)]), *count);
                }
            }
            let nowhere = [("interface", "none"), ("reason", &*label)];
            text.count(&nowhere, unknown[reason]);
        }
    }
}

fn flyovers(text: &mut Text, links: &[Link]) {
    if links.iter().all(|link| link.traffic.flyovers.is_none()) {
        return;
    }
    let help = "Hummingbird packets forwarded, by the link they came from and what became of their reservation.";
    text.counter("hopwright_hummingbird_packets_total", help);
    for link in links {
        for (outcome, count) in FLYOVER_OUTCOMES.iter().zip(link.traffic.flyovers.into_iter().flatten()) {
            text.count(&link.with(&[("outcome", outcome)]), count);
        }
    }
}

fn switch(text: &mut Text, status: &Status, stats: &SwitchStats) {
    let single = |text: &mut Text, name, help, value: u64| {
        text.counter(name, help);
        text.sample(&[], value);
    };
    let workers: Vec<_> = stats.total.workers.iter().zip(0..).map(|(worker, n)| (worker, n.to_string())).collect();
    text.counter("hopwright_worker_packets_total", "Packets run through the program, by worker.");
    workers.iter().for_each(|(worker, n)| text.sample(&[("worker", n.as_str())], worker.packets));
    text.counter("hopwright_worker_batches_total", "Batches they came in.");
    workers.iter().for_each(|(worker, n)| text.sample(&[("worker", n.as_str())], worker.batches));
    text.gauge("hopwright_workers", "Threads that run packets through the program.");
    text.sample(&[], workers.len());
    text.counter("hopwright_worker_busy_seconds_total", "Time spent in the program, packet I/O not included.");
    workers.iter().for_each(|(worker, n)| text.sample(&[("worker", n.as_str())], worker.busy_ns as f64 / 1e9));

    text.counter("hopwright_lost_packets_total", "Packets lost in the data plane, by reason.");
    for (why, count) in [
        ("cpu_queue_full", stats.total.punt_lost),
        ("fault", stats.total.faults),
        ("no_buffer", stats.total.no_frame),
        ("no_headroom", stats.total.no_headroom),
        ("no_such_port", stats.total.no_such_port),
    ] {
        text.count(&[("reason", why)], count);
    }
    single(text, "hopwright_slow_path_received_total", "Packets handed to the slow path.", stats.total.punted);
    single(text, "hopwright_slow_path_sent_total", "Packets the slow path sent.", stats.total.injected);
    let queue = status.tenant().cpu();
    text.gauge("hopwright_cpu_queue_packets", "Packets that wait for the slow path.");
    text.sample(&[], queue.len());
    text.gauge("hopwright_cpu_queue_capacity", "Packets that may wait for the slow path.");
    text.sample(&[], queue.capacity());

    write_traffic(text, &stats.ports);
    text.counter("hopwright_port_lost_packets_total", "Packets lost at a device, by reason.");
    for port in &stats.ports {
        losses(port).iter().for_each(|(why, count)| text.count(&[("device", &port.name), ("reason", why)], *count));
    }
    text.gauge("hopwright_port_queue_packets", "Packets that wait in the egress queues of a device with a rate.");
    stats.ports.iter().for_each(|port| text.sample(&[("device", &port.name)], port.device.queue_waiting));

    let vdp = status.tenant().vdp();
    let tables = || (0..).map(TableId).zip(&vdp.pipeline().tables);
    text.gauge("hopwright_table_entries", "Entries in a table of the program.");
    for (id, table) in tables() {
        text.sample(&[("table", &table.name)], vdp.control()[id].len());
    }
    text.gauge("hopwright_table_size", "Entries that a table of the program can hold.");
    for (_, table) in tables() {
        text.sample(&[("table", &table.name)], table.size);
    }
    text.counter("hopwright_parser_errors_total", "Packets whose parser ended with an error.");
    for (name, count) in vdp.pipeline().errors.iter().zip(&stats.total.parser_errors).skip(1) {
        text.count(&[("error", name)], *count);
    }
}

/// Time by stage: the workers' on a sample of their batches, the slow path's in total.
fn stages(text: &mut Text, stats: &SwitchStats, snapshot: &Snapshot) {
    let all = || {
        let times = Stage::ALL.iter().zip(stats.stages).map(|(stage, time)| (stage.name(), time));
        times.chain([("slow_path", snapshot.slow_path)])
    };
    text.counter("hopwright_stage_seconds_total", "Time spent in each stage on the packets that were measured.");
    for (name, time) in all() {
        text.sample(&[("stage", name)], time.ns as f64 / 1e9);
    }
    text.counter("hopwright_stage_packets_total", "Packets that were measured.");
    for (name, time) in all() {
        text.sample(&[("stage", name)], time.packets);
    }
}

fn agent(text: &mut Text, snapshot: &Snapshot) {
    text.gauge("hopwright_host_entries", "Hosts that have an entry of their own in the program's tables.");
    text.sample(&[], snapshot.hosts.entries);
    text.counter(
        "hopwright_host_promotions_total",
        "Hosts that got an entry of their own, because several packets went to them.",
    );
    text.sample(&[], snapshot.hosts.promotions);
    text.counter(
        "hopwright_host_evictions_total",
        "Hosts that lost their entry to others, because there were too many.",
    );
    text.sample(&[], snapshot.hosts.evictions);
    for counts in &snapshot.counts {
        text.family_of_counts(counts);
    }
    // With zeros: Prometheus sees no increase in a count whose first value is 1.
    text.family(&snapshot.reloads.family());
    text.gauge(
        "hopwright_last_reload_successful",
        "Whether the configuration in the files is in force: 0 after a change that was refused or failed.",
    );
    text.sample(&[], u8::from(snapshot.reloads.error.is_none()));
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
    if let Some(time) = snapshot.key_set {
        text.gauge("hopwright_key_set_timestamp_seconds", "When the hop-field key in force was set, in Unix time.");
        text.sample(&[], seconds(time));
    }
    if let Some(written) = snapshot.stats_written {
        text.gauge("hopwright_stats_file_written", "Whether the statistics file was written the last time.");
        text.sample(&[], u8::from(written));
    }
}

/// Links that are down whatever their sessions say.
fn broken(text: &mut Text, links: &[Link], snapshot: &Snapshot) {
    text.gauge(
        "hopwright_link_down_info",
        "Why a link is down that cannot work: addresses of no use, or that the machine does not have. Always 1.",
    );
    for link in links {
        if let Some(why) = snapshot.broken.get(&link.index) {
            text.sample(&link.with(&[("reason", why)]), 1);
        }
    }
}

/// The kinds of port that each link uses.
fn link_ports(text: &mut Text, links: &[Link], snapshot: &Snapshot) {
    let name = "hopwright_link_port_info";
    text.gauge(name, "Kind of port by which a link's packets are received and sent, and why it is UDP. Always 1.");
    for ports in &snapshot.link_ports {
        let Some(link) = links.iter().find(|link| link.index == ports.index) else { continue };
        for (direction, carrier) in [("receive", Some(&ports.receive)), ("send", ports.send.as_ref())] {
            let Some(carrier) = carrier else { continue };
            let labels = [
                ("direction", direction),
                ("kind", &carrier.kind.to_lowercase()),
                ("device", carrier.device.as_deref().unwrap_or_default()),
                ("reason", carrier.why.as_deref().unwrap_or_default()),
            ];
            text.sample(&link.with(&labels), 1);
        }
    }
}
