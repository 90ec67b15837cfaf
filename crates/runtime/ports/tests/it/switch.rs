//! A whole switch on virtual devices: machine code between packet sockets, a worker that sleeps and wakes.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::builder::*;
use crate::devices::{PATIENCE, ip, receive_from, with_devices};
use hopwright_dataplane::{EngineKind, EntrySpec, FrameSize, Pool, Port, SwitchBuilder, VirtualDataPlane};
use hopwright_ir::*;
use hopwright_ports::{AfPacket, Filter, UdpSockets};

/// Sends to the port that the table says for the ingress port.
fn program() -> Arc<Pipeline> {
    let mut p = pipeline();
    let drop = send_to(&p, 511);
    let drop = action(&mut p, "drop", &[], vec![drop]);
    let port = Expr { kind: ExprKind::Param(0), ty: Type::Bits(9), span: span() };
    let body = vec![assign(p.standard.egress_spec, port)];
    let send = action(&mut p, "send", &[("port", 9)], body);
    let ingress_port = p.standard.ingress_port;
    let t = table(&mut p, "by_port", vec![(ingress_port, MatchKind::Exact)], &[drop, send], drop);
    p.ingress.body = vec![apply(t)];
    Arc::new(p)
}

fn receive(port: &mut AfPacket, pool: &mut Pool, count: usize) -> usize {
    let deadline = Instant::now() + PATIENCE;
    let mut got = 0;
    let mut batch = Vec::with_capacity(256);
    while got < count && Instant::now() < deadline {
        got += port.receive(pool, &mut batch, 256);
        batch.drain(..).for_each(|p| pool.give(p));
        std::thread::yield_now();
    }
    got
}

#[test]
fn packets_pass_through_and_the_worker_wakes_and_stops() {
    with_devices(|| {
        ip("link add name vc type veth peer name vd");
        ip("link set vc mtu 9000 up");
        ip("link set vd mtu 9000 up");
        let vdp = VirtualDataPlane::new(program(), EngineKind::Jit).unwrap();
        vdp.control().insert(&EntrySpec::new("by_port", "send").exact(1u32).arg(2u32)).unwrap();
        let port = |device| Box::new(AfPacket::open(device, None).unwrap());
        let (switch, mut worker) =
            SwitchBuilder::new(vdp).port(1, port("vb")).port(2, port("vc")).cpu_port(510).build().unwrap();
        let moving = std::thread::spawn(move || worker.run());

        let mut pool = Pool::new(512, FrameSize::JUMBO).unwrap();
        let mut source = AfPacket::open("va", None).unwrap();
        let mut sink = AfPacket::open("vd", None).unwrap();
        for round in 0..8 {
            // Long enough for the worker to fall asleep.
            std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 30 } else { 0 }));
            let mut batch = (0..200).map(|i| pool.take_filled(&[i; 500]).unwrap()).collect();
            assert_eq!(source.transmit(&mut pool, &mut batch), 200);
            assert_eq!(receive(&mut sink, &mut pool, 200), 200);
        }
        let mut woken = 0;
        let mut before: Option<Instant> = None;
        // A worker that nothing wakes looks every 50 ms. Two packets do not both pass in less, even if this thread sleeps for
        // longer than it wants.
        let mut is_woken = || {
            std::thread::sleep(Duration::from_millis(20));
            let last = before.replace(Instant::now());
            switch.default_tenant().injector().transmit(2, &[7; 100]).unwrap();
            assert_eq!(receive(&mut sink, &mut pool, 1), 1);
            woken += 1;
            last.is_some_and(|last| last.elapsed() < Duration::from_millis(45))
        };
        // One of many: others may use the machine.
        assert!((0..500).any(|_| is_woken()), "the worker is not woken");
        // Packets are counted after they have left.
        let counts = || {
            let stats = switch.stats();
            (stats.ports[0].rx_packets, stats.ports[1].tx_packets)
        };
        let begin = Instant::now();
        while counts() != (1600, 1600 + woken) && begin.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        assert_eq!(counts(), (1600, 1600 + woken));
        let stats = switch.stats();
        assert!(stats.total.ns_per_packet().is_some_and(|ns| ns > 0.0));
        switch.stop();
        moving.join().unwrap();
    });
}

/// What a router takes, the kernel neither answers nor delivers; the rest of the host works as ever.
#[test]
fn an_address_with_a_socket_is_the_routers_alone() {
    with_devices(|| {
        // The other end of the pair moves to another host.
        ip("link add name vc type veth peer name vd");
        let (to_host, at_host) = std::sync::mpsc::channel();
        let (to_router, at_router) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // SAFETY: only this thread's network namespace changes.
                assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
                // SAFETY: plain system call.
                to_host.send(unsafe { libc::gettid() }).unwrap();
                at_router.recv().unwrap();
                ip("addr add 192.0.2.2/24 dev vd");
                ip("link set vd up");
                let peer = UdpSocket::bind("192.0.2.2:0").unwrap();
                peer.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                // Ours: no answer. Twice, because an answer to the first shows at the second.
                peer.connect("192.0.2.1:30042").unwrap();
                for _ in 0..2 {
                    let _ = peer.send(b"for the router").unwrap();
                    let kind = receive_from(&peer, &mut [0; 64]).unwrap_err().kind();
                    assert_eq!(kind, std::io::ErrorKind::WouldBlock);
                }
                peer.set_read_timeout(Some(PATIENCE)).unwrap();
                // Not ours: the kernel answers.
                peer.connect("192.0.2.1:30043").unwrap();
                peer.send(b"for nobody").unwrap();
                let kind = receive_from(&peer, &mut [0; 64]).unwrap_err().kind();
                assert_eq!(kind, std::io::ErrorKind::ConnectionRefused);
            });
            let host = at_host.recv().unwrap();
            ip(&format!("link set vd netns {host}"));
            ip("addr add 192.0.2.1/24 dev vc");
            ip("link set vc up");
            let ours = "192.0.2.1:30042".parse::<std::net::SocketAddr>().unwrap();
            let sockets = UdpSockets::new().unwrap();
            sockets.bind(ours).unwrap();
            let filter = Filter::udp_destinations(&[(ours.ip(), ours.port())]).unwrap();
            let mut router = AfPacket::open("vc", Some(&filter)).unwrap();
            to_router.send(()).unwrap();
            let mut pool = Pool::new(64, FrameSize::JUMBO).unwrap();
            assert_eq!(receive(&mut router, &mut pool, 2), 2);
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(router.receive(&mut pool, &mut Vec::with_capacity(8), 8), 0, "only what is ours");
        });
    });
}
