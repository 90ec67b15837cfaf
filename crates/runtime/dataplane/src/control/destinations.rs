//! Where the traffic manager sends copies.

use hopwright_interp::{CloneSession, Replica, TrafficManager};

/// Clone sessions and multicast groups in the form that workers read. Both lists are sorted by number.
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    /// Sorted by number.
    sessions: Vec<(u32, CloneSession)>,
    /// Sorted by number.
    groups: Vec<(u16, Vec<Replica>)>,
}

impl Destinations {
    pub(crate) fn of(manager: &TrafficManager) -> Destinations {
        Destinations {
            sessions: manager.sessions.iter().map(|(n, s)| (*n, *s)).collect(),
            groups: manager.groups.iter().map(|(n, r)| (*n, r.clone())).collect(),
        }
    }

    /// Returns the session of this number.
    pub(crate) fn session(&self, number: u32) -> Option<CloneSession> {
        self.sessions.binary_search_by_key(&number, |s| s.0).ok().map(|at| self.sessions[at].1)
    }

    /// Returns the index of the group of this number.
    pub(crate) fn group(&self, number: u16) -> Option<usize> {
        self.groups.binary_search_by_key(&number, |g| g.0).ok()
    }

    /// Returns the replicas of the group with this index.
    pub(crate) fn replicas(&self, group: usize) -> &[Replica] {
        &self.groups[group].1
    }
}
