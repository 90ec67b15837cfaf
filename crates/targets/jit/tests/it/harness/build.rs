//! Pipelines by hand: the smallest v1model program, to which tests add headers, states and statements.

use std::sync::Arc;

use hopwright_ir::*;
use num_bigint::BigUint;

pub(crate) fn span() -> Span {
    Span::none()
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span() }
}

pub(crate) fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: span() }
}

pub(crate) fn constant(v: impl Into<BigUint>, ty: Type) -> Expr {
    Expr::constant(v, ty, span())
}

pub(crate) fn assign(slot: SlotId, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(slot, value))
}

pub(crate) fn extract(header: HeaderId) -> Stmt {
    stmt(StmtKind::Extract { header, varbit_bits: None })
}

pub(crate) fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}

/// A pipeline whose parser accepts at once and that sends everything to port 0.
pub(crate) fn pipeline() -> Pipeline {
    let mut slots = Vec::new();
    let standard = StandardMetadata::of(|name, width| {
        slots.push(Slot {
            name: format!("standard_metadata.{name}"),
            ty: Type::Bits(width),
            kind: SlotKind::Standard,
            span: span(),
        });
        SlotId(slots.len() as u32 - 1)
    });
    let control = |name: &str| Control { name: name.into(), body: Vec::new(), span: span() };
    Pipeline {
        name: "test".into(),
        slots,
        headers: Vec::new(),
        stacks: Vec::new(),
        unions: Vec::new(),
        errors: [
            "NoError",
            "PacketTooShort",
            "NoMatch",
            "StackOutOfBounds",
            "HeaderTooShort",
            "ParserTimeout",
            "ParserInvalidArgument",
            "Own",
        ]
        .map(String::from)
        .to_vec(),
        standard,
        parser: Parser {
            name: "P".into(),
            states: vec![state("start", Vec::new(), Transition::Goto(Target::Accept))],
            start: StateId(0),
            span: span(),
        },
        verify_checksum: control("V"),
        ingress: control("I"),
        egress: control("E"),
        compute_checksum: control("C"),
        deparser: control("D"),
        actions: Vec::new(),
        tables: Vec::new(),
        value_sets: Vec::new(),
        externs: Vec::new(),
        field_lists: Vec::new(),
        packet_in: None,
        packet_out: None,
        control_plane_objects: Vec::new(),
        sources: Arc::new(SourceMap::default()),
    }
}

pub(crate) fn state(name: &str, body: Block, transition: Transition) -> State {
    State { name: name.into(), body, transition, span: span() }
}

pub(crate) fn local(p: &mut Pipeline, name: &str, ty: Type) -> SlotId {
    p.slots.push(Slot { name: name.into(), ty, kind: SlotKind::Local, span: span() });
    SlotId(p.slots.len() as u32 - 1)
}

/// A header with fields of these types; `Varbit` for the variable one.
pub(crate) fn header(p: &mut Pipeline, name: &str, types: &[Type]) -> HeaderId {
    header_of(p, name, "h_t", types, None)
}

fn header_of(p: &mut Pipeline, name: &str, type_name: &str, types: &[Type], stack: Option<(StackId, u32)>) -> HeaderId {
    let id = HeaderId(p.headers.len() as u32);
    p.slots.push(Slot { name: format!("{name}.$valid"), ty: Type::Bool, kind: SlotKind::Valid(id), span: span() });
    let valid = SlotId(p.slots.len() as u32 - 1);
    let mut fields = Vec::new();
    let mut offset = 0;
    let mut varbit = None;
    for (i, &ty) in types.iter().enumerate() {
        p.slots.push(Slot { name: format!("{name}.f{i}"), ty, kind: SlotKind::Field(id, i as u32), span: span() });
        fields.push(HeaderField {
            slot: SlotId(p.slots.len() as u32 - 1),
            name: format!("f{i}"),
            offset_bits: offset,
            width: ty.width(),
        });
        if let Type::Varbit(_) = ty {
            varbit = Some(i as u32);
        } else {
            offset += ty.width();
        }
    }
    p.headers.push(Header {
        name: name.into(),
        type_name: type_name.into(),
        fields,
        valid,
        fixed_bits: offset,
        varbit,
        stack,
        union: None,
        span: span(),
    });
    id
}

/// A stack of headers with fields of these types.
pub(crate) fn stack(p: &mut Pipeline, name: &str, types: &[Type], size: u32) -> StackId {
    let id = StackId(p.stacks.len() as u32);
    let elements = (0..size).map(|i| header_of(p, &format!("{name}[{i}]"), "h_t", types, Some((id, i)))).collect();
    p.slots.push(Slot {
        name: format!("{name}.nextIndex"),
        ty: Type::Bits(32),
        kind: SlotKind::NextIndex(id),
        span: span(),
    });
    let next_index = SlotId(p.slots.len() as u32 - 1);
    p.stacks.push(Stack { name: name.into(), elements, next_index, span: span() });
    id
}

pub(crate) fn emit(header: HeaderId) -> Stmt {
    stmt(StmtKind::Emit(header))
}

/// A slot as an expression.
pub(crate) fn slot(p: &Pipeline, id: SlotId) -> Expr {
    Expr::slot(id, p[id].ty, span())
}

/// Field number `f` of a header.
pub(crate) fn field(p: &Pipeline, h: HeaderId, f: usize) -> SlotId {
    p[h].fields[f].slot
}
