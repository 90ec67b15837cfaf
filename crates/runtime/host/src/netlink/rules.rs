//! Rules (`ip rule`): which routing table the kernel looks at, by what a packet is like.

use std::net::IpAddr;

use netlink_packet_core::{NetlinkMessage, NetlinkPayload, Nla as _};
use netlink_packet_route::rule::{RuleAction as Action, RuleAttribute, RuleFlags, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Prefix;
use super::message::Frame;

/// Attributes that select nothing (`FRA_PAD` in linux/fib_rules.h).
const UNSELECTIVE: [u16; 1] = [18];

/// What a rule has the kernel do with packets that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// It looks for a route in this table, and goes on with the next rule if there is none.
    Lookup(u32),
    /// It goes on with the next rule.
    Nothing,
    /// Something else: it refuses the packet, or goes on with another rule.
    Other,
}

/// A rule. Packets match if all that it asks for is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Of IPv6.
    pub ipv6: bool,
    /// Its place: smaller numbers come first.
    pub priority: u32,
    /// Sources.
    pub from: Option<Prefix>,
    /// Destinations.
    pub to: Option<Prefix>,
    /// Name of the device that a packet came by.
    pub input: Option<String>,
    /// Type of service, as the lower bits of the field without the last two; 0 for any.
    pub tos: u8,
    /// Transport protocol.
    pub protocol: Option<u8>,
    /// It asks for more than is here: ports, users, a part of the type of service.
    pub narrower: bool,
    /// Packets match that are not like that.
    pub inverted: bool,
    /// No forwarded packet is what it asks for, unless a filter has marked it: another mark than 0, an output device of the sender's
    /// choice, a tunnel's metadata.
    pub never_forwarded: bool,
    /// Packets match that come by devices that are part of a VRF. They are looked up in the VRF's table.
    pub of_vrfs: bool,
    /// Routes that a lookup finds do not count if they are too general or by some devices.
    pub suppresses: bool,
    /// What the kernel does.
    pub action: RuleAction,
}

/// The rule of a message; `None` if it is something else. One that cannot be decoded matches everything.
pub(super) fn read(frame: &Frame<'_>) -> Option<Rule> {
    let message = match NetlinkMessage::<RouteNetlinkMessage>::deserialize(frame.bytes) {
        Ok(NetlinkMessage { payload: NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRule(message)), .. }) => {
            message
        }
        Ok(_) => return None,
        Err(error) => {
            tracing::debug!(%error, "undecodable rule");
            RuleMessage::default()
        }
    };
    let header = &message.header;
    let ipv6 = match header.family {
        AddressFamily::Inet => false,
        AddressFamily::Inet6 => true,
        _ => frame.body().first().is_some_and(|family| i32::from(*family) == libc::AF_INET6),
    };
    let mut rule = Rule {
        ipv6,
        priority: 0,
        from: None,
        to: None,
        input: None,
        tos: header.tos,
        protocol: None,
        narrower: false,
        inverted: header.flags.contains(RuleFlags::Invert),
        never_forwarded: false,
        of_vrfs: false,
        suppresses: false,
        action: RuleAction::Other,
    };
    let (mut mark, mut mask) = (0, None);
    let mut table = u32::from(header.table);
    let prefix = |address: &IpAddr, length| Some(Prefix::new(*address, length)).filter(|_| length > 0);
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Source(address) => rule.from = prefix(address, header.src_len),
            RuleAttribute::Destination(address) => rule.to = prefix(address, header.dst_len),
            RuleAttribute::Iifname(name) => rule.input = Some(name.clone()),
            RuleAttribute::Oifname(_) | RuleAttribute::TunId(1..) => rule.never_forwarded = true,
            RuleAttribute::L3MDev(of_vrfs) => rule.of_vrfs = *of_vrfs,
            RuleAttribute::Priority(priority) => rule.priority = *priority,
            RuleAttribute::FwMark(value) => mark = *value,
            RuleAttribute::FwMask(value) => mask = Some(*value),
            RuleAttribute::Table(number) => table = *number,
            RuleAttribute::IpProtocol(protocol) => rule.protocol = Some(u8::from(*protocol)),
            RuleAttribute::SuppressPrefixLen(length) => rule.suppresses |= *length != u32::MAX,
            RuleAttribute::SuppressIfGroup(group) => rule.suppresses |= *group != u32::MAX,
            RuleAttribute::SourcePortRange(_) | RuleAttribute::DestinationPortRange(_) | RuleAttribute::UidRange(_) => {
                rule.narrower = true;
            }
            RuleAttribute::Other(attribute) if !UNSELECTIVE.contains(&attribute.kind()) => rule.narrower = true,
            _ => {}
        }
    }
    rule.never_forwarded |= mark & mask.unwrap_or(u32::MAX) != 0;
    rule.action = match header.action {
        Action::ToTable => RuleAction::Lookup(table),
        Action::Nop => RuleAction::Nothing,
        _ => RuleAction::Other,
    };
    Some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::frames;

    /// The rule that Linux 6.1 makes with the first VRF.
    #[test]
    fn the_rule_of_vrfs() {
        let message = [
            68, 0, 0, 0, 32, 0, 2, 0, 2, 0, 0, 0, 128, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 8, 0, 15, 0, 0, 0,
            0, 0, 8, 0, 14, 0, 255, 255, 255, 255, 5, 0, 21, 0, 2, 0, 0, 0, 8, 0, 6, 0, 232, 3, 0, 0, 5, 0, 19, 0, 1,
            0, 0, 0,
        ];
        let rule = read(&frames(&message).next().unwrap().unwrap()).unwrap();
        assert!(rule.of_vrfs && !rule.never_forwarded && !rule.ipv6);
        assert_eq!((rule.priority, rule.action), (1000, RuleAction::Lookup(0)));
    }
}
