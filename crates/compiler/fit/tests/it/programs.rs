//! Estimates of whole programs: those of `p4/`, and ciphers for which figures are published.

use std::fmt::Write;
use std::path::Path;

use hopwright_driver::{Compiled, compile_file, compile_text};
use hopwright_fit::{Estimate, Pragmas, Target, estimate, of_pipe, pipes};
use hopwright_ir::Pipeline;
use hopwright_syntax::Options;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

fn pipeline(compiled: Compiled, what: &str) -> Pipeline {
    compiled.pipeline.unwrap_or_else(|| panic!("{what}: {:#?}", compiled.diagnostics))
}

/// A program, as the command has it: `-D MACRO FILE`.
fn file(path: &str) -> Pipeline {
    pipeline(compiled(path), path)
}

fn compiled(path: &str) -> Compiled {
    let mut options = Options::default();
    let words: Vec<&str> = path.split(' ').collect();
    let [defined @ .., file] = words.as_slice() else { panic!("no file") };
    defined.iter().skip(1).step_by(2).for_each(|name| options.define(name));
    compile_file(&Path::new(ROOT).join(file), &options, true)
}

fn on(pipeline: &Pipeline, target: &str) -> Estimate {
    estimate(pipeline, &Target::by_name(target).expect("a target"), &Pragmas::default())
}

/// The programs in docs/fit.md.
const PROGRAMS: &[&str] = &[
    "p4/bench/l2.p4",
    "p4/bench/l3.p4",
    "p4/bench/acl.p4",
    "p4/bench/ecmp.p4",
    "p4/bench/firewall.p4",
    "p4/bench/metering.p4",
    "p4/bench/mpls.p4",
    "p4/bench/telemetry.p4",
    "p4/bench/vxlan.p4",
    "p4/router/ip.p4",
    "p4/router/openflow.p4",
    "p4/switchblade/platform.p4",
    "p4/rina/interior.p4",
    "p4/rina/interior_tna.p4",
    "p4/epic/epic_router.p4",
    "-D EPIC_SEM p4/epic/epic_router.p4",
    "p4/scion/border_router.p4",
    "crates/compiler/fit/tests/sem.p4",
];

/// The table of docs/fit.md is what the command says, for programs that rarely change.
#[test]
fn the_table_in_the_documentation_is_true() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/fit.md")).expect("the page");
    let mut missing = Vec::new();
    for path in PROGRAMS {
        let pipeline = file(path);
        let [one, two] = ["tofino", "tofino2"].map(|target| on(&pipeline, target));
        let verdict = |e: &Estimate| if e.fits() { "fits" } else { "no" };
        let row = format!(
            "| `{path}` | {} | {} | {} | {} | {} | {} | {}, {} |",
            two.needed_by_dependencies,
            one.stages.len(),
            two.stages.len(),
            two.phv_bits(),
            two.stages.iter().map(|s| s.used.sram_blocks + s.used.tcam_blocks).sum::<u32>(),
            two.problems.iter().filter(|p| p.place.is_some()).count(),
            verdict(&one),
            verdict(&two),
        );
        let steady = path.starts_with("p4/bench") || path.starts_with("crates");
        if !page.contains(if steady { &row } else { *path }) {
            missing.push(row.clone());
        }
        println!("{row}");
    }
    assert!(missing.is_empty(), "docs/fit.md should have\n{}", missing.join("\n"));
}

/// It is written for the chip: everything in one pipe.
#[test]
fn the_interior_router_for_tofino_fits() {
    let pipeline = file("p4/rina/interior_tna.p4");
    for target in ["tofino", "tofino2"] {
        let estimate = on(&pipeline, target);
        assert!(estimate.fits(), "{target}: {}", estimate.to_text());
    }
}

/// They are written for the chip: everything in one pipe, with sums in hash blocks.
#[test]
fn epic_and_id_int_for_tofino_fit() {
    for path in ["p4/epic/epic_tna.p4", "p4/int/scion_tna.p4"] {
        let compiled = compiled(path);
        let pragmas = compiled.typed.as_ref().map(Pragmas::of).unwrap_or_default();
        let target = Target::by_name("tofino2").expect("a target");
        let estimate = estimate(&pipeline(compiled, path), &target, &pragmas);
        assert!(estimate.fits(), "{path}: {}", estimate.to_text());
    }
}

/// Published: 8 of 12 stages.
#[test]
fn the_cipher_sem_takes_eight_stages_of_tofino() {
    let estimate = on(&file("crates/compiler/fit/tests/sem.p4"), "tofino");
    assert_eq!(estimate.stages.len(), 8, "{}", estimate.to_text());
    assert!(estimate.fits(), "{}", estimate.to_text());
}

/// Rounds of AES on two blocks, in tables from a byte to a column, in ingress and in egress.
fn aes(rounds: usize) -> Pipeline {
    let control = |name: &str, header: &str| {
        let (mut declared, mut applied) = (String::new(), String::new());
        for round in 0..rounds {
            for block in 0..2 {
                let (mut lookups, mut columns) = (String::new(), String::new());
                for byte in 0..16 {
                    let t = format!("t{round}_{block}_{byte}");
                    let _ = writeln!(
                        declared,
                        "bit<32> v_{t}; action set_{t}(bit<32> x) {{ v_{t} = x; }} \
                         table {t} {{ key = {{ {header}.b{block}_{byte}: exact; }} actions = {{ set_{t}; }} size = 256; \
                         const default_action = set_{t}(0); }}"
                    );
                    let _ = writeln!(lookups, "{t}.apply();");
                }
                for column in 0..4 {
                    // ShiftRows: a column of the result has one byte of each column.
                    let parts: Vec<String> =
                        (0..4).map(|row| format!("v_t{round}_{block}_{}", (column * 4 + row * 5) % 16)).collect();
                    let key = round * 16 + column;
                    let _ = writeln!(columns, "bit<32> c{round}_{block}_{column} = {} ^ 32w{key};", parts.join(" ^ "));
                    for row in 0..4 {
                        let (byte, high) = (column * 4 + row, 31 - 8 * row);
                        let _ = writeln!(
                            columns,
                            "{header}.b{block}_{byte} = c{round}_{block}_{column}[{high}:{}];",
                            high - 7
                        );
                    }
                }
                applied += &lookups;
                applied += &columns;
            }
        }
        format!(
            "control {name}(inout headers hdr, inout meta m, inout standard_metadata_t sm) {{ {declared} \
             apply {{ sm.egress_spec = 1; {applied} }} }}"
        )
    };
    let fields: String = (0..32).map(|i| format!("bit<8> b{}_{};", i / 16, i % 16)).collect();
    let text = format!(
        "#include <v1model.p4>\nheader h_t {{ {fields} }}\nstruct headers {{ h_t h; }}\nstruct meta {{ }}\n\
         parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {{ \
         state start {{ p.extract(hdr.h); transition accept; }} }}\n\
         control V(inout headers hdr, inout meta m) {{ apply {{ }} }}\n{}\n{}\n\
         control C(inout headers hdr, inout meta m) {{ apply {{ }} }}\n\
         control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n",
        control("I", "hdr.h"),
        control("E", "hdr.h").replace("sm.egress_spec = 1;", "")
    );
    pipeline(compile_text("aes.p4", &text, &Default::default(), true), "aes")
}

/// Published: two blocks, three rounds in ingress and three in egress of Tofino 2.
#[test]
fn aes_is_bound_by_tables() {
    let three = on(&aes(3), "tofino2");
    assert!(three.fits(), "{}", three.to_text());
    let most = (3..8).take_while(|rounds| on(&aes(*rounds), "tofino2").fits()).last();
    assert_eq!(most, Some(3));
    assert!(three.needed_by_dependencies < three.stages.len() as u32, "{}", three.to_text());
}

/// A pipe's estimate has what is in its pipeline, and nothing else.
#[test]
fn each_pipe_has_stages_of_its_own() {
    let whole = file("tests/stf/tna_pipes.p4");
    assert_eq!(pipes(&whole), [vec![0, 2], vec![1]]);
    let names = |pipe: u32| -> Vec<String> {
        let estimate = on(&of_pipe(&whole, pipe).expect("a pipe"), "tofino");
        assert!(estimate.fits(), "{}", estimate.to_text());
        let items = estimate.stages.iter().flat_map(|stage| &stage.items);
        items.filter(|item| item.table).map(|item| item.name.clone()).collect()
    };
    assert_eq!([names(0), names(1), names(2)], [vec![], vec!["Back.squares".to_string()], vec![]]);
    assert!(of_pipe(&whole, 3).is_none());
    let one = file("p4/bench/l3_tna.p4");
    assert!(pipes(&one).is_empty() && of_pipe(&one, 0).is_none());
}
