//! Tofino's extern objects and functions, in the IR's functions, slots and statements.

use hopwright_ir::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, HashAlgorithm, MatchKind, SlotId,
    SlotKind, StmtKind, Type,
};
use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::own_methods::{is_own, is_register_action};
use crate::externs::Arguments;
use crate::storage::{Loc, Place, Purpose};
use crate::value::{Value, binary, compare, mux, not, place};
use crate::{Lowering, Reported, Result};

/// Values of `MeterColor_t` by the IR's colour: green, yellow, red.
const COLORS: [u32; 3] = [0, 1, 3];
/// Types of objects that have no state, or whose state is in slots.
const STATELESS: &[&str] = &[
    "Checksum",
    "ParserCounter",
    "ParserPriority",
    "CRCPolynomial",
    "Hash",
    "Random",
    "IdleTimeout",
    "MathUnit",
    "SelectorAction",
    "Mirror",
    "Resubmit",
    "Digest",
    "Pktgen",
    "Atcam",
    "Alpm",
];

fn is_stateless(type_name: &str) -> bool {
    STATELESS.contains(&type_name) || is_register_action(type_name) || type_name.starts_with("LearnAction")
}

impl Lowering<'_> {
    /// A match kind that differs from one of the language's for hardware only.
    pub(crate) fn other_match_kind(&self, name: &str) -> Option<MatchKind> {
        (self.is_tofino() && matches!(name, "atcam_partition_index" | "dleft_hash")).then_some(MatchKind::Exact)
    }

    /// The kind of an object; `None` if it is lowered like those of other architectures.
    pub(crate) fn tofino_object(&mut self, object: &hir::Object) -> Option<Result<ExternKind>> {
        Some(match object.type_name.as_str() {
            "ActionSelector" => self.selector_kind(object),
            // The selector that has it stands for both.
            "ActionProfile" if self.selected(object) => Ok(ExternKind::Stateless),
            // A cell for each entry of the table that has it.
            "DirectRegister" => self.register_kind(object, 0),
            // What a controller sets and register actions read.
            "RegisterParam" => self.register_kind(object, 1),
            "Lpf" | "Wred" | "DirectLpf" | "DirectWred" => self.filter_kind(object),
            name if is_stateless(name) => Ok(ExternKind::Stateless),
            _ => return None,
        })
    }

    /// A filter of smoothed values, with the number of its cells first. A direct one has none until it is known which table has it.
    fn filter_kind(&mut self, object: &hir::Object) -> Result<ExternKind> {
        let (type_name, direct) = match object.type_name.strip_prefix("Direct") {
            Some(name) => (name, true),
            None => (object.type_name.as_str(), false),
        };
        let mut args = vec![BigUint::ZERO; usize::from(direct)];
        for arg in &object.args {
            args.push(self.constant(arg)?);
        }
        Ok(ExternKind::Named { type_name: type_name.into(), args })
    }

    /// Whether an action selector has this action profile.
    fn selected(&self, profile: &hir::Object) -> bool {
        let selectors = self.program.objects.iter().filter(|o| o.type_name == "ActionSelector");
        let mut profiles = selectors.filter_map(|o| o.args.first().and_then(object_of));
        profiles.any(|id| std::ptr::eq(&self.program[id], profile))
    }

    fn selector_kind(&mut self, object: &hir::Object) -> Result<ExternKind> {
        let hash = object.args.get(1).and_then(object_of).map(|id| &self.program[id]);
        let algorithm = hash.and_then(|hash| self.algorithm_of(hash)).unwrap_or(HashAlgorithm::Crc32);
        let width = hash.and_then(|h| self.scalar_type(h.type_args.first()?)).map_or(32, |ty| ty.width());
        let size = match object.args.first().and_then(object_of) {
            Some(profile) => self.object_number(&self.program[profile], 0)?,
            None => self.object_number(object, 0)?,
        };
        Ok(ExternKind::ActionSelector { algorithm, size, output_width: width.min(32) })
    }

    /// Lowers an extern function; `None` if it is lowered like those of other architectures.
    pub(crate) fn tofino_function(
        &mut self,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Option<Result<Option<Value>>> {
        Some(match name {
            "invalidate" => self.invalidate(call),
            "max" | "min" => self.extreme(name == "max", call),
            "funnel_shift_right" => self.funnel_shift(call),
            "sizeInBits" | "sizeInBytes" => self.size_of(name == "sizeInBytes", call),
            "port_metadata_unpack" => self.port_metadata(call, ty),
            _ => return None,
        })
    }

    fn invalidate(&mut self, call: &hir::Call) -> Result<Option<Value>> {
        let args = Arguments::new(self, call)?;
        let target = self.target(args.at(0)?)?;
        let Some(place) = target.whole_place().cloned() else {
            return Err(self.unsupported(call.span, "invalidating this"));
        };
        match place {
            Place::Scalar(slot) if self.requests.as_ref().is_some_and(|r| r.ports.contains(&slot)) => {
                let none = Expr::constant(hopwright_ir::DROP_PORT, super::PORT, call.span);
                self.emit(StmtKind::Assign(slot, none), call.span);
            }
            Place::Header(header) => self.emit(StmtKind::SetInvalid(header), call.span),
            place => self.zero(&place, call.span)?,
        }
        Ok(None)
    }

    /// A port of which a program writes some bits has zeros in the others, if it was none.
    pub(crate) fn before_part_of_port(&mut self, slot: SlotId, span: Span) {
        if self.requests.as_ref().is_some_and(|r| r.ports.contains(&slot)) {
            let number = |n: u32| Expr::constant(n, super::PORT, span);
            let none = self.is(slot, hopwright_ir::DROP_PORT, span);
            let port = self.slot_expr(slot, span);
            self.emit(StmtKind::Assign(slot, mux(none, number(0), port, span)), span);
        }
    }

    fn extreme(&mut self, greatest: bool, call: &hir::Call) -> Result<Option<Value>> {
        let mut args = Arguments::new(self, call)?;
        let (a, b) = (args.scalar(self, 0)?, args.scalar(self, 1)?);
        let op = if greatest { BinaryOp::Ge } else { BinaryOp::Le };
        let first = binary(op, a.clone(), b.clone(), Type::Bool, call.span);
        Ok(Some(Value::Scalar(mux(first, a, b, call.span))))
    }

    fn funnel_shift(&mut self, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let mut args = Arguments::new(self, call)?;
        let (target, _) = args.target(self, 0)?;
        let (high, low) = (args.scalar(self, 1)?, args.scalar(self, 2)?);
        let width = low.ty.width();
        let by = self.constant(args.at(3)?)?.to_u32().filter(|by| *by <= width);
        let Some(by) = by else { return Err(self.unsupported(span, "shifting by this many bits")) };
        let both = binary(BinaryOp::Concat, high, low, Type::Bits(2 * width), span);
        let kind = ExprKind::Slice { arg: Box::new(both), hi: by + width - 1, lo: by };
        self.store(&target, Value::Scalar(Expr { kind, ty: Type::Bits(width), span }), span)?;
        Ok(None)
    }

    fn size_of(&mut self, bytes: bool, call: &hir::Call) -> Result<Option<Value>> {
        let args = Arguments::new(self, call)?;
        let mut scalars = Vec::new();
        let value = self.value(args.at(0)?)?;
        self.flatten(&value, call.span, &mut scalars)?;
        let bits: u32 = scalars.iter().map(|e| e.ty.width()).sum();
        let size = if bytes { bits.div_ceil(8) } else { bits };
        Ok(Some(Value::Scalar(Expr::constant(size, Type::Bits(32), call.span))))
    }

    /// The metadata of the packet's port, from a register of the control plane.
    /// Makes the register of port metadata, unless there is one.
    pub(super) fn has_port_metadata(&mut self, span: Span) {
        if self.requests.as_ref().is_none_or(|r| r.port_metadata.is_some()) {
            return;
        }
        let ty = Type::Bits(self.port_metadata_bits());
        let register = self.concurrent_register("port_metadata", 512, ty, span);
        let slot = self.new_slot("tofino.port_metadata", ty, SlotKind::Metadata, span);
        if let Some(requests) = &mut self.requests {
            requests.port_metadata = Some((register, slot));
        }
    }

    fn port_metadata(&mut self, call: &hir::Call, ty: Option<&hir::Type>) -> Result<Option<Value>> {
        let span = call.span;
        let Some(ty) = call.type_args.first().or(ty) else {
            return Err(self.unsupported(span, "port metadata of this type"));
        };
        let width = self.port_metadata_bits();
        self.has_port_metadata(span);
        let name = format!("{}.$port", self.scope);
        let place = self.alloc(ty, &name, Purpose::Local, span)?;
        let mut slots = Vec::new();
        self.scalars_in(&place, &mut slots);
        let mut parts = Vec::new();
        let mut at = 0;
        for slot in slots {
            parts.push((slot, at));
            at += self.slots[slot.index()].ty.width();
        }
        if at > width {
            return Err(self.unsupported(span, format!("port metadata of more than {width} bits")));
        }
        self.emit(StmtKind::Lookahead { total_bits: width, parts }, span);
        let bits = Expr::constant(width, Type::Bits(32), span);
        self.emit(StmtKind::Advance { bits, bound: Some(width) }, span);
        Ok(Some(Value::Loc(Loc::Place(place))))
    }

    /// Lowers a method of an object; `None` if it is lowered like those of other architectures.
    pub(crate) fn tofino_method(
        &mut self,
        object: hir::ObjectId,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Option<Result<Option<Value>>> {
        let type_name = self.program[object].type_name.clone();
        Some(match (type_name.as_str(), name) {
            ("Register", "read") => self.register_value(object, call, ty),
            ("Register", "write") => self.write_register(object, call),
            ("DirectRegister", "read") => self.direct_register_value(object, call, ty),
            ("DirectRegister", "write") => self.write_direct_register(object, call),
            (kind, name) if is_register_action(kind) && is_own(name) => self.own_method(object, name, call, ty),
            (kind, "execute") if is_register_action(kind) && !kind.starts_with("Direct") => {
                if call.args.first().is_none_or(|a| a.value.is_none()) {
                    return Some(Err(self.unsupported(call.span, "a register action without an index")));
                }
                let index = Arguments::new(self, call).and_then(|mut args| {
                    let index = self.cell_index(&mut args, 0)?;
                    Ok((args, self.freeze(index)))
                });
                index.and_then(|(args, index)| self.register_action(object, args, index, 1))
            }
            (kind, "execute_log" | "push" | "pop" | "enqueue" | "dequeue") if is_register_action(kind) => {
                self.log_action(object, name, call)
            }
            ("Register", "clear") => self.clear_register(object, call),
            (kind, "execute") if is_register_action(kind) => {
                let register = self.program[object].args.first().and_then(object_of).ok_or(Reported);
                let index = register.and_then(|register| self.entry_index(register, call.span));
                index.and_then(|index| {
                    let args = Arguments::new(self, call)?;
                    self.register_action(object, args, index, 0)
                })
            }
            ("RegisterParam", "read") => self.register_param(object, call, ty),
            ("Meter", "execute") => self.tofino_color(object, call, true),
            ("DirectMeter", "execute") => self.tofino_color(object, call, false),
            ("Counter", "count") => self.count(object, call),
            ("DirectCounter", "count") => self.count_directly(object, call),
            ("Lpf" | "Wred", "execute") => self.filter(object, call, true),
            ("DirectLpf" | "DirectWred", "execute") => self.filter(object, call, false),
            ("Hash", "get") => self.tofino_hash(object, call, ty),
            ("Random", "get") => self.any_number(object, call),
            ("Checksum", _) => self.tofino_checksum(object, name, call),
            ("ParserCounter", _) => self.parser_counter(object, name, call),
            ("ParserPriority", _) => Ok(None),
            ("Mirror", "emit") => self.request(true, call),
            ("Resubmit", "emit") => self.request(false, call),
            ("Digest", "pack") => self.pack_digest(object, call),
            ("MathUnit", "execute") => self.math_unit(object, call),
            (kind, _) if kind.starts_with("LearnAction") => {
                let why = "the match hardware gives its digest, from the keys of a d-left hash table";
                Err(self.refuse(call.span, "E0501", format!("`{kind}` cannot be run by software: {why}")))
            }
            // Not of the architecture.
            (kind, _) if !is_stateless(kind) && self.is_named(object) => return None,
            (kind, name) => {
                let what = format!("`{name}` of `{kind}`");
                Err(self.unsupported(call.span, what))
            }
        })
    }

    /// The index of a cell, which the declarations let be of any type.
    fn cell_index(&mut self, args: &mut Arguments<'_>, at: usize) -> Result<Expr> {
        let (e, index) = (args.at(at)?, args.scalar(self, at)?);
        if matches!(index.ty, Type::Bits(_)) {
            return Ok(index);
        }
        let name = self.type_name(&e.ty);
        Err(self.refuse(e.span, "E0300", format!("a `bit<W>` is wanted here, not a `{name}`")))
    }

    fn is_named(&self, object: hir::ObjectId) -> bool {
        matches!(self.externs[object.0 as usize].kind, ExternKind::Named { .. })
    }

    fn count(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let id = ExternId(object.0);
        let mut args = Arguments::new(self, call)?;
        args.number(self, 0)?;
        let bytes = match args.at(1) {
            Ok(_) => Some(self.adjusted_length(&mut args, 1)?),
            Err(_) => None,
        };
        let function = match bytes {
            Some(bytes) => {
                args.args.push(ExternArg::In(bytes));
                ExternFn::CounterCountBytes(id)
            }
            None => ExternFn::CounterCount(id),
        };
        args.finish(self, function, call.span)?;
        Ok(None)
    }

    fn count_directly(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let id = ExternId(object.0);
        let mut args = Arguments::new(self, call)?;
        match args.at(0) {
            Ok(_) => {
                let bytes = self.adjusted_length(&mut args, 0)?;
                self.extern_call(ExternFn::DirectCounterCountBytes(id), vec![ExternArg::In(bytes)], call.span);
            }
            Err(_) => self.extern_call(ExternFn::DirectCounterCount(id), Vec::new(), call.span),
        }
        Ok(None)
    }

    /// The packet's length less a number of bytes; zero if that is more.
    fn adjusted_length(&mut self, args: &mut Arguments<'_>, at: usize) -> Result<Expr> {
        let (span, ty) = (args.at(at)?.span, Type::Bits(32));
        let by = args.scalar(self, at)?;
        let by = self.cast(by, ty, span)?;
        let by = self.freeze(by);
        let length = Expr { kind: ExprKind::PacketLength, ty, span };
        let fits = binary(BinaryOp::Ge, length.clone(), by.clone(), Type::Bool, span);
        let rest = binary(BinaryOp::Sub, length, by, ty, span);
        Ok(mux(fits, rest, Expr::constant(0u32, ty, span), span))
    }

    /// Whether an object has a cell for each entry of a table.
    pub(crate) fn has_entry_cells(&self, object: ExternId) -> bool {
        let of_entries = |name: &str| matches!(name, "DirectRegister" | "DirectLpf" | "DirectWred");
        self.is_tofino() && self.program.objects.get(object.index()).is_some_and(|object| of_entries(&object.type_name))
    }

    /// Gives a cell of a filter a value at the packet's time, and returns the result.
    fn filter(&mut self, object: hir::ObjectId, call: &hir::Call, indexed: bool) -> Result<Option<Value>> {
        let (span, word) = (call.span, Type::Bits(32));
        let drops = self.program[object].type_name.ends_with("Wred");
        let mut given = Arguments::new(self, call)?;
        let value = given.scalar(self, 0)?;
        let index = if indexed { self.cell_index(&mut given, 1)? } else { self.entry_index(object, span)? };
        let ty = value.ty;
        if ty.width() > 32 || !matches!(ty, Type::Bits(_)) {
            return Err(self.unsupported(span, "a filter of numbers of more than 32 bits"));
        }
        let standard = self.standard_metadata();
        let time = self.slot_expr(standard.ingress_global_timestamp, span);
        let mut args = vec![
            ExternArg::In(self.cast(value, word, span)?),
            ExternArg::In(self.cast(index, word, span)?),
            ExternArg::In(self.cast(time, Type::Bits(64), span)?),
        ];
        if drops {
            let random = self.temp(word, span);
            let bound = |n: u32| ExternArg::In(Expr::constant(n, word, span));
            self.extern_call(ExternFn::Random, vec![ExternArg::Out(random), bound(0), bound(u32::MAX)], span);
            args.push(ExternArg::In(self.slot_expr(random, span)));
        }
        let result = self.temp(if drops { Type::Bits(8) } else { word }, span);
        args.push(ExternArg::Out(result));
        let instance = Some(ExternId(object.0));
        self.extern_call(ExternFn::Named { instance, name: "execute".into(), no_side_effects: false }, args, span);
        let result = self.slot_expr(result, span);
        Ok(Some(Value::Scalar(if drops { result } else { self.cast(result, ty, span)? })))
    }

    /// The index of the entry whose action runs. Outside of tables' actions, a register that no table has holds one cell.
    pub(super) fn entry_index(&mut self, object: hir::ObjectId, span: Span) -> Result<Expr> {
        if !self.in_table {
            let id = ExternId(object.0);
            let free = !self.tables.iter().any(|table| table.entry_cells.contains(&id));
            if let ExternKind::Register { size, .. } = &mut self.externs[id.index()].kind
                && free
            {
                *size = 1;
                return Ok(Expr::constant(0u32, Type::Bits(32), span));
            }
            return Err(self.unsupported(span, "a direct register or filter outside of the actions of its table"));
        }
        let slot = self.temp(Type::Bits(32), span);
        self.extern_call(ExternFn::EntryIndex, vec![ExternArg::Out(slot)], span);
        Ok(self.slot_expr(slot, span))
    }

    /// The colour of a packet: the worse of what the meter says and of the colour that it has. Red packets are not measured.
    fn tofino_color(&mut self, object: hir::ObjectId, call: &hir::Call, indexed: bool) -> Result<Option<Value>> {
        let (id, span) = (ExternId(object.0), call.span);
        let mut args = Arguments::new(self, call)?;
        if indexed {
            args.number(self, 0)?;
        }
        let (mut before, mut bytes) = (None, None);
        for at in usize::from(indexed)..call.args.len() {
            let Ok(arg) = args.at(at) else { continue };
            if matches!(arg.ty, hir::Type::Enum(_)) {
                let color = args.scalar(self, at)?;
                before = Some(self.freeze(color));
            } else if !matches!(&arg.kind, hir::ExprKind::Int(n) if *n == 0.into()) {
                bytes = Some(self.adjusted_length(&mut args, at)?);
            }
        }
        let color = |n: usize| Expr::constant(COLORS[n], Type::Bits(8), span);
        let slot = self.temp(Type::Bits(32), span);
        let function = match bytes {
            Some(bytes) if indexed => {
                args.args.push(ExternArg::In(bytes));
                ExternFn::MeterExecuteBytes(id)
            }
            None if indexed => ExternFn::MeterExecute(id),
            // It runs where the program says so, not at each hit.
            bytes => {
                let length = Expr { kind: ExprKind::PacketLength, ty: Type::Bits(32), span };
                args.args.push(ExternArg::In(bytes.unwrap_or(length)));
                ExternFn::DirectMeterExecuteBytes(id)
            }
        };
        args.args.push(ExternArg::Out(slot));
        let measure = self.nested(|this| args.finish(this, function, span))?;
        let Some(before) = before else {
            self.block.extend(measure);
            let color = self.measured(slot, span);
            return self.color_value(object, usize::from(indexed) + 1, color, span);
        };
        let red = compare(before.clone(), color(2), span);
        self.branch(not(red.clone(), span), measure, Vec::new(), span);
        let now = self.measured(slot, span);
        let worse = binary(BinaryOp::Ge, before.clone(), now.clone(), Type::Bool, span);
        self.color_value(object, usize::from(indexed) + 1, mux(worse, before, now, span), span)
    }

    /// What a meter returns for a colour: the constructor's values for red, yellow and green from this argument on, if it has them.
    fn color_value(&mut self, object: hir::ObjectId, first: usize, color: Expr, span: Span) -> Result<Option<Value>> {
        let program = self.program;
        let Some([red, yellow, green]) = program[object].args.get(first..first + 3) else {
            return Ok(Some(Value::Scalar(color)));
        };
        let color = self.freeze(color);
        let [red, yellow, green] = [red, yellow, green].map(|value| self.scalar(value));
        let is = |n: usize| compare(color.clone(), Expr::constant(COLORS[n], Type::Bits(8), span), span);
        Ok(Some(Value::Scalar(mux(is(0), green?, mux(is(1), yellow?, red?, span), span))))
    }

    /// The IR's colour as `MeterColor_t`.
    fn measured(&self, slot: SlotId, span: Span) -> Expr {
        let color = |n: usize| Expr::constant(COLORS[n], Type::Bits(8), span);
        let other = mux(self.is(slot, 1, span), color(1), color(2), span);
        mux(self.is(slot, 0, span), color(0), other, span)
    }

    fn any_number(&mut self, object: hir::ObjectId, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let ty = self.program[object].type_args.first().and_then(|ty| self.scalar_type(ty)).ok_or(Reported)?;
        let slot = self.temp(ty, span);
        let most = (BigUint::from(1u32) << ty.width()) - 1u32;
        let args = vec![
            ExternArg::Out(slot),
            ExternArg::In(Expr::constant(0u32, ty, span)),
            ExternArg::In(Expr::constant(most, ty, span)),
        ];
        self.emit(StmtKind::Extern(ExternCall { function: ExternFn::Random, args, span }), span);
        Ok(Some(place(slot)))
    }

    /// The state is the one's complement sum of what was added.
    fn tofino_checksum(&mut self, object: hir::ObjectId, name: &str, call: &hir::Call) -> Result<Option<Value>> {
        let (span, word) = (call.span, Type::Bits(16));
        if name == "update" {
            return self.checksum_of(call);
        }
        let sum = self.state_of(object, word, span);
        match name {
            "add" | "subtract" => {
                self.adjust_sum(sum, name == "add", call)?;
                Ok(None)
            }
            // True if the checksum is wrong.
            "verify" => {
                let right = self.is(sum, 0xffff, span);
                Ok(Some(Value::Scalar(self.freeze(not(right, span)))))
            }
            "get" => {
                let now = self.slot_expr(sum, span);
                Ok(Some(Value::Scalar(self.freeze(now))))
            }
            "subtract_all_and_deposit" => {
                self.deposit_residual(sum, call)?;
                Ok(None)
            }
            _ => Err(self.unsupported(span, format!("the method `{name}`"))),
        }
    }

    /// `update`: the checksum of the data alone.
    fn checksum_of(&mut self, call: &hir::Call) -> Result<Option<Value>> {
        let (span, word) = (call.span, Type::Bits(16));
        let slot = self.temp(word, span);
        let mut args = Arguments::new(self, call)?;
        args.args.push(ExternArg::In(Expr::boolean(true, span)));
        args.list(self, 0)?;
        let ones = match args.at(1) {
            Ok(_) => Some(args.scalar(self, 1)?),
            Err(_) => None,
        };
        args.args.push(ExternArg::InOut(slot));
        let function = ExternFn::UpdateChecksum { algorithm: HashAlgorithm::Csum16, payload: false };
        args.finish(self, function, span)?;
        let sum = self.slot_expr(slot, span);
        let Some(ones) = ones else { return Ok(Some(Value::Scalar(sum))) };
        let zero = compare(sum.clone(), Expr::constant(0u32, word, span), span);
        let replaced = binary(BinaryOp::LogicalAnd, zero, ones, Type::Bool, span);
        Ok(Some(Value::Scalar(mux(replaced, Expr::constant(0xffffu32, word, span), sum, span))))
    }
}

/// The object that an argument is.
pub(super) fn object_of(e: &hir::Expr) -> Option<hir::ObjectId> {
    match e.kind {
        hir::ExprKind::Object(id) => Some(id),
        _ => None,
    }
}
