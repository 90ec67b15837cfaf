//! SCMP errors: which packets get which, and what they quote.

use super::*;

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
    let (reason, Outcome::Reply(kind, sent)) = rich().answered(4, &bytes, None) else { panic!() };
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
    let (reason, outcome) = program.answered(4, &f.pack(), None);
    assert_eq!(reason, Reason::InterfaceDown);
    let message = [&[6, 0, 0, 0][..], &LOCAL.0.to_be_bytes(), &4u64.to_be_bytes(), &12u64.to_be_bytes()].concat();
    let Outcome::Reply(_, bytes) = outcome else { panic!("{outcome:?}") };
    assert_eq!(hex(&bytes), hex(&back(&f, &message, &f, to_outside)));
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
    let (_, Outcome::Reply(_, bytes)) = rich().answered(4, &f.pack(), Some(&ZERO_KEYS)) else { panic!() };
    assert_eq!(bytes.len() - 42, 1232);
    let (_, Outcome::Reply(_, bytes)) = rich().answered(4, &f.pack(), None) else { panic!() };
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

/// An EPIC packet is answered over a plain path; pointers count as if it had one.
#[test]
fn epic_packets() {
    let mut plain = transit();
    path(&mut plain).segments[0].hops[1].mac[0] ^= 1;
    let mut epic = plain.clone();
    let path = path(&mut plain).clone();
    epic.scion.path = Path::Epic(Epic::sent_at(NOW_US, NOW - 100), path);
    let (_, Outcome::Reply(kind, to_plain)) = rich().answered(4, &plain.pack(), None) else { panic!() };
    let (reason, Outcome::Reply(same, to_epic)) = rich().answered(4, &epic.pack(), None) else { panic!() };
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
fn over_ipv6() {
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &[(0, 9), (3, 77), (1, 0)])]);
    let f = frame(CHILD6, (FAR, IsdAs(5)), path);
    expect(3, &f, Reason::UnknownEgress, &problem(50, INFOS + 8 + 12), nothing, to_outside);
}
