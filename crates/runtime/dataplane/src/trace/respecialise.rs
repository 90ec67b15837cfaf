//! Profile-guided re-specialisation: profiles the paths of packets and compiles traces of the most frequent ones
//! ([`TraceCode`]).
//!
//! While profiling is on, executors run packets with the path profiler, a variant of the generic function that records
//! the path of each packet. The caller of [`VirtualDataPlane::respecialise`] then compiles the most frequent paths and
//! publishes the function. Executors use it from their next batch on. A trace computes the same as the generic
//! function, so it can be replaced at any time. A switch re-specialises by itself while packets flow, and again when
//! packets take other paths ([`crate::worker::respecialiser`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hopwright_abi::MAX_PROFILE_POINTS;
use hopwright_ir::Pipeline;

use super::traces::{WORDS, lock};
use crate::jit::trace_ir::TraceIr;
use crate::jit::{Path, PathProfiler, TraceCode, TracePass, Unsupported};
use crate::vdp::{Engine, VirtualDataPlane};

/// The maximum number of paths that get a trace.
const MAX_PATHS: usize = 24;

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

    /// Compiles the path profiler in advance. This takes longer than the rest of a re-specialisation. Returns whether it was compiled now: equal
    /// programs share it.
    ///
    /// # Errors
    /// The path profiler cannot be compiled.
    pub fn prepare_profiler(&self) -> Result<bool, Unsupported> {
        let there = lock(&self.traces().profile).profiler.is_some();
        let Engine::Jit(program) = self.engine() else { return Ok(false) };
        if there {
            return Ok(false);
        }
        let (profiler, compiled) = program.profiler(self.pipeline())?;
        lock(&self.traces().profile).profiler = Some(profiler);
        Ok(compiled)
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
        // A tenant without the memory for traces goes on with those it has, or without.
        let bytes = code.as_ref().map_or(0, |code| code.code().len().next_multiple_of(4096) as u64);
        if self.control().account().exchange(traces.bytes.load(Ordering::Relaxed), bytes).is_err() {
            return Ok(Some(Specialisation { covered: 0, ..done }));
        }
        traces.bytes.store(bytes, Ordering::Relaxed);
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
    /// run after the data plane is dropped. Data planes with the same machine code share the traces of the same paths. `None` if
    /// fewer than half of the packets would complete a trace.
    ///
    /// # Errors
    /// The traces cannot be compiled.
    pub fn compile_traces(
        &self,
        profile: &Profile,
        without: &[TracePass],
    ) -> Result<Option<Arc<TraceCode>>, Unsupported> {
        let Engine::Jit(program) = self.engine() else { return Ok(None) };
        let paths: Vec<Path> = profile.paths.iter().take(MAX_PATHS).map(|(path, _)| path.clone()).collect();
        // A packet that takes a side exit has run part of the trace in vain, so at least half of the packets must
        // complete one.
        let code = program.specialise(self.pipeline(), &paths, without)?;
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
