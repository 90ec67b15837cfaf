//! The text form of a pipeline, which `hopwright ir` prints and [`parse`] reads back.
//!
//! It contains the whole model but spans. Slots, headers and states are written by name; `x#0` and `x#1` are the first and
//! second one called `x`. A name that is a keyword or does not look like a name is quoted. Constants carry their type as in
//! P4: `9w0x1f`, `8s0xff`, `true`.

mod error;
mod parse;
mod token;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

use num_bigint::BigUint;

use crate::model::*;

pub use error::ParseError;
pub use parse::parse;
use token::{quoted, written};

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("bool"),
            Type::Bits(w) => write!(f, "bit<{w}>"),
            Type::Int(w) => write!(f, "int<{w}>"),
            Type::Varbit(w) => write!(f, "varbit<{w}>"),
        }
    }
}

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(self);
        // Writing to a string cannot fail.
        let _ = printer.pipeline();
        f.write_str(&printer.out)
    }
}

/// An expression's text; `params` are those of the action it stands in.
pub fn expression(pipeline: &Pipeline, e: &Expr, params: &[Param]) -> String {
    let mut printer = Printer::new(pipeline);
    printer.params = params;
    printer.expr(e)
}

/// A select case's sets, separated by commas.
pub fn key_sets(pipeline: &Pipeline, sets: &[KeySet]) -> String {
    let printer = Printer::new(pipeline);
    list(sets.iter().map(|set| printer.key_set(set)))
}

/// A statement's text, with those inside it; `params` are those of the action it stands in.
pub fn statement(pipeline: &Pipeline, stmt: &Stmt, params: &[Param]) -> String {
    let mut printer = Printer::new(pipeline);
    printer.params = params;
    let _ = printer.stmt(stmt);
    printer.out
}

struct Printer<'a> {
    p: &'a Pipeline,
    slots: Vec<String>,
    headers: Vec<String>,
    states: Vec<String>,
    params: &'a [Param],
    indent: usize,
    out: String,
}

/// The names, made unique: the first of several is `name#0`.
fn names<'a>(all: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for name in all.clone() {
        *count.entry(name).or_default() += 1;
    }
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unique = |name: &'a str| {
        if count[name] == 1 {
            return written(name).into_owned();
        }
        let before = met.entry(name).or_default();
        *before += 1;
        written(&format!("{name}#{}", *before - 1)).into_owned()
    };
    all.map(&mut unique).collect()
}

/// The bound of a loop or an advance.
fn at_most(bound: Option<u32>) -> String {
    bound.map_or(String::new(), |bound| format!(" max {bound}"))
}

/// An object's P4Runtime id.
fn at_id(id: Option<P4Id>) -> String {
    id.map_or(String::new(), |id| format!(" @id({:#010x})", id.0))
}

/// Values separated by commas.
fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
}

impl<'a> Printer<'a> {
    fn new(p: &'a Pipeline) -> Printer<'a> {
        Printer {
            p,
            slots: names(p.slots.iter().map(|s| s.name.as_str())),
            headers: names(p.headers.iter().map(|h| h.name.as_str())),
            states: names(p.parser.states.iter().map(|s| s.name.as_str())),
            params: &[],
            indent: 0,
            out: String::new(),
        }
    }

    fn line(&mut self, text: impl Display) -> fmt::Result {
        writeln!(self.out, "{:1$}{text}", "", self.indent * 4)
    }

    /// A line, then the output of `inside`, indented and in braces.
    fn braces(&mut self, head: impl Display, inside: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.line(format_args!("{head} {{"))?;
        self.indent += 1;
        inside(self)?;
        self.indent -= 1;
        self.line("}")
    }

    fn slot(&self, id: SlotId) -> Cow<'_, str> {
        match self.slots.get(id.index()) {
            // The bare name is the parameter's.
            Some(name) if self.params.iter().any(|p| written(&p.name) == *name) => {
                written(&format!("{}#0", self.p.slots[id.index()].name)).into_owned().into()
            }
            Some(name) => name.into(),
            None => "<no slot>".into(),
        }
    }

    fn header(&self, id: HeaderId) -> &str {
        self.headers.get(id.index()).map_or("<no header>", |s| s)
    }

    fn target(&self, target: Target) -> &str {
        match target {
            Target::State(id) => self.states.get(id.0 as usize).map_or("<no state>", |s| s),
            Target::Accept => "accept",
            Target::Reject => "reject",
        }
    }

    fn object(&self, id: ExternId) -> Cow<'a, str> {
        self.p.externs.get(id.index()).map_or("<no extern>".into(), |e| written(&e.name))
    }

    fn action(&self, id: ActionId) -> Cow<'a, str> {
        self.p.actions.get(id.index()).map_or("<no action>".into(), |a| written(&a.name))
    }

    fn table_name(&self, id: TableId) -> Cow<'a, str> {
        self.p.tables.get(id.index()).map_or("<no table>".into(), |t| written(&t.name))
    }

    fn pipeline(&mut self) -> fmt::Result {
        let p = self.p;
        self.line(format_args!("pipeline {}", written(&p.name)))?;
        self.line("")?;
        self.line(format_args!("errors {}", list(p.errors.iter().map(|e| written(e)))))?;
        self.state()?;
        self.objects()?;
        for action in &p.actions {
            self.line("")?;
            let params = action.params.iter().map(|p| format!("{}: {}", written(&p.name), p.ty));
            let head = format!("action {}({}){}", written(&action.name), list(params), at_id(action.id));
            self.params = &action.params;
            self.braces(head, |s| s.block(&action.body))?;
            self.params = &[];
        }
        for table in &p.tables {
            self.line("")?;
            let head = format!("table {}{}", written(&table.name), at_id(table.id));
            self.braces(head, |s| s.table(table))?;
        }
        self.line("")?;
        self.parser()?;
        let controls = [
            ("verify_checksum", &p.verify_checksum),
            ("ingress", &p.ingress),
            ("egress", &p.egress),
            ("compute_checksum", &p.compute_checksum),
            ("deparser", &p.deparser),
        ];
        for (what, control) in controls {
            self.line("")?;
            self.braces(format_args!("{what} {}", written(&control.name)), |s| s.block(&control.body))?;
        }
        Ok(())
    }

    fn state(&mut self) -> fmt::Result {
        let p = self.p;
        for (id, header) in p.headers.iter().enumerate() {
            self.line("")?;
            let name = self.header(HeaderId(id as u32)).to_string();
            self.braces(format_args!("header {name}: {}", written(&header.type_name)), |s| {
                for field in &header.fields {
                    let ty = p.slots.get(field.slot.index()).map_or(Type::Bool, |s| s.ty);
                    s.line(format_args!("{}: {ty} @{}", written(&field.name), field.offset_bits))?;
                }
                Ok(())
            })?;
        }
        for stack in &p.stacks {
            let elements = list(stack.elements.iter().map(|&h| self.header(h)));
            self.line("")?;
            self.line(format_args!("stack {} = [{elements}]", written(&stack.name)))?;
        }
        for union in &p.unions {
            let members = list(union.members.iter().map(|&h| self.header(h)));
            self.line("")?;
            self.line(format_args!("union {} = {{{members}}}", written(&union.name)))?;
        }
        self.line("")?;
        for (id, slot) in p.slots.iter().enumerate() {
            let what = match slot.kind {
                SlotKind::Metadata => "metadata",
                SlotKind::Standard => "standard",
                SlotKind::Local => "local",
                SlotKind::Field(..) | SlotKind::Valid(_) | SlotKind::NextIndex(_) => continue,
            };
            let name = self.slot(SlotId(id as u32)).to_string();
            self.line(format_args!("{what} {name}: {}", slot.ty))?;
        }
        for kept in &p.field_lists {
            let slots = list(kept.slots.iter().map(|&s| self.slot(s)));
            self.line(format_args!("field_list {} = {{{slots}}}", kept.index))?;
        }
        for (what, header) in [("packet_in", p.packet_in), ("packet_out", p.packet_out)] {
            if let Some(header) = header {
                let name = self.header(header).to_string();
                self.line(format_args!("{what} {name}"))?;
            }
        }
        Ok(())
    }

    fn objects(&mut self) -> fmt::Result {
        let p = self.p;
        if !p.externs.is_empty() || !p.value_sets.is_empty() || !p.control_plane_objects.is_empty() {
            self.line("")?;
        }
        for set in &p.value_sets {
            let (name, types) = (written(&set.name), list(&set.types));
            self.line(format_args!("value_set {name}: ({types}) size {}{}", set.size, at_id(set.id)))?;
        }
        for object in &p.externs {
            let table = |t: Option<TableId>| t.map_or("no table".into(), |t| self.table_name(t));
            let kind = match &object.kind {
                ExternKind::Counter { size, unit } => format!("counter of {unit:?} size {size}"),
                ExternKind::DirectCounter { table: t, unit } => format!("counter of {unit:?} in {}", table(*t)),
                ExternKind::Meter { size, unit } => format!("meter of {unit:?} size {size}"),
                ExternKind::DirectMeter { table: t, unit } => format!("meter of {unit:?} in {}", table(*t)),
                ExternKind::Register { size, ty } => format!("register of {ty} size {size}"),
                ExternKind::Stateless => "Stateless".into(),
                ExternKind::ActionProfile { size } => format!("action_profile size {size}"),
                ExternKind::ActionSelector { algorithm, size, output_width } => {
                    format!("action_selector by {algorithm:?} bits {output_width} size {size}")
                }
                ExternKind::Named { type_name, args } => format!("{}({})", written(type_name), list(args)),
            };
            let concurrent = if object.concurrent { " @concurrent" } else { "" };
            let zero = object.initial == num_bigint::BigUint::ZERO;
            let initial = if zero { String::new() } else { format!(" initial {:#x}", object.initial) };
            let id = at_id(object.id);
            self.line(format_args!("extern {}: {kind}{initial}{concurrent}{id}", written(&object.name)))?;
        }
        for object in &p.control_plane_objects {
            let (kind, name) = (object.kind.words().replace(' ', "_"), written(&object.name));
            self.line(format_args!("control_plane {kind} {name}{}", at_id(Some(object.id))))?;
        }
        Ok(())
    }

    fn table(&mut self, table: &'a Table) -> fmt::Result {
        for key in &table.keys {
            let (name, kind, value) = (written(&key.name), key.kind, self.expr(&key.expr));
            self.line(format_args!("key {name}: {kind} = {value}"))?;
        }
        for action in &table.actions {
            let only = match (action.table_only, action.default_only) {
                (true, _) => " @tableonly",
                (_, true) => " @defaultonly",
                _ => "",
            };
            let name = self.action(action.action);
            self.line(format_args!("action {name}{only}"))?;
        }
        let constant = |c: bool| if c { "const " } else { "" };
        let default = self.action_call(&table.default_action);
        self.line(format_args!("{}default {default}", constant(table.const_default_action)))?;
        for entry in &table.entries {
            let matches = list(&entry.matches);
            let action = self.action_call(&entry.action);
            let priority = if table.has_priority() { format!(" priority {}", entry.priority) } else { String::new() };
            self.line(format_args!("{}entry {matches} => {action}{priority}", constant(table.const_entries)))?;
        }
        self.line(format_args!("size {}", table.size))?;
        let objects = [
            ("implementation", table.implementation),
            ("direct_counter", table.direct_counter),
            ("direct_meter", table.direct_meter),
        ];
        for (what, object) in objects {
            if let Some(id) = object {
                let name = self.object(id);
                self.line(format_args!("{what} {name}"))?;
            }
        }
        for &id in &table.entry_cells {
            let name = self.object(id);
            self.line(format_args!("entry_cells {name}"))?;
        }
        if table.idle_timeout {
            self.line("idle_timeout")?;
        }
        Ok(())
    }

    fn action_call(&self, call: &ActionCall) -> String {
        let args = call.args.iter().map(|a| format!("0x{a:x}"));
        format!("{}({})", self.action(call.action), list(args))
    }

    fn parser(&mut self) -> fmt::Result {
        let parser = &self.p.parser;
        let start = self.target(Target::State(parser.start)).to_string();
        self.braces(format_args!("parser {} from {start}", written(&parser.name)), |s| {
            for (i, state) in parser.states.iter().enumerate() {
                let name = s.states[i].clone();
                s.braces(format_args!("state {name}"), |s| {
                    s.block(&state.body)?;
                    s.transition(&state.transition)
                })?;
            }
            Ok(())
        })
    }

    fn transition(&mut self, transition: &'a Transition) -> fmt::Result {
        match transition {
            Transition::Goto(target) => {
                let target = self.target(*target).to_string();
                self.line(format_args!("goto {target}"))
            }
            Transition::Select { keys, cases } => {
                let head = format!("select ({})", list(keys.iter().map(|k| self.expr(k))));
                self.braces(head, |s| {
                    for case in cases {
                        let sets = list(case.sets.iter().map(|set| s.key_set(set)));
                        let target = s.target(case.target).to_string();
                        s.line(format_args!("{sets}: {target}"))?;
                    }
                    Ok(())
                })
            }
        }
    }

    fn key_set(&self, set: &KeySet) -> String {
        match set {
            KeySet::Any => "_".into(),
            KeySet::Value(v) => format!("0x{v:x}"),
            KeySet::Mask(v, m) => format!("0x{v:x} &&& 0x{m:x}"),
            KeySet::Range(lo, hi) => format!("0x{lo:x}..0x{hi:x}"),
            KeySet::ValueSet(id) => {
                self.p.value_sets.get(id.index()).map_or("<no value set>".into(), |v| written(&v.name).into_owned())
            }
        }
    }

    fn block(&mut self, block: &'a [Stmt]) -> fmt::Result {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> fmt::Result {
        let text = match &stmt.kind {
            StmtKind::Assign(slot, value) => format!("{} = {}", self.slot(*slot), self.expr(value)),
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                format!("{}[{hi}:{lo}] = {}", self.slot(*slot), self.expr(value))
            }
            StmtKind::SetValid(h) => format!("set_valid {}", self.header(*h)),
            StmtKind::SetInvalid(h) => format!("set_invalid {}", self.header(*h)),
            StmtKind::CopyHeader { dst, src } => format!("copy {} = {}", self.header(*dst), self.header(*src)),
            StmtKind::PushFront(s, n) => format!("push_front {} {n}", self.stack(*s)),
            StmtKind::PopFront(s, n) => format!("pop_front {} {n}", self.stack(*s)),
            StmtKind::If { cond, then, otherwise } => return self.conditional("if", cond, then, otherwise),
            StmtKind::Switch { value, cases, default } => {
                let head = format!("switch {}", self.expr(value));
                let ty = value.ty;
                return self.braces(head, |s| {
                    for (values, body) in cases {
                        let values = list(values.iter().map(|v| constant(v, ty)));
                        s.braces(format_args!("case {values}"), |s| s.block(body))?;
                    }
                    s.braces("default", |s| s.block(default))
                });
            }
            StmtKind::Scope { label, body } => {
                return self.braces(format_args!("scope {label}"), |s| s.block(body));
            }
            StmtKind::Leave(label) => format!("leave {label}"),
            StmtKind::Loop { body, bound } => {
                return self.braces(format_args!("loop{}", at_most(*bound)), |s| s.block(body));
            }
            StmtKind::Apply { table, hit, action_run } => {
                let mut text = format!("apply {}", self.table_name(*table));
                if let Some(slot) = hit {
                    let _ = write!(text, " hit {}", self.slot(*slot));
                }
                if let Some(slot) = action_run {
                    let _ = write!(text, " action_run {}", self.slot(*slot));
                }
                text
            }
            StmtKind::Extern(call) => self.call(call),
            StmtKind::Exit => "exit".into(),
            StmtKind::Extract { header, varbit_bits } => {
                format!("extract {}{}", self.header(*header), self.size(varbit_bits.as_ref()))
            }
            StmtKind::ExtractNext { stack, varbit_bits } => {
                format!("extract_next {}{}", self.stack(*stack), self.size(varbit_bits.as_ref()))
            }
            StmtKind::Advance { bits, bound } => format!("advance {}{}", self.expr(bits), at_most(*bound)),
            StmtKind::Lookahead { total_bits, parts } => {
                let parts = list(parts.iter().map(|(slot, at)| format!("{} @{at}", self.slot(*slot))));
                format!("lookahead {total_bits} {{{parts}}}")
            }
            StmtKind::Verify(cond, error) => format!("verify {} else {}", self.expr(cond), self.expr(error)),
            StmtKind::Emit(h) => format!("emit {}", self.header(*h)),
        };
        self.line(text)
    }

    fn conditional(&mut self, keyword: &str, cond: &Expr, then: &'a Block, otherwise: &'a Block) -> fmt::Result {
        let head = format!("{keyword} {} {{", self.expr(cond));
        self.line(head)?;
        self.indent += 1;
        self.block(then)?;
        self.indent -= 1;
        if let [Stmt { kind: StmtKind::If { cond, then, otherwise }, .. }] = otherwise.as_slice() {
            return self.conditional("} else if", cond, then, otherwise);
        }
        if !otherwise.is_empty() {
            self.line("} else {")?;
            self.indent += 1;
            self.block(otherwise)?;
            self.indent -= 1;
        }
        self.line("}")
    }

    fn stack(&self, id: StackId) -> Cow<'a, str> {
        self.p.stacks.get(id.index()).map_or("<no stack>".into(), |s| written(&s.name))
    }

    fn size(&self, bits: Option<&Expr>) -> String {
        bits.map_or(String::new(), |e| format!(" varbit {}", self.expr(e)))
    }

    fn call(&self, call: &ExternCall) -> String {
        let function = match call.function.object() {
            Some(id) => format!("{}.{}", self.object(id), call.function.name()),
            None => written(call.function.name()).into_owned(),
        };
        let constants = call.function.constants();
        let constants = match constants.as_slice() {
            [] => String::new(),
            some => format!("<{}>", list(some.iter().map(constant_of_call))),
        };
        let args = call.args.iter().map(|arg| match arg {
            ExternArg::In(e) => self.expr(e),
            ExternArg::List(parts) => format!("{{{}}}", list(parts.iter().map(|e| self.expr(e)))),
            ExternArg::Out(slot) => format!("out {}", self.slot(*slot)),
            ExternArg::InOut(slot) => format!("inout {}", self.slot(*slot)),
        });
        let effects = match call.function {
            ExternFn::Named { no_side_effects: true, .. } => " @noSideEffects",
            _ => "",
        };
        format!("{function}{constants}({}){effects}", list(args))
    }

    fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(value) => constant(value, e.ty),
            ExprKind::Slot(slot) => self.slot(*slot).to_string(),
            ExprKind::Param(index) => {
                self.params.get(*index as usize).map_or(format!("<param {index}>"), |p| written(&p.name).into_owned())
            }
            ExprKind::Unary(op, a) => {
                let op = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Not => "!",
                };
                format!("{op}{}", self.operand(a))
            }
            ExprKind::Binary(op, a, b) => format!("({} {} {})", self.expr(a), operator(*op), self.expr(b)),
            ExprKind::Cast(a) => format!("({}){}", e.ty, self.operand(a)),
            ExprKind::Slice { arg, hi, lo } => match arg.kind {
                ExprKind::Unary(..) | ExprKind::Cast(_) => format!("({})[{hi}:{lo}]", self.expr(arg)),
                _ => format!("{}[{hi}:{lo}]", self.expr(arg)),
            },
            ExprKind::Mux(cond, a, b) => format!("({} ? {} : {})", self.expr(cond), self.expr(a), self.expr(b)),
            ExprKind::PacketLength => "packet_length".into(),
        }
    }
}

impl Printer<'_> {
    /// The operand of a cast or a unary operator, which bind tighter than slices.
    fn operand(&self, e: &Expr) -> String {
        match e.kind {
            ExprKind::Slice { .. } => format!("({})", self.expr(e)),
            _ => self.expr(e),
        }
    }
}

fn constant_of_call(constant: &ExternConstant) -> Cow<'_, str> {
    match constant {
        ExternConstant::Word(word) => written(word),
        ExternConstant::Number(number) => number.to_string().into(),
        ExternConstant::Text(text) => quoted(text).into(),
    }
}

fn constant(value: &BigUint, ty: Type) -> String {
    match ty {
        Type::Bool => (*value != BigUint::ZERO).to_string(),
        Type::Int(w) => format!("{w}s0x{value:x}"),
        Type::Bits(w) | Type::Varbit(w) => format!("{w}w0x{value:x}"),
    }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::SatAdd => "|+|",
        BinaryOp::SatSub => "|-|",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
        BinaryOp::Concat => "++",
    }
}
