//! Registers as logs, stacks and queues: register actions without an index, whose cell a counter of the device chooses.
//!
//! | method | cell | if there is none |
//! | --- | --- | --- |
//! | `execute_log` | the next one, at the end again the first one | |
//! | `push`, `pop` | of a stack | `overflow`, `underflow` |
//! | `enqueue`, `dequeue` | of a queue | `overflow`, `underflow` |
//!
//! All actions of a register have the same counters: a hidden register with the first cell in use, and the number of cells in use. `overflow` and
//! `underflow` are optional methods of the action, which work on a cell of zeros that is not kept. Without them nothing happens, and results are
//! zero.

use hopwright_ir::{BinaryOp, Expr, ExternArg, ExternFn, ExternId, ExternInstance, ExternKind, StmtKind, Type};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;

use crate::externs::Arguments;
use crate::storage::{Loc, Place};
use crate::value::{Value, binary, mux, place};
use crate::{Lowering, Reported, Result};

const WORD: Type = Type::Bits(32);
/// The cells of the hidden register.
const FIRST: u32 = 0;
const USED: u32 = 1;

impl Lowering<'_> {
    /// Lowers a call of a register action without an index.
    pub(super) fn log_action(&mut self, object: hir::ObjectId, name: &str, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let register = self.register_of(object)?;
        let ExternKind::Register { size, .. } = self.externs[register.0 as usize].kind else { return Err(Reported) };
        let size = chain_size(&self.program[register]).unwrap_or(size);
        let Some(size) = u32::try_from(size).ok().filter(|size| (1..1 << 31).contains(size)) else {
            return Err(self.unsupported(span, "a log in a register of this size"));
        };
        let counters = self.log_counters(register, span);
        let (first, used) = (self.log_counter(counters, FIRST, span), self.log_counter(counters, USED, span));
        let number = |n: u32| Expr::constant(n, WORD, span);
        let plus = |a: &Expr, n: u32| binary(BinaryOp::Add, a.clone(), number(n), WORD, span);
        let minus = |a: Expr, n: u32| binary(BinaryOp::Sub, a, number(n), WORD, span);
        let around = |a: Expr| {
            let beyond = binary(BinaryOp::Ge, a.clone(), number(size), Type::Bool, span);
            mux(beyond, minus(a.clone(), size), a, span)
        };
        let room = binary(BinaryOp::Lt, used.clone(), number(size), Type::Bool, span);
        let any = binary(BinaryOp::Gt, used.clone(), number(0), Type::Bool, span);
        // Whether there is a cell, which, and the counters after that.
        let (possible, index, counter, next) = match name {
            "push" => (room, used.clone(), USED, plus(&used, 1)),
            "pop" => (any, minus(used.clone(), 1), USED, minus(used.clone(), 1)),
            "enqueue" => {
                let last = binary(BinaryOp::Add, first.clone(), used.clone(), WORD, span);
                (room, around(last), USED, plus(&used, 1))
            }
            "dequeue" => (any, first.clone(), FIRST, around(plus(&first, 1))),
            _ => (Expr::boolean(true, span), first.clone(), FIRST, around(plus(&first, 1))),
        };
        let ty = self.result_type(object).unwrap_or(WORD);
        let result = self.temp(ty, span);
        let zero = self.zero_expr(ty, span);
        self.emit(StmtKind::Assign(result, zero), span);
        let then = self.nested(|this| {
            let index = this.freeze(index);
            let args = Arguments::new(this, call)?;
            let value = this.register_action(object, args, index, 0)?;
            this.keep_result(object, result, value, span)?;
            this.set_log_counter(counters, counter, next, span);
            if name == "dequeue" {
                this.set_log_counter(counters, USED, minus(used, 1), span);
            }
            Ok(())
        })?;
        let failed = match name {
            "push" | "enqueue" => "overflow",
            _ => "underflow",
        };
        let otherwise = self.nested(|this| {
            if this.program[object].methods.iter().any(|(method, _)| method == failed) {
                let slot = this.cell_slot(register, span)?;
                let none = Expr::constant(0u32, WORD, span);
                let (_, results) = this.run_on_cell(object, failed, slot, none, span)?;
                let value = results.into_iter().next().map(|place| Value::Loc(Loc::Place(place)));
                this.keep_result(object, result, value, span)?;
            }
            Ok(())
        })?;
        self.branch(possible, then, otherwise, span);
        Ok(self.result_type(object).map(|_| place(result)))
    }

    fn keep_result(
        &mut self,
        object: hir::ObjectId,
        result: hopwright_ir::SlotId,
        value: Option<Value>,
        span: Span,
    ) -> Result<()> {
        match value {
            Some(value) if self.result_type(object).is_some() => {
                self.store_loc(&Loc::Place(Place::Scalar(result)), value, span)
            }
            Some(_) if self.declared_result(object) != Some(&hir::Type::Void) => {
                Err(self.unsupported(span, "a log whose action has a result that is no scalar"))
            }
            _ => Ok(()),
        }
    }

    /// The hidden register of a log.
    fn log_counters(&mut self, register: hir::ObjectId, span: Span) -> ExternId {
        if let Some(known) = self.requests.as_ref().and_then(|r| r.logs.get(&register)) {
            return *known;
        }
        let id = ExternId(self.externs.len() as u32);
        let name = format!("{}.$log", self.program[register].name);
        let kind = ExternKind::Register { size: 2, ty: WORD };
        self.externs.push(ExternInstance { name, id: None, kind, concurrent: false, initial: BigUint::ZERO, span });
        if let Some(requests) = &mut self.requests {
            requests.logs.insert(register, id);
        }
        id
    }

    fn log_counter(&mut self, counters: ExternId, at: u32, span: Span) -> Expr {
        let slot = self.temp(WORD, span);
        self.emit(StmtKind::Assign(slot, Expr::constant(0u32, WORD, span)), span);
        let index = Expr::constant(at, WORD, span);
        self.extern_call(ExternFn::RegisterRead(counters), vec![ExternArg::Out(slot), ExternArg::In(index)], span);
        self.slot_expr(slot, span)
    }

    fn set_log_counter(&mut self, counters: ExternId, at: u32, value: Expr, span: Span) {
        let index = Expr::constant(at, WORD, span);
        self.extern_call(ExternFn::RegisterWrite(counters), vec![ExternArg::In(index), ExternArg::In(value)], span);
    }
}

/// The number of cells of a chain of registers, of which this is the first one.
fn chain_size(register: &hir::Object) -> Option<u64> {
    let annotation = register.annotations.iter().find(|a| a.name == "chain_total_size")?;
    match (&annotation.form, annotation.args.as_slice()) {
        (_, [hir::AnnotationArg::Int(size)]) => u64::try_from(size).ok(),
        (hir::AnnotationForm::Free(words), _) => words.first()?.parse().ok(),
        _ => None,
    }
}
