//! The workload of `bench programs`: programs, entries for their tables in any number, and packets that hit them.
//!
//! Entries and frames are functions of their number: entry `n` of a table and the frame of flow `f` are the same in each run.

use std::collections::HashSet;
use std::ops::Range;

use hopwright_driver::{Compiled, compile_text, in_memory};
use hopwright_ir::MatchValue;

mod frames;
mod rina;

pub(super) use frames::Frame;
use frames::{eth, ipv4_udp, mac, mpls, telemetry};

/// One match of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Match {
    Exact(u64),
    /// Value, prefix length and width of the key.
    Lpm(u64, u32, u32),
    /// Value and mask.
    Ternary(u64, u64),
}

impl Match {
    /// Whether a key with this value matches.
    pub(super) fn covers(self, key: u64) -> bool {
        match self {
            Match::Exact(v) => key == v,
            Match::Lpm(v, len, width) => len == 0 || (key ^ v) >> (width - len) == 0,
            Match::Ternary(v, mask) => key & mask == v,
        }
    }

    /// The match in the control plane's form.
    pub(super) fn value(self) -> MatchValue {
        match self {
            Match::Exact(v) => MatchValue::Exact(v.into()),
            Match::Lpm(v, prefix_len, _) => MatchValue::Lpm { value: v.into(), prefix_len },
            Match::Ternary(v, mask) => MatchValue::Ternary { value: v.into(), mask: mask.into() },
        }
    }
}

/// An entry of a table.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub table: &'static str,
    pub matches: Vec<Match>,
    pub priority: i32,
    pub action: &'static str,
    pub args: Vec<u64>,
    /// The group of the table's selector that the entry refers to, instead of an action.
    pub group: Option<u32>,
}

fn entry<const M: usize, const A: usize>(
    table: &'static str,
    matches: [Match; M],
    action: &'static str,
    args: [u64; A],
) -> Entry {
    Entry { table, matches: matches.into(), priority: 0, action, args: args.into(), group: None }
}

/// Makes tables with this many entries.
type Fill = fn(usize) -> Box<dyn Tables>;

/// A program and its measurements.
pub(super) struct Workload {
    /// The name of the record.
    pub name: &'static str,
    /// The program.
    pub program: Program,
    /// Table sizes that make sense.
    pub sizes: Range<usize>,
    /// Makes tables of this size.
    pub fill: Fill,
}

/// Which program a workload runs.
pub(super) enum Program {
    /// A file of p4/bench.
    Bench(&'static str),
    /// The RINA interior router.
    Rina,
}

/// The groups of an action selector.
pub(super) struct Groups {
    pub selector: &'static str,
    pub action: &'static str,
    /// For each group the arguments of its members' actions.
    pub members: Vec<Vec<Vec<u64>>>,
}

/// Entries and packets for one table size.
pub(super) trait Tables {
    /// All entries.
    fn entries(&self) -> Vec<Entry>;
    /// The members of a selector's groups, if there is one.
    fn groups(&self) -> Option<Groups> {
        None
    }
    /// The packet of a flow. An even flow and the odd one after it belong together: the odd one is the answer.
    fn frame(&self, flow: u64, bytes: usize) -> Frame;
    /// The lookup keys of a flow's packet, by table.
    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)>;
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../p4/", $name)))),*]
    };
}

/// The programs and their include files, by name.
const SOURCES: &[(&str, &str)] = files![
    "headers.p4",
    "ipv4.p4",
    "tail.p4",
    "l2.p4",
    "l3.p4",
    "l3_tna.p4",
    "acl.p4",
    "ecmp.p4",
    "vxlan.p4",
    "mpls.p4",
    "telemetry.p4",
    "metering.p4",
    "firewall.p4",
];

const ANY: Range<usize> = 1..1_000_001;
const LABELS: Range<usize> = 1..1_000_001;
const TERNARY: Range<usize> = 1..10_001;

/// All programs.
pub(super) const WORKLOADS: &[Workload] = &[
    bench("l2", "l2.p4", ANY, |n| Box::new(L2(n))),
    bench("l3", "l3.p4", ANY, |n| Box::new(L3(prefixes(n)))),
    bench("l3-tna", "l3_tna.p4", ANY, |n| Box::new(L3(prefixes(n)))),
    bench("acl", "acl.p4", TERNARY, |n| Box::new(Acl(rules(n)))),
    bench("ecmp", "ecmp.p4", ANY, |n| Box::new(Ecmp(prefixes(n)))),
    bench("vxlan-wrap", "vxlan.p4", ANY, |n| Box::new(VxlanWrap(n))),
    bench("vxlan-unwrap", "vxlan.p4", ANY, |n| Box::new(VxlanUnwrap(n))),
    bench("mpls-push", "mpls.p4", ANY, |n| Box::new(MplsPush(prefixes(n)))),
    bench("mpls-swap", "mpls.p4", LABELS, |n| Box::new(MplsSwap(n))),
    bench("telemetry", "telemetry.p4", ANY, |n| Box::new(Telemetry(n))),
    bench("metering", "metering.p4", ANY, |n| Box::new(Metering(n))),
    bench("firewall", "firewall.p4", ANY, |n| Box::new(Firewall(n))),
    rina("rina-efcp", |n| Box::new(rina::Rina { addresses: n, efcp: true, vlan: 0 })),
    rina("rina-efcp-vlan", |n| Box::new(rina::Rina { addresses: n, efcp: true, vlan: 10 })),
    rina("rina-ipv4", |n| Box::new(rina::Rina { addresses: n, efcp: false, vlan: 0 })),
    rina("rina-ipv4-vlan", |n| Box::new(rina::Rina { addresses: n, efcp: false, vlan: 10 })),
];

const fn bench(name: &'static str, file: &'static str, sizes: Range<usize>, fill: Fill) -> Workload {
    Workload { name, program: Program::Bench(file), sizes, fill }
}

const fn rina(name: &'static str, fill: Fill) -> Workload {
    Workload { name, program: Program::Rina, sizes: rina::ADDRESSES, fill }
}

impl Workload {
    /// Compiles the program.
    pub(super) fn compile(&self) -> Compiled {
        let Program::Bench(file) = self.program else { return rina::compile() };
        let text = SOURCES.iter().find(|(name, _)| *name == file).map_or("", |(_, text)| text);
        compile_text(file, text, &in_memory(SOURCES), true)
    }
}

/// Scrambles numbers: a bijection of 64 bits (the finaliser of splitmix64).
pub(super) fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// The entry that a flow hits.
fn pick(flow: u64, entries: usize) -> usize {
    (mix(flow) % entries as u64) as usize
}

/// A host's address: unicast, locally administered, one per number.
fn host(n: usize) -> u64 {
    mac(mix(n as u64) & 0xff_ffff << 24 | n as u64)
}

fn port(n: usize) -> u64 {
    1 + (n % 8) as u64
}

/// An IPv4 address, one per number.
fn address(n: usize) -> u64 {
    // Odd numbers are invertible modulo 2^32.
    ((n as u64).wrapping_mul(0x9e37_79b1) + 0x0a00_0000) & 0xffff_ffff
}

/// Prefixes with the lengths of the Internet's routes in 2024, roughly.
fn prefixes(n: usize) -> Vec<(u64, u32)> {
    const LENGTHS: &[(u32, u64)] = &[
        (24, 590),
        (23, 100),
        (22, 120),
        (21, 50),
        (20, 45),
        (19, 28),
        (18, 15),
        (17, 9),
        (16, 14),
        (15, 2),
        (14, 2),
        (13, 1),
        (12, 1),
        (11, 1),
        (32, 10),
        (28, 6),
        (26, 6),
    ];
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(n);
    let mut draw = 0u64;
    while all.len() < n {
        draw += 1;
        let random = mix(draw);
        let mut at = random % LENGTHS.iter().map(|(_, share)| share).sum::<u64>();
        let found = LENGTHS.iter().find(|(_, share)| {
            let here = at < *share;
            at = at.wrapping_sub(*share);
            here
        });
        let len = found.map_or(24, |(len, _)| *len);
        let value = (random >> 32) >> (32 - len) << (32 - len);
        if seen.insert((value, len)) {
            all.push((value, len));
        }
    }
    all
}

/// An address that a prefix covers.
fn within((value, len): (u64, u32), flow: u64) -> u64 {
    value | mix(flow ^ 0x5555) & (0xffff_ffff >> len)
}

/// The next hop of a route: there are fewer next hops than routes.
fn next_hop(n: usize) -> [u64; 3] {
    let hop = mix(n as u64) as usize % 64;
    [port(hop), host(1_000_000_000), host(2_000_000_000 + hop)]
}

struct L2(usize);

impl Tables for L2 {
    fn entries(&self) -> Vec<Entry> {
        let both = |n| {
            [
                entry("sources", [Match::Exact(host(n))], "known", [port(n)]),
                entry("destinations", [Match::Exact(host(n))], "forward", [port(n)]),
            ]
        };
        (0..self.0).flat_map(both).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let (to, from) = (pick(flow, self.0), pick(flow ^ 1 << 40, self.0));
        Frame::new(port(from), bytes, eth(host(to), host(from), 0x88b6))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        let (to, from) = (pick(flow, self.0), pick(flow ^ 1 << 40, self.0));
        vec![("sources", vec![host(from)]), ("destinations", vec![host(to)])]
    }
}

struct L3(Vec<(u64, u32)>);

impl L3 {
    fn to(&self, flow: u64) -> u64 {
        within(self.0[pick(flow, self.0.len())], flow)
    }
}

impl Tables for L3 {
    fn entries(&self) -> Vec<Entry> {
        let route =
            |(n, &(value, len)): (usize, _)| entry("routes", [Match::Lpm(value, len, 32)], "next_hop", next_hop(n));
        self.0.iter().enumerate().map(route).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        Frame::new(1, bytes, ipv4_udp(mix(flow) & 0xffff_ffff, self.to(flow), 17, 1000, 2000, bytes))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("routes", vec![self.to(flow)])]
    }
}

struct Acl(Vec<Rule>);

/// Source, destination, protocol, ports.
type Rule = [(u64, u64); 5];

/// Rules as in access control lists: addresses and networks of a few sites, a port or a protocol, or anything.
fn rules(n: usize) -> Vec<Rule> {
    let share = |random: u64, of: &[(u64, u32)]| {
        let mut at = random % 100;
        let here = |share: u64| {
            let here = at < share;
            at = at.wrapping_sub(share);
            here
        };
        let mut here = here;
        of.iter().find(|(s, _)| here(*s)).map_or(0, |(_, len)| *len)
    };
    let network = |random: u64, lengths: &[(u64, u32)]| {
        let len = share(random, lengths);
        let mask = (0xffff_ffff_u64 << (32 - len)) & 0xffff_ffff;
        // One of 64 sites.
        let value = 0x0a00_0000 | mix(random >> 8 & 63) & 0xff_0000 | mix(random >> 16) & 0xffff;
        (value & mask, mask)
    };
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(n);
    let mut draw = 0;
    while all.len() < n {
        draw += 1;
        let random = |which: u64| mix(draw << 8 | which);
        let protocol = if random(2) % 100 < 70 { 6 } else { 17 };
        let dst_port = match random(4) % 100 {
            0..25 => (0, 0),
            25..85 => (mix(random(5) % 200) & 0xffff, 0xffff),
            85..95 => (0x0400 << (random(5) % 6), 0xffff << (10 + random(5) % 6) & 0xffff),
            _ => (0x8000, 0x8000),
        };
        let rule = [
            network(random(0), &[(25, 0), (10, 8), (20, 16), (25, 24), (5, 28), (15, 32)]),
            network(random(1), &[(10, 0), (5, 8), (15, 16), (30, 24), (5, 28), (35, 32)]),
            if random(3) % 100 < 10 { (0, 0) } else { (protocol, 0xff) },
            if random(6) % 100 < 92 { (0, 0) } else { (random(7) & 0xffff, 0xffff) },
            (dst_port.0 & dst_port.1, dst_port.1),
        ];
        if seen.insert(rule) {
            all.push(rule);
        }
    }
    // The most specific rules first, as is usual.
    all.sort_by_key(|rule| std::cmp::Reverse(rule.iter().map(|(_, mask)| mask.count_ones()).sum::<u32>()));
    all
}

impl Acl {
    fn packet(&self, flow: u64) -> [u64; 5] {
        let rule = &self.0[pick(flow, self.0.len())];
        let mut any = 0;
        let mut packet = rule.map(|(value, mask)| {
            any += 1;
            value | mix(flow << 4 | any) & !mask
        });
        packet[0] &= 0xffff_ffff;
        packet[1] &= 0xffff_ffff;
        packet[2] = if rule[2].1 == 0 { 17 } else { packet[2] & 0xff };
        packet[3] &= 0xffff;
        packet[4] &= 0xffff;
        packet
    }
}

impl Tables for Acl {
    fn entries(&self) -> Vec<Entry> {
        let all = self.0.iter().enumerate();
        all.map(|(n, rule)| Entry {
            table: "rules",
            matches: rule.iter().map(|&(value, mask)| Match::Ternary(value, mask)).collect(),
            priority: (self.0.len() - n) as i32,
            action: if n % 4 == 3 { "deny" } else { "permit" },
            args: if n % 4 == 3 { Vec::new() } else { vec![port(n)] },
            group: None,
        })
        .collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let [src, dst, protocol, from, to] = self.packet(flow);
        Frame::new(1, bytes, ipv4_udp(src, dst, protocol as u8, from as u16, to as u16, bytes))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("rules", self.packet(flow).to_vec())]
    }
}

struct Ecmp(Vec<(u64, u32)>);

/// Groups of next hops, and their members.
const GROUPS: usize = 64;
const MEMBERS: usize = 16;

impl Tables for Ecmp {
    fn entries(&self) -> Vec<Entry> {
        // Keys that only the hash reads are not part of an entry.
        let route = |(n, &(value, len)): (usize, _)| Entry {
            group: Some((mix(n as u64) % GROUPS as u64) as u32),
            ..entry("routes", [Match::Lpm(value, len, 32)], "next_hop", [])
        };
        self.0.iter().enumerate().map(route).collect()
    }

    fn groups(&self) -> Option<Groups> {
        let group = |g: usize| (0..MEMBERS).map(|m| next_hop(g * MEMBERS + m).to_vec()).collect();
        Some(Groups { selector: "paths", action: "next_hop", members: (0..GROUPS).map(group).collect() })
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        L3::frame_to(within(self.0[pick(flow, self.0.len())], flow), flow, bytes)
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("routes", vec![within(self.0[pick(flow, self.0.len())], flow)])]
    }
}

impl L3 {
    fn frame_to(dst: u64, flow: u64, bytes: usize) -> Frame {
        let random = mix(flow);
        let (src, from, to) = (random & 0xffff_ffff, (random >> 32) as u16, (random >> 48) as u16);
        Frame::new(1, bytes, ipv4_udp(src, dst, 17, from, to, bytes))
    }
}

struct VxlanWrap(usize);

impl Tables for VxlanWrap {
    fn entries(&self) -> Vec<Entry> {
        let wrap = |n: usize| {
            let tunnel = [n as u64 & 0xff_ffff, address(n % 256), host(3_000_000_000 + n % 256)];
            entry("hosts", [Match::Exact(1), Match::Exact(host(n))], "wrap", tunnel)
        };
        (0..self.0).map(wrap).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let (to, from) = (pick(flow, self.0), mix(flow) as usize & 0xffff);
        Frame::new(1, bytes, eth(host(to), host(from), 0x88b6))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("hosts", vec![1, host(pick(flow, self.0))])]
    }
}

struct VxlanUnwrap(usize);

impl Tables for VxlanUnwrap {
    fn entries(&self) -> Vec<Entry> {
        let unwrap = |n: usize| entry("networks", [Match::Exact(n as u64), Match::Exact(host(n))], "unwrap", [port(n)]);
        (0..self.0).map(unwrap).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let to = pick(flow, self.0);
        let mut frame = ipv4_udp(0xc000_0201, address(to % 256), 17, 0xc000, 4789, bytes + 50);
        frame.extend([8, 0, 0, 0]);
        frame.extend((((to as u32) & 0xff_ffff) << 8).to_be_bytes());
        frame.extend(eth(host(to), host(mix(flow) as usize & 0xffff), 0x88b6));
        Frame::new(0, bytes + 50, frame)
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        let to = pick(flow, self.0);
        vec![("networks", vec![to as u64, host(to)])]
    }
}

struct MplsPush(Vec<(u64, u32)>);

impl Tables for MplsPush {
    fn entries(&self) -> Vec<Entry> {
        let edge = |(n, &(value, len)): (usize, _)| {
            let variant = n % 256;
            let labels = [16 + variant as u64, 300 + variant as u64 * 3, port(variant), host(3_000_000_000 + variant)];
            entry("edge", [Match::Lpm(value, len, 32)], "push", labels)
        };
        self.0.iter().enumerate().map(edge).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        L3::frame_to(within(self.0[pick(flow, self.0.len())], flow), flow, bytes)
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("edge", vec![within(self.0[pick(flow, self.0.len())], flow)])]
    }
}

struct MplsSwap(usize);

impl Tables for MplsSwap {
    fn entries(&self) -> Vec<Entry> {
        let swap = |n: usize| {
            let to = [16 + (n as u64 + 1) % (1 << 19), port(n), host(3_000_000_000 + n % 256)];
            entry("labels", [Match::Exact(16 + n as u64)], "swap", to)
        };
        (0..self.0).map(swap).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        Frame::new(1, bytes, mpls(16 + pick(flow, self.0) as u32, mix(flow)))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("labels", vec![16 + pick(flow, self.0) as u64])]
    }
}

struct Telemetry(usize);

impl Tables for Telemetry {
    fn entries(&self) -> Vec<Entry> {
        (0..self.0).map(|n| entry("destinations", [Match::Exact(host(n))], "forward", [port(n), 77])).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        Frame::new(1, bytes, telemetry(host(pick(flow, self.0)), host(mix(flow) as usize & 0xffff), 2))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("destinations", vec![host(pick(flow, self.0))])]
    }
}

struct Metering(usize);

impl Tables for Metering {
    fn entries(&self) -> Vec<Entry> {
        let belongs =
            |n: usize| entry("customers", [Match::Exact(address(n))], "belongs", [mix(n as u64) & 0xffff, port(n)]);
        (0..self.0).map(belongs).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let from = address(pick(flow, self.0));
        Frame::new(1, bytes, ipv4_udp(from, mix(flow) & 0xffff_ffff, 17, 1000, 2000, bytes))
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        vec![("customers", vec![address(pick(flow, self.0))])]
    }
}

struct Firewall(usize);

impl Firewall {
    /// A host inside, one outside, and their ports; an odd flow is the answer to the even one before it.
    fn connection(&self, flow: u64) -> (u64, u64, u16, u16) {
        let random = mix(flow & !1);
        let (inside, outside) = (pick(flow & !1, self.0), pick(flow & !1 ^ 1 << 40, self.0));
        (address(inside), address(outside), (random >> 16) as u16, (random >> 32) as u16)
    }
}

impl Tables for Firewall {
    fn entries(&self) -> Vec<Entry> {
        (0..self.0).map(|n| entry("routes", [Match::Exact(address(n))], "forward", [port(n)])).collect()
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let (inside, outside, from, to) = self.connection(flow);
        match flow % 2 {
            0 => Frame::new(1, bytes, ipv4_udp(inside, outside, 6, from, to, bytes)),
            _ => Frame::new(2, bytes, ipv4_udp(outside, inside, 6, to, from, bytes)),
        }
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        let (inside, outside, ..) = self.connection(flow);
        vec![("routes", vec![if flow.is_multiple_of(2) { outside } else { inside }])]
    }
}
