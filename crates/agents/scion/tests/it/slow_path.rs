//! Answers to punted packets: the program punts packets made by hand, and what [`answer`] makes of them is compared
//! byte by byte with answers made by hand.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_scion::config::links::Links;
use hopwright_scion::control::program::{self, CPU_PORT, PacketIn, PacketOut, Reason};
use hopwright_scion::packet::ia::IsdAs;
use hopwright_scion::packet::{
    self, END_TO_END, Envelope, Epic, Frame, HOP_BY_HOP, Hop, Host, Info, Path, SCMP, Scion, ScionPath, Segment, UDP,
    checksum_fault, udp_payload,
};
use hopwright_scion::scmp::{Kind, Outcome, Router, Silence, SlowPath, answer};
use hopwright_scion::stun;
use hopwright_scion::synthetic::{
    self, DOWN, INTERNAL_PORT, OTHER_MAC, ROUTER_MAC, Traffic, key, rich_hosts, rich_links,
};

const NOW: u32 = 1_790_000_000;
const NOW_US: u64 = NOW as u64 * 1_000_000;
const LOCAL: IsdAs = IsdAs(0x0001_ff00_0000_0001);
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
        let pipeline = program::compile(true).pipeline.expect("the program compiles");
        let vdp = VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Interp).unwrap();
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

    fn answered(&mut self, port: u16, frame: &[u8], authenticate: bool) -> (Reason, Outcome) {
        let header = self.punted(port, frame);
        assert_eq!(header.port, port);
        let router = Router { links: &self.links, authenticate, secret_value: None };
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
    let (found, outcome) = rich().answered(port, &frame.pack(), false);
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

#[test]
fn wrong_mac() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    // In construction direction, the way back is against it: the next router takes its own hop out of the chain.
    expect(4, &f, Reason::InvalidHopMac, &problem(51, INFOS + 8 + 12), nothing, to_outside);
    let mut f = upwards();
    path(&mut f).segments[0].hops[1].mac[5] ^= 1;
    // The SegID was updated before the MAC was checked, and is again on the way out.
    expect(
        2,
        &f,
        Reason::InvalidHopMac,
        &problem(51, INFOS + 8 + 12),
        |p| chain(p, 0, 1),
        |p| {
            reverse(p);
            chain(p, 0, 1);
            p.curr_hf += 1;
        },
    );
}

#[test]
fn wrong_mac_and_expiry_behind_a_segment_change() {
    let reverse = |p: &mut ScionPath| {
        // Back to the segment it came by.
        reverse(p);
        (p.curr_inf, p.curr_hf) = (1, 2);
        chain(p, 1, 0);
        p.curr_hf = 3;
    };
    let before = |p: &mut ScionPath| {
        chain(p, 0, 1);
        (p.curr_inf, p.curr_hf) = (1, 2);
    };
    let mut f = changing(3);
    path(&mut f).segments[1].hops[0].mac[0] ^= 1;
    expect(2, &f, Reason::InvalidHopMac, &problem(51, INFOS + 16 + 24), before, reverse);

    let mut second = segment(info(true, 0x222), &[(0, 3), (1, 0)]);
    second.info.timestamp = 1;
    let expired = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (0, 2)]), second]);
    let f = frame(CHILD, (FAR, IsdAs(5)), expired);
    expect(2, &f, Reason::PathExpired, &problem(52, INFOS + 16 + 24), before, reverse);

    let f = changing(8);
    expect(2, &f, Reason::InvalidSegmentChange, &problem(53, INFOS + 8), before, reverse);
    let f = changing(77);
    expect(2, &f, Reason::UnknownEgress, &problem(50, INFOS + 16 + 24), before, reverse);
    // Interface 0 is inside the AS, which is no link at all.
    let f = changing(0);
    expect(2, &f, Reason::UnknownEgress, &problem(53, INFOS + 8), before, reverse);
    let f = changing(DOWN);
    let message = [&[5, 0, 0, 0][..], &LOCAL.0.to_be_bytes(), &u64::from(DOWN).to_be_bytes()].concat();
    expect(2, &f, Reason::InterfaceDown, &message, before, reverse);
}

#[test]
fn faults_before_the_mac() {
    let hop = INFOS + 8 + 12;
    let mut f = transit();
    path(&mut f).segments[0].info.timestamp = 1;
    expect(4, &f, Reason::PathExpired, &problem(52, hop), nothing, to_outside);

    let mut f = transit();
    path(&mut f).segments[0].hops[1].ingress = 6;
    expect(4, &f, Reason::UnknownIngress, &problem(49, hop), nothing, to_outside);
    let mut f = upwards();
    path(&mut f).segments[0].hops[1].egress = 6;
    expect(2, &f, Reason::UnknownIngress, &problem(50, hop), nothing, |p| {
        reverse(p);
        chain(p, 0, 1);
        p.curr_hf += 1;
    });

    let mut f = transit();
    f.scion.src_ia = LOCAL;
    expect(4, &f, Reason::InvalidSourceIa, &problem(33, 20), nothing, to_outside);
    let mut f = transit();
    f.scion.dst_ia = LOCAL;
    expect(4, &f, Reason::InvalidDestinationIa, &problem(34, 12), nothing, to_outside);
}

#[test]
fn payload_length() {
    let f = transit();
    let mut bytes = f.pack();
    bytes[14 + 20 + 8 + 7] ^= 1;
    bytes[14 + 20 + 6..14 + 20 + 8].fill(0);
    let (reason, Outcome::Reply(kind, sent)) = rich().answered(4, &bytes, false) else { panic!() };
    assert_eq!((reason, kind), (Reason::InvalidPacketSize, Kind { scmp_type: 4, code: 19 }));
    assert_eq!(&sent[sent.len() - f.scion.pack().len()..], &bytes[42..]);
}

#[test]
fn from_inside() {
    let out = |egress| ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, egress), (1, 0)])]);
    let hop = INFOS + 8;
    // The path is reversed and stays where it is.
    let mut f = frame(HOST, (LOCAL, IsdAs(5)), out(2));
    f.scion.src_ia = FAR;
    expect(INTERNAL_PORT, &f, Reason::InvalidSourceIa, &problem(33, 20), nothing, reverse);
    let f = frame(HOST, (LOCAL, LOCAL), out(2));
    expect(INTERNAL_PORT, &f, Reason::InvalidDestinationIa, &problem(34, 12), nothing, reverse);
    let mut f = frame(HOST, (LOCAL, IsdAs(5)), out(2));
    f.scion.src = Host::Ip(ip("::ffff:10.0.0.97"));
    expect(INTERNAL_PORT, &f, Reason::InvalidSourceHost, &problem(33, 0), nothing, reverse);
    f.scion.src = Host::Service(2);
    expect(INTERNAL_PORT, &f, Reason::InvalidSourceHost, &problem(33, 0), nothing, reverse);
    // An interface of a sibling: the packet came to the wrong router.
    let f = frame(HOST, (LOCAL, IsdAs(5)), out(12));
    expect(INTERNAL_PORT, &f, Reason::UnknownEgress, &problem(50, hop), nothing, reverse);
    let f = frame(HOST, (LOCAL, IsdAs(5)), out(77));
    expect(INTERNAL_PORT, &f, Reason::UnknownEgress, &problem(50, hop), nothing, reverse);
    let f = frame(HOST, (LOCAL, IsdAs(5)), out(DOWN));
    let message = [&[5, 0, 0, 0][..], &LOCAL.0.to_be_bytes(), &u64::from(DOWN).to_be_bytes()].concat();
    expect(INTERNAL_PORT, &f, Reason::InterfaceDown, &message, nothing, reverse);

    // Behind a segment change at the sibling: its answer goes back to before it.
    let path = ScionPath::at(
        2,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 11)]), segment(info(true, 0x222), &[(0, 77), (1, 0)])],
    );
    let f = frame(SIBLING, (FAR, IsdAs(5)), path);
    expect(INTERNAL_PORT, &f, Reason::UnknownEgress, &problem(50, INFOS + 16 + 24), nothing, |p| {
        reverse(p);
        (p.curr_inf, p.curr_hf) = (1, 2);
    });
}

#[test]
fn where_to() {
    let to = |egress| {
        let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, egress), (1, 0)])]);
        frame(PARENT, (FAR, IsdAs(5)), path)
    };
    let hop = INFOS + 8 + 12;
    expect(4, &to(77), Reason::UnknownEgress, &problem(50, hop), nothing, to_outside);
    expect(4, &to(0), Reason::UnknownEgress, &problem(48, hop), nothing, to_outside);
    // From parent to parent, and to a parent by a sibling.
    expect(4, &to(8), Reason::InvalidPath, &problem(48, hop), nothing, to_outside);
    expect(4, &to(13), Reason::InvalidPath, &problem(48, hop), nothing, to_outside);
    // Against construction direction it is the ingress of the hop field.
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (77, 2), (1, 0)])]);
    let f = frame(CHILD, (FAR, IsdAs(5)), path);
    expect(
        2,
        &f,
        Reason::UnknownEgress,
        &problem(49, hop),
        |p| chain(p, 0, 1),
        |p| {
            reverse(p);
            chain(p, 0, 1);
            p.curr_hf += 1;
        },
    );
}

#[test]
fn a_sibling_that_is_down() {
    let mut program = Program::new(false);
    let links = rich_links(false);
    let vdp = program.executor.vdp().clone();
    for entry in hopwright_scion::control::tables::sibling_entries(
        links.internal,
        &links.siblings[0],
        hopwright_scion::control::tables::LinkState::Down(None),
    ) {
        vdp.control().put(&entry).unwrap();
    }
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 12), (1, 0)])]);
    let f = frame(PARENT, (FAR, IsdAs(5)), path);
    let (reason, outcome) = program.answered(4, &f.pack(), false);
    assert_eq!(reason, Reason::InterfaceDown);
    let message = [&[6, 0, 0, 0][..], &LOCAL.0.to_be_bytes(), &4u64.to_be_bytes(), &12u64.to_be_bytes()].concat();
    let Outcome::Reply(_, bytes) = outcome else { panic!("{outcome:?}") };
    assert_eq!(hex(&bytes), hex(&back(&f, &message, &f, to_outside)));
}

/// To a host of this AS, in construction direction.
fn inbound() -> Frame {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 0)])]);
    frame(PARENT, (FAR, LOCAL), path)
}

#[test]
fn delivery() {
    let mut f = inbound();
    f.scion.dst = Host::Service(1);
    expect(4, &f, Reason::NoService, &[1, 0, 0, 0, 0, 0, 0, 0], nothing, to_outside);
    f.scion.dst = Host::Ip(ip("0.0.0.0"));
    expect(4, &f, Reason::InvalidDestinationHost, &problem(34, 0), nothing, to_outside);
}

#[test]
fn too_big_for_the_link_and_the_quote() {
    // Link 2 has an MTU of 1472 bytes of SCION packet.
    let fits = |bytes: usize| {
        let mut f = transit();
        let more = bytes - f.scion.pack().len() + f.scion.payload.len() - 8;
        f.scion.payload = udp_payload(1, 2, &vec![7; more]);
        assert_eq!(f.scion.pack().len(), bytes);
        f
    };
    assert!(matches!(rich().process(4, &fits(1472).pack()), Fate::Sent(2, _)));
    let message = [2, 0, 0, 0, 0, 0, 0x05, 0xc0];
    let f = fits(1473);
    expect(4, &f, Reason::PacketTooBig, &message, nothing, to_outside);
    let (_, Outcome::Reply(_, bytes)) = rich().answered(4, &f.pack(), true) else { panic!() };
    assert_eq!(bytes.len() - 42, 1232);
    let (_, Outcome::Reply(_, bytes)) = rich().answered(4, &f.pack(), false) else { panic!() };
    assert_eq!(bytes.len() - 42, 1232);
}

fn over_peering(cons_dir: bool, seg_id: u16) -> Info {
    Info { peering: true, ..info(cons_dir, seg_id) }
}

#[test]
fn at_a_peering_link() {
    // Out by the peering link, which is not known: in the first segment, against construction direction.
    let out = ScionPath::at(
        1,
        vec![
            segment(over_peering(false, 0x111), &[(0, 9), (77, 2)]),
            segment(over_peering(true, 0x222), &[(9, 8), (1, 0)]),
        ],
    );
    let f = frame(CHILD, (FAR, IsdAs(5)), out);
    // Neither the segment nor the chain changes at a peering hop.
    expect(2, &f, Reason::UnknownEgress, &problem(49, INFOS + 16 + 12), nothing, to_outside);
    let into = ScionPath::at(
        2,
        vec![
            segment(over_peering(false, 0x111), &[(0, 9), (9, 8)]),
            segment(over_peering(true, 0x222), &[(5, 77), (1, 0)]),
        ],
    );
    let f = frame(PEER, (FAR, IsdAs(5)), into);
    expect(5, &f, Reason::UnknownEgress, &problem(50, INFOS + 16 + 24), nothing, |p| {
        reverse(p);
        (p.curr_inf, p.curr_hf) = (1, 2);
    });
}

fn traceroute() -> Vec<u8> {
    [&[130, 0, 0, 0, 0x12, 0x34, 0, 7][..], &[0; 16]].concat()
}

fn traceroute_reply(interface: u64) -> Vec<u8> {
    [&[131, 0, 0, 0, 0x12, 0x34, 0, 7][..], &LOCAL.0.to_be_bytes(), &interface.to_be_bytes()].concat()
}

#[test]
fn traceroutes() {
    let request = |mut f: Frame, ingress: bool, egress: bool| {
        (f.scion.next_hdr, f.scion.payload) = (SCMP, traceroute());
        let p = path(&mut f);
        let hop = &mut p.segments[usize::from(p.curr_inf)].hops[usize::from(p.curr_hf)];
        (hop.ingress_alert, hop.egress_alert) = (ingress, egress);
        f
    };
    let cleared = |p: &mut ScionPath| {
        let hop = &mut p.segments[0].hops[1];
        (hop.ingress_alert, hop.egress_alert) = (false, false);
    };
    let f = request(transit(), true, false);
    expect(4, &f, Reason::IngressAlert, &traceroute_reply(4), cleared, to_outside);
    let f = request(transit(), false, true);
    expect(4, &f, Reason::EgressAlert, &traceroute_reply(2), cleared, to_outside);
    // Each alert is for one router: the other stays.
    let f = request(transit(), true, true);
    expect(
        4,
        &f,
        Reason::IngressAlert,
        &traceroute_reply(4),
        |p| p.segments[0].hops[1].ingress_alert = false,
        to_outside,
    );
    let f = request(upwards(), false, true);
    let back = |p: &mut ScionPath| {
        reverse(p);
        chain(p, 0, 1);
        p.curr_hf += 1;
    };
    let before = |p: &mut ScionPath| {
        chain(p, 0, 1);
        cleared(p);
    };
    expect(2, &f, Reason::IngressAlert, &traceroute_reply(2), before, back);
    let f = request(upwards(), true, false);
    expect(2, &f, Reason::EgressAlert, &traceroute_reply(4), before, back);
}

#[test]
fn an_alert_without_a_request_comes_back() {
    let mut f = upwards();
    path(&mut f).segments[0].hops[1].egress_alert = true;
    for (next_hdr, payload) in
        [(UDP, udp_payload(1, 2, b"x")), (SCMP, vec![128, 0, 0, 0, 1, 2, 3, 4]), (SCMP, vec![130])]
    {
        (f.scion.next_hdr, f.scion.payload) = (next_hdr, payload);
        let mut wanted = f.clone();
        (wanted.src, wanted.dst, wanted.src_mac, wanted.dst_mac) = (f.dst, f.src, f.dst_mac, f.src_mac);
        (wanted.ttl, wanted.tos) = (64, 0);
        chain(path(&mut wanted), 0, 1);
        path(&mut wanted).segments[0].hops[1].egress_alert = false;
        let (_, outcome) = rich().answered(2, &f.pack(), false);
        assert_eq!(outcome, Outcome::Bounce(wanted.pack()));
    }
}

/// An EPIC packet is answered over a plain path; pointers count as if it had one.
#[test]
fn epic_packets() {
    let mut plain = transit();
    path(&mut plain).segments[0].hops[1].mac[0] ^= 1;
    let mut epic = plain.clone();
    let path = path(&mut plain).clone();
    epic.scion.path = Path::Epic(Epic::sent_at(NOW_US, NOW - 100), path);
    let (_, Outcome::Reply(kind, to_plain)) = rich().answered(4, &plain.pack(), false) else { panic!() };
    let (reason, Outcome::Reply(same, to_epic)) = rich().answered(4, &epic.pack(), false) else { panic!() };
    assert_eq!((reason, kind), (Reason::InvalidHopMac, same));
    let quote = to_plain.len() - plain.scion.pack().len();
    assert_eq!(to_epic[quote..], epic.scion.pack());
    // All the same from the path on to the quote, but for the checksum.
    let (header, message) = (42 + 12..quote - 8, quote - 4..quote);
    assert_eq!(to_epic[header.clone()], to_plain[header]);
    assert_eq!(to_epic[message.clone()], to_plain[message]);
    assert_eq!(checksum_fault(&to_epic), None);
}

#[test]
fn errors_are_not_answered() {
    for (scmp_type, answered) in [(1, false), (4, false), (127, false), (128, true), (200, true)] {
        let mut f = transit();
        path(&mut f).segments[0].hops[1].mac[0] ^= 1;
        (f.scion.next_hdr, f.scion.payload) = (SCMP, vec![scmp_type, 0, 0, 0]);
        f.scion.extensions = vec![(HOP_BY_HOP, vec![0, 0, 1, 0]), (END_TO_END, vec![0, 0, 1, 0])];
        let (_, outcome) = rich().answered(4, &f.pack(), false);
        assert_eq!(matches!(outcome, Outcome::Reply(..)), answered, "{scmp_type}: {outcome:?}");
        if !answered {
            assert_eq!(outcome, Outcome::Drop(Silence::ScmpError));
        }
        f.scion.payload.truncate(3);
        assert_eq!(rich().answered(4, &f.pack(), false).1, Outcome::Drop(Silence::Malformed));
    }
}

#[test]
fn authenticated() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    let (_, Outcome::Reply(_, plain)) = rich().answered(4, &f.pack(), false) else { panic!() };
    let (_, Outcome::Reply(_, signed)) = rich().answered(4, &f.pack(), true) else { panic!() };
    assert_eq!(signed.len(), plain.len() + 32);
    let path_end = 42 + usize::from(plain[42 + 5]) * 4;
    assert_eq!((signed[42 + 4], &signed[path_end..path_end + 8]), (END_TO_END, &[202, 7, 2, 28, 0, 0, 0, 1][..]));
    assert_eq!(signed[path_end + 32..], plain[path_end..]);
    assert_ne!(signed[path_end + 16..path_end + 32], [0; 16]);
    assert_eq!(checksum_fault(&signed), None);

    // A traceroute reply only if the request was.
    let mut f = transit();
    path(&mut f).segments[0].hops[1].ingress_alert = true;
    (f.scion.next_hdr, f.scion.payload) = (SCMP, traceroute());
    let (_, Outcome::Reply(_, reply)) = rich().answered(4, &f.pack(), true) else { panic!() };
    assert_eq!(reply[42 + 4], SCMP);
}

#[test]
fn multicast_and_nobody_get_no_answer() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    let header = rich().punted(4, &f.pack());
    let links = rich_links(false);
    let outcome = |change: &dyn Fn(&mut Frame)| {
        let mut f = f.clone();
        change(&mut f);
        answer(&f.pack(), &header, &Router { links: &links, authenticate: false, secret_value: None }, NOW_US)
    };
    assert!(matches!(outcome(&|_| {}), Outcome::Reply(..)));
    let silent = Outcome::Drop(Silence::BadSource);
    assert_eq!(outcome(&|f| f.src_mac[0] |= 1), silent);
    assert_eq!(outcome(&|f| f.dst_mac = [0xff; 6]), silent);
    for address in [
        "224.0.0.1:1",
        "255.255.255.255:1",
        "0.0.0.0:1",
        "0.1.2.3:1",
        "127.0.0.1:1",
        "240.0.0.1:1",
        "192.0.2.1:0",
        // The router itself, inside and outside.
        INTERNAL,
        CHILD.1,
    ] {
        assert_eq!(outcome(&|f| f.src = address.parse().unwrap()), silent, "{address}");
    }
    for address in ["[::]:1", "[ff02::1]:1", "[::ffff:10.0.0.9]:1", "[::1]:1", "[2001:db8::1]:0"] {
        let both = |f: &mut Frame| (f.src, f.dst) = (address.parse().unwrap(), CHILD6.1.parse().unwrap());
        assert_eq!(outcome(&both), silent, "{address}");
    }
    // A process of this machine may use a loopback address.
    let mut local = f.clone();
    local.src = "127.0.0.1:1".parse().unwrap();
    let header = PacketIn { port: program::LOCAL_PORT as u16, ..header };
    let reply =
        answer(&local.pack(), &header, &Router { links: &links, authenticate: false, secret_value: None }, NOW_US);
    assert!(matches!(reply, Outcome::Reply(..)), "{reply:?}");
}

/// Nobody may be made to answer by a packet that was damaged on the way, or whose sender never saw it.
#[test]
fn wrong_udp_checksums_get_no_answer() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    let mut bytes = f.pack();
    assert!(matches!(rich().answered(4, &bytes, false).1, Outcome::Reply(..)));
    for at in [26, 34, 40, bytes.len() - 1] {
        let header = rich().punted(4, &f.pack());
        bytes[at] ^= 1;
        let links = rich_links(false);
        let outcome =
            answer(&bytes, &header, &Router { links: &links, authenticate: false, secret_value: None }, NOW_US);
        assert_eq!(outcome, Outcome::Drop(Silence::BadChecksum), "{at}");
        bytes[at] ^= 1;
    }
    // None at all is allowed over IPv4.
    bytes[40..42].fill(0);
    assert!(matches!(rich().answered(4, &bytes, false).1, Outcome::Reply(..)));
}

/// Answers to hosts need a route.
#[test]
fn where_no_route_leads() {
    let mut f = frame(HOST, (LOCAL, IsdAs(5)), ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, 2), (1, 0)])]));
    path(&mut f).segments[0].hops[0].mac[0] ^= 1;
    let header = rich().punted(INTERNAL_PORT, &f.pack());
    let links = rich_links(false);
    let mut slow_path = SlowPath::new(Default::default());
    let mut handle = |route| {
        let mut asked = None;
        let has_route = |to: IpAddr, from: IpAddr| {
            asked = Some((to, from));
            route
        };
        let outcome = slow_path.handle(&f.pack(), &header, &links, (Instant::now(), NOW_US), has_route);
        assert_eq!(asked, Some((ip("10.0.0.97"), ip("10.0.0.1"))));
        outcome
    };
    assert!(matches!(handle(true), Outcome::Reply(..)));
    assert_eq!(handle(false), Outcome::Drop(Silence::NoReturnPath));
    let counts = slow_path.counts();
    assert_eq!((counts.sent.values().sum::<u64>(), counts.silent[&Silence::NoReturnPath]), (1, 1));
}

/// A packet completed by the agent is forwarded as `wanted` would be.
#[track_caller]
fn expect_completed(port: u16, bytes: &[u8], reason: Reason, to: u32) -> Vec<u8> {
    let mut program = rich();
    let (found, outcome) = program.answered(port, bytes, false);
    assert_eq!(found, reason);
    let Outcome::Process { frame, l4_port } = outcome else { panic!("{outcome:?}") };
    let header = program.punted(port, bytes);
    let again = PacketOut::resume(&header, l4_port).before(&frame);
    match program.process(CPU_PORT as u16, &again) {
        Fate::Sent(port, bytes) => {
            assert_eq!(port, to);
            assert_eq!(checksum_fault(&bytes), None);
            bytes
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_for_hosts() {
    let quoted = |next_hdr, payload: &[u8]| {
        let mut f = transit();
        (f.scion.next_hdr, f.scion.payload) = (next_hdr, payload.to_vec());
        f.scion.pack()
    };
    let udp = quoted(UDP, &udp_payload(0x1234, 5, b""));
    let echo = quoted(SCMP, &[128, 0, 0, 0, 0x12, 0x34, 0, 0]);
    let with = |scmp_type: u8, info: usize, quote: &[u8]| {
        let mut f = inbound();
        f.scion.next_hdr = SCMP;
        f.scion.payload = [&[scmp_type, 0, 0, 0][..], &vec![0; info], quote].concat();
        f.pack()
    };
    let traceroute = quoted(SCMP, &traceroute());
    let extended = {
        let mut f = transit();
        f.scion.extensions = vec![(HOP_BY_HOP, vec![0, 0, 1, 0])];
        f.scion.pack()
    };
    for (bytes, port) in [
        (with(1, 4, &udp), 0x1234),
        (with(2, 4, &udp), 0x1234),
        (with(4, 4, &echo), 0x1234),
        (with(5, 16, &traceroute), 0x1234),
        (with(6, 24, &udp), 0x1234),
        (with(6, 24, &extended), 30041),
    ] {
        let sent = expect_completed(4, &bytes, Reason::ScmpError, INTERNAL_PORT.into());
        assert_eq!((&sent[30..34], &sent[36..38]), (&[10, 0, 0, 81][..], &u16::to_be_bytes(port)[..]));
    }
    for bytes in [
        with(1, 3, &udp),
        with(4, 4, &udp[..udp.len() - 1]),
        with(4, 4, &quoted(UDP, &udp_payload(0, 5, b""))),
        with(4, 4, &quoted(SCMP, &[129, 0, 0, 0, 0x12, 0x34, 0, 0])),
        with(4, 4, &quoted(SCMP, &[4, 0, 0, 0, 0x12, 0x34, 0, 0])),
        with(4, 4, &quoted(SCMP, &[130, 0, 0, 0, 0x12, 0x34, 0, 0])),
        with(4, 4, &quoted(77, &[0; 30])),
        with(4, 4, &udp[..20]),
        with(4, 4, &[]),
    ] {
        assert_eq!(rich().answered(4, &bytes, false).1, Outcome::Drop(Silence::NoPort));
    }
}

#[test]
fn ip_options_are_taken_away() {
    let f = transit();
    let plain = f.pack();
    let mut bytes = plain[..34].to_vec();
    bytes[14] = 0x47;
    bytes.extend([1; 8]);
    bytes[16..18].copy_from_slice(&(plain.len() as u16 - 14 + 8).to_be_bytes());
    bytes[24..26].fill(0);
    let checksum = packet::internet_checksum(&bytes[14..42]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(&plain[34..]);
    let sent = expect_completed(4, &bytes, Reason::IpOptions, 2);
    let Fate::Sent(2, wanted) = rich().process(4, &plain) else { panic!() };
    assert_eq!(hex(&sent), hex(&wanted));
    bytes[24] ^= 1;
    assert_eq!(rich().answered(4, &bytes, false).1, Outcome::Drop(Silence::Malformed));
}

#[test]
fn checksums_for_ipv6() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 3), (1, 0)])]);
    let mut f = frame(PARENT, (FAR, IsdAs(5)), path);
    let Fate::Sent(3, wanted) = rich().process(4, &f.pack()) else { panic!() };
    f.udp_checksum = false;
    assert_eq!(hex(&expect_completed(4, &f.pack(), Reason::NoUdpChecksum, 3)), hex(&wanted));
}

#[test]
fn over_ipv6() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (3, 77), (1, 0)])]);
    let f = frame(CHILD6, (FAR, IsdAs(5)), path);
    expect(3, &f, Reason::UnknownEgress, &problem(50, INFOS + 8 + 12), nothing, to_outside);
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
    let (reason, outcome) = rich().answered(INTERNAL_PORT, &ends(HOST.0, HOST.1).around(&request), false);
    let back = Envelope { dst_mac: OTHER_MAC, src_mac: ROUTER_MAC, ttl: 64, tos: 0, ..ends(HOST.1, HOST.0) };
    let wanted = Outcome::Stun(back.around(&stun::response(&id, HOST.0.parse().unwrap())));
    assert_eq!((reason, outcome), (Reason::Stun, wanted));
    // A request whose transaction id is the header of an empty path, and which is as long as that.
    let software = [&[0x80, 0x22, 0, 60][..], &[7; 60]].concat();
    let longer = [&request[..2], &72u16.to_be_bytes(), &request[4..8], &[0; 12], &software, &request[20..]].concat();
    assert_eq!(rich().punted(INTERNAL_PORT, &ends(HOST.0, HOST.1).around(&longer)).reason, Reason::Stun as u8);
    // The program only looks at the beginning, the agent at everything.
    let (_, outcome) = rich().answered(INTERNAL_PORT, &ends(HOST.0, HOST.1).around(&longer), false);
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
    let (_, outcome) = rich().answered(INTERNAL_PORT, &ends("10.0.0.97:0", INTERNAL).around(&request), false);
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
            let router = Router { links: &program.links, authenticate: seed % 2 == 0, secret_value: None };
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
