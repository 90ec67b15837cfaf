//! UDP sockets beside raw ports of the same devices.

use super::*;

/// Nothing is lost and nothing comes twice, whatever its form, next to raw ports.
fn beside_raw_ports(choice: PortChoice) {
    with_hosts(|host| {
        let xdp = choice == PortChoice::AfXdp;
        let mut router = Router::with_raw(choice, "r0", &own());
        let mut by_frames = host.run(|| AfPacket::open("h0", None).unwrap());
        for (ours, theirs) in PAIRS {
            let peer = host.socket(theirs);
            let ipv4 = ours.starts_with('1');
            for length in [0, 4, 1200] {
                let whole = bytes(length, 1);
                peer.send_to(&whole, ours).unwrap();
                assert_eq!(router.payloads(0, 1), [whole]);
            }
            // Apart from the rest.
            peer.send_to(&[0, 0, 0, 0, 203, 1], ours).unwrap();
            assert_eq!(router.payloads(0, 1), [[0, 0, 0, 0, 203, 1]]);
            // In fragments.
            peer.send_to(&bytes(5000, 2), ours).unwrap();
            assert_eq!(router.payloads(1, 1), [bytes(5000, 2)]);
            if ipv4 {
                let peer = host.socket("192.0.2.2:0");
                may_be_fragmented(&peer);
                peer.send_to(b"may be fragmented", ours).unwrap();
                assert_eq!(router.payloads(usize::from(!xdp), 1), [b"may be fragmented"]);
                peer.send_to(&bytes(3000, 2), ours).unwrap();
                assert_eq!(router.payloads(1, 1), [bytes(3000, 2)]);
                let peer = host.socket("192.0.2.2:0");
                set(&peer, libc::IPPROTO_IP, libc::IP_OPTIONS, &[1, 1, 1, 0]);
                peer.send_to(b"with options", ours).unwrap();
                assert_eq!(router.payloads(1, 1), [b"with options"]);
            } else {
                let peer = host.socket("[fd00::2]:0");
                // Next header, length, and PadN.
                set(&peer, libc::IPPROTO_IPV6, libc::IPV6_HOPOPTS, &[0, 0, 1, 4, 0, 0, 0, 0]);
                peer.send_to(b"with an extension header", ours).unwrap();
                assert_eq!(router.payloads(1, 1), [b"with an extension header"]);
                // In fragments for a path that is narrower than the device, which the datagrams fit. The packet socket
                // sees the fragments; AF_XDP leaves them to the kernel.
                host.run(|| ip("link set h0 mtu 1280"));
                let peer = host.socket("[fd00::2]:0");
                for length in [1300, 1452] {
                    peer.send_to(&bytes(length, 3), ours).unwrap();
                    assert_eq!(router.payloads(usize::from(xdp), 1), [bytes(length, 3)]);
                }
                peer.send_to(&bytes(1453, 3), ours).unwrap();
                assert_eq!(router.payloads(1, 1), [bytes(1453, 3)]);
                host.run(|| ip("link set h0 mtu 1500"));
            }
            // With a tag of VLAN id 0, and with another. The router's MAC address is `frame`'s source.
            let mut tagged = frame(sockaddr(theirs), sockaddr(ours), b"with a priority");
            tagged[..12].rotate_left(6);
            tagged.splice(12..12, [0x81, 0, 0x60, 0]);
            let mut of_vlan = tagged.clone();
            of_vlan[15] = 5;
            let pool = &mut Pool::new(8, hopwright_dataplane::FrameSize::JUMBO).unwrap();
            let mut packets = [tagged, of_vlan].map(|f| pool.take_filled(&f).unwrap()).into();
            assert_eq!(by_frames.transmit(pool, &mut packets), 2);
            assert_eq!(router.payloads(usize::from(xdp), 1), [b"with a priority"]);
            // From a process beside the router.
            let process = socket(&SocketAddr::new(sockaddr(ours).ip(), 0).to_string());
            process.send_to(b"from here", ours).unwrap();
            assert_eq!(router.payloads(1, 1), [b"from here"]);
        }
        let counts = router.sockets.counts();
        assert_eq!(counts.lost(), 0);
        addresses_move_to_the_sockets(&mut router, host);
    });
}

/// Nothing is lost when the device's port takes fewer addresses, or is closed.
fn addresses_move_to_the_sockets(router: &mut Router, host: &Host) {
    // An address that the device's port does not take is the sockets'.
    router.opener.set_match("r0", &FrameMatch::UdpDestinations(vec![key(own()[1])])).unwrap();
    let peers = PAIRS.map(|(_, theirs)| host.socket(&SocketAddr::new(sockaddr(theirs).ip(), 0).to_string()));
    let send = || own().iter().zip(&peers).for_each(|(to, peer)| assert_eq!(peer.send_to(b"x", to).unwrap(), 1));
    send();
    let [raw, udp] = router.received(2);
    assert_eq!((raw.len(), raw[0][12..14].to_vec(), udp.len()), (1, vec![0x86, 0xdd], 1));
    router.opener.set_match("r0", &FrameMatch::UdpDestinations(own().map(key).to_vec())).unwrap();
    send();
    assert_eq!(router.payloads(0, 2).len(), 2);
    // Nor is anything lost when the port is closed, or just dropped.
    router.opener.close("r0").unwrap();
    send();
    assert_eq!(router.payloads(1, 2).len(), 2);
    router.raw.clear();
    send();
    assert_eq!(router.payloads(1, 2).len(), 2);
    router.open("r0", &own());
    send();
    assert_eq!(router.payloads(0, 2).len(), 2);
    router.raw.clear();
    router.opener.refresh().unwrap();
    send();
    assert_eq!(router.payloads(1, 2).len(), 2);
}

#[test]
fn nothing_is_lost_and_nothing_comes_twice_beside_af_packet() {
    beside_raw_ports(PortChoice::AfPacket);
}

#[test]
fn nothing_is_lost_and_nothing_comes_twice_beside_af_xdp() {
    beside_raw_ports(PortChoice::AfXdp);
}

/// More addresses than a filter of classic BPF can hold.
#[test]
fn thousands_of_addresses_on_one_packet_socket() {
    with_hosts(|host| {
        ip("route add local 10.9.0.0/16 dev lo");
        host.run(|| ip("route add 10.9.0.0/16 via 192.0.2.1"));
        let addresses: Vec<_> = (0..3500u32)
            .map(|i| SocketAddr::from(([10, 9, (i >> 8) as u8, i as u8], 20_000 + (3 * i) as u16)))
            .collect();
        let mut router = Router::with_raw(PortChoice::AfPacket, "r0", &addresses);
        let peer = host.socket("192.0.2.2:0");
        let some: Vec<_> = addresses.iter().step_by(100).collect();
        for address in &some {
            peer.send_to(address.to_string().as_bytes(), address).unwrap();
        }
        let sent: Vec<_> = some.iter().map(|address| address.to_string().into_bytes()).collect();
        assert_eq!(router.payloads(0, sent.len()), sent);
        // In fragments.
        peer.send_to(&bytes(5000, 2), addresses[3499]).unwrap();
        assert_eq!(router.payloads(1, 1), [bytes(5000, 2)]);
    });
}

/// What a raw port cannot send the sockets send.
fn instead_of_raw_ports(choice: PortChoice) {
    with_hosts(|host| {
        let mut router = Router::with_raw(choice, "r0", &own());
        // Another way to the host.
        ip("link add name r1 type veth peer name h1");
        host.take_device("h1");
        address("r1", "198.51.100.1/24", "fd01::1/64");
        host.run(|| address("h1", "198.51.100.2/24", "fd01::2/64"));
        for (ours, theirs) in PAIRS {
            let peer = host.socket(theirs);
            let (ours, theirs) = (sockaddr(ours), sockaddr(theirs));
            // Those that are too long, those that fit, and in the end the host has all.
            let lengths = [100, 1400, 1473, 1500, 200, 3000, 8000, 8000, 300, 1474, 1476, 1480, 1400];
            let frames: Vec<_> = lengths.iter().map(|length| frame(ours, theirs, &bytes(*length, *length))).collect();
            assert_eq!(router.send_raw(&frames), frames.len());
            let mut got: Vec<_> = lengths.iter().map(|_| take(&peer).0).collect();
            let mut expected: Vec<_> = lengths.iter().map(|length| bytes(*length, *length)).collect();
            got.sort();
            expected.sort();
            assert!(got == expected);
            nothing_comes(&peer);
        }
        assert_eq!((router.sockets.counts().lost(), router.raw[0].stats().tx_error), (0, 0));
        // The device goes down, and the kernel has another route.
        ip("link set r0 down");
        // Addresses of a device that is down go with it over IPv6.
        let (ours, theirs) = PAIRS[0];
        host.run(|| ip("addr add 192.0.2.2/32 dev lo"));
        ip("route add 192.0.2.2/32 via 198.51.100.2");
        host.run(|| ip("route add 192.0.2.1/32 via 198.51.100.1"));
        let peer = host.socket(theirs);
        let frames: Vec<_> = (0..50).map(|i| frame(sockaddr(ours), sockaddr(theirs), &bytes(100, i))).collect();
        // An AF_XDP port learns it from the first.
        router.send_raw(&frames[..1]);
        assert_eq!(router.send_raw(&frames[1..]), 49);
        let mut expected = frames[1..].iter().map(|frame| payload(frame).to_vec());
        let mut got = take(&peer).0;
        if got == payload(&frames[0]) {
            got = take(&peer).0;
        }
        assert!(Some(got) == expected.next());
        assert!(expected.all(|payload| take(&peer).0 == payload));
        nothing_comes(&peer);
    });
}

#[test]
fn what_is_too_long_or_has_no_device_goes_by_the_sockets_beside_af_packet() {
    instead_of_raw_ports(PortChoice::AfPacket);
}

#[test]
fn what_is_too_long_or_has_no_device_goes_by_the_sockets_beside_af_xdp() {
    instead_of_raw_ports(PortChoice::AfXdp);
}

/// Sends from each of the host's addresses to each of the router's and back.
fn there_and_back(router: &mut Router, host: &Host, pairs: &[(&str, &str)]) {
    for (ours, theirs) in pairs {
        let peer = host.socket(theirs);
        for length in [100, 4000] {
            peer.send_to(&bytes(length, 3), ours).unwrap();
            assert_eq!(router.payloads(1, 1), [bytes(length, 3)], "{theirs} to {ours}");
            assert_eq!(router.send_by_udp(&[frame(sockaddr(ours), sockaddr(theirs), &bytes(length, 4))]), 1);
            assert_eq!(take(&peer), (bytes(length, 4), sockaddr(ours)), "{ours} to {theirs}");
        }
    }
}

#[test]
fn virtual_devices_on_a_raw_ports_device_lose_nothing() {
    for choice in [PortChoice::AfPacket, PortChoice::AfXdp] {
        with_hosts(|host| {
            let mut router = Router::with_raw(choice, "r0", &own());
            ip("link add link r0 name mv0 type macvlan mode bridge");
            address("mv0", "198.51.100.1/24", "fd01::1/64");
            host.run(|| ip("addr add 198.51.100.2/24 dev h0"));
            host.run(|| ip("addr add fd01::2/64 dev h0 nodad"));
            let ours = ["198.51.100.1:30042", "[fd01::1]:30042"];
            router.sockets.bind_all(&ours.map(sockaddr)).unwrap();
            there_and_back(&mut router, host, &[(ours[0], "198.51.100.2:4000"), (ours[1], "[fd01::2]:4000")]);
            // The device becomes a bridge's, which gets its addresses.
            router.opener.close("r0").unwrap();
            router.raw.clear();
            ip("link del mv0");
            ip("addr flush dev r0");
            ip("link add br0 type bridge");
            ip("link set r0 master br0");
            address("br0", "192.0.2.1/24", "fd00::1/64");
            there_and_back(&mut router, host, &PAIRS);
        });
    }
}

/// A TUN device: what is written to it the kernel receives, and what the kernel sends can be read.
fn tun(name: &str) -> File {
    let file = File::options().read(true).write(true).open("/dev/net/tun").unwrap();
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // SAFETY: a live request of the kind that the kernel reads.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    file
}

#[test]
fn a_device_without_ethernet_will_do() {
    use std::io::{Read, Write};
    with_hosts(|_| {
        let mut device = tun("tun0");
        address("tun0", "198.51.100.1/24", "fd01::1/64");
        let pairs = [("198.51.100.1:30042", "198.51.100.2:4000"), ("[fd01::1]:30042", "[fd01::2]:4000")];
        let mut router = Router::with_sockets(&pairs.map(|(ours, _)| sockaddr(ours)));
        for (ours, theirs) in pairs.map(|(ours, theirs)| (sockaddr(ours), sockaddr(theirs))) {
            assert_eq!(
                device.write(&frame(theirs, ours, b"hello")[14..]).unwrap(),
                if ours.is_ipv4() { 33 } else { 53 }
            );
            assert_eq!(router.payloads(1, 1), [b"hello"]);
            assert_eq!(router.send_by_udp(&[frame(ours, theirs, b"and back")]), 1);
            let mut packet = vec![0; 2000];
            // The kernel sends others, too.
            let wanted = frame(ours, theirs, b"and back")[14..].to_vec();
            while packet[packet.len() - 8..] != *b"and back" {
                packet.resize(2000, 0);
                let length = device.read(&mut packet).unwrap();
                packet.truncate(length.max(8));
            }
            assert_eq!(packet.len(), wanted.len());
            assert_eq!(packet[packet.len() - 16..], wanted[wanted.len() - 16..]);
        }
    });
}

/// Raw ports do not see the path's MTU; the kernel tells it, and makes fragments of what is longer.
fn narrow_path(choice: PortChoice) {
    with_hosts(|host| {
        let far = Host::new();
        host.run(|| {
            for (setting, value) in [("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")] {
                std::fs::write(format!("/proc/sys/net/{setting}"), value).unwrap();
            }
            ip("link add name m0 type veth peer name f0");
            far.take_device("f0");
            ip("link set m0 mtu 1300");
            address("m0", "198.51.100.1/24", "fd01::1/64");
        });
        far.run(|| {
            ip("link set f0 mtu 1300");
            address("f0", "198.51.100.2/24", "fd01::2/64");
            ip("route add default via 198.51.100.1");
            ip("-6 route add default via fd01::1");
        });
        ip("route add default via 192.0.2.2");
        ip("-6 route add default via fd00::2");
        let mut router = Router::with_raw(choice, "r0", &own());
        for (ours, theirs) in [(own()[0], "198.51.100.2:4000"), (own()[1], "[fd01::2]:4000")] {
            let peer = far.socket(theirs);
            let theirs = sockaddr(theirs);
            let sent = |length, seed| frame(ours, theirs, &bytes(length, seed));
            // The first is lost, as from any host, until a router on the path has told why.
            let start = Instant::now();
            peer.set_read_timeout(Some(QUIET)).unwrap();
            let comes = || receive_from(&peer, &mut [0; 2000]).is_ok();
            loop {
                assert_eq!(router.send_raw(&[sent(1400, 1)]), 1);
                router.received(0);
                if comes() {
                    break;
                }
                assert!(start.elapsed() < PATIENCE);
            }
            while comes() {}
            peer.set_read_timeout(Some(PATIENCE)).unwrap();
            let before = router.sockets.counts().sent_for_raw;
            for seed in 2..5 {
                assert_eq!(router.send_raw(&[sent(1400, seed), sent(1000, seed), sent(1400, seed + 1)]), 3);
                let mut got: Vec<_> = (0..3).map(|_| take(&peer).0).collect();
                got.sort_by_key(Vec::len);
                let mut expected = [bytes(1000, seed), bytes(1400, seed), bytes(1400, seed + 1)];
                got[1..].sort();
                expected[1..].sort();
                assert!(got == expected);
            }
            assert_eq!(router.sockets.counts().lost(), 0);
            // Only what was too long.
            assert_eq!(router.sockets.counts().sent_for_raw - before, 6);
        }
    });
}

#[test]
fn af_packet_leaves_what_is_too_long_for_the_path_to_the_kernel() {
    narrow_path(PortChoice::AfPacket);
}

#[test]
fn af_xdp_leaves_what_is_too_long_for_the_path_to_the_kernel() {
    narrow_path(PortChoice::AfXdp);
}
