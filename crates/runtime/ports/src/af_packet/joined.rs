//! Sends several segments as one frame, which the device segments; see [`crate::offload::join`].

use hopwright_dataplane::Packet;

use super::sending_socket;
use crate::linux::closing::SlowToClose;
use crate::linux::device::{DeviceError, failed};
use crate::linux::gather::Gather;
use crate::linux::sys;
use crate::offload::join::{self, Head, MOST, Segments};

/// A socket for joined frames, and the list of their pieces.
pub(crate) struct Joiner {
    socket: SlowToClose,
    pieces: Box<Gather<{ 1 + MOST }>>,
    fill: bool,
    /// False once the kernel has refused a joined frame of datagrams.
    joins_datagrams: bool,
    /// False if the kernel has no joined frames at all.
    works: bool,
}

impl Joiner {
    pub(crate) fn new(device: &str, index: i32) -> Result<Joiner, DeviceError> {
        let socket = sending_socket(device)?;
        let works = sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &(1 as libc::c_int)).is_ok();
        sys::bind_packet(&socket, index, 0).map_err(failed(device, "bind"))?;
        Ok(Joiner { socket, pieces: Box::new(Gather::new()), fill: false, joins_datagrams: true, works })
    }

    /// Sets whether datagrams over IPv4 without a UDP checksum may be sent with one.
    pub(crate) fn fill_checksums(&mut self, yes: bool) {
        self.fill = yes;
    }

    /// Returns how many packets, from the first on, can be sent as one frame of a kind that the device takes; 1 if the
    /// first must be sent alone.
    #[inline]
    pub(crate) fn joinable(&self, packets: &[Packet], longest: usize, takes: Segments) -> usize {
        if !self.works {
            return 1.min(packets.len());
        }
        let takes = if self.joins_datagrams { takes } else { takes.without_udp() };
        join::joinable(packets, longest, takes, self.fill)
    }

    /// Sends packets that [`Joiner::joinable`] accepted as one frame. Returns false if none of them was sent; the caller
    /// may then send them one by one.
    pub(crate) fn send(&mut self, packets: &[Packet]) -> bool {
        let Some(head) = Head::of(packets) else { return false };
        loop {
            let Err(error) = self.pieces.send(&self.socket, head.and_payloads(packets)) else { return true };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // Linux before 6.2 does not support joined frames of datagrams.
                Some(libc::EINVAL) if head.is_udp() => {
                    self.joins_datagrams = false;
                    return false;
                }
                _ => return false,
            }
        }
    }
}
