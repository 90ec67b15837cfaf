//! The sockets as a port of a switch.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};

use super::frame;
use super::messages::{Inbox, RECEIVED_AT_ONCE};
use super::sender::Outgoing;
use super::set::{Shared, Socket, Worker, add};
use crate::sys::Events;

/// How long the kernel is not asked again when nothing was there: asking costs a system call, and other ports have more
/// to say.
const REST: Duration = Duration::from_micros(20);
/// Sockets served between two questions which have something.
const SOCKETS_AT_ONCE: usize = 32;

/// A worker's part of the sockets; see [`crate::UdpSockets::ports`].
pub struct UdpPort {
    worker: Arc<Worker>,
    outgoing: Outgoing,
    inbox: Inbox,
    events: Events<SOCKETS_AT_ONCE>,
    /// Packets to receive into.
    empty: Vec<Packet>,
    rx_too_long: u64,
    /// Nothing was there when the kernel was asked.
    idle_since: Option<Instant>,
}

impl UdpPort {
    pub(super) fn new(shared: Arc<Shared>, worker: Arc<Worker>) -> UdpPort {
        UdpPort {
            worker,
            outgoing: Outgoing::new(shared),
            inbox: Inbox::new(),
            events: Events::new(),
            empty: Vec::with_capacity(RECEIVED_AT_ONCE),
            rx_too_long: 0,
            idle_since: None,
        }
    }

    /// Receives from one socket.
    fn receive_from(&mut self, socket: &Socket, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        while self.empty.len() < limit.min(RECEIVED_AT_ONCE) {
            let Some(packet) = pool.take() else { break };
            self.empty.push(packet);
        }
        let headers = frame::headers(socket.address.ip());
        // Errors are of datagrams that were sent before, and tell nothing that anybody could use.
        let count = self.inbox.receive(socket.fd(), &mut self.empty, headers).unwrap_or(0);
        let mut good = 0;
        for (i, mut packet) in self.empty.drain(..).enumerate() {
            if i < count {
                let received = self.inbox.received(i);
                let start = packet.raw().start;
                let end = start as usize + headers + received.length;
                if let Some(from) = received.from
                    && !received.cut
                    && packet.set_bounds(start, end as u32)
                {
                    frame::finish(packet.bytes_mut(), from, socket.address);
                    batch.push(packet);
                    good += 1;
                    continue;
                }
                self.rx_too_long += 1;
            }
            pool.give(packet);
        }
        good
    }
}

impl Port for UdpPort {
    fn name(&self) -> &str {
        "udp"
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        if self.idle_since.is_some_and(|since| since.elapsed() < REST) {
            return 0;
        }
        let mut count = 0;
        let ready = self.events.take(&self.worker.ready);
        let sockets = self.outgoing.sockets().clone();
        for i in 0..ready {
            if count == limit {
                break;
            }
            // One that is not there was closed in between.
            if let Some(socket) = sockets.by_number.get(&self.events.data(i)) {
                count += self.receive_from(socket, pool, batch, limit - count);
            }
        }
        self.idle_since = (ready == 0).then(Instant::now);
        add(&self.outgoing.cells.received, count as u64);
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let frames = packets.iter().map(Packet::bytes);
        let sent = self.outgoing.send(frames, Some(&self.worker.destinations));
        add(&self.outgoing.cells.sent, sent as u64);
        packets.drain(..).for_each(|packet| pool.give(packet));
        sent
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.worker.ready.as_raw_fd())
    }

    fn stats(&self) -> DeviceStats {
        let counts = self.outgoing.cells.counts();
        DeviceStats {
            rx_too_long: self.rx_too_long,
            tx_busy: counts.busy,
            tx_error: counts.lost() - counts.busy,
            ..DeviceStats::default()
        }
    }
}

impl std::fmt::Debug for UdpPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UdpPort").field("counts", &self.outgoing.cells.counts()).finish_non_exhaustive()
    }
}
