//! Carries values from the stages in which they are there to those that use them.
//!
//! Packets are at least a gap of cycles apart. A register that takes a value at the end of a packet's stage therefore holds it in as many
//! of the following stages: it *covers* them. What is used in the first of them only is not held, so that its register needs no enable.
//! Enables that would have to reach many bits are registers of their own ([`Carrier::enables`]). A value that would pass many registers waits in a delay line instead, which has a word for each
//! packet between two stages; values that wait between the same stages share one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::cost::Cost;
use crate::target::Target;

/// The most bits of a delay line. Its pointers reach all of its memories within a cycle.
const LINE_BITS: u32 = 144;

/// What the pointers of a delay line take, in LUTs or flip-flops each.
const POINTERS: u64 = 8;

/// Words of a delay line from which on it is block RAM.
const BLOCK_WORDS: u32 = 33;

/// Bits that one copy of an enable reaches.
const ENABLE_BITS: u32 = 32;

/// A value that is to be at the output of a delay line.
struct Waiting {
    name: String,
    width: u32,
    /// The first and the last stage in which it is there, and the signal.
    from: (u32, u32),
}

/// The copies of a stage's enable.
#[derive(Default)]
struct Enables {
    copies: u32,
    /// Bits that the last copy can still reach.
    free: u32,
}

/// Stages that have a reset of their own.
pub(super) const RESET_STAGES: u32 = 4;

/// The reset of what is in a stage.
pub(super) fn reset(stage: u32) -> String {
    format!("resets[{}]", stage / RESET_STAGES)
}

/// All values that are carried.
pub(super) struct Carrier<'a> {
    target: &'a Target,
    gap: u32,
    /// The first stage of the second of two pipelines, which a packet enters at any time; 0 for one pipeline.
    egress: u32,
    /// By stage, the copies of its enable.
    enabled: BTreeMap<u32, Enables>,
    /// By the stage that is left and that of the output.
    lines: BTreeMap<(u32, u32), Vec<Waiting>>,
    /// What carries each value, by its name without the stage.
    costs: BTreeMap<String, Cost>,
}

impl<'a> Carrier<'a> {
    pub(super) fn new(target: &'a Target, gap: u32, egress: u32) -> Carrier<'a> {
        Carrier { target, gap, egress, enabled: BTreeMap::new(), lines: BTreeMap::new(), costs: BTreeMap::new() }
    }

    /// Carries the signal `<name>_<from>`, which is there in stage `from` only, to `<name>_<stage>` for each stage. Returns the
    /// declarations; [`Carrier::lines`] drives what comes from delay lines.
    pub(super) fn carry(&mut self, name: &str, width: u32, from: u32, stages: &BTreeSet<u32>) -> String {
        let (mut out, gap) = (String::new(), self.gap);
        // The stages in which the latest register holds the value; the first one is part of its name.
        let mut cover = (from, from);
        let stages: Vec<u32> = stages.iter().copied().collect();
        for (i, stage) in stages.iter().copied().enumerate() {
            if cover.0 == from && stage > from + 2 * gap {
                // A delay line begins at a register: many bits go to one place there.
                out.push_str(&self.register(name, width, (cover.1, cover.0), true));
                cover = (from + 1, from + gap);
            }
            if stage > cover.1 + gap {
                // As late as possible, but with all uses that follow closely; where that leaves a choice, where others wait, too.
                let last = stages[i..].iter().copied().take_while(|other| *other < stage + gap).last().unwrap_or(stage);
                let to = aligned(last + 1 - gap, stage, gap);
                let _ = writeln!(out, "    logic [{}:0] {name}_{to};", width - 1);
                let leaves = aligned(cover.0, cover.1, gap);
                self.lines.entry((leaves, to)).or_default().push(Waiting {
                    name: name.to_string(),
                    width,
                    from: cover,
                });
                cover = (to, to + gap - 1);
            } else if stage > cover.1 {
                let held = stage > cover.1 + 1 || i + 1 < stages.len();
                out.push_str(&self.register(name, width, (cover.1, cover.0), held));
                cover = (cover.1 + 1, cover.1 + gap);
            }
            if stage > cover.0 {
                let _ = writeln!(
                    out,
                    "    logic [{}:0] {name}_{stage};\n    assign {name}_{stage} = {name}_{};",
                    width - 1,
                    cover.0
                );
            }
        }
        out
    }

    /// A register that takes a value at the end of a stage `at`. Its signal is that of an earlier stage. It holds the value if that is `held`.
    fn register(&mut self, name: &str, width: u32, (at, signal): (u32, u32), held: bool) -> String {
        let next = at + 1;
        self.cost(name).registers += u64::from(width);
        format!("    logic [{}:0] {name}_{next};\n{}", width - 1, self.taken(name, width, (at, next, signal), held))
    }

    fn taken(&mut self, name: &str, width: u32, (at, next, signal): (u32, u32, u32), held: bool) -> String {
        if self.gap == 1 || !held {
            return format!("    always_ff @(posedge clk) {name}_{next} <= {name}_{signal};\n");
        }
        let mut out = String::new();
        for low in (0..width).step_by(ENABLE_BITS as usize) {
            let bits = ENABLE_BITS.min(width - low);
            let enable = self.enable(at, bits);
            let part = if bits == width { String::new() } else { format!("[{low}+:{bits}]") };
            let _ = writeln!(
                out,
                "    always_ff @(posedge clk) if ({enable}) {name}_{next}{part} <= {name}_{signal}{part};"
            );
        }
        out
    }

    /// Whether there is a packet in a stage, as a signal for this many bits.
    fn enable(&mut self, stage: u32, bits: u32) -> String {
        if !self.has_enables(stage) {
            return format!("valid_{stage}");
        }
        let enables = self.enabled.entry(stage).or_default();
        if bits > enables.free {
            enables.copies += 1;
            enables.free = ENABLE_BITS;
        }
        enables.free = enables.free.saturating_sub(bits);
        format!("enables_{stage}[{}]", enables.copies - 1)
    }

    /// Whether it is known a cycle before whether there is a packet in a stage.
    fn has_enables(&self, stage: u32) -> bool {
        if stage == 0 { self.gap > 1 } else { stage != self.egress }
    }

    /// For each stage, registers that say whether there is a packet, each for some of the bits that depend on it. Synthesis must not merge them.
    pub(super) fn enables(&self) -> String {
        let mut out = String::new();
        for (stage, Enables { copies, .. }) in &self.enabled {
            let soon = if *stage == 0 { "in_soon".to_string() } else { format!("valid_{}", stage - 1) };
            let _ = writeln!(out, "    logic [{}:0] enables_{stage};", copies - 1);
            for copy in 0..*copies {
                let _ = writeln!(out, "    (* keep *) always_ff @(posedge clk) enables_{stage}[{copy}] <= {soon};");
            }
        }
        out
    }

    fn cost(&mut self, name: &str) -> &mut Cost {
        self.costs.entry(name.to_string()).or_default()
    }

    /// The delay lines, and registers where those take less.
    pub(super) fn lines(&mut self) -> String {
        let (mut out, gap) = (String::new(), self.gap);
        for ((leaves, to), all) in std::mem::take(&mut self.lines) {
            let delay = to - leaves;
            let bits: u32 = all.iter().map(|waiting| waiting.width).sum();
            let words = (delay - 1).div_ceil(gap);
            let line = self.target.memory(bits.into(), words.into());
            let line = line.luts + u64::from(bits) + 2 * POINTERS;
            if words < BLOCK_WORDS && line >= u64::from(bits * delay.div_ceil(gap)) {
                all.iter().for_each(|waiting| out.push_str(&self.registers(waiting, to)));
                continue;
            }
            for (number, part) in parts(&all).into_iter().enumerate() {
                let bits: u32 = part.iter().map(|waiting| waiting.width).sum();
                let mut blocks = self.target.memory(bits.into(), words.into()).blocks;
                for waiting in part {
                    let mut own = self.target.memory(waiting.width.into(), words.into());
                    // A block is the first value's.
                    own.blocks = std::mem::take(&mut blocks);
                    own.registers = u64::from(waiting.width);
                    *self.cost(&waiting.name) += own;
                }
                let names = |stage: &dyn Fn(&Waiting) -> u32| {
                    let names: Vec<String> = part.iter().map(|w| format!("{}_{}", w.name, stage(w))).collect();
                    names.join(", ")
                };
                // The memories that are written, of four bits each.
                let enable = self.enable(leaves, bits.div_ceil(4));
                // A line may be far from what resets its stage. When its reset comes, nothing valid is left there.
                let line = format!("{leaves}_{to}_{number}");
                let _ = writeln!(
                    out,
                    "    logic reset_{line};\n    (* keep *) always_ff @(posedge clk) reset_{line} <= {};\n    \
                     hw_delay #(.WIDTH({bits}), .DELAY({delay}), .GAP({gap})) delay_{line} (.clk, .rst(reset_{line}), \
                     .in_valid({enable}), .in_data({{{}}}), .out_soon(valid_{}), .out_data({{{}}}));",
                    reset(leaves),
                    names(&|waiting| waiting.from.0),
                    to - 2,
                    names(&|_| to)
                );
            }
        }
        out
    }

    /// Carries a value by registers to a signal that is declared.
    fn registers(&mut self, waiting: &Waiting, to: u32) -> String {
        let (name, width) = (&waiting.name, waiting.width);
        let (mut signal, mut last) = waiting.from;
        let mut out = String::new();
        while last < to - 1 {
            out.push_str(&self.register(name, width, (last, signal), true));
            (signal, last) = (last + 1, last + self.gap);
        }
        self.cost(name).registers += u64::from(width);
        out.push_str(&self.taken(name, width, (to - 1, to, signal), true));
        out
    }

    /// What carries each value, by its name without the stage.
    pub(super) fn into_costs(self) -> BTreeMap<String, Cost> {
        self.costs
    }
}

/// The highest multiple of the gap from `low` to `high`; without one, `high`.
fn aligned(low: u32, high: u32, gap: u32) -> u32 {
    let at = high / gap * gap;
    if at < low { high } else { at }
}

/// Values in parts of no more bits than a delay line has, if they are more than one.
fn parts(all: &[Waiting]) -> Vec<&[Waiting]> {
    let (mut parts, mut first, mut bits) = (Vec::new(), 0, 0);
    for (at, waiting) in all.iter().enumerate() {
        if bits > 0 && bits + waiting.width > LINE_BITS {
            parts.push(&all[first..at]);
            (first, bits) = (at, 0);
        }
        bits += waiting.width;
    }
    parts.push(&all[first..]);
    parts
}
