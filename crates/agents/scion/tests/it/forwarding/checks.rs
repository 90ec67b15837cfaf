//! Packets that are refused, and why; packets from the agent.

use super::*;

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

/// As in the reference, which decodes the version and does not compare it.
#[test]
fn the_version_is_ignored() {
    const VERSION: usize = 14 + 20 + 8;
    let mut other = changed(|_| {});
    other[VERSION] |= 0x50;
    for router in rich().iter_mut() {
        let Fate::Sent(2, sent) = router.process(4, &other) else { panic!("it is not forwarded") };
        assert_eq!(sent[VERSION], other[VERSION]);
    }
}

/// The router's buffers are made without asking the program.
#[test]
fn the_program_adds_no_more_than_packet_buffers_have_room_for() {
    assert!(rich()[0].vdp.headroom() <= hopwright_dataplane::packet::DEFAULT_HEADROOM);
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
