//! Usage: which slots are read and written, and which headers change after parsing.
//!
//! An executor uses this to extract only the fields that are read and to write back only what changed. The answers are
//! conservative and flow-insensitive: "read" means that some statement, key or argument may read it.

use crate::{ExternArg, HeaderId, Pipeline, SlotId, SlotKind, StackId, Stmt, StmtKind};

use crate::walk;

/// What a program does with its state.
#[derive(Clone, Debug)]
pub struct Usage {
    /// One per slot.
    pub slots: Vec<SlotUse>,
    /// One per header.
    pub headers: Vec<HeaderUse>,
}

/// What happens to one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotUse {
    /// Its value is read: by an expression, a key, an extern, a field list, or a copy of its header. Emitting its
    /// header is not counted.
    pub read: bool,
    /// It is written by anything but the extraction of its header: assignments, lookahead, externs, `SetValid` (which
    /// zeroes), `SetInvalid` (the validity bit only), copies, stack shifts.
    pub written: bool,
}

/// What happens to one header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderUse {
    /// Some field is read (see [`SlotUse::read`]).
    pub field_read: bool,
    /// Some field is written other than by extraction.
    pub field_written: bool,
    /// The validity bit is read. Emitting is not counted.
    pub valid_read: bool,
    /// The validity bit is written other than by extraction.
    pub valid_written: bool,
    /// A parser state may extract it.
    pub extracted: bool,
    /// The deparser may emit it.
    pub emitted: bool,
}

impl HeaderUse {
    /// True if the header, once extracted, stays as it was on the wire and stays valid.
    pub fn unchanged(&self) -> bool {
        !self.field_written && !self.valid_written
    }
}

impl Usage {
    /// Scans the whole pipeline once.
    pub fn of(pipeline: &Pipeline) -> Usage {
        let mut usage = Usage {
            slots: vec![SlotUse::default(); pipeline.slots.len()],
            headers: vec![HeaderUse::default(); pipeline.headers.len()],
        };
        for block in walk::all_blocks(pipeline) {
            walk::stmts(block, &mut |stmt| usage.stmt(pipeline, stmt));
        }
        for expr in walk::outer_exprs(pipeline) {
            walk::expr_slots(expr, &mut |slot| usage.read(slot));
        }
        for list in &pipeline.field_lists {
            for &slot in &list.slots {
                usage.read(slot);
                usage.write(slot);
            }
        }
        for (slot, u) in pipeline.slots.iter().zip(&usage.slots) {
            match slot.kind {
                SlotKind::Field(header, _) => {
                    let h = &mut usage.headers[header.index()];
                    h.field_read |= u.read;
                    h.field_written |= u.written;
                }
                SlotKind::Valid(header) => {
                    let h = &mut usage.headers[header.index()];
                    h.valid_read |= u.read;
                    h.valid_written |= u.written;
                }
                _ => {}
            }
        }
        usage
    }

    /// The slot's use.
    pub fn slot(&self, slot: SlotId) -> SlotUse {
        self.slots[slot.index()]
    }

    /// The header's use.
    pub fn header(&self, header: HeaderId) -> HeaderUse {
        self.headers[header.index()]
    }

    fn read(&mut self, slot: SlotId) {
        self.slots[slot.index()].read = true;
    }

    fn write(&mut self, slot: SlotId) {
        self.slots[slot.index()].written = true;
    }

    fn stmt(&mut self, pipeline: &Pipeline, stmt: &Stmt) {
        for expr in walk::stmt_exprs(stmt) {
            walk::expr_slots(expr, &mut |slot| self.read(slot));
        }
        match &stmt.kind {
            StmtKind::Assign(slot, _) => self.write(*slot),
            StmtKind::AssignSlice { slot, .. } => {
                self.read(*slot);
                self.write(*slot);
            }
            StmtKind::SetValid(header) => {
                walk::header_slots(pipeline, *header).for_each(|s| self.write(s));
            }
            StmtKind::SetInvalid(header) => self.write(pipeline[*header].valid),
            StmtKind::CopyHeader { dst, src } => {
                walk::header_slots(pipeline, *src).for_each(|s| self.read(s));
                walk::header_slots(pipeline, *dst).for_each(|s| self.write(s));
            }
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                self.shift(pipeline, *stack);
            }
            StmtKind::Apply { hit, action_run, .. } => {
                hit.iter().chain(action_run).for_each(|&slot| self.write(slot));
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    match arg {
                        ExternArg::Out(slot) => self.write(*slot),
                        ExternArg::InOut(slot) => {
                            self.read(*slot);
                            self.write(*slot);
                        }
                        ExternArg::In(_) | ExternArg::List(_) => {}
                    }
                }
            }
            StmtKind::Extract { header, .. } => self.headers[header.index()].extracted = true,
            StmtKind::ExtractNext { stack, .. } => {
                let stack = &pipeline[*stack];
                self.read(stack.next_index);
                self.write(stack.next_index);
                for header in &stack.elements {
                    self.headers[header.index()].extracted = true;
                }
            }
            StmtKind::Lookahead { parts, .. } => parts.iter().for_each(|p| self.write(p.0)),
            StmtKind::Emit(header) => self.headers[header.index()].emitted = true,
            StmtKind::If { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Scope { .. }
            | StmtKind::Leave(_)
            | StmtKind::Loop { .. }
            | StmtKind::Exit
            | StmtKind::Advance { .. }
            | StmtKind::Verify(..) => {}
        }
    }

    fn shift(&mut self, pipeline: &Pipeline, stack: StackId) {
        let stack = &pipeline[stack];
        self.read(stack.next_index);
        self.write(stack.next_index);
        for &header in &stack.elements {
            for slot in walk::header_slots(pipeline, header) {
                self.read(slot);
                self.write(slot);
            }
        }
    }
}
