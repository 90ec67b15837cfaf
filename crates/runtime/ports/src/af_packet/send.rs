//! Sends a burst of frames: segments of one flow as joined frames, others through a transmit ring, and what the ring
//! does not take with `sendmmsg`. What the device cannot send goes to the fallback UDP sockets, if there are any.
//!
//! `sendmmsg` reports a result for each frame, and thus the reason why the ring did not take it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use hopwright_dataplane::{MAX_BATCH, Packet};

use super::joined::Joiner;
use super::send_ring::SendRing;
use crate::offload::join::Segments;
use crate::udp::UdpSender;

/// The means of sending of one port, with reusable message headers.
pub(super) struct Burst {
    joiner: Joiner,
    ring: Option<SendRing>,
    /// Sends what the device cannot send.
    fallback: Option<UdpSender>,
    vectors: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers are only followed within `send_chunk`, which sets them first.
unsafe impl Send for Burst {}

/// The result of sending a burst, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub sent: usize,
    /// Dropped because the device or the socket had no room.
    pub busy: usize,
    /// Refused by the system: longer than the MTU, or the device is down.
    pub refused: usize,
}

impl Burst {
    /// The ring must be bound to the device of the socket that is passed to [`Burst::send`].
    pub(super) fn new(ring: Option<SendRing>, joiner: Joiner) -> Burst {
        // SAFETY: all-zero is a valid iovec and mmsghdr.
        let (vector, message) = unsafe { (MaybeUninit::zeroed().assume_init(), MaybeUninit::zeroed().assume_init()) };
        let (vectors, messages) = (vec![vector; MAX_BATCH].into(), vec![message; MAX_BATCH].into());
        Burst { joiner, ring, fallback: None, vectors, messages }
    }

    pub(super) fn fill_checksums(&mut self, yes: bool) {
        self.joiner.fill_checksums(yes);
    }

    /// Sets the fallback for what the device cannot send.
    pub(super) fn fall_back(&mut self, sender: UdpSender) {
        self.fallback = Some(sender);
    }

    /// The ring's socket.
    pub(super) fn ring_socket(&self) -> Option<&OwnedFd> {
        self.ring.as_ref().map(SendRing::socket)
    }

    /// Sends the packets in order through the device that the socket is bound to. The MTU allows frames of up to
    /// `longest` bytes; the kernel decides on longer ones. `takes` are the kinds of joined frames that the
    /// device takes.
    pub(super) fn send(&mut self, socket: &OwnedFd, packets: &[Packet], longest: usize, takes: Segments) -> Sent {
        let mut result = Sent::default();
        let mut rest = packets;
        while let Some(fallback) = &self.fallback
            && !rest.is_empty()
        {
            let fits = |packet: &&Packet| packet.len() <= longest && !fallback.is_too_long(packet.bytes());
            let (fitting, others) = rest.split_at(rest.iter().take_while(fits).count());
            let (too_long, others) = others.split_at(others.iter().take_while(|packet| !fits(packet)).count());
            self.send_fitting(socket, fitting, longest, takes, &mut result);
            self.refuse(too_long, &mut result);
            rest = others;
        }
        self.send_fitting(socket, rest, longest, takes, &mut result);
        result
    }

    /// Sends the packets in order through the device's queueing discipline, as far as the socket's buffer goes: one by one, and without
    /// the ring.
    pub(super) fn send_queued(&mut self, socket: &OwnedFd, packets: &[Packet]) -> Sent {
        let mut result = Sent::default();
        packets.chunks(MAX_BATCH).for_each(|packets| self.send_chunk(socket, packets, &mut result));
        result
    }

    fn send_fitting(
        &mut self,
        socket: &OwnedFd,
        packets: &[Packet],
        longest: usize,
        takes: Segments,
        result: &mut Sent,
    ) {
        if takes.is_empty() {
            self.send_apart(socket, packets, longest, result);
            return;
        }
        // Packets from `apart` to `next` will be sent one by one.
        let (mut apart, mut next) = (0, 0);
        while next < packets.len() {
            let count = self.joiner.joinable(&packets[next..], longest, takes);
            if count == 1 {
                next += 1;
                continue;
            }
            self.send_apart(socket, &packets[apart..next], longest, result);
            (apart, next) = (next, next + count);
            if self.joiner.send(&packets[apart..next]) {
                result.sent += count;
                apart = next;
            }
        }
        self.send_apart(socket, &packets[apart..], longest, result);
    }

    /// Sends packets that the device cannot send through the fallback, and counts the others as refused.
    fn refuse(&mut self, packets: &[Packet], result: &mut Sent) {
        if packets.is_empty() {
            return;
        }
        let frames = packets.iter().map(Packet::bytes);
        let sent = self.fallback.as_mut().map_or(0, |fallback| fallback.send(frames));
        result.sent += sent;
        result.refused += packets.len() - sent;
    }

    /// Sends packets one by one.
    fn send_apart(&mut self, socket: &OwnedFd, packets: &[Packet], longest: usize, result: &mut Sent) {
        for packets in packets.chunks(MAX_BATCH) {
            let taken = self.ring.as_mut().map_or(0, |ring| ring.send(packets, longest));
            result.sent += taken;
            self.send_chunk(socket, &packets[taken..], result);
        }
    }

    fn send_chunk(&mut self, socket: &OwnedFd, packets: &[Packet], result: &mut Sent) {
        for ((packet, vector), message) in packets.iter().zip(&mut self.vectors).zip(&mut self.messages) {
            let bytes = packet.bytes();
            *vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        let mut at = 0;
        while at < packets.len() {
            let rest = packets.len() - at;
            // SAFETY: `rest` messages from `at` on were filled above and point to bytes of packets that are borrowed
            // until the end of this function; the kernel reads them before the call returns.
            let count = unsafe {
                libc::sendmmsg(
                    socket.as_raw_fd(),
                    self.messages.as_mut_ptr().add(at),
                    rest as u32,
                    libc::MSG_DONTWAIT as _,
                )
            };
            if count > 0 {
                result.sent += count as usize;
                at += count as usize;
                continue;
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                // The socket's buffer is full, so the rest would fail, too.
                Some(libc::EAGAIN) => {
                    result.busy += rest;
                    return;
                }
                // The device's queue dropped this one.
                Some(libc::ENOBUFS) => {
                    result.busy += 1;
                    at += 1;
                }
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                    self.refuse(&packets[at..], result);
                    return;
                }
                _ => {
                    self.refuse(&packets[at..=at], result);
                    at += 1;
                }
            }
        }
    }
}
