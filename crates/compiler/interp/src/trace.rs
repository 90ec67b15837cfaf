//! Formats the execution trace of a packet: states, keys, entries hit and fields changed, each with its P4 line.

use std::fmt::Write as _;

use super::address::{match_text, value_text};
use super::{Decision, Event, Observer, Stage, Value};
use hopwright_ir::{ActionCall, ExternCall, ExternFn, Pipeline, SlotKind, Span, Table, TableEntry, Target};

/// Collects the lines of a trace.
#[derive(Debug)]
pub struct Trace<'a> {
    pipeline: &'a Pipeline,
    lines: String,
}

impl<'a> Trace<'a> {
    /// Creates an empty trace for this program.
    pub fn new(pipeline: &'a Pipeline) -> Trace<'a> {
        Trace { pipeline, lines: String::new() }
    }

    /// Returns the lines since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    fn line(&mut self, span: Span, text: &str) {
        let place = self.place(span);
        let _ = if place.is_empty() {
            writeln!(self.lines, "    {text}")
        } else {
            writeln!(self.lines, "    {text:<72} {place}")
        };
    }

    fn place(&self, span: Span) -> String {
        if span == Span::none() {
            return String::new();
        }
        let location = self.pipeline.sources.location(span);
        let file = location.file.rsplit('/').next().unwrap_or(&location.file);
        format!("{file}:{}", location.line)
    }

    fn target(&self, target: Target) -> &str {
        match target {
            Target::State(state) => &self.pipeline.parser.states[state.0 as usize].name,
            Target::Accept => "accept",
            Target::Reject => "reject",
        }
    }
}

fn values(values: &[Value]) -> String {
    values.iter().map(|v| format!("{:#x}", v.bits)).collect::<Vec<_>>().join(", ")
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Parser => "parser",
        Stage::VerifyChecksum => "verify checksum",
        Stage::Ingress => "ingress",
        Stage::Egress => "egress",
        Stage::ComputeChecksum => "compute checksum",
        Stage::Deparser => "deparser",
    }
}

fn extern_text(pipeline: &Pipeline, call: &ExternCall, args: &[Value]) -> String {
    match &call.function {
        ExternFn::Named { instance, name, .. } => match instance {
            Some(id) => format!("{}.{name}(..)", pipeline[*id].name),
            None => format!("{name}(..)"),
        },
        other => {
            let name = match other.object() {
                Some(id) => format!("{}.{}", pipeline[id].name, other.name()),
                None => format!("{other:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_string(),
            };
            format!("{name}({})", values(args))
        }
    }
}

fn decision_text(decision: &Decision) -> String {
    match decision {
        Decision::Unicast { port } => format!("  => egress port {port}"),
        Decision::Multicast { group, copies } => format!("  => multicast group {group}: {copies} copies"),
        Decision::DropIngress => "  => dropped by ingress".into(),
        Decision::DropEgress => "  => dropped by egress".into(),
        Decision::Resubmit => "  => resubmitted".into(),
        Decision::Recirculate => "  => recirculated".into(),
        Decision::CloneIngress { session } => format!("  => cloned at ingress to session {session}"),
        Decision::CloneEgress { session } => format!("  => cloned at egress to session {session}"),
        Decision::NoHeadroom { length } => {
            format!("  => dropped: {length} bytes are more than packet buffers have room for")
        }
        Decision::Digest => "  => digest".into(),
        Decision::Sent { port, length } => format!("  => sent to port {port}, {length} bytes"),
    }
}

impl Trace<'_> {
    fn table(&mut self, table: &Table, keys: &[Value], entry: Option<&TableEntry>, action: &ActionCall, span: Span) {
        let names =
            table.keys.iter().zip(keys).map(|(k, v)| format!("{}={}", k.name, value_text(&k.name, v.width, &v.bits)));
        let text = format!("table {} ({})", table.name, names.collect::<Vec<_>>().join(", "));
        self.line(span, &text);
        let found = match entry {
            Some(entry) => {
                let matches = table.keys.iter().zip(keys).zip(&entry.matches);
                let matches = matches.map(|((k, v), m)| match_text(&k.name, v.width, m));
                format!("hit ({})", matches.collect::<Vec<_>>().join(", "))
            }
            None => "miss".into(),
        };
        let model = &self.pipeline[action.action];
        let args = model
            .params
            .iter()
            .zip(&action.args)
            .map(|(p, v)| format!("{}={}", p.name, value_text(&p.name, p.ty.width(), v)));
        let text = format!("  {found} -> {}({})", model.name, args.collect::<Vec<_>>().join(", "));
        self.line(model.span, &text);
    }
}

impl Observer for Trace<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let pipeline = self.pipeline;
        match event {
            Event::Enter(stage) => {
                let _ = writeln!(self.lines, "  {}", stage_name(*stage));
            }
            Event::State { state, span } => {
                let text = format!("state {}", pipeline.parser.states[state.0 as usize].name);
                self.line(*span, &text);
            }
            Event::Transition { keys, target, span, .. } => {
                let on = if keys.is_empty() { String::new() } else { format!("select ({}) ", values(keys)) };
                let text = format!("  {on}-> {}", self.target(*target));
                self.line(*span, &text);
            }
            Event::Extract { header, offset, length, span } => {
                let text = format!("  extract {} [{offset}..{}]", pipeline[*header].name, offset + length);
                self.line(*span, &text);
            }
            Event::ParserError { error, span } => {
                let name = pipeline.errors.get(*error as usize).map_or("?", String::as_str);
                self.line(*span, &format!("  error.{name}"));
            }
            Event::Assign { slot, old, new, span } => {
                let slot = &pipeline[*slot];
                if old != new || !matches!(slot.kind, SlotKind::Local) {
                    let text = |value: &Value| value_text(&slot.name, slot.ty.width(), &value.bits);
                    let text = format!("{} = {}  (was {})", slot.name, text(new), text(old));
                    self.line(*span, &text);
                }
            }
            Event::Validity { header, valid, span } => {
                let text = format!("{} {}", pipeline[*header].name, if *valid { "valid" } else { "invalid" });
                self.line(*span, &text);
            }
            Event::Table { table, keys, entry, action, span } => {
                self.table(&pipeline[*table], keys, *entry, action, *span);
            }
            // Named objects may have arguments derived from keys, so only the names are shown.
            Event::Extern { call, args } => self.line(call.span, &extern_text(pipeline, call, args)),
            Event::Log { message, span } => self.line(*span, &format!("log: {message}")),
            Event::Exit { span } => self.line(*span, "exit"),
            Event::Emit { header, span } => self.line(*span, &format!("emit {}", pipeline[*header].name)),
            Event::Decision(decision) => {
                let _ = writeln!(self.lines, "{}", decision_text(decision));
            }
        }
    }
}

/// Returns the byte ranges in which two packets differ, as a short list.
pub fn changed_ranges(before: &[u8], after: &[u8]) -> String {
    if before.len() != after.len() {
        return format!("length {} -> {}", before.len(), after.len());
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for at in (0..before.len()).filter(|&i| before[i] != after[i]) {
        match ranges.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => ranges.push((at, at + 1)),
        }
    }
    if ranges.is_empty() {
        return "unchanged".into();
    }
    let list: Vec<_> = ranges.iter().map(|(a, b)| format!("{a}..{b}")).collect();
    format!("changed bytes {}", list.join(" "))
}
