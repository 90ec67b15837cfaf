//! Programs that compile and do not run.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, VirtualDataPlane};
use hopwright_driver::{Options, compile_text};

#[test]
fn headers_that_are_not_whole_bytes_do_not_run() {
    let text = "#include <v1model.p4>
        header odd_t { bit<3> x; }
        struct headers { odd_t odd; }
        struct none { }
        parser P(packet_in p, out headers hdr, inout none m, inout standard_metadata_t s) {
            state start { p.extract(hdr.odd); transition accept; }
        }
        control Checksums(inout headers hdr, inout none m) { apply { } }
        control Nothing(inout headers hdr, inout none m, inout standard_metadata_t s) { apply { } }
        control Send(packet_out p, in headers hdr) { apply { p.emit(hdr.odd); } }
        V1Switch(P(), Checksums(), Nothing(), Nothing(), Checksums(), Send()) main;";
    let compiled = compile_text("odd.p4", text, &Options::default(), true);
    let pipeline = Arc::new(compiled.pipeline.expect("the language does not forbid it"));
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let refused = VirtualDataPlane::new(pipeline.clone(), engine).err().map(|e| e.to_string());
        assert_eq!(refused.as_deref(), Some("header `hdr.odd` has 3 bits: packets consist of whole bytes"));
    }
}
