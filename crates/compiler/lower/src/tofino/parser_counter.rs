//! Parser counters: eight bits that wrap, and are negative from 128 on. Those of Tofino 2 are stacks: the top counts, and what is below counts with it
//! if it was pushed so.

use hopwright_ir::{BinaryOp, Expr, ExprKind, SlotId, SlotKind, StmtKind, Type};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_traits::ToPrimitive;

use crate::externs::Arguments;
use crate::value::{Value, binary, mux, slice};
use crate::{Lowering, Reported, Result};

/// The type of a parser counter.
const COUNTER: Type = Type::Bits(8);
/// How many counters of a Tofino 2 lie below the one that counts.
const BELOW: usize = 4;

/// The counters below the one that counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterStack {
    /// How many there are.
    depth: SlotId,
    values: [SlotId; BELOW],
    /// Which of them count with the top.
    with_top: [SlotId; BELOW],
}

impl Lowering<'_> {
    /// Lowers a method of a `ParserCounter`.
    pub(super) fn parser_counter(
        &mut self,
        object: hir::ObjectId,
        name: &str,
        call: &hir::Call,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let counter = self.state_of(object, COUNTER, span);
        let now = self.slot_expr(counter, span);
        let args = Arguments::new(self, call)?;
        let value = match name {
            "is_zero" => return Ok(Some(Value::Scalar(self.is(counter, 0, span)))),
            "is_negative" => {
                let least = Expr::constant(1u32 << 7, COUNTER, span);
                return Ok(Some(Value::Scalar(binary(BinaryOp::Ge, now, least, Type::Bool, span))));
            }
            "increment" | "decrement" => {
                let by = self.scalar(args.at(0)?)?;
                let by = self.cast(by, COUNTER, span)?;
                let op = if name == "increment" { BinaryOp::Add } else { BinaryOp::Sub };
                if self.is_pushed(object) {
                    let by = self.freeze(by.clone());
                    self.count_below(object, op, &by, span);
                }
                binary(op, now, by, COUNTER, span)
            }
            "set" | "push" => {
                let of_field = call.args.len() > 2;
                let value = match of_field {
                    true => self.counter_of_field(&args, span)?,
                    false => {
                        let value = self.scalar(args.at(0)?)?;
                        let bits = Type::Bits(value.ty.width());
                        let value = self.cast(value, bits, span)?;
                        self.cast(value, COUNTER, span)?
                    }
                };
                if name == "push" {
                    let with_top = call.args.get(if of_field { 5 } else { 1 }).and_then(|a| a.value.as_ref());
                    let with_top = with_top.map(|e| self.scalar(e)).transpose()?;
                    self.push_counter(object, counter, with_top.unwrap_or(Expr::boolean(false, span)), span);
                }
                value
            }
            "pop" => {
                self.pop_counter(object, counter, span);
                return Ok(None);
            }
            _ => return Err(self.unsupported(span, format!("the method `{name}`"))),
        };
        self.emit(StmtKind::Assign(counter, value), span);
        Ok(None)
    }

    /// Whether the program pushes something on the stack of a counter.
    fn is_pushed(&self, object: hir::ObjectId) -> bool {
        let states = self.program.instances.iter().flat_map(|instance| match &instance.body {
            hir::InstanceBody::Parser(states) => states.as_slice(),
            hir::InstanceBody::Control(_) => &[],
        });
        states.flat_map(|state| &state.body).any(|stmt| pushes(stmt, object))
    }

    /// What is below a counter.
    fn stack_of_counter(&mut self, object: hir::ObjectId, span: Span) -> CounterStack {
        if let Some(known) = self.requests.as_ref().and_then(|r| r.counter_stacks.get(&object)) {
            return *known;
        }
        let name = self.program[object].name.clone();
        let mut slot = |what: &str, ty| self.new_slot(&format!("{name}.{what}"), ty, SlotKind::Local, span);
        let stack = CounterStack {
            depth: slot("$depth", COUNTER),
            values: std::array::from_fn(|at| slot(&format!("$below{at}"), COUNTER)),
            with_top: std::array::from_fn(|at| slot(&format!("$with_top{at}"), Type::Bool)),
        };
        if let Some(requests) = &mut self.requests {
            requests.counter_stacks.insert(object, stack);
        }
        stack
    }

    fn push_counter(&mut self, object: hir::ObjectId, counter: SlotId, with_top: Expr, span: Span) {
        let stack = self.stack_of_counter(object, span);
        let depth = self.slot_expr(stack.depth, span);
        let most = Expr::constant(BELOW as u32, COUNTER, span);
        self.verify_counter(binary(BinaryOp::Lt, depth.clone(), most, Type::Bool, span), span);
        for at in 0..BELOW {
            let is = self.is(stack.depth, at as u32, span);
            let (value, old) = (self.slot_expr(counter, span), self.slot_expr(stack.values[at], span));
            self.emit(StmtKind::Assign(stack.values[at], mux(is.clone(), value, old, span)), span);
            let old = self.slot_expr(stack.with_top[at], span);
            self.emit(StmtKind::Assign(stack.with_top[at], mux(is, with_top.clone(), old, span)), span);
        }
        let more = binary(BinaryOp::Add, depth, Expr::constant(1u32, COUNTER, span), COUNTER, span);
        self.emit(StmtKind::Assign(stack.depth, more), span);
    }

    fn pop_counter(&mut self, object: hir::ObjectId, counter: SlotId, span: Span) {
        let stack = self.stack_of_counter(object, span);
        let depth = self.slot_expr(stack.depth, span);
        let none = Expr::constant(0u32, COUNTER, span);
        self.verify_counter(binary(BinaryOp::Gt, depth.clone(), none, Type::Bool, span), span);
        for at in 0..BELOW {
            let is = self.is(stack.depth, at as u32 + 1, span);
            let (value, old) = (self.slot_expr(stack.values[at], span), self.slot_expr(counter, span));
            self.emit(StmtKind::Assign(counter, mux(is, value, old, span)), span);
        }
        let less = binary(BinaryOp::Sub, depth, Expr::constant(1u32, COUNTER, span), COUNTER, span);
        self.emit(StmtKind::Assign(stack.depth, less), span);
    }

    /// Adds to what is below a counter, or subtracts, where it counts with the top.
    fn count_below(&mut self, object: hir::ObjectId, op: BinaryOp, by: &Expr, span: Span) {
        let stack = self.stack_of_counter(object, span);
        for at in 0..BELOW {
            let depth = self.slot_expr(stack.depth, span);
            let used = binary(BinaryOp::Gt, depth, Expr::constant(at as u32, COUNTER, span), Type::Bool, span);
            let with_top = self.slot_expr(stack.with_top[at], span);
            let counts = binary(BinaryOp::LogicalAnd, used, with_top, Type::Bool, span);
            let old = self.slot_expr(stack.values[at], span);
            let new = binary(op, old.clone(), by.clone(), COUNTER, span);
            self.emit(StmtKind::Assign(stack.values[at], mux(counts, new, old, span)), span);
        }
    }

    fn verify_counter(&mut self, holds: Expr, span: Span) {
        if let Some(error) = self.program.errors.iter().position(|e| e == "CounterRange") {
            self.emit(StmtKind::Verify(holds, Expr::constant(error, Type::Bits(16), span)), span);
        }
    }

    /// `set` of a field: the greatest value it may have, by how many bits it is rotated to the right, a mask, and what is added.
    fn counter_of_field(&mut self, args: &Arguments<'_>, span: Span) -> Result<Expr> {
        let field = self.scalar(args.at(0)?)?;
        let field = self.in_its_byte(field, span)?;
        let [most, rotate, mask, add] = [1, 2, 3, 4].map(|at| {
            let number = args.at(at).and_then(|e| self.constant(e))?;
            number.to_u32().ok_or(Reported)
        });
        let (most, rotate, mask, add) = (most?, rotate? % 8, mask?, add?);
        let number = |n: u32| Expr::constant(n, COUNTER, span);
        self.verify_counter(binary(BinaryOp::Le, field.clone(), number(most), Type::Bool, span), span);
        let rotated = if rotate == 0 {
            field
        } else {
            let high = slice(field.clone(), rotate - 1, span);
            let kind = ExprKind::Slice { arg: Box::new(field), hi: 7, lo: rotate };
            let low = Expr { kind, ty: Type::Bits(8 - rotate), span };
            binary(BinaryOp::Concat, high, low, COUNTER, span)
        };
        // Tofino's mask is a number of bits less one.
        let mask = if self.is_tofino2() { mask } else { (2u32 << mask.min(7)) - 1 };
        let masked = binary(BinaryOp::And, rotated, number(mask), COUNTER, span);
        Ok(binary(BinaryOp::Add, masked, number(add), COUNTER, span))
    }

    /// A field at its place in its byte of the packet, with zeros around it: the device rotates bytes.
    fn in_its_byte(&mut self, field: Expr, span: Span) -> Result<Expr> {
        let (slot, above) = match &field.kind {
            ExprKind::Slot(slot) => (Some(*slot), 0),
            ExprKind::Slice { arg, lo, .. } => match arg.kind {
                ExprKind::Slot(slot) => (Some(slot), *lo),
                _ => (None, 0),
            },
            _ => (None, 0),
        };
        let below = slot.and_then(|slot| match self.slots[slot.index()].kind {
            SlotKind::Field(header, at) => {
                let field = &self.headers[header.index()].fields[at as usize];
                Some((8 - (field.offset_bits + field.width - above) % 8) % 8)
            }
            _ => None,
        });
        let width = field.ty.width();
        let field = self.cast(field, Type::Bits(width), span)?;
        match below {
            Some(below) if below > 0 && width + below <= 8 => {
                let zeros = Expr::constant(0u32, Type::Bits(below), span);
                let placed = binary(BinaryOp::Concat, field, zeros, Type::Bits(width + below), span);
                self.cast(placed, COUNTER, span)
            }
            _ => self.cast(field, COUNTER, span),
        }
    }
}

/// Whether a statement pushes something on the stack of a counter.
fn pushes(stmt: &hir::Stmt, object: hir::ObjectId) -> bool {
    match &stmt.kind {
        hir::StmtKind::Call(call) => {
            matches!(&call.callee, hir::Callee::Method(id, name) if *id == object && name == "push")
        }
        hir::StmtKind::If(_, then, otherwise) => then.iter().chain(otherwise).any(|stmt| pushes(stmt, object)),
        hir::StmtKind::Block(body) => body.iter().any(|stmt| pushes(stmt, object)),
        _ => false,
    }
}
