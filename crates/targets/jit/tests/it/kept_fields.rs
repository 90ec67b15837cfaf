//! Headers of Tofino programs, whose fields keep what they have when `setValid` makes them valid: the interpreter, the generic function and
//! traces agree.

use std::path::Path;

use hopwright_driver::compile_file;

use crate::harness::{OnTraces, compare_traces};

#[test]
fn fields_of_invalid_headers_are_kept_on_traces() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf/tna_set_valid.p4");
    let pipeline = compile_file(&program, &Default::default(), true).pipeline.expect("the packet test compiles");
    let packets: Vec<Vec<u8>> = (0..=0x11).map(|what| vec![what, 0, 0x12, 0x34, 0x56, 0x78, 0xcc]).collect();
    let all: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let batch = all.repeat(3);
    let on_traces = compare_traces(&pipeline, &all, &batch).unwrap();
    assert_eq!(on_traces, Some(OnTraces { completed: batch.len() as u64, side_exits: 0 }));
    // Paths of others leave the traces of one.
    let on_traces = compare_traces(&pipeline, &all[1..2], &batch).unwrap().expect("a trace");
    assert!(on_traces.completed >= 3 && on_traces.side_exits > 0, "{on_traces:?}");
}
