//! How `hw_masked` has a ternary table of many entries: by mask, in the lanes of an exact-match engine.

use hopwright_ir::{Pipeline, TableId};

use crate::cost::Cost;
use crate::hir::LookupLayout;
use crate::map::{Memory, MemoryKind};
use crate::schedule::{Exact, exact, key_bits};
use crate::target::Target;

/// The masks that the entries of a table have at most.
pub(crate) const MASKS: u32 = 128;

/// The most entries of a table.
pub(crate) const MOST_ENTRIES: u64 = 1 << 20;

/// The fewest cycles between lookups: masks that a lane looks up.
pub(crate) const FEWEST_PASSES: u32 = 16;
/// The most masks that a lane looks up, so that there are at least two lanes.
const MOST_PASSES: u32 = MASKS / 2;

/// Bits of the priority of an entry.
pub(crate) const RANK_BITS: u32 = 32;

/// How many more bits than entries have numbers those numbers have that say which of two entries came first. They are given anew
/// when they are used up.
const SPARE_BITS: u32 = 4;

/// How `hw_masked` has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Masked {
    /// Lanes that look up masks at the same time.
    pub lanes: u32,
    /// Masks of a lane.
    pub passes: u32,
    /// Bits of the number that says which entry came first.
    sequence_bits: u32,
    /// Bits of the key.
    key: u32,
    /// Bits of the data.
    data: u32,
    /// The entries of a lane.
    exact: Exact,
}

impl Masked {
    /// That of a table.
    pub(crate) fn of_table(p: &Pipeline, table: TableId, target: &Target, gap: u32) -> Masked {
        let passes = 1 << gap.clamp(FEWEST_PASSES, MOST_PASSES).ilog2();
        let lanes = MASKS / passes;
        let (key, data) = (key_bits(p, table), LookupLayout::of(p, table).stored_bits());
        // A table with more entries is refused when the design is written.
        let size = p[table].size.min(MOST_ENTRIES);
        let sequence_bits = size.next_power_of_two().ilog2() + SPARE_BITS;
        let (tagged, stored) = (u64::from(passes.ilog2() + key), u64::from(RANK_BITS + sequence_bits + data));
        let exact = Exact::of(target, 1, tagged, stored, size.div_ceil(lanes.into()));
        Masked { lanes, passes, sequence_bits, key, data, exact }
    }

    /// Bits of what decides between entries.
    fn order_bits(&self) -> u32 {
        RANK_BITS + self.sequence_bits
    }

    /// The number of cycles of a lookup.
    pub(crate) fn latency(&self) -> u32 {
        13 + 2 * self.lanes.ilog2() + self.passes
    }

    /// The parameters of the module.
    pub(crate) fn parameters(&self) -> String {
        let Masked { lanes, passes, key, data, exact: Exact { buckets, slots, .. }, .. } = *self;
        format!(
            ".KEY_BITS({key}), .ORDER_BITS({}), .DATA_BITS({data}), .LANES({lanes}), .PASSES({passes}), .BUCKETS({buckets}), \
             .SLOTS({slots})",
            self.order_bits()
        )
    }

    /// The memory that a driver writes.
    pub(crate) fn memory(&self, name: String) -> Memory {
        let Masked { lanes, passes, sequence_bits, key, data, exact } = *self;
        let low_bits = exact.address_bits().max(passes.ilog2());
        Memory {
            name,
            kind: MemoryKind::Masked {
                lanes,
                passes,
                buckets: exact.buckets,
                slots: exact.slots,
                sequence_bits,
                hold: self.latency(),
            },
            addr_bits: 1 + lanes.ilog2() + low_bits,
            data_bits: 1 + passes.ilog2() + key + self.order_bits() + data,
            key_bits: key,
        }
    }

    /// What it takes.
    pub(crate) fn cost(&self, target: &Target) -> Cost {
        let (key, order, data) = (u64::from(self.key), u64::from(self.order_bits()), u64::from(self.data));
        let stored = order + data;
        let lane = exact(target, u64::from(self.passes.ilog2()) + key, stored, &self.exact).with(key, key);
        let mut cost = lane.times(self.lanes.into());
        cost += target.memory(key, self.passes.into()).times(self.lanes.into());
        // The key and its pass, a comparison and a choice for each pair of lanes, and the best so far.
        let choice = (order + stored, 3 * stored + 3);
        let nodes = u64::from(self.lanes - 1);
        cost.with(
            nodes * choice.0 + 2 * order,
            3 * key + nodes * choice.1 + order + 2 * data + u64::from(self.latency()),
        )
    }
}
