//! Tables and objects by names.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopwright::{CloneSession, Control, ControlError, Count, Entry, Match, Number, Rates, RefusedError, ResolveError};

use crate::{L2, program, sent};

const TABLES: &str = "
    action drop() { mark_to_drop(s); }
    action forward(bit<9> port, bit<16> value) { s.egress_spec = port; h.frame.value = value; }
    direct_counter(CounterType.packets) hits;
    table exact_t { key = { h.frame.kind: exact; } actions = { forward; drop; } default_action = drop(); size = 2; counters = hits; }
    table lpm_t { key = { h.frame.value: lpm; } actions = { forward; drop; } default_action = drop(); }
    table acl { key = { h.frame.kind: ternary; h.frame.value: range; } actions = { forward; drop; } default_action = drop(); }
    register<bit<16>>(4) seen;
    counter(4, CounterType.packets_and_bytes) kinds;
    meter(2, MeterType.packets) pace;
";

/// A program that looks up each packet in a table; the kind 255 is copied to group 1.
fn tables(table: &str) -> String {
    let apply = format!(
        "seen.write(1, h.frame.value);
        kinds.count((bit<32>) h.frame.kind & 3);
        pace.execute_meter((bit<32>) 1, m.colour);
        if (h.frame.kind == 255) {{ s.mcast_grp = 1; }} else {{ {table}.apply(); }}"
    );
    // Tables that are not applied are there, too, so that their names are known.
    let all = ["exact_t", "lpm_t", "acl"]
        .map(|t| if t == table { String::new() } else { format!("if (h.frame.kind == 254) {{ {t}.apply(); }}") });
    program(TABLES, &(apply + &all.join("\n")))
}

#[test]
fn entries_are_inserted_changed_read_and_deleted() {
    let mut runner = hopwright::compile(&tables("exact_t")).unwrap().runner().unwrap();
    let control = runner.control().clone();
    let entry = Entry::new("exact_t", "forward").key("kind", 7).param("port", 3).param("value", "0xcafe");
    control.insert(&entry).unwrap();
    assert_eq!(sent(&runner.send(1, &[7, 0, 0]).unwrap()), [(3, vec![7, 0xca, 0xfe])]);
    assert_eq!(sent(&runner.send(1, &[8, 0, 0]).unwrap()), []);
    assert_eq!(control.entry_count(&entry).unwrap().packets, 1);

    let other = Entry::new("exact_t", "forward").key("h.frame.kind", 7u8).param("port", 4).param("value", 1);
    assert!(matches!(control.insert(&other), Err(ControlError::Refused(RefusedError::Duplicate(_)))));
    control.modify(&other).unwrap();
    assert_eq!(sent(&runner.send(1, &[7, 0, 0]).unwrap()), [(4, vec![7, 0, 1])]);

    let read = control.entries("exact_t").unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!((read[0].table(), read[0].action()), ("I.exact_t", "I.forward"));
    assert_eq!(read[0].keys(), [("h.frame.kind".to_string(), Match::from(7u8))]);
    assert_eq!(read[0].params(), [("port".to_string(), 4u8.into()), ("value".to_string(), 1u8.into())]);
    // What is read can be written.
    control.delete(&read[0]).unwrap();
    assert_eq!(control.entries("exact_t").unwrap(), []);
    assert!(matches!(control.delete(&entry), Err(ControlError::Refused(RefusedError::NotFound(_)))));
    control.insert(&read[0]).unwrap();
    control.clear("exact_t").unwrap();
    assert_eq!(sent(&runner.send(1, &[7, 0, 0]).unwrap()), []);
    control.set_default(&Entry::new("exact_t", "forward").param("port", 9).param("value", 2)).unwrap();
    assert_eq!(sent(&runner.send(1, &[7, 0, 0]).unwrap()), [(9, vec![7, 0, 2])]);
}

#[test]
fn keys_match_in_every_way() {
    let forward = |table: &str, port: u16| Entry::new(table, "forward").param("port", port).param("value", 0);
    let mut lpm = hopwright::compile(&tables("lpm_t")).unwrap().runner().unwrap();
    lpm.control().insert(&forward("lpm_t", 1).key("value", Match::prefix(0x1200u16, 8))).unwrap();
    lpm.control().insert(&forward("lpm_t", 2).key("value", "0x1230/12")).unwrap();
    lpm.control().insert(&forward("lpm_t", 3)).unwrap();
    for (value, port) in [([0x12, 0x00], 1), ([0x12, 0x3f], 2), ([0x99, 0x99], 3)] {
        assert_eq!(sent(&lpm.send(1, &[0, value[0], value[1]]).unwrap())[0].0, port);
    }
    let mut acl = hopwright::compile(&tables("acl")).unwrap().runner().unwrap();
    let low = forward("acl", 1).key("kind", Match::mask(0x10u8, 0xf0u8)).priority(1);
    let high = forward("acl", 2).key("kind", "0x12").key("value", Match::range(5, 9)).priority(10);
    let rest = forward("acl", 3).key("kind", Match::Any).key("value", "*").priority(0);
    for entry in [&low, &high, &rest] {
        acl.control().insert(entry).unwrap();
    }
    for (packet, port) in [([0x12, 0, 5], 2), ([0x12, 0, 10], 1), ([0x13, 0, 5], 1), ([0x20, 0, 0], 3)] {
        assert_eq!(sent(&acl.send(1, &packet).unwrap())[0].0, port, "{packet:?}");
    }
    let read = acl.control().entries("acl").unwrap();
    assert_eq!(read[1].keys()[1].1, Match::range(5u8, 9u8));
    acl.control().delete(&read[1]).unwrap();
    assert_eq!(sent(&acl.send(1, &[0x12, 0, 5]).unwrap())[0].0, 1);
}

#[test]
fn objects_are_read_and_written() {
    let mut runner = hopwright::compile(&tables("exact_t")).unwrap().runner().unwrap();
    let control = runner.control().clone();
    runner.send(1, &[2, 0xab, 0xcd]).unwrap();
    assert_eq!(control.register("seen", 1).unwrap(), Number::from(0xabcdu32));
    assert_eq!(control.counter("kinds", 2).unwrap(), Count { packets: 1, bytes: 3 });
    control.set_register("seen", 3, "0x1234").unwrap();
    assert_eq!(control.register("I.seen", 3).unwrap(), Number::from(0x1234u32));
    control.set_counter("kinds", 2, Count::default()).unwrap();
    assert_eq!(control.counter("kinds", 2).unwrap(), Count::default());
    assert_eq!(control.meter("pace", 1).unwrap(), None);
    let rates = Rates { cir: 1, cburst: 1, pir: 2, pburst: 2 };
    control.set_meter("pace", 1, Some(rates)).unwrap();
    assert_eq!(control.meter("pace", 1).unwrap(), Some(rates));

    control.set_multicast_group(1, &[3, 5]).unwrap();
    let mut ports: Vec<u16> = sent(&runner.send(1, &[255, 0, 0]).unwrap()).iter().map(|sent| sent.0).collect();
    ports.sort_unstable();
    assert_eq!(ports, [3, 5]);
    control.set_multicast_group(1, &[]).unwrap();
    assert_eq!(sent(&runner.send(1, &[255, 0, 0]).unwrap()), []);
    control.set_clone_session(9, Some(CloneSession { port: Some(1), ..CloneSession::default() })).unwrap();
    assert_eq!(control.data_plane().control().clone_session(9).unwrap().port, Some(1));
}

#[test]
fn values_are_numbers_addresses_and_texts() {
    let mut runner = hopwright::compile(L2).unwrap().runner().unwrap();
    let mac = [2, 0, 0, 0, 0, 9];
    for (at, value) in
        [Match::from(mac), "02:00:00:00:00:09".into(), 0x0200_0000_0009u64.into(), "0x020000000009".into()]
            .into_iter()
            .enumerate()
    {
        let entry = Entry::new("l2", "forward").key("dst", value).param("port", at as u16);
        runner.control().insert(&entry).unwrap();
        let packet = [&mac[..], &[0; 8]].concat();
        assert_eq!(sent(&runner.send(1, &packet).unwrap()), [(at as u16, packet.clone())]);
        runner.control().delete(&entry).unwrap();
    }
    let number = |value: Match| match value {
        Match::Value(hopwright::Value::Number(number)) => number,
        other => panic!("{other:?}"),
    };
    assert_eq!(number(Ipv4Addr::new(10, 0, 0, 1).into()), Number::from(0x0a00_0001u32));
    assert_eq!(number(Ipv6Addr::LOCALHOST.into()), Number::from(1u32));
    assert_eq!(number(true.into()), Number::from(1u32));
}

#[test]
fn scripts_set_up_a_program() {
    let mut runner = hopwright::compile(L2).unwrap().runner().unwrap();
    runner.control().configure("add l2 dst:02:00:00:00:00:02 forward(port:2)\nsetdefault l2 forward(port:7)").unwrap();
    assert_eq!(sent(&runner.send(1, &[0; 14]).unwrap())[0].0, 7);
    let error = runner.control().configure("add l2 dst:1 forward(port:2)\nadd l3 dst:1 forward(port:2)").unwrap_err();
    assert_eq!(error.to_string(), "script:2: no table `l3`, or several");
}

#[test]
fn a_trace_tells_what_happens_and_changes_nothing() {
    let mut runner = hopwright::compile(&tables("exact_t")).unwrap().runner().unwrap();
    let entry = Entry::new("exact_t", "forward").key("kind", 7).param("port", 3).param("value", 1);
    runner.control().insert(&entry).unwrap();
    let trace = runner.control().trace(1, &[7, 0, 9]).unwrap();
    for part in ["3 bytes at port 1", "state start", "exact_t", "forward", "program.p4:", "out of port 3"] {
        assert!(trace.contains(part), "{part}:\n{trace}");
    }
    assert!(runner.control().trace(1, &[8, 0, 9]).unwrap().contains("dropped"));
    let count = |control: &Control| {
        (control.counter("kinds", 3).unwrap().packets, control.entry_count(&entry).unwrap().packets)
    };
    assert_eq!(count(runner.control()), (0, 0));
    runner.send(1, &[7, 0, 9]).unwrap();
    assert_eq!(count(runner.control()), (1, 1));
}

#[test]
fn what_is_wrong_has_its_type_and_says_what_there_is() {
    let runner = hopwright::compile(&tables("exact_t")).unwrap().runner().unwrap();
    let control = runner.control();
    let entry = |table: &str, action: &str| Entry::new(table, action).param("port", 1).param("value", 1);
    let error = |entry: Entry| control.insert(&entry).unwrap_err();
    let resolve = |entry: Entry| match error(entry) {
        ControlError::Resolve(error) => error,
        other => panic!("{other}"),
    };
    let unknown = error(entry("exact", "forward")).to_string();
    assert_eq!(unknown, "no table `exact`, or several; there are I.exact_t, I.lpm_t, I.acl");
    assert!(matches!(resolve(entry("exact_t", "forword").key("kind", 1)), ResolveError::UnknownAction { .. }));
    assert!(matches!(resolve(entry("exact_t", "forward").key("kin", 1)), ResolveError::UnknownKey { .. }));
    assert!(matches!(resolve(entry("exact_t", "forward").key("kind", 256)), ResolveError::Key { .. }));
    assert!(matches!(resolve(entry("exact_t", "forward").key("kind", "1/3")), ResolveError::Key { .. }));
    assert!(matches!(resolve(entry("exact_t", "drop").key("kind", 1)), ResolveError::UnknownParameter { .. }));
    let twice = entry("exact_t", "forward").key("kind", 1).key("h.frame.kind", 2);
    assert!(matches!(resolve(twice), ResolveError::KeyTwice(_)));
    let few = Entry::new("exact_t", "forward").key("kind", 1).param("port", 1);
    assert!(matches!(resolve(few), ResolveError::MissingArgument { .. }));
    let wide = Entry::new("exact_t", "forward").key("kind", 1).param("port", 512).param("value", 1);
    assert!(matches!(resolve(wide), ResolveError::ArgumentWidth { width: 9, .. }));
    let missing = error(entry("exact_t", "forward"));
    assert!(matches!(&missing, ControlError::MissingKeys { keys, .. } if keys == &["h.frame.kind"]), "{missing}");
    assert!(matches!(error(entry("exact_t", "forward").key("kind", "seven")), ControlError::Value { .. }));
    assert!(matches!(error(entry("exact_t", "forward").key("kind", -1)), ControlError::Value { .. }));
    // The table has room for two.
    for kind in 1..=2 {
        control.insert(&entry("exact_t", "forward").key("kind", kind)).unwrap();
    }
    let full = error(entry("exact_t", "forward").key("kind", 3));
    assert!(matches!(full, ControlError::Refused(RefusedError::Full { size: 2, .. })), "{full}");
    assert!(matches!(control.register("kinds", 0), Err(ControlError::Refused(RefusedError::WrongExtern { .. }))));
    assert!(matches!(control.counter("kinds", 4), Err(ControlError::Refused(RefusedError::Index { size: 4, .. }))));
    assert!(matches!(control.counter("kind", 0), Err(ControlError::Refused(RefusedError::UnknownExtern(_)))));
    assert!(matches!(
        control.set_register("seen", 0, 0x10000),
        Err(ControlError::Refused(RefusedError::ValueWidth { width: 16, .. }))
    ));
}
