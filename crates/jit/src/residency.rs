//! Which written header fields are still in their bytes at a point of the program.
//!
//! A field that is written after the parser stays in its header's bytes until it is first written on the way that the
//! packet takes. Where ways meet, a field that some way may have written must be in its variable on all of them: every
//! jump to such a place loads it if it has to ([`Gen::jump_to`]). So a way that leaves a header alone loads nothing of
//! it, and at the end only fields in variables are stored.

use std::collections::BTreeSet;

use cranelift_codegen::ir::{Block, InstBuilder};
use hopwright_ir::passes::walk;
use hopwright_ir::{Block as Body, ExternArg, HeaderId, Pipeline, SlotId, Stmt, StmtKind};

use crate::function::Gen;
use crate::layout::{Home, Layout, Place};

/// Slots.
pub(crate) type Slots = BTreeSet<SlotId>;

/// A place where ways meet.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub block: Block,
    /// Fields that are in their variables there.
    pub loaded: Slots,
}

/// What statements may write.
struct Writes<'a> {
    p: &'a Pipeline,
    layout: &'a Layout,
}

impl Writes<'_> {
    fn slot(&self, slot: SlotId, to: &mut Slots) {
        if let Place::Field(h, f) = self.layout.places[slot.index()]
            && self.layout.header(h).homes[f as usize] == Home::BytesThenVariable
        {
            to.insert(slot);
        }
    }

    fn header(&self, header: HeaderId, to: &mut Slots) {
        for field in &self.p[header].fields {
            self.slot(field.slot, to);
        }
    }

    /// Adds what may have been written when the statements have run to their end; with `any_way` also on ways that
    /// leave before. False if none runs to the end.
    fn block(&self, body: &[Stmt], any_way: bool, to: &mut Slots) -> bool {
        let mut here = Slots::new();
        let mut runs = true;
        for stmt in body {
            if !self.statement(stmt, any_way, &mut here) {
                runs = false;
                break;
            }
        }
        if runs || any_way {
            to.append(&mut here);
        }
        runs
    }

    fn statement(&self, stmt: &Stmt, any_way: bool, to: &mut Slots) -> bool {
        match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => self.slot(*slot, to),
            StmtKind::CopyHeader { dst, src } => {
                self.header(*dst, to);
                self.header(*src, to);
            }
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                for &header in &self.p[*stack].elements {
                    self.header(header, to);
                }
            }
            StmtKind::If { then, otherwise, .. } => {
                let a = self.block(then, any_way, to);
                let b = self.block(otherwise, any_way, to);
                return a || b;
            }
            StmtKind::Switch { cases, default, .. } => {
                let mut runs = self.block(default, any_way, to);
                for (_, body) in cases {
                    runs |= self.block(body, any_way, to);
                }
                return runs;
            }
            StmtKind::Scope { body, .. } => {
                self.block(body, true, to);
            }
            StmtKind::Loop(body) => {
                self.block(body, true, to);
                return false;
            }
            StmtKind::Leave(_) | StmtKind::Exit => return false,
            StmtKind::Apply { table, hit, action_run } => {
                hit.iter().chain(action_run).for_each(|&s| self.slot(s, to));
                let table = &self.p[*table];
                let default = table.default_action.action;
                let mut runs = false;
                for action in table.actions.iter().map(|a| a.action).chain([default]) {
                    runs |= self.block(&self.p[action].body, any_way, to);
                }
                return runs;
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        self.slot(*slot, to);
                    }
                }
            }
            _ => {}
        }
        true
    }
}

/// True if a statement leaves the scope of this label, or with `None` the whole control.
pub(crate) fn leaves(p: &Pipeline, body: &Body, label: Option<u32>) -> bool {
    let mut found = false;
    walk::stmts(body, &mut |s| match &s.kind {
        StmtKind::Leave(l) => found |= label == Some(*l),
        StmtKind::Exit => found |= label.is_none(),
        StmtKind::Apply { table, .. } if label.is_none() => {
            found |= p[*table].actions.iter().any(|a| leaves(p, &p[a.action].body, None));
            found |= leaves(p, &p[p[*table].default_action.action].body, None);
        }
        _ => {}
    });
    found
}

impl Gen<'_> {
    /// A new place to meet behind statements: with `any_way` not only for ways that run to their end.
    pub(crate) fn meeting(&mut self, bodies: &[&Body], any_way: bool) -> Meeting {
        let mut loaded = Slots::new();
        if !self.parsing {
            let writes = Writes { p: self.p, layout: self.layout };
            for body in bodies {
                writes.block(body, any_way, &mut loaded);
            }
        }
        Meeting { block: self.b.create_block(), loaded }
    }

    /// The field's value is in its variable from here on.
    pub(crate) fn bring_in(&mut self, slot: SlotId) {
        if let Some((h, f)) = self.in_bytes(slot) {
            let v = self.field_in_bytes(h, f, None);
            self.write(slot, &v);
        }
    }

    /// Jumps to a place where ways meet.
    pub(crate) fn jump_to(&mut self, meeting: &Meeting) {
        for &slot in &meeting.loaded {
            self.bring_in(slot);
        }
        self.b.ins().jump(meeting.block, &[]);
    }

    /// Goes on where ways meet, all of them being generated. `before`: which fields were in their bytes where the
    /// ways parted.
    pub(crate) fn meet(&mut self, meeting: &Meeting, before: Vec<bool>) {
        self.resident = before;
        for &slot in &meeting.loaded {
            self.resident[slot.index()] = false;
        }
        self.enter(meeting.block);
    }
}
