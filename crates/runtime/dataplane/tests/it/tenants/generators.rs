//! Packet generators of tenants.

use super::*;

/// Packets in batches of ten, as soon as it begins.
fn stream(packets: u32) -> Stream {
    Stream {
        ingress_port: 68,
        packet: frame(mac(9), None, FORWARD).into(),
        numbers: [20, 22],
        trigger: Trigger::Timer { delay: Duration::ZERO, periodic: false },
        batches: packets / 10,
        packets: 10,
        batch_gap: Gap::default(),
        packet_gap: Gap::default(),
        counts: Arc::default(),
    }
}

#[test]
fn generators_of_tenants_make_their_own_packets_within_their_rates() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting()];
        let (switch, mut worker) = switch(&wires);
        let limits = Limits { packets: Some(Rate { per_second: 1, burst: 30 }), ..Limits::default() };
        let limited = TenantSpec { limits, ..tenant(engine, 1, vec![by_mac(1)]) };
        let tenants = [limited, tenant(engine, 2, vec![by_mac(2)])].map(|spec| switch.add_tenant(&spec).unwrap());
        let streams = [stream(400), stream(400)];
        for (tenant, stream) in tenants.iter().zip(&streams) {
            tenant.generate(vec![(7, Some(stream.clone()))]).unwrap();
        }
        // Frames that come meanwhile are not lost.
        (0..50).for_each(|_| wires[0].offer(&frame(mac(2), None, FORWARD)));
        let deadline = Instant::now() + Duration::from_secs(60);
        let all = |stream: &Stream| stream.counts.packets.load(Ordering::Relaxed) == 400;
        while !streams.iter().all(all) || worker.has_waiting() {
            assert!(Instant::now() < deadline, "{streams:?}");
            worker.step();
        }
        settle(&mut worker);
        for stream in &streams {
            let counts = &stream.counts;
            let counts = [&counts.triggers, &counts.batches].map(|n| n.load(Ordering::Relaxed));
            assert_eq!(counts, [1, 40]);
        }
        let [first, second] = [0, 1].map(|at: usize| tenants[at].stats());
        // Made, and not let in. A second may pass, but not many.
        assert!((30..90).contains(&first.tx_packets) && first.tx_packets + first.policed == 400, "{first:?}");
        assert_eq!((first.injected, first.packets), (400, first.tx_packets));
        assert_eq!((second.injected, second.policed, second.tx_packets), (400, 0, 450), "{second:?}");
        assert_eq!([wires[1].count(1), wires[1].count(2)], [first.tx_packets, 450]);
        check_ledgers(&switch, &tenants);

        // A generator of one ends, that of the other goes on; a tenant that is removed makes nothing.
        let trigger = Trigger::Timer { delay: Duration::from_millis(1), periodic: true };
        let endless = Stream { trigger, ..stream(10) };
        tenants.iter().for_each(|tenant| tenant.generate(vec![(7, Some(endless.clone()))]).unwrap());
        tenants[0].generate(vec![(7, None)]).unwrap();
        worker.step();
        let before = [0, 1].map(|at: usize| tenants[at].stats().injected);
        while tenants[1].stats().injected < before[1] + 20 {
            assert!(Instant::now() < deadline, "it makes nothing");
            worker.step();
        }
        assert_eq!(tenants[0].stats().injected, before[0]);
        // A worker that finishes what it has makes no more.
        Worker::finish(std::slice::from_mut(&mut worker), || false);
        let finished = tenants[1].stats();
        Worker::finish(std::slice::from_mut(&mut worker), || false);
        assert_eq!((tenants[1].stats().injected, finished.tx_packets), (finished.injected, finished.injected + 50));
    }
}

#[test]
fn a_port_that_loses_its_link_triggers_generators_until_it_is_told_so() {
    let wires = [Wire::default(), Wire::default()];
    let (switch, mut worker) = switch(&wires);
    let tenant = switch.add_tenant(&tenant(EngineKind::Interp, 1, vec![by_mac(1)])).unwrap();
    let down = Arc::new(PortSet::default());
    let streams = [0..2, 1..2, 0..1]
        .map(|ports| Stream { trigger: Trigger::PortDown { ports, down: down.clone() }, ..stream(10) });
    for (id, stream) in streams.iter().enumerate() {
        tenant.generate(vec![(id as u8, Some(stream.clone()))]).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut made = |up: bool| {
        wires[1].down.store(!up, Ordering::SeqCst);
        while tenant.ports()[1].info.up != Some(up) {
            assert!(Instant::now() < deadline, "nobody looks at the link");
            worker.step();
        }
        for _ in 0..100 {
            worker.step();
        }
        streams.each_ref().map(|stream| stream.counts.packets.load(Ordering::Relaxed))
    };
    assert_eq!([made(true), made(false)], [[0, 0, 0], [10, 10, 0]]);
    assert_eq!([made(true), made(false)], [[10, 10, 0], [10, 10, 0]]);
    down.remove(1);
    assert_eq!([made(true), made(false)], [[10, 10, 0], [20, 20, 0]]);
}
