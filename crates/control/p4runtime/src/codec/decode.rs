//! Messages to updates.

use std::collections::HashSet;
use std::time::Duration;

use ::bytes::Bytes;
use hopwright_control::entity::{
    Action, Call, Cells, CloneSession, DefaultEntry, DigestConfig, Entry, Key, Metadata, MulticastGroup, Replica,
};
use hopwright_control::schema::{Field, Table};
use hopwright_control::{Entity, Operation, PORT_BITS, Schema, Translate, Translated, Update, bad_number, bytes};
use hopwright_dataplane::{Count, Rates};
use hopwright_ir::{MatchValue, Type as IrType, bits};
use num_bigint::BigUint;

use crate::failure::{Failure, Result, invalid, unimplemented};
use crate::proto::v1;
use v1::entity::Entity as Message;
use v1::field_match::FieldMatchType as Wire;
use v1::p4_data::Data;
use v1::packet_replication_engine_entry::Type as Copies;
use v1::replica::PortKind;
use v1::table_action::Type as Acts;
use v1::update::Type;

/// What an update means.
///
/// # Errors
/// The message is malformed.
pub(crate) fn update(schema: &Schema, translate: &mut Translate<'_>, message: &v1::Update) -> Result<Update> {
    let entity = entity(message)?;
    let update = Update { operation: operation(message)?, entity: Decoder { schema, translate }.entity(entity)? };
    check_numbers(&update.entity)?;
    Ok(update)
}

/// Checks what controllers must observe that the model does not demand.
///
/// # Errors
/// A number is zero, or a copy is there twice.
fn check_numbers(entity: &Entity) -> Result<()> {
    match entity {
        Entity::Member { id: 0, .. } => Err(invalid("a member has a number above zero")),
        Entity::Group { id: 0, .. } => Err(invalid("a group has a number above zero")),
        other => check_copies(other),
    }
}

/// The part of it that is not P4Runtime's only: members and groups of other protocols are numbered from zero.
///
/// # Errors
/// A clone session is zero, or a copy is there twice.
pub(crate) fn check_copies(entity: &Entity) -> Result<()> {
    match entity {
        Entity::CloneSession(0, _) => Err(invalid("clone sessions are numbered from 1 to 32767")),
        Entity::Multicast(_, MulticastGroup { copies, .. }) | Entity::CloneSession(_, CloneSession { copies, .. }) => {
            let mut seen = HashSet::new();
            match copies.iter().find(|copy| !seen.insert((copy.port, copy.instance))) {
                Some(Replica { port, instance, .. }) => {
                    Err(invalid(format!("port {port} with instance {instance} is there twice")))
                }
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// What an update is about.
///
/// # Errors
/// The message has no entity.
pub(crate) fn entity(message: &v1::Update) -> Result<&Message> {
    message.entity.as_ref().and_then(|e| e.entity.as_ref()).ok_or_else(|| invalid("the update has no entity"))
}

fn operation(message: &v1::Update) -> Result<Operation> {
    match Type::try_from(message.r#type).unwrap_or(Type::Unspecified) {
        Type::Unspecified => Err(invalid("the type of the update is missing")),
        Type::Insert => Ok(Operation::Insert),
        Type::Modify => Ok(Operation::Modify),
        Type::Delete => Ok(Operation::Delete),
    }
}

/// The matches of an entry, by field id.
pub(crate) fn fields(
    schema: &Schema,
    translate: &mut Translate<'_>,
    table: &Table,
    message: &[v1::FieldMatch],
) -> Result<Vec<(u32, MatchValue)>> {
    Decoder { schema, translate }.fields(&table.fields, message)
}

/// What an entry runs.
pub(crate) fn action(schema: &Schema, translate: &mut Translate<'_>, message: &v1::TableAction) -> Result<Action> {
    Decoder { schema, translate }.action(message)
}

struct Decoder<'d, 't> {
    schema: &'d Schema,
    translate: &'d mut Translate<'t>,
}

impl Decoder<'_, '_> {
    fn entity(&mut self, message: &Message) -> Result<Entity> {
        Ok(match message {
            Message::TableEntry(m) if m.is_default_action => Entity::Default(self.default_entry(m)?),
            Message::TableEntry(m) => Entity::Entry(self.entry(m)?),
            Message::CounterEntry(m) => Entity::Counter(cells(m.counter_id, m.index.as_ref())?, counted(m.data)?),
            Message::DirectCounterEntry(m) => {
                Entity::DirectCounter(self.key_of(m.table_entry.as_ref(), "counted")?, counted(m.data)?)
            }
            Message::MeterEntry(m) => {
                no_counters(m.counter_data.is_some())?;
                Entity::Meter(cells(m.meter_id, m.index.as_ref())?, m.config.map(rates).transpose()?)
            }
            Message::DirectMeterEntry(m) => {
                no_counters(m.counter_data.is_some())?;
                let key = self.key_of(m.table_entry.as_ref(), "measured")?;
                Entity::DirectMeter(key, m.config.map(rates).transpose()?)
            }
            Message::RegisterEntry(m) => {
                let value = m.data.as_ref().map_or(Ok(BigUint::ZERO), |data| self.data(m.register_id, data))?;
                Entity::Register(cells(m.register_id, m.index.as_ref())?, value)
            }
            Message::ValueSetEntry(m) => {
                let fields = self.schema.value_sets.get(&m.value_set_id).map_or(&[][..], |set| &set.fields);
                let members = m.members.iter().map(|member| self.fields(fields, &member.r#match));
                Entity::ValueSet(m.value_set_id, members.collect::<Result<_>>()?)
            }
            Message::ActionProfileMember(m) if m.member_id == 0 => {
                return Err(invalid("a member has a number above zero"));
            }
            Message::ActionProfileGroup(m) if m.group_id == 0 => {
                return Err(invalid("a group has a number above zero"));
            }
            Message::ActionProfileMember(m) => Entity::Member {
                profile: m.action_profile_id,
                id: m.member_id,
                action: m.action.as_ref().map(|action| self.call(action)).transpose()?,
            },
            Message::ActionProfileGroup(m) => group(m)?,
            Message::PacketReplicationEngineEntry(m) => match m.r#type.as_ref() {
                Some(Copies::MulticastGroupEntry(m)) => {
                    let group = MulticastGroup { copies: self.copies(&m.replicas)?, metadata: m.metadata.clone() };
                    Entity::Multicast(m.multicast_group_id, group)
                }
                Some(Copies::CloneSessionEntry(m)) => Entity::CloneSession(m.session_id, self.session(m)?),
                None => return Err(invalid("neither a multicast group nor a clone session")),
            },
            Message::DigestEntry(m) => Entity::Digest(m.digest_id, digest_config(m.config.unwrap_or_default())?),
            Message::ExternEntry(_) => {
                return Err(unimplemented("extern objects of other architectures are not supported"));
            }
        })
    }

    fn default_entry(&mut self, m: &v1::TableEntry) -> Result<DefaultEntry> {
        if !m.r#match.is_empty() || m.priority != 0 || m.idle_timeout_ns != 0 {
            return Err(invalid("a default entry has no match fields, priority or idle timeout"));
        }
        no_counters(m.meter_counter_data.is_some())?;
        if m.counter_data.is_some() || m.meter_config.is_some() {
            return Err(invalid("default entries are neither counted nor measured"));
        }
        let action = match m.action.as_ref().map(|a| &a.r#type) {
            None => None,
            Some(Some(Acts::Action(action))) => Some(self.call(action)?),
            Some(Some(_)) => return Err(invalid("a default entry names an action")),
            Some(None) => return Err(invalid("no action")),
        };
        Ok(DefaultEntry { table: m.table_id, action, metadata: metadata(m) })
    }

    fn entry(&mut self, m: &v1::TableEntry) -> Result<Entry> {
        no_counters(m.meter_counter_data.is_some())?;
        let idle = u64::try_from(m.idle_timeout_ns).map_err(|_| invalid("an idle timeout below zero"))?;
        Ok(Entry {
            key: self.key(m)?,
            action: m.action.as_ref().map(|action| self.action(action)).transpose()?,
            count: m.counter_data.as_ref().map(|_| counted(m.counter_data)).transpose()?,
            rates: m.meter_config.map(rates).transpose()?,
            metadata: metadata(m),
            idle_timeout: Duration::from_nanos(idle),
        })
    }

    fn key(&mut self, m: &v1::TableEntry) -> Result<Key> {
        let fields = self.schema.tables.get(&m.table_id).map_or(&[][..], |table| &table.fields);
        let fields = self.fields(fields, &m.r#match)?;
        Ok(Key { table: m.table_id, fields, priority: m.priority })
    }

    /// The key of a direct resource.
    fn key_of(&mut self, m: Option<&v1::TableEntry>, what: &str) -> Result<Key> {
        let m = m.ok_or_else(|| invalid("no table entry"))?;
        if m.is_default_action {
            return Err(invalid(format!("default entries are not {what}")));
        }
        self.key(m)
    }

    fn fields(&mut self, fields: &[Field], message: &[v1::FieldMatch]) -> Result<Vec<(u32, MatchValue)>> {
        let one = |m: &v1::FieldMatch| {
            let field = fields.iter().find(|f| f.id == m.field_id);
            let name = || field.map_or_else(|| format!("match field {}", m.field_id), |f| f.name.clone());
            let whole = field.and_then(Field::translated);
            let part = whole.map(|place| Translated { whole: false, ..place });
            let wide = whole.and_then(|place| self.schema.translated_types[place.ty].wide());
            let width = field.map_or(0, |f| f.width);
            let mut number = |place, bytes: &Bytes| self.number(place, name, bytes);
            let value = match m.field_match_type.as_ref() {
                Some(Wire::Exact(m)) => MatchValue::Exact(number(whole, &m.value)?),
                Some(Wire::Optional(m)) => MatchValue::Optional(Some(number(whole, &m.value)?)),
                // All bits of a controller's number are a whole value.
                Some(Wire::Lpm(m)) if wide.is_some_and(|wide| u32::try_from(m.prefix_len) == Ok(wide)) => {
                    MatchValue::Lpm { value: number(whole, &m.value)?, prefix_len: width }
                }
                Some(Wire::Ternary(m))
                    if wide.is_some_and(|wide| BigUint::from_bytes_be(&m.mask) == bits::mask(wide)) =>
                {
                    MatchValue::Ternary { value: number(whole, &m.value)?, mask: bits::mask(width) }
                }
                Some(Wire::Lpm(m)) => MatchValue::Lpm {
                    value: number(part, &m.value)?,
                    prefix_len: u32::try_from(m.prefix_len)
                        .map_err(|_| invalid(format!("`{}`: a prefix length below zero", name())))?,
                },
                Some(Wire::Ternary(m)) => {
                    MatchValue::Ternary { value: number(part, &m.value)?, mask: number(part, &m.mask)? }
                }
                Some(Wire::Range(m)) => MatchValue::Range { lo: number(part, &m.low)?, hi: number(part, &m.high)? },
                _ => return Err(invalid(format!("`{}`: no match", name()))),
            };
            Ok((m.field_id, value))
        };
        message.iter().map(one).collect()
    }

    fn action(&mut self, message: &v1::TableAction) -> Result<Action> {
        Ok(match message.r#type.as_ref().ok_or_else(|| invalid("no action"))? {
            Acts::Action(action) => Action::Call(self.call(action)?),
            Acts::ActionProfileMemberId(id) => Action::Member(*id),
            Acts::ActionProfileGroupId(id) => Action::Group(*id),
            Acts::ActionProfileActionSet(set) => {
                use v1::action_profile_action::WatchKind;
                if set.action_selection_mode == v1::action_profile_action_set::ActionSelectionMode::Random as i32 {
                    return Err(unimplemented("a random choice of a set's actions is not supported yet"));
                }
                let one = |m: &v1::ActionProfileAction| {
                    no_watch(match &m.watch_kind {
                        None | Some(WatchKind::Watch(0)) => true,
                        Some(WatchKind::WatchPort(port)) => port.is_empty(),
                        Some(_) => false,
                    })?;
                    let action = m.action.as_ref().ok_or_else(|| invalid("an action of a set is missing"))?;
                    Ok((self.call(action)?, weight(m.weight)?))
                };
                Action::Set(set.action_profile_actions.iter().map(one).collect::<Result<_>>()?)
            }
        })
    }

    fn call(&mut self, message: &v1::Action) -> Result<Call> {
        let (schema, action) = (self.schema, message.action_id);
        let one = |param: &v1::action::Param| {
            let id = param.param_id;
            let place = schema.translated_param(action, id);
            let name = || schema.param(action, id).map_or_else(|| format!("parameter {id}"), |p| p.name.clone());
            Ok((id, self.number(place, name, &param.value)?))
        };
        Ok(Call { action, args: message.params.iter().map(one).collect::<Result<_>>()? })
    }

    /// A number, or a translated value. `name` is for messages.
    fn number(&mut self, place: Option<Translated<'_>>, name: impl Fn() -> String, bytes: &[u8]) -> Result<BigUint> {
        match place {
            Some(place) => Ok((self.translate)(place, bytes)?),
            None => Ok(bytes::number(bytes, u32::MAX).map_err(|e| bad_number(&name(), u32::MAX, e))?),
        }
    }

    /// The value of a register.
    fn data(&mut self, register: u32, data: &v1::P4Data) -> Result<BigUint> {
        let known = self.schema.registers.get(&register);
        match (&data.data, known.map(|r| r.ty)) {
            (Some(Data::Bool(b)), Some(IrType::Bool) | None) => Ok(u8::from(*b).into()),
            (Some(Data::Bitstring(b) | Data::EnumValue(b)), _) => {
                let place =
                    known.and_then(|r| Some(Translated { ty: r.translated?, whole: true, name: &r.cells.name }));
                self.number(place, || known.map_or_else(String::new, |r| r.cells.name.clone()), b)
            }
            _ => {
                let (name, bits) = known.map_or(("", 0), |r| (r.cells.name.as_str(), r.ty.width()));
                Err(invalid(format!("`{name}` holds numbers of {bits} bits")))
            }
        }
    }

    fn session(&mut self, m: &v1::CloneSessionEntry) -> Result<CloneSession> {
        if m.class_of_service != 0 {
            return Err(unimplemented("classes of service of clones are not supported"));
        }
        let max_length = u32::try_from(m.packet_length_bytes).map_err(|_| invalid("a negative packet length"))?;
        Ok(CloneSession { copies: self.copies(&m.replicas)?, group: None, max_length })
    }

    fn copies(&mut self, replicas: &[v1::Replica]) -> Result<Vec<Replica>> {
        let one = |m: &v1::Replica| {
            if !m.backup_replicas.is_empty() {
                return Err(unimplemented("backup replicas are not supported"));
            }
            // Clients of P4Runtime before 1.4 write port 0 as nothing.
            let (port, port_is_typed) = match m.port_kind.as_ref().unwrap_or(&PortKind::EgressPort(0)) {
                PortKind::EgressPort(port) => match self.schema.renumbered_port() {
                    Some(place) => {
                        ((self.translate)(place, &port.to_be_bytes())?.try_into().unwrap_or(u32::MAX), false)
                    }
                    None => (*port, false),
                },
                PortKind::Port(bytes) => {
                    let number = match self.schema.translated_port() {
                        Some(place) => (self.translate)(place, bytes)?,
                        None => bytes::number(bytes, PORT_BITS).map_err(|e| bad_number("port", PORT_BITS, e))?,
                    };
                    (u32::try_from(number).unwrap_or(u32::MAX), true)
                }
            };
            Ok(Replica { port, instance: m.instance, port_is_typed })
        };
        replicas.iter().map(one).collect()
    }
}

fn metadata(m: &v1::TableEntry) -> Metadata {
    Metadata { number: m.controller_metadata, bytes: m.metadata.clone() }
}

fn group(m: &v1::ActionProfileGroup) -> Result<Entity> {
    use v1::action_profile_group::member::WatchKind;
    let max_size = u32::try_from(m.max_size).map_err(|_| invalid("a maximum size below zero"))?;
    let member = |m: &v1::action_profile_group::Member| {
        no_watch(match &m.watch_kind {
            None | Some(WatchKind::Watch(0)) => true,
            Some(WatchKind::WatchPort(port)) => port.is_empty(),
            Some(_) => false,
        })?;
        Ok((m.member_id, weight(m.weight)?))
    };
    let members = m.members.iter().map(member).collect::<Result<_>>()?;
    Ok(Entity::Group { profile: m.action_profile_id, id: m.group_id, members, max_size })
}

/// Clients may express "no watch port" by number 0 or an empty name.
fn no_watch(none: bool) -> Result<()> {
    if none {
        return Ok(());
    }
    Err(unimplemented("members that are only used while a port is up (`watch`) are not supported yet"))
}

fn weight(weight: i32) -> Result<u32> {
    u32::try_from(weight).map_err(|_| invalid("a weight must be above zero"))
}

fn cells(object: u32, index: Option<&v1::Index>) -> Result<Cells> {
    Ok(Cells { object, index: self::index(index)? })
}

/// The index of a cell; `None` for all cells.
pub(crate) fn index(message: Option<&v1::Index>) -> Result<Option<u64>> {
    message.map(|m| u64::try_from(m.index).map_err(|_| invalid("a negative index"))).transpose()
}

fn counted(data: Option<v1::CounterData>) -> Result<Count> {
    let number = |n: i64| u64::try_from(n).map_err(|_| invalid("a count below zero"));
    let data = data.unwrap_or_default();
    Ok(Count { packets: number(data.packet_count)?, bytes: number(data.byte_count)? })
}

fn rates(m: v1::MeterConfig) -> Result<Rates> {
    if m.eburst != 0 {
        return Err(invalid("an excess burst is for meters of one rate"));
    }
    let number = |n: i64| u64::try_from(n).map_err(|_| invalid("a rate or burst below zero"));
    Ok(Rates { cir: number(m.cir)?, cburst: number(m.cburst)?, pir: number(m.pir)?, pburst: number(m.pburst)? })
}

fn no_counters(request: bool) -> Result<()> {
    if request { Err(unimplemented("counters of meters are not supported yet")) } else { Ok(()) }
}

fn digest_config(m: v1::digest_entry::Config) -> Result<DigestConfig> {
    let negative = |_| -> Failure { invalid("a digest's timeouts and list size must not be negative") };
    let timeout = |ns: i64| u64::try_from(ns).map(Duration::from_nanos).map_err(negative);
    Ok(DigestConfig {
        max_timeout: timeout(m.max_timeout_ns)?,
        max_list: u32::try_from(m.max_list_size).map_err(negative)?,
        ack_timeout: timeout(m.ack_timeout_ns)?,
    })
}
