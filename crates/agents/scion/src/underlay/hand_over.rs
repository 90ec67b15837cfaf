//! What another process of the same router takes over: UDP sockets and packet sockets.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use hopwright_ports::{Opener, SharedDevice};

/// Sockets of a process that another one uses, too: UDP sockets with their addresses, and devices.
pub type Shared = (Vec<(SocketAddr, OwnedFd)>, Vec<SharedDevice>);

use super::{RawPorts, Underlay, UnderlayError};

impl Underlay {
    fn opener(&self) -> Option<&Opener> {
        match &self.raw {
            RawPorts::Own(opener) => Some(opener),
            RawPorts::OfSwitch(_) => None,
        }
    }

    /// Duplicates of all sockets for a successor.
    pub fn share(&self) -> io::Result<Shared> {
        let devices = self.opener().map_or(Ok(Vec::new()), Opener::share)?;
        Ok((self.sockets.share()?, devices))
    }

    /// Has a predecessor's sockets used where that is possible. Until [`Underlay::take_charge`] nothing of them is changed. To be
    /// called while nothing is open.
    pub fn inherit(&self, sockets: Vec<(SocketAddr, OwnedFd)>, devices: Vec<SharedDevice>) {
        self.sockets.inherit(sockets);
        if let Some(opener) = self.opener() {
            opener.inherit(devices);
        }
    }

    /// Called when the predecessor has stopped.
    pub fn take_charge(&self) {
        let taken = match self.opener() {
            Some(opener) => opener.take_charge(),
            None => Ok(()),
        };
        if let Err(error) = taken {
            tracing::warn!(event = "socket-filter", %error, "cannot update the filters of sockets");
        }
    }

    /// Called when the predecessor has closed everything: devices that it had can be opened.
    pub fn predecessor_has_gone(&self) {
        if let Some(opener) = self.opener() {
            opener.predecessor_has_gone();
        }
    }

    /// Called when those devices are open.
    pub fn forget_predecessor(&self) {
        if let Some(opener) = self.opener() {
            opener.forget_predecessor();
        }
    }

    /// Where the packet sockets of devices stand in their rings, by device.
    pub fn positions(&self) -> Vec<(String, Vec<u32>)> {
        self.opener().map_or(Vec::new(), Opener::positions)
    }

    /// Has the packet sockets that were taken over begin where the predecessor has stopped. Returns a device whose sockets do not
    /// fit, if there is one.
    pub fn begin_at(&self, positions: &[(String, Vec<u32>)]) -> Option<String> {
        let opener = self.opener()?;
        for open in self.devices.values().filter(|open| !opener.is_occupied(&open.name)) {
            let Some((name, slots)) = positions.iter().find(|(name, _)| *name == open.name) else { continue };
            if !opener.begin_at(name, slots) {
                return Some(name.clone());
            }
        }
        None
    }

    /// Leaves everything to the sockets that a successor takes over, and waits until nothing more comes by others.
    pub fn withdraw(&self) -> Result<(), UnderlayError> {
        Ok(self.opener().map_or(Ok(()), Opener::withdraw)?)
    }

    /// Undoes [`Underlay::withdraw`].
    pub fn restore(&self) {
        if let Some(opener) = self.opener()
            && let Err(error) = opener.restore()
        {
            tracing::warn!(event = "raw-port-filter", %error, "raw ports do not receive as before");
        }
    }
}
