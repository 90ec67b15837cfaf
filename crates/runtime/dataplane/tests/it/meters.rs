//! Packets that run meters complete traces, and are coloured as the interpreter colours them.

use std::sync::Arc;

use hopwright_driver::compile_text;
use hopwright_interp::Interp;
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, MatchValue, TableEntry};
use hopwright_stf::Engine;

use super::machine::machine;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> k; bit<8> cell; bit<8> acl; bit<8> own; bit<8> other; }
struct headers_t { h_t h; }
struct meta_t { bit<2> color; }
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}
control N(inout headers_t hdr, inout meta_t meta) { apply {} }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    direct_meter<bit<2>>(MeterType.bytes) entries;
    direct_counter(CounterType.packets) hits;
    meter(4, MeterType.packets) cells;
    action color(bit<8> mark) { entries.read(meta.color); hdr.h.acl = mark; }
    action nothing() { }
    table acl {
        key = { hdr.h.k : ternary; }
        actions = { color; nothing; @defaultonly NoAction; }
        const default_action = NoAction();
        meters = entries;
        counters = hits;
    }
    apply {
        std.egress_spec = 1;
        acl.apply();
        hdr.h.own = (bit<8>)meta.color;
        cells.execute_meter((bit<32>)hdr.h.cell, hdr.h.other);
        if (meta.color == 2 || hdr.h.other == 2) { mark_to_drop(std); }
    }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
"#;

#[test]
fn metered_packets_complete_traces_with_the_interpreters_colours() {
    let compiled = compile_text("meters.p4", PROGRAM, &Default::default(), true);
    let text = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{text}")));
    let mut interp = Interp::new(pipeline.clone()).unwrap();
    let mut machine = machine(pipeline.clone()).unwrap();
    let (table, cells) = (pipeline.table_by_name("acl").unwrap(), pipeline.extern_by_name("cells").unwrap());
    let action = pipeline.action_by_name("color").unwrap();
    let rates = |burst| Some(Rates { cir: 1_000, cburst: burst, pir: 3_000, pburst: 2 * burst });
    // Key 2 has no rates, key 3 no entry.
    for key in 0..3u32 {
        let entry = TableEntry {
            matches: vec![MatchValue::Ternary { value: key.into(), mask: 0xffu32.into() }],
            priority: 1,
            action: ActionCall { action, args: vec![(key + 1).into()] },
        };
        machine.vdp.control()[table].insert(entry.clone()).unwrap();
        interp.store.insert(table, entry.clone()).unwrap();
        let own = rates(40 + 30 * u64::from(key)).filter(|_| key < 2);
        machine.vdp.control()[table].set_direct_meter(&entry.matches, 1, own).unwrap();
        interp.store.set_direct_meter(table, &entry.matches, 1, own).unwrap();
    }
    for cell in 0..2 {
        machine.vdp.control().meter(cells).unwrap().set_rates(cell, rates(3 + cell)).unwrap();
        interp.store.set_meter(cells, cell, rates(3 + cell)).unwrap();
    }
    let mut now_us = 1_000_000;
    let mut colors = [[0u32; 3]; 2];
    let mut send = |packets: u32, machine: &mut hopwright_stf::DataPlaneEngine| {
        for at in 0..packets {
            // Bursts and pauses: each key and cell sees every colour.
            now_us += if at % 40 == 0 { 9_000 } else { 40 };
            // Some packets name a cell that the array does not have.
            let cell = if at % 97 == 0 { 7 } else { at / 4 % 4 };
            let packet = [(at % 4) as u8, cell as u8, 0, 9, 0, 0xaa, 0xbb];
            let expected = interp.process(&packet, 0, now_us);
            let found = machine.process(0, &packet, now_us).unwrap();
            let expected: Vec<Vec<u8>> = expected.sent.into_iter().map(|sent| sent.bytes).collect();
            let found: Vec<Vec<u8>> = found.sent.into_iter().map(|sent| sent.1).collect();
            assert_eq!(expected, found, "packet {at}");
            for sent in &expected {
                colors[0][usize::from(sent[3])] += 1;
                colors[1][usize::from(sent[4])] += 1;
            }
        }
    };
    machine.vdp.start_profiling(2_000).unwrap();
    send(2_000, &mut machine);
    machine.vdp.respecialise().unwrap();
    let before = machine.vdp.traces().counts();
    send(2_000, &mut machine);
    let after = machine.vdp.traces().counts();
    let (ran, left) = (after.0 - before.0, after.1 - before.1);
    assert!(ran == 2_000 && left < 200, "{left} of {ran} packets left their traces");
    assert!(colors.iter().all(|colors| colors[0] > 0 && colors[1] > 0), "{colors:?}");
}
