//! What is refused changes nothing, and an entry that is put back is what it was.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopwright_dataplane::offload::{DeviceFault, Forwarded, Offload};
use hopwright_dataplane::quiescence::Domain;
use hopwright_dataplane::{
    CloneSession, Control, ControlError, Count, EngineKind, Rates, Replica, Table, VirtualDataPlane,
};
use hopwright_driver::compile_text;
use hopwright_ir::*;
use num_bigint::BigUint;
use proptest::prelude::*;

const PROGRAM: &str = "
    #include <core.p4>
    #include <v1model.p4>
    #include <crypto.p4>
    header h_t { bit<8> a; bit<8> b; } struct headers { h_t h; } struct meta { bit<8> colour; }
    parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
        value_set<bit<8>>(4) known;
        state start { p.extract(hdr.h); transition select(hdr.h.a) { known: accept; default: accept; } }
    }
    control V(inout headers hdr, inout meta m) { apply {} }
    control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
        direct_counter(CounterType.packets) hits;
        direct_meter<bit<8>>(MeterType.packets) rate;
        counter(4, CounterType.packets) counts;
        meter(4, MeterType.packets) meters;
        register<bit<8>>(4) numbers;
        AesCmac(2) keyed;
        action to(bit<9> port) { rate.read(m.colour); sm.egress_spec = port; }
        table entries {
            key = { hdr.h.a: ternary; } actions = { to; NoAction; } default_action = NoAction();
            counters = hits; meters = rate; size = 64;
        }
        action_selector(HashAlgorithm.crc16, 8, 8) members;
        table chosen {
            key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { to; NoAction; } default_action = NoAction();
            implementation = members; size = 8;
        }
        apply {
            chosen.apply(); entries.apply(); counts.count(1); meters.execute_meter(1, m.colour);
            bit<8> n; numbers.read(n, 0); numbers.write(0, n + 1);
            bit<128> tag; keyed.mac(1, 0, tag); hdr.h.b = tag[7:0];
        }
    }
    control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {} }
    control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
    V1Switch(P(), V(), I(), E(), V(), D()) main;";

fn program() -> Arc<Pipeline> {
    Arc::new(compile_text("undone.p4", PROGRAM, &Default::default(), true).pipeline.expect("it compiles"))
}

fn entry(pipeline: &Pipeline, value: u8, mask: u8, priority: i32, port: u32) -> TableEntry {
    let matches = vec![MatchValue::Ternary { value: (value & mask).into(), mask: mask.into() }];
    let action = ActionCall { action: pipeline.action_by_name("to").unwrap(), args: vec![port.into()] };
    TableEntry { matches, priority, action }
}

/// A device that refuses everything, or takes it.
#[derive(Clone)]
struct Device(Arc<AtomicBool>);

impl Device {
    fn answer(&self) -> Result<(), DeviceFault> {
        if self.0.load(Ordering::Relaxed) { Err(DeviceFault::refused("it is tired")) } else { Ok(()) }
    }
}

impl Offload for Device {
    fn put(&mut self, _: TableId, _: &TableEntry) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn choose(&mut self, _: TableId, _: &[MatchValue], _: i32, _: &[WeightedAction]) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn delete(&mut self, _: TableId, _: &[MatchValue], _: i32) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn clear(&mut self, _: TableId) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn set_default(&mut self, _: TableId, _: &ActionCall) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn set_key(&mut self, _: ExternId, _: u64, _: Option<&[u8; 16]>) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn counts(&mut self, _: ExternId, cells: Range<u64>) -> Result<Vec<Count>, DeviceFault> {
        Ok(cells.map(|_| Count { packets: 7, bytes: 0 }).collect())
    }
    fn set_count(&mut self, _: ExternId, _: u64, _: Count) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn register(&mut self, _: ExternId, _: u64) -> Result<BigUint, DeviceFault> {
        Ok(3u8.into())
    }
    fn set_register(&mut self, _: ExternId, _: u64, _: &BigUint) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn set_meter(&mut self, _: ExternId, _: u64, _: Option<Rates>) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn direct_count(&mut self, _: TableId, _: &[MatchValue], _: i32) -> Result<Count, DeviceFault> {
        Ok(Count { packets: 9, bytes: 0 })
    }
    fn set_direct_count(&mut self, _: TableId, _: &[MatchValue], _: i32, _: Count) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn set_direct_meter(&mut self, _: TableId, _: &[MatchValue], _: i32, _: Option<Rates>) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn set_members(&mut self, _: ValueSetId, _: &[Vec<MatchValue>]) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn settle(&mut self) -> Result<(), DeviceFault> {
        Ok(())
    }
    fn set_multicast_group(&mut self, _: u16, _: &[Replica]) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn set_clone_session(&mut self, _: u32, _: Option<CloneSession>) -> Result<(), DeviceFault> {
        self.answer()
    }
    fn process(&mut self, _: &[(u32, &[u8])], _: u64) -> Result<Vec<Vec<Forwarded>>, DeviceFault> {
        Err(DeviceFault::refused("no packets"))
    }
}

/// What can be read, as text.
fn seen(control: &Control) -> String {
    let table = control.table("entries").unwrap();
    let of = |e: &TableEntry| {
        (e.clone(), table.direct_count(&e.matches, e.priority), table.direct_meter(&e.matches, e.priority))
    };
    let text = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        table.entries().iter().map(of).collect::<Vec<_>>(),
        table.default_action(),
        control.counter("counts").unwrap().read_all(),
        (0..4).map(|i| control.meter("meters").unwrap().rates(i)).collect::<Vec<_>>(),
        (0..4).map(|i| control.register("numbers").unwrap().read(i)).collect::<Vec<_>>(),
        control.value_set(ValueSetId(0)).unwrap().read(),
        control.multicast_group(5),
        control.clone_session(6),
    );
    let (profile, chosen) = (control.profile("members").unwrap(), control.table("chosen").unwrap());
    let targets: Vec<_> = chosen.entries().iter().map(|e| chosen.target(&e.matches, e.priority)).collect();
    format!("{text} {:?} {:?} {targets:?}", profile.members(), profile.groups())
}

#[test]
fn what_a_device_refuses_changes_nothing() {
    let (pipeline, tired) = (program(), Arc::new(AtomicBool::new(false)));
    let vdp = VirtualDataPlane::offloaded(pipeline.clone(), Box::new(Device(tired.clone()))).unwrap();
    let control = vdp.control();
    let table = control.table("entries").unwrap();
    let (one, other) = (entry(&pipeline, 1, 255, 1, 4), entry(&pipeline, 2, 255, 1, 4));
    let rates = Some(Rates { cir: 1, cburst: 1, pir: 2, pburst: 2 });
    let call = Some(ActionCall { action: one.action.action, args: vec![5u8.into()] });
    let session = CloneSession { port: Some(1), group: None, truncate: None };
    let (profile, chosen) = (control.profile("members").unwrap(), control.table("chosen").unwrap());
    let chosen_by = |value: u8| vec![MatchValue::Exact(value.into()), MatchValue::Optional(None)];
    let group = |members: &[(u32, u32)]| Group { members: members.iter().copied().collect(), ..Group::default() };
    type Write<'c> = Box<dyn Fn() -> Result<(), ControlError> + 'c>;
    let writes: Vec<(&str, Write<'_>)> = vec![
        ("insert", Box::new(|| table.insert(other.clone()))),
        ("modify", Box::new(|| table.modify(TableEntry { action: call.clone().unwrap(), ..one.clone() }))),
        ("count", Box::new(|| table.set_direct_count(&one.matches, 1, Count { packets: 1, bytes: 1 }))),
        ("rates", Box::new(|| table.set_direct_meter(&one.matches, 1, rates))),
        ("default", Box::new(|| table.set_default(call.clone()))),
        ("counter", Box::new(|| control.counter("counts")?.write(1, Count { packets: 1, bytes: 1 }))),
        ("register", Box::new(|| control.register("numbers")?.write(1, 9u8))),
        ("meter", Box::new(|| control.meter("meters")?.set_rates(1, rates))),
        ("key", Box::new(|| control.key_table("keyed")?.set_key(1, &[1; 16]).map_err(|error| error.of("keyed")))),
        ("no key", Box::new(|| control.key_table("keyed")?.clear_key(1).map_err(|error| error.of("keyed")))),
        (
            "value set",
            Box::new(|| control.value_set(ValueSetId(0))?.replace(vec![vec![MatchValue::Exact(7u8.into())]])),
        ),
        ("group", Box::new(|| control.set_multicast_group(5, Some(vec![Replica { rid: 1, port: 2 }])))),
        ("session", Box::new(|| control.set_clone_session(6, Some(session)))),
        ("insert target", Box::new(|| chosen.insert_target(chosen_by(2), 0, EntryTarget::Member(1)))),
        ("modify target", Box::new(|| chosen.modify_target(chosen_by(1), 0, EntryTarget::Member(1)))),
        ("modify target back", Box::new(|| chosen.modify_target(chosen_by(1), 0, EntryTarget::Group(1)))),
        ("member", Box::new(|| profile.modify_member(1, call.clone().unwrap()))),
        ("group of members", Box::new(|| profile.modify_group(1, group(&[(2, 3)])))),
        ("remove", Box::new(|| table.remove(&one.matches, 1).map(drop))),
        ("clear", Box::new(|| table.clear())),
    ];
    table.insert(one.clone()).unwrap();
    [1, 2].into_iter().for_each(|id| profile.insert_member(id, one.action.clone()).unwrap());
    profile.insert_group(1, group(&[(1, 1), (2, 1)])).unwrap();
    chosen.insert_target(chosen_by(1), 0, EntryTarget::Group(1)).unwrap();
    for (name, write) in &writes {
        let before = seen(control);
        tired.store(true, Ordering::Relaxed);
        assert!(matches!(write(), Err(ControlError::Device { .. })), "{name}");
        tired.store(false, Ordering::Relaxed);
        assert_eq!(seen(control), before, "{name}");
        if *name == "remove" {
            let removed = table.remove(&one.matches, 1).unwrap();
            tired.store(true, Ordering::Relaxed);
            assert!(table.restore(removed).is_err());
            tired.store(false, Ordering::Relaxed);
            assert!(table.get(&one.matches, 1).is_none());
            table.insert(one.clone()).unwrap();
        } else {
            write().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// What a lookup of each value finds.
fn lookups(table: &Table, domain: &Arc<Domain>) -> Vec<Vec<u64>> {
    let mut reader = domain.reader();
    (0..=255).map(|value| table.lookup(&mut reader, &[value]).unwrap().data).collect()
}

proptest! {
    /// Entries are removed and put back in the reverse order, with others added and removed in between.
    #[test]
    fn entries_that_are_put_back_are_what_they_were(
        entries in proptest::collection::vec((any::<u8>(), 0..8u8, 1..3i32), 1..30),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..10),
    ) {
        let (pipeline, domain) = (program(), Domain::new());
        let id = pipeline.table_by_name("entries").unwrap();
        let table = Table::new(&pipeline, id, &domain).unwrap();
        for (number, (value, mask, priority)) in entries.iter().enumerate() {
            let entry = entry(&pipeline, *value, 0xffu8 << mask, *priority, number as u32);
            if table.insert(entry.clone()).is_ok() {
                let rates = Rates { cir: number as u64, cburst: 1, pir: 99, pburst: 1 };
                table.set_direct_meter(&entry.matches, *priority, Some(rates)).unwrap();
                table.set_direct_count(&entry.matches, *priority, Count { packets: number as u64, bytes: 0 }).unwrap();
            }
        }
        let all = |table: &Table| {
            let of = |e: TableEntry| {
                let (count, rates) = (table.direct_count(&e.matches, e.priority), table.direct_meter(&e.matches, e.priority));
                (e, count, rates)
            };
            table.entries().into_iter().map(of).collect::<Vec<_>>()
        };
        let before = (all(&table), lookups(&table, &domain));
        let mut removed = Vec::new();
        for pick in picks {
            let there = table.entries();
            if there.is_empty() {
                break;
            }
            let gone = pick.get(&there);
            removed.push(table.remove(&gone.matches, gone.priority).unwrap());
            // Another entry with the same keys, for some time.
            let other = TableEntry { action: entry(&pipeline, 0, 0, 1, 500).action, ..gone.clone() };
            table.insert(other).unwrap();
            table.delete(&gone.matches, gone.priority).unwrap();
        }
        while let Some(entry) = removed.pop() {
            table.restore(entry).unwrap();
        }
        prop_assert_eq!((all(&table), lookups(&table, &domain)), before);
    }
}

#[test]
fn nothing_is_put_back_in_the_place_of_another() {
    let pipeline = program();
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    let table = vdp.control().table("entries").unwrap();
    let one = entry(&pipeline, 1, 255, 1, 4);
    table.insert(one.clone()).unwrap();
    let removed = table.remove(&one.matches, 1).unwrap();
    table.insert(one.clone()).unwrap();
    assert!(matches!(table.restore(removed), Err(ControlError::Duplicate(_))));
    assert!(matches!(table.remove(&entry(&pipeline, 2, 255, 1, 4).matches, 1), Err(ControlError::NotFound(_))));
}

/// Entries with a cell in a register, of a table with an action selector.
#[test]
fn an_entry_keeps_its_cell() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf/tna_direct_objects.p4");
    let compiled = hopwright_driver::compile_file(&source, &Default::default(), true);
    let pipeline = Arc::new(compiled.pipeline.expect("it compiles"));
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    let control = vdp.control();
    let (table, sums) = (control.table("selected").unwrap(), control.register("sums").unwrap());
    let action = |name: &str, member: u8| {
        let action = control.resolve_action(table.id(), name, &[member.into()]).unwrap();
        EntryTarget::Set(vec![WeightedAction { action, weight: 1 }])
    };
    let keys = &pipeline[table.id()].keys;
    let matches = |value: u8| {
        let of_key = keys.iter().map(|key| match key.kind.is_matched() {
            true => MatchValue::Exact(value.into()),
            false => MatchValue::Optional(None),
        });
        of_key.collect::<Vec<_>>()
    };
    let [one, other] = [matches(1), matches(2)];
    table.insert_target(one.clone(), 0, action("sum", 1)).unwrap();
    let index = table.entry_index(&one, 0).unwrap();
    sums.write(index.into(), 77u8).unwrap();
    table.modify_target(one.clone(), 0, action("average", 2)).unwrap();
    assert_eq!(table.entry_index(&one, 0), Some(index));
    // Another entry has the cell for some time.
    let removed = table.remove(&one, 0).unwrap();
    table.insert_target(other.clone(), 0, action("sum", 3)).unwrap();
    assert_eq!((table.entry_index(&other, 0), sums.read(index.into()).unwrap()), (Some(index), 3u8.into()));
    table.delete(&other, 0).unwrap();
    table.restore(removed).unwrap();
    assert_eq!((table.entry_index(&one, 0), sums.read(index.into()).unwrap()), (Some(index), 77u8.into()));
    assert_eq!(table.target(&one, 0), Some(action("average", 2)));
    table.delete(&one, 0).unwrap();
    table.insert_target(other.clone(), 0, action("sum", 3)).unwrap();
    assert_eq!(table.entry_index(&other, 0), Some(index));
}
