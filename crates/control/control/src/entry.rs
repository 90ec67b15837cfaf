//! Table entries as the model has them.

use std::time::{Duration, Instant};

use hopwright_dataplane::EntryTarget;
use hopwright_ir::{ActionCall, MatchValue, TableId};

use crate::entity::Metadata;

/// An entry's identity: table, keys, priority.
pub type EntryKey = (TableId, Vec<MatchValue>, i32);

/// What packets that hit an entry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An action.
    Action(ActionCall),
    /// In tables with an action profile: members, a group, or a set of actions of the entry's own.
    Profile(EntryTarget),
}

/// What a control plane wrote with an entry and the data plane does not store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// What is read back.
    pub metadata: Metadata,
    /// The idle timeout.
    pub idle: Option<Idle>,
}

/// An idle timeout.
#[derive(Clone, Debug, PartialEq)]
pub struct Idle {
    /// After which time without a hit an entry is idle.
    pub timeout: Duration,
    /// When the entry was last found hit, or written.
    pub last_hit: Instant,
    /// The number of its hits at that time.
    pub hits: u64,
    /// When each kind of listeners was last notified that the entry is idle, since then.
    pub(crate) notified: [Option<Instant>; 2],
}

impl Target {
    /// The actions that are named, not those of members.
    pub(crate) fn calls(&self) -> Vec<&ActionCall> {
        match self {
            Target::Action(call) => vec![call],
            Target::Profile(EntryTarget::Set(set)) => set.iter().map(|a| &a.action).collect(),
            Target::Profile(_) => Vec::new(),
        }
    }
}
