//! What a program does that the target cannot, however many stages there are.

use std::collections::{BTreeSet, HashSet};

use hopwright_ir::analysis::dependencies::register_access;
use hopwright_ir::{
    BinaryOp, Block, Expr, ExprKind, ExternFn, ExternKind, Latency, Pipeline, Span, Stmt, StmtKind, Type, walk,
};

use crate::target::Target;
use crate::{memory, tofino};

/// Places and messages, each once.
pub(crate) type Found = BTreeSet<(Span, String)>;

/// Scans controls and actions.
pub(crate) fn find(pipeline: &Pipeline, target: &Target) -> Found {
    let mut found = Found::new();
    let controls = [&pipeline.ingress.body, &pipeline.egress.body];
    for body in controls.into_iter().chain(pipeline.actions.iter().map(|a| &a.body)) {
        block(pipeline, target, body, &mut found);
    }
    let keys = pipeline.tables.iter().flat_map(|t| t.keys.iter().map(|k| &k.expr));
    keys.for_each(|key| expr(pipeline, target, key, &mut found));
    for object in &pipeline.externs {
        if let ExternKind::Register { ty, .. } = object.kind
            && !tofino::is_own_register(&object.name)
            && ty.width() > target.logic.register_bits
        {
            let most = target.logic.register_bits;
            found.insert((object.span, format!("values of {} bits; registers have up to {most}", ty.width())));
        }
    }
    found
}

fn block(pipeline: &Pipeline, target: &Target, body: &Block, found: &mut Found) {
    let in_registers = register_accesses(body);
    walk::stmts(body, &mut |stmt| {
        // What a register action computes is the stateful ALU's.
        if in_registers.contains(&std::ptr::from_ref(stmt)) {
            return;
        }
        // Counters and meters of bytes know the length of the packet.
        if !counts(pipeline, &stmt.kind) {
            walk::stmt_exprs(stmt).into_iter().for_each(|e| expr(pipeline, target, e, found));
        }
        match &stmt.kind {
            StmtKind::Loop { .. } => {
                found.insert((stmt.span, "a loop: stages are passed once (counted as one round)".into()));
            }
            StmtKind::Extern(call) => {
                let message = match &call.function {
                    ExternFn::Named { instance: Some(filter), .. } if memory::is_filter(&pipeline[*filter].kind) => {
                        return;
                    }
                    ExternFn::Named { name, .. } => {
                        format!("extern `{name}` is not part of the target (counted as one operation)")
                    }
                    function if function.info().latency == Latency::Payload => {
                        "a checksum over the payload: stages see headers only".into()
                    }
                    ExternFn::Truncate => "truncation in the pipeline".into(),
                    _ => return,
                };
                found.insert((call.span, message));
            }
            _ => {}
        }
    });
}

/// The statements of accesses of registers, in all blocks.
fn register_accesses(body: &Block) -> HashSet<*const Stmt> {
    let mut found = HashSet::new();
    let mut rest = body.as_slice();
    while let [first, after @ ..] = rest {
        match register_access(rest) {
            Some(count) => {
                for stmt in &rest[..count] {
                    found.insert(std::ptr::from_ref(stmt));
                    walk::blocks(stmt).into_iter().for_each(|inner| {
                        walk::stmts(inner, &mut |stmt| {
                            found.insert(std::ptr::from_ref(stmt));
                        });
                    });
                }
                rest = &rest[count..];
            }
            None => {
                walk::blocks(first).into_iter().for_each(|inner| found.extend(register_accesses(inner)));
                rest = after;
            }
        }
    }
    found
}

fn counts(pipeline: &Pipeline, stmt: &StmtKind) -> bool {
    let StmtKind::Extern(call) = stmt else { return false };
    let kind = call.function.object().map(|object| &pipeline[object].kind);
    let counts = |kind: &ExternKind| {
        use ExternKind::{Counter, DirectCounter, DirectMeter, Meter};
        matches!(kind, Counter { .. } | DirectCounter { .. } | Meter { .. } | DirectMeter { .. })
    };
    kind.is_some_and(|kind| counts(kind) || memory::is_filter(kind))
}

fn expr(pipeline: &Pipeline, target: &Target, outer: &Expr, found: &mut Found) {
    walk::exprs(outer, &mut |e| {
        let message = match &e.kind {
            ExprKind::PacketLength => "the length of the packet: ingress does not know it".into(),
            ExprKind::Slot(slot) if *slot == pipeline.standard.packet_length => {
                "the length of the packet: ingress does not know it".into()
            }
            ExprKind::Binary(BinaryOp::Mul, a, b) if !is_power(a) && !is_power(b) => {
                "a multiplication: actions add and shift only (counted as one operation)".into()
            }
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod, _, by) if !is_power(by) => {
                "a division: actions add and shift only (counted as one operation)".into()
            }
            // The stateful ALU makes a word of what it has compared.
            ExprKind::Binary(BinaryOp::Shl, ..) if pipeline.sources.snippet(e.span).contains("predicate") => return,
            ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, _, by) if by.as_const().is_none() => {
                "a shift by a value that is not constant (counted as one operation)".into()
            }
            ExprKind::Binary(op, a, b) if arithmetic(*op) && a.as_const().is_none() | b.as_const().is_none() => {
                let bits = a.ty.width();
                if bits <= target.logic.arithmetic_bits || matches!(a.ty, Type::Bool) {
                    return;
                }
                format!("arithmetic of {bits} bits; actions have up to {}", target.logic.arithmetic_bits)
            }
            _ => return,
        };
        found.insert((e.span, message));
    });
}

fn arithmetic(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Ge, Gt, Le, Lt, SatAdd, SatSub, Sub};
    matches!(op, Add | Sub | SatAdd | SatSub | Lt | Le | Gt | Ge)
}

fn is_power(expr: &Expr) -> bool {
    expr.as_const().is_some_and(|v| v.count_ones() == 1)
}
