//! Small programs for which the number of stages is known by hand.

use hopwright_driver::compile_text;
use hopwright_fit::{Estimate, Pragmas, Target, estimate};

/// A program with these declarations and this body of ingress. Fields `a` to `f` have 16 bits.
fn program(declarations: &str, apply: &str) -> String {
    format!(
        r#"#include <v1model.p4>
header h_t {{ bit<16> a; bit<16> b; bit<16> c; bit<16> d; bit<16> e; bit<16> f; bit<128> w; bit<128> k; }}
struct headers {{ h_t h; }}
struct meta {{ }}
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control V(inout headers hdr, inout meta m) {{ apply {{}} }}
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {{
    action set_a(bit<16> x) {{ hdr.h.a = x; }}
    action set_b(bit<16> x) {{ hdr.h.b = x; }}
    action set_c(bit<16> x) {{ hdr.h.c = x; }}
    action set_d(bit<16> x) {{ hdr.h.d = x; }}
    table a_to_b {{ key = {{ hdr.h.a: exact; }} actions = {{ set_b; }} }}
    table b_to_c {{ key = {{ hdr.h.b: exact; }} actions = {{ set_c; }} }}
    table c_to_d {{ key = {{ hdr.h.c: exact; }} actions = {{ set_d; }} }}
    table e_to_b {{ key = {{ hdr.h.e: exact; }} actions = {{ set_b; }} }}
    table e_to_d {{ key = {{ hdr.h.e: exact; }} actions = {{ set_d; }} }}
    table e_to_a {{ key = {{ hdr.h.e: exact; }} actions = {{ set_a; }} }}
    {declarations}
    apply {{ sm.egress_spec = 1; {apply} }}
}}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) {{ apply {{}} }}
control C(inout headers hdr, inout meta m) {{ apply {{}} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#
    )
}

fn on(target: &str, declarations: &str, apply: &str) -> Estimate {
    let compiled = compile_text("small.p4", &program(declarations, apply), &Default::default(), true);
    let pragmas = compiled.typed.as_ref().map(Pragmas::of).unwrap_or_default();
    let pipeline = compiled.pipeline.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics));
    estimate(&pipeline, &Target::by_name(target).expect("a target"), &pragmas)
}

/// The number of stages on Tofino.
#[track_caller]
fn stages(declarations: &str, apply: &str, expected: usize) -> Estimate {
    let estimate = on("tofino", declarations, apply);
    assert_eq!(estimate.stages.len(), expected, "{}", estimate.to_text());
    estimate
}

#[test]
fn what_matches_on_a_result_is_in_a_later_stage() {
    let estimate = stages("", "a_to_b.apply(); b_to_c.apply(); c_to_d.apply();", 3);
    let kinds: Vec<_> = estimate.chain.iter().map(|link| link.dependency).collect();
    assert_eq!(kinds, [None, Some("match"), Some("match")]);
    assert_eq!(estimate.chain[1].variable.as_deref(), Some("hdr.h.b"));
    assert!(estimate.fits());
}

#[test]
fn what_is_independent_shares_a_stage() {
    stages("", "a_to_b.apply(); e_to_d.apply();", 1);
}

#[test]
fn two_writers_of_a_field_follow_each_other() {
    let estimate = stages("", "a_to_b.apply(); e_to_b.apply();", 2);
    assert_eq!(estimate.chain[1].dependency, Some("action"));
}

#[test]
fn writers_on_paths_that_exclude_each_other_share_a_stage() {
    stages("", "if (hdr.h.f == 1) { a_to_b.apply(); } else { e_to_b.apply(); }", 1);
    stages("", "if (hdr.h.f == 1) { a_to_b.apply(); return; } e_to_b.apply();", 1);
}

#[test]
fn a_table_after_a_hit_shares_the_stage() {
    stages("", "if (a_to_b.apply().hit) { e_to_d.apply(); }", 1);
}

#[test]
fn what_is_read_first_may_be_overwritten_in_the_same_stage() {
    stages("", "a_to_b.apply(); e_to_a.apply();", 1);
}

#[test]
fn a_condition_waits_for_what_it_looks_at() {
    stages("", "a_to_b.apply(); if (hdr.h.b == 7) { e_to_d.apply(); }", 2);
}

#[test]
fn each_operator_takes_a_stage_and_wires_none() {
    stages("", "hdr.h.a = hdr.h.b ^ hdr.h.c;", 1);
    stages("", "hdr.h.a = hdr.h.b ^ hdr.h.c ^ hdr.h.d ^ hdr.h.e;", 2);
    stages("", "hdr.h.a = hdr.h.b[7:0] ++ hdr.h.c[15:8];", 1);
    stages("", "bit<16> x = hdr.h.b[7:0] ++ hdr.h.c[15:8]; hdr.h.a = x + 1;", 1);
    stages("", "hdr.h.a = (hdr.h.b + hdr.h.c) ^ hdr.h.d;", 2);
}

#[test]
fn a_stage_has_sixteen_tables() {
    let tables = |n: usize| {
        let declared: String = (0..n)
            .map(|i| format!("table t{i} {{ actions = {{ NoAction; }} default_action = NoAction(); }}"))
            .collect();
        let applied: String = (0..n).map(|i| format!("t{i}.apply();")).collect();
        (declared, applied)
    };
    // The assignment of the egress port is one of the sixteen.
    let (declared, applied) = tables(15);
    stages(&declared, &applied, 1);
    let (declared, applied) = tables(16);
    stages(&declared, &applied, 2);
}

#[test]
fn a_large_table_is_divided_between_stages() {
    // An entry has 22 bits of key, without the 10 that select the word, 32 of data and 4 of version: 8 go into 4 words, 62 x 4 = 248
    // blocks, and a stage has 80.
    let table = "action set_w(bit<32> x) { hdr.h.w[31:0] = x; }
                 table large { key = { hdr.h.w[31:0]: exact; } actions = { set_w; } size = 500000;
                               const default_action = set_w(0); }";
    let estimate = stages(table, "large.apply();", 4);
    let blocks: u32 = estimate.stages.iter().map(|s| s.used.sram_blocks).sum();
    assert!((240..=270).contains(&blocks), "{blocks}");
}

#[test]
fn a_register_is_read_and_written_in_one_stage() {
    let register = "register<bit<16>>(1024) r;";
    stages(register, "bit<16> x; r.read(x, (bit<32>) hdr.h.a); r.write((bit<32>) hdr.h.a, x + 1);", 1);
    let estimate = on(
        "tofino",
        register,
        "r.read(hdr.h.b, (bit<32>) hdr.h.a); b_to_c.apply(); r.write((bit<32>) hdr.h.a, hdr.h.c);",
    );
    assert!(estimate.problems.iter().any(|p| p.message.contains("cannot share a stage")), "{}", estimate.to_text());
}

#[test]
fn ingress_and_egress_share_stages() {
    let text = program("", "a_to_b.apply();").replace(
        "control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {}",
        "control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
             action g(bit<16> x) { hdr.h.f = x; }
             table out_t { key = { hdr.h.d: exact; } actions = { g; } }
             apply { out_t.apply(); }",
    );
    let compiled = compile_text("small.p4", &text, &Default::default(), true);
    let pipeline = compiled.pipeline.expect("a pipeline");
    let estimate = estimate(&pipeline, &Target::by_name("tofino2").expect("a target"), &Pragmas::default());
    let threads: Vec<_> = estimate.stages[0].items.iter().filter(|i| i.table).map(|i| i.thread).collect();
    assert_eq!((estimate.stages.len(), threads), (1, vec!["egress", "ingress"]));
}

#[test]
fn what_the_target_cannot_do_is_named_with_its_line() {
    let estimate = on("tofino", "", "hdr.h.a = hdr.h.b * hdr.h.c;\nhdr.h.d = hdr.h.e / 3;");
    let problems: Vec<_> = estimate.problems.iter().filter(|p| p.place.is_some()).map(|p| p.message.as_str()).collect();
    assert!(problems.iter().any(|m| m.contains("multiplication")), "{problems:?}");
    assert!(problems.iter().any(|m| m.contains("division")), "{problems:?}");
    assert!(!estimate.fits());
}

#[test]
fn thirteen_stages_fit_tofino_2_only() {
    let chain: String = (0..13).map(|_| "hdr.h.a = hdr.h.a + hdr.h.b; hdr.h.b = hdr.h.a ^ hdr.h.c; ").collect();
    let one = on("tofino", "", &chain);
    assert!(!one.fits() && one.to_text().contains("stages; the target has 12"), "{}", one.to_text());
    let chain: String = (0..13).map(|_| "hdr.h.a = hdr.h.a - hdr.h.b; ").collect();
    assert_eq!(on("tofino2", "", &chain).stages.len(), 13);
    assert!(on("tofino2", "", &chain).fits());
    assert!(!on("tofino", "", &chain).fits());
}

#[test]
fn pictures_and_json_name_what_the_text_names() {
    let estimate = on("tofino", "", "a_to_b.apply(); b_to_c.apply();");
    for name in ["I.a_to_b", "I.b_to_c"] {
        assert!(estimate.to_text().contains(name) && estimate.to_svg().contains(name), "{name}");
    }
    assert!(estimate.to_svg().ends_with("</svg>\n"));
}

#[test]
fn what_a_table_writes_on_a_hit_is_not_written_on_a_miss() {
    // `NoAction` is all that a miss of the first table can run.
    let first =
        "table only_b { key = { hdr.h.a: exact; } actions = { set_b; NoAction; } const default_action = NoAction(); }";
    stages(first, "if (!only_b.apply().hit) { e_to_b.apply(); }", 1);
    stages(first, "switch (only_b.apply().action_run) { NoAction: { e_to_b.apply(); } default: {} }", 1);
    stages(first, "only_b.apply(); e_to_b.apply();", 2);
    // A controller may give the first one another default action.
    stages("", "if (!a_to_b.apply().hit) { e_to_b.apply(); }", 2);
}

#[test]
fn masks_are_part_of_a_match() {
    let masked = "table low { key = { hdr.h.b & 0x0f0f: exact; } actions = { set_c; } }";
    stages(masked, "a_to_b.apply(); low.apply();", 2);
    stages("", "a_to_b.apply(); if (hdr.h.b & 0x0f0f == 1) { e_to_d.apply(); }", 2);
    stages("", "hdr.h.a = hdr.h.b & 0xff;", 1);
    // Bits here and there are an operation.
    stages("", "hdr.h.a = (hdr.h.b & 0x0f0f) + 1;", 2);
}

#[test]
fn a_condition_with_a_name_is_that_condition() {
    stages("", "a_to_b.apply(); bool named = hdr.h.b != 0 && hdr.h.c != 0; if (named) { e_to_d.apply(); }", 2);
}

#[test]
fn many_prefixes_are_in_an_algorithmic_table() {
    let table =
        |size: u32| format!("table routes {{ key = {{ hdr.h.w[31:0]: lpm; }} actions = {{ set_b; }} size = {size}; }}");
    let few = on("tofino2", &table(2048), "routes.apply();");
    assert_eq!(few.stages[0].used.tcam_blocks, 4, "{}", few.to_text());
    let many = on("tofino2", &table(200_000), "routes.apply();");
    assert!(many.fits() && many.stages[0].items.iter().any(|item| item.algorithmic), "{}", many.to_text());
}

/// A program for Tofino with these declarations and this body of ingress.
fn tofino(declarations: &str, apply: &str) -> Estimate {
    let text = format!(
        r#"#include <core.p4>
#include <tna.p4>
header kind_t {{ bit<8> kind; }}
header h_t {{ bit<16> a; bit<16> b; bit<32> c; bit<1024> w; }}
struct headers {{ kind_t kind; h_t one; h_t two; }}
struct meta {{ }}
parser P(packet_in p, out headers hdr, out meta m, out ingress_intrinsic_metadata_t i) {{
    state start {{
        p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(hdr.kind);
        transition select(hdr.kind.kind) {{ 1: one; default: two; }}
    }}
    state one {{ p.extract(hdr.one); transition accept; }}
    state two {{ p.extract(hdr.two); transition accept; }}
}}
control I(inout headers hdr, inout meta m, in ingress_intrinsic_metadata_t i, in ingress_intrinsic_metadata_from_parser_t p,
          inout ingress_intrinsic_metadata_for_deparser_t d, inout ingress_intrinsic_metadata_for_tm_t tm) {{
    action send(PortId_t port) {{ tm.ucast_egress_port = port; }}
    table ports {{ key = {{ hdr.one.a: exact; }} actions = {{ send; }} }}
    {declarations}
    apply {{ {apply} }}
}}
control D(packet_out p, inout headers hdr, in meta m, in ingress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(hdr); }} }}
struct none {{ }}
parser Q(packet_in p, out none hdr, out none m, out egress_intrinsic_metadata_t e) {{
    state start {{ p.extract(e); transition accept; }}
}}
control E(inout none hdr, inout none m, in egress_intrinsic_metadata_t e, in egress_intrinsic_metadata_from_parser_t p,
          inout egress_intrinsic_metadata_for_deparser_t d, inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ }} }}
control F(packet_out p, inout none hdr, in none m, in egress_intrinsic_metadata_for_deparser_t d) {{ apply {{ }} }}
Pipeline(P(), I(), D(), Q(), E(), F()) pipe;
Switch(pipe) main;
"#
    );
    let compiled = compile_text("small.p4", &text, &Default::default(), true);
    let pragmas = compiled.typed.as_ref().map(Pragmas::of).unwrap_or_default();
    let pipeline = compiled.pipeline.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics));
    estimate(&pipeline, &Target::by_name("tofino").expect("a target"), &pragmas)
}

#[test]
fn the_traffic_manager_takes_no_stage() {
    let estimate = tofino("", "ports.apply();");
    assert_eq!(estimate.stages.len(), 1, "{}", estimate.to_text());
}

#[test]
fn a_register_action_takes_one_stage() {
    let action = "Register<bit<32>, bit<16>>(1024) r;
        RegisterAction<bit<32>, bit<16>, bit<32>>(r) most = {
            void apply(inout bit<32> cell, out bit<32> result) {
                if (cell - hdr.one.c > 100) { cell = hdr.one.c; result = 1; } else { cell = cell + 1; result = cell; }
            }
        };";
    let estimate = tofino(action, "hdr.one.c = most.execute(hdr.one.b);");
    assert_eq!(estimate.stages.len(), 1, "{}", estimate.to_text());
    let estimate = tofino(action, "hdr.one.c = most.execute(hdr.one.b); if (hdr.one.c == 1) { ports.apply(); }");
    assert_eq!(estimate.stages.len(), 2, "{}", estimate.to_text());
}

#[test]
fn headers_that_no_packet_has_together_share_the_header_vector() {
    let both = "hdr.one.w = hdr.one.w ^ 1; hdr.two.w = hdr.two.w ^ 1;";
    let estimate = tofino("", both);
    assert!((1024..2048).contains(&estimate.phv_bits()), "{}", estimate.to_text());
}

#[test]
fn writes_of_different_bits_share_a_stage() {
    stages("", "hdr.h.a[7:0] = hdr.h.b[7:0]; hdr.h.a[15:8] = hdr.h.c[7:0];", 1);
    stages("", "hdr.h.w[15:0] = hdr.h.b + 1; hdr.h.w[31:16] = hdr.h.c + 1;", 1);
}

#[test]
fn a_hash_block_is_one_operation() {
    let sum = "hdr.h.a = hdr.h.b ^ hdr.h.c ^ hdr.h.d ^ hdr.h.e;";
    stages("", sum, 2);
    let estimate = stages("", &format!("@in_hash {{ {sum} }}"), 1);
    assert!(estimate.stages[0].used.hash_distribution_bits >= 16, "{}", estimate.to_text());
    // A sum is no hash.
    stages("", "@in_hash { hdr.h.a = hdr.h.b + hdr.h.c + hdr.h.d; }", 2);
}

#[test]
fn annotations_of_tables_are_honoured() {
    let pinned = "@stage(4) table late { key = { hdr.h.e: exact; } actions = { set_d; } }";
    let estimate = stages(pinned, "late.apply();", 5);
    assert!(
        estimate.fits() && estimate.stages[4].items.iter().any(|item| item.name == "I.late"),
        "{}",
        estimate.to_text()
    );
    let beside =
        "@ignore_table_dependency(\"I.e_to_b\") table also_b { key = { hdr.h.a: exact; } actions = { set_b; } }";
    stages(beside, "e_to_b.apply(); also_b.apply();", 1);
    let table = |annotation: &str| {
        format!("{annotation} table labels {{ key = {{ hdr.h.a: exact; }} actions = {{ set_b; }} size = 65536; }}")
    };
    let blocks = |annotation: &str| on("tofino", &table(annotation), "labels.apply();").stages[0].used.sram_blocks;
    // 65,536 entries of 16 bits.
    assert_eq!(blocks("@use_hash_action(1)"), 8);
    assert!(blocks("") > 8);
    let few = |annotation: &str| {
        let table =
            format!("{annotation} table few {{ key = {{ hdr.h.w[31:0]: exact; }} actions = {{ set_b; }} size = 64; }}");
        on("tofino", &table, "few.apply();").stages[0].used.sram_blocks
    };
    assert!(few("@ways(2)") < few(""));
}

/// What a branch has compared with a constant is not written again when a control copies it back.
#[test]
fn known_values_and_unset_parameters_take_no_stage() {
    let control = "action send_out(bit<16> x) { hdr.one.b = x; }
        table inner { key = { hdr.one.c: exact; } actions = { send_out; NoAction; } const default_action = NoAction(); }";
    let estimate = tofino(control, "if (hdr.one.a == 5) { inner.apply(); hdr.one.a = 5; ports.apply(); }");
    assert_eq!(estimate.stages.len(), 1, "{}", estimate.to_text());
}
