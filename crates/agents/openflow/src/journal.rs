//! Changes of a switch's state, which are noted while another process takes over.

use serde::{Deserialize, Serialize};

use crate::codec::request::{FlowMod, GroupMod, MeterMod};

/// A change of the state.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Change {
    Flow(FlowMod),
    Group(GroupMod),
    Meter(MeterMod),
    /// A port's configuration.
    Port {
        number: u32,
        config: u32,
    },
    /// Whether fragments of IP are dropped.
    Fragments(bool),
    /// The largest generation of a role request.
    Generation(u64),
    /// The switch stands alone, or does not any more.
    Alone(bool),
}

/// What has changed since the state was saved for another process, if it was.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Journal(Option<Vec<Change>>);

impl Journal {
    /// Changes are noted in it.
    pub(crate) fn open() -> Journal {
        Journal(Some(Vec::new()))
    }

    /// Notes a change, if it is open.
    pub(crate) fn note(&mut self, change: impl FnOnce() -> Change) {
        if let Some(changes) = &mut self.0 {
            changes.push(change());
        }
    }

    pub(crate) fn into_changes(self) -> impl Iterator<Item = Change> {
        self.0.into_iter().flatten()
    }
}
