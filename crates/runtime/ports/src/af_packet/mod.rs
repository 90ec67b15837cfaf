//! Packet sockets as ports: `TPACKET_V2` receive and transmit rings, and `sendmmsg`.
//!
//! A port survives its device going down and up. A device that is removed and created again needs a new port.
//!
//! Packet sockets need CAP_NET_RAW only. They load no kernel module or program and leave nothing behind. They do not
//! receive frames that this host sends. Without a filter, a port receives everything that the device delivers,
//! including VLAN tags. The kernel's stack also receives frames for this host (see [`crate::udp`]).
//!
//! Segments of one TCP or UDP flow that leave together are sent as one frame if the device, or the kernel behind a
//! virtual device, segments it (`tx-tcp-segmentation`, `tx-udp-segmentation`, …). This costs at most a tenth of sending
//! them one by one. Joined frames from senders on the same machine, and those that the kernel joined when it received
//! them (GRO), are segmented on receipt, and partial checksums are completed. See [`AfPacket::fill_checksums`].
//!
//! IPv6 datagrams in fragments are reassembled by ports that take datagrams ([`AfPacket::take_datagrams`]).
//!
//! Frames bypass the device's queueing discipline, unless somebody has set one with `tc`: then they go through it one by one, and the port
//! says when it has no room ([`Port::room`]). As for any socket with the usual buffer, what waits there is limited.
//!
//! Frames longer than the pool's frames or the MTU, and joined frames that cannot be segmented, are dropped and counted.

mod fragments;
mod input;
mod joined;
mod ring;
mod send;
mod send_ring;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use hopwright_dataplane::{DeviceStats, MAX_BATCH, Packet, Pool, Port, PortInfo};

pub use input::{FilterSetter, Input, SharedRing};
pub(crate) use joined::Joiner;
pub use ring::RingSize;
use send::Burst;
use send_ring::SendRing;

use crate::filter::{Filter, FlowHash, JoinedFlows};
use crate::linux::closing::SlowToClose;
pub use crate::linux::device::DeviceError;
use crate::linux::device::{Facts, failed};
use crate::linux::sys::{self, Fanout};
use crate::offload::join::Segments;
use crate::udp::UdpSender;

/// The size of a socket's send buffer in bytes.
const SEND_BUFFER: libc::c_int = 8 << 20;
/// The approximate size of all receive rings of a process in bytes.
const MEMORY: usize = 64 << 20;
/// The minimum number of slots in a ring, regardless of the number of ports.
const MIN_SLOTS: usize = 128;

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
        let slots = (MEMORY / slot as usize / ports.max(1)).clamp(MIN_SLOTS, RingSize::default().slots as usize);
        let slots = 1 << slots.ilog2();
        PortSize {
            receive: RingSize { slot, slots: slots as u32 },
            transmit: (slots / 2).clamp(MIN_SLOTS, 2 * MAX_BATCH),
        }
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
    /// The usual size of a send buffer, in bytes.
    usual_buffer: libc::c_int,
    /// Whether the socket's frames go through the queueing discipline.
    is_queued: bool,
    burst: Burst,
    stats: DeviceStats,
}

impl AfPacket {
    /// Opens a port on a device. It receives the frames that pass the filter, or all of them.
    pub fn open(device: &str, filter: Option<&Filter>) -> Result<AfPacket, DeviceError> {
        AfPacket::with_size(device, filter, PortSize::default())
    }

    /// Like [`AfPacket::open`], with rings of another size.
    pub fn with_size(device: &str, filter: Option<&Filter>, size: PortSize) -> Result<AfPacket, DeviceError> {
        // Each ring waits for the kernel's readers; both do so at the same time.
        let (sender, input) = std::thread::scope(|scope| {
            let input = scope.spawn(|| Input::new(device, filter, size.receive));
            (AfPacket::sender(device, size), input.join())
        });
        let mut port = sender?;
        let input = input.map_err(|_| failed(device, "make a receive ring")(io::ErrorKind::Other.into()))??;
        // Started last: from here on, the socket receives.
        input.start(device)?;
        port.input = Some(input);
        Ok(port)
    }

    /// Opens several ports on one device, one for each worker. Received packets are distributed over them by flow:
    /// packets with the same addresses and ports go to the same one, or with `flows`, those with the same hash.
    pub fn open_group(
        device: &str,
        filter: Option<&Filter>,
        count: usize,
        size: PortSize,
        flows: Option<&FlowHash>,
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
            let fanout = if flows.is_some() { Fanout::Program } else { Fanout::Hash };
            let joined = sys::join_group(&input.socket, group, fanout);
            group = Some(joined.map_err(failed(device, "share a device's packets"))?);
            port.input = Some(input);
            ports.push(port);
        }
        if let Some(flows) = flows
            && let Some(input) = ports.first().and_then(|port| port.input.as_ref())
        {
            sys::set_fanout_program(&input.socket, &flows.fanout())
                .map_err(failed(device, "distribute a device's packets by flow"))?;
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

    /// Makes ports of the sockets of a predecessor, one for each worker. They receive with the filters that they have; `everything`: they
    /// have none.
    pub(crate) fn inherited(
        device: &str,
        rings: Vec<SharedRing>,
        size: PortSize,
        everything: bool,
    ) -> Result<Vec<AfPacket>, DeviceError> {
        let port = |ring| {
            let mut port = AfPacket::sender(device, size)?;
            port.input = Some(Input::inherited(device, ring, everything)?);
            Ok(port)
        };
        rings.into_iter().map(port).collect()
    }

    /// Opens a port that only sends.
    pub fn sender(device: &str, size: PortSize) -> Result<AfPacket, DeviceError> {
        let failed = |what| failed(device, what);
        let index = sys::interface_index(device).map_err(failed("find the device"))?;
        let sender = sending_socket(device)?;
        let usual_buffer = usual_buffer().map_err(failed("ask for the size of buffers"))?;
        sys::bind_packet(&sender, index, 0).map_err(failed("bind"))?;
        let control = sys::control_socket().map_err(failed("open a socket"))?;
        let facts = Arc::new(Facts::new(device, control).map_err(failed("read the MTU"))?);
        // The ring has to know the maximum length of a frame, which is defined on Ethernet only. If there is no memory
        // for a ring, the port works without one, somewhat slower.
        let ring = (facts.is_ethernet() && size.transmit > 0).then(|| send_ring(device, index, size.transmit).ok());
        let ring = ring.flatten();
        let joiner = Joiner::new(device, index)?;
        let (burst, stats) = (Burst::new(ring, joiner), DeviceStats::default());
        Ok(AfPacket { facts, input: None, urgent: None, sender, usual_buffer, is_queued: false, burst, stats })
    }

    /// The port's facts about the device, for refreshing them.
    pub(crate) fn facts(&self) -> Weak<Facts> {
        Arc::downgrade(&self.facts)
    }

    /// The kinds of joined frames that the device takes.
    pub(crate) fn takes(&self) -> Segments {
        self.facts.takes()
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

    /// Sets whether frames carry one UDP datagram each; see [`Input::take_datagrams`].
    pub fn take_datagrams(&mut self, yes: bool) {
        self.input.iter_mut().for_each(|input| input.take_datagrams(yes));
    }

    /// Has frames noticed that several flows share, if frames are distributed over ports by flow.
    pub(crate) fn watch_flows(&mut self, flows: &Arc<JoinedFlows>) {
        self.input.iter_mut().for_each(|input| input.watch_flows(flows.clone()));
    }

    /// Also receives frames from another socket, which is read first. The port's own filter should not pass these
    /// frames, or they are received twice.
    pub fn receive_apart(&mut self, urgent: Input) {
        self.urgent = Some(urgent);
    }
}

/// Creates a socket for sending, not bound yet.
pub(super) fn sending_socket(device: &str) -> Result<SlowToClose, DeviceError> {
    let failed = |what| failed(device, what);
    let socket = sys::packet_socket().map_err(failed("open a packet socket"))?;
    sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &(1 as libc::c_int))
        .map_err(failed("bypass the queueing discipline"))?;
    size_buffer(&socket, SEND_BUFFER).map_err(failed("size the send buffer"))?;
    Ok(socket)
}

fn size_buffer(socket: &OwnedFd, bytes: libc::c_int) -> io::Result<()> {
    // Without CAP_NET_ADMIN, the buffer is limited by the system's maximum.
    sys::set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
        .or_else(|_| sys::set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
}

/// The size of a socket's send buffer that the system chooses. The kernel says twice the size that it is given.
fn usual_buffer() -> io::Result<libc::c_int> {
    sys::get_number(&sys::control_socket()?, libc::SOL_SOCKET, libc::SO_SNDBUF).map(|doubled| doubled / 2)
}

fn send_ring(device: &str, index: i32, slots: usize) -> Result<SendRing, DeviceError> {
    let ring = SendRing::new(sending_socket(device)?, slots).map_err(failed(device, "make a transmit ring"))?;
    // Protocol 0: the kernel reads each frame's protocol from the frame.
    sys::bind_packet(ring.socket(), index, 0).map_err(failed(device, "bind"))?;
    Ok(ring)
}

impl AfPacket {
    /// Sends through the device's queueing discipline, or around it, from now on.
    fn change_path(&mut self) {
        self.is_queued = self.facts.is_queued();
        let buffer = if self.is_queued { self.usual_buffer } else { SEND_BUFFER };
        let bypass = libc::c_int::from(!self.is_queued);
        // If one of them fails, packets are sent as before.
        let _ = sys::set_option(&self.sender, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &bypass);
        let _ = size_buffer(&self.sender, buffer);
    }

    /// Returns a handle to change the filter while a worker owns the port; `None` if the port only sends.
    pub fn filter_setter(&self) -> Option<FilterSetter> {
        self.input.as_ref().map(Input::filter_setter)
    }
}

impl Port for AfPacket {
    fn name(&self) -> &str {
        self.facts.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut count = 0;
        for input in [&mut self.urgent, &mut self.input].into_iter().flatten() {
            count += input.receive(&self.facts, pool, batch, limit - count);
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        if self.is_queued != self.facts.is_queued() {
            self.change_path();
        }
        let result = if self.is_queued {
            self.burst.send_queued(&self.sender, packets)
        } else {
            let longest = self.facts.longest_untagged() as usize;
            self.burst.send(&self.sender, packets, longest, self.facts.takes())
        };
        self.stats.tx_busy += result.busy as u64;
        self.stats.tx_error += result.refused as u64;
        for packet in packets.drain(..) {
            pool.give(packet);
        }
        result.sent
    }

    fn room(&self) -> Option<usize> {
        // A socket is writable if at most half of its buffer is used, which has twice the usual size. What is sent takes at most twice
        // its length there, besides some hundred bytes for each frame.
        let room = || if sys::is_writable(&self.sender) { self.usual_buffer as usize / 2 } else { 0 };
        self.facts.is_queued().then(room)
    }

    fn set_intake(&mut self, open: bool) {
        [&mut self.urgent, &mut self.input].into_iter().flatten().for_each(|input| input.set_intake(open));
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        // A port that only sends is woken by errors of its device.
        Some(self.input.as_ref().map_or_else(|| self.sender.as_fd(), Input::fd))
    }

    fn urgent_poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.urgent.as_ref().map(Input::fd)
    }

    fn stats(&self) -> DeviceStats {
        let mut stats = self.stats;
        [&self.urgent, &self.input].into_iter().flatten().for_each(|input| input.add_to(&mut stats));
        for socket in [Some(&*self.sender), self.burst.ring_socket()].into_iter().flatten() {
            let _ = sys::take_error(socket);
        }
        self.facts.refresh();
        stats
    }

    fn is_up(&self) -> Option<bool> {
        self.facts.is_up()
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
}
