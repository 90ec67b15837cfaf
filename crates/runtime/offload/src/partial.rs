//! A chip that runs part of a program, with the whole program in software for the packets of the other part.
//!
//! The control plane sees the whole program. What it changes is changed in software and, where the chip has the table or the object,
//! there. A counter is the sum of both. Packets that the chip leaves to software are processed there as they were received; the control
//! plane does not see them.

use std::ops::Range;
use std::sync::Arc;

use hopwright_dataplane::offload::{DeviceFault, Forwarded, Offload};
use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{Control, ControlError, Count, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_interp::{CloneSession, Digest, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{
    ActionCall, EntryTarget, ExternId, MatchValue, Param, Pipeline, TableEntry, TableId, ValueSetId, WeightedAction,
};
use num_bigint::BigUint;

/// Whether what a chip has sent means that it leaves the packet to software.
pub type LeftOut = fn(&Forwarded) -> bool;

/// Packets that software takes at a time.
const BATCH: usize = 64;

/// A chip with part of a program, and software with all of it.
pub struct PartialDesign {
    whole: Arc<Pipeline>,
    part: Arc<Pipeline>,
    chip: Box<dyn Offload>,
    software: Executor,
    pool: Pool,
    left_out: LeftOut,
    /// The chip's tables, objects and value sets by number in the whole program.
    tables: Vec<Option<TableId>>,
    objects: Vec<Option<ExternId>>,
    value_sets: Vec<Option<ValueSetId>>,
}

impl PartialDesign {
    /// Puts a chip that runs `part` and software that runs the whole program together. Both are as they start.
    ///
    /// # Errors
    /// There is no memory for packets.
    pub fn new(
        part: Arc<Pipeline>,
        chip: Box<dyn Offload>,
        software: Arc<VirtualDataPlane>,
        left_out: LeftOut,
    ) -> Result<PartialDesign, PoolError> {
        let whole = software.control().pipeline().clone();
        let tables = whole.tables.iter().map(|table| part.table_by_name(&table.name)).collect();
        let objects = whole.externs.iter().map(|object| part.extern_by_name(&object.name)).collect();
        let same_set = |name: &str| part.value_sets.iter().position(|set| set.name == *name);
        let value_sets =
            whole.value_sets.iter().map(|set| same_set(&set.name).map(|at| ValueSetId(at as u32))).collect();
        let pool = Pool::new(BATCH as u32, FrameSize::JUMBO.with_headroom(software.headroom()))?;
        let software = Executor::new(software);
        Ok(PartialDesign { whole, part, chip, software, pool, left_out, tables, objects, value_sets })
    }

    fn control(&self) -> &Control {
        self.software.vdp().control()
    }

    /// An action of the whole program as the chip has it, maybe with fewer parameters.
    fn on_chip(&self, action: &ActionCall) -> Result<ActionCall, DeviceFault> {
        let whole = &self.whole[action.action];
        let name = &whole.name;
        let found = self
            .part
            .action_by_name(name)
            .ok_or_else(|| DeviceFault::Refused(format!("the chip has no action `{name}`")))?;
        let argument = |param: &Param| {
            let at = whole.params.iter().position(|p| p.name == param.name)?;
            action.args.get(at).cloned()
        };
        let args: Option<Vec<_>> = self.part[found].params.iter().map(argument).collect();
        let args =
            args.ok_or_else(|| DeviceFault::Refused(format!("action `{name}` of the chip has other parameters")))?;
        Ok(ActionCall { action: found, args })
    }

    /// Adds an entry to a table of the chip, or changes its action.
    fn put_on_chip(&mut self, table: TableId, on_chip: TableId, entry: &TableEntry) -> Result<(), DeviceFault> {
        let here = &self.control()[table];
        let size = self.part[on_chip].size;
        if here.get(&entry.matches, entry.priority).is_none() && here.len() as u64 >= size {
            return Err(DeviceFault::Refused(format!(
                "the chip has room for {size} entries, and the configuration needs more"
            )));
        }
        let entry = TableEntry { action: self.on_chip(&entry.action)?, ..entry.clone() };
        self.chip.put(on_chip, &entry)
    }

    /// Lets software process what the chip has left to it, as if it had received it.
    fn complete(&mut self, left: &[(u32, &[u8])], now_us: u64) -> Vec<Option<Forwarded>> {
        let mut done = Vec::with_capacity(left.len());
        for batch in left.chunks(BATCH) {
            let filled = batch.iter().map(|(port, bytes)| {
                let mut packet = self.pool.take_filled(bytes)?;
                packet.set_ingress_port(*port);
                Some(packet)
            });
            let (mut packets, taken): (Vec<_>, Vec<bool>) = filled.fold((Vec::new(), Vec::new()), |mut all, packet| {
                all.1.push(packet.is_some());
                all.0.extend(packet);
                all
            });
            self.software.process_batch(&mut packets, now_us);
            let mut packets = packets.into_iter();
            for taken in taken {
                // What is too long for software is dropped.
                let Some(packet) = taken.then(|| packets.next()).flatten() else {
                    done.push(None);
                    continue;
                };
                let sent = packet.verdict() == Verdict::Forward;
                done.push(sent.then(|| Forwarded { port: packet.egress_port(), bytes: packet.bytes().to_vec() }));
                self.pool.give(packet);
            }
        }
        done
    }
}

impl Offload for PartialDesign {
    fn put(&mut self, table: TableId, entry: &TableEntry) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.tables[table.index()] {
            self.put_on_chip(table, on_chip, entry)?;
        }
        let here = &self.control()[table];
        // Software has its constant entries from the start, and refuses them.
        if here.get(&entry.matches, entry.priority).as_ref() == Some(&entry.action) {
            return Ok(());
        }
        match here.insert(entry.clone()) {
            Err(ControlError::Duplicate(_)) => here.modify(entry.clone()).map_err(DeviceFault::refused),
            other => other.map_err(DeviceFault::refused),
        }
    }

    fn choose(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        actions: &[WeightedAction],
    ) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.tables[table.index()] {
            let action = |a: &WeightedAction| Ok(WeightedAction { action: self.on_chip(&a.action)?, weight: a.weight });
            let actions = actions.iter().map(action).collect::<Result<Vec<_>, DeviceFault>>()?;
            self.chip.choose(on_chip, matches, priority, &actions)?;
        }
        let (here, set) = (&self.control()[table], EntryTarget::Set(actions.to_vec()));
        match here.insert_target(matches.to_vec(), priority, set.clone()) {
            Err(ControlError::Duplicate(_)) => {
                here.modify_target(matches.to_vec(), priority, set).map_err(DeviceFault::refused)
            }
            other => other.map_err(DeviceFault::refused),
        }
    }

    fn delete(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.tables[table.index()] {
            self.chip.delete(on_chip, matches, priority)?;
        }
        self.control()[table].delete(matches, priority).map_err(DeviceFault::refused)
    }

    fn clear(&mut self, table: TableId) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.tables[table.index()] {
            self.chip.clear(on_chip)?;
        }
        self.control()[table].clear().map_err(DeviceFault::refused)
    }

    fn set_default(&mut self, table: TableId, action: &ActionCall) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.tables[table.index()] {
            let action = self.on_chip(action)?;
            self.chip.set_default(on_chip, &action)?;
        }
        let here = &self.control()[table];
        // As it refuses a change of a constant default action.
        if here.default_action() == *action {
            Ok(())
        } else {
            here.set_default(Some(action.clone())).map_err(DeviceFault::refused)
        }
    }

    fn set_key(&mut self, object: ExternId, index: u64, key: Option<&[u8; 16]>) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.objects[object.index()] {
            self.chip.set_key(on_chip, index, key)?;
        }
        let keys = self.control().key_table(object).map_err(DeviceFault::refused)?;
        match key {
            Some(key) => keys.set_key(index, key),
            None => keys.clear_key(index),
        }
        .map_err(DeviceFault::refused)
    }

    fn counts(&mut self, counter: ExternId, cells: Range<u64>) -> Result<Vec<Count>, DeviceFault> {
        let mut counts = self.control().counter(counter).map_err(DeviceFault::refused)?.read_range(cells.clone());
        if let Some(on_chip) = self.objects[counter.index()] {
            for (here, there) in counts.iter_mut().zip(self.chip.counts(on_chip, cells)?) {
                here.packets += there.packets;
                here.bytes += there.bytes;
            }
        }
        Ok(counts)
    }

    fn set_count(&mut self, counter: ExternId, index: u64, count: Count) -> Result<(), DeviceFault> {
        let here = match self.objects[counter.index()] {
            Some(on_chip) => {
                self.chip.set_count(on_chip, index, count)?;
                Count::default()
            }
            None => count,
        };
        self.control().counter(counter).and_then(|cells| cells.write(index, here)).map_err(DeviceFault::refused)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, DeviceFault> {
        match self.objects[register.index()] {
            Some(on_chip) => self.chip.register(on_chip, index),
            None => {
                self.control().register(register).and_then(|values| values.read(index)).map_err(DeviceFault::refused)
            }
        }
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: &BigUint) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.objects[register.index()] {
            self.chip.set_register(on_chip, index, value)?;
        }
        self.control()
            .register(register)
            .and_then(|values| values.write(index, value.clone()))
            .map_err(DeviceFault::refused)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.objects[meter.index()] {
            self.chip.set_meter(on_chip, index, rates)?;
        }
        self.control().meter(meter).and_then(|meters| meters.set_rates(index, rates)).map_err(DeviceFault::refused)
    }

    fn direct_count(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<Count, DeviceFault> {
        let mut count = self.control()[table].direct_count(matches, priority).map_err(DeviceFault::refused)?;
        if let Some(on_chip) = self.tables[table.index()] {
            let there = self.chip.direct_count(on_chip, matches, priority)?;
            count.packets += there.packets;
            count.bytes += there.bytes;
        }
        Ok(count)
    }

    fn set_direct_count(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        count: Count,
    ) -> Result<(), DeviceFault> {
        let here = match self.tables[table.index()] {
            Some(on_chip) => {
                self.chip.set_direct_count(on_chip, matches, priority, count)?;
                Count::default()
            }
            None => count,
        };
        self.control()[table].set_direct_count(matches, priority, here).map_err(DeviceFault::refused)
    }

    fn set_direct_meter(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.tables[table.index()] {
            self.chip.set_direct_meter(on_chip, matches, priority, rates)?;
        }
        self.control()[table].set_direct_meter(matches, priority, rates).map_err(DeviceFault::refused)
    }

    fn set_members(&mut self, set: ValueSetId, members: &[Vec<MatchValue>]) -> Result<(), DeviceFault> {
        if let Some(on_chip) = self.value_sets[set.index()] {
            self.chip.set_members(on_chip, members)?;
        }
        self.control().value_set(set).and_then(|here| here.replace(members.to_vec())).map_err(DeviceFault::refused)
    }

    fn settle(&mut self) -> Result<(), DeviceFault> {
        self.chip.settle()
    }

    fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), DeviceFault> {
        self.chip.set_multicast_group(group, replicas)?;
        self.control().set_multicast_group(group, Some(replicas.to_vec())).map_err(DeviceFault::refused)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), DeviceFault> {
        self.chip.set_clone_session(session, to)?;
        self.control().set_clone_session(session, to).map_err(DeviceFault::refused)
    }

    fn digests(&mut self) -> Result<Vec<Digest>, DeviceFault> {
        self.chip.digests()
    }

    fn process(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> Result<Vec<Vec<Forwarded>>, DeviceFault> {
        let mut results = self.chip.process(packets, now_us)?;
        let mut places = Vec::new();
        for (at, copies) in results.iter_mut().enumerate() {
            let all = copies.len();
            copies.retain(|copy| !(self.left_out)(copy));
            if copies.len() < all {
                places.push(at);
            }
        }
        let left: Vec<_> = places.iter().map(|at| packets[*at]).collect();
        for (at, result) in places.into_iter().zip(self.complete(&left, now_us)) {
            results[at].extend(result);
        }
        Ok(results)
    }
}

impl std::fmt::Debug for PartialDesign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartialDesign").field("program", &self.whole.name).finish_non_exhaustive()
    }
}
