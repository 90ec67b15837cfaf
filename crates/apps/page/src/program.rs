//! A program's graphs and text, made once for each program that a tenant runs.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_dataplane::{EngineKind, VirtualDataPlane};
use hopwright_graphs::{Graph, Layout, NodeKind, Object, graphs};
use hopwright_ir::{Pipeline, Span};
use serde_json::{Value, json};

/// A program that runs, with its graphs.
pub(crate) struct Program {
    /// A number that no other program of the tenant has.
    pub number: u64,
    pub vdp: Arc<VirtualDataPlane>,
    pub graphs: Arc<Vec<Graph>>,
}

impl Program {
    pub(crate) fn new(number: u64, vdp: Arc<VirtualDataPlane>) -> Program {
        let graphs = Arc::new(graphs(vdp.pipeline()));
        Program { number, vdp, graphs }
    }

    /// What the page shows of it.
    pub(crate) fn json(&self) -> Value {
        let pipeline = self.vdp.pipeline();
        json!({
            "number": self.number, "name": pipeline.name, "engine": engine(self.vdp.engine_kind()),
            "graphs": graphs_json(pipeline, &self.graphs), "files": files(pipeline), "fields": fields(pipeline),
        })
    }
}

/// An engine in words.
pub(crate) fn engine(kind: EngineKind) -> &'static str {
    match kind {
        EngineKind::Jit => "machine code",
        EngineKind::Interp => "the interpreter",
        EngineKind::Offload => "hardware",
    }
}

/// The texts of a program, its include files among them.
pub(crate) fn files(pipeline: &Pipeline) -> Value {
    pipeline.sources.files().map(|(_, file)| json!({ "name": &**file.name(), "text": &**file.text() })).collect()
}

/// The header fields, by which packets can be selected.
fn fields(pipeline: &Pipeline) -> Vec<String> {
    let fields = pipeline.headers.iter().flat_map(|h| h.fields.iter().map(move |f| format!("{}.{}", h.name, f.name)));
    fields.collect()
}

/// Graphs with their arrangement.
pub(crate) fn graphs_json(pipeline: &Pipeline, graphs: &[Graph]) -> Value {
    graphs.iter().map(|graph| graph_json(pipeline, graph, &graph.layout())).collect()
}

fn graph_json(pipeline: &Pipeline, graph: &Graph, layout: &Layout) -> Value {
    let kind = |kind: NodeKind| match kind {
        NodeKind::Terminal => "terminal",
        NodeKind::State => "state",
        NodeKind::Table => "table",
        NodeKind::Condition => "condition",
        NodeKind::Statements => "statements",
    };
    let nodes = graph.nodes.iter().zip(&layout.nodes).map(|(node, area)| {
        let spans = node.spans.iter().filter(|span| **span != Span::none());
        let places: Vec<Value> = spans
            .map(|span| {
                let location = pipeline.sources.location(*span);
                json!({ "file": &*location.file, "line": location.line })
            })
            .collect();
        json!({ "lines": node.lines, "kind": kind(node.kind), "x": area.left, "y": area.top, "width": area.width,
                "height": area.height, "places": places })
    });
    let edges = graph.edges.iter().zip(&layout.edges).map(|(edge, curve)| {
        json!({ "from": edge.from, "to": edge.to, "label": edge.label, "path": curve.path, "x": curve.label.0, "y": curve.label.1 })
    });
    json!({ "name": graph.name, "title": graph.title, "width": layout.width, "height": layout.height,
            "nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>() })
}

/// Finds the nodes of graphs that events of packets are in. A node is a place in a list of all nodes of all graphs.
pub(crate) struct NodeIndex {
    states: HashMap<u32, usize>,
    tables: HashMap<(u32, Span), usize>,
    statements: HashMap<Span, Vec<usize>>,
    /// The number of nodes.
    pub count: usize,
}

impl NodeIndex {
    pub(crate) fn new(graphs: &[Graph]) -> NodeIndex {
        let mut index =
            NodeIndex { states: HashMap::new(), tables: HashMap::new(), statements: HashMap::new(), count: 0 };
        for node in graphs.iter().flat_map(|graph| &graph.nodes) {
            let at = index.count;
            index.count += 1;
            match (node.object, node.kind) {
                (Some(Object::State(state)), _) => drop(index.states.insert(state.0, at)),
                (Some(Object::Table(table)), _) => {
                    index.tables.extend(node.spans.iter().map(|span| ((table.0, *span), at)));
                }
                (None, NodeKind::Statements) => {
                    for span in node.spans.iter().filter(|span| **span != Span::none()) {
                        index.statements.entry(*span).or_default().push(at);
                    }
                }
                _ => {}
            }
        }
        index
    }

    pub(crate) fn state(&self, state: u32) -> Option<usize> {
        self.states.get(&state).copied()
    }

    pub(crate) fn table(&self, table: u32, span: Span) -> Option<usize> {
        self.tables.get(&(table, span)).copied()
    }

    pub(crate) fn statement(&self, span: Span) -> &[usize] {
        self.statements.get(&span).map_or(&[], Vec::as_slice)
    }
}
