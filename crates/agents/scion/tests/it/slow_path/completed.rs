//! Packets that the agent completes and passes to the program again.

use super::*;

/// A packet completed by the agent is forwarded as `wanted` would be.
#[track_caller]
fn expect_completed(port: u16, bytes: &[u8], reason: Reason, to: u32) -> Vec<u8> {
    let mut program = rich();
    let (found, outcome) = program.answered(port, bytes, None);
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
        assert_eq!(rich().answered(4, &bytes, None).1, Outcome::Drop(Silence::NoPort));
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
    assert_eq!(rich().answered(4, &bytes, None).1, Outcome::Drop(Silence::Malformed));
}

#[test]
fn checksums_for_ipv6() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (4, 3), (1, 0)])]);
    let mut f = frame(PARENT, (FAR, IsdAs(5)), path);
    let Fate::Sent(3, wanted) = rich().process(4, &f.pack()) else { panic!() };
    f.udp_checksum = false;
    assert_eq!(hex(&expect_completed(4, &f.pack(), Reason::NoUdpChecksum, 3)), hex(&wanted));
}
