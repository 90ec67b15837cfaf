//! Extern objects of PSA and PNA: their methods return results, and are lowered to the IR's functions and to slots.

use hopwright_ir::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, SlotId, SlotKind, StmtKind, Type,
    UnaryOp,
};
use hopwright_sema::hir;
use hopwright_source::Span;

use crate::externs::Arguments;
use crate::two_passes::RECIRCULATE_PORT;
use crate::value::{Value, binary, compare, mux, not, place};
use crate::{Lowering, Reported, Result};

/// Members of `PSA_MeterColor_t` by the IR's colour: green, yellow, red.
const COLORS: [u32; 3] = [1, 2, 0];

impl Lowering<'_> {
    pub(crate) fn is_psa(&self) -> bool {
        self.program.architecture().is_some_and(|a| a.name == "psa")
    }

    /// Whether the program is for PSA or PNA, which have the same extern objects.
    pub(crate) fn is_portable(&self) -> bool {
        self.is_psa() || self.is_pna()
    }

    /// Lowers a method of an object; `None` if it is lowered like those of other architectures.
    pub(crate) fn psa_method(
        &mut self,
        object: hir::ObjectId,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Option<Result<Option<Value>>> {
        let type_name = self.program[object].type_name.as_str();
        Some(match (type_name, name) {
            ("Register", "read") => self.register_value(object, call, ty),
            ("Register", "write") => return None,
            ("Meter", "execute") => self.meter_color(object, call, 1),
            ("DirectMeter", "execute") => self.meter_color(object, call, 0),
            ("Hash", "get_hash") => self.hash_value(object, call, ty),
            ("Random", "read") => self.random_value(object, call, ty),
            ("Counter", "count") if call.args.get(1).is_some_and(|a| a.value.is_some()) => self.adjusted(call),
            ("DirectCounter", "count") if call.args.first().is_some_and(|a| a.value.is_some()) => self.adjusted(call),
            ("Digest", "pack") => self.pack_digest(object, call),
            ("InternetChecksum", _) => self.internet_checksum(object, name, call),
            _ => return None,
        })
    }

    fn adjusted(&mut self, call: &hir::Call) -> Result<Option<Value>> {
        Err(self.unsupported(call.span, "a counter that counts other bytes than the packet's"))
    }

    /// Lowers the functions that tell a deparser what becomes of the packet.
    pub(crate) fn psa_function(&mut self, name: &str, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let args = Arguments::new(self, call)?;
        let output = args.at(0)?;
        let both = |a, b| binary(BinaryOp::LogicalAnd, a, b, Type::Bool, span);
        let condition = match name {
            "psa_clone_i2e" | "psa_clone_e2e" => self.field(output, "clone")?,
            "psa_resubmit" => both(not(self.field(output, "drop")?, span), self.field(output, "resubmit")?),
            "psa_normal" => both(not(self.field(output, "drop")?, span), not(self.field(output, "resubmit")?, span)),
            "psa_recirculate" => {
                let port = self.field(args.at(1)?, "egress_port")?;
                let back = compare(port, Expr::constant(RECIRCULATE_PORT, Type::Bits(32), span), span);
                both(not(self.field(output, "drop")?, span), back)
            }
            _ => return Err(self.unsupported(span, format!("the function `{name}`"))),
        };
        Ok(Some(Value::Scalar(condition)))
    }

    fn field(&mut self, e: &hir::Expr, name: &str) -> Result<Expr> {
        let hir::Type::Struct(id) = &e.ty else { return Err(Reported) };
        let index = self.program[*id].fields.iter().position(|f| f.name == name).ok_or(Reported)?;
        let value = self.value(e)?;
        let member = self.value_field(&value, index, e.span)?;
        self.as_scalar(member, e.span)
    }

    pub(crate) fn register_value(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let mut args = Arguments::new(self, call)?;
        let slot = self.cell_slot(object, call.span)?;
        args.args.push(ExternArg::Out(slot));
        args.number(self, 0)?;
        args.finish(self, ExternFn::RegisterRead(ExternId(object.0)), call.span)?;
        self.cell_value(slot, ty, call.span)
    }

    /// A slot for the value of a register's cell. It is zero, as the cell of an index out of range.
    pub(crate) fn cell_slot(&mut self, object: hir::ObjectId, span: Span) -> Result<SlotId> {
        let ExternKind::Register { ty: cell, .. } = self.externs[object.0 as usize].kind else { return Err(Reported) };
        let slot = self.temp(cell, span);
        let zero = self.zero_expr(cell, span);
        self.emit(StmtKind::Assign(slot, zero), span);
        Ok(slot)
    }

    /// The value of a cell as a value of a type.
    pub(crate) fn cell_value(&mut self, slot: SlotId, ty: Option<&hir::Type>, span: Span) -> Result<Option<Value>> {
        match ty {
            Some(ty) if self.scalar_type(ty).is_none() => {
                let mut end = self.slots[slot.index()].ty.width();
                Ok(Some(self.parted(ty, slot, &mut end, span)?))
            }
            _ => Ok(Some(place(slot))),
        }
    }

    /// The colour of a packet. Only colour-blind, or as if the packet was green before.
    fn meter_color(&mut self, object: hir::ObjectId, call: &hir::Call, indices: usize) -> Result<Option<Value>> {
        let (id, span) = (ExternId(object.0), call.span);
        if let Some(color) = call.args.get(indices).and_then(|a| a.value.as_ref())
            && self.member_name(color) != Some("GREEN")
        {
            return Err(self.unsupported(color.span, "a meter that is aware of other colours than green"));
        }
        let slot = self.temp(Type::Bits(32), span);
        let mut args = Arguments::new(self, call)?;
        if indices == 1 {
            args.number(self, 0)?;
        }
        args.args.push(ExternArg::Out(slot));
        let function = if indices == 1 { ExternFn::MeterExecute(id) } else { ExternFn::DirectMeterRead(id) };
        args.finish(self, function, span)?;
        let color = |n: u32| Expr::constant(COLORS[n as usize], Type::Bits(32), span);
        let is =
            |this: &Self, n: u32| compare(this.slot_expr(slot, span), Expr::constant(n, Type::Bits(32), span), span);
        let other = mux(is(self, 1), color(1), color(2), span);
        Ok(Some(Value::Scalar(mux(is(self, 0), color(0), other, span))))
    }

    pub(crate) fn hash_value(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let algorithm = match self.program[object].args.first() {
            Some(e) => self.algorithm(e)?,
            None => return Err(Reported),
        };
        let result = ty.or(self.program[object].type_args.first()).ok_or(Reported)?;
        let Some(Type::Bits(width)) = self.scalar_type(result) else {
            return Err(self.unsupported(span, "a hash that is no number"));
        };
        let slot = self.temp(Type::Bits(width), span);
        let mut args = Arguments::new(self, call)?;
        args.args.push(ExternArg::Out(slot));
        if call.args.len() == 3 {
            args.number(self, 0)?;
            args.list(self, 1)?;
            args.number(self, 2)?;
        } else {
            // Base 0 and a range that keeps all bits of the result.
            let range = Type::Bits(width + 1);
            args.args.push(ExternArg::In(Expr::constant(0u32, Type::Bits(width), span)));
            args.list(self, 0)?;
            let all = num_bigint::BigUint::from(1u32) << width;
            args.args.push(ExternArg::In(Expr::constant(all, range, span)));
        }
        args.finish(self, ExternFn::Hash(algorithm), span)?;
        Ok(Some(place(slot)))
    }

    fn random_value(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let object = &self.program[object];
        let scalar = ty.or(object.type_args.first()).and_then(|ty| self.scalar_type(ty)).ok_or(Reported)?;
        let slot = self.temp(scalar, span);
        let mut args = vec![ExternArg::Out(slot)];
        for bound in &object.args {
            let bound = self.constant(bound)?;
            args.push(ExternArg::In(Expr::constant(bound, scalar, span)));
        }
        self.emit(StmtKind::Extern(ExternCall { function: ExternFn::Random, args, span }), span);
        Ok(Some(place(slot)))
    }

    pub(crate) fn pack_digest(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let mut args = Arguments::new(self, call)?;
        args.args.push(ExternArg::In(Expr::constant(0u32, Type::Bits(32), call.span)));
        args.list(self, 0)?;
        // Controllers of Tofino know digests by their objects, others by their types.
        let name = match self.is_tofino() {
            true => self.program[object].name.clone(),
            false => self.digest_name(&args.at(0)?.ty, call.span),
        };
        args.finish(self, ExternFn::Digest(name), call.span)?;
        Ok(None)
    }

    /// The state is a slot: the one's complement sum of what was added, zero at first.
    fn internet_checksum(&mut self, object: hir::ObjectId, name: &str, call: &hir::Call) -> Result<Option<Value>> {
        let (span, word) = (call.span, Type::Bits(16));
        let sum = self.state_of(object, word, span);
        match name {
            "clear" => self.emit(StmtKind::Assign(sum, Expr::constant(0u32, word, span)), span),
            "add" | "subtract" => self.adjust_sum(sum, name == "add", call)?,
            // What is added afterwards does not change the result.
            "get" => {
                let now = complement(self.slot_expr(sum, span));
                return Ok(Some(Value::Scalar(self.freeze(now))));
            }
            "get_state" => {
                let now = self.slot_expr(sum, span);
                return Ok(Some(Value::Scalar(self.freeze(now))));
            }
            "set_state" => {
                let state = Arguments::new(self, call)?.scalar(self, 0)?;
                self.emit(StmtKind::Assign(sum, state), span);
            }
            _ => return Err(self.unsupported(span, format!("the method `{name}`"))),
        }
        Ok(None)
    }

    /// The slot that holds an object's state, zero at first.
    pub(crate) fn state_of(&mut self, object: hir::ObjectId, ty: Type, span: Span) -> SlotId {
        match self.object_states.get(&object) {
            Some(slot) => *slot,
            None => {
                let slot = self.new_slot(&self.program[object].name.clone(), ty, SlotKind::Local, span);
                self.object_states.insert(object, slot);
                slot
            }
        }
    }

    /// Adds the call's data to a one's complement sum, or subtracts them.
    pub(crate) fn adjust_sum(&mut self, sum: SlotId, add: bool, call: &hir::Call) -> Result<()> {
        let span = call.span;
        let checksum = self.temp(Type::Bits(16), span);
        let mut args = Arguments::new(self, call)?;
        args.args.push(ExternArg::InOut(checksum));
        if add {
            args.args.push(ExternArg::List(Vec::new()));
            args.list(self, 0)?;
        } else {
            args.list(self, 0)?;
            args.args.push(ExternArg::List(Vec::new()));
        }
        let now = complement(self.slot_expr(sum, span));
        self.emit(StmtKind::Assign(checksum, now), span);
        args.finish(self, ExternFn::AdjustChecksum, span)?;
        let now = complement(self.slot_expr(checksum, span));
        self.emit(StmtKind::Assign(sum, now), span);
        Ok(())
    }
}

fn complement(e: Expr) -> Expr {
    let (ty, span) = (e.ty, e.span);
    Expr { kind: ExprKind::Unary(UnaryOp::BitNot, Box::new(e)), ty, span }
}
