//! Pausing and resuming packets.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_abi::{self as abi, HeaderPlace, ORIGINAL_BYTES, Pause, PauseLayout};
use hopwright_ir::{HeaderId, SlotId};

use crate::code::libcalls::Libcall;
use crate::emit::Emitter;
use crate::emit::flow_state::{At, Root};
use crate::emit::layout::Place;
use crate::emit::point::{Point, stage};

impl<'a> Emitter<'a> {
    /// The address of the record that this entry point reads.
    fn record(&mut self) -> Value {
        let at = offset_of!(abi::Runtime, context) as i32;
        self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at)
    }

    /// A word of the record.
    pub(crate) fn record_word(&mut self, word: usize) -> Value {
        let record = self.record();
        self.b.ins().load(types::I64, self.flags.record, record, 8 * word as i32)
    }

    /// Restores slots from the record.
    fn restore_slots(&mut self, slots: &[SlotId]) {
        for &slot in slots {
            let Some((first, count)) = self.plan.record.slot(slot) else { continue };
            if self.layout.places[slot.index()] == Place::Varbit {
                let record = self.record();
                self.restore_varbit(slot, record, first);
                continue;
            }
            let words: Vec<Value> = (0..count).map(|i| self.record_word(first + i)).collect();
            self.write(slot, &words);
        }
    }

    /// Restores a resubmitted or recirculated packet: preserved fields and instance type.
    pub(crate) fn restore_kept(&mut self) {
        let mut slots: Vec<SlotId> = self.p.field_lists.iter().flat_map(|l| l.slots.iter().copied()).collect();
        slots.extend([self.p.standard.instance_type, self.p.standard.ingress_port]);
        slots.sort();
        slots.dedup();
        self.restore_slots(&slots);
    }

    /// Restores everything that egress needs.
    pub(crate) fn restore(&mut self) {
        let plan = self.plan;
        let all: Vec<SlotId> =
            (0..self.p.slots.len() as u32).map(SlotId).filter(|s| plan.record.slot(*s).is_some()).collect();
        self.restore_slots(&all);
        let masks = (0..self.masks()).map(|i| self.record_word(plan.record.masks() + i)).collect::<Vec<_>>();
        self.set_masks(&masks);
        let record = self.record();
        let root = self.new_root(record);
        for (i, &HeaderPlace { length, bytes_at }) in plan.record.headers().iter().enumerate() {
            let varbit = self.p.headers[i].varbit.map(|_| self.record_word(length));
            self.place_header(HeaderId(i as u32), At { root: root.root, offset: bytes_at as i32 }, varbit);
        }
        if self.layout.counts_steps {
            let left = self.record_word(PauseLayout::STEPS);
            self.set_steps(left);
        }
        let port = self.record_word(PauseLayout::PORT);
        self.set_port(port);
    }

    /// Continues at the point where the packet paused.
    pub(crate) fn resume(&mut self) {
        let mode = self.record_word(PauseLayout::MODE);
        let behind = self.edge(&Point::stage(stage::LEFT));
        let begin = self.edge(&Point::stage(stage::ENTERING));
        self.b.ins().brif(mode, behind, &[], begin, &[]);
    }

    /// Pauses if one of the slots is not zero. Returns whether one certainly is not.
    fn pause_if(&mut self, slots: impl Iterator<Item = SlotId>, pause: u32) -> bool {
        let mut any: Option<Value> = None;
        for slot in slots {
            match self.flow.value(slot) {
                Some(0) => {}
                Some(_) => {
                    self.go(&Point::stage(pause).cold());
                    return true;
                }
                None => {
                    let v = self.read(slot)[0];
                    any = Some(match any {
                        Some(other) => self.b.ins().bor(other, v),
                        None => v,
                    });
                }
            }
        }
        if let Some(any) = any {
            let pausing = self.edge(&Point::stage(pause).cold());
            let go_on = self.b.create_block();
            self.b.ins().brif(any, pausing, &[], go_on, &[]);
            self.enter(go_on);
        }
        false
    }

    /// Pauses for requests of ingress. Returns whether there certainly are some.
    pub(crate) fn ingress_requests(&mut self) -> bool {
        self.pause_if(self.plan.slots.of_ingress(), stage::INGRESS_PAUSE)
    }

    /// Pauses for requests of egress.
    pub(crate) fn egress_requests(&mut self) -> bool {
        self.pause_if(self.plan.slots.clone_egress.into_iter(), stage::EGRESS_PAUSE)
    }

    /// Pauses for requests that take effect when a packet is sent.
    pub(crate) fn sending_requests(&mut self) -> bool {
        self.pause_if(self.plan.slots.of_sending(), stage::SENT_PAUSE)
    }

    /// Writes the record and returns.
    pub(crate) fn pause(&mut self, pause: Pause) {
        let plan = self.plan;
        let at = offset_of!(abi::Runtime, record) as i32;
        let record = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        for i in 0..self.p.slots.len() {
            let slot = SlotId(i as u32);
            let Some((first, count)) = plan.record.slot(slot) else { continue };
            if self.layout.places[i] == Place::Varbit {
                self.keep_varbit(slot, record, first);
                continue;
            }
            for (k, &v) in self.read(slot)[..count].iter().enumerate() {
                self.b.ins().store(self.flags.record, v, record, 8 * (first + k) as i32);
            }
        }
        let word = |g: &mut Self, word: usize, v: Value| {
            g.b.ins().store(g.flags.record, v, record, 8 * word as i32);
        };
        let length = self.packet_length();
        word(self, PauseLayout::LENGTH, length);
        if self.layout.counts_steps {
            let left = self.steps_left();
            word(self, PauseLayout::STEPS, left);
        }
        let (cursor, buffer) = (self.b.use_var(self.cursor), self.packet_buffer());
        let payload = self.b.ins().isub(cursor, buffer);
        word(self, PauseLayout::PAYLOAD, payload);
        if pause == Pause::Egress || pause == Pause::Sent {
            let port = self.described_port();
            word(self, PauseLayout::PORT, port);
        }
        if pause != Pause::Sent {
            for (i, mask) in self.mask_words().into_iter().enumerate() {
                word(self, plan.record.masks() + i, mask);
            }
            for (i, &HeaderPlace { length, bytes_at }) in plan.record.headers().iter().enumerate() {
                let header = HeaderId(i as u32);
                if let Some(v) = self.varbit_length(header) {
                    word(self, length, v);
                }
                let (from, bytes) = (self.base(header), self.length(header));
                let to = self.b.ins().iadd_imm_s(record, bytes_at as i64);
                self.libcall(Libcall::Copy, &[to, from, bytes], false);
            }
        }
        self.stop(pause);
    }

    /// Saves the packet's bytes as received, before they change: all of them, or those the parser extracted.
    pub(crate) fn save_original(&mut self, all: bool) {
        let start = self.root(Root::START);
        let end = if all { self.packet_end() } else { self.b.use_var(self.cursor) };
        let length = self.b.ins().isub(end, start);
        let limit = ORIGINAL_BYTES as i64;
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, limit);
        self.fault_unless(fits);
        let at = offset_of!(abi::Runtime, original) as i32;
        let to = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        self.libcall(Libcall::Copy, &[to, start, length], false);
    }
}
