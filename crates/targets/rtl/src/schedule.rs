//! Assigns operations to pipeline stages by a delay model.
//!
//! A stage is what lies between two registers. An operation starts as soon as its operands are there; if it does not fit
//! into what is left of the stage it starts with the next one. Engines take a fixed number of stages and begin at a register.

use hopwright_ir::{ExternId, Key, MatchKind, Pipeline, TableId, ValueSet};

use crate::cost::Cost;
use crate::hir::{Binary, Design, Destinations, LookupLayout, Node, Op, Value};
use crate::map::{COPY_SLOTS, GROUP_BUCKETS, MemoryKind, SESSION_BUCKETS};
use crate::masked::{FEWEST_PASSES, Masked};
use crate::sharing::{EngineKind, Engines};
use crate::target::{Fetch, Target};

/// When a value is there: a stage, and the delay within it in hundredths of a LUT level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// The stage, from 0.
    pub stage: u32,
    /// The delay after the stage's registers.
    pub delay: u32,
}

/// The stages of a design.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The stage in which each operation takes its operands.
    pub start: Vec<u32>,
    /// When each value is there.
    pub ready: Vec<Time>,
    /// The last stage in which each value is used; that of its result if nothing uses it.
    pub last_use: Vec<u32>,
    /// The number of stages. Results leave in the last one.
    pub stages: u32,
    /// Of two pipelines, the first stage of the second one; zero for one pipeline.
    pub egress: u32,
    /// The delay of each stage.
    pub delays: Vec<u32>,
    /// The engines that operations share, and the cycles between two packets.
    pub engines: Engines,
    /// Whether a value chooses this many bits that it reaches them from copies. See [`Schedule::is_copied`].
    choosing: Vec<bool>,
}

/// The most bits that one register chooses.
pub(crate) const CHOSEN_BITS: u32 = 64;

/// The delay of the wires to the copies of a register.
const COPYING: u32 = 100;

/// The bits of choices that are as near to each other as what chooses them.
const NARROW_BITS: u32 = 7;

/// For each value whether it chooses more bits than one register reaches.
fn choosing(design: &Design) -> Vec<bool> {
    let mut bits = vec![0; design.nodes.len()];
    for node in &design.nodes {
        wide_conditions(node).iter().for_each(|cond| bits[cond.index()] += node.width);
    }
    bits.into_iter().map(|bits| bits > CHOSEN_BITS).collect()
}

/// The conditions of a choice of more than a few bits.
fn wide_conditions(node: &Node) -> Vec<Value> {
    match &node.op {
        _ if node.width <= NARROW_BITS => Vec::new(),
        Op::Mux { cond, .. } => vec![*cond],
        Op::OneHot(cases) => cases.iter().map(|(cond, _)| *cond).collect(),
        _ => Vec::new(),
    }
}

/// The engine of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableEngine {
    /// Without keys: the default action only.
    Default,
    /// The key is the address of a RAM.
    Index,
    /// Cuckoo hashing.
    Exact,
    /// Binary search over intervals, with this many levels. Exact keys in front of the prefix are part of it.
    Lpm(u32),
    /// RAM-based ternary match.
    Ternary,
    /// Ternary match of many entries by hashing.
    Masked,
}

/// Keys of at most this width, of tables that can hold all of their values, are addresses.
const INDEX_BITS: u32 = 10;

/// How `hw_exact` has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exact {
    /// Buckets for each function.
    pub buckets: u64,
    /// Entries of a bucket.
    pub slots: u32,
    /// Cycles in which a lookup reads the ways.
    pub passes: u32,
    /// Cycles in which it reads the data.
    pub parts: u32,
    /// Whether there are several cycles between lookups.
    pub apart: bool,
}

impl Exact {
    /// With this many cycles between lookups.
    pub(crate) fn new(buckets: u64, slots: u32, gap: u32) -> Exact {
        let most = gap.clamp(1, 2 * slots);
        Exact { buckets, slots, passes: 1 << most.ilog2(), parts: 1, apart: gap > 1 }
    }

    /// With data of this many bits in as many parts as take the fewest block RAMs.
    pub(crate) fn in_parts(self, target: &Target, gap: u32, data: u64) -> Exact {
        let parts =
            (1..=gap.max(1)).min_by_key(|parts| exact_data(target, data, &Exact { parts: *parts, ..self }).blocks);
        Exact { parts: parts.expect("there is one"), ..self }
    }

    /// What takes the smallest share of the chip for this many entries, whose keys and data have this many bits. Buckets of two entries can be
    /// filled by 80 %, of four by 90 %.
    pub(crate) fn of(target: &Target, gap: u32, key: u64, data: u64, size: u64) -> Exact {
        let shapes = [(4, 9), (2, 8)].map(|(slots, tenths)| {
            let buckets = (size * 10 / tenths).div_ceil(2 * u64::from(slots)).next_power_of_two().max(2);
            Exact::new(buckets, slots, gap).in_parts(target, gap, data)
        });
        let share = |shape: &Exact| exact(target, key, data, shape).share_of(&target.capacity());
        shapes.into_iter().min_by(|a, b| share(a).total_cmp(&share(b))).expect("there are two")
    }

    /// That of the groups or sessions that say where copies go.
    pub(crate) fn of_destinations(of: Destinations, gap: u32) -> Exact {
        let buckets = match of {
            Destinations::Group { .. } => GROUP_BUCKETS,
            Destinations::Session { .. } => SESSION_BUCKETS,
        };
        Exact::new(buckets, COPY_SLOTS, gap)
    }

    /// That of a table.
    pub(crate) fn of_table(pipeline: &Pipeline, table: TableId, target: &Target, gap: u32) -> Exact {
        let stored = LookupLayout::of(pipeline, table).stored_bits();
        Exact::of(target, gap, key_bits(pipeline, table).into(), stored.into(), pipeline[table].size)
    }

    /// The number of cycles of a lookup.
    pub(crate) fn latency(self) -> u32 {
        let passes = if self.passes > 1 { self.passes } else { 0 };
        let parts = if self.apart { self.parts } else { 0 };
        8 + passes + parts
    }

    /// The memory that a driver writes: function, entry of a bucket and bucket are its address.
    pub(crate) fn memory(self) -> MemoryKind {
        // From the first read of a key to the last one of data.
        MemoryKind::Exact { buckets: self.buckets, slots: self.slots, hold: self.latency() - 4 }
    }

    /// The width of addresses of that memory.
    pub(crate) fn address_bits(self) -> u32 {
        1 + self.slots.ilog2() + self.buckets.ilog2()
    }
}

/// The width of a table's key.
pub(crate) fn key_bits(pipeline: &Pipeline, table: TableId) -> u32 {
    pipeline[table].match_keys().map(|k| k.expr.ty.width()).sum()
}

impl TableEngine {
    /// The engine for a table.
    pub fn of(pipeline: &Pipeline, table: TableId) -> TableEngine {
        let bits = key_bits(pipeline, table);
        let table = &pipeline[table];
        let keys: Vec<&Key> = table.match_keys().collect();
        let all = |kind: MatchKind| keys.iter().all(|k| k.kind == kind);
        match keys.as_slice() {
            [] => TableEngine::Default,
            _ if all(MatchKind::Exact) && bits <= INDEX_BITS => TableEngine::Index,
            _ if all(MatchKind::Exact) => TableEngine::Exact,
            // n prefixes make at most 2n + 1 intervals.
            [before @ .., last] if last.kind == MatchKind::Lpm && before.iter().all(|k| k.kind == MatchKind::Exact) => {
                let intervals = (2 * table.size.min(1 << 16) + 1).next_power_of_two();
                TableEngine::Lpm(intervals.ilog2().clamp(3, 16))
            }
            _ if ternary_entries(table.size) > MAX_TERNARY_ENTRIES => TableEngine::Masked,
            _ => TableEngine::Ternary,
        }
    }

    /// The number of cycles of a lookup; zero for tables without keys. Packets are at least `gap` cycles apart.
    pub fn latency(self, pipeline: &Pipeline, table: TableId, target: &Target, gap: u32) -> u32 {
        let bits = key_bits(pipeline, table);
        match self {
            TableEngine::Default => 0,
            TableEngine::Index => 2,
            TableEngine::Exact => Exact::of_table(pipeline, table, target, gap).latency(),
            TableEngine::Lpm(levels) => levels * if bits <= 32 { 3 } else { 4 } + 2,
            TableEngine::Ternary => {
                let chunks = bits.div_ceil(TERNARY_CHUNK_BITS);
                4 + log4(chunks + 1) + log4(ternary_entries(pipeline[table].size))
            }
            TableEngine::Masked => Masked::of_table(pipeline, table, target, gap).latency(),
        }
    }
}

/// Key bits for each RAM of a ternary table.
pub const TERNARY_CHUNK_BITS: u32 = 4;

/// Entries of the engine for a ternary table of a size.
pub fn ternary_entries(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX).clamp(4, 1 << 16).next_power_of_two()
}

/// Rows of the engine for a value set of a size. Members with ranges take several.
pub fn value_set_rows(size: u64) -> u32 {
    ternary_entries(size.saturating_mul(4).max(16))
}

/// The most entries of `hw_ternary`. Its RAMs have a bit for each entry.
pub(crate) const MAX_TERNARY_ENTRIES: u32 = 1024;

/// How `hw_exact` has a value set that is too large for `hw_ternary`: its members have no ranges and no masks.
pub(crate) fn exact_value_set(set: &ValueSet, target: &Target, gap: u32) -> Option<Exact> {
    let key: u32 = set.types.iter().map(|t| t.width()).sum();
    let large = value_set_rows(set.size) > MAX_TERNARY_ENTRIES;
    large.then(|| Exact::of(target, gap, key.into(), 1, set.size))
}

/// The least k with 4^k >= n.
pub(crate) fn log4(n: u32) -> u32 {
    n.max(1).next_power_of_two().ilog2().div_ceil(2)
}

impl Schedule {
    /// Schedules a design with these results. Packets follow each other as closely as its registers, fetches and large ternary tables allow,
    /// and not more closely than the target says.
    pub fn of(pipeline: &Pipeline, design: &Design, outputs: &[Value], target: &Target) -> Schedule {
        let cycles = |node: &Node| match node.op {
            Op::Fetch { .. } => target.fetch_words(node.width / 8),
            Op::Lookup { table, .. } if TableEngine::of(pipeline, table) == TableEngine::Masked => FEWEST_PASSES,
            _ => 1,
        };
        let mut gap = design.nodes.iter().map(cycles).fold(target.gap, u32::max);
        loop {
            let schedule = Schedule::with_gap(pipeline, design, outputs, target, gap);
            let needed = schedule.register_gap(design);
            if needed <= gap {
                return schedule;
            }
            gap = needed;
        }
    }

    /// The cycles between two packets that registers need. A read gives what was written up to one cycle behind it: what a packet writes is
    /// there for the next one's read, and what the next one writes is not there for this one's.
    fn register_gap(&self, design: &Design) -> u32 {
        let mut gap = 1;
        for (i, node) in design.nodes.iter().enumerate() {
            let Op::RegisterWrite { register, .. } = node.op else { continue };
            if takes_turns(design, register) {
                let accesses =
                    design.nodes.iter().zip(&self.start).filter(|(node, _)| object_of(&node.op) == Some(register));
                let stages: Vec<u32> = accesses.map(|(_, start)| *start).collect();
                let (first, last) = (stages.iter().min().unwrap_or(&0), stages.iter().max().unwrap_or(&0));
                gap = gap.max(last - first + 2);
                continue;
            }
            let reads = |node: &Node| matches!(node.op, Op::RegisterRead { register: r, .. } if r == register);
            let Some(read) = design.nodes.iter().position(reads) else { continue };
            let (read, write) = (self.start[read], self.start[i]);
            gap = gap.max(if write > read { write - read - 1 } else { read - write + 2 });
        }
        gap
    }

    fn with_gap(pipeline: &Pipeline, design: &Design, outputs: &[Value], target: &Target, gap: u32) -> Schedule {
        let kind = |node: &Node| EngineKind::of(pipeline, node, target, gap);
        let kinds: Vec<Option<EngineKind>> = design.nodes.iter().map(kind).collect();
        let shared: Vec<EngineKind> = kinds.iter().flatten().copied().collect();
        let engines = Engines::new(gap, &shared);
        let choosing = choosing(design);
        let (ready, state) = (Vec::new(), Vec::new());
        let mut scheduler =
            Scheduler { pipeline, design, target, ready, state, kinds, engines, egress: 0, choosing: &choosing };
        let mut last_use = vec![0; design.nodes.len()];
        let mut delays: Vec<u32> = Vec::new();
        let mut starts = Vec::with_capacity(design.nodes.len());
        for (i, node) in design.nodes.iter().enumerate() {
            if i == design.split && i > 0 {
                scheduler.begin_egress();
            }
            let (start, ready) = scheduler.place(Value(i as u32), node);
            for operand in node.op.operands() {
                let last: &mut u32 = &mut last_use[operand.index()];
                *last = (*last).max(start.stage);
            }
            let stage = ready.stage as usize;
            if delays.len() <= stage {
                delays.resize(stage + 1, 0);
            }
            delays[stage] = delays[stage].max(ready.delay);
            starts.push(start.stage);
            scheduler.ready.push(ready);
            last_use[i] = ready.stage;
        }
        let Scheduler { ready, engines, egress, .. } = scheduler;
        // Results leave from registers.
        let leaves = |time: Time| time.stage + u32::from(time.delay > 0);
        let results = outputs.iter().map(|output| leaves(ready[output.index()])).max();
        let last = ready.iter().map(|t| t.stage).max().max(results).unwrap_or(0).max(egress + 1);
        for output in outputs {
            last_use[output.index()] = last;
        }
        delays.resize(last as usize + 1, 0);
        Schedule { start: starts, ready, last_use, stages: last + 1, egress, delays, engines, choosing }
    }

    /// Whether a value chooses this many bits by copies of its register. It has been there since the stage before then.
    pub(crate) fn is_copied(&self, cond: Value, width: u32) -> bool {
        self.choosing[cond.index()] && width > NARROW_BITS
    }

    /// The most packets between their window and their last verdict: those in the pipelines, and some more.
    pub(crate) fn packets(&self) -> u32 {
        let more = if self.egress > 0 { 32 } else { 16 };
        (self.stages / self.engines.gap + more).next_power_of_two()
    }

    /// The most verdicts that are being made or wait: one for each packet, or for each copy in the second pipeline; at least 32, so that
    /// twice as many are enough for those that have left and whose packets are still read.
    pub(crate) fn verdicts(&self) -> u32 {
        match self.egress {
            0 => self.packets(),
            egress => ((self.stages - egress) / self.engines.gap + 17).next_power_of_two(),
        }
    }

    /// The register bits that carry values from stage to stage.
    pub fn register_bits(&self, design: &Design) -> u64 {
        let nodes = design.nodes.iter().zip(&self.ready).zip(&self.last_use);
        nodes
            .filter(|((node, _), _)| !matches!(node.op, Op::Const(_)))
            .map(|((node, ready), last)| u64::from(node.width) * u64::from(last.saturating_sub(ready.stage)))
            .sum()
    }
}

struct Scheduler<'a> {
    pipeline: &'a Pipeline,
    design: &'a Design,
    target: &'a Target,
    ready: Vec<Time>,
    /// Stateful objects, and the stage of the last access to each.
    state: Vec<(ExternId, u32)>,
    /// The kind of engine of each operation that shares one.
    kinds: Vec<Option<EngineKind>>,
    engines: Engines,
    /// The first stage of egress, if that is a pipeline of its own and begun.
    egress: u32,
    /// Whether each value chooses more bits than one register reaches.
    choosing: &'a [bool],
}

impl Scheduler<'_> {
    /// What follows is another pipeline, for copies of packets. They pass it at other times than packets pass the first one.
    fn begin_egress(&mut self) {
        self.egress = self.ready.iter().map(|t| t.stage).max().unwrap_or(0) + 1;
        self.engines.seal();
    }

    /// When an operation starts, and when its result is there.
    fn place(&mut self, value: Value, node: &Node) -> (Time, Time) {
        let operands = node.op.operands();
        let first = operands.iter().map(|v| self.ready[v.index()]).max().unwrap_or_default();
        let first = first.max(Time { stage: self.egress, delay: 0 });
        let kind = self.kinds[value.index()];
        if let Some(latency) = self.latency(&node.op, kind) {
            let mut stage = first.stage + u32::from(first.delay > 0);
            if let Some(object) = object_of(&node.op) {
                match self.state.iter_mut().find(|(id, _)| *id == object) {
                    Some((_, last)) => {
                        // A read gives what was written up to one cycle behind it: the packet's own write comes later.
                        let apart = if matches!(node.op, Op::RegisterWrite { .. }) { 2 } else { 1 };
                        stage = stage.max(*last + apart);
                        *last = stage;
                    }
                    None => self.state.push((object, stage)),
                }
            }
            if let Some(kind) = kind {
                stage = self.engines.reserve(kind, value, stage);
            }
            // Behind a lookup comes the choice of the default action.
            let delay = if matches!(node.op, Op::Lookup { .. } | Op::Member { .. } | Op::Destinations { .. }) {
                300 / self.target.lut_inputs
            } else {
                0
            };
            return (Time { stage, delay: 0 }, Time { stage: stage + latency, delay });
        }
        // Copies of what chooses many bits are registers of the stage. What is late in a stage has a register of its own before.
        let copied = wide_conditions(node).into_iter().filter(|cond| self.choosing[cond.index()]);
        let registered = copied.map(|cond| {
            let ready = self.ready[cond.index()];
            let late = ready.delay + COPYING > self.target.stage_delay;
            ready.stage.max(self.egress) + 1 + u32::from(late)
        });
        let registered = registered.max().unwrap_or(0);
        let first = first.max(Time { stage: registered, delay: 0 });
        let delay = self.delay(node);
        let fits = first.delay == 0 || first.delay + delay <= self.target.stage_delay;
        let start = if fits { first } else { Time { stage: first.stage + 1, delay: 0 } };
        (start, Time { stage: start.stage, delay: start.delay + delay })
    }

    /// The number of cycles that an engine takes, whose kind is given if it is shared; `None` for gates.
    fn latency(&self, op: &Op, kind: Option<EngineKind>) -> Option<u32> {
        if let Some(kind) = kind {
            return Some(match kind {
                EngineKind::Fetch(Fetch { part, reads }) => {
                    let shift = if part < self.target.bus_bytes { log4(part) } else { 0 };
                    4 + reads + log4(self.target.bus_bytes) + shift
                }
                // A MAC takes a cycle for the subkey, and one to add it.
                EngineKind::Cmac => 2 + self.engines.fold(kind).latency(),
                EngineKind::Aes | EngineKind::AesWithKey => self.engines.fold(kind).latency(),
            });
        }
        let width = |v: &Value| self.design[*v].width;
        Some(match op {
            Op::Lookup { table, .. } => {
                TableEngine::of(self.pipeline, *table).latency(self.pipeline, *table, self.target, self.engines.gap)
            }
            Op::Destinations { of, .. } => Exact::of_destinations(*of, self.engines.gap).latency(),
            Op::Measure { .. } | Op::Color { .. } => 12,
            Op::Count { .. } | Op::RegisterWrite { .. } | Op::Digest { .. } | Op::Random { .. } => 0,
            Op::RegisterRead { .. } | Op::Member { .. } => 2,
            Op::Hash(hopwright_ir::HashAlgorithm::Csum16, data) => {
                width(data).div_ceil(16).max(1).next_power_of_two().ilog2() + 2
            }
            Op::Hash(..) => 2,
            Op::InSet { set, .. } => {
                let set = &self.pipeline[*set];
                if let Some(exact) = exact_value_set(set, self.target, self.engines.gap) {
                    return Some(exact.latency());
                }
                let bits: u32 = set.types.iter().map(|t| t.width()).sum();
                4 + log4(bits.div_ceil(TERNARY_CHUNK_BITS) + 1) + log4(value_set_rows(set.size))
            }
            // What has no engine is refused later.
            Op::Extern { .. } => 1,
            _ => return None,
        })
    }

    /// The delay of gates in hundredths of a LUT level.
    fn delay(&self, node: &Node) -> u32 {
        let width = |v: &Value| self.design[*v].width;
        let lut = self.target.lut_inputs;
        // A tree of LUTs over this many bits.
        let tree = |bits: u32| {
            let (mut left, mut levels) = (bits, 0);
            while left > 1 {
                left = left.div_ceil(lut);
                levels += 1;
            }
            levels * 100
        };
        let carry = |bits: u32| 100 + bits * self.target.carry_per_bit;
        match &node.op {
            Op::Const(_)
            | Op::Input(_)
            | Op::Slice { .. }
            | Op::Concat(_)
            | Op::SignExtend(_)
            | Op::Not(_)
            | Op::Window { .. } => 0,
            Op::Binary(op, a, b) => match op {
                Binary::And | Binary::Or | Binary::Xor => 200 / lut,
                Binary::Add | Binary::Sub => carry(node.width),
                Binary::Less | Binary::LessSigned => carry(width(a) / 2),
                // A constant halves the bits that are compared.
                Binary::Eq if matches!(self.design[*b].op, Op::Const(_)) => tree(width(a)),
                Binary::Eq => tree(2 * width(a)),
                Binary::Mul => self.target.multiply,
                Binary::Shl | Binary::Shr | Binary::ShrSigned => {
                    // Two bits of the distance choose one of four.
                    100 * (lut - 1).ilog2() * node.width.next_power_of_two().ilog2().div_ceil(2)
                }
            },
            Op::Mux { .. } => 300 / lut,
            Op::OneHot(cases) => tree(2 * cases.len() as u32),
            Op::Ones(a) => 100 * width(a).next_power_of_two().ilog2().div_ceil(2),
            _ => 0,
        }
    }
}

/// Whether a packet accesses a register in several stages and writes it.
pub(crate) fn takes_turns(design: &Design, register: ExternId) -> bool {
    let (mut reads, mut writes) = (0, 0);
    for node in &design.nodes {
        match node.op {
            Op::RegisterRead { register: r, .. } if r == register => reads += 1,
            Op::RegisterWrite { register: r, .. } if r == register => writes += 1,
            _ => {}
        }
    }
    writes > 1 || (writes > 0 && reads > 1)
}

/// The object whose accesses keep their order.
fn object_of(op: &Op) -> Option<ExternId> {
    match op {
        Op::Count { counter: id, .. }
        | Op::Measure { meter: id, .. }
        | Op::RegisterRead { register: id, .. }
        | Op::RegisterWrite { register: id, .. } => Some(*id),
        _ => None,
    }
}

/// What a memory of cuckoo hashing takes, as `hw_exact` has it.
fn exact_memory(target: &Target, bits: u64, words: u64) -> Cost {
    if words * bits <= 2048 { target.distributed(bits, words) } else { target.memory(bits, words) }
}

/// What the data of cuckoo hashing take.
fn exact_data(target: &Target, data: u64, shape: &Exact) -> Cost {
    let Exact { buckets, slots, parts, .. } = *shape;
    exact_memory(target, data.div_ceil(parts.into()), 2 * u64::from(slots) * buckets * u64::from(parts))
}

/// What cuckoo hashing takes.
pub(crate) fn exact(target: &Target, key: u64, data: u64, shape: &Exact) -> Cost {
    let Exact { buckets, slots, passes, parts, .. } = *shape;
    let (ways, passes) = (2 * u64::from(slots), u64::from(passes));
    let lanes = ways / passes;
    let (keys, datas) = (exact_memory(target, 1 + key, passes * buckets), exact_data(target, data, shape));
    // What is read waits for what is being written; entries of small memories do not.
    let written = |memory: &Cost, bits: u64| if memory.blocks > 0 { bits } else { 0 };
    let part = data.div_ceil(parts.into());
    let (key_written, data_written) = (written(&keys, 1 + key), written(&datas, part));
    // Both hashes, the comparisons, and the choice of a way. The key waits for the entries, those for the comparisons, the buckets for both.
    let bucket_bits = u64::from(buckets.ilog2());
    let hashes = bucket_bits * key / 3;
    let hashed = 2 * bucket_bits * (5 + key.div_ceil(32));
    let parted = if parts == 1 { 0 } else { data }; // Which part is written.
    let luts = hashes + lanes * (key * 3 / 4 + key_written) + data_written + parted / 2;
    let waiting = if passes == 1 { 4 } else { 3 };
    // A bit for each cycle of a lookup and of a write.
    let cycles = 2 * u64::from(shape.latency());
    let registers = key_written + lanes * (1 + key + key / 8) + waiting * key + hashed + data + data_written + cycles;
    let mut cost = keys.times(lanes).with(luts, registers);
    cost += datas;
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_take_the_flip_flops_that_synthesis_makes() {
        let target = Target::by_name("ecp5-85-256").unwrap();
        // Bits of the key and of data, buckets, entries of one, cycles between lookups; flip-flops that synthesis makes of the engine.
        for (key, data, buckets, slots, gap, made) in [
            (16, 430, 8, 4, 1, 1143),
            (128, 118, 16, 4, 1, 2011),
            (22, 146, 512, 2, 1, 642),
            (32, 118, 128, 2, 1, 656),
            (16, 430, 8, 4, 12, 679),
            (128, 118, 16, 4, 12, 936),
            (288, 49, 8, 4, 12, 1688),
        ] {
            let shape = Exact::new(buckets, slots, gap).in_parts(&target, gap, data);
            let estimated = exact(&target, key, data, &shape).registers;
            assert!(estimated.abs_diff(made) < made / 10, "{key} bits: {estimated}, not {made}");
        }
    }
}
