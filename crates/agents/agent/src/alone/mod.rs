//! Runs an agent that has the process to itself: opens devices, builds a switch with the agent's program, and starts workers and the agent.
//! A signal ends it, or another process that takes over.

mod page;
mod process;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hopwright_dataplane::{
    BuildError, EgressQueues, EngineKind, Switch, SwitchBuilder, SwitchStats, VirtualDataPlane, Worker, wait,
};
use hopwright_host::http::{self, Listener};
use hopwright_host::signals::{self, Handlers};
use hopwright_ports::opener::OpenerError;
use hopwright_ports::{DeviceError, FrameMatch, Opener, PortChoice, Reception, Wanted};

use crate::hand_over::{HandOver, HandOverError, Heir, Life, Panicked, Workers};
use crate::{Agent, Environment, Inheritance, Kind, Metric, Settings, StartError};
use page::{page, pages, write};
use process::Process;

/// The largest network-layer packet, in bytes.
const JUMBO_MTU: u32 = 9100;
/// How often counters are written.
const STATS_INTERVAL: Duration = Duration::from_secs(1);
/// How long it takes at most to notice that something has ended, or that a successor says something.
const TICK: Duration = Duration::from_millis(100);

/// What surrounds the agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// The names of the devices, by their port numbers in the program.
    pub devices: BTreeMap<u32, String>,
    /// Rates and egress queues of ports that have some.
    pub queues: BTreeMap<u32, EgressQueues>,
    /// How packets are received and sent.
    pub ports: PortChoice,
    /// The program's port to the agent.
    pub cpu_port: u32,
    /// Packets that may wait between the program and the agent, in each direction.
    pub cpu_queue: usize,
    /// Threads that forward packets.
    pub workers: usize,
    /// A file that gets the counters as JSON each second, and at the end.
    pub stats: Option<PathBuf>,
    /// Where metrics are served for Prometheus: `host:port`.
    pub metrics: Option<String>,
    /// How processes take over from each other.
    pub hand_over: HandOver,
}

impl Options {
    /// With these devices: one worker, the fastest ports that work, no files.
    pub fn new(devices: BTreeMap<u32, String>, cpu_port: u32) -> Options {
        let ports = PortChoice::default();
        Options {
            devices,
            queues: BTreeMap::new(),
            ports,
            cpu_port,
            cpu_queue: 1024,
            workers: 1,
            stats: None,
            metrics: None,
            hand_over: HandOver::default(),
        }
    }
}

/// Why an agent does not run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error("the program has errors: {0}")]
    Program(String),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Open(#[from] OpenerError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Switch(#[from] hopwright_dataplane::SwitchError),
    #[error("cannot serve metrics at {address}: {error}")]
    Metrics { address: String, error: io::Error },
    #[error(transparent)]
    Start(StartError),
    #[error("{}: {error}", file.display())]
    Stats { file: PathBuf, error: io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    #[error("a thread that forwards packets has ended")]
    Worker,
    #[error(transparent)]
    HandOver(#[from] HandOverError),
    #[error(
        "{0}: its sockets cannot be taken over: the running process has another number of workers, or another kind of port"
    )]
    Occupied(String),
    #[error("the agent `{0}` has ended")]
    Agent(&'static str),
}

impl From<Panicked> for Error {
    fn from(_: Panicked) -> Error {
        Error::Worker
    }
}

/// What has been counted at the end.
#[derive(Clone, Debug)]
pub struct Counts {
    /// By the switch.
    pub switch: SwitchStats,
    /// By the agent.
    pub agent: Vec<Metric>,
}

/// What is done with a switch before packets flow. What it returns is kept until the agent ends.
pub type Starting<'a> = dyn Fn(&Arc<Switch>) -> Result<Box<dyn Send>, StartError> + 'a;

/// What a signal asks for.
#[derive(Clone, Copy)]
enum Command {
    Stop,
    Reload,
    Dump,
}

/// Runs an agent until SIGTERM or SIGINT, or until another process has taken over, beside what `starting` starts. SIGHUP has it read its
/// files again, SIGQUIT logs the counters.
///
/// # Errors
/// If it cannot start, or does not work any more.
pub fn run(
    kind: &dyn Kind,
    settings: &dyn Settings,
    options: &Options,
    starting: &Starting<'_>,
) -> Result<Counts, Error> {
    settings.check().map_err(Error::Start)?;
    let commands = commands()?;
    let name = format!("{} {}", kind.name(), settings.name());
    let name = name.trim_end();
    let begin = |heir| begin(name, kind, settings, options, starting, heir);
    let (mut process, mut life, listener) = options.hand_over.begin(name, begin)?;
    let (switch, agent) = (process.switch.clone(), process.agent.clone());
    let sites = listener.into_iter().map(|listener| (listener, pages(switch.clone(), agent.clone())));
    let http = http::serve(sites.collect()).map_err(Error::Thread)?;
    tracing::info!("{} is running; stop with Ctrl-C", kind.name());
    let started = Instant::now();
    let result = work(&mut life, &mut process, kind, options, &commands, started);
    let counts = Counts { switch: switch.stats(), agent: agent.metrics() };
    let page = page(&switch, &*agent, started);
    drop((http, process.beside.take(), agent));
    switch.stop();
    process.workers.join()?;
    if let Some(file) = options.stats.as_deref().filter(|_| !life.handed_over()) {
        write(file, &page)?;
    }
    drop((process, switch));
    life.end();
    result.map(|()| counts)
}

/// Has a process forward packets, in the place of a predecessor if there is one. Returns it with the server of metrics.
fn begin<'a>(
    name: &str,
    kind: &dyn Kind,
    settings: &dyn Settings,
    options: &Options,
    starting: &'a Starting<'a>,
    mut heir: Heir,
) -> Result<(Process<'a>, Life, Vec<Listener>), Error> {
    let listen =
        |address: &String| heir.listen(address).map_err(|error| Error::Metrics { address: address.clone(), error });
    let (listener, listeners) = options.metrics.iter().map(listen).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let Opened { opener, switch, workers, receptions } = open(kind, options, &mut heir)?;
    let inherited = heir.takes_over().then(|| Inheritance::of(&mut heir.offer));
    let environment = Environment {
        switch: &switch,
        tenant: switch.default_tenant(),
        devices: &options.devices,
        inherited: inherited.as_ref(),
        lasting: &Inheritance { descriptors: std::mem::take(&mut heir.lasting), ..Inheritance::default() },
    };
    let agent: Arc<dyn Agent> = Arc::from(settings.start(&environment).map_err(Error::Start)?);
    drop(inherited);
    // What a predecessor still serves follows when that has gone.
    let beside = if heir.takes_over() { None } else { Some(starting(&switch).map_err(Error::Start)?) };
    let workers = Workers::start(workers, &[], wait::shorten_slice).map_err(Error::Thread)?;
    let name = name.into();
    let mut process = Process { name, agent, switch, opener, workers, receptions, listeners, starting, beside };
    let life = Life::begin(heir, &mut process)?;
    Ok((process, life, listener))
}

/// Does what signals say until they say stop, or until another process has taken over.
fn work(
    life: &mut Life,
    process: &mut Process<'_>,
    kind: &dyn Kind,
    options: &Options,
    commands: &Receiver<Command>,
    started: Instant,
) -> Result<(), Error> {
    let mut next = started;
    life.follow(process, |process, _| {
        let Process { agent, switch, .. } = process;
        match commands.recv_timeout(TICK) {
            Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Ok(Command::Reload) => agent.reload(),
            Ok(Command::Dump) => tracing::info!(counters = %page(switch, &**agent, started), "state"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if switch.stopping() {
            return Err(Error::Worker);
        }
        if !agent.is_running() {
            return Err(Error::Agent(kind.name()));
        }
        if let Some(file) = options.stats.as_deref().filter(|_| Instant::now() >= next) {
            write(file, &page(switch, &**agent, started))?;
            next += STATS_INTERVAL;
        }
        Ok(true)
    })
}

/// What signals ask for from now on.
fn commands() -> Result<Receiver<Command>, Error> {
    let (sender, commands) = mpsc::channel();
    let send = |command: Command| {
        let sender = sender.clone();
        // Fails only when nobody waits for commands any more.
        move || sender.send(command).unwrap_or_default()
    };
    let handlers = Handlers {
        stop: send(Command::Stop),
        reload: Some(Box::new(send(Command::Reload))),
        dump: Some(Box::new(send(Command::Dump))),
    };
    signals::handle_all(handlers).map_err(Error::Thread)?;
    Ok(commands)
}

/// A switch on its devices.
struct Opened {
    opener: Opener,
    switch: Arc<Switch>,
    workers: Vec<Worker>,
    /// The devices receive as long as these are there.
    receptions: Vec<Reception>,
}

/// Opens the devices and builds a switch of them.
fn open(kind: &dyn Kind, options: &Options, heir: &mut Heir) -> Result<Opened, Error> {
    let compiled = kind.compile(&[]);
    let report = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.ok_or(Error::Program(report))?);
    let vdp = VirtualDataPlane::new(pipeline, EngineKind::Jit)?;
    let names: Vec<&str> = options.devices.values().map(String::as_str).collect();
    let (opener, pools) = Opener::new(&Wanted {
        choice: options.ports,
        mtu: JUMBO_MTU,
        headroom: vdp.headroom(),
        devices: options.devices.len(),
        workers: options.workers,
        memory: heir.memory(&names),
        ..Wanted::default()
    })?;
    heir.bequeath(&opener);
    let mut builder = SwitchBuilder::new(vdp).cpu_port(options.cpu_port).cpu_queue(options.cpu_queue).pools(pools);
    if let Some(port) = kind.needs().urgent_cpu_port {
        builder = builder.urgent_cpu_port(port);
    }
    for (number, device) in &options.devices {
        if opener.is_occupied(device) {
            return Err(Error::Occupied(device.clone()));
        }
        let opened = opener.open(device, &FrameMatch::Everything)?;
        tracing::info!("port {number} is {device}, {}", opened.how);
        let ports = match options.queues.get(number) {
            Some(queues) => queues.attach(opened.ports),
            None => opened.ports,
        };
        builder = builder.ports(*number, ports);
    }
    let (switch, workers) = builder.build_workers()?;
    let receive = |(number, device): (&u32, &String)| {
        let mut reception = Reception::open(device)?;
        reception.set(&switch.addresses(*number))?;
        Ok(reception)
    };
    let receptions = options.devices.iter().map(receive).collect::<Result<_, DeviceError>>()?;
    Ok(Opened { opener, switch, workers, receptions })
}
