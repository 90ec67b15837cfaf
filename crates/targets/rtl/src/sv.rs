//! SystemVerilog.
//!
//! Each value is a signal `v<number>_<stage>`: what it holds in a stage of the pipeline. It is [carried](carry) to the stages that use
//! it. Concatenations are written where they are used, so that only their parts are carried.

mod carry;
mod copies;
mod metering;
mod search;

pub(crate) use copies::{GROUPS, LISTS, SESSIONS};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hopwright_ir::{ExternId, ExternKind, HashAlgorithm, Pipeline, Unit};
use num_traits::ToPrimitive;

use self::carry::Carrier;
use self::metering::Access;
use crate::core::Core;
use crate::cost::Cost;
use crate::hir::{Binary, Input, Node, Op, Value};
use crate::map::{Map, Memory, MemoryKind, StateObject};
use crate::refusal::{Capability, Refusal, distinct};
use crate::schedule::{CHOSEN_BITS, Schedule};
use crate::sharing::EngineKind;
use crate::target::{Fetch, Target};

/// The most keys of an object.
const MAX_KEYS: u32 = 256;

/// The top module, with names in `@`.
const TOP: &str = include_str!("top.sv");

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
    let module = writer.module();
    if !writer.refusals.is_empty() {
        return Err(distinct(writer.refusals));
    }
    let top = writer.top();
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
        let mut outputs: Vec<String> = self.core.outputs().into_iter().map(|v| self.at(v, last)).collect();
        let edits = outputs.split_off(OUTPUTS.len());
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
        let edit_count = self.core.edits.len().max(1);
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
             input  logic [47:0] in_now,\n    input  logic [{}:0] in_start,\n    input  logic in_put,\n    \
             input  logic [{}:0] in_put_addr,\n    input  logic [{}:0] in_put_data,\n    input  logic in_done,\n    output logic out_soon,\n    output logic out_valid,\n    output logic out_last,\n    output logic out_drop,\n    \
             output logic [8:0] out_port,\n    output logic [{}:0] out_header,\n    output logic [15:0] out_header_bytes,\n    \
             output logic [15:0] out_skip,\n    output logic [15:0] out_length,\n    output logic out_sends,\n    \
             output logic [{}:0] out_edit_enable,\n    output logic [{}:0] out_edit_offset,\n    \
             output logic [{}:0] out_edit_data,\n{}\n);\n",
            self.schedule.stages,
            window - 1,
            addr - 1,
            addr - 1,
            8 * target.bus_bytes - 1,
            header - 1,
            edit_count - 1,
            16 * edit_count - 1,
            edit_bits - 1,
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
        for (name, output) in OUTPUTS.into_iter().zip(outputs) {
            let _ = writeln!(out, "    assign out_{name} = {output};");
        }
        // The first edit is in the lowest bits.
        for (at, name) in ["enable", "offset", "data"].into_iter().enumerate() {
            let mut parts: Vec<&str> = edits.iter().skip(at).step_by(3).map(String::as_str).collect();
            parts.reverse();
            let all = if parts.is_empty() { "'0".to_string() } else { format!("{{{}}}", parts.join(", ")) };
            let _ = writeln!(out, "    assign out_edit_{name} = {all};");
        }
        out.push_str("endmodule\n// verilator lint_on PINCONNECTEMPTY\n// verilator lint_on UNUSEDSIGNAL\n");
        out
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
        TOP.replace("@NAME@", &name)
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

    /// Writes what computes a value, in the stage in which it is ready.
    fn value(&mut self, value: Value) {
        let node = self.node(value).clone();
        let stage = self.schedule.ready[value.index()].stage;
        let (n, width) = (value.0, node.width);
        let used = self.wanted.contains_key(&value);
        let span = self.p.sources.location(node.span).to_string();
        let comment = format!("  // {span}");
        let text = match &node.op {
            Op::Lookup { .. }
            | Op::Count { .. }
            | Op::Measure { .. }
            | Op::RegisterRead { .. }
            | Op::RegisterWrite { .. } => {
                let _ = writeln!(self.body, "   {comment}");
                self.engine(value, &node, stage);
                return;
            }
            Op::Color { lookup } => return self.color(value, *lookup, stage),
            Op::InSet { set, keys } if used => {
                let _ = writeln!(self.body, "   {comment}");
                return self.in_set(value, *set, keys, stage);
            }
            Op::InSet { .. } => return,
            Op::Extern { instance, method, args, .. } => {
                let _ = writeln!(self.body, "   {comment}");
                let object = instance.map(|id| format!("{}.", self.p[id].name)).unwrap_or_default();
                return self.cipher(value, &format!("{object}{method}"), args.len(), stage);
            }
            _ if !used || width == 0 => return,
            Op::Fetch { .. } => return self.fetch(value, stage),
            Op::Destinations { of, number } => return self.destinations(value, *of, *number, stage),
            Op::Hash(algorithm, data) => return self.hash(value, *algorithm, *data, stage),
            Op::Const(bits) => format!("{width}'h{bits:x}"),
            Op::Input(input) => match input {
                Input::Length => "in_length".to_string(),
                Input::IngressPort => "in_port".to_string(),
                Input::Timestamp => "in_now".to_string(),
                Input::EgressPort => "copy_port".to_string(),
                Input::EgressRid => "copy_rid".to_string(),
                Input::Cloned => "copy_cloned".to_string(),
                Input::Replicated => "copy_replicated".to_string(),
                Input::NoCopy => "copy_none".to_string(),
                Input::LastCopy => "copy_last".to_string(),
                Input::QueueDepth => unreachable!("it is replaced in a core"),
            },
            Op::Not(a) => format!("~{}", self.at(*a, stage)),
            Op::Binary(op, a, b) => {
                let (x, y) = (self.at(*a, stage), self.at(*b, stage));
                match op {
                    Binary::Add => format!("{x} + {y}"),
                    Binary::Sub => format!("{x} - {y}"),
                    Binary::Mul => format!("{x} * {y}"),
                    Binary::And => format!("{x} & {y}"),
                    Binary::Or => format!("{x} | {y}"),
                    Binary::Xor => format!("{x} ^ {y}"),
                    Binary::Shl => format!("{x} << {y}"),
                    Binary::Shr => format!("{x} >> {y}"),
                    Binary::ShrSigned => format!("{width}'($signed({x}) >>> {y})"),
                    Binary::Eq => format!("{x} == {y}"),
                    Binary::Less => format!("{x} < {y}"),
                    Binary::LessSigned => format!("$signed({x}) < $signed({y})"),
                }
            }
            Op::Mux { cond, then, otherwise } if self.schedule.is_copied(*cond, width) => {
                let mask = self.mask(*cond, stage, width);
                let (then, otherwise) = (self.at(*then, stage), self.at(*otherwise, stage));
                let _ = writeln!(self.body, "    logic [{}:0] m{n};\n    assign m{n} = {mask};", width - 1);
                format!("m{n} & {then} | ~m{n} & {otherwise}")
            }
            Op::Mux { cond, then, otherwise } => {
                let cond = self.at(*cond, stage);
                format!("{cond} ? {} : {}", self.at(*then, stage), self.at(*otherwise, stage))
            }
            Op::OneHot(cases) => {
                let cases: Vec<String> = cases
                    .iter()
                    .map(|(cond, value)| format!("({} & {})", self.mask(*cond, stage, width), self.at(*value, stage)))
                    .collect();
                cases.join("\n        | ")
            }
            Op::Slice { arg, lo } => format!("{}[{}:{lo}]", self.name_at(*arg, stage), lo + width - 1),
            // Only where bits of it are selected.
            Op::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.at(*part, stage)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Op::SignExtend(a) => {
                let from = self.node(*a).width;
                let a = self.name_at(*a, stage);
                format!("{{{{{}{{{a}[{}]}}}}, {a}}}", width - from, from - 1)
            }
            Op::Ones(a) => {
                let bits = self.node(*a).width;
                let a = self.name_at(*a, stage);
                (0..bits).map(|i| format!("{width}'({a}[{i}])")).collect::<Vec<_>>().join(" + ")
            }
            Op::Window { offset, bit } => match self.window(value, *offset, *bit, width, stage) {
                Some(text) => text,
                None => return,
            },
        };
        let _ = writeln!(
            self.body,
            "    logic [{}:0] v{n}_{stage};\n    assign v{n}_{stage} = {text};{comment}",
            width - 1
        );
    }

    fn window(&mut self, value: Value, offset: Value, bit: u32, width: u32, stage: u32) -> Option<String> {
        let total = 8 * self.target.window_bytes;
        match self.core.design.window_start(offset, bit) {
            // The window itself is carried only as far as fields are selected from it.
            Some(first) if first + width <= total => {
                Some(format!("{}[{}:{}]", self.window_at(stage), total - 1 - first, total - first - width))
            }
            _ => {
                let message = format!("the target sees the first {} bytes", self.target.window_bytes);
                self.refuse(Capability::Window, value, message);
                None
            }
        }
    }

    fn fetch(&mut self, value: Value, stage: u32) {
        let (n, width) = (value.0, self.node(value).width);
        let schedule = self.schedule;
        let (number, engine) = schedule.engines.of(value).expect("a fetch has its engine");
        let bits = |v: &Value| self.core.design[*v].width;
        let most = engine.uses.iter().map(|(user, _)| bits(user)).max().unwrap_or(width);
        let _ = writeln!(
            self.body,
            "    logic [{}:0] v{n}_{stage};\n    assign v{n}_{stage} = fetched{number}[{}:{}];",
            width - 1,
            most - 1,
            most - width
        );
        // The engine stands where all operands are there.
        if engine.uses.iter().any(|(user, _)| *user > value) {
            return;
        }
        self.engines.insert("hw_fetch");
        let _ = writeln!(self.declarations, "    logic [{}:0] fetched{number};", most - 1);
        let EngineKind::Fetch(Fetch { part, reads }) = engine.kind else { unreachable!("an engine of fetches") };
        let last = engine.uses.iter().map(|(_, start)| *start).max().unwrap_or(0);
        let store = self.target.store_words(schedule.stages);
        let depth = self.target.copy_words(last, reads, schedule.engines.gap).min(store);
        let addr = depth.ilog2();
        self.start_stages.extend(engine.uses.iter().map(|(_, start)| *start));
        let offsets = engine.uses.iter().map(|(user, start)| {
            let Op::Fetch { offset } = self.core.design[*user].op else {
                unreachable!("a fetch engine serves fetches")
            };
            (*start, offset)
        });
        let offsets: Vec<(u32, Value)> = offsets.collect();
        let offset = self.shared(&offsets, 16);
        let starts: Vec<(u32, String)> =
            engine.uses.iter().map(|(_, start)| (*start, format!("start_{start}"))).collect();
        let start = selected(&starts, store.ilog2());
        let _ = writeln!(
            self.body,
            "    logic [{}:0] start{n};\n    assign start{n} = {start};\n    hw_fetch #(.BUS_BYTES({}), .DEPTH({depth}), .BYTES({}), .PART({part})) \
             e{n} (.clk, .wr_en(in_put), .wr_addr(in_put_addr[{}:0]), .wr_data(in_put_data), .in_valid({}), .in_start(start{n}[{}:0]), \
             .in_offset({offset}), .out_data(fetched{number}));",
            store.ilog2() - 1,
            self.target.bus_bytes,
            most / 8,
            addr - 1,
            any_valid(&starts),
            addr - 1,
        );
    }

    /// The value of the stage in which there is a packet, of values in several stages.
    fn shared(&mut self, values: &[(u32, Value)], width: u32) -> String {
        let cases: Vec<(u32, String)> = values.iter().map(|(stage, value)| (*stage, self.at(*value, *stage))).collect();
        selected(&cases, width)
    }

    /// A method of an object of `crypto.p4`.
    fn cipher(&mut self, value: Value, method: &str, args: usize, stage: u32) {
        let n = value.0;
        let schedule = self.schedule;
        let Some((number, engine)) = schedule.engines.of(value).filter(|_| args == 3) else {
            return self.refuse(Capability::NamedExtern, value, format!("`{method}`"));
        };
        let _ = writeln!(self.body, "    logic [127:0] v{n}_{stage};\n    assign v{n}_{stage} = encrypted{number};");
        // The engine stands where all operands are there.
        if engine.uses.iter().any(|(user, _)| *user > value) {
            return;
        }
        let _ = writeln!(self.declarations, "    logic [127:0] encrypted{number};");
        let (mut calls, mut blocks, mut enables) = (Vec::new(), Vec::new(), Vec::new());
        for (user, start) in &engine.uses {
            let Op::Extern { instance: Some(object), enable, args, .. } = &self.core.design[*user].op else { continue };
            calls.push((*start, *object, args[0]));
            blocks.push((*start, args[1]));
            enables.push((*start, *enable));
        }
        let block = self.shared(&blocks, 128);
        let (module, ports) = match engine.kind {
            EngineKind::AesWithKey => {
                self.engines.insert("hw_aes128_key");
                let keys: Vec<(u32, Value)> = calls.iter().map(|(start, _, key)| (*start, *key)).collect();
                let key = self.shared(&keys, 128);
                let _ = writeln!(
                    self.body,
                    "    hw_aes128_key e{n} (.clk, .in_key({key}), .in_block({block}), .out_block(encrypted{number}));"
                );
                return;
            }
            EngineKind::Cmac => ("hw_cmac", ["message", "mac"]),
            _ => ("hw_aes128", ["block", "block"]),
        };
        self.engines.insert(module);
        // The keys of all objects behind each other. What has no key has a random one, behind the others of its object.
        let mut objects: Vec<(ExternId, u32, u32)> = Vec::new();
        let mut total = 0;
        for (_, id, _) in &calls {
            if objects.iter().any(|(object, ..)| object == id) {
                continue;
            }
            let size = match &self.p[*id].kind {
                ExternKind::Named { args, .. } => args.first().and_then(ToPrimitive::to_u32),
                _ => None,
            };
            let Some(keys) = size.filter(|size| *size < MAX_KEYS) else {
                return self.refuse(Capability::NamedExtern, value, format!("`{}`", self.p[*id].name));
            };
            objects.push((*id, total, keys));
            total += keys + 1;
        }
        let slots = total.next_power_of_two().max(2);
        let bits = slots.ilog2();
        let mut writes = Vec::new();
        for (id, base, keys) in &objects {
            let memory = self.map.memory(Memory {
                name: self.p[*id].name.clone(),
                kind: MemoryKind::Keys { keys: u64::from(*keys) },
                addr_bits: (keys + 1).next_power_of_two().ilog2() + 4,
                data_bits: 128,
                key_bits: 0,
            });
            writes.push((memory, base << 4));
        }
        let enable: Vec<String> = writes.iter().map(|(memory, _)| format!("mem_put_{memory}")).collect();
        let addr: Vec<String> = writes
            .iter()
            .zip(&enable)
            .map(|((memory, base), enable)| {
                format!("({{{0}{{{enable}}}}} & ({0}'(mem_addr_{memory}) + {0}'d{base}))", bits + 4)
            })
            .collect();
        let mut indices = Vec::new();
        for (start, id, slot) in calls {
            let (_, base, keys) = objects.iter().find(|(object, ..)| *object == id).expect("the object is in the list");
            let slot = self.at(slot, start);
            let _ = writeln!(
                self.body,
                "    logic [31:0] k{n}_{start};\n    assign k{n}_{start} = {slot};\n    logic [{}:0] x{n}_{start};\n    \
                 assign x{n}_{start} = k{n}_{start} < 32'd{keys} ? {bits}'(k{n}_{start} + 32'd{base}) : {bits}'d{};",
                bits - 1,
                base + keys
            );
            indices.push((start, format!("x{n}_{start}")));
        }
        let enabled = enables.iter().map(|(start, enable)| format!("(valid_{start} && {})", self.at(*enable, *start)));
        let enabled = enabled.collect::<Vec<_>>().join(" || ");
        // A write has a cycle to arrive; its data stay.
        let _ = writeln!(
            self.body,
            "    logic put{n} = 1'b0;\n    logic [{}:0] at{n};\n    always_ff @(posedge clk) begin\n        put{n} <= {};\n        \
             at{n} <= {};\n    end",
            bits + 3,
            enable.join(" || "),
            addr.join(" | "),
        );
        let _ = writeln!(
            self.body,
            "    {module} #(.KEYS({slots}), .ROUNDS({}), .TURN({})) e{n} (.clk, .rst({}), .in_valid({enabled}), .in_key_index({}), \
             .in_{}({block}), .out_valid(), .out_{}(encrypted{number}), .wr_en(put{n}), .wr_addr(at{n}), .wr_data(mem_data_{}));",
            engine.fold.rounds,
            engine.fold.turn,
            reset(stage),
            selected(&indices, bits),
            ports[0],
            ports[1],
            writes[0].0
        );
    }

    /// The window in a stage.
    fn window_at(&mut self, stage: u32) -> String {
        if stage == 0 {
            return "in_window".to_string();
        }
        self.window_stages = self.window_stages.max(stage);
        format!("window_{stage}")
    }

    fn hash(&mut self, value: Value, algorithm: HashAlgorithm, data: Value, stage: u32) {
        let (n, bits) = (value.0, self.node(data).width);
        let width = self.node(value).width;
        let start = self.start(value);
        let data = self.at(data, start);
        let (engine, parameters, port) = match algorithm {
            HashAlgorithm::Csum16 => {
                let words = bits.div_ceil(16);
                let padded = if bits % 16 == 0 { data } else { format!("{{{data}, 8'h0}}") };
                let _ = writeln!(self.body, "    logic [{}:0] h{n};\n    assign h{n} = {padded};", 16 * words - 1);
                ("hw_csum", format!(".WORDS({words})"), "csum")
            }
            _ => {
                let number = match algorithm {
                    HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => 0,
                    HashAlgorithm::Crc16 | HashAlgorithm::Crc16Custom => 1,
                    HashAlgorithm::Xor16 => 2,
                    _ => 3,
                };
                let _ = writeln!(self.body, "    logic [{}:0] h{n};\n    assign h{n} = {data};", bits - 1);
                ("hw_hash", format!(".ALGORITHM({number}), .DATA_BITS({bits})"), "hash")
            }
        };
        self.engines.insert(engine);
        let _ = writeln!(
            self.body,
            "    logic [{}:0] v{n}_{stage};\n    {engine} #({parameters}) e{n} (.clk, .in_data(h{n}), .out_{port}(v{n}_{stage}));",
            width - 1
        );
    }

    /// The stage in which an engine takes its operands.
    fn start(&self, value: Value) -> u32 {
        self.schedule.start[value.index()]
    }

    /// Whether this is the first access to an object; refuses others.
    fn first(&mut self, name: &str, value: Value) -> bool {
        let first = self.seen.insert(name.to_string());
        if !first {
            self.refuse(Capability::SharedObject, value, format!("`{name}` is accessed elsewhere, too"));
        }
        first
    }

    /// The signal `i<n>` of an index as the number of a cell, and a condition that there is such a cell: an index beyond the highest one
    /// must not wrap.
    fn cell(&mut self, value: Value, index: Value, size: u64) -> (String, String) {
        let n = value.0;
        let width = self.node(index).width;
        let index = self.at(index, self.start(value));
        let _ = writeln!(self.body, "    logic [{}:0] i{n};\n    assign i{n} = {index};", width - 1);
        let bits = size.max(2).next_power_of_two().ilog2();
        (resized(n, width, bits), below(n, width, size))
    }

    fn engine(&mut self, value: Value, node: &Node, stage: u32) {
        let n = value.0;
        let start = self.start(value);
        match &node.op {
            Op::Lookup { table, enable, keys } => self.lookup(value, *table, *enable, keys, stage),
            Op::Count { counter, enable, index } => {
                let object = &self.p[*counter];
                let ExternKind::Counter { size, unit } = object.kind else { return };
                if !self.first(&object.name.clone(), value) {
                    return;
                }
                let name = object.name.clone();
                let (enable, length) = (self.at(*enable, start), self.input_at(Input::Length, start));
                let (index, within) = self.cell(value, *index, size);
                let access = Access { valid: format!("valid_{start} && {enable}{within}"), index, length };
                self.counter(&format!("e{n}"), name, size, unit, (start, access));
            }
            Op::Measure { meter, enable, index } => {
                let object = self.p[*meter].clone();
                let ExternKind::Meter { size, unit } = object.kind else { return };
                if !self.first(&object.name, value) {
                    return;
                }
                let enable = self.at(*enable, start);
                let length = if unit == Unit::Packets { "16'd1".into() } else { self.input_at(Input::Length, start) };
                let (index, within) = self.cell(value, *index, size);
                let access = Access { valid: format!("valid_{start} && {enable}{within}"), index, length };
                self.meter(value, (start, stage), object.name, size, unit, access);
            }
            Op::RegisterRead { register, index } => {
                let object = self.p[*register].clone();
                let ExternKind::Register { size, ty } = object.kind else { return };
                if !self.first(&format!("{} (read)", object.name), value) {
                    return;
                }
                self.engines.insert("hw_register");
                let bits = size.max(2).next_power_of_two().ilog2().max(1);
                let (index, within) = self.cell(value, *index, size);
                let width = ty.width();
                let number = self.map.add_object(StateObject {
                    name: object.name.clone(),
                    kind: "register",
                    size,
                    bits: width,
                    packets: false,
                    bytes: false,
                });
                let id = register.0;
                // The write side is driven where the program writes.
                let writes = self.writes_register(*register);
                let write = if writes {
                    format!(".wr_en(r{id}_en), .wr_index(r{id}_index), .wr_data(r{id}_data)")
                } else {
                    format!(".wr_en(1'b0), .wr_index({bits}'d0), .wr_data({width}'d0)")
                };
                let _ = writeln!(
                    self.body,
                    "    logic [{}:0] v{n}_{stage}, q{n};\n    logic in{n};\n    hw_register #(.WIDTH({width}), .DEPTH({})) e{n} (.clk, \
                     .rst({}), .rd_valid(valid_{start}), .rd_index({index}), .rd_data(q{n}), {write}, {});",
                    width - 1,
                    size.max(2),
                    reset(stage),
                    self.map.object_ports(number)
                );
                let _ = writeln!(
                    self.body,
                    "    logic near{n};\n    always_ff @(posedge clk) begin\n        near{n} <= 1'b1{within};\n        in{n} <= near{n};\n    \
                     end\n    assign v{n}_{stage} = in{n} ? q{n} : '0;"
                );
            }
            Op::RegisterWrite { register, enable, index, value: new } => {
                let object = self.p[*register].clone();
                let ExternKind::Register { size, ty } = object.kind else { return };
                if !self.first(&object.name.clone(), value) {
                    return;
                }
                let id = register.0;
                let Some(read) = self.reads(*register) else {
                    return self.refuse(Capability::SharedObject, value, "a register that is written and never read");
                };
                let bits = size.max(2).next_power_of_two().ilog2().max(1);
                let (enable, new) = (self.at(*enable, start), self.at(*new, start));
                let (index, within) = self.cell(value, *index, size);
                // A cycle later, if the next packet reads later still.
                let (assign, equals) = if start < self.start(read) + self.schedule.engines.gap {
                    ("always_ff @(posedge clk)", "<=")
                } else {
                    ("assign", "=")
                };
                let _ = writeln!(
                    self.body,
                    "    {assign} r{id}_en {equals} valid_{start} && {enable}{within};\n    {assign} r{id}_index {equals} {index};\n    \
                     {assign} r{id}_data {equals} {new};"
                );
                let width = ty.width();
                let declarations = format!(
                    "    logic r{id}_en;\n    logic [{}:0] r{id}_index;\n    logic [{}:0] r{id}_data;\n",
                    bits - 1,
                    width - 1
                );
                self.declarations.push_str(&declarations);
            }
            _ => {}
        }
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

    /// An input in a stage.
    fn input_at(&mut self, input: Input, stage: u32) -> String {
        let found = self.core.design.nodes.iter().position(|node| node.op == Op::Input(input));
        match found {
            Some(at) => self.at(Value(at as u32), stage),
            None => "16'd0".to_string(),
        }
    }
}

/// Stages that have a reset of their own.
const RESET_STAGES: u32 = 4;

/// The reset of what is in a stage.
fn reset(stage: u32) -> String {
    format!("resets[{}]", stage / RESET_STAGES)
}

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
