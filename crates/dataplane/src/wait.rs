//! Sleeping until a file descriptor has something, and waking a sleeper: `poll(2)` and `eventfd(2)`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Wakes whoever polls its descriptor. It stays signalled until cleared.
#[derive(Debug)]
pub struct Wakeup(OwnedFd);

impl Wakeup {
    /// Not signalled. Fails if the process has no descriptors left.
    pub fn new() -> io::Result<Wakeup> {
        // SAFETY: plain system call; the result is checked.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor nobody else owns.
        Ok(Wakeup(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Signals.
    pub fn notify(&self) {
        let one = 1u64;
        // SAFETY: writes 8 bytes from a local. It fails only if the counter is full: then it is signalled anyway.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Takes the signal back.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: reads 8 bytes into a local; the descriptor does not block.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Wakeup {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A set of descriptors to wait for input on.
#[derive(Debug, Default)]
pub struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    /// Nothing to wait for.
    pub fn new() -> PollSet {
        PollSet::default()
    }

    /// Nothing to wait for; so many can be added without allocating.
    pub fn with_capacity(descriptors: usize) -> PollSet {
        PollSet(Vec::with_capacity(descriptors))
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a descriptor; the caller keeps it open.
    pub fn add(&mut self, fd: RawFd) {
        self.0.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    }

    /// Waits until one of them has input or an error, or the time is up. True if one has.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let timeout = timeout.as_millis().min(i32::MAX as u128) as i32;
        // SAFETY: the pointer and length are of a live vector of pollfd.
        unsafe { libc::poll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, timeout) > 0 }
    }
}

/// Sleeps so long. See [`sharpen_timers`].
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}

/// Makes short sleeps of the calling thread end when they should rather than up to 50 µs later.
pub(crate) fn sharpen_timers() {
    // SAFETY: plain system call; it changes nothing but this thread's timers, and failure leaves these as they are.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000 as libc::c_ulong) };
}

/// Keeps the calling thread on one CPU.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    // SAFETY: all-zero is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the CPU is within the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: pointer and size are those of a live set.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
