//! Tables and objects by names.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopwright::{
    CloneSession, Control, ControlError, Count, Entry, Match, Number, Rates, RefusedError, ResolveError, Runner,
};

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
    // What is read can be changed, and written.
    control.modify(&read[0].clone().param("port", 5)).unwrap();
    assert_eq!(sent(&runner.send(1, &[7, 0, 0]).unwrap()), [(5, vec![7, 0, 1])]);
    assert_eq!(read[0].params()[0].1.to_string(), "4");
    assert!(matches!(control.set_default(&read[0]), Err(ControlError::DefaultEntry { .. })));
    assert_eq!(read[0].get_priority(), None);
    assert!(matches!(control.modify(&read[0].clone().priority(7)), Err(ControlError::Priority { .. })));
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
        Match::Value(value) => value.to_number().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(number(Ipv4Addr::new(10, 0, 0, 1).into()), Number::from(0x0a00_0001u32));
    assert_eq!(number(Ipv6Addr::LOCALHOST.into()), Number::from(1u32));
    assert_eq!(number(true.into()), Number::from(1u32));
    let prefix = Match::prefix(Ipv4Addr::new(10, 0, 0, 0), 8);
    let entry = Entry::new("t", "forward").key("dst", prefix).key("mac", mac).param("to", Ipv6Addr::LOCALHOST);
    assert_eq!(entry.to_string(), "t dst:10.0.0.0/8 mac:02:00:00:00:00:09 forward(to:::1)");
}

#[test]
fn scripts_set_up_a_program() {
    let mut runner = hopwright::compile(L2).unwrap().runner().unwrap();
    runner.control().configure("add l2 dst:02:00:00:00:00:02 forward(port:2)\nsetdefault l2 forward(port:7)").unwrap();
    assert_eq!(sent(&runner.send(1, &[0; 14]).unwrap())[0].0, 7);
    let error = runner.control().configure("add l2 dst:1 forward(port:2)\nadd l3 dst:1 forward(port:2)").unwrap_err();
    assert_eq!(error.to_string(), "script:2: no table `l3`; there is Forwarding.l2");
    let error = runner.control().configure("add l2 dst:1 forwrad(port:2)").unwrap_err();
    assert_eq!(error.to_string(), "script:1: table `Forwarding.l2` has no action `forwrad`; did you mean `forward`?");
}

#[test]
fn a_trace_tells_what_happens_and_changes_nothing() {
    let mut runner = hopwright::compile(&tables("exact_t")).unwrap().runner().unwrap();
    let entry = Entry::new("exact_t", "forward").key("kind", 7).param("port", 3).param("value", 1);
    runner.control().insert(&entry).unwrap();
    let trace = runner.control().trace(1, &[7, 0, 9]).unwrap();
    for part in [
        "3 bytes at port 1",
        "state start",
        "exact_t",
        "forward",
        "program.p4:",
        "I.kinds.count(0x3)",
        "I.seen.write(0x1, 0x9)",
        "out of port 3",
    ] {
        assert!(trace.contains(part), "{part}:\n{trace}");
    }
    assert!(trace.contains("I.pace.execute_meter(0x1"), "{trace}");
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
    assert_eq!(unknown, "no table `exact`; there are I.exact_t, I.lpm_t, I.acl");
    let near = error(entry("exat_t", "forward")).to_string();
    assert_eq!(near, "no table `exat_t`; did you mean `exact_t`?");
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
    let below = Entry::new("exact_t", "forward").key("kind", 1).param("port", -1).param("value", 1);
    assert_eq!(error(below).to_string(), "`-1`: values are not below zero (parameter `port`)");
    let again = entry("exact_t", "forward").param("port", 2);
    assert_eq!(again.params(), [("port".to_string(), 2.into()), ("value".to_string(), 1.into())]);
    // The table has room for two.
    for kind in 1..=2 {
        control.insert(&entry("exact_t", "forward").key("kind", kind)).unwrap();
    }
    let full = error(entry("exact_t", "forward").key("kind", 3));
    assert!(matches!(full, ControlError::Refused(RefusedError::Full { size: 2, .. })), "{full}");
    let text = |error: ControlError| error.to_string();
    assert_eq!(text(control.register("kinds", 0).unwrap_err()), "`kinds` is a counter, no register");
    assert_eq!(text(control.set_register("sen", 0, 1).unwrap_err()), "no register `sen`; did you mean `seen`?");
    assert_eq!(text(control.register("nothing", 0).unwrap_err()), "no register `nothing`; there is I.seen");
    assert_eq!(text(control.meter("kinds", 0).unwrap_err()), "`kinds` is a counter, no meter");
    assert_eq!(
        text(control.counter("hits", 0).unwrap_err()),
        "`I.hits` counts the entries of a table: `entry_count` reads the count of one"
    );
    assert!(matches!(control.counter("kinds", 4), Err(ControlError::Refused(RefusedError::Index { size: 4, .. }))));
    assert_eq!(text(control.counter("kind", 0).unwrap_err()), "no counter `kind`; did you mean `kinds`?");
    assert!(matches!(
        control.set_register("seen", 0, 0x10000),
        Err(ControlError::Refused(RefusedError::ValueWidth { width: 16, .. }))
    ));
}

/// An entry's meter is read and set by the entry; by index there is none, and the error says how.
#[test]
fn meters_of_entries() {
    let text = "
        #include <v1model.p4>
        header frame_t { bit<8> kind; }
        struct headers_t { frame_t frame; }
        struct metadata_t { bit<8> color; }
        parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
            state start { p.extract(h.frame); transition accept; }
        }
        control V(inout headers_t h, inout metadata_t m) { apply { } }
        control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
            direct_meter<bit<8>>(MeterType.packets) rate;
            action forward() { rate.read(m.color); s.egress_spec = (bit<9>)m.color + 1; }
            table kinds { key = { h.frame.kind: exact; } actions = { forward; NoAction; } meters = rate; }
            apply { kinds.apply(); }
        }
        control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
        control C(inout headers_t h, inout metadata_t m) { apply { } }
        control D(packet_out p, in headers_t h) { apply { p.emit(h.frame); } }
        V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";
    let mut runner = hopwright::compile(text).unwrap().runner().unwrap();
    let entry = Entry::new("kinds", "forward").key("kind", 7);
    let error = runner.control().entry_meter(&entry).unwrap_err();
    assert!(matches!(error, ControlError::Refused(RefusedError::NotFound(_))), "{error}");
    runner.control().insert(&entry).unwrap();
    assert_eq!(runner.control().entry_meter(&entry).unwrap(), None);
    let port = |runner: &mut Runner| runner.send(0, &[7]).unwrap().sent[0].port;
    assert_eq!(port(&mut runner), 1, "green");
    // Room for one packet, and 1/1000 of one more each second.
    let rates = Rates { cir: 1, cburst: 1, pir: 1, pburst: 1 };
    runner.control().set_entry_meter(&entry, Some(rates)).unwrap();
    assert_eq!(runner.control().entry_meter(&entry).unwrap(), Some(rates));
    assert_eq!(port(&mut runner), 1, "green");
    assert_eq!(port(&mut runner), 3, "red");
    runner.control().set_entry_meter(&entry, None).unwrap();
    assert_eq!(port(&mut runner), 1, "green again");
    assert_eq!(
        runner.control().meter("rate", 0).unwrap_err().to_string(),
        "`I.rate` meters the entries of a table: `entry_meter` reads the rates of one, `set_entry_meter` sets them"
    );
}

/// Keys of addresses, one of which is in two tables' names.
const ADDRESSES: &str = "
    #include <v1model.p4>
    header ip_t { bit<32> v4; bit<48> mac; bit<128> v6; bit<16> type; }
    struct headers_t { ip_t ip; }
    struct metadata_t { }
    parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        state start { p.extract(h.ip); transition accept; }
    }
    control Part(inout headers_t h, inout standard_metadata_t s) {
        action to(bit<9> port, bit<32> hop, bit<48> mac) { s.egress_spec = port; h.ip.v4 = hop; h.ip.mac = mac; }
        table routes { key = { h.ip.v4: lpm; } actions = { to; } }
        table rules {
            key = { h.ip.v4: ternary; h.ip.mac: exact; h.ip.v6: range; h.ip.type: ternary @name(\"ether type\"); }
            actions = { to; }
        }
        apply { routes.apply(); rules.apply(); }
    }
    control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        Part() one;
        Part() two;
        apply { one.apply(h, s); two.apply(h, s); }
    }
    control C(inout headers_t h, inout metadata_t m) { apply { } }
    control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.ip); } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
";

fn to(table: &str) -> Entry {
    Entry::new(table, "to").param("port", 3).param("hop", "10.0.0.1").param("mac", "02:00:00:00:00:01")
}

#[test]
fn entries_have_a_text_that_scripts_read() {
    let program = hopwright::compile(ADDRESSES).unwrap();
    let first = program.runner().unwrap();
    let rule = to("I.one.rules")
        .key("mac", [2, 0, 0, 0, 0, 9])
        .key("h.ip.v6", Match::range("2001:db8::1", "2001:db8::ff"))
        .key("h.ip.v4", "10.1.0.0&&&255.255.0.0")
        .key("ether type", Match::mask(0x800u16, 0xff00u16))
        .priority(7);
    first.control().insert(&rule).unwrap();
    first.control().insert(&to("I.one.rules").key("mac", [2, 0, 0, 0, 0, 9]).key("v6", 5u8)).unwrap();
    first.control().insert(&to("I.one.routes").key("v4", "10.0.0.0/8")).unwrap();
    let read = |control: &Control| {
        let entries = ["I.one.rules", "I.one.routes"].map(|table| control.entries(table).unwrap());
        entries.concat().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let texts = read(first.control());
    let action = "I.one.to(port:3, hop:10.0.0.1, mac:02:00:00:00:00:01)";
    assert_eq!(
        texts[0],
        format!(
            "I.one.rules 7 h.ip.v4:10.1.0.0&&&255.255.0.0 h.ip.mac:02:00:00:00:00:09 \
             h.ip.v6:2001:db8::1..2001:db8::ff \"ether type\":0x800&&&0xff00 {action}"
        )
    );
    assert_eq!(texts[2], format!("I.one.routes h.ip.v4:10.0.0.0/8 {action}"));
    let second = program.runner().unwrap();
    for text in &texts {
        second.control().configure(&format!("add {text}")).unwrap();
    }
    assert_eq!(read(second.control()), texts);
    let all: Vec<Entry> = first.control().entries("I.one.rules").unwrap();
    assert_eq!(second.control().entries("I.one.rules").unwrap(), all);
    // Addresses that were given as text are the numbers that are read.
    let route = |value: &str| {
        let to = Entry::new("I.one.routes", "I.one.to").key("h.ip.v4", value);
        to.param("port", 3).param("hop", Ipv4Addr::new(10, 0, 0, 1)).param("mac", [2, 0, 0, 0, 0, 1])
    };
    let read = first.control().entries("I.one.routes").unwrap();
    assert_eq!(read, [route("10.0.0.0/8")]);
    assert_ne!(read, [route("10.0.0.0/9")]);
    assert_ne!(read, [route("10.0.0.0/8").param("hop", "10.0.0.x")]);
    // As it was made, with names and texts of its own; what matches anything is left out.
    let made =
        Entry::new("acl", "drop").key("kind", Match::Any).key("value", "0x12").key("mask", Match::mask(16, 0xf0));
    assert_eq!(made.to_string(), "acl value:0x12 mask:0x10&&&0xf0 drop()");
}

#[test]
fn ambiguous_names_and_excluded_bits_are_refused_with_what_is_right() {
    let runner = hopwright::compile(ADDRESSES).unwrap().runner().unwrap();
    let error = |entry: &Entry| runner.control().insert(entry).unwrap_err().to_string();
    assert_eq!(error(&to("routes")), "several tables have the name `routes`: I.one.routes, I.two.routes");
    assert_eq!(error(&to("route")), "no table `route`; did you mean `routes`?");
    let routes = |matches: Match| error(&to("I.one.routes").key("h.ip.v4", matches));
    let expected = "key `h.ip.v4`: 10.11.5.5/16 has bits outside its prefix: write 10.11.0.0/16";
    assert_eq!(routes("10.11.5.5/16".into()), expected);
    assert_eq!(routes(Match::prefix(Ipv4Addr::new(10, 11, 5, 5), 16)), expected);
    assert_eq!(routes("10.0.0.1/33".into()), "key `h.ip.v4`: prefix length 33 is beyond 32 bits");
    assert_eq!(routes("2001:db8::1".into()), "key `h.ip.v4`: 2001:db8::1 does not fit 32 bits");
    let rule = to("I.one.rules").key("mac", 1).key("ether type", Match::mask(0x1234u16, 0xff00u16));
    assert_eq!(error(&rule), "key `ether type`: 0x1234&&&0xff00 has bits outside its mask: write 0x1200&&&0xff00");
    // A packet test may have such, and a key that is left out is the prefix of length 0.
    runner.control().configure("add I.one.routes h.ip.v4:10.11.5.5/16 to(port:1, hop:1, mac:1)").unwrap();
    runner.control().insert(&to("I.one.routes")).unwrap();
    let entries = runner.control().entries("I.one.routes").unwrap();
    let prefixes: Vec<_> = entries.iter().map(|entry| entry.keys()[0].1.clone()).collect();
    assert_eq!(prefixes, [Match::prefix(0x0a0b_0000u32, 16), Match::prefix(0u8, 0)]);
}

const LEARN: &str = "
    action allow() { s.egress_spec = 2; }
    action drop() { mark_to_drop(s); }
    table acl { key = { h.frame.value: ternary; } actions = { allow; drop; } default_action = allow(); }
    table seen { key = { h.frame.kind: exact; } actions = { allow; drop; } default_action = drop(); }
";

/// A text without a mask is a value in every bit of the key, as a number is.
#[test]
fn texts_and_numbers_match_the_same() {
    let program = hopwright::compile(&program(LEARN, "acl.apply();")).unwrap();
    for value in [hopwright::Value::from("0x08"), "8".into(), 8u16.into()] {
        let mut runner = program.runner().unwrap();
        runner.control().insert(&Entry::new("acl", "drop").key("value", value.clone())).unwrap();
        assert!(sent(&runner.send(1, &[0, 0, 8]).unwrap()).is_empty(), "{value:?}");
        assert_eq!(sent(&runner.send(1, &[0, 0x98, 8]).unwrap()).len(), 1, "{value:?}");
    }
    // Digits that are left open are.
    let mut runner = program.runner().unwrap();
    runner.control().insert(&Entry::new("acl", "drop").key("value", "0x00*8")).unwrap();
    assert!(sent(&runner.send(1, &[0, 0, 0x18]).unwrap()).is_empty());
    runner.control().insert(&Entry::new("acl", "drop").key("value", "0x1200/8").priority(2)).unwrap();
    assert!(sent(&runner.send(1, &[0, 0x12, 0x34]).unwrap()).is_empty());
}

#[test]
fn fields_of_digests_are_keys_of_entries() {
    let apply = "if (seen.apply().miss) { digest(0, h.frame.kind); }";
    let mut runner = hopwright::compile(&program(LEARN, apply)).unwrap().runner().unwrap();
    let output = runner.send(1, &[7, 0, 0]).unwrap();
    let [digest] = &output.digests[..] else { panic!("{output:?}") };
    runner.control().insert(&Entry::new("seen", "allow").key("kind", &digest.data[0])).unwrap();
    assert_eq!(sent(&runner.send(1, &[7, 0, 0]).unwrap()).len(), 1);
    assert!(runner.control().digest_within(std::time::Duration::from_millis(2)).is_none());
}

#[test]
fn packets_arrive_at_ports_that_there_can_be() {
    let mut runner = hopwright::compile(&program("", "s.egress_spec = 2;")).unwrap().runner().unwrap();
    assert!(runner.send(510, &[0; 3]).is_ok());
    for refused in [
        runner.send(511, &[0; 3]).unwrap_err().to_string(),
        runner.control().trace(9999, &[0; 3]).unwrap_err().to_string(),
    ] {
        assert!(refused.contains("ports are 0 to 510"), "{refused}");
    }
}
