//! Packet sockets as ports: `TPACKET_V2` receive and transmit rings, and `sendmmsg`.
//!
//! A port survives its device going down and up. A device that is removed and created again needs a new port.
//!
//! Packet sockets need CAP_NET_RAW only. They load no kernel module or program and leave nothing behind. They do not
//! receive frames that this host sends. Without a filter, a port receives everything that the device delivers,
//! including VLAN tags. The kernel's stack also receives frames for this host (see [`crate::udp`]).
//!
//! UDP datagrams of one flow that leave together are sent as one frame if the device, or the kernel behind a virtual
//! device, segments them (`tx-udp-segmentation`). This costs at most a tenth of sending them one by one. Joined frames
//! from senders on the same machine are segmented on receipt. See [`AfPacket::fill_checksums`].
//!
//! Frames longer than the pool's frames, and frames longer than the MTU (TCP segments that a sender on the same machine
//! leaves to the device to segment), are dropped and counted.

mod joined;
mod ring;
mod send;
mod send_ring;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hopwright_dataplane::{DeviceStats, MAX_BATCH, Packet, Pool, Port, PortInfo};

pub(crate) use joined::Joiner;
pub use ring::RingSize;
use ring::{Received, Ring};
use send::Burst;
use send_ring::SendRing;

use crate::filter::Filter;
use crate::linux::closing::SlowToClose;
pub use crate::linux::device::DeviceError;
use crate::linux::device::{Facts, failed};
use crate::linux::sys;
use crate::offload::checksum;
use crate::offload::segmentation;
use crate::padding;
use crate::udp::UdpSender;

/// The size of a socket's send buffer in bytes.
const SEND_BUFFER: libc::c_int = 8 << 20;
/// The approximate size of all receive rings of a process in bytes.
const MEMORY: usize = 64 << 20;
/// The minimum number of slots in a ring, regardless of the number of ports.
const FEWEST: usize = 128;

/// The sizes of a port's rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSize {
    /// The receive ring.
    pub receive: RingSize,
    /// Slots of the transmit ring: a power of two of at least 32, or 0 for no transmit ring.
    pub transmit: usize,
}

impl Default for PortSize {
    /// 9 MiB in total.
    fn default() -> Self {
        PortSize::among(1)
    }
}

impl PortSize {
    /// The size for one of `ports` ports: the more ports there are, the less memory each gets.
    pub fn among(ports: usize) -> PortSize {
        let slot = RingSize::default().slot;
        let slots = (MEMORY / slot as usize / ports.max(1)).clamp(FEWEST, RingSize::default().slots as usize);
        let slots = 1 << slots.ilog2();
        PortSize { receive: RingSize { slot, slots: slots as u32 }, transmit: (slots / 2).clamp(FEWEST, 2 * MAX_BATCH) }
    }
}

/// A port on one device, which uses packet sockets.
pub struct AfPacket {
    facts: Arc<Facts>,
    /// `None` for a port that only sends.
    input: Option<Input>,
    /// Urgent frames, which must not be lost when the ring of `input` is full. Read first.
    urgent: Option<Input>,
    sender: SlowToClose,
    burst: Burst,
    stats: DeviceStats,
    overrun: AtomicU64,
}

struct Input {
    // Declared first: the ring must be unmapped before its socket is closed.
    ring: Ring,
    socket: Arc<SlowToClose>,
    /// Whether stripped VLAN tags are put back into frames. With a filter they are not: it passes only priority tags.
    tags: bool,
    /// Whether what follows the IP packet of a frame is cut off.
    cut_padding: bool,
}

impl AfPacket {
    /// Opens a port on a device. It receives the frames that pass the filter, or all of them.
    pub fn open(device: &str, filter: Option<&Filter>) -> Result<AfPacket, DeviceError> {
        AfPacket::with_size(device, filter, PortSize::default())
    }

    /// Like [`AfPacket::open`], with rings of another size.
    pub fn with_size(device: &str, filter: Option<&Filter>, size: PortSize) -> Result<AfPacket, DeviceError> {
        let mut port = AfPacket::sender(device, size)?;
        let input = Input::new(device, filter, size.receive)?;
        // Started last: from here on, the socket receives.
        input.start(device)?;
        port.input = Some(input);
        Ok(port)
    }

    /// Opens several ports on one device, one for each worker. Received packets are distributed over them by flow:
    /// packets with the same addresses and ports go to the same one.
    pub fn open_group(
        device: &str,
        filter: Option<&Filter>,
        count: usize,
        size: PortSize,
    ) -> Result<Vec<AfPacket>, DeviceError> {
        if count == 1 {
            return Ok(vec![AfPacket::with_size(device, filter, size)?]);
        }
        let mut ports = Vec::new();
        let mut group = None;
        for _ in 0..count {
            let mut port = AfPacket::sender(device, size)?;
            // Until all sockets have joined the group, each would receive everything.
            let input = Input::new(device, Some(&Filter::nothing()), size.receive)?;
            input.start(device)?;
            let joined = sys::join_group(&input.socket, group).map_err(failed(device, "share a device's packets"))?;
            group = Some(joined);
            port.input = Some(input);
            ports.push(port);
        }
        for input in ports.iter_mut().filter_map(|port| port.input.as_mut()) {
            input.tags = filter.is_none();
            match filter {
                Some(filter) => sys::attach_filter(&input.socket, filter),
                None => sys::detach_filter(&input.socket),
            }
            .map_err(failed(device, "attach the filter"))?;
        }
        Ok(ports)
    }

    /// Opens a port that only sends.
    pub fn sender(device: &str, size: PortSize) -> Result<AfPacket, DeviceError> {
        let failed = |what| failed(device, what);
        let index = sys::interface_index(device).map_err(failed("find the device"))?;
        let sender = sending_socket(device)?;
        sys::bind_packet(&sender, index, 0).map_err(failed("bind"))?;
        let control = sys::control_socket().map_err(failed("open a socket"))?;
        let facts = Arc::new(Facts::new(device, control).map_err(failed("read the MTU"))?);
        // The ring has to know the maximum length of a frame, which is defined on Ethernet only. If there is no memory
        // for a ring, the port works without one, somewhat slower.
        let ring = (facts.is_ethernet() && size.transmit > 0).then(|| send_ring(device, index, size.transmit).ok());
        let ring = ring.flatten();
        let joiner = Joiner::new(device, index)?;
        let (burst, stats, overrun) = (Burst::new(ring, joiner), DeviceStats::default(), AtomicU64::new(0));
        Ok(AfPacket { facts, input: None, urgent: None, sender, burst, stats, overrun })
    }

    /// The port's facts about the device, for refreshing them.
    pub(crate) fn facts(&self) -> Weak<Facts> {
        Arc::downgrade(&self.facts)
    }

    /// Whether the device accepts several datagrams as one frame.
    pub fn segments_udp(&self) -> bool {
        self.facts.segments_udp()
    }

    /// Sets whether datagrams over IPv4 without a UDP checksum may be sent with one, which the device (or the receiver
    /// behind a virtual device) computes. Without it, such datagrams cannot be sent as one frame. Routers must not add
    /// checksums to packets that they forward; this is for tunnel headers that the program itself adds.
    pub fn fill_checksums(&mut self, yes: bool) {
        self.burst.fill_checksums(yes);
    }

    /// Sets a fallback that sends through the kernel's UDP sockets what the device cannot send: frames longer than its
    /// MTU, and all frames while the device is down or removed.
    pub fn fall_back(&mut self, sender: UdpSender) {
        self.burst.fall_back(sender);
    }

    /// Sets whether frames end with their IP packet: Ethernet padding and trailers are cut off. For ports that take
    /// datagrams; by default, frames are whole.
    pub fn cut_padding(&mut self, yes: bool) {
        for input in [&mut self.urgent, &mut self.input].into_iter().flatten() {
            input.cut_padding = yes;
        }
    }

    /// Also receives frames that pass this filter, through a small separate ring that is read first. The port's own
    /// filter should not pass these frames, or they are received twice.
    pub fn receive_apart(&mut self, filter: &Filter) -> Result<(), DeviceError> {
        let device = self.facts.name();
        let urgent = Input::new(device, Some(filter), RingSize::SMALL)?;
        urgent.start(device)?;
        self.urgent = Some(urgent);
        Ok(())
    }
}

/// Creates a socket for sending, not bound yet.
pub(super) fn sending_socket(device: &str) -> Result<SlowToClose, DeviceError> {
    let failed = |what| failed(device, what);
    let socket = sys::packet_socket().map_err(failed("open a packet socket"))?;
    sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &(1 as libc::c_int))
        .map_err(failed("bypass the queueing discipline"))?;
    // Without CAP_NET_ADMIN, the buffer is limited by the system's maximum.
    if sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER).is_err() {
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER)
            .map_err(failed("size the send buffer"))?;
    }
    Ok(socket)
}

fn send_ring(device: &str, index: i32, slots: usize) -> Result<SendRing, DeviceError> {
    let ring = SendRing::new(sending_socket(device)?, slots).map_err(failed(device, "make a transmit ring"))?;
    // Protocol 0: the kernel reads each frame's protocol from the frame.
    sys::bind_packet(ring.socket(), index, 0).map_err(failed(device, "bind"))?;
    Ok(ring)
}

/// Changes the filter of a port's packet socket. May be used from any thread; has no effect once the port is dropped.
#[derive(Clone, Debug, Default)]
pub struct FilterSetter(Weak<SlowToClose>);

impl FilterSetter {
    /// Sets the filter for packets that arrive from now on.
    pub fn set(&self, filter: &Filter) -> io::Result<()> {
        self.0.upgrade().map_or(Ok(()), |socket| sys::attach_filter(&socket, filter))
    }

    /// Whether the port still exists.
    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl AfPacket {
    /// Returns a handle to change the filter while a worker owns the port; `None` if the port only sends.
    pub fn filter_setter(&self) -> Option<FilterSetter> {
        self.input.as_ref().map(Input::filter_setter)
    }

    /// Like [`AfPacket::filter_setter`], for the filter of [`AfPacket::receive_apart`].
    pub fn urgent_filter_setter(&self) -> Option<FilterSetter> {
        self.urgent.as_ref().map(Input::filter_setter)
    }
}

impl Input {
    /// Creates a receiving socket, not bound yet.
    fn new(device: &str, filter: Option<&Filter>, size: RingSize) -> Result<Input, DeviceError> {
        let failed = |what| failed(device, what);
        let socket = sys::packet_socket().map_err(failed("open a packet socket"))?;
        sys::set_option(&socket, libc::SOL_PACKET, sys::PACKET_IGNORE_OUTGOING, &(1 as libc::c_int))
            .map_err(failed("ignore outgoing packets"))?;
        let ring = Ring::new(&socket, size).map_err(failed("make a receive ring"))?;
        if let Some(filter) = filter {
            sys::attach_filter(&socket, filter).map_err(failed("attach the filter"))?;
        }
        Ok(Input { ring, socket: Arc::new(socket), tags: filter.is_none(), cut_padding: false })
    }

    fn filter_setter(&self) -> FilterSetter {
        FilterSetter(Arc::downgrade(&self.socket))
    }

    fn start(&self, device: &str) -> Result<(), DeviceError> {
        let index = sys::interface_index(device).map_err(failed(device, "find the device"))?;
        sys::bind_packet(&self.socket, index, libc::ETH_P_ALL).map_err(failed(device, "bind"))
    }
}

/// The length of a VLAN tag in bytes.
const TAG: u32 = 4;

/// The result of taking a received frame.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// The frame, or the next datagram of a joined one, is in the packet.
    fits: bool,
    /// The frame is a joined one, and this was not its last datagram.
    more: bool,
    /// The ring had no room for the whole frame.
    cut: bool,
}

/// Copies a received frame, or the next datagram of a joined one, into a packet. Restores a stripped VLAN tag if
/// `tags`, and completes the checksum if the sender left it to the device.
#[inline]
fn take(packet: &mut Packet, received: &Received<'_>, longest: u32, tags: bool) -> Taken {
    let tag = received.tag.filter(|_| tags);
    if received.segment_size > 0
        && let Some(next) = segmentation::segment(received.bytes, received.segment_size.into(), received.turn)
    {
        let length = next.header.len() + next.payload.len();
        let fits = length <= longest as usize && packet.fill(next.header) && packet.append(next.payload);
        if fits {
            segmentation::finish(packet.bytes_mut(), received.turn);
        }
        let fits = fits && tag.is_none_or(|tag| insert_tag(packet, tag));
        return Taken { fits, more: next.more, cut: false };
    }
    let cut = (received.bytes.len() as u64) < u64::from(received.length);
    let fits = !cut
        && received.length <= longest
        && packet.fill(received.bytes)
        && tag.is_none_or(|tag| insert_tag(packet, tag));
    if fits && received.partial_checksum {
        checksum::complete(packet.bytes_mut());
    }
    Taken { fits, more: false, cut }
}

/// Restores a VLAN tag that the kernel stripped. The Ethernet addresses move into the headroom. Returns false if the
/// headroom is too small.
fn insert_tag(packet: &mut Packet, (tpid, tci): (u16, u16)) -> bool {
    let (start, end) = (packet.raw().start, packet.raw().end);
    if packet.len() < 12 {
        return true;
    }
    if !start.checked_sub(TAG).is_some_and(|start| packet.set_bounds(start, end)) {
        return false;
    }
    let bytes = packet.bytes_mut();
    let tag = TAG as usize;
    bytes.copy_within(tag..12 + tag, 0);
    bytes[12..14].copy_from_slice(&tpid.to_be_bytes());
    bytes[14..16].copy_from_slice(&tci.to_be_bytes());
    true
}

impl Port for AfPacket {
    fn name(&self) -> &str {
        self.facts.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let longest = self.facts.longest();
        let mut count = 0;
        for input in [&mut self.urgent, &mut self.input].into_iter().flatten() {
            while count < limit {
                let Some(mut packet) = pool.take() else { break };
                let mut taken = Taken::default();
                let some = input.ring.next(&input.socket, |received| {
                    taken = take(&mut packet, &received, longest, input.tags);
                    taken.more
                });
                if some && taken.fits {
                    if input.cut_padding {
                        padding::cut_off(&mut packet);
                    }
                    batch.push(packet);
                    count += 1;
                    continue;
                }
                pool.give(packet);
                if !some {
                    break;
                }
                if taken.cut {
                    self.overrun.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.stats.rx_too_long += 1;
                }
            }
            input.ring.release();
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let longest = self.facts.longest_untagged() as usize;
        let result = self.burst.send(&self.sender, packets, longest, self.facts.segments_udp());
        self.stats.tx_busy += result.busy as u64;
        self.stats.tx_error += result.refused as u64;
        for packet in packets.drain(..) {
            pool.give(packet);
        }
        result.sent
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        // A port that only sends is woken by errors of its device.
        Some(self.input.as_ref().map_or(&self.sender, |input| &input.socket).as_fd())
    }

    fn urgent_poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.urgent.as_ref().map(|urgent| urgent.socket.as_fd())
    }

    fn stats(&self) -> DeviceStats {
        for input in [&self.urgent, &self.input].into_iter().flatten() {
            if let Ok((_, drops)) = sys::packet_statistics(&input.socket) {
                self.overrun.fetch_add(u64::from(drops), Ordering::Relaxed);
            }
            // A device that goes down leaves a pending error. The socket works again when the device comes up.
            let _ = sys::take_error(&input.socket);
        }
        for socket in [Some(&*self.sender), self.burst.ring_socket()].into_iter().flatten() {
            let _ = sys::take_error(socket);
        }
        self.facts.refresh();
        DeviceStats { rx_overrun: self.overrun.load(Ordering::Relaxed), ..self.stats }
    }

    fn info(&self) -> PortInfo {
        self.facts.info()
    }
}

impl std::fmt::Debug for AfPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AfPacket").field("name", &self.facts.name()).field("stats", &self.stats).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::{FrameSize, Pool};

    use super::*;

    #[test]
    fn many_ports_need_little_memory() {
        let bytes = |ports| {
            let PortSize { receive, transmit } = PortSize::among(ports);
            let apart = RingSize::SMALL;
            ports * (receive.slot * receive.slots + apart.slot * apart.slots + 2048 * transmit as u32) as usize
        };
        assert_eq!(PortSize::among(0), PortSize::default());
        assert_eq!(PortSize::default().receive, RingSize::default());
        assert_eq!(PortSize::default().transmit, 512);
        for ports in 1..=128 {
            assert!(bytes(ports) < 120 << 20, "{ports}");
        }
        assert!(bytes(106) < 90 << 20);
    }

    #[test]
    fn a_tag_comes_back_into_each_datagram_of_a_joined_frame() {
        let mut whole = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 8, 0, 0x45, 0, 0, 28 + 25, 0, 9, 0, 0, 64, 17];
        whole.extend([0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39, 0xc3, 0x50, 0, 8 + 25, 0, 0]);
        whole.extend(0..25);
        let mut pool = Pool::new(1, FrameSize { headroom: 4, data: 100 }).unwrap();
        let mut packet = pool.take().unwrap();
        for tag in [None, Some((0x8100, 5))] {
            for (turn, length) in [10, 10, 5].into_iter().enumerate() {
                let start = packet.raw().start;
                let received = Received {
                    bytes: &whole,
                    length: whole.len() as u32,
                    tag,
                    partial_checksum: true,
                    segment_size: 10,
                    turn,
                };
                let taken = take(&mut packet, &received, 60, true);
                assert_eq!((taken.fits, taken.more), (true, turn < 2));
                let mut bytes = packet.bytes().to_vec();
                if tag.is_some() {
                    assert_eq!(bytes.splice(12..16, []).collect::<Vec<_>>(), [0x81, 0, 0, 5]);
                    assert!(packet.set_bounds(start, start));
                }
                assert_eq!(bytes[42..], whole[42 + 10 * turn..][..length]);
                assert_eq!(bytes[16..20], [0, 28 + length as u8, 0, 9 + turn as u8]);
                assert!(checksum::is_right(&bytes) && checksum::ones_sum(&bytes[14..34]) == 0xffff);
                // Each datagram has to fit.
                let taken = take(&mut packet, &received, 42 + length as u32 - 1, true);
                assert_eq!((taken.fits, taken.more), (false, turn < 2));
                assert!(packet.set_bounds(start, start));
            }
        }
        pool.give(packet);
    }
}
