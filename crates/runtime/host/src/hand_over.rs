//! A socket by which a running process hands its work over to a successor: messages with descriptors, between processes of one
//! owner. A process may also leave them in a socket that somebody keeps until the successor has started ([`Channel::pair`]).
//!
//! The socket is a file that only its owner can use, and both sides check that the other one is the owner's or root's. Messages and
//! the descriptors of each are bounded, and what a peer sends is only bytes: their meaning is the caller's.

use std::fs::{self, Permissions};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::{self, Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
};

/// The longest message in bytes.
pub const LONGEST: usize = 64 << 10;
/// The most descriptors that a message carries.
pub const MOST_DESCRIPTORS: usize = 128;
/// How long sending may wait for a peer that does not read.
const SEND_TIME: Duration = Duration::from_secs(2);
/// Bytes of messages that may wait in a socket which nobody reads yet: the state of an agent can have some megabytes.
const KEPT: usize = 64 << 20;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4;

/// What a message carries.
pub type Message = (Vec<u8>, Vec<OwnedFd>);

/// A socket that a successor connects to. Its file is removed when this is dropped, unless somebody else has it by then.
#[derive(Debug)]
pub struct Door {
    socket: OwnedFd,
    path: PathBuf,
    /// Whether the file is this process's to remove.
    owned: bool,
}

impl Door {
    /// Listens at a path. A file that a process left there is replaced.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] if a process listens there.
    pub fn open(path: &Path) -> io::Result<Door> {
        let address = SocketAddrUnix::new(path)?;
        let socket = socket(SocketFlags::NONBLOCK)?;
        if let Err(error) = rustix::net::bind(&socket, &address) {
            let left = error == rustix::io::Errno::ADDRINUSE
                && fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
                && matches!(Channel::connect(path), Err(error) if error.kind() == io::ErrorKind::ConnectionRefused);
            if !left {
                return Err(error.into());
            }
            fs::remove_file(path)?;
            rustix::net::bind(&socket, &address)?;
        }
        let door = Door { socket, path: path.to_path_buf(), owned: true };
        // Nobody can connect before it listens.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        rustix::net::listen(&door.socket, BACKLOG)?;
        Ok(door)
    }

    /// The socket of a predecessor, which listens at a path. The file is the predecessor's until [`Door::own`].
    pub fn inherited(socket: OwnedFd, path: &Path) -> Door {
        Door { socket, path: path.to_path_buf(), owned: false }
    }

    /// Takes the file from a predecessor.
    pub fn own(&mut self) {
        self.owned = true;
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket, for a successor.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Leaves the file to a successor.
    pub fn leave(&mut self) {
        self.owned = false;
    }

    /// Returns the next connection, if there is one; an error for one of a process that is neither the owner's nor root's.
    pub fn accept(&self) -> io::Result<Option<Channel>> {
        match rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC) {
            Ok(socket) => Channel::new(socket).map(Some),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsRawFd for Door {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if self.owned {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A connection between a process and its successor.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Connects to the process that listens at a path.
    ///
    /// # Errors
    /// Nobody listens there, or a process that is neither the owner's nor root's.
    pub fn connect(path: &Path) -> io::Result<Channel> {
        let socket = socket(SocketFlags::empty())?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        Channel::new(socket)
    }

    /// Two ends of a connection. What the first sends waits in the second, also when the first has gone. Sending never blocks: it fails
    /// when the second is full.
    pub fn pair() -> io::Result<(Channel, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, kept) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // A process without privileges has as many as the system allows everybody.
        if sockopt::set_socket_send_buffer_size_force(&ours, KEPT).is_err() {
            sockopt::set_socket_send_buffer_size(&ours, KEPT)?;
        }
        Ok((Channel(ours), kept))
    }

    /// The second end of a [`pair`](Channel::pair).
    ///
    /// # Errors
    /// It is no socket, or a process that was neither the owner's nor root's has made it.
    pub fn kept(socket: OwnedFd) -> io::Result<Channel> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        Channel::new(socket)
    }

    fn new(socket: OwnedFd) -> io::Result<Channel> {
        let peer = socket_peercred(&socket)?.uid;
        if !peer.is_root() && peer != rustix::process::geteuid() {
            let why = format!("its peer is a process of user {}", peer.as_raw());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        set_socket_timeout(&socket, Timeout::Send, Some(SEND_TIME))?;
        Ok(Channel(socket))
    }

    /// Sends a message with descriptors, at most [`LONGEST`] bytes and [`MOST_DESCRIPTORS`] descriptors.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] if the peer has gone or hung up: it will not get the message.
    pub fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        if bytes.is_empty() || bytes.len() > LONGEST || descriptors.len() > MOST_DESCRIPTORS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            // There is room.
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let bytes = [IoSlice::new(bytes)];
        loop {
            match rustix::net::sendmsg(&self.0, &bytes, &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the next message. `None`: there will be none, because the peer has gone, or this side has hung up.
    ///
    /// # Errors
    /// None came in this time ([`io::ErrorKind::WouldBlock`]), or it was too long.
    pub fn receive(&self, patience: Duration) -> io::Result<Option<Message>> {
        // Zero would be no limit.
        set_socket_timeout(&self.0, Timeout::Recv, Some(patience.max(Duration::from_millis(1))))?;
        let mut bytes = vec![0; LONGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            match rustix::net::recvmsg(&self.0, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) => break received,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
        }
        // Nobody sends empty messages.
        if received.bytes == 0 {
            return Ok(None);
        }
        bytes.truncate(received.bytes);
        Ok(Some((bytes, descriptors)))
    }

    /// Refuses what the peer has not sent yet: its [`Channel::send`] fails from now on. What it has sent can still be received.
    pub fn hang_up(&self) {
        // Fails if the peer has gone, which is as good.
        let _ = rustix::net::shutdown(&self.0, Shutdown::Both);
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Instant;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATER: Duration = Duration::from_secs(60);

    fn pair(path: &Path) -> (Door, Channel, Channel) {
        let door = Door::open(path).unwrap();
        assert!(door.accept().unwrap().is_none());
        let ours = Channel::connect(path).unwrap();
        let theirs = door.accept().unwrap().unwrap();
        (door, ours, theirs)
    }

    #[test]
    fn messages_keep_their_bounds_and_descriptors() {
        let folder = tempfile::tempdir().unwrap();
        let (_door, ours, theirs) = pair(&folder.path().join("door"));
        let (mut reader, mut writer) = io::pipe().unwrap();
        ours.send(b"one", &[writer.as_fd()]).unwrap();
        ours.send(&vec![7; LONGEST], &[]).unwrap();
        let (bytes, descriptors) = theirs.receive(LATER).unwrap().unwrap();
        assert_eq!((&bytes[..], descriptors.len()), (&b"one"[..], 1));
        fs::File::from(descriptors.into_iter().next().unwrap()).write_all(b"x").unwrap();
        writer.write_all(b"y").unwrap();
        let mut read = [0; 2];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"xy");
        assert_eq!(theirs.receive(LATER).unwrap().unwrap().0.len(), LONGEST);
        assert_eq!(theirs.receive(SOON).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let many = vec![writer.as_fd(); MOST_DESCRIPTORS];
        theirs.send(b"many", &many).unwrap();
        assert_eq!(ours.receive(LATER).unwrap().unwrap().1.len(), MOST_DESCRIPTORS);
        assert!(theirs.send(&vec![0; LONGEST + 1], &[]).is_err() && theirs.send(b"", &[]).is_err());
        drop(theirs);
        assert!(ours.receive(LATER).unwrap().is_none());
        assert_eq!(ours.send(b"late", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn what_a_process_has_left_outlives_it() {
        let (left, kept) = Channel::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        for _ in 0..100 {
            left.send(&vec![7; LONGEST], &[writer.as_fd()]).unwrap();
        }
        drop((left, writer));
        let kept = Channel::kept(kept).unwrap();
        for _ in 0..100 {
            let (bytes, descriptors) = kept.receive(LATER).unwrap().unwrap();
            assert_eq!((bytes.len(), descriptors.len()), (LONGEST, 1));
        }
        assert!(kept.receive(LATER).unwrap().is_none());
        assert_eq!(reader.read(&mut [0]).unwrap(), 0, "nobody has the descriptor any more");
        // Somebody who never reads blocks nobody.
        let (left, _kept) = Channel::pair().unwrap();
        let error = (0..10_000).find_map(|_| left.send(&vec![7; LONGEST], &[]).err()).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_peer_is_either_heard_or_told_that_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (_door, ours, theirs) = pair(&folder.path().join("door"));
        ours.send(b"before", &[]).unwrap();
        theirs.hang_up();
        assert_eq!(ours.send(b"after", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(theirs.receive(LATER).unwrap().unwrap().0, b"before");
        assert!(theirs.receive(LATER).unwrap().is_none());
    }

    #[test]
    fn one_process_listens_at_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("door");
        let (mut door, ..) = pair(&path);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Door::open(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        // A successor has the socket, and the file.
        let mut heir = Door::inherited(door.socket().try_clone_to_owned().unwrap(), &path);
        door.leave();
        drop(door);
        let _connection = Channel::connect(&path).unwrap();
        assert!(heir.accept().unwrap().is_some());
        heir.own();
        drop(heir);
        assert!(!path.exists());
        // A process that was killed has left a file. Child processes of other tests have the socket for a moment.
        let mut left = Door::open(&path).unwrap();
        left.leave();
        drop(left);
        let begun = Instant::now();
        let opens = || match Door::open(&path) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => false,
            Err(error) => panic!("{error}"),
        };
        while !opens() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the socket is in use");
            std::thread::sleep(SOON);
        }
        // What is no socket stays.
        fs::write(&path, "precious").unwrap();
        assert!(Door::open(&path).is_err() && path.exists());
        assert!(Door::open(&folder.path().join("x".repeat(200))).is_err());
    }
}
