//! Calls generated code: builds the handles through which it accesses tables and externs, and its per-worker memory.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use hopwright_abi::ExternAttributes;
use hopwright_abi::{
    ExternHandle, Packet as RawPacket, Pause, RunBatch, Runtime, SCRATCH_BYTES, TableHandle, ValueSetHandle,
};
use hopwright_interp::QueueDepths;
use hopwright_ir::Pipeline;

use crate::build_error::BuildError;
use crate::control::Control;
use crate::control::destinations::Destinations;
use crate::executor::autotuner::Autotuner;
use crate::executor::key_prefetch::{self, KeyPrefetcher};
use crate::executor::traffic::{Copies, Traffic, WorkerContext};
use crate::externs::{NativeCall, method_numbers};
use crate::jit::trace_ir::TraceIr;
use crate::jit::{
    self, CompiledPipeline, ExitSites, GeneratedCode, Path, PathProfiler, TraceCode, TracePass, Unsupported,
};
use crate::native;
use crate::packet::{Packet, Pool};
use crate::state::ExternObject;
use crate::state::cell::Cells;
use crate::table::{LINE, Table, prefetch_lines};
use crate::trace::shared::SharedTraces;
use crate::trace::traces::Tally;

/// The maximum number of cache lines to prefetch per packet, such that those of a batch do not evict one another from
/// the L1 cache.
const MOST_LINES: usize = 3;
/// The minimum number of packets in a batch for prefetching. Smaller batches have little to overlap, and their timing
/// says little.
const MIN_PACKETS: usize = 16;

/// Passes of packets that were copied, resubmitted or recirculated after which a run returns, so that the caller can look at the time.
const ENOUGH_PASSES: u32 = 128;

/// Machine code of a program, which equal programs share.
pub(crate) struct Code {
    pub compiled: CompiledPipeline,
    /// The path profiler, once it was needed.
    profiler: Mutex<Option<Arc<PathProfiler>>>,
    /// The traces of all data planes that have this code.
    pub traces: Arc<SharedTraces>,
}

impl Code {
    pub(crate) fn new(compiled: CompiledPipeline) -> Arc<Code> {
        Arc::new(Code { compiled, profiler: Mutex::default(), traces: Arc::default() })
    }
}

/// A compiled program and the handles it is called with.
pub(crate) struct MachineProgram {
    code: Arc<Code>,
    tables: Vec<TableHandle>,
    externs: Vec<ExternHandle>,
    value_sets: Vec<ValueSetHandle>,
    digests: ExternHandle,
    key_prefetch: Option<key_prefetch::Plan>,
    /// Properties of each extern object's methods, for the trace compiler.
    natives: Vec<ExternAttributes>,
    /// Owns the state that the handles of externs with several methods point to.
    _renumbered: Box<[Renumbered]>,
}

// SAFETY: the handles point to tables, cells, value sets, digests and extern objects. These may be used from several
// threads and are owned by the same data plane as this program.
unsafe impl Send for MachineProgram {}
// SAFETY: as above; nothing here changes after construction.
unsafe impl Sync for MachineProgram {}

/// An object whose methods have different numbers in generated code than in the object.
struct Renumbered {
    native: NativeCall,
    /// The object's method number for each number in generated code.
    methods: Vec<u32>,
}

impl MachineProgram {
    /// Builds the handles. `control` owns the objects they point to and must live as long as the program.
    pub(crate) fn new(code: Arc<Code>, control: &Arc<Control>) -> Result<MachineProgram, BuildError> {
        let (pipeline, compiled) = (control.pipeline(), &code.compiled);
        if let Some(function) = compiled.interface().functions.first() {
            return Err(BuildError::Program(format!("extern function `{}` has no implementation", function.name)));
        }
        let mut renumbered = Vec::new();
        let mut handles = Vec::new();
        let mut natives = vec![ExternAttributes::default(); pipeline.externs.len()];
        for ((instance, object), methods) in
            pipeline.externs.iter().zip(control.externs()).zip(&compiled.interface().methods)
        {
            let ExternObject::Named(object) = object else {
                handles.push(object.handle());
                continue;
            };
            let numbers = method_numbers(&**object, methods)
                .map_err(|e| BuildError::Program(format!("`{}`: {e}", instance.name)))?;
            let native = object.native();
            natives[handles.len()] = ExternAttributes {
                repeatable: object.repeatable(),
                block: native.block.filter(|_| object.methods().len() == 1),
            };
            if numbers.iter().enumerate().all(|(i, n)| i as u32 == *n) {
                handles.push(ExternHandle { state: native.state, size: 0, call: Some(native.call) });
            } else {
                renumbered.push((handles.len(), Renumbered { native, methods: numbers }));
                handles.push(ExternHandle { state: std::ptr::null_mut(), size: 0, call: Some(call_renumbered) });
            }
        }
        let (at, renumbered): (Vec<usize>, Vec<Renumbered>) = renumbered.into_iter().unzip();
        let renumbered = renumbered.into_boxed_slice();
        for (at, it) in at.into_iter().zip(&renumbered) {
            handles[at].state = std::ptr::from_ref(it).cast_mut().cast();
        }
        Ok(MachineProgram {
            key_prefetch: key_prefetch::Plan::of(compiled, control.tables()),
            tables: control.tables().iter().map(Table::handle).collect(),
            externs: handles,
            value_sets: control.value_sets().iter().map(native::handle_of_set).collect(),
            digests: control.digests().handle(),
            natives,
            _renumbered: renumbered,
            code,
        })
    }

    pub(crate) fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// Bytes of the machine code, in whole pages for each function, and of what is known of its places.
    pub(crate) fn code_bytes(&self) -> u64 {
        let of = |code: GeneratedCode<'_>| code.bytes().len().next_multiple_of(4096) + size_of_val(code.lines());
        self.functions().into_iter().map(|(_, code)| of(code) as u64).sum()
    }

    /// Bytes that each worker has for packets that the program copies or repeats.
    pub(crate) fn worker_bytes(&self) -> u64 {
        let records = self.code.compiled.suspension().map_or(0, Traffic::record_bytes);
        records.saturating_add(self.code.compiled.context_bytes() as u64)
    }
}

impl MachineProgram {
    /// Traces of these paths: those that an equal program has, or new ones. They must not be used after the program is dropped.
    pub(crate) fn specialise(
        &self,
        pipeline: &Pipeline,
        paths: &[Path],
        without: &[TracePass],
    ) -> Result<Option<Arc<TraceCode>>, Unsupported> {
        let compile =
            |sites: &mut ExitSites| TraceCode::new(pipeline, &self.code.compiled, paths, &self.natives, without, sites);
        self.code.traces.find_or_compile(paths, &self.natives, without, compile)
    }

    /// The generated functions, without traces.
    pub(crate) fn functions(&self) -> Vec<(&'static str, GeneratedCode<'_>)> {
        self.code.compiled.functions()
    }

    /// The path profiler of the program. Whether it was compiled now.
    pub(crate) fn profiler(&self, pipeline: &Pipeline) -> Result<(Arc<PathProfiler>, bool), Unsupported> {
        let mut profiler = self.code.profiler.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = &*profiler {
            return Ok((there.clone(), false));
        }
        let new = Arc::new(jit::profiler(&self.code.compiled, pipeline)?);
        Ok((profiler.insert(new).clone(), true))
    }

    /// The trace IR of these paths.
    pub(crate) fn trace_ir(&self, pipeline: &Pipeline, paths: &[Path]) -> TraceIr {
        jit::trace_ir_of(&self.code.compiled, pipeline, paths, &self.natives)
    }
}

unsafe extern "C" fn call_renumbered(state: *mut c_void, method: u32, args: *mut u64) {
    // SAFETY: `state` is the Renumbered whose handle contains this function; it lives as long as the program.
    let it = unsafe { &*state.cast::<Renumbered>() };
    if let Some(number) = it.methods.get(method as usize) {
        // SAFETY: the contract of `ExternHandle::call`, passed on with the same arguments.
        unsafe { (it.native.call)(it.native.state, *number, args) }
    }
}

/// Zeroed memory, 64-byte aligned.
struct AlignedMemory {
    start: NonNull<u8>,
    layout: Layout,
}

impl AlignedMemory {
    fn new(bytes: usize) -> AlignedMemory {
        let layout = match Layout::from_size_align(bytes.max(64), 64) {
            Ok(layout) => layout,
            Err(_) => unreachable!("the compiler asks for {bytes} bytes of context"),
        };
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        AlignedMemory { start: start.unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// A worker's instance of a compiled program.
pub(crate) struct Machine {
    run: RunBatch,
    runtime: Runtime,
    tally: Arc<Tally>,
    traffic: Option<Box<Traffic>>,
    /// The program's handles, with this worker's counters.
    _externs: Box<[ExternHandle]>,
    _counters: Vec<(usize, Arc<Cells>)>,
    key_prefetch: Option<Box<KeyPrefetcher>>,
    /// How many cache lines at the start of a packet the program reads.
    lines: usize,
    /// Decides whether to prefetch them.
    line_prefetch: Autotuner,
    _context: AlignedMemory,
    _scratch: AlignedMemory,
}

// SAFETY: the pointers are to memory that the machine owns and to a program that may be used from any thread.
unsafe impl Send for Machine {}

/// Returns how many cache lines of each packet to prefetch. None for programs that read only one: they are so short
/// that out-of-order execution reaches the next packets by itself.
fn lines_to_touch(parsed_bytes: usize) -> usize {
    match parsed_bytes.div_ceil(LINE) {
        0 | 1 => 0,
        lines => lines.min(MOST_LINES),
    }
}

#[inline(always)]
fn touch<const LINES: usize>(packets: &[Packet]) {
    for packet in packets {
        let raw = packet.raw();
        prefetch_lines(raw.buffer.wrapping_add(raw.start as usize), LINES);
    }
}

impl Machine {
    /// `counters` are the worker's copies with the indices of their extern objects. `depths` must live as long as the
    /// machine.
    pub(crate) fn new(
        program: &MachineProgram,
        pipeline: &Pipeline,
        counters: Vec<(usize, Arc<Cells>)>,
        tally: Arc<Tally>,
        depths: &QueueDepths,
    ) -> Machine {
        let traffic = program.code.compiled.suspension().map(|r| Box::new(Traffic::new(r, pipeline)));
        let mut externs: Box<[ExternHandle]> = program.externs.as_slice().into();
        for (at, cells) in &counters {
            externs[*at] = ExternHandle { state: cells.as_ptr().cast(), size: cells.len() as u64, call: None };
        }
        let context = AlignedMemory::new(program.code.compiled.context_bytes());
        let scratch = AlignedMemory::new(SCRATCH_BYTES);
        Machine {
            run: program.code.compiled.run(),
            runtime: Runtime {
                tables: program.tables.as_ptr(),
                externs: externs.as_ptr(),
                functions: std::ptr::null(),
                context: context.start.as_ptr(),
                scratch: scratch.start.as_ptr(),
                now_us: 0,
                record: std::ptr::null_mut(),
                original: std::ptr::null_mut(),
                value_sets: program.value_sets.as_ptr(),
                digests: program.digests,
                profile: std::ptr::null_mut(),
                side_exits: tally.exits.as_ptr(),
                exit_sites: tally.sites.as_ptr().cast_mut().cast(),
                depths: depths.as_ptr(),
            },
            tally,
            traffic,
            _externs: externs,
            _counters: counters,
            key_prefetch: program.key_prefetch.clone().map(|plan| Box::new(KeyPrefetcher::new(plan))),
            lines: lines_to_touch(program.code.compiled.parsed_bytes()),
            line_prefetch: Autotuner::default(),
            _context: context,
            _scratch: scratch,
        }
    }

    /// Runs packets with `function`, or with the generic function if `None`, until one of them makes copies or they have
    /// taken [`ENOUGH_PASSES`]. Returns
    /// the number of packets run; the copies are in [`Machine::copies`]. Copies need frames from the pool: without a
    /// pool they are lost.
    ///
    /// # Safety
    /// The program this was made for is alive, and the caller is inside the domain of its tables and externs.
    #[inline]
    pub(crate) unsafe fn run(
        &mut self,
        packets: &mut [Packet],
        now_us: u64,
        destinations: &Destinations,
        mut pool: Option<&mut Pool>,
        function: Option<RunBatch>,
    ) -> usize {
        let function = function.unwrap_or(self.run);
        self.runtime.now_us = now_us;
        if let Some(prefetcher) = &mut self.key_prefetch {
            // SAFETY: guaranteed by the caller.
            unsafe { prefetcher.begin(packets.len()) };
        }
        self.touch(packets);
        if let Some(traffic) = &mut self.traffic {
            traffic.passes = 0;
        }
        let mut done = 0;
        while done < packets.len() {
            let until = match &mut self.key_prefetch {
                // SAFETY: guaranteed by the caller.
                Some(prefetcher) => unsafe { prefetcher.ahead(&self.runtime, packets, done) },
                None => packets.len(),
            };
            let rest = &mut packets[done..until];
            let count = rest.len();
            if let Some(traffic) = &mut self.traffic {
                traffic.prepare(&mut self.runtime);
            }
            let raw: *mut RawPacket = Packet::as_raw_batch(rest);
            // SAFETY: the runtime has a handle for every table, extern and function that the code refers to, the caller
            // keeps entries and objects alive, and the packets own their buffers.
            let next = unsafe { function(&self.runtime, raw, count) };
            Packet::check_bounds(rest);
            let Some(traffic) = self.traffic.as_mut().filter(|_| !next.is_null()) else {
                done = until;
                continue;
            };
            let ran = (next as usize - raw as usize) / size_of::<RawPacket>();
            done += ran;
            let packet = &mut rest[ran - 1];
            let Some(pause) = Pause::of(packet.raw().verdict) else { continue };
            let pool = pool.as_deref_mut();
            let mut worker = WorkerContext { runtime: &mut self.runtime, run: self.run, destinations, pool };
            // SAFETY: guaranteed by the caller; `prepare` was called above.
            unsafe { traffic.finish(packet, pause, &mut worker) };
            if !traffic.copies.ready.is_empty() || traffic.passes >= ENOUGH_PASSES {
                return done;
            }
        }
        if let Some(prefetcher) = &mut self.key_prefetch {
            prefetcher.end(packets.len());
        }
        self.line_prefetch.end(packets.len());
        packets.len()
    }

    /// Prefetches the bytes of the packets that the program will read, if the autotuner says so.
    #[inline]
    fn touch(&mut self, packets: &[Packet]) {
        if self.lines == 0 || packets.len() < MIN_PACKETS {
            return;
        }
        // Only one of the two autotuners measures at a time.
        let tried = self.key_prefetch.as_ref().is_some_and(|prefetcher| prefetcher.is_timed());
        let pays = if tried { self.line_prefetch.pays() } else { self.line_prefetch.begin() };
        match self.lines {
            _ if !pays => {}
            2 => touch::<2>(packets),
            _ => touch::<MOST_LINES>(packets),
        }
    }

    /// True to prefetch keys in every batch, false for none, `None` to leave it to the autotuner.
    pub(crate) fn prefetch_keys(&mut self, always: Option<bool>) {
        if let Some(prefetcher) = &mut self.key_prefetch {
            prefetcher.set_always(always);
        }
    }

    /// Sets the buffer in which the path profiler records the next packet's path.
    pub(crate) fn set_path(&mut self, path: *mut u32) {
        self.runtime.profile = path;
    }

    /// Adds to the number of packets run.
    pub(crate) fn count(&self, packets: usize) {
        let before = self.tally.packets.load(Ordering::Relaxed);
        self.tally.packets.store(before + packets as u64, Ordering::Relaxed);
    }

    /// Limits the passes that one received packet may cause.
    pub(crate) fn set_max_passes(&mut self, passes: u32) {
        if let Some(traffic) = &mut self.traffic {
            traffic.max_passes = passes;
        }
    }

    /// The copies that have not been taken yet.
    pub(crate) fn copies(&mut self) -> Option<&mut Copies> {
        self.traffic.as_mut().map(|t| &mut t.copies)
    }
}
