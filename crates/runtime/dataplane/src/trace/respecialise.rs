//! Profile-guided re-specialisation: profiles the paths of packets and compiles traces of the most frequent ones
//! ([`TraceCode`]).
//!
//! While profiling is on, executors run packets with the path profiler, a variant of the generic function that records
//! the path of each packet. The caller of [`VirtualDataPlane::respecialise`] then compiles the most frequent paths and
//! publishes the function. Executors use it from their next batch on. A trace computes the same as the generic
//! function, so it can be replaced at any time. A switch re-specialises by itself while packets flow, and again when
//! packets take other paths.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use hopwright_abi::{MAX_EXIT_SITES, MAX_PROFILE_POINTS, RunBatch};
use hopwright_ir::Pipeline;

use crate::jit::trace_ir::TraceIr;
use crate::jit::{ExitSites, Path, PathProfiler, TraceCode, TracePass, Unsupported};
use crate::sync::published::Published;
use crate::sync::quiescence::{Domain, Guard};
use crate::vdp::{Engine, VirtualDataPlane};
use crate::worker::switch::Switch;

/// The maximum number of paths that get a trace.
const MAX_PATHS: usize = 24;

/// Words of one packet's profile: the number of program points, then the points.
const WORDS: usize = MAX_PROFILE_POINTS + 1;

/// One executor's counts. Only the executor writes them.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Tally {
    /// Number of packets run.
    pub packets: AtomicU64,
    /// Number of these packets that took a side exit.
    pub exits: AtomicU64,
    /// Numbers of these packets by the place in the program where they left ([`ExitSites`]).
    pub sites: Box<[AtomicU64]>,
}

impl Default for Tally {
    fn default() -> Tally {
        let sites = (0..MAX_EXIT_SITES).map(|_| AtomicU64::default()).collect();
        Tally { packets: AtomicU64::default(), exits: AtomicU64::default(), sites }
    }
}

/// The traces of a data plane.
pub struct Traces {
    code: Published<Option<TraceCode>>,
    /// The number of paths that have code.
    paths: AtomicU64,
    respecialisations: AtomicU64,
    /// Set while executors should profile packets.
    profiling: AtomicBool,
    profile: Mutex<PathProfile>,
    tallies: Mutex<Vec<Weak<Tally>>>,
    sites: Mutex<ExitSites>,
}

/// The outcome of a re-specialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specialisation {
    /// Number of profiled packets.
    pub packets: usize,
    /// Number of different paths that these packets took.
    pub paths: usize,
    /// Number of profiled packets whose paths have a trace.
    pub covered: usize,
    /// Duration of the compilation.
    pub compile_time: Duration,
    /// Size of the machine code in bytes.
    pub code_bytes: usize,
}

/// The profile being recorded.
#[derive(Default)]
pub(crate) struct PathProfile {
    profiler: Option<Arc<PathProfiler>>,
    words: Vec<u32>,
    packets: usize,
}

impl PathProfile {
    /// Profiles a packet: `run` receives the profiler's function and the buffer for the packet's path. Returns false if
    /// the profile is full or there is no profiler.
    pub(crate) fn record(&mut self, run: impl FnOnce(RunBatch, *mut u32)) -> bool {
        let Some(profiler) = &self.profiler else { return false };
        let Some(place) = self.words.get_mut(self.packets * WORDS..(self.packets + 1) * WORDS) else { return false };
        run(profiler.run(), place.as_mut_ptr());
        self.packets += 1;
        true
    }
}

impl Traces {
    pub(crate) fn new(domain: &Arc<Domain>) -> Traces {
        Traces {
            code: Published::new(None, domain),
            paths: AtomicU64::new(0),
            respecialisations: AtomicU64::new(0),
            profiling: AtomicBool::new(false),
            profile: Mutex::default(),
            tallies: Mutex::default(),
            sites: Mutex::default(),
        }
    }

    /// Returns the current trace function, if there is one.
    #[inline]
    pub(crate) fn run(&self, guard: &Guard<'_>) -> Option<RunBatch> {
        self.code.get(guard.inside()).as_ref().map(TraceCode::run)
    }

    /// Returns counts for a new executor.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        let tally = Arc::<Tally>::default();
        lock(&self.tallies).push(Arc::downgrade(&tally));
        tally
    }

    /// Returns the profile if packets should be profiled and no other executor is recording at this moment.
    #[inline]
    pub(crate) fn active_profile(&self) -> Option<MutexGuard<'_, PathProfile>> {
        if !self.profiling.load(Ordering::Relaxed) {
            return None;
        }
        match self.profile.try_lock() {
            Ok(profile) => Some(profile),
            Err(TryLockError::Poisoned(profile)) => Some(profile.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Ends profiling.
    pub(crate) fn stop_profiling(&self) {
        self.profiling.store(false, Ordering::Release);
    }

    /// Returns the number of paths that have a trace.
    pub fn paths(&self) -> u64 {
        self.paths.load(Ordering::Relaxed)
    }

    /// Returns how often traces have been compiled.
    pub fn respecialisations(&self) -> u64 {
        self.respecialisations.load(Ordering::Relaxed)
    }

    /// Returns how many packets the current executors have run, and how many of these took a side exit.
    pub fn counts(&self) -> (u64, u64) {
        let mut tallies = lock(&self.tallies);
        tallies.retain(|t| t.strong_count() > 0);
        let sum = |of: fn(&Tally) -> &AtomicU64| {
            tallies.iter().filter_map(Weak::upgrade).map(|t| of(&t).load(Ordering::Relaxed)).sum()
        };
        (sum(|t| &t.packets), sum(|t| &t.exits))
    }

    /// Returns the places of the program at which packets of the current executors took side exits, each with the text of its
    /// line and their number.
    pub fn exits_by_site(&self) -> Vec<(String, u64)> {
        let tallies: Vec<Arc<Tally>> = lock(&self.tallies).iter().filter_map(Weak::upgrade).collect();
        let sites = lock(&self.sites);
        let of = |site: usize| tallies.iter().map(|t| t.sites[site].load(Ordering::Relaxed)).sum();
        let counted = sites.texts().iter().enumerate().map(|(site, text)| (text.clone(), of(site)));
        counted.filter(|(_, packets)| *packets > 0).collect()
    }
}

impl VirtualDataPlane {
    /// Starts profiling: the next `packets` packets, on any executor, record their paths.
    ///
    /// # Errors
    /// The path profiler cannot be compiled. Profiling then does not start.
    pub fn start_profiling(&self, packets: usize) -> Result<(), Unsupported> {
        let Engine::Jit(_) = self.engine() else { return Ok(()) };
        self.prepare_profiler()?;
        let traces = self.traces();
        let mut profile = lock(&traces.profile);
        profile.packets = 0;
        profile.words.clear();
        profile.words.resize(packets * WORDS, 0);
        drop(profile);
        traces.profiling.store(true, Ordering::Release);
        Ok(())
    }

    /// Compiles the path profiler in advance. This takes longer than the rest of a re-specialisation.
    ///
    /// # Errors
    /// The path profiler cannot be compiled.
    pub fn prepare_profiler(&self) -> Result<(), Unsupported> {
        let there = lock(&self.traces().profile).profiler.is_some();
        let Engine::Jit(program) = self.engine() else { return Ok(()) };
        if there {
            return Ok(());
        }
        let profiler = Arc::new(program.profiler(self.pipeline())?);
        lock(&self.traces().profile).profiler = Some(profiler);
        Ok(())
    }

    /// Returns whether profiling is on.
    pub fn is_profiling(&self) -> bool {
        self.traces().profiling.load(Ordering::Acquire)
    }

    /// Ends profiling, compiles traces of the most frequent paths and publishes them. Returns `None` if no packet was
    /// profiled.
    ///
    /// # Errors
    /// The traces cannot be compiled. The current traces stay in use.
    pub fn respecialise(&self) -> Result<Option<Specialisation>, Unsupported> {
        self.respecialise_without(&[])
    }

    /// As [`VirtualDataPlane::respecialise`], but without some passes: the same results, and code that shows what they gain.
    ///
    /// # Errors
    /// As [`VirtualDataPlane::respecialise`].
    pub fn respecialise_without(&self, without: &[TracePass]) -> Result<Option<Specialisation>, Unsupported> {
        let Some(profile) = self.take_profile() else { return Ok(None) };
        let code = self.compile_traces(&profile, without)?;
        let mut done = Specialisation {
            packets: profile.packets,
            paths: profile.different,
            covered: 0,
            compile_time: Duration::ZERO,
            code_bytes: 0,
        };
        if let Some(code) = &code {
            let (covered, compile_time, code_bytes) = (profile.covered(code), code.compile_time(), code.code().len());
            done = Specialisation { covered, compile_time, code_bytes, ..done };
        }
        let traces = self.traces();
        traces.paths.store(code.as_ref().map_or(0, |code| code.paths().len() as u64), Ordering::Relaxed);
        traces.code.set(code);
        traces.respecialisations.fetch_add(1, Ordering::Relaxed);
        Ok(Some(done))
    }

    /// Ends profiling and returns the profile, if packets were profiled.
    pub fn take_profile(&self) -> Option<Profile> {
        let traces = self.traces();
        traces.stop_profiling();
        let (words, packets, profiler) = {
            let mut profile = lock(&traces.profile);
            let packets = std::mem::take(&mut profile.packets);
            (std::mem::take(&mut profile.words), packets, profile.profiler.clone())
        };
        let profiler = profiler.filter(|_| packets > 0)?;
        let mut found: HashMap<&[u32], usize> = HashMap::new();
        for words in words.chunks_exact(WORDS).take(packets) {
            let points = (words[0] as usize).min(MAX_PROFILE_POINTS);
            *found.entry(&words[1..=points]).or_default() += 1;
        }
        let different = found.len();
        let mut found: Vec<(&[u32], usize)> = found.into_iter().collect();
        found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let paths = found.iter().map(|(numbers, packets)| (profiler.path(numbers), *packets)).collect();
        Some(Profile { profiler, packets, different, paths })
    }

    /// Compiles traces of the most frequent paths of a profile, without some passes, and does not publish them. The code must not
    /// run after the data plane is dropped. `None` if fewer than half of the packets would complete a trace.
    ///
    /// # Errors
    /// The traces cannot be compiled.
    pub fn compile_traces(&self, profile: &Profile, without: &[TracePass]) -> Result<Option<TraceCode>, Unsupported> {
        let Engine::Jit(program) = self.engine() else { return Ok(None) };
        let paths: Vec<Path> = profile.paths.iter().take(MAX_PATHS).map(|(path, _)| path.clone()).collect();
        // A packet that takes a side exit has run part of the trace in vain, so at least half of the packets must
        // complete one.
        let sites = &mut lock(&self.traces().sites);
        let code = program.specialise(self.pipeline(), &paths, without, sites)?;
        Ok(code.filter(|code| profile.covered(code) * 2 >= profile.packets))
    }

    /// The trace IR of the paths that have a trace in this code.
    pub fn trace_ir(&self, code: &TraceCode) -> Option<TraceIr> {
        let Engine::Jit(program) = self.engine() else { return None };
        Some(program.trace_ir(self.pipeline(), code.paths()))
    }
}

/// The paths of some packets.
pub struct Profile {
    profiler: Arc<PathProfiler>,
    packets: usize,
    different: usize,
    /// Paths and the number of packets on them, most packets first.
    paths: Vec<(Path, usize)>,
}

impl Profile {
    /// The number of packets.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// The number of different paths.
    pub fn paths(&self) -> usize {
        self.different
    }

    /// The number of packets whose paths have a trace in this code.
    pub fn covered(&self, code: &TraceCode) -> usize {
        self.paths.iter().filter(|(path, _)| code.paths().contains(path)).map(|(_, packets)| packets).sum()
    }

    /// The tree of the paths as text, and where packets leave it whose paths have no trace in the code.
    pub fn tree(&self, pipeline: &Pipeline, code: Option<&TraceCode>) -> String {
        self.profiler.tree(pipeline, &self.paths, code.map_or(&[], TraceCode::paths))
    }
}

/// The minimum number of packets between two checks that may lead to a decision.
const MIN_PACKETS: u64 = 10_000;

/// Number of packets in a profile.
const SAMPLE: usize = 1_024;

/// Time between two checks of a program.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait between two attempts.
const LONGEST: Duration = Duration::from_secs(64);

/// The state of one program's re-specialisation.
struct Watched {
    vdp: Weak<VirtualDataPlane>,
    /// The program's counts at the last check.
    counts: (u64, u64),
    /// Whether the program has had traces.
    specialised: bool,
    /// The compiler has refused the program. It would refuse it again.
    refused: bool,
    pause: Duration,
    not_before: Instant,
}

impl Watched {
    fn new(vdp: &Arc<VirtualDataPlane>) -> Watched {
        let (vdp, not_before) = (Arc::downgrade(vdp), Instant::now());
        Watched { vdp, counts: (0, 0), specialised: false, refused: false, pause: INTERVAL, not_before }
    }

    /// Re-specialises the program if packets run without traces, or at least one in eight takes a side exit. Each
    /// attempt doubles the wait before the next one, up to a minute, until the traces fit.
    fn check(&mut self, vdp: &VirtualDataPlane) {
        let now = vdp.traces().counts();
        let packets = now.0.saturating_sub(self.counts.0);
        let left = now.1.saturating_sub(self.counts.1);
        if self.refused {
            return;
        }
        if packets >= MIN_PACKETS && self.specialised && left * 8 < packets {
            self.pause = INTERVAL;
        } else if packets >= MIN_PACKETS && Instant::now() >= self.not_before {
            match profile_and_respecialise(vdp, INTERVAL) {
                Ok(found) => self.specialised |= found.is_some_and(|found| found.covered > 0),
                Err(_) => self.refused = true,
            }
            self.not_before = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(LONGEST);
        } else if packets > 0 {
            self.refused = vdp.prepare_profiler().is_err();
        }
        self.counts = vdp.traces().counts();
    }
}

/// Re-specialises the programs of a switch's tenants while packets flow, until the switch is dropped.
fn adapt(switch: &Weak<Switch>) {
    let mut watched: Vec<Watched> = Vec::new();
    loop {
        std::thread::sleep(INTERVAL);
        let Some(tenants) = switch.upgrade().map(|switch| switch.tenants()) else { return };
        watched.retain(|watched| watched.vdp.strong_count() > 0);
        for vdp in tenants.iter().map(|tenant| tenant.vdp()) {
            let same = watched.iter().position(|watched| watched.vdp.as_ptr() == Arc::as_ptr(&vdp));
            let at = same.unwrap_or_else(|| {
                watched.push(Watched::new(&vdp));
                watched.len() - 1
            });
            watched[at].check(&vdp);
        }
    }
}

fn profile_and_respecialise(vdp: &VirtualDataPlane, longest: Duration) -> Result<Option<Specialisation>, Unsupported> {
    vdp.start_profiling(SAMPLE)?;
    let begun = Instant::now();
    while vdp.is_profiling() && begun.elapsed() < longest {
        std::thread::sleep(Duration::from_millis(10));
    }
    vdp.respecialise()
}

/// Starts a low-priority thread that re-specialises until the switch is dropped. If no thread can be started, packets
/// run the generic function.
pub(crate) fn start_respecialiser(switch: &Arc<Switch>) {
    let switch = Arc::downgrade(switch);
    let _ = std::thread::Builder::new().name("respecialiser".into()).spawn(move || {
        // At this priority, a worker on the same CPU gets three quarters of it.
        // Failure leaves the thread's priority as it is.
        let _ = rustix::process::nice(5);
        adapt(&switch);
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
