//! The program's tables and counters, and what outputs become in them.

mod headers;
mod names;
mod objects;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Control, ControlError, Count, Replica, VirtualDataPlane};
use hopwright_ir::{ActionCall, ActionId, MatchValue, TableEntry, TableId};
use num_bigint::BigUint;

pub(crate) use headers::{LEARN_FLOW, PacketInHeader, packet_out};
use names::{Actions, Tables};
pub(crate) use objects::{BandAction, BucketTarget, PortUse};

use super::outputs::{Again, Output, Step};
use crate::codec::field::KeyField;
use crate::codec::{Key, Refusal};

/// Flows of all tables.
pub(crate) const FLOWS: u32 = 262_144;
/// Numbers of rewrites, of multicast groups but the last one, and of buckets.
const IDS: u32 = 65_535;
/// The multicast group of the ports that packets are flooded to.
const FLOOD_GROUP: u16 = 65_535;
/// The program's meters of packets, which have even numbers, and of bytes, which have odd ones.
const METER_ARRAYS: [&str; 2] = ["packet_meters", "byte_meters"];
/// Meters of packets, and as many of bytes.
pub(crate) const METERS: u32 = 2048;
/// The port of packets that are dropped.
const DROP_PORT: u16 = 511;
/// Time after which a number may mean something else: packets that know it as it was are gone.
const QUARANTINE: Duration = Duration::from_secs(1);
/// Multicast groups' replicas with more than these are refused.
const MAX_REPLICAS: usize = 4096;

/// Numbers from 1.
#[derive(Debug)]
pub(crate) struct Ids {
    next: u32,
    limit: u32,
    freed: VecDeque<(Instant, u32)>,
}

impl Ids {
    fn new(limit: u32) -> Ids {
        Ids { next: 1, limit, freed: VecDeque::new() }
    }

    fn take(&mut self) -> Option<u32> {
        if self.freed.front().is_some_and(|(since, _)| since.elapsed() >= QUARANTINE) {
            return self.freed.pop_front().map(|(_, id)| id);
        }
        (self.next < self.limit).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn give_back(&mut self, id: u32) {
        self.freed.push_back((Instant::now(), id));
    }
}

/// Things that are in the program once, however many use them.
#[derive(Debug)]
struct Shared<K> {
    /// Number, users, and the outputs that it leads to.
    by_key: HashMap<K, (u32, u32, Option<Installed>)>,
    ids: Ids,
}

impl<K: Hash + Eq> Shared<K> {
    fn new() -> Shared<K> {
        Shared { by_key: HashMap::new(), ids: Ids::new(IDS) }
    }

    fn reuse(&mut self, key: &K) -> Option<u32> {
        let (id, users, _) = self.by_key.get_mut(key)?;
        *users += 1;
        Some(*id)
    }

    /// The number and what it leads to if it had one user.
    fn release(&mut self, key: &K) -> Option<(u32, Option<Installed>)> {
        let (_, users, _) = self.by_key.get_mut(key)?;
        *users -= 1;
        if *users > 0 {
            return None;
        }
        let (id, _, to) = self.by_key.remove(key)?;
        self.ids.give_back(id);
        Some((id, to))
    }
}

/// Outputs in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Installed {
    /// There are none.
    Drop,
    /// One, and the number of its step.
    One { output: Box<Output>, rewrite: u16 },
    /// Several, as a multicast group.
    Group { outputs: Vec<Output>, replicas: Vec<(u16, u16)>, group: u16 },
}

/// The program is not what this agent can drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program is no OpenFlow data path: {0}")]
pub struct WrongProgram(ControlError);

impl From<ControlError> for WrongProgram {
    fn from(error: ControlError) -> WrongProgram {
        WrongProgram(error)
    }
}

/// What a flow does beside its outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    /// The program's number of its meter, or 0.
    pub meter: u16,
    /// Value and mask of Write-Metadata.
    pub metadata: Option<(u64, u64)>,
}

/// The program, by its names.
#[derive(Debug)]
pub(crate) struct Program {
    control: Arc<Control>,
    tables: Tables,
    actions: Actions,
    steps: Shared<Step>,
    groups: Shared<Vec<(u16, u16)>>,
    flow_ids: Ids,
    bucket_ids: Ids,
    /// Of meters of packets and of bytes.
    meter_ids: [Ids; 2],
}

fn call(action: ActionId, arguments: impl IntoIterator<Item = u128>) -> ActionCall {
    ActionCall { action, args: arguments.into_iter().map(BigUint::from).collect() }
}

fn exact(value: impl Into<BigUint>) -> Vec<MatchValue> {
    vec![MatchValue::Exact(value.into())]
}

/// Where a flow lies in the program.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    table: TableId,
    matches: Vec<MatchValue>,
    priority: i32,
}

impl Program {
    pub(crate) fn new(vdp: &VirtualDataPlane) -> Result<Program, WrongProgram> {
        let control = vdp.control().clone();
        let tables = Tables::of(&control)?;
        let actions = Actions::of(&control, &tables)?;
        for counter in
            ["flow_counter", "lookups", "misses", "bucket_counter", "meter_counter", "band_counter", "queue_counter"]
        {
            control.counter(counter)?;
        }
        for meter in METER_ARRAYS {
            control.meter(meter)?;
        }
        Ok(Program {
            tables,
            actions,
            steps: Shared::new(),
            groups: Shared::new(),
            flow_ids: Ids::new(FLOWS),
            bucket_ids: Ids::new(IDS),
            meter_ids: [Ids::new(METERS), Ids::new(METERS)],
            control,
        })
    }

    /// Removes whatever an agent before this one left.
    pub(crate) fn clear(&mut self) -> Result<(), ControlError> {
        self.tables.all().into_iter().try_for_each(|table| self.control[table].clear())
    }

    /// Puts outputs in the program. Refused if there is no room; nothing is left behind then.
    pub(crate) fn install(&mut self, outputs: Vec<Output>) -> Result<Installed, Refusal> {
        if outputs.len() > MAX_REPLICAS {
            return Err(Refusal::ACTION_TOO_MANY);
        }
        let mut replicas = Vec::with_capacity(outputs.len());
        for output in &outputs {
            match self.install_step(&output.step) {
                Ok(rewrite) => replicas.push((output.port, rewrite)),
                Err(refusal) => {
                    outputs[..replicas.len()].iter().for_each(|output| self.release_step(&output.step));
                    return Err(refusal);
                }
            }
        }
        match &replicas[..] {
            [] => Ok(Installed::Drop),
            [(_, rewrite)] => {
                let rewrite = *rewrite;
                let Some(output) = outputs.into_iter().next() else { unreachable!("one replica is of one output") };
                Ok(Installed::One { output: Box::new(output), rewrite })
            }
            _ => {
                let group = self.groups.reuse(&replicas).or_else(|| {
                    let id = self.groups.ids.take()?;
                    let to = replicas.iter().map(|(port, rid)| Replica { port: *port, rid: *rid }).collect();
                    if self.control.set_multicast_group(id as u16, Some(to)).is_err() {
                        self.groups.ids.give_back(id);
                        return None;
                    }
                    self.groups.by_key.insert(replicas.clone(), (id, 1, None));
                    Some(id)
                });
                match group {
                    Some(group) => Ok(Installed::Group { outputs, replicas, group: group as u16 }),
                    None => {
                        outputs.iter().for_each(|output| self.release_step(&output.step));
                        Err(Refusal::FLOW_TABLE_FULL)
                    }
                }
            }
        }
    }

    /// Takes them away, once nothing leads to them.
    pub(crate) fn release(&mut self, installed: &Installed) {
        match installed {
            Installed::Drop => {}
            Installed::One { output, .. } => self.release_step(&output.step),
            Installed::Group { outputs, replicas, group } => {
                if self.groups.release(replicas).is_some() {
                    // A device that does not answer has no packets, either.
                    let _ = self.control.set_multicast_group(*group, None);
                }
                outputs.iter().for_each(|output| self.release_step(&output.step));
            }
        }
    }

    fn install_step(&mut self, step: &Step) -> Result<u16, Refusal> {
        if *step == Step::default() {
            return Ok(0);
        }
        if let Some(id) = self.steps.reuse(step) {
            return Ok(id as u16);
        }
        let next = match &step.again {
            Some(Again::Output(output)) => Some(self.install(vec![(**output).clone()])?),
            _ => None,
        };
        let Some(id) = self.steps.ids.take() else {
            if let Some(next) = &next {
                self.release(next);
            }
            return Err(Refusal::FLOW_TABLE_FULL);
        };
        let again = match (&step.again, &next) {
            (Some(Again::Table(table)), _) => Some(call(self.actions.go_to, [u128::from(*table)])),
            (Some(Again::Select(group)), _) => Some(call(self.actions.choose, [u128::from(*group)])),
            (Some(Again::Normal), _) => Some(call(self.actions.bridge, [])),
            (_, Some(Installed::One { output, rewrite })) => {
                Some(call(self.actions.use_outputs, [output.port.into(), (*rewrite).into(), 0]))
            }
            _ => None,
        };
        let put = |table: TableId, action: ActionCall| {
            self.control[table].insert(TableEntry { matches: exact(id), priority: 0, action })
        };
        let rewrite = &step.rewrite;
        let set =
            (!rewrite.is_empty()).then(|| call(self.actions.rewrites[rewrite.kind as usize], rewrite.arguments()));
        let written = set.map_or(Ok(()), |set| put(self.tables.rewrites, set));
        let written = written.and_then(|()| again.map_or(Ok(()), |again| put(self.tables.again, again)));
        if let Err(error) = written {
            tracing::error!("cannot write a rewrite: {error}");
            self.forget_step(id);
            self.steps.ids.give_back(id);
            if let Some(next) = &next {
                self.release(next);
            }
            return Err(Refusal::FLOW_TABLE_FULL);
        }
        self.steps.by_key.insert(step.clone(), (id, 1, next));
        Ok(id as u16)
    }

    fn release_step(&mut self, step: &Step) {
        if let Some((id, next)) = self.steps.release(step) {
            self.forget_step(id);
            if let Some(next) = next {
                self.release(&next);
            }
        }
    }

    fn forget_step(&self, id: u32) {
        // One of them may never have been written.
        let _ = self.control[self.tables.rewrites].delete(&exact(id), 0);
        let _ = self.control[self.tables.again].delete(&exact(id), 0);
    }

    /// A number for a flow.
    pub(crate) fn take_flow_id(&mut self) -> Result<u32, Refusal> {
        self.flow_ids.take().ok_or(Refusal::FLOW_TABLE_FULL)
    }

    pub(crate) fn give_back_flow_id(&mut self, id: u32) {
        self.flow_ids.give_back(id);
    }

    /// Where a flow lies; `exact`: it outranks others.
    pub(crate) fn place(&self, table: u8, key: &Key, priority: u16, exact: bool) -> Place {
        let value = |field: KeyField| key.get(field).0;
        if exact {
            let matches = [
                value(KeyField::InPort) & 0xffff,
                value(KeyField::EthSrc),
                value(KeyField::EthDst),
                value(KeyField::Vlan),
                value(KeyField::VlanPcp),
                value(KeyField::EthType),
                value(KeyField::Tos) >> 2,
                value(KeyField::IpProto),
                value(KeyField::L3Src),
                value(KeyField::L3Dst),
                value(KeyField::L4Src),
                value(KeyField::L4Dst),
            ];
            let matches = matches.into_iter().map(|value| MatchValue::Exact(value.into())).collect();
            return Place { table: self.tables.exact_flows, matches, priority: 0 };
        }
        let ternary = KeyField::ALL.into_iter().map(|field| {
            let (value, mask) = key.get(field);
            // The program's port numbers have 16 bits.
            let cut = if field == KeyField::InPort { 0xffff } else { u128::MAX };
            MatchValue::Ternary { value: (value & cut).into(), mask: (mask & cut).into() }
        });
        let matches = [MatchValue::Exact(table.into())].into_iter().chain(ternary).collect();
        Place { table: self.tables.flows, matches, priority: priority.into() }
    }

    /// What a flow does.
    fn flow_action(&self, id: u32, installed: &Installed, extra: Extra) -> ActionCall {
        let id = u128::from(id);
        let (port, rewrite, group) = match installed {
            Installed::Drop => (DROP_PORT, 0, 0),
            Installed::One { output, rewrite } => (output.port, *rewrite, 0),
            Installed::Group { group, .. } => (0, 0, *group),
        };
        if extra != Extra::default() {
            let (value, mask) = extra.metadata.unwrap_or_default();
            let arguments =
                [id, port.into(), rewrite.into(), group.into(), extra.meter.into(), value.into(), mask.into()];
            return call(self.actions.flow_instructions, arguments);
        }
        match (port, group) {
            (DROP_PORT, _) => call(self.actions.flow_drop, [id]),
            (_, 0) => call(self.actions.flow_output, [id, port.into(), rewrite.into()]),
            _ => call(self.actions.flow_replicate, [id, group.into()]),
        }
    }

    /// Adds a flow, or changes what it does.
    pub(crate) fn put_flow(
        &self,
        place: &Place,
        id: u32,
        installed: &Installed,
        extra: Extra,
        is_new: bool,
    ) -> Result<(), ControlError> {
        let action = self.flow_action(id, installed, extra);
        let entry = TableEntry { matches: place.matches.clone(), priority: place.priority, action };
        let table = &self.control[place.table];
        if is_new { table.insert(entry) } else { table.modify(entry) }
    }

    pub(crate) fn delete_flow(&self, place: &Place) -> Result<(), ControlError> {
        self.control[place.table].delete(&place.matches, place.priority)
    }

    /// What flows of this number have counted, since the program started.
    pub(crate) fn flow_count(&self, id: u32) -> Count {
        self.control.counter("flow_counter").and_then(|counter| counter.read(id.into())).unwrap_or_default()
    }

    /// Packets that were looked up in a table, and those of them that no flow matched.
    pub(crate) fn table_counts(&self, table: u8) -> (u64, u64) {
        let read = |name: &str| {
            let count = self.control.counter(name).and_then(|counter| counter.read(table.into()));
            count.map_or(0, |count| count.packets)
        };
        (read("lookups"), read("misses"))
    }

    /// Entries of the tables that flows share, and multicast groups: all of what is to be gone with the flows.
    pub(crate) fn shared_entries(&self) -> usize {
        let Tables { flows, exact_flows, rewrites, again, select_groups, meter_bands, .. } = self.tables;
        let tables = [flows, exact_flows, rewrites, again, select_groups, meter_bands];
        tables.into_iter().map(|table| self.control[table].len()).sum::<usize>() + self.groups.by_key.len()
    }

    /// What packets do that no flow matches.
    pub(crate) fn set_miss(&self, to_controller: bool) -> Result<(), ControlError> {
        let action = if to_controller { "miss_to_controller" } else { "miss_drop" };
        self.control.set_default("flows", action, &[])
    }
}
