//! The router's ports: devices, and TAP devices that stand for them in the namespace.

use std::collections::BTreeMap;

use hopwright_host::namespace::Namespace;
use hopwright_host::netlink::{Device, Netlink};
use hopwright_ports::{Carrier, Tap};

use crate::agent::Error;
use crate::config::Config;

/// A port as the mirror sees it.
#[derive(Debug)]
pub(crate) struct Port {
    /// Its number in the program.
    pub number: u32,
    /// Index of the device where the agent runs.
    pub device: u32,
    /// Index of the TAP device in the namespace.
    pub tap: u32,
    carrier: Carrier,
    /// The device as it was when the TAP device was last made like it.
    seen: Device,
    /// The carrier of the TAP device.
    running: bool,
}

/// Makes the TAP devices. Returns them by port number, with what is known of the ports.
pub(crate) fn open(
    devices: &BTreeMap<u32, String>,
    config: &Config,
    namespace: &Namespace,
    host: &Netlink,
    inside: &mut Netlink,
) -> Result<(BTreeMap<u32, Tap>, Vec<Port>), Error> {
    for name in config.names.keys() {
        if !devices.values().any(|device| device == name) {
            return Err(Error::UnknownDevice(name.clone()));
        }
    }
    let mut taps = BTreeMap::new();
    let mut ports = Vec::new();
    for (number, name) in devices {
        let device = host.devices().values().find(|device| device.name == *name);
        let device = device.ok_or_else(|| Error::UnknownDevice(name.clone()))?;
        let name = config.names.get(name).unwrap_or(name);
        let tap = namespace.run(|| Tap::open(name))??;
        tap.persist().map_err(Error::Tap)?;
        let carrier = tap.carrier().map_err(Error::Tap)?;
        // The kernel says whether a device is operational from the first change of its carrier on.
        carrier.set(false).map_err(Error::Tap)?;
        inside.update().map_err(Error::Netlink)?;
        let index = inside.devices().values().find(|device| device.name == *name).map(|device| device.index);
        let index = index.ok_or_else(|| Error::UnknownDevice(name.clone()))?;
        let mut port = Port {
            number: *number,
            device: device.index,
            tap: index,
            carrier,
            seen: Device::default(),
            running: false,
        };
        port.follow(device, inside).map_err(Error::Netlink)?;
        ports.push(port);
        taps.insert(*number, tap);
    }
    Ok((taps, ports))
}

impl Port {
    /// Gives the TAP device the Ethernet address, MTU and carrier of the device, where these have changed.
    pub(crate) fn follow(&mut self, device: &Device, inside: &mut Netlink) -> std::io::Result<()> {
        if self.running != device.running {
            self.carrier.set(device.running)?;
            self.running = device.running;
        }
        let mac = device.mac.filter(|_| device.mac != self.seen.mac);
        let mtu = Some(device.mtu).filter(|mtu| *mtu != self.seen.mtu);
        if mac.is_some() || mtu.is_some() {
            inside.set_up_device(self.tap, mac, mtu)?;
            self.seen = device.clone();
        }
        Ok(())
    }

    /// Takes note that the device is gone.
    pub(crate) fn lost(&mut self) -> std::io::Result<()> {
        self.running = false;
        self.carrier.set(false)
    }
}
