//! Metrics for Prometheus: of each tenant, of each device, of the process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hopwright_agent::{write_devices, write_metrics};
use hopwright_dataplane::{Switch, SwitchStats, TenantStats, Traces, VirtualDataPlane};
use hopwright_host::http::axum::http::header;
use hopwright_host::http::axum::{Router, routing};
use hopwright_host::metrics::{CONTENT_TYPE, Text, write_process_metrics};
use hopwright_ir::TableId;
use hopwright_p4runtime::Counts;

use crate::running::{Board, Shown, lock};

/// A family of metrics: its name, what it counts, and its value.
type Family<T> = (&'static str, &'static str, fn(&T) -> u64);

/// Why packets are dropped, and how many were.
type Reason = (&'static str, fn(&TenantStats) -> u64);

const COUNTS: [Family<TenantStats>; 9] = [
    ("hopwright_tenant_received_packets_total", "Packets received for a tenant.", |s| s.rx_packets),
    ("hopwright_tenant_received_bytes_total", "Bytes of frames received for a tenant.", |s| s.rx_bytes),
    ("hopwright_tenant_sent_packets_total", "Packets of a tenant that devices sent.", |s| s.tx_packets),
    ("hopwright_tenant_sent_bytes_total", "Bytes of frames of a tenant that devices sent.", |s| s.tx_bytes),
    ("hopwright_tenant_processed_packets_total", "Packets run through a tenant's program.", |s| s.packets),
    ("hopwright_tenant_punted_packets_total", "Packets handed to a tenant's control plane.", |s| s.punted),
    ("hopwright_tenant_injected_packets_total", "Packets that a tenant's control plane sent.", |s| s.injected),
    ("hopwright_tenant_copied_packets_total", "Clones and multicast copies that a tenant's program made.", |s| {
        s.copied
    }),
    ("hopwright_tenant_lost_digests_total", "Digests lost because too many waited.", |s| s.digests_lost),
];

/// Why packets of a tenant are dropped.
pub(crate) const DROPS: [Reason; 9] = [
    ("rate", |s| s.policed),
    ("share", |s| s.lane_full),
    ("program", |s| s.dropped_by_program),
    ("no_headroom", |s| s.no_headroom),
    ("fault", |s| s.faults),
    ("no_such_port", |s| s.no_such_port),
    ("no_frame", |s| s.no_frame),
    ("cpu_queue", |s| s.punt_lost),
    ("device", |s| s.tx_lost),
];

/// The page `/metrics`.
pub(crate) fn pages(switch: Arc<Switch>, board: Board) -> Router {
    let page = move || {
        let shown = lock(&board).clone();
        let text = page(&switch.stats(), &shown);
        async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], text) }
    };
    Router::new().route("/metrics", routing::get(page))
}

fn page(switch: &SwitchStats, tenants: &[Shown]) -> String {
    let mut text = Text::default();
    let stats: Vec<(&str, TenantStats)> = tenants.iter().map(|t| (t.tenant.name(), t.tenant.stats())).collect();
    for (name, help, of) in COUNTS {
        text.counter(name, help);
        stats.iter().for_each(|(tenant, s)| text.sample(&[("tenant", tenant)], of(s)));
    }
    text.counter("hopwright_tenant_dropped_packets_total", "Packets of a tenant that were dropped, by reason.");
    for (tenant, s) in &stats {
        DROPS.iter().for_each(|(reason, of)| text.sample(&[("tenant", tenant), ("reason", reason)], of(s)));
    }
    text.counter("hopwright_tenant_busy_seconds_total", "Time spent in a tenant's program.");
    stats.iter().for_each(|(tenant, s)| text.sample(&[("tenant", tenant)], s.busy_ns as f64 / 1e9));
    traces(&mut text, tenants);
    resources(&mut text, tenants);
    p4runtime(&mut text, tenants);
    let agents: Vec<_> = tenants.iter().map(|t| (t.tenant.name(), t.agent.metrics())).collect();
    write_metrics(&mut text, &agents);
    write_devices(&mut text, switch);
    write_process_metrics(&mut text);
    text.finish()
}

/// How much of the programs' work traces do.
fn traces(text: &mut Text, tenants: &[Shown]) {
    let families: [Family<Traces>; 3] = [
        ("hopwright_tenant_trace_candidates_total", "Packets run by a tenant's current workers.", |t| t.counts().0),
        ("hopwright_tenant_side_exits_total", "Those of them that left the traces.", |t| t.counts().1),
        ("hopwright_tenant_respecialisations_total", "Compilations of traces.", Traces::respecialisations),
    ];
    for (name, help, of) in families {
        text.counter(name, help);
        tenants.iter().for_each(|t| text.sample(&[("tenant", t.tenant.name())], of(t.tenant.vdp().traces())));
    }
    text.counter(
        "hopwright_tenant_side_exits_by_guard_total",
        "Side exits by the place in the program whose guard failed; of guards tested together, the first.",
    );
    for t in tenants {
        for (place, packets) in t.tenant.vdp().traces().exits_by_site() {
            text.sample(&[("tenant", t.tenant.name()), ("guard", &place)], packets);
        }
    }
    text.gauge("hopwright_tenant_traces", "Paths of a tenant's program that have a trace.");
    tenants.iter().for_each(|t| text.sample(&[("tenant", t.tenant.name())], t.tenant.vdp().traces().paths()));
}

/// What tenants hold, and may have.
fn resources(text: &mut Text, tenants: &[Shown]) {
    text.gauge("hopwright_tenant_cpu_queue_packets", "Packets that wait for a tenant's control plane.");
    tenants.iter().for_each(|t| text.sample(&[("tenant", t.tenant.name())], t.tenant.cpu().len()));
    text.gauge("hopwright_tenant_cpu_queue_capacity", "Packets that may wait for a tenant's control plane.");
    tenants.iter().for_each(|t| text.sample(&[("tenant", t.tenant.name())], t.tenant.cpu().capacity()));
    let limits = || tenants.iter().map(|t| (t.tenant.name(), t.tenant.limits()));
    text.gauge("hopwright_tenant_share", "Share of the processor's time, relative to other tenants'.");
    limits().for_each(|(tenant, l)| text.sample(&[("tenant", tenant)], l.weight));
    text.gauge(
        "hopwright_tenant_limit_packets_per_second",
        "The rate that a tenant's packets are limited to, if they are.",
    );
    for (tenant, l) in limits() {
        l.packets.iter().for_each(|rate| text.sample(&[("tenant", tenant)], rate.per_second));
    }
    text.gauge("hopwright_tenant_limit_bits_per_second", "The rate that a tenant's bits are limited to, if they are.");
    for (tenant, l) in limits() {
        l.bits.iter().for_each(|rate| text.sample(&[("tenant", tenant)], rate.per_second));
    }
    text.gauge("hopwright_tenant_memory_bytes", "Memory that a tenant has.");
    tenants.iter().for_each(|t| text.sample(&[("tenant", t.tenant.name())], t.tenant.memory()));
    text.gauge("hopwright_tenant_limit_memory_bytes", "Memory that a tenant may have.");
    for (tenant, l) in limits() {
        l.memory.iter().for_each(|memory| text.sample(&[("tenant", tenant)], *memory));
    }
    text.gauge("hopwright_table_entries", "Entries in a table of a tenant's program.");
    for t in tenants {
        let vdp = t.tenant.vdp();
        for (table, entries) in table_entries(&vdp) {
            text.sample(&[("tenant", t.tenant.name()), ("table", table)], entries);
        }
    }
}

/// The tables of a program and how many entries they have.
pub(crate) fn table_entries(vdp: &VirtualDataPlane) -> impl Iterator<Item = (&str, usize)> {
    let tables = (0..).map(TableId).zip(&vdp.pipeline().tables);
    tables.map(|(id, table)| (table.name.as_str(), vdp.control()[id].len()))
}

/// What controllers do.
fn p4runtime(text: &mut Text, tenants: &[Shown]) {
    let families: [Family<Counts>; 6] = [
        ("hopwright_p4runtime_updates_total", "Updates that controllers made.", |c| c.updates.load(Ordering::Relaxed)),
        ("hopwright_p4runtime_failed_updates_total", "Updates that failed.", |c| c.failed.load(Ordering::Relaxed)),
        ("hopwright_p4runtime_packets_in_total", "Packets sent to controllers.", |c| {
            c.packets_in.load(Ordering::Relaxed)
        }),
        ("hopwright_p4runtime_packets_out_total", "Packets received from controllers.", |c| {
            c.packets_out.load(Ordering::Relaxed)
        }),
        (
            "hopwright_p4runtime_refused_packets_total",
            "Packets of controllers that a full queue had no room for.",
            |c| c.packets_out_refused.load(Ordering::Relaxed),
        ),
        ("hopwright_p4runtime_lost_messages_total", "Messages that no controller took.", |c| {
            c.lost.load(Ordering::Relaxed)
        }),
    ];
    for (name, help, of) in families {
        text.counter(name, help);
        for t in tenants {
            t.device.iter().for_each(|d| text.sample(&[("tenant", t.tenant.name())], of(d.counts())));
        }
    }
}
