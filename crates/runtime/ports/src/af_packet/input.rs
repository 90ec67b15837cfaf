//! The receiving side of a port: a packet socket and its ring.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use hopwright_dataplane::{DeviceStats, Packet, Pool};

use super::fragments::{Fragments, is_fragment};
use super::ring::{Received, Ring, RingSize};
use crate::filter::{Filter, JoinedFlows};
use crate::linux::closing::SlowToClose;
use crate::linux::device::{DeviceError, Facts, failed};
use crate::linux::sys;
use crate::offload::checksum;
use crate::offload::split::Split;
use crate::offload::virtio::{Kind, Offloads};
use crate::padding;

/// A packet socket that receives into a ring.
pub struct Input {
    // Declared first: the ring must be unmapped before its socket is closed.
    ring: Ring,
    pub(super) socket: Arc<SlowToClose>,
    /// Whether stripped VLAN tags are put back into frames. With a filter they are not: it passes only priority tags.
    pub(super) tags: bool,
    /// Whether to take frames from the ring.
    intake: bool,
    /// For ports that take datagrams.
    fragments: Option<Box<Fragments>>,
    /// If frames are distributed over several sockets by the flows of their datagrams.
    flows: Option<Arc<JoinedFlows>>,
    overrun: AtomicU64,
    too_long: u64,
}

/// A packet socket with a ring, as one process hands it over to another.
#[derive(Debug)]
pub struct SharedRing {
    /// A descriptor of the socket.
    pub socket: OwnedFd,
    /// The ring's size.
    pub size: RingSize,
}

/// Changes the filter of a port's packet socket. May be used from any thread; has no effect once the port is dropped.
#[derive(Clone, Debug)]
pub struct FilterSetter {
    socket: Weak<SlowToClose>,
    size: RingSize,
    position: Arc<AtomicU32>,
}

impl FilterSetter {
    /// Sets the filter for packets that arrive from now on.
    pub fn set(&self, filter: &Filter) -> io::Result<()> {
        self.socket.upgrade().map_or(Ok(()), |socket| sys::attach_filter(&socket, filter))
    }

    /// Returns a duplicate of the socket's descriptor, for a successor; `None` if the port is dropped.
    pub(crate) fn share(&self) -> io::Result<Option<SharedRing>> {
        let Some(socket) = self.socket.upgrade() else { return Ok(None) };
        Ok(Some(SharedRing { socket: socket.try_clone()?, size: self.size }))
    }

    /// Sets the program of the socket's fanout group.
    pub(crate) fn set_fanout(&self, program: &Filter) -> io::Result<()> {
        self.socket.upgrade().map_or(Ok(()), |socket| sys::set_fanout_program(&socket, program))
    }

    /// The slot of the ring that the port reads next.
    pub(crate) fn position(&self) -> u32 {
        self.position.load(Ordering::Acquire)
    }

    /// Has the port begin at this slot. To be called before it receives for the first time.
    pub(crate) fn begin_at(&self, position: u32) {
        self.position.store(position, Ordering::Release);
    }

    /// Whether the port still exists.
    pub fn is_alive(&self) -> bool {
        self.socket.strong_count() > 0
    }
}

impl Input {
    /// Creates a receiving socket, not bound yet.
    pub(super) fn new(device: &str, filter: Option<&Filter>, size: RingSize) -> Result<Input, DeviceError> {
        let failed = |what| failed(device, what);
        let socket = sys::packet_socket().map_err(failed("open a packet socket"))?;
        sys::set_option(&socket, libc::SOL_PACKET, sys::PACKET_IGNORE_OUTGOING, &(1 as libc::c_int))
            .map_err(failed("ignore outgoing packets"))?;
        let ring = Ring::new(&socket, size).map_err(failed("make a receive ring"))?;
        if let Some(filter) = filter {
            sys::attach_filter(&socket, filter).map_err(failed("attach the filter"))?;
        }
        Ok(Input {
            ring,
            socket: Arc::new(socket),
            tags: filter.is_none(),
            intake: true,
            fragments: None,
            flows: None,
            overrun: AtomicU64::new(0),
            too_long: 0,
        })
    }

    /// Opens a device with a small ring, for a few short frames that pass the filter.
    pub fn small(device: &str, filter: &Filter) -> Result<Input, DeviceError> {
        let input = Input::new(device, Some(filter), RingSize::SMALL)?;
        input.start(device)?;
        Ok(input)
    }

    /// Takes the socket and ring of a predecessor, with the filter that it has; `everything`: it has none.
    pub(crate) fn inherited(device: &str, shared: SharedRing, everything: bool) -> Result<Input, DeviceError> {
        let SharedRing { socket, size } = shared;
        Ok(Input {
            ring: Ring::of(&socket, size).map_err(failed(device, "map a predecessor's ring"))?,
            socket: Arc::new(socket.into()),
            tags: everything,
            intake: true,
            fragments: None,
            flows: None,
            overrun: AtomicU64::new(0),
            too_long: 0,
        })
    }

    /// Whether to take frames from the ring; see [`Port::set_intake`](hopwright_dataplane::Port::set_intake).
    pub(crate) fn set_intake(&mut self, open: bool) {
        self.intake = open;
    }

    /// Returns a handle to change the filter while a worker owns the port.
    pub fn filter_setter(&self) -> FilterSetter {
        FilterSetter {
            socket: Arc::downgrade(&self.socket),
            size: self.ring.size(),
            position: self.ring.position().clone(),
        }
    }

    /// Sets whether frames carry one UDP datagram each: Ethernet padding and trailers are cut off, and IPv6 datagrams up
    /// to the MTU are reassembled of their fragments. By default, frames are delivered as they arrive.
    pub(crate) fn take_datagrams(&mut self, yes: bool) {
        self.fragments = yes.then(|| Box::new(Fragments::new()));
    }

    /// Has joined frames with datagrams of several flows noticed.
    pub(super) fn watch_flows(&mut self, flows: Arc<JoinedFlows>) {
        self.flows = Some(flows);
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives frames of a device, at most `limit`. Returns their number.
    pub(crate) fn receive(&mut self, facts: &Facts, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let (longest, untagged) = (facts.longest(), facts.longest_untagged());
        let mut count = 0;
        while count < limit && (self.intake || self.ring.is_within_frame()) {
            let Some(mut packet) = pool.take() else { break };
            let mut taken = Taken::default();
            let some = self.ring.next(&self.socket, |received| {
                taken = take(&mut packet, &received, longest, self.tags);
                if received.turn > 0
                    && let Some(flows) = &self.flows
                {
                    compare_flows(flows, &received);
                }
                taken.more
            });
            if some && taken.fits && self.finish(&mut packet, untagged) {
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
            } else if !taken.fits {
                self.too_long += 1;
            }
        }
        self.ring.release();
        count
    }

    /// Adds the frames that were lost.
    pub(crate) fn add_to(&self, stats: &mut DeviceStats) {
        if let Ok((_, drops)) = sys::packet_statistics(&self.socket) {
            self.overrun.fetch_add(u64::from(drops), Ordering::Relaxed);
        }
        // A device that goes down leaves a pending error. The socket works again when the device comes up.
        let _ = sys::take_error(&self.socket);
        stats.rx_overrun += self.overrun.load(Ordering::Relaxed);
        stats.rx_too_long += self.too_long;
    }

    /// Makes a received frame what the port delivers. Returns false for a fragment that does not complete its datagram.
    /// `longest` is the length of the longest untagged frame that the device carries.
    #[inline]
    fn finish(&mut self, packet: &mut Packet, longest: u32) -> bool {
        let Some(fragments) = &mut self.fragments else { return true };
        padding::cut_off(packet);
        if !is_fragment(packet.bytes()) {
            return true;
        }
        let whole = fragments.add(packet.bytes(), longest as usize, Instant::now());
        whole.is_some_and(|frame| packet.fill(frame))
    }

    pub(super) fn start(&self, device: &str) -> Result<(), DeviceError> {
        let index = sys::interface_index(device).map_err(failed(device, "find the device"))?;
        sys::bind_packet(&self.socket, index, libc::ETH_P_ALL).map_err(failed(device, "bind"))
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("fd", &self.fd()).finish_non_exhaustive()
    }
}

/// The length of a VLAN tag in bytes.
const TAG: u32 = 4;

/// The result of taking a received frame.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// The frame, or the next segment of a joined one, is in the packet.
    fits: bool,
    /// The frame is a joined one, and this was not its last segment.
    more: bool,
    /// The ring had no room for the whole frame.
    cut: bool,
}

/// Copies a received frame, or the next segment of a joined one, into a packet. Restores a stripped VLAN tag if `tags`,
/// and completes the checksum if the sender left it to the device.
#[inline]
fn take(packet: &mut Packet, received: &Received<'_>, longest: u32, tags: bool) -> Taken {
    let tag = received.tag.filter(|_| tags);
    let cut = (received.bytes.len() as u64) < u64::from(received.length);
    if let Some(offloads) = &received.offloads
        && !cut
    {
        return take_offloaded(packet, received, offloads, longest, tag);
    }
    let fits = !cut
        && received.length <= longest
        && packet.fill(received.bytes)
        && tag.is_none_or(|tag| insert_tag(packet, tag));
    Taken { fits, more: false, cut }
}

/// Compares the flow of a datagram of a joined frame with that of the first one.
fn compare_flows(flows: &JoinedFlows, received: &Received<'_>) {
    let Some(offloads) = &received.offloads else { return };
    let Some(split) = Split::of(received.bytes, offloads) else { return };
    let of = |number| split.segment(received.bytes, number);
    if let (Some(first), Some(this)) = (of(0), of(received.turn)) {
        flows.compare(first.payload, this.payload);
    }
}

/// Like [`take`], for a whole frame whose sender left something to the device.
fn take_offloaded(
    packet: &mut Packet,
    received: &Received<'_>,
    offloads: &Offloads,
    longest: u32,
    tag: Option<(u16, u16)>,
) -> Taken {
    let (fits, more) = if offloads.kind == Kind::Whole {
        let fits = received.length <= longest && packet.fill(received.bytes);
        if fits && let Some((start, offset)) = offloads.checksum {
            checksum::complete_at(packet.bytes_mut(), start.into(), offset.into());
        }
        (fits, false)
    } else {
        // A joined frame that cannot be cut is none that a wire could carry.
        let split = Split::of(received.bytes, offloads);
        let next = split.as_ref().and_then(|split| Some((split, split.segment(received.bytes, received.turn)?)));
        let Some((split, next)) = next else { return Taken::default() };
        let length = next.header.len() + next.payload.len();
        let fits = length <= longest as usize && packet.fill(next.header) && packet.append(next.payload);
        if fits {
            split.finish(packet.bytes_mut(), received.turn, next.more);
        }
        (fits, next.more)
    };
    Taken { fits: fits && tag.is_none_or(|tag| insert_tag(packet, tag)), more, cut: false }
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

#[cfg(test)]
mod tests {
    use hopwright_dataplane::{FrameSize, Pool};

    use super::*;

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
                    offloads: Some(Offloads { kind: Kind::Udp, ecn: false, header: 42, size: 10, checksum: None }),
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
