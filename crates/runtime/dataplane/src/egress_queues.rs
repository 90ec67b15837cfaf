//! Egress queues: a [`Port`] with a rate, and with a queue for each v1model `priority`.
//!
//! Packets wait here when they arrive faster than the rate. The worker that owns the port sends them when they are due: as often
//! as it polls. Nothing here allocates after construction.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hopwright_interp::QueueDepths;

use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::port::{DeviceStats, Port, PortInfo};

/// The number of queues of a port: v1model's priorities have three bits.
pub const QUEUES: usize = QueueDepths::PRIORITIES;

/// The largest number of packets that a queue may be made for.
pub const MOST_PACKETS: usize = 65_536;

/// How long a port that was not polled in time may send faster than its rate, to make up for it. Only packets that have waited
/// meanwhile make up for it: a link saves nothing while nothing waits.
const CATCH_UP: Duration = Duration::from_millis(10);

/// Bytes that a queue of weight 1 may send when it is its turn. No less than the longest packets' part of a turn: a turn of
/// fewer bytes than a packet sends nothing, and counts for the next.
const QUANTUM: u64 = 1_514;

/// Parts of a nanosecond in which the time that packets take is counted.
const TICKS: u64 = 16;

/// The rate of a port, and its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressQueues {
    /// Bits a second of whole frames, without preamble, check sequence and gap. Not zero.
    pub rate: u64,
    /// The largest number of packets in each queue, from 1 to [`MOST_PACKETS`]. What comes when it is full is lost.
    pub packets: usize,
    /// By priority: the queue's share of what is left by queues of weight 0. Those are served first, the highest priority
    /// before the others, as BMv2 serves all.
    pub weights: [u16; QUEUES],
}

impl EgressQueues {
    /// Queues of strict priority, of 256 packets each. `rate`: bits a second.
    pub fn with_rate(rate: u64) -> EgressQueues {
        EgressQueues { rate, packets: 256, weights: [0; QUEUES] }
    }

    /// Gives a device these queues. `ports` are its objects, one for each worker: together they keep the rate, and each has
    /// queues of its own.
    pub fn attach(&self, ports: Vec<Box<dyn Port>>) -> Vec<Box<dyn Port>> {
        let link = Arc::new(Link::new(self.rate));
        let attach = |inner| Box::new(QueuedPort::new(inner, self, link.clone())) as Box<dyn Port>;
        ports.into_iter().map(attach).collect()
    }
}

/// A link of a certain rate: when it has sent what it was given.
#[derive(Debug)]
struct Link {
    rate: u64,
    since: Instant,
    /// In ticks from `since` on.
    free_at: AtomicU64,
}

impl Link {
    fn new(rate: u64) -> Link {
        Link { rate: rate.max(1), since: Instant::now(), free_at: AtomicU64::new(0) }
    }

    fn ticks(&self, time: Instant) -> u64 {
        (time.saturating_duration_since(self.since).as_nanos() as u64).saturating_mul(TICKS)
    }

    fn is_free(&self, now: u64) -> bool {
        self.free_at.load(Ordering::Relaxed) <= now
    }

    /// Sends a packet that waits since `since`, at `now` or when it could have been sent.
    fn send(&self, now: u64, since: u64, bytes: usize) {
        let takes = (bytes as u64 * 8).saturating_mul(TICKS * 1_000_000_000) / self.rate;
        let earliest = now.saturating_sub(CATCH_UP.as_nanos() as u64 * TICKS).max(since);
        let next = |free_at: u64| Some(free_at.max(earliest).saturating_add(takes));
        // A closure that never gives up always succeeds.
        let _ = self.free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

/// The queues of one worker, and which of them is next: strict priorities first, deficit round robin among the others.
struct Queues {
    /// With the time, in ticks, since which each packet waits.
    queues: [VecDeque<(Packet, u64)>; QUEUES],
    weights: [u16; QUEUES],
    /// Packets in all queues.
    waiting: usize,
    /// Bytes that a queue may send before the next one's turn.
    credit: [u64; QUEUES],
    turn: usize,
}

impl Queues {
    fn new(settings: &EgressQueues) -> Queues {
        let packets = settings.packets.clamp(1, MOST_PACKETS);
        Queues {
            queues: std::array::from_fn(|_| VecDeque::with_capacity(packets)),
            weights: settings.weights,
            waiting: 0,
            credit: [0; QUEUES],
            turn: 0,
        }
    }

    fn push(&mut self, packet: Packet, now: u64) {
        self.queues[usize::from(packet.priority())].push_back((packet, now));
        self.waiting += 1;
    }

    /// The next packet, and since when it waits.
    fn pop(&mut self) -> Option<(Packet, u64)> {
        if self.waiting == 0 {
            return None;
        }
        let strict = (0..QUEUES).rev().find(|&queue| self.weights[queue] == 0 && !self.queues[queue].is_empty());
        let queue = strict.unwrap_or_else(|| self.next_weighted());
        let (packet, since) = self.queues[queue].pop_front()?;
        self.waiting -= 1;
        if strict.is_none() {
            self.credit[queue] = self.credit[queue].saturating_sub(packet.len() as u64);
        }
        Some((packet, since))
    }

    /// The queue whose turn it is. One of those with a weight is not empty.
    fn next_weighted(&mut self) -> usize {
        loop {
            let queue = self.turn;
            match self.queues[queue].front() {
                Some((packet, _)) if self.weights[queue] > 0 => {
                    if self.credit[queue] >= packet.len() as u64 {
                        return queue;
                    }
                }
                // A queue saves nothing while it is empty.
                _ => self.credit[queue] = 0,
            }
            self.turn = (queue + 1) % QUEUES;
            self.credit[self.turn] += QUANTUM * u64::from(self.weights[self.turn]);
        }
    }
}

struct QueuedPort {
    inner: Box<dyn Port>,
    link: Arc<Link>,
    most: usize,
    queues: Queues,
    /// On the way from the queues to the device.
    due: Vec<Packet>,
    full: u64,
    longest: u64,
    /// Packets that the device did not take.
    refused: u64,
}

impl QueuedPort {
    fn new(inner: Box<dyn Port>, settings: &EgressQueues, link: Arc<Link>) -> QueuedPort {
        QueuedPort {
            inner,
            link,
            most: settings.packets.clamp(1, MOST_PACKETS),
            queues: Queues::new(settings),
            due: Vec::with_capacity(MAX_BATCH),
            full: 0,
            longest: 0,
            refused: 0,
        }
    }

    /// Sends what is due.
    fn send_due(&mut self, pool: &mut Pool) {
        if self.queues.waiting == 0 {
            return;
        }
        let now = self.link.ticks(Instant::now());
        while self.link.is_free(now) && self.due.len() < MAX_BATCH {
            let Some((packet, since)) = self.queues.pop() else { break };
            self.link.send(now, since, packet.len());
            self.due.push(packet);
        }
        if !self.due.is_empty() {
            let count = self.due.len();
            let sent = self.inner.transmit(pool, &mut self.due);
            self.refused += (count - sent) as u64;
            self.inner.flush();
        }
    }
}

impl Port for QueuedPort {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        self.send_due(pool);
        self.inner.receive(pool, batch, limit)
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let before = self.full;
        let count = packets.len() as u64;
        let now = self.link.ticks(Instant::now());
        for packet in packets.drain(..) {
            let length = self.queues.queues[usize::from(packet.priority())].len();
            // What waits must not take the last frames: nothing could be received.
            if length >= self.most || pool.available() < pool.frames() as usize / 8 {
                self.full += 1;
                pool.give(packet);
                continue;
            }
            self.longest = self.longest.max(length as u64 + 1);
            self.queues.push(packet, now);
        }
        self.send_due(pool);
        (count - (self.full - before)) as usize
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn pending(&mut self) -> bool {
        self.queues.waiting > 0 || self.inner.pending()
    }

    fn backlog(&mut self) -> u32 {
        self.queues.waiting as u32 + self.inner.backlog()
    }

    fn depths(&mut self) -> [u32; QUEUES] {
        std::array::from_fn(|queue| self.queues.queues[queue].len() as u32)
    }

    fn has_queues(&self) -> bool {
        true
    }

    fn discard(&mut self, pool: &mut Pool) {
        while let Some((packet, _)) = self.queues.pop() {
            pool.give(packet);
        }
        self.inner.discard(pool);
    }

    fn set_intake(&mut self, open: bool) {
        self.inner.set_intake(open);
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.poll_fd()
    }

    fn urgent_poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.urgent_poll_fd()
    }

    fn finished(&self) -> bool {
        self.queues.waiting == 0 && self.inner.finished()
    }

    fn stats(&self) -> DeviceStats {
        let inner = self.inner.stats();
        DeviceStats {
            queue_full: self.full,
            queue_longest: self.longest,
            queue_waiting: self.queues.waiting as u64,
            tx_busy: inner.tx_busy + self.refused,
            ..inner
        }
    }

    fn is_up(&self) -> Option<bool> {
        self.inner.is_up()
    }

    fn info(&self) -> PortInfo {
        self.inner.info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FrameSize;

    fn queues(weights: [u16; QUEUES]) -> (Queues, Pool) {
        let settings = EgressQueues { weights, ..EgressQueues::with_rate(1) };
        (Queues::new(&settings), Pool::new(600, FrameSize { headroom: 0, data: 2048 }).unwrap())
    }

    fn fill(queues: &mut Queues, pool: &mut Pool, priority: u8, count: usize, bytes: usize) {
        for _ in 0..count {
            let mut packet = pool.take_filled(&vec![priority; bytes]).unwrap();
            packet.set_priority(priority);
            queues.push(packet, 0);
        }
    }

    fn take(queues: &mut Queues, pool: &mut Pool, count: usize) -> [usize; QUEUES] {
        let mut bytes = [0; QUEUES];
        for _ in 0..count {
            let (packet, _) = queues.pop().unwrap();
            bytes[usize::from(packet.priority())] += packet.len();
            pool.give(packet);
        }
        bytes
    }

    #[test]
    fn the_highest_priority_is_served_first() {
        let (mut queues, mut pool) = queues([0; QUEUES]);
        fill(&mut queues, &mut pool, 0, 2, 100);
        fill(&mut queues, &mut pool, 7, 2, 100);
        fill(&mut queues, &mut pool, 3, 2, 100);
        assert_eq!(take(&mut queues, &mut pool, 3), [0, 0, 0, 100, 0, 0, 0, 200]);
        assert_eq!(take(&mut queues, &mut pool, 3), [200, 0, 0, 100, 0, 0, 0, 0]);
        assert!(queues.pop().is_none());
    }

    #[test]
    fn weighted_queues_share_bytes_below_the_strict_ones() {
        let (mut queues, mut pool) = queues([1, 3, 0, 0, 0, 0, 0, 0]);
        fill(&mut queues, &mut pool, 0, 250, 150);
        fill(&mut queues, &mut pool, 1, 250, 1500);
        fill(&mut queues, &mut pool, 5, 3, 500);
        assert_eq!(take(&mut queues, &mut pool, 3), [0, 0, 0, 0, 0, 1500, 0, 0]);
        let [one, three, ..] = take(&mut queues, &mut pool, 240);
        let ratio = three as f64 / one as f64;
        assert!((2.6..3.4).contains(&ratio), "{three} bytes to {one}");
        // The rest is that of the queue that is left.
        while queues.waiting > 0 {
            take(&mut queues, &mut pool, 1);
        }
        fill(&mut queues, &mut pool, 0, 2, 150);
        assert_eq!(take(&mut queues, &mut pool, 2)[0], 300);
    }

    #[test]
    fn a_link_keeps_its_rate_and_catches_up_only_so_far() {
        let link = Link::new(8_000_000);
        let us = |us: u64| us * 1000 * TICKS;
        // 1,000 bytes take 1 ms.
        assert!(link.is_free(us(50_000)));
        link.send(us(50_000), us(50_000), 1000);
        assert!(!link.is_free(us(50_999)) && link.is_free(us(51_000)));
        // One that waited while nobody looked, and one that has come meanwhile.
        link.send(us(53_500), us(50_000), 1000);
        assert!(!link.is_free(us(51_999)) && link.is_free(us(52_000)));
        link.send(us(53_500), us(53_000), 1000);
        assert!(!link.is_free(us(53_999)) && link.is_free(us(54_000)));
        // Nobody looked for too long.
        link.send(us(90_000), us(53_500), 1000);
        assert!(!link.is_free(us(80_999)) && link.is_free(us(81_000)));
    }
}
