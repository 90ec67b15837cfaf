//! Takes next hops out of their groups as soon as a port's device has lost its carrier, whatever else is to be done: a thread of its own,
//! and a lock on the tables that others give back often.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopwright_dataplane::wait::{PollSet, Wakeup};
use hopwright_host::netlink::Netlink;

use crate::fib::Fib;
use crate::threads::Stop;

/// How long whoever is not urgent waits before it looks again.
const GIVE_WAY: Duration = Duration::from_micros(50);

/// The tables, for two threads one of which comes first.
#[derive(Debug)]
pub(crate) struct SharedFib {
    fib: Mutex<Fib>,
    urgent: AtomicBool,
}

impl SharedFib {
    pub(crate) fn new(fib: Fib) -> Arc<SharedFib> {
        Arc::new(SharedFib { fib: Mutex::new(fib), urgent: AtomicBool::new(false) })
    }

    /// The tables, for a short time.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Fib> {
        while self.urgent.load(Acquire) {
            std::thread::sleep(GIVE_WAY);
        }
        self.fib.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, before anybody else.
    fn lock_urgently(&self) -> MutexGuard<'_, Fib> {
        self.urgent.store(true, Release);
        let fib = self.fib.lock().unwrap_or_else(PoisonError::into_inner);
        self.urgent.store(false, Release);
        fib
    }
}

/// Watches the carriers of the ports' devices.
pub(crate) struct Carriers {
    host: Netlink,
    /// Numbers of the ports, by the indices of their devices.
    ports: HashMap<u32, u32>,
    fib: Arc<SharedFib>,
    /// Wakes who follows the kernel.
    mirror: Arc<Wakeup>,
    dark: HashSet<u32>,
}

impl Carriers {
    /// `host`: where the ports' devices are.
    pub(crate) fn new(host: Netlink, ports: HashMap<u32, u32>, fib: Arc<SharedFib>, mirror: Arc<Wakeup>) -> Carriers {
        let mut carriers = Carriers { host, ports, fib, mirror, dark: HashSet::new() };
        carriers.look();
        carriers
    }

    /// Runs until it is stopped.
    pub(crate) fn run(mut self, stop: &Stop) {
        let mut poll = PollSet::new();
        [stop.fd(), self.host.event_fd()].into_iter().for_each(|fd| poll.add(fd));
        while !stop.requested() {
            poll.wait(Duration::from_secs(1));
            if let Err(error) = self.step() {
                tracing::error!(%error, "netlink failed: carriers are noticed late from now on");
                return;
            }
        }
    }

    fn step(&mut self) -> io::Result<()> {
        if self.host.update()?.everything {
            self.look();
        }
        Ok(())
    }

    fn look(&mut self) {
        let running = |device: &u32| self.host.devices().get(device).is_some_and(|device| device.running);
        let dark = self.ports.iter().filter(|(device, _)| !running(device)).map(|(_, port)| *port);
        let dark: HashSet<u32> = dark.collect();
        if dark == self.dark {
            return;
        }
        self.dark.clone_from(&dark);
        if let Err(error) = self.fib.lock_urgently().set_dark(dark) {
            tracing::error!(%error, "next hops of a port without carrier");
        }
        self.mirror.notify();
    }
}
