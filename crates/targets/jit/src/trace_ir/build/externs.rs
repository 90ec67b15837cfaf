//! Calls of extern functions and methods.

use hopwright_ir::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, HashAlgorithm, SlotId, Type,
};

use super::{Builder, COLOR, Context, State, Step};
use crate::trace_ir::recording::function_name;
use crate::trace_ir::values::{Op, ValueId};
use crate::trace_ir::{Effect, Name};

impl<'a> Builder<'a> {
    pub(super) fn call(&mut self, state: &mut State, call: &ExternCall, context: &Context<'a>) -> Step {
        let unsupported = |builder: &mut Self, state: &State| {
            let site = builder.site(call.span, "");
            builder.exit(state, &site)
        };
        match (&call.function, call.args.as_slice()) {
            (ExternFn::CounterCount(id), [ExternArg::In(index)]) => {
                if let Some(index) = self.index(state, *id, index, call, context)? {
                    state.effects.push(Effect::Count { counter: self.name_of(*id), index });
                }
                Ok(())
            }
            (
                ExternFn::CounterCountBytes(_)
                | ExternFn::DirectCounterCountBytes(_)
                | ExternFn::DirectMeterExecuteBytes(_),
                _,
            ) => unsupported(self, state),
            // The hit of the table has already counted the packet.
            (ExternFn::DirectCounterCount(_) | ExternFn::LogMsg(_), _) => Ok(()),
            (ExternFn::DirectMeterRead(_), [ExternArg::Out(to)]) => {
                match context.color {
                    Some(color) => self.set(state, *to, color),
                    None => state.slots[to.index()] = self.ir.values.constant(0u32, self.p[*to].ty),
                }
                Ok(())
            }
            (ExternFn::MeterExecute(id), [ExternArg::In(index), ExternArg::Out(to)]) => {
                let meter = self.name_of(*id);
                if state.has_measured(&meter) {
                    return unsupported(self, state);
                }
                let Some(of) = self.index(state, *id, index, call, context)? else { return Ok(()) };
                let color = self.ir.values.data(Op::Color { meter: meter.clone(), of }, COLOR);
                self.set(state, *to, color);
                state.effects.push(Effect::Measure { meter, of });
                Ok(())
            }
            // Outside of tables with cells for entries.
            (ExternFn::EntryIndex, [ExternArg::Out(to)]) => {
                state.slots[to.index()] = self.ir.values.constant(u32::MAX, self.p[*to].ty);
                Ok(())
            }
            (ExternFn::RegisterRead(id), [ExternArg::Out(to), ExternArg::In(index)]) => {
                if state.written.contains(id) {
                    return unsupported(self, state);
                }
                let Some(index) = self.index(state, *id, index, call, context)? else { return Ok(()) };
                let ty = match &self.p[*id].kind {
                    ExternKind::Register { ty, .. } => *ty,
                    _ => Type::Bits(0),
                };
                let cell = self.ir.values.data(Op::Register { register: self.name_of(*id), index }, ty);
                self.set(state, *to, cell);
                Ok(())
            }
            (ExternFn::RegisterWrite(id), [ExternArg::In(index), ExternArg::In(value)]) => {
                let value = self.value(state, context, value);
                let Some(index) = self.index(state, *id, index, call, context)? else { return Ok(()) };
                state.written.insert(*id);
                state.effects.push(Effect::Write { register: self.name_of(*id), index, value });
                Ok(())
            }
            (ExternFn::Assert | ExternFn::Assume, [ExternArg::In(condition)]) => {
                let condition = self.value(state, context, condition);
                let site = self.site(call.span, "");
                self.guard(state, condition, true, &site)
            }
            (ExternFn::AdjustChecksum | ExternFn::CustomCrc(_) | ExternFn::PopulationCount, _) => {
                self.pure_call(state, call, context, false)
            }
            (ExternFn::Named { instance, .. }, _) => {
                let attributes = instance.and_then(|id| self.attributes.get(id.index()));
                match attributes {
                    Some(attributes) if attributes.repeatable => {
                        let cipher = attributes.block.is_some();
                        self.pure_call(state, call, context, cipher)
                    }
                    _ => unsupported(self, state),
                }
            }
            _ => self.checksum_call(state, call, context),
        }
    }

    /// Calls that compute checksums of lists.
    fn checksum_call(&mut self, state: &mut State, call: &ExternCall, context: &Context<'a>) -> Step {
        match (&call.function, call.args.as_slice()) {
            (
                ExternFn::Hash(algorithm),
                [ExternArg::Out(to), ExternArg::In(base), ExternArg::List(data), ExternArg::In(max)],
            ) => {
                let hash = self.checksum(state, *algorithm, false, data, context);
                let width = self.p[*to].ty.width().max(base.ty.width()).max(max.ty.width()).max(64);
                let ty = Type::Bits(width);
                let [base, max] = [base, max].map(|e| self.value(state, context, e));
                let [base, max, hash] = [base, max, hash].map(|v| self.ir.values.data(Op::Cast(v), ty));
                // The remainder of a division by zero is zero.
                let within = self.ir.values.data(Op::Binary(BinaryOp::Mod, hash, max), ty);
                let sum = self.ir.values.data(Op::Binary(BinaryOp::Add, base, within), ty);
                self.set(state, *to, sum);
                Ok(())
            }
            (
                ExternFn::VerifyChecksum { algorithm, payload },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::In(checksum)],
            ) => {
                let condition = self.value(state, context, condition);
                if self.decided(condition) == Some(false) {
                    return Ok(());
                }
                let ty = checksum.ty;
                let found = self.checksum(state, *algorithm, *payload, data, context);
                let found = self.ir.values.data(Op::Cast(found), ty);
                let expected = self.value(state, context, checksum);
                let wrong = self.ir.values.data(Op::Binary(BinaryOp::Ne, found, expected), Type::Bool);
                let wrong = self.ir.values.data(Op::Binary(BinaryOp::LogicalAnd, wrong, condition), Type::Bool);
                let error = self.p.standard.checksum_error;
                let (old, one) = (self.read(state, error), self.ir.values.constant(1u32, self.p[error].ty));
                state.slots[error.index()] = self.ir.values.data(Op::Mux(wrong, one, old), self.p[error].ty);
                Ok(())
            }
            (
                ExternFn::UpdateChecksum { algorithm, payload },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::InOut(to) | ExternArg::Out(to)],
            ) => {
                let condition = self.value(state, context, condition);
                if self.decided(condition) == Some(false) {
                    return Ok(());
                }
                let old = self.read(state, *to);
                let ty = self.p[*to].ty;
                let new = self.checksum(state, *algorithm, *payload, data, context);
                let new = self.ir.values.data(Op::Cast(new), ty);
                state.slots[to.index()] = self.ir.values.data(Op::Mux(condition, new, old), ty);
                Ok(())
            }
            _ => {
                let site = self.site(call.span, "");
                self.exit(state, &site)
            }
        }
    }

    pub(super) fn name_of(&self, id: ExternId) -> Name {
        self.p[id].name.as_str().into()
    }

    /// Sets a slot to a value, converted to its type.
    fn set(&mut self, state: &mut State, slot: SlotId, value: ValueId) {
        state.slots[slot.index()] = self.ir.values.data(Op::Cast(value), self.p[slot].ty);
    }

    /// The index of a cell, with a guard that there is such a cell; `None` if there never is.
    fn index(
        &mut self,
        state: &mut State,
        id: ExternId,
        index: &Expr,
        call: &ExternCall,
        context: &Context<'a>,
    ) -> Result<Option<ValueId>, super::Stopped> {
        let value = self.value(state, context, index);
        let size = match self.p[id].kind {
            ExternKind::Counter { size, .. } | ExternKind::Register { size, .. } | ExternKind::Meter { size, .. } => {
                size
            }
            _ => 0,
        };
        if index.ty.width() >= 64 || size < 1 << index.ty.width() {
            let size = self.ir.values.constant(size, index.ty);
            let within = self.ir.values.data(Op::Binary(BinaryOp::Lt, value, size), Type::Bool);
            if self.decided(within) == Some(false) {
                return Ok(None);
            }
            let site = self.site(call.span, "");
            self.guard(state, within, true, &site)?;
        }
        Ok(Some(value))
    }

    fn checksum(
        &mut self,
        state: &State,
        algorithm: HashAlgorithm,
        payload: bool,
        data: &[Expr],
        context: &Context<'a>,
    ) -> ValueId {
        let part = |builder: &mut Self, e: &Expr| match e.kind {
            ExprKind::Slot(slot) => builder.in_packet(state, slot),
            _ => builder.value(state, context, e),
        };
        let mut parts: Vec<ValueId> = data.iter().map(|e| part(self, e)).collect();
        if payload {
            // The payload begins at a whole byte.
            let fixed = data.iter().filter(|e| !matches!(e.ty, Type::Varbit(_))).map(|e| e.ty.width()).sum::<u32>();
            parts.push(self.ir.values.constant(0u32, Type::Bits(fixed.next_multiple_of(8) - fixed)));
            let rest = Op::Bytes { at: state.cursor, length: None };
            parts.push(self.ir.values.data(rest, Type::Varbit(8 << 16)));
        }
        self.ir.values.data(Op::Checksum { algorithm, parts }, Type::Bits(64))
    }

    /// A call without effects: its out arguments are values.
    fn pure_call(&mut self, state: &mut State, call: &ExternCall, context: &Context<'a>, cipher: bool) -> Step {
        let function: Name = function_name(self.p, call).into();
        let mut args = Vec::new();
        for arg in &call.args {
            match arg {
                ExternArg::In(e) => args.push(self.value(state, context, e)),
                ExternArg::List(list) if list.iter().any(|e| matches!(e.ty, Type::Varbit(_))) => {
                    let site = self.site(call.span, "");
                    return self.exit(state, &site);
                }
                ExternArg::List(list) => {
                    let parts: Vec<ValueId> = list.iter().map(|e| self.value(state, context, e)).collect();
                    args.push(self.concatenated(&parts));
                }
                ExternArg::InOut(slot) => args.push(self.read(state, *slot)),
                ExternArg::Out(_) => {}
            }
        }
        let results = call.args.iter().filter_map(|arg| match arg {
            ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(*slot),
            _ => None,
        });
        for (result, slot) in results.enumerate() {
            let op = Op::Call { function: function.clone(), args: args.clone(), result: result as u32, cipher };
            state.slots[slot.index()] = self.ir.values.data(op, self.p[slot].ty);
        }
        Ok(())
    }
}
