//! Multicast groups and clone sessions: what control planes write, and what the data plane has for it.
//!
//! A clone session is a multicast group of its own in the data plane, unless it names a multicast group.

use std::collections::BTreeMap;

use hopwright_dataplane as dataplane;
use hopwright_dataplane::Control;

use crate::change::Change;
use crate::entity::{CloneSession, MulticastGroup, Replica};
use crate::error::{Result, invalid, out_of_range};
use crate::model::Model;

/// The multicast group of clone session 0, and so on: a session with several copies has a multicast group of its own.
pub(crate) const FIRST_OF_CLONES: u32 = 0x8000;
/// Bits of a port number.
pub const PORT_BITS: u32 = 9;
/// The clone session of the copies to the CPU of programs for Tofino, whose mirror sessions have ten bits.
pub const CPU_SESSION: u32 = 1024;
/// The field list of these copies, in programs that make some.
pub const COPIED_TO_CPU: u8 = 5;
/// The most copies of a group.
const MAX_COPIES: usize = 1024;

/// The changes that set a multicast group.
pub(crate) fn set_multicast(id: u32, group: &MulticastGroup) -> Result<Vec<Change>> {
    let copies = copies(&group.copies)?;
    Ok(vec![Change::Multicast(id as u16, Some(copies)), Change::MulticastRead(id, Some(group.clone()))])
}

/// The changes that set a clone session.
pub(crate) fn set_session(id: u32, session: &CloneSession) -> Result<Vec<Change>> {
    let (own, copies) = (group_of(id), copies(&session.copies)?);
    let truncate = Some(session.max_length).filter(|n| *n != 0);
    let (port, copies) = match (session.group, copies.as_slice()) {
        (None, _) => (None, Some(copies)),
        (Some(_), []) => (None, None),
        (Some(_), [dataplane::Replica { port, rid: 0 }]) => (Some(*port), None),
        (Some(group), _) => {
            let reason = "has one copy besides at most, with instance 0";
            return Err(invalid(format!("clone session {id} with multicast group {group} {reason}")));
        }
    };
    let group = Some(session.group.unwrap_or(own));
    Ok(vec![
        Change::Multicast(own, copies),
        Change::CloneSession(id, Some(dataplane::CloneSession { port, group, truncate })),
        Change::CloneSessionRead(id, Some(session.clone())),
    ])
}

impl Model {
    /// Leads a clone session to a port, unless a control plane has written it. Control planes see it only when they write it.
    ///
    /// # Errors
    /// A device that runs the program has no room for it.
    pub fn lead_copies(&mut self, session: u32, port: u16) -> Result<()> {
        let ours = dataplane::CloneSession { port: Some(port), ..Default::default() };
        if self.control().clone_session(session).is_some_and(|there| there != ours) {
            return Ok(());
        }
        // A model that is made anew finds it in the data plane.
        self.carry_out(vec![Change::CloneSession(session, Some(ours)), Change::CloneSessionRead(session, None)], None)
    }
}

/// The multicast groups and clone sessions that a data plane has already.
pub(crate) fn written(control: &Control) -> (BTreeMap<u32, MulticastGroup>, BTreeMap<u32, CloneSession>) {
    let copy =
        |copy: &dataplane::Replica| Replica { port: copy.port.into(), instance: copy.rid.into(), port_is_typed: false };
    let copies = |group: &[dataplane::Replica]| group.iter().map(copy).collect::<Vec<_>>();
    let sessions = control.clone_sessions();
    let of_session = |id: u16| sessions.keys().any(|session| group_of(*session) == id);
    let groups = control.multicast_groups().into_iter().filter(|(id, _)| !of_session(*id));
    let groups = groups.map(|(id, group)| (id.into(), MulticastGroup { copies: copies(&group), ..Default::default() }));
    let session = |(id, session): (u32, dataplane::CloneSession)| {
        let port = session.port.map(|port| Replica { port: port.into(), ..Default::default() });
        let own = session.group.filter(|group| *group == group_of(id)).and_then(|own| control.multicast_group(own));
        let group = session.group.filter(|group| *group != group_of(id));
        let copies = port.into_iter().chain(copies(&own.unwrap_or_default())).collect();
        (id, CloneSession { copies, group, max_length: session.truncate.unwrap_or(0) })
    };
    (groups.collect(), sessions.clone().into_iter().map(session).collect())
}

/// The multicast group of a clone session.
pub(crate) fn group_of(session: u32) -> u16 {
    (FIRST_OF_CLONES + session) as u16
}

fn copies(given: &[Replica]) -> Result<Vec<dataplane::Replica>> {
    if given.len() > MAX_COPIES {
        return Err(invalid(format!("more than {MAX_COPIES} copies")));
    }
    let copy = |Replica { port, instance, .. }: &Replica| {
        if port >> PORT_BITS != 0 {
            return Err(out_of_range(format!("port {port} does not fit {PORT_BITS} bits")));
        }
        let rid = u16::try_from(*instance).map_err(|_| out_of_range("an instance of more than 16 bits"))?;
        Ok(dataplane::Replica { rid, port: *port as u16 })
    };
    given.iter().map(copy).collect()
}
