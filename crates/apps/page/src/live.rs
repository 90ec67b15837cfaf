//! What changes all the time: counts of ports, queues, workers and tenants.

use hopwright_dataplane::{PortStats, Stage, SwitchStats, TenantStats};
use serde_json::{Map, Value, json};

/// A switch's counts.
pub(crate) fn switch(stats: &SwitchStats) -> Value {
    let stages = Stage::ALL
        .iter()
        .zip(stats.stages)
        .map(|(stage, time)| json!({ "name": stage.name(), "ns": time.ns, "packets": time.packets }));
    json!({ "ports": stats.ports.iter().map(port).collect::<Vec<_>>(), "stages": stages.collect::<Vec<_>>(),
            "no_tenant": stats.no_tenant })
}

/// A port's counts.
pub(crate) fn port(stats: &PortStats) -> Value {
    json!({
        "number": stats.number, "name": stats.name, "rx_packets": stats.rx_packets, "rx_bytes": stats.rx_bytes,
        "tx_packets": stats.tx_packets, "tx_bytes": stats.tx_bytes, "lost": stats.lost(),
        "queue_waiting": stats.device.queue_waiting, "queue_longest": stats.device.queue_longest,
        "queue_full": stats.device.queue_full,
    })
}

/// A tenant's counts. `errors` are the names of the program's parser errors.
pub(crate) fn tenant(stats: &TenantStats, errors: &[String]) -> Value {
    let parser_errors: Map<String, Value> = errors
        .iter()
        .zip(&stats.parser_errors)
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| (name.clone(), (*count).into()))
        .collect();
    json!({
        "rx_packets": stats.rx_packets, "rx_bytes": stats.rx_bytes, "tx_packets": stats.tx_packets, "tx_bytes": stats.tx_bytes,
        "packets": stats.packets, "busy_ns": stats.busy_ns, "batches": stats.batches,
        "punted": stats.punted, "injected": stats.injected, "copied": stats.copied,
        "drops": {
            "by the program": stats.dropped_by_program, "rate limit": stats.policed, "share of time": stats.lane_full,
            "grown beyond its buffer": stats.no_headroom, "fault": stats.faults, "no such port": stats.no_such_port,
            "no free buffer": stats.no_frame, "device busy": stats.tx_lost, "CPU queue full": stats.punt_lost,
        },
        "parser_errors": parser_errors,
    })
}
