//! TAP devices: network devices whose other end is this process. The process receives what the host sends through the
//! device, and the host receives what the process sends.
//!
//! Each frame takes one system call, so TAP devices are for slow paths and tests. Addresses and routes of the device
//! are up to the administrator.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};

use crate::filter::FrameMatch;
use crate::linux::device::{DeviceError, failed};
use crate::linux::sys;

/// An attached TAP device. A device that [`Tap::open`] created vanishes with this value.
#[derive(Debug)]
pub struct Tap {
    name: String,
    device: OwnedFd,
    buffer: Vec<u8>,
    frames: FrameMatch,
    stats: DeviceStats,
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
        Ok(Tap {
            name: name.into(),
            device,
            buffer: vec![0; LONGEST],
            frames: FrameMatch::Everything,
            stats: DeviceStats::default(),
        })
    }

    /// Makes the device drop all frames from the host that do not match.
    pub fn set_match(&mut self, frames: FrameMatch) {
        self.frames = frames;
    }

    /// Returns the next frame that the host has sent through the device, if there is one. Does not wait.
    pub fn next_frame(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match sys::read(&self.device, &mut self.buffer) {
                Ok(length) if !self.buffer.get(..length).is_some_and(|frame| self.frames.matches(frame)) => {}
                Ok(length) => return Ok(self.buffer.get(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                // The device is down, so there is nothing to receive.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Delivers a frame to the host. Fails if the device is down.
    pub fn deliver(&self, frame: &[u8]) -> io::Result<()> {
        sys::write(&self.device, frame)
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
        let mut sent = 0;
        for packet in packets.drain(..) {
            match self.deliver(packet.bytes()) {
                Ok(()) => sent += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stats.tx_busy += 1,
                Err(_) => self.stats.tx_error += 1,
            }
            pool.give(packet);
        }
        sent
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.device.as_fd())
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}
