//! Egress queues: a [`Port`] with a queue for each v1model `priority`, and with rates.
//!
//! Packets wait here when they arrive faster than the port's rate, than the rate of their queue, or than the device takes them
//! ([`Port::room`]). The worker that owns the port sends them when they are due: as often as it polls. A port without rates on a device
//! that always takes what comes has no queues: packets pass through. Nothing here allocates after construction.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hopwright_interp::QueueDepths;

use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::port::{DeviceStats, FRAME_OVERHEAD, Port, PortInfo};

/// The number of queues of a port: v1model's priorities have three bits.
pub const QUEUES: usize = QueueDepths::PRIORITIES;

/// The largest number of packets that a queue may be made for.
pub const MOST_PACKETS: usize = 65_536;

/// The largest number of packets that a queue can be given while packets pass ([`QueueLimits::set`]).
pub const DEEPEST: u32 = 4_096;

/// The rates that a port may have, in bits a second.
pub const PORT_RATE: std::ops::RangeInclusive<u64> = 8_000..=1_000_000_000_000;

/// The priority of urgent packets of the control plane.
pub const URGENT_PRIORITY: u8 = QUEUES as u8 - 1;

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
    /// Bits a second of whole frames, without preamble, check sequence and gap. Not zero; `u64::MAX` is no limit.
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

    /// Queues of strict priority without a rate, of 64 packets each as in BMv2: packets wait only for the device, and for rates that the
    /// queues are given later.
    pub fn without_rate() -> EgressQueues {
        EgressQueues { packets: 64, ..EgressQueues::with_rate(u64::MAX) }
    }

    /// Gives a device these queues. `ports` are its objects, one for each worker: together they keep the rate, and each has
    /// queues of its own.
    pub fn attach(&self, ports: Vec<Box<dyn Port>>) -> Vec<Box<dyn Port>> {
        self.queued(ports, &Arc::new(self.limits()), self.packets.clamp(1, MOST_PACKETS))
    }

    /// As [`EgressQueues::attach`], with limits that may change while packets pass: those of [`EgressQueues::limits`] at first.
    pub fn attach_limited(&self, ports: Vec<Box<dyn Port>>, limits: &Arc<QueueLimits>) -> Vec<Box<dyn Port>> {
        self.queued(ports, limits, self.packets.clamp(DEEPEST as usize, MOST_PACKETS))
    }

    /// `capacity`: the most packets that a queue will ever have.
    fn queued(&self, ports: Vec<Box<dyn Port>>, limits: &Arc<QueueLimits>, capacity: usize) -> Vec<Box<dyn Port>> {
        let link = Arc::new(Link::new(self.rate));
        let attach = |inner| {
            let queues = Queues::new(self.weights, capacity);
            Box::new(QueuedPort::new(inner, queues, link.clone(), limits.clone())) as Box<dyn Port>
        };
        ports.into_iter().map(attach).collect()
    }

    /// The limits of the single queues: this many packets, and no rate.
    pub fn limits(&self) -> QueueLimits {
        let packets = self.packets.clamp(1, MOST_PACKETS) as u32;
        QueueLimits {
            rates: Default::default(),
            depths: std::array::from_fn(|_| AtomicU32::new(packets)),
            limited: AtomicBool::new(false),
        }
    }
}

/// The limits of a port's queues, which a control plane may change while packets pass. As in BMv2, a queue that has reached its rate lets
/// queues of lower priority pass.
#[derive(Debug)]
pub struct QueueLimits {
    /// By priority: packets a second, 0 for no limit.
    rates: [AtomicU64; QUEUES],
    /// By priority: packets.
    depths: [AtomicU32; QUEUES],
    /// Whether a queue has a rate.
    limited: AtomicBool,
}

/// A limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Packets a second; 0 is no limit.
    Rate(u64),
    /// The most packets that wait: at most [`DEEPEST`].
    Depth(u32),
}

impl QueueLimits {
    /// Limits the queue of a priority, or each. What waits already stays.
    pub fn set(&self, priority: Option<u8>, limit: QueueLimit) {
        match limit {
            QueueLimit::Rate(rate) => {
                chosen(&self.rates, priority).for_each(|own| own.store(rate, Ordering::Relaxed));
                let has_rate = self.rates.iter().any(|rate| rate.load(Ordering::Relaxed) > 0);
                self.limited.store(has_rate, Ordering::Relaxed);
            }
            QueueLimit::Depth(packets) => {
                let packets = packets.min(DEEPEST);
                chosen(&self.depths, priority).for_each(|own| own.store(packets, Ordering::Relaxed));
            }
        }
    }

    fn depth(&self, queue: usize) -> usize {
        self.depths[queue].load(Ordering::Relaxed) as usize
    }
}

/// The elements of one priority, or all.
fn chosen<T>(all: &[T; QUEUES], priority: Option<u8>) -> impl Iterator<Item = &T> {
    all.iter()
        .enumerate()
        .filter(move |(at, _)| priority.is_none_or(|priority| usize::from(priority) == *at))
        .map(|(_, one)| one)
}

/// A link of a certain rate: when it has sent what it was given.
#[derive(Debug)]
struct Link {
    rate: u64,
    since: Instant,
    /// In ticks from `since` on.
    free_at: AtomicU64,
    /// The same for the queues that have rates, by priority.
    queues_free_at: [AtomicU64; QUEUES],
}

impl Link {
    fn new(rate: u64) -> Link {
        let (free_at, queues_free_at) = Default::default();
        Link { rate: rate.max(1), since: Instant::now(), free_at, queues_free_at }
    }

    fn ticks(&self, time: Instant) -> u64 {
        (time.saturating_duration_since(self.since).as_nanos() as u64).saturating_mul(TICKS)
    }

    fn is_free(&self, now: u64) -> bool {
        self.free_at.load(Ordering::Relaxed) <= now
    }

    /// Whether the rate of a queue allows a packet.
    fn allows(&self, queue: usize, now: u64) -> bool {
        self.queues_free_at[queue].load(Ordering::Relaxed) <= now
    }

    /// Sends a packet of a queue that waits since `since`, at `now` or when it could have been sent. `rate` is that of the queue.
    fn send(&self, now: u64, (packet, since): (&Packet, u64), rate: u64) {
        let earliest = now.saturating_sub(CATCH_UP.as_nanos() as u64 * TICKS).max(since);
        let occupy = |free_at: &AtomicU64, takes: u64| {
            let next = |free_at: u64| Some(free_at.max(earliest).saturating_add(takes));
            // A closure that never gives up always succeeds.
            let _ = free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        };
        occupy(&self.free_at, (packet.len() as u64 * 8).saturating_mul(TICKS * 1_000_000_000) / self.rate);
        if let Some(takes) = (TICKS * 1_000_000_000).checked_div(rate) {
            occupy(&self.queues_free_at[usize::from(packet.priority())], takes);
        }
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
    /// `capacity`: the most packets that a queue will ever have.
    fn new(weights: [u16; QUEUES], capacity: usize) -> Queues {
        Queues {
            queues: std::array::from_fn(|_| VecDeque::with_capacity(capacity)),
            weights,
            waiting: 0,
            credit: [0; QUEUES],
            turn: 0,
        }
    }

    fn push(&mut self, packet: Packet, now: u64) {
        self.queues[usize::from(packet.priority())].push_back((packet, now));
        self.waiting += 1;
    }

    /// The next packet, and since when it waits. `allows`: whether the rate of a queue allows a packet.
    fn pop(&mut self, allows: impl Fn(usize) -> bool) -> Option<(Packet, u64)> {
        if self.waiting == 0 {
            return None;
        }
        let ready: [bool; QUEUES] = std::array::from_fn(|queue| !self.queues[queue].is_empty() && allows(queue));
        let strict = (0..QUEUES).rev().find(|&queue| self.weights[queue] == 0 && ready[queue]);
        let queue = match strict {
            Some(queue) => queue,
            None if ready.contains(&true) => self.next_weighted(ready),
            None => return None,
        };
        let (packet, since) = self.queues[queue].pop_front()?;
        self.waiting -= 1;
        if strict.is_none() {
            self.credit[queue] = self.credit[queue].saturating_sub(packet.len() as u64);
        }
        Some((packet, since))
    }

    /// The queue whose turn it is, of those that are ready and have a weight. There is one.
    fn next_weighted(&mut self, ready: [bool; QUEUES]) -> usize {
        loop {
            let queue = self.turn;
            match self.queues[queue].front() {
                Some((packet, _)) if self.weights[queue] > 0 && ready[queue] => {
                    if self.credit[queue] >= packet.len() as u64 {
                        return queue;
                    }
                }
                // A queue saves nothing while it is empty or may not send.
                _ => self.credit[queue] = 0,
            }
            self.turn = (queue + 1) % QUEUES;
            self.credit[self.turn] += QUANTUM * u64::from(self.weights[self.turn]);
        }
    }
}

/// Ticks in microseconds.
fn microseconds(ticks: u64) -> u32 {
    u32::try_from(ticks / TICKS / 1000).unwrap_or(u32::MAX)
}

struct QueuedPort {
    inner: Box<dyn Port>,
    link: Arc<Link>,
    limits: Arc<QueueLimits>,
    capacity: usize,
    queues: Queues,
    /// Rates do not count.
    hurry: bool,
    /// By priority, how long the packet that has left last has waited, in microseconds.
    waits: [u32; QUEUES],
    /// On the way from the queues to the device.
    due: Vec<Packet>,
    full: u64,
    longest: u64,
    /// Packets that the device did not take.
    refused: u64,
}

impl QueuedPort {
    fn new(inner: Box<dyn Port>, queues: Queues, link: Arc<Link>, limits: Arc<QueueLimits>) -> QueuedPort {
        QueuedPort {
            inner,
            link,
            limits,
            capacity: queues.queues[0].capacity(),
            queues,
            hurry: false,
            waits: [0; QUEUES],
            due: Vec::with_capacity(MAX_BATCH),
            full: 0,
            longest: 0,
            refused: 0,
        }
    }

    /// Whether packets pass through: nothing limits the port.
    fn passes(&self) -> bool {
        let limited = self.link.rate != u64::MAX || self.limits.limited.load(Ordering::Relaxed);
        self.queues.waiting == 0 && !limited && self.inner.room().is_none()
    }

    /// Sends what is due.
    fn send_due(&mut self, pool: &mut Pool) {
        if self.queues.waiting == 0 {
            return;
        }
        let now = self.link.ticks(Instant::now());
        let mut room = self.inner.room().unwrap_or(usize::MAX);
        while room > 0 && (self.hurry || self.link.is_free(now)) && self.due.len() < MAX_BATCH {
            let rate = |queue: usize| self.limits.rates[queue].load(Ordering::Relaxed);
            let allows = |queue| self.hurry || rate(queue) == 0 || self.link.allows(queue, now);
            let Some((packet, since)) = self.queues.pop(allows) else { break };
            let queue = usize::from(packet.priority());
            if !self.hurry {
                self.link.send(now, (&packet, since), rate(queue));
            }
            self.waits[queue] = microseconds(now - since);
            room = room.saturating_sub(packet.len() + FRAME_OVERHEAD);
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
        if self.passes() {
            return self.inner.transmit(pool, packets);
        }
        let before = self.full;
        let count = packets.len() as u64;
        let now = self.link.ticks(Instant::now());
        for packet in packets.drain(..) {
            let queue = usize::from(packet.priority());
            let (length, most) = (self.queues.queues[queue].len(), self.limits.depth(queue).min(self.capacity));
            // What waits must not take the last frames: nothing could be received.
            if length >= most || pool.available() < pool.frames() as usize / 8 {
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
        if self.passes() {
            return self.inner.depths();
        }
        std::array::from_fn(|queue| self.queues.queues[queue].len() as u32)
    }

    fn waits(&mut self) -> [u32; QUEUES] {
        if self.queues.waiting == 0 {
            return [0; QUEUES];
        }
        let now = self.link.ticks(Instant::now());
        std::array::from_fn(|queue| match self.queues.queues[queue].front() {
            Some((_, since)) => self.waits[queue].max(microseconds(now - since)),
            None => 0,
        })
    }

    fn has_queues(&self) -> bool {
        !self.passes()
    }

    fn discard(&mut self, pool: &mut Pool) {
        for (packet, _) in self.queues.queues.iter_mut().flat_map(|queue| queue.drain(..)) {
            pool.give(packet);
        }
        self.queues.waiting = 0;
        self.inner.discard(pool);
    }

    fn set_intake(&mut self, open: bool) {
        self.inner.set_intake(open);
    }

    fn set_hurry(&mut self, hurry: bool) {
        self.hurry = hurry;
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
        (Queues::new(weights, 256), Pool::new(600, FrameSize { headroom: 0, data: 2048 }).unwrap())
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
            let (packet, _) = queues.pop(|_| true).unwrap();
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
        assert!(queues.pop(|_| true).is_none());
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
    fn what_waits_for_a_rate_leaves_at_once_in_a_hurry() {
        let mut pool = Pool::new(64, FrameSize { headroom: 0, data: 2048 }).unwrap();
        let (port, wire) = crate::memory::MemoryPort::new("slow");
        // A packet takes 800 seconds.
        let mut port = EgressQueues::with_rate(10).attach(vec![Box::new(port)]).remove(0);
        let mut packets: Vec<Packet> = (0..4).map(|n| pool.take_filled(&[n; 1000]).unwrap()).collect();
        assert_eq!(port.transmit(&mut pool, &mut packets), 4);
        assert_eq!(wire.receive_all().len(), 1);
        let received = port.receive(&mut pool, &mut packets, 1);
        assert!(received == 0 && wire.receive_all().is_empty() && port.pending());
        port.set_hurry(true);
        port.receive(&mut pool, &mut packets, 1);
        let left: Vec<u8> = wire.receive_all().iter().map(|packet| packet[0]).collect();
        assert_eq!(left, [1, 2, 3]);
        assert!(!port.pending());
        assert_eq!(pool.available(), 64);
    }

    #[test]
    fn a_link_keeps_its_rate_and_catches_up_only_so_far() {
        let link = Link::new(8_000_000);
        let us = |us: u64| us * 1000 * TICKS;
        let mut pool = Pool::new(1, FrameSize { headroom: 0, data: 2048 }).unwrap();
        let packet = pool.take_filled(&[0; 1000]).unwrap();
        let send = |now, since| link.send(now, (&packet, since), 0);
        // 1,000 bytes take 1 ms.
        assert!(link.is_free(us(50_000)));
        send(us(50_000), us(50_000));
        assert!(!link.is_free(us(50_999)) && link.is_free(us(51_000)));
        // One that waited while nobody looked, and one that has come meanwhile.
        send(us(53_500), us(50_000));
        assert!(!link.is_free(us(51_999)) && link.is_free(us(52_000)));
        send(us(53_500), us(53_000));
        assert!(!link.is_free(us(53_999)) && link.is_free(us(54_000)));
        // Nobody looked for too long.
        send(us(90_000), us(53_500));
        assert!(!link.is_free(us(80_999)) && link.is_free(us(81_000)));
        pool.give(packet);
    }
}
