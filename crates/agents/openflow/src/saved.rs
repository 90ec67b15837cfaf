//! A switch's state as one process hands it over to another: what it is, then how it changes until the other one has taken over.

use serde::{Deserialize, Serialize};

use crate::codec::Refusal;
use crate::datapath::saved::{FlowCount, Saved};
use crate::journal::{Change, Journal};
use crate::switch::Switch;

/// The state.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    settings: Vec<Change>,
    alone: bool,
    tables: Saved,
}

/// Why a state cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    #[error("the running process's state cannot be read: {0}")]
    Unreadable(#[from] postcard::Error),
    #[error("the running process has flows, groups or meters that are refused here: {0:?}")]
    Refused(Refusal),
}

fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Writing to memory cannot fail.
    postcard::to_extend(value, Vec::new()).unwrap_or_default()
}

impl Switch {
    /// The state. From now on changes are noted.
    pub(crate) fn save(&mut self) -> Vec<u8> {
        self.journal = Journal::open();
        let ports = self.datapath.ports().map(|port| Change::Port { number: port.number, config: port.config });
        let fragments = Change::Fragments(self.datapath.drops_fragments());
        let settings = ports.chain([fragments]).chain(self.generation.map(Change::Generation)).collect();
        bytes(&State { settings, alone: self.alone, tables: self.datapath.save() })
    }

    /// What has changed since it was saved.
    pub(crate) fn changes(&self) -> Vec<u8> {
        bytes(&self.journal)
    }

    /// Has a state of another process instead of its own.
    pub(crate) fn load(&mut self, state: &[u8]) -> Result<(), StateError> {
        let State { settings, alone, tables } = postcard::from_bytes(state)?;
        self.datapath.clear();
        settings.into_iter().try_for_each(|change| self.change(change)).map_err(StateError::Refused)?;
        self.alone = alone;
        self.datapath.load(tables).map_err(StateError::Refused)
    }

    /// Follows changes of another process's state.
    pub(crate) fn follow(&mut self, changes: &[u8]) -> Result<(), StateError> {
        let changes: Journal = postcard::from_bytes(changes)?;
        changes.into_changes().try_for_each(|change| self.change(change)).map_err(StateError::Refused)
    }

    fn change(&mut self, change: Change) -> Result<(), Refusal> {
        match change {
            Change::Flow(request) => self.datapath.flow_mod(&request).map(drop),
            Change::Group(request) => self.datapath.group_mod(&request).map(drop),
            Change::Meter(request) => self.datapath.meter_mod(&request).map(drop),
            Change::Port { number, config } => {
                if let Some(port) = self.datapath.port(number).cloned() {
                    self.datapath.put_port(crate::codec::reply::PortDescription { config, ..port });
                }
                Ok(())
            }
            Change::Fragments(drop) => {
                self.datapath.set_fragments(drop);
                Ok(())
            }
            Change::Generation(generation) => {
                self.generation = Some(generation);
                Ok(())
            }
            Change::Alone(alone) => {
                self.set_alone(alone);
                Ok(())
            }
        }
    }

    /// What flows have counted.
    pub(crate) fn flow_counts(&self) -> Vec<u8> {
        bytes(&self.datapath.counts())
    }

    /// Has flows count on from what they have counted in another process.
    pub(crate) fn add_flow_counts(&mut self, counts: &[u8]) {
        match postcard::from_bytes::<Vec<FlowCount>>(counts) {
            Ok(counts) => self.datapath.add_counts(&counts),
            Err(error) => tracing::warn!(%error, "flows count anew"),
        }
    }
}
