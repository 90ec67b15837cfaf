//! Next hops and groups of them: numbers, and the entries of `next_hops`, `groups` and the action selector.
//!
//! Routes refer to a next hop or group by its number, so that a neighbour or a link that changes costs one entry, however
//! many routes there are. A group's members are those of its next hops that are resolved, or all while none is: what goes
//! to the others waits for resolution in the kernel.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;

use hopwright_dataplane::{ControlError, EntryTarget, Group};
use hopwright_ir::{MatchValue, TableEntry};
use num_bigint::BigUint;

use crate::program::{Forward, Program};

/// Numbers of next hops and of groups; 0 is none.
const HOPS: u16 = u16::MAX;
const GROUPS: u16 = 4096;
/// Largest share of a next hop in a group, so that sums stay below what the selector takes.
const MAX_WEIGHT: u16 = 1024;

/// What makes a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HopKey {
    /// Index of the interface's device in the namespace.
    pub device: u32,
    /// The interface's port.
    pub port: u32,
    /// The neighbour.
    pub address: IpAddr,
    /// The path's MTU, if a route says so.
    pub mtu: Option<u32>,
    /// The packets are of IPv6, which may have an MTU of its own.
    pub ipv6: bool,
}

/// A next hop.
#[derive(Debug)]
pub(crate) struct Hop {
    pub key: HopKey,
    /// None while the neighbour's link-layer address is not known.
    pub forward: Option<Forward>,
    /// Packets there were when it was last looked at.
    pub packets: u64,
    references: usize,
}

#[derive(Debug)]
struct Set {
    /// Next hops with their weights, in order.
    hops: Box<[(u16, u16)]>,
    references: usize,
}

/// All next hops and groups.
#[derive(Debug)]
pub(crate) struct NextHops {
    hops: BTreeMap<u16, Hop>,
    by_key: HashMap<HopKey, u16>,
    free_hops: Numbers,
    groups: BTreeMap<u16, Set>,
    by_hops: HashMap<Box<[(u16, u16)]>, u16>,
    free_groups: Numbers,
    /// Ports without carrier: their next hops are not used, whatever the kernel has of them.
    dark: HashSet<u32>,
}

/// Numbers to give away. One that was given back is used again as late as possible: packets may still have it.
#[derive(Debug)]
pub(super) struct Numbers {
    next: u32,
    end: u32,
    back: VecDeque<u32>,
}

impl Numbers {
    /// From 1.
    pub(super) fn up_to(last: u32) -> Numbers {
        Numbers { next: 1, end: last + 1, back: VecDeque::new() }
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        if self.next < self.end {
            self.next += 1;
            return Some(self.next - 1);
        }
        self.back.pop_front()
    }

    pub(super) fn give(&mut self, number: u32) {
        self.back.push_back(number);
    }
}

impl NextHops {
    pub(crate) fn new() -> NextHops {
        NextHops {
            hops: BTreeMap::new(),
            by_key: HashMap::new(),
            free_hops: Numbers::up_to(HOPS.into()),
            groups: BTreeMap::new(),
            by_hops: HashMap::new(),
            free_groups: Numbers::up_to((GROUPS - 1).into()),
            dark: HashSet::new(),
        }
    }

    /// All next hops by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &Hop)> {
        self.hops.iter().map(|(id, hop)| (*id, hop))
    }

    pub(crate) fn get_mut(&mut self, id: u16) -> Option<&mut Hop> {
        self.hops.get_mut(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.hops.len()
    }

    /// All groups by number: next hops with their weights.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u16, &[(u16, u16)])> {
        self.groups.iter().map(|(id, group)| (*id, &*group.hops))
    }

    pub(crate) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The number of a next hop that there is.
    pub(super) fn find(&self, key: &HopKey) -> Option<u16> {
        self.by_key.get(key).copied()
    }

    /// The number of a group that there is.
    pub(super) fn find_group(&self, keys: &[(HopKey, u16)]) -> Option<u16> {
        let hops = keys.iter().map(|(key, weight)| Some((self.find(key)?, *weight)));
        self.by_hops.get(&normal(hops.collect::<Option<_>>()?)).copied()
    }

    /// One more reference to a next hop, which is made if it is not there; `forward` says how it is reached then.
    pub(super) fn acquire(
        &mut self,
        program: &Program,
        key: HopKey,
        forward: impl FnOnce(&HopKey) -> Option<Forward>,
    ) -> Result<u16, ControlError> {
        if let Some(id) = self.find(&key) {
            self.hops.entry(id).and_modify(|hop| hop.references += 1);
            return Ok(id);
        }
        let id = self.free_hops.take().ok_or_else(|| full(program, program.next_hops))? as u16;
        let forward = forward(&key).filter(|_| !self.dark.contains(&key.port));
        if let Err(error) = insert_hop(program, id, forward) {
            self.free_hops.give(id.into());
            return Err(error);
        }
        // Packets of a next hop that had the number before.
        let packets = packets(program, id);
        self.hops.insert(id, Hop { key, forward, packets, references: 1 });
        self.by_key.insert(key, id);
        Ok(id)
    }

    /// One reference less.
    pub(super) fn release(&mut self, program: &Program, id: u16) -> Result<(), ControlError> {
        let Some(hop) = self.hops.get_mut(&id) else { return Ok(()) };
        hop.references -= 1;
        if hop.references > 0 {
            return Ok(());
        }
        self.by_key.remove(&hop.key);
        self.hops.remove(&id);
        self.free_hops.give(id.into());
        program.control.profile(selector(program))?.delete_member(id.into())?;
        program.control[program.next_hops].delete(&[exact(id)], 0)
    }

    /// One more reference to a group of next hops, which is made if it is not there. Takes over a reference to each of the
    /// next hops.
    pub(super) fn acquire_group(&mut self, program: &Program, hops: Vec<(u16, u16)>) -> Result<u16, ControlError> {
        let given: Vec<u16> = hops.iter().map(|(hop, _)| *hop).collect();
        let hops = normal(hops);
        if let Some(id) = self.by_hops.get(&hops).copied() {
            // The group has its own references.
            given.into_iter().try_for_each(|hop| self.release(program, hop))?;
            self.groups.entry(id).and_modify(|group| group.references += 1);
            return Ok(id);
        }
        match self.make_group(program, &hops) {
            Ok(id) => {
                // One reference is enough for a next hop that is there twice.
                let mut extra = given;
                for (hop, _) in &*hops {
                    if let Some(at) = extra.iter().position(|given| given == hop) {
                        extra.swap_remove(at);
                    }
                }
                extra.into_iter().try_for_each(|hop| self.release(program, hop))?;
                self.by_hops.insert(hops.clone(), id);
                self.groups.insert(id, Set { hops, references: 1 });
                Ok(id)
            }
            Err(error) => {
                given.into_iter().try_for_each(|hop| self.release(program, hop))?;
                Err(error)
            }
        }
    }

    fn make_group(&mut self, program: &Program, hops: &[(u16, u16)]) -> Result<u16, ControlError> {
        let selector = program.control.profile(selector(program))?;
        let id = self.free_groups.take().ok_or_else(|| full(program, program.groups))? as u16;
        let made = selector.insert_group(id.into(), self.members(hops)).and_then(|()| {
            let table = &program.control[program.groups];
            table
                .insert_target(group_key(id), 0, EntryTarget::Group(id.into()))
                .or_else(|error| selector.delete_group(id.into()).and(Err(error)))
        });
        if made.is_err() {
            self.free_groups.give(id.into());
        }
        made.map(|()| id)
    }

    /// One reference less.
    pub(super) fn release_group(&mut self, program: &Program, id: u16) -> Result<(), ControlError> {
        let Some(group) = self.groups.get_mut(&id) else { return Ok(()) };
        group.references -= 1;
        if group.references > 0 {
            return Ok(());
        }
        let Some(group) = self.groups.remove(&id) else { return Ok(()) };
        self.by_hops.remove(&group.hops);
        self.free_groups.give(id.into());
        program.control[program.groups].delete(&group_key(id), 0)?;
        program.control.profile(selector(program))?.delete_group(id.into())?;
        group.hops.iter().try_for_each(|(hop, _)| self.release(program, *hop))
    }

    /// Says how a next hop is reached from now on.
    pub(super) fn set(&mut self, program: &Program, id: u16, forward: Option<Forward>) -> Result<(), ControlError> {
        let Some(hop) = self.hops.get_mut(&id) else { return Ok(()) };
        let forward = forward.filter(|_| !self.dark.contains(&hop.key.port));
        if hop.forward == forward {
            return Ok(());
        }
        let resolved = forward.is_some() != hop.forward.is_some();
        hop.forward = forward;
        let table = &program.control[program.next_hops];
        // Flows leave a next hop before it is gone, and come when it is there.
        if forward.is_some() {
            table.modify(entry(id, program.forward(forward)))?;
        }
        if resolved {
            let selector = program.control.profile(selector(program))?;
            for (number, group) in &self.groups {
                if group.hops.iter().any(|(hop, _)| *hop == id) {
                    selector.modify_group((*number).into(), self.members(&group.hops))?;
                }
            }
        }
        if forward.is_none() {
            table.modify(entry(id, program.forward(forward)))?;
        }
        Ok(())
    }

    /// Says which ports are without carrier from now on. Their next hops leave all groups, and are punted. Those that are back
    /// wait for [`NextHops::set`].
    pub(super) fn set_dark(&mut self, program: &Program, dark: HashSet<u32>) -> Result<(), ControlError> {
        self.dark = dark;
        let mut gone = HashSet::new();
        for (id, hop) in &mut self.hops {
            if self.dark.contains(&hop.key.port) && hop.forward.take().is_some() {
                gone.insert(*id);
            }
        }
        let selector = program.control.profile(selector(program))?;
        for (number, group) in &self.groups {
            if group.hops.iter().any(|(hop, _)| gone.contains(hop)) {
                selector.modify_group((*number).into(), self.members(&group.hops))?;
            }
        }
        let table = &program.control[program.next_hops];
        gone.into_iter().try_for_each(|id| table.modify(entry(id, program.forward(None))))
    }

    /// The members that a group of these next hops has now.
    fn members(&self, hops: &[(u16, u16)]) -> Group {
        let resolved = |id: &u16| self.hops.get(id).is_some_and(|hop| hop.forward.is_some());
        let none = !hops.iter().any(|(id, _)| resolved(id));
        let members = hops.iter().filter(|(id, _)| none || resolved(id));
        let members = members.map(|(id, weight)| (u32::from(*id), u32::from(*weight))).collect();
        Group { members, max_size: 0, counts_members: false }
    }
}

/// Writes a next hop and the member of the selector that uses it; both or neither.
fn insert_hop(program: &Program, id: u16, forward: Option<Forward>) -> Result<(), ControlError> {
    let (table, selector) = (&program.control[program.next_hops], program.control.profile(selector(program))?);
    table.insert(entry(id, program.forward(forward)))?;
    selector
        .insert_member(id.into(), program.use_next_hop(id))
        .or_else(|error| table.delete(&[exact(id)], 0).and(Err(error)))
}

/// Packets that went to a next hop.
pub(crate) fn packets(program: &Program, id: u16) -> u64 {
    program.control.counter("next_hop_packets").and_then(|c| c.read(id.into())).map_or(0, |count| count.packets)
}

/// In order, each next hop once.
fn normal(mut hops: Vec<(u16, u16)>) -> Box<[(u16, u16)]> {
    hops.sort_unstable();
    hops.dedup_by(|next, before| {
        let same = next.0 == before.0;
        if same {
            before.1 = before.1.saturating_add(next.1);
        }
        same
    });
    hops.iter().map(|(hop, weight)| (*hop, (*weight).clamp(1, MAX_WEIGHT))).collect()
}

fn selector(program: &Program) -> hopwright_ir::ExternId {
    let pipeline = program.control.pipeline();
    pipeline[program.groups].implementation.unwrap_or(hopwright_ir::ExternId(u32::MAX))
}

pub(crate) fn exact(id: u16) -> MatchValue {
    MatchValue::Exact(BigUint::from(id))
}

/// The key of a group's entry; what the selector hashes is not compared.
fn group_key(id: u16) -> Vec<MatchValue> {
    vec![exact(id), MatchValue::Optional(None)]
}

fn entry(id: u16, action: hopwright_ir::ActionCall) -> TableEntry {
    TableEntry { matches: vec![exact(id)], priority: 0, action }
}

fn full(program: &Program, table: hopwright_ir::TableId) -> ControlError {
    let model = &program.control.pipeline()[table];
    ControlError::Full { table: model.name.clone(), size: model.size }
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::{Executor, FrameSize, Pool, Verdict};

    use super::*;
    use crate::program::{Interface, Kernel, data_plane};

    fn key(last: u8) -> HopKey {
        HopKey { device: 1, port: 1, address: [10, 0, 0, last].into(), mtu: None, ipv6: false }
    }

    fn forward(port: u32) -> Option<Forward> {
        let interface = Interface { port, vlan: 0 };
        Some(Forward { interface, src: [2; 6], dst: [4; 6], mtu: 1500 })
    }

    /// The members of a group, by next hop.
    fn members(program: &Program, group: u16) -> Vec<u32> {
        let selector = program.control.profile(selector(program)).unwrap();
        selector.group(group.into()).unwrap().members.into_keys().collect()
    }

    #[test]
    fn entries_live_as_long_as_something_refers_to_them() {
        let program = Program::new(&data_plane().unwrap()).unwrap();
        let mut hops = NextHops::new();
        let table = &program.control[program.next_hops];
        let a = hops.acquire(&program, key(1), |_| forward(1)).unwrap();
        let b = hops.acquire(&program, key(2), |_| forward(2)).unwrap();
        assert_eq!(hops.acquire(&program, key(1), |_| None).unwrap(), a);
        assert_eq!(table.len(), 2);
        // The group takes one reference to each.
        let group = hops.acquire_group(&program, vec![(b, 1), (a, 3)]).unwrap();
        assert_eq!(hops.find_group(&[(key(1), 3), (key(2), 1)]), Some(group));
        hops.release(&program, a).unwrap();
        assert_eq!(table.len(), 2);
        let again = |hops: &mut NextHops, last| hops.acquire(&program, key(last), |_| None).unwrap();
        let (c, d) = (again(&mut hops, 1), again(&mut hops, 2));
        assert_eq!(hops.acquire_group(&program, vec![(c, 3), (d, 1)]).unwrap(), group);
        hops.release_group(&program, group).unwrap();
        assert_eq!((table.len(), program.control[program.groups].len()), (2, 1));
        hops.release_group(&program, group).unwrap();
        assert_eq!((table.len(), program.control[program.groups].len()), (0, 0));
        assert_eq!((hops.len(), hops.group_count()), (0, 0));
    }

    #[test]
    fn what_is_refused_leaves_nothing_and_gives_its_number_back() {
        let program = Program::new(&data_plane().unwrap()).unwrap();
        let mut hops = NextHops::new();
        let table = &program.control[program.next_hops];
        let selector = program.control.profile(selector(&program)).unwrap();
        // Somebody else has an entry with the number, then a member, then a group.
        table.insert(entry(1, program.forward(None))).unwrap();
        hops.acquire(&program, key(1), |_| None).unwrap_err();
        table.delete(&[exact(1)], 0).unwrap();
        selector.insert_member(2, program.use_next_hop(2)).unwrap();
        hops.acquire(&program, key(1), |_| None).unwrap_err();
        assert_eq!((table.len(), hops.len()), (0, 0));
        assert_eq!(hops.free_hops.back, [1, 2]);
        let a = hops.acquire(&program, key(1), |_| forward(1)).unwrap();
        let others = Group { members: [(2, 1)].into(), max_size: 0, counts_members: false };
        selector.insert_group(1, others).unwrap();
        hops.acquire_group(&program, vec![(a, 1)]).unwrap_err();
        assert_eq!(hops.free_groups.back, [1]);
        assert_eq!((table.len(), hops.len(), hops.group_count()), (0, 0, 0));
    }

    #[test]
    fn flows_go_to_next_hops_that_are_resolved() {
        let program = Program::new(&data_plane().unwrap()).unwrap();
        let mut hops = NextHops::new();
        let ids: Vec<u16> = (1..=3).map(|n| hops.acquire(&program, key(n), |_| None).unwrap()).collect();
        let group = hops.acquire_group(&program, ids.iter().map(|id| (*id, 1)).collect()).unwrap();
        let all: Vec<u32> = ids.iter().map(|id| u32::from(*id)).collect();
        assert_eq!(members(&program, group), all);
        hops.set(&program, ids[1], forward(1)).unwrap();
        assert_eq!(members(&program, group), all[1..2]);
        hops.set(&program, ids[2], forward(2)).unwrap();
        assert_eq!(members(&program, group), all[1..]);
        hops.set(&program, ids[1], None).unwrap();
        assert_eq!(members(&program, group), all[2..]);
        hops.set(&program, ids[2], None).unwrap();
        assert_eq!(members(&program, group), all);
    }

    #[test]
    fn a_next_hop_twice_counts_double() {
        let program = Program::new(&data_plane().unwrap()).unwrap();
        let mut hops = NextHops::new();
        let a = hops.acquire(&program, key(1), |_| forward(1)).unwrap();
        assert_eq!(hops.acquire(&program, key(1), |_| None).unwrap(), a);
        let group = hops.acquire_group(&program, vec![(a, u16::MAX), (a, 5)]).unwrap();
        let selector = program.control.profile(selector(&program)).unwrap();
        assert_eq!(selector.group(group.into()).unwrap().members, [(a.into(), MAX_WEIGHT.into())].into());
        hops.release_group(&program, group).unwrap();
        assert_eq!(hops.len(), 0);
    }

    /// A frame of a UDP flow: IPv4, or IPv6.
    fn frame(ipv6: bool, flow: u16) -> Vec<u8> {
        let ethernet = [&[2, 0, 0, 0, 1, 1, 6, 6, 6, 6, 6, 6][..], if ipv6 { &[0x86, 0xdd] } else { &[8, 0] }].concat();
        let udp = [&flow.to_be_bytes()[..], &[0, 53, 0, 8, 0, 0]].concat();
        let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 32, 0, 0, 1];
        if ipv6 {
            ip = vec![0; 40];
            (ip[0], ip[5], ip[6], ip[7], ip[8], ip[24]) = (0x60, 8, 17, 64, 0x24, 0x20);
        } else {
            let sum: u32 = ip.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
            ip[10..12].copy_from_slice(&(!(sum as u16 + (sum >> 16) as u16)).to_be_bytes());
        }
        [ethernet, ip, udp].concat()
    }

    /// By which of two equal paths, ports 2 and 3, a router with a seed sends the flows.
    fn choices(seed: u32, ipv6: bool, flows: &[u16]) -> Vec<u32> {
        let vdp = data_plane().unwrap();
        let program = Program::new(&vdp).unwrap();
        let insert = |table, matches, action| {
            program.control[table].insert(TableEntry { matches, priority: 0, action }).unwrap();
        };
        insert(
            program.ports,
            vec![MatchValue::Exact(1u8.into())],
            program.receive([2, 0, 0, 0, 1, 1], seed, Kernel::default(), None),
        );
        let mut hops = NextHops::new();
        let ids = [2, 3].map(|port| (hops.acquire(&program, key(port), |_| forward(port.into())).unwrap(), 1));
        let group = hops.acquire_group(&program, ids.to_vec()).unwrap();
        for routes in [program.ipv4, program.ipv6].into_iter().flatten() {
            let value = BigUint::from(1u8) << (routes.bits - 3);
            insert(routes.id, vec![MatchValue::Lpm { value, prefix_len: 3 }], routes.outcomes.multipath(group, 0));
        }
        let mut router = Executor::new(vdp);
        let mut pool = Pool::new(1, FrameSize { headroom: 64, data: 256 }).unwrap();
        let mut packet = pool.take().unwrap();
        let mut port = |flow: &u16| {
            assert!(packet.fill(&frame(ipv6, *flow)));
            packet.set_ingress_port(1);
            router.process_batch(std::slice::from_mut(&mut packet), 1);
            assert_eq!(packet.verdict(), Verdict::Forward);
            packet.egress_port()
        };
        flows.iter().map(&mut port).collect()
    }

    #[test]
    fn routers_in_a_row_spread_flows_differently() {
        let all: Vec<u16> = (0..2000).collect();
        let share = |ports: &[u32]| ports.iter().filter(|port| **port == 2).count() as f64 / ports.len() as f64;
        for ipv6 in [false, true] {
            let first = choices(0x5eed_1235, ipv6, &all);
            assert!((share(&first) - 0.5).abs() < 0.1, "{}", share(&first));
            // The flows that the next router gets.
            let flows: Vec<u16> =
                all.iter().zip(&first).filter(|(_, port)| **port == 2).map(|(flow, _)| *flow).collect();
            for seed in [0x5eed_1237, 0xc0ff_ee01, 3, 0x8000_0001] {
                let second = share(&choices(seed, ipv6, &flows));
                assert!((second - 0.5).abs() < 0.15, "seed {seed:#x}: {second}");
            }
        }
    }

    #[test]
    fn groups_that_do_not_fit_leave_nothing_behind() {
        let program = Program::new(&data_plane().unwrap()).unwrap();
        let mut hops = NextHops::new();
        let acquire = |hops: &mut NextHops, n: u16| {
            let key = HopKey { device: n.into(), port: 1, address: [10, 0, 0, 1].into(), mtu: None, ipv6: false };
            hops.acquire(&program, key, |_| None).unwrap()
        };
        for n in 1..GROUPS {
            let pair = vec![(acquire(&mut hops, n), 1), (acquire(&mut hops, n + 1), 1)];
            hops.acquire_group(&program, pair).unwrap();
        }
        let count = hops.len();
        let pair = vec![(acquire(&mut hops, 1), 7), (acquire(&mut hops, 60000), 1)];
        assert!(matches!(hops.acquire_group(&program, pair), Err(ControlError::Full { .. })));
        assert_eq!(hops.len(), count);
    }
}
