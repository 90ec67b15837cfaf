//! Tenants with more packets than there is time or room for, and several workers.

use super::*;

#[test]
fn a_paused_tenant_keeps_the_packets_it_may_hold() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting()];
        let (switch, mut worker) = switch(&wires);
        let quota = Limits { frames: Some(40), ..Limits::default() };
        let held = TenantSpec { limits: quota, ..tenant(engine, 1, vec![by_mac(1)]) };
        let tenants = [held, tenant(engine, 2, vec![by_mac(2)])].map(|spec| switch.add_tenant(&spec).unwrap());
        let running = std::thread::spawn(move || worker.run());
        // The worker runs when it has forwarded something.
        wires[0].offer(&frame(mac(2), None, FORWARD));
        while wires[1].count(2) == 0 {
            std::thread::yield_now();
        }
        let work = || {
            (0..100).for_each(|_| wires[0].offer(&frame(mac(1), None, FORWARD)));
            wires[0].offer(&frame(mac(2), None, FORWARD));
            while wires[1].count(2) < 2 {
                std::thread::yield_now();
            }
            wires[1].count(1)
        };
        assert_eq!(tenants[0].between_rounds(work).unwrap(), 0, "{engine:?}");
        while tenants[0].stats().packets_in() > tenants[0].stats().packets_out() {
            std::thread::yield_now();
        }
        switch.stop();
        running.join().unwrap();
        assert_eq!((wires[1].count(1), tenants[0].stats().lane_full), (40, 60));
        check_ledgers(&switch, &tenants);
    }
}

/// What there is no room for waits in a device that is the tenant's alone, and nothing is lost.
#[test]
fn packets_of_a_device_of_its_own_wait_there() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting(), Wire::default()];
        let (switch, mut worker) = switch(&wires);
        let quota = Limits { frames: Some(40), ..Limits::default() };
        let of_port = |port| vec![Rule { port: Some(port), ..Rule::default() }];
        let held = TenantSpec { limits: quota, ..tenant(engine, 1, of_port(0)) };
        let tenants = [held, tenant(engine, 2, of_port(2))].map(|spec| switch.add_tenant(&spec).unwrap());
        let running = std::thread::spawn(move || worker.run());
        wires[2].offer(&frame(mac(2), None, FORWARD));
        while wires[1].count(2) == 0 {
            std::thread::yield_now();
        }
        let work = || {
            (0..100).for_each(|_| wires[0].offer(&frame(mac(1), None, FORWARD)));
            while wires[0].waiting() > 60 {
                std::thread::yield_now();
            }
            wires[2].offer(&frame(mac(2), None, FORWARD));
            while wires[1].count(2) < 2 {
                std::thread::yield_now();
            }
            (wires[0].waiting(), wires[1].count(1))
        };
        assert_eq!(tenants[0].between_rounds(work).unwrap(), (60, 0), "{engine:?}");
        while wires[1].count(1) < 100 {
            std::thread::yield_now();
        }
        switch.stop();
        running.join().unwrap();
        assert_eq!(tenants[0].stats().lane_full, 0);
        check_ledgers(&switch, &tenants);
    }
}

/// A worker that cannot keep up with several tenants of one device leaves packets in it.
#[test]
fn packets_of_a_shared_device_wait_there_if_many_tenants_are_behind() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::default()];
        let (switch, mut worker) = switch(&wires);
        let limits = Limits { passes: Some(20), ..Limits::default() };
        let tenants = [1, 2, 3].map(|number| {
            let spec = TenantSpec { limits, ..tenant(engine, number, vec![by_mac(number)]) };
            switch.add_tenant(&spec).unwrap()
        });
        for _ in 0..2000 {
            (1..=3).for_each(|number| wires[0].offer(&frame(mac(number), None, RECIRCULATE)));
        }
        settle(&mut worker);
        for tenant in &tenants {
            let stats = tenant.stats();
            assert_eq!((stats.rx_packets, stats.lane_full, stats.faults), (2000, 0, 2000), "{engine:?}");
        }
        check_ledgers(&switch, &tenants);
    }
}

/// A batch of expensive packets ends early; its packets stay in order, and each is accounted for.
#[test]
fn a_batch_that_takes_too_long_is_continued_later() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::default()];
        let (switch, mut worker) = switch(&wires);
        let limits = Limits { passes: Some(300), ..Limits::default() };
        let tenants = [1, 2].map(|number| {
            let spec = TenantSpec { limits, ..tenant(engine, number, vec![by_mac(number)]) };
            switch.add_tenant(&spec).unwrap()
        });
        for round in 0..20u8 {
            (0..100).for_each(|_| wires[0].offer(&frame(mac(1), None, FORWARD)));
            // Cheap packets first: the batch behind them is large.
            for number in 0..100u8 {
                let mut frame = frame(mac(1), None, if number % 2 == 0 { RECIRCULATE } else { FORWARD });
                frame.extend([round, number]);
                wires[0].offer(&frame);
            }
            settle(&mut worker);
        }
        let sent = wires[1].sent.lock().unwrap().clone();
        let marked: Vec<(u8, u8)> =
            sent.iter().filter(|f| f.len() > 64).map(|f| (f[f.len() - 2], f[f.len() - 1])).collect();
        let expected: Vec<(u8, u8)> = (0..20).flat_map(|round| (0..50).map(move |n| (round, 2 * n + 1))).collect();
        assert_eq!(marked, expected, "{engine:?}");
        assert_eq!(tenants[0].stats().faults, 20 * 50);
        check_ledgers(&switch, &tenants);
    }
}

#[test]
fn passes_of_a_packet_are_limited_by_tenant() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting()];
        let (switch, mut worker) = switch(&wires);
        let limits = Limits { passes: Some(60), ..Limits::default() };
        let few = TenantSpec { limits, ..tenant(engine, 1, vec![by_mac(1)]) };
        let tenants = [few, tenant(engine, 2, vec![by_mac(2)])].map(|spec| switch.add_tenant(&spec).unwrap());
        let mut offer = || {
            [1, 2].into_iter().for_each(|number| wires[0].offer(&frame(mac(number), None, MULTICAST)));
            settle(&mut worker);
        };
        // A hundred copies: what was made before the limit is sent.
        offer();
        assert!((50..100).contains(&tenants[0].stats().tx_packets), "{engine:?}: {:?}", tenants[0].stats());
        assert_eq!(tenants[1].stats().tx_packets, 100);
        tenants[0].replace(program(engine, 1, 1)).unwrap();
        let before = tenants[0].stats().tx_packets;
        offer();
        assert!(tenants[0].stats().tx_packets < before + 100, "a new program is limited, too");
        tenants[0].set_limits(Limits::default()).unwrap();
        let before = tenants[0].stats().tx_packets;
        offer();
        assert_eq!(tenants[0].stats().tx_packets, before + 100);
        check_ledgers(&switch, &tenants);
    }
}

/// Several workers share a tenant's rate, and take up and give up tenants each at its time.
#[test]
fn several_workers_share_tenants() {
    for engine in BOTH {
        let frames = || Pool::new(2048, FrameSize { headroom: 64, data: 256 }).unwrap();
        let wires: [[Wire; 2]; 2] = std::array::from_fn(|_| [Wire::default(), Wire::counting()]);
        let port = |number: usize| -> Vec<Box<dyn Port>> {
            wires.iter().map(|of_worker| Box::new(of_worker[number].clone()) as Box<dyn Port>).collect()
        };
        let (switch, workers) = SwitchBuilder::without_tenants()
            .pools(vec![frames(), frames()])
            .ports(0, port(0))
            .ports(1, port(1))
            .build_workers()
            .unwrap();
        let begun = Instant::now();
        let limits = Limits { packets: Some(Rate { per_second: 1, burst: 50 }), ..Limits::default() };
        let limited = TenantSpec { limits, ..tenant(engine, 1, vec![by_mac(1)]) };
        let tenants = [limited, tenant(engine, 2, vec![by_mac(2)])].map(|spec| switch.add_tenant(&spec).unwrap());
        let running: Vec<_> = workers.into_iter().map(|mut worker| std::thread::spawn(move || worker.run())).collect();
        for wire in &wires {
            (0..200).for_each(|n| wire[0].offer(&frame(mac(1 + n % 2), None, FORWARD)));
        }
        let stats = |tenant: &Tenant| (tenant.stats().rx_packets, tenant.stats().packets_out());
        while tenants.iter().any(|tenant| stats(tenant) != (200, 200)) {
            std::thread::yield_now();
        }
        let passed = tenants[0].stats().tx_packets;
        assert!((50..=51 + begun.elapsed().as_secs()).contains(&passed), "{engine:?}: {passed}");
        assert_eq!(tenants[1].stats().tx_packets, 200);
        assert!(tenants[1].stats().workers.iter().all(|worker| worker.packets == 100));
        switch.remove_tenant("t1").unwrap();
        for wire in &wires {
            wire[0].offer(&frame(mac(1), None, FORWARD));
        }
        while switch.stats().no_tenant < 2 {
            std::thread::yield_now();
        }
        switch.stop();
        running.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(switch.stats().total.rx_packets, 400);
        check_ledgers(&switch, &tenants);
    }
}

/// What a worker has taken in when the switch stops goes through the tenants' programs.
#[test]
fn packets_that_wait_for_their_tenants_turn_leave_when_the_switch_stops() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting()];
        let (switch, mut worker) = switch(&wires);
        let limits = Limits { passes: Some(300), ..Limits::default() };
        let tenants = [1, 2].map(|number| {
            let spec = TenantSpec { limits, ..tenant(engine, number, vec![by_mac(number)]) };
            switch.add_tenant(&spec).unwrap()
        });
        // Expensive packets in front, so that the others wait.
        for number in 0..200 {
            let what = if number < 100 { RECIRCULATE } else { FORWARD };
            wires[0].offer(&frame(mac(1 + number % 2), None, what));
        }
        worker.step();
        switch.stop();
        worker.run();
        for tenant in &tenants {
            let stats = tenant.stats();
            assert_eq!((stats.faults, stats.tx_packets, stats.lane_full), (50, 50, 0), "{engine:?}: {stats:?}");
        }
        check_ledgers(&switch, &tenants);
    }
}
