//! Extern functions that are defined by expressions over their arguments. All executors run them, and no one knows them.

use hopwright_ir::{BinaryOp, Expr, ExprKind, StmtKind, Type};
use hopwright_opt::fold;
use hopwright_sema::hir;
use num_bigint::BigUint;

use crate::arguments::Arguments;
use crate::value::{Value, binary, slice};
use crate::{Lowering, Result};

/// What a function with one argument, a `bit<W>`, returns. The argument may be used any number of times. A computed value that is used
/// more than once goes through [`once`].
type Definition = fn(&mut Lowering<'_>, Expr) -> Expr;

/// The functions by the names in their declarations. A result has the type of the argument.
static DEFINITIONS: &[(&str, Definition)] =
    &[("count_leading_zeros", count_leading_zeros), ("parity", parity), ("reverse_bits", reverse_bits)];

impl Lowering<'_> {
    /// Lowers a call of a function that is defined here; `None` if the function is not, or if the program declares another one of the name.
    pub(crate) fn defined_function(
        &mut self,
        name: &str,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Option<Result<Option<Value>>> {
        // `T name<T>(in T value)`.
        let ([argument], [of]) = (call.args.as_slice(), call.type_args.as_slice()) else { return None };
        if !matches!(argument.direction, hir::Direction::In) || ty.is_some_and(|ty| ty != of) {
            return None;
        }
        let (_, definition) = DEFINITIONS.iter().find(|(known, _)| *known == name)?;
        Some(self.defined_call(*definition, call))
    }

    fn defined_call(&mut self, definition: Definition, call: &hir::Call) -> Result<Option<Value>> {
        let mut args = Arguments::new(self, call)?;
        args.check_bits(self, 0)?;
        let argument = args.scalar(self, 0)?;
        let argument = self.freeze(argument);
        let (ty, span) = (argument.ty, call.span);
        let result = definition(self, argument);
        Ok(Some(Value::Scalar(Expr { kind: ExprKind::Cast(Box::new(result)), ty, span })))
    }
}

/// A value that is used several times, and computed once.
fn once(lowering: &mut Lowering<'_>, value: Expr) -> Expr {
    let value = fold::folded(value);
    if matches!(value.kind, ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Param(_)) {
        return value;
    }
    let (ty, span) = (value.ty, value.span);
    let slot = lowering.temp(ty, span);
    lowering.emit(StmtKind::Assign(slot, value), span);
    Expr::slot(slot, ty, span)
}

/// The number of zeros above the highest one. A binary search: the digits of the result say, from the first to the last, whether the
/// higher half of what is left is zero.
fn count_leading_zeros(lowering: &mut Lowering<'_>, value: Expr) -> Expr {
    let (width, span) = (value.ty.width(), value.span);
    // Ones below the value end the search in a value of zeros.
    let mut left = (width + 1).next_power_of_two();
    let ones = Expr::constant((BigUint::from(1u8) << (left - width)) - 1u8, Type::Bits(left - width), span);
    let mut rest = binary(BinaryOp::Concat, value, ones, Type::Bits(left), span);
    let mut digits: Option<Expr> = None;
    while left > 1 {
        let ty = Type::Bits(left / 2);
        rest = once(lowering, rest);
        let half = |lo: u32| {
            let arg = Box::new(rest.clone());
            Expr { kind: ExprKind::Slice { arg, hi: lo + left / 2 - 1, lo }, ty, span }
        };
        let (high, low) = (once(lowering, half(left / 2)), half(0));
        let zero = binary(BinaryOp::Eq, high.clone(), Expr::constant(0u8, ty, span), Type::Bool, span);
        let zero = once(lowering, zero);
        let digit = Expr { kind: ExprKind::Cast(Box::new(zero.clone())), ty: Type::Bits(1), span };
        rest = Expr { kind: ExprKind::Mux(Box::new(zero), Box::new(low), Box::new(high)), ty, span };
        digits = Some(match digits {
            Some(above) => {
                let ty = Type::Bits(above.ty.width() + 1);
                binary(BinaryOp::Concat, above, digit, ty, span)
            }
            None => digit,
        });
        left /= 2;
    }
    digits.unwrap_or(rest)
}

/// The exclusive or of all bits: that of both halves, until one bit is left.
fn parity(lowering: &mut Lowering<'_>, value: Expr) -> Expr {
    let span = value.span;
    let mut rest = value;
    while rest.ty.width() > 1 {
        let width = rest.ty.width();
        let half = width.div_ceil(2);
        let ty = Type::Bits(half);
        let value = once(lowering, rest);
        let arg = Box::new(value.clone());
        let high = Expr { kind: ExprKind::Slice { arg, hi: width - 1, lo: half }, ty: Type::Bits(width - half), span };
        let high = Expr { kind: ExprKind::Cast(Box::new(high)), ty, span };
        rest = binary(BinaryOp::Xor, high, slice(value, half - 1, span), ty, span);
    }
    rest
}

/// The bits in reverse order. Halves are exchanged, then the halves of these, down to single bits. That needs a width which is a power of two:
/// zeros above the value fill it, come to its low end, and are cut off.
fn reverse_bits(lowering: &mut Lowering<'_>, value: Expr) -> Expr {
    let (width, span) = (value.ty.width(), value.span);
    let whole = width.next_power_of_two();
    let ty = Type::Bits(whole);
    let mut rest = Expr { kind: ExprKind::Cast(Box::new(value)), ty, span };
    let mut half = whole / 2;
    while half > 0 {
        rest = once(lowering, rest);
        let distance = Expr::constant(half, Type::Bits(32), span);
        let low_halves = (0..whole).filter(|bit| bit % (2 * half) < half);
        let mask = low_halves.fold(BigUint::ZERO, |mask, bit| mask | (BigUint::from(1u8) << bit));
        let mask = Expr::constant(mask, ty, span);
        let low = binary(BinaryOp::And, rest.clone(), mask.clone(), ty, span);
        let low = binary(BinaryOp::Shl, low, distance.clone(), ty, span);
        let high = binary(BinaryOp::Shr, rest, distance, ty, span);
        let high = binary(BinaryOp::And, high, mask, ty, span);
        rest = binary(BinaryOp::Or, low, high, ty, span);
        half /= 2;
    }
    let arg = Box::new(rest);
    Expr { kind: ExprKind::Slice { arg, hi: whole - 1, lo: whole - width }, ty: Type::Bits(width), span }
}
