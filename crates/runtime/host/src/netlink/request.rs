//! Requests to the kernel and its answers.

use std::io;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use super::message::{Frame, HEADER, frames, kind};

/// A socket for requests.
pub(crate) struct Requests {
    socket: Socket,
    sequence: u32,
}

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Answer {
    Complete,
    /// Something changed while the kernel listed it: what there is may be missing.
    Disturbed,
}

impl Requests {
    pub(super) fn open() -> io::Result<Requests> {
        Requests::of(NETLINK_ROUTE)
    }

    /// Of another protocol of netlink.
    pub(crate) fn of(protocol: isize) -> io::Result<Requests> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Requests { socket, sequence: 0 })
    }

    /// Sends a request, and hands over the messages of the answer as they come.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        take: impl FnMut(&Frame<'_>),
    ) -> io::Result<Answer> {
        let mut packet = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.exchange(packet.header.message_type, flags, &bytes[HEADER..], take)
    }

    /// The same, of a request of this type without its header.
    pub(crate) fn exchange(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut take: impl FnMut(&Frame<'_>),
    ) -> io::Result<Answer> {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let length = ((HEADER + body.len()) as u32).to_ne_bytes();
        let flags = NLM_F_REQUEST | flags;
        let header = [&length[..], &kind.to_ne_bytes(), &flags.to_ne_bytes(), &self.sequence.to_ne_bytes(), &[0; 4]];
        self.socket.send(&[&header.concat()[..], body].concat(), 0)?;
        let lists = flags & NLM_F_DUMP == NLM_F_DUMP;
        let mut answer = Answer::Complete;
        loop {
            let (bytes, _) = match self.socket.recv_from_full() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                received => received?,
            };
            // Messages behind one that is cut off are not those of the kernel.
            for frame in frames(&bytes).map_while(Result::ok).filter(|frame| frame.sequence == self.sequence) {
                if frame.flags & NLM_F_DUMP_INTR != 0 {
                    answer = Answer::Disturbed;
                }
                match frame.kind {
                    // Code 0 is an acknowledgement.
                    kind::ERROR | kind::DONE => {
                        return match frame.code() {
                            0.. => Ok(answer),
                            code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                        };
                    }
                    _ => take(&frame),
                }
                if !lists {
                    return Ok(answer);
                }
            }
        }
    }
}
