//! Generates updates: of few objects, so that they meet, and with a mistake now and then.

use crate::proto::v1;
use hopwright_control::schema::{Field, Schema, Table};
use hopwright_ir::MatchForm;
use v1::entity::Entity;
use v1::field_match::{self as wire, FieldMatchType as Wire};
use v1::packet_replication_engine_entry::Type as Replicates;
use v1::table_action::Type as Acts;
use v1::update::Type;

/// Decisions by the bytes of a random case. Without bytes each is the first choice, which is no mistake.
pub(super) struct Dice {
    bytes: std::vec::IntoIter<u8>,
}

impl Dice {
    pub(super) fn new(bytes: Vec<u8>) -> Dice {
        Dice { bytes: bytes.into_iter() }
    }

    pub(super) fn is_left(&self) -> bool {
        self.bytes.len() > 0
    }

    /// A number below `n`.
    fn roll(&mut self, n: usize) -> usize {
        usize::from(self.bytes.next().unwrap_or(0)) % n
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())].clone()
    }

    /// Once in this many times.
    fn rarely(&mut self, n: usize) -> bool {
        self.roll(n) == n - 1
    }

    /// A mistake.
    fn slips(&mut self) -> bool {
        self.rarely(29)
    }
}

/// One of the ids of a kind of object, or one that there is not.
fn id<'a>(ids: impl Iterator<Item = &'a u32>, dice: &mut Dice) -> u32 {
    let mut ids: Vec<u32> = ids.copied().collect();
    ids.sort_unstable();
    if dice.slips() { dice.pick(&[0, 77, u32::MAX]) } else { dice.pick(&ids) }
}

pub(super) fn update(schema: &Schema, dice: &mut Dice) -> v1::Update {
    let kind = dice.pick(&[Type::Insert, Type::Insert, Type::Modify, Type::Delete]);
    let modify = |dice: &mut Dice| if dice.slips() { Type::Delete } else { Type::Modify };
    let (kind, entity) = match dice.roll(16) {
        0..5 => {
            let default = dice.rarely(8);
            let kind = if default && !dice.slips() { Type::Modify } else { kind };
            (kind, Entity::TableEntry(entry(schema, default, dice)))
        }
        5 | 6 => (kind, Entity::ActionProfileMember(member(schema, dice))),
        7 | 8 => (kind, Entity::ActionProfileGroup(group(schema, dice))),
        9 => (kind, Entity::PacketReplicationEngineEntry(replication(dice))),
        10 => {
            let digest_id = id(schema.digests.values(), dice);
            let number = |dice: &mut Dice| if dice.slips() { -1 } else { dice.roll(3) as i64 };
            let config = v1::digest_entry::Config {
                max_timeout_ns: number(dice),
                max_list_size: number(dice) as i32,
                ack_timeout_ns: number(dice),
            };
            (kind, Entity::DigestEntry(v1::DigestEntry { digest_id, config: Some(config) }))
        }
        11 => {
            let counter_id = id(schema.counters.keys(), dice);
            let entry = v1::CounterEntry { counter_id, index: index(dice), data: Some(count(dice)) };
            (modify(dice), Entity::CounterEntry(entry))
        }
        12 => {
            let register_id = id(schema.registers.keys(), dice);
            let data = match dice.slips() {
                true => Some(v1::p4_data::Data::Bool(true)),
                false => Some(v1::p4_data::Data::Bitstring(number(12, dice))),
            };
            let data = (!dice.rarely(5)).then_some(v1::P4Data { data });
            (modify(dice), Entity::RegisterEntry(v1::RegisterEntry { register_id, index: index(dice), data }))
        }
        13 => {
            let meter_id = id(schema.meters.keys(), dice);
            let entry = v1::MeterEntry { meter_id, index: index(dice), config: rates(dice), counter_data: None };
            (modify(dice), Entity::MeterEntry(entry))
        }
        14 => {
            let counts = dice.roll(2) == 0;
            let has = |t: &Table| if counts { t.direct_counter.is_some() } else { t.direct_meter.is_some() };
            let of_table = Some(key_of(schema, has, dice)).filter(|_| !dice.slips());
            match counts {
                true => {
                    let data = Some(count(dice)).filter(|_| !dice.rarely(5));
                    (modify(dice), Entity::DirectCounterEntry(v1::DirectCounterEntry { table_entry: of_table, data }))
                }
                false => {
                    let entry = v1::DirectMeterEntry { table_entry: of_table, config: rates(dice), counter_data: None };
                    (modify(dice), Entity::DirectMeterEntry(entry))
                }
            }
        }
        _ => (modify(dice), Entity::ValueSetEntry(value_set(schema, dice))),
    };
    let entity = if dice.slips() { None } else { Some(entity) };
    let r#type = if dice.slips() { dice.pick(&[0, 9]) } else { kind as i32 };
    v1::Update { r#type, entity: Some(v1::Entity { entity }).filter(|_| !dice.slips()) }
}

/// A number of this many bits, or one that has more or none.
fn number(width: u32, dice: &mut Dice) -> bytes::Bytes {
    if dice.slips() {
        return dice.pick(&[Vec::new(), vec![1; width.div_ceil(8) as usize + 1]]).into();
    }
    vec![dice.roll(4) as u8].into()
}

fn index(dice: &mut Dice) -> Option<v1::Index> {
    let index = if dice.slips() { dice.pick(&[-1, 4, i64::MAX]) } else { dice.roll(4) as i64 };
    (!dice.rarely(6)).then_some(v1::Index { index })
}

fn count(dice: &mut Dice) -> v1::CounterData {
    let number = |dice: &mut Dice| if dice.slips() { -1 } else { dice.roll(200) as i64 };
    v1::CounterData { byte_count: number(dice), packet_count: number(dice) }
}

fn rates(dice: &mut Dice) -> Option<v1::MeterConfig> {
    let mut config =
        v1::MeterConfig { cir: 1, cburst: 5, pir: 1 + dice.roll(5) as i64, pburst: 5, ..Default::default() };
    if dice.slips() {
        match dice.roll(4) {
            0 => config.cir = -1,
            1 => config.pburst = i64::MIN,
            2 => config.eburst = 1,
            _ => config.cir = 99,
        }
    }
    (!dice.rarely(4)).then_some(config)
}

fn table<'s>(schema: &'s Schema, which: impl Fn(&Table) -> bool, dice: &mut Dice) -> &'s Table {
    let mut tables: Vec<&Table> = schema.tables.values().filter(|t| which(t)).collect();
    tables.sort_unstable_by_key(|t| t.id);
    tables[dice.roll(tables.len())]
}

fn field(field: &Field, value: u8, dice: &mut Dice) -> Option<v1::FieldMatch> {
    let wide = vec![1; 9];
    let bytes = |value: u8, dice: &mut Dice| -> bytes::Bytes {
        if dice.slips() { dice.pick(&[Vec::new(), wide.clone()]).into() } else { vec![value].into() }
    };
    let top = |value: u8| [&[value][..], &vec![0; field.width as usize / 8 - 1]].concat();
    let form = if dice.slips() { MatchForm::Range } else { field.kind.form() };
    let wire = match form {
        MatchForm::Value => Wire::Exact(wire::Exact { value: bytes(value, dice) }),
        MatchForm::Prefix => {
            let prefix_len = if dice.slips() { dice.pick(&[-1, 0, 3, 77]) } else { 8 };
            Wire::Lpm(wire::Lpm { value: top(value).into(), prefix_len })
        }
        MatchForm::Mask => Wire::Ternary(wire::Ternary { value: bytes(value, dice), mask: bytes(7, dice) }),
        MatchForm::Range => Wire::Range(wire::Range { low: bytes(value, dice), high: bytes(9, dice) }),
        MatchForm::Nothing => return None,
        MatchForm::ValueOrAny => Wire::Optional(wire::Optional { value: bytes(value, dice) }),
    };
    let field_id = if dice.slips() { 99 } else { field.id };
    Some(v1::FieldMatch { field_id, field_match_type: Some(wire).filter(|_| !dice.slips()) }).filter(|_| !dice.slips())
}

fn keys(t: &Table, entry: &mut v1::TableEntry, dice: &mut Dice) {
    let value = dice.roll(4) as u8;
    entry.r#match = t.fields.iter().filter_map(|f| field(f, value, dice)).collect();
    if dice.slips()
        && let Some(first) = entry.r#match.first().cloned()
    {
        entry.r#match.push(first);
    }
    entry.priority = if t.priority != dice.slips() { 1 + dice.roll(2) as i32 } else { dice.pick(&[0, 0, -1]) };
    if !t.priority && !dice.slips() {
        entry.priority = 0;
    }
}

/// The key of an entry of a table that has something.
fn key_of(schema: &Schema, has: impl Fn(&Table) -> bool, dice: &mut Dice) -> v1::TableEntry {
    let any = dice.slips();
    let t = table(schema, |t| any || has(t), dice);
    let mut entry = v1::TableEntry { table_id: t.id, is_default_action: dice.slips(), ..Default::default() };
    keys(t, &mut entry, dice);
    entry
}

/// An entry of a table with several keys, with the lowest priority.
pub(super) fn filter(t: &Table, value: u8, dice: &mut Dice) -> v1::TableEntry {
    let mut entry = v1::TableEntry { table_id: t.id, priority: 1, ..Default::default() };
    entry.r#match = t.fields.iter().filter_map(|f| field(f, value, dice)).collect();
    entry.action = Some(v1::TableAction { r#type: Some(Acts::Action(action(t, dice))) });
    entry.counter_data = Some(v1::CounterData { packet_count: value.into(), byte_count: 0 });
    entry
}

fn entry(schema: &Schema, default: bool, dice: &mut Dice) -> v1::TableEntry {
    let t = table(schema, |_| true, dice);
    let mut entry = v1::TableEntry { table_id: t.id, is_default_action: default, ..Default::default() };
    if dice.slips() {
        entry.table_id = dice.pick(&[0, 77]);
    }
    if !default || dice.slips() {
        keys(t, &mut entry, dice);
    }
    let runs = match t.profile {
        Some(_) if !default && !dice.slips() => match dice.roll(4) {
            0 | 1 => Acts::ActionProfileMemberId(dice.roll(4) as u32),
            2 => Acts::ActionProfileGroupId(dice.roll(4) as u32),
            _ => Acts::ActionProfileActionSet(set(t, dice)),
        },
        _ => Acts::Action(action(t, dice)),
    };
    entry.action = match dice.roll(12) {
        10 => None,
        11 => Some(v1::TableAction { r#type: None }),
        _ => Some(v1::TableAction { r#type: Some(runs) }),
    };
    if t.direct_counter.is_some() != dice.slips() && dice.rarely(2) && (!default || dice.slips()) {
        entry.counter_data = Some(count(dice));
    }
    if t.direct_meter.is_some() != dice.slips() && (!default || dice.slips()) {
        entry.meter_config = rates(dice);
    }
    if t.idle_timeout != dice.slips() && (!default || dice.slips()) {
        entry.idle_timeout_ns = if dice.slips() { -5 } else { dice.roll(3) as i64 * 1_000_000_000 };
    }
    if dice.rarely(4) {
        entry.metadata = vec![dice.roll(9) as u8].into();
        entry.controller_metadata = dice.roll(3) as u64;
    }
    if dice.slips() {
        entry.meter_counter_data = Some(v1::MeterCounterData::default());
    }
    entry
}

fn action(t: &Table, dice: &mut Dice) -> v1::Action {
    let listed = &t.actions[dice.roll(t.actions.len())];
    let params = listed.params.iter().map(|param| v1::action::Param {
        param_id: if dice.slips() { 44 } else { param.id },
        value: number(param.width, dice),
    });
    let mut params: Vec<_> = params.collect();
    if dice.slips() {
        params.pop();
    }
    v1::Action { action_id: if dice.slips() { 99 } else { listed.id }, params }
}

fn set(t: &Table, dice: &mut Dice) -> v1::ActionProfileActionSet {
    let one = |dice: &mut Dice| v1::ActionProfileAction {
        action: Some(action(t, dice)).filter(|_| !dice.slips()),
        weight: if dice.slips() { dice.pick(&[0, -1, 99]) } else { 1 + dice.roll(3) as i32 },
        ..Default::default()
    };
    let actions = (0..1 + dice.roll(3)).map(|_| one(dice)).collect();
    v1::ActionProfileActionSet { action_profile_actions: actions, ..Default::default() }
}

fn member(schema: &Schema, dice: &mut Dice) -> v1::ActionProfileMember {
    let action_profile_id = id(schema.action_profiles.keys(), dice);
    let user = schema.tables.values().find(|t| t.profile == Some(action_profile_id));
    let action = match user {
        Some(t) => Some(action(t, dice)),
        None => Some(v1::Action::default()),
    };
    let action = action.filter(|_| !dice.rarely(8));
    v1::ActionProfileMember { action_profile_id, member_id: dice.roll(4) as u32, action }
}

fn group(schema: &Schema, dice: &mut Dice) -> v1::ActionProfileGroup {
    let action_profile_id = if dice.slips() {
        id(schema.action_profiles.keys(), dice)
    } else {
        id(schema.action_profiles.iter().filter(|(_, p)| p.selector).map(|(id, _)| id), dice)
    };
    let member = |dice: &mut Dice| v1::action_profile_group::Member {
        member_id: if dice.slips() { 99 } else { 1 + dice.roll(3) as u32 },
        weight: if dice.slips() { dice.pick(&[0, -1, 9]) } else { 1 + dice.roll(2) as i32 },
        watch_kind: dice.slips().then_some(v1::action_profile_group::member::WatchKind::Watch(1)),
    };
    let members = (0..dice.roll(3)).map(|_| member(dice)).collect();
    let max_size = if dice.slips() { dice.pick(&[-1, 99, 1]) } else { 6 };
    v1::ActionProfileGroup { action_profile_id, group_id: dice.roll(4) as u32, members, max_size }
}

fn replication(dice: &mut Dice) -> v1::PacketReplicationEngineEntry {
    let replica = |dice: &mut Dice| {
        let port = if dice.slips() { dice.pick(&[512, u32::MAX]) } else { dice.roll(5) as u32 };
        v1::Replica {
            port_kind: Some(v1::replica::PortKind::EgressPort(port)).filter(|_| !dice.slips()),
            instance: if dice.slips() { 70_000 } else { dice.roll(3) as u32 },
            ..Default::default()
        }
    };
    let replicas = (0..dice.roll(3)).map(|_| replica(dice)).collect();
    let number = if dice.slips() { dice.pick(&[0, 0x8000, u32::MAX]) } else { 1 + dice.roll(3) as u32 };
    let kind = match dice.roll(2) {
        0 => Replicates::MulticastGroupEntry(v1::MulticastGroupEntry {
            multicast_group_id: number,
            replicas,
            ..Default::default()
        }),
        _ => Replicates::CloneSessionEntry(v1::CloneSessionEntry {
            session_id: number,
            replicas,
            class_of_service: u32::from(dice.slips()),
            packet_length_bytes: if dice.slips() { -1 } else { dice.roll(100) as i32 },
        }),
    };
    v1::PacketReplicationEngineEntry { r#type: Some(kind).filter(|_| !dice.slips()) }
}

fn value_set(schema: &Schema, dice: &mut Dice) -> v1::ValueSetEntry {
    let value_set_id = id(schema.value_sets.keys(), dice);
    let fields = schema.value_sets.get(&value_set_id).map(|set| set.fields.as_slice()).unwrap_or_default();
    let most = if dice.slips() { 9 } else { 4 };
    let members = (0..dice.roll(most)).map(|_| {
        let value = dice.roll(5) as u8;
        v1::ValueSetMember { r#match: fields.iter().filter_map(|f| field(f, value, dice)).collect() }
    });
    v1::ValueSetEntry { value_set_id, members: members.collect() }
}
