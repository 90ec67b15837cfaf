//! A slow path by another router: punted packets go unmodified into TAP devices in a network namespace, where the
//! reference router serves the same topology. What that router sends leaves by the real devices unmodified.
//!
//! Each device of the router has a TAP device of the same name and Ethernet address there. The namespace's kernel
//! resolves neighbours itself: its requests are forwarded like everything else, and the replies, which the host's
//! kernel receives, are copied to it. The state of a link is read from the other router's BFD packets.

mod namespace;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use hopwright_dataplane::Injector;
use hopwright_dataplane::wait::PollSet;
use hopwright_ports::DeviceError;
use hopwright_ports::{Filter, FrameSocket, Tap};

use crate::config::links::{LinkEnd, Links, Target};
use crate::packet::BFD;
use crate::scmp::view::{Underlay, word};
use hopwright_host::metrics::CounterFamily;
use hopwright_host::namespace::{Namespace, NamespaceError};
use hopwright_host::netlink::Device;

pub use namespace::script;

/// Frames taken from one device before the next has its turn.
const BURST: usize = 256;
/// Bytes of the longest answer about a neighbour.
const LONGEST_ANSWER: usize = 1514;
/// A session's state `Up` (RFC 5880, section 4.1).
const BFD_UP: u8 = 3;

/// The TAP devices of a router, and the state of links learnt from them.
#[derive(Debug)]
pub struct Taps {
    /// By port of the switch.
    devices: BTreeMap<u16, Pair>,
    /// Links that the other router has a BFD session on that is not up.
    down: BTreeSet<Target>,
    counts: Counts,
}

/// The two sockets of a device's mirror.
#[derive(Debug)]
struct Pair {
    tap: Tap,
    answers: FrameSocket,
}

/// Why the slow path cannot be by TAP devices.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum TapError {
    #[error("hopwright.slow_path: {0}; `hopwright scion slow-path` says how to set it up")]
    Namespace(#[from] NamespaceError),
    #[error("hopwright.slow_path: namespace {namespace}: {source}; `hopwright scion slow-path` says how to set it up")]
    Device { namespace: String, source: DeviceError },
    #[error(
        "hopwright.slow_path: namespace {namespace}: no TAP device {device} with the Ethernet address of the device \
         here; `hopwright scion slow-path` says how to set it up"
    )]
    Address { namespace: String, device: String },
}

/// What has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    handed_over: u64,
    sent: u64,
    refused: u64,
    lost: u64,
}

impl Counts {
    fn all(&self) -> [(&'static str, u64); 4] {
        [("handed_over", self.handed_over), ("sent", self.sent), ("refused", self.refused), ("lost", self.lost)]
    }
}

/// What a frame from the other side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Question or answer about a neighbour.
    Neighbour,
    /// UDP from an address of the router.
    Router,
    /// The same, with a BFD packet between these addresses, and whether its sender's session is up.
    Bfd(SocketAddr, SocketAddr, bool),
    /// What a kernel sends by itself.
    Other,
}

impl Taps {
    /// Attaches to the TAP devices in a namespace of `/run/netns`. `ports` are the switch's port numbers of devices,
    /// by the kernel's number. Needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW.
    pub fn open(namespace: &str, ports: &HashMap<u32, u16>, devices: &BTreeMap<u32, Device>) -> Result<Taps, TapError> {
        let inside = Namespace::open(namespace)?;
        let failed = |source| TapError::Device { namespace: namespace.into(), source };
        let mut pairs = BTreeMap::new();
        for (index, port) in ports {
            let Some(device) = devices.get(index) else { continue };
            let tap = inside.run(|| Tap::open(&device.name))?.map_err(failed)?;
            if tap.mac() != device.mac {
                // It was just made.
                return Err(TapError::Address { namespace: namespace.into(), device: device.name.clone() });
            }
            let answers = FrameSocket::open(&device.name, &Filter::neighbour_answers(), LONGEST_ANSWER);
            pairs.insert(*port, Pair { tap, answers: answers.map_err(failed)? });
        }
        Ok(Taps { devices: pairs, down: BTreeSet::new(), counts: Counts::default() })
    }

    /// Adds what to wait for.
    pub fn add_to(&self, poll: &mut PollSet) {
        for pair in self.devices.values() {
            poll.add(pair.tap.fd());
            poll.add(pair.answers.fd());
        }
    }

    /// Whether packets of a port can be handed over. Packets of processes on this machine come by a port without a device.
    pub fn have(&self, port: u16) -> bool {
        self.devices.contains_key(&port)
    }

    /// Gives a frame, as it came in by a port, to the other router.
    pub fn hand_over(&mut self, port: u16, frame: &[u8]) {
        match self.devices.get(&port).map(|pair| pair.tap.deliver(frame)) {
            Some(Ok(())) => self.counts.handed_over += 1,
            _ => self.counts.lost += 1,
        }
    }

    /// Moves pending frames. Returns the links that have gone up or down. A TAP device that is gone is given up:
    /// forwarding goes on without it.
    pub fn exchange(&mut self, injector: &Injector, links: &Links) -> Vec<Target> {
        let mut changed = Vec::new();
        let mut gone = Vec::new();
        let Taps { devices, down, counts } = self;
        for (port, Pair { tap, answers }) in devices {
            for _ in 0..BURST {
                let Some(frame) = answers.next_frame() else { break };
                // It may be down.
                let _ = tap.deliver(frame);
            }
            for _ in 0..BURST {
                let frame = match tap.next_frame() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::error!(
                            event = "tap-lost", port, %error,
                            "TAP device lost: its packets are not answered"
                        );
                        gone.push(*port);
                        break;
                    }
                };
                match kind(frame, links) {
                    Kind::Other => {
                        counts.refused += 1;
                        continue;
                    }
                    Kind::Bfd(from, to, up) => {
                        if let Some(target) = link_between(links, from, to)
                            && up == down.contains(&target)
                        {
                            if up {
                                down.remove(&target)
                            } else {
                                down.insert(target)
                            };
                            changed.push(target);
                        }
                    }
                    Kind::Neighbour | Kind::Router => {}
                }
                match injector.transmit((*port).into(), frame) {
                    Ok(()) => counts.sent += 1,
                    Err(_) => counts.lost += 1,
                }
            }
        }
        self.devices.retain(|port, _| !gone.contains(port));
        changed
    }

    /// The other router has a BFD session on this link that is not up.
    pub fn is_down(&self, target: Target) -> bool {
        self.down.contains(&target)
    }

    /// The counts by their names.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        self.counts.all().map(|(name, n)| (name.to_string(), n)).into()
    }

    /// The counts as metrics.
    pub fn families(&self) -> Vec<CounterFamily> {
        vec![CounterFamily {
            name: "hopwright_slow_path_frames_total",
            help: "Frames handed over to the other router, sent by it, refused because they were not the router's, and lost.",
            label: "what",
            values: self.counts.all().map(|(name, n)| (name.to_string(), n)).into(),
        }]
    }
}

/// The link that a BFD session between these addresses is about.
fn link_between(links: &Links, from: SocketAddr, to: SocketAddr) -> Option<Target> {
    let external = links.external.iter().find(|e| e.underlay.local == from && e.underlay.remote == to);
    let sibling = || links.siblings.iter().find(|s| from == links.internal && s.address == to);
    external
        .map(|e| Target::Link(LinkEnd::External(e.id)))
        .or_else(|| sibling().map(|s| Target::Link(LinkEnd::Sibling(s.number))))
}

fn kind(frame: &[u8], links: &Links) -> Kind {
    let neighbour = match word(frame, 12) {
        Some(0x0806) => true,
        // ICMPv6 neighbour solicitation and advertisement.
        Some(0x86dd) => frame.get(20) == Some(&58) && matches!(frame.get(54), Some(135 | 136)),
        _ => false,
    };
    if neighbour {
        return Kind::Neighbour;
    }
    let own = |a: SocketAddr| a == links.internal || links.external.iter().any(|e| e.underlay.local == a);
    let Some(underlay) = Underlay::parse(frame).filter(|u| own(u.src)) else { return Kind::Other };
    match bfd_state(underlay.payload()) {
        Some(state) => Kind::Bfd(underlay.src, underlay.dst, state == BFD_UP),
        None => Kind::Router,
    }
}

/// The sender's state of the session, of a SCION packet that is a BFD packet: over an empty or a one-hop path.
fn bfd_state(scion: &[u8]) -> Option<u8> {
    let is_bfd = *scion.get(4)? == BFD && matches!(*scion.get(8)?, 0 | 2);
    let bfd = scion.get(4 * usize::from(*scion.get(5)?)..)?;
    bfd.get(1).filter(|_| is_bfd).map(|b| b >> 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::ia::IsdAs;
    use crate::packet::{Frame, Hop, Host, Info, Path, Scion, UDP};
    use crate::synthetic::rich_links;

    fn frame(path: Path, next_hdr: u8, payload: Vec<u8>) -> Frame {
        let address = |text: &str| text.parse().unwrap();
        Frame {
            dst_mac: [2; 6],
            src_mac: [4; 6],
            src: address("10.2.0.1:50000"),
            dst: address("10.2.0.2:50001"),
            ttl: 64,
            tos: 0,
            udp_checksum: true,
            scion: Scion {
                traffic_class: 0,
                flow_id: 1,
                dst_ia: IsdAs(1),
                src_ia: IsdAs(2),
                dst: Host::Ip(address("10.2.0.2:1").ip()),
                src: Host::Ip(address("10.2.0.1:1").ip()),
                path,
                extensions: vec![],
                next_hdr,
                payload,
                extra_words: 0,
            },
        }
    }

    fn one_hop() -> Path {
        let info = Info { peering: false, cons_dir: true, seg_id: 1, timestamp: 1 };
        Path::OneHop(info, Hop::new(0, 2), Hop::default())
    }

    fn bfd(state: u8) -> Vec<u8> {
        [vec![0x20, state << 6, 3, 24], vec![0; 20]].concat()
    }

    #[test]
    fn what_may_go_out() {
        let links = rich_links(false);
        let of = |f: &[u8]| kind(f, &links);
        let udp = frame(one_hop(), UDP, vec![0; 20]);
        assert_eq!(of(&udp.pack()), Kind::Router);
        let mut stranger = udp.clone();
        stranger.src.set_port(50001);
        assert_eq!(of(&stranger.pack()), Kind::Other);
        let ethernet = |ether_type: u16| [&[0; 12][..], &ether_type.to_be_bytes()].concat();
        assert_eq!(of(&[ethernet(0x0806), vec![0; 28]].concat()), Kind::Neighbour);
        let icmp = |number: u8| [ethernet(0x86dd), vec![0; 6], vec![58], vec![0; 33], vec![number; 8]].concat();
        assert_eq!(of(&icmp(135)), Kind::Neighbour);
        assert_eq!(of(&icmp(136)), Kind::Neighbour);
        // Router solicitation.
        assert_eq!(of(&icmp(133)), Kind::Other);
        for length in 0..udp.pack().len() {
            of(&udp.pack()[..length]);
        }
    }

    #[test]
    fn bfd_says_whether_a_link_is_up() {
        let links = rich_links(false);
        for (path, state) in [(one_hop(), 1), (one_hop(), 3), (Path::Empty, 2), (Path::Empty, 3)] {
            let f = frame(path, BFD, bfd(state));
            assert_eq!(kind(&f.pack(), &links), Kind::Bfd(f.src, f.dst, state == 3));
        }
        assert_eq!(kind(&frame(one_hop(), BFD, vec![0x20]).pack(), &links), Kind::Router);

        let external = &links.external[1];
        let (from, to) = (external.underlay.local, external.underlay.remote);
        assert_eq!(link_between(&links, from, to), Some(Target::Link(LinkEnd::External(external.id))));
        assert_eq!(link_between(&links, to, from), None);
        let sibling = &links.siblings[0];
        assert_eq!(
            link_between(&links, links.internal, sibling.address),
            Some(Target::Link(LinkEnd::Sibling(sibling.number)))
        );
    }
}
