//! What an application on this machine uses: names, flows and their SDUs, by the agent's socket.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::applications::{Answer, LONGEST_PACKET, Request};
use crate::ipcp::LONGEST_SDU;
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

    /// A packet; none at the connection's end.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match rustix::net::recv(&self.0, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
                Ok((length, _)) => return Ok(Some(length)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn answer(&self) -> Result<Answer, ClientError> {
        let mut buffer = vec![0; LONGEST_PACKET];
        let Some(length) = self.receive(&mut buffer)? else {
            return Err(ClientError::Failed("the IPC process has ended the connection".into()));
        };
        match serde_json::from_slice(&buffer[..length]).map_err(io::Error::from)? {
            Answer::Failed(why) => Err(ClientError::Failed(why)),
            answer => Ok(answer),
        }
    }

    fn set_patience(&self, time: Option<Duration>) -> io::Result<()> {
        // No time at all would be for ever.
        let time = time.map(|time| time.max(Duration::from_micros(1)));
        Ok(sockopt::set_socket_timeout(&self.0, Timeout::Recv, time)?)
    }
}

/// The state of the IPC processes, as JSON.
pub fn show(path: &Path) -> Result<String, ClientError> {
    let connection = Connection::open(path, &Request::Show)?;
    let mut text = Vec::new();
    let mut buffer = vec![0; LONGEST_PACKET];
    while let Some(length) = connection.receive(&mut buffer)? {
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
    flow: u32,
}

impl Listener {
    /// Registers an application in a DIF, or in all.
    pub fn register(path: &Path, name: Name, dif: Option<Name>) -> Result<Listener, ClientError> {
        let connection = Connection::open(path, &Request::Register { name, dif })?;
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

    /// Accepts a request.
    pub fn accept(&self, incoming: &Incoming) -> Result<Flow, ClientError> {
        let connection = Connection::open(&self.path, &Request::Accept { flow: incoming.flow })?;
        connection.answer()?;
        connection.set_patience(None)?;
        Ok(Flow { connection })
    }
}

/// A flow to another application. It ends when this is dropped; what was sent is delivered.
#[derive(Debug)]
pub struct Flow {
    connection: Connection,
}

impl Flow {
    /// Asks for a flow.
    pub fn allocate(path: &Path, from: Name, to: Name, qos: &str, dif: Option<Name>) -> Result<Flow, ClientError> {
        let connection = Connection::open(path, &Request::Allocate { from, to, qos: qos.into(), dif })?;
        connection.answer()?;
        connection.set_patience(None)?;
        Ok(Flow { connection })
    }

    /// Sends an SDU of 1 to [`LONGEST_SDU`] bytes; waits while the flow has no room. False if the flow has ended.
    pub fn send(&self, sdu: &[u8]) -> io::Result<bool> {
        if sdu.is_empty() || sdu.len() > LONGEST_SDU {
            let text = format!("an SDU has 1 to {LONGEST_SDU} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        loop {
            match rustix::net::send(&self.connection.0, sdu, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(true),
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Receives an SDU; waits so long at most.
    pub fn receive(&self, buffer: &mut [u8], patience: Option<Duration>) -> io::Result<Received> {
        self.connection.set_patience(patience)?;
        match self.connection.receive(buffer) {
            Ok(Some(length)) => Ok(Received::Sdu(length)),
            Ok(None) => Ok(Received::End),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// An SDU of so many bytes.
    Sdu(usize),
    /// Nothing in time.
    Nothing,
    /// The flow has ended.
    End,
}
