//! A profile: samples added up by line, by table and by function, as text, JSON and a flame graph.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use hopwright_dataplane::{CodeMap, CodePlace};
use hopwright_ir::{Pipeline, TableId};
use inferno::flamegraph;
use serde::Serialize;

use super::places::Places;
use super::sampler::{Moment, Samples};
use crate::failure::Failure;

/// What packets did meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ran {
    pub packets: u64,
    pub forwarded: u64,
    pub faults: u64,
    pub ns_per_packet: f64,
}

/// What a packet costs, in nanoseconds, and where.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    program: String,
    packets: u64,
    forwarded: u64,
    faults: u64,
    ns_per_packet: f64,
    /// Samples within the program.
    samples: usize,
    lines: Vec<Line>,
    tables: Vec<TableCost>,
    /// By generated function: `traces`, `generic`, …
    functions: BTreeMap<&'static str, f64>,
    /// Generated code of no line: the loop over packets, their descriptors.
    no_line_ns: f64,
    /// The data plane around the program.
    around_ns: f64,
    #[serde(skip)]
    stacks: BTreeMap<String, usize>,
}

/// A line of the program.
#[derive(Debug, Serialize)]
struct Line {
    file: String,
    line: u32,
    text: String,
    ns: f64,
    /// The part of `ns` in functions that the line calls: lookups that are not inline, externs.
    called_ns: f64,
    samples: usize,
}

impl Line {
    fn new(file: String, line: u32, quoted: &str) -> Line {
        let text = quoted.split_once("  ").map_or("", |(_, text)| text).to_string();
        Line { file, line, text, ns: 0.0, called_ns: 0.0, samples: 0 }
    }

    fn add(&mut self, ns: f64, called: bool) {
        self.ns += ns;
        self.called_ns += if called { ns } else { 0.0 };
        self.samples += 1;
    }
}

/// A table: what a packet pays for lookups, and for the actions that no other table has.
#[derive(Debug, Serialize)]
struct TableCost {
    table: String,
    lookup_ns: f64,
    actions_ns: f64,
}

/// Where a sample lies in the program, and whether in a function that the program has called.
fn place(code: &CodeMap, moment: &Moment) -> Option<(CodePlace, bool)> {
    if let Some(place) = code.find(moment.address) {
        return Some((place, false));
    }
    // The innermost return address to the program; it is behind the call.
    let called = moment.stack.iter().find_map(|word| code.find(word.checked_sub(1)?));
    called.map(|place| (place, true))
}

impl Report {
    pub(super) fn new(pipeline: &Pipeline, places: &Places, code: &CodeMap, samples: &Samples, ran: &Ran) -> Report {
        let ns = samples.period.as_secs_f64() * 1e9 / ran.packets.max(1) as f64;
        let Ran { packets, forwarded, faults, ns_per_packet } = *ran;
        let mut report = Report {
            program: pipeline.name.clone(),
            packets,
            forwarded,
            faults,
            ns_per_packet,
            samples: 0,
            lines: Vec::new(),
            tables: Vec::new(),
            functions: BTreeMap::new(),
            no_line_ns: 0.0,
            around_ns: 0.0,
            stacks: BTreeMap::new(),
        };
        let mut lines: BTreeMap<(String, u32), Line> = BTreeMap::new();
        let mut tables: BTreeMap<TableId, [f64; 2]> = BTreeMap::new();
        let found: Vec<(CodePlace, bool)> = samples.moments.iter().filter_map(|moment| place(code, moment)).collect();
        let called = found.iter().filter(|(_, called)| *called).count();
        let own_ns = ns * (found.len() - called) as f64;
        // A return address on the stack may be one that an earlier call has left. No more time is spent in calls than there is.
        let scale = ((ns_per_packet - own_ns) / (ns * called as f64)).clamp(0.0, 1.0);
        for (at, called) in found {
            let ns = if called { ns * scale } else { ns };
            report.samples += 1;
            *report.functions.entry(at.function).or_default() += ns;
            let mut stack = vec![at.function.to_string()];
            match at.span {
                None => {
                    report.no_line_ns += ns;
                    stack.push("(no line)".into());
                }
                Some(span) => {
                    let owner = places.owner(span);
                    if let Some(table) = owner.table {
                        tables.entry(table).or_default()[usize::from(owner.in_action)] += ns;
                    }
                    let location = pipeline.sources.location(span);
                    let quoted = pipeline.sources.quote(span).unwrap_or_default();
                    stack.extend(owner.frames);
                    stack.push(quoted.clone());
                    let key = (location.file.to_string(), location.line);
                    lines.entry(key.clone()).or_insert_with(|| Line::new(key.0, key.1, &quoted)).add(ns, called);
                }
            }
            if called {
                stack.push("(called)".into());
            }
            let stack: Vec<String> = stack.iter().map(|frame| frame.replace(';', ",")).collect();
            *report.stacks.entry(stack.join(";")).or_default() += 1;
        }
        let in_program: f64 = report.functions.values().sum();
        report.around_ns = (ns_per_packet - in_program).max(0.0);
        report.lines = lines.into_values().collect();
        report.lines.sort_by(|a, b| b.ns.total_cmp(&a.ns));
        report.tables = tables
            .into_iter()
            .map(|(id, [lookup_ns, actions_ns])| TableCost { table: pipeline[id].name.clone(), lookup_ns, actions_ns })
            .collect();
        report.tables.sort_by(|a, b| (b.lookup_ns + b.actions_ns).total_cmp(&(a.lookup_ns + a.actions_ns)));
        report
    }

    /// The profile for people.
    pub(super) fn text(&self, most_lines: usize) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out, most_lines);
        out
    }

    fn write(&self, out: &mut String, most_lines: usize) -> std::fmt::Result {
        let share = |ns: f64| 100.0 * ns / self.ns_per_packet.max(f64::MIN_POSITIVE);
        let packets = self.packets as f64;
        writeln!(
            out,
            "{}: {:.1} ns a packet; {} packets, {:.0}% forwarded; {} samples in the program",
            self.program,
            self.ns_per_packet,
            self.packets,
            100.0 * self.forwarded as f64 / packets,
            self.samples
        )?;
        if self.faults > 0 {
            writeln!(out, "{} packets were faults", self.faults)?;
        }
        writeln!(out, "\n{:>7} {:>8} {:>8}  line", "share", "ns", "in calls")?;
        for line in self.lines.iter().take(most_lines) {
            let file = line.file.rsplit('/').next().unwrap_or_default();
            writeln!(
                out,
                "{:>6.1}% {:>8.2} {:>8.2}  {file}:{}  {}",
                share(line.ns),
                line.ns,
                line.called_ns,
                line.line,
                line.text
            )?;
        }
        let rest: f64 = self.lines.iter().skip(most_lines).map(|line| line.ns).sum();
        let further = [
            (rest, "other lines"),
            (self.no_line_ns, "generated code of no line: the loop over packets, descriptors"),
            (self.around_ns, "the data plane around the program"),
        ];
        for (ns, what) in further.into_iter().filter(|(ns, _)| *ns > 0.0) {
            writeln!(out, "{:>6.1}% {ns:>8.2} {:>8}  ({what})", share(ns), "")?;
        }
        if !self.tables.is_empty() {
            writeln!(out, "\n{:>7} {:>8} {:>8}  table", "share", "lookup", "actions")?;
        }
        for TableCost { table, lookup_ns, actions_ns } in &self.tables {
            writeln!(out, "{:>6.1}% {lookup_ns:>8.2} {actions_ns:>8.2}  {table}", share(lookup_ns + actions_ns))?;
        }
        let functions: Vec<String> =
            self.functions.iter().map(|(name, ns)| format!("{name} {:.1}%", share(*ns))).collect();
        writeln!(out, "\nfunctions: {}", functions.join(", "))
    }

    /// Writes the flame graph.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write_flame_graph(&self, file: &Path) -> Result<(), Failure> {
        let mut options = flamegraph::Options::default();
        options.title = format!("{}: {:.1} ns a packet", self.program, self.ns_per_packet);
        options.count_name = "samples".into();
        let folded: Vec<String> = self.stacks.iter().map(|(stack, samples)| format!("{stack} {samples}")).collect();
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, folded.iter().map(String::as_str), &mut svg)?;
        std::fs::write(file, svg).map_err(|e| Failure::message(format!("{}: {e}", file.display())))
    }
}
