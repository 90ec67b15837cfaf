use super::*;
use crate::filter::test_frames;

/// Runs a filter as the kernel does: an interpreter of the instructions used here. A load beyond the packet drops
/// it.
fn run(filter: &Filter, packet: &[u8], packet_type: u32, tagged: bool) -> bool {
    run_tagged(filter, packet, packet_type, tagged.then_some(5))
}

fn run_tagged(filter: &Filter, packet: &[u8], packet_type: u32, tag: Option<u16>) -> bool {
    run_at(filter, packet, 0, 1, packet_type, tag)
}

/// Like [`run`], with the socket's data beginning at an offset of the frame.
fn run_at(filter: &Filter, frame: &[u8], start: usize, interface: u32, packet_type: u32, tag: Option<u16>) -> bool {
    let packet = &frame[start..];
    let (mut a, mut x, mut pc) = (0u32, 0u32, 0usize);
    let byte = |at: u32| {
        let network = at.wrapping_sub(NETWORK_HEADER);
        let byte = if network < 100 { frame.get((NETWORK + network) as usize) } else { packet.get(at as usize) };
        byte.map(|b| u32::from(*b))
    };
    let load = |at: u32, bytes: u32| (0..bytes).try_fold(0, |v, i| Some(v << 8 | byte(at + i)?));
    loop {
        let i = filter.0[pc];
        pc += 1;
        let value = match i.code {
            LOAD_BYTE if i.operand == PACKET_TYPE => Some(packet_type),
            LOAD_BYTE if i.operand == VLAN_TAG_PRESENT => Some(u32::from(tag.is_some())),
            LOAD_WORD if i.operand == INTERFACE => Some(interface),
            LOAD_HALF if i.operand == VLAN_TAG => Some(u32::from(tag.unwrap_or(0))),
            LOAD_BYTE => load(i.operand, 1),
            LOAD_HALF => load(i.operand, 2),
            LOAD_WORD => load(i.operand, 4),
            LOAD_HALF_INDEXED => load(i.operand + x, 2),
            LOAD_BYTE_INDEXED => load(i.operand + x, 1),
            LOAD_LENGTH => Some(packet.len() as u32),
            SUBTRACT_INDEX => Some(a.wrapping_sub(x)),
            LOAD_INDEX => {
                x = i.operand;
                continue;
            }
            LOAD_INDEX_HEADER_LENGTH => {
                let Some(b) = byte(i.operand) else { return false };
                x = (b & 15) * 4;
                continue;
            }
            AND => Some(a & i.operand),
            JUMP => {
                pc += i.operand as usize;
                continue;
            }
            JUMP_EQUAL | JUMP_NOT_LESS => {
                let yes = match i.code {
                    JUMP_EQUAL => a == i.operand,
                    _ => a >= i.operand,
                };
                pc += usize::from(if yes { i.if_true } else { i.if_false });
                continue;
            }
            RETURN => return i.operand != 0,
            other => panic!("opcode {other:#x}"),
        };
        match value {
            Some(v) => a = v,
            None => return false,
        }
    }
}

fn v4(dst: [u8; 4], port: u16, options: usize) -> Vec<u8> {
    test_frames::udp4([0; 6], dst, port, options)
}

fn v6(dst: &str, port: u16) -> Vec<u8> {
    test_frames::udp6([0; 6], dst.parse().unwrap(), port)
}

#[test]
fn passes_what_is_ours_and_nothing_else() {
    let f = Filter::udp_destinations(&test_frames::ours()).unwrap();
    let pass = |p: &[u8]| run(&f, p, 0, false);
    test_frames::check_destinations([0; 6], pass);

    let good = v4([192, 0, 2, 1], 30042, 0);
    assert!(!run(&f, &good, 3, false), "another host's frame");
    assert!(!run(&f, &good, 0, true), "a VLAN's frame");
    assert!(run_tagged(&f, &good, 0, Some(0x6000)), "only a priority");
    let change = |at: usize, to: u8| {
        let mut p = good.clone();
        p[at] = to;
        pass(&p)
    };
    assert!(!change(13, 6), "ARP");
    assert!(!change(14, 0x65), "version 6 in IPv4");
    assert!(!change(20, 0x20), "first fragment");
    assert!(!change(21, 1), "later fragment");
    assert!(!change(20, 0), "what may be fragments");
    assert!(!change(23, 6), "TCP");
    for cut in 0..38 {
        assert!(!pass(&good[..cut]), "cut to {cut}");
    }
}

#[test]
fn packet_sockets_see_fragments_over_ipv6() {
    let fragment = |protocol: u8| {
        let mut frame = v6("fd00::9", 1);
        frame[20] = 44;
        frame[54] = protocol;
        frame
    };
    let few: Vec<(IpAddr, u16)> = vec![("192.0.2.1".parse().unwrap(), 5), ("fd00::1".parse().unwrap(), 5)];
    // With this many, the filter compares ports only.
    let many: Vec<(IpAddr, u16)> = (0..4000).map(|i: u16| ([0xfd, 0, 0, 0, 0, 0, 0, i].into(), i)).collect();
    let pattern = Pattern { bytes: vec![(4, vec![203])] };
    for destinations in [&few, &many] {
        let [urgent, others] = Filter::divided(destinations, &pattern).unwrap();
        for filter in [&Filter::udp_destinations(destinations).unwrap(), &others] {
            assert!(run(filter, &fragment(17), 0, false) && !run(filter, &fragment(6), 0, false));
            assert!(!run(filter, &fragment(17), 3, false), "another host's frame");
        }
        assert!(!run(&urgent, &fragment(17), 0, false));
    }
    assert!(!run(&Filter::udp_destinations(&few[..1]).unwrap(), &fragment(17), 0, false), "only IPv4");
}

#[test]
fn ether_types_pass() {
    let f = Filter::of(&FrameMatch::EtherTypes(vec![0xd1f0, 0x88b5])).unwrap().unwrap();
    let frame = |ether_type: [u8; 2]| [&[2; 12][..], &ether_type, &[0; 4]].concat();
    for packet_type in 0..3 {
        assert!(run(&f, &frame([0xd1, 0xf0]), packet_type, false) && run(&f, &frame([0x88, 0xb5]), packet_type, false));
        assert!(!run(&f, &frame([8, 0]), packet_type, false));
    }
    assert!(!run(&f, &frame([0xd1, 0xf0]), 3, false), "another host's frame");
    assert!(!run(&f, &frame([0xd1, 0xf0]), 0, true), "a VLAN's frame");
    assert!(run_tagged(&f, &frame([0xd1, 0xf0]), 0, Some(0x6000)), "only a priority");
    assert_eq!(Filter::of(&FrameMatch::Everything), Ok(None));
    assert_eq!(Filter::ether_types(&[7; 3000]), Err(TooLong(6011)));
}

#[test]
fn a_pattern_divides_what_is_ours() {
    let ours = [("192.0.2.1".parse().unwrap(), 30042), ("fd00::1".parse().unwrap(), 50000)];
    let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2, 9])] };
    let [matching, others] = Filter::divided(&ours, &pattern).unwrap();
    let mut seen = [0; 3];
    for start in [v4([192, 0, 2, 1], 30042, 0), v6("fd00::1", 50000)] {
        // Up to the payload.
        let start = &start[..start.len() - if start[12] == 8 { 4 } else { 0 }];
        for (protocol, kind, want) in [(203, 0, true), (203, 2, true), (203, 9, true), (203, 1, false), (17, 2, false)]
        {
            let whole = [start, &[0, 0, 0, 0, protocol, 0, 0, 0, kind, 0]].concat();
            for length in 0..=whole.len() {
                let packet = &whole[..length];
                let all = run(&Filter::udp_destinations(&ours).unwrap(), packet, 0, false);
                let [is, other] = [&matching, &others].map(|f| run(f, packet, 0, false));
                assert_eq!(u8::from(is) + u8::from(other), u8::from(all), "{length} of {whole:?}");
                assert_eq!(is, all && want && length > start.len() + 8, "{length} of {whole:?}");
                seen[usize::from(is) + 2 * usize::from(other)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 10), "{seen:?}");
    let elsewhere = [&v4([192, 0, 2, 2], 30042, 0)[..42], &[0, 0, 0, 0, 203, 0, 0, 0, 0, 0]].concat();
    assert!(!run(&matching, &elsewhere, 0, false) && !run(&others, &elsewhere, 0, false));
}

#[test]
fn a_socket_drops_just_what_raw_ports_take() {
    let ours: [(IpAddr, u16); 2] = [("192.0.2.1".parse().unwrap(), 30042), ("fd00::1".parse().unwrap(), 30042)];
    let pattern = Pattern { bytes: vec![(0, vec![203])] };
    let raw = |index: u32, takes: Takes| RawDevice { index, mtu: 1500, addresses: ours.into_iter().collect(), takes };
    let mut devices: Vec<_> = (10..400).map(|index| raw(index, Takes::All)).collect();
    devices.extend((400..600).map(|index| raw(index, Takes::Only(pattern.clone()))));
    devices.push(raw(600, Takes::Nothing));
    let by_packets = Filter::udp_destinations(&ours).unwrap();
    let [urgent, _] = Filter::divided(&ours, &pattern).unwrap();

    let mut frames = Vec::new();
    for first in [203, 7] {
        let with = |mut frame: Vec<u8>, udp: usize| {
            frame.resize(udp + 8 + 20, first);
            (udp, frame)
        };
        let v4 = || v4([192, 0, 2, 1], 30042, 0);
        let v6 = || v6("fd00::1", 30042);
        let changed = |mut frame: Vec<u8>, at: usize, to: u8| {
            frame[at] = to;
            frame
        };
        frames.extend([with(v4(), 34), with(v6(), 54)]);
        // Fragmentation allowed, IP options, extension headers, longer than the MTU.
        frames.extend([with(changed(v4(), 20, 0), 34), with(changed(v4(), 14, 0x46), 38)]);
        frames.extend([with(changed(v6(), 20, 0), 62)]);
    }
    let mut seen = [0; 2];
    for (udp, frame) in &frames {
        let ipv4 = frame[12] == 8;
        let raw: Vec<_> = devices.iter().collect();
        let filter = Filter::but_raw(&raw, ipv4, None).unwrap().unwrap();
        for (index, taken) in
            [(10, &by_packets), (211, &by_packets), (399, &by_packets), (400, &urgent), (599, &urgent)]
        {
            let by_raw = run(taken, frame, 0, false);
            assert_eq!(run_at(&filter, frame, *udp, index, 0, None), !by_raw, "{index}: {frame:?}");
            seen[usize::from(by_raw)] += 1;
            assert!(run_at(&filter, frame, *udp, index, 1, None), "for all hosts");
        }
        for other in [1, 9, 600, 601] {
            assert!(run_at(&filter, frame, *udp, other, 0, None), "{other}");
        }
        // Restricted to some devices.
        let strict = Filter::but_raw(&raw, ipv4, Some(&[600, 700])).unwrap().unwrap();
        for (other, passes) in [(1, true), (600, true), (700, true), (601, false)] {
            assert_eq!(run_at(&strict, frame, *udp, other, 0, None), passes, "{other}");
        }
    }
    assert!(seen.iter().all(|n| *n > 5), "{seen:?}");
    // Beside a port that takes every frame, only reassembled datagrams are left.
    let every = raw(10, Takes::Frames);
    let (v4_filter, v6_filter) = (
        Filter::but_raw(&[&every], true, None).unwrap().unwrap(),
        Filter::but_raw(&[&every], false, None).unwrap().unwrap(),
    );
    for (udp, frame) in &frames {
        let (ipv4, extended) = (frame[12] == 8, frame[12] != 8 && frame[20] != 17);
        let filter = if ipv4 { &v4_filter } else { &v6_filter };
        for packet_type in [0, 1] {
            assert_eq!(run_at(filter, frame, *udp, 10, packet_type, None), extended, "{frame:?}");
        }
        assert!(run_at(filter, frame, *udp, 11, 0, None), "another device");
        let mut long = frame.clone();
        let (at, length) = if ipv4 { (16, 1501u16) } else { (18, 1461) };
        long[at..at + 2].copy_from_slice(&length.to_be_bytes());
        assert!(run_at(filter, &long, *udp, 10, 0, None), "{frame:?}");
    }
    // Over IPv6, a datagram longer than the MTU arrived in fragments.
    let filter = Filter::but_raw(&[&devices[0]], false, None).unwrap().unwrap();
    for (length, passes) in [(1460, false), (1461, true)] {
        let mut frame = v6("fd00::1", 30042);
        frame[18..20].copy_from_slice(&u16::to_be_bytes(length));
        assert_eq!(run_at(&filter, &frame, 54, 10, 0, None), passes);
    }
    assert_eq!(Filter::but_raw(&[&devices[590]], true, None), Ok(None));
    assert_eq!(Filter::but_raw(&[], true, None), Ok(None));
}

#[test]
fn neighbour_answers_pass_and_questions_do_not() {
    let f = Filter::neighbour_answers();
    let arp = |operation: u8| [vec![0; 12], vec![8, 6, 0, 1, 8, 0, 6, 4, 0, operation], vec![0; 20]].concat();
    assert!(run(&f, &arp(2), 0, false));
    assert!(!run(&f, &arp(1), 0, false));
    assert!(!run(&f, &arp(2), 1, false), "a broadcast");
    assert!(!run(&f, &arp(2), 0, true), "a VLAN's frame");
    let ipv6 = |next_header: u8, icmp_type: u8| {
        [vec![0; 12], vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, next_header], vec![0; 33], vec![icmp_type; 24]].concat()
    };
    assert!(run(&f, &ipv6(58, 136), 0, false));
    assert!(!run(&f, &ipv6(58, 135), 0, false));
    assert!(!run(&f, &ipv6(17, 136), 0, false));
    assert!(!run(&f, &v4([192, 0, 2, 1], 2, 0), 0, false));
}

#[test]
fn many_destinations_work() {
    let all = |n: u16| (0..n).map(|i| ([10, 0, (i >> 8) as u8, i as u8].into(), 1000 + i)).collect::<Vec<_>>();
    let f = Filter::udp_destinations(&all(400)).unwrap();
    assert!(run(&f, &v4([10, 0, 1, 143], 1399, 0), 0, false));
    assert!(!run(&f, &v4([10, 0, 1, 143], 1398, 0), 0, false));
    // With more destinations, the filter compares ports only.
    let many = all(4096);
    let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2])] };
    let [urgent, others] = Filter::divided(&many, &pattern).unwrap();
    let f = Filter::udp_destinations(&many).unwrap();
    assert!(f.instructions().len() <= MAX);
    for (address, port) in &many {
        let IpAddr::V4(address) = address else { unreachable!() };
        let frame = v4(address.octets(), *port, 0);
        assert!(run(&f, &frame, 0, false) && run(&others, &frame, 0, false) && !run(&urgent, &frame, 0, false));
    }
    assert!(!run(&f, &v4([10, 0, 1, 143], 999, 0), 0, false), "another port");
    assert!(!run(&f, &v4([10, 0, 1, 143], 1399, 0), 1, false), "not for this host");
    let scattered: Vec<_> = (0..4096).map(|i: u16| ([10, 0, (i >> 8) as u8, i as u8].into(), 1000 + 3 * i)).collect();
    let f = Filter::udp_destinations(&scattered).unwrap();
    assert!(f.instructions().len() <= MAX);
    assert!((0..4096).all(|i: u16| run(&f, &v4([10, 0, 0, 1], 1000 + 3 * i, 0), 0, false)));
    let one_address: Vec<_> = (0..1500).map(|p| ("fd00::1".parse().unwrap(), p)).collect();
    let f = Filter::udp_destinations(&one_address).unwrap();
    assert!(run(&f, &v6("fd00::1", 1499), 0, false));
    assert!(!run(&f, &v6("fd00::1", 1500), 0, false));
    assert!(!run(&Filter::nothing(), &v6("fd00::1", 1499), 0, false));
    let none = Filter::udp_destinations(&[]).unwrap();
    assert!(!run(&none, &v6("fd00::1", 1499), 0, false));
}
