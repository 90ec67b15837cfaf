//! Several tenants on one switch: who gets which frames, and what they can do to one another. Packets are counted to the last
//! one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use hopwright_dataplane::{
    CloneSession, EngineKind, EntrySpec, FrameSize, Gap, Limits, MAX_TENANTS, Packet, Pool, Port, PortInfo, PortSet,
    Rate, Replica, Rule, Stream, Switch, SwitchBuilder, SwitchError, Tenant, TenantPorts, TenantSpec, Trigger,
    VirtualDataPlane, Worker,
};
use hopwright_driver::{Options, compile_text};
use hopwright_ir::Pipeline;

mod generators;
mod load;

const BOTH: [EngineKind; 2] = [EngineKind::Interp, EngineKind::Jit];
const CPU: u32 = 510;

/// The first byte behind the Ethernet header selects what becomes of a packet: by default `forward`, which also writes the source
/// address; the others are expensive.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header wish_t { bit<8> what; bit<8> number; }
struct headers_t { ethernet_t ethernet; wish_t wish; }
struct note_t { bit<48> dst; bit<9> port; }
struct meta_t { @field_list(1) bit<8> passes; bit<1> again; }
parser Parse(packet_in b, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); b.extract(h.wish); transition accept; }
}
control Nothing(inout headers_t h, inout meta_t m) { apply { } }
control Receive(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action forward(bit<9> port, bit<48> mark) { s.egress_spec = port; h.ethernet.src = mark; }
    action recirculate() { m.again = 1; }
    action resubmit() { resubmit_preserving_field_list(1); }
    action multicast() { s.mcast_grp = 1; }
    action clone_all() { clone(CloneType.I2E, 1); s.mcast_grp = 1; m.again = 1; }
    action punt() { s.egress_spec = 510; }
    action report(bit<9> port) { digest<note_t>(1, {h.ethernet.dst, s.ingress_port}); s.egress_spec = port; }
    table wishes {
        key = { h.wish.what: exact; }
        actions = { forward; recirculate; resubmit; multicast; clone_all; punt; report; }
        default_action = forward(0, 0);
    }
    apply { wishes.apply(); }
}
control Send(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { if (m.again == 1) { recirculate_preserving_field_list(1); } }
}
control Deparse(packet_out b, in headers_t h) { apply { b.emit(h.ethernet); b.emit(h.wish); } }
V1Switch(Parse(), Nothing(), Receive(), Send(), Nothing(), Deparse()) main;
"#;

static PIPELINE: LazyLock<Arc<Pipeline>> = LazyLock::new(|| {
    let compiled = compile_text("tenants.p4", PROGRAM, &Options::default(), true);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
});

const FORWARD: u8 = 0;
const RECIRCULATE: u8 = 1;
const RESUBMIT: u8 = 2;
const MULTICAST: u8 = 3;
const CLONE: u8 = 4;
const PUNT: u8 = 5;
const DIGEST: u8 = 6;

/// A program that forwards to a port and marks what it forwards.
fn program(engine: EngineKind, port: u32, mark: u8) -> Arc<VirtualDataPlane> {
    let vdp = VirtualDataPlane::new(PIPELINE.clone(), engine).unwrap();
    let control = vdp.control();
    control.set_default("wishes", "forward", &[port.into(), u64::from(mark).into()]).unwrap();
    for (what, action) in [
        (RECIRCULATE, "recirculate"),
        (RESUBMIT, "resubmit"),
        (MULTICAST, "multicast"),
        (CLONE, "clone_all"),
        (PUNT, "punt"),
    ] {
        control.insert(&EntrySpec::new("wishes", action).exact(what)).unwrap();
    }
    control.insert(&EntrySpec::new("wishes", "report").exact(DIGEST).arg(port)).unwrap();
    control.set_multicast_group(1, Some((0..100).map(|rid| Replica { rid, port: port as u16 }).collect())).unwrap();
    control.set_clone_session(1, Some(CloneSession { port: None, group: Some(1), truncate: None })).unwrap();
    vdp
}

/// A device in memory.
#[derive(Clone, Default)]
struct Wire {
    offered: Arc<Mutex<VecDeque<Vec<u8>>>>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Sent packets are only counted, by their mark.
    counts: Option<Arc<[AtomicU64; 256]>>,
    down: Arc<AtomicBool>,
}

impl Wire {
    fn counting() -> Wire {
        Wire { counts: Some(Arc::new(std::array::from_fn(|_| AtomicU64::new(0)))), ..Wire::default() }
    }

    fn offer(&self, frame: &[u8]) {
        self.offered.lock().unwrap().push_back(frame.to_vec());
    }

    fn waiting(&self) -> usize {
        self.offered.lock().unwrap().len()
    }

    /// Marks of what was sent.
    fn marks(&self) -> Vec<u8> {
        std::mem::take(&mut *self.sent.lock().unwrap()).iter().map(|frame| frame[11]).collect()
    }

    fn count(&self, mark: u8) -> u64 {
        self.counts.as_ref().unwrap()[usize::from(mark)].load(Ordering::SeqCst)
    }
}

impl Port for Wire {
    fn name(&self) -> &str {
        "wire"
    }

    fn info(&self) -> PortInfo {
        PortInfo { up: Some(!self.down.load(Ordering::SeqCst)), ..PortInfo::default() }
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut offered = self.offered.lock().unwrap();
        let mut count = 0;
        while count < limit
            && let Some(mut packet) = if offered.is_empty() { None } else { pool.take() }
        {
            assert!(packet.fill(&offered.pop_front().unwrap()));
            batch.push(packet);
            count += 1;
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let count = packets.len();
        for packet in packets.drain(..) {
            match &self.counts {
                Some(counts) => {
                    counts[usize::from(packet.bytes()[11])].fetch_add(1, Ordering::SeqCst);
                }
                None => self.sent.lock().unwrap().push(packet.bytes().to_vec()),
            }
            pool.give(packet);
        }
        count
    }
}

fn mac(last: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, last]
}

const BROADCAST: [u8; 6] = [0xff; 6];

fn frame(dst: [u8; 6], vlan: Option<u16>, what: u8) -> Vec<u8> {
    let mut bytes = [dst, mac(0xee)].concat();
    if let Some(vlan) = vlan {
        bytes.extend([0x81, 0x00]);
        bytes.extend(vlan.to_be_bytes());
    }
    bytes.extend([0x08, 0x00, what, 0]);
    bytes.resize(64, 0);
    bytes
}

fn by_mac(last: u8) -> Rule {
    Rule { mac: Some(mac(last)), ..Rule::default() }
}

/// A switch without tenants, and its worker.
fn switch<const PORTS: usize>(wires: &[Wire; PORTS]) -> (Arc<Switch>, Worker) {
    let mut builder = SwitchBuilder::without_tenants().pool(4096, FrameSize { headroom: 64, data: 256 });
    for (number, wire) in wires.iter().enumerate() {
        builder = builder.port(number as u32, Box::new(wire.clone()));
    }
    builder.build().unwrap()
}

/// A tenant that sends to a port of the switch with its number as mark.
fn tenant(engine: EngineKind, number: u8, rules: Vec<Rule>) -> TenantSpec {
    let mut spec = TenantSpec::new(format!("t{number}"), program(engine, 1, number));
    spec.cpu_port = Some(CPU);
    spec.rules = rules;
    spec
}

/// Every packet that came is accounted for, by the switch and by each tenant.
fn check_ledgers(switch: &Switch, tenants: &[Arc<Tenant>]) {
    let stats = switch.stats();
    assert_eq!(stats.packets_in(), stats.packets_out(), "{stats:?}");
    for tenant in tenants {
        let stats = tenant.stats();
        assert_eq!(stats.packets_in(), stats.packets_out(), "{}: {stats:?}", tenant.name());
    }
}

fn settle(worker: &mut Worker) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while worker.step() > 0 || worker.has_waiting() {
        assert!(Instant::now() < deadline, "packets still wait");
    }
}

#[test]
fn tenants_get_frames_by_port_vlan_and_address() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::default(), Wire::default()];
        let (switch, mut worker) = switch(&wires);
        let vlan = |vlan| Rule { vlan: Some(vlan), ..Rule::default() };
        let specs = [
            tenant(engine, 1, vec![by_mac(1), by_mac(11)]),
            tenant(engine, 2, vec![vlan(20), Rule { mac: Some(mac(1)), ..vlan(21) }]),
            tenant(engine, 3, vec![Rule { port: Some(2), ..Rule::default() }, vlan(0)]),
        ];
        let tenants = specs.map(|spec| switch.add_tenant(&spec).unwrap());
        let cases = [
            (0, frame(mac(1), None, FORWARD), Some(1)),
            (0, frame(mac(11), Some(7), FORWARD), Some(1)),
            (0, frame(mac(1), Some(20), FORWARD), Some(1)),
            (0, frame(mac(1), Some(21), FORWARD), Some(2)),
            (0, frame(mac(9), Some(20), FORWARD), Some(2)),
            (0, frame(mac(9), Some(0x6000 + 20), FORWARD), Some(2)),
            (0, frame(mac(9), None, FORWARD), Some(3)),
            (0, frame(mac(9), Some(0xe000), FORWARD), Some(3)),
            (0, frame(mac(9), Some(22), FORWARD), None),
            (2, frame(mac(9), Some(22), FORWARD), Some(3)),
            (2, frame(mac(9), Some(20), FORWARD), Some(2)),
            (2, frame(mac(1), Some(22), FORWARD), Some(1)),
        ];
        for (port, bytes, expected) in &cases {
            wires[*port].offer(bytes);
            settle(&mut worker);
            assert_eq!(wires[1].marks(), Vec::from_iter(*expected), "{engine:?}: port {port}, {bytes:?}");
        }
        assert_eq!(switch.stats().no_tenant, 1);
        assert_eq!(tenants.each_ref().map(|t| t.stats().rx_packets), [4, 4, 3]);
        check_ledgers(&switch, &tenants);
        // A frame that is shorter than its header.
        wires[2].offer(&[1, 2, 3]);
        settle(&mut worker);
        assert_eq!(tenants[2].stats().rx_packets, 4);
        check_ledgers(&switch, &tenants);
    }
}

#[test]
fn a_tenant_knows_and_reaches_its_own_ports_alone() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::default(), Wire::default(), Wire::default()];
        let (switch, mut worker) = switch(&wires);
        let numbered = |map: [(u32, u32); 2]| TenantPorts::Numbered(BTreeMap::from(map));
        // Both programs send to their port 1; what they are told to punt they send to 510.
        let specs = [[(7, 0), (1, 3)], [(7, 2), (1, 1)]].map(numbered);
        let mut number = 0;
        let tenants = specs.map(|ports| {
            number += 1;
            let spec = TenantSpec { ports, ..tenant(engine, number, vec![Rule::default()]) };
            switch.add_tenant(&spec).unwrap()
        });
        wires[0].offer(&frame(BROADCAST, None, FORWARD));
        wires[2].offer(&frame(BROADCAST, Some(5), FORWARD));
        wires[2].offer(&frame(BROADCAST, None, PUNT));
        settle(&mut worker);
        assert_eq!((wires[3].marks(), wires[1].marks()), (vec![1], vec![2]));
        assert_eq!(tenants[1].cpu().try_receive().unwrap().ingress_port(), 7);
        assert!(tenants[0].cpu().is_empty());
        let names = |t: &Tenant| t.ports().iter().map(|p| p.number).collect::<Vec<_>>();
        assert_eq!((names(&tenants[0]), names(&tenants[1])), (vec![7, 1], vec![1, 7]));

        // The control plane uses the same numbers, and the other tenant's ports are nowhere.
        tenants[0].injector().transmit(1, &frame(mac(1), None, 0)).unwrap();
        tenants[0].injector().transmit(2, &frame(mac(1), None, 0)).unwrap();
        tenants[0].injector().packet_out(7, &frame(mac(1), None, FORWARD)).unwrap();
        tenants[0].vdp().control().set_default("wishes", "forward", &[2u32.into(), 9u32.into()]).unwrap();
        settle(&mut worker);
        assert_eq!(wires[3].marks().len(), 1, "transmitted");
        assert!(wires[1].marks().is_empty() && wires[2].marks().is_empty());
        assert_eq!(tenants[0].stats().no_such_port, 2);
        check_ledgers(&switch, &tenants);

        // A port that comes back is found again.
        switch.remove_port(3).unwrap();
        tenants[0].vdp().control().set_default("wishes", "forward", &[1u32.into(), 9u32.into()]).unwrap();
        wires[0].offer(&frame(mac(1), None, FORWARD));
        settle(&mut worker);
        assert_eq!(tenants[0].stats().no_such_port, 3);
        switch.add_port(3, Box::new(wires[3].clone())).unwrap();
        wires[0].offer(&frame(mac(1), None, FORWARD));
        settle(&mut worker);
        assert_eq!(wires[3].marks(), [9]);
    }
}

#[test]
fn frames_to_groups_are_copied_to_who_asks() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::default()];
        let (switch, mut worker) = switch(&wires);
        let copied = |number| Rule { copy_groups: true, ..by_mac(number) };
        let tenants = [
            tenant(engine, 1, vec![copied(1)]),
            tenant(engine, 2, vec![copied(2), copied(12)]),
            tenant(engine, 3, vec![Rule { vlan: Some(30), ..copied(3) }]),
            tenant(engine, 4, vec![by_mac(4)]),
        ]
        .map(|spec| switch.add_tenant(&spec).unwrap());
        let mut sent = |bytes: &[u8]| {
            wires[0].offer(bytes);
            settle(&mut worker);
            let mut marks = wires[1].marks();
            marks.sort_unstable();
            marks
        };
        assert_eq!(sent(&frame(BROADCAST, None, FORWARD)), [1, 2], "{engine:?}");
        assert_eq!(sent(&frame([1, 0, 0x5e, 0, 0, 1], Some(30), FORWARD)), [1, 2, 3]);
        assert_eq!(sent(&frame(mac(2), None, FORWARD)), [2]);
        let all = tenant(engine, 5, vec![Rule { copy_groups: true, ..Rule::default() }]);
        let all = switch.add_tenant(&all).unwrap();
        assert_eq!(sent(&frame(BROADCAST, None, FORWARD)), [1, 2, 5]);
        assert_eq!(switch.stats().group_copies, 1 + 2 + 2);
        check_ledgers(&switch, &[&tenants[..], &[all]].concat());
    }
}

#[test]
fn what_is_wrong_with_a_tenant_is_told() {
    let wires = [Wire::default(), Wire::default()];
    let (switch, mut worker) = switch(&wires);
    let spec = |number: u8, rules| tenant(EngineKind::Interp, number, rules);
    switch.add_tenant(&spec(1, vec![by_mac(1), Rule { port: Some(0), vlan: Some(5), ..Rule::default() }])).unwrap();
    let refused = |spec: TenantSpec| switch.add_tenant(&spec).unwrap_err().to_string();
    assert_eq!(refused(spec(1, vec![by_mac(7)])), "there is a tenant `t1` already");
    let taken = Rule { port: Some(0), vlan: Some(5), ..Rule::default() };
    assert_eq!(refused(spec(2, vec![taken])), "tenant `t1` has the rule `port 0, VLAN 5` already");
    assert_eq!(refused(spec(2, vec![by_mac(1)])), "tenant `t1` has the rule `02:00:00:00:00:01` already");
    let vlan = Rule { vlan: Some(4095), ..Rule::default() };
    assert_eq!(
        refused(spec(2, vec![vlan])),
        "4095 is no VLAN id: they go from 1 to 4094, and 0 is for frames without VLAN"
    );
    let ports = |map: &[(u32, u32)]| TenantPorts::Numbered(map.iter().copied().collect());
    let other = Rule { port: Some(1), ..Rule::default() };
    let of_port = TenantSpec { ports: ports(&[(1, 0)]), ..spec(2, vec![other]) };
    assert_eq!(refused(of_port), "a rule is for port 1 of the switch, which the tenant does not have");
    let twice = TenantSpec { ports: ports(&[(1, 0), (2, 0)]), ..spec(2, vec![]) };
    assert_eq!(refused(twice), "port number 0 is given twice");
    let cpu = TenantSpec { ports: ports(&[(CPU, 0)]), ..spec(2, vec![]) };
    assert_eq!(refused(cpu), "port number 510 is given twice");
    let cpu = TenantSpec { cpu_port: Some(1), ..spec(2, vec![]) };
    assert_eq!(refused(cpu), "port number 1 is given twice");
    let beyond = TenantSpec { ports: ports(&[(511, 0)]), ..spec(2, vec![]) };
    assert_eq!(refused(beyond), "511 is no port number: they go from 0 to 510");
    let weight = TenantSpec { limits: Limits { weight: 0, ..Limits::default() }, ..spec(2, vec![]) };
    assert_eq!(refused(weight), "0 is no weight: they go from 1 to 1000");
    assert_eq!(switch.remove_tenant("t2").unwrap_err().to_string(), "there is no tenant `t2`");
    // The same rule for other ports, and a more specific one, are others.
    switch.add_tenant(&TenantSpec { ports: ports(&[(3, 1)]), ..spec(2, vec![Rule::default()]) }).unwrap();
    switch.add_tenant(&spec(3, vec![Rule { vlan: Some(5), ..Rule::default() }])).unwrap();
    let further = TenantSpec { cpu_queue: 1, ..spec(4, vec![]) };
    for number in 4..=MAX_TENANTS {
        switch.add_tenant(&TenantSpec { name: format!("further{number}"), ..further.clone() }).unwrap();
    }
    assert_eq!(refused(spec(99, vec![])), "there are 1024 tenants already");
    wires[0].offer(&frame(mac(1), None, FORWARD));
    settle(&mut worker);
    assert_eq!(wires[1].marks(), [1]);
    assert_eq!(switch.tenants().len(), MAX_TENANTS);
    switch.remove_tenant("t1").unwrap();
    switch.add_tenant(&spec(99, vec![by_mac(1)])).unwrap();
    wires[0].offer(&frame(mac(1), None, FORWARD));
    settle(&mut worker);
    assert_eq!(wires[1].marks(), [99]);
}

#[test]
fn a_switch_with_one_program_takes_more() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::default()];
        let (switch, mut worker) = SwitchBuilder::new(program(engine, 1, 1))
            .port(0, Box::new(wires[0].clone()))
            .port(1, Box::new(wires[1].clone()))
            .cpu_port(CPU)
            .build()
            .unwrap();
        let mut marks = || {
            wires[0].offer(&frame(mac(2), None, FORWARD));
            wires[0].offer(&frame(mac(1), None, FORWARD));
            settle(&mut worker);
            let mut marks = wires[1].marks();
            marks.sort_unstable();
            marks
        };
        assert_eq!(marks(), [1, 1]);
        let second = switch.add_tenant(&tenant(engine, 2, vec![by_mac(2)])).unwrap();
        assert_eq!(marks(), [1, 2], "{engine:?}");
        assert!(!second.stopping());
        switch.remove_tenant("t2").unwrap();
        assert!(second.stopping());
        assert_eq!(marks(), [1, 1]);
        check_ledgers(&switch, &[switch.default_tenant().clone()]);
        // Counts of a tenant that is gone stay in the sum.
        assert_eq!(switch.stats().total.rx_packets, 6);
        assert_eq!(switch.default_tenant().stats().rx_packets, 5);
    }
}

/// A switch that goes takes its tenants along, whether its worker had taken them up or given them up, or not.
#[test]
fn tenants_go_with_their_switch() {
    for (takes_up, removes) in [(false, false), (true, false), (true, true)] {
        let (switch, mut worker) = switch(&[Wire::default(), Wire::default()]);
        let spec = tenant(EngineKind::Interp, 1, vec![by_mac(1)]);
        let red = Arc::downgrade(&switch.add_tenant(&spec).unwrap());
        if takes_up {
            worker.step();
        }
        if removes {
            // The worker does not run, and gives it up in its next round.
            let _ = switch.remove_tenant(&spec.name);
            worker.step();
        }
        drop((switch, worker));
        assert!(red.upgrade().is_none(), "taken up: {takes_up}, removed: {removes}");
    }
}

/// Tenants are added, replaced, limited, paused and removed while others forward: no packet of these is lost.
#[test]
fn life_goes_on_for_the_others() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting()];
        let (switch, mut worker) = switch(&wires);
        let steady = [1, 2].map(|number| switch.add_tenant(&tenant(engine, number, vec![by_mac(number)])).unwrap());
        let running = std::thread::spawn(move || {
            worker.run();
            worker
        });
        let done = Arc::new(AtomicBool::new(false));
        let feeding = {
            let (done, wire, steady) = (done.clone(), wires[0].clone(), steady.clone());
            std::thread::spawn(move || {
                let mut offered = 0;
                let under_way = |tenant: &Arc<Tenant>| {
                    let stats = tenant.stats();
                    stats.packets_in().saturating_sub(stats.packets_out())
                };
                while !done.load(Ordering::SeqCst) {
                    // No more than the worker forwards: what is lost is lost by a change.
                    if wire.waiting() < 64 && steady.iter().all(|tenant| under_way(tenant) < 200) {
                        (0..16).for_each(|n| wire.offer(&frame(mac(1 + n % 3), None, FORWARD)));
                        offered += 16;
                    }
                    std::thread::yield_now();
                }
                offered
            })
        };
        let (mut passed, rounds) = (0, if engine == EngineKind::Jit { 60 } else { 20 });
        for round in 0..rounds {
            let guest = switch.add_tenant(&tenant(engine, 3, vec![by_mac(3)])).unwrap();
            let before = wires[1].count(3);
            while wires[1].count(3) == before {
                std::thread::yield_now();
            }
            guest.replace(program(engine, 1, 4)).unwrap();
            let before = wires[1].count(4);
            while wires[1].count(4) == before {
                std::thread::yield_now();
            }
            guest.set_limits(Limits { weight: 1 + round % 3, ..Limits::default() }).unwrap();
            let other = guest.between_rounds(|| {
                let (before, start) = (wires[1].count(2), Instant::now());
                while wires[1].count(2) == before && start.elapsed() < Duration::from_millis(20) {
                    std::thread::sleep(Duration::from_micros(200));
                }
                wires[1].count(2) - before
            });
            passed += other.unwrap();
            steady[1].replace(program(engine, 1, 2)).unwrap();
            switch.remove_tenant("t3").unwrap();
            let counts = [3, 4].map(|mark| wires[1].count(mark));
            std::thread::yield_now();
            assert_eq!([3, 4].map(|mark| wires[1].count(mark)), counts, "it is gone");
        }
        done.store(true, Ordering::SeqCst);
        let offered: u64 = feeding.join().unwrap();
        // Of each sixteen frames six are the first's and five the second's.
        let all = |tenant: &Tenant, of_sixteen| {
            let stats = tenant.stats();
            stats.rx_packets == offered / 16 * of_sixteen && stats.packets_in() == stats.packets_out()
        };
        while !all(&steady[0], 6) || !all(&steady[1], 5) || wires[0].waiting() > 0 {
            std::thread::yield_now();
        }
        switch.stop();
        running.join().unwrap();
        assert!(passed > 0 || engine == EngineKind::Interp, "the other forwarded during pauses");
        let stats = switch.stats();
        assert_eq!(stats.ports[0].rx_packets, offered);
        check_ledgers(&switch, &steady);
        for (tenant, mark) in steady.iter().zip([1, 2]) {
            let stats = tenant.stats();
            assert_eq!((stats.rx_packets, stats.rx_packets), (stats.tx_packets, wires[1].count(mark)), "{stats:?}");
        }
    }
}

/// One tenant does all it can to the others; none of their packets is lost, and it alone pays.
#[test]
fn a_hostile_tenant_harms_itself() {
    for engine in BOTH {
        for attack in [RECIRCULATE, RESUBMIT, MULTICAST, CLONE, PUNT, DIGEST, FORWARD] {
            let wires = [Wire::default(), Wire::counting()];
            let (switch, mut worker) = switch(&wires);
            let good =
                [1, 2, 3].map(|number| switch.add_tenant(&tenant(engine, number, vec![by_mac(number)])).unwrap());
            let hostile = switch.add_tenant(&tenant(engine, 66, vec![by_mac(66)])).unwrap();
            let deadline = Instant::now() + Duration::from_secs(120);
            let mut offered = 0;
            for _ in 0..12 {
                for number in [1, 2, 3] {
                    (0..20).for_each(|_| wires[0].offer(&frame(mac(number), None, FORWARD)));
                }
                offered += 20;
                // Its packets come in front of, between and behind theirs.
                while [1, 2, 3].iter().any(|mark| wires[1].count(*mark) < offered) {
                    (0..200).for_each(|_| wires[0].offer(&frame(mac(66), None, attack)));
                    let _ = hostile.injector().packet_out(0, &frame(mac(66), None, attack));
                    worker.step();
                    assert!(Instant::now() < deadline, "{engine:?}, {attack}: they do not get through");
                }
            }
            for (tenant, mark) in good.iter().zip([1, 2, 3]) {
                let stats = tenant.stats();
                assert_eq!((stats.rx_packets, stats.tx_packets), (offered, offered), "{engine:?}, {attack}");
                assert_eq!(wires[1].count(mark), offered);
            }
            switch.remove_tenant("t66").unwrap();
            settle(&mut worker);
            check_ledgers(&switch, &good);
            let stats = hostile.stats();
            assert_eq!(stats.packets_in(), stats.packets_out(), "{engine:?}, {attack}: {stats:?}");
            let lost = switch.stats().no_tenant + stats.lane_full;
            assert!(lost > 0 || stats.packets > 0);
            match attack {
                RECIRCULATE | RESUBMIT => assert!(stats.faults > 0, "{stats:?}"),
                MULTICAST | CLONE => assert!(stats.copied > 0, "{stats:?}"),
                PUNT => assert!(stats.punted > 0, "{stats:?}"),
                _ => assert!(stats.tx_packets > 0, "{stats:?}"),
            }
        }
    }
}

#[test]
fn rates_are_enforced_before_the_program_and_for_copies() {
    for engine in BOTH {
        let wires = [Wire::default(), Wire::counting()];
        let (switch, mut worker) = switch(&wires);
        let limits = |packets, bits| Limits { packets, bits, ..Limits::default() };
        let rate = |per_second, burst| Some(Rate { per_second, burst });
        let limited = TenantSpec { limits: limits(rate(1, 10), None), ..tenant(engine, 1, vec![by_mac(1)]) };
        // What a bucket of this many packets lets through, to which one comes each second.
        let begun = Instant::now();
        let burst = |packets: u64, passed: u64| (packets..=packets + 1 + begun.elapsed().as_secs()).contains(&passed);
        let tenants = [limited, tenant(engine, 2, vec![by_mac(2)])].map(|spec| switch.add_tenant(&spec).unwrap());
        let mut offer = |count, what| {
            (0..count).for_each(|n| wires[0].offer(&frame(mac(1 + n % 2), None, what)));
            settle(&mut worker);
        };
        offer(200, FORWARD);
        let stats = tenants[0].stats();
        assert!(burst(10, stats.tx_packets) && stats.tx_packets + stats.policed == 100, "{stats:?}");
        assert_eq!(stats.packets, stats.tx_packets, "the program sees no others");
        assert_eq!(tenants[1].stats().tx_packets, 100);
        assert_eq!(tenants[0].limits().packets, rate(1, 10));

        // Five packets of 64 bytes.
        tenants[0].set_limits(limits(None, rate(1, 5 * 64 * 8))).unwrap();
        let before = tenants[0].stats().tx_packets;
        offer(200, FORWARD);
        assert_eq!(tenants[0].stats().tx_packets - before, 5);
        tenants[0].set_limits(limits(rate(1, 50), None)).unwrap();
        let before = tenants[0].stats().tx_packets;
        offer(2, MULTICAST);
        // The packet itself is one more that was let in.
        assert!(burst(50, tenants[0].stats().tx_packets - before), "{:?}", tenants[0].stats());
        tenants[0].set_limits(Limits::default()).unwrap();
        let before = tenants[0].stats().tx_packets;
        offer(200, FORWARD);
        assert_eq!(tenants[0].stats().tx_packets - before, 100);
        check_ledgers(&switch, &tenants);
        assert!(matches!(
            tenants[0].set_limits(Limits { weight: 1001, ..Limits::default() }),
            Err(SwitchError::Weight(1001))
        ));
    }
}

#[test]
fn a_port_needs_the_addresses_of_its_rules() {
    let wires = [Wire::default(), Wire::default()];
    let (switch, _worker) = switch(&wires);
    let engine = EngineKind::Interp;
    let on_port_0 = TenantPorts::Numbered(BTreeMap::from([(1, 0)]));
    let copied = Rule { copy_groups: true, ..by_mac(2) };
    let everything = Rule { port: Some(1), vlan: Some(9), ..Rule::default() };
    switch.add_tenant(&TenantSpec { ports: on_port_0, ..tenant(engine, 1, vec![by_mac(1), copied]) }).unwrap();
    switch.add_tenant(&tenant(engine, 2, vec![everything, by_mac(3)])).unwrap();
    let addresses = switch.addresses(0);
    assert_eq!(addresses.exact, [mac(1), mac(2), mac(3)].into());
    assert!(addresses.groups && !addresses.every);
    let addresses = switch.addresses(1);
    assert_eq!(addresses.exact, [mac(3)].into());
    assert!(addresses.every && !addresses.groups);
}
