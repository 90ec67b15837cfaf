//! What generated code reaches besides the packet: one block per worker, and the handles of tables and value sets.

use std::ffi::c_void;

use crate::{ActionEntry, ExternHandle};

/// A worker's runtime block. The tables and externs it points to change only between batches.
#[repr(C)]
#[derive(Debug)]
pub struct Runtime {
    /// One handle per [`hopwright_ir::TableId`].
    pub tables: *const TableHandle,
    /// One handle per [`hopwright_ir::ExternId`].
    pub externs: *const ExternHandle,
    /// One handle per entry of [`crate::Interface::functions`].
    pub functions: *const ExternHandle,
    /// At least `CompiledPipeline::context_bytes` bytes, 16-aligned, owned by the worker: a paused packet to resume, laid
    /// out as [`crate::PauseLayout`] says.
    pub context: *mut u8,
    /// At least 9,216 bytes owned by the worker: headers that move are copied through it.
    pub scratch: *mut u8,
    /// Microseconds for `ingress_global_timestamp` and its like, for the whole batch.
    pub now_us: u64,
    /// Receives the state of a packet that pauses: [`crate::PauseLayout::words`] words. Distinct from `context`.
    pub record: *mut u64,
    /// [`crate::ORIGINAL_BYTES`] bytes owned by the worker: a packet's first bytes as they were received.
    pub original: *mut u8,
    /// One handle per [`hopwright_ir::ValueSetId`].
    pub value_sets: *const ValueSetHandle,
    /// Receives digests: `method` is the index into [`crate::Interface::digests`]; the arguments are the receiver in one
    /// limb, then the limbs of the fields. `call` may be `None` if the program sends no digests.
    pub digests: ExternHandle,
    /// Path profilers only: the number of points the packets passed, then room for [`MAX_PROFILE_POINTS`] point ids.
    pub profile: *mut u32,
    /// Traces only: incremented for each packet that takes a side exit.
    pub side_exits: *mut u64,
    /// 512 numbers by port: the values of `enq_qdepth` and `deq_qdepth`, at most 19 bits each.
    pub depths: *const u32,
}

/// Point ids that a path profiler records. On a longer path the last id is overwritten, so that it is that of the last
/// point.
pub const MAX_PROFILE_POINTS: usize = 511;

/// A value set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValueSetHandle {
    /// Returns 1 if the keys, given as consecutive limbs, are a member, else 0.
    pub contains: unsafe extern "C" fn(state: *const c_void, keys: *const u64) -> u64,
    /// First argument of `contains`.
    pub state: *const c_void,
}

/// A table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TableHandle {
    /// Finds the entry for a key laid out as [`crate::KeyLayout`] says. Never returns null: on a miss it returns the
    /// default entry (`hit` = 0). The entry stays valid until the batch ends.
    pub lookup: unsafe extern "C" fn(state: *const c_void, key: *const u64) -> *const ActionEntry,
    /// First argument of `lookup`.
    pub state: *const c_void,
    /// Points to the address of the default entry, which may change between batches.
    pub default: *const *const ActionEntry,
    /// If [`crate::direct_entries`] gives a number: that many entry addresses indexed by the key, with the default entry's
    /// where there is no entry. If [`crate::prefix_bits`] is not `None`: the root of a [`crate::PrefixTree`].
    pub direct: *const *const ActionEntry,
    /// If [`crate::is_hashed`]: points to the address of the table's [`crate::HashTable`], which may change at any time.
    /// Generated code reads it once per lookup; an entry found through it stays valid until the batch ends.
    pub hash: *const *const u64,
}
