//! The traces of a data plane, and what executors record for them: counts, and the paths of packets while profiling is on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use hopwright_abi::{MAX_EXIT_SITES, MAX_PROFILE_POINTS, RunBatch};

use crate::jit::{PathProfiler, TraceCode};
use crate::sync::published::Published;
use crate::sync::quiescence::{Domain, Guard};
use crate::trace::shared::SharedTraces;

/// Words of one packet's profile: the number of program points, then the points.
pub(super) const WORDS: usize = MAX_PROFILE_POINTS + 1;

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
    pub(super) code: Published<Option<Arc<TraceCode>>>,
    /// The number of paths that have code.
    pub(super) paths: AtomicU64,
    pub(super) respecialisations: AtomicU64,
    /// What the code is charged as, in bytes.
    pub(super) bytes: AtomicU64,
    /// Set while executors should profile packets.
    pub(super) profiling: AtomicBool,
    pub(super) profile: Mutex<PathProfile>,
    tallies: Mutex<Vec<Weak<Tally>>>,
    shared: Arc<SharedTraces>,
}

/// The profile being recorded.
#[derive(Default)]
pub(crate) struct PathProfile {
    pub(super) profiler: Option<Arc<PathProfiler>>,
    pub(super) words: Vec<u32>,
    pub(super) packets: usize,
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
    /// `shared` are those of the program's machine code.
    pub(crate) fn new(domain: &Arc<Domain>, shared: Arc<SharedTraces>) -> Traces {
        Traces {
            code: Published::new(None, domain),
            paths: AtomicU64::new(0),
            respecialisations: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            profiling: AtomicBool::new(false),
            profile: Mutex::default(),
            tallies: Mutex::default(),
            shared,
        }
    }

    /// Returns the current trace function, if there is one.
    #[inline]
    pub(crate) fn run(&self, guard: &Guard<'_>) -> Option<RunBatch> {
        self.current(guard).map(TraceCode::run)
    }

    /// Returns the current traces, if there are any.
    pub(crate) fn current<'a>(&'a self, guard: &'a Guard<'_>) -> Option<&'a TraceCode> {
        self.code.get(guard.inside()).as_deref()
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
        let of = |site: usize| tallies.iter().map(|t| t.sites[site].load(Ordering::Relaxed)).sum();
        let counted = self.shared.exit_sites().into_iter().enumerate().map(|(site, text)| (text, of(site)));
        counted.filter(|(_, packets)| *packets > 0).collect()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
