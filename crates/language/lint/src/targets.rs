//! Programs for Tofino: what other targets, or the device, do in another way than the executors here.
//!
//! - W0032: a field is written, and its header becomes valid later: a Tofino keeps the value, others lose it.
//! - W0033: metadata that are read and that nothing writes: zero here, undefined on the device.
//! - W0034: lengths that count the frame check sequence on the device, and not here.
//! - W0035: CRCs of data that are not whole bytes, and wider results than CRCs: targets differ in both.

use std::collections::{HashMap, HashSet};

use hopwright_sema::architecture::ParamRole;
use hopwright_sema::hir::*;
use hopwright_source::Span;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::visit::{self, Seen};

pub(crate) fn lint(program: &TypedProgram, out: &mut Vec<Diagnostic>) {
    if program.architecture().is_none_or(|a| a.by_type.is_empty()) {
        return;
    }
    let mut targets = Targets { program, reported: HashSet::new(), out };
    for function in &program.functions {
        targets.validity(&function.body, &mut Vec::new());
    }
    for instance in &program.instances {
        match &instance.body {
            InstanceBody::Control(body) => targets.validity(body, &mut Vec::new()),
            InstanceBody::Parser(states) => {
                states.iter().for_each(|state| targets.validity(&state.body, &mut Vec::new()));
            }
        }
    }
    targets.metadata();
    targets.lengths();
    targets.hashes();
}

/// A place that is written without run-time indices: a variable, and members of it.
type Path = (VarId, Vec<usize>);

struct Targets<'p, 'o> {
    program: &'p TypedProgram,
    reported: HashSet<(Span, &'static str)>,
    out: &'o mut Vec<Diagnostic>,
}

impl<'p> Targets<'p, '_> {
    fn say(&mut self, code: &'static str, span: Span, title: String, label: &str, note: &str) {
        if self.reported.insert((span, code)) {
            self.out.push(Diagnostic::warning(code, title).at(span, label).note(note));
        }
    }

    /// Finds fields that are written before their headers become valid in a list of statements; `valid` are the headers that are valid.
    fn validity(&mut self, list: &'p [Stmt], valid: &mut Vec<Path>) {
        let known = valid.len();
        let mut written: Vec<(Path, Span)> = Vec::new();
        for stmt in list {
            match &stmt.kind {
                StmtKind::Assign(target, _) => match header_of(target) {
                    Some(header) if !valid.contains(&header) => written.push((header, target.span)),
                    _ => {
                        // A whole header.
                        let whole = path(target);
                        written.retain(|(header, _)| Some(header) != whole.as_ref());
                    }
                },
                StmtKind::Call(call) => self.call(call, &mut written, valid),
                StmtKind::If(cond, then, otherwise) => {
                    let before = valid.len();
                    valid.extend(tested(cond));
                    self.validity(then, valid);
                    valid.truncate(before);
                    self.validity(otherwise, valid);
                }
                StmtKind::SwitchTable(_, cases) => cases.iter().for_each(|(_, body)| self.validity(body, valid)),
                StmtKind::SwitchValue(_, cases) => cases.iter().for_each(|(_, body)| self.validity(body, valid)),
                StmtKind::Block(body) => self.validity(body, valid),
                StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => self.validity(body, valid),
                _ => {}
            }
        }
        valid.truncate(known);
    }

    fn call(&mut self, call: &'p Call, written: &mut Vec<(Path, Span)>, valid: &mut Vec<Path>) {
        match &call.callee {
            Callee::Builtin(receiver, method) => {
                let Some(header) = path(receiver) else { return };
                if method == "setValid" {
                    if let Some((_, span)) = written.iter().find(|(known, _)| *known == header) {
                        self.say(
                            "W0032",
                            *span,
                            "a field is written before its header becomes valid".into(),
                            "`setValid` comes later",
                            "a Tofino keeps the value, as is done here; other targets lose it: call `setValid` first",
                        );
                    }
                    valid.push(header.clone());
                }
                if method == "setInvalid" {
                    valid.retain(|known| *known != header);
                }
                written.retain(|(known, _)| *known != header);
            }
            Callee::Packet(method) if method == "extract" => {
                if let Some(header) = call.args.first().and_then(|a| path(a.value.as_ref()?)) {
                    written.retain(|(known, _)| *known != header);
                    valid.push(header);
                }
            }
            _ => {}
        }
    }

    /// Finds members of metadata that are read, and that nothing writes.
    fn metadata(&mut self) {
        let program = self.program;
        let Some(architecture) = program.architecture() else { return };
        let mut metadata: HashSet<StructId> = HashSet::new();
        for (block, (_, id)) in architecture.blocks.iter().cycle().zip(&program.main.blocks) {
            for (param, role) in program[*id].params.iter().zip(block.params) {
                if let (ParamRole::Metadata | ParamRole::EgressMetadata, Type::Struct(id)) =
                    (role, &program[param.var].ty)
                {
                    metadata.insert(*id);
                }
            }
        }
        let mut accesses = Accesses::default();
        visit::program(program, &mut |seen| accesses.note(seen));
        let mut found: Vec<_> =
            accesses.read.into_iter().filter(|(member, _)| !accesses.written.contains(member)).collect();
        found.sort_by_key(|(_, span)| *span);
        for ((id, at), span) in found {
            if metadata.contains(&id) && !accesses.whole.contains(&id) {
                let name = &program[id].fields[at].name;
                let title = format!("`{name}` is read, and nothing writes it");
                let note = "it is zero here; on the device it may be anything";
                self.say("W0033", span, title, "never has a value", note);
            }
        }
    }

    /// Finds uses of lengths that the device counts with the frame check sequence.
    fn lengths(&mut self) {
        let program = self.program;
        let mut found = Vec::new();
        visit::program(program, &mut |seen| match seen {
            Seen::Expr(Expr { kind: ExprKind::Field(base, at), span, .. }) => {
                if let Type::Header(id) | Type::Struct(id) = base.ty
                    && program[id].name == "egress_intrinsic_metadata_t"
                    && program[id].fields[*at].name == "pkt_length"
                {
                    found.push((*span, "the packet's length"));
                }
            }
            Seen::Call(Call { callee: Callee::Method(object, method), args, .. }) => {
                let adjusts = match (program[*object].type_name.as_str(), method.as_str()) {
                    ("Counter", "count") => 1,
                    ("DirectCounter", "count") | ("DirectMeter", "execute") => 0,
                    ("Meter", "execute") => 2,
                    _ => return,
                };
                let by = args.get(adjusts).and_then(|a| a.value.as_ref()).filter(|e| matches!(e.ty, Type::Bits(32)));
                if let Some(by) = by.filter(|e| !matches!(&e.kind, ExprKind::Int(n) if *n == 0.into())) {
                    found.push((by.span, "what is counted"));
                }
            }
            _ => {}
        });
        for (span, what) in found {
            let title = format!("on the device, {what} has the four bytes of the frame check sequence");
            let note = "packets have no frame check sequence here: a length is four bytes less, and an adjustment for it takes off too much";
            self.say("W0034", span, title, "four bytes less here", note);
        }
    }

    /// Finds CRCs for which targets have different results.
    fn hashes(&mut self) {
        let program = self.program;
        let crcs: HashMap<usize, u32> =
            program.objects.iter().enumerate().filter_map(|(i, object)| Some((i, self.crc_width(object)?))).collect();
        for (i, object) in program.objects.iter().enumerate() {
            let (Some(crc), Some(Type::Bits(width))) = (crcs.get(&i), object.type_args.first()) else { continue };
            if width > crc {
                let title = format!("a hash of {width} bits is computed by a CRC of {crc}");
                let note = "a Tofino repeats the CRC, as is done here; other targets fill up with zeros";
                self.say("W0035", object.span, title, "wider than its CRC", note);
            }
        }
        let mut found = Vec::new();
        visit::program(program, &mut |seen| {
            if let Seen::Call(Call { callee: Callee::Method(object, method), args, span, .. }) = seen
                && method == "get"
                && crcs.contains_key(&(object.0 as usize))
                && let Some(bits) = args.first().and_then(|a| width(program, &a.value.as_ref()?.ty))
                && !bits.is_multiple_of(8)
            {
                found.push((*span, bits));
            }
        });
        for (span, bits) in found {
            let title = format!("a CRC of {bits} bits, which are not whole bytes");
            let note = "zeros are added at the beginning, as for a Tofino; other targets add them at the end";
            self.say("W0035", span, title, "not whole bytes", note);
        }
    }

    /// The width of the CRC that a `Hash` object computes.
    fn crc_width(&self, object: &Object) -> Option<u32> {
        if object.type_name != "Hash" {
            return None;
        }
        let ExprKind::EnumMember(id, at) = object.args.first()?.kind else { return None };
        match self.program[id].members.get(at)?.0.as_str() {
            "CRC8" => Some(8),
            "CRC16" => Some(16),
            "CRC32" => Some(32),
            "CRC64" => Some(64),
            "CUSTOM" => {
                let ExprKind::Object(polynomial) = object.args.get(1)?.kind else { return None };
                width(self.program, self.program[polynomial].type_args.first()?)
            }
            _ => None,
        }
    }
}

/// Members of structs that a program reads and writes.
#[derive(Default)]
struct Accesses {
    read: HashMap<(StructId, usize), Span>,
    written: HashSet<(StructId, usize)>,
    /// Structs of which a whole value is written or passed on.
    whole: HashSet<StructId>,
    /// Targets, which are not read.
    targets: HashSet<Span>,
}

impl Accesses {
    fn note(&mut self, seen: Seen<'_>) {
        match seen {
            Seen::Stmt(Stmt { kind: StmtKind::Assign(target, _), .. }) => {
                if let Type::Struct(id) = target.ty {
                    self.whole.insert(id);
                }
                self.write(target);
            }
            Seen::Call(call) => {
                for arg in &call.args {
                    if let (Direction::Out | Direction::InOut, Some(value)) = (arg.direction, &arg.value) {
                        self.write(value);
                    }
                }
                if matches!(call.callee, Callee::Packet(_)) {
                    call.args.iter().filter_map(|a| a.value.as_ref()).for_each(|e| self.write(e));
                }
            }
            Seen::Expr(Expr { kind: ExprKind::Field(base, at), span, ty }) => {
                if let Type::Struct(id) = base.ty
                    && matches!(ty, Type::Bits(_) | Type::Int(_) | Type::Bool)
                    && !self.targets.contains(span)
                {
                    let first = self.read.entry((id, *at)).or_insert(*span);
                    *first = (*first).min(*span);
                }
            }
            _ => {}
        }
    }

    fn write(&mut self, target: &Expr) {
        self.targets.insert(target.span);
        match &target.kind {
            ExprKind::Field(base, at) => {
                if let Type::Struct(id) = base.ty {
                    self.written.insert((id, *at));
                }
            }
            ExprKind::Slice(inner, ..) => return self.write(inner),
            _ => {}
        }
        // A variable of a struct that a call gets as such has the callee's writes, which are seen there.
        if let (Type::Struct(id), ExprKind::Field(..)) = (&target.ty, &target.kind) {
            self.whole.insert(*id);
        }
    }
}

/// Width of a type in bits.
pub(crate) fn width(program: &TypedProgram, ty: &Type) -> Option<u32> {
    match ty {
        Type::Bits(w) | Type::Int(w) => Some(*w),
        Type::Bool => Some(1),
        Type::Enum(id) => width(program, program[*id].underlying.as_ref()?),
        Type::Struct(id) | Type::Header(id) => program[*id].fields.iter().map(|f| width(program, &f.ty)).sum(),
        Type::Tuple(types) => types.iter().map(|ty| width(program, ty)).sum(),
        _ => None,
    }
}

/// The header of a field that is written.
fn header_of(target: &Expr) -> Option<Path> {
    match &target.kind {
        ExprKind::Field(base, _) if matches!(base.ty, Type::Header(_)) => path(base),
        ExprKind::Slice(inner, ..) => header_of(inner),
        _ => None,
    }
}

fn path(e: &Expr) -> Option<Path> {
    match &e.kind {
        ExprKind::Var(var) => Some((*var, Vec::new())),
        ExprKind::Field(base, at) => {
            let (var, mut steps) = path(base)?;
            steps.push(*at);
            Some((var, steps))
        }
        ExprKind::Index(base, index) => match &index.kind {
            ExprKind::Int(n) => {
                let (var, mut steps) = path(base)?;
                steps.push(usize::try_from(n).ok()?);
                Some((var, steps))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The headers that are valid where a condition is true.
fn tested(cond: &Expr) -> Vec<Path> {
    match &cond.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => tested(a).into_iter().chain(tested(b)).collect(),
        ExprKind::Call(call) => match &call.callee {
            Callee::Builtin(receiver, method) if method == "isValid" => path(receiver).into_iter().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
