//! The life of a switch: starts it, carries out commands, ends it.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use hopwright_agent::Kinds;
use hopwright_agent::hand_over::{HandOver, HandOverError, Heir, Life, Workers};
use hopwright_dataplane::{FrameSize, MemoryExceeded, Switch, TenantSpec, wait};
use hopwright_host::http::{self, Listener};
use hopwright_p4runtime::ServeError;
use hopwright_ports::DeviceError;
use hopwright_ports::opener::OpenerError;

use crate::admin::{self, Answer, Request};
use crate::agent;
use crate::config::{Config, ConfigError};
use crate::memory::{self, Shares};
use crate::metrics;
use crate::program::Programs;
use crate::running::{Running, Tenants, in_a_line, urgent_cpu_port};
use crate::succession::Process;

/// How often the switch's health is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Why a switch does not run or does not change.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SwitchError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("tenant `{tenant}`: {message}")]
    Program { tenant: String, message: String },
    #[error("tenant `{tenant}`: agent: {message}")]
    Agent { tenant: String, message: String },
    #[error(transparent)]
    Ports(#[from] OpenerError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Switch(#[from] hopwright_dataplane::SwitchError),
    #[error(transparent)]
    P4Runtime(#[from] ServeError),
    #[error("the interfaces: {0}")]
    Interfaces(#[source] io::Error),
    #[error("cannot serve metrics at {address}: {error}")]
    Metrics { address: String, error: io::Error },
    #[error(transparent)]
    Admin(#[from] admin::AdminError),
    #[error("{0}")]
    Start(String),
    #[error("{0}")]
    Memory(String),
    #[error(transparent)]
    MemoryExceeded(#[from] MemoryExceeded),
    #[error("{0} has changed: that needs a restart")]
    NeedsRestart(&'static str),
    #[error("there is no tenant `{0}`")]
    NoSuchTenant(String),
    #[error("changed in part only ({}): {error}", in_a_line(done))]
    Incomplete { done: Vec<String>, error: Box<SwitchError> },
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    #[error("the thread that forwards packets has ended")]
    Worker,
    #[error(transparent)]
    HandOver(#[from] HandOverError),
    #[error("{0}: its sockets cannot be taken over: the running process has another kind of port")]
    Occupied(String),
}

/// What a running switch is told.
#[derive(Debug)]
pub enum Command {
    /// End.
    Stop,
    /// Read the configuration again and do what it says.
    Reload,
    /// An administrator's request, and where the answer goes.
    Admin(Request, Sender<Answer>),
}

/// Checks a configuration: the file, and the programs and entries it names. Needs no privileges and no devices. Returns a line about
/// each tenant.
///
/// # Errors
/// If the switch would not start.
pub fn check(file: &Path, kinds: Kinds) -> Result<Vec<String>, SwitchError> {
    let config = Config::load(file, kinds)?;
    let (mut lines, mut programs) = (Vec::new(), Programs::default());
    let shares = Shares::of(&config).map_err(SwitchError::Memory)?;
    let frames = FrameSize::for_mtu(config.switch.mtu).with_headroom(config.switch.headroom);
    for tenant in &config.tenants {
        let wrong = |message: String| SwitchError::Program { tenant: tenant.name.clone(), message };
        let compiled = programs.compile(&tenant.program).map_err(wrong)?;
        let (ports, queue) = ([Some(tenant.cpu_port), urgent_cpu_port(tenant)], tenant.cpu_queue);
        let needs = TenantSpec::needs(&compiled.program.pipeline, ports, queue, frames, 1);
        memory::check(&tenant.name, needs, shares.limit(tenant.limits.memory))?;
        compiled.data_plane().map_err(wrong)?;
        if let Some(agent) = &tenant.agent {
            let wrong = |message: String| SwitchError::Agent { tenant: tenant.name.clone(), message };
            agent::check_files(agent).map_err(wrong)?;
        }
        let ports: Vec<String> = tenant.ports.iter().map(|(number, device)| format!("{number} is {device}")).collect();
        let (program, ports) = (&tenant.program.file, ports.join(", "));
        lines.push(format!("tenant {}: {program}, {ports}", tenant.name));
    }
    Ok(lines)
}

/// What is done with a switch and its tenants before packets flow. What it returns is kept until the switch ends.
pub type Starting<'a> = dyn Fn(&Arc<Switch>, Tenants) -> Result<Box<dyn Send>, String> + 'a;

/// Runs a switch until it is told to stop, or until another process has taken over. Its tenants can have agents of these kinds. `commands`
/// are told by whoever holds the sender, of which `tell` is a copy for the administration socket.
///
/// # Errors
/// If it cannot start, or does not forward packets any more.
pub fn run(
    file: &Path,
    kinds: Kinds,
    commands: &Receiver<Command>,
    tell: Sender<Command>,
    hand_over: &HandOver,
    starting: &Starting<'_>,
) -> Result<(), SwitchError> {
    let config = Config::load(file, kinds)?;
    if let Err(error) = wait::allow_descriptors() {
        tracing::warn!(%error, "cannot raise the limit on open descriptors");
    }
    let path = config.switch.socket.clone();
    let open_socket = || Ok::<_, SwitchError>(admin::Socket::open(&path, tell.clone())?);
    // First of all, because it tells that another switch is running.
    let socket = Cell::new(hand_over.predecessor().is_none().then(open_socket).transpose()?);
    let open = |running: &Running| {
        let socket = socket.take().map_or_else(open_socket, Ok)?;
        Ok((socket, starting(running.switch(), running.tenants()).map_err(SwitchError::Start)?))
    };
    let begin = |mut heir: Heir| -> Result<(Process<'_>, Life, Vec<Listener>), SwitchError> {
        let listen = |address: &String| {
            heir.listen(address).map_err(|error| SwitchError::Metrics { address: address.clone(), error })
        };
        let (of_metrics, listeners) =
            config.metrics.iter().map(listen).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let (running, worker) = Running::start(config.clone(), &mut heir)?;
        // What a predecessor still serves follows when that has gone.
        let beside = if heir.takes_over() { None } else { Some(open(&running)?) };
        announce(&running);
        let workers = Workers::start(vec![worker], &[], precede).map_err(SwitchError::Thread)?;
        let mut process = Process { running, workers, listeners, held: Vec::new(), open: &open, beside };
        let life = Life::begin(heir, &mut process)?;
        Ok((process, life, of_metrics))
    };
    let (mut process, mut life, listeners) = hand_over.begin("switch", begin)?;
    let switch = process.running.switch().clone();
    let pages = |listener| (listener, metrics::pages(switch.clone(), process.running.board().clone()));
    let http = http::serve(listeners.into_iter().map(pages).collect()).map_err(SwitchError::Thread)?;
    // What this thread compiles from now on must not keep packets waiting.
    wait::give_way();
    let result = life.follow(&mut process, |process, _| {
        match commands.recv_timeout(TICK) {
            Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Ok(Command::Reload) => reload(&mut process.running, file, kinds),
            Ok(Command::Admin(request, to)) => {
                let _ = to.send(admin::carry_out(&mut process.running, request));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if process.workers.has_ended() { Err(SwitchError::Worker) } else { Ok(true) }
    });
    let Process { running, mut workers, held, beside, .. } = process;
    drop((http, beside));
    drop(running);
    switch.stop();
    let died = workers.join().is_err();
    let stats = switch.stats();
    tracing::info!(received = stats.packets_in(), accounted = stats.packets_out(), "the switch has stopped");
    drop((workers, held, switch));
    life.end();
    if died { Err(SwitchError::Worker) } else { result }
}

/// Has the calling thread, which becomes a worker's, go before those of controllers.
fn precede() {
    wait::keep_way();
    wait::take_precedence();
}

/// Logs what runs, and warns of what may not be meant.
fn announce(running: &Running) {
    for port in running.switch().ports() {
        let mtu = port.info.mtu.map_or_else(|| "?".into(), |mtu| mtu.to_string());
        let how = running.how(&port.name).map_or_else(String::new, |how| format!(", {how}"));
        tracing::info!("device {}: MTU {mtu}{how}", port.name);
        if port.info.up == Some(false) {
            tracing::warn!("{0} has no link: `ip link set {0} up`, here and at its other end, may help", port.name);
        }
    }
    for hosted in running.all_hosted() {
        let id = hosted.config.device_id.map_or_else(|| "no device id".into(), |id| format!("device id {id}"));
        tracing::info!("tenant {}: {}, {id}", hosted.config.name, hosted.config.program.file);
    }
    let Some(settings) = &running.config().p4runtime else { return };
    let Some(address) = running.p4runtime() else { return };
    let clients = match (&settings.tls, &settings.clients) {
        (None, _) => "without encryption, for everybody",
        (Some(tls), _) if tls.client_ca.is_none() => "encrypted, for everybody",
        (Some(_), None) => "encrypted, for all clients with a certificate",
        (Some(_), Some(_)) => "encrypted, for the clients in the configuration",
    };
    tracing::info!("P4Runtime at {address}, {clients}");
    let anybody = settings.tls.as_ref().is_none_or(|tls| tls.client_ca.is_none());
    if anybody && !address.ip().is_loopback() {
        tracing::warn!("P4Runtime: anybody who reaches {address} can control all tenants (see client_ca)");
    }
    if settings.clients.is_none() && running.config().tenants.len() > 1 {
        tracing::warn!("P4Runtime: every client can control every tenant (see [[p4runtime.client]])");
    }
}

fn reload(running: &mut Running, file: &Path, kinds: Kinds) {
    let result = Config::load(file, kinds).map_err(SwitchError::from).and_then(|config| running.change(config));
    if result.is_ok() {
        running.reload_agents();
    }
    match result {
        Ok(changes) if changes.is_empty() => tracing::info!("configuration read again: nothing has changed"),
        Ok(changes) => tracing::info!("configuration read again: {}", in_a_line(&changes)),
        Err(error @ SwitchError::Incomplete { .. }) => tracing::error!("configuration read again: {error}"),
        Err(error) => tracing::error!("configuration read again, and refused: nothing has changed: {error}"),
    }
}
