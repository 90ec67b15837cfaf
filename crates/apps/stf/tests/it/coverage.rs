//! What packets reach, by entry: of a test, and of packets that workers run.

use std::sync::{Arc, Mutex};

use hopwright_coverage::{Coverage, Report};
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_stf::{DataPlaneEngine, Engine as _, configure, know_entries, parse, run};

use crate::runner::PROGRAM;

fn data_plane(kind: EngineKind) -> Arc<VirtualDataPlane> {
    let compiled = compile_text("test.p4", PROGRAM, &Default::default(), false);
    VirtualDataPlane::new(Arc::new(compiled.pipeline.unwrap()), kind).unwrap()
}

fn engine(vdp: &Arc<VirtualDataPlane>) -> DataPlaneEngine {
    DataPlaneEngine::new(vdp.clone(), FrameSize::JUMBO).unwrap()
}

/// By entry, the table and the packets.
fn hits(report: &Report) -> Vec<(&str, u64)> {
    report.entries.iter().map(|entry| (entry.table.as_str(), entry.count)).collect()
}

const ENTRIES: &str = "
add t 2 hdr.h[0].a:1 to(port:2, mark:0) = one
add t 1 hdr.h[0].a:2 to(port:3, mark:0)
add fix hdr.h[0].b:7 drop()
";

/// Entries that no packet hits, and those of a table that was cleared, are in the report.
#[test]
fn a_test_counts_the_packets_of_its_entries() {
    let vdp = data_plane(EngineKind::Interp);
    let mut engine = engine(&vdp);
    engine.coverage = Some(Coverage::new(vdp.pipeline()));
    let packets = "packet 1 01000000\nexpect 2\npacket 1 01000000\nexpect 2\nremove all\nadd t 3 hdr.h[0].a:9 drop()\n";
    let script = parse("test", &format!("{ENTRIES}{packets}")).unwrap();
    assert!(run(&script, &mut engine).unwrap().passed());
    let report = engine.reached().unwrap().report();
    assert_eq!(hits(&report), [("I.t", 2), ("I.t", 0), ("I.t", 0), ("I.fix", 0)]);
    assert!(report.entries[0].label.contains("priority 2 -> I.to(port: 0x2, mark: 0x0)"), "{:?}", report.entries);
}

/// Packets that a worker interprets are reported to the observer of the data plane.
#[test]
fn packets_of_a_running_switch_are_counted() {
    let vdp = data_plane(EngineKind::Interp);
    let coverage = Arc::new(Mutex::new(Coverage::new(vdp.pipeline())));
    assert!(vdp.observe(coverage.clone()));
    assert!(!vdp.observe(coverage.clone()), "there is one observer");
    assert!(!data_plane(EngineKind::Jit).observe(coverage.clone()), "machine code cannot be observed");
    let mut engine = engine(&vdp);
    configure(&parse("entries", ENTRIES).unwrap(), &mut engine).unwrap();
    for packet in [[2, 0, 0, 0], [2, 0, 0, 0], [5, 7, 0, 0]] {
        engine.process(1, &packet, 0).unwrap();
    }
    let mut reached = coverage.lock().unwrap().clone();
    know_entries(&mut reached, &vdp);
    assert_eq!(hits(&reached.report()), [("I.t", 2), ("I.t", 0), ("I.fix", 1)]);
}
