//! Statements that do not branch, and `switch`.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::IntCC;
use hopwright_ir::{Block, Expr, ExprKind, HeaderId, StackId, Stmt, StmtKind, Type};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::layout::Place;
use crate::emit::point::{Point, PointId, sub};

type Result<T> = std::result::Result<T, Unsupported>;

impl<'a> Emitter<'a> {
    /// Emits a statement that does not branch.
    pub(crate) fn statement(&mut self, stmt: &'a Stmt) -> Result<()> {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => match self.layout.places[slot.index()] {
                Place::HeaderVarbit(_) | Place::Varbit => self.assign_varbit(*slot, value)?,
                _ if value.ty == Type::Bool => {
                    let v = self.cond(value)?;
                    let known = self.known(value);
                    self.write_bool(*slot, v);
                    if let Some(known) = known {
                        self.flow.set(*slot, known);
                    }
                }
                _ => {
                    let v = self.value(value)?;
                    let known = self.known(value);
                    self.write(*slot, &v);
                    if let Some(known) = known {
                        self.flow.set(*slot, known);
                    }
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
            StmtKind::Extern(call) => self.extern_call(call)?,
            StmtKind::Emit(header) => self.emit(*header, stmt),
            _ => self.parser_statement(stmt)?,
        }
        Ok(())
    }

    pub(crate) fn switch(
        &mut self,
        value: &'a Expr,
        cases: &'a [(Vec<BigUint>, Block)],
        default: &'a Block,
        point_id: &PointId,
        then: &Point<'a>,
    ) -> Result<()> {
        let width = value.ty.width();
        let known = self.known(value);
        let v = self.value(value)?;
        let context = self.context.clone();
        let otherwise = Point::stmts(sub(point_id, cases.len() + 1), default, then, &context);
        for (k, (values, body)) in cases.iter().enumerate() {
            let point = Point::stmts(sub(point_id, k + 1), body, then, &context);
            for case in values {
                if let Some(known) = known {
                    if case.to_u64() == Some(known) {
                        self.go(&point);
                        return Ok(());
                    }
                    continue;
                }
                let same = self.equals(&v, case, width);
                let before = self.flow.clone();
                if let ExprKind::Slot(slot) = value.kind {
                    self.assume_value(slot, value.ty, case.to_u64(), true);
                }
                let taken = self.edge(&point);
                self.flow = before;
                let other = self.b.create_block();
                self.b.ins().brif(same, taken, &[], other, &[]);
                self.enter(other);
            }
        }
        self.go(&otherwise);
        Ok(())
    }

    /// Whether a value equals a constant, as I8.
    pub(crate) fn equals(&mut self, v: &[Value], constant: &BigUint, width: u32) -> Value {
        if let ([v], Ok(c)) = (v, u64::try_from(constant)) {
            return self.b.ins().icmp_imm_u(IntCC::Equal, *v, c as i64);
        }
        let c = self.constant(constant, width);
        self.wide_eq(v, &c)
    }

    fn set_valid(&mut self, header: HeaderId) {
        if self.known_valid(header) != Some(true) {
            self.zero_unless_valid(header);
            self.set_validity(header, true);
        }
    }

    fn copy_header(&mut self, dst: HeaderId, src: HeaderId) {
        if dst == src {
            return;
        }
        self.copy_bytes(dst, src);
        match self.known_valid(src) {
            Some(valid) => self.set_validity(dst, valid),
            None => {
                let valid = self.is_valid(src);
                self.write_validity(dst, valid);
            }
        }
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
        let known = self.flow.value(stack.next_index);
        let next = self.read(stack.next_index)[0];
        let next = self.b.ins().iadd_imm_s(next, count as i64);
        let most = self.c64(size as u64);
        let next = self.b.ins().umin(next, most);
        self.write(stack.next_index, &[next]);
        if let Some(next) = known {
            self.flow.set(stack.next_index, (next + count as u64).min(size as u64));
        }
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
