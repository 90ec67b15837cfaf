//! The binary interface between generated code and the data plane.
//!
//! Generated code and the data plane share memory rather than Rust types: `repr(C)` structs, function pointers, and
//! layouts that both sides compute from the pipeline. This crate is the only definition of each:
//!
//! - packet descriptors, verdicts and the function type of generated code ([`Packet`], [`Verdict`], [`RunBatch`]);
//! - everything else that generated code accesses ([`Runtime`] and the handles in it);
//! - table entries ([`ActionEntry`], [`DataLayout`]), keys ([`KeyLayout`]) and the lookup structures that generated
//!   code searches directly ([`direct_entries`], [`HashTable`], [`PrefixTree`]);
//! - calls of externs ([`ExternHandle`], [`BlockMethod`], [`Interface`]);
//! - packets that pause for the traffic manager ([`Pause`], [`PauseLayout`]).
//!
//! Values wider than 8 bytes are little-endian sequences of 64-bit *limbs*: a value of width W takes ⌈W/64⌉ limbs, and the
//! unused high bits are zero.

mod entry;
mod entry_data;
mod externs;
mod index;
mod key;
mod limbs;
mod packet;
mod pause;
mod runtime;

pub use entry::{
    ActionEntry, CounterCell, MEMBER_LEAD_WORDS, NO_ENTRY_INDEX, index_word, lead_words, least_data_words, meter_word,
};
pub use entry_data::{ArgumentPlace, DataLayout, data_words};
pub use externs::{
    Block, BlockMethod, DigestCall, Direction, ExternAttributes, ExternHandle, Interface, METER_COLOR, METER_EXECUTE,
    NO_METER, NamedCall,
};
pub use hopwright_ir::analysis::suspension_points::{decode_list, encode_list};
pub use index::{HashTable, PrefixTree, direct_entries, is_hashed, prefix_bits};
pub use key::{KeyField, KeyLayout, KeyRun};
pub use limbs::{from_limbs, limbs_of, push_limbs};
pub use packet::{Packet, RunBatch, Verdict};
pub use pause::{HeaderPlace, ORIGINAL_BYTES, Pause, PauseLayout};
pub use runtime::{MAX_EXIT_SITES, MAX_PROFILE_POINTS, Runtime, SCRATCH_BYTES, TableHandle, ValueSetHandle};
