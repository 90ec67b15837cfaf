//! Pipelines by hand, whose headers have numbered fields and one type.

use hopwright_ir::*;
use num_bigint::BigUint;

use crate::builder;
pub(crate) use crate::builder::{assign, binary, emit, extract, field, read as slot, span, stmt};

pub(crate) fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: span() }
}

pub(crate) fn constant(v: impl Into<BigUint>, ty: Type) -> Expr {
    Expr::constant(v, ty, span())
}

/// A pipeline with an error of its own, whose parser accepts at once and that sends everything to port 0.
pub(crate) fn pipeline() -> Pipeline {
    let mut p = builder::pipeline();
    p.errors.push("Own".into());
    p
}

pub(crate) fn state(name: &str, body: Block, transition: Transition) -> State {
    State { name: name.into(), body, transition, span: span() }
}

pub(crate) fn local(p: &mut Pipeline, name: &str, ty: Type) -> SlotId {
    builder::slot(p, name, ty, SlotKind::Local)
}

/// A header with fields of these types; `Varbit` for the variable one.
pub(crate) fn header(p: &mut Pipeline, name: &str, types: &[Type]) -> HeaderId {
    let id = builder::header(p, name, &named(&names(types)));
    p.headers[id.index()].type_name = "h_t".into();
    id
}

/// A stack of headers with fields of these types.
pub(crate) fn stack(p: &mut Pipeline, name: &str, types: &[Type], size: u32) -> StackId {
    let id = builder::stack(p, name, size, &named(&names(types)));
    for element in p[id].elements.clone() {
        p.headers[element.index()].type_name = "h_t".into();
    }
    id
}

fn names(types: &[Type]) -> Vec<(String, Type)> {
    types.iter().enumerate().map(|(i, ty)| (format!("f{i}"), *ty)).collect()
}

fn named(fields: &[(String, Type)]) -> Vec<(&str, Type)> {
    fields.iter().map(|(name, ty)| (name.as_str(), *ty)).collect()
}
