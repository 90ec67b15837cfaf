//! Random SCION packets of which some are cut off or have a wrong byte, and the state of a router for them.

use std::sync::Arc;

use hopwright_dataplane::Control;
use hopwright_ir::interp::LinearStore;
use hopwright_ir::{Pipeline, TableId};
use hopwright_scion::synthetic::Traffic;

/// A store with the entries of a data plane.
pub(crate) fn store(pipeline: &Arc<Pipeline>, control: &Control) -> LinearStore {
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

/// Packets of which every eighth is cut off, and every eighth has a wrong byte.
pub(crate) struct Damaged {
    traffic: Traffic,
    random: u64,
    number: u64,
}

impl Damaged {
    pub(crate) fn new(seed: u64, v6: bool, now_s: u32) -> Damaged {
        Damaged { traffic: Traffic::new(seed, v6, now_s), random: seed, number: 0 }
    }

    pub(crate) fn next_frame(&mut self) -> (u16, Vec<u8>) {
        let (port, mut bytes) = self.traffic.next_frame();
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (self.random >> 33) as usize % bytes.len().max(1);
        self.number += 1;
        match self.number % 8 {
            6 => bytes.truncate(at),
            7 if !bytes.is_empty() => bytes[at] ^= (self.random >> 24) as u8,
            _ => {}
        }
        (port, bytes)
    }
}
