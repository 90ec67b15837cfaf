//! The page of a switch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hopwright_dataplane::Tenant;
use hopwright_host::http::axum::Router;
use hopwright_host::http::axum::body::Bytes;
use hopwright_host::http::axum::extract::State;
use hopwright_host::http::axum::http::{StatusCode, Uri};
use hopwright_host::http::axum::response::Response;
use hopwright_host::http::axum::routing::{get, post};
use hopwright_p4runtime::Device;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::answer::{Answer, Query, Refusal, parse, respond, work};
use crate::profile::Profile;
use crate::program::{self, Program};
use crate::{Watched, assets, live, tables, trace};

/// Requests at a time that read or write tables, or make graphs.
const MAX_WORKS: usize = 4;
/// The most seconds of a profile.
const LONGEST_PROFILE: u64 = 10;
/// Requests at a time that follow or profile packets: a switch takes samples for four.
const MAX_TRACES: usize = 2;

/// What is kept of a tenant from one request to the next.
#[derive(Default)]
struct Kept {
    program: Option<Arc<Program>>,
    profile: Arc<Profile>,
}

/// A switch and what its page needs.
struct Site {
    watched: Arc<dyn Watched>,
    writable: bool,
    started: Instant,
    kept: Mutex<HashMap<String, Kept>>,
    works: Semaphore,
    traces: Semaphore,
}

/// A tenant that a request is about.
struct Chosen {
    tenant: Arc<Tenant>,
    device: Option<Arc<Device>>,
}

/// The page and its API.
pub(crate) fn pages(watched: Arc<dyn Watched>, writable: bool) -> Router {
    let site = Site {
        watched,
        writable,
        started: Instant::now(),
        kept: Mutex::default(),
        works: Semaphore::new(MAX_WORKS),
        traces: Semaphore::new(MAX_TRACES),
    };
    let api = Router::new()
        .route("/api/about", get(|State(site): State<Arc<Site>>| async move { respond(Ok(site.about())) }))
        .route(
            "/api/live",
            get(|State(site): State<Arc<Site>>, uri: Uri| async move { respond(site.live(&Query::of(&uri))) }),
        )
        .route("/api/program", get(program_of))
        .route("/api/state", get(state_of_router))
        .route("/api/tables", get(list_tables))
        .route("/api/table", get(page_of_table))
        .route("/api/trace", get(follow_packets))
        .route("/api/profile", get(profile_of_tenant))
        .route("/api/write/entry", post(write_entry))
        .with_state(Arc::new(site));
    assets::pages(include_str!("../assets/switch.html")).merge(api)
}

impl Site {
    /// The tenant of a name, or without a name the only one.
    fn tenant(&self, name: &str) -> Result<Chosen, Refusal> {
        let all = self.watched.tenants();
        let only = name.is_empty() && all.len() == 1;
        let found = all.into_iter().find(|(tenant, _)| only || tenant.name() == name);
        let (tenant, device) =
            found.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, format!("there is no tenant `{name}`")))?;
        Ok(Chosen { tenant, device })
    }

    fn device(&self, name: &str) -> Result<Arc<Device>, Refusal> {
        self.tenant(name)?.device.ok_or_else(|| Refusal::bad("the tenant has no device id: its tables are not shown"))
    }

    /// The program that a tenant runs, with its graphs, and the counts of these.
    fn program(&self, tenant: &Tenant) -> (Arc<Program>, Arc<Profile>) {
        let vdp = tenant.vdp();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.entry(tenant.name().to_string()).or_default();
        let known = kept.program.clone().filter(|program| Arc::ptr_eq(&program.vdp, &vdp));
        let program = known.unwrap_or_else(|| {
            let number = kept.program.as_ref().map_or(1, |program| program.number + 1);
            Arc::new(Program::new(number, vdp))
        });
        kept.program = Some(program.clone());
        (program, kept.profile.clone())
    }

    /// What does not change, or seldom.
    fn about(&self) -> Value {
        let all = self.watched.tenants();
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|name, _| all.iter().any(|(t, _)| t.name() == name));
        let tenants = all.iter().map(|(tenant, device)| {
            let vdp = tenant.vdp();
            json!({
                "name": tenant.name(), "program": vdp.pipeline().name, "engine": program::engine(vdp.engine_kind()),
                "device": device.as_ref().map(|device| device.id()),
                "writable": self.writable && device.as_ref().is_some_and(|device| device.is_writable()),
            })
        });
        json!({ "version": env!("CARGO_PKG_VERSION"), "writable": self.writable, "router": self.watched.state().is_some(),
                "tenants": tenants.collect::<Vec<_>>() })
    }

    /// What changes all the time.
    fn live(&self, query: &Query) -> Answer {
        let chosen = self.tenant(query.text("tenant"))?;
        let (program, profile) = self.program(&chosen.tenant);
        let switch = self.watched.switch();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ports: Vec<Value> = chosen.tenant.port_stats().iter().map(live::port).collect();
        let tenants = self.watched.tenants();
        let tenants = tenants.iter().map(|(tenant, _)| {
            let stats = tenant.stats();
            json!({ "name": tenant.name(), "rx_packets": stats.rx_packets, "tx_packets": stats.tx_packets,
                    "rx_bytes": stats.rx_bytes, "tx_bytes": stats.tx_bytes, "busy_ns": stats.busy_ns,
                    "lost": stats.packets_in().saturating_sub(stats.tx_packets + stats.punted) })
        });
        let mut shown = json!({
            "time_ms": now.as_millis() as u64, "uptime_s": self.started.elapsed().as_secs_f64(),
            "switch": live::switch(&switch.stats()), "ports": ports, "program": program.number,
            "tenant": live::tenant(&chosen.tenant.stats(), &program.vdp.pipeline().errors),
            "tenants": tenants.collect::<Vec<_>>(), "stopping": switch.stopping(),
        });
        if query.text("nodes") == "1" {
            shown["nodes"] = profile.look(&chosen.tenant, &program);
        }
        Ok(shown)
    }
}

async fn program_of(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let (query, shared) = (Query::of(&uri), site.clone());
    let answer = work(&site.works, move || {
        let chosen = shared.tenant(query.text("tenant"))?;
        Ok(shared.program(&chosen.tenant).0.json())
    });
    respond(answer.await)
}

async fn state_of_router(State(site): State<Arc<Site>>) -> Response {
    let shared = site.clone();
    let none = || Refusal::new(StatusCode::NOT_FOUND, "the switch has no agent that says something of itself");
    respond(work(&site.works, move || shared.watched.state().ok_or_else(none)).await)
}

async fn list_tables(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let (query, shared) = (Query::of(&uri), site.clone());
    respond(work(&site.works, move || tables::list(&*shared.device(query.text("tenant"))?)).await)
}

async fn page_of_table(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let (query, shared) = (Query::of(&uri), site.clone());
    respond(work(&site.works, move || tables::page(&*shared.device(query.text("tenant"))?, &query)).await)
}

async fn follow_packets(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let (query, shared) = (Query::of(&uri), site.clone());
    respond(work(&site.traces, move || trace::follow(&shared.tenant(query.text("tenant"))?.tenant, &query)).await)
}

async fn profile_of_tenant(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let (query, shared) = (Query::of(&uri), site.clone());
    let answer = work(&site.traces, move || {
        let duration = Duration::from_secs(query.number("seconds", 2)?.clamp(1, LONGEST_PROFILE));
        let tenant = shared.tenant(query.text("tenant"))?.tenant;
        shared.watched.profile(&tenant, duration).map_err(Refusal::bad)
    });
    respond(answer.await)
}

async fn write_entry(State(site): State<Arc<Site>>, body: Bytes) -> Response {
    let shared = site.clone();
    let answer = work(&site.works, move || {
        let request: tables::Write = parse(&body)?;
        let chosen = shared.tenant(&request.tenant)?;
        if shared.program(&chosen.tenant).0.number != request.program {
            return Err(Refusal::new(StatusCode::CONFLICT, "the tenant runs another program now: load the page again"));
        }
        tables::write(&*shared.device(&request.tenant)?, &request)
    });
    respond(answer.await)
}
