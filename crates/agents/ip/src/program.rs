//! The program that is built in, and what the agent needs of a program: tables, actions and counters by name.

mod sources;

use std::sync::Arc;

use hopwright_dataplane::{Control, VirtualDataPlane};
use hopwright_driver::{Compiled, Options, compile_text};
use hopwright_ir::{ActionCall, ActionId, ExternKind, MatchValue, Pipeline, TableEntry, TableId};
use num_bigint::BigUint;

pub(crate) use names::Reason;
use names::{action, number, object, table};
use sources::SOURCES;

/// What the build script makes of the program: names of its objects, and numbers.
#[allow(clippy::too_many_arguments, dead_code, unreachable_pub)]
mod names {
    include!(concat!(env!("OUT_DIR"), "/ip.rs"));
}

/// Port by which the program punts.
pub const CPU_PORT: u32 = number::CPU_PORT as u32;
/// Port by which it punts packets of routing and neighbour protocols.
pub const URGENT_CPU_PORT: u32 = number::URGENT_CPU_PORT as u32;

/// Bytes of `packet_in_t`, in front of a punted packet.
pub(crate) const PACKET_IN_BYTES: usize = names::packet_in::BYTES;

/// A packet that leaves by the port that it came by goes to the kernel in one of this many moments, each a microsecond long. The kernel
/// may tell its sender of a better first hop. A power of two.
const REDIRECT_ONE_IN: u64 = 256;

/// A program that the agent cannot drive.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ProgramError {
    #[error("the program has no {kind} `{name}`: the agent drives p4/router/ip.p4 and programs with its tables")]
    Missing { kind: &'static str, name: &'static str },
    #[error("table `{table}` of the program does not have the keys and actions of p4/router/ip.p4: {wrong}")]
    Shape { table: &'static str, wrong: String },
}

/// How many packets there were of each reason, by the names in lower case. Nothing of a program without the counter.
pub(crate) fn reason_counts(control: &Control) -> Vec<(String, u64)> {
    let Ok(cells) = control.counter(object::REASONS) else { return Vec::new() };
    let packets = |reason: Reason| cells.read(reason as u64).map_or(0, |count| count.packets);
    Reason::ALL.iter().zip(Reason::LABELS).map(|(reason, label)| (label.to_string(), packets(*reason))).collect()
}

/// Compiles `p4/router/ip.p4`.
pub fn compile() -> Compiled {
    compile_with(str::to_string)
}

/// Compiles it with its files' text changed.
fn compile_with(change: impl Fn(&str) -> String) -> Compiled {
    let (name, text) = SOURCES[0];
    let options = Options {
        embedded: SOURCES[1..].iter().map(|(name, text)| (name.to_string(), change(text).into())).collect(),
        no_disk: true,
        ..Options::default()
    };
    compile_text(name, &change(text), &options, true)
}

/// The program that is built in, ready to run.
#[cfg(test)]
pub(crate) fn data_plane() -> Result<Arc<VirtualDataPlane>, hopwright_dataplane::BuildError> {
    data_plane_with(str::to_string)
}

/// The same with its files' text changed.
#[cfg(test)]
pub(crate) fn data_plane_with(
    change: impl Fn(&str) -> String,
) -> Result<Arc<VirtualDataPlane>, hopwright_dataplane::BuildError> {
    let pipeline = compile_with(change).pipeline.expect("the program compiles");
    VirtualDataPlane::new(Arc::new(pipeline), hopwright_dataplane::EngineKind::Jit)
}

/// The actions that say what becomes of a packet, of a table of routes or rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcomes {
    via: ActionId,
    multipath: ActionId,
    end: ActionId,
}

impl Outcomes {
    pub(crate) fn via(&self, next_hop: u16, counter: u32) -> ActionCall {
        call(self.via, [next_hop.into(), counter.into()])
    }

    pub(crate) fn multipath(&self, group: u16, counter: u32) -> ActionCall {
        call(self.multipath, [group.into(), counter.into()])
    }

    pub(crate) fn end(&self, reason: Reason) -> ActionCall {
        call(self.end, [u64::from(reason as u8)])
    }
}

/// A table of routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteTable {
    pub id: TableId,
    /// Bits of its key.
    pub bits: u32,
    pub outcomes: Outcomes,
}

/// A table of rules, of IPv4 or IPv6.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleTable {
    pub id: TableId,
    ipv6: bool,
    pub outcomes: Outcomes,
    use_routes: ActionId,
}

impl RuleTable {
    /// What the main table says stays.
    pub(crate) fn use_routes(&self) -> ActionCall {
        call(self.use_routes, [])
    }

    /// An entry for packets that have the selector's bits. The highest priority wins.
    pub(crate) fn entry(&self, selector: &Selector, priority: i32, action: ActionCall) -> TableEntry {
        let key = |(value, mask): (u128, u128)| MatchValue::Ternary { value: value.into(), mask: mask.into() };
        let interface = |(value, mask): (u32, u32)| key((value.into(), mask.into()));
        let byte = |(value, mask): (u8, u8)| key((value.into(), mask.into()));
        let mut matches = vec![key(selector.src), key(selector.dst), interface(selector.interface), byte(selector.tos)];
        if !self.ipv6 {
            matches.push(byte(selector.protocol));
        }
        TableEntry { matches, priority, action }
    }
}

/// An interface of the router: a port, or a VLAN of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Interface {
    pub port: u32,
    /// The VLAN identifier; 0 for frames without a tag.
    pub vlan: u16,
}

impl Interface {
    /// The program's number of the interface: `interface_t` in `headers.p4`.
    pub(crate) fn number(self) -> u32 {
        self.port << VLAN_BITS | u32::from(self.vlan)
    }
}

const VLAN_BITS: u32 = 12;
/// All bits of an interface's number. No interface has it.
pub(crate) const ALL_INTERFACE_BITS: u32 = 0x1f_ffff;

/// The VRF that an interface belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vrf {
    /// Its number in the program, from 1.
    pub number: u16,
    /// Packets are looked up in its table before the router's own addresses.
    pub first: bool,
}

/// Which packets that come by an interface only the kernel may forward or drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub ipv4: bool,
    pub ipv6: bool,
    /// All, those to other stations, too.
    pub frames: bool,
    /// How sources of IPv4 packets are checked: the kernel's number for `rp_filter`.
    pub check_source: u8,
}

/// Where the route to a source leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    By(Interface),
    /// By one of several interfaces, or by another device.
    Somehow,
    Nowhere,
}

#[derive(Clone, Copy, Debug)]
struct SourceTable {
    table: TableId,
    reached_by: ActionId,
    nowhere: ActionId,
}

/// Which tables a program has that it need not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    /// Of rules, for IPv4 and IPv6.
    pub rules: [bool; 2],
    /// Of where routes to sources lead.
    pub sources: bool,
    /// Of routes of VRFs.
    pub vrfs: bool,
}

/// What a rule asks for: bits of fields that packets have to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selector {
    pub src: (u128, u128),
    pub dst: (u128, u128),
    pub interface: (u32, u32),
    pub tos: (u8, u8),
    /// Of IPv4.
    pub protocol: (u8, u8),
}

/// The parts of a running program that the agent uses.
#[derive(Debug)]
pub(crate) struct Program {
    pub control: Arc<Control>,
    pub ipv4: Option<RouteTable>,
    pub ipv6: Option<RouteTable>,
    pub ports: TableId,
    receive: ActionId,
    pub next_hops: TableId,
    forward: ActionId,
    resolve: ActionId,
    pub groups: TableId,
    r#use: ActionId,
    /// A program need not have these: by which packets redirects are caused, which sources are the kernel's to judge, and which packets
    /// are not routed by the routes alone, of IPv4 and IPv6.
    redirects: Option<(TableId, ActionId)>,
    martians: Option<(TableId, ActionId)>,
    rules: [Option<RuleTable>; 2],
    sources: Option<SourceTable>,
    /// It need not have these either: VLANs, and the routes of VRFs, of IPv4 and IPv6.
    vlans: Option<VlanTable>,
    vrfs: Option<VrfTables>,
    /// Numbers of routes that can have a counter of their own.
    pub route_counters: u32,
}

#[derive(Clone, Copy, Debug)]
struct VlanTable {
    table: TableId,
    receive: ActionId,
    /// For those that are down.
    ignore: ActionId,
    forward: ActionId,
}

#[derive(Clone, Copy, Debug)]
struct VrfTables {
    routes: [Option<RouteTable>; 2],
    receive: ActionId,
}

/// What the program writes into packets to a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forward {
    pub interface: Interface,
    pub src: [u8; 6],
    pub dst: [u8; 6],
    pub mtu: u16,
}

impl Program {
    /// Finds the parts of a program by their names.
    pub(crate) fn new(vdp: &VirtualDataPlane) -> Result<Program, ProgramError> {
        let control = vdp.control().clone();
        let pipeline = control.pipeline();
        let routes = |name, bits| routes(pipeline, name, &[bits], [action::VIA, action::MULTIPATH]);
        let (ipv4, ipv6) = (routes(table::ROUTES_IPV4, 32)?, routes(table::ROUTES_IPV6, 128)?);
        if ipv4.is_none() && ipv6.is_none() {
            return Err(ProgramError::Missing { kind: "table", name: table::ROUTES_IPV4 });
        }
        let table = |name, bits: &[u32]| {
            let id = pipeline.table_by_name(name).ok_or(ProgramError::Missing { kind: "table", name })?;
            keys(pipeline, id, name, bits).map(|()| id)
        };
        let (ports, next_hops, groups) =
            (table(table::PORTS, &[9])?, table(table::NEXT_HOPS, &[16])?, table(table::GROUPS, &[16])?);
        if pipeline[groups].implementation.is_none() {
            return Err(ProgramError::Shape { table: table::GROUPS, wrong: "it has no action selector".into() });
        }
        let counter = |name| {
            let id = pipeline.extern_by_name(name).ok_or(ProgramError::Missing { kind: "counter", name })?;
            match pipeline[id].kind {
                ExternKind::Counter { size, .. } => Ok(size as u32),
                _ => Err(ProgramError::Missing { kind: "counter", name }),
            }
        };
        let optional = |name, bits: &[u32], action, parameters: &[u32]| match pipeline.table_by_name(name) {
            Some(id) => {
                keys(pipeline, id, name, bits)?;
                Ok(Some((id, action_of(pipeline, id, name, action, parameters)?)))
            }
            None => Ok(None),
        };
        let rules = |name, bits: &[u32], ipv6| -> Result<Option<RuleTable>, ProgramError> {
            let Some(RouteTable { id, outcomes, .. }) = self::routes(pipeline, name, bits, RULE_ACTIONS)? else {
                return Ok(None);
            };
            let use_routes = action_of(pipeline, id, name, action::USE_ROUTES, &[])?;
            Ok(Some(RuleTable { id, ipv6, outcomes, use_routes }))
        };
        counter(object::NEXT_HOP_PACKETS)?;
        counter(object::REASONS)?;
        Ok(Program {
            receive: action_of(pipeline, ports, table::PORTS, action::RECEIVE_FOR_KERNEL, &[48, 32, 1, 1, 1, 2])?,
            forward: action_of(pipeline, next_hops, table::NEXT_HOPS, action::FORWARD, &[9, 48, 48, 16])?,
            resolve: action_of(pipeline, next_hops, table::NEXT_HOPS, action::RESOLVE, &[])?,
            r#use: action_of(pipeline, groups, table::GROUPS, action::USE, &[16])?,
            route_counters: counter(object::ROUTE_PACKETS)?,
            ipv4,
            ipv6,
            ports,
            next_hops,
            groups,
            redirects: optional(table::REDIRECTS, &[9, 48], action::REDIRECT, &[])?,
            martians: optional(table::MARTIANS_IPV4, &[32], action::END, &[8])?,
            sources: match optional(table::SOURCES_IPV4, &[32], action::REACHED_BY, &[21])? {
                Some((table, reached_by)) => {
                    let nowhere = action_of(pipeline, table, table::SOURCES_IPV4, action::NOWHERE, &[])?;
                    Some(SourceTable { table, reached_by, nowhere })
                }
                None => None,
            },
            rules: [
                rules(table::RULES_IPV4, &[32, 32, 21, 8, 8], false)?,
                rules(table::RULES_IPV6, &[128, 128, 21, 8], true)?,
            ],
            vlans: match optional(table::VLANS, &[9, 12], action::RECEIVE_TAGGED, &[1, 1, 1, 2, 16, 1])? {
                Some((table, receive)) => Some(VlanTable {
                    table,
                    receive,
                    ignore: action_of(pipeline, table, table::VLANS, action::UNKNOWN_PORT, &[])?,
                    forward: action_of(
                        pipeline,
                        next_hops,
                        table::NEXT_HOPS,
                        action::FORWARD_TAGGED,
                        &[9, 12, 48, 48, 16],
                    )?,
                }),
                None => None,
            },
            vrfs: match [table::VRF_ROUTES_IPV4, table::VRF_ROUTES_IPV6].map(|name| pipeline.table_by_name(name)) {
                [None, None] => None,
                _ => Some(VrfTables {
                    routes: [
                        self::routes(pipeline, table::VRF_ROUTES_IPV4, &[16, 32], RULE_ACTIONS)?,
                        self::routes(pipeline, table::VRF_ROUTES_IPV6, &[16, 128], RULE_ACTIONS)?,
                    ],
                    receive: action_of(
                        pipeline,
                        ports,
                        table::PORTS,
                        action::RECEIVE_IN_VRF,
                        &[48, 32, 1, 1, 1, 16, 1],
                    )?,
                }),
            },
            control,
        })
    }

    /// What the program does with packets that come by a port. Sources are not checked in a VRF.
    pub(crate) fn receive(&self, mac: [u8; 6], hash_seed: u32, kernel: Kernel, vrf: Option<Vrf>) -> ActionCall {
        let Kernel { ipv4, ipv6, frames, check_source } = kernel;
        let [ipv4, ipv6, frames] = [ipv4, ipv6, frames].map(u64::from);
        let (mac, seed) = (number(mac), hash_seed.into());
        match vrf.zip(self.vrfs) {
            Some((Vrf { number, first }, VrfTables { receive, .. })) => {
                call(receive, [mac, seed, ipv4, ipv6, frames, number.into(), first.into()])
            }
            None => call(self.receive, [mac, seed, ipv4, ipv6, frames, check_source.into()]),
        }
    }

    /// The table of VLANs, if the program has one.
    pub(crate) fn vlans(&self) -> Option<TableId> {
        self.vlans.map(|vlans| vlans.table)
    }

    /// What the program does with frames of a VLAN; nothing if no `kernel` says what is left to it.
    pub(crate) fn vlan(&self, interface: Interface, kernel: Option<Kernel>, vrf: Option<Vrf>) -> Option<TableEntry> {
        let vlans = self.vlans?;
        let action = match kernel {
            Some(Kernel { ipv4, ipv6, frames, check_source }) => {
                let [ipv4, ipv6, frames] = [ipv4, ipv6, frames].map(u64::from);
                let (number, first) = vrf.map_or((0, 0), |vrf| (vrf.number.into(), vrf.first.into()));
                call(vlans.receive, [ipv4, ipv6, frames, check_source.into(), number, first])
            }
            None => call(vlans.ignore, []),
        };
        let matches = vec![MatchValue::Exact(interface.port.into()), MatchValue::Exact(interface.vlan.into())];
        Some(TableEntry { matches, priority: 0, action })
    }

    /// The table of VRFs' routes, of IPv4 or IPv6.
    pub(crate) fn vrf_routes(&self, ipv6: bool) -> Option<RouteTable> {
        self.vrfs?.routes[usize::from(ipv6)]
    }

    /// Which of the tables there are that a program need not have.
    pub(crate) fn optional(&self) -> Tables {
        let rules = self.rules.map(|rules| rules.is_some());
        Tables { rules, sources: self.sources.is_some(), vrfs: self.vrfs.is_some() }
    }

    /// The table of where routes to sources lead, if the program checks sources.
    pub(crate) fn sources(&self) -> Option<TableId> {
        self.sources.map(|sources| sources.table)
    }

    /// What that table has for a route that leads by a port, by several or another device, or nowhere.
    pub(crate) fn source(&self, reached: Reached) -> Option<ActionCall> {
        let sources = self.sources?;
        Some(match reached {
            Reached::By(interface) => call(sources.reached_by, [interface.number().into()]),
            Reached::Somehow => call(sources.reached_by, [ALL_INTERFACE_BITS.into()]),
            Reached::Nowhere => call(sources.nowhere, []),
        })
    }

    /// The table of sources that are the kernel's to judge, and what it has for one of them.
    pub(crate) fn martian(&self) -> Option<(TableId, ActionCall)> {
        let (table, end) = self.martians?;
        Some((table, call(end, [u64::from(Reason::Policy as u8)])))
    }

    /// The program's table of rules, if it has one.
    pub(crate) fn rules(&self, ipv6: bool) -> Option<RuleTable> {
        self.rules[usize::from(ipv6)]
    }

    /// The table, and the entry by which a port's packets cause redirects now and then.
    pub(crate) fn redirects(&self, port: u32) -> Option<(TableId, TableEntry)> {
        let (table, redirect) = self.redirects?;
        let now_and_then = MatchValue::Ternary { value: 0u8.into(), mask: (REDIRECT_ONE_IN - 1).into() };
        let matches = vec![MatchValue::Exact(port.into()), now_and_then];
        Some((table, TableEntry { matches, priority: 1, action: call(redirect, []) }))
    }

    pub(crate) fn forward(&self, to: Option<Forward>) -> ActionCall {
        let Some(Forward { interface: Interface { port, vlan }, src, dst, mtu }) = to else {
            return call(self.resolve, []);
        };
        let (port, src, dst) = (port.into(), number(src), number(dst));
        match (vlan, self.vlans) {
            (1.., Some(vlans)) => call(vlans.forward, [port, vlan.into(), src, dst, mtu.into()]),
            _ => call(self.forward, [port, src, dst, mtu.into()]),
        }
    }

    pub(crate) fn use_next_hop(&self, next_hop: u16) -> ActionCall {
        call(self.r#use, [next_hop.into()])
    }
}

/// Actions of tables that come behind `routes_ipv4` and `routes_ipv6`.
const RULE_ACTIONS: [&str; 2] = [action::RULE_VIA, action::RULE_MULTIPATH];

/// A table of routes, by the names of its actions. The last key is the destination.
fn routes(
    pipeline: &Pipeline,
    name: &'static str,
    bits: &[u32],
    actions: [&'static str; 2],
) -> Result<Option<RouteTable>, ProgramError> {
    let Some(id) = pipeline.table_by_name(name) else { return Ok(None) };
    keys(pipeline, id, name, bits)?;
    let action = |action, parameters| action_of(pipeline, id, name, action, parameters);
    let [via, multipath] = actions.map(|name| action(name, &[16, 32]));
    let outcomes = Outcomes { via: via?, multipath: multipath?, end: action(action::END, &[8])? };
    Ok(Some(RouteTable { id, bits: bits.last().copied().unwrap_or(0), outcomes }))
}

fn call<const N: usize>(action: ActionId, args: [u64; N]) -> ActionCall {
    ActionCall { action, args: args.map(BigUint::from).into() }
}

fn number(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Checks the widths of a table's keys; those of a selector do not count.
fn keys(pipeline: &Pipeline, id: TableId, table: &'static str, bits: &[u32]) -> Result<(), ProgramError> {
    let found: Vec<u32> = pipeline[id].match_keys().map(|key| key.expr.ty.width()).collect();
    if found == bits {
        return Ok(());
    }
    Err(ProgramError::Shape { table, wrong: format!("its keys have {found:?} bits, not {bits:?}") })
}

fn action_of(
    pipeline: &Pipeline,
    id: TableId,
    table: &'static str,
    name: &'static str,
    bits: &[u32],
) -> Result<ActionId, ProgramError> {
    let named = |full: &str| full == name || full.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    let action = pipeline[id].actions.iter().map(|a| a.action).find(|a| named(&pipeline[*a].name));
    let action = action.ok_or_else(|| ProgramError::Shape { table, wrong: format!("it has no action `{name}`") })?;
    let found: Vec<u32> = pipeline[action].params.iter().map(|param| param.ty.width()).collect();
    if found != bits {
        return Err(ProgramError::Shape { table, wrong: format!("`{name}` takes {found:?} bits, not {bits:?}") });
    }
    Ok(action)
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict};

    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];

    /// A router with one port, behind which is one neighbour with all networks.
    fn router(engine: EngineKind) -> Executor {
        let vdp = VirtualDataPlane::new(Arc::new(compile().pipeline.unwrap()), engine).unwrap();
        let program = Program::new(&vdp).unwrap();
        let insert = |table, matches, action| {
            program.control[table].insert(TableEntry { matches, priority: 0, action }).unwrap();
        };
        insert(program.ports, vec![MatchValue::Exact(1u8.into())], program.receive(MAC, 0, Kernel::default(), None));
        let interface = Interface { port: 1, vlan: 0 };
        let neighbour = Forward { interface, src: MAC, dst: [6; 6], mtu: 1500 };
        insert(program.next_hops, vec![MatchValue::Exact(1u8.into())], program.forward(Some(neighbour)));
        for routes in [program.ipv4, program.ipv6].into_iter().flatten() {
            // Half of all addresses: the program has entries of its own in the other half, and for longer prefixes.
            let value = BigUint::from(1u8) << (routes.bits - 3);
            insert(routes.id, vec![MatchValue::Lpm { value, prefix_len: 3 }], routes.outcomes.via(1, 0));
        }
        let (table, entry) = program.redirects(1).unwrap();
        program.control[table].insert(entry).unwrap();
        Executor::new(vdp)
    }

    /// Packets of IPv4 and IPv6 with a precedence.
    fn packets(precedence: u8) -> [Vec<u8>; 2] {
        let ethernet = |kind: [u8; 2]| [&MAC[..], &[6; 6], &kind].concat();
        let mut ipv4 = [0x45, precedence << 5, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 32, 0, 0, 1];
        let sum: u32 = ipv4.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
        ipv4[10..12].copy_from_slice(&(!(sum as u16 + (sum >> 16) as u16)).to_be_bytes());
        let mut ipv6 = [0; 40];
        (ipv6[0], ipv6[1], ipv6[6], ipv6[7]) = (0x60 | precedence << 1, 0, 59, 64);
        (ipv6[8], ipv6[24]) = (0x24, 0x20);
        [[ethernet([8, 0]), ipv4.to_vec()].concat(), [ethernet([0x86, 0xdd]), ipv6.to_vec()].concat()]
    }

    /// Egress port and priority.
    fn sent(router: &mut Executor, frame: &[u8], now_us: u64) -> (u32, u8) {
        let mut pool = Pool::new(4, FrameSize { headroom: 64, data: 256 }).unwrap();
        let mut packet = pool.take_filled(frame).unwrap();
        packet.set_ingress_port(1);
        router.process_batch(std::slice::from_mut(&mut packet), now_us);
        assert_eq!(packet.verdict(), Verdict::Forward);
        (packet.egress_port(), packet.priority())
    }

    #[test]
    fn precedence_is_the_priority_in_egress_queues() {
        for engine in [EngineKind::Interp, EngineKind::Jit] {
            let mut router = router(engine);
            for precedence in 0..8 {
                for frame in packets(precedence) {
                    assert_eq!(sent(&mut router, &frame, 1), (1, precedence));
                }
            }
        }
    }

    #[test]
    fn some_packets_cause_redirects() {
        for engine in [EngineKind::Interp, EngineKind::Jit] {
            let mut router = router(engine);
            for frame in packets(0) {
                let punted = (1_000_000..1_000_000 + 3 * REDIRECT_ONE_IN)
                    .filter(|now_us| sent(&mut router, &frame, *now_us).0 == CPU_PORT)
                    .count();
                assert_eq!(punted, 3);
            }
        }
    }

    #[test]
    fn other_programs_are_refused() {
        let vdp = |text: &str| {
            let compiled = compile_text("other.p4", text, &Options::default(), true);
            VirtualDataPlane::new(Arc::new(compiled.pipeline.unwrap()), EngineKind::Interp).unwrap()
        };
        let frame = |tables: &str| {
            format!(
                "#include <core.p4>\n#include <v1model.p4>\nheader h_t {{ bit<32> dst; }} struct h {{ h_t a; }} struct m {{}}
                 parser P(packet_in p, out h hdr, inout m meta, inout standard_metadata_t s) {{
                     state start {{ p.extract(hdr.a); transition accept; }} }}
                 control C(inout h hdr, inout m meta) {{ apply {{}} }}
                 control I(inout h hdr, inout m meta, inout standard_metadata_t s) {{ {tables} }}
                 control E(inout h hdr, inout m meta, inout standard_metadata_t s) {{ apply {{}} }}
                 control D(packet_out p, in h hdr) {{ apply {{ p.emit(hdr); }} }}
                 V1Switch(P(), C(), I(), E(), C(), D()) main;"
            )
        };
        let error = Program::new(&vdp(&frame("apply {}"))).unwrap_err().to_string();
        assert!(error.starts_with("the program has no table `routes_ipv4`"), "{error}");
        let error = Program::new(&vdp(&frame(
            "action via(bit<8> to) { s.egress_spec = (bit<9>) to; }
             table routes_ipv4 { key = { hdr.a.dst: lpm; } actions = { via; } default_action = via(0); } apply { routes_ipv4.apply(); }",
        )))
        .unwrap_err()
        .to_string();
        assert!(error.contains("`via` takes [8] bits, not [16, 32]"), "{error}");
        assert!(Program::new(&data_plane().unwrap()).is_ok());
    }
}
