//! The agent: a thread that connects to controllers, serves those that connect, and hands packets to them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_agent::{Environment, Inheritance};
use hopwright_dataplane::{PortStats, Switch as Dataplane, Tenant, TenantPorts, wait};
use hopwright_host::netlink::Netlink;
use rustls_pki_types::ServerName;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::codec::reply::PortDescription;
use crate::config::{Config, FailMode, Listen, Target};
use crate::connection::{self, Shared};
use crate::counters::Counters;
use crate::datapath::Datapath;
use crate::error::Error;
use crate::phase::{Gate, Phase};
use crate::program::CPU_PORT;
use crate::saved::StateError;
use crate::switch::Switch;
use crate::tls::{self, Encryption};
use crate::wakeup;

/// Ports of the program that are none of the switch's.
const RESERVED: std::ops::RangeInclusive<u32> = 508..=511;
/// Time between two looks at timeouts and ports.
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two looks at ports.
const PORT_TICKS: u32 = 4;
/// Controllers that may be connected by one listening address.
const LISTENED: usize = 16;
/// How long setting up a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Packets taken from the CPU queue before others get their turn.
const PACKETS: usize = 64;

/// What jobs work with.
pub(crate) struct Work {
    pub switch: Rc<RefCell<Switch>>,
    pub tenant: Arc<Tenant>,
    pub phase: watch::Sender<Phase>,
}

/// Something that the agent's thread is to do.
type Job = Box<dyn FnOnce(&Work) + Send>;

/// The control plane of a tenant that runs `p4/router/openflow.p4`. It stops when it is dropped.
#[derive(Debug)]
pub struct Agent {
    stop: watch::Sender<bool>,
    counters: Arc<Mutex<Counters>>,
    thread: Option<JoinHandle<()>>,
    /// What the thread is to do.
    jobs: mpsc::UnboundedSender<Job>,
    /// The sockets that controllers connect to, by names for a process that takes over.
    pub(crate) listeners: Vec<(String, OwnedFd)>,
}

impl Agent {
    /// Starts an agent. What is in the program's tables is removed; flows of an agent in another process that it takes over from are
    /// added.
    pub fn start(environment: &Environment<'_>, config: Config) -> Result<Agent, Error> {
        let (switch, tenant, inherited) =
            (environment.switch.clone(), environment.tenant.clone(), environment.inherited);
        config.check().map_err(Error::Config)?;
        if tenant.cpu_port() != Some(CPU_PORT) {
            return Err(Error::CpuPort);
        }
        let encryption = config.tls.as_ref().map(tls::load).transpose().map_err(Error::Config)?;
        let datapath = Datapath::new(&tenant.vdp())?;
        let open = |listen: &Listen| listen_at(listen, inherited);
        let listeners = config.listen.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
        let shared = listeners.iter().map(|(listener, listen)| Ok((descriptor(listen), listener.try_clone()?.into())));
        let shared = shared.collect::<io::Result<_>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let counters = Arc::new(Mutex::new(Counters::default()));
        let published = counters.clone();
        let (jobs, waiting) = mpsc::unbounded_channel();
        let (phase, _) = watch::channel(if inherited.is_some() { Phase::Waits } else { Phase::Works });
        let work = move || {
            wait::give_way();
            let tasks = LocalSet::new();
            let main = Main { switch, tenant, config, encryption, listeners, stopped, published, jobs: waiting, phase };
            let main = main.serve(datapath);
            if let Err(error) = runtime.block_on(tasks.run_until(main)) {
                tracing::error!("the OpenFlow agent stopped: {error}");
            }
        };
        let thread = std::thread::Builder::new().name("openflow".into()).spawn(work)?;
        let agent = Agent { stop, counters, thread: Some(thread), jobs, listeners: shared };
        if let Some(inherited) = inherited {
            agent.load(&inherited.state)?;
        }
        Ok(agent)
    }

    /// The counts, as they were within the last second.
    pub fn counters(&self) -> Counters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its thread works.
    pub(crate) fn works(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Has the thread do something, and waits for what it returns; `None` if there is no thread any more.
    pub(crate) fn ask<R: Send + 'static>(&self, work: impl FnOnce(&Work) -> R + Send + 'static) -> Option<R> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        // Nobody may wait any more.
        let job = move |with: &Work| answer.send(work(with)).unwrap_or_default();
        self.jobs.send(Box::new(job)).ok()?;
        answered.recv().ok()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.ask(move |work| work.phase.send_replace(phase));
    }

    pub(crate) fn change(
        &self,
        work: impl FnOnce(&mut Switch) -> Result<(), StateError> + Send + 'static,
    ) -> Result<(), Error> {
        let done = self.ask(move |with| work(&mut with.switch.borrow_mut()).map_err(|error| error.to_string()));
        done.unwrap_or_else(|| Err("its thread has ended".into())).map_err(Error::TakeOver)
    }

    /// Has the state of another process.
    pub(crate) fn load(&self, state: &[u8]) -> Result<(), Error> {
        let state = state.to_vec();
        self.change(move |switch| switch.load(&state))
    }
}

impl Drop for Agent {
    /// Closes all connections. The flows stay.
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the OpenFlow agent's thread panicked");
        }
    }
}

/// The name of a socket that controllers connect to.
fn descriptor(listen: &Listen) -> String {
    format!("openflow:{}", listen.address)
}

fn listen_at(listen: &Listen, inherited: Option<&Inheritance>) -> Result<(std::net::TcpListener, Listen), Error> {
    let open = || {
        let listener = match inherited.map(|inherited| inherited.descriptor(&descriptor(listen))).transpose()?.flatten()
        {
            Some(socket) => socket.into(),
            None => std::net::TcpListener::bind(listen.address)?,
        };
        listener.set_nonblocking(true)?;
        Ok((listener, listen.clone()))
    };
    open().map_err(|error| Error::Listen { address: listen.address, error })
}

/// What the agent's thread has.
struct Main {
    switch: Arc<Dataplane>,
    tenant: Arc<Tenant>,
    config: Config,
    encryption: Option<Encryption>,
    listeners: Vec<(std::net::TcpListener, Listen)>,
    stopped: watch::Receiver<bool>,
    published: Arc<Mutex<Counters>>,
    jobs: mpsc::UnboundedReceiver<Job>,
    phase: watch::Sender<Phase>,
}

impl Main {
    async fn serve(self, datapath: Datapath) -> io::Result<()> {
        let Main { switch, tenant, config, mut stopped, published, mut jobs, phase, .. } = self;
        let mut links = Netlink::open().inspect_err(|e| tracing::warn!("links are not watched: {e}")).ok();
        let ports = ports(&switch, &tenant, links.as_mut());
        let datapath_id = config.datapath_id.unwrap_or_else(|| datapath_id(&ports));
        let stats = {
            let (switch, tenant) = (switch.clone(), tenant.clone());
            move || port_stats(&switch, &tenant)
        };
        let mut core = Switch::new(datapath, datapath_id, tenant.name().into(), tenant.injector(), Box::new(stats));
        core.set_ports(ports);
        core.set_queued_ports(config.queued_ports.clone());
        let core = Rc::new(RefCell::new(core));
        tracing::info!("OpenFlow switch {datapath_id:016x}");
        // Those that the switch connected to.
        let connected = Rc::new(RefCell::new(Connectedness { count: 0, since: Instant::now() }));
        let shared = Shared {
            switch: core.clone(),
            versions: config.versions.clone().into(),
            probe_after: config.probe_after(),
            phase: Gate(phase.subscribe()),
        };
        spawn_local(controllers(shared, config.clone(), self.encryption, self.listeners, connected.clone()));
        spawn_local(packets(core.clone(), tenant.clone()));
        let watched = links.as_ref().and_then(|links| wakeup::of_links(links).ok());
        let alone = config.fail_mode == FailMode::Standalone && !config.controllers.is_empty();
        let patience = config.probe_after() * 3;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ticks = 0u32;
        let of_jobs = Work { switch: core.clone(), tenant: tenant.clone(), phase: phase.clone() };
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                Some(job) = jobs.recv() => {
                    job(&of_jobs);
                    continue;
                }
                () = link_events(watched.as_ref()) => {
                    let ports = self::ports(&switch, &tenant, links.as_mut());
                    core.borrow_mut().set_ports(ports);
                    continue;
                }
                _ = stopped.changed() => return Ok(()),
            }
            if tenant.stopping() && *phase.borrow() != Phase::Pauses {
                return Ok(());
            }
            let mut core = core.borrow_mut();
            ticks = ticks.wrapping_add(1);
            if ticks.is_multiple_of(PORT_TICKS) {
                core.set_ports(self::ports(&switch, &tenant, links.as_mut()));
            }
            if matches!(*phase.borrow(), Phase::Forwards | Phase::Works) {
                core.expire();
            }
            let gone = |connected: &Connectedness| connected.count == 0 && connected.since.elapsed() > patience;
            if alone && *phase.borrow() == Phase::Works && gone(&connected.borrow()) {
                core.stand_alone();
            }
            *published.lock().unwrap_or_else(PoisonError::into_inner) = core.counters;
        }
    }
}

/// Talks to controllers, once the agent works.
async fn controllers(
    shared: Shared,
    config: Config,
    encryption: Option<Encryption>,
    listeners: Vec<(std::net::TcpListener, Listen)>,
    connected: Rc<RefCell<Connectedness>>,
) {
    shared.phase.clone().works().await;
    connected.borrow_mut().since = Instant::now();
    for target in config.controllers.clone() {
        let backoff = Duration::from_secs(config.max_backoff.max(1).into());
        spawn_local(connect(shared.clone(), target, encryption.clone(), backoff, connected.clone()));
    }
    for (listener, listen) in listeners {
        match TcpListener::from_std(listener) {
            Ok(listener) => {
                let encryption = listen.encrypted.then(|| encryption.clone()).flatten();
                spawn_local(accept(shared.clone(), listener, encryption));
            }
            Err(error) => tracing::error!(address = %listen.address, %error, "no controller can connect"),
        }
    }
}

/// Waits until the kernel says that something has happened to a device.
async fn link_events(watched: Option<&AsyncFd<OwnedFd>>) {
    match watched {
        // It is cleared before the notifications are read: what comes later signals again.
        Some(watched) => match watched.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// How many controllers the switch is connected to, and since when.
struct Connectedness {
    count: usize,
    since: Instant,
}

impl Connectedness {
    fn change(&mut self, up: bool) {
        self.count = if up { self.count + 1 } else { self.count - 1 };
        self.since = Instant::now();
    }
}

/// Keeps a connection to a controller.
async fn connect(
    shared: Shared,
    target: Target,
    encryption: Option<Encryption>,
    max_backoff: Duration,
    connected: Rc<RefCell<Connectedness>>,
) {
    let mut backoff = Duration::from_secs(1);
    let mut silent = false;
    loop {
        let attempt = async {
            let stream = TcpStream::connect((target.host.as_str(), target.port)).await?;
            stream.set_nodelay(true)?;
            if !target.encrypted {
                return Ok((Some(stream), None));
            }
            let Some(encryption) = &encryption else { return Err(io::Error::other("there are no keys")) };
            let name = ServerName::try_from(target.host.clone()).map_err(io::Error::other)?;
            Ok((None, Some(encryption.connector.connect(name, stream).await?)))
        };
        let since = Instant::now();
        let result = match timeout(PATIENCE, attempt).await {
            Ok(Ok(stream)) => {
                connected.borrow_mut().change(true);
                let ended = match stream {
                    (Some(stream), _) => connection::run(&shared, stream, false).await,
                    (None, Some(stream)) => connection::run(&shared, stream, false).await,
                    (None, None) => Ok(()),
                };
                connected.borrow_mut().change(false);
                silent = false;
                ended
            }
            Ok(Err(error)) => Err(error),
            Err(late) => Err(late.into()),
        };
        if !silent {
            let reason = result.err().map_or_else(|| "closed".into(), |error| error.to_string());
            tracing::info!("no connection to {target}: {reason}");
            silent = true;
        }
        if since.elapsed() > 2 * max_backoff {
            backoff = Duration::from_secs(1);
        }
        sleep(backoff).await;
        backoff = (2 * backoff).min(max_backoff);
    }
}

/// Serves controllers that connect.
async fn accept(shared: Shared, listener: TcpListener, encryption: Option<Encryption>) {
    let places = Arc::new(Semaphore::new(LISTENED));
    loop {
        // Further ones wait in the kernel's queue.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("cannot accept a controller: {error}");
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let (shared, encryption) = (shared.clone(), encryption.clone());
        spawn_local(async move {
            let served = async {
                stream.set_nodelay(true)?;
                match encryption {
                    None => connection::run(&shared, stream, true).await,
                    Some(encryption) => {
                        let stream = timeout(PATIENCE, encryption.acceptor.accept(stream)).await??;
                        connection::run(&shared, stream, true).await
                    }
                }
            };
            if let Err(error) = served.await {
                tracing::debug!("a controller's connection ended: {error}");
            }
            drop(place);
        });
    }
}

/// Hands packets of the CPU port to the controllers.
async fn packets(core: Rc<RefCell<Switch>>, tenant: Arc<Tenant>) {
    let queue = tenant.cpu();
    let readable = match wakeup::of(&queue) {
        Ok(readable) => readable,
        Err(error) => return tracing::error!("packets do not reach the controllers: {error}"),
    };
    while let Ok(mut ready) = readable.readable().await {
        // Both are cleared before looking: what comes later signals again.
        ready.clear_ready();
        queue.clear_wakeup();
        let mut taken = 0;
        while let Some(packet) = queue.try_receive() {
            core.borrow_mut().packet_in(&packet);
            taken += 1;
            if taken % PACKETS == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// The program's number and the switch's number of each port.
fn numbers(switch: &Dataplane, tenant: &Tenant) -> Vec<(u32, u32)> {
    match tenant.port_numbers() {
        TenantPorts::All => switch.ports().iter().map(|port| (port.number, port.number)).collect(),
        TenantPorts::Numbered(map) => map.iter().map(|(program, switch)| (*program, *switch)).collect(),
    }
}

fn ports(switch: &Dataplane, tenant: &Tenant, links: Option<&mut Netlink>) -> Vec<PortDescription> {
    let of_switch = switch.ports();
    let devices = links.map(|links| {
        let _ = links.update().inspect_err(|e| tracing::warn!("links: {e}"));
        links.devices().values().map(|device| (device.name.clone(), device.up && device.running)).collect()
    });
    let devices: BTreeMap<String, bool> = devices.unwrap_or_default();
    let described = numbers(switch, tenant).into_iter().filter_map(|(number, in_switch)| {
        let port = of_switch.iter().find(|port| port.number == in_switch)?;
        let up = devices.get(&port.name).copied().unwrap_or(port.info.up != Some(false));
        // OpenFlow has no port 0.
        (number > 0 && !RESERVED.contains(&number)).then(|| PortDescription {
            number,
            mac: port.info.mac.unwrap_or_default(),
            name: port.name.clone(),
            config: 0,
            down: !up,
        })
    });
    described.collect()
}

fn port_stats(switch: &Dataplane, tenant: &Tenant) -> BTreeMap<u32, PortStats> {
    let mut stats: BTreeMap<u32, PortStats> =
        switch.stats().ports.into_iter().map(|port| (port.number, port)).collect();
    numbers(switch, tenant).into_iter().filter_map(|(number, port)| Some((number, stats.remove(&port)?))).collect()
}

/// The first port's address, as most switches do.
fn datapath_id(ports: &[PortDescription]) -> u64 {
    let first = ports.first().map_or([0; 6], |port| port.mac);
    first.iter().fold(0, |id, byte| id << 8 | u64::from(*byte))
}
