//! Runs compiled pipelines without the data plane: the binary interface with tables as linear scans, and packets in
//! small buffers. What it gives is compared with the interpreter's [`Output`].

#![allow(dead_code)]

use std::ffi::c_void;

use hopwright_abi::DataLayout;
use hopwright_abi::{self as abi, ActionEntry, CounterCell, ExternHandle, Packet, Runtime, TableHandle};
use hopwright_abi::{HashTable, KeyLayout, PrefixTree, prefix_bits};
use hopwright_interp::{Interp, Output, Verdict};
use hopwright_ir::{ActionCall, ExternKind, MatchValue, Pipeline, TableEntry, TableId};
use hopwright_jit::{
    Architecture, CompiledPipeline, ExitSites, Options, Path, PathProfiler, TraceCode, TracePass, Unsupported, compile,
    compile_ahead, load,
};
use num_bigint::BigUint;

pub(crate) mod build;
pub(crate) mod trace_ir;

pub(crate) const HEADROOM: usize = 512;

/// Nothing waits at any port.
static NO_DEPTHS: [u32; 4096] = [0; 4096];

/// An entry as generated code wants it: the key if it is exact, the header, then the data.
struct Entry {
    words: Box<[u64]>,
    key_words: usize,
    counter: Box<CounterCell>,
}

impl Entry {
    fn new(pipeline: &Pipeline, table: TableId, call: &ActionCall, key: Option<Vec<u64>>) -> Entry {
        let mut counter = Box::new(CounterCell::default());
        let hit = key.is_some();
        let pointer = if hit { &raw mut *counter as u64 } else { 0 };
        let mut words = key.unwrap_or_default();
        let key_words = words.len();
        words.extend([pointer, u64::from(hit) | u64::from(call.action.0) << 32]);
        DataLayout::of(&pipeline[call.action]).push(&mut words, &call.args);
        words.resize(words.len().max(key_words + 2 + abi::least_data_words(pipeline, table)), 0);
        Entry { words: words.into_boxed_slice(), key_words, counter }
    }

    fn address(&self) -> *const ActionEntry {
        self.words[self.key_words..].as_ptr().cast()
    }
}

/// The words of an entry's key, zeros for what is not exact.
fn key_of(table: &hopwright_ir::Table, entry: &TableEntry) -> Vec<u64> {
    let layout = KeyLayout::of(table);
    let mut key = vec![0; layout.words];
    for (field, value) in layout.fields.iter().zip(&entry.matches) {
        if let MatchValue::Exact(value) = value {
            field.write(&mut key, limbs(value, field.width));
        }
    }
    key
}

/// A hash table whose keys all have the same hash.
fn hash_table(table: &Table, layout: &KeyLayout) -> Box<[u64]> {
    let slots = (table.entries.len() + 2).next_power_of_two();
    let mut words = vec![0; HashTable::slots(layout.words)];
    words[HashTable::SHIFT] = 60;
    words[HashTable::LAST] = slots as u64 - 1;
    words.push((HashTable::TOMBSTONE as u64) << HashTable::TAG_BITS);
    words.extend(table.entries.iter().map(|(_, e)| (e.words.as_ptr() as u64) << HashTable::TAG_BITS));
    words.resize(HashTable::slots(layout.words) + slots, 0);
    words.into()
}

/// A value's limbs.
pub(crate) fn limbs(value: &BigUint, width: u32) -> Vec<u64> {
    let mut digits = value.to_u64_digits();
    digits.resize(width.div_ceil(64) as usize, 0);
    digits
}

/// The value that limbs stand for.
pub(crate) fn number(limbs: &[u64]) -> BigUint {
    BigUint::new(limbs.iter().flat_map(|&l| [l as u32, (l >> 32) as u32]).collect())
}

pub(crate) struct Table {
    layout: KeyLayout,
    has_priority: bool,
    entries: Vec<(TableEntry, Entry)>,
    default: Entry,
}

unsafe extern "C" fn lookup(state: *const c_void, key: *const u64) -> *const ActionEntry {
    // SAFETY: the state of a handle made by `Machine::new`, alive for as long as the machine.
    let table = unsafe { &*state.cast::<Table>() };
    // SAFETY: generated code passes all words of a key.
    let key = unsafe { std::slice::from_raw_parts(key, table.layout.words) };
    let fields = &table.layout.fields;
    let keys: Vec<BigUint> = fields.iter().map(|f| number(&f.read(key).collect::<Vec<_>>())).collect();
    let mut whole = vec![0; key.len()];
    fields.iter().zip(&keys).for_each(|(f, v)| f.write(&mut whole, limbs(v, f.width)));
    assert_eq!(whole, key, "a key has bits beyond its fields");
    let mut best: Option<(i64, &Entry)> = None;
    if !table.layout.fields.is_empty() {
        for (entry, memory) in &table.entries {
            let hit = entry.matches.iter().zip(&keys).zip(fields).all(|((m, k), f)| m.matches(k, f.width));
            let prefix: i64 = entry
                .matches
                .iter()
                .map(|m| match m {
                    MatchValue::Lpm { prefix_len, .. } => i64::from(*prefix_len),
                    _ => 0,
                })
                .sum();
            let rank = if table.has_priority { i64::from(entry.priority) } else { prefix };
            if hit && best.is_none_or(|(b, _)| rank > b) {
                best = Some((rank, memory));
            }
        }
    }
    best.map_or(&table.default, |b| b.1).address()
}

/// A method or function that a test gives: told the method's index and the arguments' limbs.
pub(crate) type Native = unsafe extern "C" fn(*mut c_void, u32, *mut u64);

/// What a packet became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub verdict: u32,
    pub port: u32,
    pub parser_error: u32,
    pub priority: u32,
    pub bytes: Vec<u8>,
}

pub(crate) struct Machine {
    pub compiled: CompiledPipeline,
    pipeline: Pipeline,
    tables: Vec<Table>,
    cells: Vec<Box<[u64]>>,
    handles: Vec<TableHandle>,
    /// What the handles point to.
    pointers: Vec<Box<[*const ActionEntry]>>,
    hash_tables: Vec<Box<[u64]>>,
    externs: Vec<ExternHandle>,
    functions: Vec<ExternHandle>,
    context: Vec<u128>,
    scratch: Vec<u8>,
    exit_sites: Vec<u64>,
    sites: ExitSites,
}

impl Machine {
    pub(crate) fn new(pipeline: &Pipeline) -> Result<Machine, Unsupported> {
        Machine::with_natives(pipeline, &[], &[])
    }

    /// With natives for the named objects' methods (all objects share it) and functions, by index.
    pub(crate) fn with_natives(
        pipeline: &Pipeline,
        methods: &[Native],
        functions: &[Native],
    ) -> Result<Machine, Unsupported> {
        Machine::of(compile(pipeline, &Options { keep_text: true })?, pipeline, methods, functions)
    }

    /// With code that was made ahead. `None` if this machine is too old for it.
    pub(crate) fn ahead(pipeline: &Pipeline) -> Result<Option<Machine>, Unsupported> {
        let Some(here) = Architecture::here() else { return Ok(None) };
        let ahead = compile_ahead(pipeline, here)?;
        // SAFETY: it was made just now, from this pipeline.
        let loaded = unsafe { load(pipeline, ahead) }?;
        loaded.map(|compiled| Machine::of(compiled, pipeline, &[], &[])).transpose()
    }

    fn of(
        compiled: CompiledPipeline,
        pipeline: &Pipeline,
        methods: &[Native],
        functions: &[Native],
    ) -> Result<Machine, Unsupported> {
        let tables: Vec<Table> = pipeline
            .tables
            .iter()
            .zip((0..).map(TableId))
            .map(|(t, id)| Table {
                layout: KeyLayout::of(t),
                has_priority: t.has_priority(),
                entries: (t.entries.iter())
                    .map(|e| (e.clone(), Entry::new(pipeline, id, &e.action, Some(key_of(t, e)))))
                    .collect(),
                default: Entry::new(pipeline, id, &t.default_action, None),
            })
            .collect();
        let mut pointers: Vec<Box<[*const ActionEntry]>> = Vec::new();
        let mut hash_tables = Vec::new();
        let mut handles = Vec::new();
        for (table, model) in tables.iter().zip(&pipeline.tables) {
            // The default entry, then those by key.
            // A tree of prefixes without any leaves all to the call.
            let root = prefix_bits(model).map(|(exact, prefix)| 1 << PrefixTree::root_bits(exact + prefix));
            let direct = abi::direct_entries(model).or(root).unwrap_or(0);
            let hash_table = hash_table(table, &table.layout);
            let none = if root.is_some() { std::ptr::null() } else { table.default.address() };
            let mut all = vec![none; 2 + direct];
            all[0] = table.default.address();
            all[1] = hash_table.as_ptr().cast();
            for (e, memory) in table.entries.iter().filter(|_| abi::direct_entries(model).is_some()) {
                all[2 + key_of(model, e)[0] as usize] = memory.address();
            }
            hash_tables.push(hash_table);
            let all = all.into_boxed_slice();
            let default = all.as_ptr();
            let state = (&raw const *table).cast();
            let hash = default.wrapping_add(1).cast();
            handles.push(TableHandle { lookup, state, default, direct: default.wrapping_add(2), hash });
            pointers.push(all);
        }
        let mut cells: Vec<Box<[u64]>> = Vec::new();
        let mut externs = Vec::new();
        for e in &pipeline.externs {
            let (words, size) = match &e.kind {
                ExternKind::Counter { size, .. } => (2 * size, *size),
                ExternKind::Register { size, ty } => (size * u64::from(ty.width().div_ceil(64)), *size),
                _ => (0, 0),
            };
            let mut memory = vec![0u64; words as usize].into_boxed_slice();
            externs.push(ExternHandle { state: memory.as_mut_ptr().cast(), size, call: methods.first().copied() });
            cells.push(memory);
        }
        let functions =
            functions.iter().map(|&f| ExternHandle { state: std::ptr::null_mut(), size: 0, call: Some(f) }).collect();
        Ok(Machine {
            compiled,
            pipeline: pipeline.clone(),
            tables,
            cells,
            handles,
            pointers,
            hash_tables,
            externs,
            functions,
            context: vec![0; 4096],
            scratch: vec![0xee; abi::SCRATCH_BYTES],
            exit_sites: vec![0; abi::MAX_EXIT_SITES],
            sites: ExitSites::default(),
        })
    }

    /// A direct counter's packets and bytes.
    pub(crate) fn direct_counter(&self, table: TableId, entry: usize) -> CounterCell {
        *self.tables[table.index()].entries[entry].1.counter
    }

    /// The words behind a counter or register array.
    pub(crate) fn cells(&self, id: usize) -> &[u64] {
        &self.cells[id]
    }

    /// Runs packets as one batch of the generic function.
    pub(crate) fn run(&mut self, packets: &[&[u8]], ingress_port: u32, now_us: u64, headroom: usize) -> Vec<Outcome> {
        let run = self.compiled.run();
        self.run_function(run, packets, (ingress_port, now_us), headroom, &mut [], &mut 0)
    }

    /// Runs packets one by one with a path profiler, and gives their paths.
    pub(crate) fn profile(&mut self, packets: &[&[u8]], at: (u32, u64)) -> Result<Vec<(Path, Outcome)>, Unsupported> {
        let profiler = PathProfiler::new(&self.pipeline)?;
        let one = |packet: &&[u8]| {
            let mut words = vec![0; abi::MAX_PROFILE_POINTS + 1];
            let outcomes = self.run_function(profiler.run(), &[packet], at, HEADROOM, &mut words, &mut 0);
            let path = profiler.path(&words[1..=words[0] as usize]);
            (path, outcomes.into_iter().next().expect("a packet"))
        };
        Ok(packets.iter().map(one).collect())
    }

    /// Traces for these paths.
    pub(crate) fn traces(&mut self, paths: &[Path], without: &[TracePass]) -> Result<Option<TraceCode>, Unsupported> {
        let attributes = vec![abi::ExternAttributes::default(); self.pipeline.externs.len()];
        TraceCode::new(&self.pipeline, &self.compiled, paths, &attributes, without, &mut self.sites)
    }

    /// Runs packets as one batch of traces, and says how many took a side exit.
    pub(crate) fn run_traces(&mut self, traces: &TraceCode, packets: &[&[u8]], at: (u32, u64)) -> (Vec<Outcome>, u64) {
        let mut side_exits = 0;
        let outcomes = self.run_function(traces.run(), packets, at, HEADROOM, &mut [], &mut side_exits);
        (outcomes, side_exits)
    }

    /// Counters and registers are zero again.
    pub(crate) fn clear_cells(&mut self) {
        self.cells.iter_mut().for_each(|cells| cells.fill(0));
    }

    fn run_function(
        &mut self,
        run: abi::RunBatch,
        packets: &[&[u8]],
        (ingress_port, now_us): (u32, u64),
        headroom: usize,
        profile: &mut [u32],
        side_exits: &mut u64,
    ) -> Vec<Outcome> {
        // Exactly as long as needed, so that tools that watch memory see every byte too many.
        let mut buffers: Vec<Vec<u8>> = packets
            .iter()
            .map(|p| {
                let mut b = vec![0xaa; headroom];
                b.extend_from_slice(p);
                b
            })
            .collect();
        let mut descriptors: Vec<Packet> = buffers
            .iter_mut()
            .map(|b| Packet {
                buffer: b.as_mut_ptr(),
                capacity: b.len() as u32,
                start: headroom as u32,
                end: b.len() as u32,
                ingress_port,
                egress_port: 0xdead,
                verdict: 0xdead,
                parser_error: 0xdead,
                priority: 0,
            })
            .collect();
        let runtime = Runtime {
            tables: self.handles.as_ptr(),
            externs: self.externs.as_ptr(),
            functions: self.functions.as_ptr(),
            context: self.context.as_mut_ptr().cast(),
            scratch: self.scratch.as_mut_ptr(),
            now_us,
            record: std::ptr::null_mut(),
            original: std::ptr::null_mut(),
            value_sets: std::ptr::null(),
            digests: ExternHandle { state: std::ptr::null_mut(), size: 0, call: None },
            profile: profile.as_mut_ptr(),
            side_exits,
            exit_sites: self.exit_sites.as_mut_ptr(),
            depths: NO_DEPTHS.as_ptr(),
        };
        // SAFETY: all pointers are valid and the handles fit the pipeline; a profiler gets room for a path.
        unsafe { run(&runtime, descriptors.as_mut_ptr(), descriptors.len()) };
        descriptors
            .iter()
            .zip(&buffers)
            .map(|(d, b)| Outcome {
                verdict: d.verdict,
                port: d.egress_port,
                parser_error: d.parser_error,
                priority: d.priority,
                bytes: b[d.start as usize..d.end as usize].to_vec(),
            })
            .collect()
    }
}

/// Checks that a packet's outcome is what the interpreter says.
pub(crate) fn same(outcome: &Outcome, expected: &Output, packet: &[u8]) -> Result<(), String> {
    let complain = |what: &str| {
        Err(format!(
            "{what} differ for packet {}:\n  code        {outcome:x?}\n  interpreter {expected:x?}",
            hex(packet)
        ))
    };
    let verdict = match expected.verdict {
        Verdict::Forward => abi::Verdict::Forward,
        Verdict::Drop => abi::Verdict::Drop,
        Verdict::NoHeadroom => abi::Verdict::NoHeadroom,
        Verdict::Fault => abi::Verdict::Fault,
    };
    if outcome.verdict != verdict as u32 {
        return complain("verdicts");
    }
    if verdict == abi::Verdict::Fault {
        return Ok(());
    }
    if outcome.parser_error != expected.parser_error {
        return complain("parser errors");
    }
    if verdict == abi::Verdict::Forward {
        let sent = &expected.sent[0];
        if outcome.port != u32::from(sent.port) {
            return complain("ports");
        }
        if outcome.bytes != sent.bytes {
            return complain("bytes");
        }
    }
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Runs packets through both executors, the machine code made for this process and made ahead, and compares.
pub(crate) fn compare(pipeline: &Pipeline, packets: &[Vec<u8>]) -> Result<(), String> {
    let machine = Machine::new(pipeline).map_err(|e| format!("not compiled: {e}"))?;
    compare_machine(machine, pipeline, packets)?;
    match Machine::ahead(pipeline).map_err(|e| format!("not compiled ahead: {e}"))? {
        Some(machine) => compare_machine(machine, pipeline, packets),
        None => Ok(()),
    }
}

fn compare_machine(mut machine: Machine, pipeline: &Pipeline, packets: &[Vec<u8>]) -> Result<(), String> {
    let mut interp = Interp::new(std::sync::Arc::new(pipeline.clone())).map_err(|e| format!("{e:?}"))?;
    let views: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let outcomes = machine.run(&views, 3, 1_234_567, HEADROOM);
    for (packet, outcome) in packets.iter().zip(&outcomes) {
        let expected = interp.process(packet, 3, 1_234_567);
        same(outcome, &expected, packet)?;
        if expected.verdict == Verdict::Forward
            && interp.priorities.first().map(|p| u32::from(*p)) != Some(outcome.priority)
        {
            return Err(format!("priorities differ for packet {}: {outcome:x?}, {:?}", hex(packet), interp.priorities));
        }
    }
    Ok(())
}

/// How packets went through traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnTraces {
    /// Packets that ran to the end of a trace.
    pub completed: u64,
    /// Packets that took a side exit to the generic function.
    pub side_exits: u64,
}

/// Profiles the paths of some packets, makes traces of them, and runs all packets by the interpreter, the generic function,
/// the profiler and the traces: all agree, on counters and registers, too.
///
/// Packets whose paths have traces must stay on them, and only packets with other paths may leave. `None` if none of the
/// paths can have a trace.
pub(crate) fn compare_traces(
    pipeline: &Pipeline,
    profiled: &[&[u8]],
    all: &[&[u8]],
) -> Result<Option<OnTraces>, String> {
    let at = (3, 1_234_567);
    let mut machine = Machine::new(pipeline).map_err(|e| format!("not compiled: {e}"))?;
    let mut interp = Interp::new(std::sync::Arc::new(pipeline.clone())).map_err(|e| format!("{e:?}"))?;
    let profile = machine.profile(all, at).map_err(|e| format!("no profiler: {e}"))?;
    let cells = machine.cells.clone();
    machine.clear_cells();
    let generic = machine.run(all, at.0, at.1, HEADROOM);
    if cells != machine.cells {
        return Err("the profiler and the generic function differ in counters or registers".into());
    }
    let expected: Vec<Output> = all.iter().map(|packet| interp.process(packet, at.0 as u16, at.1)).collect();
    for (i, packet) in all.iter().enumerate() {
        same(&generic[i], &expected[i], packet)?;
        same(&profile[i].1, &expected[i], packet).map_err(|e| format!("by the profiler, {e}"))?;
    }
    let path_of = |packet: &[u8]| all.iter().position(|p| *p == packet).map(|i| profile[i].0.clone());
    let mut paths: Vec<Path> = profiled.iter().filter_map(|packet| path_of(packet)).collect();
    paths.sort();
    paths.dedup();
    let traces = machine.traces(&paths, &[]).map_err(|e| format!("no traces: {e}"))?;
    traces.map(|traces| machine.check_traces(&traces, all, at, &profile, (&expected, &generic), &cells)).transpose()
}

impl Machine {
    /// Runs packets by traces, which must do what is expected of them.
    fn check_traces(
        &mut self,
        traces: &TraceCode,
        all: &[&[u8]],
        at: (u32, u64),
        profile: &[(Path, Outcome)],
        (expected, generic): (&[Output], &[Outcome]),
        cells: &[Box<[u64]>],
    ) -> Result<OnTraces, String> {
        let machine = self;
        machine.clear_cells();
        machine.exit_sites.fill(0);
        let (outcomes, side_exits) = machine.run_traces(traces, all, at);
        let by_site: u64 = machine.exit_sites.iter().sum();
        if by_site != side_exits {
            return Err(format!("{side_exits} side exits, but {by_site} by place: {:?}", machine.sites.texts()));
        }
        for (i, packet) in all.iter().enumerate() {
            same(&outcomes[i], &expected[i], packet).map_err(|e| format!("by traces, {e}"))?;
            if outcomes[i].verdict == abi::Verdict::Forward as u32 && outcomes[i].priority != generic[i].priority {
                return Err(format!("priorities differ by traces for packet {}", hex(packet)));
            }
        }
        if cells != &machine.cells[..] {
            return Err("traces and the generic function differ in counters or registers".into());
        }
        let with_paths: Vec<(&[u8], &Path)> =
            all.iter().zip(profile).map(|(packet, (path, _))| (*packet, path)).collect();
        trace_ir::check(&machine.pipeline, traces.paths(), &with_paths, at)?;
        let off_traces = profile.iter().filter(|(path, _)| !traces.paths().contains(path)).count() as u64;
        if side_exits > off_traces {
            return Err(format!("{side_exits} side exits, but only {off_traces} packets have paths without traces"));
        }
        Ok(OnTraces { completed: all.len() as u64 - side_exits, side_exits })
    }
}
