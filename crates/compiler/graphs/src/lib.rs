//! Graphs of a pipeline: the parser's states, and the control flow of every block, as Graphviz text and as SVG.

mod build;
mod svg;

use std::fmt::Write;

use hopwright_ir::{Span, StateId, TableId};

pub use build::graphs;
pub use svg::{Area, Curve, Layout};

/// A directed graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// `parser`, `ingress`, ...; good for a file name.
    pub name: String,
    /// For display: the block's name in the program.
    pub title: String,
    /// Nodes; edges refer to their indices.
    pub nodes: Vec<Node>,
    /// Edges.
    pub edges: Vec<Edge>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Lines of text.
    pub lines: Vec<String>,
    /// What it stands for.
    pub kind: NodeKind,
    /// The parser state or the table.
    pub object: Option<Object>,
    /// The P4 text of its statements, or of its branch.
    pub spans: Vec<Span>,
}

/// The object of the pipeline that a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A parser state.
    State(StateId),
    /// A table.
    Table(TableId),
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Beginning or end.
    Terminal,
    /// A parser state.
    State,
    /// A table.
    Table,
    /// A branch.
    Condition,
    /// Statements without a branch.
    Statements,
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it enters.
    pub to: usize,
    /// When it is taken; may be empty.
    pub label: String,
}

impl Graph {
    /// The graph in Graphviz's language.
    pub fn to_dot(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "digraph {} {{", quoted(&self.name));
        let _ = writeln!(out, "    label={}; labelloc=t; fontname=\"sans-serif\";", quoted(&self.title));
        let _ = writeln!(out, "    node [fontname=\"sans-serif\", fontsize=10, style=filled];");
        let _ = writeln!(out, "    edge [fontname=\"sans-serif\", fontsize=9];");
        for (i, node) in self.nodes.iter().enumerate() {
            let shape = match node.kind {
                NodeKind::Terminal => "ellipse",
                NodeKind::Condition => "diamond",
                NodeKind::State | NodeKind::Table | NodeKind::Statements => "box",
            };
            let label = quoted(&node.lines.join("\n"));
            let _ = writeln!(out, "    n{i} [label={label}, shape={shape}, fillcolor=\"{}\"];", node.kind.colour());
        }
        for edge in &self.edges {
            let _ = write!(out, "    n{} -> n{}", edge.from, edge.to);
            if !edge.label.is_empty() {
                let _ = write!(out, " [label={}]", quoted(&edge.label));
            }
            out.push_str(";\n");
        }
        out.push_str("}\n");
        out
    }

    /// Where the picture has its nodes and edges.
    pub fn layout(&self) -> Layout {
        svg::layout(self)
    }

    /// The graph as a picture.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

impl NodeKind {
    fn colour(self) -> &'static str {
        match self {
            NodeKind::Terminal => "#eeeeee",
            NodeKind::State => "#dbe9f6",
            NodeKind::Table => "#d9f0d9",
            NodeKind::Condition => "#fdf3d0",
            NodeKind::Statements => "#ffffff",
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
