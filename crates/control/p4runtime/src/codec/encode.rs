//! The model's values to messages.

use ::bytes::Bytes;
use hopwright_control::entity::{CloneSession, DigestConfig, Metadata, MulticastGroup, Replica};
use hopwright_control::schema::{Field, Register, Schema, Table};
use hopwright_control::{EntryKey, IdleEntry, Model, Target, Translated, Translations, bytes};
use hopwright_dataplane::{Count, EntryTarget, Rates, WeightedAction};
use hopwright_ir::{ActionCall, MatchValue, Type as IrType, bits};
use num_bigint::BigUint;

use crate::proto::v1;
use v1::field_match::{self, FieldMatchType as Wire};
use v1::p4_data::Data;
use v1::packet_replication_engine_entry::Type as Copies;
use v1::replica::PortKind;
use v1::table_action::Type as Acts;

/// Converts the values of a program to a controller's.
#[derive(Clone, Copy)]
pub(crate) struct Encode<'m> {
    pub schema: &'m Schema,
    pub translations: &'m Translations,
}

impl<'m> Encode<'m> {
    pub(crate) fn of(model: &'m Model) -> Encode<'m> {
        Encode { schema: model.schema(), translations: model.translations() }
    }

    /// A value of a type that may be translated.
    pub(crate) fn value(&self, translated: Option<usize>, value: &BigUint) -> Bytes {
        self.place(translated.map(|ty| Translated { ty, whole: true, name: "" }), value)
    }

    fn place(&self, place: Option<Translated<'_>>, value: &BigUint) -> Bytes {
        place.map_or_else(|| bytes::of(value), |place| self.translations.show(place, value))
    }

    /// Matches without fields that match anything.
    pub(crate) fn matches(&self, fields: &[Field], matches: &[MatchValue]) -> Vec<v1::FieldMatch> {
        let one = |field: &Field| {
            let value = &matches[field.key];
            if field.is_any(value) {
                return None;
            }
            let whole = field.translated();
            let part = whole.map(|place| Translated { whole: false, ..place });
            let (whole, part) = (|v| self.place(whole, v), |v| self.place(part, v));
            let wide = field.translated.and_then(|ty| self.schema.translated_types[ty].wide());
            let wide = wide.filter(|_| field.whole(value).is_some());
            let wire = match value {
                // All bits of a controller's number are a whole value.
                MatchValue::Lpm { value, .. } if let Some(wide) = wide => {
                    Wire::Lpm(field_match::Lpm { value: whole(value), prefix_len: wide as i32 })
                }
                MatchValue::Ternary { value, .. } if let Some(wide) = wide => {
                    Wire::Ternary(field_match::Ternary { value: whole(value), mask: bytes::of(&bits::mask(wide)) })
                }
                MatchValue::Exact(v) => Wire::Exact(field_match::Exact { value: whole(v) }),
                MatchValue::Lpm { value, prefix_len } => {
                    Wire::Lpm(field_match::Lpm { value: part(value), prefix_len: *prefix_len as i32 })
                }
                MatchValue::Ternary { value, mask } => {
                    Wire::Ternary(field_match::Ternary { value: part(value), mask: part(mask) })
                }
                MatchValue::Range { lo, hi } => Wire::Range(field_match::Range { low: part(lo), high: part(hi) }),
                MatchValue::Optional(v) => Wire::Optional(field_match::Optional { value: whole(v.as_ref()?) }),
            };
            Some(v1::FieldMatch { field_id: field.id, field_match_type: Some(wire) })
        };
        fields.iter().filter_map(one).collect()
    }

    /// An entry without what it runs, its metadata and its direct resources.
    pub(crate) fn key(&self, table: &Table, (_, matches, priority): &EntryKey) -> v1::TableEntry {
        let r#match = self.matches(&table.fields, matches);
        v1::TableEntry { table_id: table.id, r#match, priority: *priority, ..Default::default() }
    }

    /// What an entry runs.
    pub(crate) fn target(&self, table: &Table, target: &Target) -> Option<v1::TableAction> {
        let acts = match target {
            Target::Action(call) => Acts::Action(self.call(table, call)?),
            Target::Profile(EntryTarget::Member(id)) => Acts::ActionProfileMemberId(*id),
            Target::Profile(EntryTarget::Group(id)) => Acts::ActionProfileGroupId(*id),
            Target::Profile(EntryTarget::Set(set)) => {
                let action = |a: &WeightedAction| v1::ActionProfileAction {
                    action: self.call(table, &a.action),
                    weight: a.weight as i32,
                    ..Default::default()
                };
                let action_profile_actions = set.iter().map(action).collect();
                Acts::ActionProfileActionSet(v1::ActionProfileActionSet {
                    action_profile_actions,
                    ..Default::default()
                })
            }
        };
        Some(v1::TableAction { r#type: Some(acts) })
    }

    /// An action with its arguments.
    pub(crate) fn call(&self, table: &Table, call: &ActionCall) -> Option<v1::Action> {
        let listed = table.actions.iter().find(|a| a.at == call.action)?;
        let args = listed.params.iter().zip(&call.args);
        let params = args
            .map(|(param, value)| v1::action::Param { param_id: param.id, value: self.value(param.translated, value) });
        Some(v1::Action { action_id: listed.id, params: params.collect() })
    }

    /// An entry that is idle.
    pub(crate) fn idle(&self, idle: &IdleEntry) -> Option<v1::TableEntry> {
        let table = self.schema.table_at(idle.key.0)?;
        let mut entry = self.key(table, &idle.key);
        set_metadata(&mut entry, &idle.metadata);
        entry.idle_timeout_ns = idle.timeout.as_nanos() as i64;
        Some(entry)
    }

    /// The value of a register.
    pub(crate) fn data(&self, register: &Register, value: &BigUint) -> v1::P4Data {
        let data = match register.ty {
            IrType::Bool => Data::Bool(*value != BigUint::ZERO),
            _ => Data::Bitstring(self.value(register.translated, value)),
        };
        v1::P4Data { data: Some(data) }
    }

    pub(crate) fn multicast(&self, id: u32, group: &MulticastGroup) -> Copies {
        Copies::MulticastGroupEntry(v1::MulticastGroupEntry {
            multicast_group_id: id,
            replicas: self.replicas(&group.copies),
            metadata: group.metadata.clone(),
        })
    }

    /// A clone session and the multicast group that it names, whose copies are the session's, too.
    pub(crate) fn session(&self, id: u32, session: &CloneSession, group: Option<&MulticastGroup>) -> Copies {
        let copies = group.map_or(&[][..], |group| &group.copies);
        Copies::CloneSessionEntry(v1::CloneSessionEntry {
            session_id: id,
            replicas: self.replicas(&[&session.copies, copies].concat()),
            class_of_service: 0,
            packet_length_bytes: session.max_length as i32,
        })
    }

    fn replicas(&self, copies: &[Replica]) -> Vec<v1::Replica> {
        let number = |port: u32| match self.schema.renumbered_port() {
            Some(place) => {
                let shown = BigUint::from_bytes_be(&self.place(Some(place), &port.into()));
                u32::try_from(shown).unwrap_or(port)
            }
            None => port,
        };
        let one = |copy: &Replica| {
            let kind = match copy.port_is_typed {
                true => PortKind::Port(self.place(self.schema.translated_port(), &copy.port.into())),
                false => PortKind::EgressPort(number(copy.port)),
            };
            v1::Replica { port_kind: Some(kind), instance: copy.instance, ..Default::default() }
        };
        copies.iter().map(one).collect()
    }
}

/// Gives an entry what its controller wrote with it.
pub(crate) fn set_metadata(entry: &mut v1::TableEntry, metadata: &Metadata) {
    entry.controller_metadata = metadata.number;
    entry.metadata = metadata.bytes.clone();
}

pub(crate) fn counted(count: Count) -> v1::CounterData {
    v1::CounterData { byte_count: count.bytes as i64, packet_count: count.packets as i64 }
}

pub(crate) fn rates(rates: Rates) -> v1::MeterConfig {
    v1::MeterConfig {
        cir: rates.cir as i64,
        cburst: rates.cburst as i64,
        pir: rates.pir as i64,
        pburst: rates.pburst as i64,
        eburst: 0,
    }
}

pub(crate) fn digest_config(config: DigestConfig) -> v1::digest_entry::Config {
    v1::digest_entry::Config {
        max_timeout_ns: config.max_timeout.as_nanos() as i64,
        max_list_size: config.max_list as i32,
        ack_timeout_ns: config.ack_timeout.as_nanos() as i64,
    }
}
