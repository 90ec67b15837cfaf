//! Primitives of actions: those of BMv2's core and of `simple_switch`.

use hopwright_ir::custom_crc;
use hopwright_ir::{
    DROP_PORT, Expr, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, HeaderId, Span, StackId, Stmt, StmtKind,
    Type, UnionId,
};
use hopwright_opt::length;
use serde_json::Value;

use crate::format::Call;
use crate::lvalue::{Lvalue, index_of};
use crate::number::{Number, Operator, cast};
use crate::operand::{Operand, text, typed};
use crate::{Reader, Result, constant, error};

/// The parameters of a call, with their paths.
pub(crate) struct Parameters<'v> {
    values: &'v [Value],
    path: String,
}

impl<'v> Parameters<'v> {
    fn get(&self, at: usize) -> (&'v Value, String) {
        (&self.values[at], format!("{}.parameters[{at}]", self.path))
    }
}

impl Reader<'_> {
    /// Adds the statements of a primitive.
    pub(crate) fn primitive(&mut self, call: &Call, path: &str) -> Result<()> {
        let (least, most) = match call.op.as_str() {
            "no_op" | "drop" => (0, 0),
            "mark_to_drop" => (0, 1),
            "add_header" | "add_header_fast" | "remove_header" | "truncate" | "assert" | "assume" | "resubmit"
            | "recirculate" => (1, 1),
            "log_msg" => (1, 2),
            "push" | "pop" => (1, 2),
            "modify_field_rng_uniform"
            | "add"
            | "subtract"
            | "bit_xor"
            | "bit_or"
            | "bit_and"
            | "shift_left"
            | "shift_right"
            | "execute_meter"
            | "register_read"
            | "register_write" => (3, 3),
            "modify_field_with_hash_based_offset" => (4, 4),
            _ => (2, 2),
        };
        let count = call.parameters.len();
        let p = Parameters { values: &call.parameters, path: path.to_string() };
        let known = if count < least || count > most { false } else { self.known_primitive(&call.op, &p)? };
        match known {
            true => Ok(()),
            false if count < least || count > most => {
                error(&format!("{path}.parameters"), format!("`{}` does not take {count} parameters", call.op))
            }
            false => error(&format!("{path}.op"), format!("the primitive `{}` is not known", call.op)),
        }
    }

    /// Adds the statements of a primitive; returns whether it is known.
    fn known_primitive(&mut self, op: &str, p: &Parameters<'_>) -> Result<bool> {
        match op {
            "no_op" => {}
            "assign" | "modify_field" | "set" => self.assign(p)?,
            "add_to_field" => self.update(Operator::Add, p)?,
            "subtract_from_field" => self.update(Operator::Sub, p)?,
            "add" => self.compute(Operator::Add, p)?,
            "subtract" => self.compute(Operator::Sub, p)?,
            "bit_xor" => self.compute(Operator::Xor, p)?,
            "bit_or" => self.compute(Operator::Or, p)?,
            "bit_and" => self.compute(Operator::And, p)?,
            "shift_left" => self.compute(Operator::Shl, p)?,
            "shift_right" => self.compute(Operator::Shr, p)?,
            "assign_VL" => self.assign_varbit(p)?,
            "assign_header" | "copy_header" => self.assign_header(p)?,
            "assign_union" => self.assign_union(p)?,
            "assign_header_stack" | "assign_union_stack" => self.assign_stack(p)?,
            "add_header" | "add_header_fast" => {
                let (value, path) = p.get(0);
                let header = self.header_operand(value, &path)?;
                self.for_chosen(&header, &mut |this, id| {
                    if op == "add_header" {
                        this.note_length(id, true);
                    }
                    this.set_valid(id);
                    Ok(())
                })?;
            }
            "remove_header" => {
                let (value, path) = p.get(0);
                let header = self.header_operand(value, &path)?;
                self.for_chosen(&header, &mut |this, id| {
                    this.note_length(id, false);
                    this.emit(StmtKind::SetInvalid(id));
                    Ok(())
                })?;
            }
            "push" | "pop" => self.shift_stack(op == "push", p)?,
            "drop" | "mark_to_drop" => self.mark_to_drop(),
            "truncate" => {
                let (value, path) = p.get(0);
                let length = self.number(value, &path)?.low_bits(32, &path)?;
                self.call(ExternFn::Truncate, vec![ExternArg::In(length)]);
            }
            "assert" | "assume" => {
                let (value, path) = p.get(0);
                let condition = self.condition(value, &path)?;
                let function = if op == "assert" { ExternFn::Assert } else { ExternFn::Assume };
                self.call(function, vec![ExternArg::In(condition)]);
            }
            "log_msg" => self.log_msg(p)?,
            "modify_field_rng_uniform" => self.random(p)?,
            "modify_field_with_hash_based_offset" => self.hash(p)?,
            "generate_digest" => self.digest(p)?,
            "clone_ingress_pkt_to_egress" => self.clone_packet(false, p)?,
            "clone_egress_pkt_to_egress" => self.clone_packet(true, p)?,
            "resubmit" => self.start_over(ExternFn::Resubmit, p)?,
            "recirculate" => self.start_over(ExternFn::Recirculate, p)?,
            "count" => self.count(p)?,
            "execute_meter" => self.execute_meter(p)?,
            "register_read" => self.register_read(p)?,
            "register_write" => self.register_write(p)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn number_at(&mut self, p: &Parameters<'_>, at: usize) -> Result<Number> {
        let (value, path) = p.get(at);
        self.number(value, &path)
    }

    fn assign(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((target, path), (value, value_path)) = (p.get(0), p.get(1));
        let place = self.lvalue(target, &path)?;
        let number = self.number(value, &value_path)?;
        self.store(&place, &number, &path)
    }

    /// `place = place op number`.
    fn update(&mut self, op: Operator, p: &Parameters<'_>) -> Result<()> {
        let (target, path) = p.get(0);
        let place = self.lvalue(target, &path)?;
        let (old, number) = (self.load(&place, &path)?, self.number_at(p, 1)?);
        self.store(&place, &Number::binary(op, old, number), &path)
    }

    /// `place = number op number`.
    fn compute(&mut self, op: Operator, p: &Parameters<'_>) -> Result<()> {
        let (target, path) = p.get(0);
        let place = self.lvalue(target, &path)?;
        let (a, b) = (self.number_at(p, 1)?, self.number_at(p, 2)?);
        self.store(&place, &Number::binary(op, a, b), &path)
    }

    fn assign_varbit(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((target, path), (source, source_path)) = (p.get(0), p.get(1));
        let (Lvalue::Field(to), Lvalue::Field(from)) =
            (self.lvalue(target, &path)?, self.lvalue(source, &source_path)?)
        else {
            return error(&path, "expected a field with a variable length");
        };
        let (Some(to), Some(from)) = (to.as_only(), from.as_only()) else {
            return error(&path, "a field with a variable length of a header that is chosen at run time");
        };
        if !matches!(to.ty, Type::Varbit(_)) || to.ty != from.ty {
            return error(&path, "expected two fields with variable lengths of the same maximum");
        }
        let value = self.slot_expr(from.slot);
        self.emit(StmtKind::Assign(to.slot, value));
        Ok(())
    }

    fn assign_header(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((target, path), (source, source_path)) = (p.get(0), p.get(1));
        let to = self.header_operand(target, &path)?;
        let from = self.header_operand(source, &source_path)?;
        self.for_chosen(&to, &mut |this, to| {
            this.for_chosen(&from, &mut |this, from| this.copy_header(to, from, &path))
        })
    }

    fn copy_header(&mut self, dst: HeaderId, src: HeaderId, path: &str) -> Result<()> {
        let types = |id: HeaderId| self.p[id].fields.iter().map(|f| self.p[f.slot].ty).collect::<Vec<_>>();
        if types(dst) != types(src) {
            return error(path, format!("`{}` and `{}` are of different types", self.p[dst].name, self.p[src].name));
        }
        if dst != src {
            self.emit(StmtKind::CopyHeader { dst, src });
            self.leave_union_alone(dst);
        }
        Ok(())
    }

    /// Counts a header that is about to become valid or invalid.
    fn note_length(&mut self, header: HeaderId, becomes_valid: bool) {
        let note = length::note(self.length_change, &self.p[header], becomes_valid, Span::none());
        self.emit(note.kind);
    }

    fn set_valid(&mut self, header: HeaderId) {
        for other in self.union_siblings(header) {
            self.emit(StmtKind::SetInvalid(other));
        }
        self.emit(StmtKind::SetValid(header));
    }

    /// Makes the other members of a header's union invalid if the header is valid.
    pub(crate) fn leave_union_alone(&mut self, header: HeaderId) {
        let siblings = self.union_siblings(header);
        if siblings.is_empty() {
            return;
        }
        let cond = self.slot_expr(self.p[header].valid);
        let span = Span::none();
        let then = siblings.into_iter().map(|other| Stmt { kind: StmtKind::SetInvalid(other), span });
        let then = then.collect();
        self.emit(StmtKind::If { cond, then, otherwise: Vec::new() });
    }

    fn assign_union(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((target, path), (source, source_path)) = (p.get(0), p.get(1));
        match (self.operand(target, &path)?, self.operand(source, &source_path)?) {
            (Operand::Union(to), Operand::Union(from)) => self.for_chosen(&to, &mut |this, to| {
                this.for_chosen(&from, &mut |this, from| this.copy_union(to, from, &path))
            }),
            _ => error(&path, "expected two header unions"),
        }
    }

    fn copy_union(&mut self, to: UnionId, from: UnionId, path: &str) -> Result<()> {
        let (to, from) = (self.p[to].members.clone(), self.p[from].members.clone());
        if to.len() != from.len() {
            return error(path, "header unions of different types");
        }
        to.into_iter().zip(from).try_for_each(|(to, from)| self.copy_header(to, from, path))
    }

    fn assign_stack(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((target, path), (source, source_path)) = (p.get(0), p.get(1));
        match (self.operand(target, &path)?, self.operand(source, &source_path)?) {
            (Operand::Stack(to), Operand::Stack(from)) => {
                let (to, from) = (self.p[to].clone(), self.p[from].clone());
                if to.elements.len() != from.elements.len() {
                    return error(&path, "stacks of different sizes");
                }
                let next = self.slot_expr(from.next_index);
                self.emit(StmtKind::Assign(to.next_index, next));
                to.elements.into_iter().zip(from.elements).try_for_each(|(to, from)| self.copy_header(to, from, &path))
            }
            (Operand::UnionStack(to), Operand::UnionStack(from)) => {
                if to.unions.len() != from.unions.len() {
                    return error(&path, "stacks of different sizes");
                }
                let next = self.slot_expr(from.next);
                self.emit(StmtKind::Assign(to.next, next));
                to.unions.into_iter().zip(from.unions).try_for_each(|(to, from)| self.copy_union(to, from, &path))
            }
            _ => error(&path, "expected two stacks"),
        }
    }

    fn shift_stack(&mut self, push: bool, p: &Parameters<'_>) -> Result<()> {
        let (target, path) = p.get(0);
        let count =
            if p.values.len() > 1 { self.constant_number(p.values.last().unwrap_or(target), &path)? } else { 1 };
        match self.operand(target, &path)? {
            Operand::Stack(stack) => {
                self.shift_headers(push, stack, count);
                Ok(())
            }
            Operand::UnionStack(_) => error(&path, "shifting stacks of header unions is not supported"),
            _ => error(&path, "expected a header stack"),
        }
    }

    fn shift_headers(&mut self, push: bool, stack: StackId, count: u64) {
        let count = count.min(self.p[stack].elements.len() as u64) as u32;
        match (count, push) {
            (0, _) => {}
            (_, true) => self.emit(StmtKind::PushFront(stack, count)),
            (_, false) => self.emit(StmtKind::PopFront(stack, count)),
        }
    }

    /// `egress_spec` says that the packet is dropped, and it is in no multicast group.
    fn mark_to_drop(&mut self) {
        let standard = self.p.standard;
        self.emit(StmtKind::Assign(standard.egress_spec, constant(DROP_PORT, 9)));
        self.emit(StmtKind::Assign(standard.mcast_grp, constant(0u32, 16)));
    }

    fn log_msg(&mut self, p: &Parameters<'_>) -> Result<()> {
        let (format, path) = p.get(0);
        let format = match format.as_str() {
            Some(format) => format,
            None => {
                let (kind, value, path) = typed(format, &path)?;
                if kind != "string" {
                    return error(&path, format!("expected a string, found `{kind}`"));
                }
                text(value, &path)?
            }
        };
        let mut data = Vec::new();
        if p.values.len() > 1 {
            let (list, path) = p.get(1);
            let (kind, list, path) = typed(list, &path)?;
            // p4c writes an empty object for an empty list.
            let empty = list.as_object().is_some_and(|object| object.is_empty());
            let values = if empty { Some(&[][..]) } else { list.as_array().map(Vec::as_slice) };
            let Some(values) = values.filter(|_| kind == "parameters_vector") else {
                return error(&path, "expected a `parameters_vector`");
            };
            for (at, value) in values.iter().enumerate() {
                let path = format!("{path}[{at}]");
                data.push(self.number(value, &path)?.exact(&path)?);
            }
        }
        self.call(ExternFn::LogMsg(format.to_string()), vec![ExternArg::List(data)]);
        Ok(())
    }

    fn random(&mut self, p: &Parameters<'_>) -> Result<()> {
        let (target, path) = p.get(0);
        let place = self.lvalue(target, &path)?;
        // simple_switch draws from numbers of 64 bits.
        let width = self.type_of_lvalue(&place).width().max(64);
        let (low, high) =
            (self.number_at(p, 1)?.low_bits(width, &path)?, self.number_at(p, 2)?.low_bits(width, &path)?);
        self.through_slot(&place, Some(Type::Bits(width)), &path, |this, slot| {
            this.call(ExternFn::Random, vec![ExternArg::Out(slot), ExternArg::In(low), ExternArg::In(high)]);
            Ok(())
        })
    }

    fn hash(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((target, path), (calculation, calculation_path)) = (p.get(0), p.get(2));
        let place = self.lvalue(target, &path)?;
        let (base, size) = (self.number_at(p, 1)?, self.number_at(p, 3)?);
        let (base, size) = (base.low_bits(64, &path)?, size.low_bits(64, &path)?);
        let (kind, name, calculation_path) = typed(calculation, &calculation_path)?;
        if kind != "calculation" {
            return error(&calculation_path, format!("expected a calculation, found `{kind}`"));
        }
        let name = text(name, &calculation_path)?;
        let (algorithm, input) = self.calculation(name, &calculation_path)?;
        if input.payload {
            return error(&calculation_path, "a hash over the payload");
        }
        self.through_slot(&place, None, &path, |this, slot| {
            this.with_valid_fields(&input, &calculation_path, &mut |this, data| {
                let list = ExternArg::List(data);
                let args = vec![ExternArg::Out(slot), ExternArg::In(base.clone()), list, ExternArg::In(size.clone())];
                let call = ExternCall { function: ExternFn::Hash(algorithm), args, span: Span::none() };
                match custom_crc::replace(&mut this.p, name, &call) {
                    Some(stmts) => this.block.extend(stmts),
                    None => this.emit(StmtKind::Extern(call)),
                }
            })
        })
    }

    fn digest(&mut self, p: &Parameters<'_>) -> Result<()> {
        let ((receiver, path), (list, list_path)) = (p.get(0), p.get(1));
        let receiver = self.number(receiver, &path)?.low_bits(32, &path)?;
        let id = self.constant_number(list, &list_path)?;
        let json = self.json;
        let Some(at) = json.learn_lists.iter().position(|list| list.id == id) else {
            return error(&list_path, format!("no learn list has id {id}"));
        };
        let list = &json.learn_lists[at];
        let mut data = Vec::new();
        for (index, element) in list.elements.iter().enumerate() {
            data.extend(self.element(element, &format!("learn_lists[{at}].elements[{index}]"))?);
        }
        self.call(ExternFn::Digest(list.name.clone()), vec![ExternArg::In(receiver), ExternArg::List(data)]);
        Ok(())
    }

    /// The position of a field list by its id; `None` for zero, which is no list.
    fn field_list(&mut self, value: &Value, path: &str) -> Result<Option<u8>> {
        let id = self.constant_number(value, path)?;
        if id == 0 {
            return Ok(None);
        }
        match self.json.field_lists.iter().position(|list| list.id == id).and_then(|at| u8::try_from(at).ok()) {
            Some(at) => Ok(Some(at)),
            None => error(path, format!("no field list has id {id}")),
        }
    }

    fn clone_packet(&mut self, egress: bool, p: &Parameters<'_>) -> Result<()> {
        let ((session, path), (list, list_path)) = (p.get(0), p.get(1));
        // Sessions have 15 bits.
        let session = self.number(session, &path)?.low_bits(15, &path)?;
        let field_list = self.field_list(list, &list_path)?;
        let session = cast(session, Type::Bits(32));
        self.call(ExternFn::Clone { egress, field_list }, vec![ExternArg::In(session)]);
        Ok(())
    }

    /// `resubmit` or `recirculate`. Without a field list nothing happens, as in simple_switch.
    fn start_over(&mut self, function: fn(u8) -> ExternFn, p: &Parameters<'_>) -> Result<()> {
        let (list, path) = p.get(0);
        if let Some(list) = self.field_list(list, &path)? {
            self.call(function(list), Vec::new());
        }
        Ok(())
    }

    /// The object and the index that parameters name.
    fn cell(&mut self, kind: &'static str, p: &Parameters<'_>, at: usize) -> Result<(ExternId, Expr)> {
        let ((name, path), (index, index_path)) = (p.get(at), p.get(at + 1));
        let (found, name, path) = typed(name, &path)?;
        if found != kind {
            return error(&path, format!("expected `{kind}`, found `{found}`"));
        }
        let object = self.object(kind, text(name, &path)?, &path)?;
        let index = self.number(index, &index_path)?.exact(&index_path)?;
        Ok((object, index_of(index)))
    }

    fn count(&mut self, p: &Parameters<'_>) -> Result<()> {
        let (object, index) = self.cell("counter_array", p, 0)?;
        match self.p[object].kind {
            ExternKind::Counter { .. } => {
                self.call(ExternFn::CounterCount(object), vec![ExternArg::In(index)]);
                Ok(())
            }
            _ => error(&p.get(0).1, "a direct counter, which counts by itself"),
        }
    }

    fn execute_meter(&mut self, p: &Parameters<'_>) -> Result<()> {
        let (object, index) = self.cell("meter_array", p, 0)?;
        if !matches!(self.p[object].kind, ExternKind::Meter { .. }) {
            return error(&p.get(0).1, "a direct meter, which measures by itself");
        }
        let (target, path) = p.get(2);
        let place = self.lvalue(target, &path)?;
        self.through_slot(&place, None, &path, |this, slot| {
            this.call(ExternFn::MeterExecute(object), vec![ExternArg::In(index), ExternArg::Out(slot)]);
            Ok(())
        })
    }

    fn register_read(&mut self, p: &Parameters<'_>) -> Result<()> {
        let (object, index) = self.cell("register_array", p, 1)?;
        let (target, path) = p.get(0);
        let place = self.lvalue(target, &path)?;
        let ExternKind::Register { ty, .. } = self.p[object].kind else { return Ok(()) };
        self.through_slot(&place, Some(ty), &path, |this, slot| {
            this.call(ExternFn::RegisterRead(object), vec![ExternArg::Out(slot), ExternArg::In(index)]);
            Ok(())
        })
    }

    fn register_write(&mut self, p: &Parameters<'_>) -> Result<()> {
        let (object, index) = self.cell("register_array", p, 0)?;
        let (value, path) = p.get(2);
        let ExternKind::Register { ty, .. } = self.p[object].kind else { return Ok(()) };
        let value = self.number(value, &path)?.low_bits(ty.width(), &path)?;
        self.call(ExternFn::RegisterWrite(object), vec![ExternArg::In(index), ExternArg::In(value)]);
        Ok(())
    }
}
