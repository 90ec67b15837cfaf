//! Registers, and the actions that read, change and write their cells.

use hopwright_ir::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternFn, ExternId, ExternKind, SlotId, SlotKind, Stmt, StmtKind, Type,
};
use hopwright_sema::hir;
use hopwright_source::Span;

use super::externs::object_of;
use super::own_methods::{Running, WIDE};
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

    /// `write`, which returns what is written.
    pub(super) fn write_register(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let mut args = Arguments::new(self, call)?;
        args.check_number(self, 0)?;
        let index = args.scalar(self, 0)?;
        let index = self.freeze(index);
        let value = args.value(self, 1)?;
        let value = self.freeze_value(value, span)?;
        let whole = match &value {
            Value::Scalar(_) => self.as_scalar(value.clone(), span)?,
            value => self.joined(value, span)?,
        };
        let ExternKind::Register { ty, .. } = self.externs[object.0 as usize].kind else { return Err(Reported) };
        let whole = self.cast(whole, ty, span)?;
        let args = vec![ExternArg::In(index), ExternArg::In(whole)];
        self.extern_call(ExternFn::RegisterWrite(ExternId(object.0)), args, span);
        Ok(Some(value))
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
        let mut targets = Vec::new();
        for at in inputs..call.args.len() {
            targets.push(match args.at(at) {
                Ok(_) => Some(args.target(self, at)?.0),
                Err(_) => None,
            });
        }
        if let Some(slot) = self.chain_index(object, span) {
            let index = self.cast(index.clone(), Type::Bits(32), span)?;
            self.emit(StmtKind::Assign(slot, index), span);
        }
        let results = if self.program[object].type_name.starts_with("MinMaxAction") {
            self.action_on_row(object, index, span)?
        } else {
            let register = self.register_of(object)?;
            let slot = self.cell_slot(register, span)?;
            let read = vec![ExternArg::Out(slot), ExternArg::In(index.clone())];
            self.extern_call(ExternFn::RegisterRead(ExternId(register.0)), read, span);
            let (value, results) = self.run_on_cell(object, "apply", slot, index.clone(), span)?;
            let write = vec![ExternArg::In(index), ExternArg::In(value)];
            self.extern_call(ExternFn::RegisterWrite(ExternId(register.0)), write, span);
            results
        };
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

    /// Runs the method of a `MinMaxAction` on a row, 128 bits of cells with the first one in the lowest bits, and returns the places of results.
    fn action_on_row(&mut self, object: hir::ObjectId, row: Expr, span: Span) -> Result<Vec<Place>> {
        let register = self.register_of(object)?;
        let id = ExternId(register.0);
        let width = match &self.externs[id.index()].kind {
            ExternKind::Register { ty: Type::Bits(width @ (8 | 16 | 32 | 64 | 128)), .. } => *width,
            _ => return Err(self.unsupported(span, "a row of cells that are not `bit<8>`, `bit<16>`, and so on")),
        };
        let (cells, number) = (WIDE / width, Type::Bits(32));
        let row = self.cast(row, number, span)?;
        let first = binary(BinaryOp::Mul, row.clone(), Expr::constant(cells, number, span), number, span);
        let first = self.freeze(first);
        let index = |at: u32| binary(BinaryOp::Add, first.clone(), Expr::constant(at, number, span), number, span);
        let whole = self.temp(Type::Bits(WIDE), span);
        self.emit(StmtKind::Assign(whole, Expr::constant(0u32, Type::Bits(WIDE), span)), span);
        let bits = |at: u32| (at * width + width - 1, at * width);
        for at in 0..cells {
            let cell = self.cell_slot(register, span)?;
            let read = vec![ExternArg::Out(cell), ExternArg::In(index(at))];
            self.extern_call(ExternFn::RegisterRead(id), read, span);
            let (value, (hi, lo)) = (self.slot_expr(cell, span), bits(at));
            self.emit(StmtKind::AssignSlice { slot: whole, hi, lo, value }, span);
        }
        let (value, results) = self.run_on_cell(object, "apply", whole, row, span)?;
        let value = self.freeze(value);
        for at in 0..cells {
            let (hi, lo) = bits(at);
            let kind = ExprKind::Slice { arg: Box::new(value.clone()), hi, lo };
            let cell = Expr { kind, ty: Type::Bits(width), span };
            let write = vec![ExternArg::In(index(at)), ExternArg::In(cell)];
            self.extern_call(ExternFn::RegisterWrite(id), write, span);
        }
        Ok(results)
    }

    /// The slot for the index of the last cell of an action with `@chain_address`.
    pub(super) fn chain_index(&mut self, object: hir::ObjectId, span: Span) -> Option<SlotId> {
        if !self.program[object].annotations.iter().any(|a| a.name == "chain_address") {
            return None;
        }
        if let Some(known) = self.requests.as_ref().and_then(|r| r.chains.get(&object)) {
            return Some(*known);
        }
        let name = format!("{}.$index", self.program[object].name);
        let slot = self.new_slot(&name, Type::Bits(32), SlotKind::Local, span);
        if let Some(requests) = &mut self.requests {
            requests.chains.insert(object, slot);
        }
        Some(slot)
    }

    /// `clear`: writes all cells, some in each turn of a loop.
    pub(super) fn clear_register(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        const IN_A_TURN: u32 = 16;
        let (id, span, number) = (ExternId(object.0), call.span, Type::Bits(32));
        let ExternKind::Register { size, .. } = self.externs[id.index()].kind else { return Err(Reported) };
        let Some(size) = u32::try_from(size).ok().filter(|size| size.div_ceil(IN_A_TURN) < 1 << 15) else {
            return Err(self.unsupported(span, "clearing a register of this size"));
        };
        let args = Arguments::new(self, call)?;
        let value = self.value(args.at(0)?)?;
        let value = self.joined(&value, span)?;
        let value = self.freeze(value);
        let next = self.temp(number, span);
        self.emit(StmtKind::Assign(next, Expr::constant(0u32, number, span)), span);
        let label = self.label();
        let body = self.nested(|this| {
            let next_cell = this.slot_expr(next, span);
            let end = binary(BinaryOp::Ge, next_cell.clone(), Expr::constant(size, number, span), Type::Bool, span);
            let leave = vec![Stmt { kind: StmtKind::Leave(label), span }];
            this.branch(end, leave, Vec::new(), span);
            let plus = |n: u32| binary(BinaryOp::Add, next_cell.clone(), Expr::constant(n, number, span), number, span);
            // Writes behind the end of the register do nothing.
            for at in 0..IN_A_TURN.min(size) {
                let write = vec![ExternArg::In(plus(at)), ExternArg::In(value.clone())];
                this.extern_call(ExternFn::RegisterWrite(id), write, span);
            }
            this.emit(StmtKind::Assign(next, plus(IN_A_TURN)), span);
            Ok(())
        })?;
        let bound = Some(size.div_ceil(IN_A_TURN) + 1);
        let body = vec![Stmt { kind: StmtKind::Loop { body, bound }, span }];
        self.emit(StmtKind::Scope { label, body }, span);
        Ok(None)
    }

    pub(super) fn register_of(&self, object: hir::ObjectId) -> Result<hir::ObjectId> {
        self.program[object].args.first().and_then(object_of).ok_or(Reported)
    }

    /// The type argument for a register action's first result.
    pub(super) fn declared_result(&self, object: hir::ObjectId) -> Option<&hir::Type> {
        let action = &self.program[object];
        action.type_args.get(if action.type_name.starts_with("Direct") { 1 } else { 2 })
    }

    /// The type of a register action's first result, if that is a scalar.
    pub(super) fn result_type(&self, object: hir::ObjectId) -> Option<Type> {
        self.declared_result(object).and_then(|ty| self.scalar_type(ty))
    }

    /// Runs a method of a register action on a cell that has been read; returns the new cell and the places of results.
    pub(super) fn run_on_cell(
        &mut self,
        object: hir::ObjectId,
        method: &str,
        slot: SlotId,
        index: Expr,
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
        let (value, width) = (places.first().cloned().ok_or(Reported)?, cell.width());
        let compared = self.comparisons(&program[function])?;
        if let Some(requests) = &mut self.requests {
            requests.running.push(Running { index, width, value, compared });
        }
        let done = self.body(&program[function].body, Vec::new(), None, span);
        if let Some(requests) = &mut self.requests {
            requests.running.pop();
        }
        self.cached = cached;
        self.scope = outer;
        done?;
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

    /// `read` of a parameter of register actions: the one cell of its register.
    pub(super) fn register_param(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let slot = self.cell_slot(object, span)?;
        let first = Expr::constant(0u32, Type::Bits(32), span);
        let args = vec![ExternArg::Out(slot), ExternArg::In(first)];
        self.extern_call(ExternFn::RegisterRead(ExternId(object.0)), args, span);
        self.cell_value(slot, ty, span)
    }
}
