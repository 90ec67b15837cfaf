//! Answers punted packets: SCMP errors, traceroute, and packets that the program could not complete.
//!
//! [`answer()`] is a pure function of the packet and the router's configuration; [`SlowPath`] adds rate limits and
//! counters. Types, codes, pointers, quotes and the order of checks are those of the reference router
//! (`router/dataplane.go`). The program keeps the same order.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use crate::config::Authentication;
use crate::config::keys::{HopKey, Keys};
use crate::config::links::{INTERNAL_INDEX, Links};
use crate::control::program::{PacketIn, Reason};
use crate::status::metrics::SlowPathDrops;
use crate::stun;
use hopwright_host::metrics::CounterFamily;

mod answer;
mod drkey;
pub(crate) mod limit;
mod message;
mod path;
mod spao;
pub(crate) mod view;

pub use answer::{Outcome, Router, Silence, answer};
pub use drkey::ScmpKeys;
pub use limit::Limit;
pub use message::Kind;

/// How to answer punted packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `features.experimental_scmp_authentication`.
    pub authenticate: bool,
    /// The keys to authenticate with.
    pub authentication: Authentication,
    /// `[scmp]` of `hopwright.toml`.
    pub limit: Limit,
}

/// Answers punted packets within the rate limits, and counts them.
#[derive(Debug)]
pub struct SlowPath {
    settings: Settings,
    scmp_keys: Option<ScmpKeys>,
    secret_value: Option<HopKey>,
    limiter: limit::Limiter,
    stun: stun::Limiter,
    counts: Counts,
    drops: SlowPathDrops,
}

/// The counters of the slow path since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// SCMP messages sent, by type and code.
    pub sent: BTreeMap<Kind, u64>,
    /// Answers to STUN binding requests.
    pub stun: u64,
    /// Packets sent back because they requested an answer in a way that the router does not understand.
    pub bounced: u64,
    /// Packets completed and passed to the program again, by the reason they were punted for.
    pub resumed: BTreeMap<Reason, u64>,
    /// Packets beyond the rate limit, by the reason they were punted for.
    pub limited: BTreeMap<Reason, u64>,
    /// Packets that were not answered, by the reason why.
    pub silent: BTreeMap<Silence, u64>,
    /// Frames for which the data plane had no room.
    pub not_sent: u64,
}

impl Counts {
    /// Returns all counters as families of metrics.
    pub fn families(&self) -> Vec<CounterFamily> {
        let family = |name, help, label, values| CounterFamily { name, help, label, values };
        let by_reason = |counts: &BTreeMap<Reason, u64>| counts.iter().map(|(r, n)| (r.label(), *n)).collect();
        let sent = self.sent.iter().map(|(kind, n)| (kind.label(), *n)).collect();
        let silent = self.silent.iter().map(|(silence, n)| (silence.label().to_string(), *n)).collect();
        let others = [("stun", self.stun), ("bounced", self.bounced), ("not_sent", self.not_sent)]
            .map(|(name, n)| (name.to_string(), n));
        vec![
            family("hopwright_scmp_sent_packets_total", "SCMP messages sent, by type and code.", "type", sent),
            family(
                "hopwright_slow_path_resumed_packets_total",
                "Packets completed and passed to the program again.",
                "reason",
                by_reason(&self.resumed),
            ),
            family(
                "hopwright_slow_path_limited_packets_total",
                "Packets not answered because of the rate limit.",
                "reason",
                by_reason(&self.limited),
            ),
            family("hopwright_slow_path_silent_packets_total", "Packets that get no answer.", "why", silent),
            family(
                "hopwright_slow_path_other_packets_total",
                "Answers to STUN requests, packets sent back as they came, and packets that the data plane had no room for.",
                "what",
                others.to_vec(),
            ),
        ]
    }

    /// Returns all counters that are not zero by name, such as `sent_parameter_problem_51` or `limited_path_expired`.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let sent = self.sent.iter().map(|(kind, n)| (format!("sent_{}", kind.label()), *n));
        let resumed = self.resumed.iter().map(|(reason, n)| (format!("resumed_{}", reason.label()), *n));
        let limited = self.limited.iter().map(|(reason, n)| (format!("limited_{}", reason.label()), *n));
        let silent = self.silent.iter().map(|(silence, n)| (format!("silent_{}", silence.label()), *n));
        let others = [("stun", self.stun), ("bounced", self.bounced), ("not_sent", self.not_sent)]
            .map(|(name, n)| (name.to_string(), n));
        sent.chain(resumed).chain(limited).chain(silent).chain(others).filter(|(_, n)| *n > 0).collect()
    }
}

/// Returns the link that a frame to the other end of the ingress link leaves by, as the index of its counters, and the
/// length of its SCION packet in bytes.
pub fn egress_link(frame: &[u8], ingress: u16, links: &Links) -> Option<(u16, usize)> {
    let underlay = view::Underlay::parse(frame)?;
    Some((index(links, ingress, Some(underlay.dst)), underlay.payload().len()))
}

/// Whether the program has counted a punted packet as received from a link. The program does not know the link of
/// packets with IP options and of fragments.
fn is_counted(header: &PacketIn) -> bool {
    header.reason != Reason::IpOptions as u8
}

/// Returns the link that a punted frame arrived by, as the index of its counters, and the length of its SCION packet in
/// bytes, or 0 if it contains none.
fn ingress_link(frame: &[u8], ingress: u16, links: &Links) -> (u16, usize) {
    let underlay = view::Underlay::parse(frame);
    (index(links, ingress, underlay.map(|u| u.src)), underlay.map_or(0, |u| u.payload().len()))
}

/// Returns the counter index of an interface. For interface 0, it is that of the link inside the AS to `peer`.
fn index(links: &Links, interface: u16, peer: Option<SocketAddr>) -> u16 {
    let external = links.interface(interface).map(|e| e.index);
    let sibling = || links.siblings.iter().find(|s| Some(s.address) == peer).map(|s| s.index);
    external.or_else(sibling).unwrap_or(INTERNAL_INDEX)
}

/// The keys of the reference router, if it authenticates.
fn zero_keys(settings: Settings) -> Option<ScmpKeys> {
    (settings.authentication == Authentication::Reference && settings.authenticate).then_some(ScmpKeys::zero())
}

impl SlowPath {
    /// Creates a slow path with all counters zero. DRKeys need [`SlowPath::set_keys`].
    pub fn new(settings: Settings) -> SlowPath {
        SlowPath {
            settings,
            scmp_keys: zero_keys(settings),
            secret_value: None,
            limiter: limit::Limiter::new(settings.limit),
            stun: stun::Limiter::new(),
            counts: Counts::default(),
            drops: SlowPathDrops::default(),
        }
    }

    /// Changes the settings. Counters are kept. [`SlowPath::set_keys`] must follow.
    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
        self.scmp_keys = zero_keys(settings);
        self.limiter.set(settings.limit);
    }

    /// Sets the AS's keys. `now_us` is in microseconds since 1970.
    pub fn set_keys(&mut self, keys: &Keys, now_us: u64) {
        self.secret_value = Some(keys.secret_values[0].clone());
        if self.settings.authentication == Authentication::Drkey {
            self.scmp_keys = Some(ScmpKeys::derived(keys.master.clone(), now_us));
        }
    }

    /// Whether packets punted for this reason are answered by this module.
    pub fn takes(reason: Reason) -> bool {
        answer::is_ours(reason)
    }

    /// Returns what to do about a punted packet, within the rate limit. `now_us` is in microseconds since 1970;
    /// `has_route` says whether there is a route to the first address from the second. The outcome is counted as done;
    /// [`SlowPath::not_sent`] corrects that if it was not.
    pub fn handle(
        &mut self,
        punted: &[u8],
        header: &PacketIn,
        links: &Links,
        (now, now_us): (Instant, u64),
        has_route: impl FnOnce(IpAddr, IpAddr) -> bool,
    ) -> Outcome {
        let Some(reason) = Reason::from_number(header.reason).filter(|r| SlowPath::takes(*r)) else {
            return Outcome::Drop(Silence::NotOurs);
        };
        let source = || view::Underlay::parse(punted).map(|underlay| underlay.src.ip());
        let own_share = |stun: &mut stun::Limiter| source().is_none_or(|source| stun.admit(source, now));
        if (reason == Reason::Stun && !own_share(&mut self.stun))
            || !self.limiter.admit(header.reason, header.ingress, now)
        {
            *self.counts.limited.entry(reason).or_default() += 1;
            if is_counted(header) {
                let (link, bytes) = ingress_link(punted, header.ingress, links);
                self.drops.busy(link, bytes);
            }
            return Outcome::Drop(Silence::Limited);
        }
        if let Some(keys) = &mut self.scmp_keys {
            keys.refresh(now_us);
        }
        let router = Router { links, keys: self.scmp_keys.as_ref(), secret_value: self.secret_value.as_ref() };
        let mut outcome = answer(punted, header, &router, now_us);
        // Only hosts inside the AS need the route; the other end of a link is where the packet came from.
        if let (Outcome::Reply(_, frame) | Outcome::Bounce(frame) | Outcome::Stun(frame), 0) =
            (&outcome, header.ingress)
            && !view::Underlay::parse(frame).is_some_and(|back| has_route(back.dst.ip(), back.src.ip()))
        {
            outcome = Outcome::Drop(Silence::NoReturnPath);
        }
        match &outcome {
            Outcome::Reply(kind, _) => *self.counts.sent.entry(*kind).or_default() += 1,
            Outcome::Stun(_) => self.counts.stun += 1,
            Outcome::Bounce(_) => self.counts.bounced += 1,
            Outcome::Process { .. } => *self.counts.resumed.entry(reason).or_default() += 1,
            Outcome::Drop(silence) => {
                *self.counts.silent.entry(*silence).or_default() += 1;
                if is_counted(header) {
                    let (link, bytes) = ingress_link(punted, header.ingress, links);
                    self.drops.invalid(link, bytes, 1);
                }
            }
        }
        outcome
    }

    /// Counts a frame from [`SlowPath::handle`] that the data plane did not accept.
    pub fn not_sent(&mut self, frame: &[u8], header: &PacketIn, links: &Links) {
        self.counts.not_sent += 1;
        if is_counted(header) {
            let (link, bytes) = ingress_link(frame, header.ingress, links);
            self.drops.busy(link, bytes);
        }
    }

    /// The punted packets that were dropped, by link.
    pub fn drops(&self) -> &SlowPathDrops {
        &self.drops
    }

    /// The counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::rich_links;

    #[test]
    fn limits_and_counts() {
        let limit = Limit { rate: 1, burst: 2 };
        let mut slow_path = SlowPath::new(Settings { limit, ..Settings::default() });
        let links = rich_links(false);
        let header = |reason: Reason, ingress| PacketIn {
            reason: reason as u8,
            at_next_hop: false,
            port: 4,
            ingress,
            egress: 0,
            next_hop: None,
        };
        let now = Instant::now();
        let mut handle =
            |reason, ingress| slow_path.handle(b"no frame", &header(reason, ingress), &links, (now, 0), |_, _| true);
        for _ in 0..2 {
            assert_eq!(handle(Reason::PathExpired, 4), Outcome::Drop(Silence::Malformed));
        }
        assert_eq!(handle(Reason::PathExpired, 4), Outcome::Drop(Silence::Limited));
        assert_eq!(handle(Reason::PathExpired, 5), Outcome::Drop(Silence::Malformed));
        for reason in [Reason::Bfd, Reason::NextHopUnresolved, Reason::Malformed] {
            assert_eq!(handle(reason, 4), Outcome::Drop(Silence::NotOurs));
        }
        slow_path.not_sent(b"no frame", &header(Reason::PathExpired, 4), &links);
        let drops = slow_path.drops().of(links.interface(4).unwrap().index);
        assert_eq!((drops.invalid[0], drops.busy[0]), (2, 2));

        let named = slow_path.counts().by_name();
        let wanted = [("limited_path_expired", 1), ("not_sent", 1), ("silent_malformed", 3)];
        assert_eq!(named, wanted.map(|(name, n)| (name.to_string(), n)).into());
    }

    /// A traceroute reply is authenticated if and only if the request was.
    #[test]
    fn authenticated_traceroute() {
        use crate::packet::ia::IsdAs;
        use crate::packet::{END_TO_END, Envelope, Hop, Host, Info, Path, SCMP, Scion, ScionPath, Segment};

        let now_us = 1_790_000_000_000_000;
        let alert = Hop { ingress_alert: true, ..Hop::new(4, 2) };
        let info = Info { peering: false, cons_dir: true, seg_id: 1, timestamp: 1_790_000_000 };
        let hops = vec![Hop::new(0, 9), alert, Hop::new(1, 0)];
        let host = |text: &str| Host::Ip(text.parse().unwrap());
        // As sent by a host, which has the key that our AS can derive.
        let mut extension = spao::extension(now_us - 60_000_000);
        extension[5] = 1;
        let scion = Scion {
            traffic_class: 0,
            flow_id: 1,
            dst_ia: IsdAs(0x0001_ff00_0000_0777),
            src_ia: IsdAs(0x0001_ff00_0000_0778),
            dst: host("10.9.0.1"),
            src: host("fd00::9"),
            path: Path::Scion(ScionPath::at(1, vec![Segment { info, hops }])),
            extensions: vec![(END_TO_END, extension)],
            next_hdr: SCMP,
            payload: [&[130, 0, 0, 0, 0x12, 0x34, 0, 7][..], &[0; 16]].concat(),
            extra_words: 0,
        };
        let links = rich_links(false);
        let underlay = links.external[3].underlay;
        let envelope = Envelope {
            dst_mac: [2; 6],
            src_mac: [4; 6],
            src: underlay.remote,
            dst: underlay.local,
            ttl: 64,
            tos: 0,
            udp_checksum: true,
        };
        let header = PacketIn {
            reason: Reason::IngressAlert as u8,
            at_next_hop: false,
            port: 4,
            ingress: 4,
            egress: 0,
            next_hop: None,
        };
        let zero = ScmpKeys::zero();
        let extensions = |packet: &[u8], authenticate: bool, now_us| {
            let router = Router { links: &links, keys: authenticate.then_some(&zero), secret_value: None };
            let Outcome::Reply(kind, frame) = answer(&envelope.around(packet), &header, &router, now_us) else {
                panic!("no reply")
            };
            assert_eq!((kind.scmp_type, kind.code), (131, 0));
            let reply = &frame[42..];
            let view = view::View::parse(reply).unwrap();
            if view.end_to_end.is_some() {
                assert!(spao::is_authentic(reply, &view, &zero, now_us));
            }
            view.end_to_end.is_some()
        };
        let mut signed = scion.pack();
        spao::sign(&mut signed, &zero, now_us).unwrap();
        assert!(extensions(&signed, true, now_us));
        assert!(!extensions(&signed, false, now_us));
        assert!(!extensions(&signed, true, now_us + 100_000_000));
        assert!(!extensions(&scion.pack(), true, now_us));
        let last = signed.len() - 17;
        signed[last] ^= 1;
        assert!(!extensions(&signed, true, now_us));
    }
}
