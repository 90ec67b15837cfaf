//! Translates the messages of controllers: what they write into the data plane's values, and what they read back.
//!
//! One walk over a message finds its values of translated types; [`State`] has everything in the data plane's values.

use std::collections::HashSet;

use ::bytes::Bytes;
use num_bigint::BigUint;

use crate::bytes;
use crate::failure::{Failure, Result};
use crate::proto::config::p4_new_type_spec::Representation;
use crate::proto::config::{self as p4, p4_data_type_spec::TypeSpec};
use crate::proto::v1;
use crate::schema::{Field, Metadata, Schema, Table};
use crate::state::{Cell, State, Write};
use crate::translation::{Translated, Untranslated};
use v1::entity::Entity;
use v1::field_match::FieldMatchType as Wire;
use v1::p4_data::Data;
use v1::packet_replication_engine_entry::Type as Copies;
use v1::replica::PortKind;
use v1::table_action::Type as Acts;

/// The deepest nesting of types.
const MAX_DEPTH: u32 = 16;

/// A walk over messages.
struct Walk<'w, V> {
    schema: &'w Schema,
    visit: V,
}

type Walked<E> = std::result::Result<(), E>;

impl<E, V: FnMut(Translated<'_>, &mut Bytes) -> Walked<E>> Walk<'_, V> {
    fn entity(&mut self, entity: &mut Entity) -> Walked<E> {
        match entity {
            Entity::TableEntry(entry) => self.entry(entry),
            Entity::DirectCounterEntry(v1::DirectCounterEntry { table_entry, .. })
            | Entity::DirectMeterEntry(v1::DirectMeterEntry { table_entry, .. }) => {
                table_entry.iter_mut().try_for_each(|entry| self.entry(entry))
            }
            Entity::ActionProfileMember(member) => member.action.iter_mut().try_for_each(|a| self.action(a)),
            Entity::ValueSetEntry(entry) => {
                let Some((_, _, fields)) = self.schema.value_sets.get(&entry.value_set_id) else { return Ok(()) };
                entry.members.iter_mut().try_for_each(|m| self.fields(fields, &mut m.r#match))
            }
            Entity::RegisterEntry(entry) => {
                entry.data.iter_mut().try_for_each(|data| self.data_of(entry.register_id, data))
            }
            Entity::PacketReplicationEngineEntry(entry) => match &mut entry.r#type {
                Some(Copies::MulticastGroupEntry(group)) => self.replicas(&mut group.replicas),
                Some(Copies::CloneSessionEntry(session)) => self.replicas(&mut session.replicas),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn write(&mut self, write: &mut Write) -> Walked<E> {
        match write {
            Write::Update(update) => match update.entity.as_mut().and_then(|e| e.entity.as_mut()) {
                Some(entity) => self.entity(entity),
                None => Ok(()),
            },
            Write::EntryRegister { entry, register_id, data } => {
                self.entry(entry)?;
                self.data_of(*register_id, data)
            }
            Write::Setting { cell: Cell::Entry(entry), .. } => self.entry(entry),
            Write::Setting { .. } => Ok(()),
        }
    }

    fn entry(&mut self, entry: &mut v1::TableEntry) -> Walked<E> {
        if let Some(Table { fields, .. }) = self.schema.tables.get(&entry.table_id) {
            self.fields(fields, &mut entry.r#match)?;
        }
        match entry.action.as_mut().and_then(|a| a.r#type.as_mut()) {
            Some(Acts::Action(action)) => self.action(action),
            Some(Acts::ActionProfileActionSet(set)) => {
                let mut actions = set.action_profile_actions.iter_mut().filter_map(|a| a.action.as_mut());
                actions.try_for_each(|action| self.action(action))
            }
            _ => Ok(()),
        }
    }

    fn fields(&mut self, fields: &[Field], request: &mut [v1::FieldMatch]) -> Walked<E> {
        for m in request {
            let Some(field) = fields.iter().find(|f| f.id == m.field_id) else { continue };
            let (Some(ty), name) = (field.translated, field.name.as_str()) else { continue };
            let whole = Translated { ty, whole: true, name };
            let part = Translated { whole: false, ..whole };
            match &mut m.field_match_type {
                Some(Wire::Exact(m)) => (self.visit)(whole, &mut m.value)?,
                Some(Wire::Optional(m)) => (self.visit)(whole, &mut m.value)?,
                Some(Wire::Lpm(m)) => (self.visit)(part, &mut m.value)?,
                Some(Wire::Ternary(m)) => {
                    (self.visit)(part, &mut m.value)?;
                    (self.visit)(part, &mut m.mask)?;
                }
                Some(Wire::Range(m)) => {
                    (self.visit)(part, &mut m.low)?;
                    (self.visit)(part, &mut m.high)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn action(&mut self, action: &mut v1::Action) -> Walked<E> {
        let Some(params) = self.schema.translated_params.get(&action.action_id) else { return Ok(()) };
        for request in &mut action.params {
            if let Some((_, ty, name)) = params.iter().find(|(id, ..)| *id == request.param_id) {
                (self.visit)(Translated { ty: *ty, whole: true, name }, &mut request.value)?;
            }
        }
        Ok(())
    }

    fn replicas(&mut self, replicas: &mut [v1::Replica]) -> Walked<E> {
        let Some(ty) = self.schema.port_type() else { return Ok(()) };
        let place = Translated { ty, whole: true, name: "port" };
        for replica in replicas {
            if let Some(PortKind::Port(port)) = &mut replica.port_kind {
                (self.visit)(place, port)?;
            }
            replica.backup_replicas.iter_mut().try_for_each(|backup| (self.visit)(place, &mut backup.port))?;
        }
        Ok(())
    }

    fn metadata(&mut self, fields: &[Metadata], request: &mut [v1::PacketMetadata]) -> Walked<E> {
        for m in request {
            if let Some(field) = fields.iter().find(|f| f.id == m.metadata_id)
                && let Some(ty) = field.translated
            {
                (self.visit)(Translated { ty, whole: true, name: &field.name }, &mut m.value)?;
            }
        }
        Ok(())
    }

    /// The data of a register or digest.
    fn data_of(&mut self, id: u32, data: &mut v1::P4Data) -> Walked<E> {
        match self.schema.data.get(&id) {
            Some((name, spec)) => self.data(name, spec, data, 0),
            None => Ok(()),
        }
    }

    fn data(&mut self, name: &str, spec: &p4::P4DataTypeSpec, data: &mut v1::P4Data, depth: u32) -> Walked<E> {
        let types = &self.schema.types;
        let members: Vec<Option<&p4::P4DataTypeSpec>> = match &spec.type_spec {
            _ if depth > MAX_DEPTH => return Ok(()),
            Some(TypeSpec::NewType(named)) => {
                if let (Some(ty), Some(Data::Bitstring(value))) = (self.schema.translated(Some(named)), &mut data.data)
                {
                    return (self.visit)(Translated { ty, whole: true, name }, value);
                }
                let new = types.new_types.get(&named.name).and_then(|t| t.representation.as_ref());
                return match new {
                    Some(Representation::OriginalType(spec)) => self.data(name, spec, data, depth + 1),
                    _ => Ok(()),
                };
            }
            Some(TypeSpec::Struct(named)) => match types.structs.get(&named.name) {
                Some(found) => found.members.iter().map(|m| m.type_spec.as_ref()).collect(),
                None => return Ok(()),
            },
            Some(TypeSpec::Tuple(tuple)) => tuple.members.iter().map(Some).collect(),
            _ => return Ok(()),
        };
        let (Some(Data::Struct(request)) | Some(Data::Tuple(request))) = &mut data.data else { return Ok(()) };
        for (spec, data) in members.into_iter().zip(&mut request.members) {
            if let Some(spec) = spec {
                self.data(name, spec, data, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Translation of what controllers send.
impl State {
    /// A write in the data plane's values. Values that are new get one.
    pub(crate) fn write_in_plane(&mut self, write: &Write) -> Result<Write> {
        self.in_plane(|walk| {
            let mut write = write.clone();
            walk.write(&mut write).map(|()| write)
        })
    }

    /// A controller's packet in the data plane's values.
    pub(crate) fn packet_in_plane(&mut self, request: &v1::PacketOut) -> Result<v1::PacketOut> {
        self.translations.begin();
        // Nothing keeps what packets have.
        self.translations.changed();
        let translated = self.in_plane(|walk| {
            let mut request = request.clone();
            walk.metadata(&walk.schema.packet_out, &mut request.metadata).map(|()| request)
        });
        translated.inspect_err(|_| self.translations.undo())
    }

    fn in_plane<T>(&mut self, walk: impl Fn(&mut Giving<'_>) -> std::result::Result<T, Untranslated>) -> Result<T> {
        let schema = self.program.schema.clone();
        for again in [true, false] {
            let (translations, mut full) = (&mut self.translations, None);
            let mut visit = |place: Translated<'_>, value: &mut Bytes| {
                let given = translations.give(place, value).inspect_err(|_| full = Some(translations.full(place)))?;
                *value = bytes::of(&given);
                Ok::<_, Untranslated>(())
            };
            match walk(&mut Walk { schema: &schema, visit: &mut visit }) {
                Ok(translated) => return Ok(translated),
                Err(Untranslated::Invalid(failure)) => return Err(failure),
                Err(Untranslated::Full) if again && self.translations.is_stale() => {
                    let used = self.used();
                    self.translations.sweep(&used);
                }
                Err(Untranslated::Full) if again && self.translations.grow() => {}
                Err(Untranslated::Full) => {
                    return Err(full.unwrap_or_else(|| crate::failure::exhausted("no value is free")));
                }
            }
        }
        Err(crate::failure::exhausted("no value is free"))
    }

    /// An entity that a controller asks for, in the data plane's values; `None` if it names a value that nothing has.
    pub(crate) fn asked_in_plane(&self, asked: &Entity) -> Result<Option<Entity>> {
        let (mut asked, mut known) = (asked.clone(), true);
        let visit = |place: Translated<'_>, value: &mut Bytes| {
            match self.translations.find(place, value)? {
                Some(found) => *value = bytes::of(&found),
                None => known = false,
            }
            Ok::<_, Failure>(())
        };
        Walk { schema: &self.program.schema, visit }.entity(&mut asked)?;
        Ok(known.then_some(asked))
    }

    /// An entry that a controller asks for, in the data plane's values.
    pub(crate) fn entry_in_plane(&self, asked: &v1::TableEntry) -> Result<Option<v1::TableEntry>> {
        Ok(match self.asked_in_plane(&Entity::TableEntry(asked.clone()))? {
            Some(Entity::TableEntry(entry)) => Some(entry),
            _ => None,
        })
    }
}

type Giving<'g> = Walk<'g, &'g mut dyn FnMut(Translated<'_>, &mut Bytes) -> std::result::Result<(), Untranslated>>;

/// Translation of what controllers are told.
impl State {
    fn showing(&self) -> Walk<'_, impl FnMut(Translated<'_>, &mut Bytes) -> Walked<std::convert::Infallible>> {
        let visit = |place: Translated<'_>, value: &mut Bytes| {
            *value = self.translations.show(place, &BigUint::from_bytes_be(value));
            Ok::<_, std::convert::Infallible>(())
        };
        Walk { schema: &self.program.schema, visit }
    }

    pub(crate) fn show_entity(&self, entity: &mut Entity) {
        let Ok(()) = self.showing().entity(entity);
    }

    pub(crate) fn show_entry(&self, entry: &mut v1::TableEntry) {
        let Ok(()) = self.showing().entry(entry);
    }

    pub(crate) fn show_packet(&self, packet: &mut v1::PacketIn) {
        let Ok(()) = self.showing().metadata(&self.program.schema.packet_in, &mut packet.metadata);
    }

    pub(crate) fn show_digests(&self, list: &mut v1::DigestList) {
        let Ok(()) = list.data.iter_mut().try_for_each(|data| self.showing().data_of(list.digest_id, data));
    }

    /// The values of translated types that are written anywhere.
    pub(crate) fn used(&self) -> HashSet<(usize, BigUint)> {
        let schema = &self.program.schema;
        let mut found = Vec::new();
        let registers = schema.registers.keys().filter(|id| schema.data.contains_key(id));
        let registers =
            registers.map(|id| Entity::RegisterEntry(v1::RegisterEntry { register_id: *id, ..Default::default() }));
        let default = |id: &u32| v1::TableEntry { table_id: *id, is_default_action: true, ..Default::default() };
        let asked = [
            Entity::TableEntry(Default::default()),
            Entity::ActionProfileMember(Default::default()),
            Entity::ValueSetEntry(Default::default()),
            Entity::PacketReplicationEngineEntry(Default::default()),
        ];
        let asked =
            asked.into_iter().chain(registers).chain(schema.tables.keys().map(|id| Entity::TableEntry(default(id))));
        for asked in asked {
            // These ask for what there is.
            let _ = self.find(&asked, &mut found);
        }
        let mut used = HashSet::new();
        let visit = |place: Translated<'_>, value: &mut Bytes| {
            if place.whole {
                used.insert((place.ty, BigUint::from_bytes_be(value)));
            }
            Ok::<_, std::convert::Infallible>(())
        };
        let mut walk = Walk { schema, visit };
        let Ok(()) = found.iter_mut().try_for_each(|entity| walk.entity(entity));
        used
    }
}
