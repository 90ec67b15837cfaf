//! What the runner needs of something that runs programs, and the interpreter as one.

use hopwright_interp::{CloneSession, Count, Digest, Interp, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{
    ActionCall, EntryTarget, ExternId, ExternKind, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId,
};
use num_bigint::BigUint;

use crate::EngineError;
use crate::script::Change;

/// What came of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processed {
    /// Port and whole packet, in order.
    pub sent: Vec<(u16, Vec<u8>)>,
    /// Why the packet or a copy of it was dropped, if that was a fault of the program.
    pub fault: Option<String>,
    /// Digests, in order.
    pub digests: Vec<Digest>,
}

/// Runs a program: packets and requests of the control plane.
pub trait Engine {
    /// The program.
    fn pipeline(&self) -> &Pipeline;

    /// Processes a packet received on a port at a time in microseconds.
    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, EngineError>;

    /// Adds an entry.
    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError>;

    /// Changes the action of an entry.
    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError>;

    /// Changes a default action.
    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), EngineError>;

    /// Removes all entries of a table.
    fn clear(&mut self, table: TableId) -> Result<(), EngineError>;

    /// Reads an indirect counter.
    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, EngineError>;

    /// Writes an indirect counter.
    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), EngineError>;

    /// Reads the direct counter of the entry with these matches and this priority.
    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, EngineError>;

    /// Reads a register.
    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, EngineError>;

    /// Writes a register.
    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), EngineError>;

    /// Adds an entry that leads to a member, group or set of actions.
    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), EngineError>;

    /// Adds, changes or removes a member of an action profile; without an action it is removed.
    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), EngineError>;

    /// Adds, changes or removes a group of an action selector.
    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), EngineError>;

    /// Reads a meter's rates; `None` if it has none.
    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, EngineError>;

    /// Sets a meter's rates.
    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), EngineError>;

    /// Sets the rates of an entry's direct meter.
    fn set_direct_meter(&mut self, table: TableId, entry: &TableEntry, rates: Option<Rates>)
    -> Result<(), EngineError>;

    /// Sets a key of an extern object that holds keys.
    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), EngineError> {
        let _ = (slot, key);
        Err(EngineError::Lacks { name: self.pipeline()[object].name.clone(), what: "keys" })
    }

    /// Returns the index of an entry in a table with a cell for each entry.
    fn entry_index(&mut self, table: TableId, entry: &TableEntry) -> Result<u32, EngineError> {
        let _ = entry;
        Err(EngineError::Lacks { name: self.pipeline()[table].name.clone(), what: "cells for entries" })
    }

    /// Gives a cell of a filter settings.
    fn set_filter(&mut self, filter: ExternId, index: u64, settings: &str) -> Result<(), EngineError> {
        let _ = (index, settings);
        Err(EngineError::Lacks { name: self.pipeline()[filter].name.clone(), what: "settings" })
    }

    /// Sets or removes a clone session.
    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), EngineError>;

    /// Replaces a value set's members.
    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), EngineError>;

    /// Sets a multicast group's copies.
    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), EngineError>;
}

impl Engine for Interp {
    fn pipeline(&self) -> &Pipeline {
        self.pipeline()
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, EngineError> {
        let output = self.process(packet, port, now_us);
        let fault = output.fault.map(|fault| {
            let location = self.pipeline().sources.location(fault.span);
            format!("{location}: {}", fault.message)
        });
        let sent = output.sent.into_iter().map(|s| (s.port, s.bytes)).collect();
        Ok(Processed { sent, fault, digests: output.digests })
    }

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        let (matches, priority) = (entry.matches.clone(), entry.priority);
        self.store.insert(table, entry)?;
        clear_filters(self, table, &matches, priority)
    }

    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        Ok(self.store.modify(table, entry)?)
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), EngineError> {
        Ok(self.store.set_default(table, Some(action))?)
    }

    fn clear(&mut self, table: TableId) -> Result<(), EngineError> {
        Ok(self.store.clear(table)?)
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, EngineError> {
        Ok(self.store.counter(counter, index)?)
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), EngineError> {
        Ok(self.store.set_counter(counter, index, value)?)
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, EngineError> {
        let same = |e: &TableEntry| e.matches == entry.matches && e.priority == entry.priority;
        let found = self.store.entries(table).find(|(e, _)| same(e));
        found.map(|(_, count)| count).ok_or(EngineError::NoEntry)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, EngineError> {
        Ok(self.store.register(register, index)?)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), EngineError> {
        Ok(self.store.set_register(register, index, value)?)
    }

    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), EngineError> {
        let model = self.named_extern(object)?;
        Ok(model.control(&format!("key/{slot}"), key)?)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), EngineError> {
        self.store.insert_target(table, matches.clone(), priority, to)?;
        clear_filters(self, table, &matches, priority)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), EngineError> {
        let done = match (change, action) {
            (Change::Add, Some(action)) => self.store.insert_member(profile, member, action),
            (Change::Modify, Some(action)) => self.store.modify_member(profile, member, action),
            _ => self.store.delete_member(profile, member),
        };
        Ok(done?)
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), EngineError> {
        let done = match change {
            Change::Add => self.store.insert_group(selector, group, to),
            Change::Modify => self.store.modify_group(selector, group, to),
            Change::Delete => self.store.delete_group(selector, group),
        };
        Ok(done?)
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, EngineError> {
        Ok(self.store.meter(meter, index)?)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), EngineError> {
        Ok(self.store.set_meter(meter, index, rates)?)
    }

    fn set_direct_meter(
        &mut self,
        table: TableId,
        entry: &TableEntry,
        rates: Option<Rates>,
    ) -> Result<(), EngineError> {
        Ok(self.store.set_direct_meter(table, &entry.matches, entry.priority, rates)?)
    }

    fn entry_index(&mut self, table: TableId, entry: &TableEntry) -> Result<u32, EngineError> {
        let index = self.store.entry_index(table, &entry.matches, entry.priority);
        index.ok_or(EngineError::NoEntry)
    }

    fn set_filter(&mut self, filter: ExternId, index: u64, settings: &str) -> Result<(), EngineError> {
        let model = self.named_extern(filter)?;
        Ok(model.control(&format!("cell/{index}"), settings.as_bytes())?)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), EngineError> {
        match to {
            Some(to) => self.store.traffic.sessions.insert(session, to),
            None => self.store.traffic.sessions.remove(&session),
        };
        Ok(())
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), EngineError> {
        Ok(self.store.set_value_set(set, members)?)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), EngineError> {
        self.store.traffic.groups.insert(group, replicas);
        Ok(())
    }
}

/// The filters of a new entry have no settings.
fn clear_filters(
    interp: &mut Interp,
    table: TableId,
    matches: &[MatchValue],
    priority: i32,
) -> Result<(), EngineError> {
    let Some(index) = interp.store.entry_index(table, matches, priority) else { return Ok(()) };
    for object in interp.pipeline()[table].entry_cells.clone() {
        if let ExternKind::Named { .. } = interp.pipeline()[object].kind {
            interp.set_filter(object, index.into(), "")?;
        }
    }
    Ok(())
}
