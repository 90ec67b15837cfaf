//! Trees to text.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use hopwright_ir::{Type, UnaryOp};
use num_bigint::BigUint;

use super::BINARY;
use crate::trace_ir::eval::{Counts, Exit};
use crate::trace_ir::values::{Invariance, Op, ValueId, ValueType};
use crate::trace_ir::{Effect, End, Leaf, NodeId, Place, TraceIr, Verdict};

/// The column of comments.
const COMMENT: usize = 56;

/// A tree as text, with counts as comments. Constants are written where they are used; other values are defined before their first use in a block or in the
/// blocks that lead there.
pub fn print(ir: &TraceIr, counts: Option<&Counts>) -> String {
    let mut printer = Printer { ir, counts, out: format!("trace {}\n", quoted(&ir.name)), labels: HashMap::new() };
    let mut work = vec![(NodeId(0), HashSet::new())];
    while let Some((id, mut defined)) = work.pop() {
        let Some(node) = ir.nodes.get(id.index()) else { continue };
        printer.node(id, &mut defined);
        let targets: Vec<NodeId> = node.end.targets().collect();
        work.extend(targets.into_iter().rev().map(|target| (target, defined.clone())));
    }
    printer.out
}

struct Printer<'a> {
    ir: &'a TraceIr,
    counts: Option<&'a Counts>,
    out: String,
    labels: HashMap<ValueId, usize>,
}

impl Printer<'_> {
    fn node(&mut self, id: NodeId, defined: &mut HashSet<ValueId>) {
        let node = &self.ir[id];
        let packets = self.counts.map(|counts| counts.nodes.get(id.index()).copied().unwrap_or(0));
        self.out.push('\n');
        self.line(0, &format!("block{}:", id.0), &packets.map_or(String::new(), |n| format!("{n} packets")));
        for (i, guard) in node.guards.iter().enumerate() {
            self.define(&[guard.condition], defined);
            let (not, condition) = (if guard.holds { "" } else { "!" }, self.operand(guard.condition));
            let left = self.left(Exit { node: id, guard: i });
            self.line(4, &format!("guard {not}{condition}, {}", quoted(&guard.site.text)), &left);
        }
        self.define(&node.end.values(), defined);
        match &node.end {
            End::Exit { site } => {
                let left = self.left(Exit { node: id, guard: node.guards.len() });
                self.line(4, &format!("exit {}", quoted(&site.text)), &left);
            }
            End::Branch { condition, yes, no, site } => {
                let condition = self.operand(*condition);
                self.line(4, &format!("branch {condition}, block{}, block{}, {}", yes.0, no.0, quoted(&site.text)), "");
            }
            End::Leaf(leaf) => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, leaf: &Leaf) {
        for effect in &leaf.effects {
            let text = match effect {
                Effect::Count { counter, index } => format!("count {}, {}", quoted(counter), self.operand(*index)),
                Effect::CountHit(entry) => format!("count_hit {}", self.operand(*entry)),
                Effect::Measure { meter, of } => format!("measure {}, {}", quoted(meter), self.operand(*of)),
                Effect::Priority(value) => format!("priority {}", self.operand(*value)),
                Effect::Write { register, index, value } => {
                    format!("write {}, {}, {}", quoted(register), self.operand(*index), self.operand(*value))
                }
            };
            self.line(4, &text, "");
        }
        match &leaf.verdict {
            Verdict::Drop => self.line(4, "drop", ""),
            Verdict::Forward { port, headers, payload } => {
                let headers: Vec<String> = headers.iter().map(|v| self.operand(*v)).collect();
                let payload = self.place(*payload);
                let text = format!("forward {}, [{}], payload {payload}", self.operand(*port), headers.join(", "));
                self.line(4, &text, "");
            }
        }
    }

    fn left(&self, exit: Exit) -> String {
        match self.counts.and_then(|counts| counts.exits.get(&exit)) {
            Some(packets) => format!("{packets} left"),
            None => String::new(),
        }
    }

    fn line(&mut self, indent: usize, text: &str, comment: &str) {
        let text = format!("{:indent$}{text}", "");
        // Writing to a string cannot fail.
        let _ = match comment {
            "" => writeln!(self.out, "{text}"),
            _ => writeln!(self.out, "{text:COMMENT$} ; {comment}"),
        };
    }

    /// Defines values and their operands, operands first.
    fn define(&mut self, values: &[ValueId], defined: &mut HashSet<ValueId>) {
        let mut work: Vec<ValueId> = values.iter().rev().copied().collect();
        while let Some(&value) = work.last() {
            let data = &self.ir.values[value];
            if matches!(data.op, Op::Constant(_)) || defined.contains(&value) {
                work.pop();
                continue;
            }
            let is_missing = |v: &ValueId| !defined.contains(v) && self.ir.values.as_constant(*v).is_none();
            let missing: Vec<ValueId> = data.op.operands().into_iter().filter(is_missing).collect();
            if !missing.is_empty() {
                work.extend(missing.into_iter().rev());
                continue;
            }
            work.pop();
            defined.insert(value);
            let next = self.labels.len();
            let label = *self.labels.entry(value).or_insert(next);
            let text = format!("v{label}:{} = {}", type_name(data.ty), self.operation(&data.op));
            let comment = match data.invariance {
                Invariance::Constant | Invariance::Packet => "",
                Invariance::Batch => "batch",
                Invariance::AfterCipher => "after cipher",
            };
            self.line(4, &text, comment);
        }
    }

    fn operand(&self, value: ValueId) -> String {
        let data = &self.ir.values[value];
        match &data.op {
            Op::Constant(constant) => format!("{}:{}", number(constant), type_name(data.ty)),
            _ => format!("v{}", self.labels.get(&value).copied().unwrap_or(usize::MAX)),
        }
    }

    fn operands(&self, values: &[ValueId]) -> String {
        values.iter().map(|v| format!(", {}", self.operand(*v))).collect()
    }

    fn place(&self, place: Place) -> String {
        match place.base {
            None => place.offset.to_string(),
            Some(base) => format!("{} + {}", self.operand(base), place.offset),
        }
    }

    fn operation(&self, op: &Op) -> String {
        let one = |v: &ValueId| self.operand(*v);
        match op {
            Op::Constant(value) => number(value),
            Op::Packet { base, bit } => format!("packet {}", self.place(Place { base: *base, offset: *bit })),
            Op::Bytes { at, length: None } => format!("bytes {}", self.place(*at)),
            Op::Bytes { at, length: Some(length) } => format!("bytes {}, {}", self.place(*at), one(length)),
            Op::Length => "length".into(),
            Op::IngressPort => "ingress_port".into(),
            Op::Now => "now".into(),
            Op::QueueWait(port, priority) => format!("queue_wait {}, {}", one(port), one(priority)),
            Op::QueueDepth(port, priority) => format!("queue_depth {}, {}", one(port), one(priority)),
            Op::Lookup { table, keys } => format!("lookup {}{}", quoted(table), self.operands(keys)),
            Op::Hit(entry) => format!("hit {}", one(entry)),
            Op::Is(entry, action) => format!("is {}, {}", one(entry), quoted(action)),
            Op::Argument { entry, action, index } => format!("argument {}, {}, {index}", one(entry), quoted(action)),
            Op::Member { set, keys } => format!("member {}{}", quoted(set), self.operands(keys)),
            Op::Register { register, index } => format!("register {}, {}", quoted(register), one(index)),
            Op::Color { meter, of } => format!("color {}, {}", quoted(meter), one(of)),
            Op::Call { function, args, result, cipher } => {
                let name = if *cipher { "cipher" } else { "call" };
                format!("{name} {}, {result}{}", quoted(function), self.operands(args))
            }
            Op::Checksum { algorithm, parts } => format!("checksum {algorithm:?}{}", self.operands(parts)),
            Op::Unary(UnaryOp::Neg, a) => format!("neg {}", one(a)),
            Op::Unary(UnaryOp::BitNot, a) => format!("bit_not {}", one(a)),
            Op::Unary(UnaryOp::Not, a) => format!("not {}", one(a)),
            Op::Binary(op, a, b) => {
                let name = BINARY.iter().find(|(_, other)| other == op).map_or("?", |(name, _)| name);
                format!("{name} {}, {}", one(a), one(b))
            }
            Op::Cast(a) => format!("cast {}", one(a)),
            Op::Slice { arg, hi, lo } => format!("slice {}, {hi}, {lo}", one(arg)),
            Op::Mux(condition, a, b) => format!("mux {}, {}, {}", one(condition), one(a), one(b)),
        }
    }
}

fn type_name(ty: ValueType) -> String {
    match ty {
        ValueType::Entry => "entry".into(),
        ValueType::Data(Type::Bool) => "bool".into(),
        ValueType::Data(Type::Bits(width)) => format!("bit{width}"),
        ValueType::Data(Type::Int(width)) => format!("int{width}"),
        ValueType::Data(Type::Varbit(width)) => format!("varbit{width}"),
    }
}

fn number(value: &BigUint) -> String {
    if *value < BigUint::from(256u32) { value.to_string() } else { format!("0x{value:x}") }
}

/// A quoted text. Quotes and backslashes have a backslash in front of them, and there are no line ends.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
