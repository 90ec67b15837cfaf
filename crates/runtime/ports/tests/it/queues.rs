//! Programs see how many packets wait to be sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{
    EgressQueues, EngineKind, Executor, FrameSize, Pool, QueueLimit, SwitchBuilder, VirtualDataPlane,
};
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

fn u32_at(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(frame[at..at + 4].try_into().unwrap())
}

#[test]
fn what_waits_at_a_port_is_its_depth() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let vdp = VirtualDataPlane::new(program(), engine).unwrap();
        let group = [1, 2].map(|port| hopwright_dataplane::Replica { port, rid: 0 });
        vdp.control().set_multicast_group(7, Some(group.to_vec())).unwrap();
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
        depths.set(5, [u32::MAX; 8]);
        depths.set(600, [1; 8]);
        let mut frame = pool.take_filled(&packet(5, 0)).unwrap();
        executor.process_batch(std::slice::from_mut(&mut frame), 1);
        assert_eq!(frame.bytes(), packet(5, (1 << 19) - 1));
    }
    // Who does not ask is spared the asking.
    let text =
        PROGRAM.replace("std.enq_qdepth", "32w0").replace("std.deq_qdepth", "32w0").replace("(bit<32>)32w0", "0");
    let text = text.replace("std.deq_timedelta", "0");
    let compiled = compile_text("program.p4", &text, &Default::default(), true);
    let vdp = VirtualDataPlane::new(Arc::new(compiled.pipeline.unwrap()), EngineKind::Jit).unwrap();
    assert!(Executor::new(vdp).depths().is_none());
}

/// The same program, which also takes the priority from the packet: the upper half of the first byte.
fn prioritising() -> Arc<Pipeline> {
    let text = PROGRAM
        .replace("bit<8> port;", "bit<4> priority; bit<4> port;")
        .replace("16w7 : 0;", "16w7 : 0; std.priority = hdr.data.priority[2:0];");
    let compiled = compile_text("program.p4", &text, &Default::default(), true);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
}

#[test]
fn a_port_with_a_rate_has_queues_by_priority() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        while !queues_are_by_priority(engine) {}
    }
}

/// Whether what it checks was seen: eleven packets have to be queued within the 20 ms that the first takes.
fn queues_are_by_priority(engine: EngineKind) -> bool {
    let vdp = VirtualDataPlane::new(prioritising(), engine).unwrap();
    vdp.control().set_multicast_group(7, Some(vec![hopwright_dataplane::Replica { port: 1, rid: 0 }])).unwrap();
    let pool = Pool::new(64, FrameSize { headroom: 64, data: 256 }).unwrap();
    let (slow, wire) = MemoryPort::new("slow");
    let (input, sender) = MemoryPort::new("input");
    // A packet of 20 bytes takes 20 ms.
    let queues = EgressQueues { packets: 3, ..EgressQueues::with_rate(8_000) };
    let (switch, mut worker) = SwitchBuilder::new(vdp)
        .pools(vec![pool])
        .port(0, Box::new(input))
        .ports(1, queues.attach(vec![Box::new(slow)]))
        .build()
        .unwrap();
    let mut send = |bytes: &[u8]| {
        bytes.iter().for_each(|to| sender.send(packet(*to, 77)));
        while worker.step() == 0 {}
    };
    // The link is free: the first packet leaves at once, which is that with the highest priority.
    let begun = Instant::now();
    send(&[0x01, 0x71, 0x31, 0x71]);
    assert_eq!(wire.receive_all(), [packet(0x71, 0)]);
    // Depths are those of the packet's own queue; a copy by a multicast group has the same priority.
    send(&[0x71, 0x01, 0x51, 0x39]);
    // One more than the queue of priority 3 takes.
    send(&[0x31, 0x01, 0x71, 0x31]);
    if begun.elapsed() > Duration::from_millis(19) {
        return false;
    }
    let mut left = Vec::new();
    while left.len() < 10 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        worker.step();
        left.extend(wire.receive_all());
    }
    let high = [(0x71, 0), (0x71, 1), (0x71, 2), (0x51, 0)];
    let low = [(0x31, 0), (0x39, 1), (0x31, 2), (0x01, 0), (0x01, 1), (0x01, 2)];
    let expected = [&high[..], &low].concat();
    // The time that packets wait is known as soon as one waits: behind it they see some.
    for frame in &mut left {
        let (depth, time) = (u32_at(frame, 1), u32_at(frame, 9));
        assert_eq!(depth > 0, time > 0, "depth {depth}, {time} µs");
        assert!(u128::from(time) < begun.elapsed().as_micros());
        frame[9..13].fill(0);
    }
    assert_eq!(left, expected.iter().map(|(to, depth)| packet(*to, *depth)).collect::<Vec<_>>());
    assert!(begun.elapsed() > Duration::from_millis(175), "ten packets took {:?}", begun.elapsed());
    let device = switch.stats().ports[1].clone();
    assert_eq!(device.tx_lost, 1);
    true
}

/// Rates and depths of single queues, in packets, change while packets pass.
#[test]
fn a_control_plane_limits_queues() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        while !queues_are_limited(engine) {}
    }
}

/// Whether what it checks was seen: five packets have to be queued within the second that a packet takes.
fn queues_are_limited(engine: EngineKind) -> bool {
    let vdp = VirtualDataPlane::new(prioritising(), engine).unwrap();
    let pool = Pool::new(64, FrameSize { headroom: 64, data: 256 }).unwrap();
    let (port, wire) = MemoryPort::new("limited");
    let (input, sender) = MemoryPort::new("input");
    let settings = EgressQueues::without_rate();
    let limits = Arc::new(settings.limits());
    let (switch, mut worker) = SwitchBuilder::new(vdp)
        .pools(vec![pool])
        .port(0, Box::new(input))
        .ports(1, settings.attach_limited(vec![Box::new(port)], &limits))
        .build()
        .unwrap();
    let mut send = |bytes: &[u8]| {
        bytes.iter().for_each(|to| sender.send(packet(*to, 77)));
        while worker.step() == 0 {}
    };
    let firsts = |packets: Vec<Vec<u8>>| packets.into_iter().map(|packet| packet[0]).collect::<Vec<_>>();
    // Nothing limits the port.
    send(&[0x01, 0x31, 0x01]);
    assert_eq!(firsts(wire.receive_all()), [0x01, 0x31, 0x01]);
    // A packet of priority 0 a second: others pass, and two of it wait.
    limits.set(Some(0), QueueLimit::Rate(1));
    limits.set(Some(0), QueueLimit::Depth(2));
    let begun = Instant::now();
    send(&[0x01]);
    send(&[0x01, 0x31, 0x01, 0x01, 0x31]);
    let passed = firsts(wire.receive_all());
    if begun.elapsed() > Duration::from_millis(900) {
        return false;
    }
    assert_eq!(passed, [0x01, 0x31, 0x31]);
    assert_eq!(switch.stats().ports[1].tx_lost, 1);
    // Without the rate, what waits leaves at once.
    limits.set(Some(0), QueueLimit::Rate(0));
    worker.step();
    let left = firsts(wire.receive_all());
    assert!(left == [0x01, 0x01] || begun.elapsed() > Duration::from_millis(900), "{left:?}");
    true
}

/// What a control plane sends as urgent leaves before everything that waits.
#[test]
fn urgent_packets_of_a_control_plane_do_not_wait() {
    while !urgent_packets_leave_first() {}
}

/// Whether what it checks was seen: seven packets have to be sent within the 20 ms that the first takes.
fn urgent_packets_leave_first() -> bool {
    let vdp = VirtualDataPlane::new(prioritising(), EngineKind::Interp).unwrap();
    let pool = Pool::new(64, FrameSize { headroom: 64, data: 256 }).unwrap();
    let (slow, wire) = MemoryPort::new("slow");
    let (switch, mut worker) = SwitchBuilder::new(vdp)
        .pools(vec![pool])
        .ports(1, EgressQueues::with_rate(8_000).attach(vec![Box::new(slow)]))
        .build()
        .unwrap();
    let (tenant, begun) = (switch.default_tenant(), Instant::now());
    for byte in 1..=6 {
        tenant.injector().transmit(1, &[byte; 20]).unwrap();
        while worker.step() == 0 {}
    }
    tenant.urgent_injector().transmit(1, &[0xff; 20]).unwrap();
    while worker.step() == 0 {}
    if begun.elapsed() > Duration::from_millis(19) {
        return false;
    }
    let mut left = Vec::new();
    while left.len() < 7 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        worker.step();
        left.extend(wire.receive_all().into_iter().map(|frame| frame[0]));
    }
    assert_eq!(left, [1, 0xff, 2, 3, 4, 5, 6]);
    true
}

/// A switch that is stopped does not lose what waits for the rate of a port.
#[test]
fn what_waits_for_a_rate_leaves_when_the_switch_stops() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let vdp = VirtualDataPlane::new(prioritising(), engine).unwrap();
        let pool = Pool::new(64, FrameSize { headroom: 64, data: 256 }).unwrap();
        let (slow, wire) = MemoryPort::new("slow");
        let (input, sender) = MemoryPort::new("input");
        // A packet of 20 bytes takes 160 seconds.
        let (switch, mut worker) = SwitchBuilder::new(vdp)
            .pools(vec![pool])
            .port(0, Box::new(input))
            .ports(1, EgressQueues::with_rate(1).attach(vec![Box::new(slow)]))
            .build()
            .unwrap();
        let running = std::thread::spawn(move || worker.run());
        [0x01, 0x31, 0x71, 0x01].into_iter().for_each(|to| sender.send(packet(to, 77)));
        let begun = Instant::now();
        while switch.stats().ports[0].rx_packets < 4 {
            assert!(begun.elapsed() < Duration::from_secs(60), "the packets are not received");
            std::thread::sleep(Duration::from_millis(1));
        }
        switch.stop();
        running.join().unwrap();
        let mut left: Vec<u8> = wire.receive_all().into_iter().map(|packet| packet[0]).collect();
        left.sort_unstable();
        assert_eq!(left, [0x01, 0x01, 0x31, 0x71]);
        assert_eq!((switch.stats().ports[1].tx_packets, switch.stats().ports[1].tx_lost), (4, 0));
    }
}
