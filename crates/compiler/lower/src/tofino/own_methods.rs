//! Methods that a register action has for its own ones, which call them by `this`.
//!
//! | method | value |
//! | --- | --- |
//! | `address` | where the cell lies in the register, in bits; with a 1, where its upper half does |
//! | `predicate` | a one in the place that the comparisons say: 1 for the first one that holds, plus 2 for the second, and so on |
//! | `min8`, `max8`, `min16`, `max16` | the least or greatest part of 128 bits, of those that a mask has, and which that is |
//!
//! Without arguments, `predicate` takes the comparisons in the conditions of the method in the order of the text, as they are when the method
//! begins: the device compares the cell that it has read. It has two of them, Tofino 2 four.
//!
//! Registers that are one log together are a chain. The first one counts the cells of all (`@chain_total_size`); behind an action with
//! `@chain_address` its `address` is the index of the cell in the next register. A register does nothing at an index that it does not have.

use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternKind, SlotId, StmtKind, Type};
use hopwright_sema::hir;
use hopwright_source::Span;

use crate::externs::Arguments;
use crate::storage::Place;
use crate::value::{Value, binary, compare, mux, not, place};
use crate::{Lowering, Reported, Result};

/// The bits of which the extreme parts are found.
pub(super) const WIDE: u32 = 128;

/// Whether a method's name is one of these.
pub(super) fn is_own(name: &str) -> bool {
    matches!(name, "address" | "predicate" | "min8" | "max8" | "min16" | "max16")
}

/// Whether objects of a type run a method on a register's cell.
pub(super) fn is_register_action(type_name: &str) -> bool {
    let name = type_name.strip_prefix("Direct").unwrap_or(type_name).trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(name, "RegisterAction" | "MinMaxAction")
}

/// A register action that is being lowered.
pub(super) struct Running {
    /// The index of the cell.
    pub(super) index: Expr,
    /// The bits of a cell.
    pub(super) width: u32,
    /// Where the value is that the method works on.
    pub(super) value: Place,
    /// What the comparisons of the method say.
    pub(super) compared: Vec<Expr>,
}

impl Lowering<'_> {
    /// Lowers a method that the program calls by `this`.
    pub(super) fn own_method(
        &mut self,
        object: hir::ObjectId,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        if self.requests.as_ref().is_none_or(|r| r.running.is_empty())
            && name == "address"
            && let Some(index) = self.chain_index(object, span)
        {
            return self.chain_address(object, index, ty, span).map(Some);
        }
        let running = self.requests.as_ref().and_then(|r| r.running.last());
        let Some((index, width, value, compared)) =
            running.map(|r| (r.index.clone(), r.width, r.value.clone(), r.compared.clone()))
        else {
            let message = format!("`{name}` is known only while the action runs: its methods call it by `this`");
            return Err(self.refuse(span, "E0310", message));
        };
        let result = match ty.and_then(|ty| self.scalar_type(ty)) {
            Some(ty @ Type::Bits(_)) => ty,
            _ => return Err(self.unsupported(span, format!("a result of `{name}` that is no `bit<W>`"))),
        };
        match name {
            "address" => {
                let bits = width.next_power_of_two();
                let times =
                    |value, by: u32| binary(BinaryOp::Mul, value, Expr::constant(by, result, span), result, span);
                let mut address = times(self.cast(index, result, span)?, bits);
                if let Some(half) = call.args.first().and_then(|a| a.value.as_ref()) {
                    let half = self.scalar(half)?;
                    let half = self.cast(half, result, span)?;
                    address = binary(BinaryOp::Add, address, times(half, bits / 2), result, span);
                }
                Ok(Some(Value::Scalar(self.freeze(address))))
            }
            "predicate" => {
                let results = if call.args.iter().any(|arg| arg.value.is_some()) {
                    let result = |arg: &hir::Arg| match &arg.value {
                        Some(e) => self.scalar(e),
                        None => Ok(Expr::boolean(false, span)),
                    };
                    call.args.iter().map(result).collect::<Result<_>>()?
                } else {
                    compared
                };
                let most = if self.is_tofino2() { 4 } else { 2 };
                if results.len() > most {
                    let what = format!("a predicate of more than {most} comparisons");
                    return Err(self.unsupported(span, what));
                }
                let mut at = Expr::constant(0u32, result, span);
                for (bit, truth) in results.into_iter().enumerate() {
                    let [one, none] = [1u32 << bit, 0].map(|n| Expr::constant(n, result, span));
                    at = binary(BinaryOp::Add, at, mux(truth, one, none, span), result, span);
                }
                let one = Expr::constant(1u32, result, span);
                let predicate = binary(BinaryOp::Shl, one, at, result, span);
                Ok(Some(Value::Scalar(self.freeze(predicate))))
            }
            _ => self.extreme_part(name, call, result, &value),
        }
    }

    /// `address` of an action with `@chain_address`, when it has run: the index of the cell in the next register of the chain.
    fn chain_address(
        &mut self,
        object: hir::ObjectId,
        index: SlotId,
        ty: Option<&hir::Type>,
        span: Span,
    ) -> Result<Value> {
        let register = self.register_of(object)?;
        let ExternKind::Register { size, .. } = self.externs[register.0 as usize].kind else { return Err(Reported) };
        let size = Expr::constant(size, Type::Bits(32), span);
        let rest = binary(BinaryOp::Sub, self.slot_expr(index, span), size, Type::Bits(32), span);
        let ty = ty.and_then(|ty| self.scalar_type(ty)).ok_or(Reported)?;
        let rest = self.cast(rest, ty, span)?;
        Ok(Value::Scalar(self.freeze(rest)))
    }

    /// The least or greatest of the masked parts of a number, the first of several; zero of none. A number may be added to that part of
    /// the cell.
    fn extreme_part(&mut self, name: &str, call: &hir::Call, ty: Type, cell: &Place) -> Result<Option<Value>> {
        let span = call.span;
        let mut args = Arguments::new(self, call)?;
        let all = args.scalar(self, 0)?;
        let all = self.cast(all, Type::Bits(WIDE), span)?;
        let all = self.freeze(all);
        let mask = args.scalar(self, 1)?;
        let mask = self.freeze(mask);
        let postmod = args.at(3).is_ok().then(|| args.scalar(self, 3)).transpose()?;
        let width = ty.width();
        let number = Type::Bits(8);
        let [found, at] = [ty, number].map(|ty| self.temp(ty, span));
        let any = self.temp(Type::Bool, span);
        for slot in [found, at] {
            let zero = Expr::constant(0u32, self.slots[slot.index()].ty, span);
            self.emit(StmtKind::Assign(slot, zero), span);
        }
        self.emit(StmtKind::Assign(any, Expr::boolean(false, span)), span);
        let op = if name.starts_with("max") { BinaryOp::Gt } else { BinaryOp::Lt };
        for part in 0..WIDE / width {
            let value = bits_of(&all, part * width + width - 1, part * width, span);
            let wanted = compare(bits_of(&mask, part, part, span), Expr::constant(1u32, Type::Bits(1), span), span);
            let better = binary(op, value.clone(), self.slot_expr(found, span), Type::Bool, span);
            let first = not(self.slot_expr(any, span), span);
            let better = binary(BinaryOp::LogicalOr, first, better, Type::Bool, span);
            let better = binary(BinaryOp::LogicalAnd, wanted.clone(), better, Type::Bool, span);
            let better = self.freeze(better);
            for (slot, new) in [(found, value), (at, Expr::constant(part, number, span))] {
                let old = self.slot_expr(slot, span);
                self.emit(StmtKind::Assign(slot, mux(better.clone(), new, old, span)), span);
            }
            let before = self.slot_expr(any, span);
            let now = binary(BinaryOp::LogicalOr, before, wanted, Type::Bool, span);
            self.emit(StmtKind::Assign(any, now), span);
        }
        if let Some(added) = postmod {
            self.add_to_part(cell, at, added, ty, span)?;
        }
        if let Some(index) = call.args.get(2).and_then(|a| a.value.as_ref()) {
            let target = self.target(index)?;
            let ty = self.scalar_type(&index.ty).ok_or(Reported)?;
            let value = self.slot_expr(at, span);
            let value = self.cast(value, ty, span)?;
            self.store(&target, Value::Scalar(value), span)?;
        }
        Ok(Some(place(found)))
    }

    /// Adds a number to one of the parts of a cell.
    fn add_to_part(&mut self, cell: &Place, at: SlotId, added: Expr, ty: Type, span: Span) -> Result<()> {
        let &Place::Scalar(slot) = cell else {
            return Err(self.unsupported(span, "changing a part of a cell that is no number"));
        };
        let width = ty.width();
        let added = self.cast(added, ty, span)?;
        let added = self.freeze(added);
        for part in 0..WIDE / width {
            let (hi, lo) = (part * width + width - 1, part * width);
            let change = self.nested(|this| {
                let before = bits_of(&this.slot_expr(slot, span), hi, lo, span);
                let value = binary(BinaryOp::Add, before, added.clone(), ty, span);
                this.emit(StmtKind::AssignSlice { slot, hi, lo, value }, span);
                Ok(())
            })?;
            let is = self.is(at, part, span);
            self.branch(is, change, Vec::new(), span);
        }
        Ok(())
    }

    /// The comparisons in the conditions of a method, if it asks for their predicate.
    pub(super) fn comparisons(&mut self, function: &hir::Function) -> Result<Vec<Expr>> {
        let mut found = Vec::new();
        if function.body.iter().any(asks_for_predicate) {
            function.body.iter().for_each(|stmt| conditions(stmt, &mut found));
        }
        found
            .into_iter()
            .map(|e| {
                let truth = self.scalar(e)?;
                Ok(self.freeze(truth))
            })
            .collect()
    }
}

fn bits_of(e: &Expr, hi: u32, lo: u32, span: Span) -> Expr {
    Expr { kind: ExprKind::Slice { arg: Box::new(e.clone()), hi, lo }, ty: Type::Bits(hi + 1 - lo), span }
}

fn conditions<'e>(stmt: &'e hir::Stmt, out: &mut Vec<&'e hir::Expr>) {
    match &stmt.kind {
        hir::StmtKind::If(condition, then, otherwise) => {
            compares(condition, out);
            then.iter().chain(otherwise).for_each(|stmt| conditions(stmt, out));
        }
        hir::StmtKind::Block(body) => body.iter().for_each(|stmt| conditions(stmt, out)),
        _ => {}
    }
}

fn compares<'e>(e: &'e hir::Expr, out: &mut Vec<&'e hir::Expr>) {
    use hir::BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    match &e.kind {
        hir::ExprKind::Binary(And | Or, a, b) => {
            compares(a, out);
            compares(b, out);
        }
        hir::ExprKind::Unary(_, a) => compares(a, out),
        hir::ExprKind::Binary(Eq | Ne | Lt | Le | Gt | Ge, ..) => out.push(e),
        _ => {}
    }
}

/// Whether a statement has `this.predicate()`, without arguments.
fn asks_for_predicate(stmt: &hir::Stmt) -> bool {
    match &stmt.kind {
        hir::StmtKind::Declare(_, value) => value.as_ref().is_some_and(has_predicate),
        hir::StmtKind::Assign(_, value) => has_predicate(value),
        hir::StmtKind::If(_, then, otherwise) => then.iter().chain(otherwise).any(asks_for_predicate),
        hir::StmtKind::Block(body) => body.iter().any(asks_for_predicate),
        _ => false,
    }
}

fn has_predicate(e: &hir::Expr) -> bool {
    match &e.kind {
        hir::ExprKind::Call(call) => {
            let is = matches!(&call.callee, hir::Callee::Method(_, name) if name == "predicate");
            is && call.args.iter().all(|arg| arg.value.is_none())
        }
        hir::ExprKind::Cast(a) | hir::ExprKind::Unary(_, a) | hir::ExprKind::Slice(a, ..) => has_predicate(a),
        hir::ExprKind::Binary(_, a, b) => has_predicate(a) || has_predicate(b),
        hir::ExprKind::Mux(a, b, c) => [a, b, c].into_iter().any(|e| has_predicate(e)),
        _ => false,
    }
}
