//! Graphs show what the program does, in both languages.

use hopwright_driver::compile_text;
use hopwright_graphs::{Graph, NodeKind, graphs};

const PROGRAM: &str = r#"
#include <v1model.p4>
header h_t { bit<8> a; }
struct headers { h_t[3] h; }
struct meta { }
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h.next); transition select(hdr.h.last.a) { 1: start; 2 &&& 3: start; 7: other; default: accept; } }
    state other { verify(false, error.NoMatch); transition reject; }
}
control V(inout headers hdr, inout meta m) { apply {} }
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
    action drop() { mark_to_drop(sm); }
    table t { key = { hdr.h[0].a : exact @name("the <key>"); } actions = { drop; NoAction; } default_action = NoAction(); }
    apply {
        if (hdr.h[0].isValid() && hdr.h[0].a < 5) { t.apply(); } else { sm.egress_spec = 3; exit; }
        sm.priority = 1;
    }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {} }
control C(inout headers hdr, inout meta m) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn all() -> Vec<Graph> {
    let compiled = compile_text("test.p4", PROGRAM, &Default::default(), false);
    graphs(&compiled.pipeline.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics)))
}

/// Names of the nodes and of edges between them.
fn edges(graph: &Graph) -> Vec<(&str, &str, &str)> {
    let name = |i: usize| graph.nodes[i].lines[0].as_str();
    graph.edges.iter().map(|e| (name(e.from), name(e.to), e.label.as_str())).collect()
}

#[test]
fn the_parser_graph_has_its_states_and_cases() {
    let all = all();
    assert_eq!(all[0].name, "parser");
    assert_eq!(
        edges(&all[0]),
        [
            ("start", "start", "0x1\n0x2 &&& 0x3"),
            ("start", "other", "0x7"),
            ("start", "accept", "_"),
            ("other", "reject", ""),
        ]
    );
}

#[test]
fn controls_show_branches_tables_and_exits() {
    let all = all();
    let names: Vec<&str> = all.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["parser", "ingress", "deparser"]);
    let ingress = &all[1];
    let table = ingress.nodes.iter().position(|n| n.kind == NodeKind::Table).unwrap();
    assert_eq!(ingress.nodes[table].lines, ["I.t", "the <key>: exact"]);
    let end = ingress.nodes.len() - 1;
    let into_end = ingress.edges.iter().filter(|e| e.to == end);
    let mut labels: Vec<&str> = into_end.map(|e| e.label.as_str()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["", "exit"]);
    assert!(ingress.edges.iter().any(|e| e.to == table && e.label == "true"));
}

#[test]
fn both_pictures_hold_every_node_and_are_well_formed() {
    for graph in all() {
        let (dot, svg) = (graph.to_dot(), graph.to_svg());
        assert_eq!(dot.matches("shape=").count(), graph.nodes.len());
        assert_eq!(dot.matches(" -> ").count(), graph.edges.len());
        assert_eq!(svg.matches("marker-end").count(), graph.edges.len());
        for line in graph.nodes.iter().flat_map(|n| &n.lines) {
            let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            assert!(svg.contains(&format!(">{escaped}</text>")), "{line}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
