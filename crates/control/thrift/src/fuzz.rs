//! Any bytes as what a client sends.

use std::sync::Arc;
use std::time::Instant;

use hopwright_control::SharedModel;
use hopwright_dataplane::{EngineKind, VirtualDataPlane};
use hopwright_ir::Pipeline;

use crate::service::{Host, Service};
use crate::wire::{self, Kind};

/// A program without a switch.
pub struct Client {
    service: Service,
}

/// What became of the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Calls that were answered.
    pub calls: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Entries that there were at the end.
    pub entries: u64,
}

impl Client {
    /// A client of this program.
    ///
    /// # Panics
    /// If the program does not run.
    pub fn new(pipeline: Arc<Pipeline>) -> Client {
        let vdp = VirtualDataPlane::new(pipeline, EngineKind::Interp).expect("the program runs");
        let model = SharedModel::of(vdp);
        let model = Box::new(move || model.clone());
        let host = Host {
            model,
            tenant: None,
            ports: None,
            device_id: 0,
            port: 0,
            notifications: None,
            started: Instant::now(),
        };
        Client { service: Service::new(host) }
    }

    /// Messages one behind the other. All answers are well formed, and nothing is left when the state is reset.
    ///
    /// # Panics
    /// If that is not so.
    pub fn messages(&mut self, data: &[u8]) -> Outcome {
        let mut heard = Outcome::default();
        let mut rest = data;
        while let Ok(Some((message, length))) = wire::decode(rest) {
            rest = &rest[length..];
            let Some(answer) = self.service.handle(&message) else { continue };
            let bytes = answer.encode();
            let (again, read) = wire::decode(&bytes).expect("an answer is read").expect("an answer is complete");
            assert_eq!((again.name, again.kind, read), (answer.name, answer.kind, bytes.len()));
            heard.calls += 1;
            let refused = answer.kind == Kind::Exception || answer.body.iter().any(|(id, _)| *id == 1);
            heard.refused += u64::from(refused);
        }
        let runtime = &mut self.service.runtime;
        let tables: Vec<String> = runtime.pipeline().tables.iter().map(|table| table.name.clone()).collect();
        heard.entries = tables.iter().map(|table| runtime.num_entries(table).unwrap_or(0) as u64).sum();
        self.service.runtime.reset().expect("the state is reset");
        heard
    }
}
