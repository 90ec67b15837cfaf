//! What a thread asks of the operating system's scheduler: sleeping until a file descriptor has something, and waking a sleeper
//! (`poll(2)`, `epoll(7)`, `eventfd(2)`); its CPU.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::{ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime};
use rustix::time::{timerfd_create, timerfd_settime};

/// How much lower the priority of control planes is than that of workers, as by `nice(1)`.
const CONTROL_NICENESS: i32 = 10;
/// How much higher than usual the priority of workers is that take precedence.
const PRECEDENCE: i32 = 9;

/// Raises the process's soft limit on open descriptors to the hard one: a switch has some for each tenant.
///
/// # Errors
/// The system refuses.
pub fn allow_descriptors() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

/// Wakes whoever polls its descriptor. It stays signalled until cleared.
#[derive(Debug)]
pub struct Wakeup(OwnedFd);

impl Wakeup {
    /// Not signalled. Fails if the process has no descriptors left.
    pub fn new() -> io::Result<Wakeup> {
        Ok(Wakeup(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    /// Signals.
    pub fn notify(&self) {
        // Fails only if the counter is full: then it is signalled anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Takes the signal back.
    pub fn clear(&self) {
        // Fails only if it is not signalled.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
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

    /// Nothing to wait for; this many can be added without allocating.
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
    interval: Duration,
}

impl Sleeper {
    /// The timer's bit in what [`Sleeper::sleep`] returns.
    const TIMER: u64 = 1 << 63;

    /// Wakes at such intervals.
    pub(crate) fn new(interval: Duration) -> io::Result<Sleeper> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let time = Timespec::try_from(interval).map_err(io::Error::other)?;
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: time, it_value: time })?;
        let sleeper = Sleeper { epoll, timer, interval };
        sleeper.add(sleeper.timer.as_fd(), Self::TIMER)?;
        Ok(sleeper)
    }

    /// Input or an error of this descriptor wakes, too; [`Sleeper::sleep`] then returns its bits. Once it is closed it
    /// does not.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, bits: u64) -> io::Result<()> {
        match epoll::add(&self.epoll, fd, epoll::EventData::new_u64(bits), epoll::EventFlags::IN) {
            // It wakes already.
            Err(rustix::io::Errno::EXIST) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Wakes after this time, too, and then at the intervals.
    pub(crate) fn wake_after(&self, time: Duration) {
        let (Ok(interval), Ok(value)) = (self.interval.try_into(), time.max(Duration::from_nanos(1)).try_into()) else {
            return;
        };
        // If it fails the timer goes on as it did.
        let _ = timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: interval, it_value: value },
        );
    }

    /// Sleeps until something wakes it. The result is the bits of what did, though not always of all.
    pub(crate) fn sleep(&self) -> u64 {
        let none = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [none; 8];
        let count = epoll::wait(&self.epoll, &mut events, None).unwrap_or(0);
        let bits = events[..count].iter().fold(0, |bits, event| bits | event.data.u64());
        if bits & Self::TIMER != 0 {
            // Fails only if the timer has been read already.
            let _ = rustix::io::read(&self.timer, &mut [0; 8]);
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
    // Failure leaves the timers as they are.
    let _ = set_current_timer_slack(NonZeroU64::new(1000));
}

/// The shortest slice that Linux gives a thread.
const SHORTEST_SLICE: Duration = Duration::from_micros(100);

/// Makes the calling thread run soon after it wakes: Linux since 6.12 lets a thread of a short slice interrupt one of a longer slice,
/// whose turn would otherwise last up to three milliseconds (`sched(7)`, `sched_setattr(2)`). Its share of the CPU stays the same.
/// Threads with another policy than the usual one, such as a real-time one, stay as they are.
pub fn shorten_slice() {
    // SAFETY: all zeros is a value of this structure of integers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::sched_attr>() as u32;
    attributes.size = size;
    // SAFETY: the kernel writes at most `size` bytes, which the structure has. Thread 0 is the calling one.
    let found = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if found != 0 || attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.sched_runtime = SHORTEST_SLICE.as_nanos() as u64;
    // Failure leaves the slice as it is.
    // SAFETY: the kernel reads `attributes.size` bytes, which the structure has.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Raises the priority of the calling thread, so that control planes get a seventieth of its time beside it: for workers of tenants
/// whose clients can give a control plane as much work as they like. Without `CAP_SYS_NICE`, or a limit of niceness that permits
/// it (`RLIMIT_NICE`), its priority stays as it is, and control planes get a tenth.
pub fn take_precedence() {
    if let Ok(niceness) = getpriority_process(None) {
        let _ = setpriority_process(None, niceness - PRECEDENCE);
    }
}

/// The niceness of threads that do not give way.
static WORKERS: OnceLock<i32> = OnceLock::new();

/// Makes the calling thread, and those that it starts, give way to workers on the same CPU: for control planes. It then runs in
/// time that they leave, and on other CPUs as ever. Workers are started by threads that have not called it, or call [`keep_way`].
pub fn give_way() {
    let of_workers = *WORKERS.get_or_init(|| getpriority_process(None).unwrap_or(0));
    // On Linux this concerns the calling thread only ("C library/kernel differences", setpriority(2)). Failure leaves its priority as
    // it is.
    let _ = setpriority_process(None, of_workers + CONTROL_NICENESS);
}

/// Makes the calling thread one that does not give way, although the one that started it does. Needs what [`take_precedence`] needs.
pub fn keep_way() {
    if let Some(of_workers) = WORKERS.get() {
        let _ = setpriority_process(None, *of_workers);
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
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Keeps the calling thread on one CPU.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
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
        lost.take();
        while thread_cpu_ns() - lost.cpu_ns < 5_000_000 {
            std::hint::spin_loop();
        }
        let taken = lost.take();
        assert!(taken <= (start.elapsed().as_nanos() as u64).saturating_sub(4_900_000));
    }

    #[test]
    fn a_shorter_slice_changes_nothing_else() {
        let attributes = || {
            // SAFETY: all zeros is a value of this structure of integers, and the kernel writes no more than its size.
            unsafe {
                let mut found: libc::sched_attr = std::mem::zeroed();
                let size = size_of::<libc::sched_attr>() as u32;
                assert_eq!(libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size, 0), 0);
                found
            }
        };
        let shorten = move || {
            give_way();
            let before = attributes();
            shorten_slice();
            (before, attributes())
        };
        let (before, after) = std::thread::spawn(shorten).join().unwrap();
        assert_eq!((after.sched_policy, after.sched_nice), (before.sched_policy, before.sched_nice));
        // Zero on systems whose slices are all alike.
        assert!([0, SHORTEST_SLICE.as_nanos() as u64].contains(&after.sched_runtime), "{}", after.sched_runtime);
    }

    #[test]
    fn a_thread_gives_way_once() {
        let niceness = || {
            give_way();
            getpriority_process(None).unwrap()
        };
        let found = std::thread::spawn(move || [niceness(), niceness(), std::thread::spawn(niceness).join().unwrap()]);
        let found = found.join().unwrap();
        let own = getpriority_process(None).unwrap();
        assert_eq!(found, [(own + CONTROL_NICENESS).min(19); 3]);
    }

    #[test]
    fn a_thread_takes_precedence_where_that_is_permitted() {
        let own = getpriority_process(None).unwrap();
        let raised = std::thread::spawn(|| {
            take_precedence();
            getpriority_process(None).unwrap()
        });
        let expected = if rustix::process::geteuid().is_root() { (own - PRECEDENCE).max(-20) } else { own };
        assert_eq!(raised.join().unwrap(), expected);
    }

    #[test]
    fn a_sleeper_wakes_by_its_descriptors_and_its_timer() {
        let start = Instant::now();
        let sleeper = Sleeper::new(Duration::from_millis(30)).unwrap();
        let wakeups: Vec<_> = (0..3).map(|_| Wakeup::new().unwrap()).collect();
        for (i, wakeup) in wakeups.iter().enumerate() {
            sleeper.add(wakeup.as_fd(), 1 << i).unwrap();
            sleeper.add(wakeup.as_fd(), 1 << i).unwrap();
        }
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
