//! The switch port of the UDP sockets.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};

use super::frame;
use super::messages::{Inbox, Joined, RECEIVED_AT_ONCE, Received};
use super::sender::Outgoing;
use super::set::{ICMP, Shared, Sockets, Worker, add};
use super::socket::Socket;
use crate::linux::sys::Events;

/// How long the port does not poll again after it found nothing. Polling costs a system call, and other ports are
/// usually busier.
const REST: Duration = Duration::from_micros(20);
/// The maximum number of sockets served per poll.
const SOCKETS_AT_ONCE: usize = 32;

/// One worker's part of the sockets; see [`crate::UdpSockets::ports`].
pub struct UdpPort {
    name: Box<str>,
    worker: Arc<Worker>,
    outgoing: Outgoing,
    inbox: Inbox,
    joined: Joined,
    /// The socket from which the datagrams in `joined` came.
    joined_at: Option<Arc<Socket>>,
    events: Events<SOCKETS_AT_ONCE>,
    /// Empty packets to receive into.
    empty: Vec<Packet>,
    turn: usize,
    rx_too_long: u64,
    rx_overrun: u64,
    /// Whether to receive from the sockets.
    intake: bool,
    /// When polling last found nothing, unless something has arrived since.
    idle_since: Option<Instant>,
}

impl UdpPort {
    pub(super) fn new(shared: Arc<Shared>, worker: Arc<Worker>) -> UdpPort {
        UdpPort {
            name: "udp".into(),
            worker,
            outgoing: Outgoing::new(shared),
            inbox: Inbox::new(),
            joined: Joined::new(),
            joined_at: None,
            events: Events::new(),
            empty: Vec::with_capacity(RECEIVED_AT_ONCE),
            turn: 0,
            rx_too_long: 0,
            rx_overrun: 0,
            intake: true,
            idle_since: None,
        }
    }

    /// Gives the port another name than `udp`.
    pub fn named(self, name: &str) -> UdpPort {
        UdpPort { name: name.into(), ..self }
    }

    /// Receives single datagrams from a socket.
    fn receive_from(&mut self, socket: &Socket, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        while self.empty.len() < limit.min(RECEIVED_AT_ONCE) {
            let Some(packet) = pool.take() else { break };
            self.empty.push(packet);
        }
        let headers = frame::headers(socket.address.ip());
        // An error here belongs to a datagram sent earlier and is of no use.
        let count = self.inbox.receive(socket.fd(), &mut self.empty, headers).unwrap_or(0);
        let mut good = 0;
        for (i, packet) in self.empty.drain(..).enumerate() {
            if i >= count {
                pool.give(packet);
                continue;
            }
            let received = self.inbox.received(i);
            self.rx_overrun += socket.overrun(received.dropped);
            match put(pool, packet, socket, &received, self.inbox.rest(i)) {
                Some(packet) => {
                    batch.push(packet);
                    good += 1;
                }
                None => self.rx_too_long += 1,
            }
        }
        good
    }

    /// Receives joined datagrams from a socket. Those beyond `limit` wait for the next call.
    fn receive_joined(
        &mut self,
        socket: &Arc<Socket>,
        pool: &mut Pool,
        batch: &mut Vec<Packet>,
        limit: usize,
    ) -> usize {
        // An error here belongs to a datagram sent earlier and is of no use.
        if self.joined.receive(socket.fd()).is_err() {
            return 0;
        }
        self.joined_at = Some(socket.clone());
        self.take_joined(pool, batch, limit)
    }

    /// Moves joined datagrams into packets, up to `limit`.
    fn take_joined(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let Some(socket) = &self.joined_at else { return 0 };
        let headers = frame::headers(socket.address.ip());
        let mut good = 0;
        while good < limit && !self.joined.is_empty() {
            let Some(mut packet) = pool.take() else { break };
            let Some((received, datagram, first)) = self.joined.next() else {
                pool.give(packet);
                break;
            };
            if let Some(flows) = socket.flows() {
                flows.compare(first, datagram);
            }
            self.rx_overrun += socket.overrun(received.dropped);
            let start = packet.raw().start as usize + headers;
            let room = packet.buffer_mut().get_mut(start..).unwrap_or_default();
            let here = datagram.len().min(room.len());
            let (datagram, rest) = datagram.split_at(here);
            room[..here].copy_from_slice(datagram);
            let received = Received { length: here + rest.len(), ..received };
            match put(pool, packet, socket, &received, rest) {
                Some(packet) => {
                    batch.push(packet);
                    good += 1;
                }
                None => self.rx_too_long += 1,
            }
        }
        if self.joined.is_empty() {
            self.joined_at = None;
        }
        good
    }
}

/// Completes a frame from a packet that holds the start of a datagram behind room for the headers, and `rest`, for
/// which the packet had no room. Returns `None` if no frame is large enough or the datagram was truncated.
fn put(pool: &mut Pool, mut packet: Packet, socket: &Socket, received: &Received, rest: &[u8]) -> Option<Packet> {
    let headers = frame::headers(socket.address.ip());
    let length = headers + received.length;
    let start = packet.raw().start;
    let from = received.from.filter(|_| !received.cut);
    if from.is_some() && !packet.set_bounds(start, start + length as u32) {
        let whole = packet.raw().capacity;
        packet.set_bounds(start, whole);
        let here = packet.len();
        let large = pool.take_large().and_then(|mut large| {
            let fits = large.fill(packet.bytes()) && rest.get(..length - here).is_some_and(|rest| large.append(rest));
            if fits {
                return Some(large);
            }
            pool.give(large);
            None
        });
        pool.give(packet);
        packet = large?;
    }
    let Some(from) = from else {
        pool.give(packet);
        return None;
    };
    frame::finish(packet.bytes_mut(), from, socket.address);
    Some(packet)
}

impl Port for UdpPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut count = self.take_joined(pool, batch, limit);
        if !self.intake || self.idle_since.is_some_and(|since| since.elapsed() < REST) {
            return count;
        }
        let ready = if count < limit { self.events.take(&self.worker.ready) } else { 0 };
        let sockets: Arc<Sockets> = self.outgoing.sockets().clone();
        // Start at another socket each time, so that none is always served last.
        self.turn = self.turn.wrapping_add(1);
        for i in 0..ready {
            let i = self.turn.wrapping_add(i) % ready;
            if count == limit || !self.joined.is_empty() {
                break;
            }
            match sockets.by_number.get(&self.events.data(i)) {
                Some(socket) if socket.joins() => count += self.receive_joined(socket, pool, batch, limit - count),
                Some(socket) => count += self.receive_from(socket, pool, batch, limit - count),
                None if self.events.data(i) == ICMP => self.outgoing.learn_path_mtus(),
                // The socket was closed since the poll.
                None => {}
            }
        }
        self.idle_since = (count == 0 && ready == 0).then(Instant::now);
        add(&self.outgoing.cells.received, count as u64);
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let frames = packets.iter().map(Packet::bytes);
        let sent = self.outgoing.send(frames, Some(&self.worker.destinations));
        add(&self.outgoing.cells.sent, sent as u64);
        packets.drain(..).for_each(|packet| pool.give(packet));
        sent
    }

    fn set_intake(&mut self, open: bool) {
        self.intake = open;
    }

    fn pending(&mut self) -> bool {
        // Datagrams have been received, but there were no packets for them.
        !self.joined.is_empty()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.worker.ready.as_fd())
    }

    fn stats(&self) -> DeviceStats {
        self.outgoing.forget_path_mtus();
        let counts = self.outgoing.cells.counts();
        DeviceStats {
            rx_overrun: self.rx_overrun,
            rx_too_long: self.rx_too_long,
            tx_busy: counts.busy,
            tx_error: counts.lost() - counts.busy,
            ..DeviceStats::default()
        }
    }
}

impl std::fmt::Debug for UdpPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UdpPort").field("counts", &self.outgoing.cells.counts()).finish_non_exhaustive()
    }
}
