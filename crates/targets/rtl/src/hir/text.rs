//! The text form of a design, for people and tests.

use std::fmt::{self, Display, Formatter, Write};

use hopwright_ir::Pipeline;

use super::{Design, Destinations, Input, Node, Op, Piece, Repetition, Value};

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for Input {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Input::Again(_) => "again",
            Input::Length => "length",
            Input::IngressPort => "ingress_port",
            Input::Timestamp => "timestamp",
            Input::Sums => "sums",
            Input::EgressPort => "egress_port",
            Input::EgressRid => "egress_rid",
            Input::Cloned => "cloned",
            Input::Replicated => "replicated",
            Input::QueueDepth => "queue_depth",
            Input::NoCopy => "no_copy",
            Input::LastCopy => "last_copy",
            Input::Shadow => "shadow",
        })
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Design {
    /// Returns the design as text: a line for each operation, results at the end of each part.
    pub fn text(&self, pipeline: &Pipeline) -> String {
        let mut out = String::new();
        let part = |out: &mut String, from: usize, to: usize| {
            for (i, node) in self.nodes[from..to].iter().enumerate() {
                line(out, pipeline, from + i, node);
            }
        };
        out.push_str("ingress {\n");
        part(&mut out, 0, self.split);
        let r = &self.ingress;
        let _ = writeln!(
            out,
            "  parser_error {}\n  multicast_group {}\n  egress_spec {}\n  clone {} session {}",
            r.parser_error, r.multicast_group, r.egress_spec, r.clone, r.session
        );
        if let Some(Repetition { enable, kept }) = &r.resubmit {
            let _ = writeln!(out, "  resubmit {kept} if {enable}");
        }
        out.push_str("}\negress {\n");
        part(&mut out, self.split, self.nodes.len());
        let r = &self.egress;
        let _ = writeln!(out, "  drop {}\n  instance_type {}", r.drop, r.instance_type);
        for emit in &r.emits {
            let _ = write!(out, "  emit {} if {}:", pipeline[emit.header].name, emit.enable);
            for piece in &emit.pieces {
                let _ = match piece {
                    Piece::Bits(v) => write!(out, " {v}"),
                    Piece::Region(v) => write!(out, " region({v})"),
                };
            }
            out.push('\n');
        }
        let (truncate, length) = (r.truncate, r.truncate_length);
        let _ = writeln!(out, "  payload from {}", r.skip);
        for edit in &r.edits {
            let _ = writeln!(out, "  edit at {} if {}: {}", edit.offset, edit.enable, edit.bits);
        }
        if let Some(Repetition { enable, kept }) = &r.recirculate {
            let _ = writeln!(out, "  recirculate {kept} if {enable}");
        }
        if let Some(Repetition { enable, kept }) = &r.mirror {
            let _ = writeln!(out, "  clone {kept} if {enable}");
        }
        let _ = writeln!(out, "  truncate {truncate} to {length}\n}}");
        out
    }
}

fn line(out: &mut String, pipeline: &Pipeline, at: usize, node: &Node) {
    let _ = write!(out, "  v{at}: {} = ", node.width);
    let _ = match &node.op {
        Op::Const(bits) => write!(out, "0x{bits:x}"),
        Op::Input(input) => write!(out, "{input}"),
        Op::Not(a) => write!(out, "not {a}"),
        Op::Binary(op, a, b) => write!(out, "{} {a}, {b}", snake(&format!("{op:?}"))),
        Op::Mux { cond, then, otherwise } => write!(out, "mux {cond} ? {then} : {otherwise}"),
        Op::OneHot(cases) => {
            let cases: Vec<String> = cases.iter().map(|(cond, value)| format!("{cond} ? {value}")).collect();
            write!(out, "one_hot {}", cases.join(", "))
        }
        Op::Slice { arg, lo } => write!(out, "slice {arg}[{}:{lo}]", lo + node.width - 1),
        Op::Concat(parts) => write!(out, "concat {}", list(parts)),
        Op::SignExtend(a) => write!(out, "sign_extend {a}"),
        Op::Ones(a) => write!(out, "ones {a}"),
        Op::Window { offset, bit } => write!(out, "window {offset} bytes + {bit}"),
        Op::Fetch { offset } => write!(out, "fetch {offset}"),
        Op::Lookup { table, enable, keys } => {
            write!(out, "lookup {} if {enable}: {}", pipeline[*table].name, list(keys))
        }
        Op::Destinations { of: Destinations::Group { .. }, number } => write!(out, "group {number}"),
        Op::Destinations { of: Destinations::Session { .. }, number } => write!(out, "session {number}"),
        Op::Color { lookup } => write!(out, "color {lookup}"),
        Op::Member { lookup, hit, place } => write!(out, "member {place} of {lookup} if {hit}"),
        Op::InSet { set, keys } => write!(out, "in {}: {}", pipeline[*set].name, list(keys)),
        Op::Count { counter, enable, index } => {
            write!(out, "count {}[{index}] if {enable}", pipeline[*counter].name)
        }
        Op::Measure { meter, enable, index } => write!(out, "measure {}[{index}] if {enable}", pipeline[*meter].name),
        Op::RegisterRead { register, index } => write!(out, "read {}[{index}]", pipeline[*register].name),
        Op::RegisterWrite { register, enable, index, value } => {
            write!(out, "write {}[{index}] if {enable}: {value}", pipeline[*register].name)
        }
        Op::Random { enable } => write!(out, "random if {enable}"),
        Op::Digest { enable, word, calls } => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            write!(out, "digest {} if {enable}: {word}", names.join(", "))
        }
        Op::Hash(algorithm, data) => write!(out, "hash {} {data}", snake(&format!("{algorithm:?}"))),
        Op::Extern { instance, method, enable, args, .. } => {
            let object = instance.map(|i| format!("{}.", pipeline[i].name)).unwrap_or_default();
            write!(out, "call {object}{method} if {enable}: {}", list(args))
        }
    };
    out.push('\n');
}

/// `ShrSigned` as `shr_signed`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
