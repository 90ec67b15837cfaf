//! Several datagrams in one frame, on a real pair of virtual devices: what leaves together arrives apart.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::devices::{self, PATIENCE, QUIET, ip, receive, receive_from, with_devices};
use hopwright_dataplane::{DeviceStats, FrameSize, Packet, Pool, Port};
use hopwright_ports::{AfPacket, FrameMatch, SharedFrames, XdpDevice, XdpOptions, checksum};

/// A frame from `va` to `vb` with a datagram from 10.0.0.1 to a port of 10.0.0.2.
fn datagram(port: u16, payload: &[u8], checksummed: bool) -> Vec<u8> {
    let total = (28 + payload.len()) as u16;
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 8, 0, 0x45, 0];
    f.extend(total.to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39]);
    f.extend(port.to_be_bytes());
    f.extend((total - 20).to_be_bytes());
    f.extend([0, 0]);
    f.extend(payload);
    let sum = checksum::ones_sum(&f[14..34]);
    f[24..26].copy_from_slice(&(!sum).to_be_bytes());
    if checksummed {
        assert!(checksum::complete(&mut f));
    }
    f
}

/// Payloads of a burst: runs of equal length, some with a shorter one at their end, and single ones.
fn payloads(burst: u8) -> Vec<Vec<u8>> {
    let lengths = [(40, 130), (1, 60), (1, 61), (1, 62), (70, 200), (1, 199), (3, 1400), (2, 0), (50, 1400), (1, 9)];
    let mut all = Vec::new();
    for (count, length) in lengths {
        for _ in 0..count {
            let number = all.len();
            all.push((0..length).map(|i| (i * 3 + number * 5) as u8 ^ burst).collect());
        }
    }
    all
}

fn pool() -> Pool {
    Pool::new(600, FrameSize::shared(9000, 0)).unwrap()
}

fn transmit(port: &mut dyn Port, pool: &mut Pool, frames: &[Vec<u8>]) -> usize {
    let mut batch: Vec<Packet> = frames.iter().map(|f| pool.take_filled(f).unwrap()).collect();
    let sent = port.transmit(pool, &mut batch);
    port.flush();
    sent
}

/// Without what may differ: the identification of a packet that must not be fragmented, and with it IPv4's checksum.
fn essence(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let plain = |frame: &Vec<u8>| {
        assert_eq!(checksum::ones_sum(&frame[14..34]), 0xffff);
        let mut frame = frame.clone();
        frame[18..20].fill(0);
        frame[24..26].fill(0);
        frame
    };
    frames.iter().map(plain).collect()
}

/// Frames the device `va` has sent.
fn frames_sent() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("va:")).unwrap();
    line.split_whitespace().nth(9).unwrap().parse().unwrap()
}

fn senders() -> Vec<(&'static str, Box<dyn Port>, Pool)> {
    let pool_of_xdp = pool();
    let frames = SharedFrames::new(&pool_of_xdp).unwrap();
    let device = XdpDevice::attach("va", &FrameMatch::UdpDestinations(vec![]), XdpOptions::default()).unwrap();
    let mut xdp = device.port(&frames, &[0]).unwrap();
    assert!(!xdp.is_zero_copy());
    xdp.fill_checksums(true);
    let mut packet = AfPacket::open("va", None).unwrap();
    packet.fill_checksums(true);
    vec![("AF_PACKET", Box::new(packet), pool()), ("AF_XDP", Box::new(xdp), pool_of_xdp)]
}

#[test]
fn a_port_receives_what_was_sent_one_by_one_and_in_order() {
    with_devices(|| {
        let (mut b, mut there) = (AfPacket::open("vb", None).unwrap(), pool());
        for (name, mut a, mut here) in senders() {
            let before = frames_sent();
            for burst in 0..6 {
                // Packets of other kinds in between.
                let mut sent: Vec<_> = payloads(burst).iter().map(|p| datagram(50000, p, true)).collect();
                let mut other = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 0x88, 0xb5];
                other.extend([burst; 50]);
                sent.insert(10, other.clone());
                let mut got = Vec::new();
                // The receiver's pool is smaller than what is sent.
                assert_eq!(transmit(a.as_mut(), &mut here, &sent), sent.len(), "{name}");
                while got.len() < sent.len() {
                    let missing = sent.len() - got.len();
                    let more = receive(&mut b, &mut there, PATIENCE, |more| more.len() == missing);
                    assert!(!more.is_empty(), "{name}: {} of {}", got.len(), sent.len());
                    got.extend(more);
                }
                assert_eq!(got.remove(10), other, "{name}");
                sent.remove(10);
                assert!(essence(&got) == essence(&sent), "{name}");
            }
            assert_eq!(receive(&mut b, &mut there, QUIET, |got| !got.is_empty()).len(), 0, "{name}");
            let frames = frames_sent() - before;
            assert!((6..6 * 25).contains(&frames), "{name}: {frames}");
            assert_eq!((b.stats(), a.stats()), <(DeviceStats, DeviceStats)>::default(), "{name}");
        }
    });
}

#[test]
fn a_socket_receives_what_was_sent_one_by_one() {
    with_devices(|| {
        ip("addr add 10.0.0.2/24 dev vb");
        let socket = UdpSocket::bind("10.0.0.2:50000").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        for (name, mut a, mut pool) in senders() {
            for checksummed in [true, false] {
                let before = frames_sent();
                let payloads = &payloads(checksummed.into())[..100];
                let sent: Vec<_> = payloads.iter().map(|p| datagram(50000, p, checksummed)).collect();
                assert_eq!(transmit(a.as_mut(), &mut pool, &sent), sent.len());
                assert!(frames_sent() - before < 10);
                for payload in payloads {
                    let mut buffer = [0; 2000];
                    let length = receive_from(&socket, &mut buffer).unwrap().0;
                    assert_eq!(&buffer[..length], payload, "{name}");
                }
            }
        }
    });
}

#[test]
fn a_sender_on_the_same_machine_may_leave_it_to_the_device() {
    with_devices(|| {
        const UDP_SEGMENT: libc::c_int = 103;
        let (mut b, mut pool) = (AfPacket::open("vb", None).unwrap(), pool());
        for (v6, own, peer) in [(false, "10.0.0.1", "10.0.0.2"), (true, "fd00::1", "fd00::2")] {
            if v6 {
                std::fs::write("/proc/sys/net/ipv6/conf/va/disable_ipv6", "0").unwrap();
            }
            ip(&format!("addr add {own}/{} dev va{}", if v6 { 64 } else { 24 }, if v6 { " nodad" } else { "" }));
            ip(&format!("neigh add {peer} lladdr {} dev va", devices::MAC_B));
            let socket = UdpSocket::bind((own, 4000)).unwrap();
            let size: libc::c_int = 1000;
            // SAFETY: the option is an int, which lives.
            let set = unsafe {
                libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, UDP_SEGMENT, (&raw const size).cast(), 4)
            };
            assert_eq!(set, 0);
            for length in [1000, 2000, 2001, 47_123] {
                let payload: Vec<u8> = (0..length).map(|i: usize| (i / 7) as u8).collect();
                socket.send_to(&payload, (peer, 50000)).unwrap();
                let header = if v6 { 62 } else { 42 };
                let is_ours = |f: &Vec<u8>| f.get(header - 6..header - 4) == Some(&[0xc3, 0x50]);
                let all = |got: &[Vec<u8>]| got.iter().filter(|f| is_ours(f)).count() >= length.div_ceil(1000);
                let mut got = receive(&mut b, &mut pool, PATIENCE, all);
                got.extend(receive(&mut b, &mut pool, QUIET, |_| false));
                got.retain(is_ours);
                assert!(got.iter().flat_map(|f| f[header..].to_vec()).eq(payload.iter().copied()));
                assert_eq!(got.len(), length.div_ceil(1000));
                for (i, frame) in got.iter().enumerate() {
                    assert_eq!(frame.len(), header + payload.chunks(1000).nth(i).unwrap().len());
                    assert!(checksum::is_right(frame) && (v6 || checksum::ones_sum(&frame[14..34]) == 0xffff));
                }
            }
        }
        assert_eq!(b.stats(), DeviceStats::default());
    });
}

#[test]
fn what_no_longer_is_taken_is_sent_one_by_one() {
    with_devices(|| {
        let (mut a, mut here) = (AfPacket::open("va", None).unwrap(), pool());
        let sent: Vec<_> = (0..10).map(|i| datagram(50000, &[i; 300], true)).collect();
        // A device whose peer runs an XDP program does not take joined frames: at first `a` does not know that.
        let frames = pool();
        let peer = XdpDevice::attach("vb", &FrameMatch::Everything, XdpOptions::default()).unwrap();
        let mut b = peer.port(&SharedFrames::new(&frames).unwrap(), &[0]).unwrap();
        let mut there = frames;
        receive(&mut b, &mut there, QUIET, |got| !got.is_empty());
        for _ in 0..2 {
            let before = frames_sent();
            assert_eq!(transmit(&mut a, &mut here, &sent), 10);
            assert_eq!(frames_sent() - before, 10);
            assert_eq!(receive(&mut b, &mut there, PATIENCE, |got| got.len() == 10), sent);
            assert_eq!(a.stats(), DeviceStats::default());
        }
        // A device that is down takes nothing.
        ip("link set va down");
        assert_eq!(transmit(&mut a, &mut here, &sent), 0);
        assert_eq!(a.stats().tx_error, 10);
        assert_eq!(here.available(), 600);
    });
}
