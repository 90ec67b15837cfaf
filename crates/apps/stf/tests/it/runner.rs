//! What test files say about a program and what the runner makes of it, with the reference interpreter.

use std::sync::Arc;

use hopwright_driver::compile_text;
use hopwright_interp::Interp;
use hopwright_stf::{Report, StfError, configure, parse, run};

pub(crate) const PROGRAM: &str = r#"
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> c; }
struct headers { h_t[2] h; }
struct meta { bit<8> m; }
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h[0]); transition accept; }
}
control V(inout headers hdr, inout meta m) { apply {} }
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
    counter(8, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.packets) hits;
    register<bit<8>>(4) last;
    action drop() { mark_to_drop(sm); }
    action to(bit<9> port, bit<8> mark) { sm.egress_spec = port; hdr.h[0].b = mark; hits.count(); }
    action group(bit<16> id) { sm.mcast_grp = id; hits.count(); }
    action mirror() { sm.egress_spec = 1; clone(CloneType.I2E, 5); hits.count(); }
    table t {
        key = { hdr.h[0].a : ternary; hdr.h[0].c : lpm; }
        actions = { to; group; mirror; drop; }
        default_action = drop();
        counters = hits;
    }
    table fix {
        key = { hdr.h[0].b : exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        seen.count((bit<32>)sm.ingress_port);
        last.write(0, hdr.h[0].a);
        fix.apply();
        t.apply();
    }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
    apply { if (sm.egress_rid != 0) { hdr.h[0].b = (bit<8>)sm.egress_rid; } }
}
control C(inout headers hdr, inout meta m) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn interp() -> Interp {
    let compiled = compile_text("test.p4", PROGRAM, &Default::default(), true);
    let pipeline = compiled.pipeline.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics));
    Interp::new(Arc::new(pipeline)).unwrap()
}

fn outcome(test: &str) -> Result<Report, StfError> {
    run(&parse("t.stf", test).unwrap(), &mut interp())
}

fn failures(test: &str) -> Vec<String> {
    outcome(test).unwrap().failures.iter().map(ToString::to_string).collect()
}

#[test]
fn higher_priority_wins_and_keys_may_be_left_out() {
    let test = "
        add t 10 h$0.a:0x1* I.to(port:1, mark:0xaa)
        add I.t 20 hdr.h$0.c:0x12** to(port:2, mark:0xbb)
        packet 7 10 00 1234 99
        expect 2 10bb123499 $
        packet 7 1f 00 3412
        expect 1 1f aa 3412
        packet 7 20 00 3412
        check_counter seen(7) packets == 3
        setdefault t to(port:1, mark:0xcc)
        packet 7 20 00 0000
        expect 1 20cc
        register_read last 0
    ";
    let report = outcome(test).unwrap();
    assert_eq!(report.failures, []);
    assert_eq!((report.packets, report.matched), (4, 3));
    assert_eq!(report.notes, ["t.stf:13: last[0]: 0x20"]);
}

#[test]
fn differences_are_reported_with_their_lines() {
    assert_eq!(
        failures(
            "add t 1 a:0x10 to(port:1, mark:1)
             packet 0 10 00 0000
             expect 1 10 02"
        ),
        ["t.stf:3: port 1: expected 1002\n    found    10010000"]
    );
    assert_eq!(failures("packet 0 10 00 0000\nexpect 1"), ["t.stf:2: no such packet left port 1"]);
    // Nothing may leave a port that is only used for input.
    assert_eq!(
        failures("setdefault t to(port:0, mark:0)\npacket 0 10 00 0000"),
        ["t.stf:2: port 0: not expected: 10000000"]
    );
    assert_eq!(
        failures("setdefault t to(port:3, mark:0)\nno_packet 3\npacket 0 10 00 0000"),
        ["t.stf:3: port 3: not expected: 10000000"]
    );
    assert!(failures("setdefault t to(port:3, mark:0)\nno_packet 3\npacket 0 10 00 0000\nexpect 3").is_empty());
    // A port that is not named does not exist.
    assert!(failures("setdefault t to(port:3, mark:0)\npacket 0 10 00 0000").is_empty());
    assert_eq!(
        failures("setdefault t to(port:3, mark:0)\npacket 0 10 00 0000\nno_packet"),
        ["t.stf:3: the packet before this brought forth 1"]
    );
    assert_eq!(
        failures("packet 0 10 00 0000\ncheck_counter seen(0) bytes > 4"),
        ["t.stf:2: counter `seen`: 4 bytes, expected > 4"]
    );
}

#[test]
fn failures_have_the_order_of_the_file_and_its_forms_of_values() {
    assert_eq!(
        failures(
            "packet 0 10 00 0000
             expect 2 aa
             check_register last(0) == 0.0.0.17
             expect 1 bb
             check_register last(0) > 0x10"
        ),
        [
            "t.stf:2: no such packet left port 2",
            "t.stf:3: register `last`: 0.0.0.16, expected == 0.0.0.17",
            "t.stf:4: no such packet left port 1",
            "t.stf:5: register `last`: 0x10, expected > 0x10",
        ]
    );
}

#[test]
fn expectations_may_stand_before_their_packets_and_keep_their_order() {
    let test = "
        setdefault t to(port:1, mark:0)
        expect 1 02
        expect 1
        packet 0 02 00 0000
        packet 0 03 00 0000
    ";
    assert!(failures(test).is_empty());
    assert_eq!(failures(&test.replace("expect 1 02", "expect 1 03")).len(), 1);
}

#[test]
fn groups_sessions_and_entry_names() {
    let test = "
        mc_mgrp_create 3
        mc_node_create 9 1 2
        mc_node_create 8 4
        mc_node_associate 3 0
        mc_node_associate 3 1
        mirroring_add 5 6
        add t 1 a:0x10 group(id:3) = e
        add t 1 a:0x11 mirror()
        packet 0 10 00 0000
        expect 1 10 09
        expect 2 10 09
        expect 4 10 08
        packet 0 11 00 0000
        expect 6 11 00
        expect 1 11 00
        check_counter hits(e) == 1
        mc_node_update 1
        packet 0 10 00 0000
        expect 1 10 09
        expect 2 10 09
        mirroring_delete 5
        packet 0 11 00 0000
        expect 1 11 00
        remove all
        packet 0 11 00 0000
        no_packet
        register_write last 2 0x17
        register_reset last
        counter_write seen 1 5 6
        check_counter seen(1) bytes == 6
    ";
    assert_eq!(failures(test), Vec::<String>::new());
}

#[test]
fn lines_that_cannot_be_carried_out_stop_the_test() {
    let error = |line: &str| outcome(line).unwrap_err().to_string();
    let lines = [
        ("add x a:1 drop()", "no table `x`; there are I.fix, I.t"),
        ("add t z:1 drop()", "no key `z`; there are hdr.h[0].a, hdr.h[0].c"),
        ("add t a:1 a:2 drop()", "key `a` is named twice"),
        ("add t a:0x100 drop()", "key `a`: 0x100 does not fit 8 bits"),
        ("add t c:0x1*2 drop()", "key `c`: `*` digits of an lpm key must be the last"),
        ("add t c:1/17 drop()", "key `c`: prefix length 17 is beyond 16 bits"),
        ("add fix b:0x1* drop()", "key `b`: `*` digits are only for masks and prefixes"),
        ("add t a:1/9 drop()", "key `a`: prefix length 9 is beyond 8 bits"),
        ("add t fly()", "table `I.t` has no action `fly`; there are I.to, I.group, I.mirror, I.drop"),
        ("add t to(port:1)", "action `to` needs an argument `mark`"),
        ("add t to(port:512, mark:1)", "argument `port`: 0x200 does not fit 9 bits"),
        ("add t to(x:1)", "action `to` has no parameter `x`; there are port, mark"),
        ("register_write last 4 1", "index out of range, the size is 4"),
        ("register_write seen 0 1", "`seen` is a counter, no register"),
        ("register_write lost 0 1", "no register `lost`; did you mean `last`?"),
        ("add t to(port:1, mark:2, port:1)", "parameter `port` is named twice"),
        ("add t a:fd00::1 drop()", "key `a`: fd00::1 does not fit 8 bits"),
        ("add t to(port:10.0.0.1, mark:1)", "argument `port`: 10.0.0.1 does not fit 9 bits"),
        ("mc_node_associate 1 0", "no node 0"),
        ("check_counter hits(e)", "no entry was named `e`"),
    ];
    for (line, message) in lines {
        assert_eq!(error(line), format!("t.stf:1: {message}"));
    }
}

#[test]
fn tests_for_the_model_of_a_tofino_have_frame_check_sequences_and_other_rules() {
    let test = "
        add fix b:0x01 drop()
        add fix b:0x101 NoAction()
    ";
    let first = |lines: usize| test.lines().take(lines + 1).collect::<Vec<_>>().join("\n");
    assert_eq!(outcome(test).unwrap_err().to_string(), "t.stf:3: key `b`: 0x101 does not fit 8 bits");
    // The second line takes the place of the first one.
    let model = format!("tofino_model\n{}\nadd I.t 1 o(port:1, mark:7)", first(2));
    let packets = "packet 0 10 01 0000\npacket 0 10 01 0000\nexpect 1\ncheck_counter seen(0) bytes == 16";
    assert_eq!(failures(&format!("{model}\n{packets}")), Vec::<String>::new());
    assert_eq!(failures(&format!("{model}\n{packets}\nexpect 1 10071000")).len(), 1);
    assert_eq!(
        failures("packet 0 15 00 0000\ncheck_register last(0)[7:4] == 1\ncheck_register last(0)[3:0] == 5"),
        [""; 0]
    );
}

#[test]
fn configuration_alone_can_be_carried_out() {
    let mut interp = interp();
    let script = parse("t.stf", "setdefault t to(port:3, mark:0)\npacket 0 00\nexpect 9").unwrap();
    configure(&script, &mut interp).unwrap();
    assert_eq!(interp.process(&[1, 2, 3, 4], 0, 0).sent[0].port, 3);
}
