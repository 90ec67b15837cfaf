//! What a thread asks of the operating system's scheduler: sleeping until a file descriptor has something, and waking a sleeper
//! (`poll(2)`, `epoll(7)`, `eventfd(2)`); its CPU.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How much lower the priority of control planes is than that of workers, as by `nice(1)`.
const CONTROL_NICENESS: libc::c_int = 10;

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
        // SAFETY: a new descriptor without another owner.
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

/// A sleeper that many descriptors wake, and a timer: `epoll(7)`. How many there are costs nothing when it wakes.
#[derive(Debug)]
pub(crate) struct Sleeper {
    epoll: OwnedFd,
    timer: OwnedFd,
}

impl Sleeper {
    /// The timer's bit in what [`Sleeper::sleep`] returns.
    const TIMER: u64 = 1 << 63;

    /// Wakes at such intervals.
    pub(crate) fn new(interval: Duration) -> io::Result<Sleeper> {
        let check = |result| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
        // SAFETY: plain system calls with checked results; new descriptors without another owner.
        let (epoll, timer) = unsafe {
            let epoll = OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            (epoll, OwnedFd::from_raw_fd(check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?))
        };
        let time = libc::timespec {
            tv_sec: interval.as_secs() as libc::time_t,
            tv_nsec: interval.subsec_nanos() as libc::c_long,
        };
        let times = libc::itimerspec { it_interval: time, it_value: time };
        // SAFETY: the kernel reads a live value.
        check(unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const times, std::ptr::null_mut()) })?;
        let sleeper = Sleeper { epoll, timer };
        sleeper.add(sleeper.timer.as_raw_fd(), Self::TIMER)?;
        Ok(sleeper)
    }

    /// Input or an error of this descriptor wakes, too; [`Sleeper::sleep`] then returns its bits. Once it is closed it
    /// does not.
    pub(crate) fn add(&self, fd: RawFd, bits: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: bits };
        // SAFETY: the kernel reads a live value.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        match (result, io::Error::last_os_error()) {
            // It wakes already.
            (-1, error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            (-1, error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sleeps until something wakes it. The result is the bits of what did, though not always of all.
    pub(crate) fn sleep(&self) -> u64 {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        // SAFETY: the kernel writes as many events as there is room for.
        let count =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), events.len() as libc::c_int, -1) };
        let events = &events[..usize::try_from(count).unwrap_or(0)];
        let bits = events.iter().fold(0, |bits, event| bits | event.u64);
        if bits & Self::TIMER != 0 {
            let mut count = 0u64;
            // SAFETY: reads 8 bytes into a local; the descriptor does not block.
            unsafe { libc::read(self.timer.as_raw_fd(), (&raw mut count).cast(), 8) };
        }
        bits
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

/// Makes the calling thread, and those that it starts, give way to workers on the same CPU: for control planes. It then runs in
/// time that they leave, and on other CPUs as ever. Workers are started by threads that have not called it.
pub fn give_way() {
    static WORKERS: OnceLock<libc::c_int> = OnceLock::new();
    // SAFETY: plain system calls, which concern this thread only ("C library/kernel differences", setpriority(2)). Failure leaves its
    // priority as it is.
    unsafe {
        let of_workers = *WORKERS.get_or_init(|| libc::getpriority(libc::PRIO_PROCESS, 0));
        libc::setpriority(libc::PRIO_PROCESS, 0, of_workers + CONTROL_NICENESS);
    }
}

/// Measures time in which the calling thread was ready and did not run, because the operating system ran others.
#[derive(Debug)]
pub(crate) struct LostTime {
    since: Instant,
    cpu_ns: u64,
}

impl LostTime {
    /// From now on.
    pub(crate) fn new() -> LostTime {
        LostTime { since: Instant::now(), cpu_ns: thread_cpu_ns() }
    }

    /// Nanoseconds lost since this was made or last asked.
    #[cold]
    pub(crate) fn take(&mut self) -> u64 {
        let now = LostTime::new();
        let (elapsed, ran) = (now.since.duration_since(self.since), now.cpu_ns.saturating_sub(self.cpu_ns));
        *self = now;
        (elapsed.as_nanos() as u64).saturating_sub(ran)
    }
}

/// Nanoseconds for which the calling thread has run.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a live value; it has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_others_run_is_lost() {
        let mut lost = LostTime::new();
        std::thread::sleep(Duration::from_millis(20));
        assert!(lost.take() > 19_000_000);
        let start = Instant::now();
        while thread_cpu_ns() - lost.cpu_ns < 5_000_000 {
            std::hint::spin_loop();
        }
        let elapsed = start.elapsed().as_nanos() as u64;
        assert!(lost.take() <= elapsed.saturating_sub(4_900_000));
    }

    #[test]
    fn a_thread_gives_way_once() {
        let niceness = || {
            give_way();
            // SAFETY: plain system call.
            unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
        };
        let found = std::thread::spawn(move || [niceness(), niceness(), std::thread::spawn(niceness).join().unwrap()]);
        let found = found.join().unwrap();
        // SAFETY: plain system call.
        let own = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        assert_eq!(found, [(own + CONTROL_NICENESS).min(19); 3]);
    }

    #[test]
    fn a_sleeper_wakes_by_its_descriptors_and_its_timer() {
        let sleeper = Sleeper::new(Duration::from_millis(30)).unwrap();
        let wakeups: Vec<_> = (0..3).map(|_| Wakeup::new().unwrap()).collect();
        for (i, wakeup) in wakeups.iter().enumerate() {
            sleeper.add(wakeup.as_raw_fd(), 1 << i).unwrap();
            sleeper.add(wakeup.as_raw_fd(), 1 << i).unwrap();
        }
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(sleeper.sleep() & 7, 0);
        }
        assert!(start.elapsed() > Duration::from_millis(60));
        wakeups[0].notify();
        wakeups[2].notify();
        assert_eq!(sleeper.sleep() & 7, 5);
        wakeups[0].clear();
        assert_eq!(sleeper.sleep() & 7, 4, "it stays until it is cleared");
        drop(wakeups);
        assert_eq!(sleeper.sleep() & 7, 0);
    }
}
