//! The binary interface between generated code and the data plane: plain `repr(C)` blocks and function pointers.
//!
//! Values wider than 8 bytes are little-endian sequences of 64-bit *limbs*; a value of width W takes ⌈W/64⌉ limbs,
//! unused high bits zero. Does not live here: what implements the pointers (the data plane) or emits the accesses
//! (code generation).

use std::ffi::c_void;

use crate::entry::data_words;
pub use crate::lookup::direct_entries;

/// A packet as generated code sees it: `buffer[start..end]` are its bytes; headers may grow into the headroom before
/// `start`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// First byte of the buffer.
    pub buffer: *mut u8,
    /// Bytes the buffer has.
    pub capacity: u32,
    /// Offset of the packet's first byte. Written by generated code when the deparsed packet starts elsewhere.
    pub start: u32,
    /// Offset one past the packet's last byte.
    pub end: u32,
    /// v1model `ingress_port`.
    pub ingress_port: u32,
    /// Out: v1model `egress_port` if the verdict is [`Verdict::Forward`].
    pub egress_port: u32,
    /// Out: a [`Verdict`].
    pub verdict: u32,
    /// Out: the `parser_error` the packet ended parsing with (0 = NoError).
    pub parser_error: u32,
    /// Zero.
    pub reserved: u32,
}

/// What becomes of a packet.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send `buffer[start..end]` to `egress_port`.
    Forward = 0,
    /// The program dropped it.
    Drop = 1,
    /// The deparsed headers do not fit the headroom: dropped.
    NoHeadroom = 2,
    /// The program looped beyond the bound, failed an assertion or the like: dropped.
    Fault = 3,
}

/// What generated code reaches besides the packet. One per worker; the tables and externs it points to change only
/// between batches.
#[repr(C)]
#[derive(Debug)]
pub struct Runtime {
    /// One handle per [`hopwright_ir::TableId`].
    pub tables: *const TableHandle,
    /// One handle per [`hopwright_ir::ExternId`].
    pub externs: *const ExternHandle,
    /// One handle per entry of `CompiledPipeline::functions` (free extern functions the program names).
    pub functions: *const ExternHandle,
    /// At least `CompiledPipeline::context_bytes` bytes, 16-aligned, owned by the worker: spilled packet state.
    pub context: *mut u8,
    /// At least 9,216 bytes owned by the worker: headers that move are copied through it.
    pub scratch: *mut u8,
    /// Microseconds for `ingress_global_timestamp` and its like, for the whole batch.
    pub now_us: u64,
    /// Where a packet that pauses is written down: as many words as [`crate::Record::words`]. Not `context`.
    pub record: *mut u64,
    /// [`crate::ORIGINAL_BYTES`] bytes owned by the worker: a packet's beginning as it was received.
    pub original: *mut u8,
    /// One handle per [`hopwright_ir::ValueSetId`].
    pub value_sets: *const ValueSetHandle,
    /// Takes digests: `method` is the index into [`crate::Interface::digests`], the arguments are the receiver in one
    /// limb and the fields in theirs. May be without `call` if the program sends none.
    pub digests: ExternHandle,
    /// For a recorder only: the number of points that the packets passed, and [`WAY_POINTS`] more words for the points.
    pub way: *mut u32,
    /// For hot paths only: counts the packets that left them.
    pub left: *mut u64,
    /// 512 numbers, by port: what `enq_qdepth` and `deq_qdepth` say, of 19 bits at most.
    pub depths: *const u32,
}

/// Points of a way that a recorder writes down: of longer ways, the last point is the last of these.
pub const WAY_POINTS: usize = 511;

/// A value set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValueSetHandle {
    /// 1 if the keys, one after the other in their limbs, are a member, else 0.
    pub contains: unsafe extern "C" fn(state: *const c_void, keys: *const u64) -> u64,
    /// First argument of `contains`.
    pub state: *const c_void,
}

/// Why generated code returned before the end of a batch; the `verdict` of the last packet it ran. What was asked for
/// is in the record.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Ingress ended with a request of any kind or a multicast group.
    Ingress = 16,
    /// Egress ended with a request for a clone.
    Egress = 17,
    /// The packet is ready to be sent to `egress_port`, but is to be cut or comes again.
    Sent = 18,
    /// Parsed, and that was all.
    Parsed = 19,
}

impl Pause {
    /// The pause that a packet's verdict says.
    pub fn of(verdict: u32) -> Option<Pause> {
        [Pause::Ingress, Pause::Egress, Pause::Sent, Pause::Parsed].into_iter().find(|p| *p as u32 == verdict)
    }
}

/// The upper half of a request's slot: the field list to keep, and that there is a request. The lower half is the
/// session of a clone.
pub(crate) fn encode_list(list: Option<u8>) -> u32 {
    1 << 16 | list.map_or(0, |l| 1 << 8 | u32::from(l))
}

/// The field list that a request names, from the half that says so.
pub fn decode_list(half: u32) -> Option<u8> {
    (half & 1 << 8 != 0).then_some(half as u8)
}

/// A table's lookup.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TableHandle {
    /// Finds the entry for a key, whose words [`crate::lookup::KeyLayout`] says. Never null: on a miss the default
    /// entry (`hit` = 0). The entry stays valid until the batch ends.
    pub lookup: unsafe extern "C" fn(state: *const c_void, key: *const u64) -> *const ActionEntry,
    /// First argument of `lookup`.
    pub state: *const c_void,
    /// Where the address of its default entry is, which may change between batches.
    pub default: *const *const ActionEntry,
    /// For a table for which [`direct_entries`] gives a number: so many addresses of entries by key, that of the default
    /// entry where there is none. For one that is a [`crate::lookup::PrefixTree`]: the root.
    pub direct: *const *const ActionEntry,
    /// If [`crate::lookup::is_hashed`]: where the address of its [`crate::lookup::HashTable`] is, which may be another one
    /// at any time. It is read once for a lookup; what was found by it stays valid until the batch ends.
    pub hash: *const *const u64,
}

/// Words of every entry of a table, its default entry included, between the header and the action's data: with an action
/// profile two, the address of a choice (zero in the default entry) and that of the direct meter; with a direct meter
/// only its address (zero in the default entry). The entries of a profile's members have [`MEMBER_LEAD_WORDS`].
pub fn lead_words(table: &hopwright_ir::Table) -> usize {
    match (table.implementation, table.direct_meter) {
        (Some(_), _) => MEMBER_LEAD_WORDS,
        (None, Some(_)) => 1,
        (None, None) => 0,
    }
}

/// Words behind the header that every entry of a table has at least, so that generated code may read them before it
/// knows the action: all that any of its actions needs in a table whose entries it finds by the key alone, in others one
/// if there are any.
pub fn least_data_words(pipeline: &hopwright_ir::Pipeline, table: hopwright_ir::TableId) -> usize {
    let table = &pipeline[table];
    let actions = table.actions.iter().map(|a| a.action).chain([table.default_action.action]);
    let most = lead_words(table) + actions.map(|a| data_words(&pipeline[a])).max().unwrap_or(0);
    if table.keys.is_empty() || direct_entries(table).is_some() { most } else { most.min(1) }
}

/// Words between the header and the action's data in the entry of a member.
pub const MEMBER_LEAD_WORDS: usize = 2;

/// What a meter says whose index is beyond the size.
pub const NO_METER: u64 = u64::MAX;

/// The header of an action entry; words follow: those of [`lead_words`], then the data ([`crate::entry`]). What is asked
/// of many packets is beside the data.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct ActionEntry {
    /// Direct counter of this worker for this entry, or null.
    pub counter: *mut CounterCell,
    /// 1 for an entry, 0 for the default action.
    pub hit: u32,
    /// The [`hopwright_ir::ActionId`] to run.
    pub action: u32,
}

/// A counter cell. Written by one worker only; readers sum over workers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterCell {
    /// Packets.
    pub packets: u64,
    /// Bytes (of the packet as received).
    pub bytes: u64,
}

/// An extern object or function.
///
/// Counters: `state` points to `size` [`CounterCell`]s and generated code counts itself. Registers: `state` points to
/// `size` values of their limbs and generated code reads and writes itself. Named externs: `call` is used. So it is, with
/// method 0, for
/// - action profiles and selectors: the choice's address ([`lead_words`]) and the hash in, the address of the chosen
///   member's entry in the first word out, zero if there is none;
/// - meters: index, microseconds and bytes in, the colour in the first word out, [`NO_METER`] beyond the size;
/// - direct meters: the meter's address or zero, microseconds and bytes in, the colour in the first word out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExternHandle {
    /// First argument of `call`, or the cells.
    pub state: *mut c_void,
    /// Number of cells for counters and registers.
    pub size: u64,
    /// For named externs with one method, or free functions: `args` are all arguments' limbs in order of the
    /// parameters; in-arguments are filled before the call, out-arguments read after it. Methods are told apart by
    /// `method`, the index in the order [`crate::CompiledPipeline`] reports.
    pub call: Option<unsafe extern "C" fn(state: *mut c_void, method: u32, args: *mut u64)>,
}

/// A value of 128 bits as packets have it, most significant byte first: two words as they lie in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The first eight bytes.
    pub first: u64,
    /// The others.
    pub second: u64,
}

/// The method of a named extern, if it takes a number of at most 64 bits and a block and gives a block: the same as
/// [`ExternHandle::call`], with a step that is done once a batch for a number, and blocks in registers.
#[derive(Clone, Copy, Debug)]
pub struct BlockMethod {
    /// From [`ExternHandle::state`] and the number, what `run` wants until the batch is done.
    pub prepare: unsafe extern "C" fn(state: *mut c_void, number: u64) -> *const c_void,
    /// From that and a block's words, the result.
    pub run: unsafe extern "C" fn(prepared: *const c_void, first: u64, second: u64) -> Block,
    /// The same for so many blocks, 16-aligned, which become the results.
    pub run_all: unsafe extern "C" fn(prepared: *const c_void, blocks: *mut Block, count: usize),
}

/// Generated code: runs `count` packets through parser, ingress, egress and deparser. Gives null when all are done, else
/// the address of the packet behind the last it ran, which paused: see [`Pause`].
pub type RunBatch = unsafe extern "C" fn(runtime: *const Runtime, packets: *mut Packet, count: usize) -> *mut Packet;
