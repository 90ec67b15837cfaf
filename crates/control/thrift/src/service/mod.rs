//! BMv2's services: each method is arguments, a function of the runtime, and an answer.
//!
//! `Standard` is in `standard`, `SimplePre` and `SimplePreLAG` in `replication`, `SimpleSwitch` in `simple_switch`. A message names the
//! service in front of its method, as Thrift's multiplexed protocol does: `standard:bm_mt_add_entry`.

mod args;
mod replication;
mod simple_switch;
mod standard;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hopwright_control::SharedModel;
use hopwright_dataplane::{Digest, PortSummary, QueueLimit, Tenant};

use crate::failure::{Application, Failure, Result};
use crate::notifications::{self, LearnList, NotificationAddress, Publisher};
use crate::runtime::Runtime;
use crate::wire::{Fields, Kind, Message, Value};
use args::Args;

/// The most digests that are taken before clients are answered again.
const MAX_DIGESTS: usize = 1024;

/// Opens and closes ports of a running switch.
pub trait PortManager: Send {
    /// Opens a network device as a port.
    ///
    /// # Errors
    /// The reason why it cannot be a port, for people.
    fn add(&mut self, number: u32, device: &str) -> std::result::Result<(), String>;

    /// Closes a port.
    ///
    /// # Errors
    /// The reason why it cannot be closed, for people.
    fn remove(&mut self, number: u32) -> std::result::Result<(), String>;

    /// Limits the queue of a v1model `priority`, or each queue, of a port, or of all ports.
    ///
    /// # Errors
    /// The reason why there is no such queue, for people.
    fn limit_queues(
        &mut self,
        port: Option<u32>,
        priority: Option<u8>,
        limit: QueueLimit,
    ) -> std::result::Result<(), String>;
}

/// What clients see of the switch besides its program.
pub(crate) struct Host {
    /// Finds the control model of the program that runs.
    pub(crate) model: Box<dyn Fn() -> SharedModel + Send>,
    /// Whose program it is; `None` in tests, which have no switch.
    pub(crate) tenant: Option<Arc<Tenant>>,
    pub(crate) ports: Option<Box<dyn PortManager>>,
    pub(crate) device_id: u64,
    pub(crate) port: u16,
    pub(crate) notifications: Option<NotificationAddress>,
    pub(crate) started: Instant,
}

impl Host {
    fn port_list(&self) -> Vec<PortSummary> {
        self.tenant.as_ref().map(|tenant| tenant.ports()).unwrap_or_default()
    }
}

/// The services of a switch.
pub(crate) struct Service {
    pub(crate) runtime: Runtime,
    host: Host,
    /// By their ids.
    learning: BTreeMap<i32, LearnList>,
    /// Whether each port was up.
    up: BTreeMap<u32, bool>,
    /// The number of the next message about idle entries.
    aged: u64,
}

/// The answer of a method; `None` if it has no result.
type Answer = Result<Option<Value>>;

impl Service {
    pub(crate) fn new(host: Host) -> Service {
        let runtime = Runtime::new((host.model)());
        Service { runtime, host, learning: BTreeMap::new(), up: BTreeMap::new(), aged: 0 }
    }

    /// Answers a message; `None` if the client expects no answer.
    pub(crate) fn handle(&mut self, message: &Message) -> Option<Message> {
        // Another control plane may have given the switch another program.
        let model = (self.host.model)();
        if !self.runtime.is_of(&model) {
            self.runtime = Runtime::new(model);
        }
        let (service, method) = message.name.split_once(':').unwrap_or(("", &message.name));
        let answer = match message.kind {
            Kind::Call | Kind::OneWay => self.call(service, method, Args(&message.body)),
            Kind::Reply | Kind::Exception => Err(Application::InvalidMessageType.because("only calls are answered")),
        };
        if let Err(failure) = &answer {
            tracing::debug!("{}: {failure}", message.name);
        }
        let (kind, body): (Kind, Fields) = match answer {
            Ok(result) => (Kind::Reply, result.map(|value| (0, value)).into_iter().collect()),
            Err(Failure::Declared { code, .. }) => (Kind::Reply, vec![(1, Value::Struct(vec![(1, Value::I32(code))]))]),
            Err(Failure::Application { kind, reason }) => {
                (Kind::Exception, vec![(1, Value::text(reason)), (2, Value::I32(kind as i32))])
            }
        };
        let answer = Message { name: method.into(), kind, sequence: message.sequence, body };
        (message.kind != Kind::OneWay).then_some(answer)
    }

    fn call(&mut self, service: &str, method: &str, args: Args<'_>) -> Answer {
        match service {
            "standard" => self.standard(method, args),
            "simple_pre" => self.replication(method, args, false),
            "simple_pre_lag" => self.replication(method, args, true),
            "simple_switch" => self.simple_switch(method, args),
            _ => Err(Application::UnknownMethod.because(format!(
                "no service `{service}`: there are standard, simple_pre, simple_pre_lag and simple_switch"
            ))),
        }
    }

    /// Looks which entries were hit, and which ports are up. Tells subscribers, if there are any.
    pub(crate) fn sweep(&mut self, publisher: &Publisher) {
        let told = publisher.has_subscribers();
        let device_id = self.host.device_id;
        for (table, handles) in self.runtime.sweep(told) {
            publisher.send(notifications::aged(device_id, self.aged, table, &handles));
            self.aged += 1;
        }
        let up = |port: PortSummary| (port.number, port.info.up.unwrap_or(true));
        let up: BTreeMap<u32, bool> = self.host.port_list().into_iter().map(up).collect();
        let before = std::mem::replace(&mut self.up, up);
        let changed =
            |(port, up): (&u32, &bool)| before.get(port).is_some_and(|before| before != up).then_some((*port, *up));
        let changed: Vec<(u32, bool)> = self.up.iter().filter_map(changed).collect();
        if told && !changed.is_empty() {
            publisher.send(notifications::ports_changed(device_id, &changed));
        }
    }

    /// Tells subscribers of digests.
    pub(crate) fn learn(&mut self, digests: &mut dyn FnMut() -> Option<Digest>, publisher: &Publisher) {
        let told = publisher.has_subscribers();
        for digest in std::iter::from_fn(digests).take(MAX_DIGESTS) {
            if let Some(list) = self.runtime.learn_list(&digest.name).filter(|_| told) {
                self.learning.entry(list).or_default().add(&digest);
            }
        }
        for (list, learning) in &mut self.learning {
            for (buffer, samples) in learning.take() {
                publisher.send(notifications::learned(self.host.device_id, *list, buffer, &samples));
            }
        }
    }
}

fn unknown_method(method: &str) -> Failure {
    Application::UnknownMethod.because(format!("no method `{method}`"))
}

/// Checks the number of a context. There is one.
fn check_context(args: Args<'_>) -> Result<()> {
    match args.i32(1)? {
        0 => Ok(()),
        other => Err(Application::InternalError.because(format!("there is no context {other}, only 0"))),
    }
}
