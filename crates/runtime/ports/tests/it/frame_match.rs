//! Which frames the ports of a device take, on real pairs of virtual devices, in TAP devices and capture files.

use crate::devices::{self, PATIENCE, QUIET, ip, receive_exactly, with_devices};
use hopwright_dataplane::{FrameSize, Pool, Port};
use hopwright_ports::{AfPacket, FrameMatch, Opener, PcapPort, PortChoice, Tap, Wanted, XdpOptions, closing};

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0x0b];
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 0xff];
const GROUP: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 0x0e];
const ALL: [u8; 6] = [0xff; 6];

fn frame(to: [u8; 6], ether_type: &[u8], number: u8) -> Vec<u8> {
    [&to[..], &[2, 0, 0, 0, 0, 0x0a], ether_type, &[number; 60]].concat()
}

/// Receives until nothing has come for a while.
fn receive(port: &mut dyn Port, pool: &mut Pool) -> Vec<Vec<u8>> {
    devices::receive(port, pool, QUIET, |_| false)
}

fn opener(choice: PortChoice) -> (Opener, Pool) {
    let wanted = Wanted {
        choice,
        urgent: None,
        sockets: None,
        fill_checksums: false,
        mtu: 1500,
        headroom: 0,
        devices: 1,
        workers: 1,
        flows: None,
        options: XdpOptions::default(),
        memory: &[],
    };
    let (opener, mut pools) = Opener::new(&wanted).unwrap();
    (opener, pools.remove(0))
}

#[test]
fn by_ether_type() {
    with_devices(|| {
        let (rina, local) = (&[0xd1, 0xf0][..], &[0x88, 0xb5][..]);
        for choice in [PortChoice::AfPacket, PortChoice::AfXdp] {
            let mut sender = AfPacket::open("va", None).unwrap();
            let mut senders = Pool::new(64, FrameSize::JUMBO).unwrap();
            let (opener, mut pool) = opener(choice);
            let mut port = opener.open("vb", &FrameMatch::EtherTypes(vec![0xd1f0])).unwrap().ports.remove(0);
            // AF_XDP needs empty frames first.
            assert!(receive(&mut *port, &mut pool).is_empty());
            let mut kernel = AfPacket::open("vb", None).unwrap();
            let mut kernels = Pool::new(64, FrameSize::JUMBO).unwrap();
            let tagged = [&[0x81, 0, 0, 5][..], rina].concat();
            let sent = [
                frame(OWN, rina, 0),
                frame(ALL, rina, 1),
                frame(GROUP, rina, 2),
                frame(OTHER, rina, 3),
                frame(OWN, local, 4),
                frame(OWN, &[8, 0], 5),
                frame(OWN, &tagged, 6),
            ];
            let mut send = |frames: &[Vec<u8>]| {
                let mut batch: Vec<_> = frames.iter().map(|f| senders.take_filled(f).unwrap()).collect();
                assert_eq!(sender.transmit(&mut senders, &mut batch), frames.len());
            };
            send(&sent);
            assert_eq!(receive_exactly(&mut *port, &mut pool, 3), sent[..3], "{choice}");
            // AF_XDP takes frames from the kernel, a packet socket copies them.
            let left = if choice == PortChoice::AfXdp { &sent[3..] } else { &sent[..] };
            assert_eq!(receive_exactly(&mut kernel, &mut kernels, left.len()), left, "{choice}");

            opener.set_match("vb", &FrameMatch::EtherTypes(vec![0x88b5])).unwrap();
            send(&sent);
            assert_eq!(receive_exactly(&mut *port, &mut pool, 1), sent[4..5], "{choice}: changed");
            let error = opener.set_match("vb", &FrameMatch::UdpDestinations(vec![])).unwrap_err();
            assert!(error.to_string().contains("another kind"), "{error}");
            opener.close("vb").unwrap();
            send(&sent);
            assert_eq!(receive(&mut *port, &mut pool), [[0u8; 0]; 0], "{choice}: closed");
            drop(port);
            assert!(closing::finish(PATIENCE));
        }
    });
}

#[test]
fn everything() {
    with_devices(|| {
        for choice in [PortChoice::AfPacket, PortChoice::AfXdp] {
            let mut sender = AfPacket::open("va", None).unwrap();
            let mut senders = Pool::new(64, FrameSize::JUMBO).unwrap();
            let (opener, mut pool) = opener(choice);
            let mut port = opener.open("vb", &FrameMatch::Everything).unwrap().ports.remove(0);
            assert!(receive(&mut *port, &mut pool).is_empty());
            let sent = [
                frame(OWN, &[8, 0], 0),
                frame(ALL, &[0x88, 0xb5], 1),
                frame(OTHER, &[0xd1, 0xf0], 2),
                frame(GROUP, &[0x81, 0, 0, 5, 0x88, 0xb5], 3),
            ];
            let mut batch: Vec<_> = sent.iter().map(|f| senders.take_filled(f).unwrap()).collect();
            assert_eq!(sender.transmit(&mut senders, &mut batch), sent.len());
            assert_eq!(receive_exactly(&mut *port, &mut pool, sent.len()), sent, "{choice}");
            drop(port);
            assert!(closing::finish(PATIENCE));
        }
    });
}

/// Ethernet pads short frames. Who takes datagrams gets no padding, whatever the kind of port; who takes frames does.
#[test]
fn datagrams_come_without_padding() {
    with_devices(|| {
        let v4 = |to: [u8; 6]| {
            let header = [0x45, 0, 0, 30, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let udp = [0x30, 0x39, 0xc3, 0x50, 0, 10, 0, 0, 7, 7];
            [&to[..], &[2, 0, 0, 0, 0, 0x0a, 8, 0], &header, &udp].concat()
        };
        let v6 = [&v4(OWN)[..12], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 10, 17, 64], &[9; 16], &[0xfd; 16], &v4(OWN)[34..]];
        let datagrams = [v4(OWN), v6.concat()];
        let padded = |length: usize| {
            datagrams.clone().map(|mut f| {
                f.resize(f.len().max(length), 0xee);
                f
            })
        };
        let mut sent = padded(60).to_vec();
        sent.extend(padded(64));
        sent.extend(padded(1000));
        sent.extend(padded(0));
        let ours = vec![([10, 0, 0, 2].into(), 50000), ([0xfd; 16].into(), 50000)];
        for (frames, whole) in [(FrameMatch::UdpDestinations(ours), false), (FrameMatch::Everything, true)] {
            for choice in [PortChoice::AfPacket, PortChoice::AfXdp] {
                let mut sender = AfPacket::open("va", None).unwrap();
                let mut senders = Pool::new(64, FrameSize::JUMBO).unwrap();
                let (opener, mut pool) = opener(choice);
                let mut port = opener.open("vb", &frames).unwrap().ports.remove(0);
                assert!(receive(&mut *port, &mut pool).is_empty());
                let mut batch: Vec<_> = sent.iter().map(|f| senders.take_filled(f).unwrap()).collect();
                assert_eq!(sender.transmit(&mut senders, &mut batch), sent.len());
                // AF_XDP completes checksums, which are not compared here.
                let got = receive_exactly(&mut *port, &mut pool, sent.len());
                let lengths: Vec<usize> = got.iter().map(Vec::len).collect();
                let expected = |i: usize| if whole { sent[i].len() } else { datagrams[i % 2].len() };
                assert_eq!(lengths, (0..sent.len()).map(expected).collect::<Vec<_>>(), "{choice}, {frames:?}");
                assert!(got.iter().zip(datagrams.iter().cycle()).all(|(f, d)| f[d.len() - 2..d.len()] == [7, 7]));
                drop(port);
                assert!(closing::finish(PATIENCE));
            }
        }
    });
}

#[test]
fn in_tap_devices() {
    with_devices(|| {
        let mut tap = Tap::open("slow").unwrap();
        tap.set_match(FrameMatch::EtherTypes(vec![0xd1f0]));
        std::fs::write("/proc/sys/net/ipv6/conf/slow/disable_ipv6", "1").ok();
        ip("link set slow up");
        let mut host = AfPacket::open("slow", None).unwrap();
        let mut pool = Pool::new(16, FrameSize::JUMBO).unwrap();
        let sent = [frame(ALL, &[0x88, 0xb5], 0), frame(OTHER, &[0xd1, 0xf0], 1), frame(OWN, &[8, 0], 2)];
        let mut batch: Vec<_> = sent.iter().map(|f| pool.take_filled(f).unwrap()).collect();
        assert_eq!(host.transmit(&mut pool, &mut batch), sent.len());
        assert_eq!(receive_exactly(&mut tap, &mut pool, 1), sent[1..2]);
    });
}

#[test]
fn in_capture_files() {
    let path = std::env::temp_dir().join(format!("hopwright-{}-match.pcap", std::process::id()));
    let mut pool = Pool::new(16, FrameSize::JUMBO).unwrap();
    let sent = [frame(ALL, &[0x88, 0xb5], 0), frame(OTHER, &[0xd1, 0xf0], 1), frame(OWN, &[8, 0], 2)];
    let mut batch: Vec<_> = sent.iter().map(|f| pool.take_filled(f).unwrap()).collect();
    PcapPort::new("w", None, Some(&path)).unwrap().transmit(&mut pool, &mut batch);
    let mut port = PcapPort::new("r", Some(&path), None).unwrap();
    port.set_match(FrameMatch::EtherTypes(vec![0xd1f0, 0x0800]));
    assert_eq!(receive_exactly(&mut port, &mut pool, 2), sent[1..]);
    std::fs::remove_file(path).unwrap();
}

/// Devices of one opener share an XDP program; each one's frames come by its own port.
#[test]
fn devices_with_the_same_program() {
    with_devices(|| {
        for i in 0..4 {
            ip(&format!("link add s{i} type veth peer name p{i}"));
            ip(&format!("link set s{i} up"));
            ip(&format!("link set p{i} up"));
        }
        let names = ["s0", "s1", "s2", "s3"];
        let wanted = Wanted { choice: PortChoice::AfXdp, devices: names.len(), ..Wanted::default() };
        let (opener, mut pools) = Opener::new(&wanted).unwrap();
        let rina = FrameMatch::EtherTypes(vec![0xd1f0]);
        let opened = opener.open_all(&names.map(|name| (name, &rina))).unwrap();
        let mut ports: Vec<_> = opened.into_iter().flat_map(|opened| opened.unwrap().ports).collect();
        let mut senders = Pool::new(64, FrameSize::JUMBO).unwrap();
        for (i, port) in ports.iter_mut().enumerate() {
            assert!(receive(&mut **port, &mut pools[0]).is_empty());
            let sent = frame(ALL, &[0xd1, 0xf0], i as u8);
            let mut sender = AfPacket::open(&format!("p{i}"), None).unwrap();
            let mut batch = vec![senders.take_filled(&sent).unwrap()];
            assert_eq!(sender.transmit(&mut senders, &mut batch), 1);
            assert_eq!(receive_exactly(&mut **port, &mut pools[0], 1), [sent]);
        }
        drop(ports);
        assert!(closing::finish(PATIENCE));
    });
}
