//! Constant folding, and algebraic identities that need no context.

use num_bigint::BigUint;
use num_traits::{One, Zero};

use hopwright_ir::{BinaryOp, Expr, ExprKind, Pipeline, Type, UnaryOp, bits};

use hopwright_ir::walk;

/// Bits of a machine word; wider numbers take several.
const WORD: u32 = 64;

/// Folds every expression of the pipeline.
pub fn fold(pipeline: &mut Pipeline) {
    for block in walk::all_blocks_mut(pipeline) {
        walk::stmts_mut(block, &mut |stmt| {
            for expr in walk::stmt_exprs_mut(stmt) {
                fold_in_place(expr);
            }
        });
    }
    for expr in walk::outer_exprs_mut(pipeline) {
        fold_in_place(expr);
    }
}

/// Folds an expression in place.
pub fn fold_in_place(expr: &mut Expr) {
    let placeholder = Expr::boolean(false, expr.span);
    let old = std::mem::replace(expr, placeholder);
    *expr = folded(old);
}

/// Folds an expression whose operands are folded already.
pub fn fold_shallow(expr: &mut Expr) {
    let placeholder = Expr::boolean(false, expr.span);
    let old = std::mem::replace(expr, placeholder);
    *expr = shallow(old);
}

/// The expression with everything constant computed.
pub fn folded(mut expr: Expr) -> Expr {
    for operand in walk::operands_mut(&mut expr) {
        fold_in_place(operand);
    }
    shallow(expr)
}

fn shallow(expr: Expr) -> Expr {
    let Expr { kind, ty, span } = expr;
    let constant = |value: BigUint| Expr::constant(value, ty, span);
    let rebuilt = |kind: ExprKind| Expr { kind, ty, span };
    match kind {
        ExprKind::Unary(op, a) => match (op, &a.kind) {
            (_, ExprKind::Const(v)) => constant(bits::unary(op, v, a.ty)),
            (UnaryOp::Not, ExprKind::Unary(UnaryOp::Not, _)) => match a.kind {
                ExprKind::Unary(_, inner) => *inner,
                kind => rebuilt(kind),
            },
            (UnaryOp::Not, ExprKind::Binary(comparison, ..)) => match (comparison.negated(), a.kind) {
                (Some(op), ExprKind::Binary(_, x, y)) => rebuilt(ExprKind::Binary(op, x, y)),
                (_, kind) => rebuilt(ExprKind::Unary(UnaryOp::Not, Box::new(Expr { kind, ty: a.ty, span: a.span }))),
            },
            _ => rebuilt(ExprKind::Unary(op, a)),
        },
        ExprKind::Binary(op, a, b) => match (a.as_const(), b.as_const()) {
            (Some(x), Some(y)) => constant(bits::binary(op, x, y, a.ty, b.ty)),
            _ => fold_binary(op, *a, *b, ty, span),
        },
        ExprKind::Cast(a) => match a.as_const() {
            Some(v) => constant(bits::cast(v, a.ty, ty)),
            None if a.ty == ty => *a,
            None => match a.kind {
                // Truncating a wide number is a slice, which can be pushed inwards.
                kind if a.ty.width() > WORD && ty.width() <= WORD && is_bits(a.ty) && is_bits(ty) => {
                    let arg = Box::new(Expr { kind, ..*a });
                    shallow(rebuilt(ExprKind::Slice { arg, hi: ty.width() - 1, lo: 0 }))
                }
                // An extension and its truncation cancel out.
                ExprKind::Cast(inner) if inner.ty == ty && a.ty.width() == ty.width() => *inner,
                kind => rebuilt(ExprKind::Cast(Box::new(Expr { kind, ..*a }))),
            },
        },
        ExprKind::Slice { arg, hi, lo } => match &arg.kind {
            ExprKind::Const(v) => constant(bits::slice(v, hi, lo)),
            _ if arg.ty == ty && lo == 0 => *arg,
            ExprKind::Slice { .. } => match arg.kind {
                ExprKind::Slice { arg: inner, lo: base, .. } => {
                    rebuilt(ExprKind::Slice { arg: inner, hi: hi + base, lo: lo + base })
                }
                kind => rebuilt(kind),
            },
            // Bits that zero extension does not reach.
            ExprKind::Cast(inner) if matches!(inner.ty, Type::Bits(w) if hi < w) => match arg.kind {
                ExprKind::Cast(inner) => shallow(rebuilt(ExprKind::Slice { arg: inner, hi, lo })),
                kind => rebuilt(kind),
            },
            // One part of a concatenation.
            ExprKind::Binary(BinaryOp::Concat, _, low) if lo >= low.ty.width() || hi < low.ty.width() => {
                slice_of_part(*arg, hi, lo, ty)
            }
            // Few bits of many: bitwise operations on machine words instead of long numbers.
            ExprKind::Unary(UnaryOp::BitNot, _)
            | ExprKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, ..)
                if arg.ty.width() > WORD && ty.width() <= WORD =>
            {
                slice_inside(*arg, hi, lo, ty)
            }
            _ => rebuilt(ExprKind::Slice { arg, hi, lo }),
        },
        ExprKind::Mux(cond, a, b) => match cond.as_const() {
            Some(c) if c.is_zero() => *b,
            Some(_) => *a,
            None => match (ty, a.as_const(), b.as_const()) {
                (Type::Bool, Some(x), Some(y)) if x.is_one() && y.is_zero() => *cond,
                (Type::Bool, Some(x), Some(y)) if x.is_zero() && y.is_one() => {
                    shallow(rebuilt(ExprKind::Unary(UnaryOp::Not, cond)))
                }
                _ => rebuilt(ExprKind::Mux(cond, a, b)),
            },
        },
        kind => rebuilt(kind),
    }
}

/// Bits `hi` to `lo` of a concatenation, all in one part of it.
fn slice_of_part(concat: Expr, hi: u32, lo: u32, ty: Type) -> Expr {
    let span = concat.span;
    match concat.kind {
        ExprKind::Binary(BinaryOp::Concat, high, low) => {
            let width = low.ty.width();
            let (arg, hi, lo) = if lo >= width { (high, hi - width, lo - width) } else { (low, hi, lo) };
            shallow(Expr { kind: ExprKind::Slice { arg, hi, lo }, ty, span })
        }
        kind => {
            let arg = Box::new(Expr { kind, ty: concat.ty, span });
            Expr { kind: ExprKind::Slice { arg, hi, lo }, ty, span }
        }
    }
}

/// Bits `hi` to `lo` of a bitwise operation: the operation on these bits.
fn slice_inside(mut operation: Expr, hi: u32, lo: u32, ty: Type) -> Expr {
    for operand in walk::operands_mut(&mut operation) {
        let placeholder = Expr::boolean(false, operand.span);
        let arg = Box::new(std::mem::replace(operand, placeholder));
        let span = arg.span;
        *operand = shallow(Expr { kind: ExprKind::Slice { arg, hi, lo }, ty, span });
    }
    operation.ty = ty;
    shallow(operation)
}

/// At most one operand is constant.
fn fold_binary(op: BinaryOp, a: Expr, b: Expr, ty: Type, span: hopwright_ir::Span) -> Expr {
    let ones = bits::mask(a.ty.width());
    let is = |e: &Expr, v: &BigUint| e.as_const() == Some(v);
    let zero = BigUint::zero();
    let same_left = a.ty == ty;
    match op {
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor | BinaryOp::SatAdd if is(&b, &zero) => a,
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor | BinaryOp::SatAdd if is(&a, &zero) => b,
        BinaryOp::Sub | BinaryOp::SatSub | BinaryOp::Shl | BinaryOp::Shr if is(&b, &zero) && same_left => a,
        BinaryOp::And if is(&a, &zero) || is(&b, &zero) => Expr::constant(zero, ty, span),
        BinaryOp::And if is(&b, &ones) => a,
        BinaryOp::And if is(&a, &ones) => b,
        BinaryOp::LogicalAnd if is(&a, &zero) || is(&b, &zero) => Expr::boolean(false, span),
        BinaryOp::LogicalAnd if a.as_const().is_some() => b,
        BinaryOp::LogicalAnd if b.as_const().is_some() => a,
        BinaryOp::LogicalOr if a.as_const().is_some_and(|v| !v.is_zero()) => Expr::boolean(true, span),
        BinaryOp::LogicalOr if b.as_const().is_some_and(|v| !v.is_zero()) => Expr::boolean(true, span),
        BinaryOp::LogicalOr if a.as_const().is_some() => b,
        BinaryOp::LogicalOr if b.as_const().is_some() => a,
        BinaryOp::Eq | BinaryOp::Ne if a.ty == Type::Bool && (a.as_const().is_some() || b.as_const().is_some()) => {
            let (value, other) = if a.as_const().is_some() { (a, b) } else { (b, a) };
            let wanted = value.as_const().is_some_and(|v| !v.is_zero());
            if wanted == (op == BinaryOp::Eq) {
                other
            } else {
                shallow(Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(other)), ty, span })
            }
        }
        BinaryOp::Eq | BinaryOp::Ne if is_truth(&a) && b.as_const().is_some() => {
            let wanted = b.as_const().is_some_and(|v| !v.is_zero()) == (op == BinaryOp::Eq);
            match a.kind {
                ExprKind::Cast(inner) if wanted => *inner,
                ExprKind::Cast(inner) => shallow(Expr { kind: ExprKind::Unary(UnaryOp::Not, inner), ty, span }),
                kind => Expr { kind, ..a },
            }
        }
        _ => Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span },
    }
}

fn is_bits(ty: Type) -> bool {
    matches!(ty, Type::Bits(w) if w > 0)
}

/// A `bool` as `bit<1>`.
fn is_truth(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Cast(inner) if inner.ty == Type::Bool && e.ty == Type::Bits(1))
}
