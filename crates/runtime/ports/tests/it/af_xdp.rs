//! AF_XDP sockets on a real pair of virtual devices, each test in a network namespace of its own. Without the rights or
//! the kernel for it they say that they are skipped.

use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::devices::{self, MAC_B, PATIENCE, QUIET, info_when_up, ip, with_devices};
use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{FrameSize, Packet, Pool, Port};

use hopwright_ports::af_packet::Input;
use hopwright_ports::af_xdp::Programs;
use hopwright_ports::{
    AfPacket, AfXdp, Filter, FrameMatch, Pattern, SharedFrames, XdpDevice, XdpMode, XdpOptions, checksum, closing,
};

const MODES: [XdpMode; 2] = [XdpMode::Native, XdpMode::Generic];

/// Frames for jumbo packets, and a port on a device that shares them.
struct Shared {
    pool: Pool,
    frames: SharedFrames,
}

impl Shared {
    fn new(frames: u32, mtu: u32) -> Shared {
        Shared::with_headroom(frames, mtu, 0)
    }

    fn with_headroom(frames: u32, mtu: u32, headroom: u32) -> Shared {
        let pool = Pool::new(frames, FrameSize::shared(mtu, headroom)).unwrap();
        let frames = SharedFrames::new(&pool).unwrap();
        Shared { pool, frames }
    }

    fn open(&self, device: &str, mode: XdpMode, ours: &FrameMatch) -> AfXdp {
        let options = XdpOptions { mode: Some(mode), ring: 256, ..XdpOptions::default() };
        // A port that was dropped leaves the device in the background.
        closing::finish(PATIENCE);
        XdpDevice::attach(device, ours, options).unwrap().port(&self.frames, &[0]).unwrap()
    }
}

/// Receives until there are this many packets.
fn receive(port: &mut dyn Port, pool: &mut Pool, count: usize) -> Vec<Vec<u8>> {
    devices::receive(port, pool, PATIENCE, |got| got.len() >= count)
}

/// Receives until nothing has come for a while.
fn receive_all(port: &mut dyn Port, pool: &mut Pool) -> Vec<Vec<u8>> {
    devices::receive(port, pool, QUIET, |_| false)
}

fn transmit(port: &mut dyn Port, pool: &mut Pool, frames: &[Vec<u8>]) -> usize {
    let mut batch: Vec<Packet> = frames.iter().map(|f| pool.take_filled(f).unwrap()).collect();
    let sent = port.transmit(pool, &mut batch);
    port.flush();
    sent
}

/// A frame of some length from `va` to `vb` with a number in it, of a protocol that the kernel does not know.
fn frame(length: usize, number: u32) -> Vec<u8> {
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 0x88, 0xb5];
    f.extend(number.to_be_bytes());
    f.extend((f.len()..length).map(|i| (i * 7) as u8));
    f
}

#[test]
fn bursts_of_all_sizes_pass_both_ways_whole_and_in_order() {
    with_devices(|| {
        for mode in MODES {
            let mut plain = AfPacket::open("va", None).unwrap();
            let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
            let mut shared = Shared::new(1024, 9000);
            let mut port = shared.open("vb", mode, &FrameMatch::Everything);
            let info = info_when_up(&port);
            assert_eq!((info.mac, info.mtu, info.up), (Some([2, 0, 0, 0, 0, 11]), Some(9000), Some(true)));
            assert!(receive_all(&mut port, &mut shared.pool).is_empty());
            for burst in 0..5 {
                // 3,840 bytes fill a chunk to its end.
                let sizes = [60, 150, 1514, 3839, 3840, 3841, 7936, 7937, 9014];
                let sent: Vec<_> = (0..100).map(|i| frame(sizes[i % sizes.len()], burst * 1000 + i as u32)).collect();
                assert_eq!(transmit(&mut plain, &mut plain_pool, &sent), 100);
                let got = receive(&mut port, &mut shared.pool, 100);
                assert_eq!(got.len(), 100, "{mode:?}: received");
                assert!(got == sent, "{mode:?}: received in order and whole");
                assert_eq!(transmit(&mut port, &mut shared.pool, &sent), 100);
                let got = receive(&mut plain, &mut plain_pool, 100);
                assert_eq!(got.len(), 100, "{mode:?}: sent");
                assert!(got == sent, "{mode:?}: sent in order and whole");
            }
            assert_eq!(port.stats(), Default::default());
            assert!(!port.pending());
        }
    });
}

/// Each packet may grow by that much in its buffer and is sent whole.
#[test]
fn packets_have_the_headroom_that_programs_want() {
    with_devices(|| {
        for (mode, headroom) in MODES.into_iter().flat_map(|mode| [(mode, 320), (mode, 2048)]) {
            let mut plain = AfPacket::open("va", None).unwrap();
            let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
            let mut shared = Shared::with_headroom(1024, 9000, headroom);
            let mut port = shared.open("vb", mode, &FrameMatch::Everything);
            info_when_up(&port);
            assert!(receive_all(&mut port, &mut shared.pool).is_empty());
            // 2,048 and 3,776 bytes fill a chunk to its end.
            let sent: Vec<_> = [60, 1514, 2047, 2048, 2049, 3776, 3777, 6900].map(|length| frame(length, 1)).into();
            assert_eq!(transmit(&mut plain, &mut plain_pool, &sent), sent.len());
            let mut batch = Vec::with_capacity(256);
            let end = Instant::now() + PATIENCE;
            while batch.len() < sent.len() && Instant::now() < end {
                port.receive(&mut shared.pool, &mut batch, 256);
            }
            for (packet, sent) in batch.iter_mut().zip(&sent) {
                assert!(packet.bytes() == sent, "{mode:?}: received whole");
                let (start, end) = (packet.raw().start, packet.raw().end);
                assert!(start >= headroom && packet.set_bounds(start - headroom, end), "{mode:?}: {start}");
                packet.bytes_mut()[..headroom as usize].copy_from_slice(&frame(headroom as usize, 2));
            }
            let grown: Vec<_> = sent.iter().map(|sent| [&frame(headroom as usize, 2)[..], sent].concat()).collect();
            assert_eq!(port.transmit(&mut shared.pool, &mut batch), sent.len());
            port.flush();
            assert!(receive(&mut plain, &mut plain_pool, sent.len()) == grown, "{mode:?}: sent whole");
        }
    });
}

#[test]
fn a_packet_passes_between_devices_without_a_copy_and_frames_come_back() {
    with_devices(|| {
        ip("link add name vc type veth peer name vd");
        ip("link set vc mtu 9000 up");
        ip("link set vd mtu 9000 up");
        let mut source = AfPacket::open("va", None).unwrap();
        let mut sink = AfPacket::open("vd", None).unwrap();
        let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
        let mut shared = Shared::new(1024, 9000);
        let mut input = shared.open("vb", XdpMode::Native, &FrameMatch::Everything);
        let mut output = shared.open("vc", XdpMode::Native, &FrameMatch::Everything);
        let mut batch = Vec::with_capacity(256);
        input.receive(&mut shared.pool, &mut batch, 256);
        output.receive(&mut shared.pool, &mut batch, 256);
        let out = 256 * 2;
        assert_eq!(shared.pool.available(), 1024 - out);
        // Many times the pool.
        for burst in 0..60 {
            let sent: Vec<_> = (0..64).map(|i| frame([100, 1500, 9000][i % 3], burst * 100 + i as u32)).collect();
            assert_eq!(transmit(&mut source, &mut plain_pool, &sent), 64);
            let deadline = Instant::now() + PATIENCE;
            while batch.len() < 64 && Instant::now() < deadline {
                let room = 256 - batch.len();
                input.receive(&mut shared.pool, &mut batch, room);
            }
            let at: Vec<_> = batch.iter().map(|p| p.bytes().as_ptr() as usize).collect();
            let (start, bytes) = shared.pool.memory().region();
            assert!(at.iter().all(|a| (start.as_ptr() as usize..start.as_ptr() as usize + bytes).contains(a)));
            assert_eq!(output.transmit(&mut shared.pool, &mut batch), 64);
            output.flush();
            let got = receive(&mut sink, &mut plain_pool, 64);
            assert_eq!(got.len(), 64, "burst {burst}: {:?}", output.stats());
            assert!(got == sent, "burst {burst}");
        }
        let give_back = |port: &mut AfXdp, pool: &mut Pool| port.receive(pool, &mut Vec::with_capacity(1), 0);
        give_back(&mut input, &mut shared.pool);
        give_back(&mut output, &mut shared.pool);
        assert_eq!(shared.pool.available(), 1024 - out);
        // A port that is taken away leaves its frames to the others, as soon as the kernel has closed it.
        drop(output);
        assert!(closing::finish(PATIENCE));
        give_back(&mut input, &mut shared.pool);
        assert_eq!(shared.pool.available(), 1024 - 256);
    });
}

fn datagram(to: (&str, u16), payload: &[u8]) {
    let socket = UdpSocket::bind("192.0.2.1:4000").unwrap();
    socket.send_to(payload, to).unwrap();
}

#[test]
fn only_what_is_ours_is_taken_and_the_kernel_gets_the_rest() {
    with_devices(|| {
        for mode in MODES {
            ip("addr flush dev va");
            ip("addr add 192.0.2.1/24 dev va");
            ip(&format!("neigh replace 192.0.2.2 lladdr {MAC_B} dev va"));
            let ours: [(IpAddr, u16); 1] = [("192.0.2.2".parse().unwrap(), 30042)];
            let mut shared = Shared::new(1024, 9000);
            let mut port = shared.open("vb", mode, &FrameMatch::UdpDestinations(ours.to_vec()));
            let mut kernel = AfPacket::open("vb", None).unwrap();
            let mut kernel_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
            port.receive(&mut shared.pool, &mut Vec::with_capacity(1), 0);
            for length in [0, 1, 100, 1001] {
                let payload: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
                datagram(("192.0.2.2", 30041), &payload);
                datagram(("192.0.2.2", 30042), &payload);
                let got = receive(&mut port, &mut shared.pool, 1);
                assert_eq!(got.len(), 1, "{mode:?}");
                let f = &got[0];
                assert_eq!(f[36..38], 30042u16.to_be_bytes());
                assert_eq!(f[42..], payload);
                // The sender left the checksum to the device. Sum over pseudo-header and datagram.
                let mut summed = f[26..].to_vec();
                summed.extend([0, 17]);
                summed.splice(0..0, f[38..40].iter().copied());
                if length % 2 == 1 {
                    summed.insert(summed.len() - 2, 0);
                }
                assert_eq!(checksum::ones_sum(&summed), 0xffff, "{mode:?}");
                let rest = receive(&mut kernel, &mut kernel_pool, 1);
                assert_eq!(rest[0][36..38], 30041u16.to_be_bytes(), "{mode:?}: the kernel's");
            }
            assert!(receive_all(&mut port, &mut shared.pool).is_empty());
            assert!(receive_all(&mut kernel, &mut kernel_pool).is_empty());
        }
    });
}

#[test]
fn the_program_leaves_with_the_last_port_and_is_not_put_over_anothers() {
    with_devices(|| {
        let attached = || {
            let output = std::process::Command::new("ip").args(["link", "show", "vb"]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("xdp")
        };
        assert!(!attached());
        let shared = Shared::new(1024, 1500);
        for mode in MODES {
            let port = shared.open("vb", mode, &FrameMatch::Everything);
            assert!(attached());
            let options = XdpOptions { mode: Some(mode), ..XdpOptions::default() };
            let error = XdpDevice::attach("vb", &FrameMatch::Everything, options).unwrap_err().to_string();
            assert!(error.starts_with("vb: cannot attach the XDP program"), "{error}");
            // Processes that other tests are about to start have its descriptor for a moment, which does not matter.
            drop(port);
            assert!(closing::finish(PATIENCE));
            assert!(!attached());
        }
        let missing = XdpDevice::attach("nowhere", &FrameMatch::Everything, XdpOptions::default()).unwrap_err();
        assert!(missing.to_string().starts_with("nowhere: cannot find the device"), "{missing}");
    });
}

#[test]
fn what_does_not_fit_is_counted() {
    with_devices(|| {
        let mut plain = AfPacket::open("va", None).unwrap();
        let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
        // Frames of 2 KiB: three pieces of a large packet do not fit one.
        let mut small = Shared::new(1024, 1500);
        let mut port = small.open("vb", XdpMode::Native, &FrameMatch::Everything);
        port.receive(&mut small.pool, &mut Vec::with_capacity(1), 0);
        let sent = [frame(1514, 1), frame(4000, 2), frame(100, 3)];
        assert_eq!(transmit(&mut plain, &mut plain_pool, &sent), 3);
        assert_eq!(receive(&mut port, &mut small.pool, 2), [frame(1514, 1), frame(100, 3)]);
        assert_eq!(port.stats().rx_too_long, 1);

        // No more frames than the fill ring has.
        let burst: Vec<_> = (0..200).map(|i| frame(100, i)).collect();
        for _ in 0..2 {
            assert_eq!(transmit(&mut plain, &mut plain_pool, &burst), 200);
        }
        let got = devices::receive_with_losses(&mut port, &mut small.pool, 400);
        assert!(got.len() < 400, "more than the ring holds");
        assert_eq!(got.len() as u64 + port.stats().rx_overrun, 400);

        ip("link set vb mtu 1500");
        port.stats();
        assert_eq!(transmit(&mut port, &mut small.pool, &[frame(1600, 1), frame(100, 2)]), 1);
        assert_eq!(port.stats().tx_error, 1, "longer than the MTU");
        ip("link set vb down");
        transmit(&mut port, &mut small.pool, &[frame(100, 1)]);
        assert_eq!(transmit(&mut port, &mut small.pool, &[frame(100, 1), frame(100, 2)]), 0);
        assert_eq!(port.stats().tx_error, 3);
    });
}

#[test]
fn a_device_or_its_peer_may_go_down_and_come_back() {
    with_devices(|| {
        for mode in MODES {
            let mut plain = AfPacket::open("va", None).unwrap();
            let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
            let mut shared = Shared::new(1024, 9000);
            let mut port = shared.open("vb", mode, &FrameMatch::Everything);
            assert!(receive_all(&mut port, &mut shared.pool).is_empty());
            for (round, device) in ["vb", "va", "vb"].into_iter().enumerate() {
                ip(&format!("link set {device} down"));
                // More than the rings hold is lost; the device may refuse all of it.
                for i in 0..40 {
                    let lost: Vec<_> = (0..10).map(|j| frame(100, 100_000 + i * 10 + j)).collect();
                    transmit(&mut port, &mut shared.pool, &lost);
                }
                port.stats();
                ip(&format!("link set {device} up"));
                // What was accepted before may still come, and then what is sent now.
                let sent: Vec<_> = (0..50).map(|i| frame(1000, round as u32 * 1000 + i)).collect();
                let deadline = Instant::now() + PATIENCE;
                let mut back = receive_all(&mut plain, &mut plain_pool);
                while !back.ends_with(&sent) && Instant::now() < deadline {
                    transmit(&mut port, &mut shared.pool, &sent);
                    back.extend(receive_all(&mut plain, &mut plain_pool));
                }
                assert!(back.ends_with(&sent), "{mode:?}, {device}: sent, {} {:?}", back.len(), port.stats());
                assert_eq!(transmit(&mut plain, &mut plain_pool, &sent), 50);
                let got = receive(&mut port, &mut shared.pool, 50);
                assert_eq!(got.len(), 50, "{mode:?}, {device}: received, {:?}", port.stats());
            }
        }
    });
}

#[test]
fn a_device_that_came_back_while_nobody_sent_is_sent_on() {
    with_devices(|| {
        for mode in MODES {
            let mut plain = AfPacket::open("va", None).unwrap();
            let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
            let mut shared = Shared::new(1024, 1500);
            let mut port = shared.open("vb", mode, &FrameMatch::Everything);
            port.receive(&mut shared.pool, &mut Vec::with_capacity(1), 0);
            ip("link set vb down");
            // Waits in the ring; the second is refused.
            transmit(&mut port, &mut shared.pool, &[frame(100, 1)]);
            assert_eq!(transmit(&mut port, &mut shared.pool, &[frame(100, 2)]), 0, "{mode:?}");
            ip("link set vb up");
            // A worker that waits for packets makes the kernel send what is in the ring.
            let mut poll = PollSet::with_capacity(1);
            poll.add(port.poll_fd().unwrap().as_raw_fd());
            poll.wait(Duration::from_millis(20));
            assert_eq!(transmit(&mut port, &mut shared.pool, &[frame(100, 3)]), 1, "{mode:?}");
            assert_eq!(receive(&mut plain, &mut plain_pool, 2), [frame(100, 1), frame(100, 3)], "{mode:?}");
        }
    });
}

/// An untagged frame from `va` to `vb` with a UDP datagram over IPv4 to 10.0.0.2, port 50000.
pub(crate) fn to_ours(payload: &[u8]) -> Vec<u8> {
    let total = (28 + payload.len()) as u16;
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 8, 0, 0x45, 0];
    f.extend(total.to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39]);
    f.extend(50000u16.to_be_bytes());
    f.extend((total - 20).to_be_bytes());
    f.extend([0, 0]);
    f.extend(payload);
    f
}

#[test]
fn what_is_received_apart_survives_full_rings() {
    with_devices(|| {
        let ours: [(IpAddr, u16); 1] = [("10.0.0.2".parse().unwrap(), 50000)];
        let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2])] };
        let [urgent, _] = Filter::divided(&ours, &pattern).unwrap();
        for mode in MODES {
            let mut plain = AfPacket::open("va", None).unwrap();
            let mut plain_pool = Pool::new(600, FrameSize::JUMBO).unwrap();
            let mut shared = Shared::new(1024, 1500);
            let options = XdpOptions { mode: Some(mode), ring: 256, ..XdpOptions::default() };
            let programs = Programs::default();
            let matched = FrameMatch::UdpDestinations(ours.to_vec());
            closing::finish(PATIENCE);
            let device = XdpDevice::attach_but(&programs, "vb", &matched, Some(&pattern), options).unwrap();
            let mut port = device.port(&shared.frames, &[0]).unwrap();
            port.receive_apart(Input::small("vb", &urgent).unwrap());
            port.receive(&mut shared.pool, &mut Vec::with_capacity(1), 0);
            // Many more than fit the rings, and now and then one that must arrive.
            let apart = |n: u8| to_ours(&[n, 0, 0, 0, 203, 0, 0, 0, 2, 0, 0, 0]);
            let mut sent = 0;
            for burst in 0..20 {
                let mut frames: Vec<_> = (0..100).map(|_| to_ours(&[burst; 200])).collect();
                frames.push(apart(burst));
                sent += transmit(&mut plain, &mut plain_pool, &frames);
            }
            assert_eq!(sent, 20 * 101);
            // The last of the small ring's blocks, which is not full, is handed over a little later.
            let (others, got): (Vec<_>, Vec<_>) = devices::receive_with_losses(&mut port, &mut shared.pool, 2020)
                .into_iter()
                .partition(|f| f.len() > 200);
            assert_eq!(got, (0..20).map(apart).collect::<Vec<_>>(), "{mode:?}");
            assert_eq!(others.len() as u64 + port.stats().rx_overrun, 2000, "{mode:?}");
        }
    });
}
