//! Copies of packets: multicast groups, clone sessions, truncation.

use super::*;
use hopwright_interp::Replica;

#[test]
#[ignore = "needs verilator"]
fn a_program_with_multicast_agrees() {
    // Egress changes, drops, shortens and truncates copies.
    let script = "
        mc_mgrp_create 1
        mc_node_create 1 3 4
        mc_node_create 2 5
        mc_node_create 3 6
        mc_node_create 4 7 8
        mc_node_associate 1 0
        mc_node_associate 1 1
        mc_node_associate 1 2
        mc_node_associate 1 3
        packet 1 01 02 03 aabbccddee
        packet 2 04 05 06
        packet 3 07 08
    ";
    agrees(program("tests/stf/multicast_copies.p4").0, script, &Target::by_name("ecp5-85-512").unwrap());
}

#[test]
#[ignore = "needs verilator"]
fn a_program_with_clones_agrees() {
    let script = "
        mc_mgrp_create 9
        mc_node_create 5 3 4
        mc_node_create 6 4
        mc_node_associate 9 0
        mc_node_associate 9 1
        mirroring_add 1 3
        mirroring_add_mc 2 9
        mirroring_add 3 5
        mirroring_add_mc 3 9
        mirroring_add 32767 6
        packet 1 0001 00 00 00
        packet 1 0002 00 00 00 0102030405060708
        packet 1 0003 00 00 00
        packet 1 7fff 00 00 00
        packet 1 0063 00 00 00
    ";
    agrees(program("tests/stf/clone_sessions.p4").0, script, &Target::by_name("ecp5-85-256").unwrap());
}

/// A group changes while packets pass: each packet is copied to the old members or to the new ones, never to some of both, and those
/// behind the change to the new ones.
#[test]
#[ignore = "needs verilator"]
fn changes_of_groups_are_atomic() {
    let pipeline = Arc::new(program("tests/stf/multicast.p4").0);
    let (hardware, simulation) = verilate(&pipeline, &Target::by_name("ecp5-85-512").unwrap());
    let map = &hardware.verilog.map;
    for seed in [None, Some(5)] {
        let mut design = Simulation::start(&simulation, seed).unwrap();
        let mut driver = CopyDriver::new(map);
        let mut interp: Interp = interpreter(&pipeline);
        let mut random = Random(99);
        let (mut differing, mut copies) = (0, 0);
        for step in 0..100u16 {
            let mut expected = Vec::new();
            for change in [false, true] {
                if change {
                    let members = 0..random.below(40) as u16;
                    let members: Vec<Replica> = members.map(|rid| Replica { rid, port: step % 511 }).collect();
                    design.access(&driver.set_group(map, 1, &members).unwrap()).unwrap();
                    interp.store.traffic.groups.insert(1, members);
                }
                for number in 0..20u8 {
                    let bytes = vec![1, number, step as u8, 0, 0, 0, 0, 0];
                    design.send(1, 0, &bytes).unwrap();
                    let wanted = sent(interp.process(&bytes, 1, 0));
                    expected.push((bytes, wanted, change));
                }
            }
            let all = design.settle().unwrap();
            assert_eq!(all.len(), expected.len());
            for (at, ((bytes, wanted, after), found_copies)) in expected.iter().zip(all).enumerate() {
                let found = found(found_copies);
                copies += found.len();
                if *wanted != found {
                    let other = sent(interp.process(bytes, 1, 0));
                    assert!(!after && other == found, "step {step}, packet {at}: {found:02x?}, not {wanted:02x?}");
                    differing += 1;
                }
            }
        }
        assert!(differing > 10 && copies > 10_000, "{differing} of {copies}");
        println!("seed {seed:?}: {copies} copies, {differing} packets overtaken by a change");
    }
}

/// Clones at the end of egress, of clones, of some fields, and of what a group says.
#[test]
#[ignore = "needs verilator"]
fn clones_at_the_end_of_egress_agrees() {
    let target = Target::by_name("ecp5-85-512").unwrap();
    for name in ["clone_egress_chain", "clone_both_ways", "egress_clone_lists", "clone_header_metadata"] {
        let (pipeline, script) = program(&format!("tests/stf/{name}.p4"));
        agrees(pipeline, &script, &target);
    }
}
