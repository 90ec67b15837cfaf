//! Notifications to the service manager (sd_notify(3)). They never block: a service manager that does not read loses them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

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

    fn notify(&mut self, message: &str) {
        let Some(address) = &self.address else { return };
        let sent = send(address, message);
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

/// Sends one message to the socket with this path, or this abstract name after an `@`. Fails if its queue is full.
fn send(address: &OsStr, message: &str) -> io::Result<()> {
    let address = match address.as_bytes().split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
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
        send(OsStr::new(&format!("@{name}")), "READY=1").unwrap();
        let mut bytes = [0; 20];
        assert_eq!(socket.recv(&mut bytes).unwrap(), 7);
        assert!(send(OsStr::new("/nowhere/at/all"), "READY=1").is_err());
    }
}
