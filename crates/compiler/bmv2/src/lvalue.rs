//! What values are stored into: fields, fields of chosen headers, cells of registers.

use hopwright_ir::{BinaryOp, Expr, ExternArg, ExternFn, ExternId, ExternKind, SlotId, SlotKind, StmtKind, Type};
use serde_json::Value;

use crate::choice::Choice;
use crate::number::{Number, binary, cast, resize};
use crate::operand::{attribute, text, texts, typed};
use crate::state::Field;
use crate::{Reader, Result, error};

/// A place that a number can be stored into.
#[derive(Clone, Debug)]
pub(crate) enum Lvalue {
    Field(Choice<Field>),
    /// A register's cell at an index.
    Cell(ExternId, Expr),
}

impl Reader<'_> {
    /// Reads the place that a parameter names.
    pub(crate) fn lvalue(&mut self, value: &Value, path: &str) -> Result<Lvalue> {
        if value.get("op").is_some() {
            let op = text(attribute(value, "op", path)?, path)?;
            if op != "access_field" {
                return error(path, format!("`{op}` gives no place to store into"));
            }
            let header = self.header_operand(attribute(value, "left", path)?, &format!("{path}.left"))?;
            let field = self.accessed_field(&header, attribute(value, "right", path)?, &format!("{path}.right"))?;
            return Ok(Lvalue::Field(field));
        }
        let (kind, value, path) = typed(value, path)?;
        match kind {
            "expression" => self.lvalue(value, &path),
            _ => self.lvalue_of(kind, value, &path),
        }
    }

    /// The place that a value of this type names.
    pub(crate) fn lvalue_of(&mut self, kind: &str, value: &Value, path: &str) -> Result<Lvalue> {
        match kind {
            "field" => {
                let [header, field] = texts(value, path)?;
                Ok(Lvalue::Field(Choice::only(self.field((header, field), path)?)))
            }
            "stack_field" => {
                let [stack, field] = texts(value, path)?;
                let Some(stack) = self.names.stacks.get(stack).map(|id| self.p[*id].clone()) else {
                    return error(path, format!("no header stack `{stack}`"));
                };
                let last = Choice { index: Some(self.slot_expr(stack.next_index)), base: 1, of: stack.elements };
                let header = &self.p[last.of[0]];
                match header.fields.iter().position(|f| f.name == field) {
                    Some(at) => self.field_of_chosen(&last, at).map(Lvalue::Field).map_or_else(
                        || error(path, format!("not every element of the stack has a field `{field}`")),
                        Ok,
                    ),
                    None => error(path, format!("the headers of the stack have no field `{field}`")),
                }
            }
            "union_stack_field" => {
                let [stack, member, field] = texts(value, path)?;
                let at = self.names.union_members.get(stack).and_then(|names| names.iter().position(|n| *n == member));
                let (Some(stack), Some(at)) = (self.names.union_stacks.get(stack).cloned(), at) else {
                    return error(path, format!("no stack `{stack}` of header unions with a member `{member}`"));
                };
                let last = Choice { index: Some(self.slot_expr(stack.next)), base: 1, of: stack.unions };
                let header = last.map(|union| self.p[union].members.get(at).copied());
                let field = header.and_then(|header| {
                    let position = self.p[*header.of.first()?].fields.iter().position(|f| f.name == field)?;
                    self.field_of_chosen(&header, position)
                });
                field.map_or_else(|| error(path, "the member has no such field"), |field| Ok(Lvalue::Field(field)))
            }
            "register" => {
                let (Some(name), Some(index)) = (value.get(0), value.get(1)) else {
                    return error(path, "expected the name of a register array and an index");
                };
                let name_path = format!("{path}[0]");
                let register = self.object("register_array", text(name, &name_path)?, &name_path)?;
                let path = format!("{path}[1]");
                let index = self.number(index, &path)?.exact(&path)?;
                Ok(Lvalue::Cell(register, index_of(index)))
            }
            _ => error(path, format!("values of type `{kind}` give no place to store into")),
        }
    }

    /// The counter, meter or register array with this name.
    pub(crate) fn object(&self, kind: &'static str, name: &str, path: &str) -> Result<ExternId> {
        match self.objects.get(&(kind, name)) {
            Some(object) => Ok(*object),
            None => error(path, format!("no {} `{name}`", kind.replace('_', " "))),
        }
    }

    /// The type of what is stored.
    pub(crate) fn type_of_lvalue(&self, place: &Lvalue) -> Type {
        match place {
            Lvalue::Field(fields) => fields.of[0].ty,
            Lvalue::Cell(register, _) => match self.p[*register].kind {
                ExternKind::Register { ty, .. } => ty,
                _ => Type::Bits(1),
            },
        }
    }

    /// The number at a place.
    pub(crate) fn load(&mut self, place: &Lvalue, path: &str) -> Result<Number> {
        match place {
            Lvalue::Field(fields) => self.load_field(fields, path),
            Lvalue::Cell(register, index) => {
                let ty = self.type_of_lvalue(place);
                let slot = self.temporary(ty);
                self.emit(StmtKind::Assign(slot, crate::constant(0u32, ty.width())));
                let args = vec![ExternArg::Out(slot), ExternArg::In(index.clone())];
                self.call(ExternFn::RegisterRead(*register), args);
                Ok(Number::leaf(self.slot_expr(slot)))
            }
        }
    }

    /// Stores the lowest bits of a number.
    pub(crate) fn store(&mut self, place: &Lvalue, number: &Number, path: &str) -> Result<()> {
        let ty = self.type_of_lvalue(place);
        if matches!(ty, Type::Varbit(_)) {
            return error(path, "a number cannot be stored into a field with a variable length");
        }
        let value = number.low_bits(ty.width(), path)?;
        match place {
            Lvalue::Field(fields) => {
                let value = if fields.as_only().is_some() { value } else { self.shared(value) };
                self.for_chosen(fields, &mut |this, field| {
                    this.store_bits(field.slot, value.clone());
                    Ok(())
                })
            }
            Lvalue::Cell(register, index) => {
                let args = vec![ExternArg::In(index.clone()), ExternArg::In(value)];
                self.call(ExternFn::RegisterWrite(*register), args);
                Ok(())
            }
        }
    }

    /// Stores bits into a slot of any scalar type.
    fn store_bits(&mut self, slot: SlotId, value: Expr) {
        let value = match self.p[slot].ty {
            Type::Bits(width) if slot == self.p.standard.parser_error => {
                let first = crate::constant(self.first_error, width);
                binary(BinaryOp::Sub, resize(value, width), first, Type::Bits(width))
            }
            Type::Bits(width) => resize(value, width),
            Type::Int(width) => cast(resize(value, width), Type::Int(width)),
            ty => cast(resize(value, 1), ty),
        };
        self.emit(StmtKind::Assign(slot, value));
        if let SlotKind::Valid(header) = self.p[slot].kind {
            self.leave_union_alone(header);
        }
    }

    /// Runs `f` with a slot of type `ty`, or of any `bit` type if there is none, and stores what is in the slot after it. The slot
    /// has the place's value at first.
    pub(crate) fn through_slot(
        &mut self,
        place: &Lvalue,
        ty: Option<Type>,
        path: &str,
        f: impl FnOnce(&mut Self, SlotId) -> Result<()>,
    ) -> Result<()> {
        let own = self.type_of_lvalue(place);
        if let Lvalue::Field(fields) = place
            && let Some(field) = fields.as_only()
            && self.p[field.slot].ty == field.ty
            && field.slot != self.p.standard.parser_error
            && ty.map_or(matches!(own, Type::Bits(_)), |ty| ty == own)
        {
            return f(self, field.slot);
        }
        let ty = ty.unwrap_or(Type::Bits(own.width()));
        let slot = self.temporary(ty);
        let before = self.load(place, path)?.low_bits(ty.width(), path)?;
        self.emit(StmtKind::Assign(slot, cast(before, ty)));
        f(self, slot)?;
        let after = Number::leaf(self.slot_expr(slot));
        self.store(place, &after, path)
    }

    /// Reads the constant number of a field list.
    pub(crate) fn constant_number(&mut self, value: &Value, path: &str) -> Result<u64> {
        let number = self.number(value, path)?;
        match number.as_constant().and_then(|n| u64::try_from(n).ok()) {
            Some(number) => Ok(number),
            None => error(path, "expected a constant"),
        }
    }
}

/// An exact number as an index: one below zero is beyond all arrays.
pub(crate) fn index_of(number: Expr) -> Expr {
    match number.ty {
        Type::Bits(_) => number,
        ty => resize(number, ty.width().max(64)),
    }
}
