//! Comparisons with only one possible result, and shifts that leave nothing.

use std::collections::HashSet;

use hopwright_sema::hir::*;
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::visit::{self, Seen};

pub(crate) fn lint(program: &TypedProgram, out: &mut Vec<Diagnostic>) {
    let mut reported = HashSet::new();
    visit::program(program, &mut |seen| {
        let Seen::Expr(e) = seen else { return };
        let ExprKind::Binary(op, a, b) = &e.kind else { return };
        let d = match op {
            BinaryOp::Shl | BinaryOp::Shr => {
                shift(*op, a, b).map(|(title, label)| Diagnostic::warning("W0027", title).at(e.span, label))
            }
            _ => {
                // Move the constant to the right.
                let found = match (&a.kind, &b.kind) {
                    (_, ExprKind::Int(i)) => outcome(*op, &a.ty, i),
                    (ExprKind::Int(i), _) => mirrored(*op).and_then(|op| outcome(op, &b.ty, i)),
                    _ => None,
                };
                found.map(|result| {
                    let (lowest, highest) = bounds(if matches!(a.kind, ExprKind::Int(_)) { &b.ty } else { &a.ty });
                    Diagnostic::warning("W0026", format!("this comparison is always {result}"))
                        .at(e.span, format!("always {result}"))
                        .note(format!("the value compared is between {lowest} and {highest}"))
                })
            }
        };
        if let Some(d) = d
            && reported.insert(e.span)
        {
            out.push(d);
        }
    });
}

fn bounds(ty: &Type) -> (BigInt, BigInt) {
    match ty {
        Type::Int(w) if *w > 0 => (-(BigInt::from(1) << (w - 1)), (BigInt::from(1) << (w - 1)) - 1),
        Type::Bits(w) => (0.into(), (BigInt::from(1) << *w) - 1),
        _ => (0.into(), 0.into()),
    }
}

fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Ge => BinaryOp::Le,
        _ => return None,
    })
}

/// The result of `value op limit` if it is the same for all values of the type.
fn outcome(op: BinaryOp, ty: &Type, limit: &BigInt) -> Option<bool> {
    if !matches!(ty, Type::Bits(_) | Type::Int(_)) {
        return None;
    }
    let (lowest, highest) = bounds(ty);
    match op {
        BinaryOp::Lt if *limit <= lowest => Some(false),
        BinaryOp::Ge if *limit <= lowest => Some(true),
        BinaryOp::Gt if *limit >= highest => Some(false),
        BinaryOp::Le if *limit >= highest => Some(true),
        _ => None,
    }
}

fn shift(op: BinaryOp, value: &Expr, by: &Expr) -> Option<(String, String)> {
    let ExprKind::Int(by) = &by.kind else { return None };
    let (width, signed) = match &value.ty {
        Type::Bits(w) => (*w, false),
        Type::Int(w) => (*w, true),
        _ => return None,
    };
    if matches!(value.kind, ExprKind::Int(_)) || by.to_u64().is_some_and(|by| by < u64::from(width)) {
        return None;
    }
    let title = format!("a value of {width} bits is shifted by {by}");
    let left = if signed && op == BinaryOp::Shr { "only the sign is left" } else { "nothing of it is left" };
    Some((title, left.to_string()))
}
