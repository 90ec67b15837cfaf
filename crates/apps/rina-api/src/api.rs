//! The functions of the API, without their C clothes.

use std::collections::HashMap;
use std::env;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hopwright_rina::client::{self, ClientError};
use hopwright_rina::{Answer, Cube, DEFAULT_SOCKET, Name, Request};

/// Names another socket than [`DEFAULT_SOCKET`].
const SOCKET: &str = "HOPWRIGHT_RINA_SOCKET";
/// If it is set, reasons are written to standard error: `errno` cannot tell them.
const REASONS: &str = "HOPWRIGHT_RINA_REASONS";

/// A value of `errno`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errno(pub(crate) i32);

/// Prints why something failed, if the user wants to know.
fn print_reason(error: &ClientError) {
    if env::var_os(REASONS).is_some() {
        eprintln!("rina-api: {error}");
    }
}

impl From<ClientError> for Errno {
    fn from(error: ClientError) -> Errno {
        print_reason(&error);
        match error {
            ClientError::Connect { source, .. } | ClientError::Io(source) => source.into(),
            ClientError::Failed(_) => Errno(libc::EPERM),
        }
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// What this process knows of its descriptors. A descriptor that was closed may be here until the number is used again.
#[derive(Debug, Default)]
struct Descriptors {
    /// The keys of listeners.
    listeners: HashMap<RawFd, String>,
    /// The longest SDUs of flows.
    longest: HashMap<RawFd, usize>,
    /// The keys of requests that were neither accepted nor refused, by the number that the program has for each.
    requests: HashMap<i32, String>,
    last_request: i32,
}

fn descriptors() -> MutexGuard<'static, Descriptors> {
    static DESCRIPTORS: LazyLock<Mutex<Descriptors>> = LazyLock::new(Mutex::default);
    DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask(request: &Request) -> Result<OwnedFd, Errno> {
    let path = env::var_os(SOCKET).map_or_else(|| PathBuf::from(DEFAULT_SOCKET), PathBuf::from);
    Ok(client::ask(&path, request)?)
}

/// An answer that does not belong to the request.
fn unexpected() -> Errno {
    Errno(libc::EPROTO)
}

/// A new listener.
pub(crate) fn open() -> Result<OwnedFd, Errno> {
    let fd = ask(&Request::Listen)?;
    let Answer::Listening { listener } = client::answer(&fd)? else { return Err(unexpected()) };
    client::set_patience(&fd, None)?;
    descriptors().listeners.insert(fd.as_raw_fd(), listener);
    Ok(fd)
}

/// Begins to register a name for a listener, or no longer to.
pub(crate) fn register(fd: RawFd, name: Name, dif: Option<Name>, registers: bool) -> Result<OwnedFd, Errno> {
    let Some(listener) = descriptors().listeners.get(&fd).cloned() else { return Err(Errno(libc::EBADF)) };
    ask(&match registers {
        true => Request::Register { name, dif, listener: Some(listener) },
        false => Request::Unregister { name, dif, listener },
    })
}

/// Waits until a name is registered, or no longer is.
pub(crate) fn registered(fd: OwnedFd) -> Result<(), Errno> {
    match client::answer(fd) {
        Ok(Answer::Done) => Ok(()),
        Ok(_) => Err(unexpected()),
        // A name that is taken, or a directory that is full.
        Err(error @ ClientError::Failed(_)) => {
            print_reason(&error);
            Err(Errno(libc::EBUSY))
        }
        Err(error) => Err(error.into()),
    }
}

/// Somebody who asks for a flow.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) from: Name,
    pub(crate) reliable: bool,
    /// What [`respond`] takes.
    pub(crate) handle: i32,
}

/// The next one who asks for a flow.
pub(crate) fn next(fd: BorrowedFd<'_>) -> Result<Incoming, Errno> {
    let Answer::Requested { flow, from, reliable, .. } = client::answer(fd)? else { return Err(unexpected()) };
    let mut known = descriptors();
    let mut handle = known.last_request;
    loop {
        handle = handle.checked_add(1).unwrap_or(1);
        if !known.requests.contains_key(&handle) {
            break;
        }
    }
    known.last_request = handle;
    known.requests.insert(handle, flow);
    Ok(Incoming { from, reliable, handle })
}

/// Accepts a flow, or refuses it.
pub(crate) fn respond(handle: i32, accepts: bool) -> Result<Option<OwnedFd>, Errno> {
    let Some(flow) = descriptors().requests.remove(&handle) else { return Err(Errno(libc::EINVAL)) };
    if accepts {
        return wait(ask(&Request::Accept { flow, plain: true })?).map(Some);
    }
    client::answer(ask(&Request::Refuse { flow })?)?;
    Ok(None)
}

/// Begins to allocate a flow.
pub(crate) fn allocate(from: Name, to: Name, dif: Option<Name>, reliable: bool) -> Result<OwnedFd, Errno> {
    ask(&Request::Allocate { from, to, qos: Cube::First { reliable }, dif, plain: true })
}

/// Waits until a flow is there.
pub(crate) fn wait(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    let Answer::Flow { longest_sdu } = client::answer(fd.as_fd())? else { return Err(unexpected()) };
    client::set_patience(&fd, None)?;
    descriptors().longest.insert(fd.as_raw_fd(), longest_sdu);
    Ok(fd)
}

/// The longest SDU of a flow, in bytes.
pub(crate) fn longest_sdu(fd: RawFd) -> Result<usize, Errno> {
    descriptors().longest.get(&fd).copied().ok_or(Errno(libc::EBADF))
}
