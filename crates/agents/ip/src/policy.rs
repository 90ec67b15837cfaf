//! What the namespace's kernel does with forwarded packets besides routing them: filters, address translation, IPsec, rules, checks of
//! sources, devices on top of the ports, shaping. The fast path does none of it. Packets that it may concern are the kernel's, and each
//! reason has a name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use hopwright_host::namespace::{Namespace, NamespaceError};
use hopwright_host::netfilter::{Family, Netfilter};
use hopwright_host::netlink::{Device, Netlink, Prefix, Rule, RuleAction};
use serde::{Deserialize, Serialize};

use crate::program::{ALL_INTERFACE_BITS, Interface, Kernel, Selector, Tables};

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

/// Routing tables: that of a VRF, or the local and the main table, which are one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RoutingTable {
    Main,
    /// The kernel's number of the table.
    Vrf(u32),
}

/// The routes of a table for IPv4, or for IPv6 if this is true.
pub(crate) type Routes = (RoutingTable, bool);

/// What the program's tables have no room for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incomplete {
    /// Some of these routes have no entry, so that packets would meet others.
    pub routes: BTreeSet<Routes>,
    /// Some of the router's own addresses are not in the table of sources that are not forwarded.
    pub own: bool,
}

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
    /// What leaves by the interface.
    #[serde(rename = "sent")]
    Sent,
    /// All, and the kernel drops them: the interface takes none.
    #[serde(rename = "none taken")]
    NoneTaken,
}

/// Packets that the fast path leaves to the kernel, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Punted {
    /// The port by which they come or leave; none: any.
    pub port: Option<u32>,
    /// The VLAN there; none: frames without a tag, and if all frames of the port are meant, those of its VLANs, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Which ones.
    pub packets: Packets,
    /// Why.
    pub why: String,
}

/// Packets that a rule may match, and where they are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub selector: Selector,
    pub lookup: Lookup,
    /// The rule.
    pub text: String,
}

/// Where packets are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The kernel does it: the selector has more packets than the rule, or the rule does something else.
    Kernel,
    /// In the main table.
    Main,
    /// In another table, and if it has no route for them, as the next rule says.
    Table(u32),
}

/// What the kernel has at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    pub punted: BTreeSet<Punted>,
    /// Rules in front of that for the main table, of IPv4 and IPv6, in their order.
    pub rules: [Vec<Selected>; 2],
    /// MTUs for IPv6 by interface, where they are others than the devices'.
    pub mtus: BTreeMap<Interface, u32>,
    /// `rp_filter` of interfaces that check sources.
    pub check_sources: BTreeMap<Interface, u8>,
    /// The tables of the VRFs that interfaces belong to.
    pub vrfs: BTreeMap<Interface, u32>,
    /// Packets are looked up in a VRF's table before the local one.
    pub vrfs_first: bool,
}

impl Policy {
    /// What of the packets that come by an interface is the kernel's.
    pub(crate) fn kernel(&self, interface: Interface) -> Kernel {
        let any = |packets| self.of(interface).any(|punted| punted == packets);
        let check_source = self.check_sources.get(&interface).copied().unwrap_or(0);
        Kernel { ipv4: any(Packets::Ipv4), ipv6: any(Packets::Ipv6), frames: any(Packets::All), check_source }
    }

    /// Whether only the kernel may send by an interface.
    pub(crate) fn sends(&self, interface: Interface) -> bool {
        self.of(interface).any(|punted| punted == Packets::Sent)
    }

    /// Whether the interface takes packets.
    pub(crate) fn takes(&self, interface: Interface) -> bool {
        !self.of(interface).any(|punted| punted == Packets::NoneTaken)
    }

    /// Leaves packets to the kernel that may take routes which the program's tables have no room for, or may have own addresses as sources.
    pub(crate) fn leave_incomplete(&mut self, incomplete: &Incomplete) {
        if incomplete.own {
            self.punt(None, Packets::Ipv4, "there are more own addresses than there is room for");
        }
        for (table, ipv6) in &incomplete.routes {
            let packets = if *ipv6 { Packets::Ipv6 } else { Packets::Ipv4 };
            let RoutingTable::Vrf(table) = table else {
                self.punt(None, packets, "there are more routes than there is room for");
                continue;
            };
            let of_vrf: Vec<_> = self.vrfs.iter().filter(|(_, of)| *of == table).map(|(here, _)| *here).collect();
            for interface in of_vrf {
                let why = format!("table {table} of its VRF has more routes than there is room for");
                self.punt(Some(interface), packets, why);
            }
        }
    }

    /// What concerns an interface. Frames of a VLAN are also frames of its port.
    fn of(&self, Interface { port, vlan }: Interface) -> impl Iterator<Item = Packets> {
        let concerns = move |punted: &&Punted| {
            let frames = !matches!(punted.packets, Packets::Ipv4 | Packets::Ipv6);
            let here = punted.vlan.unwrap_or(0) == vlan || punted.vlan.is_none() && frames;
            punted.port.is_none_or(|of| of == port && here)
        };
        self.punted.iter().filter(concerns).map(|punted| punted.packets)
    }

    fn punt(&mut self, interface: Option<Interface>, packets: Packets, why: impl Into<String>) {
        let port = interface.map(|interface| interface.port);
        let vlan = interface.map(|interface| interface.vlan).filter(|vlan| *vlan != 0);
        self.punted.insert(Punted { port, vlan, packets, why: why.into() });
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

/// The settings of an interface's device in the namespace.
#[derive(Debug)]
struct Settings {
    name: String,
    forwarding: Setting,
    rp_filter: Setting,
    route_localnet: Setting,
    disable_ipv6: Setting,
    ipv6_mtu: Setting,
}

impl Settings {
    /// Those of this thread's network namespace.
    fn open(name: String) -> Settings {
        let of = |family: &str, what: &str| Setting::open(&format!("{family}/conf/{name}/{what}"));
        Settings {
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
    /// By the index of the device.
    settings: BTreeMap<u32, Settings>,
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
    /// Those of a namespace.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub(crate) fn open(namespace: Namespace) -> Result<Sources, NamespaceError> {
        namespace.run(Sources::of_thread).map(|sources| Sources { namespace: Some(namespace), ..sources })
    }

    fn of_thread() -> Sources {
        Sources {
            netfilter: Netfilter::open().ok(),
            namespace: None,
            settings: BTreeMap::new(),
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
    /// `interfaces`: by the index of their devices.
    ///
    /// # Errors
    /// Netlink fails.
    pub(crate) fn read(
        &mut self,
        inside: &mut Netlink,
        notified: bool,
        tables: Tables,
        interfaces: &HashMap<u32, Interface>,
    ) -> io::Result<Policy> {
        if notified {
            self.rules = inside.rules()?;
            self.queueing = inside.queueing()?;
        }
        self.open_settings(inside, interfaces);
        let mut policy = Policy::default();
        self.netfilter(&mut policy, notified)?;
        for (index, settings) in &self.settings {
            if let (Some(device), Some(here)) = (inside.devices().get(index), interfaces.get(index)) {
                self.settings(&mut policy, *here, settings, device, tables.sources);
                self.devices(&mut policy, *here, device, inside);
                vlan(&mut policy, *here, device, inside);
            }
        }
        let gone = interfaces.iter().filter(|(index, here)| here.vlan == 0 && !inside.devices().contains_key(index));
        for (_, here) in gone {
            // Its kernel there gets all frames. Those of one that is deleted are lost.
            policy.punt(Some(*here), Packets::All, "its interface is not in the namespace any more");
        }
        self.vrfs(&mut policy, inside, interfaces, tables);
        if !self.all_ipv6_forwarding.is_set() {
            policy.punt(None, Packets::Ipv6, "net.ipv6.conf.all.forwarding is 0");
        }
        if self.use_pmtu.is_set() {
            policy.punt(None, Packets::Ipv4, "net.ipv4.ip_forward_use_pmtu is 1");
        }
        for ipv6 in [false, true] {
            self.rules(&mut policy, ipv6, tables.rules[usize::from(ipv6)], inside, interfaces);
        }
        Ok(policy)
    }

    /// Opens the settings of interfaces that have come or changed their names.
    fn open_settings(&mut self, inside: &Netlink, interfaces: &HashMap<u32, Interface>) {
        let devices = inside.devices();
        self.settings.retain(|index, _| interfaces.contains_key(index));
        for index in interfaces.keys() {
            let Some(device) = devices.get(index) else { continue };
            let current = |settings: &Settings| settings.name == device.name && settings.is_current();
            if self.settings.get(index).is_some_and(current) {
                continue;
            }
            let open = || Settings::open(device.name.clone());
            if let Some(Ok(anew)) = self.namespace.as_ref().map(|namespace| namespace.run(open)) {
                self.settings.insert(*index, anew);
            }
        }
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

    fn settings(
        &self,
        policy: &mut Policy,
        interface: Interface,
        settings: &Settings,
        device: &Device,
        checks_sources: bool,
    ) {
        let here = Some(interface);
        let name = &settings.name;
        if !device.up {
            policy.punt(here, Packets::NoneTaken, format!("{name} is down"));
        }
        if !settings.forwarding.is_set() {
            policy.punt(here, Packets::Ipv4, format!("net.ipv4.conf.{name}.forwarding is 0"));
        }
        let of_all = self.all_rp_filter.number().unwrap_or(0);
        let mode = settings.rp_filter.number().unwrap_or(0).max(of_all);
        // With rules, in a VRF, or without an address at the device, the kernel checks otherwise.
        let rules = self.rules.iter().filter(|rule| !rule.ipv6 && !rule.of_vrfs).count() > DEFAULT_RULES;
        let main = !rules && device.master.is_none();
        match mode {
            0 => {}
            1 | 2 if checks_sources && main && device.addresses.iter().any(std::net::IpAddr::is_ipv4) => {
                policy.check_sources.insert(interface, mode as u8);
            }
            _ => policy.punt(here, Packets::Ipv4, format!("rp_filter of {name} is {mode}")),
        }
        if settings.route_localnet.is_set() || self.all_route_localnet.is_set() {
            policy.punt(here, Packets::Ipv4, format!("route_localnet of {name} is 1"));
        }
        if settings.disable_ipv6.is_set() {
            policy.punt(here, Packets::Ipv6, format!("net.ipv6.conf.{name}.disable_ipv6 is 1"));
        } else if device.mtu < MIN_IPV6_MTU || settings.disable_ipv6.number().is_none() {
            policy.punt(here, Packets::Ipv6, format!("{name} has no IPv6"));
        }
        if let Some(mtu) = settings.ipv6_mtu.number().filter(|mtu| *mtu != device.mtu) {
            policy.mtus.insert(interface, mtu);
        }
    }

    fn devices(&self, policy: &mut Policy, interface: Interface, device: &Device, inside: &Netlink) {
        let (here, name) = (Some(interface), &device.name);
        let devices = inside.devices();
        if let Some(master) = device.master.filter(|_| vrf_of(device, inside).is_none()) {
            let master =
                devices.get(&master).map_or_else(|| "another device".into(), |m| format!("{} {}", m.kind, m.name));
            policy.punt(here, Packets::All, format!("{name} is part of {master}"));
        }
        for upper in devices
            .values()
            .filter(|upper| upper.link == Some(device.index) && upper.kind != "vlan" && upper.kind != "veth")
        {
            policy.punt(here, Packets::All, format!("{} {} is on top of {name}", upper.kind, upper.name));
        }
        if device.xdp {
            policy.punt(here, Packets::All, format!("{name} has an XDP program"));
        }
        let queues = self.queueing.iter().filter(|(of, _)| *of == device.index).map(|(_, kind)| kind.as_str());
        for kind in queues.filter(|kind| !PLAIN_QUEUES.contains(kind)) {
            let why = format!("{name} has the queueing discipline {kind}");
            if matches!(kind, "ingress" | "clsact") {
                policy.punt(here, Packets::All, why.clone());
            }
            policy.punt(here, Packets::Sent, why);
        }
    }

    /// Which interfaces belong to which VRFs. What the fast path does not do there is the kernel's.
    fn vrfs(&self, policy: &mut Policy, inside: &Netlink, interfaces: &HashMap<u32, Interface>, tables: Tables) {
        let members = interfaces.iter().filter_map(|(index, interface)| {
            let device = inside.devices().get(index)?;
            Some((*interface, device, vrf_of(device, inside)?))
        });
        let order = |ipv6: bool| self.vrfs_first(ipv6);
        policy.vrfs_first = order(false) == Some(true);
        for (interface, device, vrf) in members {
            let (here, member) = (Some(interface), format!("{} is part of VRF {}", device.name, vrf.name));
            let table = vrf.vrf_table.unwrap_or(0);
            if !tables.vrfs || !vrf.up || matches!(table, 0 | MAIN | LOCAL) {
                policy.punt(here, Packets::All, member);
                continue;
            }
            policy.vrfs.insert(interface, table);
            if order(false).is_none() {
                policy.punt(here, Packets::Ipv4, format!("{member}, and there are other rules"));
            }
            if order(true) != Some(policy.vrfs_first) {
                policy.punt(here, Packets::Ipv6, format!("{member}, and there are other rules"));
            }
        }
    }

    /// Whether the table of a VRF is looked at before the local one; none if more rules than those that a kernel has by itself concern
    /// packets of VRFs.
    fn vrfs_first(&self, ipv6: bool) -> Option<bool> {
        let rules = self.rules.iter().filter(|rule| rule.ipv6 == ipv6 && rule.action != RuleAction::Nothing);
        let rules = rules.filter(|rule| !rule.never_forwarded || rule.inverted);
        let kinds: Vec<u32> = rules
            .map(|rule| match rule.action {
                // The kernel does not say which table it is.
                RuleAction::Lookup(_) if rule.of_vrfs && is_for_all(rule) => 0,
                RuleAction::Lookup(table) if !rule.of_vrfs && is_for_all(rule) => table,
                _ => u32::MAX,
            })
            .take_while(|kind| *kind != MAIN)
            .collect();
        // Who looks at a table twice finds nothing new.
        let first = |table: u32| kinds.iter().position(|kind| *kind == table);
        let known = kinds.iter().all(|kind| matches!(*kind, 0 | LOCAL));
        Some(first(0)? < first(LOCAL)?).filter(|_| known)
    }

    /// Rules that come before the main table's: packets that they may match are the kernel's.
    fn rules(
        &self,
        policy: &mut Policy,
        ipv6: bool,
        has_rules: bool,
        inside: &Netlink,
        interfaces: &HashMap<u32, Interface>,
    ) {
        let packets = if ipv6 { Packets::Ipv6 } else { Packets::Ipv4 };
        // Packets of VRFs are none of other rules': see `vrfs`.
        let all: Vec<&Rule> = self.rules.iter().filter(|rule| rule.ipv6 == ipv6 && !rule.of_vrfs).collect();
        let plain =
            |rule: &Rule, table| is_for_all(rule) && !rule.never_forwarded && rule.action == RuleAction::Lookup(table);
        for (table, name) in [(LOCAL, "local"), (MAIN, "main")] {
            if !all.iter().any(|rule| plain(rule, table)) {
                policy.punt(None, packets, format!("no rule has all packets look up table {name}"));
            }
        }
        for rule in all.into_iter().take_while(|rule| !plain(rule, MAIN)) {
            let exact = !rule.inverted && !rule.narrower && !rule.suppresses && (!ipv6 || rule.protocol.is_none());
            let lookup = match rule.action {
                RuleAction::Nothing => continue,
                _ if rule.never_forwarded && !rule.inverted => continue,
                RuleAction::Lookup(LOCAL) if !rule.suppresses => continue,
                RuleAction::Lookup(MAIN) if exact => Lookup::Main,
                RuleAction::Lookup(table) if exact => Lookup::Table(table),
                _ => Lookup::Kernel,
            };
            let Some(selector) = selector(rule, inside, interfaces) else { continue };
            let text = format!("rule {}{}", rule.priority, describe(rule));
            if !has_rules || lookup == Lookup::Kernel && selector == Selector::default() {
                policy.punt(None, packets, text);
            } else {
                policy.rules[usize::from(ipv6)].push(Selected { selector, lookup, text });
            }
        }
    }
}

/// The VRF that a device belongs to.
fn vrf_of<'a>(device: &Device, inside: &'a Netlink) -> Option<&'a Device> {
    inside.devices().get(&device.master?).filter(|master| master.kind == "vrf")
}

/// What the fast path does not do for a VLAN.
fn vlan(policy: &mut Policy, interface: Interface, device: &Device, inside: &Netlink) {
    let (here, name) = (Some(interface), &device.name);
    let Some(vlan) = device.vlan.filter(|_| interface.vlan != 0) else { return };
    if vlan.maps_priorities {
        policy.punt(here, Packets::Sent, format!("{name} gives frames priorities"));
    }
    if !vlan.hides_tag {
        policy.punt(here, Packets::All, format!("reorder_hdr of {name} is off"));
        policy.punt(here, Packets::Sent, format!("reorder_hdr of {name} is off"));
    }
    let port = device.link.and_then(|port| inside.devices().get(&port));
    if port.is_none_or(|port| port.mac != device.mac) {
        policy.punt(here, Packets::All, format!("{name} has an Ethernet address of its own"));
    }
}

/// Whether a rule matches all packets, of VRFs if it is for these.
fn is_for_all(rule: &Rule) -> bool {
    let any = rule.from.is_none() && rule.to.is_none() && rule.input.is_none() && rule.tos == 0;
    any && rule.protocol.is_none() && !rule.narrower && !rule.inverted && !rule.suppresses
}

/// What selects at least the packets that a rule matches; none if no packet that comes by an interface can.
fn selector(rule: &Rule, inside: &Netlink, interfaces: &HashMap<u32, Interface>) -> Option<Selector> {
    let mut selector = Selector::default();
    if rule.inverted {
        return Some(selector);
    }
    if let Some(name) = &rule.input {
        let named = |(index, _): &(&u32, &Interface)| inside.devices().get(index).is_some_and(|d| d.name == *name);
        let (_, interface) = interfaces.iter().find(named)?;
        selector.interface = (interface.number(), ALL_INTERFACE_BITS);
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

/// Value and mask of a prefix.
pub(crate) fn bits(prefix: Prefix) -> (u128, u128) {
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
