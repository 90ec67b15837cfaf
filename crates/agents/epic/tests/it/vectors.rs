//! The packet tests `tests/stf/epic_aes.stf`, `epic_sem.stf` and `epic_tna.stf` are what this library seals and what should become of it: the
//! program is tested against them. With `HOPWRIGHT_WRITE_STF=1` this test writes them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use hopwright_epic::source::{self, Keys, Message, Sealed};
use hopwright_epic::{BeaconHop, Cipher, Host, IsdAs, Key, Level, Packet, PathSegment, drkey};

/// Packet tests begin at this time, seconds since 1970.
const NOW: u32 = 1_700_000_000;
const HOP_KEY: [u8; 16] = [0x2b; 16];
const SECRET: [u8; 16] = [0x7e; 16];

/// Segments from a core AS to one leaf and to another; the router under test is the core AS's, with interfaces 1 and 2.
fn stf(cipher: Cipher) -> String {
    let ia = |number: u64| IsdAs(0x0001_ff00_0000_0110 + number);
    let host = |number: u8| Host(std::net::IpAddr::from([10, 0, 0, number]));
    let key = |byte: u8| Key::from([byte; 16]);
    let (core, leaf) = (Key::from(HOP_KEY), key(0x55));
    let beacon = |ia, key, ingress, egress| BeaconHop { ia, key, ingress, egress };
    let up = [beacon(ia(0), &core, 0, 1), beacon(ia(1), &leaf, 7, 0)];
    let down = [beacon(ia(0), &core, 0, 2), beacon(ia(2), &leaf, 8, 0)];
    let construct = |seg_id, hops: &[_]| PathSegment::construct(cipher, NOW - 60, seg_id, 63, hops);
    let segments = vec![construct(0x1111, &up).reversed(), construct(0x2222, &down)];
    let path = hopwright_epic::Path { cipher, segments };
    // Its second segment is good for 337.5 seconds.
    let short = PathSegment::construct(cipher, NOW - 400, 0x2222, 0, &down);
    let late = hopwright_epic::Path { cipher, segments: vec![construct(0x1111, &up).reversed(), short] };
    let keys_of = |src: Host| {
        let source_key = |secret| drkey::as_host(&drkey::as_as(secret, ia(1)), &src);
        let routers: BTreeMap<IsdAs, Key> =
            [(ia(0), source_key(&Key::from(SECRET))), (ia(1), source_key(&key(0x66))), (ia(2), source_key(&key(0x77)))]
                .into();
        Keys { routers, destination: key(0x88) }
    };
    let keys = keys_of(host(1));
    let six = Host(std::net::IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]));

    let mut out = String::from("# Written by crates/agents/epic/tests/it/vectors.rs.\n\n");
    match cipher {
        Cipher::Aes => writeln!(out, "key_set hop_key 0 0x{}", hex(&HOP_KEY)),
        Cipher::Sem => writeln!(out, "setdefault hop_key set_key(key:0x{})", hex(&HOP_KEY)),
    }
    .unwrap();
    let microseconds = u64::from(NOW) * 1_000_000;
    writeln!(out, "key_set drkey_secret 0 0x{}", hex(&SECRET)).unwrap();
    writeln!(out, "setdefault router router_is(ia:{}, clock_offset:{microseconds}, min_level:0)", ia(0).0).unwrap();
    for interface in [1, 2] {
        writeln!(out, "add links port:{interface} link(interface:{interface}, type:3)").unwrap();
        let macs = format!("dst_mac:0x02000000010{interface}, src_mac:0x02000000000{interface}");
        writeln!(out, "add interfaces interface:{interface} send(port:{interface}, {macs}, type:3)").unwrap();
    }
    for level in Level::ALL {
        let message_from = |src, timestamp| Message {
            level,
            src: (ia(1), src),
            dst: (ia(2), host(2)),
            timestamp,
            counter: 0x0102_0304,
            next_hdr: 17,
            payload: b"payload!".to_vec(),
        };
        let message = |timestamp| message_from(host(1), timestamp);
        let received = |packet: &Packet| frame("020000000001", "020000000101", packet);
        writeln!(
            out,
            "\n# Level {}: good from two hosts, the second hop field wrong, or expired, sent ten seconds ago.",
            level as u8
        )
        .unwrap();
        let mut good = |src| {
            let (arrives, leaves) = crossing(source::seal(message_from(src, NOW), &path, Some(&keys_of(src))).unwrap());
            writeln!(out, "packet 1 {}", received(&arrives)).unwrap();
            writeln!(out, "expect 2 {} $", frame("020000000102", "020000000002", &leaves)).unwrap();
            arrives
        };
        good(six);
        let arrives = good(host(1));
        let mut wrong = arrives.clone();
        wrong.segments[1].hops[0].hvf[3] ^= 1;
        writeln!(out, "packet 1 {}\nno_packet", received(&wrong)).unwrap();
        let mut expired = source::seal(message(NOW), &late, Some(&keys)).unwrap().packet;
        expired.curr_hf = 1;
        writeln!(out, "packet 1 {}\nno_packet", received(&expired)).unwrap();
        let mut old = source::seal(message(NOW - 10), &path, Some(&keys)).unwrap().packet;
        old.curr_hf = 1;
        writeln!(out, "packet 1 {}", received(&old)).unwrap();
        writeln!(out, "expect 510 400{}00010001{} $", level as u8, received(&old)).unwrap();
    }
    writeln!(out, "\n# Another EtherType.\npacket 1 02000000000102000000010108004500\nno_packet").unwrap();
    for (reason, packets) in [(0, 8), (2, 1), (8, 4), (9, 4), (64, 4)] {
        writeln!(out, "check_counter reasons({reason}) packets == {packets}").unwrap();
    }
    out
}

/// A packet as the router receives it, and as it goes on.
fn crossing(sealed: Sealed) -> (Packet, Packet) {
    let mut arrives = sealed.packet;
    // Behind the first router.
    arrives.curr_hf = 1;
    // The core AS takes its hop out of the first segment's chain, and goes on in the second.
    let mut leaves = arrives.clone();
    (leaves.curr_inf, leaves.curr_hf) = (1, 3);
    leaves.segments[0].info.seg_id = 0x1111;
    leaves.segments[1].info.seg_id ^= u16::from_be_bytes(leaves.segments[1].hops[0].chain);
    if arrives.level == Level::L3 {
        leaves.segments[0].hops[1].hvf = sealed.confirmations[1].1;
        leaves.segments[1].hops[0].hvf = sealed.confirmations[2].1;
    }
    (arrives, leaves)
}

/// The test of a program with SEM, as the program for Tofino passes it: levels 2 and 3 are refused, and the CPU has another port.
fn for_tofino(text: &str) -> String {
    let mut out = String::new();
    let mut refused = false;
    for line in text.lines() {
        if let Some(level) = line.strip_prefix("# Level ") {
            refused = level.starts_with(['2', '3']);
        }
        let counted =
            ["reasons(0)", "reasons(8)", "reasons(9)", "reasons(64)"].iter().any(|reason| line.contains(reason));
        let line = match line {
            line if line.starts_with("key_set") => continue,
            line if line.starts_with("setdefault router") => {
                let (ia, _) = line.split_once(", clock").unwrap();
                format!("setdefault clock zero_was(at:{NOW}, rest:0)\n{ia}, min_level:0)")
            }
            line if refused && line.starts_with("# Level") => format!("{}: refused, whatever it has.", &line[..9]),
            line if refused && line.starts_with("expect") => "no_packet".into(),
            line if line.contains("reasons(2)") => format!("{line}\ncheck_counter reasons(4) packets == 10"),
            line if counted => line.replace("== 4", "== 2").replace("== 8", "== 4"),
            line => line.replace("expect 510 ", "expect 64 "),
        };
        if line.starts_with("# Another") {
            refused = false;
        }
        writeln!(out, "{line}").unwrap();
    }
    out
}

fn frame(dst: &str, src: &str, packet: &Packet) -> String {
    format!("{dst}{src}88b5{}", hex(&packet.encode()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn packet_tests_are_what_the_library_seals() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf");
    let tests = [
        (stf(Cipher::Aes), "epic_aes.stf"),
        (stf(Cipher::Sem), "epic_sem.stf"),
        (for_tofino(&stf(Cipher::Sem)), "epic_tna.stf"),
    ];
    for (text, name) in tests {
        if std::env::var_os("HOPWRIGHT_WRITE_STF").is_some() {
            std::fs::write(folder.join(name), &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), text, "{name}");
    }
}
