use super::*;
use crate::filter::test_frames;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0x0b];
/// `XDP_DROP`, which stands for "taken" in these tests.
const TAKEN: i32 = 1;

/// The device of test runs: the loopback device.
const DEVICE: u32 = 1;

/// A program that is not attached.
struct Unattached {
    program: OwnedFd,
    maps: Maps,
}

impl Unattached {
    fn new(frames: &FrameMatch, apart: Option<&Pattern>) -> Option<Unattached> {
        let by = MatchBy::of(frames);
        let maps = match Maps::new(by) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                crate::skip_without_privileges("XDP programs need CAP_BPF and CAP_NET_ADMIN");
                return None;
            }
            other => other.unwrap(),
        };
        let program = bpf::load(&assemble(&maps, by, apart, TAKEN), "test", true).unwrap();
        let unattached = Unattached { program, maps };
        unattached.put(DEVICE, OWN, frames, 1);
        Some(unattached)
    }

    /// Adds keys for a device with this many queues.
    fn put(&self, device: u32, mac: [u8; 6], frames: &FrameMatch, queues: u32) {
        let value = [0, queues].map(u32::to_ne_bytes).concat();
        for key in keys(device, mac, frames) {
            self.maps.keys.as_ref().unwrap().put(&key, &value).unwrap();
        }
    }

    fn remove(&self, frames: &FrameMatch) {
        for key in keys(DEVICE, OWN, frames) {
            self.maps.keys.as_ref().unwrap().remove(&key).unwrap();
        }
    }

    fn takes(&self, frame: &[u8]) -> bool {
        bpf::test_run(&self.program, frame).unwrap() == TAKEN as u32
    }
}

#[test]
fn takes_ether_types_to_the_device_and_to_groups() {
    let frames = FrameMatch::EtherTypes(vec![0xd1f0, 0x88b5]);
    let Some(program) = Unattached::new(&frames, None) else { return };
    let taken = |to: [u8; 6], ether_type: [u8; 2]| {
        let frame = [&to[..], &[9; 6], &ether_type, &[0; 50]].concat();
        let by_program = program.takes(&frame);
        assert!(!by_program || frames.matches(&frame));
        by_program
    };
    for to in [OWN, [0xff; 6], [1, 0x80, 0xc2, 0, 0, 0x0e]] {
        assert!(taken(to, [0xd1, 0xf0]) && taken(to, [0x88, 0xb5]));
        assert!(!taken(to, [8, 0]) && !taken(to, [0x81, 0]));
    }
    assert!(!taken([2; 6], [0xd1, 0xf0]), "another host's frame");
    program.put(DEVICE + 1, [2; 6], &frames, 1);
    assert!(!taken([2; 6], [0xd1, 0xf0]), "another device's frame");
    program.put(DEVICE, [2; 6], &frames, 1);
    assert!(taken([2; 6], [0xd1, 0xf0]));
    program.put(DEVICE, [2; 6], &frames, 0);
    assert!(!taken([2; 6], [0xd1, 0xf0]), "a queue beyond the device's");
}

fn v4(dst: [u8; 4], port: u16, options: usize) -> Vec<u8> {
    test_frames::udp4(OWN, dst, port, options)
}

fn v6(dst: &str, port: u16) -> Vec<u8> {
    test_frames::udp6(OWN, dst.parse().unwrap(), port)
}

#[test]
fn takes_what_is_ours_and_nothing_else() {
    let mut list = test_frames::ours();
    list.extend((0..3000).map(|i| (IpAddr::from([10, 0, (i >> 8) as u8, i as u8]), 1000 + i)));
    let frames = FrameMatch::UdpDestinations(list);
    let Some(program) = Unattached::new(&frames, None) else { return };
    let taken = |f: &[u8]| program.takes(f);
    test_frames::check_destinations(OWN, taken);
    assert!(taken(&v4([10, 0, 11, 183], 3999, 0)), "one of many");
    assert!(!taken(&v6("::ffff:192.0.2.1", 30042)), "no IPv6 packet has an IPv4 address");

    let good = v4([192, 0, 2, 1], 30042, 0);
    let change = |at: usize, to: u8| {
        let mut p = good.clone();
        p[at] = to;
        taken(&p)
    };
    assert!(!change(5, 0x0c), "another host's frame");
    assert!(!change(0, 3), "another host's frame");
    assert!(!change(13, 6), "ARP");
    assert!(!change(14, 0x65), "version 6 in IPv4");
    assert!(!change(14, 0x44), "a header too short");
    assert!(!change(20, 0x20), "first fragment");
    assert!(!change(21, 1), "later fragment");
    assert!(change(20, 0), "without DF");
    assert!(!change(23, 6), "TCP");
    let mut tagged = good.clone();
    tagged.splice(12..12, [0x81, 0, 0, 5]);
    assert!(!taken(&tagged), "a VLAN's frame");
    for cut in 14..42 {
        assert!(!taken(&good[..cut]), "cut to {cut}");
    }

    let one = FrameMatch::UdpDestinations(vec![("192.0.2.1".parse().unwrap(), 30042)]);
    program.remove(&one);
    assert!(!taken(&good), "not ours any more");
    program.put(DEVICE, [9; 6], &one, 1);
    assert!(!taken(&good), "the device has another address now");
    program.put(DEVICE, OWN, &one, 1);
    assert!(taken(&good));
}

#[test]
fn devices_have_parts_of_the_map_of_sockets() {
    let program = match Program::load(MatchBy::EtherType, None) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return crate::skip_without_privileges("XDP programs need CAP_BPF and CAP_NET_ADMIN");
        }
        other => other.unwrap(),
    };
    assert_eq!([3, 1, 256].map(|queues| program.reserve(queues).unwrap()), [0, 3, 4]);
    program.give_back(3);
    assert_eq!([2, 1].map(|queues| program.reserve(queues).unwrap()), [260, 3]);
    program.give_back(0);
    assert_eq!([1, 2, 1].map(|queues| program.reserve(queues).unwrap()), [0, 1, 262]);
    assert!(program.reserve(MAX_SOCKETS).is_err());
}

#[test]
fn programs_are_shared_by_kind_and_pattern() {
    let programs = Programs::default();
    let pattern = |value| Pattern { bytes: vec![(4, vec![value])] };
    let get = |by, apart: Option<&Pattern>| programs.get(by, apart).map(|program| program.program.as_raw_fd());
    let first = match programs.get(MatchBy::UdpDestination, Some(&pattern(1))) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return crate::skip_without_privileges("XDP programs need CAP_BPF and CAP_NET_ADMIN");
        }
        other => other.unwrap(),
    };
    assert_eq!(get(MatchBy::UdpDestination, Some(&pattern(1))).unwrap(), first.program.as_raw_fd());
    let types = programs.get(MatchBy::EtherType, None).unwrap();
    assert_eq!(get(MatchBy::EtherType, None).unwrap(), types.program.as_raw_fd());
    for (by, apart) in [(MatchBy::UdpDestination, None), (MatchBy::UdpDestination, Some(pattern(2)))] {
        let other = programs.get(by, apart.as_ref()).unwrap();
        assert!(!Arc::ptr_eq(&other, &first) && !Arc::ptr_eq(&other, &types));
    }
    let all = [(); 2].map(|()| programs.get(MatchBy::Everything, None).unwrap());
    assert!(!Arc::ptr_eq(&all[0], &all[1]));
}

#[test]
fn leaves_what_is_to_come_apart_to_the_kernel() {
    let list = [("192.0.2.1".parse().unwrap(), 30042), ("fd00::1".parse().unwrap(), 30042)];
    let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2])] };
    let Some(program) = Unattached::new(&FrameMatch::UdpDestinations(list.to_vec()), Some(&pattern)) else {
        return;
    };
    let with = |mut frame: Vec<u8>, fourth: u8, eighth: u8| {
        // Both parts make the UDP payload at least four bytes long.
        let payload = if frame[12] == 8 { 14 + 4 * usize::from(frame[14] & 15) + 8 } else { 62 };
        frame.resize(payload + 9, 0);
        (frame[payload + 4], frame[payload + 8]) = (fourth, eighth);
        program.takes(&frame)
    };
    for frame in [v4([192, 0, 2, 1], 30042, 0), v6("fd00::1", 30042)] {
        assert!(!with(frame.clone(), 203, 0));
        assert!(!with(frame.clone(), 203, 2));
        assert!(with(frame.clone(), 203, 1));
        assert!(with(frame.clone(), 17, 0));
    }
    let short = v4([192, 0, 2, 1], 30042, 0);
    assert!(program.takes(&short[..42 + 3]), "too short to have the pattern");
}
