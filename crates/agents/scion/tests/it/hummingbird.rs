//! Path type Hummingbird: what the reference router did with packets, and what this one does. tests/interop/hummingbird records the
//! former.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::WITH_HUMMINGBIRD;
use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, Verdict, VirtualDataPlane};
use hopwright_scion::config::links::Links;
use hopwright_scion::control::program::{CPU_PORT, PacketIn, Reason};
use hopwright_scion::control::tables;
use hopwright_scion::packet::ia::IsdAs;
use hopwright_scion::packet::{
    self, Envelope, Flyover, Frame, Hop, Host, HummingbirdPath, Info, Path, Scion, ScionPath, Segment, Sent,
    checksum_fault, udp_payload,
};
use hopwright_scion::scmp::{Outcome, Router as Scmp, answer};
use hopwright_scion::synthetic::{self, INTERNAL_PORT, OTHER_MAC, ROUTER_MAC, rich_hosts, rich_links};
use serde::Deserialize;

/// The queue of packets with a valid reservation.
const RESERVED_PRIORITY: u8 = 7;

struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
    links: Links,
}

impl Router {
    fn new(kind: EngineKind, v6: bool) -> Router {
        let vdp = WITH_HUMMINGBIRD.data_plane(kind);
        let links = rich_links(v6);
        synthetic::program(&vdp, &links, &rich_hosts(v6)).unwrap();
        tables::set_secret_value(&vdp, &synthetic::secret_value()).unwrap();
        let executor = Executor::new(vdp.clone());
        Router { vdp, executor, pool: Pool::new(8, FrameSize::JUMBO).unwrap(), links }
    }

    fn process(&mut self, port: u16, frame: &[u8], now_us: u64) -> Packet {
        tables::set_clock(&self.vdp, &self.links, now_us).unwrap();
        let mut packet = self.pool.take_filled(frame).unwrap();
        packet.set_ingress_port(port.into());
        let mut batch = [packet];
        self.executor.process_batch(&mut batch, now_us);
        let [packet] = batch;
        packet
    }

    /// Compiles traces for the paths of packets, as a running router does.
    fn learn(&mut self, records: &[Record]) {
        let learned = records.iter().filter(|record| record.result == "forward").take(48);
        self.vdp.start_profiling(48).unwrap();
        for record in learned {
            let (port, frame) = record.frame(&self.links);
            let packet = self.process(port, &frame, record.now_us);
            self.pool.give(packet);
        }
        let traces = self.vdp.respecialise().unwrap().unwrap();
        assert!(traces.covered > 12, "{traces:?}");
    }

    /// Forgets all reservations that have been seen.
    fn forget(&self) {
        let times = self.vdp.control().register("reservation_time").unwrap();
        let cells = (0..).take_while(|at| times.write(*at, 0u8).is_ok()).count();
        assert_eq!(cells, 65536);
    }

    /// Packets by what became of their reservation.
    fn outcomes(&self) -> [u64; 8] {
        let cells = self.vdp.control().counter("flyovers").map(|c| c.read_range(0..8 << 5)).unwrap();
        std::array::from_fn(|outcome| cells.iter().skip(outcome).step_by(8).map(|cell| cell.packets).sum())
    }
}

/// A packet, and what the reference did with it.
#[derive(Debug, Deserialize)]
struct Record {
    from: String,
    now_us: u64,
    packet: String,
    result: String,
    #[serde(default)]
    egress: u16,
    #[serde(default)]
    priority: bool,
    #[serde(default)]
    out: String,
    #[serde(default)]
    answer: String,
    what: String,
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Record {
    /// The port by which it comes, and the frame.
    fn frame(&self, links: &Links) -> (u16, Vec<u8>) {
        let (kind, id) = self.from.split_once(':').unwrap_or((&self.from, "0"));
        let id: u16 = id.parse().unwrap();
        let (port, src, dst) = match kind {
            "ext" => {
                let link = links.interface(id).unwrap();
                (id, link.underlay.remote, link.underlay.local)
            }
            "sib" => (INTERNAL_PORT, sibling(links, id), links.internal),
            _ => (INTERNAL_PORT, "10.0.0.81:50000".parse().unwrap(), links.internal),
        };
        let envelope =
            Envelope { dst_mac: ROUTER_MAC, src_mac: OTHER_MAC, src, dst, ttl: 64, tos: 0, udp_checksum: true };
        (port, envelope.around(&from_hex(&self.packet)))
    }
}

/// The sibling router that has an interface.
fn sibling(links: &Links, interface: u16) -> SocketAddr {
    links.siblings.iter().find(|s| s.interfaces.iter().any(|(id, _)| *id == interface)).unwrap().address
}

/// Where a frame goes: the address of its UDP datagram, and the payload.
fn sent_to(frame: &[u8]) -> (SocketAddr, &[u8]) {
    let (ip, udp) = match frame[12] {
        0x08 => (IpAddr::from(<[u8; 4]>::try_from(&frame[30..34]).unwrap()), 34),
        _ => (IpAddr::from(<[u8; 16]>::try_from(&frame[38..54]).unwrap()), 54),
    };
    (SocketAddr::new(ip, u16::from_be_bytes([frame[udp + 2], frame[udp + 3]])), &frame[udp + 8..])
}

/// What this router does with a packet, as the reference's record would have it.
fn ours(router: &mut Router, record: &Record) -> (String, Packet) {
    let (port, frame) = record.frame(&router.links);
    let packet = router.process(port, &frame, record.now_us);
    let result = match (packet.verdict(), packet.egress_port()) {
        (Verdict::Forward, CPU_PORT) => {
            let (_, punted) = PacketIn::split(packet.bytes()).unwrap();
            assert_eq!(hex(punted), hex(&frame), "a punted packet must be as it came: {}", record.what);
            "slow"
        }
        (Verdict::Forward, _) => {
            assert_eq!(checksum_fault(packet.bytes()), None, "{}", record.what);
            "forward"
        }
        _ => "drop",
    };
    (result.into(), packet)
}

/// A packet without the reserved bits of info and hop fields, which the reference clears where it writes a field.
fn without_reserved_bits(packet: &[u8]) -> String {
    let mut packet = packet.to_vec();
    let meta = u32::from_be_bytes(packet[36..40].try_into().unwrap());
    let lengths = [14, 7, 0].map(|shift| (meta >> shift & 0x7f) as usize);
    let mut at = 48;
    for _ in lengths.iter().filter(|length| **length != 0) {
        packet[at] &= 3;
        packet[at + 1] = 0;
        at += 8;
    }
    let end = at + 4 * lengths.iter().sum::<usize>();
    while at < end {
        packet[at] &= 0x83;
        at += if packet[at] & 0x80 == 0 { 12 } else { 20 };
    }
    hex(&packet)
}

/// The lengths of a path's segments, in words.
fn segment_lengths(packet: &[u8]) -> [usize; 3] {
    let meta = u32::from_be_bytes(packet[36..40].try_into().unwrap());
    [14, 7, 0].map(|shift| (meta >> shift & 0x7f) as usize)
}

/// Whether each segment consists of whole hop fields.
fn is_aligned(packet: &[u8]) -> bool {
    let lengths = segment_lengths(packet);
    let mut at = 48 + 8 * lengths.iter().filter(|length| **length != 0).count();
    let mut end = at;
    lengths.iter().all(|length| {
        end += 4 * length;
        while at < end {
            at += if packet.get(at).is_some_and(|flags| flags & 0x80 != 0) { 20 } else { 12 };
        }
        at == end
    })
}

/// Whether the reference may do otherwise with a packet, and why. docs/scion-router.md has the list.
fn may_differ(record: &Record, ours: &str, packet: &Packet) -> Option<&'static str> {
    let bytes = from_hex(&record.packet);
    if ours == "drop" && 4 * usize::from(bytes[5]) + 8 > bytes.len() {
        return Some("the reference compares lengths before it looks for a UDP header");
    }
    if ours != "forward" && !is_aligned(&bytes) {
        return Some(
            "the reference looks at the current hop field only, whether or not all are whole in their segments",
        );
    }
    if ours == "drop" && segment_lengths(&bytes).iter().any(|words| (1..6).contains(words)) {
        return Some("the reference forwards on a path with a segment of a single hop");
    }
    let reason = (ours == "slow").then(|| PacketIn::split(packet.bytes()).unwrap().0.reason);
    if reason == Some(Reason::UnknownEgress as u8) && record.result == "forward" && record.egress == 0 {
        return Some("the reference delivers by interface 0 what is for another AS");
    }
    if reason == Some(Reason::InvalidDestinationIa as u8) && record.result == "slow" && !record.from.starts_with("ext")
    {
        return Some("from inside, the reference answers a wrong destination as if it were a wrong source");
    }
    None
}

fn replay(kind: EngineKind, records: &[Record]) -> BTreeMap<String, usize> {
    let mut router = Router::new(kind, false);
    if kind == EngineKind::Jit {
        router.learn(records);
    }
    let (mut tally, mut wrong) = (BTreeMap::new(), Vec::new());
    for (number, record) in records.iter().enumerate() {
        if number % 64 == 0 {
            router.forget();
        }
        let (mut result, mut packet) = ours(&mut router, record);
        if record.priority && packet.priority() == 0 {
            // Another reservation may have the bucket.
            router.forget();
            router.pool.give(packet);
            (result, packet) = ours(&mut router, record);
        }
        let mut faults = Vec::new();
        if result != record.result {
            faults.push(format!("{result}, not {}", record.result));
        } else if result == "forward" {
            let (address, payload) = sent_to(packet.bytes());
            let port = packet.egress_port();
            let right_way = match record.egress {
                0 => port == u32::from(INTERNAL_PORT) && address.ip() == "10.0.0.81".parse::<IpAddr>().unwrap(),
                id if router.links.interface(id).is_some() => port == u32::from(id),
                id => port == u32::from(INTERNAL_PORT) && address == sibling(&router.links, id),
            };
            if !right_way {
                faults.push(format!("to {address} by {port}, not to {}", record.egress));
            }
            if without_reserved_bits(payload) != without_reserved_bits(&from_hex(&record.out)) {
                faults.push(format!("\n  ours   {}\n  theirs {}", hex(payload), record.out));
            }
            if (packet.priority() == RESERVED_PRIORITY) != record.priority {
                faults.push(format!("priority {}, not {}", packet.priority(), record.priority));
            }
        } else if result == "slow" {
            faults.extend(compare_answers(&router.links, record, &packet));
        }
        let why = (!faults.is_empty()).then(|| may_differ(record, &result, &packet)).flatten();
        if !faults.is_empty() && why.is_none() {
            wrong.push(format!(
                "{number}: {} from {}: {}\n  packet {}",
                record.what,
                record.from,
                faults.join("; "),
                record.packet
            ));
        }
        *tally.entry(why.map_or(result, str::to_string)).or_default() += 1;
        router.pool.give(packet);
    }
    if kind == EngineKind::Jit {
        let (run, left) = router.vdp.traces().counts();
        // What 48 packets have taught is a part of what many packets do.
        assert!((run - left) as usize > (records.len() / 8).min(500), "{left} of {run} packets left the hot paths");
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), records.len(), wrong[..wrong.len().min(10)].join("\n"));
    tally
}

/// What differs between our answer to a punted packet and the reference's.
fn compare_answers(links: &Links, record: &Record, packet: &Packet) -> Option<String> {
    let (header, frame) = PacketIn::split(packet.bytes()).unwrap();
    let secret_value = synthetic::secret_value();
    let router = Scmp { links, keys: None, secret_value: Some(&secret_value) };
    let reason = Reason::from_number(header.reason).unwrap();
    let theirs = from_hex(&record.answer);
    let ours = match answer(frame, &header, &router, record.now_us) {
        Outcome::Reply(_, frame) => sent_to(&frame).1.to_vec(),
        // The packet itself, without the flag in its current hop field. How far the path has been processed differs.
        Outcome::Bounce(frame) => {
            let head = |packet: &[u8]| hex(&packet[..36]);
            let ours = sent_to(&frame).1;
            return (head(ours) != head(&theirs)).then(|| format!("{reason:?}: {}, not {}", hex(ours), record.answer));
        }
        Outcome::Drop(_) if theirs.is_empty() => return None,
        other => return Some(format!("{reason:?}: {other:?}, theirs {}", record.answer)),
    };
    let (ours, theirs) = (Answer::parse(&ours).unwrap(), Answer::parse(&theirs));
    (Some(&ours) != theirs.as_ref()).then(|| format!("{reason:?}:\n  ours   {ours:x?}\n  theirs {theirs:x?}"))
}

/// What is the same in both answers: all but what depends on the MAC of the current hop, the quote and the checksum.
#[derive(Debug, PartialEq)]
struct Answer {
    head: Vec<u8>,
    meta: Vec<u8>,
    infos: Vec<Vec<u8>>,
    hops: Vec<Vec<u8>>,
    scmp: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Option<Answer> {
        let (end, path) = (4 * usize::from(*bytes.get(5)?), 36);
        let meta = bytes.get(path..path + 12)?;
        let lengths = u32::from_be_bytes(meta[..4].try_into().ok()?);
        let segments = [14, 7, 0].iter().filter(|shift| lengths >> **shift & 0x7f != 0).count();
        let hops = path + 12 + 8 * segments;
        // Payload length depends on the quote, which depends on how much of the packet is quoted.
        let mut head = bytes[..path].to_vec();
        head[6..8].fill(0);
        let scmp = bytes.get(end..end + 8)?;
        Some(Answer {
            head,
            meta: meta.to_vec(),
            infos: bytes.get(path + 12..hops)?.chunks(8).map(|info| [&info[..2], &info[4..]].concat()).collect(),
            hops: bytes.get(hops..end)?.chunks_exact(12).map(|hop| hop[1..6].to_vec()).collect(),
            scmp: [&scmp[..2], &scmp[4..]].concat(),
        })
    }
}

/// Paths of the reference are read, and written again byte by byte.
#[test]
fn paths_of_the_reference() {
    let mut with_reservation = 0;
    for record in all_records().iter().filter(|record| record.what.ends_with("good")) {
        let packet = from_hex(&record.packet);
        let path = &packet[36..4 * usize::from(packet[5])];
        let read = HummingbirdPath::parse(path).unwrap();
        with_reservation += usize::from(read.flyover(read.path.curr_hf.into()).is_some());
        assert_eq!(read.bytes(), path.len());
        for length in 0..path.len() {
            assert_eq!(HummingbirdPath::parse(&path[..length]), None);
        }
        assert_eq!(hex(&read.to_bytes()), hex(path), "{}", record.what);
    }
    assert!(with_reservation > 10);
}

fn records(text: &str) -> Vec<Record> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `HOPWRIGHT_HUMMINGBIRD` is a file with more records.
fn all_records() -> Vec<Record> {
    match std::env::var_os("HOPWRIGHT_HUMMINGBIRD") {
        Some(file) => records(&std::fs::read_to_string(file).unwrap()),
        None => records(include_str!("hummingbird/reference.jsonl")),
    }
}

#[test]
fn as_the_reference() {
    let records = all_records();
    let interp = replay(EngineKind::Interp, &records);
    let jit = replay(EngineKind::Jit, &records);
    assert_eq!(interp, jit);
    println!("{interp:?}");
    assert!(records.iter().filter(|r| r.priority).count() > records.len() / 4);
}

/// Damaged packets: both engines do the same with them, to the last counter, and what is punted is as it came.
#[test]
fn engines_agree_on_damaged_packets() {
    let records = all_records();
    let (mut interp, mut jit) = (Router::new(EngineKind::Interp, false), Router::new(EngineKind::Jit, false));
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    let (mut fates, mut parser_errors) = (BTreeMap::new(), 0);
    for _ in 0..20_000 {
        let record = &records[next(records.len())];
        let (port, mut frame) = record.frame(&interp.links);
        // SCION header and path: most of the time the path meta header, or where the packet ends.
        for _ in 0..1 + next(3) {
            let at = match next(4) {
                0 => 42 + next(frame.len() - 42),
                1 => 42 + 4 + next(6),
                _ => 42 + 36 + next(12.min(frame.len() - 78)),
            };
            frame[at] = if next(2) == 0 { next(256) as u8 } else { frame[at] ^ 1 << next(8) };
        }
        if next(8) == 0 {
            frame.truncate(42 + next(frame.len() - 42));
        }
        let (a, b) = (interp.process(port, &frame, record.now_us), jit.process(port, &frame, record.now_us));
        let state =
            |packet: &Packet| (packet.verdict(), packet.parser_error(), packet.egress_port(), packet.priority());
        if a.verdict() == Verdict::Forward {
            assert_eq!((state(&a), hex(a.bytes())), (state(&b), hex(b.bytes())), "{}", hex(&frame));
            if a.egress_port() == CPU_PORT {
                assert_eq!(PacketIn::split(a.bytes()).unwrap().1, frame);
                let (header, frame) = PacketIn::split(a.bytes()).unwrap();
                let secret_value = synthetic::secret_value();
                let scmp = Scmp { links: &interp.links, keys: None, secret_value: Some(&secret_value) };
                answer(frame, &header, &scmp, record.now_us);
            }
        } else {
            assert_eq!((a.verdict(), a.parser_error()), (b.verdict(), b.parser_error()), "{}", hex(&frame));
        }
        *fates.entry(format!("{:?}", a.verdict())).or_insert(0) += 1;
        parser_errors += u32::from(a.parser_error() != 0);
        interp.pool.give(a);
        jit.pool.give(b);
    }
    assert_eq!(interp.outcomes(), jit.outcomes());
    for counter in ["reasons", "link_in", "link_out", "link_reasons", "link_dropped"] {
        let of = |router: &Router| router.vdp.control().counter(counter).map(|c| c.read_range(0..16 << 10)).unwrap();
        assert_eq!(of(&interp), of(&jit), "{counter}");
    }
    println!("{fates:?}, {parser_errors} parser errors");
    assert!(fates.len() > 1 && parser_errors > 1000);
}

/// A packet of a reservation between two interfaces of this router with this length in bytes.
fn reserved(way: (u16, u16), flyover: Flyover, sent: Sent, bytes: usize) -> Vec<u8> {
    let links = rich_links(false);
    let link = links.interface(way.0).unwrap();
    let info = Info { peering: false, cons_dir: true, seg_id: 7, timestamp: sent.base_timestamp - 100 };
    let hops = vec![Hop::new(0, 1), Hop::new(way.0, way.1), Hop::new(1, 0)];
    let mut path = ScionPath::at(1, vec![Segment { info, hops }]);
    path.sign(synthetic::key().bytes(), true);
    let mut path = HummingbirdPath { sent, path, flyovers: vec![None, Some(flyover)] };
    let dst_ia = IsdAs(0x0002_ff00_0000_0778);
    path.aggregate(synthetic::secret_value().bytes(), dst_ia, bytes as u16);
    let header = 36 + path.bytes();
    let frame = Frame {
        dst_mac: ROUTER_MAC,
        src_mac: OTHER_MAC,
        src: link.underlay.remote,
        dst: link.underlay.local,
        ttl: 64,
        tos: 0,
        udp_checksum: true,
        scion: Scion {
            traffic_class: 0,
            flow_id: 1,
            dst_ia,
            src_ia: IsdAs(0x0002_ff00_0000_0777),
            dst: Host::Ip("10.9.0.1".parse().unwrap()),
            src: Host::Ip("10.8.0.1".parse().unwrap()),
            path: Path::Hummingbird(path),
            extensions: Vec::new(),
            next_hdr: packet::UDP,
            payload: udp_payload(50000, 50000, &vec![0; bytes - header - 8]),
            extra_words: 0,
        },
    };
    frame.pack()
}

/// Each packet of a long sequence becomes what the model of policing.py says.
#[test]
fn policing_as_the_model() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/hummingbird/policing.py");
    let output = std::process::Command::new("python3").args([model, "1", "6000"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for kind in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(kind, false);
        let mut tally = BTreeMap::new();
        for line in String::from_utf8(output.stdout.clone()).unwrap().lines() {
            let (numbers, wanted) = line.rsplit_once(' ').unwrap();
            let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
            let [now_us, res_id, ingress, egress, bandwidth, start, duration, base, millis, bytes] = numbers[..] else {
                panic!("{line}")
            };
            let flyover = Flyover {
                res_id: res_id as u32,
                bandwidth: bandwidth as u16,
                start_offset: base.wrapping_sub(start) as u16,
                duration: duration as u16,
            };
            let sent = Sent { base_timestamp: base as u32, millis_and_counter: (millis << 22) as u32 };
            let way = (ingress as u16, egress as u16);
            let before = router.outcomes();
            let packet = router.process(way.0, &reserved(way, flyover, sent, bytes as usize), now_us);
            assert_eq!((packet.verdict(), packet.egress_port()), (Verdict::Forward, egress as u32), "{line}");
            let outcome = (0..8).find(|i| router.outcomes()[*i] != before[*i]).unwrap();
            let outcome = ["none", "priority", "not_valid", "not_fresh", "over_rate", "no_bucket"][outcome];
            assert_eq!(outcome, wanted, "{line}");
            assert_eq!(packet.priority() == RESERVED_PRIORITY, outcome == "priority", "{line}");
            *tally.entry(outcome).or_insert(0) += 1;
            router.pool.give(packet);
        }
        println!("{tally:?}");
        assert!(tally.len() == 5 && tally.values().all(|count| *count > 50), "{tally:?}");
    }
}
