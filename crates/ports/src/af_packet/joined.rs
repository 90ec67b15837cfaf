//! Sends several datagrams as one frame, which the device segments; see [`crate::offload::segmentation`].

use hopwright_dataplane::Packet;

use super::sending_socket;
use crate::linux::closing::SlowToClose;
use crate::linux::device::{DeviceError, failed};
use crate::linux::sys;
use crate::offload::segmentation::{self, LONGEST, OFFLOADS};

/// A socket for joined frames, and the buffer in which they are built.
pub(crate) struct Joiner {
    socket: SlowToClose,
    buffer: Box<[u8; OFFLOADS + LONGEST]>,
    fill: bool,
    /// False once the kernel has refused a joined frame.
    works: bool,
}

impl Joiner {
    pub(crate) fn new(device: &str, index: i32) -> Result<Joiner, DeviceError> {
        let socket = sending_socket(device)?;
        let works = sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &(1 as libc::c_int)).is_ok();
        sys::bind_packet(&socket, index, 0).map_err(failed(device, "bind"))?;
        // Pages of the buffer are allocated when frames are first joined.
        let buffer = vec![0; OFFLOADS + LONGEST].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!());
        Ok(Joiner { socket, buffer, fill: false, works })
    }

    /// Sets whether datagrams over IPv4 without a UDP checksum may be sent with one.
    pub(crate) fn fill_checksums(&mut self, yes: bool) {
        self.fill = yes;
    }

    /// Returns how many packets, from the first on, can be sent as one frame; 1 if the first must be sent alone.
    #[inline]
    pub(crate) fn alike(&self, packets: &[Packet], longest: usize) -> usize {
        if self.works { segmentation::alike(packets, longest, self.fill) } else { 1.min(packets.len()) }
    }

    /// Sends packets that [`Joiner::alike`] accepted as one frame. Returns false if none of them was sent; the caller
    /// may then send them one by one.
    pub(crate) fn send(&mut self, packets: &[Packet]) -> bool {
        let length = segmentation::join(packets, &mut self.buffer);
        loop {
            let Err(error) = sys::send(&self.socket, &self.buffer[..length]) else { return true };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // Linux before 6.2 does not support joined frames.
                Some(libc::EINVAL) => {
                    self.works = false;
                    return false;
                }
                _ => return false,
            }
        }
    }
}
