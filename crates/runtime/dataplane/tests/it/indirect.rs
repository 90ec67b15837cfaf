//! Action profiles, selectors and meters: machine code agrees with the reference interpreter while the control plane
//! changes everything at random, and a worker is not disturbed by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopwright_abi::Verdict;
use hopwright_dataplane::{
    Control, ControlError, EngineKind, EntryTarget, Executor, FrameSize, Group, Pool, Rates, VirtualDataPlane,
    WeightedAction,
};
use hopwright_driver::compile_text;
use hopwright_interp::{self as interp, Interp, LinearStore};
use hopwright_ir::hash::Random;
use hopwright_ir::{ActionCall, ActionId, ExternId, MatchValue, Pipeline, TableEntry, TableId};

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> k; bit<8> f; bit<4> g; bit<4> pad; bit<8> a; bit<8> b; bit<8> c; bit<8> m; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}
control N(inout headers_t hdr, inout meta_t meta) { apply {} }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action_selector(HashAlgorithm.crc16, 6, 16) sel;
    meter(4, MeterType.bytes) ind;
    direct_meter<bit<8>>(MeterType.packets) one;
    direct_meter<bit<8>>(MeterType.bytes) two;
    direct_counter(CounterType.packets) hits;
    action set_a(bit<8> v) { hdr.h.a = v; }
    action set_b(bit<8> v, bit<8> w) { hdr.h.b = v; hdr.h.a = w; }
    action color_b(bit<8> v) { hdr.h.b = v; two.read(hdr.h.c); }
    action color() { one.read(hdr.h.m); }
    table t {
        key = { hdr.h.k : exact; hdr.h.f : selector; hdr.h.g : selector; }
        actions = { set_a; set_b; }
        default_action = set_a(0xee);
        implementation = sel;
        counters = hits;
    }
    table u {
        key = { hdr.h.f : ternary; hdr.h.g : selector; }
        actions = { set_a; set_b; color_b; }
        default_action = color_b(0xdd);
        implementation = sel;
        meters = two;
    }
    table d {
        key = { hdr.h.k : lpm; }
        actions = { color; NoAction; }
        default_action = NoAction();
        meters = one;
    }
    apply {
        if (t.apply().hit) { hdr.h.pad = 1; }
        u.apply();
        d.apply();
        ind.execute_meter((bit<32>)hdr.h.f, hdr.h.c);
    }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
"#;

fn pipeline() -> Arc<Pipeline> {
    let compiled = compile_text("indirect.p4", PROGRAM, &Default::default(), true);
    let text = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{text}")))
}

struct Names {
    tables: [TableId; 3],
    sel: ExternId,
    ind: ExternId,
    actions: Vec<(ActionId, usize)>,
    color: ActionId,
}

impl Names {
    fn of(p: &Pipeline) -> Names {
        let table = |name| p.table_by_name(name).unwrap();
        let action = |name| {
            let id = p.action_by_name(name).unwrap();
            (id, p[id].params.len())
        };
        Names {
            tables: [table("t"), table("u"), table("d")],
            sel: p.extern_by_name("sel").unwrap(),
            ind: p.extern_by_name("ind").unwrap(),
            // The last is only in one of the tables, so that no member may have it.
            actions: ["set_a", "set_b", "color_b"].map(action).to_vec(),
            color: action("color").0,
        }
    }

    fn action(&self, random: &mut Random) -> ActionCall {
        let (action, params) = self.actions[below(random, 10).min(2) as usize % 3];
        ActionCall { action, args: (0..params).map(|_| below(random, 256).into()).collect() }
    }
}

fn below(random: &mut Random, n: u64) -> u64 {
    random.next_u64() % n
}

/// A change of a program's state.
#[derive(Clone, Debug)]
enum Change {
    InsertMember(u32, ActionCall),
    ModifyMember(u32, ActionCall),
    DeleteMember(u32),
    InsertGroup(u32, Group),
    ModifyGroup(u32, Group),
    DeleteGroup(u32),
    InsertTarget(TableId, Key, EntryTarget),
    ModifyTarget(TableId, Key, EntryTarget),
    Insert(TableId, TableEntry),
    Delete(TableId, Key),
    SetMeter(u64, Option<Rates>),
    SetDirectMeter(TableId, Key, Option<Rates>),
}

type Key = (Vec<MatchValue>, i32);

fn random_change(names: &Names, random: &mut Random) -> Change {
    let (member, number) = (below(random, 8) as u32, below(random, 4) as u32);
    let at = below(random, 3) as usize;
    let key = below(random, 4);
    let (matches, priority) = match at {
        0 => (vec![MatchValue::Exact(key.into()), MatchValue::Optional(None), MatchValue::Optional(None)], 0),
        1 => {
            let ternary = MatchValue::Ternary { value: (key & 2).into(), mask: 2u32.into() };
            (vec![ternary, MatchValue::Optional(None)], key as i32)
        }
        _ => (vec![MatchValue::Lpm { value: (key << 6).into(), prefix_len: 2 }], 0),
    };
    let table = names.tables[at];
    let rates = (below(random, 4) > 0).then(|| {
        let cir = below(random, 3_000);
        Rates { cir, cburst: below(random, 40), pir: cir + below(random, 3_000), pburst: below(random, 60) }
    });
    let mut group = Group::default();
    for _ in 0..below(random, 4) {
        group.members.insert(below(random, 6) as u32, below(random, 5) as u32);
    }
    let target = match below(random, 4) {
        0 => EntryTarget::Member(member),
        1 => EntryTarget::Set((0..below(random, 4)).map(|_| weighted(names, random)).collect()),
        _ => EntryTarget::Group(number),
    };
    let action = names.action(random);
    match below(random, 14) {
        0 | 1 => Change::InsertMember(member, action),
        2 => Change::ModifyMember(member, action),
        3 => Change::DeleteMember(member),
        4 | 5 => Change::InsertGroup(number, group),
        6 => Change::ModifyGroup(number, group),
        7 => Change::DeleteGroup(number),
        8 if at < 2 => Change::ModifyTarget(table, (matches, priority), target),
        9 => Change::Delete(table, (matches, priority)),
        10 => Change::SetMeter(key + 1, rates),
        11 if at > 0 => Change::SetDirectMeter(table, (matches, priority), rates),
        _ if at < 2 => Change::InsertTarget(table, (matches, priority), target),
        _ => {
            let action = ActionCall { action: names.color, args: Vec::new() };
            Change::Insert(table, TableEntry { matches, priority, action })
        }
    }
}

fn apply(control: &Control, names: &Names, change: Change) -> Result<(), ControlError> {
    let profile = control.profile(names.sel)?;
    match change {
        Change::InsertMember(member, action) => profile.insert_member(member, action),
        Change::ModifyMember(member, action) => profile.modify_member(member, action),
        Change::DeleteMember(member) => profile.delete_member(member),
        Change::InsertGroup(number, group) => profile.insert_group(number, group),
        Change::ModifyGroup(number, group) => profile.modify_group(number, group),
        Change::DeleteGroup(number) => profile.delete_group(number),
        Change::InsertTarget(table, (matches, priority), to) => control[table].insert_target(matches, priority, to),
        Change::ModifyTarget(table, (matches, priority), to) => control[table].modify_target(matches, priority, to),
        Change::Insert(table, entry) => control[table].insert(entry),
        Change::Delete(table, (matches, priority)) => control[table].delete(&matches, priority),
        Change::SetMeter(index, rates) => control.meter(names.ind)?.set_rates(index, rates),
        Change::SetDirectMeter(table, (matches, priority), rates) => {
            control[table].set_direct_meter(&matches, priority, rates)
        }
    }
}

/// The same for the interpreter's own lists.
fn apply_to_lists(store: &mut LinearStore, names: &Names, change: Change) -> Result<(), interp::ControlError> {
    match change {
        Change::InsertMember(member, action) => store.insert_member(names.sel, member, action),
        Change::ModifyMember(member, action) => store.modify_member(names.sel, member, action),
        Change::DeleteMember(member) => store.delete_member(names.sel, member),
        Change::InsertGroup(number, group) => store.insert_group(names.sel, number, group),
        Change::ModifyGroup(number, group) => store.modify_group(names.sel, number, group),
        Change::DeleteGroup(number) => store.delete_group(names.sel, number),
        Change::InsertTarget(table, (matches, priority), to) => store.insert_target(table, matches, priority, to),
        Change::ModifyTarget(table, (matches, priority), to) => store.modify_target(table, matches, priority, to),
        Change::Insert(table, entry) => store.insert(table, entry),
        Change::Delete(table, (matches, priority)) => store.delete(table, &matches, priority),
        Change::SetMeter(index, rates) => store.set_meter(names.ind, index, rates),
        Change::SetDirectMeter(table, (matches, priority), rates) => {
            store.set_direct_meter(table, &matches, priority, rates)
        }
    }
}

/// All that the control plane can read.
fn everything(control: &Control, names: &Names) -> String {
    let mut text = String::new();
    for table in names.tables.map(|id| &control[id]) {
        text += &format!("{:?}\n", table.default_action());
        for entry in table.entries() {
            let (matches, priority) = (&entry.matches, entry.priority);
            let target = table.target(matches, priority);
            let counts = (table.direct_count(matches, priority), table.direct_meter(matches, priority));
            text += &format!("{entry:?} {target:?} {counts:?}\n");
        }
    }
    let (profile, meter) = (control.profile(names.sel).unwrap(), control.meter(names.ind).unwrap());
    let meters: Vec<_> = (0..4).map(|at| meter.rates(at).unwrap()).collect();
    text + &format!("{:?}\n{:?}\n{meters:?}", profile.members(), profile.groups())
}

fn weighted(names: &Names, random: &mut Random) -> WeightedAction {
    WeightedAction { action: names.action(random), weight: 1 + below(random, 3) as u32 }
}

#[test]
fn engines_agree_under_random_changes() {
    let pipeline = pipeline();
    let names = Names::of(&pipeline);
    let (mut done, mut refused, mut hits, mut colors) = (0, 0, 0, [0; 3]);
    for seed in 0..20 {
        let engines = [EngineKind::Jit, EngineKind::Interp];
        let vdps = engines.map(|engine| VirtualDataPlane::new(pipeline.clone(), engine).unwrap());
        let mut lists = Interp::new(pipeline.clone()).unwrap();
        let mut executors = vdps.each_ref().map(|vdp| Executor::new(vdp.clone()));
        let mut pool = Pool::new(4, FrameSize::JUMBO).unwrap();
        let mut random = Random::new(seed);
        let mut now = 0;
        for step in 0..300 {
            let change = random_change(&names, &mut random);
            let before = vdps.each_ref().map(|vdp| everything(vdp.control(), &names));
            let results = vdps.each_ref().map(|vdp| apply(vdp.control(), &names, change.clone()));
            assert_eq!(results[0], results[1], "seed {seed} step {step}");
            let result = apply_to_lists(&mut lists.store, &names, change.clone());
            assert_eq!(results[0].is_ok(), result.is_ok(), "seed {seed} step {step}: {result:?}");
            match results[0] {
                Ok(()) => done += 1,
                Err(_) => {
                    refused += 1;
                    let after = vdps.each_ref().map(|vdp| everything(vdp.control(), &names));
                    assert_eq!(before, after, "a refused change leaves all as it was: {change:?}");
                }
            }
            now += below(&mut random, 2_000);
            let packet = [0u8; 7].map(|_| below(&mut random, 256) as u8 & 0xf3);
            let packet = [packet[0] & 0xc3, packet[1] & 7, packet[2] & 0xf0, 0, 0, 7, 0];
            let outcomes = executors.each_mut().map(|executor| {
                let mut frame = pool.take_filled(&packet).unwrap();
                executor.process_batch(std::slice::from_mut(&mut frame), now);
                let outcome = (frame.verdict(), frame.bytes().to_vec());
                pool.give(frame);
                outcome
            });
            assert_eq!(outcomes[0], outcomes[1], "seed {seed} step {step}: {packet:02x?}");
            assert_eq!(outcomes[0].0, Verdict::Forward);
            let sent = lists.process(&packet, 0, now).sent;
            assert_eq!(sent[0].bytes, outcomes[0].1, "seed {seed} step {step}: {packet:02x?}");
            hits += usize::from(outcomes[0].1[2] & 1 == 1);
            if let Some(seen) = colors.get_mut(usize::from(outcomes[0].1[5])) {
                *seen += 1;
            }
        }
        for table in names.tables {
            for entry in vdps[0].control()[table].entries() {
                let target = vdps.each_ref().map(|v| v.control()[table].target(&entry.matches, entry.priority));
                assert_eq!(target[0], target[1]);
                assert_eq!(target[0].is_some(), pipeline[table].implementation.is_some());
            }
        }
    }
    assert!(done > 1_000 && refused > 1_000 && hits > 100, "{done} {refused} {hits}");
    assert!(colors.iter().all(|n| *n > 20), "{colors:?}");
}

#[test]
fn what_is_in_use_stays_and_what_is_not_goes() {
    let vdp = VirtualDataPlane::new(pipeline(), EngineKind::Jit).unwrap();
    let names = Names::of(vdp.pipeline());
    let action = ActionCall { action: names.actions[0].0, args: vec![1u32.into()] };
    let elsewhere = ActionCall { action: names.actions[2].0, args: vec![1u32.into()] };
    let key = || vec![MatchValue::Exact(1u32.into()), MatchValue::Optional(None), MatchValue::Optional(None)];
    let group = Group { members: [(7, 3)].into(), max_size: 3, ..Group::default() };
    let says = |r: Result<(), ControlError>| r.map_err(|e| e.to_string());

    vdp.control().profile(names.sel).and_then(|p| p.insert_member(7, action.clone())).unwrap();
    vdp.control().profile(names.sel).and_then(|p| p.insert_group(2, group.clone())).unwrap();
    vdp.control()[names.tables[0]].insert_target(key(), 0, EntryTarget::Group(2)).unwrap();
    assert_eq!(
        says(vdp.control().profile(names.sel).and_then(|p| p.delete_member(7))),
        Err("`I.sel`: member 7 is in use: a group or an entry leads to it".into())
    );
    assert_eq!(
        says(vdp.control().profile(names.sel).and_then(|p| p.delete_group(2))),
        Err("`I.sel`: group 2 is in use: an entry leads to it".into())
    );
    let bigger = Group { members: [(7, 4)].into(), max_size: 3, ..Group::default() };
    assert_eq!(
        says(vdp.control().profile(names.sel).and_then(|p| p.modify_group(2, bigger))),
        Err("`I.sel`: the weights, or members, are together more than 3".into())
    );
    // Tables that share a profile permit their own actions: one table has this action, the other does not.
    let profile = || vdp.control().profile(names.sel);
    let foreign = "would run `I.color_b`, which is no action of that table";
    let refuses = |r: Result<(), ControlError>| says(r).is_err_and(|e| e.contains(foreign));
    profile().and_then(|p| p.insert_member(8, elsewhere.clone())).unwrap();
    assert!(refuses(profile().and_then(|p| p.modify_member(7, elsewhere))));
    let mixed = Group { members: [(8, 1)].into(), max_size: 3, ..Group::default() };
    assert!(refuses(profile().and_then(|p| p.modify_group(2, mixed.clone()))));
    profile().and_then(|p| p.insert_group(3, mixed)).unwrap();
    for to in [EntryTarget::Member(8), EntryTarget::Group(3)] {
        assert!(refuses(vdp.control()[names.tables[0]].modify_target(key(), 0, to.clone())), "{to:?}");
        let ternary = vec![MatchValue::Ternary { value: 0u32.into(), mask: 0u32.into() }, MatchValue::Optional(None)];
        vdp.control()[names.tables[1]].insert_target(ternary, 1, to).unwrap();
        vdp.control()[names.tables[1]].clear().unwrap();
    }
    profile().and_then(|p| p.delete_group(3)).unwrap();
    profile().and_then(|p| p.delete_member(8)).unwrap();
    // A refused change of an entry leaves everything as it was.
    assert!(vdp.control()[names.tables[0]].modify_target(key(), 0, EntryTarget::Member(99)).is_err());
    assert!(vdp.control()[names.tables[0]].insert_target(key(), 0, EntryTarget::Member(7)).is_err());
    assert_eq!(vdp.control()[names.tables[0]].target(&key(), 0), Some(EntryTarget::Group(2)));

    vdp.control()[names.tables[0]].modify_target(key(), 0, EntryTarget::Member(7)).unwrap();
    vdp.control().profile(names.sel).and_then(|p| p.delete_group(2)).unwrap();
    assert!(vdp.control().profile(names.sel).and_then(|p| p.delete_member(7)).is_err());
    vdp.control()[names.tables[0]].clear().unwrap();
    vdp.control().profile(names.sel).and_then(|p| p.delete_member(7)).unwrap();
    for id in 0..6 {
        vdp.control().profile(names.sel).and_then(|p| p.insert_member(id, action.clone())).unwrap();
    }
    assert_eq!(
        says(vdp.control().profile(names.sel).and_then(|p| p.insert_member(6, action))),
        Err("`I.sel`: no room for another member: the size is 6".into())
    );
}

#[test]
fn a_worker_sees_old_or_new_and_nothing_between() {
    let vdp = VirtualDataPlane::new(pipeline(), EngineKind::Jit).unwrap();
    let names = Names::of(vdp.pipeline());
    let call = |v: u64| ActionCall { action: names.actions[1].0, args: vec![v.into(), v.into()] };
    vdp.control().profile(names.sel).and_then(|p| p.insert_member(0, call(1))).unwrap();
    vdp.control().profile(names.sel).and_then(|p| p.insert_member(1, call(2))).unwrap();
    vdp.control()
        .profile(names.sel)
        .and_then(|p| p.insert_group(0, Group { members: [(0, 1)].into(), max_size: 0, ..Group::default() }))
        .unwrap();
    let key = || vec![MatchValue::Exact(1u32.into()), MatchValue::Optional(None), MatchValue::Optional(None)];
    vdp.control()[names.tables[0]].insert_target(key(), 0, EntryTarget::Group(0)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(1);
            for _ in 0..20_000 {
                let v = below(&mut random, 200) + 1;
                let members = [(below(&mut random, 2) as u32, 1 + below(&mut random, 9) as u32)].into();
                let rates = Rates { cir: v, cburst: v, pir: v, pburst: v };
                let done = match below(&mut random, 5) {
                    0 => vdp.control().profile(names.sel).and_then(|p| p.modify_member(0, call(v))),
                    1 => vdp
                        .control()
                        .profile(names.sel)
                        .and_then(|p| p.modify_group(0, Group { members, max_size: 0, ..Group::default() })),
                    2 => vdp.control()[names.tables[0]].modify_target(
                        key(),
                        0,
                        EntryTarget::Member(below(&mut random, 2) as u32),
                    ),
                    3 => {
                        let set = vec![WeightedAction { action: call(v), weight: 3 }; 2];
                        vdp.control()[names.tables[0]].modify_target(key(), 0, EntryTarget::Set(set))
                    }
                    _ => vdp
                        .control()
                        .meter(names.ind)
                        .and_then(|m| m.set_rates(2, v.is_multiple_of(2).then_some(rates))),
                };
                done.unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut executor = Executor::new(vdp.clone());
        let mut pool = Pool::new(4, FrameSize::JUMBO).unwrap();
        let mut now = 0;
        while !stop.load(Ordering::Relaxed) {
            now += 1;
            let mut frame = pool.take_filled(&[1, 2, now as u8, 0, 0, 7, 0]).unwrap();
            executor.process_batch(std::slice::from_mut(&mut frame), now);
            let bytes = frame.bytes();
            // One of the actions ran, whole; then the second table, which has no entry, says 0xdd.
            assert!(bytes[3] != 0 && bytes[4] == 0xdd && bytes[5] <= 2, "{bytes:02x?}");
            pool.give(frame);
        }
    });
}
