//! State that outlives a packet, as the interpreter accesses it.

use num_bigint::BigUint;

use super::{CloneSession, Replica};
use hopwright_ir::meter::Color;
use hopwright_ir::profile::Profile;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, MatchValue, TableId, ValueSetId};

/// A table entry in a store.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// One per key.
    pub matches: &'a [MatchValue],
    /// The highest priority wins.
    pub priority: i32,
    /// Position in the order of insertion.
    pub sequence: u64,
    /// The action. In a table with an action profile, the first action of the entry's target at the time the entry was
    /// written.
    pub action: &'a ActionCall,
    /// The index of the entry, in tables with cells for entries.
    pub index: Option<u32>,
    /// The entry's target in the table's action profile.
    pub target: Option<&'a EntryTarget>,
}

/// Access to tables, extern objects and the traffic manager's groups, which packets read and write and the control
/// plane sets.
///
/// A store lists entries, but does not match them: the interpreter compares a packet's keys with all entries itself.
/// Objects and indices that do not exist are not errors: reads return `None` or nothing, writes have no effect. An
/// entry is identified by its match and priority.
pub trait Store: Send {
    /// Called when the processing of a packet begins.
    fn begin(&mut self) {}

    /// Calls `visit` for all entries of a table, in any order.
    fn visit_entries(&self, table: TableId, visit: &mut dyn FnMut(Entry<'_>));

    /// Returns the action that a miss runs.
    fn default_action(&self, table: TableId) -> ActionCall;

    /// Counts a packet in the direct counter of an entry.
    fn count_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64);

    /// Adds to the bytes in the direct counter of an entry. Wraps at 2^64.
    fn recount_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64);

    /// Runs the direct meter of an entry. Green if it has no rates.
    fn measure_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, now_us: u64, cost: u64) -> Color;

    /// Calls `visit` with the members and groups of an action profile.
    fn visit_profile(&self, profile: ExternId, visit: &mut dyn FnMut(&Profile));

    /// Calls `visit` for each member of a value set.
    fn visit_members(&self, set: ValueSetId, visit: &mut dyn FnMut(&[MatchValue]));

    /// Counts a packet in a cell of a counter.
    fn count(&mut self, counter: ExternId, index: u64, bytes: u64);

    /// Runs a meter. Green if it has no rates.
    fn measure(&mut self, meter: ExternId, index: u64, now_us: u64, cost: u64) -> Option<Color>;

    /// Reads a register.
    fn read_register(&self, register: ExternId, index: u64) -> Option<BigUint>;

    /// Writes a register.
    fn write_register(&mut self, register: ExternId, index: u64, value: BigUint);

    /// Returns the destinations of a clone session.
    fn clone_session(&self, session: u32) -> Option<CloneSession>;

    /// Returns the replicas of a multicast group.
    fn multicast_group(&self, group: u16) -> Vec<Replica>;
}
