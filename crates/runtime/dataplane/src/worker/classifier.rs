//! The classifier: which tenant a received frame belongs to, by port, VLAN and destination address.
//!
//! The control side compiles the rules of all tenants for each port and gives every worker a copy between two rounds. A port
//! of one tenant costs nothing per packet; otherwise a packet takes one to three probes of a small hash table.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use crate::packet::Packet;
use crate::port::MAX_PORT;
use crate::worker::tenant_ports::TenantPorts;

/// Most tenants of a switch.
pub const MAX_TENANTS: usize = 1024;

/// A tenant's place among those of its switch.
pub(crate) type Slot = u16;

/// Says which frames a tenant gets. What is not given matches every frame.
///
/// Of the rules that match a frame the most specific decides: one with a destination address before one without; among
/// these one with a VLAN; among these one with a port. No two tenants have equal rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Received by the port of this number of the switch. A rule never matches on ports that the tenant does not have.
    pub port: Option<u32>,
    /// Id of the outermost VLAN tag (IEEE 802.1Q, TPID 0x8100 or 0x88A8); 0: frames without tag or with a priority tag.
    pub vlan: Option<u16>,
    /// Destination address.
    pub mac: Option<[u8; 6]>,
    /// The tenant also gets a copy of each frame to a group address, such as broadcasts, that port and VLAN of the
    /// rule match, whichever tenant gets the frame itself.
    pub copy_groups: bool,
}

/// Why rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No VLAN id.
    #[error("{0} is no VLAN id: they go from 1 to 4094, and 0 is for frames without VLAN")]
    Vlan(u16),
    /// A port that the tenant does not have.
    #[error("a rule is for port {0} of the switch, which the tenant does not have")]
    Port(u32),
    /// Two tenants want the same frames.
    #[error("tenant `{tenant}` has the rule `{rule}` already")]
    Taken {
        /// Which.
        rule: Rule,
        /// Whose.
        tenant: String,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.port.map(|port| format!("port {port}")));
        parts.extend(self.vlan.map(|vlan| if vlan == 0 { "no VLAN".into() } else { format!("VLAN {vlan}") }));
        parts.extend(self.mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")));
        f.write_str(&if parts.is_empty() { "every frame".into() } else { parts.join(", ") })
    }
}

/// Destination addresses of the frames that a port's rules may give to a tenant. A device that receives these needs not
/// be promiscuous.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Any address will do for some rule.
    pub every: bool,
    /// Every group address will do.
    pub groups: bool,
    /// These.
    pub exact: BTreeSet<[u8; 6]>,
}

impl Addresses {
    /// Adds those of a tenant.
    pub(crate) fn add(&mut self, port: u32, tenant: &TenantRules<'_>) {
        if tenant.ports.of_program(port).is_none() {
            return;
        }
        for rule in tenant.rules.iter().filter(|rule| rule.port.is_none_or(|own| own == port)) {
            self.groups |= rule.copy_groups;
            match rule.mac {
                None => self.every = true,
                Some(mac) => drop(self.exact.insert(mac)),
            }
        }
    }
}

/// The rules of a tenant, to be compiled.
pub(crate) struct TenantRules<'a> {
    pub slot: Slot,
    pub name: &'a str,
    pub ports: &'a TenantPorts,
    pub rules: &'a [Rule],
}

/// The compiled rules of all tenants.
#[derive(Debug)]
pub(crate) struct Classifier {
    /// Places in `rules`, by number of the port.
    by_port: Box<[u16]>,
    /// The first are those of ports that no rule and no tenant names.
    rules: Vec<PortRules>,
}

impl Default for Classifier {
    /// Of no tenant.
    fn default() -> Classifier {
        let table = Table::new(&HashMap::new(), None, Vec::new());
        Classifier { by_port: Box::default(), rules: vec![PortRules::Several(Box::new(table))] }
    }
}

/// The rules of a port.
#[derive(Debug)]
pub(crate) enum PortRules {
    /// All frames are this tenant's.
    One(Slot),
    Several(Box<Table>),
}

/// What frames of a port are looked up in.
#[derive(Debug)]
pub(crate) struct Table {
    /// Open addressing; zero is free.
    keys: Box<[u64]>,
    slots: Box<[Slot]>,
    /// The hash function's, chosen so that few keys collide.
    multiplier: u64,
    /// Which kinds of keys there are.
    with_mac_and_vlan: bool,
    with_mac: bool,
    with_vlan: bool,
    /// Whose is what no key matches.
    rest: Option<Slot>,
    /// Who gets copies of frames to group addresses, of this VLAN or any.
    groups: Vec<(Option<u16>, Slot)>,
}

/// The first multiplier of the hash function: 2^64 by the golden ratio, odd.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Multipliers that are tried, and most places of tables that are filled to do so.
const ATTEMPTS: u64 = 64;
const MOST_FILLED: u64 = 1 << 20;

/// Kinds of keys, from bit 60 on; below are 12 bits of VLAN and 48 of address.
const MAC_AND_VLAN: u64 = 1 << 60;
const MAC: u64 = 2 << 60;
const VLAN: u64 = 3 << 60;

fn vlan_bits(vlan: u16) -> u64 {
    u64::from(vlan & 0xfff) << 48
}

fn mac_bits(mac: [u8; 6]) -> u64 {
    mac.into_iter().fold(0, |bits, byte| bits << 8 | u64::from(byte))
}

/// Destination address and VLAN of a frame; `None` if it is too short for an Ethernet header.
#[inline]
fn fields(frame: &[u8]) -> Option<(u64, u64)> {
    let header: &[u8; 14] = frame.first_chunk()?;
    let [a, b, c, d, e, f, g, h, .., high, low] = *header;
    let mac = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 16;
    let tagged = matches!([high, low], [0x81, 0x00] | [0x88, 0xa8]);
    let vlan = match frame.get(14..16) {
        Some(&[high, low]) if tagged => vlan_bits(u16::from_be_bytes([high, low])),
        _ => 0,
    };
    Some((mac, vlan))
}

/// Whether an address is a group's, and not one station's.
const GROUP: u64 = 1 << 40;

impl Table {
    #[inline]
    fn find(&self, key: u64) -> Option<Slot> {
        let mask = self.keys.len() - 1;
        let mut at = Table::start(key, self.multiplier) & mask;
        loop {
            let found = self.keys[at];
            if found == key {
                return Some(self.slots[at]);
            }
            if found == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    fn start(key: u64, multiplier: u64) -> usize {
        (key.wrapping_mul(multiplier) >> 40) as usize
    }

    fn new(of_key: &HashMap<u64, Slot>, rest: Option<Slot>, groups: Vec<(Option<u16>, Slot)>) -> Table {
        let size = (of_key.len() * 4).next_power_of_two();
        let fill = |multiplier| {
            let (mut keys, mut slots, mut steps) = (vec![0; size], vec![0; size], 0);
            for (&key, &slot) in of_key {
                let mut at = Table::start(key, multiplier) & (size - 1);
                while keys[at] != 0 {
                    at = (at + 1) & (size - 1);
                    steps += 1;
                }
                (keys[at], slots[at]) = (key, slot);
            }
            (steps, multiplier, keys, slots)
        };
        // A packet whose key is found at once costs no mispredicted branch.
        let mut best = fill(MULTIPLIER);
        for attempt in 1..ATTEMPTS.min(MOST_FILLED / size as u64) {
            if best.0 == 0 {
                break;
            }
            let other = fill(MULTIPLIER.wrapping_mul(2 * attempt + 1));
            if other.0 < best.0 {
                best = other;
            }
        }
        let (_, multiplier, keys, slots) = best;
        let has = |kind| of_key.keys().any(|key| key >> 60 == kind >> 60);
        Table {
            keys: keys.into(),
            slots: slots.into(),
            multiplier,
            with_mac_and_vlan: has(MAC_AND_VLAN),
            with_mac: has(MAC),
            with_vlan: has(VLAN),
            rest,
            groups,
        }
    }

    /// Whose a frame is.
    #[inline]
    pub(crate) fn tenant(&self, packet: &Packet) -> Option<Slot> {
        self.tenant_of(packet.bytes())
    }

    #[inline(always)]
    fn tenant_of(&self, frame: &[u8]) -> Option<Slot> {
        let Some((mac, vlan)) = fields(frame) else {
            let untagged = if self.with_vlan { self.find(VLAN) } else { None };
            return untagged.or(self.rest);
        };
        if self.with_mac_and_vlan
            && let Some(slot) = self.find(MAC_AND_VLAN | vlan | mac)
        {
            return Some(slot);
        }
        if self.with_mac
            && let Some(slot) = self.find(MAC | mac)
        {
            return Some(slot);
        }
        if self.with_vlan
            && let Some(slot) = self.find(VLAN | vlan)
        {
            return Some(slot);
        }
        self.rest
    }

    /// Whether tenants get copies of frames to group addresses.
    #[inline]
    pub(crate) fn copies_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Tenants that get a copy of a frame, perhaps besides the one whose it is.
    pub(crate) fn copies(&self, frame: &[u8]) -> impl Iterator<Item = Slot> + '_ {
        let vlan = fields(frame).filter(|(mac, _)| mac & GROUP != 0).map(|(_, vlan)| vlan);
        let matches = move |of_rule: &Option<u16>| vlan.is_some_and(|v| of_rule.is_none_or(|id| vlan_bits(id) == v));
        self.groups.iter().filter(move |(vlan, _)| matches(vlan)).map(|(_, slot)| *slot)
    }
}

impl Classifier {
    /// Compiles the rules of tenants.
    pub(crate) fn new(tenants: &[TenantRules<'_>]) -> Result<Classifier, RuleError> {
        let mut named: Vec<u32> = Vec::new();
        for tenant in tenants {
            named.extend(tenant.rules.iter().filter_map(|rule| rule.port));
            if let TenantPorts::Numbered(map) = tenant.ports {
                named.extend(map.values());
            }
            for rule in tenant.rules {
                if let Some(vlan) = rule.vlan.filter(|vlan| *vlan > 4094) {
                    return Err(RuleError::Vlan(vlan));
                }
                if let Some(port) = rule.port.filter(|port| tenant.ports.of_program(*port).is_none()) {
                    return Err(RuleError::Port(port));
                }
            }
        }
        named.sort_unstable();
        named.dedup();
        let mut by_port: Box<[u16]> = vec![0; MAX_PORT as usize + 1].into();
        let mut rules = vec![PortRules::new(tenants, None)?];
        for port in named {
            // No port has another number.
            let Some(place) = by_port.get_mut(port as usize) else { continue };
            *place = rules.len() as u16;
            rules.push(PortRules::new(tenants, Some(port))?);
        }
        Ok(Classifier { by_port, rules })
    }

    /// The rules of a port.
    #[inline]
    pub(crate) fn port(&self, number: u32) -> &PortRules {
        let place = self.by_port.get(number as usize).copied().unwrap_or_default();
        &self.rules[usize::from(place)]
    }
}

impl PortRules {
    /// `port`: `None` for those that nobody names.
    fn new(tenants: &[TenantRules<'_>], port: Option<u32>) -> Result<PortRules, RuleError> {
        let has_port = |tenant: &TenantRules<'_>| match (tenant.ports, port) {
            (TenantPorts::All, _) => true,
            (ports, Some(port)) => ports.of_program(port).is_some(),
            (_, None) => false,
        };
        // By key whose it is, and whether the rule has a port; the key of the rest is 0.
        let mut by_key: HashMap<u64, (Slot, bool, &str)> = HashMap::new();
        let mut groups = Vec::new();
        for tenant in tenants.iter().filter(|tenant| has_port(tenant)) {
            for rule in tenant.rules.iter().filter(|rule| rule.port.is_none() || rule.port == port) {
                let key = match (rule.mac, rule.vlan) {
                    (Some(mac), Some(vlan)) => MAC_AND_VLAN | vlan_bits(vlan) | mac_bits(mac),
                    (Some(mac), None) => MAC | mac_bits(mac),
                    (None, Some(vlan)) => VLAN | vlan_bits(vlan),
                    (None, None) => 0,
                };
                if rule.copy_groups && !groups.contains(&(rule.vlan, tenant.slot)) {
                    groups.push((rule.vlan, tenant.slot));
                }
                let given = rule.port.is_some();
                match by_key.get(&key) {
                    Some((slot, has_port, name)) if *has_port == given && *slot != tenant.slot => {
                        return Err(RuleError::Taken { rule: *rule, tenant: (*name).into() });
                    }
                    Some((_, true, _)) if !given => {}
                    _ => {
                        by_key.insert(key, (tenant.slot, given, tenant.name));
                    }
                }
            }
        }
        // One copy for each tenant.
        let all: Vec<Slot> = groups.iter().filter(|(vlan, _)| vlan.is_none()).map(|(_, slot)| *slot).collect();
        groups.retain(|(vlan, slot)| vlan.is_none() || !all.contains(slot));
        let rest = by_key.remove(&0).map(|(slot, ..)| slot);
        Ok(match rest {
            Some(slot) if by_key.is_empty() && groups.iter().all(|(_, copied)| *copied == slot) => PortRules::One(slot),
            _ => {
                let of_key = by_key.into_iter().map(|(key, (slot, ..))| (key, slot)).collect();
                PortRules::Several(Box::new(Table::new(&of_key, rest, groups)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// What the documentation of [`Rule`] says, one rule after the other.
    fn naive(tenants: &[(TenantPorts, Vec<Rule>)], port: u32, mac: [u8; 6], vlan: u16) -> (Option<Slot>, Vec<Slot>) {
        let mut best = None;
        let mut copies: Vec<Slot> = Vec::new();
        for (slot, (ports, rules)) in tenants.iter().enumerate() {
            for rule in rules.iter().filter(|_| ports.of_program(port).is_some()) {
                let on_port = rule.port.is_none_or(|p| p == port) && rule.vlan.is_none_or(|v| v == vlan);
                if on_port && rule.copy_groups && mac[0] & 1 == 1 && !copies.contains(&(slot as Slot)) {
                    copies.push(slot as Slot);
                }
                let precise = (rule.mac.is_some(), rule.vlan.is_some(), rule.port.is_some());
                if on_port && rule.mac.is_none_or(|m| m == mac) && best.is_none_or(|(other, _)| precise > other) {
                    best = Some((precise, slot as Slot));
                }
            }
        }
        copies.sort_unstable();
        (best.map(|(_, slot)| slot), copies)
    }

    fn addresses() -> impl Strategy<Value = [u8; 6]> {
        (prop_oneof![Just(0u8), Just(1), Just(2)], 0u8..3).prop_map(|(first, last)| [first, 0, 0, 0, 0, last])
    }

    fn vlans() -> impl Strategy<Value = u16> {
        prop_oneof![Just(0u16), Just(1), Just(2), Just(4094)]
    }

    fn rules() -> impl Strategy<Value = Rule> {
        let (port, vlan, mac) = (prop::option::of(0u32..4), prop::option::of(vlans()), prop::option::of(addresses()));
        (port, vlan, mac, any::<bool>()).prop_map(|(port, vlan, mac, copy_groups)| Rule {
            port,
            vlan,
            mac,
            copy_groups,
        })
    }

    fn some_ports() -> impl Strategy<Value = TenantPorts> {
        let numbered = |set: std::collections::BTreeSet<u32>| {
            TenantPorts::Numbered(set.into_iter().map(|port| (port + 100, port)).collect::<BTreeMap<_, _>>())
        };
        prop_oneof![Just(TenantPorts::All), prop::collection::btree_set(0u32..4, 0..4).prop_map(numbered)]
    }

    fn bytes(mac: [u8; 6], vlan: u16, tag: u8, priority: u16) -> Vec<u8> {
        let mut frame = [mac, [9; 6]].concat();
        match (tag, vlan) {
            (0, 0) => {}
            (tag, vlan) => {
                frame.extend(if tag == 1 { [0x88, 0xa8] } else { [0x81, 0x00] });
                frame.extend((vlan | priority << 12).to_be_bytes());
            }
        }
        frame.extend([0x08, 0x00]);
        frame
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn it_finds_what_the_rules_say(
            tenants in prop::collection::vec((some_ports(), prop::collection::vec(rules(), 0..6)), 0..6),
            frames in prop::collection::vec((0u32..6, addresses(), vlans(), 0u8..3, 0u16..16), 1..30),
        ) {
            // Tenants whose rules are all right and nobody else's.
            let mut accepted: Vec<(TenantPorts, Vec<Rule>)> = Vec::new();
            let mut classifier = Classifier::default();
            for tenant in tenants {
                accepted.push(tenant);
                let rules: Vec<TenantRules<'_>> = accepted.iter().enumerate().map(|(slot, (ports, rules))| {
                    TenantRules { slot: slot as Slot, name: "tenant", ports, rules }
                }).collect();
                match Classifier::new(&rules) {
                    Ok(good) => classifier = good,
                    Err(_) => drop(accepted.pop()),
                }
            }
            for (port, mac, vlan, tag, priority) in frames {
                let frame = bytes(mac, vlan, tag, priority);
                let (expected, expected_copies) = naive(&accepted, port, mac, vlan);
                let (found, mut copies) = match classifier.port(port) {
                    PortRules::One(slot) => (Some(*slot), Vec::new()),
                    PortRules::Several(table) => (table.tenant_of(&frame), table.copies(&frame).collect()),
                };
                prop_assert_eq!(found, expected, "port {}, {:?}", port, frame);
                copies.sort_unstable();
                // Who gets the frame itself gets no copy.
                copies.retain(|slot| Some(*slot) != found);
                prop_assert_eq!(copies, Vec::from_iter(expected_copies.into_iter().filter(|s| Some(*s) != found)));
            }
        }
    }
}
