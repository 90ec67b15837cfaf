//! The border router program on packets made by hand: what is forwarded and how, what is dropped or punted and why.
//! On both engines.

mod checks;
mod delivery;
mod epic;
mod other_paths;
mod transit;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::ROUTER;
use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
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
        let vdp = ROUTER.data_plane(kind);
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

/// A packet for a host of the AS, from the child by interface 2.
fn inbound() -> Frame {
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (0, 2)])]);
    frame(CHILD.0, CHILD.1, (FAR, LOCAL), path)
}

fn delivered(f: &Frame, to: &str) -> Vec<u8> {
    sent(f.clone(), INTERNAL, to, |p| chain(p, 0, 1))
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
