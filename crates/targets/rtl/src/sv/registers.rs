//! Registers that a packet accesses in several stages. The accesses take turns at one memory: packets are so far apart that the last access of
//! one comes before the first one of the next.

use std::fmt::Write;

use hopwright_ir::{ExternId, ExternKind};

use super::values::initial;
use super::{Writer, reset};
use crate::hir::{Op, Value};
use crate::schedule::takes_turns;

impl Writer<'_> {
    /// Writes an access to a register with several, if it is one. The first one in the program brings the memory.
    pub(super) fn turn(&mut self, value: Value, register: ExternId, stage: u32) -> bool {
        if !takes_turns(&self.core.design, register) {
            return false;
        }
        let object = self.p[register].clone();
        let ExternKind::Register { size, ty } = object.kind else { return false };
        let (n, id, start, width) = (value.0, register.0, self.start(value), ty.width());
        let bits = size.max(2).next_power_of_two().ilog2();
        let top = width - 1;
        match self.node(value).op.clone() {
            Op::RegisterRead { index, .. } => {
                let (index, within) = self.cell(value, index, size);
                let _ = write!(self.declarations, "    logic t{n}_valid;\n    logic [{}:0] t{n}_index;\n", bits - 1);
                let _ = writeln!(
                    self.body,
                    "    logic [{top}:0] v{n}_{stage};\n    logic near{n}, in{n};\n    assign t{n}_valid = valid_{start};\n    \
                     assign t{n}_index = {index};\n    always_ff @(posedge clk) begin\n        near{n} <= 1'b1{within};\n        \
                     in{n} <= near{n};\n    end\n    assign v{n}_{stage} = in{n} ? r{id}_read{} : '0;",
                    initial(&object)
                );
            }
            Op::RegisterWrite { enable, index, value: data, .. } => {
                let (enable, data) = (self.at(enable, start), self.at(data, start));
                let (index, within) = self.cell(value, index, size);
                let _ = write!(
                    self.declarations,
                    "    logic t{n}_valid;\n    logic [{}:0] t{n}_index;\n    logic [{top}:0] t{n}_data;\n",
                    bits - 1
                );
                let _ = writeln!(
                    self.body,
                    "    assign t{n}_valid = valid_{start} && {enable}{within};\n    assign t{n}_index = {index};\n    \
                     assign t{n}_data = {data}{};",
                    initial(&object)
                );
            }
            _ => return false,
        }
        let accesses = |write: bool| -> Vec<u32> {
            let is = |op: &Op| match op {
                Op::RegisterRead { register: r, .. } => !write && *r == register,
                Op::RegisterWrite { register: r, .. } => write && *r == register,
                _ => false,
            };
            let nodes = self.core.design.nodes.iter().enumerate();
            nodes.filter(|(_, node)| is(&node.op)).map(|(at, _)| at as u32).collect()
        };
        let (reads, writes) = (accesses(false), accesses(true));
        if reads.iter().chain(&writes).min() == Some(&n) {
            self.memory_of_turns(register, &reads, &writes, stage);
        }
        true
    }

    /// The memory of a register, with what each access gives in its turn.
    fn memory_of_turns(&mut self, register: ExternId, reads: &[u32], writes: &[u32], stage: u32) {
        let object = self.p[register].clone();
        let ExternKind::Register { size, ty } = object.kind else { return };
        let (id, width) = (register.0, ty.width());
        let bits = size.max(2).next_power_of_two().ilog2();
        let number = self.register_object(&object.name, size, width);
        let any = |accesses: &[u32]| match accesses {
            [] => "1'b0".to_string(),
            _ => accesses.iter().map(|n| format!("t{n}_valid")).collect::<Vec<_>>().join(" || "),
        };
        let one_of = |accesses: &[u32], what: &str, bits: u32| match accesses {
            [] => "'0".to_string(),
            _ => {
                let one = |n: &u32| format!("({{{bits}{{t{n}_valid}}}} & t{n}_{what})");
                accesses.iter().map(one).collect::<Vec<_>>().join(" | ")
            }
        };
        let _ = writeln!(self.declarations, "    logic [{}:0] r{id}_read;", width - 1);
        let _ = writeln!(
            self.body,
            "    hw_register #(.WIDTH({width}), .DEPTH({})) turns{id} (.clk, .rst({}), .rd_valid({}), .rd_index({}), \
             .rd_data(r{id}_read), .wr_en({}), .wr_index({}), .wr_data({}), {});",
            size.max(2),
            reset(stage),
            any(reads),
            one_of(reads, "index", bits),
            any(writes),
            one_of(writes, "index", bits),
            one_of(writes, "data", width),
            self.map.object_ports(number)
        );
    }
}
