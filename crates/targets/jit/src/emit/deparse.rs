//! The deparser, which works in place. It visits headers from the last to the first, starting at the payload, and
//! leaves headers that are in place. From the first header that is not in place on, it saves the remaining old headers
//! and writes the new ones in front of those already done. The payload never moves.
//!
//! This requires that each emit executes at most once and that its header does not change afterwards. For deparsers
//! with loops, header changes or externs, emitted headers are collected in a buffer, which is written at the end.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use hopwright_ir::walk;
use hopwright_ir::{HeaderId, Pipeline, SlotKind, Stmt, StmtKind};

use crate::Unsupported;
use crate::code::libcalls::Libcall;
use crate::emit::Emitter;
use crate::emit::emit_sites::{Deparse, EmitSite};
use crate::emit::flow_state::{At, Root, SuffixState};
use crate::emit::point::{Point, stage};
use hopwright_abi as abi;

type Result<T> = std::result::Result<T, Unsupported>;

/// Size of [`abi::Runtime::scratch`] in bytes.
const SCRATCH_BYTES: i64 = abi::SCRATCH_BYTES as i64;

impl Emitter<'_> {
    /// Emits the beginning of the deparser.
    pub(crate) fn begin_deparse(&mut self) -> Result<()> {
        let p = self.p;
        if self.deparse.front.is_none() && !is_plain(p) {
            self.deparse.front = Some(self.b.declare_var(types::I64));
            self.deparse.aside = Some(self.b.declare_var(types::I64));
        }
        if let Some(aside) = self.deparse.aside {
            let none = self.c64(0);
            self.b.def_var(aside, none);
            return Ok(());
        }
        if self.deparse.front.is_none() {
            let mut emits = Vec::new();
            walk::stmts(&p.deparser.body, &mut |s| {
                if let StmtKind::Emit(header) = s.kind {
                    emits.push(EmitSite { header, statement: s, present: self.b.declare_var(types::I8) });
                }
            });
            let (front, which) = (self.b.declare_var(types::I64), self.b.declare_var(types::I64));
            self.deparse = Deparse { emits, front: Some(front), which: Some(which), aside: None };
        }
        for i in 0..self.deparse.emits.len() {
            let no = self.b.ins().iconst(types::I8, 0);
            self.b.def_var(self.deparse.emits[i].present, no);
        }
        self.flow.emitted = vec![Some(false); self.deparse.emits.len()];
        Ok(())
    }

    /// Emits an emit statement.
    pub(crate) fn emit(&mut self, header: HeaderId, stmt: &Stmt) {
        if let Some(aside) = self.deparse.aside {
            return self.put_aside(header, aside);
        }
        let Some(number) = self.deparse.emits.iter().position(|e| std::ptr::eq(e.statement, stmt)) else { return };
        let valid = self.is_valid(header);
        self.b.def_var(self.deparse.emits[number].present, valid);
        self.flow.emitted[number] = self.known_valid(header);
    }

    /// Collects a header, if it is valid.
    fn put_aside(&mut self, header: HeaderId, aside: Variable) {
        let valid = self.is_valid(header);
        let (write, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(valid, write, &[], next, &[]);
        self.enter(write);
        let length = self.length(header);
        let before = self.b.use_var(aside);
        let after = self.b.ins().iadd(before, length);
        // What does not fit here fits no packet buffer.
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, after, SCRATCH_BYTES);
        self.no_headroom_unless(fits);
        let scratch = self.scratch();
        let to = self.b.ins().iadd(scratch, before);
        let from = self.base(header);
        self.libcall(Libcall::Copy, &[to, from, length], false);
        self.b.def_var(aside, after);
        self.b.ins().jump(next, &[]);
        self.enter(next);
    }

    /// Writes the collected headers in front of the payload.
    fn take_back(&mut self, front: Variable, aside: Variable) {
        let (cursor, length) = (self.b.use_var(self.cursor), self.b.use_var(aside));
        let to = self.b.ins().isub(cursor, length);
        let buffer = self.packet_buffer();
        let fits = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, to, buffer);
        self.no_headroom_unless(fits);
        let scratch = self.scratch();
        self.libcall(Libcall::Copy, &[to, scratch, length], false);
        self.b.def_var(front, to);
        self.finish(None);
    }

    /// Drops the packet unless it has the room.
    fn no_headroom_unless(&mut self, fits: Value) {
        let room = self.b.create_block();
        let no_headroom = self.no_headroom;
        self.b.ins().brif(fits, room, &[], no_headroom, &[]);
        self.enter(room);
    }

    fn scratch(&mut self) -> Value {
        let at = offset_of!(abi::Runtime, scratch) as i32;
        self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at)
    }

    /// Deparses the headers that are in place.
    pub(crate) fn assemble(&mut self) {
        if let (Some(front), Some(aside)) = (self.deparse.front, self.deparse.aside) {
            return self.take_back(front, aside);
        }
        let layout = self.layout;
        let tail = &layout.suffix.headers;
        let emits = self.deparse.emits.clone();
        let (Some(front), Some(which)) = (self.deparse.front, self.deparse.which) else { return };
        // Start of the headers that are already in place, if known at compile time; otherwise the variable holds it.
        let mut known = Some(self.cursor_at());
        let cursor = self.b.use_var(self.cursor);
        self.b.def_var(front, cursor);
        match self.flow.begun {
            _ if tail.is_empty() => {}
            SuffixState::NotBegun => {}
            begun => {
                let start = self.b.use_var(self.suffix_start);
                let start = if begun == SuffixState::Begun {
                    known = self.flow.suffix_start;
                    start
                } else {
                    known = None;
                    let any = self.any_valid(tail);
                    self.b.ins().select(any, start, cursor)
                };
                self.b.def_var(front, start);
            }
        }
        let rebuild = Point::stage(stage::REBUILD);
        for (i, e) in emits[..emits.len() - tail.len()].iter().enumerate().rev() {
            let present = self.flow.emitted[i];
            if present == Some(false) {
                continue;
            }
            let bytes = layout.header(e.header);
            let place = self.flow.place[e.header.index()].filter(|_| bytes.varbit_at.is_none());
            if let (Some(true), Some(place), Some(end)) = (present, place, known)
                && place.plus(bytes.bytes as i32) == end
            {
                known = Some(place);
                let place = self.address(place);
                self.b.def_var(front, place);
                continue;
            }
            let next = self.b.create_block();
            if present.is_none() {
                let check = self.b.create_block();
                let present = self.b.use_var(e.present);
                self.b.ins().brif(present, check, &[], next, &[]);
                self.enter(check);
            }
            let index = self.c64(i as u64);
            self.b.def_var(which, index);
            let rebuild = self.edge(&rebuild);
            if bytes.from_packet {
                let end = self.b.use_var(front);
                let length = self.length(e.header);
                let target = self.b.ins().isub(end, length);
                let base = self.base(e.header);
                let in_place = self.b.ins().icmp(IntCC::Equal, base, target);
                let stay = self.b.create_block();
                self.b.ins().brif(in_place, stay, &[], rebuild, &[]);
                self.enter(stay);
                self.b.def_var(front, target);
                self.b.ins().jump(next, &[]);
            } else {
                self.b.ins().jump(rebuild, &[]);
            }
            self.enter(next);
            known = None;
        }
        self.finish(known);
    }

    /// Ends the packet: it begins where its first header does.
    pub(crate) fn finish(&mut self, front: Option<At>) {
        if front != Some(At::START)
            && let Some(front) = self.deparse.front
        {
            let front = self.b.use_var(front);
            let buffer = self.packet_buffer();
            let start = self.b.ins().isub(front, buffer);
            self.describe(offset_of!(abi::Packet, start), start);
        }
        self.forward();
    }

    /// Writes the headers up to the last that is not in place.
    pub(crate) fn rebuild(&mut self) {
        let emits = self.deparse.emits.clone();
        let emits = &emits[..emits.len() - self.layout.suffix.headers.len()];
        let (Some(front), Some(which)) = (self.deparse.front, self.deparse.which) else { return };
        let done = self.b.create_block();
        // Saves the old headers, then writes the header of step `which` and those before it.
        let steps: Vec<Block> = emits.iter().map(|_| self.b.create_block()).collect();
        let kept = self.b.declare_var(types::I64);
        let which = self.b.use_var(which);
        let boundary = self.b.use_var(front);
        let start = self.root(Root::START);
        let length = self.b.ins().isub(boundary, start);
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, SCRATCH_BYTES);
        self.fault_unless(fits);
        let scratch = self.scratch();
        self.libcall(Libcall::Copy, &[scratch, start, length], false);
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
            self.put(e.header, front, kept, limit);
            self.b.ins().jump(next, &[]);
        }
        self.enter(done);
        self.finish(None);
    }

    /// Writes a header in front of those already in place.
    fn put(&mut self, header: HeaderId, front: Variable, kept: Variable, limit: Variable) {
        let end = self.b.use_var(front);
        let length = self.length(header);
        let target = self.b.ins().isub(end, length);
        let buffer = self.packet_buffer();
        let fits = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, target, buffer);
        self.no_headroom_unless(fits);
        self.write_header(header, target, kept, limit);
        self.b.def_var(front, target);
    }

    /// Writes a whole header at an address, from its bytes or from where they were saved.
    fn write_header(&mut self, header: HeaderId, target: Value, kept: Variable, limit: Variable) {
        let base = self.base(header);
        if !self.layout.header(header).from_packet {
            return self.move_header(header, target, base);
        }
        let (kept, limit) = (self.b.use_var(kept), self.b.use_var(limit));
        let start = self.root(Root::START);
        let offset = self.b.ins().isub(base, start);
        let was_moved = self.b.ins().icmp(IntCC::UnsignedLessThan, offset, limit);
        let moved = self.b.ins().iadd(kept, offset);
        let source = self.b.ins().select(was_moved, moved, base);
        self.move_header(header, target, source);
    }
}

/// Whether each emit is executed at most once and its header does not change until the end.
fn is_plain(p: &Pipeline) -> bool {
    let mut plain = true;
    walk::stmts(&p.deparser.body, &mut |s| {
        plain &= match &s.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => {
                !matches!(p[*slot].kind, SlotKind::Field(..) | SlotKind::Valid(_))
            }
            StmtKind::Emit(_) | StmtKind::If { .. } | StmtKind::Switch { .. } => true,
            StmtKind::Scope { .. } | StmtKind::Leave(_) | StmtKind::Exit => true,
            _ => false,
        };
    });
    plain
}
