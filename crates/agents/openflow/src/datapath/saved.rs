//! Flows, groups, meters and stations as one process hands them over to another, as the messages that make them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Datapath, rank};
use crate::codec::request::{Band, FlowMod, GroupCommand, GroupMod, MeterCommand, MeterMod};
use crate::codec::{Action, Match, Refusal};

/// What is in the program's tables.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Saved {
    meters: Vec<MeterMod>,
    /// Those that lead to others after these.
    groups: Vec<GroupMod>,
    /// With the time since they were made.
    flows: Vec<(FlowMod, Duration)>,
    /// By port: VLAN and address.
    stations: Vec<(u32, u16, u64)>,
}

/// What a flow has counted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FlowCount {
    table: u8,
    priority: u16,
    matching: Match,
    packets: u64,
    bytes: u64,
}

impl Datapath {
    /// What is in the tables now, without counts.
    pub(crate) fn save(&self) -> Saved {
        let meter = |(number, flags, bands): (u32, u16, &[Band])| MeterMod {
            command: MeterCommand::Add,
            flags,
            meter: number,
            bands: bands.to_vec(),
        };
        Saved {
            meters: self.meter_settings().map(meter).collect(),
            groups: self.groups_in_order(),
            flows: self.flows.values().map(|flow| (flow.request(), flow.created.elapsed())).collect(),
            stations: self.stations().collect(),
        }
    }

    fn groups_in_order(&self) -> Vec<GroupMod> {
        let mut left: HashMap<u32, GroupMod> = self
            .around
            .groups
            .iter()
            .map(|(number, group)| {
                let (kind, buckets) = (group.kind, group.buckets.clone());
                (*number, GroupMod { command: GroupCommand::Add, kind, group: *number, buckets })
            })
            .collect();
        let mut ordered = Vec::with_capacity(left.len());
        loop {
            let leads_to = |action: &Action| matches!(action, Action::Group(group) if left.contains_key(group));
            let waits = |group: &GroupMod| group.buckets.iter().flat_map(|bucket| &bucket.actions).any(leads_to);
            let next: Vec<u32> = left.values().filter(|group| !waits(group)).map(|group| group.group).collect();
            if next.is_empty() {
                // Groups never lead to each other in a circle.
                return ordered;
            }
            ordered.extend(next.iter().filter_map(|number| left.remove(number)));
        }
    }

    /// Makes what another process had. Ports have been put before.
    pub(crate) fn load(&mut self, saved: Saved) -> Result<(), Refusal> {
        saved.meters.iter().try_for_each(|meter| self.meter_mod(meter).map(drop))?;
        saved.groups.iter().try_for_each(|group| self.group_mod(group).map(drop))?;
        for (flow, age) in &saved.flows {
            self.flow_mod(flow)?;
            let id = self.id_of(flow.table, flow.priority, &flow.matching);
            if let Some(flow) = id.and_then(|id| self.flows.get_mut(&id)) {
                flow.created = Instant::now().checked_sub(*age).unwrap_or(flow.created);
            }
        }
        saved.stations.iter().for_each(|(port, vlan, mac)| self.put_station(*port, *vlan, *mac));
        Ok(())
    }

    fn id_of(&self, table: u8, priority: u16, matching: &Match) -> Option<u32> {
        self.by_key.get(&(table, rank(priority, matching.exact), matching.key())).copied()
    }

    /// What flows have counted.
    pub(crate) fn counts(&self) -> Vec<FlowCount> {
        let count = |(id, flow): (&u32, &super::Flow)| {
            let count = self.count(*id, flow);
            let (table, priority, matching) = (flow.table, flow.priority, flow.matching.clone());
            FlowCount { table, priority, matching, packets: count.packets, bytes: count.bytes }
        };
        self.flows.iter().map(count).filter(|count| count.packets > 0).collect()
    }

    /// Has flows count on from what they have counted in another process.
    pub(crate) fn add_counts(&mut self, counts: &[FlowCount]) {
        for FlowCount { table, priority, matching, packets, bytes } in counts {
            let id = self.id_of(*table, *priority, matching);
            if let Some(flow) = id.and_then(|id| self.flows.get_mut(&id)) {
                flow.base.packets = flow.base.packets.wrapping_sub(*packets);
                flow.base.bytes = flow.base.bytes.wrapping_sub(*bytes);
            }
        }
    }
}
