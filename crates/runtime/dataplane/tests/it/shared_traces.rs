//! Data planes of one program share the machine code of their traces, and nothing else.

use std::sync::Arc;

use hopwright_dataplane::{ExternTypes, FrameSize};
use hopwright_driver::compile_text;
use hopwright_ir::{ActionCall, MatchValue, TableEntry};
use hopwright_stf::{DataPlaneEngine, Engine};

use super::machine::machine;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> to; }
struct headers_t { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}
control N(inout headers_t hdr, inout meta_t meta) { apply {} }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action forward(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    table routes { key = { hdr.h.to : exact; } actions = { forward; drop; } const default_action = drop(); }
    apply {
        if (hdr.h.kind == 1) { routes.apply(); } else { std.egress_spec = 9; }
    }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
"#;

/// The port that a packet leaves by, if it does.
fn sent(machine: &mut DataPlaneEngine, packet: [u8; 2]) -> Option<u16> {
    machine.process(0, &packet, 1).unwrap().sent.first().map(|sent| sent.0)
}

/// Profiles packets.
fn profile(machine: &mut DataPlaneEngine, packet: [u8; 2]) {
    machine.vdp.start_profiling(20).unwrap();
    for _ in 0..20 {
        sent(machine, packet);
    }
}

#[test]
fn equal_programs_share_the_code_of_their_traces_and_nothing_else() {
    let compiled = compile_text("shared.p4", PROGRAM, &Default::default(), true);
    let text = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{text}")));
    let first = machine(pipeline.clone()).unwrap();
    let second = first.vdp.executable().data_plane(&ExternTypes::standard()).unwrap();
    let mut machines = [first, DataPlaneEngine::new(second, FrameSize::JUMBO).unwrap()];
    let (table, action) = (pipeline.table_by_name("routes").unwrap(), pipeline.action_by_name("forward").unwrap());
    for (machine, port) in machines.iter().zip(1u32..) {
        let action = ActionCall { action, args: vec![port.into()] };
        let matches = vec![MatchValue::Exact(7u32.into())];
        machine.vdp.control()[table].insert(TableEntry { matches, priority: 0, action }).unwrap();
    }
    let codes = machines.each_mut().map(|machine| {
        profile(machine, [1, 7]);
        let profiled = machine.vdp.take_profile().unwrap();
        let code = machine.vdp.compile_traces(&profiled, &[]).unwrap().unwrap();
        profile(machine, [1, 7]);
        machine.vdp.respecialise().unwrap();
        code
    });
    assert!(Arc::ptr_eq(&codes[0], &codes[1]));
    // Each has its entries, and counts its packets.
    let [first, second] = &mut machines;
    assert_eq!((sent(first, [1, 7]), sent(second, [1, 7])), (Some(1), Some(2)));
    assert_eq!(sent(second, [2, 7]), Some(9));
    let left = |machine: &DataPlaneEngine| machine.vdp.traces().exits_by_site().iter().map(|it| it.1).sum::<u64>();
    assert_eq!((left(first), left(second)), (0, 1));
    // Other paths have other code.
    profile(second, [2, 7]);
    let other = second.vdp.take_profile().unwrap();
    let other = second.vdp.compile_traces(&other, &[]).unwrap().unwrap();
    assert!(!Arc::ptr_eq(&codes[1], &other));
    // The code lives as long as one of them.
    let [first, mut second] = machines;
    drop((first, codes));
    assert_eq!((sent(&mut second, [1, 7]), left(&second)), (Some(2), 1));
}
