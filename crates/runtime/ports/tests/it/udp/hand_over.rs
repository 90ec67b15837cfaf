//! One process takes over sockets from another under traffic: here, a router from another one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hopwright_dataplane::Packet;
use hopwright_ports::closing;

use super::*;

/// How often a router takes over.
const TIMES: usize = 20;
/// The most packets that wait to be received, so that each socket's buffer has room for all.
const WAITING: usize = 64;

impl Router {
    /// Takes over from another router, which still runs.
    fn heir(choice: PortChoice, before: &Router) -> Router {
        let mut heir = Router::new(choice);
        heir.sockets.inherit(before.sockets.share().unwrap());
        heir.opener.inherit(before.opener.share().unwrap());
        heir.sockets.bind_all(&own()).unwrap();
        if !heir.opener.is_occupied("r0") {
            heir.open_unread();
        }
        heir
    }

    fn open_unread(&mut self) {
        let keys = own().map(key).to_vec();
        self.raw.extend(self.opener.open("r0", &FrameMatch::UdpDestinations(keys)).unwrap().ports);
    }

    fn ports(&mut self) -> impl Iterator<Item = &mut (dyn Port + 'static)> {
        let udp = self.udp.iter_mut().map(|port| port as &mut dyn Port);
        self.raw.iter_mut().map(|port| &mut **port).chain(udp)
    }

    /// Receives a few datagrams, and adds their numbers.
    fn take_some(&mut self, numbers: &mut Vec<u32>) -> usize {
        let mut batch: Vec<Packet> = Vec::with_capacity(256);
        let mut pool = std::mem::replace(&mut self.pool, Pool::new(1, hopwright_dataplane::FrameSize::JUMBO).unwrap());
        let count = self.ports().map(|port| port.receive(&mut pool, &mut batch, 7)).sum();
        self.pool = pool;
        for packet in batch {
            let number = payload(packet.bytes())[..4].try_into().unwrap();
            numbers.push(u32::from_be_bytes(number));
            self.pool.give(packet);
        }
        count
    }

    /// Stops for an heir, which goes on.
    fn hand_over(mut self, heir: &mut Router, numbers: &mut Vec<u32>) {
        self.opener.withdraw().unwrap();
        self.ports().for_each(|port| port.set_intake(false));
        while self.take_some(numbers) > 0 {}
        for (device, positions) in self.opener.positions() {
            assert!(heir.opener.begin_at(&device, &positions));
            assert!(!heir.opener.begin_at(&device, &[1; 7]) && !heir.opener.begin_at("r1", &positions));
        }
        heir.opener.take_charge().unwrap();
        drop(self);
        assert!(closing::finish(PATIENCE));
        heir.opener.predecessor_has_gone();
        if heir.raw.is_empty() {
            heir.open_unread();
        }
        heir.opener.forget_predecessor();
    }
}

fn takes_over(choice: PortChoice) {
    with_hosts(|host| {
        let first = Router::with_raw(choice, "r0", &own());
        let (stop, received) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut numbers = Vec::new();
        let (sent, mut router) = std::thread::scope(|scope| {
            let mut router = first;
            let send = || {
                let sockets = own().map(|to| {
                    let from = if to.is_ipv4() { "192.0.2.2:40000" } else { "[fd00::2]:40000" };
                    (socket(from), to)
                });
                let mut sent: u32 = 0;
                while !stop.load(Ordering::Relaxed) {
                    for (socket, to) in &sockets {
                        // Long enough for a frame without padding.
                        socket.send_to(&[&sent.to_be_bytes()[..], &[0; 60]].concat(), to).unwrap();
                        sent += 1;
                    }
                    std::thread::sleep(Duration::from_micros(500));
                    while sent as usize > received.load(Ordering::Relaxed) + WAITING && !stop.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                sent
            };
            let sender = scope.spawn(move || host.run(send));
            for round in 1..=TIMES {
                let start = Instant::now();
                while numbers.len() < 50 * round {
                    assert!(start.elapsed() < PATIENCE);
                    router.take_some(&mut numbers);
                    received.store(numbers.len(), Ordering::Relaxed);
                }
                let mut heir = Router::heir(choice, &router);
                router.take_some(&mut numbers);
                router.hand_over(&mut heir, &mut numbers);
                router = heir;
            }
            stop.store(true, Ordering::Relaxed);
            (sender.join().unwrap(), router)
        });
        let start = Instant::now();
        while numbers.len() < sent as usize && start.elapsed() < PATIENCE {
            router.take_some(&mut numbers);
        }
        let end = Instant::now();
        while end.elapsed() < QUIET {
            router.take_some(&mut numbers);
        }
        numbers.sort_unstable();
        let whole: Vec<u32> = (0..sent).collect();
        assert!(numbers == whole, "{} of {sent}", numbers.len());
        // It is in charge: what it takes may change.
        router.opener.close("r0").unwrap();
        let peer = host.socket("192.0.2.2:41000");
        peer.send_to(&[9; 64], own()[0]).unwrap();
        assert_eq!(router.payloads(1, 1), [[9; 64]]);
    });
}

#[test]
fn packet_sockets_are_taken_over_without_loss() {
    takes_over(PortChoice::AfPacket);
}

#[test]
fn xdp_sockets_leave_everything_to_udp_sockets_meanwhile() {
    takes_over(PortChoice::Auto);
}

#[test]
fn what_does_not_fit_is_not_taken_over() {
    with_hosts(|_| {
        let router = Router::with_raw(PortChoice::AfPacket, "r0", &own());
        for spoil in 0..4 {
            let heir = Router::new(PortChoice::AfPacket);
            let mut shared = router.opener.share().unwrap();
            match spoil {
                0 => shared[0].rings.clear(),
                1 => shared[0].urgent = None,
                2 => shared[0].index += 1,
                _ => shared[0].rings[0].size.slots *= 2,
            }
            heir.opener.inherit(shared);
            let frames = FrameMatch::UdpDestinations(own().map(key).to_vec());
            match spoil {
                // The kernel does not map what is no ring of this size.
                3 => assert!(heir.opener.open("r0", &frames).is_err()),
                _ => assert!(heir.opener.is_occupied("r0")),
            }
            heir.opener.predecessor_has_gone();
            assert!(!heir.opener.is_occupied("r0"));
        }
    });
}
