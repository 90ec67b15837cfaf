//! Statements of controls, actions and parser states to blocks and variables.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block as ClifBlock, InstBuilder};
use hopwright_ir::walk;
use hopwright_ir::{BinaryOp, Block, Expr, ExprKind, HeaderId, Pipeline, StackId, Stmt, StmtKind, Type, UnaryOp};
use num_bigint::BigUint;

use crate::Unsupported;
use crate::function::Gen;
use crate::layout::Place;

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
        let end = self.b.create_block();
        let before = self.writable.clone();
        let outer = self.exit.replace(end);
        if self.block(body)? == Flow::Next {
            self.b.ins().jump(end, &[]);
        }
        self.exit = outer;
        self.meet(end, before);
        Ok(())
    }

    /// Goes on where ways meet. What was known of headers where they parted is still so.
    pub(crate) fn meet(&mut self, end: ClifBlock, before: Vec<bool>) {
        self.enter(end);
        self.writable = before;
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
        self.at(stmt.span);
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
                let end = self.b.create_block();
                let before = self.writable.clone();
                self.scopes.push((*label, end));
                if self.block(body)? == Flow::Next {
                    self.b.ins().jump(end, &[]);
                }
                self.scopes.pop();
                self.meet(end, before);
            }
            StmtKind::Leave(label) => {
                let Some(&(_, end)) = self.scopes.iter().rev().find(|s| s.0 == *label) else {
                    return Err(Unsupported::new(stmt.span, "leaving a scope that is not around"));
                };
                self.b.ins().jump(end, &[]);
                return Ok(Flow::Ended);
            }
            StmtKind::Loop(body) => {
                let top = self.b.create_block();
                self.b.ins().jump(top, &[]);
                self.b.switch_to_block(top);
                self.step();
                if self.block(body)? == Flow::Next {
                    self.b.ins().jump(top, &[]);
                }
                self.b.seal_block(top);
                return Ok(Flow::Ended);
            }
            StmtKind::Apply { table, hit, action_run } => {
                return self.apply(*table, *hit, *action_run, stmt.span);
            }
            StmtKind::Extern(call) => self.extern_call(call)?,
            StmtKind::Exit => {
                let Some(exit) = self.exit else {
                    return Err(Unsupported::new(stmt.span, "`exit` in a parser"));
                };
                self.b.ins().jump(exit, &[]);
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
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.branch_on(cond, yes, no)?;
        let end = self.b.create_block();
        let before = self.writable.clone();
        let mut reached = false;
        for (block, body) in [(yes, then), (no, otherwise)] {
            self.enter(block);
            self.writable.clone_from(&before);
            if self.block(body)? == Flow::Next {
                self.b.ins().jump(end, &[]);
                reached = true;
            }
        }
        Ok(self.finish(end, before, reached))
    }

    /// Branches to one of two blocks, over the parts of a condition one by one.
    pub(crate) fn branch_on(&mut self, cond: &Expr, yes: ClifBlock, no: ClifBlock) -> Result<()> {
        match &cond.kind {
            ExprKind::Unary(UnaryOp::Not, a) => self.branch_on(a, no, yes),
            ExprKind::Binary(BinaryOp::LogicalAnd, a, b) => {
                let second = self.b.create_block();
                self.branch_on(a, second, no)?;
                self.enter(second);
                self.branch_on(b, yes, no)
            }
            ExprKind::Binary(BinaryOp::LogicalOr, a, b) => {
                let second = self.b.create_block();
                self.branch_on(a, yes, second)?;
                self.enter(second);
                self.branch_on(b, yes, no)
            }
            _ => {
                let c = self.cond(cond)?;
                self.b.ins().brif(c, yes, &[], no, &[]);
                Ok(())
            }
        }
    }

    /// Goes on where ways meet, if any way gets there.
    pub(crate) fn finish(&mut self, end: ClifBlock, before: Vec<bool>, reached: bool) -> Flow {
        if !reached {
            return Flow::Ended;
        }
        self.meet(end, before);
        Flow::Next
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<BigUint>, Block)], default: &Block) -> Result<Flow> {
        let width = value.ty.width();
        let v = self.value(value)?;
        let end = self.b.create_block();
        let before = self.writable.clone();
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
                self.b.ins().jump(end, &[]);
                reached = true;
            }
            self.enter(next);
            self.writable.clone_from(&before);
        }
        if self.block(default)? == Flow::Next {
            self.b.ins().jump(end, &[]);
            reached = true;
        }
        Ok(self.finish(end, before, reached))
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
        let valid = self.is_valid(header);
        self.zero_unless(valid, header);
        self.set_validity(header, true);
    }

    fn copy_header(&mut self, dst: HeaderId, src: HeaderId) {
        if dst == src {
            return;
        }
        self.copy_bytes(dst, src);
        let valid = self.is_valid(src);
        self.write_validity(dst, valid);
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

/// True if a statement leaves the scope of this label, or with `None` the whole control.
fn leaves(p: &Pipeline, body: &Block, label: Option<u32>) -> bool {
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
