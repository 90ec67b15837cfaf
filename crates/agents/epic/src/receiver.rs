//! A destination's receiver: which of the packets that arrive at a host are genuine, fresh and new.
//!
//! Each packet is checked in this order: its bytes are canonical, it is for this host, a key is known for its source, its
//! timestamp is fresh, its validation field is right, and it has not come before. Only what the source has authenticated is
//! remembered, so forged packets take no memory; each source AS has its share of the memory, and the whole is bounded. Packets of levels
//! 0 and 1 name no source for certain: they are checked for freshness only.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use crate::destination::{Arrived, Refused};
use crate::key::Key;
use crate::network::Endpoint;
use crate::packet::{Host, IsdAs, Level, Malformed, Packet};

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of seconds for which a packet is good.
    pub lifetime_s: u32,
    /// The number of seconds by which clocks may differ.
    pub skew_s: u32,
    /// The maximum number of fresh packets of one source AS that are remembered.
    pub remembered_by_as: usize,
    /// The maximum number of fresh packets that are remembered.
    pub remembered: usize,
}

impl Default for Settings {
    /// Times are those of the router's program.
    fn default() -> Settings {
        Settings { lifetime_s: 2, skew_s: 1, remembered_by_as: 65_536, remembered: 1_048_576 }
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It is no EPIC packet, or one of another version.
    Malformed,
    /// A field is not zero that must be.
    NotCanonical,
    /// It is for another host.
    Elsewhere,
    /// There is no key for its source.
    UnknownSource,
    /// It was sent too long ago.
    Stale,
    /// It was sent later than the clocks' difference explains.
    FromFuture,
    /// It is not what the source sent; at level 3 also, it did not take the path that it says.
    Validation,
    /// It has come before.
    Duplicate,
    /// Too many fresh packets of its source AS, or of all, are remembered to tell whether it has come before.
    TooMany,
}

impl Reason {
    /// A word for counters.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Malformed => "malformed",
            Reason::NotCanonical => "not_canonical",
            Reason::Elsewhere => "elsewhere",
            Reason::UnknownSource => "unknown_source",
            Reason::Stale => "stale",
            Reason::FromFuture => "from_future",
            Reason::Validation => "validation",
            Reason::Duplicate => "duplicate",
            Reason::TooMany => "too_many",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Malformed => "malformed",
            Reason::NotCanonical => "not canonical",
            Reason::Elsewhere => "for another host",
            Reason::UnknownSource => "from an unknown AS",
            Reason::Stale => "too old",
            Reason::FromFuture => "from the future",
            Reason::Validation => "the validation field is wrong",
            Reason::Duplicate => "a duplicate",
            Reason::TooMany => "too many packets of its source at a time",
        })
    }
}

/// What an accepted packet has proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Levels 0 and 1: nothing.
    Nothing,
    /// Level 2: its source and payload.
    Source,
    /// Level 3: its path, too.
    Path,
}

/// A packet for this host from a source with a key.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The packet.
    pub packet: Packet,
    /// The key between its source and this host.
    pub key: Key,
    /// What it proves, or why it was dropped.
    pub verdict: Result<Proof, Reason>,
}

/// The receiver of a host.
#[derive(Debug)]
pub struct Receiver {
    host: Endpoint,
    settings: Settings,
    seen: Seen,
    accepted: u64,
    dropped: BTreeMap<Reason, u64>,
}

impl Receiver {
    /// The receiver of this host.
    pub fn new(host: Endpoint, settings: Settings) -> Receiver {
        Receiver { host, settings, seen: Seen::default(), accepted: 0, dropped: BTreeMap::new() }
    }

    /// The number of accepted packets.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// The numbers of dropped packets by reason, where they are not zero.
    pub fn dropped(&self) -> &BTreeMap<Reason, u64> {
        &self.dropped
    }

    /// Checks a packet from its SCION common header on. `now_s`: seconds since 1970; a time before that of an earlier call counts as
    /// that. `key`: the key between a source and this host.
    ///
    /// # Errors
    /// The packet is not for this host, or nobody knows who sent it; it was dropped.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        now_s: u32,
        key: impl FnOnce(Endpoint) -> Option<Key>,
    ) -> Result<Arrival, Reason> {
        let found = self.attribute(bytes, key).map(|(arrived, key)| {
            let verdict = self.check(&arrived, &key, now_s);
            Arrival { packet: arrived.into_packet(), key, verdict }
        });
        match found.as_ref().map(|arrival| arrival.verdict) {
            Ok(Ok(_)) => self.accepted += 1,
            Ok(Err(reason)) | Err(&reason) => *self.dropped.entry(reason).or_default() += 1,
        }
        found
    }

    /// The packet, and the key between its source and this host.
    fn attribute<'a>(
        &self,
        bytes: &'a [u8],
        key: impl FnOnce(Endpoint) -> Option<Key>,
    ) -> Result<(Arrived<'a>, Key), Reason> {
        let arrived = Arrived::decode(bytes).map_err(|malformed| match malformed {
            Malformed::NotCanonical(_) => Reason::NotCanonical,
            _ => Reason::Malformed,
        })?;
        let packet = arrived.packet();
        if (packet.dst_ia, packet.dst) != self.host {
            return Err(Reason::Elsewhere);
        }
        let key = key((packet.src_ia, packet.src)).ok_or(Reason::UnknownSource)?;
        Ok((arrived, key))
    }

    fn check(&mut self, arrived: &Arrived<'_>, key: &Key, now_s: u32) -> Result<Proof, Reason> {
        let packet = arrived.packet();
        let now_s = self.seen.forget(now_s, &self.settings);
        let age = now_s.wrapping_add(self.settings.skew_s).wrapping_sub(packet.timestamp);
        if age > self.settings.longest_age() {
            return Err(if age >> 31 == 1 { Reason::FromFuture } else { Reason::Stale });
        }
        match arrived.check(key) {
            Err(Refused::Level) => return Ok(Proof::Nothing),
            Err(Refused::Validation) => return Err(Reason::Validation),
            Ok(()) => {}
        }
        self.seen.add(packet, &self.settings)?;
        Ok(if packet.level == Level::L3 { Proof::Path } else { Proof::Source })
    }
}

impl Settings {
    /// The largest difference between the latest time that another clock may show and a fresh packet's timestamp.
    fn longest_age(&self) -> u32 {
        self.lifetime_s.saturating_add(self.skew_s.saturating_mul(2))
    }
}

/// The fresh packets that have come, by the second of their timestamp and by source AS.
#[derive(Debug, Default)]
struct Seen {
    seconds: BTreeMap<u32, HashMap<IsdAs, HashSet<(Host, u32)>>>,
    by_as: HashMap<IsdAs, usize>,
    all: usize,
    latest_s: Option<u32>,
}

impl Seen {
    /// Forgets packets that are no longer fresh. Returns the latest time there was.
    fn forget(&mut self, now_s: u32, settings: &Settings) -> u32 {
        let now_s = match self.latest_s {
            Some(latest) if now_s.wrapping_sub(latest) >> 31 == 1 => latest,
            _ => now_s,
        };
        if self.latest_s.replace(now_s) == Some(now_s) {
            return now_s;
        }
        let latest = now_s.wrapping_add(settings.skew_s);
        for (_, gone) in self.seconds.extract_if(.., |second, _| latest.wrapping_sub(*second) > settings.longest_age())
        {
            for (ia, packets) in gone {
                self.all -= packets.len();
                if let Some(count) = self.by_as.get_mut(&ia) {
                    *count -= packets.len();
                }
            }
        }
        self.by_as.retain(|_, count| *count > 0);
        now_s
    }

    /// Remembers an authenticated packet.
    fn add(&mut self, packet: &Packet, settings: &Settings) -> Result<(), Reason> {
        let id = (packet.src, packet.counter);
        let known = self.seconds.get(&packet.timestamp).and_then(|ases| ases.get(&packet.src_ia));
        if known.is_some_and(|packets| packets.contains(&id)) {
            return Err(Reason::Duplicate);
        }
        let of_as = self.by_as.get(&packet.src_ia).copied().unwrap_or(0);
        if of_as >= settings.remembered_by_as || self.all >= settings.remembered {
            return Err(Reason::TooMany);
        }
        self.seconds.entry(packet.timestamp).or_default().entry(packet.src_ia).or_default().insert(id);
        self.by_as.insert(packet.src_ia, of_as + 1);
        self.all += 1;
        Ok(())
    }
}
