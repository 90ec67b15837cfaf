//! All BFD sessions of a router: creates and removes them as links change, finds the session of a received packet, and
//! runs their timers. No I/O: the caller receives, sends and passes the time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::frame::{self, Received};
use super::machine::State;
use super::packet::Control;
use super::session::{Cause, LinkChange, Saved, Session};
use super::spec::Spec;
use crate::config::keys::HopKey;
use crate::config::links::Link;
use crate::control::program::LOCAL_PORT;
use crate::packet::ia::IsdAs;
use crate::underlay::next_hop::NextHop;

/// How a session's packets reach the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The next hop of packets to the other end.
    pub next_hop: NextHop,
    /// Whether the other end is on the same link-layer network, so that its packets arrive through the same port.
    pub direct: bool,
}

/// The status of a session, for metrics and pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The session's link.
    pub link: Link,
    /// The AS at the other end.
    pub remote_ia: IsdAs,
    /// The other router's name if it is a sibling, otherwise the number of the interface.
    pub name: String,
    /// Its state.
    pub state: State,
    /// The length of the SCION packet around each of its packets, in bytes.
    pub packet_bytes: usize,
    /// Why and when it has gone down, if it is down and has been up.
    pub down: Option<(Cause, Instant)>,
    /// The session's counters.
    pub counts: Counts,
}

/// A session's counters since its creation. The first three exist in the reference, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of state changes.
    pub state_changes: u64,
    /// Packets passed on for sending.
    pub sent: u64,
    /// Valid packets received.
    pub received: u64,
    /// Packets from the link that were discarded.
    pub discarded: u64,
    /// Packets that were due but could not be sent: no next hop, or no room.
    pub unsent: u64,
}

impl Status {
    /// Whether the link can be used.
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }
}

/// A session as one process hands it over to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedSession {
    /// Its link.
    pub link: Link,
    /// The underlay address of this end.
    pub local: SocketAddr,
    /// That of the other end.
    pub remote: SocketAddr,
    /// Where it stands.
    pub saved: Saved,
}

#[derive(Debug)]
struct Entry {
    spec: Spec,
    session: Session,
    route: Option<Route>,
    /// The session's deadline in `deadlines`.
    due: Instant,
    counts: Counts,
}

/// All sessions of a router.
#[derive(Debug)]
pub struct Sessions {
    key: HopKey,
    by_link: BTreeMap<Link, Entry>,
    deadlines: BTreeSet<(Instant, Link)>,
    changes: Vec<(Link, LinkChange)>,
    /// Counts of BFD packets without a session, by ingress interface.
    strays: BTreeMap<u16, u64>,
    random: fn() -> u64,
}

impl Sessions {
    /// Creates an empty set. `key` is for hop-field MACs; `random` returns 64 unpredictable bits.
    pub fn new(key: HopKey, random: fn() -> u64) -> Sessions {
        Sessions {
            key,
            by_link: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            changes: Vec::new(),
            strays: BTreeMap::new(),
            random,
        }
    }

    /// Sets the key for hop-field MACs.
    pub fn set_key(&mut self, key: HopKey) {
        self.key = key;
    }

    /// Changes the set of sessions. The session of a link that stays continues, with new settings if they changed. It
    /// restarts if the link's addresses or ASes changed.
    pub fn configure(&mut self, wanted: Vec<Spec>, now: Instant) {
        let mut old = std::mem::take(&mut self.by_link);
        for spec in wanted {
            let kept = old.remove(&spec.link).filter(|entry| {
                let is = &entry.spec;
                (is.underlay, is.local_ia, is.remote_ia) == (spec.underlay, spec.local_ia, spec.remote_ia)
            });
            let entry = match kept {
                Some(mut entry) => {
                    entry.session.configure(spec.settings, now);
                    Entry { spec, ..entry }
                }
                None => {
                    let session = Session::new(spec.settings, self.discriminator(), (self.random)(), now);
                    Entry { spec, session, route: None, due: now, counts: Counts::default() }
                }
            };
            self.by_link.insert(entry.spec.link, entry);
        }
        // A link without a session counts as up, so its pending changes are obsolete.
        self.changes.retain(|(link, _)| self.by_link.contains_key(link));
        self.schedule();
    }

    /// The sessions, for a process that continues them.
    pub fn saved(&self) -> Vec<SavedSession> {
        let save = |(link, entry): (&Link, &Entry)| {
            let (local, remote) = (entry.spec.underlay.local, entry.spec.underlay.remote);
            SavedSession { link: *link, local, remote, saved: entry.session.saved() }
        };
        self.by_link.iter().map(save).collect()
    }

    /// Continues sessions of another process, those of links that exist here with the same addresses. The links' changes are not
    /// reported.
    pub fn resume(&mut self, saved: &[SavedSession], now: Instant) {
        for SavedSession { link, local, remote, saved } in saved {
            let Some(entry) = self.by_link.get_mut(link) else { continue };
            if (entry.spec.underlay.local, entry.spec.underlay.remote) != (*local, *remote) {
                continue;
            }
            if let Some(session) = Session::resumed(saved, entry.spec.settings, (self.random)(), now) {
                entry.session = session;
            }
        }
        self.schedule();
    }

    /// Sends the next packet of each session as soon as possible.
    pub fn announce(&mut self, now: Instant) {
        self.by_link.values_mut().for_each(|entry| entry.session.announce(now));
        self.schedule();
    }

    /// The shortest time after which another end takes this router for dead.
    pub fn patience(&self) -> Option<Duration> {
        self.by_link.values().filter_map(|entry| entry.session.patience()).min()
    }

    fn schedule(&mut self) {
        self.deadlines.clear();
        for (link, entry) in &mut self.by_link {
            entry.due = entry.session.deadline();
            self.deadlines.insert((entry.due, *link));
        }
    }

    /// Returns a discriminator that no session has.
    fn discriminator(&self) -> u32 {
        loop {
            let number = (self.random)() as u32;
            if number != 0 && self.by_link.values().all(|e| e.session.discriminator() != number) {
                return number;
            }
        }
    }

    /// Sets the route to a link's other end; `None` if its next hop is not resolved.
    pub fn set_route(&mut self, link: Link, route: Option<Route>) {
        if let Some(entry) = self.by_link.get_mut(&link) {
            entry.route = route;
        }
    }

    /// Whether a link can be used: its session is up, or it has none.
    pub fn is_up(&self, link: Link) -> bool {
        self.by_link.get(&link).is_none_or(|e| e.session.state() == State::Up)
    }

    /// Processes a frame that the program has classified as BFD, with its ingress port and interface (0 is the inside
    /// of the AS).
    pub fn receive(&mut self, port: u16, interface: u16, bytes: &[u8], now: Instant) {
        let Some(received) = frame::read(bytes) else {
            *self.strays.entry(interface).or_default() += 1;
            return;
        };
        let link = if interface == 0 { Link::Sibling(received.src) } else { Link::External(interface) };
        let Some(entry) = self.by_link.get_mut(&link) else {
            *self.strays.entry(interface).or_default() += 1;
            return;
        };
        let packet =
            if entry.is_from_other_end(port, &received) { Control::decode(received.payload).ok() } else { None };
        let Some(packet) = packet else {
            entry.counts.discarded += 1;
            return;
        };
        entry.counts.received += 1;
        let change = entry.session.receive(&packet, now);
        self.changes.extend(change.map(|c| (link, c)));
        self.deadlines.remove(&(entry.due, link));
        entry.due = entry.session.deadline();
        self.deadlines.insert((entry.due, link));
    }

    /// When [`Sessions::run`] must be called next; `None` if there are no sessions.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Runs the timers that are due. `send` takes a port and a frame and returns whether the frame was sent; `clock` is
    /// in seconds since 1970.
    pub fn run(&mut self, now: Instant, clock: u32, mut send: impl FnMut(u16, &[u8]) -> bool) {
        while let Some(&(due, link)) = self.deadlines.first() {
            if due > now {
                break;
            }
            self.deadlines.pop_first();
            let Some(entry) = self.by_link.get_mut(&link) else { continue };
            let (change, packet) = entry.session.poll(now);
            self.changes.extend(change.map(|c| (link, c)));
            if let Some(packet) = packet {
                let sent = entry.route.is_some_and(|Route { next_hop, .. }| {
                    send(next_hop.port, &frame::write(&entry.spec, &packet, &next_hop, &self.key, clock))
                });
                *(if sent { &mut entry.counts.sent } else { &mut entry.counts.unsent }) += 1;
            }
            entry.due = entry.session.deadline();
            self.deadlines.insert((entry.due, link));
        }
    }

    /// Whether [`Sessions::take_changes`] has changes.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns the links that went up or down since the last call, oldest first.
    pub fn take_changes(&mut self) -> Vec<(Link, LinkChange)> {
        std::mem::take(&mut self.changes)
    }

    /// The status of all sessions.
    pub fn status(&self) -> Vec<Status> {
        let status = |(link, entry): (&Link, &Entry)| Status {
            link: *link,
            remote_ia: entry.spec.remote_ia,
            name: entry.spec.name.clone(),
            state: entry.session.state(),
            packet_bytes: frame::packet_bytes(&entry.spec),
            down: entry.session.down(),
            counts: Counts { state_changes: entry.session.state_changes(), ..entry.counts },
        };
        self.by_link.iter().map(status).collect()
    }

    /// Counts of BFD packets that belonged to no session, by ingress interface; 0 is the inside of the AS.
    pub fn strays(&self) -> &BTreeMap<u16, u64> {
        &self.strays
    }
}

impl Entry {
    /// Whether a packet comes from the link's other end: it has the link's underlay addresses and, if the other end is
    /// on a directly connected network, arrived through the port to that network. Hosts on other links can forge any
    /// address.
    fn is_from_other_end(&self, port: u16, received: &Received<'_>) -> bool {
        // The kernel may have received its packets through any device that it accepts them from.
        let by_kernel = u32::from(port) == LOCAL_PORT;
        let raw = |route: Route| u32::from(route.next_hop.port) != LOCAL_PORT;
        let by_right_port =
            by_kernel || self.route.is_none_or(|route| !route.direct || !raw(route) || route.next_hop.port == port);
        let Spec { underlay, .. } = &self.spec;
        received.src == underlay.remote && received.dst == underlay.local && by_right_port
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::session::Settings;
    use super::*;
    use crate::config::topology::Underlay;

    const HERE: IsdAs = IsdAs(0x0001_ff00_0000_0001);
    const THERE: IsdAs = IsdAs(0x0001_ff00_0000_0003);
    const CLOCK: u32 = 1_790_000_000;

    fn random() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }

    fn spec(link: Link, local: &str, remote: &str) -> Spec {
        let ms = Duration::from_millis;
        Spec {
            link,
            underlay: Underlay { local: local.parse().unwrap(), remote: remote.parse().unwrap() },
            local_ia: HERE,
            remote_ia: if matches!(link, Link::External(_)) { THERE } else { HERE },
            name: "x".into(),
            settings: Settings { detect_mult: 3, desired_min_tx: ms(200), required_min_rx: ms(200) },
        }
    }

    fn external(id: u16) -> Spec {
        spec(Link::External(id), &format!("10.{id}.0.1:50000"), &format!("10.{id}.0.2:50000"))
    }

    fn sibling(number: u8) -> Spec {
        let address = format!("10.0.0.{number}:30042");
        spec(Link::Sibling(address.parse().unwrap()), "10.0.0.1:30042", &address)
    }

    fn route(port: u16) -> Option<Route> {
        Some(Route { next_hop: NextHop { port, dst_mac: [2; 6], src_mac: [4; 6], mtu: 1500 }, direct: true })
    }

    fn sessions(specs: Vec<Spec>, now: Instant) -> Sessions {
        let mut sessions = Sessions::new(HopKey::derive(b"k"), random);
        sessions.configure(specs, now);
        for link in sessions.by_link.keys().copied().collect::<Vec<_>>() {
            sessions.set_route(link, route(7));
        }
        sessions
    }

    /// Builds a frame from the other end of a link.
    fn frame_from(spec: &Spec, state: State) -> Vec<u8> {
        let Underlay { local, remote } = spec.underlay;
        let theirs = Spec {
            underlay: Underlay { local: remote, remote: local },
            local_ia: spec.remote_ia,
            remote_ia: spec.local_ia,
            ..spec.clone()
        };
        let packet = Control {
            state,
            detect_mult: 3,
            my_discriminator: 5,
            your_discriminator: 6,
            desired_min_tx_us: 200_000,
            required_min_rx_us: 200_000,
        };
        frame::write(&theirs, &packet, &route(7).unwrap().next_hop, &HopKey::derive(b"k"), CLOCK)
    }

    fn drain(sessions: &mut Sessions, now: Instant) -> Vec<(u16, Vec<u8>)> {
        let mut sent = vec![];
        sessions.run(now, CLOCK, |port, frame| {
            sent.push((port, frame.to_vec()));
            true
        });
        sent
    }

    fn counts(sessions: &Sessions, link: Link) -> Counts {
        sessions.status().into_iter().find(|s| s.link == link).unwrap().counts
    }

    #[test]
    fn packets_find_their_session_by_interface_or_sibling_address() {
        let now = Instant::now();
        let specs = vec![external(3), external(5), sibling(2), sibling(3)];
        let mut sessions = sessions(specs.clone(), now);
        assert_eq!(sessions.status().iter().filter(|s| s.is_up()).count(), 0);
        for (spec, interface) in specs.iter().zip([3, 5, 0, 0]) {
            sessions.receive(7, interface, &frame_from(spec, State::Init), now);
            assert_eq!(sessions.take_changes(), [(spec.link, LinkChange::Up)]);
            assert!(sessions.is_up(spec.link));
            assert_eq!(counts(&sessions, spec.link), Counts { state_changes: 1, received: 1, ..Counts::default() });
        }
        // The sessions answer at once, to the other end.
        let sent = drain(&mut sessions, now);
        assert_eq!(sent.len(), 4);
        for spec in &specs {
            let mine = |(_, frame): &&(u16, Vec<u8>)| frame::read(frame).unwrap().dst == spec.underlay.remote;
            let (port, frame) = sent.iter().find(mine).unwrap();
            let packet = Control::decode(frame::read(frame).unwrap().payload).unwrap();
            assert_eq!((*port, packet.state, packet.your_discriminator), (7, State::Up, 5));
        }
        assert!(sessions.strays().is_empty());
    }

    #[test]
    fn only_the_other_end_speaks_for_a_link() {
        let now = Instant::now();
        let mut sessions = sessions(vec![external(3), external(5), sibling(2)], now);
        sessions.receive(7, 3, &frame_from(&external(3), State::Init), now);
        assert!(sessions.is_up(Link::External(3)));
        sessions.take_changes();
        // The neighbour on link 5 and a host inside the AS try to take link 3 down: from their own links, and with its
        // addresses.
        sessions.receive(7, 5, &frame_from(&external(3), State::Down), now);
        sessions.receive(7, 0, &frame_from(&external(3), State::Down), now);
        sessions.receive(8, 3, &frame_from(&external(3), State::Down), now);
        let mut forged = frame_from(&external(3), State::Down);
        forged[14 + 20 + 1] ^= 1;
        sessions.receive(7, 3, &forged, now);
        sessions.receive(7, 3, &frame_from(&external(5), State::Down), now);
        // A host that is not a sibling.
        sessions.receive(7, 0, &frame_from(&sibling(9), State::Down), now);
        sessions.receive(7, 99, &frame_from(&external(3), State::Down), now);
        assert!(sessions.is_up(Link::External(3)));
        assert_eq!(sessions.take_changes(), []);
        assert_eq!(counts(&sessions, Link::External(3)).discarded, 2);
        assert_eq!(counts(&sessions, Link::External(5)).discarded, 1);
        assert_eq!(sessions.strays().values().sum::<u64>(), 4);
        // Packets through the kernel's sockets may arrive through any device, also if only sending uses them.
        let mut others = self::sessions(vec![external(3)], now);
        for (sent_by, port) in [(7, LOCAL_PORT as u16), (LOCAL_PORT as u16, 8)] {
            others.set_route(Link::External(3), route(sent_by));
            others.receive(port, 3, &frame_from(&external(3), State::Init), now);
            assert_eq!(counts(&others, Link::External(3)).discarded, 0);
        }
        // With another router in between, packets may arrive through any port.
        sessions.set_route(Link::External(3), route(7).map(|w| Route { direct: false, ..w }));
        sessions.receive(8, 3, &frame_from(&external(3), State::Down), now);
        assert_eq!(sessions.take_changes(), [(Link::External(3), LinkChange::Down(Cause::Told))]);
    }

    #[test]
    fn links_come_and_go_and_the_others_do_not_notice() {
        let start = Instant::now();
        let mut sessions = sessions(vec![external(3), external(5), sibling(2)], start);
        for (spec, interface) in [(external(3), 3), (external(5), 5), (sibling(2), 0)] {
            sessions.receive(7, interface, &frame_from(&spec, State::Init), start);
        }
        drain(&mut sessions, start);
        sessions.take_changes();
        let before = sessions.status();
        let slower = Settings { desired_min_tx: Duration::from_secs(1), ..external(3).settings };
        let moved = Spec {
            underlay: Underlay { remote: "10.5.0.9:1".parse().unwrap(), ..external(5).underlay },
            ..external(5)
        };
        let now = start + Duration::from_millis(100);
        let wanted = vec![Spec { settings: slower, ..external(3) }, moved, sibling(2), external(6)];
        sessions.configure(wanted, now);
        let after = sessions.status();
        let states: Vec<_> = after.iter().map(|s| (s.link, s.state)).collect();
        assert_eq!(
            states,
            [
                (Link::External(3), State::Up),
                (Link::External(5), State::Down),
                (Link::External(6), State::Down),
                (sibling(2).link, State::Up)
            ]
        );
        assert_eq!(after[0], before[0]);
        assert_eq!(after[3], before[2]);
        // The unchanged session keeps its deadline; the one with new settings announces them at once.
        let due: Vec<_> = sessions.by_link.values().map(|e| e.due).collect();
        assert_eq!(due[0], now);
        assert!(due[3] > now);
        sessions.configure(vec![], now);
        assert!(sessions.status().is_empty() && sessions.deadline().is_none());
        assert!(sessions.is_up(Link::External(3)), "without a session a link counts as up");
        assert_eq!(sessions.take_changes(), []);
        assert_eq!(drain(&mut sessions, now + Duration::from_secs(9)), []);
    }

    #[test]
    fn without_a_next_hop_nothing_is_sent_and_counted_so() {
        let start = Instant::now();
        let mut sessions = sessions(vec![external(3)], start);
        sessions.set_route(Link::External(3), None);
        let now = start + Duration::from_secs(1);
        assert_eq!(drain(&mut sessions, now), []);
        sessions.set_route(Link::External(3), route(2));
        let now = now + Duration::from_secs(1);
        assert_eq!(drain(&mut sessions, now).len(), 1);
        sessions.run(now + Duration::from_secs(1), CLOCK, |_, _| false);
        let counts = counts(&sessions, Link::External(3));
        assert_eq!((counts.sent, counts.unsent), (1, 2));
    }

    #[test]
    fn silence_takes_a_link_down() {
        let start = Instant::now();
        let mut sessions = sessions(vec![external(3)], start);
        sessions.receive(7, 3, &frame_from(&external(3), State::Init), start);
        sessions.take_changes();
        let mut now = start;
        while now < start + Duration::from_millis(599) {
            now = sessions.deadline().unwrap();
            drain(&mut sessions, now);
        }
        assert_eq!(
            sessions.take_changes(),
            [(Link::External(3), LinkChange::Down(Cause::Silence(Duration::from_millis(600))))]
        );
        assert_eq!(now, start + Duration::from_millis(600));
    }

    #[test]
    fn sessions_of_the_same_links_are_resumed() {
        let start = Instant::now();
        let mut old = sessions(vec![external(3), external(4), sibling(2)], start);
        for spec in [external(3), external(4)] {
            let Link::External(id) = spec.link else { unreachable!() };
            old.receive(7, id, &frame_from(&spec, State::Init), start);
        }
        let saved = old.saved();
        // The other end of a link has another address.
        let moved = spec(Link::External(4), "10.4.0.1:50000", "10.4.0.9:50000");
        let mut new = sessions(vec![external(3), moved, sibling(2), external(5)], start);
        new.resume(&saved, start);
        let up: Vec<bool> =
            [Link::External(3), Link::External(4), Link::External(5)].map(|link| new.is_up(link)).into();
        assert_eq!(up, [true, false, false]);
        assert_eq!(new.take_changes(), []);
        let number = |sessions: &Sessions, link| sessions.by_link[&link].session.discriminator();
        for link in [Link::External(3), sibling(2).link] {
            assert_eq!(number(&new, link), number(&old, link));
        }
        drain(&mut new, start);
        for link in [Link::External(3), sibling(2).link] {
            assert_eq!(counts(&new, link).sent, 1, "what is resumed sends at once");
        }
        assert_eq!(new.patience(), Some(Duration::from_millis(600)));
        // As its last word, what has not sent anything lately sends.
        let later = start + Duration::from_millis(20);
        new.announce(later);
        assert_eq!(drain(&mut new, later).len(), 4);
    }

    #[test]
    fn sessions_that_are_many_are_all_served() {
        let start = Instant::now();
        let many = (1..=250).map(external).collect();
        let mut sessions = sessions(many, start);
        let mut now = start;
        while now < start + Duration::from_secs(5) {
            now = sessions.deadline().unwrap();
            drain(&mut sessions, now);
        }
        for status in sessions.status() {
            assert!((5..=8).contains(&status.counts.sent), "{status:?}");
        }
        let numbers: BTreeSet<u32> = sessions.by_link.values().map(|e| e.session.discriminator()).collect();
        assert_eq!(numbers.len(), 250);
    }
}
