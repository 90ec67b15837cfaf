//! What the runner needs of something that runs programs, and the interpreter as one.

use hopwright_interp::{CloneSession, Count, Digest, Interp, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{
    ActionCall, EntryTarget, ExternId, ExternKind, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId,
};
use num_bigint::BigUint;

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

/// Runs a program: packets and requests of the control plane. Errors are messages.
pub trait Engine {
    /// The program.
    fn pipeline(&self) -> &Pipeline;

    /// Processes a packet received on a port at a time in microseconds.
    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, String>;

    /// Adds an entry.
    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), String>;

    /// Changes the action of an entry.
    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), String>;

    /// Changes a default action.
    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), String>;

    /// Removes all entries of a table.
    fn clear(&mut self, table: TableId) -> Result<(), String>;

    /// Reads an indirect counter.
    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, String>;

    /// Writes an indirect counter.
    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), String>;

    /// Reads the direct counter of the entry with these matches and this priority.
    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, String>;

    /// Reads a register.
    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String>;

    /// Writes a register.
    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), String>;

    /// Adds an entry that leads to a member, group or set of actions.
    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), String>;

    /// Adds, changes or removes a member of an action profile; without an action it is removed.
    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), String>;

    /// Adds, changes or removes a group of an action selector.
    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), String>;

    /// Reads a meter's rates; `None` if it has none.
    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, String>;

    /// Sets a meter's rates.
    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), String>;

    /// Sets the rates of an entry's direct meter.
    fn set_direct_meter(&mut self, table: TableId, entry: &TableEntry, rates: Option<Rates>) -> Result<(), String>;

    /// Sets a key of an extern object that holds keys.
    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), String> {
        let _ = (slot, key);
        Err(format!("`{}` has no keys here", self.pipeline()[object].name))
    }

    /// Returns the index of an entry in a table with a cell for each entry.
    fn entry_index(&mut self, table: TableId, entry: &TableEntry) -> Result<u32, String> {
        let _ = entry;
        Err(format!("`{}` has no cells for entries here", self.pipeline()[table].name))
    }

    /// Gives a cell of a filter settings.
    fn set_filter(&mut self, filter: ExternId, index: u64, settings: &str) -> Result<(), String> {
        let _ = (index, settings);
        Err(format!("`{}` has no settings here", self.pipeline()[filter].name))
    }

    /// Sets or removes a clone session.
    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String>;

    /// Replaces a value set's members.
    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), String>;

    /// Sets a multicast group's copies.
    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), String>;
}

impl Engine for Interp {
    fn pipeline(&self) -> &Pipeline {
        self.pipeline()
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, String> {
        let output = self.process(packet, port, now_us);
        let fault = output.fault.map(|fault| {
            let location = self.pipeline().sources.location(fault.span);
            format!("{location}: {}", fault.message)
        });
        let sent = output.sent.into_iter().map(|s| (s.port, s.bytes)).collect();
        Ok(Processed { sent, fault, digests: output.digests })
    }

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), String> {
        let (matches, priority) = (entry.matches.clone(), entry.priority);
        self.store.insert(table, entry).map_err(|e| e.to_string())?;
        clear_filters(self, table, &matches, priority)
    }

    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), String> {
        self.store.modify(table, entry).map_err(|e| e.to_string())
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), String> {
        self.store.set_default(table, Some(action)).map_err(|e| e.to_string())
    }

    fn clear(&mut self, table: TableId) -> Result<(), String> {
        self.store.clear(table).map_err(|e| e.to_string())
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, String> {
        self.store.counter(counter, index).map_err(|e| e.to_string())
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), String> {
        self.store.set_counter(counter, index, value).map_err(|e| e.to_string())
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, String> {
        let same = |e: &TableEntry| e.matches == entry.matches && e.priority == entry.priority;
        let found = self.store.entries(table).find(|(e, _)| same(e));
        found.map(|(_, count)| count).ok_or_else(|| "the entry is gone".into())
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String> {
        self.store.register(register, index).map_err(|e| e.to_string())
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), String> {
        self.store.set_register(register, index, value).map_err(|e| e.to_string())
    }

    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), String> {
        let model = self.named_extern(object).map_err(|e| e.to_string())?;
        model.control(&format!("key/{slot}"), key)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), String> {
        self.store.insert_target(table, matches.clone(), priority, to).map_err(|e| e.to_string())?;
        clear_filters(self, table, &matches, priority)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), String> {
        let done = match (change, action) {
            (Change::Add, Some(action)) => self.store.insert_member(profile, member, action),
            (Change::Modify, Some(action)) => self.store.modify_member(profile, member, action),
            _ => self.store.delete_member(profile, member),
        };
        done.map_err(|e| e.to_string())
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), String> {
        let done = match change {
            Change::Add => self.store.insert_group(selector, group, to),
            Change::Modify => self.store.modify_group(selector, group, to),
            Change::Delete => self.store.delete_group(selector, group),
        };
        done.map_err(|e| e.to_string())
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, String> {
        self.store.meter(meter, index).map_err(|e| e.to_string())
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), String> {
        self.store.set_meter(meter, index, rates).map_err(|e| e.to_string())
    }

    fn set_direct_meter(&mut self, table: TableId, entry: &TableEntry, rates: Option<Rates>) -> Result<(), String> {
        self.store.set_direct_meter(table, &entry.matches, entry.priority, rates).map_err(|e| e.to_string())
    }

    fn entry_index(&mut self, table: TableId, entry: &TableEntry) -> Result<u32, String> {
        let index = self.store.entry_index(table, &entry.matches, entry.priority);
        index.ok_or_else(|| "the entry is gone".into())
    }

    fn set_filter(&mut self, filter: ExternId, index: u64, settings: &str) -> Result<(), String> {
        let model = self.named_extern(filter).map_err(|e| e.to_string())?;
        model.control(&format!("cell/{index}"), settings.as_bytes())
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String> {
        match to {
            Some(to) => self.store.traffic.sessions.insert(session, to),
            None => self.store.traffic.sessions.remove(&session),
        };
        Ok(())
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), String> {
        self.store.set_value_set(set, members).map_err(|e| e.to_string())
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), String> {
        self.store.traffic.groups.insert(group, replicas);
        Ok(())
    }
}

/// The filters of a new entry have no settings.
fn clear_filters(interp: &mut Interp, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), String> {
    let Some(index) = interp.store.entry_index(table, matches, priority) else { return Ok(()) };
    for object in interp.pipeline()[table].entry_cells.clone() {
        if let ExternKind::Named { .. } = interp.pipeline()[object].kind {
            interp.set_filter(object, index.into(), "")?;
        }
    }
    Ok(())
}
