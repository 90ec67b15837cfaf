//! How packets end: forwarded, dropped, paused, or with a fault.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hopwright_abi::{self as abi, Pause, Verdict};
use hopwright_ir::{DROP_PORT, SlotId};

use super::Emitter;
use crate::emit::point::{Point, stage};

impl Emitter<'_> {
    /// Returns because the packet paused.
    pub(crate) fn stop(&mut self, pause: Pause) {
        let v = self.c64(pause as u64);
        self.describe(offset_of!(abi::Packet, verdict), v);
        let stop = self.stop;
        self.b.ins().jump(stop, &[]);
    }

    /// Forwards the packet to its egress port.
    pub(crate) fn forward(&mut self) {
        self.clear_location();
        if self.sending_requests() {
            return;
        }
        self.verdict(Verdict::Forward);
        let next = self.next_packet;
        self.b.ins().jump(next, &[]);
    }

    pub(super) fn verdicts(&mut self) {
        for (block, verdict) in
            [(self.drop, Verdict::Drop), (self.fault, Verdict::Fault), (self.no_headroom, Verdict::NoHeadroom)]
        {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            self.verdict(verdict);
            let next = self.next_packet;
            self.b.ins().jump(next, &[]);
        }
    }

    fn verdict(&mut self, verdict: Verdict) {
        let v = self.c64(verdict as u64);
        self.describe(offset_of!(abi::Packet, verdict), v);
    }

    /// Drops the packet if its port is the drop port. Returns whether it certainly is.
    pub(super) fn dropped_without_port(&mut self, slot: SlotId) -> bool {
        match self.flow.value(slot) {
            Some(port) if port == u64::from(DROP_PORT) => {
                self.go(&Point::stage(stage::DROPPED));
                true
            }
            Some(_) => false,
            None => {
                let port = self.read(slot)[0];
                let go_on = self.b.create_block();
                let dropped = self.b.ins().icmp_imm_u(IntCC::Equal, port, i64::from(DROP_PORT));
                let drop = self.edge(&Point::stage(stage::DROPPED));
                self.b.ins().brif(dropped, drop, &[], go_on, &[]);
                self.enter(go_on);
                false
            }
        }
    }

    /// Gives the packet verdict `Fault` if the condition is false.
    pub(crate) fn fault_unless(&mut self, condition: Value) {
        let go_on = self.b.create_block();
        self.b.ins().brif(condition, go_on, &[], self.fault, &[]);
        self.enter(go_on);
    }

    /// Gives the packet verdict `Drop`.
    pub(crate) fn jump_to_drop(&mut self) {
        let drop = self.drop;
        self.b.ins().jump(drop, &[]);
    }

    /// Gives the packet verdict `Fault`.
    pub(crate) fn jump_to_fault(&mut self) {
        let fault = self.fault;
        self.b.ins().jump(fault, &[]);
    }
}
