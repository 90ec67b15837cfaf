//! Digests on their way to the controller: collected into lists, and not sent again while a list with the same data waits for its
//! acknowledgement (P4Runtime 9.8).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::bytes::Bytes;
use hopwright_dataplane::Digest;
use num_bigint::BigUint;
use prost::Message;

use crate::bytes;
use crate::change::Change;
use crate::failure::{Failure, Result, exists, invalid, not_found};
use crate::listing;
use crate::program::Program;
use crate::proto::config::p4_bitstring_like_type_spec::TypeSpec as Bits;
use crate::proto::config::p4_new_type_spec::Representation;
use crate::proto::config::{self as p4, p4_data_type_spec::TypeSpec};
use crate::proto::v1;
use crate::state::State;
use v1::p4_data::Data;
use v1::update::Type;

/// The most lists of one digest that are remembered until they are acknowledged.
const MAX_UNACKED: usize = 1024;
/// The most digests in a list, whatever the controller's configuration.
const MAX_LIST: usize = 1024;
/// The deepest nesting of types.
const MAX_DEPTH: u32 = 16;

/// The digests that controllers have enabled.
#[derive(Default)]
pub(crate) struct Digests {
    /// Enabled digests, by id.
    active: BTreeMap<u32, Active>,
    /// Ids and types by name.
    known: HashMap<String, (u32, Option<p4::P4DataTypeSpec>)>,
    types: Arc<p4::P4TypeInfo>,
    /// The number of the next list.
    lists: u64,
}

/// An enabled digest.
pub(crate) struct Active {
    config: v1::digest_entry::Config,
    waiting: Vec<v1::P4Data>,
    since: Instant,
    /// Unacknowledged lists: when they were sent, and their data.
    unacked: BTreeMap<u64, (Instant, Vec<Vec<u8>>)>,
    /// All data of these lists and of the list being filled.
    seen: HashSet<Vec<u8>>,
}

impl Digests {
    /// A state with nothing enabled.
    pub(crate) fn new(program: &Program) -> Digests {
        let info = program.config.p4info.clone().unwrap_or_default();
        let known = info
            .digests
            .iter()
            .filter_map(|d| Some((d.preamble.as_ref()?.name.clone(), (d.preamble.as_ref()?.id, d.type_spec.clone()))));
        Digests { known: known.collect(), types: Arc::new(info.type_info.unwrap_or_default()), ..Digests::default() }
    }

    /// Whether there is a digest with this id.
    pub(crate) fn is_known(&self, id: u32) -> bool {
        self.known.values().any(|(known, _)| *known == id)
    }

    /// There is no digest with this id.
    pub(crate) fn unknown(&self, id: u32) -> Failure {
        let those = listing::numbered(id, self.known.iter().map(|(name, (id, _))| (*id, name.as_str())));
        not_found(format!("the program has no digest with id {id:#x}{those}"))
    }

    /// The configurations of enabled digests.
    pub(crate) fn configs(&self) -> impl Iterator<Item = (u32, &v1::digest_entry::Config)> {
        self.active.iter().map(|(id, a)| (*id, &a.config))
    }

    /// Adds a digest of the program. Returns the list if it is full.
    pub(crate) fn add(&mut self, digest: &Digest, now: Instant) -> Option<v1::DigestList> {
        let (id, spec) = self.known.get(&digest.name)?;
        let id = *id;
        let active = self.active.get_mut(&id)?;
        let mut fields = digest.data.iter().map(|v| (&v.bits, v.width));
        let data = value(spec.as_ref(), &self.types, &mut fields, 0);
        let encoded = data.encode_to_vec();
        if active.config.ack_timeout_ns > 0 && !active.seen.insert(encoded) {
            return None;
        }
        if active.waiting.is_empty() {
            active.since = now;
        }
        active.waiting.push(data);
        let most = usize::try_from(active.config.max_list_size).unwrap_or(0);
        let most = if most == 0 { MAX_LIST } else { most.min(MAX_LIST) };
        let at_once = active.config.max_timeout_ns <= 0;
        (at_once || active.waiting.len() >= most).then(|| self.send(id, now)).flatten()
    }

    /// Lists whose timeout has expired. Forgets lists whose acknowledgement is overdue.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<v1::DigestList> {
        let mut due = Vec::new();
        for (id, active) in &mut self.active {
            let timeout = Duration::from_nanos(active.config.max_timeout_ns.max(0) as u64);
            if !active.waiting.is_empty() && now.duration_since(active.since) >= timeout {
                due.push(*id);
            }
            let overdue = Duration::from_nanos(active.config.ack_timeout_ns.max(0) as u64);
            let Active { unacked, seen, .. } = active;
            unacked.retain(|_, (sent, data)| {
                let keep = now.duration_since(*sent) < overdue;
                if !keep {
                    data.iter().for_each(|d| {
                        seen.remove(d);
                    });
                }
                keep
            });
        }
        due.into_iter().filter_map(|id| self.send(id, now)).collect()
    }

    fn send(&mut self, id: u32, now: Instant) -> Option<v1::DigestList> {
        let active = self.active.get_mut(&id)?;
        self.lists += 1;
        let data = std::mem::take(&mut active.waiting);
        if active.config.ack_timeout_ns > 0 {
            if active.unacked.len() >= MAX_UNACKED
                && let Some((_, (_, oldest))) = active.unacked.pop_first()
            {
                oldest.iter().for_each(|d| {
                    active.seen.remove(d);
                });
            }
            active.unacked.insert(self.lists, (now, data.iter().map(Message::encode_to_vec).collect()));
        }
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
        Some(v1::DigestList { digest_id: id, list_id: self.lists, data, timestamp })
    }

    /// Acknowledges a list.
    ///
    /// # Errors
    /// If no such digest is enabled.
    pub(crate) fn acknowledge(&mut self, ack: &v1::DigestListAck) -> Result<()> {
        let active = self.active.get_mut(&ack.digest_id);
        let active = active.ok_or_else(|| not_found(format!("digest {:#x} is not on", ack.digest_id)))?;
        // An unknown list was acknowledged after it was forgotten, which is no error of the controller.
        if let Some((_, data)) = active.unacked.remove(&ack.list_id) {
            data.iter().for_each(|d| {
                active.seen.remove(d);
            });
        }
        Ok(())
    }

    /// Enables, reconfigures or disables a digest. Returns the inverse.
    pub(crate) fn configure(&mut self, id: u32, to: Option<v1::digest_entry::Config>) -> Change {
        match (to, self.active.get_mut(&id)) {
            (Some(config), Some(active)) => Change::Digest(id, Some(std::mem::replace(&mut active.config, config))),
            (Some(config), None) => {
                let active = Active {
                    config,
                    waiting: Vec::new(),
                    since: Instant::now(),
                    unacked: BTreeMap::new(),
                    seen: HashSet::new(),
                };
                self.active.insert(id, active);
                Change::Digest(id, None)
            }
            (None, _) => match self.active.remove(&id) {
                Some(active) => Change::RestoreDigest(id, Box::new(active)),
                None => Change::Digest(id, None),
            },
        }
    }

    /// Enables a digest as it was.
    pub(crate) fn restore(&mut self, id: u32, active: Active) {
        self.active.insert(id, active);
    }
}

impl State {
    pub(crate) fn plan_digest(&self, kind: Type, entry: &v1::DigestEntry) -> Result<Vec<Change>> {
        let id = entry.digest_id;
        if !self.digests.is_known(id) {
            return Err(self.digests.unknown(id));
        }
        let config = entry.config.unwrap_or_default();
        if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
            return Err(invalid("a digest's timeouts and list size must not be negative"));
        }
        match (kind, self.digests.active.contains_key(&id)) {
            (Type::Insert, true) => Err(exists(format!("digest {id:#x} is on already"))),
            (Type::Modify | Type::Delete, false) => Err(not_found(format!("digest {id:#x} is not on"))),
            _ => Ok(vec![Change::Digest(id, (kind != Type::Delete).then_some(config))]),
        }
    }
}

/// A value of a type from its scalars, first member first.
fn value<'a>(
    spec: Option<&p4::P4DataTypeSpec>,
    types: &p4::P4TypeInfo,
    fields: &mut dyn Iterator<Item = (&'a BigUint, u32)>,
    depth: u32,
) -> v1::P4Data {
    let number = |fields: &mut dyn Iterator<Item = (&'a BigUint, u32)>| {
        fields.next().map_or_else(|| Bytes::from_static(&[0]), |(bits, _)| bytes::of(bits))
    };
    let data = match spec.and_then(|s| s.type_spec.as_ref()) {
        _ if depth > MAX_DEPTH => None,
        Some(TypeSpec::Bool(_)) => Some(Data::Bool(fields.next().is_some_and(|(bits, _)| *bits != BigUint::ZERO))),
        Some(TypeSpec::SerializableEnum(_)) => Some(Data::EnumValue(number(fields))),
        Some(TypeSpec::NewType(name)) => {
            match types.new_types.get(&name.name).and_then(|t| t.representation.as_ref()) {
                Some(Representation::OriginalType(spec)) => return value(Some(spec), types, fields, depth + 1),
                _ => Some(Data::Bitstring(number(fields))),
            }
        }
        Some(TypeSpec::Enum(name)) => {
            let members = types.enums.get(&name.name).map(|e| e.members.as_slice()).unwrap_or_default();
            let at = fields.next().and_then(|(bits, _)| usize::try_from(bits).ok());
            at.and_then(|at| members.get(at)).map(|m| Data::Enum(m.name.clone()))
        }
        Some(TypeSpec::Error(_)) => {
            let at = fields.next().and_then(|(bits, _)| usize::try_from(bits).ok());
            let name = types.error.as_ref().and_then(|e| e.members.get(at?));
            name.map(|name| Data::Error(name.clone()))
        }
        Some(TypeSpec::Struct(name)) => {
            let members = types.structs.get(&name.name).map(|s| s.members.as_slice()).unwrap_or_default();
            let members = members.iter().map(|m| value(m.type_spec.as_ref(), types, fields, depth + 1)).collect();
            Some(Data::Struct(v1::P4StructLike { members }))
        }
        Some(TypeSpec::Tuple(tuple)) => {
            let members = tuple.members.iter().map(|m| value(Some(m), types, fields, depth + 1)).collect();
            Some(Data::Tuple(v1::P4StructLike { members }))
        }
        Some(TypeSpec::Bitstring(p4::P4BitstringLikeTypeSpec { type_spec: Some(Bits::Varbit(_)), .. })) => fields
            .next()
            .map(|(bits, width)| Data::Varbit(v1::P4Varbit { bitstring: bytes::of(bits), bitwidth: width as i32 })),
        Some(TypeSpec::Bitstring(_)) => Some(Data::Bitstring(number(fields))),
        // Unknown types: all scalars as numbers.
        _ => {
            let members = fields.map(|(bits, _)| v1::P4Data { data: Some(Data::Bitstring(bytes::of(bits))) }).collect();
            Some(Data::Tuple(v1::P4StructLike { members }))
        }
    };
    v1::P4Data { data }
}
