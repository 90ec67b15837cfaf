//! Parser counters: eight bits that wrap, and are negative from 128 on.

use hopwright_ir::{BinaryOp, Expr, ExprKind, SlotKind, StmtKind, Type};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_traits::ToPrimitive;

use crate::externs::Arguments;
use crate::two_passes::slice;
use crate::value::{Value, binary};
use crate::{Lowering, Reported, Result};

/// The type of a parser counter.
const COUNTER: Type = Type::Bits(8);

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
                binary(op, now, by, COUNTER, span)
            }
            "set" if call.args.len() == 1 => {
                let value = self.scalar(args.at(0)?)?;
                let bits = Type::Bits(value.ty.width());
                let value = self.cast(value, bits, span)?;
                self.cast(value, COUNTER, span)?
            }
            "set" => self.counter_of_field(&args, span)?,
            _ => return Err(self.unsupported(span, format!("the method `{name}`"))),
        };
        self.emit(StmtKind::Assign(counter, value), span);
        Ok(None)
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
        if let Some(error) = self.program.errors.iter().position(|e| e == "CounterRange") {
            let fits = binary(BinaryOp::Le, field.clone(), number(most), Type::Bool, span);
            self.emit(StmtKind::Verify(fits, Expr::constant(error, Type::Bits(16), span)), span);
        }
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
