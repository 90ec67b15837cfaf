//! Verilated designs agree with the interpreter: bytes, ports, counters and registers, with gaps and back-pressure at random.
//!
//! Needs verilator 5 and a C++ compiler: `make test-rtl`.

mod copies;
mod line_rate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::harness::*;
use hopwright_interp::{Interp, Output, Store};
use hopwright_ir::{ActionCall, ExternKind, MatchValue, Pipeline, TableEntry, TableId};
use hopwright_rtl::driver::{self, Change, CopyDriver, Registers, TableDriver};
use hopwright_rtl::simulation::{self, Simulation};
use hopwright_rtl::{Hardware, Target, compile as to_hardware};
use hopwright_stf::counterexample::Difference;
use hopwright_stf::script;
use num_bigint::BigUint;

/// Packets for each design and seed.
const PACKETS: usize = 2000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// Variants of packets: cut off, with other bytes, with more at the end.
fn mutated(random: &mut Random, bases: &[(u16, Vec<u8>)]) -> (u16, Vec<u8>) {
    let (mut port, mut bytes) = bases[random.below(bases.len())].clone();
    if random.below(5) == 0 {
        bytes.truncate(1 + random.below(bytes.len()));
    }
    for _ in 0..random.below(3) {
        let at = random.below(bytes.len());
        bytes[at] = random.below(256) as u8;
    }
    if random.below(3) == 0 {
        let more = random.below(300);
        bytes.extend((0..more).map(|_| random.below(256) as u8));
    }
    if random.below(4) == 0 {
        port = random.below(512) as u16;
    }
    (port, bytes)
}

/// Verilates a design; returns the program that simulates it.
fn verilate(pipeline: &Pipeline, target: &Target) -> (Hardware, PathBuf) {
    let hardware = to_hardware(pipeline, target).expect("the design is not refused");
    let waivers = root().join("tests/rtl/waivers.vlt").canonicalize().unwrap();
    let program = simulation::build(&hardware, &simulation::cache(), Some(&waivers)).unwrap_or_else(|e| panic!("{e}"));
    (hardware, program)
}

/// The packets of a test.
fn packets_of(script: &script::Script) -> Vec<(u16, Vec<u8>)> {
    let packet = |(_, command): &(u32, script::Command)| match command {
        script::Command::Packet { port, bytes } => Some((*port, bytes.clone())),
        _ => None,
    };
    script.commands.iter().filter_map(packet).collect()
}

/// Writes the entries of an interpreter to the tables of a design.
fn program_tables(pipeline: &Pipeline, hardware: &Hardware, interp: &Interp, design: &mut Simulation) {
    let map = &hardware.verilog.map;
    for table in (0..pipeline.tables.len() as u32).map(TableId) {
        let mut tables = TableDriver::new(pipeline, map, table);
        let default = interp.store.default_action(table);
        let mut change = |change: Change<'_>| {
            let accesses = tables.change(pipeline, map, &change).unwrap();
            design.access(&accesses).unwrap();
        };
        change(Change::Default(&default));
        interp.store.entries(table).for_each(|(entry, _)| change(Change::Put(entry)));
    }
    let mut copies = CopyDriver::new(map);
    for (group, replicas) in &interp.store.traffic.groups {
        design.access(&copies.set_group(map, *group, replicas).unwrap()).unwrap();
    }
    for (session, to) in &interp.store.traffic.sessions {
        design.access(&copies.set_session(map, *session, Some(*to)).unwrap()).unwrap();
    }
}

/// Ports and bytes of what an interpreter sends. Hardware sends no packets without bytes.
fn sent(output: Output) -> Vec<(u16, Vec<u8>)> {
    output.sent.into_iter().filter(|sent| !sent.bytes.is_empty()).map(|sent| (sent.port, sent.bytes)).collect()
}

/// Ports and bytes of what a design sends.
fn found(copies: Vec<simulation::Sent>) -> Vec<(u16, Vec<u8>)> {
    copies.into_iter().map(|sent| (sent.port, sent.bytes)).collect()
}

/// Compares a design with small tables with the interpreter on packets of a test.
fn agrees(mut pipeline: Pipeline, script: &str, target: &Target) {
    pipeline.tables.iter_mut().for_each(|table| table.size = table.size.min(256));
    agrees_as_it_is(pipeline, script, target);
}

/// The first packet of a test of which a simulation makes something else than the interpreter.
fn differs(
    pipeline: &Arc<Pipeline>,
    hardware: &Hardware,
    program: &Path,
    seed: Option<u64>,
    script: &script::Script,
) -> Option<Difference> {
    let mut interp: Interp = interpreter(pipeline);
    hopwright_stf::configure(script, &mut interp).ok()?;
    let mut design = Simulation::start(program, seed).ok()?;
    program_tables(pipeline, hardware, &interp, &mut design);
    let mut wanted = Vec::new();
    for (line, command) in &script.commands {
        if let script::Command::Packet { port, bytes } = command {
            design.send(*port, 0, bytes).ok()?;
            wanted.push((*line, sent(interp.process(bytes, *port, 0))));
        }
    }
    let mut before = Vec::new();
    for ((line, wanted), copies) in wanted.into_iter().zip(design.settle().ok()?) {
        let [wanted, found] = [wanted, found(copies)].map(counterexample::processed);
        if wanted.sent != found.sent {
            return Some(Difference { line, before, wanted, found });
        }
        before.push(wanted);
    }
    None
}

/// Compares a design with the interpreter on packets of a test.
fn agrees_as_it_is(pipeline: Pipeline, text: &str, target: &Target) {
    let pipeline = Arc::new(pipeline);
    let script = hopwright_stf::parse("script", text).unwrap();
    let (hardware, program) = verilate(&pipeline, target);
    let map = &hardware.verilog.map;
    let bases = packets_of(&script);
    for seed in [None, Some(1), Some(2)] {
        let mut interp: Interp = interpreter(&pipeline);
        hopwright_stf::configure(&script, &mut interp).unwrap();
        let mut design = Simulation::start(&program, seed).unwrap();
        program_tables(&pipeline, &hardware, &interp, &mut design);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + seed.unwrap_or(0));
        let (mut wanted, mut packets) = (Vec::new(), Vec::new());
        for _ in 0..PACKETS {
            let (port, bytes) = mutated(&mut random, &bases);
            design.send(port, 0, &bytes).unwrap();
            wanted.push(sent(interp.process(&bytes, port, 0)));
            packets.push((port, bytes));
        }
        let all = design.settle().unwrap();
        let name = format!("{} {} seed {seed:?}", pipeline.name, target.name);
        let count = wanted.iter().flatten().count();
        assert!(count > PACKETS / 20, "{name}: only {count} packets are sent");
        assert_eq!(wanted.len(), all.len(), "{name}");
        for (number, (wanted, copies)) in wanted.into_iter().zip(all).enumerate() {
            let found = found(copies);
            if wanted != found {
                let test = format!("{text}\n{}", counterexample::packet_lines(&packets));
                let mut differs = |script: &script::Script| differs(&pipeline, &hardware, &program, seed, script);
                let shown = counterexample::report(&pipeline.name, Err(&pipeline.name), &test, &mut differs);
                panic!("{name}: packet {number}: {found:02x?}, not {wanted:02x?}\n{shown}");
            }
        }
        for (number, object) in map.objects.iter().enumerate() {
            let id = pipeline.extern_by_name(&object.name).unwrap();
            let found = design.cells(map, number, 0..object.size.min(512)).unwrap();
            for (index, found) in found.into_iter().enumerate() {
                let wanted = match pipeline[id].kind {
                    ExternKind::Counter { unit, .. } => {
                        let count = interp.store.counter(id, index as u64).unwrap();
                        driver::count_cell(unit, count.packets, count.bytes)
                    }
                    _ => interp.store.register(id, index as u64).unwrap(),
                };
                assert_eq!(wanted, found, "{name}: {}[{index}]", object.name);
            }
        }
        println!("{name}: {PACKETS} packets agree, {count} are sent, {} cycles", design.cycles());
    }
}

fn program(path: &str) -> (Pipeline, String) {
    let program = root().join(path);
    let script = std::fs::read_to_string(program.with_extension("stf")).unwrap();
    ((*compile(&program)).clone(), script)
}

fn targets() -> Vec<Target> {
    ["ecp5-85-256", "ecp5-85-512"].map(|name| Target::by_name(name).unwrap()).into()
}

#[test]
#[ignore = "needs verilator"]
fn an_l2_switch_agrees() {
    let (pipeline, script) = program("examples/l2.p4");
    targets().iter().for_each(|target| agrees(pipeline.clone(), &script, target));
}

#[test]
#[ignore = "needs verilator"]
fn an_l3_router_agrees() {
    let (pipeline, script) = program("examples/l3.p4");
    targets().iter().for_each(|target| agrees(pipeline.clone(), &script, target));
}

/// Registers hold values for several stages, and delay lines have fewer words than stages.
#[test]
#[ignore = "needs verilator"]
fn a_router_whose_packets_are_cycles_apart_agrees() {
    let (pipeline, script) = program("examples/l3.p4");
    let target = Target { gap: 3, ..Target::by_name("ecp5-85-256").unwrap() };
    let verilog = to_hardware(&pipeline, &target).unwrap().verilog.pipeline;
    assert!(verilog.contains(".GAP(3)"), "there is a delay line");
    agrees(pipeline, &script, &target);
}

#[test]
#[ignore = "needs verilator"]
fn an_access_list_agrees() {
    let pipeline = (*compile(&root().join("p4/bench/acl.p4"))).clone();
    let script = "
        add rules 30 hdr.ipv4.src:0x0a****** hdr.ipv4.protocol:0x11 hdr.ports.dst:0x0035 permit(port:3)
        add rules 20 hdr.ipv4.src:0x0a01**** permit(port:4)
        add rules 10 hdr.ports.src:0x005* permit(port:5)
        add rules 40 hdr.ipv4.dst:0xc0a80007 deny()
        packet 1 000102030405 060708090a0b 0800 45000020 00010000 4011b022 0a000001 c0a80001 1234 0035 000c 0000 01020304
        packet 2 000102030405 060708090a0b 0800 45000020 00010000 4011b021 0a010001 c0a80001 1234 0036 000c 0000 01020304
        packet 3 000102030405 060708090a0b 0800 45000020 00010000 4006af2c 0b010001 c0a80001 0055 0036 000c 0000 01020304
        packet 4 000102030405 060708090a0b 0800 45000020 00010000 4011b01b 0a010001 c0a80007 1234 0035 000c 0000 01020304
    ";
    targets().iter().for_each(|target| agrees(pipeline.clone(), script, target));
}

/// 200 rules with 48 masks, in eight lanes and in four.
#[test]
#[ignore = "needs verilator"]
fn a_large_access_list_agrees() {
    let (pipeline, script) = program("p4/bench/acl.p4");
    for (name, gap) in [("ecp5-85-512", 1), ("ecp5-85-256", 33)] {
        let target = Target { gap, ..Target::by_name(name).unwrap() };
        let verilog = to_hardware(&pipeline, &target).unwrap().verilog.pipeline;
        assert!(verilog.contains("hw_masked #("), "rules are in a large table");
        agrees_as_it_is(pipeline.clone(), &script, &target);
    }
}

/// A UDP packet, its Ethernet destination, IPv4 source and IPv4 destination by a key. Its number is in it.
fn numbered(number: usize, key: u32) -> Vec<u8> {
    let key = key as u8;
    let mut ipv4 = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, key, 0, 1, 10, 0, key, 1];
    let words = ipv4.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ipv4[10..12].copy_from_slice(&checksum.to_be_bytes());
    let mut packet = vec![2, 0, 0, 1, 0, key, 2, 0, 0, 0];
    packet.extend((number as u16).to_be_bytes());
    packet.extend([8, 0]);
    packet.extend(ipv4);
    packet.extend([0, 80, 0, 53, 0, 20, 0, 0]);
    packet.resize(64, number as u8);
    packet
}

/// Writes entries of the table while packets pass: each packet meets the table before or after each change, those behind a change meet
/// it, and entries that do not change are always found.
fn changes_are_atomic(pipeline: Pipeline, table: &str, matches: impl Fn(u32) -> Vec<MatchValue>) {
    changes_of_a_size_are_atomic(pipeline, 32, table, matches);
}

/// As above, with tables of a size.
fn changes_of_a_size_are_atomic(
    mut pipeline: Pipeline,
    size: u64,
    table: &str,
    matches: impl Fn(u32) -> Vec<MatchValue>,
) {
    const KEYS: u32 = 24;
    pipeline.tables.iter_mut().for_each(|table| table.size = size);
    let pipeline = Arc::new(pipeline);
    let table = pipeline.table_by_name(table).unwrap();
    // Its first action has a port, and what else there is.
    let action = pipeline[table].actions[0].action;
    let zeros = pipeline[action].params.len() - 1;
    let entry = |key: u32, port: u16| TableEntry {
        matches: matches(key),
        // P4Runtime leaves open which of two matching entries with the same priority wins.
        priority: if pipeline[table].has_priority() { 1 + (7 * key % KEYS) as i32 } else { 0 },
        action: ActionCall { action, args: [vec![port.into()], vec![BigUint::ZERO; zeros]].concat() },
    };
    let (hardware, program) = verilate(&pipeline, &Target::by_name("ecp5-85-512").unwrap());
    let map = &hardware.verilog.map;
    for seed in [None, Some(5)] {
        let mut design = Simulation::start(&program, seed).unwrap();
        let mut driver = TableDriver::new(&pipeline, map, table);
        let mut interp: Interp = interpreter(&pipeline);
        let mut random = Random(99);
        let (mut differing, mut number) = (0, 0);
        for step in 0..150 {
            // Packets to all addresses, then a change, then more of them, without a pause in between.
            let mut expected = Vec::new();
            let mut send = |interp: &mut Interp, design: &mut Simulation, after: bool| {
                for key in 0..KEYS {
                    let bytes = numbered(number, key);
                    number += 1;
                    design.send(1, 0, &bytes).unwrap();
                    let copies = sent(interp.process(&bytes, 1, 0));
                    expected.push((bytes, copies, after));
                }
            };
            send(&mut interp, &mut design, false);
            let key = random.below(KEYS as usize) as u32;
            let new = entry(key, 2 + step % 64);
            let old = interp
                .store
                .entries(table)
                .find(|(e, _)| e.matches == new.matches && e.priority == new.priority)
                .map(|(e, _)| e.clone());
            let accesses = if let Some(old) = old {
                interp.store.delete(table, &old.matches, old.priority).unwrap();
                if random.below(2) == 0 {
                    let change = Change::Delete { matches: &old.matches, priority: old.priority };
                    driver.change(&pipeline, map, &change).unwrap()
                } else {
                    interp.store.insert(table, new.clone()).unwrap();
                    driver.change(&pipeline, map, &Change::Put(&new)).unwrap()
                }
            } else {
                interp.store.insert(table, new.clone()).unwrap();
                driver.change(&pipeline, map, &Change::Put(&new)).unwrap()
            };
            design.access(&accesses).unwrap();
            send(&mut interp, &mut design, true);
            let all = design.settle().unwrap();
            assert_eq!(all.len(), expected.len());
            for (at, ((bytes, wanted, after), copies)) in expected.iter().zip(all).enumerate() {
                let found = found(copies);
                if *wanted == found {
                    continue;
                }
                // Packets in front of the change may be overtaken by it, and then look like those behind it.
                let other = sent(interp.process(bytes, 1, 0));
                assert!(!after && other == found, "step {step}, packet {at}: {found:02x?}, not {wanted:02x?}");
                differing += 1;
            }
        }
        // Changes did happen among packets.
        assert!(differing > 0);
        println!("{} seed {seed:?}: {number} packets, {differing} overtaken by a change", pipeline[table].name);
    }
}

#[test]
#[ignore = "needs verilator"]
fn changes_of_an_exact_table_are_atomic() {
    let matches = |key: u32| vec![MatchValue::Exact(BigUint::from(0x0200_0001_0000_u64 + u64::from(key)))];
    changes_are_atomic(program("examples/l2.p4").0, "mac", matches);
}

#[test]
#[ignore = "needs verilator"]
fn changes_of_prefixes_are_atomic() {
    // Some inside of others.
    let matches = |key: u32| {
        let prefix_len = [24, 22, 16][key as usize % 3];
        let value = (0x0a00_0000 | key << 8) >> (32 - prefix_len) << (32 - prefix_len);
        vec![MatchValue::Lpm { value: value.into(), prefix_len }]
    };
    changes_are_atomic(program("examples/l3.p4").0, "routes", matches);
}

#[test]
#[ignore = "needs verilator"]
fn changes_of_a_ternary_table_are_atomic() {
    changes_of_masks_are_atomic(32);
}

#[test]
#[ignore = "needs verilator"]
fn changes_of_a_large_ternary_table_are_atomic() {
    changes_of_masks_are_atomic(2048);
}

fn changes_of_masks_are_atomic(size: u64) {
    let pipeline = (*compile(&root().join("p4/bench/acl.p4"))).clone();
    let any = || MatchValue::Ternary { value: BigUint::ZERO, mask: BigUint::ZERO };
    let matches = move |key: u32| {
        let mask = if key.is_multiple_of(3) { 0xfff8_0000u32 } else { 0xffff_0000 };
        let value = (0x0a00_0000 | key << 16) & mask;
        let source = MatchValue::Ternary { value: value.into(), mask: mask.into() };
        vec![source, any(), any(), any(), any()]
    };
    changes_of_a_size_are_atomic(pipeline, size, "rules", matches);
}

/// Each change of an entry's actions is another list of members.
#[test]
#[ignore = "needs verilator"]
fn changes_of_selected_actions_are_atomic() {
    let mut pipeline = (*compile(&root().join("p4/bench/ecmp.p4"))).clone();
    for object in &mut pipeline.externs {
        if let ExternKind::ActionSelector { size, .. } = &mut object.kind {
            *size = 32;
        }
    }
    let kinds: Vec<bool> = pipeline.tables[0].keys.iter().map(|key| key.kind.is_matched()).collect();
    let matches = move |key: u32| {
        let route = MatchValue::Lpm { value: (0x0a00_0000 | key << 8).into(), prefix_len: 24 };
        let of_key = kinds.iter().map(|matched| if *matched { route.clone() } else { MatchValue::Optional(None) });
        of_key.collect()
    };
    changes_are_atomic(pipeline, "routes", matches);
}

/// Failed assertions, sums over payloads of any length, and a parser loop that a counter ends.
#[test]
#[ignore = "needs verilator"]
fn assertions_loops_and_payloads_agrees() {
    let tests = [("log_assert", "ecp5-85-256"), ("checksum_payload", "ecp5-85-512"), ("parser_loop", "ecp5-85-512")];
    for (name, target) in tests {
        let (pipeline, script) = program(&format!("tests/stf/{name}.p4"));
        agrees(pipeline, &script, &Target::by_name(target).unwrap());
    }
}
