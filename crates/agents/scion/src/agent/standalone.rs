//! A router alone: a switch with one tenant, and the devices that the router's addresses need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hopwright_agent::hand_over::{Heir, Life, Workers};
use hopwright_dataplane::{BuildError, EngineKind, Switch, SwitchBuilder, VirtualDataPlane, Worker, wait};
use hopwright_host::http::NoLog;
use hopwright_host::netlink::Netlink;
use hopwright_ports::{PortChoice, closing};

use super::hand_over::{self, Router, inherit_sessions};
use super::{Agent, AgentError, Options, Place};
use crate::config::layout::Layout;
use crate::control::program::{self, CPU_PORT, URGENT_CPU_PORT};
use crate::privileges::{self, Phase};
use crate::setup::Setup;
use crate::status::http::Listeners;
use crate::status::state;
use crate::status::stats::{Stats, StatsFile, WriteChange};
use crate::tap::Taps;
use crate::underlay::{Underlay, next_hop};

/// The longest time that a router which is told to stop goes on waiting for its program.
const STOP_TIME: Duration = Duration::from_millis(20);
/// The interval between two writes of the statistics file.
const REPORT_TIME: Duration = Duration::from_secs(1);

/// Runs the router until `options.stop` is set, or another process has taken over. Returns the final statistics.
pub fn run(setup: Setup, options: &Options) -> Result<Stats, AgentError> {
    privileges::log_missing();
    let Some(built) = build(setup, options)? else { return Ok(Stats::default()) };
    let Built { agent, switch, workers, listeners, heir } = built;
    let workers = Workers::start(workers, &agent.setup.config.hopwright.cpus, wait::shorten_slice)
        .map_err(|error| AgentError::Worker(error.to_string()))?;
    inherit_sessions(&heir, &agent)?;
    let shared = listeners.share(&agent.setup.config).map_err(AgentError::HttpThread)?;
    let mut router = Router { agent, workers, listeners: shared };
    let mut life = Life::begin(heir, &mut router)?;
    let status = router.agent.status.clone();
    let log_level = options.log_level.clone().unwrap_or_else(|| Arc::new(NoLog));
    let server = listeners.serve(status.clone(), log_level).map_err(AgentError::HttpThread)?;
    if let Some(watch) = &options.watch {
        // Who no longer wants it is no reason to end.
        let _ = watch.send((switch.clone(), Box::new(move || state::page(&status).ok())));
    }
    let mut report = Report::default();
    let result = life.follow(&mut router, |router, life| {
        if router.workers.has_ended() {
            return Err(AgentError::Worker("it stopped".into()));
        }
        report.write_when_due(&mut router.agent, options, Instant::now());
        router.agent.turn(options, |poll| life.add_to(poll))
    });
    let Router { mut agent, mut workers, listeners } = router;
    closing::end_of_process();
    switch.stop();
    agent.reload.stop_watching();
    workers.join()?;
    drop((workers, server));
    result?;
    let stats = agent.stats()?;
    // The file is the successor's.
    if !life.handed_over() {
        report.write(&stats, options);
    }
    // The process ends: nobody needs the memory of the tables again, and freeing it takes time. A device is closed, and says what
    // it has done.
    if agent.vdp.engine_kind() != EngineKind::Offload {
        std::mem::forget(agent.vdp.clone());
    }
    drop((agent, switch));
    life.end();
    drop(listeners);
    Ok(stats)
}

/// A router that is complete, but does not run yet.
struct Built {
    agent: Agent,
    switch: Arc<Switch>,
    workers: Vec<Worker>,
    listeners: Listeners,
    heir: Heir,
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
    let mut heir = options.hand_over.prepare(&hand_over::name(&setup))?;
    // Otherwise the data plane is built while devices are opened, which is mostly waiting for the kernel.
    let mut kernel = Netlink::open().map_err(AgentError::Netlink)?;
    let mut underlay = Underlay::new(&mut kernel, &setup)?;
    hand_over::bequeath(&mut heir, &underlay);
    setup.links.choose_ports();
    underlay.bind(&kernel, &setup.links, false)?;
    let used = next_hop::used_devices(&mut kernel, &setup.links);
    let mut raw = underlay.follow(&kernel, &[&setup.links], &used);
    if setup.config.hopwright.ports == PortChoice::AfXdp
        && let Some(error) = raw.refused.pop()
    {
        return Err(error.into());
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
    let listeners = Listeners::open(&setup.config, std::mem::take(&mut heir.offer.descriptors))?;
    // Threads started from here on have only the remaining privileges.
    privileges::drop_privileges(Phase::Running)?;
    // Next hops are programmed before the first packet.
    let tenant = switch.default_tenant().clone();
    let agent = Agent::new(setup, Place { load: Setup::load, switch: switch.clone(), tenant, kernel, underlay, taps })?;
    // The router is ready when the program has its tables, wherever it runs.
    agent.vdp.settle().map_err(AgentError::Hardware)?;
    Ok(Some(Built { agent, switch, workers, listeners, heir }))
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
    fn write_when_due(&mut self, agent: &mut Agent, options: &Options, now: Instant) {
        let due = *self.due.get_or_insert(now + REPORT_TIME);
        if now < due || options.stats.is_none() {
            return;
        }
        self.due = Some(now + REPORT_TIME);
        match agent.stats() {
            Ok(stats) => {
                self.write(&stats, options);
                agent.stats_written = Some(!self.file.fails());
            }
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
