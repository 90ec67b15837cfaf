//! Links that are (N-1) flows: flows of another DIF of this system, which carry the PDUs of the DIF above.
//!
//! An IPC process is an application in the DIF below, by the name `DIF:NAME`. Of two neighbours the one with the smaller name
//! asks for the flow, again and again; the other accepts it if its configuration has a link to that neighbour. The flow has no
//! retransmission.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::flows::{FlowEvent, FlowId};
use crate::ipcp::Ipcp;
use crate::name::Name;
use crate::tables::{LinkKind, RouterLink};

/// Time between two requests.
const AGAIN: Duration = Duration::from_millis(200);
/// Time without the neighbour above after which a flow is asked for anew: the other end may have forgotten it.
const FORGOTTEN: Duration = Duration::from_secs(2);
/// What a PDU that came by an (N-1) flow has as station.
pub(crate) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0];

#[derive(Debug, Default)]
struct State {
    flow: Option<FlowId>,
    open: bool,
    next: Duration,
    /// When the neighbour above was up last, or the flow was opened.
    alive: Duration,
}

/// The (N-1) flows by the number of their link.
#[derive(Debug)]
pub(crate) struct LowerFlows {
    states: BTreeMap<usize, State>,
    version: u64,
}

/// The name of an IPC process in the DIF below.
fn application(dif: &Name, name: &Name) -> Option<Name> {
    format!("{dif}:{name}").parse().ok()
}

impl LowerFlows {
    /// Registers the IPC processes that have such links.
    pub(crate) fn new(links: &[RouterLink], ipcps: &mut [Ipcp]) -> LowerFlows {
        let mut states = BTreeMap::new();
        for (at, link) in links.iter().enumerate() {
            let LinkKind::Flow { lower, .. } = link.kind else { continue };
            let settings = ipcps[link.ipcp].settings();
            if let Some(name) = application(&settings.dif, &settings.name)
                && let Err(error) = ipcps[lower].register(name, Duration::ZERO)
            {
                tracing::error!("no (N-1) flows to this system: {error}");
            }
            states.insert(at, State::default());
        }
        LowerFlows { states, version: 0 }
    }

    /// Changes whenever a flow comes or goes.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The flow of a link.
    pub(crate) fn open(&self, link: usize) -> Option<FlowId> {
        self.states.get(&link).filter(|state| state.open)?.flow
    }

    /// Asks for the flows that are missing.
    pub(crate) fn tick(&mut self, links: &[RouterLink], ipcps: &mut [Ipcp], now: Duration) {
        for (at, state) in &mut self.states {
            let LinkKind::Flow { lower, to, qos } = &links[*at].kind else { continue };
            if !state.open || ipcps[links[*at].ipcp].neighbour(links[*at].link).is_some() {
                state.alive = now;
            } else if now.saturating_sub(state.alive) >= FORGOTTEN
                && let Some(flow) = state.flow.take()
            {
                state.open = false;
                self.version += 1;
                ipcps[*lower].end_flow(flow, now);
            }
            let settings = ipcps[links[*at].ipcp].settings();
            if state.flow.is_some() || now < state.next || settings.name > *to {
                continue;
            }
            state.next = now + AGAIN;
            let names = (application(&settings.dif, &settings.name), application(&settings.dif, to));
            if let (Some(own), Some(other)) = names {
                state.flow = ipcps[*lower].request_flow(own, other, qos, now).ok();
                if let Some(flow) = state.flow {
                    ipcps[*lower].carry(flow);
                }
            }
        }
    }

    /// Takes an event of a flow. False if it is not of one of these.
    pub(crate) fn event(
        &mut self,
        ipcp: usize,
        flow: FlowId,
        event: &FlowEvent,
        links: &[RouterLink],
        ipcps: &mut [Ipcp],
        now: Duration,
    ) -> bool {
        if let FlowEvent::Requested { to, from } = event {
            let mut own = false;
            for (at, state) in &mut self.states {
                let LinkKind::Flow { lower, to: neighbour, .. } = &links[*at].kind else { continue };
                let settings = ipcps[links[*at].ipcp].settings();
                if *lower != ipcp || application(&settings.dif, &settings.name).as_ref() != Some(to) {
                    continue;
                }
                own = true;
                if application(&settings.dif, neighbour).as_ref() == Some(from) {
                    if let Some(before) = state.flow.replace(flow) {
                        ipcps[ipcp].end_flow(before, now);
                    }
                    state.open = true;
                    self.version += 1;
                    ipcps[ipcp].carry(flow);
                    ipcps[ipcp].answer(flow, true, now);
                    return true;
                }
            }
            if own {
                tracing::warn!(%from, %to, "an (N-1) flow refused: no link leads there");
                ipcps[ipcp].answer(flow, false, now);
            }
            return own;
        }
        let same = |(at, state): &(&usize, &mut State)| {
            state.flow == Some(flow) && matches!(links[**at].kind, LinkKind::Flow { lower, .. } if lower == ipcp)
        };
        let Some((at, state)) = self.states.iter_mut().find(same) else { return false };
        self.version += 1;
        state.open = *event == FlowEvent::Allocated;
        if !state.open {
            (state.flow, state.next) = (None, now + AGAIN);
            ipcps[links[*at].ipcp].link_down(links[*at].link, now);
        }
        true
    }

    /// Sends a PDU by a link, one with `first` before others. False if its flow is not there or has no room.
    pub(crate) fn send(&self, link: usize, lower: usize, pdu: &[u8], first: bool, ipcps: &mut [Ipcp]) -> bool {
        match self.open(link) {
            Some(flow) if first => {
                ipcps[lower].write_carried(flow, pdu, true);
                true
            }
            Some(flow) if ipcps[lower].has_room(flow) => {
                ipcps[lower].write_carried(flow, pdu, false);
                true
            }
            _ => false,
        }
    }

    /// Hands the PDUs that have come to the IPC processes above. Returns whether there were some.
    pub(crate) fn deliver(&self, links: &[RouterLink], ipcps: &mut [Ipcp], now: Duration) -> bool {
        let mut any = false;
        for (at, state) in &self.states {
            let (LinkKind::Flow { lower, .. }, Some(flow)) = (&links[*at].kind, state.flow) else { continue };
            while let Some(pdu) = ipcps[*lower].read(flow) {
                ipcps[links[*at].ipcp].receive(links[*at].link, STATION, &pdu, now);
                any = true;
            }
        }
        any
    }
}
