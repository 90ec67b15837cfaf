//! Random updates of few objects, so that they meet, with a mistake now and then.

use std::time::Duration;

use hopwright_control::entity::{
    Action, Call, Cells, CloneSession, DefaultEntry, DigestConfig, Entry, Key, Metadata, MulticastGroup, Replica,
};
use hopwright_control::{Entity, Operation, Schema, Update};
use hopwright_dataplane::{Count, Rates};
use hopwright_ir::MatchValue;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// The ids of the program's objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    pub(crate) hosts: u32,
    pub(crate) filters: u32,
    pub(crate) spread: u32,
    pub(crate) fixed: u32,
    pub(crate) forward: u32,
    pub(crate) drop: u32,
    pub(crate) measure: u32,
    pub(crate) paths: u32,
    pub(crate) counts: u32,
    pub(crate) meters: u32,
    pub(crate) numbers: u32,
    pub(crate) values: u32,
    pub(crate) digest: u32,
}

impl Ids {
    pub(crate) fn of(schema: &Schema) -> Ids {
        let table = |name: &str| schema.tables.values().find(|t| t.name.ends_with(name)).unwrap();
        let action = |of: &str, name: &str| table(of).actions.iter().find(|a| a.name.ends_with(name)).unwrap().id;
        Ids {
            hosts: table("hosts").id,
            filters: table("filters").id,
            spread: table("spread").id,
            fixed: table("fixed").id,
            forward: action("hosts", "forward"),
            drop: action("hosts", "drop"),
            measure: action("filters", "measure"),
            paths: *schema.action_profiles.keys().next().unwrap(),
            counts: *schema.counters.keys().next().unwrap(),
            meters: *schema.meters.keys().next().unwrap(),
            numbers: *schema.registers.keys().next().unwrap(),
            values: *schema.value_sets.keys().next().unwrap(),
            digest: *schema.digests.values().next().unwrap(),
        }
    }
}

/// Mostly the first, which is right, and else the second.
fn mostly<T: std::fmt::Debug + Clone>(
    right: impl Strategy<Value = T> + 'static,
    wrong: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    prop_oneof![14 => right, 1 => wrong].boxed()
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![2 => Just(Operation::Insert), 1 => Just(Operation::Modify), 1 => Just(Operation::Delete)]
}

fn modify() -> impl Strategy<Value = Operation> {
    mostly(Just(Operation::Modify), operation())
}

fn exact() -> impl Strategy<Value = MatchValue> {
    mostly(0u32..4, Just(256)).prop_map(|value| MatchValue::Exact(value.into()))
}

fn exact_fields() -> impl Strategy<Value = Vec<(u32, MatchValue)>> {
    let field = (mostly(Just(1u32), Just(2)), exact());
    let any = Just(MatchValue::Optional(None)).prop_map(|any| vec![(1, any)]);
    mostly(field.prop_map(|field| vec![field]), prop_oneof![Just(Vec::new()), any])
}

fn exact_key(table: u32) -> impl Strategy<Value = Key> {
    (exact_fields(), mostly(Just(0), Just(1))).prop_map(move |(fields, priority)| Key { table, fields, priority })
}

fn ternary_key(table: u32) -> impl Strategy<Value = Key> {
    let field = (0u32..4, mostly(Just(7u32), prop_oneof![Just(1u32), Just(0), Just(0x1ff)]));
    let field = field.prop_map(|(value, mask)| (1, MatchValue::Ternary { value: value.into(), mask: mask.into() }));
    (vec(field, 0..2), mostly(1..3, -1..1)).prop_map(move |(fields, priority)| Key { table, fields, priority })
}

fn call(ids: Ids) -> impl Strategy<Value = Call> {
    let port = mostly(0u32..4, Just(512)).prop_map(|port| (1, port.into()));
    let forward = vec(port, 1..2).prop_map(move |args| Call { action: ids.forward, args });
    let drop = Just(Call { action: ids.drop, args: Vec::new() });
    let wrong = prop_oneof![
        Just(Call { action: ids.forward, args: Vec::new() }),
        Just(Call { action: ids.forward, args: vec![(2, 1u32.into())] }),
        Just(Call { action: ids.measure, args: Vec::new() }),
        Just(Call { action: 77, args: Vec::new() }),
    ];
    mostly(prop_oneof![forward, drop], wrong)
}

fn count() -> impl Strategy<Value = Count> {
    (0u64..9, 0u64..9).prop_map(|(packets, bytes)| Count { packets, bytes })
}

fn rates() -> impl Strategy<Value = Option<Rates>> {
    let rates = (0u64..9, mostly(9u64..12, Just(0)));
    option::of(rates.prop_map(|(cir, pir)| Rates { cir, cburst: 5, pir, pburst: 6 }))
}

fn host(ids: Ids) -> impl Strategy<Value = Entry> {
    let action = call(ids).prop_map(Action::Call);
    let action = mostly(action.boxed(), Just(Action::Member(1)));
    let parts = (exact_key(ids.hosts), option::weighted(0.8, action), option::of(count()), mostly(Just(None), rates()));
    (parts, 0u64..3).prop_map(|((key, action, count, rates), number)| {
        let metadata = Metadata { number, ..Metadata::default() };
        Entry { key, action, count, rates, metadata, idle_timeout: Duration::ZERO }
    })
}

fn filter(ids: Ids) -> impl Strategy<Value = Entry> {
    let action = Action::Call(Call { action: ids.measure, args: Vec::new() });
    let action = option::weighted(0.8, Just(action));
    (ternary_key(ids.filters), action, rates()).prop_map(|(key, action, rates)| Entry {
        key,
        action,
        rates,
        ..Entry::default()
    })
}

fn spread(ids: Ids) -> impl Strategy<Value = Entry> {
    let action = prop_oneof![(0u32..4).prop_map(Action::Member), (0u32..3).prop_map(Action::Group)];
    let action = mostly(action, call(ids).prop_map(Action::Call));
    (exact_key(ids.spread), option::weighted(0.9, action)).prop_map(|(key, action)| Entry {
        key,
        action,
        ..Entry::default()
    })
}

fn cells(object: u32) -> impl Strategy<Value = Cells> {
    option::weighted(0.8, mostly(0u64..4, Just(4))).prop_map(move |index| Cells { object, index })
}

fn copies() -> impl Strategy<Value = Vec<Replica>> {
    let copy = (mostly(0u32..4, Just(512)), mostly(0u32..3, Just(1 << 16)));
    vec(copy.prop_map(|(port, instance)| Replica { port, instance, port_is_typed: false }), 0..3)
}

fn group_number() -> impl Strategy<Value = u32> {
    mostly(1u32..3, prop_oneof![Just(0), 0x8000u32..0x8003, Just(0x1_0000)])
}

fn session() -> impl Strategy<Value = Entity> {
    let number = mostly(0u32..3, Just(0x8000));
    let session = (copies(), option::weighted(0.3, 1u16..3), 0u32..99);
    (number, session).prop_map(|(id, (copies, group, max_length))| {
        Entity::CloneSession(id, CloneSession { copies, group, max_length })
    })
}

/// An update of any kind.
pub(crate) fn update(ids: Ids) -> impl Strategy<Value = Update> {
    let with = |operation: BoxedStrategy<Operation>, entity: BoxedStrategy<Entity>| {
        (operation, entity).prop_map(|(operation, entity)| Update { operation, entity }).boxed()
    };
    let number = mostly(0u32..4096, Just(4096));
    let default = option::weighted(0.7, call(ids)).prop_map(move |action| DefaultEntry {
        table: ids.hosts,
        action,
        metadata: Metadata::default(),
    });
    let fixed = exact_key(ids.fixed).prop_map(|key| Entry { key, ..Entry::default() });
    let member = (0u32..4, option::weighted(0.9, call(ids)));
    let group = (0u32..3, vec((mostly(0u32..4, Just(9)), mostly(1u32..3, Just(0))), 0..3));
    let config = (0u64..3, 0u32..3, 0u64..3).prop_map(|(max, max_list, ack)| DigestConfig {
        max_timeout: Duration::from_secs(max),
        max_list,
        ack_timeout: Duration::from_secs(ack),
    });
    prop_oneof![
        6 => with(operation().boxed(), host(ids).prop_map(Entity::Entry).boxed()),
        4 => with(operation().boxed(), filter(ids).prop_map(Entity::Entry).boxed()),
        4 => with(operation().boxed(), spread(ids).prop_map(Entity::Entry).boxed()),
        1 => with(operation().boxed(), fixed.prop_map(Entity::Entry).boxed()),
        1 => with(modify().boxed(), default.prop_map(Entity::Default).boxed()),
        1 => with(modify().boxed(), (exact_key(ids.hosts), count()).prop_map(|(k, c)| Entity::DirectCounter(k, c)).boxed()),
        1 => with(modify().boxed(), (cells(ids.counts), count()).prop_map(|(k, c)| Entity::Counter(k, c)).boxed()),
        1 => with(modify().boxed(), (cells(ids.meters), rates()).prop_map(|(k, r)| Entity::Meter(k, r)).boxed()),
        1 => with(modify().boxed(), (cells(ids.numbers), number).prop_map(|(k, n)| Entity::Register(k, n.into())).boxed()),
        4 => with(operation().boxed(), member.prop_map(move |(id, action)| {
            Entity::Member { profile: ids.paths, id, action }
        }).boxed()),
        3 => with(operation().boxed(), group.prop_map(move |(id, members)| {
            Entity::Group { profile: ids.paths, id, members, max_size: 0 }
        }).boxed()),
        1 => with(modify().boxed(), vec(exact_fields(), 0..5).prop_map(move |m| Entity::ValueSet(ids.values, m)).boxed()),
        2 => with(operation().boxed(), (group_number(), copies()).prop_map(|(id, copies)| {
            Entity::Multicast(id, MulticastGroup { copies, ..MulticastGroup::default() })
        }).boxed()),
        3 => with(operation().boxed(), session().boxed()),
        1 => with(operation().boxed(), (mostly(Just(ids.digest), Just(5)), config).prop_map(|(id, c)| Entity::Digest(id, c)).boxed()),
    ]
}
