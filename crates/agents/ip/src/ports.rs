//! The router's ports: devices, and TAP devices that stand for them in the namespace.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;

use hopwright_agent::Inheritance;
use hopwright_host::namespace::Namespace;
use hopwright_host::netlink::{Device, Netlink};
use hopwright_ports::{Carrier, Tap};

use crate::config::Config;
use crate::program::Interface;
use crate::threads::Error;

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

/// The name of a TAP device's descriptor, for a process that takes over.
pub(crate) fn descriptor(tap: &str) -> String {
    format!("tap:{tap}")
}

/// Whether this is the name of a TAP device's descriptor.
pub(crate) fn is_descriptor(name: &str) -> bool {
    name.starts_with("tap:")
}

/// Makes the TAP devices, or takes those of a process that has the namespace, or had it. Returns them by port number, with what is known of the
/// ports.
pub(crate) fn open(
    devices: &BTreeMap<u32, String>,
    config: &Config,
    namespace: &Namespace,
    host: &Netlink,
    inside: &mut Netlink,
    others: &Inheritance,
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
        let descriptor = others.descriptor(&descriptor(name)).map_err(Error::Tap)?;
        let inherited = descriptor.map_or(Ok(None), |descriptor| inherited(name, descriptor, inside))?;
        let in_use = inherited.is_some();
        let tap = inherited.map_or_else(|| Ok::<Tap, Error>(namespace.run(|| Tap::open(name))??), Ok)?;
        tap.persist().map_err(Error::Tap)?;
        let carrier = tap.carrier().map_err(Error::Tap)?;
        if !in_use {
            // The kernel says whether a device is operational from the first change of its carrier on.
            carrier.set(false).map_err(Error::Tap)?;
        }
        inside.update().map_err(Error::Netlink)?;
        let seen = inside.devices().values().find(|device| device.name == *name);
        let seen = seen.cloned().ok_or_else(|| Error::UnknownDevice(name.clone()))?;
        let mut port = Port {
            number: *number,
            device: device.index,
            tap: seen.index,
            carrier,
            running: in_use && seen.running,
            // Setting what is set already would have the kernel forget its neighbours.
            seen: if in_use { seen } else { Device::default() },
        };
        port.follow(device, inside).map_err(Error::Netlink)?;
        ports.push(port);
        taps.insert(*number, tap);
    }
    Ok((taps, ports))
}

/// The TAP device of a process before, unless somebody has deleted, renamed or moved it since.
fn inherited(name: &str, descriptor: OwnedFd, inside: &mut Netlink) -> Result<Option<Tap>, Error> {
    inside.update().map_err(Error::Netlink)?;
    let is_there = inside.devices().values().any(|device| device.name == name);
    let tap = if is_there {
        Tap::inherited(name, descriptor).map_err(|error| error.to_string())
    } else {
        Err("it is gone".into())
    };
    let unused = |why: &String| {
        tracing::warn!(event = "device-anew", device = name, why, "the interface of the process before cannot be used")
    };
    Ok(tap.inspect_err(unused).ok())
}

/// The interfaces of the router by the index of their devices: the ports' TAP devices, and VLANs on top of them.
pub(crate) fn interfaces(ports: &[Port], inside: &Netlink, with_vlans: bool) -> HashMap<u32, Interface> {
    let of_ports = ports.iter().map(|port| (port.tap, Interface { port: port.number, vlan: 0 }));
    let mut interfaces: HashMap<u32, Interface> = of_ports.collect();
    let vlans = inside.devices().values().filter(|_| with_vlans).filter_map(|device| {
        let vlan = device.vlan.filter(|vlan| vlan.customer && vlan.id != 0)?;
        let port = interfaces.get(&device.link?)?.port;
        Some((device.index, Interface { port, vlan: vlan.id }))
    });
    let vlans: Vec<_> = vlans.collect();
    interfaces.extend(vlans);
    interfaces
}

impl Port {
    /// Gives the TAP device the Ethernet address, MTU and carrier of the device, where these have changed.
    pub(crate) fn follow(&mut self, device: &Device, inside: &mut Netlink) -> std::io::Result<()> {
        if self.running != device.running {
            self.carrier.set(device.running)?;
            self.running = device.running;
            // The device may be gone from the namespace.
            let _ = inside.settle_carrier(self.tap);
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
