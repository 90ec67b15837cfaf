//! Tables and parser value sets: engines that search for a key.

use std::fmt::Write;

use hopwright_ir::{ExternKind, Pipeline, TableId, Unit, ValueSetId};

use super::metering::Access;
use super::{Writer, reset};
use crate::hir::{Input, LookupLayout, Op, Value};
use crate::map::{Memory, MemoryKind};
use crate::masked::{MOST_ENTRIES, Masked};
use crate::refusal::Capability;
use crate::schedule::{
    CHOSEN_BITS, Exact, TERNARY_CHUNK_BITS, TableEngine, exact_value_set, key_bits, ternary_entries, value_set_rows,
};

/// Cycles that the write of an entry takes at most to reach its memory, and some more.
const LIST_MARGIN: u32 = 32;

impl Writer<'_> {
    /// Whether the set has a member that matches.
    pub(super) fn in_set(&mut self, value: Value, id: ValueSetId, keys: &[Value], stage: u32) {
        let set = &self.p[id];
        let (n, start) = (value.0, self.start(value));
        let key_bits: u32 = set.types.iter().map(|t| t.width()).sum();
        let keys: Vec<String> = keys.iter().map(|key| self.at(*key, start)).collect();
        let entries = value_set_rows(set.size);
        if let Some(exact) = exact_value_set(set, self.target, self.schedule.engines.gap) {
            self.engines.insert("hw_exact");
            let (addr_bits, data_bits) = (exact.address_bits(), 2 + key_bits);
            let memory = Memory { name: set.name.clone(), kind: exact.memory(), addr_bits, data_bits, key_bits };
            let number = self.map.memory(memory);
            let _ = writeln!(
                self.body,
                "    logic v{n}_{stage};\n    hw_exact #({}) e{n} (.clk, .rst({}), .in_valid(valid_{start}), .in_key({{{}}}), .out_valid(), \
                 .out_found(), .out_hit(v{n}_{stage}), .out_data(), .wr_en(mem_put_{number}), .wr_addr(mem_addr_{number}), \
                 .wr_data(mem_data_{number}));",
                self.exact(exact, key_bits, 1),
                reset(start),
                keys.join(", "),
            );
            return;
        }
        let ternary = Ternary::new(key_bits, 1, entries);
        self.engines.insert("hw_ternary");
        // A parser state that is unrolled several times has an engine each, with the same members.
        let number = self.map.memory(ternary.memory(set.name.clone(), key_bits));
        let _ = writeln!(
            self.body,
            "    logic v{n}_{stage};\n    hw_ternary #({}) e{n} (.clk, .rst({}), .in_valid(valid_{start}), .in_key({{{}}}), .out_valid(), \
             .out_hit(v{n}_{stage}), .out_data(), .wr_en(mem_put_{number}), .wr_addr(mem_addr_{number}), .wr_data(mem_data_{number}));",
            ternary.parameters,
            reset(start),
            keys.join(", "),
        );
    }

    /// The entry of a table that matches, after whether there is one.
    pub(super) fn lookup(&mut self, value: Value, id: TableId, enable: Value, keys: &[Value], stage: u32) {
        let layout = LookupLayout::of(self.p, id);
        let engine = TableEngine::of(self.p, id);
        let (n, start) = (value.0, self.start(value));
        let data_bits = layout.result_bits();
        let width = layout.width();
        let default = match data_bits {
            0 => String::new(),
            // The default action is that of the member.
            _ if layout.list_bits > 0 => format!(", {data_bits}'d0"),
            _ => self.default_action(n, id, &layout, start),
        };
        if engine == TableEngine::Default {
            let _ = writeln!(
                self.body,
                "    logic [{}:0] v{n}_{stage};\n    assign v{n}_{stage} = {{1'b0{default}}};",
                width - 1
            );
            return;
        }
        let enabled = enable;
        let enable = self.at(enable, start);
        let keys: Vec<String> = keys.iter().map(|key| self.at(*key, start)).collect();
        let stored = layout.stored_bits();
        if engine == TableEngine::Masked && self.p[id].size > MOST_ENTRIES {
            let (name, size) = (&self.p[id].name, self.p[id].size);
            let message = format!("table `{name}` has {size} entries, of at most {MOST_ENTRIES}");
            return self.refuse(Capability::TableSize, value, message);
        }
        let (module, parameters, memory) = self.table_engine(id, engine, stored);
        self.engines.insert(module);
        let kind = memory.kind;
        let number = self.map.memory(memory);
        if layout.list_bits > 0 {
            self.changing_lists(value, id, number);
        }
        let hit = format!("hit{n}");
        let mut extra = String::new();
        if kind.has_banks() {
            extra = format!(", .switching(switching{n})");
            self.switching.push((number, format!("switching{n}")));
        }
        let stored_part = match data_bits {
            0 => String::new(),
            _ => format!(", data{n}[{}:{}]", stored - 1, layout.entry_bits),
        };
        // What chooses between what is stored and the default.
        let mut chosen = format!("{{{width}{{{hit}}}}}");
        if matches!(module, "hw_exact" | "hw_masked") {
            let _ = write!(extra, ", .out_found(found{n})");
            chosen = self.copies_of_hit(n, width);
        }
        let _ = writeln!(
            self.body,
            "    logic {hit};\n    logic [{}:0] data{n};\n    logic [{w}:0] m{n}, v{n}_{stage};\n    {module} #({parameters}) e{n} (.clk, \
             .rst({}), .in_valid(valid_{start} && {enable}), .in_key({{{}}}), .out_valid(), .out_hit({hit}), .out_data(data{n}), \
             .wr_en(mem_put_{number}), .wr_addr(mem_addr_{number}), .wr_data(mem_data_{number}){extra});\n    assign m{n} = {chosen};\n    \
             assign v{n}_{stage} = m{n} & {{1'b1{stored_part}}} | ~m{n} & {{1'b0{default}}};",
            stored - 1,
            reset(start),
            keys.join(", "),
            w = width - 1,
        );
        if layout.entry_bits > 0 {
            self.hits(value, id, enabled, layout.entry_bits, stage);
        }
    }

    /// The member of a table's action profile at a place, or the default action.
    pub(super) fn member(&mut self, value: Value, lookup: Value, hit: Value, place: Value, stage: u32) {
        let Op::Lookup { table: id, .. } = self.node(lookup).op else { unreachable!("members are those of a lookup") };
        let layout = LookupLayout::of(self.p, id);
        let (n, start) = (value.0, self.start(value));
        let default = self.default_action(n, id, &layout, start);
        let (hit, place) = (self.at(hit, stage), self.at(place, start));
        let number = self.map.memory(members_memory(self.p, id, &layout));
        let (bits, words) = (layout.call_bits(), 1u32 << layout.list_bits);
        let _ = writeln!(
            self.body,
            "    logic [{0}:0] data{n};\n    logic [{bits}:0] v{n}_{stage};\n    hw_ram #(.WIDTH({bits}), .DEPTH({words}), .FORWARD(0)) \
             e{n} (.clk, .rd_addr({place}), .rd_data(data{n}), .wr_en(mem_put_{number}), .wr_addr(mem_addr_{number}), \
             .wr_data(mem_data_{number}));\n    assign v{n}_{stage} = {hit} ? {{1'b1, data{n}}} : {{1'b0{default}}};",
            bits - 1
        );
    }

    /// While packets may have found an entry as it was before the last write, the lists that it led to must not be overwritten.
    fn changing_lists(&mut self, value: Value, id: TableId, table: usize) {
        let n = value.0;
        let members = members_memory(self.p, id, &LookupLayout::of(self.p, id));
        // Members are written before lookups; without one that is used there is no memory.
        let Some(number) = self.map.memories.iter().position(|memory| *memory == members) else { return };
        let nodes = self.core.design.nodes.iter().zip(&self.schedule.ready);
        let read = nodes.filter(|(node, _)| matches!(node.op, Op::Member { lookup, .. } if lookup == value));
        let last = read.map(|(_, ready)| ready.stage).max().unwrap_or(0);
        let cycles = last - self.start(value) + LIST_MARGIN;
        let bits = u32::BITS - cycles.leading_zeros();
        let _ = writeln!(
            self.body,
            "    logic [{}:0] found{n}_old = '0;\n    always_ff @(posedge clk)\n        if (mem_put_{table}) found{n}_old <= \
             {bits}'d{cycles};\n        else if (found{n}_old != '0) found{n}_old <= found{n}_old - 1'b1;\n    assign \
             lists_old{n} = mem_put_{table} || found{n}_old != '0;",
            bits - 1
        );
        self.switching.push((number, format!("lists_old{n}")));
    }

    /// What holds the default action of a table and its data: registers that the control plane writes.
    fn default_action(&mut self, n: u32, id: TableId, layout: &LookupLayout, start: u32) -> String {
        let data_bits = layout.call_bits();
        let name = self.p[id].name.clone();
        let number = self.map.memory(Memory { name, kind: MemoryKind::Default, addr_bits: 1, data_bits, key_bits: 0 });
        let initial = initial_default(self.p, id, layout);
        // Each part of the data has its own copies of what says that they change.
        let top = data_bits - 1;
        let _ = writeln!(self.body, "    logic [{top}:0] default{n};\n    logic [{top}:0] initial{n};");
        let _ = writeln!(self.body, "    assign initial{n} = {data_bits}'h{initial:x};");
        for (part, low) in (0..data_bits).step_by(CHOSEN_BITS as usize).enumerate() {
            let bits = format!("[{}:{low}]", (low + CHOSEN_BITS).min(data_bits) - 1);
            let _ = writeln!(
                self.body,
                "    logic reset{n}_{part}, put{n}_{part};\n    (* keep *) always_ff @(posedge clk) begin\n        reset{n}_{part} <= {};\n        \
                 put{n}_{part} <= mem_put_{number};\n    end\n    always_ff @(posedge clk)\n        if (reset{n}_{part}) \
                 default{n}{bits} <= initial{n}{bits};\n        else if (put{n}_{part}) default{n}{bits} <= mem_data_{number}{bits};",
                reset(start)
            );
        }
        format!(", default{n}")
    }

    /// The module that searches a table, its parameters, and its memory as the control plane writes it.
    fn table_engine(&self, id: TableId, engine: TableEngine, stored: u32) -> (&'static str, String, Memory) {
        let table = &self.p[id];
        let key_bits = key_bits(self.p, id);
        let memory =
            |kind, addr_bits, data_bits| Memory { name: table.name.clone(), kind, addr_bits, data_bits, key_bits };
        match engine {
            TableEngine::Index => {
                let parameters = format!(".KEY_BITS({key_bits}), .DATA_BITS({stored})");
                ("hw_index", parameters, memory(MemoryKind::Index, key_bits, stored + 1))
            }
            TableEngine::Exact => {
                let exact = Exact::of_table(self.p, id, self.target, self.schedule.engines.gap);
                let memory = memory(exact.memory(), exact.address_bits(), 1 + key_bits + stored);
                ("hw_exact", self.exact(exact, key_bits, stored), memory)
            }
            TableEngine::Lpm(levels) => {
                let parameters = format!(".KEY_BITS({key_bits}), .DATA_BITS({stored}), .LEVELS({levels})");
                ("hw_lpm", parameters, memory(MemoryKind::Lpm { levels }, levels + 3, key_bits.max(stored + 1)))
            }
            TableEngine::Ternary => {
                let ternary = Ternary::new(key_bits, stored, ternary_entries(table.size));
                let memory = ternary.memory(table.name.clone(), key_bits);
                ("hw_ternary", ternary.parameters, memory)
            }
            TableEngine::Masked => {
                let masked = Masked::of_table(self.p, id, self.target, self.schedule.engines.gap);
                ("hw_masked", masked.parameters(), masked.memory(table.name.clone()))
            }
            TableEngine::Default => unreachable!("has no engine"),
        }
    }

    /// A mask of this many bits that says whether there is a hit, of copies that are made where it is known a cycle before.
    fn copies_of_hit(&mut self, n: u32, width: u32) -> String {
        let copies = width.div_ceil(CHOSEN_BITS);
        let _ = writeln!(self.body, "    logic found{n};\n    logic [{}:0] hits{n};", copies - 1);
        for copy in 0..copies {
            let _ = writeln!(self.body, "    (* keep *) always_ff @(posedge clk) hits{n}[{copy}] <= found{n};");
        }
        let parts = (0..copies).rev().map(|copy| {
            let bits = CHOSEN_BITS.min(width - copy * CHOSEN_BITS);
            format!("{{{bits}{{hits{n}[{copy}]}}}}")
        });
        format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
    }

    /// The parameters of `hw_exact`.
    pub(super) fn exact(&self, exact: Exact, key_bits: u32, data_bits: u32) -> String {
        let (Exact { buckets, slots, passes, parts, .. }, gap) = (exact, self.schedule.engines.gap);
        let widths = format!(".KEY_BITS({key_bits}), .DATA_BITS({data_bits}), .BUCKETS({buckets}), .SLOTS({slots})");
        if gap == 1 { widths } else { format!("{widths}, .PASSES({passes}), .PARTS({parts}), .GAP({gap})") }
    }

    /// The number of the entry that was hit, a cycle after the lookup, and what counts it.
    fn hits(&mut self, value: Value, id: TableId, enable: Value, bits: u32, stage: u32) {
        let n = value.0;
        let table = &self.p[id];
        let (counter, size, name) = (table.direct_counter, table.size, table.name.clone());
        if !self.first(&name, value) {
            return;
        }
        let (enable, length) = (self.at(enable, stage), self.input_at(Input::Length, stage));
        let _ = writeln!(
            self.body,
            "    logic counted{n};\n    logic [{0}:0] entry{n};\n    logic [15:0] length{n};\n    always_ff @(posedge clk) begin\n        \
             counted{n} <= !{1} && valid_{stage} && {enable} && hit{n};\n        entry{n} <= data{n}[{0}:0];\n        length{n} <= \
             {length};\n    end",
            bits - 1,
            reset(stage)
        );
        let Some(ExternKind::DirectCounter { unit, .. }) = counter.map(|id| self.p[id].kind.clone()) else { return };
        let name = counter.map(|id| self.p[id].name.clone()).unwrap_or_default();
        let access = Access { valid: format!("counted{n}"), index: format!("entry{n}"), length: format!("length{n}") };
        self.counter(&format!("c{n}"), name, size, unit, (stage, access));
    }

    /// The colour that the direct meter of a table gives to a hit.
    pub(super) fn color(&mut self, value: Value, lookup: Value, stage: u32) {
        let (n, m, start) = (value.0, lookup.0, self.start(value));
        let Op::Lookup { table, .. } = self.node(lookup).op else { unreachable!("a colour is that of a lookup") };
        let (table, object) = (&self.p[table], self.p[table].direct_meter.map(|id| self.p[id].clone()));
        let size = table.size;
        let Some(ExternKind::DirectMeter { unit, .. }) = object.as_ref().map(|object| object.kind.clone()) else {
            return;
        };
        if table.keys.is_empty() {
            let _ = writeln!(self.body, "    logic [1:0] v{n}_{stage};\n    assign v{n}_{stage} = 2'd0;");
            return;
        }
        debug_assert_eq!(start, self.schedule.ready[lookup.index()].stage + 1);
        let length = if unit == Unit::Packets { "16'd1".to_string() } else { format!("length{m}") };
        let access = Access { valid: format!("counted{m}"), index: format!("entry{m}"), length };
        let name = object.map(|object| object.name).unwrap_or_default();
        self.meter(value, (start, stage), name, size, unit, access);
    }
}

/// An instance of `hw_ternary`.
struct Ternary {
    parameters: String,
    addr_bits: u32,
    write_bits: u32,
    kind: MemoryKind,
}

impl Ternary {
    fn new(key_bits: u32, data_bits: u32, entries: u32) -> Ternary {
        let chunks = key_bits.div_ceil(TERNARY_CHUNK_BITS);
        let chunk_addr = chunks.next_power_of_two().ilog2() + TERNARY_CHUNK_BITS;
        Ternary {
            parameters: format!(".KEY_BITS({key_bits}), .DATA_BITS({data_bits}), .ENTRIES({entries})"),
            addr_bits: 2 + chunk_addr.max(entries.ilog2()),
            write_bits: entries.max(data_bits),
            kind: MemoryKind::Ternary { entries, chunks },
        }
    }

    fn memory(&self, name: String, key_bits: u32) -> Memory {
        let Ternary { addr_bits, write_bits: data_bits, kind, .. } = *self;
        Memory { name, kind, addr_bits, data_bits, key_bits }
    }
}

/// The memory of a table's list of members.
fn members_memory(p: &Pipeline, id: TableId, layout: &LookupLayout) -> Memory {
    Memory {
        name: p[id].name.clone(),
        kind: MemoryKind::Members { words: 1 << layout.list_bits },
        addr_bits: layout.list_bits,
        data_bits: layout.call_bits(),
        key_bits: 0,
    }
}

/// The default action of the program as action number and data.
fn initial_default(p: &Pipeline, id: TableId, layout: &LookupLayout) -> num_bigint::BigUint {
    let call = &p[id].default_action;
    let number = layout.actions.iter().position(|a| *a == call.action).unwrap_or(0);
    let (mut data, mut used) = (num_bigint::BigUint::ZERO, 0);
    for (param, arg) in p[call.action].params.iter().zip(&call.args) {
        data = (data << param.ty.width()) + arg;
        used += param.ty.width();
    }
    (num_bigint::BigUint::from(number) << layout.data_bits) + (data << (layout.data_bits - used))
}
