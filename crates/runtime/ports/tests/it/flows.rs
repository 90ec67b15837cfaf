//! One UDP flow, such as a SCION link, is handled by several workers: by the flows that it carries.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Instant;

use hopwright_dataplane::{FrameSize, Pool, Port};
use hopwright_ports::{FlowKey, FrameMatch, Opener, PortChoice, UdpSockets, VariableWords, Wanted};

use super::devices::{MAC_B, PATIENCE, ip, wait_until_free, with_devices};

const WORKERS: usize = 2;
/// Flows and datagrams of each.
const FLOWS: u32 = 16;
const EACH: u32 = 40;

/// The flow id, both ISD-AS numbers and both hosts of a SCION header.
fn key() -> FlowKey {
    let words = [(0, 0xf_ffff), (12, u32::MAX), (16, u32::MAX), (20, u32::MAX), (24, u32::MAX)];
    FlowKey { words: words.to_vec(), variable: Some(VariableWords { first: 28, length_at: 9, shifts: [4, 0] }) }
}

/// A payload of a flow, which its flow id, an AS, an IPv4 host or an IPv6 host tells from others, with a number at the end.
fn payload(flow: u32, number: u32) -> Vec<u8> {
    let mut bytes = vec![0; 60];
    bytes[..4]
        .copy_from_slice(&(0xb80_0000 | 0x100 << 20 | if flow.is_multiple_of(4) { flow } else { 1 }).to_be_bytes());
    bytes[18] = if flow % 4 == 1 { flow as u8 } else { 7 };
    // An IPv6 source behind an IPv4 destination.
    bytes[9] = 3;
    bytes[28] = if flow % 4 == 2 { flow as u8 } else { 9 };
    bytes[47] = if flow % 4 == 3 { flow as u8 } else { 5 };
    bytes.extend([flow, number].map(u32::to_be_bytes).as_flattened());
    bytes
}

/// Where each flow's datagrams have arrived.
#[derive(Default)]
struct Arrived {
    /// The numbers of each flow in their order, by worker.
    flows: BTreeMap<u32, BTreeMap<usize, Vec<u32>>>,
    count: u32,
}

impl Arrived {
    fn take(&mut self, worker: usize, port: &mut dyn Port, pool: &mut Pool) {
        let mut batch = Vec::with_capacity(256);
        port.receive(pool, &mut batch, 256);
        for packet in batch {
            let end = packet.bytes().last_chunk::<8>().unwrap();
            let [flow, number] = [&end[..4], &end[4..]].map(|word| u32::from_be_bytes(word.try_into().unwrap()));
            self.flows.entry(flow).or_default().entry(worker).or_default().push(number);
            self.count += 1;
            pool.give(packet);
        }
    }

    fn workers(&self) -> BTreeSet<usize> {
        self.flows.values().flat_map(|by_worker| by_worker.keys().copied()).collect()
    }

    /// Every datagram has arrived once, those of a flow at one worker and in order.
    fn check(&self, first: u32) {
        assert_eq!(self.flows.len(), FLOWS as usize);
        for (flow, by_worker) in &self.flows {
            assert_eq!(by_worker.len(), 1, "flow {flow}");
            assert!(by_worker.values().all(|numbers| numbers.iter().copied().eq(first..first + EACH)), "flow {flow}");
        }
    }
}

/// Sends [`EACH`] datagrams of each flow, in turn, and receives what arrives.
fn exchange(from: &UdpSocket, to: SocketAddr, ports: &mut [Box<dyn Port>], pools: &mut [Pool], first: u32) -> Arrived {
    let mut arrived = Arrived::default();
    let mut take = |wanted: u32| {
        let start = Instant::now();
        while arrived.count < wanted && start.elapsed() < PATIENCE {
            let both = ports.iter_mut().zip(pools.iter_mut());
            both.enumerate().for_each(|(worker, (port, pool))| arrived.take(worker, &mut **port, pool));
        }
    };
    for number in first..first + EACH {
        for flow in 0..FLOWS {
            from.send_to(&payload(flow, number), to).unwrap();
        }
        take((number - first + 1) * FLOWS);
    }
    arrived
}

/// Sends one message whose datagrams are of several flows.
fn send_joined(from: &UdpSocket, to: SocketAddr) {
    let mut message = payload(1, 0);
    let size = message.len() as libc::c_int;
    (2..FLOWS).for_each(|flow| message.extend(payload(flow, 0)));
    let set = |size: libc::c_int| {
        // SAFETY: the kernel reads a live number.
        let result = unsafe {
            libc::setsockopt(from.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), 4)
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    };
    set(size);
    from.send_to(&message, to).unwrap();
    set(0);
}

/// Receives until a condition holds.
fn receive_until(ports: &mut [Box<dyn Port>], pools: &mut [Pool], mut done: impl FnMut(&Arrived) -> bool) {
    let (mut arrived, start) = (Arrived::default(), Instant::now());
    while !done(&arrived) {
        assert!(start.elapsed() < PATIENCE);
        let both = ports.iter_mut().zip(pools.iter_mut());
        both.enumerate().for_each(|(worker, (port, pool))| arrived.take(worker, &mut **port, pool));
    }
}

fn ports(sockets: &UdpSockets, workers: usize) -> Vec<Box<dyn Port>> {
    sockets.ports(workers).unwrap().into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect()
}

fn opener(sockets: Option<&UdpSockets>) -> (Opener, Vec<Pool>) {
    let wanted =
        Wanted { choice: PortChoice::AfPacket, workers: WORKERS, sockets, flows: Some(&key()), ..Wanted::default() };
    Opener::new(&wanted).unwrap()
}

#[test]
fn packet_sockets_distribute_the_flows_of_one_link() {
    with_devices(|| {
        ip("-4 addr add 192.0.2.1/24 dev va");
        ip("-4 addr add 192.0.2.2/24 dev vb");
        for (device, address) in [("va", "fd00::1/64"), ("vb", "fd00::2/64")] {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "0").unwrap();
            ip(&format!("-6 addr add {address} dev {device} nodad"));
        }
        for (own, to) in [("192.0.2.1", "192.0.2.9"), ("fd00::1", "fd00::9")] {
            // An address that nobody has: the kernel's stack behind the other device answers nothing.
            ip(&format!("neigh replace {to} lladdr {MAC_B} dev va"));
            let to = SocketAddr::new(to.parse().unwrap(), 30042);
            let (opener, mut pools) = opener(None);
            let frames = FrameMatch::UdpDestinations(vec![(to.ip(), to.port())]);
            let mut ports = opener.open("vb", &frames).unwrap().ports;
            let from = UdpSocket::bind((own, 0)).unwrap();
            let arrived = exchange(&from, to, &mut ports, &mut pools, 0);
            arrived.check(0);
            assert_eq!(arrived.workers().len(), WORKERS, "{to}");
            assert!(opener.keep_joined_flows().is_empty());

            // Frames with several flows are noticed once. From then on a sender's packets stay together.
            send_joined(&from, to);
            let mut noticed = Vec::new();
            receive_until(&mut ports, &mut pools, |arrived| {
                noticed.extend(opener.keep_joined_flows());
                arrived.count == FLOWS - 1
            });
            noticed.extend(opener.keep_joined_flows());
            assert!(matches!(&noticed[..], [(device, Ok(()))] if device == "vb"), "{noticed:?}");
            let arrived = exchange(&from, to, &mut ports, &mut pools, 100);
            arrived.check(100);
            assert_eq!(arrived.workers().len(), 1);
            send_joined(&from, to);
            receive_until(&mut ports, &mut pools, |arrived| arrived.count == FLOWS - 1);
            assert!(opener.keep_joined_flows().is_empty());
        }
    });
}

#[test]
fn udp_sockets_distribute_the_flows_of_one_link() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let sockets = UdpSockets::for_workers(WORKERS, Some(key())).unwrap();
        sockets.bind(address.parse().unwrap()).unwrap();
        let to = sockets.addresses()[0];
        assert_eq!(sockets.addresses().len(), 1);
        let (_opener, mut pools) = opener(Some(&sockets));
        let mut ports = ports(&sockets, WORKERS);
        let from = UdpSocket::bind((to.ip(), 0)).unwrap();
        let arrived = exchange(&from, to, &mut ports, &mut pools, 0);
        arrived.check(0);
        assert_eq!(arrived.workers().len(), WORKERS);

        // The address is in use for everybody else, also for another router of this user.
        assert!(UdpSocket::bind(to).is_err());
        assert!(UdpSockets::for_workers(WORKERS, Some(key())).unwrap().bind(to).is_err());

        send_joined(&from, to);
        receive_until(&mut ports, &mut pools, |arrived| arrived.count == FLOWS - 1);
        let noticed = sockets.keep_joined_flows();
        assert!(matches!(&noticed[..], [(address, Ok(()))] if *address == to), "{noticed:?}");
        let arrived = exchange(&from, to, &mut ports, &mut pools, 100);
        arrived.check(100);
        assert_eq!(arrived.workers().len(), 1);

        sockets.close(to);
        assert!(sockets.addresses().is_empty());
        wait_until_free(to);
    }
}

#[test]
fn sockets_are_taken_over_by_more_and_by_fewer_workers() {
    let before = UdpSockets::for_workers(1, None).unwrap();
    before.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let to = before.addresses()[0];
    let from = UdpSocket::bind((to.ip(), 0)).unwrap();
    let mut before = before;
    for workers in [2, 3, 1, 2] {
        let next = UdpSockets::for_workers(workers, (workers > 1).then(key)).unwrap();
        next.inherit(before.share().unwrap());
        next.bind(to).unwrap();
        let mut ports = ports(&next, workers);
        next.take_charge().unwrap();
        drop(before);
        let mut pools: Vec<Pool> = (0..3).map(|_| Pool::new(1024, FrameSize::JUMBO).unwrap()).collect();
        let arrived = exchange(&from, to, &mut ports, &mut pools, 0);
        arrived.check(0);
        assert_eq!(arrived.workers().len(), workers);
        before = next;
    }
}
