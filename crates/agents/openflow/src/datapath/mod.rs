//! Flows, groups and ports of a switch, kept in step with the program's tables.

mod bridge;
mod groups;
mod meters;
mod outputs;
mod program;
mod rewrite;
pub(crate) mod saved;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use hopwright_dataplane::{Count, VirtualDataPlane};

pub(crate) use meters::BANDS;
pub(crate) use outputs::{MAX_ACTIONS, QUEUES, TABLES};
pub use program::WrongProgram;
pub(crate) use program::{FLOWS, LEARN_FLOW, METERS, PacketInHeader, packet_out};

use crate::codec::reply::{FlowView, PortDescription, Removal, TableCounts};
use crate::codec::request::{FlowCommand, FlowFilter, FlowMod, GroupKind, flow_flag};
use crate::codec::{Action, Instructions, Key, Match, Refusal, TABLE_ALL, Version, port};
use bridge::Bridge;
use groups::Group;
use meters::Meter;
use outputs::{GroupActions, Surroundings};
use program::{Extra, Installed, Place, PortUse, Program};

/// Groups that there may be.
pub(crate) const GROUPS: u32 = 4096;
/// Buckets of a group.
const MAX_BUCKETS: usize = 256;
/// Lists of actions of packets that controllers send, kept for the next one.
const PACKET_OUT_LISTS: usize = 256;
/// How long such a list is kept after its last packet.
const PACKET_OUT_KEPT: Duration = Duration::from_secs(2);

/// Bits of a port's configuration (`OFPPC_*`).
pub(crate) mod port_config {
    pub(crate) const DOWN: u32 = 1 << 0;
    pub(crate) const NO_RECV: u32 = 1 << 2;
    pub(crate) const NO_FLOOD: u32 = 1 << 4;
    pub(crate) const NO_FWD: u32 = 1 << 5;
    pub(crate) const NO_PACKET_IN: u32 = 1 << 6;
}

#[derive(Debug)]
struct Flow {
    table: u8,
    priority: u16,
    matching: Match,
    key: Key,
    cookie: u64,
    idle_timeout: u16,
    hard_timeout: u16,
    flags: u16,
    instructions: Instructions,
    version: Version,
    place: Place,
    installed: Installed,
    extra: Extra,
    created: Instant,
    /// When its counter was last seen to have changed.
    used: Instant,
    seen: u64,
    /// What its number had counted before.
    base: Count,
    /// What its number had counted when the counts of groups were last updated.
    settled: Count,
}

impl Flow {
    /// The groups that its actions lead to.
    fn groups(&self) -> impl Iterator<Item = u32> {
        self.instructions.actions().filter_map(|action| match action {
            Action::Group(group) => Some(*group),
            _ => None,
        })
    }

    fn rank(&self) -> (u8, u32) {
        (self.table, rank(self.priority, self.matching.exact))
    }
}

/// Exact flows of 1.0 outrank all others.
fn rank(priority: u16, exact: bool) -> u32 {
    if exact { u32::from(u16::MAX) + 1 } else { priority.into() }
}

/// What a flow is to do.
type Wanted = (u32, Vec<outputs::Output>, Extra);

/// What outputs depend on beside their actions.
#[derive(Debug, Default)]
struct Around {
    ports: BTreeMap<u32, PortDescription>,
    groups: HashMap<u32, Group>,
}

impl Surroundings for Around {
    fn ports(&self, flood: bool) -> Vec<u16> {
        let wanted = |port: &&PortDescription| !flood || port.config & port_config::NO_FLOOD == 0;
        self.ports.values().filter(wanted).map(|port| port.number as u16).collect()
    }

    fn group(&self, group: u32) -> Option<GroupActions<'_>> {
        let group = self.groups.get(&group)?;
        Some(match group.kind {
            GroupKind::Select | GroupKind::FastFailover => GroupActions::Select,
            GroupKind::All | GroupKind::Indirect => GroupActions::All(&group.buckets),
        })
    }
}

/// A flow that is gone.
#[derive(Debug)]
pub(crate) struct Removed {
    flow: Flow,
    count: Count,
    pub reason: Removal,
}

impl Removed {
    /// Whether controllers hear of it.
    pub(crate) fn is_reported(&self) -> bool {
        self.flow.flags & flow_flag::SEND_REMOVED != 0
    }

    /// The message that removes it.
    pub(crate) fn request(&self) -> FlowMod {
        FlowMod { command: FlowCommand::Delete { strict: true }, cookie_mask: 0, ..self.flow.request() }
    }

    pub(crate) fn view(&self) -> FlowView<'_> {
        self.flow.view(self.count)
    }
}

impl Flow {
    fn view(&self, count: Count) -> FlowView<'_> {
        FlowView {
            table: self.table,
            matching: &self.matching,
            priority: self.priority,
            cookie: self.cookie,
            idle_timeout: self.idle_timeout,
            hard_timeout: self.hard_timeout,
            flags: self.flags,
            age: self.created.elapsed(),
            packets: count.packets,
            bytes: count.bytes,
            instructions: &self.instructions,
        }
    }

    /// The message that adds it.
    fn request(&self) -> FlowMod {
        FlowMod {
            table: self.table,
            cookie: self.cookie,
            idle_timeout: self.idle_timeout,
            hard_timeout: self.hard_timeout,
            flags: self.flags & !(flow_flag::CHECK_OVERLAP | flow_flag::RESET_COUNTS),
            instructions: self.instructions.clone(),
            version: self.version,
            ..FlowMod::new(FlowCommand::Add, self.priority, self.matching.clone(), Vec::new())
        }
    }

    fn selected(&self, table: u8, cookie: (u64, u64)) -> bool {
        (table == TABLE_ALL || self.table == table) && self.cookie & cookie.1 == cookie.0 & cookie.1
    }
}

/// A switch's flows, groups and ports.
#[derive(Debug)]
pub(crate) struct Datapath {
    program: Program,
    around: Around,
    meters: BTreeMap<u32, Meter>,
    bridge: Bridge,
    flows: HashMap<u32, Flow>,
    /// By table, rank and what they match.
    by_key: HashMap<(u8, u32, Key), u32>,
    /// Flows with a timeout.
    timed: BTreeSet<u32>,
    /// Flows by table.
    active: [u32; TABLES as usize],
    packet_outs: HashMap<Vec<Action>, (Installed, Instant)>,
    drop_fragments: bool,
}

impl Datapath {
    /// Takes over a program: what is in its tables is removed.
    pub(crate) fn new(vdp: &VirtualDataPlane) -> Result<Datapath, WrongProgram> {
        let mut program = Program::new(vdp)?;
        program.clear()?;
        Ok(Datapath {
            program,
            around: Around::default(),
            meters: BTreeMap::new(),
            bridge: Bridge::new(),
            flows: HashMap::new(),
            by_key: HashMap::new(),
            timed: BTreeSet::new(),
            active: [0; TABLES as usize],
            packet_outs: HashMap::new(),
            drop_fragments: false,
        })
    }

    /// Number of flows.
    pub(crate) fn flow_count(&self) -> usize {
        self.flows.len()
    }

    pub(crate) fn cookie(&self, flow: u32) -> Option<u64> {
        self.flows.get(&flow).map(|flow| flow.cookie)
    }

    /// Whether packets that a flow sends to the controllers are those that no other matches (1.3, section 5.4).
    pub(crate) fn is_table_miss(&self, flow: u32) -> bool {
        self.flows
            .get(&flow)
            .is_some_and(|flow| flow.version == Version::V13 && flow.priority == 0 && flow.matching.fields().is_empty())
    }

    /// What packets do that no flow matches.
    pub(crate) fn set_miss(&self, to_controller: bool) {
        if let Err(error) = self.program.set_miss(to_controller) {
            tracing::error!("cannot change what unmatched packets do: {error}");
        }
    }

    fn count(&self, id: u32, flow: &Flow) -> Count {
        let now = self.program.flow_count(id);
        // What was counted in another process is less than nothing.
        Count { packets: now.packets.wrapping_sub(flow.base.packets), bytes: now.bytes.wrapping_sub(flow.base.bytes) }
    }

    /// Carries out a flow message. Flows that it removes are returned if their removal is to be reported.
    pub(crate) fn flow_mod(&mut self, request: &FlowMod) -> Result<Vec<Removed>, Refusal> {
        let deletes = matches!(request.command, FlowCommand::Delete { .. });
        // Only deletions may be of all tables.
        let all_tables = deletes && request.table == TABLE_ALL;
        if request.table >= TABLES && !all_tables {
            return Err(Refusal::FLOW_TABLE);
        }
        match request.command {
            FlowCommand::Add => self.add(request).map(|()| Vec::new()),
            FlowCommand::Modify { strict } => {
                let found = self.find(request, strict);
                // In 1.0 a modification that finds nothing is an addition.
                if found.is_empty() && request.version == Version::V10 {
                    return self.add(request).map(|()| Vec::new());
                }
                self.modify(&found, request).map(|()| Vec::new())
            }
            FlowCommand::Delete { strict } => {
                let mut found = self.find(request, strict);
                found.retain(|id| self.flows[id].instructions.leads_to(request.out_port, request.out_group));
                Ok(self.remove_all(found, Removal::Delete))
            }
        }
    }

    fn find(&self, request: &FlowMod, strict: bool) -> Vec<u32> {
        let key = request.matching.key();
        let cookie = (request.cookie, request.cookie_mask);
        if strict {
            let rank = rank(request.priority, request.matching.exact);
            let tables = if request.table == TABLE_ALL { 0..TABLES } else { request.table..request.table + 1 };
            let found = tables.filter_map(|table| self.by_key.get(&(table, rank, key.clone())).copied());
            return found.filter(|id| self.flows[id].selected(TABLE_ALL, cookie)).collect();
        }
        let selected = |flow: &Flow| flow.selected(request.table, cookie) && key.covers(&flow.key);
        let mut found: Vec<u32> = self.flows.iter().filter(|(_, flow)| selected(flow)).map(|(id, _)| *id).collect();
        found.sort_unstable();
        found
    }

    fn add(&mut self, request: &FlowMod) -> Result<(), Refusal> {
        let FlowMod { table, priority, .. } = *request;
        let matching = request.matching.clone();
        let key = matching.key();
        if request.flags & flow_flag::CHECK_OVERLAP != 0 {
            let overlaps =
                |flow: &Flow| flow.rank() == (table, rank(priority, matching.exact)) && flow.key.overlaps(&key);
            if self.flows.values().any(overlaps) {
                return Err(Refusal::FLOW_OVERLAP);
            }
        }
        let extra = self.extra(&request.instructions)?;
        let outputs = outputs::of_flow(table, &matching, &request.instructions, request.version, &self.around)?;
        let by_key = (table, rank(priority, matching.exact), key);
        let old = self.by_key.get(&by_key).copied();
        // A flow that replaces another counts on from it, unless the controller or 1.0 says otherwise.
        let keeps_counts = request.version == Version::V13 && request.flags & flow_flag::RESET_COUNTS == 0;
        let id = match old {
            Some(id) if keeps_counts => id,
            _ => self.program.take_flow_id()?,
        };
        let fresh = old != Some(id);
        let installed = self.program.install(outputs).inspect_err(|_| {
            if fresh {
                self.program.give_back_flow_id(id);
            }
        })?;
        let place = self.program.place(table, &by_key.2, priority, matching.exact);
        if let Some(old) = old {
            self.settle(old);
        }
        if let Err(error) = self.program.put_flow(&place, id, &installed, extra, old.is_none()) {
            tracing::debug!("a flow is refused: {error}");
            self.program.release(&installed);
            if fresh {
                self.program.give_back_flow_id(id);
            }
            return Err(Refusal::FLOW_TABLE_FULL);
        }
        let (now, count) = (Instant::now(), self.program.flow_count(id));
        let mut flow = Flow {
            table,
            priority,
            key: by_key.2.clone(),
            matching,
            cookie: request.cookie,
            idle_timeout: request.idle_timeout,
            hard_timeout: request.hard_timeout,
            flags: request.flags,
            instructions: request.instructions.clone(),
            version: request.version,
            place,
            installed,
            extra,
            created: now,
            used: now,
            seen: 0,
            base: count,
            settled: count,
        };
        if let Some(old) = old
            && let Some(replaced) = self.flows.remove(&old)
        {
            self.timed.remove(&old);
            self.active[usize::from(table)] -= 1;
            self.program.release(&replaced.installed);
            if fresh {
                self.program.give_back_flow_id(old);
            } else {
                flow.base = replaced.base;
                flow.seen = replaced.seen;
            }
        }
        if flow.idle_timeout | flow.hard_timeout != 0 {
            self.timed.insert(id);
        }
        self.active[usize::from(table)] += 1;
        self.by_key.insert(by_key, id);
        self.flows.insert(id, flow);
        Ok(())
    }

    /// What instructions ask for beside outputs.
    fn extra(&self, instructions: &Instructions) -> Result<Extra, Refusal> {
        let slot = |meter: u32| self.meters.get(&meter).map(|meter| meter.slot).ok_or(Refusal::METER_UNKNOWN);
        Ok(Extra { meter: instructions.meter.map_or(Ok(0), slot)?, metadata: instructions.metadata })
    }

    /// Gives flows other instructions, all or none of them.
    fn modify(&mut self, ids: &[u32], request: &FlowMod) -> Result<(), Refusal> {
        let FlowMod { instructions, version, .. } = request;
        let extra = self.extra(instructions)?;
        let outputs = |id: &u32| {
            let flow = &self.flows[id];
            let outputs = outputs::of_flow(flow.table, &flow.matching, instructions, *version, &self.around)?;
            Ok((*id, outputs, extra))
        };
        let wanted = ids.iter().map(outputs).collect::<Result<Vec<_>, Refusal>>()?;
        ids.iter().for_each(|id| self.settle(*id));
        self.reinstall(wanted)?;
        for id in ids {
            let count = self.program.flow_count(*id);
            let Some(flow) = self.flows.get_mut(id) else { continue };
            flow.instructions = instructions.clone();
            flow.version = *version;
            if *version == Version::V10 {
                flow.cookie = request.cookie;
            }
            if request.flags & flow_flag::RESET_COUNTS != 0 {
                (flow.base, flow.seen) = (count, 0);
            }
        }
        Ok(())
    }

    /// Makes flows do something else, all or none of them.
    fn reinstall(&mut self, wanted: Vec<Wanted>) -> Result<(), Refusal> {
        let mut installed = Vec::with_capacity(wanted.len());
        for (id, outputs, extra) in wanted {
            match self.program.install(outputs) {
                Ok(new) => installed.push((id, new, extra)),
                Err(refusal) => {
                    installed.iter().for_each(|(_, new, _)| self.program.release(new));
                    return Err(refusal);
                }
            }
        }
        let differs = |(id, new, extra): &&(u32, Installed, Extra)| {
            self.flows.get(id).is_some_and(|flow| *new != flow.installed || *extra != flow.extra)
        };
        let changed: Vec<_> = installed.iter().filter(differs).collect();
        for (at, (id, new, extra)) in changed.iter().enumerate() {
            if let Err(error) = self.program.put_flow(&self.flows[id].place, *id, new, *extra, false) {
                tracing::error!("a flow cannot be changed: {error}");
                for (id, ..) in &changed[..at] {
                    let Flow { place, installed, extra, .. } = &self.flows[id];
                    if let Err(error) = self.program.put_flow(place, *id, installed, *extra, false) {
                        tracing::error!("a flow cannot be changed back: {error}");
                    }
                }
                installed.iter().for_each(|(_, new, _)| self.program.release(new));
                return Err(Refusal::FLOW_TABLE_FULL);
            }
        }
        for (id, new, extra) in installed {
            let Some(flow) = self.flows.get_mut(&id) else { continue };
            flow.extra = extra;
            let old = std::mem::replace(&mut flow.installed, new);
            self.program.release(&old);
        }
        Ok(())
    }

    /// Removes flows; those are returned whose removal is to be reported.
    fn remove_all(&mut self, ids: Vec<u32>, reason: Removal) -> Vec<Removed> {
        let removed = ids.into_iter().filter_map(|id| self.remove(id, reason));
        removed.filter(Removed::is_reported).collect()
    }

    fn remove(&mut self, id: u32, reason: Removal) -> Option<Removed> {
        self.settle(id);
        let flow = self.flows.remove(&id)?;
        let (table, rank) = flow.rank();
        self.by_key.remove(&(table, rank, flow.key.clone()));
        self.timed.remove(&id);
        self.active[usize::from(table)] -= 1;
        if let Err(error) = self.program.delete_flow(&flow.place) {
            tracing::error!("a flow cannot be removed: {error}");
        }
        self.program.release(&flow.installed);
        let count = self.count(id, &flow);
        self.program.give_back_flow_id(id);
        Some(Removed { flow, count, reason })
    }

    /// Entries that flows share, and multicast groups: none without flows and groups.
    pub(crate) fn shared_entries(&self) -> usize {
        self.program.shared_entries()
    }

    /// Removes all flows, groups, meters, stations and lists of outputs, without a report.
    pub(crate) fn clear(&mut self) {
        self.forget_packet_outs_if(|_| true);
        let ids = self.flows.keys().copied().collect();
        self.remove_all(ids, Removal::Delete);
        let groups: Vec<u32> = self.around.groups.keys().copied().collect();
        groups.into_iter().for_each(|group| self.forget_group(group));
        let meters: Vec<u32> = self.meters.keys().copied().collect();
        meters.into_iter().for_each(|meter| self.forget_meter(meter));
        self.forget_stations(|_| true);
    }

    /// Removes flows whose time is over, and lists of actions that controllers have not used for some time. Returns all of the flows.
    pub(crate) fn expire(&mut self) -> Vec<Removed> {
        let now = Instant::now();
        let mut over = Vec::new();
        for id in &self.timed {
            let Some(flow) = self.flows.get_mut(id) else { continue };
            let packets = self.program.flow_count(*id).packets;
            if packets != flow.seen {
                (flow.seen, flow.used) = (packets, now);
            }
            let passed =
                |since: Instant, seconds: u16| seconds != 0 && now - since >= Duration::from_secs(seconds.into());
            if passed(flow.created, flow.hard_timeout) {
                over.push((*id, Removal::HardTimeout));
            } else if passed(flow.used, flow.idle_timeout) {
                over.push((*id, Removal::IdleTimeout));
            }
        }
        let removed = over.into_iter().filter_map(|(id, reason)| self.remove(id, reason)).collect();
        self.forget_packet_outs();
        self.age_stations();
        removed
    }

    fn forget_packet_outs(&mut self) {
        let Datapath { program, packet_outs, .. } = self;
        packet_outs.retain(|_, (installed, used)| {
            let keep = used.elapsed() < PACKET_OUT_KEPT;
            if !keep {
                program.release(installed);
            }
            keep
        });
    }

    /// The header in front of a packet that a controller sends; `None` if it is to be dropped.
    pub(crate) fn packet_out(&mut self, in_port: u32, actions: &[Action]) -> Result<Option<[u8; 9]>, Refusal> {
        if let Some((installed, used)) = self.packet_outs.get_mut(actions) {
            *used = Instant::now();
            return Ok(packet_out(in_port, installed));
        }
        let outputs = outputs::of_actions(actions, None, true, &self.around)?;
        if self.packet_outs.len() >= PACKET_OUT_LISTS {
            // The packets of the list that has not been used for longest have left.
            let oldest = self.packet_outs.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(actions, _)| actions.clone())
                && let Some((installed, _)) = self.packet_outs.remove(&oldest)
            {
                self.program.release(&installed);
            }
        }
        let installed = self.program.install(outputs)?;
        let header = packet_out(in_port, &installed);
        self.packet_outs.insert(actions.to_vec(), (installed, Instant::now()));
        Ok(header)
    }

    fn forget_packet_outs_if(&mut self, which: impl Fn(&[Action]) -> bool) {
        let Datapath { program, packet_outs, .. } = self;
        packet_outs.retain(|actions, (installed, _)| {
            let forget = which(actions);
            if forget {
                program.release(installed);
            }
            !forget
        });
    }

    /// What flows are to have now, with their instructions.
    fn wanted(&self, ids: &[u32]) -> Result<Vec<Wanted>, Refusal> {
        let wanted = |id: &u32| {
            let flow = self.flows.get(id)?;
            let outputs = outputs::of_flow(flow.table, &flow.matching, &flow.instructions, flow.version, &self.around);
            let extra = self.extra(&flow.instructions);
            Some(outputs.and_then(|outputs| Ok((*id, outputs, extra?))))
        };
        ids.iter().filter_map(wanted).collect()
    }

    /// Writes flows again after ports have changed, each as far as that is possible.
    fn reinstall_each(&mut self, ids: Vec<u32>) {
        for id in ids {
            if let Err(refusal) = self.wanted(&[id]).and_then(|wanted| self.reinstall(wanted)) {
                tracing::error!("a flow cannot follow a change of ports: {refusal:?}");
            }
        }
    }

    pub(crate) fn ports(&self) -> impl Iterator<Item = &PortDescription> {
        self.around.ports.values()
    }

    pub(crate) fn port(&self, number: u32) -> Option<&PortDescription> {
        self.around.ports.get(&number)
    }

    /// What has been sent to a queue of a port other than its first.
    pub(crate) fn queue_count(&self, port: u32, queue: u32) -> Count {
        self.program.queue_count(port, queue)
    }

    /// Adds or changes a port.
    pub(crate) fn put_port(&mut self, port: PortDescription) {
        self.write_port(&port);
        let flooded = |port: &PortDescription| port.config & port_config::NO_FLOOD == 0;
        let (number, now, live) = (port.number, flooded(&port), port.is_live());
        let old = self.around.ports.insert(number, port);
        // What can use another way does so first.
        self.liveness_changed();
        if !live {
            self.forget_stations(|port| port == number);
        }
        if old.is_none_or(|old| flooded(&old) != now) {
            self.ports_changed();
        }
    }

    fn write_port(&self, port: &PortDescription) {
        let open = |bit: u32| port.config & (port_config::DOWN | bit) == 0;
        let usage = PortUse {
            receive: open(port_config::NO_RECV),
            ask: open(port_config::NO_PACKET_IN),
            send: open(port_config::NO_FWD),
            drop_fragments: self.drop_fragments,
        };
        if let Err(error) = self.program.set_port(port.number, usage) {
            tracing::error!("cannot configure port {}: {error}", port.number);
        }
    }

    /// Whether fragments of IP are dropped.
    pub(crate) fn set_fragments(&mut self, drop: bool) {
        if drop == self.drop_fragments {
            return;
        }
        self.drop_fragments = drop;
        if let Err(error) = self.program.set_fragments(drop) {
            tracing::error!("cannot change what becomes of fragments: {error}");
        }
        self.around.ports.values().for_each(|port| self.write_port(port));
    }

    /// Whether fragments of IP are dropped.
    pub(crate) fn drops_fragments(&self) -> bool {
        self.drop_fragments
    }

    pub(crate) fn remove_port(&mut self, number: u32) -> Option<PortDescription> {
        let old = self.around.ports.remove(&number)?;
        self.liveness_changed();
        self.forget_stations(|port| port == number);
        self.ports_changed();
        Some(old)
    }

    /// Flows that flood packets, and those that may do so through a group, have other outputs.
    fn ports_changed(&mut self) {
        let floods =
            |action: &Action| matches!(action, Action::Output { port: port::FLOOD | port::ALL, .. } | Action::Group(_));
        if let Err(error) = self.program.set_flood(&self.around.ports(true)) {
            tracing::error!("the bridge cannot follow a change of ports: {error}");
        }
        let uses = |flow: &Flow| flow.instructions.actions().any(floods);
        let users = self.flows.iter().filter(|(_, flow)| uses(flow)).map(|(id, _)| *id).collect();
        self.reinstall_each(users);
        self.forget_packet_outs_if(|actions| actions.iter().any(floods));
        // Buckets that flood.
        let groups = self.around.groups.iter().filter(|(_, group)| group.kind.has_entry());
        let again: Vec<u32> = groups
            .filter(|(_, group)| group.buckets.iter().any(|bucket| bucket.actions.iter().any(floods)))
            .map(|(number, _)| *number)
            .collect();
        self.rewrite_groups(&again);
    }

    /// The flows that a controller asks for, in the order of their numbers.
    pub(crate) fn selected_flows(&self, filter: &FlowFilter) -> Vec<(&u32, FlowView<'_>)> {
        let key = filter.matching.key();
        let selected = |flow: &Flow| {
            flow.selected(filter.table, (filter.cookie, filter.cookie_mask))
                && key.covers(&flow.key)
                && flow.instructions.leads_to(filter.out_port, filter.out_group)
        };
        let mut found: Vec<_> = self
            .flows
            .iter()
            .filter(|(_, flow)| selected(flow))
            .map(|(id, flow)| (id, flow.view(self.count(*id, flow))))
            .collect();
        found.sort_unstable_by_key(|(id, _)| **id);
        found
    }

    /// Counts of a table.
    pub(crate) fn table_counts(&self, table: u8) -> TableCounts {
        let (lookups, misses) = self.program.table_counts(table);
        let active = self.active.get(usize::from(table)).copied().unwrap_or_default();
        TableCounts { active, lookups, matched: lookups.saturating_sub(misses) }
    }
}

#[cfg(test)]
mod tests;
