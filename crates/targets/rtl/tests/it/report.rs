//! What the report says of a program.

use crate::harness::*;
use hopwright_rtl::report::Report;
use hopwright_rtl::{Target, compile as to_hardware};

/// A condition that chooses 48 bits, and one that chooses a bit.
const INGRESS: &str = "
    apply {
        if (hdr.ethernet.type == 0x88b5) {
            hdr.ethernet.src = hdr.ethernet.dst;
        }
        standard.egress_spec = 3;
    }";

#[test]
fn the_values_with_most_loads_are_named_by_their_lines() {
    let program = ethernet_program(INGRESS);
    let pipeline = compile_source(&program).unwrap();
    let hardware = to_hardware(&pipeline, &Target::by_name("ecp5-85-512").unwrap()).unwrap();
    let report = Report::of(&pipeline, &hardware);
    let line = 1 + program.lines().position(|line| line.contains("0x88b5")).unwrap();
    let place = format!("generated.p4:{line}");
    let text = report.text();
    let condition = report.widest.iter().find(|value| value.place == place);
    let condition = condition.unwrap_or_else(|| panic!("{place} is not among {:?}", report.widest));
    // The bits of the address that it chooses, and what follows from whether the address is another one.
    assert!((48..64).contains(&condition.loads), "{condition:?}");
    assert!(text.contains(&format!("{} loads", condition.loads)), "{text}");
    assert!(report.widest.is_sorted_by_key(|value| std::cmp::Reverse(value.loads)), "{:?}", report.widest);
}

#[test]
fn estimates_are_near_what_synthesis_makes() {
    // LUTs, with two for a carry and six for a memory of 16 words of four bits, and flip-flops that `tests/rtl/programs.py` has of them, without
    // the registers and trees around the design.
    let made = [
        ("examples/l2.p4", "ecp5-85-256", 5_700, 5_050),
        ("examples/l2.p4", "ecp5-85-512", 9_360, 7_160),
        ("examples/l3.p4", "ecp5-85-256", 7_720, 8_860),
        ("examples/l3.p4", "ecp5-85-512", 11_950, 11_790),
        ("p4/validator/validator.p4", "ecp5-85-256", 23_530, 16_100),
        ("p4/validator/validator.p4", "ecp5-85-512", 27_750, 19_030),
    ];
    for (program, target, luts, registers) in made {
        let pipeline = compile(&root().join(program));
        let total = Report::of(&pipeline, &to_hardware(&pipeline, &Target::by_name(target).unwrap()).unwrap()).total;
        for (name, estimated, made) in [("LUTs", total.luts, luts), ("flip-flops", total.registers, registers)] {
            assert!(estimated.abs_diff(made) < made / 8, "{program}, {target}: {estimated} {name}, not {made}");
        }
    }
}
