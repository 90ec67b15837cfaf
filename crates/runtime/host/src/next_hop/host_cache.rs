//! Which hosts have table entries of their own.
//!
//! Packets to any other host take the fallback next hop, so no host depends on an entry. A host that the fallback sends
//! several packets to is promoted: it gets an entry and is reached through a port from then on. When the table is full,
//! promotions evict random entries at a limited rate: an attacker that makes up addresses can cost others the faster
//! path for a moment, never their packets.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::{FallbackReason, Network, NotAdded, Resolver, Target};

/// Packets by the fallback between two calls that make a host worth an entry.
const SEVERAL: u32 = 4;
/// Time between two calls of [`HostCache::learn`].
const INTERVAL: Duration = Duration::from_millis(100);
/// Hosts considered by one call, those with most packets first.
const CONSIDERED: usize = 512;
/// Entries evicted by one call.
const EVICTED: usize = 64;
/// Remembered hosts that only the fallback reaches.
const DECLINED: usize = 4096;

/// The hosts with entries, and statistics about them.
#[derive(Debug)]
pub struct HostCache {
    limit: usize,
    /// Hosts that only the fallback reaches, as routes and devices are.
    declined: HashSet<IpAddr>,
    next_call: Option<Instant>,
    /// The limit was reached and logged.
    logged: bool,
    random: u64,
    promotions: u64,
    evictions: u64,
}

impl HostCache {
    /// A cache for at most `limit` hosts at a time.
    pub fn new(limit: usize) -> HostCache {
        HostCache {
            limit,
            declined: HashSet::new(),
            next_call: None,
            logged: false,
            random: getrandom::u64().unwrap_or(1) | 1,
            promotions: 0,
            evictions: 0,
        }
    }

    /// Forgets which hosts were declined, because routes or devices have changed.
    pub fn reconsider(&mut self) {
        self.declined.clear();
    }

    /// Whether it is time for [`HostCache::learn`].
    pub fn is_due(&mut self, now: Instant) -> bool {
        let due = self.next_call.is_none_or(|at| now >= at);
        if due {
            self.next_call = Some(now + INTERVAL);
        }
        due
    }

    /// Promotes hosts among `destinations`: addresses, and how many packets the fallback has sent to each since the last
    /// call. Returns the devices without port that routes to such hosts lead to.
    pub fn learn<L: Copy + Ord>(
        &mut self,
        mut destinations: Vec<(IpAddr, u32)>,
        source: IpAddr,
        resolver: &mut Resolver<L>,
        network: &mut impl Network,
        now: Instant,
    ) -> BTreeSet<u32> {
        let candidate = |host: IpAddr| {
            host.is_ipv4() == source.is_ipv4()
                && !self.declined.contains(&host)
                && !resolver.contains(Target::Host(host))
        };
        destinations.retain(|(host, packets)| *packets >= SEVERAL && candidate(*host));
        destinations.sort_unstable_by_key(|(_, packets)| std::cmp::Reverse(*packets));
        let mut devices = BTreeSet::new();
        let mut evictions = 0;
        for (host, _) in destinations.into_iter().take(CONSIDERED) {
            if resolver.hosts().len() >= self.limit {
                if !self.logged {
                    self.logged = true;
                    tracing::warn!(
                        event = "hosts-full",
                        limit = self.limit,
                        "more hosts are in use than have entries: entries are evicted at random, and hosts without \
                         entry are reached by the kernel's UDP sockets"
                    );
                }
                if evictions == EVICTED {
                    break;
                }
            }
            match resolver.add_host(host, source, network, now) {
                Ok(()) => {
                    self.promotions += 1;
                    if resolver.hosts().len() > self.limit {
                        evictions += 1;
                        self.evict(resolver);
                    }
                }
                Err(NotAdded::Unresolved) => {}
                Err(NotAdded::Fallback(why)) => {
                    if let FallbackReason::Device(device) = why {
                        devices.insert(device);
                    }
                    if self.declined.len() >= DECLINED {
                        self.declined.clear();
                    }
                    self.declined.insert(host);
                }
            }
        }
        devices
    }

    /// Gives suspended hosts their entries back; see [`Resolver::resume_hosts`].
    pub fn resume<L: Copy + Ord>(&self, resolver: &mut Resolver<L>, network: &mut impl Network, now: Instant) {
        resolver.resume_hosts(self.limit, network, now);
    }

    fn evict<L: Copy + Ord>(&mut self, resolver: &mut Resolver<L>) {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let count = resolver.hosts().len() as u64;
        if let Some(place) = self.random.checked_rem(count)
            && let Some(host) = resolver.hosts().get(place as usize).copied()
        {
            resolver.forget(host);
            self.evictions += 1;
        }
    }

    /// Entries, promotions and evictions so far.
    pub fn counts<L: Copy + Ord>(&self, resolver: &Resolver<L>) -> HostCounts {
        HostCounts { entries: resolver.hosts().len(), promotions: self.promotions, evictions: self.evictions }
    }
}

/// Counts of entries for hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Hosts that have an entry.
    pub entries: usize,
    /// Hosts that got one.
    pub promotions: u64,
    /// Hosts that lost theirs to others.
    pub evictions: u64,
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::Ipv4Addr;

    use super::*;
    use crate::netlink::{Neighbour, Route};
    use crate::next_hop::{DevicePort, NextHop};

    /// Routes everything by one gateway, except hosts whose last byte is odd: their device has no port.
    struct Gateway;

    impl Network for Gateway {
        fn route(&mut self, destination: IpAddr, _source: IpAddr) -> Route {
            let odd = matches!(destination, IpAddr::V4(ip) if ip.to_bits() % 2 == 1);
            Route::Via { device: if odd { 8 } else { 7 }, next_hop: Ipv4Addr::new(10, 0, 0, 254).into(), mtu: None }
        }

        fn neighbour(&self, _device: u32, _address: IpAddr) -> Option<Neighbour> {
            Some(Neighbour::Known { mac: [9; 6], fresh: true })
        }

        fn probe(&mut self, _device: u32, _address: IpAddr) -> io::Result<()> {
            Ok(())
        }
    }

    fn host(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a09_0000 + 2 * n))
    }

    struct Setting(HostCache, Resolver<u16>);

    impl Setting {
        fn new(limit: usize) -> Setting {
            Setting(
                HostCache::new(limit),
                Resolver::new(
                    [(7, DevicePort { number: 3, mac: [2; 6], mtu: 1500, carrier: true })].into(),
                    NextHop::default(),
                ),
            )
        }

        fn learn(&mut self, destinations: &[(IpAddr, u32)]) -> BTreeSet<u32> {
            let own = Ipv4Addr::new(10, 0, 0, 1).into();
            self.0.learn(destinations.to_vec(), own, &mut self.1, &mut Gateway, Instant::now())
        }

        fn knows(&self, host: IpAddr) -> bool {
            self.1.contains(Target::Host(host))
        }
    }

    #[test]
    fn hosts_in_use_are_promoted() {
        let mut setting = Setting::new(10);
        let odd = IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9));
        let devices = setting.learn(&[(host(1), 1), (host(2), SEVERAL), (odd, 100), ("fd00::1".parse().unwrap(), 100)]);
        assert_eq!(devices, [8].into());
        assert_eq!(setting.1.hosts(), [host(2)]);
        // Asked once, until routes or devices change.
        assert!(setting.learn(&[(odd, 100)]).is_empty());
        setting.0.reconsider();
        assert_eq!(setting.learn(&[(odd, 100)]), [8].into());
        let counts = setting.0.counts(&setting.1);
        assert_eq!(counts, HostCounts { entries: 1, promotions: 1, evictions: 0 });
    }

    /// Whoever makes addresses up cannot keep real hosts out, nor buy unlimited work.
    #[test]
    fn nobody_locks_others_out() {
        let limit = 200;
        let mut setting = Setting::new(limit);
        let made_up = |round: u32| (0..1000).map(move |n| (host(1000 * round + n), SEVERAL));
        for round in 0..5 {
            setting.learn(&made_up(round).collect::<Vec<_>>());
            assert!(setting.1.hosts().len() <= limit, "the bound holds");
        }
        let evictions = setting.0.counts(&setting.1).evictions;
        assert!(evictions <= 5 * EVICTED as u64, "work is bounded: {evictions}");
        // A real host sends more than each of them.
        let real = host(1_000_000);
        let mut rounds = 0;
        while !setting.knows(real) {
            rounds += 1;
            assert!(rounds < 10, "the real host gets its entry");
            let destinations: Vec<_> = made_up(5 + rounds).chain([(real, 50)]).collect();
            setting.learn(&destinations);
        }
    }
}
