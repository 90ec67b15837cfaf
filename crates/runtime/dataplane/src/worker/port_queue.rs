//! A port in the hands of a worker.

use std::sync::Arc;

use crate::observe::stats::{Groups, PortCells};
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::port::Port;

/// A port in the hands of a worker.
pub(crate) struct PortQueue {
    pub number: u32,
    pub port: Box<dyn Port>,
    /// [`Port::has_queues`]
    pub has_queues: bool,
    /// To be sent at the end of the burst.
    pub out: Vec<Packet>,
    pub cells: Arc<PortCells>,
    /// Whose packets these are, if there are several tenants.
    runs: Vec<Run>,
    /// The number of packets in `runs`.
    owned: usize,
}

/// Packets of one tenant that follow each other in a port queue.
pub(crate) struct Run {
    /// The tenant's lane.
    pub lane: u16,
    pub packets: u64,
    pub bytes: u64,
}

impl PortQueue {
    pub(crate) fn new(number: u32, port: Box<dyn Port>) -> PortQueue {
        let cells = Arc::<PortCells>::default();
        cells.down.set(u64::from(port.is_up() == Some(false)));
        PortQueue {
            number,
            has_queues: port.has_queues(),
            port,
            out: Vec::with_capacity(MAX_BATCH),
            cells,
            runs: Vec::with_capacity(MAX_BATCH),
            owned: 0,
        }
    }

    /// Says that the packets added to `out` since the last call are of this lane.
    #[inline]
    pub(crate) fn end_run(&mut self, lane: u16) {
        let added = self.out.get(self.owned..).unwrap_or_default();
        if added.is_empty() {
            return;
        }
        let (packets, bytes) = (added.len() as u64, added.iter().map(|packet| packet.len() as u64).sum::<u64>());
        self.owned = self.out.len();
        match self.runs.last_mut() {
            Some(run) if run.lane == lane => (run.packets, run.bytes) = (run.packets + packets, run.bytes + bytes),
            _ => self.runs.push(Run { lane, packets, bytes }),
        }
    }

    /// Sends packets of several lanes. There is at least one packet. `count` gets each run and how many of its packets were
    /// sent. Returns the number of packets.
    pub(crate) fn send_runs(&mut self, pool: &mut Pool, groups: bool, mut count: impl FnMut(&Run, u64, u64)) -> u64 {
        let packets = self.out.len() as u64;
        let mut left = self.transmit(pool, groups) as u64;
        self.owned = 0;
        for run in self.runs.drain(..) {
            // Devices take packets in order; what they lose is the rest.
            let sent = run.packets.min(left);
            left -= sent;
            let bytes = if sent == run.packets { run.bytes } else { run.bytes * sent / run.packets };
            self.cells.count_sent(sent, bytes, run.packets - sent);
            count(&run, sent, bytes);
        }
        packets
    }

    /// Hands what waits to the device. Returns how many packets it took. `groups`: whether those to group addresses are counted.
    #[inline]
    pub(crate) fn transmit(&mut self, pool: &mut Pool, groups: bool) -> usize {
        let waiting = groups.then(|| (Groups::of(&self.out), self.out.len()));
        let sent = self.port.transmit(pool, &mut self.out);
        self.port.flush();
        if let Some((groups, packets)) = waiting {
            self.cells.count_groups_sent(groups, packets, sent);
        }
        sent
    }

    /// Looks at the device's own counters and its link. True if it has just lost the link.
    pub(crate) fn refresh(&mut self) -> bool {
        let (down, before) = (u64::from(self.port.is_up() == Some(false)), self.cells.down.get());
        self.cells.down.set(down);
        let stats = self.port.stats();
        self.has_queues = self.port.has_queues();
        self.cells.rx_overrun.set(stats.rx_overrun);
        self.cells.rx_too_long.set(stats.rx_too_long);
        self.cells.tx_busy.set(stats.tx_busy);
        self.cells.tx_error.set(stats.tx_error);
        self.cells.queue_full.set(stats.queue_full);
        self.cells.queue_longest.set(stats.queue_longest);
        self.cells.queue_waiting.set(stats.queue_waiting);
        down > before
    }
}
