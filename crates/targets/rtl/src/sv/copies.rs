//! Copies of packets: what ingress asks for, the engine between the two pipelines, and what goes with each copy.

use std::fmt::Write;

use super::{Writer, reset};
use crate::core::CopyRequest;
use crate::hir::{Destinations, Value};
use crate::map::{Memory, MemoryKind};
use crate::schedule::Exact;

/// Names of the ports of `hw_replicate` for what is to be made of a packet.
const REQUEST: [&str; 8] =
    ["clones", "clones_at", "clone_valid", "clone_port", "replicas", "replicas_at", "port_valid", "port"];

/// What the map calls the memories that do not belong to an object of the program.
pub(crate) const GROUPS: &str = "multicast groups";
pub(crate) const SESSIONS: &str = "clone sessions";
pub(crate) const LISTS: &str = "lists of copies";

impl Writer<'_> {
    /// What is to be made of a packet, in the last stage of ingress; nothing for one pipeline.
    pub(super) fn request(&mut self) -> Vec<String> {
        let last = self.schedule.egress.saturating_sub(1);
        let values = self.core.copies.iter().flat_map(CopyRequest::values).collect::<Vec<_>>();
        values.into_iter().map(|v| self.at(v, last)).collect()
    }

    /// Finds a group or session by its number.
    pub(super) fn destinations(&mut self, value: Value, of: Destinations, number: Value, stage: u32) {
        let (n, start) = (value.0, self.start(value));
        let (key_bits, width) = (of.number_width(), of.width());
        let name = match of {
            Destinations::Group { .. } => GROUPS,
            Destinations::Session { .. } => SESSIONS,
        };
        let exact = Exact::of_destinations(of, self.schedule.engines.gap);
        let memory = self.map.memory(Memory {
            name: name.to_string(),
            kind: exact.memory(),
            addr_bits: exact.address_bits(),
            data_bits: 1 + key_bits + width,
            key_bits,
        });
        self.engines.insert("hw_exact");
        let number = self.at(number, start);
        let _ = writeln!(
            self.body,
            "    logic hit{n};\n    logic [{0}:0] data{n}, v{n}_{stage};\n    hw_exact #({2}) e{n} (.clk, .rst({1}), \
             .in_valid(valid_{start}), .in_key({number}), .out_valid(), .out_found(), .out_hit(hit{n}), .out_data(data{n}), .wr_en(mem_put_{memory}), .wr_addr(mem_addr_{memory}), \
             .wr_data(mem_data_{memory}));\n    assign v{n}_{stage} = hit{n} ? data{n} : '0;",
            width - 1,
            reset(start),
            self.exact(exact, key_bits, width)
        );
    }

    /// The time of the packet in the stages that use it.
    pub(super) fn carried_time(&mut self) -> String {
        let egress = self.schedule.egress;
        let mut before = self.now_stages.clone();
        let behind = before.split_off(&egress);
        if egress == 0 || behind.is_empty() {
            return self.carry_input("now", "in_now", 48, 0, &self.now_stages.clone());
        }
        before.insert(egress - 1);
        let mut out = self.carry_input("now", "in_now", 48, 0, &before);
        self.crossing.push(("now".to_string(), 48));
        let _ = writeln!(out, "    logic [47:0] now_{egress};");
        out.push_str(&self.carrier.carry("now", 48, egress, &behind));
        out
    }

    /// The engine between the two pipelines; nothing for one pipeline.
    pub(super) fn copies(&mut self, request: &[String]) -> String {
        let egress = self.schedule.egress;
        if self.core.copies.is_none() {
            return String::new();
        }
        self.engines.insert("hw_replicate");
        let lists = self.target.copy_lists;
        let memory = self.map.memory(Memory {
            name: LISTS.to_string(),
            kind: MemoryKind::Lists { words: lists },
            addr_bits: lists.ilog2(),
            data_bits: 25,
            key_bits: 0,
        });
        self.switching.push((memory, "lists_busy".to_string()));
        let finds = |name: &str| self.map.memories.iter().position(|m| m.name == name);
        let changes = [GROUPS, SESSIONS].iter().filter_map(|name| finds(name)).map(|at| format!("mem_put_{at}"));
        let changes = changes.collect::<Vec<_>>().join(" || ");
        self.declarations.push_str(
            "    logic copy_valid, copy_cloned, copy_replicated, copy_none, copy_last, copy_shadow;\n    logic [8:0] copy_port;\n    logic [15:0] \
             copy_rid;\n",
        );
        let width: u32 = self.crossing.iter().map(|(_, width)| width).sum();
        let side = |stage: u32| {
            let names: Vec<String> = self.crossing.iter().map(|(name, _)| format!("{name}_{stage}")).collect();
            names.join(", ")
        };
        let engines = &self.schedule.engines;
        let mut out = String::from("    // Copies.\n");
        let ports: Vec<String> =
            REQUEST.iter().zip(request).map(|(port, value)| format!(".in_{port}({value})")).collect();
        let _ = writeln!(
            out,
            "    logic [{0}:0] crossing, crossed;\n    logic lists_change, lists_old;\n    assign crossing = {{{1}}};\n    assign {{{2}}} = \
             crossed;\n    assign lists_change = {changes};\n    assign lists_busy = lists_old || lists_change;\n    hw_replicate \
             #(.WIDTH({width}), .LIST({lists}), .PACKETS({3}), .COPIES({4}), .GAP({5}), .ALIGNED({6}), .SHADOWS({10})) replicate (.clk, .rst({9}), \
             .entering(in_valid), .in_valid(valid_{7}), .in_data(crossing), {8}, .out_valid(copy_valid), .out_data(crossed), \
             .out_port(copy_port), .out_rid(copy_rid), .out_cloned(copy_cloned), .out_replicated(copy_replicated), \
             .out_none(copy_none), .out_last(copy_last), .out_shadow(copy_shadow), .done(in_done), .changed(lists_change), .busy(lists_old), \
             .wr_en(mem_put_{memory}), .wr_addr(mem_addr_{memory}), .wr_data(mem_data_{memory}));",
            width - 1,
            side(egress - 1),
            side(egress),
            self.schedule.packets(),
            self.schedule.verdicts(),
            engines.gap,
            u32::from(engines.is_aligned()),
            egress - 1,
            ports.join(", "),
            reset(egress),
            u32::from(self.core.mirror.is_some())
        );
        out
    }
}
