//! AF_XDP sockets as ports. Frames pass between device and data plane without the kernel's stack, and from one such
//! port to another without a copy.
//!
//! An XDP program on the device's receive path ([`redirect`]) redirects matching frames to the sockets and passes all
//! others to the kernel. It runs in native mode if the driver supports that, otherwise in generic mode. The kernel
//! copies each frame once in each direction, unless the driver supports zero-copy mode. A jumbo frame that arrives in
//! several pieces is reassembled in one buffer.
//!
//! Urgent datagrams, which must arrive even if the sockets' rings are full, are received by a separate packet socket
//! ([`AfXdp::receive_apart`]).
//!
//! In copy mode, several TCP segments or UDP datagrams are sent as one frame by a packet socket if the device segments
//! them; see [`AfPacket`](crate::AfPacket).
//!
//! Senders on the same machine may leave TCP and UDP checksums to a veth device, which AF_XDP does not report. On such
//! devices, checksums that look incomplete are completed. Segmentation they leave to a veth device only if the program
//! runs in generic mode: a veth device whose peer has a program in native mode takes no joined frames.
//!
//! Data that a device strips from received frames, such as VLAN tags with `rx-vlan-offload`, are lost. Switch such
//! offloads off on devices whose tags a program should see.
//!
//! AF_XDP needs CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and, for memory beyond the limit on locked memory, CAP_IPC_LOCK.

mod assembler;
mod bpf;
mod queue;
pub mod redirect;
mod ring;
mod shared;
mod socket;

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port, PortInfo};

use queue::{Partial, Queue, frames_of};
use redirect::Redirect;
pub use redirect::{Programs, SharedProgram, XdpMode};
pub use shared::{SharedFrames, SharedMemory, SharedQueue, Unshareable};
use socket::RingSizes;

use crate::af_packet::{Input, Joiner};
use crate::filter::{FrameMatch, Pattern};
use crate::linux::closing;
use crate::linux::device::{DeviceError, Facts, failed};
use crate::linux::sys;
use crate::offload::checksum;
use crate::offload::join::Segments;
use crate::padding;
use crate::udp::UdpSender;

/// Options of AF_XDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// How the program is attached; `None` means native if the driver supports it, otherwise generic.
    pub mode: Option<XdpMode>,
    /// Whether to try zero-copy mode first.
    pub zero_copy: bool,
    /// How long the kernel may poll the device when a port receives, in microseconds; 0 disables busy polling.
    pub busy_poll_us: u32,
    /// Number of frames that each ring holds, a power of two.
    pub ring: u32,
}

impl Default for XdpOptions {
    fn default() -> XdpOptions {
        XdpOptions { mode: None, zero_copy: true, busy_poll_us: 0, ring: 1024 }
    }
}

/// A device with the redirect program attached. The program is detached when the last port on it is dropped or the
/// process ends.
pub struct XdpDevice {
    facts: Arc<Facts>,
    index: u32,
    redirect: Redirect,
    mode: XdpMode,
    /// Why native mode was refused, if it was tried.
    refused: Option<String>,
    queues: u32,
    driver: String,
    /// Whether to complete checksums, because senders may leave them to this device.
    completes_checksums: bool,
    /// Whether what follows the IP packet of a frame is cut off, because ports take datagrams only.
    cut_padding: bool,
    /// Whether sockets can be taken over with what is in their rings. Nobody else could receive it: ports take every frame.
    keeps_rings: bool,
    /// The sockets are another process's, which has them, too.
    left: AtomicBool,
    options: XdpOptions,
}

impl XdpDevice {
    /// Attaches the program to a device. The program takes matching frames and passes all others to the kernel.
    pub fn attach(device: &str, frames: &FrameMatch, options: XdpOptions) -> Result<Arc<XdpDevice>, DeviceError> {
        XdpDevice::attach_but(&Programs::default(), device, frames, None, options)
    }

    /// Like [`XdpDevice::attach`], with a program that devices share, which passes datagrams with a pattern to the
    /// kernel; see [`AfXdp::receive_apart`].
    pub fn attach_but(
        programs: &Programs,
        device: &str,
        frames: &FrameMatch,
        apart: Option<&Pattern>,
        options: XdpOptions,
    ) -> Result<Arc<XdpDevice>, DeviceError> {
        XdpDevice::attach_or_inherit(programs, device, frames, apart, options, None)
    }

    /// Like [`XdpDevice::attach_but`], with the program that a predecessor has attached, if there is one.
    pub(crate) fn attach_or_inherit(
        programs: &Programs,
        device: &str,
        frames: &FrameMatch,
        apart: Option<&Pattern>,
        options: XdpOptions,
        inherited: Option<SharedProgram>,
    ) -> Result<Arc<XdpDevice>, DeviceError> {
        let index = sys::interface_index(device).map_err(failed(device, "find the device"))? as u32;
        let control = sys::control_socket().map_err(failed(device, "open a socket"))?;
        let facts = Arc::new(Facts::new(device, control).map_err(failed(device, "read the MTU"))?);
        let mac = facts.mac().map_err(failed(device, "read the Ethernet address"))?.unwrap_or_default();
        let queues = sys::receive_queues(facts.socket(), device).unwrap_or(1).clamp(1, redirect::MAX_QUEUES);
        let attach = |mode| Redirect::attach(programs, (index, queues), mac, frames, apart, mode);
        let usable =
            inherited.filter(|shared| shared.part.1 == queues && options.mode.is_none_or(|m| m == shared.mode));
        let is_inherited = usable.is_some();
        let (redirect, mode, refused) = match (usable, options.mode) {
            (Some(shared), _) => {
                let mode = shared.mode;
                (Redirect::inherit(programs, (index, queues), mac, frames, apart, shared), mode, None)
            }
            (None, Some(mode)) => (attach(mode), mode, None),
            (None, None) => match attach(XdpMode::Native) {
                Ok(redirect) => (Ok(redirect), XdpMode::Native, None),
                Err(error) => (attach(XdpMode::Generic), XdpMode::Generic, Some(error.to_string())),
            },
        };
        let redirect = redirect.map_err(failed(device, "attach the XDP program"))?;
        let driver = sys::driver(facts.socket(), device).unwrap_or_default();
        let completes_checksums = mode == XdpMode::Generic || driver == "veth";
        let cut_padding = matches!(frames, FrameMatch::UdpDestinations(_));
        let keeps_rings = frames.is_everything();
        // Sockets that are not used yet are a predecessor's.
        let left = AtomicBool::new(keeps_rings && is_inherited);
        Ok(Arc::new(XdpDevice {
            facts,
            index,
            redirect,
            mode,
            refused,
            queues,
            driver,
            completes_checksums,
            cut_padding,
            keeps_rings,
            left,
            options,
        }))
    }

    /// The number of the device's receive queues. Frames of a queue without a port go to the kernel.
    pub fn queues(&self) -> u32 {
        self.queues
    }

    /// How the program is attached.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// Returns duplicates of the program's descriptors, for a successor.
    pub(crate) fn share(&self) -> std::io::Result<Option<SharedProgram>> {
        self.redirect.share(self.mode)
    }

    /// Leaves the program and the sockets to the process that has taken over.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// The facts about the device, for refreshing them.
    pub(crate) fn facts(&self) -> Weak<Facts> {
        Arc::downgrade(&self.facts)
    }

    /// The device's interface index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Why native mode was refused, if it was tried.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// The kinds of joined frames that the device takes.
    pub(crate) fn takes(&self) -> Segments {
        self.facts.takes()
    }

    /// The device's driver.
    pub(crate) fn driver(&self) -> &str {
        &self.driver
    }

    /// Replaces the current match by another of the same kind.
    pub fn change_match(&self, to: &FrameMatch) -> Result<(), DeviceError> {
        self.redirect.change(to).map_err(failed(self.facts.name(), "change which frames the XDP program takes"))
    }

    /// Opens a port on some of the device's queues, at least one. Its frames are those of one pool, with which it must
    /// be used.
    pub fn port(self: &Arc<Self>, frames: &SharedFrames, queues: &[u32]) -> Result<AfXdp, DeviceError> {
        if queues.is_empty() {
            let error = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(DeviceError { device: self.facts.name().into(), what: "do without a queue", error });
        }
        let queues = queues.iter().map(|q| self.queue(frames, *q)).collect::<Result<Vec<_>, _>>()?;
        self.left.store(false, Ordering::Release);
        self.port_of(frames, queues, false)
    }

    /// Opens a port on sockets of a predecessor, which are on the memory of these frames.
    pub(crate) fn inherited_port(
        self: &Arc<Self>,
        frames: &SharedFrames,
        queues: Vec<SharedQueue>,
    ) -> Result<AfXdp, DeviceError> {
        let sizes = RingSizes { receive: self.options.ring, transmit: self.options.ring };
        let inherit = |SharedQueue { id, socket }: SharedQueue| {
            let rings = socket::map(&socket, sizes).map_err(failed(self.facts.name(), "map the rings of a socket"))?;
            Ok(Queue { id, rings, socket: frames.adopt(socket), partial: Partial::None, down: false })
        };
        let queues = queues.into_iter().map(inherit).collect::<Result<_, _>>()?;
        self.port_of(frames, queues, true)
    }

    fn port_of(
        self: &Arc<Self>,
        frames: &SharedFrames,
        queues: Vec<Queue>,
        inherited: bool,
    ) -> Result<AfXdp, DeviceError> {
        let sockets: Vec<RawFd> = queues.iter().map(|q| q.socket.as_raw_fd()).collect();
        let group = match &sockets[..] {
            [_] => None,
            several => Some(sys::poll_group(several).map_err(failed(self.facts.name(), "wait for several queues"))?),
        };
        // In zero-copy mode the device reads frames itself, which is cheaper than joining them.
        let copies = !queues.iter().all(|q| socket::is_zero_copy(&q.socket).unwrap_or(false));
        let joiner = copies.then(|| Joiner::new(self.facts.name(), self.index as i32)).transpose()?;
        Ok(AfXdp {
            device: self.clone(),
            queues,
            group,
            urgent: None,
            joiner,
            fallback: None,
            inherited,
            intake: true,
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

/// AF_XDP sockets on some queues of one device. See [`XdpDevice::port`].
pub struct AfXdp {
    queues: Vec<Queue>,
    /// An epoll descriptor of all sockets, if there are several.
    group: Option<OwnedFd>,
    /// Urgent frames, which must not be lost when the rings are full. Read first.
    urgent: Option<Input>,
    /// Sends several segments as one frame, in copy mode.
    joiner: Option<Joiner>,
    /// Sends what the device cannot send.
    fallback: Option<UdpSender>,
    device: Arc<XdpDevice>,
    /// Whether its rings are to begin where a predecessor has stopped.
    inherited: bool,
    /// Whether it takes packets out of the rings.
    intake: bool,
    stats: DeviceStats,
    // Dropped last: it keeps the memory alive that the sockets use.
    frames: SharedFrames,
}

impl AfXdp {
    /// The queues with their sockets.
    pub(crate) fn sockets(&self) -> Vec<(u32, Weak<OwnedFd>)> {
        self.queues.iter().map(|queue| (queue.id, Arc::downgrade(&queue.socket))).collect()
    }

    /// Begins where a predecessor has stopped, which it has when this port is used for the first time.
    #[inline]
    fn resume(&mut self) {
        if std::mem::take(&mut self.inherited) {
            self.device.left.store(false, Ordering::Release);
            self.queues.iter_mut().for_each(|queue| queue.rings.resume());
        }
    }

    /// Whether the device reads and writes the frames itself.
    pub fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(|q| socket::is_zero_copy(&q.socket).unwrap_or(false))
    }

    /// Sets whether datagrams without a UDP checksum may be sent with one; see [`AfPacket::fill_checksums`].
    pub fn fill_checksums(&mut self, yes: bool) {
        if let Some(joiner) = &mut self.joiner {
            joiner.fill_checksums(yes);
        }
    }

    /// Sets a fallback that sends through the kernel's UDP sockets what the device cannot send: frames longer than its
    /// MTU, and all frames while the device is down or removed.
    pub fn fall_back(&mut self, sender: UdpSender) {
        self.fallback = Some(sender);
    }

    /// Also receives frames from a packet socket, which is read first. The device's program should pass these frames to
    /// the kernel; see [`XdpDevice::attach_but`].
    pub fn receive_apart(&mut self, mut urgent: Input) {
        urgent.take_datagrams(self.device.cut_padding);
        self.urgent = Some(urgent);
    }
}

#[inline]
fn prefetch(packet: &Packet) {
    packet.bytes().chunks(64).take(3).for_each(|line| hopwright_dataplane::prefetch(line.as_ptr()));
}

impl Port for AfXdp {
    fn name(&self) -> &str {
        self.device.facts.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        if !self.frames.are_of(pool) {
            return 0;
        }
        self.resume();
        let longest = self.device.facts.longest() as usize;
        let stride = self.frames.stride();
        self.frames.collect(pool);
        let facts = &self.device.facts;
        let mut count = self.urgent.as_mut().map_or(0, |urgent| urgent.receive(facts, pool, batch, limit));
        for queue in &mut self.queues {
            queue.reclaim(pool, stride, self.frames.pieces_left());
            if queue.rings.transmit.outstanding() > 0 {
                queue.kick();
            }
            // A packet of which some pieces have been taken is taken as a whole.
            if !self.intake && matches!(queue.partial, Partial::None) {
                continue;
            }
            if self.device.options.busy_poll_us > 0 || queue.rings.fill.needs_wakeup() {
                socket::kick_receive(&queue.socket);
            }
            let before = queue.rings.receive.position();
            while count < limit {
                let Some(mut packet) = queue.next(pool, &mut self.stats.rx_too_long) else { break };
                if packet.len() > longest {
                    self.stats.rx_too_long += 1;
                    pool.give(packet);
                    continue;
                }
                prefetch(&packet);
                if self.device.cut_padding {
                    padding::cut_off(&mut packet);
                }
                if self.device.completes_checksums {
                    checksum::mend(packet.bytes_mut());
                }
                batch.push(packet);
                count += 1;
            }
            // Also what was too long: its frame is the pool's again.
            if queue.rings.receive.position() != before {
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
        self.resume();
        let pieces = self.frames.pieces_left();
        let queue = &mut self.queues[0];
        // The kernel sends nothing more while the completion ring is full.
        queue.reclaim(pool, stride, pieces);
        if queue.down {
            queue.kick();
        }
        let untagged = self.device.facts.longest_untagged() as usize;
        // Longer frames go to the fallback, which sends untagged ones only.
        let longest = if self.fallback.is_some() { untagged } else { longest };
        let takes = self.device.facts.takes();
        let mut joiner = self.joiner.as_mut().filter(|_| !takes.is_empty());
        let mut sent = 0;
        let mut packets = packets.drain(..);
        // Joining is tried only while fewer packets than this are left: after a failure, those that were to be joined
        // are sent one by one.
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
                let count = joiner.joinable(rest, untagged, takes);
                if count > 1 {
                    // These frames must not overtake what is on the ring.
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
            let mut result = queue.push(pool, packet, chunk, pieces);
            if let Err(packet) = result {
                // Try again with the frames that the device has completed.
                queue.rings.transmit.publish();
                queue.kick();
                queue.reclaim(pool, stride, pieces);
                result = queue.push(pool, packet, chunk, pieces);
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

    fn set_intake(&mut self, open: bool) {
        self.intake = open || !self.device.keeps_rings;
        // The rings are emptied unless a successor gets them: what is in them has passed the program on the device.
        self.urgent.iter_mut().for_each(|urgent| urgent.set_intake(open));
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

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        match (&self.group, self.queues.first()) {
            (Some(group), _) => Some(group.as_fd()),
            (None, queue) => queue.map(|queue| queue.socket.as_fd()),
        }
    }

    fn urgent_poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.urgent.as_ref().map(Input::fd)
    }

    fn stats(&self) -> DeviceStats {
        let facts = &self.device.facts;
        facts.refresh();
        if let Ok(Some(mac)) = facts.mac() {
            // Fails only for reasons that no device has.
            let _ = self.device.redirect.set_mac(mac);
        }
        let mut stats = self.stats;
        for queue in &self.queues {
            if let Ok(s) = socket::statistics(&queue.socket) {
                // In copy mode, `rx_dropped` includes frames for which there was no empty frame.
                stats.rx_overrun += s.rx_ring_full + s.rx_fill_ring_empty_descs;
                stats.rx_too_long += s.rx_dropped.saturating_sub(s.rx_fill_ring_empty_descs);
                stats.tx_error += s.tx_invalid_descs;
            }
        }
        if let Some(urgent) = &self.urgent {
            urgent.add_to(&mut stats);
        }
        stats
    }

    fn is_up(&self) -> Option<bool> {
        self.device.facts.is_up()
    }

    fn info(&self) -> PortInfo {
        self.device.facts.info()
    }
}

impl Drop for AfXdp {
    /// Detaches the sockets from the device and returns the frames that the kernel had to the pool, through the next
    /// port that uses it. In the background, because both wait for the kernel.
    fn drop(&mut self) {
        let mut queues = std::mem::take(&mut self.queues);
        let frames = self.frames.clone();
        let left = self.device.left.load(Ordering::Acquire);
        let unserved = !left && queues.iter().all(|q| self.device.redirect.unserve(q.id).is_ok());
        closing::in_background(move || {
            let offsets = if !closing::process_ends() && unserved && sys::wait_for_readers().is_ok() {
                frames_of(&mut queues, frames.stride(), frames.pieces_left())
            } else {
                Vec::new()
            };
            // The sockets must be closed before the memory that they use can be freed.
            drop(queues);
            frames.hand_back(offsets);
        });
    }
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
