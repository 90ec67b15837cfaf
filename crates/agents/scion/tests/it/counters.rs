//! What the program counts, read as traffic: links, kinds, size classes, bytes and reasons, on both engines.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::ROUTER;
use hopwright_dataplane::{Count, EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_scion::config::links::{INTERNAL_INDEX, Links};
use hopwright_scion::control::program::{CPU_PORT, PacketIn, PacketOut, Reason};
use hopwright_scion::packet::{internet_checksum, udp_checksum};
use hopwright_scion::scmp::{Outcome, Settings, Silence, SlowPath};
use hopwright_scion::status::metrics::{KINDS, LinkTraffic, OwnPackets, SIZE_CLASSES, size_class};
use hopwright_scion::synthetic::{self, CASES, brload_hosts, brload_links};

const NOW: u32 = 1_700_000_000;
/// Ethernet, IPv4 and UDP.
const IN_FRONT: usize = 14 + 20 + 8;
/// Frames of several size classes.
const SIZES: [usize; 4] = [172, 512, 1066, 1500];

struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
    links: Links,
    slow_path: SlowPath,
    answered: u64,
}

impl Router {
    fn new(kind: EngineKind) -> Router {
        let vdp = ROUTER.data_plane(kind);
        let links = brload_links();
        synthetic::program(&vdp, &links, &brload_hosts()).unwrap();
        Router {
            executor: Executor::new(vdp.clone()),
            vdp,
            pool: Pool::new(8, FrameSize::JUMBO).unwrap(),
            links,
            slow_path: SlowPath::new(Settings::default()),
            answered: 0,
        }
    }

    fn process(&mut self, port: u32, frame: &[u8]) {
        let mut packet = self.pool.take_filled(frame).unwrap();
        packet.set_ingress_port(port);
        self.executor.process_batch(std::slice::from_mut(&mut packet), u64::from(NOW) * 1_000_000);
        let punted = (packet.verdict() == Verdict::Forward && packet.egress_port() == CPU_PORT).then(|| {
            let (header, frame) = PacketIn::split(packet.bytes()).unwrap();
            (header, frame.to_vec())
        });
        self.pool.give(packet);
        if let Some((header, frame)) = punted {
            self.slow_path(header, &frame);
        }
    }

    /// What the agent does.
    fn slow_path(&mut self, header: PacketIn, frame: &[u8]) {
        let now = (Instant::now(), u64::from(NOW) * 1_000_000);
        match self.slow_path.handle(frame, &header, &self.links, now, |_, _| true) {
            Outcome::Reply(..) | Outcome::Bounce(_) | Outcome::Stun(_) => self.answered += 1,
            Outcome::Process { frame, l4_port } => {
                self.process(CPU_PORT, &PacketOut::resume(&header, l4_port).before(&frame));
            }
            Outcome::Drop(_) => {}
        }
    }

    /// The traffic of all links, and what the slow path has dropped.
    fn all(&self) -> (Vec<LinkTraffic>, u64) {
        let siblings = self.links.siblings.iter().map(|s| s.index);
        let external = self.links.external.iter().map(|e| e.index);
        let indices: Vec<u16> = external.chain(siblings).chain([INTERNAL_INDEX]).collect();
        let drops = indices.iter().map(|index| self.slow_path.drops().of(*index));
        let dropped = drops.map(|d| d.invalid.iter().chain(&d.busy).sum::<u64>()).sum();
        (indices.iter().map(|index| self.traffic(*index)).collect(), dropped)
    }

    fn traffic(&self, index: u16) -> LinkTraffic {
        LinkTraffic::read(&self.vdp, index, false, &OwnPackets::default()).unwrap()
    }

    /// The sum over all links of what was sent, by kind and size class, where there is something.
    fn output(&self) -> BTreeMap<(&'static str, &'static str), Count> {
        let siblings = self.links.siblings.iter().map(|s| s.index);
        let links = self.links.external.iter().map(|e| e.index).chain(siblings).chain([INTERNAL_INDEX]);
        let mut sum = BTreeMap::<_, Count>::new();
        for traffic in links.map(|index| self.traffic(index)) {
            for (kind, by_size) in KINDS.iter().zip(&traffic.output) {
                for (class, count) in SIZE_CLASSES.iter().zip(by_size).filter(|(_, c)| c.packets > 0) {
                    let total = sum.entry((*kind, *class)).or_default();
                    total.packets += count.packets;
                    total.bytes += count.bytes;
                }
            }
        }
        sum
    }
}

#[test]
fn every_kind_and_size() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let mut wanted = BTreeMap::<_, Count>::new();
        for case in CASES {
            for size in SIZES {
                router.process(case.ingress_port.into(), &case.frame(size, 1, NOW).unwrap());
                let scion = size - IN_FRONT;
                let count = wanted.entry((case.name, SIZE_CLASSES[size_class(scion)])).or_default();
                count.packets += 1;
                count.bytes += scion as u64;
            }
        }
        assert_eq!(router.output(), wanted, "{engine:?}");
    }
}

#[test]
fn what_comes_in_once_is_counted_once() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let case = CASES.iter().find(|c| c.name == "br_transit").unwrap();
        let frame = case.frame(512, 1, NOW).unwrap();
        router.process(case.ingress_port.into(), &frame);
        // The agent gives it to the program again.
        router.process(CPU_PORT, &PacketOut::process(case.ingress_port).before(&frame));
        let input: u64 = (0..4).flat_map(|link| router.traffic(link).input).map(|c| c.packets).sum();
        assert_eq!(input, 1, "{engine:?}");
        let bytes = 2 * (512 - IN_FRONT) as u64;
        assert_eq!(
            router.output(),
            BTreeMap::from([(("br_transit", "256_511"), Count { packets: 2, bytes })]),
            "{engine:?}"
        );
    }
}

#[test]
fn refusals_by_link_and_reason() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let case = CASES.iter().find(|c| c.name == "br_transit").unwrap();
        let mut frame = case.frame(512, 1, NOW).unwrap();
        // Behind the underlay: the path type.
        frame[IN_FRONT + 8] = 99;
        router.process(case.ingress_port.into(), &frame);
        let index = router.links.external.iter().find(|e| e.id == 2).unwrap().index;
        let traffic = router.traffic(index);
        assert_eq!(traffic.refused, [(Reason::UnsupportedPathType, 1)], "{engine:?}");
        let class = size_class(512 - IN_FRONT);
        assert_eq!(traffic.dropped[class], 1, "{engine:?}");
        assert_eq!(traffic.input[class], Count { packets: 1, bytes: (512 - IN_FRONT) as u64 }, "{engine:?}");
        assert_eq!(router.output(), BTreeMap::new(), "{engine:?}");
    }
}

/// IPv4 and UDP checksums of a frame as they should be.
fn with_checksums(mut frame: Vec<u8>) -> Vec<u8> {
    let header = usize::from(frame[14] & 15) * 4;
    frame[24..26].fill(0);
    let checksum = internet_checksum(&frame[14..14 + header]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    let addresses = [26, 30].map(|at| IpAddr::from(<[u8; 4]>::try_from(&frame[at..at + 4]).unwrap()));
    let udp = 14 + header;
    let checksum = udp_checksum(addresses[0], addresses[1], &frame[udp..]);
    frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
    frame
}

/// The frame with four bytes of IP options.
fn with_options(frame: &[u8]) -> Vec<u8> {
    let mut out = [&frame[..34], &[1, 1, 1, 0], &frame[34..]].concat();
    out[14] = 0x46;
    let total = u16::from_be_bytes([frame[16], frame[17]]) + 4;
    out[16..18].copy_from_slice(&total.to_be_bytes());
    with_checksums(out)
}

/// Packets with IP options are received like others, though the slow path has to take the options off first.
#[test]
fn ip_options_count_as_input() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let case = CASES.iter().find(|c| c.name == "br_transit").unwrap();
        let frame = case.frame(512, 1, NOW).unwrap();
        router.process(case.ingress_port.into(), &with_options(&frame));
        let class = size_class(512 - IN_FRONT);
        let one = Count { packets: 1, bytes: (512 - IN_FRONT) as u64 };
        let (links, _) = router.all();
        let input: Vec<Count> = links.iter().map(|l| l.input[class]).filter(|c| c.packets > 0).collect();
        assert_eq!(input, [one], "{engine:?}");
        assert_eq!(router.output(), BTreeMap::from([(("br_transit", SIZE_CLASSES[class]), one)]), "{engine:?}");
    }
}

/// A datagram that says that it is shorter than its header is not a large one.
#[test]
fn impossible_udp_lengths_are_small() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let case = CASES.iter().find(|c| c.name == "br_transit").unwrap();
        for length in 0..8 {
            let mut frame = case.frame(512, 1, NOW).unwrap();
            frame[38..40].copy_from_slice(&[0, length]);
            router.process(case.ingress_port.into(), &frame);
        }
        let (links, _) = router.all();
        let sum = |class: usize| links.iter().map(|l| l.dropped[class]).sum::<u64>();
        let by_class: Vec<u64> = (0..SIZE_CLASSES.len()).map(sum).collect();
        assert_eq!(by_class, [8, 0, 0, 0, 0, 0, 0, 0, 0], "{engine:?}");
    }
}

// Offsets behind the underlay headers.
const NEXT_HDR: usize = IN_FRONT + 4;
const HDR_LEN: usize = IN_FRONT + 5;
const PAYLOAD_LEN: usize = IN_FRONT + 7;
const PATH_TYPE: usize = IN_FRONT + 8;
const SRC_IA: usize = IN_FRONT + 20;
const PATH_META: usize = IN_FRONT + 36;

type Change = fn(Vec<u8>) -> Vec<u8>;

fn flip(mut frame: Vec<u8>, at: usize) -> Vec<u8> {
    frame[at] ^= 0x55;
    frame
}

/// Changes of a frame, and whether it still comes from a link that there is.
const CHANGES: &[(&str, bool, Change)] = &[
    ("good", true, |f| f),
    ("padded", true, |f| [f, vec![0; 7]].concat()),
    ("IP options", true, |f| with_options(&f)),
    ("a fragment", false, |mut f| {
        f[20] = 0x20;
        with_checksums(f)
    }),
    ("IP checksum", false, |f| flip(f, 24)),
    ("UDP checksum of a bad packet", true, |f| flip(flip(f, PATH_META + 20), 41)),
    ("UDP checksum of a packet with options", false, |f| flip(with_options(&flip(f, PATH_META + 20)), 45)),
    ("no UDP checksum", true, |mut f| {
        f[40..42].fill(0);
        f
    }),
    ("UDP length 0", true, |mut f| {
        f[38..40].fill(0);
        f
    }),
    ("UDP length 7", true, |mut f| {
        f[38..40].copy_from_slice(&[0, 7]);
        f
    }),
    ("UDP length too long", true, |mut f| {
        f[38] = 0xff;
        f
    }),
    ("UDP port", false, |f| flip(f, 36)),
    ("cut off", true, |mut f| {
        f.truncate(100);
        f
    }),
    ("next header", true, |f| with_checksums(flip(f, NEXT_HDR))),
    ("an extension that lies", true, |mut f| {
        f[NEXT_HDR] = 201;
        let end = IN_FRONT + usize::from(f[HDR_LEN]) * 4;
        f[end..end + 2].copy_from_slice(&[17, 255]);
        with_checksums(f)
    }),
    ("header length", true, |f| with_checksums(flip(f, HDR_LEN))),
    ("payload length", true, |f| with_checksums(flip(f, PAYLOAD_LEN))),
    ("path type", true, |f| with_checksums(flip(f, PATH_TYPE))),
    ("source AS", true, |f| with_checksums(flip(f, SRC_IA + 7))),
    ("current hop", true, |f| with_checksums(flip(f, PATH_META))),
    ("SegID", true, |f| with_checksums(flip(f, PATH_META + 6))),
    ("an SCMP error that would be answered", true, |mut f| {
        f[NEXT_HDR] = 202;
        let end = IN_FRONT + usize::from(f[HDR_LEN]) * 4;
        f[end..end + 4].copy_from_slice(&[1, 0, 0, 0]);
        with_checksums(flip(f, PATH_META + 6))
    }),
];

/// Whatever comes from a link that there is, is forwarded, answered or dropped, and each is counted by link.
#[test]
fn the_books_balance() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        for case in CASES {
            for (what, has_link, change) in CHANGES {
                let frame = change(case.frame(512, 1, NOW).unwrap());
                let before = router.all();
                let answered = router.answered;
                router.process(case.ingress_port.into(), &frame);
                let after = router.all();
                let difference = |of: fn(&LinkTraffic) -> u64| {
                    let sum = |links: &[LinkTraffic]| links.iter().map(of).sum::<u64>();
                    sum(&after.0) - sum(&before.0)
                };
                let received = difference(|l| l.input.iter().map(|c| c.packets).sum());
                let sent = difference(|l| l.output.iter().flatten().map(|c| c.packets).sum());
                let dropped = difference(|l| l.dropped.iter().sum()) + after.1 - before.1;
                let fates = [sent, dropped, router.answered - answered];
                let name = format!("{}, {what}, {engine:?}: {fates:?}", case.name);
                assert_eq!(received, u64::from(*has_link), "{name}");
                assert_eq!(fates.iter().sum::<u64>(), received, "{name}");
            }
        }
        // Each of the fates is there.
        let counts = router.slow_path.counts();
        assert!(counts.silent[&Silence::BadChecksum] > 0 && counts.silent[&Silence::ScmpError] > 0, "{counts:?}");
        assert!(router.answered > 0 && router.all().1 > 0);
    }
}
