//! Bidirectional Forwarding Detection (RFC 5880) on links to other ASes and to sibling routers, as in the reference
//! router: version 1, asynchronous mode, no authentication.
//!
//! - [`packet`]: control packets; [`frame`]: the headers around them.
//! - [`machine`]: the state machine; [`session`]: a session with its timers; [`sessions`]: all sessions of a router.
//! - [`spec`]: the configured sessions.
//!
//! [`Bfd`] runs the sessions on a thread of its own. The thread has queues from and to the data plane that nothing else
//! uses, so neither the agent's work nor a flood of other packets delays BFD.

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

use hopwright_dataplane::wait::{self, PollSet, Wakeup};
use hopwright_dataplane::{CpuQueue, Injector, Tenant, wall_clock_us};

use crate::config::keys::HopKey;
use crate::config::links::Link;
use crate::control::program::PacketIn;
pub use session::{Cause, LinkChange};
use sessions::Sessions;
pub use sessions::{Counts, Route, SavedSession, Status};
pub use spec::{Spec, specs};

/// The maximum number of received packets between two checks of the timers. At a few microseconds each, they take well
/// below a millisecond.
const BURST: usize = 64;
/// The longest sleep of the thread.
const NAP: Duration = Duration::from_secs(1);

/// The running sessions. They end when this value is dropped, without notice to the other ends, as in the reference.
#[derive(Debug)]
pub struct Bfd {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    sessions: Mutex<Sessions>,
    /// Wakes the thread after the sessions have been configured.
    configured: Wakeup,
    /// Wakes the agent after links have changed.
    changed: Wakeup,
    stop: AtomicBool,
}

impl Shared {
    /// Locks the sessions. The thread and callers hold the lock for microseconds; the data path never takes it.
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bfd {
    /// Creates a value without sessions and thread, for a router whose slow path is another router.
    pub fn idle(key: HopKey) -> io::Result<Bfd> {
        let shared = Arc::new(Shared {
            sessions: Mutex::new(Sessions::new(key, random)),
            configured: Wakeup::new()?,
            changed: Wakeup::new()?,
            stop: AtomicBool::new(false),
        });
        Ok(Bfd { shared, thread: None })
    }

    /// Creates sessions, which [`Bfd::start`] starts. Their routes are not known yet.
    pub fn new(specs: Vec<Spec>, key: HopKey) -> io::Result<Bfd> {
        let bfd = Bfd::idle(key)?;
        bfd.shared.sessions().configure(specs, Instant::now());
        Ok(bfd)
    }

    /// Starts the sessions on a tenant that runs the program.
    pub fn start(&mut self, tenant: &Tenant) -> io::Result<()> {
        let (queue, injector) = (tenant.urgent_cpu(), tenant.urgent_injector());
        let its = self.shared.clone();
        its.stop.store(false, Ordering::Release);
        let thread = std::thread::Builder::new().name("bfd".into()).spawn(move || work(&its, &queue, &injector))?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Stops the sessions, without notice to the other ends. They can be started again.
    pub fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.configured.notify();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported by the panic hook.
            let _ = thread.join();
        }
    }

    /// Sends a packet of each session, before a silence. To be called while they are stopped.
    pub fn announce(&self, tenant: &Tenant) {
        let mut sessions = self.shared.sessions();
        let now = Instant::now();
        sessions.announce(now);
        run(&mut sessions, now, &tenant.urgent_injector());
    }

    /// The shortest time after which another end takes this router for dead.
    pub fn patience(&self) -> Option<Duration> {
        self.shared.sessions().patience()
    }

    /// The sessions, for a process that continues them.
    pub fn saved(&self) -> Vec<SavedSession> {
        self.shared.sessions().saved()
    }

    /// Continues sessions of another process; see [`Sessions::resume`].
    pub fn resume(&self, saved: &[SavedSession]) {
        self.shared.sessions().resume(saved, Instant::now());
        self.shared.configured.notify();
    }

    /// Changes the set of sessions ([`Sessions::configure`]). Sessions of unchanged links continue. The caller sets the
    /// routes of new links afterwards.
    pub fn configure(&self, specs: Vec<Spec>) {
        self.shared.sessions().configure(specs, Instant::now());
        self.shared.configured.notify();
    }

    /// Sets the key for hop-field MACs.
    pub fn set_key(&self, key: HopKey) {
        self.shared.sessions().set_key(key);
    }

    /// Sets the route to a link's other end; `None` if its next hop is not resolved.
    pub fn set_route(&self, link: Link, route: Option<Route>) {
        self.shared.sessions().set_route(link, route);
    }

    /// Whether a link can be used: its session is up, or it has none.
    pub fn is_up(&self, link: Link) -> bool {
        self.shared.sessions().is_up(link)
    }

    /// A descriptor that is readable when [`Bfd::take_changes`] has changes.
    pub fn changes_fd(&self) -> RawFd {
        self.shared.changed.as_raw_fd()
    }

    /// Returns the links that went up or down since the last call, oldest first.
    pub fn take_changes(&self) -> Vec<(Link, LinkChange)> {
        self.shared.changed.clear();
        self.shared.sessions().take_changes()
    }

    /// The status of all sessions.
    pub fn status(&self) -> Vec<Status> {
        self.shared.sessions().status()
    }

    /// Counts of BFD packets that belonged to no session, by ingress interface; 0 is the inside of the AS.
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
        self.stop();
    }
}

/// The body of the thread.
fn work(shared: &Shared, queue: &CpuQueue, injector: &Injector) {
    // Other ends count milliseconds, also on a busy machine.
    wait::shorten_slice();
    let mut more = false;
    while !shared.stop.load(Ordering::Acquire) {
        if !more {
            let deadline = shared.sessions().deadline();
            let left = deadline.map_or(NAP, |at| at.saturating_duration_since(Instant::now()).min(NAP));
            let mut poll = PollSet::new();
            poll.add(queue.fd().as_raw_fd());
            poll.add(shared.configured.as_raw_fd());
            // Round up to whole milliseconds, so as not to wake up repeatedly just before the deadline.
            poll.wait(left + Duration::from_micros(999));
            shared.configured.clear();
            queue.clear_wakeup();
        }
        let mut sessions = shared.sessions();
        let now = Instant::now();
        more = false;
        // Process received packets before timers, so that a delay here does not look like silence.
        for taken in 1..=BURST {
            let Some(bytes) = queue.try_receive() else { break };
            if let Some((header, frame)) = PacketIn::split(&bytes) {
                sessions.receive(header.port, header.ingress, frame, now);
            }
            more = taken == BURST;
        }
        run(&mut sessions, now, injector);
        if sessions.has_changes() {
            shared.changed.notify();
        }
    }
}

/// Runs the timers that are due.
fn run(sessions: &mut Sessions, now: Instant, injector: &Injector) {
    let clock = u32::try_from(wall_clock_us() / 1_000_000).unwrap_or(u32::MAX);
    sessions.run(now, clock, |port, frame| injector.transmit(port.into(), frame).is_ok());
}

/// Returns random bits from the system. If it has none, which does not happen after boot, they come from the standard
/// library's hash seed.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(Instant::now()))
}
