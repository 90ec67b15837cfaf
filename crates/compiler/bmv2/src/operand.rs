//! Type value objects: operands of expressions, parameters of primitives and keys.

use hopwright_ir::{
    BinaryOp, Expr, ExternArg, ExternCall, ExternFn, HeaderId, SlotId, Span, StmtKind, Type, UnaryOp, UnionId,
};
use num_traits::ToPrimitive;
use serde_json::Value;

use crate::choice::{Choice, mux};
use crate::number::{self, Number, Operator, binary, cast, resize, unary};
use crate::state::Field;
use crate::{Reader, Result, UnionStack, error};

/// What an operand is.
#[derive(Debug)]
pub(crate) enum Operand {
    Number(Number),
    Bool(Expr),
    Header(Choice<HeaderId>),
    Union(Choice<UnionId>),
    Stack(hopwright_ir::StackId),
    UnionStack(UnionStack),
}

impl Operand {
    fn description(&self) -> &'static str {
        match self {
            Operand::Number(_) => "a number",
            Operand::Bool(_) => "a Boolean",
            Operand::Header(_) => "a header",
            Operand::Union(_) => "a header union",
            Operand::Stack(_) => "a header stack",
            Operand::UnionStack(_) => "a stack of header unions",
        }
    }
}

/// An attribute of an object.
pub(crate) fn attribute<'v>(value: &'v Value, name: &str, path: &str) -> Result<&'v Value> {
    match value.get(name) {
        Some(found) => Ok(found),
        None => error(path, format!("expected an object with the attribute `{name}`")),
    }
}

/// A text.
pub(crate) fn text<'v>(value: &'v Value, path: &str) -> Result<&'v str> {
    match value.as_str() {
        Some(text) => Ok(text),
        None => error(path, "expected a text"),
    }
}

/// A list of texts.
pub(crate) fn texts<'v, const N: usize>(value: &'v Value, path: &str) -> Result<[&'v str; N]> {
    let texts: Option<Vec<&str>> = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
    match texts.and_then(|texts| texts.try_into().ok()) {
        Some(texts) => Ok(texts),
        None => error(path, format!("expected a list of {N} names")),
    }
}

/// A number below 2^32.
pub(crate) fn small(value: &Value, path: &str) -> Result<u32> {
    match value.as_u64().and_then(|n| u32::try_from(n).ok()) {
        Some(number) => Ok(number),
        None => error(path, "expected a number below 2^32"),
    }
}

/// Type and value of a type value object, and the value's path.
pub(crate) fn typed<'v>(value: &'v Value, path: &str) -> Result<(&'v str, &'v Value, String)> {
    let kind = text(attribute(value, "type", path)?, &format!("{path}.type"))?;
    Ok((kind, attribute(value, "value", path)?, format!("{path}.value")))
}

impl Reader<'_> {
    /// Reads an operand.
    pub(crate) fn operand(&mut self, value: &Value, path: &str) -> Result<Operand> {
        // The format also has plain expressions where type value objects are expected.
        if value.get("op").is_some() {
            return self.expression(value, path);
        }
        let (kind, value, path) = typed(value, path)?;
        let path = path.as_str();
        Ok(match kind {
            "expression" => return self.operand(value, path),
            "field" => {
                let [header, field] = texts(value, path)?;
                Operand::Number(self.field_value((header, field), path)?)
            }
            "hexstr" => Operand::Number(Number::constant(number::hexadecimal(text(value, path)?, path)?)),
            "bool" => match value.as_bool() {
                Some(value) => Operand::Bool(Expr::boolean(value, Span::none())),
                None => return error(path, "expected true or false"),
            },
            "local" | "runtime_data" => match self.data.get(small(value, path)? as usize) {
                Some(data) => Operand::Number(Number::leaf(data.clone())),
                None => return error(path, format!("the action has {} parameters", self.data.len())),
            },
            "header" => Operand::Header(Choice::only(self.header(text(value, path)?, path)?)),
            "header_stack" => match self.names.stacks.get(text(value, path)?) {
                Some(stack) => Operand::Stack(*stack),
                None => return error(path, format!("no header stack {value}")),
            },
            "header_union" => match self.names.unions.get(text(value, path)?) {
                Some(union) => Operand::Union(Choice::only(*union)),
                None => return error(path, format!("no header union {value}")),
            },
            "header_union_stack" => match self.names.union_stacks.get(text(value, path)?) {
                Some(stack) => Operand::UnionStack(stack.clone()),
                None => return error(path, format!("no stack of header unions {value}")),
            },
            "stack_field" | "union_stack_field" | "register" => {
                let place = self.lvalue_of(kind, value, path)?;
                Operand::Number(self.load(&place, path)?)
            }
            "lookahead" => Operand::Number(self.lookahead(value, path)?),
            _ => return error(path, format!("values of type `{kind}` are not known here")),
        })
    }

    /// The value of a field by its name.
    pub(crate) fn field_value(&mut self, name: (&str, &str), path: &str) -> Result<Number> {
        if self.names.metadata.contains(name.0) && name.1 == crate::state::VALID {
            return Ok(Number::constant(1));
        }
        let field = self.field(name, path)?;
        self.load_field(&Choice::only(field), path)
    }

    /// The number in a field.
    pub(crate) fn load_field(&mut self, fields: &Choice<Field>, path: &str) -> Result<Number> {
        let ty = fields.of[0].ty;
        if matches!(ty, Type::Varbit(_)) {
            return error(path, "a field with a variable length is no number");
        }
        Ok(Number::leaf(self.chosen(fields, ty, |this, field| this.read_field(field))))
    }

    /// The value of a field, in its own type.
    pub(crate) fn read_field(&self, field: Field) -> Expr {
        let value = self.slot_expr(field.slot);
        match field.ty {
            Type::Bits(width) if field.slot == self.p.standard.parser_error && self.first_error > 0 => {
                let first = crate::constant(self.first_error, width);
                binary(BinaryOp::Add, resize(value, width), first, Type::Bits(width))
            }
            Type::Bits(width) => resize(value, width),
            ty if ty == value.ty => value,
            ty => cast(resize(value, ty.width()), ty),
        }
    }

    /// Bits ahead of the packet's cursor. The statement that reads them is added.
    fn lookahead(&mut self, value: &Value, path: &str) -> Result<Number> {
        let numbers: Option<Vec<u64>> = value.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
        let Some([offset, width @ 1..=65536]) = numbers.and_then(|n| <[u64; 2]>::try_from(n).ok()) else {
            return error(path, "expected an offset and a width of 1 to 65536 bits");
        };
        let Some(total) = u32::try_from(offset + width).ok().filter(|total| *total <= 1 << 20) else {
            return error(path, "a look-ahead beyond 2^20 bits");
        };
        let slot = self.temporary(Type::Bits(width as u32));
        self.emit(StmtKind::Lookahead { total_bits: total, parts: vec![(slot, offset as u32)] });
        Ok(Number::leaf(self.slot_expr(slot)))
    }

    /// Reads an operand that is a number; a Boolean is 0 or 1.
    pub(crate) fn number(&mut self, value: &Value, path: &str) -> Result<Number> {
        match self.operand(value, path)? {
            Operand::Number(number) => Ok(number),
            Operand::Bool(cond) => Ok(Number::leaf(cast(cond, Type::Bits(1)))),
            other => error(path, format!("expected a number, found {}", other.description())),
        }
    }

    /// Reads an operand that is a condition; a number is true if it is not zero.
    pub(crate) fn condition(&mut self, value: &Value, path: &str) -> Result<Expr> {
        match self.operand(value, path)? {
            Operand::Bool(cond) => Ok(cond),
            Operand::Number(number) => is_not_zero(&number, path),
            other => error(path, format!("expected a condition, found {}", other.description())),
        }
    }

    /// Reads an operand that is a header.
    pub(crate) fn header_operand(&mut self, value: &Value, path: &str) -> Result<Choice<HeaderId>> {
        match self.operand(value, path)? {
            Operand::Header(header) => Ok(header),
            other => error(path, format!("expected a header, found {}", other.description())),
        }
    }

    fn expression(&mut self, value: &Value, path: &str) -> Result<Operand> {
        let op = text(attribute(value, "op", path)?, &format!("{path}.op"))?;
        let side = |name: &'static str| (value.get(name).filter(|v| !v.is_null()), format!("{path}.{name}"));
        let ((left, left_path), (right, right_path)) = (side("left"), side("right"));
        let Some(right) = right else { return error(&right_path, format!("`{op}` needs an operand on the right")) };
        match (op, left) {
            ("not", None) => Ok(Operand::Bool(unary(UnaryOp::Not, self.condition(right, &right_path)?))),
            ("~", None) => Ok(Operand::Number(Number::not(self.number(right, &right_path)?))),
            ("-", None) => {
                let number = self.number(right, &right_path)?;
                Ok(Operand::Number(Number::binary(Operator::Sub, Number::constant(0), number)))
            }
            ("+", None) => Ok(Operand::Number(self.number(right, &right_path)?)),
            ("d2b", None) => {
                let number = self.number(right, &right_path)?;
                Ok(Operand::Bool(is_not_zero(&number, &right_path)?))
            }
            ("b2d", None) => {
                let cond = self.condition(right, &right_path)?;
                Ok(Operand::Number(Number::leaf(cast(cond, Type::Bits(1)))))
            }
            ("valid" | "valid_union" | "last_stack_index" | "size_stack", None) => {
                self.property(op, right, &right_path)
            }
            (_, None) => error(path, format!("`{op}` is no operator with one operand")),
            (_, Some(left)) => self.binary_expression(op, value, (left, &left_path), (right, &right_path), path),
        }
    }

    /// A property of a header, union or stack.
    fn property(&mut self, op: &str, of: &Value, path: &str) -> Result<Operand> {
        match (op, self.operand(of, path)?) {
            ("valid", Operand::Header(header)) => {
                Ok(Operand::Bool(self.chosen(&header, Type::Bool, |this, id| this.slot_expr(this.p[id].valid))))
            }
            ("valid_union" | "valid", Operand::Union(union)) => {
                Ok(Operand::Bool(self.chosen(&union, Type::Bool, |this, id| this.union_valid(id))))
            }
            ("last_stack_index", Operand::Stack(stack)) => {
                let next = self.next_index(stack);
                Ok(Operand::Number(Number::binary(Operator::Sub, next, Number::constant(1))))
            }
            ("size_stack", Operand::Stack(stack)) => Ok(Operand::Number(self.next_index(stack))),
            ("last_stack_index" | "size_stack", Operand::UnionStack(stack)) => {
                let next = Number::leaf_up_to(self.slot_expr(stack.next), stack.unions.len());
                let before = Number::constant(u32::from(op == "last_stack_index"));
                Ok(Operand::Number(Number::binary(Operator::Sub, next, before)))
            }
            (_, other) => error(path, format!("`{op}` does not apply to {}", other.description())),
        }
    }

    fn next_index(&self, stack: hopwright_ir::StackId) -> Number {
        let stack = &self.p[stack];
        Number::leaf_up_to(self.slot_expr(stack.next_index), stack.elements.len())
    }

    fn union_valid(&self, union: UnionId) -> Expr {
        let members = self.p[union].members.iter().map(|member| self.slot_expr(self.p[*member].valid));
        let any = members.reduce(|a, b| binary(BinaryOp::LogicalOr, a, b, Type::Bool));
        any.unwrap_or_else(|| Expr::boolean(false, Span::none()))
    }

    fn binary_expression(
        &mut self,
        op: &str,
        value: &Value,
        (left, left_path): (&Value, &str),
        (right, right_path): (&Value, &str),
        path: &str,
    ) -> Result<Operand> {
        if let Some(op) = Operator::by_name(op) {
            let (a, b) = (self.number(left, left_path)?, self.number(right, right_path)?);
            return Ok(Operand::Number(Number::binary(op, a, b)));
        }
        let comparison = match op {
            "<" => Some(BinaryOp::Lt),
            "<=" => Some(BinaryOp::Le),
            ">" => Some(BinaryOp::Gt),
            ">=" => Some(BinaryOp::Ge),
            _ => None,
        };
        if let Some(op) = comparison {
            let (a, b) = (self.number(left, left_path)?, self.number(right, right_path)?);
            return Ok(Operand::Bool(Number::compare(op, &a, &b, path)?));
        }
        match op {
            "and" | "or" => {
                let (a, b) = (self.condition(left, left_path)?, self.condition(right, right_path)?);
                let op = if op == "and" { BinaryOp::LogicalAnd } else { BinaryOp::LogicalOr };
                Ok(Operand::Bool(binary(op, a, b, Type::Bool)))
            }
            "==" | "!=" => {
                let (a, b) = (self.operand(left, left_path)?, self.operand(right, right_path)?);
                let equal = self.equal(a, b, path)?;
                Ok(Operand::Bool(if op == "==" { equal } else { unary(UnaryOp::Not, equal) }))
            }
            "?" => {
                let cond_path = format!("{path}.cond");
                let cond = self.condition(attribute(value, "cond", path)?, &cond_path)?;
                match (self.operand(left, left_path)?, self.operand(right, right_path)?) {
                    (Operand::Number(a), Operand::Number(b)) => Ok(Operand::Number(Number::mux(cond, a, b))),
                    (Operand::Bool(a), Operand::Bool(b)) => Ok(Operand::Bool(mux(cond, a, b))),
                    (a, b) => error(path, format!("a choice of {} and {}", a.description(), b.description())),
                }
            }
            "two_comp_mod" | "sat_cast" | "usat_cast" => {
                let number = self.number(left, left_path)?;
                let width = self.number(right, right_path)?;
                let Some(width @ 1..=65536) = width.as_constant().and_then(|width| width.to_u32()) else {
                    return error(right_path, "expected a constant width of 1 to 65536 bits");
                };
                Ok(Operand::Number(match op {
                    "two_comp_mod" => Number::wrap(number, width),
                    "sat_cast" => self.saturate(number, Type::Int(width), path)?,
                    _ => self.saturate(number, Type::Bits(width), path)?,
                }))
            }
            "dereference_header_stack" | "dereference_stack" | "dereference_union_stack" => {
                let of = self.operand(left, left_path)?;
                let index = self.number(right, right_path)?.exact(right_path)?;
                self.dereference(of, index, left_path)
            }
            "access_field" => {
                let header = self.header_operand(left, left_path)?;
                let field = self.accessed_field(&header, right, right_path)?;
                Ok(Operand::Number(self.load_field(&field, path)?))
            }
            "access_union_header" => match self.operand(left, left_path)? {
                Operand::Union(union) => {
                    let at = small(right, right_path)? as usize;
                    match union.map(|id| self.p[id].members.get(at).copied()) {
                        Some(header) => Ok(Operand::Header(header)),
                        None => error(right_path, format!("the union has no member {at}")),
                    }
                }
                other => error(left_path, format!("expected a header union, found {}", other.description())),
            },
            _ => error(path, format!("no operator `{op}`")),
        }
    }

    /// The element of a stack at an index.
    fn dereference(&mut self, of: Operand, index: Expr, path: &str) -> Result<Operand> {
        let index = match index.ty {
            // As an unsigned number, an index below zero is beyond all stacks.
            Type::Int(width) => resize(index, width.max(32)),
            _ => index,
        };
        let index = Some(self.shared(index));
        match of {
            Operand::Stack(stack) => Ok(Operand::Header(Choice { index, base: 0, of: self.p[stack].elements.clone() })),
            Operand::UnionStack(stack) => Ok(Operand::Union(Choice { index, base: 0, of: stack.unions })),
            other => error(path, format!("expected a stack, found {}", other.description())),
        }
    }

    /// The field that `access_field` names by its position.
    pub(crate) fn accessed_field(&self, header: &Choice<HeaderId>, at: &Value, path: &str) -> Result<Choice<Field>> {
        let position = small(at, path)? as usize;
        match self.field_of_chosen(header, position) {
            Some(field) => Ok(field),
            None => error(path, format!("the header has no field {position}")),
        }
    }

    fn equal(&mut self, a: Operand, b: Operand, path: &str) -> Result<Expr> {
        match (a, b) {
            (Operand::Number(a), Operand::Number(b)) => Number::compare(BinaryOp::Eq, &a, &b, path),
            (Operand::Bool(a), Operand::Bool(b)) => Ok(binary(BinaryOp::Eq, a, b, Type::Bool)),
            (Operand::Bool(a), Operand::Number(b)) | (Operand::Number(b), Operand::Bool(a)) => {
                let a = Number::leaf(cast(a, Type::Bits(1)));
                Number::compare(BinaryOp::Eq, &a, &b, path)
            }
            (Operand::Header(a), Operand::Header(b)) => match (a.as_only(), b.as_only()) {
                (Some(a), Some(b)) => self.headers_equal(a, b, path),
                _ => error(path, "a comparison of headers that are chosen at run time"),
            },
            (Operand::Union(a), Operand::Union(b)) => match (a.as_only(), b.as_only()) {
                (Some(a), Some(b)) if self.p[a].members.len() == self.p[b].members.len() => {
                    let pairs: Vec<_> =
                        self.p[a].members.iter().copied().zip(self.p[b].members.iter().copied()).collect();
                    let mut all = Expr::boolean(true, Span::none());
                    for (a, b) in pairs {
                        all = binary(BinaryOp::LogicalAnd, all, self.headers_equal(a, b, path)?, Type::Bool);
                    }
                    Ok(all)
                }
                _ => error(path, "a comparison of header unions that are chosen at run time or of different types"),
            },
            (a, b) => error(path, format!("a comparison of {} with {}", a.description(), b.description())),
        }
    }

    /// Both are invalid, or both are valid and have the same fields.
    fn headers_equal(&self, a: HeaderId, b: HeaderId, path: &str) -> Result<Expr> {
        let slots = |id: HeaderId| self.p[id].fields.iter().map(|f| f.slot).collect::<Vec<SlotId>>();
        let (fields_a, fields_b) = (slots(a), slots(b));
        let types = |slots: &[SlotId]| slots.iter().map(|slot| self.p[*slot].ty).collect::<Vec<_>>();
        if types(&fields_a) != types(&fields_b) {
            return error(path, "a comparison of headers of different types");
        }
        let valid = |id: HeaderId| self.slot_expr(self.p[id].valid);
        let and = |x, y| binary(BinaryOp::LogicalAnd, x, y, Type::Bool);
        let pairs = fields_a.iter().zip(&fields_b);
        let same = pairs.map(|(x, y)| binary(BinaryOp::Eq, self.slot_expr(*x), self.slot_expr(*y), Type::Bool));
        let same = same.fold(and(valid(a), valid(b)), and);
        let neither = and(unary(UnaryOp::Not, valid(a)), unary(UnaryOp::Not, valid(b)));
        Ok(binary(BinaryOp::LogicalOr, neither, same, Type::Bool))
    }

    /// Calls an extern function.
    pub(crate) fn call(&mut self, function: ExternFn, args: Vec<ExternArg>) {
        self.emit(StmtKind::Extern(ExternCall { function, args, span: Span::none() }));
    }
}

/// Whether a number is not zero.
pub(crate) fn is_not_zero(number: &Number, path: &str) -> Result<Expr> {
    if let Some(leaf) = number.as_leaf()
        && let hopwright_ir::ExprKind::Cast(inner) = &leaf.kind
        && inner.ty == Type::Bool
    {
        return Ok((**inner).clone());
    }
    Number::compare(BinaryOp::Ne, number, &Number::constant(0), path)
}
