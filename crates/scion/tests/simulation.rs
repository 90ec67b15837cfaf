//! The verilated program agrees with the interpreter on random SCION packets, whole, changed and cut off, with gaps and
//! back-pressure at random: bytes, ports, counters.
//!
//! Needs verilator 5 and a C++ compiler: `make unit`.

mod damage;

use std::sync::Arc;

use damage::Damaged;
use hopwright_dataplane::{EngineKind, ExternTypes, VirtualDataPlane};
use hopwright_ir::TableId;
use hopwright_ir::interp::Interp;
use hopwright_rtl::simulation::{self, Simulation};
use hopwright_rtl::{Target, compile, driver};
use hopwright_scion::control::program;
use hopwright_scion::synthetic::{self, rich_hosts, rich_links};

const NOW: u32 = 1_790_000_000;
const COUNTERS: [&str; 5] = ["reasons", "link_in", "link_out", "link_reasons", "link_dropped"];

fn agrees(target: &str, v6: bool, packets: usize, seed: Option<u64>) {
    let target = Target::by_name(target).unwrap();
    let pipeline = Arc::new(program::compile(true).pipeline.expect("the program compiles"));
    let hardware = compile(&pipeline, &target).unwrap_or_else(|refusals| {
        let reports: Vec<String> = refusals.iter().map(|r| r.report(&pipeline.sources)).collect();
        panic!("{}", reports.join("\n"))
    });
    println!("{} stages", hardware.schedule.stages);
    let map = &hardware.verilog.map;
    let program = simulation::build(&hardware, &simulation::cache(), &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut design = Simulation::start(&program, seed).unwrap();
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    synthetic::program(&vdp, &rich_links(v6), &rich_hosts(v6)).unwrap();
    let registry = ExternTypes::standard().for_interpreter();
    let mut interp = Interp::with_store(pipeline.clone(), &registry, damage::store(&pipeline, vdp.control())).unwrap();
    let key = pipeline.extern_by_name("hop_key").unwrap();
    interp.named_extern(key).unwrap().control("key/0", synthetic::key().bytes()).unwrap();
    let mut writes = driver::set_key(map, &pipeline[key].name, 0, synthetic::key().bytes());
    for table in (0..pipeline.tables.len() as u32).map(TableId) {
        let control = &vdp.control()[table];
        writes.extend(driver::load(&pipeline, map, table, &control.entries(), &control.default_action()).unwrap());
    }
    for (address, data) in writes.iter().flat_map(|write| write.bus(map)) {
        design.write(address, data).unwrap();
    }
    let mut traffic = Damaged::new(seed.unwrap_or(7), v6, NOW);
    let mut wanted = Vec::new();
    for number in 0..packets {
        let (port, bytes) = traffic.next_frame();
        if bytes.is_empty() {
            continue;
        }
        let now = u64::from(NOW) * 1_000_000 + number as u64;
        design.send(port, now, &bytes).unwrap();
        let output = interp.process(&bytes, port, now);
        wanted.extend(output.sent.into_iter().map(|sent| (bytes.clone(), sent.port, sent.bytes)));
    }
    let found = design.settle().unwrap();
    for (number, ((packet, port, bytes), found)) in wanted.iter().zip(&found).enumerate() {
        assert_eq!((*port, bytes), (found.port, &found.bytes), "packet {number} that is sent, from {packet:02x?}");
    }
    assert_eq!(wanted.len(), found.len());
    for name in COUNTERS {
        let id = pipeline.extern_by_name(name).unwrap();
        let full = &pipeline[id].name;
        let number = map.objects.iter().position(|object| object.name == *full).unwrap();
        for index in 0..(if name == "reasons" { 128 } else { 4096 }) {
            let cell = design.access(driver::read_object(number, index as u32), 4).unwrap();
            let wanted = interp.store.counter(id, index).unwrap();
            let half = |at: usize| u64::from(cell[at]) | u64::from(cell[at + 1]) << 32;
            assert_eq!((wanted.packets, wanted.bytes), (half(2), half(0)), "{name}[{index}]");
        }
    }
    println!("{packets} packets, {} sent, {} cycles", found.len(), design.cycles());
}

#[test]
#[ignore = "needs verilator"]
fn ipv4_inside() {
    agrees("ecp5-85-512", false, 4000, None);
}

#[test]
#[ignore = "needs verilator"]
fn ipv6_inside_under_pressure() {
    agrees("ecp5-85-512", true, 4000, Some(3));
}
