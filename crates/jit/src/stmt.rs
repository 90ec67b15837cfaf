//! Statements of controls, actions and parser states to blocks and variables.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use hopwright_ir::{Block, Expr, HeaderId, StackId, Stmt, StmtKind, Type};
use num_bigint::BigUint;

use crate::Unsupported;
use crate::function::Gen;
use crate::layout::{Home, Place};
use crate::residency::{Meeting, leaves};

type Result<T> = std::result::Result<T, Unsupported>;

/// Whether control goes on behind what was generated. If not, the current block is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flow {
    Next,
    Ended,
}

impl Gen<'_> {
    /// A whole control; goes on behind it.
    pub(crate) fn control(&mut self, body: &Block) -> Result<()> {
        if body.is_empty() {
            return Ok(());
        }
        if !leaves(self.p, body, None) {
            // Without `exit` there is one way to the end only.
            let outer = self.exit.take();
            let flow = self.block(body)?;
            self.exit = outer;
            if flow == Flow::Ended {
                // An endless loop: nothing gets behind it, but code must be somewhere.
                let end = self.b.create_block();
                self.enter(end);
            }
            return Ok(());
        }
        let end = self.meeting(&[body], true);
        let before = self.resident.clone();
        let outer = self.exit.replace(end.clone());
        if self.block(body)? == Flow::Next {
            self.jump_to(&end);
        }
        self.exit = outer;
        self.meet(&end, before);
        Ok(())
    }

    pub(crate) fn block(&mut self, body: &[Stmt]) -> Result<Flow> {
        for stmt in body {
            if self.statement(stmt)? == Flow::Ended {
                return Ok(Flow::Ended);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Flow> {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => match self.layout.places[slot.index()] {
                Place::HeaderVarbit(_) => {
                    return Err(Unsupported::new(stmt.span, "assigning a varbit header field"));
                }
                Place::Varbit => {
                    let (address, length) = self.varbit(value)?;
                    self.write_varbit(*slot, address, length);
                }
                _ if value.ty == Type::Bool => {
                    let v = self.cond(value)?;
                    self.write_bool(*slot, v);
                }
                _ => {
                    let v = self.value(value)?;
                    self.write(*slot, &v);
                }
            },
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                let width = self.p[*slot].ty.width();
                let new = self.value(value)?;
                let old = self.read(*slot);
                let hole = ((BigUint::from(1u32) << (hi - lo + 1)) - 1u32) << *lo;
                let ones = (BigUint::from(1u32) << width) - 1u32;
                let keep = self.constant(&(ones - hole), width);
                let new = self.wide_shl(&new, *lo, old.len());
                let mut out = Vec::new();
                for ((old, keep), new) in old.into_iter().zip(keep).zip(new) {
                    let kept = self.b.ins().band(old, keep);
                    out.push(self.b.ins().bor(kept, new));
                }
                self.write(*slot, &out);
            }
            StmtKind::SetValid(header) => self.set_valid(*header),
            StmtKind::SetInvalid(header) => self.set_validity(*header, false),
            StmtKind::CopyHeader { dst, src } => self.copy_header(*dst, *src),
            StmtKind::PushFront(stack, count) => self.push_front(*stack, *count),
            StmtKind::PopFront(stack, count) => self.pop_front(*stack, *count),
            StmtKind::If { cond, then, otherwise } => return self.branch(cond, then, otherwise),
            StmtKind::Switch { value, cases, default } => return self.switch(value, cases, default),
            StmtKind::Scope { label, body } => {
                if !leaves(self.p, body, Some(*label)) {
                    return self.block(body);
                }
                let end = self.meeting(&[body], true);
                let before = self.resident.clone();
                self.scopes.push((*label, end.clone()));
                if self.block(body)? == Flow::Next {
                    self.jump_to(&end);
                }
                self.scopes.pop();
                self.meet(&end, before);
            }
            StmtKind::Leave(label) => {
                let Some((_, end)) = self.scopes.iter().rev().find(|s| s.0 == *label).cloned() else {
                    return Err(Unsupported::new(stmt.span, "leaving a scope that is not around"));
                };
                self.jump_to(&end);
                return Ok(Flow::Ended);
            }
            StmtKind::Loop(body) => {
                let top = self.meeting(&[body], true);
                self.jump_to(&top);
                for &slot in &top.loaded {
                    self.resident[slot.index()] = false;
                }
                self.b.switch_to_block(top.block);
                self.step();
                if self.block(body)? == Flow::Next {
                    self.jump_to(&top);
                }
                self.b.seal_block(top.block);
                return Ok(Flow::Ended);
            }
            StmtKind::Apply { table, hit, action_run } => {
                return self.apply(*table, *hit, *action_run, stmt.span);
            }
            StmtKind::Extern(call) => self.extern_call(call)?,
            StmtKind::Exit => {
                let Some(exit) = self.exit.clone() else {
                    return Err(Unsupported::new(stmt.span, "`exit` in a parser"));
                };
                self.jump_to(&exit);
                return Ok(Flow::Ended);
            }
            StmtKind::Extract { .. }
            | StmtKind::ExtractNext { .. }
            | StmtKind::Advance(_)
            | StmtKind::Lookahead { .. }
            | StmtKind::Verify(..) => return self.parser_statement(stmt),
            StmtKind::Emit(header) => self.emit(*header, stmt.span)?,
        }
        Ok(Flow::Next)
    }

    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: &Block) -> Result<Flow> {
        let c = self.cond(cond)?;
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(c, yes, &[], no, &[]);
        let end = self.meeting(&[then, otherwise], false);
        let before = self.resident.clone();
        let mut reached = false;
        for (block, body) in [(yes, then), (no, otherwise)] {
            self.enter(block);
            self.resident.clone_from(&before);
            if self.block(body)? == Flow::Next {
                self.jump_to(&end);
                reached = true;
            }
        }
        Ok(self.finish(&end, before, reached))
    }

    /// Goes on where ways meet, if any way gets there.
    pub(crate) fn finish(&mut self, end: &Meeting, before: Vec<bool>, reached: bool) -> Flow {
        if !reached {
            return Flow::Ended;
        }
        self.meet(end, before);
        Flow::Next
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<BigUint>, Block)], default: &Block) -> Result<Flow> {
        let width = value.ty.width();
        let v = self.value(value)?;
        let bodies: Vec<&Block> = cases.iter().map(|c| &c.1).chain([default]).collect();
        let end = self.meeting(&bodies, false);
        let before = self.resident.clone();
        let mut reached = false;
        for (values, body) in cases {
            let (taken, next) = (self.b.create_block(), self.b.create_block());
            for (i, case) in values.iter().enumerate() {
                let same = self.equals(&v, case, width);
                let other = if i + 1 == values.len() { next } else { self.b.create_block() };
                self.b.ins().brif(same, taken, &[], other, &[]);
                if other != next {
                    self.enter(other);
                }
            }
            if values.is_empty() {
                self.b.ins().jump(next, &[]);
            }
            self.enter(taken);
            if self.block(body)? == Flow::Next {
                self.jump_to(&end);
                reached = true;
            }
            self.enter(next);
            self.resident.clone_from(&before);
        }
        if self.block(default)? == Flow::Next {
            self.jump_to(&end);
            reached = true;
        }
        Ok(self.finish(&end, before, reached))
    }

    /// A value is a constant, as I8.
    pub(crate) fn equals(
        &mut self,
        v: &[cranelift_codegen::ir::Value],
        constant: &BigUint,
        width: u32,
    ) -> cranelift_codegen::ir::Value {
        if let ([v], Ok(c)) = (v, u64::try_from(constant)) {
            return self.b.ins().icmp_imm_u(IntCC::Equal, *v, c as i64);
        }
        let c = self.constant(constant, width);
        self.wide_eq(v, &c)
    }

    fn set_valid(&mut self, header: HeaderId) {
        let valid = self.read_bool(self.p[header].valid);
        self.zero_unless(valid, header);
        for field in &self.p[header].fields {
            let slot = field.slot;
            if self.in_bytes(slot).is_some() || !matches!(self.layout.places[slot.index()], Place::Field(..)) {
                continue;
            }
            if self.p[slot].ty == Type::Bool {
                let (old, no) = (self.read_bool(slot), self.b.ins().iconst(types::I8, 0));
                let new = self.b.ins().select(valid, old, no);
                self.write_bool(slot, new);
            } else {
                let (old, zero) = (self.read(slot), self.c64(0));
                let new: Vec<_> = old.iter().map(|&v| self.b.ins().select(valid, v, zero)).collect();
                self.write(slot, &new);
            }
        }
        self.set_validity(header, true);
    }

    fn copy_header(&mut self, dst: HeaderId, src: HeaderId) {
        self.share_bytes(dst, src);
        for (to, from) in self.p[dst].fields.iter().zip(&self.p[src].fields) {
            let (to, from) = (to.slot, from.slot);
            if self.layout.home(to) == Home::Bytes {
                continue;
            }
            // Both now share their bytes, in which a change of one must not show in the other.
            self.bring_in(from);
            let v = self.read(from);
            self.write(to, &v);
        }
        let valid = self.read_bool(self.p[src].valid);
        self.write_bool(self.p[dst].valid, valid);
    }

    fn push_front(&mut self, id: StackId, count: u32) {
        let stack = &self.p[id];
        let (size, count) = (stack.elements.len(), count as usize);
        for i in (0..size).rev() {
            match i.checked_sub(count) {
                Some(from) => self.copy_header(stack.elements[i], stack.elements[from]),
                None => self.set_validity(stack.elements[i], false),
            }
        }
        let next = self.read(stack.next_index)[0];
        let next = self.b.ins().iadd_imm_s(next, count as i64);
        let most = self.c64(size as u64);
        let next = self.b.ins().umin(next, most);
        self.write(stack.next_index, &[next]);
    }

    fn pop_front(&mut self, id: StackId, count: u32) {
        let stack = &self.p[id];
        let count = count as usize;
        for i in 0..stack.elements.len() {
            match stack.elements.get(i + count) {
                Some(&from) => self.copy_header(stack.elements[i], from),
                None => self.set_validity(stack.elements[i], false),
            }
        }
        let next = self.read(stack.next_index)[0];
        let least = self.c64(count as u64);
        let next = self.b.ins().umax(next, least);
        let next = self.b.ins().iadd_imm_s(next, -(count as i64));
        self.write(stack.next_index, &[next]);
    }
}
