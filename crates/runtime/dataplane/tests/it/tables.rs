//! Fast tables against the definition of matching, and readers against a busy writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::builder::{self, action, meta, pipeline};
use hopwright_dataplane::quiescence::Domain;
use hopwright_dataplane::table::Found;
use hopwright_dataplane::{ControlError, Table};
use hopwright_ir::*;
use num_bigint::BigUint;
use proptest::prelude::*;

/// A program with one table of these keys, an action with a 32-bit and an 80-bit parameter, and a default action.
fn program(keys: &[(MatchKind, u32)]) -> Arc<Pipeline> {
    let mut p = pipeline();
    let keys: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(i, (kind, width))| (meta(&mut p, &format!("k{i}"), Type::Bits(*width)), *kind))
        .collect();
    let hit = action(&mut p, "hit", &[("a", 32), ("b", 80)], vec![]);
    let miss = action(&mut p, "miss", &[], vec![]);
    builder::table(&mut p, "t", keys, &[hit, miss], miss);
    Arc::new(p)
}

fn table_of(p: &Arc<Pipeline>) -> (Table, Arc<Domain>) {
    let domain = Domain::new();
    (Table::new(p, TableId(0), &domain).unwrap(), domain)
}

fn call(number: u64) -> ActionCall {
    ActionCall { action: ActionId(0), args: vec![number.into(), BigUint::from(number) << 64u32 | BigUint::from(7u32)] }
}

fn found(number: u64) -> Found {
    Found { action: ActionId(0), hit: true, data: vec![number, 7, number] }
}

fn missed() -> Found {
    Found { action: ActionId(1), hit: false, data: vec![] }
}

fn limbs(width: u32, value: &BigUint) -> Vec<u64> {
    let mut limbs = value.to_u64_digits();
    limbs.resize((width as usize).div_ceil(64), 0);
    limbs
}

/// The definition: the winning entry by rank, the earlier of equals.
fn expected(p: &Pipeline, entries: &[TableEntry], keys: &[BigUint]) -> Found {
    let table = &p.tables[0];
    let rank = |e: &TableEntry| -> i64 {
        if table.has_priority() {
            return e.priority.into();
        }
        let prefix = e.matches.iter().map(|m| match m {
            MatchValue::Lpm { prefix_len, .. } => i64::from(*prefix_len),
            MatchValue::Ternary { mask, .. } => mask.count_ones() as i64,
            _ => 0,
        });
        prefix.sum()
    };
    let mut best: Option<&TableEntry> = None;
    for e in entries {
        let matches =
            e.matches.iter().zip(keys).zip(&table.keys).all(|((m, k), key)| m.matches(k, key.expr.ty.width()));
        if matches && best.is_none_or(|b| rank(e) > rank(b)) {
            best = Some(e);
        }
    }
    best.map_or_else(missed, |e| found(e.action.args[0].iter_u64_digits().next().unwrap_or(0)))
}

/// Few values, so that entries and keys meet: some low bits, some in the middle and some at the top.
fn value(width: u32) -> impl Strategy<Value = BigUint> {
    (0u32..4, prop::sample::select(vec![0u32, 0, 1, 5]), 0u32..4).prop_map(move |(low, middle, high)| {
        let top = if width > 4 { BigUint::from(high) << (width - 2) } else { BigUint::ZERO };
        let middle = BigUint::from(middle) << (width / 2);
        (BigUint::from(low) | middle | top) & ((BigUint::from(1u32) << width) - 1u32)
    })
}

fn match_value(kind: MatchKind, width: u32) -> BoxedStrategy<MatchValue> {
    match kind {
        MatchKind::Exact => value(width).prop_map(MatchValue::Exact).boxed(),
        MatchKind::Lpm => (value(width), prop_oneof![0..=width, prop::sample::select(vec![0, 1, width - 1, width])])
            .prop_map(move |(v, len)| {
                let rest = width - len;
                MatchValue::Lpm { value: (v >> rest) << rest, prefix_len: len }
            })
            .boxed(),
        MatchKind::Ternary | MatchKind::Masked => {
            (value(width), value(width)).prop_map(|(v, mask)| MatchValue::Ternary { value: v & &mask, mask }).boxed()
        }
        MatchKind::Suffix => (value(width), 0..=width)
            .prop_map(|(v, ones)| {
                let mask = (BigUint::from(1u32) << ones) - 1u32;
                MatchValue::Ternary { value: v & &mask, mask }
            })
            .boxed(),
        MatchKind::Range => (value(width), value(width))
            .prop_map(|(a, b)| MatchValue::Range { lo: a.clone().min(b.clone()), hi: a.max(b) })
            .boxed(),
        _ => prop::option::of(value(width)).prop_map(MatchValue::Optional).boxed(),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<MatchValue>, i32),
    Modify(usize),
    Delete(usize),
    Clear,
    Look(Vec<BigUint>),
}

fn steps(keys: Vec<(MatchKind, u32)>) -> impl Strategy<Value = Vec<Step>> {
    let matches: Vec<_> = keys.iter().map(|(k, w)| match_value(*k, *w)).collect();
    let values: Vec<_> = keys.iter().map(|(_, w)| value(*w).boxed()).collect();
    let has_priority = keys.iter().any(|(k, _)| k.info().precedence == Precedence::Priority);
    let priorities = if has_priority { 0..4 } else { 0..1 };
    let step = prop_oneof![
        12 => (matches, priorities).prop_map(|(m, p)| Step::Insert(m, p)),
        3 => any::<usize>().prop_map(Step::Modify),
        6 => any::<usize>().prop_map(Step::Delete),
        1 => Just(Step::Clear),
        20 => values.prop_map(Step::Look),
    ];
    prop::collection::vec(step, 1..160)
}

fn shapes() -> impl Strategy<Value = Vec<(MatchKind, u32)>> {
    use MatchKind::*;
    prop::sample::select(vec![
        vec![(Exact, 9)],
        vec![(Exact, 64)],
        vec![(Exact, 128)],
        vec![(Exact, 16), (Exact, 32), (Exact, 8)],
        vec![(Exact, 16), (Exact, 128), (Exact, 8), (Exact, 1)],
        vec![(Exact, 128), (Exact, 128), (Exact, 3)],
        vec![(Lpm, 32)],
        vec![(Lpm, 32)],
        vec![(Lpm, 9)],
        vec![(Lpm, 16)],
        vec![(Lpm, 30)],
        vec![(Lpm, 48)],
        vec![(Exact, 3), (Lpm, 32), (Exact, 9)],
        vec![(Lpm, 128)],
        vec![(Exact, 12), (Lpm, 48), (Exact, 65)],
        vec![(Ternary, 32)],
        vec![(Ternary, 100), (Exact, 8)],
        vec![(Ternary, 16), (Lpm, 32), (Optional, 9)],
        vec![(Masked, 16)],
        vec![(Masked, 16), (Exact, 8), (Masked, 100)],
        vec![(Masked, 16), (Lpm, 16)],
        vec![(Masked, 16), (Ternary, 16)],
        vec![(Suffix, 16)],
        vec![(Suffix, 100), (Exact, 8), (Suffix, 16)],
        vec![(Suffix, 16), (Lpm, 16), (Masked, 9)],
        vec![(Range, 16)],
        vec![(Range, 128), (Exact, 4)],
        vec![(Range, 16), (Ternary, 16), (Range, 70)],
        vec![(Optional, 32), (Optional, 80), (Exact, 2), (Exact, 2), (Exact, 2)],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_agree_with_the_definition(
        (shape, steps) in shapes().prop_flat_map(|s| (Just(s.clone()), steps(s)))
    ) {
        let p = program(&shape);
        let (table, domain) = table_of(&p);
        let mut reader = domain.reader();
        let mut model: Vec<TableEntry> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u64;
            match step {
                Step::Insert(matches, priority) => {
                    let entry = TableEntry { matches, priority, action: call(number) };
                    let known = model.iter().any(|e| e.matches == entry.matches && e.priority == priority);
                    let result = table.insert(entry.clone());
                    prop_assert_eq!(result, if known { Err(ControlError::Duplicate("t".into())) } else { Ok(()) });
                    if !known {
                        model.push(entry);
                    }
                }
                Step::Modify(at) if !model.is_empty() => {
                    let at = at % model.len();
                    model[at].action = call(number);
                    prop_assert_eq!(table.modify(model[at].clone()), Ok(()));
                }
                Step::Delete(at) if !model.is_empty() => {
                    let entry = model.remove(at % model.len());
                    prop_assert_eq!(table.delete(&entry.matches, entry.priority), Ok(()));
                    prop_assert_eq!(
                        table.delete(&entry.matches, entry.priority),
                        Err(ControlError::NotFound("t".into()))
                    );
                }
                Step::Modify(_) | Step::Delete(_) => {}
                Step::Clear => {
                    model.clear();
                    prop_assert_eq!(table.clear(), Ok(()));
                }
                Step::Look(keys) => {
                    let key: Vec<u64> = shape.iter().zip(&keys).flat_map(|((_, w), v)| limbs(*w, v)).collect();
                    prop_assert_eq!(table.lookup(&mut reader, &key), Some(expected(&p, &model, &keys)));
                }
            }
        }
        prop_assert_eq!(table.entries(), model);
        prop_assert_eq!(domain.collect(), 0);
    }
}

#[test]
fn large_tables_find_everything_and_only_that() {
    for shape in [vec![(MatchKind::Exact, 32)], vec![(MatchKind::Lpm, 32)]] {
        let mut p = (*program(&shape)).clone();
        p.tables[0].size = 50_000;
        let p = Arc::new(p);
        let (table, domain) = table_of(&p);
        let mut reader = domain.reader();
        let matches = |n: u64| match shape[0].0 {
            MatchKind::Exact => vec![MatchValue::Exact(n.into())],
            _ => vec![MatchValue::Lpm { value: n.into(), prefix_len: 32 }],
        };
        let number = |i: u64| i.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
        for i in 0..50_000 {
            table.insert(TableEntry { matches: matches(number(i)), priority: 0, action: call(i) }).unwrap();
        }
        let full = table.insert(TableEntry { matches: matches(5), priority: 0, action: call(0) });
        assert_eq!(full, Err(ControlError::Full { table: "t".into(), size: 50_000 }));
        for i in (0..50_000).step_by(2) {
            table.delete(&matches(number(i)), 0).unwrap();
        }
        for i in 0..50_000 {
            let want = if i % 2 == 1 { found(i) } else { missed() };
            assert_eq!(table.lookup(&mut reader, &[number(i)]), Some(want), "{i}");
        }
        table.clear().unwrap();
        assert_eq!(table.lookup(&mut reader, &[number(1)]), Some(missed()));
    }
}

/// Few masks and few entries, many masks, many entries: each has a structure that suits it, and nothing shows when the
/// table changes from one to another.
#[test]
fn ternary_tables_of_any_size_agree_with_the_definition() {
    const MASKS: [u64; 3] = [0xffff, 0xfff0, 0x0fff];
    let shape = [(MatchKind::Ternary, 16)];
    let p = program(&shape);
    let mut p = (*p).clone();
    p.tables[0].size = 10_000;
    let p = Arc::new(p);
    let (table, domain) = table_of(&p);
    let mut reader = domain.reader();
    let mut model = Vec::new();
    let mut random = 1u64;
    let mut draw = move || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        random >> 33
    };
    // All priorities are different.
    let entry = |value: u64, mask: u64, number: u64| TableEntry {
        matches: vec![MatchValue::Ternary { value: (value & mask).into(), mask: mask.into() }],
        priority: 1 + (number * 7919 % 100_003) as i32,
        action: call(number),
    };
    let check = |reader: &mut _, model: &[TableEntry], key: u64| {
        assert_eq!(table.lookup(reader, &[key]), Some(expected(&p, model, &[key.into()])), "{key:#x}");
    };
    while model.len() < 6000 {
        let entry = entry(draw() & 0xffff, MASKS[draw() as usize % 3], model.len() as u64);
        if table.insert(entry.clone()).is_ok() {
            model.push(entry);
        }
        if model.len() % 16 == 0 || model.len() < 20 {
            check(&mut reader, &model, draw() & 0xffff);
        }
    }
    // With more masks, and until few are left.
    let mut number = model.len() as u64;
    while model.len() > 10 {
        let removed = model.swap_remove(draw() as usize % model.len());
        table.delete(&removed.matches, removed.priority).unwrap();
        if number < 8000 {
            number += 1;
            let entry = entry(draw() & 0xffff, draw() & 0xffff, number);
            table.insert(entry.clone()).unwrap();
            model.push(entry);
        }
        if model.len() % 16 == 0 || model.len() < 30 {
            check(&mut reader, &model, draw() & 0xffff);
        }
    }
}

#[test]
fn illegal_wishes_change_nothing() {
    let p = program(&[(MatchKind::Lpm, 32)]);
    let (table, domain) = table_of(&p);
    let entry = |value: u64, prefix_len, action| TableEntry {
        matches: vec![MatchValue::Lpm { value: value.into(), prefix_len }],
        priority: 0,
        action,
    };
    let bad = |e| matches!(table.insert(e), Err(ControlError::Entry { .. }));
    assert!(bad(entry(1 << 32, 32, call(1))), "a value beyond the width");
    assert!(bad(entry(1, 31, call(1))), "bits beyond the prefix");
    assert!(bad(entry(0, 33, call(1))), "a prefix beyond the width");
    assert!(bad(entry(0, 0, ActionCall { action: ActionId(9), args: vec![] })), "an unknown action");
    assert!(bad(entry(0, 0, ActionCall { action: ActionId(0), args: vec![] })), "too few arguments");
    let wide = ActionCall { action: ActionId(0), args: vec![BigUint::from(1u64 << 32), BigUint::ZERO] };
    assert!(bad(entry(0, 0, wide)), "an argument beyond the width");
    assert!(bad(TableEntry { priority: 1, ..entry(0, 0, call(1)) }), "a priority");
    assert!(bad(TableEntry { matches: vec![], ..entry(0, 0, call(1)) }), "too few keys");
    assert_eq!(table.modify(entry(0, 0, call(1))), Err(ControlError::NotFound("t".into())));
    assert!(table.is_empty());
    assert_eq!(table.lookup(&mut domain.reader(), &[5]), Some(missed()));
}

#[test]
fn constants_stay() {
    let mut p = (*program(&[(MatchKind::Exact, 8)])).clone();
    let entry = TableEntry { matches: vec![MatchValue::Exact(3u32.into())], priority: 0, action: call(5) };
    p.tables[0].entries.push(entry.clone());
    p.tables[0].const_entries = true;
    p.tables[0].const_default_action = true;
    let (table, domain) = table_of(&Arc::new(p));
    let mut reader = domain.reader();
    let refused = Err(ControlError::ConstEntries("t".into()));
    assert_eq!(table.insert(entry.clone()), refused);
    assert_eq!(table.modify(entry.clone()), refused);
    assert_eq!(table.delete(&entry.matches, 0), refused);
    assert_eq!(table.clear(), refused);
    assert_eq!(table.set_default(Some(call(1))), Err(ControlError::ConstDefault("t".into())));
    assert_eq!(table.lookup(&mut reader, &[3]), Some(found(5)));
}

#[test]
fn the_default_action_changes_and_comes_back() {
    let (table, domain) = table_of(&program(&[(MatchKind::Exact, 8)]));
    let mut reader = domain.reader();
    table.set_default(Some(call(9))).unwrap();
    assert_eq!(table.lookup(&mut reader, &[3]), Some(Found { hit: false, ..found(9) }));
    table.set_default(None).unwrap();
    assert_eq!(table.lookup(&mut reader, &[3]), Some(missed()));
}

/// A reader that looks things up all the time never sees anything but the old or the new entry, whole.
fn stress(shape: &[(MatchKind, u32)], matches: impl Fn(u64) -> (Vec<MatchValue>, i32)) {
    const KEYS: u64 = 64;
    let (table, domain) = table_of(&program(shape));
    let entry = |key: u64, round: u64| {
        let (matches, priority) = matches(key);
        TableEntry { matches, priority, action: call(round * KEYS + key) }
    };
    // Every fourth key is always there and only changes; the others come and go.
    for key in (0..KEYS).step_by(4) {
        table.insert(entry(key, 0)).unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut reader = domain.reader();
            let (mut hits, mut rounds) = (0u64, 0u64);
            while !stop.load(Ordering::Relaxed) || rounds == 0 {
                for key in 0..KEYS {
                    let it = table.lookup(&mut reader, &[key]).unwrap();
                    if it.hit {
                        assert_eq!(it.data[0], it.data[2], "torn entry");
                        assert_eq!(it.data[0] % KEYS, key, "somebody else's entry");
                        hits += 1;
                    } else {
                        assert_eq!(it, missed());
                        assert!(key % 4 != 0, "an entry that is always there was not found");
                    }
                }
                rounds += 1;
            }
            hits
        });
        for round in 1..400 {
            for key in 0..KEYS {
                let e = entry(key, round);
                if key % 4 == 0 {
                    table.modify(e).unwrap();
                } else if round % 2 == 1 {
                    table.insert(e).unwrap();
                } else {
                    table.delete(&e.matches, e.priority).unwrap();
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        let hits = reading.join().unwrap();
        assert!(hits > 0);
    });
    assert_eq!(domain.collect(), 0);
}

#[test]
fn readers_see_whole_entries_exact() {
    stress(&[(MatchKind::Exact, 32)], |key| (vec![MatchValue::Exact(key.into())], 0));
}

#[test]
fn readers_see_whole_entries_lpm() {
    stress(&[(MatchKind::Lpm, 32)], |key| (vec![MatchValue::Lpm { value: key.into(), prefix_len: 32 }], 0));
}

#[test]
fn readers_see_whole_entries_ranges() {
    stress(&[(MatchKind::Range, 32)], |key| {
        (vec![MatchValue::Range { lo: key.into(), hi: key.into() }], (key % 7) as i32)
    });
}

#[test]
fn readers_see_whole_entries_by_bits() {
    stress(&[(MatchKind::Ternary, 8)], |key| {
        let mask: u64 = if key % 2 == 0 { 0xff } else { 0x7f };
        (vec![MatchValue::Ternary { value: key.into(), mask: mask.into() }], (key % 7) as i32)
    });
}
