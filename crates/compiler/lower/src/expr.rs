//! Lowers expressions to pure IR trees. Everything with an effect becomes a statement before the expression, in P4's
//! order of evaluation (left to right).

use std::rc::Rc;

use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::{BigInt, BigUint};

use crate::storage::{Loc, Place};
use crate::value::{Target, Value, binary, compare, not};
use crate::{Binding, Lowering, Result};
use hopwright_ir::{BinaryOp, Expr, ExprKind, StmtKind, Type, UnaryOp};
use hopwright_opt::fold;

impl Lowering<'_> {
    /// Returns the scalar value of an expression.
    pub(crate) fn scalar(&mut self, e: &hir::Expr) -> Result<Expr> {
        let value = self.value(e)?;
        self.as_scalar(value, e.span)
    }

    /// Returns the value of an expression; scalars are [`Value::Scalar`].
    pub(crate) fn value(&mut self, e: &hir::Expr) -> Result<Value> {
        let value = self.path(e)?;
        match value {
            Value::Loc(loc) if self.scalar_type(&e.ty).is_some() => Ok(Value::Scalar(self.read(&loc, e.span)?)),
            value => Ok(value),
        }
    }

    /// Returns the location of an argument or of the left side of an assignment.
    pub(crate) fn target(&mut self, e: &hir::Expr) -> Result<Target> {
        if let hir::ExprKind::Slice(inner, hi, lo) = &e.kind {
            let target = self.target(inner)?;
            let base = target.slice.map_or(0, |(_, lo)| lo);
            return Ok(Target { loc: target.loc, slice: Some((base + hi, base + lo)) });
        }
        if let hir::ExprKind::Cast(inner) = &e.kind
            && self.scalar_type(&inner.ty).is_some()
            && self.scalar_type(&inner.ty) == self.scalar_type(&e.ty)
        {
            return self.target(inner);
        }
        match self.path(e)? {
            Value::Loc(loc) => Ok(Target { loc, slice: None }),
            _ => Err(self.unsupported(e.span, "writing to this expression")),
        }
    }

    /// Returns an expression as a location if it is one, otherwise as a value.
    pub(crate) fn path(&mut self, e: &hir::Expr) -> Result<Value> {
        match &e.kind {
            hir::ExprKind::Var(var) => match self.env.get(var) {
                Some(Binding::Loc(loc)) => Ok(Value::Loc(loc.clone())),
                Some(Binding::Value(value)) => Ok(value.clone()),
                None if self.program[*var].name == hir::UNWANTED => Ok(Value::Loc(Loc::Place(self.variable(*var)?))),
                Some(Binding::Object(_)) | None => {
                    let name = self.program[*var].name.clone();
                    Err(self.unsupported(e.span, format!("this use of `{name}`")))
                }
            },
            hir::ExprKind::Field(inner, index) => {
                let value = self.path(inner)?;
                self.value_field(&value, *index, e.span)
            }
            hir::ExprKind::Index(stack, index) => {
                let stack_value = self.path(stack)?;
                self.indexed(stack_value, &stack.ty, index, e.span)
            }
            hir::ExprKind::StackNext(stack) => {
                let (stack, next) = self.stack_of(stack, e.span)?;
                let size = Expr::constant(self.elements(&stack).len(), Type::Bits(32), e.span);
                let in_bounds = binary(BinaryOp::Lt, next.clone(), size, Type::Bool, e.span);
                self.check_bounds(in_bounds, e.span);
                Ok(self.select_element(&stack, next))
            }
            hir::ExprKind::StackLast(stack) => {
                let (stack, next) = self.stack_of(stack, e.span)?;
                let zero = Expr::constant(0u32, Type::Bits(32), e.span);
                let in_bounds = binary(BinaryOp::Ne, next.clone(), zero, Type::Bool, e.span);
                self.check_bounds(in_bounds, e.span);
                let last = minus_one(next, e.span);
                Ok(self.select_element(&stack, last))
            }
            hir::ExprKind::Aggregate { members, order } => {
                let mut values = vec![Value::Invalid; members.len()];
                for (turn, i) in order.iter().enumerate() {
                    let m = &members[*i];
                    let value = self.value(m)?;
                    let later_effects = order[turn + 1..].iter().any(|i| self.has_effects(&members[*i]));
                    values[*i] = if later_effects { self.freeze_value(value, m.span)? } else { value };
                }
                Ok(Value::Tree(values.into()))
            }
            hir::ExprKind::Invalid => Ok(match self.scalar_type(&e.ty) {
                Some(ty) => Value::Scalar(self.zero_expr(ty, e.span)),
                None => Value::Invalid,
            }),
            hir::ExprKind::Cast(inner) if self.scalar_type(&e.ty).is_none() => self.path(inner),
            hir::ExprKind::Call(call) => match self.call(call, Some(&e.ty))? {
                Some(value) => Ok(value),
                None => Err(self.unsupported(e.span, "the result of this call")),
            },
            hir::ExprKind::Mux(cond, then, otherwise) if self.needs_branches(e, then, otherwise) => {
                self.branching_mux(e, cond, then, otherwise)
            }
            _ => self.pure_scalar(e).map(Value::Scalar),
        }
    }

    fn needs_branches(&self, e: &hir::Expr, then: &hir::Expr, otherwise: &hir::Expr) -> bool {
        // A varbit's size is that of one side.
        let whole = matches!(self.scalar_type(&e.ty), None | Some(Type::Varbit(_)));
        whole || self.has_effects(then) || self.has_effects(otherwise)
    }

    fn branching_mux(
        &mut self,
        e: &hir::Expr,
        cond: &hir::Expr,
        then: &hir::Expr,
        otherwise: &hir::Expr,
    ) -> Result<Value> {
        let cond = self.scalar(cond)?;
        let name = format!("{}.$tmp", self.scope);
        let place = self.alloc(&e.ty, &name, crate::storage::Purpose::Local, e.span)?;
        let loc = Loc::Place(place);
        let then = self.nested(|this| {
            let value = this.value(then)?;
            this.store_loc(&loc, value, e.span)
        })?;
        let otherwise = self.nested(|this| {
            let value = this.value(otherwise)?;
            this.store_loc(&loc, value, e.span)
        })?;
        self.emit(StmtKind::If { cond, then, otherwise }, e.span);
        Ok(Value::Loc(loc))
    }

    fn indexed(&mut self, stack: Value, ty: &hir::Type, index: &hir::Expr, span: Span) -> Result<Value> {
        let index = self.scalar(index)?;
        let index = fold::folded(index);
        let stack = match stack {
            // A list has no storage that could be indexed at run time.
            Value::Tree(_) if index.as_const().is_none() => {
                let name = format!("{}.$list", self.scope);
                let place = Loc::Place(self.alloc(ty, &name, crate::storage::Purpose::Local, span)?);
                self.store_loc(&place, stack, span)?;
                Value::Loc(place)
            }
            stack => stack,
        };
        if let Some(number) = index.as_const() {
            let i = usize::try_from(number).unwrap_or(usize::MAX);
            return self.element(&stack, i, span);
        }
        let count = match &stack {
            Value::Loc(loc) => crate::value::first_place(loc).map_or(0, |p| self.elements(p).len()),
            _ => 0,
        };
        let mut options = Vec::with_capacity(count);
        for i in 0..count {
            if let Value::Loc(loc) = self.element(&stack, i, span)? {
                options.push(loc);
            }
        }
        if options.is_empty() {
            return Err(self.unsupported(span, "a run-time index into this value"));
        }
        Ok(Value::Loc(Loc::Select { index, options: options.into() }))
    }

    /// Returns the stack that an expression denotes, and its `nextIndex`.
    pub(crate) fn stack_of(&mut self, e: &hir::Expr, span: Span) -> Result<(Place, Expr)> {
        if let Value::Loc(Loc::Place(place)) = self.path(e)?
            && let Some(next) = self.next_index(&place)
        {
            let next = self.slot_expr(next, span);
            return Ok((place, next));
        }
        Err(self.unsupported(span, "this stack"))
    }

    fn select_element(&self, stack: &Place, index: Expr) -> Value {
        let options: Rc<[Loc]> = self.elements(stack).into_iter().map(Loc::Place).collect();
        Value::Loc(Loc::Select { index, options })
    }

    /// In parsers, an index out of bounds is a parser error.
    fn check_bounds(&mut self, in_bounds: Expr, span: Span) {
        if self.in_parser {
            let error = self.program.errors.iter().position(|e| e == "StackOutOfBounds").unwrap_or(0);
            let error = Expr::constant(error, Type::Bits(16), span);
            self.emit(StmtKind::Verify(in_bounds, error), span);
        }
    }

    /// Lowers scalar operators and constants.
    fn pure_scalar(&mut self, e: &hir::Expr) -> Result<Expr> {
        let span = e.span;
        match &e.kind {
            hir::ExprKind::Int(value) => {
                let ty = match &e.ty {
                    // Operands that may have any width, such as shift amounts and indices, keep this type.
                    hir::Type::InfInt => Type::Bits(32.max(value.bits() as u32)),
                    ty => self.required_scalar(ty, span)?,
                };
                Ok(Expr::constant(bits_of(value, ty.width()), ty, span))
            }
            hir::ExprKind::Bool(value) => Ok(Expr::boolean(*value, span)),
            hir::ExprKind::Error(index) => Ok(Expr::constant(*index, Type::Bits(16), span)),
            hir::ExprKind::EnumMember(id, index) => {
                let ty = self.required_scalar(&e.ty, span)?;
                let member = self.program[*id].members.get(*index).map(|m| m.1.clone());
                Ok(Expr::constant(bits_of(&member.unwrap_or_default(), ty.width()), ty, span))
            }
            hir::ExprKind::String(_) => Err(self.unsupported(
                span,
                match e.ty {
                    hir::Type::MatchKind => "a match kind as a value",
                    _ => "a string as a value",
                },
            )),
            hir::ExprKind::StackLastIndex(stack) => {
                let (_, next) = self.stack_of(stack, span)?;
                Ok(minus_one(next, span))
            }
            hir::ExprKind::Unary(op, arg) => {
                let arg = self.scalar(arg)?;
                let ty = arg.ty;
                let op = match op {
                    hir::UnaryOp::Neg => UnaryOp::Neg,
                    hir::UnaryOp::BitNot => UnaryOp::BitNot,
                    hir::UnaryOp::Not => UnaryOp::Not,
                };
                Ok(Expr { kind: ExprKind::Unary(op, Box::new(arg)), ty, span })
            }
            hir::ExprKind::Binary(op, a, b) => self.binary(e, *op, a, b),
            hir::ExprKind::Mux(cond, then, otherwise) => {
                let cond = self.scalar(cond)?;
                let then = self.scalar(then)?;
                let otherwise = self.scalar(otherwise)?;
                Ok(crate::value::mux(cond, then, otherwise, span))
            }
            hir::ExprKind::Slice(arg, hi, lo) => {
                if let hir::ExprKind::Call(call) = &arg.kind {
                    self.hash_slice = Some((call.span, (*hi, *lo)));
                }
                let arg = self.scalar(arg);
                self.hash_slice = None;
                let arg = arg?;
                let ty = Type::Bits(hi - lo + 1);
                Ok(Expr { kind: ExprKind::Slice { arg: Box::new(arg), hi: *hi, lo: *lo }, ty, span })
            }
            hir::ExprKind::Cast(inner) => {
                let ty = self.required_scalar(&e.ty, span)?;
                if let hir::ExprKind::Int(value) = &inner.kind {
                    return Ok(Expr::constant(bits_of(value, ty.width()), ty, span));
                }
                let arg = self.scalar(inner)?;
                self.cast(arg, ty, span)
            }
            hir::ExprKind::TableHit(table, hit) => {
                let slot = self.temp(Type::Bool, span);
                self.apply(*table, Some(slot), None, span)?;
                let value = self.slot_expr(slot, span);
                Ok(if *hit { value } else { not(value, span) })
            }
            _ => Err(self.unsupported(span, "this expression")),
        }
    }

    fn required_scalar(&mut self, ty: &hir::Type, span: Span) -> Result<Type> {
        match self.scalar_type(ty) {
            Some(ty) => Ok(ty),
            None => {
                let name = self.type_name(ty);
                Err(self.unsupported(span, format!("a value of type {name} here")))
            }
        }
    }

    /// Converts between scalar types.
    pub(crate) fn cast(&mut self, arg: Expr, ty: Type, span: Span) -> Result<Expr> {
        let to = |arg: Expr, ty: Type| Expr { kind: ExprKind::Cast(Box::new(arg)), ty, span };
        match (arg.ty, ty) {
            (a, b) if a == b => Ok(arg),
            (Type::Bits(_), Type::Bits(_)) | (Type::Int(_), Type::Int(_)) => Ok(to(arg, ty)),
            (Type::Bool, Type::Bits(1)) | (Type::Bits(1), Type::Bool) => Ok(to(arg, ty)),
            (Type::Bits(a), Type::Int(b)) if a == b => Ok(to(arg, ty)),
            (Type::Int(a), Type::Bits(b)) if a == b => Ok(to(arg, ty)),
            // Width first, then sign.
            (Type::Bits(_), Type::Int(w)) => Ok(to(to(arg, Type::Bits(w)), ty)),
            (Type::Int(_), Type::Bits(w)) => Ok(to(to(arg, Type::Int(w)), ty)),
            (Type::Bool, Type::Bits(_)) => Ok(to(to(arg, Type::Bits(1)), ty)),
            _ => Err(self.unsupported(span, "this conversion")),
        }
    }

    fn binary(&mut self, e: &hir::Expr, op: hir::BinaryOp, a: &hir::Expr, b: &hir::Expr) -> Result<Expr> {
        use hir::BinaryOp as Op;
        let span = e.span;
        if matches!(op, Op::And | Op::Or) {
            let left = self.scalar(a)?;
            if !self.has_effects(b) {
                let right = self.scalar(b)?;
                let op = if op == Op::And { BinaryOp::LogicalAnd } else { BinaryOp::LogicalOr };
                return Ok(binary(op, left, right, Type::Bool, span));
            }
            let slot = self.temp(Type::Bool, span);
            self.emit(StmtKind::Assign(slot, left), span);
            let right = self.nested(|this| {
                let right = this.scalar(b)?;
                this.emit(StmtKind::Assign(slot, right), span);
                Ok(())
            })?;
            let cond = self.slot_expr(slot, span);
            let (then, otherwise) = if op == Op::And { (right, Vec::new()) } else { (Vec::new(), right) };
            self.emit(StmtKind::If { cond, then, otherwise }, span);
            return Ok(self.slot_expr(slot, span));
        }
        let left = self.value(a)?;
        let left = if self.has_effects(b) { self.freeze_value(left, a.span)? } else { left };
        let right = self.value(b)?;
        if matches!(op, Op::Eq | Op::Ne) {
            let equal = match (&left, &right) {
                (Value::Scalar(l), Value::Scalar(r)) => compare(l.clone(), r.clone(), span),
                _ => self.equal(&left, &right, span)?,
            };
            return Ok(match (op, equal) {
                (Op::Eq, equal) => equal,
                (_, Expr { kind: ExprKind::Binary(BinaryOp::Eq, l, r), ty, span }) => {
                    Expr { kind: ExprKind::Binary(BinaryOp::Ne, l, r), ty, span }
                }
                (_, equal) => not(equal, span),
            });
        }
        let left = self.as_scalar(left, a.span)?;
        let right = self.as_scalar(right, b.span)?;
        let same = left.ty;
        let (op, ty) = match op {
            Op::Add => (BinaryOp::Add, same),
            Op::Sub => (BinaryOp::Sub, same),
            Op::Mul => (BinaryOp::Mul, same),
            Op::Div => (BinaryOp::Div, same),
            Op::Mod => (BinaryOp::Mod, same),
            Op::SatAdd => (BinaryOp::SatAdd, same),
            Op::SatSub => (BinaryOp::SatSub, same),
            Op::BitAnd => (BinaryOp::And, same),
            Op::BitOr => (BinaryOp::Or, same),
            Op::BitXor => (BinaryOp::Xor, same),
            Op::Shl => (BinaryOp::Shl, same),
            Op::Shr => (BinaryOp::Shr, same),
            Op::Lt => (BinaryOp::Lt, Type::Bool),
            Op::Le => (BinaryOp::Le, Type::Bool),
            Op::Gt => (BinaryOp::Gt, Type::Bool),
            Op::Ge => (BinaryOp::Ge, Type::Bool),
            Op::Concat => {
                let width = left.ty.width() + right.ty.width();
                let ty = if matches!(left.ty, Type::Int(_)) { Type::Int(width) } else { Type::Bits(width) };
                (BinaryOp::Concat, ty)
            }
            Op::Eq | Op::Ne | Op::And | Op::Or => return Err(self.unsupported(span, "this operator")),
        };
        Ok(binary(op, left, right, ty, span))
    }

    /// Returns the bits of a constant expression.
    pub(crate) fn constant(&mut self, e: &hir::Expr) -> Result<BigUint> {
        let block = std::mem::take(&mut self.block);
        let value = self.scalar(e);
        self.block = block;
        match fold::folded(value?).as_const() {
            Some(value) => Ok(value.clone()),
            None => Err(self.unsupported(e.span, "a value here that is no constant")),
        }
    }

    /// Returns whether evaluating the expression has effects.
    pub(crate) fn has_effects(&self, e: &hir::Expr) -> bool {
        match &e.kind {
            hir::ExprKind::Call(call) => match &call.callee {
                hir::Callee::Builtin(receiver, method) if method == "isValid" => self.has_effects(receiver),
                hir::Callee::Packet(method) if method == "length" => false,
                _ => true,
            },
            hir::ExprKind::TableHit(..) => true,
            hir::ExprKind::StackNext(_) | hir::ExprKind::StackLast(_) => self.in_parser,
            _ => e.parts().into_iter().any(|part| self.has_effects(part)),
        }
    }
}

fn minus_one(e: Expr, span: Span) -> Expr {
    let one = Expr::constant(1u32, e.ty, span);
    let ty = e.ty;
    binary(BinaryOp::Sub, e, one, ty, span)
}

/// Returns the two's complement of a number in `width` bits.
pub(crate) fn bits_of(value: &BigInt, width: u32) -> BigUint {
    let modulus = BigInt::from(1) << width;
    let mut bits = value % &modulus;
    if bits.sign() == num_bigint::Sign::Minus {
        bits += modulus;
    }
    bits.to_biguint().unwrap_or_default()
}
