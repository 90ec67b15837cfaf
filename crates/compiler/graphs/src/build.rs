//! Builds the graphs of a pipeline.

use crate::{Edge, Graph, Node, NodeKind, Object};
use hopwright_ir::text;
use hopwright_ir::*;

/// Maximum lines of a statement node, and of labels of edges between the same two nodes.
const LINES: usize = 8;

/// Maximum characters of a line.
const COLUMNS: usize = 48;

/// The parser's graph and one for each control that is not empty.
pub fn graphs(pipeline: &Pipeline) -> Vec<Graph> {
    let controls = [
        ("verify_checksum", &pipeline.verify_checksum),
        ("ingress", &pipeline.ingress),
        ("egress", &pipeline.egress),
        ("compute_checksum", &pipeline.compute_checksum),
        ("deparser", &pipeline.deparser),
    ];
    let controls = controls.into_iter().filter(|(_, c)| !c.body.is_empty());
    std::iter::once(parser(pipeline)).chain(controls.map(|(name, c)| control(pipeline, name, c))).collect()
}

fn shortened(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

/// The first lines, and how many there are more.
fn clipped(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > LINES {
        let more = lines.len() - LINES + 1;
        lines.truncate(LINES - 1);
        lines.push(format!("… {more} more"));
    }
    lines
}

fn parser(p: &Pipeline) -> Graph {
    let parser = &p.parser;
    let count = parser.states.len();
    let mut nodes: Vec<Node> = parser
        .states
        .iter()
        .enumerate()
        .map(|(at, state)| {
            let body = state.body.iter().flat_map(|s| statement_lines(p, s));
            let keys = match &state.transition {
                Transition::Select { keys, .. } => keys.iter().map(|k| text::expression(p, k, &[])).collect(),
                Transition::Goto(_) => Vec::new(),
            };
            let mut lines = vec![state.name.clone()];
            lines.extend(clipped(body.collect()));
            if !keys.is_empty() {
                lines.push(shortened(&format!("select ({})", keys.join(", "))));
            }
            let spans = std::iter::once(state.span).chain(state.body.iter().map(|s| s.span)).collect();
            Node { lines, kind: NodeKind::State, object: Some(Object::State(StateId(at as u32))), spans }
        })
        .collect();
    let mut edges = Vec::new();
    for (from, state) in parser.states.iter().enumerate() {
        let mut exits: Vec<(Target, Vec<String>)> = Vec::new();
        let mut exit = |target: Target, label: String| match exits.iter_mut().find(|(t, _)| *t == target) {
            Some((_, labels)) => labels.push(label),
            None => exits.push((target, vec![label])),
        };
        match &state.transition {
            Transition::Goto(target) => exit(*target, String::new()),
            Transition::Select { cases, .. } => {
                for case in cases {
                    exit(case.target, shortened(&text::key_sets(p, &case.sets)));
                }
            }
        }
        for (target, labels) in exits {
            let to = match target {
                Target::State(id) => id.0 as usize,
                Target::Accept => count,
                Target::Reject => count + 1,
            };
            edges.push(Edge { from, to, label: clipped(labels).join("\n") });
        }
    }
    for name in ["accept", "reject"] {
        nodes.push(Node { lines: vec![name.into()], kind: NodeKind::Terminal, object: None, spans: Vec::new() });
    }
    if !edges.iter().any(|e| e.to == count + 1) {
        nodes.pop();
    }
    Graph { name: "parser".into(), title: parser.name.clone(), nodes, edges }
}

/// An open end of the control flow: a node and the label of its outgoing edge.
type Ends = Vec<(usize, String)>;

struct Builder<'a> {
    p: &'a Pipeline,
    graph: Graph,
    /// Enclosing scopes and the ends that left them.
    scopes: Vec<(u32, Ends)>,
    exits: Ends,
}

fn control(p: &Pipeline, name: &str, control: &Control) -> Graph {
    let graph = Graph { name: name.into(), title: control.name.clone(), nodes: Vec::new(), edges: Vec::new() };
    let mut builder = Builder { p, graph, scopes: Vec::new(), exits: Vec::new() };
    let start = builder.node(vec!["start".into()], NodeKind::Terminal, Vec::new(), Vec::new());
    let mut ends = builder.block(&control.body, vec![(start, String::new())]);
    ends.append(&mut builder.exits);
    builder.node(vec!["end".into()], NodeKind::Terminal, Vec::new(), ends);
    builder.graph
}

impl Builder<'_> {
    fn node(&mut self, lines: Vec<String>, kind: NodeKind, spans: Vec<Span>, from: Ends) -> usize {
        let to = self.graph.nodes.len();
        self.graph.nodes.push(Node { lines, kind, object: None, spans });
        self.connect(from, to);
        to
    }

    fn connect(&mut self, from: Ends, to: usize) {
        self.graph.edges.extend(from.into_iter().map(|(from, label)| Edge { from, to, label }));
    }

    fn block(&mut self, block: &Block, mut ends: Ends) -> Ends {
        let mut plain = Vec::new();
        for stmt in block {
            if ends.is_empty() {
                break;
            }
            if is_plain(stmt) {
                plain.push(stmt);
                continue;
            }
            ends = self.statements(&mut plain, ends);
            ends = self.branch(stmt, ends);
        }
        self.statements(&mut plain, ends)
    }

    /// Makes a node of the statements gathered.
    fn statements(&mut self, plain: &mut Vec<&Stmt>, ends: Ends) -> Ends {
        if plain.is_empty() || ends.is_empty() {
            return ends;
        }
        let plain = std::mem::take(plain);
        let lines = clipped(plain.iter().flat_map(|stmt| statement_lines(self.p, stmt)).collect());
        let spans = plain.iter().map(|stmt| stmt.span).collect();
        vec![(self.node(lines, NodeKind::Statements, spans, ends), String::new())]
    }

    fn branch(&mut self, stmt: &Stmt, ends: Ends) -> Ends {
        match &stmt.kind {
            StmtKind::If { cond, then, otherwise } => {
                let text = shortened(&text::expression(self.p, cond, &[]));
                let node = self.node(vec![text], NodeKind::Condition, vec![stmt.span], ends);
                let mut open = self.block(then, vec![(node, "true".into())]);
                open.extend(self.block(otherwise, vec![(node, "false".into())]));
                open
            }
            StmtKind::Switch { value, cases, default } => {
                let text = shortened(&text::expression(self.p, value, &[]));
                let node = self.node(vec![format!("switch {text}")], NodeKind::Condition, vec![stmt.span], ends);
                let mut open = Vec::new();
                for (values, body) in cases {
                    let label = values.iter().map(|v| format!("{v:#x}")).collect::<Vec<_>>().join(", ");
                    open.extend(self.block(body, vec![(node, shortened(&label))]));
                }
                open.extend(self.block(default, vec![(node, "default".into())]));
                open
            }
            StmtKind::Apply { table: id, .. } => {
                let table = &self.p[*id];
                let mut lines = vec![table.name.clone()];
                let key = |k: &Key| shortened(&format!("{}: {}", k.name, format!("{:?}", k.kind).to_lowercase()));
                lines.extend(clipped(table.keys.iter().map(key).collect()));
                let node = self.node(lines, NodeKind::Table, vec![stmt.span], ends);
                self.graph.nodes[node].object = Some(Object::Table(*id));
                vec![(node, String::new())]
            }
            StmtKind::Scope { label, body } => {
                self.scopes.push((*label, Vec::new()));
                let mut open = self.block(body, ends);
                if let Some((_, left)) = self.scopes.pop() {
                    open.extend(left);
                }
                open
            }
            StmtKind::Leave(label) => {
                if let Some((_, left)) = self.scopes.iter_mut().find(|(l, _)| l == label) {
                    left.extend(ends);
                }
                Vec::new()
            }
            StmtKind::Loop { body, .. } => {
                let head = self.node(vec!["loop".into()], NodeKind::Condition, vec![stmt.span], ends);
                let open = self.block(body, vec![(head, String::new())]);
                self.connect(open, head);
                Vec::new()
            }
            StmtKind::Exit => {
                self.exits.extend(ends.into_iter().map(|(node, label)| {
                    let label = if label.is_empty() { "exit".into() } else { format!("{label}, exit") };
                    (node, label)
                }));
                Vec::new()
            }
            _ => ends,
        }
    }
}

fn is_plain(stmt: &Stmt) -> bool {
    !matches!(
        stmt.kind,
        StmtKind::If { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Apply { .. }
            | StmtKind::Scope { .. }
            | StmtKind::Leave(_)
            | StmtKind::Loop { .. }
            | StmtKind::Exit
    )
}

fn statement_lines(p: &Pipeline, stmt: &Stmt) -> Vec<String> {
    text::statement(p, stmt, &[]).lines().map(shortened).collect()
}
