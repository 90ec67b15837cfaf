//! Which frames a device receives at all: those to its own address, and those to addresses that are asked for here.
//!
//! The network card filters by destination address. A packet socket's memberships (packet(7)) extend its filter; the card is
//! promiscuous only if every frame is asked for, or if the kernel finds no room in the card's filter.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hopwright_dataplane::Addresses;

use crate::linux::closing::SlowToClose;
use crate::linux::device::{DeviceError, failed};
use crate::linux::sys;

/// Keeps a device receiving frames to addresses that are not its own, until dropped.
#[derive(Debug)]
pub struct Reception {
    device: String,
    index: i32,
    socket: SlowToClose,
    memberships: BTreeSet<sys::Membership>,
}

impl Reception {
    /// Nothing besides what the device receives already. Needs CAP_NET_RAW.
    pub fn open(device: &str) -> Result<Reception, DeviceError> {
        let index = sys::interface_index(device).map_err(failed(device, "find the device"))?;
        // It is of no protocol: no frame reaches it.
        let socket = sys::packet_socket().map_err(failed(device, "open a packet socket"))?;
        Ok(Reception { device: device.into(), index, socket, memberships: BTreeSet::new() })
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns a duplicate of the socket: the device receives what it does now as long as that is open.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.socket.as_fd().try_clone_to_owned()
    }

    /// Has the device receive frames to these addresses, and no more to others of earlier calls.
    pub fn set(&mut self, addresses: &Addresses) -> Result<(), DeviceError> {
        let mut wanted: BTreeSet<sys::Membership> = BTreeSet::new();
        if addresses.every {
            wanted.insert(sys::Membership::Promiscuous);
        } else {
            wanted.extend(addresses.groups.then_some(sys::Membership::AllGroups));
            wanted.extend(addresses.exact.iter().map(|address| match address[0] & 1 {
                0 => sys::Membership::Station(*address),
                _ => sys::Membership::Group(*address),
            }));
        }
        for membership in wanted.difference(&self.memberships) {
            sys::set_membership(&self.socket, self.index, *membership, true)
                .map_err(failed(&self.device, "receive frames to further addresses"))?;
        }
        for membership in self.memberships.difference(&wanted) {
            // One that is gone already is no failure.
            let _ = sys::set_membership(&self.socket, self.index, *membership, false);
        }
        self.memberships = wanted;
        Ok(())
    }
}
