//! A switch end to end: ports, program, tables, CPU port, injection, counts. Every case runs on both engines.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::builder::*;
use hopwright_dataplane::{
    ControlError, EngineKind, EntrySpec, FrameSize, Packet, Pool, Port, Switch, SwitchBuilder, VirtualDataPlane, Worker,
};
use hopwright_ir::*;
use num_bigint::BigUint;

const B8: Type = Type::Bits(8);
const CPU: u32 = 510;
const BOTH: [EngineKind; 2] = [EngineKind::Interp, EngineKind::Jit];

/// What is to be received and what was sent.
#[derive(Clone, Default)]
pub(crate) struct Wire {
    to_receive: Arc<Mutex<VecDeque<Vec<u8>>>>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Whether the port's intake is closed.
    closed: Arc<AtomicBool>,
}

impl Wire {
    pub(crate) fn offer(&self, packet: &[u8]) {
        self.to_receive.lock().unwrap().push_back(packet.to_vec());
    }

    fn sent(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sent.lock().unwrap())
    }
}

/// Takes at most this many packets of a burst.
pub(crate) struct TestPort(pub(crate) Wire, pub(crate) usize);

impl Port for TestPort {
    fn name(&self) -> &str {
        "test"
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut queue = self.0.to_receive.lock().unwrap();
        let mut count = 0;
        while count < limit && !self.0.closed.load(Ordering::Relaxed) {
            let Some(bytes) = queue.pop_front() else { break };
            batch.push(pool.take_filled(&bytes).unwrap());
            count += 1;
        }
        count
    }

    fn set_intake(&mut self, open: bool) {
        self.0.closed.store(!open, Ordering::Relaxed);
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let mut sent = self.0.sent.lock().unwrap();
        let mut count = 0;
        for packet in packets.drain(..) {
            if count < self.1 {
                sent.push(packet.bytes().to_vec());
                count += 1;
            }
            pool.give(packet);
        }
        count
    }

    fn finished(&self) -> bool {
        self.0.to_receive.lock().unwrap().is_empty()
    }
}

/// The program reads two bytes `a` and `b`; the table `a` decides by the first: `forward(port)` also sets `b` and
/// counts at the index `b` had; else the packet is dropped. Actions `tag` puts a byte in front; `seal` replaces the
/// payload's first 16 bytes, parsed as `block`, by their AES-CMAC.
fn program() -> Pipeline {
    let mut p = pipeline();
    let front = header(&mut p, "front", &[("mark", B8)]);
    let h = header(&mut p, "h", &[("a", B8), ("b", B8)]);
    let block = header(&mut p, "block", &[("data", Type::Bits(128))]);
    p.parser.states[0].body = vec![extract(h), extract(block)];
    p.deparser.body = vec![emit(front), emit(h), emit(block)];
    let (a, b) = (field(&p, h, 0), field(&p, h, 1));
    let hits = object(&mut p, "MyIngress.hits", ExternKind::Counter { size: 4, unit: Unit::Both });
    let last = object(&mut p, "MyIngress.last", ExternKind::Register { size: 2, ty: Type::Bits(80) });
    let direct =
        object(&mut p, "MyIngress.direct", ExternKind::DirectCounter { table: Some(TableId(0)), unit: Unit::Both });
    let cmac = object(
        &mut p,
        "MyIngress.cmac",
        ExternKind::Named { type_name: "AesCmac".into(), args: vec![BigUint::from(2u32)] },
    );
    let drop = send_to(&p, 511);
    let drop = action(&mut p, "MyIngress.drop", &[], vec![drop]);
    let param = |index: u32, width: u32| Expr { kind: ExprKind::Param(index), ty: Type::Bits(width), span: span() };
    let wide = Expr { kind: ExprKind::Cast(Box::new(read(&p, b))), ty: Type::Bits(80), span: span() };
    let body = vec![
        call(ExternFn::CounterCount(hits), vec![ExternArg::In(read(&p, b))]),
        call(ExternFn::RegisterWrite(last), vec![ExternArg::In(konst(1, 32)), ExternArg::In(wide)]),
        assign(b, param(1, 8)),
        assign(p.standard.egress_spec, param(0, 9)),
    ];
    let forward = action(&mut p, "MyIngress.forward", &[("port", 9), ("b", 8)], body);
    let mark = field(&p, front, 0);
    let body = vec![
        stmt(StmtKind::SetValid(front)),
        assign(mark, konst(0x7f, 8)),
        assign(p.standard.egress_spec, param(0, 9)),
    ];
    let tag = action(&mut p, "MyIngress.tag", &[("port", 9)], body);
    let data = field(&p, block, 0);
    let body = vec![
        call(
            ExternFn::Named { instance: Some(cmac), name: "mac".into(), no_side_effects: true },
            vec![ExternArg::In(param(0, 32)), ExternArg::In(read(&p, data)), ExternArg::Out(data)],
        ),
        send_to(&p, 1),
    ];
    let seal = action(&mut p, "MyIngress.seal", &[("key", 32)], body);
    let t = table(&mut p, "MyIngress.by_a", vec![(a, MatchKind::Exact)], &[drop, forward, tag, seal], drop);
    p.tables[t.index()].direct_counter = Some(direct);
    p.ingress.body = vec![apply(t)];
    p
}

struct Rig {
    switch: Arc<Switch>,
    worker: Worker,
    wires: [Wire; 2],
}

fn rig(engine: EngineKind) -> Rig {
    let vdp = VirtualDataPlane::new(Arc::new(program()), engine).unwrap();
    let wires = [Wire::default(), Wire::default()];
    let (switch, worker) = SwitchBuilder::new(vdp)
        .port(0, Box::new(TestPort(wires[0].clone(), usize::MAX)))
        .port(1, Box::new(TestPort(wires[1].clone(), 3)))
        .cpu_port(CPU)
        .cpu_queue(4)
        .pool(0, FrameSize { headroom: 4, data: 128 })
        .build()
        .unwrap();
    Rig { switch, worker, wires }
}

fn by_a(a: u8, action: &str) -> EntrySpec {
    EntrySpec::new("by_a", action).exact(a)
}

fn packet(a: u8, b: u8) -> Vec<u8> {
    let mut bytes = vec![a, b];
    bytes.extend(0..20);
    bytes
}

#[test]
fn packets_go_where_the_tables_say_and_are_counted() {
    for engine in BOTH {
        let Rig { switch, mut worker, wires } = rig(engine);
        let vdp = switch.default_tenant().vdp();
        vdp.control().insert(&by_a(1, "forward").arg(1u32).arg(0x55u32)).unwrap();
        vdp.control().insert(&by_a(2, "forward").arg(300u32).arg(0u32)).unwrap();
        for (a, b) in [(1, 2), (1, 3), (2, 0), (9, 9)] {
            wires[0].offer(&packet(a, b));
        }
        wires[0].offer(&[1]);
        assert_eq!(worker.step(), 5);
        assert_eq!(wires[1].sent(), [packet(1, 0x55), packet(1, 0x55)], "{engine:?}");
        assert!(wires[0].sent().is_empty());

        let stats = switch.stats();
        assert_eq!((stats.ports[0].rx_packets, stats.ports[0].rx_bytes), (5, 89));
        assert_eq!((stats.ports[1].tx_packets, stats.ports[1].tx_bytes), (2, 44));
        assert_eq!((stats.total.no_such_port, stats.total.dropped_by_program), (1, 2));
        assert_eq!(stats.total.parser_errors[PACKET_TOO_SHORT as usize], 1);
        assert_eq!((stats.total.packets, stats.total.batches), (5, 1));

        let counts: Vec<_> =
            vdp.control().counter("hits").map(|c| c.read_all()).unwrap().iter().map(|c| (c.packets, c.bytes)).collect();
        assert_eq!(counts, [(1, 22), (0, 0), (1, 22), (1, 22)], "{engine:?}");
        assert_eq!(vdp.control().register("last").and_then(|r| r.read(1)).unwrap(), BigUint::ZERO);
        let (table, entry) = vdp.control().resolve(&by_a(1, "forward").arg(1u32).arg(0x55u32)).unwrap();
        let direct = vdp.control()[table].direct_count(&entry.matches, 0).unwrap();
        assert_eq!((direct.packets, direct.bytes), (2, 44), "{engine:?}");

        // A change is in force for the next batch, and the direct counter goes on.
        vdp.control().put(&by_a(1, "forward").arg(0u32).arg(0x66u32)).unwrap();
        wires[1].offer(&packet(1, 3));
        worker.step();
        assert_eq!(wires[0].sent(), [packet(1, 0x66)]);
        assert_eq!(vdp.control()[table].direct_count(&entry.matches, 0).unwrap().packets, 3, "{engine:?}");
        assert_eq!(vdp.control().register("last").and_then(|r| r.read(1)).unwrap(), BigUint::from(3u32));
        vdp.control().delete(&by_a(1, "")).unwrap();
        vdp.control().set_default("by_a", "tag", &[1u32.into()]).unwrap();
        wires[1].offer(&packet(1, 3));
        worker.step();
        assert_eq!(wires[1].sent(), [[vec![0x7f], packet(1, 3)].concat()]);
    }
}

#[test]
fn headers_that_do_not_fit_the_headroom_drop_the_packet() {
    for engine in BOTH {
        let vdp = VirtualDataPlane::new(Arc::new(program()), engine).unwrap();
        vdp.control().insert(&by_a(1, "tag").arg(1u32)).unwrap();
        let wire = Wire::default();
        let (switch, mut worker) = SwitchBuilder::new(vdp)
            .port(1, Box::new(TestPort(wire.clone(), 3)))
            .pool(0, FrameSize { headroom: 0, data: 64 })
            .build()
            .unwrap();
        wire.offer(&packet(1, 0));
        worker.step();
        assert!(wire.sent().is_empty());
        assert_eq!(switch.stats().total.no_headroom, 1, "{engine:?}");
    }
}

#[test]
fn keys_come_from_outside_and_without_one_nothing_verifies() {
    for engine in BOTH {
        let Rig { switch, mut worker, wires } = rig(engine);
        let vdp = switch.default_tenant().vdp();
        // RFC 4493, section 4, example 2.
        let key = 0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes();
        let block = 0x6bc1bee2_2e409f96_e93d7e11_7393172a_u128.to_be_bytes();
        let tag = 0x070a16b4_6b4d4144_f79bdd9d_d04a287c_u128.to_be_bytes();
        let run = |worker: &mut Worker| {
            wires[0].offer(&[&[7, 0], &block[..]].concat());
            worker.step();
            let sent = wires[1].sent();
            assert_eq!(sent.len(), 1);
            sent[0][2..].to_vec()
        };
        vdp.control().insert(&by_a(7, "seal").arg(1u32)).unwrap();
        let keys = vdp.control().key_table("cmac").unwrap();
        let unset = run(&mut worker);
        assert_ne!(unset, tag, "{engine:?}");
        assert_ne!(unset, [0; 16], "{engine:?}");
        keys.set_key(1, &key).unwrap();
        assert_eq!(run(&mut worker), tag, "{engine:?}");
        keys.clear_key(1).unwrap();
        assert_eq!(run(&mut worker), unset);
        vdp.control().put(&by_a(7, "seal").arg(0xffff_ffffu32)).unwrap();
        assert_eq!(run(&mut worker), unset, "an index beyond the table has no key");
        assert!(keys.set_key(2, &key).is_err());
    }
}

#[test]
fn the_cpu_port_hands_packets_over_and_never_waits() {
    for engine in BOTH {
        let Rig { switch, mut worker, wires } = rig(engine);
        switch.default_tenant().vdp().control().insert(&by_a(1, "forward").arg(CPU).arg(9u32)).unwrap();
        for b in 0..6 {
            wires[b % 2].offer(&packet(1, b as u8));
        }
        worker.step();
        let cpu = switch.default_tenant().cpu();
        let got: Vec<_> = std::iter::from_fn(|| cpu.receive(Duration::from_millis(1))).collect();
        let ports: Vec<_> = got.iter().map(|p| p.ingress_port()).collect();
        // The queue holds four.
        assert_eq!(ports, [0, 0, 0, 1]);
        assert_eq!(&got[0][..], packet(1, 9));
        assert!(got[0].time_us() > 1_600_000_000_000_000);
        let stats = switch.stats();
        assert_eq!((stats.total.punted, stats.total.punt_lost), (4, 2));
        // Their buffers come back.
        drop(got);
        wires[0].offer(&packet(1, 0));
        worker.step();
        assert!(cpu.try_receive().is_some());
    }
}

#[test]
fn the_control_plane_sends_past_the_program_and_through_it() {
    for engine in BOTH {
        let Rig { switch, mut worker, wires } = rig(engine);
        switch.default_tenant().vdp().control().insert(&by_a(3, "forward").arg(0u32).arg(4u32)).unwrap();
        let injector = switch.default_tenant().injector();
        injector.transmit(1, b"as it is").unwrap();
        injector.packet_out(CPU, &packet(3, 0)).unwrap();
        injector.transmit(77, b"nowhere").unwrap();
        assert!(injector.transmit(1, &[0; 4096]).is_err(), "longer than a frame");
        assert_eq!(worker.step(), 3);
        assert_eq!(wires[1].sent(), [b"as it is"]);
        assert_eq!(wires[0].sent(), [packet(3, 4)]);
        let stats = switch.stats();
        assert_eq!((stats.total.injected, stats.total.no_such_port), (3, 1));
    }
}

#[test]
fn a_busy_device_loses_packets_and_no_frame_is_lost() {
    for engine in BOTH {
        let Rig { switch, mut worker, wires } = rig(engine);
        switch.default_tenant().vdp().control().insert(&by_a(1, "forward").arg(1u32).arg(0u32)).unwrap();
        for _ in 0..300 {
            for _ in 0..10 {
                wires[0].offer(&packet(1, 0));
            }
            assert_eq!(worker.step(), 10);
        }
        // Port 1 takes three of a burst.
        assert_eq!(wires[1].sent().len(), 900);
        assert_eq!(switch.stats().ports[1].tx_lost, 2100);
    }
}

#[test]
fn a_worker_ends_when_told_and_when_its_ports_are_finished() {
    let Rig { switch, mut worker, wires } = rig(EngineKind::Interp);
    switch.default_tenant().vdp().control().insert(&by_a(1, "forward").arg(1u32).arg(0u32)).unwrap();
    wires[0].offer(&packet(1, 0));
    worker.run();
    assert_eq!(wires[1].sent().len(), 1);
    switch.stop();
    wires[0].offer(&packet(1, 0));
    worker.run();
    assert!(wires[1].sent().is_empty());
}

#[test]
fn wrong_names_and_numbers_are_told() {
    let vdp = VirtualDataPlane::new(Arc::new(program()), EngineKind::Interp).unwrap();
    assert_eq!(vdp.control().insert(&EntrySpec::new("nix", "drop")), Err(ControlError::UnknownTable("nix".into())));
    assert_eq!(vdp.control().insert(&by_a(1, "nix")), Err(ControlError::UnknownAction("nix".into())));
    assert_eq!(vdp.control().counter("nix").and_then(|c| c.read(0)), Err(ControlError::UnknownExtern("nix".into())));
    assert!(matches!(vdp.control().counter("last").and_then(|c| c.read(0)), Err(ControlError::WrongExtern { .. })));
    assert!(matches!(
        vdp.control().counter("hits").and_then(|c| c.read(4)),
        Err(ControlError::Index { index: 4, size: 4, .. })
    ));
    assert!(matches!(vdp.control().register("last").and_then(|r| r.read(2)), Err(ControlError::Index { .. })));
    assert!(matches!(
        vdp.control().register("last").and_then(|r| r.write(0, BigUint::from(1u32) << 80u32)),
        Err(ControlError::ValueWidth { .. })
    ));
    assert!(matches!(vdp.control().insert(&by_a(1, "drop").any()), Err(ControlError::Entry { .. })));
    assert!(vdp.control().key_table("hits").is_err());
    vdp.control().register("last").and_then(|r| r.write(0, BigUint::from(1u32) << 79u32)).unwrap();
    assert_eq!(vdp.control().register("last").and_then(|r| r.read(0)).unwrap(), BigUint::from(1u32) << 79u32);

    let wire = Wire::default;
    let port = || Box::new(TestPort(wire(), 0));
    let twice = SwitchBuilder::new(vdp.clone()).port(1, port()).port(1, port()).build();
    assert_eq!(twice.err().map(|e| e.to_string()).as_deref(), Some("port number 1 is given twice"));
    let beyond = SwitchBuilder::new(vdp).port(511, port()).build();
    assert_eq!(beyond.err().map(|e| e.to_string()).as_deref(), Some("511 is no port number: they go from 0 to 510"));
}

#[test]
fn ports_come_and_go_between_rounds() {
    for engine in BOTH {
        let Rig { switch, mut worker, wires } = rig(engine);
        let vdp = switch.default_tenant().vdp();
        vdp.control().insert(&by_a(1, "forward").arg(1u32).arg(0u32)).unwrap();
        vdp.control().insert(&by_a(7, "forward").arg(7u32).arg(0u32)).unwrap();
        let new = Wire::default();
        assert!(switch.add_port(1, Box::new(TestPort(new.clone(), 9))).is_err(), "taken");
        assert!(switch.add_port(CPU, Box::new(TestPort(new.clone(), 9))).is_err(), "taken");
        assert!(switch.add_port(511, Box::new(TestPort(new.clone(), 9))).is_err(), "no port number");
        assert!(switch.remove_port(7).is_err(), "not there");
        switch.add_port(7, Box::new(TestPort(new.clone(), 9))).unwrap();
        new.offer(&packet(1, 0));
        wires[0].offer(&packet(7, 0));
        assert_eq!(worker.step(), 2);
        assert_eq!((new.sent().len(), wires[1].sent().len()), (1, 1), "{engine:?}");

        // The first goes, the last takes its place.
        switch.remove_port(0).unwrap();
        assert!(switch.remove_port(0).is_err(), "gone");
        let shared = Arc::strong_count(&wires[0].sent);
        wires[0].offer(&packet(1, 0));
        new.offer(&packet(7, 0));
        assert_eq!(worker.step(), 1);
        assert_eq!(new.sent().len(), 1, "{engine:?}");
        let numbers: Vec<u32> = switch.ports().iter().map(|p| p.number).collect();
        assert_eq!(numbers, [1, 7]);
        assert_eq!(Arc::strong_count(&wires[0].sent), shared - 1, "the port is closed");
        assert_eq!(switch.stats().removed_ports.rx_packets, 1);

        // Its number may be given again before the worker has looked.
        switch.remove_port(7).unwrap();
        switch.add_port(7, Box::new(TestPort(wires[0].clone(), 9))).unwrap();
        assert_eq!(worker.step(), 1);
        let stats = switch.stats();
        assert_eq!(stats.removed_ports.tx_packets, 2);
        assert_eq!(stats.ports.iter().map(|p| (p.number, p.rx_packets)).collect::<Vec<_>>(), [(1, 0), (7, 1)]);
        assert_eq!(stats.packets_in(), stats.packets_out());
    }
}

/// Every packet ends in exactly one count, whatever becomes of it.
#[test]
fn some_batches_are_measured_by_stage() {
    let Rig { switch, mut worker, wires } = rig(EngineKind::Jit);
    for _ in 0..200 {
        for a in 0..3 {
            wires[0].offer(&packet(a, 0));
        }
        worker.step();
        // What the control plane sends is not measured, nor are rounds in which nothing comes.
        let _ = switch.default_tenant().injector().packet_out(0, &packet(3, 0));
        worker.step();
    }
    let stages = switch.stats().stages;
    assert_eq!(stages.map(|s| s.packets), [9; 4], "one batch in 64 and the one after: {stages:?}");
    assert!(stages.iter().all(|s| s.ns > 0), "{stages:?}");
}

#[test]
fn the_ledger_balances() {
    for engine in BOTH {
        let vdp = VirtualDataPlane::new(Arc::new(program()), engine).unwrap();
        vdp.control().insert(&by_a(1, "forward").arg(1u32).arg(0u32)).unwrap();
        vdp.control().insert(&by_a(2, "forward").arg(300u32).arg(0u32)).unwrap();
        vdp.control().insert(&by_a(3, "forward").arg(CPU).arg(0u32)).unwrap();
        vdp.control().insert(&by_a(4, "tag").arg(0u32)).unwrap();
        let wires = [Wire::default(), Wire::default()];
        let (switch, mut worker) = SwitchBuilder::new(vdp)
            .port(0, Box::new(TestPort(wires[0].clone(), 100)))
            .port(1, Box::new(TestPort(wires[1].clone(), 3)))
            .cpu_port(CPU)
            .cpu_queue(4)
            .pool(0, FrameSize { headroom: 0, data: 128 })
            .build()
            .unwrap();
        for round in 0..20u8 {
            for i in 0..40u8 {
                wires[usize::from(i % 2)].offer(&packet(i % 6, round));
            }
            wires[0].offer(&[3]);
            for port in [0, 1, 300, CPU] {
                let _ = switch.default_tenant().injector().transmit(port, &packet(1, 0));
                let _ = switch.default_tenant().injector().packet_out(port, &packet(3, 0));
            }
            worker.step();
        }
        let s = switch.stats();
        assert_eq!(s.packets_in(), s.packets_out(), "{engine:?}: {s:?}");
        assert_eq!(s.ports[0].rx_packets + s.ports[1].rx_packets, 20 * 41);
        let kinds = [
            s.total.dropped_by_program,
            s.total.no_headroom,
            s.total.no_such_port,
            s.total.punted,
            s.total.punt_lost,
            s.ports[1].tx_lost,
            s.total.injected,
        ];
        assert!(kinds.iter().all(|k| *k > 0), "{engine:?}: {kinds:?}");
    }
}
