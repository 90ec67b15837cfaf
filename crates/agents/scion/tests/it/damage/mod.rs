//! Random SCION packets of which some are cut off or have a wrong byte.

use hopwright_scion::synthetic::Traffic;

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
