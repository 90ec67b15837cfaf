//! Changes of the model's state, in the smallest parts.

use std::ops::Range;

use hopwright_dataplane::externs::Restore;
use hopwright_dataplane::{self as dataplane, ControlError, Count, Group, Rates, RemovedEntry};
use hopwright_ir::{ActionCall, ExternId, MatchValue, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::digests::Active;
use crate::entity::{CloneSession, DigestConfig, Metadata, MulticastGroup};
use crate::entry::{EntryKey, Note, Target};
use crate::error::Result;

/// A change of the model's state, which is made completely or not at all, and has an inverse.
#[derive(Debug)]
pub(crate) enum Change {
    /// Adds an entry.
    Insert(EntryKey, Target),
    /// Changes what an entry runs.
    Modify(EntryKey, Target),
    Remove(EntryKey),
    /// Puts back an entry that was removed.
    Restore(TableId, Box<RemovedEntry>),
    /// Sets a table's default action: that of the program if it is `None`.
    Default(TableId, Option<ActionCall>),
    Note(EntryKey, Option<Note>),
    DefaultMetadata(TableId, Option<Metadata>),
    DirectCount(EntryKey, Count),
    DirectRates(EntryKey, Option<Rates>),
    Counts(ExternId, Values<Count>),
    Registers(ExternId, Values<BigUint>),
    Rates(ExternId, Values<Option<Rates>>),
    Member(ExternId, u32, Option<ActionCall>),
    Group(ExternId, u32, Option<Group>),
    Multicast(u16, Option<Vec<dataplane::Replica>>),
    /// What is read of a multicast group.
    MulticastRead(u32, Option<MulticastGroup>),
    CloneSession(u32, Option<dataplane::CloneSession>),
    /// What is read of a clone session.
    CloneSessionRead(u32, Option<CloneSession>),
    ValueSet(ValueSetId, Vec<Vec<MatchValue>>),
    /// Enables, configures or disables a digest.
    Digest(u32, Option<DigestConfig>),
    /// Enables a digest as it was, with what waits for an acknowledgement.
    RestoreDigest(u32, Box<Active>),
    /// Gives an extern object a setting.
    Setting(ExternId, String, Vec<u8>),
    /// Puts back what was remembered of an extern object.
    RestoreSetting(Undo),
}

/// What puts a setting back.
pub(crate) struct Undo(pub Restore);

impl std::fmt::Debug for Undo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Undo")
    }
}

/// What cells of an array are set to.
#[derive(Clone, Debug)]
pub(crate) enum Values<T> {
    /// All of these to one value.
    Same(Range<u64>, T),
    /// Each to a value of its own.
    Each(Vec<(u64, T)>),
}

impl<T: Clone + Default + PartialEq> Values<T> {
    fn iter(&self) -> Box<dyn Iterator<Item = (u64, &T)> + '_> {
        match self {
            Values::Same(range, value) => Box::new(range.clone().map(move |at| (at, value))),
            Values::Each(values) => Box::new(values.iter().map(|(at, value)| (*at, value))),
        }
    }

    /// Sets the cells, or none of them. Returns what those held that differ.
    pub(crate) fn set(
        &self,
        read: impl Fn(u64) -> std::result::Result<T, ControlError>,
        write: impl Fn(u64, T) -> std::result::Result<(), ControlError>,
    ) -> Result<Values<T>> {
        let mut before = Vec::new();
        for (at, value) in self.iter() {
            let set = read(at).and_then(|old| {
                // Writing rates fills a meter's buckets; there is nothing to do for what was never set.
                if old != T::default() || *value != T::default() {
                    write(at, value.clone())?;
                }
                Ok(old)
            });
            match set {
                Ok(old) if old == *value => {}
                Ok(old) => before.push((at, old)),
                Err(error) => {
                    let undone = before.into_iter().rev().try_for_each(|(at, old)| write(at, old));
                    undone.unwrap_or_else(|error| tracing::error!("cannot undo the change of a cell: {error}"));
                    return Err(error.into());
                }
            }
        }
        Ok(Values::Each(before))
    }
}
