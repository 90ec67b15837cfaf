//! Route notifications of the kernel.

use std::net::IpAddr;

use hopwright_host::netlink::{Changes, Kernel};

/// Any bytes are datagrams of a kernel, each behind its length in two bytes: links, neighbours, next-hop objects and routes come and go, every prefix that changed is
/// as long as its address at most, has no bits behind its length, and is found by its own address unless it is gone.
/// Returns how many prefixes changed.
pub fn netlink(mut data: &[u8]) -> usize {
    let mut kernel = Kernel::following_routes();
    let mut count = 0;
    while let Some(([a, b], rest)) = data.split_first_chunk() {
        let (datagram, rest) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([*a, *b]))));
        let mut changes = Changes::default();
        kernel.take_up(datagram, &mut changes);
        let Some(routes) = kernel.routes() else { break };
        for prefix in changes.routes {
            let bits = if matches!(prefix.address, IpAddr::V4(_)) { 32 } else { 128 };
            assert!(prefix.length <= bits && prefix.range().0 == prefix.address, "{prefix:?}");
            if let Some(forwarding) = routes.get(prefix) {
                let (found, _) = routes.lookup(prefix.address).unwrap_or_else(|| panic!("{prefix:?} is not found"));
                // The local table comes first, also with a shorter prefix.
                let is_best = found.length >= prefix.length || routes.is_local(found);
                assert!(is_best && found.contains(prefix.address), "{found:?}");
                assert!(forwarding.next_hops.len() <= 1024);
            }
            count += 1;
        }
        assert!(routes.len() <= count);
        data = rest;
    }
    count
}
