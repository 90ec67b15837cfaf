//! Notifications to the service manager (sd_notify(3)), and what it keeps for a process that it starts again. They never block: a
//! service manager that does not read loses them.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// The longest time between two keep-alives.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);

/// The service manager, if this process was started by one.
#[derive(Debug)]
pub struct ServiceManager {
    /// Its socket, as the environment names it.
    address: Option<OsString>,
    /// After this time without a keep-alive it ends the process.
    limit: Option<Duration>,
    next: Instant,
    /// Progress as of the last keep-alive.
    progress: Option<u64>,
    /// Whether the last notification could not be sent, and that was logged.
    fails: bool,
}

impl ServiceManager {
    /// Reads from the environment what the service manager expects.
    pub fn new() -> ServiceManager {
        let address = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        ServiceManager {
            address,
            limit: sd_notify::watchdog_enabled(),
            next: Instant::now(),
            progress: None,
            fails: false,
        }
    }

    /// The time without a keep-alive after which the service manager ends the process, if there is one.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Takes over the limit of a predecessor, unless there is one: the service manager tells it only to processes that it
    /// starts as the service.
    pub fn inherit_limit(&mut self, limit: Option<Duration>) {
        self.limit = self.limit.or(limit.filter(|limit| !limit.is_zero()));
    }

    /// Start-up is complete.
    pub fn ready(&mut self) {
        self.notify("READY=1");
    }

    /// The service is being taken over by another process, which will say that it is ready.
    pub fn reloading(&mut self) {
        // systemd wants the time for units of type notify-reload.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000;
        self.notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// The service's main process is another one from now on. To be said by the one that it was.
    pub fn main_process(&mut self, pid: u32) {
        self.notify(&format!("MAINPID={pid}"));
    }

    /// Shutdown has begun.
    pub fn stopping(&mut self) {
        self.notify("STOPPING=1");
    }

    /// Sends a keep-alive when one is due and `progress` has changed since the last. The caller's loop calls this with a
    /// counter of its workers, so that a keep-alive proves that both make progress.
    pub fn keep_alive(&mut self, progress: u64, now: Instant) {
        let Some(limit) = self.limit else { return };
        if now < self.next || self.progress == Some(progress) {
            return;
        }
        self.progress = Some(progress);
        self.next = now + (limit / 2).min(LONGEST_INTERVAL);
        self.notify("WATCHDOG=1");
    }

    /// Whether there is one, which may keep descriptors.
    pub fn is_there(&self) -> bool {
        self.address.is_some()
    }

    /// Gives it a descriptor to keep for the next process of the service, which gets it by [`kept`]. It closes it when the service has
    /// stopped, and at once if the unit's `FileDescriptorStoreMax` allows none. It tells names apart by colons: in messages to it they are `=`.
    pub fn keep(&mut self, name: &str, descriptor: &OwnedFd) {
        // It would close a socket whose other end has gone.
        let name = name.replace(':', "=");
        self.notify_with(&format!("FDSTORE=1\nFDNAME={name}\nFDPOLL=0"), Some(descriptor.as_fd()));
    }

    /// Has it forget descriptors of a name.
    pub fn forget(&mut self, name: &str) {
        self.notify(&format!("FDSTOREREMOVE=1\nFDNAME={}", name.replace(':', "=")));
    }

    fn notify(&mut self, message: &str) {
        self.notify_with(message, None);
    }

    fn notify_with(&mut self, message: &str, descriptor: Option<BorrowedFd<'_>>) {
        let Some(address) = &self.address else { return };
        let sent = send(address, message, descriptor);
        if let Err(error) = &sent
            && !self.fails
        {
            tracing::warn!(event = "service-manager", %error, message, "cannot notify the service manager");
        }
        self.fails = sent.is_err();
    }
}

impl Default for ServiceManager {
    fn default() -> ServiceManager {
        ServiceManager::new()
    }
}

/// Takes the descriptors that the service manager has kept for this process, with their names. Only the first call in a process gets some.
///
/// The environment variables stay: their process identifier keeps other processes from believing them.
pub fn kept() -> Vec<(String, OwnedFd)> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let Ok(given) = sd_notify::listen_fds_with_names() else { return Vec::new() };
    if given.len() == 0 || TAKEN.swap(true, Ordering::Relaxed) {
        return Vec::new();
    }
    given
        .map(|(number, name)| {
            // SAFETY: sd_listen_fds(3): the service manager has opened this descriptor for this process, which `listen_fds_with_names`
            // has compared with `LISTEN_PID`. It is nobody else's, because only this function takes such descriptors, and only once
            // (`TAKEN`).
            let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
            (name.replace('=', ":"), descriptor)
        })
        .collect()
}

/// Sends one message to the socket with this path, or this abstract name after an `@`. Fails if its queue is full.
fn send(address: &OsStr, message: &str, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let address = match address.as_bytes().split_first() {
        Some((b'@', name)) => SocketAddrUnix::new_abstract_name(name)?,
        _ => SocketAddrUnix::new(address)?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if let Some(descriptor) = &descriptor {
        // There is room.
        ancillary.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(descriptor)));
    }
    let bytes = [IoSlice::new(message.as_bytes())];
    Ok(rustix::net::sendmsg_addr(&socket, &address, &bytes, &mut ancillary, SendFlags::NOSIGNAL).map(drop)?)
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::*;

    fn manager(address: &std::path::Path, limit: Option<Duration>) -> ServiceManager {
        let address = Some(address.as_os_str().to_os_string());
        ServiceManager { address, limit, next: Instant::now(), progress: None, fails: false }
    }

    #[test]
    fn messages_arrive_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut manager = manager(&path, None);
        manager.inherit_limit(Some(Duration::from_secs(2)));
        let now = Instant::now();
        manager.reloading();
        manager.ready();
        manager.main_process(77);
        manager.keep_alive(1, now);
        manager.keep_alive(2, now + Duration::from_millis(999));
        manager.keep_alive(1, now + Duration::from_secs(3));
        manager.keep_alive(2, now + Duration::from_secs(3));
        manager.stopping();
        let mut bytes = [0; 200];
        let messages: Vec<String> = std::iter::from_fn(|| {
            let length = socket.recv(&mut bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
        })
        .collect();
        assert!(messages[0].starts_with("RELOADING=1\nMONOTONIC_USEC="), "{messages:?}");
        assert_eq!(messages[1..], ["READY=1", "MAINPID=77", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"]);
    }

    #[test]
    fn a_service_manager_that_does_not_read_blocks_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _socket = UnixDatagram::bind(&path).unwrap();
        let mut manager = manager(&path, None);
        // Far more than a queue holds (net.unix.max_dgram_qlen).
        for _ in 0..100_000 {
            manager.ready();
            if manager.fails {
                return;
            }
        }
        panic!("the queue never fills");
    }

    #[test]
    fn abstract_names_begin_with_an_at_sign() {
        let name = format!("hopwright-test-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(OsStr::new(&format!("@{name}")), "READY=1", None).unwrap();
        let mut bytes = [0; 20];
        assert_eq!(socket.recv(&mut bytes).unwrap(), 7);
        assert!(send(OsStr::new("/nowhere/at/all"), "READY=1", None).is_err());
    }
}
