//! The floor of a benchmark: a hand-written loop that reads the headers a program decides by, as far as the packet has them,
//! computes the same number of AES blocks and writes eight bytes. No program that does a router's work can be faster.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hopwright_dataplane::Packet;
use hopwright_dataplane::externs::Aes128Key;

/// Offsets of headers in a border router's frames: IPv4 addresses, UDP ports, AS numbers, path, hop field.
const READ: [usize; 6] = [26, 34, 54, 62, 86, 98];

/// Nanoseconds per packet, the median of the passes.
pub(super) fn measure(packets: &mut [Packet], macs: u32, duration: Duration) -> f64 {
    let key = Aes128Key::new(&[7; 16]);
    let until = Instant::now() + duration;
    let mut passes = Vec::new();
    while passes.is_empty() || Instant::now() < until {
        let started = Instant::now();
        packets.iter_mut().for_each(|packet| touch(packet, &key, macs));
        passes.push(started.elapsed().as_nanos() as f64 / packets.len() as f64);
    }
    passes.sort_by(f64::total_cmp);
    passes[passes.len() / 2]
}

fn touch(packet: &mut Packet, key: &Aes128Key, macs: u32) {
    let bytes = packet.bytes_mut();
    let mut words = [0u64; READ.len()];
    for (word, at) in words.iter_mut().zip(READ) {
        let Some(found) = bytes.get(at..at + 8).and_then(|b| b.try_into().ok()) else { break };
        *word = u64::from_ne_bytes(found);
    }
    let mut sum = words.iter().fold(0, |sum, word| sum ^ word);
    for i in 0..u64::from(macs) {
        let block = u128::from(words[4] ^ i) << 64 | u128::from(words[5]);
        sum ^= (key.cmac_block(block) >> 64) as u64;
    }
    bytes[..8].copy_from_slice(&black_box(sum).to_ne_bytes());
}
