//! A Linux network device as a port, by a packet socket: `TPACKET_V3` receive ring, `sendmmsg`.
//!
//! A device may go down and come up again; one that is removed and made anew needs a new port.
//!
//! It needs CAP_NET_RAW and nothing else: no module, no program to load, nothing left behind. Packets the process
//! itself or others send out of the device are not received. Without a filter it receives whatever the device
//! delivers, tags included; what is addressed to the host reaches the kernel's own stack too (see
//! [`crate::claim`]).
//!
//! Frames longer than the pool's, and those longer than the MTU, which a sender on the same machine left to the device
//! to split (GSO), are dropped and counted. A sender on the same machine that leaves UDP segmentation to a veth's peer is not detected when the
//! whole fits the MTU; switch `tx-udp-segmentation` off there.

mod ring;
mod send;

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port, PortInfo};

pub use ring::RingSize;
use ring::{Received, Ring};
use send::Burst;

use crate::checksum;
pub use crate::device::DeviceError;
use crate::device::{Facts, failed};
use crate::filter::Filter;
use crate::sys;

/// Bytes the kernel may queue for sending.
const SEND_BUFFER: libc::c_int = 8 << 20;

/// A packet socket on one device.
pub struct AfPacket {
    facts: Facts,
    // The ring is unmapped before its socket is closed.
    ring: Ring,
    receiver: OwnedFd,
    sender: OwnedFd,
    burst: Burst,
    stats: DeviceStats,
    overrun: AtomicU64,
}

impl AfPacket {
    /// Opens a device. With a filter it receives only what that passes.
    pub fn open(device: &str, filter: Option<&Filter>) -> Result<AfPacket, DeviceError> {
        AfPacket::with_ring(device, filter, RingSize::default())
    }

    /// The same with a receive ring of another size.
    pub fn with_ring(device: &str, filter: Option<&Filter>, size: RingSize) -> Result<AfPacket, DeviceError> {
        let failed = |what| failed(device, what);
        let index = sys::interface_index(device).map_err(failed("find the device"))?;
        let receiver = sys::packet_socket().map_err(failed("open a packet socket"))?;
        let option = |name, value: libc::c_int| sys::set_option(&receiver, libc::SOL_PACKET, name, &value);
        option(sys::PACKET_IGNORE_OUTGOING, 1).map_err(failed("ignore outgoing packets"))?;
        let ring = Ring::new(&receiver, size).map_err(failed("make a receive ring"))?;
        if let Some(filter) = filter {
            sys::attach_filter(&receiver, filter).map_err(failed("attach the filter"))?;
        }
        let sender = sys::packet_socket().map_err(failed("open a packet socket"))?;
        sys::set_option(&sender, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &(1 as libc::c_int))
            .map_err(failed("bypass the queueing discipline"))?;
        // Without CAP_NET_ADMIN the buffer stays within the system's limit.
        if sys::set_option(&sender, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER).is_err() {
            sys::set_option(&sender, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER)
                .map_err(failed("size the send buffer"))?;
        }
        sys::bind_packet(&sender, index, 0).map_err(failed("bind"))?;
        let control = sys::control_socket().map_err(failed("open a socket"))?;
        let facts = Facts::new(device, control).map_err(failed("read the MTU"))?;
        // Last: from here on it receives.
        sys::bind_packet(&receiver, index, libc::ETH_P_ALL).map_err(failed("bind"))?;
        Ok(AfPacket {
            facts,
            ring,
            receiver,
            sender,
            burst: Burst::new(),
            stats: DeviceStats::default(),
            overrun: AtomicU64::new(0),
        })
    }
}

/// Copies a received frame into a packet: the tag goes back in, the checksum is completed. False if it does not fit.
#[inline]
fn take(packet: &mut Packet, received: &Received<'_>) -> bool {
    let bytes = received.bytes;
    if (bytes.len() as u64) < u64::from(received.length) {
        return false;
    }
    let fits = match (received.tag, bytes.split_at_checked(12)) {
        (Some((tpid, tci)), Some((addresses, rest))) => {
            let start = packet.raw().start;
            let end = start as usize + bytes.len() + 4;
            let fits = u32::try_from(end).is_ok_and(|end| packet.set_bounds(start, end));
            if fits {
                let to = packet.bytes_mut();
                to[..12].copy_from_slice(addresses);
                to[12..14].copy_from_slice(&tpid.to_be_bytes());
                to[14..16].copy_from_slice(&tci.to_be_bytes());
                to[16..].copy_from_slice(rest);
            }
            fits
        }
        _ => packet.fill(bytes),
    };
    if fits && received.partial_checksum {
        checksum::complete(packet.bytes_mut());
    }
    fits
}

impl Port for AfPacket {
    fn name(&self) -> &str {
        self.facts.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let longest = self.facts.longest();
        let mut count = 0;
        while count < limit {
            let Some(mut packet) = pool.take() else { break };
            let mut fits = false;
            let some = self.ring.next(|received| fits = received.length <= longest && take(&mut packet, &received));
            if some && fits {
                batch.push(packet);
                count += 1;
                continue;
            }
            pool.give(packet);
            if !some {
                break;
            }
            self.stats.rx_too_long += 1;
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let result = self.burst.send(&self.sender, packets);
        self.stats.tx_busy += result.busy as u64;
        self.stats.tx_error += result.refused as u64;
        for packet in packets.drain(..) {
            pool.give(packet);
        }
        result.sent
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.receiver.as_raw_fd())
    }

    fn stats(&self) -> DeviceStats {
        if let Ok((_, drops)) = sys::packet_statistics(&self.receiver) {
            self.overrun.fetch_add(u64::from(drops), Ordering::Relaxed);
        }
        // A device that goes down leaves an error; the socket goes on when it comes up again.
        let _ = sys::take_error(&self.receiver);
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
