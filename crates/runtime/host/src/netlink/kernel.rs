//! What the kernel has, as its messages describe it. No I/O: [`super::Netlink`] hands it the messages.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use netlink_packet_core::DecodeError;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::message::{Frame, decode, frames, kind, own_address, prefix, read_link, read_neighbour};
use super::objects::{self, Groups, ObjectMessage};
use super::routes::ChangedRoute;
use super::{Changes, Device, Neighbour, Prefix, Routes};

/// Devices and neighbours, and routes if they are followed.
#[derive(Debug, Default)]
pub struct Kernel {
    pub(super) devices: BTreeMap<u32, Device>,
    pub(super) neighbours: HashMap<(u32, IpAddr), Neighbour>,
    /// If they are followed.
    pub(super) routes: Option<Routes>,
    groups: Groups,
    /// Routes may have changed while they were read: notifications of that time may wait.
    pub(super) unsettled: bool,
    undecoded: u64,
}

impl Kernel {
    /// Nothing yet, but routes will be followed.
    pub fn following_routes() -> Kernel {
        Kernel { routes: Some(Routes::default()), ..Kernel::default() }
    }

    /// The routes, if they are followed.
    pub fn routes(&self) -> Option<&Routes> {
        self.routes.as_ref()
    }

    /// How many messages could not be decoded. They changed nothing.
    pub fn undecoded(&self) -> u64 {
        self.undecoded
    }

    /// Takes up the messages of a datagram as the kernel sends it, and adds to `changes` what may be different now.
    pub fn take_up(&mut self, datagram: &[u8], changes: &mut Changes) {
        for frame in frames(datagram) {
            match frame {
                Ok(frame) => self.take_up_message(&frame, changes),
                Err(_) => {
                    self.undecoded += 1;
                    tracing::debug!("netlink datagram of {} bytes ends within a message", datagram.len());
                }
            }
        }
    }

    pub(super) fn take_up_message(&mut self, frame: &Frame<'_>, changes: &mut Changes) {
        if let Some(object) = objects::read(frame) {
            return self.object_changed(object, changes);
        }
        if matches!(frame.kind, kind::NEW_RULE | kind::DEL_RULE) {
            (changes.everything, changes.policy) = (true, true);
            return;
        }
        if kind::SETTINGS.contains(&frame.kind) || kind::QUEUEING.contains(&frame.kind) {
            changes.policy = true;
            return;
        }
        match decode(frame) {
            Ok(Some(message)) => self.apply(message, frame.flags, changes),
            Ok(None) => {}
            Err(error) => self.not_decoded(frame, &error),
        }
    }

    pub(super) fn not_decoded(&mut self, frame: &Frame<'_>, error: &DecodeError) {
        self.undecoded += 1;
        tracing::debug!(kind = frame.kind, %error, "undecodable netlink message");
    }

    /// Forgets devices and neighbours, which are about to be read.
    pub(super) fn forget(&mut self) {
        self.devices.clear();
        self.neighbours.clear();
    }

    /// Replaces routes and groups by those that have been read. Returns the destinations that are forwarded differently.
    pub(super) fn replace_routes(&mut self, routes: Routes, groups: Groups) -> Vec<Prefix> {
        self.groups = groups;
        self.unsettled = true;
        let changed = self.routes.as_ref().map_or_else(Vec::new, |before| routes.changed_from(before));
        self.routes = Some(routes);
        changed
    }

    fn object_changed(&mut self, object: ObjectMessage, changes: &mut Changes) {
        changes.everything = true;
        if let Some(routes) = &self.routes {
            // A message without number is about all objects.
            changes.lost_routes |= object.id == 0
                || routes.refer_to(object.id)
                || self.groups.with(object.id).any(|group| routes.refer_to(group));
            self.groups.take_up(object);
        }
    }

    /// `flags`: those of the notification's header.
    fn apply(&mut self, message: RouteNetlinkMessage, flags: u16, changes: &mut Changes) {
        match message {
            RouteNetlinkMessage::NewLink(link) => {
                let device = self.devices.entry(link.header.index).or_default();
                let before = device.clone();
                read_link(&link, device);
                changes.everything |= *device != before;
                changes.policy |= *device != before;
                // Routes, next hops and their objects go and come back with the link and its carrier, and the kernel does not
                // report all of them.
                changes.lost_routes |= (before.up, before.running) != (device.up, device.running);
            }
            RouteNetlinkMessage::DelLink(link) => {
                self.devices.remove(&link.header.index);
                (changes.everything, changes.policy) = (true, true);
                changes.lost_routes = true;
            }
            RouteNetlinkMessage::NewAddress(address) => {
                if let (Some(device), Some(ip)) = (self.devices.get_mut(&address.header.index), own_address(&address))
                    && !device.addresses.contains(&ip)
                {
                    device.addresses.push(ip);
                    changes.everything = true;
                    changes.lost_routes |= self.routes.as_ref().is_some_and(Routes::have_dead);
                }
            }
            RouteNetlinkMessage::DelAddress(address) => {
                if let (Some(device), Some(ip)) = (self.devices.get_mut(&address.header.index), own_address(&address)) {
                    device.addresses.retain(|a| *a != ip);
                    changes.everything = true;
                    changes.lost_routes = true;
                }
            }
            RouteNetlinkMessage::NewNeighbour(neighbour) => {
                if let Some((key, value)) = read_neighbour(&neighbour) {
                    let before = match value {
                        Some(value) => self.neighbours.insert(key, value),
                        None => self.neighbours.remove(&key),
                    };
                    if before != value {
                        changes.neighbours.push(key);
                    }
                }
            }
            RouteNetlinkMessage::DelNeighbour(neighbour) => {
                if let Some((key, _)) = read_neighbour(&neighbour)
                    && self.neighbours.remove(&key).is_some()
                {
                    changes.neighbours.push(key);
                }
            }
            RouteNetlinkMessage::NewRoute(route) => {
                changes.lost_routes |= self.disturbed_by(&route);
                match &mut self.routes {
                    Some(routes) => {
                        let changed = routes.add(&route, flags);
                        match changed {
                            Some(ChangedRoute::Prefix(prefix)) => changes.routes.extend(routes.affected_by(prefix)),
                            Some(ChangedRoute::OtherTable(table, prefix)) => changes.other_routes.push((table, prefix)),
                            None => {}
                        }
                    }
                    None => changes.routes.extend(prefix(&route)),
                }
            }
            RouteNetlinkMessage::DelRoute(route) => {
                changes.lost_routes |= self.disturbed_by(&route);
                match &mut self.routes {
                    Some(routes) => {
                        let wide = prefix(&route).map(|prefix| routes.affected_by(prefix));
                        let changed = routes.remove(&route);
                        match changed {
                            Some(ChangedRoute::Prefix(_)) => changes.routes.extend(wide.into_iter().flatten()),
                            Some(ChangedRoute::OtherTable(table, prefix)) => changes.other_routes.push((table, prefix)),
                            None => {}
                        }
                    }
                    None => changes.routes.extend(prefix(&route)),
                }
            }
            _ => {}
        }
    }

    /// Whether routes may have been left out while they were read, because this one changed. The kernel counts IPv6 routes that
    /// it has reported, and after a change begins anew behind as many.
    fn disturbed_by(&mut self, route: &RouteMessage) -> bool {
        route.header.address_family == AddressFamily::Inet6 && std::mem::take(&mut self.unsettled)
    }
}
