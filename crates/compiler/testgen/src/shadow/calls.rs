//! Calls of externs. Checksums, registers and meters have terms; the results of others stand for themselves, and what they were
//! computed from is kept as it is where the search can do with it.

use hopwright_interp::{Store as _, Value};
use hopwright_ir::{Expr, ExternArg, ExternCall, ExternFn, ExternId, HashAlgorithm, SlotId};
use num_bigint::BigUint;

use super::{Shadow, key_of, place_key};
use crate::inputs::DIRECT;
use crate::path::{Alternative, Call, Step};
use crate::term::{self, Term, Variable, constant};

impl Shadow<'_> {
    pub(super) fn call(&mut self, call: &ExternCall) {
        for arg in &call.args {
            if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                self.current.results.push((*slot, None));
            }
        }
        match (&call.function, call.args.as_slice()) {
            (ExternFn::RegisterRead(id), [ExternArg::Out(slot), ExternArg::In(index)]) => {
                let index = self.index(index);
                let value = self.cell(*id, index, self.pipeline[*slot].ty.width());
                self.result(*slot, value);
            }
            (ExternFn::RegisterWrite(id), [ExternArg::In(index), ExternArg::In(value)]) => {
                let (index, value) = (self.index(index), self.eval(value));
                self.registers.insert((id.0, index), value);
            }
            (ExternFn::MeterExecute(id), [ExternArg::In(index), ExternArg::Out(slot)])
            | (ExternFn::MeterExecuteBytes(id), [ExternArg::In(index), ExternArg::In(_), ExternArg::Out(slot)]) => {
                let index = self.index(index);
                self.color(id.0, index, *slot);
            }
            (ExternFn::DirectMeterRead(id), [ExternArg::Out(slot)])
            | (ExternFn::DirectMeterExecuteBytes(id), [ExternArg::In(_), ExternArg::Out(slot)]) => {
                let table = self.pipeline.tables.iter().position(|table| table.direct_meter == Some(*id));
                if let Some(table) = table {
                    self.color(table as u32, DIRECT, *slot);
                }
            }
            (ExternFn::Assert | ExternFn::Assume, [ExternArg::In(condition)]) => self.asserted(condition, call),
            (
                ExternFn::VerifyChecksum { algorithm, payload },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::In(checksum)],
            ) => {
                let (condition, checksum) = (self.eval(condition), self.eval(checksum));
                self.verified(&condition, &checksum, *algorithm, *payload, data);
            }
            (
                ExternFn::UpdateChecksum { algorithm: HashAlgorithm::Csum16, payload: false },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::InOut(slot) | ExternArg::Out(slot)],
            ) => {
                let (condition, old) = (self.eval(condition), self.slot(*slot).clone());
                let new = term::extend(&term::checksum(&self.list(data)), old.width, false);
                // Where the checksum was right, nothing tells that it was computed; another way of the parser leads to another header.
                let changes = term::and(&condition, &term::not(&term::equal(&new, &old)));
                let key = key_of((place_key(call.span), self.last_case));
                let mut alternatives = Vec::new();
                if term::is_true(&changes) {
                    self.run.unsent.insert(key);
                } else {
                    self.case(changes, key, &mut alternatives);
                }
                self.step(Step { alternatives, key, ..Step::default() });
                let value = term::choose(&condition, &new, &old);
                self.set(*slot, value.clone());
                self.result(*slot, value);
            }
            (ExternFn::Named { name, .. }, _) => {
                self.keep_arguments(call);
                self.run.externs.insert(name.clone());
            }
            (function, _) => {
                let results = call.args.iter().any(|arg| matches!(arg, ExternArg::Out(_) | ExternArg::InOut(_)));
                if results {
                    self.keep_arguments(call);
                    self.run.externs.insert(function.name().to_string());
                }
            }
        }
    }

    /// The result of a call has this term.
    fn result(&mut self, slot: SlotId, term: Term) {
        let width = self.pipeline[slot].ty.width();
        let term = term::extend(&term, width, false);
        if let Some(result) = self.current.results.iter_mut().find(|(result, _)| *result == slot) {
            result.1 = Some(term);
        }
    }

    /// Keeps what a call was given.
    fn keep_arguments(&mut self, call: &ExternCall) {
        let mut terms = Vec::new();
        for arg in &call.args {
            match arg {
                ExternArg::In(e) => terms.push(self.eval(e)),
                ExternArg::List(list) => terms.extend(list.iter().map(|e| self.eval(e))),
                ExternArg::InOut(slot) => terms.push(self.slot(*slot).clone()),
                ExternArg::Out(_) => {}
            }
        }
        if terms.iter().all(term::is_constant) {
            return;
        }
        self.pin(&terms);
        let (place, step) = (place_key(call.span), self.run.steps.len() - 1);
        self.run.calls.push(Call { place, arguments: terms, results: Vec::new(), step });
        self.current.is_call = true;
    }

    /// The term of a result that the interpreter computed: it stands for itself, unless nothing that it was computed from can be different.
    pub(super) fn computed(&mut self, new: &Value) -> Term {
        let number = self.run.calls.len() as u32;
        let Some(call) = self.run.calls.last_mut().filter(|_| self.current.is_call) else {
            return constant(new.bits.clone(), new.width);
        };
        let variable = Variable::Result(number - 1, call.results.len() as u32);
        let result = term::input(variable, new.bits.clone(), new.width);
        call.results.push((variable, result.clone()));
        self.run.steps[call.step].conditions.push(term::stays(&result));
        result
    }

    /// The index of a cell, which is kept.
    fn index(&mut self, index: &Expr) -> u64 {
        let index = self.eval(index);
        self.pin(std::slice::from_ref(&index));
        u64::try_from(&index.value).unwrap_or(u64::MAX)
    }

    fn cell(&mut self, register: ExternId, index: u64, width: u32) -> Term {
        if let Some(term) = self.registers.get(&(register.0, index)) {
            return term.clone();
        }
        let value = self.answers.get().registers.get(&(register.0, index)).cloned();
        let value = value.or_else(|| self.answers.base.read_register(register, index));
        match value {
            Some(value) => term::input(Variable::Register(register.0, index), value, width),
            None => constant(0u32, width),
        }
    }

    fn color(&mut self, meter: u32, index: u64, slot: SlotId) {
        let color = self.answers.get().colors.get(&(meter, index)).copied().unwrap_or(0);
        let color = term::input(Variable::Color(meter, index), color.into(), 2);
        let a_color = term::not(&term::equal(&color, &constant(3u32, 2)));
        self.step(Step { conditions: vec![a_color], ..Step::default() });
        self.result(slot, color);
    }

    fn asserted(&mut self, condition: &Expr, call: &ExternCall) {
        let holds = self.eval(condition);
        let (is, would_be) =
            if term::is_true(&holds) { (holds.clone(), term::not(&holds)) } else { (term::not(&holds), holds) };
        let place = place_key(call.span);
        let key = key_of((place, is.value == BigUint::ZERO));
        let other = Alternative { conditions: vec![would_be], key, case: Some(key), ..Alternative::default() };
        self.step(Step { conditions: vec![is], alternatives: vec![other], key: place, ..Step::default() });
    }

    /// A checksum was verified: the error flag is set if it is wrong.
    fn verified(&mut self, condition: &Term, checksum: &Term, algorithm: HashAlgorithm, payload: bool, data: &[Expr]) {
        let flag = self.pipeline.standard.checksum_error;
        self.current.results.push((flag, None));
        if algorithm != HashAlgorithm::Csum16 {
            return;
        }
        let mut data = self.list(data);
        if payload {
            for byte in &self.bytes[self.cursor.min(self.bytes.len())..] {
                data = term::concat(&data, byte);
            }
        }
        let found = term::extend(&term::checksum(&data), checksum.width, false);
        let wrong = term::and(condition, &term::not(&term::equal(&found, checksum)));
        let old = self.slot(flag).clone();
        let value = term::choose(&wrong, &constant(1u32, 1), &old);
        self.set(flag, value.clone());
        self.result(flag, value);
    }
}
