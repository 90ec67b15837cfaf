//! The border router program on packets made by hand: what is forwarded and how, what is dropped or punted and why.
//! On both engines.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_scion::control::program::{self, CPU_PORT, PacketIn, Reason, URGENT_CPU_PORT};
use hopwright_scion::control::tables;
use hopwright_scion::packet::ia::IsdAs;
use hopwright_scion::packet::{
    self, Epic, Frame, Hop, Host, Info, Path, Scion, ScionPath, Segment, checksum_fault, full_mac, udp_payload,
};
use hopwright_scion::synthetic::{
    self, CASES, INTERNAL_PORT, OTHER_MAC, ROUTER_MAC, brload_hosts, brload_links, key, rich_hosts, rich_links,
};
use hopwright_scion::underlay::next_hop::VIA_KERNEL;

const NOW: u32 = 1_790_000_000;
const LOCAL: IsdAs = IsdAs(0x0001_ff00_0000_0001);
const FAR: IsdAs = IsdAs(0x0002_ff00_0000_0777);

fn pipeline() -> Arc<Pipeline> {
    static PIPELINE: OnceLock<Arc<Pipeline>> = OnceLock::new();
    PIPELINE.get_or_init(|| Arc::new(program::compile(true).pipeline.expect("the program compiles"))).clone()
}

struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
    now_us: u64,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Sent(u32, Vec<u8>),
    Punted(PacketIn, Vec<u8>),
    Dropped(Reason),
}

impl Router {
    fn new(kind: EngineKind, links: &hopwright_scion::config::links::Links, hosts: &[IpAddr]) -> Router {
        let vdp = VirtualDataPlane::new(pipeline(), kind).unwrap();
        synthetic::program(&vdp, links, hosts).unwrap();
        let executor = Executor::new(vdp.clone());
        Router { vdp, executor, pool: Pool::new(8, FrameSize::JUMBO).unwrap(), now_us: u64::from(NOW) * 1_000_000 }
    }

    fn reasons(&self) -> Vec<u64> {
        self.vdp.control().counter("reasons").map(|c| c.read_all()).unwrap().iter().map(|c| c.packets).collect()
    }

    fn process(&mut self, port: u16, frame: &[u8]) -> Fate {
        let before = self.reasons();
        let mut packet = self.pool.take().unwrap();
        assert!(packet.fill(frame));
        packet.set_ingress_port(port.into());
        let mut batch = [packet];
        self.executor.process_batch(&mut batch, self.now_us);
        let [packet] = batch;
        let counted: Vec<u8> = (0u8..)
            .zip(self.reasons().iter().zip(&before))
            .filter(|(_, (after, before))| after != before)
            .map(|(i, _)| i)
            .collect();
        let [counted] = counted[..] else { panic!("{counted:?}") };
        let counted = Reason::from_number(counted).unwrap();
        let fate = match packet.verdict() {
            Verdict::Forward if [CPU_PORT, URGENT_CPU_PORT].contains(&packet.egress_port()) => {
                let (header, bytes) = PacketIn::split(packet.bytes()).unwrap();
                assert_eq!(packet.egress_port() == URGENT_CPU_PORT, counted == Reason::Bfd);
                assert_eq!(header.reason, counted as u8);
                Fate::Punted(header, bytes.to_vec())
            }
            Verdict::Forward => {
                assert_eq!(counted, Reason::None);
                Fate::Sent(packet.egress_port(), packet.bytes().to_vec())
            }
            Verdict::Drop => {
                assert!(!counted.is_punt() && counted != Reason::None, "{counted:?}");
                Fate::Dropped(counted)
            }
            other => panic!("{other:?}"),
        };
        self.pool.give(packet);
        fate
    }
}

/// Both engines' router with links of every kind.
fn rich() -> MutexGuard<'static, [Router; 2]> {
    static ROUTERS: OnceLock<Mutex<[Router; 2]>> = OnceLock::new();
    let new = |kind| Router::new(kind, &rich_links(false), &rich_hosts(false));
    let routers = ROUTERS.get_or_init(|| Mutex::new([EngineKind::Interp, EngineKind::Jit].map(new)));
    // A test that failed does not spoil the others.
    routers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn info(cons_dir: bool, seg_id: u16) -> Info {
    Info { peering: false, cons_dir, seg_id, timestamp: NOW - 100 }
}

fn segment(info: Info, hops: &[(u16, u16)]) -> Segment {
    Segment { info, hops: hops.iter().map(|(i, e)| Hop { mac: [7; 6], ..Hop::new(*i, *e) }).collect() }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A frame over an underlay link, its path signed as it should be.
fn frame(src: &str, dst: &str, ias: (IsdAs, IsdAs), mut path: ScionPath) -> Frame {
    let (src, dst): (SocketAddr, SocketAddr) = (src.parse().unwrap(), dst.parse().unwrap());
    let inside = dst == rich_links(false).internal;
    path.sign(key().bytes(), !inside);
    raw_frame(src, dst, ias, Path::Scion(path))
}

fn raw_frame(src: SocketAddr, dst: SocketAddr, (src_ia, dst_ia): (IsdAs, IsdAs), path: Path) -> Frame {
    Frame {
        dst_mac: ROUTER_MAC,
        src_mac: OTHER_MAC,
        src,
        dst,
        ttl: 17,
        tos: 0xb8,
        udp_checksum: true,
        scion: Scion {
            traffic_class: 0xb8,
            flow_id: 0xdead,
            dst_ia,
            src_ia,
            dst: Host::Ip(ip("10.0.0.81")),
            src: Host::Ip(ip("10.0.0.97")),
            path,
            extensions: vec![],
            next_hdr: packet::UDP,
            payload: udp_payload(30041, 21000, b"actualpayloadbytes"),
            extra_words: 0,
        },
    }
}

/// The frame as it should leave.
fn sent(mut frame: Frame, src: &str, dst: &str, change: impl FnOnce(&mut ScionPath)) -> Vec<u8> {
    (frame.src, frame.dst) = (src.parse().unwrap(), dst.parse().unwrap());
    (frame.src_mac, frame.dst_mac) = (ROUTER_MAC, OTHER_MAC);
    (frame.ttl, frame.tos) = (64, 0);
    if let Path::Scion(path) | Path::Epic(_, path) = &mut frame.scion.path {
        change(path);
    }
    frame.pack()
}

#[track_caller]
fn expect_sent(port: u16, frame: &Frame, out: u16, wanted: &[u8]) {
    expect_bytes_sent(port, &frame.pack(), out, wanted);
}

#[track_caller]
fn expect_bytes_sent(port: u16, bytes: &[u8], out: u16, wanted: &[u8]) {
    for router in rich().iter_mut() {
        let engine = router.vdp.engine_kind();
        match router.process(port, bytes) {
            Fate::Sent(to, bytes) => {
                assert_eq!(to, u32::from(out), "{engine:?}");
                assert_eq!(hex(&bytes), hex(wanted), "{engine:?}");
                assert_eq!(checksum_fault(&bytes), None);
            }
            other => panic!("{engine:?}: {other:?}"),
        }
    }
}

#[track_caller]
fn expect_reason(port: u16, bytes: &[u8], wanted: Reason) {
    for router in rich().iter_mut() {
        let engine = router.vdp.engine_kind();
        match router.process(port, bytes) {
            Fate::Punted(header, packet) => {
                assert_eq!(Reason::from_number(header.reason), Some(wanted), "{engine:?}");
                assert_eq!(header.port, port);
                assert_eq!(hex(&packet), hex(bytes), "{engine:?}: a punted packet must be as it came");
            }
            Fate::Dropped(reason) => assert_eq!(reason, wanted, "{engine:?}"),
            Fate::Sent(to, _) => panic!("{engine:?}: sent to {to}, not {wanted:?}"),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn chain(path: &mut ScionPath, segment: usize, hop: usize) {
    let mac = path.segments[segment].hops[hop].chain();
    path.segments[segment].info.seg_id ^= mac;
}

const CHILD: (&str, &str) = ("10.2.0.2:50001", "10.2.0.1:50000");
const PARENT: (&str, &str) = ("10.4.0.2:50000", "10.4.0.1:50000");
const PEER: (&str, &str) = ("10.5.0.2:50000", "10.5.0.1:50000");
const CHILD6: (&str, &str) = ("[fd00:3::2]:50000", "[fd00:3::1]:50000");
const INTERNAL: &str = "10.0.0.1:30042";

#[test]
fn parent_to_child_in_construction_direction() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_sent(4, &f, 2, &wanted);
}

#[test]
fn child_to_parent_against_construction_direction() {
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), PARENT.1, PARENT.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_sent(2, &f, 4, &wanted);
}

#[test]
fn without_udp_checksum() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let mut f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path.clone());
    f.udp_checksum = false;
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_sent(4, &f, 2, &wanted);
    // IPv6 must have one.
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 3), (1, 0)])]);
    let mut f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
    f.udp_checksum = false;
    expect_reason(4, &f.pack(), Reason::NoUdpChecksum);
}

#[test]
fn from_ipv4_to_ipv6_and_back() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 3), (1, 0)])]);
    let f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD6.1, CHILD6.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_sent(4, &f, 3, &wanted);

    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (4, 3), (1, 0)])]);
    let f = frame(CHILD6.0, CHILD6.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), PARENT.1, PARENT.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_sent(3, &f, 4, &wanted);
    let mut no_checksum = f;
    no_checksum.udp_checksum = false;
    expect_reason(3, &no_checksum.pack(), Reason::BadIpChecksum);
}

#[test]
fn segment_change_at_one_router() {
    let up = segment(info(false, 0x111), &[(0, 9), (9, 2)]);
    let up = Segment { hops: vec![up.hops[0], Hop { mac: [7; 6], ..Hop::new(0, 2) }], ..up };
    let path = ScionPath::at(1, vec![up, segment(info(true, 0x222), &[(0, 3), (1, 0)])]);
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD6.1, CHILD6.0, |p| {
        chain(p, 0, 1);
        chain(p, 1, 0);
        (p.curr_inf, p.curr_hf) = (1, 3);
    });
    expect_sent(2, &f, 3, &wanted);
}

#[test]
fn segment_change_towards_a_sibling_and_behind_it() {
    // In by interface 2, out by the sibling's interface 11.
    let path = ScionPath::at(
        1,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 2)]), segment(info(true, 0x222), &[(0, 11), (1, 0)])],
    );
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), INTERNAL, "10.0.0.2:30042", |p| {
        chain(p, 0, 1);
        (p.curr_inf, p.curr_hf) = (1, 2);
    });
    expect_sent(2, &f, INTERNAL_PORT, &wanted);

    // In by the sibling's interface 11, out by interface 2.
    let path = ScionPath::at(
        2,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 11)]), segment(info(true, 0x222), &[(0, 2), (1, 0)])],
    );
    let f = frame("10.0.0.2:30042", INTERNAL, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
        chain(p, 1, 0);
        p.curr_hf = 3;
    });
    expect_sent(INTERNAL_PORT, &f, 2, &wanted);
    // The other sibling does not have that interface, and no host has.
    for liar in ["10.0.0.3:30042", "10.0.0.2:30041", "10.0.0.99:30042"] {
        let mut lie = f.clone();
        lie.src = liar.parse().unwrap();
        expect_reason(INTERNAL_PORT, &lie.pack(), Reason::InvalidTransitSource);
    }
}

#[test]
fn transit_through_the_as() {
    let to_sibling = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (13, 2), (1, 0)])]);
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), to_sibling);
    let wanted = sent(f.clone(), INTERNAL, "10.0.0.2:30042", |p| chain(p, 0, 1));
    expect_sent(2, &f, INTERNAL_PORT, &wanted);

    let from_sibling = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (13, 2), (1, 0)])]);
    let f = frame("10.0.0.2:30042", INTERNAL, (FAR, IsdAs(5)), from_sibling);
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_sent(INTERNAL_PORT, &f, 2, &wanted);
}

#[test]
fn out_of_the_as() {
    let path = ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, 2), (1, 0)])]);
    let f = frame("10.0.0.97:30041", INTERNAL, (LOCAL, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
        chain(p, 0, 0);
        p.curr_hf = 1;
    });
    expect_sent(INTERNAL_PORT, &f, 2, &wanted);

    let mut other = f.clone();
    other.scion.src_ia = FAR;
    expect_reason(INTERNAL_PORT, &other.pack(), Reason::InvalidSourceIa);
    let mut home = f.clone();
    home.scion.dst_ia = LOCAL;
    expect_reason(INTERNAL_PORT, &home.pack(), Reason::InvalidDestinationIa);
    let mut mapped = f.clone();
    mapped.scion.src = Host::Ip(ip("::ffff:10.0.0.97"));
    expect_reason(INTERNAL_PORT, &mapped.pack(), Reason::InvalidSourceHost);
    let mut strange = f.clone();
    strange.scion.src = Host::Raw(0, vec![0; 8]);
    expect_reason(INTERNAL_PORT, &strange.pack(), Reason::InvalidSourceHost);
    // By an interface of a sibling: it came to the wrong router.
    let path = ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, 12), (1, 0)])]);
    let wrong = frame("10.0.0.97:30041", INTERNAL, (LOCAL, IsdAs(5)), path);
    expect_reason(INTERNAL_PORT, &wrong.pack(), Reason::UnknownEgress);
}

/// A packet for a host of the AS, from the child by interface 2.
fn inbound() -> Frame {
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (0, 2)])]);
    frame(CHILD.0, CHILD.1, (FAR, LOCAL), path)
}

fn delivered(f: &Frame, to: &str) -> Vec<u8> {
    sent(f.clone(), INTERNAL, to, |p| chain(p, 0, 1))
}

#[test]
fn delivery_ports() {
    let f = inbound();
    expect_sent(2, &f, INTERNAL_PORT, &delivered(&f, "10.0.0.81:21000"));

    let mut with_extensions = f.clone();
    with_extensions.scion.extensions =
        vec![(packet::HOP_BY_HOP, vec![0, 1, 1, 4, 0, 0, 0, 0]), (packet::END_TO_END, vec![0, 0, 1, 0])];
    with_extensions.scion.extra_words = 2;
    expect_sent(2, &with_extensions, INTERNAL_PORT, &delivered(&with_extensions, "10.0.0.81:21000"));

    let traceroute_reply = [vec![131, 0, 0, 0, 0x12, 0x34], vec![0; 18]].concat();
    let cases: [(u8, Vec<u8>, Result<&str, Reason>); 12] = [
        (packet::TCP, [vec![0, 1, 0x12, 0x34], vec![0; 16]].concat(), Ok("10.0.0.81:4660")),
        (packet::SCMP, vec![128, 0, 0, 0, 0x12, 0x34, 0, 1], Ok("10.0.0.81:30041")),
        (packet::SCMP, vec![130, 0, 0, 0, 0x12, 0x34, 0, 1], Ok("10.0.0.81:30041")),
        (packet::SCMP, vec![129, 0, 0, 0, 0x12, 0x34, 0, 1], Ok("10.0.0.81:4660")),
        (packet::SCMP, traceroute_reply.clone(), Ok("10.0.0.81:4660")),
        (77, vec![1, 2, 3], Ok("10.0.0.81:30041")),
        (packet::SCMP, vec![1, 0, 0, 0, 0, 0, 0, 0], Err(Reason::ScmpError)),
        (packet::SCMP, vec![200, 0, 0, 0, 0, 0, 0, 0], Err(Reason::UnknownL4)),
        (packet::UDP, vec![0; 7], Err(Reason::Malformed)),
        (packet::TCP, vec![0; 19], Err(Reason::Malformed)),
        (packet::SCMP, vec![129, 0, 0, 0, 0x12, 0x34, 0], Err(Reason::Malformed)),
        (packet::SCMP, traceroute_reply[..23].to_vec(), Err(Reason::Malformed)),
    ];
    for (next_hdr, payload, wanted) in cases {
        let mut f = f.clone();
        (f.scion.next_hdr, f.scion.payload) = (next_hdr, payload);
        match wanted {
            Ok(to) => expect_sent(2, &f, INTERNAL_PORT, &delivered(&f, to)),
            Err(reason) => expect_reason(2, &f.pack(), reason),
        }
    }
}

/// Whatever the path, extension headers must end where the packet does and come at most once, hop-by-hop first.
#[test]
fn extension_headers() {
    let transit = |extensions: &[(u8, Vec<u8>)]| {
        let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
        let mut f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
        f.scion.extensions = extensions.to_vec();
        f
    };
    let change = |extensions: &[(u8, Vec<u8>)]| {
        let path = ScionPath::at(
            1,
            vec![segment(info(false, 0x111), &[(0, 9), (0, 2)]), segment(info(true, 0x222), &[(0, 3), (7, 8), (1, 0)])],
        );
        let mut f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path);
        f.scion.extensions = extensions.to_vec();
        f
    };
    let (hop_by_hop, end_to_end) = (packet::HOP_BY_HOP, packet::END_TO_END);
    let good = vec![0, 1, 1, 4, 0, 0, 0, 0];
    let transit_sent = |f: &Frame| {
        sent(f.clone(), CHILD.1, CHILD.0, |p| {
            chain(p, 0, 1);
            p.curr_hf = 2;
        })
    };
    for extensions in [
        vec![(hop_by_hop, good.clone())],
        vec![(end_to_end, good.clone())],
        vec![(hop_by_hop, good.clone()), (end_to_end, vec![0, 0, 0, 0])],
    ] {
        let mut f = transit(&extensions);
        expect_sent(4, &f, 2, &transit_sent(&f));
        // They may be all there is, and the header may be longer than the path.
        (f.scion.payload, f.scion.next_hdr, f.scion.extra_words) = (vec![], 77, 3);
        expect_sent(4, &f, 2, &transit_sent(&f));
        let f = change(&extensions);
        let wanted = sent(f.clone(), CHILD6.1, CHILD6.0, |p| {
            chain(p, 0, 1);
            chain(p, 1, 0);
            (p.curr_inf, p.curr_hf) = (1, 3);
        });
        expect_sent(2, &f, 3, &wanted);
    }
    for extensions in [
        vec![(hop_by_hop, vec![0, 200, 1, 0])],
        vec![(end_to_end, vec![0, 255, 1, 0])],
        // 26 bytes of payload follow: one word too many.
        vec![(end_to_end, vec![0, 7, 1, 0])],
        vec![(hop_by_hop, good.clone()), (end_to_end, vec![0, 7, 1, 0])],
        vec![(hop_by_hop, good.clone()), (hop_by_hop, good.clone())],
        vec![(end_to_end, good.clone()), (end_to_end, good.clone())],
        vec![(end_to_end, good.clone()), (hop_by_hop, good.clone())],
        vec![(hop_by_hop, good.clone()), (end_to_end, good.clone()), (end_to_end, good.clone())],
    ] {
        let mut to_host = inbound();
        to_host.scion.extensions = extensions.clone();
        for (port, f) in [(4, transit(&extensions)), (2, change(&extensions)), (2, to_host)] {
            expect_reason(port, &f.pack(), Reason::Malformed);
            // Bytes behind the IP packet are not part of it.
            expect_reason(port, &[f.pack(), vec![0; 1024]].concat(), Reason::Malformed);
        }
    }
}

/// Whoever moves on in a path clears the reserved bits of its meta header, as the reference does.
#[test]
fn reserved_bits_of_the_path() {
    // Behind underlay headers, common header and addresses, the second byte.
    const RESERVED: usize = 14 + 20 + 8 + 12 + 16 + 8 + 1;
    let with_reserved = |bytes: Vec<u8>| {
        let mut bytes = bytes;
        bytes[RESERVED] |= 0xfc;
        bytes[40..42].fill(0);
        let addresses = [26, 30].map(|at| IpAddr::from(<[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap()));
        let checksum = packet::udp_checksum(addresses[0], addresses[1], &bytes[34..]);
        bytes[40..42].copy_from_slice(&checksum.to_be_bytes());
        bytes
    };
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    });
    expect_bytes_sent(4, &with_reserved(f.pack()), 2, &wanted);
    // At a segment change towards a sibling.
    let path = ScionPath::at(
        1,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 2)]), segment(info(true, 0x222), &[(0, 11), (1, 0)])],
    );
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), INTERNAL, "10.0.0.2:30042", |p| {
        chain(p, 0, 1);
        (p.curr_inf, p.curr_hf) = (1, 2);
    });
    expect_bytes_sent(2, &with_reserved(f.pack()), INTERNAL_PORT, &wanted);
    // Who does not move on leaves them: to a host, and to a sibling.
    let f = inbound();
    let wanted = with_reserved(delivered(&f, "10.0.0.81:21000"));
    expect_bytes_sent(2, &with_reserved(f.pack()), INTERNAL_PORT, &wanted);
    let to_sibling = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (13, 2), (1, 0)])]);
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), to_sibling);
    let wanted = with_reserved(sent(f.clone(), INTERNAL, "10.0.0.2:30042", |p| chain(p, 0, 1)));
    expect_bytes_sent(2, &with_reserved(f.pack()), INTERNAL_PORT, &wanted);
}

/// The router is no host: what is for its own port would come back to it.
#[test]
fn the_routers_own_port() {
    let to = |host: &str, port: u16| {
        let mut f = inbound();
        f.scion.dst = Host::Ip(ip(host));
        f.scion.payload = udp_payload(30041, port, b"x");
        f
    };
    expect_reason(2, &to("10.0.0.1", 30042).pack(), Reason::OwnPort);
    let f = to("10.0.0.81", 30042);
    expect_sent(2, &f, INTERNAL_PORT, &delivered(&f, "10.0.0.81:30042"));
    expect_reason(2, &to("10.0.0.1", 30041).pack(), Reason::NextHopUnresolved);
}

#[test]
fn delivery_addresses() {
    for (host, reason) in [
        (Host::Ip(ip("0.0.0.0")), Reason::InvalidDestinationHost),
        (Host::Ip(ip("::")), Reason::InvalidDestinationHost),
        (Host::Ip(ip("::ffff:10.0.0.81")), Reason::InvalidDestinationHost),
        (Host::Raw(3, vec![1; 4]), Reason::InvalidDestinationHost),
        (Host::Raw(0, vec![1; 12]), Reason::InvalidDestinationHost),
        (Host::Ip(ip("fd00::1")), Reason::UnderlayMismatch),
        (Host::Service(1), Reason::NoService),
        (Host::Service(7), Reason::NoService),
    ] {
        let mut f = inbound();
        f.scion.dst = host;
        expect_reason(2, &f.pack(), reason);
    }
    let mut unknown = inbound();
    unknown.scion.dst = Host::Ip(ip("10.0.0.200"));
    for router in rich().iter_mut() {
        let Fate::Punted(header, _) = router.process(2, &unknown.pack()) else { panic!() };
        assert_eq!(header.reason, Reason::NextHopUnresolved as u8);
        assert_eq!((header.next_hop, header.ingress, header.egress), (Some(ip("10.0.0.200")), 2, 0));
    }
}

/// The kernel reaches hosts without an entry, so that losing it does a host no harm.
#[test]
fn hosts_without_entries_go_by_udp() {
    let known = inbound();
    let mut unknown = inbound();
    unknown.scion.dst = Host::Ip(ip("10.0.0.200"));
    for kind in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(kind, &rich_links(false), &rich_hosts(false));
        tables::set_default_host(&router.vdp, VIA_KERNEL).unwrap();
        let mut check = |f: &Frame, to: &str, port: u32| {
            let before = router.vdp.control().counter("link_out").map(|c| c.read_all()).unwrap();
            let Fate::Sent(by, bytes) = router.process(2, &f.pack()) else { panic!("{to} is not reached") };
            assert_eq!(by, port);
            // But for the Ethernet addresses, which the UDP port does not need.
            assert_eq!(hex(&bytes[12..]), hex(&delivered(f, to)[12..]));
            let after = router.vdp.control().counter("link_out").map(|c| c.read_all()).unwrap();
            let counted: Vec<usize> = (0..after.len()).filter(|i| after[*i].packets != before[*i].packets).collect();
            assert!(matches!(counted[..], [cell] if cell < 1 << 10), "at the internal link: {counted:?}");
        };
        check(&known, "10.0.0.81:21000", INTERNAL_PORT.into());
        check(&unknown, "10.0.0.200:21000", program::LOCAL_PORT);
        tables::forget_hosts(&router.vdp).unwrap();
        let Fate::Sent(by, _) = router.process(2, &known.pack()) else { panic!("a forgotten host is not reached") };
        assert_eq!(by, program::LOCAL_PORT);
    }
}

#[test]
fn services() {
    let mut seen = std::collections::BTreeSet::new();
    for flow in 0..40 {
        let mut f = inbound();
        f.scion.dst = Host::Service(if flow % 2 == 0 { 2 } else { 0x8002 });
        f.scion.flow_id = flow;
        let [interp, jit] = &mut *rich();
        let fates = (interp.process(2, &f.pack()), jit.process(2, &f.pack()));
        assert_eq!(fates.0, fates.1);
        let Fate::Sent(port, bytes) = fates.0 else { panic!("{fates:?}") };
        let to: SocketAddr = format!("10.0.0.{}:30252", bytes[33]).parse().unwrap();
        assert_eq!(port, u32::from(INTERNAL_PORT));
        assert_eq!(hex(&bytes), hex(&delivered(&f, &to.to_string())));
        seen.insert(bytes[33]);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [113, 114]);
}

#[test]
fn all_host_address_lengths_and_long_paths_in_transit() {
    let lengths = [4, 8, 12, 16];
    for (dst, src) in lengths.iter().flat_map(|d| lengths.map(|s| (*d, s))) {
        let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
        let mut f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
        f.scion.dst = Host::Raw(2, vec![0xd0; dst]);
        f.scion.src = Host::Raw(1, vec![0x50; src]);
        let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
            chain(p, 0, 1);
            p.curr_hf = 2;
        });
        expect_sent(4, &f, 2, &wanted);
    }
    for before in [0, 10, 30, 61] {
        let hops = [vec![(9, 9); before], vec![(4, 2)], vec![(9, 9); 63 - before - 1]].concat();
        if before == 0 {
            continue;
        }
        let path = ScionPath::at(before as u8, vec![segment(info(true, 0x111), &hops)]);
        let f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
        let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| {
            chain(p, 0, before);
            p.curr_hf += 1;
        });
        expect_sent(4, &f, 2, &wanted);
    }
    // Three segments, 64 hops, the change from the second to the third.
    let path = ScionPath::at(
        40,
        vec![
            segment(info(false, 1), &[(9, 9); 20]),
            segment(info(true, 2), &[vec![(9, 9); 20], vec![(2, 0)]].concat()),
            segment(info(true, 3), &[vec![(0, 3)], vec![(9, 9); 22]].concat()),
        ],
    );
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path);
    let wanted = sent(f.clone(), CHILD6.1, CHILD6.0, |p| {
        chain(p, 2, 0);
        (p.curr_inf, p.curr_hf) = (2, 42);
    });
    expect_sent(2, &f, 3, &wanted);
}

fn peering(cons_dir: bool, seg_id: u16) -> Info {
    Info { peering: true, ..info(cons_dir, seg_id) }
}

#[test]
fn peering_out_and_in() {
    let out = ScionPath::at(
        1,
        vec![segment(peering(false, 0x111), &[(0, 9), (5, 2)]), segment(peering(true, 0x222), &[(9, 8), (1, 0)])],
    );
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), out);
    let wanted = sent(f.clone(), PEER.1, PEER.0, |p| (p.curr_inf, p.curr_hf) = (1, 2));
    expect_sent(2, &f, 5, &wanted);

    let into = ScionPath::at(
        2,
        vec![segment(peering(false, 0x111), &[(0, 9), (9, 8)]), segment(peering(true, 0x222), &[(5, 2), (1, 0)])],
    );
    let f = frame(PEER.0, PEER.1, (FAR, IsdAs(5)), into);
    let wanted = sent(f.clone(), CHILD.1, CHILD.0, |p| p.curr_hf = 3);
    expect_sent(5, &f, 2, &wanted);

    // A peering segment of one hop, as the AS at the end of the link sees it.
    let short = ScionPath::at(
        1,
        vec![segment(peering(false, 0x111), &[(0, 9), (5, 2)]), segment(info(true, 0x222), &[(9, 8)])],
    );
    let f = frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), short);
    let wanted = sent(f.clone(), PEER.1, PEER.0, |p| (p.curr_inf, p.curr_hf) = (1, 2));
    expect_sent(2, &f, 5, &wanted);

    let three = ScionPath::at(
        1,
        vec![
            segment(peering(false, 0x111), &[(0, 9), (5, 2)]),
            segment(peering(true, 0x222), &[(9, 8), (1, 0)]),
            segment(info(true, 0x222), &[(9, 8), (1, 0)]),
        ],
    );
    expect_reason(2, &frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), three).pack(), Reason::MalformedPeering);
}

fn one_hop(f: Frame, path: Path) -> Frame {
    Frame { scion: Scion { path, ..f.scion }, ..f }
}

#[test]
fn one_hop_out() {
    let info = info(true, 0x111);
    let first = Hop::new(0, 2).signed(key().bytes(), info.seg_id, info.timestamp);
    let base = frame("10.0.0.113:30041", INTERNAL, (LOCAL, IsdAs(0x0001_ff00_0000_0102)), ScionPath::at(0, vec![]));
    let f = one_hop(base, Path::OneHop(info, first, Hop::default()));
    let mut out = f.clone();
    out.scion.path = Path::OneHop(Info { seg_id: info.seg_id ^ first.chain(), ..info }, first, Hop::default());
    expect_sent(INTERNAL_PORT, &f, 2, &sent(out, CHILD.1, CHILD.0, |_| {}));

    let with = |path| one_hop(f.clone(), path).pack();
    let (none, hop) = (Hop::default(), Hop { mac: [1; 6], ..first });
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(info, hop, none)), Reason::OneHopMac);
    let against = Info { cons_dir: false, ..info };
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(against, first, none)), Reason::OneHopDirection);
    let elsewhere = Hop { egress: 3, ..first };
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(info, elsewhere, none)), Reason::OneHopDestination);
    let sibling = Hop { egress: 12, ..first };
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(info, sibling, none)), Reason::OneHopInterface);
    let mut stranger = f.clone();
    stranger.scion.src_ia = FAR;
    expect_reason(INTERNAL_PORT, &stranger.pack(), Reason::OneHopSource);
}

#[test]
fn one_hop_in() {
    let info = info(true, 0x111);
    let first = Hop { exp_time: 17, mac: [3; 6], ..Hop::new(0, 9) };
    let old = Hop { ingress_alert: true, mac: [0xee; 6], ..Hop::new(5, 6) };
    let base = frame(CHILD.0, CHILD.1, (IsdAs(0x0001_ff00_0000_0102), LOCAL), ScionPath::at(0, vec![]));
    let f = one_hop(base, Path::OneHop(info, first, old));
    let mut second = Hop { exp_time: 17, ..Hop::new(2, 0) };
    let mac = full_mac(key().bytes(), info.seg_id, info.timestamp, &second);
    second.mac.copy_from_slice(&mac[..6]);
    let mut out = f.clone();
    out.scion.path = Path::OneHop(info, first, second);
    expect_sent(2, &f, INTERNAL_PORT, &sent(out, INTERNAL, "10.0.0.81:21000", |_| {}));

    let mut stranger = f.clone();
    stranger.scion.src_ia = FAR;
    expect_reason(2, &stranger.pack(), Reason::OneHopSource);
    let mut transit = f.clone();
    transit.scion.dst_ia = FAR;
    expect_reason(2, &transit.pack(), Reason::OneHopDestination);
    let mut nobody = f.clone();
    nobody.scion.dst = Host::Service(1);
    expect_reason(2, &nobody.pack(), Reason::OneHopUndeliverable);
}

/// One packet of a link in half a millisecond, whatever the others do; from routers only.
#[test]
fn bfd() {
    let f = |from: (&str, &str), path: &Path| {
        let mut f = raw_frame(from.0.parse().unwrap(), from.1.parse().unwrap(), (LOCAL, LOCAL), path.clone());
        (f.scion.next_hdr, f.scion.payload) = (packet::BFD, vec![0x20; 24]);
        f.pack()
    };
    let one_hop = Path::OneHop(info(true, 0), Hop::new(0, 9), Hop::default());
    let (sibling, host) = (("10.0.0.2:30042", INTERNAL), ("10.0.0.97:30041", INTERNAL));
    let links = [(2, f(CHILD, &one_hop)), (4, f(PARENT, &one_hop)), (INTERNAL_PORT, f(sibling, &Path::Empty))];
    let from_host = f(host, &Path::Empty);
    let start = u64::from(NOW) * 1_000_000;
    for router in rich().iter_mut() {
        let mut at = |now_us: u64, port: u16, bytes: &[u8]| {
            router.now_us = now_us;
            match router.process(port, bytes) {
                Fate::Punted(header, _) => Reason::from_number(header.reason).unwrap(),
                Fate::Dropped(reason) => reason,
                Fate::Sent(..) => Reason::None,
            }
        };
        // Nobody is shut out by a clock that is set back.
        for start in [start + 1_000_000, start] {
            for (later, wanted) in
                [(0, Reason::Bfd), (0, Reason::BfdTooOften), (499, Reason::BfdTooOften), (500, Reason::Bfd)]
            {
                for (port, bytes) in &links {
                    assert_eq!(at(start + later, *port, bytes), wanted, "{later}");
                }
                assert_eq!(at(start + later, INTERNAL_PORT, &from_host), Reason::BfdFromHost);
            }
        }
        router.now_us = start;
    }
}

#[test]
fn other_path_types() {
    let mut f = inbound();
    f.scion.path = Path::Empty;
    expect_reason(2, &f.pack(), Reason::UnsupportedPathType);
    f.scion.path = Path::Raw(9, vec![0; 52]);
    expect_reason(2, &f.pack(), Reason::UnsupportedPathType);
}

/// A frame with an EPIC-HP path, sent so many microseconds ago and proven to the current hop.
fn epic_frame(src: &str, dst: &str, ias: (IsdAs, IsdAs), mut path: ScionPath, age_us: i64) -> Frame {
    let inside = dst == INTERNAL;
    let mac = path.sign(key().bytes(), !inside).unwrap();
    let sent = (i64::from(NOW) * 1_000_000 - age_us) as u64;
    let epic = Epic { counter: 7, ..Epic::sent_at(sent, path.segments[0].info.timestamp) };
    let mut f = raw_frame(src.parse().unwrap(), dst.parse().unwrap(), ias, Path::Epic(epic, path));
    f.scion.prove(&mac);
    f
}

fn epic(f: &mut Frame) -> &mut Epic {
    let Path::Epic(epic, _) = &mut f.scion.path else { panic!() };
    epic
}

#[test]
fn epic_at_the_last_hop() {
    let path = ScionPath::at(
        3,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 9)]), segment(info(true, 0x222), &[(0, 9), (4, 0)])],
    );
    let mut f = epic_frame(PARENT.0, PARENT.1, (FAR, LOCAL), path.clone(), 1_000_000);
    // Only its own field counts.
    epic(&mut f).penultimate_hvf = [0; 4];
    expect_sent(4, &f, INTERNAL_PORT, &sent(f.clone(), INTERNAL, "10.0.0.81:21000", |_| ()));
    for src in [Host::Ip(ip("2001:db8::1")), Host::Raw(1, vec![3; 8]), Host::Raw(1, (0..12).collect())] {
        let mut path = path.clone();
        let mac = path.sign(key().bytes(), true).unwrap();
        f.scion.src = src;
        f.scion.prove(&mac);
        expect_sent(4, &f, INTERNAL_PORT, &sent(f.clone(), INTERNAL, "10.0.0.81:21000", |_| ()));
    }

    // Whatever the proof covers.
    let changes: [fn(&mut Frame); 6] = [
        |f| epic(f).last_hvf[3] ^= 1,
        |f| epic(f).counter ^= 1,
        |f| epic(f).timestamp -= 1,
        |f| f.scion.src_ia.0 ^= 1,
        |f| f.scion.src = Host::Raw(1, (1..13).collect()),
        |f| f.scion.payload.push(0),
    ];
    for change in changes {
        let mut changed = f.clone();
        change(&mut changed);
        expect_reason(4, &changed.pack(), Reason::EpicHvf);
    }
    // It is looked at only when all the rest is right.
    epic(&mut f).last_hvf[0] ^= 1;
    let mut elsewhere = f.clone();
    elsewhere.scion.dst = Host::Service(1);
    expect_reason(4, &elsewhere.pack(), Reason::NoService);
    let Path::Epic(_, path) = &mut f.scion.path else { panic!() };
    path.segments[1].hops[1].mac[5] ^= 1;
    expect_reason(4, &f.pack(), Reason::InvalidHopMac);
}

#[test]
fn epic_timestamps() {
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (0, 2)])]);
    let at = |age_us| epic_frame(CHILD.0, CHILD.1, (FAR, LOCAL), path.clone(), age_us);
    // Two seconds of life, one second for the clocks; a unit is 21 us.
    for good in [-999_979, -500_000, 0, 2_500_000, 2_999_978] {
        let f = at(good);
        expect_sent(2, &f, INTERNAL_PORT, &delivered(&f, "10.0.0.81:21000"));
    }
    expect_reason(2, &at(3_000_042).pack(), Reason::EpicTooOld);
    expect_reason(2, &at(60_000_000).pack(), Reason::EpicTooOld);
    expect_reason(2, &at(-1_000_042).pack(), Reason::EpicFromFuture);
    expect_reason(2, &at(-60_000_000).pack(), Reason::EpicFromFuture);
}

#[test]
fn epic_at_other_hops() {
    let hops = [(0, 9), (4, 2), (1, 0)];
    let leaves = |p: &mut ScionPath| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    };
    // The last but one.
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &hops)]);
    let mut f = epic_frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path, 0);
    epic(&mut f).last_hvf = [0; 4];
    expect_sent(4, &f, 2, &sent(f.clone(), CHILD.1, CHILD.0, leaves));
    epic(&mut f).penultimate_hvf[0] ^= 1;
    expect_reason(4, &f.pack(), Reason::EpicHvf);
    // An earlier one does not care, nor does it look at the clock.
    let longer = [&hops[..], &[(1, 0)]].concat();
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &longer)]);
    let mut f = epic_frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path, 60_000_000);
    epic(&mut f).penultimate_hvf[0] ^= 1;
    expect_sent(4, &f, 2, &sent(f.clone(), CHILD.1, CHILD.0, leaves));
    // Lengths: the path does not fit, and the header is cut off.
    for bytes in [0, 12, 16, 52] {
        let path = Path::Raw(3, vec![0; bytes]);
        let f = raw_frame(CHILD.0.parse().unwrap(), CHILD.1.parse().unwrap(), (FAR, LOCAL), path);
        expect_reason(2, &f.pack(), Reason::Malformed);
    }
}

/// A valid transit packet with a change to its path after signing.
fn changed(change: impl FnOnce(&mut ScionPath)) -> Vec<u8> {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let mut f = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path);
    let Path::Scion(path) = &mut f.scion.path else { unreachable!() };
    change(path);
    f.pack()
}

/// The same, signed after the change.
fn signed(change: impl FnOnce(&mut ScionPath)) -> Vec<u8> {
    changed(|path| {
        change(path);
        path.sign(key().bytes(), true);
    })
}

#[test]
fn hop_field_checks() {
    expect_reason(4, &changed(|p| p.segments[0].hops[1].mac[5] ^= 1), Reason::InvalidHopMac);
    expect_reason(4, &changed(|p| p.segments[0].info.seg_id ^= 1), Reason::InvalidHopMac);
    expect_reason(4, &changed(|p| p.segments[0].hops[1].exp_time ^= 1), Reason::InvalidHopMac);
    expect_reason(4, &signed(|p| p.segments[0].hops[1].ingress = 3), Reason::UnknownIngress);
    expect_reason(4, &signed(|p| p.segments[0].hops[1].egress = 77), Reason::UnknownEgress);
    expect_reason(4, &signed(|p| p.segments[0].hops[1].egress = 0), Reason::UnknownEgress);
    for egress in [1, 4, 5, 8, 11, 13, 14, 22] {
        expect_reason(4, &signed(|p| p.segments[0].hops[1].egress = egress), Reason::InvalidPath);
    }
    expect_reason(4, &signed(|p| p.segments[0].hops[1].egress = synthetic::DOWN), Reason::InterfaceDown);
    expect_reason(4, &signed(|p| p.segments[0].hops[1].egress = synthetic::UNRESOLVED), Reason::NextHopUnresolved);
    expect_reason(4, &signed(|p| p.segments[0].hops[1].ingress_alert = true), Reason::IngressAlert);
    expect_reason(4, &signed(|p| p.segments[0].hops[1].egress_alert = true), Reason::EgressAlert);
}

/// A hop lives until timestamp + (1 + exp_time) * 337.5 s, that moment included.
#[test]
fn expiry() {
    let at = |age: u32, exp_time: u8| {
        signed(|p| {
            p.segments[0].info.timestamp = NOW - age;
            p.segments[0].hops[1].exp_time = exp_time;
        })
    };
    expect_reason(4, &at(338, 0), Reason::PathExpired);
    expect_reason(4, &at(676, 1), Reason::PathExpired);
    expect_reason(4, &at(86_401, 255), Reason::PathExpired);
    expect_reason(4, &at(NOW, 255), Reason::PathExpired);
    for (age, exp_time) in [(337, 0), (675, 1), (86_400, 255), (0, 0)] {
        for router in rich().iter_mut() {
            assert!(matches!(router.process(4, &at(age, exp_time)), Fate::Sent(2, _)), "{age} {exp_time}");
        }
    }
}

#[test]
fn segment_change_checks() {
    let path = |exit: u16| {
        ScionPath::at(
            1,
            vec![segment(info(false, 0x111), &[(0, 9), (0, 2)]), segment(info(true, 0x222), &[(0, exit), (1, 0)])],
        )
    };
    let f = |exit| frame(CHILD.0, CHILD.1, (FAR, IsdAs(5)), path(exit));
    for exit in [4, 5, 13, 14] {
        expect_reason(2, &f(exit).pack(), Reason::InvalidSegmentChange);
    }
    let with = |change: fn(&mut Segment)| {
        let mut f = f(3);
        let Path::Scion(path) = &mut f.scion.path else { unreachable!() };
        change(&mut path.segments[1]);
        f.pack()
    };
    expect_reason(2, &with(|s| s.hops[0].mac[0] ^= 1), Reason::InvalidHopMac);
    expect_reason(2, &with(|s| s.info.timestamp = 5), Reason::PathExpired);
    for router in rich().iter_mut() {
        let Fate::Punted(header, _) = router.process(2, &with(|s| s.hops[0].mac[0] ^= 1)) else { panic!() };
        assert!(header.at_next_hop);
    }
}

#[test]
fn addresses_of_ases() {
    let path = || ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let from_us = frame(PARENT.0, PARENT.1, (LOCAL, IsdAs(5)), path());
    expect_reason(4, &from_us.pack(), Reason::InvalidSourceIa);
    let for_us = frame(PARENT.0, PARENT.1, (FAR, LOCAL), path());
    expect_reason(4, &for_us.pack(), Reason::InvalidDestinationIa);
    let mut not_for_us = inbound();
    not_for_us.scion.dst_ia = FAR;
    expect_reason(2, &not_for_us.pack(), Reason::InvalidDestinationIa);
}

#[test]
fn malformed_paths() {
    let singleton = |path: &mut ScionPath| {
        path.segments = vec![
            segment(info(true, 1), &[(0, 9), (4, 2)]),
            segment(info(true, 2), &[(0, 9)]),
            segment(info(true, 3), &[(0, 9), (4, 2)]),
        ];
    };
    expect_reason(4, &changed(singleton), Reason::SingletonSegment);
    expect_reason(4, &changed(|p| p.curr_hf = 3), Reason::Malformed);
    expect_reason(4, &changed(|p| p.curr_inf = 1), Reason::Malformed);
    expect_reason(4, &changed(|p| p.curr_inf = 3), Reason::Malformed);
    let two = |p: &mut ScionPath| p.segments.push(segment(info(true, 1), &[(0, 9), (1, 2)]));
    let behind = |p: &mut ScionPath| {
        two(p);
        p.curr_hf = 3;
    };
    expect_reason(4, &changed(behind), Reason::Malformed);
    expect_reason(4, &changed(|p| p.segments.clear()), Reason::Malformed);
    let too_many = |p: &mut ScionPath| {
        let half = segment(info(true, 1), &[(4, 2); 33]);
        p.segments = vec![half.clone(), half];
    };
    expect_reason(4, &changed(too_many), Reason::Malformed);
}

#[test]
fn lengths_and_other_frames() {
    let good = changed(|_| {});
    // Every truncation of the frame.
    for length in 0..good.len() {
        expect_reason(4, &good[..length], Reason::Malformed);
    }
    // Padding behind the IP packet does not matter.
    let mut padded = good.clone();
    padded.extend([0; 9]);
    for router in rich().iter_mut() {
        assert!(matches!(router.process(4, &padded), Fate::Sent(2, _)));
    }
    let edit = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    // PayloadLen.
    expect_reason(4, &edit(49, good[49] ^ 1), Reason::InvalidPacketSize);
    // HdrLen: beyond the packet, and shorter than the path.
    expect_reason(4, &edit(47, 250), Reason::Malformed);
    expect_reason(4, &edit(47, good[47] - 1), Reason::Malformed);
    expect_reason(4, &edit(24, 9), Reason::BadIpChecksum);
    expect_reason(4, &edit(12, 9), Reason::NotForUs);
    expect_reason(4, &edit(14, 0x46), Reason::IpOptions);
    expect_reason(4, &edit(20, 0x20), Reason::IpOptions);
    expect_reason(4, &edit(23, 6), Reason::NotForUs);
    expect_reason(4, &edit(35, 1), Reason::NotForUs);
    expect_reason(4, &edit(37, 1), Reason::NotForUs);
}

#[test]
fn packets_from_the_agent() {
    let f = changed(|_| {});
    for router in rich().iter_mut() {
        let again = router.process(CPU_PORT as u16, &program::PacketOut::process(4).before(&f));
        assert_eq!(again, router.process(4, &f));
    }
}

/// With `strict_arrival`, who forges the addresses of another link, a sibling or a host has to use their device.
#[test]
fn by_another_device() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    let from_parent = frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path).pack();
    let out = ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, 2), (1, 0)])]);
    let from_host = frame("10.0.0.61:40000", INTERNAL, (LOCAL, IsdAs(5)), out.clone()).pack();
    let from_sibling = frame("10.0.0.2:30042", INTERNAL, (LOCAL, IsdAs(5)), out).pack();
    let mut links = rich_links(false);
    links.arrivals = [("10.4.0.1".parse().unwrap(), 4), ("10.0.0.1".parse().unwrap(), 1)].into();
    for kind in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(kind, &links, &rich_hosts(false));
        assert!(matches!(router.process(4, &from_parent), Fate::Sent(2, _)));
        assert!(matches!(router.process(1, &from_host), Fate::Sent(2, _)));
        assert!(matches!(router.process(program::LOCAL_PORT as u16, &from_host), Fate::Sent(2, _)));
        assert_ne!(router.process(1, &from_sibling), Fate::Dropped(Reason::WrongDevice));
        for (port, frame) in [(2, &from_parent), (1, &from_parent), (2, &from_host), (4, &from_sibling)] {
            assert_eq!(router.process(port, frame), Fate::Dropped(Reason::WrongDevice));
        }
        // What the agent has completed is told apart by where it had come in.
        let again = router.process(CPU_PORT as u16, &program::PacketOut::process(4).before(&from_parent));
        assert!(matches!(again, Fate::Sent(2, _)));
    }
}

#[test]
fn benchmark_cases() {
    for kind in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(kind, &brload_links(), &brload_hosts());
        for case in CASES {
            for bytes in [172, 512, 1500] {
                let frame = case.frame(bytes, 5, NOW).unwrap();
                assert_eq!(frame.len(), bytes);
                match router.process(case.ingress_port, &frame) {
                    Fate::Sent(port, out) => {
                        assert_eq!(port, u32::from(case.egress_port), "{}", case.name);
                        assert_eq!(checksum_fault(&out), None);
                    }
                    other => panic!("{}: {other:?}", case.name),
                }
            }
            assert!(case.frame(100, 0, NOW).is_none());
        }
    }
}
