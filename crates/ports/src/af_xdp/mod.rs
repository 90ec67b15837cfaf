//! AF_XDP sockets as ports: frames pass between device and data plane without the kernel's stack, and from one such
//! port to another without a copy.
//!
//! An XDP program on the device's receive path ([`redirect`]) redirects the frames that match to the sockets and passes
//! everything else to the kernel. It is native where the driver supports it, generic otherwise. The kernel copies
//! frames once each way unless the driver has zero-copy. A jumbo frame that arrives in several pieces is reassembled in
//! one buffer.
//!
//! Urgent datagrams, which must arrive however full the sockets' rings are, are received by a packet socket beside them
//! ([`AfXdp::receive_apart`]).
//!
//! Where frames are copied, several datagrams leave as one frame by a packet socket if the device segments them: see
//! [`AfPacket`].
//!
//! Senders on the same machine may leave UDP checksums to a veth device, and AF_XDP does not report it. On such
//! devices, checksums that look incomplete are completed.
//!
//! Data that a device strips from received frames, such as VLAN tags with `rx-vlan-offload`, is lost: switch that off
//! on devices whose tags a program is to see.
//!
//! AF_XDP needs CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and, for memory beyond the limit on locked memory, CAP_IPC_LOCK.

mod assembler;
mod bpf;
pub mod redirect;
mod ring;
mod shared;
mod socket;

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Weak};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port, PortInfo};

use redirect::Redirect;
pub use redirect::XdpMode;
pub use shared::{SharedFrames, Unshareable};
use socket::{RingSizes, Rings};

use crate::af_packet::{AfPacket, FilterSetter, Joiner, PortSize, RingSize};
use crate::filter::{Filter, FrameMatch, Pattern};
use crate::linux::closing;
use crate::linux::device::{DeviceError, Facts, failed};
use crate::linux::sys;
use crate::offload::checksum;
use crate::udp::UdpSender;

/// System calls in a row for one burst of sending.
const KICKS: u32 = 8;

/// How to use devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// How the program is attached; `None`: native if the driver can, else generic.
    pub mode: Option<XdpMode>,
    /// Try zero-copy first.
    pub zero_copy: bool,
    /// Microseconds the kernel may poll the device for us when we ask for packets; 0: it does not.
    pub busy_poll_us: u32,
    /// Frames that wait in each direction, a power of two.
    pub ring: u32,
}

impl Default for XdpOptions {
    fn default() -> XdpOptions {
        XdpOptions { mode: None, zero_copy: true, busy_poll_us: 0, ring: 1024 }
    }
}

/// A device with the redirect program attached. It leaves the device when the last port made of it is dropped, or when
/// the process ends.
pub struct XdpDevice {
    facts: Arc<Facts>,
    index: u32,
    redirect: Redirect,
    mode: XdpMode,
    /// Why it is not native, if that was tried.
    refused: Option<String>,
    queues: u32,
    /// Senders may leave checksums unfinished.
    mends: bool,
    options: XdpOptions,
}

impl XdpDevice {
    /// Attaches the program to a device. It takes the frames that match; the kernel receives all others.
    pub fn attach(device: &str, frames: &FrameMatch, options: XdpOptions) -> Result<Arc<XdpDevice>, DeviceError> {
        XdpDevice::attach_but(device, frames, None, options)
    }

    /// The same, but datagrams to UDP destinations that have a pattern are left to the kernel; see
    /// [`AfXdp::receive_apart`].
    pub fn attach_but(
        device: &str,
        frames: &FrameMatch,
        apart: Option<&Pattern>,
        options: XdpOptions,
    ) -> Result<Arc<XdpDevice>, DeviceError> {
        let index = sys::interface_index(device).map_err(failed(device, "find the device"))? as u32;
        let control = sys::control_socket().map_err(failed(device, "open a socket"))?;
        let facts = Arc::new(Facts::new(device, control).map_err(failed(device, "read the MTU"))?);
        let mac = facts.mac().map_err(failed(device, "read the Ethernet address"))?.unwrap_or_default();
        let attach = |mode| Redirect::attach(index, mac, frames, apart, mode);
        let (redirect, mode, refused) = match options.mode {
            Some(mode) => (attach(mode), mode, None),
            None => match attach(XdpMode::Native) {
                Ok(redirect) => (Ok(redirect), XdpMode::Native, None),
                Err(error) => (attach(XdpMode::Generic), XdpMode::Generic, Some(error.to_string())),
            },
        };
        let redirect = redirect.map_err(failed(device, "attach the XDP program"))?;
        let queues = sys::receive_queues(facts.socket(), device).unwrap_or(1).clamp(1, redirect::MAX_QUEUES);
        let driver = sys::driver(facts.socket(), device).unwrap_or_default();
        let mends = mode == XdpMode::Generic || driver == "veth";
        Ok(Arc::new(XdpDevice { facts, index, redirect, mode, refused, queues, mends, options }))
    }

    /// Receive queues of the device. Frames at a queue without port go to the kernel.
    pub fn queues(&self) -> u32 {
        self.queues
    }

    /// How the program is attached.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// For refreshing them.
    pub(crate) fn facts(&self) -> Weak<Facts> {
        Arc::downgrade(&self.facts)
    }

    /// The kernel's number of the device.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Why it is not native, if that was tried.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Whether the device takes several datagrams as one frame.
    pub fn segments_udp(&self) -> bool {
        self.facts.segments_udp()
    }

    /// Takes the frames of another match of the same kind as `from`, which is in force.
    pub fn change_match(&self, from: &FrameMatch, to: &FrameMatch) -> Result<(), DeviceError> {
        self.redirect.change(from, to).map_err(failed(self.facts.name(), "change which frames the XDP program takes"))
    }

    /// A port that receives and sends on some of the device's queues, one at least, with frames of one pool.
    pub fn port(self: &Arc<Self>, frames: &SharedFrames, queues: &[u32]) -> Result<AfXdp, DeviceError> {
        if queues.is_empty() {
            let error = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(DeviceError { device: self.facts.name().into(), what: "do without a queue", error });
        }
        let queues = queues.iter().map(|q| self.queue(frames, *q)).collect::<Result<Vec<_>, _>>()?;
        let sockets: Vec<RawFd> = queues.iter().map(|q| q.socket.as_raw_fd()).collect();
        let group = match &sockets[..] {
            [_] => None,
            several => Some(sys::poll_group(several).map_err(failed(self.facts.name(), "wait for several queues"))?),
        };
        // The device reads frames itself in zero-copy mode: that is cheaper.
        let copies = !queues.iter().all(|q| socket::is_zero_copy(&q.socket).unwrap_or(false));
        let joiner = copies.then(|| Joiner::new(self.facts.name(), self.index as i32)).transpose()?;
        let per_frame = if frames.pieces() > 1 { frames.frames() as usize } else { 0 };
        Ok(AfXdp {
            device: self.clone(),
            queues,
            group,
            urgent: None,
            joiner,
            fallback: None,
            pieces: vec![0; per_frame].into(),
            stats: DeviceStats::default(),
            frames: frames.clone(),
        })
    }

    fn queue(&self, frames: &SharedFrames, id: u32) -> Result<Queue, DeviceError> {
        let copy = libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP;
        let mut flags = vec![copy | libc::XDP_USE_SG, copy];
        if self.options.zero_copy && self.mode == XdpMode::Native {
            let zero_copy = libc::XDP_ZEROCOPY | libc::XDP_USE_NEED_WAKEUP;
            flags.splice(0..0, [zero_copy | libc::XDP_USE_SG, zero_copy]);
        }
        let sizes = RingSizes { receive: self.options.ring, transmit: self.options.ring };
        let (socket, rings) = frames
            .join(self.index, id, &flags, |socket| socket::rings(socket, sizes))
            .map_err(failed(self.facts.name(), "bind an AF_XDP socket"))?;
        socket::tune(&socket, self.options.ring, self.options.busy_poll_us);
        self.redirect.serve(id, &socket).map_err(failed(self.facts.name(), "hand a queue to its socket"))?;
        Ok(Queue { id, socket, rings, partial: Partial::None, down: false })
    }
}

impl fmt::Debug for XdpDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpDevice")
            .field("name", &self.facts.name())
            .field("mode", &self.mode)
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}

/// A packet with pieces outstanding.
#[derive(Debug)]
enum Partial {
    None,
    Some(Packet),
    /// It does not fit a frame; what still comes of it is dropped.
    TooLong,
}

#[derive(Debug)]
struct Queue {
    id: u32,
    // The rings are unmapped before their socket is closed.
    rings: Rings,
    socket: Arc<OwnedFd>,
    partial: Partial,
    /// The device refused to send.
    down: bool,
}

/// AF_XDP sockets on some queues of one device. See [`XdpDevice::port`].
pub struct AfXdp {
    queues: Vec<Queue>,
    /// To wait for several queues.
    group: Option<OwnedFd>,
    /// Read first: what must not be lost when the others' rings are full.
    urgent: Option<AfPacket>,
    /// Sends several datagrams as one frame, if the kernel copies frames.
    joiner: Option<Joiner>,
    /// Sends what the device cannot.
    fallback: Option<UdpSender>,
    device: Arc<XdpDevice>,
    /// Descriptors not completed yet of each frame that is sent in pieces; empty if none ever is.
    pieces: Box<[u8]>,
    stats: DeviceStats,
    // Dropped last: it keeps the memory that the sockets use.
    frames: SharedFrames,
}

impl AfXdp {
    /// Whether the device itself reads and writes the frames.
    pub fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(|q| socket::is_zero_copy(&q.socket).unwrap_or(false))
    }

    /// Whether datagrams may get UDP checksums; see [`AfPacket::fill_checksums`].
    pub fn fill_checksums(&mut self, yes: bool) {
        if let Some(joiner) = &mut self.joiner {
            joiner.fill_checksums(yes);
        }
    }

    /// Has the kernel's UDP sockets send what the device cannot: frames longer than its MTU, and all while it is down or
    /// gone.
    pub fn fall_back(&mut self, sender: UdpSender) {
        self.fallback = Some(sender);
    }

    /// Receives what passes this filter, too, by a packet socket with a small ring of its own that is read first. The
    /// program on the device should leave that to the kernel; see [`XdpDevice::attach_but`].
    pub fn receive_apart(&mut self, filter: &Filter) -> Result<FilterSetter, DeviceError> {
        let size = PortSize { receive: RingSize::SMALL, transmit: 0 };
        let urgent = AfPacket::with_size(self.device.facts.name(), Some(filter), size)?;
        let setter = urgent.filter_setter().unwrap_or_default();
        self.urgent = Some(urgent);
        Ok(setter)
    }
}

#[inline]
fn prefetch(packet: &Packet) {
    #[cfg(target_arch = "x86_64")]
    for line in packet.bytes().chunks(64).take(3) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect but on caches, and the address is of live memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = packet;
}

impl Queue {
    /// Takes back frames that were sent.
    #[inline]
    fn reclaim(&mut self, pool: &mut Pool, stride: u64, pieces: &mut [u8]) {
        let mut any = false;
        while let Some(offset) = self.rings.completed.pop() {
            any = true;
            if is_last_piece(offset, stride, pieces) {
                pool.take_back(offset);
            }
        }
        if any {
            self.rings.completed.release();
        }
    }

    /// Gives the kernel empty frames, but leaves the pool some.
    #[inline]
    fn refill(&mut self, pool: &mut Pool) {
        let fill = &mut self.rings.fill;
        let reserve = pool.frames() as usize / 8;
        let wanted = (fill.room(u32::MAX) as usize).min(pool.available().saturating_sub(reserve));
        if wanted == 0 {
            return;
        }
        for _ in 0..wanted {
            let Some(offset) = pool.lend() else { break };
            fill.push(offset);
        }
        fill.publish();
    }

    /// Tells the kernel to send.
    fn kick(&mut self) {
        for _ in 0..KICKS {
            // Who waits for packets with poll(2) makes the kernel send, too: the device may be up again without a kick.
            if self.rings.transmit.outstanding() == 0 || !self.rings.transmit.needs_wakeup() {
                self.down = false;
                return;
            }
            match socket::kick_transmit(&self.socket) {
                Ok(()) => self.down = false,
                Err(error) => match error.raw_os_error() {
                    // More than the kernel sends at a time, or no room.
                    Some(libc::EAGAIN | libc::EINTR) => {}
                    Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                        self.down = true;
                        return;
                    }
                    _ => return,
                },
            }
        }
    }

    /// The next whole packet.
    #[inline]
    fn next(&mut self, pool: &mut Pool, too_long: &mut u64) -> Option<Packet> {
        loop {
            let piece = self.rings.receive.pop()?;
            // SAFETY: the kernel hands back frames that stood in the fill ring, where `refill` put lent ones, each
            // once.
            let Some(packet) = (unsafe { pool.received(piece.addr, piece.len) }) else { continue };
            let last = piece.options & libc::XDP_PKT_CONTD == 0;
            match (std::mem::replace(&mut self.partial, Partial::None), last) {
                (Partial::None, true) => return Some(packet),
                (Partial::None, false) => self.partial = Partial::Some(packet),
                (Partial::Some(mut first), last) => {
                    let fits = first.append(packet.bytes());
                    pool.give(packet);
                    match (fits, last) {
                        (true, true) => return Some(first),
                        (true, false) => self.partial = Partial::Some(first),
                        (false, _) => {
                            *too_long += 1;
                            pool.give(first);
                            self.partial = if last { Partial::None } else { Partial::TooLong };
                        }
                    }
                }
                (Partial::TooLong, last) => {
                    pool.give(packet);
                    self.partial = if last { Partial::None } else { Partial::TooLong };
                }
            }
        }
    }

    /// Puts a packet on the transmit ring. It comes back if there is no room.
    #[inline]
    fn push(&mut self, pool: &mut Pool, packet: Packet, chunk: u32, pieces: &mut [u8]) -> Result<(), Packet> {
        let length = packet.len() as u32;
        // Descriptors must not cross the border of what the kernel takes for a frame.
        let in_chunk = packet.raw().start % chunk;
        let count = if length == 0 { 1 } else { (in_chunk + length).div_ceil(chunk) };
        let transmit = &mut self.rings.transmit;
        if transmit.room(count) < count {
            return Err(packet);
        }
        let frame_start = packet.raw().start;
        let mut at = pool.lend_packet(packet)?;
        if count > 1 {
            let stride = pool.frame_size().stride() as u64;
            pieces[((at - u64::from(frame_start)) / stride) as usize] = count as u8;
        }
        let mut left = length;
        let mut room = chunk - in_chunk;
        for i in 1..=count {
            let len = left.min(room);
            let options = if i < count { libc::XDP_PKT_CONTD } else { 0 };
            transmit.push(libc::xdp_desc { addr: at, len, options });
            at += u64::from(len);
            left -= len;
            room = chunk;
        }
        Ok(())
    }
}

/// Whether this was the last piece of its frame to complete.
#[inline]
fn is_last_piece(offset: u64, stride: u64, pieces: &mut [u8]) -> bool {
    match pieces.get_mut((offset / stride) as usize) {
        Some(left) if *left > 1 => {
            *left -= 1;
            false
        }
        _ => true,
    }
}

impl Port for AfXdp {
    fn name(&self) -> &str {
        self.device.facts.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        if !self.frames.are_of(pool) {
            return 0;
        }
        let longest = self.device.facts.longest() as usize;
        let stride = self.frames.stride();
        self.frames.collect(pool);
        let mut count = self.urgent.as_mut().map_or(0, |urgent| urgent.receive(pool, batch, limit));
        for queue in &mut self.queues {
            queue.reclaim(pool, stride, &mut self.pieces);
            if queue.rings.transmit.outstanding() > 0 {
                queue.kick();
            }
            if self.device.options.busy_poll_us > 0 || queue.rings.fill.needs_wakeup() {
                socket::kick_receive(&queue.socket);
            }
            let before = count;
            while count < limit {
                let Some(mut packet) = queue.next(pool, &mut self.stats.rx_too_long) else { break };
                if packet.len() > longest {
                    self.stats.rx_too_long += 1;
                    pool.give(packet);
                    continue;
                }
                prefetch(&packet);
                if self.device.mends {
                    checksum::mend(packet.bytes_mut());
                }
                batch.push(packet);
                count += 1;
            }
            if count > before {
                queue.rings.receive.release();
            }
            queue.refill(pool);
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let longest = self.device.facts.longest() as usize;
        let chunk = self.frames.chunk();
        let stride = self.frames.stride();
        let queue = &mut self.queues[0];
        // Where it is full the kernel sends no more.
        queue.reclaim(pool, stride, &mut self.pieces);
        if queue.down {
            queue.kick();
        }
        let untagged = self.device.facts.longest_untagged() as usize;
        // Datagrams that others can send are untagged.
        let longest = if self.fallback.is_some() { untagged } else { longest };
        let mut joiner = self.joiner.as_mut().filter(|_| self.device.facts.segments_udp());
        let mut sent = 0;
        let mut packets = packets.drain(..);
        // Those before this many are left have to leave one by one.
        let mut apart = usize::MAX;
        loop {
            let rest = packets.as_slice();
            let down = queue.down;
            let refused = |packet: &&Packet| {
                let narrow = self.fallback.as_ref().is_some_and(|fallback| fallback.is_too_long(packet.bytes()));
                down || narrow || packet.len() > longest || packet.len() < 14
            };
            let count = rest.iter().take_while(refused).count();
            if count > 0 {
                let frames = rest[..count].iter().map(Packet::bytes);
                let taken = self.fallback.as_mut().map_or(0, |fallback| fallback.send(frames));
                sent += taken;
                self.stats.tx_error += (count - taken) as u64;
                packets.by_ref().take(count).for_each(|packet| pool.give(packet));
                continue;
            }
            if let Some(joiner) = &mut joiner
                && rest.len() < apart
            {
                let count = joiner.alike(rest, untagged);
                if count > 1 {
                    // They must not overtake what is on the ring.
                    queue.rings.transmit.publish();
                    queue.kick();
                    if queue.rings.transmit.outstanding() == 0 && joiner.send(&rest[..count]) {
                        sent += count;
                        packets.by_ref().take(count).for_each(|packet| pool.give(packet));
                        continue;
                    }
                    apart = rest.len() - count + 1;
                }
            }
            let Some(packet) = packets.next() else { break };
            let mut result = queue.push(pool, packet, chunk, &mut self.pieces);
            if let Err(packet) = result {
                // Once more with what the device is done with.
                queue.rings.transmit.publish();
                queue.kick();
                queue.reclaim(pool, stride, &mut self.pieces);
                result = queue.push(pool, packet, chunk, &mut self.pieces);
            }
            match result {
                Ok(()) => sent += 1,
                Err(packet) => {
                    self.stats.tx_busy += 1;
                    pool.give(packet);
                }
            }
        }
        queue.rings.transmit.publish();
        sent
    }

    fn flush(&mut self) {
        for queue in &mut self.queues {
            queue.kick();
        }
    }

    fn pending(&mut self) -> bool {
        self.queues.iter_mut().any(|q| !q.down && q.rings.transmit.outstanding() > 0)
    }

    fn backlog(&mut self) -> u32 {
        self.queues.iter_mut().map(|q| q.rings.transmit.outstanding()).sum()
    }

    fn poll_fd(&self) -> Option<RawFd> {
        match (&self.group, self.queues.first()) {
            (Some(group), _) => Some(group.as_raw_fd()),
            (None, queue) => queue.map(|queue| queue.socket.as_raw_fd()),
        }
    }

    fn urgent_poll_fd(&self) -> Option<RawFd> {
        self.urgent.as_ref().and_then(|urgent| urgent.poll_fd())
    }

    fn stats(&self) -> DeviceStats {
        let facts = &self.device.facts;
        facts.refresh();
        if let Ok(Some(mac)) = facts.mac() {
            // Only fails for what no device has.
            let _ = self.device.redirect.set_mac(mac);
        }
        let mut stats = self.stats;
        for queue in &self.queues {
            if let Ok(s) = socket::statistics(&queue.socket) {
                // In copy mode a frame for which there is no empty one is counted as dropped, too.
                stats.rx_overrun += s.rx_ring_full + s.rx_fill_ring_empty_descs;
                stats.rx_too_long += s.rx_dropped.saturating_sub(s.rx_fill_ring_empty_descs);
                stats.tx_error += s.tx_invalid_descs;
            }
        }
        if let Some(urgent) = &self.urgent {
            let apart = urgent.stats();
            stats.rx_overrun += apart.rx_overrun;
            stats.rx_too_long += apart.rx_too_long;
        }
        stats
    }

    fn info(&self) -> PortInfo {
        self.device.facts.info()
    }
}

impl Drop for AfXdp {
    /// Takes the sockets off the device and hands the frames that the kernel had back to the pool, by way of the next
    /// port that uses it. In the background: both wait for the kernel.
    fn drop(&mut self) {
        let mut queues = std::mem::take(&mut self.queues);
        let mut pieces = std::mem::take(&mut self.pieces);
        let frames = self.frames.clone();
        let unserved = queues.iter().all(|q| self.device.redirect.unserve(q.id).is_ok());
        closing::in_background(move || {
            let offsets = if !closing::process_ends() && unserved && sys::wait_for_readers().is_ok() {
                frames_of(&mut queues, frames.stride(), &mut pieces)
            } else {
                Vec::new()
            };
            // The sockets are closed before the memory that they use can be freed.
            drop(queues);
            frames.hand_back(offsets);
        });
    }
}

/// The frames that the kernel has, of sockets to which no more comes.
fn frames_of(queues: &mut [Queue], stride: u64, pieces: &mut [u8]) -> Vec<u64> {
    let mut offsets = Vec::new();
    for queue in queues {
        queue.rings.fill.drain(|offset| offsets.push(offset));
        while let Some(piece) = queue.rings.receive.pop() {
            offsets.push(piece.addr);
        }
        let mut sent = |offset| {
            if is_last_piece(offset, stride, pieces) {
                offsets.push(offset);
            }
        };
        while let Some(offset) = queue.rings.completed.pop() {
            sent(offset);
        }
        queue.rings.transmit.drain(|piece| sent(piece.addr));
    }
    offsets
}

impl fmt::Debug for AfXdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfXdp")
            .field("device", &self.device)
            .field("queues", &self.queues.len())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}
