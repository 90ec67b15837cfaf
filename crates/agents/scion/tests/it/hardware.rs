//! The program as hardware agrees with the interpreter on random SCION packets, whole, changed and cut off: bytes, ports,
//! parser errors and the counters of reasons and links.

use std::sync::Arc;

use crate::damage::Damaged;
use crate::{ROUTER, pipeline};
use hopwright_dataplane::{Control, EngineKind, ExternTypes};
use hopwright_interp::{Interp, LinearStore};
use hopwright_ir::{Pipeline, TableId};
use hopwright_rtl::{Evaluator, convert};
use hopwright_scion::control::program::Reason;
use hopwright_scion::synthetic::{self, rich_hosts, rich_links};

const NOW: u32 = 1_790_000_000;
/// More than the routers here have links for: cells that are looked at.
const CELLS: u64 = 16 << 10;
const COUNTERS: [&str; 5] = ["reasons", "link_in", "link_out", "link_reasons", "link_dropped"];

/// A store with the entries of a data plane.
fn store(pipeline: &Arc<Pipeline>, control: &Control) -> LinearStore {
    let mut store = LinearStore::new(pipeline).unwrap();
    for table in (0..pipeline.tables.len() as u32).map(TableId) {
        let default = control[table].default_action();
        if default != pipeline[table].default_action {
            store.set_default(table, Some(default)).unwrap();
        }
        for entry in control[table].entries() {
            store.insert(table, entry).unwrap();
        }
    }
    store
}

fn compare(seed: u64, v6: bool, packets: usize) {
    let pipeline = pipeline();
    let vdp = ROUTER.data_plane(EngineKind::Interp);
    synthetic::program(&vdp, &rich_links(v6), &rich_hosts(v6)).unwrap();
    let design = Arc::new(convert(&pipeline).expect("hardware can run the program"));
    let registry = ExternTypes::standard().for_interpreter();
    let store = || store(&pipeline, vdp.control());
    let mut interp = Interp::with_store(pipeline.clone(), &registry, store()).unwrap();
    let mut hardware = Evaluator::with_store(pipeline.clone(), design, &registry, store()).unwrap();
    let key = pipeline.extern_by_name("hop_key").unwrap();
    interp.named_extern(key).unwrap().control("key/0", synthetic::key().bytes()).unwrap();
    hardware.named_extern(key).unwrap().control("key/0", synthetic::key().bytes()).unwrap();
    let mut traffic = Damaged::new(seed, v6, NOW);
    for number in 0..packets {
        let (port, bytes) = traffic.next_frame();
        let now = u64::from(NOW) * 1_000_000 + number as u64;
        let (wanted, found) = (interp.process(&bytes, port, now), hardware.process(&bytes, port, now));
        assert_eq!(wanted, found, "seed {seed}, packet {number} at port {port}: {bytes:02x?}");
    }
    for counter in COUNTERS {
        let id = pipeline.extern_by_name(counter).unwrap();
        for index in 0..CELLS {
            let (wanted, found) = (interp.store.counter(id, index), hardware.store.counter(id, index));
            assert_eq!(wanted.ok(), found.ok(), "{counter}[{index}]");
        }
    }
    // The traffic is worth the comparison.
    let reasons = pipeline.extern_by_name("reasons").unwrap();
    let mut count = |reason: Reason| interp.store.counter(reasons, reason as u64).unwrap().packets as usize;
    let forwarded = count(Reason::None);
    assert!(forwarded > packets / 10, "{forwarded} packets are forwarded");
    let seen = Reason::ALL.iter().filter(|reason| count(**reason) > 0).count();
    assert!(seen > 30, "{seen} reasons");
}

#[test]
fn ipv4_inside() {
    compare(1, false, 8000);
}

#[test]
fn ipv6_inside() {
    compare(2, true, 8000);
}
