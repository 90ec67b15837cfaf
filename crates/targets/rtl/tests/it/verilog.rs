//! Programs with headers at fixed places become SystemVerilog. `HOPWRIGHT_RTL_OUT` keeps the files in a folder.

use std::path::Path;

use crate::harness::*;
use hopwright_rtl::{Capability, Target, compile as to_hardware};

#[test]
fn examples_become_verilog() {
    let out = std::env::var_os("HOPWRIGHT_RTL_OUT");
    for name in ["examples/l2", "examples/l3", "p4/bench/acl"] {
        let mut pipeline = (*compile(&root().join(name).with_extension("p4"))).clone();
        pipeline.tables.iter_mut().for_each(|table| table.size = table.size.min(256));
        for target in Target::all() {
            let hardware = to_hardware(&pipeline, &target).unwrap_or_else(|refusals| {
                let reports: Vec<String> = refusals.iter().map(|r| r.report(&pipeline.sources)).collect();
                panic!("{name}: {}", reports.join("\n"))
            });
            let bits = hardware.schedule.register_bits(&hardware.core.design);
            println!("{name} {}: {} stages, {bits} register bits", target.name, hardware.schedule.stages);
            if let Some(out) = &out {
                let folder = Path::new(out).join(&target.name);
                std::fs::create_dir_all(&folder).unwrap();
                let stem = Path::new(name).file_name().unwrap().to_str().unwrap();
                std::fs::write(folder.join(format!("{stem}_pipeline.sv")), &hardware.verilog.pipeline).unwrap();
                std::fs::write(folder.join(format!("{stem}.sv")), &hardware.verilog.top).unwrap();
                std::fs::write(folder.join(format!("{stem}.json")), hardware.verilog.map.json()).unwrap();
            }
        }
    }
}

#[test]
fn signals_are_named_after_the_program() {
    let pipeline = compile(&root().join("examples/l3.p4"));
    let target = Target::by_name("ecp5-85-512").unwrap();
    let verilog = to_hardware(&pipeline, &target).unwrap().verilog.pipeline;
    assert_eq!(verilog, to_hardware(&pipeline, &target).unwrap().verilog.pipeline);
    let code = verilog.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let words = code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let words: std::collections::BTreeSet<&str> = words.collect();
    // What was received, what is sent, and what a lookup finds.
    for name in ["hdr_ipv4_ttl_s", "hdr_ipv4_ttl_2_s", "RouterIngress_routes_s"] {
        assert!(words.iter().any(|word| word.starts_with(name)), "there is no signal {name}");
    }
    assert!(words.iter().all(|word| word.len() < 64), "names are short");
}

/// Times of packets pass where packets leave in the order in which they came.
#[test]
fn corundum_gets_a_whole_application_block() {
    let target = Target::by_name("xcup-512").unwrap();
    for (program, is_stamped) in
        [("examples/l3", "1"), ("tests/stf/recirculate_grows", "0"), ("tests/stf/checksum_payload", "0")]
    {
        let hardware = to_hardware(&compile(&root().join(program).with_extension("p4")), &target).unwrap();
        let name = &hardware.verilog.name;
        let files: std::collections::BTreeMap<String, String> = hardware.files(name).into_iter().collect();
        let (shell, block) = (&files[&format!("{name}_corundum.sv")], &files["mqnic_app_block.sv"]);
        assert!(shell.contains(&format!("STAMPED = 1'b{is_stamped} &&")), "{program}");
        assert!(block.contains(&format!("    {name}_corundum #(")), "{program}");
        let is_filled =
            |text: &str| !text.split('@').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
        assert!(is_filled(shell) && is_filled(block), "{program}");
        if let Some(out) = std::env::var_os("HOPWRIGHT_RTL_OUT") {
            let folder = Path::new(&out).join(format!("corundum-{name}"));
            std::fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|(file, text)| std::fs::write(folder.join(file), text).unwrap());
        }
    }
}

#[test]
fn what_a_target_cannot_do_is_refused_at_its_line() {
    let target = Target::by_name("ecp5-85-512").unwrap();
    let mut pipeline = (*compile(&root().join("p4/bench/acl.p4"))).clone();
    for size in [1 << 21, u64::MAX] {
        pipeline.tables.iter_mut().for_each(|table| table.size = size);
        let refusals = to_hardware(&pipeline, &target).unwrap_err();
        assert_eq!(refusals.iter().map(|r| r.capability).collect::<Vec<_>>(), [Capability::TableSize]);
        let report = refusals[0].report(&pipeline.sources);
        assert!(report.contains("acl.p4:") && report.contains("[table-size]"), "{report}");
    }
}

#[test]
fn only_the_testbench_has_names_that_are_not_of_the_program() {
    let program = ethernet_program("apply { standard.egress_spec = 1; }");
    let hardware = to_hardware(&compile_source(&program).unwrap(), &Target::by_name("ecp5-85-256").unwrap()).unwrap();
    assert!(hardware.files("my-switch").iter().all(|(name, _)| !name.contains('/') && name != "Makefile"));
    let testbench = hardware.testbench("my-switch");
    assert!(testbench.iter().all(|(name, _)| name.starts_with("simulation/")));
    let (_, makefile) = testbench.iter().find(|(name, _)| name == "simulation/Makefile").unwrap();
    // Modules are named by identifiers, files as the program's.
    assert!(makefile.contains("--top-module generated ") && makefile.contains("'../my-switch.sv'"), "{makefile}");
    assert!(!makefile.contains("@TOP@") && !makefile.contains("@FILE@"), "{makefile}");
}

#[test]
fn a_statement_that_is_reached_in_several_ways_is_refused_once() {
    let program = ethernet_program(
        "
    meter(4, MeterType.packets) seen;
    bit<8> colour;
    action count() { seen.execute_meter(0, colour); }
    apply {
        if (hdr.ethernet.dst == 1) { count(); }
        if (hdr.ethernet.src == 1) { count(); }
        if (hdr.ethernet.type == 1) { count(); }
        standard.egress_spec = 1;
    }",
    );
    let pipeline = compile_source(&program).unwrap();
    let refusals = to_hardware(&pipeline, &Target::by_name("ecp5-85-512").unwrap()).unwrap_err();
    assert_eq!(refusals.iter().map(|r| r.capability).collect::<Vec<_>>(), [Capability::SharedObject]);
}

#[test]
fn the_documentation_lists_all_capabilities() {
    let page = std::fs::read_to_string(root().join("docs/fpga.md")).unwrap();
    for capability in Capability::ALL {
        assert!(page.contains(&format!("| `{}` |", capability.name())), "{}", capability.name());
    }
}
