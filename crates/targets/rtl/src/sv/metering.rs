//! Counters and meters: engines that a packet passes with a cell, those of tables with the cell of the entry that was hit.

use std::fmt::Write;

use hopwright_ir::Unit;

use super::{Writer, reset};
use crate::hir::Value;
use crate::map::{COUNT_BITS, METER_BITS, METER_BURST_BITS, METER_RATE_BITS, StateObject};

/// What such an engine takes, as signals of the same cycle.
pub(super) struct Access {
    /// Whether there is a packet to count.
    pub valid: String,
    /// The cell.
    pub index: String,
    /// What the packet costs: its bytes, or for a meter of packets, one.
    pub length: String,
}

impl Writer<'_> {
    /// A counter and its instance, which the packet meets in `stage`.
    pub(super) fn counter(
        &mut self,
        instance: &str,
        name: String,
        size: u64,
        unit: Unit,
        (stage, access): (u32, Access),
    ) {
        self.engines.insert("hw_counter");
        let (packets, bytes) = (unit.packets(), unit.bytes());
        let (packet_bits, byte_bits) = (COUNT_BITS * u32::from(packets), COUNT_BITS * u32::from(bytes));
        let bits = packet_bits + byte_bits;
        let number = self.map.add_object(StateObject { name, kind: "counter", size, bits, packets, bytes });
        let Access { valid, index, length } = access;
        let _ = writeln!(
            self.body,
            "    hw_counter #(.DEPTH({}), .PACKET_BITS({packet_bits}), .BYTE_BITS({byte_bits}), .LENGTH_BITS(16), .GAP({})) {instance} \
             (.clk, .rst({}), .in_valid({valid}), .in_index({index}), .in_length({length}), {});",
            size.max(2),
            self.schedule.engines.gap,
            reset(stage),
            self.map.object_ports(number)
        );
    }

    /// A meter whose instance takes the packet in stage `start` and gives its colour in `stage`. What is not measured is green.
    pub(super) fn meter(
        &mut self,
        value: Value,
        (start, stage): (u32, u32),
        name: String,
        size: u64,
        unit: Unit,
        access: Access,
    ) {
        let n = value.0;
        self.engines.insert("hw_meter");
        self.now_stages.insert(start);
        let number = self.map.add_object(StateObject {
            name,
            kind: "meter",
            size,
            bits: METER_BITS,
            packets: unit == Unit::Packets,
            bytes: unit == Unit::Bytes,
        });
        let Access { valid, index, length } = access;
        let _ = writeln!(
            self.body,
            "    logic [1:0] v{n}_{stage}, color{n};\n    logic measured{n};\n    hw_meter #(.DEPTH({}), \
             .RATE_BITS({METER_RATE_BITS}), .BURST_BITS({METER_BURST_BITS}), .TIME_BITS(48), .LENGTH_BITS(16)) e{n} (.clk, .rst({}), \
             .in_valid({valid}), .in_index({index}), .in_now(now_{start}), .in_length({length}), .out_valid(measured{n}), \
             .out_color(color{n}), {});\n    assign v{n}_{stage} = measured{n} ? color{n} : 2'd0;",
            size.max(2),
            reset(start),
            self.map.object_ports(number)
        );
    }
}
