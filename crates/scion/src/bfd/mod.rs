//! Bidirectional Forwarding Detection (RFC 5880) on the links to other ASes and to sibling routers, as the reference
//! does it: version 1, asynchronous mode, no authentication.
//!
//! - [`packet`]: the control packet; [`frame`]: the headers around it.
//! - [`machine`]: the state machine; [`session`]: adds timers; [`sessions`]: all sessions of a router.
//! - [`spec`]: the configured sessions.
//!
//! [`Bfd`] runs the sessions on a thread of its own. The thread has queues from and to the data plane that nothing else
//! uses, so that neither the agent's work nor a flood of other packets delays BFD.

pub mod frame;
pub mod machine;
pub mod packet;
pub mod session;
pub mod sessions;
pub mod spec;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::{PollSet, Wakeup};
use hopwright_dataplane::{CpuQueue, Injector, Tenant, wall_clock_us};

use crate::config::keys::HopKey;
use crate::control::program::PacketIn;
pub use session::LinkChange;
use sessions::Sessions;
pub use sessions::{Counts, Route, Status};
pub use spec::{Link, Spec, specs};

/// Received packets between two looks at the timers: at a few microseconds each, well below a millisecond.
const BURST: usize = 64;
/// Longest sleep.
const NAP: Duration = Duration::from_secs(1);

/// The running sessions. They end when this is dropped, without notice to the other ends, as in the reference.
#[derive(Debug)]
pub struct Bfd {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    sessions: Mutex<Sessions>,
    /// Wakes the thread: the sessions have changed.
    configured: Wakeup,
    /// Wakes the agent: links have changed.
    changed: Wakeup,
    stop: AtomicBool,
}

impl Shared {
    /// Held for microseconds at a time by the thread and by callers; the data path never takes it.
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bfd {
    /// No sessions and no thread, for a router whose BFD another router does.
    pub fn idle(key: HopKey) -> io::Result<Bfd> {
        let shared = Arc::new(Shared {
            sessions: Mutex::new(Sessions::new(key, random)),
            configured: Wakeup::new()?,
            changed: Wakeup::new()?,
            stop: AtomicBool::new(false),
        });
        Ok(Bfd { shared, thread: None })
    }

    /// Starts the sessions of a tenant that runs the program. Their next hops are not known yet.
    pub fn start(specs: Vec<Spec>, key: HopKey, tenant: &Tenant) -> io::Result<Bfd> {
        let mut bfd = Bfd::idle(key)?;
        bfd.shared.sessions().configure(specs, Instant::now());
        let (queue, injector) = (tenant.urgent_cpu(), tenant.urgent_injector());
        let its = bfd.shared.clone();
        let thread = std::thread::Builder::new().name("bfd".into()).spawn(move || work(&its, &queue, &injector))?;
        bfd.thread = Some(thread);
        Ok(bfd)
    }

    /// Makes the sessions those that are wanted ([`Sessions::configure`]): those of unchanged links go on. Set the
    /// routes of new links afterwards.
    pub fn configure(&self, specs: Vec<Spec>) {
        self.shared.sessions().configure(specs, Instant::now());
        self.shared.configured.notify();
    }

    /// Sets the key that signs hop fields.
    pub fn set_key(&self, key: HopKey) {
        self.shared.sessions().set_key(key);
    }

    /// Sets the route of a link's packets; `None`: the next hop is not known.
    pub fn set_route(&self, link: Link, route: Option<Route>) {
        self.shared.sessions().set_route(link, route);
    }

    /// Whether a link can be used: its session is up, or it has none.
    pub fn is_up(&self, link: Link) -> bool {
        self.shared.sessions().is_up(link)
    }

    /// Readable when [`Bfd::take_changes`] has changes.
    pub fn changes_fd(&self) -> RawFd {
        self.shared.changed.as_raw_fd()
    }

    /// Links that went up or down since the last call, oldest first.
    pub fn take_changes(&self) -> Vec<(Link, LinkChange)> {
        self.shared.changed.clear();
        self.shared.sessions().take_changes()
    }

    /// All sessions as they are.
    pub fn status(&self) -> Vec<Status> {
        self.shared.sessions().status()
    }

    /// BFD packets that belonged to no session, by the interface they came by; 0: from inside the AS.
    pub fn strays(&self) -> BTreeMap<u16, u64> {
        self.shared.sessions().strays().clone()
    }

    /// Whether the thread has ended unexpectedly.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Bfd {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.configured.notify();
        if let Some(thread) = self.thread.take() {
            // If it panicked that has been said.
            let _ = thread.join();
        }
    }
}

/// The thread.
fn work(shared: &Shared, queue: &CpuQueue, injector: &Injector) {
    let mut more = false;
    while !shared.stop.load(Ordering::Acquire) {
        if !more {
            let deadline = shared.sessions().deadline();
            let left = deadline.map_or(NAP, |at| at.saturating_duration_since(Instant::now()).min(NAP));
            let mut poll = PollSet::new();
            poll.add(queue.fd().as_raw_fd());
            poll.add(shared.configured.as_raw_fd());
            // Whole milliseconds, rounded up: not to look too early again and again.
            poll.wait(left + Duration::from_micros(999));
            shared.configured.clear();
            queue.clear_wakeup();
        }
        let mut sessions = shared.sessions();
        let now = Instant::now();
        more = false;
        // What has come is heard before silence is judged.
        for taken in 1..=BURST {
            let Some(bytes) = queue.try_receive() else { break };
            if let Some((header, frame)) = PacketIn::split(&bytes) {
                sessions.receive(header.port, header.ingress, frame, now);
            }
            more = taken == BURST;
        }
        let clock = u32::try_from(wall_clock_us() / 1_000_000).unwrap_or(u32::MAX);
        sessions.run(now, clock, |port, frame| injector.transmit(port.into(), frame).is_ok());
        if sessions.has_changes() {
            shared.changed.notify();
        }
    }
}

/// From the system; without it, which does not happen after boot, what the standard library has for hash tables.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(Instant::now()))
}
