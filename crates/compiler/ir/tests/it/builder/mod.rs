//! Builds small pipelines by hand.
#![allow(dead_code)]

use hopwright_ir::*;
use num_bigint::BigUint;

pub(crate) const PACKET_TOO_SHORT: u32 = 1;
pub(crate) const STACK_OUT_OF_BOUNDS: u32 = 3;
pub(crate) const HEADER_TOO_SHORT: u32 = 4;
pub(crate) const INVALID_ARGUMENT: u32 = 6;

pub(crate) fn span() -> Span {
    Span::none()
}

/// A pipeline that parses nothing and sends everything to port 0.
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
    let errors = [
        "NoError",
        "PacketTooShort",
        "NoMatch",
        "StackOutOfBounds",
        "HeaderTooShort",
        "ParserTimeout",
        "ParserInvalidArgument",
    ];
    let control = |name: &str| Control { name: name.to_string(), body: Vec::new(), span: span() };
    Pipeline {
        name: "test".into(),
        slots,
        errors: errors.map(String::from).to_vec(),
        parser: Parser {
            name: "MyParser".into(),
            states: vec![State {
                name: "start".into(),
                body: Vec::new(),
                transition: Transition::Goto(Target::Accept),
                span: span(),
            }],
            start: StateId(0),
            span: span(),
        },
        verify_checksum: control("MyVerifyChecksum"),
        ingress: control("MyIngress"),
        egress: control("MyEgress"),
        compute_checksum: control("MyComputeChecksum"),
        deparser: control("MyDeparser"),
        ..Pipeline::empty(standard)
    }
}

pub(crate) fn slot(p: &mut Pipeline, name: &str, ty: Type, kind: SlotKind) -> SlotId {
    p.slots.push(Slot { name: name.into(), ty, kind, span: span() });
    SlotId(p.slots.len() as u32 - 1)
}

pub(crate) fn meta(p: &mut Pipeline, name: &str, ty: Type) -> SlotId {
    slot(p, name, ty, SlotKind::Metadata)
}

/// A header with these fields; a varbit one gets its type.
pub(crate) fn header(p: &mut Pipeline, name: &str, fields: &[(&str, Type)]) -> HeaderId {
    let id = HeaderId(p.headers.len() as u32);
    let mut offset = 0;
    let mut varbit = None;
    let mut made = Vec::new();
    for (i, &(field, ty)) in fields.iter().enumerate() {
        let slot = slot(p, &format!("{name}.{field}"), ty, SlotKind::Field(id, i as u32));
        made.push(HeaderField { slot, name: field.into(), offset_bits: offset, width: ty.width() });
        match ty {
            Type::Varbit(_) => varbit = Some(i as u32),
            _ => offset += ty.width(),
        }
    }
    let valid = slot(p, &format!("{name}.$valid"), Type::Bool, SlotKind::Valid(id));
    p.headers.push(Header {
        name: name.into(),
        type_name: format!("{}_t", name.trim_end_matches(|c: char| !c.is_alphanumeric())),
        fields: made,
        valid,
        fixed_bits: offset,
        varbit,
        stack: None,
        union: None,
        span: span(),
    });
    id
}

pub(crate) fn stack(p: &mut Pipeline, name: &str, size: u32, fields: &[(&str, Type)]) -> StackId {
    let id = StackId(p.stacks.len() as u32);
    let next_index = slot(p, &format!("{name}.$next"), Type::Bits(32), SlotKind::NextIndex(id));
    let elements = (0..size)
        .map(|i| {
            let element = header(p, &format!("{name}[{i}]"), fields);
            p.headers[element.index()].stack = Some((id, i));
            p.headers[element.index()].type_name = format!("{name}_t");
            element
        })
        .collect();
    p.stacks.push(Stack { name: name.into(), elements, next_index, span: span() });
    id
}

pub(crate) fn field(p: &Pipeline, header: HeaderId, index: usize) -> SlotId {
    p[header].fields[index].slot
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span() }
}

pub(crate) fn konst(value: u64, width: u32) -> Expr {
    Expr::constant(value, Type::Bits(width), span())
}

pub(crate) fn read(p: &Pipeline, slot: SlotId) -> Expr {
    Expr::slot(slot, p[slot].ty, span())
}

pub(crate) fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span: span() }
}

pub(crate) fn assign(slot: SlotId, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(slot, value))
}

pub(crate) fn extract(header: HeaderId) -> Stmt {
    stmt(StmtKind::Extract { header, varbit_bits: None })
}

pub(crate) fn emit(header: HeaderId) -> Stmt {
    stmt(StmtKind::Emit(header))
}

pub(crate) fn call(function: ExternFn, args: Vec<ExternArg>) -> Stmt {
    stmt(StmtKind::Extern(ExternCall { function, args, span: span() }))
}

pub(crate) fn send_to(p: &Pipeline, port: u64) -> Stmt {
    assign(p.standard.egress_spec, konst(port, 9))
}

pub(crate) fn action(p: &mut Pipeline, name: &str, params: &[(&str, u32)], body: Block) -> ActionId {
    p.actions.push(Action {
        name: name.into(),
        id: None,
        params: params.iter().map(|&(name, width)| Param { name: name.into(), ty: Type::Bits(width) }).collect(),
        body,
        span: span(),
    });
    ActionId(p.actions.len() as u32 - 1)
}

pub(crate) fn table(
    p: &mut Pipeline,
    name: &str,
    keys: Vec<(SlotId, MatchKind)>,
    actions: &[ActionId],
    default: ActionId,
) -> TableId {
    let keys =
        keys.into_iter().map(|(slot, kind)| Key { name: p[slot].name.clone(), expr: read(p, slot), kind }).collect();
    p.tables.push(Table {
        name: name.into(),
        id: None,
        keys,
        actions: actions.iter().map(|&action| TableAction { action, table_only: false, default_only: false }).collect(),
        default_action: ActionCall { action: default, args: Vec::new() },
        const_default_action: false,
        entries: Vec::new(),
        const_entries: false,
        size: 1024,
        implementation: None,
        direct_counter: None,
        direct_meter: None,
        entry_cells: Vec::new(),
        idle_timeout: false,
        span: span(),
    });
    TableId(p.tables.len() as u32 - 1)
}

pub(crate) fn apply(table: TableId) -> Stmt {
    stmt(StmtKind::Apply { table, hit: None, action_run: None })
}

pub(crate) fn entry(matches: Vec<MatchValue>, priority: i32, action: ActionId, args: &[u64]) -> TableEntry {
    TableEntry {
        matches,
        priority,
        action: ActionCall { action, args: args.iter().map(|&a| BigUint::from(a)).collect() },
    }
}

pub(crate) fn lpm(value: u64, prefix_len: u32) -> MatchValue {
    MatchValue::Lpm { value: value.into(), prefix_len }
}

pub(crate) fn ternary(value: u64, mask: u64) -> MatchValue {
    MatchValue::Ternary { value: value.into(), mask: mask.into() }
}

/// An extern object.
pub(crate) fn object(p: &mut Pipeline, name: &str, kind: ExternKind) -> ExternId {
    p.externs.push(ExternInstance {
        name: name.into(),
        kind,
        id: None,
        concurrent: false,
        initial: Default::default(),
        span: span(),
    });
    ExternId(p.externs.len() as u32 - 1)
}
