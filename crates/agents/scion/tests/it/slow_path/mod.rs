//! Answers to punted packets: the program punts packets made by hand, and what [`answer`] makes of them is compared
//! byte by byte with answers made by hand.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use crate::ROUTER;
use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict};
use hopwright_scion::config::links::Links;
use hopwright_scion::control::program::{self, CPU_PORT, PacketIn, PacketOut, Reason};
use hopwright_scion::packet::ia::IsdAs;
use hopwright_scion::packet::{
    self, END_TO_END, Envelope, Epic, Frame, HOP_BY_HOP, Hop, Host, Info, Path, SCMP, Scion, ScionPath, Segment, UDP,
    checksum_fault, udp_payload,
};
use hopwright_scion::scmp::{Kind, Outcome, Router, ScmpKeys, Silence, SlowPath, answer};
use hopwright_scion::stun;
use hopwright_scion::synthetic::{
    self, DOWN, INTERNAL_PORT, OTHER_MAC, ROUTER_MAC, Traffic, key, rich_hosts, rich_links,
};

mod authentication;
mod completed;
mod errors;
mod silence;
mod traceroute;

const NOW: u32 = 1_790_000_000;
const NOW_US: u64 = NOW as u64 * 1_000_000;
const LOCAL: IsdAs = IsdAs(0x0001_ff00_0000_0001);
/// The keys of the reference router.
static ZERO_KEYS: ScmpKeys = ScmpKeys::zero();
const FAR: IsdAs = IsdAs(0x0002_ff00_0000_0777);

/// The program on the interpreter; that machine code does the same is tested elsewhere.
struct Program {
    executor: Executor,
    pool: Pool,
    links: Links,
}

/// What became of a packet.
#[derive(Debug)]
enum Fate {
    Sent(u32, Vec<u8>),
    Punted(PacketIn),
    Dropped,
}

impl Program {
    fn new(v6: bool) -> Program {
        let vdp = ROUTER.data_plane(EngineKind::Interp);
        let links = rich_links(v6);
        synthetic::program(&vdp, &links, &rich_hosts(v6)).unwrap();
        Program { executor: Executor::new(vdp), pool: Pool::new(8, FrameSize::JUMBO).unwrap(), links }
    }

    fn process(&mut self, port: u16, frame: &[u8]) -> Fate {
        let mut packet = self.pool.take_filled(frame).unwrap();
        packet.set_ingress_port(port.into());
        self.executor.process_batch(std::slice::from_mut(&mut packet), NOW_US);
        let fate = match (packet.verdict(), packet.egress_port()) {
            (Verdict::Forward, CPU_PORT) => {
                let (header, punted) = PacketIn::split(packet.bytes()).unwrap();
                assert!(port == CPU_PORT as u16 || punted == frame, "a punted packet must be as it came");
                Fate::Punted(header)
            }
            (Verdict::Forward, port) => Fate::Sent(port, packet.bytes().to_vec()),
            _ => Fate::Dropped,
        };
        self.pool.give(packet);
        fate
    }

    fn punted(&mut self, port: u16, frame: &[u8]) -> PacketIn {
        match self.process(port, frame) {
            Fate::Punted(header) => header,
            other => panic!("{other:?}"),
        }
    }

    fn answered(&mut self, port: u16, frame: &[u8], keys: Option<&ScmpKeys>) -> (Reason, Outcome) {
        let header = self.punted(port, frame);
        assert_eq!(header.port, port);
        let router = Router { links: &self.links, keys, secret_value: None };
        (Reason::from_number(header.reason).unwrap(), answer(frame, &header, &router, NOW_US))
    }
}

fn rich() -> MutexGuard<'static, Program> {
    static PROGRAM: OnceLock<Mutex<Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| Mutex::new(Program::new(false))).lock().unwrap_or_else(|e| e.into_inner())
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn info(cons_dir: bool, seg_id: u16) -> Info {
    Info { peering: false, cons_dir, seg_id, timestamp: NOW - 100 }
}

fn segment(info: Info, hops: &[(u16, u16)]) -> Segment {
    Segment { info, hops: hops.iter().map(|(i, e)| Hop::new(*i, *e)).collect() }
}

/// A packet as it comes by a link, signed. From outside if not to the internal address.
fn frame(link: (&str, &str), (src_ia, dst_ia): (IsdAs, IsdAs), mut path: ScionPath) -> Frame {
    path.sign(key().bytes(), link.1 != INTERNAL);
    Frame {
        dst_mac: ROUTER_MAC,
        src_mac: OTHER_MAC,
        src: link.0.parse().unwrap(),
        dst: link.1.parse().unwrap(),
        ttl: 17,
        tos: 0xb8,
        udp_checksum: true,
        scion: Scion {
            traffic_class: 0xb8,
            flow_id: 0xabcde,
            dst_ia,
            src_ia,
            dst: Host::Ip(ip("10.0.0.81")),
            src: Host::Ip(ip("10.0.0.97")),
            path: Path::Scion(path),
            extensions: vec![],
            next_hdr: UDP,
            payload: udp_payload(30041, 21000, b"actualpayloadbytes"),
            extra_words: 0,
        },
    }
}

const CHILD: (&str, &str) = ("10.2.0.2:50001", "10.2.0.1:50000");
const CHILD6: (&str, &str) = ("[fd00:3::2]:50000", "[fd00:3::1]:50000");
const PARENT: (&str, &str) = ("10.4.0.2:50000", "10.4.0.1:50000");
const PEER: (&str, &str) = ("10.5.0.2:50000", "10.5.0.1:50000");
const INTERNAL: &str = "10.0.0.1:30042";
const HOST: (&str, &str) = ("10.0.0.97:30041", INTERNAL);
const SIBLING: (&str, &str) = ("10.0.0.2:30042", INTERNAL);

fn path(frame: &mut Frame) -> &mut ScionPath {
    let Path::Scion(path) = &mut frame.scion.path else { panic!() };
    path
}

fn chain(path: &mut ScionPath, segment: usize, hop: usize) {
    let mac = path.segments[segment].hops[hop].chain();
    path.segments[segment].info.seg_id ^= mac;
}

fn reverse(path: &mut ScionPath) {
    let hops: usize = path.segments.iter().map(|s| s.hops.len()).sum();
    path.curr_hf = (hops - 1) as u8 - path.curr_hf;
    path.curr_inf = (path.segments.len() - 1) as u8 - path.curr_inf;
    path.segments.reverse();
    for s in &mut path.segments {
        s.hops.reverse();
        s.info.cons_dir = !s.info.cons_dir;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The message that should come back to the sender of a frame, behind it whatever of `quote` has room.
fn back(frame: &Frame, message: &[u8], quote: &Frame, reverse: impl FnOnce(&mut ScionPath)) -> Vec<u8> {
    let mut f = frame.clone();
    (f.src, f.dst) = (frame.dst, frame.src);
    (f.src_mac, f.dst_mac) = (frame.dst_mac, frame.src_mac);
    (f.ttl, f.tos, f.udp_checksum) = (64, 0, true);
    let s = &mut f.scion;
    (s.dst_ia, s.src_ia) = (frame.scion.src_ia, LOCAL);
    (s.dst, s.src) = (frame.scion.src.clone(), Host::Ip(ip("10.0.0.1")));
    (s.extensions, s.extra_words) = (vec![], 0);
    s.next_hdr = SCMP;
    s.payload = message.to_vec();
    if message[0] < 128 {
        let quoted = quote.scion.pack();
        let room = 1232 - s.pack().len();
        s.payload.extend(&quoted[..quoted.len().min(room)]);
    }
    let checksum = s.payload_checksum(SCMP);
    s.payload[2..4].copy_from_slice(&checksum.to_be_bytes());
    reverse(path(&mut f));
    f.pack()
}

fn problem(code: u8, pointer: u16) -> Vec<u8> {
    [&[4, code, 0, 0, 0, 0][..], &pointer.to_be_bytes()].concat()
}

/// A frame is punted for a reason and answered by this message. `before` changes the path to what the router has when
/// it finds the fault, which is quoted; `reverse` makes the return path of it.
#[track_caller]
fn expect(
    port: u16,
    frame: &Frame,
    reason: Reason,
    message: &[u8],
    before: impl FnOnce(&mut ScionPath),
    reverse: impl FnOnce(&mut ScionPath),
) {
    let mut quote = frame.clone();
    before(path(&mut quote));
    let current = path(&mut quote).clone();
    let wanted = back(frame, message, &quote, |p| {
        *p = current;
        reverse(p);
    });
    let (found, outcome) = rich().answered(port, &frame.pack(), None);
    assert_eq!(found, reason);
    let Outcome::Reply(kind, bytes) = outcome else { panic!("{outcome:?}") };
    assert_eq!((kind.scmp_type, kind.code), (message[0], message[1]));
    assert_eq!(hex(&bytes), hex(&wanted));
    assert_eq!(checksum_fault(&bytes), None);
}

/// To a neighbour: the path is reversed and moved on to its hop.
fn to_outside(p: &mut ScionPath) {
    reverse(p);
    p.curr_hf += 1;
}

fn nothing(_: &mut ScionPath) {}

fn transit() -> Frame {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    frame(PARENT, (FAR, IsdAs(5)), path)
}

/// To a host of this AS, in construction direction.
fn inbound() -> Frame {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 0)])]);
    frame(PARENT, (FAR, LOCAL), path)
}

/// Against construction direction, from the child.
fn upwards() -> Frame {
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (4, 2), (1, 0)])]);
    frame(CHILD, (FAR, IsdAs(5)), path)
}

/// Changes the segment at this router: from the child by interface 2 to an interface.
fn changing(exit: u16) -> Frame {
    let path = ScionPath::at(
        1,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 2)]), segment(info(true, 0x222), &[(0, exit), (1, 0)])],
    );
    frame(CHILD, (FAR, IsdAs(5)), path)
}

// Common header 12, AS numbers 16, two IPv4 hosts 8, path meta header 4.
const INFOS: u16 = 40;

fn traceroute() -> Vec<u8> {
    [&[130, 0, 0, 0, 0x12, 0x34, 0, 7][..], &[0; 16]].concat()
}

fn traceroute_reply(interface: u64) -> Vec<u8> {
    [&[131, 0, 0, 0, 0x12, 0x34, 0, 7][..], &LOCAL.0.to_be_bytes(), &interface.to_be_bytes()].concat()
}

/// A host learns the address that its packets come from; nobody else is answered.
#[test]
fn stun() {
    let ends = |src: &str, dst: &str| Envelope {
        dst_mac: ROUTER_MAC,
        src_mac: OTHER_MAC,
        src: src.parse().unwrap(),
        dst: dst.parse().unwrap(),
        ttl: 17,
        tos: 0xb8,
        udp_checksum: true,
    };
    let id = *b"transaction!";
    let request = stun::request(&id);
    let (reason, outcome) = rich().answered(INTERNAL_PORT, &ends(HOST.0, HOST.1).around(&request), None);
    let back = Envelope { dst_mac: OTHER_MAC, src_mac: ROUTER_MAC, ttl: 64, tos: 0, ..ends(HOST.1, HOST.0) };
    let wanted = Outcome::Stun(back.around(&stun::response(&id, HOST.0.parse().unwrap())));
    assert_eq!((reason, outcome), (Reason::Stun, wanted));
    // A request whose transaction id is the header of an empty path, and which is as long as that.
    let software = [&[0x80, 0x22, 0, 60][..], &[7; 60]].concat();
    let longer = [&request[..2], &72u16.to_be_bytes(), &request[4..8], &[0; 12], &software, &request[20..]].concat();
    assert_eq!(rich().punted(INTERNAL_PORT, &ends(HOST.0, HOST.1).around(&longer)).reason, Reason::Stun as u8);
    // The program only looks at the beginning, the agent at everything.
    let (_, outcome) = rich().answered(INTERNAL_PORT, &ends(HOST.0, HOST.1).around(&longer), None);
    assert_eq!(outcome, Outcome::Drop(Silence::Malformed));
    let not_answered = |link: (&str, &str), port, bytes: &[u8]| {
        let fate = rich().process(port, &ends(link.0, link.1).around(bytes));
        assert!(matches!(fate, Fate::Dropped), "{fate:?}");
    };
    not_answered(PARENT, 4, &request);
    not_answered(SIBLING, INTERNAL_PORT, &request);
    for wrong in [0, 1, 4, 5, 6, 7] {
        let mut bytes = request.clone();
        bytes[wrong] ^= 1;
        not_answered(HOST, INTERNAL_PORT, &bytes);
    }
    not_answered(HOST, INTERNAL_PORT, &request[..27]);
    let (_, outcome) = rich().answered(INTERNAL_PORT, &ends("10.0.0.97:0", INTERNAL).around(&request), None);
    assert_eq!(outcome, Outcome::Drop(Silence::BadSource));
}

/// Whatever random traffic is punted, the answer is a well-formed packet to whoever sent it.
#[test]
fn random_traffic() {
    for (seed, v6) in [(1, false), (2, true)] {
        let mut program = Program::new(v6);
        let mut traffic = Traffic::new(seed, v6, NOW);
        let (mut replies, mut bounced, mut completed) = (0, 0, 0);
        for _ in 0..6000 {
            let (port, frame) = traffic.next_frame();
            let Fate::Punted(header) = program.process(port, &frame) else { continue };
            let router =
                Router { links: &program.links, keys: (seed % 2 == 0).then_some(&ZERO_KEYS), secret_value: None };
            match answer(&frame, &header, &router, NOW_US) {
                Outcome::Reply(kind, bytes) => {
                    replies += 1;
                    let ip = if bytes[12] == 8 { 20 } else { 40 };
                    let room = if kind.is_error() { 1232 } else { 1232 + 1020 };
                    assert_eq!(checksum_fault(&bytes), None);
                    assert!(bytes.len() <= 14 + ip + 8 + room, "{}", bytes.len());
                    assert_eq!((&bytes[..6], &bytes[6..12]), (&frame[6..12], &frame[..6]));
                }
                Outcome::Stun(bytes) => assert_eq!(checksum_fault(&bytes), None),
                Outcome::Bounce(bytes) => {
                    bounced += 1;
                    assert_eq!(checksum_fault(&bytes), None);
                }
                Outcome::Process { frame: again, l4_port } => {
                    completed += 1;
                    let again = PacketOut { l4_port, ..PacketOut::process(port) }.before(&again);
                    if let Fate::Punted(second) = program.process(CPU_PORT as u16, &again) {
                        assert_ne!(second.reason, header.reason, "it would go round for ever");
                    }
                }
                Outcome::Drop(_) => {}
            }
        }
        assert!(replies > 200 && bounced > 5 && completed > 5, "{replies} {bounced} {completed}");
    }
}

/// An envelope says what a frame says.
#[test]
fn envelopes() {
    let f = transit();
    let Frame { dst_mac, src_mac, src, dst, ttl, tos, udp_checksum, .. } = f.clone();
    let envelope = Envelope { dst_mac, src_mac, src, dst, ttl, tos, udp_checksum };
    assert_eq!(envelope.around(&f.scion.pack()), f.pack());
}
