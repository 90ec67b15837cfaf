//! What outlives a packet, as the interpreter sees it.

use num_bigint::BigUint;

use super::{CloneSession, Replica};
use crate::meter::Color;
use crate::model::{ActionCall, EntryTarget, ExternId, MatchValue, TableId, ValueSetId};
use crate::profile::Profile;

/// A table entry in a store.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// One per key.
    pub matches: &'a [MatchValue],
    /// Higher wins.
    pub priority: i32,
    /// Position in the order of insertion.
    pub sequence: u64,
    /// The action; in a table with an action profile the first one that the entry led to when it was written.
    pub action: &'a ActionCall,
    /// In a table with an action profile: what the entry leads to.
    pub target: Option<&'a EntryTarget>,
}

/// Tables, extern objects and the traffic manager's groups: what packets read and write and the control plane sets.
///
/// A store lists and counts. It does not match: the interpreter finds the entry that a packet hits itself, by looking at
/// all of them. Objects and indices that do not exist are no error: reads give `None` or nothing, writes have no effect.
/// An entry is named by its matches and priority.
pub trait Store: Send {
    /// A packet begins.
    fn begin(&mut self) {}

    /// Shows all entries of a table, in any order.
    fn visit_entries(&self, table: TableId, visit: &mut dyn FnMut(Entry<'_>));

    /// What a miss runs.
    fn default_action(&self, table: TableId) -> ActionCall;

    /// Counts a packet in the direct counter of an entry.
    fn count_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64);

    /// Measures a packet with the direct meter of an entry; green if it has no rates.
    fn measure_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, now_us: u64, cost: u64) -> Color;

    /// Shows the members and groups of an action profile.
    fn visit_profile(&self, profile: ExternId, visit: &mut dyn FnMut(&Profile));

    /// Shows all members of a value set.
    fn visit_members(&self, set: ValueSetId, visit: &mut dyn FnMut(&[MatchValue]));

    /// Counts a packet in a cell of a counter.
    fn count(&mut self, counter: ExternId, index: u64, bytes: u64);

    /// Measures a packet with a meter; green if it has no rates.
    fn measure(&mut self, meter: ExternId, index: u64, now_us: u64, cost: u64) -> Option<Color>;

    /// Reads a register.
    fn read_register(&self, register: ExternId, index: u64) -> Option<BigUint>;

    /// Writes a register.
    fn write_register(&mut self, register: ExternId, index: u64, value: BigUint);

    /// Where the copies of a clone session go.
    fn clone_session(&self, session: u32) -> Option<CloneSession>;

    /// The copies of a multicast group.
    fn multicast_group(&self, group: u16) -> Vec<Replica>;
}
