//! The queues of the ports of a running switch, whose limits control planes change.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_dataplane::{EgressQueues, Port, QueueLimit, QueueLimits};

/// The last port; the next number is the drop port.
const MAX_PORT: u32 = 510;

/// The limits of the ports' queues.
#[derive(Clone, Default)]
pub(super) struct Queues(Arc<Mutex<Limits>>);

#[derive(Default)]
struct Limits {
    ports: BTreeMap<u32, Arc<QueueLimits>>,
    /// What was set, in this order; it holds for ports that are still to come, too.
    set: Vec<Setting>,
}

/// A limit of the queue of a priority, or of each, of a port, or of all ports.
struct Setting {
    port: Option<u32>,
    priority: Option<u8>,
    limit: QueueLimit,
}

impl Setting {
    /// Whether another setting changes nothing any more, now that this one holds.
    fn replaces(&self, other: &Setting) -> bool {
        let same = discriminant(&self.limit) == discriminant(&other.limit);
        same && (self.port.is_none() || self.port == other.port)
            && (self.priority.is_none() || self.priority == other.priority)
    }
}

#[cfg_attr(not(feature = "thrift"), allow(dead_code))]
impl Queues {
    fn lock(&self) -> MutexGuard<'_, Limits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a port its queues.
    pub(super) fn attach(&self, port: u32, queues: &EgressQueues, ports: Vec<Box<dyn Port>>) -> Vec<Box<dyn Port>> {
        let mut limits = self.lock();
        let own = Arc::new(queues.limits());
        let of_port = limits.set.iter().filter(|setting| setting.port.is_none_or(|other| other == port));
        of_port.for_each(|setting| own.set(setting.priority, setting.limit));
        limits.ports.insert(port, own.clone());
        queues.attach_limited(ports, &own)
    }

    /// Forgets a port.
    pub(super) fn remove(&self, port: u32) {
        self.lock().ports.remove(&port);
    }

    /// Limits the queue of a priority, or each, of a port, or of all ports.
    pub(super) fn limit(&self, port: Option<u32>, priority: Option<u8>, limit: QueueLimit) -> Result<(), String> {
        if let Some(port) = port.filter(|port| *port > MAX_PORT) {
            return Err(format!("there is no port {port}: ports are numbered from 0 to {MAX_PORT}"));
        }
        let mut limits = self.lock();
        let ports = limits.ports.iter().filter(|(other, _)| port.is_none_or(|port| port == **other));
        ports.for_each(|(_, own)| own.set(priority, limit));
        let setting = Setting { port, priority, limit };
        limits.set.retain(|other| !setting.replaces(other));
        limits.set.push(setting);
        Ok(())
    }
}
