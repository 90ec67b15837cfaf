//! Programs that are large, deep or unusual, and accepted all the same.

use std::sync::Arc;

use hopwright_driver::{Compiled, compile_text};
use hopwright_interp::Interp;
use hopwright_syntax::{Diagnostics, Options, render};

fn compile(text: &str) -> Compiled {
    compile_text("test.p4", text, &Options::default(), true)
}

/// A program; `before` stands before the first include, `outside` behind the types, `ingress` in the ingress control.
fn program(before: &str, outside: &str, ingress: &str) -> String {
    format!(
        "{before}
        #include <core.p4>
        #include <v1model.p4>
        header h_t {{ bit<32> a; bit<32> b; int<32> number; }}
        struct headers_t {{ h_t h; }}
        struct meta_t {{ bit<32> x; }}
        {outside}
        parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
            state start {{ packet.extract(hdr.h); transition accept; }}
        }}
        control MyChecksum(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
        control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ {ingress} }}
        control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
        control MyDeparser(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
        V1Switch(MyParser(), MyChecksum(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;"
    )
}

fn shown(compiled: &Compiled) -> String {
    let text = render::render(&compiled.diagnostics, &compiled.sources, false);
    text.chars().take(2000).collect()
}

#[track_caller]
fn fine(text: &str) -> Compiled {
    let compiled = compile(text);
    assert!(compiled.pipeline.is_some(), "{}", shown(&compiled));
    compiled
}

fn codes(diagnostics: &Diagnostics) -> Vec<&str> {
    diagnostics.iter().map(|d| d.code).collect()
}

const MANY: u32 = 8_000;

/// Of many entries each is compared with its like only, whatever the kind of match.
#[test]
fn tables_with_many_entries_are_checked() {
    let entries = |kind: &str, set: &dyn Fn(u32) -> String| {
        let list: String = (0..MANY).map(|i| format!("{}: NoAction();\n", set(i))).collect();
        program(
            "",
            "",
            &format!(
                "table t {{ key = {{ hdr.h.a: {kind}; }} actions = {{ NoAction; }} const entries = {{ {list} }} }}
                apply {{ t.apply(); }}"
            ),
        )
    };
    let plain = |i: u32| i.to_string();
    for (kind, set) in [
        ("exact", &plain as &dyn Fn(u32) -> String),
        ("lpm", &|i| format!("{} &&& 0xfffff000", i << 12)),
        ("ternary", &|i| format!("{i} &&& 0xffff")),
        ("range", &|i| format!("{i} .. {}", i + 5)),
        ("optional", &plain),
    ] {
        let compiled = fine(&entries(kind, set));
        assert_eq!(compiled.pipeline.unwrap().tables[0].entries.len(), MANY as usize);
    }
    let twice = compile(&entries("exact", &|i| (i % (MANY - 1)).to_string()));
    assert_eq!(codes(&twice.diagnostics), ["E0456"]);
}

#[test]
fn switches_with_many_cases_are_checked() {
    let cases = |label: &dyn Fn(u32) -> u32| {
        let list: String = (0..MANY).map(|i| format!("{}: {{ meta.x = {i}; }}\n", label(i))).collect();
        program("", "", &format!("apply {{ switch (hdr.h.a) {{ {list} }} hdr.h.b = meta.x; }}"))
    };
    fine(&cases(&|i| i));
    assert_eq!(codes(&compile(&cases(&|i| i % (MANY - 1))).diagnostics), ["E0314"]);
}

/// Whether a state repeats, and which headers are valid in it, is found in time that grows with the parser only.
#[test]
fn parsers_with_many_states_and_headers_are_checked() {
    // Time on a CPU, whatever else the machine does.
    let cpu_seconds = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse::<u64>().unwrap() / 1_000_000_000
    };
    let before = cpu_seconds();
    let parser = |states: String, headers: &str| {
        let text =
            program("", "", "apply { }").replace("state start { packet.extract(hdr.h); transition accept; }", &states);
        text.replace("struct headers_t { h_t h; }", &format!("struct headers_t {{ h_t h; {headers} }}"))
    };
    let follow = |i: u32, last: u32| if i < last { format!("s{}", i + 1) } else { "accept".into() };
    let last = 5 * MANY - 1;
    let states: String = (0..=last)
        .map(|i| {
            let next = follow(i, last);
            format!("state s{i} {{ transition select(hdr.h.a) {{ {i}: accept; default: {next}; }} }}\n")
        })
        .collect();
    let start = "state start { packet.extract(hdr.h); transition s0; }\n";
    fine(&parser(format!("{start}{states}"), ""));
    let last = MANY / 4 - 1;
    let headers: String = (0..=last).map(|i| format!("h_t h{i}; ")).collect();
    let states: String = (0..=last)
        .map(|i| {
            let next = follow(i, last);
            let case = format!("select(hdr.h{i}.a) {{ 0: {next}; default: accept; }}");
            format!("state s{i} {{ packet.extract(hdr.h{i}); transition {case} }}\n")
        })
        .collect();
    fine(&parser(format!("{start}{states}"), &headers));
    let spent = cpu_seconds() - before;
    assert!(spent < 30, "{spent} s");
}

/// What the interpreter makes of a packet whose header is `a`, 0, 0: the field `b`.
fn run(compiled: Compiled, a: u32) -> u32 {
    let mut interp = Interp::new(Arc::new(compiled.pipeline.unwrap())).unwrap();
    let mut packet = a.to_be_bytes().to_vec();
    packet.extend([0; 8]);
    let output = interp.process(&packet, 0, 0);
    u32::from_be_bytes(output.sent[0].bytes[4..8].try_into().unwrap())
}

/// On the stack of an ordinary thread.
#[test]
fn deep_programs_are_compiled_and_run() {
    let n = 300;
    let apply = |body: String| fine(&program("", "", &format!("apply {{ {body} }}")));
    let ifs: String = (0..n).map(|i| format!("if (hdr.h.a != {i}) {{ ")).collect();
    assert_eq!(run(apply(format!("{ifs} hdr.h.b = 7; {}", "}".repeat(n))), 1000), 7);
    assert_eq!(run(apply(format!("hdr.h.b = {}hdr.h.a{};", "(".repeat(n), ")".repeat(n))), 9), 9);
    assert_eq!(run(apply(format!("hdr.h.b = {}0{};", "(hdr.h.a + ".repeat(n), ")".repeat(n))), 2), 600);
    assert_eq!(run(apply(format!("hdr.h.b = hdr.h.a{};", " + hdr.h.a".repeat(900))), 1), 901);
    let links: String = (0..n).map(|i| format!("if (hdr.h.a == {i}) {{ hdr.h.b = {}; }} else ", i * 2)).collect();
    assert_eq!(run(apply(format!("{links} {{ hdr.h.b = 1; }}")), 299), 598);
    // A chain of locals does not become one expression.
    let locals: String = (1..2000).map(|i| format!("bit<32> v{i} = v{} + 1;\n", i - 1)).collect();
    assert_eq!(run(apply(format!("bit<32> v0 = hdr.h.a; {locals} hdr.h.b = v1999;")), 1), 2000);
}

#[test]
fn errors_declared_before_the_standard_ones_are_accepted() {
    let compiled = fine(&program("error { Mine }", "", "apply { }"));
    let errors = compiled.pipeline.unwrap().errors;
    assert_eq!(errors[0], "NoError");
    assert!(errors.contains(&"Mine".to_string()));
}

#[test]
fn match_kinds_are_values_of_compile_time() {
    fine(&program("", "const tuple<match_kind> once = { exact };", "apply { }"));
}

#[test]
fn casts_to_int_within_casts_back_are_accepted() {
    let body = "hdr.h.number = (int<32>) ((int) hdr.h.number + 1); hdr.h.b = (bit<32>) ((int) hdr.h.a * 3 - 1);";
    assert_eq!(run(fine(&program("", "", &format!("apply {{ {body} }}"))), 5), 14);
    // What would need more bits than there are is refused.
    let body = "hdr.h.b = (bit<32>) (bit<1>) ((int) hdr.h.a + 1);";
    assert_eq!(codes(&compile(&program("", "", &format!("apply {{ {body} }}"))).diagnostics), ["E0302"]);
}

#[test]
fn one_control_plane_name_for_two_is_a_warning() {
    let tables =
        "@name(\"acl\") table one { actions = { NoAction; } } @name(\"acl\") table two { actions = { NoAction; } }";
    let compiled = fine(&program("", "", &format!("{tables} apply {{ one.apply(); two.apply(); }}")));
    assert_eq!(codes(&compiled.diagnostics), ["W0030"]);
    let names: Vec<String> = compiled.pipeline.unwrap().tables.into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["MyIngress.acl", "MyIngress.acl#2"]);
    assert_eq!(compiled.typed.unwrap().shared_names().len(), 1);
}

#[test]
fn direct_counters_without_table_do_nothing() {
    let body = "direct_counter(CounterType.packets) c; action count() { c.count(); hdr.h.b = 4; } apply { count(); }";
    let compiled = fine(&program("", "", body));
    assert_eq!(codes(&compiled.diagnostics), ["W0031"]);
    assert_eq!(run(compiled, 1), 4);
}

#[test]
fn long_names_of_types_and_many_errors_are_cut() {
    let tuple = format!("tuple<{}>", vec!["bit<8>"; 5000].join(", "));
    let compiled = compile(&program("", "", &format!("apply {{ {tuple} v; hdr.h.a = v; }}")));
    assert!(shown(&compiled).len() < 1500, "{}", shown(&compiled));
    let name = "x".repeat(100_000);
    let compiled = compile(&program("", "", "apply { hdr.h.a = LONG; }").replace("LONG", &name));
    assert_eq!(codes(&compiled.diagnostics), ["E0200"]);
    let text = render::to_json(&compiled.diagnostics, &compiled.sources).to_string();
    assert!(text.len() < 5000, "{}", text.len());
    let wrong: String = (0..500).map(|i| format!("hdr.h.a = wrong{i};\n")).collect();
    let compiled = compile(&program("", "", &format!("apply {{ {wrong} }}")));
    assert_eq!(compiled.diagnostics.error_count(), 500);
    let first = compiled.diagnostics.first_errors(100);
    assert_eq!((first.error_count(), first.len()), (100, 101));
    assert_eq!(first.iter().last().unwrap().message, "400 more errors are not shown");
}
