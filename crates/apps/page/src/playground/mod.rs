//! A playground: somebody types a program, entries and packets, and sees errors, graphs, traces, what each engine makes of the packets, and
//! generated code.
//!
//! A program may be hostile: it is compiled and run by a process of its own ([`work`]), which has limits of time and memory, reads no file,
//! and gets nothing but the request. A bounded number of them runs at a time.

mod job;
mod process;

use std::sync::Arc;

use hopwright_host::http::axum::Router;
use hopwright_host::http::axum::body::Bytes;
use hopwright_host::http::axum::extract::State;
use hopwright_host::http::axum::response::Response;
use hopwright_host::http::axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::answer::{respond, work as in_background};
use crate::assets;

pub use job::{Block, Listing, Request, run};
pub use process::{Worker, work};

/// Jobs at a time.
const MAX_JOBS: usize = 2;

/// Name, program, entries and packets.
const EXAMPLES: [(&str, &str, &str, &str); 3] = [
    (
        "IPv4 router",
        include_str!("../../assets/examples/router.p4"),
        include_str!("../../assets/examples/router.entries"),
        include_str!("../../assets/examples/router.packets"),
    ),
    (
        "Layer-2 switch",
        include_str!("../../assets/examples/switch.p4"),
        include_str!("../../assets/examples/switch.entries"),
        include_str!("../../assets/examples/switch.packets"),
    ),
    (
        "Access list with counters",
        include_str!("../../assets/examples/acl.p4"),
        include_str!("../../assets/examples/acl.entries"),
        include_str!("../../assets/examples/acl.packets"),
    ),
];

struct Site {
    worker: Worker,
    jobs: Semaphore,
}

/// The playground and its API.
pub(crate) fn pages(worker: Worker) -> Router {
    let examples = EXAMPLES.map(|(name, program, entries, packets)| {
        json!({ "name": name, "program": program, "entries": entries, "packets": packets })
    });
    let about: Value =
        json!({ "version": env!("CARGO_PKG_VERSION"), "listings": worker.listings, "examples": examples });
    let site = Arc::new(Site { worker, jobs: Semaphore::new(MAX_JOBS) });
    let api = Router::new()
        .route("/api/about", get(move || std::future::ready(respond(Ok(about.clone())))))
        .route("/api/run", post(run_job))
        .with_state(site);
    assets::pages(include_str!("../../assets/playground.html")).merge(api)
}

async fn run_job(State(site): State<Arc<Site>>, body: Bytes) -> Response {
    let worker = site.worker.clone();
    respond(in_background(&site.jobs, move || worker.run(&body)).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_passes_the_examples() {
        for (name, program, entries, packets) in EXAMPLES {
            let request = Request {
                program: program.into(),
                entries: entries.into(),
                packets: packets.into(),
                listing: String::new(),
            };
            let result = run(&request, &[]);
            assert_eq!((&result["diagnostics"], &result["problems"]), (&json!([]), &Value::Null), "{name}");
            let engines = result["engines"].as_array().unwrap();
            assert_eq!(engines.len(), 3);
            for engine in engines {
                assert_eq!(engine["failures"], json!([]), "{name}: {engine}");
                assert!(engine["expected"].as_u64().unwrap() > 1, "{name}: {engine}");
                assert_eq!(engine["packets"], engines[0]["packets"], "{name}");
            }
            assert_eq!(result["packets"].as_array().unwrap().len(), engines[0]["packets"].as_array().unwrap().len());
        }
    }
}
