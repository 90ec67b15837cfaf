//! Packet buffers: one contiguous pool of equal frames per worker, packets that own a frame each, and batches.
//!
//! Nothing here allocates after construction.

mod memory;

use std::fmt;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use hopwright_abi as abi;

pub use memory::FrameMemory;
use memory::{file_in_memory, has_size};

/// Most packets in a batch.
pub const MAX_BATCH: usize = 256;

/// Bytes that a pool leaves before each packet by default, so that headers can grow.
pub const DEFAULT_HEADROOM: u32 = 192;

/// The most bytes that a pool leaves before each packet for a program that needs more than [`DEFAULT_HEADROOM`].
pub const MAX_HEADROOM: u32 = 2048;

/// Room before each packet that an AF_XDP socket receives (the kernel's `XDP_PACKET_HEADROOM`).
pub const SHARED_HEADROOM: u32 = 256;

/// Bytes of the largest frame ports deliver by default: a 9,000-byte packet and its link headers.
pub const JUMBO_BYTES: u32 = 9216;

/// Size of a pool's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSize {
    /// Bytes before a received packet.
    pub headroom: u32,
    /// Most bytes of a received packet, its Ethernet header included.
    pub data: u32,
}

impl FrameSize {
    /// Frames for any packet up to [`JUMBO_BYTES`].
    pub const JUMBO: FrameSize = FrameSize { headroom: DEFAULT_HEADROOM, data: JUMBO_BYTES };

    /// Frames for an MTU: that many bytes of network layer plus Ethernet header, two VLAN tags and some slack. Frames
    /// of an MTU up to 1,800 fit 2 KiB.
    pub fn for_mtu(mtu: u32) -> FrameSize {
        FrameSize { headroom: DEFAULT_HEADROOM, data: mtu.saturating_add(22 + 42).max(256) }
    }

    /// Frames for an MTU that devices can share with the kernel: each is a chunk of 2 KiB or 4 KiB, or several of
    /// 4 KiB. The headroom is what AF_XDP leaves ([`SHARED_HEADROOM`]) or, if that is more, what is wanted; at most
    /// [`MAX_HEADROOM`].
    pub fn shared(mtu: u32, headroom: u32) -> FrameSize {
        let headroom = (FrameSize { headroom: SHARED_HEADROOM, data: 0 }).with_headroom(headroom).headroom;
        let needed = FrameSize::for_mtu(mtu).data.saturating_add(headroom);
        let stride = if needed <= 2048 { 2048 } else { needed.next_multiple_of(4096).max(4096) };
        FrameSize { headroom, data: stride - headroom }
    }

    /// Such frames with at least this much headroom, but no more than [`MAX_HEADROOM`]. Unchanged if they have it.
    pub fn with_headroom(self, bytes: u32) -> FrameSize {
        match bytes.min(MAX_HEADROOM) {
            wanted if wanted > self.headroom => FrameSize { headroom: wanted.next_multiple_of(64), ..self },
            _ => self,
        }
    }

    /// Bytes of the chunks that the kernel would see in such frames: the whole frame, or equal parts of it. None if
    /// frames of this size cannot be shared.
    pub fn chunk(self) -> Option<u32> {
        let stride = self.stride();
        let chunk = if stride == 2048 { 2048 } else { 4096 };
        (stride.is_multiple_of(chunk as usize) && self.headroom >= SHARED_HEADROOM).then_some(chunk)
    }

    /// Bytes from one frame to the next, a multiple of a cache line.
    pub fn stride(self) -> usize {
        (self.headroom as usize + self.data as usize).next_multiple_of(64)
    }
}

impl Default for FrameSize {
    fn default() -> Self {
        FrameSize::JUMBO
    }
}

/// A packet that owns its buffer. Dropping one without [`Pool::give`] loses its frame until the pool is dropped.
#[repr(transparent)]
pub struct Packet(abi::Packet);

// SAFETY: a packet owns the bytes its descriptor points to; nothing else reaches them while it exists.
unsafe impl Send for Packet {}

impl Packet {
    /// Wraps a descriptor.
    ///
    /// # Safety
    /// `raw.buffer` must be valid for reads and writes of `raw.capacity` bytes and not accessed by others for as long
    /// as the packet lives, and `raw.start <= raw.end <= raw.capacity`.
    pub unsafe fn from_raw(raw: abi::Packet) -> Packet {
        Packet(raw)
    }

    /// A packet without a buffer, to stand where one was taken.
    pub(crate) fn nothing() -> Packet {
        Packet::in_buffer(NonNull::dangling().as_ptr(), 0, 0, 0)
    }

    #[inline(always)]
    fn in_buffer(buffer: *mut u8, capacity: u32, start: u32, end: u32) -> Packet {
        Packet(abi::Packet {
            buffer,
            capacity,
            start,
            end,
            ingress_port: 0,
            egress_port: 0,
            verdict: abi::Verdict::Drop as u32,
            parser_error: 0,
            priority: 0,
        })
    }

    /// Moves the packet out and leaves one without a buffer.
    #[inline]
    pub(crate) fn take(&mut self) -> Packet {
        std::mem::replace(self, Packet::nothing())
    }

    /// Moves the packet's bytes in the buffer so that they begin at `start`, or before it if they would not fit.
    pub(crate) fn start_at(&mut self, start: u32) {
        let (from, end) = (self.0.start as usize, self.0.end as usize);
        let length = self.len() as u32;
        let start = start.min(self.0.capacity - length);
        self.buffer_mut().copy_within(from..end, start as usize);
        self.set_bounds(start, start + length);
    }

    /// The descriptor.
    pub fn raw(&self) -> &abi::Packet {
        &self.0
    }

    /// The packet's bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: start..end lies within the buffer (invariant of the type, kept by `set_bounds` and checked after
        // each batch of generated code) and the packet owns the buffer.
        unsafe {
            std::slice::from_raw_parts(self.0.buffer.add(self.0.start as usize), (self.0.end - self.0.start) as usize)
        }
    }

    /// The packet's bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and `self` is borrowed mutably.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.0.buffer.add(self.0.start as usize),
                (self.0.end - self.0.start) as usize,
            )
        }
    }

    /// The whole buffer, headroom included.
    #[inline]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        // SAFETY: the packet owns `capacity` bytes at `buffer`.
        unsafe { std::slice::from_raw_parts_mut(self.0.buffer, self.0.capacity as usize) }
    }

    /// Makes `buffer[start..end]` the packet. False (and no change) if that is not within the buffer.
    #[inline]
    pub fn set_bounds(&mut self, start: u32, end: u32) -> bool {
        let fits = start <= end && end <= self.0.capacity;
        if fits {
            self.0.start = start;
            self.0.end = end;
        }
        fits
    }

    /// Replaces the packet's bytes, keeping its end: headers grow into the headroom. False (and no change) if there is not enough.
    pub(crate) fn replace(&mut self, bytes: &[u8]) -> bool {
        let end = self.0.end;
        let start = end.checked_sub(bytes.len() as u32);
        let fits = start.is_some_and(|start| self.set_bounds(start, end));
        if fits {
            self.bytes_mut().copy_from_slice(bytes);
        }
        fits
    }

    /// Replaces the packet's bytes, which begin at `start`, or before it if they would not fit. False (and no change) if they
    /// are longer than the buffer.
    pub(crate) fn place(&mut self, bytes: &[u8], start: u32) -> bool {
        let last = (self.0.capacity as usize).checked_sub(bytes.len());
        let start = last.map(|last| start.min(last as u32));
        let fits = start.is_some_and(|start| self.set_bounds(start, start + bytes.len() as u32));
        if fits {
            self.bytes_mut().copy_from_slice(bytes);
        }
        fits
    }

    /// Replaces the packet's bytes, keeping its start. False (and no change) if they do not fit.
    #[inline]
    pub fn fill(&mut self, bytes: &[u8]) -> bool {
        let start = self.0.start;
        let fits = bytes.len() <= (self.0.capacity - start) as usize;
        if fits {
            self.0.end = start + bytes.len() as u32;
            self.bytes_mut().copy_from_slice(bytes);
        }
        fits
    }

    /// Adds bytes at the packet's end. False (and no change) if they do not fit.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        let at = self.0.end as usize;
        let fits = bytes.len() <= self.0.capacity as usize - at;
        if fits {
            self.0.end += bytes.len() as u32;
            self.buffer_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        }
        fits
    }

    /// Bytes of the packet.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        (self.0.end - self.0.start) as usize
    }

    /// Where it came in.
    #[inline]
    pub fn ingress_port(&self) -> u32 {
        self.0.ingress_port
    }

    /// Says where it came in.
    #[inline]
    pub fn set_ingress_port(&mut self, port: u32) {
        self.0.ingress_port = port;
    }

    /// Where it goes, if the verdict is [`abi::Verdict::Forward`].
    #[inline]
    pub fn egress_port(&self) -> u32 {
        self.0.egress_port
    }

    /// The v1model `priority` it was given, from 0 to 7.
    #[inline]
    pub fn priority(&self) -> u8 {
        self.0.priority as u8 & 7
    }

    /// Gives it a v1model `priority`, from 0 to 7.
    #[inline]
    pub fn set_priority(&mut self, priority: u8) {
        self.0.priority = u32::from(priority);
    }

    /// What the program decided. Values generated code should never write read as a fault.
    #[inline]
    pub fn verdict(&self) -> abi::Verdict {
        match self.0.verdict {
            0 => abi::Verdict::Forward,
            1 => abi::Verdict::Drop,
            2 => abi::Verdict::NoHeadroom,
            _ => abi::Verdict::Fault,
        }
    }

    /// Sets what the program decided.
    pub fn decide(&mut self, verdict: abi::Verdict, egress_port: u32, parser_error: u32) {
        self.0.verdict = verdict as u32;
        self.0.egress_port = egress_port;
        self.0.parser_error = parser_error;
    }

    /// The `error` the parser ended with; 0 is `NoError`.
    #[inline]
    pub fn parser_error(&self) -> u32 {
        self.0.parser_error
    }

    /// Whether `start..end` lies within the buffer.
    #[inline]
    fn in_bounds(&self) -> bool {
        self.0.start <= self.0.end && self.0.end <= self.0.capacity
    }

    /// A batch as generated code takes it.
    pub fn as_raw_batch(packets: &mut [Packet]) -> *mut abi::Packet {
        packets.as_mut_ptr().cast()
    }

    /// Restores the type's invariant after foreign code wrote descriptors: a packet out of bounds becomes an empty
    /// fault. True if there was one.
    pub fn check_bounds(packets: &mut [Packet]) -> bool {
        let mut bad = false;
        for p in packets {
            if !p.in_bounds() {
                p.0.start = 0;
                p.0.end = 0;
                p.0.verdict = abi::Verdict::Fault as u32;
                bad = true;
            }
        }
        bad
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet")
            .field("len", &self.len())
            .field("ingress_port", &self.0.ingress_port)
            .field("egress_port", &self.0.egress_port)
            .field("verdict", &self.verdict())
            .field("parser_error", &self.0.parser_error)
            .finish_non_exhaustive()
    }
}

/// Why there is no pool.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PoolError {
    /// Zero frames or a size beyond what the machine can address.
    #[error("{frames} frames of {bytes} bytes make no pool")]
    Size {
        /// Requested frames.
        frames: u32,
        /// Bytes of each.
        bytes: usize,
    },
    /// The system has no memory for it.
    #[error("no memory for {0} bytes of packet buffers")]
    Memory(usize),
}

/// The size of the system's pages in bytes, which frames' memory is aligned to.
pub fn page_size() -> usize {
    // SAFETY: plain system call.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Frames of one size in one piece of memory. The frame given back last is taken first: it is still in the cache.
///
/// A frame is free, or a packet's, or lent: to a device that fills it or sends it.
pub struct Pool {
    memory: Arc<FrameMemory>,
    size: FrameSize,
    stride: usize,
    free: Vec<u32>,
    frames: u32,
    /// Free frames that copies must leave.
    kept: usize,
    /// Frames for packets that do not fit the others.
    large: Option<Box<Pool>>,
}

impl Pool {
    /// FrameMemory for `frames` frames, aligned to a page.
    pub fn new(frames: u32, size: FrameSize) -> Result<Pool, PoolError> {
        let bytes = Pool::bytes(frames, size)?;
        let memory = FrameMemory::allocate(bytes, frames).ok_or(PoolError::Memory(bytes))?;
        Ok(Pool::of(memory, frames, size, (0..frames).rev().collect()))
    }

    /// The same in a file that a successor can map ([`FrameMemory::file`]).
    ///
    /// # Errors
    /// As for [`Pool::new`].
    pub fn in_file(frames: u32, size: FrameSize) -> Result<Pool, PoolError> {
        let bytes = Pool::bytes(frames, size)?;
        let memory = file_in_memory(bytes + frames as usize).and_then(|file| FrameMemory::of_file(file, bytes, frames));
        let memory = memory.map_err(|_| PoolError::Memory(bytes))?;
        Ok(Pool::of(memory, frames, size, (0..frames).rev().collect()))
    }

    /// The pool of another process in this file: all frames are lent until they are [taken back](Pool::take_back).
    ///
    /// # Errors
    /// The file does not have this many frames of this size.
    pub fn inherited(file: OwnedFd, frames: u32, size: FrameSize) -> Result<Pool, PoolError> {
        let bytes = Pool::bytes(frames, size)?;
        if !has_size(&file, bytes + frames as usize) {
            return Err(PoolError::Size { frames, bytes: size.stride() });
        }
        let memory = FrameMemory::of_file(file, bytes, frames).map_err(|_| PoolError::Memory(bytes))?;
        Ok(Pool::of(memory, frames, size, Vec::with_capacity(frames as usize)))
    }

    /// The bytes of the frames together.
    fn bytes(frames: u32, size: FrameSize) -> Result<usize, PoolError> {
        let stride = size.stride();
        let bad = PoolError::Size { frames, bytes: stride };
        stride.checked_mul(frames as usize).filter(|bytes| *bytes > 0 && stride <= u32::MAX as usize).ok_or(bad)
    }

    fn of(memory: FrameMemory, frames: u32, size: FrameSize, free: Vec<u32>) -> Pool {
        Pool { memory: Arc::new(memory), size, stride: size.stride(), free, frames, kept: 0, large: None }
    }

    /// The frames that are free.
    pub fn free_frames(&self) -> &[u32] {
        &self.free
    }

    /// The same with `frames` more frames, for packets up to [`JUMBO_BYTES`] that do not fit the others, with at least this
    /// much headroom ([`FrameSize::with_headroom`]). Nothing if they all fit. Devices do not share these frames.
    pub fn with_large(mut self, frames: u32, headroom: u32) -> Result<Pool, PoolError> {
        if self.size.data < JUMBO_BYTES {
            self.large = Some(Box::new(Pool::new(frames, FrameSize::JUMBO.with_headroom(headroom))?));
        }
        Ok(self)
    }

    /// An empty packet for up to [`JUMBO_BYTES`], or none if every frame for such packets is out.
    pub fn take_large(&mut self) -> Option<Packet> {
        match &mut self.large {
            Some(large) => large.take(),
            None if self.size.data >= JUMBO_BYTES => self.take(),
            None => None,
        }
    }

    /// An empty packet with the pool's headroom, or none if every frame is out.
    #[inline]
    pub fn take(&mut self) -> Option<Packet> {
        let frame = self.free.pop()? as usize;
        // SAFETY: it was on the free list, so this is its only owner.
        Some(unsafe { self.packet(frame, self.size.headroom, self.size.headroom) })
    }

    /// Keeps this many free frames from being taken for copies of packets.
    #[inline]
    pub(crate) fn keep(&mut self, frames: usize) {
        self.kept = frames;
    }

    /// An empty packet for a copy, or none if no frame is left for copies.
    #[inline]
    pub(crate) fn take_for_copy(&mut self) -> Option<Packet> {
        if self.free.len() > self.kept { self.take() } else { None }
    }

    /// # Safety
    /// `frame` is a frame of the pool without another owner; `start <= end <= stride`.
    #[inline]
    unsafe fn packet(&self, frame: usize, start: u32, end: u32) -> Packet {
        // SAFETY: frame < frames, so its stride bytes lie within the memory.
        let buffer = unsafe { self.memory.start.as_ptr().add(frame * self.stride) };
        Packet::in_buffer(buffer, self.stride as u32, start, end)
    }

    /// Takes a free frame out for a device to fill. Returns where in the memory it begins.
    #[inline]
    pub fn lend(&mut self) -> Option<u64> {
        Some(u64::from(self.free.pop()?) * self.stride as u64)
    }

    /// The packet that a device wrote to a lent frame: `length` bytes at `offset` of the memory. None if that is not
    /// within one frame.
    ///
    /// # Safety
    /// The frame around `offset` was lent, and the device has handed it back: neither it nor another packet uses it.
    #[inline]
    pub unsafe fn received(&self, offset: u64, length: u32) -> Option<Packet> {
        let (frame, start) = ((offset / self.stride as u64) as usize, (offset % self.stride as u64) as u32);
        let end = start.checked_add(length).filter(|end| *end <= self.stride as u32)?;
        // SAFETY: the caller's promise; the bounds were just checked.
        (frame < self.frames as usize).then(|| unsafe { self.packet(frame, start, end) })
    }

    /// Turns a packet into a lent frame, for a device to send. Returns where in the memory its first byte is. A
    /// packet that is not this pool's comes back.
    #[inline]
    pub fn lend_packet(&mut self, packet: Packet) -> Result<u64, Packet> {
        match self.frame_of(&packet) {
            Some(_) => Ok(packet.0.buffer as u64 - self.memory.start.as_ptr() as u64 + u64::from(packet.0.start)),
            None => Err(packet),
        }
    }

    /// Takes back the lent frame around `offset`. The device that had it must no longer use it.
    #[inline]
    pub fn take_back(&mut self, offset: u64) {
        let frame = offset / self.stride as u64;
        if frame < u64::from(self.frames) && self.free.len() < self.frames as usize {
            self.free.push(frame as u32);
        }
    }

    /// A packet with these bytes, or none if every frame is out or the bytes do not fit.
    #[inline]
    pub fn take_filled(&mut self, bytes: &[u8]) -> Option<Packet> {
        let mut packet = self.take()?;
        if packet.fill(bytes) {
            return Some(packet);
        }
        self.give(packet);
        None
    }

    /// Takes a packet's frame back. A packet whose buffer is not this pool's is just forgotten.
    #[inline]
    pub fn give(&mut self, packet: Packet) {
        if let Some(frame) = self.frame_of(&packet) {
            self.free.push(frame);
        } else if let Some(large) = &mut self.large {
            large.give(packet);
        }
    }

    fn frame_of(&self, packet: &Packet) -> Option<u32> {
        let offset = (packet.0.buffer as usize).wrapping_sub(self.memory.start.as_ptr() as usize);
        (offset < self.memory.bytes).then(|| (offset / self.stride) as u32)
    }

    /// Frames that can be taken.
    pub fn available(&self) -> usize {
        self.free.len()
    }

    /// The headroom of the frames that a packet's frame is one of.
    pub(crate) fn headroom_of(&self, packet: &Packet) -> u32 {
        match &self.large {
            Some(large) if self.frame_of(packet).is_none() => large.size.headroom,
            _ => self.size.headroom,
        }
    }

    /// All frames.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Size of the frames.
    pub fn frame_size(&self) -> FrameSize {
        self.size
    }

    /// The memory, for devices that share it. Frames start at multiples of [`FrameSize::stride`].
    pub fn memory(&self) -> &Arc<FrameMemory> {
        &self.memory
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Packets that are still out keep pointing to the memory: then it stays.
        if self.free.len() < self.frames as usize {
            std::mem::forget(self.memory.clone());
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("frames", &self.frames)
            .field("size", &self.size)
            .field("available", &self.available())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn large_packets_have_frames_of_their_own() {
        let mut pool = Pool::new(2, FrameSize::for_mtu(1500)).unwrap().with_large(2, 0).unwrap();
        let jumbo = vec![7; JUMBO_BYTES as usize];
        assert!(pool.take_filled(&jumbo).is_none());
        for _ in 0..3 {
            let mut large = [pool.take_large().unwrap(), pool.take_large().unwrap()];
            assert!(pool.take_large().is_none());
            assert!(large.iter_mut().all(|packet| packet.fill(&jumbo)));
            assert_eq!(pool.available(), 2, "the others are not used for it");
            for packet in large {
                let packet = pool.lend_packet(packet).unwrap_err();
                pool.give(packet);
            }
        }
        let mut jumbos = Pool::new(1, FrameSize::JUMBO).unwrap().with_large(1, 0).unwrap();
        let packet = jumbos.take_large().unwrap();
        assert!(jumbos.take().is_none(), "all its frames are large");
        jumbos.give(packet);
    }

    #[test]
    fn another_process_has_the_same_frames() {
        let size = FrameSize::shared(1500, 0);
        let mut pool = Pool::in_file(4, size).unwrap();
        let packet = pool.take_filled(b"a packet").unwrap();
        let at = pool.lend_packet(packet).unwrap();
        pool.memory().notes()[3].store(7, Relaxed);
        let file = || pool.memory().file().unwrap().try_clone().unwrap();
        let mut other = Pool::inherited(file(), 4, size).unwrap();
        assert!(other.take().is_none() && other.free_frames().is_empty());
        // SAFETY: only this test has the frame, which was lent.
        let packet = unsafe { other.received(at, 8) }.unwrap();
        assert_eq!((packet.bytes(), other.memory().notes()[3].load(Relaxed)), (&b"a packet"[..], 7));
        other.give(packet);
        pool.free_frames().iter().for_each(|frame| other.take_back(u64::from(*frame) * size.stride() as u64));
        assert_eq!(other.available(), 4);
        for (frames, size) in [(5, size), (4, FrameSize::shared(9000, 0)), (0, size)] {
            assert!(matches!(Pool::inherited(file(), frames, size), Err(PoolError::Size { .. })));
        }
        let (reader, _) = std::io::pipe().unwrap();
        assert!(Pool::inherited(reader.into(), 4, size).is_err(), "its size may change");
        assert!(Pool::new(4, size).unwrap().memory().file().is_none());
    }

    #[test]
    fn frames_have_the_headroom_that_a_program_wants() {
        let usual = FrameSize::for_mtu(1500);
        assert_eq!(usual.with_headroom(DEFAULT_HEADROOM), usual);
        assert_eq!(usual.with_headroom(193).headroom, 256);
        assert_eq!(usual.with_headroom(u32::MAX).headroom, MAX_HEADROOM);
        for headroom in [0, 256, 257, 484, 485, 2048, 5000] {
            for mtu in [68, 1500, 4000, 9100] {
                let shared = FrameSize::shared(mtu, headroom);
                assert!(shared.headroom >= headroom.clamp(SHARED_HEADROOM, MAX_HEADROOM));
                assert!(shared.data >= FrameSize::for_mtu(mtu).data, "{shared:?}");
                // The kernel wants room for packets behind the headroom of each chunk.
                assert!(shared.chunk().is_some_and(|chunk| shared.headroom < chunk), "{shared:?}");
            }
        }
        assert_eq!(FrameSize::shared(1500, 192), FrameSize { headroom: 256, data: 2048 - 256 });
    }
}
