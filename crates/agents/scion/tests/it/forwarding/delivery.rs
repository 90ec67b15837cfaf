//! Packets for hosts and services of the AS: addresses, ports, extension headers.

use super::*;

/// The range without a port.
const NO_PORT: std::ops::RangeInclusive<u16> = std::ops::RangeInclusive::new(1, 0);

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

/// With `dispatched_ports = "specification"`, ports outside of the range are the dispatcher's.
#[test]
fn ports_of_the_dispatcher() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine, &rich_links(false), &rich_hosts(false));
        let mut delivered_to = |range, port| {
            tables::set_dispatched_ports(&router.vdp, range).unwrap();
            let mut f = inbound();
            f.scion.payload = udp_payload(30041, port, b"x");
            let Fate::Sent(INTERNAL, bytes) = router.process(2, &f.pack()) else { panic!() };
            u16::from_be_bytes([bytes[36], bytes[37]])
        };
        const INTERNAL: u32 = INTERNAL_PORT as u32;
        for (range, port, wanted) in [
            (None, 80, 80),
            (Some(31000..=32767), 30999, 30041),
            (Some(31000..=32767), 31000, 31000),
            (Some(31000..=32767), 32767, 32767),
            (Some(31000..=32767), 32768, 30041),
            (Some(1..=65535), 80, 80),
            (Some(NO_PORT), 31000, 30041),
            (None, 65535, 65535),
        ] {
            assert_eq!(delivered_to(range.clone(), port), wanted, "{range:?} {port}");
        }
        // A service is at its own port.
        tables::set_dispatched_ports(&router.vdp, Some(NO_PORT)).unwrap();
        let mut f = inbound();
        f.scion.dst = Host::Service(2);
        let Fate::Sent(INTERNAL, bytes) = router.process(2, &f.pack()) else { panic!() };
        assert_eq!(u16::from_be_bytes([bytes[36], bytes[37]]), 30252);
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
