//! The agent: a thread that connects to controllers, serves those that connect, and hands packets to them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::{PortStats, Switch as Dataplane, Tenant, TenantPorts, wait};
use hopwright_host::netlink::Netlink;
use rustls_pki_types::ServerName;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::codec::reply::PortDescription;
use crate::config::{Config, FailMode, Listen, Target};
use crate::connection::{self, Shared};
use crate::counters::Counters;
use crate::datapath::{Datapath, WrongProgram};
use crate::switch::Switch;
use crate::tls::{self, Encryption};
use crate::wakeup;

/// The program's port to the controllers.
const CPU_PORT: u32 = 510;
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

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tenant's program has not the tables of `p4/router/openflow.p4`.
    #[error(transparent)]
    Program(#[from] WrongProgram),
    /// The tenant has no CPU port, or another one.
    #[error("the tenant's CPU port is to be {CPU_PORT}")]
    CpuPort,
    /// The configuration makes no sense.
    #[error("OpenFlow: {0}")]
    Config(String),
    /// An address that cannot be listened on.
    #[error("OpenFlow: cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system refused.
    #[error("OpenFlow: {0}")]
    Io(#[from] io::Error),
}

/// The control plane of a tenant that runs `p4/router/openflow.p4`. It stops when it is dropped.
#[derive(Debug)]
pub struct Agent {
    stop: watch::Sender<bool>,
    counters: Arc<Mutex<Counters>>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Starts an agent. What is in the program's tables is removed.
    pub fn start(switch: Arc<Dataplane>, tenant: Arc<Tenant>, config: Config) -> Result<Agent, Error> {
        config.check().map_err(Error::Config)?;
        if tenant.cpu_port() != Some(CPU_PORT) {
            return Err(Error::CpuPort);
        }
        let encryption = config.tls.as_ref().map(tls::load).transpose().map_err(Error::Config)?;
        let datapath = Datapath::new(&tenant.vdp())?;
        let listeners = config.listen.iter().map(|listen| {
            let bind = || {
                let listener = std::net::TcpListener::bind(listen.address)?;
                listener.set_nonblocking(true)?;
                Ok(listener)
            };
            let failed = |error| Error::Listen { address: listen.address, error };
            bind().map(|listener| (listener, listen.clone())).map_err(failed)
        });
        let listeners = listeners.collect::<Result<Vec<_>, Error>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let counters = Arc::new(Mutex::new(Counters::default()));
        let published = counters.clone();
        let work = move || {
            wait::give_way();
            let tasks = LocalSet::new();
            let main = serve(switch, tenant, config, encryption, datapath, listeners, stopped, published);
            if let Err(error) = runtime.block_on(tasks.run_until(main)) {
                tracing::error!("the OpenFlow agent stopped: {error}");
            }
        };
        let thread = std::thread::Builder::new().name("openflow".into()).spawn(work)?;
        Ok(Agent { stop, counters, thread: Some(thread) })
    }

    /// The counts, as they were within the last second.
    pub fn counters(&self) -> Counters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes all connections. The flows stay.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the OpenFlow agent's thread panicked");
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
    }
}

#[allow(clippy::too_many_arguments)]
async fn serve(
    switch: Arc<Dataplane>,
    tenant: Arc<Tenant>,
    config: Config,
    encryption: Option<Encryption>,
    datapath: Datapath,
    listeners: Vec<(std::net::TcpListener, Listen)>,
    mut stopped: watch::Receiver<bool>,
    published: Arc<Mutex<Counters>>,
) -> io::Result<()> {
    let mut links = Netlink::open().inspect_err(|e| tracing::warn!("links are not watched: {e}")).ok();
    let ports = ports(&switch, &tenant, links.as_mut());
    let datapath_id = config.datapath_id.unwrap_or_else(|| datapath_id(&ports));
    let stats = {
        let (switch, tenant) = (switch.clone(), tenant.clone());
        move || port_stats(&switch, &tenant)
    };
    let mut core = Switch::new(datapath, datapath_id, tenant.name().into(), tenant.injector(), Box::new(stats));
    core.set_ports(ports);
    let core = Rc::new(RefCell::new(core));
    let shared =
        Shared { switch: core.clone(), versions: config.versions.clone().into(), probe_after: config.probe_after() };
    tracing::info!("OpenFlow switch {datapath_id:016x}");
    // Those that the switch connected to.
    let connected = Rc::new(RefCell::new(Connectedness { count: 0, since: Instant::now() }));
    for target in config.controllers.clone() {
        let backoff = Duration::from_secs(config.max_backoff.max(1).into());
        spawn_local(connect(shared.clone(), target, encryption.clone(), backoff, connected.clone()));
    }
    for (listener, listen) in listeners {
        let listener = TcpListener::from_std(listener)?;
        let encryption = listen.encrypted.then(|| encryption.clone()).flatten();
        spawn_local(accept(shared.clone(), listener, encryption));
    }
    spawn_local(packets(core.clone(), tenant.clone()));
    let alone = config.fail_mode == FailMode::Standalone && !config.controllers.is_empty();
    let patience = config.probe_after() * 3;
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ticks = 0u32;
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            _ = stopped.changed() => return Ok(()),
        }
        if tenant.stopping() {
            return Ok(());
        }
        let mut core = core.borrow_mut();
        ticks = ticks.wrapping_add(1);
        if ticks.is_multiple_of(PORT_TICKS) {
            core.set_ports(self::ports(&switch, &tenant, links.as_mut()));
        }
        core.expire();
        if alone && connected.borrow().count == 0 && connected.borrow().since.elapsed() > patience {
            core.stand_alone();
        }
        *published.lock().unwrap_or_else(PoisonError::into_inner) = core.counters;
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
