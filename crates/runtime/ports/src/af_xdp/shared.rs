//! A pool's memory shared with the kernel (a UMEM), for all AF_XDP sockets of one worker.
//!
//! The first socket registers the memory; sockets of other devices and queues share it with any socket that is still
//! open. A frame received on one device is thus sent by another without a copy.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use hopwright_dataplane::packet::FrameMemory;
use hopwright_dataplane::{FrameSize, Pool};

use super::socket;

/// How long to wait for a queue that a closed socket still occupies: until the kernel has freed it, and processes that are about to be
/// started have closed their copies of the descriptor.
const PATIENCE: Duration = Duration::from_secs(5);

/// The frames of one pool, as sockets use them. Clones share the same memory.
#[derive(Clone, Debug)]
pub struct SharedFrames(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    memory: Arc<FrameMemory>,
    chunk: u32,
    headroom: u32,
    size: FrameSize,
    frames: u32,
    stride: u64,
    sockets: Mutex<Vec<Weak<OwnedFd>>>,
    /// Frames that closed ports had borrowed from the pool.
    returned: Mutex<Vec<u64>>,
    any_returned: AtomicBool,
}

/// The memory of a worker's frames, as one process hands it over to another.
#[derive(Debug)]
pub struct SharedMemory {
    /// A file in memory.
    pub file: OwnedFd,
    /// The number of frames.
    pub frames: u32,
    /// Their size.
    pub size: FrameSize,
    /// The slots of each ring of the sockets on it.
    pub ring: u32,
}

/// The socket of a receive queue, as one process hands it over to another.
#[derive(Debug)]
pub struct SharedQueue {
    /// The queue.
    pub id: u32,
    /// Its socket, on the memory of the worker with number `id` modulo the number of workers.
    pub socket: OwnedFd,
}

/// The error that a pool's frames cannot be shared with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet buffers of this size cannot be shared with the kernel")]
pub struct Unshareable;

impl SharedFrames {
    /// Takes the memory of a pool that was made with [`FrameSize::shared`](hopwright_dataplane::FrameSize::shared).
    /// Ports on this memory must be used with that pool.
    pub fn new(pool: &Pool) -> Result<SharedFrames, Unshareable> {
        let chunk = pool.frame_size().chunk().ok_or(Unshareable)?;
        let inner = Inner {
            memory: pool.memory().clone(),
            chunk,
            headroom: pool.frame_size().headroom,
            size: pool.frame_size(),
            frames: pool.frames(),
            stride: pool.frame_size().stride() as u64,
            sockets: Mutex::default(),
            returned: Mutex::default(),
            any_returned: AtomicBool::new(false),
        };
        Ok(SharedFrames(Arc::new(inner)))
    }

    /// The size of a kernel chunk in bytes. A frame of the pool has one or more chunks.
    pub fn chunk(&self) -> u32 {
        self.0.chunk
    }

    /// The distance between two frames of the pool in bytes.
    pub fn stride(&self) -> u64 {
        self.0.stride
    }

    /// The number of chunks in a frame.
    pub fn pieces(&self) -> u64 {
        self.0.stride / u64::from(self.0.chunk)
    }

    /// Keeps borrowed frames that are no longer used until the next [`SharedFrames::collect`].
    pub(super) fn hand_back(&self, offsets: Vec<u64>) {
        self.0.returned.lock().unwrap_or_else(PoisonError::into_inner).extend(offsets);
        self.0.any_returned.store(true, Ordering::Release);
    }

    /// Returns the frames from [`SharedFrames::hand_back`] to the pool. Costs one load if there are none.
    #[inline]
    pub(super) fn collect(&self, pool: &mut Pool) {
        if self.0.any_returned.load(Ordering::Relaxed)
            && let Ok(mut returned) = self.0.returned.try_lock()
        {
            self.0.any_returned.store(false, Ordering::Relaxed);
            returned.drain(..).for_each(|offset| pool.take_back(offset));
        }
    }

    /// For each frame that is sent in pieces, the number of descriptors that have not completed. Empty if frames are never sent in pieces.
    #[inline]
    pub(super) fn pieces_left(&self) -> &[AtomicU8] {
        if self.pieces() > 1 { self.0.memory.notes() } else { &[] }
    }

    /// Begins with these frames in place of others that were to be returned: those that are free where a predecessor has stopped.
    pub(crate) fn begin_with(&self, frames: &[u32]) {
        // A frame that is named twice would get two owners.
        let mut named = vec![false; self.0.frames as usize];
        let is_new =
            |frame: &&u32| named.get_mut(**frame as usize).is_some_and(|named| !std::mem::replace(named, true));
        let offsets = frames.iter().filter(is_new).map(|frame| u64::from(*frame) * self.0.stride).collect();
        *self.0.returned.lock().unwrap_or_else(PoisonError::into_inner) = offsets;
        self.0.any_returned.store(true, Ordering::Release);
    }

    /// Returns a duplicate of the descriptor of the memory and its size, if it can be handed over.
    pub(crate) fn share(&self, ring: u32) -> io::Result<Option<SharedMemory>> {
        let Some(file) = self.0.memory.file() else { return Ok(None) };
        let Inner { frames, size, .. } = *self.0;
        Ok(Some(SharedMemory { file: file.try_clone()?, frames, size, ring }))
    }

    /// Uses a socket of a predecessor, which is bound and shares the memory.
    pub(super) fn adopt(&self, socket: OwnedFd) -> Arc<OwnedFd> {
        let socket = Arc::new(socket);
        self.0.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&socket));
        socket
    }

    /// The number of frames in the pool.
    pub fn frames(&self) -> u32 {
        self.0.frames
    }

    /// Whether these are the pool's frames.
    #[inline]
    pub fn are_of(&self, pool: &Pool) -> bool {
        Arc::ptr_eq(&self.0.memory, pool.memory())
    }

    /// Binds a socket, whose rings `prepare` creates. The socket shares the memory with another one if the memory is
    /// registered, and registers it otherwise. The socket that registers tries the `flags` in order.
    pub(super) fn join<T>(
        &self,
        device: u32,
        queue: u32,
        flags: &[u16],
        prepare: impl Fn(&OwnedFd) -> io::Result<T>,
    ) -> io::Result<(Arc<OwnedFd>, T)> {
        let mut sockets = self.0.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.retain(|s| s.strong_count() > 0);
        let other = sockets.iter().find_map(Weak::upgrade);
        let attempts = if other.is_some() { &flags[..1] } else { flags };
        let mut last = io::Error::from(io::ErrorKind::InvalidInput);
        let deadline = Instant::now() + PATIENCE;
        for flags in attempts {
            let new = socket::open()?;
            if other.is_none() {
                let (start, bytes) = self.0.memory.region();
                // SAFETY: the memory lives as long as `self`. Each port with a socket holds a clone of it, which it
                // drops after the socket.
                unsafe {
                    socket::register(&new, start.as_ptr() as u64, bytes as u64, (self.0.chunk, self.0.headroom))
                }?;
            }
            let made = prepare(&new)?;
            match patiently(deadline, || socket::bind(&new, device, queue, *flags, other.as_deref())) {
                Ok(()) => {
                    let new = Arc::new(new);
                    sockets.push(Arc::downgrade(&new));
                    return Ok((new, made));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Retries until the deadline if the queue is busy.
fn patiently(deadline: Instant, mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match attempt() {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}
