//! Headers that are known by name, or chosen by an index at run time.

use hopwright_ir::{BinaryOp, Expr, ExprKind, HeaderId, Span, StmtKind, Type};

use crate::number::binary;
use crate::state::Field;
use crate::{Reader, Result, constant};

/// One of several things of the same type, chosen by an index: number `index - base`. None, if the index is beyond them.
#[derive(Clone, Debug)]
pub(crate) struct Choice<T> {
    /// `bit<W>`; `None` for the only one.
    pub(crate) index: Option<Expr>,
    pub(crate) base: u32,
    pub(crate) of: Vec<T>,
}

impl<T: Copy> Choice<T> {
    pub(crate) fn only(one: T) -> Choice<T> {
        Choice { index: None, base: 0, of: vec![one] }
    }

    pub(crate) fn as_only(&self) -> Option<T> {
        match (&self.index, self.of.as_slice()) {
            (None, [one]) => Some(*one),
            _ => None,
        }
    }

    /// A part of each.
    pub(crate) fn map<U>(&self, f: impl Fn(T) -> Option<U>) -> Option<Choice<U>> {
        let of = self.of.iter().map(|one| f(*one)).collect::<Option<_>>()?;
        Some(Choice { index: self.index.clone(), base: self.base, of })
    }

    /// The places that the index can select, with the condition for each.
    fn conditions(&self) -> impl Iterator<Item = (Expr, T)> + '_ {
        let index = self.index.clone();
        self.of.iter().zip(self.base..).filter_map(move |(one, number)| {
            let index = index.clone()?;
            let width = index.ty.width();
            if width < 32 && number >> width != 0 {
                return None;
            }
            Some((binary(BinaryOp::Eq, index, constant(number, width), Type::Bool), *one))
        })
    }
}

/// `cond ? then : otherwise`.
pub(crate) fn mux(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let ty = then.ty;
    Expr { kind: ExprKind::Mux(Box::new(cond), Box::new(then), Box::new(otherwise)), ty, span: Span::none() }
}

impl Reader<'_> {
    /// An expression that can be used several times: it is evaluated here, once.
    pub(crate) fn shared(&mut self, expr: Expr) -> Expr {
        if matches!(expr.kind, ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Param(_)) {
            return expr;
        }
        let slot = self.temporary(expr.ty);
        self.emit(StmtKind::Assign(slot, expr));
        self.slot_expr(slot)
    }

    /// The value of the chosen one; zero if there is none.
    pub(crate) fn chosen<T: Copy>(&mut self, choice: &Choice<T>, ty: Type, value: impl Fn(&Self, T) -> Expr) -> Expr {
        if let Some(one) = choice.as_only() {
            return value(self, one);
        }
        let conditions: Vec<_> = choice.conditions().collect();
        let zero = Expr::constant(0u32, ty, Span::none());
        conditions.into_iter().rev().fold(zero, |rest, (cond, one)| mux(cond, value(self, one), rest))
    }

    /// Adds the statements for the chosen one; none if there is none.
    pub(crate) fn for_chosen<T: Copy>(
        &mut self,
        choice: &Choice<T>,
        f: &mut dyn FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        if let Some(one) = choice.as_only() {
            return f(self, one);
        }
        let conditions: Vec<_> = choice.conditions().collect();
        let mut otherwise = Vec::new();
        for (cond, one) in conditions.into_iter().rev() {
            let then = self.nested(|this| f(this, one))?;
            let stmt = StmtKind::If { cond, then, otherwise: std::mem::take(&mut otherwise) };
            otherwise = self.nested(|this| {
                this.emit(stmt);
                Ok(())
            })?;
        }
        self.block.extend(otherwise);
        Ok(())
    }

    /// The field at a position of the chosen header.
    pub(crate) fn field_of_chosen(&self, header: &Choice<HeaderId>, position: usize) -> Option<Choice<Field>> {
        header.map(|id| {
            let field = self.p[id].fields.get(position)?;
            Some(Field { slot: field.slot, ty: self.p[field.slot].ty, header: Some(id) })
        })
    }
}
