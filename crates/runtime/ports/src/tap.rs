//! TAP devices: network devices whose other end is this process. The process receives what the host sends through the
//! device, and the host receives what the process sends.
//!
//! Each frame takes one system call, so TAP devices are for slow paths and tests. The host may leave segmentation and
//! checksums to the device: one call then reads all segments of a joined frame, which are handed out one by one. Segments
//! that leave together are joined likewise. Addresses and routes of the device are up to the administrator.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};

use crate::filter::FrameMatch;
use crate::linux::device::{DeviceError, failed};
use crate::linux::gather::Gather;
use crate::linux::sys;
use crate::offload::checksum;
use crate::offload::join::{self, Head, MOST, Segments};
use crate::offload::split::Split;
use crate::offload::virtio::{self, Kind, Offloads};

/// An attached TAP device. A device that [`Tap::open`] created vanishes with this value.
#[derive(Debug)]
pub struct Tap {
    name: String,
    device: OwnedFd,
    /// A frame of the host, behind its `virtio_net_hdr`.
    buffer: Vec<u8>,
    /// The joined frame in the buffer that has not been handed out entirely.
    joined: Option<Joined>,
    /// One of its segments.
    segment: Vec<u8>,
    pieces: Box<Gather<{ 1 + MOST }>>,
    frames: FrameMatch,
    stats: DeviceStats,
    /// Another process has it, too.
    left: bool,
}

#[derive(Debug)]
struct Joined {
    split: Split,
    /// Bytes in the buffer, with the `virtio_net_hdr`.
    end: usize,
    /// The segment to hand out next.
    number: usize,
}

/// The carrier of a TAP device.
#[derive(Debug)]
pub struct Carrier(OwnedFd);

impl Carrier {
    /// Tells the host that the device has a carrier, or none. A device that is attached to has one at first.
    pub fn set(&self, carrier: bool) -> io::Result<()> {
        sys::set_carrier(&self.0, carrier)
    }
}

/// The longest frame in bytes: an IP packet of maximum length, an Ethernet header and two tags.
const LONGEST: usize = 65_536 + 22;

impl Tap {
    /// Attaches to a TAP device of this thread's network namespace, and makes it if there is none of that name. Only one
    /// process can be attached. Needs CAP_NET_ADMIN; later use does not.
    pub fn open(name: &str) -> Result<Tap, DeviceError> {
        let device = sys::tap(name).map_err(failed(name, "attach to a TAP device"))?;
        Tap::of(name, device)
    }

    /// Takes the device of a predecessor, which has been attached to it. What the host sends waits until one of the two reads it.
    pub fn inherited(name: &str, device: OwnedFd) -> Result<Tap, DeviceError> {
        Tap::of(name, device)
    }

    fn of(name: &str, device: OwnedFd) -> Result<Tap, DeviceError> {
        sys::set_tap_offloads(&device, true).map_err(failed(name, "offer a TAP device's offloads"))?;
        Ok(Tap {
            name: name.into(),
            device,
            buffer: vec![0; virtio::BYTES + LONGEST],
            joined: None,
            segment: Vec::with_capacity(LONGEST),
            pieces: Box::new(Gather::new()),
            frames: FrameMatch::Everything,
            stats: DeviceStats::default(),
            left: false,
        })
    }

    /// Returns a duplicate of the descriptor, for a process that takes over.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.device.try_clone()
    }

    /// Leaves the device as it is to the process that has taken over.
    pub fn leave(&mut self) {
        self.left = true;
    }

    /// Whether segments of a frame that has been read wait to be handed out.
    pub fn is_within_frame(&self) -> bool {
        self.joined.is_some()
    }

    /// Makes the device drop all frames from the host that do not match.
    pub fn set_match(&mut self, frames: FrameMatch) {
        self.frames = frames;
    }

    /// Returns the next frame that the host has sent through the device, if there is one. Does not wait. Checksums are
    /// complete, and no frame is longer than the MTU allows.
    pub fn next_frame(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            if self.next_segment() {
                if self.frames.matches(&self.segment) {
                    return Ok(Some(&self.segment));
                }
                continue;
            }
            let end = match sys::read(&self.device, &mut self.buffer) {
                Ok(end) => end,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                // The device is down, so there is nothing to receive.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(None),
                Err(error) => return Err(error),
            };
            let Some((header, frame)) = self.buffer[..end].split_first_chunk_mut() else { continue };
            if let Some(offloads) = Offloads::read(*header) {
                if offloads.kind != Kind::Whole {
                    self.joined = Split::of(frame, &offloads).map(|split| Joined { split, end, number: 0 });
                    self.stats.rx_too_long += u64::from(self.joined.is_none());
                    continue;
                }
                if let Some((start, offset)) = offloads.checksum {
                    checksum::complete_at(frame, start.into(), offset.into());
                }
            }
            if self.frames.matches(frame) {
                return Ok(Some(&self.buffer[virtio::BYTES..end]));
            }
        }
    }

    /// Puts the next segment of a joined frame into `segment`. Returns false if there is none.
    fn next_segment(&mut self) -> bool {
        let Some(Joined { split, end, number }) = &mut self.joined else { return false };
        let Some(next) = split.segment(&self.buffer[virtio::BYTES..*end], *number) else {
            self.joined = None;
            return false;
        };
        self.segment.clear();
        self.segment.extend_from_slice(next.header);
        self.segment.extend_from_slice(next.payload);
        split.finish(&mut self.segment, *number, next.more);
        *number += 1;
        if !next.more {
            self.joined = None;
        }
        true
    }

    /// Delivers a frame to the host. Fails if the device is down.
    pub fn deliver(&self, frame: &[u8]) -> io::Result<()> {
        Gather::<2>::new().write(&self.device, [&[0; virtio::BYTES], frame].into_iter())
    }

    /// Lets the device stay when this value is gone: then it has no carrier, and keeps its addresses.
    pub fn persist(&self) -> io::Result<()> {
        sys::persist(&self.device)
    }

    /// What sets the device's carrier, from any thread. The device stays attached as long as it lives.
    pub fn carrier(&self) -> io::Result<Carrier> {
        Ok(Carrier(self.device.try_clone()?))
    }

    /// The device's Ethernet address.
    pub fn mac(&self) -> Option<[u8; 6]> {
        sys::mac(&self.device, &self.name).ok().flatten()
    }

    /// The descriptor to poll for input.
    pub fn fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }
}

impl Drop for Tap {
    /// A device that stays may be attached to by a process that does not know joined frames.
    fn drop(&mut self) {
        if !self.left {
            let _ = sys::set_tap_offloads(&self.device, false);
        }
    }
}

impl Port for Tap {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut count = 0;
        while count < limit {
            let Some(mut packet) = pool.take() else { break };
            match self.next_frame() {
                Ok(Some(frame)) => {
                    if packet.fill(frame) {
                        batch.push(packet);
                        count += 1;
                        continue;
                    }
                    self.stats.rx_too_long += 1;
                    pool.give(packet);
                }
                _ => {
                    pool.give(packet);
                    break;
                }
            }
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let (mut sent, mut rest) = (0, &packets[..]);
        while !rest.is_empty() {
            let mut count = join::joinable(rest, LONGEST, Segments::ALL, false);
            let joined = (count > 1).then(|| Head::of(&rest[..count])).flatten();
            let written = joined.map(|head| self.pieces.write(&self.device, head.and_payloads(&rest[..count])));
            // Linux before 6.2 does not support joined frames of datagrams.
            let result = written.filter(Result::is_ok).unwrap_or_else(|| {
                count = 1;
                self.deliver(rest[0].bytes())
            });
            match result {
                Ok(()) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stats.tx_busy += 1,
                Err(_) => self.stats.tx_error += 1,
            }
            rest = &rest[count..];
        }
        packets.drain(..).for_each(|packet| pool.give(packet));
        sent
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.device.as_fd())
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}
