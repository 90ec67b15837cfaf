//! Counts packets by destination address. One worker writes, another thread empties the table, and neither waits.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SLOTS: usize = 4096;
/// The number of slots in which an address may be.
const NEIGHBOURS: usize = 4;

/// One destination. While `count` is 0, the writer owns the slot and may change the address. The reader only resets the
/// count to 0.
#[derive(Debug, Default)]
struct Slot {
    count: AtomicU32,
    /// The address's big-endian words; IPv4 addresses are IPv6-mapped.
    address: [AtomicU64; 2],
}

/// A table of destinations and packet counts.
#[derive(Debug)]
pub(super) struct Destinations {
    slots: Box<[Slot]>,
    /// Whether anything has been added since the reader last looked.
    any: AtomicU32,
}

impl Destinations {
    pub(super) fn new() -> Destinations {
        Destinations { slots: (0..SLOTS).map(|_| Slot::default()).collect(), any: AtomicU32::new(0) }
    }

    /// Counts a packet. Called by one thread only. Addresses that find no free slot are not counted.
    #[inline]
    pub(super) fn add(&self, address: IpAddr) {
        let bits = match address {
            IpAddr::V4(a) => u128::from(a.to_ipv6_mapped()),
            IpAddr::V6(a) => u128::from(a),
        };
        let words = [(bits >> 64) as u64, bits as u64];
        let hash = (words[0].rotate_left(29) ^ words[1]).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let candidates = (0..NEIGHBOURS).map(|i| &self.slots[(hash as usize + i) % SLOTS]);
        let mut free = None;
        for slot in candidates {
            let used = slot.count.load(Ordering::Acquire) > 0;
            // A slot in use may already have this address.
            if used && slot.address.each_ref().map(|word| word.load(Ordering::Relaxed)) == words {
                slot.count.fetch_add(1, Ordering::Release);
                self.any.store(1, Ordering::Release);
                return;
            }
            if !used && free.is_none() {
                free = Some(slot);
            }
        }
        let Some(slot) = free else { return };
        for (to, from) in slot.address.iter().zip(words) {
            to.store(from, Ordering::Relaxed);
        }
        slot.count.store(1, Ordering::Release);
        self.any.store(1, Ordering::Release);
    }

    /// Appends all counts to `into` and resets them. Called by one thread at a time.
    pub(super) fn take(&self, into: &mut Vec<(IpAddr, u32)>) {
        if self.any.swap(0, Ordering::AcqRel) == 0 {
            return;
        }
        for slot in &self.slots {
            if slot.count.load(Ordering::Acquire) == 0 {
                continue;
            }
            // The address does not change while the count is not 0.
            let [high, low] = slot.address.each_ref().map(|word| word.load(Ordering::Relaxed));
            let count = slot.count.swap(0, Ordering::AcqRel);
            let address = std::net::Ipv6Addr::from(u128::from(high) << 64 | u128::from(low));
            into.push((address.to_canonical(), count));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn counts_each_destination_once() {
        let table = Destinations::new();
        let mut got = Vec::new();
        table.take(&mut got);
        assert!(got.is_empty());
        let (a, b): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap());
        for _ in 0..3 {
            for _ in 0..5 {
                table.add(a);
            }
            table.add(b);
            table.take(&mut got);
            let taken: HashMap<_, _> = got.drain(..).collect();
            assert_eq!(taken, HashMap::from([(a, 5), (b, 1)]));
        }
        table.take(&mut got);
        assert!(got.is_empty());
    }

    #[test]
    fn a_flood_of_destinations_takes_no_more_than_there_is() {
        let table = Destinations::new();
        for i in 0..100_000u32 {
            table.add(IpAddr::from(i.to_be_bytes()));
        }
        let mut got = Vec::new();
        table.take(&mut got);
        assert!((SLOTS / 2..=SLOTS).contains(&got.len()), "{}", got.len());
        table.add("10.0.0.1".parse().unwrap());
        got.clear();
        table.take(&mut got);
        assert_eq!(got, [("10.0.0.1".parse().unwrap(), 1)]);
    }

    #[test]
    fn nothing_is_lost_while_both_work() {
        let table = Destinations::new();
        let rounds = 200_000u32;
        let addresses: Vec<IpAddr> = (0..16u8).map(|i| IpAddr::from([10, 0, 0, i])).collect();
        let mut total: HashMap<IpAddr, u64> = HashMap::new();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for i in 0..rounds {
                    table.add(addresses[i as usize % addresses.len()]);
                }
            });
            let mut got = Vec::new();
            loop {
                let done = writer.is_finished();
                table.take(&mut got);
                for (address, count) in got.drain(..) {
                    *total.entry(address).or_default() += u64::from(count);
                }
                if done {
                    break;
                }
            }
        });
        assert_eq!(total.len(), addresses.len());
        assert_eq!(total.values().sum::<u64>(), u64::from(rounds));
    }
}
