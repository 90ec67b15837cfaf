//! Registers, and the actions that read, change and write their cells.

use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternArg, ExternFn, ExternId, SlotId, StmtKind, Type};
use hopwright_sema::hir;
use hopwright_source::Span;

use super::externs::object_of;
use crate::externs::Arguments;
use crate::storage::{Loc, Place, Purpose};
use crate::value::{Value, binary};
use crate::{Binding, Lowering, Reported, Result};

impl Lowering<'_> {
    /// `read` of a direct register.
    pub(super) fn direct_register_value(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let index = self.entry_index(object, span)?;
        let slot = self.cell_slot(object, span)?;
        let args = vec![ExternArg::Out(slot), ExternArg::In(index)];
        self.extern_call(ExternFn::RegisterRead(ExternId(object.0)), args, span);
        self.cell_value(slot, ty, span)
    }

    pub(super) fn write_direct_register(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let args = Arguments::new(self, call)?;
        let value = self.value(args.at(0)?)?;
        let whole = self.joined(&value, span)?;
        let index = self.entry_index(object, span)?;
        let args = vec![ExternArg::In(index), ExternArg::In(whole)];
        self.extern_call(ExternFn::RegisterWrite(ExternId(object.0)), args, span);
        Ok(None)
    }

    /// Reads a cell, runs the program's method on it, and writes it back. Results follow `inputs` arguments of the call.
    pub(super) fn register_action(
        &mut self,
        object: hir::ObjectId,
        mut args: Arguments<'_>,
        index: Expr,
        inputs: usize,
    ) -> Result<Option<Value>> {
        let (call, span) = (args.call, args.call.span);
        let register = self.register_of(object)?;
        let mut targets = Vec::new();
        for at in inputs..call.args.len() {
            targets.push(match args.at(at) {
                Ok(_) => Some(args.target(self, at)?.0),
                Err(_) => None,
            });
        }
        let slot = self.cell_slot(register, span)?;
        let read = vec![ExternArg::Out(slot), ExternArg::In(index.clone())];
        self.extern_call(ExternFn::RegisterRead(ExternId(register.0)), read, span);
        let (value, results) = self.run_on_cell(object, "apply", slot, span)?;
        let write = vec![ExternArg::In(index), ExternArg::In(value)];
        self.extern_call(ExternFn::RegisterWrite(ExternId(register.0)), write, span);
        // Further results are out arguments of the call.
        for (at, (place, target)) in results.iter().skip(1).zip(targets).enumerate() {
            if let Some(target) = target {
                args.copy_later(inputs + at, target, Value::Loc(Loc::Place(place.clone())));
            }
        }
        args.copy_out(self, span)?;
        match results.first() {
            Some(place) => Ok(Some(Value::Loc(Loc::Place(place.clone())))),
            None => Ok(self.result_type(object).map(|ty| Value::Scalar(self.zero_expr(ty, span)))),
        }
    }

    pub(super) fn register_of(&self, object: hir::ObjectId) -> Result<hir::ObjectId> {
        self.program[object].args.first().and_then(object_of).ok_or(Reported)
    }

    /// The type of a register action's first result, if that is a scalar.
    pub(super) fn result_type(&self, object: hir::ObjectId) -> Option<Type> {
        self.program[object].type_args.last().and_then(|ty| self.scalar_type(ty))
    }

    /// Runs a method of a register action on a cell that has been read; returns the new cell and the places of results.
    pub(super) fn run_on_cell(
        &mut self,
        object: hir::ObjectId,
        method: &str,
        slot: SlotId,
        span: Span,
    ) -> Result<(Expr, Vec<Place>)> {
        let program = self.program;
        let cell = self.slots[slot.index()].ty;
        let function = program[object].methods.iter().find(|(name, _)| name == method).ok_or(Reported)?.1;
        // The method's parameters: the value, and results.
        let params = &program[function].params;
        let mut places = Vec::new();
        let scope = format!("{}.{}", self.scope, program[object].name.rsplit('.').next().unwrap_or_default());
        for (at, param) in params.iter().enumerate() {
            let var = &program[param.var];
            let place = match at {
                0 if self.scalar_type(&var.ty) == Some(cell) => Place::Scalar(slot),
                _ => self.alloc(&var.ty, &format!("{scope}.{}", var.name), Purpose::Local, var.span)?,
            };
            match place {
                Place::Scalar(own) if own == slot => {}
                _ if at == 0 => {
                    let value = self.part_of_cell(&var.ty, slot, span)?;
                    self.store_loc(&Loc::Place(place.clone()), value, span)?;
                }
                _ => self.zero(&place, span)?,
            }
            self.env.insert(param.var, Binding::Loc(Loc::Place(place.clone())));
            places.push(place);
        }
        self.check_size(span)?;
        let outer = std::mem::replace(&mut self.scope, scope);
        let cached = std::mem::replace(&mut self.cached, false);
        let done = self.body(&program[function].body, Vec::new(), None, span);
        self.cached = cached;
        self.scope = outer;
        done?;
        if places.is_empty() {
            return Err(Reported);
        }
        let results = places.split_off(1);
        let value = match &places[0] {
            Place::Scalar(own) if *own == slot => self.slot_expr(slot, span),
            place => {
                let part = self.joined(&Value::Loc(Loc::Place(place.clone())), span)?;
                self.cell_with(slot, part, span)?
            }
        };
        Ok((value, results))
    }

    /// The lowest bits of a cell as a value of a type; zeros are above those of a narrower cell.
    fn part_of_cell(&mut self, ty: &hir::Type, slot: SlotId, span: Span) -> Result<Value> {
        let Some(width) = self.cell_type(ty).map(Type::width) else {
            return Err(self.unsupported(span, "a register action on values of this type"));
        };
        let bits = self.cell_bits(slot, span)?;
        let part = self.cast(bits, Type::Bits(width), span)?;
        let own = self.temp(Type::Bits(width), span);
        self.emit(StmtKind::Assign(own, part), span);
        let mut end = width;
        self.parted(ty, own, &mut end, span)
    }

    /// A cell whose lowest bits are replaced. A part that is wider than the cell is cut off.
    fn cell_with(&mut self, slot: SlotId, part: Expr, span: Span) -> Result<Expr> {
        let cell = self.slots[slot.index()].ty;
        let (width, replaced) = (cell.width(), part.ty.width());
        let whole = match width.checked_sub(replaced) {
            None | Some(0) => part,
            Some(kept) => {
                let arg = Box::new(self.cell_bits(slot, span)?);
                let high = ExprKind::Slice { arg, hi: width - 1, lo: replaced };
                let high = Expr { kind: high, ty: Type::Bits(kept), span };
                binary(BinaryOp::Concat, high, part, Type::Bits(width), span)
            }
        };
        let whole = self.cast(whole, Type::Bits(width), span)?;
        self.cast(whole, cell, span)
    }

    fn cell_bits(&mut self, slot: SlotId, span: Span) -> Result<Expr> {
        let whole = self.slot_expr(slot, span);
        let bits = Type::Bits(whole.ty.width());
        self.cast(whole, bits, span)
    }

    /// A parameter of register actions is its initial value.
    pub(super) fn register_param(&mut self, object: hir::ObjectId) -> Result<Option<Value>> {
        let program = self.program;
        let initial = program[object].args.first().ok_or(Reported)?;
        Ok(Some(self.value(initial)?))
    }
}
