//! Starts and stops the agent.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;

use hopwright_dataplane::wait::{self, Wakeup};
use hopwright_dataplane::{ControlError, Tenant};
use hopwright_host::metrics::Text;
use hopwright_host::namespace::{Namespace, NamespaceError};
use hopwright_host::netlink::Netlink;
use hopwright_ports::DeviceError;

use crate::carrier::{Carriers, SharedFib};
use crate::config::Config;
use crate::fib::Fib;
use crate::mirror::Mirror;
use crate::policy::Sources;
use crate::ports;
use crate::program::{Program, ProgramError};
use crate::punt::Exchange;
use crate::show;

/// Files that make a namespace's kernel a router.
const FORWARDING: [&str; 2] = ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"];

/// Why the agent does not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("the program's tables: {0}")]
    Tables(#[from] ControlError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("there is no device {0}")]
    UnknownDevice(String),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("TAP device: {0}")]
    Tap(#[source] io::Error),
    #[error("netlink: {0}")]
    Netlink(#[source] io::Error),
    #[error("no thread: {0}")]
    Thread(#[source] io::Error),
}

/// Tells threads to stop.
pub(crate) struct Stop {
    requested: AtomicBool,
    wakeup: Wakeup,
}

impl Stop {
    fn new() -> io::Result<Stop> {
        Ok(Stop { requested: AtomicBool::new(false), wakeup: Wakeup::new()? })
    }

    pub(crate) fn requested(&self) -> bool {
        self.requested.load(Acquire)
    }

    /// Readable from then on.
    pub(crate) fn fd(&self) -> RawFd {
        self.wakeup.as_raw_fd()
    }

    fn request(&self) {
        self.requested.store(true, Release);
        self.wakeup.notify();
    }
}

/// What the threads count.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub to_kernel: AtomicU64,
    pub to_kernel_lost: AtomicU64,
    pub from_kernel: AtomicU64,
    pub from_kernel_lost: AtomicU64,
    pub routes: AtomicU64,
    pub next_hops: AtomicU64,
    pub groups: AtomicU64,
    pub changes: AtomicU64,
    pub refused: AtomicU64,
    pub reloads: AtomicU64,
    pub overruns: AtomicU64,
    pub undecoded: AtomicU64,
    pub probes: AtomicU64,
    pub punted: AtomicU64,
}

/// The agent's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Punted packets that the kernel got.
    pub to_kernel: u64,
    /// Punted packets that it did not get, because the TAP device was down or gone.
    pub to_kernel_lost: u64,
    /// Packets of the kernel that were sent.
    pub from_kernel: u64,
    /// Packets of the kernel that the switch did not take.
    pub from_kernel_lost: u64,
    /// Route entries there are, host routes of neighbours included.
    pub routes: u64,
    /// Next hops there are.
    pub next_hops: u64,
    /// Groups of equal-cost next hops there are.
    pub groups: u64,
    /// Route entries added, changed and removed since the start.
    pub changes: u64,
    /// Route entries that the tables had no room for; their packets take a shorter prefix's route.
    pub refused: u64,
    /// How often all routes were read anew.
    pub reloads: u64,
    /// How often the kernel had no room for notifications. Everything is read anew then.
    pub overruns: u64,
    /// Messages of the kernel that could not be decoded.
    pub undecoded: u64,
    /// How often the kernel was asked to confirm or resolve a neighbour.
    pub probes: u64,
    /// Reasons there are at present to leave packets to the kernel: `hopwright ip show` names them.
    pub punted: u64,
}

/// A running agent. It stops when it is dropped; the tables stay as they are.
pub struct Agent {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Agent {
    /// Makes a network namespace the control plane of a tenant. `devices` are the names of its ports' devices by their
    /// numbers in the program. The tenant needs both CPU ports of [`crate::program`]. Needs CAP_SYS_ADMIN, CAP_NET_ADMIN
    /// and, to make a namespace, root.
    ///
    /// # Errors
    /// If the program is not one that the agent can drive, a device is not there, or namespace and TAP devices cannot be
    /// made.
    pub fn start(tenant: &Arc<Tenant>, devices: &BTreeMap<u32, String>, config: &Config) -> Result<Agent, Error> {
        let program = Program::new(&tenant.vdp())?;
        let host = Netlink::open().map_err(Error::Netlink)?;
        let namespace = Namespace::open_or_create(&config.namespace)?;
        let mut inside = namespace.run(Netlink::following_routes)?.map_err(Error::Netlink)?;
        namespace.run(|| {
            for file in FORWARDING {
                if let Err(error) = std::fs::write(file, "1") {
                    tracing::warn!(
                        namespace = namespace.name(),
                        "{file}: {error}: the kernel does not forward what is punted"
                    );
                }
            }
        })?;
        let loopback = inside.devices().values().find(|device| device.loopback).map(|device| device.index);
        if let Some(index) = loopback {
            inside.set_up_device(index, None, None).map_err(Error::Netlink)?;
        }
        let (taps, ports) = ports::open(devices, config, &namespace, &host, &mut inside)?;
        let counters = Arc::new(Counters::default());
        let stop = Arc::new(Stop::new().map_err(Error::Thread)?);
        let fib = SharedFib::new(Fib::new(program, counters.clone())?);
        let mut agent = Agent { stop: stop.clone(), threads: Vec::new(), counters: counters.clone() };
        let exchange = Exchange::new(tenant, taps, counters.clone());
        let of_port = |port: &ports::Port| {
            let name = inside.devices().get(&port.tap).map_or_else(String::new, |device| device.name.clone());
            (port.number, port.tap, name)
        };
        let of_ports: Vec<_> = ports.iter().map(of_port).collect();
        let sources = Sources::open(namespace, &of_ports)?;
        let (asker, requests) = show::channel().map_err(Error::Thread)?;
        let asked = asker.wakeup();
        let of_devices = ports.iter().map(|port| (port.device, port.tap)).collect();
        let mut mirror = Mirror::new(host, inside, sources, ports, fib.clone(), counters, requests);
        mirror.begin()?;
        let carriers = Carriers::new(Netlink::open().map_err(Error::Netlink)?, of_devices, fib, asked.clone());
        let [punting, watching, showing] = [stop.clone(), stop.clone(), stop.clone()];
        agent.spawn("ip-carrier", move || carriers.run(&watching))?;
        agent.spawn("ip-punt", move || exchange.run(&punting))?;
        agent.spawn("ip-mirror", move || mirror.run(&stop, &asked))?;
        match show::Server::bind(&config.namespace) {
            Ok(server) => agent.spawn("ip-show", move || server.run(&asker, &showing))?,
            Err(error) => tracing::warn!(%error, "`hopwright ip show` cannot ask this router"),
        }
        Ok(agent)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let work = || {
            wait::give_way();
            work();
        };
        self.threads.push(std::thread::Builder::new().name(name.into()).spawn(work).map_err(Error::Thread)?);
        Ok(())
    }

    /// Stops. Namespace, TAP devices and table entries stay: forwarding goes on.
    pub fn stop(self) {}

    /// Whether a thread of the agent has ended by itself, because netlink failed.
    pub fn failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// The counts now.
    pub fn counts(&self) -> Counts {
        let c = &self.counters;
        Counts {
            to_kernel: c.to_kernel.load(Relaxed),
            to_kernel_lost: c.to_kernel_lost.load(Relaxed),
            from_kernel: c.from_kernel.load(Relaxed),
            from_kernel_lost: c.from_kernel_lost.load(Relaxed),
            routes: c.routes.load(Relaxed),
            next_hops: c.next_hops.load(Relaxed),
            groups: c.groups.load(Relaxed),
            changes: c.changes.load(Relaxed),
            refused: c.refused.load(Relaxed),
            reloads: c.reloads.load(Relaxed),
            overruns: c.overruns.load(Relaxed),
            undecoded: c.undecoded.load(Relaxed),
            probes: c.probes.load(Relaxed),
            punted: c.punted.load(Relaxed),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stop.request();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Counts {
    /// Adds the counts to a page of metrics, with these labels.
    pub fn write_to(&self, page: &mut Text, tenant: &str) {
        let packets = [
            ("to_kernel", self.to_kernel),
            ("to_kernel_lost", self.to_kernel_lost),
            ("from_kernel", self.from_kernel),
            ("from_kernel_lost", self.from_kernel_lost),
        ];
        page.counter("hopwright_ip_packets_total", "Packets between fast path and kernel.");
        packets.iter().for_each(|(what, n)| page.sample(&[("tenant", tenant), ("what", what)], n));
        let entries = [("routes", self.routes), ("next_hops", self.next_hops), ("groups", self.groups)];
        page.gauge("hopwright_ip_entries", "Entries of the fast path's tables.");
        entries.iter().for_each(|(table, n)| page.sample(&[("tenant", tenant), ("table", table)], n));
        page.gauge("hopwright_ip_left_to_kernel", "Reasons to leave packets to the kernel.");
        page.sample(&[("tenant", tenant)], self.punted);
        let work = [
            ("route_changes", self.changes),
            ("routes_refused", self.refused),
            ("route_reloads", self.reloads),
            ("notifications_lost", self.overruns),
            ("undecoded", self.undecoded),
            ("neighbour_probes", self.probes),
        ];
        page.counter("hopwright_ip_events_total", "What following the kernel has taken.");
        work.iter().for_each(|(what, n)| page.sample(&[("tenant", tenant), ("what", what)], n));
    }
}
