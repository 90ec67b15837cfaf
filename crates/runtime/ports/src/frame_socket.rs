//! A packet socket that is read frame by frame, for rare frames beside the data path.

use std::os::fd::{AsRawFd, RawFd};

use crate::filter::Filter;
use crate::linux::closing::SlowToClose;
use crate::linux::device::DeviceError;
use crate::linux::sys;

/// Receives the frames of a device that pass a filter. It sends nothing.
#[derive(Debug)]
pub struct FrameSocket {
    socket: SlowToClose,
    buffer: Vec<u8>,
}

impl FrameSocket {
    /// Opens a device. Frames longer than `longest` bytes are truncated. Needs CAP_NET_RAW.
    pub fn open(device: &str, filter: &Filter, longest: usize) -> Result<FrameSocket, DeviceError> {
        let failed = |what| move |error| DeviceError { device: device.into(), what, error };
        let index = sys::interface_index(device).map_err(failed("find the device"))?;
        let socket = sys::packet_socket().map_err(failed("open a packet socket"))?;
        sys::set_option(&socket, libc::SOL_PACKET, sys::PACKET_IGNORE_OUTGOING, &(1 as libc::c_int))
            .map_err(failed("ignore outgoing packets"))?;
        sys::attach_filter(&socket, filter).map_err(failed("attach the filter"))?;
        sys::bind_packet(&socket, index, libc::ETH_P_ALL).map_err(failed("bind"))?;
        Ok(FrameSocket { socket, buffer: vec![0; longest] })
    }

    /// Returns the next frame, if there is one. Does not wait. A failing device is not an error; it just receives
    /// nothing.
    pub fn next_frame(&mut self) -> Option<&[u8]> {
        let length = sys::receive(&self.socket, &mut self.buffer).ok()?;
        self.buffer.get(..length)
    }

    /// The descriptor to poll for input.
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
