//! Packets in transit: segments, changes of segments, peering, all lengths of addresses.

use super::*;

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
    let mut service = f.clone();
    service.scion.src = Host::Service(2);
    expect_reason(INTERNAL_PORT, &service.pack(), Reason::InvalidSourceHost);
    let mut strange = f.clone();
    strange.scion.src = Host::Raw(0, vec![0; 8]);
    expect_reason(INTERNAL_PORT, &strange.pack(), Reason::InvalidSourceHost);
    // By an interface of a sibling: it came to the wrong router.
    let path = ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, 12), (1, 0)])]);
    let wrong = frame("10.0.0.97:30041", INTERNAL, (LOCAL, IsdAs(5)), path);
    expect_reason(INTERNAL_PORT, &wrong.pack(), Reason::UnknownEgress);
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
