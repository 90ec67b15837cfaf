//! Verilated designs agree with the interpreter: bytes, ports, counters and registers, with gaps and back-pressure at random.
//!
//! Needs verilator 5 and a C++ compiler: `cargo test -p hopwright-rtl --test simulation -- --ignored`.

mod harness;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use harness::*;
use hopwright_ir::interp::{Interp, Store};
use hopwright_ir::{Pipeline, TableId};
use hopwright_rtl::{Target, compile as to_hardware, driver};
use hopwright_stf::script;

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
    let folder =
        std::env::temp_dir().join(format!("hopwright-rtl-{}-{}-{}", std::process::id(), pipeline.name, target.name));
    std::fs::create_dir_all(&folder).unwrap();
    let (top, core) =
        (folder.join(format!("{}.sv", pipeline.name)), folder.join(format!("{}_pipeline.sv", pipeline.name)));
    std::fs::write(&top, &hardware.verilog.top).unwrap();
    std::fs::write(&core, &hardware.verilog.pipeline).unwrap();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("verilator")
        .args([
            "--cc",
            "--exe",
            "--build",
            "-Wall",
            "-Wno-WIDTHCONCAT",
            "-sv",
            "--prefix",
            "Vdut",
            "-O3",
            "-CFLAGS",
            "-O1",
        ])
        .args(["--x-assign", "unique", "--x-initial", "unique", "--top-module", &pipeline.name, "-o", "dut"])
        .arg("-y")
        .arg(manifest.join("lib"))
        .arg("-Mdir")
        .arg(folder.join("build"))
        .arg(root().join("tests/rtl/waivers.vlt"))
        .args([&top, &core])
        .arg(manifest.join("tests/simulation/main.cpp"))
        .output()
        .expect("verilator is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (hardware, folder.join("build/dut"))
}

/// Runs commands; returns the lines that the simulation prints.
fn simulate(dut: &Path, commands: &str, seed: Option<u64>) -> Vec<String> {
    let mut child = Command::new(dut)
        .args(seed.map(|s| s.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the simulation starts");
    let mut input = child.stdin.take().unwrap();
    let text = commands.to_string();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

/// Compares a design with the interpreter on packets of a test.
fn agrees(mut pipeline: Pipeline, script: &str, target: &Target) {
    pipeline.tables.iter_mut().for_each(|table| table.size = table.size.min(256));
    let pipeline = Arc::new(pipeline);
    let script = hopwright_stf::parse("script", script).unwrap();
    let (hardware, dut) = verilate(&pipeline, target);
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
        let mut commands = String::new();
        for table in (0..pipeline.tables.len() as u32).map(TableId) {
            let entries: Vec<_> = interp.store.entries(table).map(|(entry, _)| entry.clone()).collect();
            let default = interp.store.default_action(table);
            for write in driver::load(&pipeline, map, table, &entries, &default).unwrap() {
                for (address, data) in write.bus(map) {
                    writeln!(commands, "b {address:x} {data:x}").unwrap();
                }
            }
        }
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + seed.unwrap_or(0));
        let mut wanted = Vec::new();
        for _ in 0..PACKETS {
            let (port, bytes) = mutated(&mut random, &bases);
            let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
            writeln!(commands, "p {port:x} {}", hex(&bytes)).unwrap();
            for sent in interp.process(&bytes, port, 0).sent {
                wanted.push(format!("o {:x} {}", sent.port, hex(&sent.bytes)));
            }
        }
        assert!(wanted.len() > PACKETS / 20, "{}: only {} packets are sent", pipeline.name, wanted.len());
        for (number, object) in map.objects.iter().enumerate() {
            let id = pipeline.extern_by_name(&object.name).unwrap();
            for index in 0..object.size.min(512) {
                let (address, request) = driver::read_object(number, index as u32);
                writeln!(commands, "r {address:x} {request:x} {:x}", object.bits.div_ceil(32)).unwrap();
                wanted.push(match object.kind {
                    "counter" => {
                        let count = interp.store.counter(id, index).unwrap();
                        let (p, b) = (count.packets, count.bytes);
                        format!("a {:x} {:x} {:x} {:x}", b as u32, b >> 32, p as u32, p >> 32)
                    }
                    _ => {
                        let digits = interp.store.register(id, index).unwrap().to_u32_digits();
                        let words = (0..object.bits.div_ceil(32) as usize).map(|i| digits.get(i).copied().unwrap_or(0));
                        words.fold("a".to_string(), |text, word| format!("{text} {word:x}"))
                    }
                });
            }
        }
        let found = simulate(&dut, &commands, seed);
        let differs = wanted.iter().zip(&found).position(|(a, b)| a != b);
        if let Some(at) = differs.or((wanted.len() != found.len()).then_some(wanted.len().min(found.len()))) {
            let (w, f) = (wanted.get(at), found.get(at));
            panic!(
                "{} {} seed {seed:?}, line {at}\ninterpreter: {w:?}\nsimulation:  {f:?}",
                pipeline.name, target.name
            );
        }
        println!("{} {} seed {seed:?}: {} lines agree", pipeline.name, target.name, found.len());
    }
    std::fs::remove_dir_all(dut.parent().unwrap().parent().unwrap()).unwrap();
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
