//! The deparser, in place. Headers are walked from the last to the first, from where the payload begins: what already
//! lies where it belongs stays; from the first that does not, the rest of the old headers is put aside and the new ones
//! are written in front of what is done. The payload never moves.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use hopwright_ir::walk;
use hopwright_ir::{HeaderId, SlotKind, Span, StmtKind};

use crate::Unsupported;
use crate::abi;
use crate::function::Gen;
use crate::shim;

type Result<T> = std::result::Result<T, Unsupported>;

/// Bytes that [`abi::Runtime::scratch`] is sure to have.
const SCRATCH_BYTES: i64 = 9_216;

/// One emit of the deparser.
#[derive(Clone, Copy)]
pub(crate) struct Emitted {
    header: HeaderId,
    /// I8: it is emitted.
    present: Variable,
}

impl Gen<'_> {
    /// Runs the deparser and puts the packet together.
    pub(crate) fn deparse(&mut self) -> Result<()> {
        self.check_deparser()?;
        let p = self.p;
        let mut headers = Vec::new();
        walk::stmts(&p.deparser.body, &mut |s| {
            if let StmtKind::Emit(header) = s.kind {
                headers.push(header);
            }
        });
        let emits: Vec<Emitted> =
            headers.into_iter().map(|header| Emitted { header, present: self.b.declare_var(types::I8) }).collect();
        for e in &emits {
            let no = self.b.ins().iconst(types::I8, 0);
            self.b.def_var(e.present, no);
        }
        self.emits = emits.clone();
        self.next_emit = 0;
        self.control(&p.deparser.body)?;
        self.assemble(&emits);
        Ok(())
    }

    /// Emits are found once each in program order, and what is emitted must still be the same at the end.
    fn check_deparser(&self) -> Result<()> {
        let mut wrong: Option<(Span, &str)> = None;
        walk::stmts(&self.p.deparser.body, &mut |s| {
            let slot = match &s.kind {
                StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => Some(*slot),
                StmtKind::Loop(_) => {
                    wrong = Some((s.span, "a loop in a deparser"));
                    None
                }
                StmtKind::SetValid(_)
                | StmtKind::SetInvalid(_)
                | StmtKind::CopyHeader { .. }
                | StmtKind::PushFront(..)
                | StmtKind::PopFront(..)
                | StmtKind::Apply { .. }
                | StmtKind::Extern(_) => {
                    wrong = Some((s.span, "changing headers or calling externs in a deparser"));
                    None
                }
                _ => None,
            };
            if let Some(slot) = slot
                && matches!(self.p[slot].kind, SlotKind::Field(..) | SlotKind::Valid(_))
            {
                wrong = Some((s.span, "assigning header fields in a deparser"));
            }
        });
        match wrong {
            Some((span, what)) => Err(Unsupported::new(span, what)),
            None => Ok(()),
        }
    }

    /// One emit, in program order.
    pub(crate) fn emit(&mut self, header: HeaderId, span: Span) -> Result<()> {
        let Some(e) = self.emits.get(self.next_emit).copied().filter(|e| e.header == header) else {
            return Err(Unsupported::new(span, "`emit` outside of a deparser"));
        };
        self.next_emit += 1;
        let valid = self.read_bool(self.p[header].valid);
        self.b.def_var(e.present, valid);
        Ok(())
    }

    fn assemble(&mut self, emits: &[Emitted]) {
        self.at(self.p.deparser.span);
        let layout = self.layout;
        let tail = &layout.tail.headers;
        let cursor = self.b.use_var(self.cursor);
        // Where the headers that are done begin.
        let front = self.b.declare_var(types::I64);
        self.b.def_var(front, cursor);
        if !tail.is_empty() {
            let any = self.any_valid(tail);
            let start = self.b.use_var(self.tail_start);
            let start = self.b.ins().select(any, start, cursor);
            self.b.def_var(front, start);
        }
        let emits = &emits[..emits.len() - tail.len()];
        let done = self.b.create_block();
        // Entered with `front` at the end of the first header that does not lie where it belongs.
        let rebuilds: Vec<Block> = emits.iter().map(|_| self.b.create_block()).collect();
        for (i, e) in emits.iter().enumerate().rev() {
            let (check, next) = (self.b.create_block(), self.b.create_block());
            let present = self.b.use_var(e.present);
            self.b.ins().brif(present, check, &[], next, &[]);
            self.enter(check);
            let end = self.b.use_var(front);
            let length = self.length(e.header);
            let target = self.b.ins().isub(end, length);
            if self.layout.header(e.header).from_packet {
                let base = self.base(e.header);
                let in_place = self.b.ins().icmp(IntCC::Equal, base, target);
                let stay = self.b.create_block();
                self.b.ins().brif(in_place, stay, &[], rebuilds[i], &[]);
                self.enter(stay);
                self.b.def_var(front, target);
                self.b.ins().jump(next, &[]);
            } else {
                self.b.ins().jump(rebuilds[i], &[]);
            }
            self.enter(next);
        }
        self.b.ins().jump(done, &[]);
        self.rebuild(emits, &rebuilds, front, done);

        self.enter(done);
        let front = self.b.use_var(front);
        let start = self.b.ins().isub(front, self.packet.buffer);
        self.describe(offset_of!(abi::Packet, start), start);
    }

    /// Writes the headers up to the first that does not lie where it belongs.
    fn rebuild(&mut self, emits: &[Emitted], entries: &[Block], front: Variable, done: Block) {
        if emits.is_empty() {
            return;
        }
        // The steps of the second walk; entry `i` first puts the old headers aside, then goes to step `i`.
        let steps: Vec<Block> = emits.iter().map(|_| self.b.create_block()).collect();
        let kept = self.b.declare_var(types::I64);
        let aside = self.b.create_block();
        let which = self.b.append_block_param(aside, types::I64);
        for (i, &entry) in entries.iter().enumerate() {
            self.enter(entry);
            let index = self.c64(i as u64);
            self.b.ins().jump(aside, &[index.into()]);
        }
        self.enter(aside);
        let boundary = self.b.use_var(front);
        let length = self.b.ins().isub(boundary, self.packet.start);
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, SCRATCH_BYTES);
        self.fault_unless(fits);
        let scratch =
            self.b.ins().load(types::I64, self.flags.runtime, self.runtime, offset_of!(abi::Runtime, scratch) as i32);
        self.call_shim(shim::copy as *const () as usize, &[scratch, self.packet.start, length], false);
        self.b.def_var(kept, scratch);
        let limit = self.b.declare_var(types::I64);
        self.b.def_var(limit, length);
        for (i, &step) in steps.iter().enumerate() {
            if i + 1 == steps.len() {
                self.b.ins().jump(step, &[]);
            } else {
                let other = self.b.create_block();
                let this = self.b.ins().icmp_imm_u(IntCC::Equal, which, i as i64);
                self.b.ins().brif(this, step, &[], other, &[]);
                self.enter(other);
            }
        }
        for (i, e) in emits.iter().enumerate().rev() {
            let next = if i == 0 { done } else { steps[i - 1] };
            self.b.seal_block(steps[i]);
            self.b.switch_to_block(steps[i]);
            let write = self.b.create_block();
            let present = self.b.use_var(e.present);
            self.b.ins().brif(present, write, &[], next, &[]);
            self.enter(write);
            let end = self.b.use_var(front);
            let length = self.length(e.header);
            let target = self.b.ins().isub(end, length);
            let room = self.b.create_block();
            let fits = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, target, self.packet.buffer);
            let no_headroom = self.no_headroom;
            self.b.ins().brif(fits, room, &[], no_headroom, &[]);
            self.enter(room);
            self.write_header(e.header, target, kept, limit);
            self.b.def_var(front, target);
            self.b.ins().jump(next, &[]);
        }
    }

    /// Writes a whole header at an address, from where it is or was put aside.
    fn write_header(&mut self, header: HeaderId, target: Value, kept: Variable, limit: Variable) {
        let base = self.base(header);
        if !self.layout.header(header).from_packet {
            return self.move_header(header, target, base);
        }
        let (kept, limit) = (self.b.use_var(kept), self.b.use_var(limit));
        let offset = self.b.ins().isub(base, self.packet.start);
        let was_moved = self.b.ins().icmp(IntCC::UnsignedLessThan, offset, limit);
        let moved = self.b.ins().iadd(kept, offset);
        let source = self.b.ins().select(was_moved, moved, base);
        self.move_header(header, target, source);
    }
}
