//! Registers of the Tofino Native Architecture, and the actions that read, change and write their cells.

use hopwright_sema::hir::{
    AnnotationArg, AnnotationForm, BinaryOp, Call, Callee, Expr, ExprKind, Function, FunctionId, Object, ObjectId,
    Stmt, StmtKind, Type,
};
use hopwright_source::Span;
use num_bigint::{BigInt, BigUint};

use crate::call::Argument;
use crate::machine::{Machine, Result, Running};
use crate::number;
use crate::objects::{Cells, cell_bits, cell_value, object_of};
use crate::state::Log;
use crate::value::{self, Value};

/// The bits of the value that a `MinMaxAction` works on.
const WIDE: u32 = 128;

/// Methods of register actions whose cell the counters of the register choose.
pub(crate) const LOG_METHODS: &[&str] = &["execute_log", "push", "pop", "enqueue", "dequeue"];

/// Methods that a program calls by `this` while the action runs.
pub(crate) const OWN_METHODS: &[&str] = &["address", "predicate", "min8", "max8", "min16", "max16"];

impl<'a> Machine<'a> {
    /// The value of a register's cell: with an index, or that of the entry whose action is running. Zero if there is none.
    pub(crate) fn cell(&mut self, register: ObjectId, index: Option<u64>) -> Result<Value> {
        let Cells::Register { size, ty, initial, cells } = &self.state.objects[register.0 as usize] else {
            return self.fault("this is no register", Span::none());
        };
        let zero = value::initial(self.program, ty);
        let found = match (index, self.hit) {
            (Some(index), _) if index < *size => Some(cells.get(&index).unwrap_or(initial)),
            (Some(_), _) => None,
            (None, Some((table, entry))) => {
                let cells = &self.state.tables[table.0 as usize].entries[entry].cells;
                Some(cells.get(&register).unwrap_or(initial))
            }
            // One that no table has holds one cell.
            (None, None) if *size == 1 => Some(cells.get(&0).unwrap_or(initial)),
            (None, None) => None,
        };
        Ok(found.cloned().unwrap_or(zero))
    }

    pub(crate) fn set_cell(&mut self, register: ObjectId, index: Option<u64>, value: Value) {
        if let (None, Some(entry)) = (index, self.entry()) {
            entry.cells.insert(register, value);
        } else if let Cells::Register { size, cells, .. } = &mut self.state.objects[register.0 as usize] {
            let index = index.unwrap_or(0);
            if index < *size {
                cells.insert(index, value);
            }
        }
    }

    /// `clear`: gives all cells a value.
    pub(crate) fn clear_register(&mut self, register: ObjectId, value: &Value) {
        if let Cells::Register { size, cells, .. } = &mut self.state.objects[register.0 as usize] {
            *cells = (0..*size).map(|index| (index, value.clone())).collect();
        }
    }

    /// The register of an action, and the type of its cells.
    fn register_of(&self, action: &Object) -> Result<(ObjectId, Type)> {
        let register = action.args.first().and_then(object_of);
        match register.map(|id| (id, &self.state.objects[id.0 as usize])) {
            Some((id, Cells::Register { ty, .. })) => Ok((id, ty.clone())),
            _ => self.fault("a register action without a register", action.span),
        }
    }

    fn method_of(&self, action: &Object, name: &str) -> Option<FunctionId> {
        action.methods.iter().find(|(known, _)| known == name).map(|(_, function)| *function)
    }

    /// Reads a cell, runs the program's method on it and writes it back. The first result is that of the call; the others are
    /// its `out` arguments.
    pub(crate) fn register_action(
        &mut self,
        action: &'a Object,
        index: Option<u64>,
        results: &mut [Argument<'a>],
    ) -> Result<Value> {
        let (register, ty) = self.register_of(action)?;
        let Some(method) = self.method_of(action, "apply") else {
            return self.fault("a register action without a method", action.span);
        };
        let values = if action.type_name.starts_with("MinMaxAction") {
            self.action_on_row(method, register, &ty, index.unwrap_or(0))?
        } else {
            let cell = self.cell(register, index)?;
            let (cell, values) = self.method_on(method, &cell, &ty, index)?;
            self.set_cell(register, index, cell);
            values
        };
        Ok(self.results_of(action, values, results))
    }

    /// The value of the call of an action. Further results are its `out` arguments.
    fn results_of(&self, action: &Object, values: Vec<Value>, results: &mut [Argument<'a>]) -> Value {
        let mut values = values.into_iter();
        let first = values.next().unwrap_or_else(|| self.initial(result_type(action)));
        for (arg, value) in results.iter_mut().zip(values) {
            arg.value = value;
        }
        first
    }

    /// Runs a method on a cell: the new cell, and the results. The value that the method works on may be wider than the cell, or narrower: it is
    /// the lowest bits, and the others are kept.
    fn method_on(
        &mut self,
        method: FunctionId,
        cell: &Value,
        ty: &Type,
        index: Option<u64>,
    ) -> Result<(Value, Vec<Value>)> {
        let before = cell_bits(self.program, ty, cell);
        let width = value::width(self.program, ty);
        let own = self.program[method].params.first().map_or(ty, |p| &self.program[p.var].ty);
        let (after, values) = self.method_on_bits(method, &before, own, index.unwrap_or(0), width)?;
        let replaced = value::width(self.program, own);
        let whole = (before >> replaced << replaced) | after;
        Ok((cell_value(self.program, ty, &whole), values))
    }

    /// Runs a method on the lowest bits of a number, as a value of its first parameter's type: those bits afterwards, and the results.
    fn method_on_bits(
        &mut self,
        method: FunctionId,
        bits: &BigUint,
        own: &Type,
        index: u64,
        width: u32,
    ) -> Result<(BigUint, Vec<Value>)> {
        let function = &self.program[method];
        let mut args: Vec<Argument<'a>> = (function.params.iter())
            .map(|p| Argument { direction: p.direction, expr: None, place: None, value: Value::Nothing })
            .collect();
        if let Some(value) = args.first_mut() {
            value.value = cell_value(self.program, own, bits);
        }
        let compared = self.comparisons(function, &args)?;
        let running = Running { index, width, method, compared };
        let outer = self.running.replace(running);
        let done = self.function(method, &mut args);
        self.running = outer;
        done?;
        let mut args = args.into_iter().map(|arg| arg.value);
        let after = args.next().map_or(BigUint::ZERO, |value| cell_bits(self.program, own, &value));
        Ok((after, args.collect()))
    }

    /// Runs the method of a `MinMaxAction` on a row: 128 bits of cells, the first one the lowest.
    fn action_on_row(&mut self, method: FunctionId, register: ObjectId, ty: &Type, row: u64) -> Result<Vec<Value>> {
        let width = value::width(self.program, ty).max(1);
        let cells = u64::from(WIDE / width);
        let mut bits = BigUint::ZERO;
        for at in (0..cells).rev() {
            let cell = self.cell(register, Some(row.saturating_mul(cells).saturating_add(at)))?;
            bits = (bits << width) | cell_bits(self.program, ty, &cell);
        }
        let (after, values) = self.method_on_bits(method, &bits, &Type::Bits(WIDE), row, WIDE)?;
        for at in 0..cells {
            let cell = cell_value(self.program, ty, &(&after >> (at * u64::from(width))));
            self.set_cell(register, Some(row.saturating_mul(cells).saturating_add(at)), cell);
        }
        Ok(values)
    }

    /// A register action without an index: the counters of the register choose the cell. If there is none, `overflow` or `underflow` runs on a cell
    /// of zeros that is not kept.
    pub(crate) fn log_action(&mut self, object: ObjectId, name: &str, results: &mut [Argument<'a>]) -> Result<Value> {
        let action = &self.program[object];
        let (register, ty) = self.register_of(action)?;
        let Cells::Register { size, .. } = self.state.objects[register.0 as usize] else { return Ok(Value::Nothing) };
        let size = chain_size(&self.program[register]).unwrap_or(size);
        let Log { first, used } = self.state.logs.get(&register).copied().unwrap_or_default();
        let (index, log) = match name {
            "push" if used < size => (used, Log { first, used: used + 1 }),
            "pop" if used > 0 => (used - 1, Log { first, used: used - 1 }),
            "enqueue" if used < size => ((first + used) % size, Log { first, used: used + 1 }),
            "dequeue" if used > 0 => (first, Log { first: (first + 1) % size, used: used - 1 }),
            "execute_log" => (first, Log { first: (first + 1) % size, used }),
            _ => {
                let other = if matches!(name, "push" | "enqueue") { "overflow" } else { "underflow" };
                let values = match self.method_of(action, other) {
                    Some(method) => self.method_on(method, &value::initial(self.program, &ty), &ty, Some(0))?.1,
                    None => Vec::new(),
                };
                return Ok(values.into_iter().next().unwrap_or_else(|| self.initial(result_type(action))));
            }
        };
        self.packet.chains.insert(object, index);
        let result = self.register_action(action, Some(index), results)?;
        self.state.logs.insert(register, log);
        Ok(result)
    }

    /// What the comparisons in the conditions of a method say when it begins.
    fn comparisons(&mut self, function: &'a Function, args: &[Argument<'a>]) -> Result<Vec<bool>> {
        let mut found = Vec::new();
        conditions(&function.body, &mut found);
        self.enter(&function.params, args);
        found.into_iter().map(|e| Ok(self.eval(e)?.truth())).collect()
    }

    /// A method that the program calls by `this`.
    pub(crate) fn own_method(&mut self, name: &str, call: &'a Call, args: &mut [Argument<'a>]) -> Result<Value> {
        let Some(Running { index, width, method, compared }) = self.running.clone() else {
            if let (Callee::Method(action, _), "address") = (&call.callee, name) {
                // Of a chain of registers, which goes on in the next one. Without an access, as to an empty queue, it is the first cell.
                let index = self.packet.chains.get(action).copied().unwrap_or_default();
                let (register, _) = self.register_of(&self.program[*action])?;
                let Cells::Register { size, .. } = self.state.objects[register.0 as usize] else {
                    return Ok(Value::Nothing);
                };
                return Ok(Value::Number(number::fit(BigInt::from(index) - size, &Type::Bits(32))));
            }
            return self.fault(format!("`{name}` is called outside of a register action"), call.span);
        };
        let given = |at: usize| args.get(at).filter(|arg| arg.expr.is_some()).map(|arg| arg.value.clone());
        match name {
            "address" => {
                // Where the cell lies, in bits.
                let size = BigInt::from(width.next_power_of_two());
                let half = given(0).map_or(BigInt::ZERO, |half| half.number());
                Ok(Value::Number(BigInt::from(index) * &size + half * (&size >> 1)))
            }
            "predicate" => {
                let results: Vec<bool> = match (0..4).any(|at| given(at).is_some()) {
                    true => (0..4).map(|at| given(at).is_some_and(|value| value.truth())).collect(),
                    false => compared,
                };
                let at: u32 = results.iter().enumerate().map(|(at, truth)| u32::from(*truth) << at).sum();
                Ok(Value::Number(BigInt::from(1u32) << at))
            }
            _ => self.extreme(name, method, args),
        }
    }

    /// `min8`, `max8`, `min16`, `max16`: of the masked parts of 128 bits; the first of several is counted. The cell's part may be changed by a
    /// number that is added.
    fn extreme(&mut self, name: &str, method: FunctionId, args: &mut [Argument<'a>]) -> Result<Value> {
        let width: u32 = if name.ends_with("16") { 16 } else { 8 };
        let number = |at: usize| args.get(at).map_or(BigInt::ZERO, |arg| arg.value.number());
        let (all, mask) = (number(0), number(1));
        let part = |at: u32| number::slice(&all, at * width + width - 1, at * width);
        let mut best: Option<(u32, BigInt)> = None;
        for at in (0..WIDE / width).filter(|at| number::slice(&mask, *at, *at) != BigInt::ZERO) {
            let better = best
                .as_ref()
                .is_none_or(|(_, known)| if name.starts_with("max") { part(at) > *known } else { part(at) < *known });
            if better {
                best = Some((at, part(at)));
            }
        }
        let (at, found) = best.unwrap_or_default();
        let added = number(3);
        if let Some(index) = args.get_mut(2) {
            index.value = Value::Number(at.into());
        }
        if added != BigInt::ZERO
            && let Some(param) = self.program[method].params.first()
        {
            let (low, ty) = (at * width, &Type::Bits(WIDE));
            let cell = self.var(param.var).number();
            let changed = number::fit(number::slice(&cell, low + width - 1, low) + added, &Type::Bits(width));
            let cell = number::with_slice(&cell, low + width - 1, low, &changed);
            *self.var(param.var) = Value::Number(number::fit(cell, ty));
        }
        Ok(Value::Number(found))
    }
}

/// The type of an action's first result.
fn result_type(action: &Object) -> &Type {
    let at = if action.type_name.starts_with("Direct") { 1 } else { 2 };
    action.type_args.get(at).unwrap_or(&Type::Void)
}

/// The comparisons in the conditions of a method, in the order of the text.
fn conditions<'e>(body: &'e [Stmt], out: &mut Vec<&'e Expr>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If(condition, then, otherwise) => {
                compares(condition, out);
                conditions(then, out);
                conditions(otherwise, out);
            }
            StmtKind::Block(body) => conditions(body, out),
            _ => {}
        }
    }
}

fn compares<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            compares(a, out);
            compares(b, out);
        }
        ExprKind::Unary(_, a) => compares(a, out),
        ExprKind::Binary(
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge,
            ..,
        ) => out.push(e),
        _ => {}
    }
}

/// The number of cells of a chain of registers, of which this is the first one.
fn chain_size(register: &Object) -> Option<u64> {
    let annotation = register.annotations.iter().find(|a| a.name == "chain_total_size")?;
    match (&annotation.form, annotation.args.as_slice()) {
        (_, [AnnotationArg::Int(size)]) => u64::try_from(size).ok(),
        (AnnotationForm::Free(words), _) => words.first()?.parse().ok(),
        _ => None,
    }
}
