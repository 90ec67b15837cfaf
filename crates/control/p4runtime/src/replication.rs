//! Multicast groups and clone sessions (P4Runtime 9.5).
//!
//! A clone session with several copies is a multicast group of its own: numbers from 32,768 are for these.

use std::collections::BTreeSet;

use hopwright_dataplane::{CloneSession, Replica};

use crate::bytes;
use crate::change::Change;
use crate::failure::{Result, bad_number, exists, invalid, not_found, out_of_range, unimplemented};
use crate::proto::v1;
use crate::state::State;
use v1::packet_replication_engine_entry::Type as Kind;
use v1::update::Type;

/// First multicast group of clone sessions.
const FIRST_OF_CLONES: u32 = 0x8000;
/// Bits of a port number.
const PORT_BITS: u32 = 9;
/// The most copies of a group.
const MAX_REPLICAS: usize = 1024;

impl State {
    pub(crate) fn plan_replication(&self, kind: Type, entry: &v1::PacketReplicationEngineEntry) -> Result<Vec<Change>> {
        match entry.r#type.as_ref() {
            Some(Kind::MulticastGroupEntry(group)) => self.plan_group(kind, group),
            Some(Kind::CloneSessionEntry(session)) => self.plan_session(kind, session),
            None => Err(invalid("neither a multicast group nor a clone session")),
        }
    }

    fn plan_group(&self, kind: Type, entry: &v1::MulticastGroupEntry) -> Result<Vec<Change>> {
        let id = entry.multicast_group_id;
        if id == 0 || id >= FIRST_OF_CLONES {
            return Err(invalid(format!("multicast groups are numbered from 1 to {}", FIRST_OF_CLONES - 1)));
        }
        check("multicast group", kind, id, self.groups.contains_key(&id))?;
        match kind {
            Type::Delete => Ok(vec![Change::Multicast(id as u16, None), Change::MulticastEntry(id, None)]),
            _ => set_group(entry),
        }
    }

    fn plan_session(&self, kind: Type, entry: &v1::CloneSessionEntry) -> Result<Vec<Change>> {
        let id = entry.session_id;
        if id == 0 || id >= FIRST_OF_CLONES {
            return Err(invalid(format!("clone sessions are numbered from 1 to {}", FIRST_OF_CLONES - 1)));
        }
        if entry.class_of_service != 0 {
            return Err(unimplemented("classes of service of clones are not supported"));
        }
        if entry.packet_length_bytes < 0 {
            return Err(invalid("a negative packet length"));
        }
        check("clone session", kind, id, self.sessions.contains_key(&id))?;
        match kind {
            Type::Delete => Ok(vec![
                Change::CloneSession(id, None),
                // Without the session, nothing leads to its group.
                Change::Multicast(group_of(id), None),
                Change::CloneSessionEntry(id, None),
            ]),
            _ => set_session(entry),
        }
    }
}

/// The changes that set a multicast group.
pub(crate) fn set_group(entry: &v1::MulticastGroupEntry) -> Result<Vec<Change>> {
    let id = entry.multicast_group_id;
    let replicas = replicas(&entry.replicas)?;
    Ok(vec![Change::Multicast(id as u16, Some(replicas)), Change::MulticastEntry(id, Some(entry.clone()))])
}

/// The changes that set a clone session.
pub(crate) fn set_session(entry: &v1::CloneSessionEntry) -> Result<Vec<Change>> {
    let (id, group) = (entry.session_id, group_of(entry.session_id));
    let replicas = replicas(&entry.replicas)?;
    let truncate = u32::try_from(entry.packet_length_bytes).ok().filter(|n| *n != 0);
    Ok(vec![
        Change::Multicast(group, Some(replicas)),
        Change::CloneSession(id, Some(CloneSession { port: None, group: Some(group), truncate })),
        Change::CloneSessionEntry(id, Some(entry.clone())),
    ])
}

/// The multicast group of a clone session.
fn group_of(session: u32) -> u16 {
    (FIRST_OF_CLONES + session) as u16
}

fn check(what: &str, kind: Type, id: u32, is_there: bool) -> Result<()> {
    match (kind, is_there) {
        (Type::Insert, true) => Err(exists(format!("there is a {what} {id} already"))),
        (Type::Modify | Type::Delete, false) => Err(not_found(format!("there is no {what} {id}"))),
        _ => Ok(()),
    }
}

fn replicas(request: &[v1::Replica]) -> Result<Vec<Replica>> {
    use v1::replica::PortKind;
    if request.len() > MAX_REPLICAS {
        return Err(invalid(format!("more than {MAX_REPLICAS} copies")));
    }
    let mut seen = BTreeSet::new();
    request
        .iter()
        .map(|r| {
            if !r.backup_replicas.is_empty() {
                return Err(unimplemented("backup replicas are not supported"));
            }
            let port = match r.port_kind.as_ref().ok_or_else(|| invalid("a replica without a port"))? {
                PortKind::EgressPort(port) => *port,
                PortKind::Port(b) => {
                    let port = bytes::number(b, PORT_BITS).map_err(|e| bad_number("port", PORT_BITS, e))?;
                    u32::try_from(port).unwrap_or(u32::MAX)
                }
            };
            if port >> PORT_BITS != 0 {
                return Err(out_of_range(format!("port {port} does not fit {PORT_BITS} bits")));
            }
            let rid = u16::try_from(r.instance).map_err(|_| out_of_range("an instance of more than 16 bits"))?;
            if !seen.insert((port, rid)) {
                return Err(invalid(format!("port {port} with instance {rid} is there twice")));
            }
            Ok(Replica { rid, port: port as u16 })
        })
        .collect()
}
