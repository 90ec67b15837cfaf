//! TAP devices and frame sockets, in a network namespace of their own.

use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::devices::{ip, with_devices};
use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{FrameSize, Packet, Pool, Port};
use hopwright_ports::{AfPacket, Filter, FrameSocket, Tap};

/// What comes within a second, taken by `next`.
fn wait<T>(fd: i32, mut next: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
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
fn a_persistent_device_stays_and_its_carrier_can_be_set() {
    with_devices(|| {
        let carrier = || {
            std::fs::read_to_string("/proc/thread-self/net/dev").unwrap().contains("slow:").then(|| {
                let shown = Command::new("ip").args(["-o", "link", "show", "slow"]).output().unwrap().stdout;
                !String::from_utf8_lossy(&shown).contains("NO-CARRIER")
            })
        };
        let tap = Tap::open("slow").unwrap();
        ip("link set slow up");
        assert_eq!(carrier(), Some(true));
        tap.carrier().unwrap().set(false).unwrap();
        assert_eq!(carrier(), Some(false));
        tap.carrier().unwrap().set(true).unwrap();
        assert_eq!(carrier(), Some(true));
        tap.persist().unwrap();
        drop(tap);
        assert_eq!(carrier(), Some(false));
        let tap = Tap::open("slow").unwrap();
        assert_eq!(carrier(), Some(true));
        drop(tap);
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
