//! The system calls of AF_XDP sockets. Linux `if_xdp.h`, `Documentation/networking/af_xdp.rst`.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use hopwright_dataplane::packet::SHARED_HEADROOM;

use super::ring::{Consumer, Producer};
use crate::linux::sys;

/// Option: frames sent per system call; the default is 32. Unknown to kernels before 6.17.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
const SO_PREFER_BUSY_POLL: libc::c_int = 69;
const SO_BUSY_POLL_BUDGET: libc::c_int = 70;

/// The limit on the bytes of frames that the kernel has taken but not sent yet.
const SEND_BUFFER: libc::c_int = 8 << 20;

/// The sizes of a socket's rings in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingSizes {
    /// Size of the receive and fill rings, a power of two.
    pub receive: u32,
    /// Size of the transmit and completion rings, a power of two.
    pub transmit: u32,
}

/// The rings of a socket.
#[derive(Debug)]
pub(super) struct Rings {
    pub receive: Consumer<libc::xdp_desc>,
    pub transmit: Producer<libc::xdp_desc>,
    /// Empty frames for the kernel to receive into.
    pub fill: Producer<u64>,
    /// Frames that the kernel has finished sending.
    pub completed: Consumer<u64>,
}

impl Rings {
    /// Begins where another process has stopped to use them.
    pub(super) fn resume(&mut self) {
        self.receive.resume();
        self.transmit.resume();
        self.fill.resume();
        self.completed.resume();
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn option<T: Copy>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    sys::set_option(socket, libc::SOL_XDP, name, value)
}

/// Creates a socket, not bound yet.
pub(super) fn open() -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is checked.
    let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a new descriptor nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Registers the memory of frames with a socket, which others may then share it with. `chunk`: the bytes of a chunk, and those
/// in front of a packet in it, at least [`SHARED_HEADROOM`].
///
/// # Safety
/// The memory must stay allocated until every socket that uses it is closed. The kernel writes to the frames in the
/// sockets' fill rings, and only to these.
pub(super) unsafe fn register(socket: &OwnedFd, start: u64, bytes: u64, chunk: (u32, u32)) -> io::Result<()> {
    let memory = libc::xdp_umem_reg {
        addr: start,
        len: bytes,
        chunk_size: chunk.0,
        // The kernel adds its own.
        headroom: chunk.1 - SHARED_HEADROOM,
        flags: 0,
        tx_metadata_len: 0,
    };
    option(socket, libc::XDP_UMEM_REG, &memory)
}

/// Creates and maps a socket's rings.
pub(super) fn rings(socket: &OwnedFd, sizes: RingSizes) -> io::Result<Rings> {
    option(socket, libc::XDP_UMEM_FILL_RING, &sizes.receive)?;
    option(socket, libc::XDP_UMEM_COMPLETION_RING, &sizes.transmit)?;
    option(socket, libc::XDP_RX_RING, &sizes.receive)?;
    option(socket, libc::XDP_TX_RING, &sizes.transmit)?;
    map(socket, sizes)
}

/// Maps the rings that a socket has.
pub(super) fn map(socket: &OwnedFd, sizes: RingSizes) -> io::Result<Rings> {
    let offsets: libc::xdp_mmap_offsets = get(socket, libc::XDP_MMAP_OFFSETS)?;
    Ok(Rings {
        receive: Consumer::map(socket, libc::XDP_PGOFF_RX_RING, offsets.rx, sizes.receive)?,
        transmit: Producer::map(socket, libc::XDP_PGOFF_TX_RING, offsets.tx, sizes.transmit)?,
        fill: Producer::map(socket, libc::XDP_UMEM_PGOFF_FILL_RING as i64, offsets.fr, sizes.receive)?,
        completed: Consumer::map(socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64, offsets.cr, sizes.transmit)?,
    })
}

/// Sets options that only affect performance. Errors are ignored, because old kernels do not know all of them.
pub(super) fn tune(socket: &OwnedFd, budget: u32, busy_poll_us: u32) {
    let _ = option(socket, XDP_MAX_TX_SKB_BUDGET, &budget);
    if sys::set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER).is_err() {
        let _ = sys::set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER);
    }
    if busy_poll_us > 0 {
        let socket_option = |name, value: libc::c_int| {
            let _ = sys::set_option(socket, libc::SOL_SOCKET, name, &value);
        };
        socket_option(SO_PREFER_BUSY_POLL, 1);
        socket_option(libc::SO_BUSY_POLL, busy_poll_us as libc::c_int);
        socket_option(SO_BUSY_POLL_BUDGET, 64);
    }
}

/// Binds a socket to a receive and transmit queue of a device. `share` is the bound socket whose memory and flags to
/// use.
pub(super) fn bind(socket: &OwnedFd, device: u32, queue: u32, flags: u16, share: Option<&OwnedFd>) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: if share.is_some() { libc::XDP_SHARED_UMEM } else { flags },
        sxdp_ifindex: device,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: share.map_or(0, |s| s.as_raw_fd() as u32),
    };
    // SAFETY: pointer and size are those of a live sockaddr_xdp.
    let result = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_xdp>() as libc::socklen_t)
    };
    check(result).map(drop)
}

/// Makes the kernel process the transmit ring.
pub(super) fn kick_transmit(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: no data is passed.
    let result =
        unsafe { libc::sendto(socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the kernel process the fill ring, or poll the device if busy polling is on.
pub(super) fn kick_receive(socket: &OwnedFd) {
    // SAFETY: no data is passed. Errors mean that there was nothing to do.
    unsafe {
        libc::recvfrom(
            socket.as_raw_fd(),
            std::ptr::null_mut(),
            0,
            libc::MSG_DONTWAIT,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
}

/// Returns the kernel's counters of a socket.
pub(super) fn statistics(socket: &OwnedFd) -> io::Result<libc::xdp_statistics> {
    get(socket, libc::XDP_STATISTICS)
}

/// Returns whether the socket is in zero-copy mode.
pub(super) fn is_zero_copy(socket: &OwnedFd) -> io::Result<bool> {
    let options: libc::xdp_options = get(socket, libc::XDP_OPTIONS)?;
    Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

fn get<T: Copy>(socket: &OwnedFd, name: libc::c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a live value.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    check(result)?;
    // SAFETY: used with plain structs of integers only, for which any bytes are valid; they were zeroed before.
    Ok(unsafe { value.assume_init() })
}
