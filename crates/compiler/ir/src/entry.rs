//! Validity of table entries, default actions and value-set members, for every table implementation.

use std::collections::BTreeSet;

use num_bigint::BigUint;

use crate::bits;
use crate::model::{ActionCall, ActionId, MatchKind, MatchValue, Pipeline, Table, TableEntry, TableId, ValueSet};

/// The indices of a table's entries: a new entry has the lowest one that is free.
#[derive(Clone, Debug, Default)]
pub struct EntryIndices {
    next: u32,
    free: BTreeSet<u32>,
}

impl EntryIndices {
    /// Takes the lowest free index.
    pub fn take(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Takes this index. Returns whether it was free.
    pub fn take_back(&mut self, index: u32) -> bool {
        if index >= self.next {
            self.free.extend(self.next..index);
            self.next = index + 1;
            return true;
        }
        self.free.remove(&index)
    }

    /// Frees the index of a removed entry.
    pub fn release(&mut self, index: u32) {
        self.free.insert(index);
    }
}

/// Why an entry or action call is not legal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The number of matches is not the number of keys.
    #[error("the table has {expected} keys, the entry matches {found}")]
    KeyCount {
        /// Keys of the table.
        expected: usize,
        /// Matches of the entry.
        found: usize,
    },
    /// A match is of another kind than its key.
    #[error("wrong kind of match for key `{key}`")]
    MatchKind {
        /// Name of the key.
        key: String,
    },
    /// A value, mask or bound has more bits than the key.
    #[error("value does not fit the {width} bits of key `{key}`")]
    TooWide {
        /// Name of the key.
        key: String,
        /// Its width in bits.
        width: u32,
    },
    /// Bits that the mask or prefix excludes are not zero.
    #[error("value of key `{key}` has bits outside its mask or prefix")]
    MaskedBits {
        /// Name of the key.
        key: String,
    },
    /// A mask that the key's match kind does not allow.
    #[error("the {kind} key `{key}` does not take this mask: its ones must be the lowest bits")]
    Mask {
        /// Name of the key.
        key: String,
        /// Its match kind.
        kind: MatchKind,
    },
    /// A prefix longer than the key, or a range whose low bound is above its high bound.
    #[error("bad prefix length or empty range for key `{key}`")]
    BadRange {
        /// Name of the key.
        key: String,
    },
    /// A priority in a table whose keys have none, or a negative one.
    #[error("a priority must not be negative, and only tables with ternary, range or optional keys have one")]
    Priority,
    /// The table does not list the action, or not for this use (`@tableonly`, `@defaultonly`).
    #[error("the table does not permit action `{action}` here")]
    Action {
        /// Name of the action, or its number if there is no such action.
        action: String,
    },
    /// The number of arguments is not the number of parameters.
    #[error("the action has {expected} parameters, not {found}")]
    ArgumentCount {
        /// Parameters of the action.
        expected: usize,
        /// Arguments of the call.
        found: usize,
    },
    /// An argument has more bits than its parameter.
    #[error("argument does not fit the {width} bits of parameter `{parameter}`")]
    ArgumentTooWide {
        /// Name of the parameter.
        parameter: String,
        /// Its width in bits.
        width: u32,
    },
}

/// Checks an entry against its table. The table id must be of this pipeline.
pub fn check_entry(pipeline: &Pipeline, table: TableId, entry: &TableEntry) -> Result<(), EntryError> {
    let t = &pipeline[table];
    check_keys(t, entry)?;
    check_call(pipeline, t, &entry.action, false)
}

/// Checks number and values of the parts of a value set's members, whose kinds are their own.
pub fn check_members(set: &ValueSet, members: &[Vec<MatchValue>]) -> Result<(), EntryError> {
    for member in members {
        if member.len() != set.types.len() {
            return Err(EntryError::KeyCount { expected: set.types.len(), found: member.len() });
        }
        for (part, ty) in member.iter().zip(&set.types) {
            check_width(&set.name, ty.width(), part)?;
        }
    }
    Ok(())
}

/// Checks number, kinds and values of an entry's matches and its priority, and not its action.
pub fn check_keys(t: &Table, entry: &TableEntry) -> Result<(), EntryError> {
    if entry.matches.len() != t.keys.len() {
        return Err(EntryError::KeyCount { expected: t.keys.len(), found: entry.matches.len() });
    }
    for (key, value) in t.keys.iter().zip(&entry.matches) {
        check_match(&key.name, key.kind, key.expr.ty.width(), value)?;
    }
    if entry.priority < 0 || (entry.priority != 0 && !t.has_priority()) {
        return Err(EntryError::Priority);
    }
    Ok(())
}

/// Checks a default action against its table. The table id must be of this pipeline.
pub fn check_default(pipeline: &Pipeline, table: TableId, call: &ActionCall) -> Result<(), EntryError> {
    check_call(pipeline, &pipeline[table], call, true)
}

/// Checks one match against a key of this name, kind and width in bits.
pub fn check_match(name: &str, kind: MatchKind, width: u32, value: &MatchValue) -> Result<(), EntryError> {
    if !value.has_form(kind.form()) {
        return Err(EntryError::MatchKind { key: name.to_string() });
    }
    if let MatchValue::Ternary { mask, .. } = value
        && !kind.allows_mask(mask)
    {
        return Err(EntryError::Mask { key: name.to_string(), kind });
    }
    check_width(name, width, value)
}

/// Checks the values of a match against a width in bits.
fn check_width(name: &str, width: u32, value: &MatchValue) -> Result<(), EntryError> {
    let key = || name.to_string();
    let fits = |v: &BigUint| {
        if bits::fits(v, width) { Ok(()) } else { Err(EntryError::TooWide { key: key(), width }) }
    };
    match value {
        MatchValue::Exact(v) => fits(v),
        MatchValue::Lpm { value, prefix_len } => {
            fits(value)?;
            if *prefix_len > width {
                return Err(EntryError::BadRange { key: key() });
            }
            if value.trailing_zeros().is_some_and(|zeros| zeros < u64::from(width - prefix_len)) {
                return Err(EntryError::MaskedBits { key: key() });
            }
            Ok(())
        }
        MatchValue::Ternary { value, mask } => {
            fits(value)?;
            fits(mask)?;
            if value & mask != *value {
                return Err(EntryError::MaskedBits { key: key() });
            }
            Ok(())
        }
        MatchValue::Range { lo, hi } => {
            fits(lo)?;
            fits(hi)?;
            if lo > hi {
                return Err(EntryError::BadRange { key: key() });
            }
            Ok(())
        }
        MatchValue::Optional(v) => v.as_ref().map_or(Ok(()), fits),
    }
}

pub(crate) fn check_call(
    pipeline: &Pipeline,
    table: &Table,
    call: &ActionCall,
    as_default: bool,
) -> Result<(), EntryError> {
    let Some(action) = pipeline.actions.get(call.action.index()) else {
        return Err(EntryError::Action { action: call.action.0.to_string() });
    };
    let permitted = |id: ActionId| {
        table.actions.iter().any(|a| {
            let excluded = if as_default { a.table_only } else { a.default_only };
            a.action == id && !excluded
        })
    };
    if !permitted(call.action) {
        return Err(EntryError::Action { action: action.name.clone() });
    }
    check_arguments(pipeline, call)
}

/// Checks number and widths of an action call's arguments. The action id must be of this pipeline.
pub fn check_arguments(pipeline: &Pipeline, call: &ActionCall) -> Result<(), EntryError> {
    let action = &pipeline[call.action];
    if call.args.len() != action.params.len() {
        return Err(EntryError::ArgumentCount { expected: action.params.len(), found: call.args.len() });
    }
    for (param, arg) in action.params.iter().zip(&call.args) {
        let width = param.ty.width();
        if !bits::fits(arg, width) {
            return Err(EntryError::ArgumentTooWide { parameter: param.name.clone(), width });
        }
    }
    Ok(())
}
