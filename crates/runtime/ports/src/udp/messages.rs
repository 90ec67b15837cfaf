//! `recvmmsg` and `sendmmsg`: many datagrams per system call. All pointers that are passed to the kernel are in this
//! module.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

use hopwright_dataplane::Packet;
use hopwright_dataplane::packet::JUMBO_BYTES;

/// The maximum number of datagrams received per call.
pub(super) const RECEIVED_AT_ONCE: usize = 64;
/// The maximum number of joined messages received per call, and the buffer size of each in bytes.
const JOINED_AT_ONCE: usize = 8;
const JOINED_BYTES: usize = 1 << 16;
/// The length of the longest frame that can be received, in bytes. Longer ones are lost.
const LONGEST: usize = JUMBO_BYTES as usize;
/// The maximum number of messages sent per call.
const SENT_AT_ONCE: usize = 64;
/// The maximum number of datagrams in all messages of a call.
const PARTS: usize = 256;
/// The buffer size for the control messages of a datagram, in bytes.
const CONTROL: usize = 128;
/// The maximum number of datagrams in a joined message (`UDP_MAX_SEGMENTS`), and its maximum length in bytes.
const SEGMENTS: usize = 64;
const SEGMENTED: usize = 60 << 10;

/// A socket address in the kernel's format. Unused bytes are zero.
#[repr(C)]
#[derive(Clone, Copy)]
union Name {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Name {
    const NONE: Name = Name {
        // SAFETY: all-zero is a valid sockaddr_in6.
        v6: unsafe { MaybeUninit::zeroed().assume_init() },
    };

    /// Returns the socket address and its length in bytes.
    fn new((address, port): (IpAddr, u16)) -> (Name, libc::socklen_t) {
        let mut name = Name::NONE;
        let bytes = match address {
            IpAddr::V4(address) => {
                let bits = u32::from_ne_bytes(address.octets());
                name.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as u16,
                    sin_port: port.to_be(),
                    sin_addr: libc::in_addr { s_addr: bits },
                    sin_zero: [0; 8],
                };
                size_of::<libc::sockaddr_in>()
            }
            IpAddr::V6(address) => {
                name.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as u16,
                    sin6_port: port.to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: address.octets() },
                    sin6_scope_id: 0,
                };
                size_of::<libc::sockaddr_in6>()
            }
        };
        (name, bytes as libc::socklen_t)
    }

    fn address(&self) -> Option<SocketAddr> {
        // SAFETY: the union is all integers and was zero before the kernel wrote; both members begin with the family.
        let (family, v4, v6) = unsafe { (self.v4.sin_family, self.v4, self.v6) };
        let (address, port): (IpAddr, u16) = match i32::from(family) {
            libc::AF_INET => (v4.sin_addr.s_addr.to_ne_bytes().into(), v4.sin_port),
            libc::AF_INET6 => (Ipv6Addr::from(v6.sin6_addr.s6_addr).into(), v6.sin6_port),
            _ => return None,
        };
        Some(SocketAddr::new(address, u16::from_be(port)))
    }
}

/// A buffer for control messages, with the alignment that the kernel requires.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

fn no_message() -> libc::mmsghdr {
    // SAFETY: all-zero is a valid mmsghdr.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

const NO_VECTOR: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// What `recvmmsg` writes besides the payloads.
struct Envelopes {
    messages: Box<[libc::mmsghdr]>,
    names: Box<[Name]>,
    controls: Box<[Control]>,
}

/// The metadata of a received message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// Number of payload bytes received.
    pub length: usize,
    /// Whether the payload was truncated.
    pub cut: bool,
    pub from: Option<SocketAddr>,
    /// Total number of datagrams that the socket has dropped since it was opened.
    pub dropped: u32,
    /// The length of each datagram but the last in a joined message, in bytes.
    pub segment: Option<usize>,
}

impl Envelopes {
    fn new(count: usize) -> Envelopes {
        Envelopes {
            messages: vec![no_message(); count].into(),
            names: vec![Name::NONE; count].into(),
            controls: vec![Control([0; CONTROL]); count].into(),
        }
    }

    /// Receives up to `count` messages, each into an equal share of the vectors. Returns the number of messages.
    ///
    /// # Safety
    /// The vectors refer to memory that nobody else uses during the call.
    unsafe fn receive(&mut self, socket: RawFd, vectors: &mut [libc::iovec], count: usize) -> io::Result<usize> {
        if count == 0 {
            return Ok(0);
        }
        let each = vectors.len() / count;
        for (i, vectors) in vectors.chunks_exact_mut(each).enumerate() {
            let header = &mut self.messages[i].msg_hdr;
            header.msg_name = (&raw mut self.names[i]).cast();
            header.msg_namelen = size_of::<Name>() as libc::socklen_t;
            header.msg_iov = vectors.as_mut_ptr();
            header.msg_iovlen = each as _;
            header.msg_control = (&raw mut self.controls[i]).cast();
            header.msg_controllen = CONTROL as _;
            header.msg_flags = 0;
        }
        let messages = self.messages.as_mut_ptr();
        // SAFETY: the first `count` messages, as many as chunks of vectors, were filled above with
        // memory of ours and with that of the vectors.
        let result =
            unsafe { libc::recvmmsg(socket, messages, count as u32, libc::MSG_DONTWAIT as _, std::ptr::null_mut()) };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    /// Returns the metadata of a message that the last call received.
    fn received(&self, at: usize) -> Received {
        let message = &self.messages[at];
        let mut received = Received {
            length: message.msg_len as usize,
            cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            from: self.names[at].address(),
            ..Received::default()
        };
        // SAFETY: the kernel has written as many bytes of control messages as it reports into memory of ours, which the
        // header still points to.
        let mut next = unsafe { libc::CMSG_FIRSTHDR(&raw const message.msg_hdr) };
        while !next.is_null() {
            // SAFETY: a header within the control messages.
            let header = unsafe { &*next };
            // SAFETY: used for values of four bytes, as both kinds have.
            let value = || unsafe { libc::CMSG_DATA(next).cast::<u32>().read_unaligned() };
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => received.dropped = value(),
                (libc::SOL_UDP, libc::UDP_GRO) => received.segment = Some(value() as usize),
                _ => {}
            }
            // SAFETY: as above.
            next = unsafe { libc::CMSG_NXTHDR(&raw const message.msg_hdr, next) };
        }
        received
    }
}

/// Receives single datagrams into packets. What a packet has no room for goes to a second buffer.
pub(super) struct Inbox {
    envelopes: Envelopes,
    vectors: Box<[libc::iovec]>,
    rest: Box<[u8]>,
}

// SAFETY: the pointers are only followed within `receive`, which sets them first.
unsafe impl Send for Inbox {}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox {
            envelopes: Envelopes::new(RECEIVED_AT_ONCE),
            vectors: vec![NO_VECTOR; 2 * RECEIVED_AT_ONCE].into(),
            // Its pages are allocated when they are first used.
            rest: vec![0; RECEIVED_AT_ONCE * LONGEST].into(),
        }
    }

    /// Receives into the buffers of packets, each `headers` bytes behind its start. Returns the number of datagrams.
    pub(super) fn receive(&mut self, socket: RawFd, packets: &mut [Packet], headers: usize) -> io::Result<usize> {
        let count = packets.len().min(RECEIVED_AT_ONCE);
        let places = self.vectors.chunks_exact_mut(2).zip(self.rest.chunks_exact_mut(LONGEST));
        for (packet, (vectors, rest)) in packets.iter_mut().take(count).zip(places) {
            let start = packet.raw().start as usize + headers;
            let room = packet.buffer_mut().get_mut(start..).unwrap_or_default();
            vectors[0] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            vectors[1] = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
        }
        // SAFETY: the vectors are of packets and of memory that are borrowed until the end of this function.
        unsafe { self.envelopes.receive(socket, &mut self.vectors[..2 * count], count) }
    }

    /// Returns the metadata of a datagram that the last call received.
    pub(super) fn received(&self, at: usize) -> Received {
        self.envelopes.received(at)
    }

    /// Returns the part of a datagram that its packet had no room for. Its length follows from the metadata.
    pub(super) fn rest(&self, at: usize) -> &[u8] {
        &self.rest[at * LONGEST..(at + 1) * LONGEST]
    }
}

/// Receives joined datagrams, several of one flow per message (the kernel's GRO).
pub(super) struct Joined {
    envelopes: Envelopes,
    vectors: Box<[libc::iovec]>,
    buffers: Box<[u8]>,
    /// Number of messages that the last call received; the message and the offset of the next datagram.
    count: usize,
    at: usize,
    offset: usize,
}

// SAFETY: the pointers are only followed within `receive`, which sets them first.
unsafe impl Send for Joined {}

impl Joined {
    pub(super) fn new() -> Joined {
        Joined {
            envelopes: Envelopes::new(JOINED_AT_ONCE),
            vectors: vec![NO_VECTOR; JOINED_AT_ONCE].into(),
            // Its pages are allocated when they are first used.
            buffers: vec![0; JOINED_AT_ONCE * JOINED_BYTES].into(),
            count: 0,
            at: 0,
            offset: 0,
        }
    }

    /// Whether all received datagrams have been taken.
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.count
    }

    /// Receives messages, which replace the previous ones.
    pub(super) fn receive(&mut self, socket: RawFd) -> io::Result<()> {
        (self.count, self.at, self.offset) = (0, 0, 0);
        for (vector, buffer) in self.vectors.iter_mut().zip(self.buffers.chunks_exact_mut(JOINED_BYTES)) {
            *vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        }
        // SAFETY: the vectors are of memory that is borrowed until the end of this function.
        self.count = unsafe { self.envelopes.receive(socket, &mut self.vectors, JOINED_AT_ONCE) }?;
        Ok(())
    }

    /// Returns the next datagram, the first one of its message, and the metadata of the message, whose `length` is that of all of
    /// it.
    pub(super) fn next(&mut self) -> Option<(Received, &[u8], &[u8])> {
        if self.is_empty() {
            return None;
        }
        let received = self.envelopes.received(self.at);
        let message = &self.buffers[self.at * JOINED_BYTES..][..received.length.min(JOINED_BYTES)];
        let size = received.segment.filter(|size| *size > 0).unwrap_or(message.len());
        let end = message.len().min(self.offset + size);
        let datagram = &message[self.offset..end];
        self.offset = end;
        if end == message.len() {
            (self.at, self.offset) = (self.at + 1, 0);
        }
        Some((received, datagram, &message[..size.min(message.len())]))
    }
}

/// Datagrams to be sent by one socket. Consecutive datagrams of equal length to the same address form one message,
/// which the kernel segments as late as possible (UDP segmentation offload).
pub(super) struct Outbox {
    messages: Box<[libc::mmsghdr]>,
    /// The datagrams of each message.
    pieces: Box<[Pieces]>,
    names: Box<[Name]>,
    controls: Box<[Control]>,
    vectors: Box<[libc::iovec]>,
    count: usize,
    parts: usize,
}

/// The datagrams of a message.
#[derive(Clone, Copy, Default)]
struct Pieces {
    to: Option<(IpAddr, u16)>,
    first: usize,
    count: usize,
    /// Length of all datagrams but the last, which may be shorter.
    size: usize,
    bytes: usize,
    /// No more datagrams can be added.
    closed: bool,
}

// SAFETY: the pointers are only followed within `send`, where their targets still live: see `push`.
unsafe impl Send for Outbox {}

/// A message that the kernel refused.
pub(super) struct Refused {
    /// The number of its datagrams.
    pub count: usize,
    /// The length of the first datagram in bytes.
    pub size: usize,
    pub error: io::Error,
}

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox {
            messages: vec![no_message(); SENT_AT_ONCE].into(),
            pieces: vec![Pieces::default(); SENT_AT_ONCE].into(),
            names: vec![Name::NONE; SENT_AT_ONCE].into(),
            controls: vec![Control([0; CONTROL]); SENT_AT_ONCE].into(),
            vectors: vec![NO_VECTOR; PARTS].into(),
            count: 0,
            parts: 0,
        }
    }

    /// Whether no more datagrams fit.
    pub(super) fn is_full(&self) -> bool {
        self.count == SENT_AT_ONCE || self.parts == PARTS
    }

    /// Adds a datagram. It is joined with the previous one only if that is at most `longest` bytes long. The box must
    /// not be full.
    ///
    /// # Safety
    /// The payload stays alive and unchanged until the box is sent or cleared.
    pub(super) unsafe fn push(&mut self, to: (IpAddr, u16), payload: &[u8], longest: usize) {
        let vector = libc::iovec { iov_base: payload.as_ptr().cast_mut().cast(), iov_len: payload.len() };
        self.vectors[self.parts] = vector;
        self.parts += 1;
        if let Some(last) = self.count.checked_sub(1).map(|last| &mut self.pieces[last])
            && !last.closed
            && last.to == Some(to)
            && (1..=last.size).contains(&payload.len())
            && last.count < SEGMENTS
            && last.bytes + payload.len() <= SEGMENTED
        {
            last.count += 1;
            last.bytes += payload.len();
            last.closed = payload.len() < last.size;
            return;
        }
        let size = payload.len();
        self.pieces[self.count] =
            Pieces { to: Some(to), first: self.parts - 1, count: 1, size, bytes: size, closed: size > longest };
        self.count += 1;
    }

    /// Sends all messages and empties the box. Returns how many datagrams the kernel took. `refused` is called for each
    /// message that it did not take, and may request that its datagrams are sent one by one.
    pub(super) fn send(&mut self, socket: RawFd, mut refused: impl FnMut(Refused) -> Again) -> usize {
        for at in 0..self.count {
            self.prepare(at);
        }
        let (mut sent, mut at) = (0, 0);
        while at < self.count {
            let rest = self.count - at;
            match self.send_some(socket, at, rest) {
                Ok(taken) => {
                    sent += self.pieces[at..at + taken].iter().map(|pieces| pieces.count).sum::<usize>();
                    at += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let pieces = self.pieces[at];
                    match refused(Refused { count: pieces.count, size: pieces.size, error }) {
                        Again::OneByOne if pieces.count > 1 => sent += self.send_apart(socket, at, &mut refused),
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
        (self.count, self.parts) = (0, 0);
        sent
    }

    /// Writes the header of a message.
    fn prepare(&mut self, at: usize) {
        let pieces = self.pieces[at];
        let Some(to) = pieces.to else { return };
        let (name, name_bytes) = Name::new(to);
        self.names[at] = name;
        let header = &mut self.messages[at].msg_hdr;
        header.msg_name = (&raw mut self.names[at]).cast();
        header.msg_namelen = name_bytes;
        header.msg_iov = &raw mut self.vectors[pieces.first];
        header.msg_iovlen = pieces.count as _;
        header.msg_control = std::ptr::null_mut();
        header.msg_controllen = 0;
        if pieces.count == 1 {
            return;
        }
        header.msg_control = (&raw mut self.controls[at]).cast();
        // SAFETY: pure computation.
        let (space, length) = unsafe { (libc::CMSG_SPACE(2), libc::CMSG_LEN(2)) };
        header.msg_controllen = space as _;
        // SAFETY: the control memory is aligned and longer than one message with two bytes.
        unsafe {
            let control = libc::CMSG_FIRSTHDR(&raw const *header);
            (*control).cmsg_level = libc::SOL_UDP;
            (*control).cmsg_type = libc::UDP_SEGMENT;
            (*control).cmsg_len = length as _;
            libc::CMSG_DATA(control).cast::<u16>().write_unaligned(pieces.size as u16);
        }
    }

    fn send_some(&mut self, socket: RawFd, at: usize, count: usize) -> io::Result<usize> {
        assert!(at + count <= self.count);
        // SAFETY: these messages were prepared with memory of this box and with payloads that live while they are in
        // the box, as the callers of `push` guaranteed.
        let result = unsafe {
            libc::sendmmsg(socket, self.messages.as_mut_ptr().add(at), count as u32, libc::MSG_DONTWAIT as _)
        };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    /// Sends the datagrams of a message one by one.
    fn send_apart(&mut self, socket: RawFd, at: usize, refused: &mut impl FnMut(Refused) -> Again) -> usize {
        let all = self.pieces[at];
        let mut sent = 0;
        for first in all.first..all.first + all.count {
            self.pieces[at] = Pieces { first, count: 1, ..all };
            self.prepare(at);
            loop {
                match self.send_some(socket, at, 1) {
                    Ok(_) => sent += 1,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => drop(refused(Refused { count: 1, size: all.size, error })),
                }
                break;
            }
        }
        sent
    }
}

/// What to do about a refused message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Its datagrams are lost.
    No,
    /// Try to send its datagrams one by one.
    OneByOne,
}
