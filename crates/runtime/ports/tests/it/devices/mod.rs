//! A network namespace with pairs of virtual devices for a test. Needs root and the `ip` command.

#![allow(dead_code)]

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Pool, Port, PortInfo};

pub(crate) const MAC_A: &str = "02:00:00:00:00:0a";
pub(crate) const MAC_B: &str = "02:00:00:00:00:0b";

pub(crate) fn ip(arguments: &str) {
    run("ip", arguments);
}

pub(crate) fn tc(arguments: &str) {
    run("tc", arguments);
}

fn run(command: &str, arguments: &str) {
    let output = Command::new(command).args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{command} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Has a device complete the checksums of what is sent, and segment joined frames, or leaves both to the kernel's
/// software, which does them before frames leave.
pub(crate) fn set_checksum_offload(device: &str, on: bool) {
    // From Linux's ethtool.h. Segmentation depends on checksums, so it goes off with them, but does not come on.
    const SETS: [(u32, bool); 2] = [(0x17, false), (0x1f, true)];
    // SAFETY: plain system calls; results are checked, and the pointers are those of live values, which have the layouts
    // that the request needs.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        for (command, only_on) in SETS {
            if only_on && !on {
                continue;
            }
            let mut value = [command, u32::from(on)];
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
            let done = libc::ioctl(fd, 0x8946, &raw mut request);
            assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        }
        libc::close(fd);
    }
}

/// How long a test waits for frames that must arrive, on a busy machine, and for frames that must not. The second is
/// counted in looks for frames a millisecond apart, because the time of a process that is stopped tells nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const QUIET: Duration = Duration::from_millis(200);

/// Receives until the frames that have arrived are those wanted, or none has arrived for `quiet`.
pub(crate) fn receive(
    port: &mut dyn Port,
    pool: &mut Pool,
    quiet: Duration,
    wanted: impl Fn(&[Vec<u8>]) -> bool,
) -> Vec<Vec<u8>> {
    let (mut batch, mut got, mut idle) = (Vec::new(), Vec::new(), 0);
    while !wanted(&got) && idle < quiet.as_millis() {
        if port.receive(pool, &mut batch, 17) == 0 {
            std::thread::sleep(Duration::from_millis(1));
            idle += 1;
            continue;
        }
        idle = 0;
        for packet in batch.drain(..) {
            got.push(packet.bytes().to_vec());
            pool.give(packet);
        }
    }
    got
}

/// Receives as many frames as are wanted, for which it waits, and those that come beyond.
pub(crate) fn receive_exactly(port: &mut dyn Port, pool: &mut Pool, count: usize) -> Vec<Vec<u8>> {
    let mut got = receive(port, pool, PATIENCE, |got| got.len() >= count);
    got.extend(receive(port, pool, QUIET, |_| false));
    got
}

/// Receives until each of the frames that were sent has been received, or counted as one for which there was no room.
pub(crate) fn receive_with_losses(port: &mut dyn Port, pool: &mut Pool, sent: u64) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    let start = Instant::now();
    while got.len() as u64 + port.stats().rx_overrun < sent && start.elapsed() < PATIENCE {
        got.extend(receive(port, pool, QUIET, |_| false));
    }
    got
}

/// Receives a datagram. A socket with a time limit tells when its process was stopped or a signal came, although what it
/// waits for may still come.
pub(crate) fn receive_from(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Waits until an address whose sockets are closed can be bound. Child processes of other tests have a copy of each
/// descriptor for a moment, until they run their program.
pub(crate) fn wait_until_free(address: SocketAddr) {
    let start = Instant::now();
    while let Err(error) = UdpSocket::bind(address) {
        assert!(start.elapsed() < PATIENCE, "{address}: {error}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether there is something to receive, for which it waits.
pub(crate) fn is_ready(fd: BorrowedFd<'_>) -> bool {
    let start = Instant::now();
    loop {
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live pollfd.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 1000) } == 1;
        if ready || start.elapsed() > PATIENCE {
            return ready;
        }
    }
}

/// Whether to skip a test that needs a network. Without root or the `ip` command a test fails, unless
/// `HOPWRIGHT_SKIP_PRIVILEGED_TESTS` is set.
pub(crate) fn skips() -> bool {
    // SAFETY: plain system call without arguments.
    let able = unsafe { libc::geteuid() } == 0 && Command::new("ip").arg("-V").output().is_ok();
    if !able {
        let skip = std::env::var_os("HOPWRIGHT_SKIP_PRIVILEGED_TESTS").is_some();
        assert!(
            skip,
            "packet sockets need root and the `ip` command; HOPWRIGHT_SKIP_PRIVILEGED_TESTS=1 skips such tests"
        );
        eprintln!("\n*** SKIPPED, NOT TESTED: packet sockets need root and the `ip` command ***\n");
    }
    !able
}

/// What a port says of its device once that is up. Linux tells this up to a second late.
pub(crate) fn info_when_up(port: &impl Port) -> PortInfo {
    let start = Instant::now();
    loop {
        let info = port.info();
        if info.up == Some(true) || start.elapsed() > PATIENCE {
            return info;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a test on a thread in a fresh network namespace with devices `va` and `vb` that are each other's peer.
pub(crate) fn with_devices(test: impl FnOnce() + Send) {
    if skips() {
        return;
    }
    std::thread::scope(|scope| {
        let run = || {
            // SAFETY: only this thread's network namespace changes.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "{}", std::io::Error::last_os_error());
            ip("link add name va type veth peer name vb");
            // No neighbour discovery, so that only the tests' packets pass.
            for device in ["all", "default", "va", "vb"] {
                std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1").ok();
            }
            ip(&format!("link set va mtu 9000 address {MAC_A} up"));
            ip(&format!("link set vb mtu 9000 address {MAC_B} up"));
            test();
        };
        scope.spawn(run).join().unwrap();
    });
}
