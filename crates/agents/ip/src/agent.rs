//! Starts and stops the agent.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use hopwright_agent::{Environment, Succession};
use hopwright_dataplane::{Tenant, wait};
use hopwright_host::namespace::Namespace;
use hopwright_host::netlink::Netlink;

use crate::carrier::{Carriers, SharedFib};
use crate::config::Config;
use crate::fib::Fib;
use crate::mirror::Mirror;
use crate::policy::Sources;
use crate::ports;
use crate::program::{self, Program};
use crate::punt::{Exchange, Punting};
use crate::show::{self, Asker};
use crate::threads::{Counters, Error, Stop};

/// Files that make a namespace's kernel a router.
const FORWARDING: [&str; 2] = ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"];

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
    /// Routes that the tables had no room for. Packets that they may concern are the kernel's until there is room.
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

/// A running agent. It stops when it is dropped. Namespace, TAP devices and table entries stay: forwarding goes on.
pub struct Agent {
    stop: Arc<Stop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    counters: Arc<Counters>,
    tenant: Arc<Tenant>,
    punting: Arc<Punting>,
    /// Names of TAP devices by port.
    names: BTreeMap<u32, String>,
    namespace: String,
    asker: Arc<Asker>,
}

/// Makes a namespace's kernel a router.
fn make_router(namespace: &Namespace, inside: &mut Netlink) -> Result<(), Error> {
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
    loopback.map_or(Ok(()), |index| inside.set_up_device(index, None, None)).map_err(Error::Netlink)
}

impl Agent {
    /// Makes a network namespace the control plane of a tenant, or goes on with one that another process has. The tenant needs both CPU
    /// ports of [`crate::program`]. Needs CAP_SYS_ADMIN, CAP_NET_ADMIN and, to make a namespace, root.
    ///
    /// # Errors
    /// If the program is not one that the agent can drive, a device is not there, or namespace and TAP devices cannot be
    /// made.
    pub fn start(environment: &Environment<'_>, config: &Config) -> Result<Agent, Error> {
        let Environment { tenant, devices, inherited, lasting, .. } = *environment;
        let program = Program::new(&tenant.vdp())?;
        let host = Netlink::open().map_err(Error::Netlink)?;
        let namespace = Namespace::open_or_create(&config.namespace)?;
        let mut inside = namespace.run(Netlink::following_routes)?.map_err(Error::Netlink)?;
        if inherited.is_none() {
            make_router(&namespace, &mut inside)?;
        }
        let others = inherited.unwrap_or(lasting);
        let (taps, ports) = ports::open(devices, config, &namespace, &host, &mut inside, others)?;
        let counters = Arc::new(Counters::default());
        let stop = Arc::new(Stop::new().map_err(Error::Thread)?);
        let fib = SharedFib::new(Fib::new(program, counters.clone())?);
        let exchange = Exchange::new(tenant, taps, counters.clone());
        let punting = Arc::new(Punting::new(exchange, inherited.is_some()).map_err(Error::Thread)?);
        let name = |port: &ports::Port| Some((port.number, inside.devices().get(&port.tap)?.name.clone()));
        let names = ports.iter().filter_map(name).collect();
        let sources = Sources::open(namespace)?;
        let (asker, requests) = show::channel().map_err(Error::Thread)?;
        let asked = asker.wakeup();
        let of_devices = ports.iter().map(|port| (port.device, port.number)).collect();
        let mut mirror = Mirror::new(host, inside, sources, ports, fib.clone(), counters.clone(), requests);
        mirror.begin()?;
        let carriers = Carriers::new(Netlink::open().map_err(Error::Netlink)?, of_devices, fib, asked.clone());
        let agent = Agent {
            stop: stop.clone(),
            threads: Mutex::default(),
            counters,
            tenant: tenant.clone(),
            punting: punting.clone(),
            names,
            namespace: config.namespace.clone(),
            asker: Arc::new(asker),
        };
        let [with_punting, watching] = [stop.clone(), stop.clone()];
        agent.spawn("ip-carrier", move || carriers.run(&watching))?;
        agent.spawn("ip-punt", move || punting.run(&with_punting))?;
        agent.spawn("ip-mirror", move || mirror.run(&stop, &asked))?;
        if inherited.is_none() {
            agent.answer_questions();
        }
        tracing::info!("routing; namespace {} is the control plane", config.namespace);
        Ok(agent)
    }

    /// Has `hopwright ip show` ask this router.
    fn answer_questions(&self) {
        let (asker, stop) = (self.asker.clone(), self.stop.clone());
        let served = show::Server::bind(&self.namespace)
            .map_err(Error::Thread)
            .and_then(|server| self.spawn("ip-show", move || server.run(&asker, &stop)));
        if let Err(error) = served {
            tracing::warn!(%error, "`hopwright ip show` cannot ask this router");
        }
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let work = || {
            wait::give_way();
            work();
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(work).map_err(Error::Thread)?;
        self.threads().push(thread);
        Ok(())
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread of the agent has ended by itself, because netlink failed.
    pub fn failed(&self) -> bool {
        self.threads().iter().any(JoinHandle::is_finished)
    }

    /// What has become of packets: how many there were of each of the program's reasons.
    pub(crate) fn reasons(&self) -> Vec<(String, u64)> {
        program::reason_counts(self.tenant.vdp().control())
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
        for thread in self.threads().drain(..) {
            let _ = thread.join();
        }
    }
}

/// Namespace, routes and neighbours are the kernel's: a process that takes over reads them there. It gets the TAP devices.
impl Succession for Agent {
    fn descriptors(&self) -> io::Result<Vec<(String, OwnedFd)>> {
        let named = |(port, tap)| Some((ports::descriptor(self.names.get(&port)?), tap));
        Ok(self.punting.share()?.into_iter().filter_map(named).collect())
    }

    /// TAP devices keep their carrier, so that the namespace's routes and sessions survive a crash.
    fn lasts(&self, name: &str) -> bool {
        ports::is_descriptor(name)
    }

    fn pause(&self) {
        self.punting.pause();
    }

    fn finish(&self) -> bool {
        self.punting.finish()
    }

    fn go_on(&self) {
        self.punting.go_on();
    }

    fn leave(&self) -> Vec<u8> {
        self.punting.leave();
        Vec::new()
    }

    fn begin(&self) {
        self.punting.go_on();
    }

    fn predecessor_has_gone(&self, _: &[u8]) {
        self.answer_questions();
    }
}
