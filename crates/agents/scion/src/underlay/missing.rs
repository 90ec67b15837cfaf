//! Addresses of the router that this machine does not have: the router runs without them, and takes them up when they
//! appear.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::Instant;

use hopwright_host::netlink::Netlink;
use hopwright_ports::udp::BindError;

use super::{LOOK_AGAIN, Underlay, UnderlayError, own_addresses};
use crate::config::links::Links;

impl Underlay {
    /// Binds sockets to those addresses of `links` that have none. Binds none if one fails. Addresses that this machine
    /// does not have are [missing](Underlay::is_missing); with `all`, new ones are errors.
    pub fn bind(&mut self, kernel: &Netlink, links: &Links, all: bool) -> Result<(), UnderlayError> {
        let bound = self.sockets.addresses();
        let is_bound = |address: &SocketAddr| {
            bound.iter().any(|bound| (bound.ip(), bound.port()) == (address.ip(), address.port()))
        };
        let mut missing = Vec::new();
        let mut here = Vec::new();
        for address in own_addresses(links).into_iter().filter(|address| !is_bound(address)) {
            match find(address.ip(), kernel, links) {
                Ok(scope) => here.push(scoped(address, scope)),
                Err(error) if (all && !self.missing.contains(&address)) || !is_absence(&error) => {
                    return Err(BindError { address, error }.into());
                }
                Err(error) => missing.push((address, error)),
            }
        }
        self.sockets.bind_all(&here)?;
        for (address, error) in missing {
            if self.missing.insert(address) {
                tracing::warn!(
                    event = "address-missing", %address, %error,
                    "an address is missing; its links are down until the machine has it"
                );
            }
        }
        Ok(())
    }

    /// Whether this machine lacks an address of the router.
    pub fn is_missing(&self, address: SocketAddr) -> bool {
        self.missing.contains(&address)
    }

    /// Looks for missing addresses if it is time to, or `anyway`. Returns those that are there now.
    pub fn find_missing(&mut self, kernel: &Netlink, links: &Links, now: Instant, anyway: bool) -> Vec<SocketAddr> {
        if self.missing.is_empty() || (now < self.look_again && !anyway) {
            return Vec::new();
        }
        self.look_again = now + LOOK_AGAIN;
        let mut found = Vec::new();
        for address in &self.missing {
            let Ok(scope) = find(address.ip(), kernel, links) else { continue };
            match self.sockets.bind(scoped(*address, scope)) {
                Ok(()) => found.push(*address),
                Err(error) => tracing::debug!(%error, "an address is there, but cannot be used yet"),
            }
        }
        self.missing.retain(|address| !found.contains(address));
        for address in &found {
            tracing::info!(event = "address-found", %address, "a missing address is there");
        }
        found
    }
}

/// Whether this machine has an address of the router.
pub(super) fn is_here(address: IpAddr, kernel: &Netlink, links: &Links) -> bool {
    find(address, kernel, links).is_ok()
}

/// Returns the scope of an address of this machine, 0 if it has none; an error if the machine does not have it.
fn find(address: IpAddr, kernel: &Netlink, links: &Links) -> io::Result<u32> {
    let scope = match links.zones.get(&address) {
        Some(zone) => zone_number(zone, kernel)?,
        None => 0,
    };
    UdpSocket::bind(scoped(SocketAddr::new(address, 0), scope)).map(|_| scope)
}

/// Whether the error is that the machine does not have an address or a device.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::NotFound)
        || error.raw_os_error() == Some(libc::ENODEV)
}

fn scoped(address: SocketAddr, scope: u32) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into(),
        SocketAddr::V4(_) => address,
    }
}

/// The interface index of a zone (RFC 4007, 11): a device's name, or the index itself.
fn zone_number(zone: &str, kernel: &Netlink) -> io::Result<u32> {
    let device = kernel.devices().values().find(|device| device.name == zone);
    let index = device.map(|device| device.index).or_else(|| zone.parse().ok());
    index.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no device {zone}")))
}
