//! What the router holds of the host's network: the devices it has opened, the claims on its addresses, the filter of
//! what it receives. All of it can change while the router runs.
//!
//! Does not live here: next hops ([`crate::ways`]), devices' packets (`ports`).

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use hopwright_dataplane::{Pool, Port};
use hopwright_ports::{Opener, Pattern, UdpClaim, Wanted, XdpOptions};

use crate::agent::{AgentError, Setup};
use crate::kernel::{Device, Kernel};
use crate::links::Links;
use crate::packet;
use crate::program::{LOCAL_PORT, MAX_DEVICE_PORT};
use crate::ways::{Target, Ways};

/// A new port of the switch: its number and the device, as each worker has it.
pub type NewPort = (u32, Vec<Box<dyn Port>>);

/// Devices that may be added at run time without frames becoming scarce.
const SPARE_DEVICES: usize = 4;

/// Devices and claims in use.
#[derive(Debug)]
pub struct Underlay {
    opener: Opener,
    pools: Vec<Pool>,
    /// The switch's port for each device, by the kernel's number.
    devices: BTreeMap<u32, u32>,
    claims: HashMap<SocketAddr, UdpClaim>,
    /// Packets fit frames if their device's MTU is not more.
    longest_mtu: u32,
    workers: usize,
}

impl Underlay {
    /// Nothing open yet; packet buffers are made for the devices that a setup leads to.
    pub fn new(kernel: &mut Kernel, setup: &Setup) -> Result<Underlay, AgentError> {
        let devices = find_devices(kernel, &setup.links)?;
        let longest_mtu = devices.iter().map(|d| d.mtu).max().unwrap_or(0).clamp(1500, 9216);
        let settings = &setup.config.hopwright;
        let workers = settings.cpus.len().max(1);
        let (opener, pools) = Opener::new(&Wanted {
            choice: settings.ports,
            sockets: None,
            urgent: Some(&bfd()),
            // The datagrams around SCION's packets are the router's own.
            fill_checksums: true,
            mtu: longest_mtu,
            devices: devices.len() + SPARE_DEVICES,
            workers,
            options: XdpOptions { busy_poll_us: settings.busy_poll_us, ..XdpOptions::default() },
        })?;
        Ok(Underlay { opener, pools, devices: BTreeMap::new(), claims: HashMap::new(), longest_mtu, workers })
    }

    /// The packet buffers, for the switch.
    pub fn take_pools(&mut self) -> Vec<Pool> {
        std::mem::take(&mut self.pools)
    }

    /// Takes what `links` need besides what is there, and gives nothing up. Returns the ports that the switch must
    /// get. When it fails, no device and no claim has been added.
    pub fn widen(&mut self, kernel: &mut Kernel, links: &Links) -> Result<Vec<NewPort>, AgentError> {
        let devices = find_devices(kernel, links)?;
        let new: Vec<&Device> = devices.iter().filter(|d| !self.devices.contains_key(&d.index)).collect();
        if let Some(device) = new.iter().find(|d| d.mtu > self.longest_mtu) {
            let (device, mtu, limit) = (device.name.clone(), device.mtu, self.longest_mtu);
            return Err(AgentError::DeviceMtu { device, mtu, limit });
        }
        let mut ports: Vec<NewPort> = Vec::new();
        let mut claims = Vec::new();
        let mut addresses: Vec<SocketAddr> = self.claims.keys().copied().collect();
        for address in own_addresses(links) {
            if !self.claims.contains_key(&address) {
                let claim = UdpClaim::new(address)?;
                // Hosts of the AS may be processes beside the router.
                if address == links.internal {
                    let port = |_| Ok(Box::new(claim.local_port()?) as Box<dyn Port>);
                    ports.push((LOCAL_PORT, (0..self.workers).map(port).collect::<Result<_, AgentError>>()?));
                }
                claims.push(claim);
                addresses.push(address);
            }
        }
        if !claims.is_empty() {
            self.set_ours(kernel, &pairs(&addresses))?;
        }
        let mut opened = Vec::new();
        for device in new {
            let taken = |n: &u32| self.devices.values().any(|p| p == n) || ports.iter().any(|(p, _)| p == n);
            let number = (1..=MAX_DEVICE_PORT).find(|n| !taken(n)).ok_or(AgentError::TooManyDevices);
            let found =
                number.and_then(|number| Ok((number, self.opener.open(&device.name, Some(&pairs(&addresses)))?)));
            let (number, of_device) = match found {
                Ok(found) => found,
                Err(error) => {
                    // The addresses without a claim are the kernel's again.
                    let before: Vec<SocketAddr> = self.claims.keys().copied().collect();
                    self.set_ours(kernel, &pairs(&before))?;
                    return Err(error);
                }
            };
            tracing::info!(device = %device.name, mtu = device.mtu, ports = %of_device.how, "device opened");
            opened.push((device.index, number));
            ports.push((number, of_device.ports));
        }
        self.devices.extend(opened);
        self.claims.extend(claims.into_iter().map(|claim| (claim.address(), claim)));
        Ok(ports)
    }

    /// Gives up what `links` do not need. Returns the numbers of the ports that the switch must give back.
    pub fn narrow(&mut self, kernel: &mut Kernel, links: &Links) -> Result<Vec<u32>, AgentError> {
        let wanted = find_devices(kernel, links)?;
        let own = own_addresses(links);
        if self.claims.keys().any(|claimed| !own.contains(claimed)) {
            self.set_ours(kernel, &pairs(&own))?;
            self.claims.retain(|claimed, _| own.contains(claimed));
        }
        let mut gone = Vec::new();
        self.devices.retain(|index, port| {
            let stays = wanted.iter().any(|d| d.index == *index);
            if !stays {
                let name = kernel.devices().get(index).map_or("?", |d| &d.name);
                tracing::info!(device = name, "device is no longer used");
                gone.push(*port);
            }
            stays
        });
        Ok(gone)
    }

    /// Has all devices take what is for these addresses.
    fn set_ours(&self, kernel: &Kernel, addresses: &[(IpAddr, u16)]) -> Result<(), AgentError> {
        let names = self.devices.keys().filter_map(|index| kernel.devices().get(index));
        Ok(names.map(|device| &device.name).try_for_each(|name| self.opener.set_addresses(name, addresses))?)
    }

    /// By which port packets to each of the router's addresses must come: that of the device that has it. An address
    /// of the loopback device may be reached by any.
    pub fn arrivals(&self, kernel: &Kernel, links: &Links) -> BTreeMap<IpAddr, u16> {
        let port = |address: IpAddr| {
            let device = kernel.device_with(address).filter(|d| !d.loopback)?;
            Some((address, *self.devices.get(&device.index)? as u16))
        };
        own_addresses(links).iter().filter_map(|a| port(a.ip())).collect()
    }

    /// The switch's port for each device.
    pub fn ports(&self) -> HashMap<u32, u16> {
        self.devices.iter().map(|(index, port)| (*index, *port as u16)).collect()
    }
}

/// BFD must get through when a device receives more than the router can take: by next header and path type of the
/// SCION common header. What has extension headers in between is not urgent.
fn bfd() -> Pattern {
    let (next_hdr, path_type) = (4, 8);
    Pattern { bytes: vec![(next_hdr, vec![packet::BFD]), (path_type, vec![packet::EMPTY_PATH, packet::ONE_HOP_PATH])] }
}

fn pairs(addresses: &[SocketAddr]) -> Vec<(IpAddr, u16)> {
    addresses.iter().map(|a| (a.ip(), a.port())).collect()
}

/// The router's own underlay addresses.
fn own_addresses(links: &Links) -> Vec<SocketAddr> {
    let mut addresses = vec![links.internal];
    addresses.extend(links.external.iter().map(|e| e.underlay.local));
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The devices packets come in and go out by: those that have our addresses, and those that routes lead to.
fn find_devices(kernel: &mut Kernel, links: &Links) -> Result<Vec<Device>, AgentError> {
    let mut indices = Vec::new();
    let named = |what: String, address: IpAddr| (what, address);
    let own = std::iter::once(named("internal address".into(), links.internal.ip())).chain(
        links.external.iter().map(|e| named(format!("local address of interface {}:", e.id), e.underlay.local.ip())),
    );
    for (what, address) in own {
        let Some(device) = kernel.device_with(address) else { return Err(AgentError::NoDevice { what, address }) };
        if device.loopback {
            // Reachable by any device.
            indices
                .extend(kernel.devices().values().filter(|d| d.up && !d.loopback && d.mac.is_some()).map(|d| d.index));
        } else if device.mac.is_none() {
            return Err(AgentError::NotEthernet { what, address, device: device.name.clone() });
        } else {
            indices.push(device.index);
        }
    }
    let mut routes = Ways::default();
    add_links(&mut routes, links, kernel);
    indices.extend(routes.devices());
    indices.sort_unstable();
    indices.dedup();
    let devices = indices.iter().filter_map(|i| kernel.devices().get(i));
    Ok(devices.filter(|d| !d.loopback && d.mac.is_some()).cloned().collect())
}

/// The ends of a router's links: whom to reach, from which of our addresses.
pub fn targets(links: &Links) -> impl Iterator<Item = (Target, IpAddr, IpAddr)> {
    let external = |e: &crate::links::External| (Target::External(e.id), e.underlay.remote.ip(), e.underlay.local.ip());
    let sibling = |s: &crate::links::Sibling| (Target::Sibling(s.number), s.address.ip(), links.internal.ip());
    links.external.iter().map(external).chain(links.siblings.iter().map(sibling))
}

/// Adds the ways there always are, but for those that are there.
pub fn add_links(ways: &mut Ways, links: &Links, kernel: &mut Kernel) {
    let now = Instant::now();
    for (target, to, from) in targets(links) {
        ways.add(target, to, from, kernel, now);
    }
}
