//! Packet sockets on a real pair of virtual devices, each test in a network namespace of its own.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::af_xdp::to_ours;
use crate::devices::{self, MAC_B, PATIENCE, QUIET, info_when_up, ip, tc, with_devices};
use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{FrameSize, Packet, Pool, Port};
use hopwright_ports::af_packet::Input;
use hopwright_ports::{AfPacket, Filter, Pattern, PortSize, RingSize, checksum};

fn pool() -> Pool {
    Pool::new(600, FrameSize::JUMBO).unwrap()
}

/// Receives until there are this many packets.
fn receive(port: &mut AfPacket, pool: &mut Pool, count: usize) -> Vec<Vec<u8>> {
    devices::receive(port, pool, PATIENCE, |got| got.len() >= count)
}

/// Receives until nothing has come for a while.
fn receive_all(port: &mut AfPacket, pool: &mut Pool) -> Vec<Vec<u8>> {
    devices::receive(port, pool, QUIET, |_| false)
}

fn transmit(port: &mut AfPacket, pool: &mut Pool, frames: &[Vec<u8>]) -> usize {
    let mut batch: Vec<Packet> = frames.iter().map(|f| pool.take_filled(f).unwrap()).collect();
    port.transmit(pool, &mut batch)
}

/// A frame of some length from `va` to `vb` with a number in it, of a protocol that the kernel does not know.
fn frame(length: usize, number: u32) -> Vec<u8> {
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 0x88, 0xb5];
    f.extend(number.to_be_bytes());
    f.extend((f.len()..length).map(|i| i as u8));
    f
}

/// Frames bypass the queueing discipline that a device has by itself, and wait in one that somebody sets.
#[test]
fn a_queueing_discipline_that_somebody_sets_counts() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let mut pool = pool();
        let mut send = |a: &mut AfPacket, number| transmit(a, &mut pool, &[frame(1000, number)]);
        info_when_up(&a);
        assert_eq!((a.room(), send(&mut a, 0)), (None, 1));
        // A frame a second, and room for more than any socket's buffer.
        tc("qdisc add dev va root tbf rate 8kbit burst 2000 limit 100000000");
        a.stats();
        let mut sent = 1;
        while a.room().unwrap() > 0 {
            assert_eq!(send(&mut a, sent), 1);
            sent += 1;
        }
        assert!((10..400).contains(&sent), "{sent} frames found room");
        // When they have left there is room again.
        tc("qdisc change dev va root tbf rate 1gbit burst 100000 limit 100000000");
        let mut others = Pool::new(600, FrameSize::JUMBO).unwrap();
        let got = receive(&mut b, &mut others, sent as usize);
        assert!(got == (0..sent).map(|number| frame(1000, number)).collect::<Vec<_>>(), "{} of {sent}", got.len());
        assert!(a.room().unwrap() > 0);
        tc("qdisc del dev va root");
        a.stats();
        assert_eq!((a.room(), send(&mut a, sent)), (None, 1));
        assert_eq!(receive(&mut b, &mut others, 1), [frame(1000, sent)]);
        assert_eq!(a.stats().tx_busy + a.stats().tx_error, 0);
    });
}

#[test]
fn bursts_of_all_sizes_arrive_whole_and_in_order() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let info = info_when_up(&a);
        assert_eq!((info.mac, info.mtu, info.up), (Some([2, 0, 0, 0, 0, 10]), Some(9000), Some(true)));
        let mut pool = pool();
        // More than one ring of large frames.
        for burst in 0..5 {
            let sent: Vec<_> = (0..250).map(|i| frame([60, 150, 1514, 9014][i % 4], burst * 1000 + i as u32)).collect();
            assert_eq!(transmit(&mut a, &mut pool, &sent), 250);
            let got = receive(&mut b, &mut pool, 250);
            assert_eq!(got.len(), 250);
            assert!(got == sent);
        }
        assert_eq!(pool.available(), 600);
        assert!(receive_all(&mut a, &mut pool).is_empty(), "what a port sends it does not receive");
        assert_eq!(b.stats(), Default::default());
    });
}

#[test]
fn a_lone_frame_is_there_at_once() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let (mut pool, mut batch) = (pool(), Vec::with_capacity(256));
        let mut poll = PollSet::new();
        poll.add(b.poll_fd().unwrap().as_raw_fd());
        for length in [60, 9014, 60, 3000] {
            let mut at_once = || {
                assert!(!poll.wait(Duration::ZERO));
                assert_eq!(transmit(&mut a, &mut pool, &[frame(length, 1)]), 1);
                let at_once = poll.wait(Duration::ZERO);
                assert!(poll.wait(PATIENCE));
                assert_eq!(b.receive(&mut pool, &mut batch, 256), 1);
                batch.drain(..).for_each(|packet| pool.give(packet));
                at_once
            };
            // A veth's peer has received when sending ends, unless the system has too much to do.
            assert!((0..100).any(|_| at_once()));
        }
    });
}

#[test]
fn what_the_ring_or_the_queue_behind_it_has_no_room_for_is_counted() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut pool = pool();
        // The ring is full first; or the memory for frames that do not fit it.
        for (length, slots) in [(100, 128), (3000, 128), (9014, 4096)] {
            let size = PortSize { receive: RingSize { slot: 2048, slots }, ..PortSize::default() };
            let mut b = AfPacket::with_size("vb", None, size).unwrap();
            let mut sent = Vec::new();
            for burst in 0..10 {
                let frames: Vec<_> = (0..100).map(|i| frame(length, 100 * burst + i)).collect();
                assert_eq!(transmit(&mut a, &mut pool, &frames), 100);
                sent.extend(frames);
            }
            let got = devices::receive_with_losses(&mut b, &mut pool, 1000);
            let kept = got.len();
            assert!((100..1000).contains(&kept) && got[..100] == sent[..100], "{kept} of {length} bytes");
            let stats = b.stats();
            assert_eq!((stats.rx_overrun, stats.rx_too_long), (1000 - kept as u64, 0), "{length}");
            // It goes on.
            assert_eq!(transmit(&mut a, &mut pool, &sent[..20]), 20);
            assert!(receive(&mut b, &mut pool, 20) == sent[..20]);
        }
        assert_eq!(pool.available(), 600);
    });
}

#[test]
fn tags_that_the_kernel_takes_off_come_back() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let mut pool = pool();
        let mut tagged = frame(100, 1);
        tagged.splice(12..12, [0x81, 0, 0x60, 5]);
        let mut service = frame(9010, 2);
        service.splice(12..12, [0x88, 0xa8, 0, 7]);
        // Two tags, and a short and a long frame by turns: they are sent differently, but in order.
        let mut double = frame(1500, 4);
        double.splice(12..12, [0x88, 0xa8, 0, 8, 0x81, 0, 0, 9]);
        let sent = [tagged.clone(), service, frame(60, 3), double.clone(), frame(9014, 5), tagged];
        assert_eq!(transmit(&mut a, &mut pool, &sent), 6);
        assert_eq!(receive(&mut b, &mut pool, 6), sent);
        let sent = [double.clone(), frame(60, 6), double];
        assert_eq!(transmit(&mut a, &mut pool, &sent), 3);
        assert_eq!(receive(&mut b, &mut pool, 3), sent);
    });
}

#[test]
fn what_does_not_fit_is_counted() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let mut big = pool();
        let mut small = Pool::new(8, FrameSize { headroom: 64, data: 512 }).unwrap();
        assert_eq!(transmit(&mut a, &mut big, &[frame(512, 1), frame(600, 2), frame(100, 3)]), 3);
        assert_eq!(receive(&mut b, &mut small, 2), [frame(512, 1), frame(100, 3)]);
        assert_eq!(b.stats().rx_too_long, 1);
        assert_eq!(small.available(), 8);

        assert_eq!(transmit(&mut a, &mut big, &[frame(9100, 1), frame(100, 2)]), 1);
        assert_eq!(a.stats().tx_error, 1, "longer than the MTU");
        ip("link set va down");
        assert_eq!(a.info().up, Some(false));
        assert_eq!(transmit(&mut a, &mut big, &[frame(100, 1), frame(100, 2)]), 0);
        assert_eq!(a.stats().tx_error, 3);
        assert_eq!(big.available(), 600);
        let missing = AfPacket::open("nowhere", None).unwrap_err();
        assert!(missing.to_string().starts_with("nowhere: cannot find the device"), "{missing}");
    });
}

#[test]
fn a_frame_longer_than_the_mtu_takes_no_other_with_it() {
    with_devices(|| {
        ip("link set va mtu 1500");
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let mut pool = pool();
        let mut tagged = frame(1514, 3);
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        let sent = [frame(60, 1), frame(1514, 2), tagged, frame(1515, 4), frame(60, 5), frame(3000, 6), frame(60, 7)];
        let fits = |sent: &[Vec<u8>]| [&sent[..3], &sent[4..5], &sent[6..]].concat();
        assert_eq!(transmit(&mut a, &mut pool, &sent), 5);
        assert_eq!((a.stats().tx_error, a.stats().tx_busy), (2, 0));
        assert_eq!(receive(&mut b, &mut pool, 5), fits(&sent));
        // The MTU may change.
        ip("link set va mtu 9000");
        for _ in 0..2 {
            assert_eq!(transmit(&mut a, &mut pool, &sent), 7);
            assert_eq!(receive(&mut b, &mut pool, 7), sent);
            a.stats();
        }
        ip("link set va mtu 1500");
        a.stats();
        assert_eq!(transmit(&mut a, &mut pool, &sent), 5);
        assert_eq!(receive(&mut b, &mut pool, 5), fits(&sent));
        assert_eq!(a.stats().tx_error, 4);
    });
}

#[test]
fn a_device_may_go_down_and_come_back() {
    with_devices(|| {
        let mut a = AfPacket::open("va", None).unwrap();
        let mut b = AfPacket::open("vb", None).unwrap();
        let mut pool = pool();
        let mut poll = PollSet::new();
        poll.add(b.poll_fd().unwrap().as_raw_fd());
        ip("link set vb down");
        assert!(poll.wait(Duration::from_millis(100)), "an error is pending");
        assert_eq!(transmit(&mut a, &mut pool, &[frame(100, 1), frame(100, 2)]), 0);
        assert_eq!((a.stats().tx_busy, a.stats().tx_error), (2, 0), "it has no carrier");
        b.stats();
        assert!(!poll.wait(Duration::from_millis(20)), "the worker may sleep again");
        ip("link set vb up");
        assert_eq!(transmit(&mut a, &mut pool, &[frame(100, 3)]), 1);
        ip("link set va down");
        assert_eq!(transmit(&mut a, &mut pool, &[frame(100, 4), frame(3000, 5)]), 0);
        assert_eq!((a.stats().tx_busy, a.stats().tx_error), (2, 2));
        ip("link set va up");
        b.stats();
        assert_eq!(transmit(&mut a, &mut pool, &[frame(100, 6)]), 1);
        assert_eq!(devices::receive_exactly(&mut b, &mut pool, 2), [frame(100, 3), frame(100, 6)]);
    });
}

#[test]
fn datagrams_of_the_kernel_come_filtered_and_with_their_checksum() {
    with_devices(|| {
        ip("addr add 192.0.2.1/24 dev va");
        ip(&format!("neigh add 192.0.2.2 lladdr {MAC_B} dev va"));
        let ours = [("192.0.2.2".parse().unwrap(), 30042)];
        let mut b = AfPacket::open("vb", Some(&Filter::udp_destinations(&ours).unwrap())).unwrap();
        let mut pool = pool();
        let socket = UdpSocket::bind("192.0.2.1:4000").unwrap();
        for length in [0, 1, 100, 1001] {
            let payload: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            socket.send_to(&payload, "192.0.2.2:30041").unwrap();
            socket.send_to(&payload, "192.0.2.2:30042").unwrap();
            let got = receive(&mut b, &mut pool, 1);
            assert_eq!(got.len(), 1);
            let f = &got[0];
            assert_eq!(f[36..38], 30042u16.to_be_bytes());
            assert_eq!(f[42..], payload);
            assert_ne!(f[40..42], [0, 0]);
            // Sum over pseudo-header and datagram.
            let mut summed = f[26..].to_vec();
            summed.extend([0, 17]);
            summed.splice(0..0, f[38..40].iter().copied());
            if length % 2 == 1 {
                summed.insert(summed.len() - 2, 0);
            }
            assert_eq!(checksum::ones_sum(&summed), 0xffff);
        }
        assert!(receive_all(&mut b, &mut pool).is_empty());
    });
}

#[test]
fn what_is_received_apart_survives_a_full_ring() {
    with_devices(|| {
        let ours = [("10.0.0.2".parse().unwrap(), 50000)];
        let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2])] };
        let [urgent, common] = Filter::divided(&ours, &pattern).unwrap();
        let mut a = AfPacket::open("va", None).unwrap();
        let size = PortSize { receive: RingSize { slot: 2048, slots: 32 }, ..PortSize::default() };
        let mut b = AfPacket::with_size("vb", Some(&common), size).unwrap();
        let urgent = Input::small("vb", &urgent).unwrap();
        let set_urgent = urgent.filter_setter();
        b.receive_apart(urgent);
        let mut pool = pool();
        // Many more than fit the ring, and now and then one that must arrive.
        let apart = |n: u8| to_ours(&[n, 0, 0, 0, 203, 0, 0, 0, 2, 0, 0, 0]);
        let mut sent = 0;
        for burst in 0..20 {
            let mut frames: Vec<_> = (0..100).map(|_| to_ours(&[burst; 200])).collect();
            frames.push(apart(burst));
            sent += transmit(&mut a, &mut pool, &frames);
        }
        assert_eq!(sent, 20 * 101);
        // The last of the small ring's blocks, which is not full, is handed over a little later.
        let (others, got): (Vec<_>, Vec<_>) =
            devices::receive_with_losses(&mut b, &mut pool, 2020).into_iter().partition(|f| f.len() > 200);
        assert_eq!(got, (0..20).map(apart).collect::<Vec<_>>());
        let others = others.len() as u64;
        assert!(others > 0 && b.stats().rx_overrun == 2000 - others, "{others} {:?}", b.stats());

        // What is ours may change.
        let set_common = b.filter_setter().unwrap();
        set_common.set(&Filter::nothing()).unwrap();
        transmit(&mut a, &mut pool, &[to_ours(&[0; 200]), apart(7)]);
        assert_eq!(receive(&mut b, &mut pool, 1), [apart(7)]);
        set_urgent.set(&Filter::nothing()).unwrap();
        transmit(&mut a, &mut pool, &[apart(8)]);
        assert!(receive_all(&mut b, &mut pool).is_empty());
        assert_eq!(pool.available(), 600);
    });
}
