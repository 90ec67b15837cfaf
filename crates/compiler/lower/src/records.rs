//! Structs and tuples as one number, for registers of structs. The first member is the most significant.

use hopwright_sema::hir;
use hopwright_source::Span;

use crate::externs::Arguments;
use crate::value::{Value, binary};
use crate::{Lowering, Result};
use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternArg, ExternFn, ExternId, SlotId, Type};

impl Lowering<'_> {
    /// Returns the type of a register cell for values of a type; `None` if there is none.
    pub(crate) fn cell_type(&self, ty: &hir::Type) -> Option<Type> {
        match self.scalar_type(ty) {
            Some(Type::Varbit(_)) => None,
            Some(scalar) => Some(scalar),
            None => self.record_width(ty).map(Type::Bits),
        }
    }

    fn record_width(&self, ty: &hir::Type) -> Option<u32> {
        if let Some(scalar) = self.cell_scalar(ty) {
            return Some(scalar.width());
        }
        let mut width = 0u32;
        for member in self.record_members(ty)? {
            width = width.checked_add(self.record_width(&member)?)?;
        }
        Some(width)
    }

    fn cell_scalar(&self, ty: &hir::Type) -> Option<Type> {
        self.scalar_type(ty).filter(|t| !matches!(t, Type::Varbit(_)))
    }

    fn record_members(&self, ty: &hir::Type) -> Option<Vec<hir::Type>> {
        match ty {
            hir::Type::Struct(id) => Some(self.program[*id].fields.iter().map(|f| f.ty.clone()).collect()),
            hir::Type::Tuple(members) => Some(members.to_vec()),
            _ => None,
        }
    }

    /// Lowers `register.read` of a struct.
    pub(crate) fn read_record(&mut self, register: ExternId, mut args: Arguments<'_>) -> Result<Option<Value>> {
        let (call, e) = (args.call, args.at(0)?);
        let (target, _) = args.target(self, 0)?;
        let Some(width) = self.record_width(&e.ty) else {
            return Err(self.unsupported(e.span, "reading this type from a register"));
        };
        // An index out of range leaves the target unchanged.
        let slot = self.temp(Type::Bits(width), e.span);
        let old = self.target_value(&target, e.span)?;
        let old = self.joined(&old, e.span)?;
        self.emit(hopwright_ir::StmtKind::Assign(slot, old), e.span);
        args.args.push(ExternArg::Out(slot));
        args.number(self, 1)?;
        args.finish(self, ExternFn::RegisterRead(register), call.span)?;
        let mut end = width;
        let value = self.parted(&e.ty, slot, &mut end, e.span)?;
        self.store(&target, value, call.span)?;
        Ok(None)
    }

    /// Concatenates the members of a value.
    pub(crate) fn joined(&mut self, value: &Value, span: Span) -> Result<Expr> {
        let mut members = Vec::new();
        self.flatten(value, span, &mut members)?;
        let mut whole: Option<Expr> = None;
        for member in members {
            let width = member.ty.width();
            let member = self.cast(member, Type::Bits(width), span)?;
            whole = Some(match whole {
                Some(high) => {
                    let width = high.ty.width() + width;
                    binary(BinaryOp::Concat, high, member, Type::Bits(width), span)
                }
                None => member,
            });
        }
        Ok(whole.unwrap_or_else(|| Expr::constant(0u32, Type::Bits(0), span)))
    }

    /// Returns a value of type `ty` from the bits before bit `end` of a slot.
    pub(crate) fn parted(&mut self, ty: &hir::Type, slot: SlotId, end: &mut u32, span: Span) -> Result<Value> {
        if let Some(scalar) = self.cell_scalar(ty) {
            let width = scalar.width();
            if width == 0 {
                return Ok(Value::Scalar(Expr::constant(0u32, scalar, span)));
            }
            let (hi, lo) = (*end - 1, *end - width);
            *end = lo;
            let kind = ExprKind::Slice { arg: Box::new(self.slot_expr(slot, span)), hi, lo };
            let part = Expr { kind, ty: Type::Bits(width), span };
            return Ok(Value::Scalar(self.cast(part, scalar, span)?));
        }
        let members = self.record_members(ty).unwrap_or_default();
        let members: Result<Vec<Value>> = members.iter().map(|m| self.parted(m, slot, end, span)).collect();
        Ok(Value::Tree(members?.into()))
    }
}

impl Arguments<'_> {
    /// Returns whether an argument is a struct or tuple.
    pub(crate) fn is_record(&self, lowering: &Lowering<'_>, index: usize) -> bool {
        self.at(index).is_ok_and(|e| lowering.record_members(&e.ty).is_some())
    }

    /// Adds a struct or tuple as one number.
    pub(crate) fn whole(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        let e = self.at(index)?;
        self.list(lowering, index)?;
        if let Some(ExternArg::List(members)) = self.args.pop() {
            let value = Value::Tree(members.into_iter().map(Value::Scalar).collect());
            let whole = lowering.joined(&value, e.span)?;
            self.args.push(ExternArg::In(whole));
        }
        Ok(())
    }
}
