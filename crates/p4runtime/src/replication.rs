//! Multicast groups and clone sessions (P4Runtime 9.5).
//!
//! A clone session with several copies is a multicast group of its own: numbers from 32,768 are for these.

use std::collections::BTreeSet;

use hopwright_dataplane::{CloneSession, Replica};

use crate::bytes;
use crate::failure::{Result, bad_number, exists, invalid, not_found, out_of_range, unimplemented};
use crate::proto::v1;
use crate::state::{State, UndoLog};
use v1::packet_replication_engine_entry::Type as Kind;
use v1::update::Type;

/// First multicast group of clone sessions.
const FIRST_OF_CLONES: u32 = 0x8000;
/// Bits of a port number.
const PORT_BITS: u32 = 9;
/// The most copies of a group.
const MAX_REPLICAS: usize = 1024;

impl State {
    pub(crate) fn write_replication(
        &mut self,
        kind: Type,
        said: &v1::PacketReplicationEngineEntry,
        log: UndoLog,
    ) -> Result<()> {
        match said.r#type.as_ref() {
            Some(Kind::MulticastGroupEntry(group)) => self.write_group(kind, group, log),
            Some(Kind::CloneSessionEntry(session)) => self.write_session(kind, session, log),
            None => Err(invalid("neither a multicast group nor a clone session")),
        }
    }

    fn write_group(&mut self, kind: Type, said: &v1::MulticastGroupEntry, log: UndoLog) -> Result<()> {
        let id = said.multicast_group_id;
        if id == 0 || id >= FIRST_OF_CLONES {
            return Err(invalid(format!("multicast groups are numbered from 1 to {}", FIRST_OF_CLONES - 1)));
        }
        check("multicast group", kind, id, self.groups.contains_key(&id))?;
        let new = (kind != Type::Delete).then(|| said.clone());
        let old = self.set_group(id, new)?;
        if let Some(log) = log {
            log.push(Box::new(move |state| {
                let _ = state.set_group(id, old);
            }));
        }
        Ok(())
    }

    /// Sets or removes a group. Returns the previous one.
    pub(crate) fn set_group(
        &mut self,
        id: u32,
        group: Option<v1::MulticastGroupEntry>,
    ) -> Result<Option<v1::MulticastGroupEntry>> {
        let replicas = group.as_ref().map(|g| replicas(&g.replicas)).transpose()?;
        self.vdp.control().set_multicast_group(id as u16, replicas)?;
        Ok(match group {
            Some(group) => self.groups.insert(id, group),
            None => self.groups.remove(&id),
        })
    }

    fn write_session(&mut self, kind: Type, said: &v1::CloneSessionEntry, log: UndoLog) -> Result<()> {
        let id = said.session_id;
        if id == 0 || id >= FIRST_OF_CLONES {
            return Err(invalid(format!("clone sessions are numbered from 1 to {}", FIRST_OF_CLONES - 1)));
        }
        if said.class_of_service != 0 {
            return Err(unimplemented("classes of service of clones are not supported"));
        }
        if said.packet_length_bytes < 0 {
            return Err(invalid("a negative packet length"));
        }
        check("clone session", kind, id, self.sessions.contains_key(&id))?;
        let new = (kind != Type::Delete).then(|| said.clone());
        let old = self.set_session(id, new)?;
        if let Some(log) = log {
            log.push(Box::new(move |state| {
                let _ = state.set_session(id, old);
            }));
        }
        Ok(())
    }

    /// Sets or removes a session. Returns the previous one.
    pub(crate) fn set_session(
        &mut self,
        id: u32,
        session: Option<v1::CloneSessionEntry>,
    ) -> Result<Option<v1::CloneSessionEntry>> {
        let group = (FIRST_OF_CLONES + id) as u16;
        let replicas = session.as_ref().map(|s| replicas(&s.replicas)).transpose()?;
        let to = session.as_ref().map(|s| CloneSession {
            port: None,
            group: Some(group),
            truncate: u32::try_from(s.packet_length_bytes).ok().filter(|n| *n != 0),
        });
        // Without the session, nothing leads to its group.
        self.vdp.control().set_multicast_group(group, replicas)?;
        self.vdp.control().set_clone_session(id, to)?;
        Ok(match session {
            Some(session) => self.sessions.insert(id, session),
            None => self.sessions.remove(&id),
        })
    }
}

fn check(what: &str, kind: Type, id: u32, is_there: bool) -> Result<()> {
    match (kind, is_there) {
        (Type::Insert, true) => Err(exists(format!("there is a {what} {id} already"))),
        (Type::Modify | Type::Delete, false) => Err(not_found(format!("there is no {what} {id}"))),
        _ => Ok(()),
    }
}

fn replicas(said: &[v1::Replica]) -> Result<Vec<Replica>> {
    use v1::replica::PortKind;
    if said.len() > MAX_REPLICAS {
        return Err(invalid(format!("more than {MAX_REPLICAS} copies")));
    }
    let mut seen = BTreeSet::new();
    said.iter()
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
