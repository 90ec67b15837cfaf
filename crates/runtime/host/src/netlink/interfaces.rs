//! The interfaces of a network namespace as operators see them: their states and the kernel's counters.

use std::io;
use std::time::Duration;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage, State, Stats64};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use super::READINGS;
use super::message::decode;
use super::request::{Answer, Requests};

/// `RTNLGRP_LINK` of linux/rtnetlink.h.
const LINKS: u32 = 1;

/// What an interface does, as RFC 2863 has it (`ifOperStatus`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperState {
    /// It forwards.
    Up,
    /// It does not.
    Down,
    /// It is being tested.
    Testing,
    /// The device does not say.
    #[default]
    Unknown,
    /// It waits for an event, such as an authentication.
    Dormant,
    /// A part of it is missing.
    NotPresent,
    /// The interface below it is down.
    LowerLayerDown,
}

/// What kind of interface it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// Frames of Ethernet.
    Ethernet,
    /// The host's own.
    Loopback,
    /// Anything else, such as a tunnel.
    #[default]
    Other,
}

/// The kernel's counters of an interface (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes of these.
    pub rx_bytes: u64,
    /// Multicast packets among these.
    pub rx_multicast: u64,
    /// Received packets that were lost for want of room.
    pub rx_dropped: u64,
    /// Received packets that were damaged.
    pub rx_errors: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes of these.
    pub tx_bytes: u64,
    /// Packets to be sent that were lost for want of room.
    pub tx_dropped: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number.
    pub index: u32,
    /// `eth0`.
    pub name: String,
    /// What an administrator says of it (`ip link set alias`); empty if nothing.
    pub description: String,
    /// Its kind.
    pub medium: Medium,
    /// Its Ethernet address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Bytes of network layer.
    pub mtu: u32,
    /// Configured to be up.
    pub enabled: bool,
    /// What it does.
    pub state: OperState,
    /// The kernel's counters.
    pub counters: LinkCounters,
}

/// The interfaces of one network namespace.
pub struct Links {
    requests: Requests,
    events: Socket,
}

impl Links {
    /// Those of this thread's network namespace.
    ///
    /// # Errors
    /// Netlink is not there.
    pub fn open() -> io::Result<Links> {
        let mut events = Socket::new(NETLINK_ROUTE)?;
        events.bind_auto()?;
        events.add_membership(LINKS)?;
        Ok(Links { requests: Requests::open()?, events })
    }

    /// All interfaces as they are now, in the order of their numbers.
    ///
    /// # Errors
    /// The kernel refuses, or changes them all the time.
    pub fn read(&mut self) -> io::Result<Vec<Link>> {
        for _ in 0..READINGS {
            let mut links = Vec::new();
            let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
            let answer = self.requests.ask(request, NLM_F_DUMP, |frame| {
                if let Ok(Some(RouteNetlinkMessage::NewLink(message))) = decode(frame) {
                    links.push(link(&message));
                }
            });
            if answer? == Answer::Complete {
                links.sort_by_key(|link| link.index);
                return Ok(links);
            }
        }
        Err(io::Error::other("the interfaces change all the time"))
    }

    /// Waits until an interface changes, its counters aside, or the time is up. Returns whether one has.
    ///
    /// # Errors
    /// The socket is unusable.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        set_socket_timeout(&self.events, Timeout::Recv, Some(timeout))?;
        match self.events.recv_from_full() {
            Ok(_) => Ok(true),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(false),
                // Notifications were lost: something has changed.
                Some(libc::ENOBUFS) => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// Switches an interface on or off. Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_enabled(&mut self, index: u32, enabled: bool) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = if enabled { LinkFlags::Up } else { LinkFlags::empty() };
        message.header.change_mask = LinkFlags::Up;
        self.requests.ask(RouteNetlinkMessage::SetLink(message), NLM_F_ACK, |_| {}).map(drop)
    }

    /// Changes an interface's description (`ip link set alias`). Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The kernel refuses, for example one of more than 255 bytes.
    pub fn describe(&mut self, index: u32, description: &str) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::IfAlias(description.into()));
        self.requests.ask(RouteNetlinkMessage::SetLink(message), NLM_F_ACK, |_| {}).map(drop)
    }
}

fn link(message: &LinkMessage) -> Link {
    let medium = match message.header.link_layer_type {
        LinkLayerType::Ether => Medium::Ethernet,
        LinkLayerType::Loopback => Medium::Loopback,
        _ => Medium::Other,
    };
    let mut link = Link {
        index: message.header.index,
        medium,
        enabled: message.header.flags.contains(LinkFlags::Up),
        ..Link::default()
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::IfAlias(alias) => link.description.clone_from(alias),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::Address(bytes) if medium == Medium::Ethernet => link.mac = bytes.as_slice().try_into().ok(),
            LinkAttribute::OperState(state) => link.state = oper_state(*state),
            LinkAttribute::Stats64(stats) => link.counters = counters(stats),
            _ => {}
        }
    }
    if medium == Medium::Loopback && link.state == OperState::Unknown && link.enabled {
        link.state = OperState::Up;
    }
    link
}

fn oper_state(state: State) -> OperState {
    match state {
        State::Up => OperState::Up,
        State::Down => OperState::Down,
        State::Testing => OperState::Testing,
        State::Dormant => OperState::Dormant,
        State::NotPresent => OperState::NotPresent,
        State::LowerLayerDown => OperState::LowerLayerDown,
        _ => OperState::Unknown,
    }
}

fn counters(stats: &Stats64) -> LinkCounters {
    LinkCounters {
        rx_packets: stats.rx_packets,
        rx_bytes: stats.rx_bytes,
        rx_multicast: stats.multicast,
        rx_dropped: stats.rx_dropped,
        rx_errors: stats.rx_errors,
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        tx_dropped: stats.tx_dropped,
        tx_errors: stats.tx_errors,
    }
}
