//! Packet I/O as a worker sees it: the [`Port`] trait.

use std::os::fd::BorrowedFd;

use hopwright_interp::QueueDepths;

use crate::packet::{Packet, Pool};

/// Port numbers are v1model's: 9 bits, of which the highest drops.
pub(crate) const MAX_PORT: u32 = hopwright_ir::DROP_PORT - 1;
/// Most ports of a worker.
pub(crate) const MAX_PORT_QUEUES: usize = MAX_PORT as usize + 1;

/// What a frame takes of [`Port::room`] besides its bytes.
pub const FRAME_OVERHEAD: usize = 1024;

/// A device that receives and sends bursts of packets. Owned by one worker; no method blocks.
pub trait Port: Send {
    /// A display name: `eth0`, `out.pcap`.
    fn name(&self) -> &str;

    /// Takes frames from the pool, fills them with up to `limit` received packets and appends these to `batch`.
    /// Returns how many. Must not make `batch` grow beyond its capacity (`batch.len() + limit <= batch.capacity()`
    /// holds at the call). If the pool is empty it receives nothing. Ingress ports are set by the caller.
    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize;

    /// Sends packets in order and empties `packets`. Every frame goes back to the pool, at once or when the device
    /// is done with it. Packets the device cannot take now are lost. Returns how many it took.
    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize;

    /// Hands everything transmitted so far to the device.
    fn flush(&mut self) {}

    /// True if the device has not taken everything that was transmitted: to be flushed again soon.
    fn pending(&mut self) -> bool {
        false
    }

    /// Packets given to the device and not sent yet, as far as it reports them: what programs see as the depth of
    /// the port's queue.
    fn backlog(&mut self) -> u32 {
        0
    }

    /// The same for the queue of each v1model `priority`. A device with one queue has the same for all.
    fn depths(&mut self) -> [u32; QueueDepths::PRIORITIES] {
        [self.backlog(); QueueDepths::PRIORITIES]
    }

    /// How long packets wait in the queue of each priority, in microseconds: what programs see as the time that a packet spends there.
    fn waits(&mut self) -> [u32; QueueDepths::PRIORITIES] {
        [0; QueueDepths::PRIORITIES]
    }

    /// Whether it has queues of its own, so that programs see packets there one by one.
    fn has_queues(&self) -> bool {
        false
    }

    /// Bytes of frames that the device surely takes now, each counted with [`FRAME_OVERHEAD`]. `None` if the device does not tell: what it
    /// cannot take is lost.
    fn room(&self) -> Option<usize> {
        None
    }

    /// Gives the frames of packets that wait to be sent back to the pool: the port will not be used any more.
    fn discard(&mut self, _pool: &mut Pool) {}

    /// Whether to take packets from the device: not after the worker was stopped. A port that does not take any gives only those that it
    /// has taken already: what the device has then waits for another process that has the device's sockets, too.
    fn set_intake(&mut self, _open: bool) {}

    /// Whether packets that wait here for a rate leave as fast as the device takes them.
    fn set_hurry(&mut self, _hurry: bool) {}

    /// Something to `poll(2)` for input, if the port has it: it is ready as long as there is something to receive. A worker sleeps only
    /// if all its ports have one; else it polls its ports again and again, and takes a whole CPU while nothing comes. The descriptor
    /// stays the same as long as the worker has the port.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// A second descriptor to poll, if the port receives something apart from the rest.
    fn urgent_poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// True if it can never receive again (a file at its end) and nothing is waiting.
    fn finished(&self) -> bool {
        false
    }

    /// What the device itself lost or counted.
    fn stats(&self) -> DeviceStats {
        DeviceStats::default()
    }

    /// Whether the device has a link, `None` if it has no such notion.
    fn is_up(&self) -> Option<bool> {
        self.info().up
    }

    /// Address, MTU and state of the device, where it has such.
    fn info(&self) -> PortInfo {
        PortInfo::default()
    }
}

/// What a device counts besides what the worker sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Received packets lost because the receive ring was full.
    pub rx_overrun: u64,
    /// Received packets that do not fit a frame or the MTU, or are joined ones (GSO) that the port cannot split.
    pub rx_too_long: u64,
    /// Packets that were not sent because the device was busy.
    pub tx_busy: u64,
    /// Packets that were not sent because of an error, e.g. longer than the MTU or device down.
    pub tx_error: u64,
    /// Packets that were not sent because their egress queue was full, or the worker had too few frames for packets to wait.
    pub queue_full: u64,
    /// The largest number of packets that an egress queue has had.
    pub queue_longest: u64,
    /// Packets in the egress queues now.
    pub queue_waiting: u64,
}

/// What is known of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortInfo {
    /// Ethernet address.
    pub mac: Option<[u8; 6]>,
    /// Bytes of network layer it carries.
    pub mtu: Option<u32>,
    /// Whether it has a link, `None` if it has no such notion.
    pub up: Option<bool>,
}
