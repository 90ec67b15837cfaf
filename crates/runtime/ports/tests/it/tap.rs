//! TAP devices and frame sockets, in a network namespace of their own.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::devices::{PATIENCE, ip, receive_from, with_devices};
use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{FrameSize, Packet, Pool, Port};
use hopwright_ports::{AfPacket, Filter, FrameSocket, Tap, checksum};

/// What comes, taken by `next`.
fn wait<T>(fd: i32, mut next: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(found) = next() {
            return Some(found);
        }
        let mut poll = PollSet::new();
        poll.add(fd);
        poll.wait(Duration::from_millis(100));
    }
    None
}

fn frame(length: usize) -> Vec<u8> {
    let mut f = vec![0xff; 6];
    f.extend([2, 0, 0, 0, 0, 0x0c, 0x88, 0xb5]);
    f.extend((f.len()..length).map(|i| i as u8));
    f
}

#[test]
fn frames_go_in_and_out_of_a_tap_device() {
    with_devices(|| {
        let mut tap = Tap::open("slow").unwrap();
        assert!(Tap::open("slow").is_err(), "one process only");
        assert!(tap.next_frame().unwrap().is_none());
        assert!(tap.deliver(&frame(60)).is_err(), "down");
        ip("link set slow address 02:00:00:00:00:0d");
        assert_eq!(tap.mac(), Some([2, 0, 0, 0, 0, 13]));
        std::fs::write("/proc/sys/net/ipv6/conf/slow/disable_ipv6", "1").ok();
        ip("link set slow mtu 9000 up");
        let mut host = AfPacket::open("slow", None).unwrap();
        let mut pool = Pool::new(16, FrameSize::JUMBO).unwrap();
        let mut batch: Vec<Packet> = Vec::with_capacity(16);
        for length in [60, 1514, 9014] {
            let sent = frame(length);
            tap.deliver(&sent).unwrap();
            let fd = host.poll_fd().unwrap().as_raw_fd();
            wait(fd, || (host.receive(&mut pool, &mut batch, 16) > 0).then_some(())).unwrap();
            assert_eq!(batch[0].bytes(), sent);
            // And back, as a port.
            assert_eq!(host.transmit(&mut pool, &mut batch), 1);
            let fd = tap.poll_fd().unwrap().as_raw_fd();
            wait(fd, || (tap.receive(&mut pool, &mut batch, 16) > 0).then_some(())).unwrap();
            assert_eq!(batch[0].bytes(), sent);
            assert_eq!(tap.transmit(&mut pool, &mut batch), 1);
            wait(host.poll_fd().unwrap().as_raw_fd(), || (host.receive(&mut pool, &mut batch, 16) > 0).then_some(()))
                .unwrap();
            batch.drain(..).for_each(|p| pool.give(p));
        }
    });
}

#[test]
fn joined_frames_of_the_host_come_apart_and_segments_leave_joined() {
    with_devices(|| {
        const UDP_SEGMENT: libc::c_int = 103;
        let mut tap = Tap::open("slow").unwrap();
        std::fs::write("/proc/sys/net/ipv6/conf/slow/disable_ipv6", "1").ok();
        ip("link set slow address 02:00:00:00:00:0d up");
        ip("addr add 10.0.0.1/24 dev slow");
        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:0e dev slow");
        let socket = UdpSocket::bind("10.0.0.1:4000").unwrap();
        let size: libc::c_int = 1000;
        // SAFETY: the option is an int, which lives.
        let set =
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, UDP_SEGMENT, (&raw const size).cast(), 4) };
        assert_eq!(set, 0);
        let payload: Vec<u8> = (0..40_500).map(|i: u32| (i / 7) as u8).collect();
        socket.send_to(&payload, "10.0.0.2:5000").unwrap();
        let mut frames: Vec<Vec<u8>> = Vec::new();
        while frames.len() < 41 {
            let fd = tap.fd();
            frames.push(wait(fd, || tap.next_frame().unwrap().map(<[u8]>::to_vec)).expect("a segment"));
        }
        assert!(frames.iter().flat_map(|frame| &frame[42..]).eq(&payload));
        assert!(frames.iter().all(|frame| checksum::is_right(frame) && checksum::ones_sum(&frame[14..34]) == 0xffff));

        // Back to the host, with addresses and ports exchanged, which changes no checksum.
        for frame in &mut frames {
            for (a, b, length) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
                (0..length).for_each(|i| frame.swap(a + i, b + i));
            }
        }
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let counted = || -> u64 {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let line = text.lines().find_map(|line| line.trim().strip_prefix("slow:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let mut pool = Pool::new(64, FrameSize::JUMBO).unwrap();
        let mut batch: Vec<Packet> = frames.iter().map(|frame| pool.take_filled(frame).unwrap()).collect();
        let before = counted();
        assert_eq!(tap.transmit(&mut pool, &mut batch), 41);
        assert_eq!(counted() - before, 1, "one joined frame");
        let mut buffer = [0; 2000];
        for part in payload.chunks(1000) {
            let length = receive_from(&socket, &mut buffer).unwrap().0;
            assert_eq!(&buffer[..length], part);
        }
    });
}

#[test]
fn a_persistent_device_stays_and_its_carrier_can_be_set() {
    with_devices(|| {
        // Linux tells the carrier up to a second late.
        let carrier_becomes = |wanted: bool| {
            let begin = Instant::now();
            loop {
                let shown = Command::new("ip").args(["-o", "link", "show", "slow"]).output().unwrap();
                assert!(shown.status.success(), "the device is gone");
                if String::from_utf8_lossy(&shown.stdout).contains("NO-CARRIER") != wanted {
                    return;
                }
                assert!(begin.elapsed() < PATIENCE, "the carrier does not become {wanted}");
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        let tap = Tap::open("slow").unwrap();
        ip("link set slow up");
        carrier_becomes(true);
        tap.carrier().unwrap().set(false).unwrap();
        carrier_becomes(false);
        tap.carrier().unwrap().set(true).unwrap();
        carrier_becomes(true);
        tap.persist().unwrap();
        drop(tap);
        // Processes that other tests are about to start have its descriptor for a moment.
        carrier_becomes(false);
        let _tap = Tap::open("slow").unwrap();
        carrier_becomes(true);
    });
}

#[test]
fn a_frame_socket_gets_what_its_filter_passes() {
    with_devices(|| {
        let mut socket = FrameSocket::open("vb", &Filter::neighbour_answers(), 128).unwrap();
        assert!(socket.next_frame().is_none());
        let mut pool = Pool::new(16, FrameSize::JUMBO).unwrap();
        let mut va = AfPacket::open("va", None).unwrap();
        let mut reply = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2];
        reply.resize(60, 7);
        let mut request = reply.clone();
        request[21] = 1;
        let mut batch = vec![pool.take_filled(&request).unwrap(), pool.take_filled(&reply).unwrap()];
        assert_eq!(va.transmit(&mut pool, &mut batch), 2);
        let got = wait(socket.fd(), || socket.next_frame().map(<[u8]>::to_vec)).unwrap();
        assert_eq!(got, reply);
        assert!(socket.next_frame().is_none());
    });
}
