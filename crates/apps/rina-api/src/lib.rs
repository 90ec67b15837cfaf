//! `librina-api.so`: the API of RINA for C programs that rlite and IRATI have (`include/rina/api.h`), so that programs written for these
//! run over Hopwright's IPC processes. It speaks to them by their socket: [`/run/hopwright/rina.sock`](hopwright_rina::DEFAULT_SOCKET), or
//! the one that the environment variable `HOPWRIGHT_RINA_SOCKET` names. With `HOPWRIGHT_RINA_REASONS` set, the reason of each failure is
//! written to standard error.
//!
//! A flow is a connection of that socket, whose packets are SDUs: programs `read`, `write` and `poll` it without this library.

mod api;

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;

use api::Errno;
use hopwright_rina::Name;

const VERSION: u32 = 2;
const NOWAIT: c_uint = 1;
const NORESP: c_uint = 2;
/// Any number of SDUs may be missing.
const ANY_GAP: u64 = u64::MAX;

/// `struct rina_flow_spec`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    version: u32,
    max_delay: u32,
    max_sdu_gap: u64,
    avg_bandwidth: u64,
    max_loss: u16,
    in_order_delivery: u8,
    msg_boundaries: u8,
    max_jitter: u32,
}

impl FlowSpec {
    fn new(reliable: bool) -> FlowSpec {
        FlowSpec {
            version: VERSION,
            max_delay: 0,
            max_sdu_gap: if reliable { 0 } else { ANY_GAP },
            avg_bandwidth: 0,
            max_loss: 0,
            in_order_delivery: reliable.into(),
            msg_boundaries: 1,
            max_jitter: 0,
        }
    }

    fn is_reliable(&self) -> bool {
        self.max_sdu_gap != ANY_GAP || self.in_order_delivery != 0
    }
}

/// What C gets: a number that is not negative, or -1 and `errno`.
fn result(result: Result<c_int, Errno>) -> c_int {
    result.unwrap_or_else(|Errno(code)| {
        // SAFETY: the pointer is to this thread's `errno`.
        unsafe { *libc::__errno_location() = code };
        -1
    })
}

/// # Safety
/// The pointer is null, or to a string that a zero ends.
unsafe fn name(text: *const c_char) -> Result<Option<Name>, Errno> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) };
    // Empty components at the end may be left out.
    let text = text.to_str().map_err(|_| Errno(libc::EINVAL))?.trim_end_matches('|');
    text.parse().map(Some).map_err(|_| Errno(libc::EINVAL))
}

/// # Safety
/// As for [`name`].
unsafe fn required(text: *const c_char) -> Result<Name, Errno> {
    // SAFETY: as the caller says.
    unsafe { name(text) }?.ok_or(Errno(libc::EINVAL))
}

fn check(flags: c_uint, known: c_uint) -> Result<(), Errno> {
    if flags & !known == 0 { Ok(()) } else { Err(Errno(libc::EINVAL)) }
}

/// Takes a descriptor over from the program.
fn owned(fd: c_int) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno(libc::EBADF));
    }
    // SAFETY: the API's contract is that the function that waits for a descriptor owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A listener: a descriptor that is readable when somebody asks for a flow to one of its names.
#[unsafe(no_mangle)]
pub extern "C" fn rina_open() -> c_int {
    result(api::open().map(IntoRawFd::into_raw_fd))
}

/// # Safety
/// As for [`name`].
unsafe fn register(fd: c_int, dif: *const c_char, local: *const c_char, flags: c_int, registers: bool) -> c_int {
    let begin = || {
        check(flags.cast_unsigned(), NOWAIT)?;
        // SAFETY: as the caller says.
        let (local, dif) = unsafe { (required(local)?, name(dif)?) };
        let waiting = api::register(fd, local, dif, registers)?;
        if flags.cast_unsigned() & NOWAIT != 0 {
            return Ok(waiting.into_raw_fd());
        }
        api::registered(waiting).map(|()| 0)
    };
    result(begin())
}

/// Registers a name for a listener; with `RINA_F_NOWAIT` begins to, and returns what [`rina_register_wait`] takes.
///
/// # Safety
/// The names are null or strings that a zero ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rina_register(fd: c_int, dif: *const c_char, local: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { register(fd, dif, local, flags, true) }
}

/// The opposite of [`rina_register`].
///
/// # Safety
/// The names are null or strings that a zero ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rina_unregister(fd: c_int, dif: *const c_char, local: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { register(fd, dif, local, flags, false) }
}

/// Waits until a name is registered or no longer is, and closes `wfd`.
#[unsafe(no_mangle)]
pub extern "C" fn rina_register_wait(_fd: c_int, wfd: c_int) -> c_int {
    result(owned(wfd).and_then(api::registered).map(|()| 0))
}

/// Takes the next request of a listener. Returns a flow, or with `RINA_F_NORESP` what [`rina_flow_respond`] takes.
///
/// # Safety
/// `remote` and `spec` are null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rina_flow_accept(
    fd: c_int,
    remote: *mut *mut c_char,
    spec: *mut FlowSpec,
    flags: c_uint,
) -> c_int {
    let accept = || {
        check(flags, NORESP)?;
        if fd < 0 {
            return Err(Errno(libc::EBADF));
        }
        // SAFETY: the program has opened it, and does not close it meanwhile; otherwise reading fails.
        let incoming = api::next(unsafe { BorrowedFd::borrow_raw(fd) })?;
        if !spec.is_null() {
            // SAFETY: as the caller says.
            unsafe { ptr::write(spec, FlowSpec::new(incoming.reliable)) };
        }
        if !remote.is_null() {
            let from = CString::new(incoming.from.as_str()).map_err(|_| Errno(libc::EPROTO))?;
            // SAFETY: as the caller says; `strdup` copies a string that a zero ends to memory that C frees.
            unsafe { ptr::write(remote, libc::strdup(from.as_ptr())) };
        }
        if flags & NORESP != 0 {
            return Ok(incoming.handle);
        }
        // The request was withdrawn, perhaps: rlite's programs go on after this error.
        let flow = api::respond(incoming.handle, true).map_err(|_| Errno(libc::ENOSPC))?;
        Ok(flow.map_or(0, IntoRawFd::into_raw_fd))
    };
    result(accept())
}

/// Accepts a request if the response is 0, and returns its flow; otherwise refuses it and returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn rina_flow_respond(_fd: c_int, handle: c_int, response: c_int) -> c_int {
    result(api::respond(handle, response == 0).map(|flow| flow.map_or(0, IntoRawFd::into_raw_fd)))
}

/// Asks for a flow and returns it; with `RINA_F_NOWAIT` begins to, and returns what [`rina_flow_alloc_wait`] takes.
///
/// # Safety
/// The names are null or strings that a zero ends, `spec` is null or can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rina_flow_alloc(
    dif: *const c_char,
    local: *const c_char,
    remote: *const c_char,
    spec: *const FlowSpec,
    flags: c_uint,
) -> c_int {
    let allocate = || {
        check(flags, NOWAIT)?;
        // SAFETY: as the caller says.
        let spec = if spec.is_null() { FlowSpec::new(false) } else { unsafe { ptr::read(spec) } };
        if spec.version != VERSION {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: as the caller says.
        let (local, remote, dif) = unsafe { (required(local)?, required(remote)?, name(dif)?) };
        let waiting = api::allocate(local, remote, dif, spec.is_reliable())?;
        let fd = if flags & NOWAIT != 0 { waiting } else { api::wait(waiting)? };
        Ok(fd.into_raw_fd())
    };
    result(allocate())
}

/// Waits for a flow, which has the same descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn rina_flow_alloc_wait(wfd: c_int) -> c_int {
    result(owned(wfd).and_then(api::wait).map(IntoRawFd::into_raw_fd))
}

/// Writes the specification of a flow that retransmits nothing.
///
/// # Safety
/// `spec` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rina_flow_spec_unreliable(spec: *mut FlowSpec) {
    // SAFETY: as the caller says.
    unsafe { ptr::write(spec, FlowSpec::new(false)) };
}

/// The longest SDU that can be written to a flow, in bytes; 0 after an error.
#[unsafe(no_mangle)]
pub extern "C" fn rina_flow_mss_get(fd: c_int) -> c_uint {
    let longest = api::longest_sdu(fd).map(|longest| c_int::try_from(longest).unwrap_or(c_int::MAX));
    c_uint::try_from(result(longest)).unwrap_or(0)
}
