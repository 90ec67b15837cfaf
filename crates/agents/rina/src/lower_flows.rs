//! Links that are (N-1) flows: flows of another DIF of this system, which carry the PDUs of the DIF above.
//!
//! An IPC process is an application in the DIF below. Of two neighbours the one with the smaller name
//! asks for the flow, again and again; the other accepts it if its configuration has a link to that neighbour. The flow has no
//! retransmission.
//!
//! The program carries PDUs over one level of flows ([`Carrier::Program`]). All other flows, and those whose other end is such a one, are
//! carried by the agents at their ends ([`Carrier::Agent`]): they may have several levels below, be encrypted, and have any syntax of
//! EFCP. A PDU of the DIF above is an SDU there, of several PDUs if need be, behind a byte that says how many members it may
//! still pass, so that none goes in circles for ever. The name by which a flow is asked for says who carries it: `DIF:NAME` or
//! `DIF:NAME|hops`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::flows::{FlowEvent, FlowId};
use crate::ipcp::{Ipcp, MANAGEMENT_PRIORITY, Transmit};
use crate::name::Name;
use crate::pdu::TTL;
use crate::tables::{LinkKind, RouterLink};

/// Time between two requests.
const AGAIN: Duration = Duration::from_millis(200);
/// Time without the neighbour above after which a flow is asked for anew: the other end may have forgotten it.
const FORGOTTEN: Duration = Duration::from_secs(2);
/// How long the name of the other end's program may be missing in the directory after that of its agent has come.
const BOTH_NAMES: Duration = Duration::from_secs(1);
/// What a PDU that came by an (N-1) flow has as station.
pub(crate) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0];

/// What carries the PDUs of a flow's DIF above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The program, and the agent for its own.
    #[default]
    Program,
    /// The agent alone.
    Agent,
}

/// From the cheaper one.
const CARRIERS: [Carrier; 2] = [Carrier::Program, Carrier::Agent];

#[derive(Debug, Default)]
struct State {
    flow: Option<FlowId>,
    carrier: Carrier,
    open: bool,
    next: Duration,
    /// When the neighbour above was up last, or the flow was opened.
    alive: Duration,
    /// Since when the other end's agent has been in the directory.
    known: Option<Duration>,
}

/// The (N-1) flows by the number of their link.
#[derive(Debug)]
pub(crate) struct LowerFlows {
    states: BTreeMap<usize, State>,
    version: u64,
}

/// The name of an IPC process in the DIF below.
fn application(dif: &Name, name: &Name, carrier: Carrier) -> Option<Name> {
    let behind = if carrier == Carrier::Agent { "|hops" } else { "" };
    format!("{dif}:{name}{behind}").parse().ok()
}

impl LowerFlows {
    /// Registers the IPC processes that have such links.
    pub(crate) fn new(links: &[RouterLink], ipcps: &mut [Ipcp]) -> LowerFlows {
        let mut states = BTreeMap::new();
        for (at, link) in links.iter().enumerate() {
            let LinkKind::Flow { lower, by_program, .. } = link.kind else { continue };
            for carrier in CARRIERS.into_iter().filter(|carrier| by_program || *carrier == Carrier::Agent) {
                let settings = ipcps[link.ipcp].settings();
                if let Some(name) = application(&settings.dif, &settings.name, carrier)
                    && let Err(error) = ipcps[lower].register(name, Duration::ZERO)
                {
                    tracing::error!("no (N-1) flows to this system: {error}");
                }
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

    /// The flow of a link that the program carries.
    pub(crate) fn of_program(&self, link: usize) -> Option<FlowId> {
        self.open(link).filter(|_| self.states[&link].carrier == Carrier::Program)
    }

    /// Asks for the flows that are missing.
    pub(crate) fn tick(&mut self, links: &[RouterLink], ipcps: &mut [Ipcp], now: Duration) {
        for (at, state) in &mut self.states {
            let LinkKind::Flow { lower, to, qos, by_program } = &links[*at].kind else { continue };
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
            let name = |name, carrier| application(&settings.dif, name, carrier);
            let carriers = CARRIERS.into_iter().filter(|carrier| *by_program || *carrier == Carrier::Agent);
            let requests: Vec<_> =
                carriers.filter_map(|it| Some((it, name(&settings.name, it)?, name(to, it)?))).collect();
            // The other end's names come one after the other. If that of its program is still not there a while later, it does not have the
            // program carry.
            let is_known =
                |(carrier, _, other): &(Carrier, Name, Name)| *carrier == Carrier::Agent && ipcps[*lower].knows(other);
            state.known = requests.iter().any(is_known).then(|| state.known.unwrap_or(now));
            let waits = *by_program && state.known.is_none_or(|since| now.saturating_sub(since) < BOTH_NAMES);
            for (carrier, own, other) in requests {
                if carrier == Carrier::Agent && waits {
                    break;
                }
                if let Ok(flow) = ipcps[*lower].request_flow(own, other, qos, now) {
                    (state.flow, state.carrier) = (Some(flow), carrier);
                    if carrier == Carrier::Program {
                        ipcps[*lower].carry(flow);
                    }
                    break;
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
                let LinkKind::Flow { lower, to: neighbour, by_program, .. } = &links[*at].kind else { continue };
                let settings = ipcps[links[*at].ipcp].settings();
                let name = |name, carrier| application(&settings.dif, name, carrier);
                let carriers = CARRIERS.into_iter().filter(|carrier| *by_program || *carrier == Carrier::Agent);
                let asked = carriers.filter(|_| *lower == ipcp);
                let Some(carrier) = asked.into_iter().find(|it| name(&settings.name, *it).as_ref() == Some(to)) else {
                    continue;
                };
                own = true;
                if name(neighbour, carrier).as_ref() == Some(from) {
                    if let Some(before) = state.flow.replace(flow) {
                        ipcps[ipcp].end_flow(before, now);
                    }
                    (state.open, state.carrier) = (true, carrier);
                    self.version += 1;
                    if carrier == Carrier::Program {
                        ipcps[ipcp].carry(flow);
                    }
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

    /// Sends a PDU by a link. False if its flow is not there or has no room.
    pub(crate) fn send(&self, link: usize, lower: usize, transmit: &Transmit, ipcps: &mut [Ipcp]) -> bool {
        let first = transmit.priority == MANAGEMENT_PRIORITY;
        let Some(flow) = self.open(link).filter(|flow| ipcps[lower].has_room_carried(*flow, first)) else {
            return false;
        };
        match self.states[&link].carrier {
            Carrier::Program => ipcps[lower].write_carried(flow, &transmit.pdu, first, true),
            Carrier::Agent => {
                let sdu = [&[transmit.hops][..], &transmit.pdu].concat();
                ipcps[lower].write_carried(flow, &sdu, first, false);
            }
        }
        true
    }

    /// Hands the PDUs that have come to the IPC processes above. Returns whether there were some. Links are in the order of IPC processes, and
    /// a DIF above comes behind those below, so that a PDU rises through all levels at once.
    pub(crate) fn deliver(&self, links: &[RouterLink], ipcps: &mut [Ipcp], now: Duration) -> bool {
        let mut any = false;
        for (at, state) in &self.states {
            let (LinkKind::Flow { lower, .. }, Some(flow)) = (&links[*at].kind, state.flow) else { continue };
            while let Some(sdu) = ipcps[*lower].read(flow) {
                any = true;
                let (hops, pdu) = match state.carrier {
                    Carrier::Program => (TTL, &sdu[..]),
                    Carrier::Agent => match sdu.split_first() {
                        Some((hops, pdu)) => (*hops, pdu),
                        None => continue,
                    },
                };
                ipcps[links[*at].ipcp].receive_with(links[*at].link, STATION, pdu, hops, now);
            }
        }
        any
    }
}

#[cfg(test)]
#[path = "lower_flows_tests.rs"]
mod tests;
