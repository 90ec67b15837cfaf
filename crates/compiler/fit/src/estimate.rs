//! The estimate: what lies in which stage, the longest chain, and what does not fit.

use hopwright_ir::analysis::dependencies::OperationKind;
use hopwright_ir::{Pipeline, Span};
use serde::Serialize;

use crate::memory::TableShape;
use crate::nodes::Nodes;
use crate::place::{Schedule, earliest, place};
use crate::pragmas::Pragmas;
use crate::resources::Resources;
use crate::target::Target;
use crate::{phv, problems, tofino};

/// How a program would lie in a target's stages.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The program.
    pub program: String,
    /// The target's name.
    pub target: String,
    /// The stages that the target has.
    pub available: u32,
    /// What each of them has.
    pub limits: Resources,
    /// The stages in use.
    pub stages: Vec<Stage>,
    /// The stages that dependencies alone need, with resources without end.
    pub needed_by_dependencies: u32,
    /// The longest chain of dependencies, in order.
    pub chain: Vec<Link>,
    /// Bits of the packet header vector that stages can use.
    pub phv_available: u32,
    /// Bits of fields that are parsed and emitted only.
    pub carried_bits: u32,
    /// What does not fit, and why.
    pub problems: Vec<Problem>,
}

/// A stage in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// What is used of it.
    pub used: Resources,
    /// Bits of the packet header vector that are live in it.
    pub phv_bits: u32,
    /// Tables, then other operations, in order of the program.
    pub items: Vec<Item>,
}

/// A table or an operation in a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// `ingress` or `egress`.
    pub thread: &'static str,
    /// Whether it is a table.
    pub table: bool,
    /// The table's name, or the text of the operation.
    pub name: String,
    /// Where it is in the program.
    pub place: Place,
    /// Entries that are in this stage, if the table is divided between stages.
    pub entries: Option<u64>,
    /// Whether it is a table of prefixes in SRAM, because it is too large for ternary memory.
    pub algorithmic: bool,
}

/// A line of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// A part of the longest chain.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Ingress or egress, what, and where.
    pub item: Item,
    /// The earliest stage.
    pub stage: u32,
    /// The kind of dependency on the link before.
    pub dependency: Option<&'static str>,
    /// The variable of the dependency.
    pub variable: Option<String>,
}

/// Something that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What.
    pub message: String,
    /// Where, if it is at one place.
    pub place: Option<Place>,
}

impl Estimate {
    /// Whether the program fits.
    pub fn fits(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether the program fits, and how many stages it takes, as a sentence.
    pub(crate) fn verdict(&self) -> String {
        format!(
            "{} on {}: {} by this estimate; {} of {} stages, {} by dependencies alone",
            self.program,
            self.target,
            if self.fits() { "fits" } else { "does not fit" },
            self.stages.len(),
            self.available,
            self.needed_by_dependencies
        )
    }

    /// The largest number of bits of the packet header vector that are live in a stage.
    pub fn phv_bits(&self) -> u32 {
        self.stages.iter().map(|s| s.phv_bits).max().unwrap_or(0)
    }
}

/// Estimates how a program would lie in a target's stages, if its annotations are honoured.
pub fn estimate(pipeline: &Pipeline, target: &Target, pragmas: &Pragmas) -> Estimate {
    let stages_only = tofino::stages_only(pipeline, pragmas);
    let (pipeline, also) = stages_only.as_ref().map_or((pipeline, None), |(rest, also)| (rest, Some(also)));
    let nodes = Nodes::of(pipeline, also, pragmas);
    let schedule = place(pipeline, &nodes, target, pragmas);
    let bits = phv::bits(pipeline, &nodes, &schedule);
    let names = Names { pipeline, nodes: &nodes, target, pragmas };
    let stages: Vec<Stage> = (schedule.stages.iter().zip(&bits.stages))
        .map(|(stage, phv_bits)| {
            let mut items = Vec::new();
            for (node, entries) in &stage.nodes {
                items.extend(
                    names.items(*node).into_iter().map(|item| Item { entries: entries.filter(|_| item.table), ..item }),
                );
            }
            items.sort_by(|a, b| (!a.table, a.thread, &a.place).cmp(&(!b.table, b.thread, &b.place)));
            items.dedup();
            Stage { used: stage.used, phv_bits: *phv_bits, items }
        })
        .collect();
    let at = earliest(&nodes);
    let needed = at.iter().zip(&nodes.nodes).map(|((stage, _), n)| stage + n.depth).max().unwrap_or(0);
    let mut estimate = Estimate {
        program: pipeline.name.clone(),
        target: target.name.clone(),
        available: target.stages,
        limits: target.stage,
        stages,
        needed_by_dependencies: needed,
        chain: chain(&names, &at),
        phv_available: target.phv.bits,
        carried_bits: bits.carried,
        problems: Vec::new(),
    };
    estimate.problems = all_problems(&names, &schedule, target, &estimate);
    estimate
}

fn all_problems(names: &Names, schedule: &Schedule, target: &Target, estimate: &Estimate) -> Vec<Problem> {
    let mut problems = Vec::new();
    let stages = estimate.stages.len() as u32;
    if stages > target.stages {
        let by = if estimate.needed_by_dependencies > target.stages {
            format!("dependencies alone need {}", estimate.needed_by_dependencies)
        } else {
            format!("dependencies need {}, resources the others", estimate.needed_by_dependencies)
        };
        let message = format!("{stages} stages; the target has {} ({by})", target.stages);
        problems.push(Problem { message, place: None });
    }
    let phv = estimate.phv_bits();
    if phv > target.phv.bits {
        let message = format!("{phv} bits of the packet header vector; the target has {}", target.phv.bits);
        problems.push(Problem { message, place: None });
    }
    if let Some(limit) = target.phv.carried_bits
        && estimate.carried_bits > limit + target.phv.bits.saturating_sub(phv)
    {
        let message =
            format!("{} bits of headers that are only passed on; there is room for {limit}", estimate.carried_bits);
        problems.push(Problem { message, place: None });
    }
    for (node, what) in &schedule.too_large {
        let (name, place) = names.largest(*node);
        problems.push(Problem { message: format!("{name}: too few {what} in any stage"), place: Some(place) });
    }
    for (object, span) in &names.nodes.scattered {
        let name = &names.pipeline[*object].name;
        let message =
            format!("{name}: accesses that depend on other tables or objects in between cannot share a stage");
        problems.push(Problem { message, place: Some(names.place(*span)) });
    }
    for (span, message) in problems::find(names.pipeline, target) {
        problems.push(Problem { message, place: Some(names.place(span)) });
    }
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|p| seen.insert((p.message.clone(), p.place.clone())));
    problems
}

/// The longest chain, from its beginning.
fn chain(names: &Names, at: &[(u32, Option<usize>)]) -> Vec<Link> {
    let nodes = &names.nodes;
    let mut links = Vec::new();
    let mut next = (0..nodes.nodes.len()).rev().max_by_key(|n| at[*n].0 + nodes.nodes[*n].depth);
    while let Some(node) = next {
        let (stage, edge) = at[node];
        let edge = edge.map(|e| &nodes.edges[e]);
        if let Some(item) = names.items(node).into_iter().max_by_key(|i| i.table) {
            let variable = edge.and_then(|e| e.slot).map(|s| names.pipeline[s].name.clone());
            links.push(Link { item, stage, dependency: edge.map(|e| e.kind.name()), variable });
        }
        next = edge.map(|e| e.from);
    }
    links.reverse();
    links
}

/// Names and places of nodes.
struct Names<'a> {
    pipeline: &'a Pipeline,
    nodes: &'a Nodes<'a>,
    target: &'a Target,
    pragmas: &'a Pragmas,
}

impl Names<'_> {
    fn place(&self, span: Span) -> Place {
        let location = self.pipeline.sources.location(span);
        Place { file: location.file.to_string(), line: location.line }
    }

    fn items(&self, node: usize) -> Vec<Item> {
        let node = &self.nodes.nodes[node];
        let thread = &self.nodes.threads[node.thread];
        let item = |op: &usize| {
            let operation = &thread.graph.operations[*op];
            let name = match operation.kind {
                OperationKind::Apply(table) => self.pipeline[table].name.clone(),
                _ => self.snippet(operation.span),
            };
            let (table, algorithmic) = match operation.kind {
                OperationKind::Apply(table) => {
                    (true, TableShape::of(self.pipeline, table, self.target, self.pragmas).is_algorithmic())
                }
                _ => (false, false),
            };
            Item { thread: thread.name, table, name, place: self.place(operation.span), entries: None, algorithmic }
        };
        node.operations.iter().map(item).collect()
    }

    /// What makes a node large: an object, a table, or else an operation.
    fn largest(&self, node: usize) -> (String, Place) {
        let thread = &self.nodes.threads[self.nodes.nodes[node].thread];
        let operations = self.nodes.nodes[node].operations.iter().map(|op| &thread.graph.operations[*op]);
        if let Some(object) = operations.flat_map(|o| &o.objects).next() {
            let object = &self.pipeline[*object];
            return (object.name.clone(), self.place(object.span));
        }
        let item = self.items(node).into_iter().max_by_key(|i| i.table);
        item.map_or_else(|| (String::new(), self.place(Span::none())), |item| (item.name, item.place))
    }

    /// The beginning of a text, on one line.
    fn snippet(&self, span: Span) -> String {
        const MOST: usize = 60;
        let text = self.pipeline.sources.snippet(span).split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}
