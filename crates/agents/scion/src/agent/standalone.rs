//! A router alone: a switch with one tenant, and the devices that the router's addresses need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{BuildError, EngineKind, Switch, SwitchBuilder, VirtualDataPlane, Worker};
use hopwright_host::hand_over::Door;
use hopwright_host::http::NoLog;
use hopwright_host::netlink::Netlink;
use hopwright_host::service_manager::ServiceManager;
use hopwright_ports::{PortChoice, closing};

use super::hand_over::{Estate, Workers};
use super::take_over::{Heir, Rest};
use super::{Agent, AgentError, Company, Options, Place, Setup};
use crate::control::layout::Layout;
use crate::control::program::{self, CPU_PORT, URGENT_CPU_PORT};
use crate::privileges::{self, Phase};
use crate::status::http::Listeners;
use crate::status::stats::{Stats, StatsFile, WriteChange};
use crate::tap::Taps;
use crate::underlay::{Underlay, next_hop};

/// How long closing everything may take at the end.
const CLOSING_TIME: Duration = Duration::from_secs(2);
/// The longest time that a router which is told to stop goes on waiting for its program.
const STOP_TIME: Duration = Duration::from_millis(20);
/// The interval between two writes of the statistics file.
const REPORT_TIME: Duration = Duration::from_secs(1);

/// Runs the router until `options.stop` is set, or another process has taken over. Returns the final statistics.
pub fn run(setup: Setup, options: &Options) -> Result<Stats, AgentError> {
    privileges::log_missing();
    let Some(built) = build(setup, options)? else { return Ok(Stats::default()) };
    let Built { mut agent, switch, workers, listeners, mut heir, mut door } = built;
    let workers = Workers::start(workers, &agent.setup.config.hopwright.cpus)?;
    // If it takes over from a running router, that one stops here.
    heir.start(&mut agent, &workers, &mut door)?;
    let shared = listeners.share(&agent.setup.config).map_err(AgentError::HttpThread)?;
    let log_level = options.log_level.clone().unwrap_or_else(|| Arc::new(NoLog));
    let server = listeners.serve(agent.status.clone(), log_level).map_err(AgentError::HttpThread)?;
    let mut manager = ServiceManager::new();
    manager.inherit_limit(heir.watchdog());
    let rest = heir.into_rest();
    if rest.is_some() {
        tracing::info!(event = "taken-over", "took over from the running router");
        manager.main_process(std::process::id());
    }
    manager.ready();
    if rest.is_some()
        && let Some(tell) = options.taken_over
    {
        tell();
    }
    let estate = Estate::new(door, shared);
    let mut household =
        Household { workers, manager, report: Report::default(), estate, rest, returned: None, options };
    let result = agent.follow(options, &mut household);
    let Household { mut workers, mut manager, mut report, estate, returned, .. } = household;
    let handed_over = returned.is_some();
    if !handed_over {
        manager.stopping();
    }
    closing::end_of_process();
    switch.stop();
    agent.reload.stop_watching();
    drop((workers.join()?, returned, server));
    result?;
    let stats = agent.stats()?;
    // The file is the successor's.
    if !handed_over {
        report.write(&stats, options);
    }
    // The process ends: nobody needs the memory of the tables again, and freeing it takes time. A device is closed, and says what
    // it has done.
    if agent.vdp.engine_kind() != EngineKind::Offload {
        std::mem::forget(agent.vdp.clone());
    }
    drop((agent, switch));
    if !closing::finish(CLOSING_TIME) {
        tracing::warn!(event = "devices-open", "not all devices are closed");
    }
    // A successor opens devices when the connection to it ends.
    drop(estate);
    Ok(stats)
}

/// A router that is complete, but does not run yet.
struct Built {
    agent: Agent,
    switch: Arc<Switch>,
    workers: Vec<Worker>,
    listeners: Listeners,
    heir: Heir,
    door: Option<Door>,
}

/// Builds everything. Returns `None` if the router is told to stop meanwhile.
fn build(mut setup: Setup, options: &Options) -> Result<Option<Built>, AgentError> {
    let (make, layout) = (options.data_plane.clone(), setup.config.hopwright.layout);
    let hummingbird = setup.config.hopwright.hummingbird;
    // An open port takes frames from the kernel: compiling a program, or starting a device, comes before the ports.
    let takes_long = make.is_some() || layout != Layout::Plain || hummingbird;
    let pipeline = move || if hummingbird { program::with_hummingbird() } else { layout.pipeline() };
    let mut program = Loading::start(move || match &make {
        Some(make) => (make.0)(&pipeline()),
        None if hummingbird => VirtualDataPlane::new(pipeline(), EngineKind::Jit),
        None => layout.run(EngineKind::Jit),
    })?;
    if takes_long && !program.wait(&options.stop)? {
        return Ok(None);
    }
    let mut heir = Heir::connect(&setup, options)?;
    let door = heir.door(options.control.as_deref())?;
    // Otherwise the data plane is built while devices are opened, which is mostly waiting for the kernel.
    let mut kernel = Netlink::open().map_err(AgentError::Netlink)?;
    let mut underlay = Underlay::new(&mut kernel, &setup)?;
    heir.bequeath(&underlay);
    setup.links.choose_ports();
    underlay.bind(&kernel, &setup.links, false)?;
    let used = next_hop::used_devices(&mut kernel, &setup.links);
    let mut raw = underlay.follow(&kernel, &[&setup.links], &used);
    if setup.config.hopwright.ports == PortChoice::AfXdp
        && let Some(error) = raw.refused.pop()
    {
        return Err(error);
    }
    program.wait(&options.stop)?;
    let Some(vdp) = program.vdp else { return Ok(None) };
    let mut builder = SwitchBuilder::new(vdp)
        .pools(underlay.take_pools())
        .cpu_port(CPU_PORT)
        .urgent_cpu_port(URGENT_CPU_PORT)
        .batch(setup.config.hopwright.batch);
    if let Some(rest) = setup.config.hopwright.rest_us {
        builder = builder.longest_rest(Duration::from_micros(rest.into()));
    }
    for (number, ports) in raw.opened.into_iter().chain([underlay.udp_port("udp")?]) {
        builder = builder.ports(number, ports);
    }
    underlay.set_ready();
    let (switch, workers) = builder.build_workers()?;
    let namespace = setup.config.slow_path_netns();
    let taps = namespace.map(|name| Taps::open(&name, &underlay.numbers(), kernel.devices())).transpose()?;
    let listeners = Listeners::open(&setup.config, heir.take_listeners())?;
    // Threads started from here on have only the remaining privileges.
    privileges::drop_privileges(Phase::Running)?;
    // Next hops are programmed before the first packet.
    let tenant = switch.default_tenant().clone();
    let agent = Agent::new(setup, Place { load: Setup::load, switch: switch.clone(), tenant, kernel, underlay, taps })?;
    // The router is ready when the program has its tables, wherever it runs.
    agent.vdp.settle().map_err(AgentError::Hardware)?;
    Ok(Some(Built { agent, switch, workers, listeners, heir, door }))
}

/// What a router alone has besides its agent.
struct Household<'a> {
    workers: Workers,
    manager: ServiceManager,
    report: Report,
    estate: Estate,
    rest: Option<Rest>,
    /// The workers, if a successor has taken over.
    returned: Option<Vec<Worker>>,
    options: &'a Options,
}

impl Company for Household<'_> {
    fn tend(&mut self, agent: &mut Agent) -> Result<bool, AgentError> {
        if self.workers.has_ended() {
            return Err(AgentError::Worker("it stopped".into()));
        }
        let now = Instant::now();
        self.manager.keep_alive(agent.switch.rounds(), now);
        self.report.write_when_due(agent, self.options, now);
        if let Some(rest) = &self.rest {
            if rest.finish(agent)? {
                self.rest = None;
            }
            return Ok(true);
        }
        self.returned = self.estate.serve_successors(agent, &mut self.workers, &mut self.manager)?;
        Ok(self.returned.is_none())
    }

    fn add_to(&self, poll: &mut PollSet) {
        match &self.rest {
            Some(rest) => rest.add_to(poll),
            None => self.estate.add_to(poll),
        }
    }
}

/// A data plane that a thread builds. If the router is told to stop meanwhile, the thread is left to itself.
struct Loading {
    built: Receiver<Result<Arc<VirtualDataPlane>, BuildError>>,
    vdp: Option<Arc<VirtualDataPlane>>,
}

impl Loading {
    fn start(
        build: impl FnOnce() -> Result<Arc<VirtualDataPlane>, BuildError> + Send + 'static,
    ) -> Result<Loading, AgentError> {
        let (sender, built) = mpsc::channel();
        let run = move || drop(sender.send(build()));
        let thread = std::thread::Builder::new().name("program".into()).spawn(run);
        thread.map_err(|e| AgentError::Program(e.to_string()))?;
        Ok(Loading { built, vdp: None })
    }

    /// Waits until the data plane is there, or the router is to stop: then there is none.
    fn wait(&mut self, stop: &AtomicBool) -> Result<bool, AgentError> {
        while self.vdp.is_none() && !stop.load(Ordering::Relaxed) {
            match self.built.recv_timeout(STOP_TIME) {
                Ok(built) => self.vdp = Some(built?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(AgentError::Program("its thread panicked".into()));
                }
            }
        }
        Ok(self.vdp.is_some())
    }
}

/// The statistics file.
#[derive(Debug, Default)]
struct Report {
    file: StatsFile,
    due: Option<Instant>,
}

impl Report {
    /// Writes the file once in [`REPORT_TIME`], from one interval after the first call on.
    fn write_when_due(&mut self, agent: &Agent, options: &Options, now: Instant) {
        let due = *self.due.get_or_insert(now + REPORT_TIME);
        if now < due || options.stats.is_none() {
            return;
        }
        self.due = Some(now + REPORT_TIME);
        match agent.stats() {
            Ok(stats) => self.write(&stats, options),
            Err(error) => tracing::error!(event = "stats-unavailable", %error, "cannot collect the statistics"),
        }
    }

    /// Writes the file, if there is to be one. A failure is logged once.
    fn write(&mut self, stats: &Stats, options: &Options) {
        let Some(file) = &options.stats else { return };
        match self.file.write(stats, file) {
            Some(WriteChange::Fails(error)) => {
                tracing::error!(
                    event = "stats-not-written", file = %file.display(), %error,
                    "cannot write the statistics; still trying"
                );
            }
            Some(WriteChange::Works) => {
                tracing::info!(
                    event = "stats-written-again", file = %file.display(),
                    "the statistics can be written again"
                )
            }
            None => {}
        }
    }
}
