//! Modules of values: what each stage computes, fetches and asks of engines.

use std::fmt::Write;

use hopwright_ir::{ExternId, ExternInstance, ExternKind, HashAlgorithm, Unit};
use num_traits::ToPrimitive;

use super::metering::Access;
use super::{MAX_KEYS, Writer, any_valid, below, reset, resized, selected};
use crate::digest;
use crate::hir::{Binary, Input, Node, Op, Value};
use crate::map::{Memory, MemoryKind, StateObject};
use crate::refusal::Capability;
use crate::sharing::EngineKind;
use crate::target::Fetch;

/// An object with keys: its first slot, and the number of its keys.
type KeyObject = (ExternId, u32, u32);

impl Writer<'_> {
    /// Writes what computes a value, in the stage in which it is ready.
    pub(super) fn value(&mut self, value: Value) {
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
            | Op::RegisterWrite { .. }
            | Op::Digest { .. } => {
                let _ = writeln!(self.body, "   {comment}");
                self.engine(value, &node, stage);
                return;
            }
            Op::Color { lookup } => return self.color(value, *lookup, stage),
            Op::Member { .. } if !used => return,
            Op::Member { lookup, hit, place } => {
                let _ = writeln!(self.body, "   {comment}");
                return self.member(value, *lookup, *hit, *place, stage);
            }
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
            Op::Random { .. } => return self.random(value, stage),
            Op::Fetch { .. } => return self.fetch(value, stage),
            Op::Destinations { of, number } => return self.destinations(value, *of, *number, stage),
            Op::Hash(algorithm, data) => return self.hash(value, *algorithm, *data, stage),
            Op::Const(bits) => format!("{width}'h{bits:x}"),
            Op::Input(input) => input_signal(*input).to_string(),
            Op::Not(a) => format!("~{}", self.at(*a, stage)),
            Op::Binary(op, a, b) => {
                let (x, y) = (self.at(*a, stage), self.at(*b, stage));
                binary_text(*op, &x, &y, width)
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
        let Some((objects, slots)) = self.key_objects(value, calls.iter().map(|(_, id, _)| *id)) else { return };
        let bits = slots.ilog2();
        let data = self.key_writes(n, &objects, bits);
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
        let _ = writeln!(
            self.body,
            "    {module} #(.KEYS({slots}), .ROUNDS({}), .TURN({})) e{n} (.clk, .rst({}), .in_valid({enabled}), .in_key_index({}), \
             .in_{}({block}), .out_valid(), .out_{}(encrypted{number}), .wr_en(put{n}), .wr_addr(at{n}), .wr_data(mem_data_{data}));",
            engine.fold.rounds,
            engine.fold.turn,
            reset(stage),
            selected(&indices, bits),
            ports[0],
            ports[1],
        );
    }

    /// The objects of calls, and the number of slots for keys: the keys of all objects behind each other. What has no key has a random one, behind the others of its object.
    fn key_objects(&mut self, value: Value, calls: impl Iterator<Item = ExternId>) -> Option<(Vec<KeyObject>, u32)> {
        let mut objects: Vec<KeyObject> = Vec::new();
        let mut total: u32 = 0;
        for id in calls {
            if objects.iter().any(|(object, ..)| *object == id) {
                continue;
            }
            let size = match &self.p[id].kind {
                ExternKind::Named { args, .. } => args.first().and_then(ToPrimitive::to_u32),
                _ => None,
            };
            let Some(keys) = size.filter(|size| *size < MAX_KEYS) else {
                self.refuse(Capability::NamedExtern, value, format!("`{}`", self.p[id].name));
                return None;
            };
            objects.push((id, total, keys));
            total += keys + 1;
        }
        Some((objects, total.next_power_of_two().max(2)))
    }

    /// What writes keys of these objects; returns the memory that has the data of all of them.
    fn key_writes(&mut self, n: u32, objects: &[KeyObject], bits: u32) -> usize {
        let (mut memories, mut enable, mut addr) = (Vec::new(), Vec::new(), Vec::new());
        for (id, base, keys) in objects {
            let memory = self.map.memory(Memory {
                name: self.p[*id].name.clone(),
                kind: MemoryKind::Keys { keys: u64::from(*keys) },
                addr_bits: (keys + 1).next_power_of_two().ilog2() + 4,
                data_bits: 128,
                key_bits: 0,
            });
            memories.push(memory);
            enable.push(format!("mem_put_{memory}"));
            let base = base << 4;
            addr.push(format!("({{{0}{{mem_put_{memory}}}}} & ({0}'(mem_addr_{memory}) + {0}'d{base}))", bits + 4));
        }
        // A write has a cycle to arrive; its data stay.
        let _ = writeln!(
            self.body,
            "    logic put{n} = 1'b0;\n    logic [{}:0] at{n};\n    always_ff @(posedge clk) begin\n        put{n} <= {};\n        \
             at{n} <= {};\n    end",
            bits + 3,
            enable.join(" || "),
            addr.join(" | "),
        );
        memories[0]
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

    /// Whether this is the first access to an object; refuses others.
    pub(super) fn first(&mut self, name: &str, value: Value) -> bool {
        let first = self.seen.insert(name.to_string());
        if !first {
            self.refuse(Capability::SharedObject, value, format!("`{name}` is accessed elsewhere, too"));
        }
        first
    }

    /// The signal `i<n>` of an index as the number of a cell, and a condition that there is such a cell: an index beyond the highest one
    /// must not wrap.
    pub(super) fn cell(&mut self, value: Value, index: Value, size: u64) -> (String, String) {
        let n = value.0;
        let width = self.node(index).width;
        let index = self.at(index, self.start(value));
        let _ = writeln!(self.body, "    logic [{}:0] i{n};\n    assign i{n} = {index};", width - 1);
        let bits = size.max(2).next_power_of_two().ilog2();
        (resized(n, width, bits), below(n, width, size))
    }

    /// Random bits; those of other places are others.
    fn random(&mut self, value: Value, stage: u32) {
        self.engines.insert("hw_random");
        let n = value.0;
        let seed = (n + 1).wrapping_mul(0x9e37_79b9);
        let _ = writeln!(
            self.body,
            "    logic [63:0] v{n}_{stage};\n    hw_random #(.SEED(32'h{seed:08x})) e{n} (.clk, .rst({}), .out_data(v{n}_{stage}));",
            reset(stage)
        );
    }

    /// A queue of digests for the driver.
    fn digest(&mut self, value: Value, enable: Value, word: Value) {
        let (n, start, width) = (value.0, self.start(value), self.node(word).width);
        self.engines.insert("hw_digest");
        let (enable, word) = (self.at(enable, start), self.at(word, start));
        let name = format!("digests of {}", if value.index() < self.core.design.split { "ingress" } else { "egress" });
        let object = StateObject { name, kind: digest::KIND, size: 2, bits: 1 + width, packets: false, bytes: false };
        let number = self.map.add_object(object);
        let _ = writeln!(
            self.body,
            "    hw_digest #(.WIDTH({width}), .DEPTH({})) e{n} (.clk, .rst({}), .in_valid(valid_{start} && {enable}), .in_data({word}), {});",
            digest::QUEUE,
            reset(start),
            self.map.object_ports(number)
        );
    }

    /// Adds a register to the map; returns its number.
    pub(super) fn register_object(&mut self, name: &str, size: u64, bits: u32) -> usize {
        self.engines.insert("hw_register");
        let name = name.to_string();
        self.map.add_object(StateObject { name, kind: "register", size, bits, packets: false, bytes: false })
    }

    /// The memory of a register that the program only writes.
    fn unread_register(&mut self, name: &str, id: u32, size: u64, width: u32, stage: u32) {
        let number = self.register_object(name, size, width);
        let _ = writeln!(
            self.body,
            "    hw_register #(.WIDTH({width}), .DEPTH({})) u{id} (.clk, .rst({}), .rd_valid(1'b0), .rd_index('0), .rd_data(), \
             .wr_en(r{id}_en), .wr_index(r{id}_index), .wr_data(r{id}_data), {});",
            size.max(2),
            reset(stage),
            self.map.object_ports(number)
        );
    }

    fn engine(&mut self, value: Value, node: &Node, stage: u32) {
        let n = value.0;
        let start = self.start(value);
        match &node.op {
            Op::Lookup { table, enable, keys } => self.lookup(value, *table, *enable, keys, stage),
            Op::Count { counter, enable, index } => {
                let object = &self.p[*counter];
                let ExternKind::Counter { size, unit } = object.kind else { return };
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
            Op::RegisterRead { register, .. } | Op::RegisterWrite { register, .. }
                if self.turn(value, *register, stage) => {}
            Op::RegisterRead { register, index } => self.register_read(value, *register, *index, stage),
            Op::RegisterWrite { register, enable, index, value: new } => {
                let object = self.p[*register].clone();
                let ExternKind::Register { size, ty } = object.kind else { return };
                let id = register.0;
                let read = self.reads(*register);
                let bits = size.max(2).next_power_of_two().ilog2().max(1);
                let (enable, new) = (self.at(*enable, start), self.at(*new, start) + &initial(&object));
                let (index, within) = self.cell(value, *index, size);
                // A cycle later, if the next packet reads later still.
                let soon = read.is_some_and(|read| start < self.start(read) + self.schedule.engines.gap);
                let (assign, equals) = if soon { ("always_ff @(posedge clk)", "<=") } else { ("assign", "=") };
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
                if read.is_none() {
                    self.unread_register(&object.name, id, size, width, stage);
                }
            }
            Op::Digest { enable, word, .. } => self.digest(value, *enable, *word),
            _ => {}
        }
    }

    fn register_read(&mut self, value: Value, register: ExternId, index: Value, stage: u32) {
        let (n, start) = (value.0, self.start(value));
        let object = self.p[register].clone();
        let ExternKind::Register { size, ty } = object.kind else { return };
        let bits = size.max(2).next_power_of_two().ilog2().max(1);
        let (index, within) = self.cell(value, index, size);
        let width = ty.width();
        let number = self.register_object(&object.name, size, width);
        let id = register.0;
        // The write side is driven where the program writes.
        let write = if self.writes_register(register) {
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
             end\n    assign v{n}_{stage} = in{n} ? q{n}{} : '0;",
            initial(&object)
        );
    }
}

/// The signal that enters with a packet or its copy.
fn input_signal(input: Input) -> &'static str {
    match input {
        Input::Length => "in_length",
        Input::IngressPort => "in_port",
        Input::Timestamp => "in_now",
        Input::Sums => "in_sums",
        Input::EgressPort => "copy_port",
        Input::EgressRid => "copy_rid",
        Input::Cloned => "copy_cloned",
        Input::Replicated => "copy_replicated",
        Input::NoCopy => "copy_none",
        Input::LastCopy => "copy_last",
        Input::Shadow => "copy_shadow",
        Input::Again(_) => "in_again",
        Input::QueueDepth => unreachable!("it is replaced in a core"),
    }
}

fn binary_text(op: Binary, x: &str, y: &str, width: u32) -> String {
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

/// What turns the word of a register's memory, which begins with zeros, into its value, and back.
pub(super) fn initial(register: &ExternInstance) -> String {
    match &register.initial {
        zero if zero.bits() == 0 => String::new(),
        value => {
            let ExternKind::Register { ty, .. } = register.kind else { return String::new() };
            format!(" ^ {}'h{value:x}", ty.width())
        }
    }
}
