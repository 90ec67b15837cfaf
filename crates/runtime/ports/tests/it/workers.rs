//! Several workers: what comes out and what is counted does not depend on how many there are, nor on the batch size.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::builder::*;
use crate::devices::{PATIENCE, ip, with_devices};
use hopwright_dataplane::{
    Count, EngineKind, EntrySpec, FrameSize, Pool, Port, Replica, SwitchBuilder, VirtualDataPlane,
};
use hopwright_ir::*;
use hopwright_ports::{AfPacket, FrameMatch, MemoryPort, Opener, PortChoice, Wanted, XdpOptions};

const B8: Type = Type::Bits(8);

/// Reads a byte `a`, counts by it, and sends to the port that the table says, or to a multicast group.
fn program(extra: Option<ExternKind>) -> Pipeline {
    let mut p = pipeline();
    let h = header(&mut p, "h", &[("a", B8)]);
    p.parser.states[0].body = vec![extract(h)];
    p.deparser.body = vec![emit(h)];
    let a = field(&p, h, 0);
    let seen = object(&mut p, "seen", ExternKind::Counter { size: 16, unit: Unit::Both });
    if let Some(kind) = extra {
        object(&mut p, "extra", kind);
    }
    let drop = send_to(&p, 511);
    let drop = action(&mut p, "drop", &[], vec![drop]);
    let port = Expr { kind: ExprKind::Param(0), ty: Type::Bits(9), span: span() };
    let body = vec![assign(p.standard.egress_spec, port)];
    let send = action(&mut p, "send", &[("port", 9)], body);
    let body = vec![assign(p.standard.mcast_grp, konst(1, 16))];
    let flood = action(&mut p, "flood", &[], body);
    let t = table(&mut p, "by_a", vec![(a, MatchKind::Exact)], &[drop, send, flood], drop);
    p.ingress.body = vec![call(ExternFn::CounterCount(seen), vec![ExternArg::In(read(&p, a))]), apply(t)];
    p
}

fn data_plane() -> Arc<VirtualDataPlane> {
    let vdp = VirtualDataPlane::new(Arc::new(program(None)), EngineKind::Jit).unwrap();
    for a in 0..8u32 {
        vdp.control().insert(&EntrySpec::new("by_a", "send").exact(a).arg(a % 3)).unwrap();
    }
    vdp.control().insert(&EntrySpec::new("by_a", "flood").exact(8u32)).unwrap();
    vdp.control().set_multicast_group(1, Some((0..3).map(|port| Replica { port, rid: port }).collect())).unwrap();
    vdp
}

fn pools(workers: usize) -> Vec<Pool> {
    (0..workers).map(|_| Pool::new(600, FrameSize { headroom: 64, data: 256 }).unwrap()).collect()
}

/// Sends packets through a switch in memory. Returns what left each port, in order of content, and the counts.
fn run(packets: &[Vec<u8>], workers: usize, batch: usize) -> (BTreeMap<u32, Vec<Vec<u8>>>, Vec<Count>) {
    let vdp = data_plane();
    let mut builder = SwitchBuilder::new(vdp.clone()).batch(batch).pools(pools(workers));
    let mut wires = Vec::new();
    for number in 0..3 {
        let (ports, ends): (Vec<_>, Vec<_>) = (0..workers).map(|w| MemoryPort::new(format!("{number}/{w}"))).unzip();
        builder = builder.ports(number, ports.into_iter().map(|p| Box::new(p) as Box<dyn Port>).collect());
        wires.push(ends);
    }
    for (i, packet) in packets.iter().enumerate() {
        wires[i % 3][i / 3 % workers].send(packet.clone());
    }
    wires.iter().flatten().for_each(|wire| wire.close());
    let (switch, all) = builder.build_workers().unwrap();
    assert_eq!(all.len(), workers);
    std::thread::scope(|scope| {
        for mut worker in all {
            scope.spawn(move || worker.run());
        }
    });
    let stats = switch.stats();
    assert_eq!(stats.total.packets, packets.len() as u64);
    assert_eq!(stats.total.workers.len(), workers);
    assert!(stats.total.workers.iter().all(|w| w.packets > 0), "every worker worked");
    assert_eq!(stats.packets_in(), stats.packets_out());
    let out = (0..3).map(|number| {
        let mut sent: Vec<_> = wires[number as usize].iter().flat_map(|wire| wire.receive_all()).collect();
        sent.sort();
        (number, sent)
    });
    (out.collect(), vdp.control().counter("seen").map(|c| c.read_all()).unwrap())
}

#[test]
fn results_depend_neither_on_the_number_of_workers_nor_on_the_batch_size() {
    let packets: Vec<Vec<u8>> = (0..3000u32)
        .map(|i| {
            let mut bytes = vec![(i * 7 % 10) as u8];
            bytes.extend(i.to_be_bytes());
            bytes.extend(vec![1; (i % 200) as usize]);
            bytes
        })
        .collect();
    let (out, counts) = run(&packets, 1, 256);
    assert_eq!(out.values().map(Vec::len).sum::<usize>(), 2400 + 3 * 300, "one of ten is dropped, one goes everywhere");
    assert_eq!(counts.iter().map(|c| c.packets).sum::<u64>(), 3000);
    for batch in 1..=256 {
        let workers = 1 + batch % 3;
        assert!(run(&packets, workers, batch) == (out.clone(), counts.clone()), "{workers} workers, {batch}");
    }
}

#[test]
fn state_that_workers_would_corrupt_is_refused() {
    for kind in [
        ExternKind::Register { size: 2, ty: Type::Bits(80) },
        ExternKind::DirectCounter { table: Some(TableId(0)), unit: Unit::Both },
        ExternKind::Meter { size: 2, unit: Unit::Bytes },
    ] {
        let direct = matches!(kind, ExternKind::DirectCounter { .. });
        let mut p = program(Some(kind));
        let extra = p.extern_by_name("extra").unwrap();
        if direct {
            p.tables[0].direct_counter = Some(extra);
        }
        let vdp = VirtualDataPlane::new(Arc::new(p), EngineKind::Jit).unwrap();
        let error = SwitchBuilder::new(vdp.clone()).pools(pools(2)).build_workers().unwrap_err().to_string();
        assert!(error.contains("`extra`") && error.contains("one worker"), "{error}");
        SwitchBuilder::new(vdp).pools(pools(1)).build_workers().unwrap();
    }
    // Unless the program says that it does not mind.
    for (width, good) in [(64, true), (65, false)] {
        let mut p = program(Some(ExternKind::Register { size: 2, ty: Type::Bits(width) }));
        let extra = p.extern_by_name("extra").unwrap();
        p.externs[extra.index()].concurrent = true;
        let vdp = VirtualDataPlane::new(Arc::new(p), EngineKind::Jit).unwrap();
        assert_eq!(SwitchBuilder::new(vdp).pools(pools(2)).build_workers().is_ok(), good, "{width} bits");
    }
    let one_port = SwitchBuilder::new(data_plane()).pools(pools(2)).port(0, Box::new(MemoryPort::new("m").0));
    let error = one_port.build_workers().unwrap_err().to_string();
    assert_eq!(error, "1 ports are given for 2 workers");
}

/// Ethernet, IPv4, UDP from one of some ports, and a number.
fn datagram(flow: u16, number: u32) -> Vec<u8> {
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 8, 0, 0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0];
    f.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    f.extend((4000 + flow).to_be_bytes());
    f.extend([0x75, 0x5a, 0, 12, 0, 0]);
    f.extend(number.to_be_bytes());
    f.resize(60, 0);
    f
}

#[test]
fn a_devices_packets_are_spread_over_workers_each_once_and_flows_in_order() {
    with_devices(|| {
        // Devices of two queues, so that AF_XDP has one for each worker.
        ip("link del va");
        ip("link add name va numtxqueues 2 numrxqueues 2 type veth peer name vb numtxqueues 2 numrxqueues 2");
        ip("link set va mtu 3000 address 02:00:00:00:00:0a up");
        ip("link set vb mtu 3000 address 02:00:00:00:00:0b up");
        for choice in [PortChoice::AfPacket, PortChoice::AfXdp] {
            let wanted = Wanted {
                choice,
                sockets: None,
                urgent: None,
                fill_checksums: false,
                mtu: 3000,
                headroom: 0,
                devices: 1,
                workers: 2,
                flows: None,
                options: XdpOptions::default(),
                memory: &[],
            };
            let (opener, mut pools) = Opener::new(&wanted).unwrap();
            let mut opened = opener.open("vb", &FrameMatch::Everything).unwrap();
            assert_eq!(opened.ports.len(), 2, "{}", opened.how);
            let mut batch = Vec::with_capacity(256);
            for (port, pool) in opened.ports.iter_mut().zip(&mut pools) {
                port.receive(pool, &mut batch, 0);
            }
            let mut source = AfPacket::open("va", None).unwrap();
            let mut pool = Pool::new(512, FrameSize::JUMBO).unwrap();
            let mut got: [Vec<Vec<u8>>; 2] = Default::default();
            let take = |got: &mut [Vec<Vec<u8>>; 2], ports: &mut [Box<dyn Port>], pools: &mut [Pool]| {
                let mut batch = Vec::with_capacity(256);
                for ((port, pool), got) in ports.iter_mut().zip(pools).zip(got) {
                    port.receive(pool, &mut batch, 256);
                    for packet in batch.drain(..) {
                        got.push(packet.bytes().to_vec());
                        pool.give(packet);
                    }
                }
            };
            for round in 0..20u32 {
                let sent: Vec<_> = (0..64u32).map(|i| datagram((i % 32) as u16, round * 64 + i)).collect();
                let mut batch = sent.iter().map(|f| pool.take_filled(f).unwrap()).collect();
                assert_eq!(source.transmit(&mut pool, &mut batch), 64);
                take(&mut got, &mut opened.ports, &mut pools);
            }
            let deadline = Instant::now() + PATIENCE;
            while got[0].len() + got[1].len() < 1280 && Instant::now() < deadline {
                take(&mut got, &mut opened.ports, &mut pools);
            }
            let numbers = |frames: &[Vec<u8>]| -> Vec<u32> {
                frames.iter().map(|f| u32::from_be_bytes(f[42..46].try_into().unwrap())).collect()
            };
            let mut all = [numbers(&got[0]), numbers(&got[1])].concat();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..1280), "{choice}: {} and {}", got[0].len(), got[1].len());
            if choice == PortChoice::AfPacket {
                assert!(got.iter().all(|got| !got.is_empty()), "{choice}: spread");
                for got in &got {
                    let mut last = BTreeMap::new();
                    for frame in got {
                        let number = u32::from_be_bytes(frame[42..46].try_into().unwrap());
                        let before = last.insert(frame[34..36].to_vec(), number);
                        assert!(before.is_none_or(|before| before < number), "{choice}: order");
                    }
                }
            }
            // Both can send.
            for (port, pool) in opened.ports.iter_mut().zip(&mut pools) {
                let mut batch = vec![pool.take_filled(&datagram(1, 1)).unwrap()];
                assert_eq!(port.transmit(pool, &mut batch), 1);
                port.flush();
            }
            let (mut back, mut batch) = (0, Vec::with_capacity(256));
            let deadline = Instant::now() + PATIENCE;
            while back < 2 && Instant::now() < deadline {
                back += source.receive(&mut pool, &mut batch, 256);
                batch.drain(..).for_each(|p| pool.give(p));
            }
            assert_eq!(back, 2, "{choice}");
        }
    });
}
