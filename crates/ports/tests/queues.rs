//! Programs see how many packets wait to be sent.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::Pipeline;
use hopwright_ports::MemoryPort;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header data_t { bit<8> port; bit<32> enqueued; bit<32> dequeued; bit<32> time; }
struct headers_t { data_t data; }
struct meta_t {}
parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.data); transition accept; }
}
control Nothing(inout headers_t hdr, inout meta_t meta) { apply {} }
control Receive(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = (bit<9>)hdr.data.port;
        std.mcast_grp = hdr.data.port == 9 ? 16w7 : 0;
    }
}
control Send(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.enqueued = (bit<32>)std.enq_qdepth;
        hdr.data.dequeued = (bit<32>)std.deq_qdepth;
        hdr.data.time = std.deq_timedelta;
    }
}
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.data); } }
V1Switch(Parse(), Nothing(), Receive(), Send(), Nothing(), Deparse()) main;
"#;

fn program() -> Arc<Pipeline> {
    let compiled = compile_text("program.p4", PROGRAM, &Default::default(), true);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
}

fn packet(port: u8, depth: u32) -> Vec<u8> {
    let depth = depth.to_be_bytes();
    [&[port], &depth[..], &depth, &[0; 4], b"payload"].concat()
}

#[test]
fn what_waits_at_a_port_is_its_depth() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let vdp = VirtualDataPlane::new(program(), engine).unwrap();
        let group = [1, 2].map(|port| hopwright_dataplane::Replica { port, rid: 0 });
        vdp.control().set_multicast_group(7, Some(group.to_vec()));
        let pool = Pool::new(600, FrameSize { headroom: 64, data: 256 }).unwrap();
        let (ports, wires): (Vec<_>, Vec<_>) = (0..3).map(|n| MemoryPort::new(format!("{n}"))).unzip();
        let mut builder = SwitchBuilder::new(vdp).pools(vec![pool]);
        for (number, port) in (0..).zip(ports) {
            builder = builder.port(number, Box::new(port));
        }
        let (_switch, mut worker) = builder.build().unwrap();
        // Nobody takes what is sent: the queues grow by what each batch sends.
        for (to, count) in [(1, 3), (2, 1), (1, 2), (9, 1), (1, 1), (2, 1)] {
            (0..count).for_each(|_| wires[0].send(packet(to, 77)));
            while worker.step() == 0 {}
        }
        assert_eq!(
            wires[1].receive_all(),
            [(1, 0), (1, 0), (1, 0), (1, 3), (1, 3), (9, 5), (1, 6)].map(|(p, d)| packet(p, d))
        );
        assert_eq!(wires[2].receive_all(), [(2, 0), (9, 1), (2, 2)].map(|(p, d)| packet(p, d)));
        // Now that it is taken nothing waits.
        wires[0].send(packet(1, 77));
        while worker.step() == 0 {}
        assert_eq!(wires[1].receive_all(), [packet(1, 0)]);
    }
}

#[test]
fn a_queue_is_not_said_to_be_longer_than_the_field_can_say() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut executor = Executor::new(VirtualDataPlane::new(program(), engine).unwrap());
        let mut pool = Pool::new(4, FrameSize { headroom: 64, data: 256 }).unwrap();
        let depths = executor.depths().expect("the program reads them");
        depths.set(5, u32::MAX);
        depths.set(600, 1);
        let mut frame = pool.take_filled(&packet(5, 0)).unwrap();
        executor.process_batch(std::slice::from_mut(&mut frame), 1);
        assert_eq!(frame.bytes(), packet(5, (1 << 19) - 1));
    }
    // Who does not ask is spared the asking.
    let text =
        PROGRAM.replace("std.enq_qdepth", "32w0").replace("std.deq_qdepth", "32w0").replace("(bit<32>)32w0", "0");
    let compiled = compile_text("program.p4", &text, &Default::default(), true);
    let vdp = VirtualDataPlane::new(Arc::new(compiled.pipeline.unwrap()), EngineKind::Jit).unwrap();
    assert!(Executor::new(vdp).depths().is_none());
}
