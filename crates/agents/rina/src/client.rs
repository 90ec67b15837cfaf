//! What an application on this machine uses: names, flows and their SDUs, by the agent's socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::slice;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};

use crate::applications::{Answer, Cube, LONGEST_PACKET, Request, packet};
use crate::efcp::LONGEST_SDU;
use crate::name::Name;

/// How long the agent may take to answer.
const ANSWER: Duration = Duration::from_secs(15);

/// Why an application does not get what it asks for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens at the socket.
    #[error("{}: {source}: is `hopwright rina` running here?", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The agent refuses.
    #[error("{0}")]
    Failed(String),
    /// The connection to the agent.
    #[error("the IPC process: {0}")]
    Io(#[from] io::Error),
}

/// A connection to the IPC processes of this machine.
#[derive(Debug)]
struct Connection(OwnedFd);

impl Connection {
    fn open(path: &Path, request: &Request) -> Result<Connection, ClientError> {
        let connect = || {
            let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            rustix::net::connect(&fd, &SocketAddrUnix::new(path)?)?;
            sockopt::set_socket_timeout(&fd, Timeout::Recv, Some(ANSWER))?;
            Ok(fd)
        };
        let fd = connect().map_err(|error: Errno| ClientError::Connect { path: path.into(), source: error.into() })?;
        let text = serde_json::to_vec(request).map_err(io::Error::from)?;
        rustix::net::send(&fd, &text, SendFlags::NOSIGNAL).map_err(io::Error::from)?;
        Ok(Connection(fd))
    }

    fn answer(&self) -> Result<Answer, ClientError> {
        answer(&self.0)
    }

    fn set_patience(&self, time: Option<Duration>) -> io::Result<()> {
        set_patience(&self.0, time)
    }
}

/// Makes a request, whose answer comes at the descriptor: for programs that wait for several things at once.
pub fn ask(path: &Path, request: &Request) -> Result<OwnedFd, ClientError> {
    Connection::open(path, request).map(|connection| connection.0)
}

/// Waits for the next answer at a descriptor of [`ask`].
///
/// # Errors
/// [`ClientError::Failed`] if the request is refused, an error of the kind `WouldBlock` if there is no answer yet and the descriptor does
/// not wait.
pub fn answer(fd: impl AsFd) -> Result<Answer, ClientError> {
    let mut buffer = vec![0; LONGEST_PACKET];
    let Some(length) = receive(fd, &mut buffer)? else {
        return Err(ClientError::Failed("the IPC process has ended the connection".into()));
    };
    match serde_json::from_slice(&buffer[..length]).map_err(io::Error::from)? {
        Answer::Failed(why) => Err(ClientError::Failed(why)),
        answer => Ok(answer),
    }
}

/// Sets how long a descriptor of [`ask`] waits for a packet: 15 s at first, for ever with none.
pub fn set_patience(fd: impl AsFd, time: Option<Duration>) -> io::Result<()> {
    // No time at all would be for ever.
    let time = time.map(|time| time.max(Duration::from_micros(1)));
    Ok(sockopt::set_socket_timeout(fd, Timeout::Recv, time)?)
}

/// A packet; none at the connection's end.
fn receive(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::net::recv(&fd, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Ok(None),
            Ok((length, _)) => return Ok(Some(length)),
            // The other end has closed without reading everything. What it has sent comes next.
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The state of the IPC processes, as JSON.
pub fn show(path: &Path) -> Result<String, ClientError> {
    let connection = Connection::open(path, &Request::Show)?;
    let mut text = Vec::new();
    let mut buffer = vec![0; LONGEST_PACKET];
    while let Some(length) = receive(&connection.0, &mut buffer)? {
        text.extend_from_slice(&buffer[..length]);
    }
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error).into())
}

/// An application that is registered under a name, until this is dropped.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    connection: Connection,
}

/// Another application that asks for a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Who asks.
    pub from: Name,
    /// Name of the QoS cube.
    pub qos: String,
    flow: String,
}

impl Listener {
    /// Registers an application in a DIF, or in all.
    pub fn register(path: &Path, name: Name, dif: Option<Name>) -> Result<Listener, ClientError> {
        let connection = Connection::open(path, &Request::Register { name, dif, listener: None })?;
        connection.answer()?;
        connection.set_patience(None)?;
        Ok(Listener { path: path.into(), connection })
    }

    /// Waits for the next request.
    pub fn next(&self) -> Result<Incoming, ClientError> {
        loop {
            if let Answer::Requested { flow, from, qos, .. } = self.connection.answer()? {
                return Ok(Incoming { from, qos, flow });
            }
        }
    }

    /// Refuses a request.
    pub fn refuse(&self, incoming: &Incoming) -> Result<(), ClientError> {
        let connection = Connection::open(&self.path, &Request::Refuse { flow: incoming.flow.clone() })?;
        connection.answer().map(drop)
    }

    /// Accepts a request.
    pub fn accept(&self, incoming: &Incoming) -> Result<Flow, ClientError> {
        let connection = Connection::open(&self.path, &Request::Accept { flow: incoming.flow.clone(), plain: false })?;
        connection.answer()?;
        connection.set_patience(None)?;
        Ok(Flow { connection })
    }
}

/// A flow to another application. [`Flow::close`] ends it and says whether what was sent has arrived. It also ends when this is
/// dropped; what was sent is delivered, but nobody is told.
#[derive(Debug)]
pub struct Flow {
    connection: Connection,
}

impl Flow {
    /// Asks for a flow.
    pub fn allocate(path: &Path, from: Name, to: Name, qos: &str, dif: Option<Name>) -> Result<Flow, ClientError> {
        let qos = Cube::from(qos);
        let connection = Connection::open(path, &Request::Allocate { from, to, qos, dif, plain: false })?;
        connection.answer()?;
        connection.set_patience(None)?;
        Ok(Flow { connection })
    }

    /// Sends an SDU of at most [`LONGEST_SDU`] bytes; waits while the flow has no room. False if the flow has ended: what it has
    /// received can still be read, and then why it ended.
    pub fn send(&self, sdu: &[u8]) -> io::Result<bool> {
        if sdu.len() > LONGEST_SDU {
            let text = format!("an SDU has {LONGEST_SDU} bytes at most");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.send_packet(packet::SDU, sdu)
    }

    fn send_packet(&self, what: u8, bytes: &[u8]) -> io::Result<bool> {
        let parts = [IoSlice::new(slice::from_ref(&what)), IoSlice::new(bytes)];
        loop {
            let mut none = SendAncillaryBuffer::default();
            match rustix::net::sendmsg(&self.connection.0, &parts, &mut none, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(true),
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Receives an SDU; waits so long at most. The buffer has at least [`LONGEST_SDU`] bytes.
    pub fn receive(&self, buffer: &mut [u8], patience: Option<Duration>) -> io::Result<Received> {
        self.connection.set_patience(patience)?;
        loop {
            let mut what = [0];
            let mut parts = [IoSliceMut::new(&mut what), IoSliceMut::new(buffer)];
            let mut none = RecvAncillaryBuffer::default();
            let length = match rustix::net::recvmsg(&self.connection.0, &mut parts, &mut none, RecvFlags::empty()) {
                Ok(message) if message.flags.contains(ReturnFlags::TRUNC) => {
                    let text = format!("an SDU is longer than the buffer, which has {} bytes", buffer.len());
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                }
                Ok(message) => message.bytes,
                // The other end has closed without reading everything. What it has sent, such as the reason, comes next.
                Err(Errno::INTR | Errno::CONNRESET) => continue,
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(error) => return Err(error.into()),
            };
            return Ok(match (length.checked_sub(1), what[0]) {
                (None, _) => Received::Failed("the IPC process has ended the connection".into()),
                (Some(length), packet::SDU) => Received::Sdu(length),
                (Some(0), _) => Received::End,
                (Some(length), _) => Received::Failed(String::from_utf8_lossy(&buffer[..length]).into_owned()),
            });
        }
    }

    /// Ends the flow, and waits until the other end has confirmed that what was sent has arrived. SDUs that come meanwhile are dropped.
    /// Without `patience` it waits as long as the other end acknowledges; when the time is over the IPC process goes on to deliver.
    ///
    /// # Errors
    /// Something may not have arrived, for the reason that the error tells.
    pub fn close(self, patience: Option<Duration>) -> Result<(), ClientError> {
        let end = patience.map(|patience| Instant::now() + patience);
        let mut buffer = vec![0; LONGEST_SDU];
        self.send_packet(packet::END, &[])?;
        loop {
            let rest = end.map(|end| end.saturating_duration_since(Instant::now()));
            match self.receive(&mut buffer, rest)? {
                Received::End => return Ok(()),
                Received::Failed(why) => return Err(ClientError::Failed(why)),
                Received::Nothing => return Err(ClientError::Failed("not confirmed in time".into())),
                Received::Sdu(_) if rest.is_some_and(|rest| rest.is_zero()) => {
                    return Err(ClientError::Failed("not confirmed in time".into()));
                }
                Received::Sdu(_) => {}
            }
        }
    }
}

/// What has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// An SDU of this many bytes.
    Sdu(usize),
    /// Nothing in time.
    Nothing,
    /// The flow has ended, and nothing is missing.
    End,
    /// The flow has ended, and for this reason something may be missing.
    Failed(String),
}
