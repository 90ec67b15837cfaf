//! What generated code accesses besides the packet: a block per worker, and the handles of tables and value sets.

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
    /// At least `CompiledPipeline::context_bytes` bytes, 16-byte aligned, owned by the worker. Holds the paused packet
    /// to resume, in the layout of [`crate::PauseLayout`].
    pub context: *mut u8,
    /// At least [`SCRATCH_BYTES`] bytes owned by the worker, through which headers that move are copied.
    pub scratch: *mut u8,
    /// The time in microseconds, for `ingress_global_timestamp` and similar fields of all packets of the batch.
    pub now_us: u64,
    /// Receives the state of a packet that pauses: [`crate::PauseLayout::words`] words. Must not overlap `context`.
    pub record: *mut u64,
    /// [`crate::ORIGINAL_BYTES`] bytes owned by the worker, which receive a packet's first bytes as it arrived.
    pub original: *mut u8,
    /// One handle per [`hopwright_ir::ValueSetId`].
    pub value_sets: *const ValueSetHandle,
    /// Receives digests. `method` is the index into [`crate::Interface::digests`]; the arguments are the receiver in
    /// one limb, then the limbs of the fields. `call` may be `None` if the program sends no digests.
    pub digests: ExternHandle,
    /// For path profilers only: receives the number of points that the packet passed, then up to [`MAX_PROFILE_POINTS`]
    /// point ids.
    pub profile: *mut u32,
    /// For traces only: incremented for each packet that takes a side exit.
    pub side_exits: *mut u64,
    /// For traces only: [`MAX_EXIT_SITES`] numbers. Each counts the packets that took a side exit at one place of the program.
    pub exit_sites: *mut u64,
    /// 512 times 8 numbers, by port and `priority`: the values of `enq_qdepth` and `deq_qdepth`, of at most 19 bits. As many follow: the
    /// values of `deq_timedelta`.
    pub depths: *const u32,
}

/// The size of [`Runtime::scratch`]: enough for the longest packet that a port receives and the headroom before it.
pub const SCRATCH_BYTES: usize = 1 << 14;

/// The maximum number of point ids that a path profiler records. On a longer path, each further point overwrites the
/// last id, which is thus that of the path's last point.
pub const MAX_PROFILE_POINTS: usize = 511;

/// The number of places of a program at which side exits are counted. The first stands for all other places.
pub const MAX_EXIT_SITES: usize = 1_024;

/// The handle of a value set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValueSetHandle {
    /// Returns 1 if the keys, given as consecutive limbs, are a member, otherwise 0.
    pub contains: unsafe extern "C" fn(state: *const c_void, keys: *const u64) -> u64,
    /// The first argument of `contains`.
    pub state: *const c_void,
}

/// The handle of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TableHandle {
    /// Finds the entry for a key in the layout of [`crate::KeyLayout`]. On a miss it returns the default entry (`hit` =
    /// 0), never null. The entry stays valid until the batch ends.
    pub lookup: unsafe extern "C" fn(state: *const c_void, key: *const u64) -> *const ActionEntry,
    /// The first argument of `lookup`.
    pub state: *const c_void,
    /// The address of the pointer to the default entry, which may change between batches.
    pub default: *const *const ActionEntry,
    /// If [`crate::direct_entries`] returns a number: an array of that many entry addresses, indexed by the key; the
    /// default entry's where there is no entry. If [`crate::prefix_bits`] is not `None`: the root of a
    /// [`crate::PrefixTree`].
    pub direct: *const *const ActionEntry,
    /// If [`crate::is_hashed`]: the address of the pointer to the table's [`crate::HashTable`], which may change at any
    /// time. Generated code reads it once per lookup. An entry found through it stays valid until the batch ends.
    pub hash: *const *const u64,
}
