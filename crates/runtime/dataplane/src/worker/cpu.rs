//! Bounded packet queues between a worker and the control plane.
//!
//! Their buffers are preallocated, so that the worker neither allocates nor waits. A full queue drops packets and counts
//! them.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_queue::ArrayQueue;

use crate::account::allocated;
use crate::worker::wait::{PollSet, Wakeup};

struct Buffer {
    bytes: Box<[u8]>,
    len: usize,
    port: u32,
    time_us: u64,
    raw: bool,
}

/// What wakes the reader of some queues, and tells it that one of them may have packets.
pub(crate) struct Signal {
    wakeup: Wakeup,
    raised: AtomicBool,
}

impl Signal {
    pub(crate) fn new() -> io::Result<Arc<Signal>> {
        Ok(Arc::new(Signal { wakeup: Wakeup::new()?, raised: AtomicBool::new(false) }))
    }

    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wakeup.as_fd()
    }

    pub(crate) fn clear_wakeup(&self) {
        self.wakeup.clear();
    }

    fn notify(&self) {
        self.raise();
        self.wakeup.notify();
    }

    /// Has the reader look, which does not sleep.
    pub(crate) fn raise(&self) {
        self.raised.store(true, Ordering::Release);
    }

    /// Whether the reader has to look.
    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// The same; the reader looks now.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        self.is_raised() && self.raised.swap(false, Ordering::AcqRel)
    }
}

/// A queue of packets in one direction.
pub(crate) struct Queue {
    filled: ArrayQueue<Box<Buffer>>,
    free: ArrayQueue<Box<Buffer>>,
    signal: Arc<Signal>,
    lost: AtomicU64,
    longest: usize,
}

impl Queue {
    /// What a queue of this many packets of this many bytes takes.
    pub(crate) fn footprint(packets: usize, bytes: usize) -> u64 {
        // A place in each of both rings: a sequence number and an address.
        let rings = 4 * size_of::<usize>() as u64;
        (allocated(bytes) + allocated(size_of::<Buffer>()) + rings).saturating_mul(packets.max(1) as u64)
    }

    pub(crate) fn new(packets: usize, bytes: usize, signal: &Arc<Signal>) -> Arc<Queue> {
        let queue = Queue {
            filled: ArrayQueue::new(packets.max(1)),
            free: ArrayQueue::new(packets.max(1)),
            signal: signal.clone(),
            lost: AtomicU64::new(0),
            longest: bytes,
        };
        for _ in 0..packets.max(1) {
            let buffer = Box::new(Buffer { bytes: vec![0; bytes].into(), len: 0, port: 0, time_us: 0, raw: false });
            // As many as it holds.
            let _ = queue.free.push(buffer);
        }
        Arc::new(queue)
    }

    /// Copies a packet in. False, and counted, if there is no room.
    fn push(&self, bytes: &[u8], port: u32, time_us: u64, raw: bool) -> bool {
        let buffer = if bytes.len() <= self.longest { self.free.pop() } else { None };
        let Some(mut buffer) = buffer else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        buffer.bytes[..bytes.len()].copy_from_slice(bytes);
        *buffer = Buffer { len: bytes.len(), port, time_us, raw, bytes: std::mem::take(&mut buffer.bytes) };
        // There are only as many buffers as it holds.
        let _ = self.filled.push(buffer);
        true
    }

    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.signal.wake_fd()
    }

    pub(crate) fn clear_wakeup(&self) {
        self.signal.clear_wakeup();
    }

    pub(crate) fn notify(&self) {
        self.signal.notify();
    }

    /// Worker side of punting: copies the packet. The sleeper is woken by [`Queue::notify`].
    pub(crate) fn punt(&self, bytes: &[u8], ingress_port: u32, time_us: u64) -> bool {
        self.push(bytes, ingress_port, time_us, false)
    }

    /// Worker side of injection: the next packet, handed to `use_it` with its port and whether it goes to that port
    /// as it is (rather than through the program as if received there).
    pub(crate) fn take(&self, use_it: impl FnOnce(&[u8], u32, bool)) -> bool {
        let Some(buffer) = self.filled.pop() else { return false };
        use_it(&buffer.bytes[..buffer.len], buffer.port, buffer.raw);
        let _ = self.free.push(buffer);
        true
    }

    pub(crate) fn has_packets(&self) -> bool {
        !self.filled.is_empty()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// The control plane's end of the CPU port: packets the program sent there, oldest first.
#[derive(Clone)]
pub struct CpuQueue(pub(crate) Arc<Queue>);

impl CpuQueue {
    /// The next packet, if there is one.
    pub fn try_receive(&self) -> Option<PuntedPacket> {
        let buffer = self.0.filled.pop()?;
        Some(PuntedPacket { buffer: Some(buffer), home: self.0.clone() })
    }

    /// The next packet; waits for it so long at most. One waiter at a time.
    pub fn receive(&self, timeout: Duration) -> Option<PuntedPacket> {
        let deadline = Instant::now() + timeout;
        let mut poll = PollSet::new();
        poll.add(self.0.wake_fd().as_raw_fd());
        loop {
            // Cleared before looking: what is pushed later signals again.
            self.0.clear_wakeup();
            if let Some(packet) = self.try_receive() {
                return Some(packet);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            poll.wait(left.max(Duration::from_millis(1)));
        }
    }

    /// A descriptor that is readable when packets have come, for an event loop. Call [`CpuQueue::clear_wakeup`], then
    /// [`CpuQueue::try_receive`] until there is none.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.wake_fd()
    }

    /// Makes [`CpuQueue::fd`] unreadable until the next packet.
    pub fn clear_wakeup(&self) {
        self.0.clear_wakeup();
    }

    /// Packets lost because the queue was full.
    pub fn lost(&self) -> u64 {
        self.0.lost()
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.0.filled.len()
    }

    /// No packet waits.
    pub fn is_empty(&self) -> bool {
        self.0.filled.is_empty()
    }

    /// Packets that may wait.
    pub fn capacity(&self) -> usize {
        self.0.filled.capacity()
    }
}

impl fmt::Debug for CpuQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuQueue")
            .field("waiting", &self.0.filled.len())
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}

/// A packet the program sent to the CPU port: its bytes begin with the program's packet-in header, if it has one. Its
/// buffer goes back to the queue when it is dropped.
pub struct PuntedPacket {
    buffer: Option<Box<Buffer>>,
    home: Arc<Queue>,
}

impl PuntedPacket {
    /// Where it came in.
    pub fn ingress_port(&self) -> u32 {
        self.buffer.as_ref().map_or(0, |b| b.port)
    }

    /// When its batch was received, microseconds since 1970 UTC.
    pub fn time_us(&self) -> u64 {
        self.buffer.as_ref().map_or(0, |b| b.time_us)
    }
}

impl Deref for PuntedPacket {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |b| &b.bytes[..b.len])
    }
}

impl Drop for PuntedPacket {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // There are only as many buffers as it holds.
            let _ = self.home.free.push(buffer);
        }
    }
}

impl fmt::Debug for PuntedPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PuntedPacket")
            .field("ingress_port", &self.ingress_port())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Sends packets of the control plane.
#[derive(Clone)]
pub struct Injector(pub(crate) Arc<Queue>);

/// The worker is behind, or the packet longer than its frames: the packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the injection queue is full or the packet too long for it")]
pub struct NotInjected;

impl Injector {
    /// Runs a packet through the program as if received on `ingress_port`: with the CPU port's number, a packet-out
    /// (begin it with the program's packet-out header).
    pub fn packet_out(&self, ingress_port: u32, bytes: &[u8]) -> Result<(), NotInjected> {
        self.push(bytes, ingress_port, false)
    }

    /// Sends a whole frame out of a port, past the program.
    pub fn transmit(&self, egress_port: u32, bytes: &[u8]) -> Result<(), NotInjected> {
        self.push(bytes, egress_port, true)
    }

    fn push(&self, bytes: &[u8], port: u32, raw: bool) -> Result<(), NotInjected> {
        if !self.0.push(bytes, port, 0, raw) {
            return Err(NotInjected);
        }
        self.0.notify();
        Ok(())
    }
}

impl fmt::Debug for Injector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector").field("lost", &self.0.lost()).finish_non_exhaustive()
    }
}

/// Which of the two CPU queues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Urgency {
    Normal,
    Urgent,
}

/// The queues of one direction between workers and control plane.
pub(crate) struct Cpu {
    pub normal: Arc<Queue>,
    pub urgent: Arc<Queue>,
}

impl Cpu {
    pub(crate) fn has_packets(&self) -> bool {
        self.normal.has_packets() || self.urgent.has_packets()
    }

    pub(crate) fn queue(&self, urgency: Urgency) -> &Queue {
        match urgency {
            Urgency::Normal => &self.normal,
            Urgency::Urgent => &self.urgent,
        }
    }
}
