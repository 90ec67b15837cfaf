//! Whether somebody has given a device a queueing discipline, by netlink.

use std::io;
use std::os::fd::OwnedFd;

use super::sys;

const RTM_NEWQDISC: u16 = libc::RTM_NEWQDISC;
const HEADER: usize = 16;
/// Offset of `tcm_handle` in `struct tcmsg`.
const HANDLE: usize = 8;
const TCMSG: usize = 20;
const ROOT: u32 = u32::MAX;

/// Asks for the queueing discipline of one device.
#[derive(Debug)]
pub(crate) struct Qdisc {
    socket: OwnedFd,
    request: [u8; HEADER + TCMSG],
}

impl Qdisc {
    /// Of the device with this index in the thread's network namespace.
    pub(crate) fn of(index: i32) -> io::Result<Qdisc> {
        let mut request = [0; HEADER + TCMSG];
        let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &((HEADER + TCMSG) as u32).to_ne_bytes());
        put(4, &libc::RTM_GETQDISC.to_ne_bytes());
        // The kernel answers who asks for an echo.
        put(6, &((libc::NLM_F_REQUEST | libc::NLM_F_ECHO) as u16).to_ne_bytes());
        put(HEADER + 4, &index.to_ne_bytes());
        // `tcm_parent`.
        put(HEADER + HANDLE + 4, &ROOT.to_ne_bytes());
        Ok(Qdisc { socket: sys::netlink_socket()?, request })
    }

    /// Whether the device's root discipline was set with `tc`: the ones that the kernel chooses have no handle, or are not shown.
    pub(crate) fn is_configured(&self) -> io::Result<bool> {
        sys::send(&self.socket, &self.request)?;
        let mut answer = [0; 4096];
        // The kernel answers before it returns from the call.
        let length = sys::receive(&self.socket, &mut answer)?;
        let handle = HEADER + HANDLE;
        let is_discipline = length >= handle + 4 && answer[4..6] == RTM_NEWQDISC.to_ne_bytes();
        Ok(is_discipline && answer[handle..handle + 4] != [0; 4])
    }
}
