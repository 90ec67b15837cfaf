//! Applies a changed configuration while packets flow.
//!
//! A thread reads and checks the files. The agent then opens what the new configuration needs while the old one remains
//! active. It changes table entries one by one, each after the entries that it refers to, and closes unused ports and
//! sockets last. A failure before the first change of an entry leaves the router unchanged; after a later failure the
//! agent restores the old configuration.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{Count, Difference, wall_clock_us};
use hopwright_host::watch::FileWatch;
use hopwright_ports::closing;

use super::{Agent, AgentError, Options};
use crate::control::program::LINK_COUNTERS;
use crate::control::tables::{self, FLYOVER_CELLS, FLYOVERS, LINK_TABLES};
use crate::setup::change::{self, ReloadCounts};
use crate::setup::{Setup, SetupError};
use crate::status::ActiveConfig;
use crate::underlay::next_hop::{self, link_ends};

/// Files are read after they have not changed for this time, because a change may take several writes.
const QUIET: Duration = Duration::from_millis(100);
/// Continuous changes delay reading by at most this time.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// The state of a reload.
pub(super) struct Reload {
    watch: Option<FileWatch>,
    /// When file changes were first and last noticed.
    noticed: Option<(Instant, Instant)>,
    /// Whether a reload was requested explicitly.
    told: bool,
    state: State,
    counts: ReloadCounts,
}

enum State {
    Idle,
    Loading(JoinHandle<Result<Setup, SetupError>>),
    /// Everything is open, and the workers are taking up new ports.
    Preparing(Box<Setup>),
}

impl Reload {
    pub(super) fn new(setup: &Setup) -> Reload {
        let mut reload =
            Reload { watch: None, noticed: None, told: false, state: State::Idle, counts: ReloadCounts::default() };
        reload.watch(setup);
        reload
    }

    /// Watches the files of a setup, if there are any and the setup requests it.
    fn watch(&mut self, setup: &Setup) {
        self.watch = None;
        let Some(file) = setup.file.as_ref().filter(|_| setup.config.hopwright.reload.watch_files) else { return };
        match FileWatch::new(&change::files(file, &setup.config.general.config_dir)) {
            Ok(watch) => self.watch = Some(watch),
            Err(error) => tracing::warn!(
                event = "files-not-watched", %error,
                "cannot watch the configuration for changes; SIGHUP works"
            ),
        }
    }

    /// Ends watching files. In the background, because the kernel closes the watch slowly.
    pub(super) fn stop_watching(&mut self) {
        if let Some(watch) = self.watch.take() {
            closing::in_background(move || drop(watch));
        }
    }

    pub(super) fn counts(&self) -> ReloadCounts {
        self.counts.clone()
    }

    /// Adds the events to wait for.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        if let Some(watch) = &self.watch {
            poll.add(watch.fd());
        }
    }

    /// Returns the setup that is being prepared.
    pub(super) fn preparing(&self) -> Option<&Setup> {
        match &self.state {
            State::Preparing(setup) => Some(setup),
            _ => None,
        }
    }

    /// Whether a reload is in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.told || self.noticed.is_some() || !matches!(self.state, State::Idle)
    }

    /// Whether it is time to read the files.
    fn is_due(&mut self, now: Instant) -> bool {
        if self.watch.as_mut().is_some_and(FileWatch::changed) {
            let first = self.noticed.map_or(now, |(first, _)| first);
            self.noticed = Some((first, now));
        }
        let settled = |(first, last): (Instant, Instant)| {
            now.duration_since(last) >= QUIET || now.duration_since(first) >= LONGEST_DELAY
        };
        self.told || self.noticed.is_some_and(settled)
    }

    fn refuse(&mut self, error: &AgentError) {
        self.state = State::Idle;
        self.counts.refused += 1;
        self.counts.error = Some(error.to_string());
        tracing::error!(
            event = "reload-refused", %error,
            "the changed configuration is refused; the previous one stays in force"
        );
    }

    /// Handles a failure while applying a configuration.
    fn fail(&mut self, error: &AgentError) {
        self.counts.failed += 1;
        self.counts.error = Some(error.to_string());
        tracing::error!(
            event = "reload-failed", %error,
            "the changed configuration cannot be applied; the previous one is restored"
        );
    }
}

impl Agent {
    /// Takes the next step of a reload.
    pub(super) fn follow_configuration(&mut self, options: &Options) {
        let now = Instant::now();
        if let Err(error) = self.rollover.expire(&self.vdp, &self.setup.keys, now) {
            tracing::error!(event = "key-not-removed", %error, "cannot remove an expired key");
        }
        self.reload.told |= options.reload.swap(false, Ordering::Relaxed);
        let due = self.reload.is_due(now);
        match std::mem::replace(&mut self.reload.state, State::Idle) {
            State::Idle => {
                if due {
                    (self.reload.told, self.reload.noticed) = (false, None);
                    self.load();
                }
            }
            State::Loading(thread) if thread.is_finished() => match thread.join() {
                Ok(Ok(setup)) => self.prepare(setup),
                Ok(Err(error)) => self.reload.refuse(&error.into()),
                Err(_) => self.reload.refuse(&AgentError::Reading),
            },
            State::Preparing(setup) => {
                // Entries must not refer to a port before all workers know it.
                if self.ports_changing || self.switch.ports_changing() {
                    self.reload.state = State::Preparing(setup);
                } else {
                    self.take_on(*setup, now);
                }
            }
            loading => self.reload.state = loading,
        }
    }

    /// Reads the files on a thread, because resolving names takes time.
    fn load(&mut self) {
        let Some(file) = self.setup.file.clone() else { return };
        tracing::info!(event = "reload-started", file = %file.display(), "reading the configuration again");
        let (load, lenient) = (self.load, self.setup.config.lenient);
        match std::thread::Builder::new().name("reload".into()).spawn(move || load(&file, lenient)) {
            Ok(thread) => self.reload.state = State::Loading(thread),
            Err(error) => self.reload.refuse(&AgentError::Worker(error.to_string())),
        }
    }

    /// Opens what the new setup needs in addition.
    fn prepare(&mut self, mut setup: Setup) {
        if let Err(error) = change::check(&self.setup, &setup) {
            self.reload.refuse(&error.into());
            return;
        }
        setup.links = setup.links.numbered_like(&self.setup.links);
        setup.links.arrivals.clone_from(&self.setup.links.arrivals);
        if change::unchanged(&self.setup, &setup) {
            self.reload.counts.unchanged += 1;
            self.reload.counts.error = None;
            tracing::info!(event = "reload-unchanged", "the configuration has not changed");
            return;
        }
        // The number of entries does not depend on next hops.
        let wanted = tables::entries(&setup.links, |_| tables::LinkState::Unresolved);
        if let Err(error) = Difference::between(self.vdp.control(), &LINK_TABLES, &wanted) {
            self.reload.refuse(&error.into());
            return;
        }
        setup.links.choose_ports();
        if let Err(error) = self.underlay.bind(&self.kernel, &setup.links, true) {
            self.reload.refuse(&error.into());
            return;
        }
        self.reload.state = State::Preparing(Box::new(setup));
        if let Err(error) = self.follow_devices(true) {
            self.reload.refuse(&error);
            self.narrow();
        }
    }

    /// Closes what is not needed. What cannot be closed now stays open until the next change.
    fn narrow(&mut self) {
        self.underlay.unbind(&self.setup.links);
        if let Err(error) = self.follow_devices(true) {
            tracing::warn!(event = "devices-open", %error, "unused devices stay open");
        }
    }

    /// Activates a setup for which everything is open. Restores the previous one if that fails.
    fn take_on(&mut self, setup: Setup, now: Instant) {
        let before = self.setup.clone();
        match self.put_into_force(setup, now) {
            Ok((new, changed, gone)) => {
                for change in change::describe(&before.links, &self.setup.links) {
                    tracing::info!(event = "reload-change", "{change}");
                }
                if before.keys.current != self.setup.keys.current {
                    let overlap = self.rollover.overlap_left(now).unwrap_or_default();
                    tracing::info!(
                        event = "key-changed",
                        overlap_s = overlap.as_secs(),
                        "the hop-field key has changed"
                    );
                }
                tracing::info!(
                    event = "reload-applied",
                    new,
                    changed,
                    gone,
                    "configuration changed: entries of the tables"
                );
                self.status.set_active(ActiveConfig::of(&self.setup));
                self.reload.counts.applied += 1;
                self.reload.counts.error = None;
                self.reload.watch(&self.setup);
            }
            Err(error) => {
                self.reload.fail(&error);
                if let Err(error) = self.put_into_force(before, now) {
                    tracing::error!(
                        event = "restore-failed", %error,
                        "the previous configuration cannot be restored completely"
                    );
                }
            }
        }
        self.narrow();
    }

    /// Changes everything to a setup, whatever the current state. Returns the numbers of added, modified and deleted
    /// table entries.
    fn put_into_force(&mut self, setup: Setup, now: Instant) -> Result<(usize, usize, usize), AgentError> {
        let gone = link_ends(&self.setup.links).filter(|old| !link_ends(&setup.links).any(|new| new == *old));
        for (target, ..) in gone.collect::<Vec<_>>() {
            self.next_hops.remove(target);
        }
        self.reset_counters(&setup)?;
        self.setup = setup;
        // Addresses may have moved since everything was opened.
        self.setup.links.arrivals = super::arrivals(&self.setup, &mut self.underlay, &self.kernel);
        self.next_hops.set_ports(self.underlay.ports(&self.kernel), &self.kernel, Instant::now());
        next_hop::add_links(&mut self.next_hops, &self.setup.links, &mut self.kernel);
        let changes = self.next_hops.take_changes();
        // Sessions of unchanged links continue.
        self.bfd.set_key(self.setup.keys.current.clone());
        self.bfd.configure(self.setup.bfd.clone());
        for target in self.setup.bfd.iter().filter_map(|spec| self.setup.links.target(spec.link)) {
            self.tell_bfd(target);
        }

        let wanted = tables::entries(&self.setup.links, |target| self.link_state(target));
        let difference = Difference::between(self.vdp.control(), &LINK_TABLES, &wanted)?;
        difference.apply(self.vdp.control())?;
        tables::set_clock(&self.vdp, &self.setup.links, wall_clock_us())?;
        tables::set_dispatched_ports(&self.vdp, self.setup.dispatched_ports())?;
        self.rollover.set(&self.vdp, &self.setup.keys, &self.setup.config.hopwright.reload, now)?;
        self.program_all(changes)?;
        self.log_link_ports();
        self.slow_path.set(super::slow_path_settings(&self.setup.config));
        self.slow_path.set_keys(&self.setup.keys, wall_clock_us());
        Ok(difference.counts())
    }

    /// Resets the counters of new links.
    fn reset_counters(&self, setup: &Setup) -> Result<(), AgentError> {
        let indices = |s: &Setup| -> Vec<u16> {
            s.links.external.iter().map(|e| e.index).chain(s.links.siblings.iter().map(|s| s.index)).collect()
        };
        let running = indices(&self.setup);
        for index in indices(setup).into_iter().filter(|i| !running.contains(i)) {
            let flyovers = tables::has_hummingbird(&self.vdp).then_some((FLYOVERS, FLYOVER_CELLS));
            for (counter, cells) in LINK_COUNTERS.into_iter().chain(flyovers) {
                for cell in 0..cells {
                    self.vdp
                        .control()
                        .counter(counter)
                        .and_then(|c| c.write(u64::from(index) * cells + cell, Count::default()))?;
                }
            }
        }
        Ok(())
    }
}
