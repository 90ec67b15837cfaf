//! Groups that use one of their buckets, meters, stations of the bridge, and ports.

use hopwright_dataplane::{ControlError, Count, EntryTarget, Replica, WeightedAction};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionId, MatchValue, TableEntry, TableId};

use super::{FLOOD_GROUP, Installed, METER_ARRAYS, Program, call, exact};

/// What a band of a meter does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BandAction {
    Drop,
    /// Raises the drop precedence by this.
    Remark(u8),
}

/// What a port is used for: packets are taken from it, those that no flow matches go to the controllers, and packets are sent
/// by it; fragments are dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortUse {
    pub receive: bool,
    pub ask: bool,
    pub send: bool,
    pub drop_fragments: bool,
}

/// A bucket in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketTarget<'a> {
    /// The number by which it counts.
    pub id: u32,
    pub outputs: &'a Installed,
    /// 0 if no packets are to use it.
    pub weight: u16,
}

impl Program {
    /// Makes a group of buckets with weights, of which each packet uses one.
    pub(crate) fn put_select<'a>(
        &self,
        group: u32,
        buckets: impl Iterator<Item = BucketTarget<'a>>,
        is_new: bool,
    ) -> Result<(), ControlError> {
        let actions = buckets.filter(|bucket| bucket.weight > 0).map(|BucketTarget { id, outputs, weight }| {
            let id = u128::from(id);
            let action = match outputs {
                Installed::Drop => call(self.actions.bucket_drop, [id]),
                Installed::One { output, rewrite } => {
                    call(self.actions.bucket_output, [id, output.port.into(), (*rewrite).into()])
                }
                Installed::Group { group, .. } => call(self.actions.bucket_replicate, [id, u128::from(*group)]),
            };
            WeightedAction { action, weight: weight.into() }
        });
        let mut actions: Vec<_> = actions.collect();
        if actions.is_empty() {
            actions.push(WeightedAction { action: call(self.actions.bucket_drop, [0]), weight: 1 });
        }
        let table = &self.control[self.tables.select_groups];
        let to = EntryTarget::Set(actions);
        let matches = self.select_key(group);
        if is_new { table.insert_target(matches, 0, to) } else { table.modify_target(matches, 0, to) }
    }

    /// A group's number; the other keys only choose a bucket.
    fn select_key(&self, group: u32) -> Vec<MatchValue> {
        let mut matches = exact(group);
        matches.resize(self.control.pipeline()[self.tables.select_groups].keys.len(), MatchValue::Optional(None));
        matches
    }

    pub(crate) fn delete_select(&self, group: u32) {
        if let Err(error) = self.control[self.tables.select_groups].delete(&self.select_key(group), 0) {
            tracing::error!("cannot remove a group: {error}");
        }
    }

    /// Opens and closes a port: whether packets are taken from it, whether those that no flow matches go to the
    /// controllers, whether packets are sent by it, and whether fragments are dropped.
    pub(crate) fn set_port(
        &self,
        port: u32,
        PortUse { receive, ask, send, drop_fragments }: PortUse,
    ) -> Result<(), ControlError> {
        let write = |table: TableId, action: Option<ActionId>| {
            // There is an entry for ports that are not fully open only.
            let _ = self.control[table].delete(&exact(port), 0);
            match action {
                Some(action) => self.control[table].insert(TableEntry {
                    matches: exact(port),
                    priority: 0,
                    action: call(action, []),
                }),
                None => Ok(()),
            }
        };
        let ingress = match (receive, ask) {
            (false, _) => Some(self.actions.refuse_packets),
            (true, false) if drop_fragments => Some(self.actions.refuse_misses_and_fragments),
            (true, false) => Some(self.actions.refuse_misses),
            (true, true) => None,
        };
        write(self.tables.ingress_ports, ingress)?;
        write(self.tables.egress_ports, (!send).then_some(self.actions.egress_drop))
    }

    /// Whether fragments are dropped that come by ports without an entry of their own.
    pub(crate) fn set_fragments(&self, drop: bool) -> Result<(), ControlError> {
        self.control.set_default("ingress_ports", if drop { "refuse_fragments" } else { "NoAction" }, &[])
    }

    /// A number for a bucket.
    pub(crate) fn take_bucket(&mut self) -> Option<u32> {
        self.bucket_ids.take()
    }

    pub(crate) fn give_back_bucket(&mut self, id: u32) {
        self.bucket_ids.give_back(id);
    }

    /// What buckets of this number have counted, since the program started.
    pub(crate) fn bucket_count(&self, id: u32) -> Count {
        self.count_of("bucket_counter", id)
    }

    /// A number for a meter: of packets, or of bytes.
    pub(crate) fn take_meter(&mut self, by_bytes: bool) -> Option<u16> {
        self.meter_ids[usize::from(by_bytes)].take().map(|id| (2 * id) as u16 + u16::from(by_bytes))
    }

    /// Sets a meter's rates and what happens to its yellow and its red packets.
    pub(crate) fn put_meter(
        &self,
        slot: u16,
        rates: Rates,
        bands: [Option<BandAction>; 2],
    ) -> Result<(), ControlError> {
        self.control.meter(METER_ARRAYS[usize::from(slot & 1)])?.set_rates(slot.into(), Some(rates))?;
        let table = &self.control[self.tables.meter_bands];
        for (band, color) in bands.into_iter().zip(1u32..) {
            let matches = Program::band_key(slot, color);
            // A band of before, which there need not have been.
            let _ = table.delete(&matches, 0);
            let action = match band {
                None => continue,
                Some(BandAction::Drop) => call(self.actions.band_drop, []),
                Some(BandAction::Remark(levels)) => call(self.actions.band_remark, [levels.into()]),
            };
            table.insert(TableEntry { matches, priority: 0, action })?;
        }
        Ok(())
    }

    fn band_key(slot: u16, color: u32) -> Vec<MatchValue> {
        vec![MatchValue::Exact(slot.into()), MatchValue::Exact(color.into())]
    }

    /// Takes a meter away, once no flow has it.
    pub(crate) fn forget_meter(&mut self, slot: u16) {
        for color in [1, 2] {
            let _ = self.control[self.tables.meter_bands].delete(&Program::band_key(slot, color), 0);
        }
        if let Ok(meters) = self.control.meter(METER_ARRAYS[usize::from(slot & 1)]) {
            let _ = meters.set_rates(slot.into(), None);
        }
        self.meter_ids[usize::from(slot & 1)].give_back(u32::from(slot) / 2);
    }

    /// What a meter of this number has counted since the program started: all packets, and its yellow and red ones.
    pub(crate) fn meter_counts(&self, slot: u16) -> (Count, [Count; 2]) {
        let slot = u32::from(slot);
        let band = |color: u32| self.count_of("band_counter", 2 * slot + color);
        (self.count_of("meter_counter", slot), [band(0), band(1)])
    }

    /// What has been sent to a queue of a port other than its first.
    pub(crate) fn queue_count(&self, port: u32, queue: u32) -> Count {
        self.count_of("queue_counter", 8 * port + queue)
    }

    fn count_of(&self, counter: &str, index: u32) -> Count {
        self.control.counter(counter).and_then(|counter| counter.read(index.into())).unwrap_or_default()
    }

    /// Packets from this station are known to come by a port.
    pub(crate) fn put_source(&self, port: u32, vlan: u16, mac: u64) -> Result<(), ControlError> {
        let matches = [u64::from(port), vlan.into(), mac].map(|value| MatchValue::Exact(value.into())).to_vec();
        let action = call(self.actions.known_source, []);
        self.control[self.tables.sources].insert(TableEntry { matches, priority: 0, action })
    }

    pub(crate) fn delete_source(&self, port: u32, vlan: u16, mac: u64) {
        let matches = [u64::from(port), vlan.into(), mac].map(|value| MatchValue::Exact(value.into()));
        let _ = self.control[self.tables.sources].delete(&matches, 0);
    }

    /// Packets to a station leave by a port.
    pub(crate) fn put_station(&self, port: u32, vlan: u16, mac: u64, is_new: bool) -> Result<(), ControlError> {
        let matches = [u64::from(vlan), mac].map(|value| MatchValue::Exact(value.into())).to_vec();
        let entry = TableEntry { matches, priority: 0, action: call(self.actions.forward, [port.into()]) };
        let table = &self.control[self.tables.stations];
        if is_new { table.insert(entry) } else { table.modify(entry) }
    }

    pub(crate) fn delete_station(&self, vlan: u16, mac: u64) {
        let matches = [u64::from(vlan), mac].map(|value| MatchValue::Exact(value.into()));
        let _ = self.control[self.tables.stations].delete(&matches, 0);
    }

    /// Sets the ports that the bridge floods packets to.
    pub(crate) fn set_flood(&self, ports: &[u16]) -> Result<(), ControlError> {
        let replicas = ports.iter().map(|port| Replica { port: *port, rid: 0 }).collect();
        self.control.set_multicast_group(FLOOD_GROUP, Some(replicas))
    }
}
