//! The kernel's UDP sockets as a port, alone and beside raw ports: between two hosts that are network namespaces.

use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::devices::{PATIENCE, ip, is_ready, receive_from, skips, wait_until_free};
use hopwright_dataplane::{Pool, Port};
use hopwright_ports::{AfPacket, FrameMatch, Opener, Pattern, PortChoice, UdpPort, UdpSockets, Wanted, XdpOptions};

mod hand_over;
mod raw_ports;

const ROUTER_MAC: &str = "02:00:00:00:00:0a";
const HOST_MAC: &str = "02:00:00:00:00:0b";
/// Nothing more comes when nothing came for so long.
const QUIET: Duration = Duration::from_millis(150);

/// Another host: a network namespace.
struct Host(File);

impl Host {
    fn new() -> Host {
        let new = || {
            // SAFETY: only this thread's network namespace changes.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
            ip("link set lo up");
            Host(File::open("/proc/thread-self/ns/net").unwrap())
        };
        std::thread::scope(|scope| scope.spawn(new).join().unwrap())
    }

    /// Runs something on this host.
    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let there = || {
            // SAFETY: plain system call on an open descriptor.
            assert_eq!(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) }, 0);
            work()
        };
        std::thread::scope(|scope| scope.spawn(there).join().unwrap())
    }

    fn take_device(&self, device: &str) {
        ip(&format!("link set {device} netns /proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()));
    }

    fn socket(&self, address: &str) -> UdpSocket {
        self.run(|| socket(address))
    }
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Runs a test on a host `r` with device `r0` that is linked to `h0` of another host.
fn with_hosts(test: impl FnOnce(&Host) + Send) {
    if skips() {
        return;
    }
    let run = || {
        // SAFETY: only this thread's network namespace changes.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "{}", std::io::Error::last_os_error());
        ip("link set lo up");
        let host = Host::new();
        ip("link add name r0 type veth peer name h0");
        host.take_device("h0");
        ip(&format!("link set r0 address {ROUTER_MAC}"));
        address("r0", "192.0.2.1/24", "fd00::1/64");
        host.run(|| {
            ip(&format!("link set h0 address {HOST_MAC}"));
            address("h0", "192.0.2.2/24", "fd00::2/64");
        });
        test(&host);
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap());
}

fn address(device: &str, v4: &str, v6: &str) {
    ip(&format!("addr add {v4} dev {device}"));
    ip(&format!("link set {device} up"));
    ip(&format!("addr add {v6} dev {device} nodad"));
}

fn sockaddr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn key(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip(), address.port())
}

/// Both addresses of the router's `r0`.
fn own() -> [SocketAddr; 2] {
    [sockaddr("192.0.2.1:30042"), sockaddr("[fd00::1]:30042")]
}

/// Sockets and raw ports of a router.
struct Router {
    sockets: UdpSockets,
    udp: Vec<UdpPort>,
    opener: Opener,
    raw: Vec<Box<dyn Port>>,
    pool: Pool,
}

/// What the fourth byte of a payload says is received apart, as BFD is.
fn urgent() -> Pattern {
    Pattern { bytes: vec![(4, vec![203])] }
}

impl Router {
    fn new(choice: PortChoice) -> Router {
        let sockets = UdpSockets::new().unwrap();
        let wanted = Wanted {
            choice,
            urgent: Some(&urgent()),
            sockets: Some(&sockets),
            fill_checksums: true,
            mtu: 9216,
            headroom: 0,
            devices: 2,
            workers: 1,
            flows: None,
            options: XdpOptions::default(),
            memory: &[],
        };
        let (opener, mut pools) = Opener::new(&wanted).unwrap();
        let udp = sockets.ports(1).unwrap();
        Router { sockets, udp, opener, raw: Vec::new(), pool: pools.remove(0) }
    }

    /// With sockets only.
    fn with_sockets(addresses: &[SocketAddr]) -> Router {
        let router = Router::new(PortChoice::AfPacket);
        router.sockets.bind_all(addresses).unwrap();
        router
    }

    /// With a raw port for its addresses, too.
    fn with_raw(choice: PortChoice, device: &str, addresses: &[SocketAddr]) -> Router {
        let mut router = Router::new(choice);
        router.sockets.bind_all(addresses).unwrap();
        router.open(device, addresses);
        router
    }

    fn open(&mut self, device: &str, addresses: &[SocketAddr]) {
        let keys: Vec<_> = addresses.iter().copied().map(key).collect();
        let opened = self.opener.open(device, &FrameMatch::UdpDestinations(keys)).unwrap();
        self.raw.extend(opened.ports);
        // An AF_XDP port receives once the kernel has frames.
        self.received(0);
    }

    /// What comes until there is so much, or nothing comes any more: from raw ports and from sockets.
    fn received(&mut self, enough: usize) -> [Vec<Vec<u8>>; 2] {
        let mut frames = [Vec::new(), Vec::new()];
        let (mut batch, mut last) = (Vec::with_capacity(256), Instant::now());
        loop {
            let mut any = false;
            let udp = self.udp.iter_mut().map(|port| (1, port as &mut dyn Port));
            let raw = self.raw.iter_mut().map(|port| (0, &mut **port));
            for (kind, port) in raw.chain(udp) {
                port.receive(&mut self.pool, &mut batch, 256);
                for packet in batch.drain(..) {
                    any = true;
                    frames[kind].push(packet.bytes().to_vec());
                    self.pool.give(packet);
                }
            }
            if any {
                last = Instant::now();
            }
            let count = frames[0].len() + frames[1].len();
            // Something may come twice.
            let wait = if count < enough { PATIENCE } else { QUIET };
            if last.elapsed() > wait {
                return frames;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The payloads, which all have come by one kind of port: 0 for raw, 1 for sockets.
    fn payloads(&mut self, kind: usize, enough: usize) -> Vec<Vec<u8>> {
        let frames = self.received(enough);
        assert_eq!(frames[1 - kind].len(), 0, "by the other kind of port");
        frames[kind].iter().map(|frame| payload(frame).to_vec()).collect()
    }

    fn send_by_udp(&mut self, frames: &[Vec<u8>]) -> usize {
        let mut packets = frames.iter().map(|frame| self.pool.take_filled(frame).unwrap()).collect();
        self.udp[0].transmit(&mut self.pool, &mut packets)
    }

    fn send_raw(&mut self, frames: &[Vec<u8>]) -> usize {
        let mut packets = frames.iter().map(|frame| self.pool.take_filled(frame).unwrap()).collect();
        let count = self.raw[0].transmit(&mut self.pool, &mut packets);
        self.raw[0].flush();
        count
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// What a frame of UDP carries, whose headers are right.
fn payload(frame: &[u8]) -> &[u8] {
    let udp = if frame[12..14] == [8, 0] { 34 } else { 54 };
    let mut again = frame.to_vec();
    assert!(hopwright_ports::checksum::complete(&mut again), "no whole datagram");
    assert!(word(frame, udp + 6) == 0 || again == frame, "a wrong checksum");
    &frame[udp + 8..udp + usize::from(word(frame, udp + 4))]
}

/// A frame as a program sends it. MAC addresses count for raw ports only.
fn frame(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a];
    let length = (8 + payload.len()) as u16;
    match (from.ip(), to.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            f.extend([8, 0, 0x45, 0]);
            f.extend((20 + length).to_be_bytes());
            f.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            f.extend(a.octets());
            f.extend(b.octets());
            let sum = !hopwright_ports::checksum::ones_sum(&f[14..34]);
            f[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            f.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            f.extend(length.to_be_bytes());
            f.extend([17, 64]);
            f.extend(a.octets());
            f.extend(b.octets());
        }
        _ => panic!("{from} and {to}"),
    }
    f.extend(from.port().to_be_bytes());
    f.extend(to.port().to_be_bytes());
    f.extend(length.to_be_bytes());
    f.extend([0, 0]);
    f.extend(payload);
    hopwright_ports::checksum::complete(&mut f);
    f
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + seed) as u8).collect()
}

fn set(socket: &UdpSocket, level: i32, name: i32, value: &[u8]) {
    let length = value.len() as libc::socklen_t;
    // SAFETY: pointer and length of a live value.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// What it sends may become fragments on the way: no DF.
fn may_be_fragmented(socket: &UdpSocket) {
    set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_DONT.to_ne_bytes());
}

fn take(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 65_536];
    let (length, from) = receive_from(socket, &mut buffer).unwrap();
    (buffer[..length].to_vec(), from)
}

fn nothing_comes(socket: &UdpSocket) {
    socket.set_read_timeout(Some(QUIET)).unwrap();
    let kind = receive_from(socket, &mut [0; 100]).unwrap_err().kind();
    assert_eq!(kind, std::io::ErrorKind::WouldBlock);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
}

/// Pairs of the router's address and one of the host's.
const PAIRS: [(&str, &str); 2] = [("192.0.2.1:30042", "192.0.2.2:4000"), ("[fd00::1]:30042", "[fd00::2]:4000")];

#[test]
fn datagrams_come_and_go_whole_fragments_included() {
    with_hosts(|host| {
        let mut router = Router::with_sockets(&own());
        for (ours, theirs) in PAIRS {
            let peer = host.socket(theirs);
            // Nobody has asked for the host's Ethernet address yet; nothing is lost for it. The MTU is 1,500.
            for (i, length) in [0, 1, 100, 1400, 1473, 5000, 8900].into_iter().enumerate() {
                let sent = bytes(length, i);
                assert_eq!(router.send_by_udp(&[frame(sockaddr(ours), sockaddr(theirs), &sent)]), 1);
                assert_eq!(take(&peer), (sent.clone(), sockaddr(ours)), "{length}");
                peer.send_to(&sent, ours).unwrap();
                assert!(is_ready(router.udp[0].poll_fd().unwrap()));
                let [raw, got] = router.received(1);
                assert!(raw.is_empty());
                let [got] = &got[..] else { panic!("{} frames", got.len()) };
                assert_eq!(payload(got), sent);
                // But for the Ethernet addresses: those are the port's own.
                assert_eq!(got[12..], frame(sockaddr(theirs), sockaddr(ours), &sent)[12..]);
                assert_eq!(got[..12], [hopwright_ports::udp::ROUTER_MAC, hopwright_ports::udp::OTHERS_MAC].concat());
            }
            // Too long for a frame of the pool.
            peer.send_to(&bytes(60_000, 1), ours).unwrap();
            let (before, start) = (router.udp[0].stats().rx_too_long, Instant::now());
            while router.udp[0].stats().rx_too_long == before && start.elapsed() < PATIENCE {
                assert!(router.payloads(1, 0).is_empty());
            }
        }
        assert_eq!(router.udp[0].stats().rx_too_long, 2);
        let counts = router.sockets.counts();
        assert_eq!((counts.received, counts.sent, counts.lost()), (14, 14, 0));
        assert_eq!(router.pool.available(), router.pool.frames() as usize);
    });
}

#[test]
fn many_datagrams_to_many_sockets_keep_their_order() {
    with_hosts(|host| {
        let mut router = Router::with_sockets(&own());
        let peers: Vec<_> = PAIRS.iter().map(|(ours, theirs)| (sockaddr(ours), host.socket(theirs))).collect();
        for round in 0..20 {
            // Runs of equal and of other lengths, to both hosts in turn.
            let mut expected = [Vec::new(), Vec::new()];
            let frames: Vec<_> = (0..200)
                .map(|i| {
                    let to = usize::from(i / 13 % 3 == 0);
                    let length = if i / 20 % 2 == 0 { 1200 } else { i % 7 * 100 };
                    let sent = bytes(length, round * 200 + i);
                    let f = frame(peers[to].0, peers[to].1.local_addr().unwrap(), &sent);
                    expected[to].push(sent);
                    f
                })
                .collect();
            assert_eq!(router.send_by_udp(&frames), 200);
            for ((ours, peer), expected) in peers.iter().zip(expected) {
                for sent in expected {
                    assert!(take(peer) == (sent.clone(), *ours));
                    peer.send_to(&sent, ours).unwrap();
                }
            }
            let got: Vec<_> = router.received(200)[1].clone();
            for (i, (_, theirs)) in PAIRS.iter().enumerate() {
                let sent = frames.iter().filter(|f| f[12..14] == [[8, 0], [0x86, 0xdd]][i]).map(|f| payload(f));
                let from_them = got.iter().filter(|f| f[12..14] == [[8, 0], [0x86, 0xdd]][i]).map(|f| payload(f));
                assert!(sent.eq(from_them), "{theirs}");
            }
        }
        let counts = router.sockets.counts();
        assert_eq!((counts.received, counts.sent, counts.lost()), (4000, 4000, 0));
    });
}

#[test]
fn where_packets_went_is_told_once() {
    with_hosts(|_| {
        let mut router = Router::with_sockets(&own());
        let to = |n: u8| SocketAddr::from(([192, 0, 2, n], 4000));
        let frames: Vec<_> = [2, 3, 2, 2].iter().map(|n| frame(own()[0], to(*n), b"x")).collect();
        router.send_by_udp(&frames);
        let mut went = router.sockets.take_destinations();
        went.sort();
        assert_eq!(went, [(to(2).ip(), 3), (to(3).ip(), 1)]);
        assert!(router.sockets.take_destinations().is_empty());
    });
}

#[test]
fn nothing_goes_where_nothing_may_go() {
    with_hosts(|_| {
        let mut router =
            Router::with_sockets(&[own(), [sockaddr("127.0.0.7:30042"), sockaddr("[::1]:30042")]].concat());
        let [v4, v6] = own();
        let here = socket("127.0.0.1:4000");
        let bad = [
            (v4, "127.0.0.1:4000"),
            (v4, "255.255.255.255:4000"),
            (v4, "224.0.0.1:4000"),
            (v4, "0.0.0.0:4000"),
            (v4, "192.0.2.2:0"),
            // To itself, and to another of its own.
            (v4, "192.0.2.1:30042"),
            (v4, "127.0.0.7:30042"),
            (v6, "[::1]:4000"),
            (v6, "[ff02::1]:4000"),
            (v6, "[::]:4000"),
            (v6, "[::ffff:192.0.2.2]:4000"),
        ];
        let frames: Vec<_> = bad.iter().map(|(from, to)| frame(*from, sockaddr(to), b"x")).collect();
        assert_eq!(router.send_by_udp(&frames), 0);
        assert_eq!(router.sockets.counts().bad_destination, bad.len() as u64);
        nothing_comes(&here);
        // From a loopback address it may.
        assert_eq!(router.send_by_udp(&[frame(sockaddr("127.0.0.7:30042"), sockaddr("127.0.0.1:4000"), b"x")]), 1);
        assert_eq!(take(&here), (b"x".to_vec(), sockaddr("127.0.0.7:30042")));

        // No socket, and no datagrams.
        let good = frame(v4, sockaddr("192.0.2.2:4000"), b"hello");
        let others = frame(sockaddr("192.0.2.9:30042"), sockaddr("192.0.2.2:4000"), b"hello");
        let cut: Vec<_> = (0..good.len()).map(|length| good[..length].to_vec()).collect();
        assert_eq!(router.send_by_udp(&[cut, vec![others]].concat()), 0);
        assert_eq!(router.sockets.counts().no_socket, good.len() as u64 + 1);
        // No route, and broadcasts of a subnet.
        let nowhere = frame(v4, sockaddr("203.0.113.1:4000"), b"x");
        let broadcast = frame(v4, sockaddr("192.0.2.255:4000"), b"x");
        assert_eq!(router.send_by_udp(&[nowhere.clone(), broadcast, good.clone(), nowhere]), 1);
        let counts = router.sockets.counts();
        assert_eq!((counts.unreachable, counts.refused, counts.sent), (2, 1, 2));
        let stats = router.udp[0].stats();
        assert_eq!((stats.tx_error, stats.tx_busy), (counts.lost(), 0));
    });
}

#[test]
fn processes_beside_the_router_and_routers_on_loopback_addresses() {
    with_hosts(|_| {
        let mut router = Router::with_sockets(&[sockaddr("127.0.0.5:30042"), sockaddr("[::1]:30042"), own()[0]]);
        // The loopback device's MTU is 65,536.
        for (ours, theirs) in
            [("127.0.0.5:30042", "127.0.0.6:0"), ("[::1]:30042", "[::1]:0"), ("192.0.2.1:30042", "192.0.2.1:0")]
        {
            let process = socket(theirs);
            for payload in [bytes(5, 0), bytes(9000, 1), vec![]] {
                process.send_to(&payload, ours).unwrap();
                assert_eq!(router.payloads(1, 1), std::slice::from_ref(&payload));
                let back = frame(sockaddr(ours), process.local_addr().unwrap(), &payload);
                assert_eq!(router.send_by_udp(&[back]), 1);
                assert_eq!(take(&process), (payload, sockaddr(ours)));
            }
        }
    });
}

#[test]
fn addresses_are_bound_and_freed_at_once() {
    with_hosts(|_| {
        let [v4, v6] = own();
        let mut router = Router::with_sockets(&[v4]);
        router.sockets.bind(v4).unwrap();
        let process = socket("192.0.2.1:0");
        process.send_to(b"1", v4).unwrap();
        assert_eq!(router.payloads(1, 1), [b"1"]);
        // All or none.
        let taken = sockaddr("192.0.2.1:9");
        let other = socket("192.0.2.1:9");
        let error = router.sockets.bind_all(&[v6, taken]).unwrap_err();
        assert_eq!((error.address, error.error.kind()), (taken, std::io::ErrorKind::AddrInUse));
        assert!(error.to_string().contains("192.0.2.1:9"), "{error}");
        assert_eq!(router.sockets.addresses(), [v4]);
        drop(other);
        wait_until_free(taken);
        let elsewhere = router.sockets.bind(sockaddr("192.0.2.77:9")).unwrap_err();
        assert_eq!(elsewhere.error.kind(), std::io::ErrorKind::AddrNotAvailable);
        router.sockets.bind_all(&[v6, taken]).unwrap();
        assert_eq!(router.sockets.addresses(), [taken, v4, v6]);

        // While the port still has the socket.
        router.sockets.close(v4);
        wait_until_free(v4);
        assert_eq!(router.send_by_udp(&[frame(v4, process.local_addr().unwrap(), b"x")]), 0);
        router.sockets.bind(v4).unwrap();
        process.send_to(b"2", v4).unwrap();
        assert_eq!(router.payloads(1, 1), [b"2"]);
        assert_eq!(router.send_by_udp(&[frame(v4, process.local_addr().unwrap(), b"3")]), 1);
        assert_eq!(take(&process).0, b"3");
    });
}

#[test]
fn a_thousand_sockets_are_served_by_two_workers() {
    with_hosts(|_| {
        let addresses: Vec<_> =
            (0..1100).map(|i| SocketAddr::from(([127, 1, (i >> 8) as u8, i as u8], 30042))).collect();
        let mut router = Router::with_sockets(&addresses[..600]);
        router.udp = router.sockets.ports(2).unwrap();
        router.sockets.bind_all(&addresses[600..]).unwrap();
        let process = socket("127.0.0.1:0");
        for address in &addresses {
            process.send_to(&address.to_string().into_bytes(), address).unwrap();
        }
        let mut got = router.payloads(1, 1100);
        got.sort();
        let mut expected: Vec<_> = addresses.iter().map(|a| a.to_string().into_bytes()).collect();
        expected.sort();
        assert!(got == expected);
        assert!(router.udp.iter().all(|port| port.stats().rx_too_long == 0));
        let frames: Vec<_> =
            addresses.iter().map(|a| frame(*a, process.local_addr().unwrap(), a.to_string().as_bytes())).collect();
        for frames in frames.chunks(100) {
            assert_eq!(router.send_by_udp(frames), 100);
            for _ in frames {
                let (payload, from) = take(&process);
                assert_eq!(payload, from.to_string().into_bytes());
            }
        }
    });
}

#[test]
fn routers_on_one_machine_pass_each_other_bursts_whole() {
    with_hosts(|_| {
        let [a, b] = ["127.0.0.5:30042", "127.0.0.6:30042"].map(sockaddr);
        let (mut from, mut to) = (Router::with_sockets(&[a]), Router::with_sockets(&[b]));
        for round in 0..30 {
            // Equal ones leave as one, and arrive as one where the kernel can.
            let lengths = (0..200).map(|i| match i {
                0..100 => 1400,
                100..150 => 1400 - i / 110,
                150..160 => 0,
                _ => i * 40,
            });
            let sent: Vec<_> = lengths.enumerate().map(|(i, length)| bytes(length, round + i)).collect();
            let frames: Vec<_> = sent.iter().map(|payload| frame(a, b, payload)).collect();
            assert_eq!(from.send_by_udp(&frames), 200);
            assert!(to.payloads(1, 200) == sent);
        }
        assert_eq!(to.udp[0].stats(), Default::default());
        assert_eq!(to.pool.available(), to.pool.frames() as usize);
    });
}

#[test]
fn what_nobody_reads_in_time_is_counted() {
    with_hosts(|_| {
        let mut router = Router::with_sockets(&[sockaddr("127.0.0.5:30042")]);
        let process = socket("127.0.0.6:0");
        let sent = 12_000;
        for _ in 0..sent {
            process.send_to(&[7; 1000], "127.0.0.5:30042").unwrap();
        }
        let mut got = router.payloads(1, 0).len();
        // The next tells how many there were not.
        process.send_to(&[7; 10], "127.0.0.5:30042").unwrap();
        loop {
            let more = router.payloads(1, 1);
            assert!(!more.is_empty());
            got += more.iter().filter(|payload| payload.len() == 1000).count();
            if more.iter().any(|payload| payload.len() == 10) {
                break;
            }
        }
        assert!(got < sent, "all fit");
        assert_eq!(got as u64 + router.udp[0].stats().rx_overrun, sent as u64);
    });
}

#[test]
fn sockets_may_be_told_by_which_devices_packets_come() {
    with_hosts(|host| {
        ip("link add name r1 type veth peer name h1");
        host.take_device("h1");
        address("r1", "198.51.100.1/24", "fd01::1/64");
        host.run(|| address("h1", "198.51.100.2/24", "fd01::2/64"));
        // SAFETY: terminated strings.
        let [r0, r1] = [c"r0", c"r1"].map(|device| unsafe { libc::if_nametoindex(device.as_ptr()) });
        let mut router = Router::with_sockets(&own());
        // To the address of one device by the other.
        host.run(|| ip("route add 192.0.2.1/32 via 198.51.100.1"));
        let (by_other, here) = (host.socket("198.51.100.2:0"), socket("192.0.2.1:0"));
        let arrive = |router: &mut Router, count| {
            by_other.send_to(b"by r1", own()[0]).unwrap();
            here.send_to(b"from here", own()[0]).unwrap();
            router.payloads(1, count)
        };
        let both = [&b"by r1"[..], b"from here"].map(<[u8]>::to_vec).to_vec();
        let mut got = arrive(&mut router, 2);
        got.sort();
        assert_eq!(got, both);
        router.sockets.set_arrivals(&[(own()[0].ip(), vec![r0])]).unwrap();
        assert_eq!(arrive(&mut router, 1), [b"from here"]);
        router.sockets.set_arrivals(&[(own()[0].ip(), vec![r0, r1])]).unwrap();
        assert_eq!(arrive(&mut router, 2).len(), 2);
        router.sockets.set_arrivals(&[]).unwrap();
        assert_eq!(arrive(&mut router, 2).len(), 2);
    });
}
