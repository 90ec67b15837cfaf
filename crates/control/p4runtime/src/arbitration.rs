//! Elects primaries: one controller for each role of a device may write (P4Runtime section 5). Pure bookkeeping; streams live in
//! `service`, what a role may do in `role`.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tonic::{Code, Status};

use crate::failure::{Failure, Result, denied, exhausted, invalid, precondition};
use crate::proto::{rpc, v1};
use crate::role::{Rights, RoleConfig};

/// A message on a stream to its client.
pub(crate) type Outgoing = std::result::Result<v1::StreamMessageResponse, Status>;

/// The most streams of one device.
const MAX_STREAMS: usize = 64;
/// The most roles of one device.
const MAX_ROLES: usize = 64;

/// Identifies a stream.
pub(crate) type StreamId = u64;

/// The controllers of a device.
#[derive(Debug, Default)]
pub(crate) struct Elections {
    roles: BTreeMap<String, Role>,
}

#[derive(Debug, Default)]
struct Role {
    /// The configuration that the last primary gave.
    request: Option<v1::Role>,
    config: Option<Arc<RoleConfig>>,
    /// The highest election id ever seen.
    highest: Option<u128>,
    primary: Option<StreamId>,
    streams: BTreeMap<StreamId, Controller>,
}

#[derive(Debug)]
struct Controller {
    election_id: Option<u128>,
    to: Sender<Outgoing>,
}

/// The election id in a message.
pub(crate) fn number(id: &v1::Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

pub(crate) fn wire(id: u128) -> v1::Uint128 {
    v1::Uint128 { high: (id >> 64) as u64, low: id as u64 }
}

/// A role's name, or a generated one for roles that only have a number.
pub(crate) fn role_name(name: &str, id: u64) -> String {
    match (name, id) {
        ("", 0) => String::new(),
        ("", id) => format!("#{id}"),
        (name, _) => name.to_string(),
    }
}

impl Elections {
    /// Handles a client's arbitration request, and notifies all clients concerned.
    ///
    /// # Errors
    /// Errors that end the client's stream: an election id in use, a change of role, too many streams.
    pub(crate) fn update(
        &mut self,
        device: u64,
        stream: StreamId,
        request: &v1::MasterArbitrationUpdate,
        to: &Sender<Outgoing>,
    ) -> Result<()> {
        let role = request.role.as_ref().map(|r| role_name(&r.name, r.id)).unwrap_or_default();
        let config = request.role.as_ref().and_then(|r| r.config.as_ref()).map(RoleConfig::parse).transpose()?;
        self.check_config(&role, config.as_ref())?;
        let before = self.roles.iter().find(|(_, r)| r.streams.contains_key(&stream)).map(|(name, _)| name);
        if before.is_some_and(|before| *before != role) {
            return Err(precondition("a stream keeps its role"));
        }
        if before.is_none() && self.roles.values().map(|r| r.streams.len()).sum::<usize>() >= MAX_STREAMS {
            return Err(exhausted(format!("the device has {MAX_STREAMS} streams already")));
        }
        if !self.roles.contains_key(&role) && self.roles.len() >= MAX_ROLES {
            // Unused roles make room, with the highest election ids they have seen.
            self.roles.retain(|_, r| !r.streams.is_empty());
            if self.roles.len() >= MAX_ROLES {
                return Err(exhausted(format!("the device has {MAX_ROLES} roles already")));
            }
        }
        let election_id = request.election_id.as_ref().map(number);
        let role = self.roles.entry(role).or_default();
        let taken = |(id, c): (&StreamId, &Controller)| *id != stream && c.election_id == election_id;
        if election_id.is_some() && role.streams.iter().any(taken) {
            // The wording that clients expect.
            let id = election_id.unwrap_or_default();
            return Err(invalid(format!("election id {id} is used: it exists on another stream of this role")));
        }
        let was = role.primary;
        role.streams.insert(stream, Controller { election_id, to: to.clone() });
        match election_id {
            Some(id) if role.highest.is_none_or(|highest| id >= highest) => {
                role.highest = Some(id);
                role.primary = Some(stream);
            }
            _ if was == Some(stream) => role.primary = None,
            _ => {}
        }
        if role.primary == Some(stream) || role.request.is_none() {
            // The primary's configuration is in force.
            role.request = request.role.clone();
            role.config = config.map(Arc::new);
        }
        if role.primary != was {
            role.tell_all(device)
        } else {
            role.notify(device, stream)
        }
        Ok(())
    }

    /// Checks that a role may have this configuration.
    fn check_config(&self, role: &str, config: Option<&RoleConfig>) -> Result<()> {
        let Some(config) = config else { return Ok(()) };
        if role.is_empty() {
            return Err(invalid("the default role may do everything: it takes no configuration"));
        }
        for (name, other) in self.roles.iter().filter(|(name, r)| *name != role && !r.streams.is_empty()) {
            if let Some(id) = other.config.as_ref().and_then(|other| config.conflict(other)) {
                return Err(invalid(format!("{id:#x} is exclusive to one of the roles `{role}` and `{name}`")));
            }
        }
        Ok(())
    }

    /// What a role may do.
    pub(crate) fn rights(&self, role: &str) -> Rights {
        let others = self.roles.iter().filter(|(name, r)| *name != role && !r.streams.is_empty());
        Rights {
            own: self.roles.get(role).and_then(|r| r.config.clone()),
            others: others.filter_map(|(_, r)| r.config.clone()).collect(),
        }
    }

    /// Removes a stream that has ended.
    pub(crate) fn leave(&mut self, device: u64, stream: StreamId) {
        for role in self.roles.values_mut() {
            if role.streams.remove(&stream).is_some() && role.primary == Some(stream) {
                role.primary = None;
                role.tell_all(device);
            }
        }
    }

    /// Checks that the client with this election id is primary of the role.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn check(&self, role: &str, election_id: Option<&v1::Uint128>) -> Result<()> {
        let Some(role) = self.roles.get(role) else { return Err(denied("nobody is primary: arbitrate first")) };
        let primary = role.primary.and_then(|p| role.streams.get(&p)?.election_id);
        match (primary, election_id.map(number)) {
            (Some(primary), Some(id)) if primary == id => Ok(()),
            (None, _) => Err(match role.highest {
                Some(highest) => {
                    denied(format!("nobody is primary: arbitrate with an election id of {highest} or more"))
                }
                None => denied("nobody is primary: arbitrate first"),
            }),
            (Some(_), _) => Err(denied("not the primary")),
        }
    }

    /// Whether a stream is primary of its role.
    pub(crate) fn is_primary(&self, stream: StreamId) -> bool {
        self.roles.values().any(|r| r.primary == Some(stream))
    }

    /// Sends a message to the primary of each role that may see it. Returns how many of them could not take it.
    pub(crate) fn send_to_primaries(&self, message: &v1::stream_message_response::Update) -> usize {
        self.roles
            .values()
            .filter_map(|r| {
                let controller = r.streams.get(&r.primary?)?;
                let part = r.config.as_ref().map_or_else(|| Some(message.clone()), |config| config.part(message))?;
                let message = v1::StreamMessageResponse { update: Some(part) };
                controller.to.try_send(Ok(message)).err()
            })
            .count()
    }

    /// Who is notified of idle entries at present.
    pub(crate) fn listeners(&self) -> Listeners {
        let primaries = self.roles.values().filter(|r| r.primary.is_some());
        Listeners(primaries.map(|r| r.config.clone()).collect())
    }

    /// Whether any role has a primary.
    pub(crate) fn has_primary(&self) -> bool {
        self.roles.values().any(|r| r.primary.is_some())
    }
}

/// The configurations of the roles that have a primary.
#[derive(Debug)]
pub(crate) struct Listeners(Vec<Option<Arc<RoleConfig>>>);

impl Listeners {
    /// Whether a primary receives messages about a table.
    pub(crate) fn has_listener(&self, table: u32) -> bool {
        self.0.iter().any(|config| config.as_ref().is_none_or(|config| config.lists(table)))
    }
}

impl Role {
    fn tell_all(&self, device: u64) {
        self.streams.keys().for_each(|stream| self.notify(device, *stream));
    }

    fn notify(&self, device: u64, stream: StreamId) {
        let Some(controller) = self.streams.get(&stream) else { return };
        let (code, message) = match self.primary {
            Some(primary) if primary == stream => (Code::Ok, "you are primary"),
            Some(_) => (Code::AlreadyExists, "another controller is primary"),
            None => (Code::NotFound, "nobody is primary"),
        };
        let update = v1::MasterArbitrationUpdate {
            device_id: device,
            role: self.request.clone(),
            election_id: self.highest.map(wire),
            status: Some(rpc::Status { code: code as i32, message: message.into(), details: Vec::new() }),
        };
        let update = v1::stream_message_response::Update::Arbitration(update);
        // A client that does not read misses the notification and learns it by its next request.
        let _ = controller.to.try_send(Ok(v1::StreamMessageResponse { update: Some(update) }));
    }
}

/// Converts a failure that concerns one message to an answer on the stream.
pub(crate) fn stream_error(failure: Failure, details: Option<v1::stream_error::Details>) -> v1::StreamMessageResponse {
    let error = v1::StreamError {
        canonical_code: failure.code as i32,
        message: failure.message,
        details,
        ..Default::default()
    };
    v1::StreamMessageResponse { update: Some(v1::stream_message_response::Update::Error(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{Receiver, channel};

    fn ask(id: Option<u128>) -> v1::MasterArbitrationUpdate {
        v1::MasterArbitrationUpdate { device_id: 1, election_id: id.map(wire), ..Default::default() }
    }

    /// The code and election id of the next message.
    fn reply(from: &mut Receiver<Outgoing>) -> (Code, Option<u128>) {
        let Some(v1::stream_message_response::Update::Arbitration(a)) = from.try_recv().unwrap().unwrap().update else {
            panic!("not about arbitration");
        };
        (Code::from_i32(a.status.unwrap().code), a.election_id.as_ref().map(number))
    }

    #[test]
    fn the_highest_id_ever_seen_decides() {
        let mut e = Elections::default();
        let (a, mut from_a) = channel(9);
        let (b, mut from_b) = channel(9);
        e.update(1, 1, &ask(Some(5)), &a).unwrap();
        assert_eq!(reply(&mut from_a), (Code::Ok, Some(5)));
        e.update(1, 2, &ask(Some(4)), &b).unwrap();
        assert_eq!(reply(&mut from_b), (Code::AlreadyExists, Some(5)));
        assert!(from_a.try_recv().is_err());
        let failure = e.update(1, 2, &ask(Some(5)), &b).unwrap_err();
        assert_eq!(failure.code, Code::InvalidArgument);

        e.update(1, 2, &ask(Some(6)), &b).unwrap();
        assert_eq!(reply(&mut from_b), (Code::Ok, Some(6)));
        assert_eq!(reply(&mut from_a), (Code::AlreadyExists, Some(6)));
        assert!(e.check("", Some(&wire(6))).is_ok());
        assert_eq!(e.check("", Some(&wire(5))).unwrap_err().code, Code::PermissionDenied);
        assert_eq!(e.check("", None).unwrap_err().code, Code::PermissionDenied);

        // There is no successor: the election id to exceed stays.
        e.leave(1, 2);
        assert_eq!(reply(&mut from_a), (Code::NotFound, Some(6)));
        e.update(1, 1, &ask(Some(5)), &a).unwrap();
        assert_eq!(reply(&mut from_a), (Code::NotFound, Some(6)));
        e.update(1, 1, &ask(Some(6)), &a).unwrap();
        assert_eq!(reply(&mut from_a), (Code::Ok, Some(6)));
        // The primary steps down.
        e.update(1, 1, &ask(None), &a).unwrap();
        assert_eq!(reply(&mut from_a), (Code::NotFound, Some(6)));
        assert!(!e.has_primary());
    }

    #[test]
    fn roles_are_apart_and_kept() {
        let mut e = Elections::default();
        let (a, _from_a) = channel(9);
        let (b, mut from_b) = channel(9);
        let mut other = ask(Some(1));
        other.role = Some(v1::Role { name: "acl".into(), ..Default::default() });
        e.update(1, 1, &ask(Some(9)), &a).unwrap();
        e.update(1, 2, &other, &b).unwrap();
        assert_eq!(reply(&mut from_b), (Code::Ok, Some(1)));
        assert_eq!(e.update(1, 2, &ask(Some(1)), &b).unwrap_err().code, Code::FailedPrecondition);
        assert!(e.check("acl", Some(&wire(1))).is_ok());
        assert!(e.check("", Some(&wire(9))).is_ok());
    }

    #[test]
    fn configurations_of_roles() {
        use crate::proto::stratum::P4RoleConfig;
        use prost::Message as _;

        let config = |exclusive: &[u32], shared: &[u32]| {
            let config = P4RoleConfig {
                exclusive_p4_ids: exclusive.to_vec(),
                shared_p4_ids: shared.to_vec(),
                ..Default::default()
            };
            let type_url = "type.googleapis.com/stratum.P4RoleConfig".into();
            prost_types::Any { type_url, value: config.encode_to_vec() }
        };
        let ask = |role: &str, id: u128, config: Option<prost_types::Any>| v1::MasterArbitrationUpdate {
            role: Some(v1::Role { name: role.into(), config, ..Default::default() }),
            ..ask(Some(id))
        };
        let mut e = Elections::default();
        let (a, _from_a) = channel(9);
        let (b, _from_b) = channel(9);
        let refused = |e: &mut Elections, request: v1::MasterArbitrationUpdate| {
            assert_eq!(e.update(1, 9, &request, &b).unwrap_err().code, Code::InvalidArgument, "{request:?}");
        };
        refused(&mut e, ask("", 1, Some(config(&[], &[]))));
        refused(&mut e, ask("x", 1, Some(config(&[1], &[1]))));
        refused(&mut e, ask("x", 1, Some(config(&[0], &[]))));
        refused(&mut e, ask("x", 1, Some(prost_types::Any { type_url: "x/y".into(), value: Vec::new() })));
        let damaged = prost_types::Any { value: vec![0xff; 3], ..config(&[], &[]) };
        refused(&mut e, ask("x", 1, Some(damaged)));

        e.update(1, 1, &ask("x", 1, Some(config(&[7], &[8]))), &a).unwrap();
        refused(&mut e, ask("y", 1, Some(config(&[7], &[]))));
        refused(&mut e, ask("y", 1, Some(config(&[], &[7]))));
        refused(&mut e, ask("y", 1, Some(config(&[8], &[]))));
        e.update(1, 2, &ask("y", 1, Some(config(&[], &[8]))), &b).unwrap();
        let own = |e: &Elections| e.rights("x").own.is_some_and(|own| own.exclusive.contains(&7));
        assert!(own(&e));
        assert_eq!(e.rights("").others.len(), 2);
        // A backup's configuration has no effect until it becomes primary.
        e.update(1, 3, &ask("x", 0, None), &b).unwrap();
        assert!(own(&e));
        e.update(1, 3, &ask("x", 2, None), &b).unwrap();
        assert!(!own(&e));
        // Roles without clients reserve nothing.
        e.leave(1, 2);
        assert!(e.rights("").others.is_empty());
    }
}
