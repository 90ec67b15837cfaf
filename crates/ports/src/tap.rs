//! TAP devices: network devices whose other end is this process. The process receives what the host sends through the
//! device, and the host receives what the process sends.
//!
//! Each frame takes one system call, so TAP devices are for slow paths and tests. Addresses and routes of the device
//! are up to the administrator.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};

use crate::filter::FrameMatch;
use crate::linux::device::DeviceError;
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

/// The longest frame in bytes: an IP packet of maximum length, an Ethernet header and two tags.
const LONGEST: usize = 65_536 + 22;

impl Tap {
    /// Attaches to a TAP device; creates it if there is none with this name. Only one process can be attached.
    ///
    /// `namespace` is the path of a network namespace (`/run/netns/NAME`); `None` means the caller's. Needs
    /// CAP_NET_ADMIN in the namespace, and CAP_SYS_ADMIN to enter another one. Later calls need neither.
    pub fn open(name: &str, namespace: Option<&Path>) -> Result<Tap, DeviceError> {
        let failed = |what| move |error| DeviceError { device: name.into(), what, error };
        let device = match namespace {
            None => sys::tap(name).map_err(failed("attach to a TAP device"))?,
            Some(file) => {
                let file = File::open(file).map_err(failed("open the network namespace"))?;
                // Namespaces are a property of threads: a new thread enters it, and this one stays where it is.
                let inside = std::thread::scope(|scope| {
                    let there = scope.spawn(|| {
                        sys::enter_network_namespace(&file).map_err(failed("enter the network namespace"))?;
                        sys::tap(name).map_err(failed("attach to a TAP device"))
                    });
                    there.join()
                });
                inside.unwrap_or_else(|_| Err(failed("attach to a TAP device")(io::Error::other("a thread died"))))?
            }
        };
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

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.fd())
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}
