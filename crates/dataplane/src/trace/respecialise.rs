//! Learning which ways packets take through a program, and giving these ways code of their own
//! ([`hopwright_jit::TraceCode`]).
//!
//! To learn, an executor runs some packets by a recorder; from what it wrote down, whoever asked for it compiles the most
//! frequent ways and publishes the function, which executors use from their next batch on. It computes what the ordinary
//! function computes, so learning can happen at any time or never. A switch learns by itself where packets
//! flow, and again when they take other ways. Does not live here: what a way is, and code (the compiler).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use hopwright_abi::{MAX_PROFILE_POINTS, RunBatch};
use hopwright_jit::{Path, PathProfiler, Unsupported};

use crate::sync::published::Published;
use crate::sync::quiescence::{Domain, Guard};
use crate::vdp::{Engine, VirtualDataPlane};
use crate::worker::switch::Switch;

/// Most ways that get code.
const MAX_WAYS: usize = 24;

/// Words of what is written down of one packet.
const WORDS: usize = MAX_PROFILE_POINTS + 1;

/// What an executor tells: written by it alone.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Tally {
    /// Packets run.
    pub packets: AtomicU64,
    /// Packets of these that left the hot paths.
    pub left: AtomicU64,
}

/// The hot paths of a data plane.
pub struct Traces {
    code: Published<Option<hopwright_jit::TraceCode>>,
    /// Executors are to record.
    wanted: AtomicBool,
    recording: Mutex<Recording>,
    tallies: Mutex<Vec<Weak<Tally>>>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specialisation {
    /// Packets whose ways were recorded.
    pub packets: usize,
    /// Different ways they took.
    pub ways: usize,
    /// Packets of these on ways that have code now.
    pub covered: usize,
    /// How long compiling took.
    pub compile_time: Duration,
    /// Bytes of machine code.
    pub code_bytes: usize,
}

/// Ways that are being written down.
#[derive(Default)]
pub(crate) struct Recording {
    recorder: Option<Arc<PathProfiler>>,
    words: Vec<u32>,
    packets: usize,
}

impl Recording {
    /// Runs a packet by the recorder: the function is called with it and the place for the packet's way. False if the
    /// recording is full.
    pub fn record(&mut self, run: impl FnOnce(RunBatch, *mut u32)) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        let Some(place) = self.words.get_mut(self.packets * WORDS..(self.packets + 1) * WORDS) else { return false };
        run(recorder.run(), place.as_mut_ptr());
        self.packets += 1;
        true
    }
}

impl Traces {
    pub(crate) fn new(domain: &Arc<Domain>) -> Traces {
        Traces {
            code: Published::new(None, domain),
            wanted: AtomicBool::new(false),
            recording: Mutex::default(),
            tallies: Mutex::default(),
        }
    }

    /// The function for packets on hot paths, if there is one.
    #[inline]
    pub(crate) fn run(&self, guard: &Guard<'_>) -> Option<RunBatch> {
        self.code.get(guard).as_ref().map(hopwright_jit::TraceCode::run)
    }

    /// Counts for one more executor.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        let tally = Arc::<Tally>::default();
        lock(&self.tallies).push(Arc::downgrade(&tally));
        tally
    }

    /// The recording, if packets are to be recorded and nobody else is at it.
    #[inline]
    pub(crate) fn wanted(&self) -> Option<MutexGuard<'_, Recording>> {
        if !self.wanted.load(Ordering::Relaxed) {
            return None;
        }
        match self.recording.try_lock() {
            Ok(recording) => Some(recording),
            Err(TryLockError::Poisoned(recording)) => Some(recording.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The recording is full.
    pub(crate) fn is_full(&self) {
        self.wanted.store(false, Ordering::Release);
    }

    /// Packets run and packets that left the hot paths, of all executors that are alive.
    pub fn counts(&self) -> (u64, u64) {
        let mut tallies = lock(&self.tallies);
        tallies.retain(|t| t.strong_count() > 0);
        let sum = |of: fn(&Tally) -> &AtomicU64| {
            tallies.iter().filter_map(Weak::upgrade).map(|t| of(&t).load(Ordering::Relaxed)).sum()
        };
        (sum(|t| &t.packets), sum(|t| &t.left))
    }
}

impl VirtualDataPlane {
    /// Records the ways of the next packets, up to so many, whichever executor runs them.
    ///
    /// # Errors
    /// What the compiler says; [`VirtualDataPlane::respecialise`] then has nothing to learn from.
    pub fn start_profiling(&self, packets: usize) -> Result<(), Unsupported> {
        let Engine::Jit(_) = self.engine() else { return Ok(()) };
        self.prepare_profiler()?;
        let traces = self.traces();
        let mut recording = lock(&traces.recording);
        recording.packets = 0;
        recording.words.clear();
        recording.words.resize(packets * WORDS, 0);
        drop(recording);
        traces.wanted.store(true, Ordering::Release);
        Ok(())
    }

    /// Compiles the recorder, which takes longer than all the rest. Done before, it is not done when it is needed.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn prepare_profiler(&self) -> Result<(), Unsupported> {
        let there = lock(&self.traces().recording).recorder.is_some();
        if there || !matches!(self.engine(), Engine::Jit(_)) {
            return Ok(());
        }
        let recorder = Arc::new(PathProfiler::new(self.pipeline())?);
        lock(&self.traces().recording).recorder = Some(recorder);
        Ok(())
    }

    /// Whether there are packets still to be recorded.
    pub fn is_profiling(&self) -> bool {
        self.traces().wanted.load(Ordering::Acquire)
    }

    /// Ends the recording and gives the most frequent ways code of their own. `None` if nothing was recorded.
    ///
    /// # Errors
    /// What the compiler says; then everything stays as it is.
    pub fn respecialise(&self) -> Result<Option<Specialisation>, Unsupported> {
        let Engine::Jit(program) = self.engine() else { return Ok(None) };
        let traces = self.traces();
        traces.is_full();
        let (words, packets, recorder) = {
            let mut recording = lock(&traces.recording);
            let packets = std::mem::take(&mut recording.packets);
            (std::mem::take(&mut recording.words), packets, recording.recorder.clone())
        };
        let Some(recorder) = recorder.filter(|_| packets > 0) else { return Ok(None) };
        let mut found: HashMap<&[u32], usize> = HashMap::new();
        for words in words.chunks_exact(WORDS).take(packets) {
            let points = (words[0] as usize).min(MAX_PROFILE_POINTS);
            *found.entry(&words[1..=points]).or_default() += 1;
        }
        let ways = found.len();
        let mut found: Vec<(&[u32], usize)> = found.into_iter().collect();
        found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        found.truncate(MAX_WAYS);
        let frequent: Vec<(Path, usize)> =
            found.iter().map(|(numbers, packets)| (recorder.path(numbers), *packets)).collect();
        let of = |code: &hopwright_jit::TraceCode| {
            frequent.iter().filter(|(way, _)| code.paths().contains(way)).map(|(_, packets)| packets).sum::<usize>()
        };
        let paths: Vec<Path> = frequent.iter().map(|(way, _)| way.clone()).collect();
        // Who leaves has gone part of the way for nothing: most must stay.
        let code = program.specialise(self.pipeline(), &paths)?.filter(|code| of(code) * 2 >= packets);
        let mut done = Specialisation { packets, ways, covered: 0, compile_time: Duration::ZERO, code_bytes: 0 };
        if let Some(code) = &code {
            let (covered, compile_time, code_bytes) = (of(code), code.compile_time(), code.code().len());
            done = Specialisation { covered, compile_time, code_bytes, ..done };
        }
        traces.code.set(code);
        Ok(Some(done))
    }
}

/// Fewest packets between two looks that say which ways are hot.
const ENOUGH: u64 = 10_000;

/// Packets recorded to learn from.
const SAMPLE: usize = 1_024;

/// Learns the ways of packets as they flow, for as long as the switch lives.
///
/// Looks once a second: when packets flow that have no hot paths, or of which one in eight leaves them, it learns; the
/// more often that does not help, the longer it waits before it tries again.
fn adapt(switch: &Weak<Switch>) {
    const LOOK: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(64);
    let mut watched: Option<(Weak<VirtualDataPlane>, (u64, u64), bool)> = None;
    let mut pause = LOOK;
    let mut not_before = Instant::now();
    loop {
        std::thread::sleep(LOOK);
        let Some(vdp) = switch.upgrade().map(|s| s.vdp()) else { return };
        let now = vdp.traces().counts();
        let same = watched.take().filter(|(it, ..)| it.as_ptr() == Arc::as_ptr(&vdp));
        let (before, mut done) = same.map_or(((0, 0), false), |(_, before, done)| (before, done));
        let (packets, left) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        if packets >= ENOUGH && done && left * 8 < packets {
            pause = LOOK;
        } else if packets >= ENOUGH && Instant::now() >= not_before {
            // What the compiler cannot do now it will not do later.
            let Ok(found) = profile_and_respecialise(&vdp, LOOK) else { return };
            done |= found.is_some_and(|found| found.covered > 0);
            not_before = Instant::now() + pause;
            pause = (pause * 2).min(LONGEST);
        } else if packets > 0 && vdp.prepare_profiler().is_err() {
            return;
        }
        watched = Some((Arc::downgrade(&vdp), vdp.traces().counts(), done));
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

/// Has somebody learn for as long as the switch lives, who gives way to everybody else. Without a thread for that, packets
/// take the ordinary function.
pub(crate) fn start_respecialiser(switch: &Arc<Switch>) {
    let switch = Arc::downgrade(switch);
    let _ = std::thread::Builder::new().name("respecialiser".into()).spawn(move || {
        // A worker on the same CPU keeps three quarters of it.
        // SAFETY: lowers the priority of this thread and touches nothing else.
        unsafe { libc::nice(5) };
        adapt(&switch);
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
