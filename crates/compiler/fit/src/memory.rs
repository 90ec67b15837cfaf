//! Memory and crossbars that tables and extern objects take.

use std::collections::BTreeMap;

use hopwright_ir::{Action, ExternArg, ExternId, ExternKind, MatchForm, Pipeline, StmtKind, TableId, Unit, walk};
use num_traits::ToPrimitive;

use crate::pragmas::Pragmas;
use crate::resources::Resources;
use crate::target::Target;

/// A table, as its memory sees it.
pub(crate) struct TableShape<'a> {
    target: &'a Target,
    /// Entries that it is to hold.
    pub(crate) entries: u64,
    kind: Kind,
    key_bits: u32,
    key_bytes: u32,
    /// Bits of the longest parameters of an action.
    parameter_bits: u32,
    /// Bits beside the key: action and immediate data.
    result_bits: u32,
    /// Bits of an entry's action data in memory of their own.
    data_bits: u32,
    /// Members of an action profile, which have the action data.
    members: Option<u64>,
    /// Bits of each entry's direct counter and meter.
    counter_bits: u32,
    meter_bits: u32,
    /// Bits of each entry's cells of registers.
    cell_bits: Vec<u32>,
    idle_timeout: bool,
    selector: bool,
    /// Blocks that a hash table is spread over at least.
    ways: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Keyless,
    /// The key is the index of the action's data.
    Indexed,
    Exact,
    Ternary,
    /// Prefixes of a table that is too large for the ternary memory of a stage: a small ternary table chooses a partition of a
    /// table in SRAM.
    Algorithmic,
}

/// The widest key that may be an index of action data.
const WIDEST_INDEX: u32 = 20;
/// Entries of a partition of an algorithmic table.
const PARTITION: u64 = 20;

fn blocks(bits: u64, target: &Target) -> u32 {
    let block = u64::from(target.memory.sram_words * target.memory.sram_bits);
    u32::try_from(bits.div_ceil(block)).unwrap_or(u32::MAX)
}

fn ternary_blocks(key_bits: u32, entries: u64, target: &Target) -> u32 {
    let wide = u64::from(key_bits.div_ceil(target.memory.tcam_bits));
    let deep = entries.div_ceil(u64::from(target.memory.tcam_words));
    u32::try_from(wide.saturating_mul(deep)).unwrap_or(u32::MAX)
}

impl<'a> TableShape<'a> {
    pub(crate) fn of(pipeline: &Pipeline, table: TableId, target: &'a Target, pragmas: &Pragmas) -> TableShape<'a> {
        let table = &pipeline[table];
        let own = pragmas.table(&table.name);
        let forms = |form: fn(MatchForm) -> bool| table.match_keys().any(|k| form(k.kind.form()));
        let width: u32 = table.match_keys().map(|key| key.expr.ty.width()).sum();
        let fills_its_keys =
            !forms(|f| f != MatchForm::Value) && width <= WIDEST_INDEX && table.size >= 1 << width.min(WIDEST_INDEX);
        let kind = match table.match_keys().next() {
            None => Kind::Keyless,
            Some(_) if own.is_some_and(|own| own.hash_action) && fills_its_keys => Kind::Indexed,
            Some(_) if forms(|f| f != MatchForm::Value) => Kind::Ternary,
            Some(_) => Kind::Exact,
        };
        let prefixes =
            forms(|f| f == MatchForm::Prefix) && !forms(|f| !matches!(f, MatchForm::Value | MatchForm::Prefix));
        // A range is matched by nibbles of twice the width.
        let bits = |key: &hopwright_ir::Key| match key.kind.form() {
            MatchForm::Range => 2 * key.expr.ty.width(),
            _ => key.expr.ty.width(),
        };
        let parameters = |action: &Action| action.params.iter().map(|p| p.ty.width()).sum::<u32>();
        let data = table.actions.iter().map(|a| parameters(&pipeline[a.action])).max().unwrap_or(0);
        let actions = (table.actions.len() as u32).next_power_of_two().ilog2();
        let profile = table.implementation.map(|id| &pipeline[id].kind);
        let members = match profile {
            Some(ExternKind::ActionProfile { size } | ExternKind::ActionSelector { size, .. }) => Some(*size),
            _ => None,
        };
        let pointer = 19;
        let in_memory = data > target.memory.immediate_bits || members.is_some();
        let entries = if table.const_entries { table.entries.len() as u64 } else { table.size };
        let key_bits = table.match_keys().map(bits).sum();
        let large = ternary_blocks(key_bits, entries, target) > target.stage.tcam_blocks;
        TableShape {
            target,
            entries: entries.max(1),
            kind: if prefixes && large { Kind::Algorithmic } else { kind },
            key_bits,
            key_bytes: bytes(table.keys.iter().map(|k| k.expr.ty.width())),
            parameter_bits: data,
            result_bits: actions + if in_memory { pointer } else { data },
            data_bits: if in_memory { data.max(1).next_power_of_two() } else { 0 },
            members,
            counter_bits: table.direct_counter.map_or(0, |c| counter_bits(&pipeline[c].kind)),
            meter_bits: table.direct_meter.map_or(0, |_| target.memory.sram_bits),
            cell_bits: table.entry_cells.iter().filter_map(|id| cell_bits(&pipeline[*id].kind)).collect(),
            idle_timeout: table.idle_timeout,
            ways: own.and_then(|own| own.ways).unwrap_or(target.memory.exact_ways),
            selector: matches!(profile, Some(ExternKind::ActionSelector { .. })),
        }
    }

    /// Whether the table is algorithmic.
    pub(crate) fn is_algorithmic(&self) -> bool {
        self.kind == Kind::Algorithmic
    }

    /// Blocks of SRAM for entries of this many bits: as many as go into up to four words side by side.
    fn packed(&self, bits: u32, entries: u64) -> u32 {
        let memory = &self.target.memory;
        let widths = bits.div_ceil(memory.sram_bits)..=bits.div_ceil(memory.sram_bits).max(4);
        let packed = widths.map(|words| {
            let together = u64::from((words * memory.sram_bits / bits).clamp(1, 9));
            let rows = entries.div_ceil(together * u64::from(memory.sram_words));
            rows.max(u64::from(self.ways)).saturating_mul(u64::from(words))
        });
        u32::try_from(packed.min().unwrap_or(u64::MAX)).unwrap_or(u32::MAX)
    }

    /// What a part of the table with this many entries takes of a stage.
    pub(crate) fn resources(&self, entries: u64) -> Resources {
        let memory = &self.target.memory;
        let mut used = Resources { logical_tables: 1, ..Resources::default() };
        match self.kind {
            Kind::Keyless => {}
            Kind::Indexed => {
                used.exact_crossbar_bytes = self.key_bytes;
                used.hash_bits = self.key_bits;
                used.hash_distribution_bits = self.key_bits.next_multiple_of(16);
                let bits = self.parameter_bits.max(1).next_power_of_two();
                used.sram_blocks =
                    blocks(u64::from(bits).checked_shl(self.key_bits.min(32)).unwrap_or(u64::MAX), self.target);
            }
            Kind::Exact => {
                used.exact_crossbar_bytes = self.key_bytes;
                if self.key_bits <= memory.word_index_bits {
                    // The key is the index.
                    used.sram_blocks = blocks((self.result_bits.max(1) as u64) << self.key_bits, self.target);
                    used.hash_bits = memory.word_index_bits;
                } else {
                    // A version, key and result. Bits of the key that select the word are not kept.
                    let stored = self.key_bits - memory.word_index_bits;
                    used.sram_blocks = self.packed(4 + stored + self.result_bits, entries);
                    let index = self.ways * memory.word_index_bits;
                    used.hash_bits = index + used.sram_blocks.max(1).ilog2().min(12);
                }
            }
            Kind::Ternary => {
                used.ternary_crossbar_bytes = self.key_bytes;
                used.tcam_blocks = ternary_blocks(self.key_bits, entries, self.target);
                used.sram_blocks =
                    blocks(u64::from(self.result_bits.max(1).next_power_of_two()) * entries, self.target);
            }
            Kind::Algorithmic => {
                used.ternary_crossbar_bytes = self.key_bytes;
                used.exact_crossbar_bytes = self.key_bytes;
                used.tcam_blocks = ternary_blocks(self.key_bits, entries.div_ceil(PARTITION), self.target);
                // A mask is the length of a prefix.
                let length = u32::BITS - self.key_bits.leading_zeros();
                used.sram_blocks = self.packed(4 + self.key_bits + length + self.result_bits, entries);
                used.logical_tables += 1;
            }
        }
        let own_data = if self.kind == Kind::Indexed { 0 } else { self.data_bits };
        let data = self.members.unwrap_or(entries).saturating_mul(u64::from(own_data));
        used.sram_blocks = used.sram_blocks.saturating_add(blocks(data, self.target));
        for (bits, alus) in [(self.counter_bits, &mut used.statistics_alus), (self.meter_bits, &mut used.stateful_alus)]
        {
            if bits > 0 {
                let blocks = blocks(entries.saturating_mul(u64::from(bits)), self.target) + 1;
                *alus += 1;
                used.sram_blocks += blocks;
                used.map_rams += blocks;
            }
        }
        for bits in &self.cell_bits {
            let blocks = blocks(entries.saturating_mul(u64::from(*bits)), self.target) + 1;
            used.stateful_alus += 1;
            used.sram_blocks += blocks;
            used.map_rams += blocks;
        }
        if self.idle_timeout {
            used.map_rams += blocks(entries * 8, self.target);
        }
        if self.selector {
            used.stateful_alus += 1;
            used.hash_bits += 51;
        }
        used
    }
}

/// Bytes of a crossbar that keys take. Those of less than a byte, and the rests of others, share bytes.
fn bytes(widths: impl Iterator<Item = u32> + Clone) -> u32 {
    let rests: u32 = widths.clone().map(|width| width % 8).sum();
    widths.map(|width| width / 8).sum::<u32>() + rests.div_ceil(8)
}

/// Whether an object is one that smooths values, which the meter ALU does.
pub(crate) fn is_filter(kind: &ExternKind) -> bool {
    matches!(kind, ExternKind::Named { type_name, .. } if matches!(type_name.as_str(), "Lpf" | "Wred"))
}

/// Bits of a register's cell in memory.
fn cell_bits(kind: &ExternKind) -> Option<u32> {
    match kind {
        ExternKind::Register { ty, .. } => Some(match ty.width() {
            1 => 1,
            width => width.max(8).next_power_of_two(),
        }),
        _ => None,
    }
}

fn counter_bits(kind: &ExternKind) -> u32 {
    match kind {
        ExternKind::Counter { unit, .. } | ExternKind::DirectCounter { unit, .. } => match unit {
            Unit::Both => 64,
            Unit::Packets | Unit::Bytes => 32,
        },
        _ => 0,
    }
}

/// The text of what selects the cell of each counter, meter and register, if it is the same in all calls.
pub(crate) fn indices(pipeline: &Pipeline) -> BTreeMap<ExternId, String> {
    let mut found: BTreeMap<ExternId, Option<String>> = BTreeMap::new();
    walk::all_stmts(pipeline, &mut |stmt| {
        let StmtKind::Extern(call) = &stmt.kind else { return };
        let Some(object) = call.function.object() else { return };
        let index = call.args.iter().find_map(|arg| match arg {
            ExternArg::In(index) => Some(format!("{:?}", index.kind)),
            _ => None,
        });
        let entry = found.entry(object).or_insert_with(|| index.clone());
        if *entry != index {
            *entry = None;
        }
    });
    found.into_iter().filter_map(|(object, index)| Some((object, index?))).collect()
}

/// What an extern object takes of the stage in which it is accessed.
pub(crate) fn object(pipeline: &Pipeline, object: ExternId, target: &Target) -> Resources {
    let kind = &pipeline[object].kind;
    let (size, bits, counts) = match kind {
        ExternKind::Counter { size, .. } => (*size, counter_bits(kind), true),
        ExternKind::Meter { size, .. } => (*size, target.memory.sram_bits, false),
        ExternKind::Named { args, .. } if is_filter(kind) => {
            (args.first().and_then(ToPrimitive::to_u64).unwrap_or(1), target.memory.sram_bits, false)
        }
        ExternKind::Register { size, .. } => (*size, cell_bits(kind).unwrap_or_default(), false),
        _ => return Resources::default(),
    };
    // One block more, so that the control plane can read while packets write.
    let blocks = blocks(size.saturating_mul(u64::from(bits)), target).saturating_add(1);
    let index = u64::BITS - size.saturating_sub(1).leading_zeros();
    Resources {
        sram_blocks: blocks,
        map_rams: blocks,
        statistics_alus: u32::from(counts),
        stateful_alus: u32::from(!counts),
        hash_bits: index,
        hash_distribution_bits: index.next_multiple_of(16),
        ..Resources::default()
    }
}
