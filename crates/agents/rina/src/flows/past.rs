//! Connection endpoints whose flows have ended. They rest until no PDU of the connection can be under way, and answer late messages.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::messages::Counts;
use super::{Flow, FlowId};
use crate::credential::Life;
use crate::name::Name;

/// Endpoints that rest, at most: some are left for new flows.
const MOST: usize = 60_000;

/// A flow that has ended.
#[derive(Debug)]
pub(super) struct Before {
    pub id: FlowId,
    life: Life,
    pub counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Past {
    /// By the peer and its endpoint, for flows that had one there.
    flows: BTreeMap<(Name, FlowId), Before>,
    /// In the order in which they are free again, each with the key in `flows`.
    order: VecDeque<(Duration, FlowId, Name, FlowId)>,
    ids: std::collections::BTreeSet<FlowId>,
}

impl Past {
    pub(super) fn add(&mut self, id: FlowId, flow: &Flow, until: Duration) {
        self.ids.insert(id);
        self.order.push_back((until, id, flow.peer.clone(), flow.remote_cep));
        if flow.remote_cep != 0 {
            let before = Before { id, life: flow.life, counts: (flow.sender.pushed(), flow.delivered()) };
            self.flows.insert((flow.peer.clone(), flow.remote_cep), before);
        }
    }

    /// Forgets those that have rested long enough.
    pub(super) fn forget(&mut self, now: Duration) {
        while let Some((_, id, peer, remote_cep)) = self.order.pop_front_if(|(until, ..)| *until <= now) {
            self.ids.remove(&id);
            let key = (peer, remote_cep);
            if self.flows.get(&key).is_some_and(|before| before.id == id) {
                self.flows.remove(&key);
            }
        }
    }

    pub(super) fn contains(&self, id: FlowId) -> bool {
        self.ids.contains(&id)
    }

    pub(super) fn is_full(&self) -> bool {
        self.ids.len() >= MOST
    }

    /// The flow that was with this endpoint of a peer.
    pub(super) fn find(&self, peer: &Name, life: &Life, remote_cep: FlowId) -> Option<&Before> {
        self.flows.get(&(peer.clone(), remote_cep)).filter(|before| before.life == *life)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty() && self.order.is_empty() && self.ids.is_empty()
    }
}
