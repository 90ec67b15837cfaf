//! What is read of a running process: metrics, and the counters as JSON.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use hopwright_dataplane::Switch;
use hopwright_host::http::axum::http::header;
use hopwright_host::http::axum::{Router, routing};
use hopwright_host::metrics::{CONTENT_TYPE, Text, write_log_events, write_process_metrics};
use serde_json::json;

use super::Error;
use crate::metric::write_devices;
use crate::{Agent, write_metrics};

/// The page `/metrics`.
pub(super) fn pages(switch: Arc<Switch>, agent: Arc<dyn Agent>) -> Router {
    let page = move || {
        let mut text = Text::default();
        write_metrics(&mut text, &[(switch.default_tenant().name(), agent.metrics())]);
        write_devices(&mut text, &switch.stats());
        write_log_events(&mut text);
        write_process_metrics(&mut text);
        async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], text.finish()) }
    };
    Router::new().route("/metrics", routing::get(page))
}

/// The counters as JSON: the switch's, and the agent's beside them.
pub(super) fn page(switch: &Switch, agent: &dyn Agent, started: Instant) -> String {
    let stats = switch.stats();
    let port = |p: &hopwright_dataplane::PortStats| {
        let counts = json!({
            "number": p.number, "rx_packets": p.rx_packets, "rx_bytes": p.rx_bytes,
            "tx_packets": p.tx_packets, "tx_bytes": p.tx_bytes, "tx_lost": p.tx_lost,
        });
        (p.name.clone(), counts)
    };
    let mut page = agent.stats();
    page.insert("uptime_s".into(), started.elapsed().as_secs_f64().into());
    page.insert("packets".into(), stats.total.packets.into());
    page.insert("cpu_queue_lost".into(), stats.total.punt_lost.into());
    page.insert("ns_per_packet".into(), json!(stats.total.ns_per_packet()));
    page.insert("ports".into(), stats.ports.iter().map(port).collect::<serde_json::Map<_, _>>().into());
    serde_json::Value::from(page).to_string()
}

/// Writes the counters, in a way that readers see the file before or after.
pub(super) fn write(file: &Path, page: &str) -> Result<(), Error> {
    hopwright_host::files::replace(file, page.as_bytes()).map_err(|error| Error::Stats { file: file.into(), error })
}
