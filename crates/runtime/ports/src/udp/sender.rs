//! Sends the datagrams of frames through the sockets on their source addresses.

use std::net::IpAddr;
use std::sync::Arc;

use super::destinations::Destinations;
use super::frame::datagram;
use super::messages::{Again, Outbox};
use super::set::{Cells, Shared, Sockets, add};
use super::socket::Socket;

/// The number of datagrams after which segmentation offload is tried again if the kernel has refused it.
const RETRY: u32 = 4096;

/// The state that ports and senders need to send.
pub(super) struct Outgoing {
    shared: Arc<Shared>,
    sockets: Arc<Sockets>,
    outbox: Outbox,
    pub cells: Arc<Cells>,
    /// The maximum length of datagrams that may be joined in bytes, and for how many more datagrams this limit holds.
    longest: usize,
    until: u32,
    /// The destination of the last datagram, if it is permitted.
    to: Option<(IpAddr, u16)>,
}

impl Outgoing {
    pub(super) fn new(shared: Arc<Shared>) -> Outgoing {
        let cells = shared.cells();
        Outgoing {
            shared,
            sockets: Arc::default(),
            outbox: Outbox::new(),
            cells,
            longest: usize::MAX,
            until: 0,
            to: None,
        }
    }

    /// Returns the current sockets.
    pub(super) fn sockets(&mut self) -> &Arc<Sockets> {
        self.shared.refresh(&mut self.sockets);
        &self.sockets
    }

    /// Reads ICMP messages about path MTUs.
    pub(super) fn learn_path_mtus(&self) {
        self.shared.paths.learn(|from| self.sockets.by_address.contains_key(from));
    }

    /// Forgets path MTUs that have expired.
    pub(super) fn forget_path_mtus(&self) {
        self.shared.paths.forget();
    }

    /// Sends frames in order. Returns how many datagrams the kernel took. Counts them in `destinations` if given.
    pub(super) fn send<'a>(
        &mut self,
        frames: impl Iterator<Item = &'a [u8]>,
        destinations: Option<&Destinations>,
    ) -> usize {
        self.shared.refresh(&mut self.sockets);
        self.to = None;
        let mut socket: Option<Arc<Socket>> = None;
        let mut sent = 0;
        for frame in frames {
            let Some(datagram) = datagram(frame) else {
                add(&self.cells.no_socket, 1);
                continue;
            };
            if socket.as_ref().is_none_or(|socket| socket.key() != datagram.from) || self.outbox.is_full() {
                sent += self.flush(socket.as_deref());
                socket = self.sockets.by_address.get(&datagram.from).cloned();
            }
            if socket.is_none() {
                add(&self.cells.no_socket, 1);
                continue;
            }
            if self.to != Some(datagram.to) {
                if !self.may_go(datagram.from.0, datagram.to) {
                    add(&self.cells.bad_destination, 1);
                    continue;
                }
                self.to = Some(datagram.to);
            }
            if let Some(destinations) = destinations {
                destinations.add(datagram.to.0);
            }
            // SAFETY: the frames live until the end of this function, which sends everything.
            unsafe { self.outbox.push(datagram.to, datagram.payload, self.longest) };
        }
        sent + self.flush(socket.as_deref())
    }

    /// Whether a datagram may be sent from one of our addresses to another address.
    fn may_go(&self, from: IpAddr, to: (IpAddr, u16)) -> bool {
        let possible = match to.0 {
            IpAddr::V4(a) => !a.is_unspecified() && !a.is_multicast() && !a.is_broadcast(),
            IpAddr::V6(a) => !a.is_unspecified() && !a.is_multicast() && a.to_ipv4_mapped().is_none(),
        };
        // A datagram to one of our own sockets would be received as if another host had sent it.
        possible
            && to.1 != 0
            && (!to.0.is_loopback() || from.is_loopback() || from.is_unspecified())
            && !self.sockets.by_address.contains_key(&to)
    }

    fn flush(&mut self, socket: Option<&Socket>) -> usize {
        let Some(socket) = socket else { return 0 };
        let Outgoing { outbox, cells, longest, until, .. } = self;
        let sent = outbox.send(socket.fd(), |refused| {
            let code = refused.error.raw_os_error().unwrap_or(0);
            if refused.count > 1 && matches!(code, libc::EMSGSIZE | libc::EINVAL | libc::EIO | libc::EOPNOTSUPP) {
                // The datagrams are longer than the path allows, or the device does not support joined messages.
                let fits = matches!(code, libc::EMSGSIZE | libc::EINVAL);
                (*longest, *until) = (if fits { refused.size.saturating_sub(1) } else { 0 }, RETRY);
                return Again::OneByOne;
            }
            let cell = match code {
                libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => &cells.busy,
                libc::EMSGSIZE => &cells.too_long,
                libc::ENETUNREACH
                | libc::EHOSTUNREACH
                | libc::ENETDOWN
                | libc::EADDRNOTAVAIL
                | libc::ENODEV
                | libc::ENXIO
                | libc::EINVAL => &cells.unreachable,
                _ => &cells.refused,
            };
            add(cell, refused.count as u64);
            Again::No
        });
        *until = until.saturating_sub(sent as u32);
        if *until == 0 {
            *longest = usize::MAX;
        }
        sent
    }
}

/// Sends the datagrams of frames through the sockets, as a fallback of other ports.
pub struct UdpSender {
    outgoing: Outgoing,
}

impl UdpSender {
    pub(super) fn new(shared: Arc<Shared>) -> UdpSender {
        UdpSender { outgoing: Outgoing::new(shared) }
    }

    /// Whether a frame is too long for its path, according to an ICMP message from a router on it, though not for the
    /// device. The kernel has to fragment such frames.
    #[inline]
    pub fn is_too_long(&self, frame: &[u8]) -> bool {
        self.outgoing.shared.paths.is_too_long(frame)
    }

    /// Sends the datagrams in Ethernet frames, each through the socket on its source address. Returns how many the
    /// kernel took; [`crate::UdpSockets::counts`] has the reasons for the others.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> usize {
        let sent = self.outgoing.send(frames, None);
        add(&self.outgoing.cells.sent_for_raw, sent as u64);
        sent
    }
}

impl Clone for UdpSender {
    fn clone(&self) -> UdpSender {
        UdpSender::new(self.outgoing.shared.clone())
    }
}

impl std::fmt::Debug for UdpSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UdpSender").finish_non_exhaustive()
    }
}
