//! What a design costs and why: estimates by P4 line and by engine, the longest way through the pipeline, the stages and the fan-out that
//! limit the clock.
//!
//! Figures of engines are measured by place and route (`docs/fpga.md`); those of gates and registers are counted. The estimate is for a
//! LUT with four inputs; one with six needs about half.

mod fanout;
mod html;
mod text;

use std::collections::BTreeMap;
use std::fmt::Write;

use hopwright_ir::{ExternKind, HashAlgorithm, Pipeline, TableId};
use hopwright_source::{SourceMap, Span};
use serde::Serialize;

pub use crate::cost::Cost;
use crate::design::Hardware;
use crate::digest::QUEUE;
use crate::hir::{Binary, Destinations, LookupLayout, Node, Op, Value};
use crate::map::COUNT_BITS;
use crate::masked::{MASKS, Masked};
use crate::schedule::{Exact, TERNARY_CHUNK_BITS, TableEngine, exact, key_bits, ternary_entries};
use crate::sharing::Engine;

/// The most kinds of slow stages.
const SLOWEST: usize = 8;

/// The most values with many loads.
const WIDEST: usize = 8;

/// Loads that are many.
const MANY_LOADS: u32 = 16;

/// The cycles between packets from which a counter does one thing after the other, and nothing passes by its memory: `IN_TURN` of
/// `hw_counter.sv`.
const COUNTER_IN_TURN: u32 = 6;

/// A kind of parts, such as tables or ciphers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// How many there are; of gates and of values that are carried, 0.
    pub count: u64,
    /// What they take.
    pub cost: Cost,
    /// Stages of the longest way in which they work.
    pub stages: u32,
}

/// A line of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Its engines; without any, nothing.
    pub engines: Vec<String>,
    /// What it takes; computation and what carries its results.
    pub cost: Cost,
    /// The part of the cost that carries results to later stages.
    pub carried: Cost,
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineUse {
    /// What it is: table, cipher, counter.
    pub name: String,
    /// The place in the program.
    pub place: String,
    /// The first stage.
    pub first: u32,
    /// The stage in which its result is there.
    pub ready: u32,
    /// What it takes.
    pub cost: Cost,
}

/// Stages in which one line of the program is on the longest way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The place in the program.
    pub place: String,
    /// Its text.
    pub text: String,
    /// What is done.
    pub what: String,
    /// The kind of parts that do it.
    pub kind: &'static str,
    /// The first stage.
    pub first: u32,
    /// The last stage.
    pub last: u32,
}

/// Stages that limit the clock, with the same operations in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlowStage {
    /// The first of them.
    pub stage: u32,
    /// How many there are.
    pub count: u32,
    /// The delay in hundredths of a LUT level with its routing.
    pub delay: u32,
    /// What is in a row there, with places in the program.
    pub chain: Vec<String>,
}

/// A value that many inputs of gates and registers take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WideValue {
    /// The loads of the bit that has most, in one cycle.
    pub loads: u32,
    /// The stage of the signal or register that has them.
    pub stage: u32,
    /// What makes the value.
    pub what: String,
    /// The place in the program.
    pub place: String,
    /// Its text.
    pub text: String,
}

/// The report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The program.
    pub program: String,
    /// The target.
    pub target: String,
    /// Stages of the pipeline.
    pub stages: u32,
    /// Cycles at least between two packets.
    pub gap: u32,
    /// The clock that the target aims at.
    pub clock_mhz: u32,
    /// Nanoseconds in the pipeline at that clock.
    pub latency_ns: u32,
    /// Gigabits a second that the bus carries at that clock.
    pub bus_gbps: u32,
    /// Millions of packets a second at that clock.
    pub mpps: u32,
    /// The chip.
    pub chip: String,
    /// What the chip has. LUTs are counted as ones with four inputs.
    pub capacity: Cost,
    /// What the design takes, with the packet store.
    pub total: Cost,
    /// What carries values from stage to stage.
    pub carried: Cost,
    /// What it is made of.
    pub kinds: Vec<Kind>,
    /// Lines, those first that take the largest share of anything that the chip has.
    pub lines: Vec<Line>,
    /// Engines, in order of their first stages.
    pub engines: Vec<EngineUse>,
    /// Why the latency is what it is.
    pub longest: Vec<Step>,
    /// The delay that a stage may have at the clock, in hundredths of a LUT level with its routing.
    pub stage_delay: u32,
    /// Stages with more: operations that take more than a stage alone.
    pub stages_over: u32,
    /// Why the clock is what it is: the slowest stages.
    pub slowest: Vec<SlowStage>,
    /// The values with most loads, one a line of the program.
    pub widest: Vec<WideValue>,
    /// Bits that are carried, by stage.
    pub bits_by_stage: Vec<u64>,
}

impl Report {
    /// Reports on a program that has been compiled.
    pub fn of(pipeline: &Pipeline, hardware: &Hardware) -> Report {
        Reporter { p: pipeline, hardware }.report()
    }
}

struct Reporter<'a> {
    p: &'a Pipeline,
    hardware: &'a Hardware,
}

impl Reporter<'_> {
    fn report(&self) -> Report {
        let Hardware { target, core, schedule, verilog, .. } = self.hardware;
        let design = &core.design;
        let (mut total, mut carried) = (Cost::default(), Cost::default());
        let mut lines: BTreeMap<(String, u32), Line> = BTreeMap::new();
        let mut engines = Vec::new();
        let mut kinds: BTreeMap<&'static str, (u64, Cost)> = BTreeMap::new();
        let mut bits_by_stage = vec![0u64; schedule.stages as usize];
        for (i, node) in design.nodes.iter().enumerate() {
            let (ready, last) = (schedule.ready[i].stage, schedule.last_use[i]);
            let own = self.own(Value(i as u32));
            let way = self.carried(i);
            if !matches!(node.op, Op::Const(_) | Op::Concat(_)) && last > ready {
                (ready..last).for_each(|stage| bits_by_stage[stage as usize] += u64::from(node.width));
            }
            total += own;
            total += way;
            carried += way;
            if let Some(mut name) = self.engine(node) {
                if let Some((number, shared)) = schedule.engines.of(Value(i as u32)).filter(|(_, e)| e.uses.len() > 1) {
                    let _ = write!(name, ", engine {number}, shared by {}", shared.uses.len());
                }
                let (place, first) = (self.place(node.span), schedule.start[i]);
                engines.push(EngineUse { name, place, first, ready, cost: own });
            }
            let place = self.p.sources.location(node.span);
            let key = (place.file.to_string(), place.line);
            let line = lines.entry(key).or_insert_with_key(|(file, line)| Line {
                file: file.clone(),
                line: *line,
                text: text_of(&self.p.sources, node.span),
                engines: Vec::new(),
                cost: Cost::default(),
                carried: Cost::default(),
            });
            line.engines.extend(self.engine(node));
            let kind = kinds.entry(kind_of(&node.op)).or_default();
            // Engines, not their uses.
            kind.0 += u64::from(self.engine(node).is_some() && own != Cost::default());
            kind.1 += own;
            line.cost += own;
            line.cost += way;
            line.carried += way;
        }
        let lists = core.copies.map(|_| (COPIES, target.memory(25, target.copy_lists.into()).with(600, 500)));
        for (name, cost) in [(STORE, self.store()), (REGISTER_MAP, verilog.map.cost())].into_iter().chain(lists) {
            kinds.entry(name).or_default().1 += cost;
            total += cost;
        }
        engines.sort_by_key(|engine| engine.first);
        let mut lines: Vec<Line> = lines.into_values().collect();
        let capacity = target.capacity();
        let by_share = |a: &Cost, b: &Cost| b.share_of(&capacity).total_cmp(&a.share_of(&capacity));
        lines.sort_by(|a, b| by_share(&a.cost, &b.cost));
        lines.retain(|line| line.cost != Cost::default());
        let longest = self.longest();
        let kinds = kinds.into_iter().map(|(name, (count, cost))| {
            let steps = longest.iter().filter(|step| step.kind == name);
            Kind { name, count, cost, stages: steps.map(|step| step.last - step.first).sum() }
        });
        let mut kinds: Vec<Kind> = kinds.collect();
        kinds.push(Kind { name: "values on their way", count: 0, cost: carried, stages: 0 });
        kinds.retain(|kind| kind.cost != Cost::default());
        kinds.sort_by(|a, b| by_share(&a.cost, &b.cost));
        Report {
            program: self.p.name.clone(),
            target: target.name.clone(),
            stages: schedule.stages,
            gap: verilog.gap,
            clock_mhz: target.clock_mhz,
            latency_ns: schedule.stages * 1000 / target.clock_mhz,
            bus_gbps: 8 * target.bus_bytes * target.clock_mhz / 1000,
            mpps: target.clock_mhz / verilog.gap,
            chip: target.chip.clone(),
            capacity,
            total,
            carried,
            kinds,
            lines,
            engines,
            longest,
            stage_delay: target.stage_delay,
            stages_over: schedule.delays.iter().filter(|delay| **delay > target.stage_delay).count() as u32,
            slowest: self.slowest(),
            widest: self.widest(),
            bits_by_stage,
        }
    }

    /// What carries a value to the stages of its uses.
    fn carried(&self, number: usize) -> Cost {
        let Hardware { target, core, schedule, verilog, .. } = self.hardware;
        let node = &core.design.nodes[number];
        let (ready, last) = (schedule.ready[number].stage, schedule.last_use[number]);
        let mut carried = verilog.carried.get(&format!("v{number}")).copied().unwrap_or_default();
        // It waits with its packet until the copies have been made.
        let waits = ready < schedule.egress && last >= schedule.egress;
        if waits && !matches!(node.op, Op::Const(_) | Op::Concat(_)) {
            carried += target.memory(node.width.into(), schedule.packets().into());
        }
        carried
    }

    /// What stores packets, edits them and puts new headers in front of them. Gates are those measured for a bus of 512 bits.
    fn store(&self) -> Cost {
        let Hardware { target, core, schedule, .. } = self.hardware;
        let (bus, window) = (8 * u64::from(target.bus_bytes), self.window_bits());
        let verdicts = u64::from(schedule.verdicts());
        let length_bits = u64::from(target.max_packet_bytes.ilog2()) + 1;
        let header_bits = u64::from(core.header_capacity.ilog2()) + 1;
        let edits = core.edits.len() as u64;
        let edit_bits: u64 =
            core.edits.iter().map(|edit| 1 + length_bits + u64::from(core.design[edit.bits].width)).sum();
        let mut cost = target.memory(bus, target.store_words(schedule.stages).into());
        // New headers wait by words if there is time to write them so, and they are few (`hw_join`).
        let words = core.header_capacity.div_ceil(target.bus_bytes);
        let all_words = 2 * verdicts * u64::from(words.next_power_of_two());
        let header = 8 * u64::from(core.header_capacity);
        cost += if words == 1 || schedule.engines.gap < words || all_words > 512 {
            target.memory(header, 2 * verdicts)
        } else {
            target.memory(bus, all_words)
        };
        cost += target.memory(header_bits + 2 * length_bits + 10, verdicts);
        cost += target.memory(edit_bits, 2 * verdicts);
        // A header has registers in front of its memory and behind it; where packets are apart a window waits for its turn.
        let windows = if schedule.engines.gap > 1 { 2 * window + 180 } else { window };
        let edited = if edits > 0 { 3 * bus + edits * bus / 8 + 9 * edit_bits / 2 } else { 0 };
        cost.with((15 + edits) * bus, windows + 630 + 22 * bus / 3 + header * 7 / 2 + edited)
    }

    /// The bits of a packet's first bytes that the program reads at places that are known.
    fn window_bits(&self) -> u64 {
        let design = &self.hardware.core.design;
        let mut read = vec![false; 8 * self.hardware.target.window_bytes as usize];
        for node in &design.nodes {
            let Op::Window { offset, bit } = node.op else { continue };
            let Some(first) = design.window_start(offset, bit) else { continue };
            read.iter_mut().skip(first as usize).take(node.width as usize).for_each(|bit| *bit = true);
        }
        read.iter().filter(|bit| **bit).count() as u64
    }

    /// What an operation takes itself.
    fn own(&self, value: Value) -> Cost {
        let design = &self.hardware.core.design;
        let node = &design[value];
        // A shared engine is paid for where it is used first.
        if self.engine_of(value).is_some_and(|engine| engine.uses[0].0 != value) {
            return Cost::default();
        }
        let width = |v: &Value| u64::from(design[*v].width);
        let (w, p, target) = (u64::from(node.width), self.p, &self.hardware.target);
        let gap = self.hardware.schedule.engines.gap;
        let luts = |luts: u64| Cost { luts, ..Cost::default() };
        match &node.op {
            Op::Binary(op, a, b) => luts(match op {
                Binary::Eq if matches!(design[*b].op, Op::Const(_)) => width(a).div_ceil(3),
                Binary::Eq => width(a) * 2 / 3,
                Binary::Less | Binary::LessSigned => width(a),
                Binary::Mul => 0,
                Binary::Shl | Binary::Shr | Binary::ShrSigned => w * u64::from(node.width.next_power_of_two().ilog2()),
                _ => w,
            }),
            Op::Mux { .. } => luts(w),
            Op::OneHot(cases) => luts(w * (cases.len() as u64).div_ceil(2)),
            Op::Ones(a) => luts(width(a)),
            Op::Lookup { table, .. } => self.lookup_cost(*table),
            Op::Member { lookup, .. } => {
                let Op::Lookup { table, .. } = design[*lookup].op else { return Cost::default() };
                let layout = LookupLayout::of(p, table);
                let call = u64::from(layout.call_bits());
                target.memory(call, 1 << layout.list_bits).with(call, 2 * call)
            }
            Op::Destinations { of, .. } => {
                exact(target, of.number_width().into(), w, &Exact::of_destinations(*of, gap))
            }
            Op::Count { counter, .. } => {
                let ExternKind::Counter { size, unit } = p[*counter].kind else { return Cost::default() };
                let counts = u64::from(unit.packets()) + u64::from(unit.bytes());
                let (luts, registers) = if gap < COUNTER_IN_TURN { (310, 170) } else { (140, 155) };
                target.memory(counts * u64::from(COUNT_BITS), size).with(luts * counts, registers * counts)
            }
            Op::RegisterRead { register, .. } => {
                let ExternKind::Register { size, ty } = p[*register].kind else { return Cost::default() };
                let bits = u64::from(ty.width());
                target.memory(bits, size).with(2 * bits, 4 * bits)
            }
            Op::Random { .. } => luts(128).with(0, 64),
            Op::Digest { word, .. } => target.memory(width(word), QUEUE.into()).with(100, 3 * width(word)),
            Op::Measure { .. } | Op::Color { .. } => Cost { luts: 2500, registers: 2000, ..Cost::default() },
            Op::Fetch { .. } => self.fetch_cost(value, node.width),
            // A sum adds words by carries; of a CRC each bit is a parity of many.
            Op::Hash(HashAlgorithm::Csum16, data) => luts(width(data) * 3 / 2).with(0, width(data) + 80),
            Op::Hash(_, data) => luts(w * width(data) / 8).with(0, w * (width(data).div_ceil(32) + 1)),
            // Sixteen S-boxes a round, two in a memory of 18 kbit, which may be half a block. Folded rounds have their keys in block RAM, four of
            // 36 bits.
            Op::Extern { .. } => {
                let rounds = self.engine_of(value).map_or(10, |engine| u64::from(engine.fold.rounds));
                let memory_bits = 18_432 * if rounds == 10 { 80 } else { 12 * rounds };
                let blocks = memory_bits / u64::from(target.block_bits);
                let (luts, registers) =
                    if rounds == 10 { (8750, 4200) } else { (950 * rounds - 400, 650 + 380 * rounds) };
                Cost { luts, registers, blocks, memory_bits }
            }
            _ => Cost::default(),
        }
    }

    fn lookup_cost(&self, table: TableId) -> Cost {
        let (p, Hardware { target, schedule, .. }) = (self.p, self.hardware);
        let layout = LookupLayout::of(p, table);
        let data = u64::from(layout.stored_bits());
        let key = u64::from(key_bits(p, table));
        // The default action and its data are in registers, and a hit chooses.
        let default = if layout.list_bits > 0 { 0 } else { u64::from(layout.call_bits()) };
        let engine = match TableEngine::of(p, table) {
            TableEngine::Default => return Cost { registers: default, ..Cost::default() },
            TableEngine::Index => target.memory(data + 1, 1 << key).with(data + 50, data + 20),
            TableEngine::Exact => exact(target, key, data, &Exact::of_table(p, table, target, schedule.engines.gap)),
            TableEngine::Lpm(levels) => {
                let levels = u64::from(levels);
                let (luts, registers) = (levels * key * 5 / 2, levels * key * 5);
                let mut cost = target.memory(data + 1, 2 << levels).with(luts, registers);
                (1..=levels).for_each(|level| cost += target.memory(key, 1 << level));
                cost
            }
            TableEngine::Masked => Masked::of_table(p, table, target, schedule.engines.gap).cost(target),
            TableEngine::Ternary => {
                let rows = u64::from(ternary_entries(p[table].size));
                let chunks = key.div_ceil(u64::from(TERNARY_CHUNK_BITS));
                let mut cost = target.memory(data, rows).with(rows * (chunks / 3 + 4), rows * chunks * 3 / 2);
                cost += target.memory(rows, 1 << TERNARY_CHUNK_BITS).times(chunks);
                cost
            }
        };
        engine.with(layout.width().into(), default)
    }

    /// A copy of the last words of the packet store, and shifters of four to one.
    fn fetch_cost(&self, value: Value, width: u32) -> Cost {
        let Hardware { target, schedule, .. } = self.hardware;
        let last = self.engine_of(value).and_then(|engine| engine.uses.iter().map(|(_, start)| *start).max());
        let fetch = target.fetch(width / 8, schedule.engines.gap);
        let copy = target.copy_words(last.unwrap_or(0), fetch.reads, schedule.engines.gap);
        let (bus, width) = (8 * u64::from(target.bus_bytes), u64::from(width));
        let memory = target.memory(bus, copy.into());
        if fetch.part < target.bus_bytes {
            let shifted = 8 * u64::from(fetch.part);
            memory.with(10 * shifted, 4 * shifted + width)
        } else {
            memory.with(2 * width * u64::from(target.bus_bytes.ilog2()) + bus, 3 * width + 2 * bus + 720)
        }
    }

    /// The engine of an operation, if it can be shared.
    fn engine_of(&self, value: Value) -> Option<&Engine> {
        self.hardware.schedule.engines.of(value).map(|(_, engine)| engine)
    }

    /// What an engine is; nothing for gates.
    fn engine(&self, node: &Node) -> Option<String> {
        Some(match &node.op {
            Op::Lookup { table, .. } if TableEngine::of(self.p, *table) == TableEngine::Masked => {
                format!("table {} ({MASKS} masks)", self.p[*table].name)
            }
            Op::Lookup { table, .. } => format!("table {}", self.p[*table].name),
            Op::Destinations { of: Destinations::Group { .. }, .. } => "multicast groups".to_string(),
            Op::Destinations { of: Destinations::Session { .. }, .. } => "clone sessions".to_string(),
            Op::Member { lookup, .. } => format!("members of {}", self.word(&self.hardware.core.design[*lookup])),
            Op::InSet { set, .. } => format!("value set {}", self.p[*set].name),
            Op::Count { counter, .. } => format!("counter {}", self.p[*counter].name),
            Op::RegisterRead { register, .. } => format!("register {}", self.p[*register].name),
            Op::Random { .. } => "random numbers".to_string(),
            Op::Digest { .. } => "digests".to_string(),
            Op::Measure { meter, .. } => format!("meter {}", self.p[*meter].name),
            Op::Fetch { .. } => format!("fetch of {} bytes of the packet", node.width / 8),
            Op::Hash(algorithm, _) => format!("hash {algorithm:?}").to_lowercase(),
            Op::Extern { instance, method, .. } => match instance {
                Some(id) => format!("{}.{method}", self.p[*id].name),
                None => method.clone(),
            },
            _ => return None,
        })
    }

    fn place(&self, span: Span) -> String {
        let place = self.p.sources.location(span);
        format!("{}:{}", place.file, place.line)
    }

    /// What is done, in a word.
    fn word(&self, node: &Node) -> String {
        let word = match &node.op {
            Op::Binary(op, a, _) => {
                let bits = self.hardware.core.design[*a].width;
                return format!("{} of {bits} bits", format!("{op:?}").to_lowercase());
            }
            Op::Mux { .. } | Op::OneHot(_) => "choice",
            Op::Window { .. } => "field",
            Op::Ones(_) => "ones",
            _ => return self.engine(node).unwrap_or_else(|| "wiring".into()),
        };
        word.to_string()
    }

    /// The operand that is there last.
    fn latest(&self, value: Value) -> Option<Value> {
        let operands = self.hardware.core.design[value].op.operands();
        operands.into_iter().max_by_key(|v| self.hardware.schedule.ready[v.index()])
    }

    fn longest(&self) -> Vec<Step> {
        let Hardware { core, schedule, .. } = self.hardware;
        let last = (0..core.design.nodes.len() as u32).map(Value).max_by_key(|v| schedule.ready[v.index()]);
        let mut steps: Vec<Step> = Vec::new();
        let mut at = last;
        while let Some(value) = at {
            let node = &core.design[value];
            let (first, ready) = (schedule.start[value.index()], schedule.ready[value.index()].stage);
            let before = self.latest(value);
            // Stages between the operand and the operation are the operation's.
            let first = before.map_or(first, |v| schedule.ready[v.index()].stage.min(first));
            let (place, what) = (self.place(node.span), self.word(node));
            match steps.last_mut() {
                // Gates of one line are one step.
                Some(step) if step.place == place && self.engine(node).is_none() && step.what == "logic" => {
                    step.first = step.first.min(first);
                }
                _ if ready > first => {
                    let what = if self.engine(node).is_some() { what } else { "logic".to_string() };
                    let text = text_of(&self.p.sources, node.span);
                    steps.push(Step { place, text, what, kind: kind_of(&node.op), first, last: ready });
                }
                _ => {}
            }
            at = before;
        }
        steps.reverse();
        steps
    }

    fn slowest(&self) -> Vec<SlowStage> {
        let Hardware { core, schedule, .. } = self.hardware;
        let mut stages: Vec<u32> = (0..schedule.stages).collect();
        stages.sort_by_key(|stage| std::cmp::Reverse(schedule.delays[*stage as usize]));
        let slow = |stage: u32| {
            let nodes = (0..core.design.nodes.len() as u32).map(Value);
            let mut at =
                nodes.filter(|v| schedule.ready[v.index()].stage == stage).max_by_key(|v| schedule.ready[v.index()]);
            let mut chain = Vec::new();
            while let Some(value) = at.filter(|v| schedule.ready[v.index()].stage == stage) {
                let node = &core.design[value];
                let word = self.word(node);
                if word != "wiring" {
                    chain.push(format!("{word} ({})", self.place(node.span)));
                }
                at = self.latest(value);
            }
            chain.reverse();
            SlowStage { stage, count: 1, delay: schedule.delays[stage as usize], chain }
        };
        let mut slowest: Vec<SlowStage> = Vec::new();
        for stage in stages.into_iter().filter(|s| schedule.delays[*s as usize] > 0) {
            let one = slow(stage);
            let same = slowest.iter_mut().find(|other| other.chain == one.chain && other.delay == one.delay);
            if let Some(same) = same {
                same.count += 1;
            } else if slowest.len() < SLOWEST {
                slowest.push(one);
            }
        }
        slowest
    }

    /// Of each line the value with most loads.
    fn widest(&self) -> Vec<WideValue> {
        let Hardware { core, schedule, .. } = self.hardware;
        let fanouts = fanout::of(&core.design, schedule);
        let mut values: Vec<_> = core.design.nodes.iter().zip(fanouts).collect();
        values.retain(|(_, fanout)| fanout.loads >= MANY_LOADS);
        values.sort_by_key(|(_, fanout)| std::cmp::Reverse(fanout.loads));
        let mut widest: Vec<WideValue> = Vec::new();
        for (node, fanout) in values {
            let place = self.place(node.span);
            if widest.len() == WIDEST {
                break;
            }
            if widest.iter().all(|other| other.place != place) {
                let (what, text) = (self.word(node), text_of(&self.p.sources, node.span));
                widest.push(WideValue { loads: fanout.loads, stage: fanout.stage, what, place, text });
            }
        }
        widest
    }
}

/// The name of gates as a kind.
const GATES: &str = "gates";

/// The name of what makes copies as a kind.
const COPIES: &str = "copies of packets";

/// The name of what stores and sends packets as a kind.
const STORE: &str = "packet store and exit";

/// The name of what software reads and writes as a kind.
const REGISTER_MAP: &str = "register map";

/// What does an operation.
fn kind_of(op: &Op) -> &'static str {
    match op {
        Op::Lookup { .. } | Op::Color { .. } | Op::Member { .. } | Op::InSet { .. } => "tables",
        Op::Destinations { .. } => COPIES,
        Op::Random { .. } => "random numbers",
        Op::Digest { .. } => "digests",
        Op::Count { .. } => "counters",
        Op::Measure { .. } => "meters",
        Op::RegisterRead { .. } | Op::RegisterWrite { .. } => "registers",
        Op::Fetch { .. } => "fetches of bytes at variable places",
        Op::Hash(..) => "hashes and checksums",
        Op::Extern { .. } => "ciphers",
        _ => GATES,
    }
}

/// The line of the program, without blanks around it; nothing if there is no text.
fn text_of(sources: &SourceMap, span: Span) -> String {
    let Some(file) = sources.get(span.file) else { return String::new() };
    let index = file.line_index(span.start);
    file.text().get(file.line_range(index)).unwrap_or("").trim().to_string()
}
