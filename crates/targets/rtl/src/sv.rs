//! SystemVerilog.
//!
//! Each value is a signal `v<number>_<stage>`, or `<name>_s<stage>` with a [name](names): what it holds in a stage of the pipeline. It is [carried](carry) to the stages that use
//! it. Concatenations are written where they are used, so that only their parts are carried.

mod carry;
mod copies;
mod metering;
mod names;
mod registers;
mod search;
mod values;

pub(crate) use copies::{GROUPS, LISTS, SESSIONS};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hopwright_ir::{ExternId, Pipeline};

use self::carry::{Carrier, RESET_STAGES, reset};
use crate::core::{Again, Core};
use crate::cost::Cost;
use crate::hir::{Input, Node, Op, Value};
use crate::map::Map;
use crate::refusal::{Capability, Refusal, distinct};
use crate::schedule::{CHOSEN_BITS, Schedule};
use crate::target::Target;

/// The most keys of an object.
const MAX_KEYS: u32 = 256;

/// The top module, with names in `@`.
const TOP: &str = include_str!("top.sv");

/// What is around it if packets pass it again.
const LOOP: &str = include_str!("loop.sv");

/// The most packets of the longest that wait to pass again.
const LOOP_PACKETS: u32 = 4;

/// A design in SystemVerilog.
#[derive(Clone, Debug)]
pub struct Verilog {
    /// The name of the top module, and in front of that of the pipeline.
    pub name: String,
    /// The pipeline's module.
    pub pipeline: String,
    /// The top module: streams in and out, packet memory, pipeline.
    pub top: String,
    /// The register map.
    pub map: Map,
    /// Names of the engines that are used.
    pub engines: BTreeSet<&'static str>,
    /// Cycles at least between two packets in the pipeline.
    pub gap: u32,
    /// What carries each value to the stages that use it, by its signal without the stage, `v<number>`.
    pub carried: BTreeMap<String, Cost>,
}

/// Writes a scheduled core.
///
/// # Errors
/// What the target has no engine for.
pub fn emit(pipeline: &Pipeline, core: &Core, schedule: &Schedule, target: &Target) -> Result<Verilog, Vec<Refusal>> {
    let mut writer = Writer {
        p: pipeline,
        core,
        schedule,
        target,
        body: String::new(),
        wanted: BTreeMap::new(),
        carrier: Carrier::new(target, schedule.engines.gap, schedule.egress),
        map: Map::new(pipeline, target),
        engines: BTreeSet::from(["hw_delay", "hw_ram", "hw_fifo", "hw_skid", "hw_packet_store", "hw_join"]),
        refusals: Vec::new(),
        seen: BTreeSet::new(),
        window_stages: 0,
        start_stages: BTreeSet::new(),
        now_stages: BTreeSet::new(),
        crossing: Vec::new(),
        declarations: String::new(),
        switching: Vec::new(),
        chosen: BTreeMap::new(),
        copies: String::new(),
    };
    let mut module = writer.module();
    if !writer.refusals.is_empty() {
        return Err(distinct(writer.refusals));
    }
    let top = writer.top();
    module = names::rename(&module, &names::names(pipeline, &core.design));
    writer.map.identify(&mut module);
    Ok(Verilog {
        name: identifier(&pipeline.name),
        pipeline: module,
        top,
        map: writer.map,
        engines: writer.engines,
        gap: schedule.engines.gap,
        carried: writer.carrier.into_costs(),
    })
}

struct Writer<'a> {
    p: &'a Pipeline,
    core: &'a Core,
    schedule: &'a Schedule,
    target: &'a Target,
    body: String,
    /// The stages in which values are used.
    wanted: BTreeMap<Value, BTreeSet<u32>>,
    carrier: Carrier<'a>,
    map: Map,
    engines: BTreeSet<&'static str>,
    refusals: Vec<Refusal>,
    /// Tables, registers and other objects that have their engine.
    seen: BTreeSet<String>,
    /// The last stage in which fields are selected from the window.
    window_stages: u32,
    /// The stages in which the packet's place in the store is used.
    start_stages: BTreeSet<u32>,
    /// The stages in which meters use the time of the packet.
    now_stages: BTreeSet<u32>,
    /// Signals that go from ingress to egress with each copy, without their stages, and their widths.
    crossing: Vec<(String, u32)>,
    /// Signals that are driven at another place than they are used.
    declarations: String,
    /// Memories that must not be written while a signal is high.
    switching: Vec<(usize, String)>,
    /// The bits that copies of a condition choose in a stage.
    chosen: BTreeMap<(Value, u32), u32>,
    /// Those copies.
    copies: String,
}

impl Writer<'_> {
    fn node(&self, value: Value) -> &Node {
        &self.core.design[value]
    }

    fn refuse(&mut self, capability: Capability, value: Value, message: impl Into<String>) {
        let span = self.node(value).span;
        self.refusals.push(Refusal { capability, span, message: message.into() });
    }

    /// An expression for a value in a stage.
    fn at(&mut self, value: Value, stage: u32) -> String {
        let node = self.node(value);
        match &node.op {
            Op::Const(bits) => format!("{}'h{bits:x}", node.width),
            Op::Concat(parts) => {
                let parts = parts.clone();
                let parts: Vec<String> = parts.into_iter().map(|part| self.at(part, stage)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            _ => {
                self.wanted.entry(value).or_default().insert(stage);
                format!("v{}_{stage}", value.0)
            }
        }
    }

    /// This many bits, each equal to a condition in a stage. What chooses many bits has copies for [`CHOSEN_BITS`] of them each, which
    /// synthesis must not merge.
    fn mask(&mut self, cond: Value, stage: u32, width: u32) -> String {
        if !self.schedule.is_copied(cond, width) {
            return format!("{{{width}{{{}}}}}", self.at(cond, stage));
        }
        let before = self.at(cond, stage - 1);
        let (mut parts, mut left) = (Vec::new(), width);
        while left > 0 {
            let chosen = self.chosen.entry((cond, stage)).or_default();
            let (copy, free) = (*chosen / CHOSEN_BITS, CHOSEN_BITS - *chosen % CHOSEN_BITS);
            let name = format!("v{}_{stage}_{copy}", cond.0);
            if free == CHOSEN_BITS {
                let _ = writeln!(
                    self.copies,
                    "    logic {name};\n    (* keep *) always_ff @(posedge clk) {name} <= {before};"
                );
            }
            let bits = free.min(left);
            *chosen += bits;
            left -= bits;
            parts.push(format!("{{{bits}{{{name}}}}}"));
        }
        format!("{{{}}}", parts.join(", "))
    }

    /// As [`Writer::at`], but always a name or a constant, so that bits of it can be selected.
    fn name_at(&mut self, value: Value, stage: u32) -> String {
        self.wanted.entry(value).or_default().insert(stage);
        format!("v{}_{stage}", value.0)
    }

    fn module(&mut self) -> String {
        let count = self.core.design.nodes.len();
        let last = self.schedule.stages - 1;
        let outputs: Vec<String> = self.core.outputs().into_iter().map(|v| self.at(v, last)).collect();
        let request = self.request();
        // Users come after what they use: from the end, all uses of a value are known when it is written.
        let mut parts: Vec<String> = Vec::with_capacity(count);
        for i in (0..count).rev() {
            let value = Value(i as u32);
            self.body.clear();
            self.value(value);
            self.carry(value);
            parts.push(std::mem::take(&mut self.body));
        }
        parts.reverse();
        let target = self.target;
        let (window, header) = (8 * target.window_bytes, 8 * self.core.header_capacity);
        let addr = target.store_words(self.schedule.stages).ilog2();
        let start = self.carry_input("start", "in_start", addr, 0, &self.start_stages.clone());
        let time = self.carried_time();
        let lines = self.carrier.lines();
        let valid = self.valid(last);
        let copies = self.copies(&request);
        if self.core.again.is_some() {
            self.engines.insert("hw_loop");
        }
        let edit_count = self.core.edits.len().max(1);
        let (mut in_again, mut out_again) = (String::new(), String::new());
        if let Some(Again { kept, .. }) = self.core.again {
            let top = self.node(kept).width - 1;
            in_again = format!("\n    input  logic [{top}:0] in_again,");
            out_again = format!("\n    output logic out_loops,\n    output logic [{top}:0] out_again,");
        }
        if self.reads_sums() {
            self.engines.insert("hw_byte_sums");
            in_again.push_str("\n    input  logic [47:0] in_sums,");
        }
        let edit_bits = self.edit_sizes().iter().map(|bytes| 8 * bytes).sum::<u32>().max(1);
        let mut out = String::new();
        let name = identifier(&self.p.name);
        let _ = write!(
            out,
            "// The packet pipeline of `{name}`: {} stages. A packet enters with `in_valid` and leaves {last} cycles later.\n\
             // Not every bit of every input is used, nor every output of an engine.\n\
             // verilator lint_off UNUSEDSIGNAL\n// verilator lint_off PINCONNECTEMPTY\n\
             module {name}_pipeline (\n    input  logic clk,\n    input  logic rst,\n    input  logic in_soon,\n    input  logic in_valid,\n    \
             input  logic [{}:0] in_window,\n    input  logic [15:0] in_length,\n    input  logic [8:0] in_port,\n    \
             input  logic [47:0] in_now,{}\n    input  logic [{}:0] in_start,\n    input  logic in_put,\n    \
             input  logic [{}:0] in_put_addr,\n    input  logic [{}:0] in_put_data,\n    input  logic in_done,\n    output logic out_soon,\n    output logic out_valid,\n    output logic out_last,\n    output logic out_drop,\n    \
             output logic [8:0] out_port,\n    output logic [{}:0] out_header,\n    output logic [15:0] out_header_bytes,\n    \
             output logic [15:0] out_skip,\n    output logic [15:0] out_length,\n    output logic out_sends,\n    \
             output logic [{}:0] out_edit_enable,\n    output logic [{}:0] out_edit_offset,\n    \
             output logic [{}:0] out_edit_data,{}\n{}\n);\n",
            self.schedule.stages,
            window - 1,
            in_again,
            addr - 1,
            addr - 1,
            8 * target.bus_bytes - 1,
            header - 1,
            edit_count - 1,
            16 * edit_count - 1,
            edit_bits - 1,
            out_again,
            Map::ports(),
        );
        out.push_str(&self.declarations);
        out.push_str(&valid);
        out.push_str(&self.carrier.enables());
        out.push_str(&self.map.logic(&self.switching));
        out.push_str(&start);
        out.push_str(&time);
        for stage in 1..=self.window_stages {
            let before = if stage == 1 { "in_window".to_string() } else { format!("window_{}", stage - 1) };
            let _ = writeln!(
                out,
                "    logic [{}:0] window_{stage};\n    always_ff @(posedge clk) window_{stage} <= {before};",
                window - 1
            );
        }
        parts.iter().for_each(|part| out.push_str(part));
        out.push_str(&lines);
        out.push_str(&self.copies);
        out.push_str(&copies);
        let _ = writeln!(out, "    assign out_soon = valid_{};\n    assign out_valid = valid_{last};", last - 1);
        self.assign_outputs(&mut out, &outputs);
        out.push_str("endmodule\n// verilator lint_on PINCONNECTEMPTY\n// verilator lint_on UNUSEDSIGNAL\n");
        out
    }

    /// Assigns the results, in the order of [`Core::outputs`].
    fn assign_outputs(&self, out: &mut String, outputs: &[String]) {
        let (own, rest) = outputs.split_at(OUTPUTS.len());
        let (edits, again) = rest.split_at(3 * self.core.edits.len());
        let mut named: Vec<(&str, String)> = OUTPUTS.into_iter().zip(own.iter().cloned()).collect();
        named.extend(["loops", "again"].into_iter().zip(again.iter().cloned()));
        if let [_, _, shadow, clones, kept] = again {
            self.assign_shadow(out, &mut named, [shadow, clones, kept]);
        }
        for (name, output) in named {
            let _ = writeln!(out, "    assign out_{name} = {output};");
        }
        // The first edit is in the lowest bits.
        for (at, name) in ["enable", "offset", "data"].into_iter().enumerate() {
            let mut parts: Vec<&str> = edits.iter().skip(at).step_by(3).map(String::as_str).collect();
            parts.reverse();
            let all = if parts.is_empty() { "'0".to_string() } else { format!("{{{}}}", parts.join(", ")) };
            let _ = writeln!(out, "    assign out_edit_{name} = {all};");
        }
    }

    /// Changes the results of a shadow: those of a clone if the copy in front of it has asked for one, otherwise nothing.
    fn assign_shadow(&self, out: &mut String, named: &mut [(&str, String)], [shadow, clones, kept]: [&String; 3]) {
        let last = self.schedule.stages - 1;
        let top = self.core.mirror.map_or(0, |mirror| self.node(mirror.kept).width) - 1;
        let _ = write!(
            out,
            "    // What the copy in front of a shadow has asked for.\n    logic cloned;\n    logic [{top}:0] cloned_kept;\n    \
             always_ff @(posedge clk) if (valid_{last} && !{shadow}) begin\n        cloned <= {clones};\n        cloned_kept <= {kept};\n    \
             end\n"
        );
        for (name, output) in named {
            *output = match *name {
                "sends" => format!("{shadow} ? cloned : {output}"),
                "length" => format!("{shadow} && !cloned ? 16'd0 : {output}"),
                "loops" => format!("{shadow} || {output}"),
                "again" => format!("{shadow} ? cloned_kept : {output}"),
                _ => continue,
            };
        }
    }

    /// The bytes of each edit.
    fn edit_sizes(&self) -> Vec<u32> {
        self.core.edits.iter().map(|edit| self.core.design[edit.bits].width / 8).collect()
    }

    /// The module with streams in and out.
    fn top(&self) -> String {
        let name = identifier(&self.p.name);
        let Target { bus_bytes, window_bytes, max_packet_bytes, .. } = *self.target;
        let header_bytes = self.core.header_capacity;
        let engines = &self.schedule.engines;
        let (packets, verdicts) = (self.schedule.packets(), self.schedule.verdicts());
        let depth = self.target.store_words(self.schedule.stages);
        let sizes = self.edit_sizes();
        // The first edit is in the lowest bits.
        let literal: String = sizes.iter().rev().map(|bytes| format!("{bytes:02x}")).collect();
        let literal = if sizes.is_empty() { "8'd1".to_string() } else { format!("{}'h{literal}", 8 * sizes.len()) };
        let edit_bits = sizes.iter().map(|bytes| 8 * bytes).sum::<u32>().max(1);
        let loop_words = (LOOP_PACKETS * max_packet_bytes.div_ceil(bus_bytes)).next_power_of_two();
        self.with_repetitions()
            .replace("@NAME@", &name)
            .replace("@LOOP@", &loop_words.to_string())
            .replace("@PRIORITY@", &u32::from(self.core.mirror.is_some()).to_string())
            .replace("@BUS@", &bus_bytes.to_string())
            .replace("@WINDOW@", &window_bytes.to_string())
            .replace("@MAX@", &max_packet_bytes.to_string())
            .replace("@HEADER@", &header_bytes.to_string())
            .replace("@PACKETS@", &packets.to_string())
            .replace("@VERDICTS@", &verdicts.to_string())
            .replace("@DEPTH@", &depth.to_string())
            .replace("@GAP@", &engines.gap.to_string())
            .replace("@ALIGNED@", if engines.is_aligned() { "1" } else { "0" })
            .replace("@EDITS@", &sizes.len().to_string())
            .replace("@EDITS1@", &sizes.len().max(1).to_string())
            .replace("@EDIT_BITS@", &edit_bits.to_string())
            .replace("@SIZES@", &literal)
    }

    /// The module with streams in and out, with what packets that pass again take.
    fn with_repetitions(&self) -> String {
        let bits = self.core.again.map(|again| self.node(again.kept).width);
        // What a design without repetitions has, and what another one has.
        let parts = [
            ("@MODULE@", "@NAME@", "@NAME@_pass".to_string()),
            ("@AGAIN_IN@", "", "\n    input  logic [@AGAIN@-1:0]      in_again,".into()),
            (
                "@LOOPS_OUT@",
                "",
                "\n    output logic                   verdict_loops,\n    output logic                   verdict_mirrored,".into(),
            ),
            (
                "@AGAIN_OUT@",
                "",
                "\n    output logic                   out_loops,\n    output logic [@AGAIN@-1:0]      out_again,".into(),
            ),
            ("@OWN_META@", "57", "57 + @AGAIN@".into()),
            (
                "@AGAIN_DONE@",
                "",
                "\n    logic [@AGAIN@-1:0]     done_again;\n    assign verdict_mirrored = done_again[@AGAIN@-1];".into(),
            ),
            ("@AGAIN_META@", "", "in_again, ".into()),
            (
                "@AGAIN_PASS@",
                "",
                "\n        .in_again(win_meta[56+@AGAIN@:57]),\n        .out_loops(verdict_loops),\n        .out_again(done_again),".into(),
            ),
            ("@VERDICT_META@", "10", "11 + @AGAIN@".into()),
            ("@AGAIN_JUDGED@", "", "verdict_loops, done_again, ".into()),
            ("@EXIT_META@", "9", "10 + @AGAIN@".into()),
            ("@AGAIN_ORDER@", "order[8:0]", "{order[VERDICT_BITS-1-:1+@AGAIN@], order[8:0]}".into()),
            ("@AGAIN_EXIT@", "out_port", "{out_loops, out_again, out_port}".into()),
        ];
        let mut text = match bits {
            None => TOP.to_string(),
            // Two modules in one file.
            Some(_) => {
                format!("// verilator lint_off DECLFILENAME\n{TOP}// verilator lint_on DECLFILENAME\n\n{LOOP}")
            }
        };
        let sums = self.reads_sums();
        for (mark, without, with) in SUMS {
            text = text.replace(mark, if sums { with } else { without });
        }
        for (mark, without, with) in parts {
            text = text.replace(mark, if bits.is_some() { &with } else { without });
        }
        text.replace("@AGAIN@", &bits.unwrap_or(0).to_string())
    }

    /// The reset of each part of the pipeline, and whether there is a packet in each stage.
    fn valid(&self, last: u32) -> String {
        let resets = last / RESET_STAGES;
        let mut out = format!(
            "    logic reset_near = 1'b1;\n    logic [{resets}:0] resets = '1;\n    always_ff @(posedge clk) reset_near <= rst;\n"
        );
        for part in 0..=resets {
            let _ = writeln!(out, "    (* keep *) always_ff @(posedge clk) resets[{part}] <= reset_near;");
        }
        out.push_str("    logic valid_0;\n    assign valid_0 = in_valid;\n");
        for stage in 1..=last {
            if stage == self.schedule.egress {
                let _ = writeln!(out, "    logic valid_{stage};\n    assign valid_{stage} = copy_valid;");
                continue;
            }
            let _ = writeln!(
                out,
                "    logic valid_{stage};\n    always_ff @(posedge clk) valid_{stage} <= {} ? 1'b0 : valid_{};",
                reset(stage),
                stage - 1
            );
        }
        out
    }

    /// Carries a value to the stages that use it.
    fn carry(&mut self, value: Value) {
        let width = self.node(value).width;
        if width == 0 {
            return;
        }
        let Some(stages) = self.wanted.get(&value) else { return };
        let name = format!("v{}", value.0);
        let ready = self.schedule.ready[value.index()].stage;
        let mut stages = stages.clone();
        let egress = self.schedule.egress;
        let mut from = ready;
        if ready < egress && stages.last().is_some_and(|last| *last >= egress) {
            let behind = stages.split_off(&egress);
            stages.insert(egress - 1);
            self.body.push_str(&self.carrier.carry(&name, width, ready, &stages));
            let _ = writeln!(self.body, "    logic [{}:0] {name}_{egress};", width - 1);
            self.crossing.push((name.clone(), width));
            (from, stages) = (egress, behind);
        }
        self.body.push_str(&self.carrier.carry(&name, width, from, &stages));
    }

    /// Carries an input, which is there in stage `from`, to the stages that use it, where it is `<name>_<stage>`.
    fn carry_input(&mut self, name: &str, input: &str, bits: u32, from: u32, stages: &BTreeSet<u32>) -> String {
        if stages.is_empty() {
            return String::new();
        }
        let mut out = format!("    logic [{}:0] {name}_{from};\n    assign {name}_{from} = {input};\n", bits - 1);
        out.push_str(&self.carrier.carry(name, bits, from, stages));
        out
    }

    /// The stage in which an engine takes its operands.
    fn start(&self, value: Value) -> u32 {
        self.schedule.start[value.index()]
    }

    fn writes_register(&self, register: ExternId) -> bool {
        let writes = |op: &Op| matches!(op, Op::RegisterWrite { register: r, .. } if *r == register);
        self.core.design.nodes.iter().any(|node| writes(&node.op))
    }

    /// The operation that reads a register.
    fn reads(&self, register: ExternId) -> Option<Value> {
        let reads = |op: &Op| matches!(op, Op::RegisterRead { register: r, .. } if *r == register);
        let at = self.core.design.nodes.iter().position(|node| reads(&node.op))?;
        Some(Value(at as u32))
    }

    /// Whether the design looks at the sums of a packet's bytes.
    fn reads_sums(&self) -> bool {
        self.core.design.nodes.iter().any(|node| node.op == Op::Input(Input::Sums))
    }

    /// An input in a stage.
    fn input_at(&mut self, input: Input, stage: u32) -> String {
        let found = self.core.design.nodes.iter().position(|node| node.op == Op::Input(input));
        match found {
            Some(at) => self.at(Value(at as u32), stage),
            None => "16'd0".to_string(),
        }
    }
}

/// What the top module of a design has that does not look at the sums of bytes, and another one.
const SUMS: [(&str, &str, &str); 5] = [
    ("@LATE@", "0", "48"),
    ("@META_TOP@", "@OWN_META@ - 1", "@OWN_META@ + 47"),
    ("@META@", "@OWN_META@", "@OWN_META@ + 48"),
    (
        "@STORE@",
        "\n    assign {store_valid, in_ready, store_last, store_bad} = {in_valid, store_ready, in_last, in_bad};\n    \
         assign {store_data, store_bytes, store_meta} = {in_data, in_bytes, @AGAIN_META@in_port, in_now};",
        "\n    hw_byte_sums #(\n        .BUS_BYTES(BUS_BYTES),\n        .META_BITS(@OWN_META@)\n    ) byte_sums (\n        \
         .clk,\n        .rst(resets[0]),\n        .in_valid,\n        .in_ready,\n        .in_data,\n        .in_bytes,\n        \
         .in_last,\n        .in_bad,\n        .in_meta({@AGAIN_META@in_port, in_now}),\n        .out_valid(store_valid),\n        \
         .out_ready(store_ready),\n        .out_data(store_data),\n        .out_bytes(store_bytes),\n        \
         .out_last(store_last),\n        .out_bad(store_bad),\n        .out_meta(store_meta[@OWN_META@-1:0]),\n        \
         .out_sums(store_meta[@OWN_META@+:48])\n    );",
    ),
    ("@SUMS_PASS@", "", "\n        .in_sums(win_meta[@OWN_META@+:48]),"),
];

/// Names of the pipeline's results, edits apart.
const OUTPUTS: [&str; 8] = ["last", "drop", "port", "header", "header_bytes", "skip", "length", "sends"];

/// The value of the stage in which there is a packet; only in one there is.
fn selected(cases: &[(u32, String)], width: u32) -> String {
    match cases {
        [] => "'0".to_string(),
        [(_, only)] => only.clone(),
        [(first, a), (_, b)] => format!("valid_{first} ? {a} : {b}"),
        _ => {
            let one = |(stage, value): &(u32, String)| format!("({{{width}{{valid_{stage}}}}} & {value})");
            cases.iter().map(one).collect::<Vec<_>>().join(" | ")
        }
    }
}

/// Whether there is a packet in one of the stages.
fn any_valid(cases: &[(u32, String)]) -> String {
    cases.iter().map(|(stage, _)| format!("valid_{stage}")).collect::<Vec<_>>().join(" || ")
}

/// A condition that an index has a cell, for a signal `i<n>`; nothing if it always has.
fn below(n: u32, index_bits: u32, size: u64) -> String {
    if index_bits < 64 && size >> index_bits > 0 { String::new() } else { format!(" && i{n} < {index_bits}'d{size}") }
}

/// The signal `i<n>` in another width.
fn resized(n: u32, from: u32, to: u32) -> String {
    match from.cmp(&to) {
        std::cmp::Ordering::Less => format!("{{{}'d0, i{n}}}", to - from),
        std::cmp::Ordering::Equal => format!("i{n}"),
        std::cmp::Ordering::Greater => format!("i{n}[{}:0]", to - 1),
    }
}

/// A name that SystemVerilog accepts.
fn identifier(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("p_{plain}") } else { plain }
}
