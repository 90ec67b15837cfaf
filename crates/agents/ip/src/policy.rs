//! What the namespace's kernel does with forwarded packets besides routing them: filters, address translation, IPsec, rules, checks of
//! sources, devices on top of the ports, shaping. The fast path does none of it. Packets that it may concern are the kernel's, and each
//! reason has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use hopwright_host::namespace::{Namespace, NamespaceError};
use hopwright_host::netfilter::{Family, Netfilter};
use hopwright_host::netlink::{Device, Netlink, Prefix, Rule, RuleAction};
use serde::{Deserialize, Serialize};

use crate::program::{Kernel, Selector, Tables};

/// Tables (`RT_TABLE_*` in linux/rtnetlink.h).
const MAIN: u32 = 254;
const LOCAL: u32 = 255;
/// Queueing disciplines that do not police or shape.
const PLAIN_QUEUES: [&str; 7] = ["noop", "noqueue", "pfifo_fast", "pfifo", "fq_codel", "fq", "mq"];
/// The smallest MTU of IPv6 (RFC 8200, section 5).
const MIN_IPV6_MTU: u32 = 1280;
/// Rules of IPv4 that a namespace begins with.
const DEFAULT_RULES: usize = 3;
/// Bits of the IPv4 type of service that rules look at (`IPTOS_RT_MASK`).
const ROUTING_TOS: u8 = 0x1c;

/// Which packets are the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Packets {
    /// IPv4.
    #[serde(rename = "ipv4")]
    Ipv4,
    /// IPv6.
    #[serde(rename = "ipv6")]
    Ipv6,
    /// All, frames to other stations, too.
    #[serde(rename = "all")]
    All,
    /// What leaves by the port.
    #[serde(rename = "sent")]
    Sent,
    /// All, and the kernel drops them: the port takes none.
    #[serde(rename = "none taken")]
    NoneTaken,
}

/// Packets that the fast path leaves to the kernel, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Punted {
    /// The port by which they come or leave; none: any.
    pub port: Option<u32>,
    /// Which ones.
    pub packets: Packets,
    /// Why.
    pub why: String,
}

/// What the kernel has at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    pub punted: BTreeSet<Punted>,
    /// Packets that rules select, of IPv4 and IPv6, with the rules.
    pub rules: [BTreeMap<Selector, String>; 2],
    /// MTUs for IPv6 by port, where they are others than the devices'.
    pub mtus: BTreeMap<u32, u32>,
    /// `rp_filter` of ports that check sources.
    pub check_sources: BTreeMap<u32, u8>,
}

impl Policy {
    /// What of the packets that come by a port is the kernel's.
    pub(crate) fn kernel(&self, port: u32) -> Kernel {
        let any = |packets| self.of(port).any(|punted| punted == packets);
        let check_source = self.check_sources.get(&port).copied().unwrap_or(0);
        Kernel { ipv4: any(Packets::Ipv4), ipv6: any(Packets::Ipv6), frames: any(Packets::All), check_source }
    }

    /// Whether only the kernel may send by a port.
    pub(crate) fn sends(&self, port: u32) -> bool {
        self.of(port).any(|punted| punted == Packets::Sent)
    }

    /// Whether the port takes packets.
    pub(crate) fn takes(&self, port: u32) -> bool {
        !self.of(port).any(|punted| punted == Packets::NoneTaken)
    }

    /// How many reasons there are to leave packets to the kernel.
    pub(crate) fn len(&self) -> u64 {
        (self.punted.len() + self.rules.iter().map(BTreeMap::len).sum::<usize>()) as u64
    }

    fn of(&self, port: u32) -> impl Iterator<Item = Packets> {
        self.punted.iter().filter(move |punted| punted.port.is_none_or(|of| of == port)).map(|punted| punted.packets)
    }

    fn punt(&mut self, port: Option<u32>, packets: Packets, why: impl Into<String>) {
        self.punted.insert(Punted { port, packets, why: why.into() });
    }
}

/// A file of `/proc/sys/net` in the namespace; it stays that namespace's.
#[derive(Debug)]
struct Setting(Option<File>);

impl Setting {
    fn open(name: &str) -> Setting {
        Setting(File::open(format!("/proc/sys/net/{name}")).ok())
    }

    fn number(&self) -> Option<u32> {
        let mut buffer = [0; 24];
        let read = self.0.as_ref()?.read_at(&mut buffer, 0).ok()?;
        std::str::from_utf8(&buffer[..read]).ok()?.trim().parse().ok()
    }

    fn is_set(&self) -> bool {
        self.number().is_some_and(|number| number != 0)
    }
}

/// The settings of a port's device in the namespace.
#[derive(Debug)]
struct PortSettings {
    number: u32,
    /// Index of the device.
    tap: u32,
    name: String,
    forwarding: Setting,
    rp_filter: Setting,
    route_localnet: Setting,
    disable_ipv6: Setting,
    ipv6_mtu: Setting,
}

impl PortSettings {
    /// Those of this thread's network namespace.
    fn open(number: u32, tap: u32, name: String) -> PortSettings {
        let of = |family: &str, what: &str| Setting::open(&format!("{family}/conf/{name}/{what}"));
        PortSettings {
            number,
            tap,
            forwarding: of("ipv4", "forwarding"),
            rp_filter: of("ipv4", "rp_filter"),
            route_localnet: of("ipv4", "route_localnet"),
            disable_ipv6: of("ipv6", "disable_ipv6"),
            ipv6_mtu: of("ipv6", "mtu"),
            name,
        }
    }

    /// Whether its files are those of the device, which the kernel makes anew when a device that was too small for a protocol is not any
    /// more.
    fn is_current(&self) -> bool {
        self.forwarding.number().is_some() && self.disable_ipv6.number().is_some()
    }
}

/// Where all that is read.
pub(crate) struct Sources {
    namespace: Option<Namespace>,
    netfilter: Option<Netfilter>,
    ports: Vec<PortSettings>,
    all_rp_filter: Setting,
    all_route_localnet: Setting,
    all_ipv6_forwarding: Setting,
    use_pmtu: Setting,
    /// What notifications have not changed since it was read.
    rules: Vec<Rule>,
    queueing: BTreeSet<(u32, String)>,
    chains: Vec<hopwright_host::netfilter::Chain>,
}

impl Sources {
    /// Those of a namespace. `ports`: number, index and name of the TAP devices.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub(crate) fn open(namespace: Namespace, ports: &[(u32, u32, String)]) -> Result<Sources, NamespaceError> {
        namespace.run(|| Sources::of_thread(ports)).map(|sources| Sources { namespace: Some(namespace), ..sources })
    }

    fn of_thread(ports: &[(u32, u32, String)]) -> Sources {
        Sources {
            netfilter: Netfilter::open().ok(),
            namespace: None,
            ports: ports.iter().map(|(number, tap, name)| PortSettings::open(*number, *tap, name.clone())).collect(),
            all_rp_filter: Setting::open("ipv4/conf/all/rp_filter"),
            all_route_localnet: Setting::open("ipv4/conf/all/route_localnet"),
            all_ipv6_forwarding: Setting::open("ipv6/conf/all/forwarding"),
            use_pmtu: Setting::open("ipv4/ip_forward_use_pmtu"),
            rules: Vec::new(),
            queueing: BTreeSet::new(),
            chains: Vec::new(),
        }
    }

    /// Readable when filters have changed.
    pub(crate) fn event_fd(&self) -> Option<i32> {
        self.netfilter.as_ref().map(Netfilter::event_fd)
    }

    /// Whether filters have changed since this was last asked.
    pub(crate) fn changed(&mut self) -> bool {
        self.netfilter.as_mut().is_some_and(Netfilter::changed)
    }

    /// Reads what there is. `notified`: rules, filters, devices or queueing disciplines may have changed. `tables`: those that the program has.
    ///
    /// # Errors
    /// Netlink fails.
    pub(crate) fn read(&mut self, inside: &mut Netlink, notified: bool, tables: Tables) -> io::Result<Policy> {
        if notified {
            self.rules = inside.rules()?;
            self.queueing = inside.queueing()?;
        }
        for port in self.ports.iter_mut().filter(|port| !port.is_current()) {
            let open = || PortSettings::open(port.number, port.tap, port.name.clone());
            if let Some(Ok(anew)) = self.namespace.as_ref().map(|namespace| namespace.run(open)) {
                *port = anew;
            }
        }
        let mut policy = Policy::default();
        self.netfilter(&mut policy, notified)?;
        for port in &self.ports {
            if let Some(device) = inside.devices().get(&port.tap) {
                self.settings(&mut policy, port, device, tables.sources);
                self.devices(&mut policy, port, device, inside);
            }
        }
        if !self.all_ipv6_forwarding.is_set() {
            policy.punt(None, Packets::Ipv6, "net.ipv6.conf.all.forwarding is 0");
        }
        if self.use_pmtu.is_set() {
            policy.punt(None, Packets::Ipv4, "net.ipv4.ip_forward_use_pmtu is 1");
        }
        for ipv6 in [false, true] {
            self.rules(&mut policy, ipv6, tables.rules[usize::from(ipv6)]);
        }
        Ok(policy)
    }

    fn netfilter(&mut self, policy: &mut Policy, notified: bool) -> io::Result<()> {
        let Some(netfilter) = &mut self.netfilter else { return Ok(()) };
        if notified {
            self.chains = netfilter.chains()?;
        }
        for chain in &self.chains {
            let why = format!("nftables: chain {} of table {}", chain.name, chain.table);
            if chain.family != Family::Ipv6 {
                policy.punt(None, Packets::Ipv4, why.clone());
            }
            if chain.family != Family::Ipv4 {
                policy.punt(None, Packets::Ipv6, why);
            }
        }
        for (tables, packets) in netfilter.legacy_tables().into_iter().zip([Packets::Ipv4, Packets::Ipv6]) {
            for table in tables {
                policy.punt(None, packets, format!("iptables: table {table}"));
            }
        }
        if netfilter.ipsec_policies() > 0 {
            for packets in [Packets::Ipv4, Packets::Ipv6] {
                policy.punt(None, packets, "IPsec policies (ip xfrm policy)");
            }
        }
        Ok(())
    }

    fn settings(&self, policy: &mut Policy, port: &PortSettings, device: &Device, checks_sources: bool) {
        let (here, name) = (Some(port.number), &port.name);
        if !device.up {
            policy.punt(here, Packets::NoneTaken, format!("{name} is down"));
        }
        if !port.forwarding.is_set() {
            policy.punt(here, Packets::Ipv4, format!("net.ipv4.conf.{name}.forwarding is 0"));
        }
        let of_all = self.all_rp_filter.number().unwrap_or(0);
        let mode = port.rp_filter.number().unwrap_or(0).max(of_all);
        // With rules, or without an address at the device, the kernel checks otherwise.
        let rules = self.rules.iter().filter(|rule| !rule.ipv6).count() > DEFAULT_RULES;
        match mode {
            0 => {}
            1 | 2 if checks_sources && !rules && device.addresses.iter().any(std::net::IpAddr::is_ipv4) => {
                policy.check_sources.insert(port.number, mode as u8);
            }
            _ => policy.punt(here, Packets::Ipv4, format!("rp_filter of {name} is {mode}")),
        }
        if port.route_localnet.is_set() || self.all_route_localnet.is_set() {
            policy.punt(here, Packets::Ipv4, format!("route_localnet of {name} is 1"));
        }
        if port.disable_ipv6.is_set() {
            policy.punt(here, Packets::Ipv6, format!("net.ipv6.conf.{name}.disable_ipv6 is 1"));
        } else if device.mtu < MIN_IPV6_MTU || port.disable_ipv6.number().is_none() {
            policy.punt(here, Packets::Ipv6, format!("{name} has no IPv6"));
        }
        if let Some(mtu) = port.ipv6_mtu.number().filter(|mtu| *mtu != device.mtu) {
            policy.mtus.insert(port.number, mtu);
        }
    }

    fn devices(&self, policy: &mut Policy, port: &PortSettings, device: &Device, inside: &Netlink) {
        let (here, name) = (Some(port.number), &port.name);
        let devices = inside.devices();
        if let Some(master) = device.master {
            let master =
                devices.get(&master).map_or_else(|| "another device".into(), |m| format!("{} {}", m.kind, m.name));
            policy.punt(here, Packets::All, format!("{name} is part of {master}"));
        }
        for upper in devices
            .values()
            .filter(|upper| upper.link == Some(port.tap) && upper.kind != "vlan" && upper.kind != "veth")
        {
            policy.punt(here, Packets::All, format!("{} {} is on top of {name}", upper.kind, upper.name));
        }
        if device.xdp {
            policy.punt(here, Packets::All, format!("{name} has an XDP program"));
        }
        let here_queues = self.queueing.iter().filter(|(device, _)| *device == port.tap).map(|(_, kind)| kind.as_str());
        for kind in here_queues.filter(|kind| !PLAIN_QUEUES.contains(kind)) {
            let why = format!("{name} has the queueing discipline {kind}");
            if matches!(kind, "ingress" | "clsact") {
                policy.punt(here, Packets::All, why.clone());
            }
            policy.punt(here, Packets::Sent, why);
        }
    }

    /// Rules that come before the main table's: packets that they may match are the kernel's.
    fn rules(&self, policy: &mut Policy, ipv6: bool, has_rules: bool) {
        let packets = if ipv6 { Packets::Ipv6 } else { Packets::Ipv4 };
        let all: Vec<&Rule> = self.rules.iter().filter(|rule| rule.ipv6 == ipv6).collect();
        let plain = |rule: &Rule, table| {
            let any = rule.from.is_none() && rule.to.is_none() && rule.input.is_none() && rule.tos == 0;
            any && rule.protocol.is_none()
                && !rule.narrower
                && !rule.inverted
                && !rule.suppresses
                && !rule.never_forwarded
                && rule.action == RuleAction::Lookup(table)
        };
        for (table, name) in [(LOCAL, "local"), (MAIN, "main")] {
            if !all.iter().any(|rule| plain(rule, table)) {
                policy.punt(None, packets, format!("no rule has all packets look up table {name}"));
            }
        }
        for rule in all.into_iter().take_while(|rule| !plain(rule, MAIN)) {
            let harmless = match rule.action {
                RuleAction::Nothing => true,
                RuleAction::Lookup(MAIN | LOCAL) => !rule.suppresses,
                _ => rule.never_forwarded && !rule.inverted,
            };
            let Some(selector) = self.selector(rule).filter(|_| !harmless) else { continue };
            let why = format!("rule {}{}", rule.priority, describe(rule));
            if !has_rules || selector == Selector::default() {
                policy.punt(None, packets, why);
            } else {
                policy.rules[usize::from(ipv6)].insert(selector, why);
            }
        }
    }

    /// What selects at least the packets that a rule matches; none if no packet that comes by a port can.
    fn selector(&self, rule: &Rule) -> Option<Selector> {
        let mut selector = Selector::default();
        if rule.inverted {
            return Some(selector);
        }
        if let Some(name) = &rule.input {
            let port = self.ports.iter().find(|port| port.name == *name)?;
            selector.port = (port.number as u16, 0x1ff);
        }
        selector.src = rule.from.map_or((0, 0), bits);
        selector.dst = rule.to.map_or((0, 0), bits);
        if rule.tos != 0 {
            let mask = if rule.ipv6 { rule.tos } else { ROUTING_TOS };
            selector.tos = (rule.tos & mask, mask);
        }
        if let Some(protocol) = rule.protocol.filter(|_| !rule.ipv6) {
            selector.protocol = (protocol, u8::MAX);
        }
        Some(selector)
    }
}

/// Value and mask of a prefix.
fn bits(prefix: Prefix) -> (u128, u128) {
    let (width, value) = match prefix.address {
        std::net::IpAddr::V4(ip) => (32, u128::from(ip.to_bits())),
        std::net::IpAddr::V6(ip) => (128, ip.to_bits()),
    };
    let all = u128::MAX >> (128 - width);
    let rest = all.checked_shr(prefix.length.into()).unwrap_or(0);
    (value, all & !rest)
}

fn describe(rule: &Rule) -> String {
    let mut text = String::from(if rule.inverted { ": not from" } else { ": from" });
    let prefix = |prefix: Prefix| format!(" {}/{}", prefix.address, prefix.length);
    text += &rule.from.map_or(" all".into(), prefix);
    text += &rule.to.map_or(String::new(), |to| format!(" to{}", prefix(to)));
    text += &rule.input.as_ref().map_or(String::new(), |name| format!(" iif {name}"));
    if rule.tos != 0 {
        text += &format!(" tos {:#04x}", rule.tos);
    }
    text += &rule.protocol.map_or(String::new(), |protocol| format!(" ipproto {protocol}"));
    if rule.narrower {
        text += " and more";
    }
    text
}
