//! Extern objects, extern functions and methods, methods of headers and packets.

use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

pub(crate) use crate::arguments::Arguments;
use crate::storage::{Loc, Place, Purpose};
use crate::value::Value;
use crate::{Lowering, Result};
use hopwright_ir::{
    Expr, ExternArg, ExternFn, ExternId, ExternInstance, ExternKind, FieldList, HashAlgorithm, HeaderId, SlotId,
    StackId, StmtKind, Type, Unit,
};

impl Lowering<'_> {
    /// Lowers all extern objects. Their ids are their positions.
    pub(crate) fn objects(&mut self) {
        for object in &self.program.objects {
            let kind = self
                .object_kind(object)
                .unwrap_or(ExternKind::Named { type_name: object.type_name.clone(), args: Vec::new() });
            // Packets only read the parameters of register actions.
            let only_read = self.is_tofino() && object.type_name == "RegisterParam";
            let concurrent = only_read || object.annotations.iter().any(|a| a.name == "concurrent");
            let initial = match kind {
                ExternKind::Register { ty, .. } => self.initial_value(object, ty).unwrap_or_default(),
                _ => BigUint::ZERO,
            };
            let name = object.name.clone();
            self.externs.push(ExternInstance { name, id: None, kind, concurrent, initial, span: object.span });
        }
    }

    /// What a register's cells hold at first: the constructor's argument behind the size, which direct registers and
    /// parameters of register actions do not have.
    fn initial_value(&mut self, object: &hir::Object, ty: Type) -> Result<BigUint> {
        let at = usize::from(!matches!(object.type_name.as_str(), "DirectRegister" | "RegisterParam"));
        let Some(initial) = object.args.get(at) else { return Ok(BigUint::ZERO) };
        let block = std::mem::take(&mut self.block);
        let whole = self.value(initial).and_then(|value| self.joined(&value, initial.span));
        self.block = block;
        match hopwright_opt::fold::folded(whole?).as_const() {
            Some(value) if value.bits() <= u64::from(ty.width()) => Ok(value.clone()),
            _ => Err(self.unsupported(initial.span, "this initial value of a register")),
        }
    }

    fn object_kind(&mut self, object: &hir::Object) -> Result<ExternKind> {
        if self.is_tofino()
            && let Some(kind) = self.tofino_object(object)
        {
            return kind;
        }
        Ok(match object.type_name.as_str() {
            "counter" | "Counter" => {
                ExternKind::Counter { size: self.object_number(object, 0)?, unit: self.object_unit(object, 1)? }
            }
            "direct_counter" | "DirectCounter" => {
                ExternKind::DirectCounter { table: None, unit: self.object_unit(object, 0)? }
            }
            "meter" | "Meter" => {
                ExternKind::Meter { size: self.object_number(object, 0)?, unit: self.object_unit(object, 1)? }
            }
            "direct_meter" | "DirectMeter" => {
                ExternKind::DirectMeter { table: None, unit: self.object_unit(object, 0)? }
            }
            "register" | "Register" => {
                let size = self.object_number(object, 0)?;
                self.register_kind(object, size)?
            }
            "action_profile" | "ActionProfile" => ExternKind::ActionProfile { size: self.object_number(object, 0)? },
            "action_selector" | "ActionSelector" => ExternKind::ActionSelector {
                algorithm: match object.args.first() {
                    Some(e) => self.algorithm(e)?,
                    None => return Err(self.unsupported(object.span, "this action selector")),
                },
                size: self.object_number(object, 1)?,
                output_width: self.object_number(object, 2)? as u32,
            },
            "Checksum16" => ExternKind::Stateless,
            // Their methods are lowered in `psa`.
            "Hash"
            | "InternetChecksum"
            | "Random"
            | "Digest"
            | "PacketReplicationEngine"
            | "BufferingQueueingEngine"
                if self.is_portable() =>
            {
                ExternKind::Stateless
            }
            _ => {
                let args: Result<Vec<_>> = object.args.iter().map(|a| self.constant(a)).collect();
                ExternKind::Named { type_name: object.type_name.clone(), args: args? }
            }
        })
    }

    pub(crate) fn register_kind(&mut self, object: &hir::Object, size: u64) -> Result<ExternKind> {
        let Some(ty) = object.type_args.first().and_then(|t| self.cell_type(t)) else {
            let what = "a register holds numbers, truth values, and structs and tuples of these";
            return Err(self.refuse(object.span, "E0457", what.into()));
        };
        Ok(ExternKind::Register { size, ty })
    }

    pub(crate) fn object_number(&mut self, object: &hir::Object, index: usize) -> Result<u64> {
        let number = match object.args.get(index) {
            Some(e) => self.constant(e)?.to_u64(),
            None => None,
        };
        number.ok_or_else(|| self.unsupported(object.span, "this size"))
    }

    fn object_unit(&mut self, object: &hir::Object, index: usize) -> Result<Unit> {
        match object.args.get(index).and_then(|e| self.member_name(e)) {
            Some("packets" | "PACKETS") => Ok(Unit::Packets),
            Some("bytes" | "BYTES") => Ok(Unit::Bytes),
            Some("packets_and_bytes" | "PACKETS_AND_BYTES") => Ok(Unit::Both),
            _ => Err(self.unsupported(object.span, "this kind of counter or meter")),
        }
    }

    /// Returns a digest's name for the control plane: the type of its data, or a number if the type has no name.
    pub(crate) fn digest_name(&mut self, ty: &hir::Type, span: Span) -> String {
        if let hir::Type::Struct(id) | hir::Type::Header(id) | hir::Type::Union(id) = ty
            && self.program[*id].span != Span::none()
        {
            return self.program[*id].control_plane_name.clone();
        }
        let at = self.nameless_digests.iter().position(|s| *s == span).unwrap_or_else(|| {
            self.nameless_digests.push(span);
            self.nameless_digests.len() - 1
        });
        format!("digest_{at}")
    }

    /// Returns the name of the enum member that an expression is.
    pub(crate) fn member_name(&self, e: &hir::Expr) -> Option<&str> {
        match &e.kind {
            hir::ExprKind::EnumMember(id, index) => self.program[*id].members.get(*index).map(|m| m.0.as_str()),
            hir::ExprKind::Cast(inner) => self.member_name(inner),
            _ => None,
        }
    }

    pub(crate) fn algorithm(&mut self, e: &hir::Expr) -> Result<HashAlgorithm> {
        Ok(match self.member_name(e) {
            Some("crc32" | "CRC32" | "TARGET_DEFAULT") => HashAlgorithm::Crc32,
            Some("crc32_custom" | "CRC32_CUSTOM") => HashAlgorithm::Crc32Custom,
            Some("crc16" | "CRC16") => HashAlgorithm::Crc16,
            Some("crc16_custom" | "CRC16_CUSTOM") => HashAlgorithm::Crc16Custom,
            Some("random") => HashAlgorithm::Random,
            Some("identity" | "IDENTITY") => HashAlgorithm::Identity,
            Some("csum16" | "ONES_COMPLEMENT16") => HashAlgorithm::Csum16,
            Some("xor16") => HashAlgorithm::Xor16,
            _ => return Err(self.unsupported(e.span, "a hash algorithm that is not known at compile time")),
        })
    }

    /// Lowers a call of an extern function.
    pub(crate) fn extern_function(
        &mut self,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        if self.is_tofino()
            && let Some(done) = self.tofino_function(name, call, ty)
        {
            return done;
        }
        if let Some(done) = self.nic_function(name, call).or_else(|| self.defined_function(name, call, ty)) {
            return done;
        }
        let mut args = Arguments::new(self, call)?;
        let function = match name {
            _ if self.program.architecture().is_some_and(|a| a.drop.as_ref().is_some_and(|d| d.function == name)) => {
                self.drop_packet(call)?;
                return Ok(None);
            }
            "verify" => {
                let cond = args.scalar(self, 0)?;
                let error = args.scalar(self, 1)?;
                self.emit(StmtKind::Verify(cond, error), span);
                return Ok(None);
            }
            "hash" => {
                let algorithm = self.algorithm(args.at(1)?)?;
                args.check_number(self, 0)?;
                args.output(self, 0)?;
                args.number(self, 2)?;
                args.list(self, 3)?;
                args.number(self, 4)?;
                ExternFn::Hash(algorithm)
            }
            "digest" => {
                args.input(self, 0)?;
                args.list(self, 1)?;
                let data = args.at(1)?;
                let type_name = call.type_args.first().unwrap_or(&data.ty);
                ExternFn::Digest(self.digest_name(type_name, span))
            }
            "clone" | "clone_preserving_field_list" | "clone3" => self.clone_request(name, &mut args, span)?,
            "resubmit_preserving_field_list" => ExternFn::Resubmit(self.list_number(args.at(0)?)?),
            "recirculate_preserving_field_list" => ExternFn::Recirculate(self.list_number(args.at(0)?)?),
            "resubmit" => ExternFn::Resubmit(self.list_of(&mut args, 0)?),
            "recirculate" => ExternFn::Recirculate(self.list_of(&mut args, 0)?),
            "log_msg" => {
                let hir::ExprKind::String(format) = &args.at(0)?.kind else {
                    return Err(self.unsupported(span, "a format that is not known at compile time"));
                };
                let format = format.clone();
                if call.args.len() > 1 {
                    args.list(self, 1)?;
                } else {
                    args.args.push(ExternArg::List(Vec::new()));
                }
                ExternFn::LogMsg(format)
            }
            "verify_checksum" | "verify_checksum_with_payload" => {
                args.input(self, 0)?;
                args.list(self, 1)?;
                args.number(self, 2)?;
                let algorithm = self.algorithm(args.at(3)?)?;
                ExternFn::VerifyChecksum { algorithm, payload: name.ends_with("payload") }
            }
            "update_checksum" | "update_checksum_with_payload" => {
                args.input(self, 0)?;
                args.list(self, 1)?;
                args.check_number(self, 2)?;
                args.in_out(self, 2)?;
                let algorithm = self.algorithm(args.at(3)?)?;
                ExternFn::UpdateChecksum { algorithm, payload: name.ends_with("payload") }
            }
            _ if self.is_psa() && name.starts_with("psa_") => return self.psa_function(name, call),
            "static_assert" => return Ok(Some(Value::Scalar(Expr::boolean(true, span)))),
            _ => match ExternFn::find(name, None, &[]) {
                Some(function) => {
                    let result = args.described(self, &function, ty)?;
                    args.finish(self, function, span)?;
                    return Ok(result);
                }
                None => return self.named(None, name, args, ty),
            },
        };
        args.finish(self, function, span)?;
        Ok(None)
    }

    fn clone_request(&mut self, name: &str, args: &mut Arguments<'_>, span: Span) -> Result<ExternFn> {
        let egress = match self.member_name(args.at(0)?) {
            Some("I2E") => false,
            Some("E2E") => true,
            _ => return Err(self.unsupported(span, "a clone type that is not known at compile time")),
        };
        args.input(self, 1)?;
        let field_list = match name {
            "clone_preserving_field_list" => Some(self.list_number(args.at(2)?)?),
            "clone3" => Some(self.list_of(args, 2)?),
            _ => None,
        };
        Ok(ExternFn::Clone { egress, field_list })
    }

    /// Lowers a call of a method of an extern object.
    pub(crate) fn extern_method(
        &mut self,
        object: hir::ObjectId,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let id = ExternId(object.0);
        if self.is_portable()
            && let Some(done) = self.psa_method(object, name, call, ty)
        {
            return done;
        }
        if self.is_tofino()
            && let Some(done) = self.tofino_method(object, name, call, ty)
        {
            return done;
        }
        let mut args = Arguments::new(self, call)?;
        let function = match (self.program[object].type_name.as_str(), name) {
            ("register", "read") if args.is_record(self, 0) => return self.read_record(id, args),
            ("register" | "Register", "write") if args.is_record(self, 1) => {
                args.number(self, 0)?;
                args.whole(self, 1)?;
                ExternFn::RegisterWrite(id)
            }
            ("Checksum16", "get") => {
                // Like `hash` with base 0 and a range that keeps all 16 bits.
                let (word, range) = (Type::Bits(16), Type::Bits(32));
                let slot = self.temp(word, call.span);
                args.args.push(ExternArg::Out(slot));
                args.args.push(ExternArg::In(Expr::constant(0u32, word, call.span)));
                args.list(self, 0)?;
                args.args.push(ExternArg::In(Expr::constant(1u32 << 16, range, call.span)));
                args.finish(self, ExternFn::Hash(HashAlgorithm::Csum16), call.span)?;
                return Ok(Some(Value::Loc(Loc::Place(Place::Scalar(slot)))));
            }
            _ => match ExternFn::find(name, Some((id, &self.externs[id.index()])), &[]) {
                Some(method) => {
                    let result = args.described(self, &method, ty)?;
                    args.finish(self, method, call.span)?;
                    return Ok(result);
                }
                None => return self.named(Some(id), name, args, ty),
            },
        };
        args.finish(self, function, call.span)?;
        Ok(None)
    }

    /// Lowers a call of an extern that is registered by name.
    fn named(
        &mut self,
        instance: Option<ExternId>,
        name: &str,
        mut args: Arguments<'_>,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = args.call.span;
        if let Some(object) = instance.map(|id| &self.externs[id.index()])
            && !matches!(object.kind, ExternKind::Named { .. })
        {
            let type_name = instance.map(|id| self.program.objects[id.index()].type_name.clone()).unwrap_or_default();
            return Err(self.unsupported(span, format!("the method `{name}` of `{type_name}`")));
        }
        for (i, arg) in args.call.args.iter().enumerate() {
            match (arg.direction, &arg.value) {
                (hir::Direction::Out, Some(_)) => args.output(self, i)?,
                (hir::Direction::InOut, Some(_)) => args.in_out(self, i)?,
                (_, Some(e)) if self.scalar_type(&e.ty).is_some() => args.input(self, i)?,
                (_, Some(_)) => args.inputs(self, i)?,
                // An optional argument that is omitted.
                (_, None) => {}
            }
        }
        let result = args.result(self, ty)?;
        let no_side_effects = args.call.no_side_effects;
        args.finish(self, ExternFn::Named { instance, name: name.to_string(), no_side_effects }, span)?;
        Ok(result)
    }

    /// Sets the intrinsic metadata that makes the architecture drop the packet.
    fn drop_packet(&mut self, call: &hir::Call) -> Result<()> {
        let Some(drop) = self.program.architecture().and_then(|a| a.drop.as_ref()) else { return Ok(()) };
        // The argument is the intrinsic metadata or a copy of it.
        let argument = call.args.first().and_then(|a| a.value.as_ref());
        let copy = match argument.map(|e| (e, &e.ty)) {
            Some((e, hir::Type::Struct(id))) => Some((self.target(e)?, *id)),
            _ => None,
        };
        for (name, value) in drop.sets {
            let mut slot = self.standard.get(*name).copied();
            if let Some((target, id)) = &copy
                && let Some(index) = self.program[*id].fields.iter().position(|f| f.name == *name)
                && let Some(Place::Struct(places)) = target.whole_place()
                && let Some(Place::Scalar(found)) = places.get(index)
            {
                slot = Some(*found);
            }
            if let Some(slot) = slot {
                let ty = self.slots[slot.index()].ty;
                self.emit(StmtKind::Assign(slot, Expr::constant(*value, ty, call.span)), call.span);
            }
        }
        Ok(())
    }

    fn list_number(&mut self, e: &hir::Expr) -> Result<u8> {
        match self.constant(e)?.to_u8() {
            Some(number) => Ok(number),
            None => Err(self.unsupported(e.span, "this field list number")),
        }
    }

    /// Creates a field list for the data of a deprecated resubmit, recirculate or clone.
    fn list_of(&mut self, args: &mut Arguments<'_>, index: usize) -> Result<u8> {
        let e = args.at(index)?;
        let value = args.value(self, index)?;
        let mut scalars = Vec::new();
        self.flatten(&value, e.span, &mut scalars)?;
        let mut slots = Vec::new();
        for scalar in scalars {
            match scalar.kind {
                hopwright_ir::ExprKind::Slot(slot) => slots.push(slot),
                hopwright_ir::ExprKind::Const(_) => {}
                _ => return Err(self.unsupported(e.span, "a field list with computed values")),
            }
        }
        if let Some(list) = self.field_lists.iter().find(|l| l.slots == slots) {
            return Ok(list.index);
        }
        let free = (0..=u8::MAX).rev().find(|&n| self.field_lists.iter().all(|l| l.index != n));
        let Some(index) = free else {
            return Err(self.unsupported(e.span, "this many field lists"));
        };
        self.field_lists.push(FieldList { index, slots });
        Ok(index)
    }

    /// Lowers a call of a method of a header, union or stack.
    pub(crate) fn builtin(&mut self, receiver: &hir::Expr, name: &str, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        match name {
            "isValid" => {
                let value = self.path(receiver)?;
                Ok(Some(Value::Scalar(self.is_valid(&value, span)?)))
            }
            "setValid" | "setInvalid" => {
                let target = self.target(receiver)?;
                self.set_validity(&target.loc, name == "setValid", span)?;
                Ok(None)
            }
            "push_front" | "pop_front" => {
                let count = match call.args.first().and_then(|a| a.value.as_ref()) {
                    Some(e) => self.constant(e)?.to_u32().unwrap_or(u32::MAX),
                    None => 1,
                };
                let (place, _) = self.stack_of(receiver, span)?;
                let Place::Stack(stack) = place else {
                    self.shift_unions(&place, count, name == "push_front", span)?;
                    return Ok(None);
                };
                self.emit(
                    if name == "push_front" {
                        StmtKind::PushFront(stack, count)
                    } else {
                        StmtKind::PopFront(stack, count)
                    },
                    span,
                );
                Ok(None)
            }
            _ => Err(self.unsupported(span, format!("the method `{name}`"))),
        }
    }

    fn set_validity(&mut self, loc: &Loc, valid: bool, span: Span) -> Result<()> {
        match loc {
            Loc::Place(Place::Header(h)) => {
                self.note_length(*h, valid, span);
                if valid {
                    self.set_valid(*h, span);
                } else {
                    self.set_invalid(*h, span);
                }
                Ok(())
            }
            Loc::Place(_) => Err(self.unsupported(span, "setting the validity of a value that is no header")),
            Loc::Select { index, options } => {
                self.switch_on_index(index, options, span, |this, option| this.set_validity(option, valid, span))
            }
        }
    }

    /// Lowers a call of a method of the packet being parsed or built.
    pub(crate) fn packet_method(
        &mut self,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        let first = call.args.first().and_then(|a| a.value.as_ref());
        match (name, first) {
            ("extract", first) => {
                self.extract(first, call)?;
                Ok(None)
            }
            ("advance", Some(e)) => {
                let bits = self.scalar(e)?;
                let bits = self.cast(bits, Type::Bits(32), span)?;
                self.emit(StmtKind::Advance { bits, bound: None }, span);
                Ok(None)
            }
            ("length", _) => {
                let kind = hopwright_ir::ExprKind::PacketLength;
                Ok(Some(Value::Scalar(Expr { kind, ty: Type::Bits(32), span })))
            }
            ("lookahead", _) => {
                let Some(ty) = call.type_args.first().or(ty) else {
                    return Err(self.unsupported(span, "`lookahead` of this type"));
                };
                let name = format!("{}.$ahead", self.scope);
                let place = self.alloc(ty, &name, Purpose::Local, span)?;
                self.lookahead(&place, span)?;
                Ok(Some(Value::Loc(Loc::Place(place))))
            }
            ("emit", Some(e)) => {
                let value = self.path(e)?;
                self.emit_value(&value, &e.ty, span)?;
                Ok(None)
            }
            _ => Err(self.unsupported(span, format!("the packet's method `{name}`"))),
        }
    }

    fn extract(&mut self, target: Option<&hir::Expr>, call: &hir::Call) -> Result<()> {
        let span = call.span;
        // `stack.next` is an operation of its own; for a stack of unions it takes several.
        let next: Option<StackId> = match target.map(|e| &e.kind) {
            Some(hir::ExprKind::StackNext(stack)) => match self.stack_of(stack, span)?.0 {
                Place::Stack(stack) => Some(stack),
                _ => return Err(self.unsupported(span, "extracting a header union")),
            },
            _ => None,
        };
        let advanced = match target.map(|e| &e.kind) {
            Some(hir::ExprKind::Field(inner, _)) => match &inner.kind {
                hir::ExprKind::StackNext(stack) => Some(self.stack_of(stack, span)?),
                _ => None,
            },
            _ => None,
        };
        let loc = match (next, target) {
            (Some(_), _) => None,
            (None, Some(e)) => {
                let target = self.target(e)?;
                Some(self.freeze_loc(target.loc))
            }
            (None, None) => {
                let Some(ty) = call.type_args.first() else {
                    return Err(self.unsupported(span, "extracting this type"));
                };
                let name = format!("{}.$skipped", self.scope);
                Some(Loc::Place(self.alloc(ty, &name, Purpose::Local, span)?))
            }
        };
        let varbit_bits = match call.args.get(1).and_then(|a| a.value.as_ref()) {
            Some(e) => {
                let bits = self.scalar(e)?;
                Some(self.cast(bits, Type::Bits(32), span)?)
            }
            None => None,
        };
        match (next, loc) {
            (Some(stack), _) => {
                self.emit(StmtKind::ExtractNext { stack, varbit_bits }, span);
                self.subtract_next(stack, span)
            }
            (None, Some(loc)) => {
                self.extract_at(&loc, varbit_bits, span)?;
                if let Some((place, next)) = advanced
                    && let Some(slot) = self.next_index(&place)
                {
                    let one = Expr::constant(1u32, next.ty, span);
                    let ty = next.ty;
                    let sum = crate::value::binary(hopwright_ir::BinaryOp::Add, next, one, ty, span);
                    self.emit(StmtKind::Assign(slot, sum), span);
                }
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Lowers `push_front` and `pop_front` of a stack of header unions.
    fn shift_unions(&mut self, stack: &Place, count: u32, push: bool, span: Span) -> Result<()> {
        let elements = self.elements(stack);
        let (size, by) = (elements.len(), (count as usize).min(elements.len()));
        if push {
            for i in (by..size).rev() {
                self.store_loc(&Loc::Place(elements[i].clone()), place_value(&elements[i - by]), span)?;
            }
            elements[..by].iter().try_for_each(|e| self.zero(e, span))?;
        } else {
            for i in by..size {
                self.store_loc(&Loc::Place(elements[i - by].clone()), place_value(&elements[i]), span)?;
            }
            elements[size - by..].iter().try_for_each(|e| self.zero(e, span))?;
        }
        let Some(slot) = self.next_index(stack) else {
            return Ok(());
        };
        let ty = Type::Bits(32);
        let number = |n: usize| Expr::constant(n, ty, span);
        let next = self.slot_expr(slot, span);
        use crate::value::{binary, mux};
        use hopwright_ir::BinaryOp::{Add, Gt, Sub};
        let value = if push {
            let full = binary(Gt, next.clone(), number(size - by), Type::Bool, span);
            mux(full, number(size), binary(Add, next, number(by), ty, span), span)
        } else {
            let some = binary(Gt, next.clone(), number(by), Type::Bool, span);
            mux(some, binary(Sub, next, number(by), ty, span), number(0), span)
        };
        self.emit(StmtKind::Assign(slot, value), span);
        Ok(())
    }

    fn extract_at(&mut self, loc: &Loc, varbit_bits: Option<Expr>, span: Span) -> Result<()> {
        match loc {
            Loc::Place(Place::Header(header)) => {
                let (header, siblings) = (*header, self.siblings(*header));
                if self.headers[header.index()].varbit.is_some() != varbit_bits.is_some() {
                    return Err(self.refuse(
                        span,
                        "E0453",
                        "`extract` takes a size exactly if the header has a varbit member".into(),
                    ));
                }
                self.emit(StmtKind::Extract { header, varbit_bits }, span);
                self.subtract_extracted(header, span)?;
                siblings.into_iter().for_each(|s| self.emit(StmtKind::SetInvalid(s), span));
                Ok(())
            }
            Loc::Place(_) => Err(self.unsupported(span, "extracting into a value that is no header")),
            Loc::Select { index, options } => self.switch_on_index(index, options, span, |this, option| {
                this.extract_at(option, varbit_bits.clone(), span)
            }),
        }
    }

    /// Lowers `left = packet.lookahead<T>()` without a temporary. Returns false if that is not possible.
    pub(crate) fn direct_lookahead(&mut self, left: &Loc, right: &hir::Expr, span: Span) -> Result<bool> {
        let (Loc::Place(place), hir::ExprKind::Call(call)) = (left, &right.kind) else {
            return Ok(false);
        };
        if !matches!(&call.callee, hir::Callee::Packet(name) if name == "lookahead") {
            return Ok(false);
        }
        let mut headers: Vec<HeaderId> = Vec::new();
        self.headers_in(place, &mut headers);
        if !headers.is_empty() {
            return Ok(false);
        }
        self.lookahead(place, span)?;
        Ok(true)
    }

    /// Looks ahead into a place; its headers become valid.
    fn lookahead(&mut self, place: &Place, span: Span) -> Result<()> {
        let mut headers = Vec::new();
        self.headers_in(place, &mut headers);
        let mut slots: Vec<SlotId> = Vec::new();
        self.scalars_in(place, &mut slots);
        for header in headers {
            self.set_valid(header, span);
        }
        let mut parts = Vec::with_capacity(slots.len());
        let mut total_bits = 0;
        for slot in slots {
            let ty = self.slots[slot.index()].ty;
            if matches!(ty, Type::Varbit(_)) {
                return Err(self.refuse(span, "E0453", "`lookahead` needs a type of fixed size".into()));
            }
            parts.push((slot, total_bits));
            total_bits += ty.width();
        }
        self.emit(StmtKind::Lookahead { total_bits, parts }, span);
        Ok(())
    }

    /// Emits all headers in a value.
    fn emit_value(&mut self, value: &Value, ty: &hir::Type, span: Span) -> Result<()> {
        match value {
            Value::Loc(Loc::Place(place)) => {
                let mut headers = Vec::new();
                self.headers_in(place, &mut headers);
                headers.into_iter().for_each(|h| self.emit(StmtKind::Emit(h), span));
                Ok(())
            }
            Value::Loc(Loc::Select { index, options }) => self.switch_on_index(index, options, span, |this, option| {
                this.emit_value(&Value::Loc(option.clone()), ty, span)
            }),
            Value::Tree(members) if !matches!(ty, hir::Type::Header(_)) => {
                let types: Vec<hir::Type> = match ty {
                    hir::Type::Struct(id) => self.program[*id].fields.iter().map(|f| f.ty.clone()).collect(),
                    hir::Type::Tuple(types) => types.to_vec(),
                    hir::Type::Stack(element, n) => vec![(**element).clone(); *n as usize],
                    _ => return Err(self.unsupported(span, "emitting this value")),
                };
                for (member, ty) in members.iter().zip(&types) {
                    self.emit_value(member, ty, span)?;
                }
                Ok(())
            }
            Value::Tree(_) => {
                let name = format!("{}.$emitted", self.scope);
                let place = self.alloc(ty, &name, Purpose::Local, span)?;
                self.store_loc(&Loc::Place(place.clone()), value.clone(), span)?;
                self.emit_value(&Value::Loc(Loc::Place(place)), ty, span)
            }
            Value::Invalid => Ok(()),
            Value::Scalar(_) => Err(self.unsupported(span, "emitting a value that is no header")),
        }
    }
}

fn place_value(place: &Place) -> Value {
    Value::Loc(Loc::Place(place.clone()))
}
