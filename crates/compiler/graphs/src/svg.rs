//! Layered drawing of a graph as SVG: every edge points down, except those that close a cycle.
//!
//! Layers follow the longest path; edges over several layers get an invisible node in each; the order within a layer
//! follows the mean position of the neighbours, swept up and down a few times.
//!
//! The layout is our own because `layout-rs` 0.1 does not finish the SCION router's ingress within 25 seconds of CPU time,
//! and draws its parser more than twice as wide.

use std::fmt::Write;

use crate::{Graph, NodeKind};

const FONT: f64 = 11.0;
const CHARACTER: f64 = 6.4;
const LINE: f64 = 14.0;
const GAP_X: f64 = 26.0;
const GAP_Y: f64 = 54.0;
const MARGIN: f64 = 20.0;
const SWEEPS: usize = 8;

/// A node or, for edges over several layers, a bend.
struct Place {
    /// The graph's node; `None` for a bend.
    node: Option<usize>,
    width: f64,
    height: f64,
    x: f64,
    y: f64,
}

/// An edge between neighbouring layers' places, from the upper to the lower.
struct Link {
    upper: usize,
    lower: usize,
}

struct Arrangement {
    places: Vec<Place>,
    layers: Vec<Vec<usize>>,
    links: Vec<Link>,
    /// For each edge of the graph the places it runs through, in its direction.
    routes: Vec<Vec<usize>>,
}

/// Where a picture of a graph has its parts, in pixels from the top left corner.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The picture's width.
    pub width: f64,
    /// The picture's height.
    pub height: f64,
    /// By node.
    pub nodes: Vec<Area>,
    /// By edge.
    pub edges: Vec<Curve>,
}

/// The rectangle of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// An edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The `d` of an SVG path.
    pub path: String,
    /// The left end and the middle line of its label.
    pub label: (f64, f64),
}

/// Arranges the graph.
pub(super) fn layout(graph: &Graph) -> Layout {
    let mut arrangement = arrange(graph);
    arrangement.order();
    arrangement.position();
    arrangement.layout(graph)
}

/// Draws the graph.
pub(super) fn draw(graph: &Graph) -> String {
    write(graph, &layout(graph))
}

/// For every edge, whether it closes a cycle in a depth-first walk from the first node.
fn closing(graph: &Graph) -> Vec<bool> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for (i, edge) in graph.edges.iter().enumerate() {
        out[edge.from].push(i);
    }
    let mut back = vec![false; graph.edges.len()];
    // 0: not seen, 1: on the path, 2: done.
    let mut seen = vec![0; graph.nodes.len()];
    for root in 0..graph.nodes.len() {
        if seen[root] != 0 {
            continue;
        }
        seen[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            if let Some(&edge) = out[*node].get(*next) {
                *next += 1;
                let to = graph.edges[edge].to;
                match seen[to] {
                    0 => {
                        seen[to] = 1;
                        path.push((to, 0));
                    }
                    1 => back[edge] = true,
                    _ => {}
                }
            } else {
                seen[*node] = 2;
                path.pop();
            }
        }
    }
    back
}

/// Layers of the nodes, bends of the edges.
fn arrange(graph: &Graph) -> Arrangement {
    let back = closing(graph);
    let ends = |i: usize| {
        let edge = &graph.edges[i];
        if back[i] { (edge.to, edge.from) } else { (edge.from, edge.to) }
    };
    let mut layer = vec![0usize; graph.nodes.len()];
    // Without the closing edges the graph has no cycle, so this ends after at most as many rounds as nodes.
    loop {
        let mut changed = false;
        for i in 0..graph.edges.len() {
            let (upper, lower) = ends(i);
            if upper != lower && layer[lower] <= layer[upper] {
                layer[lower] = layer[upper] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let depth = layer.iter().max().map_or(0, |m| m + 1);
    let mut layout =
        Arrangement { places: Vec::new(), layers: vec![Vec::new(); depth], links: Vec::new(), routes: Vec::new() };
    for (i, node) in graph.nodes.iter().enumerate() {
        let longest = node.lines.iter().map(|l| l.chars().count()).max().unwrap_or(0) as f64;
        let (mut width, mut height) = (longest * CHARACTER + 18.0, node.lines.len() as f64 * LINE + 12.0);
        if node.kind == NodeKind::Condition {
            width += 30.0;
            height += 14.0;
        }
        layout.layers[layer[i]].push(i);
        layout.places.push(Place { node: Some(i), width, height, x: 0.0, y: 0.0 });
    }
    for (i, turned) in back.iter().enumerate() {
        let (upper, lower) = ends(i);
        let mut route = vec![upper];
        for bends in &mut layout.layers[(layer[upper] + 1).min(depth)..layer[lower].max(layer[upper] + 1).min(depth)] {
            bends.push(layout.places.len());
            route.push(layout.places.len());
            layout.places.push(Place { node: None, width: 8.0, height: 0.0, x: 0.0, y: 0.0 });
        }
        route.push(lower);
        if upper != lower {
            layout.links.extend(route.windows(2).map(|w| Link { upper: w[0], lower: w[1] }));
        }
        if *turned {
            route.reverse();
        }
        layout.routes.push(route);
    }
    layout
}

impl Arrangement {
    /// Neighbours of every place in the layer above or below.
    fn neighbours(&self, above: bool) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.places.len()];
        for link in &self.links {
            if above {
                all[link.lower].push(link.upper);
            } else {
                all[link.upper].push(link.lower);
            }
        }
        all
    }

    /// Orders every layer by its neighbours' mean position.
    fn order(&mut self) {
        let (above, below) = (self.neighbours(true), self.neighbours(false));
        let mut rank = vec![0.0; self.places.len()];
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let neighbours = if down { &above } else { &below };
            let count = self.layers.len();
            for step in 0..count {
                let layer = &mut self.layers[if down { step } else { count - 1 - step }];
                let mean = |place: &usize| -> f64 {
                    let near = &neighbours[*place];
                    if near.is_empty() {
                        rank[*place]
                    } else {
                        near.iter().map(|&n| rank[n]).sum::<f64>() / near.len() as f64
                    }
                };
                let mut keyed: Vec<(f64, usize)> = layer.iter().map(|p| (mean(p), *p)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                *layer = keyed.into_iter().map(|(_, p)| p).collect();
                for (i, &place) in layer.iter().enumerate() {
                    rank[place] = i as f64;
                }
            }
        }
    }

    /// Coordinates: each place below the middle of its neighbours, as far as those beside it leave room.
    fn position(&mut self) {
        let mut y = MARGIN + LINE * 2.0;
        for layer in &self.layers {
            let height = layer.iter().map(|&p| self.places[p].height).fold(0.0, f64::max);
            let mut x = MARGIN;
            for &place in layer {
                let place = &mut self.places[place];
                place.x = x + place.width / 2.0;
                place.y = y + height / 2.0;
                x += place.width + GAP_X;
            }
            y += height + GAP_Y;
        }
        let (above, below) = (self.neighbours(true), self.neighbours(false));
        for sweep in 0..SWEEPS {
            let neighbours = if sweep % 2 == 0 { &above } else { &below };
            for layer in &self.layers {
                let wanted: Vec<f64> = layer
                    .iter()
                    .map(|&p| {
                        let near = &neighbours[p];
                        if near.is_empty() {
                            self.places[p].x
                        } else {
                            near.iter().map(|&n| self.places[n].x).sum::<f64>() / near.len() as f64
                        }
                    })
                    .collect();
                let apart = |a: usize, b: usize| (self.places[a].width + self.places[b].width) / 2.0 + GAP_X;
                // From the left and from the right; the middle of both keeps all distances.
                let mut left = wanted.clone();
                for i in 1..layer.len() {
                    left[i] = left[i].max(left[i - 1] + apart(layer[i - 1], layer[i]));
                }
                let mut right = wanted;
                for i in (1..layer.len()).rev() {
                    right[i - 1] = right[i - 1].min(right[i] - apart(layer[i - 1], layer[i]));
                }
                for (i, &place) in layer.iter().enumerate() {
                    self.places[place].x = (left[i] + right[i]) / 2.0;
                }
            }
        }
        let edge = self.places.iter().map(|p| p.x - p.width / 2.0).fold(f64::INFINITY, f64::min);
        for place in &mut self.places {
            place.x += MARGIN - edge;
        }
    }

    fn layout(&self, graph: &Graph) -> Layout {
        let right = self.places.iter().map(|p| p.x + p.width / 2.0).fold(0.0, f64::max);
        let bottom = self.places.iter().map(|p| p.y + p.height / 2.0).fold(0.0, f64::max);
        let mut nodes = vec![Area { left: 0.0, top: 0.0, width: 0.0, height: 0.0 }; graph.nodes.len()];
        for place in &self.places {
            if let Some(node) = place.node {
                let Place { x, y, width, height, .. } = *place;
                nodes[node] = Area { left: x - width / 2.0, top: y - height / 2.0, width, height };
            }
        }
        let edges = self.routes.iter().map(|route| self.curve(route)).collect();
        // Room for edges from a node to itself.
        Layout { width: right + MARGIN * 2.0, height: bottom + MARGIN, nodes, edges }
    }

    fn curve(&self, route: &[usize]) -> Curve {
        let place = |i: usize| &self.places[route[i]];
        let last = route.len() - 1;
        let (from, to) = (place(0), place(last));
        let mut path = String::new();
        // Writing to a string cannot fail.
        if route.len() == 2 && route[0] == route[1] {
            let (x, y) = (from.x + from.width / 2.0, from.y);
            let (out_y, in_y, far) = (y - 6.0, y + 6.0, x + 34.0);
            let _ =
                write!(path, "M{x:.1} {out_y:.1}C{far:.1} {:.1} {far:.1} {:.1} {x:.1} {in_y:.1}", y - 18.0, y + 18.0);
            return Curve { path, label: (x + 10.0, y) };
        }
        let down = from.y < to.y;
        let side = if down { 1.0 } else { -1.0 };
        let mut points = vec![(from.x, from.y + side * from.height / 2.0)];
        points.extend((1..last).map(|i| (place(i).x, place(i).y)));
        points.push((to.x, to.y - side * to.height / 2.0));
        let _ = write!(path, "M{:.1} {:.1}", points[0].0, points[0].1);
        for pair in points.windows(2) {
            let middle = (pair[0].1 + pair[1].1) / 2.0;
            let ((ax, _), (bx, by)) = (pair[0], pair[1]);
            let _ = write!(path, "C{ax:.1} {middle:.1} {bx:.1} {middle:.1} {bx:.1} {by:.1}");
        }
        Curve { path, label: ((points[0].0 + points[1].0) / 2.0 + 4.0, (points[0].1 + points[1].1) / 2.0) }
    }
}

fn write(graph: &Graph, layout: &Layout) -> String {
    let Layout { width, height, .. } = layout;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"{FONT}\">"
    );
    out.push_str(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n",
    );
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"14\" font-weight=\"bold\">{}</text>",
        MARGIN + 4.0,
        escaped(&graph.title)
    );
    for (edge, curve) in graph.edges.iter().zip(&layout.edges) {
        write_edge(&mut out, curve, &edge.label);
    }
    for (node, area) in graph.nodes.iter().zip(&layout.nodes) {
        write_node(&mut out, *area, &node.lines, node.kind);
    }
    out.push_str("</svg>\n");
    out
}

fn write_edge(out: &mut String, curve: &Curve, label: &str) {
    let (label_x, label_y) = curve.label;
    let _ = writeln!(out, "<path d=\"{}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#arrow)\"/>", curve.path);
    if label.is_empty() {
        return;
    }
    let lines: Vec<&str> = label.lines().collect();
    let top = label_y - (lines.len() as f64 - 1.0) * 10.0 / 2.0;
    for (i, line) in lines.iter().enumerate() {
        let y = top + i as f64 * 10.0 + 3.0;
        let _ = writeln!(
            out,
            "<text x=\"{label_x:.1}\" y=\"{y:.1}\" font-size=\"9\" fill=\"#333\">{}</text>",
            escaped(line)
        );
    }
}

fn write_node(out: &mut String, area: Area, lines: &[String], kind: NodeKind) {
    let Area { left, top, width, height } = area;
    let (x, y) = (left + width / 2.0, top + height / 2.0);
    let (right, bottom) = (left + width, top + height);
    let style = format!("fill=\"{}\" stroke=\"#444\"", kind.colour());
    let _ = match kind {
        NodeKind::Terminal => writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{:.1}\" {style}/>",
            height / 2.0
        ),
        NodeKind::Condition => {
            let cut = 14.0;
            writeln!(
                out,
                "<path d=\"M{left:.1} {y:.1}L{:.1} {top:.1}H{:.1}L{right:.1} {y:.1}L{:.1} {bottom:.1}H{:.1}z\" {style}/>",
                left + cut,
                right - cut,
                right - cut,
                left + cut
            )
        }
        NodeKind::State | NodeKind::Table | NodeKind::Statements => writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\" {style}/>"
        ),
    };
    let first = y - (lines.len() as f64 - 1.0) * LINE / 2.0 + FONT * 0.35;
    for (i, line) in lines.iter().enumerate() {
        let bold =
            if i == 0 && matches!(kind, NodeKind::State | NodeKind::Table) { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\"{bold}>{}</text>",
            first + i as f64 * LINE,
            escaped(line)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
