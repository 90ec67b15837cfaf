//! Verilated designs agree with the interpreter: bytes, ports, counters and registers, with gaps and back-pressure at random.
//!
//! Needs verilator 5 and a C++ compiler: `make unit`.

mod harness;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness::*;
use hopwright_ir::interp::{Interp, Store};
use hopwright_ir::{Pipeline, TableId};
use hopwright_rtl::simulation::{self, Simulation};
use hopwright_rtl::{Target, compile as to_hardware, driver};
use hopwright_stf::script;
use num_bigint::BigUint;

/// Packets for each design and seed.
const PACKETS: usize = 2000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

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
fn verilate(pipeline: &Pipeline, target: &Target) -> (hopwright_rtl::Hardware, PathBuf) {
    let hardware = to_hardware(pipeline, target).expect("the design is not refused");
    let waivers = root().join("tests/rtl/waivers.vlt");
    let lint = ["-Wall", "-Wno-WIDTHCONCAT", waivers.to_str().unwrap()];
    let program = simulation::build(&hardware, &simulation::cache(), &lint).unwrap_or_else(|e| panic!("{e}"));
    (hardware, program)
}

/// Compares a design with the interpreter on packets of a test.
fn agrees(mut pipeline: Pipeline, script: &str, target: &Target) {
    pipeline.tables.iter_mut().for_each(|table| table.size = table.size.min(256));
    let pipeline = Arc::new(pipeline);
    let script = hopwright_stf::parse("script", script).unwrap();
    let (hardware, program) = verilate(&pipeline, target);
    let map = &hardware.verilog.map;
    let bases: Vec<(u16, Vec<u8>)> = script
        .commands
        .iter()
        .filter_map(|(_, command)| match command {
            script::Command::Packet { port, bytes } => Some((*port, bytes.clone())),
            _ => None,
        })
        .collect();
    for seed in [None, Some(1), Some(2)] {
        let mut interp: Interp = interpreter(&pipeline);
        hopwright_stf::configure(&script, &mut interp).unwrap();
        let mut design = Simulation::start(&program, seed).unwrap();
        for table in (0..pipeline.tables.len() as u32).map(TableId) {
            let entries: Vec<_> = interp.store.entries(table).map(|(entry, _)| entry.clone()).collect();
            let default = interp.store.default_action(table);
            for write in driver::load(&pipeline, map, table, &entries, &default).unwrap() {
                for (address, data) in write.bus(map) {
                    design.write(address, data).unwrap();
                }
            }
        }
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + seed.unwrap_or(0));
        let mut wanted = Vec::new();
        for _ in 0..PACKETS {
            let (port, bytes) = mutated(&mut random, &bases);
            design.send(port, 0, &bytes).unwrap();
            wanted.extend(interp.process(&bytes, port, 0).sent.into_iter().map(|sent| (sent.port, sent.bytes)));
        }
        let found = design.settle().unwrap();
        let name = format!("{} {} seed {seed:?}", pipeline.name, target.name);
        assert!(wanted.len() > PACKETS / 20, "{name}: only {} packets are sent", wanted.len());
        for (number, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            assert_eq!((wanted.0, &wanted.1), (found.port, &found.bytes), "{name}: packet {number} that is sent");
        }
        assert_eq!(wanted.len(), found.len(), "{name}");
        for (number, object) in map.objects.iter().enumerate() {
            let id = pipeline.extern_by_name(&object.name).unwrap();
            for index in 0..object.size.min(512) {
                let words = design.access(driver::read_object(number, index as u32), object.bits.div_ceil(32)).unwrap();
                let found = BigUint::from_slice(&words);
                let wanted = match object.kind {
                    "counter" => {
                        let count = interp.store.counter(id, index).unwrap();
                        (BigUint::from(count.packets) << 64) + count.bytes
                    }
                    _ => interp.store.register(id, index).unwrap(),
                };
                assert_eq!(wanted, found, "{name}: {}[{index}]", object.name);
            }
        }
        println!("{name}: {} packets agree, {} cycles", found.len(), design.cycles());
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
