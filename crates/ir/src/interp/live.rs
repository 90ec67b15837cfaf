//! An interpreter that follows a switch which runs elsewhere, to show what it does to its packets. Does not live here:
//! that switch.

use num_bigint::BigUint;

use super::Value;
use crate::model::{ActionCall, ExternId, TableEntry, TableId};

/// The state of another switch: what the interpreter looks up it finds there; what it writes the other must not see.
pub trait LiveState: Send {
    /// A packet begins: what the last one wrote here is forgotten.
    fn begin(&mut self);

    /// The entry that a packet with these key values hits, and what to run.
    fn find(&mut self, table: TableId, keys: &[Value]) -> (Option<TableEntry>, ActionCall);

    /// A register, as it is or as it was written here. `None` if there is no such cell.
    fn register(&mut self, register: ExternId, index: u64) -> Option<BigUint>;

    /// Writes a register for the packet that is being followed.
    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint);
}
