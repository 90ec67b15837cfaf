//! Joined frames and partial checksums, with the kernel as oracle: what a port makes of them is what the kernel makes of
//! the same frames when it segments them itself, byte for byte.

use hopwright_dataplane::{DeviceStats, FrameSize, Packet, Pool, Port};
use hopwright_ports::{
    AfPacket, FrameMatch, Opener, PortChoice, SharedFrames, Wanted, XdpDevice, XdpMode, XdpOptions, checksum,
};

use crate::devices::{self, PATIENCE, ip, receive, set_checksum_offload, with_devices};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Flags of TCP.
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// A frame whose sender leaves work to its device.
struct Left {
    name: String,
    frame: Vec<u8>,
    /// `virtio_net_hdr`
    header: [u8; 10],
}

/// The headers in front of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    V4,
    V4Options,
    V6,
    V6Extensions,
}

const BELOW: [Below; 4] = [Below::V4, Below::V4Options, Below::V6, Below::V6Extensions];

/// Builds a frame with a payload of `length` bytes and a partial checksum. It is a joined one of segments with `size`
/// bytes of payload if that is not zero.
fn left(tags: usize, below: Below, protocol: u8, flags: u8, length: usize, size: u16) -> Left {
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a];
    for tag in 0..tags {
        f.extend([
            if tags == 2 && tag == 0 { 0x88 } else { 0x81 },
            if tags == 2 && tag == 0 { 0xa8 } else { 0 },
            0x60,
            5,
        ]);
    }
    let header = if protocol == TCP { 32 } else { 8 };
    let segment = header + length;
    let addresses: Vec<u8> = match below {
        Below::V4 | Below::V4Options => {
            let options = if below == Below::V4Options { 4 } else { 0 };
            f.extend([8, 0]);
            let at = f.len();
            f.extend([0x45 + options as u8 / 4, 2]);
            f.extend((20 + options as u16 + segment as u16).to_be_bytes());
            f.extend([0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            f.extend(&[1, 1, 1, 0][..options]);
            let sum = !checksum::ones_sum(&f[at..]);
            f[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            f[at + 12..at + 20].to_vec()
        }
        Below::V6 | Below::V6Extensions => {
            f.extend([0x86, 0xdd, 0x60, 2, 3, 4]);
            let extensions = if below == Below::V6Extensions { 8 + 16 } else { 0 };
            f.extend((extensions + segment as u16).to_be_bytes());
            f.extend([if extensions > 0 { 0 } else { protocol }, 64]);
            let addresses: Vec<u8> = (0..32).map(|i| 0x20 + i).collect();
            f.extend(&addresses);
            if extensions > 0 {
                // Hop-by-hop options and destination options, which are padding.
                f.extend([60, 0, 1, 4, 0, 0, 0, 0]);
                f.extend([protocol, 1, 1, 12]);
                f.extend([0; 12]);
            }
            addresses
        }
    };
    let start = f.len();
    f.extend([0x75, 0x30, 0xc3, 0x50]);
    let offset = if protocol == TCP {
        f.extend([0xff, 0xff, 0xf0, 0, 0, 0, 0, 7, 8 << 4, flags, 1, 0xf5, 0, 0, 0, 0]);
        f.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        16
    } else {
        f.extend((segment as u16).to_be_bytes());
        f.extend([0, 0]);
        6
    };
    // The pseudo-header's sum (RFC 9293, section 3.1; RFC 8200, section 8.1).
    let mut pseudo = addresses;
    pseudo.extend([0, protocol]);
    pseudo.extend((segment as u16).to_be_bytes());
    f[start + offset..start + offset + 2].copy_from_slice(&checksum::ones_sum(&pseudo).to_be_bytes());
    f.extend((0..length).map(|i| (i / 3) as u8));
    let kind = match (size, protocol, below) {
        (0, ..) => 0,
        (_, UDP, _) => 5,
        (.., Below::V4 | Below::V4Options) => 1,
        _ => 4,
    };
    let kind = if flags & CWR != 0 && kind != 0 && protocol == TCP { kind | 0x80 } else { kind };
    let mut virtio = [1, kind, 0, 0, 0, 0, 0, 0, 0, 0];
    for (to, value) in virtio[2..].chunks_exact_mut(2).zip([(start + header) as u16, size, start as u16, offset as u16])
    {
        to.copy_from_slice(&value.to_ne_bytes());
    }
    Left { name: format!("{tags} tags, {below:?}, {protocol}, {flags:#x}, {length}/{size}"), frame: f, header: virtio }
}

/// Frames of all kinds.
fn all(tags: &[usize]) -> Vec<Left> {
    let mut all = Vec::new();
    for tags in tags {
        for below in BELOW {
            for (length, size) in
                [(4000, 1000), (3999, 1000), (4001, 1000), (60_000, 1400), (700, 7), (1, 0), (1400, 0)]
            {
                all.push(left(*tags, below, UDP, 0, if size == 7 { 200 } else { length }, size));
                for flags in [ACK, ACK | PSH, ACK | FIN | PSH | ECE, ACK | CWR, ACK | CWR | PSH] {
                    all.push(left(*tags, below, TCP, flags, length, size));
                }
            }
        }
    }
    all
}

/// Sends frames by a device, as the kernel's stack does.
struct Sender(std::os::fd::OwnedFd);

impl Sender {
    fn open(device: &str) -> Sender {
        use std::os::fd::{AsRawFd, FromRawFd};
        // SAFETY: plain system calls; results are checked, and the pointers are those of live values.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            assert!(fd >= 0);
            let socket = std::os::fd::OwnedFd::from_raw_fd(fd);
            let on: libc::c_int = 1;
            let set = libc::setsockopt(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, (&raw const on).cast(), 4);
            assert_eq!(set, 0);
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            let name = std::ffi::CString::new(device).unwrap();
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let bound = libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as u32);
            assert_eq!(bound, 0);
            Sender(socket)
        }
    }

    fn send(&self, left: &Left) {
        use std::os::fd::AsRawFd;
        let bytes = [&left.header[..], &left.frame].concat();
        // SAFETY: pointer and length are those of live bytes.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        assert_eq!(sent, bytes.len() as isize, "{}: {}", left.name, std::io::Error::last_os_error());
    }
}

fn pool() -> Pool {
    Pool::new(600, FrameSize::shared(9000, 0)).unwrap()
}

/// Sends a frame and returns what arrives.
fn passed(left: &Left, sender: &Sender, port: &mut dyn Port, pool: &mut Pool, outer: usize) -> Vec<Vec<u8>> {
    sender.send(left);
    let header = usize::from(u16::from_ne_bytes([left.header[2], left.header[3]]));
    let size = usize::from(u16::from_ne_bytes([left.header[4], left.header[5]]));
    let payload = left.frame.len() - header;
    let got = receive(port, pool, PATIENCE, |got| {
        got.iter().map(|frame| frame.len().saturating_sub(header + outer)).sum::<usize>() >= payload
    });
    let count = if size == 0 { 1 } else { payload.div_ceil(size) };
    assert_eq!(got.len(), count, "{}", left.name);
    got
}

#[test]
fn a_packet_socket_makes_what_the_kernel_makes() {
    with_devices(|| {
        let (sender, mut port, mut pool) = (Sender::open("va"), AfPacket::open("vb", None).unwrap(), pool());
        let (all, before) = (all(&[0, 1, 2]), frames_sent());
        let ours: Vec<_> = all.iter().map(|left| passed(left, &sender, &mut port, &mut pool, 0)).collect();
        assert_eq!(frames_sent() - before, all.len() as u64, "the kernel has not segmented");
        set_checksum_offload("va", false);
        for (left, ours) in all.iter().zip(ours) {
            let before = frames_sent();
            let kernels = passed(left, &sender, &mut port, &mut pool, 0);
            assert_eq!(frames_sent() - before, kernels.len() as u64, "{}: the kernel has segmented", left.name);
            assert!(ours == kernels, "{}: {:?}", left.name, first_difference(&ours, &kernels));
        }
        assert_eq!(port.stats(), DeviceStats::default());
    });
}

fn first_difference(a: &[Vec<u8>], b: &[Vec<u8>]) -> Option<(usize, usize)> {
    let at = a.iter().zip(b).position(|(a, b)| a != b)?;
    Some((at, a[at].iter().zip(&b[at]).position(|(a, b)| a != b)?))
}

#[test]
fn tunnelled_segments_are_those_that_the_kernel_makes() {
    with_devices(|| {
        ip("addr add 10.0.0.1/24 dev va");
        ip(&format!("neigh add 10.0.0.2 lladdr {} dev va", devices::MAC_B));
        for checksums in ["noudpcsum", "udpcsum"] {
            ip(&format!("link add vx type vxlan id 7 local 10.0.0.1 remote 10.0.0.2 dstport 4789 {checksums}"));
            std::fs::write("/proc/sys/net/ipv6/conf/vx/disable_ipv6", "1").ok();
            ip("link set vx mtu 8900 up");
            let (sender, mut port, mut pool) = (Sender::open("vx"), AfPacket::open("vb", None).unwrap(), pool());
            let all = all(&[0]);
            let ours: Vec<_> = all.iter().map(|left| passed(left, &sender, &mut port, &mut pool, 50)).collect();
            set_checksum_offload("va", false);
            for (left, ours) in all.iter().zip(ours) {
                let before = frames_sent();
                let kernels = passed(left, &sender, &mut port, &mut pool, 50);
                assert_eq!(frames_sent() - before, kernels.len() as u64, "{}: the kernel has segmented", left.name);
                assert_eq!(kernels[0][40..42] == [0, 0], checksums == "noudpcsum");
                // Each frame has another outer identification, from which its segments count.
                let essence = |frames: &[Vec<u8>]| -> Vec<Vec<u8>> {
                    let id = |frame: &[u8]| u16::from_be_bytes([frame[18], frame[19]]);
                    let plain = |frame: &Vec<u8>| {
                        assert_eq!(checksum::ones_sum(&frame[14..34]), 0xffff);
                        let mut frame = frame.clone();
                        let number = id(&frame).wrapping_sub(id(&frames[0]));
                        frame[18..20].copy_from_slice(&number.to_be_bytes());
                        frame[24..26].fill(0);
                        frame
                    };
                    frames.iter().map(plain).collect()
                };
                let (ours, kernels) = (essence(&ours), essence(&kernels));
                assert!(ours == kernels, "{checksums} {}: {:?}", left.name, first_difference(&ours, &kernels));
            }
            assert_eq!(port.stats(), DeviceStats::default());
            set_checksum_offload("va", true);
            ip("link del vx");
        }
    });
}

#[test]
fn af_xdp_completes_what_the_kernel_segments() {
    with_devices(|| {
        let mut kernels_pool = pool();
        let sender = Sender::open("va");
        let all = all(&[0, 1, 2]);
        set_checksum_offload("va", false);
        let mut port = AfPacket::open("vb", None).unwrap();
        let kernels: Vec<_> = all.iter().map(|left| passed(left, &sender, &mut port, &mut kernels_pool, 0)).collect();
        drop(port);
        set_checksum_offload("va", true);
        let mut pool = pool();
        let options = XdpOptions { mode: Some(XdpMode::Native), ..XdpOptions::default() };
        let device = XdpDevice::attach("vb", &FrameMatch::Everything, options).unwrap();
        let mut port = device.port(&SharedFrames::new(&pool).unwrap(), &[0]).unwrap();
        // The port receives once the kernel has frames.
        port.receive(&mut pool, &mut Vec::new(), 0);
        for (left, kernels) in all.iter().zip(kernels) {
            let ours = passed(left, &sender, &mut port, &mut pool, 0);
            assert!(ours == kernels, "{}: {:?}", left.name, first_difference(&ours, &kernels));
        }
    });
}

/// The number of frames that the device `va` has sent.
fn frames_sent() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("va:")).unwrap();
    line.split_whitespace().nth(9).unwrap().parse().unwrap()
}

#[test]
fn segments_leave_as_one_frame_and_arrive_apart() {
    with_devices(|| {
        let (sender, mut b, mut there) = (Sender::open("vb"), AfPacket::open("va", None).unwrap(), pool());
        // Segments as the kernel makes them, in the other direction.
        set_checksum_offload("vb", false);
        let mut frames = Vec::new();
        for tags in [0, 1] {
            for below in [Below::V4, Below::V6] {
                for (protocol, flags) in [(TCP, ACK), (TCP, ACK | PSH), (TCP, ACK | CWR), (UDP, 0)] {
                    frames.extend(passed(
                        &left(tags, below, protocol, flags, 60_001, 1400),
                        &sender,
                        &mut b,
                        &mut there,
                        0,
                    ));
                }
            }
        }
        let xdp_pool = pool();
        let device = XdpDevice::attach("va", &FrameMatch::UdpDestinations(vec![]), XdpOptions::default()).unwrap();
        let xdp = device.port(&SharedFrames::new(&xdp_pool).unwrap(), &[0]).unwrap();
        let senders: [(&str, Box<dyn Port>, Pool); 2] =
            [("AF_XDP", Box::new(xdp), xdp_pool), ("AF_PACKET", Box::new(AfPacket::open("va", None).unwrap()), pool())];
        let mut b = AfPacket::open("vb", None).unwrap();
        for (name, mut a, mut here) in senders {
            let before = frames_sent();
            let mut got = Vec::new();
            for burst in frames.chunks(200) {
                let mut batch: Vec<Packet> = burst.iter().map(|frame| here.take_filled(frame).unwrap()).collect();
                assert_eq!(a.transmit(&mut here, &mut batch), burst.len(), "{name}");
                a.flush();
                got.extend(receive(&mut b, &mut there, PATIENCE, |got| got.len() == burst.len()));
            }
            assert!(got == frames, "{name}: {:?}", first_difference(&got, &frames));
            // Sixteen joined frames, which the ends of bursts cut further.
            let sent = frames_sent() - before;
            assert!((16..40).contains(&sent), "{name}: {sent}");
            assert_eq!((a.stats(), b.stats()), <(DeviceStats, DeviceStats)>::default(), "{name}");
        }
    });
}

#[test]
fn a_veth_device_has_packet_sockets_for_ports_that_take_more_than_datagrams() {
    with_devices(|| {
        for (frames, kind) in [
            (FrameMatch::Everything, "AF_PACKET"),
            (FrameMatch::EtherTypes(vec![0x0800]), "AF_PACKET"),
            (FrameMatch::UdpDestinations(Vec::new()), "AF_XDP"),
        ] {
            let wanted = Wanted { choice: PortChoice::Auto, mtu: 9000, devices: 1, ..Wanted::default() };
            let (opener, _pools) = Opener::new(&wanted).unwrap();
            let opened = opener.open("vb", &frames).unwrap();
            assert_eq!(opened.kind, kind, "{}", opened.how);
        }
        for (mode, what) in [(XdpMode::Native, "the peer segments what it sends"), (XdpMode::Generic, "are lost")] {
            let options = XdpOptions { mode: Some(mode), ..XdpOptions::default() };
            let wanted = Wanted { choice: PortChoice::AfXdp, mtu: 9000, devices: 1, options, ..Wanted::default() };
            let (opener, _pools) = Opener::new(&wanted).unwrap();
            let opened = opener.open("vb", &FrameMatch::Everything).unwrap();
            assert!(opened.how.contains(what) && opened.how.contains("TCP and UDP segmentation"), "{}", opened.how);
        }
    });
}
