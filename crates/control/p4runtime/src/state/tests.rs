//! Random updates of all kinds, good ones and ones with a mistake in any field: what is refused changes nothing, and what is undone
//! leaves everything as it was.

mod updates;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use hopwright_control::entity::{Key, Metadata};
use hopwright_control::{self as control, EntryKey, IdleListener, Note, Operation, SharedModel, Update};
use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::{MatchValue, TableId};
use proptest::prelude::*;
use tonic::Code;

use super::*;
use crate::codec;
use crate::device::{Device, lock};
use crate::failure::{Failure, Result};
use crate::program::EnginePolicy;
use crate::proto::v1;
use crate::read;
use updates::Dice;
use v1::entity::Entity;
use v1::update::Type;

const SOURCE: &str = include_str!("objects.p4");

fn program() -> Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    let make = || {
        let compiled = compile_text("objects.p4", SOURCE, &Default::default(), true);
        Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap()
    };
    PROGRAM.get_or_init(make).clone()
}

fn state() -> State {
    let program = program();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    State::new(program, vdp)
}

fn device() -> Device {
    let program = program();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    let (switch, _) = SwitchBuilder::new(vdp).cpu_port(510).build().unwrap();
    Device::new(1, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program)
}

#[test]
fn programs_with_the_same_config_are_one() {
    let shared = program();
    assert!(Arc::ptr_eq(&shared.pipeline, &Program::from_config(&shared.config).unwrap().pipeline));
    let without_config = |text: &str| {
        let compiled = compile_text("objects.p4", text, &Default::default(), true);
        Program::from_compiled(&compiled, Default::default()).unwrap()
    };
    let (one, another) = (without_config(SOURCE), without_config(&format!("{SOURCE}\n")));
    assert!(!Arc::ptr_eq(&one.pipeline, &another.pipeline));
}

#[test]
fn what_a_client_sends_with_a_program_is_charged() {
    const MORE: usize = 1 << 20;
    let device = device();
    let held = |config: &v1::ForwardingPipelineConfig| {
        let vdp = device.data_plane(&Program::from_config(config).unwrap()).unwrap();
        vdp.control().account().held()
    };
    let config = program().config;
    let before = held(&config);
    let mut info = config.p4info.clone().unwrap();
    info.pkg_info.get_or_insert_default().name = "x".repeat(MORE);
    assert!(held(&v1::ForwardingPipelineConfig { p4info: Some(info), ..config.clone() }) >= before + MORE as u64);
    let files = serde_json::json!({ "objects.p4": SOURCE, "unused.p4": " ".repeat(MORE) });
    let bundle = serde_json::json!({ "hopwright_bundle": 1, "main": "objects.p4", "files": files }).to_string();
    let config = v1::ForwardingPipelineConfig { p4_device_config: bundle.into(), ..Default::default() };
    // What is not text of the program: library files, which are not in the bundle, are.
    assert!(held(&config) >= before + MORE as u64 / 2);
}

/// Everything that can be read, in order, and what the data plane has beyond that.
#[derive(Debug, PartialEq)]
struct Everything {
    entities: Vec<Entity>,
    multicast: Vec<(u16, Option<Vec<hopwright_dataplane::Replica>>)>,
    sessions: Vec<(u32, Option<hopwright_dataplane::CloneSession>)>,
    value_sets: Vec<Vec<Vec<MatchValue>>>,
    targets: Vec<Option<hopwright_dataplane::EntryTarget>>,
}

/// Idle timers, and what else controllers do not read in full.
type Notes = (Vec<Option<Note>>, Vec<Option<Metadata>>);

fn notes(state: &State) -> Notes {
    let model = &*state.model.lock();
    let tables = || (0..model.vdp().pipeline().tables.len()).map(|at| TableId(at as u32));
    let of_table = |at| {
        let entries = model.control()[at].entries().into_iter();
        entries.map(move |e| model.note(&(at, e.matches, e.priority)).cloned())
    };
    let defaults = tables().map(|at| model.default_metadata(at).cloned());
    (tables().flat_map(of_table).collect(), defaults.collect())
}

fn write(state: &State, update: &v1::Update) -> Result<()> {
    state.model.lock().write_each(std::slice::from_ref(update), codec::update).remove(0)
}

fn everything(state: &State) -> Everything {
    let (model, mut entities) = (state.model.lock(), Vec::new());
    let all = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..Default::default()
    };
    let mut defaults: Vec<u32> = state.program.schema.model.tables.keys().copied().collect();
    defaults.sort_unstable();
    let default = |table_id| v1::TableEntry { table_id, is_default_action: true, ..Default::default() };
    let asked = [
        Entity::TableEntry(all),
        Entity::DirectCounterEntry(Default::default()),
        Entity::DirectMeterEntry(Default::default()),
        Entity::ActionProfileMember(Default::default()),
        Entity::ActionProfileGroup(Default::default()),
        Entity::CounterEntry(Default::default()),
        Entity::RegisterEntry(Default::default()),
        Entity::MeterEntry(Default::default()),
        Entity::ValueSetEntry(Default::default()),
        Entity::DigestEntry(Default::default()),
        Entity::PacketReplicationEngineEntry(Default::default()),
    ];
    let asked = asked.into_iter().chain(defaults.into_iter().map(|id| Entity::TableEntry(default(id))));
    asked.for_each(|asked| read::read(&model, &asked, &mut entities).unwrap());
    let control = model.control();
    let groups = (1..8).chain(0x8001..0x8008);
    let tables = (0..model.vdp().pipeline().tables.len()).map(|at| TableId(at as u32));
    let targets = tables.flat_map(|at| {
        let entries = control[at].entries().into_iter();
        entries.map(move |entry| control[at].target(&entry.matches, entry.priority))
    });
    Everything {
        entities,
        multicast: groups.map(|group| (group, control.multicast_group(group))).collect(),
        sessions: (1..8).map(|session| (session, control.clone_session(session))).collect(),
        value_sets: vec![control.value_set(hopwright_ir::ValueSetId(0)).unwrap().read()],
        targets: targets.collect(),
    }
}

fn refused() -> Result<()> {
    Err(Failure { code: Code::Aborted, message: "the last step fails".into() })
}

/// Updates that a state takes, and then a batch.
fn case() -> impl Strategy<Value = (Vec<v1::Update>, Vec<v1::Update>)> {
    let updates = |most| {
        proptest::collection::vec(any::<u8>(), 0..most).prop_map(|bytes| {
            let mut dice = Dice::new(bytes);
            let mut updates = Vec::new();
            while dice.is_left() {
                updates.push(updates::update(&program().schema.model, &mut dice));
            }
            updates
        })
    };
    (updates(1500), updates(200))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_refused_or_undone_changes_nothing((before, batch) in case()) {
        let state = state();
        for one in &before {
            let (there, noted) = (everything(&state), notes(&state));
            if write(&state, one).is_err() {
                prop_assert_eq!(&everything(&state), &there, "{:?}", one);
                prop_assert_eq!(notes(&state), noted, "{:?}", one);
            }
        }
        let (there, noted) = (everything(&state), notes(&state));
        // All of it is applied, and undone.
        let results = state.model.lock().write_all(&batch, codec::update, refused);
        prop_assert_eq!(&everything(&state), &there);
        prop_assert_eq!(&notes(&state), &noted);
        let fits = results.is_err();
        // A refused batch names the update that is refused.
        if let Ok(results) = results {
            let own: Vec<_> = results.iter().filter(|r| r.as_ref().is_err_and(|f| f.code != Code::Aborted)).collect();
            prop_assert_eq!((own.len(), results.iter().all(|r| r.is_err())), (1, true));
        }
        let results = state.model.lock().write_all(&batch, codec::update, || Ok(())).unwrap();
        prop_assert_eq!(results.iter().all(|r| r.is_ok()), fits);
        if !fits {
            prop_assert_eq!(&everything(&state), &there);
            prop_assert_eq!(&notes(&state), &noted);
        }
    }

    #[test]
    fn the_updates_of_a_state_lead_to_it((before, _) in case()) {
        let (one, other) = (state(), state());
        one.model.lock().write_each(&before, codec::update);
        let change = |model: &SharedModel| {
            model.lock().write_each(&before, codec::update);
            Ok::<_, String>(())
        };
        for update in program().updates_of(change).unwrap() {
            let written = write(&other, &update);
            prop_assert!(written.is_ok(), "{:?}: {:?}", update, written);
        }
        prop_assert_eq!(everything(&one), everything(&other));
    }

    #[test]
    fn a_saved_device_is_loaded_as_it_was((before, other) in case()) {
        let [one, two] = [device(), device()];
        let write = |device: &Device, updates| {
            lock(&device.state).as_ref().unwrap().model.lock().write_each(updates, codec::update);
        };
        write(&one, &before);
        // What the other device has is gone.
        write(&two, &other);
        let held = one.hold().unwrap();
        prop_assert_eq!(two.load(&one.save().unwrap()), Ok(0));
        drop(held);
        let saved = |device: &Device| {
            let everything = everything(lock(&device.state).as_ref().unwrap());
            let counts = |entity: &Entity| {
                matches!(entity, Entity::CounterEntry(_) | Entity::RegisterEntry(_) | Entity::DirectCounterEntry(_))
            };
            let entities = everything.entities.into_iter().filter(|entity| !counts(entity));
            let entities = entities.map(|mut entity| {
                if let Entity::TableEntry(entry) = &mut entity {
                    entry.counter_data = None;
                }
                entity
            });
            Everything { entities: entities.collect(), ..everything }
        };
        prop_assert_eq!(saved(&one), saved(&two));
        prop_assert!(two.load(b"\xff").is_err());
    }

    #[test]
    fn of_a_batch_that_goes_on_exactly_the_good_updates_are_applied((before, batch) in case()) {
        let (one, other) = (state(), state());
        let writes: Vec<v1::Update> = before.into_iter().chain(batch).collect();
        let results = one.model.lock().write_each(&writes, codec::update);
        let good = writes.iter().zip(results).filter(|(_, result)| result.is_ok());
        for (one, _) in good {
            prop_assert!(write(&other, one).is_ok(), "{:?}", one);
        }
        prop_assert_eq!(everything(&one), everything(&other));
    }
}

/// Every kind of update is generated, and enough of them are good and bad for the properties to mean something.
#[test]
fn updates_of_every_kind_are_applied_and_refused() {
    let state = state();
    let mut counts: BTreeMap<(String, i32), [u32; 2]> = BTreeMap::new();
    let mut seed = 1u64;
    let bytes = std::iter::from_fn(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((seed >> 56) as u8)
    });
    let mut dice = Dice::new(bytes.take(200_000).collect());
    while dice.is_left() {
        let update = updates::update(&state.program.schema.model, &mut dice);
        let kind = update.entity.as_ref().and_then(|e| e.entity.as_ref()).map_or_else(String::new, |entity| {
            let text = format!("{entity:?}");
            text.split('(').next().unwrap_or_default().to_string()
        });
        let applied = write(&state, &update).is_ok();
        counts.entry((kind, update.r#type)).or_default()[usize::from(applied)] += 1;
    }
    let modified =
        ["CounterEntry", "DirectCounterEntry", "RegisterEntry", "ValueSetEntry", "MeterEntry", "DirectMeterEntry"];
    let all =
        ["TableEntry", "ActionProfileMember", "ActionProfileGroup", "PacketReplicationEngineEntry", "DigestEntry"];
    let good = modified.map(|kind| (kind, Type::Modify)).into_iter();
    let good = good
        .chain(all.iter().flat_map(|kind| [Type::Insert, Type::Modify, Type::Delete].map(|update| (*kind, update))));
    for (kind, update) in good {
        let [refused, applied] = counts.get(&(kind.to_string(), update as i32)).copied().unwrap_or_default();
        assert!(applied > 5 && refused > 5, "{update:?} of {kind}: {applied} applied, {refused} refused");
    }
}

/// The case of a controller: a count below zero, alone and in batches.
#[test]
fn a_refused_insert_leaves_no_entry() {
    let state = state();
    let schema = state.program.schema.model.clone();
    let hosts = schema.tables.values().find(|t| t.name.ends_with("hosts")).unwrap();
    let drop = hosts.actions.iter().find(|a| a.params.is_empty()).unwrap();
    let insert = |to: u8, packet_count: i64| {
        let exact = v1::field_match::Exact { value: vec![to].into() };
        let field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
        let action = v1::Action { action_id: drop.id, params: Vec::new() };
        let entry = v1::TableEntry {
            table_id: hosts.id,
            r#match: vec![v1::FieldMatch { field_id: 1, field_match_type }],
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
            counter_data: Some(v1::CounterData { packet_count, byte_count: 0 }),
            ..Default::default()
        };
        let entity = Some(v1::Entity { entity: Some(Entity::TableEntry(entry)) });
        v1::Update { r#type: Type::Insert as i32, entity }
    };
    let empty = everything(&state);
    assert_eq!(
        state.model.lock().write_each(&[insert(1, -1)], codec::update)[0].as_ref().unwrap_err().code,
        Code::InvalidArgument
    );
    assert_eq!(everything(&state), empty);
    let results = state.model.lock().write_all(&[insert(2, 1), insert(3, -1)], codec::update, || Ok(())).unwrap();
    let codes: Vec<Code> = results.into_iter().map(|r| r.unwrap_err().code).collect();
    assert_eq!(codes, [Code::Aborted, Code::InvalidArgument]);
    assert_eq!(everything(&state), empty);
    let results = state.model.lock().write_each(&[insert(4, 1), insert(5, -1)], codec::update);
    assert_eq!(results.iter().map(|r| r.is_ok()).collect::<Vec<_>>(), [true, false]);
    assert_eq!(state.model.lock().control()[hosts.at].len(), 1);
}

/// An entry that was removed and put back has its place among those of the same priority.
#[test]
fn an_undone_removal_keeps_the_order_of_entries() {
    let state = state();
    let schema = state.program.schema.model.clone();
    let mut dice = Dice::new(Vec::new());
    let filters = schema.tables.values().find(|t| t.name.ends_with("filters")).unwrap();
    let update = |kind: Type, id: u8, dice: &mut Dice| {
        let entry = updates::filter(filters, id, dice);
        let entity = Some(v1::Entity { entity: Some(Entity::TableEntry(entry)) });
        v1::Update { r#type: kind as i32, entity }
    };
    for id in 1..=3 {
        let insert = update(Type::Insert, id, &mut dice);
        write(&state, &insert).unwrap();
    }
    let (there, noted) = (everything(&state), notes(&state));
    let batch =
        [update(Type::Delete, 1, &mut dice), update(Type::Insert, 4, &mut dice), update(Type::Insert, 1, &mut dice)];
    assert!(state.model.lock().write_all(&batch, codec::update, refused).is_err());
    assert_eq!((everything(&state), notes(&state)), (there, noted));
}

/// Clients of P4Runtime before 1.4 write a replica at port 0 without a port.
#[test]
fn a_replica_without_a_port_is_at_port_0() {
    use v1::packet_replication_engine_entry::Type as Replicates;
    let state = state();
    let replicas = vec![v1::Replica { instance: 5, ..Default::default() }];
    let group = v1::MulticastGroupEntry { multicast_group_id: 3, replicas, ..Default::default() };
    let group = v1::PacketReplicationEngineEntry { r#type: Some(Replicates::MulticastGroupEntry(group)) };
    let entity = Some(v1::Entity { entity: Some(Entity::PacketReplicationEngineEntry(group)) });
    write(&state, &v1::Update { r#type: Type::Insert as i32, entity }).unwrap();
    let found = everything(&state).multicast;
    let copies = found.iter().find(|(number, _)| *number == 3).and_then(|(_, copies)| copies.clone());
    assert_eq!(copies.unwrap().iter().map(|copy| (copy.port, copy.rid)).collect::<Vec<_>>(), [(0, 5)]);
}

/// Control planes are notified of idle entries after each timeout, once there is a listener.
#[test]
fn idle_entries_are_notified_until_they_are_hit() {
    let state = state();
    let schema = state.program.schema.model.clone();
    let hosts = schema.tables.values().find(|t| t.name.ends_with("hosts")).unwrap();
    let key: EntryKey = (hosts.at, vec![MatchValue::Exact(7u8.into())], 0);
    let drop = hosts.actions.iter().find(|a| a.params.is_empty()).unwrap();
    let second = Duration::from_secs(1);
    let entry = v1::TableEntry {
        table_id: hosts.id,
        r#match: codec::Encode::of(&state.model.lock()).matches(&hosts.fields, &key.1),
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(v1::Action { action_id: drop.id, params: Vec::new() })),
        }),
        counter_data: Some(v1::CounterData { packet_count: 5, byte_count: 500 }),
        idle_timeout_ns: second.as_nanos() as i64,
        metadata: vec![1].into(),
        ..Default::default()
    };
    let entity = Some(v1::Entity { entity: Some(Entity::TableEntry(entry)) });
    let insert = v1::Update { r#type: Type::Insert as i32, entity };
    write(&state, &insert).unwrap();
    let begin = state.model.lock().note(&key).unwrap().idle.as_ref().unwrap().last_hit;
    let idle = |listener, tenths: u32, listening: bool| {
        let now = begin + second * tenths / 10;
        state.model.lock().idle_entries(listener, now, |table| listening && table == hosts.id)
    };
    let notified = |tenths: u32, listening: bool| {
        let found = idle(IdleListener::Repeated, tenths, listening);
        let found = found.iter().filter_map(|entry| codec::Encode::of(&state.model.lock()).idle(entry));
        found.map(|entry| (entry.metadata.to_vec(), entry.idle_timeout_ns)).collect::<Vec<_>>()
    };
    let once = vec![(vec![1], 1_000_000_000)];
    // A count that a controller gives is no hit.
    assert!(notified(9, true).is_empty());
    assert_eq!(notified(10, true), once);
    assert!(notified(19, true).is_empty());
    assert_eq!(notified(20, true), once);
    // Who is told once is told so besides.
    assert_eq!(idle(IdleListener::Once, 20, true).len(), 1);
    assert!(idle(IdleListener::Once, 34, true).is_empty());
    // There is no listener for some time.
    assert!(notified(35, false).is_empty());
    assert!(notified(50, false).is_empty());
    assert_eq!(notified(51, true), once);
    assert!(notified(52, true).is_empty());
    assert_eq!(notified(61, true), once);
    // A hit ends it, and a count that is set does not.
    let count = hopwright_dataplane::Count { packets: 100, bytes: 0 };
    let of_entry = Key { table: hosts.id, fields: vec![(1, MatchValue::Exact(7u8.into()))], priority: 0 };
    let update = Update { operation: Operation::Modify, entity: control::Entity::DirectCounter(of_entry, count) };
    let plan = state.model.lock().plan(&update).unwrap();
    state.model.lock().apply(plan).unwrap();
    assert_eq!(notified(71, true), once);
    let count = hopwright_dataplane::Count { packets: 101, bytes: 0 };
    state.model.lock().control()[hosts.at].set_direct_count(&key.1, 0, count).unwrap();
    assert!(notified(81, true).is_empty());
    assert!(notified(90, true).is_empty());
    assert_eq!(notified(91, true), once);
    assert_eq!(idle(IdleListener::Once, 91, true).len(), 1);
}
