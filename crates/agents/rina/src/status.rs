//! What people and monitoring see: the state as JSON, metrics, and their pages.

use std::sync::{Arc, Mutex, PoisonError};

use hopwright_dataplane::{Control, Switch, SwitchStats};
use hopwright_host::http::axum::body::Bytes;
use hopwright_host::http::axum::extract::State;
use hopwright_host::http::axum::http::{HeaderMap, Method, header};
use hopwright_host::http::axum::response::{Html, IntoResponse, Response};
use hopwright_host::http::axum::routing::any;
use hopwright_host::http::axum::{self, Router};
use hopwright_host::http::{LogLevel, log_level_response};
use hopwright_host::metrics::{CONTENT_TYPE, Text, write_process_metrics};
use serde_json::{Value, json};

use crate::config::Config;
use crate::ipcp::Ipcp;
use crate::program::{self, border, interior};
use crate::rib::Key;

/// The IPC processes as JSON: addresses, neighbours, routes, directory, flows. No keys.
pub(crate) fn describe(ipcps: &[Ipcp], config: &Config) -> Value {
    let device = |ipcp: usize, link: usize| {
        let found = config.ipcps.get(ipcp).and_then(|ipcp| ipcp.links.get(link));
        found.map_or_else(String::new, ToString::to_string)
    };
    let one = |(at, ipcp): (usize, &Ipcp)| {
        let settings = ipcp.settings();
        let links = (0..settings.links.len()).map(|link| {
            let counts = ipcp.link_counts(link);
            json!({
                "link": device(at, link), "cost": settings.links[link], "neighbour": ipcp.neighbour(link),
                "ups": counts.ups, "downs": counts.downs, "refused": counts.refused, "discarded": counts.discarded,
            })
        });
        let routes = ipcp.paths().iter().map(|(name, path)| {
            let address = ipcp.rib().address(name);
            let by = address.and_then(|address| ipcp.forwarding().destinations.get(&address));
            let by: Vec<String> = by.into_iter().flatten().map(|link| device(at, *link)).collect();
            json!({ "member": name, "address": address, "cost": path.cost, "links": by })
        });
        let applications = ipcp.rib().iter().filter_map(|(key, _)| match key {
            Key::Application(name, at) => Some(json!({ "application": name, "at": at })),
            _ => None,
        });
        let lower_flows = ipcp.rib().iter().filter_map(|(key, object)| match key {
            Key::LowerFlow(from, to) => Some(json!({ "from": from, "to": to, "cost": object.value })),
            _ => None,
        });
        let flows = ipcp.flows().iter().map(|(id, flow)| {
            json!({
                "flow": id, "state": flow.state(), "local": flow.local, "remote": flow.remote, "at": flow.peer,
                "qos": flow.qos.name, "window": flow.sender.window(), "sent": flow.sender.pdus,
                "retransmitted": flow.sender.retransmitted, "marks_reported": flow.sender.marked,
                "received": flow.receiver.pdus, "received_marked": flow.receiver.marks,
                "discarded": flow.receiver.discarded,
            })
        });
        let counts = ipcp.counts();
        json!({
            "name": settings.name, "dif": settings.dif, "address": ipcp.address(),
            "qos": settings.qos.iter().map(|cube| cube.name.as_str()).collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(), "routes": routes.collect::<Vec<_>>(),
            "lower_flows": lower_flows.collect::<Vec<_>>(),
            "applications": applications.collect::<Vec<_>>(), "flows": flows.collect::<Vec<_>>(),
            "in_sync": ipcp.rib().in_sync(),
            "counts": {
                "discarded": counts.discarded, "unauthenticated": counts.unauthenticated, "unreachable": counts.unreachable,
                "looped": counts.looped,
                "route_changes": counts.route_changes, "address_conflicts": counts.address_conflicts,
                "name_conflicts": counts.name_conflicts, "flows_failed": ipcp.flows().failed,
                "flows_allocated": ipcp.flows().allocated, "flows_refused": ipcp.flows().refused,
                "objects_refused": ipcp.rib().refused(),
            },
        })
    };
    Value::Array(ipcps.iter().enumerate().map(one).collect())
}

/// What the agent itself counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentCounts {
    pub not_injected: u64,
    /// PDUs that a flow of a DIF below had no room for: of layer management, and others.
    pub no_room: [u64; 2],
    pub table_writes: u64,
    pub reloads: u64,
}

/// What the agent has published: its IPC processes, where it stands with a switch elsewhere, and counts.
type Published = (Value, Option<Value>, AgentCounts);

/// The last state that the agent published, and the switch.
pub(crate) struct Status {
    /// None if the switch is elsewhere.
    switch: Option<Arc<Switch>>,
    control: Arc<Control>,
    /// Numbers and names of links that are (N-1) flows.
    lower_flows: Vec<(u64, String)>,
    published: Mutex<Arc<Published>>,
}

impl Status {
    pub(crate) fn new(
        switch: Option<Arc<Switch>>,
        control: Arc<Control>,
        lower_flows: Vec<(u64, String)>,
    ) -> Arc<Status> {
        Arc::new(Status { switch, control, lower_flows, published: Mutex::default() })
    }

    /// PDUs that entered and left (N-1) flows, by link.
    fn carried(&self) -> Vec<(&str, u64, u64)> {
        let count = |counter: &str, number: u64| {
            let read = self.control.counter(counter).and_then(|counter| counter.read(number));
            read.map_or(0, |count| count.packets)
        };
        let flows = self.lower_flows.iter();
        flows
            .map(|(n, name)| {
                (name.as_str(), count(border::object::ENCAPSULATED, *n), count(border::object::DECAPSULATED, *n))
            })
            .collect()
    }

    /// Packets that were marked where they left.
    fn marked(&self, port: u32) -> u64 {
        let read = self.control.counter(interior::object::MARKED).and_then(|counter| counter.read(port.into()));
        read.map_or(0, |count| count.packets)
    }

    pub(crate) fn publish(&self, state: Value, elsewhere: Option<Value>, counts: AgentCounts) {
        *self.published.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new((state, elsewhere, counts));
    }

    fn stats(&self) -> SwitchStats {
        self.switch.as_ref().map_or_else(SwitchStats::default, |switch| switch.stats())
    }

    fn last(&self) -> Arc<Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything as JSON.
    pub(crate) fn json(&self) -> Value {
        let last = self.last();
        let stats = self.stats();
        let ports: Vec<Value> = stats
            .ports
            .iter()
            .map(|p| {
                json!({
                    "port": p.name, "rx_packets": p.rx_packets, "rx_bytes": p.rx_bytes, "tx_packets": p.tx_packets,
                    "tx_bytes": p.tx_bytes, "tx_lost": p.tx_lost, "queue_full": p.device.queue_full,
                    "queue_longest": p.device.queue_longest, "marked": self.marked(p.number),
                })
            })
            .collect();
        let lower_flows: Vec<Value> = self
            .carried()
            .into_iter()
            .map(|(link, into, out)| json!({ "link": link, "encapsulated": into, "decapsulated": out }))
            .collect();
        let reasons: serde_json::Map<String, Value> =
            self.reasons().into_iter().map(|(name, count)| (name, count.into())).collect();
        json!({
            "ipcps": last.0, "packets": stats.total.packets, "cpu_queue_lost": stats.total.punt_lost,
            "not_injected": last.2.not_injected, "no_room": { "management": last.2.no_room[0], "data": last.2.no_room[1] },
            "table_writes": last.2.table_writes, "reloads": last.2.reloads,
            "reasons": reasons, "ports": ports,
            "lower_flows": lower_flows, "switch": last.1,
        })
    }

    fn reasons(&self) -> Vec<(String, u64)> {
        let count = |number: u8| {
            let counter = self.control.counter(interior::object::REASONS).ok()?;
            Some(counter.read(number.into()).ok()?.packets)
        };
        program::reasons().map(|(number, name)| (name.to_lowercase(), count(number).unwrap_or_default())).collect()
    }

    fn metrics(&self) -> String {
        let mut page = Text::default();
        let last = self.last();
        let none = Vec::new();
        let ipcps = last.0.as_array().unwrap_or(&none);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let length = |value: &Value| value.as_array().map_or(0, Vec::len);
        page.counter("hopwright_rina_pdus_total", "Frames by what became of them.");
        self.reasons().iter().for_each(|(name, count)| page.sample(&[("reason", name)], count));
        let stats = self.stats();
        page.counter("hopwright_rina_queue_dropped_total", "Packets that found their egress queue full, by port.");
        stats.ports.iter().for_each(|port| page.sample(&[("port", &port.name)], port.device.queue_full));
        page.gauge("hopwright_rina_queue_longest", "Packets in the longest egress queue there was, by port.");
        stats.ports.iter().for_each(|port| page.sample(&[("port", &port.name)], port.device.queue_longest));
        page.counter(
            "hopwright_rina_marked_pdus_total",
            "PDUs and packets that left with a congestion mark of this router, by port.",
        );
        stats.ports.iter().for_each(|port| page.sample(&[("port", &port.name)], self.marked(port.number)));
        page.counter("hopwright_rina_carried_pdus_total", "PDUs that entered and left (N-1) flows.");
        for (link, into, out) in self.carried() {
            page.sample(&[("link", link), ("what", "encapsulated")], into);
            page.sample(&[("link", link), ("what", "decapsulated")], out);
        }
        page.gauge("hopwright_rina_address", "The IPC process's address; 0: not enrolled.");
        for ipcp in ipcps {
            page.sample(&[("dif", &text(&ipcp["dif"])), ("ipcp", &text(&ipcp["name"]))], &ipcp["address"]);
        }
        page.gauge("hopwright_rina_neighbour_up", "Whether the neighbour at a link is up.");
        each_link(ipcps, |labels, link| page.sample(labels, u8::from(!link["neighbour"].is_null())));
        for (name, help, key) in [
            (
                "hopwright_rina_enrolments_refused_total",
                "Enrolments refused for a wrong credential, here or there.",
                "refused",
            ),
            ("hopwright_rina_neighbour_downs_total", "Neighbours that went down.", "downs"),
            ("hopwright_rina_management_discarded_total", "Management SDUs that made no sense.", "discarded"),
        ] {
            page.counter(name, help);
            each_link(ipcps, |labels, link| page.sample(labels, &link[key]));
        }
        for (name, help, key) in [
            ("hopwright_rina_members", "Other members of the DIF that can be reached.", "routes"),
            ("hopwright_rina_applications", "Applications in the directory.", "applications"),
            ("hopwright_rina_flows", "Flows of applications here.", "flows"),
        ] {
            page.gauge(name, help);
            for ipcp in ipcps {
                page.sample(&[("dif", &text(&ipcp["dif"]))], length(&ipcp[key]));
            }
        }
        page.counter("hopwright_rina_events_total", "What the IPC process counts.");
        for ipcp in ipcps {
            for (what, count) in ipcp["counts"].as_object().into_iter().flatten() {
                page.sample(&[("dif", &text(&ipcp["dif"])), ("what", what)], count);
            }
        }
        page.counter("hopwright_rina_not_injected_total", "PDUs of the control plane that the switch did not take.");
        page.sample(&[], last.2.not_injected);
        page.counter("hopwright_rina_no_room_total", "PDUs that found the flow of a DIF below full.");
        for (what, count) in ["management", "data"].iter().zip(&last.2.no_room) {
            page.sample(&[("what", what)], count);
        }
        page.counter("hopwright_rina_table_writes_total", "How often the tables were written.");
        page.sample(&[], last.2.table_writes);
        if let Some(there) = &last.1 {
            page.gauge("hopwright_rina_switch_primary", "Whether this controller is primary at the switch elsewhere.");
            page.sample(&[], u8::from(there["mastership"] == "primary"));
            page.counter(
                "hopwright_rina_switch_updates_total",
                "Updates that the switch elsewhere has made, and refused.",
            );
            for what in ["updates", "refused"] {
                page.sample(&[("what", what)], &there[what]);
            }
            page.counter(
                "hopwright_rina_switch_lost_total",
                "Packets of the switch elsewhere that found the queue full.",
            );
            page.sample(&[], &there["lost"]);
        }
        page.counter("hopwright_rina_reloads_total", "How often the configuration was read again.");
        page.sample(&[], last.2.reloads);
        write_process_metrics(&mut page);
        page.finish()
    }
}

fn each_link(ipcps: &[Value], mut sample: impl FnMut(&[(&str, &str)], &Value)) {
    for ipcp in ipcps {
        for link in ipcp["links"].as_array().into_iter().flatten() {
            let (dif, name) = (ipcp["dif"].as_str().unwrap_or_default(), link["link"].as_str().unwrap_or_default());
            sample(&[("dif", dif), ("link", name)], link);
        }
    }
}

#[derive(Clone)]
struct Source {
    status: Arc<Status>,
    level: Arc<dyn LogLevel>,
}

type Pages = State<Source>;

/// The pages.
pub(crate) fn pages(status: Arc<Status>, level: Arc<dyn LogLevel>) -> Router {
    Router::new()
        .route("/", any(index))
        .route("/status", any(state))
        .route("/metrics", any(metrics))
        .route("/log/level", any(log_level))
        .with_state(Source { status, level })
}

async fn index() -> Html<&'static str> {
    Html(
        "<!DOCTYPE html>\n<title>RINA router</title>\n<h1>RINA router</h1>\n<p><a href=\"status\">status</a>: IPC processes, \
         neighbours, routes, flows</p>\n<p><a href=\"metrics\">metrics</a> for Prometheus</p>\n\
         <p><a href=\"log/level\">log/level</a> (supports PUT)</p>\n",
    )
}

async fn state(State(source): Pages) -> Response {
    let text = serde_json::to_string_pretty(&source.status.json()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response()
}

async fn metrics(State(source): Pages) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], source.status.metrics()).into_response()
}

async fn log_level(State(source): Pages, method: Method, headers: HeaderMap, body: Bytes) -> axum::response::Response {
    log_level_response(&*source.level, &method, &headers, &body)
}
