//! Ports without a device: in-memory queues, and a source that repeats packets.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::packet::{Packet, Pool};
use crate::port::Port;
use crate::worker::wait::Wakeup;

/// The far end of a [`MemoryPort`].
#[derive(Clone, Debug, Default)]
pub struct Wire(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queues: Mutex<Queues>,
    /// Signalled as [`Queues::signalled`] says. `None` if the process had no descriptors left: the port's worker does not sleep then.
    arrived: Option<Wakeup>,
    /// Notified when the port has sent packets.
    sent: Condvar,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Queues {
    to_port: VecDeque<Vec<u8>>,
    from_port: VecDeque<Vec<u8>>,
    lost: u64,
    /// Whether the port has something to receive, or the wire was closed since it last looked.
    signalled: bool,
}

impl Default for Inner {
    fn default() -> Inner {
        let (queues, sent, closed) = Default::default();
        Inner { queues, arrived: Wakeup::new().ok(), sent, closed }
    }
}

impl Inner {
    /// Wakes the port's worker, if it sleeps.
    fn signal(&self, queues: &mut Queues) {
        if !std::mem::replace(&mut queues.signalled, true)
            && let Some(arrived) = &self.arrived
        {
            arrived.notify();
        }
    }

    /// Lets the port's worker sleep.
    fn clear(&self, queues: &mut Queues) {
        if std::mem::take(&mut queues.signalled)
            && let Some(arrived) = &self.arrived
        {
            arrived.clear();
        }
    }
}

impl Wire {
    /// Creates an empty wire.
    pub fn new() -> Wire {
        Wire::default()
    }

    /// Queues a packet for the port to receive.
    pub fn send(&self, packet: impl Into<Vec<u8>>) {
        let packet = packet.into();
        let mut queues = self.lock();
        queues.to_port.push_back(packet);
        self.0.signal(&mut queues);
    }

    /// Returns the next packet that the port has sent.
    pub fn receive(&self) -> Option<Vec<u8>> {
        self.lock().from_port.pop_front()
    }

    /// Returns the next packet that the port has sent; waits for it for so long at most.
    pub fn wait(&self, timeout: Duration) -> Option<Vec<u8>> {
        let none = |queues: &mut Queues| queues.from_port.is_empty();
        let waited = self.0.sent.wait_timeout_while(self.lock(), timeout, none);
        waited.unwrap_or_else(PoisonError::into_inner).0.from_port.pop_front()
    }

    /// Returns all packets that the port has sent.
    pub fn receive_all(&self) -> Vec<Vec<u8>> {
        self.lock().from_port.drain(..).collect()
    }

    /// The number of packets that were longer than the pool's frames.
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    /// Closes the input: the port is finished once it has received the queued packets.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.signal(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A port that is connected to a [`Wire`]. For tests: it allocates and locks.
#[derive(Debug)]
pub struct MemoryPort {
    name: String,
    wire: Wire,
    intake: bool,
}

impl MemoryPort {
    /// Creates a port and its wire.
    pub fn new(name: impl Into<String>) -> (MemoryPort, Wire) {
        let wire = Wire::new();
        (MemoryPort { name: name.into(), wire: wire.clone(), intake: true }, wire)
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut queues = self.wire.lock();
        let mut count = 0;
        while self.intake && count < limit && pool.available() > 0 {
            let Some(bytes) = queues.to_port.pop_front() else { break };
            match pool.take_filled(&bytes) {
                Some(packet) => {
                    batch.push(packet);
                    count += 1;
                }
                None => queues.lost += 1,
            }
        }
        if queues.to_port.is_empty() {
            self.wire.0.clear(&mut queues);
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let mut queues = self.wire.lock();
        let count = packets.len();
        for packet in packets.drain(..) {
            queues.from_port.push_back(packet.bytes().to_vec());
            pool.give(packet);
        }
        drop(queues);
        self.wire.0.sent.notify_all();
        count
    }

    fn set_intake(&mut self, open: bool) {
        self.intake = open;
    }

    fn backlog(&mut self) -> u32 {
        self.wire.lock().from_port.len() as u32
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.wire.0.arrived.as_ref().map(AsFd::as_fd)
    }

    fn finished(&self) -> bool {
        self.wire.0.closed.load(Ordering::Acquire) && self.wire.lock().to_port.is_empty()
    }
}

/// A port that receives the same packets over and over, up to a total number, and discards what it sends. For
/// benchmarks: it neither allocates nor locks.
#[derive(Debug)]
pub struct RepeatPort {
    packets: Vec<Vec<u8>>,
    next: usize,
    left: u64,
}

impl RepeatPort {
    /// Creates a port that receives `total` packets, taken from `packets` in turn.
    pub fn new(packets: Vec<Vec<u8>>, total: u64) -> RepeatPort {
        let left = if packets.is_empty() { 0 } else { total };
        RepeatPort { packets, next: 0, left }
    }
}

impl Port for RepeatPort {
    fn name(&self) -> &str {
        "repeat"
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut count = 0;
        while count < limit && self.left > 0 {
            let Some(packet) = pool.take_filled(&self.packets[self.next]) else { break };
            batch.push(packet);
            count += 1;
            self.left -= 1;
            self.next = if self.next + 1 == self.packets.len() { 0 } else { self.next + 1 };
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let count = packets.len();
        for packet in packets.drain(..) {
            pool.give(packet);
        }
        count
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use crate::packet::FrameSize;
    use crate::worker::wait::PollSet;

    use super::*;

    #[test]
    fn a_wire_carries_packets_in_order_and_loses_only_what_is_too_long() {
        let mut pool = Pool::new(4, FrameSize { headroom: 16, data: 48 }).unwrap();
        let (mut port, wire) = MemoryPort::new("m");
        let mut batch = Vec::with_capacity(8);
        wire.send([1; 10]);
        wire.send([0; 100]);
        wire.send([2; 20]);
        wire.close();
        assert!(!port.finished());
        assert_eq!(port.receive(&mut pool, &mut batch, 8), 2);
        assert!(port.finished());
        assert_eq!(wire.lost(), 1);
        assert_eq!(port.transmit(&mut pool, &mut batch), 2);
        assert_eq!(wire.receive_all(), [vec![1; 10], vec![2; 20]]);
        assert_eq!(pool.available(), 4);
    }

    #[test]
    fn a_port_is_ready_while_it_has_packets_and_once_it_is_closed() {
        let mut pool = Pool::new(4, FrameSize { headroom: 16, data: 48 }).unwrap();
        let (mut port, wire) = MemoryPort::new("m");
        let mut batch = Vec::with_capacity(8);
        let ready = |port: &MemoryPort| {
            let mut poll = PollSet::new();
            poll.add(port.poll_fd().unwrap().as_raw_fd());
            poll.wait(Duration::ZERO)
        };
        assert!(!ready(&port));
        wire.send([1]);
        wire.send([2]);
        assert!(ready(&port));
        assert_eq!(port.receive(&mut pool, &mut batch, 1), 1);
        assert!(ready(&port), "a packet is left");
        assert_eq!(port.receive(&mut pool, &mut batch, 1), 1);
        assert!(!ready(&port));
        wire.send([3]);
        assert!(ready(&port));
        assert_eq!(port.receive(&mut pool, &mut batch, 8), 1);
        assert!(!ready(&port));
        wire.close();
        assert!(ready(&port));
        assert_eq!(port.receive(&mut pool, &mut batch, 8), 0);
        assert!(!ready(&port) && port.finished());
    }

    #[test]
    fn a_repeater_gives_just_so_many() {
        let mut pool = Pool::new(8, FrameSize { headroom: 16, data: 48 }).unwrap();
        let mut port = RepeatPort::new(vec![vec![1], vec![2], vec![3]], 4);
        let mut batch = Vec::with_capacity(8);
        assert_eq!(port.receive(&mut pool, &mut batch, 3), 3);
        assert_eq!(port.receive(&mut pool, &mut batch, 3), 1);
        let bytes: Vec<_> = batch.iter().map(|p| p.bytes()[0]).collect();
        assert_eq!(bytes, [1, 2, 3, 1]);
        assert!(port.finished());
        assert!(RepeatPort::new(vec![], 9).finished());
    }
}
